"""Errors, column selection and candidates for weights, for the readers of all formats."""

from __future__ import annotations

import contextlib
import csv
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from .. import frames
from ..atomic import is_no_space
from ..errors import GraphError, MissingColumnError, WeightWarning, warn
from ..validation import (
    DEFAULT_WEIGHT,
    FILE_WEIGHT_HINT,
    as_list,
    check_endpoint_columns,
    choose_weight,
)
from .formats import FORMATS, split_endings

POSITIONAL = ["source", "destination", "weight"]  # columns of a file without a header


class EdgeMetadata(NamedTuple):
    """Facts about an edge file that are known before its rows are read.

    Attributes
    ----------
    num_rows : int
        Number of edges. Exact for Parquet and Arrow. An upper bound for Matrix Market, where an
        entry of a symmetric matrix counts twice; for other text the number of lines without the
        header, comments included.
    id_type : {"integer", "string"}
        For text the type of the ids in the first row.
    id_range : tuple of int, or None
        Smallest and largest id, from the statistics of Parquet or the size line of a Matrix Market
        file; None if ids are not integers, or the range is not recorded.
    """

    num_rows: int
    id_type: str
    id_range: tuple[int, int] | None


@contextlib.contextmanager
def read_errors(path: str | Path) -> Iterator[None]:
    """Convert the errors of readers about missing and damaged files into a GraphError."""
    try:
        yield
    except GraphError:
        raise
    except MemoryError as error:
        if type(error) is MemoryError:
            raise
        raise damaged_error(path, error) from error  # ArrowMemoryError: an invalid length
    except FileNotFoundError as error:
        raise GraphError(f"{path}: there is no such file", path=path) from error
    except PermissionError as error:
        raise GraphError(f"{path}: there is no permission to read it", path=path) from error
    except OSError as error:
        if is_no_space(error):  # of a file that the block writes
            raise
        raise damaged_error(path, error) from error
    except (EOFError, zlib.error) as error:
        raise GraphError(
            f"{path}: the compressed data are truncated or damaged ({error})", path=path
        ) from error
    except UnicodeDecodeError as error:
        file_format = FORMATS.get(split_endings(path)[0])
        if Path(path).is_dir() or file_format in ("parquet", "arrow"):
            raise damaged_error(path, error) from error
        raise GraphError(
            f"{path}: the text is not UTF-8 ({error}); convert it first", path=path
        ) from error
    except struct.error as error:
        raise damaged_error(path, "an offset is outside the file") from error
    except UnicodeEncodeError as error:
        raise GraphError(
            f"{str(path)!a}: this format requires a path of valid Unicode; rename the file "
            "or folder",
            path=path,
        ) from error
    except (ValueError, csv.Error, NotImplementedError, TypeError, KeyError) as error:
        raise damaged_error(path, error) from error
    except Exception as error:
        import pyarrow

        is_lzma = type(error).__name__ == "LZMAError"  # of a module that Python may lack
        if not is_lzma and not isinstance(error, pyarrow.ArrowException):
            raise
        raise damaged_error(path, error) from error


def damaged_error(path: str | Path, reason: object) -> GraphError:
    """Return the error for a file whose contents do not match its ending."""
    reason = (str(reason) or type(reason).__name__).splitlines()[0]
    # PyArrow says twice that it cannot open or read the file, then why, then what may be wrong.
    for introduction in (f"'{path}': ", "Is this a 'parquet' file?: "):
        prefix, _, nested = reason.rpartition(introduction)
        if prefix:
            reason = nested.partition(". ")[0]
    hint = "copy it again from its source, or name its format"
    return GraphError(
        f"{path}: truncated, damaged or of another format ({reason.removesuffix('.')}); {hint}",
        path=path,
        hint=hint,
    )


