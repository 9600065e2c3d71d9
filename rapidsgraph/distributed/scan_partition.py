"""Common neighbors of a graph whose lists lie in parts.

Means: for every arc (u, v) of a part, how many vertices are in both closed neighborhoods.
Requires: parts of both directions, without self-loops and repeated neighbors.
Reference: none; the kernel looks the shorter of two lists up in the longer.

Common neighbors do not add up from parts: both lists of an edge have to be in one place. So parts
meet in pairs. A part is given the lists of one other at a time, in a chain, counts for the edges
between the two and gives the other its counts back. A worker holds two parts at most, and lists go
to half of the workers once; counts are 4 bytes an arc, and stay with the graph.
"""

import numpy as np

from .. import device
from ..algorithms.clustering import closed_neighborhood_sizes
from ..algorithms.similarity import offsets_from_sizes
from ..graph.csr import Adjacency, row_indices
from ..memory import ALGORITHM_BYTES
from ..validation import check_free_memory


def counted(graph):
    """Lists of a task for each part: the Part of both directions, `common_neighbors`,
    `closed_sizes_of`.
    """
    return graph.undirected(), common_neighbors(graph), closed_sizes_of(graph)


def closed_sizes_of(graph):
    """For each part a task that gives the sizes of all closed neighborhoods, kept."""

    def make():
        pieces = map_partitions(graph, _sizes, graph.undirected(), name="sizes")
        return everywhere(graph.engine, pieces, "all-sizes")

    return graph.cached("closed sizes", make)


def _sizes(part):
    return closed_neighborhood_sizes(part.lists)


def common_neighbors(graph):
    """For each part a task that gives |N[u] & N[v]| of its arcs: int32, kept.

    Of two parts one counts: that which comes soonest before the other, in a circle.
    """
    return graph.cached("common neighbors", lambda: _count_all(graph))


def _count_all(graph):
    engine, parts = graph.engine, graph.undirected()
    count, pieces = len(parts), {}
    for place, part in enumerate(parts):
        last = pieces[place, place] = engine.submit(_inside, part, name="count-inside", at=place)
        for step in range(1, count // 2 + 1):
            other = (place + step) % count
            if 2 * step == count and place > other:
                continue
            # Not before what was given last has been used.
            token = engine.submit(_nothing, last, name="counted", at=place)
            given = engine.submit(_given, parts[other], token, name="give-lists", at=other)
            last = engine.submit(_between, part, given, name="count-between", at=place)
            for ends, which in (((place, other), 0), ((other, place), 1)):
                pieces[ends] = engine.submit(_item, last, which, name="counts", at=place)
    return [
        engine.submit(
            _placed, part, graph.bounds, [pieces[place, other] for other in range(count)],
            name="common-neighbors", at=place,
        )
        for place, part in enumerate(parts)
    ]  # fmt: skip


def _nothing(_):
    """What a task that waits for another is given instead of its value."""


def _item(values, place):
    return values[place]


def _given(part, token):
    return part.first, part.lists.offsets, part.lists.neighbors


def _inside(part):
    """Counts of the arcs within a part's range."""
    per_vertex, per_arc, _ = ALGORITHM_BYTES["scan"]
    arcs = part.lists.neighbors.size
    needed = part.vertices * per_vertex + arcs * per_arc
    check_free_memory(f"common neighbors of {arcs:,} arcs in a part", needed, part.xp)
    side = _side(part.first, part.lists.offsets, part.lists.neighbors, part.first, part.count)
    _count(side, side, part.vertices)
    return side[-1]


def _between(part, given):
    """Counts of the arcs from a part to another, and of those back."""
    own = part.first, part.lists.offsets, part.lists.neighbors
    there = _side(*own, given[0], given[1].size - 1)
    back = _side(*given, part.first, part.count)
    _count(there, back, part.vertices)
    _count(back, there, part.vertices)
    return there[-1], back[-1]


def _side(first, offsets, neighbors, other_first, other_count):
    """Lists, those of their arcs that lead to a range of vertices, and a place for their counts."""
    xp = device.array_module(offsets)
    keep = is_within(neighbors, other_first, other_count)
    starts = offsets_from_sizes(keep)[offsets]
    return first, offsets, neighbors, starts, neighbors[keep], xp.empty(int(starts[-1]), xp.int32)


def is_within(neighbors, first, count):
    """Whether ids are among the `count` from `first` on."""
    keep = neighbors >= first
    keep &= neighbors < first + count
    return keep


def _count(own, other, vertices):
    (first, offsets, neighbors, starts, heads, common), xp = own, device.array_module(own[1])
    tails = xp.empty(0, xp.int32)
    if xp is not np:  # there a pair is for a warp, and here a row for a thread
        tails = row_indices(Adjacency(starts, heads, None))
    rows, pairs = offsets.size - 1, heads.size
    other_first, other_offsets, other_neighbors, other_starts, other_heads, other_common = other
    device.launch(
        "similarity", "count_between", size=rows + neighbors.size,
        num_rows=rows, num_pairs=pairs, num_vertices=vertices, start=first, other_start=other_first,
        next_pair=xp.zeros(1, xp.int64), pair_rows=tails, offsets=offsets, neighbors=neighbors,
        pair_offsets=starts, pair_neighbors=heads, common=common, other_offsets=other_offsets,
        other_neighbors=other_neighbors, other_pair_offsets=other_starts,
        other_pair_neighbors=other_heads, other_common=other_common,
    )  # fmt: skip


def _placed(part, bounds, pieces):
    """The counts of a part's arcs to each part, in the order of its arcs."""
    neighbors = part.lists.neighbors
    common = part.xp.empty(neighbors.size, part.xp.int32)
    for first, end, piece in zip(bounds[:-1], bounds[1:], pieces, strict=True):
        common[is_within(neighbors, first, end - first)] = piece
    return common


# Tasks for each part


def map_partitions(graph, function, *arguments, name):
    """A task for each part, at its place, of lists of arguments with one for each part."""
    return [
        graph.engine.submit(function, *own, name=name, at=place)
        for place, own in enumerate(zip(*arguments, strict=True))
    ]


def everywhere(engine, pieces, name):
    """For each part a task that gives the pieces of all as one array, made once a worker."""
    places = range(min(len(engine.workers), len(pieces)))
    made = [engine.submit(joined, pieces, name=name, at=place) for place in places]
    return [made[place % len(made)] for place in range(len(pieces))]


def joined(pieces):
    """One array of several."""
    return device.array_module(pieces[0]).concatenate(pieces)
