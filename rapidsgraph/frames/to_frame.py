"""Conversion of result columns to a frame of the caller's library, and of nullable ones back.

Distances and predecessors of unreached vertices are null.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from .. import device, kernels
from ..errors import GraphError
from .factorize import is_arrow_text
from .from_frame import Column, Frame, column_names, get_column, library_name
from .nullable import NullableIntegers, mask_columns

MAX_CUDF_ROWS = 2**31 - 1
MIN_DECODED_ROWS = 512  # of text by category, below which a kernel saves no time


def make_frame(
    kind: str, columns: Mapping[str, Any], text_types: Mapping[str, Any] | None = None
) -> Frame:
    """Return a frame of library `kind`.

    Parameters
    ----------
    kind : str
        As from `normalize_frame`.
    columns : mapping of str to Column, NullableIntegers or (Column, array of bool)
        The columns in order, with the valid rows of a nullable one. Other rows become null; in
        arrays, which have no null, -1, or None in text.
    text_types : mapping of str to pyarrow.DataType, optional
        The types of text columns in an Arrow table.
    """
    if kind == "cudf":
        return _make_cudf(columns)
    columns = {name: _with_nulls(kind, values) for name, values in columns.items()}
    if kind == "arrays":
        return {
            name: _to_numpy(values) if library_name(values) == "pandas" else values
            for name, values in columns.items()
        }
    if kind == "pandas":
        return _make_pandas(columns)
    import pyarrow

    has_own_text = kind in ("polars", "duckdb")
    types = {} if has_own_text else dict(text_types or {})
    table = pyarrow.table({name: _to_arrow(v, types.get(name)) for name, v in columns.items()})
    if has_own_text:
        return sys.modules[kind].from_arrow(table)
    return table


def _to_numpy(values: Any) -> np.ndarray:
    """Return a pandas Series as an array that a caller may change."""
    array = values.to_numpy()
    return array if array.flags.writeable else array.copy()


def _make_pandas(columns: Mapping[str, Any]) -> Frame:
    """Return a pandas frame that shares memory with the arrays.

    The constructor of a frame takes longer than most algorithms on a small graph. Blocks of numbers
    and of pandas' own array types do without it, and the labels are converted once.
    """
    pandas, index_of_names = _import_module("pandas"), _pandas_labels(tuple(columns))
    if index_of_names is None:
        return pandas.DataFrame(columns, copy=False)
    labels = index_of_names.view()  # a caller may name the index
    blocks = _pandas_blocks(columns.values())
    if blocks is not None:
        index = pandas.RangeIndex.from_range(range(blocks[0][0].shape[-1]))
        return pandas.api.internals.create_dataframe_from_blocks(blocks, index, labels)
    frame = pandas.DataFrame(dict(enumerate(columns.values())), copy=False)
    frame.columns = labels
    return frame


def _pandas_blocks(columns: Collection[Any]) -> list[tuple[Any, np.ndarray]] | None:
    """Return the blocks of a pandas frame and their positions, or None if it has to infer types."""
    array_type = _block_type()
    if array_type is None:
        return None
    object_array_type = _import_module("pandas").arrays.NumpyExtensionArray  # which no frame has
    blocks = []
    for values, position in zip(columns, _positions(len(columns)), strict=True):
        if type(values) is np.ndarray and values.dtype.kind in "iufb":
            blocks.append((values[np.newaxis], position))
        elif isinstance(values, array_type) and not isinstance(values, object_array_type):
            blocks.append((values, position))
        elif library_name(values) == "pandas" and _is_numbered_text(values):
            blocks.append((values.array.view(), position))  # may be set without the Series
        else:
            return None
    return blocks or None


def _is_numbered_text(values: Any) -> bool:
    """Return whether a pandas Series is text of Arrow whose index is that of a new frame."""
    pandas = _import_module("pandas")
    return is_arrow_text(values) and values.index.equals(pandas.RangeIndex(len(values)))


@functools.cache  # a lookup of an imported module takes longer
def _import_module(name: str) -> Any:
    return importlib.import_module(name)


@functools.cache
def _block_type() -> Any:
    """Return the type of pandas' own arrays, or None before pandas 3, which cannot take blocks."""
    pandas = _import_module("pandas")
    has_blocks = hasattr(pandas.api, "internals")
    return pandas.api.extensions.ExtensionArray if has_blocks else None


@functools.lru_cache(16)
def _positions(count: int) -> list[np.ndarray]:
    return [np.array([column], np.intp) for column in range(count)]


@functools.lru_cache(256)
def _pandas_labels(names: tuple[Any, ...]) -> Any:
    """Return the index of column names, or None if one is no text."""
    is_text = all(isinstance(name, str) for name in names)
    return _import_module("pandas").Index(names) if is_text else None


