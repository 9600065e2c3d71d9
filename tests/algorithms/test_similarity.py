"""Structural similarity against closed forms, slow loops and matrices, by every way to count."""

from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from clusterings import (
    ALL_METHODS,
    COUNTERS,
    METHODS,
    bipartite,
    clique,
    cycle,
    edges_of,
    expected_similarity,
    frame_columns,
    lattice,
    path,
    similarity_of,
    small_graphs,
    star,
)
from conftest import FrameMaker, build_storage, columns_of, listed, on_host, random_edges, to_pandas
from hypothesis import given, settings

import rapidsgraph as rg
from rapidsgraph.algorithms import similarity
from rapidsgraph.generate import grid, rmat, ssca2, uniform
from rapidsgraph.graph.build import build_graph
from rapidsgraph.graph.csr import row_indices

all_methods = pytest.mark.parametrize("method", ALL_METHODS)

CLOSED_FORMS = {  # edges, similarity of each
    "one edge": ([(4, 7, 1)], {(4, 7): 1.0}),
    "one edge back": ([(7, 4, 1)], {(4, 7): 1.0}),
    "triangle": (clique(range(3)), {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}),
    "clique": (clique(range(6)), {(a, b): 1.0 for a, b, _ in clique(range(6))}),
    "star": (star(7), {(0, leaf): 0.5 for leaf in range(1, 8)}),
    "path": (path(range(4)), {(0, 1): 2 / 6**0.5, (1, 2): 2 / 3, (2, 3): 2 / 6**0.5}),
    "square": (cycle(4), {(0, 1): 2 / 3, (0, 3): 2 / 3, (1, 2): 2 / 3, (2, 3): 2 / 3}),
    "bipartite": (bipartite(2, 7), {(a, b): 2 / 24**0.5 for a in (0, 1) for b in range(2, 9)}),
    "torus": (lattice(4, 4), {tuple(sorted(edge[:2])): 0.4 for edge in lattice(4, 4)}),
    "cliques that share an edge": (
        clique([0, 1, 2]) + clique([1, 2, 3]),
        {(0, 1): 3 / 12**0.5, (0, 2): 3 / 12**0.5, (1, 2): 1.0,
         (1, 3): 3 / 12**0.5, (2, 3): 3 / 12**0.5},
    ),
    "self-loops and repetitions": (
        edges_of([(0, 0), (0, 1), (1, 0), (0, 1), (1, 1), (2, 1)]),
        {(0, 1): 2 / 6**0.5, (1, 2): 2 / 6**0.5},
    ),
}  # fmt: skip


@all_methods
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(make_arrays, name, method):
    edges, expected = CLOSED_FORMS[name]
    frame = make_arrays(frame_columns(edges))
    assert similarity_of(rg.structural_similarity(frame, method=method)) == expected
    assert expected_similarity(edges) == expected


@pytest.mark.parametrize("name", ["path", "cliques that share an edge"])
def test_closed_forms_from_every_library(make_frame, name):
    edges, expected = CLOSED_FORMS[name]
    frame = make_frame(frame_columns(edges))
    found = rg.structural_similarity(frame)
    assert type(found) is type(frame)
    assert similarity_of(found) == expected
    assert to_pandas(found).dtypes.astype(str).to_dict() == {
        "source": "int64", "destination": "int64", "similarity": "float64",
    }  # fmt: skip


def test_no_edges(make_frame):
    none = make_frame({"source": np.empty(0, int), "destination": np.empty(0, int)})
    loop = make_frame({"source": [3], "destination": [3]})
    for graph in (none, loop, build_storage(none, vertices=5), build_storage(loop, directed=False)):
        found = rg.structural_similarity(graph)
        assert type(found) is type(none)
        assert listed(found) == {"source": [], "destination": [], "similarity": []}
        assert str(to_pandas(found)["similarity"].dtype) == "float64"


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.just(1)), max_size=60),
    st.sampled_from(["frame", "directed", "undirected", "csc", "keep"]),
)
@settings(max_examples=100)
def test_small_graphs_agree_with_naive(edges, kind):
    frame = FrameMaker("arrays")(frame_columns(edges))
    graph = {
        "frame": lambda: frame,
        "directed": lambda: build_storage(frame),
        "undirected": lambda: build_storage(frame, directed=False),
        "csc": lambda: build_graph(frame, layout="csc"),
        "keep": lambda: build_storage(frame, directed=False, multi_edges="keep", self_loops="keep"),
    }[kind]()
    for method in ALL_METHODS:
        found = rg.structural_similarity(graph, method=method)
        assert similarity_of(found) == expected_similarity(edges)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("counters", COUNTERS)
def test_a_thousand_graphs_at_once(make_arrays, monkeypatch, counters, method):
    for name, value in COUNTERS[counters].items():
        monkeypatch.setattr(similarity, name, value)
    edges = small_graphs(3, 1000, vertices=14)
    found = rg.structural_similarity(make_arrays(frame_columns(edges)), method=method)
    assert similarity_of(found) == expected_similarity(edges)


