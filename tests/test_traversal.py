"""BFS and SSSP against closed forms, slow loops and NetworkX, from every library."""

from pathlib import Path

import hypothesis.strategies as st
import naive
import networkx
import numpy as np
import pandas
import pytest
from conftest import FrameMaker, columns_of, listed, paths_of, random_edges, to_pandas
from hypothesis import given, settings

import rapidsgraph as rg
from rapidsgraph.generate import grid, rmat

DATA = Path(__file__).parents[2] / "shared" / "data"
INF = float("inf")

both_ways = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


def check(graph, edges, source, *, vertices=(), limit=None, directed=True):
    """BFS (of edges as if without weights) and SSSP are what slow loops find, and verified."""
    sources = source if isinstance(source, list) else [source]
    found = rg.bfs(graph, source, depth_limit=limit)
    options = {"directed": directed, "depth_limit": limit}
    expected = naive.bfs(edges, sources, vertices, **options)
    assert paths_of(found) == expected
    depth = rg.verify.bfs(graph, found, source, depth_limit=limit)
    assert depth == max(d for d in expected[0].values() if d is not None)
    found = rg.sssp(graph, source, cutoff=limit)
    limit = INF if limit is None else limit
    expected = naive.sssp(edges, sources, vertices, cutoff=limit, directed=directed)
    assert paths_of(found) == expected
    longest = rg.verify.sssp(graph, found, source, cutoff=limit)
    assert longest == max(d for d in expected[0].values() if d < INF)


# Closed forms: (pairs, directed, sources, distances, predecessors)


def path(n):
    return [(i, i + 1) for i in range(n - 1)]


def cycle(n):
    return [(i, (i + 1) % n) for i in range(n)]


def star(leaves):
    return [(0, i + 1) for i in range(leaves)]


def clique(n):
    return [(i, j) for i in range(n) for j in range(n) if i != j]


def lattice(width, height):
    right = [(x + width * y, x + 1 + width * y) for y in range(height) for x in range(width - 1)]
    return right + [(v, v + width) for v in range(width * (height - 1))]


