"""Count the common neighbors of the endpoints of every edge: the CPU twins of similarity.cu.

The CUDA file documents the entries. The upper list of an owner is a bitmap of the vertices with the
ranks of its words, so a hit finds its counter without a search.
"""

import math

import numpy as np
from numba import prange

from .constants import (
    SIMILARITY_COSINE,
    SIMILARITY_JACCARD,
    SIMILARITY_OVERLAP,
    SIMILARITY_STRUCTURAL,
)
from .edge_similarity import is_marked, mark_list, unmark
from .intrinsics import (
    add_at,
    count_bits,
    exchange_if,
    get_num_threads,
    maximum,
    minimum,
    prefetch,
    release,
)
from .jit import parallel, serial
from .searches import position

NUM_BLOCKS = 64
ONE, FIVE, LOW_FIVE, LOW_SIX = np.uint64(1), np.uint64(5), np.uint64(31), np.uint64(63)
FREE, TAKEN = np.int32(0), np.int32(1)  # states of a lock
OWNERS_PER_FETCH = np.int32(64)  # owners that a thread fetches at a time
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
                prefetch(degrees, np.uint64(neighbors[np.uint64(minimum(arc + AHEAD, last))]))
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
            index, stop = upper_offsets[np.uint64(row)], upper_offsets[np.uint64(row + 1)]
            arc = offsets[np.uint64(row)]
            while index < stop:  # has no branch, which would be unpredictable
                prefetch(degrees, np.uint64(neighbors[np.uint64(minimum(arc + AHEAD, last))]))
                neighbor = neighbors[np.uint64(arc)]
                upper_neighbors[np.uint64(index)] = neighbor
                index += _is_above(degrees, row, neighbor)
                arc += 1


@serial
def _is_owner(size, vertex, other_size, other):
    longer = (size > other_size) | ((size == other_size) & (vertex > other))
    return longer & (other_size > 0)


@serial
def _rank(vertex, bits, ranks):
    """Return how many vertices of the bitmap are below a vertex of one of its words."""
    word = vertex >> FIVE
    below = np.uint64(bits[word]) & ((ONE << (vertex & LOW_FIVE)) - ONE)
    return np.uint64(ranks[word]) + count_bits(below)


@serial
def _zeros(size):
    """Return an array of zeros; `np.zeros` would take longer to compile."""
    values = np.empty(size, np.int32)
    for i in range(size):
        values[np.uint64(i)] = 0
    return values


@serial
def _acquire(locks, vertex):
    while exchange_if(locks, vertex, FREE, TAKEN) != FREE:
        pass


@serial
def _look_up(
    x, offsets, neighbors, upper_offsets, upper, bits, ranks, counts, hits, locks, triangles
):
    """Count all triangles whose owner is x.

    The counters of an upper list are changed under its lock, since an atomic operation per
    triangle would take longer.
    """
    first = upper_offsets[np.uint64(x)]
    size = upper_offsets[np.uint64(x + 1)] - first
    for i in range(size):
        vertex = np.uint64(upper[np.uint64(first + i)])
        word = vertex >> FIVE
        if bits[word] == 0:
            ranks[word] = i
        bits[word] |= np.int32(ONE << (vertex & LOW_FIVE))
        counts[np.uint64(i)] = 0
    stop = offsets[np.uint64(x + 1)]
    for arc in range(offsets[np.uint64(x)], stop):
        ahead = np.uint64(neighbors[np.uint64(minimum(arc + 2 * AHEAD, stop - 1))])
        prefetch(upper_offsets, ahead)
        ahead = np.uint64(neighbors[np.uint64(minimum(arc + AHEAD, stop - 1))])
        prefetch(upper, np.uint64(upper_offsets[ahead]))
        y = np.uint64(neighbors[np.uint64(arc)])
        start = upper_offsets[y]
        length = upper_offsets[y + ONE] - start
        if not _is_owner(size, x, length, np.int64(y)):
            continue
        num_hits = np.uint64(0)
        edge = np.int64(-1)  # from y to x, if x is in the list
        for index in range(start, start + length):  # has no branch, which would be unpredictable
            vertex = np.uint64(upper[np.uint64(index)])
            hits[num_hits] = index - start
            edge = index if vertex == np.uint64(x) else edge
            num_hits += (np.uint64(bits[vertex >> FIVE]) >> (vertex & LOW_FIVE)) & ONE
        if num_hits == 0:
            continue
        _acquire(locks, y)
        if np.int64(num_hits) + (edge >= 0) == length:  # all but x; common in web graphs
            for index in range(start, start + length):
                triangles[np.uint64(index)] += 1
            if edge >= 0:
                triangles[np.uint64(edge)] += np.int32(num_hits) - np.int32(1)
            release(locks, y)
            for index in range(start, start + length):
                counts[_rank(np.uint64(upper[np.uint64(index)]), bits, ranks)] += 1
            if edge >= 0:
                counts[_rank(np.uint64(x), bits, ranks)] -= 1
        else:
            for hit in range(num_hits):
                index = np.uint64(start + hits[np.uint64(hit)])
                triangles[index] += 1
                counts[_rank(np.uint64(upper[index]), bits, ranks)] += 1
            if edge >= 0:
                triangles[np.uint64(edge)] += np.int32(num_hits)
            release(locks, y)
        if edge < 0:
            counts[_rank(y, bits, ranks)] += np.int32(num_hits)
    _acquire(locks, np.uint64(x))
    for i in range(size):
        index = np.uint64(first + i)
        triangles[index] += counts[np.uint64(i)]
        bits[np.uint64(upper[index]) >> FIVE] = 0
    release(locks, np.uint64(x))


