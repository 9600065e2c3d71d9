"""Breadth-first search and shortest paths: the public functions."""

from __future__ import annotations

import functools

from ..algorithms.parameters import PathParameters, SearchParameters
from ..algorithms.traversal import check_cutoff, check_depth_limit
from ..dispatch import run
from ..frames import Frame, Vertices
from ..graph.local_graph import GraphLike
from ..progress import Progress
from ..validation import (
    FRAMES_METHODS,
    GRAPH_CALLS,
    FramesMethod,
    check_choice,
    check_flag,
    check_progress,
    suggest_parameters,
)


@suggest_parameters
def bfs(
    graph: GraphLike,
    source: Vertices | None = None,
    *,
    depth_limit: int | None = None,
    predecessors: bool = True,
    method: FramesMethod = "auto",
    memory_limit: int | str | None = None,
    progress: Progress = None,
) -> Frame:
    """Compute the number of edges from the sources to every vertex by breadth-first search.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        The edges of a frame are directed, from column `source` to column `destination`. A Dask
        frame, or the `Graph` of one, gives a Dask frame. A directed `Graph` caches its adjacency
        by destination, which makes later searches faster.
    source : vertex name, or several
        The vertex to start from, or a list, array, Series or frame of several; distances are to the
        nearest source. A vertex with names in several columns is a tuple. For a `LayeredEdgeList`
        this is its root, and may be omitted.
    depth_limit : int, optional
        Vertices farther away count as unreached.
    predecessors : bool, default True
        Whether to return predecessors. Without them, no edge of a `LayeredEdgeList` is read, since
        it stores the distances.
    method : {"auto", "frames"}, default "auto"
        "frames" runs joins of pandas, cuDF or Dask frames, with the same result. It is slower, but
        on a Dask frame no worker has an array of all vertices, and Dask spills and recovers the
        rows. It has no form for layered edge lists.
    memory_limit : int or str, optional
        Bytes, or a string such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed once. By default the free memory.
    progress : bool or callable, optional
        As for `pagerank`, in partitions of a `LayeredEdgeList`.

    Returns
    -------
    frame
        Columns `vertex`, `distance` (int32) and `predecessor`: one row per vertex, sorted by
        vertex, in the library of the edge frame. The predecessor is the smallest of the vertices
        that precede the vertex on a shortest path. Distance and predecessor of an unreached vertex
        and the predecessor of a source are null (pandas has nullable types such as Int32). In a
        dict of arrays, null is -1, the largest value of an unsigned type, or None in text; there,
        vertices without a predecessor are those with `distance` 0 or -1.

    Raises
    ------
    GraphError
        If a source is not in the graph, or not the root of a `LayeredEdgeList`; the depth limit is
        not a number of edges; a file of edges is damaged.
    InsufficientMemoryError
        If the run would not fit into memory, or into `memory_limit`; raised before it starts.

    See Also
    --------
    sssp : Shortest paths by weight.
    verify.bfs : Check a result.

    Notes
    -----
    Large frontiers are searched bottom-up, from the unreached vertices [1]_. A `LayeredEdgeList`
    has its edges in the order of one breadth-first search [2]_.

    References
    ----------
    .. [1] S. Beamer, K. Asanovic and D. Patterson, "Direction-optimizing breadth-first search",
       SC 2012. https://doi.org/10.1109/SC.2012.50
    .. [2] H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing
       algorithms on GPU", Int. J. Parallel Program. 47, 2019.
       https://doi.org/10.1007/s10766-017-0533-y

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 3, 3]})
    >>> rg.bfs(edges, 0)
       vertex  distance  predecessor
    0       0         0         <NA>
    1       1         1            0
    2       2         1            0
    3       3         2            1
    """
    check_choice("method", method, FRAMES_METHODS)
    max_distance = float(check_depth_limit(depth_limit))
    check_flag("predecessors", predecessors)
    check_progress(progress)
    parameters = SearchParameters(
        source=source, max_distance=max_distance, predecessors=bool(predecessors), method=method,
        memory_limit=memory_limit, progress=progress,
    )  # fmt: skip
    return run("bfs", graph, parameters)


