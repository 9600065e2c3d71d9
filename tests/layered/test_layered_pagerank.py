"""PageRank of layered edge lists: the ranks of the graph, whatever is asked for."""

import itertools

import naive
import numpy as np
import pytest
from conftest import FrameMaker, assert_close, columns_of, random_edges, ranks_of, to_pandas
from test_pagerank import CLOSED_FORMS, RESTARTS, by_dangling

import rapidsgraph as rg
from rapidsgraph.generate import rmat
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import LayeredEdgeList
from rapidsgraph.layered.packing import PARTITION_BYTES

pytestmark = pytest.mark.slow

EXACT = {"tolerance": 1e-14, "max_iterations": 300}

by_size = pytest.mark.parametrize("size", [1, 300, PARTITION_BYTES])
symmetrize = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


def layered_graph(make, edges, root=5, size=300, **options):
    """(Graph, LayeredEdgeList) of triples; all rows are kept if nothing else is said."""
    options = {"multi_edges": "keep", "weight": "weight", **options}
    graph = rg.Graph(make(columns_of(edges)), **options)
    return graph, LayeredEdgeList.build(graph, root, partition_bytes=size)


def check_same(layered, graph, within=1e-10, **options):
    expected = ranks_of(rg.pagerank(graph, **options))
    assert_close(ranks_of(rg.pagerank(layered, **options)), expected, within)


@by_size
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(make_arrays, name, size):
    edges, graph_options, options, ranks = CLOSED_FORMS[name]
    graph = rg.Graph(make_arrays(columns_of(edges)), **graph_options)
    for root in {0, graph.num_vertices - 1}:  # from the last vertex others are out of reach
        layered = LayeredEdgeList.build(graph, root, partition_bytes=size)
        found = ranks_of(rg.pagerank(layered, **options, **EXACT))
        assert_close(found, dict(enumerate(ranks)), 1e-13)


@by_size
@symmetrize
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
def test_agrees_with_naive_and_the_graph(make_arrays, size, directed, weighted):
    """With sinks, vertices that only weights of 0 leave, isolates and parallel edges."""
    edges = random_edges(90, 60, 300, weighted)
    weight = "weight" if weighted else None
    options = {"weight": weight, "directed": directed, "vertices": 64}
    graph, layered = layered_graph(make_arrays, edges, 5, size, **options)
    expected = naive.pagerank(edges, range(64), directed=directed)
    assert_close(ranks_of(rg.pagerank(layered, **EXACT)), expected, 1e-12)
    check_same(layered, graph, 1e-12, **EXACT)
    check_same(layered, graph, 1e-10)


@by_dangling
@pytest.mark.parametrize("personalization", [None, RESTARTS], ids=["even", "personalized"])
@pytest.mark.parametrize("start", [None, {3: 2.0, 41: 6.0}], ids=["even start", "start"])
@pytest.mark.parametrize("root", [5, 57])
def test_options(make_arrays, dangling, personalization, start, root):
    """They are by vertex, and the list has its vertices in another order."""
    edges = random_edges(91)
    graph, layered = layered_graph(make_arrays, edges, root)
    options = {"personalization": personalization, "dangling": dangling, "start": start}
    ranks = ranks_of(rg.pagerank(layered, **options, **EXACT))
    assert_close(ranks, naive.pagerank(edges, **options), 1e-12)
    short = {"tolerance": 0, "max_iterations": 2}
    expected = naive.pagerank(edges, iterations=2, **options)
    assert_close(ranks_of(rg.pagerank(layered, **options, **short)), expected, 1e-14)
    check_same(layered, graph, 1e-13, **options, **short)


