"""Errors about frames: values that are not frames, missing columns, and values of columns."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from .. import device
from ..errors import GraphError, MissingColumnError, format_value

ENDPOINTS = '"source", "destination"'
FLOAT_LIMIT = 2**1024 - 2**970  # the smallest integer that rounds to infinity
ALIASES = {
    "source": ("src", "from", "u", "source_id", "start", "tail", "node1", "citing"),
    "destination": ("dst", "target", "to", "v", "destination_id", "end", "head", "node2", "cited"),
    "weight": (
        "weights",
        "w",
        "value",
        "values",
        "cost",
        "distance",
        "wgt",
        "length",
        "km",
        "capacity",
    ),
    "vertex": ("vertices", "node", "id", "name", "source"),
}


def missing_column_error(
    name: Any, names: Iterable[Any], parameter: str, frame_parameter: str | None = None
) -> MissingColumnError:
    """Return the error for a missing column, with the column that is probably meant.

    Parameters
    ----------
    name : object
        The missing column.
    names : iterable of str
        All columns of the frame.
    parameter : str
        The parameter that names the column.
    frame_parameter : str, optional
        The parameter whose frame must have a column of exactly this name.
    """
    names = [str(column) for column in names]
    candidate, hint = _find_candidate(name, names, parameter), None
    where = f"{frame_parameter}: " if frame_parameter else ""
    message = f"{where}there is no column {format_value(name)}; the columns are {', '.join(names)}"
    if candidate:
        hint = f"pass {parameter}={candidate!r}"
        if frame_parameter:
            hint = f"rename {candidate!r} to {format_value(name)}"
        message += f"; did you mean {candidate!r}? {hint[0].upper()}{hint[1:]}"
    return MissingColumnError(
        message,
        parameter=frame_parameter or parameter,
        column=name,
        columns=names,
        candidate=candidate,
        hint=hint,
    )


def _find_candidate(name: Any, names: list[str], parameter: str) -> str | None:
    """Return the column that is probably meant by `name`, or None."""
    by_lower_case = {column.lower(): column for column in names}
    for alias in (parameter, *ALIASES.get(parameter, ())):
        if alias in by_lower_case:
            return by_lower_case[alias]
    matches = difflib.get_close_matches(format_value(name).strip("'"), names, 1, 0.6)
    return matches[0] if matches else None


def missing_endpoint_error(names: Iterable[Any], options: Mapping[str, Any]) -> MissingColumnError:
    """Return the error for an edge frame without the column `source` or `destination`.

    The message shows the call of Graph to write, with `options` as further arguments.
    """
    names = [str(column) for column in names]
    missing = [name for name in ("source", "destination") if name not in names]
    candidates = {name: _find_candidate(name, names, name) for name in missing}
    arguments = ["source=...", "destination=..."]
    if all(candidates.values()):
        arguments = [f"{name}={candidates[name]!r}" for name in missing]
    arguments += [f"{name}={value!r}" for name, value in options.items()]
    call = f"rg.Graph(edges, {', '.join(arguments)})"
    return MissingColumnError(
        f"there is no column {missing[0]!r}; the columns are {', '.join(names)}; name the "
        f"endpoint columns: {call}",
        parameter=missing[0],
        column=missing[0],
        columns=names,
        candidate=candidates[missing[0]],
        hint=call,
    )


def missing_value_error(name: Any, row: int) -> GraphError:
    return GraphError(
        "{column} has no value in row {row}; drop such rows or fill them", column=name, row=row
    )


def invalid_text_error(name: Any, value: str, row: int | None = None) -> GraphError:
    where = "" if row is None else " in row {row}"
    return GraphError(
        f"{{column}} holds {value!a}{where}, which is not valid Unicode (a lone surrogate); "
        "replace it",
        column=name,
        row=row,
        value=value,
    )


def find_invalid_row(series: Any, fit: str) -> int:
    """Return the first row whose value has a type that a column cannot hold, else 0."""
    if not isinstance(series.dtype, np.dtype) or series.dtype.kind != "O":
        return 0
    values = series.tolist()
    types: tuple[type, ...] = (int, float, np.integer, np.floating)
    if fit != "numbers":
        types = (str,) if isinstance(values[0], str) else (int, np.integer)
    return next(
        (
            row
            for row, value in enumerate(values)
            if not isinstance(value, types) or isinstance(value, bool)
        ),
        0,
    )


def not_a_frame_error(value: Any, parameter: str) -> GraphError:
    """Return the error for a value that is not an edge frame, with the line to write instead."""
    if isinstance(value, (str, os.PathLike)):
        return GraphError(
            f"{format_value(os.fspath(value))} is not an edge frame; read a file by "
            "rg.read_edges(path), open a layered edge list by rg.LayeredEdgeList.open(path)",
            parameter=parameter,
            path=value,
        )
    remedy = "give a pandas, cuDF or Polars frame, an Arrow table, or a mapping of column names to "
    remedy += "arrays"
    hint = _conversion(value)
    if hint:
        remedy = f"convert it: {hint}"
    kind = type(value)
    return GraphError(
        f"{kind.__module__}.{kind.__name__} is not an edge frame; {remedy}",
        parameter=parameter,
        hint=hint,
    )


def _conversion(value: Any) -> str | None:
    """Return the call that turns a graph, matrix or list of edges into a Graph, or None."""
    packages = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    if "networkx" in packages and hasattr(value, "adjacency"):
        return "rg.from_networkx(g)"
    if "igraph" in packages and hasattr(value, "get_edgelist"):
        return "rg.from_igraph(g)"
    if "scipy" in packages and hasattr(value, "tocsr"):
        return "rg.from_scipy(matrix)"
    if device.is_array(value):
        return _array_conversion(value)
    if not isinstance(value, Collection):
        return None
    first: Any = next(iter(value), None)
    is_edge = isinstance(first, (tuple, list)) and len(first) in (2, 3)
    if not is_edge or (len(first) == 3 and not isinstance(first[2], (int, float))):
        return None
    return _frame_call("edges" if isinstance(value, list) else "list(edges)", len(first))


def _array_conversion(array: device.Array) -> str | None:
    if array.ndim != 2:
        return None
    num_rows, num_columns = array.shape
    is_on_gpu = device.is_on_gpu(array)
    options = {"library": "cudf" if is_on_gpu else "pandas", "is_float": array.dtype.kind == "f"}
    if num_columns in (2, 3):
        return _frame_call("edges", num_columns, **options)
    if num_rows in (2, 3):
        return _frame_call("edges.T", num_rows, **options)
    if num_rows == num_columns and not is_on_gpu:
        return "rg.from_scipy(scipy.sparse.csr_array(matrix))"
    return None


def _frame_call(
    edges: str, num_columns: int, *, library: str = "pandas", is_float: bool = False
) -> str:
    """Return the call that builds a Graph from rows of two endpoints and perhaps a weight."""
    weight, option = (', "weight"', ', weight="weight"') if num_columns == 3 else ("", "")
    frame = f"{library}.DataFrame({edges}, columns=[{ENDPOINTS}{weight}])"
    if is_float:
        frame += '.astype({"source": "int64", "destination": "int64"})'
    return f"rg.Graph({frame}{option})"