def _make_cudf(columns: Mapping[str, Any]) -> Frame:
    """Return a cuDF frame that shares memory with the arrays.

    This goes through pylibcudf, because the constructors of cuDF take longer than a small BFS.
    The null counts are final; kernels on the current stream of CuPy may still write the columns.

    Raises
    ------
    GraphError
        If there are more rows than a cuDF frame can have.
    """
    cudf, plc = _import_module("cudf"), _import_module("pylibcudf")
    plc_columns: dict[str, Any] = {}
    nullable: dict[str, Any] = {}
    for name, column in columns.items():
        values, valid = column if isinstance(column, tuple) else (column, None)
        is_nullable = valid is not None or isinstance(values, NullableIntegers)
        if isinstance(values, plc.Column):
            plc_columns[name] = values
        elif library_name(values) == "cudf" or not len(values):
            if isinstance(values, NullableIntegers):
                values = values.fill(0)
            elif is_nullable and len(values):
                values = _mask_column("cudf", values, valid)
            plc_columns[name] = cudf.Series(values).to_pylibcudf()[0]
        elif is_nullable:
            nullable[name] = column
        else:
            plc_columns[name] = _plc_column(values)
    nullable_columns = dict(zip(nullable, mask_columns(list(nullable.values())), strict=True))

    def assemble(counts: Mapping[str, int]) -> Frame:
        for name, (values, mask) in nullable_columns.items():
            plc_columns[name] = _plc_column(values, mask.words, len(values) - counts[name])
        table = plc.Table([plc_columns[name] for name in columns])
        return cudf.DataFrame.from_pylibcudf(table, {"columns": list(columns)})

    masks = {name: mask for name, (_, mask) in nullable_columns.items()}
    # The frame is made while the GPU counts, and made again if the counts are not the expected
    # ones. cuDF could move unfinished columns to the host if it may spill.
    expected = {
        name: mask.expected_valid for name, mask in masks.items() if mask.expected_valid is not None
    }
    is_early = len(expected) == len(masks) and not (masks and cudf.get_option("spill"))
    frame = assemble(expected) if is_early else None
    counts = {name: mask.count_valid() for name, mask in masks.items()}
    return frame if is_early and counts == expected else assemble(counts)


def _plc_column(values: device.Array, mask: device.Array | None = None, num_nulls: int = 0) -> Any:
    """Return a column of pylibcudf that shares the memory of the array, and of the mask if needed.

    `from_cuda_array_interface` takes twice as long.

    Parameters
    ----------
    values : numbers or bool, shape (rows,), C-contiguous
    mask : uint32, optional
        Words of a `NullMask`.
    num_nulls : int, default 0
    """
    assert values.flags.c_contiguous
    if len(values) > MAX_CUDF_ROWS:
        hint = "give the edges as a dict of CuPy arrays, which has no limit"
        raise GraphError(
            f"the result has {len(values):,} rows; a cuDF frame has at most {MAX_CUDF_ROWS:,}; "
            "{hint}",
            value=len(values),
            hint=hint,
        )
    plc = _import_module("pylibcudf")
    words = plc.gpumemoryview(mask) if num_nulls else None
    data = plc.gpumemoryview(values)
    return plc.Column(_plc_type(values.dtype), len(values), data, words, num_nulls, 0, [])


@functools.cache
def _plc_type(dtype: np.dtype[Any]) -> Any:
    """Return the pylibcudf type of a NumPy dtype, as pylibcudf converts it."""
    plc, values = _import_module("pylibcudf"), device.import_cupy().empty(1, dtype)
    return plc.Column.from_cuda_array_interface(values).type()


def decode_text(kind: str, codes: device.Array, categories: Sequence[str]) -> Any:
    """Return a column of the category of each code, or the codes where arrays hold no text."""
    if kind == "cudf":
        plc, cupy = _import_module("pylibcudf"), device.import_cupy()
        table = _category_table(tuple(categories), cupy.cuda.runtime.getDevice())
        indices = _plc_column(device.astype(codes, np.int32))
        policy = plc.copying.OutOfBoundsPolicy.DONT_CHECK
        return plc.copying.gather(table, indices, policy).columns()[0]
    if device.is_on_gpu(codes):
        return codes
    if kind == "arrays":
        return np.array(categories, object)[codes]
    if kind == "pandas":
        return _decode_pandas(codes, tuple(categories))
    import pyarrow

    return pyarrow.array(categories, pyarrow.string()).take(pyarrow.array(codes))


def _decode_pandas(codes: np.ndarray, categories: tuple[str, ...]) -> Any:
    """Return a text array of pandas; Arrow's own gather takes five times as long."""
    array, encoded = _pandas_categories(categories), _encode_categories(categories)
    if len(codes) < MIN_DECODED_ROWS or encoded is None or codes.dtype != np.int8:
        return array.take(codes)
    import pyarrow

    words, sizes, max_size = encoded
    offsets = np.empty(len(codes) + 1, np.int64)
    data = np.empty(len(codes) * max_size + kernels.text.WORD_BYTES, np.uint8)
    num_bytes = kernels.text.write_categories(codes, words, sizes, offsets, data)
    buffers = pyarrow.py_buffer(offsets), pyarrow.py_buffer(data[:num_bytes])
    text = pyarrow.LargeStringArray.from_buffers(len(codes), *buffers)
    # The method of the array takes a fifth of the time of the public one, which checks.
    convert = getattr(array, "_from_pyarrow_array", array.dtype.__from_arrow__)
    return convert(text)


