"""From arrays and text Series to a frame of the caller's library."""
# Columns of results that hold nothing in some rows: distances and predecessors.

import importlib
import sys

import numpy as np

from .. import device
from .from_frame import column, column_names, library_of


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
        if isinstance(values, plc.Column):
            made.append(values)
            continue
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


def text_column(kind, codes, words):
    """`words` by integer `codes`, as `make` takes it; arrays on a GPU hold no text: the codes."""
    if kind == "cudf":
        cudf, plc = importlib.import_module("cudf"), importlib.import_module("pylibcudf")
        words = plc.Table([cudf.Series(list(words)).to_pylibcudf()[0]])
        places = plc.Column.from_cuda_array_interface(codes.astype(np.int32))
        policy = plc.copying.OutOfBoundsPolicy.DONT_CHECK
        return plc.copying.gather(words, places, policy).columns()[0]
    if device.is_on_gpu(codes):
        return codes
    if kind == "arrays":
        return np.array(words, object)[codes]
    return importlib.import_module("pandas").Series(words).take(codes).reset_index(drop=True)


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


NUMBERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
NUMBERS |= {"halffloat", "float", "double"}  # as Arrow calls them


def nullable_column(frame, name, what):
    """One column of an opened frame, told apart into where it has values and what they are.

    In arrays NaN and None are null, as pandas' ``to_numpy`` gives them; integers have no null, and
    what -1 means is the caller's to know. In Arrow and Polars frames NaN is a value.

    Returns
    -------
    values : array or Series
        As from `column`, of the rows that have a value alone.
    valid : array of bool, shape (rows,)
        Which these are; on the device of the frame.

    Raises
    ------
    GraphError
        As from `column`.
    """
    if column_names(frame).count(name) != 1:
        column(frame, name, what)  # says what is wrong with that
    values = frame[name]
    library = library_of(values)
    if library == "polars":
        values, library = values.to_arrow(), "pyarrow"
    if library == "pyarrow" and str(values.type) not in NUMBERS:  # not all text can be filtered
        values, library = values.to_pandas(), "pandas"
    if library == "pyarrow":
        valid = values.is_valid().to_numpy(zero_copy_only=False).astype(bool)
        values = values.drop_null()
    elif library in ("pandas", "cudf"):
        known = values.notna()
        values, valid = values[known], known.values
    elif device.is_on_gpu(values):
        values, valid = _split_array(values)
    else:
        values = np.asarray(values, None if hasattr(values, "dtype") else object)
        values, valid = _split_array(values)
    return column({name: values}, name, what), valid


def _split_array(values):
    """Return (the values of an array that are neither NaN nor None, which these are)."""
    if values.dtype.kind == "O":
        valid = np.array([value is not None and value == value for value in values], bool)
    elif values.dtype.kind == "f" and values.ndim == 1:
        valid = values == values
    else:
        return values, device.array_module(values).ones(len(values), bool)
    return values[valid], valid
