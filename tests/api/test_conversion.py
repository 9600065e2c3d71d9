"""Graphs of NetworkX, SciPy and igraph as Graphs."""

import networkx
import numpy as np
import pandas
import pytest
import scipy.sparse
from pandas.testing import assert_frame_equal

import rapidsgraph as rg

GRAPHS = {
    "integers": networkx.karate_club_graph(),
    "text": networkx.DiGraph([("b", "a", {"weight": 2.5}), ("c", "b", {"weight": 1})]),
    "tuples": networkx.grid_2d_graph(3, 4),
    "gaps": networkx.DiGraph([(7, -3), (-3, 10**12), (7, 7)]),
    "parallel": networkx.MultiGraph([(5, 7, {"weight": 1}), (7, 5, {"weight": 3}), (7, 7), (7, 7)]),
    "parallel arcs": networkx.MultiDiGraph([("a", "b"), ("b", "a"), ("a", "b")]),
    "isolated": networkx.empty_graph(3),
    "view": networkx.karate_club_graph().subgraph(range(5, 20)),
    "reversed view": networkx.DiGraph([(0, 1), (0, 2)]).reverse(copy=False),
    "empty": networkx.Graph(),
}
GRAPHS["isolated"].add_edge(4, 9)


def list_edges(g):
    """Return the sorted edges of a NetworkX graph, with weights."""
    edges = [
        ((a, b) if g.is_directed() else tuple(sorted((a, b))), weight)
        for a, b, weight in g.edges(data="weight", default=1)
    ]
    return sorted(edges)


@pytest.mark.parametrize("name", GRAPHS)
def test_networkx_there_and_back(name):
    g = GRAPHS[name]
    graph = rg.from_networkx(g)
    assert graph.weighted == any("weight" in data for *_, data in g.edges(data=True))
    back = graph.to_networkx()
    assert (back.is_directed(), back.is_multigraph()) == (g.is_directed(), g.is_multigraph())
    assert list(back) == sorted(g)
    assert list_edges(back) == list_edges(g)


@pytest.mark.parametrize("name", GRAPHS)
def test_igraph_there_and_back(name):
    pytest.importorskip("igraph")
    graph = rg.from_networkx(GRAPHS[name])
    back = rg.from_igraph(graph.to_igraph())
    assert (back.directed, back.weighted) == (graph.directed, graph.weighted)
    assert_frame_equal(back.vertices, graph.vertices)
    assert_frame_equal(back.edges, graph.edges)


@pytest.mark.parametrize("name", GRAPHS)
def test_scipy_there_and_back(name):
    graph = rg.from_networkx(GRAPHS[name], multi_edges="sum")
    back = rg.from_scipy(graph.to_scipy(), graph.vertices, directed=graph.directed)
    assert back.weighted
    assert_frame_equal(back.vertices, graph.vertices)
    edges = graph.edges
    expected = edges if graph.weighted else edges.assign(weight=1)
    assert_frame_equal(back.edges, expected)


def test_results_equal_those_of_networkx():
    g = networkx.karate_club_graph()
    graph = rg.from_networkx(g)
    lengths = networkx.single_source_dijkstra_path_length(g, 0)
    distances = rg.sssp(graph, 0).set_index("vertex")["distance"]
    assert distances.to_dict() == lengths
    expected = networkx.pagerank(g, tol=1e-12)
    result = rg.pagerank(graph, tolerance=1e-12).set_index("vertex")["pagerank"]
    assert result.to_dict() == pytest.approx(expected, abs=1e-9)
    grid = networkx.grid_2d_graph(2, 3)
    hops = rg.bfs(rg.from_networkx(grid), (0, 0))
    names = zip(hops["vertex_0"], hops["vertex_1"])
    assert dict(zip(names, hops["distance"])) == networkx.single_source_shortest_path_length(
        grid, (0, 0)
    )


def hides_the_edge_of_0_and_1(a, b, *key):
    return {a, b} != {0, 1}


