"""Units and bins of rows for PageRank with propagation blocking; see pagerank_blocks.cu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import device
from ..device import Array
from ..graph.csr import offsets_from_sizes
from ..kernels.constants import (
    COOPERATIVE_THREADS,
    PAGERANK_BLOCK_CHUNK,
    PAGERANK_LANE_ENTRIES,
    PAGERANK_MAX_TILES,
    PAGERANK_SUM_KINDS,
    PAGERANK_VECTOR,
    WARP,
)
from .pagerank_tiles import VECTOR_BYTES, Ranges

MAX_BINS_PER_BLOCK = 4
LONG_SEGMENT = 16  # average values of a segment that allow MAX_BINS_PER_BLOCK
MIN_SEGMENT = 1  # average values of the segments of a tile
UNIT_COST = 16  # of a unit, in values
ENTRIES_PER_VALUE = 16  # that cost as much as one value
GROUP = PAGERANK_LANE_ENTRIES * WARP
# Lanes per row of each class of units from class 1 on, and the length that its rows exceed.
CLASS_LANES = (32, 16, 8, 4, 2, 1)
CLASS_LENGTHS = tuple(PAGERANK_BLOCK_CHUNK * lanes // WARP for lanes in CLASS_LANES)


@dataclass(frozen=True)
class Units:
    """Work of one warp each, as pagerank_blocks.cu documents it; arrays are int32."""

    class_units: Array
    class_rows: Array
    chunk_rows: Array
    chunk_offsets: Array
    unit_offsets: Array


def divide_rows(lengths: Array) -> Units:
    """Divide rows of descending length into units."""
    xp, num_rows = device.array_module(lengths), lengths.size
    # The number of rows longer than each length, by binary search in descending lengths.
    class_rows = [*xp.searchsorted(-lengths, -xp.asarray(CLASS_LENGTHS)).tolist(), num_rows]
    chunk_offsets = offsets_from_sizes(-(-lengths[: class_rows[0]] // PAGERANK_BLOCK_CHUNK))
    num_chunks = int(chunk_offsets[-1])
    chunk_rows = xp.searchsorted(chunk_offsets, xp.arange(num_chunks), side="right") - 1
    position = xp.arange(num_chunks) - chunk_offsets[chunk_rows]
    chunk_lengths = xp.minimum(
        lengths[chunk_rows] - position * PAGERANK_BLOCK_CHUNK, PAGERANK_BLOCK_CHUNK
    )
    groups, class_units = [-(-chunk_lengths // GROUP)], [0, num_chunks]
    for lanes, start, stop in zip(CLASS_LANES, class_rows[:-1], class_rows[1:], strict=True):
        longest = lengths[start : stop : WARP // lanes]
        groups.append(-(-longest // (lanes * PAGERANK_LANE_ENTRIES)))
        class_units.append(class_units[-1] + longest.size)
    unit_offsets = offsets_from_sizes(xp.concatenate(groups))
    arrays = (
        xp.asarray(class_units), xp.asarray([0, *class_rows]), chunk_rows, chunk_offsets,
        unit_offsets,
    )  # fmt: skip
    return Units(*(values.astype(xp.int32) for values in arrays))


def count_units(units: Units, num_rows: int) -> int:
    """Return the number of units that have one of the first `num_rows` rows."""
    class_rows, class_units = units.class_rows.tolist(), units.class_units.tolist()
    for index in range(len(CLASS_LANES), 0, -1):
        if num_rows > class_rows[index]:
            rows_per_unit = WARP // CLASS_LANES[index - 1]
            return class_units[index] + -(-(num_rows - class_rows[index]) // rows_per_unit)
    return class_units[1]


def max_summed(num_slots: int, value_bytes: int) -> int:
    """Return how many ranges may have sums, given the values in shared memory for bins."""
    capacity = min(num_slots, 4 * PAGERANK_BLOCK_CHUNK)
    max_tiles = (capacity - 2 * PAGERANK_BLOCK_CHUNK) // (VECTOR_BYTES // value_bytes)
    return max(max_tiles, 0) // (2 * PAGERANK_SUM_KINDS)


def choose_bins(
    ranges: Ranges, num_cold: int, num_slots: int, value_bytes: int
) -> tuple[int, int, int]:
    """Return (number of ranges with tiles, bins per block, values per bin).

    Parameters
    ----------
    ranges : Ranges
    num_cold : int
        Number of values of all bins.
    num_slots : int
        Values in shared memory for bins.
    value_bytes : int
    """
    bins_per_block, more_tiles = MAX_BINS_PER_BLOCK, (PAGERANK_SUM_KINDS - 1) * ranges.num_summed
    while True:
        capacity = num_slots // bins_per_block - PAGERANK_VECTOR
        capacity = capacity // PAGERANK_VECTOR * PAGERANK_VECTOR
        likely_bins = 1.3 * num_cold / capacity + 1
        num_kept = device.count_nonzero(ranges.gathers >= MIN_SEGMENT * likely_bins)
        has_long_segments = num_cold >= LONG_SEGMENT * likely_bins * (num_kept + more_tiles)
        if bins_per_block == 1 or (has_long_segments and capacity >= 4 * PAGERANK_BLOCK_CHUNK):
            break
        bins_per_block //= 2
    # A bin has all paddings.
    max_tiles = (capacity - 2 * PAGERANK_BLOCK_CHUNK) // (VECTOR_BYTES // value_bytes)
    max_ranges = min(max_tiles, PAGERANK_MAX_TILES - 1) - more_tiles
    return max(min(num_kept, max_ranges), ranges.num_summed), bins_per_block, capacity


def divide_units(
    cost: Array, bin_capacity: int, vector: int, segments: dict[str, Any]
) -> tuple[Array, Array]:
    """Divide units into bins of about equal cost, whose values fit into `bin_capacity`.

    Parameters
    ----------
    cost : int64, shape (units,)
        At least the number of values of each unit.
    bin_capacity, vector : int
        Values of a bin, and those by which its segments are padded.
    segments : dict
        Parameters of the kernel `count_segments`.

    Returns
    -------
    bin_units : int32, shape (bins + 1,)
        The first unit of each bin.
    counts : int32, shape (bins, tiles + 1)
        Number of values per bin and tile.
    """
    xp, num_segments = device.array_module(cost), segments["num_tiles"] + 1
    starts = xp.cumsum(cost) - cost
    for padding in (vector / 2, vector - 1):  # usual and largest, per segment
        max_cost = bin_capacity - PAGERANK_BLOCK_CHUNK - int(num_segments * padding)
        bin_of_unit = starts // max_cost
        num_bins = int(bin_of_unit[-1]) + 1
        bin_units = xp.searchsorted(bin_of_unit, xp.arange(num_bins + 1)).astype(xp.int32)
        counts = xp.empty((num_bins, num_segments), xp.int32)
        device.launch(
            "pagerank_blocks_layout", "count_segments", size=int(cost.sum()), num_bins=num_bins,
            geometry=(num_bins, COOPERATIVE_THREADS), bin_units=bin_units, **segments,
            counts=counts.reshape(-1),
        )  # fmt: skip
        padded = -(-counts // vector) * vector
        if int(padded.sum(axis=1).max()) <= bin_capacity:
            break
    return bin_units, counts
