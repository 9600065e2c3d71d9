"""Names of vertices out of core: what is distinct, batch by batch, then ids of each row.

Means: the VertexNames that Graph makes of the whole columns, and the same ids.
Requires: the names of one column of integers fit in memory once they are distinct, 8 bytes each.
  Text, and names of several columns, stay on the disk (dictionaries.py).
"""
# Ids of integer names in batches.
#
# Means: what VertexNames.ids says, with what it takes to look up made once and not for every batch.
# Requires: names that are all there, because they were all collected before.

import itertools

import numpy as np

from ... import device
from ...errors import GraphError
from ...graph.vertex_names import VertexNames, as_integers, check_present, name_vertices
from ...validation import check_vertex_count
from . import kernels
from .bucket_sort import check_disk, run
from .dictionaries import (
    HASH_BYTES,
    DictionaryEncoder,
    Run,
    StoredColumn,
    StoredNames,
    encode_pairs,
    merge_runs,
)

DISTINCT_BYTES = 32  # to sort and merge distinct integers, per integer
MIN_ENCODED_ROWS = 1024


class Names:
    """The distinct names of batches.

    Parameters
    ----------
    labels : list of str
        As VertexNames.
    memory : int
        Bytes for distinct names; what exceeds it is written to the disk.
    scratch : Scratch
    """

    def __init__(self, labels, memory, scratch):
        self.labels, self.memory, self.scratch = labels, memory, scratch
        self.empty, self.has_rows = None, False
        self.integers, self.encoders, self.dtypes = None, None, []
        self.num_edge_batches = 0  # that the encoders got before further vertices

    def add(self, sources, destinations):
        """Take note of the names in some rows."""
        if not self.has_rows:
            # Types are the same in all batches, so what does not fit is told by the first.
            few = [[_few(values) for values in end] for end in (sources, destinations)]
            name_vertices(*few, None, self.labels, np)
            self.has_rows = bool(len(sources[0]))
            self.empty = None if self.has_rows else few
            self.dtypes = [
                _common(a, b, label)
                for a, b, label in zip(sources, destinations, self.labels, strict=True)
            ]
        if not len(sources[0]):
            return
        ends = self._alike(sources, destinations)
        if len(self.labels) == 1 and self.dtypes[0] is not None:
            self.integers = self.integers or _Integers(self.memory, self.scratch, self.dtypes[0])
            self.integers.add(*ends)
        else:
            self._encode(*ends)

    def _encode(self, sources, destinations):
        """Encode rows, as many at once as take an eighth of the memory."""
        if self.encoders is None:
            memory = self.memory // len(self.labels)
            self.encoders = [DictionaryEncoder(self.scratch, memory) for _ in self.labels]
        ends = [[_stored(values) for values in columns] for columns in (sources, destinations)]
        rows = len(ends[0][0])
        row_bytes = 2 * sum(array.nbytes for columns in ends for array in columns) // rows
        row_bytes += 2 * HASH_BYTES * len(self.labels)
        size = max(self.memory // 8 // row_bytes, MIN_ENCODED_ROWS)
        for start in range(0, rows, size):
            for encoder, *columns in zip(self.encoders, *ends, strict=True):
                encoder.add([array.slice(start, size) for array in columns])
            self.num_edge_batches += 1

    def add_vertices(self, columns):
        """Add names of vertices that need no edge: one array or Series a label, after all edges.

        A range keeps the type of the integers that are there, if it fits.
        """
        if not len(columns[0]):
            return
        if isinstance(columns[0], range):
            columns = [self._typed(columns[0])]
        if self.has_rows:
            known = zip(columns, self.dtypes, self.labels, strict=True)
            columns, dtypes = zip(*(_alike_types(*each) for each in known), strict=True)
            self.dtypes = list(dtypes)
            if self.integers is not None:
                self.integers.dtype = self.dtypes[0]
        num_edge_batches = self.num_edge_batches
        self.add(columns, columns)
        self.num_edge_batches = num_edge_batches

    def _typed(self, ids):
        """A range as an array in the type of the names, or of int64 where it does not fit."""
        dtype = self.dtypes[0] if self.has_rows else None
        fits = dtype is not None and ids.stop <= np.iinfo(dtype).max + 1
        return np.arange(ids.start, ids.stop, dtype=dtype if fits else np.int64)

    def _alike(self, sources, destinations):
        """Both ends, integers in the type that is to name vertices."""
        return [
            [
                values if dtype is None else _converted(values, dtype, label)
                for values, dtype, label in zip(end, self.dtypes, self.labels, strict=True)
            ]
            for end in (sources, destinations)
        ]

    def named(self, check):
        """The VertexNames, once `check` (count, bytes of stored names) has let them pass."""
        if self.integers is not None:
            return self.integers.named(self.labels, check)
        if self.encoders is None:
            names, *_ = name_vertices(*self.empty, None, self.labels, np)
            check(0, 0)
            return names
        parts = [e.finish(label) for e, label in zip(self.encoders, self.labels, strict=True)]
        pairs, encoded = [], self.encoders[0]
        for encoder, part in zip(self.encoders[1:], parts[1:], strict=True):
            merged = encode_pairs(encoded, encoder, len(part), self.scratch, self.memory)
            pairs.append(merged.finish(", ".join(self.labels)))
            encoded.close()
            encoder.close()
            encoded = merged
        self.encoders = [encoded]
        names = StoredNames(self.labels, parts, pairs, self.dtypes)
        check(names.count, names.stored_bytes)
        return names

    @property
    def is_encoded(self):
        """Whether `ids` gives the ids of all rows, so that the names are not read again."""
        return self.encoders is not None

    def ids(self):
        """The int32 ids of sources and of destinations, in pieces, in the order of `add`."""
        for both in itertools.islice(self.encoders[0].ids(), self.num_edge_batches):
            yield both[: both.size // 2], both[both.size // 2 :]

    def close(self):
        """Remove what `ids` reads; the names stay."""
        for encoder in self.encoders or ():
            encoder.close()

    def look_up_in(self, names):
        """A function from the columns of a batch to int32 ids of sources and of destinations."""
        look_up = IntegerIds(names)
        return lambda *ends: [look_up(values) for (values,) in self._alike(*ends)]


def _stored(values):
    """A column as the Arrow array that is encoded: 64-bit integers, or text as bytes."""
    import pyarrow

    if isinstance(values, np.ndarray):
        wide = np.uint64 if values.dtype == np.uint64 else np.int64
        return pyarrow.array(values.astype(wide, copy=False))
    if not len(values):
        return pyarrow.array([], pyarrow.large_binary())
    values = pyarrow.array(values, from_pandas=True)
    if isinstance(values, pyarrow.ChunkedArray):
        chunks = [chunk for chunk in values.chunks if len(chunk)]
        values = chunks[0] if len(chunks) == 1 else pyarrow.concat_arrays(chunks)
    if pyarrow.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values.cast(pyarrow.large_string()).cast(pyarrow.large_binary())


def _few(values):
    return values[:1024] if isinstance(values, np.ndarray) else values.head(1024)


def _common(source, destination, label):
    """The dtype of an integer column of names in Graph, None of text."""
    if not all(isinstance(values, np.ndarray) for values in (source, destination)):
        return None
    dtype = np.result_type(source, destination)
    return dtype if dtype.kind in "iu" else np.dtype(np.int64)


def _alike_types(values, dtype, label):
    """(further names, dtype of all names): as Graph has it, None for text."""
    if isinstance(values, np.ndarray) != (dtype is not None):
        raise GraphError(
            f"{label} names are text in one column and numbers in another; convert one of them"
        )
    if dtype is None:
        return values, None
    if values.dtype.kind not in "iu":
        name_vertices([values], [values], None, [label], np)  # raises
    if (values.dtype == np.uint64) == (dtype == np.uint64):
        return values, np.result_type(values, dtype)
    is_unsigned = dtype == np.uint64
    if int(values.min()) < 0 if is_unsigned else int(values.max()) >= 2**63:
        raise GraphError(f"{label} names are beyond 2^63 in one column and signed in another")
    dtype = np.dtype(np.uint64 if is_unsigned else np.int64)
    return values.astype(dtype), dtype


def _converted(values, dtype, label):
    mixed = values.dtype == np.uint64 and dtype == np.int64 and len(values)
    if mixed and int(values.max()) >= 2**63:
        raise GraphError(f"{label} names are beyond 2^63 in one column and signed in another")
    return values.astype(dtype, copy=False)


class _Integers:
    """Distinct integers: a table of those that there are, or a sorted array where they lie wide.

    A sorted array that would exceed the memory is written as a run, and merged at the end.
    """

    def __init__(self, memory, scratch, dtype):
        self.memory, self.scratch, self.dtype = memory, scratch, dtype
        self.wide = np.dtype(np.int64 if dtype != np.uint64 else np.uint64)
        self.low, self.present = 0, np.zeros(0, bool)
        self.sorted, self.pending, self.waiting = None, [], 0
        self.column, self.runs = None, []

    def add(self, sources, destinations):
        for (values,) in (sources, destinations):
            self._add(values)

    def _add(self, values):
        values = values.astype(self.wide, copy=False)
        if self.sorted is None and self._reach(int(values.min()), int(values.max())):
            device.launch(
                "build", "mark", size=values.size,
                count=values.size, names=values, low=self.low, present=self.present,
            )  # fmt: skip
            return
        if self.sorted is None:
            self._leave_table()
        size = max(self.memory // 4 // DISTINCT_BYTES, MIN_ENCODED_ROWS)
        for start in range(0, values.size, size):
            distinct = _distinct(values[start : start + size].copy())
            known = self.sorted.size + self.waiting
            if known and (known + distinct.size) * DISTINCT_BYTES > self.memory:
                self._merge()
                if (self.sorted.size + distinct.size) * DISTINCT_BYTES > self.memory:
                    self._flush(self.sorted)
                    self.sorted = self.sorted[:0].copy()
            self.pending.append(distinct)
            self.waiting += distinct.size
            if self.waiting > self.sorted.size // 2:
                self._merge()

    def _leave_table(self):
        """Go on with a sorted array, where integers lie too far apart for a table."""
        if np.count_nonzero(self.present) * DISTINCT_BYTES > self.memory // 2:
            step = max(self.memory // 64, 1)
            for start in range(0, self.present.size, step):
                self._flush(self._listed(start, start + step), start > 0)
            self.sorted = np.empty(0, self.wide)
        else:
            self.sorted = self._listed(0, self.present.size)
        self.present = None

    def _listed(self, start, stop):
        """The integers that a part of the table says there are."""
        return np.flatnonzero(self.present[start:stop]).astype(self.wide) + self.wide.type(
            self.low + start
        )

    def _flush(self, values, extends=False):
        """Write sorted integers as a run, or behind the last one."""
        import pyarrow

        check_disk(self.scratch.folder, 2 * values.nbytes)
        if self.column is None:
            self.column = StoredColumn(self.scratch, pyarrow.from_numpy_dtype(self.wide))
        start = self.runs.pop().start if extends else len(self.column)
        self.column.append(pyarrow.array(values))
        self.runs.append(Run(start, len(self.column)))

    def _merge(self):
        self.sorted = _distinct(np.concatenate([self.sorted, *self.pending]))
        self.pending, self.waiting = [], 0

    def _reach(self, low, high):
        """Make the table wide enough, if it may be."""
        old = self.low, self.low + self.present.size - 1
        if not self.present.size:
            old = low, low - 1
        if high >= 2**63:
            return False
        new = min(low, old[0]), max(high, old[1])
        if new == old and self.present.size:
            return True
        span = new[1] - new[0] + 1
        most = self.memory // 2  # one table is copied into the next
        if span > most:
            return False
        if self.present.size:  # more at once, so that it is not moved for every batch
            spare = min(most - span, span // 2)
            low_spare = spare if low < old[0] and new[0] - spare >= -(2**62) else 0
            new = new[0] - low_spare, new[1] + (spare - low_spare)
        present = np.zeros(new[1] - new[0] + 1, bool)
        present[old[0] - new[0] : old[0] - new[0] + self.present.size] = self.present
        self.low, self.present = new[0], present
        return True

    def named(self, labels, check):
        """The VertexNames, once `check` (count, bytes of stored names) has let them pass."""
        if self.sorted is None:
            count, size = int(np.count_nonzero(self.present)), self.present.size
            check_vertex_count(count, f"{labels[0]}: ")
            first = int(self.present.argmax()) + self.low
            last = size - 1 - int(self.present[::-1].argmax()) + self.low
            is_compact = not first and count == last + 1
            check(count, 0 if is_compact else 8 * count)
            part = None if is_compact else np.flatnonzero(self.present)
            self.present = None
            if part is not None:
                part += self.low
            return self._of(labels, part, count)
        self._merge()
        if self.runs:
            self._flush(self.sorted)
            self.sorted = None
            stored = merge_runs(self.column, self.runs, self.scratch, self.memory, labels[0])
            self.column.close()
            check(len(stored), 8 * len(stored))
            part = stored.read(0, len(stored)).to_numpy()
            stored.close()
        else:
            part = self.sorted
        check_vertex_count(part.size, f"{labels[0]}: ")
        check(part.size, 8 * part.size)
        is_compact = int(part[0]) == 0 and int(part[-1]) == part.size - 1
        return self._of(labels, None if is_compact else part, part.size)

    def _of(self, labels, part, count):
        part = part if part is None else part.astype(self.dtype, copy=False)
        return IntegerNames(labels, [part], count, dtype=self.dtype)


class IntegerNames(VertexNames):
    """VertexNames of one integer column; looks up a few names by binary search, without a hash."""

    @property
    def stored_bytes(self):
        return 0 if self.parts[0] is None else self.parts[0].nbytes

    def _look_up(self, columns, xp, what):
        (part,) = self.parts
        if part is None or not len(columns[0]):
            return super()._look_up(columns, xp, what)
        check_present(columns[0], "{parameter} has no value", parameter=what)
        values = as_integers(columns[0], "{parameter}", parameter=what).tolist()
        return np.array([_place_in(part, value) for value in values], np.int64)


def _place_in(ascending, value):
    """The place of a Python int in an ascending array, or -1."""
    bounds = np.iinfo(ascending.dtype)
    if not bounds.min <= value <= bounds.max:
        return -1
    value = ascending.dtype.type(value)
    place = int(np.searchsorted(ascending, value))
    return place if place < ascending.size and ascending[place] == value else -1


def _distinct(values):
    """The distinct of `values`, sorted; works in place."""
    values.sort()
    kept = np.empty(values.size, bool)
    kept[:1] = True
    np.not_equal(values[1:], values[:-1], out=kept[1:])
    return values[kept]


BUCKETS = 2**16  # whose bounds are searched at once


def check_found(sound):
    """Raise GraphError where the second pass over a file differs from the first."""
    if not sound:
        raise GraphError("the file was changed while it was read; try again")


class IntegerIds:
    """Integer names to ids, by a table over the highest bits of what they are above the least."""

    def __init__(self, names):
        self.count, (part,) = names.count, names.parts
        self.names = None
        if part is not None:
            wide = np.uint64 if part.dtype == np.uint64 else np.int64
            self.names = part.astype(wide, copy=False).view(np.uint64)
            self.low = self.names[0]
            span = (int(self.names[-1]) - int(self.low)) % 2**64
            shift = max((span // max(2 * self.count, 1024)).bit_length(), 0)
            self.shift = np.uint64(shift)
            above = self.names - self.low
            self.starts = np.empty((span >> shift) + 2, np.int32)
            for start in range(0, self.starts.size, BUCKETS):
                stop = min(start + BUCKETS, self.starts.size)
                buckets = np.arange(start, stop, dtype=np.uint64) << self.shift
                self.starts[start:stop] = np.searchsorted(above, buckets)
            self.starts[-1] = self.count  # of the last bucket, whose end may be beyond 64 bits

    def __call__(self, values):
        if self.names is None:
            ids = values.astype(np.int32, copy=False)
            sound = not values.size or (values.min() >= 0 and values.max() < self.count)
        else:
            wide = np.uint64 if values.dtype == np.uint64 else np.int64
            values = values.astype(wide, copy=False).view(np.uint64)
            ids = np.empty(values.size, np.int32)
            run(kernels.look_up, values, self.low, self.shift, self.starts, self.names, ids)
            sound = not ids.size or ids.min() >= 0
        check_found(sound)
        return ids
