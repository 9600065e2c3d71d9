"""PageRank as frame operations; `algorithms.pagerank` has the formula and the kernel form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..algorithms.parameters import PageRankParameters
from ..frames import Frame
from ..graph.weight_sums import out_weight_error
from ..progress import Report, reporter
from .frame_graph import FrameGraph, as_frame_graph
from .table import Table
from .vertex_arguments import join_vertex_values


def pagerank(graph: Any, parameters: PageRankParameters) -> tuple[Frame, int, float]:
    """Compute PageRank by joins; see `algorithms.pagerank.pagerank`."""
    graph = as_frame_graph(graph, merge_arcs=True)
    graph.check_name_collisions("pagerank")
    num_vertices = graph.vertices.count()
    if not num_vertices:
        frame = graph.make_result(graph.vertices.assign(pagerank=0.0), {"pagerank": None})
        return frame, 0, 0.0
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
        state, iterations, residual = _iterate(graph, state, parameters, report)
    return graph.make_result(state, {"pagerank": None}), iterations, residual


def _iterate(
    graph: FrameGraph, state: Table, parameters: PageRankParameters, report: Report
) -> tuple[Table, int, float]:
    """Return the last state, the number of iterations and the residual.

    `state` has a row per vertex: its PageRank, and its weights in the teleport and in the
    distribution of the PageRank of dangling vertices.
    """
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    damping, tolerance = parameters.damping, parameters.tolerance
    arcs = graph.arcs if graph.weighted else graph.arcs.assign(weight=1.0)
    out_weights = arcs.aggregate(source, weight="sum").rename(["weight"], ["out_weight"])
    if graph.weighted:
        _check_out_weights(out_weights.rename(source, vertex), graph)
    arcs = arcs.filter(lambda arc: arc["weight"] > 0).join(out_weights, source)
    arcs = arcs.assign(fraction=lambda arc: arc["weight"] / arc["out_weight"])
    arcs = arcs.select([*source, *destination, "fraction"]).persist()
    state = state.join(out_weights.rename(source, vertex), vertex, how="left")
    state = state.map(_find_dangling, value_type=parameters.value_type).persist()
    _, dangling_mass = state.totals("dangling_mass")
    iterations, residual = 0, math.inf
    while iterations < parameters.max_iterations and not residual < tolerance:
        sent = arcs.join(state.select([*vertex, "pagerank"]).rename(vertex, source), source)
        sent = sent.assign(received=lambda arc: arc["pagerank"] * arc["fraction"])
        received = sent.aggregate(destination, received="sum").rename(destination, vertex)
        state = state.join(received, vertex, how="left")
        state = state.map(_update, damping=damping, dangling_mass=dangling_mass).persist()
        _, residual, dangling_mass = state.totals("change", "dangling_mass")
        iterations += 1
        report(iterations, f"change {residual:.1e}")
    return state, iterations, residual


def _check_out_weights(out_weights: Table, graph: FrameGraph) -> None:
    """Raise GraphError if the weights that leave a vertex sum to infinity."""
    name = graph.find_smallest(out_weights.filter(lambda vertex: vertex["out_weight"] == math.inf))
    if name is not None:
        raise out_weight_error(name)


def _find_dangling(state: Frame, value_type: type[np.floating]) -> Frame:
    state = state.assign(is_dangling=state["out_weight"].fillna(0.0) == 0)
    state = _assign_dangling_mass(state)
    return state.drop(columns="out_weight").astype({"pagerank": value_type})


def _update(state: Frame, damping: float, dangling_mass: float) -> Frame:
    received = state["received"].fillna(0.0) + dangling_mass * state["dangling"]
    pagerank = (1 - damping) * state["teleport"] + damping * received
    change = (pagerank - state["pagerank"]).abs()
    state = state.assign(change=change, pagerank=pagerank.astype(state["pagerank"].dtype))
    return _assign_dangling_mass(state).drop(columns="received")


def _assign_dangling_mass(state: Frame) -> Frame:
    """Add the PageRank of dangling vertices in double precision, in which it is summed."""
    pagerank = state["pagerank"].astype("float64")
    return state.assign(dangling_mass=pagerank.where(state["is_dangling"], 0.0))
