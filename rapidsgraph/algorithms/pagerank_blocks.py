"""The layout of PageRank with propagation blocking, and the launch of its iterations.

Once contributions exceed the L2 cache, `pagerank_layout` reads a sector of 32 bytes per gather.
Propagation blocking [1]_ reads and writes global memory in order and gathers from shared memory
only: 2 bytes per arc, and 10 per value in single precision or 18 in double precision. A value is a
contribution that is not cached, or the sum of several (`pagerank_tiles`). The kernels in
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
from ..graph.csr import Adjacency
from ..graph.local_graph import LocalGraph
from ..kernels.constants import COOPERATIVE_THREADS, PAGERANK_VECTOR, WARP
from .pagerank_bins import (
    ENTRIES_PER_VALUE,
    GROUP,
    UNIT_COST,
    Units,
    choose_bins,
    count_units,
    divide_rows,
    divide_units,
    max_summed,
)
from .pagerank_layout import invert_order, invert_weights, order_by_degree, order_rows
from .pagerank_tiles import (
    TILE_VALUES,
    VECTOR_BYTES,
    GroupedLists,
    Ranges,
    Tiles,
    divide_contributions,
    group_sources,
)

# On an H200, propagation blocking is faster from about this size on.
MIN_ARCS = 1.2e8
MIN_VERTICES = 2**22
MIN_MEAN_DEGREE = 8  # narrow rows have neighborhoods that caches serve well
MIN_ITERATIONS = 16  # fewer take less time than the layout
SHARED_BYTES = 220 * 1024  # of a block; the rest is L1 cache
ZEROED_BUFFERS = ("values", "chunk_sums", "arrived_blocks", "partials")
HOT_FRACTION = 0.4  # of the shared memory, for hot contributions


@dataclass(frozen=True)
class BlockedLayout:
    """Rows, bins and tiles, as the kernel `iterate_blocks` in pagerank_blocks.cu reads them.

    Attributes
    ----------
    order, contribution_index, num_contributions, num_isolated, num_dangling, inverse_weights
        As in `PageRankLayout`, but rows are by descending number of entries.
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
    num_dangling: int
    inverse_weights: Array
    num_values: int
    num_bins: int
    num_active_bins: int
    arguments: dict[str, Any]


