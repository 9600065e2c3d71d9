"""What a frame of clusters or components says of every vertex, and the order that follows.

Means: members of cluster 0, 1, ..., then hubs, then outliers, inside each by name.
Reference: Stovall et al. 2015 (GPUSCAN), section 4.1.
"""

from dataclasses import dataclass

from .. import frames
from ..algorithms.clustering import HUB
from ..verify.clusters import check_roles_fit, read_clusters

COLUMNS = ("cluster", "component")


@dataclass(frozen=True)
class Order:
    """Vertices in the order of their clusters.

    Attributes
    ----------
    positions : int32, shape (vertices,)
        Where each vertex stands, by id.
    what : {"cluster", "component"}
    numbers, sizes : int64, shape (clusters,)
        What the clusters are called, ascending, and how many vertices are in each.
    rest : dict from str to int
        How many vertices of each kind follow: `hub` and `outlier`, or `none` where the frame has
        no roles and leaves vertices without a cluster.
    """

    positions: object
    what: str
    numbers: object
    sizes: object
    rest: dict


def ordered(graph, clusters):
    """The Order of a graph's vertices that a frame of clusters makes.

    Raises
    ------
    GraphError
        Columns that are missing or hold something else, a vertex that is missing, not of the
        graph, or in several rows other than those of a border's clusters, or a role that does not
        fit the cluster.
    """
    xp, count = graph.xp, graph.num_vertices
    _, table = frames.opened(clusters)
    there = frames.column_names(table)
    what = next((column for column in COLUMNS if column in there), None)
    if what is None:
        raise frames.missing_column("cluster", there, "cluster", "clusters")
    rows = read_clusters(graph, table, what, "clusters")
    numbers, places = rows.numbers, rows.places[rows.first]  # groups: clusters, hubs, outliers
    if rows.roles is not None:
        check_roles_fit(graph, rows, what, "clusters")
        places += xp.maximum(rows.roles[rows.first].astype(xp.int64) - HUB, 0)
    sizes = xp.bincount(places, minlength=numbers.size + 2)
    in_order = xp.argsort(places, kind="stable")
    positions = xp.empty(count, xp.int32)
    positions[in_order] = xp.arange(count, dtype=xp.int32)
    rest = sizes[numbers.size :].tolist()
    if rows.roles is not None:
        rest = dict(zip(("hub", "outlier"), rest))
    else:
        rest = {"none": rest[0]} if rest[0] else {}
    return Order(positions, what, numbers, sizes[: numbers.size], rest)
