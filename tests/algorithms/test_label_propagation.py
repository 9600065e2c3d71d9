"""Label propagation against closed forms and slow loops, from every library."""

from pathlib import Path

import hypothesis.strategies as st
import naive
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
from rapidsgraph.algorithms import label_propagation
from rapidsgraph.generate import grid, rmat

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[3] / "shared" / "data"

symmetrize = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
policies = pytest.mark.parametrize("multi_edges", ["first", "keep"])


def labels_of(result, names=("vertex",), labels=("label",)):
    """{vertex: label} of any result of label_propagation, after a look at its shape."""
    columns = listed(result)
    assert list(columns) == [*names, *labels]
    vertices = list(zip(*(columns[name] for name in names)))
    assert vertices == sorted(set(vertices))
    values = list(zip(*(columns[name] for name in labels)))
    if len(names) == 1:
        return dict(zip(columns["vertex"], columns["label"]))
    return dict(zip(vertices, values))


def columns_of_pairs(pairs):
    columns = columns_of([(a, b, 1) for a, b in pairs])
    return {name: columns[name] for name in ("source", "destination")}


def clique(first, size):
    return [(a, b) for a in range(first, first + size) for b in range(a + 1, first + size)]


CLOSED_FORMS = {  # edges, iterations, labels
    "one edge swaps": ([(0, 1)], 1, [1, 0]),
    "one edge swaps back": ([(0, 1)], 2, [0, 1]),
    "one edge to and fro": ([(0, 1), (1, 0)], 3, [1, 0]),
    "star": ([(3, i) for i in (0, 1, 2, 4)], 1, [3, 3, 3, 0, 3]),
    "star after two": ([(3, i) for i in (0, 1, 2, 4)], 2, [0, 0, 0, 3, 0]),
    "clique": (clique(0, 5), 10, [0] * 5),
    "two cliques": ([*clique(0, 4), *clique(4, 5), (3, 4)], 10, [0] * 4 + [4] * 5),
    "path": ([(0, 1), (1, 2), (2, 3), (3, 4)], 1, [1, 0, 1, 2, 3]),
    "cycle": ([(i, (i + 1) % 5) for i in range(5)], 1, [1, 0, 1, 2, 0]),
    "a vertex alone": ([(0, 2)], 1, [2, 1, 0]),
    "a self-loop": ([(1, 1)], 4, [0, 1]),
    "no edges": ([], 3, [0, 1, 2]),
    "one vertex": ([], 1, [0]),
}


@by_engine
@symmetrize
@policies
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(make_arrays, name, multi_edges, directed, method):
    pairs, iterations, expected = CLOSED_FORMS[name]
    graph = build_storage(
        make_arrays(columns_of_pairs(pairs)), directed=directed, vertices=len(expected),
        multi_edges=multi_edges,
    )  # fmt: skip
    result = rg.label_propagation(graph, iterations=iterations, method=method)
    labels = labels_of(result)
    if name == "one edge to and fro" and multi_edges == "keep":
        multi_edges = "first"  # two parallel edges, with the same labels
    assert labels == dict(enumerate(expected))
    count = rg.verify.label_propagation(graph, result, iterations=iterations)
    assert count == len(set(expected))


@by_engine
def test_a_neighbor_in_both_directions_counts_twice(make_arrays, method):
    """0 is the smallest neighbor of 3; 2 is one by both directions."""
    pairs = [(3, 0), (1, 3), (3, 2), (2, 3)]
    graph = build_storage(make_arrays(columns_of_pairs(pairs)))
    result = labels_of(rg.label_propagation(graph, iterations=1, method=method))
    assert result == {0: 3, 1: 3, 2: 3, 3: 2}
    undirected = build_storage(make_arrays(columns_of_pairs(pairs)), directed=False)
    result = labels_of(rg.label_propagation(undirected, iterations=1, method=method))
    assert result == {0: 3, 1: 3, 2: 3, 3: 0}


