"""BFS and SSSP of layered edge lists: those of the graph bit for bit, and what they looked at."""

import math

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
import scipy.sparse
from conftest import FrameMaker, build_storage, columns_of, listed, on_host, paths_of, random_edges
from hypothesis import given, settings
from test_traversal import CLOSED_FORMS, WEIGHTED
from test_traversal_large import LARGE

import rapidsgraph as rg
from rapidsgraph.generate import rmat
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import LayeredEdgeList, streaming
from rapidsgraph.layered.packing import COLUMN, PARTITION_BYTES

pytestmark = pytest.mark.slow

INF = math.inf

by_size = pytest.mark.parametrize("size", [1, 100, 4000, PARTITION_BYTES])
symmetrize = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


def layered_graph(make, edges, root, size=PARTITION_BYTES, weight="weight", **options):
    """(Graph, LayeredEdgeList) of triples; all rows are kept if nothing else is said."""
    options = {"multi_edges": "keep", **options}
    graph = build_storage(make(columns_of(edges)), weight=weight, **options)
    return graph, LayeredEdgeList.build(graph, root, partition_bytes=size)


def check_same(layered, graph, root, limits=(None,)):
    """Both searches give what they give for the graph, with and without predecessors."""
    for limit in limits:
        for search, name in ((rg.bfs, "depth_limit"), (rg.sssp, "cutoff")):
            if name == "depth_limit" and limit is not None and limit != int(limit):
                continue
            options = {name: limit}
            expected = listed(search(graph, root, **options))
            assert listed(search(layered, **options)) == expected
            assert listed(search(layered, root, **options)) == expected
            del expected["predecessor"]
            assert listed(search(layered, predecessors=False, **options)) == expected


# Closed forms


SINGLE = [name for name, form in CLOSED_FORMS.items() if not isinstance(form[2], list)]
SINGLE_WEIGHTED = [name for name, form in WEIGHTED.items() if not isinstance(form[1], list)]


@by_size
@pytest.mark.parametrize("name", SINGLE)
def test_closed_forms(make_arrays, name, size):
    pairs, directed, root, distances, predecessors = CLOSED_FORMS[name]
    edges = [(a, b, 0.5) for a, b in pairs]
    levels, before = dict(enumerate(distances)), dict(enumerate(predecessors))
    for weight, cost in ((None, 1.0), ("weight", 0.5)):
        _, layered = layered_graph(make_arrays, edges, root, size, weight, directed=directed)
        assert paths_of(rg.bfs(layered)) == (levels, before)
        lengths = {v: INF if d is None else d * cost for v, d in levels.items()}
        assert paths_of(rg.sssp(layered)) == (lengths, before)


@by_size
@pytest.mark.parametrize("name", SINGLE_WEIGHTED)
def test_weighted_closed_forms(make_arrays, name, size):
    edges, root, distances, predecessors = WEIGHTED[name]
    expected = dict(enumerate(distances)), dict(enumerate(predecessors))
    _, layered = layered_graph(make_arrays, edges, root, size)
    assert paths_of(rg.sssp(layered)) == expected


