"""Connected components against closed forms, slow loops and NetworkX, from every library."""

from pathlib import Path

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
from rapidsgraph.algorithms import components
from rapidsgraph.generate import grid, rmat
from rapidsgraph.graph.build import build_graph

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[3] / "shared" / "data"

symmetrize = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


def parts_of(result, names=("vertex",)):
    """{vertex: component} of any result of connected_components, after a look at its shape."""
    columns = listed(result)
    assert list(columns) == [*names, "component"]
    vertices = list(zip(*(columns[name] for name in names)))
    assert vertices == sorted(set(vertices))
    return dict(zip(vertices if len(names) > 1 else columns["vertex"], columns["component"]))


def columns_of_pairs(pairs):
    columns = columns_of([(a, b, 1) for a, b in pairs])
    return {name: columns[name] for name in ("source", "destination")}


CLOSED_FORMS = {
    "one edge": ([(0, 1)], 2, [0, 0]),
    "one edge back": ([(1, 0)], 2, [0, 0]),
    "path": ([(0, 1), (1, 2), (2, 3)], 4, [0] * 4),
    "path of edges to and fro": ([(1, 0), (1, 2), (3, 2), (3, 4)], 5, [0] * 5),
    "edges into one": ([(i, 7) for i in range(7)], 8, [0] * 8),
    "edges out of one": ([(4, i) for i in range(8)], 8, [0] * 8),
    "cycle": ([(i, (i + 1) % 5) for i in range(5)], 5, [0] * 5),
    "the largest goes first": ([(0, 1), (2, 3), (3, 4)], 5, [1, 1, 0, 0, 0]),
    "ties by the smallest vertex": ([(2, 5), (1, 4), (0, 3)], 6, [0, 1, 2, 0, 1, 2]),
    "sizes fall": (
        [(0, 1), (2, 3), (3, 4), (5, 6), (6, 7), (7, 8)], 10, [2, 2, 1, 1, 1, 0, 0, 0, 0, 3],
    ),
    "vertices alone": ([], 3, [0, 1, 2]),
    "one vertex": ([], 1, [0]),
    "self-loops": ([(0, 0), (1, 1), (2, 3)], 4, [1, 2, 0, 0]),
    "one self-loop": ([(0, 0)], 1, [0]),
    "parallel edges": ([(0, 1), (1, 0), (0, 1)], 3, [0, 0, 1]),
}  # fmt: skip


@by_engine
@symmetrize
@pytest.mark.parametrize("name", CLOSED_FORMS)
@pytest.mark.parametrize("min_sampled_arcs", [0, 2**12])
def test_closed_forms(make_arrays, monkeypatch, name, directed, method, min_sampled_arcs):
    monkeypatch.setattr(components, "MIN_CPU_SAMPLED_ARCS", min_sampled_arcs)
    pairs, vertices, expected = CLOSED_FORMS[name]
    graph = build_storage(
        make_arrays(columns_of_pairs(pairs)), directed=directed, vertices=vertices
    )
    found = rg.connected_components(graph, method=method)
    assert parts_of(found) == dict(enumerate(expected))
    assert rg.verify.components(graph, found) == max(expected) + 1


@pytest.mark.parametrize("name", ["the largest goes first", "ties by the smallest vertex"])
def test_closed_forms_from_every_library(make_frame, name):
    pairs, _, expected = CLOSED_FORMS[name]
    frame = make_frame(columns_of_pairs(pairs))
    found = rg.connected_components(frame)
    assert type(found) is type(frame)
    assert parts_of(found) == dict(enumerate(expected))
    assert to_pandas(found).dtypes.astype(str).to_dict() == {
        "vertex": "int64", "component": "int32",
    }  # fmt: skip
    assert rg.verify.components(frame, found) == max(expected) + 1


def test_no_vertices(make_frame):
    none = make_frame({"source": np.empty(0, int), "destination": np.empty(0, int)})
    found = rg.connected_components(none)
    assert listed(found) == {"vertex": [], "component": []}
    assert rg.verify.components(none, found) == 0


@symmetrize
@pytest.mark.parametrize("rows", [20, 60, 150, 500])
def test_agrees_with_naive_and_networkx(make_arrays, rows, directed):
    edges = random_edges(rows, 200, rows)
    graph = build_storage(make_arrays(columns_of(edges)), directed=directed, vertices=205)
    found = rg.connected_components(graph)
    assert parts_of(found) == naive.components(edges, range(205))
    peer = networkx.DiGraph()
    peer.add_nodes_from(range(205))
    peer.add_edges_from((a, b) for a, b, _ in edges)
    sizes = sorted(map(len, networkx.weakly_connected_components(peer)), reverse=True)
    assert np.bincount(list(parts_of(found).values())).tolist() == sizes
    assert rg.verify.components(graph, found) == len(sizes)


