"""PageRank as frame operations; `algorithms.pagerank` has the formula and the kernel form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..algorithms.pagerank import (
    PRECISIONS,
    DanglingPolicy,
    Precision,
    check_convergence,
    check_parameters,
)
from ..frames import Frame, VertexValues
from ..progress import Progress, Report, reporter
from ..validation import check_memory_limit
from .frame_graph import FrameGraph, as_frame_graph, rename


def pagerank(
    graph: Any,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    personalization: VertexValues | None = None,
    dangling: DanglingPolicy | VertexValues | None = None,
    start: VertexValues | None = None,
    precision: Precision = "double",
    progress: Progress = None,
    launch: Any = None,
    memory_limit: Any = None,
) -> Frame:
    """Compute PageRank by joins; see `rapidsgraph.pagerank`."""
    damping, tolerance, max_iterations = check_parameters(
        damping, tolerance, max_iterations, dangling, "auto", precision, launch
    )
    check_memory_limit(memory_limit)
    graph = as_frame_graph(graph, merge_arcs=True)
    graph.check_name_collisions("pagerank")
    num_vertices = graph.engine.count(graph.vertices)
    if not num_vertices:
        return graph.make_result(graph.vertices.assign(pagerank=0.0), {"pagerank": None})
    uniform = 1 / num_vertices
    state = graph.vertices.assign(teleport=uniform, dangling=uniform, pagerank=uniform)
    with reporter(progress, "PageRank", max_iterations) as report:
        state, iterations, residual = _iterate(
            graph, state, damping, tolerance, max_iterations, PRECISIONS[precision], report
        )
    check_convergence(iterations, residual, tolerance)
    return graph.make_result(state, {"pagerank": None})


def _iterate(
    graph: FrameGraph,
    state: Frame,
    damping: float,
    tolerance: float,
    max_iterations: int,
    value_type: type[np.floating],
    report: Report,
) -> tuple[Frame, int, float]:
    """Return the last state, the number of iterations and the residual.

    `state` has a row per vertex: its PageRank, and its weights in the teleport and in the
    distribution of the PageRank of dangling vertices.
    """
    engine, vertex, source, destination = (
        graph.engine, graph.vertex, graph.source, graph.destination,
    )  # fmt: skip
    arcs = graph.arcs if graph.weighted else graph.arcs.assign(weight=1.0)
    out_weights = engine.aggregate(arcs, source, {"weight": "sum"})
    out_weights = out_weights.rename(columns={"weight": "out_weight"})
    arcs = engine.join(arcs[arcs["weight"] > 0], out_weights, source)
    arcs = arcs.assign(fraction=arcs["weight"] / arcs["out_weight"])
    arcs = engine.persist(arcs[[*source, *destination, "fraction"]])
    state = engine.join(state, rename(out_weights, source, vertex), vertex, how="left")
    state = state.assign(is_dangling=state["out_weight"].fillna(0.0) == 0)
    state = state.assign(dangling_mass=state["pagerank"] * state["is_dangling"])
    state = engine.persist(state.drop(columns="out_weight").astype({"pagerank": value_type}))
    [dangling_mass] = engine.totals(state, ["dangling_mass"])
    iterations, residual = 0, math.inf
    while iterations < max_iterations and not residual < tolerance:
        sent = engine.join(arcs, rename(state[[*vertex, "pagerank"]], vertex, source), source)
        sent = sent.assign(received=sent["pagerank"] * sent["fraction"])
        received = engine.aggregate(sent, destination, {"received": "sum"})
        state = engine.join(state, rename(received, destination, vertex), vertex, how="left")
        flow = state["received"].fillna(0.0) + dangling_mass * state["dangling"]
        pagerank = (1 - damping) * state["teleport"] + damping * flow
        change = (pagerank - state["pagerank"]).abs()
        state = state.assign(pagerank=pagerank.astype(value_type), change=change)
        state = state.assign(dangling_mass=state["pagerank"] * state["is_dangling"])
        state = engine.persist(state.drop(columns="received"))
        residual, dangling_mass = engine.totals(state, ["change", "dangling_mass"])
        iterations += 1
        report(iterations, f"change {residual:.1e}")
    return state, iterations, residual
