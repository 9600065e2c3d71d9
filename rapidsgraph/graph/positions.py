"""Build graphs from those of other libraries, with edges between positions in a list of names.

Only the names of the vertices have to be factorized then. Errors speak of nodes, edges and
matrices, not of columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from .. import frames
from ..device import Array
from ..errors import GraphError, MissingColumnError, format_value
from ..frames import Column
from ..validation import check_free_memory, check_weights, reject, vertex_labels
from .build import build_from_ids
from .build_memory import csr_build_bytes
from .local_graph import LocalGraph
from .multi_edges import MultiEdges
from .vertex_names import Labeling, VertexNames, check_names
from .vertex_naming import name_vertices


class NetworkXEdges:
    """The edges of a NetworkX graph; those of an undirected graph in both directions.

    Attributes
    ----------
    nodes : list
        In the order of the graph.
    sources, destinations : int32 arrays
        Positions of the endpoints among the nodes.
    data : list of dict
        Attributes of each edge.
    """

    def __init__(self, g: Any) -> None:
        self.nodes, self._rows = _list_neighbors(g)
        counts = np.fromiter(map(len, self._rows), np.int64, len(self._rows))
        self.sources = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
        positions: Iterable[Any] = chain.from_iterable(self._rows)
        if not _are_positions(self.nodes):
            ids = {node: index for index, node in enumerate(self.nodes)}
            positions = map(ids.__getitem__, positions)
        self.destinations = np.fromiter(positions, np.int32, self.sources.size)
        if g.is_multigraph():  # a dict by key for each neighbor
            keys = list(chain.from_iterable(row.values() for row in self._rows))
            counts = np.fromiter(map(len, keys), np.int64, self.sources.size)
            self.sources = np.repeat(self.sources, counts)
            self.destinations = np.repeat(self.destinations, counts)
            self._rows = keys

    @cached_property
    def data(self) -> list[dict[Any, Any]]:
        return list(chain.from_iterable(row.values() for row in self._rows))


def _are_positions(nodes: list[Any]) -> bool:
    """Return whether the nodes are the integers 0 to n-1 in order."""
    return set(map(type, nodes)) == {int} and nodes == list(range(len(nodes)))


def _list_neighbors(g: Any) -> tuple[list[Any], list[dict[Any, Any]]]:
    """Return the nodes of a NetworkX graph, and for each a dict of its neighbors.

    The dicts of filtered views are copied, since their lengths include filtered edges.
    """
    adjacency = dict(g.adjacency())
    rows = list(adjacency.values())
    if not all(isinstance(row, dict) for row in rows):
        if not all(isinstance(row, Mapping) for row in rows):
            reject("g", g, "its adjacency must be of dicts")
        rows = [dict(row.items()) for row in rows]
        if g.is_multigraph():
            rows = [{node: dict(keys.items()) for node, keys in row.items()} for row in rows]
    return list(adjacency), rows


def read_weights(
    values: Any,
    attribute: Any,
    item: str,
    vertices: Sequence[Any],
    sources: Array,
    destinations: Array,
) -> Array:
    """Return the checked weights of edges.

    Parameters
    ----------
    values : list or array
    attribute : object
        The name of the weights.
    item : {"edge", "entry"}
        What has a weight, for messages.
    vertices : sequence
        Names of the vertices, for messages.
    sources, destinations : int32 arrays
        Positions of the endpoints among the vertices.
    """
    try:
        column = frames.get_column({attribute: values}, attribute, "weight")
        return check_weights(column, attribute, np)
    except GraphError as error:
        row = error.row
        if row is None:
            raise
        edge = tuple(vertices[ids[row]] for ids in (sources, destinations))
        where = f"{item} {format_value(edge)}"
        value = values[row].item() if hasattr(values[row], "item") else values[row]
        if item == "edge":
            where = f"attribute {format_value(attribute)} of {where}"
        raise GraphError(
            f"{where} is {format_value(value)}; weights must be numbers, finite and not negative",
            parameter="weight" if item == "edge" else "matrix",
            value=value,
        ) from None


def missing_attribute_error(name: Any, attributes: Iterable[Any]) -> MissingColumnError:
    """Return the error for an attribute that no edge has, as for a missing column."""
    names = list(dict.fromkeys(map(str, attributes)))
    listing = f"; their attributes are {', '.join(names)}" if names else "; the edges have none"
    return MissingColumnError(
        f"no edge has the attribute {format_value(name)}{listing}",
        parameter="weight",
        column=name,
        columns=names,
    )


def build_graph_of_positions(
    sources: Array,
    destinations: Array,
    weights: Array | None,
    num_vertices: int,
    names: Any,
    *,
    noun: str,
    directed: bool,
    multi_edges: MultiEdges,
    has_both_arcs: bool = False,
) -> LocalGraph:
    """Build a graph from the positions of the endpoints of edges among the vertices.

    Messages call a name a `noun`. With `has_both_arcs`, edges from a later to an earlier vertex are
    the reverse of others.
    """
    if has_both_arcs:
        is_upper = sources <= destinations
        sources, destinations = sources[is_upper], destinations[is_upper]
        weights = None if weights is None else weights[is_upper]
    check_free_memory(
        f"building a graph of {sources.size:,} edges",
        csr_build_bytes(
            sources.size, num_vertices, weighted=weights is not None, directed=directed,
            multi_edges=multi_edges, self_loops="keep", xp=np,
        ),
        np,
    )  # fmt: skip
    labeling, ids = _name_vertices(names, noun, num_vertices)
    if ids is not None:
        sources, destinations = ids[sources], ids[destinations]
    coo = [sources, destinations, weights]
    return build_from_ids(coo, labeling, directed=directed, multi_edges=multi_edges)


def _name_vertices(names: Any, noun: str, num_vertices: int) -> tuple[Labeling, Array | None]:
    """Return a labeling, and the id of each vertex unless the ids are positions."""
    num_columns, ids = 1, None
    if names is None:
        vertex_names = VertexNames(["vertex"], [None], num_vertices, dtype=np.dtype(np.int64))
    else:
        columns = _name_columns(names, noun)
        num_columns = len(columns)
        lengths = [len(values) for values in columns] or [0]
        if {*lengths} != {num_vertices}:
            length = next(length for length in lengths if length != num_vertices)
            raise GraphError(
                f"{{parameter}} has {length} names, and there are {num_vertices} vertices",
                parameter="names",
            )
        labels = vertex_labels(*_endpoint_columns(num_columns))
        vertex_names, ids, _ = name_vertices(columns, columns, None, labels, np)
        if vertex_names.count < num_vertices:
            _, first = np.unique(ids, return_index=True)
            row = int(np.setdiff1d(np.arange(num_vertices), first)[0])
            name = vertex_names.name_of(int(ids[row]), np)
            raise GraphError(
                f"{{parameter}} has the {noun} {format_value(name)} twice; the names of vertices "
                "must be distinct",
                parameter="names" if noun == "name" else "g",
                value=name,
            )
    source_columns, _ = _endpoint_columns(num_columns)
    return Labeling(vertex_names, np, "pandas", [True] * num_columns, source_columns), ids


def _name_columns(names: Any, noun: str) -> list[Column]:
    """Return names, a sequence or a frame, as columns on the host."""
    if frames.is_frame(names):
        _, table = frames.normalize_frame(names)
        labels = frames.column_names(table)
        return [_read_names(table, label) for label in labels]
    if isinstance(names, (str, set, frozenset)) or not hasattr(names, "__len__"):
        reject("names", names, "it must be a list, array, Series or frame")
    names = names if hasattr(names, "dtype") else list(names)
    are_tuples = isinstance(names, list) and all(isinstance(name, tuple) for name in names)
    columns = [names]
    if are_tuples and len(set(map(len, names))) == 1:  # several columns name a vertex
        columns = list(zip(*names))
    try:
        return [_read_names({"names": values}, "names") for values in columns]
    except GraphError as error:
        value = None
        if error.row is not None:
            value = names.iloc[error.row] if hasattr(names, "iloc") else names[error.row]
        problem = (
            " cannot be read" if error.row is None else f" has the {noun} {format_value(value)}"
        )
        raise GraphError(
            f"{{parameter}}{problem}; {noun}s must be all integers, all text, or all tuples of one "
            "length of these",
            parameter="names" if noun == "name" else "g",
            value=value,
        ) from None


def _read_names(table: Any, label: Any) -> Column:
    """Return a column of vertex names on the host."""
    values = frames.get_column(table, label, "vertex")
    check_names(values, label)
    return frames.to_device(values, np)


def _endpoint_columns(num_columns: int) -> list[list[str]]:
    """Return the names of the columns of sources and of destinations."""
    return [
        [endpoint] if num_columns == 1 else [f"{endpoint}_{i}" for i in range(num_columns)]
        for endpoint in ("source", "destination")
    ]