def test_options_in_frames(make_held_frame):
    edges = [(7, -5, 1), (-5, 10**10, 3), (7, 10**10, 1), (10**10, 7, 2), (3, 7, 1)]
    frame = make_held_frame(columns_of(edges))
    graph = rg.Graph(frame, weight="weight")
    layered = LayeredEdgeList.build(graph, -5)
    wanted = make_held_frame({"vertex": np.array([10**10, 3]), "value": np.array([1.0, 2.0])})
    found = rg.pagerank(layered, personalization=wanted, start=wanted, **EXACT)
    assert type(found) is type(frame)
    shares = {10**10: 1.0, 3: 2.0}
    expected = naive.pagerank(edges, personalization=shares, start=shares)
    assert_close(ranks_of(found), expected, 1e-12)
    again = rg.pagerank(layered, start=found, personalization=wanted, max_iterations=1,
                        tolerance=1e-12)  # fmt: skip
    assert_close(ranks_of(again), expected, 1e-12)


@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_without_tolerance_so_many_iterations(make_arrays, iterations):
    edges, done = random_edges(92), []
    _graph, layered = layered_graph(make_arrays, edges)
    options = {"tolerance": 0, "max_iterations": iterations}
    found = rg.pagerank(layered, progress=lambda *call: done.append(call[:2]), **options)
    assert_close(ranks_of(found), naive.pagerank(edges, iterations=iterations), 1e-14)
    assert done[-1] == (iterations, iterations)
    run = layered.last_run
    assert run.passes == iterations
    assert run.partitions == iterations * len(storage_of(layered).table) > iterations
    assert run.nbytes == iterations * layered.nbytes


def test_stops_after_the_iteration_that_changes_less_than_the_tolerance(make_arrays):
    edges = random_edges(93, weighted=False)
    runs = [naive.pagerank(edges, range(70), iterations=i) for i in range(40)]
    changes = [sum(abs(new[v] - old[v]) for v in new) for old, new in itertools.pairwise(runs)]
    stop = 1 + next(i for i, change in enumerate(changes) if change < 1e-4)
    _, layered = layered_graph(make_arrays, edges, weight=None, vertices=70)
    assert_close(ranks_of(rg.pagerank(layered, tolerance=1e-4)), runs[stop], 1e-14)
    assert layered.last_run.passes == stop
    with pytest.raises(rg.ConvergenceError) as caught:
        rg.pagerank(layered, tolerance=1e-4, max_iterations=stop - 1)
    assert caught.value.iterations == stop - 1 == layered.last_run.passes
    assert caught.value.residual == pytest.approx(changes[stop - 2], rel=1e-9)
    assert_close(ranks_of(caught.value.result), runs[stop - 1], 1e-14)


@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
def test_single_precision(make_arrays, weighted):
    edges = random_edges(94)
    graph, layered = layered_graph(make_arrays, edges, weight="weight" if weighted else None)
    check_same(layered, graph, 1e-5, precision="single")
    assert to_pandas(rg.pagerank(layered, precision="single"))["pagerank"].dtype == np.float32
    # Sums are double in any case: only the result is rounded.
    double = ranks_of(rg.pagerank(layered, **EXACT))
    single = ranks_of(rg.pagerank(layered, precision="single", **EXACT))
    assert_close(single, double, 1e-8)


@pytest.mark.sanitizer
@pytest.mark.parametrize("multi_edges", ["first", "sum", "min", "max"])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
@symmetrize
def test_policies(make_arrays, multi_edges, self_loops, directed):
    edges = [*random_edges(95, 20, 90), (3, 19, 1), (19, 3, 2), (4, 4, 3), (3, 19, 0.5)]
    policies = {"multi_edges": multi_edges, "self_loops": self_loops, "directed": directed}
    _, layered = layered_graph(make_arrays, edges, 3, **policies)
    left = naive.merged(edges, **policies)
    expected = naive.pagerank(left, range(20), directed=directed)
    assert_close(ranks_of(rg.pagerank(layered, **EXACT)), expected, 1e-12)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-30, 1e30, 1e200])