def tree(n):
    return [((i - 1) // 2, i) for i in range(1, n)]


NO = None
CLOSED_FORMS = {
    "path": (path(6), True, 0, [0, 1, 2, 3, 4, 5], [NO, 0, 1, 2, 3, 4]),
    "path from its end": (path(4), True, 3, [NO, NO, NO, 0], [NO] * 4),
    "path from its middle": (path(5), True, 2, [NO, NO, 0, 1, 2], [NO, NO, NO, 2, 3]),
    "path both ways": (path(5), False, 2, [2, 1, 0, 1, 2], [1, 2, NO, 2, 3]),
    "path from both ends": (path(5), False, [0, 4], [0, 1, 2, 1, 0], [NO, 0, 1, 4, NO]),
    "star out": (star(5), True, 0, [0, 1, 1, 1, 1, 1], [NO] + [0] * 5),
    "star from a leaf": (star(5), True, 3, [NO, NO, NO, 0, NO, NO], [NO] * 6),
    "star both ways": (star(4), False, 3, [1, 2, 2, 0, 2], [3, 0, 0, NO, 0]),
    "star from all leaves": (star(4), False, [1, 2, 3, 4], [1, 0, 0, 0, 0], [1] + [NO] * 4),
    "cycle": (cycle(6), True, 2, [4, 5, 0, 1, 2, 3], [5, 0, NO, 2, 3, 4]),
    "even cycle both ways": (cycle(6), False, 1, [1, 0, 1, 2, 3, 2], [1, NO, 1, 2, 3, 0]),
    "odd cycle both ways": (cycle(5), False, 0, [0, 1, 2, 2, 1], [NO, 0, 1, 4, 0]),
    "cycle from two": (cycle(6), True, [0, 3], [0, 1, 2, 0, 1, 2], [NO, 0, 1, NO, 3, 4]),
    "clique": (clique(5), True, 3, [1, 1, 1, 0, 1], [3, 3, 3, NO, 3]),
    "clique from two": (clique(5), True, [4, 2], [1, 1, 0, 1, 0], [2, 2, NO, 2, NO]),
    "lattice": (
        lattice(4, 3),
        False,
        0,
        [x + y for y in range(3) for x in range(4)],
        [NO, 0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7],
    ),
    "lattice from its end": (
        lattice(3, 2), False, 5, [3, 2, 1, 2, 1, 0], [1, 2, 5, 4, 5, NO],
    ),
    "binary tree": (
        tree(12),
        True,
        0,
        [(i + 1).bit_length() - 1 for i in range(12)],
        [NO] + [(i - 1) // 2 for i in range(1, 12)],
    ),
    "binary tree from a leaf": (
        tree(7), False, 4, [2, 1, 3, 2, 0, 4, 4], [1, 4, 0, 1, NO, 2, 2],
    ),
    "two components": ([(0, 1), (2, 3)], False, 3, [NO, NO, 1, 0], [NO, NO, 3, NO]),
    "self-loop": ([(0, 0)], True, 0, [0], [NO]),
    "self-loops on the way": ([(0, 0), (0, 1), (1, 1)], True, 0, [0, 1], [NO, 0]),
    "parallel edges": ([(0, 1), (1, 2), (0, 1)], True, 0, [0, 1, 2], [NO, 0, 1]),
    "the smallest of many": (
        [(0, 3), (0, 2), (0, 1), (3, 4), (2, 4), (1, 4)],
        True, 0, [0, 1, 1, 1, 2], [NO, 0, 0, 0, 1],
    ),
    "every vertex": (cycle(3), True, [0, 1, 2], [0, 0, 0], [NO] * 3),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(make_arrays, name):
    pairs, directed, source, distances, predecessors = CLOSED_FORMS[name]
    columns = columns_of([(a, b, 0.5) for a, b in pairs])
    unit = rg.Graph(make_arrays(columns), directed=directed)
    half = rg.Graph(make_arrays(columns), weight="weight", directed=directed)
    levels, before = dict(enumerate(distances)), dict(enumerate(predecessors))
    assert paths_of(rg.bfs(unit, source)) == (levels, before)
    assert rg.verify.bfs(unit, rg.bfs(unit, source), source) == max(
        filter(None, distances), default=0
    )
    for graph, length in ((unit, 1.0), (half, 0.5)):
        expected = {v: INF if d is None else d * length for v, d in levels.items()}
        found = rg.sssp(graph, source)
        assert paths_of(found) == (expected, before)
        longest = max(d for d in expected.values() if d < INF)
        assert rg.verify.sssp(graph, found, source) == longest


@pytest.mark.parametrize("name", ["path from its middle", "clique", "the smallest of many"])
def test_closed_forms_from_every_library(make_frame, name):
    pairs, _, source, distances, predecessors = CLOSED_FORMS[name]
    levels, before = dict(enumerate(distances)), dict(enumerate(predecessors))
    frame = make_frame(columns_of([(a, b, 2.5) for a, b in pairs]))
    found = rg.bfs(frame, source)
    assert type(found) is type(frame)
    assert paths_of(found) == (levels, before)
    assert rg.verify.bfs(frame, found, source) == max(filter(None, distances))
    found = rg.sssp(frame, source)
    assert type(found) is type(frame)
    lengths = {v: INF if d is None else 2.5 * d for v, d in levels.items()}
    assert paths_of(found) == (lengths, before)
    assert rg.verify.sssp(frame, found, source) == 2.5 * max(filter(None, distances))


# Weights


WEIGHTED = {
    "the longer way is cheaper": (
        [(0, 2, 5), (0, 1, 1), (1, 2, 3)], 0, [0, 1, 4], [NO, 0, 1],
    ),
    "a tie goes to the smaller": (
        [(0, 2, 1), (0, 1, 2), (2, 3, 2), (1, 3, 1)], 0, [0, 2, 1, 3], [NO, 0, 0, 1],
    ),
    "improved again and again": (
        [(0, 4, 10), (0, 1, 1), (1, 4, 8), (1, 2, 1), (2, 4, 6), (2, 3, 1), (3, 4, 1)],
        0, [0, 1, 2, 3, 4], [NO, 0, 1, 2, 3],
    ),
    "a step of 0": ([(0, 1, 1), (1, 2, 0)], 0, [0, 1, 1], [NO, 0, 1]),
    # 1 leads to 3 at no cost, and yet 2, which is larger, is nearer.
    "nearer goes before equal": (
        [(0, 1, 2), (0, 2, 1), (1, 3, 0), (2, 3, 1)], 0, [0, 2, 1, 2], [NO, 0, 0, 2],
    ),
    "steps of 0 from the source": ([(0, 2, 0), (2, 1, 0)], 0, [0, 0, 0], [NO, 2, 0]),
    # 1 and 2 lead to each other; 1 must not follow 2 although 2 < 3.
    "a cycle of steps of 0": (
        [(0, 3, 1), (3, 1, 0), (1, 2, 0), (2, 1, 0)], 0, [0, 1, 1, 1], [NO, 3, 1, 0],
    ),
    # 4 follows 3, one step from a vertex with a way of its own, and not 1, two steps from it.
    "the fewest steps of 0": (
        [(0, 3, 1), (3, 2, 0), (2, 1, 0), (1, 4, 0), (3, 4, 0)],
        0, [0, 1, 1, 1, 1], [NO, 2, 3, 0, 3],
    ),
    "all at no cost": ([(0, 1, 0), (1, 2, 0), (0, 2, 0)], [2, 0], [0, 0, 0], [NO, 0, NO]),
    "sources that lead to each other": (
        [(0, 1, 0), (1, 0, 0), (1, 2, 3)], [0, 1], [0, 0, 3], [NO, NO, 1],
    ),
    # 1e-20 vanishes beside 1.
    "a weight that vanishes": (
        [(0, 1, 1), (1, 2, 1e-20), (2, 3, 1e-20), (3, 1, 1e-20)],
        0, [0, 1, 1, 1], [NO, 0, 1, 2],
    ),
    "a weight that vanishes only later": (
        [(0, 1, 1e-20), (1, 2, 1), (2, 3, 1e-20)], 0, [0, 1e-20, 1, 1], [NO, 0, 1, 2],
    ),
    "sums that round": ([(0, 1, 0.1), (1, 2, 0.2), (0, 2, 0.3)], 0, [0, 0.1, 0.3], [NO, 0, 0]),
    "sums that round down": (
        [(0, 1, 0.7), (1, 2, 0.1), (0, 2, 0.8)], 0, [0, 0.7, 0.7999999999999999], [NO, 0, 1],
    ),
    "self-loops": ([(0, 0, 0), (0, 1, 2), (1, 1, 0)], 0, [0, 2], [NO, 0]),
    "very large": ([(0, 1, 1e308), (1, 2, 7e307)], 0, [0, 1e308, 1.7e308], [NO, 0, 1]),
    "very small": ([(0, 1, 5e-324), (1, 2, 5e-324)], 0, [0, 5e-324, 1e-323], [NO, 0, 1]),
}  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTED)
def test_weighted_closed_forms(make_arrays, name):
    edges, source, distances, predecessors = WEIGHTED[name]
    sources = source if isinstance(source, list) else [source]
    expected = dict(enumerate(distances)), dict(enumerate(predecessors))
    assert naive.sssp(edges, sources) == expected
    frame = make_arrays(columns_of(edges))
    assert paths_of(rg.sssp(frame, source)) == expected
    for multi_edges in ("first", "keep"):
        graph = rg.Graph(frame, weight="weight", multi_edges=multi_edges)
        found = rg.sssp(graph, source)
        assert paths_of(found) == expected
        assert rg.verify.sssp(graph, found, source) == max(distances)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint32", "int64", "uint64", "float32"])
def test_weights_of_any_type_of_number(make_arrays, dtype):
    edges = [(a, b, int(weight * 20)) for a, b, weight in random_edges(20)]
    columns = columns_of(edges)
    columns["weight"] = columns["weight"].astype(dtype)
    graph = rg.Graph(make_arrays(columns), weight="weight", multi_edges="min")
    check(graph, edges, 7, limit=30)


def test_weights_are_added_in_double_precision(make_arrays):
    weights = np.array([0.1, 0.7, 1e-9, 16777216.0], np.float32)
    edges = [(place, place + 1, weight) for place, weight in enumerate(weights.tolist())]
    columns = columns_of(edges) | {"weight": weights}
    distances, _ = paths_of(rg.sssp(make_arrays(columns), 0))
    assert distances == naive.sssp(edges, [0])[0]
    assert distances[4] - 16777216 == pytest.approx(0.8, abs=1e-7)


def test_integers_beyond_2_53_are_rounded_once(make_arrays):
    weights = np.array([2**53 + 1, 1, 2**62 + 1])  # 2^53, to which 1 adds nothing
    columns = {"source": [0, 1, 2], "destination": [1, 2, 3], "weight": weights}
    distances, predecessors = paths_of(rg.sssp(make_arrays(columns), 0))
    assert list(distances.values()) == [0, 2.0**53, 2.0**53, 2.0**62 + 2.0**53]
    assert predecessors == {0: None, 1: 0, 2: 1, 3: 2}


def test_sums_beyond_double_precision_are_out_of_reach(make_arrays):
    edges = [(0, 1, 1.5e308), (1, 2, 1e308), (2, 3, 1.0)]
    found = rg.sssp(make_arrays(columns_of(edges)), 0)
    assert paths_of(found) == naive.sssp(edges, [0])
    assert list(paths_of(found)[0].values()) == [0, 1.5e308, INF, INF]


@pytest.mark.parametrize("multi_edges", ["keep", "first", "sum", "min", "max"])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
@both_ways
def test_policies_agree_with_naive(make_arrays, multi_edges, self_loops, directed):
    edges = [(a, b, int(4 * weight)) for a, b, weight in random_edges(21, 20, 90)]
    edges += [(3, 19, 1), (19, 3, 2), (4, 4, 3), (4, 4, 1), (3, 19, 0)]
    policies = {"multi_edges": multi_edges, "self_loops": self_loops, "directed": directed}
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", vertices=22, **policies)
    left = naive.merged(edges, **policies)
    check(graph, left, 5, vertices=range(22), directed=directed)
    check(graph, left, [19, 20], vertices=range(22), directed=directed, limit=6)


def test_of_a_frame_the_cheapest_row_counts(make_frame):
    edges = [(0, 1, 4), (0, 1, 2), (1, 2, 3), (0, 1, 7), (1, 2, 1), (2, 0, 5)]
    frame = make_frame(columns_of(edges))
    assert paths_of(rg.sssp(frame, 0)) == ({0: 0, 1: 2, 2: 3}, {0: None, 1: 0, 2: 1})
    assert paths_of(rg.sssp(frame, 2)) == ({0: 5, 1: 7, 2: 0}, {0: 2, 1: 0, 2: None})
    assert rg.verify.sssp(frame, rg.sssp(frame, 0), 0) == 3


def test_without_weights_an_edge_costs_1(make_frame):
    frame = make_frame({"source": [0, 1, 0], "destination": [1, 2, 2], "price": [9, 9, 9]})
    expected = ({0: 0, 1: 1, 2: 1}, {0: None, 1: 0, 2: 0})
    assert paths_of(rg.sssp(frame, 0)) == expected
    assert paths_of(rg.bfs(frame, 0)) == expected
    assert rg.verify.sssp(frame, rg.sssp(frame, 0), 0) == 1


def test_sum_without_weights_counts_rows(make_arrays):
    graph = rg.Graph(
        make_arrays({"source": [0, 0, 0, 2], "destination": [1, 1, 2, 1]}), multi_edges="sum"
    )
    assert paths_of(rg.sssp(graph, 0))[0] == {0: 0, 1: 2, 2: 1}
    assert paths_of(rg.bfs(graph, 0))[0] == {0: 0, 1: 1, 2: 1}


# Against slow loops and NetworkX


@both_ways
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_naive(make_arrays, seed, directed):
    edges = random_edges(50 + seed, 200, 500)
    graph = rg.Graph(
        make_arrays(columns_of(edges)),
        weight="weight",
        directed=directed,
        multi_edges="keep",
        vertices=205,
    )
    everyone = range(205)
    for source, limit in ((0, None), (seed + 3, 4), ([5, 80, 204, 5], None), ([9, 8], 2)):
        check(graph, edges, source, vertices=everyone, limit=limit, directed=directed)


@both_ways
def test_agrees_with_networkx(make_arrays, directed):
    edges = random_edges(60, 300, 900)
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", directed=directed,
                     multi_edges="keep")  # fmt: skip
    peer = (networkx.MultiDiGraph if directed else networkx.MultiGraph)()
    peer.add_weighted_edges_from(edges)
    for limit in (None, 3):
        levels, _ = paths_of(rg.bfs(graph, 4, depth_limit=limit))
        expected = networkx.single_source_shortest_path_length(peer, 4, cutoff=limit)
        assert {name: d for name, d in levels.items() if d is not None} == expected
        lengths, _ = paths_of(rg.sssp(graph, [4, 11], cutoff=limit))
        expected = networkx.multi_source_dijkstra_path_length(peer, {4, 11}, cutoff=limit)
        assert {name: d for name, d in lengths.items() if d < INF} == expected


edge_lists = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.integers(0, 9),
        st.sampled_from([0, 0, 0, 1, 1, 2, 3, 0.1, 0.2, 0.3, 0.5, 1e-20, 5e-324]),
    ),
    max_size=40,
)
source_lists = st.lists(st.integers(0, 10), min_size=1, max_size=3)


