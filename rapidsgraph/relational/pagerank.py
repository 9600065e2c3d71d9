"""PageRank as frame operations; `algorithms.pagerank` has the formula and the kernel form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..algorithms.parameters import PageRankParameters
from ..frames import Frame
from ..graph.weight_sums import out_weight_error
from ..progress import Report, reporter
from ..validation import DEFAULT_WEIGHT
from .frame_graph import FrameGraph, as_frame_graph
from .table import Table, drop_index, find_rows, index_rows
from .vertex_arguments import join_vertex_values


def pagerank(graph: Any, parameters: PageRankParameters) -> tuple[Frame, int, float]:
    """Compute PageRank by joins; see `algorithms.pagerank.pagerank`."""
    graph = as_frame_graph(graph, DEFAULT_WEIGHT, multi_edges="sum", algorithm="pagerank")
    graph.check_name_collisions("pagerank")
    num_vertices = graph.vertices.count()
    if not num_vertices:
        empty = graph.vertices.assign(pagerank=parameters.value_type(0))
        frame = graph.make_result(empty, {"pagerank": None})
        return frame, 0, 0.0
    out_weights = _sum_out_weights(graph)
    state = graph.vertices
    for column, values, parameter in (
        ("teleport", parameters.personalization, "personalization"),
        ("dangling", parameters.dangling, "dangling"),
        ("pagerank", parameters.start, "start"),
    ):
        if column == "dangling" and values is None:
            state = state.assign(dangling=lambda vertex: vertex["teleport"])
        elif values is None or isinstance(values, str):
            state = state.assign(**{column: 0.0 if values == "drop" else 1 / num_vertices})
        else:
            state = join_vertex_values(graph, state, column, values, parameter)
    with reporter(parameters.progress, "PageRank", parameters.max_iterations) as report:
        state, iterations, residual = _iterate(graph, state, out_weights, parameters, report)
    return graph.make_result(state, {"pagerank": None}), iterations, residual


def _sum_out_weights(graph: FrameGraph) -> Table:
    """Return the weight of the arcs that leave each source, their number without weights."""
    source = graph.name_columns("source")
    arcs = graph.arcs if graph.weighted else graph.arcs.assign(weight=1.0)
    out_weights = arcs.aggregate(source, weight="sum").rename(["weight"], ["out_weight"])
    if graph.weighted:
        _check_out_weights(out_weights.rename(source, graph.name_columns("vertex")), graph)
    return out_weights


def _iterate(
    graph: FrameGraph,
    state: Table,
    out_weights: Table,
    parameters: PageRankParameters,
    report: Report,
) -> tuple[Table, int, float]:
    """Return the last state, the number of iterations and the residual.

    `state` has a row per vertex: its PageRank, and its weights in the teleport and in the
    distribution of the PageRank of dangling vertices.
    """
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    damping, tolerance = parameters.damping, parameters.tolerance
    arcs = graph.arcs if graph.weighted else graph.arcs.assign(weight=1.0)
    arcs = arcs.filter(lambda arc: arc["weight"] > 0).join(out_weights, source)
    arcs = arcs.assign(fraction=lambda arc: arc["weight"] / arc["out_weight"])
    state = state.join(out_weights.rename(source, vertex), vertex, how="left")
    state = state.map(_find_dangling, value_type=parameters.value_type).map(index_rows, by=vertex)
    state, [_, dangling_mass] = state.persist_with_totals("dangling_mass")
    arcs = arcs.map(_find_sources, state, source=source, destination=destination).persist()
    iterations, residual = 0, math.inf
    while iterations < parameters.max_iterations and not residual < tolerance:
        contributions = arcs.map(_send, state, destination=destination)
        contributions = contributions.aggregate(destination, contribution="sum")
        state = state.map(_update, contributions, damping=damping, dangling_mass=dangling_mass)
        state, [_, residual, dangling_mass] = state.persist_with_totals("change", "dangling_mass")
        iterations += 1
        report(iterations, f"change {residual:.1e}")
    return state.map(drop_index, columns=[*vertex, "pagerank"]), iterations, residual


def _check_out_weights(out_weights: Table, graph: FrameGraph) -> None:
    """Raise GraphError if the weights that leave a vertex sum to infinity."""
    name = graph.find_smallest(out_weights.filter(lambda vertex: vertex["out_weight"] == math.inf))
    if name is not None:
        raise out_weight_error(name)


def _find_dangling(state: Frame, value_type: type[np.floating]) -> Frame:
    state = state.assign(is_dangling=state["out_weight"].fillna(0.0) == 0)
    state = _assign_dangling_mass(state)
    return state.drop(columns="out_weight").astype({"pagerank": value_type})


def _find_sources(arcs: Frame, state: Frame, source: list[str], destination: list[str]) -> Frame:
    """Replace the names of sources by the rows of `state`, which have one order throughout."""
    return arcs[[*destination, "fraction"]].assign(row=find_rows(state, arcs[source]))


def _send(arcs: Frame, state: Frame, destination: list[str]) -> Frame:
    """Return what each arc sends: a fraction of the PageRank of its source."""
    pagerank = state["pagerank"].values[arcs["row"].values]
    return arcs[destination].assign(contribution=pagerank * arcs["fraction"].values)


def _update(state: Frame, contributions: Frame, damping: float, dangling_mass: float) -> Frame:
    rows = find_rows(state, contributions.drop(columns="contribution"))
    sums = dangling_mass * state["dangling"].values
    sums[rows] += contributions["contribution"].values
    pagerank = (1 - damping) * state["teleport"].values + damping * sums
    change = abs(pagerank - state["pagerank"].values)
    pagerank = pagerank.astype(state["pagerank"].dtype)
    return _assign_dangling_mass(state.assign(change=change, pagerank=pagerank))


def _assign_dangling_mass(state: Frame) -> Frame:
    """Add the PageRank of dangling vertices in double precision, in which it is summed."""
    pagerank = state["pagerank"].astype("float64")
    return state.assign(dangling_mass=pagerank.where(state["is_dangling"], 0.0))
