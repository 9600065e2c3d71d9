"""Dictionary encoding of columns that are larger than memory.

Values are hashed batch by batch into a dictionary in memory. When its hash table would exceed the
memory for it, the dictionary is written to disk as a sorted run, and an empty one takes its place.
At the end the runs are merged into the sorted distinct values, and each entry of a run gets the
rank of its value among them. If one dictionary holds all values, there is nothing to merge.

References
----------
Knuth, The Art of Computer Programming, volume 3, section 5.4.1 (external merge sort).
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...validation import check_vertex_count
from .file_array import FileArray, TempFiles, check_free_disk, release_free_memory

HASH_BYTES = 176  # of a growing hash table, per distinct value; measured with pyarrow
CHUNK_ROWS = 2**16  # rows gathered at once while a column is written in sorted order
MIN_SAMPLE_STEP = 16  # rows of a run between two samples, by which runs are cut into ranges


class FileColumn:
    """A column of integers or text in files, read by row range.

    Parameters
    ----------
    files : TempFiles
    type : pyarrow.DataType
        An integer type, or large_binary for UTF-8 text; bytes sort in the order of code points.

    Attributes
    ----------
    values : FileArray
        Integers, or the bytes of all text.
    offsets : FileArray or None
        For text, the offsets of the values; None for integers.
    dtype : numpy.dtype or None
        The dtype of integers in `to_arrow`; None for that of the file.
    """

    def __init__(self, files: TempFiles, type: Any) -> None:
        import pyarrow

        self.type = type
        self.offsets: FileArray | None = None
        self.dtype: np.dtype | None = None
        if pyarrow.types.is_integer(type):
            self.values = files.create(type.to_pandas_dtype())
        else:
            self.values, self.offsets = files.create(np.uint8), files.create(np.int64)
            self.offsets.append(np.zeros(1, np.int64))

    def __len__(self) -> int:
        return self.values.size if self.offsets is None else self.offsets.size - 1

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + (0 if self.offsets is None else self.offsets.nbytes)

    @property
    def text_bytes(self) -> int:
        """Bytes of text without offsets; 0 for integers."""
        return 0 if self.offsets is None else self.values.size

    def append(self, array: Any) -> None:
        """Append an Arrow array of the column's type."""
        if not len(array):
            return
        if self.offsets is None:
            self.values.append(array.to_numpy())
            return
        offsets = np.frombuffer(array.buffers()[1], np.int64)
        offsets = offsets[array.offset : array.offset + len(array) + 1]
        base = self.values.size
        if array.buffers()[2] is not None:
            data = np.frombuffer(array.buffers()[2], np.uint8)
            self.values.append(data[offsets[0] : offsets[-1]])
        self.offsets.append(offsets[1:] - offsets[0] + base)

    def read(self, start: int, stop: int) -> Any:
        """Return the rows in [start, stop) as an Arrow array."""
        import pyarrow

        if self.offsets is None:
            return pyarrow.array(self.values.read(start, stop))
        offsets = self.offsets.read(start, stop + 1)
        data = self.values.read(int(offsets[0]), int(offsets[-1]))
        offsets -= offsets[0]
        buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
        return pyarrow.Array.from_buffers(self.type, offsets.size - 1, buffers)

    def item(self, row: int) -> Any:
        """Return the value of a row: an int, or the bytes of a text."""
        return self.read(row, row + 1)[0].as_py()

    def find(self, value: Any) -> int:
        """Return the row of `value` in a sorted column, or -1."""
        row = bisect.bisect_left(range(len(self)), value, key=self.item)
        return row if row < len(self) and self.item(row) == value else -1

    def take(self, rows: Sequence[int] | np.ndarray) -> np.ndarray | list[str]:
        """Return the values of some rows: an array of integers or a list of str."""
        items = [self.item(int(row)) for row in rows]
        if self.offsets is None:
            return np.array(items, self.values.dtype)
        return [item.decode() for item in items]

    def to_arrow(self) -> Any:
        """Return the whole column as an Arrow array over its mapped files."""
        import pyarrow

        if self.offsets is None:
            values = self.values.mapped()
            return pyarrow.array(values.astype(self.dtype or values.dtype, copy=False))
        arrays = self.offsets.mapped(), self.values.mapped()
        buffers = [None, *map(pyarrow.py_buffer, arrays)]
        return pyarrow.Array.from_buffers(pyarrow.large_string(), len(self), buffers)

    def release(self) -> None:
        """Drop the pages that reading the array of `to_arrow` has loaded."""
        self.values.release()
        if self.offsets is not None:
            self.offsets.release()

    def close(self) -> None:
        """Close and remove the files."""
        self.values.close()
        if self.offsets is not None:
            self.offsets.close()


