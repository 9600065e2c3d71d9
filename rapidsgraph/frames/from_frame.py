"""From a frame to arrays and text Series."""

import difflib
import importlib
import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from .. import device
from ..errors import GraphError, MissingColumnError, format_value

# A pandas, cuDF, Polars, Arrow or Dask frame, or a mapping from column names to arrays.
Frame: TypeAlias = Any

LIBRARIES = ("pandas", "cudf", "pyarrow", "polars", "dask", "dask_expr", "dask_cudf")
ALIASES = {
    "source": ("src", "from", "u", "source_id", "start", "tail", "node1", "citing"),
    "destination": ("dst", "target", "to", "v", "destination_id", "end", "head", "node2", "cited"),
    "weight": ("weights", "w", "value", "values", "cost", "distance", "wgt"),
    "vertex": ("vertices", "node", "id", "name", "source"),
}
FLOAT_LIMIT = 2**1024 - 2**970  # from which on an integer rounds to infinity


def kind_of(frame):
    """The name of the library a frame belongs to: pandas, cudf, arrow, polars, ..., or arrays.

    Raises
    ------
    GraphError
        Not a frame; the message says what would be.
    """
    library = library_of(frame)
    if is_dask(frame):
        raise GraphError(
            "a Dask frame is for Graph, pagerank, bfs, sssp, connected_components, "
            "structural_similarity and scan; for all else call .compute() on it first"
        )
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
    if type(frame).__name__ == "LayeredEdgeList":
        raise GraphError(
            "a layered edge list is for bfs, sssp and pagerank; all else takes a Graph or a frame"
        )
    if isinstance(frame, (str, os.PathLike)):
        raise GraphError(
            f"{os.fspath(frame)!r} is no edge frame; read a file by rg.read_edges(path), open a "
            "layered edge list by rg.LayeredEdgeList.open(path)"
        )
    raise GraphError(
        f"{type(frame).__module__}.{type(frame).__name__} is no edge frame; give a pandas, cuDF or "
        "Polars frame, an Arrow table, or a mapping of column names to arrays"
    )


def library_of(values):
    """The name of the package that a frame's, Series' or array's type, or its base, belongs to."""
    names = [base.__module__.split(".")[0].lstrip("_") for base in type(values).__mro__]
    return next((name for name in names if name in LIBRARIES), names[0])


def is_dask(frame):
    """Whether a frame or Series is one of Dask."""
    is_of_dask = library_of(frame) in ("dask", "dask_expr", "dask_cudf")
    return is_of_dask and hasattr(type(frame), "npartitions")


def in_one_piece(values):
    """A frame or Series; one of Dask, which should be small, is computed."""
    return values.compute() if is_dask(values) else values


def opened(frame):
    """(kind, frame) with whatever only streams turned into an Arrow table, once."""
    kind = kind_of(frame)
    if kind not in ("pandas", "cudf", "arrays"):
        import pyarrow

        if not isinstance(frame, pyarrow.Table):  # one sent through its own stream can break
            try:
                frame = pyarrow.table(frame)
            except pyarrow.ArrowException as error:
                raise GraphError(
                    f"Arrow cannot take this frame ({error}); select the columns of the edges, and "
                    "cast those of types that Arrow does not have"
                ) from error
    return kind, frame


def column_names(frame):
    """Names of the columns of an opened frame."""
    return list(frame.column_names if library_of(frame) == "pyarrow" else frame)


def missing_column(name, there, what, wanted=None):
    """The error for a column that is not there, with the likely one.

    `what` is the parameter that names the column; `wanted`, if given, is the parameter whose frame
    must have a column of this very name.
    """
    there = [str(column) for column in there]
    likely, hint = _likely_column(name, there, what), None
    if likely:
        hint = f"rename {likely!r} to {name!r}" if wanted else f"give {what}={likely!r}"
    where = f"{wanted}: " if wanted else ""
    message = f"there is no column {format_value(name)}; the columns are {', '.join(there)}"
    return MissingColumnError(
        f"{where}{message}; {hint} if that is it" if hint else f"{where}{message}",
        parameter=wanted or what,
        column=name,
        columns=there,
        candidate=likely,
        hint=hint,
    )


def _is_among(name, there):
    """Whether a caller's name, which may be anything, is that of a column."""
    try:
        return name in set(there)
    except TypeError:  # unhashable
        return False


def _likely_column(name, there, what):
    """The column that may well be meant by `name`, or None."""
    lower = {column.lower(): column for column in there}
    return next(
        (lower[alias] for alias in (what, *ALIASES.get(what, ())) if alias in lower), None
    ) or next(iter(difflib.get_close_matches(format_value(name).strip("'"), there, 1, 0.6)), None)


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
        raise MissingColumnError(
            f"there is no column {missing[0]!r}; the columns are {', '.join(there)}; say which "
            f"they are: rg.Graph(edges, {given})",
            parameter=missing[0],
            column=missing[0],
            columns=there,
            candidate=likely[missing[0]],
            hint=f"rg.Graph(edges, {given})",
        )


