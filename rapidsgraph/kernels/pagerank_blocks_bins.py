"""Bins of propagation blocking on a CPU: the twins of pagerank_blocks_bins.cu."""

import numpy as np

from .constants import (
    PAGERANK_BLOCK_CHUNK,
    PAGERANK_LANE_ENTRIES,
    PAGERANK_LONG_SUM,
    PAGERANK_SHORT_SUM,
    PAGERANK_SUM_KINDS,
    PAGERANK_VECTOR,
    WARP,
)
from .jit import serial

GROUP = PAGERANK_LANE_ENTRIES * WARP


@serial
def _find_lane(unit, index, num_rows, class_units, class_rows, chunk_rows, chunk_offsets):
    """Return (row or -1, lanes of the row, index among them, chunk) of a lane."""
    if unit < class_units[1]:
        row = chunk_rows[unit]
        return row, WARP, index, unit - chunk_offsets[row]
    unit_class = 1
    while unit >= class_units[unit_class + 1]:
        unit_class += 1
    lanes = WARP >> (unit_class - 1)
    row = class_rows[unit_class]
    row += (unit - class_units[unit_class]) * (WARP // lanes) + index // lanes
    if row >= min(class_rows[unit_class + 1], num_rows):
        row = -1
    return row, lanes, index % lanes, 0


@serial
def _find_entry(item, num_long, num_short):
    """Return (terms, index of the first) of an item of a list."""
    if item < num_long:
        return PAGERANK_LONG_SUM, item * PAGERANK_LONG_SUM
    first = num_long * PAGERANK_LONG_SUM
    if item < num_long + num_short:
        return PAGERANK_SHORT_SUM, first + (item - num_long) * PAGERANK_SHORT_SUM
    return 1, first + num_short * PAGERANK_SHORT_SUM + item - num_long - num_short


@serial
def _lane_entries(
    unit,
    index,
    num_rows,
    class_units,
    class_rows,
    chunk_rows,
    chunk_offsets,
    unit_offsets,
    order,
    offsets,
    long_sums,
    short_sums,
):
    """Return (to, terms, from) of the entries of a lane, as `visit_entries` of the CUDA twin."""
    row, lanes, member, chunk = _find_lane(
        unit, index, num_rows, class_units, class_rows, chunk_rows, chunk_offsets
    )
    groups = unit_offsets[unit + 1] - unit_offsets[unit]
    entries = np.zeros((groups * PAGERANK_LANE_ENTRIES, 3), np.int64)
    start, length, num_long, num_short, skipped = 0, 0, 0, 0, 0
    if row >= 0:
        vertex = order[row]
        start, skipped = offsets[vertex], chunk * PAGERANK_BLOCK_CHUNK
        num_long, num_short = long_sums[vertex], short_sums[vertex]
        length = offsets[vertex + 1] - start
        length -= (PAGERANK_LONG_SUM - 1) * num_long + (PAGERANK_SHORT_SUM - 1) * num_short
        length = min(length - skipped, PAGERANK_BLOCK_CHUNK)
    for group in range(groups):
        for k in range(PAGERANK_LANE_ENTRIES):
            i = group * PAGERANK_LANE_ENTRIES + k
            entry = i * lanes + member
            entries[i, 0] = (unit_offsets[unit] + group) * GROUP + index * PAGERANK_LANE_ENTRIES + k
            if entry < length:
                terms, first = _find_entry(skipped + entry, num_long, num_short)
                entries[i, 1], entries[i, 2] = terms, start + first
    return entries


@serial
def measure_costs(
    num_units,
    unit_cost,
    group_cost,
    num_rows,
    num_cached,
    class_units,
    class_rows,
    chunk_rows,
    chunk_offsets,
    unit_offsets,
    order,
    offsets,
    grouped,
    long_sums,
    short_sums,
    cold_counts,
    costs,
    num_cold,
):
    for unit in range(num_units):
        cold = 0
        for index in range(WARP):
            entries = _lane_entries(
                unit, index, num_rows, class_units, class_rows, chunk_rows, chunk_offsets,
                unit_offsets, order, offsets, long_sums, short_sums,
            )  # fmt: skip
            for i in range(entries.shape[0]):
                if entries[i, 1] and grouped[entries[i, 2]] >= num_cached:
                    cold += 1
        groups = unit_offsets[unit + 1] - unit_offsets[unit]
        costs[unit] = cold + unit_cost + group_cost * groups
        num_cold[0] += cold


def find_bins(num_bins, num_units, max_cost, starts, bin_units):
    bin_units[:] = np.searchsorted(starts[:num_units], np.arange(num_bins + 1) * max_cost)


@serial
def _tile_of(contribution, terms, num_cached, tile_width, num_summed, num_tiles):
    """Return the tile of sums of contributions, or num_tiles for the tail."""
    first = (contribution - num_cached) // tile_width
    if first >= num_summed:
        return min(first + (PAGERANK_SUM_KINDS - 1) * num_summed, num_tiles)
    kind = 0 if terms == PAGERANK_LONG_SUM else 1 if terms == PAGERANK_SHORT_SUM else 2
    return PAGERANK_SUM_KINDS * first + kind


@serial
def count_segments(
    num_bins,
    num_tiles,
    num_rows,
    num_cached,
    tile_width,
    num_summed,
    bin_units,
    class_units,
    class_rows,
    chunk_rows,
    chunk_offsets,
    unit_offsets,
    order,
    offsets,
    grouped,
    long_sums,
    short_sums,
    counts,
):
    for bin in range(num_bins):
        first = bin * (num_tiles + 1)
        counts[first : first + num_tiles + 1] = 0
        for unit in range(bin_units[bin], bin_units[bin + 1]):
            for index in range(WARP):
                entries = _lane_entries(
                    unit, index, num_rows, class_units, class_rows, chunk_rows, chunk_offsets,
                    unit_offsets, order, offsets, long_sums, short_sums,
                )  # fmt: skip
                for i in range(entries.shape[0]):
                    terms, source = entries[i, 1], grouped[entries[i, 2]]
                    if terms and source >= num_cached:
                        tile = _tile_of(
                            source, terms, num_cached, tile_width, num_summed, num_tiles
                        )
                        counts[first + tile] += 1


def measure_bins(num_bins, num_segments, vector, counts, segment_offsets, max_vectors):
    ends = np.cumsum(-(-counts.reshape(num_bins, num_segments) // vector), axis=1)
    offsets = segment_offsets.reshape(num_bins, num_segments + 1)
    offsets[:, 0], offsets[:, 1:] = 0, ends
    max_vectors[0] = max(max_vectors[0], ends[:, -1].max())


def place_in_tiles(num_bins, num_segments, vector, counts, segment_starts, sizes):
    vectors = -(-counts.reshape(num_bins, num_segments) // vector)
    ends = np.cumsum(vectors, axis=0)
    segment_starts[:], sizes[:] = (ends - vectors).reshape(-1), ends[-1]


def add_tile_offsets(num_bins, num_segments, tile_offsets, segment_starts):
    starts = segment_starts.reshape(num_bins, num_segments)
    starts += tile_offsets[:-1].astype(np.int32)


@serial
def place_entries(
    num_bins,
    num_tiles,
    num_rows,
    num_cached,
    tile_width,
    num_summed,
    bin_capacity,
    bins_per_block,
    vector,
    bin_units,
    class_units,
    class_rows,
    chunk_rows,
    chunk_offsets,
    unit_offsets,
    order,
    offsets,
    grouped,
    long_sums,
    short_sums,
    weights,
    weighted,
    tile_starts,
    source_starts,
    segment_starts,
    segment_offsets,
    positions,
    sources,
    tail_sources,
    new_weights,
):
    for bin in range(num_bins):
        num_placed = np.zeros(num_tiles + 1, np.int64)
        first_slot = num_cached + PAGERANK_VECTOR + bin % bins_per_block * bin_capacity
        for unit in range(bin_units[bin], bin_units[bin + 1]):
            for index in range(WARP):
                entries = _lane_entries(
                    unit, index, num_rows, class_units, class_rows, chunk_rows, chunk_offsets,
                    unit_offsets, order, offsets, long_sums, short_sums,
                )  # fmt: skip
                for i in range(entries.shape[0]):
                    to, terms, first = entries[i]
                    source = grouped[first] if terms else 0
                    if weighted:
                        new_weights[to] = weights[first] if terms else 0
                    if not terms or source < num_cached:
                        positions[to] = source if terms else num_cached
                        continue
                    tile = _tile_of(source, terms, num_cached, tile_width, num_summed, num_tiles)
                    place = num_placed[tile]
                    num_placed[tile] += 1
                    offset = segment_offsets[bin * (num_tiles + 2) + tile]
                    positions[to] = first_slot + offset * vector + place
                    value = segment_starts[bin * (num_tiles + 1) + tile] * vector + place
                    value -= tile_starts[tile]
                    if tile == num_tiles:
                        tail_sources[value] = source
                        continue
                    for k in range(terms):
                        source = (grouped[first + k] - num_cached) % tile_width
                        sources[source_starts[tile] + value * terms + k] = source
