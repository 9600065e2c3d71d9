"""Structural similarity and SCAN: the public functions."""

from __future__ import annotations

from ..algorithms.parameters import Parameters, ScanParameters
from ..algorithms.scan import Epsilon, check_epsilon, check_mu
from ..algorithms.similarity import METHODS, ScanMethod
from ..dispatch import run
from ..frames import Frame
from ..graph.local_graph import GraphLike
from ..validation import check_choice, check_flag, suggest_parameters


@suggest_parameters
def structural_similarity(
    graph: GraphLike, *, method: ScanMethod = "auto", memory_limit: int | str | None = None
) -> Frame:
    """Compute the structural similarity of the endpoints of every edge.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        Edges are taken as undirected; self-loops, parallel edges and weights are ignored. A Dask
        frame, or the `Graph` of one, gives a Dask frame.
    method : {"auto", "frames", "gpuscan"}, default "auto"
        "auto" counts triangles. "gpuscan" compares whole adjacency lists, 4 neighbors of one
        endpoint with 8 of the other at a time on a GPU, as GPUSCAN does [3]_. "frames" runs joins
        of pandas, cuDF or Dask frames, as for `bfs`. All give the same result. A layered edge list
        takes "auto" only.
    memory_limit : int or str, optional
        Bytes, or a string such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed, with 64 bytes per edge of the result.

    Returns
    -------
    frame
        Columns `source`, `destination` and `similarity` (float64, above 0, at most 1): one row per
        edge, the smaller vertex first, sorted, in the library of the edge frame.

    Raises
    ------
    GraphError
        If `method` is unknown, a name column is called like a result column, or the frame has no
        columns `source` and `destination`.
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    See Also
    --------
    scan : Cluster vertices by structural similarity.

    Notes
    -----
    The similarity of adjacent vertices u and v is the size of the intersection of their closed
    neighborhoods over the geometric mean of their sizes, ``|N[u] & N[v]| / sqrt(|N[u]| |N[v]|)``
    [1]_. The closed neighborhood N[u] has the neighbors of u and u itself. Counting triangles
    takes O(m sqrt(m)) steps for m edges [2]_.

    References
    ----------
    .. [1] X. Xu, N. Yuruk, Z. Feng and T. A. J. Schweiger, "SCAN: a structural clustering algorithm
       for networks", KDD 2007. https://doi.org/10.1145/1281192.1281280
    .. [2] N. Chiba and T. Nishizeki, "Arboricity and subgraph listing algorithms", SIAM J. Comput.
       14(1), 1985. https://doi.org/10.1137/0214017
    .. [3] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-based parallel structural clustering
       algorithm for networks", IEEE Trans. Parallel Distrib. Syst. 26(12), 2015.
       https://doi.org/10.1109/TPDS.2014.2374607

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> rg.structural_similarity(edges)
       source  destination  similarity
    0       0            1    1.000000
    1       0            2    0.866025
    2       1            2    0.866025
    3       2            3    0.707107
    """
    check_choice("method", method, METHODS)
    parameters = Parameters(method=method, memory_limit=memory_limit)
    return run("structural_similarity", graph, parameters)


@suggest_parameters
def scan(
    graph: GraphLike,
    *,
    epsilon: Epsilon = 0.5,
    mu: int = 3,
    memberships: bool = False,
    method: ScanMethod = "auto",
) -> Frame:
    """Cluster vertices by structural similarity (SCAN), and find hubs and outliers.

    Parameters
    ----------
    graph : Graph or edge frame
        Edges are taken as undirected; self-loops, parallel edges and weights are ignored. Common
        neighbors that had to be counted for all edges are cached by a `Graph` (8 bytes per edge, 16
        if it is directed), so that calls with other parameters are faster; see `ScanIndex` for many
        of them. A Dask frame, or the `Graph` of one, gives a Dask frame.
    epsilon : float, Fraction or Decimal, default 0.5
        Neighbors are similar if their similarity (see `structural_similarity`) is at least epsilon,
        which is above 0 and at most 1. The comparison is exact, and a float is the decimal that it
        prints as.
    mu : int, default 3
        A core is similar to at least `mu` vertices, including itself. GPUSCAN does not count the
        vertex itself, so that its mu is one less.
    memberships : bool, default False
        Whether a border that is similar to cores of several clusters has a row for each of them:
        first for its own cluster, then for the others by number.
    method : {"auto", "frames", "gpuscan"}, default "auto"
        "gpuscan" compares whole neighbor lists and links cores alternately to the smallest and the
        largest neighbor, as GPUSCAN does, which is slow on some graphs. "frames" runs joins of
        pandas, cuDF or Dask frames, as for `bfs`. All give the same result.

    Returns
    -------
    frame
        Columns `vertex`, `cluster` (int32) and `role`: one row per vertex, sorted by vertex, in the
        library of the edge frame. Clusters are numbered from 0 by descending size, ties by smallest
        vertex name. The cluster of hubs and outliers is null (Int32 in pandas), or -1 in a dict of
        arrays. The role is "core", "border", "hub" or "outlier"; a dict of CuPy arrays has the
        codes 0 to 3 in this order (int8).

    Raises
    ------
    GraphError
        If `epsilon`, `mu`, `memberships` or `method` is invalid, a name column is called like a
        result column, or the frame has no columns `source` and `destination`.
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    See Also
    --------
    ScanIndex : Clusterings for many values of epsilon and mu.
    verify.scan : Check a result.

    Notes
    -----
    Cores, clusters, hubs and outliers are those of SCAN [1]_; "gpuscan" is the algorithm of GPUSCAN
    [2]_. On a CPU, "auto" evaluates only the edges of a large graph that decide the clustering [3]_
    [4]_, as long as that takes fewer steps than counting all common neighbors.

    References
    ----------
    .. [1] X. Xu, N. Yuruk, Z. Feng and T. A. J. Schweiger, "SCAN: a structural clustering algorithm
       for networks", KDD 2007. https://doi.org/10.1145/1281192.1281280
    .. [2] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-based parallel structural clustering
       algorithm for networks", IEEE Trans. Parallel Distrib. Syst. 26(12), 2015.
       https://doi.org/10.1109/TPDS.2014.2374607
    .. [3] L. Chang, W. Li, X. Lin, L. Qin and W. Zhang, "pSCAN: fast and exact structural graph
       clustering", ICDE 2016. https://doi.org/10.1109/ICDE.2016.7498245
    .. [4] Y. Che, S. Sun and Q. Luo, "Parallelizing pruning-based graph structural clustering",
       ICPP 2018. https://doi.org/10.1145/3225058.3225110

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame(
    ...     {"source": [0, 0, 1, 2, 3, 4, 4, 5], "destination": [1, 2, 2, 3, 4, 5, 6, 6]}
    ... )
    >>> rg.scan(edges, epsilon=0.7)
       vertex  cluster     role
    0       0        0     core
    1       1        0     core
    2       2        0     core
    3       3     <NA>      hub
    4       4        1     core
    5       5        1     core
    6       6        1     core
    """
    check_choice("method", method, METHODS)
    exact_epsilon, mu = check_epsilon(epsilon), check_mu(mu)
    check_flag("memberships", memberships)
    parameters = ScanParameters(
        epsilon=exact_epsilon, mu=mu, memberships=bool(memberships), method=method
    )
    return run("scan", graph, parameters)