class DictionaryEncoder:
    """Compute the sorted distinct values of a column, and the rank of each row's value.

    Parameters
    ----------
    files : TempFiles
    memory : int
        Bytes for the dictionary and its hash table. A single batch may take more.

    Attributes
    ----------
    runs : list of range
        Rows of each sorted run in the column of all runs.
    """

    def __init__(self, files: TempFiles, memory: int) -> None:
        self._files, self._memory = files, memory
        self._codes, self._entries = files.create(np.int32), files.create(np.int32)
        self._entry_ranks = files.create(np.int32)  # of the entries of each run, within the run
        self._merged_ranks: FileArray | None = None  # of each row of the runs, among all values
        # The run, codes and entries of each batch. A code is the index of a distinct value of the
        # batch, and an entry is the index of such a value in the dictionary of the run.
        self._batches: list[tuple[int, range, range]] = []
        self.runs: list[range] = []
        self._column: FileColumn | None = None
        self._dictionary: Any = None
        self._pending: list[tuple[Any, int, int]] = []  # (distinct values, first code, rows)

    def add(self, arrays: Sequence[Any]) -> None:
        """Encode Arrow arrays of one type, in this order, as one batch."""
        import pyarrow

        encoded = pyarrow.chunked_array(arrays).dictionary_encode()
        if self._dictionary is None:
            self._dictionary = pyarrow.array([], arrays[0].type)
            self._column = FileColumn(self._files, arrays[0].type)
        chunks = [chunk for chunk in encoded.chunks if len(chunk)]
        distinct = chunks[0].dictionary if chunks else self._dictionary[:0]
        if self._hash_bytes(distinct) > self._memory:
            self._merge_pending()  # repeated values no longer count
            if len(self._dictionary) and self._hash_bytes(distinct) > self._memory:
                self._flush()
        start = self._codes.size
        for chunk in chunks:
            self._codes.append(chunk.indices.to_numpy())
        self._pending.append((distinct, start, self._codes.size - start))
        if sum(len(values) for values, *_ in self._pending) > len(self._dictionary):
            self._merge_pending()

    def _hash_bytes(self, distinct: Any) -> int:
        """Estimate the memory of the dictionary with the pending values and `distinct`."""
        arrays = [self._dictionary, distinct, *(values for values, *_ in self._pending)]
        return HASH_BYTES * sum(map(len, arrays)) + 2 * sum(array.nbytes for array in arrays)

    def _merge_pending(self) -> None:
        """Add the pending values to the dictionary and store the entry of each of them."""
        import pyarrow

        if not self._pending:
            return
        num_known = len(self._dictionary)
        arrays = [self._dictionary, *(distinct for distinct, *_ in self._pending)]
        if num_known or len(self._pending) > 1:
            encoded = pyarrow.chunked_array(arrays).dictionary_encode()
            chunks = iter([chunk for chunk in encoded.chunks if len(chunk)])
            known_chunk = next(chunks) if num_known else None
            dictionary = self._dictionary
        else:  # the values of one batch are distinct already
            encoded, chunks, known_chunk, dictionary = None, iter(()), None, arrays[1]
        for distinct, codes, num_rows in self._pending:
            start = self._entries.size
            if len(distinct) and encoded is not None:
                chunk = next(chunks)
                self._entries.append(chunk.indices.to_numpy())
                dictionary = chunk.dictionary
            elif len(distinct):
                self._entries.append(np.arange(len(distinct), dtype=np.int32))
            code_range = range(codes, codes + num_rows)
            entry_range = range(start, start + len(distinct))
            self._batches.append((len(self.runs), code_range, entry_range))
        self._dictionary, self._pending = dictionary, []
        del encoded, chunks, known_chunk, arrays  # so that release_free_memory can return them
        release_free_memory()

    def _flush(self) -> None:
        """Write the dictionary as a sorted run and start an empty one."""
        import pyarrow
        import pyarrow.compute as pc

        self._merge_pending()
        assert self._column is not None
        check_free_disk(self._files.folder, 2 * self._dictionary.nbytes)
        start, count = len(self._column), len(self._dictionary)
        order = pc.array_sort_indices(self._dictionary)
        for row in range(0, count, CHUNK_ROWS):
            self._column.append(self._dictionary.take(order[row : row + CHUNK_ROWS]))
        ranks = np.empty(count, np.int32)
        ranks[order.to_numpy()] = np.arange(count, dtype=np.int32)
        self._entry_ranks.append(ranks)
        self.runs.append(range(start, start + count))
        self._dictionary = pyarrow.array([], self._column.type)
        del order, ranks
        release_free_memory()

    def finish(self, label: str) -> FileColumn:
        """Return the column of the sorted distinct values; `label` names it in messages."""
        self._flush()
        self._dictionary = None
        assert self._column is not None
        if len(self.runs) > 1:
            self._merged_ranks = self._files.create(np.int32)
            column = self._column
            self._column = merge_runs(
                column, self.runs, self._files, memory=self._memory, label=label,
                ranks=self._merged_ranks,
            )  # fmt: skip
            column.close()
        check_vertex_count(len(self._column), f"{label}: ")
        return self._column

    def ids(self) -> Iterator[np.ndarray]:
        """Yield an int32 array with the rank of each row, for each batch in the order of `add`."""
        last_run, ranks = None, np.empty(0, np.int32)
        for run, codes, entries in self._batches:
            if run != last_run:
                del ranks  # frees those of the last run first
                last_run, ranks = run, self._read_ranks(self.runs[run])
            batch_ranks = ranks[self._entries.read(entries.start, entries.stop)]
            yield batch_ranks[self._codes.read(codes.start, codes.stop)]

    def _read_ranks(self, run: range) -> np.ndarray:
        """Return the rank of each entry of a run among all distinct values."""
        ranks = self._entry_ranks.read(run.start, run.stop)
        if self._merged_ranks is not None:
            ranks = self._merged_ranks.read(run.start, run.stop)[ranks]
        return ranks

    def close(self) -> None:
        """Remove all files except those of the column."""
        for array in (self._codes, self._entries, self._entry_ranks, self._merged_ranks):
            if array is not None:
                array.close()


