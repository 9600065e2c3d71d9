"""Strong components of a distributed graph.

Every rank searches a copy of a small graph. A large one is trimmed, the component of a vertex of
many neighbors is found by a forward and a backward BFS, and what is left is colored, as on a GPU in
`algorithms.strong_components`. Vertices of unknown component are active. Once few arcs between them
are left, every rank gets all of these.

All ranks have the roots of all vertices. A rank trims and colors the vertices of its partition:
it colors as far as its own arcs lead before it sends the colors it has lowered to their owners.
"""

from __future__ import annotations

import math

import numpy as np

from .. import device
from ..algorithms import strong_components as local
from ..algorithms.components import number_components
from ..algorithms.run_memory import ALGORITHM_BYTES
from ..device.arrays import Array
from ..frames import Frame
from ..graph.csr import (
    Adjacency,
    offsets_from_sizes,
    row_indices,
    select_arcs,
    select_rows,
    transpose,
)
from ..kernels.constants import NO_VERTEX, WARP
from ..progress import Report
from ..validation import check_free_memory
from . import partition as partitioning
from .communicator import Communicator
from .exchange import exchange_lowered, gather_values, list_ghosts
from .graph import DistributedGraph, create_vertex_frame
from .partition import Partition
from .replica import WholeGraph, get_max_replica_arcs, join_partitions, replicate
from .storage import finish_frame
from .traversal import Search, Traversal

# Searches stay distributed: small graphs have been copied before.
SEARCH = Search(
    is_sssp=False, weighted=False, predecessors=False, cutoff=math.inf, can_overflow=False,
    max_replica_arcs=0,
)  # fmt: skip
# Of an arc: the positions, rows and flags of the active ones while they are selected in one layout,
# and in both layouts the active arcs and the unit lengths of searches.
ARC_BYTES = 28 + 2 * (4 + 1)


def strong_components(graph: DistributedGraph) -> Frame:
    """Find the strong components of a directed graph."""
    max_replica_arcs = get_max_replica_arcs(graph.device)
    # A CPU searches a copy of a small graph depth-first, which needs one layout.
    is_csc_needed = graph.device == "gpu" or graph.num_arcs > max_replica_arcs
    csc = graph.partitions("csc") if is_csc_needed else None
    frame, _ = graph.run_for_frame(
        _find_components, graph.partitions("csr"), csc, tuple(graph.bounds), max_replica_arcs,
        name="strong",
    )  # fmt: skip
    return frame


# SPMD functions: every rank of a communicator calls them.


def _find_components(
    communicator: Communicator,
    report: Report,
    csr: Partition,
    csc: Partition | None,
    bounds: tuple[int, ...],
    max_replica_arcs: int,
) -> tuple:
    """Return the result frame of the partition's vertices; see `finish_frame`."""
    replicas = replicate(communicator, csr, csc, max_replica_arcs)
    if replicas is None:
        if csc is None:  # copies of a small graph do not fit in memory
            csc, _ = partitioning.transpose(communicator, report, csr, bounds)
        roots = find_strong_roots(communicator, report, csr, csc, bounds, max_replica_arcs)
    else:
        whole, whole_csc = replicas
        _check_memory(whole, ALGORITHM_BYTES["strong_components"].per_arc * whole.num_arcs)
        adjacency = None if whole_csc is None else whole_csc.adjacency
        roots = local.find_strong_roots(WholeGraph(whole, adjacency))
    numbers = number_components(roots)[csr.local_range]
    return finish_frame(communicator, create_vertex_frame(csr, {"component": numbers}))


def _check_memory(partition: Partition, arc_bytes: int) -> None:
    """Raise InsufficientMemoryError unless arrays of all vertices and of arcs fit into memory."""
    num_bytes = ALGORITHM_BYTES["strong_components"].per_vertex * partition.num_vertices + arc_bytes
    what = f"strong components of {partition.num_vertices:,} vertices"
    check_free_memory(what, num_bytes, partition.xp)


