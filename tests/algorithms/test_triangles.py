"""Triangles and clustering coefficients against closed forms, matrices, NetworkX and loops."""

import functools
import math
from itertools import permutations

import hypothesis.strategies as st
import networkx
import numpy as np
import pytest
from clusterings import bipartite, clique, cycle, edges_of, frame_columns, path, star
from conftest import FrameMaker, by_engine, listed, on_host, random_edges, to_pandas
from hypothesis import given, settings
from test_similarity import LARGE, SHAPES, SMALL, common_by_matrix

import rapidsgraph as rg
from rapidsgraph.algorithms import triangles


def wheel(rim):
    """The hub is 0; the rim is a cycle."""
    return star(rim) + edges_of((i + 1, (i + 1) % rim + 1) for i in range(rim))


def windmill(blades):
    """Triangles that share the vertex 0."""
    return edges_of(
        pair
        for blade in range(blades)
        for pair in ((0, 2 * blade + 1), (0, 2 * blade + 2), (2 * blade + 1, 2 * blade + 2))
    )


# Edges, triangles and undirected coefficient of each vertex.
CLOSED_FORMS = {
    "one edge": (path(range(2)), [0, 0], [0, 0]),
    "path": (path(range(4)), [0] * 4, [0] * 4),
    "triangle": (clique(range(3)), [1] * 3, [1] * 3),
    "square": (cycle(4), [0] * 4, [0] * 4),
    "clique": (clique(range(9)), [math.comb(8, 2)] * 9, [1] * 9),
    "large clique": (clique(range(300)), [math.comb(299, 2)] * 300, [1] * 300),
    "star": (star(40), [0] * 41, [0] * 41),
    "bipartite": (bipartite(5, 7), [0] * 12, [0] * 12),
    "wheel": (wheel(6), [6] + [2] * 6, [6 / 15] + [2 / 3] * 6),
    "hub": (wheel(120_000), [120_000] + [2] * 120_000, [2 / 119_999] + [2 / 3] * 120_000),
    "windmill": (windmill(50_001), [50_001] + [1] * 100_002, [1 / 100_001] + [1] * 100_002),
    "loops, parallel edges": (
        edges_of([(0, 1), (1, 0), (0, 1), (1, 1), (1, 2), (2, 0), (3, 3), (3, 2)]),
        [1, 1, 1, 0],
        [1, 1, 1 / 3, 0],
    ),
}
SMALLER_FOR_FRAMES = {  # which are joined alike, whatever their size
    "large clique": (clique(range(60)), [math.comb(59, 2)] * 60, [1] * 60),
    "hub": (wheel(9_000), [9_000] + [2] * 9_000, [2 / 8_999] + [2 / 3] * 9_000),
}
# Which kernel counts, by the degree of the middle vertex, and in how large tables.
LIMITS = {
    "small tables": {"MAX_BLOCK_TABLE_SIZE": 64},
    "threads": {"MAX_THREAD_DEGREE": 10**9, "MAX_WARP_DEGREE": 10**9},
    "warps up to 128": {"MAX_THREAD_DEGREE": 0},
    "blocks": {"MAX_THREAD_DEGREE": 0, "MAX_WARP_DEGREE": 0},
    "all kinds": {"MAX_THREAD_DEGREE": 2, "MAX_WARP_DEGREE": 10, "MAX_BLOCK_TABLE_SIZE": 64},
}
RANKED = {"_is_merging_cheap": lambda degrees, num_arcs: not degrees.size}  # also small graphs
KERNELS = {name: {**RANKED, **limits} for name, limits in LIMITS.items()}
KERNELS["as they are"] = {}


def counts_of(result, column="triangles", names=("vertex",)):
    """{vertex: value} of any result, after a look at its shape."""
    columns = listed(result)
    assert list(columns) == [*names, column]
    vertices = list(zip(*(columns[name] for name in names)))
    vertices = columns[names[0]] if len(names) == 1 else vertices
    assert vertices == sorted(set(vertices))
    return dict(zip(vertices, columns[column]))