def merge_runs(
    column: FileColumn,
    runs: Sequence[range],
    files: TempFiles,
    *,
    memory: int,
    label: str,
    ranks: FileArray | None = None,
) -> FileColumn:
    """Merge the sorted runs of a column into its sorted distinct values.

    Parameters
    ----------
    column : FileColumn
    runs : list of range
    files : TempFiles
    memory : int
        Bytes for the values that are merged at once: ranges of all runs between two bounds.
    label : str
        Name of the column in messages.
    ranks : FileArray of int32, optional
        Receives the rank of each row of `column` among the distinct values.
    """
    check_free_disk(files.folder, column.nbytes + 4 * len(column))
    merged = FileColumn(files, column.type)
    value_bytes = column.nbytes // len(column) + 1
    runs = [run for run in runs if run]
    step = memory // (4 * len(runs) * (HASH_BYTES + 4 * value_bytes))
    step = max(step, MIN_SAMPLE_STEP)
    rows = itertools.chain.from_iterable(range(r.start + step - 1, r.stop, step) for r in runs)
    samples = sorted(map(column.item, rows))
    bounds = dict.fromkeys(samples[2 * len(runs) - 1 :: 2 * len(runs)])
    starts = [run.start for run in runs]
    for bound in [*bounds, None]:
        stops = [run.stop for run in runs]
        if bound is not None:
            stops = [
                bisect.bisect_right(range(stop), bound, start, key=column.item)
                for start, stop in zip(starts, stops, strict=True)
            ]
        ranges = [(low, high) for low, high in zip(starts, stops, strict=True) if low < high]
        if ranges:
            _merge_ranges(column, ranges, merged, ranks)
        check_vertex_count(len(merged), f"{label}: ")
        starts = stops
    return merged


def _merge_ranges(
    column: FileColumn,
    ranges: Sequence[tuple[int, int]],
    merged: FileColumn,
    ranks: FileArray | None,
) -> None:
    """Append the distinct values of row ranges, one of each run, to `merged`."""
    import pyarrow
    import pyarrow.compute as pc

    values = [column.read(start, stop) for start, stop in ranges]
    encoded = pyarrow.chunked_array(values).dictionary_encode()
    distinct, base = encoded.chunk(0).dictionary, len(merged)
    order = pc.array_sort_indices(distinct)
    merged.append(distinct.take(order))
    if ranks is not None:
        entry_ranks = np.empty(len(distinct), np.int32)
        entry_ranks[order.to_numpy()] = np.arange(base, base + len(distinct)).astype(np.int32)
        for (start, _), chunk in zip(ranges, encoded.chunks, strict=True):
            ranks.write(start, entry_ranks[chunk.indices.to_numpy()])


def encode_pairs(
    first: DictionaryEncoder,
    second: DictionaryEncoder,
    num_second: int,
    files: TempFiles,
    memory: int,
) -> DictionaryEncoder:
    """Encode the pairs of two columns' ranks, packed as ``first * num_second + second``."""
    import pyarrow

    pairs = DictionaryEncoder(files, memory)
    for ranks, second_ranks in zip(first.ids(), second.ids(), strict=True):
        pairs.add([pyarrow.array(ranks.astype(np.int64) * num_second + second_ranks)])
    return pairs
