"""Core numbers in a layered edge list whose edges may exceed memory.

Upper bounds of the core numbers are in memory, and are lowered tile by tile [1]_: within a tile
until nothing changes there, and in passes over the tiles that have vertices with changed neighbors
[2]_.

References
----------
.. [1] A. Montresor, F. De Pellegrini and D. Miorandi, "Distributed k-core decomposition", IEEE
   Trans. Parallel Distrib. Syst. 24(2), 2013. https://doi.org/10.1109/TPDS.2012.124
.. [2] D. Wen et al., "I/O efficient core graph decomposition at web scale", ICDE 2016.
   https://doi.org/10.1109/ICDE.2016.7498235
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import device
from ..algorithms import core_number as in_memory
from ..algorithms.parameters import Parameters
from ..device import Array
from ..frames import Frame
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


def find_core_numbers(tiles: Tiles) -> Array:
    """Return the core number of every position: int32."""
    xp, bounds = tiles.storage.xp, tiles.bounds
    if len(tiles) == 1:
        return in_memory.find_core_numbers(tiles.load_simple(0))
    cores = xp.minimum(tiles.degrees, NO_VERTEX).astype(xp.int32)
    is_active = xp.ones(cores.size, bool)
    has_changed = True
    while has_changed:
        has_changed = False
        for tile in range(len(tiles)):
            active = is_active[bounds[tile] : bounds[tile + 1]]
            if device.count_nonzero(active):
                has_changed = True
                _lower_bounds(tiles, tile, cores, is_active)
    return cores


def _lower_bounds(tiles: Tiles, tile: int, cores: Array, is_active: Array) -> None:
    """Lower the bounds of a tile until none of its vertices is active."""
    xp, (start, stop) = tiles.storage.xp, tiles.bounds[tile : tile + 2]
    adjacency, active = tiles.load_simple(tile), is_active[start:stop]
    while device.count_nonzero(active):
        rows: Any = xp.flatnonzero(active).astype(xp.int32)
        rows += np.int32(start)
        active[...] = False
        device.launch(
            "core_number", "lower_bounds", size=WARP * rows.size,
            num_rows=rows.size, rows=rows, tile_start=start, tile_stop=stop,
            offsets=adjacency.offsets, neighbors=adjacency.neighbors, cores=cores,
            is_active=is_active,
        )  # fmt: skip
