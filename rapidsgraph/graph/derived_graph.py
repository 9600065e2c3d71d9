"""Graphs that are derived from others: subgraphs, reversed and undirected ones; neighborhoods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .. import device
from ..device import Array
from ..frames import Frame, Vertices
from ..validation import check_choice, check_free_memory, is_integral, reject
from .build import build_from_ids
from .build_memory import csr_build_bytes
from .csr import Adjacency, filter_offsets, row_indices, select_rows
from .local_graph import LocalGraph
from .multi_edges import MULTI_EDGES, MultiEdges
from .vertex_arguments import resolve_vertices

BYTES_PER_ARC = 40  # of selected rows: row, position, neighbors and flags
BYTES_PER_WEIGHTED_ARC = 16
MIN_SORT_RATIO = 16  # of vertices to neighbors of a frontier that are sorted


def subgraph(graph: LocalGraph, vertices: Vertices) -> LocalGraph:
    """Return the graph of some vertices and the edges between them; see `Graph.subgraph`."""
    xp = graph.xp
    ids = resolve_vertices(graph.labeling, vertices, "vertices", may_be_empty=True)
    layout, rows = graph.first_adjacency()
    check_subgraph_memory(rows, ids, graph.weighted, xp)
    new_ids = xp.full(graph.num_vertices, -1, xp.int32)
    new_ids[ids] = xp.arange(ids.size, dtype=xp.int32)
    rows = select_rows(rows, ids)
    neighbors = new_ids[rows.neighbors]
    keep = neighbors >= 0
    adjacency = Adjacency(
        filter_offsets(keep, rows.offsets), neighbors[keep],
        rows.weights[keep] if graph.weighted else rows.weights,
    )  # fmt: skip
    num_edges = adjacency.neighbors.size
    if not graph.directed:  # a self-loop is one arc, any other edge is two
        num_edges += device.count_nonzero(row_indices(adjacency) == adjacency.neighbors)
        num_edges //= 2
    labeling = replace(graph.labeling, names=graph.names.select(ids, xp))
    return graph.derive({layout: adjacency}, labeling, num_edges=num_edges)


def neighborhood(graph: LocalGraph, vertices: Vertices, hops: Any) -> Frame:
    """Return the vertices within some hops of others; see `Graph.neighborhood`."""
    check_hops(hops)
    xp, labeling = graph.xp, graph.labeling
    labeling.check_name_collisions("distance")
    ids = resolve_vertices(labeling, vertices, "vertices", may_be_empty=True)
    adjacency = graph.csr
    check_free_memory(
        f"a neighborhood among {graph.num_vertices:,} vertices", 24 * graph.num_vertices, xp
    )
    distances = xp.full(graph.num_vertices, -1, xp.int32)
    distances[ids] = 0
    levels, frontier = [ids], ids
    for level in range(1, int(hops) + 1):
        frontier = _expand(adjacency, frontier, distances, level)
        if not frontier.size:
            break
        levels.append(frontier)
    reached = xp.sort(xp.concatenate(levels))
    return labeling.vertex_frame({"distance": distances[reached]}, reached)


def check_subgraph_memory(
    adjacency: Adjacency, ids: Array, weighted: bool, xp: device.ArrayModule
) -> None:
    """Raise InsufficientMemoryError unless the subgraph of some rows fits into free memory."""
    num_arcs = int((adjacency.offsets[ids + 1] - adjacency.offsets[ids]).sum())
    check_free_memory(
        f"the subgraph of {ids.size:,} vertices with {num_arcs:,} arcs",
        (BYTES_PER_ARC + BYTES_PER_WEIGHTED_ARC * weighted) * num_arcs
        + 4 * adjacency.offsets.size + 40 * ids.size,
        xp,
    )  # fmt: skip


def check_hops(hops: Any) -> None:
    """Raise GraphError unless an argument is a number of edges."""
    if not is_integral(hops) or hops < 0:
        reject("hops", hops, "it must be a number of edges, 0 or more")


def _expand(adjacency: Adjacency, frontier: Array, distances: Array, level: int) -> Array:
    """Set the distances of the unreached neighbors of a frontier; return these, each once."""
    xp = device.array_module(frontier)
    num_arcs = int((adjacency.offsets[frontier + 1] - adjacency.offsets[frontier]).sum())
    check_free_memory(f"the neighbors of {num_arcs:,} arcs", BYTES_PER_ARC * num_arcs, xp)
    neighbors = select_rows(adjacency, frontier, with_weights=False).neighbors
    neighbors = neighbors[distances[neighbors] < 0]
    distances[neighbors] = level
    if neighbors.size * MIN_SORT_RATIO < distances.size:  # otherwise a sort takes longer
        return xp.unique(neighbors)
    return xp.flatnonzero(distances == level).astype(xp.int32)


def reverse(graph: LocalGraph) -> LocalGraph:
    """Return the graph of the reversed edges, which shares all arrays; see `Graph.reverse`."""
    other = {"csr": "csc", "csc": "csr"}
    adjacencies = {other[layout]: rows for layout, rows in graph.adjacencies.items()}
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
