"""Graphs: what becomes of rows under each policy, and what the result says about itself."""

import naive
import numpy as np
import pandas
import pyarrow
import pytest
from conftest import FrameMaker, build_storage, columns_of, random_edges, ranks_of, to_pandas

import rapidsgraph as rg
from rapidsgraph.dispatch import in_memory
from rapidsgraph.frames import is_dask
from rapidsgraph.graph import weight_sums
from rapidsgraph.graph.build import build_graph

MULTI_EDGES = ["keep", "first", "sum", "min", "max"]
# Parallel edges in no order, also against each other, and self-loops.
EDGES = [(0, 1, 3), (1, 2, 1), (0, 1, 1), (1, 0, 5), (2, 2, 4), (0, 1, 2), (2, 2, 7), (3, 0, 0)]


def arcs_of(graph, lists=None):
    """Sorted (source, destination, weight) of a graph's lists by source, by name."""
    lists = graph.csr if lists is None else lists
    offsets, neighbors, weights = (
        array.get() if hasattr(array, "get") else array
        for array in (lists.offsets, lists.neighbors, lists.weights)
    )
    names = to_pandas(graph.vertices)["vertex"].tolist()
    rows = np.repeat(np.arange(len(names)), np.diff(offsets)).tolist()
    weights = weights.tolist() if weights.size else [1] * len(rows)
    return sorted((names[a], names[b], w) for a, b, w in zip(rows, neighbors.tolist(), weights))


def arcs_expected(edges, directed):
    back = [] if directed else [(b, a, weight) for a, b, weight in edges if a != b]
    return sorted([*edges, *back])


@pytest.mark.parametrize("multi_edges", MULTI_EDGES)
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("edges", [EDGES, random_edges(30, 20, 400)], ids=["by hand", "random"])
def test_policies(make_arrays, multi_edges, self_loops, directed, edges):
    policies = {"multi_edges": multi_edges, "self_loops": self_loops, "directed": directed}
    graph = build_storage(make_arrays(columns_of(edges)), weight="weight", **policies)
    left = naive.merged(edges, **policies)
    loops = sum(a == b for a, b, _ in edges) if self_loops == "drop" else 0
    report = graph.report
    assert (report.rows, report.self_loops_dropped) == (len(edges), loops)
    assert report.rows_merged == len(edges) - loops - len(left)
    assert graph.num_edges == report.edges == len(left)
    found, expected = arcs_of(graph), arcs_expected(left, directed)
    assert [arc[:2] for arc in found] == [arc[:2] for arc in expected]
    assert [arc[2] for arc in found] == pytest.approx([arc[2] for arc in expected], rel=1e-15)
    backwards = [(b, a, weight) for a, b, weight in arcs_of(graph, graph.csc)]
    assert sorted(backwards) == found


@pytest.mark.parametrize("multi_edges", MULTI_EDGES)
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_policies_without_weights(make_arrays, multi_edges, directed):
    graph = build_storage(
        make_arrays(columns_of(EDGES)), weight=None, multi_edges=multi_edges, directed=directed
    )
    edges = [(a, b, 1) for a, b, _ in EDGES]
    assert graph.weighted == (multi_edges == "sum")
    left = naive.merged(edges, multi_edges, directed=directed)
    assert arcs_of(graph) == arcs_expected(left, directed)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "int64", "uint64", "float16", "float32"]
)
def test_sums_hold_what_no_single_weight_does(make_arrays, dtype):
    weight = np.full(5, 100, dtype)
    if dtype in ("int32", "int64"):
        weight[:] = np.iinfo(dtype).max // 2
    if dtype == "uint64":
        weight[:] = 2**63 + 2**20
    if dtype == "float32":
        weight[:] = (2**24, 1, 1, 1, 1)
    columns = {"source": [0] * 5, "destination": [1] * 5, "weight": weight}
    graph = build_storage(make_arrays(columns), weight="weight", multi_edges="sum")
    (total,) = [arc[2] for arc in arcs_of(graph)]
    assert total == pytest.approx(sum(weight.tolist()), rel=1e-15)


