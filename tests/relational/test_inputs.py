"""Inputs and errors of ``method="frames"``: the same as of the kernels, from every library."""

import numpy as np
import pandas
import pytest
from conftest import FrameMaker, columns_of, random_edges, to_pandas
from test_traversal_inputs import NAMES, named

import rapidsgraph as rg
from rapidsgraph.relational import dask_table

pytestmark = pytest.mark.usefixtures("one_thread_of_dask")


def assert_same(call):
    """``call(method)`` returns the same frame, or raises the same error, for both methods."""
    expected, result = outcome_of(call, "auto"), outcome_of(call, "frames")
    if isinstance(expected, rg.GraphError):
        assert repr(result) == repr(expected)
        for field in ("parameter", "column", "row", "value", "path", "hint", "partition"):
            assert repr(getattr(result, field)) == repr(getattr(expected, field))
        return
    assert type(result) is type(expected)
    assert schema_of(result) == schema_of(expected)
    pandas.testing.assert_frame_equal(to_pandas(result), to_pandas(expected), rtol=1e-12)
    if hasattr(result, "dask"):
        assert result.known_divisions == expected.known_divisions


def outcome_of(call, method):
    try:
        return call(method)
    except rg.GraphError as error:
        return error


def schema_of(result):
    """The types of the columns of any result."""
    if isinstance(result, dict):
        return {name: values.dtype for name, values in result.items()}
    if hasattr(result, "dtypes"):  # pandas, Dask, Polars and DuckDB
        return [*map(str, result.dtypes)]
    return result.schema


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_every_type(kind):
    columns, _, names = named(kind)
    frame = FrameMaker("pandas")(columns)
    assert_same(lambda method: rg.bfs(frame, [names[20], names[3]], method=method))
    assert_same(lambda method: rg.sssp(frame, names[20], method=method))
    assert_same(lambda method: rg.connected_components(frame, method=method))
    options = {"personalization": {names[20]: 2.0, names[3]: 1}, "tolerance": 0}
    assert_same(lambda method: rg.pagerank(frame, method=method, max_iterations=5, **options))


@pytest.mark.parametrize("kind", ["from 0", "text"])
def test_frames_of_every_library(make_frame, kind):
    columns, _, names = named(kind)
    frame = make_frame(columns)
    assert_same(lambda method: rg.bfs(frame, names[20], depth_limit=2, method=method))
    assert_same(lambda method: rg.connected_components(frame, method=method))
    assert_same(lambda method: rg.triangle_count(frame, method=method))
    assert_same(lambda method: rg.clustering_coefficient(frame, method=method))


@pytest.mark.parametrize(
    "dtype", ["object", "str", "string", "category", "string[pyarrow]", "large_string[pyarrow]"]
)
def test_text_of_every_pandas_type(dtype):
    edges = {"source": ["b", "a", "c\0"], "destination": ["a", "é", "c"]}
    frame = pandas.DataFrame(edges).astype(dtype)
    assert_same(lambda method: rg.bfs(frame, ["a", "c\0"], method=method))
    frame = frame.astype({"source": object})
    assert_same(lambda method: rg.sssp(frame, "b", method=method))


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "own"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_names_of_several_columns(shared, directed):
    columns = columns_of(random_edges(71, 40, 120))
    columns["net"] = np.array(["b", "a"])[columns["source"] % 2]
    columns["other"] = columns["net"] if shared else columns["net"][::-1]
    names = ["net", "source"], ["net" if shared else "other", "destination"]
    frame = FrameMaker("pandas")(columns)
    graph = rg.Graph(frame, *names, "weight", directed=directed, multi_edges="keep")
    first, second = graph.vertices.iloc[[3, 20]].itertuples(index=False, name=None)
    for source in (first, [first, second], graph.vertices.iloc[::7], ("c", 1), 3, [("a",)]):
        assert_same(lambda method, source=source: rg.bfs(graph, source, method=method))
        assert_same(lambda method, source=source: rg.sssp(graph, source, cutoff=2, method=method))
    assert_same(lambda method: rg.connected_components(graph, method=method))
    weights = graph.vertices[:5].assign(weight=[1, 0, 2, 3, 0.5])
    options = {"personalization": weights, "dangling": weights[2:], "start": weights}
    assert_same(
        lambda method: rg.pagerank(graph, tolerance=0, max_iterations=3, method=method, **options)
    )


