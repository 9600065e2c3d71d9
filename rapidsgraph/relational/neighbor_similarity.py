"""Similarity of neighborhoods as frame operations.

Of edges, common neighbors are counted by triangles; of pairs, the neighbors of the endpoint that
has fewer are looked up among those of the other. `algorithms.neighbor_similarity` has the kernel
form.
"""

from __future__ import annotations

from typing import Any

from ..algorithms.neighbor_similarity import compare
from ..algorithms.parameters import SimilarityParameters
from ..frames import Frame
from .frame_graph import FrameGraph, as_frame_graph
from .run_memory import MIN_WEDGES
from .scan import count_common_neighbors, is_less, split_chunks, undirected_arcs
from .table import Table
from .vertex_arguments import find_pairs

DEGREES = "source_degree", "destination_degree"


def neighbor_similarity(graph: Any, parameters: SimilarityParameters) -> Frame:
    """Compare neighborhoods by joins; see `rapidsgraph.neighbor_similarity`."""
    graph, kind = as_frame_graph(graph, algorithm="neighbor_similarity"), parameters.kind
    graph.check_edge_collisions(kind)
    source, destination = map(graph.name_columns, ("source", "destination"))
    if parameters.pairs is None:
        rows = count_common_neighbors(graph).filter(lambda arcs: is_less(arcs, source, destination))
        rows, order = rows.map(_open_neighborhoods), []
    else:
        rows, order = count_pairs(graph, find_pairs(graph, parameters.pairs)), ["pair"]
    return graph.make_edge_result(rows.map(_add_similarity, kind=kind), [kind], order)


def count_pairs(graph: FrameGraph, pairs: Table) -> Table:
    """Add the degrees of the endpoints of pairs, and the number of their common neighbors."""
    source, destination, third = map(graph.name_columns, ("source", "destination", "third"))
    ends = [*source, *destination]
    arcs = undirected_arcs(graph).partition(source).persist()
    degrees = arcs.select(source).assign(source_degree=1).aggregate(source, source_degree="sum")
    pairs = pairs.join(degrees, source, how="left")
    degrees = degrees.rename([*source, "source_degree"], [*destination, "destination_degree"])
    pairs = pairs.partition(destination).join(degrees, destination, how="left")
    pairs = pairs.map(_fill_degrees).persist()
    low = pairs.filter(lambda rows: rows["source_degree"] <= rows["destination_degree"])
    high = pairs.filter(lambda rows: rows["source_degree"] > rows["destination_degree"])
    low = low.assign(degree=lambda rows: rows["source_degree"])
    high = high.assign(degree=lambda rows: rows["destination_degree"])
    high = high.rename(ends, [*destination, *source])  # the endpoint of fewer neighbors comes first
    columns = [*ends, "pair", "degree"]
    lookups = low.select(columns).partition(source).union(high.select(columns).partition(source))
    neighbors = arcs.rename(destination, third)
    closing = arcs.rename(ends, [*destination, *third]).partition([*destination, *third]).persist()
    counts = pairs.select(["pair"]).assign(common=0).partition(["pair"])
    for chunk in split_chunks(lookups.map(_number_chunks)):
        wedges = chunk.join(neighbors, source).partition([*destination, *third])
        common = wedges.join(closing, [*destination, *third]).select(["pair"]).assign(common=1)
        common = common.aggregate(["pair"], common="sum")
        counts = counts.union(common).aggregate(["pair"], common="sum").persist()
    return pairs.partition(["pair"]).join(counts, ["pair"])


def _number_chunks(lookups: Frame) -> Frame:
    """Return the pairs of vertices with neighbors; a chunk has about `MIN_WEDGES` of these."""
    lookups = lookups[lookups["degree"] > 0]
    return lookups.assign(chunk=lookups["degree"].cumsum() // MIN_WEDGES)


def _fill_degrees(pairs: Frame) -> Frame:
    """Set the degree of vertices without neighbors to 0."""
    degrees = {name: pairs[name].fillna(0).astype("int64") for name in DEGREES}
    return pairs.assign(**degrees)


def _open_neighborhoods(arcs: Frame) -> Frame:
    """Leave the endpoints out of the neighborhoods of adjacent vertices."""
    return arcs.assign(
        source_degree=arcs["source_size"] - 1,
        destination_degree=arcs["destination_size"] - 1,
        common=arcs["common"] - 2,
    )


def _add_similarity(rows: Frame, kind: str) -> Frame:
    rows = rows.astype({"common": "int32"})
    degrees = rows["source_degree"], rows["destination_degree"]
    return rows.assign(**{kind: compare(kind, rows["common"], *degrees)})
