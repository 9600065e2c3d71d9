"""Arguments that name vertices, or give values of some, converted to vertex ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set, ValuesView
from typing import Any

import numpy as np

from .. import frames
from ..device import Array
from ..errors import GraphError, VertexNotFoundError, format_value
from ..validation import reject
from .vertex_names import Labeling

MAX_SUMMABLE = 2.0**900  # as many values as there may be sum to less than the largest double


def resolve_vertices(labeling: Labeling, vertices: Any, parameter: str = "source") -> Array:
    """Return the ids of the vertices that a caller names: int32, ascending, each once.

    Parameters
    ----------
    labeling : Labeling
    vertices : vertex, or several
        A name, or a list, tuple, set, range, array or Series of names, or a frame of the graph's
        name columns (`vertex`). Where several columns name a vertex: a tuple of its names, a list
        of such tuples, or a frame, whose columns may also be called like the edges' sources.
    parameter : str
        Name of the parameter, for messages.

    Raises
    ------
    GraphError
        If no vertex is named, one is not in the graph, or the argument cannot name any.
    """
    vertices = frames.compute_if_dask(vertices)
    if frames.is_frame(vertices):
        _, table = frames.normalize_frame(vertices)
    else:
        table = _tabulate(labeling, vertices, parameter)
    ids = labeling.ids(table, parameter, _name_columns(labeling, table))
    if not ids.size:
        raise GraphError("{parameter} is empty; name at least one vertex", parameter=parameter)
    return ids if ids.size == 1 else labeling.xp.unique(ids)


def _name_columns(labeling: Labeling, table: Any) -> Sequence[str]:
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
    elif isinstance(vertices, (Set, ValuesView, Iterator)):
        vertices = list(vertices)
    is_scalar = isinstance(vertices, (str, bytes)) or not hasattr(vertices, "__len__")
    if is_scalar or getattr(vertices, "ndim", 1) == 0:
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


def resolve_vertex_values(labeling: Labeling, values: Any, parameter: str) -> Array:
    """Return a caller's values by id, 0 for vertices without one; see `read_vertex_values`."""
    ids, array = read_vertex_values(labeling, values, parameter)
    by_id = labeling.xp.zeros(labeling.num_vertices)
    by_id[ids] = array
    return by_id


def read_vertex_values(labeling: Labeling, values: Any, parameter: str) -> tuple[Array, Array]:
    """Return the ids of some vertices and a caller's values, scaled to a sum of 1.

    Parameters
    ----------
    labeling : Labeling
    values : frame or dict
        A frame of the graph's name columns (`vertex`, or as in `resolve_vertices`) and one column
        of values, whatever it is called; or a dict from vertex to value.
    parameter : str
        Name of the parameter, for messages.

    Returns
    -------
    ids : int32 array
    values : float64 array

    Raises
    ------
    GraphError
        If a vertex is absent or given twice, a value is negative, NaN or infinite, or none is above
        0; the error has the row.
    """
    xp, values = labeling.xp, frames.compute_if_dask(values)
    if isinstance(values, Mapping) and not any(_is_column(each) for each in values.values()):
        values = _tabulate_values(values, labeling.names.labels, parameter)
    if not frames.is_frame(values):
        kind = f"{type(values).__module__}.{type(values).__name__}"
        raise GraphError(
            f"{{parameter}} is a {kind}; give a dict of values by vertex (a Series has "
            ".to_dict()), or a frame with the vertex names and one column of values",
            parameter=parameter,
        )
    _, table = frames.normalize_frame(values)
    names, columns = _name_columns(labeling, table), frames.column_names(table)
    others = [name for name in columns if name not in names]
    if len(others) != 1 and set(names) <= set(columns):
        raise GraphError(
            f"{{parameter}} needs the columns {', '.join(map(str, names))} and one of values; it "
            f"has {', '.join(map(str, columns))}",
            parameter=parameter,
        )
    ids = labeling.ids(table, parameter, names)
    array = frames.to_device(frames.get_column(table, others[0], "values", parameter), xp)
    if not isinstance(array, (np.ndarray, xp.ndarray)) or array.dtype.kind not in "iuf":
        raise GraphError(
            "{parameter}: {column} holds text; it must hold numbers",
            parameter=parameter,
            column=others[0],
        )
    if len(array) != len(ids):
        raise GraphError(
            f"{{parameter}} has {len(ids)} vertices and {len(array)} values", parameter=parameter
        )
    with np.errstate(over="ignore"):  # what is beyond double precision is refused as infinite
        array = xp.asarray(array, dtype=xp.float64)
    is_invalid = ~(array >= 0) | (array == np.inf)
    if bool(is_invalid.any()):
        row = int(is_invalid.argmax())
        raise GraphError(
            f"{{parameter}}: the value in row {{row}} is {float(array[row])}; it must be finite "
            "and not negative",
            parameter=parameter,
            column=others[0],
            row=row,
            value=float(array[row]),
        )
    sorted_ids = xp.sort(ids)
    repeated = sorted_ids[1:][sorted_ids[1:] == sorted_ids[:-1]]
    if repeated.size:
        raise GraphError(
            "{parameter}: the vertex in row {row} is given more than once",
            parameter=parameter,
            row=int((ids == repeated[0]).argmax()),
        )
    largest = float(array.max()) if array.size else 0.0
    if not largest:
        raise GraphError(
            "{parameter}: the values sum to 0.0; at least one must be above 0", parameter=parameter
        )
    if largest > MAX_SUMMABLE:  # their sum may be infinite
        array = array / largest
    return ids, array / float(array.sum())


def _is_column(values: Any) -> bool:
    return hasattr(values, "__len__") and not isinstance(values, str)


def _tabulate_values(
    values: Mapping[Any, Any], labels: Sequence[str], parameter: str
) -> dict[str, Any]:
    if not values:
        raise GraphError(
            "{parameter} is empty; name at least one vertex, or leave it out", parameter=parameter
        )
    if len(labels) > 1:
        raise GraphError(
            f"{{parameter}} must be a frame: vertices are named by {', '.join(labels)}",
            parameter=parameter,
        )
    array = np.empty(len(values))
    for row, (vertex, value) in enumerate(values.items()):
        try:
            array[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise GraphError(
                f"{{parameter}} must be a frame with the column {labels[0]!r} and one of values, "
                f"or a dict from vertex to number; the value of {format_value(vertex)} is "
                f"{format_value(value)}",
                parameter=parameter,
                row=row,
                value=value,
            ) from None
    return {labels[0]: list(values), "value": array}
