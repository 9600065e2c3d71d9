"""Structural similarity and SCAN of a distributed graph.

Each partition finds its cores and joins similar ones, also across its range, to a forest over all
vertices; the forests are joined to one. Borders attach to their most similar core among all, one
task numbers the clusters, and hubs are vertices whose own neighbors are in several clusters.
Results equal those of `algorithms.scan`; `scan_partition` counts common neighbors once,
so that other epsilon and mu take arrays over vertices only.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from .. import device
from ..algorithms.components import compress
from ..algorithms.scan import (
    BORDER,
    CORE,
    HUB,
    OUTLIER,
    ROLES,
    Clustering,
    Epsilon,
    attach_borders,
    check_epsilon,
    check_mu,
    find_cores,
    list_memberships,
    number_clusters,
)
from ..algorithms.similarity import METHODS, ScanMethod, SimilarityGraph
from ..device.arrays import Array
from ..frames import Frame
from ..graph.csr import row_indices
from ..graph.local_graph import GraphLike
from ..graph.vertex_names import Labeling
from ..validation import check_auto_method, check_flag
from .components import join_forests
from .executor import release_on_error
from .graph import DistributedGraph
from .partition import Partition, add_arrays, concatenate
from .scan_partition import all_gather, get_neighborhoods, is_within


@release_on_error
def structural_similarity(graph: GraphLike, *, method: ScanMethod = "auto") -> Frame:
    """Compute the similarity of every edge; see `rapidsgraph.structural_similarity`.

    Parameters
    ----------
    graph : DistributedGraph or Dask frame
    method : {"auto"}

    Returns
    -------
    Dask frame
        `source`, `destination`, `similarity`, sorted; as many partitions as the graph has.

    Raises
    ------
    GraphError
        Method "gpuscan", which is for graphs in one memory, or an unsuitable frame.
    InsufficientMemoryError
        A partition would not fit on its worker.
    """
    check_auto_method(method, METHODS, "distributed graphs")
    graph = _as_undirected(graph)
    columns = [graph.endpoint_columns(each).values() for each in ("source", "destination")]
    graph.check_name_collisions("similarity", *columns[0], *columns[1])
    edges = graph.executor.map(
        _compute_similarities, *get_neighborhoods(graph), name="similarities"
    )
    return _to_dask(graph, edges, _create_edge_frame)


@release_on_error
def scan(
    graph: GraphLike,
    *,
    epsilon: Epsilon = 0.5,
    mu: int = 3,
    memberships: bool = False,
    method: ScanMethod = "auto",
) -> Frame:
    """Cluster vertices by structure (SCAN); see `rapidsgraph.scan`.

    Parameters
    ----------
    graph : DistributedGraph or Dask frame
        A DistributedGraph caches its common-neighbor counts, 8 bytes per edge.
    epsilon, mu, memberships
        As of `rapidsgraph.scan`.
    method : {"auto"}

    Returns
    -------
    Dask frame
        `vertex`, `cluster`, `role`, sorted by vertex; as many partitions as the graph has.

    Raises
    ------
    GraphError
        `epsilon` or `mu` out of range, method "gpuscan", which is for graphs in one memory, or an
        unsuitable frame.
    InsufficientMemoryError
        A partition would not fit on its worker.
    """
    epsilon, mu = check_epsilon(epsilon), check_mu(mu)
    check_flag("memberships", memberships)
    check_auto_method(method, METHODS, "distributed graphs")
    graph = _as_undirected(graph)
    graph.check_name_collisions("cluster", "role")
    executor, neighborhoods = graph.executor, (*get_neighborhoods(graph), repeat(epsilon))
    partitions = graph.simple_partitions()
    local_cores = executor.map(_find_cores, *neighborhoods, repeat(mu), name="cores")
    is_core = all_gather(executor, local_cores, "is-core")
    forests = executor.map(_join_cores, *neighborhoods, is_core, name="forest")
    joined = executor.tree_reduce(_join_forests, forests, "join-forests")
    forest = executor.submit(_compress, joined, name="forest")
    labels = executor.map(_label, *neighborhoods, is_core, repeat(forest), name="labels")
    clusters = repeat(executor.submit(_number_clusters, labels, name="clusters"))
    roles = executor.map(_assign_roles, partitions, is_core, clusters, name="roles")
    if memberships:
        rows = executor.map(
            _list_memberships, *neighborhoods, is_core, clusters, roles, name="memberships"
        )
    else:
        rows = executor.map(_list_vertices, partitions, clusters, roles, name="clustering")
    return _to_dask(graph, rows, _create_vertex_frame)


def _as_undirected(edges: Any) -> DistributedGraph:
    """Return a DistributedGraph as it is; build an undirected one without self-loops."""
    if isinstance(edges, DistributedGraph):
        return edges
    return DistributedGraph(edges, directed=False, self_loops="drop")


def _to_dask(
    graph: DistributedGraph, rows: list, create_frame: Callable[[Labeling, Any], Frame]
) -> Frame:
    """Return a Dask frame of ``create_frame(labeling, rows)`` of each partition."""
    executor = graph.executor
    counts = executor.gather(executor.map(_count_rows, rows, name="rows"))
    frames = executor.map(create_frame, repeat(graph.labeling), rows, name="label")
    return graph.to_dask(frames, counts)


def _count_rows(rows: tuple) -> int:
    return rows[0].size


# Tasks of the similarity


def _compute_similarities(
    partition: Partition, common: Array, sizes: Array
) -> tuple[Array, Array, Array]:
    """Return sources, destinations and similarities of the edges to larger ids."""
    adjacency, xp = partition.local_adjacency, partition.xp
    sources, destinations = row_indices(adjacency), adjacency.neighbors
    sources += xp.int32(partition.start)
    is_later = destinations > sources
    sources, destinations, common = sources[is_later], destinations[is_later], common[is_later]
    product = sizes[sources].astype(xp.float64)
    product *= sizes[destinations]
    return sources, destinations, common / xp.sqrt(product)


def _create_edge_frame(labeling: Labeling, edges: tuple[Array, Array, Array]) -> Frame:
    sources, destinations, similarities = edges
    return labeling.edge_frame(sources, destinations, {"similarity": similarities})


# Tasks of the clustering


def _select_local(partition: Partition, flags: Array) -> Array:
    """Return int32 ids of the partition's vertices whose flag is set."""
    xp = partition.xp
    return (xp.flatnonzero(flags[partition.local_range]) + partition.start).astype(xp.int32)


