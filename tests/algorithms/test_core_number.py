"""Core numbers against closed forms, slow loops and NetworkX, from every library."""

import hypothesis.strategies as st
import naive
import networkx
import numpy as np
import pytest
from conftest import (
    FrameMaker,
    build_storage,
    by_engine,
    columns_of,
    listed,
    random_edges,
    to_pandas,
)
from hypothesis import given, settings

import rapidsgraph as rg
from rapidsgraph.generate import grid, rmat
from rapidsgraph.kernels.constants import FRONTIER_CHUNK

pytestmark = pytest.mark.slow

symmetrize = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


def cores_of(result, names=("vertex",)):
    """{vertex: core} of any result of core_number, after a look at its shape."""
    columns = listed(result)
    assert list(columns) == [*names, "core"]
    vertices = list(zip(*(columns[name] for name in names)))
    assert vertices == sorted(set(vertices))
    return dict(zip(vertices if len(names) > 1 else columns["vertex"], columns["core"]))


def columns_of_pairs(pairs):
    columns = columns_of([(a, b, 1) for a, b in pairs])
    return {name: columns[name] for name in ("source", "destination")}


def clique(first, size):
    return [(a, b) for a in range(first, first + size) for b in range(a + 1, first + size)]


CLOSED_FORMS = {
    "one edge": ([(0, 1)], [1, 1]),
    "path": ([(0, 1), (2, 1), (2, 3)], [1] * 4),
    "cycle": ([(i, (i + 1) % 7) for i in range(7)], [2] * 7),
    "star": ([(4, i) for i in range(9) if i != 4], [1] * 9),
    "clique": (clique(0, 6), [5] * 6),
    "grid": (
        [(3 * r + c, 3 * r + c + 1) for r in range(4) for c in range(2)]
        + [(3 * r + c, 3 * r + c + 3) for r in range(3) for c in range(3)],
        [2] * 12,
    ),
    "clique with a tail": ([*clique(0, 4), (3, 4), (4, 5)], [3, 3, 3, 3, 1, 1]),
    "cliques of growing size": (
        [*clique(0, 3), *clique(3, 5), *clique(8, 9), (0, 3), (7, 8)],
        [2] * 3 + [4] * 5 + [8] * 9,
    ),
    "self-loops do not count": ([(0, 0), (1, 1), (1, 2), (2, 2)], [0, 1, 1]),
    "parallel edges count once": ([(0, 1), (1, 0), (0, 1), (1, 2)], [1, 1, 1]),
    "vertices alone": ([], [0, 0, 0]),
    "one vertex": ([], [0]),
    "one vertex between two": ([(0, 2)], [1, 0, 1]),
}


@by_engine
@symmetrize
@pytest.mark.parametrize("multi_edges", ["first", "keep"])
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(make_arrays, name, multi_edges, directed, method):
    pairs, expected = CLOSED_FORMS[name]
    graph = build_storage(
        make_arrays(columns_of_pairs(pairs)), directed=directed, vertices=len(expected),
        multi_edges=multi_edges,
    )  # fmt: skip
    result = rg.core_number(graph, method=method)
    assert cores_of(result) == dict(enumerate(expected))
    assert rg.verify.core_number(graph, result) == max(expected)


@by_engine
def test_frames_of_every_library(make_frame, method):
    pairs, expected = CLOSED_FORMS["cliques of growing size"]
    frame = make_frame(columns_of_pairs(pairs))
    result = rg.core_number(frame, method=method)
    assert type(result) is type(frame)
    assert cores_of(result) == dict(enumerate(expected))
    assert to_pandas(result).dtypes.astype(str).to_dict() == {"vertex": "int64", "core": "int32"}
    assert rg.verify.core_number(frame, result) == 8


@by_engine
def test_no_vertices(make_frame, method):
    none = make_frame({"source": np.empty(0, int), "destination": np.empty(0, int)})
    result = rg.core_number(none, method=method)
    assert listed(result) == {"vertex": [], "core": []}
    assert rg.verify.core_number(none, result) == 0


@by_engine
@symmetrize
@pytest.mark.parametrize("rows", [20, 200, 600, 2000])
def test_agrees_with_naive_and_networkx(make_arrays, rows, directed, method):
    edges = random_edges(rows, 200, rows)
    graph = build_storage(
        make_arrays(columns_of(edges)), weight=None, directed=directed, vertices=205
    )
    result = rg.core_number(graph, method=method)
    peer = networkx.Graph((a, b) for a, b, _ in edges if a != b)
    peer.add_nodes_from(range(205))
    assert cores_of(result) == naive.core_numbers(edges, range(205))
    assert cores_of(result) == networkx.core_number(peer)
    assert rg.verify.core_number(graph, result) == max(cores_of(result).values())


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.just(1)), min_size=1, max_size=50),
    st.permutations(range(10)),
    st.randoms(use_true_random=False),
)
@settings(max_examples=100)
def test_neither_order_nor_direction_nor_names_matter(edges, names, random):
    make = FrameMaker("arrays")
    expected = cores_of(rg.core_number(make(columns_of(edges))))
    assert expected == naive.core_numbers(edges)
    renamed = [(names[a], names[b], w) for a, b, w in edges]
    renamed = [(b, a, w) if random.random() < 0.5 else (a, b, w) for a, b, w in renamed]
    random.shuffle(renamed)
    result = cores_of(rg.core_number(make(columns_of(renamed))))
    assert result == {names[vertex]: core for vertex, core in expected.items()}


