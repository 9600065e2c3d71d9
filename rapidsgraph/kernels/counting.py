"""Stable parallel counting sort, for CPUs; sorting.py's other half is CuPy's radix sort.

Means: rows are cut into as many contiguous parts as `cursors` has rows. A part counts its keys,
  parts' counts become places, and each part moves its rows there in order, so that equal keys
  stay in theirs whatever the number of parts.
Requires: keys in [0, cursors.shape[1]).
Reference: counting sort, Knuth, The Art of Computer Programming 3, 5.2.
"""

import numba
import numpy as np
from numba import njit, prange


def threads():
    return numba.get_num_threads()


@njit(parallel=True, cache=True, nogil=True)
def count(keys, cursors):
    parts, rows = len(cursors), len(keys)
    for part_ in prange(parts):
        part = np.int64(part_)
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            cursors[part, keys[i]] += 1


@njit(cache=True, nogil=True)
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


@njit(parallel=True, cache=True, nogil=True)
def move(keys, values, order, cursors, new_values, new_order):
    """Move `values`, and `order` where it is not empty, to the places of their keys."""
    parts, rows, ordered = len(cursors), len(keys), len(order) > 0
    for part_ in prange(parts):
        part = np.int64(part_)
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            key = keys[i]
            place = cursors[part, key]
            cursors[part, key] = place + 1
            new_values[place] = values[i]
            if ordered:
                new_order[place] = order[i]


@njit(parallel=True, cache=True, nogil=True)
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
            key = keys[i]
            place = cursors[part, key]
            cursors[part, key] = place + 1
            new_rows[place] = row
            if ordered:
                new_order[place] = order[i]
