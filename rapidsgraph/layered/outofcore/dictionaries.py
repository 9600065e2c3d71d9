"""Dictionary encoding of columns that are larger than memory.

Values are hashed batch by batch into a dictionary in memory. When its hash table would exceed the
memory for it, its values are written as a sorted run and an empty dictionary takes its place. At
the end the runs are merged into the sorted distinct values, and each run gets the rank of its
values. If one dictionary holds everything, there is one run and nothing to merge.

Reference: external merge sort, Knuth, The Art of Computer Programming 3, 5.4.1.
"""

import bisect
import itertools
from typing import NamedTuple

import numpy as np

from ... import frames
from ...errors import VertexTypeError
from ...graph.vertex_names import VertexNames, as_integers, check_present
from ...validation import check_vertex_count
from .bucket_sort import check_disk, release_free_memory

HASH_BYTES = 176  # of a hash table, per distinct value, while it grows; measured with pyarrow
WRITE_ROWS = 2**16  # rows gathered at once where a column is written in sorted order
MIN_SAMPLED_STEP = 16  # rows of a run between two samples, by which runs are cut into ranges


class StoredColumn:
    """A column of integers or text in files, read by row range.

    Parameters
    ----------
    scratch : Scratch
    type : pyarrow.DataType
        Binary stands for text, whose bytes have the order of its code points.

    Attributes
    ----------
    values : Flat
        Integers, or the bytes of all text.
    ends : Flat or None
        Of text, the byte at which each value ends, behind a zero.
    dtype : numpy.dtype or None
        In which `to_arrow` gives integers; None for that of the file.
    """

    def __init__(self, scratch, type):
        import pyarrow

        self.type, self.ends, self.dtype = type, None, None
        if pyarrow.types.is_integer(type):
            self.values = scratch.flat(type.to_pandas_dtype())
        else:
            self.values, self.ends = scratch.flat(np.uint8), scratch.flat(np.int64)
            self.ends.append(np.zeros(1, np.int64))

    def __len__(self):
        return self.values.size if self.ends is None else self.ends.size - 1

    @property
    def nbytes(self):
        offsets = 0 if self.ends is None else 8 * self.ends.size
        return self.values.size * self.values.dtype.itemsize + offsets

    @property
    def text_bytes(self):
        """Bytes of text, without offsets; 0 for integers."""
        return 0 if self.ends is None else self.values.size

    def append(self, array):
        """Write an Arrow array of the column's type behind the rows that are there."""
        if not len(array):
            return
        if self.ends is None:
            self.values.append(array.to_numpy())
            return
        offsets = np.frombuffer(array.buffers()[1], np.int64)
        offsets = offsets[array.offset : array.offset + len(array) + 1]
        before = self.values.size
        if array.buffers()[2] is not None:
            data = np.frombuffer(array.buffers()[2], np.uint8)
            self.values.append(data[offsets[0] : offsets[-1]])
        self.ends.append(offsets[1:] - offsets[0] + before)

    def read(self, start, stop):
        """The rows from `start` to `stop` as an Arrow array."""
        import pyarrow

        if self.ends is None:
            values = np.empty(stop - start, self.values.dtype)
            self.values.read(start, [values])
            return pyarrow.array(values)
        offsets = np.empty(stop - start + 1, np.int64)
        self.ends.read(start, [offsets])
        data = np.empty(int(offsets[-1] - offsets[0]), np.uint8)
        self.values.read(int(offsets[0]), [data])
        offsets -= offsets[0]
        buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
        return pyarrow.Array.from_buffers(self.type, offsets.size - 1, buffers)

    def position(self, value):
        """The row of `value` in a column that is sorted, or -1."""
        row = bisect.bisect_left(range(len(self)), value, key=self.item)
        return row if row < len(self) and self.item(row) == value else -1

    def release(self):
        """Drop the pages that `to_arrow` has mapped and that were read since."""
        for file in (self.values, self.ends):
            if file is not None:
                file.release()

    def item(self, row):
        """The value of a row: an int, or bytes of text."""
        return self.read(row, row + 1)[0].as_py()

    def take(self, rows):
        """A NumPy array of integers, or a list of str."""
        items = [self.item(int(row)) for row in rows]
        if self.ends is None:
            return np.array(items, self.values.dtype)
        return [item.decode() for item in items]

    def to_arrow(self):
        """The whole column as an Arrow array over its mapped files."""
        import pyarrow

        if self.ends is None:
            values = self.values.mapped()
            return pyarrow.array(values.astype(self.dtype or values.dtype, copy=False))
        buffers = [None, *(pyarrow.py_buffer(f.mapped()) for f in (self.ends, self.values))]
        return pyarrow.Array.from_buffers(pyarrow.large_string(), len(self), buffers)

    def close(self):
        for file in (self.values, self.ends):
            if file is not None:
                file.close()


