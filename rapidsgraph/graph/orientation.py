"""Graphs of the same edges in other directions: reversed, or both ways."""

from __future__ import annotations

from ..validation import check_choice, check_free_memory
from .build_memory import csr_build_bytes
from .csr import MULTI_EDGES, MultiEdges, row_indices
from .local_graph import LocalGraph, build_from_ids


def reverse(graph: LocalGraph) -> LocalGraph:
    """Return the graph of the reversed edges, which shares all arrays; see `Graph.reverse`."""
    other = {"csr": "csc", "csc": "csr"}
    layouts = [other[layout] for layout in other if graph.has_layout(layout)]
    adjacencies = dict(zip(layouts, graph.built, strict=True))
    return graph.derive(adjacencies, graph.labeling, num_edges=graph.num_edges)


def to_undirected(graph: LocalGraph, multi_edges: MultiEdges | None) -> LocalGraph:
    """Return the undirected graph of the edges of a directed one; see `Graph.to_undirected`."""
    policy = graph.multi_edges if multi_edges is None else multi_edges
    check_choice("multi_edges", policy, MULTI_EDGES)
    adjacency = graph.csr
    check_free_memory(
        f"building a graph of {graph.num_arcs:,} edges",
        csr_build_bytes(
            graph.num_arcs, graph.num_vertices, weighted=graph.weighted, directed=False,
            multi_edges=policy, self_loops="keep", xp=graph.xp,
        ),
        graph.xp,
    )  # fmt: skip
    weights = adjacency.weights if graph.weighted else None
    coo = [row_indices(adjacency), adjacency.neighbors, weights]
    undirected = build_from_ids(
        coo, graph.labeling, directed=False, multi_edges=policy, self_loops=graph.self_loops
    )
    return undirected.with_candidates_of(graph)
