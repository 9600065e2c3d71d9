"""Order the vertices of a graph by cluster, for the plot of the adjacency matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import frames
from ..algorithms.scan import HUB
from ..device import Array
from ..frames import Frame
from ..verify.clusters import check_roles_fit, read_clusters

if TYPE_CHECKING:
    from ..graph.local_graph import LocalGraph

COLUMNS = ("cluster", "component")


@dataclass(frozen=True)
class VertexOrder:
    """Order of vertices: clusters by number, then hubs, then outliers, each by vertex name.

    Attributes
    ----------
    positions : int32, shape (num_vertices,)
        Position of each vertex, by id.
    kind : {"cluster", "component"}
    numbers, sizes : int64, shape (num_clusters,)
        Numbers of the clusters, ascending, and their numbers of vertices.
    unclustered : dict from str to int
        Number of vertices of each role after the clusters: `hub` and `outlier`, or `none` where the
        frame has no roles and some vertices have no cluster.
    """

    positions: Array
    kind: str
    numbers: Array
    sizes: Array
    unclustered: dict[str, int]


def order_by_cluster(graph: LocalGraph, clusters: Frame) -> VertexOrder:
    """Order the vertices of a graph as a frame of clusters says.

    Raises
    ------
    GraphError
        If a column is missing or has wrong values, a vertex is missing, unknown, or in several rows
        other than those of a border vertex, or a role does not fit the cluster.
    """
    xp, num_vertices = graph.xp, graph.num_vertices
    _, table = frames.normalize_frame(clusters)
    column_names = frames.column_names(table)
    kind = next((column for column in COLUMNS if column in column_names), None)
    if kind is None:
        raise frames.missing_column_error("cluster", column_names, "cluster", "clusters")
    rows = read_clusters(graph, table, kind, "clusters")
    numbers = rows.numbers
    groups = rows.places[rows.first]  # clusters, then one group of hubs and one of outliers
    if rows.roles is not None:
        check_roles_fit(graph, rows, kind, "clusters")
        groups += xp.maximum(rows.roles[rows.first].astype(xp.int64) - HUB, 0)
    sizes = xp.bincount(groups, minlength=numbers.size + 2)
    positions = xp.empty(num_vertices, xp.int32)
    positions[xp.argsort(groups, kind="stable")] = xp.arange(num_vertices, dtype=xp.int32)
    num_hubs, num_outliers = sizes[numbers.size :].tolist()
    if rows.roles is not None:
        unclustered = {"hub": num_hubs, "outlier": num_outliers}
    else:
        unclustered = {"none": num_hubs} if num_hubs else {}
    return VertexOrder(positions, kind, numbers, sizes[: numbers.size], unclustered)
