"""Frames of several libraries as arrays, and arrays as frames of the caller's library.

A frame is a pandas, cuDF or Polars frame, an Arrow table or record batch, anything else with the
Arrow PyCapsule stream, or a mapping from column names to arrays. This package is the only code that
distinguishes frame libraries, and it imports none of them to do so.

Columns of numbers become NumPy or CuPy arrays, columns of text pandas or cuDF Series.
"""

from .errors import POLICY_EFFECTS, missing_column_error, missing_endpoint_error, with_casts_of
from .factorize import (
    CHUNK_ROWS,
    TEXT_CHUNK_ROWS,
    copied_bytes,
    distinct_numbers,
    distinct_text,
    encode_numbers,
    encode_text,
    find_numbers,
    find_text,
    is_arrow_text,
    series_library,
    take_text,
    text_sizes,
)
from .from_frame import (
    Column,
    Frame,
    VertexValues,
    Vertices,
    arrow_text_type,
    column_names,
    common_array_module,
    compute_if_dask,
    get_column,
    is_dask,
    is_frame,
    library_name,
    normalize_frame,
    to_device,
)
from .nullable import NullableIntegers, NullMask, mask_size
from .numeric_columns import (
    find_weight_candidates,
    list_weight_candidates,
    sort_weight_candidates,
)
from .to_frame import decode_text, divide_rows, get_nullable_column, make_frame

__all__ = [
    "CHUNK_ROWS",
    "POLICY_EFFECTS",
    "TEXT_CHUNK_ROWS",
    "Column",
    "Frame",
    "NullMask",
    "NullableIntegers",
    "VertexValues",
    "Vertices",
    "arrow_text_type",
    "column_names",
    "common_array_module",
    "compute_if_dask",
    "copied_bytes",
    "decode_text",
    "distinct_numbers",
    "distinct_text",
    "divide_rows",
    "encode_numbers",
    "encode_text",
    "find_numbers",
    "find_text",
    "find_weight_candidates",
    "get_column",
    "get_nullable_column",
    "is_arrow_text",
    "is_dask",
    "is_frame",
    "library_name",
    "list_weight_candidates",
    "make_frame",
    "mask_size",
    "missing_column_error",
    "missing_endpoint_error",
    "normalize_frame",
    "series_library",
    "sort_weight_candidates",
    "take_text",
    "text_sizes",
    "to_device",
    "with_casts_of",
]