def _find_cores(partition: Partition, common: Array, sizes: Array, epsilon: Any, mu: int) -> Array:
    """Return whether each vertex of the partition is a core."""
    similar = SimilarityGraph(partition.adjacency, common, epsilon, sizes)
    return find_cores(similar, mu)[partition.local_range].copy()


def _join_cores(
    partition: Partition, common: Array, sizes: Array, epsilon: Any, is_core: Array
) -> tuple[Array, Array]:
    """Return the forest of similar cores along the partition's arcs, and which vertices border."""
    xp, similar = partition.xp, SimilarityGraph(partition.adjacency, common, epsilon, sizes)
    parents = xp.arange(partition.num_vertices, dtype=xp.int32)
    is_border = xp.zeros(partition.num_vertices, bool)
    similar.launch(
        "join_cores", _select_local(partition, is_core), is_core=is_core, parents=parents,
        is_border=is_border,
    )  # fmt: skip
    return parents, is_border


def _join_forests(*forests: tuple[Array, Array]) -> tuple[Array, Array]:
    parents, flags = zip(*forests, strict=True)
    return join_forests(*parents), add_arrays(*flags)


def _compress(forest: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the forest with every vertex one step from its root."""
    parents, is_border = forest[0].copy(), forest[1]
    compress(parents)
    return parents, is_border


def _label(
    partition: Partition,
    common: Array,
    sizes: Array,
    epsilon: Any,
    is_core: Array,
    forest: tuple[Array, Array],
) -> Array:
    """Return the root of the cluster of each vertex of the partition, or -1: int32."""
    xp, (parents, is_border) = partition.xp, forest
    similar = SimilarityGraph(partition.adjacency, common, epsilon, sizes)
    cores, borders = _select_local(partition, is_core), _select_local(partition, is_border)
    nearest_cores, _ = attach_borders(similar, borders, is_core)
    labels = xp.full(partition.num_local, -1, xp.int32)
    labels[cores - partition.start] = parents[cores]
    labels[borders - partition.start] = parents[nearest_cores[borders]]
    return labels


def _number_clusters(labels: list[Array]) -> Array:
    """Return the cluster number of every vertex, or -1: int32."""
    all_labels = concatenate(labels)
    xp = device.array_module(all_labels)
    members = xp.flatnonzero(all_labels >= 0).astype(xp.int32)
    return number_clusters(all_labels, members)[0]


def _assign_roles(partition: Partition, is_core: Array, clusters: Array) -> Array:
    """Return the index in ROLES of each vertex of the partition: int8."""
    own = partition.local_range
    roles = partition.xp.full(partition.num_local, OUTLIER, partition.xp.int8)
    roles[_find_between_clusters(partition, clusters)] = HUB  # unless it is in a cluster itself
    roles[clusters[own] >= 0] = BORDER
    roles[is_core[own]] = CORE
    return roles


def _find_between_clusters(partition: Partition, clusters: Array) -> Array:
    """Return the rows, with repetitions, whose neighbors are in several clusters."""
    adjacency = partition.local_adjacency
    rows, neighbor_clusters = row_indices(adjacency), clusters[adjacency.neighbors]
    is_clustered = neighbor_clusters >= 0
    rows, neighbor_clusters = rows[is_clustered], neighbor_clusters[is_clustered]
    # A row has several clusters if two consecutive entries differ.
    differs = neighbor_clusters[1:] != neighbor_clusters[:-1]
    return rows[1:][(rows[1:] == rows[:-1]) & differs]


def _list_vertices(
    partition: Partition, clusters: Array, roles: Array
) -> tuple[Array, Array, Array]:
    """Return ids, clusters and roles of the partition's vertices."""
    return partition.local_ids, clusters[partition.local_range], roles


def _list_memberships(
    partition: Partition,
    common: Array,
    sizes: Array,
    epsilon: Any,
    is_core: Array,
    clusters: Array,
    roles: Array,
) -> tuple[Array, Array, Array]:
    """Return the rows of `_list_vertices` and one for each further cluster of a border."""
    similar = SimilarityGraph(partition.adjacency, common, epsilon, sizes)
    xp = partition.xp
    all_roles = xp.full(partition.num_vertices, OUTLIER, xp.int8)
    all_roles[is_core] = CORE
    all_roles[partition.local_range] = roles
    # Borders of other partitions count as outliers: they get one row, which is dropped.
    clustering = Clustering(clusters, all_roles, 0, xp.empty(0, xp.int32), similar)
    ids, clusters = list_memberships(clustering)
    keep = is_within(ids, partition.start, partition.num_local)
    ids = ids[keep]
    return ids, clusters[keep], roles[ids - partition.start]


def _create_vertex_frame(labeling: Labeling, rows: tuple[Array, Array, Array]) -> Frame:
    ids, clusters, roles = rows
    columns = {"cluster": (clusters, clusters >= 0), "role": labeling.text_column(roles, ROLES)}
    return labeling.vertex_frame(columns, ids)
