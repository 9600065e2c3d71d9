"""Subgraphs, neighborhoods and directions of distributed graphs: those of one memory."""

import numpy as np
import pandas
import pytest
from conftest import FrameMaker, columns_of, gpu, in_partitions, listed, random_edges
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.distributed.replica import REPLICA_LIMIT
from rapidsgraph.graph.local_graph import storage_of

pytest.importorskip("dask.dataframe")
pytestmark = pytest.mark.slow

by_direction = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
by_policy = pytest.mark.parametrize("multi_edges", ["first", "keep"])


@pytest.fixture(params=[1, 3])
def ranks(monkeypatch, request):
    """A number of ranks without a client."""
    use_local_ranks(monkeypatch, request.param)
    return request.param


def build_both(frame, ranks, **options):
    """The graph of a frame in partitions, and the one in one memory."""
    options = {"weight": "weight", **options}
    graph = rg.Graph(in_partitions(frame, ranks), **options)
    assert storage_of(graph).num_partitions == ranks
    return graph, rg.Graph(frame, **options)


def random_graphs(ranks, directed=True, multi_edges="first", **options):
    frame = pandas.DataFrame(columns_of(random_edges(3, vertices=40, rows=150)))
    options = {"vertices": 45, **options}
    return build_both(frame, ranks, directed=directed, multi_edges=multi_edges, **options)


def assert_same_graph(result, expected):
    """Compare everything that users see, and results of layouts in both directions."""
    assert (result.directed, result.weighted) == (expected.directed, expected.weighted)
    assert (len(result), result.num_edges) == (len(expected), expected.num_edges)
    assert_frame_equal(result.vertices.compute(), expected.vertices)
    assert_frame_equal(result.edges.compute(), expected.edges)
    assert_frame_equal(result.degrees.compute(), expected.degrees, rtol=1e-12)
    report, other = (vars(graph.report) | {"nbytes": 0} for graph in (result, expected))
    assert report == other
    start = expected.vertices["vertex"].iloc[0]
    for function in (rg.bfs, rg.sssp):
        assert_frame_equal(function(result, start).compute(), function(expected, start))
    assert_frame_equal(rg.pagerank(result).compute(), rg.pagerank(expected), rtol=1e-10)
    components = rg.connected_components(result).compute()
    assert_frame_equal(components, rg.connected_components(expected))
    assert_frame_equal(result.compute().edges, expected.edges)


def assert_same_frames(result, expected):
    """Compare a search by joins of frames, whose first tables are results of the ranks.

    It takes longer than all comparisons of `assert_same_graph`, so that tests with several graphs
    derived in one way call it once.
    """
    start = expected.vertices["vertex"].iloc[0]
    frames = rg.bfs(result, start, method="frames").compute()
    assert_frame_equal(frames, rg.bfs(expected, start))


@by_policy
@by_direction
def test_subgraphs(ranks, directed, multi_edges):
    graph, whole = random_graphs(ranks, directed, multi_edges)
    for chosen in ([44, 1, 30, 2, 2, *range(5, 20)], range(45), [44], {3, 7}):
        assert_same_graph(graph.subgraph(chosen), whole.subgraph(chosen))
    again = graph.subgraph(range(20)).subgraph(iter([2, 5, 19]))
    assert_same_graph(again, whole.subgraph([2, 5, 19]))
    assert_same_frames(graph.subgraph(range(5, 25)), whole.subgraph(range(5, 25)))


@by_policy
def test_reversed_graphs(ranks, multi_edges):
    graph, whole = random_graphs(ranks, multi_edges=multi_edges)
    assert_same_graph(graph.reverse(), whole.reverse())
    assert_same_graph(graph.reverse().reverse(), whole.reverse().reverse())
    assert_same_graph(graph.reverse().subgraph(range(20)), whole.reverse().subgraph(range(20)))
    assert_same_graph(graph.reverse().to_undirected(), whole.reverse().to_undirected())
    assert_same_frames(graph.reverse(), whole.reverse())
    rg.pagerank(graph)  # builds the CSC
    back = graph.reverse()
    assert storage_of(back).has_layout("csr") and storage_of(back).has_layout("csc")
    assert back.nbytes == graph.nbytes
    assert_same_graph(back, whole.reverse())


@pytest.mark.parametrize("multi_edges", ["first", "sum", "min", "max", "keep", None])
@pytest.mark.parametrize("weight", ["weight", None])
def test_undirected_graphs(ranks, multi_edges, weight):
    graph, whole = random_graphs(ranks, multi_edges="keep", weight=weight)
    result = graph.to_undirected(multi_edges=multi_edges)
    expected = whole.to_undirected(multi_edges=multi_edges)
    assert_same_graph(result, expected)
    if multi_edges in ("first", "keep"):  # the others differ in weights, which BFS does not use
        assert_same_frames(result, expected)
    assert result.to_undirected() is result
    assert result.reverse() is result


def test_total_weight_counts_the_edges_before_they_are_merged(ranks):
    frame = pandas.DataFrame({"source": [0, 0, 0, 1], "destination": [1, 1, 1, 0]})
    graph, _ = build_both(frame, ranks, weight=None, multi_edges="keep")
    result = graph.to_undirected(multi_edges="sum")
    assert result.edges.compute()["weight"].tolist() == [4]
    assert storage_of(result).total_weight == 4
    assert storage_of(result.subgraph([0, 1])).total_weight == 4


