"""Structural similarity and SCAN of a graph in several parts.

Means: what `rapidsgraph.structural_similarity` and `scan` say, exactly, from a Dask frame or a
  DistributedGraph to a Dask frame.
Requires: parts of both directions, without self-loops and repeated neighbors.
Reference: as algorithms/clustering.py. neighborhoods.py says how common neighbors are counted, and
  that once: other epsilon and mu take what is by vertex alone.

Each part finds its cores. It joins those that are similar, also across its range, to a forest over
all vertices; forests are joined to one. Its borders choose among all cores, the clusters of all
parts are numbered in one place, and hubs are those whose own lists lead to several.
"""

from .. import device
from ..algorithms.clustering import (
    BORDER,
    CORE,
    HUB,
    OUTLIER,
    ROLES,
    Clustering,
    SimilarityGraph,
    find_cores,
    list_memberships,
    number_clusters,
)
from ..algorithms.scan import check_epsilon, check_mu
from ..algorithms.similarity import METHODS
from ..errors import GraphError
from ..graph.csr import row_indices
from ..validation import check_choice, check_flag
from .components import join_forests
from .executor import release_on_error, tree
from .graph import DistributedGraph
from .scan_partition import counted, everywhere, is_within, joined, map_partitions


@release_on_error
def structural_similarity(graph, *, method="auto"):
    """How similar the ends of every edge are; see `rapidsgraph.structural_similarity`.

    Parameters
    ----------
    graph : DistributedGraph or Dask frame
    method : {"auto"}

    Returns
    -------
    Dask frame
        `source`, `destination`, `similarity`, sorted, a partition a part.

    Raises
    ------
    GraphError
        Method "gpuscan", which is for graphs in one memory; a frame that cannot be used.
    InsufficientMemoryError
        A part would not fit on its worker.
    """
    _check_method(method)
    graph = as_partitioned(graph)
    _check_room(graph, ["similarity"], ("source", "destination"))
    found = map_partitions(graph, _similarities, *counted(graph), name="similarities")
    return _frames(graph, found, _edge_frame)


@release_on_error
def scan(graph, *, epsilon=0.5, mu=3, memberships=False, method="auto"):
    """Structural clustering (SCAN); see `rapidsgraph.scan`.

    Parameters
    ----------
    graph : DistributedGraph or Dask frame
        A DistributedGraph keeps what was counted of it, 8 bytes an edge.
    epsilon, mu, memberships
        As `rapidsgraph.scan` takes them.
    method : {"auto"}

    Returns
    -------
    Dask frame
        `vertex`, `cluster`, `role`, sorted by vertex, a partition a part.

    Raises
    ------
    GraphError
        epsilon or mu out of range; method "gpuscan", which is for graphs in one memory; a frame
        that cannot be used.
    InsufficientMemoryError
        A part would not fit on its worker.
    """
    epsilon, mu = check_epsilon(epsilon), check_mu(mu)
    check_flag("memberships", memberships)
    _check_method(method)
    graph = as_partitioned(graph)
    _check_room(graph, ["cluster", "role"])
    engine, (parts, common, sizes) = graph.engine, counted(graph)
    lists = parts, common, sizes, [epsilon] * len(parts)
    cores = map_partitions(graph, _cores, *lists, [mu] * len(parts), name="cores")
    is_core = everywhere(engine, cores, "is-core")
    forests = map_partitions(graph, _forest, *lists, is_core, name="forest")
    forest = engine.submit(_rooted, tree(engine, _join, forests, "join-forests"), name="forest")
    labels = map_partitions(graph, _labels, *lists, is_core, [forest] * len(parts), name="labels")
    clusters = [engine.submit(_clusters, labels, name="clusters")] * len(parts)
    roles = map_partitions(graph, _roles, parts, is_core, clusters, name="roles")
    if not memberships:
        found = map_partitions(graph, _plain, parts, clusters, roles, name="clustering")
    else:
        found = map_partitions(
            graph, _memberships, *lists, is_core, clusters, roles, name="memberships"
        )
    return _frames(graph, found, _vertex_frame)


def as_partitioned(edges):
    """A DistributedGraph as it is; a Dask frame as edges without direction and self-loops."""
    if isinstance(edges, DistributedGraph):
        return edges
    return DistributedGraph(edges, directed=False, self_loops="drop")


def _check_method(method):
    check_choice("method", method, METHODS)
    if method != "auto":
        raise GraphError(
            f"method={method!r} is for graphs in one memory; leave it out, or compute the edges "
            "into one frame first: both give the same"
        )


def _check_room(graph, columns, ends=()):
    check = graph.engine.submit(_checked_room, graph.named, columns, ends, name="check-names")
    graph.engine.results([check])


def _checked_room(named, columns, ends):
    named.check_name_collisions(
        *columns, *(name for end in ends for name in named.endpoint_columns(end).values())
    )


# Similarity