@parallel
def _count(num_owners, owners, next_owner, offsets, neighbors, upper_offsets, upper, triangles):
    longest = 0
    for i in range(num_owners):
        x = np.uint64(owners[np.uint64(i)])
        longest = maximum(longest, upper_offsets[x + ONE] - upper_offsets[x])
    locks = _zeros(len(offsets))
    for _ in prange(NUM_BLOCKS):
        if next_owner[0] >= num_owners:
            continue
        num_words = len(offsets) // 32 + 1
        bits, ranks = _zeros(num_words), _zeros(num_words)
        counts, hits = _zeros(longest + 1), _zeros(longest + 1)
        while True:
            start = np.int64(add_at(next_owner, np.uint64(0), OWNERS_PER_FETCH))
            if start >= num_owners:
                break
            for i in range(start, minimum(start + OWNERS_PER_FETCH, num_owners)):
                x = np.int64(owners[np.uint64(i)])
                _look_up(
                    x, offsets, neighbors, upper_offsets, upper, bits, ranks, counts, hits, locks,
                    triangles,
                )  # fmt: skip


@serial
def count_by_thread(
    num_vertices, max_degree, degrees, offsets, neighbors, upper_offsets, upper_neighbors, triangles
):
    owners, num_owners = _zeros(num_vertices), 0
    for vertex in range(num_vertices):
        size = upper_offsets[np.uint64(vertex + 1)] - upper_offsets[np.uint64(vertex)]
        owners[np.uint64(num_owners)] = vertex
        num_owners += (degrees[np.uint64(vertex)] <= max_degree) & (size > 1)
    _count(
        num_owners,
        owners,
        _zeros(1),
        offsets,
        neighbors,
        upper_offsets,
        upper_neighbors,
        triangles,
    )


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
    num_arcs = len(neighbors)
    last = num_arcs - 1
    chunks = maximum(1, minimum(get_num_threads(), num_arcs // maximum(num_vertices, 1)))
    for chunk_ in prange(chunks):
        chunk = np.int64(chunk_)
        # Rows ascend, so their positions in an upper list do: only the first one is searched for.
        cursors = _zeros(num_vertices)
        for row in range(
            position(offsets, 0, num_vertices, num_arcs * chunk // chunks),
            position(offsets, 0, num_vertices, num_arcs * (chunk + 1) // chunks),
        ):
            edge, stop = upper_offsets[np.uint64(row)], upper_offsets[np.uint64(row + 1)]
            for arc in range(offsets[np.uint64(row)], offsets[np.uint64(row + 1)]):
                ahead = np.uint64(neighbors[np.uint64(minimum(arc + 2 * AHEAD, last))])
                prefetch(cursors, ahead)
                prefetch(upper_offsets, ahead)
                ahead = np.uint64(neighbors[np.uint64(minimum(arc + AHEAD, last))])
                prefetch(triangles, np.uint64(upper_offsets[ahead] + cursors[ahead]))
                neighbor = np.uint64(neighbors[np.uint64(arc)])
                if edge < stop and np.uint64(upper_neighbors[np.uint64(edge)]) == neighbor:
                    common[np.uint64(arc)] = triangles[np.uint64(edge)] + 2
                    edge += 1
                    continue
                start, cursor = upper_offsets[neighbor], np.int64(cursors[neighbor])
                if cursor == 0 and chunk > 0:
                    list_stop = upper_offsets[neighbor + ONE]
                    cursor = position(upper_neighbors, start, list_stop, row) - start
                cursors[neighbor] = cursor + 1
                common[np.uint64(arc)] = triangles[np.uint64(start + cursor)] + 2


@serial
def _common(row, neighbor, offsets, neighbors):
    """Return the size of the intersection of closed neighborhoods, by merging lists."""
    i, stop = offsets[row], offsets[row + ONE]
    j, other_list_stop = offsets[neighbor], offsets[neighbor + ONE]
    num_common = 2
    while i < stop and j < other_list_stop:
        one, other = neighbors[np.uint64(i)], neighbors[np.uint64(j)]
        num_common += one == other
        i += one <= other
        j += other <= one
    return num_common


@parallel
def _mark_neighbors(num_vertices, offsets, neighbors, marks):
    """marks[v] = bits of the neighbors of v modulo 64."""
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            bits = np.uint64(0)
            for arc in range(offsets[np.uint64(row)], offsets[np.uint64(row + 1)]):
                bits |= ONE << (np.uint64(neighbors[np.uint64(arc)]) & LOW_SIX)
            marks[np.uint64(row)] = bits


@parallel
def _count_marked(num_vertices, offsets, neighbors, marks, common):
    last, num_chunks = len(neighbors) - 1, get_num_threads()
    for chunk_ in prange(num_chunks):
        chunk = np.int64(chunk_)
        bits = np.zeros(num_vertices // 64 + 1, np.uint64)
        for row_ in range(
            num_vertices * chunk // num_chunks, num_vertices * (chunk + 1) // num_chunks
        ):
            row, has_bits = np.uint64(row_), False
            start, stop = offsets[row], offsets[row + ONE]
            for arc_ in range(start, stop):
                arc = np.uint64(arc_)
                neighbor = np.uint64(neighbors[arc])
                ahead = np.uint64(neighbors[np.uint64(minimum(arc_ + 2 * AHEAD, last))])
                prefetch(marks, ahead)
                prefetch(offsets, ahead)
                ahead = np.uint64(neighbors[np.uint64(minimum(arc_ + AHEAD, last))])
                prefetch(neighbors, np.uint64(offsets[ahead]))
                if marks[row] & marks[neighbor] == 0:
                    common[arc] = 2
                    continue
                # The longer list is marked, and the shorter one is read.
                other_start, other_stop = offsets[neighbor], offsets[neighbor + ONE]
                excess = (other_stop - other_start) - (stop - start)
                if (excess > 0) | ((excess == 0) & (neighbor > row)):
                    continue
                if not has_bits:
                    mark_list(row, offsets, neighbors, bits)
                    has_bits = True
                num_common, back = np.int64(2), other_start
                for other_arc in range(other_start, other_stop):
                    other = neighbors[np.uint64(other_arc)]
                    num_common += is_marked(other, bits)
                    back += np.uint64(other) < row
                common[arc] = num_common
                common[np.uint64(back)] = num_common
            if has_bits:
                unmark(row, offsets, neighbors, bits)


@serial
def merge_lists(num_vertices, offsets, neighbors, common):
    # Most edges of road networks are in no triangle, which marks show without the lists.
    marks = np.empty(num_vertices, np.uint64)
    _mark_neighbors(num_vertices, offsets, neighbors, marks)
    _count_marked(num_vertices, offsets, neighbors, marks, common)


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


@serial
def _compare(kind, common, size, other):
    """Return a similarity by the sizes of closed neighborhoods and of their intersection."""
    if kind == SIMILARITY_STRUCTURAL:
        return common / math.sqrt(size * other)
    common, degree, other_degree = common - 2.0, size - 1.0, other - 1.0
    if kind == SIMILARITY_JACCARD:
        return common / (degree + other_degree - common)
    if kind == SIMILARITY_OVERLAP:
        return common / min(degree, other_degree)
    if kind == SIMILARITY_COSINE:
        return common / math.sqrt(degree * other_degree)
    return common


@parallel
def list_edges(
    num_vertices, kind, offsets, neighbors, common, sizes, starts, sources, destinations,
    similarities,
):  # fmt: skip
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            start, stop = starts[np.uint64(row)], starts[np.uint64(row + 1)]
            shift = offsets[np.uint64(row + 1)] - stop
            size = np.float64(sizes[np.uint64(row)])
            for edge in range(start, stop):
                arc, index = np.uint64(edge + shift), np.uint64(edge)
                neighbor = np.uint64(neighbors[arc])
                other = np.float64(sizes[neighbor])
                sources[index] = row
                destinations[index] = neighbor
                similarities[index] = _compare(kind, np.float64(common[arc]), size, other)


def count_steps(num_vertices, degrees, num_steps):
    num_steps[0] += np.dot(degrees, degrees)


def measure_degrees(num_rows, shift, offsets, degrees):
    np.subtract(offsets[1:], offsets[:-1], out=degrees, casting="unsafe")
    if shift:
        degrees += np.int32(shift)


def mark_owners(num_vertices, min_degree, max_degree, degrees, offsets, upper_offsets, is_owner):
    np.greater_equal(degrees, min_degree, out=is_owner)
    is_owner &= degrees <= max_degree
    is_owner &= (offsets[1:] > offsets[:-1]) & (np.diff(upper_offsets) > 1)
