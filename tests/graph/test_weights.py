"""The parameter `weight`: its default is used if it exists, in every function and library."""

import warnings

import naive
import numpy as np
import pandas
import pyarrow
import pytest
from conftest import (
    FrameMaker,
    assert_close,
    columns_of,
    gpu,
    listed,
    paths_of,
    random_edges,
    ranks_of,
    to_pandas,
)

import rapidsgraph as rg
from rapidsgraph import io
from rapidsgraph.errors import GraphError, MissingColumnError
from rapidsgraph.graph import multi_edges

PRECISE = {"tolerance": 1e-9, "max_iterations": 300}
ROWS = [(0, 1, 5), (0, 2, 1), (2, 1, 1), (0, 1, 7)]

by_engine = pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("pandas", "auto"),
        ("pandas", "frames"),
        ("polars", "auto"),
        ("arrow", "auto"),
        ("dask-3", "auto"),
        ("dask-3", "frames"),
        pytest.param("cudf", "auto", marks=gpu),
        pytest.param("cudf", "frames", marks=gpu),
        pytest.param("dask_cudf-3", "auto", marks=gpu),
    ],
)


def edge_columns(weights="weight"):
    columns = columns_of(ROWS)
    return {"source": columns["source"], "destination": columns["destination"]} | (
        {weights: columns["weight"]} if weights else {}
    )


@pytest.mark.filterwarnings("ignore::rapidsgraph.WeightWarning")
@by_engine
def test_sssp_of_a_frame_and_of_its_graph(kind, method):
    frame = FrameMaker(kind)(edge_columns())
    expected = ({0: 0, 1: 2, 2: 1}, {0: None, 1: 2, 2: 0})
    assert paths_of(rg.sssp(frame, 0, method=method)) == expected
    graph = rg.Graph(frame, multi_edges="min")
    assert graph.weighted
    assert paths_of(rg.sssp(graph, 0, method=method)) == expected
    hops = ({0: 0, 1: 1, 2: 1}, {0: None, 1: 0, 2: 0})
    assert paths_of(rg.sssp(rg.Graph(frame, weight=None), 0, method=method)) == hops
    assert paths_of(rg.sssp(FrameMaker(kind)(edge_columns("km")), 0, method=method)) == hops


@by_engine
def test_pagerank_sums_the_weights_of_parallel_rows(kind, method):
    edges = random_edges(31, 20, 80)
    frame = FrameMaker(kind)(columns_of(edges))
    ranks = ranks_of(rg.pagerank(frame, method=method, **PRECISE))
    assert_close(ranks, naive.pagerank(naive.merged(edges, "sum")), 1e-8)


@by_engine
def test_without_weights_parallel_rows_count_once(kind, method):
    edges = [(a, b, 1) for a, b, _ in random_edges(32, 20, 80)]
    columns = columns_of(edges)
    del columns["weight"]
    ranks = ranks_of(rg.pagerank(FrameMaker(kind)(columns), method=method, **PRECISE))
    assert_close(ranks, naive.pagerank(naive.merged(edges)), 1e-8)


def test_pagerank_of_a_frame_is_verified():
    frame = pandas.DataFrame(columns_of(random_edges(33)))
    assert rg.verify.pagerank(frame, rg.pagerank(frame, **PRECISE)) < 1e-8
    with pytest.raises(rg.VerificationError):
        rg.verify.pagerank(frame, rg.pagerank(frame[["source", "destination"]], **PRECISE))


def test_weights_of_a_stream_that_is_read_once():
    table = pyarrow.table(edge_columns())
    for method in ("auto", "frames"):
        result = rg.sssp(table.to_reader(), 0, method=method)
        assert paths_of(result)[0] == {0: 0, 1: 2, 2: 1}


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".txt"])
def test_files(tmp_path, ending):
    path = tmp_path / f"edges{ending}"
    io.write_frame(pandas.DataFrame(edge_columns()), path)
    edges = rg.read_edges(path, device="cpu")
    assert list(edges) == ["source", "destination", "weight"]
    assert paths_of(rg.sssp(edges, 0))[0] == {0: 0, 1: 2, 2: 1}
    assert list(rg.read_edges(path, weight=None, device="cpu")) == ["source", "destination"]
    store = tmp_path / "store"
    options = {"multi_edges": "min", "device": "cpu", "store": store}
    layered = rg.LayeredEdgeList.build(path, 0, **options)
    assert paths_of(rg.sssp(layered))[0] == {0: 0, 1: 2, 2: 1}
    assert not rg.LayeredEdgeList.build(path, 0, weight=None, **options).weighted


