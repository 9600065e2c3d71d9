"""Predecessors on shortest paths by weight, from the distances of all vertices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from .. import device
from ..device import Array
from ..graph.csr import Adjacency, row_indices, transpose
from ..kernels.constants import WARP

CHUNK_ARCS = 2**22  # arcs per block of the search for zero-weight edges


def find_predecessors(
    csr: Adjacency, csc: Adjacency, pull_start: Array, distances: Array, predecessors: Array
) -> None:
    """Lower each predecessor to the smallest vertex that precedes the vertex on a shortest path.

    The lists of both adjacencies are sorted by weight. Vertices pull from sources at a distance of
    ``pull_start[0]`` or more, by the CSC; nearer sources push, by the CSR.
    """
    num_vertices = csc.offsets.size - 1
    device.launch(
        "sssp", "find_predecessors", size=num_vertices,
        num_vertices=num_vertices, pull_start=pull_start,
        offsets=csr.offsets, neighbors=csr.neighbors, weights=csr.weights,
        in_offsets=csc.offsets, in_neighbors=csc.neighbors, in_weights=csc.weights,
        distances=distances, predecessors=predecessors,
    )  # fmt: skip


def pull_predecessors(csc: Adjacency, distances: Array, predecessors: Array) -> None:
    """Write the smallest valid predecessors where `predecessors` is NO_VERTEX, from the CSC."""
    num_vertices = csc.offsets.size - 1
    device.launch(
        "sssp", "pull_predecessors", size=WARP * num_vertices, num_vertices=num_vertices,
        offsets=csc.offsets, neighbors=csc.neighbors, weights=csc.weights, distances=distances,
        predecessors=predecessors,
    )  # fmt: skip


def push_predecessors(
    csr: Adjacency,
    distances: Array,
    predecessors: Array,
    skip_range: tuple[float, float] = (0.0, 0.0),
) -> None:
    """Lower `predecessors` to valid ones among the sources of the CSR.

    Sources at distances from ``skip_range[0]`` to below ``skip_range[1]`` are left out.
    """
    num_vertices = csr.offsets.size - 1
    device.launch(
        "sssp", "push_predecessors", size=WARP * num_vertices, num_vertices=num_vertices,
        skip_start=skip_range[0], skip_stop=skip_range[1], offsets=csr.offsets,
        neighbors=csr.neighbors, weights=csr.weights, distances=distances,
        predecessors=predecessors,
    )  # fmt: skip


@dataclass
class ArcSubgraph:
    """A graph of some arcs, as searches and `find_strong_roots` take it."""

    xp: ModuleType
    csr: Adjacency

    @property
    def num_vertices(self) -> int:
        return self.csr.offsets.size - 1

    @property
    def num_arcs(self) -> int:
        return self.csr.neighbors.size

    @cached_property
    def csc(self) -> Adjacency:
        return transpose(self.csr)


def zero_weight_edges(
    adjacency: Adjacency, distances: Array, remaining: Array, xp: ModuleType
) -> ArcSubgraph:
    """Return the arcs to `remaining` vertices, from the same distance, that add nothing to it."""
    rows, chunks = row_indices(adjacency), [xp.empty(0, np.int64)]
    for start in range(0, rows.size, CHUNK_ARCS):
        chunk = slice(start, start + CHUNK_ARCS)
        before, neighbors = distances[rows[chunk]], adjacency.neighbors[chunk]
        keep = remaining[neighbors] & (before == distances[neighbors])
        with np.errstate(over="ignore"):  # an infinite sum is not equal
            keep &= before + adjacency.weights[chunk] == before
        chunks.append(start + xp.flatnonzero(keep))
    arcs = xp.concatenate(chunks)
    offsets = xp.searchsorted(rows[arcs], xp.arange(distances.size + 1, dtype=xp.int32))
    return ArcSubgraph(xp, Adjacency(offsets, adjacency.neighbors[arcs], xp.empty(0)))
