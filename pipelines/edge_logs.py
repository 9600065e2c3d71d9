"""Read logged edges from Parquet as a Dask frame, and drop the rows that are not edges.

Rows without two endpoint names are counted and dropped. Names are not changed, except that whole
numbers stored as floats, as is common beside missing values, become integers. Every worker must be
able to read the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
import pandas

import rapidsgraph as rg
from pipelines.log_files import first_value, is_text

if TYPE_CHECKING:
    from pipelines.log_files import LogFiles


class Window(NamedTuple):
    """Select the rows whose time is at least `since` and before `until`; None is unbounded."""

    column: str
    since: Any = None
    until: Any = None


# Lambdas are pickled by value; workers may not have this module.
_to_times = lambda texts: (  # noqa: E731
    pandas.to_datetime(texts, format="ISO8601", errors="coerce", utc=True)
    .dt.tz_localize(None)
    .astype("datetime64[us]")
)
_to_time_column = lambda column, to_times=_to_times: (  # noqa: E731
    type(column)(to_times(column.to_pandas())) if hasattr(column, "to_pandas") else to_times(column)
)


def parse_window(files: LogFiles, since: str | None, until: str | None) -> Window:
    """Return the Window of the column that --time names.

    Parameters
    ----------
    files : LogFiles
    since, until : str or None
        Values of the options. Times without a zone are in UTC.

    Raises
    ------
    GraphError
        A text is not a time, or cannot be compared with the column; `since` is not before `until`.
    """
    column = files.columns["time"]
    bounds: list[Any] = [
        None if text is None else _parse_time(text, files.kinds[column], column, option)
        for option, text in (("--since", since), ("--until", until))
    ]
    if None not in bounds and not bounds[0] < bounds[1]:
        raise rg.GraphError(
            f"--since {since} is not before --until {until}; no time is between them",
            parameter="--since",
            value=since,
        )
    return Window(column, *bounds)


def _parse_time(text: str, kind: str | None, column: str, option: str) -> Any:
    """Parse the value of an option as a number or time that compares with a column."""
    is_number = kind in ("numbers", "uint64")
    try:
        if is_number:
            number = float(text)
            if number != number:
                raise ValueError("nan")
            return int(text) if text.strip().lstrip("+-").isdigit() else number
        time = pandas.Timestamp(text)
        if time is pandas.NaT:
            raise ValueError("NaT")
    except (ValueError, OverflowError) as error:
        expected = "a number" if is_number else "a time such as 2026-01-31T12:00"
        raise rg.GraphError(
            f"{option} {text!r}: column {column!r} holds {kind}; give {expected}",
            parameter=option,
            column=column,
            value=text,
        ) from error
    time = time.tz_localize("UTC") if time.tz is None else time.tz_convert("UTC")
    return time if kind == "times with a zone" else time.tz_localize(None)


def read_edges(
    files: LogFiles, device: str, window: Window | None = None
) -> tuple[Any, dict[str, int]]:
    """Return a Dask frame of the edges in Parquet files, and row counts by check.

    Parameters
    ----------
    files : LogFiles
        Files with a source, a destination and perhaps a weight column.
    device : {"cpu", "gpu"}
        pandas or cuDF.
    window : Window, optional

    Returns
    -------
    edges : Dask frame
        The columns of endpoints and weights under their own names; not computed yet.
    counts : dict from str to int
        `rows`, the rows dropped by reason (`missing_name`, `blank_name`, `missing_weight`,
        `outside_window`, `self_loops`), and the rows `kept`.

    Raises
    ------
    GraphError
        There is no row, no row is an edge, or a value is not a valid name or time.
    """
    import dask
    import dask.dataframe
    from pyarrow import types

    groups: dict[tuple, list[str]] = {}  # paths by the types of their columns
    for path, column_types in files.types.items():
        groups.setdefault(tuple(column_types.items()), []).append(path)
    dtypes = _final_dtypes(files)
    cleaned = [
        _clean(_read_columns(paths, device, files), dict(column_types), files, dtypes, window)
        for column_types, paths in groups.items()
    ]
    frames, stages, invalid = zip(*cleaned)
    stages, invalid = dask.compute(stages, invalid)
    for column in (name for counts in invalid for name, count in counts.items() if count):
        if files.kinds[column] != "text":
            path, value = first_value(files, column, types.is_floating, _is_invalid_name)
            reason = "not a name: names are text, or whole numbers that their type holds exactly"
        else:
            path, value = first_value(files, column, is_text, _is_invalid_time)
            reason = "not a time in ISO 8601 format"
        raise rg.GraphError(
            f"{path}: column {column!r} holds {value!r}, which is {reason}",
            path=path,
            column=column,
            value=value,
        )
    counts = _count_dropped({name: sum(int(stage[name]) for stage in stages) for name in stages[0]})
    if not counts["rows"]:
        raise rg.GraphError(f"{files.path}: there are no rows", path=files.path)
    if not counts["kept"]:
        reasons = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in counts.items() if n)
        raise rg.GraphError(f"{files.path}: no row is an edge ({reasons})", path=files.path)
    return frames[0] if len(frames) == 1 else dask.dataframe.concat(list(frames)), counts


def _count_dropped(sizes: dict[str, int]) -> dict[str, int]:
    """Return the rows dropped by each check, from the rows that are left after it."""
    names, left = list(sizes), list(sizes.values())
    dropped = {name: before - after for name, before, after in zip(names[1:], left, left[1:])}
    return {"rows": left[0], **dropped, "kept": left[-1]}


def _read_columns(paths: Sequence[str], device: str, files: LogFiles) -> Any:
    """Return a Dask frame of the columns; integers with missing values stay integers."""
    import dask
    import dask.dataframe as dd
    from pyarrow import types

    columns = list(dict.fromkeys(files.columns.values()))
    if device == "gpu":
        with dask.config.set({"dataframe.backend": "cudf"}):
            return dd.read_parquet(paths, columns=columns)
    dtypes = [dtype for column_types in files.types.values() for dtype in column_types.values()]
    has_integers = any(map(types.is_integer, dtypes))
    backend = {"dtype_backend": "numpy_nullable"} if has_integers else {}
    return dd.read_parquet(paths, columns=columns, **backend)


def _final_dtypes(files: LogFiles) -> dict[str, str | None]:
    """Return the dtype of each name or weight column in the result; None leaves it unchanged."""
    from pyarrow import types

    dtypes: dict[str, str | None] = {}
    for option, column in files.columns.items():
        arrow_types = {column_types[column] for column_types in files.types.values()}
        arrow_types = {arrow_type for arrow_type in arrow_types if not types.is_null(arrow_type)}
        if option == "time":
            continue
        dtypes[column] = None
        if not arrow_types:
            continue
        if files.kinds[column] == "text":
            if len(arrow_types) > 1 or types.is_dictionary(*arrow_types):
                dtypes[column] = "str"
        elif len(arrow_types) == 1 and (option == "weight" or types.is_integer(*arrow_types)):
            dtypes[column] = str(next(iter(arrow_types)).to_pandas_dtype()().dtype)
        else:
            dtypes[column] = "float64" if option == "weight" else "int64"
    return dtypes


def _clean(
    frame: Any,
    types: dict[str, Any],
    files: LogFiles,
    dtypes: dict[str, str | None],
    window: Window | None,
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return (edges, rows after each check, invalid names and times) of files of equal types."""
    from pyarrow import types as arrow

    ends = [files.columns["source"], files.columns["destination"]]
    weight = files.columns.get("weight")
    floats = [column for column in types if arrow.is_floating(types[column])]
    # The extension type Float64 of pandas distinguishes NaN from a missing value.
    frame = frame.astype({name: str(types[name].to_pandas_dtype()().dtype) for name in floats})
    stages, invalid = {"rows": frame}, {}
    frame = stages["missing_name"] = frame.dropna(subset=ends)
    for column in ends:
        if column in floats:
            invalid[column] = _is_invalid_name(frame[column]).sum()
        if is_text(types[column]):
            frame = frame.astype({column: "str"}) if dtypes[column] else frame
            frame = frame[frame[column].str.strip() != ""]
    stages["blank_name"] = frame
    if weight:
        frame = stages["missing_weight"] = frame.dropna(subset=[weight])
    if window:
        frame, invalid[window.column] = _filter_times(frame, types[window.column], window)
        stages["outside_window"] = frame
    frame = stages["self_loops"] = frame[frame[ends[0]] != frame[ends[1]]]
    sizes = {name: stage[ends[0]].size for name, stage in stages.items()}
    columns = [*ends, weight] if weight else ends
    changed = {column: dtypes[column] for column in columns if dtypes[column]}
    return frame[columns].astype(changed), sizes, invalid


