"""Connected components: the public function."""

from __future__ import annotations

from ..algorithms.parameters import ComponentParameters
from ..dispatch import run
from ..frames import Frame
from ..graph.local_graph import GraphLike
from ..validation import FRAMES_METHODS, FramesMethod, check_choice, check_flag, suggest_parameters


@suggest_parameters
def connected_components(
    graph: GraphLike,
    *,
    strong: bool = False,
    method: FramesMethod = "auto",
    memory_limit: int | str | None = None,
) -> Frame:
    """Find the weakly or strongly connected components.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        A frame needs the columns `source` and `destination`. A Dask frame, or the `Graph` of one,
        gives a Dask frame.
    strong : bool, default False
        Whether two vertices of a component reach each other along directed edges. Otherwise the
        direction of edges is ignored.
    method : {"auto", "frames"}, default "auto"
        "frames" runs joins of pandas, cuDF or Dask frames, with the same result. It is slower, but
        on a Dask frame no worker has an array of all vertices, and Dask spills and recovers the
        rows.
    memory_limit : int or str, optional
        Bytes, or a string such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed.

    Returns
    -------
    frame
        Columns `vertex` and `component` (int32): one row per vertex, sorted by vertex, in the
        library of the edge frame. Components are numbered from 0 by descending size, ties by
        smallest vertex name.

    Raises
    ------
    GraphError
        If a name column is called `component`, or the frame has no columns `source` and
        `destination`.
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    See Also
    --------
    verify.components : Check the components.

    Notes
    -----
    Weak components are found by union-find: a sample of the arcs finds most of the largest
    component, whose other arcs are skipped [1]_, and trees are linked by compare-and-swap [2]_. A
    layered edge list is read once.

    A CPU finds strong components by depth-first search [3]_, or as weak ones if all arcs have
    reverse arcs. A GPU removes vertices without incoming or without outgoing arcs, finds the
    component of a vertex of high degree by a forward and a backward BFS [4]_, and colors the rest
    [5]_. A round of coloring advances by one arc; after 1,000 rounds, the CPU takes over. On a Dask
    cluster, each worker searches a copy of a graph of up to 2^24 arcs (2^30 on GPUs). For a larger
    graph, the workers remove components as a GPU does, until that few arcs are left.

    The frame form colors by joins. On a Dask frame, they remove components until at most 2,097,152
    arcs are left, which are then sent to one worker. A round of joins advances by one arc, so a
    graph with more arcs than that on long cycles takes many rounds.

    A directed layered edge list is contracted while it is read: whenever memory is full of arcs,
    the strong components of what is known so far become single vertices [6]_. Most graphs take one
    pass. If the arcs that are left do not fit into memory, further passes remove vertices without
    arcs in one of the directions, and color the others.

    References
    ----------
    .. [1] M. Sutton, T. Ben-Nun and A. Barak, "Optimizing parallel graph connectivity computation
       via subgraph sampling", IPDPS 2018. https://doi.org/10.1109/IPDPS.2018.00012
    .. [2] J. Jaiganesh and M. Burtscher, "A high-performance connected components implementation
       for GPUs", HPDC 2018. https://doi.org/10.1145/3208040.3208041
    .. [3] R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1(2), 1972.
       https://doi.org/10.1137/0201010
    .. [4] L. Fleischer, B. Hendrickson and A. Pinar, "On identifying strongly connected components
       in parallel", IPDPS Workshops 2000. https://doi.org/10.1007/3-540-45591-4_68
    .. [5] S. Orzan, "On distributed verification and verified distribution", PhD thesis, Vrije
       Universiteit Amsterdam, 2004.
    .. [6] Z. Zhang, J. X. Yu, L. Qin, L. Chang and X. Lin, "I/O efficient: computing SCCs in
       massive graphs", SIGMOD 2013. https://doi.org/10.1145/2463676.2463703

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": ["a", "d", "c"], "destination": ["b", "c", "e"]})
    >>> rg.connected_components(edges)
      vertex  component
    0      a          1
    1      b          1
    2      c          0
    3      d          0
    4      e          0
    """
    check_choice("method", method, FRAMES_METHODS)
    check_flag("strong", strong)
    parameters = ComponentParameters(method=method, strong=bool(strong), memory_limit=memory_limit)
    return run("connected_components", graph, parameters)