# Graphs large enough for every way that the kernels take


def generated(frame):
    return frame["source"].to_numpy(), frame["destination"].to_numpy()


def dense_and_hubs(size=400, leaves=4000):
    """A clique, and 3 hubs that share their leaves; all names shuffled."""
    hubs, first_leaf = range(size, size + 3), size + 3
    ends = [(a, b) for a, b, _ in clique(range(size))]
    ends += [(hub, first_leaf + leaf) for hub in hubs for leaf in range(leaves)]
    ends += [*pairwise(hubs), (hubs[2], 7), (0, hubs[0])]
    names = np.random.default_rng(4).permutation(first_leaf + leaves)
    return tuple(names[np.array(ends).T])


LARGE = {
    "rmat": lambda: generated(rmat(11, 32, seed=1, device="cpu")),
    "sparse rmat": lambda: generated(rmat(13, 4, seed=2, device="cpu")),
    "ssca2": lambda: generated(ssca2(4000, max_clique=60, seed=3, device="cpu")),
    "grid": lambda: generated(grid(50, keep=0.9, seed=4, device="cpu")),
    "uniform": lambda: generated(uniform(600, 40_000, seed=5, device="cpu")),
    "dense": lambda: generated(uniform(300, 90_000, seed=6, device="cpu")),
    "cliques and hubs": dense_and_hubs,
}
# The same ways in a fraction of the time, for compute-sanitizer.
SMALL = {
    "small rmat": lambda: generated(rmat(7, 8, seed=1, device="cpu")),
    "small grid": lambda: generated(grid(20, keep=0.9, seed=4, device="cpu")),
    "small cliques and hubs": lambda: dense_and_hubs(140, 2100),
}
SHAPES = LARGE | SMALL


def common_by_matrix(sources, destinations):
    """Row, column and common neighbors of every arc, and sizes: A A + 2 A where A is 1."""
    import scipy.sparse

    proper = sources != destinations
    ends = np.concatenate([[sources[proper], destinations[proper]],
                           [destinations[proper], sources[proper]]], axis=1)  # fmt: skip
    size = max(sources.max(), destinations.max()) + 1
    matrix = scipy.sparse.csr_array((np.ones(ends.shape[1], np.int32), ends), (size, size))
    matrix.data[:] = 1
    common = (matrix @ matrix + 2 * matrix) * matrix
    common.sort_indices()
    rows = np.repeat(np.arange(size), np.diff(common.indptr))
    return rows, common.indices, common.data, np.diff(matrix.indptr) + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [*LARGE, *(pytest.param(shape, marks=pytest.mark.sanitizer) for shape in SMALL)]
)
def test_common_neighbors_are_a_product_of_matrices(make_arrays, monkeypatch, shape):
    sources, destinations = SHAPES[shape]()
    rows, columns, common, sizes = common_by_matrix(sources, destinations)
    frame = make_arrays({"source": sources, "destination": destinations})
    for counters in COUNTERS.values():
        with monkeypatch.context() as patch:
            for name, value in counters.items():
                patch.setattr(similarity, name, value)
            graph = build_storage(frame, vertices=range(sizes.size))
            found = similarity.common_neighbors(graph)
        lists = similarity.neighborhoods(graph)
        np.testing.assert_array_equal(on_host(row_indices(lists)), rows)
        np.testing.assert_array_equal(on_host(lists.neighbors), columns)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(on_host(found), common)
    np.testing.assert_array_equal(on_host(similarity.common_neighbors(graph, "gpuscan")), common)
    later = columns > rows
    found = rg.structural_similarity(graph)
    for name, expected in (
        ("source", rows[later]),
        ("destination", columns[later]),
        ("similarity", (common / np.sqrt(sizes[rows] * sizes[columns].astype(float)))[later]),
    ):
        np.testing.assert_array_equal(on_host(found[name]), expected)


@pytest.mark.parametrize(("size", "leaves"), [(400, 4000), (140, 2100)])
def test_the_graphs_above_are_large_enough(size, leaves):
    """Upper lists of more than a warp and than the tables of 64; degrees beyond 128 and 2,048."""
    sources, destinations = dense_and_hubs(size, leaves)
    graph = build_storage({"source": sources, "destination": destinations})
    degrees = np.diff(similarity.neighborhoods(graph).offsets)
    assert np.sum(degrees > 2048) == 3 and np.sum((degrees > 128) & (degrees < 2048)) == size


# What may not matter


@all_methods
def test_weights_order_and_directions_do_not_matter(make_arrays, method):
    edges = random_edges(5, 40, 200)
    expected = expected_similarity(edges)
    frame = make_arrays(columns_of(edges))
    weighted = {"weight": "weight", "multi_edges": "sum"}
    for graph in (
        build_storage(frame, **weighted),
        build_storage(frame, directed=False, **weighted),
    ):
        assert similarity_of(rg.structural_similarity(graph, method=method)) == expected
    transpose = [(b, a, 9.0) if place % 3 else (a, b, 0.0) for place, (a, b, _) in enumerate(edges)]
    frame = make_arrays(columns_of(transpose[::-1] + edges))
    assert similarity_of(rg.structural_similarity(frame, method=method)) == expected


