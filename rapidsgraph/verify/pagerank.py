"""Verify PageRank: one more application of its formula must change little."""

from __future__ import annotations

from ..algorithms.pagerank import (
    DanglingPolicy,
    check_formula_parameters,
    dangling_weights,
    vertex_distribution,
)
from ..algorithms.parameters import FRAME_OPTIONS
from ..dispatch import in_memory
from ..errors import VerificationError
from ..frames import Frame, VertexValues
from ..graph.build import as_local_graph
from ..graph.csr import row_indices
from ..graph.local_graph import GraphLike
from ..graph.weight_sums import check_out_weights
from ..validation import suggest_parameters
from .result_reader import Result, vertex_name


@suggest_parameters
def pagerank(
    graph: GraphLike,
    result: Frame,
    *,
    damping: float = 0.85,
    personalization: VertexValues | None = None,
    dangling: DanglingPolicy | VertexValues | None = None,
    tolerance: float = 1e-6,
) -> float:
    """Verify a result of `pagerank`.

    Parameters
    ----------
    graph : Graph or edge frame
        A Dask frame, or the `Graph` of one, is computed.
    result : frame
        Vertex names and `pagerank`, one row per vertex, in any order.
    damping, personalization, dangling
        As in `rapidsgraph.pagerank`.
    tolerance : float, default 1e-6
        Largest accepted change (L1 norm) by one application of the formula.

    Returns
    -------
    float
        That change.

    Raises
    ------
    VerificationError
        If the change exceeds the tolerance, a vertex is unknown, missing or repeated, or a value is
        not a finite number; the message names the vertex.
    GraphError
        If a parameter is invalid, or the result has no column `pagerank`.

    See Also
    --------
    pagerank : Compute PageRank.

    Notes
    -----
    The formula is applied edge by edge, in double precision and without the kernels of
    `rapidsgraph.pagerank`. If the change is r, the values are at most r / (1 - damping) away from
    the fixed point in the L1 norm.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})
    >>> rg.verify.pagerank(edges, rg.pagerank(edges)) < 1e-12
    True
    """
    damping, tolerance = check_formula_parameters(damping, tolerance, dangling)
    graph = as_local_graph(in_memory(graph), **FRAME_OPTIONS["pagerank"])
    xp, adjacency, num_vertices = graph.xp, graph.csr, graph.num_vertices
    values = Result(graph, result).numbers("pagerank")
    if not num_vertices:
        return 0.0
    sources = row_indices(adjacency)
    weights = adjacency.weights.astype(xp.float64) if graph.weighted else xp.ones(sources.size)
    out_weights = xp.bincount(sources, weights=weights, minlength=num_vertices)
    check_out_weights(out_weights, graph.labeling)
    is_dangling = out_weights == 0
    weights = weights / xp.where(is_dangling, 1, out_weights)[sources]
    expected = damping * xp.bincount(
        adjacency.neighbors, weights=weights * values[sources], minlength=num_vertices
    )
    dangling_sum = float(values[is_dangling].sum())
    teleport = vertex_distribution(graph.labeling, personalization, "personalization")
    expected += damping * dangling_sum * dangling_weights(graph.labeling, dangling, teleport)
    expected += (1 - damping) * teleport
    change = xp.abs(expected - values)
    total_change = float(change.sum())
    if not total_change <= tolerance:
        vertex = int(change.argmax())
        raise VerificationError(
            f"the values are not PageRank: applying the formula once changes them by "
            f"{total_change:.3g} in total, more than {tolerance:g}; most at "
            f"{vertex_name(graph, vertex)}, from {float(values[vertex]):.6g} to "
            f"{float(expected[vertex]):.6g}",
            column="pagerank",
            value=float(values[vertex]),
        )
    return total_change
