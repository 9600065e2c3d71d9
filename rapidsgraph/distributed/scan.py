"""Structural similarity and SCAN of a distributed graph.

Common neighbors of the edges are counted by triangles as in `algorithms.similarity`: the upper
lists of each rank's vertices travel around a ring of all ranks, with the counts of their edges, and
every rank counts the triangles that its own vertices own. Counts stay on the partitions, so that
other epsilon and mu take arrays over vertices only.

For SCAN each rank finds its cores and links similar ones to a forest over all vertices; the ranks
join their forests, attach their borders to the most similar core, and number the clusters alike.
Partitions are those of `DistributedGraph.simple_partitions`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from .. import device
from ..algorithms.parameters import Parameters, ScanParameters
from ..algorithms.run_memory import ALGORITHM_BYTES
from ..algorithms.scan import (
    ROLES,
    Clustering,
    attach_borders,
    find_cores,
    link_cores,
    list_memberships,
    number_clusters,
)
from ..algorithms.similarity import (
    SimilarityGraph,
    closed_neighborhood_sizes,
    count_triangles,
    list_edge_offsets,
    orient_by_degree,
    similarity_frame,
)
from ..device.arrays import Array
from ..frames import Frame
from ..graph.csr import Adjacency, offsets_from_sizes, row_indices, select_arcs, transpose
from ..graph.local_graph import GraphLike
from ..kernels.constants import BORDER, CORE, HUB, NO_CLUSTER, OUTLIER
from ..progress import Report
from ..validation import check_free_memory
from .communicator import Communicator
from .components import join_forests
from .executor import release_on_error
from .graph import as_undirected
from .partition import Partition
from .storage import finish_frame


@release_on_error
def structural_similarity(graph: GraphLike, parameters: Parameters) -> Frame:
    """Compute the similarity of every edge; see `rapidsgraph.structural_similarity`."""
    graph = as_undirected(graph)
    graph.check_edge_collisions("similarity")
    frame, _ = graph.run_for_frame(
        _compute_similarities, graph.simple_partitions(), tuple(graph.bounds),
        name="similarity",
    )  # fmt: skip
    return frame


@release_on_error
def scan(graph: GraphLike, parameters: ScanParameters) -> Frame:
    """Cluster vertices by structure (SCAN); see `rapidsgraph.scan`.

    A DistributedGraph caches its common-neighbor counts, 8 bytes per edge.
    """
    graph = as_undirected(graph)
    graph.check_name_collisions("cluster", "role")
    frame, _ = graph.run_for_frame(
        _find_clusters, graph.simple_partitions(), tuple(graph.bounds),
        parameters.epsilon, parameters.mu, parameters.memberships, name="scan",
    )  # fmt: skip
    return frame


# SPMD functions: every rank of a communicator calls them.


def _compute_similarities(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    bounds: tuple[int, ...],
) -> tuple:
    """Return the frame of the edges from the partition's vertices to later ones."""
    common, sizes = get_common_neighbors(communicator, partition, bounds)
    adjacency = partition.adjacency
    starts = list_edge_offsets(adjacency)
    frame = similarity_frame(partition.labeling, adjacency, common, sizes, starts)
    return finish_frame(communicator, frame)


def _find_clusters(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    bounds: tuple[int, ...],
    epsilon: Fraction,
    mu: int,
    memberships: bool,
) -> tuple:
    """Return the frame of the clusters and roles of the partition's vertices."""
    xp, local = partition.xp, partition.local_range
    common, sizes = get_common_neighbors(communicator, partition, bounds)
    similar = SimilarityGraph(partition.adjacency, common, epsilon, sizes)
    is_core = communicator.all_gather(find_cores(similar, mu)[local])
    cores = _select_local(partition, is_core)
    parents, is_border = link_cores(similar, cores, is_core)
    join_forests(communicator, parents)
    borders = _select_local(partition, communicator.all_reduce(is_border, "max"))
    nearest_cores, _ = attach_borders(similar, borders, is_core)
    labels = xp.full(partition.num_vertices, NO_CLUSTER, xp.int32)
    labels[cores] = parents[cores]
    labels[borders] = parents[nearest_cores[borders]]
    labels = communicator.all_gather(labels[local])
    members = xp.flatnonzero(labels != NO_CLUSTER).astype(xp.int32)
    clusters, num_clusters = number_clusters(labels, members)
    roles = xp.full(partition.num_vertices, OUTLIER, xp.int8)
    roles[_find_hubs(communicator, partition, similar, clusters)] = HUB
    roles[borders], roles[cores] = BORDER, CORE
    if memberships:
        # Borders of other ranks count as outliers here: each has one row, which is dropped.
        roles[is_core] = CORE
        clustering = Clustering(clusters, roles, num_clusters, members, similar)
        ids, clusters = list_memberships(clustering)
        is_local = _is_within(ids, partition.start, partition.stop)
        ids, clusters = ids[is_local], clusters[is_local]
    else:
        ids, clusters = partition.local_ids, clusters[local]
    labeling = partition.labeling
    role = labeling.text_column(roles[ids], ROLES)
    columns = {"cluster": (clusters, clusters != NO_CLUSTER), "role": role}
    return finish_frame(communicator, labeling.vertex_frame(columns, ids))


def _select_local(partition: Partition, flags: Array) -> Array:
    """Return int32 ids of the partition's vertices whose flag is set."""
    xp = partition.xp
    return (xp.flatnonzero(flags[partition.local_range]) + partition.start).astype(xp.int32)


