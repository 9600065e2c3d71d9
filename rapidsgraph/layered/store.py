"""A layered edge list in a folder, opened: what is in it is read when it is asked for.

Means: what `writing` or `save` wrote; writer.py says how the files look.
Requires: that nobody writes into these files. Each is compared with the manifest before it is used:
  its size when the store is opened, its checksum when it is first read. Then its values are
  validated, as validation.py says. Partitions are verified by whoever sweeps over them.
"""

import contextlib
import json
import mmap
import os
import stat
import zlib
from functools import cached_property

import numpy as np

from ..errors import GraphError
from ..graph.name_storage import names_from
from ..io.arrow_arrays import from_arrow, read_lists
from ..io.formats import read_errors
from ..io.writers import STORE_FILES, STORE_FORMAT
from ..validation import check_path
from . import store_validation
from .packing import TABLE
from .store_validation import AGAIN
from .store_writer import (
    CHECKSUM,
    EDGES,
    LAYERS,
    MANIFEST,
    PARTITIONS,
    VERSION,
    VERTICES,
    Writer,
    check_place,
    check_separate,
    save,
    writing,
)

__all__ = ["Store", "Writer", "check_place", "check_separate", "opened", "save", "writing"]

CHUNK = 2**26  # bytes between two looks for Ctrl-C


def opened(folder):
    """The Store in a folder, of which only the manifest is read.

    Raises
    ------
    GraphError
        No store, one of another version, or a damaged one; the message names the file.
    """
    folder = check_path(folder)
    while True:
        with read_errors(folder):
            if not folder.exists():
                raise GraphError(
                    f"{folder}: there is no such folder; LayeredEdgeList.save makes it"
                )
            if not folder.is_dir():
                raise GraphError(f"{folder}: it is a file; a layered edge list is a folder")
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return Store(folder, handle)
        except GraphError:
            with contextlib.suppress(FileNotFoundError):
                if not os.path.samestat(os.fstat(handle), os.stat(folder)):
                    continue  # replaced meanwhile
            raise
        finally:
            os.close(handle)


