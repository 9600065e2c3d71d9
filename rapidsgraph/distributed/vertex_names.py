"""Factorization of vertex names in several partitions: ids 0..n-1 in the order of the names.

Integer names in a range not much wider than the number of rows are marked in a bitmap of that
range, a partition at a time; the combined bitmap yields a table from names to ids. Other names are
factorized in each partition, the distinct names are merged, and each partition maps its own ids to
those of all. Integers that already are 0..n-1 are their own ids. An array over all names must fit
on a worker.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count, repeat
from typing import Any

import numpy as np

from .. import device
from ..device.arrays import Array, ArrayModule
from ..errors import GraphError
from ..frames import Frame
from ..graph.edge_columns import EdgeColumns, check_ids_in_range, name_vertices, read_columns
from ..graph.vertex_names import Labeling, VertexNames
from ..graph.weight_sums import total_weight
from ..validation import check_vertex_count, check_vertices
from .executor import Executor
from .partition import add_arrays

RANGE_SLACK = 1024  # how much wider than the number of rows a range of names may be


@dataclass
class PartitionStats:
    """What the client knows about the columns of a partition.

    Attributes
    ----------
    schema : EdgeColumns
        The columns' description without the columns: how vertices are named.
    num_rows : int
    types : list of str
        Types of the name columns that have rows, ``""`` for other types than integers.
    declared_types : list of str
        Types of all integer name columns, also without rows.
    min_name, max_name : int
        Bounds of integer names; 0 and -1 without any.
    weight_kind : str
        NumPy's kind of the weights' type.
    total_weight : int or float
        Exact for integers.
    is_on_gpu : bool
    """

    schema: EdgeColumns
    num_rows: int
    types: list[str]
    declared_types: list[str]
    min_name: int
    max_name: int
    weight_kind: str
    total_weight: int | float
    is_on_gpu: bool


def read_partition(frame: Frame, number: int, *options: Any) -> EdgeColumns:
    """Read the columns of a partition; errors name the partition."""
    try:
        return read_columns(frame, *options)
    except GraphError as error:
        raise _with_partition(error, number) from None


def read_extra_vertices(
    vertices: Any, num_columns: int, labels: list[str], is_on_gpu: bool
) -> EdgeColumns:
    """Read the names in the parameter `vertices` of a graph, as columns without edges."""
    xp = _array_module(is_on_gpu)
    columns = check_vertices(vertices, num_columns, labels, xp)
    assert isinstance(columns, list)  # counts and ranges from 0 have no names to read
    no_names = [values[:0] for values in columns]
    return EdgeColumns("", columns, no_names, None, xp, labels, [], [], {})


def compute_stats(columns: EdgeColumns) -> PartitionStats:
    """Return what the client needs to know about a partition."""
    endpoints = columns.sources + columns.destinations
    names = [values for values in endpoints if len(values)]
    types = [_integer_type(values) for values in names]
    are_integers = bool(types) and all(types)
    weights = columns.weights
    return PartitionStats(
        schema=replace(columns, sources=[], destinations=[], weights=None, xp=None),
        num_rows=len(columns.sources[0]),
        types=types,
        declared_types=[name for name in map(_integer_type, endpoints) if name],
        min_name=min(int(values.min()) for values in names) if are_integers else 0,
        max_name=max(int(values.max()) for values in names) if are_integers else -1,
        weight_kind="" if weights is None else weights.dtype.kind,
        total_weight=0 if weights is None else total_weight(weights),
        is_on_gpu=columns.xp is not np,
    )


def _integer_type(values: Any) -> str:
    return values.dtype.name if device.is_array(values) and values.dtype.kind in "iu" else ""


def _array_module(is_on_gpu: bool) -> ArrayModule:
    return device.import_cupy() if is_on_gpu else np


def factorize(
    executor: Executor,
    columns: list,
    stats: list[PartitionStats],
    extra: list,
    extra_stats: list[PartitionStats],
    vertices: range | None,
) -> tuple[Any, int, list]:
    """Number the vertices of all partitions.

    Parameters
    ----------
    executor : Executor
    columns : list of tasks
        EdgeColumns of each partition.
    stats : list of PartitionStats
    extra, extra_stats : list
        The same for names of vertices that may have no edges.
    vertices : range or None
        All names, where the caller passed a number of vertices or a range.

    Returns
    -------
    named : task of Labeling
    num_vertices : int
    endpoints : list of tasks
        int32 ids of sources and destinations in each partition.
    """
    all_stats, schema = stats + extra_stats, stats[0].schema
    types = {name for each in all_stats for name in each.types}
    nonempty = [each for each in all_stats if each.types]
    min_name = min((each.min_name for each in nonempty), default=0)
    max_name = max((each.max_name for each in nonempty), default=-1)
    if vertices is not None:
        if "" in types:
            raise GraphError(
                f"vertices is {vertices}, but {schema.labels[0]} names are not integers",
                parameter="vertices",
                column=schema.labels[0],
                value=vertices,
            )
        check_ids_in_range(min_name, max_name, len(vertices))
        min_name, max_name = 0, len(vertices) - 1
    else:
        max_width = 2 * sum(each.num_rows for each in all_stats) + RANGE_SLACK
        is_narrow = len(schema.labels) == 1 and "" not in types and max_name < 2**63
        if not is_narrow or max_name - min_name + 1 > max_width:
            return _factorize_by_merging(executor, columns, extra, schema)
    bitmap = table = None
    if vertices is None:
        width = max_name - min_name + 1
        bitmaps = executor.map(
            _mark_names, columns + extra, repeat(min_name), repeat(width), name="mark-names"
        )
        bitmap = executor.tree_reduce(add_arrays, bitmaps, "mark-names")
        [num_vertices] = executor.gather([executor.submit(_count, bitmap, name="count-names")])
        if num_vertices < width or min_name:
            table = executor.submit(_build_table, bitmap, name="number-names")
    else:
        num_vertices = len(vertices)
    check_vertex_count(num_vertices)
    labeling = executor.submit(
        _label_integers, schema, bitmap if table is not None else None, num_vertices, min_name,
        _name_type(types, all_stats, max_name), any(each.is_on_gpu for each in stats),
        name="name-vertices",
    )  # fmt: skip
    endpoints = executor.map(
        _translate, columns, repeat(min_name), repeat(table), name="look-up-names"
    )
    return labeling, num_vertices, endpoints


def _name_type(types: set[str], stats: list[PartitionStats], max_name: int) -> np.dtype:
    types = types or {name for each in stats for name in each.declared_types}
    dtype = np.result_type(*types) if types else np.dtype(np.int64)
    fits = dtype.kind in "iu" and max_name <= np.iinfo(dtype).max
    return dtype if fits else np.dtype(np.int64)


def _factorize_by_merging(
    executor: Executor, columns: list, extra: list, schema: EdgeColumns
) -> tuple[Any, int, list]:
    local = executor.map(_factorize_locally, columns + extra, count(), name="name-locally")
    names = executor.map(_get_names, local, name="distinct-names")
    merged = executor.tree_reduce(_merge_names, names, "merge-names")
    [num_vertices] = executor.gather([executor.submit(_count_names, merged, name="count-names")])
    check_vertex_count(num_vertices)
    labeling = executor.submit(_label_merged, schema, merged, name="name-vertices")
    endpoints = executor.map(_look_up, local[: len(columns)], repeat(merged), name="look-up-names")
    return labeling, num_vertices, endpoints


# Tasks for integers in a narrow range


def _mark_names(columns: EdgeColumns, min_name: int, width: int) -> Array:
    xp = columns.xp
    bitmap = xp.zeros(width, bool)
    for values in (*columns.sources, *columns.destinations):
        if len(values):
            names = _widen(values, xp)
            device.launch(
                "build", "mark_present", size=names.size,
                num_names=names.size, names=names, min_name=min_name, is_present=bitmap,
            )  # fmt: skip
    return bitmap


def _widen(values: Array, xp: ArrayModule) -> Array:
    """Return names in one of the integer types that kernels have: int32, int64 or uint64."""
    dtype = xp.int64
    if values.dtype == np.uint64:
        dtype = xp.uint64
    elif values.dtype.itemsize < 4 or values.dtype == np.int32:
        dtype = xp.int32
    return xp.ascontiguousarray(values.astype(dtype, copy=False))


def _count(bitmap: Array) -> int:
    return int(bitmap.sum())


def _build_table(bitmap: Array) -> Array:
    """Return the id of each name of the range, minus 1 of none: int32."""
    table = device.array_module(bitmap).cumsum(bitmap, dtype=np.int32)
    table -= 1
    return table


def _translate(columns: EdgeColumns, min_name: int, table: Array | None) -> tuple[Array, ...]:
    """Return int32 ids of both endpoints."""
    xp, endpoints = columns.xp, []
    for [values] in (columns.sources, columns.destinations):
        if not len(values):
            endpoints.append(xp.empty(0, xp.int32))
        elif table is None:
            endpoints.append(xp.ascontiguousarray(values.astype(xp.int32, copy=False)))
        else:
            names, ids = _widen(values, xp), xp.empty(values.size, xp.int32)
            device.launch(
                "build", "translate", size=names.size,
                num_names=names.size, names=names, min_name=min_name, table=table, ids=ids,
            )  # fmt: skip
            endpoints.append(ids)
    return tuple(endpoints)


def _label_integers(
    schema: EdgeColumns,
    bitmap: Array | None,
    num_vertices: int,
    min_name: int,
    dtype: np.dtype,
    is_on_gpu: bool,
) -> Labeling:
    column = None
    if bitmap is not None:
        column = (device.array_module(bitmap).flatnonzero(bitmap) + min_name).astype(dtype)
    names = VertexNames(schema.labels, [column], num_vertices, dtype=dtype)
    return schema.labeling(names, _array_module(is_on_gpu))


# Tasks for other names


def _factorize_locally(columns: EdgeColumns, number: int) -> tuple[VertexNames, Array, Array, bool]:
    """Return the names of one partition, int32 sources and destinations, and whether on a GPU."""
    try:
        names, sources, destinations = name_vertices(
            columns.sources, columns.destinations, None, columns.labels, columns.xp
        )
    except GraphError as error:
        raise _with_partition(error, number) from None
    return names, sources, destinations, columns.xp is not np


def _get_names(
    local: tuple[VertexNames, Array, Array, bool],
) -> tuple[VertexNames, list, bool]:
    """Return the names of one partition, their columns, and whether they are on a GPU."""
    names, _, _, is_on_gpu = local
    return names, list(names.columns(_array_module(is_on_gpu)).values()), is_on_gpu


def _merge_names(
    *partitions: tuple[VertexNames, list, bool],
) -> tuple[VertexNames, list, bool]:
    (names, columns, is_on_gpu), *others = partitions
    xp = _array_module(is_on_gpu)
    for _, other_columns, _ in others:
        names, *_ = name_vertices(columns, other_columns, None, names.labels, xp)
        columns = list(names.columns(xp).values())
    return names, columns, is_on_gpu


def _count_names(merged: tuple[VertexNames, list, bool]) -> int:
    return merged[0].count


def _look_up(
    local: tuple[VertexNames, Array, Array, bool], merged: tuple[VertexNames, list, bool]
) -> tuple[Array, Array]:
    """Return int32 ids of both endpoints from the ids within the partition."""
    names, sources, destinations, is_on_gpu = local
    if not names.count:
        return sources, destinations
    xp = _array_module(is_on_gpu)
    ids = merged[0].ids(list(names.columns(xp).values()), xp, "names")
    return ids[sources], ids[destinations]


def _label_merged(schema: EdgeColumns, merged: tuple[VertexNames, list, bool]) -> Labeling:
    names, _, is_on_gpu = merged
    return schema.labeling(names, _array_module(is_on_gpu))


def _with_partition(error: GraphError, number: int) -> GraphError:
    """Return an error whose message names the partition of the frame."""
    return GraphError(
        f"partition {number} of the Dask frame: {error}",
        parameter=error.parameter,
        column=error.column,
        row=error.row,
        value=error.value,
        path=error.path,
        hint=error.hint,
    )
