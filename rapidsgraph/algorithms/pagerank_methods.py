"""The methods edge, node, contribution and warp of PageRank: one sweep per iteration.

`edge` and `node` are the edge- and node-centric methods of Kim, `contribution` and `warp` those of
Reddy; they differ in the kernel that sums over the neighbors. Iterations are enqueued in batches.
The kernels themselves do nothing once the residual is below the tolerance, so the host reads the
state only at the end of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import device
from ..device import Array
from ..graph.csr import row_indices
from .pagerank_problem import NUM_CPU_BLOCKS, PageRankProblem, read_state

SHORT_LIST, LONG_LIST = 32, 1024  # method warp: up to these a thread, a warp sums; else a block

Sweep = Callable[[int], Array]  # from the parity of the iteration to the new values
SweepFactory = Callable[..., Sweep]


def power_iterate(
    run: PageRankProblem, method: str | SweepFactory, report: Callable[[int, str], None]
) -> tuple[Array, int, float]:
    """Iterate until convergence; return (PageRank by vertex, iterations, residual).

    Parameters
    ----------
    run : PageRankProblem
    method : {"edge", "node", "contribution", "warp"} or callable
        A callable has the parameters of `_edge_sweep`, and like it accumulates in place.
    report : callable
        Called with the number of iterations and a text.
    """
    graph, xp = run.graph, run.graph.xp
    vertices, value_type = graph.num_vertices, run.value_type
    is_in_place = callable(method) or method == "edge"
    sinks = run.out_weights == 0
    out_weights = xp.where(sinks, 1.0, run.out_weights).astype(value_type)
    ranks = xp.empty((1 if is_in_place else 2, vertices), value_type)
    ranks[0] = run.start
    mass = float(ranks[0][sinks].sum(dtype=np.float64))
    state = xp.asarray([0.0, math.inf, mass, 0.0])
    blocks = NUM_CPU_BLOCKS if xp is np else 4 * xp.cuda.Device().attributes["MultiProcessorCount"]
    partials = xp.zeros(2 * blocks)
    sweeps = {"edge": _edge_sweep, "node": _node_sweep}
    sweep = method if callable(method) else sweeps.get(method, _contribution_sweep)
    sweep = sweep(run, method, out_weights, ranks, state)
    # The residual and the dangling mass are measured only if something depends on them.
    has_dangling_mass = bool(run.dangling_weights.any()) and bool(sinks.any())
    measured = is_in_place or run.tolerance > 0 or has_dangling_mass
    # Launches past convergence do nothing but still cost time, as does reading the state.
    batch = (
        min(run.batch, 1 if xp is np or callable(method) else 32) if run.tolerance else run.batch
    )
    iterations, residual, converged = 0, math.inf, False
    while iterations < run.max_iterations and not converged:
        count = min(batch, run.max_iterations - iterations)
        for iteration in range(iterations, iterations + count):
            new_ranks = sweep(iteration % 2)
            if not measured:
                continue
            old_ranks = ranks[0 if is_in_place else iteration % 2]
            device.launch(
                "pagerank", "measure_change", size=vertices, geometry=(blocks, 256),
                num_vertices=vertices, copy=is_in_place, new_pagerank=new_ranks, is_dangling=sinks,
                state=state, pagerank=old_ranks, partials=partials,
            )  # fmt: skip
            device.launch(
                "pagerank", "check_convergence", size=blocks, geometry=(1, 256),
                num_blocks=blocks, tolerance=run.tolerance, partials=partials, state=state,
            )  # fmt: skip
        if measured:
            iterations, residual, converged = read_state(state)
        else:
            iterations += count
        report(iterations, f"change {residual:.1e}" if measured else "")
    return ranks[0 if is_in_place else iterations % 2].copy(), iterations, residual


def _edge_sweep(
    run: PageRankProblem, method: Any, out_weights: Array, ranks: Array, state: Array
) -> Sweep:
    graph, xp = run.graph, run.graph.xp
    lists = graph.csc
    sources, destinations = lists.neighbors, row_indices(lists)
    # The kernel adds each undirected edge both ways. With weights, the two arcs of an edge have
    # different normalized weights.
    symmetrize = not graph.directed and not graph.weighted
    if symmetrize:
        once = sources <= destinations
        sources, destinations = sources[once], destinations[once]
    sums = xp.empty(graph.num_vertices)

    def sweep(parity: int) -> Array:
        initialize_sums(run, state, sums)
        device.launch(
            "pagerank", "scatter_edges", size=sources.size, geometry=run.launch,
            num_edges=sources.size, symmetrize=symmetrize, damping=run.damping, sources=sources,
            destinations=destinations, weights=run.weights, weighted=graph.weighted,
            out_weights=out_weights, pagerank=ranks[0], state=state, sums=sums,
        )  # fmt: skip
        return sums

    return sweep


def initialize_sums(run: PageRankProblem, state: Array, sums: Array) -> None:
    """Launch the kernel that sets each sum to its teleport and dangling terms."""
    device.launch(
        "pagerank", "initialize_sums", size=sums.size, geometry=run.launch,
        num_vertices=sums.size, teleport=run.teleport, num_teleports=run.teleport.size,
        dangling_weights=run.dangling_weights,
            num_dangling_weights=run.dangling_weights.size,
        state=state, sums=sums,
    )  # fmt: skip


def _node_sweep(
    run: PageRankProblem, method: Any, out_weights: Array, ranks: Array, state: Array
) -> Sweep:
    graph, lists, weights = run.graph, run.graph.csc, run.weights

    def sweep(parity: int) -> Array:
        device.launch(
            "pagerank", "gather_nodes", size=graph.num_vertices, geometry=run.launch,
            num_vertices=graph.num_vertices, offsets=lists.offsets, neighbors=lists.neighbors,
            weights=weights, weighted=graph.weighted, out_weights=out_weights, damping=run.damping,
            teleport=run.teleport, num_teleports=run.teleport.size,
            dangling_weights=run.dangling_weights,
            num_dangling_weights=run.dangling_weights.size, state=state, pagerank=ranks[parity],
            new_pagerank=ranks[1 - parity],
        )  # fmt: skip
        return ranks[1 - parity]

    return sweep


def _contribution_sweep(
    run: PageRankProblem, method: Any, out_weights: Array, ranks: Array, state: Array
) -> Sweep:
    graph, xp, lists = run.graph, run.graph.xp, run.graph.csc
    vertices = graph.num_vertices
    contributions = xp.empty((2, vertices), run.value_type)
    contributions[0] = ranks[0] / out_weights
    weights = run.weights
    constant = {
        "offsets": lists.offsets, "neighbors": lists.neighbors, "weights": weights,
        "weighted": graph.weighted, "out_weights": out_weights, "damping": run.damping,
        "teleport": run.teleport, "num_teleports": run.teleport.size,
        "dangling_weights": run.dangling_weights, 
        "num_dangling_weights": run.dangling_weights.size, "state": state,
    }  # fmt: skip
    degrees = xp.diff(lists.offsets)
    bins = [
        (1, xp.flatnonzero(degrees <= SHORT_LIST)),
        (32, xp.flatnonzero((degrees > SHORT_LIST) & (degrees <= LONG_LIST))),
        (0, xp.flatnonzero(degrees > LONG_LIST)),
    ]
    bins = [(group, rows.astype(xp.int32)) for group, rows in bins if rows.size]

    def sweep(parity: int) -> Array:
        buffers = {
            "contributions": contributions[parity], "new_contributions": contributions[1 - parity],
            "new_pagerank": ranks[1 - parity],
        }  # fmt: skip
        if method == "contribution":
            device.launch(
                "pagerank", "gather_contributions", size=vertices, geometry=run.launch,
                num_vertices=vertices, **constant, **buffers,
            )  # fmt: skip
            return ranks[1 - parity]
        for group, rows in bins:
            device.launch(
                "pagerank", "gather_groups",
                size=rows.size * (group or 256), geometry=run.launch,
                num_rows=rows.size, rows=rows, group_size=group, **constant, **buffers,
            )  # fmt: skip
        return ranks[1 - parity]

    return sweep