@given(
    st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14), st.just(1)), max_size=20),
    st.booleans(),
)
@settings(max_examples=100)
def test_small_graphs_agree_with_naive(edges, directed):
    frame = FrameMaker("arrays")(columns_of(edges))
    graph = build_storage(frame, directed=directed, vertices=16)
    found = rg.connected_components(graph)
    assert parts_of(found) == naive.components(edges, range(16))
    assert rg.verify.components(graph, found) == max(found["component"]) + 1


@pytest.mark.parametrize("policies", [{"multi_edges": "keep"}, {"self_loops": "drop"}], ids=str)
@symmetrize
def test_policies_change_nothing(make_arrays, policies, directed):
    edges = [*random_edges(80, 60, 40), (50, 50, 1), (3, 4, 1), (3, 4, 1)]
    graph = build_storage(
        make_arrays(columns_of(edges)), directed=directed, vertices=60, **policies
    )
    assert parts_of(rg.connected_components(graph)) == naive.components(edges, range(60))


@pytest.mark.sanitizer
def test_lists_of_any_direction_do(make_arrays):
    """Before and after other algorithms have built lists of their own."""
    edges = random_edges(81, 300, 200)
    expected = naive.components(edges)
    for prepare in (
        lambda graph: None,
        lambda graph: graph.csc,
        lambda graph: rg.pagerank(graph, max_iterations=500),
        lambda graph: rg.bfs(graph, edges[0][0]),
    ):
        graph = build_storage(make_arrays(columns_of(edges)))
        prepare(graph)
        assert parts_of(rg.connected_components(graph)) == expected
    graph = build_graph(make_arrays(columns_of(edges)), layout="csc")
    assert parts_of(rg.connected_components(graph)) == expected


@given(
    st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14), st.just(1)), min_size=1),
    st.randoms(use_true_random=False),
)
@settings(max_examples=50)
def test_neither_the_order_nor_the_direction_of_rows_matters(edges, random):
    make = FrameMaker("arrays")
    expected = parts_of(rg.connected_components(make(columns_of(edges))))
    transpose = [(a, b, w) if random.random() < 0.5 else (b, a, w) for a, b, w in edges]
    random.shuffle(transpose)
    assert parts_of(rg.connected_components(make(columns_of(transpose)))) == expected


PLACES = np.arange(60)
NAMES = {
    "with gaps": PLACES * 7 + 5,
    "negative": PLACES * 3 - 100,
    "beyond 2^31": PLACES + 2**31,
    "far apart": PLACES * 10**12 - 5 * 10**12,
    "uint64": PLACES.astype(np.uint64) + np.uint64(2**63),
    "text": np.array([f"v{place:02}é" for place in PLACES]),
}


@pytest.mark.parametrize("kind", NAMES)
def test_names(make_frame, kind):
    edges, names = random_edges(82, 60, 35), NAMES[kind]
    columns = columns_of(edges)
    frame = make_frame({name: names[columns[name]] for name in ("source", "destination")})
    found = rg.connected_components(frame)
    listed_names = names.tolist()
    renamed = [(listed_names[a], listed_names[b], w) for a, b, w in edges]
    assert parts_of(found) == naive.components(renamed)
    assert rg.verify.components(frame, found) == max(parts_of(found).values()) + 1


@by_engine
def test_names_of_several_columns(make_frame, method):
    edges = random_edges(83, 40, 40)
    net = [("b", "a")[a % 2] for a, _, _ in edges]
    columns = columns_of(edges) | {"net": net}
    graph = build_storage(make_frame(columns), ["net", "source"], ["net", "destination"])
    found = rg.connected_components(graph, method=method)
    rows = [((n, a), (n, b), w) for n, (a, b, w) in zip(net, edges)]
    assert parts_of(found, ("net", "vertex")) == naive.components(rows)
    assert rg.verify.components(graph, found) == max(naive.components(rows).values()) + 1


# Large enough for every way that the kernels take


def long_path():
    return np.arange(4999), np.arange(1, 5000), np.zeros(5000)


def long_path_of_random_names():
    names = np.random.default_rng(1).permutation(5000)
    return names[:-1], names[1:], np.zeros(5000)


def star_of_20_000():
    return np.full(20_000, 20_000), np.arange(20_000), np.zeros(20_001)


def edges_into_0():
    return np.arange(1, 20_001), np.zeros(20_000, int), np.zeros(20_001)


def pairs():
    return np.arange(0, 20_000, 2), np.arange(1, 20_000, 2), np.arange(20_000) // 2


def two_halves_and_the_rest():
    """A path of 10,001 even names, one of 9,999 odd ones, and 502 vertices alone."""
    even, odd = np.arange(0, 20_002, 2), np.arange(1, 19_999, 2)
    alone = np.array([19_999, 20_001, *range(20_002, 20_502)])
    expected = np.empty(20_502, int)
    expected[even], expected[odd], expected[alone] = 0, 1, 2 + np.arange(alone.size)
    sources = np.concatenate([even[:-1], odd[1:], alone])
    return sources, np.concatenate([even[1:], odd[:-1], alone]), expected


