"""Mapping between vertex names and the ids 0..n-1, which follow the order of the names.

Ids are positions in the sorted, distinct names, so rows in the order of ids are in the order of
names. Integers that already are 0..n-1 are their own ids. Integers in a range not much wider than
the number of rows are looked up in a table over that range; other integers, and text, are
factorized. Names of several columns are factorized column by column, and then the tuples of ids as
integers.

Columns are as from `frames.get_column`: integer arrays, or Series of text, on one device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array, ArrayModule
from ..errors import GraphError, VertexNotFoundError, VertexTypeError, format_value
from ..frames import Column
from ..validation import check_vertex_count

# Called with (count, nbytes) before a table of names is built on a CPU; may raise.
TableCheck = Callable[[int, int], None] | None


class VertexNames:
    """The names of vertices.

    Parameters
    ----------
    labels : sequence of str
        Names of the name columns in result frames.
    distinct : list of array, Series or None
        For each column its distinct values, sorted; None for names 0..count-1.
    count : int
        Number of vertices.
    pairs : sequence of integer arrays
        For the second and each later column the sorted, distinct pairs (position among the
        preceding pairs, position in the column), packed into integers. Vertices are the last pairs.
    dtype : numpy.dtype, optional
        Type of names 0..count-1.
    """

    def __init__(
        self,
        labels: Sequence[str],
        distinct: list[Any],
        count: int,
        pairs: Sequence[Array] = (),
        dtype: Any = None,
    ) -> None:
        self.labels, self.distinct, self.count = list(labels), distinct, count
        self.pairs, self.dtype = list(pairs), dtype

    @property
    def are_integers(self) -> bool:
        """Whether no column is text."""
        return not any(hasattr(values, "memory_usage") for values in self.distinct)

    @property
    def text_bytes(self) -> int:
        """Size of the text columns in bytes."""
        columns = [values for values in self.distinct if hasattr(values, "memory_usage")]
        return int(sum(values.memory_usage(index=False, deep=True) for values in columns))

    def columns(self, xp: ArrayModule, ids: Array | None = None) -> dict[str, Column]:
        """Return the name columns of `ids`, by default of all vertices in the order of ids."""
        if self.distinct[0] is None:
            names = xp.arange(self.count, dtype=self.dtype) if ids is None else ids
            return {self.labels[0]: names.astype(self.dtype, copy=False)}
        positions, columns = xp.arange(self.count) if ids is None else ids, []
        for distinct, pairs in zip(self.distinct[:0:-1], self.pairs[::-1], strict=True):
            size = len(distinct)
            positions, within = pairs[positions] // size, pairs[positions] % size
            columns.append(_take(distinct, within, xp))
        columns.append(_take(self.distinct[0], positions, xp))
        return dict(zip(self.labels, columns[::-1], strict=True))

    def ids(self, columns: Sequence[Column], xp: ArrayModule, parameter: str) -> Array:
        """Return the int32 ids of named vertices.

        Parameters
        ----------
        columns : sequence of arrays or Series
            One per label, on any device.
        xp : module
            NumPy or CuPy.
        parameter : str
            The parameter that names the vertices, for messages.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph; the error has the first.
        """
        is_on_host = self.distinct[0] is None and isinstance(columns[0], np.ndarray)
        lookup_xp = np if is_on_host else xp  # copying a few names takes longer than finding them
        columns = [frames.to_device(values, lookup_xp) for values in columns]
        ids = self._look_up(columns, lookup_xp, parameter)
        is_absent = ids < 0
        if bool(is_absent.any()):
            row = int(is_absent.argmax())
            names = tuple(_item(values, row) for values in columns)
            name = names[0] if len(names) == 1 else names
            raise VertexNotFoundError(
                f"{{parameter}}: vertex {name!r} is not in the graph",
                parameter=parameter,
                row=row,
                value=name,
            )
        return xp.asarray(ids.astype(np.int32))

    def _look_up(self, columns: Sequence[Column], xp: ArrayModule, parameter: str) -> Array:
        """Return the id of each name, -1 if it is absent."""
        if not all(len(values) for values in columns):
            return xp.empty(0, xp.int64)
        for values in columns:
            check_present(values, "{parameter} has no value in row {row}", parameter=parameter)
        if self.distinct[0] is None:
            values = as_integers(columns[0], parameter)
            is_known = (values >= 0) & (values < self.count)
            return xp.where(is_known, xp.where(is_known, values, 0).astype(xp.int64), -1)
        ids: Array = None  # until the first column
        for column, (distinct, values) in enumerate(zip(self.distinct, columns, strict=True)):
            label = None if len(self.distinct) == 1 else self.labels[column]
            positions = _find_positions(values, distinct, xp, parameter, label)
            if not column:
                ids = positions
                continue
            is_known = (ids >= 0) & (positions >= 0)
            packed = xp.where(is_known, ids.astype(xp.int64) * len(distinct) + positions, -1)
            ids = frames.find_numbers(packed, self.pairs[column - 1], xp)
        return ids

    def name_of(self, vertex: int, xp: ArrayModule) -> Any:
        """Return the name of a vertex: an int, a str, or a tuple for names of several columns."""
        columns = self.columns(xp, xp.asarray([vertex])).values()
        names = tuple(_item(frames.to_device(values, np), 0) for values in columns)
        return names[0] if len(names) == 1 else names


def name_vertices(
    sources: Sequence[Column],
    destinations: Sequence[Column],
    vertices: range | list[Column] | None,
    labels: list[str],
    xp: ArrayModule,
    check: TableCheck = None,
) -> tuple[VertexNames, Array, Array]:
    """Name the vertices of an edge list.

    Parameters
    ----------
    sources, destinations : sequences of arrays or Series
        One or more columns each, all of one length.
    vertices : range, list of arrays or Series, or None
        More names; a range stands for all integers below its stop.
    labels : list of str
    xp : module
        NumPy or CuPy.
    check : callable, optional
        Called with ``(count, nbytes)`` before a table of at most `count` names with `nbytes` bytes
        of text is built on a CPU. It may raise.

    Returns
    -------
    names : VertexNames
    sources, destinations : int32 arrays
        Ids, one per row.
    """
    if len(sources) > 1:
        return _name_tuples(sources, destinations, vertices, labels, xp, check)
    columns = [sources[0], destinations[0]]
    if vertices is not None:
        columns += [vertices] if isinstance(vertices, range) else vertices
    part, dtype, count, ids = _name_column(columns, labels[0], xp, check)
    return VertexNames(labels, [part], count, dtype=dtype), ids[0], ids[1]


def check_names(values: Column, column: Any = None, parameter: str | None = None) -> None:
    """Raise GraphError if names, in a column or an argument, are numbers but not integers."""
    if not len(values) or getattr(values.dtype, "kind", "O") != "f":
        return
    problem = "a vertex name is missing (NaN) in row {row} of {column}"
    check_present(values, problem, column=column, parameter=parameter)
    row, value = _find_fraction(values)
    raise VertexTypeError(
        f"vertex names must be integers or text; {{column}} has type {values.dtype}, such as "
        f"{format_value(value)} in row {{row}}; use .astype('int64') or .astype('str')",
        expected="integer",
        parameter=parameter,
        column=column,
        row=row,
        value=value,
    )


def check_ids_in_range(low: int, high: int, stop: int) -> None:
    """Raise GraphError unless the names `low` to `high` of edges are in ``range(stop)``."""
    if low < 0 or high >= stop:
        value = low if low < 0 else high
        raise GraphError(
            f"vertices are range({stop}), and an edge names {value}",
            parameter="vertices",
            value=value,
        )


def _name_tuples(
    sources: Sequence[Column],
    destinations: Sequence[Column],
    vertices: Any,
    labels: list[str],
    xp: ArrayModule,
    check: TableCheck,
) -> tuple[VertexNames, Array, Array]:
    """Name vertices by several columns. Arrays are freed once they are packed."""
    parts: list[Any] = []
    pairs: list[Array] = []
    ids: list[Array] = []
    for label, *columns in zip(
        labels, sources, destinations, vertices or [None] * len(sources), strict=True
    ):
        columns = [values for values in columns if values is not None]
        part, dtype, count, positions = _name_column(columns, label, xp, check)
        parts.append(xp.arange(count, dtype=dtype) if part is None else part)
        if not ids:
            ids = positions
            continue
        packed = []
        while ids:
            packed.append(ids.pop(0).astype(xp.int64))
            packed[-1] *= count
            packed[-1] += positions.pop(0)
        pairs.append(frames.distinct_numbers(packed, xp, check))
        while packed:
            ids.append(frames.encode_numbers(packed.pop(0), pairs[-1], xp))
    return VertexNames(labels, parts, check_vertex_count(pairs[-1].size), pairs), ids[0], ids[1]


def _name_column(
    columns: Iterable[Any], label: str, xp: ArrayModule, check: TableCheck
) -> tuple[Column | None, Any, int, list[Array]]:
    """Return (sorted names or None, dtype, count, int32 ids of each column except a range)."""
    arrays = [values for values in columns if not isinstance(values, range)]
    ranges = [values for values in columns if isinstance(values, range)]
    filled = [values for values in arrays if len(values)]  # empty columns may have any type
    are_numbers = [isinstance(values, xp.ndarray) for values in filled]
    if not all(are_numbers):
        if any(are_numbers) or ranges:
            raise GraphError(
                f"{label} names are text in one column and numbers in another; convert one of them",
                column=label,
            )
        names = frames.distinct_text(filled, check)
        ids = [
            frames.encode_text(values, names) if len(values) else xp.empty(0, xp.int32)
            for values in arrays
        ]
        return names, None, check_vertex_count(len(names)), ids
    for values in filled:  # those of edges have been checked
        check_names(values, parameter="vertices")
    arrays = [values if len(values) else xp.empty(0, _integer_type(values)) for values in arrays]
    dtype = np.result_type(*(values for values in arrays if values.size or not filled))
    if dtype.kind == "f":  # int64 and uint64: int64 if it holds all values
        if any(values.dtype == np.uint64 and int(values.max()) >= 2**63 for values in filled):
            raise GraphError(
                f"{label} names are beyond 2^63 in one column and signed in another", column=label
            )
        dtype = np.dtype(np.int64)
    common: type[np.integer] = np.int64
    if dtype.itemsize < 4 or dtype == np.int32:
        common = np.int32
    elif dtype == np.uint64:
        common = np.uint64
    arrays = [values.astype(common, copy=False) for values in arrays]
    return _name_integers(arrays, ranges, dtype, xp, check)


def _integer_type(values: Column) -> Any:
    kind = getattr(values.dtype, "kind", "O")
    return values.dtype if kind in "iu" else np.int64


def _name_integers(
    arrays: list[Array], ranges: list[range], dtype: Any, xp: ArrayModule, check: TableCheck
) -> tuple[Array | None, Any, int, list[Array]]:
    """Return what `_name_column` does, for arrays of one integer type."""
    low, high = _find_limits(arrays, xp)
    if ranges:
        stop = len(ranges[0])
        check_ids_in_range(low, high, stop)
        dtype = dtype if stop <= np.iinfo(dtype).max + 1 else np.dtype(np.int64)
        return None, dtype, check_vertex_count(stop), _as_ids(arrays, xp)
    span = high - low + 1
    # The table takes 5 bytes per integer of the span.
    if span > sum(values.size for values in arrays) + 1024 or high >= 2**63:
        names = frames.distinct_numbers(arrays, xp, check)
        count = check_vertex_count(names.size)
        ids = [frames.encode_numbers(values, names, xp) for values in arrays]
        return names.astype(dtype, copy=False), dtype, count, ids
    is_present = xp.zeros(span, bool)
    for values in arrays:
        device.launch(
            "build", "mark_present", size=values.size,
            num_names=values.size, names=values, min_name=low, is_present=is_present,
        )  # fmt: skip
    count = check_vertex_count(int(is_present.sum()))
    if count == span and low == 0:
        return None, dtype, count, _as_ids(arrays, xp)
    table = xp.cumsum(is_present, dtype=xp.int32)
    table -= 1
    ids = []
    for values in arrays:
        ids.append(xp.empty(values.size, xp.int32))
        device.launch(
            "build", "translate", size=values.size,
            num_names=values.size, names=values, min_name=low, table=table, ids=ids[-1],
        )  # fmt: skip
    del table
    names = xp.flatnonzero(is_present)
    names += low
    return names.astype(dtype, copy=False), dtype, count, ids


def _as_ids(arrays: list[Array], xp: ArrayModule) -> list[Array]:
    """Return names that are ids already as contiguous int32 arrays."""
    return [xp.ascontiguousarray(values.astype(xp.int32, copy=False)) for values in arrays]


def _find_limits(arrays: list[Array], xp: ArrayModule) -> tuple[int, int]:
    """Return the minimum and maximum of arrays of one type, in one transfer; (0, -1) if empty."""
    filled = [values for values in arrays if values.size]
    if not filled:
        return 0, -1
    limits = xp.empty((2, len(filled)), filled[0].dtype)
    for index, values in enumerate(filled):
        limits[0, index], limits[1, index] = values.min(), values.max()
    lows, highs = limits.tolist()
    return min(lows), max(highs)


def as_integers(values: Column, parameter: str, label: str | None = None) -> Array:
    """Return an argument's names as they are; raise GraphError if they are not integers.

    Parameters
    ----------
    values : array or Series
    parameter : str
    label : str, optional
        The name column, where several columns name a vertex.
    """
    kind = getattr(values.dtype, "kind", "O")
    if kind in "iu" or not len(values):
        return values
    check_present(values, "{parameter} has no value in row {row}", parameter=parameter)
    row, value = _find_fraction(values) if kind == "f" else (0, _item(values, 0))
    where = " in row {row}" if len(values) > 1 else ""
    hint = "; use .astype('int64')" if kind == "f" else ""
    raise VertexTypeError(
        f"{{parameter}}{_format_label(label)}: {format_value(value)}{where} is "
        f"{f'of type {values.dtype}' if kind == 'f' else 'text'}, but the vertex names of this "
        f"graph are integers{hint}",
        expected="integer",
        parameter=parameter,
        column=label,
        row=row,
        value=value,
    )


def check_present(values: Column, problem: str, **fields: Any) -> None:
    """Raise GraphError with `problem`, the row and other fields if an array of floats has a NaN."""
    if getattr(values.dtype, "kind", "O") == "f":
        is_missing = values != values
        if bool(is_missing.any()):
            raise GraphError(problem, row=int(is_missing.argmax()), **fields)


def check_text(values: Column, parameter: str, label: str | None = None) -> None:
    """Raise GraphError if an argument's names are numbers; parameters as of `as_integers`."""
    if device.is_array(values) and len(values):
        raise VertexTypeError(
            f"{{parameter}}{_format_label(label)}: {_item(values, 0)!r} is a number, but the "
            "vertex names of this graph are text",
            expected="text",
            parameter=parameter,
            column=label,
            row=0,
            value=_item(values, 0),
        )


def _format_label(label: str | None) -> str:
    return f": {label}" if label else ""


def _find_fraction(values: Array) -> tuple[int, float]:
    """Return the row and value of the first float that is not an integer, else of the first."""
    row = int(((values != values.round()) | (abs(values) == np.inf)).argmax())
    return row, _item(values, row)


def _find_positions(
    values: Column, part: Column, xp: ArrayModule, parameter: str, label: str | None
) -> Array:
    """Return the positions of `values` in a name column; `label` is set for one of several."""
    if isinstance(part, xp.ndarray):
        return frames.find_numbers(as_integers(values, parameter, label), part, xp)
    check_text(values, parameter, label)
    return frames.find_text(values, part)


def _take(part: Column, positions: Array, xp: ArrayModule) -> Column:
    if isinstance(part, xp.ndarray):
        return part[positions]
    return part.take(positions).reset_index(drop=True)


def _item(values: Column, row: int) -> Any:
    value = values.iloc[row] if hasattr(values, "iloc") else values[row]
    return value.item() if hasattr(value, "item") else value