EDGES = {"source": [3, 4, 5, 3], "destination": [4, 5, 6, 7], "weight": [1.0, 2.0, 0.5, 1.0]}
SOURCES = [
    *(3, 8, -1, 2**40, 2**70, [3, 4, 3], (3, 8), {5, 6}, range(3, 9), range(10**9), [], None, True),
    *("3", [3, "4"], 3.0, [3.5], float("nan"), [None], np.array([4, 3], np.uint8), b"3"),
    *(np.array([[3]]), pandas.Series([4, 3]), {"vertex": [3]}, {"name": [3]}, [-1, 2**63]),
    *(pandas.DataFrame({"vertex": [3, 9]}), pandas.DataFrame({"vertex": ["3"]}), (3, 4.5)),
]


@pytest.mark.parametrize("source", SOURCES, ids=repr)
def test_sources_and_their_errors(source):
    frame = FrameMaker("pandas")(EDGES)
    assert_same(lambda method: rg.bfs(frame, source, method=method))
    text = frame.astype({"source": str, "destination": str})
    assert_same(lambda method: rg.bfs(text, source, method=method))


VALUES = [
    *({3: 1.0, 6: 3}, {}, {3: 1, 9: 2}, {3: -1}, {3: float("nan")}, {3: 0}, {3: "x"}, {"3": 1}),
    *(5, [1, 2], {3: 1e308, 4: 1e308}, pandas.DataFrame({"vertex": [3, 3], "value": [1, 2]})),
    *(pandas.DataFrame({"vertex": [4]}), pandas.DataFrame({"vertex": [4], "value": ["x"]})),
    pandas.DataFrame({"value": [1.0, 2.0], "vertex": [6, 4]}),
]


@pytest.mark.parametrize("parameter", ["personalization", "dangling", "start"])
@pytest.mark.parametrize("values", VALUES, ids=repr)
def test_values_of_vertices_and_their_errors(parameter, values):
    frame = FrameMaker("pandas")(EDGES)
    options = {parameter: values, "tolerance": 0, "max_iterations": 3}
    assert_same(lambda method: rg.pagerank(frame, method=method, **options))


