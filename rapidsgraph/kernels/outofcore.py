"""Kernels of the out-of-core build of a layered edge list, on a CPU.

An edge is a 64-bit key, ``source << 32 | destination``, so that sorted keys are adjacency lists.
The kernels sort keys by digits, merge parallel edges, expand BFS frontiers and move edges into
layer order. There is no CUDA twin, because the disk is slower than one thread.

Vertex ids are below 2^31. Indices are converted to uint64, because Numba then skips the check for
negative indices.

References
----------
Knuth, The Art of Computer Programming, volume 3, section 5.2.5 (radix sort).
"""

import numpy as np
from numba import prange

from .constants import KEEP_ALL, MERGE_MAX, MERGE_MIN, MERGE_SUM, NO_KEY
from .intrinsics import prefetch
from .jit import parallel, serial

SOURCE_SHIFT, ONE = np.uint64(32), np.uint64(1)
DESTINATION_MASK = np.uint64(0xFFFFFFFF)
PREFETCH_DISTANCE = 16


@parallel
def look_up_integers(values, min_name, shift, bucket_starts, names, ids):
    """Find the index of each value in the sorted `names`; -1 if it is not among them.

    The names with ``(name - min_name) >> shift == b`` are
    ``names[bucket_starts[b]:bucket_starts[b + 1]]``.
    """
    for i_ in prange(len(values)):
        i = np.uint64(i_)
        value = values[i] - min_name
        bucket, index = value >> shift, np.int32(-1)
        if bucket < np.uint64(len(bucket_starts) - 1):
            low, high = bucket_starts[bucket], bucket_starts[bucket + ONE]
            while low < high:
                middle = (low + high) // 2
                if names[np.uint64(middle)] - min_name < value:
                    low = middle + 1
                else:
                    high = middle
            if low < bucket_starts[bucket + ONE] and names[np.uint64(low)] == values[i]:
                index = np.int32(low)
        ids[i] = index


@serial
def append_edge_keys(
    sources, destinations, weights, weighted, symmetrize, drops_loops, size, keys, key_weights
):
    """Append edges to ``keys[:size]`` and ``key_weights[:size]``; return the new size."""
    for i_ in range(len(sources)):
        i = np.uint64(i_)
        source, destination = np.uint64(sources[i]), np.uint64(destinations[i])
        if drops_loops and source == destination:
            continue
        keys[np.uint64(size)] = source << SOURCE_SHIFT | destination
        if weighted:
            key_weights[np.uint64(size)] = weights[i]
        size += 1
        if symmetrize and source != destination:
            keys[np.uint64(size)] = destination << SOURCE_SHIFT | source
            if weighted:
                key_weights[np.uint64(size)] = weights[i]
            size += 1
    return size


