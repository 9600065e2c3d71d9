"""Label propagation: the public function."""

from __future__ import annotations

from ..algorithms.parameters import LabelParameters
from ..dispatch import run
from ..frames import Frame
from ..graph.local_graph import GraphLike
from ..validation import (
    FRAMES_METHODS,
    FramesMethod,
    check_choice,
    check_count,
    check_seed,
    suggest_parameters,
)


@suggest_parameters
def label_propagation(
    graph: GraphLike,
    *,
    iterations: int = 10,
    seed: int | None = None,
    method: FramesMethod = "auto",
    memory_limit: int | str | None = None,
) -> Frame:
    """Detect communities by label propagation: CDLP of LDBC Graphalytics.

    The label of a vertex is a vertex, at first the vertex itself. In an iteration, all vertices at
    the same time take the label that is most frequent among those of their neighbors, the smallest
    of several. A community is the set of the vertices of one label.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        In a directed graph, neighbors are the endpoints of incoming and outgoing edges; a neighbor
        with edges in both directions counts twice. If the graph keeps parallel edges, each counts.
        Weights are ignored. A frame needs the columns `source` and `destination`. A Dask frame, or
        the `Graph` of one, gives a Dask frame.
    iterations : int, default 10
        Number of iterations. Without a `seed` they end earlier if one changes no label, with the
        same result.
    seed : int, optional
        Break ties at random instead: of several most frequent labels, a vertex takes the first in
        an order that depends on the seed, the iteration and the labels' positions among the sorted
        vertex names only. So the result for one seed is the same in every library and `method`, and
        on any number of workers.
    method : {"auto", "frames"}, default "auto"
        "frames" runs joins of pandas, cuDF or Dask frames, as for `connected_components`, with the
        same result.
    memory_limit : int or str, optional
        Bytes, or a string such as "2GB", that a `LayeredEdgeList` may take while its edges are
        streamed.

    Returns
    -------
    frame
        Columns `vertex` and `label`: one row per vertex, sorted by vertex, in the library of the
        edge frame. Labels are vertex names; if several columns name a vertex, there are as many
        columns of labels, except for those that both endpoints of an edge share. A vertex without
        neighbors keeps its own label.

    Raises
    ------
    GraphError
        If `iterations` is not a positive integer, `seed` is not an integer of 0 or more, a name
        column is called like a result column, or the frame has no columns `source` and
        `destination`.
    InsufficientMemoryError
        If the run would not fit into memory; raised before it starts.

    See Also
    --------
    scan : Find clusters of vertices with similar neighborhoods.
    verify.label_propagation : Check the labels.

    Notes
    -----
    Label propagation was proposed with labels that are updated one after another, in random order,
    and with ties broken at random [1]_. LDBC's variant is synchronous and deterministic [2]_: the
    result depends on the order of the vertex names only. It need not converge: the endpoints of an
    isolated edge swap labels in every iteration. `seed` keeps it synchronous, and breaks ties at
    random.

    For a layered edge list, the adjacency lists of as many vertices as fit in memory are loaded at
    a time, in one or more sweeps over the edges per iteration.

    References
    ----------
    .. [1] U. N. Raghavan, R. Albert and S. Kumara, "Near linear time algorithm to detect community
       structures in large-scale networks", Phys. Rev. E 76, 2007.
       https://doi.org/10.1103/PhysRevE.76.036106
    .. [2] A. Iosup et al., "LDBC Graphalytics: a benchmark for large-scale graph analysis on
       parallel and distributed platforms", PVLDB 9(13), 2016.
       https://doi.org/10.14778/3007263.3007270

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> ends = {"source": [1, 1, 2, 3, 4, 4, 5], "destination": [2, 3, 3, 4, 5, 6, 6]}
    >>> rg.label_propagation(rg.Graph(pandas.DataFrame(ends), directed=False))
       vertex  label
    0       1      1
    1       2      1
    2       3      1
    3       4      3
    4       5      3
    5       6      3
    """
    check_count("iterations", iterations)
    check_choice("method", method, FRAMES_METHODS)
    check_seed(seed)
    parameters = LabelParameters(
        method=method, iterations=int(iterations), seed=None if seed is None else int(seed),
        memory_limit=memory_limit,
    )  # fmt: skip
    return run("label_propagation", graph, parameters)
