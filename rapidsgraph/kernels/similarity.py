"""Count the common neighbors of the endpoints of every edge: the CPU twins of similarity.cu.

The CUDA file documents the entries. Each table is accompanied by a bitmap of the vertices, which
rejects most lookups at once.
"""

import math

import numpy as np
from numba import prange

from .intrinsics import add_at, prefetch
from .jit import parallel, serial
from .searches import position

NUM_BLOCKS = 64
EMPTY = np.int32(-1)
OWNERS_PER_FETCH = 64  # owners that a thread fetches at a time
AHEAD = 12  # arcs whose neighbor's list is fetched before it is needed


@serial
def _is_above(degrees, vertex, other):
    degree, other_degree = degrees[np.uint64(vertex)], degrees[np.uint64(other)]
    return (other_degree > degree) | ((other_degree == degree) & (other > vertex))


@parallel
def count_upper(num_vertices, offsets, neighbors, degrees, sizes):
    last = len(neighbors) - 1
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            size = 0
            for arc in range(offsets[np.uint64(row)], offsets[np.uint64(row + 1)]):
                prefetch(degrees, np.uint64(neighbors[np.uint64(min(arc + AHEAD, last))]))
                size += _is_above(degrees, row, neighbors[np.uint64(arc)])
            sizes[np.uint64(row)] = size


@parallel
def gather_upper(num_vertices, offsets, neighbors, degrees, upper_offsets, upper_neighbors):
    last = len(neighbors) - 1
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            index = upper_offsets[np.uint64(row)]
            for arc in range(offsets[np.uint64(row)], offsets[np.uint64(row + 1)]):
                prefetch(degrees, np.uint64(neighbors[np.uint64(min(arc + AHEAD, last))]))
                neighbor = neighbors[np.uint64(arc)]
                if _is_above(degrees, row, neighbor):
                    upper_neighbors[np.uint64(index)] = neighbor
                    index += 1


@serial
def _is_owner(size, vertex, other_size, other):
    longer = (size > other_size) | ((size == other_size) & (vertex > other))
    return longer & (size > 1) & (other_size > 0)


@serial
def _add_to_edge(upper_offsets, upper, triangles, one, other, num_common):
    """Add to the count of the edge between two vertices, which may point either way."""
    start, stop = upper_offsets[np.uint64(one)], upper_offsets[np.uint64(one + 1)]
    index = position(upper, start, stop, other)
    if index == stop or upper[np.uint64(index)] != other:
        start, stop = upper_offsets[np.uint64(other)], upper_offsets[np.uint64(other + 1)]
        index = position(upper, start, stop, one)
    add_at(triangles, np.uint64(index), np.int32(num_common))


@parallel
def count_by_thread(
    num_vertices, max_degree, degrees, offsets, neighbors, upper_offsets, upper_neighbors, triangles
):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for x in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            first, last = upper_offsets[np.uint64(x)], upper_offsets[np.uint64(x + 1)]
            if degrees[np.uint64(x)] > max_degree or last - first < 2:
                continue
            start, stop = offsets[np.uint64(x)], offsets[np.uint64(x + 1)]
            for arc in range(start, stop):
                y = np.int64(neighbors[np.uint64(arc)])
                i, j = first, upper_offsets[np.uint64(y)]
                y_last = upper_offsets[np.uint64(y + 1)]
                if not _is_owner(last - first, x, y_last - j, y):
                    continue
                num_common = 0
                while i < last and j < y_last:
                    one, other = upper_neighbors[np.uint64(i)], upper_neighbors[np.uint64(j)]
                    if one == other:
                        add_at(triangles, np.uint64(i), np.int32(1))
                        add_at(triangles, np.uint64(j), np.int32(1))
                        num_common += 1
                    i += one <= other
                    j += other <= one
                if num_common:
                    _add_to_edge(upper_offsets, upper_neighbors, triangles, x, y, num_common)


@serial
def _slot(keys, mask, shift, key):
    slot = np.uint32(np.uint32(key) * np.uint32(2654435761)) >> shift
    while keys[slot] != key and keys[slot] != EMPTY:
        slot = (slot + np.uint32(1)) & mask
    return slot