@parallel
def count_digits(keys, min_key, shift, mask, cursors):
    """Count the keys of each chunk per digit ``(key - min_key) >> shift & mask``."""
    num_chunks, num_keys = len(cursors), len(keys)
    for chunk_ in prange(num_chunks):
        chunk = np.int64(chunk_)
        for i in range(num_keys * chunk // num_chunks, num_keys * (chunk + 1) // num_chunks):
            cursors[chunk, keys[np.uint64(i)] - min_key >> shift & mask] += 1


@parallel
def scatter_by_digit(keys, weights, weighted, min_key, shift, mask, cursors, out_keys, out_weights):
    """Move keys and weights to the cursors of their digits; the order within a digit is stable."""
    num_chunks, num_keys = len(cursors), len(keys)
    for chunk_ in prange(num_chunks):
        chunk = np.int64(chunk_)
        for i in range(num_keys * chunk // num_chunks, num_keys * (chunk + 1) // num_chunks):
            key = keys[np.uint64(i)]
            digit = key - min_key >> shift & mask
            target = np.uint64(cursors[chunk, digit])
            cursors[chunk, digit] += 1
            out_keys[target] = key
            if weighted:
                out_weights[target] = weights[np.uint64(i)]


@serial
def merge_edges(
    keys, weights, weighted, policy, pending_key, pending_weight, neighbors, degrees, weight_sums
):
    """Convert sorted keys to neighbors, merging parallel edges by `policy`; return their number.

    The neighbors are written over `keys`, of which `neighbors` is a view, and the weights over
    `weights`. The last edge stays pending, because the next batch may begin with a parallel edge.
    """
    last, weight, count = pending_key[0], pending_weight[0], 0
    for i_ in range(len(keys)):
        i = np.uint64(i_)
        key = keys[i]
        if key == last and policy != KEEP_ALL:
            if weighted and policy == MERGE_SUM:
                weight += weights[i]
            elif weighted and policy == MERGE_MIN:
                weight = min(weight, weights[i])
            elif weighted and policy == MERGE_MAX:
                weight = max(weight, weights[i])
            continue
        next_weight = weights[i] if weighted else weight
        if last != NO_KEY:
            neighbors[np.uint64(count)] = last & DESTINATION_MASK
            degrees[last >> SOURCE_SHIFT] += 1
            if weighted:
                weights[np.uint64(count)] = weight
                weight_sums[last >> SOURCE_SHIFT] += weight
            count += 1
        last, weight = key, next_weight
    pending_key[0], pending_weight[0] = last, weight
    return count


@serial
def expand_frontier(frontier, level, offsets, neighbors, distances, queue, tail):
    """Set the distance of unvisited neighbors and append them at queue[tail]; return the tail."""
    for row in range(len(frontier)):
        vertex = np.uint64(frontier[row])
        start, stop = offsets[vertex], offsets[vertex + ONE]
        for arc in range(start, stop):
            ahead = np.uint64(min(arc + PREFETCH_DISTANCE, stop - 1))
            prefetch(distances, np.uint64(neighbors[ahead]))
            neighbor = np.uint64(neighbors[np.uint64(arc)])
            if distances[neighbor] < 0:
                distances[neighbor] = level
                queue[np.uint64(tail)] = neighbor
                tail += 1
    return tail


@serial
def expand_small_levels(
    queue, start, stop, level, small_size, max_vertices, offsets, neighbors, distances
):
    """Continue the search from the frontier queue[start:stop] while frontiers are small.

    Stops after about `max_vertices` vertices. Returns the range of the next frontier and its level.
    """
    first = start
    while start < stop and stop - start < small_size and start - first < max_vertices:
        tail = expand_frontier(
            queue[start:stop], level + 1, offsets, neighbors, distances, queue, stop
        )
        start, stop, level = stop, tail, level + 1
    return start, stop, level


@serial
def assign_row_targets(first_row, start, stop, offsets, buckets, cursors, targets):
    """Compute where the arcs in [start, stop) of each row go when rows are grouped by bucket."""
    for row in range(len(buckets)):
        count = min(offsets[first_row + row + 1], stop) - max(offsets[first_row + row], start)
        cursors[buckets[row] + 1] += count
    for bucket in range(len(cursors) - 1):
        cursors[bucket + 1] += cursors[bucket]
    for row in range(len(buckets)):
        count = min(offsets[first_row + row + 1], stop) - max(offsets[first_row + row], start)
        targets[row] = cursors[buckets[row]]
        cursors[buckets[row]] += count


@parallel
def scatter_rows(
    first_row,
    start,
    stop,
    offsets,
    targets,
    position_of,
    neighbors,
    weights,
    weighted,
    out_positions,
    out_weights,
):
    """Move the neighbors' positions and the weights of arcs [start, stop) to their row targets."""
    for row_ in prange(len(targets)):
        row = np.int64(row_)
        row_start = max(offsets[first_row + row], start)
        row_stop = min(offsets[first_row + row + 1], stop)
        shift = targets[row] - row_start
        for i in range(row_start, row_stop):
            neighbor = np.uint64(neighbors[np.uint64(i - start)])
            out_positions[np.uint64(i + shift)] = position_of[neighbor]
            if weighted:
                out_weights[np.uint64(i + shift)] = weights[np.uint64(i - start)]


@parallel
def count_forward(starts, degrees, bounds, neighbors, counts):
    """Count the neighbors of each row at or after the bound of the row."""
    for row_ in prange(len(starts)):
        row, count = np.int64(row_), 0
        for i in range(starts[row], starts[row] + degrees[row]):
            count += neighbors[np.uint64(i)] >= bounds[row]
        counts[row] = count


@parallel
def split_rows(
    starts,
    degrees,
    bounds,
    neighbors,
    weights,
    weighted,
    forward_offsets,
    backward_offsets,
    forward,
    backward,
    forward_weights,
    backward_weights,
):
    """Split the neighbors of each row into those at or after its bound and those before it."""
    for row_ in prange(len(starts)):
        row = np.int64(row_)
        ahead, behind = np.uint64(forward_offsets[row]), np.uint64(backward_offsets[row])
        for i_ in range(starts[row], starts[row] + degrees[row]):
            i = np.uint64(i_)
            if neighbors[i] >= bounds[row]:
                forward[ahead] = neighbors[i]
                if weighted:
                    forward_weights[ahead] = weights[i]
                ahead += ONE
            else:
                backward[behind] = neighbors[i]
                if weighted:
                    backward_weights[behind] = weights[i]
                behind += ONE
