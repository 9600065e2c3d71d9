"""The columns of an edge frame: check them, and find the vertex names and ids in them.

Integers in a range not much wider than the number of rows are looked up in a table over that range;
other integers, and text, are factorized. Names of several columns are factorized column by column,
and then the tuples of ids as integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array, ArrayModule
from ..errors import GraphError, MissingColumnError, VertexTypeError
from ..frames import Column, Frame
from ..validation import (
    FRAME_WEIGHT_HINT,
    as_list,
    check_vertex_count,
    check_weights,
    choose_weight,
    is_default_weight,
    vertex_labels,
)
from .csr import MultiEdges
from .vertex_names import Labeling, VertexNames, check_names

# Called with (count, nbytes) before a table of names is built on a CPU; may raise.
TableCheck = Callable[[int, int], None] | None


@dataclass
class EdgeColumns:
    """The columns of an edge frame, and what result frames take over from it.

    Attributes
    ----------
    library : str
        Library of the frame, as `frames.normalize_frame` returns it.
    sources, destinations : list of arrays or Series
        The name columns of each endpoint, one value per row.
    weights : array or None
    xp : module
        NumPy or CuPy.
    labels : list of str
        Name columns of results.
    is_endpoint_specific : list of bool
        As in `Labeling`.
    source_columns : list of str
        Name columns of the sources.
    text_types : dict from str to Arrow type or None
        Types of the text columns of results.
    """

    library: str
    sources: list[Any]
    destinations: list[Any]
    weights: Array | None
    xp: ArrayModule
    labels: list[str]
    is_endpoint_specific: list[bool]
    source_columns: list[str]
    text_types: dict[str, Any]

    def labeling(self, names: VertexNames, xp: ArrayModule) -> Labeling:
        """Return the labeling of vertices that are named by these columns."""
        return Labeling(
            names, xp, self.library, self.is_endpoint_specific, self.source_columns, self.text_types
        )


def read_columns(
    edges: Frame,
    source: str | list[str],
    destination: str | list[str],
    weight: str | None,
    multi_edges: MultiEdges,
) -> EdgeColumns:
    """Return the checked columns of an edge frame; parameters as for `Graph`."""
    library, edges = frames.normalize_frame(edges)
    try:
        return _read_columns(library, edges, source, destination, weight, multi_edges)
    except GraphError as error:
        raise frames.with_casts_of(error, library) from None


def _read_columns(
    library: str,
    edges: Frame,
    source: str | list[str],
    destination: str | list[str],
    weight: str | None,
    multi_edges: MultiEdges,
) -> EdgeColumns:
    """Return the checked columns of a normalized frame; see `read_columns`."""
    endpoints = [as_list(source), as_list(destination)]
    weight = choose_weight(weight, frames.column_names(edges), [*endpoints[0], *endpoints[1]])
    if len(endpoints[0]) != len(endpoints[1]) or not endpoints[0]:
        raise GraphError(
            f"source names {len(endpoints[0])} columns and destination {len(endpoints[1])}; name "
            "as many columns for both",
            parameter="source",
        )
    try:
        sources, destinations = (
            [frames.get_column(edges, name, parameter) for name in names]
            for parameter, names in zip(("source", "destination"), endpoints, strict=True)
        )
    except MissingColumnError as error:
        names = [name for names in endpoints for name in names]
        if not all(isinstance(name, str) for name in names) or names != ["source", "destination"]:
            columns = frames.column_names(edges)
            used = [*names, *as_list(weight)]
            raise frames.missing_column_error(
                error.column, columns, str(error.parameter), used=used
            ) from None
        options = {} if weight is None or is_default_weight(weight) else {"weight": weight}
        if weight is not None and multi_edges != "first":
            options["multi_edges"] = multi_edges
        raise frames.missing_endpoint_error(edges, frames.column_names(edges), options) from None
    if endpoints[0] == endpoints[1]:
        raise GraphError(
            f"source and destination are the same column, {', '.join(map(repr, endpoints[0]))}; "
            "name two different ones",
            parameter="destination",
            column=endpoints[1][0],
        )
    if isinstance(weight, str) and weight in (*endpoints[0], *endpoints[1]):
        raise GraphError(
            f"weight is {weight!r}, a column that names vertices; name another one, or pass "
            "weight=None",
            parameter="weight",
            column=weight,
        )
    xp, num_rows = frames.common_array_module(sources + destinations), len(sources[0])
    lengths = {len(values) for values in sources + destinations}
    if len(lengths) > 1:
        raise GraphError(f"columns have different lengths: {sorted(lengths)}", parameter="edges")
    weights = None
    if weight is not None:
        weights = _read_weights(library, edges, weight, num_rows, xp)
    labels = vertex_labels(*endpoints)
    text_types: dict[str, Any] = {}
    for columns, names in zip((sources, destinations), endpoints, strict=True):
        for values, name in zip(columns, names, strict=True):
            check_names(values, name)
    if num_rows:
        check_name_kinds(labels, endpoints, sources, destinations)
    else:
        _unify_name_kinds(sources, destinations)
    for label, name in zip(labels, endpoints[0], strict=True):
        text_type = frames.arrow_text_type(edges, name)
        for column in ("predecessor", "label"):  # of results, which name vertices
            text_types[column + label.removeprefix("vertex")] = text_type
        text_types[label] = text_type
    is_endpoint_specific = [a != b for a, b in zip(*endpoints, strict=True)]
    return EdgeColumns(
        library, sources, destinations, weights, xp, labels, is_endpoint_specific, endpoints[0],
        text_types,
    )  # fmt: skip


def _read_weights(library: str, edges: Frame, weight: str, num_rows: int, xp: ArrayModule) -> Array:
    """Return the checked weights of a frame; errors in the default column say how to ignore it."""
    try:
        weights = check_weights(frames.get_column(edges, weight, "weight"), weight, xp)
    except GraphError as error:
        if not is_default_weight(weight):
            raise
        # Casts first: the hint becomes a part of the message.
        raise frames.with_casts_of(error, library).with_hint(FRAME_WEIGHT_HINT) from None
    if len(weights) != num_rows:
        raise GraphError(
            f"weights are {len(weights)}, rows {num_rows}", parameter="weight", column=weight
        )
    return weights


def read_partition_columns(number: int, edges: Frame, *options: Any) -> EdgeColumns:
    """Return the checked columns of a partition of a Dask frame; errors have its number.

    `edges` and `options` are the arguments of `read_columns`.
    """
    try:
        return read_columns(edges, *options)
    except GraphError as error:
        raise error.with_fields(partition=number) from None


def choose_partition_error(errors: Iterable[GraphError]) -> GraphError:
    """Return the error of the first partition, but errors about floats as names last.

    If integers are missing in one partition, pandas makes floats of those in all others. Only the
    error about the missing ones has a hint that works. Of other floats, fractions come first.
    """

    def order(error: GraphError) -> tuple[bool, bool, float]:
        is_whole = isinstance(error.value, float) and error.value.is_integer()
        number = math.inf if error.partition is None else error.partition
        return isinstance(error, VertexTypeError), is_whole, number

    return min(errors, key=order)


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
    filled = [values for values in arrays if len(values)]
    dtype = common_name_type(arrays, label)
    if ranges and not filled:
        dtype = np.dtype(np.int64)
    if dtype.kind not in "iu":
        if ranges:
            raise mixed_names_error(label)
        names = frames.distinct_text(filled, check) if filled else arrays[0]
        ids = [
            frames.encode_text(values, names) if len(values) else xp.empty(0, xp.int32)
            for values in arrays
        ]
        return names, None, check_vertex_count(len(names)), ids
    for values in filled:  # those of edges have been checked
        check_names(values, parameter="vertices")
    arrays = [values if len(values) else xp.empty(0, _integer_type(values)) for values in arrays]
    arrays = [values.astype(kernel_type(dtype), copy=False) for values in arrays]
    return _name_integers(arrays, ranges, dtype, xp, check)


def common_name_type(columns: Sequence[Column], label: str) -> Any:
    """Return the type of the names in several columns, as results have it.

    Parameters
    ----------
    columns : sequence of arrays or Series
        A column without rows may have any type.
    label : str
        The name column of results, for messages.

    Raises
    ------
    GraphError
        If no type holds all names.
    """
    filled = [values for values in columns if len(values)]
    are_numbers = [device.is_array(values) for values in filled]
    if not all(are_numbers):
        if any(are_numbers):
            raise mixed_names_error(label)
        library = frames.series_library(filled[0])
        return library.concat([values.iloc[:1] for values in filled]).dtype
    text = [values for values in columns if not device.is_array(values)]
    if text and not filled:
        return text[0].dtype
    dtype = np.result_type(*(_integer_type(values) for values in filled or columns))
    if dtype.kind == "f":  # int64 and uint64: int64 if it holds all values
        if any(values.dtype == np.uint64 and int(values.max()) >= 2**63 for values in filled):
            raise mixed_signs_error(label)
        dtype = np.dtype(np.int64)
    return dtype


def check_name_kinds(
    labels: Sequence[str],
    endpoints: Sequence[Sequence[str]],
    sources: Sequence[Column],
    destinations: Sequence[Column],
) -> None:
    """Raise GraphError if one endpoint is named by text and the other by numbers."""
    for label, pair, ends in zip(labels, zip(sources, destinations), zip(*endpoints), strict=True):
        are_numbers = [*map(device.is_array, pair)]
        if len({*are_numbers}) > 1:
            text, numbers = (ends[are_numbers.index(flag)] for flag in (False, True))
            raise mixed_names_error(label, text, numbers)


def _unify_name_kinds(sources: list[Column], destinations: list[Column]) -> None:
    """Convert text to integers, in place, where one of two columns without rows has integers."""
    for index, pair in enumerate(zip(sources, destinations, strict=True)):
        for columns, other in zip((sources, destinations), reversed(pair), strict=True):
            if device.is_array(other) and not device.is_array(columns[index]):
                columns[index] = device.array_module(other).empty(0, np.int64)


def mixed_names_error(
    label: str, text_column: str | None = None, number_column: str | None = None
) -> GraphError:
    """Return the error for names that are text and numbers, in columns that may be known."""
    hint = "convert one of them"
    columns = f": {text_column!r} has text, {number_column!r} numbers" if text_column else ""
    return GraphError(
        f"{label} names are text in one column and numbers in another{columns}; {hint}",
        column=text_column or label,
        hint=hint,
    )


def mixed_signs_error(label: str) -> GraphError:
    """Return the error for names of a column that no integer type holds."""
    return GraphError(
        f"{label} names are beyond 2^63 in one column and signed in another", column=label
    )


def kernel_type(dtype: Any) -> type[np.integer]:
    """Return the integer type that kernels have for names: int32, int64 or uint64."""
    if dtype == np.uint64:
        return np.uint64
    return np.int32 if dtype.itemsize < 4 or dtype == np.int32 else np.int64


def _integer_type(values: Column) -> Any:
    kind = getattr(values.dtype, "kind", "O")
    return values.dtype if kind in "iu" else np.dtype(np.int64)


def _name_integers(
    arrays: list[Array], ranges: list[range], dtype: Any, xp: ArrayModule, check: TableCheck
) -> tuple[Array | None, Any, int, list[Array]]:
    """Return what `_name_column` does, for arrays of one integer type."""
    filled = [values for values in arrays if values.size]
    low, high = device.value_range(filled) if filled else (0, -1)
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
    count = check_vertex_count(device.count_nonzero(is_present))
    if count == span and low == 0:
        return None, dtype, count, _as_ids(arrays, xp)
    table = device.accumulate(is_present, xp.int32)
    ids = []
    for values in arrays:
        ids.append(xp.empty(values.size, xp.int32))
        device.launch(
            "build", "translate", size=values.size,
            num_names=values.size, names=values, min_name=low, table=table, ids=ids[-1],
        )  # fmt: skip
    del table
    names = device.flatnonzero(is_present, xp.int64)
    names += low
    return names.astype(dtype, copy=False), dtype, count, ids


def _as_ids(arrays: list[Array], xp: ArrayModule) -> list[Array]:
    """Return names that are ids already as contiguous int32 arrays."""
    return [xp.ascontiguousarray(device.astype(values, xp.int32)) for values in arrays]
