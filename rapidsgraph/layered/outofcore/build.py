"""Build a layered edge list from a file of edges that does not fit in memory.

The store is the one that `LayeredEdgeList.build` makes of the `Graph` of the same file, partition
by partition. Arrays by vertex have to fit in memory (`VERTEX_BYTES` each). The disk of the store
needs space for the edges three times, and for names of text or several columns twice.

Names that are integers of one column are read twice: for the distinct names, and for the edges.
Text and names of several columns are read once and dictionary-encoded, with sorted runs on disk.
Edges are sorted by source, through buckets on disk [2]_, into adjacency lists in one file. A
breadth-first search from the root reads each list once. Then the lists are scattered into buckets
by layer, and partitions are packed from these [1]_.

References
----------
.. [1] H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing algorithms
   on GPU", Int. J. Parallel Program. 47, 2019. https://doi.org/10.1007/s10766-017-0533-y
.. [2] D. E. Knuth, "The Art of Computer Programming", volume 3, section 5.4.9.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ... import device
from ...atomic import temporary_folder
from ...errors import GraphError, format_bytes, format_value
from ...graph.build import check_policies
from ...graph.edge_columns import check_name_kinds
from ...graph.local_graph import SelfLoops
from ...graph.multi_edges import MultiEdges
from ...graph.vertex_names import Labeling, VertexNames
from ...graph.vertex_naming import check_ids_in_range
from ...graph.weight_sums import merged_weight_error, sum_type, total_weight
from ...io.inputs import Input, open_input
from ...io.writers import resolve_destination
from ...progress import Report
from ...validation import DEFAULT_WEIGHT, check_path, vertex_labels
from ..build import order_by_layer, resolve_root
from ..packing import PARTITION_BYTES
from ..store_writer import StoreContents, create_store, write_errors
from . import run_kernel
from .csr_file import MAX_BUCKETS, BucketSorter, CsrFile, bfs_distances
from .edge_reader import EdgeFile
from .file_array import (
    MIN_NAMING_BYTES,
    Limits,
    TempFiles,
    WeightSpool,
    release_free_memory,
    system_allocator,
)
from .integer_names import check_unchanged
from .pack import pack_partitions
from .vertex_names import NameCollector, check_no_floats

logger = logging.getLogger(__name__)

MAX_CHUNK_KEYS = 2**27  # keys that are moved at once: 1 GB, which one system call reads
STEPS = 100  # of a progress report

# The steps of each phase, for progress reports.
NAMING, EDGE_KEYS, SORTING, SEARCH, PACKING = (0, 10), (10, 35), (35, 60), (60, 70), (70, 100)


def build_from_file(
    path: Input,
    root: Any,
    folder: str | Path,
    *,
    source: str | list[str] | None = None,
    destination: str | list[str] | None = None,
    weight: str | None = DEFAULT_WEIGHT,
    directed: bool = True,
    multi_edges: MultiEdges = "first",
    self_loops: SelfLoops = "keep",
    minimum_edges: int | None = None,
    memory_limit: int | None = None,
    partition_bytes: int = PARTITION_BYTES,
    report: Report | None = None,
    origin: dict[str, Any] | None = None,
    vertices: Any = None,
) -> None:
    """Build the store of a layered edge list from a file of edges.

    Parameters, results and errors are those of `LayeredEdgeList.build`, except for the following.

    Parameters
    ----------
    folder : str or Path
        Folder of the store. An existing store is replaced when the new one is complete.
    memory_limit : int, optional
        Bytes by which the process may grow; by default half of the free memory. `OVERHEAD_BYTES`
        of them are for libraries. Arrays by vertex take `VERTEX_BYTES` per vertex, or the names in
        the open store twice their size if that is more; everything else goes to disk if it does
        not fit. Imports and the compilation in the first run of a process are not counted.
    report : callable, optional
        Called with the number of completed steps, of `STEPS`, and a text.
    origin : dict, optional
        Description of the input in the manifest of the store.
    """
    check_policies(directed, multi_edges, self_loops)
    if memory_limit is None:
        memory_limit = device.free_memory(np) // 2
    if not isinstance(memory_limit, (int, np.integer)) or memory_limit <= 0:
        raise GraphError(
            f"memory_limit is {format_value(memory_limit)}; it must be a number of bytes above 0",
            parameter="memory_limit",
            value=memory_limit,
        )
    folder = check_path(folder)
    logger.debug(
        "building a layered edge list of %s within %s", path, format_bytes(int(memory_limit))
    )
    with open_input(path) as input_files:
        file = EdgeFile(input_files, source, destination, weight, vertices)
        limits = Limits(file, directed, file.weighted or multi_edges == "sum", int(memory_limit))
        builder = _Builder(
            file, limits, directed=directed, multi_edges=multi_edges,
            drops_loops=self_loops == "drop", report=report,
        )  # fmt: skip
        with (
            system_allocator(limits.memory_limit),
            create_store(folder, limits.disk_bytes) as writer,
            write_errors(folder, limits.disk_bytes, writer.temporary),
        ):
            final = resolve_destination(folder)
            with temporary_folder(final) as temporary, TempFiles(temporary) as files:
                builder.build(
                    files, writer, root, partition_bytes=partition_bytes,
                    minimum_edges=minimum_edges, origin=origin,
                )  # fmt: skip


def _label_vertices(names: VertexNames, ends: list[list[str]]) -> Labeling:
    """Return the labeling of the vertices of a file, as the Graph of a pandas frame has it."""
    text_types = {
        column: None
        for label in names.labels
        for column in (label, "predecessor" + label.removeprefix("vertex"))
    }
    is_endpoint_specific = [a != b for a, b in zip(*ends, strict=True)]
    return Labeling(names, np, "pandas", is_endpoint_specific, ends[0], text_types)


class _Builder:
    """A build in phases, and the state that they pass on."""

    def __init__(
        self,
        file: EdgeFile,
        limits: Limits,
        *,
        directed: bool,
        multi_edges: MultiEdges,
        drops_loops: bool,
        report: Report | None,
    ) -> None:
        self.file, self.limits, self.directed = file, limits, directed
        self.multi_edges, self.drops_loops, self.report = multi_edges, drops_loops, report
        self.num_rows = 0
        self.total_weight: Any = 0
        self.weight_dtype: np.dtype | None = None

    def _progress(self, phase: tuple[int, int], done: int, total: int, text: str) -> None:
        if self.report:
            start, stop = phase
            self.report(start + int((stop - start) * min(done / max(total, 1), 1)), text)

    def build(
        self,
        files: TempFiles,
        writer: Any,
        root: Any,
        *,
        partition_bytes: int,
        minimum_edges: int | None,
        origin: dict[str, Any] | None,
    ) -> None:
        """Run all phases and write the store."""
        file, limits = self.file, self.limits
        limits.check_vertex_ranges()
        limits.check_disk(files.folder)
        file.parse(files.folder, lambda text: self._progress(NAMING, 0, 1, text))
        limits.check_disk(files.folder)
        memory = max(limits.usable_bytes, MIN_NAMING_BYTES) // 3
        collector = NameCollector(vertex_labels(*file.ends), memory, files)
        weights = WeightSpool(files)
        names = self._name_vertices(collector, weights, files)
        if collector.is_encoded:
            file.remove_parsed()
        limits.check_disk(files.folder)
        labeling = _label_vertices(names, file.ends)
        root_id = resolve_root(labeling, root)
        csr = self._build_csr(collector, weights, labeling, files)
        collector.close()
        weights.close()
        file.remove_parsed()
        release_free_memory()
        distances = bfs_distances(
            csr, root_id, limits.work_bytes // 4,
            lambda level, done: self._progress(SEARCH, done, names.count, f"{level:,} levels"),
        )  # fmt: skip
        layers = order_by_layer(distances)
        del distances
        layers.depths = None  # the positions determine the layers from here on
        release_free_memory()
        num_arcs = csr.num_arcs
        layer_edges = pack_partitions(
            csr, layers, writer, files, memory=limits.work_bytes, partition_bytes=partition_bytes,
            report=lambda done, text: self._progress(PACKING, done, 2 * num_arcs, text),
        )  # fmt: skip
        contents = StoreContents(
            labeling=labeling,
            root_id=root_id, directed=self.directed, weighted=csr.weighted,
            weight_dtype=csr.weight_dtype, num_edges=num_arcs, minimum_edges=minimum_edges,
            is_merged=self.multi_edges != "keep",
            layer_starts=layers.starts, layer_edges=layer_edges, order=layers.order,
            out_weights=csr.out_weights()[layers.order], origin=origin,
        )  # fmt: skip
        del csr, layers
        release_free_memory()
        writer.finish(contents)

    def _name_vertices(
        self, collector: NameCollector, weights: WeightSpool, files: TempFiles
    ) -> VertexNames:
        """Read the file for the first time; return the names of the vertices.

        Checks all rows. Weights are stored if the names are encoded, as the file is then not read
        again.
        """
        file, limits, done = self.file, self.limits, 0
        batches = limits.batches(max(limits.usable_bytes, MIN_NAMING_BYTES) // 2)
        for batch in batches:
            if batch.num_rows and not done:
                check_no_floats(file, batch, batches)
            try:
                if batch.num_rows and not done:
                    check_name_kinds(collector.labels, file.ends, batch.sources, batch.destinations)
                collector.add(batch.sources, batch.destinations)
            except GraphError:
                for _ in batches:  # errors of reading the file take precedence
                    pass
                raise
            if batch.weights is not None and (batch.num_rows or self.weight_dtype is None):
                dtypes = [self.weight_dtype] if done and self.weight_dtype is not None else []
                self.weight_dtype = np.result_type(*dtypes, batch.weights.dtype)
                self.total_weight += total_weight(batch.weights)
                if collector.is_encoded:
                    weights.append(batch.weights)
            if not done and collector.is_encoded:
                limits.check_disk(files.folder, encodes_names=True)
            done += batch.num_rows
            self._progress(NAMING, done, file.rows or done, f"{done:,} rows, names")
        dtypes_by_label = zip(collector.labels, collector.dtypes, strict=True)
        text_labels = [label for label, dtype in dtypes_by_label if dtype is None]
        rows = limits.batch_rows(limits.usable_bytes // 2)
        for columns in file.vertex_batches(rows, collector.labels, text_labels):
            collector.add_vertices(columns)
        file.rows = self.num_rows = done
        del batch, batches
        release_free_memory()
        names = collector.finish(limits.reserve)
        for vertices in file.vertex_ranges:
            if not vertices.start and collector.is_integer:
                (distinct,) = names.distinct
                low, high = (0, names.count - 1) if distinct is None else distinct[[0, -1]].tolist()
                check_ids_in_range(low, high, vertices.stop)
        return names

    def _edges(
        self, collector: NameCollector, weights: WeightSpool, names: VertexNames
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Yield the ids of sources and destinations and the weights, in the order of the file.

        Without weights, these are None.
        """
        if collector.is_encoded:
            done = 0
            for sources, destinations in collector.edge_ids():
                batch_weights = None
                if self.weight_dtype is not None:
                    batch_weights = weights.read(done, done + sources.size, self.weight_dtype)
                done += sources.size
                yield sources, destinations, batch_weights
            return
        edge_ids = collector.integer_lookup(names)
        for batch in self.limits.batches(self.limits.work_bytes // 2):
            if batch.num_rows:
                yield *edge_ids(batch.sources, batch.destinations), batch.weights

    def _build_csr(
        self,
        collector: NameCollector,
        weights: WeightSpool,
        labeling: Labeling,
        files: TempFiles,
    ) -> CsrFile:
        """Read the edges, sort them by source and destination, and merge parallel edges."""
        sorter = self._sort_edges(collector, weights, labeling.names, files)
        dtype = self.weight_dtype
        is_integer = dtype is not None and dtype.kind == "i"
        total = self.total_weight if is_integer else math.inf
        csr = CsrFile(files, labeling.names.count, self.multi_edges, dtype, sum_type(total))
        done = 0
        for keys, key_weights in sorter.sorted_batches():
            done += keys.size
            csr.append_sorted(keys, key_weights)
            del keys, key_weights  # before the next batch is allocated
            self._progress(SORTING, done, sorter.size, f"{done:,} edges sorted")
        csr.finish()
        if csr.infinite_edge is not None:
            raise merged_weight_error(labeling, *csr.infinite_edge)
        sorter.close()
        return csr

    def _sort_edges(
        self,
        collector: NameCollector,
        weights: WeightSpool,
        names: VertexNames,
        files: TempFiles,
    ) -> BucketSorter:
        """Read the edges for the second time, into a sorter."""
        arcs_per_edge, weighted = 1 if self.directed else 2, self.weight_dtype is not None
        arcs = self.num_rows * arcs_per_edge
        weight_bytes = self.weight_dtype.itemsize if self.weight_dtype is not None else 0
        max_keys = max(self.limits.work_bytes // (24 + 3 * weight_bytes if weighted else 10), 64)
        num_buckets = 1 if arcs <= max_keys else min(-(-8 * arcs // max_keys), MAX_BUCKETS)
        key_bits = 32 + max(names.count - 1, 1).bit_length()
        sorter = BucketSorter(
            files, min_key=0, num_bits=key_bits, num_buckets=num_buckets,
            weight_dtype=self.weight_dtype, max_keys=max_keys,
        )  # fmt: skip
        capacity = self.limits.work_bytes // 4 // (8 + weight_bytes)
        capacity = min(capacity, MAX_CHUNK_KEYS, max(arcs, arcs_per_edge))
        keys = np.empty(capacity, np.uint64)
        key_weights = np.empty(capacity if weighted else 0, self.weight_dtype)
        no_weights = key_weights[:0].copy()
        size = done = 0
        for sources, destinations, edge_weights in self._edges(collector, weights, names):
            batch_weights = no_weights
            if edge_weights is not None:
                batch_weights = edge_weights.astype(self.weight_dtype, copy=False)
            chunk_rows = capacity // arcs_per_edge
            for start in range(0, sources.size, chunk_rows):
                chunk = slice(start, start + chunk_rows)
                if size + arcs_per_edge * sources[chunk].size > capacity:
                    sorter.add(keys[:size], key_weights[:size])
                    size = 0
                size = run_kernel(
                    "append_edge_keys", sources[chunk], destinations[chunk], batch_weights[chunk],
                    weighted, not self.directed, self.drops_loops, size, keys, key_weights,
                )  # fmt: skip
            done += sources.size
            self._progress(EDGE_KEYS, done, self.num_rows, f"{done:,} rows, by source")
        sorter.add(keys[:size], key_weights[:size])
        del keys, key_weights
        check_unchanged(done == self.num_rows)
        release_free_memory()
        return sorter
