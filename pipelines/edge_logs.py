"""Edges as they were logged: a Dask frame of them, and what of it are edges.

Means: rows that name no two ends are counted and left out. Names are not changed.
Requires: Parquet that every worker can read.
"""

from pathlib import Path
from typing import NamedTuple

import rapidsgraph as rg
from rapidsgraph import formats
from rapidsgraph.frames.reading import missing_column


class Window(NamedTuple):
    """Rows whose column of times is at least `since` and before `until`, where these are given."""

    column: str
    since: str | None = None
    until: str | None = None


def check_columns(path, **columns):
    """The Arrow schema of Parquet files, if it has these columns.

    Parameters
    ----------
    path : path
    **columns : str or None
        Names by the options that gave them.

    Raises
    ------
    GraphError
        No such file, no Parquet, or a column that is missing; the message names the likely one.
    """
    path = Path(path).expanduser()
    with formats.reading(path):
        if path.is_file() and formats.format_of(path) != "parquet":
            raise rg.GraphError(f"{path}: pipelines read Parquet; write it as .parquet first")
        if path.is_file() and path.stat().st_size == 0:
            raise rg.GraphError(f"{path}: the file is empty")
        file = formats.Parquet(path) if path.exists() else formats.opened(path, [])
        for option, column in columns.items():
            if column is not None and column not in file.names:
                raise rg.GraphError(f"{path}: {missing_column(column, file.names, option)}")
        return file.dataset.schema


def read(path, device, source, destination, weight=None, window=None):
    """A Dask frame of the edges in Parquet files, and the rows that each check left.

    Parameters
    ----------
    path : path
    device : {"cpu", "gpu"}
        pandas or cuDF.
    source, destination, weight : str
        Columns.
    window : Window, optional

    Returns
    -------
    edges : Dask frame
        `source`, `destination` and, if asked for, `weight`; nothing is read yet.
    counts : dict from str to int
        `rows`, and how many of them were left out, by reason: `without_a_name`, `blank`,
        `outside_the_time`, `self_loops`; and how many are `kept`.

    Raises
    ------
    GraphError
        What `check_columns` raises; no row, or none that is an edge.
    """
    import dask

    time = window and window.column
    schema = check_columns(path, source=source, destination=destination, weight=weight, time=time)
    given = [column for column in (source, destination, weight) if column]
    if len(set(given)) < len(given):
        raise rg.GraphError("--source, --destination and --weight must be different columns")
    frame = _opened(path, device, list(dict.fromkeys([*given, *([time] if time else [])])), schema)
    stages = {"rows": frame}
    frame = stages["without_a_name"] = _typed(frame.dropna(subset=given), schema, given)
    for column in (source, destination):
        if _is_text(schema.field(column).type):
            frame = frame[frame[column].str.strip() != ""]
    stages["blank"] = frame
    if window:
        frame = stages["outside_the_time"] = _inside(frame, schema, window)
    frame = frame[frame[source] != frame[destination]]
    stages["self_loops"] = frame
    sizes = dask.compute(*(each[source].size for each in stages.values()))
    counts = _counts(stages, map(int, sizes))
    if not counts["rows"]:
        raise rg.GraphError(f"{path}: there is no row")
    if not counts["kept"]:
        reasons = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in counts.items() if n)
        raise rg.GraphError(f"{path}: no row is left to be an edge ({reasons})")
    names = dict(zip(given, ("source", "destination", "weight")))
    return frame[given].rename(columns=names), counts


def _counts(stages, sizes):
    names, sizes = list(stages), list(sizes)
    left_out = {name: before - after for name, before, after in zip(names[1:], sizes, sizes[1:])}
    return {"rows": sizes[0], **left_out, "kept": sizes[-1]}


def _opened(path, device, columns, schema):
    """The columns of all files; integers with missing values stay integers."""
    import dask
    import dask.dataframe as dd
    from pyarrow import types

    path = Path(path).expanduser()
    paths = formats.Parquet(path).paths
    if device == "gpu":
        with dask.config.set({"dataframe.backend": "cudf"}):
            return dd.read_parquet(paths, columns=columns)
    has_integers = any(types.is_integer(schema.field(name).type) for name in columns)
    more = {"dtype_backend": "numpy_nullable"} if has_integers else {}
    return dd.read_parquet(paths, columns=columns, **more)


def _typed(frame, schema, columns):
    """Plain types, now that nothing is missing; text that was stored as codes is text."""
    from pyarrow import types

    kinds = {}
    for name in columns:
        kind = schema.field(name).type
        if types.is_dictionary(kind) and _is_text(kind):
            kinds[name] = "str"
        elif types.is_integer(kind) or types.is_floating(kind):
            kinds[name] = str(kind.to_pandas_dtype()().dtype)
    return frame.astype(kinds) if kinds else frame


def _is_text(kind):
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind)


def _inside(frame, schema, window):
    """Rows inside the time; those without one are not."""
    times = frame[window.column]
    kept = times.notnull()
    kind = schema.field(window.column).type
    if window.since is not None:
        kept = kept & (times >= _moment(window.since, kind, "--since"))
    if window.until is not None:
        kept = kept & (times < _moment(window.until, kind, "--until"))
    return frame[kept.fillna(False)]


def _moment(text, kind, option):
    """What an option says, of the type of the column that it is compared with."""
    import pandas
    from pyarrow import types

    try:
        if types.is_timestamp(kind):
            moment = pandas.Timestamp(text)
            return moment.tz_localize(kind.tz) if kind.tz and moment.tz is None else moment
        if types.is_integer(kind):
            return int(text)
        return float(text) if types.is_floating(kind) else text
    except ValueError as error:
        raise rg.GraphError(f"{option} {text!r} is no value of a column of {kind}") from error