@given(edge_lists, source_lists, st.sampled_from([None, 0, 1, 2, 4]), st.booleans())
@settings(max_examples=100)
def test_small_graphs_agree_with_naive(edges, sources, limit, directed):
    """With edges of weight 0, ties, self-loops, parallel edges, and what is out of reach."""
    frame = FrameMaker("arrays")(columns_of(edges))
    options = {"weight": "weight", "directed": directed, "multi_edges": "keep"}
    graph = rg.Graph(frame, vertices=11, **options)
    check(graph, edges, sources, vertices=range(11), limit=limit, directed=directed)


@given(edge_lists.filter(bool), st.randoms(use_true_random=False), st.sampled_from([1, -1]))
@settings(max_examples=50)
def test_neither_the_order_of_rows_nor_names_matter(edges, random, sign):
    """Names that rise as before give the same; names that fall give the same distances."""
    frame = FrameMaker("pandas")(columns_of(edges))
    first = edges[0][0]
    expected = paths_of(rg.sssp(frame, first))
    shuffled = random.sample(range(len(edges)), len(edges))
    renamed = frame.iloc[shuffled].assign(
        **{name: sign * (frame[name] * 10**10 - 3) for name in ("source", "destination")}
    )
    distances, predecessors = paths_of(rg.sssp(renamed, sign * (first * 10**10 - 3)))
    name = dict(zip(expected[0], (sign * (v * 10**10 - 3) for v in expected[0])))
    assert distances == {name[v]: d for v, d in expected[0].items()}
    if sign == 1:
        name[None] = None
        assert predecessors == {name[v]: name[p] for v, p in expected[1].items()}


