"""Conversion of frames of several libraries to arrays of numbers and Series of text."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from .. import device
from ..errors import GraphError, format_value
from .errors import (
    FLOAT_LIMIT,
    invalid_text_error,
    invalid_type_error,
    missing_column_error,
    missing_value_error,
    not_a_frame_error,
)

# A pandas, cuDF, Polars, Arrow or Dask frame, or a mapping from column names to arrays.
Frame: TypeAlias = Any
# A vertex name (an integer, a text, or a tuple if several columns name a vertex), or a list, array,
# Series, range or frame of names.
Vertices: TypeAlias = Any
# The weights of vertices: a frame of names and one column of values, a Series indexed by name, or a
# dict from name to value.
VertexValues: TypeAlias = Any
Column: TypeAlias = Any  # a NumPy or CuPy array of numbers, or a pandas or cuDF Series of text

LIBRARIES = ("pandas", "cudf", "pyarrow", "polars", "dask", "dask_expr", "dask_cudf")


def library_name(values: object) -> str:
    """Return the package that defines the type of a frame, Series or array, or a base of it."""
    return _library_of_type(type(values))  # type: ignore[arg-type]  # types are hashable


@functools.cache
def _library_of_type(frame_type: type) -> str:
    names = [base.__module__.split(".")[0].lstrip("_") for base in frame_type.__mro__]
    return next((name for name in names if name in LIBRARIES), names[0])


def is_dask(frame: object) -> bool:
    """Return whether a frame or Series is one of Dask."""
    is_of_dask = library_name(frame) in ("dask", "dask_expr", "dask_cudf")
    return is_of_dask and hasattr(type(frame), "npartitions")


def compute_if_dask(values: Any) -> Any:
    """Compute a small Dask frame or Series, and return anything else unchanged."""
    return values.compute() if is_dask(values) else values


def is_frame(values: Any) -> bool:
    """Return whether a value is an eager frame or a mapping, as `normalize_frame` takes it."""
    if isinstance(values, Mapping):
        return True
    library = library_name(values)
    if library == "polars" and hasattr(values, "collect"):  # a lazy frame
        return False
    # A Series has the Arrow stream too, but none of these attributes.
    has_columns = hasattr(values, "columns") or hasattr(values, "column_names")
    has_columns = has_columns or hasattr(values, "schema")
    return has_columns and (library in ("pandas", "cudf") or hasattr(values, "__arrow_c_stream__"))


def normalize_frame(frame: Frame, parameter: str = "edges") -> tuple[str, Frame]:
    """Return the kind of a frame, and the frame, as an Arrow table if it only has the Arrow stream.

    The kind is its library: "pandas", "cudf", "arrow", "polars", ..., or "arrays" for a mapping. An
    Arrow stream can be read once only.

    Parameters
    ----------
    frame : Frame
    parameter : str, default "edges"
        The parameter of the caller, for the error.

    Raises
    ------
    GraphError
        If `frame` is not an eager frame, or an Arrow reader without rows.
    """
    library = library_name(frame)
    if is_dask(frame):
        raise GraphError(
            "only Graph and the algorithms accept Dask frames; call .compute() on it first",
            parameter=parameter,
            hint="call .compute() on the frame",
        )
    if library == "polars" and hasattr(frame, "collect"):
        raise GraphError(
            "a lazy Polars frame has no rows yet; call .collect() on it first",
            parameter=parameter,
            hint="call .collect() on the frame",
        )
    if isinstance(frame, Mapping):
        return "arrays", frame
    if not is_frame(frame):
        raise not_a_frame_error(frame, parameter)
    if library in ("pandas", "cudf"):
        return library, frame
    import pyarrow

    if not isinstance(frame, pyarrow.Table):  # a round trip through its own stream may fail
        is_reader = isinstance(frame, pyarrow.RecordBatchReader)
        try:
            frame = pyarrow.table(frame)
        except pyarrow.ArrowException as error:
            raise GraphError(
                f"Arrow cannot convert this frame ({error}); select the columns of the edges, and "
                "cast those of types that Arrow does not have",
                parameter=parameter,
            ) from error
        if is_reader and not frame.num_rows:
            raise GraphError(
                "a RecordBatchReader has no rows, or was read before, which is possible once only; "
                "call .read_all() before its first use, and pass the table",
                parameter=parameter,
                hint="call .read_all() before the first use of the reader",
            )
    return "arrow" if library == "pyarrow" else library, frame


def column_names(frame: Frame) -> list[Any]:
    """Return the column names of a normalized frame."""
    return list(frame.column_names if library_name(frame) == "pyarrow" else frame)


def common_array_module(columns: Iterable[Column]) -> device.ArrayModule:
    """Return `cupy` if one of the columns is a CuPy array or cuDF text, else `numpy`."""
    on_gpu = any(device.is_on_gpu(v) or library_name(v) == "cudf" for v in columns)
    return device.import_cupy() if on_gpu else np


def get_column(
    frame: Frame, name: Any, parameter: str, frame_parameter: str | None = None
) -> Column:
    """Return a column of a normalized frame: an array of numbers, or a Series of text.

    Parameters
    ----------
    frame : Frame
        As from `normalize_frame`.
    name : object
        Name of the column.
    parameter : str
        The parameter that names the column; those of `weight` and `values` hold numbers.
    frame_parameter : str, optional
        As in `missing_column_error`.

    Raises
    ------
    GraphError
        If the column or one of its values is missing, or its values are of another type.
    """
    if isinstance(name, str) and library_name(frame) == "cudf":
        values = _numbers_of_cudf(frame, name)  # before the names are listed, which takes longer
        if values is not None:
            return values
    names = column_names(frame)
    try:
        is_missing = name not in set(names)
    except TypeError:  # an unhashable name
        is_missing = True
    if is_missing:
        raise missing_column_error(name, names, parameter, frame_parameter)
    try:
        if names.count(name) > 1:
            raise GraphError(
                f"{names.count(name)} columns are called {format_value(name)}; rename all but one",
                parameter=parameter,
                column=name,
            )
        return _convert_column(frame[name], name, parameter)
    except UnicodeEncodeError as error:  # pandas converts text to Arrow
        raise invalid_text_error(name, error.object) from error
    except GraphError as error:
        if frame_parameter is None:
            raise
        raise error.with_frame(frame_parameter) from None


def arrow_text_type(frame: Frame, name: Any) -> Any:
    """Return the Arrow type of a text column of an Arrow table, None for any other column."""
    if library_name(frame) != "pyarrow":
        return None
    arrow_type = frame[name].type
    arrow_type = getattr(arrow_type, "value_type", arrow_type)  # of a dictionary
    return arrow_type if str(arrow_type) in ("string", "large_string", "string_view") else None


def _convert_column(values: Any, name: Any, parameter: str) -> Column:
    """Convert a column of any frame library to an array of numbers or a Series of text.

    `name` and `parameter` are those of `get_column`, for error messages; the parameter decides
    whether text is allowed.
    """
    fit = "numbers" if parameter in ("weight", "values") else "integers or text"
    library = library_name(values)
    is_table = getattr(values, "ndim", 1) == 2 and hasattr(values, "columns")
    if is_table or hasattr(values, "levels"):
        raise GraphError("{column} is a frame or MultiIndex; pass a frame of columns", column=name)
    if library == "pandas" and not hasattr(values, "iloc"):  # an Index
        values = importlib.import_module("pandas").Series(values)
    if library == "polars":
        values, library = values.to_arrow(), "pyarrow"
    elif library == "pandas" and _is_read_by_arrow(values.dtype):
        values, library = values.array.__arrow_array__(), "pyarrow"
    if library == "pyarrow":
        values = _from_arrow(values, name, fit)
    elif library == "cudf":
        values = _from_cudf(values, name, fit)
    elif library == "pandas":
        values = _from_pandas(values, name, fit)
    elif not device.is_on_gpu(values):
        values = _from_sequence(values, name)
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise GraphError(
                f"{{column}} has {values.ndim} dimensions; it must have one", column=name
            )
        if values.dtype.kind == "V":
            raise GraphError(f"{{column}} holds {values.dtype}; it must hold {fit}", column=name)
        if values.dtype.kind not in "iuf":
            values = _from_pandas(importlib.import_module("pandas").Series(values), name, fit)
        elif not values.dtype.isnative:
            values = values.astype(values.dtype.newbyteorder("="))
    return values


def _is_read_by_arrow(dtype: Any) -> bool:
    """Return whether pandas has no operations for a type of Arrow that can hold names."""
    arrow_type = getattr(dtype, "pyarrow_dtype", None)
    return str(arrow_type).startswith(("dictionary", "string_view"))


def _from_sequence(values: Any, name: Any) -> np.ndarray:
    """Convert to a NumPy array without converting numbers beside text, which is an error later."""
    if hasattr(values, "dtype") and np.ma.is_masked(values):
        raise missing_value_error(name, int(np.ma.getmaskarray(values).argmax()))
    if isinstance(values, (set, frozenset)):
        values = sorted(values, key=str)
    if hasattr(values, "dtype"):
        return np.asarray(values)
    try:
        array = np.asarray(values)
    except ValueError:  # sequences of different lengths
        return _to_object_array(values)
    is_list = isinstance(values, (list, tuple))
    has_bools = is_list and not {bool, np.bool_}.isdisjoint(map(type, values))
    if array.ndim == 1 and (array.dtype.kind not in "iuf" or has_bools):
        # NumPy would convert all to one type, and drop the trailing NULs of text.
        return _to_object_array(values)
    if (
        is_list
        and array.dtype.kind == "f"
        and all(isinstance(v, (int, np.integer)) for v in values)
    ):
        return np.array(values, dtype=object)  # NumPy would promote int64 and uint64 to float64
    return array


def _to_object_array(values: Iterable[Any]) -> np.ndarray:
    values = list(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _from_pandas(series: Any, name: Any, fit: str) -> Column:
    import pandas

    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu":
        return series.to_numpy()
    missing = series.isna().to_numpy()
    if isinstance(series.dtype, pandas.CategoricalDtype):
        if missing.any():
            raise missing_value_error(name, int(missing.argmax()))
        return _from_pandas(series.astype(series.cat.categories.dtype), name, fit)
    kind = series.dtype.kind
    if kind == "f":  # NaN may be valid for the caller
        is_plain = isinstance(series.dtype, np.dtype)
        return series.to_numpy() if is_plain else series.to_numpy("float64", na_value=np.nan)
    if missing.any():
        raise missing_value_error(name, int(missing.argmax()))
    if kind in "iu":
        type_name = str(series.dtype).split("[")[0].lower()  # "Int64", "int64[pyarrow]"
        is_sparse = isinstance(series.dtype, pandas.SparseDtype)
        return np.asarray(series) if is_sparse else series.to_numpy(np.dtype(type_name))
    if not len(series):
        if fit != "numbers" and series.dtype.type is str:
            return series.reset_index(drop=True)
        return np.empty(0, np.int64)  # untyped, so that columns with rows decide
    inferred = pandas.api.types.infer_dtype(series, skipna=True)
    if inferred == "string":
        _check_text(series, name)
        return series.reset_index(drop=True)
    floats = ("floating", "mixed-integer-float")
    if inferred == "integer" or (fit == "numbers" and inferred in floats):
        try:
            with np.errstate(over="ignore"):  # infinity may be valid for the caller
                return series.to_numpy("int64" if inferred == "integer" else "float64")
        except OverflowError:
            return _from_long_integers(series.tolist(), name, fit)
    raise invalid_type_error(series, name, inferred, fit == "numbers", fit)


def _from_long_integers(values: list[int], name: Any, fit: str) -> np.ndarray:
    """Convert integers beyond int64 to uint64, or numbers beyond that to float64."""
    low, high = min(values), max(values)
    if low >= 0 and high < 2**64:
        return np.array(values, dtype="uint64")
    if fit == "numbers":
        try:
            return np.array(values, dtype=np.float64)
        except OverflowError:
            row = next(row for row, value in enumerate(values) if abs(value) >= FLOAT_LIMIT)
            raise GraphError(
                f"{{column}} holds {format_value(values[row])} in row {{row}}, which is beyond "
                "double precision",
                column=name,
                row=row,
                value=values[row],
            ) from None
    is_signed = -(2**63) <= low < 0
    limits = (low, 2**63) if is_signed else (0, 2**64)
    row = next(row for row, value in enumerate(values) if not limits[0] <= value < limits[1])
    reason = "beside negative ones " if is_signed and values[row] < 2**64 else ""
    raise GraphError(
        f"{{column}} holds {format_value(values[row])} in row {{row}}, which {reason}is beyond "
        "64 bits; use text",
        column=name,
        row=row,
        value=values[row],
    )


def _check_text(series: Any, name: Any) -> None:
    """Raise an error if a Python string is not valid Unicode."""
    if "pyarrow" in str(getattr(series.dtype, "storage", series.dtype)):  # UTF-8 is valid
        return
    values = series.tolist()
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        row = next(row for row, value in enumerate(values) if not _is_valid_text(value))
        raise invalid_text_error(name, values[row], row) from None


def _is_valid_text(value: str) -> bool:
    try:
        return value.encode() is not None
    except UnicodeEncodeError:
        return False


def _numbers_of_cudf(frame: Frame, name: Any) -> Column | None:
    """Return a column of numbers without nulls of a cuDF frame, or None for any other.

    It is the one that ``frame[name].values`` returns, which takes longer than a small BFS because
    cuDF makes a Series first.
    """
    column: Any = getattr(frame, "_data", {}).get(name)
    dtype = getattr(column, "dtype", None)  # of pandas or cuDF for categories and text
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iuf" or not len(column):
        return None
    return None if column.has_nulls() else device.import_cupy().asarray(column)


def _from_cudf(series: Any, name: Any, fit: str) -> Column:
    dtype = series.dtype
    if dtype.name == "category":
        series = series.astype(series.cat.categories.dtype)
        dtype = series.dtype
    if series.has_nulls:
        if dtype.kind == "f":
            return series.astype("float64").fillna(np.nan).values
        raise missing_value_error(name, int(series.isna().values.argmax()))
    if dtype.kind in "iufb":
        return series.values
    if dtype.kind == "O" or str(dtype) in ("str", "string"):
        return series.reset_index(drop=True)
    raise GraphError(f"{{column}} holds {dtype}; it must hold {fit}", column=name)


def _from_arrow(chunked: Any, name: Any, fit: str) -> Column:
    import pyarrow

    if isinstance(chunked, pyarrow.ChunkedArray):
        chunks = [chunk for chunk in chunked.chunks if len(chunk)]
        chunked = chunks[0] if len(chunks) == 1 else chunked.combine_chunks()
    if isinstance(chunked, pyarrow.ChunkedArray):  # as combine_chunks of old releases returns
        chunked = pyarrow.concat_arrays(chunked.chunks)
    if chunked.null_count and not pyarrow.types.is_floating(chunked.type):
        raise missing_value_error(
            name, int(chunked.is_null().to_numpy(zero_copy_only=False).argmax())
        )
    if pyarrow.types.is_integer(chunked.type) or pyarrow.types.is_floating(chunked.type):
        return chunked.to_numpy(zero_copy_only=False)
    if pyarrow.types.is_dictionary(chunked.type):
        import pandas

        if chunked.dictionary.null_count:  # nulls that rows may refer to
            return _from_arrow(chunked.dictionary_decode(), name, fit)
        values = _from_arrow(chunked.dictionary, name, fit)
        values = pandas.Series(values).take(chunked.indices.to_numpy(zero_copy_only=False))
        return _from_pandas(values.reset_index(drop=True), name, fit)
    return _from_pandas(chunked.to_pandas(), name, fit)


def to_device(values: Column, xp: device.ArrayModule) -> Column:
    """Return a column on the device of `xp`, copied only if it is on the other one."""
    if device.is_on_gpu(values):
        return values if xp is not np else values.get()
    if isinstance(values, np.ndarray):
        return xp.asarray(values)
    library = library_name(values)
    if library == "cudf" and xp is np:
        return values.to_pandas()
    if library == "pandas" and xp is not np:
        return importlib.import_module("cudf").Series(values)
    return values
