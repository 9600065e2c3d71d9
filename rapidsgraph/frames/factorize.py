"""Distinct values of name columns, and the positions of values among them.

On a CPU values are hashed in chunks, so that no column is copied: text of pandas columns backed by
Arrow by Arrow, other text as Python objects. On a GPU cuDF and CuPy sort and join.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from .. import device

Series: TypeAlias = Any  # a pandas or cuDF Series of text
MemoryCheck: TypeAlias = Callable[[int, int], Any]

# Rows looked up at once, which bounds hash tables and 64-bit results.
CHUNK_ROWS, GPU_CHUNK_ROWS = 2**18, 2**24
TEXT_CHUNK_ROWS = 2**19  # rows of text hashed at once
MIN_SEARCHED = 32  # names per value from which binary searches on a CPU beat a hash table


def series_library(values: Series) -> ModuleType:
    """Return the module that a Series belongs to, pandas or cudf."""
    return sys.modules[type(values).__module__.split(".")[0]]


def is_arrow_text(values: Series) -> bool:
    """Return whether a pandas Series of text is backed by Arrow arrays."""
    storage = str(getattr(values.dtype, "storage", ""))
    return storage.startswith("pyarrow") or hasattr(values.dtype, "pyarrow_dtype")


def take_text(values: Series, positions: device.Array) -> Series:
    """Return a copy of the values at some positions of a Series of text, numbered from 0."""
    if series_library(values).__name__ == "pandas":
        # Series.take takes twice as long, and shares memory if the positions are a range.
        array = values.array.take(positions)
        return type(values)(array, dtype=values.dtype, name=values.name, copy=False)
    return values.take(positions).reset_index(drop=True)


def text_sizes(values: Series) -> tuple[int, int]:
    """Return the bytes of all values and of the longest one of a Series of text.

    They are 0 for Python objects, because names refer to the objects of the frame.
    """
    if not len(values):
        return 0, 0
    if series_library(values).__name__ == "cudf":
        lengths = values.str.byte_count()
        return int(lengths.sum()), int(lengths.max())
    if not is_arrow_text(values):
        return 0, 0
    import pyarrow.compute as pc

    total, longest, values = 0, 0, values.array.__arrow_array__()
    for start in range(0, len(values), TEXT_CHUNK_ROWS):
        lengths = pc.binary_length(values[start : start + TEXT_CHUNK_ROWS].cast("large_string"))
        total, longest = total + pc.sum(lengths).as_py(), max(longest, pc.max(lengths).as_py())
    return total, longest


def copied_bytes(values: Any, column: Any) -> int:
    """Return the bytes that converting `column` to `values` allocated, 0 if they share memory."""
    if isinstance(values, np.ndarray):
        try:
            source = np.asarray(column)
        except (TypeError, ValueError):
            return values.nbytes
        return 0 if np.may_share_memory(values, source) else 2 * values.nbytes
    if device.is_array(values) or getattr(column, "dtype", None) == values.dtype:
        return 0
    if series_library(values).__name__ == "cudf" or is_arrow_text(values):
        return 2 * int(values.memory_usage(index=False, deep=True))
    return 8 * len(values)


def distinct_text(columns: Sequence[Series], check: MemoryCheck | None = None) -> Series:
    """Return the sorted distinct values of several Series of text together.

    Parameters
    ----------
    columns : sequence of Series
        Each with at least one row.
    check : callable, optional
        Called as ``check(count, nbytes)`` before a hash table of at most `count` values with
        `nbytes` bytes of text is built, and may raise an error. It is not called for cuDF.
    """
    library = series_library(columns[0])
    if library.__name__ == "cudf":
        distinct = [values.drop_duplicates() for values in columns]
        return library.concat(distinct).drop_duplicates().sort_values(ignore_index=True)
    dtype = library.concat([values.iloc[:1] for values in columns]).dtype
    heads = [*columns, library.Series([], dtype=dtype)]
    if not all(map(is_arrow_text, heads)):
        arrays = (values.to_numpy(object) for values in columns)
        names = _distinct(arrays, np.concatenate, _unique_objects, lambda values: 0, check).tolist()
        names.sort()  # compares text faster than NumPy does
        return library.Series(names, dtype=dtype)
    import pyarrow
    import pyarrow.compute as pc

    def join(arrays):
        return pyarrow.chunked_array(arrays, pyarrow.large_string())

    names = _distinct(
        map(_to_large_string, columns), join, pc.unique, lambda values: values.nbytes, check
    )
    names = names.take(pc.array_sort_indices(names))
    _release_unused()
    return library.Series(dtype.__from_arrow__(names.cast(_arrow_type(columns[0]))), dtype=dtype)


def _distinct(
    columns: Iterable[Any],
    join: Callable[[list[Any]], Any],
    unique: Callable[[Any], Any],
    nbytes: Callable[[Any], int],
    check: MemoryCheck | None,
    chunk_rows: int = TEXT_CHUNK_ROWS,
) -> Any:
    """Return the distinct values of columns, merging chunks whenever they double the result."""
    distinct: list[Any] = []
    pending: list[Any] = []
    size = 0
    for values in columns:
        for start in range(0, len(values), chunk_rows):
            pending.append(unique(values[start : start + chunk_rows]))
            size += len(pending[-1])
            if size > max(chunk_rows, sum(map(len, distinct))):
                distinct = [_merge(distinct + pending, join, unique, nbytes, check)]
                pending, size = [], 0
    chunks = distinct + pending
    return chunks[0] if len(chunks) == 1 else _merge(chunks, join, unique, nbytes, check)


def _merge(
    chunks: list[Any],
    join: Callable[[list[Any]], Any],
    unique: Callable[[Any], Any],
    nbytes: Callable[[Any], int],
    check: MemoryCheck | None,
) -> Any:
    if check:
        check(sum(map(len, chunks)), sum(map(nbytes, chunks)))
    _release_unused()  # the hash tables of the chunks
    return unique(join(chunks))


def _release_unused() -> None:
    """Return the unused memory of Arrow's allocator to the system, if Arrow is imported."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()


