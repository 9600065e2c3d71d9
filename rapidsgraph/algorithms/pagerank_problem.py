"""The PageRank equation of a graph and its parameters, validated and as arrays.

With W[u] the weight that leaves u, an iteration computes::

    pagerank[v] = damping * (sum over arcs (u, v) of pagerank[u] w(u, v) / W[u]
                             + dangling_mass * dangling_weights[v])
                  + (1 - damping) * personalization[v]

where dangling_mass is the PageRank of vertices without out-edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from .. import device
from ..device import Array, ArrayModule
from ..errors import ConvergenceError, GraphError, format_value
from ..frames import VertexValues
from ..graph.labeling import Labeling
from ..graph.vertex_arguments import resolve_vertex_values
from ..kernels.constants import WARP
from ..validation import check_choice, check_number
from .pagerank_layout import NUM_CPU_BLOCKS

PageRankMethod = Literal["auto", "edge", "node", "contribution", "warp"]
METHODS = get_args(PageRankMethod)
Precision = Literal["double", "single"]
PRECISIONS: dict[Precision, type[np.floating]] = {"double": np.float64, "single": np.float32}
DanglingPolicy = Literal["uniform", "drop"]  # besides None and weights by vertex
DANGLING = get_args(DanglingPolicy)
MAX_BLOCK_THREADS = 1024


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
        personalization: VertexValues,
        dangling: DanglingPolicy | VertexValues,
        start: VertexValues,
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
        csc = self.graph.csc
        if not self.graph.weighted:
            return self.graph.xp.empty(0, self.value_type)
        out_weights, xp = self.graph.out_weights, self.graph.xp
        divisors = xp.where(out_weights > 0, out_weights, 1.0)[csc.neighbors]
        normalized = xp.divide(csc.weights, divisors, out=divisors)
        return normalized.astype(self.value_type, copy=False)

    @property
    def batch_size(self) -> int:
        """Number of iterations between reads of the state: about 0.1 s of work."""
        pace = 3e9 if self.graph.xp is np else 3e11  # approximate bytes per second
        work = 16 * self.graph.num_arcs + 64 * self.graph.num_vertices
        return int(max(1, min(pace / 10 / work, 10_000)))


def read_state(state: Array) -> tuple[int, float, bool]:
    """Copy (iterations, residual, has converged) from the device."""
    done, residual, _, converged = (state.get() if device.is_on_gpu(state) else state)[:4].tolist()
    return int(done), residual, converged != 0


def vertex_distribution(labeling: Labeling, values: VertexValues, parameter: str) -> Array:
    """Return values by vertex id that sum to 1; for None, one value that all vertices have."""
    if values is None:
        return labeling.xp.full(1, 1 / labeling.num_vertices)
    return resolve_vertex_values(labeling, values, parameter)


def dangling_weights(
    labeling: Labeling, dangling: DanglingPolicy | VertexValues, teleport: Array
) -> Array:
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


def num_measure_blocks(xp: ArrayModule) -> int:
    """Return the number of blocks, each with partial sums, that measure the change of a sweep."""
    if xp is np:
        return NUM_CPU_BLOCKS
    return 4 * xp.cuda.Device().attributes["MultiProcessorCount"]


def check_formula_parameters(damping: Any, tolerance: Any, dangling: Any) -> tuple[float, float]:
    """Return (damping, tolerance) as Python numbers; raise GraphError unless all are valid.

    A frame or dict in `dangling` is checked against the graph by `dangling_weights`.
    """
    if isinstance(dangling, str) and dangling not in DANGLING:
        raise GraphError(
            f"{{parameter}} is {format_value(dangling)}; it can be None (where the teleport goes), "
            f"{', '.join(map(repr, DANGLING))}, or a frame or dict of weights by vertex",
            parameter="dangling",
            value=dangling,
        )
    return check_number("damping", damping, 1), check_number("tolerance", tolerance)


def check_parameters(
    damping: Any,
    tolerance: Any,
    max_iterations: Any,
    dangling: Any,
    method: Any,
    precision: Any,
    launch: Any,
) -> tuple[float, float, int]:
    """Return (damping, tolerance, max_iterations) as Python numbers, all parameters checked."""
    damping, tolerance = check_formula_parameters(damping, tolerance, dangling)
    is_integer = isinstance(max_iterations, (int, np.integer))
    if not is_integer or isinstance(max_iterations, bool) or max_iterations < 1:
        raise GraphError(
            f"{{parameter}} is {format_value(max_iterations)}; it must be an integer above 0",
            parameter="max_iterations",
            value=max_iterations,
        )
    check_choice("method", method, METHODS)
    check_choice("precision", precision, PRECISIONS)
    if launch is not None:
        _check_launch(launch, method)
    return damping, tolerance, int(max_iterations)


def _check_launch(launch: Any, method: str) -> None:
    if method == "auto":
        raise GraphError(
            "{parameter} is for the methods edge, node, contribution and warp, not auto",
            parameter="launch",
            value=launch,
        )
    is_pair = isinstance(launch, (tuple, list)) and len(launch) == 2
    if not is_pair or not all(
        isinstance(number, (int, np.integer))
        and not isinstance(number, bool)
        and 0 < number < 2**31
        for number in launch
    ):
        raise GraphError(
            f"{{parameter}} is {format_value(launch)}; it must be (blocks, threads), both "
            "positive, below 2^31",
            parameter="launch",
            value=launch,
        )
    if launch[1] > MAX_BLOCK_THREADS or (method == "warp" and launch[1] % WARP):
        raise GraphError(
            f"{{parameter}} has {format_value(launch[1])} threads; {MAX_BLOCK_THREADS} is the "
            f"most, and warp needs a multiple of {WARP}",
            parameter="launch",
            value=launch,
        )


def check_convergence(iterations: int, residual: float, tolerance: float) -> None:
    """Raise ConvergenceError unless the residual is below the tolerance."""
    if tolerance and not residual < tolerance:
        raise ConvergenceError(iterations, residual, tolerance)