@pytest.mark.parametrize("shape", LARGE, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("cost", [1, 0.1, 0])
def test_large_closed_forms(make_arrays, shape, cost):
    """Of many sources only the first; edges that all cost the same, also nothing."""
    sources, destinations, directed, root, *_ = shape()
    root = int(np.ravel(root)[0])
    columns = {"source": sources, "destination": destinations}
    if cost != 1:
        columns["weight"] = np.full(len(sources), float(cost))
    weight = "weight" if cost != 1 else None
    graph = build_storage(make_arrays(columns), weight=weight, directed=directed)
    layered = LayeredEdgeList.build(graph, root, partition_bytes=10_000)
    assert len(storage_of(layered).table) > 1
    for search in (rg.bfs, rg.sssp):
        expected, found = search(graph, root), search(layered)
        for name in ("distance", "predecessor"):
            np.testing.assert_array_equal(on_host(found[name]), on_host(expected[name]))


# One pass is not exact


# 1 and then 4 are nearer by way of 2 and 3, a layer beyond 1.
BACK = [(0, 1, 10), (0, 2, 1), (2, 3, 1), (3, 1, 1), (1, 4, 1)]


def after_one_pass(layered, root):
    """Distances after each edge was taken once, in the order of the list."""
    columns = listed(layered.edges())
    distance = dict.fromkeys({*columns["source"], *columns["destination"]}, INF) | {root: 0}
    rows = zip(columns["source"], columns["destination"], columns["weight"])
    for source, destination, weight in rows:
        distance[destination] = min(distance[destination], distance[source] + weight)
    return distance


@by_size
def test_a_graph_on_which_one_pass_is_wrong(make_arrays, size):
    _, layered = layered_graph(make_arrays, BACK, 0, size)
    assert listed(layered.edges())["forward"] == [True, True, True, True, False]
    assert after_one_pass(layered, 0) == {0: 0, 1: 3, 2: 1, 3: 2, 4: 11}
    distances, predecessors = paths_of(rg.sssp(layered))
    assert distances == {0: 0, 1: 3, 2: 1, 3: 2, 4: 4}
    assert predecessors == {0: None, 1: 3, 2: 0, 3: 2, 4: 1}
    assert layered.last_run.passes >= 2  # of relaxing, and for predecessors
    assert paths_of(rg.bfs(layered))[0] == {0: 0, 1: 1, 2: 1, 3: 2, 4: 2}


@pytest.mark.parametrize("size", [1, 64, 1000])
@pytest.mark.parametrize("times", [2, 30])
def test_ways_that_go_back_again_and_again(make_arrays, times, size):
    """A chain of such graphs: each has to wait for the one before."""
    edges = [(a + 4 * part, b + 4 * part, weight) for part in range(times) for a, b, weight in BACK]
    graph, layered = layered_graph(make_arrays, edges, 0, size)
    once = after_one_pass(layered, 0)
    assert once[4 * times] > 4 * times
    assert paths_of(rg.sssp(layered))[0] == {
        place: place // 4 * 4 + (0, 3, 1, 2)[place % 4] for place in range(4 * times + 1)
    }
    check_same(layered, graph, 0)


# Against SciPy and slow loops


@symmetrize
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [300, 4000, PARTITION_BYTES])
def test_agrees_with_scipy(make_arrays, seed, directed, size):
    """Weights over six orders of magnitude: the cheapest way is seldom the shortest."""
    random = np.random.default_rng(seed)
    vertices, rows = 400, 2400
    ends = random.integers(0, vertices, (2, rows))
    ends = np.unique(np.sort(ends, axis=0) if not directed else ends, axis=1)
    ends = ends[:, ends[0] != ends[1]]
    weights = 10 ** random.uniform(-3, 3, ends.shape[1])
    matrix = scipy.sparse.csr_array((weights, tuple(ends)), shape=(vertices, vertices))
    expected = scipy.sparse.csgraph.dijkstra(matrix, directed=directed, indices=seed)
    columns = {"source": ends[0], "destination": ends[1], "weight": weights}
    options = {"weight": "weight", "directed": directed, "vertices": vertices}
    layered = LayeredEdgeList.build(
        build_storage(make_arrays(columns), **options), seed, partition_bytes=size
    )
    assert storage_of(layered).layer_edges[1].sum() > 500  # what goes back
    found = paths_of(rg.sssp(layered))[0]
    assert list(found.values()) == expected.tolist()
    steps = scipy.sparse.csgraph.dijkstra(matrix, directed=directed, indices=seed, unweighted=True)
    found = paths_of(rg.bfs(layered))[0]
    assert [INF if d is None else d for d in found.values()] == steps.tolist()
    assert max(steps[steps < INF]) == layered.depth


