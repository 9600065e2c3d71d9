"""Frames of several libraries: their kind, their columns, and errors about these."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ..errors import GraphError, MissingColumnError, format_value
from .columns import Column, convert_column, invalid_text_error, library_name

# A pandas, cuDF, Polars, Arrow or Dask frame, or a mapping from column names to arrays.
Frame: TypeAlias = Any

ALIASES = {
    "source": ("src", "from", "u", "source_id", "start", "tail", "node1", "citing"),
    "destination": ("dst", "target", "to", "v", "destination_id", "end", "head", "node2", "cited"),
    "weight": ("weights", "w", "value", "values", "cost", "distance", "wgt"),
    "vertex": ("vertices", "node", "id", "name", "source"),
}


def frame_kind(frame: Frame) -> str:
    """Return the library of a frame: "pandas", "cudf", "arrow", "polars", ..., or "arrays".

    Raises
    ------
    GraphError
        If `frame` is not an eager frame.
    """
    library = library_name(frame)
    if is_dask(frame):
        raise GraphError(
            "a Dask frame is for Graph, pagerank, bfs, sssp, connected_components, "
            "structural_similarity and scan; for all else call .compute() on it first",
            hint="call .compute() on the frame",
        )
    if library == "polars" and hasattr(frame, "collect"):
        raise GraphError(
            "a lazy Polars frame has no rows yet; call .collect() on it first",
            hint="call .collect() on the frame",
        )
    if isinstance(frame, Mapping):
        return "arrays"
    # A Series has the Arrow stream too, but none of these attributes.
    if any(hasattr(frame, name) for name in ("columns", "column_names", "schema")):
        if library in ("pandas", "cudf"):
            return library
        if hasattr(frame, "__arrow_c_stream__"):
            return "arrow" if library == "pyarrow" else library
    if type(frame).__name__ == "LayeredEdgeList":
        raise GraphError(
            "a layered edge list is for bfs, sssp and pagerank; all else takes a Graph or a frame"
        )
    if isinstance(frame, (str, os.PathLike)):
        raise GraphError(
            f"{os.fspath(frame)!r} is no edge frame; read a file by rg.read_edges(path), open a "
            "layered edge list by rg.LayeredEdgeList.open(path)",
            path=frame,
        )
    raise GraphError(
        f"{type(frame).__module__}.{type(frame).__name__} is no edge frame; give a pandas, cuDF or "
        "Polars frame, an Arrow table, or a mapping of column names to arrays"
    )


def is_dask(frame: object) -> bool:
    """Return whether a frame or Series is one of Dask."""
    is_of_dask = library_name(frame) in ("dask", "dask_expr", "dask_cudf")
    return is_of_dask and hasattr(type(frame), "npartitions")


def compute_if_dask(values: Any) -> Any:
    """Compute a small Dask frame or Series, and return anything else unchanged."""
    return values.compute() if is_dask(values) else values


def normalize_frame(frame: Frame) -> tuple[str, Frame]:
    """Return the kind of a frame, and the frame, as an Arrow table if it only has the Arrow stream.

    An Arrow stream can be read once only.
    """
    kind = frame_kind(frame)
    if kind not in ("pandas", "cudf", "arrays"):
        import pyarrow

        if not isinstance(frame, pyarrow.Table):  # a round trip through its own stream may fail
            try:
                frame = pyarrow.table(frame)
            except pyarrow.ArrowException as error:
                raise GraphError(
                    f"Arrow cannot convert this frame ({error}); select the columns of the edges, "
                    "and cast those of types that Arrow does not have"
                ) from error
    return kind, frame


def column_names(frame: Frame) -> list[Any]:
    """Return the column names of a normalized frame."""
    return list(frame.column_names if library_name(frame) == "pyarrow" else frame)


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
    if candidate:
        rename = f"rename {candidate!r} to {format_value(name)}"
        hint = rename if frame_parameter else f"give {parameter}={candidate!r}"
    where = f"{frame_parameter}: " if frame_parameter else ""
    message = f"there is no column {format_value(name)}; the columns are {', '.join(names)}"
    return MissingColumnError(
        f"{where}{message}; {hint} if that is it" if hint else f"{where}{message}",
        parameter=frame_parameter or parameter,
        column=name,
        columns=names,
        candidate=candidate,
        hint=hint,
    )


def _has_name(names: Iterable[Any], name: Any) -> bool:
    try:
        return name in set(names)
    except TypeError:  # an unhashable name
        return False


def _find_candidate(name: Any, names: list[str], parameter: str) -> str | None:
    """Return the column that is probably meant by `name`, or None."""
    by_lower_case = {column.lower(): column for column in names}
    for alias in (parameter, *ALIASES.get(parameter, ())):
        if alias in by_lower_case:
            return by_lower_case[alias]
    matches = difflib.get_close_matches(format_value(name).strip("'"), names, 1, 0.6)
    return matches[0] if matches else None


def check_edge_columns(frame: Frame, options: Mapping[str, Any]) -> None:
    """Raise an error if a normalized edge frame lacks the column `source` or `destination`.

    The message shows the call of Graph to write, with `options` as further arguments.
    """
    names = [str(column) for column in column_names(frame)]
    missing = [name for name in ("source", "destination") if name not in names]
    if not missing:
        return
    candidates = {name: _find_candidate(name, names, name) for name in missing}
    arguments = ["source=...", "destination=..."]
    if all(candidates.values()):
        arguments = [f"{name}={candidates[name]!r}" for name in missing]
    arguments += [f"{name}={value!r}" for name, value in options.items()]
    call = f"rg.Graph(edges, {', '.join(arguments)})"
    raise MissingColumnError(
        f"there is no column {missing[0]!r}; the columns are {', '.join(names)}; say which "
        f"they are: {call}",
        parameter=missing[0],
        column=missing[0],
        columns=names,
        candidate=candidates[missing[0]],
        hint=call,
    )


def get_column(
    frame: Frame, name: Any, parameter: str, frame_parameter: str | None = None
) -> Column:
    """Return a column of a normalized frame: an array of numbers, or a Series of text.

    Parameters
    ----------
    frame : Frame
        As from `normalize_frame`.
    name : object
        Name of the column.
    parameter : str
        The parameter that names the column; those of `weight` and `values` hold numbers.
    frame_parameter : str, optional
        As in `missing_column_error`.

    Raises
    ------
    GraphError
        If the column or one of its values is missing, or its values are of another type.
    """
    names = column_names(frame)
    if not _has_name(names, name):
        raise missing_column_error(name, names, parameter, frame_parameter)
    if names.count(name) > 1:
        raise GraphError(
            f"{names.count(name)} columns are called {name!r}; rename all but one",
            parameter=parameter,
            column=name,
        )
    try:
        return convert_column(frame[name], name, parameter)
    except UnicodeEncodeError as error:  # pandas converts text to Arrow
        raise invalid_text_error(name, error.object) from error


def arrow_text_type(frame: Frame, name: Any) -> Any:
    """Return the Arrow type of a text column of an Arrow table, None for any other column."""
    if library_name(frame) != "pyarrow":
        return None
    arrow_type = frame[name].type
    arrow_type = getattr(arrow_type, "value_type", arrow_type)  # of a dictionary
    return arrow_type if str(arrow_type) in ("string", "large_string", "string_view") else None
