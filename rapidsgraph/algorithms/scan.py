"""SCAN: structural clustering into clusters, hubs and outliers.

Clusters are the connected components of similar cores, found by union-find as in `components`;
borders attach to their most similar core. On a CPU, `pruned_scan` counts the common neighbors of a
large graph only where they decide; on a GPU, one block clusters a small graph. `ScanIndex` and
`distributed.scan` count all, and share the other functions.
"""

from __future__ import annotations

import functools
import numbers
import operator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .. import device, frames, kernels
from ..device import Array
from ..errors import GraphError, format_value
from ..frames import Frame
from ..graph.csr import fits_in_block, offsets_from_sizes, row_indices
from ..graph.local_graph import GraphLike, LocalGraph
from ..graph.vertex_names import Labeling
from ..kernels.constants import BORDER, COOPERATIVE_THREADS, CORE, HUB, NO_CLUSTER, OUTLIER
from .components import compress, link_alternately
from .parameters import ScanParameters
from .pruned_scan import link_pruned
from .run_memory import check_run_memory
from .similarity import (
    MAX_MERGE_ARCS,
    MAX_MERGE_DEGREE,
    SimilarityGraph,
    closed_sizes,
    common_neighbors,
    has_common_neighbors,
    neighborhoods,
    undirected_graph,
)

Epsilon = float | Fraction | Decimal
MAX_DIGITS = 1000  # of a Decimal; more may not fit in memory as a Fraction
ROLES = ("core", "border", "hub", "outlier")


def scan(graph: GraphLike, parameters: ScanParameters) -> Frame:
    """Cluster the vertices of a graph or frame; see `rapidsgraph.scan`."""
    method, memberships = parameters.method, parameters.memberships
    graph = undirected_graph(graph, "common neighbors", "mark cores", "cluster")
    graph.labeling.check_name_collisions("cluster", "role")
    needs_more = memberships or method == "gpuscan"
    operation = f"clusters of {graph.num_vertices:,} vertices"
    check_run_memory(graph, "scan", operation, memberships=needs_more)
    clustering = _prune(graph, parameters) if method == "auto" else None
    if clustering is None:
        similar = SimilarityGraph(
            neighborhoods(graph), common_neighbors(graph, method), parameters.epsilon,
            closed_sizes(graph),
        )  # fmt: skip
        if method == "auto" and not memberships and fits_in_block(similar.adjacency):
            return _result_frame(graph.labeling, *_cluster_in_block(similar, parameters.mu))
        if graph.xp is np and method == "auto" and similar.num_arcs <= MAX_MERGE_ARCS:
            clustering = _cluster_small(similar, parameters.mu)
        else:
            clustering = cluster(similar, find_cores(similar, parameters.mu), method)
    return clustering_frame(graph.labeling, clustering, memberships)


def _prune(graph: LocalGraph, parameters: ScanParameters) -> Clustering | None:
    """Return the clustering by pruned SCAN, or None if all common neighbors should be counted.

    On a GPU, counting is faster: its threads run in lockstep, and each count would stop elsewhere.
    """
    if graph.xp is not np or has_common_neighbors(graph):
        return None
    adjacency, sizes = neighborhoods(graph), closed_sizes(graph)
    num_arcs = adjacency.neighbors.size
    if num_arcs <= MAX_MERGE_ARCS or int(sizes.max()) - 1 <= MAX_MERGE_DEGREE:
        return None  # to merge all lists takes no longer than to decide which ones
    common = np.empty(num_arcs, np.int32)
    similar = SimilarityGraph(adjacency, common, parameters.epsilon, sizes)
    links = link_pruned(graph, similar, parameters.mu)
    return None if links is None else _attach(similar, *links)


def check_epsilon(epsilon: Any) -> Fraction:
    """Return epsilon as a Fraction, a float as the decimal that it prints as."""
    try:
        exact = _exact(epsilon)
    except (TypeError, ValueError, OverflowError):  # also NaN and infinity
        exact = None
    if exact is None or not 0 < exact.numerator <= exact.denominator:
        raise GraphError(
            f"epsilon is {format_value(epsilon)}; it must be a number above 0, at most 1",
            parameter="epsilon",
            value=epsilon,
        )
    return exact