class Table(Protocol):
    """What this module needs of a reader: Parquet, Arrow or Text."""

    files: Any
    names: list[str]

    def locate_row(self, row: int) -> tuple[str | Path, int]:
        """Return the name of the file that has a row, and the row's number there."""

    def number_columns(self, names: Sequence[str]) -> list[str]:
        """Return which of some columns hold numbers, by the schema or the first rows."""


class ColumnSelection(NamedTuple):
    """The columns of a file that hold edges.

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
        """The (source, destination) columns of each part of a name."""
        return [list(group) for group in zip(self.sources, self.destinations, strict=True)]

    @property
    def names(self) -> list[str]:
        """Names of the columns `ids` and `weights` in a frame."""
        names = [*self.ids, *self.weights]
        return POSITIONAL[: len(names)] if self.is_renamed else names


def select_columns(
    column_names: Sequence[str],
    path: str | Path,
    source: str | Sequence[str] | None,
    destination: str | Sequence[str] | None,
    weight: str | None = None,
) -> ColumnSelection:
    """Return the columns of edges: those that the caller names, or the default ones.

    Raises
    ------
    GraphError
        If a column is missing, ambiguous or used twice, or source and destination have different
        numbers of columns.
    """
    _check_delimiter(column_names, path)
    if source is None and destination is None:
        _check_endpoints(column_names, path, weight)
    ends = []
    for parameter, value in (("source", source), ("destination", destination)):
        names = [parameter] if value is None else as_list(value)
        other = {"source": destination, "destination": source}[parameter]
        used = [*as_list(other), *as_list(weight)]
        ends.append([_check_column(column_names, path, name, parameter, used) for name in names])
    sources, destinations = ends
    try:
        check_endpoint_columns(sources, destinations)
    except GraphError as error:
        raise error.with_path(path) from None
    weight = choose_weight(weight, column_names, [*sources, *destinations])
    used = [*sources, *destinations]
    weights = [] if weight is None else [_check_column(column_names, path, weight, "weight", used)]
    if sources == destinations or {*weights} & {*sources, *destinations}:
        raise GraphError(
            f"{path}: source, destination and weight must be different columns",
            path=path,
            parameter="destination" if sources == destinations else "weight",
        )
    is_renamed = not any(isinstance(value, list | tuple) for value in (source, destination))
    return ColumnSelection(sources, destinations, weights, is_renamed)


def find_weight_candidates(file: Table, columns: ColumnSelection) -> list[str]:
    """Return the columns of numbers that may be weights, the likeliest first.

    There are none if weights are read.
    """
    others = [name for name in file.names if name not in columns.ids]
    others = [name for name in others if others.count(name) == 1]
    if columns.weights or not others:
        return []
    return frames.sort_weight_candidates(file.number_columns(others))


def warn_about_candidates(name: str, candidates: list[str]) -> None:
    """Warn that no weights are read from the input `name`, which has columns of numbers."""
    if candidates:
        warn(
            f"{name}: no weights are read, as there is no column 'weight'; columns of numbers: "
            f"{frames.list_weight_candidates(candidates)}; weight={candidates[0]!r} reads one of "
            "them, weight=None none",
            WeightWarning,
        )


def _check_delimiter(column_names: Sequence[str], path: str | Path) -> None:
    """Raise GraphError for one column whose name looks like several."""
    name = column_names[0] if len(column_names) == 1 else ""
    delimiter = next((character for character in (";", "\t", "|") if character in name), None)
    if delimiter is not None:
        hint = f"read it by pandas.read_csv(path, sep={delimiter!r}) and pass the frame"
        raise GraphError(
            f"{path}: there is one column, {name!r}; the delimiter looks like {delimiter!r}, and "
            f"that of this format is another; {hint}",
            path=path,
            hint=hint,
        )


def _check_endpoints(column_names: Sequence[str], path: str | Path, weight: str | None) -> None:
    """Raise MissingColumnError that names both ends if both default columns are missing."""
    ends = "source", "destination"
    if any(name in column_names for name in ends):
        return
    used = as_list(weight)
    candidates: dict[str, str] = {}
    for name in ends:
        error = frames.missing_column_error(name, column_names, name, used=used)
        candidates |= error.candidates
    if len(set(candidates.values())) < len(ends):
        return
    hint = "pass " + ", ".join(f"{name}={column!r}" for name, column in candidates.items())
    raise MissingColumnError(
        f"{path}: there are no columns 'source' and 'destination'; the columns are "
        f"{', '.join(column_names)}; did you mean "
        f"{' and '.join(map(repr, candidates.values()))}? "
        f"{hint[0].upper()}{hint[1:]}",
        path=path,
        parameter="source",
        column="source",
        columns=list(column_names),
        candidates=candidates,
        hint=hint,
    )


@contextlib.contextmanager
def weight_errors(weights: list[str]) -> Iterator[None]:
    """Add to errors about the default column of weights how to ignore it.

    `weights` is as in `ColumnSelection`.
    """
    try:
        yield
    except GraphError as error:
        if error.column != DEFAULT_WEIGHT or weights != [DEFAULT_WEIGHT]:
            raise
        raise error.with_hint(FILE_WEIGHT_HINT) from None


def _check_column(
    column_names: Sequence[str], path: str | Path, name: Any, parameter: str, used: Sequence[Any]
) -> str:
    """Return `name`; raise GraphError unless exactly one column of the file has this name.

    `used` are the columns that other parameters name.
    """
    count = column_names.count(name)
    if count == 1:
        return name
    if count:
        raise GraphError(
            f"{path}: several columns have the name {name!r}; rename all but one",
            path=path,
            parameter=parameter,
            column=name,
        )
    error = frames.missing_column_error(name, column_names, parameter, used=used)
    hint = "" if error.hint else f"; name the column to use with {parameter}="
    raise MissingColumnError(
        f"{path}: {error}{hint}",
        path=path,
        parameter=parameter,
        column=name,
        columns=error.columns,
        candidates=error.candidates,
        hint=error.hint,
    )


def check_table(table: Any, file: Table, numbers: Sequence[str], first_row: int = 0) -> Any:
    """Return an Arrow table without dictionaries and decimals.

    Parameters
    ----------
    table : pyarrow.Table
        Rows of `file` from `first_row`.
    file : Parquet, Arrow or Text
        It locates rows for messages.
    numbers : sequence of str
        Columns of numbers.
    first_row : int

    Raises
    ------
    GraphError
        If a value is missing, or a column of `numbers` has another type.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for index, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if column.null_count:
            row = pc.index(column.is_null(), True).as_py()
            path, row = file.locate_row(first_row + row)
            raise GraphError(
                f"{path}: {{column}} has no value in row {{row}}", path=path, column=name, row=row
            )
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if name in numbers and pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        if name in numbers and not is_plain_number(column.type):
            raise _not_numbers(column, file, name, first_row)
        table = table.set_column(index, name, column)
    return table


def _not_numbers(column: Any, file: Table, name: str, first_row: int) -> GraphError:
    values, path, row, value = column.to_pylist(), file.files.name, None, None
    example = ""
    if values:
        index = next((row for row, value in enumerate(values) if not is_number(str(value))), 0)
        value = values[index]
        path, row = file.locate_row(first_row + index)
        example = f", such as {str(value)!r} in row {{row}}"
    return GraphError(
        f"{path}: {{column}} must hold numbers, not {column.type}{example}",
        path=path,
        column=name,
        row=row,
        value=value,
    )


def is_plain_number(dtype: Any) -> bool:
    """Return whether an Arrow type is of integers or floating-point numbers."""
    from pyarrow import types

    return types.is_integer(dtype) or types.is_floating(dtype)


def is_number(text: str) -> bool:
    """Return whether text is a decimal number, without the underscores that Python allows."""
    try:
        return "_" not in text and float(text) is not None
    except ValueError:
        return False
