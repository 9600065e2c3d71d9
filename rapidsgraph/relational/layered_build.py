"""Build the store of a layered edge list from a Dask frame; the workers write it in parallel.

`layering` numbers the vertices and sorts the edges by joins, so that no process has an
array of all vertices or of all edges. Consecutive rows of the list become a task, which packs their
edges into partitions of the store. Once the sizes of all partitions are known, each task writes its
own at their positions. Names, vertex order and out-weights are written to temporary files, from
which this process copies them into the store in chunks. The files are those that
`LayeredEdgeList.save` would write.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ..atomic import temporary_folder
from ..device import choose, to_host
from ..device.arrays import Device, free_memory
from ..distributed import monitor
from ..distributed.executor import Executor, get_executor, release_on_error
from ..distributed.graph import DistributedGraph
from ..distributed.layered_storage import DistributedLayeredStorage
from ..errors import GraphError, InsufficientMemoryError
from ..frames import Vertices
from ..graph.vertex_names import Labeling, VertexNames
from ..io.writers import resolve_destination
from ..layered.build import resolve_root
from ..layered.outofcore.dictionaries import FileColumn
from ..layered.outofcore.file_array import FileArray, TempFiles, check_free_disk
from ..layered.outofcore.vertex_names import FileNames
from ..layered.storage import LayeredStorage
from ..layered.store import open_store
from ..layered.store_writer import StoreContents, StoreWriter, create_store, write_errors
from ..progress import Progress, Report, reporter
from ..validation import DEFAULT_WEIGHT, check_choice, check_path, check_vertex_count
from . import layering
from .dask_table import MAX_TASK_SHUFFLE
from .frame_graph import FrameGraph, as_frame_graph
from .layered_tasks import (
    choose_weight_dtype,
    compact_edges,
    describe_column,
    extend_ranges,
    get_table,
    group_ranges,
    pack_partitions,
    resize,
    write_column,
    write_ids,
    write_words,
)
from .table import Table

EDGE_BYTES = 100  # in memory, per edge of a task that sorts and packs them
TASKS_IN_MEMORY = 8  # of a worker, with the inputs and results of others
TASKS_PER_WORKER = 4
STEPS = 3  # of a progress report


@release_on_error
def build_storage(
    graph: Any,
    root: Vertices,
    store: str | Path | None,
    *,
    minimum_edges: int | None,
    partition_bytes: int,
    device: Device,
    progress: Progress,
) -> LayeredStorage | DistributedLayeredStorage:
    """Build the store of a Dask frame or its graph, and open it; see `LayeredEdgeList.build`.

    All workers must see the folder `store` under the same path.
    """
    if store is None:
        raise GraphError(
            "{parameter} is required, the folder for the layered edge list of a Dask frame; all "
            "workers must see it under the same path",
            parameter="store",
            hint="pass store=folder",
        )
    check_choice("device", device, get_args(Device))
    executor, folder = get_executor(), check_path(store)
    if executor.client is None:
        choose(device)
    with (
        reporter(progress, "Layers", STEPS) as report,
        create_store(folder) as writer,
        write_errors(folder, None, writer.temporary),
        temporary_folder(resolve_destination(folder)) as temporary,
        TempFiles(temporary) as files,
    ):
        is_graph = isinstance(graph, DistributedGraph)  # rather than a frame
        directed, is_merged = (graph.directed, graph.is_merged) if is_graph else (True, True)
        builder = _Builder(
            as_frame_graph(graph, DEFAULT_WEIGHT, multi_edges="first"), executor, files, writer
        )
        builder.build(root, directed, is_merged, minimum_edges, partition_bytes, report)
    if executor.client is None:
        return LayeredStorage.from_store(open_store(folder), device)
    return DistributedLayeredStorage(folder, executor.client, device)


class _Builder:
    """The state of `build_storage`."""

    def __init__(
        self, graph: FrameGraph, executor: Executor, files: TempFiles, writer: StoreWriter
    ) -> None:
        self.graph, self.executor, self.files, self.writer = graph, executor, files, writer

    def build(
        self,
        root: Vertices,
        directed: bool,
        is_merged: bool,
        minimum_edges: int | None,
        partition_bytes: int,
        report: Report,
    ) -> None:
        """Run all phases and write the store."""
        graph, schema = self.graph, self.graph.schema
        report(0, "names")
        columns, tuples = layering.number_names(graph)
        ids, num_vertices = tuples[-1], check_vertex_count(tuples[-1].count())
        labeling = Labeling(
            self._write_names(columns, tuples), np, "pandas", schema.is_endpoint_specific,
            schema.source_columns,
        )  # fmt: skip
        root_id = resolve_root(labeling, root)
        report(1, f"{num_vertices:,} vertices")
        root_row = ids.filter(lambda rows: rows["id"] == root_id)
        vertices = layering.order_vertices(graph, ids, root_row)
        del columns, tuples, ids, root_row
        report(2, "layers")
        edges = layering.split_edges(graph, vertices).persist()
        layers = layering.summarize_layers(vertices, edges)
        layers = {name: to_host(layers[name].values) for name in layers}
        weight_dtype = self._choose_weight_dtype(edges)
        weight_bytes = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
        ranges = self._split_rows(vertices, 4 + weight_bytes, partition_bytes)
        num_edges = sum(edges for _, _, edges in ranges)
        check_free_disk(self.writer.temporary, num_edges * (4 + weight_bytes) + num_vertices * 24)
        order = self._write_order(vertices, num_vertices)
        del vertices
        report(3, f"{num_edges:,} edges")
        out_weights = self._create_array(np.float64, num_vertices)
        self._write_partitions(edges, ranges, out_weights, weight_dtype, partition_bytes)
        del edges
        self.writer.finish(
            StoreContents(
                labeling=labeling,
                root_id=root_id,
                directed=directed,
                weighted=graph.weighted,
                weight_dtype=weight_dtype,
                num_edges=num_edges,
                minimum_edges=minimum_edges,
                is_merged=is_merged,
                layer_starts=np.cumsum([0, *layers["vertices"]]),
                layer_edges=np.array([layers["forward_edges"], layers["backward_edges"]]),
                order=order.mapped(),
                out_weights=out_weights.mapped(),
            )
        )

    def _map(self, function: Any, *arguments: Iterable[Any]) -> list[Any]:
        """Return the results of a task for each tuple of arguments."""
        name = function.__name__.strip("_")
        return self.executor.gather(
            [self.executor.submit(function, *values, name=name) for values in zip(*arguments)]
        )

    def _tasks(self, table: Table, columns: Sequence[str]) -> list[Any]:
        """Return a task for the columns of each partition that has rows."""
        return self.executor.compute_partitions(table.select(columns).to_frame())

    def _create_array(self, dtype: Any, size: int) -> FileArray:
        """Return an array in a file for tasks to write."""
        array = self.files.create(dtype)
        resize(array, size)
        return array

    # Vertices

    def _write_names(self, columns: list[Table], tuples: list[Table]) -> VertexNames:
        """Write the distinct names of all columns, and the pairs of several."""
        labels = self.graph.schema.labels
        vertex = self.graph.name_columns("vertex")
        distinct = [
            self._write_column(table, name) for table, name in zip(columns, vertex, strict=True)
        ]
        if len(labels) > 1:
            pairs = [self._write_column(table, "pair") for table in tuples[1:]]
            return FileNames(labels, distinct, pairs, [column.dtype for column in distinct])
        [names], count = distinct, len(distinct[0])
        ends = [names.item(row) for row in (0, count - 1)] if count else [0, -1]
        if names.offsets is None and ends == [0, count - 1]:
            return VertexNames(labels, [None], count, dtype=names.dtype)
        file_names = FileNames(labels, [names], [], [names.dtype])
        file_names.dtype = names.dtype
        return file_names

    def _write_column(self, table: Table, name: str) -> FileColumn:
        """Write a column of a sorted table to files."""
        import pyarrow

        tasks = self._tasks(table, [name])
        infos = self._map(describe_column, tasks, itertools.repeat(name))
        dtype, rows, text_bytes = infos[0][0], *zip(*(info[1:] for info in infos), strict=True)
        row_starts, byte_starts = (
            [0, *itertools.accumulate(sizes)] for sizes in (rows, text_bytes)
        )
        arrow_type = pyarrow.large_binary() if dtype is None else pyarrow.from_numpy_dtype(dtype)
        column = FileColumn(self.files, arrow_type)
        column.dtype = dtype
        arrays = [column.values]
        if column.offsets is None:
            resize(column.values, row_starts[-1])
        else:
            arrays.append(column.offsets)
            resize(column.values, byte_starts[-1])
            resize(column.offsets, row_starts[-1] + 1)
        paths = [str(array.path) for array in arrays]
        self._map(
            write_column, tasks, itertools.repeat(name), itertools.repeat(paths), row_starts,
            byte_starts,
        )  # fmt: skip
        return column

    def _write_order(self, vertices: Table, num_vertices: int) -> FileArray:
        """Write the ids of the vertices in layer order."""
        order = self._create_array(np.int32, num_vertices)
        tasks = self._tasks(vertices, ["position", "id"])
        self._map(write_ids, tasks, itertools.repeat(str(order.path)))
        return order

    def _split_rows(
        self, vertices: Table, edge_bytes: int, partition_bytes: int
    ) -> list[tuple[int, int, int]]:
        """Return (start, stop, edges) of the partitions, as from `packing.split_rows`."""
        ranges: Any = [(0, 0, 0)]
        for task in self._tasks(vertices, ["degree"]):
            ranges = self.executor.submit(
                extend_ranges,
                ranges,
                task,
                edge_bytes,
                partition_bytes,
                name="split_rows",
            )
        return self.executor.gather([ranges])[0]

    # Edges

    def _choose_weight_dtype(self, edges: Table) -> type | None:
        """Return the type of the stored weights; None without weights."""
        if not self.graph.weighted:
            return None
        tasks = self._tasks(edges, ["weight"])
        is_double = np.float64 in self._map(choose_weight_dtype, tasks)
        return np.float64 if is_double else np.float32

    def _write_partitions(
        self,
        edges: Table,
        ranges: list[tuple[int, int, int]],
        out_weights: FileArray,
        weight_dtype: type | None,
        partition_bytes: int,
    ) -> None:
        """Pack the partitions of the store, and write them and the out-weights."""
        groups = group_ranges(ranges, self._max_task_edges(ranges))
        bounds = [groups[0][0][0], *(group[-1][1] for group in groups)]
        is_small = max(len(groups), edges.num_partitions) <= MAX_TASK_SHUFFLE
        by_position = (
            edges.map(compact_edges)
            .to_frame()
            .set_index("position", divisions=bounds, shuffle_method="tasks" if is_small else None)
        )
        tasks = self.executor.compute_partitions(by_position)
        partitions = [
            self.executor.submit(
                pack_partitions, task, group, weight_dtype, partition_bytes, str(out_weights.path),
                name="pack",
            )
            for task, group in zip(tasks, groups, strict=True)
        ]  # fmt: skip
        del tasks
        tables = self._map(get_table, partitions)
        path, positions = self.writer.allocate(np.concatenate(tables))
        starts = itertools.accumulate(map(len, tables), initial=0)
        by_partition = [positions[start : start + len(rows)] for start, rows in zip(starts, tables)]
        self._map(write_words, partitions, itertools.repeat(str(path)), by_partition)

    def _max_task_edges(self, ranges: list[tuple[int, int, int]]) -> int:
        """Return how many edges a task may pack in the memory of a worker."""
        free = _get_worker_memory(self.executor.client)
        num_edges = [edges for _, _, edges in ranges]
        edges_per_task = -(-sum(num_edges) // (TASKS_PER_WORKER * len(self.executor.workers)))
        largest = max(num_edges)
        if largest * EDGE_BYTES > free:
            raise InsufficientMemoryError(
                f"a partition of {largest:,} edges", largest * EDGE_BYTES, free, "on a worker"
            )
        return min(free // TASKS_IN_MEMORY // EDGE_BYTES, edges_per_task)


def _get_worker_memory(client: Any) -> int:
    """Return the bytes that a task may take: the memory limit of a worker by its threads."""
    if client is None:
        return free_memory(np)
    workers = monitor.ask_scheduler(client, "identity")["workers"].values()
    limits = [
        worker["memory_limit"] // worker["nthreads"] for worker in workers if worker["memory_limit"]
    ]
    return min(limits, default=free_memory(np))