def _exact(number: Any) -> Fraction:
    if type(number) is float:
        return _parse_decimal(repr(number))
    if isinstance(number, np.ndarray) and number.ndim == 0:
        number = number[()]
    if isinstance(number, (bool, np.bool_, str, np.timedelta64, np.ndarray)):
        raise TypeError
    if isinstance(number, Decimal):
        digits = number.as_tuple().digits
        if max(abs(number.adjusted()), len(digits)) > MAX_DIGITS:
            raise ValueError
    if isinstance(number, (Fraction, Decimal, numbers.Integral)):
        return Fraction(number)
    if isinstance(number, np.floating):
        return _parse_decimal(str(number))
    return _parse_decimal(repr(number.item() if hasattr(number, "item") else number))


@functools.lru_cache(256)  # parsing takes longer than some kernels on a small graph
def _parse_decimal(text: str) -> Fraction:
    return Fraction(text)


def check_mu(mu: Any) -> int:
    """Return mu as an int; raise GraphError unless it is an integer, at least 1."""
    try:
        if isinstance(mu, (bool, np.bool_)):
            raise TypeError
        whole = operator.index(mu)
    except TypeError:
        whole = 0
    if whole < 1:
        raise GraphError(
            f"mu is {format_value(mu)}; it must be an integer, at least 1",
            parameter="mu",
            value=mu,
        )
    return whole


def _cluster_small(similar: SimilarityGraph, mu: int) -> Clustering:
    """Find cores and return the clustering in one launch on a CPU.

    A launch takes as long as a step on a small graph. Large graphs do without, because those that
    have no cores would wait for the compilation of steps that they do not take.
    """
    num_vertices = similar.num_vertices
    return _run_on_cpu(
        kernels.clustering.cluster_counted, similar, mu=min(mu, num_vertices + 1),
        is_similar=np.empty(similar.num_arcs, bool), is_core=np.empty(num_vertices, bool),
        is_border=np.empty(num_vertices, bool), roots=np.empty(num_vertices, np.int32),
    )  # fmt: skip


def _cluster_in_block(similar: SimilarityGraph, mu: int) -> tuple[frames.NullableIntegers, Array]:
    """Return the clusters of a small graph on a GPU, in one launch, and the roles."""
    num_vertices, num_arcs = similar.num_vertices, similar.num_arcs
    by_vertex = num_vertices, np.int32
    arrays = device.allocate_groups(
        similar.xp,
        {"clusters": by_vertex, "mask": (frames.mask_size(num_vertices), np.uint32),
         "roles": (num_vertices, np.int8), "num_members": (1, np.int64)},
        {"parents": by_vertex, "labels": by_vertex, "cluster_sizes": by_vertex,
         "first_members": by_vertex, "keys": (num_vertices, np.int64),
         "rows": (num_arcs, np.int32)},
    )  # fmt: skip
    device.launch(
        "scan", "cluster_in_block", size=num_arcs, geometry=(1, COOPERATIVE_THREADS),
        num_vertices=num_vertices, num_arcs=num_arcs, mu=min(mu, num_vertices + 1),
        **similar.threshold, **similar.arrays, **arrays,
    )  # fmt: skip
    read = device.start_reading(arrays["num_members"])
    mask = frames.NullMask(arrays["mask"], lambda: read()[0])
    clusters = frames.NullableIntegers(arrays["clusters"], null=NO_CLUSTER, mask=mask)
    return clusters, arrays["roles"]


