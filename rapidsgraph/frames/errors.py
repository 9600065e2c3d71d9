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
# Casts of pandas in hints, and those of other libraries.
CASTS = {
    "polars": {
        ".astype('str')": ".cast(polars.String)",
        ".astype('int64')": ".cast(polars.Int64)",
        ".astype('float64')": ".cast(polars.Float64)",
        ".str.decode('utf-8')": ".cast(polars.String)",
    },
    "duckdb": {
        ".astype('str')": "CAST(COLUMN AS VARCHAR) in the query",
        ".astype('int64')": "CAST(COLUMN AS BIGINT) in the query",
        ".astype('float64')": "CAST(COLUMN AS DOUBLE) in the query",
        ".str.decode('utf-8')": "decode(COLUMN) in the query",
    },
    "arrow": {
        ".astype('str')": ".cast('string')",
        ".astype('int64')": ".cast('int64')",
        ".astype('float64')": ".cast('float64')",
        ".str.decode('utf-8')": ".cast('string')",
    },
}
TEXT_REMEDY = "use .astype('str')"
# Remedies for columns of types that cannot be names, and cannot be weights, by the type's name.
NAME_REMEDIES = {
    "boolean": "use .astype('int64')",
    "bytes": "use .str.decode('utf-8')",
    **dict.fromkeys(("timedelta", "timedelta64"), "use .astype('int64')"),
    **dict.fromkeys(
        ("tuple", "list", "dict", "ndarray"), "make columns of it, and pass a list of their names"
    ),
}
NUMBER_REMEDIES = {
    "boolean": "use .astype('int64')",
    "decimal": "use .astype('float64')",
    "timedelta": "use .dt.total_seconds()",
    "timedelta64": "use .dt.total_seconds()",
}
ENDS = ("source", "destination")
MIN_CONTAINED = 3  # characters of a missing name that another one contains
MAX_CHECKED_TYPES = 1000  # values whose types a message describes


