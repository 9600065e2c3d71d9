"""Core numbers in a layered edge list whose edges may exceed memory.

Upper bounds of the core numbers are in memory, and are lowered until nothing changes [1]_. A pass
loads the lists of vertices with changed neighbors, as many as fit into memory [2]_, and lowers the
bounds of these vertices until nothing changes among them.

References
----------
.. [1] A. Montresor, F. De Pellegrini and D. Miorandi, "Distributed k-core decomposition", IEEE
   Trans. Parallel Distrib. Syst. 24(2), 2013. https://doi.org/10.1109/TPDS.2012.124
.. [2] D. Wen et al., "I/O efficient core graph decomposition at web scale", ICDE 2016.
   https://doi.org/10.1109/ICDE.2016.7498235
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import device
from ..algorithms import core_number as in_memory
from ..algorithms.parameters import Parameters
from ..device import Array
from ..frames import Frame
from ..graph.csr import Adjacency, offsets_from_sizes
from ..kernels.constants import NO_VERTEX, WARP
from .storage import LayeredStorage
from .sweeps import to_vertex_order
from .tiles import Tiles, open_tiles


def core_number(storage: LayeredStorage, parameters: Parameters) -> Frame:
    """Find the core numbers of a layered edge list; see `rapidsgraph.core_number`."""
    storage.labeling.check_name_collisions("core")
    with open_tiles(storage, "core_number", "core numbers", parameters.memory_limit) as tiles:
        cores = find_core_numbers(tiles)
    return storage.labeling.vertex_frame({"core": to_vertex_order(storage, cores)})


def find_core_numbers(
    tiles: Tiles, exchange: Callable[[Array, Array], tuple[Array, Array]] | None = None
) -> Array:
    """Return the core number of every position: int32.

    ``exchange(cores, is_active)`` returns the lowest bounds of all ranks, and the rows that one of
    them marks. Each rank lowers the bounds of its own rows until none of them is active.
    """
    xp = tiles.storage.xp
    if exchange is None and len(tiles) == 1:
        return in_memory.find_core_numbers(tiles.load_simple(0))
    cores = xp.minimum(tiles.degrees, NO_VERTEX).astype(xp.int32)
    is_active, is_local = cores > 0, xp.zeros(cores.size, bool)
    is_local[tiles.local_range] = True
    degrees = tiles.degrees * is_local
    while device.count_nonzero(is_active):
        is_marked, start = xp.zeros_like(is_active), 0  # of other ranks
        is_active &= is_local
        while device.count_nonzero(is_active):
            is_loaded, start = select_rows(degrees, is_active, start, tiles.max_neighbors)
            is_loaded &= is_local
            _lower_bounds(tiles.load_rows(is_loaded), is_loaded, cores, is_active)
            is_marked |= is_active & ~is_local
            is_active &= is_local
        if exchange is None:
            break
        cores, is_active = exchange(cores, is_marked)
    return cores


def select_rows(
    degrees: Array, is_active: Array, start: int, max_neighbors: int
) -> tuple[Array, int]:
    """Select rows with lists that fit into memory together: active ones from `start` on.

    If all active ones fit, those near them are loaded as well, since changes follow edges, which
    lead to close layers: along a path, few vertices are active at a time.

    Returns
    -------
    is_loaded : bool array, shape (vertices,)
    next_start : int
    """
    xp = device.array_module(degrees)
    totals = offsets_from_sizes(degrees * is_active)
    if int(totals[-1]) > max_neighbors:
        if int(totals[start]) == int(totals[-1]):
            start = 0
        stop = int(xp.searchsorted(totals, int(totals[start]) + max_neighbors, side="right")) - 1
        is_loaded = xp.zeros_like(is_active)
        is_loaded[start:stop] = is_active[start:stop]
        return is_loaded, stop % degrees.size
    del totals
    is_loaded = is_active.copy()
    for exponent in range(degrees.size.bit_length()):
        is_near = _widen(is_active, min(2**exponent, degrees.size - 1))
        if int((degrees * is_near).sum()) > max_neighbors:
            break
        is_loaded = is_near
    return is_loaded, 0


def _widen(mask: Array, radius: int) -> Array:
    """Return whether each position is at most `radius` from one of a mask."""
    xp, size = device.array_module(mask), mask.size
    num_before = xp.zeros(size + 1, xp.int32)
    xp.cumsum(mask, out=num_before[1:])
    counts = xp.full(size, num_before[-1], xp.int32)
    counts[: size - radius] = num_before[radius + 1 :]
    counts[radius:] -= num_before[: size - radius]
    return counts > 0


def _lower_bounds(adjacency: Adjacency, is_loaded: Array, cores: Array, is_active: Array) -> None:
    """Lower the bounds of loaded rows until none of them is active."""
    xp = device.array_module(cores)
    while True:
        rows: Any = xp.flatnonzero(is_active & is_loaded).astype(xp.int32)
        if not rows.size:
            return
        is_active[rows] = False
        device.launch(
            "core_number", "lower_bounds", size=WARP * rows.size,
            num_rows=rows.size, rows=rows, is_loaded=is_loaded, offsets=adjacency.offsets,
            neighbors=adjacency.neighbors, cores=cores, is_active=is_active,
        )  # fmt: skip
