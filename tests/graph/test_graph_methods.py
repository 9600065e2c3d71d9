"""Degrees, subgraphs, neighborhoods and directions of a Graph, against NetworkX."""

from inspect import signature

import networkx
import numpy as np
import pandas
import pytest
from conftest import columns_of, in_partitions, listed, random_edges
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.dispatch import DISTRIBUTED_FUNCTIONS, load
from rapidsgraph.graph.graph import _LOCAL_METHODS
from rapidsgraph.graph.local_graph import LocalGraph, storage_of

by_direction = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
by_policy = pytest.mark.parametrize("multi_edges", ["first", "keep"])


def build(make, directed=True, multi_edges="first", **options):
    """A random graph with self-loops, parallel edges and vertices without an edge."""
    edges = make(columns_of(random_edges(3, vertices=40, rows=150)))
    options = {"weight": "weight", "vertices": 45, **options}
    return rg.Graph(edges, directed=directed, multi_edges=multi_edges, **options)


@by_policy
@by_direction
def test_degrees_are_those_of_networkx(make_arrays, directed, multi_edges):
    graph = build(make_arrays, directed, multi_edges)
    columns, peer = listed(graph.degrees), graph.to_networkx()
    kinds = {"in_degree": peer.in_degree, "out_degree": peer.out_degree} if directed else {
        "degree": peer.degree
    }  # fmt: skip
    assert list(columns) == ["vertex", *kinds, *(f"weighted_{kind}" for kind in kinds)]
    assert columns["vertex"] == list(range(45))
    for name, degree in kinds.items():
        assert columns[name] == [count for _, count in degree()]
        weighted = [total for _, total in degree(weight="weight")]
        np.testing.assert_allclose(columns[f"weighted_{name}"], weighted, rtol=1e-12)


def test_degrees_in_the_library_of_the_caller(make_frame):
    frame = make_frame({"source": ["b", "a", "b"], "destination": ["c", "c", "b"]})
    found = rg.Graph(frame).degrees
    assert type(found) is type(rg.Graph(frame).vertices)
    assert listed(found) == {
        "vertex": ["a", "b", "c"], "in_degree": [0, 1, 2], "out_degree": [1, 2, 0]
    }  # fmt: skip
    found = listed(rg.Graph(frame, directed=False).degrees)
    assert found == {"vertex": ["a", "b", "c"], "degree": [1, 3, 2]}


@by_direction
def test_degrees_of_three_ranks(monkeypatch, directed):
    use_local_ranks(monkeypatch, 3)
    spread = build(lambda columns: in_partitions(pandas.DataFrame(columns), 3), directed)
    whole = build(pandas.DataFrame, directed)
    found = spread.degrees
    assert found.npartitions > 1
    assert_frame_equal(found.compute(), whole.degrees, rtol=1e-12)


def test_a_name_column_that_collides_with_a_degree():
    stops = pandas.DataFrame({"degree": ["n"], "a": [1], "b": [2]})
    options = {"source": ["degree", "a"], "destination": ["degree", "b"]}
    assert len(rg.Graph(stops, **options).degrees) == 2
    with pytest.raises(rg.GraphError, match="'degree' collides with a result column"):
        _ = rg.Graph(stops, directed=False, **options).degrees


@by_policy
@by_direction
def test_a_subgraph_has_the_edges_between_its_vertices(make_arrays, directed, multi_edges):
    graph = build(make_arrays, directed, multi_edges)
    chosen = [44, 1, 30, 2, 2, *range(5, 20)]
    part = graph.subgraph(chosen)
    assert listed(part.vertices)["vertex"] == sorted({*chosen})
    edges = pandas.DataFrame(listed(graph.edges))
    within = edges[edges["source"].isin(chosen) & edges["destination"].isin(chosen)]
    assert 0 < len(within) == part.num_edges == part.report.edges
    assert listed(part.edges) == within.to_dict("list")
    assert (part.directed, part.weighted) == (directed, True)
    assert storage_of(part).is_merged == (multi_edges != "keep")
    again = part.subgraph([2, 5, 44])
    assert listed(again.edges) == listed(graph.subgraph([2, 5, 44]).edges)
    expected = rg.Graph(
        within, weight="weight", directed=directed, multi_edges=multi_edges,
        vertices=sorted({*chosen}),
    )  # fmt: skip
    found, wanted = listed(rg.pagerank(part)), listed(rg.pagerank(expected))
    np.testing.assert_allclose(found["pagerank"], wanted["pagerank"], rtol=1e-12)