def _unique_objects(values: np.ndarray) -> np.ndarray:
    series = importlib.import_module("pandas").Series(values, dtype=object)
    return series.drop_duplicates().to_numpy(object)


def _arrow_type(values: Series) -> Any:
    arrow_type = values.array.__arrow_array__().type
    return getattr(arrow_type, "value_type", arrow_type)  # of a dictionary


def _to_large_string(values: Series) -> Any:
    """Return a pandas Series of text as an Arrow array with 64-bit offsets."""
    import pyarrow

    if not is_arrow_text(values):
        return pyarrow.array(values.to_numpy(object), pyarrow.large_string())
    return values.array.__arrow_array__().cast(pyarrow.large_string())


def encode_text(values: Series, names: Series) -> device.Array:
    """Return the int32 position of each value in the sorted distinct `names`, which contain all."""
    if series_library(values).__name__ == "cudf":
        return find_text(values, names).astype(np.int32)
    positions = np.empty(len(values), np.int32)
    if not (is_arrow_text(values) and is_arrow_text(names)):
        find, size, values = _object_finder(names), CHUNK_ROWS, values.to_numpy(object)
    else:  # Arrow builds a hash table of the names in each call
        find, size, values = (
            _arrow_finder(names),
            max(CHUNK_ROWS, 2 * len(names)),
            _to_large_string(values),
        )
    for start in range(0, len(values), size):
        positions[start : start + size] = find(values[start : start + size])
    return positions


def _object_finder(names: Series) -> Callable[[Any], np.ndarray]:
    pandas = importlib.import_module("pandas")
    index = pandas.Index(names.to_numpy(object), dtype=object)
    return lambda values: index.get_indexer(pandas.Index(values, dtype=object))


