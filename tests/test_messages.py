"""Messages about typical mistakes name what is wrong, where it is, and what works."""

import datetime
import decimal
import uuid
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import rapidsgraph as rg

INTEGERS = {"source": [1, 2, 3], "destination": [2, 3, 1]}
TEXT = {"source": ["a", "b", "c"], "destination": ["b", "c", "a"]}
A_UUID = uuid.UUID(int=7)


def frame(**columns):
    return pandas.DataFrame({**INTEGERS, **columns})


def names(values):
    """A frame whose sources are some values; its other column has the same ones."""
    return pandas.DataFrame({"source": values, "destination": values})


@pytest.mark.parametrize(
    ("edges", "arguments", "message"),
    [
        (
            {"from_url": ["a"], "to_url": ["b"]},
            ("url", "to_url"),
            "there is no column 'url'; the columns are from_url, to_url; did you mean 'from_url'? "
            "Pass source='from_url'",
        ),
        (
            {"link": ["a"], "urls": ["b"]},
            ("url", "urls"),
            "there is no column 'url'; the columns are link, urls",
        ),
        (
            {"from_url": ["a"], "to_url": ["b"]},
            (["url"], ["to_url"]),
            "there is no column 'url'; the columns are from_url, to_url; did you mean 'from_url'? "
            "Pass source='from_url'",
        ),
        (
            {"a": [1], "b": [2]},
            ("a", "a"),
            "source and destination are the same column, 'a'; name two different ones",
        ),
        (
            {"a": [1], "b": [2]},
            ("a", "b", "b"),
            "weight is 'b', a column that names vertices; name another one, or pass weight=None",
        ),
        ({}, ("a", "b"), "there is no column 'a'; there are no columns"),
        (
            INTEGERS,
            (pandas.Series([1]), "destination"),
            "source is of type Series, and no name of a column; the columns are source, "
            "destination; did you mean 'source'? Pass source='source'",
        ),
        (
            INTEGERS,
            ("source", "destination", True),
            "weight is True, and no name of a column; the columns are source, destination",
        ),
    ],
)  # fmt: skip
def test_columns_of_a_graph(edges, arguments, message):
    with pytest.raises(rg.GraphError) as caught:
        rg.Graph(pandas.DataFrame(edges), *arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_of_a_file(tmp_path, ending):
    path, edges = tmp_path / f"edges.{ending}", pandas.DataFrame({"from_url": ["a"], "to": ["b"]})
    edges.to_csv(path, index=False) if ending == "csv" else edges.to_parquet(path)
    with pytest.raises(rg.GraphError, match=r"did you mean 'from_url'\?"):
        rg.read_edges(path, source="url", destination="to")
    with pytest.raises(rg.GraphError) as caught:
        rg.read_edges(path, source="from_url", destination="from_urls")
    assert "from_url" not in caught.value.candidates.values()


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (
            frame().set_index("source"),
            "there is no column 'source'; the columns are destination; the index is source: "
            "edges.reset_index() makes columns of it",
        ),
        (
            frame(w=[1, 2, 3]).rename(columns={"source": "src", "destination": "dst"}).groupby(
                ["src", "dst"]
            ).sum(),
            "there is no column 'source'; the columns are w; the index is src, dst: "
            "edges.reset_index() makes columns of it",
        ),
        (
            frame(w=[1, 2, 3]).set_index(["source", "destination"]),
            "there is no column 'source'; the columns are w; the index is source, destination: "
            "edges.reset_index() makes columns of it",
        ),
        (
            {1: [2, 3], 2: [3]},
            "there is no column 'source'; the columns are 1, 2; a dict maps names of columns to "
            'arrays: rg.Graph({"source": sources, "destination": destinations})',
        ),
        (
            pandas.Series([1, 2]),
            "pandas.Series is not an edge frame; convert it: "
            'rg.Graph({"source": sources, "destination": destinations})',
        ),
        (
            [1, 2],
            'list is not an edge frame; convert it: rg.Graph({"source": sources, "destination": '
            "destinations})",
        ),
        (
            np.array([(1, 2)], dtype=[("source", int), ("destination", int)]),
            "numpy.ndarray is not an edge frame; convert it: pandas.DataFrame(edges)",
        ),
        (
            None,
            "None is not an edge frame; give a pandas, cuDF or Polars frame, an Arrow table, or a "
            "mapping of column names to arrays",
        ),
        (
            pandas.DataFrame([[1, 2, 3]], columns=["source", "source", "destination"]),
            "2 columns are called 'source'; rename all but one",
        ),
    ],
)  # fmt: skip
def test_values_that_are_no_edge_frame(edges, message):
    with pytest.raises(rg.GraphError) as caught:
        rg.pagerank(edges)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        (
            [A_UUID], f"column 'source' holds UUID values (object), such as {A_UUID!r} in row 0",
            "use .astype('str')",
        ),
        ([True], "column 'source' holds boolean values (bool), such as True in row 0",
         "use .astype('int64')"),
        ([b"a"], "column 'source' holds bytes values (object), such as b'a' in row 0",
         "use .str.decode('utf-8')"),
        (["a", 1], "column 'source' holds int and str values (object), such as 1 in row 1",
         "use .astype('str')"),
        ([(1, 2)], "column 'source' holds tuple values (object), such as (1, 2) in row 0",
         "make columns of it, and pass a list of their names"),
        ([datetime.date(2020, 1, 1)],
         "column 'source' holds date values (object), such as datetime.date(2020, 1, 1) in row 0",
         "use .astype('str')"),
        ([1, np.nan], "a vertex name is missing (NaN) in row 1, column 'source'",
         "drop such rows, then use .astype('int64')"),
        ([1.0, 2.0], "vertex names must be integers or text; column 'source' has type float64, "
         "such as 1.0 in row 0", "use .astype('int64') or .astype('str')"),
        ([1.5], "vertex names must be integers or text; column 'source' has type float64, such as "
         "1.5 in row 0", "use .astype('str')"),
    ],
)  # fmt: skip
def test_names_of_other_types_and_their_remedies(values, message, hint):
    edges = names(values)
    with pytest.raises(rg.GraphError) as caught:
        rg.Graph(edges)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(f"; {hint}")
    assert caught.value.hint == hint
    if hint.count(".") == 1 and " " not in hint.removeprefix("use "):  # one expression
        call = hint.removeprefix("use ")
        columns = {name: eval(f"values{call}", {"values": edges[name]}) for name in edges}
        assert rg.Graph(pandas.DataFrame(columns)).num_vertices == len(values)


