"""Vertex names <-> ids 0..n-1, in the order of the names.

Means: ids are places in the sorted, distinct names, so rows by id are rows by name.
Requires: columns from frames.get_column: integer arrays, or text Series, one device for all.
Integers that already are 0..n-1 are their own ids. Integers in a range not much wider than the
number of rows are looked up in a table over that range; other integers and text go through
distinct, sort and join. Names of several columns are named column by column, and the tuples of
ids then are integers again.
"""

from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array
from ..errors import GraphError, VertexNotFoundError, VertexTypeError, format_value
from ..validation import check_vertex_count


class VertexNames:
    """What the vertices are called.

    Parameters
    ----------
    labels : list of str
        Names of the name columns in result frames.
    parts : list of array or Series
        For each column its distinct values, sorted. None where names are 0..count-1.
    count : int
    pairs : list of integer arrays
        With several columns: for the second and each later one the sorted, distinct pairs (place
        among the pairs before, place in the column), packed. A vertex is one of the last pairs.
    dtype : numpy.dtype
        Of integer names as the caller gave them, where parts has None.
    """

    def __init__(self, labels, parts, count, pairs=(), dtype=None):
        self.labels, self.parts, self.count = labels, parts, count
        self.pairs, self.dtype = list(pairs), dtype

    @property
    def text_bytes(self):
        """Bytes that columns of text among the names take."""
        parts = [part for part in self.parts if hasattr(part, "memory_usage")]
        return int(sum(part.memory_usage(index=False, deep=True) for part in parts))

    def columns(self, xp, ids=None):
        """{label: values} with one value a vertex, by id; or one for each of `ids`."""
        if self.parts[0] is None:
            names = xp.arange(self.count, dtype=self.dtype) if ids is None else ids
            return {self.labels[0]: names.astype(self.dtype, copy=False)}
        place, columns = xp.arange(self.count) if ids is None else ids, []
        for part, packed in zip(self.parts[:0:-1], self.pairs[::-1]):
            place, within = packed[place] // len(part), packed[place] % len(part)
            columns.append(_taken(part, within, xp))
        columns.append(_taken(self.parts[0], place, xp))
        return dict(zip(self.labels, columns[::-1]))

    def ids(self, columns, xp, what):
        """Return the ids of named vertices.

        `columns` has one array or Series per label, as from `frames.get_column`, on any device.

        Raises
        ------
        GraphError
            A vertex that is not in the graph; names the first.
        """
        on_host = self.parts[0] is None and isinstance(columns[0], np.ndarray)
        at = np if on_host else xp  # a few names are looked up sooner than they are moved
        columns = [frames.to_device(values, at) for values in columns]
        ids = self._look_up(columns, at, what)
        absent = ids < 0
        if bool(absent.any()):
            row = int(absent.argmax())
            name = tuple(_item(values, row) for values in columns)
            name = name[0] if len(name) == 1 else name
            raise VertexNotFoundError(
                f"{{parameter}}: vertex {name!r} is not in the graph",
                parameter=what,
                row=row,
                value=name,
            )
        return xp.asarray(ids.astype(np.int32))

    def _look_up(self, columns, xp, what):
        if not all(len(values) for values in columns):
            return xp.empty(0, xp.int64)
        for values in columns:
            check_present(values, "{parameter} has no value", parameter=what)
        if self.parts[0] is None:
            values = as_integers(columns[0], "{parameter}", parameter=what)
            known = (values >= 0) & (values < self.count)
            return xp.where(known, xp.where(known, values, 0).astype(xp.int64), -1)
        ids: Array = None  # until the first column
        for column, (part, values) in enumerate(zip(self.parts, columns)):
            label = None if len(self.parts) == 1 else self.labels[column]
            place = _positions(values, part, xp, what, label)
            if not column:
                ids = place
                continue
            known = (ids >= 0) & (place >= 0)
            packed = xp.where(known, ids.astype(xp.int64) * len(part) + place, -1)
            ids = frames.find_numbers(packed, self.pairs[column - 1], xp)
        return ids


