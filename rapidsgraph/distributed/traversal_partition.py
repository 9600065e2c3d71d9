"""What a worker does for a search of a part: distances lowered within it, round by round.

Means: each part lowers distances along its own lists until nothing changes there within a bound,
  and says which vertices of other parts it lowered.
Requires: lists by source; edges that cost 1 for BFS.
Reference: as searches.py.
"""
# The smallest valid predecessor of every vertex, of a graph in several parts.
#
# Means: what `rg.bfs` and `rg.sssp` give beside distances.
# Requires: lists by source; distances that are final. Lists by destination, where there are any,
#   make it the work of each part alone.
# Reference: as algorithms/traversal.py.

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import device
from ..algorithms.traversal import ArcSubgraph, relax_from, run_bfs, zero_weight_edges
from ..graph.csr import from_coo, row_indices
from ..kernels.constants import NO_VERTEX
from ..memory import ALGORITHM_BYTES
from ..validation import check_free_memory
from . import communicator
from .communicator import Near
from .executor import map_partitions, tree


class Round(NamedTuple):
    levels: int  # that it may take, of edges that cost 1
    bound: float  # from which on nothing is expanded


@dataclass(frozen=True)
class Rounds:
    """How far rounds go."""

    cutoff: float
    is_bfs: bool
    few: int  # vertices that are not worth a round of their own

    def first(self):
        return Round(1, 1.0 if self.is_bfs else math.inf)

    def after(self, last, told, waiting, least):
        """The next one, by facts of the last; None after the last one of all."""
        if least >= self.cutoff if self.is_bfs else least > self.cutoff:
            least = math.inf  # what waits would only go beyond
        if not told and least == math.inf:
            return None
        levels = 2 * last.levels if told + waiting < self.few else 1
        return Round(levels, least + levels if self.is_bfs else math.inf)


@dataclass
class Wave:
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


class News(NamedTuple):
    """What others need of a wave, or only how much there is where they look for themselves."""

    ids: object
    values: object
    told: int  # vertices of other ranges that were lowered
    waiting: int  # vertices of its own that are not expanded yet
    least: float  # the distance nearest to the sources that waits or is told


class SearchMember(Near):
    """A part whose rounds go on without the scheduler.

    What it knows of all distances is where others of its machine read it, also while it is at work:
    whenever they look, what they see is the length of some way, and they look again.
    """

    def __init__(self, number, name, part, ids, rounds):
        super().__init__(number, name)
        self._part, self._ids, self._rounds, self._words = part, ids, rounds, None

    async def search(self, count):
        """Up to `count` more rounds: how many vertices were lowered elsewhere in each, all done?"""
        if self._words is None:
            await self.make_room(self._part.vertices, np.float64, self._part.xp)
            self._state = self._rounds.first()
            self._words = await self.round(self._begin)
            facts = [self._facts()]
        else:
            facts = []
        while len(facts) < count and self._state is not None:
            self._words = await self.round(self._go_on, self._words)
            facts.append(self._facts())
        return [told for told, *_ in facts], self._state is None

    def _facts(self):
        found = facts_of(*self._words)
        self._state = self._rounds.after(self._state, *found)
        return found

    def _begin(self):
        fits(self._part)
        self.room.fill(math.inf)
        self.room[self._ids] = 0.0
        expanded = self._part.xp.full(self._part.count, math.inf)
        return self._expand(expanded)

    def _go_on(self, words):
        part, xp = self._part, self._part.xp
        own = self.room[part.first : part.stop]
        for at, word in enumerate(words):
            if at not in self.reached and at != self.number:
                take(part, self.room, word)
            elif at != self.number and own.size:
                others = xp.empty_like(own)
                communicator.copy(self.reached[at][part.first : part.stop], others)
                xp.minimum(own, others, out=own)
        return self._expand(self._wave.expanded)

    def _expand(self, expanded):
        given = self._rounds.cutoff, self._state.bound
        self._wave = expand(self._part, self.room, expanded, *given)
        word = news(self._wave, self._part)
        device.synchronize(self._part.xp)
        return word

    def made_for(self, other, made):
        if isinstance(made, News) and self.is_near(other):
            return made._replace(ids=None, values=None)
        return made

    def piece(self):
        """Distances of the range, for good."""
        return self.room[self._part.first : self._part.stop].copy()


def fits(part, algorithm="sssp"):
    """Raise InsufficientMemoryError where a search of a part would not fit."""
    a_vertex, _, an_arc = ALGORITHM_BYTES[algorithm]
    needed = part.vertices * a_vertex + part.num_arcs * an_arc
    check_free_memory(f"distances in a part of {part.num_arcs:,} arcs", needed, part.xp)


