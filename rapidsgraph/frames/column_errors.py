"""Errors about the columns of frames: missing ones, and values that cannot be used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import GraphError, MissingColumnError, format_value

FLOAT_LIMIT = 2**1024 - 2**970  # the smallest integer that rounds to infinity
ALIASES = {
    "source": ("src", "from", "u", "source_id", "start", "tail", "node1", "citing"),
    "destination": ("dst", "target", "to", "v", "destination_id", "end", "head", "node2", "cited"),
    "weight": ("weights", "w", "value", "values", "cost", "distance", "wgt"),
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
