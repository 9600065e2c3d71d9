"""Arguments that name vertices: those of a `Graph` to build, and vertex ids of those of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set, ValuesView
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array, ArrayModule
from ..errors import GraphError, VertexNotFoundError, format_value
from ..validation import check_vertex_count, is_integral, reject
from .vertex_names import Labeling


def resolve_vertices(
    labeling: Labeling,
    vertices: Any,
    parameter: str = "source",
    *,
    may_be_empty: bool = False,
    wait: bool = True,
) -> Array:
    """Return the ids of the vertices that a caller names: int32, ascending, each once.

    The parameters and errors are those of `find_vertices`.
    """
    ids = find_vertices(labeling, vertices, parameter, may_be_empty=may_be_empty, wait=wait)
    return ids if ids.size == 1 else labeling.xp.unique(ids)


def find_vertices(
    labeling: Labeling,
    vertices: Any,
    parameter: str,
    *,
    may_be_empty: bool = False,
    wait: bool = True,
) -> Array:
    """Return the ids of the vertices that a caller names: int32, in the order of the argument.

    Parameters
    ----------
    labeling : Labeling
    vertices : vertex, or several
        A name, or a list, tuple, set, range, array or Series of names, or a frame of the graph's
        name columns (`vertex`). Where several columns name a vertex: a tuple of its names, a list
        of such tuples, or a frame, whose columns may also be called like the edges' sources.
    parameter : str
        Name of the parameter, for messages.
    may_be_empty : bool, default False
        Whether no vertex may be named.
    wait : bool, default True
        Whether to wait for a GPU that finds an integer. Otherwise the id may be -1, which means
        that the vertex is not in the graph.

    Raises
    ------
    GraphError
        If no vertex is named, one is not in the graph, or the argument cannot name any.
    """
    names, vertex = labeling.names, id_of_integer(labeling, vertices)
    if vertex is not None:  # a table of it would take longer than a search of a small graph
        return device.full(1, vertex, np.int32, labeling.xp)
    if type(vertices) is int and len(names.labels) == 1 and device.is_on_gpu(names.distinct[0]):
        found = _find_on_gpu(vertices, names.distinct[0], wait)
        if found is not None:
            return found
    table, columns = tabulate_vertices(labeling, vertices, parameter)
    return find_ids(labeling, table, columns, parameter, may_be_empty=may_be_empty)


def id_of_integer(labeling: Labeling, vertices: Any) -> int | None:
    """Return the id of an integer that names a vertex where names are ids, else None."""
    names = labeling.names
    is_id = type(vertices) is int and names.distinct[0] is None and 0 <= vertices < names.count
    return vertices if is_id else None


def _find_on_gpu(vertex: int, names: Array, wait: bool) -> Array | None:
    """Return the id of a vertex as an array, or None if names have other types.

    If the vertex is absent, return None after waiting, or else -1.
    """
    if names.dtype not in (np.int32, np.int64) or not -(2**63) <= vertex < 2**63:
        return None
    ids = device.array_module(names).empty(1, np.int32)
    device.launch(
        "build", "find_name", size=1, value=vertex, num_names=names.size, names=names, ids=ids
    )
    return ids if not wait or ids.item() >= 0 else None


def tabulate_vertices(
    labeling: Labeling, vertices: Any, parameter: str
) -> tuple[Any, Sequence[str]]:
    """Return a table of the vertices that a caller names, and its name columns.

    The parameters and errors are those of `find_vertices`.
    """
    vertices = list_vertices(vertices)
    if frames.is_frame(vertices):
        _, table = frames.normalize_frame(vertices)
    else:
        table = _tabulate(labeling, vertices, parameter)
    return table, find_name_columns(labeling, table)


def list_vertices(vertices: Any) -> Any:
    """Return an argument of `find_vertices` in memory, in a form that can be read repeatedly."""
    vertices = frames.compute_if_dask(vertices)
    return list(vertices) if isinstance(vertices, (Set, ValuesView, Iterator)) else vertices


def find_ids(
    labeling: Labeling,
    table: Any,
    columns: Sequence[str],
    parameter: str,
    *,
    may_be_empty: bool = False,
) -> Array:
    """Return the ids of the vertices in the rows of a table of `tabulate_vertices`."""
    ids = labeling.ids(table, parameter, columns)
    if not ids.size and not may_be_empty:
        raise GraphError("{parameter} is empty; name at least one vertex", parameter=parameter)
    return ids


def is_one_vertex(labeling: Labeling, vertices: Any) -> bool:
    """Return whether an argument of `find_vertices` is one vertex rather than several."""
    if isinstance(vertices, tuple):
        return len(labeling.names.labels) > 1
    return is_scalar(vertices)


def is_scalar(vertices: Any) -> bool:
    """Return whether an argument is no collection, frame or array of vertices."""
    is_sized = hasattr(vertices, "__len__") or isinstance(vertices, Iterator)
    is_sized |= frames.is_frame(vertices) or frames.is_dask(vertices)
    return isinstance(vertices, (str, bytes)) or not is_sized or getattr(vertices, "ndim", 1) == 0


def find_name_columns(labeling: Labeling, table: Any) -> Sequence[str]:
    """Return the name columns of a table: called as in results or, if several, as in edges."""
    labels, source_columns = labeling.names.labels, labeling.source_columns
    columns = set(frames.column_names(table))
    is_named_as_in_edges = (
        len(source_columns) > 1
        and columns.issuperset(source_columns)
        and not columns.issuperset(labels)
    )
    return source_columns if is_named_as_in_edges else labels


def _tabulate(labeling: Labeling, vertices: Any, parameter: str) -> dict[str, Any]:
    """Return {label: names} of vertices that are not in a frame."""
    labels = labeling.names.labels
    if vertices is None or isinstance(vertices, (bool, np.bool_)):
        reject(parameter, vertices, "name a vertex, or several in a list")
    if isinstance(vertices, range):
        # A range names more vertices than it may have only if one of them is absent.
        vertices = list(vertices[: labeling.num_vertices + 1])
    if is_scalar(vertices):
        is_boxed = isinstance(vertices, np.ndarray) and vertices.dtype.kind in "OT"
        vertices = [vertices.item() if is_boxed else vertices]
    if len(labels) == 1:
        table = {labels[0]: list(vertices) if isinstance(vertices, tuple) else vertices}
        if isinstance(vertices, list) and any(isinstance(name, bool) for name in vertices):
            reject(parameter, vertices, "True and False are no vertices")
    else:
        tuples = [vertices] if isinstance(vertices, tuple) else list(vertices)
        are_tuples = [isinstance(v, (tuple, list)) and len(v) == len(labels) for v in tuples]
        if not all(are_tuples):
            raise GraphError(
                f"{{parameter}}: a vertex is named by {', '.join(labels)}; give a tuple of "
                f"{len(labels)}, a list of such tuples, or a frame of these columns",
                parameter=parameter,
            )
        table = {label: [names[i] for names in tuples] for i, label in enumerate(labels)}
    for name in (name for names in table.values() for name in _beyond_64_bits(names)):
        raise VertexNotFoundError(
            f"{{parameter}}: vertex {format_value(name)} is not in the graph",
            parameter=parameter,
            value=name,
        )
    for row in _mixed_sign_rows(table):  # in a graph all names are of one type: one is absent
        labeling.ids({label: [names[row]] for label, names in table.items()}, parameter)
    for label in labels:
        try:
            table[label] = frames.get_column(table, label, "vertex")
        except GraphError as error:  # about a column that the caller has not named
            raise error.with_fields(parameter=parameter, column=None) from None
    return table


def _beyond_64_bits(names: Any) -> list[int]:
    """Return the integers of a list that no integer type of NumPy can represent."""
    if not isinstance(names, list):
        return []
    return [name for name in names if isinstance(name, int) and not -(2**63) <= name < 2**64]


def _mixed_sign_rows(table: Mapping[str, Any]) -> tuple[int, ...]:
    """Return rows of a negative integer and of one beyond 2^63, if a column has both."""
    for names in table.values():
        if isinstance(names, list) and all(isinstance(n, (int, np.integer)) for n in names):
            low, high = min(names, default=0), max(names, default=0)
            if low < 0 and high >= 2**63:
                return names.index(low), names.index(high)
    return ()


def check_vertex_range(vertices: Any, num_columns: int) -> Any:
    """Return `vertices` with a count as a range; check a range, and leave anything else alone.

    Parameters
    ----------
    vertices : int, range or object
    num_columns : int
        Number of columns that name a vertex.

    Raises
    ------
    GraphError
        A range has a step or a negative end, is too long, or stands for names of several columns.
    """
    if is_integral(vertices):
        vertices = range(int(vertices)) if vertices >= 0 else vertices
    if isinstance(vertices, range):
        if num_columns > 1:
            raise GraphError(
                f"vertices={format_value(vertices)} names vertices by integers, and {num_columns} "
                "columns name them in the edges; pass a frame of these columns",
                parameter="vertices",
                value=vertices,
            )
        if vertices.start < 0 or vertices.step != 1 or vertices.stop < 0:
            raise GraphError(
                f"vertices={format_value(vertices)} must be range(n) or range(start, stop), for "
                "single integer names",
                parameter="vertices",
                value=vertices,
            )
        check_vertex_count(vertices.stop - vertices.start, f"vertices={format_value(vertices)}: ")
    return vertices


def check_vertices(
    vertices: Any, num_columns: int, labels: Sequence[str], xp: ArrayModule
) -> range | list | None:
    """Return the argument `vertices` of `Graph` as a range or as a list of name columns."""
    if vertices is None:
        return None
    vertices = check_vertex_range(vertices, num_columns)
    if isinstance(vertices, range):
        if vertices.start:
            return [xp.arange(vertices.start, vertices.stop)]
        return vertices
    is_scalar = isinstance(vertices, bytes) or not hasattr(vertices, "__len__")
    if isinstance(vertices, str) or (is_scalar and not hasattr(vertices, "__arrow_c_stream__")):
        reject("vertices", vertices, "it can be a count, range(n), or names")
    if frames.is_frame(vertices):
        _, table = frames.normalize_frame(vertices)
        columns = frames.column_names(table)
        names = labels if set(labels) <= set(columns) else columns[:num_columns]
    elif num_columns == 1:  # the names themselves
        table, columns, names = {"vertices": vertices}, ["vertices"], ["vertices"]
    else:
        raise GraphError(
            f"vertices must be a frame of the {num_columns} columns {', '.join(labels)}",
            parameter="vertices",
        )
    if len(names) < num_columns:
        raise GraphError(
            f"vertices must have the columns {', '.join(labels)}; it has {columns}",
            parameter="vertices",
        )
    arrays = [frames.get_column(table, name, "vertex", "vertices") for name in names]
    return [frames.to_device(values, xp) for values in arrays]