PLACES = np.arange(60)
NAMES = {
    "with gaps": PLACES * 7 + 5,
    "negative": PLACES * 3 - 100,
    "far apart": PLACES * 10**12 - 5 * 10**12,
    "text": np.array([f"v{place:02}é" for place in PLACES]),
}


@by_engine
@pytest.mark.parametrize("kind", NAMES)
def test_names(make_held_frame, kind, method):
    edges, names = random_edges(82, 60, 235), NAMES[kind]
    columns = columns_of(edges)
    frame = make_held_frame({name: names[columns[name]] for name in ("source", "destination")})
    result = rg.core_number(frame, method=method)
    listed_names = names.tolist()
    renamed = [(listed_names[a], listed_names[b], w) for a, b, w in edges]
    assert cores_of(result) == naive.core_numbers(renamed)
    assert rg.verify.core_number(frame, result) == max(cores_of(result).values())


@by_engine
def test_names_of_several_columns(make_held_frame, method):
    edges = random_edges(83, 40, 140)
    net = [("b", "a")[a % 2] for a, _, _ in edges]
    frame = make_held_frame(columns_of(edges) | {"net": net})
    graph = build_storage(frame, ["net", "source"], ["net", "destination"])
    result = rg.core_number(graph, method=method)
    rows = [((n, a), (n, b), w) for n, (a, b, w) in zip(net, edges)]
    assert cores_of(result, ("net", "vertex")) == naive.core_numbers(rows)


# Large enough for every way that the kernels take: chunks, warps and shared lists of arcs


def hub_in_a_path():
    """A hub of 40,000 neighbors, each of which is next to another one."""
    rim = np.arange(1, 40_001)
    expected = np.full(40_001, 2)
    return np.append(np.zeros(rim.size, int), rim[:-1]), np.append(rim, rim[1:]), expected


def long_path():
    return np.arange(4999), np.arange(1, 5000), np.ones(5000)


def wheels_of_growing_size():
    """Wheel k has a hub of k neighbors on a cycle, whose core numbers are all 3."""
    sources, destinations, first = [], [], 0
    for size in (3, 40, 70, 100, FRONTIER_CHUNK, FRONTIER_CHUNK + 1, 3 * FRONTIER_CHUNK + 5):
        rim = first + 1 + np.arange(size)
        sources += [np.full(size, first), rim]
        destinations += [rim, np.roll(rim, 1)]
        first += size + 1
    return np.concatenate(sources), np.concatenate(destinations), np.full(first, 3)


def large_clique():
    sources, destinations = np.triu_indices(700, 1)
    return sources, destinations, np.full(700, 699)


def bipartite():
    """Complete: the smaller side has the core number of the larger one, which has its size."""
    left, right = np.divmod(np.arange(50 * 4000), 4000)
    return left, right + 50, np.full(4050, 50)


def cliques_in_a_chain():
    """Of 2 to 60 vertices, the last of each beside the first of the next."""
    starts = np.cumsum([0, *range(2, 61)])
    pairs = [pair for start, size in zip(starts, range(2, 61)) for pair in clique(start, size)]
    pairs += [(start - 1, start) for start in starts[1:-1].tolist()]
    sources, destinations = np.array(pairs).T
    return sources, destinations, np.repeat(np.arange(1, 60), np.arange(2, 61))


LARGE = [
    *(hub_in_a_path, long_path, wheels_of_growing_size, large_clique, bipartite),
    cliques_in_a_chain,
]


@pytest.mark.parametrize("shape", LARGE, ids=lambda shape: shape.__name__)
@symmetrize
def test_large_closed_forms(make_arrays, shape, directed):
    sources, destinations, expected = shape()
    graph = build_storage(
        make_arrays({"source": sources, "destination": destinations}), directed=directed
    )
    result = rg.core_number(graph)
    cores = result["core"]
    np.testing.assert_array_equal(cores.get() if hasattr(cores, "get") else cores, expected)
    if shape is not long_path:  # a round per two vertices
        assert rg.verify.core_number(graph, result) == max(expected)


@pytest.mark.sanitizer
@pytest.mark.parametrize(
    "generate",  # called in the test, because collecting tests should compile no kernel
    [
        lambda: rmat(12, 1, seed=2, device="cpu"),
        lambda: rmat(12, 16, seed=2, device="cpu"),
        lambda: grid(64, keep=0.8, seed=1, device="cpu"),
    ],
    ids=["sparse rmat", "rmat", "grid"],
)
def test_generated_graphs_agree_with_networkx(make_arrays, generate):
    frame = generate()
    columns = {name: frame[name].to_numpy() for name in frame}
    graph = build_storage(make_arrays(columns))
    result = rg.core_number(graph)
    ends = zip(*(values.tolist() for values in columns.values()))
    expected = networkx.core_number(networkx.Graph(pair for pair in ends if pair[0] != pair[1]))
    assert cores_of(result) == expected
    assert rg.verify.core_number(graph, result) == max(expected.values())


def test_a_name_column_called_core_collides():
    edges = {"core": ["x", "y"], "source": [1, 1], "destination": [2, 3]}
    graph = rg.Graph(FrameMaker("pandas")(edges), ["core", "source"], ["core", "destination"])
    for method in ("auto", "frames"):
        with pytest.raises(rg.GraphError, match="'core' collides"):
            rg.core_number(graph, method=method)
