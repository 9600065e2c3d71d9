"""SCAN that counts only where it has to, against SCAN that counts everything."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas
import pytest
from clusterings import BY_TRIANGLES, check_scan, edges_of, frame_columns, thresholds
from conftest import FrameMaker, build_storage
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.algorithms import pruned_scan, scan, similarity
from rapidsgraph.generate import grid, rmat, ssca2, uniform
from rapidsgraph.kernels import edge_similarity

EPSILONS, MUS = (Fraction(1, 10**6), 0.05, 0.2, 0.35, 0.5, 0.7, 0.9, 1), (1, 2, 3, 5, 12, 60)


def hubs(num_hubs, num_leaves, seed):
    """Hubs that share most of their leaves, which have some edges among them."""
    random = np.random.default_rng(seed)
    edges = np.array(list(product(range(num_hubs), range(num_hubs, num_hubs + num_leaves))))
    leaves = random.integers(num_hubs, num_hubs + num_leaves, (2 * num_leaves, 2))
    pairs = np.concatenate([edges[random.random(len(edges)) < 0.7], leaves, [[0, 1]]])
    return pandas.DataFrame(pairs, columns=["source", "destination"])


GRAPHS = {
    "cliques": lambda: ssca2(600, max_clique=40, seed=2, device="cpu"),
    "power law": lambda: rmat(9, 12, seed=3, device="cpu"),
    "uniform": lambda: uniform(200, 4000, seed=4, device="cpu"),
    "hubs": lambda: hubs(9, 400, seed=5),
    "more than a sample": lambda: rmat(14, 4, seed=6, device="cpu"),
    "low degrees": lambda: grid(30, 30, device="cpu"),
}


@pytest.fixture
def prunes_small(monkeypatch):
    """Small graphs are pruned as large ones are."""
    monkeypatch.setattr(scan, "MAX_MERGE_ARCS", 0)


@pytest.fixture
def never_counts(monkeypatch):
    """All common neighbors are counted at no time."""

    def fail(*arguments):
        raise AssertionError("counted")

    monkeypatch.setattr(scan, "common_neighbors", fail)


def undirected(edges):
    return build_storage(edges, directed=False, self_loops="drop")


def count_all(edges, **parameters):
    graph = undirected(edges)
    similarity.common_neighbors(graph)
    return rg.scan(graph, **parameters)


@pytest.mark.parametrize("memberships", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_as_if_all_were_counted(monkeypatch, prunes_small, name, memberships):
    monkeypatch.setattr(scan, "MAX_MERGE_DEGREE", 0)
    monkeypatch.setattr(pruned_scan, "STEPS_PER_EDGE", 10**6)
    edges = GRAPHS[name]()
    graph = undirected(edges)
    counted = undirected(edges)
    similarity.common_neighbors(counted)
    for epsilon, mu in product(EPSILONS, MUS):
        options = {"epsilon": epsilon, "mu": mu, "memberships": memberships}
        assert_frame_equal(rg.scan(graph, **options), rg.scan(counted, **options))
    assert not similarity.has_common_neighbors(graph)


@pytest.mark.parametrize("entry", ["_merge", "_probe", "_search"])
def test_every_way_to_count_is_taken_and_counts_alike(monkeypatch, entry):
    """The number of common neighbors, or a bound of it that is as good as the caller needs."""
    graph = undirected(hubs(5, 200, seed=7))
    lists = similarity.neighborhoods(graph)
    common = similarity.common_neighbors(graph)
    rows = np.repeat(np.arange(graph.num_vertices), np.diff(lists.offsets))
    bits = np.zeros(graph.num_vertices // 64 + 1, np.uint64)
    for arc in range(0, common.size, 7):
        row, neighbor = np.uint64(rows[arc]), np.uint64(lists.neighbors[arc])
        degrees = [int(np.diff(lists.offsets)[vertex]) for vertex in (row, neighbor)]
        for least, most in ((2, min(degrees) + 1), (5, 5), (int(common[arc]), int(common[arc]))):
            if entry == "_probe":
                bits[:] = 0
                for other in lists.neighbors[lists.offsets[row] : lists.offsets[row + 1]]:
                    bits[other // 64] |= np.uint64(1) << np.uint64(other % 64)
                start, stop = lists.offsets[neighbor], lists.offsets[neighbor + 1]
                arguments = bits, start, stop, least, most, lists.neighbors
            else:
                arguments = row, neighbor, least, most, lists.offsets, lists.neighbors
            count, steps = getattr(edge_similarity, entry)(*arguments)
            assert steps > 0 or least <= 2 or min(degrees) + 1 < least or most <= 2
            if common[arc] < least:
                assert count < least
            elif common[arc] < most:
                assert count == common[arc]
            else:
                assert most <= count <= common[arc]


@pytest.mark.parametrize("epsilon", ["1e-9", "0.1", "0.5", "0.7071067811865476", "1"])
def test_the_least_common_count_is_similar_and_one_less_is_not(epsilon):
    squared = Fraction(epsilon) ** 2
    for size, other in product((2, 3, 7, 100, 65537, 2**31 - 1), repeat=2):
        numerator, denominator = similarity.min_fraction_at_least(squared, (2**31 - 1) ** 2)
        least = edge_similarity.least_common(
            np.uint64(size * other), np.uint64(numerator), np.uint64(denominator)
        )
        assert Fraction(least**2, size * other) >= squared
        assert Fraction((least - 1) ** 2, size * other) < squared


def test_counts_are_used_where_they_are_cached(monkeypatch):
    graph = undirected(GRAPHS["cliques"]())
    similarity.common_neighbors(graph)
    monkeypatch.setattr(scan, "link_pruned", None)
    rg.scan(graph)


def test_pruning_is_the_rule(prunes_small, never_counts):
    rg.scan(GRAPHS["cliques"]())


def test_calls_that_together_take_longer_than_counting_count(prunes_small):
    graph = undirected(GRAPHS["power law"]())
    results = []
    for _ in range(1000):
        results.append(rg.scan(graph, epsilon=0.2, mu=4))
        if similarity.has_common_neighbors(graph):
            break
    assert 1 < len(results) < 1000
    for result in results:
        assert_frame_equal(result, results[0])


@pytest.mark.parametrize("steps", range(0, 12000, 997))
def test_a_budget_may_end_at_any_time(monkeypatch, prunes_small, steps):
    """The kernels stop in each phase; then everything is counted, with the same result."""
    graph = undirected(GRAPHS["hubs"]())
    expected = count_all(GRAPHS["hubs"](), epsilon=0.3, mu=4)
    monkeypatch.setattr(pruned_scan, "STEPS_PER_EDGE", 0)
    spent = graph.cached("steps of pruned SCAN", lambda: np.zeros(1, np.int64))
    spent[0] = steps
    assert_frame_equal(rg.scan(graph, epsilon=0.3, mu=4), expected)


def test_a_sample_predicts_that_pruning_takes_long(monkeypatch, prunes_small):
    monkeypatch.setattr(pruned_scan, "MIN_SAMPLED_ROWS", 1)
    monkeypatch.setattr(pruned_scan, "STEPS_PER_EDGE", -40)
    edges = GRAPHS["power law"]()
    graph = undirected(edges)
    assert_frame_equal(rg.scan(graph, epsilon=0.2, mu=9), count_all(edges, epsilon=0.2, mu=9))
    assert similarity.has_common_neighbors(graph)


def test_lists_of_low_degree_are_merged_at_once(monkeypatch, prunes_small):
    monkeypatch.setattr(scan, "link_pruned", None)
    assert len(rg.scan(GRAPHS["low degrees"]())) == 900


@pytest.mark.parametrize("excess", [0, 1])
def test_lists_of_a_small_graph_are_merged_at_once(monkeypatch, excess):
    edges = uniform(60, 400, seed=7, device="cpu")
    graph = undirected(edges)
    num_arcs = similarity.neighborhoods(graph).neighbors.size
    assert int(similarity.closed_sizes(graph).max()) > similarity.MAX_MERGE_DEGREE + 1
    for module in (scan, similarity):
        monkeypatch.setattr(module, "MAX_MERGE_ARCS", num_arcs - excess)
    result = rg.scan(graph)
    assert similarity.has_common_neighbors(graph) == (excess == 0)
    assert_frame_equal(result, count_all(edges))


SMALL_PATHS = {
    "merged": {},
    "counted by triangles": {similarity: BY_TRIANGLES},
    "pruned": {scan: {"MAX_MERGE_ARCS": 0, "MAX_MERGE_DEGREE": -1}},
}


@pytest.mark.parametrize("path", SMALL_PATHS)
@pytest.mark.parametrize("seed", range(4))
def test_random_small_graphs_agree_with_naive(monkeypatch, seed, path):
    """Also with isolated vertices, a mu above all sizes, and similarities equal to epsilon."""
    for module, limits in SMALL_PATHS[path].items():
        for name, limit in limits.items():
            monkeypatch.setattr(module, name, limit)
    random = np.random.default_rng(seed)
    for _ in range(25):
        num_vertices = int(random.integers(1, 24))
        num_rows = int(random.integers(0, 3 * num_vertices))
        pairs = np.sort(random.integers(0, num_vertices, (num_rows, 2)) ** 2 // num_vertices)
        edges, vertices = edges_of(pairs.tolist()), range(num_vertices)
        exact = thresholds(edges)
        epsilons = [0.3, 0.5, 1, *(exact[int(random.integers(len(exact)))] for _ in exact[:1])]
        library = ("pandas", "polars", "arrow")[int(random.integers(3))]
        frame = FrameMaker(library)(frame_columns(edges))
        graph = rg.Graph(frame, directed=False, vertices=vertices)
        index = rg.ScanIndex(graph)
        for epsilon, mu in product(epsilons, (1, 2, 3, num_vertices + 2, 10**12)):
            check_scan(graph, edges, epsilon, mu, vertices, index, ["auto"])


@pytest.mark.parametrize("threads", ["one", "all"])
@pytest.mark.parametrize("name", GRAPHS)
def test_marked_lists_have_the_counts_of_merged_lists(monkeypatch, name, threads):
    graph = undirected(GRAPHS[name]())
    expected = similarity.common_neighbors(graph, "gpuscan")
    monkeypatch.setattr(similarity, "MAX_MERGE_DEGREE", expected.size)
    monkeypatch.setattr(device.threads, "MIN_PARALLEL_SIZE", {"one": 10**9, "all": 0}[threads])
    assert np.array_equal(similarity.common_neighbors(graph), expected)