@by_size
@symmetrize
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_naive_and_the_graph(make_arrays, seed, directed, size):
    edges = random_edges(80 + seed, 150, 300)
    options = {"directed": directed, "vertices": 155}
    graph, layered = layered_graph(make_arrays, edges, seed + 3, size, **options)
    root, more = [seed + 3], {"directed": directed}
    assert paths_of(rg.bfs(layered)) == naive.bfs(edges, root, range(155), **more)
    assert paths_of(rg.sssp(layered)) == naive.sssp(edges, root, range(155), **more)
    rg.verify.bfs(graph, rg.bfs(layered), seed + 3)
    rg.verify.sssp(graph, rg.sssp(layered), seed + 3)
    check_same(layered, graph, seed + 3, (None, 0, 1, 3, 2.5, 100))


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 99, 2**31 - 2, 2**31, 2**70])
@pytest.mark.parametrize("size", [1, PARTITION_BYTES])
def test_limits(make_arrays, limit, size):
    edges = [(a, a + 1, 1) for a in range(4)] + [(2, 0, 1), (7, 2, 1)]
    for weight in (None, "weight"):
        graph, layered = layered_graph(make_arrays, edges, 0, size, weight)
        reached = [d if d <= limit else None for d in range(5)] + [None]
        before = [None] + [a if a < limit else None for a in range(4)] + [None]
        names = [0, 1, 2, 3, 4, 7]
        found = paths_of(rg.bfs(layered, depth_limit=limit))
        assert found == (dict(zip(names, reached)), dict(zip(names, before)))
        distances, predecessors = paths_of(rg.sssp(layered, cutoff=limit))
        assert list(distances.values()) == [INF if d is None else d for d in reached]
        assert list(predecessors.values()) == before
        check_same(layered, graph, 0, (limit,))


@pytest.mark.parametrize("weights", ["many", "few", "zeros", "all zeros", None])
@symmetrize
def test_rmat(make_arrays, directed, weights):
    """Enough edges for several threads; many ties, and hardly anything but 0."""
    frame = rmat(11, 12, seed=5, weights=(0.0, 2.0), device="cpu")
    columns = {name: frame[name].to_numpy() for name in frame}
    if weights == "few":
        columns["weight"] = np.round(columns["weight"] * 4) / 4
    if weights == "zeros":
        columns["weight"] = np.maximum(columns["weight"] - 1.9, 0)
    if weights == "all zeros":
        columns["weight"] = columns["weight"] * 0
    graph = build_storage(
        make_arrays(columns),
        weight="weight" if weights else None,
        directed=directed,
        multi_edges="keep",
    )
    root = int(columns["source"][0])
    for size in (1000, 50_000, PARTITION_BYTES):
        layered = LayeredEdgeList.build(graph, root, partition_bytes=size)
        check_same(layered, graph, root, (None, 1))


@pytest.mark.parametrize("size", [1, 64, 100, 4000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hubs_of_several_partitions(make_arrays, size, dtype):
    """0 leads to all, each of them to the other hub, 1, and that leads back to all."""
    leaves = np.arange(2, 100 if size == 1 else 700)
    random = np.random.default_rng(0)
    hub, other = np.zeros_like(leaves), np.ones_like(leaves)
    columns = {
        "source": np.concatenate([hub, leaves, other]),
        "destination": np.concatenate([leaves, other, leaves]),
        "weight": random.integers(1, 100, 3 * leaves.size).astype(dtype) / (1 if size % 3 else 7),
    }
    graph = build_storage(make_arrays(columns), weight="weight")
    layered = LayeredEdgeList.build(graph, 0, partition_bytes=size)
    first = storage_of(layered).table[:, COLUMN["first"]]
    edge_bytes = 8 if storage_of(layered).weight_dtype is np.float32 else 12
    assert (first == 0).sum() == -(-leaves.size // max(size // edge_bytes, 1))
    check_same(layered, graph, 0, (None, 50))


# Weights


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64",
                                   "float32", "float64"])  # fmt: skip
def test_weights_of_any_type_of_number(make_arrays, dtype):
    edges = [(a, b, int(weight * 20)) for a, b, weight in random_edges(81)]
    columns = columns_of(edges)
    columns["weight"] = columns["weight"].astype(dtype)
    graph = build_storage(make_arrays(columns), weight="weight", multi_edges="min")
    layered = LayeredEdgeList.build(graph, 7, partition_bytes=500)
    assert storage_of(layered).weight_dtype is np.float32
    least = naive.merged(edges, "min")
    assert paths_of(rg.sssp(layered)) == naive.sssp(least, [7])
    check_same(layered, graph, 7, (None, 30))


@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        ([2**24 + 1, 1, 2**25 + 3], np.float64),
        ([2**53 + 1, 1, 2**62 + 1], np.float32),  # 1 is lost where it is a double already
        ([2**53 + 1, 2**53 - 1, 3], np.float64),
        ([2**63 - 1, 2**63 - 1, 1], np.float32),
    ],
)
def test_large_integers(make_arrays, weights, dtype):
    columns = {"source": [0, 1, 2], "destination": [1, 2, 3], "weight": np.array(weights)}
    graph = build_storage(make_arrays(columns), weight="weight")
    layered = LayeredEdgeList.build(graph, 0)
    assert storage_of(layered).weight_dtype is dtype
    expected = [0.0]
    for weight in weights:
        expected.append(expected[-1] + float(weight))
    assert list(paths_of(rg.sssp(layered))[0].values()) == expected
    check_same(layered, graph, 0)


