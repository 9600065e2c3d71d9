"""BFS, SSSP and connected components of a graph in several parts.

Means: what the functions of the same names in rapidsgraph give.
Requires: adjacency by source; arrays over all vertices on each worker.
Reference: chaotic relaxation: a part lowers distances along its own lists until nothing changes
  there, and tells the others which of their vertices it lowered; rounds go on until nobody has
  anything to tell. Distances are those of one Dijkstra, bit for bit, in whatever order they fall.

BFS is the same with edges that cost 1, but within bounds: where there is much to expand a round
takes one level, so that nothing is expanded twice; where there is little, more and more levels,
since a round costs more than they do. A part's forest of trees is its word on components; forests
are joined two by two.
"""

import math
from dataclasses import dataclass

import numpy as np

from .. import device
from ..adjacency import Adjacency, from_pairs, rows_of
from ..algorithms.components import numbered, roots
from ..algorithms.found import NO_VERTEX
from ..algorithms.layered import check_limit
from ..algorithms.traversal import (
    Ties,
    as_weights,
    check_columns,
    checked_cutoff,
    checked_depth_limit,
    extend,
    paths,
    search,
    ties,
)
from ..frames import in_one_piece
from ..memory import ALGORITHMS, check_fits
from ..progress import reporter
from ..vertex_values import source_ids
from .engine import tree
from .partitioned import PartitionedGraph, as_partitioned, label
from .parts import Part

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


def connected_components(graph):
    """As `rapidsgraph.connected_components`, of a Dask frame or PartitionedGraph."""
    graph = as_partitioned(graph)
    graph.check_room("component")
    engine = graph.engine
    given = next(iter(graph.built.values()))
    forests = [engine.submit(_forest, part, name="link", at=at) for at, part in enumerate(given)]
    numbers = engine.submit(_numbers, tree(engine, join_forests, forests, "join"), name="number")
    return graph.result(
        [
            engine.submit(_component, graph.named, numbers, *bounds, name="label", at=at)
            for at, bounds in enumerate(graph.ranges)
        ]
    )


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
        distances, before = _each(engine, _own, waves, ranges, "distances"), None
        if predecessors:
            before = _predecessors(engine, lists, towards, distances, ids, ranges)
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


def _each(engine, function, tasks, ranges, name):
    """A task a part: function(what a task gives, first vertex, the one behind the last)."""
    return [
        engine.submit(function, task, *bounds, name=name, at=at)
        for at, (task, bounds) in enumerate(zip(tasks, ranges))
    ]


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


def _predecessors(engine, lists, towards, distances, ids, ranges):
    """A task a part of the smallest valid predecessors in its range: int32."""
    whole = engine.submit(join_slices, *distances, name="all-distances")
    if towards is None:
        before = [
            engine.submit(_pushed, part, whole, name="predecessors", at=at)
            for at, part in enumerate(lists)
        ]
        own = _each(
            engine, _slice, [tree(engine, lowest, before, "predecessors")] * len(ranges), ranges,
            "predecessors",
        )  # fmt: skip
    else:
        own = _each(
            engine, _slice,
            [
                engine.submit(_pulled, part, whole, name="predecessors", at=at)
                for at, part in enumerate(towards)
            ],
            ranges, "predecessors",
        )  # fmt: skip
    counts = [
        engine.submit(_count_open, each, near, ids, first, name="facts", at=at)
        for at, (each, near, (first, _)) in enumerate(zip(own, distances, ranges))
    ]
    if not sum(engine.results(counts)):
        return own
    # Only edges that add nothing lead there; they are few, and one worker looks at them.
    before = engine.submit(join_slices, *own, name="all-predecessors")
    open_ends = engine.submit(_open_ends, before, whole, ids, name="open-ends")
    arcs = [
        engine.submit(_tied, part, whole, open_ends, name="ties", at=at)
        for at, part in enumerate(lists)
    ]
    settled = engine.submit(_settle_ties, before, open_ends, whole, *arcs, name="ties")
    return _each(engine, _slice, [settled] * len(ranges), ranges, "predecessors")


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


def _slice(values, first, stop):
    return values[first:stop].copy()


def join_slices(*slices):
    """Values of all ranges, one array."""
    return device.array_module(slices[0]).concatenate(slices)


def lowest(*arrays):
    """The least value at each place."""
    found = arrays[0].copy()
    for other in arrays[1:]:
        device.array_module(found).minimum(found, other, out=found)
    return found


def _pushed(part, distances):
    """The smallest vertex of a part's range before each vertex, nearer to the sources."""
    return _nearer(part, distances, "push_predecessors")


def _pulled(part, distances):
    """The same of all vertices before each one of a part's range, of lists by destination."""
    return _nearer(part, distances, "pull_predecessors")


def _nearer(part, distances, entry):
    lists, xp = part.padded, part.xp
    before = xp.full(part.vertices, NO_VERTEX, xp.int32)
    device.launch(
        "paths", entry, part.vertices, lists.offsets, lists.neighbors, lists.weights, distances,
        before, size=32 * part.vertices,
    )  # fmt: skip
    return before


def _open_ends(before, distances, ids):
    """Whether a vertex was reached, is no source, and has no nearer predecessor."""
    found = (before == NO_VERTEX) & (distances < math.inf)
    found[ids] = False
    return found


def _count_open(before, distances, ids, first):
    own = ids[(ids >= first) & (ids < first + before.size)] - first
    return int(_open_ends(before, distances, own).sum())


def _tied(part, distances, open_ends):
    """(rows, neighbors) of the arcs that lead to open ends and add nothing."""
    level = ties(part.padded, distances, open_ends, part.xp)
    return rows_of(level.outgoing), level.outgoing.neighbors


def _settle_ties(before, open_ends, distances, *arcs):
    xp = device.array_module(before)
    pairs = [xp.concatenate(each) for each in zip(*arcs)]
    level = Ties(xp, from_pairs([*pairs, None], before.size, "keep"))
    rooted = ~open_ends & (distances < math.inf)
    near = search(level, xp.flatnonzero(rooted).astype(xp.int32), pulls=False)
    return xp.where(open_ends, near.predecessors, before)


def _found(named, is_sssp, distances, before, first, stop):
    xp = device.array_module(distances)
    reached = distances < math.inf
    columns = {"distance": distances}
    if not is_sssp:
        columns["distance"] = xp.where(reached, distances, -1).astype(np.int32), reached
    if before is not None:
        columns |= named.named(before, before < NO_VERTEX, "predecessor")
    return label(named, columns, first, stop)


def _forest(part):
    """The root of every vertex's tree along a part's arcs: int32, shape (vertices,)."""
    return roots(part)


def join_forests(*forests):
    """The forest of all their trees: int32 parents, shape (vertices,), all of them roots."""
    parents = forests[0].copy()
    xp, vertices = device.array_module(parents), parents.size
    offsets = xp.arange(vertices + 1, dtype=xp.int64)
    for other in forests[1:]:
        device.launch(
            "link", "link_one", vertices, 0, offsets, other, parents, size=vertices,
        )  # fmt: skip
        device.launch("link", "compress", vertices, parents, size=vertices)
    return parents


def _numbers(parents):
    return numbered(parents, device.array_module(parents))


def _component(named, numbers, first, stop):
    return label(named, {"component": numbers[first:stop]}, first, stop)
