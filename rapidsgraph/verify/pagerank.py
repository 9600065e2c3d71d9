"""One more application of PageRank's formula must change next to nothing."""

from ..algorithms.pagerank_problem import (
    check_formula_parameters,
    dangling_weights,
    vertex_distribution,
)
from ..dispatch import in_memory
from ..errors import VerificationError
from ..graph.csr import row_indices
from ..graph.graph import as_local_graph
from ..graph.weight_sums import check_out_weights
from .result_reader import Result, vertex_name


def pagerank(graph, ranks, *, damping=0.85, personalization=None, dangling=None, tolerance=1e-6):
    """Check that ranks are PageRank's fixed point.

    Applies the formula once, edge by edge, and compares. Where the total absolute change is r,
    the exact ranks are at most r / (1 - damping) away in total.

    Parameters
    ----------
    graph : Graph or edge frame
    ranks : frame
        As `rapidsgraph.pagerank` returns it: vertex names and `pagerank`, one row a vertex.
    damping, personalization, dangling
        As they were given there.
    tolerance : float
        The most that one application of the formula may change, in total (L1).

    Returns
    -------
    float
        That change.

    Raises
    ------
    VerificationError
        It is larger, or `ranks` lacks vertices, repeats them, or holds something that is no rank.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})
    >>> rg.verify.pagerank(edges, rg.pagerank(edges)) < 1e-12
    True
    """
    damping, tolerance = check_formula_parameters(damping, tolerance, dangling)
    graph = as_local_graph(in_memory(graph))
    xp, lists = graph.xp, graph.csr
    given = Result(graph, ranks).numbers("pagerank")
    if not graph.num_vertices:
        return 0.0
    sources = row_indices(lists)
    weights = lists.weights.astype(xp.float64) if graph.weighted else xp.ones(sources.size)
    leaving = xp.bincount(sources, weights=weights, minlength=graph.num_vertices)
    check_out_weights(leaving, graph.labeling)
    shares = weights / xp.where(leaving > 0, leaving, 1)[sources]
    expected = damping * xp.bincount(
        lists.neighbors, weights=shares * given[sources], minlength=graph.num_vertices
    )
    held = float(given[leaving == 0].sum())
    teleport = vertex_distribution(graph.labeling, personalization, "personalization")
    expected += damping * held * dangling_weights(graph.labeling, dangling, teleport)
    expected += (1 - damping) * teleport
    change = xp.abs(expected - given)
    total = float(change.sum())
    if not total <= tolerance:
        worst = int(change.argmax())
        raise VerificationError(
            f"these are not the ranks: applying the formula once changes them by {total:.3g} in "
            f"total, more than {tolerance:g}; most at {vertex_name(graph, worst)}, from "
            f"{float(given[worst]):.6g} to {float(expected[worst]):.6g}"
        )
    return total
