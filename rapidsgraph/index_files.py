"""ScanIndex in a file: every array a list in the one row of an Arrow file.

Means: what an index holds, to be opened without sorting or counting anything again.
Requires: a file that `save` wrote; anything else, also one changed byte, is an error that names
  it.
Reference: the Arrow columnar format, IPC files. The schema's metadata has a JSON text beside it,
  and a checksum (CRC-32) of the whole file, which is computed while the checksum is all zeros. It
  is looked at before the file is parsed.
"""

import io
import json
import re
import zlib
from pathlib import Path

import numpy as np

from . import device, frames
from .errors import GraphError
from .files import check_writable, replacing
from .formats import reading
from .names import VertexNames

ENDINGS = (".arrow", ".feather")
FORMAT, VERSION = b"rapidsgraph.ScanIndex", 1
CHECKSUM = re.compile(FORMAT + rb":([0-9a-f]{8});")
NO_CHECKSUM = FORMAT + b":00000000;"


def save(path, arrays, names, own):
    """Write {name: array} and the names of vertices; the file appears whole or not at all.

    Parameters
    ----------
    own : list of bool
        Which name columns an end of an edge has for itself.

    Raises
    ------
    GraphError
        Unknown ending, no such folder, or no permission.
    """
    import pyarrow

    path = Path(path).expanduser()
    check_writable(path, ENDINGS)
    columns = dict(arrays)
    columns |= {f"names_{i}": part for i, part in enumerate(names.parts) if part is not None}
    columns |= {f"pairs_{i}": pairs for i, pairs in enumerate(names.pairs)}
    columns = {name: _to_arrow(values) for name, values in columns.items()}
    facts = {
        "version": VERSION,
        "vertices": names.count,
        "labels": names.labels,
        "own": own,
        "dtype": None if names.dtype is None else np.dtype(names.dtype).name,
    }
    rows = {
        name: pyarrow.LargeListArray.from_arrays(pyarrow.array([0, len(values)], "int64"), values)
        for name, values in columns.items()
    }
    table = pyarrow.table(rows)
    table = table.replace_schema_metadata({"facts": json.dumps(facts), "checksum": NO_CHECKSUM})
    try:
        with replacing(path) as file:
            summing = _Summing(file)
            with pyarrow.ipc.new_file(summing, table.schema) as writer:
                writer.write_table(table)
            for place in summing.places:
                file.seek(place)
                file.write(NO_CHECKSUM.replace(b"00000000", b"%08x" % summing.checksum))
    except (OSError, pyarrow.ArrowException) as error:
        raise GraphError(f"{path}: it could not be written ({error})") from error


class _Summing(io.RawIOBase):
    """Passes on what is written, with its checksum and the places where that will stand."""

    def __init__(self, file):
        self.file, self.checksum, self.places = file, 0, []

    def writable(self):
        return True

    def tell(self):
        return self.file.tell()

    def write(self, data):
        data = memoryview(data).cast("B")
        if len(data) < 2**16:  # metadata come in small pieces
            found = [match.start() for match in CHECKSUM.finditer(data)]
            self.places += [self.file.tell() + start for start in found]
        self.checksum = zlib.crc32(data, self.checksum)
        return self.file.write(data)


def load(path, xp):
    """({name: array}, VertexNames, own) of a file that `save` wrote, arrays on the device of `xp`.

    Raises
    ------
    GraphError
        No file, no index, or one that is damaged; the message names the file.
    """
    import pyarrow

    path = Path(path).expanduser()
    with reading(path):
        if path.is_dir():
            raise GraphError(f"{path}: it is a folder; give the file of an index")
        data = bytearray(path.read_bytes())
        _check(data, path)
        table = pyarrow.ipc.open_file(pyarrow.py_buffer(data)).read_all()
        facts = json.loads(table.schema.metadata[b"facts"])
        if facts["version"] != VERSION:
            raise GraphError(
                f"{path}: an index of version {facts['version']}; {VERSION} can be read"
            )
        columns = {name: table[name].chunk(0).values for name in table.column_names}
    columns = {name: _from_arrow(values, xp) for name, values in columns.items()}
    several = range(len(facts["labels"]))
    names = VertexNames(
        facts["labels"],
        [columns.pop(f"names_{i}", None) for i in several],
        facts["vertices"],
        [columns.pop(f"pairs_{i}") for i in several[:-1]],
        facts["dtype"] and np.dtype(facts["dtype"]),
    )
    return columns, names, facts["own"]


def _check(data, path):
    """Raise GraphError unless `data` are what `save` wrote; sets their checksums to zeros."""
    found = list(CHECKSUM.finditer(data))
    if not data.startswith(b"ARROW1") or not found:
        raise GraphError(f"{path}: it is no index, or a damaged one; ScanIndex.save writes one")
    given = {int(match[1], 16) for match in found}
    for start, end in [match.span(1) for match in found]:
        data[start:end] = b"0" * 8
    if given != {zlib.crc32(data)}:
        raise GraphError(f"{path}: the index is damaged; build it and save it again")


def _to_arrow(values):
    import pyarrow

    if device.is_on_gpu(values):
        values = values.get()
    if isinstance(values, np.ndarray):
        return pyarrow.array(values)
    values = values.to_arrow() if hasattr(values, "to_arrow") else pyarrow.array(values)
    values = values.combine_chunks() if isinstance(values, pyarrow.ChunkedArray) else values
    return values.cast(pyarrow.large_string())


def _from_arrow(values, xp):
    is_text = str(values.type) == "large_string"
    return frames.moved(values.to_pandas() if is_text else values.to_numpy().copy(), xp)