def find_cores(similar: SimilarityGraph, mu: int) -> Array:
    """Return whether each vertex is similar to at least mu vertices: bool, shape (vertices,)."""
    is_core = similar.xp.empty(similar.num_vertices, bool)
    mu = min(mu, similar.num_vertices + 1)  # no closed neighborhood is larger
    device.launch(
        "scan", "mark_cores", size=similar.num_vertices + similar.num_arcs,
        num_vertices=similar.num_vertices, mu=mu, **similar.threshold, **similar.arrays,
        is_core=is_core,
    )  # fmt: skip
    return is_core


@dataclass
class Clustering:
    """A clustering by vertex id.

    Attributes
    ----------
    clusters : int32 array, shape (vertices,)
        Cluster of every vertex, or NO_CLUSTER.
    roles : int8 array, shape (vertices,)
        Indices in ROLES.
    num_clusters : int
    members : int32 array
        Vertices with a cluster, ascending.
    similar : SimilarityGraph
    """

    clusters: Array
    roles: Array
    num_clusters: int
    members: Array
    similar: SimilarityGraph


def cluster(similar: SimilarityGraph, is_core: Array, method: str = "auto") -> Clustering:
    """Return the clustering that follows from the cores."""
    if method == "gpuscan":
        roots, is_border = _link_by_comparison(similar, is_core)
    elif similar.xp is np:
        cores = device.flatnonzero(is_core)
        if not cores.size:
            return _without_clusters(similar)
        return _run_on_cpu(
            kernels.clustering.cluster_cores, similar, num_cores=cores.size, cores=cores,
            is_core=is_core, is_border=np.zeros(similar.num_vertices, bool),
            roots=np.arange(similar.num_vertices, dtype=np.int32),
        )  # fmt: skip
    else:
        roots, is_border = link_cores(similar, device.flatnonzero(is_core), is_core)
    return _attach(similar, is_core, roots, is_border)


def _attach(similar: SimilarityGraph, is_core: Array, roots: Array, is_border: Array) -> Clustering:
    """Return the clustering of linked cores: attach borders, number clusters, find hubs."""
    xp, num_vertices = similar.xp, similar.num_vertices
    if xp is np:
        if not is_core.any():
            return _without_clusters(similar)
        linked = {"is_core": is_core, "is_border": is_border, "roots": roots}
        return _run_on_cpu(kernels.clustering.cluster_linked, similar, **linked)
    nearest_cores, num_similar_cores = attach_borders(
        similar, device.flatnonzero(is_border), is_core
    )
    labels = xp.empty(num_vertices, xp.int32)
    arguments: dict[str, Any] = {
        "num_vertices": num_vertices, "is_core": is_core, "is_border": is_border, "roots": roots,
        "nearest": nearest_cores, "labels": labels,
    }  # fmt: skip
    is_member = xp.empty(num_vertices, bool)
    device.launch("scan", "label_members", size=num_vertices, is_member=is_member, **arguments)
    del roots, nearest_cores, num_similar_cores, arguments
    members = device.flatnonzero(is_member)
    clusters, num_clusters = number_clusters(labels, members)
    is_hub = _find_hubs(similar, clusters, num_clusters, members)
    roles = xp.empty(num_vertices, xp.int8)
    device.launch(
        "scan", "assign_roles", size=num_vertices, num_vertices=num_vertices, is_core=is_core,
        is_border=is_border, is_hub=is_hub, roles=roles,
    )  # fmt: skip
    return Clustering(clusters, roles, num_clusters, members, similar)


def _without_clusters(similar: SimilarityGraph) -> Clustering:
    """Return the clustering without cores on a CPU, for which no kernel has to be compiled."""
    clusters = np.full(similar.num_vertices, NO_CLUSTER, np.int32)
    roles = np.full(similar.num_vertices, OUTLIER, np.int8)
    return Clustering(clusters, roles, 0, np.empty(0, np.int32), similar)