def begin(part, ids, cutoff, bound):
    fits(part)
    distances = part.xp.full(part.vertices, math.inf)
    distances[ids] = 0.0
    return expand(part, distances, part.xp.full(part.count, math.inf), cutoff, bound)


def go_on(part, wave, cutoff, bound, number, *words):
    """A round, from what others found out about the range of part `number`."""
    distances = wave.distances.copy()
    for at, word in enumerate(words):
        if at != number:
            take(part, distances, word)
    return expand(part, distances, wave.expanded, cutoff, bound)


def take(part, distances, word):
    """Lower distances of a part's range to what another one found; `distances` is written to."""
    xp, (ids, values, *_) = part.xp, word
    own = slice(*(int(at) for at in xp.searchsorted(ids, xp.asarray([part.first, part.stop]))))
    ids, values = ids[own], values[own]
    lower = values < distances[ids]
    distances[ids[lower]] = values[lower]


def expand(part, distances, expanded, cutoff, bound):
    """Lower distances from the vertices of a part's range on that wait and are nearer than bound.

    `distances` is written to. A bound is for edges that cost 1: none leads beyond it.
    """
    xp, own = part.xp, distances[part.first : part.stop]
    # At the cutoff only edges that cost nothing lead on.
    within = own < min(bound, cutoff) if bound < math.inf else own <= cutoff
    waiting = (own < expanded) & within
    ids = (xp.flatnonzero(waiting) + part.first).astype(xp.int32)
    if not ids.size:
        return Wave(distances, expanded, xp.empty(0, xp.int32), xp.empty(0))
    before = distances.copy()
    if bound <= cutoff and bool((distances[ids] == bound - 1).all()):
        near = run_bfs(part, ids, 1, predecessors=False, bottom_up=False).distances == 1
        xp.minimum(distances, xp.where(near, bound, math.inf), out=distances)
    else:
        relax_from(part, ids, distances, min(bound, cutoff))
    lowered = distances < before
    lowered[part.first : part.stop] = False
    ids = xp.flatnonzero(lowered).astype(xp.int32)
    within = own < min(bound, cutoff) if bound < math.inf else own <= cutoff
    expanded = xp.where(within, own, expanded)
    return Wave(distances, expanded, ids, distances[ids])


def news(wave, part):
    own = wave.distances[part.first : part.stop]
    waiting = own[own < wave.expanded]
    least = (float(values.min()) for values in (waiting, wave.values) if values.size)
    told = int(wave.ids.size)
    return News(wave.ids, wave.values, told, int(waiting.size), min(least, default=math.inf))


def facts_of(*words):
    """(vertices lowered elsewhere, vertices that wait, the least distance) of all parts."""
    _, _, told, waiting, least = zip(*words)
    return sum(told), sum(waiting), min(least)


def predecessors_of(engine, lists, towards, distances, ids, ranges):
    """A task a part of the smallest valid predecessors in its range: int32."""
    whole = engine.submit(join_slices, *distances, name="all-distances")
    if towards is None:
        before = [
            engine.submit(_pushed, part, whole, name="predecessors", at=at)
            for at, part in enumerate(lists)
        ]
        found = [tree(engine, lowest, before, "predecessors")] * len(ranges)
    else:
        found = [
            engine.submit(_pulled, part, whole, name="predecessors", at=at)
            for at, part in enumerate(towards)
        ]
    own = map_partitions(engine, _slice, found, ranges, "predecessors")
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
    return map_partitions(engine, _slice, [settled] * len(ranges), ranges, "predecessors")


# Tasks


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
        "sssp", entry, size=32 * part.vertices,
        num_vertices=part.vertices, offsets=lists.offsets, neighbors=lists.neighbors,
        weights=lists.weights, distances=distances, predecessors=before,
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
    level = zero_weight_edges(part.padded, distances, open_ends, part.xp)
    return row_indices(level.csr), level.csr.neighbors


def _settle_ties(before, open_ends, distances, *arcs):
    xp = device.array_module(before)
    pairs = [xp.concatenate(each) for each in zip(*arcs)]
    level = ArcSubgraph(xp, from_coo([*pairs, None], before.size, "keep"))
    rooted = ~open_ends & (distances < math.inf)
    near = run_bfs(level, xp.flatnonzero(rooted).astype(xp.int32), bottom_up=False)
    return xp.where(open_ends, near.predecessors, before)