@serial
def _look_up(x, offsets, neighbors, upper_offsets, upper, keys, counts, bits, hits, triangles):
    """Count all triangles whose owner is x."""
    first, last = upper_offsets[np.uint64(x)], upper_offsets[np.uint64(x + 1)]
    size = last - first
    if size < 2:
        return
    width = 4
    while (1 << width) < 4 * size:
        width += 1
    mask, shift = np.uint32((1 << width) - 1), np.uint32(32 - width)
    keys[: 1 << width] = EMPTY
    counts[: 1 << width] = 0
    for index in range(first, last):
        vertex = np.uint32(upper[np.uint64(index)])
        keys[_slot(keys, mask, shift, np.int32(vertex))] = vertex
        bits[vertex >> np.uint32(6)] |= np.uint64(1) << np.uint64(vertex & np.uint32(63))
    stop = offsets[np.uint64(x + 1)]
    for arc in range(offsets[np.uint64(x)], stop):
        ahead = np.uint64(neighbors[np.uint64(min(arc + 2 * AHEAD, stop - 1))])
        prefetch(upper_offsets, ahead)
        ahead = np.uint64(neighbors[np.uint64(min(arc + AHEAD, stop - 1))])
        prefetch(upper, np.uint64(upper_offsets[ahead]))
        y = np.int64(neighbors[np.uint64(arc)])
        start = upper_offsets[np.uint64(y)]
        length = upper_offsets[np.uint64(y + 1)] - start
        if not _is_owner(size, x, length, y):
            continue
        num_common = np.uint64(0)
        for index in range(start, start + length):  # has no branch, which would be unpredictable
            vertex = np.uint32(upper[np.uint64(index)])
            hits[num_common] = index
            word = bits[vertex >> np.uint32(6)]
            num_common += (word >> np.uint64(vertex & np.uint32(63))) & np.uint64(1)
        for hit in range(num_common):
            index = np.uint64(hits[np.uint64(hit)])
            counts[_slot(keys, mask, shift, upper[index])] += 1
            add_at(triangles, index, np.int32(1))
        if num_common:
            _add_to_edge(upper_offsets, upper, triangles, x, y, num_common)
    for index in range(first, last):
        vertex = upper[np.uint64(index)]
        count = counts[_slot(keys, mask, shift, vertex)]
        if count:
            add_at(triangles, np.uint64(index), np.int32(count))
        bits[np.uint32(vertex) >> np.uint32(6)] = 0


