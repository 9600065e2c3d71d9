"""The methods edge, node, contribution and warp of PageRank: one sweep per iteration.

`edge` and `node` are the edge- and node-centric methods of Kim [1]_, `contribution` and `warp`
those of Reddy [2]_; they differ in the kernel that sums over the neighbors. Iterations are enqueued
in batches. The kernels themselves do nothing once the residual is below the tolerance, so the host
reads the state only at the end of a batch.

References
----------
.. [1] M.-S. Kim, "Towards exploiting GPUs for fast PageRank computation of large-scale networks",
   Daegu Gyeongbuk Institute of Science and Technology (DGIST).
.. [2] C. S. Reddy, "GPU Programming", B.Tech. project report, Indian Institute of Technology
   Palakkad.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import device
from ..device import Array, ArrayModule
from ..graph.csr import row_indices
from ..kernels.constants import BLOCK_THREADS, WARP
from ..progress import Report
from .pagerank_layout import NUM_CPU_BLOCKS, read_state

if TYPE_CHECKING:
    from .pagerank import PageRankProblem

# Method warp: a thread sums up to SHORT_LIST neighbors, a warp up to LONG_LIST, a block more.
SHORT_LIST, LONG_LIST = 32, 1024

Sweep = Callable[[int], Array]  # from the parity of the iteration to the new values
SweepFactory = Callable[..., Sweep]


def power_iterate(
    problem: PageRankProblem, method: str | SweepFactory, report: Report
) -> tuple[Array, int, float]:
    """Iterate until convergence; return (PageRank by vertex, iterations, residual).

    Parameters
    ----------
    problem : PageRankProblem
    method : {"edge", "node", "contribution", "warp"} or callable
        A callable has the parameters of `_edge_sweep`, and like it accumulates in place.
    report : callable
        Called with the number of iterations and a text.
    """
    graph, xp = problem.graph, problem.graph.xp
    vertices, value_type = graph.num_vertices, problem.value_type
    is_in_place = callable(method) or method == "edge"
    is_dangling = problem.out_weights == 0
    out_weights = xp.where(is_dangling, 1.0, problem.out_weights).astype(value_type)
    pagerank = xp.empty((1 if is_in_place else 2, vertices), value_type)
    pagerank[0] = problem.terms.start
    dangling_mass = float(pagerank[0][is_dangling].sum(dtype=np.float64))
    state = xp.asarray([0.0, math.inf, dangling_mass, 0.0])
    partials = xp.zeros(2 * num_measure_blocks(xp))
    sweeps = {"edge": _edge_sweep, "node": _node_sweep}
    sweep = method if callable(method) else sweeps.get(method, _contribution_sweep)
    sweep = sweep(problem, method, out_weights, pagerank, state)
    # The residual and the dangling mass are measured only if something depends on them.
    flags = problem.terms.dangling_weights, is_dangling
    has_dangling_mass = all(device.count_nonzero(values) for values in flags)
    measured = is_in_place or problem.tolerance > 0 or has_dangling_mass
    # Launches past convergence do nothing but still cost time, as does reading the state.
    batch = problem.batch_size
    if problem.tolerance:
        batch = min(batch, 1 if xp is np or callable(method) else 32)
    iterations, residual, converged = 0, math.inf, False
    while iterations < problem.max_iterations and not converged:
        count = min(batch, problem.max_iterations - iterations)
        for iteration in range(iterations, iterations + count):
            new_pagerank = sweep(iteration % 2)
            if not measured:
                continue
            old_pagerank = pagerank[0 if is_in_place else iteration % 2]
            measure_change(
                new_pagerank,
                old_pagerank,
                is_dangling,
                state,
                partials,
                problem.tolerance,
                copy=is_in_place,
            )
        if measured:
            iterations, residual, converged = read_state(state)
        else:
            iterations += count
        report(iterations, f"change {residual:.1e}" if measured else "")
    return pagerank[0 if is_in_place else iterations % 2].copy(), iterations, residual


def num_measure_blocks(xp: ArrayModule) -> int:
    """Return the number of blocks, each with partial sums, that measure the change of a sweep."""
    if xp is np:
        return NUM_CPU_BLOCKS
    return 4 * xp.cuda.Device().attributes["MultiProcessorCount"]


def measure_change(
    new_pagerank: Array,
    pagerank: Array,
    is_dangling: Array,
    state: Array,
    partials: Array,
    tolerance: float,
    *,
    copy: bool = False,
) -> None:
    """Launch the kernels that update the state after a sweep.

    Parameters
    ----------
    new_pagerank, pagerank : arrays, shape (vertices,)
        Values after and before the sweep; with `copy` the new ones also replace the old ones.
    is_dangling : bool, shape (vertices,)
    state : float64
        As in pagerank.cu.
    partials : float64, shape (2 * num_measure_blocks(xp),)
        Buffer of the partial sums.
    tolerance : float
    """
    blocks = partials.size // 2
    device.launch(
        "pagerank", "measure_change", size=pagerank.size, geometry=(blocks, BLOCK_THREADS),
        num_vertices=pagerank.size, copy=copy, new_pagerank=new_pagerank, is_dangling=is_dangling,
        state=state, pagerank=pagerank, partials=partials,
    )  # fmt: skip
    device.launch(
        "pagerank", "check_convergence", size=blocks, geometry=(1, BLOCK_THREADS),
        num_blocks=blocks, tolerance=tolerance, partials=partials, state=state,
    )  # fmt: skip


def _edge_sweep(
    problem: PageRankProblem, method: Any, out_weights: Array, pagerank: Array, state: Array
) -> Sweep:
    graph, xp = problem.graph, problem.graph.xp
    csc = graph.csc
    sources, destinations = csc.neighbors, row_indices(csc)
    # The kernel adds each undirected edge both ways. With weights, the two arcs of an edge have
    # different normalized weights.
    symmetrize = not graph.directed and not graph.weighted
    if symmetrize:
        once = sources <= destinations
        sources, destinations = sources[once], destinations[once]
    sums = xp.empty(graph.num_vertices)

    def sweep(parity: int) -> Array:
        initialize_sums(problem, state, sums)
        device.launch(
            "pagerank", "scatter_edges", size=sources.size, geometry=problem.launch,
            num_edges=sources.size, symmetrize=symmetrize, damping=problem.damping, sources=sources,
            destinations=destinations, weights=problem.weights, weighted=graph.weighted,
            out_weights=out_weights, pagerank=pagerank[0], state=state, sums=sums,
        )  # fmt: skip
        return sums

    return sweep


def initialize_sums(problem: PageRankProblem, state: Array, sums: Array) -> None:
    """Launch the kernel that sets each sum to its teleport and dangling terms."""
    terms = problem.terms
    device.launch(
        "pagerank", "initialize_sums", size=sums.size, geometry=problem.launch,
        num_vertices=sums.size, teleport=terms.teleport, num_teleports=terms.teleport.size,
        dangling_weights=terms.dangling_weights, num_dangling_weights=terms.dangling_weights.size,
        state=state, sums=sums,
    )  # fmt: skip


def _gather_arguments(problem: PageRankProblem, out_weights: Array, state: Array) -> dict[str, Any]:
    """Return the arguments of the gathering kernels that are the same in all iterations."""
    graph, csc = problem.graph, problem.graph.csc
    terms = problem.terms
    return {
        "offsets": csc.offsets, "neighbors": csc.neighbors, "weights": problem.weights,
        "weighted": graph.weighted, "out_weights": out_weights, "damping": problem.damping,
        "teleport": terms.teleport, "num_teleports": terms.teleport.size,
        "dangling_weights": terms.dangling_weights,
        "num_dangling_weights": terms.dangling_weights.size, "state": state,
    }  # fmt: skip


def _node_sweep(
    problem: PageRankProblem, method: Any, out_weights: Array, pagerank: Array, state: Array
) -> Sweep:
    num_vertices = problem.graph.num_vertices
    arguments = _gather_arguments(problem, out_weights, state)

    def sweep(parity: int) -> Array:
        device.launch(
            "pagerank", "gather_nodes", size=num_vertices, geometry=problem.launch,
            num_vertices=num_vertices, **arguments, pagerank=pagerank[parity],
            new_pagerank=pagerank[1 - parity],
        )  # fmt: skip
        return pagerank[1 - parity]

    return sweep


def _contribution_sweep(
    problem: PageRankProblem, method: Any, out_weights: Array, pagerank: Array, state: Array
) -> Sweep:
    graph, xp = problem.graph, problem.graph.xp
    num_vertices = graph.num_vertices
    contributions = xp.empty((2, num_vertices), problem.value_type)
    contributions[0] = pagerank[0] / out_weights
    arguments = _gather_arguments(problem, out_weights, state)
    degrees = xp.diff(graph.csc.offsets)
    bins = [
        (1, xp.flatnonzero(degrees <= SHORT_LIST)),
        (WARP, xp.flatnonzero((degrees > SHORT_LIST) & (degrees <= LONG_LIST))),
        (0, xp.flatnonzero(degrees > LONG_LIST)),
    ]
    bins = [(group_size, rows.astype(xp.int32)) for group_size, rows in bins if rows.size]

    def sweep(parity: int) -> Array:
        buffers = {
            "contributions": contributions[parity], "new_contributions": contributions[1 - parity],
            "new_pagerank": pagerank[1 - parity],
        }  # fmt: skip
        if method == "contribution":
            device.launch(
                "pagerank", "gather_contributions", size=num_vertices, geometry=problem.launch,
                num_vertices=num_vertices, **arguments, **buffers,
            )  # fmt: skip
            return pagerank[1 - parity]
        for group_size, rows in bins:
            device.launch(
                "pagerank", "gather_groups", size=rows.size * (group_size or BLOCK_THREADS),
                geometry=problem.launch, num_rows=rows.size, rows=rows, group_size=group_size,
                **arguments, **buffers,
            )  # fmt: skip
        return pagerank[1 - parity]

    return sweep