def find_strong_roots(
    communicator: Communicator,
    report: Report,
    csr: Partition,
    csc: Partition,
    bounds: tuple[int, ...],
    max_arcs: int,
) -> Array:
    """Return the smallest vertex of every vertex's strong component: int32, shape (vertices,).

    Parameters
    ----------
    communicator : Communicator
    report : callable
    csr, csc : Partition
    bounds : tuple of int
        Rank r has the vertices ``bounds[r]`` to ``bounds[r + 1]``.
    max_arcs : int
        Up to how many active arcs every rank gets all of them.
    """
    _check_memory(csr, ARC_BYTES * max(csr.num_arcs, csc.num_arcs))
    xp = csr.xp
    roots = xp.full(csr.num_vertices, NO_VERTEX, xp.int32)
    active = _trim(communicator, csr.local_ids, csr, csc, roots)
    members = _find_pivot_component(communicator, report, csr, csc, bounds, active)
    roots[members] = members[:1]
    while True:
        active = _trim(communicator, active[roots[active] == NO_VERTEX], csr, csc, roots)
        csr, csc = (_select_active(partition, active, roots) for partition in (csr, csc))
        num_arcs = sum(communicator.all_gather_object(csr.num_arcs))
        if num_arcs <= max_arcs or not num_arcs:
            _search_whole_graph(communicator, csr, roots)
            return roots
        members, new_roots = _color(communicator, report, csr, csc, bounds, active, roots)
        roots[members] = new_roots


def _select_active(partition: Partition, active: Array, roots: Array) -> Partition:
    """Return a partition's arcs between active vertices, without self-loops.

    `active` are those of this rank, ascending.
    """
    xp = partition.xp
    lists = select_rows(partition.adjacency, active, with_weights=False)
    keep = active[row_indices(lists)] != lists.neighbors
    keep &= roots[lists.neighbors] == NO_VERTEX
    lists = select_arcs(lists, keep)
    sizes = xp.zeros(roots.size, xp.int64)
    sizes[active] = xp.diff(lists.offsets)
    adjacency = Adjacency(offsets_from_sizes(sizes), lists.neighbors, lists.weights)
    return Partition(adjacency, partition.start, partition.stop, False)


def _trim(
    communicator: Communicator, active: Array, csr: Partition, csc: Partition, roots: Array
) -> Array:
    """Set the roots of components of one vertex, and return the active local vertices left."""
    for _ in range(local.MAX_TRIMS):
        device.launch(
            "coloring", "trim", size=active.size, num_active=active.size, active=active,
            offsets=csr.adjacency.offsets, neighbors=csr.adjacency.neighbors,
            in_offsets=csc.adjacency.offsets, in_neighbors=csc.adjacency.neighbors, roots=roots,
        )  # fmt: skip
        is_active = roots[active] == NO_VERTEX
        trimmed = communicator.all_gather(active[~is_active])
        if not trimmed.size:
            break
        roots[trimmed], active = trimmed, active[is_active]
    return active


def _search_whole_graph(communicator: Communicator, csr: Partition, roots: Array) -> None:
    """Set the roots of all active vertices; each rank gets all arcs between these."""
    whole = join_partitions(communicator, csr)
    csc = None if csr.xp is np else transpose(whole.adjacency)
    new_roots = local.find_strong_roots(WholeGraph(whole, csc))
    is_active = roots == NO_VERTEX
    roots[is_active] = new_roots[is_active]


