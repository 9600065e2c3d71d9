"""The backend object: NetworkX looks up functions, conversions and decisions in this module."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from .breadth_first import (
    bfs_edges,
    bfs_layers,
    bfs_predecessors,
    bfs_successors,
    bfs_tree,
    check_order,
    generic_bfs_edges,
    predecessor,
)
from .centrality import (
    check_pagerank,
    check_reciprocity,
    degree_centrality,
    in_degree_centrality,
    is_isolate,
    isolates,
    number_of_isolates,
    number_of_selfloops,
    out_degree_centrality,
    overall_reciprocity,
    pagerank,
    reciprocity,
)
from .clustering import (
    average_clustering,
    check_clustering,
    check_core_number,
    check_pairs,
    clustering,
    core_number,
    jaccard_coefficient,
    transitivity,
    triangles,
)
from .components import (
    connected_components,
    is_connected,
    is_strongly_connected,
    is_weakly_connected,
    node_connected_component,
    number_connected_components,
    number_strongly_connected_components,
    number_weakly_connected_components,
    strongly_connected_components,
    weakly_connected_components,
)
from .graph import (
    ConvertedGraph,
    convert_from_nx,
    convert_to_nx,
)
from .info import on_start_tests
from .search import (
    check_cutoff,
)
from .shortest_paths import (
    all_pairs_shortest_path,
    all_pairs_shortest_path_length,
    ancestors,
    average_shortest_path_length,
    bidirectional_shortest_path,
    check_method,
    descendants,
    descendants_at_distance,
    has_path,
    shortest_path,
    shortest_path_length,
    single_source_shortest_path,
    single_source_shortest_path_length,
    single_target_shortest_path,
    single_target_shortest_path_length,
)
from .weighted import (
    all_pairs_bellman_ford_path,
    all_pairs_bellman_ford_path_length,
    all_pairs_dijkstra,
    all_pairs_dijkstra_path,
    all_pairs_dijkstra_path_length,
    bellman_ford_path,
    bellman_ford_path_length,
    dijkstra_path,
    dijkstra_path_length,
    dijkstra_predecessor_and_distance,
    multi_source_dijkstra,
    multi_source_dijkstra_path,
    multi_source_dijkstra_path_length,
    single_source_bellman_ford,
    single_source_bellman_ford_path,
    single_source_bellman_ford_path_length,
    single_source_dijkstra,
    single_source_dijkstra_path,
    single_source_dijkstra_path_length,
)

__all__ = [
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "ancestors",
    "average_clustering",
    "average_shortest_path_length",
    "bellman_ford_path",
    "bellman_ford_path_length",
    "bfs_edges",
    "bfs_layers",
    "bfs_predecessors",
    "bfs_successors",
    "bfs_tree",
    "bidirectional_shortest_path",
    "can_run",
    "clustering",
    "connected_components",
    "convert_from_nx",
    "convert_to_nx",
    "core_number",
    "degree_centrality",
    "descendants",
    "descendants_at_distance",
    "dijkstra_path",
    "dijkstra_path_length",
    "dijkstra_predecessor_and_distance",
    "generic_bfs_edges",
    "has_path",
    "in_degree_centrality",
    "is_connected",
    "is_isolate",
    "is_strongly_connected",
    "is_weakly_connected",
    "isolates",
    "jaccard_coefficient",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length",
    "node_connected_component",
    "number_connected_components",
    "number_of_isolates",
    "number_of_selfloops",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "on_start_tests",
    "out_degree_centrality",
    "overall_reciprocity",
    "pagerank",
    "predecessor",
    "reciprocity",
    "shortest_path",
    "shortest_path_length",
    "should_run",
    "single_source_bellman_ford",
    "single_source_bellman_ford_path",
    "single_source_bellman_ford_path_length",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
    "strongly_connected_components",
    "transitivity",
    "triangles",
    "weakly_connected_components",
]

CHECKS: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
    "average_clustering": check_clustering,
    "average_shortest_path_length": check_method,
    "bfs_edges": check_order,
    "bfs_predecessors": check_order,
    "bfs_successors": check_order,
    "bfs_tree": check_order,
    "clustering": check_clustering,
    "core_number": check_core_number,
    "generic_bfs_edges": check_order,
    "jaccard_coefficient": check_pairs,
    "overall_reciprocity": check_reciprocity,
    "pagerank": check_pagerank,
    "predecessor": check_order,
    "reciprocity": check_reciprocity,
    "transitivity": check_clustering,
    "triangles": check_clustering,
}
# Sizes, in nodes and edges, from which a call is faster than NetworkX: for functions that are slow
# there, and for others.
MIN_SLOW_SIZE, MIN_SIZE = 500, 5_000
# A conversion takes about as long as two calls of a function that reads every edge once.
NUM_CALLS_BEFORE_CONVERSION = 2
SLOW = {"average_clustering", "clustering", "pagerank", "transitivity", "triangles"}
LINEAR = {
    "ancestors",
    "bfs_edges",
    "bfs_layers",
    "bfs_predecessors",
    "bfs_successors",
    "bfs_tree",
    "bidirectional_dijkstra",
    "connected_components",
    "descendants",
    "descendants_at_distance",
    "generic_bfs_edges",
    "is_connected",
    "is_strongly_connected",
    "is_weakly_connected",
    "node_connected_component",
    "number_connected_components",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "overall_reciprocity",
    "predecessor",
    "reciprocity",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
    "strongly_connected_components",
    "weakly_connected_components",
}
# Functions that NetworkX implements by calling one of LINEAR, so that they must not count twice.
NESTED = {
    "bfs_predecessors",
    "bfs_successors",
    "bfs_tree",
    "descendants",
    "descendants_at_distance",
}
# Why functions are faster in NetworkX, also on graphs that have been converted.
FASTER_IN_NETWORKX = {
    "bidirectional_shortest_path": "NetworkX searches from both ends",
    "has_path": "NetworkX searches from both ends",
    "is_isolate": "NetworkX reads one node",
}
# Functions that read the degrees of all nodes, which NetworkX has without reading edges.
NODES_ONLY = {
    "degree_centrality",
    "in_degree_centrality",
    "isolates",
    "number_of_isolates",
    "number_of_selfloops",
    "out_degree_centrality",
}


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return True, or why a function cannot run with these arguments."""
    try:
        arguments = _bind(name, args, kwargs)
    except TypeError:
        return "there are other arguments"
    if callable(arguments.get("weight")):
        return "weight is a function"
    check = CHECKS.get(name, check_cutoff if "cutoff" in arguments else None)
    return (check and check(arguments)) or True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return True, or why a function is left to NetworkX, which is faster."""
    arguments = _bind(name, args, kwargs)
    graph = arguments["G"]
    if isinstance(graph, ConvertedGraph):
        return True
    if name in ("shortest_path", "shortest_path_length"):
        name = _specific_name(arguments)
    if name in FASTER_IN_NETWORKX:
        return FASTER_IN_NETWORKX[name]
    cache = getattr(graph, "__networkx_cache__", None)  # emptied when the graph changes
    is_converted = bool((cache or {}).get("backends", {}).get("rapidsgraph"))
    if name in NODES_ONLY and not is_converted:
        return "the conversion reads all edges, and NetworkX none"
    is_weighted = "dijkstra" in name or "bellman_ford" in name
    is_slow = name in SLOW or (is_weighted and (is_converted or name.startswith("all_pairs")))
    min_size = MIN_SLOW_SIZE if is_slow else MIN_SIZE
    if len(graph) < min_size and len(graph) + graph.number_of_edges() < min_size:
        return f"the graph has fewer than {min_size:,} nodes and edges"
    if name in LINEAR and not is_converted:
        if cache is None:
            return "the conversion takes longer, and is not cached"
        num_calls = cache.get("rapidsgraph_calls", 0) + 1
        if name not in NESTED:
            cache["rapidsgraph_calls"] = num_calls
        if num_calls <= NUM_CALLS_BEFORE_CONVERSION:
            return f"the conversion takes longer; this is call {num_calls} on this graph"
    return True


def _specific_name(arguments: Mapping[str, Any]) -> str:
    """Return the function that does the work of `shortest_path` for these arguments."""
    is_weighted = arguments["weight"] is not None
    num_ends = sum(arguments[end] is not None for end in ("source", "target"))
    if num_ends == 2:
        return "bidirectional_dijkstra" if is_weighted else "bidirectional_shortest_path"
    ends = "single_source" if num_ends else "all_pairs"
    return f"{ends}_dijkstra_path" if is_weighted else f"{ends}_shortest_path"


def _bind(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    bound = inspect.signature(globals()[name]).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments
