"""Structural similarity: the similarity of the neighborhoods of adjacent vertices.

Common neighbors are counted by triangles, with edges oriented from low to high degree. Method
`gpuscan` compares whole neighbor lists.
"""

from __future__ import annotations

from typing import Any

from .. import device, frames
from ..device import Array
from ..graph.build import build_graph
from ..graph.csr import Adjacency, count_upper, row_indices, simplify, to_undirected
from ..graph.graph import local_storage_of
from ..graph.local_graph import LocalGraph
from ..memory import check_run_memory
from ..validation import check_choice

METHODS = ("auto", "gpuscan")
MERGED = 16  # neighbors of all vertices: up to so many, lists are merged as they are
FEW, SOME = 8, 128  # neighbors of a vertex that a thread, a warp counts for alone
# Places in the tables of a warp and, at most, of a block.
SLOTS, MOST_SLOTS = 512, 8192
WARPS = 8  # of a block that count_some runs in


def structural_similarity(graph: Any, *, method: str = "auto") -> Any:
    """Compute the structural similarity of the endpoints of every edge.

    Parameters
    ----------
    graph : Graph or edge frame
        Edges are taken as undirected; self-loops, parallel edges and weights are ignored. A Dask
        frame, or the `Graph` of one, gives a Dask frame.
    method : {"auto", "gpuscan"}, default "auto"
        "gpuscan" compares whole neighbor lists, 4 neighbors of one endpoint with 8 of the other at
        a time on a GPU, as GPUSCAN does. Both give the same result.

    Returns
    -------
    frame
        Columns `source`, `destination` and `similarity` (float64, above 0, at most 1): one row per
        edge, the smaller vertex first, sorted, in the library of the edge frame. The similarity is
        the size of the intersection of both closed neighborhoods (neighbors, and the vertex itself)
        over the geometric mean of their sizes.

    Raises
    ------
    GraphError
        A parameter or the frame cannot be used.
    InsufficientMemoryError
        The run would not fit into memory; raised before it starts.

    References
    ----------
    .. [1] X. Xu, N. Yuruk, Z. Feng and T. A. J. Schweiger, "SCAN: a structural clustering algorithm
       for networks", KDD 2007. https://doi.org/10.1145/1281192.1281280
    .. [2] N. Chiba and T. Nishizeki, "Arboricity and subgraph listing algorithms", SIAM J. Comput.
       14(1), 1985. https://doi.org/10.1137/0214017

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> rg.structural_similarity(edges)
       source  destination  similarity
    0       0            1    1.000000
    1       0            2    0.866025
    2       1            2    0.866025
    3       2            3    0.707107
    """
    check_choice("method", method, METHODS)
    graph = undirected_graph(graph)
    endpoint_columns = [
        name
        for endpoint in ("source", "destination")
        for name in graph.labeling.endpoint_columns(endpoint).values()
    ]
    graph.labeling.check_name_collisions("similarity", *endpoint_columns)
    operation = f"similarity of {graph.num_edges:,} edges"
    check_run_memory(graph, "structural_similarity", operation)
    lists, common, xp = neighborhoods(graph), common_neighbors(graph, method), graph.xp
    count, edges = graph.num_vertices, common.size // 2
    starts = offsets_from_sizes(count_upper(lists))
    sources, destinations = xp.empty(edges, xp.int32), xp.empty(edges, xp.int32)
    similarities = xp.empty(edges)
    device.launch(
        "similarity", "list_edges", size=count + common.size,
        num_vertices=count, offsets=lists.offsets, neighbors=lists.neighbors, common=common,
        starts=starts, sources=sources, destinations=destinations, similarities=similarities,
    )  # fmt: skip
    return graph.labeling.edge_frame(sources, destinations, {"similarity": similarities})


def undirected_graph(edges: Any) -> LocalGraph:
    """Return the storage of a graph; build an undirected one without self-loops from a frame."""
    storage = local_storage_of(edges)
    if isinstance(storage, LocalGraph):
        return storage
    frames.frame_kind(storage)  # raises for a Dask frame
    return build_graph(storage, directed=False, self_loops="drop")


