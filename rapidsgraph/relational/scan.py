"""Structural similarity and SCAN as frame operations.

The definitions are those of SCAN [1]_. Common neighbors are counted by joining the edges with
themselves, each directed to the endpoint of higher degree [2]_. Similarities are compared as
integers, without rounding. `algorithms.similarity` and `algorithms.scan` have the kernel form.

References
----------
.. [1] X. Xu, N. Yuruk, Z. Feng and T. A. J. Schweiger, "SCAN: a structural clustering algorithm for
   networks", KDD 2007. https://doi.org/10.1145/1281192.1281280
.. [2] N. Chiba and T. Nishizeki, "Arboricity and subgraph listing algorithms", SIAM J. Comput.
   14(1), 1985. https://doi.org/10.1137/0214017
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.parameters import Parameters, ScanParameters
from ..algorithms.scan import ROLES
from ..algorithms.similarity import min_fraction_at_least
from ..frames import Frame, common_array_module
from ..kernels.constants import BORDER, CORE, HUB, NO_CLUSTER, OUTLIER
from .components import find_roots
from .frame_graph import FrameGraph, as_frame_graph
from .run_memory import MIN_WEDGES
from .table import Table

BASE = 2**31  # above the size of every closed neighborhood


def structural_similarity(graph: Any, parameters: Parameters) -> Frame:
    """Compute similarities by joins; see `rapidsgraph.structural_similarity`."""
    graph = as_frame_graph(graph, algorithm="structural_similarity")
    graph.check_edge_collisions("similarity")
    source, destination = map(graph.name_columns, ("source", "destination"))
    edges = count_common_neighbors(graph).filter(lambda arcs: is_less(arcs, source, destination))
    return graph.make_edge_result(edges.map(_compute_similarity), ["similarity"])


def scan(graph: Any, parameters: ScanParameters) -> Frame:
    """Cluster vertices by joins; see `rapidsgraph.scan`."""
    graph = as_frame_graph(graph, algorithm="scan")
    graph.check_name_collisions("cluster", "role")
    vertex = graph.name_columns("vertex")
    arcs = count_common_neighbors(graph)
    members, attachments = find_clusters(graph, arcs, parameters.epsilon, parameters.mu)
    others = graph.vertices.difference(members, vertex).assign(cluster=NO_CLUSTER)
    hubs = find_hubs(graph, arcs, members)
    rows = members.union(
        others.join(hubs, vertex).assign(role=HUB),
        others.difference(hubs, vertex).assign(role=OUTLIER),
    ).assign(is_additional=False)
    if parameters.memberships:
        rows = rows.union(list_further_memberships(graph, members, attachments))
    rows = rows.map(_format_roles, library=graph.schema.library)
    order = ["is_additional", "cluster"]
    return graph.make_result(rows, {"cluster": "is_member", "role": None}, order)


# Similarity


def undirected_arcs(graph: FrameGraph) -> Table:
    """Return both directions of every edge once, without self-loops."""
    source, destination = map(graph.name_columns, ("source", "destination"))
    ends = [*source, *destination]
    arcs = graph.arcs.select(ends)
    arcs = arcs.union(arcs.rename(ends, [*destination, *source]).select(ends))
    arcs = arcs.filter(
        lambda arcs: is_less(arcs, source, destination) | is_less(arcs, destination, source)
    )
    return arcs.distinct(ends).persist()


def count_common_neighbors(graph: FrameGraph) -> Table:
    """Return the arcs (u, v) with the sizes of closed neighborhoods, and of their intersection.

    The new columns are `source_size`, `destination_size` and `common`.
    """
    source, destination = map(graph.name_columns, ("source", "destination"))
    ends, third = [*source, *destination], graph.name_columns("third")
    arcs = add_degrees(graph, undirected_arcs(graph))
    counts = select_upward(graph, arcs).select(ends).assign(common=2)  # u and v
    for triangles in find_triangles(graph, arcs):
        sides = [*source, *destination], [*source, *third], [*destination, *third]
        first, *others = (triangles.select(side).rename(side, ends) for side in sides)
        common = first.union(*others).assign(common=1).aggregate(ends, common="sum")
        counts = counts.union(common).aggregate(ends, common="sum").persist()
    reverse = counts.rename(ends, [*destination, *source]).select([*ends, "common"])
    return arcs.join(counts.union(reverse.partition(ends)), ends).persist()


def add_degrees(graph: FrameGraph, arcs: Table) -> Table:
    """Add the sizes of the closed neighborhoods of both endpoints, and partition by both.

    The arcs are both directions of every edge. The columns are `source_size`, `destination_size`.
    """
    source, destination = map(graph.name_columns, ("source", "destination"))
    sizes = arcs.select(source).assign(source_size=1).aggregate(source, source_size="sum")
    sizes = sizes.assign(source_size=lambda sizes: sizes["source_size"] + 1)
    arcs = arcs.partition(source).join(sizes, source)
    sizes = sizes.rename([*source, "source_size"], [*destination, "destination_size"])
    arcs = arcs.partition(destination).join(sizes, destination)
    return arcs.partition([*source, *destination]).persist()


def select_upward(graph: FrameGraph, arcs: Table) -> Table:
    """Return the arcs to a vertex with more neighbors, or with as many and a larger name."""
    low, high = ([f"{end}_size", *graph.name_columns(end)] for end in ("source", "destination"))
    return arcs.filter(lambda arcs: is_less(arcs, low, high))


def find_triangles(graph: FrameGraph, arcs: Table, columns: Sequence[str] = ()) -> Iterator[Table]:
    """Yield the triangles of source, destination and third, of some vertices at a time.

    A triangle is a wedge of two upward arcs from one vertex, and an upward arc that closes it. A
    vertex has at most sqrt(2 m) upward arcs, so that there are at most m sqrt(2 m) wedges [2]_,
    which are joined in chunks.

    Parameters
    ----------
    graph : FrameGraph
    arcs : Table
        As in `add_degrees`.
    columns : sequence of str
        Columns of the arcs that the triangles have for their sides: by this name from source to
        destination, with the prefix ``third_`` from source to third, and ``closing_`` from
        destination to third.
    """
    source, destination = map(graph.name_columns, ("source", "destination"))
    ends, third = [*source, *destination], graph.name_columns("third")
    upward = select_upward(graph, arcs).select([*ends, *columns]).persist()
    of_third, of_closing = (
        [f"{prefix}_{column}" for column in columns] for prefix in ("third", "closing")
    )
    closing = upward.rename([*ends, *columns], [*destination, *third, *of_closing])
    for chunk in _split_wedges(upward.partition(source), source):
        others = chunk.rename([*destination, *columns], [*third, *of_third])
        wedges = chunk.join(others, source).partition([*destination, *third])
        yield wedges.join(closing, [*destination, *third])


def _split_wedges(arcs: Table, source: list[str]) -> Iterator[Table]:
    """Return arcs of some vertices at a time, of about `MIN_WEDGES` wedges in each partition."""
    return split_chunks(arcs.map(_number_chunks, source=source))


def split_chunks(rows: Table) -> Iterator[Table]:
    """Yield the rows of each number in the column `chunk`, without this column."""
    rows = rows.persist()
    for number in range(_maximum(rows, "chunk", -1) + 1):
        yield rows.map(_select_chunk, number=number)


def _number_chunks(arcs: Frame, source: list[str]) -> Frame:
    """Return the arcs that are in a wedge, with the number of their chunk."""
    degrees = arcs[source].assign(degree=1).groupby(source, as_index=False).agg({"degree": "sum"})
    degrees = degrees[degrees["degree"] > 1]
    num_wedges = (degrees["degree"] * degrees["degree"]).cumsum()
    chunks = degrees[source].assign(chunk=num_wedges // max(MIN_WEDGES, len(arcs)))
    return arcs.merge(chunks, on=source)


def _select_chunk(arcs: Frame, number: int) -> Frame:
    return arcs[arcs["chunk"] == number].drop(columns="chunk")


def _compute_similarity(edges: Frame) -> Frame:
    sizes = edges["source_size"].astype("float64") * edges["destination_size"].astype("float64")
    return edges.assign(similarity=edges["common"] / np.sqrt(sizes))  # cuDF's sizes**0.5 is inexact


# Clusters


def find_similar(arcs: Table, epsilon: Fraction) -> Table:
    """Return the arcs of a squared similarity ``common^2 / (|N[u]| |N[v]|)`` >= epsilon^2."""
    max_size = _maximum(arcs, "source_size", 1)
    numerator, denominator = min_fraction_at_least(epsilon**2, max_size**2)
    return arcs.map(_select_similar, numerator=numerator, denominator=denominator)


def _select_similar(arcs: Frame, numerator: int, denominator: int) -> Frame:
    """Compare fractions by multiplying their terms crosswise."""
    high, low = _multiply(arcs["common"] * arcs["common"], denominator)
    min_high, min_low = _multiply(arcs["source_size"] * arcs["destination_size"], numerator)
    return arcs[(high > min_high) | ((high == min_high) & (low >= min_low))]


def _multiply(left: Any, right: int) -> tuple[Any, Any]:
    """Return the quotients and remainders by 2^62 of products of integers below 2^62."""
    high, low = left // BASE, left % BASE
    other_high, other_low = right // BASE, right % BASE
    middle = high * other_low + low * other_high + low * other_low // BASE
    return high * other_high + middle // BASE, middle % BASE * BASE + low * other_low % BASE


def find_cores(graph: FrameGraph, similar: Table, mu: int) -> Table:
    """Return the vertices that are similar to at least mu vertices, themselves included."""
    if mu == 1:
        return graph.vertices
    vertex, source = map(graph.name_columns, ("vertex", "source"))
    degrees = similar.select(source).rename(source, vertex).assign(degree=1)
    degrees = degrees.aggregate(vertex, degree="sum")
    return degrees.filter(lambda rows: rows["degree"] >= mu - 1).select(vertex)


def find_clusters(
    graph: FrameGraph, arcs: Table, epsilon: Fraction, mu: int
) -> tuple[Table, Table]:
    """Return the members of clusters, and the similar cores of every border.

    Returns
    -------
    members : Table
        Columns `vertex`, `cluster` and `role`.
    attachments : Table
        Columns `source` and `destination`: a core, and a border that it is similar to.
    """
    vertex, source, destination, root = map(
        graph.name_columns, ("vertex", "source", "destination", "root")
    )
    similar = find_similar(arcs, epsilon).partition(source)
    cores = find_cores(graph, similar, mu).persist()
    similar = similar.join(cores.rename(vertex, source), source).partition(destination).persist()
    cores_as_destinations = cores.rename(vertex, destination)
    links = similar.join(cores_as_destinations, destination).partition(source)
    roots = find_roots(replace(graph, arcs=links, vertices=cores))
    roots = roots.select([*vertex, *root]).partition(vertex).persist()
    attachments = similar.difference(cores_as_destinations, destination).persist()
    nearest = attachments.map(_rank_by_similarity)
    nearest = nearest.smallest(destination, order=["whole", "digits", *source]).partition(source)
    borders = nearest.join(roots.rename(vertex, source), source)
    borders = borders.select([*destination, *root]).rename(destination, vertex)
    members = roots.assign(role=CORE).union(borders.partition(vertex).assign(role=BORDER))
    return _number_clusters(members, vertex, root).persist(), attachments


def _rank_by_similarity(attachments: Frame) -> Frame:
    """Add columns that order the cores u of each border by descending similarity.

    The order is that of ``common^2 / |N[u]|``. Different fractions differ by at least 2^-62, as
    their denominators are below 2^31. So their whole parts and 62 binary digits have this order.
    """
    squares, sizes = attachments["common"] * attachments["common"], attachments["source_size"]
    high = squares % sizes * BASE
    digits = high // sizes * BASE + high % sizes * BASE // sizes
    return attachments.assign(whole=-(squares // sizes), digits=-digits)


def _number_clusters(members: Table, vertex: list[str], root: list[str]) -> Table:
    """Number clusters by descending size, ties by smallest member."""
    members = members.partition(root).persist()
    sizes = members.assign(negative_size=-1).aggregate(root, negative_size="sum")
    clusters = members.smallest(root, order=vertex).select([*root, *vertex]).join(sizes, root)
    clusters = clusters.enumerate(["negative_size", *vertex], "cluster")
    members = members.join(clusters.select([*root, "cluster"]).partition(root), root)
    return members.select([*vertex, "cluster", "role"]).partition(vertex)


def find_hubs(graph: FrameGraph, arcs: Table, members: Table) -> Table:
    """Return the vertices that have neighbors in several clusters."""
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    clusters = members.select([*vertex, "cluster"]).rename([*vertex, "cluster"], [*source, "low"])
    neighbors = arcs.partition(source).join(clusters, source).select([*destination, "low"])
    neighbors = neighbors.assign(high=lambda rows: rows["low"]).rename(destination, vertex)
    neighbors = neighbors.aggregate(vertex, low="min", high="max")
    return neighbors.filter(lambda rows: rows["low"] < rows["high"]).select(vertex)


def list_further_memberships(graph: FrameGraph, members: Table, attachments: Table) -> Table:
    """Return the clusters of borders in which they are similar to a core, besides their own."""
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    clusters = members.select([*vertex, "cluster"])
    clusters = clusters.rename([*vertex, "cluster"], [*source, "further"])
    rows = attachments.partition(source).join(clusters, source)
    rows = rows.distinct([*destination, "further"]).rename(destination, vertex)
    rows = rows.partition(vertex).join(members, vertex)
    rows = rows.filter(lambda rows: rows["further"] != rows["cluster"])
    rows = rows.assign(cluster=lambda rows: rows["further"], is_additional=True)
    return rows.select([*vertex, "cluster", "role", "is_additional"])


def _format_roles(rows: Frame, library: str) -> Frame:
    """Name the roles, and mark members of clusters."""
    roles = rows["role"].astype("int8")
    if library != "arrays" or common_array_module([roles.values]) is np:  # CuPy has no text
        roles = roles.map(dict(enumerate(ROLES))).astype("str")
    clusters = rows["cluster"].astype("int32")
    return rows.assign(cluster=clusters, role=roles, is_member=clusters != NO_CLUSTER)


def is_less(frame: Frame, left: Sequence[str], right: Sequence[str]) -> Any:
    """Return whether the tuple of the columns `left` is below that of `right`, by row."""
    result = frame[left[-1]] < frame[right[-1]]
    for first, second in zip(left[-2::-1], right[-2::-1], strict=True):
        result = (frame[first] < frame[second]) | ((frame[first] == frame[second]) & result)
    return result


def _maximum(table: Table, column: str, default: int) -> int:
    """Return the largest integer of a column; `default` without rows."""
    rows = table.assign(key=0).aggregate(["key"], **{column: "max"}).collect()
    return max(rows[column].values.tolist(), default=default)