@pytest.mark.parametrize(
    "kind", [networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph]
)
@pytest.mark.parametrize(
    "options",
    [
        {"filter_edge": hides_the_edge_of_0_and_1},
        {"filter_edge": lambda *edge: False},
        {"filter_node": lambda node: node != 0},
        {"filter_edge": hides_the_edge_of_0_and_1, "filter_node": lambda node: node != 2},
    ],
    ids=["edge", "all edges", "node", "both"],
)
def test_filtered_views(kind, options):
    g = kind([(0, 1, {"weight": 5}), (0, 1, {"weight": 2}), (1, 2, {"weight": 3}), (2, 3)])
    view = networkx.subgraph_view(g, **options)
    back = rg.from_networkx(view).to_networkx()
    assert list(back) == sorted(view)
    assert list_edges(back) == list_edges(view)


@pytest.mark.parametrize("convert", [rg.from_networkx, rg.from_igraph])
def test_unknown_policy(convert):
    g = GRAPHS["integers"]
    if convert is rg.from_igraph:
        g = pytest.importorskip("igraph").Graph.Ring(4)
    with pytest.raises(rg.GraphError, match="multi_edges is 'bogus'; it can be 'first'") as caught:
        convert(g, multi_edges="bogus")
    assert caught.value.parameter == "multi_edges"


def parallel_edges(weights):
    ends = np.zeros(len(weights), np.int64)
    return {"source": ends, "destination": ends + 1, "weight": weights}


@pytest.mark.parametrize(
    ("weights", "total", "kind"),
    [
        (np.array([2**62, 2**62]), 2.0**63, "f"),
        (np.array([2**62, 2**62 - 1]), 2**63 - 1, "i"),
        (np.array([2**31 - 1] * 3, np.int32), 3 * (2**31 - 1), "i"),
        (np.array([3e38, 3e38], np.float32), 2 * float(np.float32(3e38)), "f"),
    ],
    ids=["beyond int64", "int64", "int32", "float32"],
)
def test_sums_of_parallel_weights_do_not_overflow(weights, total, kind):
    graph = rg.Graph(parallel_edges(weights), weight="weight", multi_edges="keep")
    matrix = graph.to_scipy()
    assert (matrix[0, 1], matrix.dtype.kind) == (total, kind)
    entries = scipy.sparse.coo_array((weights, ([0] * len(weights), [1] * len(weights))), (2, 2))
    assert rg.from_scipy(entries).edges["weight"].tolist() == [total]


def test_an_infinite_sum_of_parallel_weights():
    edges = parallel_edges(np.array([1.7e308, 1.7e308]))
    graph = rg.Graph(edges, weight="weight", multi_edges="keep")
    with pytest.raises(rg.GraphError, match="edges between 0 and 1 sum to more than"):
        graph.to_scipy()


def test_attribute_of_weights():
    g = networkx.Graph([(0, 1, {"km": 2.5}), (1, 2)])
    assert not rg.from_networkx(g).weighted
    assert rg.from_networkx(g, weight="km").edges["weight"].tolist() == [2.5, 1]
    assert not rg.from_networkx(GRAPHS["text"], weight=None).weighted
    with pytest.raises(rg.MissingColumnError, match="'length'; their attributes are km") as caught:
        rg.from_networkx(g, weight="length")
    assert (caught.value.parameter, caught.value.columns) == ("weight", ["km"])


def test_attribute_of_weights_in_igraph():
    igraph = pytest.importorskip("igraph")
    g = igraph.Graph(edges=[(0, 1), (1, 2)], edge_attrs={"km": [2.5, 4]})
    assert not rg.from_igraph(g).weighted
    assert rg.from_igraph(g, weight="km").edges["weight"].tolist() == [2.5, 4]
    with pytest.raises(rg.MissingColumnError, match="'length'; their attributes are km"):
        rg.from_igraph(g, weight="length")


@pytest.mark.parametrize(("multi_edges", "weights"), [("keep", [1, 3]), ("min", [1]), ("sum", [4])])
def test_parallel_edges_follow_the_policy(multi_edges, weights):
    g = networkx.MultiGraph([("a", "b", {"weight": 3}), ("b", "a", {"weight": 1})])
    edges = rg.from_networkx(g, multi_edges=multi_edges).edges
    assert sorted(edges["weight"]) == weights


def test_matrix_entries():
    entries = [5.0, 0.0, 1.0, 2.0], ([0, 0, 2, 2], [1, 2, 0, 0])  # a stored zero and a duplicate
    matrix = scipy.sparse.coo_array(entries, shape=(4, 4))
    graph = rg.from_scipy(matrix)
    assert (graph.num_vertices, graph.directed) == (4, True)
    assert graph.edges.values.tolist() == [[0, 1, 5], [0, 2, 0], [2, 0, 3]]
    assert matrix.nnz == 4
    assert not rg.from_scipy(matrix.astype(bool)).weighted
    assert rg.from_scipy(scipy.sparse.csr_matrix(matrix)).num_edges == 3