def test_subgraphs_by_text_and_by_results(make_frame):
    frame = make_frame({"source": ["b", "a", "c"], "destination": ["c", "c", "d"]})
    graph = rg.Graph(frame)
    part = graph.subgraph(["d", "c", "a"])
    assert listed(part.vertices) == {"vertex": ["a", "c", "d"]}
    assert listed(part.edges) == {"source": ["a", "c"], "destination": ["c", "d"]}
    near = graph.neighborhood("b")
    assert listed(near) == {"vertex": ["b", "c"], "distance": [0, 1]}
    assert listed(graph.subgraph(near).edges) == {"source": ["b"], "destination": ["c"]}
    assert listed(graph.subgraph("a").edges) == {"source": [], "destination": []}


def test_a_subgraph_of_names_in_several_columns():
    edges = pandas.DataFrame(
        {"n": [1, 1, 2], "i": [0, 2, 0], "j": [2, 0, 7], "k": ["x", "y", "x"], "l": ["y", "x", "z"]}
    )
    graph = rg.Graph(edges, ["n", "i", "k"], ["n", "j", "l"])
    part = graph.subgraph([(1, 2, "y"), (2, 7, "z"), (1, 0, "x")])
    assert part.vertices.values.tolist() == [[1, 0, "x"], [1, 2, "y"], [2, 7, "z"]]
    assert part.edges.values.tolist() == [[1, 0, "x", 2, "y"], [1, 2, "y", 0, "x"]]
    assert rg.bfs(part, (2, 7, "z"))["distance"].dropna().tolist() == [0]
    with pytest.raises(rg.VertexNotFoundError, match="is not in the graph"):
        part.subgraph([(2, 0, "x")])


@by_direction
def test_a_neighborhood_is_an_ego_graph(make_arrays, directed):
    graph = build(make_arrays, directed)
    peer = graph.to_networkx()
    for vertex, hops in [(7, 0), (7, 1), (20, 2), (9, 3), (44, 5), (12, 99)]:
        ego = networkx.single_source_shortest_path_length(peer, vertex, cutoff=hops)
        found = listed(graph.neighborhood(vertex, hops))
        assert found == {"vertex": sorted(ego), "distance": [ego[name] for name in sorted(ego)]}
        names = sorted(networkx.ego_graph(peer, vertex, radius=hops))
        assert listed(graph.subgraph(graph.neighborhood(vertex, hops)).vertices)["vertex"] == names


def test_a_neighborhood_of_several_vertices():
    edges = pandas.DataFrame({"source": range(9), "destination": range(1, 10)})
    found = rg.Graph(edges).neighborhood([7, 2, 3], hops=2)
    assert found["vertex"].tolist() == [2, 3, 4, 5, 7, 8, 9]
    assert found["distance"].tolist() == [0, 0, 1, 2, 0, 1, 2]
    assert found["distance"].dtype == np.int32


@pytest.mark.parametrize("hops", [-1, 1.5, True, "2", None])
def test_hops_must_be_a_number_of_edges(hops):
    with pytest.raises(rg.GraphError, match="it must be a number of edges, 0 or more") as error:
        build(pandas.DataFrame).neighborhood(7, hops)
    assert error.value.parameter == "hops"


@pytest.mark.parametrize("method", ["subgraph", "neighborhood"])
def test_absent_vertices(method):
    with pytest.raises(rg.VertexNotFoundError, match="vertices: vertex 99 is not in the graph"):
        getattr(build(pandas.DataFrame), method)([3, 99])


@by_policy
def test_a_reversed_graph(make_arrays, multi_edges):
    graph = build(make_arrays, multi_edges=multi_edges)
    back = graph.reverse()
    assert back.num_edges == graph.num_edges
    assert storage_of(back).csc.neighbors is storage_of(graph).csr.neighbors
    edges = pandas.DataFrame(listed(graph.edges))
    swapped = edges.rename(columns={"source": "destination", "destination": "source"})
    expected = swapped[edges.columns].sort_values(["source", "destination"], kind="stable")
    assert listed(back.edges) == expected.to_dict("list")
    assert listed(back.reverse().edges) == listed(graph.edges)
    degrees, swapped = listed(graph.degrees), listed(graph.reverse().degrees)
    assert degrees["in_degree"] == swapped["out_degree"]
    assert degrees["weighted_out_degree"] == swapped["weighted_in_degree"]
    rg.pagerank(graph)  # builds the CSC
    both = storage_of(graph.reverse())
    assert both.csr is storage_of(graph).csc
    assert both.csc is storage_of(graph).csr


def test_a_subgraph_of_a_reversed_graph(make_arrays):
    graph = build(make_arrays)
    part = graph.reverse().subgraph(range(20))
    assert listed(part.edges) == listed(graph.subgraph(range(20)).reverse().edges)


