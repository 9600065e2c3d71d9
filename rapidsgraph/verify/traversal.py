"""Distances and predecessors, looked at edge by edge.

A distance is right if no edge makes it smaller and if some path of edges that attain it leads
there from a source: then it is the length of that path, and no path is shorter. Sums from left
to right never fall in floating point, so all of it holds bit for bit.
"""

import numpy as np

from ..algorithms.traversal import check_cutoff, check_depth_limit, weighted_graph
from ..device import Array
from ..dispatch import in_memory
from ..errors import VerificationError
from ..graph.csr import row_indices
from ..graph.graph import as_local_graph
from ..graph.vertex_arguments import resolve_vertices
from .result_reader import Result, vertex_name

PIECE = 2**22  # arcs that are looked at together


def bfs(graph, result, source, *, depth_limit=None):
    """Check that these are the levels of a breadth-first search, and its predecessors.

    That sources alone have distance 0; that no edge spans more than one level; that one from the
    level before leads to every other vertex that was reached; that nothing lies beyond the limit;
    and that each predecessor, if the result has them, is the smallest that there can be.

    Parameters
    ----------
    graph : Graph or edge frame
    result : frame
        As `rapidsgraph.bfs` returns it: vertex names, `distance` and perhaps `predecessor`, one
        row a vertex.
    source, depth_limit
        As they were given there.

    Returns
    -------
    int
        The greatest distance.

    Raises
    ------
    VerificationError
        One of these does not hold, or `result` lacks vertices, repeats them, or holds something
        that is no distance: infinity, for instance, since unreached vertices have null.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})
    >>> rg.verify.bfs(edges, rg.bfs(edges, 1), 1)
    2
    """
    limit = None if depth_limit is None else check_depth_limit(depth_limit)
    return int(
        _greatest(as_local_graph(in_memory(graph)), result, source, limit, False, nullable=True)
    )


def sssp(graph, result, source, *, cutoff=None):
    """Check that these are the lengths of shortest paths, and the predecessors on them.

    That sources have distance 0; that no edge makes a distance smaller; that a path of edges
    which attain it leads to every vertex that was reached; that nothing lies beyond the cutoff;
    and that each predecessor, if the result has them, is the smallest that there can be.

    Parameters
    ----------
    graph : Graph or edge frame
        Of a frame weights are taken as `rapidsgraph.sssp` does.
    result : frame
        As `rapidsgraph.sssp` returns it: vertex names, `distance` and perhaps `predecessor`, one
        row a vertex.
    source, cutoff
        As they were given there.

    Returns
    -------
    float
        The greatest finite distance.

    Raises
    ------
    VerificationError
        One of these does not hold, or `result` lacks vertices, repeats them, or holds something
        that is no distance: null or NaN, for instance, since unreached vertices have infinity.

    Notes
    -----
    Distances are compared bit for bit, so of a text file a reader must round decimals correctly.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> columns = {"source": [0, 1, 0], "destination": [1, 2, 2], "weight": [1.0, 0.5, 2.0]}
    >>> edges = pandas.DataFrame(columns)
    >>> rg.verify.sssp(edges, rg.sssp(edges, 0), 0)
    1.5
    """
    graph = weighted_graph(in_memory(graph))
    return _greatest(graph, result, source, check_cutoff(cutoff), graph.weighted, nullable=False)


