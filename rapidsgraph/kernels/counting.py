"""Stable parallel counting sort for CPUs.

Rows are cut into as many contiguous parts as `cursors` has rows. Each part counts its keys, the
counts become positions, and each part moves its rows there in order, so that the sort is stable
for any number of parts. Keys are in [0, cursors.shape[1]); they are unsigned as indices, which
spares the test for negative ones.

References
----------
.. [1] Knuth, The Art of Computer Programming, volume 3, section 5.2.
"""

import numba
import numpy as np
from numba import prange

from .jit import parallel, serial


def threads():
    return numba.get_num_threads()


@parallel
def count(keys, cursors):
    parts, rows = len(cursors), len(keys)
    for part_ in prange(parts):
        part = np.int64(part_)
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            cursors[part, np.uint32(keys[i])] += 1


@serial
def accumulate_parts(cursors, offsets):
    parts, bound = cursors.shape
    total = 0
    for key in range(bound):
        offsets[key] = total
        for part in range(parts):
            here = cursors[part, key]
            cursors[part, key] = total
            total += here
    offsets[bound] = total


@parallel
def move(keys, values, order, cursors, new_values, new_order):
    """Move `values`, and `order` where it is not empty, to the places of their keys."""
    parts, rows, ordered = len(cursors), len(keys), len(order) > 0
    for part_ in prange(parts):
        part = np.int64(part_)
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            key = np.uint32(keys[i])
            place = cursors[part, key]
            cursors[part, key] = place + 1
            new_values[np.uint64(place)] = values[i]
            if ordered:
                new_order[np.uint64(place)] = order[i]


@parallel
def move_rows(keys, offsets, order, cursors, new_rows, new_order):
    """As move, where the value of an item is the row whose offsets it lies between."""
    parts, rows, ordered = len(cursors), len(keys), len(order) > 0
    for part_ in prange(parts):
        part = np.int64(part_)
        first, last = rows * part // parts, rows * (part + 1) // parts
        row, high = 0, len(offsets) - 1
        while row < high:  # the last row that starts at or before `first`
            middle = (row + high + 1) // 2
            if offsets[middle] <= first:
                row = middle
            else:
                high = middle - 1
        for i in range(first, last):
            while i >= offsets[row + 1]:
                row += 1
            key = np.uint32(keys[i])
            place = cursors[part, key]
            cursors[part, key] = place + 1
            new_rows[np.uint64(place)] = row
            if ordered:
                new_order[np.uint64(place)] = order[i]


@parallel
def sorted_offsets(keys, values, offsets, disorder):
    """Offsets by key, if rows ascend by (key, value); else disorder[part] is set somewhere."""
    parts, rows = len(disorder), len(keys)
    for part_ in prange(parts):
        part = np.int64(part_)
        first, last = rows * part // parts, rows * (part + 1) // parts
        before = keys[first - 1] if first > 0 else np.int32(-1)
        value = values[first - 1] if first > 0 else np.int32(-1)
        for i in range(first, last):
            key = keys[i]
            if key < before or (key == before and values[i] < value):
                disorder[part] = True
                break
            for row in range(before + 1, key + 1):
                offsets[np.uint32(row)] = i
            before, value = key, values[i]
    after = keys[rows - 1] + 1 if rows else 0
    for row in range(after, len(offsets)):
        offsets[row] = rows
