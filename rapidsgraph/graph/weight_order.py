"""Adjacency lists in the order of weights, in which searches on a GPU read the lightest arcs only.

The order is that of the weights rounded down to single precision, of whose bits a sort takes few
passes. The lists of a graph are kept with it, as its other layout is.
"""

from __future__ import annotations

import numpy as np

from .. import device
from ..device import Array
from .build import MIN_CHECKED_SIZE
from .csr import Adjacency, row_indices
from .local_graph import LocalGraph
from .pair_sort import sort_pairs

CACHE_KEY = "lists by weight"
SEARCHED_KEY = "weighted search"
SORT_BYTES = 64  # per arc, while the lists are sorted
MIN_MEAN_DEGREE = 8  # below which frontiers rarely have so many arcs that the order matters


def has_lists_by_weight(graph: LocalGraph) -> bool:
    """Return whether the lists have been built."""
    return graph.is_cached(CACHE_KEY)


def should_read_by_weight(graph: LocalGraph) -> bool:
    """Return whether a search of a kept graph should read the lists.

    They are built for the second search of a graph on a GPU, because a sort takes longer than one
    search. A graph of few arcs per vertex, such as a road network, has no use for them, and they
    need free memory. Searches on a CPU do not read them.
    """
    if has_lists_by_weight(graph):
        return True
    if graph.xp is np or graph.num_arcs < MIN_MEAN_DEGREE * graph.num_vertices:
        return False
    if not graph.is_cached(SEARCHED_KEY):
        return False
    num_bytes = graph.num_arcs * SORT_BYTES
    return num_bytes < MIN_CHECKED_SIZE or num_bytes < device.free_memory(graph.xp)


def record_search(graph: LocalGraph) -> None:
    """Record that a graph has been searched, for `should_read_by_weight`."""
    graph.cached(SEARCHED_KEY, lambda: True)


def lists_by_weight(graph: LocalGraph) -> tuple[Adjacency, Adjacency]:
    """Return the adjacency by source and by destination, each list in the order of weights."""

    def build() -> tuple[Adjacency, Adjacency]:
        csr = graph.csr
        keys = graph.xp.empty(graph.num_arcs, np.int32)
        device.launch(
            "sssp", "find_weight_keys", size=graph.num_arcs,
            num_arcs=graph.num_arcs, weights=csr.weights, keys=keys,
        )  # fmt: skip
        sources = row_indices(csr)

        def sort(rows: Array, neighbors: Array) -> Adjacency:
            offsets, _, order, _ = sort_pairs(
                [rows, keys], graph.num_vertices, 2**31, with_order=True
            )
            return Adjacency(
                offsets, device.take(neighbors, order), device.take(csr.weights, order)
            )

        by_source = sort(sources, csr.neighbors)
        return by_source, sort(csr.neighbors, sources) if graph.directed else by_source

    return graph.cached(CACHE_KEY, build)
