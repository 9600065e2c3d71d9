"""Store arrays in Arrow files, each as a list in the only row of a table.

The arrays may have different lengths, and most types are read without a copy. A reader verifies the
checksum of a file before it is parsed. Since other programs can write a valid checksum too,
`read_lists` lets Arrow validate it, and `check_columns` compares types and lengths.

References
----------
https://arrow.apache.org/docs/format/Columnar.html
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from .. import device, frames
from ..device import Array, ArrayModule
from ..errors import GraphError

BLOCK_BYTES = 2**20  # written between two calls of `Crc32Writer.after_block`


def list_table(columns: Mapping[str, Any]) -> Any:
    """Return a pyarrow.Table of one row from {name: array or text Series}."""
    import pyarrow

    columns = {name: to_arrow(values) for name, values in columns.items()}
    return pyarrow.table(
        {
            name: pyarrow.LargeListArray.from_arrays(
                pyarrow.array([0, len(values)], "int64"), values
            )
            for name, values in columns.items()
        }
    )


def read_lists(data: Any) -> tuple[dict[str, Any], dict[bytes, bytes]]:
    """Read an Arrow file of a `list_table` without a copy.

    Parameters
    ----------
    data : buffer

    Returns
    -------
    columns : {name: pyarrow.Array}
        The items of each list.
    metadata : {bytes: bytes}
        Metadata of the schema.

    Raises
    ------
    ValueError
        The table is not one row of lists without missing values, or Arrow finds it invalid: a
        buffer is too short, an offset is out of bounds, or text is not UTF-8.
    """
    import pyarrow

    try:
        table = pyarrow.ipc.open_file(pyarrow.py_buffer(data)).read_all()
        table.validate(full=True)
    except pyarrow.ArrowMemoryError as error:  # an invalid size; the data are in memory already
        raise ValueError(str(error)) from error
    if table.num_rows != 1 or len(set(table.column_names)) < table.num_columns:
        raise ValueError(f"it has {table.num_rows} rows instead of one, or duplicate columns")
    columns = {}
    for name, column in zip(table.column_names, table.columns):
        if not pyarrow.types.is_large_list(column.type) or column.num_chunks != 1:
            raise ValueError(f"column {name!r} is {column.type} instead of a list")
        (lists,) = column.chunks
        values = lists.values
        if lists.null_count or values.null_count or len(lists.flatten()) != len(values):
            raise ValueError(f"column {name!r} has missing values, or values outside its list")
        columns[name] = values
    return columns, table.schema.metadata or {}


def invalid(path: Path, field: str, value: object, expected: object, advice: str) -> GraphError:
    """Return the error for a field of a file with an invalid value."""
    return GraphError(
        f"{path}: {field} is {value!s:.80}, not {expected}; {advice}",
        path=path,
        column=field,
        value=value,
        hint=advice,
    )


def missing(path: Path, kind: str, name: str, advice: str) -> GraphError:
    """Return the error for a file without a field or column; `kind` says which."""
    return GraphError(
        f"{path}: the {kind} {name!r} is missing; {advice}", path=path, column=name, hint=advice
    )


def is_count(value: object) -> bool:
    """Return whether a JSON value is an integer from 0 to 2**63 - 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def check_columns(
    columns: Mapping[str, Any],
    expected: Mapping[str, tuple[Sequence[str], int | None]],
    path: Path,
    advice: str,
) -> None:
    """Raise GraphError unless columns exist with the expected types and lengths.

    Parameters
    ----------
    columns : {name: pyarrow.Array}
    expected : {name: (types, length)}
        Names of Arrow types; the length may be None for any.
    path : Path
    advice : str
        What to do, for messages.
    """
    for name, (types, length) in expected.items():
        if name not in columns:
            raise missing(path, "column", name, advice)
        values = columns[name]
        if str(values.type) not in types:
            raise invalid(path, f"the type of {name}", values.type, " or ".join(types), advice)
        if length is not None and len(values) != length:
            raise invalid(path, f"the length of {name}", f"{len(values):,}", f"{length:,}", advice)


def to_arrow(values: Any) -> Any:
    """Return the Arrow array of an array or Series on any device; text becomes large_string."""
    import pyarrow

    if device.is_on_gpu(values):
        values = values.get()
    if isinstance(values, np.ndarray):
        return pyarrow.array(values)
    values = values.to_arrow() if hasattr(values, "to_arrow") else pyarrow.array(values)
    values = values.combine_chunks() if isinstance(values, pyarrow.ChunkedArray) else values
    is_number = pyarrow.types.is_integer(values.type)
    return values if is_number else values.cast(pyarrow.large_string())


def from_arrow(values: Any, xp: ArrayModule) -> Array | Any:
    """Return an Arrow array as an array on the device of `xp`, copied, or as a text Series."""
    is_text = str(values.type) == "large_string"
    return frames.to_device(values.to_pandas() if is_text else values.to_numpy().copy(), xp)


class Crc32Writer(io.RawIOBase):
    """Write to a file and compute the CRC-32 checksum of its contents.

    Parameters
    ----------
    file : binary file
    after_block : callable, optional
        Called with each block of at most `BLOCK_BYTES` after it was written.

    Attributes
    ----------
    checksum : int
    """

    def __init__(
        self, file: IO[bytes], after_block: Callable[[memoryview], object] | None = None
    ) -> None:
        self.file, self.checksum, self.after_block = file, 0, after_block

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position in the file."""
        return self.file.tell()

    def write(self, data: Any) -> int:
        """Write a buffer and add it to the checksum."""
        if self.after_block is None:
            self.checksum = zlib.crc32(data, self.checksum)
            return self.file.write(data)
        data = memoryview(data).cast("B")
        for start in range(0, len(data), BLOCK_BYTES):
            block = data[start : start + BLOCK_BYTES]
            self.checksum = zlib.crc32(block, self.checksum)
            self.file.write(block)
            self.after_block(block)
        return len(data)
