"""PageRank by power iteration.

With W[u] the weight that leaves u, an iteration computes::

    pagerank[v] = damping * (sum over arcs (u, v) of pagerank[u] w(u, v) / W[u]
                             + dangling_mass * dangling_weights[v])
                  + (1 - damping) * personalization[v]

where dangling_mass is the PageRank of vertices without out-edges.

Method `auto` runs many iterations per launch, over rows in a layout of their own
(`pagerank_layout`). The methods of Kim and of Reddy launch kernels for every iteration
(`pagerank_methods`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from ..device import Array
from ..errors import ConvergenceError, GraphError
from ..frames import Frame, VertexValues
from ..graph.local_graph import GraphLike, as_local_graph
from ..graph.vertex_arguments import resolve_vertex_values
from ..graph.vertex_names import Labeling
from ..graph.weight_sums import check_out_weights
from ..kernels.constants import WARP
from ..progress import Progress, Report, reporter
from ..validation import check_choice, check_count, check_memory_limit, check_number, reject
from .pagerank_layout import (
    PageRankLayout,
    allocate_buffers,
    arrange,
    launch_iterations,
    read_state,
)
from .pagerank_methods import power_iterate
from .run_memory import check_run_memory

PageRankMethod = Literal["auto", "frames", "edge", "node", "contribution", "warp"]
METHODS = get_args(PageRankMethod)
Precision = Literal["double", "single"]
PRECISIONS: dict[Precision, type[np.floating]] = {"double": np.float64, "single": np.float32}
DanglingPolicy = Literal["uniform", "drop"]  # besides None and weights by vertex
DANGLING = get_args(DanglingPolicy)
MAX_BLOCK_THREADS = 1024


def pagerank(
    graph: GraphLike,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    personalization: VertexValues | None = None,
    dangling: DanglingPolicy | VertexValues | None = None,
    start: VertexValues | None = None,
    method: PageRankMethod = "auto",
    precision: Precision = "double",
    progress: Progress = None,
    launch: tuple[int, int] | None = None,
    memory_limit: int | str | None = None,
) -> Frame:
    """Compute the PageRank of every vertex by power iteration [1]_.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        The edges of a frame are directed, from column `source` to column `destination`. A Dask
        frame, or the `Graph` of one, gives a Dask frame.
    damping : float, default 0.85
        Probability of following an edge, from 0 to 1.
    tolerance : float, default 1e-6
        Iterate until the L1 norm of the change in an iteration is below this. 0 runs exactly
        `max_iterations`.
    max_iterations : int, default 100
        Largest number of iterations.
    personalization : frame or dict, optional
        Weights by which the teleport chooses a vertex: a column `vertex` and one column of values,
        which are scaled to sum to 1. Vertices without a value get 0. Uniform by default.
    dangling : {"uniform", "drop"}, frame or dict, optional
        Where the PageRank of dangling vertices (those without out-edges) goes. By default it goes
        where the teleport goes, as in NetworkX and cuGraph. "uniform" distributes it over all
        vertices, "drop" discards it (the formula of [3]_ and [4]_, which loses mass), and weights
        as for `personalization` distribute it over the vertices that they name.
    start : frame or dict, optional
        Initial values, scaled to sum to 1. Uniform by default.
    method : {"auto", "frames", "edge", "node", "contribution", "warp"}, default "auto"
        Implementation; all give the same result. "auto" stores rows as sliced ELLPACK [2]_. "edge"
        and "node" are the methods of [3]_, "contribution" and "warp" those of [4]_. "frames" runs
        joins of pandas, cuDF or Dask frames, as for `bfs`. Only "auto" and "frames" run on Dask
        frames, and only "auto" on layered edge lists.
    precision : {"double", "single"}, default "double"
        Precision of the values that are stored and gathered. Sums are in double precision.
    progress : bool or callable, optional
        Whether to show a progress bar on standard error, or a function that is called as
        ``progress(done, total, text)`` after each batch of work; `total` is None if it is unknown.
        By default, a bar appears on a terminal if the run takes longer than a second.
    launch : (int, int), optional
        Blocks, and threads per block, of the kernel of a method other than "auto" on a GPU.
    memory_limit : int or str, optional
        Bytes, or a text such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed, once per iteration.

    Returns
    -------
    frame
        Columns `vertex` and `pagerank`: one row per vertex, sorted by vertex, in the library of the
        edge frame. Values sum to 1, except with ``dangling="drop"``.

    Raises
    ------
    ConvergenceError
        If the tolerance was not reached; the error has `iterations` and `residual`.
    GraphError
        If a parameter or the frame cannot be used.
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    See Also
    --------
    verify.pagerank : Check a result by one application of the formula.

    References
    ----------
    .. [1] S. Brin and L. Page, "The anatomy of a large-scale hypertextual Web search engine",
       Computer Networks and ISDN Systems 30, 1998. https://doi.org/10.1016/S0169-7552(98)00110-X
    .. [2] M. Kreutzer et al., "A unified sparse matrix data format for efficient general sparse
       matrix-vector multiplication on modern processors with wide SIMD units", SIAM J. Sci.
       Comput. 36(5), 2014. https://doi.org/10.1137/130930352
    .. [3] M.-S. Kim, "Towards exploiting GPUs for fast PageRank computation of large-scale
       networks", Daegu Gyeongbuk Institute of Science and Technology (DGIST).
    .. [4] C. S. Reddy, "GPU Programming", B.Tech. project report, Indian Institute of Technology
       Palakkad.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": ["a", "b", "c"], "destination": ["b", "a", "a"]})
    >>> rg.pagerank(edges).round(4)
      vertex  pagerank
    0      a    0.4865
    1      b    0.4635
    2      c    0.0500
    """
    damping, tolerance, max_iterations = check_parameters(
        damping, tolerance, max_iterations, dangling, method, precision, launch
    )
    check_memory_limit(memory_limit)
    graph = as_local_graph(graph, layout="csc")
    value_type = PRECISIONS[precision]
    graph.labeling.check_name_collisions("pagerank")
    if not graph.num_vertices:
        return graph.labeling.vertex_frame({"pagerank": graph.xp.empty(0, value_type)})
    size = f"{graph.num_vertices:,} vertices and {graph.num_arcs:,} arcs"
    check_run_memory(graph, "pagerank", f"PageRank of {size}")
    if graph.weighted:
        check_out_weights(graph.out_weights, graph.labeling)
    problem = PageRankProblem.create(
        graph, value_type, damping, tolerance, max_iterations, personalization, dangling, start,
        launch,
    )  # fmt: skip
    with reporter(progress, "PageRank", max_iterations) as report:
        if method == "auto":
            values, iterations, residual = _iterate(problem, report)
        else:
            values, iterations, residual = power_iterate(problem, method, report)
    check_convergence(iterations, residual, tolerance)
    return graph.labeling.vertex_frame({"pagerank": values})


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


def _iterate(problem: PageRankProblem, report: Report) -> tuple[Array, int, float]:
    """Iterate over the rows of a layout; return (PageRank by vertex, iterations, residual)."""
    graph, xp, value_type = problem.graph, problem.graph.xp, problem.value_type
    num_vertices = graph.num_vertices
    layout: PageRankLayout = graph.cached(
        f"PageRank layout, {np.dtype(value_type).name}",
        lambda: arrange(
            graph.csc, problem.weights, graph.out_degrees, problem.out_weights, value_type
        ),
    )
    problem.reorder(layout.order)
    teleport, start = problem.teleport, problem.start
    is_uniform = teleport.size == problem.dangling_weights.size == start.size == 1
    num_isolated = layout.num_isolated if is_uniform else 0
    is_dangling = layout.inverse_weights == 0
    # PageRank is stored for dangling vertices; that of others follows from their contributions.
    pagerank = xp.full(num_vertices, 1, value_type) * start.astype(value_type)
    contributions = xp.zeros((2, num_vertices + 1), value_type)
    index = layout.contribution_index if layout.contribution_index.size else slice(num_vertices)
    contributions[0, :num_vertices][index] = pagerank * layout.inverse_weights
    dangling_mass = float(pagerank[is_dangling].sum(dtype=np.float64))
    state = xp.asarray([0.0, math.inf, dangling_mass, 0.0, float(start[0])])
    buffers = allocate_buffers(layout)
    iterations, residual, has_converged = 0, math.inf, False
    while iterations < problem.max_iterations and not has_converged:
        count = min(problem.batch_size, problem.max_iterations - iterations)
        launch_iterations(
            layout, count, problem.tolerance, problem.damping, teleport,
            problem.dangling_weights, contributions, pagerank, buffers, state,
            num_isolated=num_isolated,
        )  # fmt: skip
        iterations, residual, has_converged = read_state(state)
        report(iterations, f"change {residual:.1e}")
    if num_isolated:
        pagerank[num_vertices - num_isolated :] = state[4]
    divisors = xp.where(is_dangling, 1, layout.inverse_weights)
    by_vertex = xp.empty(num_vertices, value_type)
    by_vertex[layout.order] = xp.where(
        is_dangling, pagerank, contributions[iterations % 2, :num_vertices][index] / divisors
    )
    return by_vertex, iterations, residual


def check_formula_parameters(damping: Any, tolerance: Any, dangling: Any) -> tuple[float, float]:
    """Return (damping, tolerance) as Python numbers; raise GraphError unless all are valid.

    A frame or dict in `dangling` is checked against the graph by `dangling_weights`.
    """
    if isinstance(dangling, str) and dangling not in DANGLING:
        reject(
            "dangling",
            dangling,
            f"it can be None (where the teleport goes), {', '.join(map(repr, DANGLING))}, or a "
            "frame or dict of weights by vertex",
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
    check_count("max_iterations", max_iterations, math.inf)
    check_choice("method", method, METHODS)
    check_choice("precision", precision, PRECISIONS)
    if launch is not None:
        _check_launch(launch, method)
    return damping, tolerance, int(max_iterations)


def _check_launch(launch: Any, method: str) -> None:
    if method in ("auto", "frames"):
        raise GraphError(
            f"{{parameter}} is for the methods edge, node, contribution and warp, not {method}",
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
        reject("launch", launch, "it must be (blocks, threads), both positive, below 2^31")
    if launch[1] > MAX_BLOCK_THREADS or (method == "warp" and launch[1] % WARP):
        requirement = f"{MAX_BLOCK_THREADS} threads per block is the most, and warp needs a "
        reject("launch", launch, f"{requirement}multiple of {WARP}")


def check_convergence(iterations: int, residual: float, tolerance: float) -> None:
    """Raise ConvergenceError unless the residual is below the tolerance."""
    if tolerance and not residual < tolerance:
        raise ConvergenceError(iterations, residual, tolerance)


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
        return labeling.xp.full(1, 0.0 if dangling == "drop" else 1 / labeling.num_vertices)
    return vertex_distribution(labeling, dangling, "dangling")
