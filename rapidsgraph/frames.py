"""Frames <-> arrays; the only file that tells frame libraries apart.

A frame is pandas, cuDF, a PyArrow table or record batch, anything with the Arrow PyCapsule
stream (Polars, DuckDB, ...), or a mapping from column names to arrays. None of these libraries
is imported to find out: whoever holds such a frame has imported it.

Columns come out as NumPy or CuPy arrays where they are numbers, and as pandas or cuDF Series
where they are text. What text needs (distinct, sort, join) is written once for both.
"""

import difflib
import importlib
import sys
from collections.abc import Mapping

import numpy as np

from . import device
from .errors import GraphError

PIECE, GPU_PIECE = 2**18, 2**24  # rows looked up at once: hash tables and 64-bit results are large
ALIASES = {
    "source": ("src", "from", "u", "source_id", "start", "tail", "node1", "citing"),
    "destination": ("dst", "target", "to", "v", "destination_id", "end", "head", "node2", "cited"),
    "weight": ("weights", "w", "value", "values", "cost", "distance", "wgt"),
    "vertex": ("vertices", "node", "id", "name", "source"),
}


def kind_of(frame):
    """The name of the library a frame belongs to: pandas, cudf, arrow, polars, ..., or arrays.

    Raises
    ------
    GraphError
        Not a frame; the message says what would be.
    """
    library = library_of(frame)
    if library in ("dask", "dask_expr", "dask_cudf"):
        raise GraphError("Dask frames are not supported yet; call .compute() on it first")
    if library == "polars" and hasattr(frame, "collect"):
        raise GraphError("a lazy Polars frame has no rows yet; call .collect() on it first")
    if isinstance(frame, Mapping):
        return "arrays"
    # A Series streams too, but has neither of these.
    if any(hasattr(frame, name) for name in ("columns", "column_names", "schema")):
        if library in ("pandas", "cudf"):
            return library
        if hasattr(frame, "__arrow_c_stream__"):
            return "arrow" if library == "pyarrow" else library
    raise GraphError(
        f"{type(frame).__module__}.{type(frame).__name__} is no edge frame; give a pandas, cuDF or "
        "Polars frame, an Arrow table, or a mapping of column names to arrays"
    )


def library_of(values):
    """The name of the package that a frame's, Series' or array's type belongs to."""
    return type(values).__module__.split(".")[0].lstrip("_")


def opened(frame):
    """(kind, frame) with whatever only streams turned into an Arrow table, once."""
    kind = kind_of(frame)
    if kind not in ("pandas", "cudf", "arrays"):
        import pyarrow

        if not isinstance(frame, pyarrow.Table):  # one sent through its own stream can break
            frame = pyarrow.table(frame)
    return kind, frame


def column_names(frame):
    """Names of the columns of an opened frame."""
    if isinstance(frame, Mapping):
        return list(frame)
    return list(getattr(frame, "column_names", None) or frame.columns)


def missing_column(name, there, what, wanted=None):
    """The error for a column that is not there, with the likely one.

    `what` is the parameter that names the column; `wanted`, if given, is the parameter whose frame
    must have a column of this very name.
    """
    there = [str(column) for column in there]
    likely, hint = _likely_column(name, there, what), ""
    if likely:
        hint = f"rename {likely!r} to {name!r}" if wanted else f"give {what}={likely!r}"
        hint = f"; {hint} if that is it"
    where = f"{wanted}: " if wanted else ""
    return GraphError(
        f"{where}there is no column {name!r}; the columns are {', '.join(there)}{hint}"
    )


def _likely_column(name, there, what):
    """The column that may well be meant by `name`, or None."""
    lower = {column.lower(): column for column in there}
    return next(
        (lower[alias] for alias in (what, *ALIASES.get(what, ())) if alias in lower), None
    ) or next(iter(difflib.get_close_matches(str(name), there, 1, 0.6)), None)


def check_ends(frame, options):
    """Raise GraphError where an edge frame lacks `source` or `destination`.

    The message says how to call Graph, with `options` besides.
    """
    there = [str(column) for column in column_names(frame)]
    missing = [name for name in ("source", "destination") if name not in there]
    if missing:
        likely = {name: _likely_column(name, there, name) for name in missing}
        given = ["source=...", "destination=..."]
        if all(likely.values()):
            given = [f"{name}={likely[name]!r}" for name in missing]
        given = ", ".join([*given, *(f"{name}={value!r}" for name, value in options.items())])
        raise GraphError(
            f"there is no column {missing[0]!r}; the columns are {', '.join(there)}; say which "
            f"they are: rg.Graph(edges, {given})"
        )