class Store:
    """An opened store, as it was at that time even if another takes its place.

    Attributes
    ----------
    folder : Path
    facts : dict
        The manifest.
    mapped : mmap.mmap
        The file of edges.
    """

    def __init__(self, folder, handle):
        self.folder, self._maps, self._sound = folder, {}, set()
        self.place = folder.absolute()
        self.facts = self._manifest(handle)
        for name in STORE_FILES[1:]:
            with read_errors(folder / name):
                self._maps[name] = self._map(name, handle)
        self.mapped = self._maps[EDGES]

    def _manifest(self, handle):
        path = self.folder / MANIFEST
        try:
            with open(self._descriptor(MANIFEST, handle), "rb") as file:
                data = file.read()
        except FileNotFoundError as error:
            raise GraphError(
                f"{path}: there is no such file, so the folder is no layered edge list"
            ) from error
        except OSError as error:
            raise GraphError(f"{path}: it cannot be read ({error.strerror})") from error
        facts = {}
        with contextlib.suppress(ValueError, RecursionError):
            facts = json.loads(data)
        if not isinstance(facts, dict) or facts.get("format") != STORE_FORMAT:
            raise GraphError(f"{path}: it is no manifest of a layered edge list, or a damaged one")
        if facts.get("version") != VERSION:
            raise GraphError(
                f"{path}: a layered edge list of version {facts.get('version')}; {VERSION} can be "
                f"read; {AGAIN}"
            )
        found = CHECKSUM.search(data)
        start, stop = found.span(1) if found else (0, 0)
        if not found or int(found[1], 16) != zlib.crc32(data[:start] + b"0" * 8 + data[stop:]):
            raise GraphError(f"{path}: the manifest is damaged; {AGAIN}")
        store_validation.check_manifest(facts, path, STORE_FILES[1:])
        return facts

    def _descriptor(self, name, handle):
        """Open a regular file; a pipe would wait for its writer."""
        file = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=handle)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise GraphError(f"{self.folder / name}: it is no file; {AGAIN}")
        return file

    def _map(self, name, handle):
        try:
            file = self._descriptor(name, handle)
        except FileNotFoundError as error:
            raise GraphError(f"{self.folder / name}: there is no such file; {AGAIN}") from error
        try:
            self._check_size(name, os.fstat(file).st_size)
            return mmap.mmap(file, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(file)

    def _check_size(self, name, size):
        expected = self.facts["files"][name]["bytes"]
        if size != expected:
            raise GraphError(
                f"{self.folder / name}: truncated or altered, it has {size:,} bytes and not "
                f"{expected:,}; {AGAIN}"
            )

    def check(self, names=STORE_FILES[1:-1]):
        """Compare files with their checksums in the manifest, those that were not compared yet.

        Raises
        ------
        GraphError
            One that differs; the message names it.
        """
        for name in names:
            if name in self._sound:
                continue
            mapped, checksum = self._maps[name], 0
            self._check_size(name, mapped.size())  # to read behind its end would be fatal
            with memoryview(mapped) as data:
                for start in range(0, len(data), CHUNK):
                    checksum = zlib.crc32(data[start : start + CHUNK], checksum)
            if f"{checksum:08x}" != self.facts["files"][name]["checksum"]:
                raise GraphError(f"{self.folder / name}: the file is damaged; {AGAIN}")
            self._sound.add(name)

    def validate(self):
        """Check everything but the insides of partitions.

        Raises
        ------
        GraphError
            A file that is damaged, or a value that is out of bounds; the message names it.
        """
        self.check()
        self.order, self.out_weights, self.names, self.table  # noqa: B018 - checked when read

    def discard(self):
        """Remove the manifest of a store that can be built again, unless it was replaced.

        Returns
        -------
        bool
            Whether the manifest was removed.
        """
        with contextlib.suppress(GraphError, OSError):
            if opened(self.place).facts == self.facts:
                (self.place / MANIFEST).unlink()
                return True
        return False

    @cached_property
    def _vertices(self):
        """{column: Arrow array in the mapped file} of the columns of vertices."""
        self.check([VERTICES])
        path = self.folder / VERTICES
        with read_errors(path):
            columns, _ = read_lists(self._maps[VERTICES])
        store_validation.check_vertices(columns, self.facts, path)
        return columns

    def _numbers(self, name):
        import pyarrow

        self.check([name])
        with read_errors(self.folder / name):
            table = pyarrow.ipc.open_file(pyarrow.py_buffer(self._maps[name])).read_all()
            table.validate(full=True)
            if any(column.null_count for column in table.columns):
                raise ValueError("values are missing")
            return {column: table[column].to_numpy() for column in table.column_names}

    @cached_property
    def order(self):
        """The id of the vertex at each place: int32, shape (vertices,)."""
        order = from_arrow(self._vertices["order"], np)
        store_validation.check_order(order, self.facts, self.folder / VERTICES)
        return order

    @cached_property
    def out_weights(self):
        """What leaves the vertex at each place: float64, shape (vertices,)."""
        weights = from_arrow(self._vertices["out_weights"], np)
        store_validation.check_out_weights(weights, self.facts, self.folder / VERTICES)
        return weights

    @cached_property
    def names(self):
        """VertexNames on the host."""
        return self.names_on(np)

    def names_on(self, xp):
        """VertexNames on the device of `xp`."""
        columns = {
            name: from_arrow(_in_memory(each), xp)
            for name, each in self._vertices.items()
            if name.startswith(("names_", "pairs_"))
        }
        return names_from(columns, self.facts)

    @cached_property
    def layer_starts(self):
        """The first place of each layer, and of the unreached: int64, shape (depth + 2,)."""
        return np.append(self._layers["first_vertex"], self.facts["reached"]).astype(np.int64)

    @cached_property
    def layer_edges(self):
        """Edges that leave each layer, forward and backward: int64, shape (2, depth + 1)."""
        return np.array([self._layers["forward_edges"], self._layers["backward_edges"]])

    @cached_property
    def _layers(self):
        columns = self._numbers(LAYERS)
        store_validation.check_layers(columns, self.facts, self.folder / LAYERS)
        return columns

    @cached_property
    def table(self):
        """A row a partition; its position is a place in `words`: int64."""
        columns, path = self._numbers(PARTITIONS), self.folder / PARTITIONS
        store_validation.check_table(
            columns, TABLE, self.layer_edges, self.words.size, self.facts, path
        )
        return np.ascontiguousarray(np.array([columns[name] for name in TABLE]).T)

    @cached_property
    def words(self):
        """The file of edges as uint32, in place: its memory is for reading only."""
        return np.asarray(_Words(self.mapped))

    @property
    def root(self):
        root = self.facts["root"]
        return tuple(root) if isinstance(root, list) else root

    @property
    def root_id(self):
        return self.facts["root_id"]

    @property
    def weight_dtype(self):
        name = self.facts["weight_dtype"]
        return None if name is None else np.dtype(name).type


class _Words:
    """Mapped memory as an array that does not say that it cannot be written to.

    Numba would compile every kernel once more for arrays that do, and CuPy cannot copy from them.
    """

    def __init__(self, mapped):
        self.mapped = mapped
        data = np.frombuffer(mapped, np.uint32, len(mapped) // 8 * 2)  # weights take two
        self.__array_interface__ = {**data.__array_interface__, "data": (data.ctypes.data, False)}


def _in_memory(values):
    """An Arrow array whose text is not in a mapped file, where pandas would leave it."""
    import pyarrow

    if pyarrow.types.is_integer(values.type):  # will be copied
        return values
    buffers = [each and pyarrow.py_buffer(bytearray(each)) for each in values.buffers()]
    return pyarrow.Array.from_buffers(values.type, len(values), buffers, offset=values.offset)
