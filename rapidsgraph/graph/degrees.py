"""Degrees of the vertices of a graph or partition."""

from __future__ import annotations

from .. import device
from ..device import Array
from ..frames import Frame
from ..validation import check_free_memory
from .csr import Adjacency, row_indices
from .local_graph import LocalGraph

BYTES_PER_ARC = 13  # the row of each arc; of self-loops also a weight and a flag
DIRECTED = {"in": "in_degree", "out": "out_degree"}


def degree_columns(directed: bool, weighted: bool) -> list[str]:
    """Return the columns of degrees in result frames."""
    columns = list(DIRECTED.values()) if directed else ["degree"]
    return columns + [f"weighted_{name}" for name in columns if weighted]


def degrees(graph: LocalGraph) -> Frame:
    """Return the frame of the degrees of all vertices; see `Graph.degrees`."""
    names = degree_columns(graph.directed, graph.weighted)
    graph.labeling.check_name_collisions(*names)
    adjacency = graph.built[0]
    check_degree_memory(adjacency, graph.xp)
    if graph.directed:
        rows, neighbors = ("out", "in") if graph.has_layout("csr") else ("in", "out")
        columns = {DIRECTED[rows]: graph.xp.diff(adjacency.offsets)} | {
            DIRECTED[neighbors]: count_neighbors(adjacency)
        }
        if graph.weighted:
            columns[f"weighted_{DIRECTED[rows]}"] = sum_rows(adjacency)
            columns[f"weighted_{DIRECTED[neighbors]}"] = sum_neighbors(adjacency)
    else:
        columns = undirected_degrees(adjacency, graph.weighted)
    return graph.labeling.vertex_frame({name: columns[name] for name in names})


def undirected_degrees(adjacency: Adjacency, weighted: bool) -> dict[str, Array]:
    """Return the degrees of an undirected graph, in which a self-loop counts twice."""
    xp, rows = device.array_module(adjacency.neighbors), row_indices(adjacency)
    is_loop = rows == adjacency.neighbors
    num_vertices, loops = adjacency.offsets.size - 1, rows[is_loop]
    degrees = xp.diff(adjacency.offsets) + _sum_by_key(loops, xp.empty(0), num_vertices)
    columns = {"degree": degrees.astype(xp.int64)}
    if weighted:
        sums = _sum_by_key(rows, adjacency.weights, num_vertices)
        columns["weighted_degree"] = sums + _sum_by_key(
            loops, adjacency.weights[is_loop], num_vertices
        )
    return columns


def count_neighbors(adjacency: Adjacency) -> Array:
    """Return how many arcs have each vertex as neighbor: int64."""
    xp, num_vertices = device.array_module(adjacency.neighbors), adjacency.offsets.size - 1
    return _sum_by_key(adjacency.neighbors, xp.empty(0), num_vertices).astype(xp.int64)


def sum_neighbors(adjacency: Adjacency) -> Array:
    """Return the sum of the weights of the arcs that have each vertex as neighbor: float64."""
    return _sum_by_key(adjacency.neighbors, adjacency.weights, adjacency.offsets.size - 1)


def sum_rows(adjacency: Adjacency) -> Array:
    """Return the sum of the weights of each row: float64."""
    return _sum_by_key(row_indices(adjacency), adjacency.weights, adjacency.offsets.size - 1)


def check_degree_memory(adjacency: Adjacency, xp: device.ArrayModule) -> None:
    """Raise InsufficientMemoryError unless the degrees fit into free memory."""
    num_arcs, num_vertices = adjacency.neighbors.size, adjacency.offsets.size - 1
    num_bytes = BYTES_PER_ARC * num_arcs + 64 * num_vertices
    check_free_memory(f"the degrees of {num_vertices:,} vertices", num_bytes, xp)


def _sum_by_key(keys: Array, weights: Array, num_keys: int) -> Array:
    """Return the sum of the weights of each key, or without weights its count: float64."""
    sums = device.array_module(keys).zeros(num_keys)
    device.launch(
        "build", "sum_by_key", size=keys.size, num_items=keys.size, keys=keys, weights=weights,
        weighted=weights.size > 0, sums=sums,
    )  # fmt: skip
    return sums
