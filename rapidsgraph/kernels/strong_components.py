"""Strong components on a CPU: by union-find where all arcs have reverse arcs, else depth-first.

The depth-first search is Tarjan's [1]_ in the form of Pearce [2]_, which reads one value per arc.
There are no CUDA twins, because both algorithms are sequential; a GPU runs coloring.cu.
`relational.components` runs it on what its joins leave.

References
----------
.. [1] R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1(2), 1972.
   https://doi.org/10.1137/0201010
.. [2] D. J. Pearce, "A space-efficient algorithm for finding strongly connected components", Inf.
   Process. Lett. 116(1), 2016. https://doi.org/10.1016/j.ipl.2015.08.010
"""

import numpy as np

from .disjoint_sets import root
from .jit import serial

ONE = np.uint64(1)


@serial
def join_two_way_arcs(offsets, neighbors, parents, has_one_way_arcs):
    """Write the smallest vertex of every component, unless an arc has no reverse arc.

    The reverse of the next arc to a vertex is the next one in the list of the vertex, since lists
    ascend. So half of the arcs are read in order, and each of these leads to the other one.

    Parameters
    ----------
    offsets, neighbors
        As for `find_components`, with ascending lists. Parallel arcs need as many reverse arcs.
    parents : int32 array, shape (vertices,)
        Output; valid if all arcs have reverse arcs.
    has_one_way_arcs : bool array, shape (1,)
        Output; false before.
    """
    num_vertices = len(parents)
    cursors = np.empty(num_vertices, np.int64)  # next arc of each list that must be a reverse one
    for vertex in range(num_vertices):
        cursors[np.uint64(vertex)] = offsets[np.uint64(vertex)]
        parents[np.uint64(vertex)] = vertex
    for vertex in range(num_vertices):
        parent = parents[np.uint64(vertex)]
        for arc in range(cursors[np.uint64(vertex)], offsets[np.uint64(vertex + 1)]):
            neighbor = np.int64(neighbors[np.uint64(arc)])
            if neighbor == vertex:
                continue
            cursor = cursors[np.uint64(neighbor)]
            is_paired = neighbor > vertex and cursor < offsets[np.uint64(neighbor + 1)]
            if not is_paired or neighbors[np.uint64(cursor)] != vertex:
                has_one_way_arcs[0] = True
                return
            cursors[np.uint64(neighbor)] = cursor + 1
            if parents[np.uint64(neighbor)] != parent:
                one, other = root(parents, vertex), root(parents, neighbor)
                parent = np.int32(min(one, other))
                parents[max(one, other)] = parent
    for vertex in range(num_vertices):  # parents precede vertices
        parents[np.uint64(vertex)] = parents[np.uint64(parents[np.uint64(vertex)])]


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
    path = np.empty(num_vertices, np.int32)  # from the start of the search to `vertex`
    arcs = np.empty(num_vertices, np.int64)  # the next arc of each vertex of the path
    orders = np.empty(num_vertices, np.int32)  # of the vertices of the path
    stack = np.empty(num_vertices, np.int32)  # vertices off the path whose component is incomplete
    # `components` has 0 for new vertices, then the least order that they are known to reach, and
    # in the end the number of the component, counted down from above all orders in use.
    components[:] = 0
    stack_size, number, next_order = 0, num_vertices - 1, np.int32(1)
    for start in range(num_vertices):
        if components[np.uint64(start)] != 0:
            continue
        vertex, depth, is_new = np.uint64(start), 0, True
        arc = stop = offsets[vertex]  # assigned before the loop, for their types
        low = order = next_order
        while True:
            if is_new:
                low = order = next_order
                components[vertex] = order
                next_order += np.int32(1)
                arc, stop = offsets[vertex], offsets[vertex + ONE]
                is_new = False
            while arc < stop:
                neighbor = np.uint64(neighbors[np.uint64(arc)])
                arc += 1
                value = components[neighbor]
                if value == 0:
                    is_new = True
                    break
                low = min(low, value)
            if is_new:
                components[vertex] = low
                path[np.uint64(depth)] = vertex
                arcs[np.uint64(depth)] = arc
                orders[np.uint64(depth)] = order
                depth += 1
                vertex = neighbor
                continue
            if low < order:
                components[vertex] = low
                stack[np.uint64(stack_size)] = vertex
                stack_size += 1
            else:
                components[vertex] = low = np.int32(number)
                next_order -= np.int32(1)
                while stack_size > 0:
                    member = np.uint64(stack[np.uint64(stack_size - 1)])
                    if components[member] < order:
                        break
                    components[member] = number
                    next_order -= np.int32(1)
                    stack_size -= 1
                number -= 1
            if depth == 0:
                break
            depth -= 1
            vertex = np.uint64(path[np.uint64(depth)])
            arc, stop = arcs[np.uint64(depth)], offsets[vertex + ONE]
            order = orders[np.uint64(depth)]
            low = min(low, components[vertex])
    for vertex in range(num_vertices):
        components[np.uint64(vertex)] = num_vertices - 1 - components[np.uint64(vertex)]