def _greatest(graph, result, source, limit, weighted, *, nullable):
    """Return the greatest finite distance of a result that passes all checks.

    `nullable` says whether null or infinity marks an unreached vertex, as in `Result.distances`.
    """
    xp, count = graph.xp, graph.num_vertices
    limit = np.inf if limit is None else float(limit)
    result = Result(graph, result)
    distance, is_source = result.distances(nullable=nullable), xp.zeros(count, bool)
    is_source[resolve_vertices(graph.labeling, source)] = True
    finite = xp.isfinite(distance)
    for bad, says in (
        (is_source & (distance != 0), "is a source and has"),
        (finite & (distance > limit), f"lies beyond the limit {_shown(limit)}, with"),
    ):
        if bool(bad.any()):
            wrong = int(bad.argmax())
            raise VerificationError(f"{vertex_name(graph, wrong)} {says} {_at(distance, wrong)}")
    best, steps = _tight(graph, distance, limit, weighted)
    best[is_source] = count
    needs = finite & ~is_source & (best == count)
    if bool(needs.any()):
        _follow_zero_steps(steps, needs, best, xp)
        if bool(needs.any()):
            wrong = int(needs.argmax())
            raise VerificationError(
                f"{vertex_name(graph, wrong)} has {_at(distance, wrong)}, and no path of that "
                "length leads there"
            )
    _check_predecessors(result.predecessors(best < count), best, graph)
    return float(distance[finite].max())


def _tight(graph, distance, limit, weighted):
    """What edges say that attain the distance at their destination; an error if one is below it.

    Returns
    -------
    best : int32, shape (vertices,)
        The smallest vertex nearer to a source from which such an edge comes, or the number of
        vertices.
    steps : list of two int32 arrays
        Sources and destinations of those between equal distances, by source.
    """
    xp, count, lists = graph.xp, graph.num_vertices, graph.csr
    best = xp.full(count, count, xp.int32)
    steps: list[list[Array]] = [[], []]
    all_tails = row_indices(lists)
    for start in range(0, all_tails.size, PIECE):
        piece = slice(start, start + PIECE)
        tails, heads = all_tails[piece], lists.neighbors[piece]
        begins, ends = distance[tails], distance[heads]
        with np.errstate(over="ignore"):  # a sum that is infinite reaches nothing
            arrives = begins + (lists.weights[piece].astype(xp.float64) if weighted else 1.0)
        below = (arrives < ends) & (arrives <= limit)
        if bool(below.any()):
            arc = int(below.argmax())
            raise VerificationError(
                f"{vertex_name(graph, int(heads[arc]))} has {_at(ends, arc)}, and the edge from "
                f"{vertex_name(graph, int(tails[arc]))} makes it {_shown(arrives[arc])}"
            )
        tight = (arrives == ends) & xp.isfinite(ends)
        nearer = tight & (begins < ends)
        xp.minimum.at(best, heads[nearer], tails[nearer])
        tight &= begins == ends
        if bool(tight.any()):
            steps[0].append(tails[tight])
            steps[1].append(heads[tight])
    return best, [xp.concatenate(ends) if ends else all_tails[:0] for ends in steps]


def _follow_zero_steps(steps, needs, best, xp):
    """Where only edges between equals attain a distance, follow them from vertices without need.

    Fills in `best`, level by level, and takes from `needs` what is reached.
    """
    tails, heads = (ends[needs[steps[1]]] for ends in steps)
    ready = ~needs[tails]
    start, end = tails[ready], heads[ready]
    while end.size:
        xp.minimum.at(best, end, start)
        reached = xp.unique(end)
        needs[reached] = False
        first = xp.searchsorted(tails, reached, side="left")
        last = xp.searchsorted(tails, reached, side="right")
        ends = xp.cumsum(last - first)
        arcs = xp.arange(int(ends[-1]))
        row = xp.searchsorted(ends, arcs, side="right")
        arcs += last[row] - ends[row]
        open_ = needs[heads[arcs]]
        start, end = tails[arcs][open_], heads[arcs][open_]


def _check_predecessors(given, best, graph):
    if given is None:
        return
    differs = given != best
    if bool(differs.any()):
        wrong = int(differs.argmax())
        said, right = (
            "no predecessor" if p == graph.num_vertices else f"predecessor {vertex_name(graph, p)}"
            for p in (int(given[wrong]), int(best[wrong]))
        )
        raise VerificationError(f"{vertex_name(graph, wrong)} has {said}; it must have {right}")


def _at(distance, place):
    value = float(distance[place])
    return "no distance" if value == np.inf else f"distance {_shown(value)}"


def _shown(value):
    value = float(value)
    return str(int(value)) if value.is_integer() else repr(value)
