"""Values among others: what is distinct, and where something stands.

What text needs (distinct, sort, join) is written once for pandas and cuDF.
"""

import importlib
import sys

import numpy as np

from .. import device

PIECE, GPU_PIECE = 2**18, 2**24  # rows looked up at once: hash tables and 64-bit results are large


def text_library(values):
    """pandas or cudf, whichever a Series belongs to."""
    return sys.modules[type(values).__module__.split(".")[0]]


def distinct_text(columns):
    """The distinct values of several text Series together, sorted."""
    library = text_library(columns[0])
    distinct = [values.drop_duplicates() for values in columns]
    return library.concat(distinct).drop_duplicates().sort_values(ignore_index=True)


def text_positions(values, names):
    """Where each of `values` stands in the sorted, distinct `names`; -1 where it does not."""
    library = text_library(values)
    xp = np if library.__name__ == "pandas" else device.import_cupy()
    left = library.DataFrame({"name": values.reset_index(drop=True)})
    right = library.DataFrame({"name": names, "position": xp.arange(len(names))})
    if library.__name__ == "cudf":  # a join there does not keep the order of rows
        left["row"] = xp.arange(len(left))
        joined = left.merge(right, on="name", how="left").sort_values("row")
    else:
        joined = left.merge(right, on="name", how="left")
    return joined["position"].fillna(-1).astype("int64").values


def distinct_numbers(columns, xp):
    """The distinct values of several integer arrays together, sorted.

    On a CPU they are hashed, piece by piece, so that neither a copy of the columns nor a hash
    table for as many values as there are rows is ever made.
    """
    if xp is not np:
        return xp.unique(xp.concatenate([xp.unique(values) for values in columns]))
    unique = importlib.import_module("pandas").unique
    distinct = columns[0][:0]
    for values in columns:
        for start in range(0, len(values), PIECE):
            distinct = unique(np.concatenate([distinct, unique(values[start : start + PIECE])]))
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