def test_what_was_counted_is_kept(make_arrays):
    graph = build_storage(make_arrays(frame_columns(random_edges(6))))
    counted = similarity.common_neighbors(graph)
    rg.scan(graph)
    assert similarity.common_neighbors(graph) is counted
    assert similarity.neighborhoods(graph) is similarity.neighborhoods(graph)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.just(1)), max_size=60))
def test_steps_of_merging_are_bounded(edges):
    columns = FrameMaker("arrays")(frame_columns(edges))
    adjacency = similarity.neighborhoods(build_graph(columns, directed=False, vertices=range(13)))
    degrees = np.diff(adjacency.offsets)
    bound = similarity.max_merge_steps(degrees.size, adjacency.neighbors.size)
    assert int(degrees @ degrees) <= bound * (1 + 1e-12)


def test_the_bound_of_steps_is_reached():
    assert similarity.max_merge_steps(9, 16) == 8**2 + 8  # a star
    assert similarity.max_merge_steps(5, 20) == 5 * 4**2  # a clique
    assert similarity.max_merge_steps(1, 0) == similarity.max_merge_steps(0, 0) == 0


@pytest.mark.slow
def test_every_time_the_same(make_arrays):
    frame = make_arrays(frame_columns(edges_of(zip(*map(np.ndarray.tolist, dense_and_hubs())))))
    first = on_host(similarity.common_neighbors(build_storage(frame)))
    for _ in range(8):
        again = on_host(similarity.common_neighbors(build_storage(frame)))
        np.testing.assert_array_equal(again, first)


# Names


def test_names(make_frame):
    places = np.arange(30)
    edges = random_edges(7, 30, 60)
    for names in (places * 7 - 50, places + 2**31, np.array([f"v{p:02}é" for p in places])):
        ends = frame_columns(edges)
        frame = make_frame({name: names[ends[name]] for name in ends})
        spelled = names.tolist()
        renamed = [(spelled[a], spelled[b], 1) for a, b, _ in edges]
        assert similarity_of(rg.structural_similarity(frame)) == expected_similarity(renamed)


def test_names_of_several_columns(make_frame):
    edges = random_edges(8, 30, 90)
    net = [("b", "a")[a % 2] for a, _, _ in edges]
    rows = [((n, a), (n, b), 1) for n, (a, b, _) in zip(net, edges)]
    frame = make_frame({**frame_columns(edges), "net": net})
    found = listed(
        rg.structural_similarity(build_storage(frame, ["net", "source"], ["net", "destination"]))
    )
    assert list(found) == ["net", "source", "destination", "similarity"]
    expected = expected_similarity(rows)
    keys = [((n, a), (n, b)) for n, a, b in zip(*(found[name] for name in list(found)[:3]))]
    assert dict(zip(keys, found["similarity"])) == expected and keys == sorted(expected)


def test_own_names_of_several_columns(make_frame):
    ends = {"a": [1, 1, 2], "c": ["x", "x", "x"], "b": [2, 1, 1], "d": ["x", "y", "y"]}
    graph = build_storage(make_frame(ends), ["a", "c"], ["b", "d"])
    found = listed(rg.structural_similarity(graph))
    assert found == {
        "source_0": [1, 1, 1],
        "source_1": ["x", "x", "y"],
        "destination_0": [1, 2, 2],
        "destination_1": ["y", "x", "x"],
        "similarity": [1.0, 1.0, 1.0],
    }


@pytest.mark.parametrize("name", ["similarity", "source", "destination"])
def test_name_columns_that_have_no_room(name):
    frame = {name: ["n"] * 2, "a": [1, 2], "b": [2, 3]}
    graph = build_storage(FrameMaker("pandas")(frame), [name, "a"], [name, "b"])
    with pytest.raises(rg.GraphError, match=f"name column '{name}' collides"):
        rg.structural_similarity(graph)


@pytest.mark.parametrize("name", ["source_0", "destination_1"])
def test_a_shared_name_column_like_those_of_an_end_has_no_room(name):
    frame = {name: ["n"] * 2, "a": [1, 2], "b": [2, 3], "c": [1, 1], "d": [1, 1]}
    graph = build_storage(FrameMaker("pandas")(frame), [name, "a", "c"], [name, "b", "d"])
    with pytest.raises(rg.GraphError, match=f"name column '{name}' collides"):
        rg.structural_similarity(graph)


def test_what_cannot_be_used(make_frame):
    with pytest.raises(rg.GraphError, match="method"):
        rg.structural_similarity(make_frame({"source": [0], "destination": [1]}), method="fast")
    with pytest.raises(rg.GraphError, match="destination"):
        rg.structural_similarity(make_frame({"source": [0], "target": [1]}))