@pytest.mark.parametrize("weights", [[0, 0], [1, 2], []])
def test_sums_of_integers_are_integers(make_frame, weights):
    ends = list(range(len(weights)))
    weights = np.array(weights, np.int64)
    edges = make_frame({"source": ends, "destination": ends, "weight": weights})
    graph = rg.Graph(edges, weight="weight", multi_edges="sum")
    assert to_pandas(graph.edges)["weight"].dtype == "int64"


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sums_that_may_exceed_int64_are_of_two_halves(dtype, monkeypatch):
    monkeypatch.setattr(weight_sums, "INT64_LIMIT", 1)
    values = np.full(5, np.iinfo(dtype).max)
    assert weight_sums.sum_exactly(values) == 5 * int(values[0])


def test_reversed_graphs_without_edges_keep_the_type_of_weights(make_frame):
    edges = make_frame({"source": [5], "destination": [5], "weight": np.array([3])})
    graph = rg.Graph(edges, weight="weight", self_loops="drop")
    for other in (graph, graph.reverse()):
        assert to_pandas(other.edges)["weight"].dtype == "int64"


@pytest.mark.parametrize("weight_type", ["int32", "int64", "float32", "float64"])
def test_weights_keep_their_type(make_arrays, weight_type):
    columns = columns_of(EDGES)
    columns["weight"] = columns["weight"].astype(weight_type)
    assert build_storage(make_arrays(columns), weight="weight").csr.weights.dtype == weight_type


def test_first_means_first_row(make_frame):
    random = np.random.default_rng(31)
    columns = {
        "source": random.integers(0, 9, 3000),
        "destination": random.integers(0, 9, 3000),
        "weight": random.integers(0, 10**6, 3000),
    }
    graph = build_storage(make_frame(columns), weight="weight")
    first = pandas.DataFrame(columns).drop_duplicates(["source", "destination"])
    assert arcs_of(in_memory(graph)) == sorted(first.itertuples(index=False, name=None))


def test_what_a_graph_says_about_itself(make_frame):
    frame = make_frame({"source": ["b", "a", "b", "c"], "destination": ["a", "b", "a", "c"]})
    more = make_frame({"vertex": ["z", "a"]})
    graph = build_storage(frame, directed=False, self_loops="drop", vertices=more)
    assert (graph.num_vertices, graph.num_edges, graph.num_arcs) == (4, 1, 2)
    assert (graph.directed, graph.weighted) == (False, False)
    assert graph.device == ("gpu" if make_frame.on_gpu else "cpu")
    assert type(graph.vertices) is type(frame)
    assert to_pandas(graph.vertices)["vertex"].tolist() == ["a", "b", "c", "z"]
    assert str(graph.report) == (
        "4 rows: 1 self-loops dropped, 2 merged into others, 1 edges left; "
        f"4 vertices, 2 of them without an edge; {graph.nbytes} bytes"
    )
    if is_dask(frame):
        partitions = f"partitions: 1, {graph.device}"
        assert repr(graph) == f"<Graph: 4 vertices, 1 undirected edges, {partitions}>"
    else:
        assert repr(graph) == f"<Graph: 4 vertices, 1 undirected edges, {graph.device}>"
    counted = build_storage(frame, multi_edges="sum")
    assert counted.weighted and counted.num_edges == 3
    if not is_dask(frame):
        assert repr(counted) == f"<Graph: 3 vertices, 3 directed edges, weighted, {graph.device}>"


def test_nbytes_counts_lists_once(make_arrays):
    directed = build_storage(make_arrays(columns_of(EDGES)), weight=None)
    one_way = 8 * 5 + 4 * 5  # offsets, and a neighbor for each of the five distinct pairs
    assert directed.nbytes == one_way
    assert directed.csc.neighbors.size == 5
    assert directed.nbytes == 2 * one_way
    undirected = build_storage(make_arrays(columns_of(EDGES)), weight=None, directed=False)
    assert undirected.csc is undirected.csr
    assert undirected.nbytes == 8 * 5 + 4 * 7


def test_degrees(make_arrays):
    for directed, degrees, weights in (
        (True, [1, 2, 1, 1], [3, 6, 4, 0]),
        (False, [2, 2, 2, 1], [3, 4, 5, 0]),
    ):
        for first in ("csr", "csc"):
            graph = build_storage(
                make_arrays(columns_of(EDGES)), weight="weight", directed=directed
            )
            if first == "csc" and directed:
                plain = build_graph(make_arrays(columns_of(EDGES)), layout="csc")
                assert "csr" not in vars(plain)
                assert plain.out_degrees.tolist() == degrees
                assert plain.out_weights.tolist() == degrees
            assert graph.out_degrees.tolist() == degrees
            assert graph.out_weights.tolist() == weights


