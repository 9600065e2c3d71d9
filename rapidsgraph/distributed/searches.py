"""BFS and SSSP of a graph in several parts.

Means: what the functions of the same names in rapidsgraph give.
Requires: adjacency by source; arrays over all vertices on each worker.
Reference: chaotic relaxation: a part lowers distances along its own lists until nothing changes
  there, and tells the others which of their vertices it lowered; rounds go on until nobody has
  anything to tell. Distances are those of one Dijkstra, bit for bit, in whatever order they fall.

BFS is the same with edges that cost 1, but within bounds: where there is much to expand a round
takes one level, so that nothing is expanded twice; where there is little, more and more levels,
since a round costs more than they do. A part that is alone is searched as in one memory.
"""

import math
from dataclasses import dataclass

import numpy as np

from .. import device
from ..adjacency import Adjacency
from ..algorithms.found import NO_VERTEX
from ..algorithms.layered import check_limit
from ..algorithms.traversal import (
    as_weights,
    check_columns,
    checked_cutoff,
    checked_depth_limit,
    extend,
    paths,
    search,
)
from ..frames import in_one_piece
from ..memory import ALGORITHMS, check_fits
from ..progress import reporter
from ..vertex_values import source_ids
from .engine import each_part
from .partitioned import PartitionedGraph, as_partitioned, label
from .parts import Part
from .predecessors import predecessors_of

FEW, FEW_ON_GPU = 2**12, 2**18  # vertices that are not worth a round of their own


def bfs(
    graph, source=None, *, depth_limit=None, predecessors=True, memory_limit=None, progress=None
):
    """As `rapidsgraph.bfs`, of a Dask frame or PartitionedGraph; gives a Dask frame."""
    limit = checked_depth_limit(depth_limit)
    check_limit(graph, memory_limit)
    shared = isinstance(graph, PartitionedGraph)
    graph = as_partitioned(graph)
    return _search(graph, source, False, float(limit), predecessors, progress, "BFS", shared)


def sssp(graph, source=None, *, cutoff=None, predecessors=True, memory_limit=None, progress=None):
    """As `rapidsgraph.sssp`, of a Dask frame or PartitionedGraph; gives a Dask frame."""
    most = checked_cutoff(cutoff)
    check_limit(graph, memory_limit)
    shared = isinstance(graph, PartitionedGraph)
    if not shared and "weight" in graph.columns:
        graph = PartitionedGraph(graph, weight="weight", multi_edges="min")
    graph = as_partitioned(graph)
    return _search(graph, source, True, most, predecessors, progress, "SSSP", shared)


def _search(graph, source, is_sssp, cutoff, predecessors, progress, title, shared):
    engine, ranges = graph.engine, graph.ranges
    check_columns(graph, predecessors)
    ids = engine.submit(_sources, graph.named, in_one_piece(source), name="sources")
    engine.results([engine.submit(_size, ids, name="facts")])  # what is wrong with them, at once
    is_bfs = not is_sssp or not graph.weighted
    lists = graph.parts("outgoing")
    # A graph that is kept gets the other lists, too, for this and later searches; as in one memory.
    towards = graph.parts("incoming") if shared or not graph.directed else None
    if graph.num_parts == 1:
        options = not is_bfs, cutoff, predecessors
        found = engine.submit(_alone, *lists, towards and towards[0], ids, *options, name="search")
        distances, before = [engine.submit(_distances, found, name="distances")], None
        if predecessors:
            before = [engine.submit(_before, found, name="predecessors")]
    else:
        if is_bfs:
            lists = _with_costs(graph, "outgoing")
            towards = towards and _with_costs(graph, "incoming")
        waves = _relax(engine, lists, ids, cutoff, is_bfs, graph.device, progress, title)
        distances, before = each_part(engine, _own, waves, ranges, "distances"), None
        if predecessors:
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

    return graph.kept(f"unit weights, {direction if graph.directed else 'both ways'}", make)


def _relax(engine, lists, ids, cutoff, is_bfs, device_name, progress, title):
    """A task a part: the `_Wave` in which all distances of its range are final."""
    levels, few = 1, FEW if device_name == "cpu" else FEW_ON_GPU
    bound = 1.0 if is_bfs else math.inf
    waves = [
        engine.submit(_begin, part, ids, cutoff, bound, name="relax", at=at)
        for at, part in enumerate(lists)
    ]
    with reporter(progress, title, None) as report:
        rounds = 0
        while True:
            news = [
                engine.submit(_news, wave, part, name="news", at=at)
                for at, (wave, part) in enumerate(zip(waves, lists))
            ]
            [facts] = engine.results([engine.submit(_facts, *news, name="facts", at=0)])
            told, waiting, least = facts
            rounds += 1
            report(rounds, f"{told:,} vertices lowered elsewhere")
            if least >= cutoff if is_bfs else least > cutoff:
                least = math.inf  # what waits would only go beyond
            if not told and least == math.inf:
                return waves
            levels = 2 * levels if told + waiting < few else 1
            bound = least + levels if is_bfs else math.inf
            waves = [
                engine.submit(_go_on, part, wave, cutoff, bound, at, *news, name="relax", at=at)
                for at, (part, wave) in enumerate(zip(lists, waves))
            ]


