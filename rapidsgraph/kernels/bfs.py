"""Breadth-first search on a CPU: the twin of bfs.cu, which documents it.

A level is expanded top-down by one thread, which prefetches memory, and bottom-up by all. The
parameters that synchronize blocks (chunks, counters, arrived_blocks) are not used.
"""

import numpy as np
from numba import prange

from .constants import BFS_ALPHA, BFS_BETA, NO_VERTEX
from .intrinsics import add_at, minimum, prefetch
from .jit import parallel, serial

NUM_BLOCKS = 64
BATCH_VERTICES = 64  # vertices whose lists are prefetched as one batch
MAX_BATCH_ARCS = 4096  # arcs of a batch; longer lists are expanded one by one
AHEAD = 16
UNREACHED_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE, HALF = np.uint64(1), np.uint64(32)


@serial
def _push(
    first,
    last,
    level,
    offsets,
    neighbors,
    keys,
    queue,
    starts,
    ends,
    heads,
    tails,
):
    """Expand queue[first:last] and append new vertices; return the new end of the queue.

    A key is level << 32 | predecessor, so a vertex keeps the smallest key.
    """
    tail = np.uint64(last)
    base = np.uint64(level + 1) << HALF
    while first < last:
        count, batch_arcs = 0, 0
        while first + count < last and count < BATCH_VERTICES:
            vertex = np.uint64(queue[np.uint64(first + count)])
            starts[count] = offsets[vertex]
            ends[count] = offsets[vertex + ONE]
            batch_arcs += ends[count] - starts[count]
            if batch_arcs > MAX_BATCH_ARCS and count:
                break
            prefetch(neighbors, np.uint64(starts[count]))
            count += 1
        if ends[0] - starts[0] > MAX_BATCH_ARCS:
            key = base | np.uint64(queue[np.uint64(first)])
            for arc in range(starts[0], ends[0]):
                ahead = minimum(arc + AHEAD, ends[0] - 1)
                prefetch(keys, np.uint64(neighbors[np.uint64(ahead)]))
                neighbor = np.uint64(neighbors[np.uint64(arc)])
                before = keys[neighbor]
                queue[tail] = neighbor
                tail += np.uint64(before == UNREACHED_KEY)
                keys[neighbor] = minimum(before, key)
            first += 1
            continue
        batch_arcs = np.uint64(0)
        for index in range(count):
            vertex = queue[np.uint64(first + index)]
            for arc in range(starts[index], ends[index]):
                neighbor = neighbors[np.uint64(arc)]
                heads[batch_arcs] = neighbor
                tails[batch_arcs] = vertex
                batch_arcs += ONE
                prefetch(keys, np.uint64(neighbor))
        for index_ in range(batch_arcs):
            index = np.uint64(index_)
            neighbor = np.uint64(heads[index])
            before = keys[neighbor]
            queue[tail] = neighbor  # the tail advances only if the vertex is new; avoids a branch
            tail += np.uint64(before == UNREACHED_KEY)
            keys[neighbor] = minimum(before, base | np.uint64(tails[index]))
            prefetch(offsets, neighbor)
        first += count
    return np.int64(tail)


@serial
def _degrees(first, last, queue, offsets):
    total = 0
    for index in range(first, last):
        vertex = np.uint64(queue[np.uint64(index)])
        total += offsets[vertex + ONE] - offsets[vertex]
    return total


