"""Strong components by depth-first search and by coloring, against NetworkX and closed forms."""

import hypothesis.strategies as st
import networkx
import numpy as np
import pytest
from conftest import FrameMaker, build_storage, columns_of, listed, random_edges
from hypothesis import given, settings

import rapidsgraph as rg
from rapidsgraph.algorithms import strong_components
from rapidsgraph.generate import rmat

pytestmark = pytest.mark.slow


def expected_of(pairs, num_vertices):
    """The components as NetworkX finds them: numbered by size, ties by the smallest vertex."""
    graph = networkx.DiGraph(pairs)
    graph.add_nodes_from(range(num_vertices))
    components = list(networkx.strongly_connected_components(graph))
    components.sort(key=lambda component: (-len(component), min(component)))
    numbers = {name: number for number, each in enumerate(components) for name in each}
    return [numbers[name] for name in range(num_vertices)]


def check(make, sources, destinations, expected, *, methods=("auto", "frames"), **options):
    """Both kernels, and the frame form, find the same components."""
    frame = make({"source": np.asarray(sources, int), "destination": np.asarray(destinations, int)})
    graph = build_storage(frame, vertices=len(expected), **options)
    for method in methods:
        result = rg.connected_components(graph, strong=True, method=method)
        assert listed(result)["component"] == expected
    roots = listed({"roots": strong_components.find_by_coloring(graph)})["roots"]
    smallest = {number: vertex for vertex, number in reversed([*enumerate(expected)])}
    assert roots == [smallest[number] for number in expected]
    assert rg.verify.components(graph, result, strong=True) == max(expected) + 1


def sanitized(size):
    """A small case for compute-sanitizer, which runs with CuPy alone, without frames."""
    return pytest.param(size, ["auto"], marks=pytest.mark.sanitizer)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
@settings(max_examples=100)
def test_small_graphs(pairs):
    check(FrameMaker("arrays"), *zip(*pairs), expected_of(pairs, 11), multi_edges="keep")


@pytest.mark.parametrize("rows", [100, 200, 300, 600])
def test_random_graphs(make_arrays, rows):
    pairs = [(a, b) for a, b, _ in random_edges(rows, 200, rows)]
    check(make_arrays, *zip(*pairs), expected_of(pairs, 205))


@pytest.mark.parametrize("edge_factor", [1, 4])
@pytest.mark.parametrize(("scale", "methods"), [sanitized(8), (11, ("auto", "frames"))])
def test_rmat(make_arrays, scale, methods, edge_factor):
    frame = rmat(scale, edge_factor, seed=3, device="cpu")
    ends = frame["source"].to_numpy(), frame["destination"].to_numpy()
    expected = expected_of(list(zip(*map(np.ndarray.tolist, ends))), 2**scale)
    check(make_arrays, *ends, expected, methods=methods)


@pytest.mark.parametrize("multi_edges", ["first", "keep"])
def test_arcs_in_both_directions(make_arrays, multi_edges):
    """The weak components are the strong ones, unless an arc is missing that is a bridge."""
    bridges = [(vertex, 400) for vertex in range(0, 300, 50)]
    edges = [(a, b) for a, b, _ in random_edges(7, 400, 360)] + bridges + [(5, 5), (9, 9)]
    pairs = [pair for a, b in edges for pair in ((a, b), (b, a))]
    for missing in (None, (400, 250), (0, 400)):
        arcs = [pair for pair in pairs if pair != missing]
        expected = expected_of(arcs, 401)
        check(make_arrays, *zip(*arcs), expected, multi_edges=multi_edges)


@pytest.mark.parametrize(("count", "methods"), [sanitized(10), (30, ("auto", "frames"))])
def test_cycles_in_a_chain(make_arrays, count, methods):
    """Each cycle leads to the next; the largest is the last."""
    sizes = np.arange(2, 2 + count)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    sources, destinations = [starts[:-2]], [starts[1:-1]]
    for start, size in zip(starts, sizes):
        cycle = start + np.arange(size)
        sources.append(cycle)
        destinations.append(np.roll(cycle, 1))
    expected = np.repeat(np.arange(sizes.size)[::-1], sizes).tolist()
    ends = np.concatenate(sources), np.concatenate(destinations)
    check(make_arrays, *ends, expected, methods=methods)


def test_paths_are_trimmed(make_arrays, monkeypatch):
    monkeypatch.setattr(strong_components, "MAX_TRIMS", 2)
    path = np.arange(60)
    check(make_arrays, path[:-1], path[1:], [*range(60)])


def test_undirected_graphs_have_the_weak_components(make_arrays):
    frame = make_arrays(columns_of(random_edges(5, 100, 60)))
    graph = build_storage(frame, weight=None, directed=False)
    strong, weak = (rg.connected_components(graph, strong=each) for each in (True, False))
    assert listed(strong) == listed(weak)


def test_long_cycles_are_left_to_the_cpu(make_arrays, monkeypatch):
    monkeypatch.setattr(strong_components, "MAX_ROUNDS", 20)
    cycle = np.arange(300)
    sources = np.concatenate([cycle, 300 + cycle])
    destinations = np.concatenate([np.roll(cycle, 1), 300 + np.roll(cycle, -1)])
    graph = build_storage(make_arrays({"source": sources, "destination": destinations}))
    result = rg.connected_components(graph, strong=True)
    assert listed(result)["component"] == [0] * 300 + [1] * 300


@pytest.mark.parametrize("edges", [[], [(0, 0)], [(1, 0)]])
def test_few_vertices(make_arrays, edges):
    sources, destinations = zip(*edges) if edges else ((), ())
    check(make_arrays, sources, destinations, [0, 1, 2])
