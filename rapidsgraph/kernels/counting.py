"""Stable parallel counting sort for CPUs.

Rows are split into contiguous chunks, one per row of `cursors`. Each chunk counts its keys, the
counts become positions, and each chunk moves its rows there in order, so that the sort is stable
for any number of chunks. Keys are in [0, cursors.shape[1]). They are converted to unsigned
integers, because Numba then skips the check for negative indices.

References
----------
Knuth, The Art of Computer Programming, volume 3, section 5.2 (distribution counting).
"""

import numpy as np
from numba import prange

from .jit import parallel, serial


@parallel
def count(keys, cursors):
    """Add the number of rows of each chunk per key to `cursors`."""
    chunks, rows = len(cursors), len(keys)
    for chunk_ in prange(chunks):
        chunk = np.int64(chunk_)
        for i in range(rows * chunk // chunks, rows * (chunk + 1) // chunks):
            cursors[chunk, np.uint32(keys[i])] += 1


@serial
def accumulate_counts(cursors, offsets):
    """Convert counts to positions, in place, and write the first position of each key."""
    chunks, num_keys = cursors.shape
    total = 0
    for key in range(num_keys):
        offsets[key] = total
        for chunk in range(chunks):
            size = cursors[chunk, key]
            cursors[chunk, key] = total
            total += size
    offsets[num_keys] = total


@parallel
def move(keys, values, order, cursors, new_values, new_order):
    """Move `values`, and `order` unless it is empty, to the positions of their keys."""
    chunks, rows, with_order = len(cursors), len(keys), len(order) > 0
    for chunk_ in prange(chunks):
        chunk = np.int64(chunk_)
        for i in range(rows * chunk // chunks, rows * (chunk + 1) // chunks):
            key = np.uint32(keys[i])
            position = cursors[chunk, key]
            cursors[chunk, key] = position + 1
            new_values[np.uint64(position)] = values[i]
            if with_order:
                new_order[np.uint64(position)] = order[i]


@parallel
def move_rows(keys, offsets, order, cursors, new_rows, new_order):
    """Move row indices like `move`; row r contains the items [offsets[r], offsets[r + 1])."""
    chunks, rows, with_order = len(cursors), len(keys), len(order) > 0
    for chunk_ in prange(chunks):
        chunk = np.int64(chunk_)
        start, stop = rows * chunk // chunks, rows * (chunk + 1) // chunks
        row, high = 0, len(offsets) - 1
        while row < high:  # find the last row that starts at or before `start`
            middle = (row + high + 1) // 2
            if offsets[middle] <= start:
                row = middle
            else:
                high = middle - 1
        for i in range(start, stop):
            while i >= offsets[row + 1]:
                row += 1
            key = np.uint32(keys[i])
            position = cursors[chunk, key]
            cursors[chunk, key] = position + 1
            new_rows[np.uint64(position)] = row
            if with_order:
                new_order[np.uint64(position)] = order[i]


@parallel
def sorted_offsets(keys, values, offsets, disorder):
    """Write the offsets by key if rows ascend by (key, value), else set a flag in `disorder`."""
    chunks, rows = len(disorder), len(keys)
    for chunk_ in prange(chunks):
        chunk = np.int64(chunk_)
        start, stop = rows * chunk // chunks, rows * (chunk + 1) // chunks
        last_key = keys[start - 1] if start > 0 else np.int32(-1)
        last_value = values[start - 1] if start > 0 else np.int32(-1)
        for i in range(start, stop):
            key = keys[i]
            if key < last_key or (key == last_key and values[i] < last_value):
                disorder[chunk] = True
                break
            for row in range(last_key + 1, key + 1):
                offsets[np.uint32(row)] = i
            last_key, last_value = key, values[i]
    first_empty = keys[rows - 1] + 1 if rows else 0
    for row in range(first_empty, len(offsets)):
        offsets[row] = rows


@parallel
def sort_lists(start, stop, offsets, neighbors):
    """Sort the lists of the rows [start, stop) in place."""
    for row_ in prange(start, stop):
        row = np.uint64(row_)
        neighbors[offsets[row] : offsets[row + np.uint64(1)]].sort()
