"""Name the vertices of an edge list: find the distinct names in its columns, and the id of each.

Integers in a range not much wider than the number of rows are looked up in a table over that range;
other integers, and text, are factorized. Names of several columns are factorized column by column,
and then the tuples of ids as integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array, ArrayModule
from ..errors import GraphError
from ..frames import Column
from ..validation import check_vertex_count
from .name_table import as_ids, name_by_table
from .vertex_names import VertexNames, check_names

# Called with (count, nbytes) before a table of names is built on a CPU; may raise.
TableCheck = Callable[[int, int], None] | None


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
            f"vertices is range({stop}), but an edge has the vertex {value}",
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
    columns: Sequence[Any], label: str, xp: ArrayModule, check: TableCheck
) -> tuple[Column | None, Any, int, list[Array]]:
    """Return (sorted names or None, dtype, count, int32 ids of each column except a range)."""
    arrays = [values for values in columns if not isinstance(values, range)]
    ranges = [values for values in columns if isinstance(values, range)]
    filled = [values for values in arrays if len(values)]
    check_name_kind(name_kinds(columns[2:]), name_kinds(columns[:2]), label)
    dtype = common_name_type(arrays, label)
    if ranges and not filled:
        dtype = np.dtype(np.int64)
    if dtype.kind not in "iu":
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
    if xp is not np:  # kernels read names in order; a column of a matrix is strided
        arrays = [xp.ascontiguousarray(values) for values in arrays]
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


def name_kinds(columns: Iterable[Any]) -> set[str]:
    """Return the kinds of names, "numbers" and "text", in ranges and in columns that have rows."""
    return {
        "numbers" if isinstance(values, range) or device.is_array(values) else "text"
        for values in columns
        if isinstance(values, range) or len(values)
    }


def check_name_kind(vertex_kinds: set[str], edge_kinds: set[str], label: str) -> None:
    """Raise GraphError if names in `vertices` are text and those in edges numbers, or vice versa.

    Parameters
    ----------
    vertex_kinds, edge_kinds : set of str
        The kinds in `vertices` and in the edges, as from `name_kinds`.
    label : str
        The name column of results.
    """
    if len(edge_kinds) != 1 or not vertex_kinds - edge_kinds:
        return
    [edge_kind], [kind, *_] = edge_kinds, vertex_kinds - edge_kinds
    hint = f"pass {edge_kind} as vertices, or convert those of the edges to {kind}"
    raise GraphError(
        f"{{parameter}}: {label} names are {kind}, and {edge_kind} in the edges; {hint}",
        parameter="vertices",
        column=label,
        hint=hint,
    )


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
    hint = "convert both columns to uint64, or to text if some names are negative"
    return GraphError(
        f"{label} names are beyond 2^63 in one column and signed in another; {hint}",
        column=label,
        hint=hint,
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
    if ranges:
        stop = len(ranges[0])
        filled = [values for values in arrays if values.size]
        check_ids_in_range(*(device.value_range(filled) if filled else (0, -1)), stop)
        dtype = dtype if stop <= np.iinfo(dtype).max + 1 else np.dtype(np.int64)
        return None, dtype, check_vertex_count(stop), as_ids(arrays, xp)
    named = name_by_table(arrays, dtype, xp)
    if named is None:
        names = frames.distinct_numbers(arrays, xp, check)
        ids = [frames.encode_numbers(values, names, xp) for values in arrays]
        named = names, check_vertex_count(names.size), ids
    names, count, ids = named
    if names is not None:  # a table has names below 2^63
        names = names.view(dtype) if dtype == np.uint64 else names.astype(dtype, copy=False)
    return names, dtype, count, ids
