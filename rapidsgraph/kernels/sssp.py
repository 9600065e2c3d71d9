"""Shortest paths by weight on a CPU: the twins of sssp.cu, which documents them.

One thread expands vertices one after the other, so a shorter path takes effect at once,
and the near queue is a ring buffer. Lists are not read in the order of weights.
"""

import numpy as np
from numba import prange

from .constants import NO_VERTEX
from .intrinsics import prefetch
from .jit import parallel, serial

NUM_BLOCKS = 64
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
    stop,
    delta,
    by_weight,
    num_sources,
    sources,
    num_targets,
    targets,
    offsets,
    neighbors,
    weights,
    in_offsets,
    in_neighbors,
    in_weights,
    distances,
    queues,
    marks,
    chunks,
    counters,
    arrived_blocks,
    min_distance,
    pull_start,
    state,
):
    capacity = np.uint64(num_vertices + 1)  # of the near queue, a ring buffer
    near, far = queues[: num_vertices + 1], queues[num_vertices + 1 : 2 * num_vertices + 1]
    status = marks  # bits: 1 in the near queue, 2 in the far queue, 4 expanded before
    head, tail, num_far = np.uint64(0), np.uint64(0), np.uint64(0)
    for index in range(num_sources):
        near[tail] = sources[index]
        status[sources[index]] = 1
        tail += ONE
    bound, low = min(delta, stop), 0.0  # the near queue holds distances from `low` up to `bound`
    rounds, work_done, repeated_work, num_settled = 0, 0, 0, 0
    while True:
        while head != tail:
            ahead = near[(head + np.uint64(8)) % capacity]
            prefetch(offsets, np.uint64(ahead))
            prefetch(distances, np.uint64(ahead))
            ahead = offsets[np.uint64(near[(head + np.uint64(3)) % capacity])]
            prefetch(neighbors, np.uint64(ahead))
            prefetch(weights, np.uint64(ahead))
            vertex = np.uint64(near[head])
            head = head + ONE if head + ONE < capacity else np.uint64(0)
            distance = distances[vertex]
            if distance >= bound:  # the bound has decreased since
                if status[vertex] & 2 == 0:
                    far[num_far] = vertex
                    num_far += ONE
                status[vertex] = (status[vertex] | 2) & ~1
                continue
            work = offsets[vertex + ONE] - offsets[vertex] + 1
            work_done += work
            if status[vertex] & 4:
                repeated_work += work
            status[vertex] = (status[vertex] | 4) & ~1
            for arc_ in range(offsets[vertex], offsets[vertex + ONE]):
                arc = np.uint64(arc_)
                neighbor = np.uint64(neighbors[arc])
                new_distance = distance + weights[arc]
                if new_distance >= distances[neighbor] or new_distance > cutoff:
                    continue
                distances[neighbor] = new_distance
                if new_distance < bound:
                    if status[neighbor] & 1 == 0:
                        status[neighbor] |= 1
                        near[tail] = neighbor
                        tail = tail + ONE if tail + ONE < capacity else np.uint64(0)
                elif status[neighbor] & 2 == 0:
                    status[neighbor] |= 2
                    far[num_far] = neighbor
                    num_far += ONE
            if work_done > 4096 and 4 * repeated_work > 3 * work_done:
                # Many vertices are expanded repeatedly, so delta is too large.
                delta = min(delta / 4, (distance - low) / 2 if distance > low else delta)
                bound = min(_above(low, delta), stop)
                work_done, repeated_work = 0, 0
        rounds += 1
        while num_settled < num_targets and distances[targets[num_settled]] < bound:
            num_settled += 1
        if num_far == 0 or bound >= stop or 0 < num_targets == num_settled:
            break
        # A pass over the far queue should cost less than the expansions since the last one.
        if (work_done < 1024 or 4 * work_done < num_far) and delta * 2 < np.inf:
            delta *= 2
        work_done, repeated_work = 0, 0
        old_bound, min_far = bound, np.inf
        bound = min(_above(bound, delta), stop)
        while head == tail and num_far > 0:
            num_remaining = np.uint64(0)
            low = old_bound
            if min_far < np.inf:
                low, bound = min_far, min(_above(min_far, delta), stop)
                if min_far >= stop:
                    break
            min_far = np.inf
            for index_ in range(num_far):
                vertex = np.uint64(far[np.uint64(index_)])
                distance = distances[vertex]
                if distance < old_bound:  # expanded since, at a smaller distance
                    status[vertex] &= ~2
                elif distance < bound:
                    status[vertex] = (status[vertex] & ~2) | 1
                    near[tail] = vertex
                    tail = tail + ONE if tail + ONE < capacity else np.uint64(0)
                else:
                    far[num_remaining] = vertex
                    num_remaining += ONE
                    min_far = min(min_far, distance)
            num_far = num_remaining
    state[0] = rounds


@parallel
def pull_predecessors(num_vertices, offsets, neighbors, weights, distances, predecessors):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for vertex_ in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            vertex = np.uint64(vertex_)
            distance = distances[vertex]
            if distance == np.inf or distance == 0.0 or predecessors[vertex] != NO_VERTEX:
                continue
            for arc_ in range(offsets[vertex], offsets[vertex + ONE]):
                arc = np.uint64(arc_)
                neighbor = neighbors[arc]
                before = distances[np.uint64(neighbor)]
                if before < distance and before + weights[arc] == distance:
                    predecessors[vertex] = neighbor
                    break


@serial
def push_predecessors(
    num_vertices, skip_start, skip_stop, offsets, neighbors, weights, distances, predecessors
):
    for vertex in range(num_vertices):
        before = distances[np.uint64(vertex)]
        if before == np.inf or skip_start <= before < skip_stop:
            continue
        for arc_ in range(offsets[np.uint64(vertex)], offsets[np.uint64(vertex + 1)]):
            arc = np.uint64(arc_)
            neighbor = np.uint64(neighbors[arc])
            distance = distances[neighbor]
            if before < distance < np.inf and before + weights[arc] == distance:
                predecessors[neighbor] = min(predecessors[neighbor], np.int32(vertex))


def find_weight_keys(num_arcs, weights, keys):
    exact = weights.astype(np.float64)
    with np.errstate(over="ignore"):  # of weights beyond single precision
        rounded = exact.astype(np.float32)
    below = np.nextafter(rounded, np.float32(0))
    keys[:] = np.abs(np.where(rounded > exact, below, rounded)).view(np.int32)


def find_predecessors(
    num_vertices,
    pull_start,
    offsets,
    neighbors,
    weights,
    in_offsets,
    in_neighbors,
    in_weights,
    distances,
    predecessors,
):
    push_predecessors(num_vertices, 0.0, 0.0, offsets, neighbors, weights, distances, predecessors)


def convert_depths(num_vertices, depths, distances):
    distances[:] = depths
    distances[depths < 0] = np.inf


def drop_farther(num_vertices, limit, distances):
    distances[distances > limit[0]] = np.inf


def mark_remaining(num_vertices, distances, predecessors, remaining):
    np.less(distances, np.inf, out=remaining)
    remaining &= predecessors == NO_VERTEX
