"""BFS and SSSP of a graph in several parts.

Means: what the functions of the same names in rapidsgraph give.
Requires: adjacency by source; arrays over all vertices on each worker.
Reference: chaotic relaxation: a part lowers distances along its own lists until nothing changes
  there, and tells the others which of their vertices it lowered; rounds go on until nobody has
  anything to tell. Distances are those of one Dijkstra, bit for bit, in whatever order they fall.
  What a worker does is in search_parts.py.

BFS is the same with edges that cost 1, but within bounds: where there is much to expand a round
takes one level, so that nothing is expanded twice; where there is little, more and more levels,
since a round costs more than they do. A part that is alone is searched as in one memory. Rounds of
several on workers go on without the scheduler (together.py); where one of them is lost, and where
there is no client, a round is some tasks a part.
"""

import math
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .. import device
from ..algorithms.traversal import (
    check_cutoff,
    check_depth_limit,
    check_result_columns,
    float_distances,
    run_bfs,
    run_sssp,
)
from ..frames import compute_if_dask
from ..graph import weight_sums
from ..graph.csr import Adjacency
from ..graph.vertex_arguments import resolve_vertices
from ..kernels.constants import NO_VERTEX
from ..progress import reporter
from ..validation import check_memory_limit
from .communicator import Again, Batches, Lost, Together, onward
from .executor import map_partitions, release_on_error
from .graph import DistributedGraph, as_partitioned, label
from .partition import Part
from .traversal_partition import (
    Rounds,
    SearchMember,
    begin,
    facts_of,
    fits,
    go_on,
    join_slices,
    news,
    predecessors_of,
)

FEW, FEW_ON_GPU = 2**12, 2**18  # vertices that are not worth a round of their own


@release_on_error
def bfs(
    graph, source=None, *, depth_limit=None, predecessors=True, memory_limit=None, progress=None
):
    """As `rapidsgraph.bfs`, of a Dask frame or DistributedGraph; gives a Dask frame."""
    limit = check_depth_limit(depth_limit)
    check_memory_limit(memory_limit)
    shared = isinstance(graph, DistributedGraph)
    graph = as_partitioned(graph)
    return _search(graph, source, False, float(limit), predecessors, progress, "BFS", shared)


@release_on_error
def sssp(graph, source=None, *, cutoff=None, predecessors=True, memory_limit=None, progress=None):
    """As `rapidsgraph.sssp`, of a Dask frame or DistributedGraph; gives a Dask frame."""
    most = check_cutoff(cutoff)
    check_memory_limit(memory_limit)
    shared = isinstance(graph, DistributedGraph)
    if not shared and "weight" in graph.columns:
        graph = DistributedGraph(graph, weight="weight", multi_edges="min")
    graph = as_partitioned(graph)
    return _search(graph, source, True, most, predecessors, progress, "SSSP", shared)


def _search(graph, source, is_sssp, cutoff, predecessors, progress, title, shared):
    engine, ranges = graph.engine, graph.ranges
    check_result_columns(graph, predecessors)
    ids = engine.submit(_sources, graph.named, compute_if_dask(source), name="sources")
    engine.results([engine.submit(_size, ids, name="facts")])  # what is wrong with them, at once
    is_bfs = not is_sssp or not graph.weighted
    lists = graph.parts("csr")
    # A graph that is kept gets the other lists, too, for this and later searches; as in one memory.
    towards = graph.parts("csc") if shared or not graph.directed else None
    if graph.num_parts == 1:
        options = not is_bfs, cutoff, predecessors
        found = engine.submit(_alone, *lists, towards and towards[0], ids, *options, name="search")
        distances, before = [engine.submit(_distances, found, name="distances")], None
        if predecessors:
            before = [engine.submit(_before, found, name="predecessors")]
    else:
        if is_bfs:
            lists = _with_costs(graph, "csr")
            towards = towards and _with_costs(graph, "csc")
        given = lists, ids, ranges, cutoff, is_bfs, graph.device
        distances, before = _distances_apart(engine, *given, progress, title), None
    if not is_bfs and cutoff == math.inf and weight_sums.can_overflow(graph.total_weight):
        whole = engine.submit(join_slices, *distances, name="all-distances")
        checks = [
            engine.submit(_check_distances, part, whole, graph.named, name="facts", at=at)
            for at, part in enumerate(lists)
        ]
        engine.results(checks)
    if graph.num_parts > 1 and predecessors:
        before = predecessors_of(engine, lists, towards, distances, ids, ranges)
    return graph.result(
        [
            engine.submit(
                _found, graph.named, is_sssp, own, before and before[at], *bounds,
                name="label", at=at,
            )
            for at, (own, bounds) in enumerate(zip(distances, ranges))
        ]
    )  # fmt: skip