@parallel
def _mark(vertices, level, keys, bits):
    """Set the bits of the vertices of a level."""
    for word_ in prange((vertices + 31) // 32):
        first, word = np.uint64(word_) * HALF, np.uint32(0)
        for lane in range(minimum(32, vertices - np.int64(first))):
            if keys[first + np.uint64(lane)] >> HALF == np.uint64(level):
                word |= np.uint32(1) << np.uint32(lane)
        bits[np.uint64(word_)] = word


@parallel
def _pull(vertices, level, offsets, neighbors, keys, bits, new_bits, counts):
    """Search the in-neighbors of every unreached vertex for the first one in the level.

    counts[:NUM_BLOCKS] becomes the new vertices of each block, counts[NUM_BLOCKS:] their in-arcs.
    """
    words = (vertices + 31) // 32
    base = np.uint64(level + 1) << HALF
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        num_new, arcs = 0, 0
        for word_ in range(words * block // NUM_BLOCKS, words * (block + 1) // NUM_BLOCKS):
            first, word = np.uint64(word_) * HALF, np.uint32(0)
            for lane in range(minimum(32, vertices - np.int64(first))):
                vertex = first + np.uint64(lane)
                if keys[vertex] != UNREACHED_KEY:
                    continue
                start, stop = offsets[vertex], offsets[vertex + ONE]
                for arc in range(start, stop):
                    neighbor = np.uint32(neighbors[np.uint64(arc)])
                    bit = bits[neighbor >> np.uint32(5)] >> (neighbor & np.uint32(31))
                    if bit & np.uint32(1):
                        keys[vertex] = base | np.uint64(neighbor)
                        word |= np.uint32(1) << np.uint32(lane)
                        num_new += 1
                        arcs += stop - start
                        break
            new_bits[np.uint64(word_)] = word
        counts[block] = num_new
        counts[NUM_BLOCKS + block] = arcs


@serial
def _collect(vertices, bits, queue):
    """Write the vertices whose bits are set to the queue; return their number."""
    tail = 0
    for word in range((vertices + 31) // 32):
        remaining = bits[np.uint64(word)]
        if remaining == 0:
            continue
        for lane in range(32):
            if (remaining >> np.uint32(lane)) & np.uint32(1):
                queue[np.uint64(tail)] = 32 * word + lane
                tail += 1
    return tail


@serial
def _count_reached(count, num_targets, targets, keys):
    """Return how many of the first targets are reached, of which `count` are known to be."""
    while count < num_targets and keys[targets[count]] != UNREACHED_KEY:
        count += 1
    return count


@parallel
def _clear(keys):
    for index in prange(keys.size):
        keys[index] = UNREACHED_KEY


@parallel
def _unpack(keys, with_predecessors, distances, predecessors):
    for index_ in prange(keys.size):
        index = np.uint64(index_)
        key = keys[index]
        is_reached = key != UNREACHED_KEY
        distances[index] = np.int32(key >> HALF) if is_reached else np.int32(-1)
        if with_predecessors:
            predecessors[index] = np.int32(np.uint32(key)) if is_reached else np.int32(NO_VERTEX)


@serial
def _pack_mask(distances, least, mask):
    """Set the bits of distances of at least `least`; return how many there are."""
    mask[:] = 0
    count = 0
    for vertex in range(distances.size):
        if distances[vertex] >= least:
            mask[vertex // 32] |= np.uint32(1) << np.uint32(vertex % 32)
            count += 1
    return count


@serial
def search(
    num_vertices,
    num_arcs,
    depth_limit,
    bottom_up,
    with_predecessors,
    source,
    num_sources,
    sources,
    num_targets,
    targets,
    offsets,
    neighbors,
    in_offsets,
    in_neighbors,
    distances,
    predecessors,
    queues,
    chunks,
    frontier_bits,
    counters,
    arrived_blocks,
    with_masks,
    reached_mask,
    predecessor_mask,
    state,
):
    # NumPy allocates large pages, Numba small ones, in which random access is much slower.
    keys, queue = queues[: 2 * num_vertices].view(np.uint64), queues[2 * num_vertices :]
    _clear(keys)
    starts, ends = np.empty(BATCH_VERTICES, np.int64), np.empty(BATCH_VERTICES, np.int64)
    heads, tails = (
        np.empty(2 * MAX_BATCH_ARCS, np.int32),
        np.empty(2 * MAX_BATCH_ARCS, np.int32),
    )
    counts = np.empty(2 * NUM_BLOCKS, np.int64)
    words = (num_vertices + 31) // 32
    current_bits, next_bits = frontier_bits[:words], frontier_bits[words : 2 * words]
    first, last, level, unexplored = 0, 0, 0, num_arcs
    if source >= 0:
        keys[source] = np.uint64(NO_VERTEX)
        queue[last] = source
        last += 1
    for index in range(num_sources):
        if sources[index] >= 0:
            keys[sources[index]] = np.uint64(NO_VERTEX)
            queue[last] = sources[index]
            last += 1
    num_reached = 0
    while last > first and level < depth_limit:
        num_reached = _count_reached(num_reached, num_targets, targets, keys)
        if 0 < num_targets == num_reached:
            break
        frontier = _degrees(first, last, queue, offsets) if bottom_up else 0
        if bottom_up and frontier * BFS_ALPHA > unexplored and frontier > num_vertices // 64:
            _mark(num_vertices, level, keys, current_bits)
            num_new = last - first
            while num_new > 0 and level < depth_limit:
                _pull(
                    num_vertices,
                    level,
                    in_offsets,
                    in_neighbors,
                    keys,
                    current_bits,
                    next_bits,
                    counts,
                )
                before, num_new = num_new, 0
                for block in range(NUM_BLOCKS):
                    num_new += counts[block]
                    unexplored -= counts[NUM_BLOCKS + block]
                current_bits, next_bits = next_bits, current_bits
                level += 1
                num_reached = _count_reached(num_reached, num_targets, targets, keys)
                if (num_new < before and num_new * BFS_BETA < num_vertices) or (
                    0 < num_targets == num_reached
                ):
                    break
            first, last = 0, _collect(num_vertices, current_bits, queue)
            bottom_up = 0  # few vertices are left, so the frontier predicts little
            continue
        unexplored -= frontier
        tail = _push(
            first,
            last,
            level,
            offsets,
            neighbors,
            keys,
            queue,
            starts,
            ends,
            heads,
            tails,
        )
        first, last = last, tail
        level += 1
    _unpack(keys, with_predecessors, distances, predecessors)
    state[0] = level
    if with_masks:
        state[1] = _pack_mask(distances, 0, reached_mask)
        if with_predecessors:
            _pack_mask(distances, 1, predecessor_mask)


@parallel
def expand_bottom_up(
    num_vertices,
    level,
    with_predecessors,
    offsets,
    neighbors,
    frontier,
    next_frontier,
    distances,
    predecessors,
    num_new,
):
    for block_ in prange(NUM_BLOCKS):
        block, num_reached = np.int64(block_), 0
        for vertex_ in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            vertex = np.uint64(vertex_)
            next_frontier[vertex] = False
            if distances[vertex] < np.inf:
                continue
            for arc in range(offsets[vertex], offsets[vertex + ONE]):
                neighbor = neighbors[np.uint64(arc)]
                if frontier[np.uint64(neighbor)]:
                    distances[vertex] = level
                    next_frontier[vertex] = True
                    if with_predecessors:
                        predecessors[vertex] = neighbor
                    num_reached += 1
                    break
        add_at(num_new, np.uint64(0), num_reached)
