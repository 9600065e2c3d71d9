"""Graphs in this process as frames of edges and degrees, and as graphs of other libraries.

Each edge is exported once, in the order of (source, destination); an undirected edge has its
endpoints in ascending order. Arrays of a GPU are copied to the host for SciPy, NetworkX and igraph.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array
from ..errors import GraphError
from ..frames import Frame
from ..validation import check_free_memory
from . import weight_sums
from .csr import Adjacency, row_indices
from .key_sums import count_by_key, sum_by_key
from .local_graph import LocalGraph
from .vertex_names import Labeling

WEIGHT = "weight"  # column and attribute of exported weights
DEGREE_BYTES_PER_ARC = 13  # the row of each arc; of self-loops also a weight and a flag


def list_edges(
    adjacency: Adjacency, directed: bool, weighted: bool
) -> tuple[Array, Array, Array | None]:
    """Return new arrays of the sources, destinations and weights of an adjacency by source."""
    sources, destinations = row_indices(adjacency), adjacency.neighbors
    weights = adjacency.weights if weighted else None
    if directed:  # the caller may change the frame, but not the graph
        return sources, destinations.copy(), None if weights is None else weights.copy()
    is_upper = sources <= destinations
    weights = None if weights is None else weights[is_upper]
    return sources[is_upper], destinations[is_upper], weights


def edge_frame(labeling: Labeling, adjacency: Adjacency, directed: bool, weighted: bool) -> Frame:
    """Return the frame of the edges of an adjacency by source, which may be of a partition."""
    num_arcs, names = adjacency.neighbors.size, labeling.names
    text_bytes = names.text_bytes // max(names.count, 1)
    check_free_memory(
        f"listing the edges of {num_arcs:,} arcs",
        num_arcs * (16 + 2 * (8 * len(names.labels) + text_bytes) + (8 if weighted else 0)),
        labeling.xp,
    )
    sources, destinations, weights = list_edges(adjacency, directed, weighted)
    return labeling.edge_frame(sources, destinations, {} if weights is None else {WEIGHT: weights})


def edges(graph: LocalGraph) -> Frame:
    """Return the edge frame of a graph; see `Graph.edges`."""
    labeling = graph.labeling
    labeling.check_edge_collisions(*edge_columns(graph.weighted))
    return edge_frame(labeling, graph.csr, graph.directed, graph.weighted)


def edge_columns(weighted: bool) -> list[str]:
    """Return the columns of `edge_frame` beside those of names."""
    return [WEIGHT] if weighted else []


def degree_columns(directed: bool, weighted: bool) -> list[str]:
    """Return the columns of degrees in result frames."""
    columns = ["in_degree", "out_degree"] if directed else ["degree"]
    return columns + [f"weighted_{name}" for name in columns if weighted]


def degrees(graph: LocalGraph) -> Frame:
    """Return the frame of the degrees of all vertices; see `Graph.degrees`."""
    names = degree_columns(graph.directed, graph.weighted)
    graph.labeling.check_name_collisions(*names)
    layout, adjacency = graph.first_adjacency()
    check_degree_memory(adjacency, graph.xp)
    if graph.directed:
        of_rows, of_neighbors = "out_degree", "in_degree"
        if layout == "csc":
            of_rows, of_neighbors = of_neighbors, of_rows
        columns = {
            of_rows: graph.xp.diff(adjacency.offsets), of_neighbors: count_neighbors(adjacency)
        }  # fmt: skip
        if graph.weighted:
            columns[f"weighted_{of_rows}"] = sum_rows(adjacency)
            columns[f"weighted_{of_neighbors}"] = sum_neighbors(adjacency)
    else:
        columns = undirected_degrees(adjacency, graph.weighted)
    return graph.labeling.vertex_frame({name: columns[name] for name in names})


def undirected_degrees(adjacency: Adjacency, weighted: bool) -> dict[str, Array]:
    """Return the degrees of an undirected graph, in which a self-loop counts twice."""
    xp, rows = device.array_module(adjacency.neighbors), row_indices(adjacency)
    is_loop = rows == adjacency.neighbors
    num_vertices, loops = adjacency.offsets.size - 1, rows[is_loop]
    degrees = xp.diff(adjacency.offsets) + count_by_key(loops, num_vertices)
    columns = {"degree": degrees.astype(xp.int64)}
    if weighted:
        sums = sum_by_key(rows, adjacency.weights, num_vertices)
        columns["weighted_degree"] = sums + sum_by_key(
            loops, adjacency.weights[is_loop], num_vertices
        )
    return columns


def count_neighbors(adjacency: Adjacency) -> Array:
    """Return how many arcs have each vertex as neighbor: int64."""
    counts = count_by_key(adjacency.neighbors, adjacency.offsets.size - 1)
    return counts.astype(np.int64)


def sum_neighbors(adjacency: Adjacency) -> Array:
    """Return the sum of the weights of the arcs that have each vertex as neighbor: float64."""
    return sum_by_key(adjacency.neighbors, adjacency.weights, adjacency.offsets.size - 1)


def sum_rows(adjacency: Adjacency) -> Array:
    """Return the sum of the weights of each row: float64."""
    return sum_by_key(row_indices(adjacency), adjacency.weights, adjacency.offsets.size - 1)


def check_degree_memory(adjacency: Adjacency, xp: device.ArrayModule) -> None:
    """Raise InsufficientMemoryError unless the degrees fit into free memory."""
    num_arcs, num_vertices = adjacency.neighbors.size, adjacency.offsets.size - 1
    num_bytes = DEGREE_BYTES_PER_ARC * num_arcs + 64 * num_vertices
    check_free_memory(f"the degrees of {num_vertices:,} vertices", num_bytes, xp)


def to_scipy(graph: LocalGraph) -> Any:
    """Return the adjacency matrix of a graph; see `Graph.to_scipy`."""
    sparse = _import("scipy.sparse", "scipy")
    offsets, neighbors, weights = map(
        device.to_host, (graph.csr.offsets, graph.csr.neighbors, graph.csr.weights)
    )
    values = weights.copy() if graph.weighted else np.ones(neighbors.size, np.int64)
    if not graph.is_merged and graph.weighted:  # SciPy would sum in the type of the weights
        is_exact = values.dtype.kind == "i" and weight_sums.sum_exactly(values) < 2**63
        values = values.astype(np.int64 if is_exact else np.float64)
    arrays = values, neighbors.copy(), offsets.copy()  # the matrix is the caller's to change
    matrix = sparse.csr_array(arrays, shape=(graph.num_vertices, graph.num_vertices))
    if not graph.is_merged:
        with np.errstate(over="ignore"):
            matrix.sum_duplicates()
        weight_sums.check_merged_weights(
            Adjacency(matrix.indptr, matrix.indices, matrix.data), graph.labeling
        )
    return matrix


def to_networkx(graph: LocalGraph) -> Any:
    """Return the NetworkX graph of a graph; see `Graph.to_networkx`."""
    networkx = _import("networkx")
    kind = ("Di" if graph.directed else "") + "Graph"
    result = getattr(networkx, kind if graph.is_merged else f"Multi{kind}")()
    nodes = _name_objects(graph)
    result.add_nodes_from(nodes)
    sources, destinations, weights = _list_on_host(graph)
    endpoints = (map(nodes.__getitem__, ids.tolist()) for ids in (sources, destinations))
    if weights is None:
        result.add_edges_from(zip(*endpoints))
    else:
        result.add_weighted_edges_from(zip(*endpoints, weights.tolist()), weight=WEIGHT)
    return result


def to_igraph(graph: LocalGraph) -> Any:
    """Return the igraph graph of a graph; see `Graph.to_igraph`."""
    igraph = _import("igraph")
    sources, destinations, weights = _list_on_host(graph)
    edges = list(zip(sources.tolist(), destinations.tolist()))  # read faster than an array
    result = igraph.Graph(n=graph.num_vertices, edges=edges, directed=graph.directed)
    if graph.names.distinct[0] is not None:
        result.vs["name"] = _name_objects(graph)
    if weights is not None:
        result.es[WEIGHT] = weights.tolist()
    return result


def _list_on_host(graph: LocalGraph) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    sources, destinations, weights = list_edges(graph.csr, graph.directed, graph.weighted)
    return (
        device.to_host(sources),
        device.to_host(destinations),
        None if weights is None else device.to_host(weights),
    )


def _name_objects(graph: LocalGraph) -> list:
    """Return the vertex names as a list of int, str or tuples."""
    columns = [
        frames.to_device(values, np).tolist() for values in graph.names.columns(graph.xp).values()
    ]
    return columns[0] if len(columns) == 1 else list(zip(*columns))


def _import(name: str, package: str | None = None) -> Any:
    """Return an optional module; raise GraphError if its package is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = package or name
        hint = f"pip install {package}"
        raise GraphError(
            f"this conversion needs {package}, which is not installed; {hint}", hint=hint
        ) from error