def test_the_unit_of_weights_does_not_matter(make_arrays, scale):
    edges = random_edges(96)
    scaled = [(a, b, weight * scale) for a, b, weight in edges]
    _, layered = layered_graph(make_arrays, scaled)
    options = {"tolerance": 0, "max_iterations": 100}
    assert_close(ranks_of(rg.pagerank(layered, **options)), naive.pagerank(edges), 1e-12)


def test_the_smallest_weights(make_arrays):
    """A share of a rank over the least number there is would be infinite."""
    edges = [(0, 1, 5e-324), (1, 0, 5e-324), (1, 2, 5e-324), (2, 0, 1e-310)]
    graph, layered = layered_graph(make_arrays, edges, 0)
    expected = naive.pagerank([(0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 0, 1)])
    assert_close(ranks_of(rg.pagerank(graph, **EXACT)), expected, 1e-12)
    assert_close(ranks_of(rg.pagerank(layered, **EXACT)), expected, 1e-12)


def test_weights_whose_sum_is_infinite(make_arrays):
    _, layered = layered_graph(make_arrays, [(0, 1, 1.7e308), (0, 2, 1.7e308), (1, 0, 1.0)], 0)
    with pytest.raises(rg.GraphError, match="edges that leave vertex 0 sum to more than 1.8e308"):
        rg.pagerank(layered)


@pytest.mark.parametrize("size", [20_000, PARTITION_BYTES])
@symmetrize
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
def test_rmat(make_arrays, size, directed, weighted):
    """Enough edges for several threads."""
    frame = rmat(11, 12, seed=5, weights=(0.0, 2.0), device="cpu")
    columns = {name: frame[name].to_numpy() for name in frame}
    options = {"weight": "weight" if weighted else None, "directed": directed}
    graph = rg.Graph(make_arrays(columns), multi_edges="keep", **options)
    root = int(columns["source"][0])
    layered = LayeredEdgeList.build(graph, root, partition_bytes=size)
    check_same(layered, graph, 1e-12, **EXACT)
    found = rg.pagerank(layered)
    assert rg.verify.pagerank(graph, found) < 1e-5


def test_the_root_does_not_matter(make_arrays):
    edges = random_edges(97)
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", multi_edges="keep")
    expected = ranks_of(rg.pagerank(graph, **EXACT))
    for root in range(0, 60, 7):
        layered = LayeredEdgeList.build(graph, root, partition_bytes=100)
        assert_close(ranks_of(rg.pagerank(layered, **EXACT)), expected, 1e-12)


@pytest.mark.parametrize("method", ["edge", "node", "contribution", "warp"])
def test_another_method_than_auto(method):
    _, layered = layered_graph(FrameMaker("arrays"), random_edges(98))
    with pytest.raises(
        rg.GraphError,
        match=f"method '{method}' is not supported for layered edge lists; use 'auto'",
    ):
        rg.pagerank(layered, method=method)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": 1.5}, "damping is 1.5"),
        ({"tolerance": -1}, "tolerance is -1"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"precision": "half"}, "precision is 'half'"),
        ({"dangling": "self"}, "dangling is 'self'"),
        ({"launch": (1, 32)}, "launch is for the methods edge, node, contribution and warp"),
        ({"personalization": {99: 1.0}}, "personalization: vertex 99 is not in the graph"),
        ({"start": {1: -1.0}}, "start: the value in row 0 is -1.0"),
        ({"method": "fast"}, "method is 'fast'"),
    ],
)
def test_wrong_parameters(options, message):
    _, layered = layered_graph(FrameMaker("arrays"), random_edges(98))
    with pytest.raises(rg.GraphError, match=message):
        rg.pagerank(layered, **options)


def test_name_column_collides_with_result(make_arrays):
    frame = make_arrays({"pagerank": [0, 0], "a": [0, 1], "b": [1, 2]})
    graph = rg.Graph(frame, source=["pagerank", "a"], destination=["pagerank", "b"])
    layered = LayeredEdgeList.build(graph, (0, 0))
    with pytest.raises(rg.GraphError, match="vertex name column 'pagerank' collides"):
        rg.pagerank(layered)
