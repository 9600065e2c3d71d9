"""A user's notebook: roads between towns, in frames of every library, and what follows."""

import networkx
import pandas
import pytest
from conftest import listed, to_pandas

import rapidsgraph as rg

ROADS = {
    "source": ["ulm", "ulm", "bonn", "jena", "kiel", "rome"],
    "destination": ["jena", "bonn", "jena", "kiel", "ulm", "ulm"],
    "weight": [3.0, 1.0, 1.0, 2.0, 5.0, 4.0],
}
TOWNS = ["bonn", "jena", "kiel", "rome", "ulm"]
IN_ORDER = {
    "source": ["bonn", "jena", "kiel", "rome", "ulm", "ulm"],
    "destination": ["jena", "kiel", "ulm", "ulm", "bonn", "jena"],
    "weight": [1.0, 2.0, 5.0, 4.0, 1.0, 3.0],
}


@pytest.fixture
def roads(make_frame):
    return make_frame(ROADS)


@pytest.fixture
def graph(roads):
    return rg.Graph(roads)


def test_a_graph_of_a_frame_and_its_parts(roads, graph):
    """Frames come out in the library that they came in."""
    assert len(graph) == graph.num_vertices == 5
    assert (graph.num_edges, graph.directed, graph.weighted) == (6, True, True)
    assert type(graph.edges) is type(roads)
    assert listed(graph.vertices) == {"vertex": TOWNS}
    assert listed(graph.edges) == IN_ORDER
    assert listed(graph.degrees) == {
        "vertex": TOWNS,
        "in_degree": [1, 2, 1, 0, 2],
        "out_degree": [1, 1, 1, 1, 2],
        "weighted_in_degree": [1.0, 4.0, 2.0, 0.0, 9.0],
        "weighted_out_degree": [1.0, 2.0, 5.0, 4.0, 4.0],
    }


def test_the_towns_near_ulm_and_their_roads(graph):
    near = graph.neighborhood("ulm")
    assert listed(near) == {"vertex": ["bonn", "jena", "ulm"], "distance": [1, 1, 0]}
    assert listed(graph.neighborhood(["rome", "bonn"], hops=2)) == {
        "vertex": TOWNS, "distance": [0, 1, 2, 0, 1]
    }  # fmt: skip
    part = graph.subgraph(near)
    assert listed(part.edges) == {
        "source": ["bonn", "ulm", "ulm"],
        "destination": ["jena", "bonn", "jena"],
        "weight": [1.0, 1.0, 3.0],
    }


def test_roads_in_the_other_direction_and_in_both(graph):
    back = graph.reverse()
    assert listed(back.neighborhood("ulm")) == {
        "vertex": ["kiel", "rome", "ulm"], "distance": [1, 1, 0]
    }  # fmt: skip
    both = graph.to_undirected()
    assert (both.directed, both.num_edges) == (False, 6)
    assert listed(both.neighborhood("kiel")) == {
        "vertex": ["jena", "kiel", "ulm"], "distance": [1, 0, 1]
    }  # fmt: skip
    assert listed(both.degrees)["degree"] == [2, 3, 2, 1, 4]


def test_the_shortest_way(roads, graph):
    for each, methods in ((roads, ("auto", "frames")), (graph, ("auto",))):
        for method in methods:
            path = rg.shortest_path(each, "ulm", "kiel", method=method)
            assert type(path) is type(roads)
            assert listed(path) == {
                "vertex": ["ulm", "bonn", "jena", "kiel"], "distance": [0.0, 1.0, 2.0, 4.0]
            }  # fmt: skip
            fewest = rg.shortest_path(each, "ulm", "kiel", weighted=False, method=method)
            assert listed(fewest) == {"vertex": ["ulm", "jena", "kiel"], "distance": [0, 1, 2]}
            several = rg.shortest_path(each, "bonn", ["kiel", "rome", "bonn"], method=method)
            assert listed(several) == {
                "target": ["kiel", "kiel", "kiel", "bonn"],
                "vertex": ["bonn", "jena", "kiel", "bonn"],
                "distance": [0.0, 1.0, 3.0, 0.0],
            }
            no_path = rg.shortest_path(each, "ulm", "rome", method=method)
            assert listed(no_path) == {"vertex": [], "distance": []}


