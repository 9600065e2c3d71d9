"""Distinct values of name columns, and the positions of values among them.

pandas columns backed by Arrow are hashed by Arrow, other text as Python objects, both piece by
piece, so that no column is copied. cuDF sorts and joins.
"""

import importlib
import sys

import numpy as np

from .. import device

PIECE, GPU_PIECE = 2**18, 2**24  # rows looked up at once: hash tables and 64-bit results are large
TEXT_PIECE = 2**19  # rows of text that are hashed at once


def text_library(values):
    """pandas or cudf, whichever a Series belongs to."""
    return sys.modules[type(values).__module__.split(".")[0]]


def is_arrow_text(values):
    """Whether a pandas Series of text is backed by Arrow arrays."""
    storage = str(getattr(values.dtype, "storage", ""))
    return storage.startswith("pyarrow") or hasattr(values.dtype, "pyarrow_dtype")


def text_sizes(values):
    """(bytes of all values, bytes of the longest) of a pandas Series of text.

    Of Python objects (0, 0): names refer to the objects of the frame.
    """
    if not is_arrow_text(values):
        return 0, 0
    import pyarrow.compute as pc

    total, longest, values = 0, 0, values.array.__arrow_array__()
    for start in range(0, len(values), TEXT_PIECE):
        lengths = pc.binary_length(values[start : start + TEXT_PIECE].cast("large_string"))
        total, longest = total + pc.sum(lengths).as_py(), max(longest, pc.max(lengths).as_py())
    return total, longest


def copied_bytes(values, column):
    """Bytes that a column took to become `values`, an array or Series; 0 where it is shared."""
    if isinstance(values, np.ndarray):
        try:
            given = np.asarray(column)
        except (TypeError, ValueError):
            return values.nbytes
        return 0 if np.may_share_memory(values, given) else 2 * values.nbytes
    if device.is_array(values) or getattr(column, "dtype", None) == values.dtype:
        return 0
    if text_library(values).__name__ == "cudf" or is_arrow_text(values):
        return 2 * int(values.memory_usage(index=False, deep=True))
    return 8 * len(values)


def distinct_text(columns, check=None):
    """The distinct values of several text Series together, sorted.

    Parameters
    ----------
    columns : list of Series
        With at least one row each.
    check : callable, optional
        Called with ``(count, nbytes)`` before a hash table of at most `count` values with `nbytes`
        bytes of text is built. It may raise. Not called for cuDF.
    """
    library = text_library(columns[0])
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

    arrays = map(_to_large_string, columns)
    names = _distinct(arrays, join, pc.unique, lambda values: values.nbytes, check)
    names = names.take(pc.array_sort_indices(names))
    _release_unused()
    return library.Series(dtype.__from_arrow__(names.cast(_arrow_type(columns[0]))), dtype=dtype)


def _distinct(columns, join, unique, nbytes, check):
    """The distinct values of `columns`; pieces are merged whenever they double the result."""
    distinct, pending, size = [], [], 0
    for values in columns:
        for start in range(0, len(values), TEXT_PIECE):
            pending.append(unique(values[start : start + TEXT_PIECE]))
            size += len(pending[-1])
            if size > max(TEXT_PIECE, sum(map(len, distinct))):
                distinct = [_merged(distinct + pending, join, unique, nbytes, check)]
                pending, size = [], 0
    pieces = distinct + pending
    return pieces[0] if len(pieces) == 1 else _merged(pieces, join, unique, nbytes, check)


def _merged(pieces, join, unique, nbytes, check):
    if check:
        check(sum(map(len, pieces)), sum(map(nbytes, pieces)))
    _release_unused()  # the hash tables of the pieces
    return unique(join(pieces))


