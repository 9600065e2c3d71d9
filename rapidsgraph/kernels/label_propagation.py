"""Label propagation on a CPU: the twins of label_propagation.cu, which documents them.

Lists of up to MAX_COMPARED neighbors are counted by comparing their labels, longer ones by a hash
table of each thread. `lanes` and the parameters of the tables are not used.
"""

import numpy as np
from numba import prange

from .constants import NO_VERTEX
from .intrinsics import add_at, maximum, minimum, prefetch
from .jit import parallel, serial

NUM_BLOCKS = 64
ROWS_PER_FETCH = 128  # rows that a thread fetches at a time
MAX_COMPARED = 12  # neighbors whose labels are compared with one another
AHEAD = 12  # neighbors whose label is fetched before it is needed
ONE, HALF = np.uint64(1), np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)


@serial
def _range_of(row, is_directed, offsets, in_offsets):
    """Return the ranges of both lists of a row; the second one is empty if not is_directed."""
    row = np.uint64(row)
    if is_directed:
        return offsets[row], offsets[row + ONE], in_offsets[row], in_offsets[row + ONE]
    return offsets[row], offsets[row + ONE], np.int64(0), np.int64(0)


@serial
def _first_label(start, stop, in_start, in_stop, neighbors, in_neighbors):
    """Return the smallest vertex in both lists, or in one of them if they have none in common."""
    label = NO_VERTEX
    if start < stop:
        label = neighbors[np.uint64(start)]
    if in_start < in_stop:
        label = minimum(label, in_neighbors[np.uint64(in_start)])
    while start < stop and in_start < in_stop:
        one, other = neighbors[np.uint64(start)], in_neighbors[np.uint64(in_start)]
        if one == other:
            return one
        start += one < other
        in_start += other < one
    return label


@parallel
def take_first_labels(
    num_rows, rows, is_directed, offsets, neighbors, in_offsets, in_neighbors, new_labels
):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for index in range(num_rows * block // NUM_BLOCKS, num_rows * (block + 1) // NUM_BLOCKS):
            row = np.uint64(rows[np.uint64(index)])
            start, stop, in_start, in_stop = _range_of(row, is_directed, offsets, in_offsets)
            new_labels[row] = _first_label(start, stop, in_start, in_stop, neighbors, in_neighbors)


@serial
def _compare(size, scratch):
    """Return the most frequent of the first labels in scratch, the smallest of several."""
    best = np.uint64(0)
    for one in range(size):
        label, count = scratch[np.uint64(one)], np.uint64(1)
        for other in range(one + 1, size):
            count += np.uint64(scratch[np.uint64(other)] == label)
        best = maximum(best, count << HALF | (LOW - np.uint64(label)))
    return LOW - (best & LOW)


@serial
def _count(start, stop, degree, neighbors, labels, table, mask, shift, best):
    """Count the labels of a list in the table, until one has more than half of the degree.

    A slot is (label + 1) << 32 | count. `best` and the result are count << 32 | ~label of the most
    frequent label.
    """
    last = stop - 1
    for arc in range(start, stop):
        prefetch(labels, np.uint64(neighbors[np.uint64(minimum(arc + AHEAD, last))]))
        label = np.uint64(labels[np.uint64(neighbors[np.uint64(arc)])])
        slot = np.uint64(np.uint32(np.uint32(label) * np.uint32(2654435761)) >> shift)
        while table[slot] and table[slot] >> HALF != label + ONE:
            slot = (slot + ONE) & mask
        count = (table[slot] & LOW) + ONE
        table[slot] = (label + ONE) << HALF | count
        key = count << HALF | (LOW - label)
        if key > best:
            best = key
            if 2 * np.int64(count) > degree:
                break
    return best


@parallel
def _propagate(
    num_rows, rows, next_row, is_directed, offsets, neighbors, in_offsets, in_neighbors, labels,
    new_labels,
):  # fmt: skip
    for _ in prange(NUM_BLOCKS):
        if next_row[0] >= num_rows:
            continue
        table, scratch = np.zeros(1024, np.uint64), np.empty(MAX_COMPARED, np.int32)
        while True:
            first = add_at(next_row, np.uint64(0), np.int64(ROWS_PER_FETCH))
            if first >= num_rows:
                break
            for index in range(first, minimum(first + ROWS_PER_FETCH, num_rows)):
                row = np.uint64(rows[np.uint64(index)])
                start, stop, in_start, in_stop = _range_of(row, is_directed, offsets, in_offsets)
                degree = stop - start + in_stop - in_start
                if degree <= MAX_COMPARED:
                    size = np.uint64(0)
                    for arc in range(start, stop):
                        scratch[size] = labels[np.uint64(neighbors[np.uint64(arc)])]
                        size += ONE
                    for arc in range(in_start, in_stop):
                        scratch[size] = labels[np.uint64(in_neighbors[np.uint64(arc)])]
                        size += ONE
                    new_labels[row] = _compare(degree, scratch)
                    continue
                width = 5
                while (1 << width) < 2 * minimum(degree, len(labels)):
                    width += 1
                if table.size < 1 << width:
                    table = np.zeros(1 << width, np.uint64)
                mask, shift = np.uint64((1 << width) - 1), np.uint32(32 - width)
                best = _count(
                    start, stop, degree, neighbors, labels, table, mask, shift, np.uint64(0)
                )
                if 2 * np.int64(best >> HALF) <= degree:
                    best = _count(
                        in_start, in_stop, degree, in_neighbors, labels, table, mask, shift, best
                    )
                table[: 1 << width] = 0
                new_labels[row] = LOW - (best & LOW)


@serial
def propagate_short(
    lanes, num_rows, rows, is_directed, offsets, neighbors, in_offsets, in_neighbors, labels,
    new_labels,
):  # fmt: skip
    next_row = np.zeros(1, np.int64)
    _propagate(
        num_rows, rows, next_row, is_directed, offsets, neighbors, in_offsets, in_neighbors, labels,
        new_labels,
    )  # fmt: skip


@serial
def propagate_long(
    num_rows, rows, next_row, table_size, overflow_size, overflow, is_directed, offsets, neighbors,
    in_offsets, in_neighbors, labels, new_labels,
):  # fmt: skip
    _propagate(
        num_rows, rows, next_row, is_directed, offsets, neighbors, in_offsets, in_neighbors, labels,
        new_labels,
    )  # fmt: skip


@parallel
def mark_neighbors(
    num_rows, rows, is_directed, offsets, neighbors, in_offsets, in_neighbors, is_active
):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for index in range(num_rows * block // NUM_BLOCKS, num_rows * (block + 1) // NUM_BLOCKS):
            row = rows[np.uint64(index)]
            start, stop, in_start, in_stop = _range_of(row, is_directed, offsets, in_offsets)
            for arc in range(start, stop):
                is_active[np.uint64(neighbors[np.uint64(arc)])] = True
            for arc in range(in_start, in_stop):
                is_active[np.uint64(in_neighbors[np.uint64(arc)])] = True


def sum_degrees(num_vertices, is_directed, offsets, in_offsets, degrees):
    np.subtract(offsets[1:], offsets[:-1], out=degrees)
    if is_directed:
        degrees += np.diff(in_offsets)
