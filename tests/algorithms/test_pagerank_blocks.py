"""PageRank with propagation blocking, beside the other layout; on a CPU by the Numba twins."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import assert_close, build_storage, ranks_of

import rapidsgraph as rg
from rapidsgraph.algorithms import pagerank_bins, pagerank_blocks, pagerank_layout, pagerank_tiles
from rapidsgraph.kernels.constants import PAGERANK_BLOCK_CHUNK

VERTICES = 9001  # the last thousand have no edge


@functools.cache
def edges_of(skew):
    """Edges whose in-lists have every class of length, and whose sources are skewed or uniform."""
    random = np.random.default_rng(1)
    classes = [600 * PAGERANK_BLOCK_CHUNK + 1, 3 * PAGERANK_BLOCK_CHUNK, PAGERANK_BLOCK_CHUNK]
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
            module = pagerank_bins if hasattr(pagerank_bins, name) else pagerank_tiles
            monkeypatch.setattr(module, name, value)

    return enable


# Relative to the largest value.
TOLERANCES = {"single": 3e-7, "double": 1e-12}


def pagerank(columns, options, maker, weighted=False, precision="single"):
    graph = build_storage(
        maker(columns), weight="weight" if weighted else None, vertices=VERTICES, multi_edges="keep"
    )
    given = {name: maker(values) for name, values in options.items() if isinstance(values, dict)}
    ranks = rg.pagerank(graph, precision=precision, tolerance=0, max_iterations=15, **given)
    return ranks_of(ranks), next(iter(graph._cache.values()))


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    ("skew", "shared_bytes", "constants", "has_tiles", "has_tail"),
    [
        (1, 2**13, {}, True, False),
        (1, 2**15, {"MAX_BINS_PER_BLOCK": 2}, True, False),
        (3, 2**13, {"MIN_SEGMENT": 40, "MIN_SUM_GATHERS": 1}, True, True),
        (1, 2**14, {"MIN_SEGMENT": 1e9, "MIN_SUM_GATHERS": 1}, False, True),
        (6, 90 * 2**10, {}, False, False),  # all contributions fit, also in double precision
    ],
)
def test_blocking_gives_the_ranks_of_the_other_layout(
    make_arrays, blocked, precision, weighted, skew, shared_bytes, constants, has_tiles, has_tail
):
    columns = edges_of(skew)
    expected, _ = pagerank(columns, {}, make_arrays, weighted, precision)
    blocked(shared_bytes * (2 if precision == "double" else 1), **constants)
    ranks, layout = pagerank(columns, {}, make_arrays, weighted, precision)
    assert isinstance(layout, pagerank_blocks.BlockedLayout)
    assert (layout.arguments["num_tiles"] > 0) is has_tiles
    tail_start = int(layout.arguments["tile_starts"][-2])
    assert (layout.num_values > tail_start) is has_tail
    assert layout.arguments["num_huge_rows"] == 1
    assert layout.num_active_bins <= layout.num_bins
    assert_close(ranks, expected, TOLERANCES[precision] * max(expected.values()))
    again, _ = pagerank(columns, {}, make_arrays, weighted, precision)
    assert again == ranks


@pytest.mark.sanitizer
@pytest.mark.parametrize("name", ["personalization", "start", "dangling"])
def test_blocking_with_values_by_vertex(make_arrays, blocked, name):
    values = {"vertex": np.arange(VERTICES), "x": np.random.default_rng(2).random(VERTICES)}
    expected, _ = pagerank(edges_of(1), {name: values}, make_arrays)
    blocked(2**13)
    ranks, _ = pagerank(edges_of(1), {name: values}, make_arrays)
    assert_close(ranks, expected, TOLERANCES["single"] * max(expected.values()))


@pytest.mark.sanitizer
@pytest.mark.parametrize("skew", [1, 3])
def test_lists_are_grouped_by_range_and_otherwise_in_order(make_arrays, monkeypatch, skew):
    monkeypatch.setattr(pagerank_tiles, "SHARED_ROW", 1000)
    columns = edges_of(skew)
    graph = build_storage(make_arrays(columns), vertices=VERTICES, multi_edges="keep")
    csc, xp = graph.csc, graph.xp
    rows = pagerank_blocks.order_rows(csc, graph.out_weights)
    by_gathers = pagerank_blocks.order_by_degree(graph.out_degrees)
    vertex_index = pagerank_blocks.invert_order(by_gathers)
    ranges = pagerank_tiles.divide_contributions(
        graph.out_degrees, by_gathers, num_cached=80, width=600, max_summed=5
    )
    assert ranges.num_summed == 5
    lists = pagerank_tiles.group_sources(csc, rows.order, vertex_index, ranges)
    arrays = [csc.offsets, csc.neighbors, vertex_index, *vars(lists).values()]
    if xp is not np:
        arrays = [values.get() for values in arrays]
    offsets, neighbors, index, grouped, long_sums, short_sums, cold_counts = arrays
    for row in np.flatnonzero(np.diff(offsets)).tolist():
        contributions = index[neighbors[offsets[row] : offsets[row + 1]]].tolist()
        by_range, others = {}, []
        for contribution in contributions:
            number = (contribution - 80) // 600
            is_summed = contribution >= 80 and number < 5
            (by_range.setdefault(number, []) if is_summed else others).append(contribution)
        expected, counts, rest = [], [], by_range
        for terms in pagerank_tiles.TERMS:
            whole = {number: len(items) // terms * terms for number, items in rest.items()}
            for number in sorted(rest):
                expected += rest[number][: whole[number]]
            counts.append(sum(whole.values()) // terms)
            rest = {number: items[whole[number] :] for number, items in rest.items()}
        assert grouped[offsets[row] : offsets[row + 1]].tolist() == expected + others
        assert [long_sums[row], short_sums[row]] == counts[:2]
        assert cold_counts[row] == sum(counts) + sum(item >= 80 for item in others)


@pytest.mark.parametrize(
    ("num_arcs", "num_vertices", "max_iterations", "shared_bytes", "pays_off"),
    [
        (10**9, 2**24, 100, 2**20, True),
        (10**9, 2**24, 1, 2**20, False),
        (10**7, 2**24, 100, 2**20, False),
        (10**9, 2**28, 100, 2**20, False),
        (10**9, 2**20, 100, 2**20, False),
        (10**9, 2**24, 100, 2**16, False),
    ],
)
def test_blocking_is_for_many_iterations_on_large_graphs(
    monkeypatch, num_arcs, num_vertices, max_iterations, shared_bytes, pays_off
):
    monkeypatch.setattr(pagerank_blocks.device, "max_shared_bytes", lambda: shared_bytes)
    graph = SimpleNamespace(xp=None, num_arcs=num_arcs, num_vertices=num_vertices)
    assert pagerank_blocks.pays_off(graph, max_iterations) is pays_off
    graph.xp = np
    assert not pagerank_blocks.pays_off(graph, max_iterations)


def test_few_iterations_use_a_blocked_layout_that_is_there(make_arrays, monkeypatch):
    arrange = functools.partial(pagerank_blocks.arrange, shared_bytes=2**13)
    monkeypatch.setattr(pagerank_blocks, "arrange", arrange)
    monkeypatch.setattr(pagerank_blocks, "pays_off", lambda _, iterations: iterations > 5)
    monkeypatch.setattr(pagerank_layout, "MAX_DIRECT_LENGTH", 2**20)
    graph = build_storage(make_arrays(edges_of(1)), vertices=VERTICES, multi_edges="keep")
    layouts = []
    for iterations in (2, 2, 9, 2):  # the first call reads the adjacency
        rg.pagerank(graph, tolerance=0, max_iterations=iterations)
        layouts.append([key for key in graph._cache if key.startswith("PageRank")])
    assert layouts[:2] == [[], ["PageRank layout, float64"]]
    assert layouts[2] == layouts[3] == ["PageRank blocks, float64"]  # without the other