def test_a_frame_is_what_a_graph_of_the_defaults_is(make_frame):
    frame = make_frame(columns_of(EDGES))
    ranks = ranks_of(rg.pagerank(build_storage(frame)))
    assert ranks_of(rg.pagerank(frame)) == pytest.approx(ranks, abs=1e-16)


# The caller's frame


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("is_sorted", [True, False], ids=["sorted", "unsorted"])
@pytest.mark.parametrize("multi_edges", ["keep", "sum"])
def test_the_frame_and_the_graph_go_their_own_ways(make_arrays, dtype, is_sorted, multi_edges):
    edges = sorted({edge[:2] for edge in random_edges(32)})
    edges = edges if is_sorted else edges[::-1]
    columns = {
        "source": np.array([edge[0] for edge in edges], dtype),
        "destination": np.array([edge[1] for edge in edges], dtype),
        "weight": np.arange(1.0, len(edges) + 1),
    }
    frame = make_arrays(columns)
    frame = {name: values.copy() for name, values in frame.items()}
    for options in ({}, {"directed": False}):
        graph = build_storage(
            frame, weight="weight", multi_edges=multi_edges, vertices=60, **options
        )
        for name, values in frame.items():
            assert bool((values == make_arrays(columns)[name]).all())
        before = arcs_of(graph)
        for values in frame.values():
            values[:] = 0
        assert arcs_of(graph) == before
        back = [(b, a, weight) for a, b, weight in arcs_of(graph, graph.csc)]
        assert sorted(back) == before
        for name, values in frame.items():
            values[:] = make_arrays(columns)[name]


def test_a_pandas_frame_stays_as_it_is():
    frame = pandas.DataFrame(columns_of(EDGES), index=list("hgfedcba"))
    frame["text"] = frame["other"] = frame["source"].astype(str)
    before = frame.copy(deep=True)
    graph = build_storage(frame, weight="weight", multi_edges="sum", self_loops="drop")
    ranks = rg.pagerank(graph)
    values = pandas.DataFrame({"vertex": [3, 1], "x": [1.0, 2.0]}, index=[5, 5])
    kept = values.copy(deep=True)
    rg.pagerank(frame, personalization=values, start=values, dangling=values)
    pandas.testing.assert_frame_equal(values, kept)
    build_storage(frame, "text", "other")
    pandas.testing.assert_frame_equal(frame, before)
    frame["weight"] = 0.0
    frame.loc[:, "source"] = 3
    pandas.testing.assert_frame_equal(rg.pagerank(graph), ranks)


def test_a_result_is_the_callers_to_change():
    graph = build_storage(FrameMaker("arrays")(columns_of(EDGES)))
    result = rg.pagerank(graph)
    expected = ranks_of(result)
    result["pagerank"][:] = -1
    result["vertex"][:] = 99
    graph.vertices["vertex"][:] = 99
    assert ranks_of(rg.pagerank(graph)) == expected
    gaps = build_storage(FrameMaker("arrays")({"source": [10, 500], "destination": [500, 70000]}))
    gaps.vertices["vertex"][:] = 99
    assert gaps.vertices["vertex"].tolist() == [10, 500, 70000]


