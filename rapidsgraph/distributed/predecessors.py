"""The smallest valid predecessor of every vertex, of a graph in several parts.

Means: what `rg.bfs` and `rg.sssp` give beside distances.
Requires: lists by source; distances that are final. Lists by destination, where there are any,
  make it the work of each part alone.
Reference: as algorithms/traversal.py.
"""

import math

from .. import device
from ..adjacency import from_pairs, rows_of
from ..algorithms.found import NO_VERTEX
from ..algorithms.traversal import Ties, search, ties
from .engine import each_part, tree


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
    own = each_part(engine, _slice, found, ranges, "predecessors")
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
    return each_part(engine, _slice, [settled] * len(ranges), ranges, "predecessors")


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
