"""The description of the backend, which NetworkX reads when it is imported, and its failing tests.

This module imports nothing else of the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

RANKS = "Values agree to rounding. `alpha` from 0 to 1, `tol` above 0, no negative values."
UNDIRECTED = "Supports undirected graphs without weights only."
TIES = "If several shortest paths join two nodes, the backend may return a different one."
ORDER = (
    "Calls with `sort_neighbors` or `neighbors`, or with `reverse` on a directed graph, are left "
    "to NetworkX."
)
FUNCTIONS = {  # and what differs from NetworkX, as its documentation shows it
    "all_pairs_bellman_ford_path": TIES,
    "all_pairs_bellman_ford_path_length": "",
    "all_pairs_dijkstra": TIES,
    "all_pairs_dijkstra_path": TIES,
    "all_pairs_dijkstra_path_length": "",
    "all_pairs_shortest_path": TIES,
    "all_pairs_shortest_path_length": "",
    "ancestors": "",
    "average_clustering": UNDIRECTED,
    "average_shortest_path_length": "",
    "bellman_ford_path": TIES,
    "bellman_ford_path_length": "",
    "bfs_edges": ORDER,
    "bfs_layers": "",
    "bfs_predecessors": ORDER,
    "bfs_successors": ORDER,
    "bfs_tree": ORDER,
    "bidirectional_shortest_path": TIES,
    "clustering": UNDIRECTED,
    "connected_components": "",
    "core_number": "Undirected graphs only.",
    "degree_centrality": "",
    "descendants": "",
    "descendants_at_distance": "",
    "dijkstra_path": TIES,
    "dijkstra_path_length": "",
    "dijkstra_predecessor_and_distance": "",
    "generic_bfs_edges": ORDER,
    "has_path": "",
    "in_degree_centrality": "",
    "is_connected": "",
    "is_isolate": "",
    "is_strongly_connected": "",
    "is_weakly_connected": "",
    "isolates": "",
    "jaccard_coefficient": "Requires `ebunch`, and graphs without self-loops.",
    "multi_source_dijkstra": TIES,
    "multi_source_dijkstra_path": TIES,
    "multi_source_dijkstra_path_length": "",
    "node_connected_component": "",
    "number_connected_components": "",
    "number_of_isolates": "",
    "number_of_selfloops": "",
    "number_strongly_connected_components": "",
    "number_weakly_connected_components": "",
    "out_degree_centrality": "",
    "overall_reciprocity": "",
    "pagerank": RANKS,
    "predecessor": "",
    "reciprocity": "`nodes` must be None.",
    "shortest_path": TIES,
    "shortest_path_length": "",
    "single_source_bellman_ford": TIES,
    "single_source_bellman_ford_path": TIES,
    "single_source_bellman_ford_path_length": "",
    "single_source_dijkstra": TIES,
    "single_source_dijkstra_path": TIES,
    "single_source_dijkstra_path_length": "",
    "single_source_shortest_path": TIES,
    "single_source_shortest_path_length": "",
    "single_target_shortest_path": TIES,
    "single_target_shortest_path_length": "",
    "strongly_connected_components": "",
    "transitivity": UNDIRECTED,
    "triangles": "",
    "weakly_connected_components": "",
}

OTHER_PATH = "the test demands one of several shortest paths, and the backend may find another"
EXPECTED_FAILURES = {  # tests of NetworkX, and why they fail
    "TestMinimumCycleBasis::test_unweighted_diamond": OTHER_PATH,
    "TestMinimumCycleBasis::test_weighted_diamond": OTHER_PATH,
    "TestMinimumCycleBasis::test_petersen_graph": OTHER_PATH,
    "TestMinimumCycleBasis::test_gh6787_and_edge_attribute_names": OTHER_PATH,
}


def get_info() -> dict[str, Any]:
    """Return the description of the backend in the form that NetworkX defines."""
    return {
        "backend_name": "rapidsgraph",
        "project": "rapidsgraph",
        "package": "rapidsgraph",
        "short_summary": "Kernels of rapidsgraph on a CPU, or on an NVIDIA GPU where there is one.",
        "functions": {name: {"additional_docs": notes} for name, notes in FUNCTIONS.items()},
        "default_config": {"device": "auto"},  # or "cpu" or "gpu"
    }


def on_start_tests(items: Sequence[Any]) -> None:
    """Mark the tests of NetworkX that are expected to fail; NetworkX calls this with all tests."""
    import pytest

    for item in items:
        reason = EXPECTED_FAILURES.get("::".join(item.nodeid.split("::")[1:]))
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason))
