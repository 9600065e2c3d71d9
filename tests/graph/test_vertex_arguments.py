"""Arguments that name vertices: names of a graph to build, and values by vertex in every form."""

import naive
import numpy as np
import pandas
import pyarrow
import pytest
from conftest import (
    FrameMaker,
    assert_close,
    by_engine,
    columns_of,
    gpu,
    in_partitions,
    listed,
    random_edges,
    ranks_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import rapidsgraph as rg
from rapidsgraph.errors import GraphError
from rapidsgraph.graph.vertex_arguments import check_vertex_range, check_vertices

EXACT = {"tolerance": 1e-14, "max_iterations": 300}


def test_they_come_from_every_library(make_held_frame):
    edges = random_edges(12)
    given = make_held_frame({"vertex": [59, 4], "any name": [1.0, 3.0]})
    options = {"personalization": given, "dangling": given, "start": given}
    ranks = ranks_of(rg.pagerank(make_held_frame(columns_of(edges)), **options, **EXACT))
    options = {key: {59: 1.0, 4: 3.0} for key in options}
    assert_close(ranks, naive.pagerank(naive.merged(edges, "sum"), range(60), **options), 1e-12)


def test_dicts_go_with_every_library(make_held_frame):
    edges = random_edges(13)
    options = {key: {59: 1, 4: 3} for key in ("personalization", "dangling", "start")}
    ranks = ranks_of(rg.pagerank(make_held_frame(columns_of(edges)), **options, **EXACT))
    assert_close(ranks, naive.pagerank(naive.merged(edges, "sum"), range(60), **options), 1e-12)


def test_dicts_of_text_go_with_every_library(make_held_frame):
    frame = make_held_frame({"source": ["a", "b"], "destination": ["b", "c"]})
    ranks = ranks_of(rg.pagerank(frame, personalization={"c": 1, "a": 3}, **EXACT))
    edges = [("a", "b", 1), ("b", "c", 1)]
    assert_close(ranks, naive.pagerank(edges, personalization={"c": 1, "a": 3}), 1e-13)


@by_engine
def test_a_series_indexed_by_vertex(make_arrays, method):
    frame = make_arrays({"source": [0, 1, 2], "destination": [1, 2, 0]})
    for values in ({2: 1, 0: 3}, {1: 0.25}):
        series = pandas.Series(values, name="any").rename_axis("name")
        for name in ("personalization", "dangling", "start"):
            options = {"tolerance": 0, "max_iterations": 3, "method": method}
            found = listed(rg.pagerank(frame, **{name: series}, **options))
            assert found == listed(rg.pagerank(frame, **{name: values}, **options))


@gpu
def test_a_series_on_a_gpu():
    import cudf

    frame = FrameMaker("cudf")({"source": ["a", "b"], "destination": ["b", "c"]})
    series = cudf.Series([1.0, 3.0], index=["c", "a"])
    found = ranks_of(rg.pagerank(frame, personalization=series))
    assert found == ranks_of(rg.pagerank(frame, personalization={"c": 1.0, "a": 3.0}))


def test_a_pandas_frame_goes_with_every_library(make_held_frame):
    values = pandas.DataFrame({"vertex": [2, 0], "x": [1, 1]})
    frame = make_held_frame({"source": [0, 1], "destination": [1, 2]})
    ranks = ranks_of(rg.pagerank(frame, personalization=values, **EXACT))
    expected = naive.pagerank([(0, 1, 1), (1, 2, 1)], personalization={0: 1, 2: 1})
    assert_close(ranks, expected, 1e-13)


def test_every_librarys_frame_goes_with_pandas(make_held_frame):
    values = make_held_frame({"vertex": ["c", "a"], "x": [1, 1]})
    frame = pandas.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    ranks = ranks_of(rg.pagerank(frame, start=values, tolerance=0, max_iterations=2))
    edges = [("a", "b", 1), ("b", "c", 1)]
    assert_close(ranks, naive.pagerank(edges, start={"a": 1, "c": 1}, iterations=2), 1e-15)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64", "uint64"])
def test_integer_types_need_not_be_those_of_the_names(make_arrays, dtype):
    for names in (np.array([0, 1, 2]), np.array([5, 70, 200]), np.array([5, 70, 200], "uint64")):
        frame = make_arrays({"source": names, "destination": np.roll(names, 1)})
        given = make_arrays({"vertex": names[1:2].astype(dtype), "x": [1.0]})
        ranks = ranks_of(rg.pagerank(frame, personalization=given, damping=0.5, **EXACT))
        # Around a cycle of 3 from the middle: 4/7, and half as much at every step.
        assert ranks == pytest.approx(dict(zip(names.tolist(), (2 / 7, 4 / 7, 1 / 7))), abs=1e-13)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"personalization": {9: 1}}, r"personalization: vertex 9 is not in the graph"),
        ({"personalization": {0: -1}}, r"personalization: the value in row 0 is -1.0"),
        ({"personalization": {0: 1, 1: np.nan}}, r"personalization: the value in row 1 is nan"),
        ({"personalization": {0: np.inf}}, r"personalization: the value in row 0 is inf"),
        ({"personalization": {0: 0.0}}, r"personalization: the values sum to 0.0"),
        ({"personalization": {0: "x"}}, r"personalization must be a frame with the column"),
        ({"personalization": {0: "1"}}, r"dict from vertex to number; the value of 0 is '1'"),
        ({"start": {0: 1, 1: True}}, r"dict from vertex to number; the value of 1 is True"),
        ({"personalization": {"a": 1.0}}, r"(?s)personalization.*'a'|text"),
        ({"personalization": {}}, r"personalization"),
        ({"personalization": pandas.Series({0: 1, 9: 2})}, r"personalization: vertex 9 is not in"),
        ({"start": pandas.Series({"a": 1.0})}, r"start: 'a' is text, but the vertex names"),
        ({"start": pandas.Series({0: -1.0})}, r"start: the value in row 0 is -1.0"),
        ({"start": pandas.Series({0: "x"})}, r"start: column 'value' holds text"),
        (
            {"dangling": pandas.Series([1], pandas.MultiIndex.from_tuples([(0, 1)]))},
            r"dangling is a Series whose index has 2 levels, and vertices are named by vertex",
        ),
        (
            {"personalization": 5},
            r"^personalization is of type int; give a pandas or cuDF Series",
        ),
        ({"start": [1, 2]}, r"^start is of type list; give a pandas or cuDF Series indexed by"),
        ({"start": np.ones(3)}, r"^start is of type numpy.ndarray; give a pandas or cuDF Series"),
        (
            {"start": pyarrow.array([1.0])},
            r"^start is of type pyarrow.lib.DoubleArray; ",
        ),
        ({"dangling": "none"}, r"dangling is 'none'.* or a frame, Series or dict"),
        ({"start": {3: 1}}, r"start: vertex 3 is not in the graph"),
        ({"dangling": {-1: 1}}, r"dangling: vertex -1 is not in the graph"),
        (
            {"start": {"vertex": np.array([0, 1, 0]), "value": np.ones(3)}},
            r"start: vertex 0 in row 2 is given more than once",
        ),
        (
            {"start": {"vertex": np.array([0]), "a": np.ones(1), "b": np.ones(1)}},
            r"start needs the columns vertex and one of values; it has vertex, a, b",
        ),
        (
            {"start": {"vertex": np.array([0]), "value": np.array(["one"])}},
            r"start: column 'value' holds text; it must hold numbers",
        ),
    ],
)
def test_unsuitable_values(options, message):
    frame = FrameMaker("arrays")({"source": [0, 1], "destination": [1, 2]})
    with pytest.raises(rg.GraphError, match=message):
        rg.pagerank(frame, **options)


