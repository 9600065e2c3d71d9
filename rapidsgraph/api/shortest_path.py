"""Shortest paths between vertices: the public function."""

from __future__ import annotations

import functools
from typing import get_args

from ..algorithms.parameters import PathParameters
from ..dispatch import run
from ..frames import Frame, Vertices
from ..graph.local_graph import GraphLike
from ..validation import GRAPH_CALLS, FramesMethod, check_choice, check_flag, suggest_parameters


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
    check_choice("method", method, get_args(FramesMethod))
    check_flag("weighted", weighted)
    parameters = PathParameters(
        source=source, target=target, weighted=bool(weighted), method=method,
        memory_limit=memory_limit,
    )  # fmt: skip
    return run("shortest_path", graph, parameters)
