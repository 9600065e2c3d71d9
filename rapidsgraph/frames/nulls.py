"""Columns of results that hold nothing in some rows: distances and predecessors."""

import numpy as np

from .. import device
from .reading import column, column_names, library_of

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
