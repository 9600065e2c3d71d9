"""Storage of a layered edge list: vertices in layer order, edges in packed partitions.

The partitions are in host memory, in GPU memory or in a memory-mapped file. Each array of a store
on disk is read and validated on first use, and a partition is verified when a kernel first uses it.

A vertex has an id, its place in the order of the names, and a position, its place in layer order.
"""

from __future__ import annotations

import contextlib
import mmap
import weakref
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import device
from ..algorithms.traversal import initial_delta as estimate_delta
from ..device import Array, ArrayModule, Device, import_cupy
from ..errors import GraphError
from ..graph.local_graph import Storage
from ..graph.vertex_names import Labeling, VertexNames
from ..summary import format_html
from .packing import COLUMN, checksum, describe_invalid, section_layouts, verify_partitions
from .store import Store, open_store
from .store_writer import EDGES

CUDA_HOST_REGISTER_READ_ONLY = 8
MAX_SAMPLED_WEIGHTS, MAX_SAMPLED_PARTITIONS = 2**16, 4  # weights are of one partition


class StreamStats(NamedTuple):
    """Amount of data that the last call on a layered edge list processed.

    Attributes
    ----------
    passes : int
        Passes over the partitions; each may skip partitions without active sources.
    partitions : int
        Partitions processed in all passes.
    nbytes : int
        Bytes of these partitions, whether they were copied or used in place.
    """

    passes: int
    partitions: int
    nbytes: int

    def _repr_html_(self) -> str:
        return format_html("StreamStats", self._asdict())


