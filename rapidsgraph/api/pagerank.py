"""PageRank: the public function."""

from __future__ import annotations

import math
from typing import Any

from ..algorithms.pagerank import (
    METHODS,
    PRECISIONS,
    DanglingPolicy,
    PageRankMethod,
    Precision,
    check_formula_parameters,
)
from ..algorithms.parameters import PageRankParameters
from ..dispatch import run
from ..errors import ConvergenceError, GraphError
from ..frames import Frame, VertexValues
from ..graph.local_graph import GraphLike
from ..kernels.constants import WARP
from ..progress import Progress
from ..validation import (
    check_choice,
    check_count,
    check_progress,
    is_integral,
    reject,
    suggest_parameters,
)

MAX_BLOCK_THREADS = 1024


@suggest_parameters
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
    """Compute the PageRank of every vertex by power iteration.

    It is the probability of being at the vertex in a random walk over the edges, which starts again
    at a random vertex with probability 1 - `damping` [1]_.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        The edges of a frame are directed, from column `source` to column `destination`. Weights are
        those of the `Graph`, or of column `weight` if the frame has one: a vertex distributes its
        PageRank in proportion to them, and those of parallel edges are summed, as in
        ``rg.Graph(edges, multi_edges="sum")``. Without weights, parallel edges of a frame count
        once. A Dask frame, or the `Graph` of one, gives a Dask frame.
    damping : float, default 0.85
        Probability of following an edge, from 0 to 1.
    tolerance : float, default 1e-6
        Iterate until the L1 norm of the change in an iteration is below this. 0 runs exactly
        `max_iterations`.
    max_iterations : int, default 100
        Largest number of iterations.
    personalization : frame, Series or dict, optional
        Weights by which the teleport chooses a vertex: a column `vertex` and one column of values,
        a pandas or cuDF Series indexed by vertex, or a dict from vertex to value. They are scaled
        to sum to 1. Vertices without a value get 0. Uniform by default.
    dangling : {"uniform", "drop"}, frame, Series or dict, optional
        Where the PageRank of dangling vertices (those without out-edges) goes. By default it goes
        where the teleport goes, as in NetworkX and cuGraph. "uniform" distributes it over all
        vertices, "drop" discards it (the formula of [3]_ and [4]_, which loses mass), and weights
        as for `personalization` distribute it over the vertices that they name.
    start : frame, Series or dict, optional
        Initial values, scaled to sum to 1. Uniform by default.
    method : {"auto", "frames", "edge", "node", "contribution", "warp"}, default "auto"
        Implementation; all give the same result. "auto" stores rows as sliced ELLPACK [2]_. "edge"
        and "node" are the methods of [3]_, "contribution" and "warp" those of [4]_. "frames" runs
        joins of pandas, cuDF or Dask frames, as for `bfs`. Only "auto" and "frames" run on Dask
        frames, and only "auto" on layered edge lists.
    precision : {"double", "single"}, default "double"
        Precision of the values that are stored and gathered. Sums are in double precision.
    progress : bool or callable, optional
        Whether to show a progress bar on standard error or in the notebook, or a function that is
        called as ``progress(done, total, text)`` after each batch of work; `total` is None if it is
        unknown. By default, a bar appears on a terminal if the run takes longer than a second.
    launch : (int, int), optional
        Blocks, and threads per block, of the kernel of a method other than "auto" on a GPU.
    memory_limit : int or str, optional
        Bytes, or a string such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed, once per iteration.

    Returns
    -------
    frame
        Columns `vertex` and `pagerank` (float64, or float32 in single precision): one row per
        vertex, sorted by vertex, in the library of the edge frame. Values sum to 1, except with
        ``dangling="drop"``.

    Raises
    ------
    ConvergenceError
        If the tolerance was not reached; the error has `iterations`, `residual` and the last values
        as `result`.
    GraphError
        If a parameter or the frame cannot be used.
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    Warns
    -----
    WeightWarning
        If the edges have no column `weight`, but other columns of numbers.

    See Also
    --------
    verify.pagerank : Check a result by one application of the formula.

    Notes
    -----
    With d the damping, w(u, v) the weight of the arc from u to v (1 without weights), W(u) the sum
    of the weights that leave u, t the personalization and q the distribution of `dangling`, both
    scaled to sum to 1 (q is 0 for "drop"), an iteration computes ::

        new[v] = d (sum over arcs (u, v) of old[u] w(u, v) / W(u) + m q[v]) + (1 - d) t[v]

    where m is the sum of the old values of dangling vertices. It reads every arc once. The change
    shrinks by a factor of d or less per iteration, so that the number of iterations grows with
    log(tolerance) / log(d).

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
    check_choice("method", method, METHODS)
    damping, tolerance = check_formula_parameters(damping, tolerance, dangling)
    check_count("max_iterations", max_iterations, math.inf)
    check_choice("precision", precision, PRECISIONS)
    check_progress(progress)
    if launch is not None:
        _check_launch(launch, method)
    parameters = PageRankParameters(
        damping=damping, tolerance=tolerance, max_iterations=int(max_iterations),
        personalization=personalization, dangling=dangling, start=start, method=method,
        value_type=PRECISIONS[precision], launch=launch, memory_limit=memory_limit,
        progress=progress,
    )  # fmt: skip
    frame, iterations, residual = run("pagerank", graph, parameters)
    if tolerance and not residual < tolerance:
        raise ConvergenceError(iterations, residual, tolerance, frame)
    return frame


def _check_launch(launch: Any, method: str) -> None:
    if method in ("auto", "frames"):
        raise GraphError(
            f"{{parameter}} is for the methods edge, node, contribution and warp, not {method}",
            parameter="launch",
            value=launch,
        )
    is_pair = isinstance(launch, (tuple, list)) and len(launch) == 2
    if not is_pair or not all(is_integral(number) and 0 < number < 2**31 for number in launch):
        reject("launch", launch, "it must be (blocks, threads), both positive, below 2^31")
    if launch[1] > MAX_BLOCK_THREADS or (method == "warp" and launch[1] % WARP):
        requirement = f"{MAX_BLOCK_THREADS} threads per block is the most, and warp needs a "
        reject("launch", launch, f"{requirement}multiple of {WARP}")