def neighborhoods(graph: LocalGraph) -> Adjacency:
    """Return the undirected simple graph, without weights; cached on the graph."""

    def compute() -> Adjacency:
        if graph.directed:
            return to_undirected(graph.built[0])
        facts = {"is_merged": graph.is_merged, "is_loopless": graph.is_loopless}
        return simplify(graph.csr, **facts)

    return graph.cached("neighborhoods", compute)


def common_neighbors(graph: LocalGraph, method: str = "auto") -> Array:
    """Return |N[u] & N[v]| of every arc (u, v) of `neighborhoods`, int32; cached on the graph."""
    count = _by_triangles if method == "auto" else _by_comparison
    return graph.cached(f"common neighbors, {method}", lambda: count(neighborhoods(graph)))


def offsets_from_sizes(sizes: Array) -> Array:
    """Return the int64 offsets of consecutive lists of these sizes."""
    xp = device.array_module(sizes)
    offsets = xp.zeros(sizes.size + 1, xp.int64)
    xp.cumsum(sizes, out=offsets[1:])
    return offsets


def _by_triangles(lists: Adjacency) -> Array:
    xp = device.array_module(lists.neighbors)
    offsets, neighbors = lists.offsets, lists.neighbors
    vertices, arcs = offsets.size - 1, neighbors.size
    size = vertices + arcs
    degrees = xp.diff(offsets).astype(xp.int32)
    common = xp.empty(arcs, xp.int32)
    if not arcs or int(degrees.max()) <= MERGED:
        device.launch(
            "similarity", "merge_lists", size=size,
            num_vertices=vertices, offsets=offsets, neighbors=neighbors, common=common,
        )  # fmt: skip
        return common
    upper_offsets = xp.empty(vertices, xp.int64)
    device.launch(
        "similarity", "count_upper", size=size,
        num_vertices=vertices, offsets=offsets, neighbors=neighbors, degrees=degrees,
        sizes=upper_offsets,
    )  # fmt: skip
    longest = int(upper_offsets.max())
    upper_offsets = offsets_from_sizes(upper_offsets)
    upper, triangles = xp.empty(arcs // 2, xp.int32), xp.zeros(arcs // 2, xp.int32)
    device.launch(
        "similarity", "gather_upper", size=size,
        num_vertices=vertices, offsets=offsets, neighbors=neighbors, degrees=degrees,
        upper_offsets=upper_offsets, upper_neighbors=upper,
    )  # fmt: skip
    if longest > 1:  # else there is no triangle
        device.launch(
            "similarity", "count_by_thread", size=size,
            num_vertices=vertices, max_degree=FEW, offsets=offsets, neighbors=neighbors,
            upper_offsets=upper_offsets, upper_neighbors=upper, triangles=triangles,
        )  # fmt: skip
        some = xp.flatnonzero((degrees > FEW) & (degrees <= SOME)).astype(xp.int32)
        many = xp.flatnonzero(degrees > SOME).astype(xp.int32)
        needed = min(max(64, 1 << (2 * longest - 1).bit_length()), MOST_SLOTS)
        for entry, chosen, slots, threads, tables in (
            ("count_by_warp", some, SLOTS, 32 * WARPS, WARPS),
            ("count_by_block", many, needed, 512, 1),
        ):
            if chosen.size:
                device.launch(
                    "similarity", entry, size=size, threads=threads,
                    shared_bytes=8 * slots * tables,
                    num_owners=chosen.size, owners=chosen, next_owner=xp.zeros(1, xp.int64),
                    table_size=slots,
                    offsets=offsets, neighbors=neighbors, upper_offsets=upper_offsets,
                    upper_neighbors=upper, triangles=triangles,
                )  # fmt: skip
    device.launch(
        "similarity", "assign_counts", size=size,
        num_vertices=vertices, offsets=offsets, neighbors=neighbors, degrees=degrees,
        upper_offsets=upper_offsets, upper_neighbors=upper, triangles=triangles, common=common,
    )  # fmt: skip
    return common


def _by_comparison(lists: Adjacency) -> Array:
    xp = device.array_module(lists.neighbors)
    arcs, rows = lists.neighbors.size, row_indices(lists)
    common = xp.empty(arcs, xp.int32)
    for entry in ("compare_lists", "mirror_counts"):
        device.launch(
            "similarity", entry, size=32 * arcs,
            num_arcs=arcs, sources=rows, offsets=lists.offsets, neighbors=lists.neighbors,
            common=common,
        )  # fmt: skip
    return common