@suggest_parameters
def sssp(
    graph: GraphLike,
    source: Vertices | None = None,
    *,
    cutoff: float | None = None,
    predecessors: bool = True,
    method: FramesMethod = "auto",
    memory_limit: int | str | None = None,
    progress: Progress = None,
) -> Frame:
    """Compute the length of a shortest path from the sources to every vertex.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        The edges of a frame are directed, from column `source` to column `destination`. Weights are
        those of the `Graph`, or of column `weight` if the frame has one; of parallel edges, the
        cheapest counts, as in ``rg.Graph(edges, multi_edges="min")``. Without weights, each edge
        costs 1. A Dask frame, or the `Graph` of one, gives a Dask frame.
    source : vertex name, or several
        As for `bfs`.
    cutoff : float, optional
        Vertices farther away count as unreached.
    predecessors : bool, default True
        Whether to return predecessors.
    method : {"auto", "frames"}, default "auto"
        As for `bfs`.
    memory_limit : int or str, optional
        As for `bfs`. Edges are streamed in several passes, until no distance changes.
    progress : bool or callable, optional
        As for `bfs`.

    Returns
    -------
    frame
        Columns `vertex`, `distance` (float64, infinity for an unreached vertex) and `predecessor`:
        one row per vertex, sorted by vertex, in the library of the edge frame. Distances are sums
        in double precision, from the source on. The predecessor is the smallest of the vertices
        that precede the vertex on a shortest path and are nearer to a source. Vertices without such
        a predecessor are reached along zero-weight edges by a BFS from all others; their
        predecessor is the smallest vertex of the previous level of that BFS from which such an edge
        leads to them. Sources and unreached vertices have none: null, or as for `bfs` in a dict of
        arrays.

    Raises
    ------
    GraphError
        If a source is not in the graph; the cutoff is not a number; a weight of a frame is
        negative, NaN or infinite (the error has the row); without a cutoff, a distance exceeds
        1.8e308 (the error has the vertex).
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    Warns
    -----
    WeightWarning
        If the edges have no column `weight`, but other columns of numbers.

    See Also
    --------
    bfs : Distances in edges.
    verify.sssp : Check a result.

    Notes
    -----
    Vertices that are near to the sources are relaxed before those that are far [1]_. On a CPU, a
    radix heap orders them if the weights have many magnitudes.

    References
    ----------
    .. [1] A. Davidson, S. Baxter, M. Garland and J. D. Owens, "Work-efficient parallel GPU methods
       for single-source shortest paths", IPDPS 2014. https://doi.org/10.1109/IPDPS.2014.45

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame(
    ...     {"source": [0, 0, 1], "destination": [1, 2, 2], "weight": [0.5, 2.0, 1.0]}
    ... )
    >>> rg.sssp(edges, 0)
       vertex  distance  predecessor
    0       0       0.0         <NA>
    1       1       0.5            0
    2       2       1.5            1
    """
    check_choice("method", method, FRAMES_METHODS)
    max_distance = check_cutoff(cutoff)
    check_flag("predecessors", predecessors)
    check_progress(progress)
    parameters = SearchParameters(
        source=source, max_distance=max_distance, predecessors=bool(predecessors), method=method,
        memory_limit=memory_limit, progress=progress,
    )  # fmt: skip
    return run("sssp", graph, parameters)


@functools.partial(
    suggest_parameters,
    other_calls={**GRAPH_CALLS, "cutoff": "rg.sssp(graph, source, cutoff=...)"},
)
def shortest_path(
    graph: GraphLike,
    source: Vertices | None,
    target: Vertices,
    *,
    weighted: bool = True,
    method: FramesMethod = "auto",
    memory_limit: int | str | None = None,
) -> Frame:
    """Find a shortest path from a source to each target.

    The search ends when the targets are reached; with ``method="frames"``, it does not.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        As for `sssp`; as for `bfs` with ``weighted=False``.
    source : vertex name, or several
        As for `bfs`; a path starts at the source that is nearest to its target. None is the root of
        a `LayeredEdgeList`.
    target : vertex name, or several
        The vertex at the end of the path, or a list, array, Series or frame of several.
    weighted : bool, default True
        Whether the length of a path is the sum of its weights, as in `sssp`, if there are weights.
        Otherwise it is the number of edges.
    method : {"auto", "frames"}, default "auto"
        As for `bfs`.
    memory_limit : int or str, optional
        As for `bfs`.

    Returns
    -------
    frame
        Columns `vertex` and `distance`: one row per vertex of the path, in its order, from the
        source on, in the library of the edge frame. The distance is that from the source: float64,
        or int32 with ``weighted=False``. If the target is the source, the path is one row; if no
        path leads to it, there is none. A list, array, Series or frame of targets adds a first
        column `target` (`target_0`, ... if several columns name a vertex): the paths follow each
        other in the order of the targets, and a repeated target counts once. Of several shortest
        paths, it is the one along the predecessors of `sssp` or `bfs`.

    Raises
    ------
    GraphError
        If a source or target is not in the graph, or a source is not the root of a
        `LayeredEdgeList`; a weight of a frame is negative, NaN or infinite; the length of a path
        exceeds 1.8e308.
    InsufficientMemoryError
        If the run would not fit into memory, or into `memory_limit`; raised before it starts.

    See Also
    --------
    sssp : Distances to all vertices by weight.
    bfs : Distances to all vertices in edges.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame(
    ...     {"source": [0, 0, 1], "destination": [1, 2, 2], "weight": [0.5, 2.0, 1.0]}
    ... )
    >>> rg.shortest_path(edges, 0, 2)
       vertex  distance
    0       0       0.0
    1       1       0.5
    2       2       1.5
    >>> rg.shortest_path(edges, 0, [2, 1], weighted=False)
       target  vertex  distance
    0       2       0         0
    1       2       2         1
    2       1       0         0
    3       1       1         1
    """
    check_choice("method", method, FRAMES_METHODS)
    check_flag("weighted", weighted)
    parameters = PathParameters(
        source=source, target=target, weighted=bool(weighted), method=method,
        memory_limit=memory_limit,
    )  # fmt: skip
    return run("shortest_path", graph, parameters)
