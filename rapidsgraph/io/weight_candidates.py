"""The columns of numbers of an edge file that may be its weights."""

from __future__ import annotations

import itertools

from .. import frames
from ..errors import WeightWarning, warn
from .columnar_files import Arrow, Parquet
from .tables import ColumnSelection, is_number, is_plain_number
from .text_files import Text

CHECKED_ROWS = 100  # of text, whose columns have no declared types


def find_weight_candidates(file: Parquet | Arrow | Text, columns: ColumnSelection) -> list[str]:
    """Return the columns of numbers that may be weights, the likeliest first.

    There are none if weights are read. The types are those of the schema, or of the first rows of
    text.
    """
    others = [name for name in file.names if name not in columns.ids]
    others = [name for name in others if others.count(name) == 1]
    if columns.weights or not others:
        return []
    if isinstance(file, Text):
        return frames.sort_weight_candidates(_find_numbers(file, others))
    from pyarrow import types

    dtypes = {name: file.schema.field(name).type for name in others}
    return frames.sort_weight_candidates(
        name for name in others if is_plain_number(dtypes[name]) or types.is_decimal(dtypes[name])
    )


def _find_numbers(file: Text, names: list[str]) -> list[str]:
    """Return the columns of text that hold numbers in all of the first rows."""
    places = {name: file.names.index(name) for name in names}
    stop = file.header_rows + CHECKED_ROWS
    rows = [fields for _, fields in itertools.islice(file.rows(), file.header_rows, stop)]
    return [
        name
        for name, place in places.items()
        if rows and all(len(row) > place and is_number(row[place]) for row in rows)
    ]


def warn_about_candidates(name: str, candidates: list[str]) -> None:
    """Warn that no weights are read from the input `name`, which has columns of numbers."""
    if candidates:
        warn(
            f"{name}: no weights are read, as there is no column 'weight'; columns of numbers: "
            f"{frames.list_weight_candidates(candidates)}; weight={candidates[0]!r} reads one of "
            "them, weight=None none",
            WeightWarning,
        )