def pays_off(graph: LocalGraph, max_iterations: int) -> bool:
    """Return whether propagation blocking is probably faster for a graph, with its layout."""
    return (
        graph.xp is not np
        and max_iterations >= MIN_ITERATIONS
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
    value_type : numpy.float32 or numpy.float64
    shared_bytes : int, default `SHARED_BYTES`
        Shared memory of a block.
    """
    xp, num_rows = device.array_module(csc.neighbors), csc.offsets.size - 1
    if xp is not np:
        device.compile_ahead("pagerank blocks", values=value_type)
    value_bytes, weighted = np.dtype(value_type).itemsize, weights.size > 0
    num_slots = shared_bytes // value_bytes // 8 * 8
    num_cached = min(int(num_slots * HOT_FRACTION), num_rows) // 8 * 8
    num_summed = 0 if weighted else max_summed(num_slots - num_cached, value_bytes)
    rows = _group_rows(csc, out_degrees, out_weights, num_cached, num_slots, num_summed)
    bins = _divide_into_bins(rows, num_slots - num_cached, value_bytes)
    # Buffers of contributions start at multiples of a vector.
    num_contributions = (num_rows // PAGERANK_VECTOR + 1) * PAGERANK_VECTOR - 1
    arguments = {
        **_place_entries(rows, bins, weights, value_type), **rows.units.arguments,
        "num_tiles": bins.tiles.terms.size, "num_cached": num_cached, "tile_width": num_slots,
        "num_contributions": num_contributions,
        "num_long_rows": rows.units.class_rows[1],
        "num_huge_rows": rows.units.num_huge_rows,
    }  # fmt: skip
    num_active_units = count_units(rows.units, num_rows - rows.num_isolated)
    first_units = device.to_host(bins.bin_units)[:-1]
    num_active_bins = int(np.searchsorted(first_units, num_active_units))
    return BlockedLayout(
        rows.order, device.take(rows.contribution_index, rows.order), num_contributions,
        rows.num_isolated, rows.num_dangling,
        invert_weights(out_weights, rows.order, value_type), int(bins.tile_starts[-1]),
        bins.bin_units.size - 1, num_active_bins, arguments,
    )  # fmt: skip


@dataclass(frozen=True)
class _Rows:
    """Rows by descending number of entries, and the lists of these.

    Attributes
    ----------
    order, contribution_index : int32, shape (vertices,)
        The vertex of each row, and the contribution of each vertex.
    num_isolated, num_dangling : int
        Number of last rows whose vertices have no edges, and of rows without out-edges.
    offsets : int64, shape (vertices + 1,)
        Of the CSC.
    ranges : Ranges
    lists : GroupedLists
    units : Units
    """

    order: Array
    contribution_index: Array
    num_isolated: int
    num_dangling: int
    offsets: Array
    ranges: Ranges
    lists: GroupedLists
    units: Units

    @property
    def arguments(self) -> dict[str, Any]:
        """Parameters of kernels by name."""
        return {
            **self.units.arguments, **self.lists.arguments, "num_rows": self.order.size,
            "order": self.order, "offsets": self.offsets,
        }  # fmt: skip


def _group_rows(
    csc: Adjacency,
    out_degrees: Array,
    out_weights: Array,
    num_cached: int,
    width: int,
    num_summed: int,
) -> _Rows:
    """Order the contributions and rows of a graph, and group the entries of each row.

    At most `num_summed` ranges have sums.
    """
    # Ties of both orders are in the order of the other, so that the contributions of consecutive
    # rows are mostly stored next to each other.
    by_degree = order_rows(csc, out_weights)
    by_gathers = device.take(
        by_degree.order, order_by_degree(device.take(out_degrees, by_degree.order))
    )
    contribution_index = invert_order(by_gathers)
    ranges = divide_contributions(out_degrees, by_gathers, num_cached, width, num_summed)
    lists = group_sources(csc, by_degree.order, contribution_index, ranges)
    lengths, ranks = lists.measure(csc.offsets, out_weights)
    order = device.take(by_gathers, order_by_degree(device.take(ranks, by_gathers)))
    units = divide_rows(device.take(lengths, order))
    return _Rows(
        order,
        contribution_index,
        by_degree.counts.isolated,
        by_degree.counts.dangling,
        csc.offsets,
        ranges,
        lists,
        units,
    )


@dataclass(frozen=True)
class _Bins:
    """Bins of rows, tiles of contributions, and the segments of values where both meet.

    Attributes
    ----------
    tiles : Tiles
    bins_per_block, bin_capacity : int
        Bins that a block has at once, and values of a bin.
    bin_units : int32, shape (bins + 1,)
        The first unit of each bin.
    tile_starts : int64, shape (tiles + 2,), on the host
        First value between the phases of each tile, with padding, and the end of the last.
    segments : dict
        Parameters of kernels by name.
    """

    tiles: Tiles
    bins_per_block: int
    bin_capacity: int
    bin_units: Array
    tile_starts: np.ndarray
    segments: dict[str, Array]


def _divide_into_bins(rows: _Rows, num_slots: int, value_bytes: int) -> _Bins:
    """Divide rows into bins, given the values in shared memory for these."""
    units, vector = rows.units, VECTOR_BYTES // value_bytes
    xp, num_units = device.array_module(rows.order), units.num_units
    costs, num_cold = xp.empty(num_units, xp.int64), xp.zeros(1, xp.int64)
    device.launch(
        "pagerank_blocks_bins", "measure_costs", size=num_units * WARP, num_units=num_units,
        unit_cost=UNIT_COST, group_cost=GROUP // ENTRIES_PER_VALUE,
        num_cached=rows.ranges.num_cached, **rows.arguments, cold_counts=rows.lists.cold_counts,
        costs=costs, num_cold=num_cold,
    )  # fmt: skip
    num_ranges, bins_per_block, bin_capacity = choose_bins(
        rows.ranges, int(num_cold[0]), num_slots, value_bytes
    )
    tiles = Tiles(rows.ranges, num_ranges)
    arguments = {"num_tiles": tiles.terms.size, **rows.ranges.arguments, **rows.arguments}
    bin_units, counts, segment_offsets = divide_units(costs, bin_capacity, vector, arguments)
    del costs
    tile_starts, segments = _place_segments(counts, bin_units.size - 1, vector)
    segments["segment_offsets"] = segment_offsets
    return _Bins(tiles, bins_per_block, bin_capacity, bin_units, tile_starts, segments)


def _place_entries(rows: _Rows, bins: _Bins, weights: Array, value_type: type) -> dict[str, Any]:
    """Return the entries of bins and the sources of tiles: parameters of kernels by name."""
    xp, value_bytes, weighted = (
        device.array_module(weights), np.dtype(value_type).itemsize, weights.size > 0,
    )  # fmt: skip
    tile_starts, num_bins = bins.tile_starts, bins.bin_units.size - 1
    num_entries = int(rows.units.arguments["unit_offsets"][-1]) * GROUP
    tile_arguments = bins.tiles.arguments(tile_starts[:-1], value_bytes, xp)
    num_sources = int(tile_arguments["source_starts"][-1])
    num_in_tail = int(tile_starts[-1] - tile_starts[-2])
    arguments = {
        "bin_capacity": bins.bin_capacity, "bins_per_block": bins.bins_per_block,
        "bin_units": bins.bin_units, **bins.segments, "positions": xp.empty(num_entries, xp.uint16),
        "sources": xp.zeros(max(num_sources, TILE_VALUES), xp.uint16),
        "tail_sources": xp.zeros(max(num_in_tail, 1), xp.int32), "weighted": weighted,
    }  # fmt: skip
    new_weights = xp.empty(num_entries if weighted else 0, value_type)
    device.launch(
        "pagerank_blocks_bins", "place_entries", size=num_entries, num_bins=num_bins,
        geometry=(num_bins, COOPERATIVE_THREADS), num_tiles=bins.tiles.terms.size,
        **rows.ranges.arguments, **rows.arguments, **arguments, vector=VECTOR_BYTES // value_bytes,
        weights=weights, source_starts=tile_arguments["source_starts"], new_weights=new_weights,
    )  # fmt: skip
    return {**arguments, **tile_arguments, "weights": new_weights}


def _place_segments(
    counts: Array, num_bins: int, vector: int
) -> tuple[np.ndarray, dict[str, Array]]:
    """Return the first value of each tile, on the host, and parameters of kernels by name.

    Segments are in the order of bins within a tile, and in the order of tiles within a bin.

    Parameters
    ----------
    counts : int32, shape (bins * (tiles + 1),)
        Number of values per bin and tile.
    num_bins : int
    vector : int
        Values by which segments are padded.
    """
    xp, num_segments = device.array_module(counts), counts.size // num_bins
    sizes, segment_starts = xp.empty(num_segments, xp.int64), xp.empty(counts.size, xp.int32)
    device.launch(
        "pagerank_blocks_bins", "place_in_tiles", size=counts.size,
        geometry=(-(-num_segments // WARP), COOPERATIVE_THREADS), num_bins=num_bins,
        num_segments=num_segments, vector=vector, counts=counts, segment_starts=segment_starts,
        sizes=sizes,
    )  # fmt: skip
    alignment = TILE_VALUES // vector
    padded = -(-device.to_host(sizes) // alignment) * alignment
    tile_offsets = np.append(0, np.cumsum(padded))
    device.launch(
        "pagerank_blocks_bins", "add_tile_offsets", size=counts.size, num_bins=num_bins,
        num_segments=num_segments, tile_offsets=xp.asarray(tile_offsets),
        segment_starts=segment_starts,
    )  # fmt: skip
    tile_starts = tile_offsets * vector
    return tile_starts, {
        "tile_starts": xp.asarray(tile_starts), "segment_starts": segment_starts
    }  # fmt: skip


def buffer_sizes(layout: BlockedLayout) -> dict[str, tuple[int, Any]]:
    """Return the sizes and types of arrays, as `pagerank_layout.buffer_sizes` does."""
    num_partials = 4 * device.max_cooperative_blocks() if device.is_on_gpu(layout.order) else 1
    return {
        "values": (max(layout.num_values, TILE_VALUES), layout.inverse_weights.dtype),
        "chunk_sums": (max(layout.arguments["chunk_rows"].size, 1), np.float64),
        "arrived_blocks": (1, np.uint64),
        "partials": (num_partials, np.float64),
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
