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
        Bytes, or a string such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed.

    Returns
    -------
    frame
        Columns `vertex` and `triangles` (int64): one row per vertex, sorted by vertex, in the
        library of the edge frame. Each triangle is counted at its three vertices, so the graph has
        a third of their sum.

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
    Edges are oriented toward the endpoint of higher degree, and the out-neighbors of both endpoints
    of every edge are intersected [1]_ [2]_. This takes O(m sqrt(m)) steps for m edges.

    A layered edge list is read in groups of vertices whose adjacency lists fit in memory. In an
    undirected list, a group is intersected with those of adjacent layers, so that all edges are
    read a few times. In a directed list of k groups, groups are loaded up to k (k + 1) times.

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
        Bytes, or a string such as "2GB", that a `LayeredEdgeList` may take while its edges are
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
    The definition is that of LDBC Graphalytics [1]_. The neighborhood N(v) is the set of vertices
    other than v that an edge in either direction joins to v. The coefficient of v is the number of
    arcs (u, w) with both endpoints in N(v), divided by the possible number
    ``|N(v)| (|N(v)| - 1)``; it is 0 with fewer than two neighbors. An undirected edge is two arcs,
    so that the coefficient of an undirected graph is that of Watts and Strogatz [2]_, which
    NetworkX's `clustering` computes.

    For directed graphs, NetworkX's `clustering` computes a different coefficient [3]_: the fraction
    of possible directed triangles through v, where arcs of v in both directions count twice.
    Here, the directions of the arcs of v do not matter.

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