def _find_hubs(
    communicator: Communicator, partition: Partition, similar: SimilarityGraph, clusters: Array
) -> Array:
    """Return whether each vertex is in no cluster and has neighbors in several."""
    xp, num_vertices = partition.xp, partition.num_vertices
    neighbor_clusters = xp.full(num_vertices, NO_CLUSTER, xp.int32)
    is_hub = xp.zeros(num_vertices, bool)
    similar.launch_on_rows(
        "find_hubs", _select_local(partition, clusters != NO_CLUSTER),
        offsets=partition.adjacency.offsets, neighbors=partition.adjacency.neighbors,
        labels=clusters, neighbor_labels=neighbor_clusters, is_hub=is_hub,
    )  # fmt: skip
    # The lowest cluster of each vertex's neighbors on all ranks, and the negative highest one.
    extremes = xp.stack([neighbor_clusters, -neighbor_clusters])
    extremes[:, neighbor_clusters == NO_CLUSTER] = num_vertices
    extremes[:, is_hub] = -num_vertices
    lowest, negative_highest = communicator.all_reduce(extremes, "min")
    return lowest < -negative_highest


def _is_within(ids: Array, start: int, stop: int) -> Array:
    """Return whether ids are in a range."""
    is_within = ids >= start
    is_within &= ids < stop
    return is_within


# Common neighbors


def get_common_neighbors(
    communicator: Communicator, partition: Partition, bounds: tuple[int, ...]
) -> tuple[Array, Array]:
    """Return |N[u] & N[v]| of every arc (u, v) of the partition, and all |N[v]|, both int32.

    They are cached on the partition.
    """
    return partition.cached_on_all(
        communicator,
        "common neighbors",
        lambda: _count_common_neighbors(communicator, partition, bounds),
    )


def _count_common_neighbors(
    communicator: Communicator, partition: Partition, bounds: tuple[int, ...]
) -> tuple[Array, Array]:
    num_bytes = ALGORITHM_BYTES["scan"].total(partition.num_vertices, partition.num_arcs, False)
    what = f"common neighbors of {partition.num_arcs:,} arcs in a partition"
    check_free_memory(what, num_bytes, partition.xp)
    xp, adjacency, neighbors = partition.xp, partition.adjacency, partition.adjacency.neighbors
    sizes = communicator.all_gather(closed_neighborhood_sizes(partition.local_adjacency))
    degrees = sizes - xp.int32(1)
    upper = orient_by_degree(adjacency, degrees)
    triangles = _count_in_ring(communicator, partition, bounds, degrees, upper)
    # Arcs to upper neighbors are in the order of `upper`; the others have the counts of their
    # reverse arcs, which are on the ranks of their neighbors.
    common = xp.empty(neighbors.size, xp.int32)
    rows = row_indices(adjacency)
    row_degrees, neighbor_degrees = degrees[rows], degrees[neighbors]
    is_lower = row_degrees > neighbor_degrees
    is_lower |= (row_degrees == neighbor_degrees) & (rows > neighbors)
    del rows, row_degrees, neighbor_degrees
    common[~is_lower] = triangles
    reverse = transpose(Adjacency(upper.offsets, upper.neighbors, triangles))
    limits = device.to_host(reverse.offsets[xp.asarray(bounds)]).tolist()
    received = communicator.all_to_all(
        [reverse.weights[start:stop] for start, stop in pairwise(limits)]
    )
    for (start, stop), counts in zip(pairwise(bounds), received, strict=True):
        common[is_lower & _is_within(neighbors, start, stop)] = counts
    common += 2  # both endpoints
    return common, sizes


def _count_in_ring(
    communicator: Communicator,
    partition: Partition,
    bounds: tuple[int, ...],
    degrees: Array,
    upper: Adjacency,
) -> Array:
    """Return the number of triangles of every edge of the partition's upper lists: int32.

    In each step a rank has the upper lists of one other rank, adds to the counts of their edges,
    and passes both on. An edge is processed on the rank of its owner; see kernels/similarity.cu.
    """
    xp, rank, size = partition.xp, communicator.rank, communicator.size
    adjacency, upper_degrees = partition.adjacency, xp.diff(upper.offsets)
    upper_degrees = communicator.all_gather(upper_degrees[partition.local_range])
    triangles = xp.zeros(upper.neighbors.size, xp.int32)
    visitor = upper.neighbors, xp.zeros_like(triangles)
    for step in range(size):
        other = (rank - step) % size
        start, stop = bounds[other : other + 2]
        arcs = select_arcs(adjacency, _is_within(adjacency.neighbors, start, stop))
        if not step:
            count_triangles(arcs, degrees, upper, triangles)
            continue
        visitor = communicator.ring_shift(visitor[0]), communicator.ring_shift(visitor[1])
        pair_degrees = xp.zeros_like(upper_degrees)
        for vertices in (partition.local_range, slice(start, stop)):
            pair_degrees[vertices] = upper_degrees[vertices]
        ascending = 1 if rank < other else -1
        lists = [(upper.neighbors, triangles), visitor][::ascending]
        neighbors, counts = (xp.concatenate(arrays) for arrays in zip(*lists, strict=True))
        pair = Adjacency(offsets_from_sizes(pair_degrees), neighbors, xp.empty(0))
        count_triangles(arcs, degrees, pair, counts)
        middle = lists[0][1].size
        triangles, visitor_counts = (counts[:middle], counts[middle:])[::ascending]
        visitor = visitor[0], visitor_counts
    return triangles + communicator.ring_shift(visitor[1]) if size > 1 else triangles