def test_a_table_without_the_column_vertex():
    frame = FrameMaker("pandas")({"source": [0, 1], "destination": [1, 2]})
    for values, message in (
        (
            {"source": [0], "x": [1.0]},
            r"the columns are source, x; did you mean 'source'\? Rename 'source' to 'vertex'$",
        ),
        (
            {"Vertex": [0]},
            r"the columns are Vertex; did you mean 'Vertex'\? Rename 'Vertex' to 'vertex'$",
        ),
        ({"y": [0], "x": [1.0]}, "the columns are y, x$"),
    ):
        message = f"^start: there is no column 'vertex'; {message}"
        with pytest.raises(rg.GraphError, match=message):
            rg.pagerank(frame, start=pandas.DataFrame(values))


def test_a_number_does_not_name_a_vertex_that_is_named_by_text():
    frame = FrameMaker("pandas")({"source": ["1"], "destination": ["2"]})
    with pytest.raises(
        rg.GraphError, match="start: 1 is a number, but the vertex names of this graph are text"
    ):
        rg.pagerank(frame, start={1: 1.0})
    with pytest.raises(rg.GraphError, match="start: vertex '3' is not in the graph"):
        rg.pagerank(frame, start={"1": 1.0, "3": 1.0})


def test_names_of_several_columns_need_a_frame():
    edges = {"net": ["a", "b", "a"], "source": [1, 1, 2], "destination": [2, 2, 1]}
    graph = rg.Graph(FrameMaker("pandas")(edges), ["net", "source"], ["net", "destination"])
    values = pandas.DataFrame({"net": ["b"], "vertex": [1], "x": [1.0]})
    result = rg.pagerank(graph, personalization=values, damping=0.5, **EXACT)
    assert result.columns.tolist() == ["net", "vertex", "pagerank"]
    # Along b's path: 2 has half of the rank of 1, and returns it there, as does the teleport.
    expected = naive.pagerank(
        [("a1", "a2", 1), ("b1", "b2", 1), ("a2", "a1", 1)],
        personalization={"b1": 1},
        damping=0.5,
    )
    assert result["pagerank"].tolist() == pytest.approx(list(expected.values()), abs=1e-13)
    values = values.rename(columns={"vertex": "source"})  # as the edges call it
    again = rg.pagerank(graph, personalization=values, damping=0.5, **EXACT)
    assert again.equals(result)
    levels = pandas.MultiIndex.from_tuples([("b", 1)])
    named = pandas.MultiIndex.from_tuples([(1, "b")], names=["vertex", "net"])
    for values in ({("b", 1): 3.0}, pandas.Series([2.0], levels), pandas.Series([2.0], named)):
        assert rg.pagerank(graph, personalization=values, damping=0.5, **EXACT).equals(result)
    for values in ({"b": 1.0}, {("b", 1): 1.0, ("b",): 2.0}):
        with pytest.raises(rg.GraphError, match="start: a vertex is named by net, vertex; give"):
            rg.pagerank(graph, start=values)
    absent = pandas.DataFrame({"net": ["b", "c"], "vertex": [1, 1], "x": [1.0, 1.0]})
    with pytest.raises(rg.GraphError, match=r"start: vertex \('c', 1\) is not in the graph"):
        rg.pagerank(graph, start=absent)


