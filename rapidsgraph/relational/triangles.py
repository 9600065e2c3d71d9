"""Triangles and local clustering coefficients as frame operations.

A triangle is a wedge of two upward arcs from one vertex, and an upward arc that closes it. Arcs to
a vertex with more neighbors are upward [1]_. `algorithms.triangles` has the kernel form.

References
----------
.. [1] N. Chiba and T. Nishizeki, "Arboricity and subgraph listing algorithms", SIAM J. Comput.
   14(1), 1985. https://doi.org/10.1137/0214017
"""

from __future__ import annotations

from typing import Any

from ..algorithms.parameters import Parameters
from ..frames import Frame
from .frame_graph import FrameGraph, as_frame_graph
from .scan import add_degrees, find_triangles, is_less, undirected_arcs
from .table import Table


def triangle_count(graph: Any, parameters: Parameters) -> Frame:
    """Count triangles by joins; see `rapidsgraph.triangle_count`."""
    graph = as_frame_graph(graph, algorithm="triangle_count")
    graph.check_name_collisions("triangles")
    edges = undirected_arcs(graph).assign(arcs=1)
    counts = count_opposite_arcs(graph, add_degrees(graph, edges))
    return graph.make_result(counts.rename(["arcs"], ["triangles"]), {"triangles": None})


def clustering_coefficient(graph: Any, parameters: Parameters) -> Frame:
    """Compute coefficients by joins; see `rapidsgraph.clustering_coefficient`."""
    graph = as_frame_graph(graph, algorithm="clustering_coefficient")
    graph.check_name_collisions("coefficient")
    vertex, source = map(graph.name_columns, ("vertex", "source"))
    edges = add_degrees(graph, count_arcs(graph))
    degrees = edges.select(source).rename(source, vertex).assign(degree=1, arcs=0)
    counts = count_opposite_arcs(graph, edges).assign(degree=0)
    rows = counts.union(degrees.partition(vertex)).aggregate(vertex, degree="sum", arcs="sum")
    return graph.make_result(rows.map(_divide_by_pairs), {"coefficient": None})


def count_arcs(graph: FrameGraph) -> Table:
    """Return both directions of every edge, and how many arcs are between its endpoints: 1 or 2."""
    source, destination = map(graph.name_columns, ("source", "destination"))
    ends = [*source, *destination]
    arcs = graph.arcs.filter(
        lambda arcs: is_less(arcs, source, destination) | is_less(arcs, destination, source)
    )
    arcs = arcs.distinct(ends)
    reverse = arcs.rename(ends, [*destination, *source]).select(ends)
    return arcs.union(reverse.partition(ends)).assign(arcs=1).aggregate(ends, arcs="sum").persist()


def count_opposite_arcs(graph: FrameGraph, edges: Table) -> Table:
    """Return the arcs between the other two vertices of all triangles of every vertex.

    Parameters
    ----------
    graph : FrameGraph
    edges : Table
        Both directions of every edge as in `scan.add_degrees`, and the number of its `arcs`.

    Returns
    -------
    Table
        Columns `vertex` and `arcs`, partitioned by vertex.
    """
    vertex, *corners = map(graph.name_columns, ("vertex", "source", "destination", "third"))
    counts = graph.vertices.assign(arcs=0)
    opposite = "closing_arcs", "third_arcs", "arcs"  # of source, destination and third
    for triangles in find_triangles(graph, edges, ["arcs"]):
        rows = (
            triangles.select([*corner, arcs]).rename([*corner, arcs], [*vertex, "arcs"])
            for corner, arcs in zip(corners, opposite, strict=True)
        )
        first, *others = rows
        sums = first.union(*others).aggregate(vertex, arcs="sum")
        counts = counts.union(sums).aggregate(vertex, arcs="sum").persist()
    return counts


def _divide_by_pairs(rows: Frame) -> Frame:
    degrees = rows["degree"].astype("float64")
    num_pairs = (degrees * (degrees - 1)).clip(lower=1)  # there are no arcs without pairs
    return rows.assign(coefficient=rows["arcs"] / num_pairs)