@pytest.mark.parametrize(
    "names",
    [
        ["c", "a", "b"],
        np.array([30, 10, 20]),
        pandas.Series(["x", "y", "w"]),
        [("u", 2), ("u", 1), ("t", 3)],
        pandas.DataFrame({"first": [2, 1, 1], "second": ["a", "b", "a"]}),
    ],
    ids=["list", "array", "series", "tuples", "frame"],
)
def test_names_of_rows(names):
    matrix = scipy.sparse.csr_array(([1.0, 2.0], ([0, 2], [1, 0])), shape=(3, 3))
    edges = rg.from_scipy(matrix, names).edges
    rows = list(names.itertuples(index=False)) if hasattr(names, "columns") else list(names)
    rows = [tuple(row) if isinstance(row, tuple) else (row,) for row in rows]
    expected = sorted([(*rows[0], *rows[1], 1.0), (*rows[2], *rows[0], 2.0)])
    assert [tuple(row) for row in edges.itertuples(index=False)] == expected


SQUARE = scipy.sparse.csr_array([[0, 1], [0, 0]])


@pytest.mark.parametrize(
    ("call", "message", "fields"),
    [
        (lambda: rg.from_networkx(3), "it must be a NetworkX graph", {"parameter": "g"}),
        (lambda: rg.from_igraph(3), "it must be an igraph graph", {"parameter": "g"}),
        (lambda: rg.from_scipy(np.eye(2)), "SciPy sparse array", {"parameter": "matrix"}),
        (lambda: rg.from_scipy(SQUARE[:1]), r"shape \(1, 2\)", {"parameter": "matrix"}),
        (
            lambda: rg.from_scipy(SQUARE, directed=False),
            "not symmetric",
            {"parameter": "matrix", "hint": "pass matrix.maximum(matrix.T), or directed=True"},
        ),
        (
            lambda: rg.from_scipy(-SQUARE),
            r"entry \(0, 1\) is -1",
            {"parameter": "matrix", "value": -1},
        ),
        (lambda: rg.from_scipy(SQUARE, "ab"), "it must be a list", {"parameter": "names"}),
        (lambda: rg.from_scipy(SQUARE, ["a"]), "1 names, .* 2 vertices", {"parameter": "names"}),
        (
            lambda: rg.from_scipy(SQUARE, [7, 7]),
            "the name 7 twice",
            {"parameter": "names", "value": 7},
        ),
        (
            lambda: rg.from_scipy(SQUARE, [0.5, 7]),
            "all integers, all text",
            {"parameter": "names", "value": 0.5},
        ),
        (
            lambda: rg.from_networkx(networkx.Graph([(1, "a")])),
            "g has the node 'a'; nodes must be all integers",
            {"parameter": "g", "value": "a"},
        ),
        (
            lambda: rg.from_networkx(networkx.Graph([(1, 2, {"km": -1})]), weight="km"),
            r"attribute 'km' of edge \(1, 2\) is -1",
            {"parameter": "weight", "value": -1},
        ),
    ],
)  # fmt: skip
def test_errors(call, message, fields):
    with pytest.raises(rg.GraphError, match=message) as caught:
        call()
    assert {name: getattr(caught.value, name) for name in fields} == fields


def test_names_of_igraph_must_be_distinct():
    igraph = pytest.importorskip("igraph")
    g = igraph.Graph(n=2, vertex_attrs={"name": ["a", "a"]})
    with pytest.raises(rg.GraphError, match="g has the vertex name 'a' twice"):
        rg.from_igraph(g)


@pytest.mark.parametrize(
    "names",
    [{"a", "b"}, pandas.DataFrame({"a": [1, 2]}).iloc[:1], pandas.DataFrame(index=[0, 1])],
    ids=["set", "short", "no column"],
)
def test_names_that_are_no_sequence_of_all_vertices(names):
    with pytest.raises(rg.GraphError, match="names"):
        rg.from_scipy(scipy.sparse.eye_array(2, format="csr"), names)
