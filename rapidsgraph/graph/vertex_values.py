"""Arguments that give values of vertices: those of `pagerank`, such as a personalization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array
from ..errors import GraphError, format_value
from ..frames import Frame
from .vertex_arguments import find_name_columns
from .vertex_names import Labeling

MAX_SUMMABLE = 2.0**900  # as many values as there may be sum to less than the largest double
VALUE = "value"  # column of the values of a dict or Series


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
    values : frame, Series or dict
        A frame of the graph's name columns (`vertex`, or as in `find_vertices`) and one column of
        values, whatever it is called; a pandas or cuDF Series, whose index has the vertices; or a
        dict from vertex to value. If several columns name a vertex, an index has as many levels,
        and keys are tuples.
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
    return scale_vertex_values(
        labeling, *tabulate_vertex_values(labeling, values, parameter), parameter
    )


def tabulate_vertex_values(
    labeling: Labeling, values: Any, parameter: str
) -> tuple[Any, Sequence[str], str]:
    """Return a caller's values as a table, its name columns and its column of values.

    The parameters and errors are those of `read_vertex_values`.
    """
    values = frames.compute_if_dask(values)
    if isinstance(values, Mapping) and not any(_is_column(element) for element in values.values()):
        values = _tabulate_values(values, labeling.names.labels, parameter)
    elif _is_series(values):
        values = _tabulate_series(values, labeling.names.labels, parameter)
    elif _is_indexed_frame(values, labeling.names.labels):
        values = values.reset_index()
    if not frames.is_frame(values):
        kind = f"{type(values).__module__}.{type(values).__name__}".removeprefix("builtins.")
        hint = (
            "give a pandas or cuDF Series indexed by vertex, a dict of values by vertex, or a "
            "frame with the vertex names and one column of values"
        )
        raise GraphError(
            f"{{parameter}} is of type {kind}; {hint}", parameter=parameter, value=values, hint=hint
        )
    _, table = frames.normalize_frame(values, parameter)
    names, columns = find_name_columns(labeling, table), frames.column_names(table)
    others = [name for name in columns if name not in names]
    if not others or (len(others) > 1 and set(names) <= set(columns)):
        raise GraphError(
            f"{{parameter}} needs the columns {', '.join(map(str, names))} and one of values; it "
            f"has {', '.join(map(str, columns)) or 'no columns'}",
            parameter=parameter,
        )
    return table, names, others[0]


def scale_vertex_values(
    labeling: Labeling, table: Any, names: Sequence[str], column: str, parameter: str
) -> tuple[Array, Array]:
    """Return the ids and the scaled values of a table of `tabulate_vertex_values`."""
    xp = labeling.xp
    ids = labeling.ids(table, parameter, names)
    array = frames.to_device(frames.get_column(table, column, "values", parameter), xp)
    if not isinstance(array, (np.ndarray, xp.ndarray)) or array.dtype.kind not in "iuf":
        raise GraphError(
            "{parameter}: {column} holds text; it must hold numbers",
            parameter=parameter,
            column=column,
        )
    if len(array) != len(ids):
        raise GraphError(
            f"{{parameter}} has {len(ids)} vertices and {len(array)} values", parameter=parameter
        )
    with np.errstate(over="ignore"):  # what is beyond double precision is refused as infinite
        array = xp.asarray(array, dtype=xp.float64)
    is_invalid = ~(array >= 0) | (array == np.inf)
    if device.count_nonzero(is_invalid):
        row = int(is_invalid.argmax())
        raise GraphError(
            f"{{parameter}}: the value in row {{row}} is {float(array[row])}; it must be finite "
            "and not negative",
            parameter=parameter,
            column=column,
            row=row,
            value=float(array[row]),
        )
    if not ids.size:
        raise _empty_error(parameter)
    sorted_ids = xp.sort(ids)
    repeated = sorted_ids[1:][sorted_ids[1:] == sorted_ids[:-1]]
    if repeated.size:
        name = labeling.name_of(int(repeated[0]))
        raise GraphError(
            f"{{parameter}}: vertex {format_value(name)} in row {{row}} is given more than once",
            parameter=parameter,
            row=int(device.flatnonzero(ids == repeated[0])[1]),
            value=name,
        )
    largest = float(array.max())
    if not largest:
        raise GraphError(
            "{parameter}: the values sum to 0.0; at least one must be above 0", parameter=parameter
        )
    if largest > MAX_SUMMABLE:  # their sum may be infinite
        array = array / largest
    return ids, array / float(array.sum())


def _empty_error(parameter: str) -> GraphError:
    return GraphError(
        "{parameter} is empty; name at least one vertex, or leave it out", parameter=parameter
    )


def _is_series(values: Any) -> bool:
    is_pandas_like = frames.library_name(values) in ("pandas", "cudf")
    return is_pandas_like and hasattr(values, "to_frame") and hasattr(values, "index")


def _is_indexed_frame(values: Any, labels: Sequence[str]) -> bool:
    """Return whether the index of a pandas or cuDF frame has the name columns."""
    is_pandas_like = frames.library_name(values) in ("pandas", "cudf") and hasattr(
        values, "columns"
    )
    return is_pandas_like and list(values.index.names) == list(labels)


def _is_column(values: Any) -> bool:
    return hasattr(values, "__len__") and not isinstance(values, str)


def _tabulate_values(
    values: Mapping[Any, Any], labels: Sequence[str], parameter: str
) -> dict[str, Any]:
    if not values:
        raise _empty_error(parameter)
    names: list[Any] = [list(values)]
    if len(labels) > 1:
        if not all(isinstance(name, tuple) and len(name) == len(labels) for name in values):
            raise GraphError(
                f"{{parameter}}: a vertex is named by {', '.join(labels)}; give tuples of "
                f"{len(labels)} as keys, or a frame of these columns",
                parameter=parameter,
            )
        names = list(map(list, zip(*values, strict=True)))
    array = np.empty(len(values))
    for row, (vertex, value) in enumerate(values.items()):
        number = _as_float(value)
        if number is None:
            raise GraphError(
                f"{{parameter}} must be a frame with the column {labels[0]!r} and one of values, "
                f"or a dict from vertex to number; the value of {format_value(vertex)} is "
                f"{format_value(value)}",
                parameter=parameter,
                row=row,
                value=value,
            )
        array[row] = number
    return {**dict(zip(labels, names, strict=True)), VALUE: array}


def _as_float(value: Any) -> float | None:
    """Return a number as a float; None for text, a boolean and what is beyond double precision."""
    if isinstance(value, (str, bytes, bool, np.bool_)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _tabulate_series(values: Any, labels: Sequence[str], parameter: str) -> Frame:
    """Return the frame of a Series: the levels of its index as name columns, and the values."""
    index = values.index
    if index.nlevels != len(labels):
        raise GraphError(
            f"{{parameter}} is a Series whose index has {index.nlevels} levels, and vertices are "
            f"named by {', '.join(labels)}",
            parameter=parameter,
        )
    is_named = set(index.names) == set(labels)  # in any order
    table = index.to_frame(index=False)
    table.columns = list(index.names) if is_named else list(labels)
    for label in labels:
        try:
            frames.get_column(table, label, "vertex")
        except GraphError as error:  # about a column that the caller has not named
            problem = error.with_fields(column=None, parameter="it")
            raise GraphError(
                f"the index of {{parameter}} must hold vertices; {problem}",
                parameter=parameter,
                row=error.row,
                value=error.value,
                hint=error.hint,
            ) from None
    table[VALUE] = values.reset_index(drop=True)
    return table