def test_weights_are_added_in_double_precision(make_arrays):
    weights = np.array([0.1, 0.7, 1e-9, 16777216.0], np.float32)
    edges = [(place, place + 1, weight) for place, weight in enumerate(weights.tolist())]
    columns = columns_of(edges) | {"weight": weights}
    graph = build_storage(make_arrays(columns), weight="weight")
    layered = LayeredEdgeList.build(graph, 0)
    assert storage_of(layered).weight_dtype is np.float32
    assert paths_of(rg.sssp(layered))[0] == naive.sssp(edges, [0])[0]


def test_distances_beyond_double_precision_are_refused(make_arrays):
    edges = [(0, 1, 1.5e308), (1, 2, 1e308), (2, 3, 1.0)]
    _, layered = layered_graph(make_arrays, edges, 0)
    with pytest.raises(rg.GraphError, match="the distance to vertex 2 is more than 1.8e308"):
        rg.sssp(layered)
    found = rg.sssp(layered, cutoff=1.6e308)
    assert list(paths_of(found)[0].values()) == [0, 1.5e308, math.inf, math.inf]


@pytest.mark.sanitizer
@pytest.mark.parametrize("multi_edges", ["keep", "first", "sum", "min", "max"])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
@symmetrize
def test_policies(make_arrays, multi_edges, self_loops, directed):
    edges = [(a, b, int(4 * weight)) for a, b, weight in random_edges(82, 20, 90)]
    edges += [(3, 19, 1), (19, 3, 2), (4, 4, 3), (4, 4, 1), (3, 19, 0)]
    policies = {"multi_edges": multi_edges, "self_loops": self_loops, "directed": directed}
    graph, layered = layered_graph(make_arrays, edges, 5, 100, vertices=22, **policies)
    left = naive.merged(edges, **policies)
    assert paths_of(rg.sssp(layered)) == naive.sssp(left, [5], range(22), directed=directed)
    check_same(layered, graph, 5)


def test_sum_without_weights_counts_rows(make_arrays):
    edges = [(0, 1, 9), (0, 1, 9), (0, 2, 9), (2, 1, 9)]
    _, layered = layered_graph(make_arrays, edges, 0, weight=None, multi_edges="sum")
    assert paths_of(rg.sssp(layered))[0] == {0: 0, 1: 2, 2: 1}
    assert paths_of(rg.bfs(layered))[0] == {0: 0, 1: 1, 2: 1}


# What the root does not reach


SMALL = {
    "one vertex": ([], 0, 1),
    "one vertex, self-loop": ([(0, 0, 2.5)], 0, 1),
    "two vertices": ([(0, 1, 2)], 0, 2),
    "two vertices, from the end": ([(0, 1, 2)], 1, 2),
    "two vertices without edges": ([], 1, 2),
    "a root without edges": ([(1, 2, 1), (2, 1, 0)], 0, 3),
    "several components": ([(0, 1, 1), (2, 3, 1), (3, 2, 1), (4, 5, 0), (5, 4, 1)], 3, 7),
    "only edges that lead to the root": ([(1, 0, 1), (2, 0, 1), (2, 1, 1)], 0, 3),
    "unreached that lead to what is reached": ([(0, 1, 5), (2, 1, 1), (2, 0, 0)], 0, 3),
    "self-loops": ([(0, 0, 0), (0, 1, 0), (1, 1, 0)], 0, 2),
}


