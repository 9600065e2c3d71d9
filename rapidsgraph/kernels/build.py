"""From named edges to adjacency lists, on a CPU: the twins of build.cu.

The meaning of every entry and parameter is said there.
"""

import numpy as np
from numba import prange

from . import parallel, serial


@parallel
def mark(count, names, low, present):
    for i_ in prange(count):
        i = np.int64(i_)
        place = np.uint64(names[i] - low)
        if not present[place]:  # threads that write one cache line in turn wait for each other
            present[place] = True


@parallel
def translate(count, names, low, table, ids):
    for i_ in prange(count):
        i = np.int64(i_)
        ids[i] = table[np.uint64(names[i] - low)]


@parallel
def permute(count, order, values, moved):
    for i_ in prange(count):
        i = np.int64(i_)
        moved[i] = values[np.uint64(order[i])]


@serial
def accumulate(count, keys, weights, weighted, sums):
    for i in range(count):
        sums[np.uint32(keys[i])] += weights[i] if weighted else 1.0


@parallel
def expand_rows(count, offsets, rows):
    for row_ in prange(count):
        row = np.int64(row_)
        for i in range(offsets[row], offsets[row + 1]):
            rows[i] = row


@parallel
def join_rows(
    count,
    first_offsets,
    first,
    first_weights,
    second_offsets,
    second,
    second_weights,
    weighted,
    joined,
    joined_weights,
):
    for row_ in prange(count):
        row = np.int64(row_)
        shift = second_offsets[row]
        for i in range(first_offsets[row], first_offsets[row + 1]):
            joined[i + shift] = first[i]
            if weighted:
                joined_weights[i + shift] = first_weights[i]
        shift = first_offsets[row + 1]
        for i in range(second_offsets[row], second_offsets[row + 1]):
            joined[i + shift] = second[i]
            if weighted:
                joined_weights[i + shift] = second_weights[i]


@parallel
def reduce_runs(runs, count, starts, weights, how, reduced):
    for run_ in prange(runs):
        run = np.int64(run_)
        end = starts[run + 1] if run + 1 < runs else count
        value = weights[starts[run]]
        if how > 0:
            for i in range(starts[run] + 1, end):
                weight = weights[i]
                if how == 1:
                    value = value + weight
                elif how == 2:
                    value = min(value, weight)
                else:
                    value = max(value, weight)
        reduced[run] = value


@parallel
def count_later(count, offsets, neighbors, later):
    for row_ in prange(count):
        row = np.int64(row_)
        begin, end = offsets[row], offsets[row + 1]
        last = end
        while begin < end:
            middle = (begin + end) // 2
            if neighbors[middle] < row:
                begin = middle + 1
            else:
                end = middle
        later[row] = last - begin
