"""Distances from a set of vertices, by BFS or by Bellman-Ford.

A table of all vertices is indexed by name, and the arcs are in the order of its rows, so that a
round reads the arcs of the frontier only and looks up their destinations. Its other cost is a copy
of the column of distances.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..frames import Frame, common_array_module
from .frame_graph import FrameGraph
from .table import Table, aggregate, drop_index, find_rows, index_rows

MAX_REPLICATED = 2**16  # offers of a round that every partition reads, instead of a shuffle
SHORTEST = {"distance": "min"}


def find_distances(
    graph: FrameGraph, arcs: Table, sources: Table, others: Table, limit: float = math.inf
) -> Table:
    """Return vertices with their distance from the nearest source.

    A round relaxes the arcs of the vertices whose distance changed in the last one.

    Parameters
    ----------
    graph : FrameGraph
        Names the columns.
    arcs : Table
        Partitioned by source. Without a column `weight` each has length 1.
    sources : Table
        Vertices to start from.
    others : Table
        All other vertices that may be reached, and the sources of other arcs.
    limit : float
        Largest distance.

    Returns
    -------
    Table
        Columns `vertex` and `distance` (float64): infinite for vertices that are not reached.
    """
    vertex, source, destination = map(graph.name_columns, ("vertex", "source", "destination"))
    sources = sources.select(vertex).assign(distance=0.0)
    others = others.select(vertex).assign(distance=math.inf)
    state = sources.union(others).map(index_rows, by=vertex).persist()
    arcs = arcs.map(_order_arcs, state, source=source).persist()
    state, [_, num_offers] = state.map(_find_ranges, arcs).persist_with_totals("num_offers")
    while num_offers:
        offers = arcs.map(_relax, state, destination=destination, limit=limit)
        if num_offers <= MAX_REPLICATED:
            offers = offers.replicate()
        else:
            offers = offers.map(aggregate, by=destination, how=SHORTEST).partition(destination)
        state = state.map(_update, offers, destination=destination)
        state, [_, num_offers] = state.persist_with_totals("num_offers")
    return state.map(drop_index, columns=[*vertex, "distance"])


def _order_arcs(arcs: Frame, state: Frame, source: list[str]) -> Frame:
    """Sort arcs by the row of their source, and drop those without one."""
    arcs = arcs.assign(row=find_rows(state, arcs[source])).drop(columns=source)
    return arcs[arcs["row"] >= 0].sort_values("row", ignore_index=True)


def _find_ranges(state: Frame, arcs: Frame) -> Frame:
    """Add the range of the arcs of each vertex, and their number in the frontier."""
    rows = arcs["row"].values
    xp = common_array_module([rows])
    bounds = xp.searchsorted(rows, xp.arange(len(state) + 1))
    num_offers = xp.where(state["distance"].values == 0, xp.diff(bounds), 0)
    return state.assign(start=bounds[:-1], degree=xp.diff(bounds), num_offers=num_offers)


def _relax(arcs: Frame, state: Frame, destination: list[str], limit: float) -> Frame:
    """Return the distances that the vertices of the frontier offer to their destinations."""
    degrees, starts, distance = (
        state[column].values for column in ("num_offers", "start", "distance")
    )
    xp = common_array_module([starts])
    [active] = xp.nonzero(degrees)
    degrees, starts = degrees[active], starts[active]
    stops = xp.cumsum(degrees)
    positions = xp.arange(int(degrees.sum()))
    owners = xp.searchsorted(stops, positions, side="right")
    arcs = arcs.take(starts[owners] + positions - (stops - degrees)[owners])
    length: Any = arcs["weight"].values if "weight" in arcs else 1.0
    with np.errstate(over="ignore"):  # distances may be infinite, which is an error elsewhere
        offers = arcs[destination].assign(distance=distance[active][owners] + length)
    return offers[offers["distance"] <= limit]


def _update(state: Frame, offers: Frame, destination: list[str]) -> Frame:
    """Return the state with the offers that are shorter than the distances so far."""
    offers = aggregate(offers, destination, SHORTEST)
    rows, values = find_rows(state, offers[destination]), offers["distance"].values
    is_vertex = rows >= 0
    rows, values = rows[is_vertex], values[is_vertex]
    distance, degrees = state["distance"].values.copy(), state["degree"].values
    is_shorter = values < distance[rows]
    rows = rows[is_shorter]
    distance[rows] = values[is_shorter]
    num_offers = degrees * 0
    num_offers[rows] = degrees[rows]
    return state.assign(distance=distance, num_offers=num_offers)