class Run(NamedTuple):
    """A sorted run: rows [start, stop) of the column of all runs."""

    start: int
    stop: int


class _Batch(NamedTuple):
    """Rows that were added at once: where their codes and the entries that these refer to are."""

    run: int
    codes: int
    rows: int
    entries: int
    distinct: int


class DictionaryEncoder:
    """Distinct values of a column, sorted, and for each row the rank of its value among them.

    Parameters
    ----------
    scratch : Scratch
    memory : int
        Bytes for the dictionary and its hash table. A single batch may take more.
    """

    def __init__(self, scratch, memory):
        self.scratch, self.memory = scratch, memory
        self.codes, self.entries = scratch.flat(np.int32), scratch.flat(np.int32)
        self.ranks = scratch.flat(np.int32)  # of the entries of each run, within the run
        self.batches, self.runs, self.column = [], [], None
        self.dictionary, self.pending = None, []
        self.merged = None  # int32 file: rank of each row of the runs among all distinct values

    def add(self, arrays):
        """Encode Arrow arrays of one type, in this order, as one batch."""
        import pyarrow

        encoded = pyarrow.chunked_array(arrays).dictionary_encode()
        if self.dictionary is None:
            self.dictionary = pyarrow.array([], arrays[0].type)
            self.column = StoredColumn(self.scratch, arrays[0].type)
        chunks = [chunk for chunk in encoded.chunks if len(chunk)]
        distinct = chunks[0].dictionary if chunks else self.dictionary[:0]
        if self._hash_bytes(distinct) > self.memory:
            self._merge_pending()  # values that repeat no longer count
            if len(self.dictionary) and self._hash_bytes(distinct) > self.memory:
                self._flush()
        start = self.codes.size
        for chunk in chunks:
            self.codes.append(chunk.indices.to_numpy())
        self.pending.append((distinct, start, self.codes.size - start))
        if sum(len(each) for each, *_ in self.pending) > len(self.dictionary):
            self._merge_pending()

    def _hash_bytes(self, distinct):
        """An estimate of what a dictionary takes with the pending values and `distinct`."""
        arrays = [self.dictionary, distinct, *(each for each, *_ in self.pending)]
        return HASH_BYTES * sum(map(len, arrays)) + 2 * sum(each.nbytes for each in arrays)

    def _merge_pending(self):
        """Add the pending values to the dictionary; note which entry each of them is."""
        import pyarrow

        if not self.pending:
            return
        known = len(self.dictionary)
        arrays = [self.dictionary, *(distinct for distinct, *_ in self.pending)]
        if known or len(self.pending) > 1:
            encoded = pyarrow.chunked_array(arrays).dictionary_encode()
            chunks = iter([chunk for chunk in encoded.chunks if len(chunk)])
            first = next(chunks) if known else None
            dictionary = self.dictionary
        else:  # distinct already
            encoded, chunks, dictionary = None, None, arrays[1]
        for distinct, codes, rows in self.pending:
            start = self.entries.size
            if len(distinct) and encoded is not None:
                chunk = next(chunks)
                self.entries.append(chunk.indices.to_numpy())
                dictionary = chunk.dictionary
            elif len(distinct):
                self.entries.append(np.arange(len(distinct), dtype=np.int32))
            self.batches.append(_Batch(len(self.runs), codes, rows, start, len(distinct)))
        self.dictionary, self.pending = dictionary, []
        del encoded, chunks, arrays
        if known:
            del first
        release_free_memory()

    def _flush(self):
        """Write the dictionary as a sorted run and start an empty one."""
        import pyarrow
        import pyarrow.compute as pc

        self._merge_pending()
        check_disk(self.scratch.folder, 2 * self.dictionary.nbytes)
        start, count = len(self.column), len(self.dictionary)
        order = pc.array_sort_indices(self.dictionary)
        for row in range(0, count, WRITE_ROWS):
            self.column.append(self.dictionary.take(order[row : row + WRITE_ROWS]))
        ranks = np.empty(count, np.int32)
        ranks[order.to_numpy()] = np.arange(count, dtype=np.int32)
        self.ranks.append(ranks)
        self.runs.append(Run(start, start + count))
        self.dictionary = pyarrow.array([], self.column.type)
        del order, ranks
        release_free_memory()

    def finish(self, label):
        """The StoredColumn of the distinct values, sorted.

        Parameters
        ----------
        label : str
            Of the column, for messages.
        """
        self._flush()
        self.dictionary = None
        if len(self.runs) > 1:
            self.merged = self.scratch.flat(np.int32)
            runs = self.column
            self.column = merge_runs(runs, self.runs, self.scratch, self.memory, label, self.merged)
            runs.close()
        check_vertex_count(len(self.column), f"{label}: ")
        return self.column

    def ids(self):
        """For each batch, in the order of `add`, an int32 array with the rank of each row."""
        current, ranks = None, None
        for batch in self.batches:
            if batch.run != current:
                ranks = None
                current, ranks = batch.run, self._ranks(self.runs[batch.run])
            entries, codes = np.empty(batch.distinct, np.int32), np.empty(batch.rows, np.int32)
            self.entries.read(batch.entries, [entries])
            self.codes.read(batch.codes, [codes])
            yield ranks[entries][codes]

    def _ranks(self, run):
        """The rank of each entry of a run among all distinct values."""
        ranks = np.empty(run.stop - run.start, np.int32)
        self.ranks.read(run.start, [ranks])
        if self.merged is not None:
            of_rows = np.empty_like(ranks)
            self.merged.read(run.start, [of_rows])
            ranks = of_rows[ranks]
        return ranks

    def close(self):
        """Remove all files but those of the column."""
        for file in (self.codes, self.entries, self.ranks, self.merged):
            if file is not None:
                file.close()


