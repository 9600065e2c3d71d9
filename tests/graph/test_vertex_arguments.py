"""Values by vertex: personalization, start and dangling, in every form."""

import naive
import numpy as np
import pandas
import pytest
from conftest import (
    FrameMaker,
    assert_close,
    columns_of,
    in_partitions,
    random_edges,
    ranks_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import rapidsgraph as rg

EXACT = {"tolerance": 1e-14, "max_iterations": 300}


def test_they_come_from_every_library(make_held_frame):
    edges = random_edges(12, weighted=False)
    given = make_held_frame({"vertex": [59, 4], "any name": [1.0, 3.0]})
    options = {"personalization": given, "dangling": given, "start": given}
    ranks = ranks_of(rg.pagerank(make_held_frame(columns_of(edges)), **options, **EXACT))
    options = {key: {59: 1.0, 4: 3.0} for key in options}
    assert_close(ranks, naive.pagerank(naive.merged(edges), range(60), **options), 1e-12)


def test_dicts_go_with_every_library(make_held_frame):
    edges = random_edges(13, weighted=False)
    options = {key: {59: 1, 4: 3} for key in ("personalization", "dangling", "start")}
    ranks = ranks_of(rg.pagerank(make_held_frame(columns_of(edges)), **options, **EXACT))
    assert_close(ranks, naive.pagerank(naive.merged(edges), range(60), **options), 1e-12)


def test_dicts_of_text_go_with_every_library(make_held_frame):
    frame = make_held_frame({"source": ["a", "b"], "destination": ["b", "c"]})
    ranks = ranks_of(rg.pagerank(frame, personalization={"c": 1, "a": 3}, **EXACT))
    edges = [("a", "b", 1), ("b", "c", 1)]
    assert_close(ranks, naive.pagerank(edges, personalization={"c": 1, "a": 3}), 1e-13)


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
        ({"personalization": {"a": 1.0}}, r"(?s)personalization.*'a'|text"),
        ({"personalization": {}}, r"personalization"),
        ({"personalization": pandas.Series([1.0, 2.0])}, r"Series"),
        ({"start": {3: 1}}, r"start: vertex 3 is not in the graph"),
        ({"dangling": {-1: 1}}, r"dangling: vertex -1 is not in the graph"),
        (
            {"start": {"vertex": np.array([0, 1, 0]), "value": np.ones(3)}},
            r"start: the vertex in row 0 is given more than once",
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
    with pytest.raises(rg.GraphError, match="must be a frame: vertices are named by net, vertex"):
        rg.pagerank(graph, start={("b", 1): 1.0})
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
