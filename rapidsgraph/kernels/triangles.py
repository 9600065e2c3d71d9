"""Count the triangles of every vertex: the CPU twins of triangles.cu.

The CUDA file documents the entries. Upper lists ascend here, so that the scan of a list ends at the
vertex whose triangles are counted. A bitmap has the upper neighbors of that vertex, and every
thread has counters of its own for the vertices of highest degree, which most triangles have.
"""

import numpy as np
from numba import prange

from .constants import TRIANGLE_CHUNK
from .intrinsics import add_at, maximum, minimum, prefetch
from .jit import parallel, serial

NUM_BLOCKS = 64
ROWS_PER_FETCH = 16  # rows that a thread fetches at a time
AHEAD = 12  # arcs whose neighbor's list is fetched before it is needed
MAX_COUNTERS = 2**16  # vertices that every thread has counters for
VERTEX_BITS = np.int32(0x7FFFFFFF)  # of a neighbor whose sign is its flag
ONE, LOW_SIX, BIT = np.uint64(1), np.uint64(63), np.int64(1)


@serial
def _is_first(neighbors, start, arc, row):
    """Return whether an arc is the first to its neighbor, which is not the row itself."""
    neighbor = neighbors[np.uint64(arc)]
    return neighbor != row and (arc == start or neighbors[np.uint64(arc - 1)] != neighbor)


@parallel
def count_neighbors(
    num_vertices, out_offsets, out_neighbors, in_offsets, in_neighbors, out_sizes, sizes
):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            start, stop = out_offsets[np.uint64(row)], out_offsets[np.uint64(row + 1)]
            in_start, in_stop = in_offsets[np.uint64(row)], in_offsets[np.uint64(row + 1)]
            size = 0
            for arc in range(start, stop):
                size += _is_first(out_neighbors, start, arc, row)
            out_sizes[np.uint64(row)] = size
            other = start
            for arc in range(in_start, in_stop):
                neighbor = in_neighbors[np.uint64(arc)]
                while other < stop and out_neighbors[np.uint64(other)] < neighbor:
                    other += 1
                is_both = other < stop and out_neighbors[np.uint64(other)] == neighbor
                size += not is_both and _is_first(in_neighbors, in_start, arc, row)
            sizes[np.uint64(row)] += size


@parallel
def list_neighbors(
    num_vertices, out_offsets, out_neighbors, in_offsets, in_neighbors, out_sizes, new_offsets,
    new_neighbors,
):  # fmt: skip
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            start, stop = out_offsets[np.uint64(row)], out_offsets[np.uint64(row + 1)]
            in_start, in_stop = in_offsets[np.uint64(row)], in_offsets[np.uint64(row + 1)]
            index, other = new_offsets[np.uint64(row)], in_start
            for arc in range(start, stop):
                if not _is_first(out_neighbors, start, arc, row):
                    continue
                neighbor = out_neighbors[np.uint64(arc)]
                while other < in_stop and in_neighbors[np.uint64(other)] < neighbor:
                    other += 1
                is_both = other < in_stop and in_neighbors[np.uint64(other)] == neighbor
                new_neighbors[np.uint64(index)] = neighbor | (~VERTEX_BITS if is_both else 0)
                index += 1
            other = start
            for arc in range(in_start, in_stop):
                neighbor = in_neighbors[np.uint64(arc)]
                while other < stop and out_neighbors[np.uint64(other)] < neighbor:
                    other += 1
                is_both = other < stop and out_neighbors[np.uint64(other)] == neighbor
                if not is_both and _is_first(in_neighbors, in_start, arc, row):
                    new_neighbors[np.uint64(index)] = neighbor
                    index += 1


@parallel
def merge_lists(num_vertices, offsets, neighbors, counts):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            start, last = offsets[np.uint64(row)], offsets[np.uint64(row + 1)] - 1
            arc, row_count = last - 1, 0
            while arc >= start and neighbors[np.uint64(arc)] > row:
                middle = np.int64(neighbors[np.uint64(arc)])
                list_start, j = offsets[np.uint64(middle)], offsets[np.uint64(middle + 1)] - 1
                i, count = last, 0
                while i > arc and j >= list_start:
                    one, other = neighbors[np.uint64(i)], neighbors[np.uint64(j)]
                    if other <= middle:
                        break
                    if one == other:
                        add_at(counts, np.uint64(one), np.int64(1))
                        count += 1
                    i -= one >= other
                    j -= other >= one
                if count > 0:
                    add_at(counts, np.uint64(middle), np.int64(count))
                    row_count += count
                arc -= 1
            if row_count > 0:
                add_at(counts, np.uint64(row), np.int64(row_count))


