"""Adjacency lists: built from pairs of ids, transposed, or taken both ways.

Means: for every row its neighbors, ascending, with offsets and perhaps weights.
Requires: ids are int32 below the number of vertices, on the device where the lists will be.
"""

from dataclasses import dataclass, fields

from . import device
from .sorting import sort_pairs

PORTION = 2**20  # arcs whose runs are listed together, at least
MULTI_EDGES = {"keep": None, "first": 0, "sum": 1, "min": 2, "max": 3}


@dataclass(frozen=True)
class Adjacency:
    """Neighbors of every vertex, ascending.

    Attributes
    ----------
    offsets : int64, shape (vertices + 1,)
        Those of vertex v are at offsets[v] to offsets[v + 1].
    neighbors : int32, shape (arcs,)
    weights : floating point or integers, shape (arcs,), or empty
    """

    offsets: object
    neighbors: object
    weights: object

    @property
    def nbytes(self):
        return sum(getattr(self, field.name).nbytes for field in fields(self))


def from_pairs(pairs, count, multi_edges):
    """Lists of `count` rows; parallel arcs become what `multi_edges` says.

    `pairs` is [rows, neighbors, weights or None], and is emptied: what was given is given back
    to memory as soon as it is sorted.
    """
    return _merge_parallel(_sorted(pairs, count), MULTI_EDGES[multi_edges])


def transposed(lists):
    """The lists with rows and neighbors exchanged."""
    return _transposed(lists)


def both_ways(upper):
    """From each edge once, as neighbor >= row, to both its directions; a self-loop stays one."""
    xp, count = device.array_module(upper.neighbors), upper.offsets.size - 1
    proper = upper.neighbors != rows_of(upper)
    lower = _transposed(upper, None if bool(proper.all()) else proper)
    del proper
    # Rows are split between the two with the smaller neighbors in one, so joining keeps order.
    weighted = upper.weights.size > 0
    joined = xp.empty(lower.neighbors.size + upper.neighbors.size, xp.int32)
    joined_weights = xp.empty(joined.size if weighted else 0, upper.weights.dtype)
    device.launch(
        "build", "join_rows", count, lower.offsets, lower.neighbors, lower.weights, upper.offsets,
        upper.neighbors, upper.weights, weighted, joined, joined_weights, size=32 * count,
    )  # fmt: skip
    return Adjacency(lower.offsets + upper.offsets, joined, joined_weights)


def without_direction(lists):
    """Each arc both ways, once; self-loops dropped, and weights."""
    rows = rows_of(lists)
    xp, count = device.array_module(rows), lists.offsets.size - 1
    keep = rows != lists.neighbors
    ends = rows[keep], lists.neighbors[keep]
    del rows, keep
    pairs = [xp.minimum(*ends), xp.maximum(*ends), None]
    del ends
    return both_ways(from_pairs(pairs, count, "first"))


def simplified(lists, *, is_merged=False, is_loopless=False):
    """Lists of both directions without self-loops, repeated neighbors and weights.

    The same lists where there are none; what the build has merged or dropped is not looked for.
    """
    neighbors, offsets = lists.neighbors, lists.offsets
    xp, arcs = device.array_module(neighbors), neighbors.size
    if is_merged and not is_loopless:
        is_loopless = is_simple(lists)
    if arcs and not (is_merged and is_loopless):
        keep = rows_of(lists) != neighbors
        keep &= _is_first(lists)
        if not bool(keep.all()):
            neighbors, offsets = neighbors[keep], _kept_offsets(keep, offsets, xp)
    return Adjacency(offsets, neighbors, xp.empty(0))


def is_simple(lists):
    """Whether merged lists of both directions have no self-loop: one is one arc, edges are two."""
    return 2 * int(count_later(lists).sum()) == lists.neighbors.size


def count_later(lists):
    """How many neighbors of each row are not before it: int64."""
    xp, count = device.array_module(lists.neighbors), lists.offsets.size - 1
    later = xp.empty(count, xp.int64)
    device.launch("build", "count_later", count, lists.offsets, lists.neighbors, later, size=count)
    return later


def rows_of(lists):
    """The row of every arc, int32."""
    xp, count = device.array_module(lists.neighbors), lists.offsets.size - 1
    rows = xp.empty(lists.neighbors.size, xp.int32)
    device.launch("build", "expand_rows", count, lists.offsets, rows, size=32 * count)
    return rows


def _transposed(lists, kept=None):
    """With rows and neighbors exchanged; of the `kept` arcs alone, where that is given."""
    weights = lists.weights if lists.weights.size else None
    pairs = [lists.neighbors, rows_of(lists), weights]
    if kept is not None:
        pairs = [values if values is None else values[kept] for values in pairs]
    return _sorted(pairs, lists.offsets.size - 1, minor_sorted=True)


def _sorted(pairs, count, minor_sorted=False):
    xp, weights = device.array_module(pairs[0]), pairs.pop()
    offsets, neighbors, order = sort_pairs(
        pairs, count, with_order=weights is not None, minor_sorted=minor_sorted
    )
    moved = xp.empty(0)
    if weights is not None:
        moved = xp.empty_like(weights)
        device.launch("build", "permute", order.size, order, weights, moved, size=order.size)
    return Adjacency(offsets, neighbors, moved)


def _merge_parallel(lists, how):
    """One arc for each run of equal neighbors in a row."""
    xp, neighbors, offsets = device.array_module(lists.neighbors), lists.neighbors, lists.offsets
    if how is None or not neighbors.size:
        return lists
    first = _is_first(lists)
    if bool(first.all()):
        return lists
    weights = lists.weights
    del lists  # so that nothing but the result is left as soon as it can be
    if weights.size:
        weights = _reduced_runs(first, weights, how)
    return Adjacency(_kept_offsets(first, offsets, xp), neighbors[first], weights)


def _reduced_runs(first, weights, how):
    """One weight for each run of arcs that starts where `first` says so.

    The starts are listed for a portion of the arcs at a time: they take as much as weights.
    """
    xp = device.array_module(weights)
    reduced = xp.empty(int(xp.count_nonzero(first)), weights.dtype)
    begin = done = 0
    while begin < weights.size:
        end = begin + PORTION
        end += int(first[end:].argmax()) if bool(first[end:].any()) else weights.size
        end = min(end, weights.size)
        starts = xp.flatnonzero(first[begin:end])
        device.launch(
            "build", "reduce_runs", starts.size, end - begin, starts, weights[begin:end], how,
            reduced[done : done + starts.size], size=starts.size,
        )  # fmt: skip
        begin, done = end, done + starts.size
    return reduced


def _is_first(lists):
    """Whether an arc is the first of those from its row to its neighbor; there are arcs."""
    xp, neighbors = device.array_module(lists.neighbors), lists.neighbors
    first = xp.empty(neighbors.size + 1, bool)  # the last offset is their number
    xp.not_equal(neighbors[1:], neighbors[:-1], out=first[1:-1])
    first[lists.offsets] = True
    return first[:-1]


def _kept_offsets(keep, offsets, xp):
    """Offsets once only the marked arcs are left."""
    before = xp.zeros(keep.size + 1, xp.int32 if keep.size < 2**31 else xp.int64)
    xp.cumsum(keep, out=before[1:])
    return before[offsets].astype(xp.int64)
