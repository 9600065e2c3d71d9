"""PageRank of a graph in several parts.

Means: what `rg.pagerank` gives. A part sums what its vertices get, from the contributions of all
  vertices; what an iteration makes of a part goes to all others.
Requires: adjacency by destination, the weight that leaves every vertex.
Reference: as algorithms/pagerank.py; what a worker does is in rank_parts.py.

A part that is alone iterates many times in one task. On several workers the parts exchange what
they made among themselves (together.py); where one of them is lost, and where there is no client,
an iteration is a task a part.
"""

import math
from contextlib import ExitStack, suppress

import numpy as np

from ..algorithms.pagerank import PRECISIONS, check_convergence, check_parameters
from ..algorithms.pagerank_problem import vertex_distribution
from ..errors import GraphError
from ..frames import compute_if_dask
from ..progress import reporter
from ..validation import check_memory_limit
from . import pagerank_partition
from .communicator import Again, Batches, Lost, Together, onward
from .executor import release_on_error, tree
from .graph import as_partitioned
from .partition import add


@release_on_error
def pagerank(
    graph,
    *,
    damping=0.85,
    tolerance=1e-6,
    max_iterations=100,
    personalization=None,
    dangling=None,
    start=None,
    method="auto",
    precision="double",
    progress=None,
    launch=None,
    memory_limit=None,
):
    """As `rapidsgraph.pagerank`, of a Dask frame or DistributedGraph; gives a Dask frame."""
    damping, tolerance, max_iterations = check_parameters(
        damping, tolerance, max_iterations, dangling, method, precision, launch
    )
    if method != "auto":
        raise GraphError(f"method is {method!r}; graphs in several partitions have 'auto' alone")
    check_memory_limit(memory_limit)
    graph = as_partitioned(graph, "csc")
    graph.check_name_collisions("pagerank")
    engine, value_type = graph.engine, PRECISIONS[precision]
    ranges, vertices = graph.ranges, graph.num_vertices
    if not vertices:
        empty = np.empty(0, value_type)
        return graph.result(
            [engine.submit(pagerank_partition.no_ranks, graph.named, empty, name="label")]
        )
    leaving = graph.cached("leaving", lambda: _leaving(graph))
    given = {"personalization": personalization, "dangling": dangling, "start": start}
    weights = {
        kind: each  # the same for all vertices, or wrong: each part says so
        if each is None or isinstance(each, str)
        else engine.submit(
            vertex_distribution, graph.named, compute_if_dask(each), kind, name="shares"
        )
        for kind, each in given.items()
    }
    layouts = graph.cached(f"layout, {precision}", lambda: _layouts(graph, leaving, value_type))
    runs = [
        engine.submit(
            pagerank_partition.prepare,
            layout,
            graph.named,
            damping,
            *weights.values(),
            first,
            name="prepare-ranks",
            at=at,
        )
        for at, (layout, (first, _)) in enumerate(zip(layouts, ranges))
    ]
    with ExitStack() as members:
        with reporter(progress, "PageRank", max_iterations) as report:
            pieces, iterations, residual = _iterate(
                engine, runs, graph.bounds, tolerance, max_iterations, report, members
            )
        check_convergence(iterations, residual, tolerance)
        labelled = [
            engine.submit(
                pagerank_partition.ranks_of, graph.named, run, piece, *bounds, name="label", at=at
            )
            for at, (run, piece, bounds) in enumerate(zip(runs, pieces, ranges))
        ]
        return graph.result(labelled)


def _iterate(engine, runs, bounds, tolerance, max_iterations, report, members):
    """(tasks of the last pieces, how many iterations there were, the last change).

    `members` takes the context within which pieces can be had.
    """
    given = engine, runs, bounds, tolerance, max_iterations, onward(report)
    if len(runs) > 1 and engine.client is not None:
        with suppress(Lost):
            return _by_members(*given, members)
    return _by_tasks(*given)


def _by_tasks(engine, runs, bounds, tolerance, max_iterations, report):
    pieces = [
        engine.submit(pagerank_partition.start, run, name="start-ranks", at=at)
        for at, run in enumerate(runs)
    ]
    done, residual, batches = 0, math.inf, Batches(max_iterations)
    while count := batches.next(done):
        at_once = count if len(runs) == 1 else 1
        made = []
        for _ in range(0, count, at_once):
            options = bounds, at_once, tolerance
            pieces = [
                engine.submit(
                    pagerank_partition.step, run, at, *options, *pieces, name="rank", at=at
                )
                for at, run in enumerate(runs)
            ]
            made.append(pieces)
        [changes] = engine.results(
            [engine.submit(pagerank_partition.changes, made, name="changes", at=0)]
        )
        for pieces, (done, residual) in zip(made, changes):
            report(done, f"change {residual:.1e}")
            if residual < tolerance:
                return pieces, done, residual
    return pieces, done, residual


def _by_members(engine, runs, bounds, tolerance, max_iterations, report, members):
    """As _by_tasks, of parts that exchange pieces by themselves; Lost where one of them is."""
    arguments = [(run, bounds) for run in runs]
    done, residual, batches = 0, math.inf, Batches(max_iterations)
    again = Again(engine, _last_pieces, runs)
    together = Together(engine, pagerank_partition.RankMember, arguments, name="rank-member")
    members.enter_context(together)
    while not residual < tolerance and (count := batches.next(done)):
        for residual in together.call("iterate", count, tolerance)[0]:
            done += 1
            report(done, f"change {residual:.1e}")
    again.more = bounds, done
    return together.pieces(again, "ranks-of-member"), done, residual


def _last_pieces(engine, runs, bounds, iterations):
    return _by_tasks(engine, runs, bounds, 0.0, iterations, lambda done, text: None)[0]


def _leaving(graph):
    """A task of the weight that leaves each vertex, checked: float64, shape (vertices,)."""
    engine = graph.engine
    sums = [
        engine.submit(pagerank_partition.leaving_part, part, name="out-weights", at=at)
        for at, part in enumerate(graph.parts("csc"))
    ]
    return engine.submit(
        pagerank_partition.checked,
        tree(engine, add, sums, "out-weights"),
        graph.named if graph.weighted else None,
        name="out-weights",
    )


def _layouts(graph, leaving, value_type):
    """A task a part: its rows as `rank.iterate` takes them."""
    engine, csc = graph.engine, graph.parts("csc")
    orders = [
        engine.submit(pagerank_partition.order, part, leaving, name="row-order", at=at)
        for at, part in enumerate(csc)
    ]
    slots = engine.submit(pagerank_partition.slots, graph.bounds, *orders, name="slots")
    return [
        engine.submit(
            pagerank_partition.lay_out, part, order, slots, leaving, graph.weighted, value_type,
            name="lay-out", at=at,
        )
        for at, (part, order) in enumerate(zip(csc, orders))
    ]  # fmt: skip