def test_weights_are_used_where_they_are(roads, graph):
    for each in (roads, graph):
        distances = dict(zip(TOWNS, listed(rg.sssp(each, "ulm"))["distance"]))
        assert distances == {"bonn": 1, "jena": 2, "kiel": 4, "rome": float("inf"), "ulm": 0}
        levels = listed(rg.bfs(each, "ulm"))
        assert levels["distance"] == [1, 1, 2, None, 0]
        assert levels["predecessor"] == ["ulm", "ulm", "jena", None, None]


def test_values_of_vertices_are_series_indexed_by_vertex(roads):
    """Those of pandas: for `personalization`, `start` and `dangling`."""
    peer = networkx.DiGraph()
    peer.add_weighted_edges_from(zip(*ROADS.values()))
    home = pandas.Series({"ulm": 3.0, "bonn": 1.0})
    expected = networkx.pagerank(peer, 0.4, personalization=home.to_dict(), tol=1e-12)
    options = {"damping": 0.4, "personalization": home, "start": home, "tolerance": 1e-10}
    for method in ("auto", "frames"):
        result = listed(rg.pagerank(roads, method=method, **options))
        assert result["vertex"] == TOWNS
        assert dict(zip(TOWNS, result["pagerank"])) == pytest.approx(expected, abs=1e-9)


def test_components(roads, graph):
    for each in (roads, graph):
        assert listed(rg.connected_components(each))["component"] == [0] * 5
        strong = listed(rg.connected_components(each, strong=True))
        assert strong == {"vertex": TOWNS, "component": [0, 0, 0, 1, 0]}


def test_other_libraries_take_the_graph(graph):
    """Dask graphs are collected first."""
    pytest.importorskip("igraph")
    graph = graph.compute()
    peer = graph.to_networkx()
    assert sorted(peer.edges(data="weight")) == sorted(zip(*IN_ORDER.values()))
    assert networkx.dijkstra_path(peer, "ulm", "kiel") == ["ulm", "bonn", "jena", "kiel"]
    matrix = graph.to_scipy()
    assert matrix.shape == (5, 5)
    assert matrix[TOWNS.index("kiel"), TOWNS.index("ulm")] == 5
    ig = graph.to_igraph()
    assert ig.vs["name"] == TOWNS
    assert ig.distances("ulm", "kiel", weights="weight") == [[4.0]]


def test_graphs_of_other_libraries():
    pytest.importorskip("igraph")
    peer = networkx.DiGraph()
    peer.add_weighted_edges_from(zip(*ROADS.values()))
    graph = rg.from_networkx(peer)
    assert listed(graph.edges) == IN_ORDER
    for again in (
        rg.from_scipy(graph.to_scipy(), TOWNS),
        rg.from_igraph(graph.to_igraph()),
        rg.from_networkx(graph.to_networkx()),
    ):
        assert listed(again.edges) == IN_ORDER
        assert listed(again.neighborhood("ulm"))["vertex"] == ["bonn", "jena", "ulm"]


def test_what_a_notebook_shows(graph):
    local = graph.compute()
    assert repr(local).startswith("<Graph: 5 vertices, 6 directed edges, weighted, ")
    assert repr(graph).startswith("<Graph: 5 vertices, 6 directed edges, weighted, ")
    layers = rg.LayeredEdgeList.build(local, "ulm")
    assert "5 vertices, 6 edges, depth 2 from 'ulm'" in repr(layers)
    index = rg.ScanIndex(local)
    assert repr(index).startswith("<ScanIndex: 5 vertices, 6 edges, ")
    assert "6 rows: 0 self-loops dropped" in str(local.report)
    estimate = rg.estimate_memory(local, "pagerank")
    for each in (graph, graph.reverse(), layers, index, local.report, estimate):
        html = each._repr_html_()
        assert html.startswith("<div><strong>") and "<table>" in html
    figure = rg.plot.distribution(rg.bfs(local, "ulm"))
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_results_are_frames_to_go_on_with(graph):
    """The names of a result select from the frames that users have."""
    distances = rg.bfs(graph, "bonn")
    far = to_pandas(distances).dropna().query("distance == 2")["vertex"].tolist()
    assert far == ["kiel"]
    part = graph.subgraph(rg.shortest_path(graph, "bonn", "ulm"))
    assert listed(part.vertices)["vertex"] == ["bonn", "jena", "kiel", "ulm"]
