"""WolfPath's layered edge list as frame operations; `layered.build` has the kernel form.

Layers are distances from a root [1]_. The edges of a layer are sorted by source, and those to the
same or a later layer come before the others. `layered_build` packs them into a store.

References
----------
.. [1] H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing algorithms
   on GPU", Int. J. Parallel Program. 47, 2019. https://doi.org/10.1007/s10766-017-0533-y
"""

from __future__ import annotations

from ..frames import Frame
from ..kernels.constants import UNREACHED
from .distances import find_distances
from .frame_graph import FrameGraph
from .table import Table


def number_names(graph: FrameGraph) -> tuple[list[Table], list[Table]]:
    """Number the distinct names of each column, and the tuples of the first columns.

    Returns
    -------
    columns : list of Table
        For each name column its distinct values, sorted, and their numbers `rank`.
    tuples : list of Table
        For each number of columns the distinct tuples, sorted, and their numbers `id`. The last
        table has all vertices. Tuples of several columns have a `pair`: the id of the tuple without
        its last value, times the number of distinct values of this column, plus the value's rank.
    """
    vertex = graph.name_columns("vertex")
    columns = [
        graph.vertices.distinct([name]).enumerate([name], "rank").persist() for name in vertex
    ]
    tuples = [columns[0].rename(["rank"], ["id"])]
    for last in range(1, len(vertex)):
        prefix, name, size = vertex[:last], vertex[last], columns[last].count()
        rows = graph.vertices.distinct([*prefix, name]).partition(prefix)
        rows = rows.join(tuples[-1].select([*prefix, "id"]).partition(prefix), prefix)
        rows = rows.partition([name]).join(columns[last].partition([name]), [name])
        rows = rows.map(_pack_pairs, size=size).enumerate([*prefix, name], "id")
        tuples.append(rows.persist())
    return columns, tuples


def _pack_pairs(rows: Frame, size: int) -> Frame:
    return rows.assign(pair=rows["id"] * size + rows["rank"]).drop(columns=["id", "rank"])


def order_vertices(graph: FrameGraph, ids: Table, root: Table) -> Table:
    """Return all vertices in layer order.

    Parameters
    ----------
    graph : FrameGraph
    ids : Table
        Columns `vertex` and `id`.
    root : Table
        The row of the root.

    Returns
    -------
    Table
        Columns `vertex`, `id`, `layer`, `degree` (number of out-edges) and `position`, sorted by
        position: layers in order, vertices of one layer by id, and the unreached ones last.
    """
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    root, arcs = root.select(vertex).partition(vertex), graph.arcs.select([*source, *destination])
    distances = find_distances(graph, arcs, root, graph.vertices.difference(root, vertex))
    levels = distances.filter(lambda rows: rows["distance"] < UNREACHED)
    levels = levels.rename(["distance"], ["layer"])
    degrees = graph.arcs.select(source).rename(source, vertex).assign(degree=1)
    vertices = ids.select([*vertex, "id"]).partition(vertex).join(levels, vertex, how="left")
    vertices = vertices.join(degrees.aggregate(vertex, degree="sum"), vertex, how="left")
    return vertices.map(_fill_missing).enumerate(["layer", "id"], "position").persist()


def _fill_missing(vertices: Frame) -> Frame:
    return vertices.fillna({"layer": UNREACHED, "degree": 0}).astype(
        {"layer": "int64", "degree": "int64"}
    )


def split_edges(graph: FrameGraph, vertices: Table) -> Table:
    """Return the edges by position, with the direction in which each passes the layers.

    Parameters
    ----------
    graph : FrameGraph
    vertices : Table
        As from `order_vertices`.

    Returns
    -------
    Table
        Columns `layer` of the source, `position` of the source, `neighbor` (the position of the
        destination), `neighbor_id`, `is_backward` (whether the edge leads to an earlier layer, or
        its source is unreached), `weight` if there are weights, and `order` if there are
        parallel edges. A layered edge list has them sorted by `position`, `is_backward`,
        `neighbor_id` and `order`.
    """
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    vertices = vertices.select([*vertex, "layer", "position", "id"]).partition(vertex).persist()
    columns = ["layer", "position", "id"]
    neighbors = vertices.rename(columns, ["neighbor_layer", "neighbor", "neighbor_id"])
    edges = graph.arcs.join(vertices.rename(vertex, source), source).partition(destination)
    edges = edges.join(neighbors.rename(vertex, destination), destination)
    edges = edges.assign(
        is_backward=lambda edges: (
            (edges["neighbor_layer"] < edges["layer"]) | (edges["layer"] == UNREACHED)
        )
    )
    columns = ["layer", "position", "neighbor", "neighbor_id", "is_backward"]
    columns += ["weight"] * graph.weighted + ["order"] * graph.is_ordered
    return edges.select(columns)


def summarize_layers(vertices: Table, edges: Table) -> Frame:
    """Count the vertices, the forward edges and the backward edges of every layer."""
    key = ["layer"]
    summary = vertices.select(key).assign(vertices=1).aggregate(key, vertices="sum")
    edges = edges.assign(
        forward_edges=lambda edges: (~edges["is_backward"]).astype("int64"),
        backward_edges=lambda edges: edges["is_backward"].astype("int64"),
    )
    edges = edges.aggregate(key, forward_edges="sum", backward_edges="sum")
    summary = summary.join(edges, key, how="left").collect()
    summary = summary[summary["layer"] < UNREACHED].fillna(0).astype("int64")
    return summary.sort_values(key, ignore_index=True)
