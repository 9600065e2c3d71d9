"""Build adjacency in CSR form from pairs of vertex ids, transpose and symmetrize it.

A row has its neighbors in ascending order, with offsets and optional weights. Ids are int32 below
the number of vertices, on the device of the adjacency. Pairs are sorted stably by (row, neighbor):
on a CPU by counting sort per key, least significant first, or by NumPy's lexsort where pairs are
few beside rows; on a GPU by CuPy's radix sort of both keys packed into 64 bits. The peak is at most
20 bytes per pair, the permutation included, besides the counters of the rows.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .. import device
from ..device import Array

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

    offsets: Array
    neighbors: Array
    weights: Array

    @property
    def nbytes(self):
        return sum(getattr(self, field.name).nbytes for field in fields(self))


def from_coo(pairs, count, multi_edges):
    """Lists of `count` rows; parallel arcs become what `multi_edges` says.

    `pairs` is [rows, neighbors, weights or None], and is emptied: what was given is given back
    to memory as soon as it is sorted.
    """
    return _merge_parallel(_sorted(pairs, count), MULTI_EDGES[multi_edges])


def transpose(lists):
    """The lists with rows and neighbors exchanged."""
    return _transposed(lists)


def symmetrize(upper):
    """From each edge once, as neighbor >= row, to both its directions; a self-loop stays one."""
    xp, count = device.array_module(upper.neighbors), upper.offsets.size - 1
    proper = upper.neighbors != row_indices(upper)
    lower = _transposed(upper, None if bool(proper.all()) else proper)
    del proper
    # Rows are split between the two with the smaller neighbors in one, so joining keeps order.
    weighted = upper.weights.size > 0
    joined = xp.empty(lower.neighbors.size + upper.neighbors.size, xp.int32)
    joined_weights = xp.empty(joined.size if weighted else 0, upper.weights.dtype)
    device.launch(
        "build", "concatenate_rows", size=32 * count,
        num_rows=count, first_offsets=lower.offsets, first_neighbors=lower.neighbors,
        first_weights=lower.weights, second_offsets=upper.offsets, second_neighbors=upper.neighbors,
        second_weights=upper.weights, weighted=weighted, neighbors=joined,
        weights=joined_weights,
    )  # fmt: skip
    return Adjacency(lower.offsets + upper.offsets, joined, joined_weights)


def to_undirected(lists):
    """Each arc both ways, once; self-loops dropped, and weights."""
    rows = row_indices(lists)
    xp, count = device.array_module(rows), lists.offsets.size - 1
    keep = rows != lists.neighbors
    ends = rows[keep], lists.neighbors[keep]
    del rows, keep
    pairs = [xp.minimum(*ends), xp.maximum(*ends), None]
    del ends
    return symmetrize(from_coo(pairs, count, "first"))


def simplify(lists, *, is_merged=False, is_loopless=False):
    """Lists of both directions without self-loops, repeated neighbors and weights.

    The same lists where there are none; what the build has merged or dropped is not looked for.
    """
    neighbors, offsets = lists.neighbors, lists.offsets
    xp, arcs = device.array_module(neighbors), neighbors.size
    if is_merged and not is_loopless:
        is_loopless = is_simple(lists)
    if arcs and not (is_merged and is_loopless):
        keep = row_indices(lists) != neighbors
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
    device.launch(
        "build", "count_upper", size=count,
        num_rows=count, offsets=lists.offsets, neighbors=lists.neighbors, counts=later,
    )  # fmt: skip
    return later


def row_indices(lists):
    """The row of every arc, int32."""
    xp, count = device.array_module(lists.neighbors), lists.offsets.size - 1
    rows = xp.empty(lists.neighbors.size, xp.int32)
    device.launch(
        "build", "expand_rows", size=32 * count, num_rows=count, offsets=lists.offsets, rows=rows
    )
    return rows


def _transposed(lists, kept=None):
    """With rows and neighbors exchanged; of the `kept` arcs alone, where that is given."""
    weights = lists.weights if lists.weights.size else None
    pairs = [lists.neighbors, row_indices(lists), weights]
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
        device.launch(
            "build", "permute", size=order.size,
            num_items=order.size, order=order, values=weights, new_values=moved,
        )  # fmt: skip
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
            "build", "reduce_runs", size=starts.size,
            num_runs=starts.size, num_edges=end - begin, starts=starts, weights=weights[begin:end],
            reduction=how, reduced=reduced[done : done + starts.size],
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


FEW = 16  # keys a row, from which on counters of keys cost more than comparing rows


def sort_pairs(pairs, bound, *, with_order=False, minor_sorted=False):
    """Sort rows by (major, minor).

    Parameters
    ----------
    pairs : list of two int32 arrays of shape (rows,)
        [major, minor]; emptied, so that their memory is free once they are packed or moved.
    bound : int
        Both keys are below it.
    with_order : bool
        Also return which input row each output row is.
    minor_sorted : bool
        `minor` ascends already, so that a stable pass by `major` is all it takes.

    Returns
    -------
    offsets : int64, shape (bound + 1,)
    minor : int32, shape (rows,)
    order : integers, shape (rows,), or None
    """
    if not device.is_on_gpu(pairs[0]):
        return _sort_on_cpu(pairs, bound, with_order, minor_sorted)
    return (_order_on_gpu if with_order else _sort_on_gpu)(pairs, bound, minor_sorted)


def _sort_on_gpu(pairs, bound, _):
    cupy = device.array_module(pairs[0])
    keys = cupy.left_shift(pairs.pop(0), 32, dtype=cupy.int64)
    keys |= pairs.pop()
    keys.sort()
    return _offsets_of_sorted(keys, bound, cupy), keys.view(cupy.int32)[::2].copy(), None


def _order_on_gpu(pairs, bound, minor_sorted):
    major, minor = pairs
    pairs.clear()
    cupy = device.array_module(major)
    if major.size >= 2**32:
        raise ValueError(f"{major.size} weighted rows on one GPU; 2^32 is the most")
    order = None
    if not minor_sorted:
        order, _ = _positions_by(minor, bound, cupy)
        major = major[order]
    by_major, offsets = _positions_by(major, bound, cupy)
    del major
    order = by_major if order is None else order[by_major]
    return offsets, minor[order], order


def _positions_by(key, bound, cupy):
    """The stable order by `key`, as uint32, and offsets by key."""
    keys = cupy.left_shift(key, 32, dtype=cupy.int64)
    keys |= cupy.arange(key.size, dtype=cupy.uint32)
    keys.sort()
    return keys.view(cupy.uint32)[::2].copy(), _offsets_of_sorted(keys, bound, cupy)


def _offsets_of_sorted(keys, bound, cupy):
    """Where each major begins among sorted packed keys; a search a vertex beats an atomic an edge.

    (CuPy's bincount takes gigabytes for millions of bins: a histogram a block.)
    """
    majors = cupy.arange(bound + 1, dtype=cupy.int64)
    majors <<= 32
    return cupy.searchsorted(keys, majors)


def _sort_on_cpu(pairs, bound, with_order, minor_sorted):
    from ..kernels import counting

    major, minor = pairs
    pairs.clear()
    rows = major.size
    if rows < bound // FEW:
        order = np.lexsort((minor, major))
        offsets: Any = np.zeros(bound + 1, np.int64)
        np.cumsum(np.bincount(major, minlength=bound), out=offsets[1:])
        return offsets, minor[order], order if with_order else None
    index = np.int32 if rows < 2**31 else np.int64
    # A counter for each part and key: parts are worth their counters only while keys repeat.
    parts = max(1, min(counting.num_threads(), rows // max(bound, 1)))
    order = np.arange(rows, dtype=index) if with_order else np.empty(0, index)
    # Files are often in order already, and finding out takes a fraction of sorting.
    offsets = np.empty(bound + 1, np.int64)
    disorder = np.zeros(counting.num_threads(), bool)
    with device.parallel_region():
        counting.sorted_offsets(major, minor, offsets, disorder)
    if not disorder.any():
        return offsets, minor.copy(), order if with_order else None
    if not minor_sorted:
        offsets, cursors = _counters(minor, bound, parts, index)
        moved = np.empty_like(major)
        moved_order = np.empty_like(order)
        with device.parallel_region():
            counting.move(minor, major, order, cursors, moved, moved_order)
        major, order = moved, moved_order
        del moved, moved_order, cursors
    else:
        offsets = None
    new_offsets, cursors = _counters(major, bound, parts, index)
    new_minor = np.empty(rows, np.int32)
    new_order = np.empty_like(order)
    with device.parallel_region():
        if offsets is None:
            counting.move(major, minor, order, cursors, new_minor, new_order)
        else:
            counting.move_rows(major, offsets, order, cursors, new_minor, new_order)
    return new_offsets, new_minor, new_order if with_order else None


def _counters(keys, bound, parts, index):
    """Offsets by key, and for each part where its first item of each key goes."""
    from ..kernels import counting

    cursors = np.zeros((parts, bound), index)
    offsets = np.empty(bound + 1, np.int64)
    with device.parallel_region():
        counting.count(keys, cursors)
        counting.accumulate_counts(cursors, offsets)
    return offsets, cursors
