"""Edit the fields of stores and index files, and compute their checksums again.

What comes out is what a stranger can write: every checksum is right, whatever the values are.
"""

import io
import json
import zlib
from pathlib import Path

import numpy as np
import pyarrow

from rapidsgraph.algorithms import scan_index_file
from rapidsgraph.layered.packing import COLUMN, TABLE, checksum, section_layouts
from rapidsgraph.layered.store_writer import EDGES, LAYERS, MANIFEST, PARTITIONS, VERTICES

ZEROS = b"0" * 8


class CraftedStore:
    """The contents of a store, to be changed and written back by `seal`.

    Attributes
    ----------
    manifest : dict
        The manifest.
    vertices : {name: pyarrow.Array}
        Items of the lists in vertices.arrow.
    layers, table : {name: NumPy array or pyarrow.Array}
    words : uint32 array
        The file of edges.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.manifest = json.loads((self.folder / MANIFEST).read_text())
        vertices = pyarrow.ipc.open_file(self._bytes(VERTICES)).read_all()
        self.vertices = {n: vertices[n].chunk(0).values for n in vertices.column_names}
        self.layers, self.table = (
            {n: table[n].to_numpy().copy() for n in table.column_names}
            for table in (
                pyarrow.ipc.open_file(self._bytes(name)).read_all() for name in (LAYERS, PARTITIONS)
            )
        )
        data = self._bytes(EDGES)
        self.words = np.frombuffer(data, np.uint32, len(data) // 4).copy()
        self._end = data[self.words.nbytes :]
        rows = np.array([self.table[name] for name in TABLE]).T
        self._spans = [tuple(row[[COLUMN[n] for n in ("position", "words")]]) for row in rows]
        self._middles = [int(row[COLUMN["forward_words"]]) for row in rows]
        weight_type = self.manifest["weight_dtype"]
        self.weight_dtype = None if weight_type is None else np.dtype(weight_type)
        each = 0 if weight_type is None else self.weight_dtype.itemsize
        self.layouts = [section_layouts(row, each) for row in rows]

    def _bytes(self, name):
        return (self.folder / name).read_bytes()

    def section(self, partition, part):
        """(words of a section, in place; its layout)."""
        start, size = self._spans[partition]
        own, middle = self.words[start : start + size], self._middles[partition]
        return (own[middle:] if part else own[:middle]), self.layouts[partition][part]

    def sum_sections(self):
        """Compute the checksums of all sections again."""
        for partition in range(len(self._spans)):
            for part, name in enumerate(("forward", "backward")):
                own, _ = self.section(partition, part)
                found = checksum(own) if own.size else 0
                self.table[f"{name}_checksum"][partition] = found

    def seal(self):
        """Write all files with their sizes and checksums."""
        self._write(EDGES, self.words.tobytes() + self._end, has_checksum=False)
        self._write(VERTICES, as_file(as_lists(self.vertices)))
        self._write(LAYERS, as_file(pyarrow.table(self.layers)))
        self._write(PARTITIONS, as_file(pyarrow.table(self.table)))
        self.seal_manifest()

    def _write(self, name, data, has_checksum=True):
        (self.folder / name).write_bytes(data)
        if isinstance(self.manifest.get("files"), dict):
            entry = {"bytes": len(data)}
            if has_checksum:
                entry["checksum"] = f"{zlib.crc32(data):08x}"
            self.manifest["files"].setdefault(name, {})
            self.manifest["files"][name] = entry

    def seal_manifest(self):
        """Write the manifest with its checksum."""
        facts = {name: value for name, value in self.manifest.items() if name != "checksum"}
        data = (json.dumps({**facts, "checksum": "0" * 8}, indent=1) + "\n").encode()
        own = b"%08x" % zlib.crc32(data)
        (self.folder / MANIFEST).write_bytes(data[: data.rindex(ZEROS)] + own + b'"\n}\n')


class CraftedIndex:
    """The contents of an index file, to be changed and written back by `seal`.

    Attributes
    ----------
    columns : {name: pyarrow.Array}
    facts : anything JSON can hold
    """

    def __init__(self, path):
        self.path = Path(path)
        table = pyarrow.ipc.open_file(self.path.read_bytes()).read_all()
        self.facts = json.loads(table.schema.metadata[b"facts"])
        self.columns = {n: table[n].chunk(0).values for n in table.column_names}

    def seal(self):
        """Write the file with its checksum."""
        table = as_lists(self.columns).replace_schema_metadata(
            {"facts": json.dumps(self.facts), "checksum": scan_index_file.NO_CHECKSUM}
        )
        data = as_file(table)
        own = scan_index_file.NO_CHECKSUM.replace(ZEROS, b"%08x" % zlib.crc32(data))
        self.path.write_bytes(data.replace(scan_index_file.NO_CHECKSUM, own))


def as_lists(columns):
    """A table of lists, in one row unless a value is a column of lists already."""
    rows = max((len(v) for v in columns.values() if isinstance(v, pyarrow.ChunkedArray)), default=1)
    return pyarrow.table(
        {
            name: values
            if isinstance(values, pyarrow.ChunkedArray)
            else pyarrow.LargeListArray.from_arrays(
                pyarrow.array([0] + [len(values)] * rows, "int64"), values
            )
            for name, values in columns.items()
        }
    )


def as_file(table):
    """The bytes of an Arrow file."""
    file = io.BytesIO()
    with pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def with_value(values, place, value):
    """A copy of an array with another value at a place."""
    changed = values.to_pylist() if isinstance(values, pyarrow.Array) else values.copy()
    if isinstance(changed, list):
        changed[place] = value
        return pyarrow.array(changed, values.type)
    changed[place] = value
    return changed
