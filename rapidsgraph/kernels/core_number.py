"""Core numbers by peeling on a CPU: the twins of core_number.cu, which documents them.

One thread peels, since the atomic operations of several take more time than they share: two threads
took 1.3 to 2.1 times as long as one. The parameters that synchronize blocks (chunks, counters,
arrived_blocks) are not used.
"""

import numpy as np

from .constants import NO_VERTEX
from .intrinsics import maximum, minimum, prefetch
from .jit import serial

AHEAD = 4  # vertices whose list is fetched before it is needed
ONE = np.uint64(1)


@serial
def _remove(first, last, level, offsets, neighbors, cores, vertices, queue, tail):
    """Lower the degrees of the neighbors of vertices[first:last]; return the end of the queue."""
    tail = np.uint64(tail)
    for index in range(first, last):
        ahead = np.uint64(vertices[np.uint64(minimum(index + AHEAD, last - 1))])
        prefetch(neighbors, np.uint64(offsets[ahead]))
        vertex = np.uint64(vertices[np.uint64(index)])
        for arc in range(offsets[vertex], offsets[vertex + ONE]):
            neighbor = np.uint64(neighbors[np.uint64(arc)])
            degree = cores[neighbor]
            if degree > level:
                cores[neighbor] = degree - 1
                if degree - 1 == level:
                    queue[tail] = neighbor
                    tail += ONE
    return np.int64(tail)


@serial
def peel(
    num_vertices,
    num_arcs,
    offsets,
    neighbors,
    cores,
    remaining,
    queues,
    chunks,
    counters,
    arrived_blocks,
):
    for vertex in range(num_vertices):
        remaining[np.uint64(vertex)] = vertex
    level, num_remaining = 0, num_vertices
    while num_remaining:
        tail, num_others, least = np.uint64(0), np.uint64(0), NO_VERTEX
        for index in range(num_remaining):
            vertex = remaining[np.uint64(index)]
            degree = cores[np.uint64(vertex)]
            if degree == level:
                queues[tail] = vertex
                tail += ONE
            elif degree > level:
                remaining[num_others] = vertex
                num_others += ONE
                least = minimum(least, degree)
        num_remaining = np.int64(num_others)
        if tail == 0:
            level = least
            continue
        head, last = 0, np.int64(tail)
        while head < last:
            end = _remove(head, last, level, offsets, neighbors, cores, queues, queues, last)
            head, last = last, end
        level += 1


@serial
def remove_vertices(num_removed, removed, level, offsets, neighbors, cores, queue, num_queued):
    num_queued[0] = _remove(0, num_removed, level, offsets, neighbors, cores, removed, queue, 0)


@serial
def lower_bounds(num_rows, rows, is_loaded, offsets, neighbors, cores, is_active):
    capacity = len(cores) + 1
    queue = np.empty(capacity, np.int32)  # a ring: a row that is active is in it once
    head, size, largest = 0, num_rows, 0
    for index in range(num_rows):
        queue[np.uint64(index)] = rows[np.uint64(index)]
        is_active[np.uint64(rows[np.uint64(index)])] = True
    for row in range(len(cores)):
        largest = maximum(largest, offsets[np.uint64(row + 1)] - offsets[np.uint64(row)])
    counts = np.zeros(largest + 1, np.int64)  # of the neighbors of a row by bound
    while size:
        row = np.uint64(queue[np.uint64(head)])
        head, size = (head + 1) % capacity, size - 1
        is_active[row] = False
        start, stop = offsets[row], offsets[row + ONE]
        bound = cores[row]
        high = minimum(np.int64(bound), stop - start)
        for arc in range(start, stop):
            core = np.int64(cores[np.uint64(neighbors[np.uint64(arc)])])
            counts[np.uint64(minimum(core, high))] += 1
        level, num_above = high, counts[np.uint64(high)]
        while num_above < level:
            level -= 1
            num_above += counts[np.uint64(level)]
        counts[: high + 1] = 0
        if level == bound:
            continue
        cores[row] = level
        for arc in range(start, stop):
            neighbor = np.uint64(neighbors[np.uint64(arc)])
            if cores[neighbor] > level and not is_active[neighbor]:
                is_active[neighbor] = True
                if is_loaded[neighbor]:
                    queue[np.uint64((head + size) % capacity)] = neighbor
                    size += 1
