"""Connected components: which vertices hang together, whatever the direction of edges.

Means: two vertices have one label where a chain of edges joins them, each taken either way.
Requires: nothing; lists in either direction do.
Reference: Sutton, Ben-Nun, Barak 2018 (Afforest: link a few neighbors of each vertex, guess the
  largest tree, skip its vertices); Jaiganesh, Burtscher 2018 (ECL-CC: hooking by compare-and-swap,
  ways halved while they are walked). GPUSCAN links and contracts its clusters likewise.
"""

import numpy as np

from .. import device
from ..graph.csr import row_indices
from ..graph.graph import as_local_graph
from ..memory import estimate_graph_memory
from ..validation import check_free_memory

FIRST = 2  # neighbors of every vertex that are linked before the largest tree is guessed
SAMPLE = 1024  # vertices whose trees are looked at for that


def connected_components(graph):
    """Label weakly connected components.

    Parameters
    ----------
    graph : Graph or edge frame
        A frame is taken as directed, with columns `source` and `destination`; direction does not
        matter here.
        Of a Dask frame, or a `Graph` of one, the result is a Dask frame.

    Returns
    -------
    frame
        `vertex`, `component` (int32): one row a vertex, sorted by vertex, in the caller's library.
        Components are numbered from 0 by descending size, those of one size by their smallest
        vertex.

    Raises
    ------
    GraphError
        A frame that cannot be used; the message says why.
    InsufficientMemoryError
        The run would not fit; raised before it starts.

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
    graph = as_local_graph(graph)
    graph.labeling.check_name_collisions("component")
    needed = estimate_graph_memory(graph, "connected_components").needed
    check_free_memory(f"components of {graph.num_vertices:,} vertices", needed, graph.xp)
    return graph.labeling.vertex_frame(
        {"component": number_components(find_roots(graph), graph.xp)}
    )


def find_roots(graph):
    """The smallest vertex of every vertex's component: int32, shape (vertices,)."""
    xp, vertices = graph.xp, graph.num_vertices
    parents = xp.arange(vertices, dtype=xp.int32)
    built = [lists for lists in graph.built if lists.neighbors.size]
    if not built:
        return parents
    lists = built[0]
    for place in range(FIRST):
        device.launch(
            "union_find", "link_neighbor", size=vertices,
            num_vertices=vertices, position=place, offsets=lists.offsets, neighbors=lists.neighbors,
            parents=parents,
        )  # fmt: skip
    device.launch("union_find", "compress", size=vertices, num_vertices=vertices, parents=parents)
    if not graph.directed or len(built) > 1:
        # An arc out of the largest tree into another is also in the list of its other end.
        largest = _most_common(parents, xp)
        for position, lists in enumerate(built):
            device.launch(
                "union_find", "link_remaining", size=32 * vertices,
                num_vertices=vertices, position=0 if position else FIRST, largest_root=largest,
                offsets=lists.offsets, neighbors=lists.neighbors, parents=parents,
            )  # fmt: skip
    else:
        rows = row_indices(lists) if xp is not np else xp.empty(0, xp.int32)
        device.launch(
            "union_find", "link_arcs", size=lists.neighbors.size,
            num_vertices=vertices, num_arcs=lists.neighbors.size, position=FIRST, rows=rows,
            offsets=lists.offsets, neighbors=lists.neighbors, parents=parents,
        )  # fmt: skip
    device.launch("union_find", "compress", size=vertices, num_vertices=vertices, parents=parents)
    return parents


def number_components(parents, xp):
    """Numbers of trees from 0, the largest first, ties by their roots: int32, one a vertex."""
    vertices = parents.size
    sizes = xp.zeros(vertices, xp.int32)
    device.launch(
        "union_find", "count_members", size=vertices,
        num_vertices=vertices, parents=parents, sizes=sizes,
    )  # fmt: skip
    # Most trees may be a single vertex: those keep their order behind all others.
    several, single = xp.flatnonzero(sizes > 1), xp.flatnonzero(sizes == 1)
    several = several[xp.argsort((-sizes[several].astype(xp.int64) << 32) + several)]
    numbers = sizes  # its place is free now
    numbers[several] = xp.arange(several.size, dtype=xp.int32)
    numbers[single] = xp.arange(several.size, several.size + single.size, dtype=xp.int32)
    return numbers[parents]


def _most_common(parents, xp):
    """The root that most vertices of a sample have."""
    step = max(parents.size // SAMPLE, 1)
    sample = parents[::step][:SAMPLE]
    found, counts = np.unique(sample if xp is np else sample.get(), return_counts=True)
    return int(found[counts.argmax()])
