"""Propagation blocking on a CPU: the twins of pagerank_blocks.cu, which documents them.

A CPU caches more than shared memory holds, so `pagerank` does not use them there; they serve to
check layouts without a GPU.
"""

import numpy as np

from .constants import PAGERANK_LANE_ENTRIES, PAGERANK_VECTOR, WARP
from .jit import serial
from .pagerank_blocks_bins import _find_lane

GROUP = PAGERANK_LANE_ENTRIES * WARP


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
    source_starts,
    tile_firsts,
    tile_terms,
    tile_work,
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
    vector = 16 // contributions.itemsize
    num_active = num_rows - num_isolated
    for _ in range(num_iterations):
        if state[3] != 0.0:
            return
        parity = np.int64(state[0]) % 2
        old = contributions[parity * (num_contributions + 1) :]
        new = contributions[(1 - parity) * (num_contributions + 1) :]
        for tile in range(num_tiles):
            terms = tile_terms[tile]
            for i in range(tile_starts[tile + 1] - tile_starts[tile]):
                value = 0.0
                for k in range(terms):
                    source = np.int64(sources[source_starts[tile] + i * terms + k])
                    value += old[tile_firsts[tile] + source]
                values[tile_starts[tile] + i] = value
        for i in range(tile_starts[num_tiles], tile_starts[num_tiles + 1]):
            values[i] = old[tail_sources[i - tile_starts[num_tiles]]]
        for i in range(num_cached):  # compiles faster than an assignment of slices
            cached[i] = old[i]
        sums[:] = 0.0
        for bin in range(num_bins):
            first_slot = num_cached + PAGERANK_VECTOR + bin % bins_per_block * bin_capacity
            for segment in range(num_tiles + 1):
                start = segment_starts[bin * (num_tiles + 1) + segment] * vector
                index = bin * (num_tiles + 2) + segment
                to = np.int64(segment_offsets[index]) * vector
                stop = np.int64(segment_offsets[index + 1]) * vector
                for i in range(stop - to):
                    cached[first_slot + to + i] = values[start + i]
            for unit in range(bin_units[bin], bin_units[bin + 1]):
                for index in range(WARP):
                    row = _find_lane(
                        unit, index, num_active, class_units, class_rows, chunk_rows, chunk_offsets
                    )[0]
                    if row < 0:
                        continue
                    lane_sum = 0.0
                    for group in range(unit_offsets[unit], unit_offsets[unit + 1]):
                        first = group * GROUP + index * PAGERANK_LANE_ENTRIES
                        for entry in range(first, first + PAGERANK_LANE_ENTRIES):
                            value = np.float64(cached[np.int64(positions[entry])])
                            lane_sum += weights[entry] * value if weighted else value
                    sums[row] += lane_sum
        residual, dangling_mass = 0.0, 0.0
        base = teleport[0] + state[2] * dangling_weights[0]
        for row in range(num_active):
            row_teleport = teleport[row if num_teleports > 1 else 0]
            dangling_weight = dangling_weights[row if num_dangling_weights > 1 else 0]
            old_value = np.float64(pagerank[row])
            pagerank[row] = damping * sums[row] + row_teleport + state[2] * dangling_weight
            value = np.float64(pagerank[row])
            residual += abs(value - old_value)
            if inverse_weights[row] == 0:
                dangling_mass += value
            else:
                new[contribution_index[row]] = value * np.float64(inverse_weights[row])
        state[0] += 1.0
        state[1] = residual + num_isolated * abs(base - state[4])
        state[2] = dangling_mass + num_isolated * base
        state[3] = 1.0 if state[1] < tolerance else 0.0
        state[4] = base
