"""Factorization of vertex names on several ranks: ids 0..n-1 in the order of the names.

Integers in a range not much wider than the number of rows are marked in a bitmap of that range; the
union of all bitmaps yields a table from names to ids. Of other names each rank finds its distinct
ones, and all ranks merge them. Names of several columns are factorized column by column, and then
the tuples of ids as integers. Integers that already are 0..n-1 are their own ids. Every rank has
the names of all vertices, which must fit in its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import device, frames
from ..device.arrays import Array, ArrayModule
from ..frames import Column
from ..graph.edge_columns import EdgeColumns
from ..graph.vertex_names import VertexNames
from ..graph.vertex_naming import (
    check_ids_in_range,
    check_name_kind,
    kernel_type,
    mixed_names_error,
    mixed_signs_error,
)
from ..validation import MAX_UNUSED_NAMES, check_vertex_count
from .communicator import Communicator


@dataclass(frozen=True)
class NameStats:
    """Statistics of a name column over all rows, which every rank receives.

    Attributes
    ----------
    num_names : int
        Number of values in all columns of sources, destinations and additional vertices.
    types : frozenset of str
        Types of the columns that have rows; ``""`` stands for text.
    declared_types : frozenset of str
        Types of all columns of integers or text, also without rows.
    min_name, max_name : int
        Bounds of integer names; 0 and -1 without any.
    """

    num_names: int
    types: frozenset[str]
    declared_types: frozenset[str]
    min_name: int
    max_name: int


def compute_name_stats(columns: Sequence[Column]) -> NameStats:
    """Return the statistics of columns that belong to one name column."""
    filled = [values for values in columns if len(values)]
    typed = [v for v in columns if not device.is_array(v) or v.dtype.kind in "iu"]
    types = frozenset(map(_integer_type, filled))
    integers = [values for values in filled if _integer_type(values)]
    return NameStats(
        sum(map(len, filled)),
        types,
        frozenset(map(_integer_type, typed)),
        min((int(values.min()) for values in integers), default=0),
        max((int(values.max()) for values in integers), default=-1),
    )


def merge_name_stats(stats: Sequence[NameStats]) -> NameStats:
    """Return the statistics of all rows."""
    filled = [entry for entry in stats if entry.types - {""}]
    return NameStats(
        sum(entry.num_names for entry in stats),
        frozenset().union(*(entry.types for entry in stats)),
        frozenset().union(*(entry.declared_types for entry in stats)),
        min((entry.min_name for entry in filled), default=0),
        max((entry.max_name for entry in filled), default=-1),
    )


def _integer_type(values: Column) -> str:
    return values.dtype.name if device.is_array(values) and values.dtype.kind in "iu" else ""


def number_vertices(
    communicator: Communicator,
    columns: Sequence[EdgeColumns],
    stats: Sequence[NameStats],
    labels: list[str],
    vertices: range | None,
    xp: ArrayModule,
) -> tuple[VertexNames, Array]:
    """Number the vertices of all ranks.

    Parameters
    ----------
    communicator : Communicator
    columns : sequence of EdgeColumns
        Of the edge frames of this rank; additional vertices are sources without destinations.
    stats : sequence of NameStats
        Of each name column.
    labels : list of str
        The name columns.
    vertices : range or None
        All names, where the caller passed a number of vertices or a range.
    xp : module
        NumPy or CuPy.

    Returns
    -------
    names : VertexNames
        Of all vertices of the graph.
    ids : int32 array
        Of all sources, and then of all destinations, in the order of `columns`.
    """
    distinct: list[Any] = []
    pairs: list[Array] = []
    ids: Any = None
    dtype = None
    for column, (label, column_stats) in enumerate(zip(labels, stats, strict=True)):
        values = [edge_columns.sources[column] for edge_columns in columns]
        values += [edge_columns.destinations[column] for edge_columns in columns]
        names, dtype, count, positions = _name_column(
            communicator, values, column_stats, label, vertices, xp
        )
        distinct.append(xp.arange(count, dtype=dtype) if names is None and labels[1:] else names)
        if ids is None:
            ids = positions
            continue
        packed = ids.astype(xp.int64)
        packed *= count
        packed += positions
        pairs.append(_distinct_numbers(communicator, [packed], xp))
        count = check_vertex_count(pairs[-1].size)
        ids = frames.encode_numbers(packed, pairs[-1], xp)
    return VertexNames(labels, distinct, count, pairs, dtype), ids


def _name_column(
    communicator: Communicator,
    columns: list[Column],
    stats: NameStats,
    label: str,
    vertices: range | None,
    xp: ArrayModule,
) -> tuple[Column | None, Any, int, Array]:
    """Return (sorted names or None for 0..count-1, their type, count, int32 ids of `columns`)."""
    is_empty_text = not stats.types and vertices is None and stats.declared_types == {""}
    if "" in stats.types or is_empty_text:
        if vertices is not None:
            check_name_kind({"numbers"}, {"text"}, label)
        if len(stats.types) > 1:
            raise mixed_names_error(label)
        names, ids = _name_text(communicator, columns, xp)
        return names, None, check_vertex_count(len(names)), ids
    min_name, max_name = stats.min_name, stats.max_name
    if vertices is not None:
        check_ids_in_range(min_name, max_name, len(vertices))
        min_name, max_name = 0, len(vertices) - 1
    dtype = _name_type(stats, max_name, label)
    width, bitmap = max_name - min_name + 1, None
    if vertices is not None:
        count = check_vertex_count(len(vertices))
    elif width > stats.num_names + MAX_UNUSED_NAMES or max_name >= 2**63:
        common = kernel_type(dtype)
        arrays = [values.astype(common, copy=False) for values in columns if len(values)]
        values = xp.concatenate(arrays) if arrays else xp.empty(0, common)
        del arrays
        names = _distinct_numbers(communicator, [values], xp)
        ids = frames.encode_numbers(values, names, xp)
        return names.astype(dtype, copy=False), dtype, check_vertex_count(names.size), ids
    else:
        bitmap = communicator.all_reduce(_mark_names(columns, min_name, width, xp), "max")
        count = check_vertex_count(device.count_nonzero(bitmap))
    if bitmap is None or (count == width and not min_name):
        return None, dtype, count, _translate(columns, 0, None, xp)
    table = xp.cumsum(bitmap, dtype=xp.int32)
    table -= 1
    ids = _translate(columns, min_name, table, xp)
    del table
    names = xp.flatnonzero(bitmap)
    names += min_name
    return names.astype(dtype, copy=False), dtype, count, ids


def _name_type(stats: NameStats, max_name: int, label: str) -> np.dtype:
    """Return the type of the names of a column of integers."""
    types = (stats.types or stats.declared_types) - {""}
    dtype = np.result_type(*types) if types else np.dtype(np.int64)
    if dtype.kind == "f" and max_name >= 2**63:  # int64 and uint64
        raise mixed_signs_error(label)
    fits = dtype.kind in "iu" and max_name <= np.iinfo(dtype).max
    return dtype if fits else np.dtype(np.int64)


def _name_text(
    communicator: Communicator, columns: list[Column], xp: ArrayModule
) -> tuple[Column, Array]:
    """Return the sorted names of all ranks, and the int32 ids of this rank's columns."""
    filled = [values for values in columns if len(values)]
    distinct_names = frames.distinct_text(filled) if filled else next(iter(columns), None)
    by_rank = communicator.all_gather_object(distinct_names)
    gathered = [names for names in by_rank if names is not None]
    gathered = [names for names in gathered if len(names)] or gathered[:1]
    names = gathered[0] if len(gathered) == 1 else frames.distinct_text(gathered)
    if not filled:
        return names, xp.empty(0, xp.int32)
    values = frames.series_library(names).concat(filled) if filled[1:] else filled[0]
    return names, frames.encode_text(values, names)