def _similarities(part, common, sizes):
    """Sources, destinations and similarities of the edges from a part's vertices to later ones."""
    sources, destinations = row_indices(part.lists), part.lists.neighbors
    sources += part.xp.int32(part.first)
    later = destinations > sources
    sources, destinations, common = sources[later], destinations[later], common[later]
    product = sizes[sources].astype(part.xp.float64)
    product *= sizes[destinations]
    return sources, destinations, common / part.xp.sqrt(product)


def _edge_frame(named, found):
    *ends, similarities = found
    return named.edge_frame(*ends, {"similarity": similarities})


# Clusters


def _similar(part, common, sizes, epsilon):
    return SimilarityGraph(part.padded, common, sizes, epsilon)


def _own(part):
    return slice(part.first, part.stop)


def _marked(part, flags):
    """int32 ids of the part's vertices that are marked."""
    xp = part.xp
    return (xp.flatnonzero(flags[_own(part)]) + part.first).astype(xp.int32)


def _cores(part, common, sizes, epsilon, mu):
    """Whether a vertex of the part is a core."""
    return find_cores(_similar(part, common, sizes, epsilon), mu)[_own(part)].copy()


def _forest(part, common, sizes, epsilon, is_core):
    """Trees of cores that edges of the part's cores join, and what else these are similar to."""
    xp, similar = part.xp, _similar(part, common, sizes, epsilon)
    parents, is_touched = xp.arange(part.vertices, dtype=xp.int32), xp.zeros(part.vertices, bool)
    similar.launch(
        "join_cores", _marked(part, is_core), is_core=is_core, parents=parents,
        is_border=is_touched,
    )  # fmt: skip
    return parents, is_touched


def _join(*forests):
    parents, touched = zip(*forests)
    is_touched = touched[0].copy()
    for flags in touched[1:]:
        is_touched |= flags
    return join_forests(*parents), is_touched


def _rooted(forest):
    """With every vertex one step from its root."""
    parents, is_touched = forest[0].copy(), forest[1]
    device.launch(
        "union_find", "compress", size=parents.size, num_vertices=parents.size, parents=parents
    )
    return parents, is_touched


def _labels(part, common, sizes, epsilon, is_core, forest):
    """The root of the cluster of each of the part's vertices, or -1: int32."""
    xp, (parents, is_touched) = part.xp, forest
    similar = _similar(part, common, sizes, epsilon)
    cores, borders = _marked(part, is_core), _marked(part, is_touched)
    nearest, touching = xp.empty(part.vertices, xp.int32), xp.empty(part.vertices, xp.int32)
    similar.launch(
        "attach_borders", borders, is_core=is_core, nearest=nearest, num_similar_cores=touching
    )
    labels = xp.full(part.count, -1, xp.int32)
    labels[cores - part.first] = parents[cores]
    labels[borders - part.first] = parents[nearest[borders]]
    return labels


def _clusters(labels):
    """The number of the cluster of every vertex, or -1: int32."""
    labels = joined(labels)
    xp = device.array_module(labels)
    return number_clusters(labels, xp.flatnonzero(labels >= 0).astype(xp.int32), xp)[0]


def _roles(part, is_core, clusters):
    """Places in ROLES of the part's vertices: int8."""
    xp, own = part.xp, _own(part)
    roles = xp.full(part.count, OUTLIER, xp.int8)
    roles[_between_clusters(part, clusters)] = HUB  # and of these, who is in one
    roles[clusters[own] >= 0] = BORDER
    roles[is_core[own]] = CORE
    return roles


def _between_clusters(part, clusters):
    """Rows, perhaps repeated, whose neighbors are in several clusters."""
    rows, found = row_indices(part.lists), clusters[part.lists.neighbors]
    keep = found >= 0
    rows, found = rows[keep], found[keep]
    # In a row of one cluster alone none differs from the one before.
    return rows[1:][(rows[1:] == rows[:-1]) & (found[1:] != found[:-1])]


def _plain(part, clusters, roles):
    return part.ids, clusters[_own(part)], roles


def _memberships(part, common, sizes, epsilon, is_core, clusters, roles):
    """The same with a row more for each further cluster of a border."""
    similar = _similar(part, common, sizes, epsilon)
    everyone = part.xp.full(part.vertices, OUTLIER, part.xp.int8)
    everyone[is_core] = CORE
    everyone[_own(part)] = roles
    # Borders of other parts pass for outliers: they have one row, which is left out.
    ids, clusters = list_memberships(Clustering(clusters, everyone, 0, None, similar))
    keep = is_within(ids, part.first, part.count)
    ids = ids[keep]
    return ids, clusters[keep], roles[ids - part.first]


def _vertex_frame(named, found):
    ids, clusters, roles = found
    columns = {"cluster": (clusters, clusters >= 0), "role": named.text_column(roles, ROLES)}
    return named.vertex_frame(columns, ids)


def _frames(graph, found, make):
    """A Dask frame of make(named, found) for each part."""
    counts = graph.engine.results(map_partitions(graph, _rows, found, name="rows"))
    named = [graph.named] * len(found)
    return graph.result(map_partitions(graph, make, named, found, name="label"), counts)


def _rows(found):
    return found[0].size
