"""Is this answer right? Checks by definition, without a second solver and without our kernels.

Each check recomputes what the definition says from the graph's edges with plain array sums, in
double precision, and raises VerificationError where a result does not satisfy it.
"""

from . import frames
from .adjacency import rows_of
from .algorithms.pagerank import sink_shares, vertex_shares
from .errors import GraphError, VerificationError
from .graph import as_graph


def pagerank(
    graph, ranks, *, damping=0.85, personalization=None, dangling="uniform", tolerance=1e-6
):
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
    graph = as_graph(graph)
    xp, lists = graph.xp, graph.outgoing
    given = _by_vertex(graph, ranks, "pagerank")
    if not graph.num_vertices:
        return 0.0
    sources = rows_of(lists)
    weights = lists.weights.astype(xp.float64) if graph.weighted else xp.ones(sources.size)
    leaving = xp.bincount(sources, weights=weights, minlength=graph.num_vertices)
    share = given / xp.where(leaving > 0, leaving, 1)
    expected = damping * xp.bincount(
        lists.neighbors, weights=weights * share[sources], minlength=graph.num_vertices
    )
    held = float(given[leaving == 0].sum())
    expected += damping * held * sink_shares(graph, dangling)
    expected += (1 - damping) * vertex_shares(graph, personalization, "personalization")
    change = xp.abs(expected - given)
    total = float(change.sum())
    if not total <= tolerance:
        worst = int(change.argmax())
        raise VerificationError(
            f"these are not the ranks: applying the formula once changes them by {total:.3g} in "
            f"total, more than {tolerance:g}; most at {_name(graph, worst)}, from "
            f"{float(given[worst]):.6g} to {float(expected[worst]):.6g}"
        )
    return total


def _by_vertex(graph, result, column):
    """A result's column by id, in float64; every vertex exactly once."""
    xp = graph.xp
    _, table = frames.opened(result)
    values = frames.column(table, column, column)
    try:
        ids = graph.ids(table, "the result")
    except GraphError as error:
        raise VerificationError(str(error)) from None
    if len(values) != len(ids):
        raise VerificationError(f"the result has {len(ids)} vertices and {len(values)} values")
    if values.dtype.kind not in "iuf" or not bool(xp.isfinite(values).all()):
        raise VerificationError(f"column {column!r} must hold a finite number in every row")
    in_order, everyone = xp.sort(ids), xp.arange(graph.num_vertices)
    if ids.size != everyone.size or not bool((in_order == everyone).all()):
        ends = xp.searchsorted(in_order, xp.arange(graph.num_vertices + 1))
        counts = ends[1:] - ends[:-1]
        wrong = int((counts != 1).argmax())
        raise VerificationError(
            f"the result has {int(counts[wrong])} rows for {_name(graph, wrong)}; it needs one"
        )
    by_id = xp.empty(graph.num_vertices)
    by_id[ids] = values
    return by_id


def _name(graph, vertex):
    names = [values[vertex : vertex + 1] for values in graph.names.columns(graph.xp).values()]
    shown = [str(n.tolist()[0] if hasattr(n, "tolist") else n.to_arrow()[0]) for n in names]
    return "vertex " + ", ".join(shown)
