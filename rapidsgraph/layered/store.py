"""Open the folder of a layered edge list; its contents are read and validated on first use.

`store_writer` describes the files. Each is compared with the manifest before it is used: its size
when the store is opened, its checksum when it is first read. Then `store_validation` checks its
values. Partitions are verified when kernels first use them. The files must not change while a
store is open.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import stat
import zlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..device import ArrayModule
from ..errors import GraphError
from ..graph.name_storage import restore_names
from ..graph.vertex_names import VertexNames
from ..io.arrow_arrays import from_arrow, read_lists
from ..io.formats import STORE_FILES, STORE_FORMAT
from ..io.tables import read_errors
from ..validation import check_path
from . import store_validation
from .packing import TABLE
from .store_validation import REBUILD
from .store_writer import (
    EDGES,
    LAYERS,
    MANIFEST,
    MANIFEST_CHECKSUM,
    PARTITIONS,
    VERSION,
    VERTICES,
)

if TYPE_CHECKING:
    import pyarrow

READ_BYTES = 2**26  # per checksum call, which delays KeyboardInterrupt


def open_store(folder: str | Path) -> Store:
    """Open the store in a folder; only the manifest is read.

    Raises
    ------
    GraphError
        The folder is not a store of this version, or is damaged.
    """
    folder = check_path(folder)
    while True:
        with read_errors(folder):
            if not folder.exists():
                raise GraphError(
                    f"{folder}: there is no such folder; LayeredEdgeList.save creates it",
                    path=folder,
                )
            if not folder.is_dir():
                raise GraphError(
                    f"{folder}: it is a file; a layered edge list is a folder", path=folder
                )
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return Store(folder, handle)
        except GraphError:
            with contextlib.suppress(FileNotFoundError):
                if not os.path.samestat(os.fstat(handle), os.stat(folder)):
                    continue  # another process replaced the folder
            raise
        finally:
            os.close(handle)


class Store:
    """An open store; it stays as it is even if another one replaces its folder.

    Attributes
    ----------
    folder : Path
    absolute_folder : Path
    manifest : dict
    mapped : mmap.mmap
        The file of edges.
    """

    def __init__(self, folder: Path, handle: int) -> None:
        self.folder, self.absolute_folder = folder, folder.absolute()
        self.manifest = self._read_manifest(handle)
        self._maps: dict[str, mmap.mmap] = {}
        self._intact: set[str] = set()  # files whose checksums were compared
        for name in STORE_FILES[1:]:
            with read_errors(folder / name):
                self._maps[name] = self._map(name, handle)
        self.mapped = self._maps[EDGES]

    def _read_manifest(self, handle: int) -> dict[str, Any]:
        path = self.folder / MANIFEST
        try:
            with open(self._open_file(MANIFEST, handle), "rb") as file:
                data = file.read()
        except FileNotFoundError as error:
            raise GraphError(
                f"{path}: there is no such file, so the folder is not a layered edge list",
                path=path,
            ) from error
        except OSError as error:
            raise GraphError(f"{path}: it cannot be read ({error.strerror})", path=path) from error
        manifest = {}
        with contextlib.suppress(ValueError, RecursionError):
            manifest = json.loads(data)
        if not isinstance(manifest, dict) or manifest.get("format") != STORE_FORMAT:
            raise GraphError(
                f"{path}: it is not the manifest of a layered edge list, or is damaged; {REBUILD}",
                path=path,
                hint=REBUILD,
            )
        version = manifest.get("version")
        if version != VERSION:
            raise GraphError(
                f"{path}: the layered edge list has version {version}; only version {VERSION} is "
                f"supported; {REBUILD}",
                path=path,
                value=version,
                hint=REBUILD,
            )
        match = MANIFEST_CHECKSUM.search(data)
        start, stop = match.span(1) if match else (0, 0)
        if not match or int(match[1], 16) != zlib.crc32(data[:start] + b"0" * 8 + data[stop:]):
            raise GraphError(f"{path}: the manifest is damaged; {REBUILD}", path=path, hint=REBUILD)
        store_validation.check_manifest(manifest, path, STORE_FILES[1:])
        return manifest

    def _open_file(self, name: str, handle: int) -> int:
        """Open a regular file; opening a pipe would wait for its writer."""
        file = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=handle)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            path = self.folder / name
            raise GraphError(f"{path}: it is not a file; {REBUILD}", path=path, hint=REBUILD)
        return file

    def _map(self, name: str, handle: int) -> mmap.mmap:
        try:
            file = self._open_file(name, handle)
        except FileNotFoundError as error:
            path = self.folder / name
            raise GraphError(
                f"{path}: there is no such file; {REBUILD}", path=path, hint=REBUILD
            ) from error
        try:
            self._check_size(name, os.fstat(file).st_size)
            return mmap.mmap(file, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(file)

    def _check_size(self, name: str, size: int) -> None:
        expected = self.manifest["files"][name]["bytes"]
        if size != expected:
            path = self.folder / name
            raise GraphError(
                f"{path}: truncated or altered, it has {size:,} bytes instead of {expected:,}; "
                f"{REBUILD}",
                path=path,
                value=size,
                hint=REBUILD,
            )

    def verify_checksums(self, names: Sequence[str] = STORE_FILES[1:-1]) -> None:
        """Compare files that were not compared yet with their checksums in the manifest.

        Raises
        ------
        GraphError
            A file is damaged.
        """
        for name in names:
            if name in self._intact:
                continue
            mapped, checksum = self._maps[name], 0
            self._check_size(name, mapped.size())  # reading beyond the end kills the process
            with memoryview(mapped) as data:
                for start in range(0, len(data), READ_BYTES):
                    checksum = zlib.crc32(data[start : start + READ_BYTES], checksum)
            if f"{checksum:08x}" != self.manifest["files"][name]["checksum"]:
                path = self.folder / name
                raise GraphError(f"{path}: the file is damaged; {REBUILD}", path=path, hint=REBUILD)
            self._intact.add(name)

    def validate(self) -> None:
        """Check everything but the inside of the partitions.

        Raises
        ------
        GraphError
            A file is damaged, or a value is out of bounds.
        """
        self.verify_checksums()
        self.order, self.out_weights, self.names, self.table  # noqa: B018 - checked when read

    def discard(self) -> bool:
        """Remove the manifest of a store that can be rebuilt; return whether it was removed.

        The manifest stays if another store has replaced this one.
        """
        with contextlib.suppress(GraphError, OSError):
            if open_store(self.absolute_folder).manifest == self.manifest:
                (self.absolute_folder / MANIFEST).unlink()
                return True
        return False

    @cached_property
    def _vertex_columns(self) -> dict[str, pyarrow.Array]:
        """Arrow arrays of the vertex columns, in the mapped file."""
        self.verify_checksums([VERTICES])
        path = self.folder / VERTICES
        with read_errors(path):
            columns, _ = read_lists(self._maps[VERTICES])
        store_validation.check_vertices(columns, self.manifest, path)
        return columns

    def _read_columns(self, name: str) -> dict[str, np.ndarray]:
        import pyarrow

        self.verify_checksums([name])
        with read_errors(self.folder / name):
            table = pyarrow.ipc.open_file(pyarrow.py_buffer(self._maps[name])).read_all()
            table.validate(full=True)
            if any(column.null_count for column in table.columns):
                raise ValueError("values are missing")
            return {column: table[column].to_numpy() for column in table.column_names}

    @cached_property
    def order(self) -> np.ndarray:
        """Vertex id at each position: int32, shape (num_vertices,)."""
        order = from_arrow(self._vertex_columns["order"], np)
        store_validation.check_order(order, self.manifest, self.folder / VERTICES)
        return order

    @cached_property
    def out_weights(self) -> np.ndarray:
        """Out-degree or sum of out-weights at each position: float64, shape (num_vertices,)."""
        weights = from_arrow(self._vertex_columns["out_weights"], np)
        store_validation.check_out_weights(weights, self.manifest, self.folder / VERTICES)
        return weights

    @cached_property
    def names(self) -> VertexNames:
        """Vertex names in host memory."""
        return self.vertex_names(np)

    def vertex_names(self, xp: ArrayModule) -> VertexNames:
        """Return the vertex names in the memory of an array module."""
        columns = {
            name: from_arrow(_copy_text(values), xp)
            for name, values in self._vertex_columns.items()
            if name.startswith(("names_", "pairs_"))
        }
        return restore_names(columns, self.manifest)

    @cached_property
    def layer_starts(self) -> np.ndarray:
        """First position of each layer and of the unreached: int64, shape (depth + 2,)."""
        starts = self._layer_columns["first_vertex"]
        return np.append(starts, self.manifest["reached"]).astype(np.int64)

    @cached_property
    def layer_edges(self) -> np.ndarray:
        """Number of forward and backward edges of each layer: int64, shape (2, depth + 1)."""
        columns = self._layer_columns
        return np.array([columns["forward_edges"], columns["backward_edges"]])

    @cached_property
    def _layer_columns(self) -> dict[str, np.ndarray]:
        columns = self._read_columns(LAYERS)
        store_validation.check_layers(columns, self.manifest, self.folder / LAYERS)
        return columns

    @cached_property
    def table(self) -> np.ndarray:
        """Rows of `packing.TABLE`, one per partition: int64."""
        columns, path = self._read_columns(PARTITIONS), self.folder / PARTITIONS
        store_validation.check_table(
            columns, TABLE, self.layer_edges, self.words.size, self.manifest, path
        )
        return np.ascontiguousarray(np.array([columns[name] for name in TABLE]).T)

    @cached_property
    def words(self) -> np.ndarray:
        """The mapped file of edges as uint32; the memory must not be written to.

        The array is declared writable, because Numba would compile every kernel again for read-only
        arrays, and CuPy cannot copy from them.
        """
        num_words = len(self.mapped) // 8 * 2  # even, because weights may have 8 bytes
        words = np.frombuffer(self.mapped, np.uint32, num_words)
        interface = {**words.__array_interface__, "data": (words.ctypes.data, False)}
        # The array keeps the namespace alive, and the namespace keeps the mapping alive.
        return np.asarray(SimpleNamespace(__array_interface__=interface, mapped=self.mapped))

    @property
    def root(self) -> Any:
        """Name of the root; a tuple if several columns name a vertex."""
        root = self.manifest["root"]
        return tuple(root) if isinstance(root, list) else root

    @property
    def root_id(self) -> int:
        """Vertex id of the root."""
        return self.manifest["root_id"]

    @property
    def weight_dtype(self) -> type | None:
        """Type of the weights, or None without weights."""
        name = self.manifest["weight_dtype"]
        return None if name is None else np.dtype(name).type


def _copy_text(values: pyarrow.Array) -> pyarrow.Array:
    """Copy text out of the mapped file, where pandas would leave it; return numbers unchanged."""
    import pyarrow

    if pyarrow.types.is_integer(values.type):  # copied by the caller
        return values
    buffers = [buffer and pyarrow.py_buffer(bytearray(buffer)) for buffer in values.buffers()]
    return pyarrow.Array.from_buffers(values.type, len(values), buffers, offset=values.offset)