@by_engine
@symmetrize
def test_parallel_edges_count_if_they_are_kept(make_arrays, directed, method):
    pairs = [(0, 3), (3, 1), (3, 2), (3, 2), (3, 3)]
    frame = make_arrays(columns_of_pairs(pairs))
    for multi_edges, label in (("keep", 2), ("first", 3 if directed else 0)):
        graph = build_storage(frame, directed=directed, multi_edges=multi_edges)
        result = rg.label_propagation(graph, iterations=1, method=method)
        assert labels_of(result)[3] == label  # the loop is an arc out and an arc in


@by_engine
def test_frames_of_every_library(make_frame, method):
    frame = make_frame(columns_of_pairs([*clique(0, 4), *clique(4, 5), (3, 4)]))
    result = rg.label_propagation(frame, method=method)
    assert type(result) is type(frame)
    assert labels_of(result) == dict.fromkeys(range(4), 0) | dict.fromkeys(range(4, 9), 4)
    assert to_pandas(result).dtypes.astype(str).to_dict() == {"vertex": "int64", "label": "int64"}
    assert rg.verify.label_propagation(frame, result) == 2


@by_engine
def test_no_vertices(make_frame, method):
    none = make_frame({"source": np.empty(0, int), "destination": np.empty(0, int)})
    result = rg.label_propagation(none, method=method)
    assert listed(result) == {"vertex": [], "label": []}
    assert rg.verify.label_propagation(none, result) == 0


@by_engine
@symmetrize
@policies
@pytest.mark.parametrize("rows", [20, 150, 600])
def test_agrees_with_naive(make_arrays, rows, directed, multi_edges, method):
    edges = random_edges(rows, 100, rows)
    graph = build_storage(
        make_arrays(columns_of(edges)), weight=None, directed=directed, vertices=105,
        multi_edges=multi_edges,
    )  # fmt: skip
    rows = [(a, b, 1) for a, b, _ in edges]
    if multi_edges == "first":
        rows = {(a, b, 1) if directed else (min(a, b), max(a, b), 1) for a, b, _ in rows}
    for iterations in (1, 2, 3, 10):
        result = rg.label_propagation(graph, iterations=iterations, method=method)
        expected = naive.labels(sorted(rows), iterations, range(105), directed)
        assert labels_of(result) == expected
        count = rg.verify.label_propagation(graph, result, iterations=iterations)
        assert count == len(set(expected.values()))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.just(1)), min_size=1, max_size=40),
    st.booleans(),
    st.integers(1, 6),
    st.randoms(use_true_random=False),
)
@settings(max_examples=100)
def test_the_order_of_rows_does_not_matter(edges, directed, iterations, random):
    expected = naive.labels(edges, iterations, directed=directed)
    random.shuffle(edges)
    graph = build_storage(
        FrameMaker("arrays")(columns_of(edges)), weight=None, directed=directed, multi_edges="keep"
    )
    assert labels_of(rg.label_propagation(graph, iterations=iterations)) == expected


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.just(1)), min_size=20))
@settings(max_examples=30)
def test_ascending_names_do_not_matter(edges):
    expected = labels_of(rg.label_propagation(FrameMaker("arrays")(columns_of(edges))))
    renamed = [(a * 10**11 - 7, b * 10**11 - 7, w) for a, b, w in edges]
    result = labels_of(rg.label_propagation(FrameMaker("arrays")(columns_of(renamed))))
    assert result == {a * 10**11 - 7: b * 10**11 - 7 for a, b in expected.items()}


PLACES = np.arange(60)
NAMES = {
    "with gaps": PLACES * 7 + 5,
    "negative": PLACES * 3 - 100,
    "uint64": PLACES.astype(np.uint64) + np.uint64(2**63),
    "text": np.array([f"v{place:02}é" for place in PLACES]),
}


