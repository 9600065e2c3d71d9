"""The PageRank equation of a graph, ready to be iterated, and the state of the iteration.

With W[u] the weight that leaves u, an iteration computes::

    pagerank[v] = damping * (sum over arcs (u, v) of pagerank[u] w(u, v) / W[u]
                             + dangling_mass * dangling_weights[v])
                  + (1 - damping) * personalization[v]

where dangling_mass is the PageRank of vertices without out-edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import device
from ..device import Array
from ..graph.labeling import Labeling
from ..graph.vertex_arguments import resolve_vertex_values

NUM_CPU_BLOCKS = 64  # vertex ranges with a partial sum each, on a CPU


@dataclass
class PageRankProblem:
    """A graph and the parameters of PageRank, as every method takes them.

    The arrays have one value per vertex, or a single value for all vertices.

    Attributes
    ----------
    graph : LocalGraph or LayeredEdgeList
    value_type : type
        numpy.float32 or numpy.float64.
    teleport : float64 array
        Personalization times (1 - damping).
    dangling_weights : float64 array
        Weights of the dangling mass, times damping.
    start : float64 array
    launch : (blocks, threads) or None
    partitions : object
        Partitions of a layered edge list, as they are streamed.
    """

    graph: Any
    value_type: type[np.floating]
    damping: float
    tolerance: float
    max_iterations: int
    teleport: Array
    dangling_weights: Array
    start: Array
    launch: tuple[int, int] | None
    partitions: Any = None

    @classmethod
    def create(
        cls,
        graph: Any,
        value_type: type[np.floating],
        damping: float,
        tolerance: float,
        max_iterations: int,
        personalization: Any,
        dangling: Any,
        start: Any,
        launch: tuple[int, int] | None = None,
    ) -> PageRankProblem:
        """Return the problem with the parameters of `pagerank`."""
        labeling = graph.labeling
        teleport = vertex_distribution(labeling, personalization, "personalization")
        return cls(
            graph,
            value_type,
            damping,
            tolerance,
            max_iterations,
            teleport=(1 - damping) * teleport,
            dangling_weights=damping * dangling_weights(labeling, dangling, teleport),
            start=vertex_distribution(labeling, start, "start"),
            launch=launch,
        )

    def reorder(self, order: Array) -> None:
        """Permute the per-vertex terms; the arrays in the old order are released."""
        for name in ("teleport", "dangling_weights", "start"):
            values = getattr(self, name)
            setattr(self, name, values if values.size == 1 else values[order])

    @cached_property
    def out_weights(self) -> Array:
        """Divisor of each vertex: its out-degree, or 1 with normalized weights; 0 if dangling."""
        weights = self.graph.out_weights
        is_normalized = self.graph.weighted and self.partitions is None
        return (weights > 0).astype(np.float64) if is_normalized else weights

    @cached_property
    def weights(self) -> Array:
        """Weight of each arc over the weight that leaves its source, which fits any precision."""
        lists = self.graph.csc
        if not self.graph.weighted:
            return self.graph.xp.empty(0, self.value_type)
        out_weights, xp = self.graph.out_weights, self.graph.xp
        divisors = xp.where(out_weights > 0, out_weights, 1.0)[lists.neighbors]
        normalized = xp.divide(lists.weights, divisors, out=divisors)
        return normalized.astype(self.value_type, copy=False)

    @property
    def batch(self) -> int:
        """Number of iterations between reads of the state: about 0.1 s of work."""
        pace = 3e9 if self.graph.xp is np else 3e11  # approximate bytes per second
        work = 16 * self.graph.num_arcs + 64 * self.graph.num_vertices
        return int(max(1, min(pace / 10 / work, 10_000)))


def read_state(state: Array) -> tuple[int, float, bool]:
    """Copy (iterations, residual, has converged) from the device."""
    done, residual, _, converged = (state.get() if device.is_on_gpu(state) else state)[:4].tolist()
    return int(done), residual, converged != 0


def vertex_distribution(labeling: Labeling, values: Any, parameter: str) -> Array:
    """Return values by vertex id that sum to 1; for None, one value that all vertices have."""
    if values is None:
        return labeling.xp.full(1, 1 / labeling.num_vertices)
    return resolve_vertex_values(labeling, values, parameter)


def dangling_weights(labeling: Labeling, dangling: Any, teleport: Array) -> Array:
    """Return the weights by which the PageRank of dangling vertices is distributed.

    Parameters
    ----------
    labeling : Labeling
    dangling : {"uniform", "drop"}, frame, dict or None
        As `pagerank` takes it, checked by `check_formula_parameters`.
    teleport : float64, shape (vertices,) or (1,)
        Weights of the teleport, which are the result for None.

    Returns
    -------
    float64, shape (vertices,), or (1,) for the same value at every vertex
    """
    if dangling is None:
        return teleport
    if isinstance(dangling, str):
        return (
            labeling.xp.zeros(1)
            if dangling == "drop"
            else vertex_distribution(labeling, None, "dangling")
        )
    return vertex_distribution(labeling, dangling, "dangling")
