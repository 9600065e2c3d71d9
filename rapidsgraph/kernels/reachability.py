"""Checks of reachability for `rapidsgraph.verify`, on a CPU.

They visit each vertex and arc once, where array operations would take one round per arc of a path.
`remove_acyclic` is a topological sort [1]_.

References
----------
.. [1] A. B. Kahn, "Topological sorting of large networks", Commun. ACM 5(11), 1962.
   https://doi.org/10.1145/368996.369025
"""

import numpy as np

from .jit import serial


@serial
def reach_members(offsets, neighbors, groups, sources, is_reached):
    """Search from sources along arcs within groups, and mark the vertices that are reached.

    Parameters
    ----------
    offsets : int64 array, shape (vertices + 1,)
    neighbors : int32 array
    groups : int32 array, shape (vertices,)
        The group of each vertex.
    sources : int32 array
    is_reached : bool array, shape (vertices,)
        Output; false before the call.
    """
    queue = np.empty(len(groups), np.int32)
    first, stop = 0, len(sources)
    queue[:stop] = sources
    for source in sources:
        is_reached[source] = True
    while first < stop:
        vertex = queue[first]
        first += 1
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbor = neighbors[arc]
            if groups[neighbor] == groups[vertex] and not is_reached[neighbor]:
                is_reached[neighbor] = True
                queue[stop] = neighbor
                stop += 1


@serial
def remove_acyclic(offsets, neighbors, in_degrees):
    """Remove vertices without arcs in, until there are no more [1]_.

    Parameters
    ----------
    offsets : int64 array, shape (vertices + 1,)
    neighbors : int32 array
    in_degrees : int64 array, shape (vertices,)
        Number of arcs to each vertex. Afterwards that of arcs from vertices that are left, which
        is positive for these: each is on a cycle, or reached from one.
    """
    num_vertices = len(in_degrees)
    queue = np.empty(num_vertices, np.int32)
    first = stop = 0
    for vertex in range(num_vertices):
        if in_degrees[vertex] == 0:
            queue[stop] = vertex
            stop += 1
    while first < stop:
        vertex = queue[first]
        first += 1
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbor = neighbors[arc]
            in_degrees[neighbor] -= 1
            if in_degrees[neighbor] == 0:
                queue[stop] = neighbor
                stop += 1