def column(frame, name, what, wanted=None):
    """One column of an opened frame: an array where it holds numbers, a Series where text.

    Raises
    ------
    GraphError
        Missing column, missing value (names its row), or a type that is neither.
    """
    there = column_names(frame)
    if name not in there:
        raise missing_column(name, there, what, wanted)
    if there.count(name) > 1:
        raise GraphError(f"{there.count(name)} columns are called {name!r}; rename all but one")
    values = frame[name]
    fit = "numbers" if what in ("weight", "values") else "integers or text"
    library = library_of(values)
    if library == "pandas" and not hasattr(values, "iloc"):  # an Index
        values = importlib.import_module("pandas").Series(values)
    if library == "polars":
        values, library = values.to_arrow(), "pyarrow"
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
            raise GraphError(f"column {name!r} has {values.ndim} dimensions; it must have one")
        if values.dtype.kind not in "iuf":
            values = _from_pandas(importlib.import_module("pandas").Series(values), name, fit)
        elif not values.dtype.isnative:
            values = values.astype(values.dtype.newbyteorder("="))
    return values


def module_of(columns):
    """`cupy` where a column is a CuPy array or cuDF text, `numpy` elsewhere."""
    on_gpu = any(device.is_on_gpu(v) or library_of(v) == "cudf" for v in columns)
    return device.import_cupy() if on_gpu else np


def _from_sequence(values, name):
    """A NumPy array; text beside numbers stays what it is, and is refused later."""
    if hasattr(values, "dtype") and np.ma.is_masked(values):
        raise _no_value(name, int(np.ma.getmaskarray(values).argmax()))
    if isinstance(values, (set, frozenset)):
        values = sorted(values, key=str)
    listed = isinstance(values, (list, tuple))
    if listed and len({isinstance(v, str) for v in values}) > 1:
        return np.asarray(values, dtype=object)
    array = np.asarray(values)
    if listed and array.dtype.kind == "f" and all(isinstance(v, (int, np.integer)) for v in values):
        return np.array(values, dtype=object)  # of signed and unsigned NumPy makes floats
    return array


def moved(values, xp):
    """A column on the device of `xp`."""
    if device.is_on_gpu(values):
        return values if xp is not np else values.get()
    if isinstance(values, np.ndarray):
        return xp.asarray(values)
    library = library_of(values)
    if library == "cudf" and xp is np:
        return values.to_pandas()
    if library == "pandas" and xp is not np:
        return importlib.import_module("cudf").Series(values)
    return values


def _no_value(name, row):
    return GraphError(f"column {name!r} has no value in row {row}; drop such rows or fill them")


def _from_pandas(series, name, fit):
    import pandas

    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu":
        return series.to_numpy()
    missing = series.isna().to_numpy()
    if isinstance(series.dtype, pandas.CategoricalDtype):
        if missing.any():
            raise _no_value(name, int(missing.argmax()))
        return _from_pandas(series.astype(series.cat.categories.dtype), name, fit)
    kind = series.dtype.kind
    if kind == "f":  # a NaN among numbers is the caller's to judge
        plain = isinstance(series.dtype, np.dtype)
        return series.to_numpy() if plain else series.to_numpy("float64", na_value=np.nan)
    if missing.any():
        raise _no_value(name, int(missing.argmax()))
    if kind in "iu":
        name_of_type = str(series.dtype).split("[")[0].lower()  # "Int64", "int64[pyarrow]"
        sparse = isinstance(series.dtype, pandas.SparseDtype)
        return np.asarray(series) if sparse else series.to_numpy(np.dtype(name_of_type))
    if not len(series):
        return np.empty(0, np.int64)  # of no type; whoever has rows decides
    inferred = pandas.api.types.infer_dtype(series, skipna=True)
    if inferred == "string":
        return series.reset_index(drop=True)
    if inferred == "integer":
        try:
            return series.to_numpy("int64")
        except OverflowError:
            if series.min() >= 0 and series.max() < 2**64:
                return np.array(series.tolist(), dtype="uint64")
            raise GraphError(f"column {name!r} has integers beyond 64 bits; use text") from None
    first = series.iloc[0].item() if hasattr(series.iloc[0], "item") else series.iloc[0]
    raise GraphError(
        f"column {name!r} holds {inferred} values ({series.dtype}), such as {first!r} in row 0; "
        f"it must hold {fit}"
    )