def _distinct_numbers(communicator: Communicator, arrays: list[Array], xp: ArrayModule) -> Array:
    """Return the sorted distinct integers of all ranks."""
    distinct_names = frames.distinct_numbers(arrays, xp)
    if communicator.size == 1:
        return distinct_names
    return frames.distinct_numbers([communicator.all_gather(distinct_names)], xp)


def _mark_names(columns: list[Column], min_name: int, width: int, xp: ArrayModule) -> Array:
    """Return whether each integer of a range occurs."""
    bitmap = xp.zeros(width, bool)
    for values in columns:
        if len(values):
            names = _widen(values, xp)
            device.launch(
                "build", "mark_present", size=names.size,
                num_names=names.size, names=names, min_name=min_name, is_present=bitmap,
            )  # fmt: skip
    return bitmap


def _translate(columns: list[Column], min_name: int, table: Array | None, xp: ArrayModule) -> Array:
    """Return the int32 ids of all values, which are the names themselves without a table."""
    ids, start = xp.empty(sum(map(len, columns)), xp.int32), 0
    for values in columns:
        if not len(values):
            continue
        column_ids, start = ids[start : start + len(values)], start + len(values)
        if table is None:
            column_ids[:] = values
        else:
            names = _widen(values, xp)
            device.launch(
                "build", "translate", size=names.size,
                num_names=names.size, names=names, min_name=min_name, table=table, ids=column_ids,
            )  # fmt: skip
    return ids


def _widen(values: Array, xp: ArrayModule) -> Array:
    return xp.ascontiguousarray(values.astype(kernel_type(values.dtype), copy=False))
