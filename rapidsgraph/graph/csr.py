"""Adjacency in compressed sparse row (CSR) form: build it from arcs, transpose and symmetrize it.

Each row has its neighbors in ascending order, and optional weights. Vertex ids are int32 on the
device of the adjacency. Arcs are sorted stably by (row, neighbor): on a CPU by counting sort, least
significant key first, or by comparisons if there are few arcs; on a GPU by CuPy's radix sort of
both keys packed into 64 bits, or by `radix_sort` if many arcs are sorted by one key only. The peak
is at most 20 bytes per arc, including the permutation, besides the counters of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from .. import device, kernels
from ..device import Array
from ..errors import GraphError
from ..kernels.constants import MERGE_FIRST, MERGE_MAX, MERGE_MIN, MERGE_SUM, WARP
from .radix_sort import find_offsets, sort_by_key

BLOCK_ARCS = 2**20  # arcs whose runs are listed together, at least
MIN_ARCS_PER_COUNTER = 1 / 16  # arcs per row below which counters cost more than comparisons
MIN_COUNTED_ARCS = 2**14  # arcs without weights below which comparisons are as fast as counters
MIN_RADIX_SORTED = 2**23  # pairs on a GPU from which `sort_by_key` is faster than CuPy's sort
MultiEdges = Literal["first", "sum", "min", "max", "keep"]
MULTI_EDGES: dict[MultiEdges, Any] = {
    "first": MERGE_FIRST,
    "sum": MERGE_SUM,
    "min": MERGE_MIN,
    "max": MERGE_MAX,
    "keep": None,
}


class DefaultMultiEdges(str):
    """The policy "first" of a caller who has not chosen one."""


DEFAULT_MULTI_EDGES: MultiEdges = cast(MultiEdges, DefaultMultiEdges("first"))


@dataclass(frozen=True)
class Adjacency:
    """The neighbors of every vertex, ascending.

    Attributes
    ----------
    offsets : int64, shape (vertices + 1,)
        The arcs of vertex v are offsets[v] to offsets[v + 1].
    neighbors : int32, shape (arcs,)
    weights : floating point or integers, shape (arcs,), or (0,) without weights
    """

    offsets: Array
    neighbors: Array
    weights: Array

    @property
    def nbytes(self) -> int:
        return self.offsets.nbytes + self.neighbors.nbytes + self.weights.nbytes


def from_coo(
    coo: list[Any],
    num_rows: int,
    multi_edges: MultiEdges,
    *,
    minor_sorted: bool = False,
    report_conflicts: Callable[[int], None] | None = None,
) -> Adjacency:
    """Return the adjacency of arcs, with parallel arcs merged.

    Parameters
    ----------
    coo : list
        [rows, neighbors, weights or None]; emptied, so that arrays are freed once they are sorted.
    num_rows : int
    multi_edges : MultiEdges
    minor_sorted : bool, default False
        Whether the neighbors ascend already, so that one stable pass by row suffices.
    report_conflicts : callable, optional
        Called with the number of arcs that are merged into one of another weight before them.
    """
    xp, weights = device.array_module(coo[0]), coo.pop()
    order: Array | None
    offsets, neighbors, order = sort_pairs(
        coo, num_rows, with_order=weights is not None, minor_sorted=minor_sorted
    )
    new_weights = xp.empty(0) if order is None else permute(weights, order)
    del weights, order
    adjacency, reduction = Adjacency(offsets, neighbors, new_weights), MULTI_EDGES[multi_edges]
    if reduction is None or not neighbors.size:
        return adjacency
    # Each run of equal neighbors in a row becomes one arc.
    is_first = _is_first_of_run(adjacency)
    if device.count_nonzero(is_first) == is_first.size:
        return adjacency
    del adjacency  # frees the weights as soon as they are reduced
    if new_weights.size:
        if report_conflicts is not None:
            report_conflicts(_count_conflicts(is_first, new_weights))
        new_weights = _reduce_runs(is_first, new_weights, reduction)
    return Adjacency(*_filter(is_first, offsets, neighbors), new_weights)


def transpose(adjacency: Adjacency, keep: Array | None = None) -> Adjacency:
    """Return the adjacency of the reversed arcs, with `keep` only of those that it marks."""
    weights = adjacency.weights if adjacency.weights.size else None
    coo = [adjacency.neighbors, row_indices(adjacency), weights]
    if keep is not None:
        kept = device.compress(keep, *coo[:2] if weights is None else coo)
        coo = [*kept, None] if weights is None else kept
    return from_coo(coo, adjacency.offsets.size - 1, "keep", minor_sorted=True)


def symmetrize(upper: Adjacency) -> Adjacency:
    """Return both directions of edges whose neighbor >= row; a self-loop stays one arc."""
    xp, num_rows = device.array_module(upper.neighbors), upper.offsets.size - 1
    is_proper = mark_proper(upper.neighbors, row_indices(upper))
    has_loops = device.count_nonzero(is_proper) < is_proper.size
    lower = transpose(upper, is_proper if has_loops else None)
    del is_proper
    # All neighbors in `lower` precede those in `upper`, so concatenated rows are sorted.
    weighted = upper.weights.size > 0
    neighbors = xp.empty(lower.neighbors.size + upper.neighbors.size, xp.int32)
    weights = xp.empty(neighbors.size if weighted else 0, upper.weights.dtype)
    offsets = xp.empty_like(upper.offsets)
    device.launch(
        "build", "concatenate_rows", size=WARP * num_rows,
        num_rows=num_rows, first_offsets=lower.offsets, first_neighbors=lower.neighbors,
        first_weights=lower.weights, second_offsets=upper.offsets, second_neighbors=upper.neighbors,
        second_weights=upper.weights, weighted=weighted, offsets=offsets, neighbors=neighbors,
        weights=weights,
    )  # fmt: skip
    return Adjacency(offsets, neighbors, weights)


def mark_proper(sources: Array, destinations: Array) -> Array:
    """Return whether the endpoints of each edge differ, of int32 arrays."""
    is_proper = device.array_module(sources).empty(sources.size, bool)
    device.launch(
        "build", "mark_proper", size=sources.size, num_edges=sources.size,
        sources=sources, destinations=destinations, is_proper=is_proper,
    )  # fmt: skip
    return is_proper


def sort_endpoints(sources: Array, destinations: Array) -> list[Array]:
    """Return the smaller and the larger endpoint of each edge, as new int32 arrays."""
    low, high = (device.array_module(sources).empty(sources.size, np.int32) for _ in range(2))
    device.launch(
        "build", "sort_endpoints", size=sources.size, num_edges=sources.size,
        sources=sources, destinations=destinations, low=low, high=high,
    )  # fmt: skip
    return [low, high]


def to_undirected(adjacency: Adjacency) -> Adjacency:
    """Return both directions of every arc once, without self-loops and weights."""
    rows = row_indices(adjacency)
    endpoints = device.compress(mark_proper(rows, adjacency.neighbors), rows, adjacency.neighbors)
    del rows
    coo = [*sort_endpoints(*endpoints), None]
    del endpoints
    return symmetrize(from_coo(coo, adjacency.offsets.size - 1, "first"))


def simplify(
    adjacency: Adjacency, *, is_merged: bool = False, is_loopless: bool = False
) -> Adjacency:
    """Return a symmetric adjacency without self-loops, parallel arcs and weights.

    Arrays are shared if there are none. The flags tell what the build has removed already.
    """
    neighbors, offsets = adjacency.neighbors, adjacency.offsets
    xp = device.array_module(neighbors)
    if is_merged and not is_loopless:
        is_loopless = is_simple(adjacency)
    if neighbors.size and not (is_merged and is_loopless):
        keep = mark_proper(row_indices(adjacency), neighbors)
        keep &= _is_first_of_run(adjacency)
        if device.count_nonzero(keep) < keep.size:
            return select_arcs(adjacency, keep)
    return Adjacency(offsets, neighbors, xp.empty(0))


def select_arcs(adjacency: Adjacency, keep: Array) -> Adjacency:
    """Return the arcs that `keep` marks, without weights."""
    xp = device.array_module(keep)
    return Adjacency(*_filter(keep, adjacency.offsets, adjacency.neighbors), xp.empty(0))


def select_rows(adjacency: Adjacency, rows: Array, *, with_weights: bool = True) -> Adjacency:
    """Return the lists of int32 `rows`, in this order; neighbors keep their ids."""
    xp, starts = device.array_module(rows), adjacency.offsets[rows]
    offsets = offsets_from_sizes(adjacency.offsets[rows + 1] - starts)
    arcs = xp.arange(int(offsets[-1]))
    lists = Adjacency(offsets, arcs, xp.empty(0))
    arcs += (starts - offsets[:-1])[row_indices(lists)]
    weights = adjacency.weights
    if weights.size:
        weights = weights[arcs] if with_weights else xp.empty(0)
    return Adjacency(offsets, adjacency.neighbors[arcs], weights)


def is_simple(adjacency: Adjacency) -> bool:
    """Return whether a symmetric adjacency without parallel arcs has no self-loop.

    A self-loop is one arc, any other edge is two.
    """
    return 2 * int(count_upper(adjacency).sum()) == adjacency.neighbors.size


def count_upper(adjacency: Adjacency) -> Array:
    """Return the number of neighbors >= row of each row, as int64."""
    xp, num_rows = device.array_module(adjacency.neighbors), adjacency.offsets.size - 1
    counts = xp.empty(num_rows, xp.int64)
    device.launch(
        "build", "count_upper", size=num_rows,
        num_rows=num_rows, offsets=adjacency.offsets, neighbors=adjacency.neighbors, counts=counts,
    )  # fmt: skip
    return counts


def count_nonempty(adjacency: Adjacency) -> int:
    """Return the number of rows that have neighbors."""
    offsets = adjacency.offsets
    if not device.is_on_gpu(offsets):
        return int(np.count_nonzero(offsets[1:] > offsets[:-1]))
    count = device.array_module(offsets).zeros(1, "int64")
    device.launch(
        "build", "count_nonempty", size=offsets.size,
        num_rows=offsets.size - 1, offsets=offsets, count=count,
    )  # fmt: skip
    return int(count[0])


def row_indices(adjacency: Adjacency) -> Array:
    """Return the row of every arc, as int32."""
    xp, num_rows = device.array_module(adjacency.neighbors), adjacency.offsets.size - 1
    rows = xp.empty(adjacency.neighbors.size, xp.int32)
    device.launch(
        "build", "expand_rows", size=WARP * num_rows,
        num_rows=num_rows, offsets=adjacency.offsets, rows=rows,
    )  # fmt: skip
    return rows


def sum_by_key(keys: Array, weights: Array, num_keys: int) -> Array:
    """Return the sum of the weights of each key, or without weights its count: float64."""
    sums = device.array_module(keys).zeros(num_keys)
    device.launch(
        "build", "sum_by_key", size=keys.size, num_items=keys.size, keys=keys, weights=weights,
        weighted=weights.size > 0, sums=sums,
    )  # fmt: skip
    return sums


def offsets_from_sizes(sizes: Array) -> Array:
    """Return the int64 offsets of consecutive lists of these sizes."""
    return device.accumulate(sizes)


def permute(values: Array, order: Array) -> Array:
    """Return ``values[order]``."""
    permuted = device.array_module(values).empty_like(values)
    device.launch(
        "build", "permute", size=order.size,
        num_items=order.size, order=order, values=values, new_values=permuted,
    )  # fmt: skip
    return permuted


def _reduce_runs(is_first: Array, weights: Array, reduction: int) -> Array:
    """Return one weight for each run of arcs.

    The starts of runs take as much memory as the weights, so they are listed block by block.
    """
    xp = device.array_module(weights)
    reduced = xp.empty(device.count_nonzero(is_first), weights.dtype)
    start = num_reduced = 0
    while start < weights.size:
        stop = _next_run(is_first, start + BLOCK_ARCS)
        starts = device.flatnonzero(is_first[start:stop])
        device.launch(
            "build", "reduce_runs", size=starts.size,
            num_runs=starts.size, num_edges=stop - start, starts=starts,
            weights=weights[start:stop], reduction=reduction,
            reduced=reduced[num_reduced : num_reduced + starts.size],
        )  # fmt: skip
        start, num_reduced = stop, num_reduced + starts.size
    return reduced


def _next_run(is_first: Array, position: int) -> int:
    """Return the first position from `position` on at which a run begins, or the end."""
    size = 1024
    while position < is_first.size:
        window = is_first[position : position + size]
        if device.count_nonzero(window):
            return position + int(window.argmax())
        position, size = position + size, 2 * size
    return is_first.size


def _count_conflicts(is_first: Array, weights: Array) -> int:
    """Return the number of arcs whose weight differs from that of the first arc of their run."""
    xp, count, before = device.array_module(weights), 0, 0
    size = BLOCK_ARCS // 8  # of a block, for which several arrays of int64 are needed
    for start in range(0, weights.size, size):
        later = start + xp.flatnonzero(~is_first[start : start + size])
        if not later.size:
            continue
        # Consecutive positions belong to one run, which may begin in a block before this one.
        is_second = xp.ones(later.size, bool)
        is_second[1:] = later[1:] != later[:-1] + 1
        starts = later[is_second] - 1
        if int(starts[0]) < start and not is_first[starts[0]]:
            starts[0] = before
        firsts = starts[xp.cumsum(is_second) - 1]
        count += device.count_nonzero(weights[later] != weights[firsts])
        before = int(firsts[-1])
    return count


def _is_first_of_run(adjacency: Adjacency) -> Array:
    """Return whether each arc is the first from its row to its neighbor; there are arcs."""
    xp, num_rows = device.array_module(adjacency.neighbors), adjacency.offsets.size - 1
    is_first = xp.empty(adjacency.neighbors.size + 1, bool)
    device.launch(
        "build", "mark_first", size=adjacency.neighbors.size,
        num_rows=num_rows, offsets=adjacency.offsets, neighbors=adjacency.neighbors,
        is_first=is_first,
    )  # fmt: skip
    return is_first[:-1]


def _filter(keep: Array, offsets: Array, neighbors: Array) -> tuple[Array, Array]:
    """Return the offsets and the neighbors of the arcs that `keep` marks."""
    num_before, xp = _count_before(keep), device.array_module(keep)
    if xp is np:  # the twin of the kernel would copy them once more
        return _filter_offsets(num_before, offsets), neighbors[keep]
    new_neighbors = xp.empty(int(num_before[-1]), neighbors.dtype)
    device.launch(
        "build", "filter_neighbors", size=keep.size,
        num_arcs=keep.size, keep=keep, num_before=num_before, neighbors=neighbors,
        new_neighbors=new_neighbors,
    )  # fmt: skip
    return _filter_offsets(num_before, offsets), new_neighbors


def filter_offsets(keep: Array, offsets: Array) -> Array:
    """Return the offsets of the arcs that `keep` marks."""
    return _filter_offsets(_count_before(keep), offsets)


def _filter_offsets(num_before: Array, offsets: Array) -> Array:
    new_offsets = device.array_module(offsets).empty_like(offsets)
    device.launch(
        "build", "filter_offsets", size=offsets.size,
        num_rows=offsets.size - 1, num_before=num_before, offsets=offsets, new_offsets=new_offsets,
    )  # fmt: skip
    return new_offsets


def _count_before(keep: Array) -> Array:
    """Return how many flags before each position are set, and behind the last one, of all."""
    return device.accumulate(keep, np.int32 if keep.size < 2**31 else np.int64)


def sort_pairs(
    pairs: list[Array],
    num_keys: int,
    num_minor_keys: int | None = None,
    *,
    with_order: bool = False,
    minor_sorted: bool = False,
) -> tuple[Array, Array, Array | None]:
    """Sort pairs of keys by (major, minor).

    Parameters
    ----------
    pairs : list of two int32 arrays, shape (pairs,)
        [major, minor]; emptied, so that arrays are freed early.
    num_keys, num_minor_keys : int
        The keys are below these; by default `num_keys` is for both.
    with_order : bool, default False
        Whether to return the permutation.
    minor_sorted : bool, default False
        Whether `minor` ascends already, so that one stable pass by `major` suffices.

    Returns
    -------
    offsets : int64, shape (num_keys + 1,)
    minor : int32, shape (pairs,)
    order : integers, shape (pairs,), or None
    """
    num_minor_keys = num_keys if num_minor_keys is None else num_minor_keys
    if not device.is_on_gpu(pairs[0]):
        return _sort_on_cpu(pairs, num_keys, num_minor_keys, with_order, minor_sorted)
    if with_order:
        return _sort_with_order_on_gpu(pairs, num_keys, num_minor_keys, minor_sorted)
    return _sort_on_gpu(pairs, num_keys, minor_sorted)


def _sort_on_gpu(
    pairs: list[Array], num_keys: int, minor_sorted: bool
) -> tuple[Array, Array, None]:
    if minor_sorted and pairs[0].size >= MIN_RADIX_SORTED:
        major, minor = sort_by_key(pairs.pop(0), num_keys, pairs.pop())
        return find_offsets(major, num_keys), minor, None
    packed = _pack_pairs(pairs)
    packed.sort()
    return _find_offsets(packed, num_keys), _minor_keys(packed, np.int32), None


def _pack_pairs(pairs: list[Array]) -> Array:
    """Return major << 32 | minor; `pairs` is emptied."""
    major, minor = pairs
    pairs.clear()
    packed = device.array_module(major).empty(major.size, "int64")
    device.launch(
        "build", "pack_pairs", size=major.size,
        num_pairs=major.size, major=major, minor=minor, packed=packed,
    )  # fmt: skip
    return packed


def _sort_with_order_on_gpu(
    pairs: list[Array], num_keys: int, num_minor_keys: int, minor_sorted: bool
) -> tuple[Array, Array, Array]:
    major, minor = pairs
    pairs.clear()
    if major.size >= 2**32:
        raise GraphError(
            f"{major.size} weighted rows on one GPU; 2^32 is the most",
            parameter="edges",
            value=major.size,
        )
    order = None
    if not minor_sorted:
        order, _ = _argsort(minor, num_minor_keys)
        major = device.take(major, order)
    by_major, offsets = _argsort(major, num_keys)
    del major
    order = by_major if order is None else device.take(order, by_major)
    return offsets, device.take(minor, order), order


def _argsort(keys: Array, num_keys: int) -> tuple[Array, Array]:
    """Return the stable order of the keys, as uint32, and offsets by key."""
    xp = device.array_module(keys)
    if keys.size >= MIN_RADIX_SORTED:
        keys, order = sort_by_key(
            keys, num_keys, xp.arange(keys.size, dtype=xp.uint32).view(xp.int32)
        )
        return order.view(xp.uint32), find_offsets(keys, num_keys)
    packed = xp.empty(keys.size, xp.int64)
    device.launch(
        "build", "pack_positions", size=keys.size, num_keys=keys.size, keys=keys, packed=packed
    )
    packed.sort()
    return _minor_keys(packed, xp.uint32), _find_offsets(packed, num_keys)


def _minor_keys(packed: Array, dtype: Any) -> Array:
    """Return the low halves of packed pairs."""
    minor = device.array_module(packed).empty(packed.size, dtype)
    device.launch(
        "build", "unpack_minor", size=packed.size,
        num_pairs=packed.size, packed=packed, minor=minor,
    )  # fmt: skip
    return minor


def _find_offsets(packed: Array, num_keys: int) -> Array:
    """Return the offsets by major key of sorted packed pairs."""
    offsets = device.array_module(packed).empty(num_keys + 1, "int64")
    device.launch(
        "build", "find_offsets", size=num_keys + 1,
        num_keys=num_keys, num_pairs=packed.size, packed=packed, offsets=offsets,
    )  # fmt: skip
    return offsets


def _sort_on_cpu(
    pairs: list[Array], num_keys: int, num_minor_keys: int, with_order: bool, minor_sorted: bool
) -> tuple[Array, Array, Array | None]:
    import numba

    major, minor = pairs
    pairs.clear()
    size = major.size
    max_keys = max(num_keys, num_minor_keys)
    is_sparse = size < MIN_ARCS_PER_COUNTER * max_keys
    if is_sparse or (size < MIN_COUNTED_ARCS and not with_order):
        offsets = offsets_from_sizes(np.bincount(major, minlength=num_keys))
        if with_order:
            order = np.lexsort((minor, major))
            return offsets, minor[order], order
        packed = _pack_pairs([major, minor])
        packed.sort()
        return offsets, packed.astype(np.int32), None  # the low half
    index_type: type[np.integer] = np.int32 if size < 2**31 else np.int64
    # Each chunk has a counter per key, so there are no more chunks than keys repeat on average.
    num_threads = numba.get_num_threads()
    num_chunks = max(1, min(num_threads, size // max(max_keys, 1)))
    order = np.arange(size, dtype=index_type) if with_order else np.empty(0, index_type)
    # Files are often sorted already, and the test takes a fraction of the time of a sort.
    offsets = np.empty(num_keys + 1, np.int64)
    disorder: Any = np.zeros(num_threads, bool)
    with device.parallel_region(size):
        kernels.counting.sorted_offsets(major, minor, offsets, disorder)
    if not disorder.any():
        return offsets, minor.copy(), order if with_order else None
    if not minor_sorted:
        offsets, cursors = _count_keys(minor, num_minor_keys, num_chunks, index_type)
        new_major, new_order = np.empty_like(major), np.empty_like(order)
        with device.parallel_region(size):
            kernels.counting.move(minor, major, order, cursors, new_major, new_order)
        major, order = new_major, new_order
        del new_major, new_order, cursors
    new_offsets, cursors = _count_keys(major, num_keys, num_chunks, index_type)
    new_minor, new_order = np.empty(size, np.int32), np.empty_like(order)
    with device.parallel_region(size):
        if minor_sorted:
            kernels.counting.move(major, minor, order, cursors, new_minor, new_order)
        else:  # the minor key of a pair follows from its position
            kernels.counting.move_rows(major, offsets, order, cursors, new_minor, new_order)
    return new_offsets, new_minor, new_order if with_order else None


def _count_keys(
    keys: Array, num_keys: int, num_chunks: int, index_type: type
) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets by key, and the first position of each key in each chunk."""
    cursors: Any = np.zeros((num_chunks, num_keys), index_type)
    offsets = np.empty(num_keys + 1, np.int64)
    with device.parallel_region(keys.size):
        kernels.counting.count(keys, cursors)
        kernels.counting.accumulate_counts(cursors, offsets)
    return offsets, cursors