@pytest.mark.parametrize("size", [1, PARTITION_BYTES])
@pytest.mark.parametrize("name", SMALL)
@symmetrize
def test_small_graphs_and_unreachable_parts(make_arrays, name, directed, size):
    edges, root, vertices = SMALL[name]
    options = {"vertices": vertices, "directed": directed}
    for weight in (None, "weight"):
        graph, layered = layered_graph(make_arrays, edges, root, size, weight, **options)
        more = {"directed": directed}
        assert paths_of(rg.bfs(layered)) == naive.bfs(edges, [root], range(vertices), **more)
        check_same(layered, graph, root, (None, 0, 1))
    found = naive.sssp(edges, [root], range(vertices), **more)
    assert paths_of(rg.sssp(layered)) == found


# Names and frames


def test_results_are_of_the_callers_library(make_held_frame):
    edges = [(5, -2, 1.5), (-2, 2**40, 2), (5, 2**40, 9), (77, 5, 1)]
    frame = make_held_frame(columns_of(edges))
    graph = build_storage(frame, weight="weight")
    layered = LayeredEdgeList.build(graph, 5)
    for search in (rg.bfs, rg.sssp):
        found = search(layered)
        assert type(found) is type(frame)
        assert listed(found) == listed(search(graph, 5))
    assert paths_of(rg.sssp(layered)) == (
        {-2: 1.5, 5: 0, 77: INF, 2**40: 3.5}, {-2: 5, 5: None, 77: None, 2**40: -2},
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars", "duckdb", "arrays",
                                  pytest.param("cudf", marks=pytest.mark.gpu)])  # fmt: skip
def test_names_of_text(kind):
    names = ["b", "a", "", "ö", "a b"]
    ends = [(0, 1), (1, 2), (1, 3), (4, 0), (3, 0)]
    frame = FrameMaker(kind)(
        {"source": [names[a] for a, _ in ends], "destination": [names[b] for _, b in ends]}
    )
    layered = LayeredEdgeList.build(frame, "b")
    found = rg.bfs(layered)
    assert type(found) is type(frame)
    assert paths_of(found) == (
        {"": 2, "a": 1, "a b": None, "b": 0, "ö": 2},
        {"": "a", "a": "b", "a b": None, "b": None, "ö": "a"},
    )
    assert listed(rg.sssp(layered)) == listed(rg.sssp(frame, "b"))


def test_names_of_several_columns(make_held_frame):
    first, second = (1, 2) if make_held_frame.kind == "cupy" else ("x", "y")
    frame = make_held_frame({"net": [first, first, second], "a": [0, 5, 0], "b": [5, 6, 5]})
    graph = build_storage(frame, source=["net", "a"], destination=["net", "b"])
    layered = LayeredEdgeList.build(graph, (second, 0))
    assert layered.root == (second, 0)
    found = paths_of(rg.bfs(layered, (second, 0)), ("net", "vertex"))
    assert found == paths_of(rg.bfs(graph, (second, 0)), ("net", "vertex"))
    assert found[0] == {
        (first, 0): None, (first, 5): None, (first, 6): None, (second, 0): 0, (second, 5): 1,
    }  # fmt: skip
    assert found[1][second, 5] == (second, 0)


@pytest.mark.parametrize("search", [rg.bfs, rg.sssp])
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (1, "source is 1, but the layers belong to the root 0"),
        ([0, 1], r"source is \[0, 1\], but the layers belong to the root 0"),
        (99, "source: vertex 99 is not in the graph"),
        ([], "source is empty"),
        (True, "source is True; name a vertex"),
        ("a", "source: 'a' is text"),
    ],
)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_another_source_than_the_root(make_arrays, search, source, message, weight):
    _, layered = layered_graph(make_arrays, BACK, 0, weight=weight)
    with pytest.raises(rg.GraphError, match=message):
        search(layered, source)


@pytest.mark.parametrize("source", [0, [0], (0, 0), np.int64(0), {"vertex": [0]}, None])
def test_the_root_in_any_form(make_arrays, source):
    _, layered = layered_graph(make_arrays, BACK, 0)
    assert listed(rg.bfs(layered, source)) == listed(rg.bfs(layered))
    assert listed(rg.sssp(layered, source)) == listed(rg.sssp(layered))


