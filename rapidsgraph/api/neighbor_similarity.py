"""Similarity of the neighborhoods of two vertices: the public function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..algorithms.neighbor_similarity import KINDS, Kind
from ..algorithms.parameters import SimilarityParameters
from ..dispatch import run
from ..frames import Frame
from ..graph.local_graph import GraphLike
from ..validation import FRAMES_METHODS, FramesMethod, check_choice, suggest_parameters


@suggest_parameters
def neighbor_similarity(
    graph: GraphLike,
    pairs: Frame | Sequence[tuple[Any, Any]] | None = None,
    *,
    kind: Kind = "jaccard",
    method: FramesMethod = "auto",
    memory_limit: int | str | None = None,
) -> Frame:
    """Compare the neighborhoods of the endpoints of every edge, or of pairs of vertices.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        Edges are taken as undirected; self-loops, parallel edges and weights are ignored. A Dask
        frame, or the `Graph` of one, gives a Dask frame.
    pairs : frame or list of tuples, optional
        Pairs of vertices of the graph: a frame with the columns `source` and `destination` (with
        several name columns, those of the result, such as `source_0`), or tuples of two names. By
        default the endpoints of every edge. On Dask, pairs must fit in the memory of the client.
    kind : {"jaccard", "overlap", "cosine", "common"}, default "jaccard"
        The measure; see Notes.
    method : {"auto", "frames"}, default "auto"
        "frames" runs joins of pandas, cuDF or Dask frames, with the same result, as for `bfs`.
    memory_limit : int or str, optional
        Bytes, or a string such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed, with 64 bytes per edge or pair of the result.

    Returns
    -------
    frame
        Columns `source`, `destination` and one that is called as the kind (int32 for "common", else
        float64 from 0 to 1), in the library of the edge frame. For edges, one row per edge, the
        smaller vertex first, sorted; for pairs, one row per pair, in their order.

    Raises
    ------
    GraphError
        If `kind` or `method` is unknown, a pair has a vertex that is not in the graph, a name
        column is called like a result column, or a frame has no columns `source` and `destination`.
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    See Also
    --------
    structural_similarity : The cosine of closed neighborhoods, of the endpoints of edges.
    verify.neighbor_similarity : Check the values.

    Notes
    -----
    The neighborhood N(v) has the vertices adjacent to v, without v itself: it is open. Of vertices
    u and v, "common" is ``|N(u) & N(v)|``, "jaccard" is that over ``|N(u) | N(v)|``, "overlap" over
    ``min(|N(u)|, |N(v)|)``, and "cosine" over ``sqrt(|N(u)| |N(v)|)``. They are 0 where a
    neighborhood is empty. "jaccard" is NetworkX's `jaccard_coefficient`.

    For a layered edge list, the adjacency lists of as many vertices as fit in memory are loaded at
    a time, once for each of the two vertices of a pair.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> rg.neighbor_similarity(edges)
       source  destination   jaccard
    0       0            1  0.333333
    1       0            2  0.250000
    2       1            2  0.250000
    3       2            3  0.000000
    >>> pairs = pandas.DataFrame({"source": [3, 0], "destination": [0, 3]})
    >>> rg.neighbor_similarity(edges, pairs, kind="overlap")
       source  destination  overlap
    0       3            0      1.0
    1       0            3      1.0
    """
    check_choice("kind", kind, KINDS)
    check_choice("method", method, FRAMES_METHODS)
    parameters = SimilarityParameters(
        pairs=pairs, kind=kind, method=method, memory_limit=memory_limit
    )
    return run("neighbor_similarity", graph, parameters)
