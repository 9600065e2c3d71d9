"""Units and bins of rows for PageRank with propagation blocking; see pagerank_blocks.cu."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .. import device
from ..device import Array
from ..graph.csr import offsets_from_sizes
from ..kernels.constants import (
    BLOCK_THREADS,
    COOPERATIVE_THREADS,
    PAGERANK_BLOCK_CHUNK,
    PAGERANK_LANE_ENTRIES,
    PAGERANK_MAX_TILES,
    PAGERANK_SUM_KINDS,
    PAGERANK_VECTOR,
    WARP,
)
from .pagerank_layout import list_chunks
from .pagerank_tiles import VECTOR_BYTES, Ranges

MAX_BINS_PER_BLOCK = 4
LONG_SEGMENT = 16  # average values of a segment that allow MAX_BINS_PER_BLOCK
MIN_SEGMENT = 1  # average values of the segments of a tile
UNIT_COST = 16  # of a unit, in values
ENTRIES_PER_VALUE = 16  # that cost as much as one value
GROUP = PAGERANK_LANE_ENTRIES * WARP
CLASS_LANES = (32, 16, 8, 4, 2, 1)  # per row of each class of units from class 1 on
HUGE_CHUNKS = 64  # chunks of a row that a warp adds up


@dataclass(frozen=True)
class Units:
    """Work of one warp each, as pagerank_blocks.cu documents it.

    Attributes
    ----------
    class_units, class_rows : list of int
        First unit and first row of each class, and the end of the last.
    num_huge_rows : int
        Number of first rows of more than `HUGE_CHUNKS` chunks.
    arguments : dict
        Parameters of kernels by name: int32 arrays, those lists among them.
    """

    class_units: list[int]
    class_rows: list[int]
    num_huge_rows: int
    arguments: dict[str, Array]

    @property
    def num_units(self) -> int:
        """Number of units."""
        return self.class_units[-1]


def divide_rows(lengths: Array) -> Units:
    """Divide rows of descending length, as int64, into units."""
    xp, num_rows = device.array_module(lengths), lengths.size
    counts = xp.empty(len(CLASS_LANES) + 1, xp.int64)
    device.launch(
        "pagerank_blocks_rows", "find_classes", size=counts.size, num_rows=num_rows,
        huge_length=HUGE_CHUNKS * PAGERANK_BLOCK_CHUNK, num_classes=len(CLASS_LANES),
        lengths=lengths, counts=counts,
    )  # fmt: skip
    num_huge_rows, *class_rows = counts.tolist()
    num_long_rows = class_rows[0]
    chunks = xp.empty(num_long_rows, xp.int64)
    device.launch(
        "pagerank_blocks_rows", "measure_chunks", size=num_long_rows,
        num_long_rows=num_long_rows, lengths=lengths, chunks=chunks,
    )  # fmt: skip
    chunk_offsets, chunk_rows = list_chunks(chunks)
    class_rows = [0, *class_rows, num_rows]
    class_sizes = [
        -(-(stop - start) * lanes // WARP)
        for lanes, (start, stop) in zip(CLASS_LANES, pairwise(class_rows[1:]), strict=True)
    ]
    class_units = [0, *accumulate([chunk_rows.size, *class_sizes])]
    arguments = {
        "class_units": xp.asarray(np.array(class_units, np.int32)),
        "class_rows": xp.asarray(np.array(class_rows, np.int32)),
        "chunk_rows": chunk_rows, "chunk_offsets": chunk_offsets,
    }  # fmt: skip
    sizes = xp.empty(class_units[-1], xp.int64)
    device.launch(
        "pagerank_blocks_rows", "measure_units", size=sizes.size,
        num_units=sizes.size, **arguments, lengths=lengths, sizes=sizes,
    )  # fmt: skip
    arguments["unit_offsets"] = device.accumulate(sizes, xp.int32)
    return Units(class_units, class_rows, num_huge_rows, arguments)


def count_units(units: Units, num_rows: int) -> int:
    """Return the number of units that have one of the first `num_rows` rows."""
    class_rows, class_units = units.class_rows, units.class_units
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
        num_kept = int(np.count_nonzero(ranges.gathers >= MIN_SEGMENT * likely_bins))
        has_long_segments = num_cold >= LONG_SEGMENT * likely_bins * (num_kept + more_tiles)
        if bins_per_block == 1 or (has_long_segments and capacity >= 4 * PAGERANK_BLOCK_CHUNK):
            break
        bins_per_block //= 2
    # A bin has all paddings.
    max_tiles = (capacity - 2 * PAGERANK_BLOCK_CHUNK) // (VECTOR_BYTES // value_bytes)
    max_ranges = min(max_tiles, PAGERANK_MAX_TILES - 1) - more_tiles
    return max(min(num_kept, max_ranges), ranges.num_summed), bins_per_block, capacity


def divide_units(
    costs: Array, bin_capacity: int, vector: int, segments: dict[str, Any]
) -> tuple[Array, Array, Array]:
    """Divide units into bins of about equal cost, whose values fit into `bin_capacity`.

    Parameters
    ----------
    costs : int64, shape (units,)
        At least the number of values of each unit.
    bin_capacity, vector : int
        Values of a bin, and those by which its segments are padded.
    segments : dict
        Parameters of the kernel `count_segments`.

    Returns
    -------
    bin_units : int32, shape (bins + 1,)
        The first unit of each bin.
    counts : int32, shape (bins * (tiles + 1),)
        Number of values per bin and tile.
    segment_offsets : uint16, shape (bins * (tiles + 2),)
        First vector of each segment in its bin, and the end of the last.
    """
    xp, num_segments = device.array_module(costs), segments["num_tiles"] + 1
    starts = offsets_from_sizes(costs)
    last_start, total = starts[-2:].tolist()
    for padding in (vector / 2, vector - 1):  # usual and largest, per segment
        max_cost = bin_capacity - PAGERANK_BLOCK_CHUNK - int(num_segments * padding)
        num_bins = last_start // max_cost + 1
        bin_units = xp.empty(num_bins + 1, xp.int32)
        device.launch(
            "pagerank_blocks_bins", "find_bins", size=num_bins + 1, num_bins=num_bins,
            num_units=costs.size, max_cost=max_cost, starts=starts, bin_units=bin_units,
        )  # fmt: skip
        counts = xp.empty(num_bins * num_segments, xp.int32)
        device.launch(
            "pagerank_blocks_bins", "count_segments", size=total, num_bins=num_bins,
            geometry=(num_bins, COOPERATIVE_THREADS), bin_units=bin_units, **segments,
            counts=counts,
        )  # fmt: skip
        segment_offsets = xp.empty(num_bins * (num_segments + 1), xp.uint16)
        max_vectors = xp.zeros(1, xp.int64)
        device.launch(
            "pagerank_blocks_bins", "measure_bins", size=counts.size,
            geometry=(num_bins, BLOCK_THREADS), num_bins=num_bins, num_segments=num_segments,
            vector=vector, counts=counts, segment_offsets=segment_offsets,
            max_vectors=max_vectors,
        )  # fmt: skip
        if int(max_vectors[0]) * vector <= bin_capacity:
            break
    return bin_units, counts, segment_offsets