def name_vertices(sources, destinations, vertices, labels, xp, check=None):
    """Name the vertices of an edge list.

    Parameters
    ----------
    sources, destinations : lists of arrays or Series
        One or more columns each, all of one length.
    vertices : range, list of arrays or Series, or None
        More names; a range for all integers below its end.
    labels : list of str
    check : callable, optional
        Called with ``(count, nbytes)`` before a table of at most `count` names with `nbytes` bytes
        of text is built on a CPU. It may raise.

    Returns
    -------
    names : VertexNames
    source, destination : int32 arrays
    """
    if len(sources) > 1:
        return _name_tuples(sources, destinations, vertices, labels, xp, check)
    extra = [] if vertices is None else [vertices] if isinstance(vertices, range) else vertices
    columns = [sources[0], destinations[0], *extra]
    part, dtype, count, ids = _name_column(columns, labels[0], xp, check)
    return VertexNames(labels, [part], count, dtype=dtype), ids[0], ids[1]


def check_names(values, label, column):
    """Raise GraphError where a name column holds numbers that are no integers; names the row."""
    if len(values) and getattr(values.dtype, "kind", "O") == "f":
        as_integers(values, label, f" of column {column!r}")


def check_ids_in_range(low, high, end):
    """Raise GraphError unless the names `low` to `high` of edges lie in ``range(end)``."""
    if low < 0 or high >= end:
        outside = low if low < 0 else high
        raise GraphError(f"vertices are range({end}), and an edge names {outside}")


def _name_tuples(sources, destinations, vertices, labels, xp, check):
    extra = vertices or [None] * len(sources)
    parts, pairs = [], []
    ids: Any = None
    for label, *columns in zip(labels, sources, destinations, extra):
        columns = [values for values in columns if values is not None]
        part, dtype, count, places = _name_column(columns, label, xp, check)
        parts.append(xp.arange(count, dtype=dtype) if part is None else part)
        if ids is None:
            ids = places
            continue
        packed = []
        while ids:
            packed.append(ids.pop(0).astype(xp.int64))
            packed[-1] *= count
            packed[-1] += places.pop(0)
        pairs.append(frames.distinct_numbers(packed, xp, check))
        while packed:
            ids.append(frames.encode_numbers(packed.pop(0), pairs[-1], xp))
    return VertexNames(labels, parts, check_vertex_count(pairs[-1].size), pairs), ids[0], ids[1]


def _name_column(columns, label, xp, check):
    """(sorted names or None, dtype, count, int32 ids of each column but a range)."""
    arrays = [values for values in columns if not isinstance(values, range)]
    ranges = [values for values in columns if isinstance(values, range)]
    filled = [values for values in arrays if len(values)]  # no row, no say in the type
    are_numbers = [isinstance(values, xp.ndarray) for values in filled]
    if not all(are_numbers):
        if any(are_numbers) or ranges:
            raise GraphError(
                f"{label} names are text in one column and numbers in another; convert one of them"
            )
        names = frames.distinct_text(filled, check)
        ids = [
            frames.encode_text(values, names) if len(values) else xp.empty(0, xp.int32)
            for values in arrays
        ]
        return names, None, check_vertex_count(len(names)), ids
    arrays = [
        as_integers(values, label) if len(values) else xp.empty(0, _integer_type(values))
        for values in arrays
    ]
    dtype = np.result_type(*(values for values in arrays if values.size or not filled))
    if dtype.kind == "f":  # int64 beside uint64: what fits both, if anything does
        if any(values.dtype == np.uint64 and int(values.max()) >= 2**63 for values in filled):
            raise GraphError(f"{label} names are beyond 2^63 in one column and signed in another")
        dtype = np.dtype(np.int64)
    common: type[np.integer] = np.int64
    if dtype.itemsize < 4 or dtype == np.int32:
        common = np.int32
    elif dtype == np.uint64:
        common = np.uint64
    arrays = [values.astype(common, copy=False) for values in arrays]
    part, dtype, count, ids = _name_numbers(arrays, ranges, dtype, xp, check)
    return part if part is None else part.astype(dtype, copy=False), dtype, count, ids


def _integer_type(values):
    kind = getattr(values.dtype, "kind", "O")
    return values.dtype if kind in "iu" else np.int64


