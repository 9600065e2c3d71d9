"""The layout of PageRank with propagation blocking, and the launch of its iterations.

Once contributions exceed the L2 cache, `pagerank_layout` reads a sector of 32 bytes per gather.
Propagation blocking [1]_ reads and writes global memory in order and gathers from shared memory
only: 12 bytes per arc in single precision, or 2 if the contribution is cached. The kernels in
pagerank_blocks.cu document its two phases.

References
----------
.. [1] S. Beamer, K. Asanovic, D. Patterson, "Reducing Pagerank communication via propagation
   blocking", IPDPS 2017. https://doi.org/10.1109/IPDPS.2017.112
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import device
from ..device import Array
from ..graph.csr import Adjacency, offsets_from_sizes
from ..graph.local_graph import LocalGraph
from ..kernels.constants import (
    COOPERATIVE_THREADS,
    PAGERANK_BLOCK_CHUNK,
    PAGERANK_LANE_ENTRIES,
    PAGERANK_MAX_TILES,
    PAGERANK_VECTOR,
    WARP,
)
from .pagerank_layout import invert_order, invert_weights, order_by_degree, order_rows

# On an H200, propagation blocking is faster from about this size on, in single precision only.
MIN_ARCS = 1.2e8
MIN_VERTICES = 2**22
MIN_MEAN_DEGREE = 8  # narrow rows have neighborhoods that caches serve well
SHARED_BYTES = 220 * 1024  # of a block; the rest is L1 cache
HOT_FRACTION = 0.4  # of the shared memory, for hot contributions
MAX_BINS_PER_BLOCK = 4
LONG_SEGMENT = 16  # average values of a segment that allow MAX_BINS_PER_BLOCK
MIN_SEGMENT = 1  # average values of the segments of a tile
HUGE_CHUNKS = 64  # chunks of a row that a warp adds up
UNIT_COST = 16  # of a unit, in values
ENTRIES_PER_VALUE = 16  # that cost as much as one value
GROUP = PAGERANK_LANE_ENTRIES * WARP
# Lanes per row of each class of units from class 1 on, and the length that its rows exceed.
CLASS_LANES = (32, 16, 8, 4, 2, 1)
CLASS_LENGTHS = tuple(PAGERANK_BLOCK_CHUNK * lanes // WARP for lanes in CLASS_LANES)


@dataclass(frozen=True)
class BlockedLayout:
    """Rows, bins and tiles, as the kernel `iterate_blocks` in pagerank_blocks.cu reads them.

    Attributes
    ----------
    order, contribution_index, num_contributions, num_isolated, inverse_weights
        As in `PageRankLayout`.
    num_values : int
        Values between the phases, including padding.
    num_bins, num_active_bins : int
        Number of bins, with and without those of isolated rows alone.
    arguments : dict
        Further parameters of the kernel, by name.
    """

    order: Array
    contribution_index: Array
    num_contributions: int
    num_isolated: int
    inverse_weights: Array
    num_values: int
    num_bins: int
    num_active_bins: int
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Units:
    """Work of one warp each, as pagerank_blocks.cu documents it; arrays are int32."""

    class_units: Array
    class_rows: Array
    chunk_rows: Array
    chunk_offsets: Array
    unit_offsets: Array


def pays_off(graph: LocalGraph, value_type: type) -> bool:
    """Return whether propagation blocking is probably faster for a graph."""
    return (
        graph.xp is not np
        and value_type is np.float32
        and graph.num_arcs >= MIN_ARCS
        and graph.num_vertices >= MIN_VERTICES
        and graph.num_arcs >= MIN_MEAN_DEGREE * graph.num_vertices
        and device.max_shared_bytes() >= SHARED_BYTES
    )


def arrange(
    csc: Adjacency,
    weights: Array,
    out_degrees: Array,
    out_weights: Array,
    value_type: type = np.float32,
    *,
    shared_bytes: int = SHARED_BYTES,
) -> BlockedLayout:
    """Return the layout of a graph.

    Parameters
    ----------
    csc, weights, out_degrees, out_weights
        As for `pagerank_layout.arrange`.
    value_type : numpy.float32
    shared_bytes : int, default `SHARED_BYTES`
        Shared memory of a block.
    """
    xp, num_rows = device.array_module(csc.neighbors), csc.offsets.size - 1
    degrees = xp.diff(csc.offsets)
    rows = order_rows(csc, out_weights)
    order, num_isolated, by_gathers = rows.order, rows.num_isolated, order_by_degree(out_degrees)
    vertex_index = invert_order(by_gathers)
    # Buffers of contributions start at multiples of a vector.
    num_contributions = (num_rows // PAGERANK_VECTOR + 1) * PAGERANK_VECTOR - 1
    num_slots = shared_bytes // np.dtype(value_type).itemsize // 8 * 8
    num_cached = min(int(num_slots * HOT_FRACTION), num_rows) // 8 * 8
    units = _divide_rows(degrees[order])
    num_units, num_entries = units.unit_offsets.size - 1, int(units.unit_offsets[-1]) * GROUP
    neighbors = xp.empty(num_entries, xp.int32)
    new_weights = xp.empty(num_entries if weights.size else 0, value_type)
    num_cold = xp.empty(num_units, xp.int32)
    device.launch(
        "pagerank_blocks", "arrange_units", size=num_units * WARP,
        num_units=num_units, num_rows=num_rows, num_contributions=num_contributions,
        num_cached=num_cached, **vars(units), order=order, contribution_index=vertex_index,
        offsets=csc.offsets, neighbors=csc.neighbors, weights=weights, weighted=weights.size > 0,
        new_neighbors=neighbors, new_weights=new_weights, num_cold=num_cold,
    )  # fmt: skip
    tiling = _divide_contributions(out_degrees[by_gathers][num_cached:], num_slots, num_cached)
    num_tiles, bins_per_block, bin_capacity = tiling
    shared = {
        "num_tiles": num_tiles, "num_cached": num_cached, "num_contributions": num_contributions,
        "tile_width": num_slots, "unit_offsets": units.unit_offsets, "neighbors": neighbors,
    }  # fmt: skip
    cost = xp.diff(units.unit_offsets).astype(xp.int64) * GROUP // ENTRIES_PER_VALUE
    bin_units, counts = _divide_units(cost + num_cold + UNIT_COST, bin_capacity, shared)
    num_bins = bin_units.size - 1
    del cost, num_cold
    # Segments are in the order of bins within a tile, and in the order of tiles within a bin.
    vectors = -(-counts // PAGERANK_VECTOR)
    del counts
    segment_offsets = xp.zeros((num_bins, num_tiles + 2), xp.uint16)
    segment_offsets[:, 1:] = xp.cumsum(vectors, axis=1)
    ends = xp.cumsum(vectors, axis=0)
    tile_offsets = offsets_from_sizes(ends[-1])
    segment_starts = (tile_offsets[:-1] + ends - vectors).astype(xp.int32)
    del ends, vectors
    tile_starts = tile_offsets * PAGERANK_VECTOR
    tail_start, num_values = tile_starts[-2:].tolist()
    positions = xp.empty(num_entries, xp.uint16)
    sources = xp.zeros(max(tail_start, PAGERANK_VECTOR), xp.uint16)
    tail_sources = xp.zeros(max(num_values - tail_start, 1), xp.int32)
    segments = {
        "bin_capacity": bin_capacity, "bins_per_block": bins_per_block, "bin_units": bin_units,
        "tile_starts": tile_starts, "segment_starts": segment_starts.reshape(-1),
        "segment_offsets": segment_offsets.reshape(-1), "positions": positions,
        "sources": sources, "tail_sources": tail_sources,
    }  # fmt: skip
    device.launch(
        "pagerank_blocks", "place_entries", size=num_entries, num_bins=num_bins,
        geometry=(num_bins, COOPERATIVE_THREADS), **shared, **segments,
    )  # fmt: skip
    del shared["neighbors"], neighbors
    num_chunks = xp.diff(units.chunk_offsets)
    contribution_index = vertex_index[order]
    inverse_weights = invert_weights(out_weights, order, value_type)
    arguments = {
        **shared, **segments, **vars(units), "num_long_rows": num_chunks.size,
        "num_huge_rows": device.count_nonzero(num_chunks > HUGE_CHUNKS), "weights": new_weights,
        "weighted": weights.size > 0,
    }  # fmt: skip
    num_active_units = _count_units(units, num_rows - num_isolated)
    num_active_bins = int(xp.searchsorted(bin_units[:-1], num_active_units))
    return BlockedLayout(
        order, contribution_index, num_contributions, num_isolated, inverse_weights, num_values,
        num_bins, num_active_bins, arguments,
    )  # fmt: skip


def _divide_rows(lengths: Array) -> Units:
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


def _count_units(units: Units, num_rows: int) -> int:
    """Return the number of units that have one of the first `num_rows` rows."""
    class_rows, class_units = units.class_rows.tolist(), units.class_units.tolist()
    for index in range(len(CLASS_LANES), 0, -1):
        if num_rows > class_rows[index]:
            rows_per_unit = WARP // CLASS_LANES[index - 1]
            return class_units[index] + -(-(num_rows - class_rows[index]) // rows_per_unit)
    return class_units[1]


def _divide_contributions(
    cold_gathers: Array, num_slots: int, num_cached: int
) -> tuple[int, int, int]:
    """Return (number of tiles, bins per block, values per bin).

    Parameters
    ----------
    cold_gathers : numbers, in descending order
        Number of gathers of each contribution that is not cached.
    num_slots, num_cached : int
        Values in shared memory, and those of them that are hot.
    """
    xp = device.array_module(cold_gathers)
    num_tiles = -(-cold_gathers.size // num_slots)
    padded = xp.zeros(num_tiles * num_slots)
    padded[: cold_gathers.size] = cold_gathers
    tile_gathers = padded.reshape(-1, num_slots).sum(axis=1)
    total, bins_per_block = float(tile_gathers.sum()), MAX_BINS_PER_BLOCK
    while True:
        capacity = (num_slots - num_cached) // bins_per_block - PAGERANK_VECTOR
        capacity = capacity // PAGERANK_VECTOR * PAGERANK_VECTOR
        likely_bins = 1.3 * total / capacity + 1
        has_long_segments = total >= LONG_SEGMENT * likely_bins * num_tiles
        if bins_per_block == 1 or (has_long_segments and capacity >= 4 * PAGERANK_BLOCK_CHUNK):
            break
        bins_per_block //= 2
    num_kept = int((tile_gathers >= MIN_SEGMENT * likely_bins).sum())
    max_tiles = (capacity - 2 * PAGERANK_BLOCK_CHUNK) // PAGERANK_VECTOR  # a bin has all paddings
    return min(num_kept, max_tiles, PAGERANK_MAX_TILES - 1), bins_per_block, capacity


def _divide_units(cost: Array, bin_capacity: int, shared: dict[str, Any]) -> tuple[Array, Array]:
    """Divide units into bins of about equal cost, whose values fit into `bin_capacity`.

    Parameters
    ----------
    cost : int64, shape (units,)
        At least the number of values of each unit.
    bin_capacity : int
    shared : dict
        Parameters of the kernel `count_segments`.

    Returns
    -------
    bin_units : int32, shape (bins + 1,)
        The first unit of each bin.
    counts : int32, shape (bins, tiles + 1)
        Number of values per bin and tile.
    """
    xp, num_segments = device.array_module(cost), shared["num_tiles"] + 1
    starts = xp.cumsum(cost) - cost
    for padding in (PAGERANK_VECTOR / 2, PAGERANK_VECTOR - 1):  # usual and largest, per segment
        max_cost = bin_capacity - PAGERANK_BLOCK_CHUNK - int(num_segments * padding)
        bin_of_unit = starts // max_cost
        num_bins = int(bin_of_unit[-1]) + 1
        bin_units = xp.searchsorted(bin_of_unit, xp.arange(num_bins + 1)).astype(xp.int32)
        counts = xp.empty((num_bins, num_segments), xp.int32)
        device.launch(
            "pagerank_blocks", "count_segments", size=int(cost.sum()), num_bins=num_bins,
            geometry=(num_bins, COOPERATIVE_THREADS), bin_units=bin_units, **shared,
            counts=counts.reshape(-1),
        )  # fmt: skip
        padded = -(-counts // PAGERANK_VECTOR) * PAGERANK_VECTOR
        if int(padded.sum(axis=1).max()) <= bin_capacity:
            break
    return bin_units, counts


def allocate_buffers(layout: BlockedLayout) -> dict[str, Array]:
    """Return the arrays that `launch_iterations` needs only within a launch, by parameter name."""
    xp = device.array_module(layout.order)
    num_partials = 1 if xp is np else 4 * device.max_cooperative_blocks()
    return {
        "values": xp.zeros(max(layout.num_values, PAGERANK_VECTOR), xp.float32),
        "chunk_sums": xp.zeros(max(layout.arguments["chunk_rows"].size, 1)),
        "arrived_blocks": xp.zeros(1, xp.uint64),
        "partials": xp.zeros(num_partials),
    }


def launch_iterations(
    layout: BlockedLayout,
    num_iterations: int,
    tolerance: float,
    damping: float,
    teleport: Array,
    dangling_weights: Array,
    contributions: Array,
    pagerank: Array,
    buffers: dict[str, Array],
    state: Array,
    *,
    num_isolated: int = 0,
) -> None:
    """Run up to `num_iterations` in one launch.

    Parameters are those of `pagerank_layout.launch_iterations`, except that `pagerank` has the
    value of every row.
    """
    buffers["arrived_blocks"].fill(0)
    device.launch(
        "pagerank_blocks", "iterate_blocks", size=2**31, threads=COOPERATIVE_THREADS,
        cooperative=True, shared_bytes=layout.arguments["tile_width"] * pagerank.itemsize,
        num_iterations=num_iterations, tolerance=tolerance, damping=damping,
        num_rows=layout.order.size, num_isolated=num_isolated,
        num_bins=layout.num_active_bins if num_isolated else layout.num_bins,
        contribution_index=layout.contribution_index, inverse_weights=layout.inverse_weights,
        teleport=teleport, num_teleports=teleport.size, dangling_weights=dangling_weights,
        num_dangling_weights=dangling_weights.size, contributions=contributions.reshape(-1),
        pagerank=pagerank, state=state, **layout.arguments, **buffers,
    )  # fmt: skip
