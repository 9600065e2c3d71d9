"""Predecessors along zero-weight edges on a CPU, by a breadth-first search of few vertices.

Rounding makes an edge of positive weight one of these, if its weight adds nothing to a distance.
"""

import numpy as np

from .constants import NO_VERTEX
from .jit import serial

ONE = np.uint64(1)


@serial
def find_predecessors(offsets, neighbors, weights, distances, remaining, queue, predecessors):
    """Write the predecessors of `remaining` vertices, to which only zero-weight edges lead.

    They are the smallest ones of a search that starts at all other vertices. `remaining` becomes
    False; `queue` has a position for each of these vertices.
    """
    tail = np.uint64(0)
    for vertex_ in range(distances.size):  # ascending: the first predecessor is the smallest
        vertex = np.uint64(vertex_)
        distance = distances[vertex]
        if remaining[vertex] or distance == np.inf:
            continue
        for arc_ in range(offsets[vertex], offsets[vertex + ONE]):
            arc = np.uint64(arc_)
            neighbor = np.uint64(neighbors[arc])
            if not remaining[neighbor] or predecessors[neighbor] != NO_VERTEX:
                continue
            if distances[neighbor] == distance and distance + weights[arc] == distance:
                predecessors[neighbor] = vertex
                queue[tail] = neighbor
                tail += ONE
    head, end = np.uint64(0), tail
    while head < end:
        for index in range(head, end):  # vertices of the level cannot follow one another
            remaining[queue[np.uint64(index)]] = False
        while head < end:
            vertex = np.uint64(queue[head])
            head += ONE
            distance = distances[vertex]
            for arc_ in range(offsets[vertex], offsets[vertex + ONE]):
                arc = np.uint64(arc_)
                neighbor = np.uint64(neighbors[arc])
                if not remaining[neighbor] or distances[neighbor] != distance:
                    continue
                if distance + weights[arc] == distance:
                    if predecessors[neighbor] == NO_VERTEX:
                        queue[tail] = neighbor
                        tail += ONE
                    predecessors[neighbor] = min(predecessors[neighbor], np.int32(vertex))
        end = tail