@serial
def _sort(start, stop, values):
    """Sort values[start:stop] by Shell's method; NumPy's quicksort would take 0.7 s to compile."""
    gap = stop - start
    while gap > 1:
        gap = maximum(gap * 4 // 9, 1)
        i = start + gap
        while i < stop:
            value, j = values[np.uint64(i)], i
            while j >= start + gap and values[np.uint64(j - gap)] > value:
                values[np.uint64(j)] = values[np.uint64(j - gap)]
                j -= gap
            values[np.uint64(j)] = value
            i += 1


@parallel
def relabel(
    num_vertices, has_flags, offsets, neighbors, ranks, new_offsets, upper_stops, new_neighbors
):
    last = len(neighbors) - 1
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            rank = np.uint64(ranks[np.uint64(row)])
            start, stop = offsets[np.uint64(row)], offsets[np.uint64(row + 1)]
            first = index = new_offsets[rank]
            reverse = first + stop - start
            for arc in range(start, stop):
                ahead = neighbors[np.uint64(minimum(arc + 2 * AHEAD, last))] & VERTEX_BITS
                prefetch(ranks, np.uint64(ahead))
                item = neighbors[np.uint64(arc)]
                neighbor = np.uint32(ranks[np.uint64(item & VERTEX_BITS)])
                entry = neighbor
                if has_flags:
                    entry = neighbor << np.uint32(1) | np.uint32(item < 0)
                if neighbor < rank:
                    new_neighbors[np.uint64(index)] = entry
                    index += 1
                else:
                    reverse -= 1
                    new_neighbors[np.uint64(reverse)] = entry
            upper_stops[rank] = index
            _sort(first, index, new_neighbors)


@serial
def _is_marked(vertex, bits):
    vertex = np.uint64(vertex)
    return (bits[vertex >> np.uint64(6)] >> (vertex & LOW_SIX)) & BIT


@serial
def _mark(vertex, bits):
    vertex = np.uint64(vertex)
    bits[vertex >> np.uint64(6)] |= BIT << (vertex & LOW_SIX)


@serial
def _add(vertex, value, counters, counts):
    if vertex < len(counters):
        counters[np.uint64(vertex)] += value
    else:
        add_at(counts, np.uint64(vertex), value)


@serial
def _scan(start, row, lists, bits, counters, counts):
    """Count the vertices of an upper list that are marked; they precede `row`, which is in it."""
    num_common, j = np.int64(0), np.uint64(start)
    limit, num_counters = np.uint32(row), np.uint32(len(counters))
    vertex = lists[j]
    while vertex < limit:
        is_common = _is_marked(vertex, bits)
        num_common += is_common
        if vertex < num_counters:  # has no branch on `is_common`, which would be unpredictable
            counters[np.uint64(vertex)] += is_common
        elif is_common:
            add_at(counts, np.uint64(vertex), is_common)
        j += ONE
        vertex = lists[j]
    return num_common


@serial
def _scan_flags(start, row, num_arcs, lists, bits, flags, counters, counts):
    """Count arcs as `_scan` does vertices; return those opposite to x and to `row`.

    The upper list is that of x, between which and `row` there are `num_arcs`.
    """
    opposite, row_count, j = np.int64(0), np.int64(0), np.uint64(start)
    limit, num_counters = np.uint32(row), np.uint32(len(counters))
    entry = lists[j]
    vertex = entry >> np.uint32(1)
    while vertex < limit:
        is_common = _is_marked(vertex, bits)
        opposite += is_common + _is_marked(vertex, flags)  # flags are of marked vertices
        row_count += is_common + (is_common & np.int64(entry & np.uint32(1)))
        if vertex < num_counters:
            counters[np.uint64(vertex)] += is_common * num_arcs
        elif is_common:
            add_at(counts, np.uint64(vertex), num_arcs)
        j += ONE
        entry = lists[j]
        vertex = entry >> np.uint32(1)
    return opposite, row_count


@serial
def _count_row(
    row, has_flags, offsets, upper_stops, neighbors, list_starts, list_stops, lists, bits, flags,
    counters, counts,
):  # fmt: skip
    """Count all triangles whose middle vertex is `row`."""
    first, middle = offsets[np.uint64(row)], upper_stops[np.uint64(row)]
    stop = offsets[np.uint64(row + 1)]
    if first == middle or middle == stop:
        return
    shift = np.uint32(has_flags)
    for arc in range(first, middle):
        entry = neighbors[np.uint64(arc)]
        _mark(entry >> shift, bits)
        if has_flags and entry & np.uint32(1):
            _mark(entry >> shift, flags)
    row_total = np.int64(0)
    for arc in range(middle, stop):
        ahead = np.uint64(neighbors[np.uint64(minimum(arc + 2 * AHEAD, stop - 1))] >> shift)
        prefetch(list_starts, ahead)
        prefetch(list_stops, ahead)
        ahead = np.uint64(neighbors[np.uint64(minimum(arc + AHEAD, stop - 1))] >> shift)
        prefetch(lists, np.uint64(list_starts[ahead]))
        entry = neighbors[np.uint64(arc)]
        x = np.uint64(entry >> shift)
        start = list_starts[x]
        if list_stops[x] - start < 2:
            continue
        if has_flags:
            num_arcs = 1 + np.int64(entry & np.uint32(1))
            count, row_count = _scan_flags(
                start, row, num_arcs, lists, bits, flags, counters, counts
            )
            row_total += row_count
        else:
            count = _scan(start, row, lists, bits, counters, counts)
            row_total += count
        if count:
            _add(x, count, counters, counts)
    if row_total:
        _add(row, row_total, counters, counts)
    for arc in range(first, middle):
        word = np.uint64(neighbors[np.uint64(arc)] >> shift) >> np.uint64(6)
        bits[word] = 0
        if has_flags:
            flags[word] = 0


@serial
def _zeros(size):
    """Return an array of zeros; `np.zeros` would take longer to compile."""
    values = np.empty(size, np.int64)
    for i in range(size):
        values[np.uint64(i)] = 0
    return values


@parallel
def _count(
    start, stop, next_row, has_flags, offsets, upper_stops, neighbors, list_starts, list_stops,
    lists, counts,
):  # fmt: skip
    for _ in prange(NUM_BLOCKS):
        if next_row[0] >= stop - start:
            continue
        num_vertices = len(offsets) - 1
        bits = _zeros(num_vertices // 64 + 1)
        flags = _zeros(num_vertices // 64 + 1 if has_flags else 1)
        counters = _zeros(minimum(num_vertices, MAX_COUNTERS))
        while True:
            row = start + add_at(next_row, np.uint64(0), np.int64(ROWS_PER_FETCH))
            if row >= stop:
                break
            for source in range(row, minimum(row + ROWS_PER_FETCH, stop)):
                _count_row(
                    source, has_flags, offsets, upper_stops, neighbors, list_starts, list_stops,
                    lists, bits, flags, counters, counts,
                )  # fmt: skip
        for vertex in range(len(counters)):
            if counters[vertex]:
                add_at(counts, np.uint64(vertex), counters[vertex])


@serial
def count_by_thread(
    start, stop, has_flags, offsets, upper_stops, neighbors, list_starts, list_stops, lists, counts
):
    _count(
        start, stop, _zeros(1), has_flags, offsets, upper_stops, neighbors, list_starts,
        list_stops, lists, counts,
    )  # fmt: skip


@serial
def count_by_warp(
    start, stop, next_row, table_size, has_flags, offsets, upper_stops, neighbors, list_starts,
    list_stops, lists, counts,
):  # fmt: skip
    _count(
        start, stop, next_row, has_flags, offsets, upper_stops, neighbors, list_starts, list_stops,
        lists, counts,
    )  # fmt: skip


@serial
def count_by_block(
    start, stop, next_chunk, table_size, chunk_offsets, has_flags, offsets, upper_stops, neighbors,
    list_starts, list_stops, lists, counts,
):  # fmt: skip
    _count(
        start, stop, next_chunk, has_flags, offsets, upper_stops, neighbors, list_starts,
        list_stops, lists, counts,
    )  # fmt: skip


def invert_degrees(num_vertices, max_degree, degrees, keys):
    np.subtract(max_degree, degrees, out=keys, casting="unsafe")


def measure_upper(num_vertices, offsets, upper_stops, sizes):
    np.subtract(upper_stops, offsets[:-1], out=sizes)


def count_chunks(num_rows, offsets, upper_stops, num_chunks):
    stops = upper_stops[:num_rows]
    num_later = offsets[1 : num_rows + 1] - stops
    num_chunks[:] = np.where(stops == offsets[:num_rows], 0, -(-num_later // TRIANGLE_CHUNK))


def divide_by_pairs(num_vertices, num_arcs, degrees, coefficients):
    num_pairs = np.subtract(degrees, 1, dtype=np.int64)
    num_pairs *= degrees
    np.maximum(num_pairs, 1, out=num_pairs)  # there are no arcs without pairs
    np.divide(num_arcs, num_pairs, out=coefficients)