class LayeredStorage(Storage):
    """The state of a `LayeredEdgeList` on one CPU or GPU.

    Attributes
    ----------
    labeling : Labeling
        Vertex names, and the frame library of results.
    is_merged : bool
        Whether it is known that there are no parallel edges.
    order : int32 array, shape (num_vertices,)
        Vertex id at each position.
    out_weights : float64 array, shape (num_vertices,)
        Out-degree, or sum of the weights of the out-edges, at each position.
    layer_starts : int64 array on the host, shape (depth + 2,)
        First position of each layer, and of the vertices that the root does not reach.
    layer_edges : int64 array on the host, shape (2, depth + 1)
        Number of forward and of backward edges of each layer.
    table : int64 array on the host, shape (partitions, len(TABLE))
        Layout of each partition; see `packing.TABLE`.
    words : uint32 array
        All packed partitions.
    checksums : uint64 array on the host, shape (2 * partitions,)
        Computed checksum of each section, 0 until it is known.
    is_verified : bool array on the host, shape (partitions, 2)
        Whether the section was verified.
    """

    engine = "layered"
    is_mapped = False  # whether `words` is a memory-mapped file
    is_cache = False  # whether the store is rebuilt by the next call once it was discarded
    first_partition = 0  # number of the first partition, which is not 0 for a slice
    location = "the layered edge list"  # for messages
    origin: dict[str, Any] | None = None
    last_run: StreamStats | None = None
    _store: Store | None = None
    _device_arrays: tuple[np.ndarray, Array, Array] | None = None
    _pinned_address: int | None = None
    _was_streamed = False
    _slice: tuple[tuple[int, int], LayeredStorage] | None = None

    def __init__(
        self,
        labeling: Labeling,
        *,
        directed: bool,
        weighted: bool,
        num_edges: int,
        weight_dtype: type | None,
        root_id: int,
        minimum_edges: int | None,
        is_merged: bool,
    ) -> None:
        self.labeling = labeling
        self.directed, self.weighted = directed, weighted
        self.num_edges, self.weight_dtype = num_edges, weight_dtype
        self.root_id, self.minimum_edges, self.is_merged = root_id, minimum_edges, is_merged

    @classmethod
    def from_store(cls, store: Store, device_name: Device) -> LayeredStorage:
        """Return the storage of an opened store, of which nothing else is read yet."""
        on_cpu, manifest = device.choose(device_name) == "cpu", store.manifest
        xp = np if on_cpu else import_cupy()
        labeling = Labeling(
            store.vertex_names(xp), xp, "pandas" if on_cpu else "cudf", manifest["own"],
            manifest["source_columns"],
        )  # fmt: skip
        return cls._from_labeling(labeling, store)

    @classmethod
    def _from_labeling(cls, labeling: Labeling, store: Store) -> LayeredStorage:
        manifest = store.manifest
        storage = cls(
            labeling,
            directed=manifest["directed"],
            weighted=manifest["weighted"],
            num_edges=manifest["edges"],
            weight_dtype=store.weight_dtype,
            root_id=manifest["root_id"],
            minimum_edges=manifest["minimum_edges"],
            is_merged=manifest.get("is_merged", False),  # not known of stores without the field
        )
        storage._store, storage.is_mapped = store, True
        storage.location = str(store.folder / EDGES)
        return storage

    @property
    def names(self) -> VertexNames:
        return self.labeling.names

    @property
    def xp(self) -> ArrayModule:
        return self.labeling.xp

    @property
    def num_vertices(self) -> int:
        return self.labeling.num_vertices

    @property
    def device(self) -> str:
        return self.labeling.device

    # The arrays of a store are read on first use; `build_storage` sets all of them.

    @cached_property
    def order(self) -> Array:
        return self.xp.asarray(self.store.order)

    @cached_property
    def out_weights(self) -> Array:
        return self.xp.asarray(self.store.out_weights)

    @cached_property
    def layer_starts(self) -> np.ndarray:
        return self.store.layer_starts

    @cached_property
    def device_layer_starts(self) -> Array:
        """`layer_starts` in the memory where kernels run."""
        return self.xp.asarray(self.layer_starts)

    @cached_property
    def layer_edges(self) -> np.ndarray:
        return self.store.layer_edges

    @cached_property
    def table(self) -> np.ndarray:
        return self.store.table

    @cached_property
    def words(self) -> Array:
        return self.store.words

    @cached_property
    def checksums(self) -> np.ndarray:
        return np.zeros(2 * len(self.table), np.uint64)

    @cached_property
    def is_verified(self) -> np.ndarray:
        return np.zeros((len(self.table), 2), bool)

    @property
    def store(self) -> Store:
        """The opened store that the storage reads from."""
        if self._store is None:
            raise AttributeError("a layered edge list built in memory has no store")
        return self._store

    @property
    def path(self) -> Path | None:
        """Folder of the store, or None for a list that was built in memory."""
        return None if self._store is None else self._store.folder

    @property
    def mapped(self) -> mmap.mmap:
        """The memory-mapped file of edges."""
        return self.store.mapped

    @property
    def manifest_checksum(self) -> str:
        """Checksum of the manifest, which identifies the store."""
        return self.store.manifest["checksum"]

    @property
    def num_arcs(self) -> int:
        return self.num_edges

    @property
    def depth(self) -> int:
        return self.layer_starts.size - 2

    @property
    def root(self) -> Any:
        return self.labeling.name_of(self.root_id)

    @property
    def nbytes(self) -> int:
        return int(self.table[:, COLUMN["words"]].sum()) * 4

    @property
    def largest_partition(self) -> int:
        """Size of the largest partition, in bytes."""
        return int(self.table[:, COLUMN["words"]].max(initial=0)) * 4

    @property
    def max_partition_edges(self) -> int:
        """Number of edges of the partition that has most of them."""
        columns = COLUMN["forward_edges"], COLUMN["backward_edges"]
        return int(self.table[:, columns].sum(axis=1).max(initial=0))

    def verification_arrays(self) -> tuple[Array, Array, np.ndarray]:
        """Return the table and checksums where kernels run, and a copy of `is_verified`.

        A run adds checksums to its own copy until all partitions are verified; from then on the
        device arrays are shared by all runs.
        """
        is_verified = self.is_verified.copy()  # before the checksums: other threads add to both
        is_complete, table, shared = bool(is_verified.all()), self.table, self._device_arrays
        if self.xp is np:
            return table, self.checksums if is_complete else self.checksums.copy(), is_verified
        if is_complete and shared is not None and shared[0] is table:
            return shared[1], shared[2], is_verified
        arrays = self.xp.asarray(table), self.xp.asarray(self.checksums)
        if is_complete:
            self._device_arrays = table, *arrays
        return *arrays, is_verified

    def verify_partition(self, partition: int, words: Array) -> None:
        """Verify the checksums of a partition and the values inside it.

        Raises
        ------
        GraphError
            The partition is damaged, or a value is out of bounds.
        """
        xp, row = device.array_module(words), self.table[partition : partition + 1]
        checksums = xp.zeros(2, np.uint64)
        verify_partitions(
            0, 1, int(row[0, COLUMN["position"]]), 2, self.num_vertices, xp.asarray(row), words,
            self.weight_dtype, checksums, words.size,
        )  # fmt: skip
        self.record_checksums(partition, checksums.tolist())

    def record_checksums(self, partition: int, checksums: list[int]) -> None:
        """Record computed checksums of the first sections of a partition.

        Raises
        ------
        GraphError
            A checksum differs from the one in the table.
        """
        first = COLUMN["forward_checksum"]
        for section, value in enumerate(checksums):
            if int(value) % 2**64 != int(self.table[partition, first + section]) % 2**64:
                raise self._invalid_partition(partition)
            self.checksums[2 * partition + section] = int(value) % 2**64
            self.is_verified[partition, section] = True

    def partition_words(self, partition: int) -> Array:
        """Return the packed words of a partition."""
        start = int(self.table[partition, COLUMN["position"]])
        return self.words[start : start + int(self.table[partition, COLUMN["words"]])]

    def _invalid_partition(self, partition: int) -> GraphError:
        """Return the error for a partition that `verify_partitions` rejected."""
        row, words = self.table[partition], device.to_host(self.partition_words(partition))
        middle, first = int(row[COLUMN["forward_words"]]), COLUMN["forward_checksum"]
        arrays = words[:middle], words[middle:]
        checksums = [checksum(section) if section.size else 0 for section in arrays]
        reason = None
        if checksums == row[first : first + 2].tolist():
            reason = describe_invalid(words, row, self.num_vertices, self.weight_dtype)
        hint = "build the layered edge list again"
        if self.is_cache and self.store.discard():
            hint = "the store was discarded; run the call again to rebuild it"
        return GraphError(
            f"{self.location}: partition {self.first_partition + partition} of its edges is "
            f"{'damaged' if reason is None else f'invalid: {reason}'}; {hint}",
            path=None if self._store is None else self.location,
            row=self.first_partition + partition,
            hint=hint,
        )

    @cached_property
    def initial_delta(self) -> float:
        """Distance range that SSSP relaxes in its first round, from a sample of the weights."""
        item_bytes, samples = np.dtype(self.weight_dtype).itemsize, [np.empty(0)]
        has_forward = self.table[:, COLUMN["forward_words"]] > 0
        for row in self.table[has_forward][:MAX_SAMPLED_PARTITIONS]:
            layout = section_layouts(row, item_bytes)[0]
            start = int(row[COLUMN["position"]]) + layout.weights
            count = min(layout.edges, MAX_SAMPLED_WEIGHTS)
            words = self.words[start : start + count * item_bytes // 4]
            words = device.to_host(words)
            samples.append(words.view(np.dtype(self.weight_dtype)))
        sample = np.concatenate(samples)
        num_sources = device.count_nonzero(self.out_weights > 0)
        mean_degree = self.num_edges / max(num_sources, 1)
        return estimate_delta(sample[sample < np.inf], mean_degree, self.xp)

    def slice_partitions(self, start: int, stop: int) -> LayeredStorage:
        """Return a storage of the store's partitions from `start` to `stop` and of all vertices.

        The last slice is cached, because its partitions may be page-locked or on the GPU.
        """
        cached = self._slice
        if cached is None or cached[0] != (start, stop):
            self._slice = cached = None  # releases the memory of the last slice
            sliced = self._from_labeling(self.labeling, self.store)
            sliced.order, sliced.out_weights = self.order, self.out_weights
            sliced.table, sliced.first_partition = self.table[start:stop], start
            sliced.checksums = self.checksums[2 * start : 2 * stop]
            sliced.is_verified = self.is_verified[start:stop]
            cached = self._slice = (start, stop), sliced
        return cached[1]

    def partitions_before(self, position: int, forward_only: bool = False) -> np.ndarray:
        """Return the numbers of the non-empty partitions with sources before a position."""
        is_used = self.table[:, COLUMN["forward_words" if forward_only else "words"]] > 0
        return np.flatnonzero(is_used & (self.table[:, COLUMN["first"]] < position))

    def count_edges(self, start: int, stop: int) -> int:
        """Return the number of edges of a range of partitions."""
        rows = self.table[start:stop]
        return int((rows[:, COLUMN["forward_edges"]] + rows[:, COLUMN["backward_edges"]]).sum())

    def pin(self, is_repeated: bool) -> bool:
        """Page-lock all partitions in host memory if that pays; return whether they are locked.

        Page-locking takes longer than one copy through pinned buffers, so it is for partitions
        that are copied more than once: by this run (`is_repeated`), or by an earlier run.
        """
        start, stop = self._page_extent()
        address, nbytes = self.words.ctypes.data + 4 * start, 4 * (stop - start)
        if self._pinned_address == address:
            return True
        if nbytes and (is_repeated or self._was_streamed):
            runtime = import_cupy().cuda.runtime
            flags = CUDA_HOST_REGISTER_READ_ONLY if self.is_mapped else 0
            # Some systems refuse to lock files; copies then go through pinned buffers.
            with contextlib.suppress(runtime.CUDARuntimeError):
                if 2 * nbytes < device.free_memory(np):
                    runtime.hostRegister(address, nbytes, flags)
                    weakref.finalize(self, _unpin, address, self.words)
                    self._pinned_address = address
        self._was_streamed = True
        return self._pinned_address == address

    def _page_extent(self) -> tuple[int, int]:
        """Return the range of words of all partitions, from the start of a page."""
        if not len(self.table):
            return 0, 0
        position, size = (self.table[:, COLUMN[name]] for name in ("position", "words"))
        start = int(position[0])
        return start - start % (mmap.PAGESIZE // 4), int((position + size).max())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_device_arrays": None, "_pinned_address": None}

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Return the path of an opened store, or else the arrays."""
        if self._store is None:
            return super().__reduce_ex__(protocol)
        return _open_storage, (str(self._store.absolute_folder), self.device)

    def summarize(self) -> dict[str, Any]:
        """Return the properties that a notebook shows."""
        path = None if self.path is None else str(self.path)
        return {
            "vertices": self.num_vertices, "edges": self.num_edges, "directed": self.directed,
            "weighted": self.weighted, "root": self.root, "depth": self.depth,
            "device": self.device, "partitions": len(self.table), "path": path or "in memory",
            "nbytes": self.nbytes,
        }  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<LayeredEdgeList: {self.num_vertices:,} vertices, {self.num_edges:,} edges, depth "
            f"{self.depth} from {self.root!r}, partitions: {len(self.table)}, {self.device}>"
        )


def _open_storage(folder: str, device_name: Device) -> LayeredStorage:
    return LayeredStorage.from_store(open_store(folder), device_name)


def _unpin(address: int, _words: np.ndarray) -> None:
    """Unlock pages; the argument `_words` keeps their memory alive until then."""
    runtime = import_cupy().cuda.runtime
    with contextlib.suppress(runtime.CUDARuntimeError):  # at the exit of a process
        runtime.hostUnregister(address)
