"""Connected components by union-find.

Afforest links a few neighbors of every vertex, estimates the largest component from a sample and
skips the remaining neighbors of its vertices. Trees are linked by compare-and-swap.
`link_alternately` is the algorithm of GPUSCAN, which `scan` offers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import device
from ..device import Array
from ..frames import Frame
from ..graph.build import as_local_graph
from ..graph.csr import Adjacency, fits_in_block, row_indices
from ..graph.local_graph import GraphLike
from ..kernels.constants import COOPERATIVE_THREADS, WARP
from .parameters import ComponentParameters
from .run_memory import Algorithm, check_run_memory
from .strong_components import find_strong_roots

NUM_FIRST_NEIGHBORS = 2  # per vertex, linked before the largest component is estimated
MIN_SAMPLED_ARCS = 2**18  # on a GPU; fewer arcs are linked before the host has read a sample
MIN_CPU_SAMPLED_ARCS = 2**12  # fewer arcs are linked by the first of the kernels
SAMPLE_SIZE = 1024  # vertices that estimate the largest component


def connected_components(graph: GraphLike, parameters: ComponentParameters) -> Frame:
    """Find the components of a graph or frame; see `rapidsgraph.connected_components`."""

    def compile_ahead(_weight_type: Any) -> None:
        device.compile_ahead(f"{'strong' if parameters.strong else 'connected'} components")

    graph = as_local_graph(graph, compile_ahead=compile_ahead)
    graph.labeling.check_name_collisions("component")
    is_strong = parameters.strong and graph.directed  # otherwise both are the same
    algorithm: Algorithm = "strong_components" if is_strong else "connected_components"
    check_run_memory(graph, algorithm, f"components of {graph.num_vertices:,} vertices")
    adjacencies = [*graph.adjacencies.values()]
    if is_strong:
        components = number_components(find_strong_roots(graph))
    elif fits_in_block(adjacencies[0]):
        components = _number_in_block(adjacencies[0])
    else:
        roots = find_roots(adjacencies, not graph.directed or len(adjacencies) > 1)
        components = number_components(roots)
    return graph.labeling.vertex_frame({"component": components})


def _number_in_block(adjacency: Adjacency) -> Array:
    """Return the component of every vertex, numbered as by `number_components`, in one launch."""
    xp, num_vertices = device.array_module(adjacency.neighbors), adjacency.offsets.size - 1
    components = xp.empty(num_vertices, xp.int32)
    device.launch(
        "union_find", "number_in_block", size=num_vertices, geometry=(1, COOPERATIVE_THREADS),
        num_vertices=num_vertices, num_arcs=adjacency.neighbors.size, offsets=adjacency.offsets,
        neighbors=adjacency.neighbors, work_space=xp.empty(2 * num_vertices, xp.int64),
        components=components,
    )  # fmt: skip
    return components


def find_roots(
    adjacencies: Sequence[Adjacency],
    is_symmetric: bool,
    join: Callable[[Array], None] | None = None,
) -> Array:
    """Return the smallest vertex of every vertex's component: int32, shape (vertices,).

    Parameters
    ----------
    adjacencies : sequence of Adjacency
        The arcs. Each partition of a graph calls this with the rows of its own range.
    is_symmetric : bool
        Whether there are both arcs of every edge, in one adjacency or in two.
    join : callable, optional
        ``join(parents)`` adds the trees of all partitions to the trees of this one.
    """
    first, xp = adjacencies[0], device.array_module(adjacencies[0].neighbors)
    num_vertices = first.offsets.size - 1
    parents = device.arange(num_vertices, xp.int32, xp)
    min_sampled_arcs = MIN_CPU_SAMPLED_ARCS if xp is np else MIN_SAMPLED_ARCS
    if first.neighbors.size < min_sampled_arcs and join is None:
        _link_all(first, parents)
        compress(parents)
        return parents
    for position in range(NUM_FIRST_NEIGHBORS):
        device.launch(
            "union_find", "link_neighbor", size=num_vertices,
            num_vertices=num_vertices, position=position, offsets=first.offsets,
            neighbors=first.neighbors, parents=parents,
        )  # fmt: skip
    compress(parents)
    if is_symmetric and num_vertices:
        # An arc from the largest component to another is also in the list of its other endpoint.
        # Partitions have to skip the same component, because they may have one endpoint each.
        if join is not None:
            join(parents)
        largest_root = _most_common_root(parents)
        for adjacency in adjacencies:
            device.launch(
                "union_find", "link_remaining", size=WARP * num_vertices,
                num_vertices=num_vertices,
                position=NUM_FIRST_NEIGHBORS if adjacency is first else 0,
                largest_root=largest_root, offsets=adjacency.offsets,
                neighbors=adjacency.neighbors, parents=parents,
            )  # fmt: skip
    else:
        _link_all(first, parents, NUM_FIRST_NEIGHBORS)
    compress(parents)
    if join is not None:
        join(parents)
    return parents


def _link_all(adjacency: Adjacency, parents: Array, position: int = 0) -> None:
    """Link the endpoints of all arcs; a CPU starts at `position` in each list."""
    xp, num_arcs = device.array_module(parents), adjacency.neighbors.size
    rows = row_indices(adjacency) if xp is not np else xp.empty(0, xp.int32)
    device.launch(
        "union_find", "link_arcs", size=num_arcs,
        num_vertices=parents.size, num_arcs=num_arcs, position=position, rows=rows,
        offsets=adjacency.offsets, neighbors=adjacency.neighbors, parents=parents,
    )  # fmt: skip


def compress(parents: Array) -> None:
    """Link every vertex directly to its root."""
    device.launch(
        "union_find", "compress", size=parents.size, num_vertices=parents.size, parents=parents
    )


def link_alternately(arcs: list[Array], num_vertices: int) -> Array:
    """Return a root of every vertex's component, as GPUSCAN does: int32, shape (vertices,).

    In odd rounds every vertex links to the smallest of itself and its neighbors, in even rounds to
    the largest [1]_. Each round replaces both endpoints of an arc by the vertices they link to, and
    drops the arcs whose endpoints are then equal. When no arc is left, each tree has one root, and
    paths to the roots are halved until every vertex links to its root.

    Parameters
    ----------
    arcs : list of two int32 arrays
        Sources and destinations of arcs in both directions. The list is emptied, to free memory.
    num_vertices : int

    References
    ----------
    .. [1] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-based parallel structural clustering
       algorithm for networks", IEEE Trans. Parallel Distrib. Syst. 26(12), 2015.
       https://doi.org/10.1109/TPDS.2014.2374607
    """
    xp, is_min_round = device.array_module(arcs[0]), True
    parents = xp.arange(num_vertices, dtype=xp.int32)
    while arcs[0].size:
        pairs = arcs.pop(0).astype(xp.int64)
        pairs <<= 32
        pairs |= arcs.pop()
        pairs.sort()
        destinations = pairs.astype(xp.int32)
        pairs >>= 32
        sources = pairs.astype(xp.int32)
        del pairs
        # The arcs of a source are consecutive, from its smallest to its largest neighbor.
        changes = xp.flatnonzero(sources[1:] != sources[:-1])
        if is_min_round:
            index, choose = xp.concatenate((xp.zeros(1, changes.dtype), changes + 1)), xp.minimum
        else:
            last = xp.full(1, sources.size - 1, changes.dtype)
            index, choose = xp.concatenate((changes, last)), xp.maximum
        parents[sources[index]] = choose(sources[index], destinations[index])
        sources, destinations = parents[sources], parents[destinations]
        is_open = sources != destinations
        arcs += [sources[is_open], destinations[is_open]]
        is_min_round = not is_min_round
    while True:
        grandparents = parents[parents]
        if device.count_nonzero(grandparents == parents) == num_vertices:
            return parents
        parents = grandparents


def number_components(roots: Array) -> Array:
    """Return the component of every vertex, numbered by descending size, ties by root."""
    xp, num_vertices = device.array_module(roots), roots.size
    if xp is np and not roots.max(initial=0):
        return roots  # of one component
    sizes = xp.zeros(num_vertices, xp.int32)
    device.launch(
        "union_find", "count_members", size=num_vertices,
        num_vertices=num_vertices, parents=roots, sizes=sizes,
    )  # fmt: skip
    # Most components may be single vertices, which need no sort.
    if xp is np:  # lists take less time than the passes over all vertices of a GPU
        large, single = np.flatnonzero(sizes > 1), np.flatnonzero(sizes == 1)
        large = large[np.argsort((-sizes[large].astype(np.int64) << 32) + large)]
        by_root = sizes  # reuses the memory
        by_root[large] = np.arange(large.size, dtype=np.int32)
        by_root[single] = np.arange(large.size, large.size + single.size, dtype=np.int32)
        return by_root[roots]
    num_single = device.accumulate(device.mark_range(sizes, 1, 2), xp.int32)
    keys, num_keys = xp.empty(num_vertices // 2, xp.int64), xp.zeros(1, xp.int32)
    device.launch(
        "union_find", "list_large", size=num_vertices,
        num_vertices=num_vertices, sizes=sizes, keys=keys, num_keys=num_keys,
    )  # fmt: skip
    num_large = int(num_keys[0])
    keys = keys[:num_large]
    keys.sort()
    device.launch(
        "union_find", "number_large", size=num_large, num_keys=num_large, keys=keys, sizes=sizes
    )
    del keys
    numbers = xp.empty(num_vertices, xp.int32)
    device.launch(
        "union_find", "number_vertices", size=num_vertices,
        num_vertices=num_vertices, num_large=num_large, roots=roots, sizes=sizes,
        num_single=num_single, numbers=numbers,
    )  # fmt: skip
    return numbers


def _most_common_root(parents: Array) -> int:
    """Return the most frequent root in a sample of vertices."""
    step = max(parents.size // SAMPLE_SIZE, 1)
    sample = device.to_host(parents[::step][:SAMPLE_SIZE])
    roots, counts = np.unique(sample, return_counts=True)
    return int(roots[counts.argmax()])
