"""Triangles and local clustering coefficients: the public functions."""

from __future__ import annotations

from ..algorithms.parameters import Parameters
from ..dispatch import run
from ..frames import Frame
from ..graph.local_graph import GraphLike
from ..validation import FRAMES_METHODS, FramesMethod, check_choice, suggest_parameters


@suggest_parameters
def triangle_count(
    graph: GraphLike,
    *,
    method: FramesMethod = "auto",
    memory_limit: int | str | None = None,
) -> Frame:
    """Count the triangles that every vertex is in.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        Edges are taken as undirected; self-loops, parallel edges and weights are ignored. A Dask
        frame, or the `Graph` of one, gives a Dask frame.
    method : {"auto", "frames"}, default "auto"
        "frames" runs joins of pandas, cuDF or Dask frames, with the same result, as for `bfs`.
    memory_limit : int or str, optional
        Bytes, or a text such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed.

    Returns
    -------
    frame
        Columns `vertex` and `triangles` (int64): one row per vertex, sorted by vertex, in the
        library of the edge frame. A triangle is counted at three vertices, so the graph has a third
        of their sum.

    Raises
    ------
    GraphError
        If a name column is called `triangles`, or the frame has no columns `source` and
        `destination`.
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    See Also
    --------
    clustering_coefficient : The fraction of the pairs of neighbors that are adjacent.
    verify.triangle_count : Check the counts.

    Notes
    -----
    Vertices are ranked by descending degree, and the lists of neighbors of lower rank of the two
    vertices of higher rank of a triangle are intersected [1]_ [2]_. This takes O(m sqrt(m)) steps
    for m edges.

    Of a layered edge list, the lists of as many vertices as fit in memory are read at a time, and
    intersected with those of all others that they may have edges to: in an undirected list with
    those of adjacent layers, so that all edges are read a few times; in a directed one of k such
    groups up to k (k + 1) times.

    References
    ----------
    .. [1] N. Chiba and T. Nishizeki, "Arboricity and subgraph listing algorithms", SIAM J. Comput.
       14(1), 1985. https://doi.org/10.1137/0214017
    .. [2] M. Latapy, "Main-memory triangle computations for very large (sparse (power-law))
       graphs", Theor. Comput. Sci. 407, 2008. https://doi.org/10.1016/j.tcs.2008.07.017

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> rg.triangle_count(edges)
       vertex  triangles
    0       0          1
    1       1          1
    2       2          1
    3       3          0
    """
    check_choice("method", method, FRAMES_METHODS)
    return run("triangle_count", graph, Parameters(method=method, memory_limit=memory_limit))


@suggest_parameters
def clustering_coefficient(
    graph: GraphLike,
    *,
    method: FramesMethod = "auto",
    memory_limit: int | str | None = None,
) -> Frame:
    """Compute the local clustering coefficient of every vertex.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        Edges of a frame are directed. Self-loops, parallel edges and weights are ignored. A Dask
        frame, or the `Graph` of one, gives a Dask frame.
    method : {"auto", "frames"}, default "auto"
        "frames" runs joins of pandas, cuDF or Dask frames, with the same result, as for `bfs`.
    memory_limit : int or str, optional
        Bytes, or a text such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed.

    Returns
    -------
    frame
        Columns `vertex` and `coefficient` (float64, from 0 to 1): one row per vertex, sorted by
        vertex, in the library of the edge frame.

    Raises
    ------
    GraphError
        If a name column is called `coefficient`, or the frame has no columns `source` and
        `destination`.
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    See Also
    --------
    triangle_count : Number of triangles.
    verify.clustering_coefficient : Check the coefficients.

    Notes
    -----
    The definition is that of LDBC Graphalytics [1]_. The neighborhood N(v) has the vertices other
    than v from or to which an edge of v leads. The coefficient of v is the number of arcs (u, w)
    whose endpoints are both in N(v), over the possible number ``|N(v)| (|N(v)| - 1)``, and 0 with
    fewer than two neighbors. An undirected edge is two arcs, so that the coefficient of an
    undirected graph is that of Watts and Strogatz [2]_, which NetworkX's `clustering` computes.

    Of directed graphs NetworkX's `clustering` computes another one [3]_: it counts the directed
    triangles through v, in which arcs of v in both directions count twice, over their possible
    number. Here the directions of the arcs of v do not matter.

    References
    ----------
    .. [1] A. Iosup et al., "The LDBC Graphalytics benchmark", 2020. https://arxiv.org/abs/2011.15028
    .. [2] D. J. Watts and S. H. Strogatz, "Collective dynamics of 'small-world' networks", Nature
       393, 1998. https://doi.org/10.1038/30918
    .. [3] G. Fagiolo, "Clustering in complex directed networks", Phys. Rev. E 76, 2007.
       https://doi.org/10.1103/PhysRevE.76.026107

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> rg.clustering_coefficient(edges)
       vertex  coefficient
    0       0     0.500000
    1       1     0.500000
    2       2     0.166667
    3       3     0.000000
    >>> rg.clustering_coefficient(rg.Graph(edges, directed=False))
       vertex  coefficient
    0       0     1.000000
    1       1     1.000000
    2       2     0.333333
    3       3     0.000000
    """
    check_choice("method", method, FRAMES_METHODS)
    return run(
        "clustering_coefficient", graph, Parameters(method=method, memory_limit=memory_limit)
    )
