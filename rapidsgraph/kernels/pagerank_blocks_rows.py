"""Rows of propagation blocking on a CPU: the twins of pagerank_blocks_rows.cu."""

import numpy as np

from .constants import (
    PAGERANK_BLOCK_CHUNK,
    PAGERANK_LANE_ENTRIES,
    PAGERANK_LONG_SUM,
    PAGERANK_SHORT_SUM,
    WARP,
)
from .jit import serial

NO_RANGE = 255


def sum_gathers(num_vertices, num_cached, tile_width, order, out_degrees, sums):
    gathers = np.zeros(sums.size * tile_width)
    gathers[: num_vertices - num_cached] = out_degrees[order[num_cached:]]
    sums[:] = gathers.reshape(-1, tile_width).sum(axis=1)


def count_longer(num_rows, length, offsets, count):
    count[0] += np.count_nonzero(np.diff(offsets) > length)


@serial
def find_ranges(num_vertices, num_cached, tile_width, num_summed, contribution_index, ranges):
    for vertex in range(num_vertices):
        tile = (contribution_index[vertex] - num_cached) // tile_width
        is_summed = contribution_index[vertex] >= num_cached and tile < num_summed
        ranges[vertex] = tile if is_summed else NO_RANGE


@serial
def group_sources(
    first_row,
    num_rows,
    warps_per_row,
    num_cached,
    num_summed,
    order,
    contribution_index,
    ranges,
    offsets,
    neighbors,
    grouped,
    long_sums,
    short_sums,
    cold_counts,
):
    counts = np.zeros(num_summed, np.int64)
    starts = np.zeros((3, num_summed), np.int64)  # of long sums, short sums, and single entries
    for row in order[first_row : first_row + num_rows]:
        start, stop = offsets[row], offsets[row + 1]
        counts[:] = 0
        for i in range(start, stop):
            if ranges[neighbors[i]] != NO_RANGE:
                counts[ranges[neighbors[i]]] += 1
        num_long, num_short, num_single = 0, 0, 0
        for tile in range(num_summed):
            starts[0, tile], starts[1, tile], starts[2, tile] = num_long, num_short, num_single
            rest = counts[tile] % PAGERANK_LONG_SUM
            num_long += counts[tile] // PAGERANK_LONG_SUM
            num_short += rest // PAGERANK_SHORT_SUM
            num_single += rest % PAGERANK_SHORT_SUM
        long_sums[row], short_sums[row] = num_long, num_short
        cold_counts[row] = num_long + num_short + num_single
        after_long = num_long * PAGERANK_LONG_SUM
        after_short = after_long + num_short * PAGERANK_SHORT_SUM
        next_other = start + after_short + num_single
        ranks = np.zeros(num_summed, np.int64)
        for i in range(start, stop):
            contribution, tile = contribution_index[neighbors[i]], ranges[neighbors[i]]
            if tile == NO_RANGE:
                grouped[next_other] = contribution
                next_other += 1
                cold_counts[row] += contribution >= num_cached
                continue
            rank, in_long = ranks[tile], counts[tile] // PAGERANK_LONG_SUM * PAGERANK_LONG_SUM
            ranks[tile] += 1
            if rank < in_long:
                to = starts[0, tile] * PAGERANK_LONG_SUM + rank
            elif rank < counts[tile] // PAGERANK_SHORT_SUM * PAGERANK_SHORT_SUM:
                to = after_long + starts[1, tile] * PAGERANK_SHORT_SUM + rank - in_long
            else:
                to = after_short + starts[2, tile]
            grouped[start + to] = contribution


def measure_lists(num_rows, offsets, long_sums, short_sums, out_weights, lengths, ranks):
    lengths[:] = np.diff(offsets)
    lengths -= (PAGERANK_LONG_SUM - 1) * long_sums.astype(np.int64)
    lengths -= (PAGERANK_SHORT_SUM - 1) * short_sums.astype(np.int64)
    ranks[:] = 2 * lengths + (out_weights > 0)


def find_classes(num_rows, huge_length, num_classes, lengths, counts):
    class_lengths = PAGERANK_BLOCK_CHUNK >> np.arange(num_classes)
    counts[:] = np.searchsorted(-lengths, -np.append(huge_length, class_lengths))


def measure_chunks(num_long_rows, lengths, chunks):
    chunks[:] = -(-lengths[:num_long_rows] // PAGERANK_BLOCK_CHUNK)


@serial
def measure_units(num_units, class_units, class_rows, chunk_rows, chunk_offsets, lengths, sizes):
    unit_class = 0
    for unit in range(num_units):
        while unit >= class_units[unit_class + 1]:
            unit_class += 1
        if unit_class == 0:
            row, lanes = chunk_rows[unit], WARP
            skipped = (unit - chunk_offsets[row]) * PAGERANK_BLOCK_CHUNK
            length = min(lengths[row] - skipped, PAGERANK_BLOCK_CHUNK)
        else:
            lanes = WARP >> (unit_class - 1)
            row = class_rows[unit_class] + (unit - class_units[unit_class]) * (WARP // lanes)
            length = lengths[row]
        sizes[unit] = -(-length // (lanes * PAGERANK_LANE_ENTRIES))
