"""The columns of numbers of a frame, by its schema."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .errors import ALIASES
from .from_frame import Frame, is_dask, library_name

MAX_CANDIDATES = 5  # columns in a warning
DUCKDB_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE")


def find_weight_candidates(frame: Frame, endpoints: Collection[Any]) -> list[str]:
    """Return the columns of numbers that may be weights of a frame, the likeliest first.

    There are none if there is a column `weight`, or if the library of the frame is unknown. No
    values are read.

    Parameters
    ----------
    frame : Frame
        Also a Dask frame.
    endpoints : collection
        Columns that name vertices.
    """
    library = library_name(frame)
    names: Collection[Any] = ()
    if isinstance(frame, Mapping):
        names = frame
    elif library in ("pandas", "cudf", "polars", "duckdb") or is_dask(frame):
        names = () if hasattr(frame, "collect") else getattr(frame, "columns", ())
    elif library == "pyarrow":
        names = getattr(getattr(frame, "schema", None), "names", ())
    if len(names) <= len(endpoints):
        return []
    names = [name for name in names if isinstance(name, str)]
    others = [name for name in names if name not in endpoints]
    is_invalid = not all(name in names for name in endpoints)
    if not others or is_invalid or "weight" in others:
        return []
    return sort_weight_candidates(
        name for name in _numeric_columns(frame, library) if name in others
    )


def sort_weight_candidates(names: Iterable[str]) -> list[str]:
    """Return columns, those with usual names of weights first."""
    order = {alias: place for place, alias in enumerate(ALIASES["weight"])}
    return sorted(names, key=lambda name: order.get(name.lower(), len(order)))


def list_weight_candidates(candidates: Sequence[str]) -> str:
    """Return the first columns as text for a warning."""
    more = ", ..." if len(candidates) > MAX_CANDIDATES else ""
    return ", ".join(map(repr, candidates[:MAX_CANDIDATES])) + more


def _numeric_columns(frame: Frame, library: str) -> list[Any]:
    """Return the columns of integers and floating-point numbers."""
    if library == "polars":
        return [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    if library == "duckdb":  # a relation, whose decimals may be cast
        dtypes = map(str, frame.types)
        return [
            name
            for name, dtype in zip(frame.columns, dtypes, strict=True)
            if dtype.removeprefix("U") in DUCKDB_NUMBERS or dtype.startswith("DECIMAL")
        ]
    if library == "pyarrow":
        from pyarrow import types

        is_number = (types.is_integer, types.is_floating)
        return [field.name for field in frame.schema if any(test(field.type) for test in is_number)]
    if isinstance(frame, Mapping):
        columns = [(name, getattr(values, "dtype", None)) for name, values in frame.items()]
    else:
        columns = list(zip(frame.columns, frame.dtypes, strict=True))
    return [name for name, dtype in columns if getattr(dtype, "kind", "") in ("i", "u", "f")]
