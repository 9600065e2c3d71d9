"""DistributedGraph: a graph built from a Dask frame, with a partition on each worker.

Partitions are built once and stay on their workers; the other layout is built from them on
first use. Only statistics of a few bytes reach the client. Edges need not fit on one worker, but
arrays over all vertices must.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from itertools import count, repeat
from typing import Any

import numpy as np

from ..errors import GraphError
from ..frames import Frame, Vertices, is_dask, library_name
from ..graph import weight_sums
from ..graph.csr import MultiEdges
from ..graph.edge_columns import read_columns
from ..graph.local_graph import BuildReport, LocalGraph, SelfLoops, check_policies
from ..graph.vertex_names import Labeling, check_name_collisions, endpoint_columns
from ..progress import Report
from ..validation import check_vertex_range, check_vertices
from . import partition as partitioning
from . import vertex_names
from .communicator import Communicator
from .executor import DistributedStorage, Executor, get_executor, on_error, release_on_error
from .vertex_names import PartitionStats


class DistributedGraph(DistributedStorage):
    """A graph built from a Dask frame: the storage of `Graph` on a Dask cluster.

    It uses the active Dask client, or this process if there is none. If a worker is lost, others
    build its partition again from the frame.

    Parameters
    ----------
    edges : Dask frame
        Of pandas or cuDF frames, one row per edge.
    source, destination, weight, directed, multi_edges, self_loops, vertices
        As of `Graph`; `vertices` may be a Dask frame, too.
    layout : {"csr", "csc"}
        Adjacency to build first: by source or by destination.

    Attributes
    ----------
    executor : Executor
    labeling : task of Labeling
        The vertex names.
    bounds : list of int
        Partition i has the vertices ``bounds[i]`` to ``bounds[i + 1]``.
    num_vertices, num_edges, num_arcs : int
    directed, weighted : bool

    Raises
    ------
    GraphError
        As `Graph`; names the partition of the frame, and counts rows within it.
    InsufficientMemoryError
        A partition would not fit on its worker; raised before it is built.
    """

    @release_on_error
    def __init__(
        self,
        edges: Frame,
        source: str | list[str] = "source",
        destination: str | list[str] = "destination",
        weight: str | None = None,
        *,
        directed: bool = True,
        multi_edges: MultiEdges = "first",
        self_loops: SelfLoops = "keep",
        vertices: int | Vertices | None = None,
        layout: str = "csr",
    ) -> None:
        check_policies(directed, multi_edges, self_loops)
        options = source, destination, weight, multi_edges
        schema = read_columns(edges._meta, *options)
        self.executor = executor = get_executor()
        self.client = executor.client
        self.directed, self._multi_edges, self._self_loops = directed, multi_edges, self_loops
        self.weighted = weight is not None or multi_edges == "sum"
        self._partitions: dict[str, list] = {}
        self._cache: dict[str, Any] = {}
        vertices = check_vertex_range(vertices, len(schema.labels))
        columns = executor.map(
            vertex_names.read_partition,
            executor.compute_partitions(_select_columns(edges, source, destination, weight)),
            count(),
            *map(repeat, options),
            name="read-edges",
        )
        stats = executor.gather(executor.map(vertex_names.compute_stats, columns, name="stats"))
        extra, extra_stats, vertex_range = [], [], None
        if isinstance(vertices, range) and not vertices.start:
            vertex_range = vertices
        elif vertices is not None:
            extra = self._read_vertices(vertices, stats)
            extra_stats = executor.gather(
                executor.map(vertex_names.compute_stats, extra, name="stats")
            )
        self.labeling, self.num_vertices, endpoints = vertex_names.factorize(
            executor, columns, stats, extra, extra_stats, vertex_range
        )
        self._schema, self._is_on_gpu = stats[0].schema, any(each.is_on_gpu for each in stats)
        self._num_rows = sum(each.num_rows for each in stats)
        self._total_weight = sum(each.total_weight for each in stats)
        edge_lists = executor.map(
            partitioning.select_edges, endpoints, columns, repeat(self_loops), name="rows"
        )
        del columns, extra, endpoints  # workers forget them as soon as the edge lists exist
        self._num_dropped = 0
        if self_loops == "drop":
            counts = executor.map(partitioning.count_edges, edge_lists, name="stats")
            self._num_dropped = self._num_rows - sum(executor.gather(counts))
        self.bounds = self._balance_ranges(edge_lists)
        arc_lists = executor.map(
            partitioning.split_edges, edge_lists, repeat(self.bounds), repeat(layout),
            repeat(directed), name="split",
        )  # fmt: skip
        del edge_lists
        self._partitions[layout] = _build_partitions(
            executor, self.bounds, arc_lists, multi_edges,
            self._sum_type(stats) if multi_edges == "sum" else None,
            self.labeling if weight is not None and multi_edges == "sum" else None,
        )  # fmt: skip
        self.num_arcs, num_loops, _ = self._count_arcs(layout)
        self.num_edges = self.num_arcs if directed else (self.num_arcs + num_loops) // 2

    def _read_vertices(self, vertices: Any, stats: list[PartitionStats]) -> list:
        """Return tasks of EdgeColumns of the names in `vertices`."""
        executor, labels = self.executor, stats[0].schema.labels
        if is_dask(vertices):
            frames = executor.compute_partitions(vertices)
        else:
            check_vertices(vertices, len(labels), labels, np)
            frames = [vertices]
        is_on_gpu = any(each.is_on_gpu for each in stats)
        return [
            executor.submit(
                vertex_names.read_extra_vertices, frame, len(labels), labels, is_on_gpu,
                name="read-vertices",
            )
            for frame in frames
        ]  # fmt: skip

    def _balance_ranges(self, edge_lists: list) -> list[int]:
        """Return the bounds of the partitions' ranges."""
        executor = self.executor
        counts = executor.map(
            partitioning.count_endpoints,
            edge_lists,
            repeat(self.num_vertices),
            name="count-endpoints",
        )
        total = executor.tree_reduce(partitioning.add_arrays, counts, "count-endpoints")
        [counts] = executor.gather([total])
        return partitioning.balance_ranges(counts, len(executor.workers), self.num_vertices)

    def _sum_type(self, stats: list[PartitionStats]) -> type:
        """Return the type of sums of parallel edges' weights; float64 without weights."""
        are_integers = {each.weight_kind for each in stats if each.num_rows} == {"i"}
        return weight_sums.sum_type(self._total_weight) if are_integers else np.float64

    def _count_arcs(self, layout: str) -> list[int]:
        """Return the numbers of arcs, self-loops and bytes of the adjacency of a layout."""
        tasks = self.executor.map(partitioning.count_arcs, self.partitions(layout), name="stats")
        return [sum(each) for each in zip(*self.executor.gather(tasks), strict=True)]

    @property
    def num_partitions(self) -> int:
        """Number of partitions."""
        return len(self.bounds) - 1

    @property
    def starts(self) -> list[int]:
        """First vertex of each partition."""
        return self.bounds[:-1]

    @property
    def stops(self) -> list[int]:
        """Vertex behind the last one of each partition."""
        return self.bounds[1:]

    def partitions(self, layout: str = "csr") -> list:
        """Return a task for each Partition, by source ("csr") or by destination ("csc")."""
        built = next(iter(self._partitions))
        if not self.directed:
            layout = built
        if layout not in self._partitions:
            arc_lists = self.executor.map(
                partitioning.split_transpose, self._partitions[built], repeat(self.bounds),
                name="split",
            )  # fmt: skip
            on_error(lambda: self._partitions.pop(layout, None))
            self._partitions[layout] = _build_partitions(
                self.executor, self.bounds, arc_lists, "keep"
            )
        return self._partitions[layout]

    def built_partitions(self) -> list:
        """Return a task for each Partition of the layout that was built first."""
        return next(iter(self._partitions.values()))

    def simple_partitions(self) -> list:
        """Return partitions of the undirected graph without self-loops, parallel edges, weights."""
        executor = self.executor

        def build() -> list:
            partitions = self.built_partitions()
            if not self.directed:
                return executor.map(partitioning.simplify, partitions, name="simplify")
            arc_lists = executor.map(
                partitioning.split_undirected, partitions, repeat(self.bounds), name="split"
            )
            return _build_partitions(executor, self.bounds, arc_lists, "first")

        return self.cached("simple partitions", build)

    def __reduce__(self) -> tuple:
        raise GraphError(
            "a distributed Graph cannot leave its client; pass the Dask frame, or the result of "
            ".compute(), to tasks and other processes",
            hint="call .compute() on the graph",
        )

    @release_on_error
    def compute(self) -> LocalGraph:
        """Return the graph in the memory of this process."""
        layout, tasks = next(iter(self._partitions.items()))
        [labeling, *partitions] = self.executor.gather([self.labeling, *tasks])
        return LocalGraph(
            labeling, partitioning.join_partitions(partitions), layout, directed=self.directed,
            weighted=self.weighted, multi_edges=self._multi_edges, self_loops=self._self_loops,
            num_rows=self._num_rows, num_loops_dropped=self._num_dropped,
            num_edges=self.num_edges,
        )  # fmt: skip

    def cached(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the cached tasks of `make`, which are submitted again if one became invalid."""
        if key in self._cache and not self.executor.are_valid(self._cache[key]):
            del self._cache[key]  # failed or cancelled since it was computed
        if key not in self._cache:
            on_error(lambda: self._cache.pop(key, None))
            self._cache[key] = make()
        return self._cache[key]

    def check_name_collisions(self, *columns: str) -> None:
        """Raise GraphError if a vertex name column has the name of a result column."""
        check_name_collisions(self._schema.labels, columns)

    def endpoint_columns(self, endpoint: str) -> dict[str, str]:
        """Return the result columns of an endpoint; see `vertex_names.endpoint_columns`."""
        schema = self._schema
        return endpoint_columns(schema.labels, schema.is_endpoint_specific, endpoint)

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"gpu"``."""
        return "gpu" if self._is_on_gpu else "cpu"

    def to_dask(self, tasks: list, counts: Sequence[int] | None = None) -> Frame:
        """Return a Dask frame of a frame per partition.

        Frame i has `counts[i]` rows, by default one for each vertex of the partition.
        """
        executor = self.executor
        counts = np.diff(self.bounds).tolist() if counts is None else counts
        starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
        nonempty = [number for number, num_rows in enumerate(counts) if num_rows] or [0]
        indexed = [
            executor.submit(_set_index, tasks[number], starts[number], name="result", worker=number)
            for number in nonempty
        ]
        [meta] = executor.gather([executor.submit(create_meta, indexed[0], name="meta")])
        divisions = [None] * (len(nonempty) + 1)
        if starts[-1]:
            divisions = [*(starts[number] for number in nonempty), starts[-1] - 1]
        return executor.to_dask(indexed, meta, tuple(divisions))

    def run(
        self,
        function: Callable[..., tuple[Any, Any]],
        *arguments: Any,
        name: str,
        report: Report | None = None,
    ) -> tuple[list, list]:
        """Run ``function(communicator, report, *arguments)`` on every rank; see `spmd.run`.

        An argument that is a list has one entry per rank, such as the tasks of `partitions`.
        """
        by_rank = [
            [each[rank] if isinstance(each, list) else each for each in arguments]
            for rank in range(self.num_partitions)
        ]
        return self.executor.run_spmd(
            function, by_rank, name=name, on_gpu=self._is_on_gpu, report=report
        )

    def run_for_frame(
        self,
        function: Callable[..., tuple[Frame, Any]],
        *arguments: Any,
        name: str,
        report: Report | None = None,
    ) -> tuple[Frame, list]:
        """Run a function whose results are frames from `finish_frame`; see `run`.

        Returns
        -------
        frame : Dask frame
        infos : list
            What the function returned besides, by rank.
        """
        tasks, infos = self.run(function, *arguments, name=name, report=report)
        counts, metas, others = zip(*infos, strict=True)
        nonempty = [rank for rank, num_rows in enumerate(counts) if num_rows] or [0]
        starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
        divisions = [None] * (len(nonempty) + 1)
        if starts[-1]:
            divisions = [*(starts[rank] for rank in nonempty), starts[-1] - 1]
        frames = [tasks[rank] for rank in nonempty]
        return self.executor.to_dask(frames, metas[0], tuple(divisions)), list(others)

    @property
    def vertices(self) -> Frame:
        """Dask frame of the vertex names, sorted."""
        frames = self.executor.map(
            create_vertex_frame, repeat(self.labeling), repeat({}), self.starts, self.stops,
            name="label",
        )  # fmt: skip
        return self.to_dask(frames)

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows, which no path exceeds; infinite on overflow."""
        return self._total_weight

    @property
    def nbytes(self) -> int:
        """Size of the adjacency on all workers in bytes."""
        return sum(self._count_arcs(layout)[-1] for layout in self._partitions)

    @property
    def report(self) -> BuildReport:
        """Row counts of the build."""
        executor = self.executor
        flags = executor.map(partitioning.has_edges, self.built_partitions(), name="has-edges")
        [isolates] = executor.gather(
            [executor.submit(partitioning.count_isolates, *flags, name="stats")]
        )
        num_merged = self._num_rows - self._num_dropped - self.num_edges
        return BuildReport(
            self._num_rows, self._num_dropped, num_merged, self.num_edges, self.num_vertices,
            isolates, self.nbytes,
        )  # fmt: skip

    def __repr__(self) -> str:
        direction = "directed" if self.directed else "undirected"
        weighted = ", weighted" if self.weighted else ""
        return (
            f"<Graph: {self.num_vertices:,} vertices, {self.num_edges:,} {direction} edges"
            f"{weighted}, partitions: {self.num_partitions:,}, {self.device}>"
        )


def as_distributed(edges: Any, layout: str = "csr") -> DistributedGraph:
    """Return a DistributedGraph as it is; build a directed one from a Dask frame."""
    if isinstance(edges, DistributedGraph):
        return edges
    return DistributedGraph(edges, layout=layout)


def _build_partitions(
    executor: Executor,
    bounds: list[int],
    arc_lists: list,
    multi_edges: MultiEdges,
    sum_type: type | None = None,
    labeling: Any = None,
) -> list:
    """Return a task for each Partition, built from tasks of lists of arcs; empties `arc_lists`."""
    partitions = []
    for number in range(len(bounds) - 1):
        arcs = executor.map(operator.getitem, arc_lists, repeat(number), name="shuffle")
        partitions.append(
            executor.submit(
                partitioning.build_partition, number, bounds, multi_edges, sum_type, labeling,
                *arcs, name="build-partition", worker=number,
            )
        )  # fmt: skip
    arc_lists.clear()
    return partitions


def _select_columns(edges: Frame, *columns: str | Sequence[str] | None) -> Frame:
    """Return a frame with the columns of the arguments only."""
    names: list = []
    for each in columns:
        if each is not None:
            names += each if isinstance(each, (list, tuple)) else [each]
    return edges[list(dict.fromkeys(names))]


# Tasks


def create_vertex_frame(
    labeling: Labeling, columns: dict[str, Any], start: int, stop: int
) -> Frame:
    """Return a frame of consecutive vertices: their names and further columns."""
    return labeling.vertex_frame(columns, labeling.xp.arange(start, stop, dtype=labeling.xp.int32))


def finish_frame(
    communicator: Communicator, frame: Frame, info: Any = None
) -> tuple[Frame, tuple[int, Frame, Any]]:
    """Return the frame of a rank with its rows of the result's index, and what the client needs.

    See `DistributedGraph.run_for_frame`; every rank must call this.
    """
    counts = communicator.all_gather_object(len(frame))
    frame = _set_index(frame, sum(counts[: communicator.rank]))
    return frame, (len(frame), create_meta(frame) if communicator.rank == 0 else None, info)


def _set_index(frame: Frame, start: int) -> Frame:
    frame = frame.copy(deep=False)
    frame.index = sys.modules[library_name(frame)].RangeIndex(start, start + len(frame))
    return frame


def create_meta(frame: Frame) -> Frame:
    """Return a frame without rows, with the columns and types of another."""
    return frame.iloc[:0]
