"""Distinct integer vertex names of a file, and the ids of integer names in batches.

The distinct names of one integer column fit in memory, 8 bytes each. While they are collected,
they are a bit table over their range, then a sorted array if the range is too wide, and sorted
runs on disk if the array is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import device
from ...errors import GraphError
from ...graph.vertex_names import VertexNames, as_integers
from ...validation import check_vertex_count
from . import run_kernel
from .dictionaries import FileColumn, merge_runs
from .file_array import TempFiles, check_free_disk

DISTINCT_BYTES = 32  # per integer that is sorted and merged
MIN_CHUNK_ROWS = 1024
LOOKUP_BUCKETS = 2**16  # buckets of a lookup table whose bounds are searched at once
MIN_TABLE_NAME = -(2**62)  # the table grows downwards in steps only above this name

# Called with the number of vertices and the bytes of their names in a store.
MemoryCheck = Callable[[int, int], None]


class IntegerCollector:
    """Collect the distinct integers of batches.

    Parameters
    ----------
    memory : int
        Bytes for distinct names.
    files : TempFiles
    dtype : numpy.dtype
        The type of the names in the graph.
    """

    def __init__(self, memory: int, files: TempFiles, dtype: np.dtype) -> None:
        self._memory, self._files, self.dtype = memory, files, dtype
        self._wide_dtype = np.dtype(np.uint64 if dtype == np.uint64 else np.int64)
        # The table of the names from _table_start on; None if names are in the sorted array.
        self._table: np.ndarray | None = np.zeros(0, bool)
        self._table_start = 0
        self._sorted = np.empty(0, self._wide_dtype)
        self._pending: list[np.ndarray] = []
        self._num_pending = 0
        self._column: FileColumn | None = None
        self._runs: list[range] = []

    def add(self, values: np.ndarray) -> None:
        """Add the names in a column of a batch."""
        values = values.astype(self._wide_dtype, copy=False)
        if self._table is not None:
            if self._extend_table(int(values.min()), int(values.max())):
                device.launch(
                    "build", "mark_present", size=values.size,
                    num_names=values.size, names=values, min_name=self._table_start,
                    is_present=self._table,
                )  # fmt: skip
                return
            self._leave_table()
        chunk_rows = max(self._memory // 4 // DISTINCT_BYTES, MIN_CHUNK_ROWS)
        for start in range(0, values.size, chunk_rows):
            distinct = _sort_unique(values[start : start + chunk_rows].copy())
            num_known = self._sorted.size + self._num_pending
            if num_known and (num_known + distinct.size) * DISTINCT_BYTES > self._memory:
                self._merge_pending()
                if (self._sorted.size + distinct.size) * DISTINCT_BYTES > self._memory:
                    self._flush(self._sorted)
                    self._sorted = self._sorted[:0].copy()
            self._pending.append(distinct)
            self._num_pending += distinct.size
            if self._num_pending > self._sorted.size // 2:
                self._merge_pending()

    def _extend_table(self, low: int, high: int) -> bool:
        """Extend the table to [low, high]; return False if it would be too large."""
        assert self._table is not None
        size = self._table.size
        old = (self._table_start, self._table_start + size - 1) if size else (low, low - 1)
        if high >= 2**63:
            return False
        new = min(low, old[0]), max(high, old[1])
        if new == old and size:
            return True
        span = new[1] - new[0] + 1
        max_span = self._memory // 2  # the old table is copied into the new one
        if span > max_span:
            return False
        if size:  # with spare space, so that the table is not copied for every batch
            spare = min(max_span - span, span // 2)
            is_downward = low < old[0] and new[0] - spare >= MIN_TABLE_NAME
            low_spare = spare if is_downward else 0
            new = new[0] - low_spare, new[1] + (spare - low_spare)
        table = np.zeros(new[1] - new[0] + 1, bool)
        table[old[0] - new[0] : old[0] - new[0] + size] = self._table
        self._table_start, self._table = new[0], table
        return True

    def _leave_table(self) -> None:
        """Continue with a sorted array, because the range of the names is too wide."""
        assert self._table is not None
        if np.count_nonzero(self._table) * DISTINCT_BYTES > self._memory // 2:
            step = max(self._memory // 64, 1)
            for start in range(0, self._table.size, step):
                self._flush(self._table_names(start, start + step), extends=start > 0)
        else:
            self._sorted = self._table_names(0, self._table.size)
        self._table = None

    def _table_names(self, start: int, stop: int) -> np.ndarray:
        """Return the names in a range of the table."""
        assert self._table is not None
        names = np.flatnonzero(self._table[start:stop]).astype(self._wide_dtype)
        return names + self._wide_dtype.type(self._table_start + start)

    def _flush(self, values: np.ndarray, extends: bool = False) -> None:
        """Write sorted integers as a run, or append them to the last run."""
        import pyarrow

        check_free_disk(self._files.folder, 2 * values.nbytes)
        if self._column is None:
            self._column = FileColumn(self._files, pyarrow.from_numpy_dtype(self._wide_dtype))
        start = self._runs.pop().start if extends else len(self._column)
        self._column.append(pyarrow.array(values))
        self._runs.append(range(start, len(self._column)))

    def _merge_pending(self) -> None:
        self._sorted = _sort_unique(np.concatenate([self._sorted, *self._pending]))
        self._pending, self._num_pending = [], 0

    def finish(self, labels: Sequence[str], check_memory: MemoryCheck) -> IntegerNames:
        """Return the names of the vertices; `check_memory` may raise before memory is taken."""
        label = labels[0]
        if self._table is not None:
            names, count = self._finish_table(label, check_memory)
        else:
            names = self._finish_sorted(label, check_memory)
            count = names.size
            check_vertex_count(count, f"{label}: ")
            check_memory(count, 8 * count)
            if int(names[0]) == 0 and int(names[-1]) == count - 1:
                names = None
        distinct = None if names is None else names.astype(self.dtype, copy=False)
        return IntegerNames(labels, [distinct], count, dtype=self.dtype)

    def _finish_table(self, label: str, check_memory: MemoryCheck) -> tuple[np.ndarray | None, int]:
        """Return the names, or None if they are 0..n-1, and their number."""
        table = self._table
        assert table is not None
        self._table = None
        count = int(np.count_nonzero(table))
        check_vertex_count(count, f"{label}: ")
        first = int(table.argmax()) + self._table_start
        last = table.size - 1 - int(table[::-1].argmax()) + self._table_start
        is_compact = first == 0 and count == last + 1
        check_memory(count, 0 if is_compact else 8 * count)
        if is_compact:
            return None, count
        names = np.flatnonzero(table)
        names += self._table_start
        return names, count

    def _finish_sorted(self, label: str, check_memory: MemoryCheck) -> np.ndarray:
        self._merge_pending()
        if self._column is None:
            return self._sorted
        self._flush(self._sorted)
        self._sorted = np.empty(0, self._wide_dtype)
        column = merge_runs(self._column, self._runs, self._files, memory=self._memory, label=label)
        self._column.close()
        check_memory(len(column), 8 * len(column))
        names = column.read(0, len(column)).to_numpy()
        column.close()
        return names


class IntegerNames(VertexNames):
    """The vertex names of one integer column, looked up by binary search without a hash table."""

    def _look_up(self, columns: Sequence[Any], xp: Any, what: str) -> np.ndarray:
        (distinct,) = self.distinct
        if distinct is None or not len(columns[0]):
            return super()._look_up(columns, xp, what)
        values = as_integers(columns[0], what).tolist()
        return np.array([_find(distinct, value) for value in values], np.int64)


def _find(names: np.ndarray, value: int) -> int:
    """Return the index of a Python int in sorted names, or -1."""
    limits = np.iinfo(names.dtype)
    if not limits.min <= value <= limits.max:
        return -1
    value = names.dtype.type(value)
    index = int(np.searchsorted(names, value))
    return index if index < names.size and names[index] == value else -1


def _sort_unique(values: np.ndarray) -> np.ndarray:
    """Return the sorted distinct values; sorts `values` in place."""
    values.sort()
    is_first = np.empty(values.size, bool)
    is_first[:1] = True
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return values[is_first]


def check_unchanged(is_unchanged: bool) -> None:
    """Raise GraphError if the second pass over a file differs from the first."""
    if not is_unchanged:
        hint = "try again"
        raise GraphError(f"the file was changed while it was read; {hint}", hint=hint)


def integer_lookup(names: VertexNames) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from integer names to their int32 ids.

    It uses a table over the high bits of the distance to the smallest name, and raises GraphError
    for a name that was not collected, because the file has changed.
    """
    count, (distinct,) = names.count, names.distinct
    if distinct is None:

        def convert(values: np.ndarray) -> np.ndarray:
            ids = values.astype(np.int32, copy=False)
            check_unchanged(not values.size or (values.min() >= 0 and values.max() < count))
            return ids

        return convert

    known = _as_uint64(distinct)
    min_name = known[0]
    span = (int(known[-1]) - int(min_name)) % 2**64
    shift = np.uint64((span // max(2 * count, 1024)).bit_length())
    distances = known - min_name
    bucket_starts = np.empty((span >> int(shift)) + 2, np.int32)
    for start in range(0, bucket_starts.size, LOOKUP_BUCKETS):
        stop = min(start + LOOKUP_BUCKETS, bucket_starts.size)
        buckets = np.arange(start, stop, dtype=np.uint64) << shift
        bucket_starts[start:stop] = np.searchsorted(distances, buckets)
    bucket_starts[-1] = count  # the end of the last bucket may exceed 64 bits
    del distances

    def look_up(values: np.ndarray) -> np.ndarray:
        ids = np.empty(values.size, np.int32)
        run_kernel(
            "look_up_integers", _as_uint64(values), min_name, shift, bucket_starts, known, ids
        )
        check_unchanged(not ids.size or ids.min() >= 0)
        return ids

    return look_up


def _as_uint64(values: np.ndarray) -> np.ndarray:
    """Return 64-bit integers modulo 2^64."""
    wide = np.uint64 if values.dtype == np.uint64 else np.int64
    return values.astype(wide, copy=False).view(np.uint64)