def _is_invalid_name(numbers: Any) -> Any:
    """Mark floats that are not whole, or too large to represent every integer exactly."""
    limit = 2 ** (numpy.finfo(numbers.dtype).nmant + 1)
    return ((numbers % 1 != 0) | (numbers.abs() >= limit)) & numbers.notnull()


def _is_invalid_time(texts: Any) -> Any:
    is_valid, texts = texts.notnull(), texts.astype("str")
    return is_valid & (texts.str.strip() != "") & _to_times(texts).isnull()


def _filter_times(frame: Any, arrow_type: Any, window: Window) -> tuple[Any, Any]:
    """Return (rows inside the window, number of invalid times); rows without a time are dropped."""
    from pyarrow import types

    frame, num_invalid = frame.dropna(subset=[window.column]), 0
    if types.is_null(arrow_type):
        return frame, num_invalid
    times = frame[window.column]
    if is_text(arrow_type):
        frame = frame[times.astype("str").str.strip() != ""]
        times = frame[window.column].astype("str").map_partitions(_to_time_column)
        num_invalid = times.isnull().sum()
    elif types.is_date(arrow_type):
        times = times.astype("datetime64[us]")
    if window.until is not None:
        frame, times = frame[times < window.until], times[times < window.until]
    if window.since is not None:
        frame = frame[times >= window.since]
    return frame, num_invalid
