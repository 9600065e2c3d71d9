"""Arrays and columns in temporary files, and the memory and disk space of an out-of-core build."""

from __future__ import annotations

import bisect
import contextlib
import ctypes
import math
import mmap
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ...errors import GraphError, format_bytes

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


class FileColumn:
    """A column of integers or text in files, read by row range.

    Parameters
    ----------
    files : TempFiles
    type : pyarrow.DataType
        An integer type, or large_binary for UTF-8 text; bytes sort in the order of code points.

    Attributes
    ----------
    values : FileArray
        Integers, or the bytes of all text.
    offsets : FileArray or None
        For text, the offsets of the values; None for integers.
    dtype : numpy.dtype or None
        The dtype of integers in `to_arrow`; None for that of the file.
    """

    def __init__(self, files: TempFiles, type: Any) -> None:
        import pyarrow

        self.type = type
        self.offsets: FileArray | None = None
        self.dtype: np.dtype | None = None
        if pyarrow.types.is_integer(type):
            self.values = files.create(type.to_pandas_dtype())
        else:
            self.values, self.offsets = files.create(np.uint8), files.create(np.int64)
            self.offsets.append(np.zeros(1, np.int64))

    def __len__(self) -> int:
        return self.values.size if self.offsets is None else self.offsets.size - 1

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + (0 if self.offsets is None else self.offsets.nbytes)

    @property
    def text_bytes(self) -> int:
        """Bytes of text without offsets; 0 for integers."""
        return 0 if self.offsets is None else self.values.size

    def append(self, array: Any) -> None:
        """Append an Arrow array of the column's type."""
        if not len(array):
            return
        if self.offsets is None:
            self.values.append(array.to_numpy())
            return
        offsets = np.frombuffer(array.buffers()[1], np.int64)
        offsets = offsets[array.offset : array.offset + len(array) + 1]
        base = self.values.size
        if array.buffers()[2] is not None:
            data = np.frombuffer(array.buffers()[2], np.uint8)
            self.values.append(data[offsets[0] : offsets[-1]])
        self.offsets.append(offsets[1:] - offsets[0] + base)

    def read(self, start: int, stop: int) -> Any:
        """Return the rows in [start, stop) as an Arrow array."""
        import pyarrow

        if self.offsets is None:
            return pyarrow.array(self.values.read(start, stop))
        offsets = self.offsets.read(start, stop + 1)
        data = self.values.read(int(offsets[0]), int(offsets[-1]))
        offsets -= offsets[0]
        buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
        return pyarrow.Array.from_buffers(self.type, offsets.size - 1, buffers)

    def item(self, row: int) -> Any:
        """Return the value of a row: an int, or the bytes of a text."""
        return self.read(row, row + 1)[0].as_py()

    def find(self, value: Any) -> int:
        """Return the row of `value` in a sorted column, or -1."""
        row = bisect.bisect_left(range(len(self)), value, key=self.item)
        return row if row < len(self) and self.item(row) == value else -1

    def take(self, rows: Sequence[int] | np.ndarray) -> np.ndarray | list[str]:
        """Return the values of some rows: an array of integers or a list of str."""
        items = [self.item(int(row)) for row in rows]
        if self.offsets is None:
            return np.array(items, self.values.dtype)
        return [item.decode() for item in items]

    def to_arrow(self) -> Any:
        """Return the whole column as an Arrow array over its mapped files."""
        import pyarrow

        if self.offsets is None:
            values = self.values.mapped()
            return pyarrow.array(values.astype(self.dtype or values.dtype, copy=False))
        arrays = self.offsets.mapped(), self.values.mapped()
        buffers = [None, *map(pyarrow.py_buffer, arrays)]
        return pyarrow.Array.from_buffers(pyarrow.large_string(), len(self), buffers)

    def release(self) -> None:
        """Drop the pages that reading the array of `to_arrow` has loaded."""
        self.values.release()
        if self.offsets is not None:
            self.offsets.release()

    def close(self) -> None:
        """Close and remove the files."""
        self.values.close()
        if self.offsets is not None:
            self.offsets.close()
