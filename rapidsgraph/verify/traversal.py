"""Verify distances and predecessors of BFS and SSSP.

A distance is right if no edge makes it smaller, and if a path of edges that attain it leads to the
vertex from a source: then it is the length of that path, and no path is shorter. Rounded sums of
weights never decrease along a path, so distances are compared bit for bit.
"""

from __future__ import annotations

import numpy as np

from ..algorithms.predecessors import ArcSubgraph
from ..algorithms.traversal import check_cutoff, check_depth_limit, run_bfs, weighted_graph
from ..device import Array, array_module, count_nonzero, flatnonzero
from ..dispatch import in_memory
from ..errors import VerificationError
from ..frames import Frame, Vertices
from ..graph.build import as_local_graph
from ..graph.csr import Adjacency, row_indices
from ..graph.local_graph import GraphLike, LocalGraph
from ..graph.vertex_arguments import resolve_vertices
from ..validation import suggest_parameters
from .result_reader import Result, vertex_name

CHUNK_ARCS = 2**22  # arcs that are checked at a time


@suggest_parameters
def bfs(
    graph: GraphLike, result: Frame, source: Vertices, *, depth_limit: int | None = None
) -> int:
    """Verify a result of `bfs`.

    Parameters
    ----------
    graph : Graph or edge frame
        A Dask frame, or the `Graph` of one, is computed.
    result : frame
        Vertex names, `distance` and optionally predecessors, one row per vertex, in any order.
    source, depth_limit
        As in `rapidsgraph.bfs`.

    Returns
    -------
    int
        Largest distance.

    Raises
    ------
    VerificationError
        If a check fails, a vertex is unknown, missing or repeated, or a value is not a distance,
        such as infinity: unreached vertices have null. The message names the vertex.
    GraphError
        If a parameter is invalid, or the result has no column `distance`.

    See Also
    --------
    bfs : Compute distances in edges.

    Notes
    -----
    The checks: only sources have distance 0; no edge leads more than one level away from the
    sources; an edge from the level before leads to every other reached vertex; no distance exceeds
    the limit; and predecessors are the smallest valid ones.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})
    >>> rg.verify.bfs(edges, rg.bfs(edges, 1), 1)
    2
    """
    limit = None if depth_limit is None else check_depth_limit(depth_limit)
    graph = as_local_graph(in_memory(graph))
    return int(_verify(graph, result, source, limit, weighted=False, nullable=True))


@suggest_parameters
def sssp(
    graph: GraphLike, result: Frame, source: Vertices, *, cutoff: float | None = None
) -> float:
    """Verify a result of `sssp`.

    Parameters
    ----------
    graph : Graph or edge frame
        The weights of a frame are taken as by `rapidsgraph.sssp`. A Dask frame, or the `Graph` of
        one, is computed.
    result : frame
        Vertex names, `distance` and optionally predecessors, one row per vertex, in any order.
    source, cutoff
        As in `rapidsgraph.sssp`.

    Returns
    -------
    float
        Largest finite distance.

    Raises
    ------
    VerificationError
        If a check fails, a vertex is unknown, missing or repeated, or a value is not a distance,
        such as null or NaN: unreached vertices have infinity. The message names the vertex.
    GraphError
        If a parameter is invalid, or the result has no column `distance`.

    See Also
    --------
    sssp : Compute lengths of shortest paths.

    Notes
    -----
    The checks: sources have distance 0; no edge makes a distance smaller; a path of edges that
    attain it leads from a source to every other reached vertex; no distance exceeds the cutoff; and
    predecessors are the smallest valid ones. Distances are compared bit for bit, so a text file has
    to be read with correct rounding.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> columns = {"source": [0, 1, 0], "destination": [1, 2, 2], "weight": [1.0, 0.5, 2.0]}
    >>> edges = pandas.DataFrame(columns)
    >>> rg.verify.sssp(edges, rg.sssp(edges, 0), 0)
    1.5
    """
    graph = weighted_graph(in_memory(graph))
    limit = check_cutoff(cutoff)
    return _verify(graph, result, source, limit, weighted=graph.weighted, nullable=False)


def _verify(
    graph: LocalGraph,
    result: Frame,
    source: Vertices,
    limit: float | None,
    *,
    weighted: bool,
    nullable: bool,
) -> float:
    """Return the largest finite distance of a result that passes all checks.

    `nullable` is as for `Result.distances`.
    """
    limit = np.inf if limit is None else float(limit)
    result = Result(graph, result)
    distances = result.distances(nullable=nullable)
    sources = resolve_vertices(graph.labeling, source)
    predecessors = verify_distances(graph, distances, sources, limit, weighted)
    result_predecessors = result.predecessors(predecessors < graph.num_vertices)
    if result_predecessors is not None:
        _check_predecessors(graph, result_predecessors, predecessors)
    return float(distances[graph.xp.isfinite(distances)].max())


