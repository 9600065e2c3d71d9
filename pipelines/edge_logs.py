"""Read logged edges from Parquet as a Dask frame, and drop the rows that are not edges.

Rows without two endpoint names are counted and dropped. Names are not changed, except that whole
numbers stored as floats, as is common beside missing values, become integers. Every worker must be
able to read the files.
"""

from typing import NamedTuple

import numpy
import pandas

import rapidsgraph as rg
from pipelines.log_files import first_value, is_text


class Window(NamedTuple):
    """Select the rows whose time is at least `since` and before `until`; None is unbounded."""

    column: str
    since: object = None
    until: object = None


# Lambdas are sent to workers as they are; these may not know this file.
_times = lambda texts: (  # noqa: E731
    pandas.to_datetime(texts, format="ISO8601", errors="coerce", utc=True)
    .dt.tz_localize(None)
    .astype("datetime64[us]")
)
_column_of_times = lambda column, times=_times: (  # noqa: E731
    type(column)(times(column.to_pandas())) if hasattr(column, "to_pandas") else times(column)
)


def window(files, since, until):
    """Return the Window of the column that --time names.

    Parameters
    ----------
    files : LogFiles
    since, until : str or None
        Texts of the options. Times without a zone are in UTC.

    Raises
    ------
    GraphError
        A text is not a time, or cannot be compared with the column; `since` is not before `until`.
    """
    column = files.columns["time"]
    ends = [
        None if text is None else _moment(text, files.kinds[column], column, option)
        for option, text in (("--since", since), ("--until", until))
    ]
    if None not in ends and not ends[0] < ends[1]:
        raise rg.GraphError(f"--since {since} is not before --until {until}; no row is in between")
    return Window(column, *ends)


def _moment(text, kind, column, option):
    """Parse the value of an option as a number or time that compares with a column."""
    try:
        if kind in ("numbers", "uint64"):
            number = float(text)
            if number != number:
                raise ValueError
            return int(text) if text.strip().lstrip("+-").isdigit() else number
        moment = pandas.Timestamp(text)
        if moment is pandas.NaT:
            raise ValueError
    except (ValueError, OverflowError) as error:
        wanted = "a number" if kind in ("numbers", "uint64") else "a time such as 2026-01-31T12:00"
        raise rg.GraphError(
            f"{option} {text!r}: column {column!r} holds {kind}; give {wanted}"
        ) from error
    moment = moment.tz_localize("UTC") if moment.tz is None else moment.tz_convert("UTC")
    return moment if kind == "times with a zone" else moment.tz_localize(None)


