"""Names of vertices out of core: what is distinct, batch by batch, then ids of each batch.

Means: the VertexNames that Graph makes of the whole columns, and the same ids.
Requires: the distinct names fit in memory.
"""

import numpy as np

from .. import device, frames
from ..errors import GraphError
from ..names import MOST_VERTICES, VertexNames, name_vertices
from .looking_up import as_text, look_up_by


class Names:
    """The distinct names of batches.

    Parameters
    ----------
    labels : list of str
        As VertexNames.
    room : int
        Bytes for a table that says which integers there are.
    """

    def __init__(self, labels, room):
        self.labels, self.room = labels, room
        self.first, self.distinct, self.dtypes = None, None, []

    def add(self, sources, destinations):
        """Take note of the names in some rows."""
        if self.first is None or not len(self.first[0][0]):
            # Types are the same in all batches, so what does not fit is told by the first.
            few = [[_few(values) for values in end] for end in (sources, destinations)]
            name_vertices(*few, None, self.labels, np)
            self.first = few
            self.dtypes = [
                _common(a, b, label)
                for a, b, label in zip(sources, destinations, self.labels, strict=True)
            ]
            integers = self.dtypes[0] is not None
            one = _Integers(self.room) if integers else _Text()
            self.distinct = one if len(self.labels) == 1 else _Rows()
        if len(sources[0]):
            self.distinct.add(*self._alike(sources, destinations))

    def _alike(self, sources, destinations):
        """Both ends, integers in the type that is to name vertices."""
        return [
            [
                values if dtype is None else _converted(values, dtype, label)
                for values, dtype, label in zip(end, self.dtypes, self.labels, strict=True)
            ]
            for end in (sources, destinations)
        ]

    @property
    def nbytes(self):
        return 0 if self.distinct is None else self.distinct.nbytes

    def named(self):
        """(VertexNames, a function from a batch's columns to two int32 arrays of ids)."""
        if not len(self.first[0][0]):
            names, *_ = name_vertices(*self.first, None, self.labels, np)
        elif isinstance(self.distinct, _Integers):
            names = self.distinct.named(self.labels, self.dtypes[0])
        else:
            columns = self.distinct.columns()
            names, *_ = name_vertices(columns, [c[:0] for c in columns], None, self.labels, np)
        self.distinct = None
        look_up = look_up_by(names)
        return names, lambda *ends: [look_up(columns) for columns in self._alike(*ends)]


def _few(values):
    return values[:1024] if isinstance(values, np.ndarray) else values.head(1024)


def _common(source, destination, label):
    """The dtype of an integer column of names in Graph, None of text."""
    if not all(isinstance(values, np.ndarray) for values in (source, destination)):
        return None
    dtype = np.result_type(source, destination)
    return dtype if dtype.kind in "iu" else np.dtype(np.int64)


def _converted(values, dtype, label):
    mixed = values.dtype == np.uint64 and dtype == np.int64 and len(values)
    if mixed and int(values.max()) >= 2**63:
        raise GraphError(f"{label} names are beyond 2^63 in one column and signed in another")
    return values.astype(dtype, copy=False)


class _Integers:
    """Distinct integers: a table of those that there are, or a sorted array where they lie wide."""

    def __init__(self, room):
        self.room, self.low, self.present = room, 0, np.zeros(0, bool)
        self.sorted, self.pending, self.waiting = None, [], 0

    @property
    def nbytes(self):
        if self.sorted is None:
            return self.present.nbytes
        return self.sorted.nbytes + self.waiting * self.sorted.itemsize

    def add(self, sources, destinations):
        for (values,) in (sources, destinations):
            self._add(values)

    def _add(self, values):
        wide = np.int64 if values.dtype != np.uint64 else np.uint64
        values = values.astype(wide, copy=False)
        if self.sorted is None and self._reach(int(values.min()), int(values.max())):
            device.launch(
                "build", "mark", values.size, values, self.low, self.present, size=values.size
            )
            return
        if self.sorted is None:
            self.sorted = np.flatnonzero(self.present).astype(wide) + wide(self.low)
            self.present = None
        values = _distinct(values.copy())
        self.pending.append(values)
        self.waiting += values.size
        if self.waiting > self.sorted.size // 2:
            self._merge()

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
        if span > self.room:
            return False
        if self.present.size:  # more at once, so that it is not moved for every batch
            spare = min(self.room - span, span // 2)
            low_spare = spare if low < old[0] and new[0] - spare >= -(2**62) else 0
            new = new[0] - low_spare, new[1] + (spare - low_spare)
        present = np.zeros(new[1] - new[0] + 1, bool)
        present[old[0] - new[0] : old[0] - new[0] + self.present.size] = self.present
        self.low, self.present = new[0], present
        return True

    def named(self, labels, dtype):
        if self.sorted is None:
            count, size = int(np.count_nonzero(self.present)), self.present.size
            first = int(self.present.argmax()) + self.low
            last = size - 1 - int(self.present[::-1].argmax()) + self.low
            part = None
            if first or count != last + 1:
                part = np.flatnonzero(self.present)
                part += self.low
        else:
            self._merge()
            part, count = self.sorted, self.sorted.size
            part = None if int(part[0]) == 0 and int(part[-1]) == count - 1 else part
        if count > MOST_VERTICES:
            raise GraphError(f"{count} vertices; {MOST_VERTICES} is the most")
        part = part if part is None else part.astype(dtype, copy=False)
        return VertexNames(labels, [part], count, dtype=np.dtype(dtype))


def _distinct(values):
    """The distinct of `values`, sorted; works in place."""
    values.sort()
    kept = np.empty(values.size, bool)
    kept[:1] = True
    np.not_equal(values[1:], values[:-1], out=kept[1:])
    return values[kept]


class _Text:
    """Distinct text."""

    def __init__(self):
        self.found, self.pending, self.waiting = as_text([]), [], 0

    @property
    def nbytes(self):
        return sum(each.nbytes for each in (self.found, *self.pending))

    def add(self, *ends):
        for (values,) in ends:
            self.pending.append(as_text(values).unique())
            self.waiting += len(self.pending[-1])
        if self.waiting > len(self.found):
            self._merge()

    def _merge(self):
        import pyarrow

        self.found = pyarrow.chunked_array([self.found, *self.pending]).unique()
        self.pending, self.waiting = [], 0

    def columns(self):
        self._merge()
        return [frames.column({"names": self.found.to_pandas()}, "names", "vertex")]


class _Rows:
    """Distinct rows of several columns."""

    def __init__(self):
        self.found, self.pending, self.waiting = None, [], 0

    @property
    def nbytes(self):
        known = [] if self.found is None else [self.found]
        return sum(int(f.memory_usage(deep=True).sum()) for f in [*known, *self.pending])

    def add(self, *ends):
        import pandas

        for columns in ends:
            frame = pandas.DataFrame(dict(enumerate(columns)), copy=False).drop_duplicates()
            self.pending.append(frame)
            self.waiting += len(frame)
        if self.found is None or self.waiting > len(self.found):
            self._merge()

    def _merge(self):
        import pandas

        found = [] if self.found is None else [self.found]
        self.found = pandas.concat([*found, *self.pending]).drop_duplicates(ignore_index=True)
        self.pending, self.waiting = [], 0

    def columns(self):
        self._merge()
        return [frames.column(self.found, place, "vertex") for place in self.found]
