"""Vertex names <-> ids 0..n-1, in the order of the names.

Means: ids are places in the sorted, distinct names, so rows by id are rows by name.
Requires: columns from frames.column: integer arrays, or text Series, one device for all.
Integers that already are 0..n-1 are their own ids. Integers in a range not much wider than the
number of rows are looked up in a table over that range; other integers and text go through
distinct, sort and join. Names of several columns are named column by column, and the tuples of
ids then are integers again.
"""

import numpy as np

from . import device, frames
from .errors import GraphError

MOST_VERTICES = 2**31 - 1


class VertexNames:
    """What the vertices are called.

    Parameters
    ----------
    labels : list of str
        Names of the name columns in result frames.
    parts : list of array or Series
        For each column its distinct values, sorted. None where names are 0..count-1.
    codes : integer array, shape (count,), or None
        With several columns, the sorted distinct tuples, packed.
    dtype : numpy.dtype
        Of integer names as the caller gave them.
    """

    def __init__(self, labels, parts, count, codes=None, dtype=None):
        self.labels, self.parts, self.count = labels, parts, count
        self.codes, self.dtype = codes, dtype

    def columns(self, xp):
        """{label: values} with one value a vertex, by id."""
        if self.parts[0] is None:
            return {self.labels[0]: xp.arange(self.count, dtype=self.dtype)}
        if self.codes is None:
            values = self.parts[0]
            return {self.labels[0]: values.astype(self.dtype) if self.dtype else values}
        columns, codes = {}, self.codes
        for label, part in zip(reversed(self.labels), reversed(self.parts)):
            place, codes = codes % len(part), codes // len(part)
            taken = part[place] if isinstance(part, xp.ndarray) else part.take(place)
            columns[label] = taken if isinstance(part, xp.ndarray) else taken.reset_index(drop=True)
        return dict(reversed(columns.items()))

    def ids(self, columns, xp, what):
        """Ids of named vertices; columns as from frames.column, one array or Series a label.

        Raises
        ------
        GraphError
            A vertex that is not in the graph; names the first.
        """
        ids = self._look_up(columns, xp)
        absent = ids < 0
        if bool(absent.any()):
            row = int(absent.argmax())
            name = tuple(_item(values, row) for values in columns)
            name = name[0] if len(name) == 1 else name
            raise GraphError(f"{what}: vertex {name!r} is not in the graph")
        return ids.astype(xp.int32)

    def _look_up(self, columns, xp):
        if self.parts[0] is None:
            values = _as_numbers(columns[0], self.labels[0])
            return xp.where((values >= 0) & (values < self.count), values, -1).astype(xp.int64)
        codes = None
        for part, values in zip(self.parts, columns):
            place = _positions(values, part, xp)
            packed = place if codes is None else codes * len(part) + place
            codes = packed if codes is None else xp.where((codes < 0) | (place < 0), -1, packed)
        return codes if self.codes is None else frames.number_positions(codes, self.codes, xp)


def name_vertices(sources, destinations, vertices, labels, xp):
    """Name the vertices of an edge list.

    Parameters
    ----------
    sources, destinations : lists of arrays or Series
        One or more columns each, all of one length.
    vertices : range, list of arrays or Series, or None
        More names; a range for all integers below its end.
    labels : list of str

    Returns
    -------
    names : VertexNames
    source, destination : int32 arrays
    """
    if len(sources) > 1:
        return _name_tuples(sources, destinations, vertices, labels, xp)
    extra = [] if vertices is None else [vertices] if isinstance(vertices, range) else vertices
    part, dtype, count, ids = _name_column([sources[0], destinations[0], *extra], labels[0], xp)
    return VertexNames(labels, [part], count, dtype=dtype), ids[0], ids[1]


def _name_tuples(sources, destinations, vertices, labels, xp):
    extra = vertices or [None] * len(sources)
    parts, codes = [], None
    for label, *columns in zip(labels, sources, destinations, extra):
        columns = [values for values in columns if values is not None]
        part, dtype, count, ids = _name_column(columns, label, xp)
        parts.append(xp.arange(count, dtype=dtype) if part is None else part)
        if codes is None:
            codes = [place.astype(xp.int64) for place in ids]
            continue
        codes = [code * count + place for code, place in zip(codes, ids)]
    distinct = frames.distinct_numbers(codes, xp)
    ids = [frames.number_positions(code, distinct, xp).astype(xp.int32) for code in codes]
    return VertexNames(labels, parts, distinct.size, codes=distinct), ids[0], ids[1]


