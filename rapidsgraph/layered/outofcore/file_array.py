"""Arrays in temporary files, and the limits of memory and disk space, of an out-of-core build."""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...errors import GraphError, InsufficientMemoryError, format_bytes

if TYPE_CHECKING:
    from .edge_reader import Batch, EdgeFile

VERTEX_BYTES = 48  # in memory, of all arrays by vertex at their peak
OPEN_VERTEX_BYTES = 12  # per vertex of an open store, mapped and copied, without its name
MIN_WORK_BYTES = 2**18  # beyond the arrays by vertex
OVERHEAD_BYTES = 45_000_000  # of a limit, for decoders and memory that allocators retain; measured
MIN_NAMING_BYTES = 2**22  # naming takes this even under a lower limit, to compute a sufficient one
CODE_BYTES = 16  # on disk, per row and name column that is dictionary-encoded
MIN_BATCH_ROWS, MAX_BATCH_ROWS = 1024, 2**20
# Under a memory limit from this size on, the memory that Arrow's allocators retain is negligible.
MIN_POOL_LIMIT = 10**9


@contextlib.contextmanager
def system_allocator(memory_limit: int) -> Iterator[None]:
    """Make Arrow allocate by malloc under a low limit, so that freed memory leaves the process.

    Arrow's own allocators are faster, but retain tens of megabytes for its threads.
    """
    import pyarrow

    if memory_limit >= MIN_POOL_LIMIT:
        yield
        return
    default_pool = pyarrow.default_memory_pool()
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    try:
        yield
    finally:
        release_free_memory()
        pyarrow.set_memory_pool(default_pool)


def release_free_memory() -> None:
    """Return the memory that malloc retains to the system, inside `system_allocator`."""
    import pyarrow

    if pyarrow.default_memory_pool().backend_name != "system":
        return
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:  # glibc
        malloc_trim(0)


def check_free_disk(folder: Path, num_bytes: int) -> None:
    """Raise GraphError unless `num_bytes` are free on the disk of `folder`."""
    free = shutil.disk_usage(folder).free
    if num_bytes > free:
        hint = "free some, or write to another disk"
        raise GraphError(
            f"{folder}: building the layers needs about {format_bytes(num_bytes, math.ceil)} of "
            f"disk space there, and {format_bytes(free)} are free; {hint}",
            path=folder,
            value=free,
            hint=hint,
        )