def _with_costs(graph, direction):
    """Parts of a direction with edges that cost 1."""

    def make():
        return [
            graph.engine.submit(_with_units, part, name="unit-weights", at=at)
            for at, part in enumerate(graph.parts(direction))
        ]

    return graph.cached(f"unit weights, {direction if graph.directed else 'both ways'}", make)


def _distances_apart(engine, lists, ids, ranges, cutoff, is_bfs, device_name, progress, title):
    """A task a part: the distances of its range."""
    rounds = Rounds(cutoff, is_bfs, FEW if device_name == "cpu" else FEW_ON_GPU)
    with reporter(progress, title, None) as report:
        given = engine, lists, ids, ranges, rounds, onward(report)
        if engine.client is not None:
            with suppress(Lost):
                return _by_members(*given)
        return _by_tasks(*given)


def _by_members(engine, lists, ids, ranges, rounds, report):
    arguments = [(part, ids, rounds) for part in lists]
    done, is_done, batches = 0, False, Batches()
    again = Again(engine, _once_more, [*lists, ids])
    with Together(engine, SearchMember, arguments, name="search-member") as together:
        while not is_done:
            told, is_done = together.call("search", batches.next(done))[0]
            for each in told:
                done += 1
                report(done, _said(each))
        again.more = ranges, rounds
        return together.pieces(again, "distances")


def _once_more(engine, tasks, ranges, rounds):
    return _by_tasks(engine, tasks[:-1], tasks[-1], ranges, rounds, lambda done, text: None)


def _said(told):
    return f"{told:,} vertices lowered elsewhere"


def _by_tasks(engine, lists, ids, ranges, rounds, report):
    state = rounds.first()
    waves = [
        engine.submit(begin, part, ids, rounds.cutoff, state.bound, name="relax", at=at)
        for at, part in enumerate(lists)
    ]
    done = 0
    while True:
        words = [
            engine.submit(news, wave, part, name="news", at=at)
            for at, (wave, part) in enumerate(zip(waves, lists))
        ]
        [facts] = engine.results([engine.submit(facts_of, *words, name="facts", at=0)])
        done += 1
        report(done, _said(facts[0]))
        state = rounds.after(state, *facts)
        if state is None:
            return map_partitions(engine, _own, waves, ranges, "distances")
        waves = [
            engine.submit(go_on, part, wave, rounds.cutoff, state.bound, at, *words,
                          name="relax", at=at)
            for at, (part, wave) in enumerate(zip(lists, waves))
        ]  # fmt: skip


# Tasks


def _sources(named, source):
    return resolve_vertices(named, source)


def _check_distances(part, distances, named):
    weight_sums.check_distances(part.padded, distances, named)


def _size(values):
    return int(values.size)


@dataclass
class _Whole:
    """A part that has all vertices, as a Graph is to searches."""

    part: Part
    csc: Adjacency | None

    def __getattr__(self, name):
        return getattr(self.part, name)


def _alone(part, towards, ids, weighted, cutoff, predecessors):
    """What the search of one memory finds."""
    fits(part, "sssp" if weighted else "bfs")
    whole, bottom_up = _Whole(part, towards and towards.padded), towards is not None
    if weighted:
        return run_sssp(whole, ids, cutoff, predecessors, bottom_up)
    found = run_bfs(whole, ids, int(min(cutoff, NO_VERTEX)), predecessors, bottom_up)
    found.distances = float_distances(found.distances)
    return found


def _distances(found):
    return found.distances


def _before(found):
    return found.predecessors


def _with_units(part):
    lists, xp = part.padded, part.xp
    units = Part(
        Adjacency(lists.offsets, lists.neighbors, xp.ones(lists.neighbors.size, xp.uint8)),
        part.first, part.stop, True,
    )  # fmt: skip
    units.cached("step", lambda: 1.0)
    return units


def _own(wave, first, stop):
    return wave.distances[first:stop].copy()


def _found(named, is_sssp, distances, before, first, stop):
    xp = device.array_module(distances)
    reached = distances < math.inf
    columns = {"distance": distances}
    if not is_sssp:
        columns["distance"] = xp.where(reached, distances, -1).astype(np.int32), reached
    if before is not None:
        columns |= named.name_columns(before, before < NO_VERTEX, "predecessor")
    return label(named, columns, first, stop)