def missing_column_error(
    name: Any,
    names: Iterable[Any],
    parameter: str,
    frame_parameter: str | None = None,
    used: Collection[Any] = (),
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
    used : collection, optional
        Columns that other parameters name, which are not meant.
    """
    labels = list(names)
    names = [str(column) for column in labels]
    others = {column for column in used if isinstance(column, str)}
    unused = [column for column in labels if isinstance(column, str) and column not in others]
    candidate, hint = _find_candidate(name, unused, parameter), None
    tuples = [column for column in labels if isinstance(column, tuple)]
    where = f"{frame_parameter}: " if frame_parameter else ""
    if isinstance(name, (str, int, tuple)) and not isinstance(name, bool):
        message = f"{where}there is no column {format_value(name)}"
    else:
        is_plain = name is None or isinstance(name, (bool, float))
        value = repr(name) if is_plain else f"of type {type(name).__name__}"
        message = f"{{parameter}} is {value}, and no name of a column"
    message += f"; {_list_columns(names)}"
    if candidate:
        hint = f"pass {parameter}={candidate!r}"
        if frame_parameter:
            hint = f"rename {candidate!r} to {format_value(name)}"
        message += f"; did you mean {candidate!r}? {hint[0].upper()}{hint[1:]}"
    elif tuples and frame_parameter is None:
        column = _find_tuple((name, parameter, *ALIASES.get(parameter, ())), tuples)
        argument = _format_tuple(parameter, column or tuples[0])
        form = "a list with its tuple" if parameter in ENDS else "its tuple"
        hint = f"pass {argument}" if column else f"pass a column as {form}, such as {argument}"
        message += f"; the columns have several levels: {hint}"
    return MissingColumnError(
        message,
        parameter=frame_parameter or parameter,
        column=name,
        columns=names,
        candidates={parameter: candidate} if candidate else {},
        hint=hint,
    )


def _find_candidate(name: Any, names: list[str], parameter: str) -> str | None:
    """Return the column that is probably meant by `name`, or None."""
    by_lower_case = {column.lower(): column for column in names}
    for alias in (parameter, *ALIASES.get(parameter, ())):
        if alias in by_lower_case:
            return by_lower_case[alias]
    text = format_value(name).strip("'")
    matches = difflib.get_close_matches(text, names, 1, 0.6)
    if not matches:
        containing = [column for column in names if text.lower() in column.lower()]
        matches = containing if len(containing) == 1 and len(text) >= MIN_CONTAINED else []
    return matches[0] if matches else None


def _find_tuple(levels: Iterable[Any], columns: Collection[tuple]) -> tuple | None:
    """Return the column that has the first of `levels` that occurs, None if several have it."""
    for level in levels:
        matches = [column for column in columns if str(level).lower() in _lower_levels(column)]
        if matches:
            return matches[0] if len(matches) == 1 else None
    return None


def _lower_levels(column: tuple) -> list[str]:
    return [str(level).lower() for level in column]


def _format_tuple(parameter: str, column: tuple) -> str:
    """Return the argument that names a column of several levels."""
    # A tuple of endpoints names several columns.
    return f"{parameter}={[column] if parameter in ENDS else column!r}"


def _list_columns(names: Collection[str]) -> str:
    return f"the columns are {', '.join(names)}" if names else "there are no columns"


POLICY_EFFECTS = {  # of multi_edges, after "which"
    "keep": "keeps parallel edges",
    "sum": "sums the weights of parallel edges",
    "min": "takes the smallest weight of parallel edges",
    "max": "takes the largest weight of parallel edges",
}


def missing_endpoint_error(
    frame: Any, names: Collection[Any], options: Mapping[str, Any]
) -> MissingColumnError:
    """Return the error for an edge frame without the column `source` or `destination`.

    The message shows the call of Graph to write, with `options` as further arguments, or what makes
    columns of the index of a pandas or cuDF frame.

    Parameters
    ----------
    frame : Frame
    names : collection
        Its columns.
    options : dict
        Further arguments of the call.
    """
    levels = list(getattr(getattr(frame, "index", None), "names", ()))
    text_names = [column for column in names if isinstance(column, str)]
    tuples = [column for column in names if isinstance(column, tuple)]
    names = [str(column) for column in names]
    missing = [name for name in ENDS if name not in names]
    candidates = {name: _find_candidate(name, text_names, name) for name in missing}
    is_in_index = not set(ENDS).isdisjoint(levels)
    if not all(candidates.values()):
        index_names = [level for level in levels if isinstance(level, str)]
        is_in_index |= any(_find_candidate(name, index_names, name) for name in missing)
    arguments = ["source=...", "destination=..."]
    if all(candidates.values()):
        arguments = [f"{name}={candidates[name]!r}" for name in missing]
    arguments += [f"{name}={value!r}" for name, value in options.items()]
    call = f"rg.Graph(edges, {', '.join(arguments)})"
    effect = f", which {POLICY_EFFECTS[options['multi_edges']]}" if "multi_edges" in options else ""
    remedy = f"name the endpoint columns: {call}{effect}"
    if tuples and not text_names:
        call = _call_with_tuples(tuples, options)
        remedy = "the columns have several levels; pass one as a list with its tuple: "
        remedy += f"{call}{effect}"
    if is_in_index:
        call = "edges.reset_index()"
        remedy = f"the index is {', '.join(map(str, levels))}: {call} makes columns of it"
    elif isinstance(frame, Mapping) and names and not text_names:
        call = 'rg.Graph({"source": sources, "destination": destinations})'
        remedy = f"a dict maps names of columns to arrays: {call}"
    return MissingColumnError(
        f"there is no column {missing[0]!r}; {_list_columns(names)}; {remedy}",
        parameter=missing[0],
        column=missing[0],
        columns=names,
        candidates={name: column for name, column in candidates.items() if column},
        hint=call,
    )


def _call_with_tuples(columns: Collection[tuple], options: Mapping[str, Any]) -> str:
    """Return the call of Graph that names columns of several levels."""
    found = {end: _find_tuple((end, *ALIASES[end]), columns) for end in ENDS}
    arguments = [
        f"{end}=[...]" if column is None else _format_tuple(end, column)
        for end, column in found.items()
    ]
    weight = _find_tuple(["weight"], columns)
    if weight is not None and "weight" not in options:
        arguments.append(_format_tuple("weight", weight))
    arguments += [f"{name}={value!r}" for name, value in options.items()]
    return f"rg.Graph(edges, {', '.join(arguments)})"


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


def invalid_type_error(
    series: Any, name: Any, inferred: str, are_numbers: bool, fit: str
) -> GraphError:
    """Return the error for a pandas column of a type that `fit` does not name.

    Parameters
    ----------
    series : pandas.Series
    name : object
        Name of the column, None for values of an argument.
    inferred : str
        Type of the values, as from `pandas.api.types.infer_dtype`.
    are_numbers : bool
        Whether the column must hold numbers.
    fit : str
        What the column must hold.
    """
    row = find_invalid_row(series, fit)
    value = series.iloc[row]
    value = value.item() if isinstance(value, np.generic) else value
    kind = inferred
    if inferred.startswith("mixed"):
        kinds = {type(element).__name__ for element in series.iloc[:MAX_CHECKED_TYPES]} | {
            type(value).__name__
        }
        kind = " and ".join(sorted(kinds))
    remedy = NUMBER_REMEDIES.get(kind) if are_numbers else NAME_REMEDIES.get(kind, TEXT_REMEDY)
    if kind == "bytes" and series.dtype != object and not are_numbers:
        remedy = TEXT_REMEDY  # bytes of Arrow and NumPy types have no .str.decode
    return GraphError(
        f"{{column}} holds {kind} values ({series.dtype}), such as {format_value(value)} in row "
        f"{{row}}; it must hold {fit}" + ("; {hint}" if remedy else ""),
        column=name,
        row=row,
        value=value,
        hint=remedy,
    )


def with_casts_of(error: GraphError, library: str) -> GraphError:
    """Return an error with the casts in its hint as the library of the frame writes them."""
    hint, casts = error.hint or "", CASTS.get(library, {})
    for cast in casts:
        hint = hint.replace(cast, casts[cast].replace("COLUMN", str(error.column)))
    return error if hint == (error.hint or "") else error.with_fields(hint=hint)


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
    kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
    return GraphError(
        f"{'None' if value is None else kind} is not an edge frame; {remedy}",
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
    is_series = hasattr(value, "to_list") and hasattr(value, "dtype")
    if not isinstance(value, Collection) and not is_series:
        return None
    first: Any = next(iter(value), None)
    if is_series or isinstance(first, (int, str)):  # names of sources alone
        return 'rg.Graph({"source": sources, "destination": destinations})'
    is_edge = isinstance(first, (tuple, list)) and len(first) in (2, 3)
    if not is_edge or (len(first) == 3 and not isinstance(first[2], (int, float))):
        return None
    return _frame_call("edges" if isinstance(value, list) else "list(edges)", len(first))


def _array_conversion(array: device.Array) -> str | None:
    if array.dtype.names:
        return "pandas.DataFrame(edges)"
    if array.ndim == 1:
        return 'rg.Graph({"source": sources, "destination": destinations})'
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