# What is no weight and no policy


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -0.5, 2.0], "weight in row 1 of column 'weight' is -0.5; weights must be finite"),
        ([1, 2, -3], "weight in row 2 of column 'weight' is -3"),
        ([np.nan, 1.0, 2.0], r"weight in row 0 of column 'weight' is missing \(NaN\)"),
        ([1.0, 2.0, np.inf], "weight in row 2 of column 'weight' is inf"),
        ([1.0, -np.inf, np.nan], "weight in row 1 of column 'weight' is -inf"),
        (["1", "2", "x"], "weights in column 'weight' must be numbers; row 2 holds 'x'"),
        (["1", "2", "3"], r"weights .* must be numbers, not text; use (\.(as|c).*[fF]loat64|CAST)"),
    ],
)
def test_unsuitable_weights(make_held_frame, weight, message):
    frame = make_held_frame({"source": [0, 1, 2], "destination": [1, 2, 0], "weight": weight})
    with pytest.raises(rg.GraphError, match=message):
        build_storage(frame, weight="weight")


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (pandas.Series([1.5, None], dtype="Float64"), "weight in row 1 .*'weight' is missing"),
        (pandas.Series([1, None], dtype="Int64"), "column 'weight' has no value in row 1"),
        (
            pandas.Series([0.5, None], dtype="double[pyarrow]"),
            "weight in row 1 of column 'weight' is missing",
        ),
        (pandas.Series([True, False]), "'weight'"),
        (pandas.Series([0.5, "a"], dtype=object), "'weight' holds float and str values"),
        (pandas.to_datetime(["2020-01-01", "2020-01-02"]), "'weight'.*datetime"),
        (pandas.Series([1j, 2j]), "'weight'.*complex"),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_unsuitable_weights_of_pandas(weight, message):
    frame = pandas.DataFrame({"source": [0, 1], "destination": [1, 0], "weight": weight})
    with pytest.raises(rg.GraphError, match=message) as caught:
        build_storage(frame, weight="weight")
    assert "integers or text" not in str(caught.value)  # which a weight must not be


@pytest.mark.parametrize(
    "weight",
    [
        pandas.Series([0.5, 2.0], dtype="Float64"),
        pandas.Series([0.5, 2.0], dtype="double[pyarrow]"),
        pandas.Series([1, 4], dtype="Int64") / 2,
        pandas.Series([0.5, 2.0], dtype="float16"),
        np.array([0.5, 2.0], np.longdouble),
        np.array([0.5, 2.0], ">f4"),
        np.array([0.5, 9.0, 2.0, 9.0])[::2],
        pyarrow.chunked_array([[0.5], [2.0]]),
        pyarrow.array([0.5, 2.0], pyarrow.float16()),
        [0.5, 2],
    ],
    ids=lambda value: str(getattr(value, "dtype", type(value).__name__)),
)
def test_suitable_weights(weight):
    graph = build_storage(
        {"source": [0, 1], "destination": [1, 0], "weight": weight}, weight="weight"
    )
    assert arcs_of(graph) == [(0, 1, 0.5), (1, 0, 2.0)]


def test_weights_of_another_length():
    frame = {"source": [0, 1], "destination": [1, 0], "weight": [1.0]}
    with pytest.raises(rg.GraphError, match="the number of weights is 1, but that of rows is 2"):
        build_storage(frame, weight="weight")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"multi_edges": "last"}, "multi_edges is 'last'; it can be 'first', 'sum', 'min', 'max'"),
        ({"multi_edges": None}, "multi_edges is None"),
        ({"self_loops": "ignore"}, "self_loops is 'ignore'; it can be 'keep', 'drop'"),
        ({"self_loops": False}, "self_loops is False"),
        ({"source": "x"}, "no column 'x'"),
        ({"weight": "x"}, "no column 'x'"),
    ],
)
def test_unknown_policies(options, message):
    with pytest.raises(rg.GraphError, match=message):
        build_storage(FrameMaker("arrays")({"source": [0], "destination": [1]}), **options)


def test_a_cached_value_may_be_removed_at_any_time():
    """By a call in another thread, such as of PageRank, which keeps one layout."""

    class Volatile(dict):
        def __setitem__(self, key, value):
            pass

    storage = rg.Graph({"source": [1], "destination": [2]})._storage
    storage._cache = Volatile()
    assert storage.cached("answer", lambda: 42) == 42


@pytest.mark.gpu
@pytest.mark.parametrize("step", [1, 10**9])  # names in a table, and sorted names
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_strided_names_on_a_gpu(step, dtype):
    cupy = pytest.importorskip("cupy")
    names = (np.arange(600).reshape(-1, 2) ** 2 % 77 * step).astype(dtype)
    on_gpu = cupy.asarray(names)
    found = rg.Graph({"source": on_gpu[:, 0], "destination": on_gpu[:, 1]}).edges
    expected = rg.Graph({"source": names[:, 0], "destination": names[:, 1]}).edges
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in expected.items()
    }
