"""Breadth-first search and single-source shortest paths on a graph in one memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import frames
from ..device import Array
from ..frames import Frame, Vertices
from ..graph.graph import Graph
from ..graph.local_graph import GraphLike, LocalGraph, as_local_graph, build_graph
from ..graph.vertex_arguments import resolve_vertices
from ..graph.vertex_names import Labeling
from ..graph.weight_sums import can_overflow, check_distances
from ..kernels.constants import NO_VERTEX
from ..validation import check_number, reject
from .parameters import SearchParameters
from .run_memory import check_run_memory
from .traversal_search import TraversalResult, run_bfs, run_sssp


def bfs(graph: GraphLike, parameters: SearchParameters) -> Frame:
    """Search a graph or frame breadth-first; see `rapidsgraph.bfs`."""
    is_graph = isinstance(graph, LocalGraph)
    graph = as_local_graph(graph)
    ids = _check_and_resolve(graph, parameters.source, "bfs", "BFS")
    bottom_up = is_graph or not graph.directed
    result = run_bfs(graph, ids, parameters.depth_limit, parameters.predecessors, bottom_up)
    distances = result.distances, result.distances >= 0
    return traversal_frame(graph.labeling, result, distances, parameters.predecessors)


def sssp(graph: GraphLike, parameters: SearchParameters) -> Frame:
    """Find shortest paths in a graph or frame; see `rapidsgraph.sssp`."""
    cutoff, predecessors = parameters.max_distance, parameters.predecessors
    is_graph = isinstance(graph, LocalGraph)
    graph = weighted_graph(graph)
    ids = _check_and_resolve(graph, parameters.source, "sssp", "SSSP")
    bottom_up = is_graph or not graph.directed
    if graph.weighted:
        result = run_sssp(graph, ids, cutoff, predecessors, bottom_up)
        distances = result.distances
        if cutoff == math.inf and can_overflow(graph.total_weight):
            check_distances(graph.csr, distances, graph.labeling)
    else:
        result = run_bfs(graph, ids, parameters.depth_limit, predecessors, bottom_up)
        distances = float_distances(result.distances)
    return traversal_frame(graph.labeling, result, distances, predecessors)


def float_distances(distances: Array) -> Array:
    """Return the distances of a BFS as `sssp` returns them."""
    weights = distances.astype(np.float64)
    weights[distances < 0] = math.inf
    return weights


def weighted_graph(edges: GraphLike) -> LocalGraph:
    """Return the storage of a graph; build one with minimum weights from a frame."""
    if isinstance(edges, (Graph, LocalGraph)):
        return as_local_graph(edges)
    _, frame = frames.normalize_frame(edges)
    if "weight" not in frames.column_names(frame):
        return build_graph(edges)
    return build_graph(edges, weight="weight", multi_edges="min")


def _check_and_resolve(
    graph: LocalGraph, source: Vertices | None, algorithm: str, title: str
) -> Array:
    """Check result columns and free memory; return the ids of the sources."""
    check_result_columns(graph.labeling)
    ids = resolve_vertices(graph.labeling, source)
    size = f"{graph.num_vertices:,} vertices and {graph.num_arcs:,} arcs"
    check_run_memory(graph, algorithm, f"{title} of {size}")
    return ids


def check_result_columns(labeling: Any) -> None:
    """Raise GraphError if result columns of a traversal collide with name columns."""
    labeling.check_name_collisions("distance", *labeling.endpoint_columns("predecessor").values())


def traversal_frame(
    labeling: Labeling, result: TraversalResult, distances: Any, predecessors: bool
) -> Frame:
    """Return the result frame of `bfs` and `sssp`."""
    columns = {"distance": distances}
    if predecessors:
        known = result.predecessors < NO_VERTEX
        columns |= labeling.name_columns(result.predecessors, known, "predecessor")
    return labeling.vertex_frame(columns)


def check_cutoff(cutoff: Any) -> float:
    """Return the cutoff as float, infinity for None; it must be a number, 0 or more."""
    return math.inf if cutoff is None else check_number("cutoff", cutoff)


def check_depth_limit(limit: Any) -> int:
    """Return the limit as int, NO_VERTEX for None; it must be an integer, 0 or more."""
    if limit is None:
        return NO_VERTEX
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 0:
        reject("depth_limit", limit, "it must be a number of edges, 0 or more")
    return min(int(limit), NO_VERTEX)
