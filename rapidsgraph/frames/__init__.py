"""Frames <-> arrays; the only place that tells frame libraries apart.

A frame is pandas, cuDF, a PyArrow table or record batch, anything with the Arrow PyCapsule
stream (Polars, DuckDB, ...), or a mapping from column names to arrays. None of these libraries
is imported to find out: whoever holds such a frame has imported it.

Columns come out as NumPy or CuPy arrays where they are numbers, and as pandas or cuDF Series
where they are text.
"""

from .factorize import (
    PIECE,
    TEXT_PIECE,
    copied_bytes,
    distinct_numbers,
    distinct_text,
    is_arrow_text,
    number_places,
    number_positions,
    text_library,
    text_places,
    text_positions,
    text_sizes,
)
from .from_frame import (
    Frame,
    check_ends,
    column,
    column_names,
    in_one_piece,
    is_dask,
    kind_of,
    library_of,
    missing_column,
    module_of,
    moved,
    opened,
    text_type,
)
from .to_frame import make, nullable_column, text_column

__all__ = [
    "PIECE",
    "TEXT_PIECE",
    "Frame",
    "check_ends",
    "column",
    "column_names",
    "copied_bytes",
    "distinct_numbers",
    "distinct_text",
    "in_one_piece",
    "is_arrow_text",
    "is_dask",
    "kind_of",
    "library_of",
    "make",
    "missing_column",
    "module_of",
    "moved",
    "nullable_column",
    "number_places",
    "number_positions",
    "opened",
    "text_column",
    "text_library",
    "text_places",
    "text_positions",
    "text_sizes",
    "text_type",
]
