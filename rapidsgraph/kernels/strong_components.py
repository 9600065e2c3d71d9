"""Strong components by depth-first search, on a CPU.

The algorithm is Tarjan's [1]_. There is no CUDA twin, because depth-first search is sequential; a
GPU runs coloring.cu. `relational.components` runs it on what its joins leave.

References
----------
.. [1] R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1(2), 1972.
   https://doi.org/10.1137/0201010
"""

import numpy as np

from .jit import serial


@serial
def find_components(offsets, neighbors, components):
    """Write the number of every vertex's strong component, in reverse topological order [1]_.

    No arc leads to a component of a higher number.

    Parameters
    ----------
    offsets : int64 array, shape (vertices + 1,)
    neighbors : int32 array
        The CSR of the arcs.
    components : int32 array, shape (vertices,)
        Output.
    """
    num_vertices = len(components)
    cursors = offsets[:-1].copy()  # the next arc of each vertex
    order = np.full(num_vertices, -1, np.int32)  # in which the search enters vertices
    low = np.empty(num_vertices, np.int32)  # least order that each vertex is known to reach
    path = np.empty(num_vertices, np.int32)  # from the start of the search
    stack = np.empty(num_vertices, np.int32)  # vertices whose component is incomplete
    num_entered = stack_size = num_components = 0
    components[:] = -1
    for start in range(num_vertices):
        if order[start] >= 0:
            continue
        depth, entered = -1, start
        while depth >= 0 or entered >= 0:
            if entered >= 0:
                order[entered] = low[entered] = num_entered
                num_entered += 1
                depth += 1
                path[depth] = stack[stack_size] = entered
                stack_size += 1
                entered = -1
            vertex = path[depth]
            if cursors[vertex] < offsets[vertex + 1]:
                neighbor = neighbors[cursors[vertex]]
                cursors[vertex] += 1
                if order[neighbor] < 0:
                    entered = neighbor
                elif components[neighbor] < 0:
                    low[vertex] = min(low[vertex], order[neighbor])
                continue
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[vertex])
            if low[vertex] == order[vertex]:
                member = -1
                while member != vertex:
                    stack_size -= 1
                    member = stack[stack_size]
                    components[member] = num_components
                num_components += 1