def merge_runs(column, runs, scratch, memory, label, ranks=None):
    """The sorted distinct values of the sorted runs of a column.

    Parameters
    ----------
    column : StoredColumn
    runs : list of Run
    scratch : Scratch
    memory : int
        Bytes for what is merged at a time: ranges of all runs between the same two values.
    label : str
        Of the column, for messages.
    ranks : Flat of int32, optional
        Gets the rank of each row of `column` among the distinct values.

    Returns
    -------
    StoredColumn
    """
    check_disk(scratch.folder, column.nbytes + 4 * len(column))
    merged = StoredColumn(scratch, column.type)
    value_bytes = column.nbytes // len(column) + 1
    runs = [run for run in runs if run.start < run.stop]
    step = memory // (4 * len(runs) * (HASH_BYTES + 4 * value_bytes))
    step = max(step, MIN_SAMPLED_STEP)
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
        ranges = [each for each in zip(starts, stops, strict=True) if each[0] < each[1]]
        if ranges:
            _merge_ranges(column, ranges, merged, ranks)
        check_vertex_count(len(merged), f"{label}: ")
        starts = stops
    return merged


def _merge_ranges(column, ranges, merged, ranks):
    """Append the distinct values of row ranges, one of each run, to `merged`."""
    import pyarrow
    import pyarrow.compute as pc

    values = [column.read(start, stop) for start, stop in ranges]
    encoded = pyarrow.chunked_array(values).dictionary_encode()
    distinct, base = encoded.chunk(0).dictionary, len(merged)
    order = pc.array_sort_indices(distinct)
    merged.append(distinct.take(order))
    if ranks is not None:
        of_distinct = np.empty(len(distinct), np.int32)
        of_distinct[order.to_numpy()] = np.arange(base, base + len(distinct)).astype(np.int32)
        for (start, _), chunk in zip(ranges, encoded.chunks, strict=True):
            ranks.write(start, of_distinct[chunk.indices.to_numpy()])


