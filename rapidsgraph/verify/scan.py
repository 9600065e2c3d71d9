"""Verify SCAN: clusters, roles and their numbers follow from the similar edges.

Common neighbors are counted by looking up the neighbors of one endpoint among those of the other,
without the kernels of `rapidsgraph.scan`. Edges whose endpoints differ too much in size to be
similar are skipped. Similarities close to epsilon are compared as integers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .. import frames
from ..algorithms.scan import ROLES, Epsilon, check_epsilon, check_mu
from ..algorithms.similarity import neighborhoods, undirected_graph
from ..device import Array, array_module, count_nonzero
from ..dispatch import in_memory
from ..errors import VerificationError, format_value
from ..frames import Frame
from ..graph.csr import Adjacency, row_indices
from ..graph.local_graph import GraphLike, LocalGraph
from ..kernels.constants import BORDER, CORE, HUB, OUTLIER
from ..validation import suggest_parameters
from .cluster_reader import LOW_WORD, ClusterTable, check_roles, read_clusters
from .components import check_group_order, connected_minimum, smallest_members
from .result_reader import verification_errors, vertex_name
from .triangles import find_common_neighbors, pack_arcs

CHUNK_ARCS = 2**22  # arcs that are checked at a time
ROUNDING = 1e-9  # relative distance from epsilon at which floating point may round wrongly
ROLE_NAMES = [f"{'an' if role[0] in 'aeiou' else 'a'} {role}" for role in ROLES]


@suggest_parameters
def scan(graph: GraphLike, result: Frame, *, epsilon: Epsilon = 0.5, mu: int = 3) -> int:
    """Verify a result of `scan`.

    Parameters
    ----------
    graph : Graph or edge frame
        A Dask frame, or the `Graph` of one, is computed.
    result : frame
        Vertex names, `cluster` and `role`, one row per vertex, in any order. If borders have
        several rows, as with memberships, each must have a row for every cluster with a core that
        is similar to it: first its own, then the others by number.
    epsilon, mu
        As in `rapidsgraph.scan`.

    Returns
    -------
    int
        Number of clusters.

    Raises
    ------
    GraphError
        If `epsilon` or `mu` is invalid.
    VerificationError
        If a check fails, a column is missing, a vertex is unknown, missing, or repeated other than
        as a border, or a value is not a cluster or role; the message names the vertex.

    See Also
    --------
    scan : Cluster vertices by structural similarity.

    Notes
    -----
    The checks: cores have at least `mu` similar vertices, borders a similar core, and other
    vertices neither; similar cores are in one cluster, and each cluster's cores are connected by
    similar edges; borders are in the cluster of their most similar core; hubs have neighbors in
    several clusters and outliers have not; and clusters are numbered from 0 by descending size,
    ties by smallest vertex name. Similarities are compared exactly.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1, 2, 3], "destination": [1, 2, 0, 2]})
    >>> result = pandas.DataFrame({"vertex": range(4), "cluster": [0, 0, 0, None]})
    >>> rg.verify.scan(edges, result.assign(role=["core"] * 3 + ["outlier"]), epsilon=0.8)
    1
    """
    epsilon, mu = check_epsilon(epsilon), check_mu(mu)
    graph = undirected_graph(in_memory(graph))
    with verification_errors():
        _, frame = frames.normalize_frame(in_memory(result), "result")
        table = read_clusters(graph, frame, "cluster", "the result")
        if table.roles is None:
            columns = frames.column_names(frame)
            raise frames.missing_column_error("role", columns, "role", "the result")
    if not graph.num_vertices:
        return 0
    xp, adjacency = graph.xp, neighborhoods(graph)
    sizes = xp.diff(adjacency.offsets) + 1
    first, second, common = _find_similar_edges(adjacency, sizes, epsilon)
    num_similar = 1 + sum(xp.bincount(ends, minlength=sizes.size) for ends in (first, second))
    is_core = num_similar >= min(mu, sizes.size + 1)
    is_outer = is_core[first] != is_core[second]  # edges from a core to another vertex
    cores = xp.where(is_core[first], first, second)[is_outer]
    borders = xp.where(is_core[first], second, first)[is_outer]
    _check_cores_and_borders(graph, table.roles, is_core, num_similar, mu, borders, cores)
    with verification_errors():
        check_roles(graph, table, "cluster", "the result")
    is_inner = is_core[first] & is_core[second]
    _check_cores_connected(graph, table, first[is_inner], second[is_inner], is_core)
    _check_nearest_cores(graph, table, borders, cores, common[is_outer], sizes)
    if table.ids.size > sizes.size:
        _check_memberships(graph, table, borders, cores)
    _check_numbers(graph, table)
    _check_hubs(graph, table, adjacency)
    return table.numbers.size


# Similarity


def _find_similar_edges(adjacency: Adjacency, sizes: Array, epsilon: Fraction) -> list[Array]:
    """Return the smaller endpoints, larger endpoints and common neighbors of similar edges."""
    xp, neighbors = array_module(sizes), adjacency.neighbors
    rows = row_indices(adjacency)
    keys = pack_arcs(adjacency)
    chunks = []
    for start in range(0, max(rows.size, 1), CHUNK_ARCS):
        sources, destinations = (v[start : start + CHUNK_ARCS] for v in (rows, neighbors))
        is_upper = sources < destinations
        first, second = sources[is_upper], destinations[is_upper]
        product = sizes[first] * sizes[second]
        can_be_similar = is_similar(xp.minimum(sizes[first], sizes[second]), product, epsilon)
        first, second, product = (v[can_be_similar] for v in (first, second, product))
        common = count_common_neighbors(first, second, adjacency, keys)
        keep = is_similar(common, product, epsilon)
        chunks.append((first[keep], second[keep], common[keep]))
    return [xp.concatenate(columns) for columns in zip(*chunks)]


def count_common_neighbors(first: Array, second: Array, adjacency: Adjacency, keys: Array) -> Array:
    """Return |N[u] & N[v]| of edges (u, v): int64; the parameters are as in `common_neighbors`."""
    common = array_module(keys).full(first.size, 2, np.int64)  # both endpoints are in both
    for edges, _ in find_common_neighbors(first, second, adjacency, keys):
        if edges.size:
            start, stop = int(edges[0]), int(edges[-1]) + 1
            common[start:stop] += array_module(keys).bincount(edges - start, minlength=stop - start)
    return common


def is_similar(common: Array, product: Array, epsilon: Fraction) -> Array:
    """Return whether common / sqrt(product) >= epsilon, exactly.

    Parameters
    ----------
    common, product : int64 arrays, shape (edges,)
        Common neighbors below 2**31, and products of two sizes below 2**31.
    epsilon : Fraction
    """
    xp, threshold = array_module(common), float(epsilon)
    similarity = common / xp.sqrt(product)
    result = similarity >= threshold
    close = xp.flatnonzero(xp.abs(similarity - threshold) <= ROUNDING * similarity)
    if close.size:  # compare each different pair once, in Python's integers
        products, product_index = xp.unique(product[close], return_inverse=True)
        base = int(common[close].max()) + 1
        packed, index = xp.unique(product_index * base + common[close], return_inverse=True)
        pairs = zip((packed % base).tolist(), products[packed // base].tolist())
        p, q = epsilon.as_integer_ratio()
        exact = [c * c * q * q >= p * p * d for c, d in pairs]
        result[close] = xp.asarray(exact)[index]
    return result


def quotients(common: Array, size: Array) -> tuple[Array, Array]:
    """Return common**2 / size as an integer part and 62 binary places, in int64.

    Different fractions with denominators below 2**31 differ by more than 2**-62, so the order of
    the pairs is exactly that of the fractions.

    Both arrays are int64, with values from 1 to 2**31 - 1.
    """
    integer, remainder = common * common // size, common * common % size
    places = (remainder << 31) // size
    remainder = (remainder << 31) % size
    return integer, places << 31 | (remainder << 31) // size


# Checks


def _check_cores_and_borders(
    graph: LocalGraph,
    roles: Array,
    is_core: Array,
    num_similar: Array,
    mu: int,
    borders: Array,
    cores: Array,
) -> None:
    """Check that exactly the cores and borders have these roles."""
    xp, num_vertices = graph.xp, graph.num_vertices
    similar_core = smallest_members(borders, cores, num_vertices, num_vertices)
    expected = xp.where(is_core, CORE, xp.where(similar_core < num_vertices, BORDER, HUB))
    is_wrong = xp.minimum(roles, HUB) != expected
    if not count_nonzero(is_wrong):
        return
    vertex = int(is_wrong.argmax())
    role, count = int(expected[vertex]), int(num_similar[vertex])
    name = ROLE_NAMES[role] if role != HUB else f"{ROLE_NAMES[HUB]} or {ROLE_NAMES[OUTLIER]}"
    similar = "vertices are" if count > 1 else "vertex is"
    reason = f"{count} {similar} similar to it, itself included, and mu is {format_value(mu)}"
    if role == BORDER:
        reason += f"; {vertex_name(graph, int(similar_core[vertex]))} is a core and similar to it"
    elif role == HUB:
        reason += "; no core is similar to it"
    raise _role_error(graph, vertex, roles, name, reason)


def _role_error(
    graph: LocalGraph, vertex: int, roles: Array, name: str, reason: str
) -> VerificationError:
    role = int(roles[vertex])
    return VerificationError(
        f"{vertex_name(graph, vertex)} is {ROLE_NAMES[role]}; it must be {name}: {reason}",
        column="role",
        value=ROLES[role],
    )


def _check_cores_connected(
    graph: LocalGraph, table: ClusterTable, sources: Array, destinations: Array, is_core: Array
) -> None:
    """Check that similar cores, the endpoints of these edges, are in one cluster, others not."""
    xp, clusters, num_vertices = graph.xp, table.clusters, graph.num_vertices
    crosses = clusters[sources] != clusters[destinations]
    if count_nonzero(crosses):
        edge = int(crosses.argmax())
        first, second = (
            f"{vertex_name(graph, vertex)}, in cluster {int(table.numbers[clusters[vertex]])}"
            for vertex in (int(sources[edge]), int(destinations[edge]))
        )
        raise VerificationError(
            f"an edge joins {first}, and {second}; they are similar cores and must be in one "
            "cluster",
            column="cluster",
        )
    cores = xp.flatnonzero(is_core).astype(xp.int32)
    core_clusters = clusters[cores]
    smallest = smallest_members(core_clusters, cores, table.numbers.size, num_vertices)
    roots = connected_minimum(sources, destinations, num_vertices)
    is_apart = roots[cores] != smallest[core_clusters]
    if count_nonzero(is_apart):
        index = int(is_apart.argmax())
        cluster = core_clusters[index]
        raise VerificationError(
            f"cluster {int(table.numbers[cluster])} is not connected: no path of similar cores "
            f"joins {vertex_name(graph, int(cores[index]))} and "
            f"{vertex_name(graph, int(smallest[cluster]))}; they must be in different clusters",
            column="cluster",
        )


def _check_nearest_cores(
    graph: LocalGraph,
    table: ClusterTable,
    borders: Array,
    cores: Array,
    common: Array,
    sizes: Array,
) -> None:
    """Check that borders are in the cluster of their most similar core, ties by smallest id."""
    xp, clusters = graph.xp, table.clusters
    integer, places = quotients(common, sizes[cores])  # the size of the border is constant
    keys = cores, -places, -integer, borders  # the last key is the first to sort by
    order = xp.lexsort(xp.stack([key.astype(xp.int64) for key in keys]))
    borders, cores = borders[order], cores[order]
    is_first = xp.ones(borders.size, bool)
    xp.not_equal(borders[1:], borders[:-1], out=is_first[1:])
    borders, cores = borders[is_first], cores[is_first]
    is_wrong = clusters[borders] != clusters[cores]
    if count_nonzero(is_wrong):
        index = int(is_wrong.argmax())
        border, core = int(borders[index]), int(cores[index])
        raise VerificationError(
            f"{vertex_name(graph, border)} is a border and in cluster "
            f"{int(table.numbers[clusters[border]])}; it must be in cluster "
            f"{int(table.numbers[clusters[core]])}, that of the core most similar to it, "
            f"{vertex_name(graph, core)}",
            column="cluster",
        )


def _check_memberships(
    graph: LocalGraph, table: ClusterTable, borders: Array, cores: Array
) -> None:
    """Check that further rows of borders are those of their other clusters, ascending."""
    xp, clusters, numbers = graph.xp, table.clusters, table.numbers
    is_further = xp.ones(table.ids.size, bool)
    is_further[table.first_rows] = False
    ids = table.ids[is_further]
    rows = ids.astype(xp.int64) << 32 | table.row_clusters[is_further]
    rows = rows[xp.argsort(ids, kind="stable")]
    core_clusters = clusters[cores]
    is_other = core_clusters != clusters[borders]
    expected = borders[is_other].astype(xp.int64) << 32 | core_clusters[is_other]
    unexpected = rows[~xp.isin(rows, expected)]
    if unexpected.size:
        name = vertex_name(graph, int(unexpected[0] >> 32))
        cluster = int(unexpected[0] & LOW_WORD)
        if cluster == numbers.size:
            raise VerificationError(
                f"{name} has a row without a cluster after the row of its own cluster",
                column="cluster",
            )
        raise VerificationError(
            f"{name} has a row for cluster {int(numbers[cluster])}, but no core of that cluster is "
            "similar to it",
            column="cluster",
        )
    is_missing = ~xp.isin(expected, rows)
    if count_nonzero(is_missing):
        index = int(is_missing.argmax())
        border, core = int(borders[is_other][index]), int(cores[is_other][index])
        raise VerificationError(
            f"{vertex_name(graph, border)} has no row for cluster {int(numbers[clusters[core]])}; "
            f"it must have one, because {vertex_name(graph, core)} is a core of that cluster and "
            "similar to it",
            column="cluster",
        )
    descends = rows[1:] < rows[:-1]  # only within the rows of one vertex
    if count_nonzero(descends):
        index = int(descends.argmax())
        first, second = (int(numbers[int(row & LOW_WORD)]) for row in rows[index : index + 2])
        raise VerificationError(
            f"{vertex_name(graph, int(rows[index] >> 32))} has a row for cluster {first} before "
            f"that for cluster {second}; after its own cluster the others must ascend",
            column="cluster",
        )


def _check_numbers(graph: LocalGraph, table: ClusterTable) -> None:
    """Check that clusters are numbered from 0 by descending size, ties by smallest vertex."""
    xp, numbers, clusters = graph.xp, table.numbers, table.clusters
    is_wrong = numbers != xp.arange(numbers.size)
    if count_nonzero(is_wrong):
        raise VerificationError(
            f"there is no cluster {int(is_wrong.argmax())}, but there is a cluster "
            f"{int(numbers[-1])}",
            column="cluster",
        )
    members = xp.flatnonzero(clusters < numbers.size).astype(xp.int32)
    member_clusters = clusters[members]
    smallest = smallest_members(member_clusters, members, numbers.size, clusters.size)
    sizes = xp.bincount(member_clusters, minlength=numbers.size)
    check_group_order(sizes, smallest, graph, "cluster")


def _check_hubs(graph: LocalGraph, table: ClusterTable, adjacency: Adjacency) -> None:
    """Check that unclustered vertices are hubs if they have neighbors in several clusters."""
    xp, clusters, num_clusters = graph.xp, table.clusters, table.numbers.size
    rows, neighbor_clusters = row_indices(adjacency), clusters[adjacency.neighbors]
    keep = (clusters[rows] == num_clusters) & (neighbor_clusters < num_clusters)
    rows, neighbor_clusters = rows[keep], neighbor_clusters[keep].astype(xp.int32)
    smallest = smallest_members(rows, neighbor_clusters, clusters.size, num_clusters)
    largest = xp.full(clusters.size, -1, xp.int32)
    xp.maximum.at(largest, rows, neighbor_clusters)
    expected = xp.where(smallest < largest, HUB, OUTLIER)
    is_wrong = (clusters == num_clusters) & (table.roles != expected)
    if count_nonzero(is_wrong):
        vertex = int(is_wrong.argmax())
        if int(expected[vertex]) == HUB:
            first, second = (int(table.numbers[v[vertex]]) for v in (smallest, largest))
            reason = f"it has neighbors in clusters {first} and {second}"
        elif int(smallest[vertex]) < num_clusters:
            number = int(table.numbers[smallest[vertex]])
            reason = f"its neighbors are in cluster {number} only"
        else:
            reason = "none of its neighbors is in a cluster"
        raise _role_error(graph, vertex, table.roles, ROLE_NAMES[int(expected[vertex])], reason)