def test_matrix_market_values_are_weights(tmp_path):
    path = tmp_path / "edges.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n2 3 4\n")
    assert rg.sssp(rg.read_edges(path, device="cpu"), 1)["distance"].tolist() == [0, 0.5, 4.5]


def test_a_layered_edge_list_of_a_dask_frame_keeps_the_first_weight(tmp_path):
    dask = pytest.importorskip("dask.dataframe")
    edges = random_edges(34, 20, 120)
    frame = pandas.DataFrame(columns_of(edges))
    expected = rg.LayeredEdgeList.build(rg.Graph(frame, multi_edges="first"), 3)
    assert expected.weighted
    store = tmp_path / "store"
    built = rg.LayeredEdgeList.build(dask.from_pandas(frame, npartitions=3), 3, store=store)
    assert listed(built.edges()) == listed(expected.edges())


def test_a_cached_list_has_the_weights_that_are_asked_for(tmp_path):
    path = tmp_path / "edges.csv"
    io.write_frame(pandas.DataFrame(edge_columns()), path)

    def cached(**weight):
        layered = rg.LayeredEdgeList.cached(path, 0, device="cpu", **weight)
        manifest = layered.path / "manifest.json"
        return layered.weighted, manifest.stat().st_mtime_ns

    first = cached()
    assert first[0]
    assert cached() == cached(weight="weight") == first
    unweighted = cached(weight=None)
    assert not unweighted[0]
    assert cached(weight=None) == unweighted


def calls(path, frame):
    dask = pytest.importorskip("dask.dataframe")
    yield lambda weight: rg.Graph(frame, weight=weight)
    yield lambda weight: rg.Graph(pyarrow.table(edge_columns("km")), weight=weight)
    yield lambda weight: rg.Graph(dask.from_pandas(frame, npartitions=2), weight=weight)
    yield lambda weight: rg.read_edges(path, weight=weight)
    yield lambda weight: rg.LayeredEdgeList.build(path, 0, weight=weight, store=path.parent / "s")
    yield lambda weight: rg.LayeredEdgeList.cached(path, 0, weight=weight)


@pytest.mark.filterwarnings("ignore::rapidsgraph.WeightWarning")
def test_any_other_column_must_exist(tmp_path):
    frame = pandas.DataFrame(edge_columns("km"))
    path = tmp_path / "edges.csv"
    io.write_frame(frame, path)
    for call in calls(path, frame):
        with pytest.raises(MissingColumnError, match="there is no column 'kms'") as caught:
            call("kms")
        assert caught.value.candidates == {"weight": "km"}
        call("weight")  # the default
        call(None)


def test_a_column_weight_may_name_vertices(tmp_path):
    frame = pandas.DataFrame({"source": [0, 1], "weight": [1, 2]})
    graph = rg.Graph(frame, destination="weight")
    assert (graph.weighted, graph.num_vertices) == (False, 3)
    path = tmp_path / "edges.csv"
    io.write_frame(frame, path)
    edges = rg.read_edges(path, destination="weight", device="cpu")
    assert list(edges) == ["source", "destination"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b"], "weights in column 'weight' must be numbers; row 0 holds 'a'"),
        ([1.0, -2.0], "weight in row 1 of column 'weight' is -2.0; weights must be finite"),
        ([1.0, np.nan], "weight in row 1 of column 'weight' is missing (NaN); weights must be"),
        ([True, False], "column 'weight' holds boolean values"),
    ],
)
def test_a_default_column_without_weights_can_be_ignored(values, message):
    frame = pandas.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": values})
    hint = "rg.Graph(edges, weight=None) ignores the column"
    for call in (
        lambda: rg.Graph(frame),
        lambda: rg.sssp(frame, 0),
        lambda: rg.pagerank(frame),
        lambda: rg.pagerank(frame, method="frames"),
    ):
        with pytest.raises(GraphError) as caught:
            call()
        assert str(caught.value).startswith(message)
        assert str(caught.value).endswith(f"; {hint}")
        assert (caught.value.column, caught.value.hint) == ("weight", hint)
    assert rg.Graph(frame, weight=None).num_edges == 2
    named = frame.rename(columns={"weight": "km"})
    with pytest.raises(GraphError) as caught:
        rg.Graph(named, weight="km")
    assert "weight=None" not in str(caught.value)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_whose_default_column_is_text(tmp_path, ending):
    path = tmp_path / f"edges{ending}"
    frame = pandas.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": ["a", "b"]})
    io.write_frame(frame, path)
    with pytest.raises(GraphError, match="'a'.*; weight=None ignores the column"):
        rg.read_edges(path, device="cpu")
    assert len(rg.read_edges(path, weight=None, device="cpu")) == 2


