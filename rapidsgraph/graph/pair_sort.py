"""Sort pairs of integer keys stably by both of them, such as arcs by row and neighbor.

On a CPU by counting sort, least significant key first, or by comparisons if there are few pairs. On
a GPU by radix sort of both keys packed into 64 bits, which sorts small buckets in shared memory
after one pass, or by that of CuPy if there are few pairs and no permutation is needed. The peak is
at most 25 bytes per pair, including the permutation, besides the counters of the keys.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import device, kernels
from ..device import Array
from ..errors import GraphError
from ..kernels.constants import COOPERATIVE_THREADS, MAX_BUCKET_PAIRS
from .radix_sort import DIGIT_BITS, count_digits, sort_by_bits

MIN_PAIRS_PER_COUNTER = 1 / 16  # pairs per key below which counters cost more than comparisons
MIN_COUNTED_PAIRS = 2**14  # pairs without order below which comparisons are as fast as counters
# Pairs on a GPU from which `sort_by_bits` is faster than the sort of CuPy: by both keys, by one.
MIN_RADIX_SORTED, MIN_RADIX_SORTED_BY_ONE = 2**23, 2**20
# Pairs on a GPU from which buckets are sorted in shared memory, if keys have few pairs each. The
# largest bucket determines the time, so it may have only so many times the mean.
MIN_BUCKET_SORTED, MAX_PAIRS_PER_KEY, MAX_IMBALANCE = 2**21, 8, 2


class SortedPairs(NamedTuple):
    """Pairs of keys in the order of (major, minor).

    Attributes
    ----------
    offsets : int64, shape (num_keys + 1,)
        The pairs of major key k are offsets[k] to offsets[k + 1].
    minor : int32, shape (pairs,)
    order : integers, shape (pairs,), or None
        The permutation that sorts the pairs, if it is wanted.
    num_distinct : int64, shape (1,), or None
        Number of distinct pairs, on a GPU.
    """

    offsets: Array
    minor: Array
    order: Array | None = None
    num_distinct: Array | None = None


def sort_pairs(
    pairs: list[Array],
    num_keys: int,
    num_minor_keys: int | None = None,
    *,
    with_order: bool = False,
    minor_sorted: bool = False,
) -> SortedPairs:
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
    """
    num_minor_keys = num_keys if num_minor_keys is None else num_minor_keys
    if not device.is_on_gpu(pairs[0]):
        return _sort_on_cpu(pairs, num_keys, num_minor_keys, with_order, minor_sorted)
    return _sort_on_gpu(pairs, num_keys, num_minor_keys, with_order, minor_sorted)


def _sort_on_gpu(
    pairs: list[Array], num_keys: int, num_minor_keys: int, with_order: bool, minor_sorted: bool
) -> SortedPairs:
    num_pairs, xp = pairs[0].size, device.array_module(pairs[0])
    if with_order and num_pairs >= 2**32:
        raise GraphError(
            f"{num_pairs} weighted rows on one GPU; 2^32 is the most",
            parameter="edges",
            value=num_pairs,
        )
    minor_bits, bits = ((count - 1).bit_length() for count in (num_minor_keys, num_keys))
    keys, order = [_pack_pairs(pairs, minor_bits)], None
    if not minor_sorted and MIN_BUCKET_SORTED <= num_pairs <= MAX_PAIRS_PER_KEY * num_keys:
        in_buckets = _sort_in_buckets(keys, num_keys, minor_bits, bits, with_order=with_order)
        if in_buckets is not None:
            return in_buckets
    packed = keys.pop()
    min_sorted = MIN_RADIX_SORTED_BY_ONE if minor_sorted else MIN_RADIX_SORTED
    if with_order or num_pairs >= min_sorted:
        first_bit = minor_bits if minor_sorted else 0
        packed, order = sort_by_bits(
            packed, first_bit, minor_bits + bits - first_bit, with_positions=with_order
        )
    else:
        packed.sort()
    offsets, minor = xp.empty(num_keys + 1, xp.int64), xp.empty(num_pairs, xp.int32)
    num_distinct = xp.zeros(1, xp.int64)
    device.launch(
        "build", "split_pairs", size=max(num_pairs, num_keys + 1),
        num_keys=num_keys, num_pairs=num_pairs, minor_bits=minor_bits, packed=packed,
        offsets=offsets, minor=minor, num_distinct=num_distinct,
    )  # fmt: skip
    return SortedPairs(offsets, minor, order if with_order else None, num_distinct)