@by_engine
@pytest.mark.parametrize("kind", NAMES)
def test_names(make_held_frame, kind, method):
    edges, names = random_edges(82, 60, 235), NAMES[kind]
    columns = columns_of(edges)
    frame = make_held_frame({name: names[columns[name]] for name in ("source", "destination")})
    result = rg.label_propagation(frame, iterations=4, method=method)
    listed_names = names.tolist()
    renamed = {(listed_names[a], listed_names[b], 1) for a, b, _ in edges}
    assert labels_of(result) == naive.labels(sorted(renamed), 4)
    assert rg.verify.label_propagation(frame, result, iterations=4)


@pytest.mark.parametrize("text_type", ["string", "large_string"])
@by_engine
def test_labels_of_arrow_have_the_type_of_names(text_type, method):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"source": ["a", "b"], "destination": ["b", "c"]})
    schema = pyarrow.schema([(name, text_type) for name in table.column_names])
    result = rg.label_propagation(table.cast(schema), method=method)
    assert [*map(str, result.schema.types)] == [text_type, text_type]


@by_engine
def test_names_of_several_columns(make_held_frame, method):
    edges = random_edges(83, 40, 140)
    net = [("b", "a")[a % 2] for a, _, _ in edges]
    other = [("b", "a")[b % 2] for _, b, _ in edges]
    frame = make_held_frame(columns_of(edges) | {"net": net, "other": other})
    options = {"weight": None, "multi_edges": "keep"}
    graph = rg.Graph(frame, ["net", "source"], ["net", "destination"], **options)
    result = rg.label_propagation(graph, iterations=3, method=method)
    expected = naive.labels([((n, a), (n, b), 1) for n, (a, b, _) in zip(net, edges)], 3)
    names = ("net", "vertex")
    assert labels_of(result, names) == {name: (label[1],) for name, label in expected.items()}
    assert all(name[0] == label[0] for name, label in expected.items())
    assert rg.verify.label_propagation(graph, result, iterations=3)
    graph = rg.Graph(frame, ["net", "source"], ["other", "destination"], **options)
    result = rg.label_propagation(graph, iterations=3, method=method)
    expected = naive.labels([((n, a), (o, b), 1) for n, o, (a, b, _) in zip(net, other, edges)], 3)
    assert labels_of(result, ("vertex_0", "vertex_1"), ("label_0", "label_1")) == expected
    assert rg.verify.label_propagation(graph, result, iterations=3)


# Large enough for every way that the kernels take: groups, blocks, and tables in global memory


def hub_of_100_000():
    """Every spoke has two neighbors, so that the hub receives most labels once."""
    spokes = np.arange(1, 100_001)
    return np.append(np.zeros(spokes.size, int), spokes[:-1]), np.append(spokes, spokes[1:])


def bipartite():
    left, right = np.divmod(np.arange(40 * 3000), 3000)
    return left, right + 40


def lists_of_every_length():
    """Vertex k has k random neighbors."""
    random = np.random.default_rng(3)
    sources = np.repeat(np.arange(400), np.arange(400))
    return sources, random.integers(0, 3000, sources.size)


def hubs_of_random_neighbors():
    random = np.random.default_rng(4)
    sizes = [2000, 2100, 4096, 9000, 16384, 16500, 30_000]
    sources = np.repeat(np.arange(len(sizes)), sizes)
    return np.append(sources, random.integers(0, 40_000, 60_000)), np.append(
        random.integers(0, 40_000, sources.size), random.integers(0, 40_000, 60_000)
    )


LARGE = [hub_of_100_000, bipartite, lists_of_every_length, hubs_of_random_neighbors]


def check(make_arrays, sources, destinations, **options):
    """The labels of several iterations are those that sorting gives."""
    frame = make_arrays({"source": sources, "destination": destinations})
    graph = build_storage(frame, **options)
    for iterations in (1, 2, 3, 10):
        result = rg.label_propagation(graph, iterations=iterations)
        rg.verify.label_propagation(graph, result, iterations=iterations)
    return labels_of(result)