@functools.cache
def _encode_categories(categories: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Return the bytes of categories as words, their numbers, and the largest number.

    The result is None if the categories or pandas' text do not allow it.
    """
    encoded = [category.encode() for category in categories]
    is_arrow = getattr(_pandas_categories(categories).dtype, "storage", None) == "pyarrow"
    max_size = max(map(len, encoded))
    if not is_arrow or max_size > kernels.text.WORD_BYTES:
        return None
    words = [int.from_bytes(text, "little") for text in encoded]
    return np.array(words, np.uint64), np.array([len(text) for text in encoded]), max_size


@functools.cache
def _pandas_categories(categories: tuple[str, ...]) -> Any:
    """Return a text array of pandas, which takes as long to make as a small SCAN does."""
    return _import_module("pandas").Series(categories).array


@functools.cache  # to copy a few strings to a GPU takes longer than to gather many
def _category_table(categories: tuple[str, ...], _device_id: int) -> Any:
    """Return a pylibcudf table of one column, the categories, on the current GPU."""
    cudf, plc = _import_module("cudf"), _import_module("pylibcudf")
    return plc.Table([cudf.Series(list(categories)).to_pylibcudf()[0]])


def _with_nulls(kind: str, column: Any) -> Any:
    """Return a column for any library but cuDF, with nulls where it is nullable."""
    if isinstance(column, NullableIntegers):
        if kind == "arrays":
            return column.fill(-1)
        column = column.split()
    return _mask_column(kind, *column) if isinstance(column, tuple) else column


def _mask_column(kind: str, values: Any, valid: Any) -> Any:
    """Return a column of which the rows that are not valid are null."""
    library = library_name(values)
    if library == "cudf":  # text
        return values.where(_import_module("cudf").Series(valid))
    if library == "pandas":
        return (values.astype(object) if kind == "arrays" else values).where(valid, None)
    if kind == "arrays":
        return device.where(valid, values, -1)
    if kind == "pandas":
        return _import_module("pandas").arrays.IntegerArray(values, ~valid)
    import pyarrow

    return pyarrow.array(values, mask=~valid)


def _to_arrow(values: Any, text_type: Any = None) -> Any:
    import pyarrow

    if isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)):
        return values
    if isinstance(values, np.ndarray):
        return pyarrow.array(values)
    return pyarrow.Array.from_pandas(values, type=text_type or pyarrow.string())


NUMBERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
NUMBERS |= {"halffloat", "float", "double"}  # names of Arrow types


def get_nullable_column(frame: Frame, name: Any, parameter: str) -> tuple[Column, device.Array]:
    """Return the values of a column of a normalized frame that are not null, and their rows.

    In arrays NaN and None are null, as from pandas' ``to_numpy``; integer arrays have no null. In
    Arrow and Polars frames NaN is a value.

    Returns
    -------
    values : Column
        As from `get_column`, of the valid rows.
    valid : array of bool, shape (rows,)
        Whether the row has a value; on the device of the frame.

    Raises
    ------
    GraphError
        As from `get_column`.
    """
    if column_names(frame).count(name) != 1:
        get_column(frame, name, parameter)  # raises the error
    values = frame[name]
    library = library_name(values)
    if library == "polars":
        values, library = values.to_arrow(), "pyarrow"
    if (
        library == "pyarrow" and str(values.type) not in NUMBERS
    ):  # Arrow cannot filter every text type
        values, library = values.to_pandas(), "pandas"
    if library == "pyarrow":
        valid = values.is_valid().to_numpy(zero_copy_only=False).astype(bool)
        values = values.drop_null()
    elif library in ("pandas", "cudf"):
        is_valid = values.notna()
        values, valid = values[is_valid], is_valid.values
    elif device.is_on_gpu(values):
        values, valid = _split_array(values)
    else:
        values = np.asarray(values, None if hasattr(values, "dtype") else object)
        values, valid = _split_array(values)
    return get_column({name: values}, name, parameter), valid


def _split_array(values: device.Array) -> tuple[device.Array, device.Array]:
    """Return the values of an array that are neither NaN nor None, and their flags."""
    if values.dtype.kind == "O":
        valid = np.array([value is not None and value == value for value in values], bool)
    elif values.dtype.kind == "f" and values.ndim == 1:
        valid = values == values
    else:
        return values, device.array_module(values).ones(len(values), bool)
    return values[valid], valid


def divide_rows(counts: Sequence[int]) -> tuple[list[int], tuple[int | None, ...]]:
    """Return how a Dask frame with row numbers as index is divided into partitions.

    Parameters
    ----------
    counts : sequence of int
        Rows of each partition.

    Returns
    -------
    nonempty : list of int
        The partitions with rows; the first one if none has any.
    divisions : tuple
        Divisions of a frame of these partitions.
    """
    starts = [0, *itertools.accumulate(counts)]
    nonempty = [number for number, count in enumerate(counts) if count]
    if not nonempty:
        return [0], (None, None)
    return nonempty, (*(starts[number] for number in nonempty), starts[-1] - 1)
