"""BFS and SSSP as frame operations; `algorithms.traversal` has the kernel form.

A level of BFS, or a round of SSSP, joins the frontier with all arcs: a graph of high diameter takes
many rounds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..algorithms.parameters import SearchParameters
from ..algorithms.traversal import check_result_columns
from ..frames import Frame, column_names, is_dask, normalize_frame
from ..graph.local_graph import LocalGraph, storage_of
from ..graph.weight_sums import can_overflow, distance_error
from .frame_graph import FrameGraph, as_frame_graph
from .table import Table
from .vertex_arguments import find_vertices


def bfs(graph: Any, parameters: SearchParameters) -> Frame:
    """Run BFS by joins; see `rapidsgraph.bfs`."""
    graph = as_frame_graph(graph)
    check_result_columns(graph)
    sources = find_vertices(graph, parameters.source)
    state = _search(graph, sources, parameters.max_distance).map(
        _convert_distances, value_type=np.int32
    )
    return _make_result(graph, state, parameters.predecessors, "is_reached")


def sssp(graph: Any, parameters: SearchParameters) -> Frame:
    """Compute shortest paths by joins; see `rapidsgraph.sssp`."""
    cutoff, predecessors = parameters.max_distance, parameters.predecessors
    graph = as_frame_graph(graph, "weight" if _has_weights(graph) else None)
    check_result_columns(graph)
    sources = find_vertices(graph, parameters.source)
    if not graph.weighted:
        state = _search(graph, sources, cutoff).map(_convert_distances, value_type=np.float64)
        return _make_result(graph, state, predecessors)
    state = _relax(graph, sources, cutoff)
    if cutoff == math.inf and can_overflow(graph.arcs.totals("weight")[0]):
        _check_distances(graph, state)
    if predecessors:
        state = _find_predecessors(graph, state, sources)
    return _make_result(graph, state, predecessors)


def _has_weights(graph: Any) -> bool:
    """Return whether an edge frame has a weight column."""
    if isinstance(storage_of(graph), (LocalGraph, FrameGraph)):
        return False  # it knows its weights
    names = graph.columns if is_dask(graph) else column_names(normalize_frame(graph)[1])
    return "weight" in names


def _make_result(
    graph: FrameGraph, state: Table, predecessors: bool, is_reached: str | None = None
) -> Frame:
    columns = {"distance": is_reached}
    if predecessors:
        columns["predecessor"] = "has_predecessor"
    return graph.make_result(state, columns)


def _search(graph: FrameGraph, sources: Table, limit: float) -> Table:
    """Return a row per vertex, with the number of edges to it, or -1."""
    vertex = graph.name_columns("vertex")
    unreached = graph.vertices.difference(sources, vertex)
    reached = find_levels(graph, graph.arcs, sources, unreached, limit)
    unreached = graph.vertices.difference(reached, vertex)
    # Integer columns have no nulls; an unreached vertex is its own predecessor.
    unreached = unreached.copy_columns(vertex, graph.name_columns("predecessor"))
    return reached.union(unreached.assign(distance=-1))


def find_levels(
    graph: FrameGraph, arcs: Table, frontier: Table, unreached: Table, limit: float = math.inf
) -> Table:
    """Run BFS and return the vertices that it reaches.

    Parameters
    ----------
    graph : FrameGraph
        Names the columns.
    arcs : Table
        Partitioned by source.
    frontier : Table
        Vertices to start from.
    unreached : Table
        Vertices that may be reached.
    limit : float
        Largest distance.

    Returns
    -------
    Table
        Columns `vertex`, `predecessor` and `distance`. Those of the first frontier are their own
        predecessors, at distance 0.
    """
    vertex, source, destination, predecessor = map(
        graph.name_columns, ("vertex", "source", "destination", "predecessor")
    )
    frontier = frontier.select(vertex).copy_columns(vertex, predecessor).assign(distance=0)
    reached, level = frontier, 0
    while level < limit and frontier.count():
        level += 1
        sent = arcs.join(frontier.select(vertex).rename(vertex, source), source)
        first = sent.select([*source, *destination]).smallest(destination, order=source)
        first = first.rename([*destination, *source], [*vertex, *predecessor])
        frontier = unreached.join(first, vertex).assign(distance=level).persist()
        unreached = unreached.difference(frontier, vertex).persist()
        reached = reached.union(frontier).persist()
    return reached


def _relax(graph: FrameGraph, sources: Table, cutoff: float) -> Table:
    """Return a row per vertex, with the length of a shortest path, or infinity."""
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    frontier = sources.assign(distance=0.0)
    unreached = graph.vertices.difference(sources, vertex)
    state = frontier.union(unreached.assign(distance=math.inf)).persist()
    while frontier.count():
        offers = graph.arcs.join(frontier.rename(vertex, source), source)
        offers = offers.assign(offer=lambda arc: arc["distance"] + arc["weight"])
        offers = offers.filter(lambda arc: arc["offer"] <= cutoff)
        offers = offers.aggregate(destination, offer="min").rename(destination, vertex)
        frontier = state.join(offers, vertex).filter(lambda row: row["offer"] < row["distance"])
        frontier = frontier.select([*vertex, "offer"]).rename(["offer"], ["distance"]).persist()
        state = state.difference(frontier, vertex).union(frontier).persist()
    return state


def _find_predecessors(graph: FrameGraph, state: Table, sources: Table) -> Table:
    """Add the predecessors to the rows of reached vertices.

    The arcs on shortest paths lead to a vertex farther away, or have weight zero beside the
    distance. Vertices that only the latter reach are found by a BFS from all others.
    """
    vertex, source, destination, predecessor = map(
        graph.name_columns, ("vertex", "source", "destination", "predecessor")
    )
    reached = state.filter(lambda row: row["distance"] < math.inf)
    start = reached.rename([*vertex, "distance"], [*source, "start"])
    stop = reached.rename([*vertex, "distance"], [*destination, "stop"])
    arcs = graph.arcs.join(start, source).partition(destination).join(stop, destination)
    arcs = arcs.filter(lambda arc: arc["start"] + arc["weight"] == arc["stop"]).persist()
    nearer = arcs.filter(lambda arc: arc["start"] < arc["stop"]).select([*source, *destination])
    first = nearer.smallest(destination, order=source).difference(
        sources.rename(vertex, destination), destination
    )
    first = first.rename([*destination, *source], [*vertex, *predecessor]).persist()
    resolved = first.select(vertex).union(sources).persist()
    unresolved = reached.select(vertex).difference(resolved, vertex).persist()
    if unresolved.count():
        equal = arcs.filter(lambda arc: arc["start"] == arc["stop"]).partition(source).persist()
        found = find_levels(graph, equal, resolved, unresolved).filter(
            lambda row: row["distance"] > 0
        )
        first = first.union(found.select([*vertex, *predecessor]))
    others = state.difference(first, vertex)
    others = others.copy_columns(vertex, predecessor).assign(has_predecessor=False)
    return state.join(first, vertex).assign(has_predecessor=True).union(others)


def _check_distances(graph: FrameGraph, state: Table) -> None:
    """Raise GraphError if a path leads to a vertex at an infinite distance."""
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    reached = state.filter(lambda row: row["distance"] < math.inf)
    sent = graph.arcs.join(reached.rename(vertex, source), source).distinct(destination)
    unreached = state.filter(lambda row: row["distance"] == math.inf)
    name = graph.find_smallest(unreached.join(sent.rename(destination, vertex), vertex))
    if name is not None:
        raise distance_error(name)


def _convert_distances(rows: Frame, value_type: type[np.number]) -> Frame:
    """Convert numbers of edges to the distances of BFS or SSSP."""
    is_reached = rows["distance"] >= 0
    distance = rows["distance"].astype(value_type)
    if value_type is np.float64:
        distance = distance.where(is_reached, math.inf)
    return rows.assign(
        distance=distance, is_reached=is_reached, has_predecessor=rows["distance"] > 0
    )
