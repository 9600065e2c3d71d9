"""BFS and SSSP as frame operations; `algorithms.traversal` has the kernel form."""

from __future__ import annotations

import math
from typing import Any

from ..algorithms.parameters import SearchParameters
from ..algorithms.traversal import check_result_columns
from ..frames import Frame
from ..graph.weight_sums import can_overflow, distance_error
from ..validation import DEFAULT_WEIGHT
from .distances import find_distances
from .frame_graph import FrameGraph, as_frame_graph
from .table import Table
from .vertex_arguments import find_vertices


def bfs(graph: Any, parameters: SearchParameters) -> Frame:
    """Run BFS by joins; see `rapidsgraph.bfs`."""
    graph = as_frame_graph(graph, algorithm="bfs")
    check_result_columns(graph)
    sources = find_vertices(graph, parameters.source)
    state = search(
        graph, sources, weighted=False, limit=parameters.max_distance,
        predecessors=parameters.predecessors,
    )  # fmt: skip
    return _make_result(graph, state.map(convert_levels), parameters.predecessors, "is_reached")


def sssp(graph: Any, parameters: SearchParameters) -> Frame:
    """Compute shortest paths by joins; see `rapidsgraph.sssp`."""
    graph = as_frame_graph(graph, DEFAULT_WEIGHT, multi_edges="min", algorithm="sssp")
    check_result_columns(graph)
    sources = find_vertices(graph, parameters.source)
    state = search(
        graph, sources, weighted=graph.weighted, limit=parameters.max_distance,
        predecessors=parameters.predecessors,
    )  # fmt: skip
    return _make_result(graph, state, parameters.predecessors)


def search(
    graph: FrameGraph,
    sources: Table,
    *,
    weighted: bool,
    limit: float = math.inf,
    predecessors: bool = True,
    targets: Table | None = None,
) -> Table:
    """Return a row per vertex with its distance, and optionally its predecessor.

    Distances beyond double precision are an error without a limit; with `targets`, only if that
    of a target may be one.
    """
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    arcs = graph.arcs if weighted else graph.arcs.select([*source, *destination])
    others = graph.vertices.difference(sources, vertex)
    state = find_distances(graph, arcs, sources, others, limit).persist()
    if weighted and limit == math.inf and can_overflow(arcs.totals("weight")[1]):
        ends = state if targets is None else state.join(targets.select(vertex), vertex)
        if ends.filter(_is_unreached).count():
            _check_distances(graph, state)
    if predecessors:
        state = _add_predecessors(graph, arcs, state, sources, weighted)
    return state


def _make_result(
    graph: FrameGraph, state: Table, predecessors: bool, is_reached: str | None = None
) -> Frame:
    columns = {"distance": is_reached}
    if predecessors:
        columns["predecessor"] = "has_predecessor"
    return graph.make_result(state, columns)


def _add_predecessors(
    graph: FrameGraph, arcs: Table, state: Table, sources: Table, weighted: bool
) -> Table:
    """Add the smallest predecessor of each vertex, or the vertex itself and `has_predecessor`."""
    vertex, predecessor = map(graph.name_columns, ("vertex", "predecessor"))
    predecessors = _find_nearer(graph, arcs, state).persist()
    if weighted:
        # A BFS from all other vertices finds those that only arcs of weight zero lead to.
        reached = state.filter(is_reached).select(vertex)
        starts = predecessors.select(vertex).union(sources.select(vertex)).persist()
        others = reached.difference(starts, vertex).persist()
        if others.count():
            equal_arcs = _select_equal_arcs(graph, arcs, state).persist()
            levels = find_distances(graph, equal_arcs, starts, others).persist()
            predecessors = predecessors.union(_find_nearer(graph, equal_arcs, levels))
    rest = state.difference(predecessors, vertex)
    rest = rest.copy_columns(vertex, predecessor).assign(has_predecessor=False)
    return state.join(predecessors, vertex).assign(has_predecessor=True).union(rest)


def _find_nearer(graph: FrameGraph, arcs: Table, state: Table) -> Table:
    """Return vertices with their smallest predecessor among those at a smaller distance."""
    vertex, source, destination, predecessor = map(
        graph.name_columns, ("vertex", "source", "destination", "predecessor")
    )
    start = state.filter(is_reached).rename([*vertex, "distance"], [*source, "start"])
    offers = (
        arcs.join(start, source).map(_assign_offer).filter(lambda arc: arc["start"] < arc["offer"])
    )
    offers = offers.select([*destination, *source, "offer"])
    best = offers.smallest(destination, order=["offer", *source])
    best = best.rename([*destination, *source], [*vertex, *predecessor]).join(state, vertex)
    # An offer beyond double precision equals the distance of an unreached vertex.
    best = best.filter(is_reached).filter(lambda row: row["offer"] == row["distance"])
    return best.select([*vertex, *predecessor])


def _select_equal_arcs(graph: FrameGraph, arcs: Table, state: Table) -> Table:
    """Return the arcs between vertices at one distance, along which it does not grow."""
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    reached = state.filter(is_reached)
    start = reached.rename([*vertex, "distance"], [*source, "start"])
    stop = reached.rename([*vertex, "distance"], [*destination, "stop"])
    arcs = arcs.join(start, source).map(_assign_offer)
    arcs = arcs.filter(lambda arc: arc["start"] == arc["offer"]).partition(destination)
    arcs = arcs.join(stop, destination).filter(lambda arc: arc["offer"] == arc["stop"])
    return arcs.select([*source, *destination]).partition(source)


def is_reached(state: Frame) -> Any:
    """Return which vertices have a finite distance."""
    return state["distance"] < math.inf


def _is_unreached(state: Frame) -> Any:
    return state["distance"] == math.inf


def _assign_offer(arcs: Frame) -> Frame:
    """Add the distance of the destination by way of the source."""
    length: Any = arcs["weight"] if "weight" in arcs.columns else 1.0
    return arcs.assign(offer=arcs["start"] + length)


def _check_distances(graph: FrameGraph, state: Table) -> None:
    """Raise GraphError if a path leads to a vertex at an infinite distance."""
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    reached = state.filter(is_reached)
    ends = graph.arcs.join(reached.rename(vertex, source), source).distinct(destination)
    unreached = state.filter(_is_unreached)
    name = graph.find_smallest(unreached.join(ends.rename(destination, vertex), vertex))
    if name is not None:
        raise distance_error(name)


def convert_levels(rows: Frame) -> Frame:
    """Convert distances to the integers of BFS; -1 where `is_reached` is false."""
    is_valid = is_reached(rows)
    distance = rows["distance"].where(is_valid, -1).astype("int32")
    return rows.assign(distance=distance, is_reached=is_valid)
