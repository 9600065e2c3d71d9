"""Check the columns of Parquet files with edges before any row is read.

All files must have the requested columns, each of one kind. Only footers are read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import rapidsgraph as rg
from rapidsgraph.frames import missing_column_error
from rapidsgraph.io.inputs import open_input
from rapidsgraph.io.tables import read_errors
from rapidsgraph.validation import choose_weight

NAMES = ("text", "numbers", "uint64")  # kinds of vertex names; uint64 does not fit in int64
TIMES = ("text", "numbers", "dates", "times", "times with a zone")


class LogFiles(NamedTuple):
    """Parquet files whose columns have been checked.

    Attributes
    ----------
    path : Path
        A file, or the folder of the files.
    columns : dict from str to str
        Column names by option: source, destination, weight, time.
    types : dict from str to dict
        By file: Arrow types by column.
    kinds : dict from str to str or None
        By column; None where no file has a value.
    """

    path: Path
    columns: dict[str, str]
    types: dict[str, dict[str, Any]]
    kinds: dict[str, str | None]


def open_log_files(path: str | Path, **columns: str | None) -> LogFiles:
    """Open Parquet files, and check that each has these columns.

    Parameters
    ----------
    path : path
        A file or a folder.
    **columns : str or None
        Column names by option: source, destination, weight, time. The weight is that of `Graph`.

    Returns
    -------
    LogFiles

    Raises
    ------
    GraphError
        A file is missing or not Parquet, or a column is missing, of different kinds in two files,
        or of a kind that the option cannot use.
    """
    path = Path(path).expanduser()
    with open_input(path) as files, read_errors(path):
        if files.format != "parquet":
            raise rg.GraphError(f"{path}: pipelines read Parquet only; convert the file", path=path)
    paths = [str(file.path) for file in files.files]
    endpoints = [columns.get(end) for end in ("source", "destination")]
    names_of_first = _read_schema(paths[0]).names
    columns["weight"] = choose_weight(columns.get("weight"), names_of_first, endpoints)
    names = {option: column for option, column in columns.items() if column is not None}
    _check_different(names)
    types = {path: _column_types(path, names) for path in paths}
    kinds = {column: _common_kind(types, column) for column in names.values()}
    for option, column in names.items():
        _check_kind(path, option, column, kinds[column])
    return LogFiles(path, names, types, kinds)


def _check_different(columns: dict[str, str]) -> None:
    edge_columns = [column for option, column in columns.items() if option != "time"]
    if len(set(edge_columns)) < len(edge_columns):
        raise rg.GraphError(
            "--source, --destination and --weight must be different columns",
            parameter="--source",
            value=edge_columns,
        )


def _read_schema(path: str) -> Any:
    import pyarrow.parquet

    with read_errors(Path(path)):
        return pyarrow.parquet.read_schema(path)


def _column_types(path: str, columns: dict[str, str]) -> dict[str, Any]:
    schema = _read_schema(path)
    for option, column in columns.items():
        if column not in schema.names:
            error = missing_column_error(column, schema.names, option)
            raise rg.GraphError(f"{path}: {error}", path=path, parameter=option, column=column)
    return {column: schema.field(column).type for column in columns.values()}


def _common_kind(types: dict[str, dict[str, Any]], column: str) -> str | None:
    """Return the kind of a column in all files, or raise if it differs between them."""
    first_path = common = None
    for path, column_types in types.items():
        kind = kind_of(column_types[column])
        if common is None:
            first_path, common = path, kind
        elif kind not in (None, common):
            raise rg.GraphError(
                f"{path}: column {column!r} holds {kind}, but in {first_path} it holds {common}; "
                "write all files with the same type",
                path=path,
                column=column,
            )
    return common


def kind_of(arrow_type: Any) -> str | None:
    """Return the kind of a type; types of one kind have a common type.

    None is the kind of a column without a value.
    """
    from pyarrow import types

    if types.is_null(arrow_type):
        return None
    if is_text(arrow_type):
        return "text"
    if types.is_uint64(arrow_type):
        return "uint64"
    if types.is_integer(arrow_type) or types.is_floating(arrow_type):
        return "numbers"
    if types.is_date(arrow_type):
        return "dates"
    if types.is_timestamp(arrow_type):
        return "times with a zone" if arrow_type.tz else "times"
    return str(arrow_type)


def is_text(arrow_type: Any) -> bool:
    """Return whether an Arrow type is text, plain or dictionary-encoded."""
    from pyarrow import types

    plain = arrow_type.value_type if types.is_dictionary(arrow_type) else arrow_type
    return types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain)


def _check_kind(path: Path, option: str, column: str, kind: str | None) -> None:
    """Raise if an option cannot take a column of this kind."""
    kinds = {"weight": ("numbers", "uint64"), "time": (*TIMES, "uint64")}.get(option, NAMES)
    text = {"weight": "numbers", "time": "times, numbers, or text"}.get(option, "text or numbers")
    if kind is not None and kind not in kinds:
        raise rg.GraphError(
            f"{path}: --{option} requires {text}; column {column!r} holds {kind}",
            path=path,
            parameter=f"--{option}",
            column=column,
        )


def first_value(
    files: LogFiles,
    column: str,
    is_type: Callable[[Any], bool],
    is_invalid: Callable[[Any], Any],
) -> tuple[str, Any]:
    """Return (file, value) of the first value that ``is_invalid(pandas.Series)`` marks.

    Only files are read in which ``is_type`` holds for the Arrow type of the column.
    """
    import pyarrow.dataset

    paths = (path for path, types in files.types.items() if is_type(types[column]))
    for path in paths:
        dataset = pyarrow.dataset.dataset(path, format="parquet")
        for batch in dataset.to_batches(columns=[column]):
            values = batch.column(0).to_pandas()
            invalid = values[is_invalid(values)]
            if len(invalid):
                return path, invalid.tolist()[0]
    raise LookupError(column)