@pytest.mark.parametrize("kind", ["pandas", "polars", pytest.param("cudf", marks=gpu)])
def test_algorithms_without_weights_do_not_read_them(kind):
    columns = {"source": [0, 1], "destination": [1, 2], "weight": [-1.0, 1.0]}
    frame = FrameMaker(kind)(columns)
    for method in ("auto", "frames"):
        assert to_pandas(rg.bfs(frame, 0, method=method))["distance"].tolist() == [0, 1, 2]
        components = rg.connected_components(frame, method=method)
        assert to_pandas(components)["component"].tolist() == [0, 0, 0]
        assert len(to_pandas(rg.structural_similarity(frame, method=method))) == 2
        assert len(to_pandas(rg.scan(frame, method=method))) == 3


def test_estimates_count_the_weights(tmp_path):
    ring = np.arange(2**16)
    columns = {"source": ring, "destination": np.roll(ring, 1), "weight": np.ones(ring.size)}
    frame, path = pandas.DataFrame(columns), tmp_path / "edges.parquet"
    io.write_frame(frame, path)
    for edges in (frame, path):
        for algorithm in ("sssp", "pagerank"):
            with_weights = rg.estimate_memory(edges, algorithm).needed
            assert with_weights == rg.estimate_memory(edges, algorithm, weight="weight").needed
            assert with_weights > rg.estimate_memory(edges, algorithm, weight=None).needed
    bfs = rg.estimate_memory(frame, "bfs").needed  # which does not read them
    assert bfs == rg.estimate_memory(frame, "bfs", weight=None).needed
    assert rg.estimate_memory(path, "bfs").needed > bfs


# Warnings


