"""Sums of contributions for PageRank with propagation blocking: ranges, tiles and grouped lists.

Rows have several arcs from the vertices of most out-edges. Where that is so, one value is the sum
of several contributions, so that fewer values pass through memory; pagerank_blocks.cu has details.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import device
from ..device import Array, ArrayModule
from ..graph.csr import Adjacency
from ..kernels.constants import (
    BLOCK_THREADS,
    PAGERANK_LONG_SUM,
    PAGERANK_MAX_SUMMED,
    PAGERANK_SHORT_SUM,
    PAGERANK_SUM_KINDS,
    WARP,
)

MIN_SUM_GATHERS = 2**-11  # fraction of gathers from a range that is worth sums
SHARED_ROW = 8192  # longest row whose sources one warp groups
VECTOR_BYTES = 16  # that a thread copies at once
MAX_SOURCES_AT_ONCE = 8  # that a thread loads at once
TILE_VALUES = 8  # a tile has a multiple of these values, so that its sources are aligned
TERMS = (PAGERANK_LONG_SUM, PAGERANK_SHORT_SUM, 1)


@dataclass(frozen=True)
class Ranges:
    """Contributions: `num_cached` hot ones, then ranges of `width`.

    Attributes
    ----------
    num_cached, width : int
    num_summed : int
        Number of first ranges that have sums.
    gathers : float64, shape (ranges,), on the host
        Number of gathers from each range.
    """

    num_cached: int
    width: int
    num_summed: int
    gathers: np.ndarray

    @property
    def arguments(self) -> dict[str, Any]:
        """Parameters of kernels by name."""
        return {
            "num_cached": self.num_cached, "tile_width": self.width, "num_summed": self.num_summed
        }  # fmt: skip


def divide_contributions(
    out_degrees: Array, by_gathers: Array, num_cached: int, width: int, max_summed: int
) -> Ranges:
    """Divide the contributions, in the order `by_gathers`, into ranges of `width`.

    `by_gathers` has the vertices by descending number of gathers, their out-degrees. At most
    `max_summed` ranges have sums.
    """
    num_ranges = -(-(by_gathers.size - num_cached) // width)
    sums = device.array_module(out_degrees).empty(num_ranges)
    device.launch(
        "pagerank_blocks_rows", "sum_gathers", size=num_ranges * BLOCK_THREADS,
        num_vertices=by_gathers.size, num_cached=num_cached, tile_width=width, order=by_gathers,
        out_degrees=out_degrees, sums=sums,
    )  # fmt: skip
    gathers = device.to_host(sums)
    is_worth = gathers >= max(MIN_SUM_GATHERS * gathers.sum(), 1)
    num_summed = min(int(np.count_nonzero(is_worth)), max_summed, PAGERANK_MAX_SUMMED)
    return Ranges(num_cached, width, num_summed, gathers)


@dataclass(frozen=True)
class GroupedLists:
    """Lists of in-neighbors as contributions, those of sums first.

    Attributes
    ----------
    grouped : int32, shape (arcs,)
    long_sums, short_sums : int32, shape (vertices,)
    cold_counts : int32, shape (vertices,)
        Number of entries that are not cached.
    """

    grouped: Array
    long_sums: Array
    short_sums: Array
    cold_counts: Array

    @property
    def arguments(self) -> dict[str, Array]:
        """Parameters of kernels by name."""
        return {
            "grouped": self.grouped, "long_sums": self.long_sums, "short_sums": self.short_sums
        }  # fmt: skip

    def measure(self, offsets: Array, out_weights: Array) -> tuple[Array, Array]:
        """Return the number of entries of each row, and its rank.

        Entries are sums and single contributions, as int64. Ranks, as float64, ascend with the
        number of entries; isolated rows have the lowest.
        """
        xp, num_rows = device.array_module(offsets), offsets.size - 1
        lengths, ranks = xp.empty(num_rows, xp.int64), xp.empty(num_rows)
        device.launch(
            "pagerank_blocks_rows", "measure_lists", size=num_rows, num_rows=num_rows,
            offsets=offsets, long_sums=self.long_sums, short_sums=self.short_sums,
            out_weights=out_weights, lengths=lengths, ranks=ranks,
        )  # fmt: skip
        return lengths, ranks


def group_sources(
    csc: Adjacency, order: Array, vertex_index: Array, ranges: Ranges
) -> GroupedLists:
    """Return the grouped lists of a graph.

    Parameters
    ----------
    csc : Adjacency
        By destination.
    order : int32
        Rows by descending length.
    vertex_index : int32
        The contribution of each vertex.
    ranges : Ranges
    """
    xp, num_rows = device.array_module(order), order.size
    lists = GroupedLists(
        xp.empty(csc.neighbors.size, xp.int32),
        xp.empty(num_rows, xp.int32),
        xp.empty(num_rows, xp.int32),
        xp.zeros(num_rows, xp.int32),
    )
    range_of_vertex = xp.empty(num_rows, xp.uint8)
    device.launch(
        "pagerank_blocks_rows", "find_ranges", size=num_rows, num_vertices=num_rows,
        **ranges.arguments, contribution_index=vertex_index, ranges=range_of_vertex,
    )  # fmt: skip
    num_long = xp.zeros(1, xp.int64)
    device.launch(
        "pagerank_blocks_rows", "count_longer", size=num_rows,
        num_rows=num_rows, length=SHARED_ROW, offsets=csc.offsets, count=num_long,
    )  # fmt: skip
    num_shared = int(num_long[0])
    warps_per_block = BLOCK_THREADS // WARP
    for first, count, warps in (
        (0, num_shared, warps_per_block),
        (num_shared, num_rows - num_shared, 1),
    ):
        if count:
            device.launch(
                "pagerank_blocks_rows", "group_sources", size=count * warps * WARP,
                first_row=first, num_rows=count, warps_per_row=warps,
                num_cached=ranges.num_cached, num_summed=ranges.num_summed, order=order,
                contribution_index=vertex_index, ranges=range_of_vertex, offsets=csc.offsets,
                neighbors=csc.neighbors, **vars(lists),
            )  # fmt: skip
    return lists


class Tiles:
    """The tiles of the first `num_ranges` ranges.

    Attributes
    ----------
    terms : int array
        Number of contributions that are summed in each value.
    firsts : int array
        First contribution.
    """

    def __init__(self, ranges: Ranges, num_ranges: int) -> None:
        summed = np.arange(ranges.num_summed)
        others = np.arange(ranges.num_summed, num_ranges)
        self.terms = np.array([*TERMS * summed.size, *[1] * others.size], np.int32)
        range_of_tile = np.concatenate([np.repeat(summed, PAGERANK_SUM_KINDS), others])
        self.firsts = ranges.num_cached + range_of_tile * ranges.width
        self.width = ranges.width

    def arguments(
        self, tile_starts: np.ndarray, value_bytes: int, xp: ArrayModule
    ) -> dict[str, Array]:
        """Return parameters of `iterate_blocks` by name.

        `tile_starts` has the first value of each tile, and the end of the last.
        """
        terms = self.terms
        num_sources = np.diff(tile_starts) * terms
        at_once = np.minimum(terms * (VECTOR_BYTES // value_bytes), MAX_SOURCES_AT_ONCE)
        # Work is in bytes: the sources and values of each load, and contributions. A gather from
        # shared memory takes about as long as half a value.
        load_bytes = 2 * at_once + at_once // terms * value_bytes + at_once * value_bytes // 2
        work = np.maximum(num_sources // at_once * load_bytes, 1) + self.width * value_bytes
        return {
            "source_starts": xp.asarray(np.append(0, np.cumsum(num_sources)).astype(np.int64)),
            "tile_firsts": xp.asarray(self.firsts.astype(np.int32)),
            "tile_terms": xp.asarray(terms),
            "tile_work": xp.asarray(np.append(0, np.cumsum(work)).astype(np.int64)),
        }
