"""Connected components by linking and compressing trees of vertices.

Afforest links a few neighbors of every vertex, estimates the largest component from a sample and
skips the remaining neighbors of its vertices. Trees are linked by compare-and-swap.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from .. import device
from ..device import Array
from ..graph.csr import row_indices
from ..graph.graph import as_local_graph
from ..memory import check_run_memory

NUM_FIRST_NEIGHBORS = 2  # per vertex, linked before the largest component is estimated
SAMPLE_SIZE = 1024  # vertices that estimate the largest component


def connected_components(graph: Any) -> Any:
    """Find the weakly connected components.

    Parameters
    ----------
    graph : Graph or edge frame
        A frame needs the columns `source` and `destination`; the direction of edges is ignored. A
        Dask frame, or the `Graph` of one, gives a Dask frame.

    Returns
    -------
    frame
        Columns `vertex` and `component` (int32): one row per vertex, sorted by vertex, in the
        library of the edge frame. Components are numbered from 0 by descending size, ties by
        smallest vertex name.

    Raises
    ------
    GraphError
        A parameter or the frame cannot be used.
    InsufficientMemoryError
        The run would not fit into memory; raised before it starts.

    See Also
    --------
    verify.components : Check a result.

    References
    ----------
    .. [1] M. Sutton, T. Ben-Nun and A. Barak, "Optimizing parallel graph connectivity computation
       via subgraph sampling", IPDPS 2018. https://doi.org/10.1109/IPDPS.2018.00012
    .. [2] J. Jaiganesh and M. Burtscher, "A high-performance connected components implementation
       for GPUs", HPDC 2018. https://doi.org/10.1145/3208040.3208041

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
    operation = f"components of {graph.num_vertices:,} vertices"
    check_run_memory(graph, "connected_components", operation)
    return graph.labeling.vertex_frame(
        {"component": number_components(find_roots(graph), graph.xp)}
    )


def find_roots(graph: Any) -> Array:
    """Return the smallest vertex of every vertex's component: int32, shape (vertices,)."""
    xp, vertices = graph.xp, graph.num_vertices
    parents = xp.arange(vertices, dtype=xp.int32)
    built = [lists for lists in graph.built if lists.neighbors.size]
    if not built:
        return parents
    lists = built[0]
    for place in range(NUM_FIRST_NEIGHBORS):
        device.launch(
            "union_find", "link_neighbor", size=vertices,
            num_vertices=vertices, position=place, offsets=lists.offsets, neighbors=lists.neighbors,
            parents=parents,
        )  # fmt: skip
    device.launch("union_find", "compress", size=vertices, num_vertices=vertices, parents=parents)
    if not graph.directed or len(built) > 1:
        # An arc from the largest component to another is also in the list of its other endpoint.
        largest = _most_common_root(parents, xp)
        for position, lists in enumerate(built):
            device.launch(
                "union_find", "link_remaining", size=32 * vertices,
                num_vertices=vertices, position=0 if position else NUM_FIRST_NEIGHBORS,
                largest_root=largest,
                offsets=lists.offsets, neighbors=lists.neighbors, parents=parents,
            )  # fmt: skip
    else:
        rows = row_indices(lists) if xp is not np else xp.empty(0, xp.int32)
        device.launch(
            "union_find", "link_arcs", size=lists.neighbors.size,
            num_vertices=vertices, num_arcs=lists.neighbors.size, position=NUM_FIRST_NEIGHBORS,
            rows=rows,
            offsets=lists.offsets, neighbors=lists.neighbors, parents=parents,
        )  # fmt: skip
    device.launch("union_find", "compress", size=vertices, num_vertices=vertices, parents=parents)
    return parents


def number_components(parents: Array, xp: ModuleType) -> Array:
    """Return the component of every vertex, numbered by descending size, ties by root."""
    vertices = parents.size
    sizes = xp.zeros(vertices, xp.int32)
    device.launch(
        "union_find", "count_members", size=vertices,
        num_vertices=vertices, parents=parents, sizes=sizes,
    )  # fmt: skip
    # Most components may be single vertices, which need no sort.
    several, single = xp.flatnonzero(sizes > 1), xp.flatnonzero(sizes == 1)
    several = several[xp.argsort((-sizes[several].astype(xp.int64) << 32) + several)]
    numbers = sizes  # reuses the memory
    numbers[several] = xp.arange(several.size, dtype=xp.int32)
    numbers[single] = xp.arange(several.size, several.size + single.size, dtype=xp.int32)
    return numbers[parents]


def _most_common_root(parents: Array, xp: ModuleType) -> int:
    """Return the root that most vertices of a sample have."""
    step = max(parents.size // SAMPLE_SIZE, 1)
    sample = parents[::step][:SAMPLE_SIZE]
    values, counts = np.unique(sample if xp is np else sample.get(), return_counts=True)
    return int(values[counts.argmax()])
