"""Shortest paths by weight on a CPU: the twins of sssp.cu, which documents them.

One thread expands vertices one after the other, so a shorter path is taken into account at once,
and the near queue is a ring buffer.
"""

import numpy as np
from numba import prange

from .intrinsics import prefetch
from .jit import parallel, serial

PARTS = 64
ONE = np.uint64(1)


@serial
def _above(distance, step):
    """Return `distance` plus `step`, or the next floating-point number if that is no different."""
    return max(distance + step, np.nextafter(distance, np.inf))


@serial
def shortest_paths(
    num_vertices,
    num_arcs,
    cutoff,
    delta,
    num_sources,
    sources,
    offsets,
    neighbors,
    weights,
    distances,
    queues,
    marks,
    chunks,
    counters,
    arrived_blocks,
    min_distance,
    state,
):
    room = np.uint64(num_vertices + 1)  # of the near queue, which is a ring
    near, far = queues[: num_vertices + 1], queues[num_vertices + 1 : 2 * num_vertices + 1]
    waiting = marks  # 1: in the near queue, 2: in the far one, 4: expanded before, by bits
    head, tail, parked = np.uint64(0), np.uint64(0), np.uint64(0)
    for place in range(num_sources):
        near[tail] = sources[place]
        waiting[sources[place]] = 1
        tail += ONE
    below, low = delta, 0.0  # the near queue holds distances from `low` up to `below`
    rounds, expanded, repeated = 0, 0, 0
    while True:
        while head != tail:
            ahead = near[(head + np.uint64(8)) % room]
            prefetch(offsets, np.uint64(ahead))
            prefetch(distances, np.uint64(ahead))
            ahead = offsets[np.uint64(near[(head + np.uint64(3)) % room])]
            prefetch(neighbors, np.uint64(ahead))
            prefetch(weights, np.uint64(ahead))
            vertex = np.uint64(near[head])
            head = head + ONE if head + ONE < room else np.uint64(0)
            distance = distances[vertex]
            if distance >= below:  # the step has become smaller since
                if waiting[vertex] & 2 == 0:
                    far[parked] = vertex
                    parked += ONE
                waiting[vertex] = (waiting[vertex] | 2) & ~1
                continue
            work = offsets[vertex + ONE] - offsets[vertex] + 1
            expanded += work
            if waiting[vertex] & 4:
                repeated += work
            waiting[vertex] = (waiting[vertex] | 4) & ~1
            for arc_ in range(offsets[vertex], offsets[vertex + ONE]):
                arc = np.uint64(arc_)
                neighbor = np.uint64(neighbors[arc])
                reached = distance + weights[arc]
                if reached >= distances[neighbor] or reached > cutoff:
                    continue
                distances[neighbor] = reached
                if reached < below:
                    if waiting[neighbor] & 1 == 0:
                        waiting[neighbor] |= 1
                        near[tail] = neighbor
                        tail = tail + ONE if tail + ONE < room else np.uint64(0)
                elif waiting[neighbor] & 2 == 0:
                    waiting[neighbor] |= 2
                    far[parked] = neighbor
                    parked += ONE
            if expanded > 4096 and 4 * repeated > 3 * expanded:
                # Vertices are expanded again and again: the step takes in too much.
                delta = min(delta / 4, (distance - low) / 2 if distance > low else delta)
                below = _above(low, delta)
                expanded, repeated = 0, 0
        rounds += 1
        if parked == 0:
            break
        # A look at all that waits should cost less than what is expanded between two of them.
        if (expanded < 1024 or 4 * expanded < parked) and delta * 2 < np.inf:
            delta *= 2
        expanded, repeated = 0, 0
        old, least = below, np.inf
        below = _above(below, delta)
        while head == tail and parked > 0:
            kept = np.uint64(0)
            low = old
            if least < np.inf:
                low, below = least, _above(least, delta)
            least = np.inf
            for place_ in range(parked):
                vertex = np.uint64(far[np.uint64(place_)])
                distance = distances[vertex]
                if distance < old:  # reached by a shorter way meanwhile, and expanded
                    waiting[vertex] &= ~2
                elif distance < below:
                    waiting[vertex] = (waiting[vertex] & ~2) | 1
                    near[tail] = vertex
                    tail = tail + ONE if tail + ONE < room else np.uint64(0)
                else:
                    far[kept] = vertex
                    kept += ONE
                    least = min(least, distance)
            parked = kept
    state[0] = rounds


@parallel
def pull_predecessors(num_vertices, offsets, neighbors, weights, distances, predecessors):
    for part_ in prange(PARTS):
        part = np.int64(part_)
        for vertex_ in range(num_vertices * part // PARTS, num_vertices * (part + 1) // PARTS):
            vertex = np.uint64(vertex_)
            distance = distances[vertex]
            if distance == np.inf or distance == 0.0:
                continue
            for arc_ in range(offsets[vertex], offsets[vertex + ONE]):
                arc = np.uint64(arc_)
                neighbor = neighbors[arc]
                before = distances[np.uint64(neighbor)]
                if before < distance and before + weights[arc] == distance:
                    predecessors[vertex] = neighbor
                    break


@serial
def push_predecessors(num_vertices, offsets, neighbors, weights, distances, predecessors):
    for vertex in range(num_vertices):
        before = distances[np.uint64(vertex)]
        if before == np.inf:
            continue
        for arc_ in range(offsets[np.uint64(vertex)], offsets[np.uint64(vertex + 1)]):
            arc = np.uint64(arc_)
            neighbor = np.uint64(neighbors[arc])
            distance = distances[neighbor]
            if before < distance < np.inf and before + weights[arc] == distance:
                predecessors[neighbor] = min(predecessors[neighbor], np.int32(vertex))