def encode_pairs(first, second, count, scratch, memory):
    """Encode the pairs of two encoders' ranks, packed as first * count + second."""
    import pyarrow

    pairs = DictionaryEncoder(scratch, memory)
    for one, other in zip(first.ids(), second.ids(), strict=True):
        pairs.add([pyarrow.array(one.astype(np.int64) * count + other)])
    return pairs


class StoredNames(VertexNames):
    """VertexNames whose columns are in files; looks up a few names by binary search.

    Parameters
    ----------
    labels : list of str
    parts, pairs : lists of StoredColumn
    dtypes : list of numpy.dtype or None
        Of the integer columns as the caller gave them.
    """

    def __init__(self, labels, parts, pairs, dtypes):
        super().__init__(labels, parts, len((pairs or parts)[-1]), pairs)
        self.dtypes = dtypes
        for part, dtype in zip(parts, dtypes, strict=True):
            part.dtype = dtype

    @property
    def text_bytes(self):
        return sum(part.text_bytes for part in self.parts)

    @property
    def stored_bytes(self):
        """Bytes of the names in an opened store."""
        return sum(column.nbytes for column in itertools.chain(self.parts, self.pairs))

    def release(self):
        """Drop the pages of mapped columns that were read."""
        for column in itertools.chain(self.parts, self.pairs):
            column.release()

    def columns(self, xp, ids=None):
        import pandas

        place, columns = np.arange(self.count) if ids is None else ids, []
        for part, packed in zip(self.parts[:0:-1], self.pairs[::-1]):
            pairs = packed.take(place)
            place, within = pairs // len(part), pairs % len(part)
            columns.append(part.take(within))
        columns.append(self.parts[0].take(place))
        columns = [
            pandas.Series(values) if dtype is None else values.astype(dtype)
            for values, dtype in zip(columns[::-1], self.dtypes)
        ]
        return dict(zip(self.labels, columns))

    def _look_up(self, columns, xp, what):
        ids = np.empty(len(columns[0]), np.int64)
        keys = [self._keys(*each, what) for each in zip(self.parts, columns, self.labels)]
        for row, values in enumerate(zip(*keys)):
            ids[row] = place = self.parts[0].position(values[0])
            for part, packed, value in zip(self.parts[1:], self.pairs, values[1:]):
                within = part.position(value)
                known = place >= 0 and within >= 0
                place = packed.position(place * len(part) + within) if known else -1
            ids[row] = place
        return ids

    def _keys(self, part, values, label, what):
        """The values of a column as `StoredColumn.position` takes them."""
        label = None if len(self.parts) == 1 else label
        where = f"{{parameter}}: {label}" if label else "{parameter}"
        check_present(values, f"{where} has no value", parameter=what)
        if part.ends is None:
            return as_integers(values, where, parameter=what).tolist()
        if isinstance(values, np.ndarray):
            raise VertexTypeError(
                f"{where}: vertices are named by text, and a number was given",
                expected="text",
                parameter=what,
                column=label,
            )
        return [value.encode() for value in frames.moved(values, np).tolist()]
