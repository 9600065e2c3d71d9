"""Core numbers: the public function."""

from __future__ import annotations

from ..algorithms.parameters import Parameters
from ..dispatch import run
from ..frames import Frame
from ..graph.local_graph import GraphLike
from ..validation import FRAMES_METHODS, FramesMethod, check_choice, suggest_parameters


@suggest_parameters
def core_number(
    graph: GraphLike,
    *,
    method: FramesMethod = "auto",
    memory_limit: int | str | None = None,
) -> Frame:
    """Find the core number of every vertex.

    The k-core is the largest subgraph in which every vertex has k neighbors or more. The core
    number of a vertex is the largest k of a k-core that contains it [1]_.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        Edges are taken as undirected; self-loops, parallel edges and weights are ignored. A frame
        needs the columns `source` and `destination`. A Dask frame, or the `Graph` of one, gives a
        Dask frame.
    method : {"auto", "frames"}, default "auto"
        "frames" runs joins of pandas, cuDF or Dask frames, as for `connected_components`, with the
        same result.
    memory_limit : int or str, optional
        Bytes, or a string such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed.

    Returns
    -------
    frame
        Columns `vertex` and `core` (int32): one row per vertex, sorted by vertex, in the library of
        the edge frame. A vertex without neighbors has core number 0.

    Raises
    ------
    GraphError
        If a name column is called `core`, or the frame has no columns `source` and `destination`.
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    See Also
    --------
    verify.core_number : Check the core numbers.

    Notes
    -----
    The vertices with the fewest neighbors are removed, level by level [2]_: on one CPU or GPU in
    one launch and in linear time, on several with an exchange of the removed vertices after each
    round. A path of n vertices takes n / 2 rounds, each of which removes its two ends. The frame
    form lowers bounds of the core numbers, from the degrees on, until none changes [3]_. So does
    that of a layered edge list, for as many vertices at a time as fit in memory with their
    neighbors.

    For an undirected graph, `networkx.core_number` returns the same numbers, but rejects
    self-loops. For a directed graph, it counts a pair of opposite arcs twice; here they are one
    edge.

    References
    ----------
    .. [1] S. B. Seidman, "Network structure and minimum degree", Social Networks 5(3), 1983.
       https://doi.org/10.1016/0378-8733(83)90028-X
    .. [2] V. Batagelj and M. Zaversnik, "An O(m) algorithm for cores decomposition of networks",
       2003. https://arxiv.org/abs/cs/0310049
    .. [3] A. Montresor, F. De Pellegrini and D. Miorandi, "Distributed k-core decomposition", IEEE
       Trans. Parallel Distrib. Syst. 24(2), 2013. https://doi.org/10.1109/TPDS.2012.124

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> rg.core_number(edges)
       vertex  core
    0       0     2
    1       1     2
    2       2     2
    3       3     1
    """
    check_choice("method", method, FRAMES_METHODS)
    return run("core_number", graph, Parameters(method=method, memory_limit=memory_limit))