def define_coefficients(edges, directed, vertices=()):
    """LDBC's definition by loops."""
    arcs = {(a, b) for a, b, *_ in edges if a != b}
    arcs |= set() if directed else {(b, a) for a, b in arcs}
    neighbors = {v: set() for a, b, *_ in edges for v in (a, b)} | {v: set() for v in vertices}
    for a, b in arcs:
        neighbors[a].add(b)
        neighbors[b].add(a)
    return {
        v: sum(pair in arcs for pair in permutations(near, 2)) / max(len(near) * (len(near) - 1), 1)
        for v, near in sorted(neighbors.items())
    }


@by_engine
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(make_arrays, name, method):
    if method == "frames" and name in SMALLER_FOR_FRAMES:
        edges, counts, coefficients = SMALLER_FOR_FRAMES[name]
    else:
        edges, counts, coefficients = CLOSED_FORMS[name]
    frame = make_arrays(frame_columns(edges))
    assert counts_of(rg.triangle_count(frame, method=method)) == dict(enumerate(counts))
    graph = rg.Graph(frame, directed=False)
    result = rg.clustering_coefficient(graph, method=method)
    assert counts_of(result, "coefficient") == pytest.approx(dict(enumerate(coefficients)))
    if len(edges) < 1000:
        assert counts_of(result, "coefficient") == define_coefficients(edges, directed=False)


def test_directed_coefficients_count_arcs(make_frame):
    """The directions of the arcs of the vertex itself do not matter, others count each."""
    edges = edges_of([(0, 1), (2, 0), (1, 2), (2, 1), (3, 0)])
    result = rg.clustering_coefficient(make_frame(frame_columns(edges)))
    assert counts_of(result, "coefficient") == {0: 2 / 6, 1: 1 / 2, 2: 1 / 2, 3: 0}


def test_results_from_every_library(make_frame):
    frame = make_frame(frame_columns(wheel(5)))
    for function, column, dtype in (
        (rg.triangle_count, "triangles", "int64"),
        (rg.clustering_coefficient, "coefficient", "float64"),
    ):
        result = function(frame)
        assert type(result) is type(frame)
        assert to_pandas(result).dtypes.astype(str).to_dict() == {"vertex": "int64", column: dtype}
    assert counts_of(rg.triangle_count(frame)) == {0: 5, **dict.fromkeys(range(1, 6), 2)}


@by_engine
def test_no_edges(make_frame, method):
    none = make_frame({"source": np.empty(0, int), "destination": np.empty(0, int)})
    loop = make_frame({"source": [3], "destination": [3]})
    for function, column in (
        (rg.triangle_count, "triangles"),
        (rg.clustering_coefficient, "coefficient"),
    ):
        assert counts_of(function(none, method=method), column) == {}
        assert counts_of(function(loop, method=method), column) == {3: 0}
        graph = rg.Graph(none, vertices=3)
        assert counts_of(function(graph, method=method), column) == {0: 0, 1: 0, 2: 0}


edge_lists = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.just(1)), max_size=80)


@given(edge_lists, st.booleans(), st.sampled_from(["first", "keep"]), st.sampled_from([*KERNELS]))
@settings(max_examples=60)
def test_small_graphs(edges, directed, multi_edges, kernels):
    frame = FrameMaker("arrays")(frame_columns(edges))
    graph = rg.Graph(frame, directed=directed, multi_edges=multi_edges, vertices=13)
    simple = networkx.Graph((a, b) for a, b, _ in edges if a != b)
    simple.add_nodes_from(range(13))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KERNELS[kernels].items():
            patch.setattr(triangles, name, value)
        counts, coefficients = rg.triangle_count(graph), rg.clustering_coefficient(graph)
    assert counts_of(counts) == networkx.triangles(simple)
    expected = define_coefficients(edges, directed, range(13))
    assert counts_of(coefficients, "coefficient") == expected
    if not directed:
        assert networkx.clustering(simple) == pytest.approx(expected)
    assert rg.verify.triangle_count(graph, counts) == sum(counts["triangles"]) // 3
    mean = rg.verify.clustering_coefficient(graph, coefficients)
    assert mean == pytest.approx(sum(expected.values()) / 13)