def _name_numbers(arrays, ranges, dtype, xp, check):
    filled = [values for values in arrays if values.size]
    low, high = _limits(filled, xp) if filled else (0, -1)
    rows = sum(values.size for values in arrays)
    if ranges:
        end = len(ranges[0])
        check_ids_in_range(low, high, end)
        dtype = dtype if end <= np.iinfo(dtype).max + 1 else np.dtype(np.int64)
        return None, dtype, check_vertex_count(end), [_narrow(values, xp) for values in arrays]
    span = high - low + 1
    if span > rows + 1024 or high >= 2**63:  # rows of two columns; the table takes 5 bytes a place
        names = frames.distinct_numbers(arrays, xp, check)
        ids = [frames.encode_numbers(values, names, xp) for values in arrays]
        return names, dtype, check_vertex_count(names.size), ids
    present = xp.zeros(span, bool)
    for values in arrays:
        device.launch(
            "build", "mark_present", size=values.size,
            num_names=values.size, names=values, min_name=low, is_present=present,
        )  # fmt: skip
    count = check_vertex_count(int(present.sum()))
    if count == span and low == 0:
        return None, dtype, count, [_narrow(values, xp) for values in arrays]
    table = xp.cumsum(present, dtype=xp.int32)
    table -= 1
    ids = []
    for values in arrays:
        place = xp.empty(values.size, xp.int32)
        device.launch(
            "build", "translate", size=values.size,
            num_names=values.size, names=values, min_name=low, table=table, ids=place,
        )  # fmt: skip
        ids.append(place)
    del table
    names = xp.flatnonzero(present)
    names += low
    return names, dtype, count, ids


def _limits(arrays, xp):
    """The smallest and the largest number of arrays of one type; they come in one transfer."""
    ends = xp.empty((2, len(arrays)), arrays[0].dtype)
    for place, values in enumerate(arrays):
        ends[0, place], ends[1, place] = values.min(), values.max()
    lows, highs = ends.tolist()
    return min(lows), max(highs)


def _narrow(values, xp):
    return xp.ascontiguousarray(values.astype(xp.int32, copy=False))


def as_integers(values, label, where="", parameter=None):
    """An integer array, or the error that says what `values` is instead."""
    kind = getattr(values.dtype, "kind", "O")
    if kind in "iu":
        return values
    check_present(values, f"a {label} name is missing (NaN)", where, parameter)
    row, value, example = None, None, ""
    if len(values):
        row = 0
        if kind == "f":  # the first that is no integer, if there is one
            row = int(((values != values.round()) | (abs(values) == np.inf)).argmax())
        value = _item(values, row)
        example = f", such as {format_value(value)} in row {{row}}{where}"
    raise VertexTypeError(
        f"{label} names of type {values.dtype} do not fit{example}: they must be integers, or all "
        "of them text; use .astype('int64') or .astype('str')",
        expected="integer",
        parameter=parameter,
        row=row,
        value=value,
    )


def check_present(values, problem, where="", parameter=None):
    """Raise GraphError with `problem` and the row where an array of floats has a NaN."""
    if getattr(values.dtype, "kind", "O") == "f":
        missing = values != values
        if bool(missing.any()):
            row = int(missing.argmax())
            raise GraphError(f"{problem} in row {{row}}{where}", parameter=parameter, row=row)


def _positions(values, part, xp, what, label=None):
    """Return the positions of `values` in a name column; `label` names one of several columns."""
    where = f"{{parameter}}: {label}" if label else "{parameter}"
    if isinstance(part, xp.ndarray):
        return frames.find_numbers(as_integers(values, where, parameter=what), part, xp)
    if isinstance(values, xp.ndarray):
        raise VertexTypeError(
            f"{where}: vertices are named by text, and a number was given",
            expected="text",
            parameter=what,
            column=label,
        )
    return frames.find_text(values, part)


def _taken(part, place, xp):
    return part[place] if isinstance(part, xp.ndarray) else part.take(place).reset_index(drop=True)


def _item(values, row):
    value = values[row] if not hasattr(values, "iloc") else values.iloc[row]
    return value.item() if hasattr(value, "item") else value


def name_of(names, vertex, xp):
    """What a vertex is called: an int, a text, or a tuple where several columns name it."""
    columns = names.columns(xp, xp.asarray([vertex])).values()
    columns = [frames.to_device(values, np) for values in columns]
    parts = [values[0] if isinstance(values, np.ndarray) else values.iloc[0] for values in columns]
    parts = [part.item() if hasattr(part, "item") else part for part in parts]
    return parts[0] if len(parts) == 1 else tuple(parts)