def read(files, device, window=None):
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
        `rows`, the rows dropped by reason (`without_a_name`, `blank`, `without_a_weight`,
        `outside_the_time`, `self_loops`), and the rows `kept`.

    Raises
    ------
    GraphError
        There is no row, no row is an edge, or a value is not a valid name or time.
    """
    import dask
    import dask.dataframe
    from pyarrow import types

    groups = {}  # of files whose columns have the same types
    for path, of_columns in files.types.items():
        groups.setdefault(tuple(of_columns.items()), []).append(path)
    targets = _targets(files)
    cleaned = [
        _clean(_opened(paths, device, files), dict(of_columns), files, targets, window)
        for of_columns, paths in groups.items()
    ]
    frames, stages, wrong = zip(*cleaned)
    stages, wrong = dask.compute(stages, wrong)
    for column in (name for each in wrong for name, count in each.items() if count):
        if files.kinds[column] != "text":
            path, value = first_value(files, column, types.is_floating, _is_no_name)
            reason = "no name: names are text, or whole numbers that their type holds exactly"
        else:
            path, value = first_value(files, column, is_text, _is_no_time)
            reason = "no time, as ISO 8601 writes them"
        raise rg.GraphError(f"{path}: column {column!r} holds {value!r}, which is {reason}")
    sizes = {name: sum(int(each[name]) for each in stages) for name in stages[0]}
    counts = _counts(sizes)
    if not counts["rows"]:
        raise rg.GraphError(f"{files.path}: there is no row")
    if not counts["kept"]:
        reasons = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in counts.items() if n)
        raise rg.GraphError(f"{files.path}: no row is left to be an edge ({reasons})")
    return frames[0] if len(frames) == 1 else dask.dataframe.concat(list(frames)), counts


def _counts(sizes):
    names, sizes = list(sizes), list(sizes.values())
    left_out = {name: before - after for name, before, after in zip(names[1:], sizes, sizes[1:])}
    return {"rows": sizes[0], **left_out, "kept": sizes[-1]}


def _opened(paths, device, files):
    """Return a Dask frame of the columns; integers with missing values stay integers."""
    import dask
    import dask.dataframe as dd
    from pyarrow import types

    columns = list(dict.fromkeys(files.columns.values()))
    if device == "gpu":
        with dask.config.set({"dataframe.backend": "cudf"}):
            return dd.read_parquet(paths, columns=columns)
    every = [kind for of_columns in files.types.values() for kind in of_columns.values()]
    more = {"dtype_backend": "numpy_nullable"} if any(map(types.is_integer, every)) else {}
    return dd.read_parquet(paths, columns=columns, **more)


def _targets(files):
    """Return the final type of each name or weight column; None leaves it unchanged."""
    from pyarrow import types

    targets = {}
    for option, column in files.columns.items():
        kinds = {of_columns[column] for of_columns in files.types.values()}
        kinds = {kind for kind in kinds if not types.is_null(kind)}
        if option == "time":
            continue
        targets[column] = None
        if not kinds:
            continue
        if files.kinds[column] == "text":
            if len(kinds) > 1 or types.is_dictionary(*kinds):
                targets[column] = "str"
        elif len(kinds) == 1 and (option == "weight" or types.is_integer(*kinds)):
            targets[column] = str(next(iter(kinds)).to_pandas_dtype()().dtype)
        else:
            targets[column] = "float64" if option == "weight" else "int64"
    return targets


def _clean(frame, types, files, targets, window):
    """Return (edges, rows after each check, invalid names and times) of files of equal types."""
    from pyarrow import types as arrow

    ends = [files.columns["source"], files.columns["destination"]]
    weight = files.columns.get("weight")
    floats = [column for column in types if arrow.is_floating(types[column])]
    # What pandas calls Float64 tells NaN from what is missing.
    frame = frame.astype({name: str(types[name].to_pandas_dtype()().dtype) for name in floats})
    stages, wrong = {"rows": frame}, {}
    frame = stages["without_a_name"] = frame.dropna(subset=ends)
    for column in ends:
        if column in floats:
            wrong[column] = _is_no_name(frame[column]).sum()
        if is_text(types[column]):
            frame = frame.astype({column: "str"}) if targets[column] else frame
            frame = frame[frame[column].str.strip() != ""]
    stages["blank"] = frame
    if weight:
        frame = stages["without_a_weight"] = frame.dropna(subset=[weight])
    if window:
        frame, wrong[window.column] = _inside(frame, types[window.column], window)
        stages["outside_the_time"] = frame
    frame = stages["self_loops"] = frame[frame[ends[0]] != frame[ends[1]]]
    sizes = {name: each[ends[0]].size for name, each in stages.items()}
    given = [*ends, weight] if weight else ends
    last = {column: targets[column] for column in given if targets[column]}
    return frame[given].astype(last), sizes, wrong


def _is_no_name(numbers):
    """Mark floats that are not whole, or too large to represent every integer exactly."""
    exact = 2 ** (numpy.finfo(numbers.dtype).nmant + 1)
    return ((numbers % 1 != 0) | (numbers.abs() >= exact)) & numbers.notnull()


def _is_no_time(texts):
    is_there, texts = texts.notnull(), texts.astype("str")
    return is_there & (texts.str.strip() != "") & _times(texts).isnull()


def _inside(frame, kind, window):
    """Return (rows inside the window, number of invalid times); rows without a time are dropped."""
    from pyarrow import types

    frame, wrong = frame.dropna(subset=[window.column]), 0
    if types.is_null(kind):
        return frame, wrong
    times = frame[window.column]
    if is_text(kind):
        frame = frame[times.astype("str").str.strip() != ""]
        times = frame[window.column].astype("str").map_partitions(_column_of_times)
        wrong = times.isnull().sum()
    elif types.is_date(kind):
        times = times.astype("datetime64[us]")
    if window.until is not None:
        frame, times = frame[times < window.until], times[times < window.until]
    if window.since is not None:
        frame = frame[times >= window.since]
    return frame, wrong
