"""Propagation blocking on a CPU: the twins of pagerank_blocks.cu, which documents them.

A CPU caches more than shared memory holds, so `pagerank` does not use them there; they serve to
check layouts without a GPU.
"""

import numpy as np

from .constants import PAGERANK_BLOCK_CHUNK, PAGERANK_LANE_ENTRIES, PAGERANK_VECTOR, WARP
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
def arrange_units(
    num_units,
    num_rows,
    num_contributions,
    num_cached,
    class_units,
    class_rows,
    chunk_rows,
    chunk_offsets,
    unit_offsets,
    order,
    contribution_index,
    offsets,
    neighbors,
    weights,
    weighted,
    new_neighbors,
    new_weights,
    num_cold,
):
    for unit in range(num_units):
        cold = 0
        for index in range(WARP):
            row, lanes, member, chunk = _find_lane(
                unit, index, num_rows, class_units, class_rows, chunk_rows, chunk_offsets
            )
            start, length = 0, 0
            if row >= 0:
                start = offsets[order[row]] + chunk * PAGERANK_BLOCK_CHUNK
                length = min(offsets[order[row] + 1] - start, PAGERANK_BLOCK_CHUNK)
            for group in range(unit_offsets[unit], unit_offsets[unit + 1]):
                for k in range(PAGERANK_LANE_ENTRIES):
                    to = group * GROUP + index * PAGERANK_LANE_ENTRIES + k
                    entry = (group - unit_offsets[unit]) * PAGERANK_LANE_ENTRIES + k
                    entry = entry * lanes + member
                    neighbor = num_contributions
                    if entry < length:
                        neighbor = contribution_index[neighbors[start + entry]]
                        cold += neighbor >= num_cached
                    new_neighbors[to] = neighbor
                    if weighted:
                        new_weights[to] = weights[start + entry] if entry < length else 0
        num_cold[unit] = cold


