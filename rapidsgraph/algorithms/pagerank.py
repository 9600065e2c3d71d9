"""PageRank by power iteration.

Method `auto` runs many iterations in one launch, over a layout of its own (`pagerank_layout`). The
methods of Kim and of Reddy launch kernels for every iteration (`pagerank_methods`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import device
from ..device import Array
from ..errors import ConvergenceError, GraphError, format_value
from ..graph.graph import as_local_graph
from ..graph.weight_sums import check_out_weights
from ..kernels.constants import COOPERATIVE_THREADS, WARP
from ..memory import estimate_graph_memory
from ..progress import reporter
from ..validation import check_choice, check_free_memory, check_memory_limit, check_number
from . import pagerank_layout
from .pagerank_layout import PageRankLayout
from .pagerank_methods import power_iterate
from .pagerank_problem import NUM_CPU_BLOCKS, PageRankProblem, read_state

METHODS = ("auto", "edge", "node", "contribution", "warp")
PRECISIONS: dict[str, type[np.floating]] = {"double": np.float64, "single": np.float32}
DANGLING = ("uniform", "drop")  # besides None and weights by vertex


def pagerank(
    graph: Any,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    personalization: Any = None,
    dangling: Any = None,
    start: Any = None,
    method: str = "auto",
    precision: str = "double",
    progress: bool | Callable[[int, str], None] | None = None,
    launch: tuple[int, int] | None = None,
    memory_limit: int | str | None = None,
) -> Any:
    """Compute the PageRank of every vertex.

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
        vertices, "drop" discards it (formula (1) of Kim and Reddy, which loses mass), and weights
        as for `personalization` distribute it over the vertices that they name.
    start : frame or dict, optional
        Initial values, scaled to sum to 1. Uniform by default.
    method : {"auto", "edge", "node", "contribution", "warp"}, default "auto"
        Implementation; all give the same result. Only "auto" runs on Dask frames and layered edge
        lists.
    precision : {"double", "single"}, default "double"
        Precision of the values that are stored and gathered. Sums are in double precision.
    progress : bool or callable, optional
        Whether to show a progress bar on standard error, or a function that is called with the
        number of iterations and a text. By default a bar is shown on a terminal if the run lasts.
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
        The tolerance was not reached; the error has `iterations` and `residual`.
    GraphError
        A parameter or the frame cannot be used.
    InsufficientMemoryError
        The run would not fit into memory; raised before it starts.

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
    graph = as_local_graph(graph, "csc")
    xp, vertices = graph.xp, graph.num_vertices
    value_type = PRECISIONS[precision]
    graph.labeling.check_name_collisions("pagerank")
    if not vertices:
        return graph.labeling.vertex_frame({"pagerank": xp.empty(0, value_type)})
    needed = estimate_graph_memory(graph, "pagerank").needed
    check_free_memory(f"PageRank of {vertices:,} vertices and {graph.num_arcs:,} arcs", needed, xp)
    if graph.weighted:
        check_out_weights(graph.out_weights, graph.labeling)
    run = PageRankProblem.create(
        graph, value_type, damping, tolerance, max_iterations, personalization, dangling, start,
        launch,
    )  # fmt: skip
    with reporter(progress, "PageRank", max_iterations) as report:
        if method == "auto":
            ranks, iterations, residual = _iterate(run, report)
        else:
            ranks, iterations, residual = power_iterate(run, method, report)
    check_convergence(iterations, residual, tolerance)
    return graph.labeling.vertex_frame({"pagerank": ranks})


def check_convergence(iterations: int, residual: float, tolerance: float) -> None:
    """Raise ConvergenceError unless the residual is below the tolerance."""
    if tolerance and not residual < tolerance:
        raise ConvergenceError(iterations, residual, tolerance)


def _iterate(run: PageRankProblem, report: Callable[[int, str], None]) -> tuple[Array, int, float]:
    """Run method auto: a batch of iterations per launch, over rows sorted by in-degree."""
    graph, xp = run.graph, run.graph.xp
    vertices, value_type = graph.num_vertices, run.value_type
    rows = graph.cached(
        f"row order, {np.dtype(value_type).name}",
        lambda: pagerank_layout.arrange(
            graph.csc, run.weights, graph.out_degrees, run.out_weights, value_type
        ),
    )
    run.reorder(rows.order)
    teleport, dangling, start = run.teleport, run.dangling_weights, run.start
    ranks = xp.full(vertices, 1, value_type) * start.astype(value_type)
    contributions = xp.zeros((2, vertices + 1), value_type)
    slots = rows.slots if rows.slots.size else slice(0, vertices)
    contributions[0, :vertices][slots] = ranks * rows.inverse_weights
    mass = float(ranks[rows.inverse_weights == 0].sum(dtype=np.float64))
    state = xp.asarray([0.0, math.inf, mass, 0.0, float(start[0])])
    idle = rows.idle if teleport.size == dangling.size == start.size == 1 else 0
    buffers = allocate_buffers(rows)
    iterations, residual, converged = 0, math.inf, False
    while iterations < run.max_iterations and not converged:
        count = min(run.batch, run.max_iterations - iterations)
        launch_iterations(
            rows, count, run.tolerance, run.damping, teleport, dangling, contributions, ranks,
            buffers, state, num_isolated=idle,
        )  # fmt: skip
        iterations, residual, converged = read_state(state)
        report(iterations, f"change {residual:.1e}")
    last = contributions[iterations % 2, :vertices][slots]
    if idle:
        ranks[vertices - idle :] = state[4]
    is_sink = rows.inverse_weights == 0
    by_id = xp.empty(vertices, value_type)
    by_id[rows.order] = xp.where(is_sink, ranks, last / xp.where(is_sink, 1, rows.inverse_weights))
    return by_id, iterations, residual


