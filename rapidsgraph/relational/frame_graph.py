"""A graph as two frames, of arcs and of vertices, with the names of vertices as they are.

The name columns are ``source_0``, ``destination_0`` and ``vertex_0``, with one more number for each
further column that names a vertex, whatever they are called in the edge frame and in results.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import frames
from ..errors import GraphError
from ..frames import Column, Frame
from ..graph.csr import row_indices
from ..graph.edge_columns import EdgeColumns, common_name_type, read_columns
from ..graph.local_graph import LocalGraph, StoredGraph, storage_of
from ..graph.vertex_names import check_name_collisions, endpoint_columns
from .engine import EagerEngine, Engine, distinct


@dataclass
class FrameGraph:
    """A graph as frames.

    Attributes
    ----------
    engine : Engine
    arcs : frame
        Columns `source`, `destination` and, if `weighted`, `weight` (float64); partitioned by
        source. An undirected edge is two arcs.
    vertices : frame
        Columns `vertex`: each vertex once, partitioned by vertex.
    schema : EdgeColumns
        How vertices are named in edge frames and results; without columns.
    """

    engine: Engine
    arcs: Frame
    vertices: Frame
    schema: EdgeColumns

    @property
    def weighted(self) -> bool:
        """Whether arcs have weights."""
        return "weight" in self.arcs.columns

    @property
    def vertex(self) -> list[str]:
        """Name columns of a vertex."""
        return name_columns("vertex", self.schema)

    @property
    def source(self) -> list[str]:
        """Name columns of the source of an arc."""
        return name_columns("source", self.schema)

    @property
    def destination(self) -> list[str]:
        """Name columns of the destination of an arc."""
        return name_columns("destination", self.schema)

    @property
    def predecessor(self) -> list[str]:
        """Name columns of a predecessor."""
        return name_columns("predecessor", self.schema)

    def check_name_collisions(self, *columns: str) -> None:
        """Raise GraphError if a vertex name column has the name of a result column."""
        check_name_collisions(self.schema.labels, columns)

    def endpoint_columns(self, endpoint: str) -> dict[str, str]:
        """Return the result columns of an endpoint; see `vertex_names.endpoint_columns`."""
        return endpoint_columns(self.schema.labels, self.schema.is_endpoint_specific, endpoint)

    def make_result(self, frame: Frame, columns: Mapping[str, str | None]) -> Frame:
        """Return the result of an algorithm, sorted by vertex, in the library of the edges.

        Parameters
        ----------
        frame : frame
            A row per vertex.
        columns : dict from str to str or None
            The result columns besides the names, in order, with the columns of `frame` that tell
            whether they have a value, or None if all rows do. `predecessor` stands for all columns
            that name one.
        """
        ordered = self.engine.enumerate(frame, self.vertex, "row")
        return self.engine.map(_make_result, ordered, schema=self.schema, columns=dict(columns))


def name_columns(endpoint: str, schema: EdgeColumns) -> list[str]:
    """Return the name columns of an endpoint."""
    return [f"{endpoint}_{column}" for column in range(len(schema.labels))]


def rename(frame: Frame, old: Sequence[str], new: Sequence[str]) -> Frame:
    """Return a frame with other names of some columns."""
    return frame.rename(columns=dict(zip(old, new, strict=True)))


def as_frame_graph(
    graph: Any, weight: str | None = None, *, merge_arcs: bool = False
) -> FrameGraph:
    """Return a graph or edge frame as a FrameGraph.

    Parameters
    ----------
    graph : Graph, LocalGraph, DistributedGraph, edge frame or Dask frame
    weight : str, optional
        Weight column of an edge frame. A graph knows its own.
    merge_arcs : bool
        Whether parallel arcs of an edge frame count once. A graph has merged its own.
    """
    storage = storage_of(graph)
    if isinstance(storage, LocalGraph):
        return _from_local_graph(storage)
    if isinstance(graph, StoredGraph):
        raise GraphError(graph._no_local_graph, parameter="graph")
    columns = read_columns(graph, "source", "destination", weight, "first")
    return _build(EagerEngine(), _make_arcs(columns), _without_columns(columns), merge_arcs)


def _from_local_graph(graph: LocalGraph) -> FrameGraph:
    labeling, csr = graph.labeling, graph.csr
    schema = EdgeColumns(
        labeling.library, [], [], None, labeling.xp, list(labeling.names.labels),
        list(labeling.is_endpoint_specific), list(labeling.source_columns), labeling.text_types,
    )  # fmt: skip
    sources, destinations = (
        list(labeling.names.columns(graph.xp, ids).values())
        for ids in (row_indices(csr), csr.neighbors)
    )
    weights = csr.weights if graph.weighted else None
    arcs = _make_arcs(replace(schema, sources=sources, destinations=destinations, weights=weights))
    names = labeling.names.columns(graph.xp).values()
    vertices = _make_frame(dict(zip(name_columns("vertex", schema), names, strict=True)), graph.xp)
    return FrameGraph(EagerEngine(), arcs, vertices, schema)


def _build(engine: Engine, arcs: Frame, schema: EdgeColumns, merge_arcs: bool) -> FrameGraph:
    """Partition the arcs of an edge frame, and find the vertices in them."""
    source, destination, vertex = (
        name_columns(endpoint, schema) for endpoint in ("source", "destination", "vertex")
    )
    arcs = engine.partition(arcs, source)
    if merge_arcs:  # parallel arcs are in one partition
        arcs = engine.map(distinct, arcs, by=[*source, *destination])
    arcs = engine.persist(arcs)
    ends = (rename(arcs[endpoint], endpoint, vertex) for endpoint in (source, destination))
    vertices = engine.persist(engine.distinct(engine.union(*ends), vertex))
    return FrameGraph(engine, arcs, vertices, schema)


def _without_columns(columns: EdgeColumns) -> EdgeColumns:
    return replace(columns, sources=[], destinations=[], weights=None)


def _make_arcs(columns: EdgeColumns) -> Frame:
    """Return the frame of arcs, with names of a type that all names of a column have."""
    arrays: dict[str, Any] = {}
    types = [
        common_name_type(pair, label)
        for label, *pair in zip(columns.labels, columns.sources, columns.destinations, strict=True)
    ]
    for endpoint, values in (("source", columns.sources), ("destination", columns.destinations)):
        for name, each, dtype in zip(name_columns(endpoint, columns), values, types, strict=True):
            arrays[name] = each.astype(dtype)
    if columns.weights is not None:
        arrays["weight"] = columns.weights.astype(np.float64)
    return _make_frame(arrays, columns.xp)


def _make_frame(columns: Mapping[str, Column], xp: Any) -> Frame:
    return importlib.import_module("pandas" if xp is np else "cudf").DataFrame(columns)


def _make_result(frame: Frame, schema: EdgeColumns, columns: Mapping[str, str | None]) -> Frame:
    """Return a partition of the result; see `FrameGraph.make_result`."""
    names = dict(zip(schema.labels, name_columns("vertex", schema), strict=True))
    data: dict[str, Any] = {label: _get_values(frame, name) for label, name in names.items()}
    for column, is_valid in columns.items():
        values = {column: column}
        if column == "predecessor":
            specific = endpoint_columns(schema.labels, schema.is_endpoint_specific, column)
            values = {
                new: names[label].replace("vertex", column) for label, new in specific.items()
            }
        for new, name in values.items():
            array = _get_values(frame, name)
            data[new] = (array, frame[is_valid].values) if is_valid else array
    return frames.make_frame(schema.library, data, schema.text_types)


def _get_values(frame: Frame, column: str) -> Column:
    """Return a column as `frames.make_frame` takes it."""
    values = frame[column]
    is_number = getattr(values.dtype, "kind", "O") in "iuf"
    return values.values if is_number else values.reset_index(drop=True)