OPTIONS = {
    "bfs": [{"depth_limit": -1}, {"depth_limit": 1.5}, {"depth_limit": 0}, {"memory_limit": 100},
            {"predecessors": 1}, {"predecessors": False}, {"depth_limit": 10**20}],
    "sssp": [{"cutoff": -1}, {"cutoff": "far"}, {"cutoff": 0}, {"cutoff": 1}, {"memory_limit": 9},
             {"cutoff": 10**400}, {"predecessors": False}],
    "pagerank": [{"damping": 2}, {"tolerance": -1}, {"max_iterations": 0}, {"precision": "half"},
                 {"dangling": "self"}, {"memory_limit": "1 GB"}, {"max_iterations": 1},
                 {"damping": 0}, {"dangling": "drop"}, {"dangling": "uniform"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name, row in OPTIONS.items() for options in row],
    ids=str,
)
def test_options_and_their_errors(name, options):
    frame = FrameMaker("pandas")(EDGES)
    arguments = () if name == "pagerank" else (3,)
    assert_same(lambda method: getattr(rg, name)(frame, *arguments, method=method, **options))


BROKEN = {
    "no column": {"from": [1], "to": [2]},
    "negative weight": EDGES | {"weight": [1.0, -2.0, 0, 1]},
    "missing weight": EDGES | {"weight": [1.0, 2.0, float("nan"), 1]},
    "text weight": EDGES | {"weight": ["1", "2", "x", "4"]},
    "missing name": EDGES | {"source": [1, float("nan"), 2, 3]},
    "fraction": EDGES | {"source": [1, 2.5, 2, 3]},
    "text and numbers": EDGES | {"source": ["a", "b", "c", "d"]},
    "infinite distance": {"source": [3, 4], "destination": [4, 5], "weight": [1.7e308, 1e308]},
    "no rows": {"source": [], "destination": []},
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("partitions", [0, 2], ids=["pandas", "dask"])
def test_frames_and_their_errors(name, partitions):
    frame = pandas.DataFrame(BROKEN[name])
    if partitions:
        dataframe = pytest.importorskip("dask.dataframe")
        frame = dataframe.from_pandas(frame, npartitions=partitions, sort=False)
    assert_same(lambda method: rg.sssp(frame, 3, method=method))
    assert_same(lambda method: rg.connected_components(frame, method=method))
    assert_same(lambda method: rg.pagerank(frame, method=method))


@pytest.mark.parametrize("name", ["negative weight", "missing name", "fraction"])
@pytest.mark.parametrize("method", ["auto", "frames"])
def test_errors_of_dask_frames_are_those_of_pandas(name, method):
    """The float type of a column with a missing integer is not the error, in any partition."""
    dataframe = pytest.importorskip("dask.dataframe")
    rows = pandas.DataFrame(BROKEN[name])
    rows = pandas.concat([rows[2:], rows[:2]], ignore_index=True)  # the wrong value comes last
    spread = dataframe.from_pandas(rows, npartitions=2, sort=False)
    error, expected = (
        outcome_of(lambda method, frame=frame: rg.sssp(frame, 3, method=method), method)
        for frame in (spread, rows)
    )
    assert type(error) is type(expected)
    assert (expected.row, error.row, error.partition) == (3, 1, 1)
    assert str(error) == str(expected).replace("row 3", "row 1 of partition 1")
    if name == "missing name":
        fixed = spread.dropna().astype({"source": "int64"})  # the hint
        assert len(rg.connected_components(fixed, method=method)) == 6


@pytest.mark.parametrize("column", ["component", "pagerank", "distance", "predecessor"])
def test_name_columns_may_not_be_called_like_results(column):
    frame = pandas.DataFrame({column: ["x", "y"], "source": [1, 1], "destination": [2, 3]})
    graph = rg.Graph(frame, [column, "source"], [column, "destination"])
    assert_same(lambda method: rg.bfs(graph, ("x", 1), method=method))
    assert_same(lambda method: rg.connected_components(graph, method=method))
    assert_same(lambda method: rg.pagerank(graph, method=method))


def test_weights_whose_sum_is_infinite():
    frame = pandas.DataFrame(columns_of([(2, 1, 1.7e308), (2, 3, 1.7e308), (1, 2, 1.0)]))
    graph = rg.Graph(frame, weight="weight")
    assert_same(lambda method: rg.pagerank(graph, method=method))


def test_columns_of_text_and_of_numbers_are_named():
    frame = pandas.DataFrame({"from": ["a"], "to": [1]})
    message = "text in one column and numbers in another: 'from' has text, 'to' numbers; convert"
    with pytest.raises(rg.GraphError, match=message) as error:
        rg.Graph(frame, "from", "to")
    assert error.value.column == "from"


@pytest.mark.parametrize("names", [[0, 1, 2, 3], [1, 2, 5, 9]])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "uint64", "object", "string"])
def test_names_keep_their_type(names, dtype):
    frame = pandas.DataFrame({"source": names[:3], "destination": names[1:]})
    if dtype in ("object", "string"):
        frame = frame.astype(str)
    frame = frame.astype(dtype)
    start = frame["source"][0]
    assert_same(lambda method: rg.bfs(frame, start, method=method))
    assert_same(lambda method: rg.sssp(frame.assign(weight=2.0), start, method=method))
    assert_same(lambda method: rg.pagerank(frame, method=method))


def test_hint_for_a_missing_column_keeps_the_cheapest_row():
    frame = pandas.DataFrame({"src": [0, 0], "destination": [1, 1], "weight": [9.0, 1.0]})
    assert_same(lambda method: rg.sssp(frame, 0, method=method))


def test_a_path_beyond_the_cutoff_and_double_precision_has_no_predecessor():
    frame = pandas.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": 1e308})
    assert_same(lambda method: rg.sssp(frame, 0, cutoff=1.5e308, method=method))


def test_precision_of_an_empty_graph():
    frame = pandas.DataFrame({"source": [], "destination": []}, dtype="int64")
    assert_same(lambda method: rg.pagerank(frame, precision="single", method=method))


def test_weights_are_checked_before_arguments():
    frame = pandas.DataFrame({"source": [0, 0], "destination": [1, 2], "weight": 1e308})
    graph = rg.Graph(frame, weight="weight")
    assert_same(lambda method: rg.pagerank(graph, personalization={5: 1.0}, method=method))


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [2, 5])
def test_shuffles_of_many_partitions(monkeypatch, partitions):
    """Dask's own shuffle, by one key after another, with partitions that have no row."""
    dataframe = pytest.importorskip("dask.dataframe")
    monkeypatch.setattr(dask_table, "MAX_TASK_SHUFFLE", 1)
    edges = pandas.DataFrame(columns_of(random_edges(6, 30, 60)))[["source", "destination"]]
    frame = dataframe.from_pandas(edges, npartitions=partitions)
    for call in (rg.structural_similarity, rg.scan):
        result = call(frame, method="frames").compute().reset_index(drop=True)
        pandas.testing.assert_frame_equal(result, call(edges), check_dtype=False, rtol=1e-12)
