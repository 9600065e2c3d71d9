"""Arrays and vertex names in Arrow files: each a list in the one row of a table.

Means: columns of any length beside one another, without a copy where the type allows.
Requires: a reader that has made sure of the file before it is parsed (CRC-32, in what uses this).
Reference: the Arrow columnar format.
"""

import io
import zlib

import numpy as np

from . import device, frames
from .names import VertexNames


def list_table(columns):
    """A pyarrow.Table of {name: array or text Series}, one row."""
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


def to_arrow(values):
    """The Arrow array of an array, or of a text Series as large_string, wherever they are."""
    import pyarrow

    if device.is_on_gpu(values):
        values = values.get()
    if isinstance(values, np.ndarray):
        return pyarrow.array(values)
    values = values.to_arrow() if hasattr(values, "to_arrow") else pyarrow.array(values)
    values = values.combine_chunks() if isinstance(values, pyarrow.ChunkedArray) else values
    return values.cast(pyarrow.large_string())


def from_arrow(values, xp):
    """The array on the device of `xp`, or text Series, of an Arrow array; numbers are copied."""
    is_text = str(values.type) == "large_string"
    return frames.moved(values.to_pandas() if is_text else values.to_numpy().copy(), xp)


def name_columns(names):
    """{column: values} that hold what VertexNames do, beside what `name_facts` says."""
    columns = {f"names_{i}": part for i, part in enumerate(names.parts) if part is not None}
    return columns | {f"pairs_{i}": pairs for i, pairs in enumerate(names.pairs)}


def name_facts(names, own):
    """What JSON says of VertexNames and of which name columns an end of an edge has for itself."""
    return {
        "vertices": names.count,
        "labels": names.labels,
        "own": own,
        "dtype": None if names.dtype is None else np.dtype(names.dtype).name,
    }


def names_from(columns, facts):
    """VertexNames of what `name_columns` and `name_facts` gave; takes them out of `columns`."""
    several = range(len(facts["labels"]))
    return VertexNames(
        facts["labels"],
        [columns.pop(f"names_{i}", None) for i in several],
        facts["vertices"],
        [columns.pop(f"pairs_{i}") for i in several[:-1]],
        facts["dtype"] and np.dtype(facts["dtype"]),
    )


class Summing(io.RawIOBase):
    """Passes on what is written, with its checksum (CRC-32)."""

    def __init__(self, file):
        self.file, self.checksum = file, 0

    def writable(self):
        return True

    def tell(self):
        return self.file.tell()

    def write(self, data):
        self.checksum = zlib.crc32(data, self.checksum)
        return self.file.write(data)
