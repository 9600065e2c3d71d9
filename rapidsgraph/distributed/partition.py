"""A part of a graph: the adjacency lists of the vertices of a range.

Means: what a worker has of a partitioned graph, and how rows of partitions become parts.
Requires: int32 ids below the number of vertices; bounds that ascend from 0 to that number.
A part looks like a Graph to sweeps: its lists have a row for every vertex, empty beyond the range.
"""

import numpy as np

from .. import device
from ..graph.build_memory import build_bytes
from ..graph.csr import Adjacency, from_coo, row_indices, simplify, to_undirected
from ..graph.weight_sums import check_merged_weights
from ..validation import check_free_memory

BINS = 2**14  # of vertices, by which ranges are cut


class Part:
    """Lists of the vertices `first` to before `stop`, in whose range no other part has any.

    Attributes
    ----------
    first, stop, vertices : int
        The range, and how many vertices the graph has.
    padded : Adjacency
        A row for each vertex of the graph.
    weighted : bool
        Whether arcs have weights, of which a part without arcs has none.
    """

    directed = True

    def __init__(self, lists, first, stop, weighted):
        self.padded, self.first, self.stop, self.weighted = lists, first, stop, weighted
        self._cache = {}

    @property
    def vertices(self):
        return self.padded.offsets.size - 1

    @property
    def count(self):
        """Vertices of the range."""
        return self.stop - self.first

    @property
    def ids(self):
        return self.xp.arange(self.first, self.stop, dtype=self.xp.int32)

    @property
    def lists(self):
        """The rows of the range."""
        return Adjacency(
            self.padded.offsets[self.first : self.stop + 1],
            self.padded.neighbors,
            self.padded.weights,
        )

    # As a Graph.

    @property
    def xp(self):
        return device.array_module(self.padded.neighbors)

    @property
    def csr(self):
        return self.padded

    @property
    def built(self):
        return [self.padded]

    @property
    def num_vertices(self):
        return self.vertices

    @property
    def num_arcs(self):
        return self.padded.neighbors.size

    def cached(self, key, make):
        """What a task made of the part and another may need, made once a worker."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def __getstate__(self):
        """Without the rows of others, and what was kept."""
        lists, facts = self.lists, (self.first, self.stop, self.weighted, self.vertices)
        return lists.offsets, lists.neighbors, lists.weights, *facts

    def __setstate__(self, state):
        offsets, neighbors, weights, first, stop, weighted, vertices = state
        xp = device.array_module(neighbors)
        padded = xp.empty(vertices + 1, xp.int64)
        padded[:first], padded[stop:] = 0, neighbors.size
        padded[first : stop + 1] = offsets
        self.__init__(Adjacency(padded, neighbors, weights), first, stop, weighted)


# Tasks


def drop_loops(ends, weights):
    """(sources, destinations, weights, how many rows were dropped)."""
    sources, destinations = ends
    keep = sources != destinations
    weights = None if weights is None else weights[keep]
    return sources[keep], destinations[keep], weights, int(keep.size - keep.sum())


def with_weights(ends, columns, self_loops):
    """(sources, destinations, weights, how many self-loops were dropped) of a partition."""
    weights = columns.weights
    return drop_loops(ends, weights) if self_loops == "drop" else (*ends, weights, 0)


def dropped(rows):
    return rows[-1]


def count_ends(rows, vertices):
    """Ends of edges in each bin of vertices: int64 on the host, shape (BINS,) or fewer."""
    width = bin_width(vertices)
    size = -(-vertices // width)
    counts = np.zeros(size, np.int64)
    for ends in rows[:2]:
        xp = device.array_module(ends)
        found = xp.bincount(ends // width, minlength=size) if ends.size else counts
        counts += found.get() if device.is_on_gpu(found) else found
    return counts


def bin_width(vertices):
    return max(1, -(-vertices // BINS))


def add(*arrays):
    total = arrays[0].copy()
    with np.errstate(over="ignore"):  # who adds weights checks for infinite sums
        for other in arrays[1:]:
            total += other
    return total


def cut(counts, parts, vertices):
    """Bounds of ranges with about as many ends each: list of int, shape (parts + 1,)."""
    width, before = bin_width(vertices), np.concatenate([[0], np.cumsum(counts)])
    wanted = before[-1] * np.arange(1, parts) / parts
    at = np.abs(before[None, :] - wanted[:, None]).argmin(axis=1) if parts > 1 else []
    inner = np.minimum(np.asarray(at, np.int64) * width, vertices)
    return [0, *np.maximum.accumulate(inner).tolist(), vertices]


def split(rows, bounds, direction, directed):
    """The rows of each range, as [(keys, neighbors, weights), ...]: the vertex in the range first.

    Without direction an edge has a row for both ends, where these stand in the order of rows; a
    self-loop has one.
    """
    sources, destinations, weights = rows[:3]
    xp = device.array_module(sources)
    keys, neighbors = sources, destinations
    if direction == "csc" and directed:
        keys, neighbors = destinations, sources
    if not directed:
        keys = xp.stack([sources, destinations], axis=1).ravel()
        neighbors = xp.stack([destinations, sources], axis=1).ravel()
        keep = xp.ones(keys.size, bool)
        keep[1::2] = sources != destinations
        keys, neighbors = keys[keep], neighbors[keep]
        weights = None if weights is None else xp.repeat(weights, 2)[keep]
    return _by_range(keys, neighbors, weights, bounds)


def transpose(part, bounds):
    """As `split`, of a part of the other direction."""
    lists = part.padded
    weights = lists.weights if part.weighted else None
    return _by_range(lists.neighbors, row_indices(lists), weights, bounds)


def simple(part):
    """A part of lists of both directions without self-loops, repeated neighbors and weights."""
    return Part(simplify(part.padded), part.first, part.stop, False)


def both_ways_of(part, bounds):
    """As `split`: the edges of a part without direction, self-loops and weights."""
    lists = to_undirected(part.padded)
    return _by_range(row_indices(lists), lists.neighbors, None, bounds)


def _by_range(keys, neighbors, weights, bounds):
    if len(bounds) == 2:
        return [(keys, neighbors, weights)]
    xp = device.array_module(keys)
    whose = xp.searchsorted(xp.asarray(bounds[1:-1]), keys, side="right")
    pieces = []
    for part in range(len(bounds) - 1):
        own = whose == part
        more = None if weights is None else weights[own]
        pieces.append((keys[own], neighbors[own], more))
    return pieces


def piece(pieces, number):
    return pieces[number]


def build(number, bounds, multi_edges, sum_type, named, *pieces):
    """The Part of a range, of its rows from each partition; sum_type: see Graph, "sum".

    `named` are the Labeling, for errors, where weights are summed; else None.
    """
    keys, neighbors, weights = zip(*pieces)
    xp = device.array_module(keys[0])
    rows = sum(each.size for each in keys)
    weights = None if weights[0] is None else xp.concatenate(weights)
    if sum_type is not None:
        weights = xp.ones(rows) if weights is None else weights.astype(sum_type)
    weighted = weights is not None
    needed = build_bytes(rows, bounds[-1], weighted=weighted)
    check_free_memory(f"building a part of {rows:,} rows", needed, xp)
    pairs = [xp.concatenate(keys), xp.concatenate(neighbors), weights]
    del keys, neighbors, weights
    lists = from_coo(pairs, bounds[-1], multi_edges)
    if named is not None:
        check_merged_weights(lists, named)
    return Part(lists, bounds[number], bounds[number + 1], weighted)


def count_arcs(part):
    """(arcs, self-loops among them, vertices of the range with an out-list, bytes)."""
    lists = part.padded
    loops = int((row_indices(lists) == lists.neighbors).sum())
    return part.num_arcs, loops, lists.nbytes


def seen(part):
    """Whether a vertex has an edge in the part: bool, shape (vertices,)."""
    lists = part.padded
    found = lists.offsets[1:] > lists.offsets[:-1]
    found[lists.neighbors] = True
    return found


def count_unseen(*flags):
    return int(flags[0].size - sum(flags).astype(bool).sum())


def join_lists(made):
    """The Adjacency of all parts."""
    xp = made[0].xp
    arcs, offsets = 0, [xp.zeros(1, xp.int64)]
    for part in made:
        offsets.append(part.lists.offsets[1:] + arcs)
        arcs += part.num_arcs
    weighted = [part.padded.weights for part in made if part.weighted]
    weights = xp.concatenate(weighted) if weighted else xp.empty(0)
    neighbors = xp.concatenate([part.padded.neighbors for part in made])
    return Adjacency(xp.concatenate(offsets), neighbors, weights)
