"""DistributedGraph: a graph built from a Dask frame, with a partition on each worker.

Partitions are built once and stay on their workers; the other layout is built from them on first
use. Only statistics of a few bytes reach the client. Edges need not fit on one worker, but arrays
over all vertices must. If a worker is lost, the next call builds all partitions from the frame.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import numpy as np

from ..errors import GraphError
from ..frames import Frame, Vertices, is_dask
from ..graph.build import check_policies
from ..graph.edge_columns import EdgeSchema, read_columns, translate_key_errors
from ..graph.local_graph import BuildReport, LocalGraph, SelfLoops
from ..graph.multi_edges import MultiEdges
from ..graph.vertex_arguments import check_vertex_range, check_vertices
from ..graph.vertex_names import (
    Labeling,
    check_edge_collisions,
    check_name_collisions,
    endpoint_columns,
)
from ..progress import Report
from ..validation import as_list, choose_weight
from . import partition as partitioning
from .build import BuildInfo, BuildOptions, build
from .communicator import Communicator
from .executor import Executor, get_executor, release_on_error, releasing_on_error
from .partition import Partition
from .storage import DistributedStorage, finish_frame

logger = logging.getLogger(__name__)

MAX_IMBALANCE = 1.5  # of the number of frame partitions that a rank reads, to their mean

R = TypeVar("R")


class DistributedGraph(DistributedStorage):
    """A partitioned graph: the storage of `Graph` on a Dask cluster.

    `from_frame` builds one from a Dask frame, and `derived_graph.DerivedGraph` derives one from
    another one. If a worker is lost, others build its partition again.

    Parameters
    ----------
    executor : Executor
    device : {"cpu", "gpu"}
    directed, weighted : bool
    multi_edges, self_loops : str
        Policies for parallel edges and self-loops.
    layout : {"csr", "csc"}
        Adjacency to build first: by source or by destination.
    schema : EdgeSchema
        How vertices are named in edge frames and results; without columns.

    Attributes
    ----------
    executor : Executor
    labeling : task of Labeling
        The vertex names.
    bounds : list of int
        Partition i has the vertices ``bounds[i]`` to ``bounds[i + 1]``.
    num_vertices, num_edges, num_arcs : int
    num_rows, num_loops_dropped : int
        Number of edges that the graph was built from, and of self-loops dropped from these.
    total_weight : float
        Sum of the weights of all rows, which no path exceeds; infinite on overflow. Not used
        without weights.
    directed, weighted : bool
    multi_edges, self_loops : str
    built_layout : {"csr", "csc"}
        The layout that was built first.
    schema : EdgeSchema
    """

    engine = "distributed"
    bounds: list[int]
    num_vertices: int
    num_edges: int
    num_arcs: int
    num_rows: int
    num_loops_dropped: int
    total_weight: float
    # How `from_frame` builds the partitions again: its options, and the keys of the frames by rank.
    _options: BuildOptions
    _sources: tuple[list[list[int]], Any, Any]

    def __init__(
        self,
        executor: Executor,
        *,
        device: str,
        directed: bool,
        weighted: bool,
        multi_edges: MultiEdges,
        self_loops: SelfLoops,
        layout: str,
        schema: EdgeSchema,
    ) -> None:
        super().__init__(executor)
        self._clear()
        self.device, self.directed, self.weighted = device, directed, weighted
        self.multi_edges, self.self_loops = multi_edges, self_loops
        self.built_layout, self.schema = layout, schema

    @classmethod
    @release_on_error
    def from_frame(
        cls,
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
        unweighted_multi_edges: MultiEdges | None = None,
    ) -> Self:
        """Build the graph of a Dask frame.

        It uses the active Dask client, or this process if there is none.

        Parameters
        ----------
        edges : Dask frame
            Of pandas or cuDF frames, one row per edge.
        source, destination, weight, directed, multi_edges, self_loops, vertices
            As in `Graph`; `vertices` may be a Dask frame, too.
        layout : {"csr", "csc"}
            Adjacency to build first: by source or by destination.
        unweighted_multi_edges : str, optional
            The policy `multi_edges` for a frame without weights.

        Raises
        ------
        GraphError
            As `Graph`; names the partition of the frame, and counts rows within it.
        InsufficientMemoryError
            A partition would not fit on its worker; raised before it is built.
        """
        check_policies(directed, multi_edges, self_loops)
        endpoints = [*as_list(source), *as_list(destination)]
        weight = choose_weight(weight, list(edges.columns), endpoints)
        if weight is None and unweighted_multi_edges is not None:
            multi_edges = unweighted_multi_edges
        meta = read_columns(edges._meta, source, destination, weight, multi_edges)
        executor, labels = get_executor(), meta.schema.labels
        graph = cls(
            executor, device="cpu" if meta.xp is np else "gpu", directed=directed,
            weighted=weight is not None or multi_edges == "sum", multi_edges=multi_edges,
            self_loops=self_loops, layout=layout, schema=meta.schema,
        )  # fmt: skip
        vertex_range = None
        vertices = check_vertex_range(vertices, len(labels))
        extra: list = []
        if isinstance(vertices, range) and not vertices.start:
            vertex_range = vertices
        elif is_dask(vertices):
            extra = executor.compute_partitions(vertices)
        elif vertices is not None:
            check_vertices(vertices, len(labels), labels, np)
            extra = [executor.submit(_identity, vertices, name="vertices")]
        graph._options = BuildOptions(
            source, destination, weight, multi_edges, self_loops, directed, layout, labels,
            vertex_range, is_on_gpu=graph.device == "gpu",
        )  # fmt: skip
        columns = _select_columns(edges, source, destination, weight)
        with translate_key_errors(edges, source, destination, weight, multi_edges):
            frames = executor.compute_partitions(columns)
            numbers = _assign(executor.locate(frames), graph.num_partitions)
        infos = graph._build(numbers, frames, extra)
        # Workers may forget the frames: the scheduler knows how to compute them again.
        graph._sources = numbers, executor.to_keys(frames), executor.to_keys(extra)
        info, *_ = infos
        graph.schema, graph.bounds, graph.num_vertices = info.schema, info.bounds, info.bounds[-1]
        graph.num_rows, graph.total_weight = info.num_rows, info.total_weight
        graph.num_loops_dropped = sum(info.num_dropped for info in infos)
        graph.num_arcs = sum(info.num_arcs for info in infos)
        graph.num_edges = sum(info.num_edges for info in infos)
        logger.info(
            "built a graph of %d partitions on the %s: %d vertices, %d edges from %d rows",
            graph.num_partitions, graph.device, graph.num_vertices, graph.num_edges, graph.num_rows,
        )  # fmt: skip
        return graph

    def _clear(self) -> None:
        """Initialize the state that depends on partitions."""
        self._partitions: dict[str, list] = {}
        self._derivations: dict[str, tuple] = {}  # how layouts follow from the one built first
        self._nbytes: dict[str, int] = {}
        self._cache: dict[str, Any] = {}
        # Held while partitions or tasks of the graph are created: several calls may need them.
        self._deriving = threading.Lock()

    def without_partitions(self) -> Self:
        """Return a copy without tasks, which can build the partitions again by `_rebuild`."""
        graph = type(self).__new__(type(self))  # `copy.copy` would call `__reduce__`
        vars(graph).update(vars(self))
        graph._lock = threading.Lock()
        graph._clear()
        return graph

    def _build(self, numbers: list[list[int]], frames: list, extra: list) -> list[BuildInfo]:
        """Build the partitions from tasks of frames; rank r reads the frames ``numbers[r]``."""
        frames_by_rank = [[frames[number] for number in rank_numbers] for rank_numbers in numbers]
        extra_by_rank = [extra[rank :: self.num_partitions] for rank in range(self.num_partitions)]
        arguments = numbers, frames_by_rank, extra_by_rank, self._options
        tasks, infos = self._run(build, arguments, name="build")
        self._set_partitions(self.built_layout, tasks, [info.nbytes for info in infos])
        return infos

    def _set_partitions(self, layout: str, tasks: list, nbytes: list[int]) -> None:
        # In place: arguments of calls that are repeated are these lists.
        self._partitions.setdefault(layout, [])[:] = tasks
        self._nbytes[layout] = sum(nbytes)

    @property
    def starts(self) -> list[int]:
        """First vertex of each partition."""
        return self.bounds[:-1]

    @property
    def stops(self) -> list[int]:
        """One past the last vertex of each partition."""
        return self.bounds[1:]

    @property
    def labeling(self) -> Any:
        """A task of the Labeling of all vertices, which each partition has, too."""
        return self.cached(
            "labeling",
            lambda: self.executor.submit(_get_labeling, self.built_partitions()[0], name="label"),
        )

    def partitions(self, layout: str = "csr") -> list:
        """Return a task for each Partition, by source ("csr") or by destination ("csc")."""
        return self._derive(layout if self.directed else self.built_layout, partitioning.transpose)

    def has_layout(self, layout: str) -> bool:
        """Return whether the partitions of a layout, "csr" or "csc", have been built."""
        return layout in self._partitions or not self.directed

    def built_partitions(self) -> list:
        """Return a task for each Partition of the layout that was built first."""
        return self._partitions[self.built_layout]

    def simple_partitions(self) -> list:
        """Return partitions of the undirected graph without self-loops, parallel edges, weights."""
        return self._derive("simple", partitioning.simplify, self.directed)

    def _derive(self, layout: str, function: Callable[..., Any], *arguments: Any) -> list:
        """Return the partitions of a layout, which `function` computes from those built first."""
        with self._deriving, releasing_on_error():
            if layout not in self._partitions:
                rank_arguments = self.built_partitions(), tuple(self.bounds), *arguments
                tasks, nbytes = self.run(function, *rank_arguments, name=layout)
                self._derivations[layout] = function, rank_arguments
                self._set_partitions(layout, tasks, nbytes)
            return self._partitions[layout]

    def _rebuild(self) -> None:
        self._cache.clear()
        self._rebuild_first_layout()
        for layout, (function, rank_arguments) in list(self._derivations.items()):
            tasks, nbytes = self._run(function, rank_arguments, name=layout)
            self._set_partitions(layout, tasks, nbytes)

    def _rebuild_first_layout(self) -> None:
        numbers, *keys = self._sources
        self._build(numbers, *map(self.executor.from_keys, keys))

    def __reduce__(self) -> tuple:
        raise GraphError(
            "a distributed Graph cannot leave its client; pass the Dask frame, or the result of "
            ".compute(), to tasks and other processes",
            hint="call .compute() on the graph",
        )

    @release_on_error
    def compute(self) -> LocalGraph:
        """Return the graph in the memory of this process."""
        executor = self.executor

        def gather() -> list:
            rows = [
                executor.submit(partitioning.get_local_adjacency, partition, name="rows")
                for partition in self.built_partitions()
            ]
            return executor.gather([self.labeling, *rows])

        labeling, *rows = self._recover(gather)
        graph = LocalGraph(
            labeling, partitioning.join_rows(rows), self.built_layout, directed=self.directed,
            weighted=self.weighted, multi_edges=self.multi_edges, self_loops=self.self_loops,
            num_rows=self.num_rows, num_loops_dropped=self.num_loops_dropped,
            num_edges=self.num_edges,
        )  # fmt: skip
        return graph.with_candidates_of(self)

    def cached(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the cached tasks of `make`, which are submitted again if one became invalid."""
        with self._deriving, releasing_on_error():
            tasks = self._cache.get(key)  # a rebuild may remove it at any time
            if tasks is None or not self.executor.are_valid(tasks):
                tasks = self._cache[key] = make()
            return tasks

    def check_name_collisions(self, *columns: str) -> None:
        """Raise GraphError if a vertex name column has the name of a result column."""
        check_name_collisions(self.schema.labels, columns)

    def check_edge_collisions(self, *columns: str) -> None:
        """Raise GraphError if a vertex name column has the name of a column of an edge result."""
        check_edge_collisions(self.schema.labels, self.schema.is_endpoint_specific, columns)

    def endpoint_columns(self, endpoint: str) -> dict[str, str]:
        """Return the result columns of an endpoint; see `vertex_names.endpoint_columns`."""
        schema = self.schema
        return endpoint_columns(schema.labels, schema.is_endpoint_specific, endpoint)

    @property
    def vertices(self) -> Frame:
        """Dask frame of the vertex names, sorted."""
        frame, _ = self.run_for_frame(name_vertices, self.built_partitions(), name="label")
        return frame

    @property
    def is_merged(self) -> bool:
        """Whether parallel edges were merged, so that none are left."""
        return self.multi_edges != "keep"

    def layout_nbytes(self, layout: str) -> int:
        """Return the size of a layout that has been built, on all workers, in bytes."""
        return self._nbytes[layout]

    @property
    def nbytes(self) -> int:
        """Size of the adjacency on all workers in bytes."""
        return sum(self._nbytes[layout] for layout in self._partitions if layout != "simple")

    @property
    def report(self) -> BuildReport:
        """Row counts of the build."""
        partitions = self.built_partitions()
        _, [isolates, *_] = self.run(partitioning.count_isolates, partitions, name="report")
        num_merged = self.num_rows - self.num_loops_dropped - self.num_edges
        return BuildReport(
            self.num_rows, self.num_loops_dropped, num_merged, self.num_edges, self.num_vertices,
            isolates, self.nbytes,
        )  # fmt: skip

    def summarize(self) -> dict[str, Any]:
        """Return the properties that a notebook shows."""
        return {
            "vertices": self.num_vertices, "edges": self.num_edges, "directed": self.directed,
            "weighted": self.weighted, "device": self.device, "partitions": self.num_partitions,
            "nbytes": self.nbytes,
        }  # fmt: skip

    def __repr__(self) -> str:
        direction = "directed" if self.directed else "undirected"
        weighted = ", weighted" if self.weighted else ""
        return (
            f"<Graph: {self.num_vertices:,} vertices, {self.num_edges:,} {direction} edges"
            f"{weighted}, partitions: {self.num_partitions:,}, {self.device}>"
        )