def _run_on_cpu(kernel: Any, similar: SimilarityGraph, **arguments: Any) -> Clustering:
    """Return the clustering that a kernel of `clustering.py` writes."""
    num_vertices = similar.num_vertices
    names = ("borders", "nearest", "work_space", "clusters", "members")
    # One allocation for all would take longer: its memory is new to the process in each call.
    arrays = {name: np.empty(num_vertices, np.int32) for name in names}
    roles = np.empty(num_vertices, np.int8)
    with device.kernel_lock(), device.limit_threads(num_vertices + similar.num_arcs):
        num_clusters, num_members = kernel(
            floor=similar.min_level, **similar.threshold, **similar.arrays, **arrays, roles=roles,
            **arguments,
        )  # fmt: skip
    clusters, members = arrays["clusters"], arrays["members"][:num_members]
    if similar.min_level:  # a query of an index: the members have few of all lists
        roles[_find_hubs(similar, clusters, num_clusters, members)] = HUB
    return Clustering(clusters, roles, num_clusters, members, similar)


def _find_hubs(
    similar: SimilarityGraph, clusters: Array, num_clusters: int, members: Array
) -> Array:
    """Return whether each vertex is in no cluster and has neighbors in several."""
    xp, adjacency = similar.xp, similar.adjacency
    is_hub = xp.zeros(similar.num_vertices, bool)
    if num_clusters > 1:
        similar.launch_on_rows(
            "find_hubs", members, offsets=adjacency.offsets, neighbors=adjacency.neighbors,
            labels=clusters, is_hub=is_hub,
            neighbor_labels=device.full(similar.num_vertices, NO_CLUSTER, xp.int32, xp),
        )  # fmt: skip
    return is_hub


def link_cores(similar: SimilarityGraph, rows: Array, is_core: Array) -> tuple[Array, Array]:
    """Link the cores in `rows` to similar cores.

    Returns
    -------
    roots : int32 array, shape (vertices,)
        Root of the component of similar cores of every vertex.
    is_border : bool array, shape (vertices,)
        Whether each vertex is similar to one of the rows and not a core.
    """
    xp, num_vertices = similar.xp, similar.num_vertices
    parents = device.arange(num_vertices, xp.int32, xp)
    is_border = xp.zeros(num_vertices, bool)
    if rows.size:
        similar.launch("join_cores", rows, is_core=is_core, parents=parents, is_border=is_border)
        compress(parents)
    return parents, is_border


def _link_by_comparison(similar: SimilarityGraph, is_core: Array) -> tuple[Array, Array]:
    """Return the root of every core's component, and flags of borders, by GPUSCAN's method.

    Cores link to the smallest and to the largest of their similar cores alternately.

    The text of GPUSCAN would also merge clusters that share a border; this does not.
    """
    xp, num_vertices, num_arcs = similar.xp, similar.num_vertices, similar.num_arcs
    sources, destinations = row_indices(similar.adjacency), similar.adjacency.neighbors
    is_similar = xp.empty(num_arcs, bool)
    device.launch(
        "scan", "mark_similar", size=num_arcs,
        num_arcs=num_arcs, **similar.threshold, sources=sources, **similar.arrays,
        is_similar=is_similar,
    )  # fmt: skip
    is_similar &= is_core[sources]
    is_border = xp.zeros(num_vertices, bool)
    is_border[destinations[is_similar]] = True
    is_border &= ~is_core
    is_similar &= is_core[destinations]
    arcs = [sources[is_similar], destinations[is_similar]]
    del sources, is_similar
    return link_alternately(arcs, num_vertices), is_border


def attach_borders(similar: SimilarityGraph, borders: Array, is_core: Array) -> tuple[Array, Array]:
    """Return the most similar core of each border, and its number of similar cores.

    Both are int32 arrays by vertex id. Of equally similar cores the one with the smallest id is
    returned. Other vertices have an undefined core and no similar cores.
    """
    nearest_cores = similar.xp.empty(similar.num_vertices, np.int32)
    num_similar_cores = similar.xp.zeros(similar.num_vertices, np.int32)
    similar.launch(
        "attach_borders", borders, is_core=is_core, nearest=nearest_cores,
        num_similar_cores=num_similar_cores,
    )  # fmt: skip
    return nearest_cores, num_similar_cores