def _name_column(columns, label, xp):
    """(sorted names or None, dtype, count, int32 ids of each column but a range)."""
    arrays = [values for values in columns if not isinstance(values, range)]
    are_numbers = [isinstance(values, xp.ndarray) for values in arrays]
    if not all(are_numbers):
        if any(are_numbers) or len(arrays) < len(columns):
            raise GraphError(
                f"{label} names are text in one column and numbers in another; convert one of them"
            )
        names = frames.distinct_text(arrays)
        return (
            names,
            None,
            _count(len(names)),
            [frames.text_positions(values, names).astype(xp.int32) for values in arrays],
        )
    arrays = [_as_numbers(values, label) for values in arrays]
    dtype = np.result_type(*arrays)
    if dtype.kind == "f":  # int64 beside uint64: what fits both, if anything does
        if any(
            values.dtype.kind == "u" and values.size and int(values.max()) >= 2**63
            for values in arrays
        ):
            raise GraphError(f"{label} names are beyond 2^63 in one column and signed in another")
        dtype = np.dtype(np.int64)
    wide = np.uint64 if dtype == np.uint64 else np.int64 if dtype.itemsize > 4 else np.int32
    if dtype == np.uint32:
        wide = np.int64
    arrays = [values.astype(wide, copy=False) for values in arrays]
    return _name_numbers(arrays, [r for r in columns if isinstance(r, range)], dtype, xp)


def _name_numbers(arrays, ranges, dtype, xp):
    filled = [values for values in arrays if values.size]
    low = min((int(values.min()) for values in filled), default=0)
    high = max((int(values.max()) for values in filled), default=-1)
    rows = sum(values.size for values in arrays)
    if ranges:
        end = len(ranges[0])
        if low < 0 or high >= end:
            outside = low if low < 0 else high
            raise GraphError(f"vertices are range({end}), and an edge names {outside}")
        return None, dtype, _count(end), [_narrow(values, xp) for values in arrays]
    span = high - low + 1
    if span > 4 * rows + 1024 or high >= 2**63:
        names = frames.distinct_numbers(arrays, xp)
        ids = [frames.number_positions(values, names, xp).astype(xp.int32) for values in arrays]
        return names, dtype, _count(names.size), ids
    present = xp.zeros(span, bool)
    for values in arrays:
        device.launch("build", "mark", values.size, values, low, present, size=values.size)
    count = _count(int(present.sum()))
    if count == span and low == 0:
        return None, dtype, count, [_narrow(values, xp) for values in arrays]
    table = xp.cumsum(present, dtype=xp.int32)
    table -= 1
    ids = []
    for values in arrays:
        place = xp.empty(values.size, xp.int32)
        device.launch(
            "build", "translate", values.size, values, low, table, place, size=values.size
        )
        ids.append(place)
    return xp.flatnonzero(present) + low, dtype, count, ids


def _narrow(values, xp):
    return xp.ascontiguousarray(values.astype(xp.int32, copy=False))


def _count(count):
    if count > MOST_VERTICES:
        raise GraphError(f"{count} vertices; {MOST_VERTICES} is the most")
    return int(count)


def _as_numbers(values, label):
    """An integer array, or the error that says what `values` is instead."""
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind == "f":
        bad = values != values
        if bool(bad.any()):
            raise GraphError(f"a {label} name is missing (NaN) in row {int(bad.argmax())}")
    raise GraphError(
        f"{label} names are of type {values.dtype}"
        + (f", such as {_item(values, 0)!r} in row 0" if len(values) else "")
        + "; they must be integers or text: use .astype('int64') or .astype('str')"
    )


def _positions(values, part, xp):
    if isinstance(part, xp.ndarray):
        return frames.number_positions(_as_numbers(values, "vertex"), part, xp)
    if isinstance(values, xp.ndarray):
        raise GraphError("vertices of this graph are named by text, and a number was given")
    return frames.text_positions(values, part)


def _item(values, row):
    value = values[row] if not hasattr(values, "iloc") else values.iloc[row]
    return value.item() if hasattr(value, "item") else value