LIBRARIES = {
    "polars": (polars.DataFrame, {"polars": polars}),
    "arrow": (pyarrow.table, {}),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("values", "row"), [([1.0, 2.0], 0), ([True], 0), ([datetime.date(2020, 1, 1)], 0)]
)
def test_hints_are_in_the_language_of_the_frame(library, values, row):
    make, variables = LIBRARIES[library]
    edges = make({"source": values, "destination": values})
    with pytest.raises(rg.GraphError) as caught:
        rg.Graph(edges)
    call = caught.value.hint.removeprefix("use ").split(" or ")[0]
    assert call.startswith(".cast(")
    columns = {name: eval(f"e[name]{call}", {"e": edges, "name": name, **variables})
               for name in ("source", "destination")}  # fmt: skip
    assert rg.Graph(make(columns)).num_vertices == len(values)


def test_hints_about_weights_are_in_the_language_of_the_frame():
    weights = polars.Series([decimal.Decimal(1)] * 3)
    with pytest.raises(rg.GraphError, match="holds decimal values") as caught:
        rg.sssp(polars.DataFrame({**INTEGERS, "weight": weights}), 1)
    assert str(caught.value).endswith(
        "; it must hold numbers; use .cast(polars.Float64); rg.Graph(edges, weight=None) ignores "
        "the column"
    )
    for make, cast in ((polars.DataFrame, ".cast(polars.Float64)"),
                       (pyarrow.table, ".cast('float64')")):  # fmt: skip
        with pytest.raises(rg.GraphError) as caught:
            rg.Graph(make({**INTEGERS, "km": ["1", "2", "3"]}), weight="km")
        assert str(caught.value) == f"weights in column 'km' must be numbers, not text; use {cast}"