@pytest.mark.parametrize(
    ("search", "options", "message"),
    [
        (rg.bfs, {"depth_limit": -1}, "depth_limit is -1"),
        (rg.bfs, {"depth_limit": 1.5}, "depth_limit is 1.5"),
        (rg.sssp, {"cutoff": -0.5}, "cutoff is -0.5"),
        (rg.sssp, {"cutoff": math.nan}, "cutoff is nan"),
        (rg.bfs, {"predecessors": 1}, "predecessors is 1; it can be True or False"),
        (rg.sssp, {"predecessors": None}, "predecessors is None"),
    ],
)
def test_wrong_parameters(make_arrays, search, options, message):
    _, layered = layered_graph(make_arrays, BACK, 0)
    with pytest.raises(rg.GraphError, match=message):
        search(layered, **options)


def test_name_columns_without_room_for_results(make_arrays):
    frame = make_arrays({"distance": [0, 0], "a": [0, 1], "b": [1, 2]})
    graph = build_storage(frame, source=["distance", "a"], destination=["distance", "b"])
    layered = LayeredEdgeList.build(graph, (0, 0))
    with pytest.raises(rg.GraphError, match="vertex name column 'distance' collides"):
        rg.bfs(layered)


@pytest.mark.parametrize("name", ["weight", "forward", "destination"])
def test_shared_name_columns_called_as_columns_of_edges(make_arrays, name):
    frame = make_arrays({name: [0, 0], "a": [0, 1], "b": [1, 2], "km": [3, 4]})
    graph = build_storage(frame, source=[name, "a"], destination=[name, "b"], weight="km")
    layered = LayeredEdgeList.build(graph, (0, 0))
    for layer in (None, 0):
        with pytest.raises(rg.GraphError, match=f"name column '{name}' collides") as caught:
            layered.edges(layer)
        assert caught.value.column == name


# What was looked at


def test_bfs_reads_the_forward_edges_once(make_arrays):
    """But those that leave the last layer, which lead nowhere new."""
    edges = [(a, b, w) for a, b, w in random_edges(83, 300, 1200)]
    for size in (1, 100, 1000):
        _, layered = layered_graph(make_arrays, edges, 7, size)
        table, end = storage_of(layered).table, storage_of(layered).layer_starts[layered.depth]
        own = table[(table[:, COLUMN["first"]] < end) & (table[:, COLUMN["forward_edges"]] > 0)]
        rg.bfs(layered)
        run = layered.last_run
        assert (run.passes, run.partitions) == (1, len(own))
        assert run.nbytes == 4 * own[:, COLUMN["forward_words"]].sum()
        rg.bfs(layered, depth_limit=1)
        assert layered.last_run.nbytes < run.nbytes
        rg.bfs(layered, predecessors=False)
        assert layered.last_run == (0, 0, 0)


def test_bfs_of_a_root_without_edges_reads_nothing(make_arrays):
    _, layered = layered_graph(make_arrays, BACK, 4)
    rg.bfs(layered)
    assert layered.last_run == (0, 0, 0)


def set_launch_partitions(monkeypatch, count):
    monkeypatch.setattr(streaming, "MAX_LAUNCH_PARTITIONS", count)


def test_sssp_skips_partitions_whose_sources_did_not_change(make_arrays, monkeypatch):
    """A path with a partition an edge, of which half is found to be nearer by way of the other."""
    set_launch_partitions(monkeypatch, 1)  # as where partitions come one by one
    edges = [(a, a + 1, 1) for a in range(299)] + [(0, 150, 500), (151, 149, 1000)]
    graph, layered = layered_graph(make_arrays, edges, 0, 1)
    count = len(storage_of(layered).table)
    assert count == 302
    check_same(layered, graph, 0)
    rg.sssp(layered, predecessors=False)
    run = layered.last_run
    assert run.passes > 1 and count < run.partitions < 3 * count
    assert run.nbytes == run.partitions * layered.nbytes // 301  # one partition has no edge
    rg.sssp(layered)
    assert layered.last_run.passes == run.passes + 1  # once more for predecessors
    reached = len(storage_of(layered).partitions_before(int(storage_of(layered).layer_starts[-1])))
    assert (reached, layered.last_run.partitions) == (301, run.partitions + reached)


