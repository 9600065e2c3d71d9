"""A graph as two frames, of arcs and of vertices, with the names of vertices as they are.

The name columns are ``source_0``, ``destination_0`` and ``vertex_0``, with one more number for each
further column that names a vertex, whatever they are called in the edge frame and in results.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .. import device, frames
from ..distributed.communicator import Communicator
from ..distributed.graph import DistributedGraph, name_vertices
from ..distributed.partition import Partition
from ..distributed.storage import finish_frame
from ..errors import GraphError
from ..frames import Column, Frame
from ..graph.csr import Adjacency, row_indices
from ..graph.edge_columns import (
    EdgeColumns,
    EdgeSchema,
    choose_partition_error,
    read_columns,
    read_partition_columns,
    translate_key_errors,
)
from ..graph.local_graph import LocalGraph, Storage, storage_of
from ..graph.multi_edges import MultiEdges
from ..graph.vertex_names import (
    Labeling,
    check_edge_collisions,
    check_name_collisions,
    endpoint_columns,
)
from ..graph.vertex_naming import common_name_type
from ..progress import Report
from ..validation import ENDPOINTS, check_free_memory, choose_weight
from .dask_table import DaskTable
from .run_memory import check_memory, estimate_graph_bytes
from .table import EagerTable, Table, get_first

VERTEX_COLUMNS = ("label", "predecessor")  # columns of results that name vertices
MAX_PARTITION_ROWS = 2**40


@dataclass
class FrameGraph(Storage):
    """A graph as frames.

    Attributes
    ----------
    arcs : Table
        Columns `source`, `destination` and, if `weighted`, `weight` (float64); partitioned by
        source. An undirected edge is two arcs.
    vertices : Table
        Columns `vertex`: each vertex once, partitioned by vertex.
    schema : EdgeSchema
        How vertices are named in edge frames and results; without columns.
    weighted : bool
        Whether arcs have weights.
    is_ordered : bool
        Whether arcs have a column `order`, which parallel arcs are sorted by in the graph.
    directed : bool
    """

    engine = "frames"
    arcs: Table
    vertices: Table
    schema: EdgeSchema
    weighted: bool
    is_ordered: bool = False
    directed: bool = True

    def name_columns(self, endpoint: str) -> list[str]:
        """Return the name columns of an endpoint, such as ``["source_0"]``."""
        return name_columns(endpoint, self.schema)

    def check_name_collisions(self, *columns: str) -> None:
        """Raise GraphError if a vertex name column has the name of a result column."""
        check_name_collisions(self.schema.labels, columns)

    def check_edge_collisions(self, *columns: str) -> None:
        """Raise GraphError if a vertex name column has the name of a column of an edge result."""
        check_edge_collisions(self.schema.labels, self.schema.is_endpoint_specific, columns)

    def endpoint_columns(self, endpoint: str) -> dict[str, str]:
        """Return the result columns of an endpoint; see `vertex_names.endpoint_columns`."""
        return endpoint_columns(self.schema.labels, self.schema.is_endpoint_specific, endpoint)

    def find_smallest(self, table: Table) -> Any:
        """Return the smallest name in a table as in messages, or None if the table is empty."""
        vertex = self.name_columns("vertex")
        smallest = EagerTable(table.map(get_first, by=vertex).collect()).map(get_first, by=vertex)
        if not smallest.count():
            return None
        columns = (smallest.frame[column].iloc[0] for column in vertex)
        name = tuple(value.item() if hasattr(value, "item") else value for value in columns)
        return name if len(name) > 1 else name[0]

    def make_result(
        self, table: Table, columns: Mapping[str, str | None], order: Sequence[str] = ()
    ) -> Frame:
        """Return the result of an algorithm, sorted by vertex, in the library of the edges.

        Parameters
        ----------
        table : Table
            A row per vertex, or several that `order` tells apart.
        columns : dict from str to str or None
            The result columns besides the names, in order, with the columns of `table` that
            tell whether they have a value, or None if all rows do. `predecessor` and `label`
            stand for all columns that name one.
        order : sequence of str
            Columns that order the rows of a vertex.
        """
        rows = table.enumerate([*self.name_columns("vertex"), *order], "row")
        return rows.map(_make_result, schema=self.schema, columns=dict(columns)).to_frame()

    def make_edge_result(
        self, table: Table, columns: Sequence[str], order: Sequence[str] = ()
    ) -> Frame:
        """Return a result with a row per edge, sorted by `order`, or by source and destination."""
        ends = [*self.name_columns("source"), *self.name_columns("destination")]
        rows = table.enumerate([*(order or ends)], "row")
        return rows.map(_make_edge_result, schema=self.schema, columns=[*columns]).to_frame()


def name_columns(endpoint: str, schema: EdgeSchema) -> list[str]:
    """Return the name columns of an endpoint."""
    return [f"{endpoint}_{column}" for column in range(len(schema.labels))]


def as_frame_graph(
    graph: Any,
    weight: str | None = None,
    *,
    multi_edges: Literal["keep", "first", "min", "sum"] = "keep",
    algorithm: str | None = None,
) -> FrameGraph:
    """Return a graph or edge frame as a FrameGraph.

    Parameters
    ----------
    graph : Graph, LocalGraph, DistributedGraph, edge frame or Dask frame
    weight : str, optional
        Weight column of an edge frame, as for `Graph`; by default, weights are ignored. A graph
        knows its own.
    multi_edges : {"keep", "first", "min", "sum"}
        Policy for parallel arcs of an edge frame. A graph has merged its own. "first" merges them
        into one, with the first weight. "sum" does so without weights. With weights, "min" and
        "sum" are left to the algorithm.
    algorithm : str, optional
        The algorithm to run, whose memory on one frame is checked.

    Raises
    ------
    InsufficientMemoryError
        If the algorithm needs more memory than is free.
    """
    graph = storage_of(graph)
    if isinstance(graph, FrameGraph):
        return graph
    if isinstance(graph, LocalGraph):
        return _from_local_graph(graph, algorithm)
    if isinstance(graph, DistributedGraph):
        return _from_distributed_graph(graph)
    if frames.is_dask(graph):
        return _from_dask(graph, weight, multi_edges)
    policy: MultiEdges = "first" if multi_edges == "keep" else multi_edges
    columns = read_columns(graph, *ENDPOINTS, weight, policy)
    num_arcs, names = len(columns.sources[0]), columns.sources
    if algorithm is not None:  # a lower bound, as the number of vertices is unknown
        check_memory(algorithm, num_arcs, 0, names, columns.xp)
    weighted = columns.weights is not None
    first_row = 0 if weighted and multi_edges == "first" else None
    arcs = EagerTable(_make_arcs(columns, first_row=first_row))
    result = _from_arcs(arcs, columns.schema, weighted, multi_edges)
    if algorithm is not None:
        check_memory(algorithm, num_arcs, result.vertices.count(), names, columns.xp)
    return result


def _from_local_graph(graph: LocalGraph, algorithm: str | None) -> FrameGraph:
    labeling = graph.labeling
    if algorithm is not None:
        operation = f"{algorithm} by frames of {graph.num_arcs:,} arcs"
        check_free_memory(operation, estimate_graph_bytes(algorithm, graph), graph.xp)
    schema = _get_schema(labeling)
    names = dict(
        zip(name_columns("vertex", schema), labeling.names.columns(graph.xp).values(), strict=True)
    )
    arcs = name_arcs(graph.csr, graph.weighted, labeling)
    vertices = make_frame(names, graph.xp)
    return FrameGraph(
        EagerTable(arcs), EagerTable(vertices), schema, graph.weighted, directed=graph.directed
    )


def _from_distributed_graph(graph: DistributedGraph) -> FrameGraph:
    """Name the arcs and the vertices of all partitions on their workers."""
    source, vertex = (name_columns(role, graph.schema) for role in ("source", "vertex"))
    is_ordered = not graph.is_merged
    arcs = _run_for_table(graph, _name_partition_arcs, graph.partitions("csr"), is_ordered)
    vertices = _run_for_table(graph, name_vertices, graph.built_partitions())
    vertices = vertices.rename(graph.schema.labels, vertex).partition(vertex)
    arcs = arcs.partition(source).persist()
    return FrameGraph(
        arcs, vertices.persist(), graph.schema, graph.weighted, is_ordered, graph.directed
    )


def _run_for_table(
    graph: DistributedGraph, function: Callable[..., tuple[Frame, Any]], *arguments: Any
) -> DaskTable:
    """Run a function as `run_for_frame` does; return a table of all partitions, also empty."""
    results, infos = graph.run(function, *arguments, name="frames")
    frame = graph.executor.to_dask(results, infos[0][1], (None,) * (len(results) + 1))
    return DaskTable(frame.to_delayed()).persist()  # while the futures of the results exist


def _name_partition_arcs(
    communicator: Communicator, report: Report, partition: Partition, is_ordered: bool
) -> tuple[Frame, Any]:
    """Return the frame of the arcs of a partition; see `FrameGraph` for `is_ordered`."""
    arcs = name_arcs(partition.adjacency, partition.weighted, partition.labeling)
    if is_ordered:
        arcs = arcs.assign(order=partition.labeling.xp.arange(len(arcs)))
    return finish_frame(communicator, arcs)


def _get_schema(labeling: Labeling) -> EdgeSchema:
    return EdgeSchema(
        labeling.library, list(labeling.names.labels), list(labeling.is_endpoint_specific),
        list(labeling.source_columns), labeling.text_types,
    )  # fmt: skip


def name_arcs(adjacency: Adjacency, weighted: bool, labeling: Labeling) -> Frame:
    """Return the frame of the arcs of an adjacency by source; see `FrameGraph`."""
    sources, destinations = (
        list(labeling.names.columns(labeling.xp, ids).values())
        for ids in (row_indices(adjacency), adjacency.neighbors)
    )
    first = labeling.xp.arange(min(labeling.num_vertices, 1), dtype=np.int32)
    names = labeling.names.columns(labeling.xp, first).items()
    types = [common_name_type([values], label) for label, values in names]
    weights = adjacency.weights if weighted else None
    columns = EdgeColumns(_get_schema(labeling), sources, destinations, weights, labeling.xp)
    return _make_arcs(columns, types)  # there may be no arcs, whose types were unknown


def _from_dask(edges: Frame, weight: str | None, multi_edges: str) -> FrameGraph:
    """Return the graph of a Dask frame, whose partitions may have names of different types."""
    from dask import compute, delayed

    weight = choose_weight(weight, list(edges.columns), ENDPOINTS)
    options: Any = (*ENDPOINTS, weight, "first" if multi_edges == "keep" else multi_edges)
    is_ordered = weight is not None and multi_edges == "first"
    schema = read_columns(edges._meta, *options).schema
    read = delayed(_read_partition, pure=False)
    partitions = enumerate(edges[[*filter(None, options[:3])]].to_delayed())
    tasks = [read(number, partition, is_ordered, *options) for number, partition in partitions]
    with translate_key_errors(edges, *options):
        arcs = DaskTable(tasks).persist()
        largest = compute(*map(delayed(_find_largest_names), arcs.partitions))
    errors = [error for error in largest if isinstance(error, GraphError)]
    if errors:
        raise choose_partition_error(errors)
    types = []
    for column, label in enumerate(schema.labels):
        names = [name for heads in largest for name in heads[column :: len(schema.labels)]]
        types.append(common_name_type(names, label))
    arcs = arcs.map(_cast_names, types=types)
    return _from_arcs(arcs, schema, weight is not None, multi_edges)


def _read_partition(
    number: int, frame: Frame, is_ordered: bool, *options: Any
) -> Frame | GraphError:
    """Return the arcs of a partition, or its error, of which one is raised."""
    try:
        columns = read_partition_columns(number, frame, *options)
        return _make_arcs(columns, first_row=number * MAX_PARTITION_ROWS if is_ordered else None)
    except GraphError as error:
        return error


def _find_largest_names(arcs: Frame | GraphError) -> list[Column] | GraphError:
    """Return the largest integer, or any text, of each name column, as a column of one row."""
    if isinstance(arcs, GraphError):
        return arcs
    names = [column for column in arcs.columns if column not in ("weight", "row")]
    columns = [get_values(arcs, column) for column in names]
    return [
        values[values == values.max()][:1]
        if len(values) and device.is_array(values)
        else values[:1]
        for values in columns
    ]


def _cast_names(arcs: Frame, types: list[Any]) -> Frame:
    names = [column for column in arcs.columns if column not in ("weight", "row")]
    return arcs.astype(dict(zip(names, types * 2, strict=True)))


def _from_arcs(arcs: Table, schema: EdgeSchema, weighted: bool, multi_edges: str) -> FrameGraph:
    """Partition the arcs of an edge frame, and find the vertices in them."""
    source, destination, vertex = (
        name_columns(endpoint, schema) for endpoint in ("source", "destination", "vertex")
    )
    sources, destinations = (
        arcs.select(endpoint).rename(endpoint, vertex) for endpoint in (source, destination)
    )
    vertices = sources.union(destinations).distinct(vertex)
    ends = [*source, *destination]
    if multi_edges == "first" and weighted:
        arcs = arcs.smallest(ends, ["row"]).select([*ends, "weight"]).partition(source)
    elif multi_edges in ("first", "sum") and not weighted:
        arcs = arcs.distinct(ends, partition_by=source)
    else:
        arcs = arcs.partition(source)
    return FrameGraph(arcs.persist(), vertices.persist(), schema, weighted)


def _make_arcs(
    columns: EdgeColumns, types: Sequence[Any] | None = None, *, first_row: int | None = None
) -> Frame:
    """Return the frame of arcs.

    The default type of a column is one that all its names have. With `first_row`, a column `row`
    numbers the arcs from there on.
    """
    arrays: dict[str, Any] = {}
    schema = columns.schema
    types = types or [
        common_name_type(pair, label)
        for label, *pair in zip(schema.labels, columns.sources, columns.destinations, strict=True)
    ]
    for endpoint, values in (("source", columns.sources), ("destination", columns.destinations)):
        for name, column, dtype in zip(name_columns(endpoint, schema), values, types, strict=True):
            arrays[name] = column.astype(dtype)
    if columns.weights is not None:
        arrays["weight"] = columns.weights.astype(np.float64)
    if first_row is not None:
        arrays["row"] = columns.xp.arange(first_row, first_row + len(columns.sources[0]))
    return make_frame(arrays, columns.xp)


def make_frame(columns: Mapping[str, Column], xp: Any) -> Frame:
    """Return a pandas or cuDF frame of columns."""
    return importlib.import_module("pandas" if xp is np else "cudf").DataFrame(columns)


def _make_result(frame: Frame, schema: EdgeSchema, columns: Mapping[str, str | None]) -> Frame:
    """Return a partition of the result; see `FrameGraph.make_result`."""
    names = dict(zip(schema.labels, name_columns("vertex", schema), strict=True))
    data: dict[str, Any] = {label: get_values(frame, name) for label, name in names.items()}
    for column, is_valid in columns.items():
        values = {column: column}
        if column in VERTEX_COLUMNS:
            specific = endpoint_columns(schema.labels, schema.is_endpoint_specific, column)
            names_by_label = dict(zip(schema.labels, name_columns(column, schema), strict=True))
            values = {new: names_by_label[label] for label, new in specific.items()}
        for new, name in values.items():
            array = get_values(frame, name)
            data[new] = (array, frame[is_valid].values) if is_valid else array
    return finish_result(frame, schema, data, schema.text_types)


def _make_edge_result(frame: Frame, schema: EdgeSchema, columns: list[str]) -> Frame:
    """Return a partition of the result; see `FrameGraph.make_edge_result`."""
    data: dict[str, Any] = {}
    text_types = dict(schema.text_types)
    for endpoint in ("source", "destination"):
        specific = endpoint_columns(schema.labels, schema.is_endpoint_specific, endpoint)
        for label, name in zip(schema.labels, name_columns(endpoint, schema), strict=True):
            data[specific.get(label, label)] = get_values(frame, name)
        text_types |= {name: text_types.get(label) for label, name in specific.items()}
    shared = {label: data[label] for label in schema.labels if label in data}
    data = {**shared, **data, **{column: get_values(frame, column) for column in columns}}
    return finish_result(frame, schema, data, text_types)


def finish_result(
    frame: Frame, schema: EdgeSchema, columns: Mapping[str, Any], text_types: dict[str, Any]
) -> Frame:
    """Return a frame in the library of the edges, with the row numbers of `frame` as index."""
    result = frames.make_frame(schema.library, columns, text_types)
    if schema.library in ("pandas", "cudf"):
        result.index = frame.index
    return result


def get_values(frame: Frame, column: str) -> Column:
    """Return a column as `frames.make_frame` takes it."""
    values = frame[column]
    is_number = getattr(values.dtype, "kind", "O") in "iuf"
    return values.values if is_number else values.reset_index(drop=True)