def allocate_buffers(layout: PageRankLayout) -> dict[str, Array]:
    """Return the arrays that `launch_iterations` needs only within a launch, by parameter name."""
    xp = device.array_module(layout.order)
    num_partials = 2 * NUM_CPU_BLOCKS if xp is np else 4 * device.max_cooperative_blocks()
    return {
        "chunk_sums": xp.zeros(max(layout.chunks, 1)),
        "arrived_chunks": xp.zeros(max(layout.long_rows, 1), xp.int32),
        "arrived_blocks": xp.zeros(1, xp.uint64),
        "partials": xp.zeros(num_partials),
    }


def launch_iterations(
    layout: PageRankLayout,
    num_iterations: int,
    tolerance: float,
    damping: float,
    teleport: Array,
    dangling_weights: Array,
    contributions: Array,
    pagerank: Array,
    buffers: dict[str, Array],
    state: Array,
    *,
    num_isolated: int = 0,
) -> None:
    """Run up to `num_iterations` over the rows of a layout in one launch; see pagerank.cu.

    Parameters
    ----------
    layout : PageRankLayout
    num_iterations : int
    tolerance, damping : float
    teleport, dangling_weights : float64, shape (rows,) or (1,)
    contributions : value type, shape (2, n + 1)
        Contributions of n vertices, those of the rows among them, read and written by turns.
    pagerank : value type, shape (rows,)
        PageRank of the dangling vertices.
    buffers : dict
        From `allocate_buffers`.
    state : float64, shape (5,)
        As in pagerank.cu.
    num_isolated : int
        Number of last rows without edges, whose PageRank is ``state[4]``.
    """
    num_rows = layout.order.size
    units = layout.chunks + layout.whole_rows + (num_rows - num_isolated) // WARP + 1
    buffers["arrived_blocks"].fill(0)
    device.launch(
        "pagerank", "iterate", size=units * WARP, threads=COOPERATIVE_THREADS,
        cooperative=True, shared_bytes=layout.hot * pagerank.itemsize,
        num_iterations=num_iterations, tolerance=tolerance, damping=damping,
        num_vertices=num_rows, num_contributions=contributions.shape[1] - 1,
        num_isolated=num_isolated, num_long_rows=layout.long_rows,
        num_whole_rows=layout.whole_rows, num_narrow_slices=layout.narrow_slices,
        num_chunks=layout.chunks, num_cached=layout.hot, chunk_rows=layout.chunk_rows,
        chunk_offsets=layout.chunk_offsets, row_offsets=layout.row_offsets,
        slice_offsets=layout.slice_offsets, neighbors=layout.neighbors, weights=layout.weights,
        weighted=layout.weights.size > 0, contribution_index=layout.slots,
        has_contribution_index=layout.slots.size > 0, inverse_weights=layout.inverse_weights,
        teleport=teleport, num_teleports=teleport.size, dangling_weights=dangling_weights,
        num_dangling_weights=dangling_weights.size, contributions=contributions.reshape(-1),
        pagerank=pagerank, state=state, **buffers,
    )  # fmt: skip


def check_formula_parameters(damping: Any, tolerance: Any, dangling: Any) -> tuple[float, float]:
    """Return (damping, tolerance) as Python numbers; raise GraphError unless all are valid.

    A frame or dict in `dangling` is checked against the graph by `dangling_weights`.
    """
    if isinstance(dangling, str) and dangling not in DANGLING:
        raise GraphError(
            f"dangling is {format_value(dangling)}; it can be None (where the teleport goes), "
            f"{', '.join(map(repr, DANGLING))}, or a frame or dict of weights by vertex"
        )
    return check_number("damping", damping, 1), check_number("tolerance", tolerance)


def _is_launch_size(number: Any) -> bool:
    is_integer = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    return is_integer and 0 < number < 2**31


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
    if isinstance(max_iterations, bool) or not isinstance(max_iterations, (int, np.integer)):
        raise GraphError(f"max_iterations is {format_value(max_iterations)}; it must be an integer")
    if max_iterations < 1:
        raise GraphError(f"max_iterations is {format_value(max_iterations)}; it must be at least 1")
    check_choice("method", method, METHODS)
    check_choice("precision", precision, PRECISIONS)
    numbers = damping, tolerance, int(max_iterations)
    if launch is None:
        return numbers
    if method == "auto":
        raise GraphError("launch is for the methods edge, node, contribution and warp, not auto")
    good = isinstance(launch, (tuple, list)) and len(launch) == 2
    if not good or not all(_is_launch_size(number) for number in launch):
        raise GraphError(
            f"launch is {format_value(launch)}; it must be (blocks, threads), both positive, "
            "below 2^31",
            parameter="launch",
            value=launch,
        )
    if launch[1] > 1024 or (method == "warp" and launch[1] % 32):
        raise GraphError(
            f"launch has {format_value(launch[1])} threads; 1024 is the most, and "
            "warp needs a multiple of 32",
            parameter="launch",
            value=launch,
        )
    return numbers