def test_sums_of_integer_weights(ranks):
    columns = {"source": [0, 1, 2, 2], "destination": [1, 0, 2, 3], "weight": [2**60, 1, 5, 7]}
    graph, whole = build_both(pandas.DataFrame(columns), ranks)
    result = graph.to_undirected(multi_edges="sum").edges.compute()
    assert result["weight"].tolist() == [2**60 + 1, 5, 7]
    assert_frame_equal(result, whole.to_undirected(multi_edges="sum").edges)
    huge = pandas.DataFrame(columns).assign(weight=[1.7e308, 1.7e308, 1.0, 1.0])
    graph, _ = build_both(huge, ranks)
    with pytest.raises(rg.GraphError, match="the weights of the edges between 0 and 1 sum to more"):
        graph.to_undirected(multi_edges="sum")


@pytest.mark.parametrize("replica_arcs", [0, 2**20], ids=["supersteps", "replicas"])
@by_direction
def test_neighborhoods(ranks, directed, replica_arcs):
    from dask import config

    graph, whole = random_graphs(ranks, directed)
    with config.set({REPLICA_LIMIT: replica_arcs}):
        for vertices, hops in [(7, 0), (7, 1), ([20, 3], 2), (9, 3), (44, 5), (12, 10**12)]:
            result = graph.neighborhood(vertices, hops)
            expected = whole.neighborhood(vertices, hops)
            assert_frame_equal(result.compute(), expected)
            part, subgraph = graph.subgraph(result), whole.subgraph(expected)
            assert_frame_equal(part.vertices.compute(), subgraph.vertices)
            assert_frame_equal(part.edges.compute(), subgraph.edges)
        assert_same_graph(part, subgraph)


def test_names_of_other_types(ranks):
    frame = pandas.DataFrame(
        {"n": [1, 1, 2], "i": [0, 2, 0], "j": [2, 0, 7], "k": ["x", "y", "x"], "l": ["y", "x", "z"]}
    )
    options = {"source": ["n", "i", "k"], "destination": ["n", "j", "l"], "weight": None}
    graph, whole = build_both(frame, ranks, **options)
    chosen = [(1, 2, "y"), (2, 7, "z"), (1, 0, "x")]
    part, expected = graph.subgraph(chosen), whole.subgraph(chosen)
    assert_frame_equal(part.edges.compute(), expected.edges)
    assert_frame_equal(part.reverse().edges.compute(), expected.reverse().edges)
    texts = pandas.DataFrame({"source": ["b", "a", "c"], "destination": ["c", "c", "d"]})
    graph, whole = build_both(texts, ranks, weight=None)
    assert_same_graph(graph.subgraph(["d", "c", "a"]), whole.subgraph(["d", "c", "a"]))
    assert_same_graph(graph.to_undirected(), whole.to_undirected())
    assert_same_frames(graph.to_undirected(), whole.to_undirected())


def test_weights_keep_their_type_where_a_rank_has_no_arc(ranks):
    frame = pandas.DataFrame({"source": [7, 8, 9], "destination": [0, 1, 2], "weight": [1, 2, 3]})
    graph, whole = build_both(frame, ranks)
    assert_same_graph(graph.subgraph([0, 7]), whole.subgraph([0, 7]))
    assert_same_graph(graph.subgraph([0, 1, 2]), whole.subgraph([0, 1, 2]))
    assert_same_graph(graph.reverse(), whole.reverse())


def test_a_list_that_changes_later_does_not_change_the_subgraph(ranks):
    graph, whole = random_graphs(ranks)
    chosen = np.arange(20)
    part = storage_of(graph.subgraph(chosen))
    chosen[:] = 0
    part._rebuild()
    assert_frame_equal(part.compute().vertices, whole.subgraph(range(20)).vertices)


def test_lost_partitions_are_derived_again(ranks):
    """A derived graph keeps no partition of the graphs that it was derived from."""
    graph, whole = random_graphs(ranks, multi_edges="keep")
    result = graph.reverse().subgraph(range(30)).to_undirected(multi_edges="sum")
    expected = whole.reverse().subgraph(range(30)).to_undirected(multi_edges="sum")
    storage = storage_of(result)
    rg.pagerank(result)
    origin = storage._origin
    while origin is not None:
        assert not origin._partitions
        origin = getattr(origin, "_origin", None)
    storage._rebuild()
    assert_same_graph(result, expected)
    assert_same_frames(result, expected)


def test_arguments_are_checked(ranks):
    graph, _ = random_graphs(ranks)
    with pytest.raises(rg.GraphError, match="hops"):
        graph.neighborhood(7, -1)
    with pytest.raises(rg.GraphError, match="multi_edges is 'mean'"):
        graph.to_undirected(multi_edges="mean")
    for method in (graph.subgraph, graph.neighborhood):
        with pytest.raises(rg.VertexNotFoundError, match="vertices: vertex 99 is not in the graph"):
            method([3, 99])


@gpu
def test_graphs_on_a_gpu(ranks):
    columns = columns_of(random_edges(3, vertices=40, rows=150))
    options = {"vertices": 45, "multi_edges": "min"}
    graph = rg.Graph(in_partitions(FrameMaker("cudf")(columns), ranks), **options)
    assert graph.device == "gpu"
    whole = rg.Graph(FrameMaker("pandas")(columns), **options)
    chosen = [44, 1, 30, 2, 2, *range(5, 20)]
    for derive in (
        lambda g: g.subgraph(chosen),
        lambda g: g.subgraph([44]),
        lambda g: g.reverse(),
        lambda g: g.to_undirected(multi_edges="sum"),
        lambda g: g.reverse().subgraph(range(20)).to_undirected(),
    ):
        result, expected = derive(graph), derive(whole)
        assert result.device == "gpu"
        assert listed(result.vertices) == listed(expected.vertices)
        assert listed(result.edges) == listed(expected.edges)
        start = listed(expected.vertices)["vertex"][0]
        near = result.neighborhood(start, hops=2)
        assert listed(near) == listed(expected.neighborhood(start, hops=2))
