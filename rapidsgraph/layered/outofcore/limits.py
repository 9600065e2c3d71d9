"""The limits of memory and disk space that an out-of-core build keeps to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...errors import InsufficientMemoryError
from .edge_reader import Batch, EdgeFile
from .file_array import check_free_disk

VERTEX_BYTES = 48  # in memory, of all arrays by vertex at their peak
OPEN_VERTEX_BYTES = 12  # per vertex of an open store, mapped and copied, without its name
MIN_WORK_BYTES = 2**18  # beyond the arrays by vertex
OVERHEAD_BYTES = 45_000_000  # of a limit, for decoders and memory that allocators retain; measured
MIN_NAMING_BYTES = 2**22  # naming takes this even under a lower limit, to compute a sufficient one
CODE_BYTES = 16  # on disk, per row and name column that is dictionary-encoded
MIN_BATCH_ROWS, MAX_BATCH_ROWS = 1024, 2**20


class Limits:
    """The limits of one build, and what its phases may take of them.

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
            self._raise(error.what, error.needed + vertex_bytes + MIN_WORK_BYTES, error)