# Tasks


@dataclass
class _Wave:
    """What a part knows after a round.

    Attributes
    ----------
    distances : float64, shape (vertices,)
        Those of its own range are right once nobody has news; of others what it has found.
    expanded : float64, shape (count,)
        The distance at which each vertex of the range was expanded last.
    ids, values : int32, float64
        Vertices of other ranges that it lowered in this round, ascending, and to what.
    """

    distances: object
    expanded: object
    ids: object
    values: object


def _sources(named, source):
    return source_ids(named, source)


def _size(values):
    return int(values.size)


@dataclass
class _Whole:
    """A part that has all vertices, as a Graph is to searches."""

    part: Part
    incoming: Adjacency | None

    def __getattr__(self, name):
        return getattr(self.part, name)


def _alone(part, towards, ids, weighted, cutoff, predecessors):
    """What the search of one memory finds."""
    a_vertex, _, an_arc = ALGORITHMS["sssp" if weighted else "bfs"]
    needed = part.vertices * a_vertex + part.num_arcs * an_arc
    check_fits(f"distances in a part of {part.num_arcs:,} arcs", needed, part.xp)
    whole, pulls = _Whole(part, towards and towards.padded), towards is not None
    if weighted:
        return paths(whole, ids, cutoff, predecessors, pulls)
    found = search(whole, ids, int(min(cutoff, NO_VERTEX)), predecessors, pulls)
    found.distances = as_weights(found.distances)
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
    units.kept("step", lambda: 1.0)
    return units


def _begin(part, ids, cutoff, bound):
    a_vertex, _, an_arc = ALGORITHMS["sssp"]
    needed = part.vertices * a_vertex + part.num_arcs * an_arc
    check_fits(f"distances in a part of {part.num_arcs:,} arcs", needed, part.xp)
    distances = part.xp.full(part.vertices, math.inf)
    distances[ids] = 0.0
    return _expanded(part, distances, part.xp.full(part.count, math.inf), cutoff, bound)


def _go_on(part, wave, cutoff, bound, number, *news):
    """A round, from what others found out about the range of a part."""
    xp, distances = part.xp, wave.distances.copy()
    for at, (ids, values, *_) in enumerate(news):
        if at == number:
            continue
        own = slice(*(int(at) for at in xp.searchsorted(ids, xp.asarray([part.first, part.stop]))))
        ids, values = ids[own], values[own]
        lower = values < distances[ids]
        distances[ids[lower]] = values[lower]
    return _expanded(part, distances, wave.expanded, cutoff, bound)


def _expanded(part, distances, expanded, cutoff, bound):
    """Lower distances from the vertices of a part's range on that wait and are nearer than bound.

    `distances` is written to. A bound is for edges that cost 1: none leads beyond it.
    """
    xp, own = part.xp, distances[part.first : part.stop]
    # At the cutoff only edges that cost nothing lead on.
    within = own < min(bound, cutoff) if bound < math.inf else own <= cutoff
    waiting = (own < expanded) & within
    ids = (xp.flatnonzero(waiting) + part.first).astype(xp.int32)
    if not ids.size:
        return _Wave(distances, expanded, xp.empty(0, xp.int32), xp.empty(0))
    before = distances.copy()
    if bound <= cutoff and bool((distances[ids] == bound - 1).all()):
        near = search(part, ids, 1, predecessors=False, pulls=False).distances == 1
        xp.minimum(distances, xp.where(near, bound, math.inf), out=distances)
    else:
        extend(part, ids, distances, min(bound, cutoff))
    lowered = distances < before
    lowered[part.first : part.stop] = False
    ids = xp.flatnonzero(lowered).astype(xp.int32)
    within = own < min(bound, cutoff) if bound < math.inf else own <= cutoff
    expanded = xp.where(within, own, expanded)
    return _Wave(distances, expanded, ids, distances[ids])


def _news(wave, part):
    """(ids, values, how many vertices wait, the least distance that waits or is told)."""
    own = wave.distances[part.first : part.stop]
    waiting = own[own < wave.expanded]
    least = (float(values.min()) for values in (waiting, wave.values) if values.size)
    return wave.ids, wave.values, int(waiting.size), min(least, default=math.inf)


def _facts(*news):
    """(vertices lowered elsewhere, vertices that wait, the least distance) of all parts."""
    ids, _, waiting, least = zip(*news)
    return sum(int(each.size) for each in ids), sum(waiting), min(least)


def _own(wave, first, stop):
    return wave.distances[first:stop].copy()


def _found(named, is_sssp, distances, before, first, stop):
    xp = device.array_module(distances)
    reached = distances < math.inf
    columns = {"distance": distances}
    if not is_sssp:
        columns["distance"] = xp.where(reached, distances, -1).astype(np.int32), reached
    if before is not None:
        columns |= named.named(before, before < NO_VERTEX, "predecessor")
    return label(named, columns, first, stop)