def _from_cudf(series, name, fit):
    if series.dtype.name == "category":
        series = series.astype(series.cat.categories.dtype)
    if series.has_nulls:
        if series.dtype.kind == "f":
            return series.astype("float64").fillna(np.nan).values
        raise _no_value(name, int(series.isna().values.argmax()))
    if series.dtype.kind in "iufb":
        return series.values
    if series.dtype.kind == "O" or str(series.dtype) in ("str", "string"):
        return series.reset_index(drop=True)
    raise GraphError(f"column {name!r} holds {series.dtype}; it must hold {fit}")


def _from_arrow(chunked, name, fit):
    import pyarrow

    if isinstance(chunked, pyarrow.ChunkedArray):
        chunks = [chunk for chunk in chunked.chunks if len(chunk)]
        chunked = chunks[0] if len(chunks) == 1 else chunked.combine_chunks()
    if isinstance(chunked, pyarrow.ChunkedArray):  # combine_chunks of old releases
        chunked = pyarrow.concat_arrays(chunked.chunks)
    if chunked.null_count and not pyarrow.types.is_floating(chunked.type):
        raise _no_value(name, int(chunked.is_null().to_numpy(zero_copy_only=False).argmax()))
    if pyarrow.types.is_integer(chunked.type) or pyarrow.types.is_floating(chunked.type):
        return chunked.to_numpy(zero_copy_only=False)
    if pyarrow.types.is_dictionary(chunked.type):
        import pandas

        values = _from_arrow(chunked.dictionary, name, fit)
        values = pandas.Series(values).take(chunked.indices.to_numpy(zero_copy_only=False))
        return _from_pandas(values.reset_index(drop=True), name, fit)
    return _from_pandas(chunked.to_pandas(), name, fit)


def make(kind, columns, text_types=()):
    """A frame of library `kind` from {name: array or Series}, in that order.

    Where values are missing, a pair (values, whether there is one); the missing are null, or -1 in
    arrays, which have no null (None where they hold text). An Arrow table has text of the types
    {name: type}.
    """
    if kind == "cudf":
        return _make_cudf(columns)
    columns = {
        name: _with_nulls(kind, *values) if isinstance(values, tuple) else values
        for name, values in columns.items()
    }
    if kind == "arrays":
        return {
            name: values.to_numpy() if library_of(values) == "pandas" else values
            for name, values in columns.items()
        }
    if kind == "pandas":
        return importlib.import_module(kind).DataFrame(columns, copy=False)
    import pyarrow

    types = {} if kind in ("polars", "duckdb") else dict(text_types)  # these have one of their own
    table = pyarrow.table({name: _to_arrow(v, types.get(name)) for name, v in columns.items()})
    if kind in ("polars", "duckdb"):
        return sys.modules[kind].from_arrow(table)
    return table


def _make_cudf(columns):
    """A cuDF frame of the arrays themselves; cuDF's own ways to it take longer than a search."""
    cudf, plc = importlib.import_module("cudf"), importlib.import_module("pylibcudf")
    made = []
    for values in columns.values():
        values, known = values if isinstance(values, tuple) else (values, None)
        if library_of(values) == "cudf" or not len(values):
            if known is not None and len(values):
                values = _with_nulls("cudf", values, known)
            made.append(cudf.Series(values).to_pylibcudf()[0])
            continue
        column = plc.Column.from_cuda_array_interface(values)
        if known is not None:
            flags = plc.Column.from_cuda_array_interface(known)
            column = column.with_mask(*plc.transform.bools_to_mask(flags))
        made.append(column)
    return cudf.DataFrame.from_pylibcudf(plc.Table(made), {"columns": list(columns)})


def _with_nulls(kind, values, known):
    """What `make` puts into a frame for a pair."""
    library = library_of(values)
    if library == "cudf":  # text
        return values.where(importlib.import_module("cudf").Series(known))
    if library == "pandas":
        return (values.astype(object) if kind == "arrays" else values).where(known, None)
    if kind == "arrays":
        xp = device.array_module(values)
        return xp.where(known, values, xp.asarray([-1]).astype(values.dtype))
    if kind == "pandas":
        return importlib.import_module(kind).arrays.IntegerArray(values, ~known)
    import pyarrow

    return pyarrow.array(values, mask=~known)


def _to_arrow(values, text_type=None):
    import pyarrow

    if isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)):
        return values
    if isinstance(values, np.ndarray):
        return pyarrow.array(values)
    return pyarrow.Array.from_pandas(values, type=text_type or pyarrow.string())


def text_type(frame, name):
    """The Arrow type of a column of text of an opened frame; None where it is something else."""
    if library_of(frame) != "pyarrow":
        return None
    kind = frame[name].type
    kind = getattr(kind, "value_type", kind)  # of a dictionary
    return kind if str(kind) in ("string", "large_string", "string_view") else None


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