def caught_warnings(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [warning for warning in caught if issubclass(warning.category, rg.WeightWarning)]


@pytest.mark.parametrize(
    "kind",
    ["pandas", "polars", "arrow", "arrays", "dask-3", pytest.param("cudf", marks=gpu)],
)
def test_columns_that_may_be_weights_are_named(kind):
    ends = {"source": [0, 1], "destination": [1, 2]}
    frame = FrameMaker(kind)({**ends, "year": [1999, 2001], "length": [0.5, 2.0]})
    for call, options, merged in (
        (
            lambda: rg.sssp(frame, 0),
            ", multi_edges='min'",
            " and takes the smallest weight of parallel edges",
        ),
        (
            lambda: rg.pagerank(frame),
            ", multi_edges='sum'",
            " and sums the weights of parallel edges",
        ),
        (lambda: rg.sssp(rg.Graph(frame), 0), "", ""),
    ):
        [warning] = caught_warnings(call)
        message = str(warning.message)
        assert "columns of numbers: 'length', 'year'; " in message
        call = f"rg.Graph(edges, weight='length'{options}) uses one of them{merged}, "
        assert f"{call}rg.Graph(edges, weight=None) none" in message
        assert warning.filename == __file__
    for call in (
        lambda: rg.sssp(rg.Graph(frame, weight=None), 0),
        lambda: rg.sssp(rg.Graph(frame, weight="length"), 0),
        lambda: rg.bfs(frame, 0),
        lambda: rg.bfs(rg.Graph(frame), 0),
        lambda: rg.sssp(FrameMaker(kind)(ends), 0),
        lambda: rg.sssp(FrameMaker(kind)({**ends, "weight": [1, 1], "year": [1, 2]}), 0),
    ):
        assert not caught_warnings(call)


def test_columns_of_other_types_are_no_weights():
    frame = pandas.DataFrame({"source": [0], "destination": [1], "kind": ["a"], "is_new": [True]})
    assert not caught_warnings(lambda: rg.sssp(frame, 0))
    frame["cost"] = pandas.array([None], dtype="Int64")
    assert len(caught_warnings(lambda: rg.shortest_path(frame, 0, 1))) == 1
    assert not caught_warnings(lambda: rg.shortest_path(frame, 0, 1, weighted=False))


@pytest.mark.parametrize("kind", ["arrays", pytest.param("cupy", marks=gpu)])
def test_merged_rows_of_other_weights_are_counted(kind, monkeypatch):
    edges = [(0, 1, 5), (2, 3, 1), (0, 1, 5), (0, 1, 7), (1, 0, 8), (0, 1, 7), (2, 3, 2), (3, 2, 1)]
    frame = FrameMaker(kind)(columns_of(edges))
    for size in (8, 16, 2**22):  # blocks of one arc, of two, and one block
        monkeypatch.setattr(multi_edges, "BLOCK_ARCS", size)
        for options, count in (({}, 3), ({"directed": False}, 4), ({"self_loops": "drop"}, 3)):
            [warning] = caught_warnings(lambda options=options: rg.Graph(frame, **options))
            assert str(warning.message).startswith(f"{count} rows were merged into parallel edges")
            assert warning.filename == __file__
    assert len(caught_warnings(lambda: rg.LayeredEdgeList.build(frame, 0))) == 1
    for options in ({"multi_edges": "first"}, {"multi_edges": "min"}, {"weight": None}):
        assert not caught_warnings(lambda options=options: rg.Graph(frame, **options))
    equal = FrameMaker(kind)(columns_of([(0, 1, 5), (0, 1, 5), (1, 0, 4)]))
    assert not caught_warnings(lambda: rg.Graph(equal))
    assert not caught_warnings(lambda: rg.sssp(frame, 0))


@pytest.mark.parametrize("name", ["e.csv", "e.txt.csv", "e.jsonl", "e.parquet", "e.arrow"])
def test_reading_a_file_warns_about_columns_that_may_be_weights(name, tmp_path):
    path = tmp_path / name
    frame = pandas.DataFrame(
        {
            "source": [0, 1],
            "destination": [1, 2],
            "year": [1, 2],
            "km": [0.5, 2],
            "kind": ["a", "b"],
        }
    )
    if name.endswith(".csv"):
        frame.to_csv(path, index=False)
    elif name.endswith(".jsonl"):
        frame.to_json(path, orient="records", lines=True)
    else:
        io.write_frame(frame, path)
    stored = tmp_path / "store"
    for call in (
        lambda: rg.read_edges(path, device="cpu"),
        lambda: rg.LayeredEdgeList.build(path, 0, store=stored, device="cpu"),
        lambda: rg.LayeredEdgeList.cached(path, 0, device="cpu"),
        lambda: rg.LayeredEdgeList.cached(path, 0, device="cpu"),
    ):
        [warning] = caught_warnings(call)
        message = str(warning.message)
        assert message.startswith(f"{path}: no weights are read")
        assert "columns of numbers: 'km', 'year'; weight='km' reads one of them" in message
        assert warning.filename == __file__
    for call in (
        lambda: rg.read_edges(path, weight=None, device="cpu"),
        lambda: rg.read_edges(path, weight="km", device="cpu"),
        lambda: rg.LayeredEdgeList.cached(path, 0, weight=None, device="cpu"),
    ):
        assert not caught_warnings(call)


def test_reading_text_without_a_header_does_not_warn(put):
    for content in ("0 1\n1 2\n", "# a comment\n0 1 0.5\n1 2 2\n"):
        path = put("edges.txt", content)
        assert not caught_warnings(lambda path=path: rg.read_edges(path, device="cpu"))


def test_relations_of_duckdb_have_candidates():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select 0 as source, 1 as destination, 1.5 as km, 2::double as x, 'a' k")
    for call in (lambda: rg.sssp(relation, 0), lambda: rg.pagerank(rg.Graph(relation))):
        [warning] = caught_warnings(call)
        assert "columns of numbers: 'km', 'x'; " in str(warning.message)


def test_attributes_of_other_graphs_are_candidates():
    networkx, igraph = pytest.importorskip("networkx"), pytest.importorskip("igraph")
    g = networkx.path_graph(3)
    networkx.set_edge_attributes(g, {(0, 1): {"length": 2.5, "kind": "a", "is_new": True}})
    other = igraph.Graph([(0, 1), (1, 2)], edge_attrs={"length": [1, 2.5], "kind": ["a", "b"]})
    for build, value in ((rg.from_networkx, g), (rg.from_igraph, other)):
        name = build.__name__
        graph = build(value)
        for derived in (graph, graph.subgraph([0, 1])):
            [warning] = caught_warnings(lambda derived=derived: rg.sssp(derived, 0))
            message = str(warning.message)
            assert "no attribute 'weight'; attributes of numbers: 'length'; " in message
            assert f"rg.{name}(g, weight='length') uses one of them" in message
        for weight in (None, "length"):
            graph = build(value, weight)
            assert not caught_warnings(lambda graph=graph: rg.sssp(graph, 0))


@pytest.mark.parametrize("kind", ["pandas", "dask-3"])
def test_derived_graphs_keep_their_candidates(kind):
    graph = rg.Graph(FrameMaker(kind)({"source": [0, 1], "destination": [1, 2], "km": [3, 4]}))
    derived = [graph.subgraph([0, 1]), graph.reverse(), graph.to_undirected()]
    if kind != "pandas":
        derived.append(graph.compute())
    for other in derived:
        [warning] = caught_warnings(lambda other=other: rg.pagerank(other))
        assert "columns of numbers: 'km'; " in str(warning.message)