@pytest.mark.slow
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize(
    "shape", [*LARGE, *(pytest.param(shape, marks=pytest.mark.sanitizer) for shape in SMALL)]
)
def test_large_graphs(make_arrays, monkeypatch, shape, kernels):
    for name, value in KERNELS[kernels].items():
        monkeypatch.setattr(triangles, name, value)
    sources, destinations, expected, degrees, coefficients = results_by_matrix(shape)
    graph = rg.Graph(
        make_arrays({"source": sources, "destination": destinations}), vertices=degrees.size
    )
    for _ in range(2):
        np.testing.assert_array_equal(on_host(rg.triangle_count(graph)["triangles"]), expected)
    found = rg.clustering_coefficient(graph)
    np.testing.assert_allclose(on_host(found["coefficient"]), coefficients, rtol=1e-13)
    undirected = rg.clustering_coefficient(graph.to_undirected())
    np.testing.assert_allclose(
        on_host(undirected["coefficient"]), 2 * expected / np.maximum(degrees * (degrees - 1), 1),
        rtol=1e-13,
    )  # fmt: skip


@functools.cache  # for every choice of kernels
def results_by_matrix(shape):
    """Sources, destinations, and of each vertex the triangles, the degree and the coefficient."""
    sources, destinations = SHAPES[shape]()
    rows, _, common, sizes = common_by_matrix(sources, destinations)
    counts = np.bincount(rows, common - 2, sizes.size).astype(int) // 2
    return sources, destinations, counts, sizes - 1.0, coefficients_by_matrix(sources, destinations)


def coefficients_by_matrix(sources, destinations):
    """The arcs within a neighborhood: row v of N has the neighbors of v, and of N A what these
    point to."""
    import scipy.sparse

    proper = sources != destinations
    ends = sources[proper], destinations[proper]
    size = max(sources.max(), destinations.max()) + 1
    arcs = scipy.sparse.csr_array((np.ones(ends[0].size, np.int64), ends), (size, size))
    arcs.data[:] = 1
    near = arcs + arcs.T
    near.data[:] = 1
    degrees = near.sum(axis=1).astype(float)
    return ((near @ arcs) * near).sum(axis=1) / np.maximum(degrees * (degrees - 1), 1)


def test_order_and_names_do_not_matter(make_frame):
    edges = random_edges(5, 40, 300)
    names = np.random.default_rng(3).permutation(1000)[:40] - 300
    text = np.array([f"v{name}é" for name in names])
    expected = define_coefficients(edges, directed=True)
    counts = networkx.triangles(networkx.Graph((a, b) for a, b, _ in edges if a != b))
    shuffled = [edges[i] for i in np.random.default_rng(4).permutation(len(edges))]
    for spelled in (names, text):
        ends = frame_columns(shuffled)
        frame = make_frame({name: spelled[ends[name]] for name in ends})
        rename = spelled.tolist()
        result = counts_of(rg.clustering_coefficient(frame), "coefficient")
        assert result == {rename[v]: value for v, value in expected.items()}
        result = counts_of(rg.triangle_count(frame))
        assert result == {rename[v]: counts.get(v, 0) for v in expected}


def test_names_of_several_columns(make_frame):
    frame = make_frame({"net": ["b", "a", "a", "a"], "u": [1, 1, 2, 3], "v": [2, 2, 3, 1]})
    graph = rg.Graph(frame, ["net", "u"], ["net", "v"])
    counts = counts_of(rg.triangle_count(graph), names=("net", "vertex"))
    assert counts == {("a", 1): 1, ("a", 2): 1, ("a", 3): 1, ("b", 1): 0, ("b", 2): 0}
    values = counts_of(rg.clustering_coefficient(graph), "coefficient", ("net", "vertex"))
    assert values == {key: count / 2 for key, count in counts.items()}


@pytest.mark.parametrize("column", ["triangles", "coefficient"])
def test_name_columns_called_like_results(column):
    frame = FrameMaker("pandas")({column: ["n"] * 2, "a": [1, 2], "b": [2, 3]})
    graph = rg.Graph(frame, [column, "a"], [column, "b"])
    function = rg.triangle_count if column == "triangles" else rg.clustering_coefficient
    for method in ("auto", "frames"):
        with pytest.raises(rg.GraphError, match=f"name column '{column}' collides"):
            function(graph, method=method)