# Large enough for every way that the kernels take


def hub_reached_late():
    """A path to a hub of 20,000, whose leaves lead on to one another."""
    leaves = 20_000
    path_, hub = np.arange(99), 99
    leaf = 100 + np.arange(leaves)
    sources = np.concatenate([path_, np.full(leaves, hub), leaf[:-1]])
    destinations = np.concatenate([path_ + 1, leaf, leaf[1:]])
    levels = np.concatenate([np.arange(100), np.full(leaves, 100)])
    before = np.concatenate([[-1], path_, np.full(leaves, hub)])
    return sources, destinations, True, 0, levels, before


def long_path():
    n = 5000
    return np.arange(n - 1), np.arange(1, n), True, 0, np.arange(n), np.arange(n) - 1


def long_path_from_its_middle():
    n, start = 5000, 2500
    away = np.arange(n) - start
    return np.arange(n - 1), np.arange(1, n), False, start, np.abs(away), (
        np.arange(n) - np.sign(away)
    )  # fmt: skip


def star_out():
    n = 20_001
    levels = (np.arange(n) > 0).astype(int)
    return np.zeros(n - 1, int), np.arange(1, n), True, 0, levels, np.zeros(n, int)


def star_from_a_leaf():
    n = 20_001
    levels = np.full(n, 2)
    levels[[0, 7]] = (1, 0)
    before = np.zeros(n, int)
    before[0] = 7
    return np.zeros(n - 1, int), np.arange(1, n), False, 7, levels, before


def star_in_from_all_leaves():
    n = 20_001
    levels = (np.arange(n) == 0).astype(int)
    return np.arange(1, n), np.zeros(n - 1, int), True, np.arange(1, n), levels, np.ones(n, int)


def two_hubs():
    """From 0 by way of 10,000 to 1."""
    middle = np.arange(2, 10_002)
    sources = np.concatenate([middle * 0, middle])
    levels = np.ones(10_002, int)
    levels[:2] = (0, 2)
    before = np.zeros(10_002, int)
    before[1] = 2
    return sources, np.concatenate([middle, middle * 0 + 1]), True, 0, levels, before


def complete_bipartite():
    """From a vertex of the one side to all of the other, and from its first back."""
    n = 300
    left, right = np.divmod(np.arange(n * n), n)
    levels = np.where(np.arange(2 * n) < n, 2, 1)
    levels[5] = 0
    before = np.where(np.arange(2 * n) < n, n, 5)
    return left, right + n, False, 5, levels, before


def many_components():
    n = 20_000
    levels = np.full(n, -1)
    levels[[600, 601]] = (0, 1)
    return np.arange(0, n, 2), np.arange(1, n, 2), False, 600, levels, np.full(n, 600)


def lattice_of_64():
    x, y = np.meshgrid(np.arange(64), np.arange(64))
    frame = grid(64, permute=False, device="cpu")
    ids = np.arange(64 * 64)
    before = np.where(y.ravel() > 0, ids - 64, ids - 1)
    return *(frame[name].to_numpy() for name in frame), True, 0, (x + y).ravel(), before