@pytest.mark.parametrize("method", ["auto", "frames"])
@pytest.mark.parametrize(
    ("edges", "source", "message"),
    [
        (INTEGERS, "1",
         "source: '1' is text, but the vertex names of this graph are integers; pass 1"),
        (INTEGERS, ["2", "3"], "source: '2' in row 0 is text, but the vertex names of this graph "
         "are integers; pass integers, such as 2"),
        (INTEGERS, ["2", "x"], "source: 'x' in row 1 is text, but the vertex names of this graph "
         "are integers"),
        (INTEGERS, ["2", "+3"], "source: '+3' in row 1 is text, but the vertex names of this graph "
         "are integers; pass integers, such as 3"),
        (INTEGERS, ["2", str(2**64)], f"source: '{2**64}' in row 1 is text, but the vertex names "
         "of this graph are integers"),
        (INTEGERS, "x", "source: 'x' is text, but the vertex names of this graph are integers"),
        (INTEGERS, 1.0, "source: 1.0 is of type float64, but the vertex names of this graph are "
         "integers; pass 1"),
        (TEXT, 1,
         "source: 1 is a number, but the vertex names of this graph are text; pass '1'"),
        (TEXT, [1, 2], "source: 1 is a number, but the vertex names of this graph are text; pass "
         "text, such as '1'"),
        (INTEGERS, 7, "source: vertex 7 is not in the graph"),
        (INTEGERS, [1, 7, 7], "source: vertex 7 is not in the graph"),
        (INTEGERS, [1, 7, 8], "source: 2 of 3 vertices are not in the graph: 7, 8"),
        (TEXT, ["x", "a", "y", "z"],
         "source: 3 of 4 vertices are not in the graph: 'x', 'y', 'z'"),
        (INTEGERS, range(1000), None),  # only as many as show that some are absent
        (INTEGERS, [*range(1000)],
         "source: 997 of 1,000 vertices are not in the graph: 0, 4, 5, ..."),
        (INTEGERS, pandas.DataFrame({"source": [1]}),
         "source: there is no column 'vertex'; the columns are source; did you mean 'source'? "
         "Rename 'source' to 'vertex'"),
    ],
)  # fmt: skip
def test_sources(edges, source, message, method):
    with pytest.raises(rg.GraphError) as caught:
        rg.bfs(pandas.DataFrame(edges), source, method=method)
    if message is not None:
        assert str(caught.value) == message


def test_the_first_absent_vertex_is_a_field():
    with pytest.raises(rg.VertexNotFoundError) as caught:
        rg.bfs(frame(), [1, 8, 7])
    assert (caught.value.value, caught.value.row, caught.value.parameter) == (8, 1, "source")


@pytest.mark.parametrize("method", ["auto", "frames"])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (3, "personalization is of type int; give a pandas or cuDF Series indexed by vertex"),
        ([1, 2], "personalization is of type list; give a pandas or cuDF Series"),
        (pandas.Series([1.0], index=[True]),
         "the index of personalization must hold vertices; it holds boolean values (bool)"),
        (pandas.DataFrame(),
         "personalization needs the columns vertex and one of values; it has no columns"),
        ({}, "personalization is empty; name at least one vertex, or leave it out"),
        (pandas.Series([], dtype=float), "personalization is empty; name at least one vertex"),
        (pandas.DataFrame({"vertex": [], "value": []}), "personalization is empty; name at least"),
        ({1: 0}, "personalization: the values sum to 0.0; at least one must be above 0"),
        ({7: 1, 8: 1}, "personalization: 2 of 2 vertices are not in the graph: 7, 8"),
    ],
)  # fmt: skip
def test_personalization(values, message, method):
    with pytest.raises(rg.GraphError) as caught:
        rg.pagerank(frame(), personalization=values, method=method)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("is_file", [False, True], ids=["frame", "file"])
def test_a_root_that_reaches_nothing(is_file, tmp_path):
    edges = pandas.DataFrame({"source": [1, 2], "destination": [2, 3]})
    options = {}
    if is_file:
        edges.to_csv(tmp_path / "edges.csv", index=False)
        edges, options = tmp_path / "edges.csv", {"store": tmp_path / "layers", "device": "cpu"}
    with pytest.warns(UserWarning, match="the root 3 reaches no other vertex") as warned:
        rg.LayeredEdgeList.build(edges, 3, **options)
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rg.LayeredEdgeList.build(edges, 1, **options)
        rg.LayeredEdgeList.build({"source": [1], "destination": [1]}, 1)  # there is nothing else


def test_weight_warnings_come_once_at_the_line_of_the_call():
    edges = frame(km=[1.0, 2.0, 3.0])
    graph = rg.Graph(edges)
    for call in (lambda: rg.sssp(edges, 1), lambda: rg.pagerank(graph),
                 lambda: rg.shortest_path(graph, 1, 2), lambda: rg.sssp(graph, [1, 2]),
                 lambda: rg.pagerank(edges, method="frames")):  # fmt: skip
        with pytest.warns(rg.WeightWarning) as warned:
            call()
        assert [warning.filename for warning in warned] == [__file__]
        assert warned[0].lineno == call.__code__.co_firstlineno


