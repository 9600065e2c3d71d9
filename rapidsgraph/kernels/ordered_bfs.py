"""Breadth-first search in the order of a queue, on a CPU.

There is no CUDA twin: the order in which a vertex finds others depends on all vertices before it.
`networkx_backend.breadth_first` needs the order that NetworkX has; other searches use `bfs`.
"""

from .jit import serial


@serial
def search_in_order(num_sources, offsets, neighbors, depth_limit, queue, levels, parents, counts):
    """Search from the first vertices of a queue, and append every other one when it is found.

    Parameters
    ----------
    num_sources : int
    offsets : int64 array, shape (vertices + 1,)
    neighbors : int32 array
        The arcs of a vertex, in the order in which they are followed.
    depth_limit : int
        Level of the last vertices.
    queue : int32 array, shape (vertices,)
        The sources, each once; output: the vertices that are reached, in order.
    levels : int32 array, shape (vertices,)
        0 for sources and -1 for others; output: the level of every vertex that is reached.
    parents : int32 array, shape (vertices,)
        Output: the vertex that found each one, unless it is a source.
    counts : int64 array, shape (1,)
        Output: the number of vertices that are reached.
    """
    head, tail = 0, num_sources
    while head < tail:
        vertex = queue[head]
        head += 1
        if levels[vertex] >= depth_limit:
            break
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbor = neighbors[arc]
            if levels[neighbor] < 0:
                levels[neighbor] = levels[vertex] + 1
                parents[neighbor] = vertex
                queue[tail] = neighbor
                tail += 1
    counts[0] = tail
