"""ScanIndex in a file: every array a list in the one row of an Arrow file.

Means: what an index holds, to be opened without sorting or counting anything again.
Requires: a file that `save` wrote; anything else, also one changed byte, is an error that names it.
Reference: the Arrow columnar format, IPC files. The schema's metadata has a JSON text beside it,
  with a checksum (CRC-32) of every array.
"""

import json
import zlib
from pathlib import Path

import numpy as np

from . import device, frames
from .errors import GraphError
from .files import check_writable, replacing
from .formats import reading
from .names import VertexNames

ENDINGS = (".arrow", ".feather")
KEY, FORMAT, VERSION = b"rapidsgraph", "rapidsgraph.ScanIndex", 1


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
        "format": FORMAT,
        "version": VERSION,
        "vertices": names.count,
        "labels": names.labels,
        "own": own,
        "dtype": None if names.dtype is None else np.dtype(names.dtype).name,
        "checksums": {name: _checksum(values) for name, values in columns.items()},
    }
    rows = {
        name: pyarrow.LargeListArray.from_arrays(pyarrow.array([0, len(values)], "int64"), values)
        for name, values in columns.items()
    }
    table = pyarrow.table(rows).replace_schema_metadata({KEY: json.dumps(facts)})
    with replacing(path) as file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


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
        with pyarrow.memory_map(str(path)) as file:
            table = pyarrow.ipc.open_file(file).read_all()
        facts = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
        if facts.get("format") != FORMAT:
            raise GraphError(f"{path}: it is no index; ScanIndex.save writes one")
        if facts["version"] != VERSION:
            raise GraphError(
                f"{path}: an index of version {facts['version']}; {VERSION} can be read"
            )
        columns = {name: table[name].chunk(0).values for name in table.column_names}
        for name, checksum in facts["checksums"].items():
            if _checksum(columns[name]) != checksum:
                raise GraphError(f"{path}: {name} has changed; build the index and save it again")
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
    return frames.moved(values.to_pandas() if is_text else values.to_numpy(), xp)


def _checksum(values):
    if str(values.type) != "large_string":
        return zlib.crc32(np.ascontiguousarray(values.to_numpy()))
    ends = np.frombuffer(values.buffers()[1], np.int64)[values.offset :][: len(values) + 1]
    text = values.buffers()[2]
    text = np.frombuffer(text, np.uint8)[ends[0] : ends[-1]] if text else b""
    return zlib.crc32(text, zlib.crc32(ends - ends[0]))
