"""Read the edges of a NetworkX graph as arrays of positions among its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ..validation import reject


class NetworkXEdges:
    """The edges of a NetworkX graph; those of an undirected graph in both directions.

    Attributes
    ----------
    nodes : list
        In the order of the graph.
    sources, destinations : int32 arrays
        Positions of the endpoints among the nodes.
    data : list of dict
        Attributes of each edge.
    """

    def __init__(self, g: Any) -> None:
        self.nodes, self._rows = _list_neighbors(g)
        counts = np.fromiter(map(len, self._rows), np.int64, len(self._rows))
        self.sources = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
        positions: Iterable[Any] = chain.from_iterable(self._rows)
        if not _are_positions(self.nodes):
            ids = {node: index for index, node in enumerate(self.nodes)}
            positions = map(ids.__getitem__, positions)
        self.destinations = np.fromiter(positions, np.int32, self.sources.size)
        if g.is_multigraph():  # a dict by key for each neighbor
            keys = list(chain.from_iterable(row.values() for row in self._rows))
            counts = np.fromiter(map(len, keys), np.int64, self.sources.size)
            self.sources = np.repeat(self.sources, counts)
            self.destinations = np.repeat(self.destinations, counts)
            self._rows = keys

    @cached_property
    def data(self) -> list[dict[Any, Any]]:
        return list(chain.from_iterable(row.values() for row in self._rows))


def _are_positions(nodes: list[Any]) -> bool:
    """Return whether the nodes are the integers 0 to n-1 in order."""
    return set(map(type, nodes)) == {int} and nodes == list(range(len(nodes)))


def _list_neighbors(g: Any) -> tuple[list[Any], list[dict[Any, Any]]]:
    """Return the nodes of a NetworkX graph, and for each a dict of its neighbors.

    The dicts of filtered views are copied, since their lengths include filtered edges.
    """
    adjacency = dict(g.adjacency())
    rows = list(adjacency.values())
    if not all(isinstance(row, dict) for row in rows):
        if not all(isinstance(row, Mapping) for row in rows):
            reject("g", g, "its adjacency must be of dicts")
        rows = [dict(row.items()) for row in rows]
        if g.is_multigraph():
            rows = [{node: dict(keys.items()) for node, keys in row.items()} for row in rows]
    return list(adjacency), rows