@serial
def count_segments(
    num_bins,
    num_tiles,
    num_cached,
    num_contributions,
    tile_width,
    bin_units,
    unit_offsets,
    neighbors,
    counts,
):
    for bin in range(num_bins):
        first = bin * (num_tiles + 1)
        counts[first : first + num_tiles + 1] = 0
        start, stop = unit_offsets[bin_units[bin]], unit_offsets[bin_units[bin + 1]]
        for entry in range(start * GROUP, stop * GROUP):
            neighbor = neighbors[entry]
            if num_cached <= neighbor < num_contributions:
                counts[first + min((neighbor - num_cached) // tile_width, num_tiles)] += 1


@serial
def place_entries(
    num_bins,
    num_tiles,
    num_cached,
    num_contributions,
    tile_width,
    bin_capacity,
    bins_per_block,
    bin_units,
    unit_offsets,
    neighbors,
    tile_starts,
    segment_starts,
    segment_offsets,
    positions,
    sources,
    tail_sources,
):
    for bin in range(num_bins):
        num_placed = np.zeros(num_tiles + 1, np.int64)
        first_slot = num_cached + PAGERANK_VECTOR + bin % bins_per_block * bin_capacity
        start, stop = unit_offsets[bin_units[bin]], unit_offsets[bin_units[bin + 1]]
        for entry in range(start * GROUP, stop * GROUP):
            neighbor = neighbors[entry]
            if neighbor < num_cached:
                positions[entry] = neighbor
            elif neighbor >= num_contributions:
                positions[entry] = num_cached
            else:
                tile = min((neighbor - num_cached) // tile_width, num_tiles)
                place = num_placed[tile]
                num_placed[tile] += 1
                offset = segment_offsets[bin * (num_tiles + 2) + tile]
                positions[entry] = first_slot + offset * PAGERANK_VECTOR + place
                to = segment_starts[bin * (num_tiles + 1) + tile] * PAGERANK_VECTOR + place
                if tile < num_tiles:
                    sources[to] = neighbor - num_cached - tile * tile_width
                else:
                    tail_sources[to - tile_starts[num_tiles]] = neighbor


@serial
def iterate_blocks(
    num_iterations,
    tolerance,
    damping,
    num_rows,
    num_contributions,
    num_isolated,
    num_long_rows,
    num_huge_rows,
    num_bins,
    num_tiles,
    num_cached,
    tile_width,
    bins_per_block,
    bin_capacity,
    class_units,
    class_rows,
    chunk_rows,
    chunk_offsets,
    unit_offsets,
    bin_units,
    tile_starts,
    segment_starts,
    segment_offsets,
    positions,
    weights,
    weighted,
    sources,
    tail_sources,
    contribution_index,
    inverse_weights,
    teleport,
    num_teleports,
    dangling_weights,
    num_dangling_weights,
    contributions,
    pagerank,
    values,
    chunk_sums,
    partials,
    arrived_blocks,
    state,
):
    sums = np.zeros(num_rows)
    shared_size = num_cached + PAGERANK_VECTOR + bins_per_block * bin_capacity
    cached = np.zeros(shared_size, contributions.dtype)
    num_active = num_rows - num_isolated
    for _ in range(num_iterations):
        if state[3] != 0.0:
            return
        parity = np.int64(state[0]) % 2
        old = contributions[parity * (num_contributions + 1) :]
        new = contributions[(1 - parity) * (num_contributions + 1) :]
        for tile in range(num_tiles):
            for i in range(tile_starts[tile], tile_starts[tile + 1]):
                values[i] = old[num_cached + tile * tile_width + np.int64(sources[i])]
        for i in range(tile_starts[num_tiles], tile_starts[num_tiles + 1]):
            values[i] = old[tail_sources[i - tile_starts[num_tiles]]]
        for i in range(num_cached):  # compiles faster than an assignment of slices
            cached[i] = old[i]
        sums[:] = 0.0
        for bin in range(num_bins):
            first_slot = num_cached + PAGERANK_VECTOR + bin % bins_per_block * bin_capacity
            for segment in range(num_tiles + 1):
                start = segment_starts[bin * (num_tiles + 1) + segment] * PAGERANK_VECTOR
                index = bin * (num_tiles + 2) + segment
                to = np.int64(segment_offsets[index]) * PAGERANK_VECTOR
                stop = np.int64(segment_offsets[index + 1]) * PAGERANK_VECTOR
                for i in range(stop - to):
                    cached[first_slot + to + i] = values[start + i]
            for unit in range(bin_units[bin], bin_units[bin + 1]):
                for index in range(WARP):
                    row = _find_lane(
                        unit, index, num_active, class_units, class_rows, chunk_rows, chunk_offsets
                    )[0]
                    if row < 0:
                        continue
                    for group in range(unit_offsets[unit], unit_offsets[unit + 1]):
                        first = group * GROUP + index * PAGERANK_LANE_ENTRIES
                        for entry in range(first, first + PAGERANK_LANE_ENTRIES):
                            value = np.float64(cached[np.int64(positions[entry])])
                            sums[row] += weights[entry] * value if weighted else value
        residual, dangling_mass = 0.0, 0.0
        base = teleport[0] + state[2] * dangling_weights[0]
        for row in range(num_active):
            row_teleport = teleport[row if num_teleports > 1 else 0]
            dangling_weight = dangling_weights[row if num_dangling_weights > 1 else 0]
            value = np.float32(damping * sums[row] + row_teleport + state[2] * dangling_weight)
            residual += abs(np.float64(value) - np.float64(pagerank[row]))
            pagerank[row] = value
            if inverse_weights[row] == 0:
                dangling_mass += np.float64(value)
            else:
                new[contribution_index[row]] = np.float64(value) * np.float64(inverse_weights[row])
        state[0] += 1.0
        state[1] = residual + num_isolated * abs(base - state[4])
        state[2] = dangling_mass + num_isolated * base
        state[3] = 1.0 if state[1] < tolerance else 0.0
        state[4] = base