class Limits:
    """The limits of one build, and the memory and disk space of its phases.

    Parameters
    ----------
    file : EdgeFile
    directed : bool
    weighted : bool
        Whether the edges of the store have weights.
    memory_limit : int
        Bytes, including `OVERHEAD_BYTES`.

    Attributes
    ----------
    memory_limit : int
    usable_bytes : int
        Bytes of the limit without the overhead.
    work_bytes : int
        Bytes of the limit without the overhead and the arrays by vertex, after `reserve`.
    """

    def __init__(self, file: EdgeFile, directed: bool, weighted: bool, memory_limit: int) -> None:
        self._file, self._directed, self._weighted = file, directed, weighted
        self.memory_limit = memory_limit
        self.usable_bytes = max(memory_limit - OVERHEAD_BYTES, 0)
        self.work_bytes = 0

    def disk_bytes(self, encodes_names: bool = False) -> int:
        """Return approximately how many bytes of disk space the build takes at its peak."""
        rows = self._file.count_rows()
        weight_bytes = 8 if self._weighted else 0
        code_bytes = encodes_names * (CODE_BYTES * len(self._file.groups) + weight_bytes)
        arcs = rows * (1 if self._directed else 2)
        return arcs * (12 + 2 * weight_bytes) + rows * code_bytes

    def check_disk(self, temporary: Path, encodes_names: bool = False) -> None:
        """Raise GraphError if the disk is too small for the edges and the codes of names."""
        if self._file.rows is not None:
            check_free_disk(temporary.parent, self.disk_bytes(encodes_names))

    def check_vertex_ranges(self) -> None:
        """Raise InsufficientMemoryError if a range of vertices alone exceeds the limit."""
        for vertices in self._file.vertex_ranges:
            num_vertices = max_vertices = len(vertices)
            if num_vertices * VERTEX_BYTES <= self.usable_bytes:
                continue
            if vertices.start:  # edges may have other names
                max_vertices += 2 * self._file.count_rows()
            self._check(num_vertices, max_vertices * VERTEX_BYTES + self._min_work_bytes())

    def reserve(self, num_vertices: int, name_bytes: int) -> None:
        """Reserve memory for arrays by vertex and, at the end, for the open store.

        Raises
        ------
        InsufficientMemoryError
            If the limit is too low; names a sufficient one.
        """
        arrays = num_vertices * VERTEX_BYTES
        reserved = max(arrays, num_vertices * OPEN_VERTEX_BYTES + 2 * name_bytes)
        self._check(num_vertices, reserved + self._min_work_bytes())
        self.work_bytes = self.usable_bytes - reserved

    def _min_work_bytes(self) -> int:
        return max(MIN_WORK_BYTES, 2 * self._file.largest_batch + 2)

    def _check(self, num_vertices: int, needed: int) -> None:
        if needed > self.usable_bytes:
            self._raise(f"building layers of {num_vertices:,} vertices", needed)

    def _raise(self, what: str, needed: int, cause: Exception | None = None) -> None:
        total = needed + OVERHEAD_BYTES
        raise InsufficientMemoryError(what, total, self.memory_limit, "memory_limit") from cause

    def batch_rows(self, memory: int) -> int:
        """Return how many rows of the file may be read at once into `memory` bytes."""
        row_bytes = 64 * (len(self._file.ids) + self._file.weighted)
        return int(np.clip(memory // row_bytes // 2, MIN_BATCH_ROWS, MAX_BATCH_ROWS))

    def batches(self, memory: int) -> Iterator[Batch]:
        """Yield the batches of the file, of which each takes less than half of `memory`."""
        try:
            yield from self._file.batches(self.batch_rows(memory), memory)
        except InsufficientMemoryError as error:
            # A compressed batch is too large. The number of vertices is not known, that of rows is.
            vertex_bytes = 2 * VERTEX_BYTES * self._file.count_rows()
            self._raise(error.operation, error.needed + vertex_bytes + MIN_WORK_BYTES, error)


class TempFiles:
    """Create `FileArray` objects in a folder and remove their files at the end of the block."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._arrays: list[FileArray] = []

    def create(self, dtype: Any) -> FileArray:
        """Return an empty FileArray."""
        self._arrays.append(FileArray(self.folder / f"{len(self._arrays)}.bin", dtype))
        return self._arrays[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for array in self._arrays:
            array.close()


class FileArray:
    """A one-dimensional array in a file: appended at its end, read at any index.

    Attributes
    ----------
    path : Path
    dtype : numpy.dtype
    size : int
        Number of values that were appended.
    """

    def __init__(self, path: Path, dtype: Any) -> None:
        self.path, self.dtype, self.size = path, np.dtype(dtype), 0
        self._map: mmap.mmap | None = None
        self._file = open(path, "w+b", buffering=0)  # noqa: SIM115 - until `close`

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def append(self, values: np.ndarray) -> None:
        data = np.ascontiguousarray(values, self.dtype).data.cast("B")
        while len(data):
            data = data[self._file.write(data) :]
        self.size += len(values)

    def write(self, start: int, values: np.ndarray) -> None:
        """Write `values` at index `start`, inside or after the values that exist."""
        data = np.ascontiguousarray(values, self.dtype).data.cast("B")
        position = start * self.dtype.itemsize
        while len(data):
            written = os.pwrite(self._file.fileno(), data, position)
            data, position = data[written:], position + written

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return the values in [start, stop)."""
        values = np.empty(stop - start, self.dtype)
        self.read_into(start, [values])
        return values

    def read_into(self, start: int, buffers: Sequence[np.ndarray]) -> None:
        """Fill arrays, one after the other, with the values from index `start`."""
        buffers = [buffer for buffer in buffers if len(buffer)]
        num_bytes = sum(buffer.nbytes for buffer in buffers)
        position, num_read = start * self.dtype.itemsize, 0
        if num_bytes:
            views = [buffer.data.cast("B") for buffer in buffers]
            num_read = os.preadv(self._file.fileno(), views, position)
        if num_read != num_bytes:
            raise OSError(
                f"{self.path}: read {num_read} of {num_bytes} bytes at position {position}"
            )

    def mapped(self) -> np.ndarray:
        """Return a read-only array over the mapped file, valid until `close`."""
        if not self.size:
            return np.empty(0, self.dtype)
        self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(self._map, self.dtype)

    def release(self) -> None:
        """Drop the mapped pages from the memory of this process; reading restores them."""
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)

    def unmap(self) -> None:
        """Unmap the file. An array that still refers to the mapping keeps it alive."""
        if self._map is not None:
            with contextlib.suppress(BufferError):
                self._map.close()
            self._map = None

    def close(self) -> None:
        """Close and remove the file."""
        self._file.close()
        self.path.unlink(missing_ok=True)


class WeightSpool:
    """The weights of all rows in files, one for each run of batches of one dtype."""

    def __init__(self, files: TempFiles) -> None:
        self._files = files
        self._arrays: list[FileArray] = []
        self._stops = [0]

    def append(self, weights: np.ndarray) -> None:
        if not self._arrays or self._arrays[-1].dtype != weights.dtype:
            self._arrays.append(self._files.create(weights.dtype))
            self._stops.append(self._stops[-1])
        self._arrays[-1].append(weights)
        self._stops[-1] += weights.size

    def read(self, start: int, stop: int, dtype: np.dtype) -> np.ndarray:
        """Return the weights of the rows in [start, stop)."""
        weights = np.empty(stop - start, dtype)
        ranges = zip(self._arrays, self._stops[:-1], self._stops[1:], strict=True)
        for array, array_start, array_stop in ranges:
            low, high = max(start, array_start), min(stop, array_stop)
            if low < high:
                values = array.read(low - array_start, high - array_start)
                weights[low - start : high - start] = values
        return weights

    def close(self) -> None:
        for array in self._arrays:
            array.close()