def number_clusters(labels: Array, members: Array) -> tuple[Array, int]:
    """Return clusters numbered by descending size, ties by smallest member, and their number.

    Parameters
    ----------
    labels : int32 array, shape (vertices,)
        Label of the cluster of every member, a vertex id.
    members : int32 array
        Vertices with a cluster, ascending.
    """
    xp, num_vertices = device.array_module(labels), labels.size
    sizes = xp.zeros(num_vertices, xp.int32)
    first_members = device.full(num_vertices, num_vertices, xp.int32, xp)
    if members.size:
        device.launch(
            "scan", "measure_clusters", size=members.size,
            num_members=members.size, members=members, labels=labels, cluster_sizes=sizes,
            first_members=first_members,
        )  # fmt: skip
    keys, num_keys = xp.empty(members.size, xp.int64), xp.zeros(1, xp.int32)
    device.launch(
        "scan", "list_clusters", size=members.size, num_members=members.size, members=members,
        labels=labels, cluster_sizes=sizes, first_members=first_members, keys=keys,
        num_keys=num_keys,
    )  # fmt: skip
    num_clusters = int(num_keys[0])
    keys = keys[:num_clusters]
    keys.sort()
    device.launch(
        "scan", "number_clusters", size=num_clusters,
        num_keys=num_clusters, keys=keys, labels=labels, numbers=first_members,
    )  # fmt: skip
    clusters = device.full(num_vertices, NO_CLUSTER, xp.int32, xp)
    device.launch(
        "scan", "assign_clusters", size=members.size, num_members=members.size, members=members,
        labels=labels, numbers=first_members, clusters=clusters,
    )  # fmt: skip
    return clusters, num_clusters


def list_memberships(clustering: Clustering) -> tuple[Array, Array]:
    """Return vertices and clusters: each vertex once, and borders once per additional cluster."""
    similar, xp = clustering.similar, clustering.similar.xp
    borders = device.flatnonzero(clustering.roles == BORDER)
    is_core = clustering.roles == CORE
    starts = offsets_from_sizes(attach_borders(similar, borders, is_core)[1])
    clusters = xp.empty(int(starts[-1]), xp.int32)
    similar.launch(
        "list_border_clusters", borders, is_core=is_core, labels=clustering.clusters,
        starts=starts, clusters=clusters,
    )  # fmt: skip
    vertices = borders[xp.searchsorted(starts[borders], xp.arange(clusters.size), side="right") - 1]
    is_additional = clusters != clustering.clusters[vertices]
    pairs = xp.unique(vertices[is_additional].astype(xp.int64) << 32 | clusters[is_additional])
    num_vertices = similar.num_vertices
    ids = xp.concatenate((xp.arange(num_vertices, dtype=xp.int32), (pairs >> 32).astype(xp.int32)))
    clusters = xp.concatenate((clustering.clusters, pairs.astype(xp.int32)))
    # Both parts ascend; a vertex's own cluster comes before its additional ones.
    is_last = xp.arange(ids.size) >= num_vertices
    order = xp.argsort(ids.astype(xp.int64) * 2 + is_last, kind="stable")
    return ids[order], clusters[order]


def clustering_frame(labeling: Labeling, clustering: Clustering, memberships: bool = False) -> Any:
    """Return the result frame of `scan`."""
    clusters, roles, ids = clustering.clusters, clustering.roles, None
    if memberships:
        ids, clusters = list_memberships(clustering)
        roles = roles[ids]
    nullable_clusters = frames.NullableIntegers(clusters, null=NO_CLUSTER)
    return _result_frame(labeling, nullable_clusters, roles, ids)


def _result_frame(
    labeling: Labeling, clusters: frames.NullableIntegers, roles: Array, ids: Array | None = None
) -> Any:
    """Return the frame of clusters and roles of all vertices, or of those of `ids`."""
    columns = {"cluster": clusters, "role": labeling.text_column(roles, ROLES)}
    return labeling.vertex_frame(columns, ids)
