"""External sort of edge keys, in buckets on disk.

Batches of keys come in any order and are scattered into buckets of consecutive keys, which are
written to disk. A bucket that fits in memory is then sorted there; a larger one is scattered
again. Equal keys stay in the order in which they came.

References
----------
Knuth, The Art of Computer Programming, volume 3, section 5.4.9 (external distribution sort).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ... import kernels
from . import run_kernel
from .file_array import TempFiles

DIGIT_BITS = 12
MAX_BUCKETS = 512  # per pass; one read is scattered to as many buffers


class BucketSorter:
    """Sort keys, with or without weights, that do not fit in memory.

    Parameters
    ----------
    files : TempFiles
    min_key, num_bits : int
        Keys are in [min_key, min_key + 2**num_bits).
    num_buckets : int
        Upper bound of the number of buckets.
    weight_dtype : dtype or None
        None without weights.
    max_keys : int
        Number of keys that fit in memory.
    """

    def __init__(
        self,
        files: TempFiles,
        *,
        min_key: int,
        num_bits: int,
        num_buckets: int,
        weight_dtype: Any,
        max_keys: int,
    ) -> None:
        self._files, self._min_key, self._max_keys = files, min_key, max_keys
        self._shift = max(num_bits - max(num_buckets - 1, 0).bit_length(), 0)
        self._num_buckets = 1 << (num_bits - self._shift)
        self._weighted = weight_dtype is not None
        self._weight_dtype = np.dtype(weight_dtype if self._weighted else np.float64)
        self._keys = files.create(np.uint64)
        self._weights = files.create(self._weight_dtype) if self._weighted else None
        self._batch_offsets: list[np.ndarray] = []  # by batch and bucket: (num_buckets + 1,)

    @property
    def size(self) -> int:
        return self._keys.size

    def add(self, keys: np.ndarray, weights: np.ndarray) -> None:
        """Write a batch by bucket; `weights` is empty without weights."""
        if not keys.size:
            return
        offsets = np.array([0, keys.size])
        if self._num_buckets > 1:
            bucketed, bucketed_weights = np.empty_like(keys), np.empty_like(weights)
            offsets = _scatter(
                keys, weights, bucketed, bucketed_weights, min_key=self._min_key,
                shift=self._shift, num_digits=self._num_buckets,
            )  # fmt: skip
            keys, weights = bucketed, bucketed_weights
        self._batch_offsets.append(offsets + self._keys.size)
        self._keys.append(keys)
        if self._weights is not None:
            self._weights.append(weights)

    def sorted_batches(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (keys, weights); keys ascend within a batch and from batch to batch.

        A batch has at most `max_keys` keys. The arrays belong to the caller.
        """
        offsets = np.array(self._batch_offsets, np.int64).reshape(-1, self._num_buckets + 1)
        sizes = np.diff(offsets, axis=1).sum(axis=0)
        start = 0
        while start < self._num_buckets:
            stop, total = start, 0
            while stop < self._num_buckets and stop - start < MAX_BUCKETS:
                if total + int(sizes[stop]) > self._max_keys:
                    break
                total += int(sizes[stop])
                stop += 1
            if stop > start:
                yield self._sort_buckets(offsets, start, stop, total)
                start = stop
            else:
                yield from self._split_bucket(offsets, start)
                start += 1

    def _sort_buckets(
        self, offsets: np.ndarray, start: int, stop: int, total: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted keys of the buckets [start, stop), and their weights."""
        bucket_starts = np.zeros(stop - start + 1, np.int64)
        bucket_sizes = np.diff(offsets[:, start : stop + 1], axis=1).sum(axis=0)
        np.cumsum(bucket_sizes, out=bucket_starts[1:])
        keys = np.empty(total, np.uint64)
        weights = np.empty(total if self._weighted else 0, self._weight_dtype)
        cursors = bucket_starts[:-1].copy()
        for batch in offsets:
            sizes = np.diff(batch[start : stop + 1])
            slices = [
                slice(cursor, cursor + size)
                for cursor, size in zip(cursors.tolist(), sizes.tolist(), strict=True)
            ]
            self._keys.read_into(int(batch[start]), [keys[s] for s in slices])
            if self._weights is not None:
                self._weights.read_into(int(batch[start]), [weights[s] for s in slices])
            cursors += sizes
        if self._weighted:
            min_key = self._min_key + (start << self._shift)
            return radix_sort(keys, weights, min_key, (stop - start << self._shift) - 1)
        slices = [slice(*bounds) for bounds in itertools.pairwise(bucket_starts.tolist())]
        with ThreadPoolExecutor(kernels.counting.num_threads()) as pool:
            list(pool.map(lambda s: keys[s].sort(), slices))
        return keys, weights

    def _split_bucket(
        self, offsets: np.ndarray, bucket: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the sorted batches of a bucket that does not fit in memory.

        The bucket is scattered again, unless all of its keys are equal.
        """
        sorter = None
        if self._shift:
            sorter = BucketSorter(
                self._files, min_key=self._min_key + (bucket << self._shift),
                num_bits=self._shift, num_buckets=MAX_BUCKETS // 2, max_keys=self._max_keys,
                weight_dtype=self._weight_dtype if self._weighted else None,
            )  # fmt: skip
        for batch in offsets:
            start, stop = map(int, batch[bucket : bucket + 2])
            for chunk in range(start, stop, max(self._max_keys // 2, 1)):
                chunk_stop = min(chunk + self._max_keys // 2, stop)
                keys, weights = self._keys.read(chunk, chunk_stop), np.empty(0, self._weight_dtype)
                if self._weights is not None:
                    weights = self._weights.read(chunk, chunk_stop)
                if sorter is not None:
                    sorter.add(keys, weights)
                else:
                    yield keys, weights
        if sorter is not None:
            yield from sorter.sorted_batches()
            sorter.close()

    def close(self) -> None:
        self._keys.close()
        if self._weights is not None:
            self._weights.close()


def _scatter(
    keys: np.ndarray,
    weights: np.ndarray,
    out_keys: np.ndarray,
    out_weights: np.ndarray,
    *,
    min_key: int,
    shift: int,
    num_digits: int,
    mask: int = 2**63 - 1,
) -> np.ndarray:
    """Group keys by the digit ``(key - min_key) >> shift & mask``; return the digits' offsets."""
    digit = np.uint64(min_key), np.uint64(shift), np.uint64(mask)
    cursors = np.zeros((kernels.counting.num_threads(), num_digits), np.int64)
    offsets = np.empty(num_digits + 1, np.int64)
    run_kernel("count_digits", keys, *digit, cursors)
    kernels.counting.accumulate_counts(cursors, offsets)
    run_kernel(
        "scatter_by_digit", keys, weights, weights.size > 0, *digit, cursors, out_keys, out_weights
    )
    return offsets


def radix_sort(
    keys: np.ndarray, weights: np.ndarray, min_key: int, span: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sort keys in [min_key, min_key + span] stably, with their weights."""
    other_keys, other_weights = np.empty_like(keys), np.empty_like(weights)
    used_bits = int(np.bitwise_or.reduce(keys - np.uint64(min_key))) if keys.size else 0
    mask = (1 << DIGIT_BITS) - 1
    for shift in range(0, span.bit_length(), DIGIT_BITS):
        if used_bits >> shift & mask:
            _scatter(
                keys, weights, other_keys, other_weights, min_key=min_key, shift=shift,
                num_digits=1 << DIGIT_BITS, mask=mask,
            )  # fmt: skip
            keys, weights, other_keys, other_weights = other_keys, other_weights, keys, weights
    return keys, weights