def _arrow_finder(names: Series) -> Callable[[Any], np.ndarray]:
    import pyarrow.compute as pc

    names = _to_large_string(names)
    names = names.combine_chunks() if hasattr(names, "combine_chunks") else names

    def find(values: Any) -> np.ndarray:
        return pc.fill_null(pc.index_in(values, value_set=names), -1).to_numpy()

    return find


def find_text(values: Series, names: Series) -> device.Array:
    """Return the position of each value in the sorted distinct `names`, -1 if it is not there."""
    if series_library(values).__name__ == "pandas":
        if is_arrow_text(names):
            try:
                return _arrow_finder(names)(_to_large_string(values)).astype(np.int64)
            except UnicodeEncodeError:  # a lone surrogate is in no Arrow column
                pass
        return _object_finder(names)(values.to_numpy(object))
    cupy, library = device.import_cupy(), series_library(values)
    left = library.DataFrame({"name": values.reset_index(drop=True)})
    right = library.DataFrame({"name": names, "position": cupy.arange(len(names))})
    left["row"] = cupy.arange(len(left))  # a join of cuDF does not keep the order of rows
    joined = left.merge(right, on="name", how="left").sort_values("row")
    return joined["position"].fillna(-1).astype("int64").values


def distinct_numbers(
    columns: Sequence[device.Array], xp: device.ArrayModule, check: MemoryCheck | None = None
) -> device.Array:
    """Return the sorted distinct values of several integer arrays of one type together.

    `check` is as in `distinct_text`, and not called on a GPU. On a CPU the values are hashed in
    chunks, so that neither a copy of the columns nor a hash table of all rows is built.
    """
    if xp is not np:
        return xp.unique(xp.concatenate([xp.unique(values) for values in columns]))
    unique, dtype = importlib.import_module("pandas").unique, np.result_type(*columns)
    columns = [values for values in columns if len(values)]
    if not columns:
        return np.empty(0, dtype)
    distinct = _distinct(columns, np.concatenate, unique, lambda values: 0, check, CHUNK_ROWS)
    return np.sort(distinct.astype(dtype, copy=False))


def encode_numbers(
    values: device.Array, names: device.Array, xp: device.ArrayModule
) -> device.Array:
    """Return the int32 position of each value in the sorted distinct `names`, which contain all."""
    positions = xp.empty(len(values), xp.int32)
    index = importlib.import_module("pandas").Index(names) if xp is np else None
    size = CHUNK_ROWS if xp is np else GPU_CHUNK_ROWS
    for start in range(0, len(values), size):
        chunk = values[start : start + size]
        positions[start : start + size] = (
            xp.searchsorted(names, chunk) if index is None else index.get_indexer(chunk)
        )
    return positions


def find_numbers(values: device.Array, names: device.Array, xp: device.ArrayModule) -> device.Array:
    """Return the position of each value in the sorted distinct `names`, -1 if it is not there."""
    common = np.result_type(values.dtype, names.dtype)
    if common.kind == "f":  # int64 with uint64
        limits = np.iinfo(names.dtype)
        is_possible = values >= 0 if names.dtype.kind == "u" else values <= limits.max
        compared = xp.where(is_possible, values, 0).astype(names.dtype)
        return xp.where(is_possible, find_numbers(compared, names, xp), -1)
    if xp is np and MIN_SEARCHED * values.size >= names.size:
        # pandas would convert the values to the type of the names, even if it has fewer bits.
        index = importlib.import_module("pandas").Index(names.astype(common, copy=False))
        return index.get_indexer(values.astype(common, copy=False))
    if not names.size:
        return xp.full(values.size, -1)
    if common == np.uint64:
        positions = xp.minimum(xp.searchsorted(names, values), names.size - 1)
        return xp.where(names[positions] == values, positions, -1)
    if names.dtype not in (np.int32, np.int64):
        names = names.astype(np.int64)
    ids = xp.empty(values.size, np.int32)
    device.launch(
        "build", "find_names", size=values.size, num_values=values.size,
        values=xp.ascontiguousarray(device.astype(values, np.int64)), num_names=names.size,
        names=names, ids=ids,
    )  # fmt: skip
    return ids