# Properties


VERTICES = 9
EDGES = [(0, 1, 1), (1, 2, 1), (2, 0, 1), (3, 4, 1), (5, 0, 1), (0, 6, 1), (8, 8, 1)]


def as_frame(kind, names, values, value_type):
    """Return the values by vertex in a container of the kind."""
    if kind == "dict":
        return dict(zip(names, np.asarray(values, value_type).tolist()))
    columns = {"vertex": np.array(names), "x": np.array(values, value_type)}
    if kind == "columns reversed":
        return pandas.DataFrame(columns)[["x", "vertex"]]
    if kind == "nullable":
        return pandas.DataFrame(columns).convert_dtypes()
    if kind == "index":
        return pandas.DataFrame(columns, index=np.arange(len(names))[::-1] + 50)
    if kind == "dask":
        return in_partitions(pandas.DataFrame(columns), 3)
    return FrameMaker(kind)(columns)


@settings(max_examples=25)
@given(
    weights=st.dictionaries(
        st.integers(0, VERTICES - 1), st.integers(1, 120), min_size=1, max_size=VERTICES
    ),
    kind=st.sampled_from(
        ["dict", "pandas", "arrow", "polars", "arrays", "columns reversed", "nullable", "index",
         "dask"]
    ),
    value_type=st.sampled_from(["int8", "uint16", "int64", "float16", "float32", "float64"]),
    option=st.sampled_from(["personalization", "dangling", "start"]),
    scale=st.sampled_from([1, 2]),
    offset=st.sampled_from([0, -4, 10**12]),
    is_text=st.booleans(),
    random=st.randoms(use_true_random=False),
)  # fmt: skip
def test_the_kind_type_order_and_scale_of_values_do_not_matter(
    weights, kind, value_type, option, scale, offset, is_text, random
):
    def name(vertex):
        return f"v{vertex}" if is_text else vertex + offset

    edges = [(name(a), name(b), w) for a, b, w in EDGES]
    columns = {"source": [a for a, _, _ in edges], "destination": [b for _, b, _ in edges]}
    graph = rg.Graph(pandas.DataFrame(columns), vertices=[name(v) for v in range(VERTICES)])
    order = list(weights)
    random.shuffle(order)
    fits = scale if value_type in ("int64", "float32", "float64") else 1
    values = [fits * weights[vertex] for vertex in order]
    options = {"tolerance": 0, "max_iterations": 12}
    table = as_frame(kind, [name(vertex) for vertex in order], values, value_type)
    found = rg.pagerank(graph, **{option: table}, **options)
    given = {option: {name(vertex): float(value) for vertex, value in weights.items()}}
    names = [name(v) for v in range(VERTICES)]
    assert_close(ranks_of(found), naive.pagerank(edges, names, iterations=12, **given), 1e-14)
    assert sum(ranks_of(found).values()) == pytest.approx(1, abs=1e-14)


def test_vertices_by_a_count_or_a_range():
    assert check_vertex_range(3, 1) == range(3)
    assert check_vertex_range(range(2, 5), 1) == range(2, 5)
    assert check_vertex_range(["a"], 1) == ["a"]
    for vertices, num_columns in (
        (range(0, 6, 2), 1),
        (range(-1, 3), 1),
        (range(2**31), 1),
        (3, 2),
    ):
        with pytest.raises(GraphError, match="^vertices="):
            check_vertex_range(vertices, num_columns)


def test_vertices_by_names():
    check = check_vertices
    assert check(None, 1, ["vertex"], np) is None
    assert check(4, 1, ["vertex"], np) == range(4)
    assert [values.tolist() for values in check(range(2, 4), 1, ["vertex"], np)] == [[2, 3]]
    frame = {"other": np.array([1]), "vertex": np.array([7])}
    assert [values.tolist() for values in check(frame, 1, ["vertex"], np)] == [[7]]
    assert [values.tolist() for values in check(frame, 1, ["name"], np)] == [[1]]
    for vertices in ("abc", b"abc", True, 1.5):
        with pytest.raises(GraphError, match="it can be a count, range"):
            check(vertices, 1, ["vertex"], np)
    with pytest.raises(GraphError, match="vertices must have the columns a, b, c"):
        check(frame, 3, ["a", "b", "c"], np)
