"""Tables in files of any format, and the columns of them that hold edges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .. import frames
from ..errors import GraphError, MissingColumnError
from ..validation import as_list
from .columnar_files import Arrow, Parquet, is_plain_number
from .formats import format_of
from .matrix_market import Matrix
from .text_files import Text, is_number

POSITIONAL = ["source", "destination", "weight"]  # columns of a file without a header
Table = Parquet | Arrow | Text


def open_table(path: Path, positional: Sequence[str]) -> Table:
    """Open a file, or a folder of Parquet files, by its ending.

    Parameters
    ----------
    path : Path
    positional : sequence of str
        Names of the first columns of a text file without a header.

    Returns
    -------
    Parquet, Arrow, Text or Matrix
    """
    size = path.stat().st_size  # a missing file is reported before an unknown ending
    name = "parquet" if path.is_dir() else format_of(path)
    if size == 0:
        raise GraphError(f"{path}: the file is empty", path=path)
    if name == "parquet":
        return Parquet(path)
    if name == "arrow":
        return Arrow(path)
    return Matrix(path) if name == "mtx" else Text(path, name, positional)


class EdgeColumns(NamedTuple):
    """Columns of an edge file.

    Attributes
    ----------
    sources, destinations : list of str
        Columns that name the ends of an edge, of one length.
    weights : list of str
        The column of weights, or none.
    is_renamed : bool
        Whether frames have the names of `POSITIONAL` instead.
    """

    sources: list[str]
    destinations: list[str]
    weights: list[str]
    is_renamed: bool

    @property
    def ids(self) -> list[str]:
        """The name columns, each once: both ends may share a column."""
        return list(dict.fromkeys([*self.sources, *self.destinations]))

    @property
    def groups(self) -> list[list[str]]:
        """For each part of a name the columns that hold it."""
        return [list(group) for group in zip(self.sources, self.destinations, strict=True)]

    @property
    def names(self) -> list[str]:
        """Names of the columns `ids` and `weights` in a frame."""
        names = [*self.ids, *self.weights]
        return POSITIONAL[: len(names)] if self.is_renamed else names


def select_columns(
    table: Table,
    path: Path,
    source: str | Sequence[str] | None,
    destination: str | Sequence[str] | None,
    weight: str | None = None,
) -> EdgeColumns:
    """Return the columns of an open table that a caller has named, or the default ones.

    Raises
    ------
    GraphError
        A column is missing or ambiguous, or used twice, or the ends have unequal numbers of them.
    """
    ends = []
    for parameter, given in (("source", source), ("destination", destination)):
        names = [parameter] if given is None else as_list(given)
        ends.append([_check_column(table, path, name, parameter) for name in names])
    sources, destinations = ends
    if len(sources) != len(destinations) or not sources:
        raise GraphError(
            f"{path}: {len(sources)} columns for source and {len(destinations)} for destination; "
            "give the same number of both",
            path=path,
            parameter="destination",
        )
    weights = [] if weight is None else [_check_column(table, path, weight, "weight")]
    if sources == destinations or {*weights} & {*sources, *destinations}:
        raise GraphError(
            f"{path}: source, destination and weight must be different columns", path=path
        )
    is_renamed = not any(isinstance(given, list | tuple) for given in (source, destination))
    return EdgeColumns(sources, destinations, weights, is_renamed)


def _check_column(table: Table, path: Path, name: Any, parameter: str) -> str:
    """Return `name`; raise GraphError unless exactly one column of the file is called so."""
    count = table.names.count(name)
    if count == 1:
        return name
    if count:
        raise GraphError(
            f"{path}: several columns are called {name!r}; rename all but one",
            path=path,
            parameter=parameter,
            column=name,
        )
    error = frames.missing_column_error(name, table.names, parameter)
    hint = "" if error.hint else f"; name the one to take with {parameter}="
    raise MissingColumnError(
        f"{path}: {error}{hint}",
        path=path,
        parameter=parameter,
        column=name,
        columns=error.columns,
        candidate=error.candidate,
        hint=error.hint,
    )


def check_table(table: Any, path: Path, numbers: Sequence[str]) -> Any:
    """Return an Arrow table without dictionaries and decimals.

    Raises
    ------
    GraphError
        A value is missing, or a column of `numbers` holds something else; names the row.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for index, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if column.null_count:
            row = pc.index(column.is_null(), True).as_py()
            raise GraphError(
                f"{path}: {{column}} has no value in row {{row}}", path=path, column=name, row=row
            )
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if name in numbers and pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        if name in numbers and not is_plain_number(column.type):
            raise _not_numbers(column, path, name)
        table = table.set_column(index, name, column)
    return table


def _not_numbers(column: Any, path: Path, name: str) -> GraphError:
    values, row, example = column.to_pylist(), None, ""
    if values:
        row = next((row for row, value in enumerate(values) if not is_number(str(value))), 0)
        example = f", such as {str(values[row])!r} in row {{row}}"
    return GraphError(
        f"{path}: {{column}} holds {column.type} where numbers are needed{example}",
        path=path,
        column=name,
        row=row,
        value=None if row is None else values[row],
    )
