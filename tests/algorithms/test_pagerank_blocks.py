"""PageRank with propagation blocking, beside the other layout; on a CPU by the Numba twins."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import assert_close, build_storage, ranks_of

import rapidsgraph as rg
from rapidsgraph.algorithms import pagerank_blocks
from rapidsgraph.kernels.constants import PAGERANK_BLOCK_CHUNK

VERTICES = 9001  # the last thousand have no edge


@functools.cache
def edges_of(skew):
    """Edges whose in-lists have every class of length, and whose sources are skewed or uniform."""
    random = np.random.default_rng(1)
    classes = [70 * PAGERANK_BLOCK_CHUNK + 1, 3 * PAGERANK_BLOCK_CHUNK, PAGERANK_BLOCK_CHUNK]
    lengths = np.array([*classes, 300, 129, *range(128, 0, -4), *(9000 * [9])])[: VERTICES - 1000]
    destinations = np.repeat(np.arange(lengths.size), lengths)
    sources = (random.random(destinations.size) ** skew * (VERTICES - 1500)).astype(np.int64)
    weights = random.random(sources.size) + 0.1
    return {"source": sources, "destination": destinations, "weight": weights}


@pytest.fixture
def blocked(monkeypatch):
    """A function that turns propagation blocking on, with little shared memory."""

    def enable(shared_bytes, **constants):
        arrange = functools.partial(pagerank_blocks.arrange, shared_bytes=shared_bytes)
        monkeypatch.setattr(pagerank_blocks, "arrange", arrange)
        monkeypatch.setattr(pagerank_blocks, "pays_off", lambda *_: True)
        for name, value in constants.items():
            monkeypatch.setattr(pagerank_blocks, name, value)

    return enable


def pagerank(columns, options, maker, weighted=False):
    graph = build_storage(
        maker(columns), weight="weight" if weighted else None, vertices=VERTICES, multi_edges="keep"
    )
    given = {name: maker(values) for name, values in options.items() if isinstance(values, dict)}
    ranks = rg.pagerank(graph, precision="single", tolerance=0, max_iterations=15, **given)
    return ranks_of(ranks), next(iter(graph._cache.values()))


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    ("skew", "shared_bytes", "constants", "has_tiles", "has_tail"),
    [
        (1, 2**13, {}, True, False),
        (1, 2**15, {"MAX_BINS_PER_BLOCK": 2}, True, False),
        (3, 2**13, {"MIN_SEGMENT": 40}, True, True),
        (1, 2**14, {"MIN_SEGMENT": 1e9}, False, True),
        (6, 2**17, {}, False, False),
    ],
)
def test_blocking_gives_the_ranks_of_the_other_layout(
    make_arrays, blocked, weighted, skew, shared_bytes, constants, has_tiles, has_tail
):
    columns = edges_of(skew)
    expected, _ = pagerank(columns, {}, make_arrays, weighted)
    blocked(shared_bytes, **constants)
    ranks, layout = pagerank(columns, {}, make_arrays, weighted)
    assert isinstance(layout, pagerank_blocks.BlockedLayout)
    assert (layout.arguments["num_tiles"] > 0) is has_tiles
    tail_start = int(layout.arguments["tile_starts"][-2])
    assert (layout.num_values > tail_start) is has_tail
    assert layout.arguments["num_huge_rows"] == 1
    assert layout.num_active_bins <= layout.num_bins
    assert_close(ranks, expected, 3e-7 * max(expected.values()))


@pytest.mark.sanitizer
@pytest.mark.parametrize("name", ["personalization", "start", "dangling"])
def test_blocking_with_values_by_vertex(make_arrays, blocked, name):
    values = {"vertex": np.arange(VERTICES), "x": np.random.default_rng(2).random(VERTICES)}
    expected, _ = pagerank(edges_of(1), {name: values}, make_arrays)
    blocked(2**13)
    ranks, _ = pagerank(edges_of(1), {name: values}, make_arrays)
    assert_close(ranks, expected, 3e-7 * max(expected.values()))


@pytest.mark.parametrize(
    ("num_arcs", "num_vertices", "value_type", "shared_bytes", "pays_off"),
    [
        (10**9, 2**24, np.float32, 2**20, True),
        (10**9, 2**24, np.float64, 2**20, False),
        (10**7, 2**24, np.float32, 2**20, False),
        (10**9, 2**28, np.float32, 2**20, False),
        (10**9, 2**20, np.float32, 2**20, False),
        (10**9, 2**24, np.float32, 2**16, False),
    ],
)
def test_blocking_is_for_large_graphs_in_single_precision(
    monkeypatch, num_arcs, num_vertices, value_type, shared_bytes, pays_off
):
    monkeypatch.setattr(pagerank_blocks.device, "max_shared_bytes", lambda: shared_bytes)
    graph = SimpleNamespace(xp=None, num_arcs=num_arcs, num_vertices=num_vertices)
    assert pagerank_blocks.pays_off(graph, value_type) is pays_off
    graph.xp = np
    assert not pagerank_blocks.pays_off(graph, value_type)