def _sort_in_buckets(
    keys: list[Array], num_keys: int, minor_bits: int, bits: int, *, with_order: bool
) -> SortedPairs | None:
    """Sort pairs in buckets of consecutive major keys, or return None if one is too large.

    A bucket has the pairs of the same `DIGIT_BITS` upper bits. It must fit in shared memory, and
    have at most `MAX_IMBALANCE` times the mean number of pairs.

    Parameters
    ----------
    keys : list of one int64 array
        The packed pairs; emptied if they are sorted.
    num_keys, minor_bits, bits : int
        The major keys are below `num_keys`, which needs `bits` bits above the minor ones.
    with_order : bool
    """
    packed, bucket_bits, item_bytes = keys[0], bits - DIGIT_BITS, 8 if with_order else 4
    if bucket_bits < 0:
        return None
    num_pairs, xp = packed.size, device.array_module(packed)
    num_buckets = (num_keys - 1 >> bucket_bits) + 1
    counter_bytes = 4 << bucket_bits
    capacity = min((device.max_shared_bytes() - counter_bytes) // item_bytes, MAX_BUCKET_PAIRS)
    if num_pairs > capacity * num_buckets:
        return None
    sizes = count_digits(packed, minor_bits + bucket_bits, DIGIT_BITS)
    largest = int(device.to_host(sizes).max())
    if largest > min(capacity, MAX_IMBALANCE * num_pairs // num_buckets):
        return None
    keys.clear()
    packed, positions = sort_by_bits(
        packed, minor_bits + bucket_bits, DIGIT_BITS, with_positions=with_order, histograms=sizes
    )
    offsets, minor = xp.empty(num_keys + 1, xp.int64), xp.empty(num_pairs, xp.int32)
    num_distinct = xp.zeros(1, xp.int64)
    if not with_order:
        positions = device.no_values(bool, xp)
    order = xp.empty_like(positions) if with_order else positions
    device.launch(
        "bucket_sort", "sort_buckets", size=num_pairs,
        geometry=(1 << DIGIT_BITS, COOPERATIVE_THREADS),
        shared_bytes=largest * item_bytes + counter_bytes,
        num_keys=num_keys, minor_bits=minor_bits, bucket_bits=bucket_bits, capacity=largest,
        histogram=sizes, packed=packed, positions=positions, offsets=offsets, minor=minor,
        order=order, num_distinct=num_distinct,
    )  # fmt: skip
    return SortedPairs(offsets, minor, order if with_order else None, num_distinct)


def _pack_pairs(pairs: list[Array], minor_bits: int) -> Array:
    """Return major << minor_bits | minor; `pairs` is emptied."""
    major, minor = pairs
    pairs.clear()
    packed = device.array_module(major).empty(major.size, "int64")
    device.launch(
        "build", "pack_pairs", size=major.size,
        num_pairs=major.size, minor_bits=minor_bits, major=major, minor=minor, packed=packed,
    )  # fmt: skip
    return packed


def _sort_on_cpu(
    pairs: list[Array], num_keys: int, num_minor_keys: int, with_order: bool, minor_sorted: bool
) -> SortedPairs:
    major, minor = pairs
    pairs.clear()
    size = major.size
    max_keys = max(num_keys, num_minor_keys)
    is_sparse = size < MIN_PAIRS_PER_COUNTER * max_keys
    if is_sparse or (size < MIN_COUNTED_PAIRS and not with_order):
        offsets = device.accumulate(np.bincount(major, minlength=num_keys))
        if with_order:
            order = np.lexsort((minor, major))
            return SortedPairs(offsets, minor[order], order)
        packed = _pack_pairs([major, minor], 32)
        packed.sort()
        return SortedPairs(offsets, packed.astype(np.int32))  # the low half
    index_type: type[np.integer] = np.int32 if size < 2**31 else np.int64
    # Each chunk needs `num_keys` counters. With at most size / num_keys chunks, all counters take
    # no more memory than the pairs.
    num_threads = device.num_threads()
    num_chunks = max(1, min(num_threads, size // max(max_keys, 1)))
    order = np.arange(size, dtype=index_type) if with_order else np.empty(0, index_type)
    # Files are often sorted already, and the test takes a fraction of the time of a sort.
    offsets = np.empty(num_keys + 1, np.int64)
    disorder: Any = np.zeros(num_threads, bool)
    with device.kernel_lock(), device.limit_threads(size):
        kernels.counting.sorted_offsets(major, minor, offsets, disorder)
    if not disorder.any():
        return SortedPairs(offsets, minor.copy(), order if with_order else None)
    if not minor_sorted:
        offsets, cursors = _count_keys(minor, num_minor_keys, num_chunks, index_type)
        new_major, new_order = np.empty_like(major), np.empty_like(order)
        with device.kernel_lock(), device.limit_threads(size):
            kernels.counting.move(minor, major, order, cursors, new_major, new_order)
        major, order = new_major, new_order
        del new_major, new_order, cursors
    new_offsets, cursors = _count_keys(major, num_keys, num_chunks, index_type)
    new_minor, new_order = np.empty(size, np.int32), np.empty_like(order)
    with device.kernel_lock(), device.limit_threads(size):
        if minor_sorted:
            kernels.counting.move(major, minor, order, cursors, new_minor, new_order)
        else:  # the minor key of a pair follows from its position
            kernels.counting.move_rows(major, offsets, order, cursors, new_minor, new_order)
    return SortedPairs(new_offsets, new_minor, new_order if with_order else None)


def _count_keys(
    keys: Array, num_keys: int, num_chunks: int, index_type: type
) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets by key, and the first position of each key in each chunk."""
    cursors: Any = np.zeros((num_chunks, num_keys), index_type)
    offsets = np.empty(num_keys + 1, np.int64)
    with device.kernel_lock(), device.limit_threads(keys.size):
        kernels.counting.count(keys, cursors)
        kernels.counting.accumulate_counts(cursors, offsets)
    return offsets, cursors