def column(frame, name, what, wanted=None):
    """One column of an opened frame: an array where it holds numbers, a Series where text.

    Raises
    ------
    GraphError
        Missing column, missing value (names its row), or a type that is neither.
    """
    there = column_names(frame)
    if not _is_among(name, there):
        raise missing_column(name, there, what, wanted)
    if there.count(name) > 1:
        raise GraphError(f"{there.count(name)} columns are called {name!r}; rename all but one")
    try:
        return _as_column(frame[name], name, what)
    except UnicodeEncodeError as error:  # pandas makes Arrow's text of it
        raise _invalid_text(name, error.object) from error


def _as_column(values, name, what):
    """An array of numbers, or a Series of text."""
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
    if hasattr(values, "dtype"):
        return np.asarray(values)
    try:
        array = np.asarray(values)
    except ValueError:  # sequences of different lengths
        return _objects(values)
    listed = isinstance(values, (list, tuple))
    has_bools = listed and not {bool, np.bool_}.isdisjoint(map(type, values))
    if array.ndim == 1 and (array.dtype.kind not in "iuf" or has_bools):
        # NumPy converts all to one type, and drops the trailing NULs of text.
        return _objects(values)
    if listed and array.dtype.kind == "f" and all(isinstance(v, (int, np.integer)) for v in values):
        return np.array(values, dtype=object)  # of signed and unsigned NumPy makes floats
    return array


def _objects(values):
    """An object array of a sequence, as it is."""
    values = list(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
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
    return GraphError(
        "{column} has no value in row {row}; drop such rows or fill them", column=name, row=row
    )


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
        _check_text(series, name)
        return series.reset_index(drop=True)
    floats = ("floating", "mixed-integer-float")
    if inferred == "integer" or (fit == "numbers" and inferred in floats):
        try:
            with np.errstate(over="ignore"):  # infinity is the caller's to judge
                return series.to_numpy("int64" if inferred == "integer" else "float64")
        except OverflowError:
            return _from_long_integers(series.tolist(), name, fit)
    row = _first_unfit(series, fit)
    value = series.iloc[row].item() if hasattr(series.iloc[row], "item") else series.iloc[row]
    raise GraphError(
        f"{{column}} holds {inferred} values ({series.dtype}), such as {format_value(value)} in row "
        f"{{row}}; it must hold {fit}",
        column=name,
        row=row,
        value=value,
    )


def _first_unfit(series, fit):
    """The first row whose value is not of a type that a column may hold, else 0."""
    if not isinstance(series.dtype, np.dtype) or series.dtype.kind != "O":
        return 0
    values = series.tolist()
    types = (int, float, np.integer, np.floating)
    if fit != "numbers":
        types = (str,) if isinstance(values[0], str) else (int, np.integer)
    return next(
        (
            row
            for row, value in enumerate(values)
            if not isinstance(value, types) or isinstance(value, bool)
        ),
        0,
    )


def _from_long_integers(values, name, fit):
    """A uint64 array, or of numbers a float64 array where integers are beyond that."""
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
    why = "beside negative ones " if is_signed and values[row] < 2**64 else ""
    raise GraphError(
        f"{{column}} holds {format_value(values[row])} in row {{row}}, which {why}is beyond 64 bits; "
        "use text",
        column=name,
        row=row,
        value=values[row],
    )


def _check_text(series, name):
    """Raise GraphError where Python strings hold what is not valid Unicode."""
    if "pyarrow" in str(getattr(series.dtype, "storage", series.dtype)):  # holds UTF-8
        return
    values = series.tolist()
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        row = next(row for row, value in enumerate(values) if not _is_valid_text(value))
        raise _invalid_text(name, values[row], row) from None


def _is_valid_text(value):
    try:
        return value.encode() is not None
    except UnicodeEncodeError:
        return False


def _invalid_text(name, value, row=None):
    where = "" if row is None else " in row {row}"
    return GraphError(
        f"{{column}} holds {value!a}{where}, which is not valid Unicode (a lone surrogate); "
        "replace it",
        column=name,
        row=row,
        value=value,
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
    raise GraphError(f"{{column}} holds {series.dtype}; it must hold {fit}", column=name)


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

        if chunked.dictionary.null_count:  # values that rows may have, or not
            return _from_arrow(chunked.dictionary_decode(), name, fit)
        values = _from_arrow(chunked.dictionary, name, fit)
        values = pandas.Series(values).take(chunked.indices.to_numpy(zero_copy_only=False))
        return _from_pandas(values.reset_index(drop=True), name, fit)
    return _from_pandas(chunked.to_pandas(), name, fit)


def text_type(frame, name):
    """The Arrow type of a column of text of an opened frame; None where it is something else."""
    if library_of(frame) != "pyarrow":
        return None
    kind = frame[name].type
    kind = getattr(kind, "value_type", kind)  # of a dictionary
    return kind if str(kind) in ("string", "large_string", "string_view") else None
