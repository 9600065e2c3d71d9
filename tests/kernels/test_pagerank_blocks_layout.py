"""Units, bins and segments of propagation blocking, on both twins, beside plain NumPy."""

import numpy as np
import pytest

from rapidsgraph import device
from rapidsgraph.algorithms import pagerank_bins, pagerank_tiles
from rapidsgraph.algorithms.pagerank_blocks import _place_segments
from rapidsgraph.kernels.constants import (
    PAGERANK_BLOCK_CHUNK,
    PAGERANK_LANE_ENTRIES,
    PAGERANK_LONG_SUM,
    PAGERANK_SHORT_SUM,
    WARP,
)

pytestmark = pytest.mark.sanitizer


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request):
    return pytest.importorskip(request.param)


def host(*arrays):
    return [device.to_host(values) for values in arrays]


@pytest.mark.parametrize("num_cached", [0, 8, 4999, 5000])
def test_gathers_of_ranges(xp, num_cached):
    degrees = np.random.default_rng(1).integers(0, 99, 5000).astype(float)
    order = np.argsort(-degrees, kind="stable").astype(np.int32)
    ranges = pagerank_tiles.divide_contributions(
        xp.asarray(degrees), xp.asarray(order), num_cached, width=600, max_summed=3
    )
    others = degrees[order[num_cached:]]
    expected = [others[i : i + 600].sum() for i in range(0, others.size, 600)]
    assert ranges.gathers.tolist() == expected
    assert ranges.num_summed == min(3, np.count_nonzero(expected))


def test_lengths_and_ranks_of_lists(xp):
    random = np.random.default_rng(2)
    lengths = random.integers(0, 500, 1000)
    lengths[::7] = 0
    long_sums, short_sums = (lengths // (3 * terms) for terms in (8, 2))
    out_weights = random.integers(0, 2, 1000) * 0.25
    lists = pagerank_tiles.GroupedLists(
        None, xp.asarray(long_sums.astype(np.int32)), xp.asarray(short_sums.astype(np.int32)), None
    )
    offsets = xp.asarray(np.append(0, np.cumsum(lengths)))
    entries, ranks = host(*lists.measure(offsets, xp.asarray(out_weights)))
    expected = lengths - (PAGERANK_LONG_SUM - 1) * long_sums
    expected -= (PAGERANK_SHORT_SUM - 1) * short_sums
    assert entries.tolist() == expected.tolist()
    assert ranks.tolist() == (2 * expected + (out_weights > 0)).tolist()
    count = xp.zeros(1, np.int64)
    device.launch(
        "pagerank_blocks_rows", "count_longer", size=1000,
        num_rows=1000, length=250, offsets=offsets, count=count,
    )  # fmt: skip
    assert int(count[0]) == np.count_nonzero(lengths > 250)


@pytest.mark.parametrize(
    "lengths",
    [
        [70_000, 33_000, 32_768, 1025, 1024, 513, 512, 257, 256, 100, 33, 32, 17, 16, 15, 1, 0, 0],
        [40] * 100 + [3] * 77,
        [600],
        [0, 0],
    ],
    ids=["every class", "two classes", "one row", "no entries"],
)
def test_units_of_rows(xp, lengths):
    lengths = np.array(lengths, np.int64)
    units = pagerank_bins.divide_rows(xp.asarray(lengths))
    starts, rows, chunk_rows, chunk_starts, offsets = (
        values.tolist() for values in host(*units.arguments.values())
    )
    limits = [PAGERANK_BLOCK_CHUNK >> level for level in range(6)]
    assert rows == [0, *(np.count_nonzero(lengths > limit) for limit in limits), lengths.size]
    chunks = [-(-length // PAGERANK_BLOCK_CHUNK) for length in lengths[: rows[1]].tolist()]
    assert chunk_rows == [row for row, count in enumerate(chunks) for _ in range(count)]
    assert chunk_starts == [0, *np.cumsum(chunks)]
    longest = [
        min(int(lengths[row]) - (unit - chunk_starts[row]) * PAGERANK_BLOCK_CHUNK, 512)
        for unit, row in enumerate(chunk_rows)
    ]
    groups = [-(-length // (WARP * PAGERANK_LANE_ENTRIES)) for length in longest]
    for level in range(6):
        assert starts[level + 1] == len(groups)
        lanes = WARP >> level
        longest = lengths[rows[level + 1] : rows[level + 2] : WARP // lanes].tolist()
        groups += [-(-length // (lanes * PAGERANK_LANE_ENTRIES)) for length in longest]
    assert starts[0] == 0 and starts[7] == len(groups)
    assert offsets == [0, *np.cumsum(groups)]
    assert units.num_huge_rows == np.count_nonzero(lengths > 64 * PAGERANK_BLOCK_CHUNK)


@pytest.mark.parametrize("max_cost", [1, 70, 10**9])
def test_bins_of_units(xp, max_cost):
    costs = np.random.default_rng(3).integers(1, 50, 1000)
    starts = np.append(0, np.cumsum(costs))
    num_bins = int(starts[-2]) // max_cost + 1
    bin_units = xp.empty(num_bins + 1, np.int32)
    device.launch(
        "pagerank_blocks_bins", "find_bins", size=num_bins + 1, num_bins=num_bins,
        num_units=1000, max_cost=max_cost, starts=xp.asarray(starts), bin_units=bin_units,
    )  # fmt: skip
    expected = np.searchsorted(starts[:-1] // max_cost, np.arange(num_bins + 1))
    assert bin_units.tolist() == expected.tolist()
    assert bin_units[-1] == 1000


@pytest.mark.parametrize("vector", [2, 4])
@pytest.mark.parametrize(("num_bins", "num_segments"), [(1, 1), (7, 33), (100, 700), (1000, 5)])
def test_segments_of_bins_and_tiles(xp, num_bins, num_segments, vector):
    counts = np.random.default_rng(4).integers(0, 40, (num_bins, num_segments)).astype(np.int32)
    counts[counts < 9] = 0
    vectors = -(-counts // vector)
    offsets = xp.empty(num_bins * (num_segments + 1), np.uint16)
    most = xp.zeros(1, np.int64)
    device.launch(
        "pagerank_blocks_bins", "measure_bins", size=counts.size, geometry=(num_bins, 256),
        num_bins=num_bins, num_segments=num_segments, vector=vector,
        counts=xp.asarray(counts.reshape(-1)), segment_offsets=offsets, max_vectors=most,
    )  # fmt: skip
    found = device.to_host(offsets).reshape(num_bins, -1)
    assert not found[:, 0].any()
    assert (np.diff(found.astype(int), axis=1) == vectors).all()
    assert int(most[0]) == vectors.sum(axis=1).max()
    tile_starts, segments = _place_segments(xp.asarray(counts.reshape(-1)), num_bins, vector)
    starts = device.to_host(segments["segment_starts"]).reshape(num_bins, -1).astype(int)
    assert tile_starts.tolist() == segments["tile_starts"].tolist()
    assert (tile_starts % pagerank_tiles.TILE_VALUES == 0).all()
    assert (starts[0] * vector == tile_starts[:-1]).all()
    assert (np.diff(starts, axis=0) == vectors[:-1]).all()
    ends = (starts[-1] + vectors[-1]) * vector
    assert (tile_starts[1:] - ends >= 0).all()
    assert (tile_starts[1:] - ends < pagerank_tiles.TILE_VALUES).all()