def _find_pivot_component(
    communicator: Communicator,
    report: Report,
    csr: Partition,
    csc: Partition,
    bounds: tuple[int, ...],
    active: Array,
) -> Array:
    """Return all members of the component of a vertex of many neighbors, ascending: int32.

    There are none without active vertices.
    """
    xp, degree, vertex = csr.xp, 0.0, NO_VERTEX
    if active.size:
        degrees = xp.diff(csr.adjacency.offsets)[active].astype(xp.float64)
        degrees *= xp.diff(csc.adjacency.offsets)[active]
        index = int(degrees.argmax())
        degree, vertex = float(degrees[index]), int(active[index])
    _, vertex = min(communicator.all_gather_object((-degree, vertex)))
    if vertex == NO_VERTEX:
        return active
    pivot = xp.asarray([vertex], dtype=xp.int32)
    is_member = _search(communicator, report, csr, csc, bounds, pivot)
    is_member &= _search(communicator, report, csc, csr, bounds, pivot)
    return _gather_members(communicator, csr, is_member)


def _search(
    communicator: Communicator,
    report: Report,
    csr: Partition,
    csc: Partition | None,
    bounds: tuple[int, ...],
    ids: Array,
) -> Array:
    """Return whether a path leads from one of int32 `ids` to each vertex of the partition."""
    traversal = Traversal(communicator, csr, csc, bounds, SEARCH)
    traversal.find_distances(ids, report)
    return traversal.distances[csr.local_range] < math.inf


def _gather_members(communicator: Communicator, csr: Partition, is_member: Array) -> Array:
    """Return the ids of marked vertices of all ranks, ascending: int32."""
    members = csr.xp.flatnonzero(is_member) + csr.start
    return communicator.all_gather(members.astype(csr.xp.int32))


def _color(
    communicator: Communicator,
    report: Report,
    csr: Partition,
    csc: Partition,
    bounds: tuple[int, ...],
    active: Array,
    roots: Array,
) -> tuple[Array, Array]:
    """Return the members of one component or more, and their roots.

    Every vertex takes the smallest vertex that reaches it as its color. A vertex of its own color
    is the root of a component, whose other members are those of its color that reach it.
    """
    xp = csr.xp
    colors = _find_colors(communicator, csr, bounds, active, roots)
    colors = gather_values(communicator, colors[csr.local_range], bounds)
    starts = xp.flatnonzero((roots == NO_VERTEX) & (colors == xp.arange(colors.size)))
    adjacency = csc.adjacency
    keep = colors[row_indices(adjacency)] == colors[adjacency.neighbors]
    within_colors = Partition(select_arcs(adjacency, keep), csc.start, csc.stop, False)
    is_member = _search(communicator, report, within_colors, None, bounds, starts.astype(xp.int32))
    members = _gather_members(communicator, csr, is_member)
    return members, colors[members]


def _find_colors(
    communicator: Communicator,
    csr: Partition,
    bounds: tuple[int, ...],
    active: Array,
    roots: Array,
) -> Array:
    """Return the smallest vertex that reaches each vertex of the partition.

    The array is of all vertices: int32. Those of other ranks have the color known to this one.
    """
    xp = csr.xp
    colors = xp.arange(csr.num_vertices, dtype=xp.int32)
    ghosts, splits = list_ghosts(csr, bounds)
    frontier, sent = active, colors[ghosts]
    while True:
        while frontier.size:
            frontier = _lower_colors(csr, frontier, roots, colors)
        frontier, sent = exchange_lowered(communicator, colors, ghosts, splits, sent, xp.int32)
        if not sum(communicator.all_gather_object(frontier.size)):
            return colors


def _lower_colors(csr: Partition, frontier: Array, roots: Array, colors: Array) -> Array:
    """Send the colors of a frontier along its arcs, and return the local vertices they lower."""
    xp, adjacency = csr.xp, csr.adjacency
    neighbors = select_rows(adjacency, frontier).neighbors
    neighbors = neighbors[(neighbors >= csr.start) & (neighbors < csr.stop)]
    before = colors[neighbors]
    device.launch(
        "coloring", "lower_colors", size=WARP * frontier.size, num_active=frontier.size,
        active=frontier, offsets=adjacency.offsets, neighbors=adjacency.neighbors, roots=roots,
        colors=colors, has_changed=xp.zeros(1, xp.int64),
    )  # fmt: skip
    return xp.unique(neighbors[colors[neighbors] < before])
