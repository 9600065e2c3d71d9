"""Write a layered edge list into a folder that appears complete or not at all.

A store consists of these files:

manifest.json
    Counts, root, types and origin; size and CRC-32 checksum of each other file; its own checksum,
    computed while the field is all zeros.
vertices.arrow
    One row of lists: order, out_weights, vertex names.
layers.arrow
    One row per layer: first_vertex (a position), forward_edges, backward_edges.
partitions.arrow
    One row per partition: the columns of `packing.TABLE`.
edges.npy
    The packed words of all partitions (uint32). Each partition starts at a multiple of 64 bytes, so
    that kernels use the memory-mapped file in place. The position of a partition counts words from
    the start of the file. There is no checksum of the file, as each partition has its own.

The JSON and Arrow files contain `STORE_FORMAT` near their start, so that a damaged store is
distinguished from a folder of other files.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from .. import device
from ..atomic import replacing_folder, write_error
from ..device import Array
from ..errors import GraphError
from ..graph.name_storage import name_columns, name_metadata
from ..io.arrow_arrays import Crc32Writer, list_table
from ..io.formats import STORE_FILES, STORE_FORMAT, is_store_file
from ..io.inputs import InputFiles
from ..io.tables import read_errors
from ..io.writers import resolve_destination
from ..validation import check_path
from .packing import COLUMN, TABLE

if TYPE_CHECKING:
    import pyarrow

    from ..graph.vertex_names import Labeling

VERSION = 2
MANIFEST, VERTICES, LAYERS, PARTITIONS, EDGES = STORE_FILES
MANIFEST_CHECKSUM = re.compile(rb'"checksum": "([0-9a-f]{8})"\n\}\n\Z')
ALIGNMENT = 64  # of a partition in the file of edges, in bytes
NPY_HEADER_BYTES = 128


def check_destination(folder: str | Path) -> None:
    """Raise GraphError unless a store can be written to a folder.

    An existing store or an empty folder can be replaced, nothing else. Call it before long work.
    """
    folder = check_path(folder)
    final = resolve_destination(folder)
    if not final.parent.is_dir():
        raise GraphError(
            f"{folder}: the folder {final.parent} does not exist; create it first", path=folder
        )
    if not os.access(final.parent, os.W_OK | os.X_OK):
        raise GraphError(
            f"{folder}: there is no permission to write into the folder {final.parent}",
            path=folder,
        )
    if not final.exists():
        return
    if not final.is_dir():
        raise GraphError(
            f"{folder}: it is a file; a layered edge list is a folder, choose another name",
            path=folder,
        )
    if not os.access(final, os.R_OK | os.W_OK | os.X_OK):
        raise GraphError(f"{folder}: there is no permission to replace it", path=folder)
    with read_errors(folder):
        names = sorted(file.name for file in final.iterdir())
        others = [name for name in names if name not in STORE_FILES or not (final / name).is_file()]
        store_files = set(names).difference(others)
        is_store = not names or any(is_store_file(final / name) for name in store_files)
    if others or not is_store:
        what = f"{others[0]}, which is not part of one" if others else "other files"
        raise GraphError(
            f"{folder}: the folder is not a layered edge list, it contains {what}; choose another "
            "folder",
            path=folder,
            hint="choose another folder",
        )


def check_separate(folder: str | Path, source: InputFiles) -> None:
    """Raise GraphError if a store would replace its input, contain it or be part of it.

    Parameters
    ----------
    folder : str or Path
        Destination of the store.
    source : InputFiles
        Files of edges.
    """
    final = Path(os.path.realpath(check_path(folder)))
    paths = [source.local_path] if source.local_path else [file.path for file in source.files]
    for path in map(Path, map(os.path.realpath, paths)):
        if final == path or final in path.parents or path in final.parents:
            raise GraphError(
                f"{folder}: the edges are read from {source}, which is the same folder, inside it "
                "or around it; choose a folder outside of it",
                path=folder,
                hint="choose a folder outside of the input",
            )


@contextlib.contextmanager
def write_errors(
    folder: str | Path,
    needed: Callable[[], int] | None = None,
    partial: Path | None = None,
) -> Iterator[None]:
    """Convert a failure to write into `folder` to the GraphError of `atomic.write_error`.

    Parameters
    ----------
    folder : str or Path
        Destination, for the message.
    needed : callable, optional
        Returns the required disk space in bytes.
    partial : Path, optional
        Temporary folder that is being written.
    """
    import pyarrow

    try:
        yield
    except MemoryError:  # includes ArrowMemoryError
        raise
    except (OSError, pyarrow.ArrowException) as error:
        raise write_error(folder, error, needed, partial) from error


@contextlib.contextmanager
def create_store(
    folder: str | Path, needed: Callable[[], int] | None = None
) -> Iterator[StoreWriter]:
    """Yield the writer of a store that replaces `folder` at the end of the block.

    If the block raises, its files are removed and an existing store stays.

    Parameters
    ----------
    folder : str or Path
    needed : callable, optional
        Returns the required disk space in bytes, for the message if the disk is full.

    Raises
    ------
    GraphError
        The destination is unsuitable (see `check_destination`), or the disk is full.
    """
    folder = check_path(folder)
    with contextlib.ExitStack() as stack:
        with write_errors(folder):
            final = resolve_destination(folder)
            temporary = stack.enter_context(replacing_folder(final, check_destination))
            writer = StoreWriter(folder, temporary, needed)
        try:
            yield writer
            if not writer.is_finished:
                raise RuntimeError("the block ended without StoreWriter.finish")
        except BaseException:
            writer.close()
            raise
        with write_errors(folder, needed):
            stack.close()


@dataclass
class StoreContents:
    """Everything in a store but its partitions; attributes are those of `LayeredStorage`."""

    labeling: Labeling
    root_id: int
    directed: bool
    weighted: bool
    weight_dtype: Any
    num_edges: int
    minimum_edges: int | None
    is_merged: bool
    layer_starts: np.ndarray
    layer_edges: np.ndarray
    order: np.ndarray
    out_weights: np.ndarray
    origin: dict[str, Any] | None = None


class StoreWriter:
    """Writes partitions one by one, then the other files; see `create_store`.

    Attributes
    ----------
    temporary : Path
        Folder that is being written.
    table : list of int64 array
        Rows of the partitions so far, with their positions.
    """

    def __init__(
        self, folder: Path, temporary: Path, needed: Callable[[], int] | None = None
    ) -> None:
        self.folder, self.temporary, self.needed = folder, temporary, needed
        self.table: list[np.ndarray] = []
        self.is_finished = False
        self._file = open(temporary / EDGES, "xb")  # noqa: SIM115 - closed by `finish`
        _write_npy_header(self._file, 0)

    def add(self, words: Array, row: np.ndarray) -> None:
        """Write a partition.

        Parameters
        ----------
        words : uint32 array, shape (words,)
        row : int64 array, shape (len(TABLE),)
            Row of the table; its position is set here.
        """
        words = np.ascontiguousarray(device.to_host(words))
        row = np.array(row, np.int64)
        row[COLUMN["position"]] = self._file.tell() // 4
        with self._write_errors():
            self._file.write(words.data)
            self._file.write(bytes(-words.nbytes % ALIGNMENT))
        self.table.append(row)

    def allocate(self, table: np.ndarray) -> tuple[Path, np.ndarray]:
        """Reserve disk space for partitions that other processes write.

        Parameters
        ----------
        table : int64 array, shape (partitions, len(TABLE))
            Rows of the partitions, in place of calls of `add`; their positions are set here.

        Returns
        -------
        path : Path
            The file of edges.
        positions : int64 array, shape (partitions,)
            First word of each partition in this file.
        """
        alignment = ALIGNMENT // 4
        sizes = -(-table[:, COLUMN["words"]] // alignment) * alignment
        stops = NPY_HEADER_BYTES // 4 + np.cumsum(sizes)
        table = table.copy()
        table[:, COLUMN["position"]] = stops - sizes
        num_bytes = 4 * int(stops[-1]) if len(table) else NPY_HEADER_BYTES
        with self._write_errors():
            os.posix_fallocate(self._file.fileno(), 0, num_bytes)
            self._file.seek(0, os.SEEK_END)
        self.table = list(table)
        return Path(self._file.name), table[:, COLUMN["position"]]

    def finish(self, layered: Any) -> None:
        """Write the other files.

        Parameters
        ----------
        layered : LayeredStorage or StoreContents
            Its `origin` identifies the input it was built from.
        """
        with self._write_errors():
            num_bytes = self._file.tell()
            self._file.seek(0)
            _write_npy_header(self._file, (num_bytes - NPY_HEADER_BYTES) // 4)
            _sync_file(self._file)
            self._file.close()
            files: dict[str, dict[str, Any]] = {EDGES: {"bytes": num_bytes}}
            starts, edges = np.asarray(layered.layer_starts), np.asarray(layered.layer_edges)
            release = getattr(layered.labeling.names, "release", None)
            names = name_columns(layered.labeling.names)
            tables = {
                VERTICES: list_table(
                    {"order": layered.order, "out_weights": layered.out_weights, **names}
                ),
                LAYERS: _integer_table(
                    ("first_vertex", "forward_edges", "backward_edges"), (starts[:-1], *edges)
                ),
                PARTITIONS: _integer_table(
                    TABLE, list(np.array(self.table).reshape(-1, len(TABLE)).T)
                ),
            }
            for name, table in tables.items():
                files[name] = self._write(name, table, release)
            weight_dtype = layered.weight_dtype
            manifest = {
                "format": STORE_FORMAT,
                "version": VERSION,
                "edges": layered.num_edges,
                "partitions": len(self.table),
                "root": layered.labeling.name_of(layered.root_id),
                "root_id": layered.root_id,
                "depth": starts.size - 2,
                "reached": starts[-1],
                "directed": layered.directed,
                "weighted": layered.weighted,
                "weight_dtype": None if weight_dtype is None else np.dtype(weight_dtype).name,
                "minimum_edges": layered.minimum_edges,
                "is_merged": layered.is_merged,
                **name_metadata(layered.labeling.names, layered.labeling.is_endpoint_specific),
                "source_columns": list(layered.labeling.source_columns),
                "origin": layered.origin,
                "files": files,
                "checksum": "0" * 8,
            }
            text = json.dumps(manifest, indent=1, default=lambda number: number.item()) + "\n"
            self._write_manifest(text.encode())
        self.is_finished = True

    def _write_manifest(self, data: bytes) -> None:
        match = MANIFEST_CHECKSUM.search(data)
        assert match is not None
        start, stop = match.span(1)
        with open(self.temporary / MANIFEST, "xb") as file:
            file.write(data[:start] + b"%08x" % zlib.crc32(data) + data[stop:])
            _sync_file(file)

    def _write(
        self, name: str, table: pyarrow.Table, release: Callable[[], object] | None
    ) -> dict[str, Any]:
        """Write an Arrow file; `release` repeatedly drops the pages of memory-mapped columns."""
        import pyarrow

        table = table.replace_schema_metadata({"format": STORE_FORMAT})
        with open(self.temporary / name, "xb") as file:
            output = Crc32Writer(file, release and (lambda _: release()))
            with pyarrow.ipc.new_file(output, table.schema) as writer:
                writer.write_table(table)
            _sync_file(file)
            return {"bytes": file.tell(), "checksum": f"{output.checksum:08x}"}

    def _write_errors(self) -> contextlib.AbstractContextManager[None]:
        return write_errors(self.folder, self.needed, self.temporary)

    def close(self) -> None:
        """Close the file of edges of a store that is abandoned."""
        with contextlib.suppress(OSError):  # a full disk
            self._file.close()


def _write_npy_header(file: IO[bytes], num_words: int) -> None:
    header = {"descr": "<u4", "fortran_order": False, "shape": (num_words,)}
    np.lib.format.write_array_header_1_0(file, header)
    if file.tell() != NPY_HEADER_BYTES:
        raise RuntimeError(f"NumPy {np.__version__} writes a header of {file.tell()} bytes")


def _integer_table(names: Sequence[str], columns: Sequence[np.ndarray]) -> pyarrow.Table:
    import pyarrow

    arrays = [np.ascontiguousarray(column, np.int64) for column in columns]
    return pyarrow.table(dict(zip(names, arrays, strict=True)))


def _sync_file(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def save_store(
    layered: Any, folder: str | Path, report: Callable[[int, str], object] | None = None
) -> None:
    """Write a `LayeredStorage` into a folder; report the number of partitions written."""
    with create_store(folder, lambda: layered.nbytes) as writer:
        for partition, row in enumerate(layered.table):
            words = layered.partition_words(partition)
            layered.verify_partition(partition, words)
            writer.add(words, row)
            if report:
                report(partition + 1, f"{len(layered.table)} partitions")
        writer.finish(layered)
