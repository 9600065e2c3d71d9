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
import time
import uuid
from contextlib import suppress

import numpy as np

from ..algorithms.layered import check_limit
from ..algorithms.pagerank import PRECISIONS, check_parameters
from ..errors import GraphError, NotConverged
from ..frames import in_one_piece
from ..progress import reporter
from . import rank_parts
from .engine import engine_of, tree
from .partitioned import as_partitioned
from .parts import add
from .together import Lost, Together, here

FEW, LASTING = 4, 0.25  # iterations at once at first; seconds from which on they are not doubled


def pagerank(
    graph,
    *,
    damping=0.85,
    tolerance=1e-6,
    max_iterations=100,
    personalization=None,
    dangling="uniform",
    start=None,
    method="auto",
    precision="double",
    progress=None,
    launch=None,
    memory_limit=None,
):
    """As `rapidsgraph.pagerank`, of a Dask frame or PartitionedGraph; gives a Dask frame."""
    check_parameters(damping, tolerance, max_iterations, method, precision, launch)
    if method != "auto":
        raise GraphError(f"method is {method!r}; graphs in several partitions have 'auto' alone")
    check_limit(graph, memory_limit)
    graph = as_partitioned(graph, "incoming")
    graph.check_room("pagerank")
    engine, value_type = graph.engine, PRECISIONS[precision]
    ranges, vertices = graph.ranges, graph.num_vertices
    if not vertices:
        empty = np.empty(0, value_type)
        return graph.result([engine.submit(rank_parts.no_ranks, graph.named, empty, name="label")])
    leaving = graph.kept("leaving", lambda: _leaving(graph))
    surfing = [
        engine.submit(rank_parts.shares, graph.named, kind, in_one_piece(given), name="shares")
        for kind, given in (
            ("personalization", personalization), ("dangling", dangling), ("start", start)
        )
    ]  # fmt: skip
    layouts = graph.kept(f"layout, {precision}", lambda: _layouts(graph, leaving, value_type))
    runs = [
        engine.submit(
            rank_parts.prepare, layout, damping, *surfing, first, name="prepare-ranks", at=at
        )
        for at, (layout, (first, _)) in enumerate(zip(layouts, ranges))
    ]
    with reporter(progress, "PageRank", max_iterations) as report:
        pieces, iterations, residual = _iterate(
            engine, runs, graph.bounds, tolerance, max_iterations, report
        )
    if tolerance and not residual < tolerance:
        raise NotConverged(iterations, residual, tolerance)
    labelled = [
        engine.submit(rank_parts.ranks_of, graph.named, run, piece, *bounds, name="label", at=at)
        for at, (run, piece, bounds) in enumerate(zip(runs, pieces, ranges))
    ]
    return graph.result(labelled)


def _iterate(engine, runs, bounds, tolerance, max_iterations, report):
    """(tasks of the last pieces, how many iterations there were, the last change)."""
    given = engine, runs, bounds, tolerance, max_iterations, _forward(report)
    if len(runs) > 1 and engine.client is not None:
        with suppress(Lost):
            return _by_members(*given)
    return _by_tasks(*given)


def _forward(report):
    """A report that leaves out what was reported before."""
    most = 0

    def forward(done, text):
        nonlocal most
        if done > most:
            most = done
            report(done, text)

    return forward


def _by_tasks(engine, runs, bounds, tolerance, max_iterations, report):
    pieces = [
        engine.submit(rank_parts.start, run, name="start-ranks", at=at)
        for at, run in enumerate(runs)
    ]
    done, residual, batches = 0, math.inf, _Batches(max_iterations)
    while count := batches.next(done):
        at_once = count if len(runs) == 1 else 1
        made = []
        for _ in range(0, count, at_once):
            options = bounds, at_once, tolerance
            pieces = [
                engine.submit(rank_parts.step, run, at, *options, *pieces, name="rank", at=at)
                for at, run in enumerate(runs)
            ]
            made.append(pieces)
        [changes] = engine.results([engine.submit(rank_parts.changes, made, name="changes", at=0)])
        for pieces, (done, residual) in zip(made, changes):
            report(done, f"change {residual:.1e}")
            if residual < tolerance:
                return pieces, done, residual
    return pieces, done, residual


def _by_members(engine, runs, bounds, tolerance, max_iterations, report):
    """As _by_tasks, of parts that exchange pieces by themselves; Lost where one of them is."""
    names = [uuid.uuid4().hex for _ in runs]
    arguments = [(name, run, bounds) for name, run in zip(names, runs)]
    done, residual, batches = 0, math.inf, _Batches(max_iterations)
    with Together(engine, rank_parts.RankMember, arguments, name="rank-member") as together:
        while not residual < tolerance and (count := batches.next(done)):
            for residual in together.call("iterate", count, tolerance)[0]:
                done += 1
                report(done, f"change {residual:.1e}")
        again = _Again([run.key for run in runs], bounds, done)
        # Whoever has but one piece may need all runs again: so the scheduler remembers them.
        known = [engine.submit(_known, run, name="known", at=at) for at, run in enumerate(runs)]
        pieces = [
            engine.submit(_piece_of, name, number, again, *known, name="ranks-of-member", at=number)
            for number, name in enumerate(names)
        ]
        taken = [
            engine.submit(rank_parts.iterations, piece, name="facts", at=at)
            for at, piece in enumerate(pieces)
        ]
        engine.results(taken)  # members are there until then
    return pieces, done, residual


class _Batches:
    """How many iterations at once: few, then more as long as they are done soon."""

    def __init__(self, most):
        self._most, self._count, self._began = most, FEW, None

    def next(self, done):
        now = time.monotonic()
        if self._began is not None and now - self._began < LASTING:
            self._count *= 2
        self._began = now
        return min(self._count, self._most - done)


class _Again:
    """What it takes to make pieces once more; keys are of the parts' runs."""

    def __init__(self, keys, bounds, iterations):
        self.keys, self.bounds, self.iterations = keys, bounds, iterations

    def piece(self, number):
        from distributed import Future

        engine = engine_of()
        runs = [Future(key, engine.client) for key in self.keys]
        pieces, *_ = _by_tasks(
            engine, runs, self.bounds, 0.0, self.iterations, lambda done, text: None
        )
        return engine.results([pieces[number]])[0]


def _known(run):
    """Nothing: a task that depends on a run, and is small."""


def _piece_of(name, number, again, *known):
    """The last piece of a member that is here; where it is gone, all is done once more by tasks."""
    member = here(name)
    return again.piece(number) if member is None else member.piece()


def _leaving(graph):
    """A task of the weight that leaves each vertex, checked: float64, shape (vertices,)."""
    engine = graph.engine
    sums = [
        engine.submit(rank_parts.leaving_part, part, name="out-weights", at=at)
        for at, part in enumerate(graph.parts("incoming"))
    ]
    return engine.submit(
        rank_parts.checked,
        tree(engine, add, sums, "out-weights"),
        graph.weighted,
        name="out-weights",
    )


def _layouts(graph, leaving, value_type):
    """A task a part: its rows as `rank.iterate` takes them."""
    engine, incoming = graph.engine, graph.parts("incoming")
    orders = [
        engine.submit(rank_parts.order, part, leaving, name="row-order", at=at)
        for at, part in enumerate(incoming)
    ]
    slots = engine.submit(rank_parts.slots, graph.bounds, *orders, name="slots")
    return [
        engine.submit(
            rank_parts.lay_out, part, order, slots, leaving, graph.weighted, value_type,
            name="lay-out", at=at,
        )
        for at, (part, order) in enumerate(zip(incoming, orders))
    ]  # fmt: skip