@pytest.mark.parametrize("shape", LARGE, ids=lambda shape: shape.__name__)
@symmetrize
@policies
def test_large_graphs(make_arrays, shape, directed, multi_edges):
    check(make_arrays, *shape(), directed=directed, multi_edges=multi_edges)


def test_labels_of_a_hub():
    """A hub and its spokes take each other's labels; a clique keeps its own."""
    sources = np.concatenate([np.full(150_000, 7), 200_000 + np.repeat(np.arange(4), 4)])
    destinations = np.concatenate([np.arange(8, 150_008), 200_000 + np.tile(np.arange(4), 4)])
    labels = check(FrameMaker("arrays"), sources, destinations)
    assert labels[7] == 7  # after an even number of iterations
    assert {labels[spoke] for spoke in range(8, 150_008)} == {8}
    assert {labels[vertex] for vertex in range(200_000, 200_004)} == {200_000}


@pytest.mark.sanitizer
def test_one_hub_of_random_neighbors(make_arrays):
    """More labels than the table in shared memory holds."""
    hub = [0] * 4000, np.random.default_rng(5).permutation(np.arange(1, 4001))
    check(make_arrays, *np.concatenate([hub, np.arange(1, 4001).reshape(2, -1)], axis=1))


@symmetrize
@pytest.mark.parametrize(
    "generate",  # called in the test, because collecting tests should compile no kernel
    [
        pytest.param(lambda: rmat(10, 2, seed=2, device="cpu"), marks=pytest.mark.sanitizer),
        pytest.param(lambda: rmat(9, 16, seed=2, device="cpu"), marks=pytest.mark.sanitizer),
        lambda: rmat(14, 16, seed=2, device="cpu"),
        lambda: grid(64, keep=0.8, seed=1, device="cpu"),
    ],
    ids=["sparse rmat", "small rmat", "rmat", "grid"],
)
def test_generated_graphs(make_arrays, generate, directed):
    frame = generate()
    check(make_arrays, frame["source"].to_numpy(), frame["destination"].to_numpy(),
          directed=directed)  # fmt: skip


@pytest.mark.sanitizer
def test_marking_neighbors_changes_nothing(make_arrays, monkeypatch):
    frame = rmat(9, 8, seed=3, device="cpu")
    graph = build_storage(make_arrays({name: frame[name].to_numpy() for name in frame}))
    results = []
    for ratio in (0, 10**9):  # always, never
        monkeypatch.setattr(label_propagation, "MIN_SAVINGS", ratio)
        results.append(labels_of(rg.label_propagation(graph)))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", ["karate", "wiki-Vote", "ca-GrQc"])
def test_real_graphs(name):
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{path.name} is not in ../shared/data, so this graph was not looked at")
    frame = rg.read_edges(path, device="cpu")
    for directed in (True, False):
        graph = rg.Graph(frame, weight=None, directed=directed)
        rg.verify.label_propagation(graph, rg.label_propagation(graph))


@pytest.mark.parametrize("iterations", [0, -1, 1.5, "3", None, True, 2**63])
def test_wrong_numbers_of_iterations(iterations):
    edges = columns_of_pairs([(0, 1)])
    result = rg.label_propagation(edges)
    for call in (
        lambda: rg.label_propagation(edges, iterations=iterations),
        lambda: rg.verify.label_propagation(edges, result, iterations=iterations),
    ):
        with pytest.raises(rg.GraphError) as error:
            call()
        assert error.value.parameter == "iterations"


def test_many_iterations_end_when_no_label_changes():
    result = rg.label_propagation(columns_of_pairs(clique(0, 5)), iterations=2**62)
    assert result["label"].tolist() == [0] * 5


def test_a_name_column_called_label_collides():
    edges = {"label": ["x", "y"], "source": [1, 1], "destination": [2, 3]}
    graph = rg.Graph(FrameMaker("pandas")(edges), ["label", "source"], ["label", "destination"])
    for method in ("auto", "frames"):
        with pytest.raises(rg.GraphError, match="'label' collides"):
            rg.label_propagation(graph, method=method)