def bottleneck():
    """Levels of 1, 3,000, 1, 3,000, ... vertices: frontiers grow and shrink again."""
    wide, times = 3000, 4
    hubs = np.arange(times + 1) * (wide + 1)
    leaves = hubs[:-1, None] + 1 + np.arange(wide)
    sources = np.concatenate([np.repeat(hubs[:-1], wide), leaves.ravel()])
    destinations = np.concatenate([leaves.ravel(), np.repeat(hubs[1:], wide)])
    place = np.arange(hubs[-1] + 1)
    levels = 2 * (place // (wide + 1)) + (place % (wide + 1) > 0)
    before = np.where(place % (wide + 1) > 0, place - place % (wide + 1), place - wide)
    return sources, destinations, True, 0, levels, before


LARGE = [
    *(hub_reached_late, long_path, long_path_from_its_middle, star_out, star_from_a_leaf),
    *(star_in_from_all_leaves, two_hubs, complete_bipartite, many_components, lattice_of_64),
    bottleneck,
]


def as_arrays(result):
    """Distance and predecessor of a mapping of arrays, on the host."""
    return [
        values.get() if hasattr(values, "get") else values
        for values in (result["distance"], result["predecessor"])
    ]


@pytest.mark.parametrize("shape", LARGE, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("cost", [1, 0.1, 0])
@pytest.mark.parametrize("as_frame", [False, True], ids=["graph", "frame"])
def test_large_closed_forms(make_arrays, shape, cost, as_frame):
    """With edges that all cost the same, also nothing."""
    sources, destinations, directed, source, levels, before = shape()
    columns = {"source": sources, "destination": destinations}
    before = np.where(levels > 0, before, -1)
    if not directed and as_frame:
        columns = {
            "source": np.concatenate([sources, destinations]),
            "destination": np.concatenate([destinations, sources]),
        }
    if cost != 1:
        columns["weight"] = np.full(len(columns["source"]), float(cost))
    given = frame = make_arrays(columns)
    if not as_frame:
        weight = "weight" if cost != 1 else None
        given = rg.Graph(frame, weight=weight, directed=directed)
    if cost == 1:
        found = rg.bfs(given, source)
        distance, predecessor = as_arrays(found)
        assert distance.dtype == np.int32
        np.testing.assert_array_equal(distance, levels)
        np.testing.assert_array_equal(predecessor, before)
        assert rg.verify.bfs(given, found, source) == levels.max()
    found = rg.sssp(given, source)
    distance, predecessor = as_arrays(found)
    sums = np.concatenate([[0.0], np.cumsum(np.full(levels.max(), cost))])  # from left to right
    expected = np.where(levels < 0, INF, sums[levels])
    np.testing.assert_array_equal(distance, expected)
    np.testing.assert_array_equal(predecessor, before)
    assert rg.verify.sssp(given, found, source) == sums[-1]


@pytest.mark.parametrize("limit", [0, 1, 99, 100])
def test_limits_of_a_large_graph(make_arrays, limit):
    sources, destinations, _, source, levels, before = hub_reached_late()
    graph = rg.Graph(make_arrays({"source": sources, "destination": destinations}))
    for found, missing in (
        (rg.bfs(graph, source, depth_limit=limit), -1),
        (rg.sssp(graph, source, cutoff=limit + 0.5), INF),
    ):
        distance, predecessor = as_arrays(found)
        np.testing.assert_array_equal(distance, np.where(levels <= limit, levels, missing))
        inside = (levels > 0) & (levels <= limit)
        np.testing.assert_array_equal(predecessor, np.where(inside, before, -1))


@both_ways
@pytest.mark.parametrize("weights", [None, "many", "few", "zeros"])
def test_rmat_agrees_with_naive(make_arrays, directed, weights):
    """A few kinds of weights: all different, with ties, and hardly anything but 0."""
    frame = rmat(11, 12, seed=5, weights=(0.0, 2.0), device="cpu")
    columns = {name: frame[name].to_numpy() for name in frame}
    if weights == "few":
        columns["weight"] = np.round(columns["weight"] * 4) / 4
    if weights == "zeros":
        columns["weight"] = np.maximum(columns["weight"] - 1.9, 0)
    if weights is None:
        columns["weight"] = np.ones(len(frame))
    graph = rg.Graph(make_arrays(columns), weight="weight" if weights else None,
                     directed=directed, multi_edges="keep")  # fmt: skip
    edges = list(zip(*(columns[name].tolist() for name in ("source", "destination", "weight"))))
    check(graph, edges, edges[0][0], directed=directed)
    check(graph, edges, sorted({edge[0] for edge in edges[::2000]}), directed=directed, limit=1)


@pytest.mark.parametrize("weights", [(0.5, 2.0), (0.0, 1e-3), "integers"], ids=str)
def test_long_roads(make_arrays, weights):
    """Grids with holes in them, where the cheapest way is seldom that of the fewest edges."""
    drawn = (1, 100) if weights == "integers" else weights
    frame = grid(90, keep=0.7, seed=3, weights=drawn, device="cpu")
    columns = {name: frame[name].to_numpy() for name in frame}
    if weights == "integers":
        columns["weight"] = columns["weight"].astype(np.int32)
    graph = rg.Graph(make_arrays(columns), weight="weight")
    edges = list(zip(*(columns[name].tolist() for name in ("source", "destination", "weight"))))
    check(graph, edges, edges[len(edges) // 2][0])


REAL = {"karate": False, "email-Eu-core": True, "wiki-Vote": True, "ca-GrQc": False}  # directed


@pytest.mark.parametrize("name", REAL)
def test_real_graphs(name):
    path_ = DATA / f"{name}.parquet"
    if not path_.exists():
        pytest.skip(f"{path_.name} is not in ../shared/data, so this graph was not searched")
    directed, frame = REAL[name], rg.read_edges(path_, device="cpu")
    source = int(frame["source"].iloc[0])
    pairs = list(zip(frame["source"].tolist(), frame["destination"].tolist()))
    peer = networkx.DiGraph(pairs) if directed else networkx.Graph(pairs)
    graph = rg.Graph(frame, directed=directed)
    found = rg.bfs(graph, source)
    expected = networkx.single_source_shortest_path_length(peer, source)
    assert {v: d for v, d in paths_of(found)[0].items() if d is not None} == expected
    assert rg.verify.bfs(graph, found, source) == max(expected.values())
    # Weights that anybody can compute again: 1 to 7, of both ends.
    weights = (frame["source"] + frame["destination"]) % 7 + 1
    graph = rg.Graph(frame.assign(weight=weights), weight="weight", directed=directed)
    found = rg.sssp(graph, source)
    cost = networkx.single_source_dijkstra_path_length(
        peer, source, weight=lambda a, b, _: (a + b) % 7 + 1
    )
    assert {v: d for v, d in paths_of(found)[0].items() if d < INF} == cost
    assert rg.verify.sssp(graph, found, source) == max(cost.values())


def test_a_road_network():
    path_ = DATA / "USA-road-d.NY.parquet"
    if not path_.exists():
        pytest.skip(f"{path_.name} is not in ../shared/data, so this graph was not searched")
    graph = rg.Graph(
        rg.read_edges(path_, weight="weight", device="cpu"), weight="weight", multi_edges="min"
    )
    assert rg.verify.bfs(graph, rg.bfs(graph, 0), 0) > 300
    assert rg.verify.sssp(graph, rg.sssp(graph, 0), 0) > 500_000


# Names, results and parameters


PLACES = np.arange(40)
NAMES = {
    "from 0": PLACES,
    "with gaps": PLACES * 7 + 5,
    "negative": PLACES * 3 - 200,
    "beyond 2^31": PLACES + 2**31,
    "far apart": PLACES * 10**12 - 5 * 10**12,
    "beyond 2^53": PLACES + 2**53 + 1,
    "int8": (PLACES - 120).astype(np.int8),
    "uint8": (PLACES + 200).astype(np.uint8),
    "unsigned from 0": PLACES.astype(np.uint32),
    "uint64": PLACES.astype(np.uint64) + np.uint64(2**63),
    "text": np.array([f"v{place:02}é" for place in PLACES]),
}


def named(kind):
    edges = random_edges(70, 40, 90)
    names = NAMES[kind].tolist()
    columns = columns_of(edges)
    columns |= {name: NAMES[kind][columns[name]] for name in ("source", "destination")}
    return columns, [(names[a], names[b], w) for a, b, w in edges], names


@pytest.mark.parametrize("kind", NAMES)
def test_names(make_frame, kind):
    columns, edges, names = named(kind)
    frame = make_frame(columns)
    cheapest = naive.merged(edges, "min")
    found = rg.sssp(frame, names[20])
    assert paths_of(found) == naive.sssp(cheapest, [names[20]])
    assert rg.verify.sssp(frame, found, names[20]) == max(
        d for d in paths_of(found)[0].values() if d < INF
    )
    found = rg.bfs(frame, [names[20], names[3]])
    expected = naive.bfs(edges, [names[20], names[3]])
    assert paths_of(found) == expected
    assert rg.verify.bfs(frame, found, [names[20], names[3]]) == max(
        filter(None, expected[0].values())
    )


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "own"])
def test_names_of_several_columns(make_frame, shared):
    edges = random_edges(71, 40, 120)
    net = [("b", "a")[a % 2] for a, _, _ in edges]
    # Of shared names an edge stays within a network; of own ones it may cross.
    nets = [net, net if shared else [("b", "a")[b % 3 % 2] for _, b, _ in edges]]
    ends = [[edge[end] for edge in edges] for end in (0, 1)]
    weights = [edge[2] for edge in edges]
    rows = list(zip(zip(nets[0], ends[0]), zip(nets[1], ends[1]), weights))
    rows = naive.merged(rows, "min")
    if shared:
        columns = {"net": net, "source": ends[0], "destination": ends[1], "w": weights}
        names, labels = (["net", "source"], ["net", "destination"]), ("net", "vertex")
    else:
        columns = {"net_0": nets[0], "source": ends[0], "net_1": nets[1],
                   "destination": ends[1], "w": weights}  # fmt: skip
        names, labels = (["net_0", "source"], ["net_1", "destination"]), ("vertex_0", "vertex_1")
    graph = rg.Graph(make_frame(columns), *names, weight="w", multi_edges="min")
    start, other = rows[0][0], rows[7][0]
    frame = make_frame({label: [start[place], other[place]] for place, label in enumerate(labels)})
    for source, several in ((start, [start]), ([start, other], [start, other]),
                            (frame, [start, other])):  # fmt: skip
        found = rg.bfs(graph, source)
        assert paths_of(found, labels) == naive.bfs(rows, several)
        assert rg.verify.bfs(graph, found, source) > 0
        found = rg.sssp(graph, source)
        assert paths_of(found, labels) == naive.sssp(rows, several)
        assert rg.verify.sssp(graph, found, source) > 0
    with pytest.raises(rg.GraphError, match=r"source: vertex \('c', 1\) is not in the graph"):
        rg.bfs(graph, ("c", 1))
    with pytest.raises(rg.GraphError, match="source"):
        rg.sssp(graph, 3)


SOURCES = {
    "list": [3, 20, 3],
    "tuple": (3, 20),
    "set": {3, 20},
    "array": np.array([20, 3]),
    "small integers": np.array([20, 3], np.uint8),
    "series": pandas.Series([3, 20], index=[5, 9]),
    "frame": pandas.DataFrame({"vertex": [3, 20]}),
    "index": pandas.Index([3, 20]),
    "range": range(3, 21, 17),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_sources_of_any_kind(make_frame, kind):
    edges = [(a, b, 1) for a, b, _ in random_edges(72)]
    graph = rg.Graph(make_frame(columns_of(edges)))
    assert paths_of(rg.bfs(graph, SOURCES[kind])) == naive.bfs(edges, [3, 20])


@pytest.mark.parametrize("source", [3, np.int64(3), np.uint8(3), np.array(3), [3], {3}], ids=repr)
def test_one_source_of_any_kind(make_arrays, source):
    edges = [(a, b, 1) for a, b, _ in random_edges(73)]
    graph = rg.Graph(make_arrays(columns_of(edges)))
    assert paths_of(rg.bfs(graph, source)) == naive.bfs(edges, [3])


def test_sources_come_from_every_library(make_frame):
    edges = random_edges(74)
    frame = make_frame(columns_of(edges))
    expected = naive.bfs(edges, [59, 4])
    assert paths_of(rg.bfs(frame, make_frame({"vertex": [59, 4]}))) == expected
    assert paths_of(
        rg.bfs(pandas.DataFrame(columns_of(edges)), make_frame({"vertex": [59, 4]}))
    ) == (expected)
    column = make_frame({"vertex": [59, 4]})
    if make_frame.kind not in ("duckdb",):
        assert paths_of(rg.bfs(frame, column["vertex"])) == expected


def test_sources_of_text(make_frame):
    frame = make_frame({"source": ["a", "b", "ä"], "destination": ["b", "ä", "c"]})
    for source in ("b", ["b"], {"b"}, ("b",), np.array(["b"]), pandas.Series(["b"])):
        expected = {"a": None, "b": 0, "c": 2, "ä": 1}, {"a": None, "b": None, "c": "ä", "ä": "b"}
        assert paths_of(rg.bfs(frame, source)) == expected
    assert paths_of(rg.bfs(frame, ["c", "a"]))[0] == {"a": 0, "b": 1, "c": 0, "ä": 2}


def test_a_vertex_called_minus_1(make_frame):
    """In arrays -1 says that there is no predecessor, and is one where there is a distance."""
    frame = make_frame({"source": [-1, 0, -1], "destination": [0, 1, 2], "weight": [1, 1, 0]})
    expected = {-1: 0, 0: 1, 1: 2, 2: 0}, {-1: None, 0: -1, 1: 0, 2: -1}
    found = rg.sssp(frame, -1)
    distances, predecessors = paths_of(found)
    if make_frame.kind in ("arrays", "cupy"):
        assert found["predecessor"].tolist() == [-1, -1, 0, -1]
    else:
        assert predecessors == expected[1]
    assert distances == expected[0]
    assert rg.verify.sssp(frame, found, -1) == 2


@pytest.mark.parametrize("run", [rg.bfs, rg.sssp])
def test_columns_and_types(make_frame, run):
    frame = make_frame(
        {"source": np.array([0, 2], "int16"), "destination": np.array([1, 0], "int16")}
    )
    found = run(frame, 0)
    assert type(found) is type(frame)
    types = to_pandas(found).dtypes.astype(str).to_dict()
    assert list(types) == ["vertex", "distance", "predecessor"]
    assert types["vertex"] == "int16"
    kind, values = make_frame.kind, listed(found)
    if kind in ("arrays", "cupy"):
        assert {type(values) for values in found.values()} == {type(frame["source"])}
        distance = "int32" if run is rg.bfs else "float64"
        assert {name: str(found[name].dtype) for name in found} == {
            "vertex": "int16", "distance": distance, "predecessor": "int16",
        }  # fmt: skip
        assert found["distance"].tolist() == [0, 1, -1 if run is rg.bfs else INF]
        assert found["predecessor"].tolist() == [-1, 0, -1]
    if kind == "pandas":
        assert types["predecessor"] == "Int16"
        assert types["distance"] == ("Int32" if run is rg.bfs else "float64")
    if kind in ("arrow", "cudf"):
        found = found if kind == "arrow" else found.to_arrow()
        types = [str(found.schema.field(name).type) for name in ("distance", "predecessor")]
        assert types == ["int32" if run is rg.bfs else "double", "int16"]
    if kind == "polars":
        types = [str(found.schema[name]) for name in ("distance", "predecessor")]
        assert types == ["Int32" if run is rg.bfs else "Float64", "Int16"]
    assert values["predecessor"] == [None, 0, None]
    assert values["distance"] == [0, 1, None if run is rg.bfs else INF]


@pytest.mark.parametrize("run", [rg.bfs, rg.sssp])
def test_without_predecessors(make_frame, run):
    edges = random_edges(75)
    frame = make_frame(columns_of(edges))
    found = run(frame, 3, predecessors=False)
    assert list(to_pandas(found).columns) == ["vertex", "distance"]
    assert paths_of(found) == (paths_of(run(frame, 3))[0], None)
    assert {rg.bfs: rg.verify.bfs, rg.sssp: rg.verify.sssp}[run](frame, found, 3) > 0


@pytest.mark.parametrize("limit", [0, 1, 2, 3, np.int64(2), 10**12])
def test_depth_limit(make_frame, limit):
    pairs, _, source, distances, predecessors = CLOSED_FORMS["path"]
    frame = make_frame(columns_of([(a, b, 1) for a, b in pairs]))
    found = rg.bfs(frame, source, depth_limit=limit)
    inside = [d <= limit for d in distances]
    expected = [
        {v: value if inside[v] else None for v, value in enumerate(values)}
        for values in (distances, predecessors)
    ]
    assert list(paths_of(found)) == expected
    assert rg.verify.bfs(frame, found, source, depth_limit=limit) == min(limit, 5)


def test_cutoff(make_arrays):
    weights = [0.1, 0.2, 0.0, 0.3, 1e-3]
    edges = [(place, place + 1, weight) for place, weight in enumerate(weights)]
    frame = make_arrays(columns_of(edges))
    distances = list(paths_of(rg.sssp(frame, 0))[0].values())
    exact = [0.0, 0.1, 0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.2 + 0.3, 0.1 + 0.2 + 0.3 + 1e-3]
    assert distances == exact
    for cutoff in (
        *exact,
        *np.nextafter(exact[1:], 0),
        *np.nextafter(exact, 1),
        9,
        INF,
        np.float32(0.5),
    ):
        found = rg.sssp(frame, 0, cutoff=cutoff)
        reached = [d if d <= cutoff else INF for d in exact]
        before = {v: v - 1 if v and d < INF else None for v, d in enumerate(reached)}
        assert paths_of(found) == (dict(enumerate(reached)), before)
        assert rg.verify.sssp(frame, found, 0, cutoff=cutoff) == max(d for d in reached if d < INF)


@pytest.mark.parametrize(
    "cutoff, reached", [(0, 1), (0.5, 1), (1, 2), (1.999, 2), (2, 3), (INF, 5)]
)
def test_cutoff_without_weights(make_arrays, cutoff, reached):
    frame = make_arrays({"source": [0, 1, 2, 3], "destination": [1, 2, 3, 4]})
    found = rg.sssp(frame, 0, cutoff=cutoff)
    assert paths_of(found)[0] == {v: v if v < reached else INF for v in range(5)}
    assert rg.verify.sssp(frame, found, 0, cutoff=cutoff) == reached - 1


def test_a_limit_does_not_end_what_goes_round(make_arrays):
    """2 is within the cutoff only by way of 1, which the direct edge leaves outside."""
    edges = [(0, 2, 9), (0, 1, 1), (1, 2, 1), (2, 3, 5)]
    frame = make_arrays(columns_of(edges))
    found = rg.sssp(frame, 0, cutoff=2)
    assert paths_of(found) == ({0: 0, 1: 1, 2: 2, 3: INF}, {0: None, 1: 0, 2: 1, 3: None})


@both_ways
def test_one_graph_serves_many_searches(make_arrays, directed):
    edges = random_edges(76, 40, 120)
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", directed=directed,
                     multi_edges="keep", vertices=40)  # fmt: skip
    before = paths_of(rg.sssp(graph, 0))
    for source in range(0, 40, 2):
        check(graph, edges, source, vertices=range(40), directed=directed)
    rg.pagerank(graph, max_iterations=500)
    rg.connected_components(graph)
    check(graph, edges, [1, 2], vertices=range(40), limit=2, directed=directed)
    assert paths_of(rg.sssp(graph, 0)) == before


def test_edges_are_not_changed(make_arrays):
    columns = columns_of(random_edges(77))
    frame = make_arrays(columns)
    for run in (rg.bfs, rg.sssp, lambda given, _: rg.connected_components(given)):
        run(frame, 3)
        assert listed(frame) == {name: values.tolist() for name, values in columns.items()}


def test_vertices_without_edges(make_arrays):
    none = make_arrays({"source": np.empty(0, int), "destination": np.empty(0, int)})
    graph = rg.Graph(none, vertices=3)
    expected = {0: None, 1: 0, 2: None}, dict.fromkeys(range(3))
    assert paths_of(rg.bfs(graph, 1)) == expected
    assert rg.verify.bfs(graph, rg.bfs(graph, 1), 1) == 0
    expected = {0: INF, 1: 0, 2: INF}, dict.fromkeys(range(3))
    assert paths_of(rg.sssp(graph, 1)) == expected
    assert rg.verify.sssp(graph, rg.sssp(graph, 1), 1) == 0
    graph = rg.Graph(none, vertices=1)
    assert paths_of(rg.bfs(graph, 0)) == ({0: 0}, {0: None})
    weighted = make_arrays({"source": [], "destination": [], "weight": []} | {
        name: np.empty(0, int) for name in ("source", "destination")
    })  # fmt: skip
    graph = rg.Graph(weighted, weight="weight", vertices=2)
    assert paths_of(rg.sssp(graph, [0, 1])) == ({0: 0, 1: 0}, {0: None, 1: None})


@pytest.mark.parametrize("run", [rg.bfs, rg.sssp])
@pytest.mark.parametrize(
    "source, message",
    [
        (9, r"source: vertex 9 is not in the graph"),
        (-1, r"source: vertex -1 is not in the graph"),
        ([0, 7, 8], r"source: vertex 7 is not in the graph"),
        (2**63, r"source"),
        ([], r"source is empty; name at least one vertex"),
        ((), r"source is empty"),
        (set(), r"source is empty"),
        (np.array([], int), r"source is empty"),
        (range(0), r"source is empty"),
        (None, r"source is None"),
        (True, r"source is True"),
        ([True, 0], r"source"),
        ((True,), r"source"),
        (np.array([True]), r"source"),
        (1.0, r"source"),
        ([1.0], r"source"),
        ([0, None], r"source"),
        (float("nan"), r"source"),
        ("0", r"source"),
        (["0"], r"source"),
        (["0", 1], r"source"),
        ((0, "1"), r"source"),
        (b"0", r"source"),
        ([[0, 1]], r"source"),
        (np.zeros((1, 1), int), r"source"),
        (object(), r"source"),
        (pandas.DataFrame({"name": [0]}), r"vertex"),
    ],
    ids=repr,
)
def test_unsuitable_sources(run, source, message):
    frame = FrameMaker("arrays")({"source": [0, 1], "destination": [1, 2]})
    with pytest.raises(rg.GraphError, match=message):
        run(frame, source)


@pytest.mark.parametrize("run", [rg.bfs, rg.sssp])
@pytest.mark.parametrize(
    "source, message",
    [
        ("c", r"source: vertex 'c' is not in the graph"),
        (["a", "c"], r"source: vertex 'c' is not in the graph"),
        ("", r"source: vertex '' is not in the graph"),
        (0, r"source: vertex: vertices are named by text, and a number was given"),
        ([0], r"source: vertex: vertices are named by text"),
        (["a", 0], r"source"),
        (None, r"source is None"),
        (["a", None], r"source"),
    ],
    ids=repr,
)
def test_unsuitable_sources_among_text(make_frame, run, source, message):
    frame = make_frame({"source": ["a"], "destination": ["b"]})
    with pytest.raises(rg.GraphError, match=message):
        run(frame, source)


@pytest.mark.parametrize(
    "limit", [-1, 1.5, 2.0, "2", True, float("nan"), np.int64(-3), [1]], ids=repr
)
def test_unsuitable_depth_limits(limit):
    frame = FrameMaker("arrays")({"source": [0, 1], "destination": [1, 2]})
    with pytest.raises(rg.GraphError, match=r"depth_limit is .*; it must be"):
        rg.bfs(frame, 0, depth_limit=limit)


@pytest.mark.parametrize("cutoff", [-1, -1e-9, float("nan"), -INF, "2", True, [1]], ids=repr)
def test_unsuitable_cutoffs(cutoff):
    frame = FrameMaker("arrays")({"source": [0, 1], "destination": [1, 2]})
    with pytest.raises(rg.GraphError, match=r"cutoff is .*; it must be"):
        rg.sssp(frame, 0, cutoff=cutoff)


@pytest.mark.parametrize("weight", [-1.0, -5e-324, float("nan"), INF])
def test_unsuitable_weights_name_their_row(make_frame, weight):
    frame = make_frame({"source": [0, 1, 2], "destination": [1, 2, 0], "weight": [1, 2.5, weight]})
    message = f"weight {weight!r} in row 2 of column 'weight'; weights must be finite"
    with pytest.raises(rg.GraphError, match=message):
        rg.sssp(frame, 0)
    assert paths_of(rg.bfs(frame, 0))[0] == {0: 0, 1: 1, 2: 2}  # to which they mean nothing


def test_text_is_no_weight(make_frame):
    if make_frame.kind == "cupy":
        pytest.skip("CuPy has no text")
    frame = make_frame({"source": [0, 1], "destination": [1, 2], "weight": ["1", "2"]})
    with pytest.raises(rg.GraphError, match="weights in column 'weight' must be numbers"):
        rg.sssp(frame, 0)


def test_no_vertex_to_start_from(make_frame):
    none = make_frame({"source": np.empty(0, int), "destination": np.empty(0, int)})
    for run in (rg.bfs, rg.sssp):
        with pytest.raises(rg.GraphError, match="source: vertex 0 is not in the graph"):
            run(none, 0)


def test_a_name_column_called_like_a_result_has_no_room():
    edges = {"distance": ["x", "y"], "source": [1, 1], "destination": [2, 3]}
    graph = rg.Graph(
        FrameMaker("pandas")(edges), ["distance", "source"], ["distance", "destination"]
    )
    with pytest.raises(rg.GraphError, match="'distance' has no room"):
        rg.bfs(graph, ("x", 1))