@parallel
def _count(num_owners, owners, next_owner, offsets, neighbors, upper_offsets, upper, triangles):
    longest = 0
    for i in range(num_owners):
        x = np.uint64(owners[np.uint64(i)])
        longest = max(longest, upper_offsets[x + np.uint64(1)] - upper_offsets[x])
    width = 4
    while (1 << width) < 4 * longest:
        width += 1
    for _ in prange(NUM_BLOCKS):
        if next_owner[0] >= num_owners:
            continue
        keys, counts = np.empty(1 << width, np.int32), np.empty(1 << width, np.int32)
        bits = np.zeros(len(offsets) // 64 + 1, np.uint64)
        hits = np.empty(longest + 1, np.int64)
        while True:
            start = add_at(next_owner, np.uint64(0), np.int64(OWNERS_PER_FETCH))
            if start >= num_owners:
                break
            for i in range(start, min(start + OWNERS_PER_FETCH, num_owners)):
                x = np.int64(owners[np.uint64(i)])
                _look_up(
                    x, offsets, neighbors, upper_offsets, upper, keys, counts, bits, hits,
                    triangles,
                )  # fmt: skip


@serial
def count_by_warp(
    num_owners,
    owners,
    next_owner,
    table_size,
    offsets,
    neighbors,
    upper_offsets,
    upper_neighbors,
    triangles,
):
    _count(
        num_owners,
        owners,
        next_owner,
        offsets,
        neighbors,
        upper_offsets,
        upper_neighbors,
        triangles,
    )


@serial
def count_by_block(
    num_owners,
    owners,
    next_owner,
    table_size,
    offsets,
    neighbors,
    upper_offsets,
    upper_neighbors,
    triangles,
):
    _count(
        num_owners,
        owners,
        next_owner,
        offsets,
        neighbors,
        upper_offsets,
        upper_neighbors,
        triangles,
    )


@parallel
def assign_counts(
    num_vertices, offsets, neighbors, degrees, upper_offsets, upper_neighbors, triangles, common
):
    last = len(neighbors) - 1
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            edge = upper_offsets[np.uint64(row)]
            for arc in range(offsets[np.uint64(row)], offsets[np.uint64(row + 1)]):
                ahead = np.uint64(neighbors[np.uint64(min(arc + 2 * AHEAD, last))])
                prefetch(degrees, ahead)
                prefetch(upper_offsets, ahead)
                ahead = np.uint64(neighbors[np.uint64(min(arc + AHEAD, last))])
                middle = (upper_offsets[ahead] + upper_offsets[ahead + np.uint64(1)]) >> 1
                prefetch(upper_neighbors, np.uint64(middle))
                prefetch(triangles, np.uint64(middle))
                neighbor = np.int64(neighbors[np.uint64(arc)])
                if _is_above(degrees, row, neighbor):
                    common[np.uint64(arc)] = triangles[np.uint64(edge)] + 2
                    edge += 1
                else:
                    start = upper_offsets[np.uint64(neighbor)]
                    stop = upper_offsets[np.uint64(neighbor + 1)]
                    index = position(upper_neighbors, start, stop, row)
                    common[np.uint64(arc)] = triangles[np.uint64(index)] + 2


@serial
def _common(row, neighbor, offsets, neighbors):
    """Return the size of the intersection of closed neighborhoods, by merging lists."""
    i, stop = offsets[row], offsets[row + np.uint64(1)]
    j, other_list_stop = offsets[neighbor], offsets[neighbor + np.uint64(1)]
    num_common = 2
    while i < stop and j < other_list_stop:
        one, other = neighbors[np.uint64(i)], neighbors[np.uint64(j)]
        num_common += one == other
        i += one <= other
        j += other <= one
    return num_common


@parallel
def merge_lists(num_vertices, offsets, neighbors, common):
    last = len(neighbors) - 1
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            for arc in range(offsets[np.uint64(row)], offsets[np.uint64(row + 1)]):
                neighbor = np.uint64(neighbors[np.uint64(arc)])
                ahead = np.uint64(neighbors[np.uint64(min(arc + 2 * AHEAD, last))])
                prefetch(offsets, ahead)
                ahead = np.uint64(neighbors[np.uint64(min(arc + AHEAD, last))])
                prefetch(neighbors, np.uint64(offsets[ahead]))
                prefetch(common, np.uint64(offsets[ahead]))
                if neighbor < np.uint64(row):
                    continue
                num_common = _common(np.uint64(row), neighbor, offsets, neighbors)
                back = np.uint64(offsets[neighbor])
                while neighbors[back] != row:
                    back += np.uint64(1)
                common[np.uint64(arc)] = num_common
                common[back] = num_common


@parallel
def compare_lists(num_arcs, sources, offsets, neighbors, common):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for arc in range(num_arcs * block // NUM_BLOCKS, num_arcs * (block + 1) // NUM_BLOCKS):
            row, neighbor = np.uint64(sources[np.uint64(arc)]), np.uint64(neighbors[np.uint64(arc)])
            if row < neighbor:
                common[np.uint64(arc)] = _common(row, neighbor, offsets, neighbors)


@parallel
def mirror_counts(num_arcs, sources, offsets, neighbors, common):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for arc in range(num_arcs * block // NUM_BLOCKS, num_arcs * (block + 1) // NUM_BLOCKS):
            row, neighbor = sources[np.uint64(arc)], neighbors[np.uint64(arc)]
            if row > neighbor:
                start, stop = offsets[np.uint64(neighbor)], offsets[np.uint64(neighbor + 1)]
                index = position(neighbors, start, stop, row)
                common[np.uint64(arc)] = common[np.uint64(index)]


@parallel
def list_edges(
    num_vertices, offsets, neighbors, common, sizes, starts, sources, destinations, similarities
):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            start, stop = offsets[np.uint64(row)], offsets[np.uint64(row + 1)]
            first = position(neighbors, start, stop, row)
            shift = starts[np.uint64(row)] - first
            size = np.float64(sizes[np.uint64(row)])
            for arc in range(first, stop):
                neighbor = np.uint64(neighbors[np.uint64(arc)])
                other = np.float64(sizes[neighbor])
                index = np.uint64(arc + shift)
                sources[index] = row
                destinations[index] = neighbor
                similarities[index] = common[np.uint64(arc)] / math.sqrt(size * other)
