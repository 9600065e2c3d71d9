"""PageRank by power iteration.

Method `auto` runs many iterations per launch, over rows in a layout of their own
(`pagerank_layout`). The methods of Kim and of Reddy launch kernels for every iteration
(`pagerank_methods`).
"""

from __future__ import annotations

import math

import numpy as np

from ..device import Array
from ..frames import Frame, VertexValues
from ..graph.graph import GraphLike, as_local_graph
from ..graph.weight_sums import check_out_weights
from ..memory import check_run_memory
from ..progress import Progress, Report, reporter
from ..validation import check_memory_limit
from .pagerank_layout import PageRankLayout, allocate_buffers, arrange, launch_iterations
from .pagerank_methods import power_iterate
from .pagerank_problem import (
    PRECISIONS,
    DanglingPolicy,
    PageRankMethod,
    PageRankProblem,
    Precision,
    check_convergence,
    check_parameters,
    read_state,
)


def pagerank(
    graph: GraphLike,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    personalization: VertexValues = None,
    dangling: DanglingPolicy | VertexValues = None,
    start: VertexValues = None,
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
    method : {"auto", "edge", "node", "contribution", "warp"}, default "auto"
        Implementation; all give the same result. "auto" stores rows as sliced ELLPACK [2]_. "edge"
        and "node" are the methods of [3]_, "contribution" and "warp" those of [4]_. Only "auto"
        runs on Dask frames and layered edge lists.
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
    teleport, dangling_weights, start = problem.teleport, problem.dangling_weights, problem.start
    is_uniform = teleport.size == dangling_weights.size == start.size == 1
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
            layout, count, problem.tolerance, problem.damping, teleport, dangling_weights,
            contributions, pagerank, buffers, state, num_isolated=num_isolated,
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
