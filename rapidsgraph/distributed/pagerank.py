"""PageRank of a distributed graph.

Each partition sums what its vertices receive from the contributions of all vertices; its new
contributions go to all other partitions after each iteration. See `algorithms.pagerank` for the
formula and `pagerank_partition` for what a worker does.

A single partition runs many iterations in one task. On several workers, members of a group
exchange contributions directly. Without a client, or where a member is lost, an iteration is one
task per partition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import repeat
from typing import Any

from ..algorithms.pagerank import (
    METHODS,
    PRECISIONS,
    DanglingPolicy,
    PageRankMethod,
    Precision,
    check_convergence,
    check_parameters,
    vertex_distribution,
)
from ..frames import Frame, VertexValues, compute_if_dask
from ..graph.local_graph import GraphLike
from ..progress import Progress, reporter
from ..validation import check_auto_method, check_memory_limit
from . import pagerank_partition as tasks
from .actors import (
    ActorGroup,
    BatchSize,
    MemberLostError,
    Recomputation,
    report_increases,
)
from .executor import DaskExecutor, Executor, release_on_error
from .graph import DistributedGraph, as_distributed
from .partition import add_arrays

Report = Callable[[int, str], Any]


@release_on_error
def pagerank(
    graph: GraphLike,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    personalization: VertexValues | None = None,
    dangling: DanglingPolicy | VertexValues | None = None,
    start: VertexValues | None = None,
    method: PageRankMethod = "auto",
    precision: Precision = "double",
    progress: Progress = None,
    launch: Any = None,
    memory_limit: Any = None,
) -> Frame:
    """Compute PageRank of a DistributedGraph or Dask frame; see `rapidsgraph.pagerank`."""
    damping, tolerance, max_iterations = check_parameters(
        damping, tolerance, max_iterations, dangling, method, precision, launch
    )
    check_auto_method(method, METHODS, "distributed graphs")
    check_memory_limit(memory_limit)
    graph = as_distributed(graph, "csc")
    graph.check_name_collisions("pagerank")
    executor, value_type = graph.executor, PRECISIONS[precision]
    if not graph.num_vertices:
        return graph.to_dask(
            [executor.submit(tasks.create_empty_frame, graph.labeling, value_type, name="label")]
        )
    layouts = graph.cached(f"PageRank layout, {precision}", lambda: _layouts(graph, value_type))
    distributions = {"personalization": personalization, "dangling": dangling, "start": start}
    for parameter, values in distributions.items():
        if values is not None and not isinstance(values, str):
            # One task for all partitions. They replace None and strings themselves.
            distributions[parameter] = executor.submit(
                vertex_distribution, graph.labeling, compute_if_dask(values), parameter,
                name="distribution",
            )  # fmt: skip
    states = executor.map(
        tasks.create_state, layouts, repeat(graph.labeling), repeat(damping),
        *map(repeat, distributions.values()), graph.starts, name="pagerank-state",
    )  # fmt: skip
    with ExitStack() as stack:
        with reporter(progress, "PageRank", max_iterations) as report:
            results, iterations, residual = _iterate(
                executor, states, graph.bounds, tolerance, max_iterations, report, stack
            )
        check_convergence(iterations, residual, tolerance)
        frames = executor.map(
            tasks.create_pagerank_frame, repeat(graph.labeling), states, results, graph.starts,
            graph.stops, name="label",
        )  # fmt: skip
        return graph.to_dask(frames)


def _layouts(graph: DistributedGraph, value_type: type) -> list:
    """Return a task per partition of its PageRankLayout."""
    executor, partitions = graph.executor, graph.partitions("csc")
    out_weights = graph.cached("out-weights", lambda: _out_weights(graph))
    orders = executor.map(tasks.order_rows, partitions, repeat(out_weights), name="row-order")
    contribution_index = executor.submit(
        tasks.index_contributions, graph.bounds, *orders, name="contribution-index"
    )
    return executor.map(
        tasks.build_layout, partitions, orders, repeat(contribution_index), repeat(out_weights),
        repeat(graph.weighted), repeat(value_type), name="layout",
    )  # fmt: skip


def _out_weights(graph: DistributedGraph) -> Any:
    """Return a task of the out-weight of every vertex, after a check: float64."""
    executor = graph.executor
    sums = executor.map(tasks.sum_out_weights, graph.partitions("csc"), name="out-weights")
    return executor.submit(
        tasks.validate_out_weights,
        executor.tree_reduce(add_arrays, sums, "out-weights"),
        graph.labeling if graph.weighted else None,
        name="out-weights",
    )


def _iterate(
    executor: Executor,
    states: list,
    bounds: list[int],
    tolerance: float,
    max_iterations: int,
    report: Report,
    stack: ExitStack,
) -> tuple[list, int, float]:
    """Return tasks of the last results, the number of iterations, and the residual.

    The group of members stays open in `stack` until the results are used.
    """
    arguments = states, bounds, tolerance, max_iterations, report_increases(report)
    if len(states) > 1 and isinstance(executor, DaskExecutor):
        with suppress(MemberLostError):
            return _iterate_by_group(executor, *arguments, stack)
    return _iterate_by_tasks(executor, *arguments)


def _iterate_by_tasks(
    executor: Executor,
    states: list,
    bounds: list[int],
    tolerance: float,
    max_iterations: int,
    report: Report,
) -> tuple[list, int, float]:
    results = executor.map(tasks.start_iterations, states, name="pagerank-start")
    iterations, residual, batch_size = 0, math.inf, BatchSize(max_iterations)
    while num_iterations := batch_size.next(iterations):
        per_task = num_iterations if len(states) == 1 else 1
        batch = []
        for _ in range(0, num_iterations, per_task):
            results = [
                executor.submit(
                    tasks.run_iterations, state, rank, bounds, per_task, tolerance, *results,
                    name="pagerank", worker=rank,
                )
                for rank, state in enumerate(states)
            ]  # fmt: skip
            batch.append(results)
        [residuals] = executor.gather(
            [executor.submit(tasks.sum_residuals, batch, name="residuals", worker=0)]
        )
        for results, (iterations, residual) in zip(batch, residuals, strict=True):
            report(iterations, f"change {residual:.1e}")
            if residual < tolerance:
                return results, iterations, residual
    return results, iterations, residual


def _iterate_by_group(
    executor: DaskExecutor,
    states: list,
    bounds: list[int],
    tolerance: float,
    max_iterations: int,
    report: Report,
    stack: ExitStack,
) -> tuple[list, int, float]:
    iterations, residual, batch_size = 0, math.inf, BatchSize(max_iterations)
    recomputation = Recomputation(executor, _recompute, states)
    members = [(state, bounds) for state in states]
    group = ActorGroup(executor, tasks.PageRankMember, members, name="pagerank-member")
    stack.enter_context(group)
    while not residual < tolerance and (num_iterations := batch_size.next(iterations)):
        for residual in group.call("iterate", num_iterations, tolerance)[0]:
            iterations += 1
            report(iterations, f"change {residual:.1e}")
    recomputation.arguments = bounds, iterations
    return group.result_tasks(recomputation, "pagerank-of-member"), iterations, residual


def _recompute(executor: Executor, states: list, bounds: list[int], iterations: int) -> list:
    def report(iteration: int, text: str) -> None:
        """Report nothing."""

    return _iterate_by_tasks(executor, states, bounds, 0.0, iterations, report)[0]