def as_distributed(edges: Any, layout: str = "csr", **options: Any) -> DistributedGraph:
    """Return a DistributedGraph as it is; build one from a Dask frame.

    By default, it is directed and has no weights; `options` are those of
    `DistributedGraph.from_frame`.
    """
    if isinstance(edges, DistributedGraph):
        return edges
    return DistributedGraph.from_frame(edges, layout=layout, **options)


def as_undirected(edges: Any) -> DistributedGraph:
    """Return a DistributedGraph as it is; build an undirected one without self-loops."""
    return as_distributed(edges, directed=False, self_loops="drop")


def _assign(locations: list[int | None], num_ranks: int) -> list[list[int]]:
    """Return which tasks each rank reads, ascending: its own ones, unless they are far too many.

    The exchange of arcs is faster than Dask's transfer of frames. `locations` has the rank whose
    worker has the result of each task, or None.
    """
    assigned: list[list[int]] = [[] for _ in range(num_ranks)]
    capacity = math.ceil(MAX_IMBALANCE * len(locations) / num_ranks)
    rest = []
    for task, rank in enumerate(locations):
        if rank is not None and len(assigned[rank]) < capacity:
            assigned[rank].append(task)
        else:
            rest.append(task)
    for task in rest:
        min(assigned, key=len).append(task)
    return list(map(sorted, assigned))


def _select_columns(edges: Frame, *columns: str | Sequence[str] | None) -> Frame:
    """Return a frame with the columns of the arguments only."""
    names: list = []
    for column in columns:
        if column is not None:
            names += column if isinstance(column, (list, tuple)) else [column]
    return edges[list(dict.fromkeys(names))]


# Tasks


def _identity(value: R) -> R:
    return value


def _get_labeling(partition: Partition) -> Labeling:
    return partition.labeling


def name_vertices(
    communicator: Communicator, report: Report, partition: Partition
) -> tuple[Frame, Any]:
    """Return the frame of the vertices of a partition."""
    frame = create_vertex_frame(partition, {})
    return finish_frame(communicator, frame)


def create_vertex_frame(partition: Partition, columns: dict[str, Any]) -> Frame:
    """Return a frame of the vertices of a partition: their names and further columns."""
    return partition.labeling.vertex_frame(columns, partition.local_ids)