def _release_unused():
    """Return to the system what Arrow's allocator keeps, if Arrow is in use."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()


def _unique_objects(values):
    series = importlib.import_module("pandas").Series(values, dtype=object)
    return series.drop_duplicates().to_numpy(object)


def _arrow_type(values):
    kind = values.array.__arrow_array__().type
    return getattr(kind, "value_type", kind)  # of a dictionary


def _to_large_string(values):
    """An Arrow array of 64-bit offsets, from a Series of text."""
    import pyarrow

    if not is_arrow_text(values):
        return pyarrow.array(values.to_numpy(object), pyarrow.large_string())
    return values.array.__arrow_array__().cast(pyarrow.large_string())


def text_places(values, names):
    """Where each of `values` stands in the sorted, distinct `names`, as int32; all of them do."""
    if text_library(values).__name__ == "cudf":
        return text_positions(values, names).astype(np.int32)
    places = np.empty(len(values), np.int32)
    if not (is_arrow_text(values) and is_arrow_text(names)):
        find, size, values = _object_finder(names), PIECE, values.to_numpy(object)
    else:  # Arrow builds its table of names anew for each call
        find, size, values = (
            _arrow_finder(names),
            max(PIECE, 2 * len(names)),
            _to_large_string(values),
        )
    for start in range(0, len(values), size):
        places[start : start + size] = find(values[start : start + size])
    return places


def _object_finder(names):
    pandas = importlib.import_module("pandas")
    index = pandas.Index(names.to_numpy(object), dtype=object)
    return lambda values: index.get_indexer(pandas.Index(values, dtype=object))


def _arrow_finder(names):
    import pyarrow.compute as pc

    names = _to_large_string(names)
    names = names.combine_chunks() if hasattr(names, "combine_chunks") else names

    def find(values):
        found = pc.index_in(values, value_set=names)
        return pc.fill_null(found, -1).to_numpy()

    return find


def text_positions(values, names):
    """Where each of `values` stands in the sorted, distinct `names`; -1 where it does not."""
    if text_library(values).__name__ == "pandas":
        if is_arrow_text(names):
            try:
                return _arrow_finder(names)(_to_large_string(values)).astype(np.int64)
            except UnicodeEncodeError:  # of a surrogate, which no Arrow column has
                pass
        return _object_finder(names)(values.to_numpy(object))
    cupy, library = device.import_cupy(), text_library(values)
    left = library.DataFrame({"name": values.reset_index(drop=True)})
    right = library.DataFrame({"name": names, "position": cupy.arange(len(names))})
    left["row"] = cupy.arange(len(left))  # a join there does not keep the order of rows
    joined = left.merge(right, on="name", how="left").sort_values("row")
    return joined["position"].fillna(-1).astype("int64").values


def distinct_numbers(columns, xp, check=None):
    """The distinct values of several integer arrays together, sorted.

    `check` is as in `distinct_text`, and not called on a GPU.

    On a CPU they are hashed, piece by piece, so that neither a copy of the columns nor a hash
    table for as many values as there are rows is ever made.
    """
    if xp is not np:
        return xp.unique(xp.concatenate([xp.unique(values) for values in columns]))
    unique = importlib.import_module("pandas").unique
    distinct = columns[0][:0]
    for values in columns:
        for start in range(0, len(values), PIECE):
            new = unique(values[start : start + PIECE])
            if check:
                check(distinct.size + new.size, 0)
            distinct = unique(np.concatenate([distinct, new]))
    return np.sort(distinct)


def number_places(values, names, xp):
    """Where each of `values` stands in the sorted, distinct `names`, as int32; all of them do."""
    places = xp.empty(len(values), xp.int32)
    index = importlib.import_module("pandas").Index(names) if xp is np else None
    size = PIECE if xp is np else GPU_PIECE
    for start in range(0, len(values), size):
        piece = slice(start, start + size)
        places[piece] = (
            index.get_indexer(values[piece]) if xp is np else xp.searchsorted(names, values[piece])
        )
    return places


def number_positions(values, names, xp):
    """Where each of `values` stands in the sorted, distinct `names`; -1 where it does not."""
    if xp is np:
        pandas = importlib.import_module("pandas")
        return pandas.Index(names).get_indexer(values)
    if not names.size:
        return xp.full(values.size, -1)
    found = xp.minimum(xp.searchsorted(names, values), names.size - 1)
    return xp.where(names[found] == values, found, -1)