def verify_distances(
    graph: LocalGraph, distances: Array, source_ids: Array, limit: float, weighted: bool
) -> Array:
    """Verify that float64 distances, by vertex id, are those of shortest paths.

    Returns
    -------
    int32 array, shape (vertices,)
        The valid predecessor of each vertex, or the number of vertices.

    Raises
    ------
    VerificationError
        If a distance is wrong.
    """
    xp, num_vertices = graph.xp, graph.num_vertices
    is_source = xp.zeros(num_vertices, bool)
    is_source[source_ids] = True
    is_reached = xp.isfinite(distances)
    for is_wrong, predicate in (
        (is_source & (distances != 0), "is a source and has"),
        (is_reached & (distances > limit), f"is beyond the limit {_format_number(limit)}, with"),
    ):
        if count_nonzero(is_wrong):
            vertex = int(is_wrong.argmax())
            raise VerificationError(
                f"{vertex_name(graph, vertex)} {predicate} {describe_distance(distances, vertex)}",
                column="distance",
            )
    predecessors, sources, destinations = _find_predecessors(graph, distances, limit, weighted)
    predecessors[is_source] = num_vertices
    is_unresolved = is_reached & ~is_source & (predecessors == num_vertices)
    if count_nonzero(is_unresolved):
        _follow_zero_weight_arcs(sources, destinations, is_unresolved, predecessors)
        if count_nonzero(is_unresolved):
            vertex = int(is_unresolved.argmax())
            raise VerificationError(
                f"{vertex_name(graph, vertex)} has {describe_distance(distances, vertex)}, but "
                "no path of that length leads to it",
                column="distance",
            )
    return predecessors


def _find_predecessors(
    graph: LocalGraph, distances: Array, limit: float, weighted: bool
) -> tuple[Array, Array, Array]:
    """Find the arcs that attain the distance of their destination; check that none is below it.

    Returns
    -------
    predecessors : int32 array, shape (vertices,)
        The smallest source of such an arc that is nearer than the vertex, or the number of
        vertices.
    sources, destinations : int32 arrays
        Endpoints of such arcs between equal distances, by source.
    """
    xp, num_vertices, adjacency = graph.xp, graph.num_vertices, graph.csr
    predecessors = xp.full(num_vertices, num_vertices, xp.int32)
    all_sources = row_indices(adjacency)
    equal_sources, equal_destinations = [all_sources[:0]], [all_sources[:0]]
    for start in range(0, all_sources.size, CHUNK_ARCS):
        chunk = slice(start, start + CHUNK_ARCS)
        sources, destinations = all_sources[chunk], adjacency.neighbors[chunk]
        before, after = distances[sources], distances[destinations]
        with np.errstate(over="ignore"):  # an infinite sum reaches no vertex
            sums = before + (adjacency.weights[chunk].astype(xp.float64) if weighted else 1.0)
        is_smaller = (sums < after) & (sums <= limit)
        if count_nonzero(is_smaller):
            arc = int(is_smaller.argmax())
            raise VerificationError(
                f"{vertex_name(graph, int(destinations[arc]))} has "
                f"{describe_distance(after, arc)}, but the edge from "
                f"{vertex_name(graph, int(sources[arc]))} makes it {_format_number(sums[arc])}",
                column="distance",
            )
        is_tight = (sums == after) & xp.isfinite(after)
        is_nearer = is_tight & (before < after)
        xp.minimum.at(predecessors, destinations[is_nearer], sources[is_nearer])
        is_tight &= before == after
        if count_nonzero(is_tight):
            equal_sources.append(sources[is_tight])
            equal_destinations.append(destinations[is_tight])
    return predecessors, xp.concatenate(equal_sources), xp.concatenate(equal_destinations)


def _follow_zero_weight_arcs(
    sources: Array, destinations: Array, is_unresolved: Array, predecessors: Array
) -> None:
    """Resolve vertices that only zero-weight arcs reach, by BFS from the resolved vertices.

    Stores their predecessors, and clears their flags in `is_unresolved`. The search is that by
    which `sssp` finds them, so its levels are verified: an arc from the level before leads to every
    vertex, and no arc leads more than one level away.

    Parameters
    ----------
    sources, destinations : int32 arrays
        Endpoints of the zero-weight arcs, by source.
    """
    xp, num_vertices = array_module(sources), is_unresolved.size
    keep = is_unresolved[destinations]
    sources, destinations = sources[keep], destinations[keep]
    offsets = xp.searchsorted(sources, xp.arange(num_vertices + 1, dtype=xp.int32))
    arcs = ArcSubgraph(xp, Adjacency(offsets, destinations, xp.empty(0)))
    starts = flatnonzero(~is_unresolved)
    levels = run_bfs(arcs, starts, predecessors=False, bottom_up=False).distances
    levels[starts] = 0
    before, after = levels[sources], levels[destinations]
    if count_nonzero((before >= 0) & ((after < 0) | (after > before + 1))):
        raise VerificationError(
            "the search along zero-weight edges, by which sssp finds predecessors, is wrong",
            column="predecessor",
        )
    is_tight = (before >= 0) & (after == before + 1)
    xp.minimum.at(predecessors, destinations[is_tight], sources[is_tight])
    is_unresolved &= predecessors == num_vertices


def _check_predecessors(graph: LocalGraph, actual: Array, expected: Array) -> None:
    differs = actual != expected
    if count_nonzero(differs):
        vertex = int(differs.argmax())
        actual_name, expected_name = (
            "no predecessor" if p == graph.num_vertices else f"predecessor {vertex_name(graph, p)}"
            for p in (int(actual[vertex]), int(expected[vertex]))
        )
        raise VerificationError(
            f"{vertex_name(graph, vertex)} has {actual_name}; it must have {expected_name}",
            column="predecessor",
        )


def describe_distance(distances: Array, index: int) -> str:
    """Return "distance 3", or "no distance" for infinity."""
    distance = float(distances[index])
    return "no distance" if distance == np.inf else f"distance {_format_number(distance)}"


def _format_number(value: float) -> str:
    value = float(value)
    return str(int(value)) if value.is_integer() else repr(value)