def complete_bipartite():
    left, right = np.divmod(np.arange(300 * 300), 300)
    return left, right + 300, np.zeros(600)


def stars_of_falling_size():
    """Star k has k leaves, and its hub is the largest of its names."""
    size = np.arange(1, 150)
    hubs = np.cumsum(size + 1) - 1
    sources = np.repeat(hubs, size)
    leaves = np.setdiff1d(np.arange(hubs[-1] + 1), hubs)
    return sources, leaves, np.repeat(np.arange(149)[::-1], size + 1)


def a_comb():
    """A path whose vertices have a tooth each, named from the far end."""
    spine = np.arange(3000)[::-1]
    return (
        np.concatenate([spine[:-1], spine]),
        np.concatenate([spine[1:], spine + 3000]),
        np.zeros(6000),
    )


LARGE = [
    *(long_path, long_path_of_random_names, star_of_20_000, edges_into_0, pairs),
    *(two_halves_and_the_rest, complete_bipartite, stars_of_falling_size, a_comb),
]


@pytest.mark.parametrize("shape", LARGE, ids=lambda shape: shape.__name__)
@symmetrize
@pytest.mark.parametrize("lists", ["csr", "csc", "both"])
def test_large_closed_forms(make_arrays, shape, directed, lists):
    sources, destinations, expected = shape()
    frame = make_arrays({"source": sources, "destination": destinations})
    if lists == "csc" and directed:
        graph = build_graph(frame, layout="csc")
    else:
        graph = build_storage(frame, directed=directed)
    if lists == "both":
        assert graph.csc is not None
    found = rg.connected_components(graph)
    component = found["component"]
    np.testing.assert_array_equal(
        component.get() if hasattr(component, "get") else component, expected
    )
    assert rg.verify.components(graph, found) == max(expected) + 1


@pytest.mark.sanitizer
@symmetrize
@pytest.mark.parametrize(
    "generate",  # called in the test, because collecting tests should compile no kernel
    [
        lambda: rmat(12, 1, seed=2, device="cpu"),
        lambda: rmat(12, 16, seed=2, device="cpu"),
        lambda: grid(64, keep=0.5, seed=1, device="cpu"),
        lambda: grid(300, 4, keep=0.8, seed=1, device="cpu"),
    ],
    ids=["sparse rmat", "rmat", "grid", "road"],
)
@pytest.mark.parametrize("min_sampled_arcs", [0, 2**18])
def test_generated_graphs_agree_with_naive(
    make_arrays, monkeypatch, generate, min_sampled_arcs, directed
):
    for name in ("MIN_SAMPLED_ARCS", "MIN_CPU_SAMPLED_ARCS"):
        monkeypatch.setattr(components, name, min_sampled_arcs)
    frame = generate()
    columns = {name: frame[name].to_numpy() for name in frame}
    graph = build_storage(make_arrays(columns), directed=directed)
    found = rg.connected_components(graph)
    edges = [(*pair, 1) for pair in zip(*(values.tolist() for values in columns.values()))]
    expected = naive.components(edges)
    assert parts_of(found) == expected
    assert rg.verify.components(graph, found) == max(expected.values()) + 1


REAL = {  # components, vertices of the largest
    "karate": (1, 34),
    "netscience": (268, 379),
    "email-Eu-core": (20, 986),
    "wiki-Vote": (24, 7_066),
    "ca-GrQc": (355, 4_158),
    "email-Enron": (1_065, 33_696),
}


@pytest.mark.parametrize("name", REAL)
def test_real_graphs(name):
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{path.name} is not in ../shared/data, so this graph was not looked at")
    frame = rg.read_edges(path, device="cpu")
    found = rg.connected_components(frame)
    assert rg.verify.components(frame, found) == REAL[name][0]
    assert int((found["component"] == 0).sum()) == REAL[name][1]


def test_many_threads_in_one_tree_agree_every_time(make_arrays):
    """Long chains, shuffled: while one thread walks up a tree, others shorten the same ways."""
    place = np.random.default_rng(7).permutation(120_000)
    chains = {"source": place[:-1], "destination": place[1:]}
    cut = np.arange(1, 120_000) % 40_000 > 0  # three chains of 40,000
    graph = build_storage(make_arrays({name: ends[cut] for name, ends in chains.items()}))
    expected = np.empty(120_000, int)
    lowest = [part.min() for part in np.split(place, 3)]
    for number, part in enumerate(np.argsort(lowest)):
        expected[np.split(place, 3)[part]] = number
    for _ in range(10):
        found = listed(rg.connected_components(graph))["component"]
        np.testing.assert_array_equal(found, expected)


def test_a_name_column_called_component_has_no_room():
    edges = {"component": ["x", "y"], "source": [1, 1], "destination": [2, 3]}
    graph = build_storage(
        FrameMaker("pandas")(edges), ["component", "source"], ["component", "destination"]
    )
    with pytest.raises(rg.GraphError, match="'component' collides"):
        rg.connected_components(graph)