@pytest.mark.parametrize("multi_edges", ["first", "sum", "min", "max", "keep"])
def test_an_undirected_graph_of_a_directed_one(make_arrays, multi_edges):
    columns = columns_of([(0, 1, 5), (1, 0, 2), (2, 2, 1), (3, 2, 4), (1, 3, 1), (1, 3, 9)])
    graph = rg.Graph(make_arrays(columns), weight="weight", multi_edges="keep", vertices=6)
    found = graph.to_undirected(multi_edges=multi_edges)
    assert (found.directed, found.num_vertices) == (False, 6)
    weights = {
        "first": [5, 1, 1, 4], "sum": [7, 10, 1, 4], "min": [2, 1, 1, 4], "max": [5, 9, 1, 4],
        "keep": [5, 2, 1, 9, 1, 4],
    }[multi_edges]  # fmt: skip
    assert listed(found.edges)["weight"] == weights
    assert found.num_edges == len(weights)
    kept = graph.to_undirected()
    assert kept.num_edges == 6
    assert found.to_undirected() is found
    assert found.reverse() is found


def test_an_undirected_graph_without_weights():
    frame = pandas.DataFrame({"source": [0, 1, 2, 2], "destination": [1, 0, 2, 0]})
    found = rg.Graph(frame).to_undirected()
    assert_frame_equal(found.edges, rg.Graph(frame, directed=False).edges)
    counts = rg.Graph(frame).to_undirected(multi_edges="sum")
    assert counts.edges["weight"].tolist() == [2.0, 1.0, 1.0]
    with pytest.raises(rg.GraphError, match="multi_edges is 'mean'"):
        rg.Graph(frame).to_undirected(multi_edges="mean")


def test_derived_graphs_check_memory(monkeypatch):
    from rapidsgraph import device, validation

    graph = build(pandas.DataFrame)
    monkeypatch.setattr(device, "free_memory", lambda xp: 10)
    monkeypatch.setattr(validation, "MIN_CHECKED_BYTES", 0)
    calls = {
        "the degrees of 45 vertices": lambda: graph.degrees,
        "the subgraph of 2 vertices": lambda: graph.subgraph([1, 2]),
        "a neighborhood among 45 vertices": lambda: graph.neighborhood(1),
        "building a graph of": graph.to_undirected,
    }
    for operation, call in calls.items():
        with pytest.raises(rg.InsufficientMemoryError, match=operation):
            call()
    graph.reverse()


def test_the_length_of_a_graph_is_its_number_of_vertices():
    assert len(build(pandas.DataFrame)) == 45


def test_distributed_graphs_have_the_methods_of_local_ones():
    """Each takes the same arguments."""
    assert DISTRIBUTED_FUNCTIONS.keys() - _LOCAL_METHODS.keys() == {
        "build_graph", "build_layered", "open_layered",
    }  # fmt: skip
    for name, local in _LOCAL_METHODS.items():
        distributed = load(DISTRIBUTED_FUNCTIONS[name])
        assert distributed.__name__ == name
        assert [*signature(distributed).parameters] == [*signature(local).parameters]


def test_the_state_of_a_graph_has_copies_of_its_caches():
    """Another thread may add to them while pickle or deepcopy reads the state."""
    graph = rg.Graph(pandas.DataFrame({"source": [0, 1], "destination": [1, 2]}))
    storage = storage_of(graph)
    state = storage.__getstate__()
    rg.neighbor_similarity(graph)
    assert storage._cache.keys() - state["_cache"].keys()
    assert state.keys() <= vars(storage).keys()


@pytest.mark.parametrize(
    "read",
    [
        lambda graph: graph.degrees,
        lambda graph: graph.subgraph(range(3)).edges,
        lambda graph: graph.reverse().edges,
        rg.connected_components,
    ],
    ids=["degrees", "subgraph", "reverse", "components"],
)
def test_adjacencies_that_another_thread_builds_meanwhile(read, monkeypatch):
    """A reversed graph has one adjacency until an algorithm needs the other."""
    edges = pandas.DataFrame({"source": [0, 0, 1], "destination": [1, 2, 2]})
    expected, graph = read(rg.Graph(edges).reverse()), rg.Graph(edges).reverse()
    storage, adjacencies = storage_of(graph), LocalGraph.adjacencies.fget

    def build_other_after_reading(self):
        found = adjacencies(self)
        if self is storage:
            assert self.csr is not None
        return found

    monkeypatch.setattr("rapidsgraph.algorithms.components.fits_in_block", lambda _: False)
    monkeypatch.setattr(LocalGraph, "adjacencies", property(build_other_after_reading))
    assert_frame_equal(read(graph), expected)


@pytest.mark.parametrize("partitions", [0, 2])
@pytest.mark.parametrize("other", [range(2), frozenset({0, 1}), frozenset(), "0", None, 1.0, (0,)])
def test_what_is_no_vertex_is_not_in_a_graph(partitions, other):
    edges = pandas.DataFrame({"source": [0, 1], "destination": [1, 2]})
    graph = rg.Graph(in_partitions(edges, partitions) if partitions else edges)
    assert 1 in graph and np.int64(2) in graph and 3 not in graph
    assert other not in graph and iter([0]) not in graph