@pytest.mark.parametrize("vertices", [[], (), pandas.Series([], dtype=object)], ids=str)
def test_the_subgraph_of_no_vertex_is_empty(vertices):
    for columns in (INTEGERS, TEXT):
        graph = rg.Graph(columns, directed=False)
        part = graph.subgraph(vertices)
        assert (part.num_vertices, part.num_edges) == (0, 0)
        assert len(rg.pagerank(part)["vertex"]) == 0
        assert len(graph.neighborhood(vertices, 2)["vertex"]) == 0
    with pytest.raises(rg.GraphError, match="source is empty; name at least one vertex"):
        rg.bfs(graph, vertices)


def make_dask(columns):
    dataframe = pytest.importorskip("dask.dataframe")
    return dataframe.from_pandas(pandas.DataFrame(columns), npartitions=2, sort=False)


def test_the_subgraph_of_no_vertex_on_dask():
    graph = rg.Graph(make_dask(INTEGERS))
    assert graph.subgraph([]).num_vertices == 0
    assert len(graph.neighborhood([], 2)) == 0


@pytest.mark.parametrize("method", ["auto", "frames"])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"source": [1, 2, 3, np.nan]}, "a vertex name is missing (NaN) in row 1 of partition 1, "
         "column 'source'; drop such rows, then use .astype('int64')"),
        ({"source": [1.0, 2.5, 3.0, 4.0]}, "vertex names must be integers or text; column 'source' "
         "has type float64, such as 2.5 in row 1 of partition 0; use .astype('str')"),
        ({"source": [1, 2, 3, 4], "weight": [1, 2, 3, -1]}, "weight in row 1 of partition 1 of "
         "column 'weight' is -1; weights must be finite and not negative; rg.Graph(edges, "
         "weight=None) ignores the column"),
    ],
    ids=["missing", "fraction", "weight"],
)  # fmt: skip
def test_dask_frames_have_the_errors_of_pandas(columns, message, method):
    columns = columns | {"destination": [2, 3, 4, 1]}
    with pytest.raises(rg.GraphError) as local:
        rg.sssp(pandas.DataFrame(columns), 1, method=method)
    frame = make_dask(columns)
    with pytest.raises(rg.GraphError) as distributed:
        rg.sssp(frame, 1, method=method)
    assert type(distributed.value) is type(local.value)
    assert str(distributed.value) == message
    assert str(local.value) != message  # without the partition
    assert distributed.value.hint == local.value.hint
    if distributed.value.hint.startswith("drop"):  # the hint works
        whole = frame.dropna(subset=["source"]).astype({"source": "int64"})
        assert len(rg.sssp(whole, 1, method=method)) == 4


def test_columns_of_a_dask_graph():
    with pytest.raises(rg.GraphError, match="are the same column, 'source'"):
        rg.Graph(make_dask(INTEGERS), "source", "source")


ARC = pandas.DataFrame({"source": [0], "destination": [1], "weight": [1.5e308]})


@pytest.mark.parametrize(
    ("call", "parameter", "value"),
    [
        (lambda: rg.Graph(ARC, ["source"], []), "source", ["source"]),
        (lambda: rg.Graph(ARC, "source", "source"), "destination", "source"),
        (lambda: rg.Graph(ARC, weight="source"), "weight", "source"),
        (lambda: rg.pagerank(pandas.concat([ARC, ARC.assign(destination=2)])), "weight", 0),
        (
            lambda: rg.sssp(pandas.concat([ARC, ARC.assign(source=1, destination=2)]), 0),
            "weight",
            2,
        ),
        (
            lambda: rg.pagerank(ARC, personalization=pandas.DataFrame(
                {"vertex": [1, 0, 1], "value": [1.0, 1.0, 1.0]}
            )),
            "personalization",
            1,
        ),
        (lambda: rg.ScanIndex(ARC).sweep([], [2]), "epsilons", []),
    ],
    ids=["numbers", "same", "weight", "sum", "distance", "twice", "empty"],
)  # fmt: skip
def test_errors_have_the_parameter_and_its_value(call, parameter, value):
    with pytest.raises(rg.GraphError) as caught:
        call()
    assert (caught.value.parameter, caught.value.value) == (parameter, value)