@pytest.mark.parametrize("most", [1, 3, 256])
@symmetrize
def test_partitions_one_by_one_or_many_at_a_time(make_arrays, monkeypatch, most, directed):
    set_launch_partitions(monkeypatch, most)
    edges = random_edges(85, 150, 700)
    graph, layered = layered_graph(make_arrays, edges, 7, 200, directed=directed)
    assert len(storage_of(layered).table) > 20
    check_same(layered, graph, 7, (None, 2))


def test_what_lies_beyond_the_rows_is_no_predecessor(make_arrays):
    # Ties within a cutoff, where the last group of rows is not full: a GPU's lanes without an edge
    # had the root follow them, in one of nine runs.
    edges = random_edges(85, 150, 700)
    graph, layered = layered_graph(make_arrays, edges, 7, 200, directed=False)
    expected = listed(rg.sssp(graph, 7, cutoff=2))
    assert expected["predecessor"][7] is None
    for _ in range(60):
        assert listed(rg.sssp(layered, cutoff=2)) == expected


def test_sssp_does_not_read_what_leaves_unreached_vertices(make_arrays):
    edges = [(0, 1, 1), (1, 0, 1), (2, 0, 1), (3, 2, 1), (2, 3, 1)]
    _, layered = layered_graph(make_arrays, edges, 0, 1)
    rg.sssp(layered, predecessors=False)
    assert layered.last_run.partitions <= 2 * layered.last_run.passes
    assert layered.last_run.nbytes < layered.nbytes * layered.last_run.passes


def test_progress_of_every_pass(make_arrays):
    seen = []

    def progress(done, total, text):
        seen.append((done, total))

    _, layered = layered_graph(make_arrays, random_edges(84), 7, 100)
    rg.bfs(layered, progress=progress)
    count = layered.last_run.partitions
    assert seen[-1] == (count, count) and {total for _, total in seen} == {count}
    seen.clear()
    rg.sssp(layered, progress=progress)
    ends = [done for done, total in seen if done == total]
    assert len(ends) == layered.last_run.passes
    assert sum(ends) == layered.last_run.partitions


# Properties


edge_lists = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.integers(0, 9),
        st.sampled_from([0, 0, 0, 1, 1, 2, 3, 0.1, 0.2, 0.3, 0.5, 1e-20, 5e-324]),
    ),
    max_size=40,
)


@given(
    edge_lists,
    st.integers(0, 10),
    st.sampled_from([None, 0, 1, 2, 4]),
    st.booleans(),
    st.sampled_from([1, 20, 90, 10**6]),
)
@settings(max_examples=100)
def test_small_graphs(edges, root, limit, directed, size):
    """With edges of weight 0, ties, self-loops, parallel edges, and what is out of reach."""
    maker, options = FrameMaker("arrays"), {"vertices": 11, "directed": directed}
    graph, layered = layered_graph(maker, edges, root, size, **options)
    check_same(layered, graph, root, (limit,))
    cutoff = INF if limit is None else limit
    expected = naive.sssp(edges, [root], range(11), cutoff=cutoff, directed=directed)
    assert paths_of(rg.sssp(layered, cutoff=limit)) == expected


@given(edge_lists.filter(bool), st.randoms(use_true_random=False), st.sampled_from([1, -1]))
@settings(max_examples=40)
def test_neither_the_order_of_rows_nor_names_matter(edges, random, sign):
    """Names that rise as before give the same; names that fall give the same distances."""
    frame = FrameMaker("pandas")(columns_of(edges))
    first = edges[0][0]
    options = {"weight": "weight", "multi_edges": "min"}
    layered = LayeredEdgeList.build(build_storage(frame, **options), first, partition_bytes=50)
    expected = paths_of(rg.sssp(layered))
    shuffled = random.sample(range(len(edges)), len(edges))
    renamed = frame.iloc[shuffled].assign(
        **{name: sign * (frame[name] * 10**10 - 3) for name in ("source", "destination")}
    )
    root = sign * (first * 10**10 - 3)
    layered = LayeredEdgeList.build(build_storage(renamed, **options), root, partition_bytes=50)
    distances, predecessors = paths_of(rg.sssp(layered))
    name = {v: sign * (v * 10**10 - 3) for v in expected[0]}
    assert distances == {name[v]: d for v, d in expected[0].items()}
    if sign == 1:
        name[None] = None
        assert predecessors == {name[v]: name[p] for v, p in expected[1].items()}
