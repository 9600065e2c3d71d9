"""Core numbers as frame operations; `algorithms.core_number` has the kernel form."""

from __future__ import annotations

from typing import Any

from ..algorithms.parameters import Parameters
from ..frames import Frame
from .frame_graph import FrameGraph, as_frame_graph
from .scan import undirected_arcs
from .table import Table


def core_number(graph: Any, parameters: Parameters) -> Frame:
    """Find core numbers by joins; see `rapidsgraph.core_number`."""
    graph = as_frame_graph(graph, algorithm="core_number")
    graph.check_name_collisions("core")
    vertex = graph.name_columns("vertex")
    cores = find_core_numbers(graph).persist()
    isolates = graph.vertices.difference(cores, vertex).assign(core=0)
    rows = cores.union(isolates).map(_convert)
    return graph.make_result(rows, {"core": None})


def find_core_numbers(graph: FrameGraph) -> Table:
    """Return the core number of every vertex with neighbors.

    Bounds begin at the degrees. A vertex with bound k needs k neighbors of bound k or more, so in a
    round its bound becomes the largest number h of neighbors with bounds of h or more, their
    h-index. Bounds that no round lowers are the core numbers [1]_.

    References
    ----------
    .. [1] A. Montresor, F. De Pellegrini and D. Miorandi, "Distributed k-core decomposition", IEEE
       Trans. Parallel Distrib. Syst. 24(2), 2013. https://doi.org/10.1109/TPDS.2012.124
    """
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    arcs = undirected_arcs(graph).partition(source).persist()
    bounds = arcs.select(source).assign(core=1).aggregate(source, core="sum").persist()
    total = None
    while total != (new_total := bounds.totals("core")[1]):
        total = new_total
        offers = arcs.lookup(bounds.rename(source, destination), destination)
        bounds = offers.map(_find_h_indexes, source=source).persist()
    return bounds.rename(source, vertex)


def _find_h_indexes(offers: Frame, source: list[str]) -> Frame:
    """Return the h-index of the column `core` of the rows of each source."""
    order = [True] * len(source) + [False]
    offers = offers.sort_values([*source, "core"], ascending=order, ignore_index=True)
    offers = offers.assign(rank=offers.groupby(source, sort=False).cumcount() + 1)
    offers = offers[offers["rank"] <= offers["core"]]
    h_indexes = offers.groupby(source, sort=False)["rank"].max().reset_index()
    return h_indexes.rename(columns={"rank": "core"})


def _convert(rows: Frame) -> Frame:
    return rows.astype({"core": "int32"})
