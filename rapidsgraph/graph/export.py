"""Conversion of graphs in this process to edge frames, SciPy, NetworkX and igraph.

Each edge is exported once, in the order of (source, destination); an undirected edge has its
endpoints in ascending order. Arrays of a GPU are copied to the host for other libraries.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array
from ..errors import GraphError
from ..frames import Frame
from ..validation import check_free_memory
from . import weight_sums
from .csr import Adjacency, row_indices
from .local_graph import LocalGraph
from .vertex_names import Labeling, check_name_collisions, endpoint_columns

WEIGHT = "weight"  # column and attribute of exported weights


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


def check_edge_columns(
    labels: Sequence[str], is_endpoint_specific: Sequence[bool], weighted: bool
) -> None:
    """Raise GraphError if a shared name column has the name of another column of edges.

    `labels` and `is_endpoint_specific` are as in `Labeling`.
    """
    columns = [WEIGHT] if weighted else []
    for endpoint in ("source", "destination"):
        columns += endpoint_columns(labels, is_endpoint_specific, endpoint).values()
    check_name_collisions(labels, columns)


def edges(graph: LocalGraph) -> Frame:
    """Return the edge frame of a graph; see `Graph.edges`."""
    labeling = graph.labeling
    check_edge_columns(labeling.names.labels, labeling.is_endpoint_specific, graph.weighted)
    return edge_frame(labeling, graph.csr, graph.directed, graph.weighted)


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
