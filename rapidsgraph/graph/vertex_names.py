"""Vertex ids and names: map between them, and build result frames of the caller's names.

Ids 0..n-1 are positions in the sorted, distinct names, so rows in the order of ids are in the order
of names. Integers that already are 0..n-1 are their own ids. `vertex_naming` finds the names in the
columns of an edge frame.

A `Labeling` is part of everything that knows vertices by id: graphs, layered edge lists and
indexes. Results are frames of the library that the edges came in, with the same name columns.
Name columns are as from `frames.get_column`: integer arrays, or Series of text, on one device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array, ArrayModule
from ..errors import GraphError, VertexNotFoundError, VertexTypeError, format_value
from ..frames import Column
from ..validation import reads_as_int64

MAX_SHOWN_NAMES = 3  # of vertices that are not in a graph, in a message
MAX_CHECKED_NAMES = 100
MAX_HOST_IDS = 100  # that are checked on the host, since a copy takes less time than kernels
MISSING_NAME = "{parameter}: a vertex name is missing (NaN) in row {row}"


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

    @cached_property
    def are_integers(self) -> bool:
        """Whether no column is text."""
        return not any(hasattr(values, "memory_usage") for values in self.distinct)

    @property
    def text_bytes(self) -> int:
        """Size of the text columns in bytes."""
        columns = [values for values in self.distinct if hasattr(values, "memory_usage")]
        return int(sum(values.memory_usage(index=False, deep=True) for values in columns))

    @cached_property
    def text_sizes(self) -> list[tuple[int, int]]:
        """Bytes of all names and of the longest one in each column; 0 if it is not text of Arrow.

        To measure text takes longer than most algorithms.
        """
        return [
            frames.text_sizes(values) if hasattr(values, "memory_usage") else (0, 0)
            for values in self.distinct
        ]

    def columns(self, xp: ArrayModule, ids: Array | None = None) -> dict[str, Column]:
        """Return the name columns of `ids`, by default of all vertices in the order of ids."""
        if self.distinct[0] is None:
            if ids is None:
                return {self.labels[0]: device.arange(self.count, self.dtype, xp)}
            return {self.labels[0]: device.astype(ids, self.dtype)}
        if ids is None and len(self.labels) == 1 and isinstance(self.distinct[0], xp.ndarray):
            return {self.labels[0]: device.copy(self.distinct[0])}
        positions = device.arange(self.count, np.int64, xp) if ids is None else ids
        columns = []
        for distinct, pairs in zip(self.distinct[:0:-1], self.pairs[::-1], strict=True):
            size = len(distinct)
            positions, within = pairs[positions] // size, pairs[positions] % size
            columns.append(_take(distinct, within, xp))
        columns.append(_take(self.distinct[0], positions, xp))
        return dict(zip(self.labels, columns[::-1], strict=True))

    def select(self, ids: Array, xp: ArrayModule) -> VertexNames:
        """Return the names of some vertices as those of all vertices of another graph.

        Parameters
        ----------
        ids : int32 array
            Ascending, each once.
        xp : module
            NumPy or CuPy.
        """
        if self.distinct[0] is None:
            return VertexNames(self.labels, [ids.astype(self.dtype)], ids.size)
        positions, distinct, pairs = ids, [], []
        for values, packed in zip(self.distinct[:0:-1], self.pairs[::-1], strict=True):
            before, within = packed[positions] // len(values), packed[positions] % len(values)
            positions, kept = xp.unique(before), xp.unique(within)
            before, within = xp.searchsorted(positions, before), xp.searchsorted(kept, within)
            pairs.append(before.astype(xp.int64) * kept.size + within)
            distinct.append(_take(values, kept, xp))
        distinct.append(_take(self.distinct[0], positions, xp))
        return VertexNames(self.labels, distinct[::-1], ids.size, pairs[::-1])

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
        checked = device.to_host(ids) if ids.size <= MAX_HOST_IDS else ids
        is_absent = device.mark_range(checked, high=0)
        if device.count_nonzero(is_absent):
            rows = device.array_module(is_absent).flatnonzero(is_absent)
            raise _not_found_error(columns, rows, parameter)
        if xp is not lookup_xp and ids.size == 1:  # a launch takes less time than a copy
            return device.full(1, int(ids[0]), np.int32, xp)
        return xp.asarray(ids.astype(np.int32, copy=False))

    def _look_up(self, columns: Sequence[Column], xp: ArrayModule, parameter: str) -> Array:
        """Return the id of each name, -1 if it is absent."""
        if not all(len(values) for values in columns):
            return xp.empty(0, xp.int64)
        for values in columns:
            check_present(values, MISSING_NAME, parameter=parameter)
        if self.distinct[0] is None:
            values = as_integers(columns[0], parameter)
            range_ids = xp.empty(values.size, xp.int32)
            device.launch(
                "build", "find_ids", size=values.size, num_names=values.size,
                names=xp.ascontiguousarray(values), num_vertices=self.count, ids=range_ids,
            )  # fmt: skip
            return range_ids
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


@dataclass
class Labeling:
    """The names of vertices, and the form of the frames that show them.

    Parameters
    ----------
    names : VertexNames
    xp : module
        NumPy or CuPy, whichever holds the arrays.
    library : str
        Library of the frames, as `frames.normalize_frame` returns it.
    is_endpoint_specific : sequence of bool
        For each name column, whether source and destination of an edge have one each. An edge has
        the other columns once.
    source_columns : sequence of str
        Name columns of the sources in the edge frame.
    text_types : dict from str to Arrow type or None
        Types of the text columns of results.
    """

    names: VertexNames
    xp: ModuleType
    library: str
    is_endpoint_specific: Sequence[bool]
    source_columns: Sequence[str]
    text_types: dict[str, Any] = field(default_factory=dict)
    _endpoint_columns: dict[str, dict[str, str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def num_vertices(self) -> int:
        return self.names.count

    @property
    def device(self) -> str:
        return device.device_name(self.xp)

    def vertex_frame(self, columns: Mapping[str, Any], ids: Array | None = None) -> Any:
        """Return a frame of vertex names and other columns, one row per vertex.

        Parameters
        ----------
        columns : dict from str to array, NullableIntegers, or (array, array of bool)
            Values by vertex id; or values, and which of them are not null.
        ids : integer array, optional
            The vertices of the rows; by default all, in ascending order.
        """
        return frames.make_frame(
            self.library, {**self.names.columns(self.xp, ids), **columns}, self.text_types
        )

    def edge_frame(self, sources: Array, destinations: Array, columns: Mapping[str, Any]) -> Any:
        """Return a frame of the names of sources and destinations, and other columns.

        Name columns that both endpoints share come first, once.
        """
        shared: dict[str, Any] = {}
        specific: dict[str, Any] = {}
        types = dict(self.text_types)
        for endpoint, ids in (("source", sources), ("destination", destinations)):
            names = self.endpoint_columns(endpoint)
            for label, values in self.names.columns(self.xp, ids).items():
                if label in names:
                    specific[names[label]] = values
                    types[names[label]] = self.text_types.get(label)
                else:
                    shared[label] = values
        return frames.make_frame(self.library, {**shared, **specific, **columns}, types)

    def text_column(self, codes: Array, categories: Sequence[str]) -> Any:
        """Return a text column of categories by their codes; for arrays on a GPU the codes."""
        return frames.decode_text(self.library, codes, categories)

    def endpoint_columns(self, endpoint: str) -> dict[str, str]:
        """Return the names of an endpoint's columns, which are cached; see `endpoint_columns`."""
        columns = self._endpoint_columns.get(endpoint)
        if columns is None:
            columns = endpoint_columns(self.names.labels, self.is_endpoint_specific, endpoint)
            self._endpoint_columns[endpoint] = columns
        return columns

    def name_columns(
        self, ids: Array, null: int, endpoint: str, mask: frames.NullMask | None = None
    ) -> dict[str, Any]:
        """Return the name columns of an endpoint for `vertex_frame`, null where an id is `null`.

        Other ids are below `null`; `mask` tells which, if it is known.
        """
        names, columns = self.names.distinct[0], self.endpoint_columns(endpoint)
        if names is None or (len(self.names.labels) == 1 and isinstance(names, self.xp.ndarray)):
            column = frames.NullableIntegers(ids, null, names, self.names.dtype, mask)
            return {name: column for name in columns.values()}
        valid = device.mark_range(ids, high=null)
        named = self.names.columns(self.xp, device.where(valid, ids, 0))
        return {name: (named[label], valid) for label, name in columns.items()}

    def check_name_collisions(self, *columns: str) -> None:
        """Raise GraphError if a name column has the name of a result column."""
        check_name_collisions(self.names.labels, columns)

    def check_edge_collisions(self, *columns: str) -> None:
        """Raise GraphError if a name column has the name of a column of `edge_frame`."""
        check_edge_collisions(self.names.labels, self.is_endpoint_specific, columns)

    def ids(self, table: Any, parameter: str, labels: Sequence[str] | None = None) -> Array:
        """Return the int32 ids of the vertices that the name columns of an opened frame list."""
        labels = labels or self.names.labels
        columns = [frames.get_column(table, label, "vertex", parameter) for label in labels]
        return self.names.ids(columns, self.xp, parameter)

    def name_of(self, vertex: int) -> Any:
        """Return the name of a vertex: an int, a str, or a tuple for names of several columns."""
        return self.names.name_of(vertex, self.xp)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle and copy, which cannot hold the array module."""
        return {**self.__dict__, "xp": self.device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.xp = np if state["xp"] == "cpu" else device.import_cupy()


def endpoint_columns(
    labels: Sequence[str], is_endpoint_specific: Sequence[bool], endpoint: str
) -> dict[str, str]:
    """Return {name column: its name for an endpoint}, without columns that both endpoints share.

    Parameters
    ----------
    labels, is_endpoint_specific
        Name columns of vertices, as in `Labeling`.
    endpoint : str
        Prefix such as "source" or "predecessor".
    """
    return {
        label: endpoint + label.removeprefix("vertex")
        for label, is_specific in zip(labels, is_endpoint_specific, strict=True)
        if is_specific
    }


def check_name_collisions(labels: Iterable[str], columns: Iterable[str]) -> None:
    """Raise GraphError if a name column in `labels` is also a result column in `columns`."""
    result_columns = set(columns)
    if result_columns.isdisjoint(labels):
        return
    label = next(label for label in labels if label in result_columns)
    raise GraphError(
        f"vertex name column {label!r} collides with a result column; rename it", column=label
    )


def check_edge_collisions(
    labels: Sequence[str], is_endpoint_specific: Sequence[bool], columns: Iterable[str]
) -> None:
    """Raise GraphError if a name column has the name of another column of an edge frame.

    Parameters
    ----------
    labels, is_endpoint_specific
        Name columns of vertices, as in `Labeling`.
    columns : iterable of str
        Columns of the frame beside those of names.
    """
    endpoints = (
        endpoint_columns(labels, is_endpoint_specific, end) for end in ("source", "destination")
    )
    check_name_collisions(labels, [*columns, *(name for end in endpoints for name in end.values())])


def _not_found_error(columns: Sequence[Column], rows: Array, parameter: str) -> GraphError:
    """Return the error for names of some rows that are not in the graph."""
    named: dict[Any, int] = {}  # distinct names, and their first rows
    for row in rows[:MAX_CHECKED_NAMES].tolist():
        name = tuple(_item(values, row) for values in columns)
        named.setdefault(name[0] if len(name) == 1 else name, row)
    (first, row), *others = named.items()
    message = f"vertex {format_value(first)} is not in the graph"
    if others:
        shown = ", ".join(map(format_value, [*named][:MAX_SHOWN_NAMES]))
        more = ", ..." if len(rows) > MAX_SHOWN_NAMES and len(named) > MAX_SHOWN_NAMES else ""
        total = f"{len(rows):,} of {len(columns[0]):,} vertices"
        message = f"{total} are not in the graph: {shown}{more}"
    return VertexNotFoundError(
        f"{{parameter}}: {message}", parameter=parameter, row=row, value=first
    )


def check_names(values: Column, column: Any = None, parameter: str | None = None) -> None:
    """Raise GraphError if names, in a column or an argument, are numbers but not integers."""
    if not len(values) or getattr(values.dtype, "kind", "O") != "f":
        return
    hint = "drop such rows, then use .astype('int64')"
    problem = "a vertex name is missing (NaN) in row {row}, {column}; {hint}"
    check_present(values, problem, column=column, parameter=parameter, hint=hint)
    row, value = _find_fraction(values)
    hint = "use .astype('int64') or .astype('str')" if value.is_integer() else "use .astype('str')"
    raise VertexTypeError(
        f"vertex names must be integers or text; {{column}} has type {values.dtype}, such as "
        f"{format_value(value)} in row {{row}}; {{hint}}",
        expected="integer",
        parameter=parameter,
        column=column,
        row=row,
        value=value,
        hint=hint,
    )


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
    check_present(values, MISSING_NAME, parameter=parameter)
    row, value = _find_fraction(values) if kind == "f" else _find_non_integer(values)
    where = " in row {row}" if len(values) > 1 else ""
    hint = _integer_hint(values, value)
    raise VertexTypeError(
        f"{{parameter}}{_format_label(label)}: {format_value(value)}{where} is "
        f"{f'of type {values.dtype}' if kind == 'f' else 'text'}, but the vertex names of this "
        f"graph are integers{'; {hint}' if hint else ''}",
        expected="integer",
        parameter=parameter,
        column=label,
        row=row,
        value=value,
        hint=hint,
    )


def _integer_hint(values: Column, value: Any) -> str | None:
    """Return what to pass instead of names that are text or floats, if they stand for integers."""
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    if (not isinstance(value, str) and number != value) or abs(number) >= 2**64:
        return None
    return f"pass {number}" if len(values) == 1 else f"pass integers, such as {number}"


def check_present(values: Column, problem: str, **fields: Any) -> None:
    """Raise GraphError with `problem`, the row and other fields if an array of floats has a NaN."""
    if getattr(values.dtype, "kind", "O") == "f":
        is_missing = values != values
        if device.count_nonzero(is_missing):
            raise GraphError(problem, row=int(is_missing.argmax()), **fields)


def check_text(values: Column, parameter: str, label: str | None = None) -> None:
    """Raise GraphError if an argument's names are numbers; parameters as in `as_integers`."""
    if device.is_array(values) and len(values):
        value = _item(values, 0)
        hint = f"pass {str(value)!r}" if len(values) == 1 else f"pass text, such as {str(value)!r}"
        raise VertexTypeError(
            f"{{parameter}}{_format_label(label)}: {format_value(value)} is a number, "
            "but the vertex names of this graph are text; {hint}",
            expected="text",
            parameter=parameter,
            column=label,
            row=0,
            value=value,
            hint=hint,
        )


def _format_label(label: str | None) -> str:
    return f": {label}" if label else ""


def _find_fraction(values: Array) -> tuple[int, float]:
    """Return the row and value of the first float that is not an integer, else of the first."""
    row = int(((values != values.round()) | (abs(values) == np.inf)).argmax())
    return row, _item(values, row)


def _find_non_integer(values: Column) -> tuple[int, Any]:
    """Return the row and value of the first text that is not an integer, else of the first text."""
    texts = frames.to_device(values, np)
    row = next((row for row, text in enumerate(texts) if not reads_as_int64(text)), 0)
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
        return device.take(part, positions)
    return frames.take_text(part, positions)


def _item(values: Column, row: int) -> Any:
    value = values.iloc[row] if hasattr(values, "iloc") else values[row]
    return value.item() if hasattr(value, "item") else value
