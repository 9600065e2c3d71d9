"""Columns of every library, in every form these keep numbers and text in."""

import enum
import functools
import importlib
import pickle
import re
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pytest
from conftest import FrameMaker, ranks_of, to_pandas

import rapidsgraph as rg
from rapidsgraph import device, frames
from rapidsgraph.frames import factorize, from_frame, to_frame

# A path 1 -> 2 -> 3, and what its vertices hold after one iteration.
PATH = {1: 0.05 + 0.85 / 9, 2: 1 / 3 + 0.85 / 9, 3: 1 / 3 + 0.85 / 9}
PATH[2] = PATH[3] = 0.05 + 0.85 / 9 + 0.85 / 3


def path_ranks(frame):
    return ranks_of(rg.pagerank(frame, tolerance=0, max_iterations=1))


def assert_is_path(frame, names=(1, 2, 3)):
    ranks = path_ranks(frame)
    assert list(ranks) == list(names)
    assert list(ranks.values()) == pytest.approx(list(PATH.values()), abs=1e-15)


SOURCE, DESTINATION = [1, 2], [2, 3]
INTEGERS = {
    "int64": "int64",
    "Int64": "Int64",
    "Int8": "Int8",
    "UInt32": "UInt32",
    "UInt64": "UInt64",
    "Arrow int32": pandas.ArrowDtype(pyarrow.int32()),
    "Arrow uint64": pandas.ArrowDtype(pyarrow.uint64()),
    "category": "category",
    "object": "object",
    "sparse": pandas.SparseDtype("int64", 0),
}
TEXT = {
    "str": "str",
    "object": "object",
    "string": "string",
    "string[python]": "string[python]",
    "Arrow string": pandas.ArrowDtype(pyarrow.string()),
    "Arrow large_string": pandas.ArrowDtype(pyarrow.large_string()),
    "category": "category",
}


@pytest.mark.parametrize("dtype", INTEGERS)
def test_pandas_integers(dtype):
    frame = pandas.DataFrame({"source": SOURCE, "destination": DESTINATION})
    frame = frame.astype(INTEGERS[dtype])
    frame.index = [7, 7]
    assert_is_path(frame)


@pytest.mark.parametrize("dtype", TEXT)
def test_pandas_text(dtype):
    frame = pandas.DataFrame({"source": ["b", "ß"], "destination": ["ß", "𝄞"]}).astype(TEXT[dtype])
    frame.index = [7, 7]
    assert_is_path(frame, ["b", "ß", "𝄞"])
    result = rg.pagerank(frame, personalization={"b": 1.0})
    assert result["vertex"].map(type).unique().tolist() == [str]


def test_one_column_of_text_differs_from_the_other():
    types = list(TEXT.values())
    for first, second in zip(types, types[1:] + types[:1]):
        source = pandas.Series(["b", "ß"]).astype(first)
        destination = pandas.Series(["ß", "𝄞"]).astype(second)
        assert_is_path(
            pandas.DataFrame({"source": source, "destination": destination}), ["b", "ß", "𝄞"]
        )


@pytest.mark.parametrize(
    "dtype", ["Int64", "category", "string", "object", "str", "int64[pyarrow]"]
)
@pytest.mark.parametrize("end", ["source", "destination"])
def test_a_missing_name_names_its_row(dtype, end):
    is_text = dtype in ("string", "object", "str")
    values = ["a", "b", None, "c", None] if is_text else [1, 2, None, 3, None]
    present = ["a", "b", "c", "d", "e"] if is_text else [1, 2, 3, 4, 5]
    columns = {"source": present, "destination": present}
    columns[end] = pandas.Series(values, dtype=None if dtype == "category" else dtype)
    if dtype == "category":
        columns[end] = columns[end].astype("category")
    frame = pandas.DataFrame(columns)
    frame.index = frame.index + 10  # rows count from 0, whatever the index says
    message = f"column '{end}' has no value in row 2|vertex name is missing .NaN. in row 2"
    with pytest.raises(rg.GraphError, match=message):
        rg.pagerank(frame)


def test_nan_among_integers_names_its_row():
    frame = pandas.DataFrame({"source": [1, 2, np.nan], "destination": [1, 2, 3]})
    with pytest.raises(rg.GraphError, match=r"vertex name is missing \(NaN\) in row 2"):
        rg.pagerank(frame)


@pytest.mark.parametrize("missing", [None, np.nan, pandas.NA, pandas.NaT], ids=str)
def test_missing_text_names_its_row(missing):
    source = pandas.Series(["a", missing], dtype=object)
    frame = pandas.DataFrame({"source": source, "destination": ["a", "b"]})
    with pytest.raises(rg.GraphError, match="'source' has no value in row 1; drop such rows"):
        rg.pagerank(frame)


def test_unused_categories_are_no_vertices():
    source = pandas.Categorical([1, 2], categories=[9, 3, 2, 1])
    assert_is_path(pandas.DataFrame({"source": source, "destination": [2, 3]}))
    source = pandas.Categorical(["b", "c"], categories=["z", "c", "b", "a"], ordered=True)
    frame = pandas.DataFrame({"source": source, "destination": ["c", "d"]})
    assert_is_path(frame, ["b", "c", "d"])


# Arrow


def chunks(values, type=None):
    """Several chunks, an empty one among them, each cut out of something longer."""
    array = pyarrow.array([values[0], *values, values[0]], type)
    return pyarrow.chunked_array([array.slice(1, 1), array.slice(2, 0), array.slice(2, 1)])


@pytest.mark.parametrize("type", ["int8", "int32", "int64", "uint16", "uint64"])
def test_arrow_integers_in_chunks(type):
    columns = {"source": chunks(SOURCE, type), "destination": chunks(DESTINATION, type)}
    table = pyarrow.table(columns)
    assert_is_path(table)
    assert rg.pagerank(table).schema.field("vertex").type == type
    without_empty = {
        name: pyarrow.chunked_array([column.chunk(0), column.chunk(2)])
        for name, column in columns.items()
    }
    assert_is_path(pyarrow.table(without_empty))


TEXT_TYPES = [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()]
TEXT_TYPES += [pyarrow.dictionary(pyarrow.int8(), type) for type in TEXT_TYPES]


@pytest.mark.parametrize("type", TEXT_TYPES, ids=str)
def test_arrow_text_in_chunks(type):
    def column(values):
        if not pyarrow.types.is_dictionary(type):
            return chunks(values, type)
        values = [pyarrow.array([value, "not used"], type.value_type) for value in values]
        indices = pyarrow.array([0], type.index_type)
        return pyarrow.chunked_array(
            [pyarrow.DictionaryArray.from_arrays(indices, dictionary) for dictionary in values]
        )

    table = pyarrow.table({"source": column(["b", "ß"]), "destination": column(["ß", "𝄞"])})
    assert_is_path(table, ["b", "ß", "𝄞"])
    plain = getattr(type, "value_type", type)
    assert rg.pagerank(table).schema.field("vertex").type == plain
    graph = rg.Graph(table)
    assert graph.vertices.schema.types == [plain]
    for run in (rg.bfs, rg.sssp):
        found = run(graph, "b")
        assert [found.schema.field(name).type for name in ("vertex", "predecessor")] == [plain] * 2
        assert found["predecessor"].to_pylist() == [None, "b", "ß"]
    assert pickle.loads(pickle.dumps(graph)).vertices.schema.types == [plain]


@pytest.mark.parametrize("type", TEXT_TYPES[:2], ids=str)
def test_arrow_results_join_edges(type):
    columns = {"source": pyarrow.array(["a", "b"], type), "destination": ["b", "c"]}
    edges = pyarrow.table(columns).append_column("n", [[1, 2]])
    graph = rg.Graph(edges.append_column("m", [[2, 2]]), ["source", "n"], ["destination", "m"])
    assert [str(kind) for kind in rg.bfs(graph, ("a", 1)).schema.types] == [
        str(type), "int64", "int32", str(type), "int64"
    ]  # fmt: skip
    joined = edges.join(rg.bfs(edges, "a"), "source", "vertex").sort_by("source")
    assert joined["distance"].to_pylist() == [0, 1]
    joined = edges.join(rg.pagerank(rg.Graph(edges, weight=None)), "source", "vertex")
    assert joined.num_rows == 2


def test_arrow_dictionaries_of_integers():
    column = pyarrow.chunked_array([pyarrow.array([n]).dictionary_encode() for n in SOURCE])
    assert_is_path(pyarrow.table({"source": column, "destination": DESTINATION}))


def test_pandas_columns_of_arrow_types_without_operations():
    ends = {"source": ["a", "b"], "destination": ["b", "c"]}
    expected = rg.pagerank(pandas.DataFrame(ends))
    for convert in (
        lambda names: pyarrow.chunked_array(
            [pyarrow.array([n]).dictionary_encode() for n in names]
        ),
        lambda names: pyarrow.array(names, pyarrow.string_view()),
    ):
        columns = {
            name: pandas.arrays.ArrowExtensionArray(convert(names)) for name, names in ends.items()
        }
        pandas.testing.assert_frame_equal(rg.pagerank(pandas.DataFrame(columns)), expected)


def test_arrow_record_batch_and_reader():
    batch = pyarrow.record_batch({"source": [9, *SOURCE], "destination": [9, *DESTINATION]})
    assert_is_path(batch.slice(1))
    batches = [batch.slice(1, 1), batch.slice(2)]
    reader = pyarrow.RecordBatchReader.from_batches(batch.schema, batches)
    assert_is_path(reader)
    with pytest.raises(rg.GraphError, match=r"was read before, .*; call \.read_all\(\) before"):
        rg.pagerank(reader)


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([1, None, 2]),
        pyarrow.chunked_array([[1], [None, 2]]),
        pyarrow.array(["a", None, "b"]),
        pyarrow.array(["a", None, "b"]).dictionary_encode(),
        pyarrow.array([1, None, 2]).dictionary_encode(),
        pyarrow.DictionaryArray.from_arrays([0, 1, 0], pyarrow.array([1, None])),
        pyarrow.nulls(3),
    ],
    ids=lambda column: str(column.type),
)
def test_arrow_missing_names_name_their_row(column):
    row = 0 if column.type == pyarrow.null() else 1
    with pytest.raises(rg.GraphError, match=f"column 'source' has no value in row {row}"):
        rg.pagerank(pyarrow.table({"source": column, "destination": [1, 2, 3]}))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pyarrow.array([True, False]), "bool"),
        (pyarrow.array([1, 2], pyarrow.date32()), "date"),
        (pyarrow.array([1, 2], pyarrow.timestamp("us")), "datetime"),
        (pyarrow.array([1, 2], pyarrow.decimal128(5)), "decimal"),
        (pyarrow.array([b"a", b"b"]), "bytes"),
        (pyarrow.array([[1], [2]]), "source"),
        (pyarrow.array([{"a": 1}, {"a": 2}]), "source"),
        (pyarrow.array([1.0, 2.0], pyarrow.float32()), "float32"),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_arrow_types_that_name_nothing(column, kind):
    with pytest.raises(rg.GraphError, match=kind):
        rg.pagerank(pyarrow.table({"source": column, "destination": [1, 2]}))


# Polars, DuckDB, arrays


def test_a_dictionary_with_values_that_no_row_has():
    values = pyarrow.array(["a", "b", None])
    source = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 0], pyarrow.int8()), values)
    table = pyarrow.table({"source": source, "destination": ["b", "c", "c"]})
    assert rg.Graph(table).vertices["vertex"].to_pylist() == ["a", "b", "c"]
    source = pyarrow.DictionaryArray.from_arrays([1, 1, 2], values)
    with pytest.raises(rg.GraphError, match="column 'source' has no value in row 2"):
        rg.Graph(table.set_column(0, "source", source))


def test_what_derives_from_a_frame_of_pandas():
    class Frame(pandas.DataFrame):
        pass

    edges = Frame({"source": [0, 1], "destination": [1, 2], "geometry": [object(), object()]})
    assert isinstance(rg.Graph(edges).vertices, pandas.DataFrame)
    edges.columns = ["source", "destination", "source"]
    with pytest.raises(rg.GraphError, match="2 columns are called 'source'"):
        rg.Graph(edges)


@pytest.mark.parametrize("values", [np.array([(1, 2)], "i4,i4"), np.array([b"ab"], "V2")])
def test_arrays_of_several_or_no_types(values):
    with pytest.raises(rg.GraphError, match="column 'source' holds .*; it must hold integers or"):
        rg.Graph({"source": values, "destination": [1]})


def test_polars_types_that_arrow_does_not_have():
    polars = pytest.importorskip("polars")
    edges = polars.DataFrame({"source": [0], "destination": [1]})
    edges = edges.with_columns(wide=polars.lit(1, dtype=polars.Int128))
    with pytest.raises(
        rg.GraphError, match="Arrow cannot convert this frame .*; select the columns"
    ):
        rg.Graph(edges)
    assert rg.Graph(edges.select("source", "destination")).num_edges == 1


def test_polars_text_types():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"source": ["b", "ß"], "destination": ["ß", "𝄞"]})
    for type in (polars.String, polars.Categorical, polars.Enum(["𝄞", "ß", "b", "a"])):
        result = rg.pagerank(frame.cast(type), tolerance=0, max_iterations=1)
        assert result.schema == {"vertex": polars.String, "pagerank": polars.Float64}
        assert_is_path(frame.cast(type), ["b", "ß", "𝄞"])


def test_polars_pieces_and_missing_names():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"source": [1], "destination": [2]})
    frame = polars.concat([frame, frame.clear(), frame + 1], rechunk=False)
    assert_is_path(frame)
    assert_is_path(polars.concat([frame, frame], rechunk=False).slice(2, 2))
    frame = polars.DataFrame({"source": [1, None], "destination": [2, 2]})
    with pytest.raises(rg.GraphError, match="column 'source' has no value in row 1"):
        rg.pagerank(frame)


def test_a_lazy_polars_frame_says_to_collect_it():
    polars = pytest.importorskip("polars")
    lazy = polars.LazyFrame({"source": [1], "destination": [2]})
    with pytest.raises(rg.GraphError, match=r"no rows yet; call \.collect\(\) on it first"):
        rg.pagerank(lazy)


def test_duckdb_queries():
    duckdb = pytest.importorskip("duckdb")
    query = "select range::int as source, range::int + 1 as destination from range(1, 3)"
    result = rg.pagerank(duckdb.sql(query), tolerance=0, max_iterations=1)
    assert type(result) is type(duckdb.sql(query))
    assert result.types == ["INTEGER", "DOUBLE"]
    assert_is_path(duckdb.sql(query))
    text = duckdb.sql("select * from (values ('b', 'ß'), ('ß', '𝄞')) as t(source, destination)")
    assert_is_path(text, ["b", "ß", "𝄞"])
    assert rg.pagerank(text).types == ["VARCHAR", "DOUBLE"]
    missing = duckdb.sql("select * from (values (1, 2), (null, 3)) as t(source, destination)")
    with pytest.raises(rg.GraphError, match="column 'source' has no value in row 1"):
        rg.pagerank(missing)


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        pandas.Series,
        pandas.Index,
        pyarrow.array,
        lambda values: pyarrow.chunked_array([values]),
        lambda values: np.array(values, ">i4"),
        lambda values: np.array(values, object),
        lambda values: np.repeat(np.array(values), 3)[::3],
        lambda values: np.stack([values, values], axis=1)[:, 1],
        lambda values: np.flip(np.array(values[::-1])),
    ],
)
def test_mappings_of_anything_in_rows(make):
    assert_is_path({"source": make(SOURCE), "destination": make(DESTINATION)})


def test_mappings_of_text():
    for make in (list, np.array, lambda values: np.array(values, object), pandas.Series):
        columns = {"source": make(["b", "ß"]), "destination": make(["ß", "𝄞"])}
        assert_is_path(columns, ["b", "ß", "𝄞"])
        assert isinstance(rg.pagerank(columns)["vertex"], np.ndarray)


def test_an_array_that_cannot_be_written_to():
    array = np.array(SOURCE, np.int32)
    array.flags.writeable = False
    assert_is_path({"source": array, "destination": np.array(DESTINATION, np.int32)})


def test_distinct_numbers_are_merged_few_times(monkeypatch):
    monkeypatch.setattr("rapidsgraph.frames.factorize.CHUNK_ROWS", 16)
    values, merged = np.random.default_rng(1).integers(-(2**62), 2**62, 4096), []
    columns = [values[:0], values[:2000], values[1000:], values[:0].astype(np.int32)]
    distinct = frames.distinct_numbers(columns, np, lambda count, _: merged.append(count))
    assert distinct.tolist() == sorted(set(values.tolist()))
    assert sum(merged) < 6 * values.size
    assert frames.distinct_numbers([values[:0], values[:0].astype(np.int32)], np).dtype == np.int64


# What is no frame, and what frames lack


def test_what_takes_no_dask_frame_says_what_does():
    edges = FrameMaker("dask-3")({"source": SOURCE, "destination": DESTINATION})
    messages = (
        (edges, r"only Graph and the algorithms accept Dask frames; call \.compute"),
        (rg.Graph(edges), r"the graph is partitioned over a Dask cluster, .*; call graph\.compute"),
    )
    for given, message in messages:
        with pytest.raises(rg.GraphError, match=message):
            rg.ScanIndex(given)
        rows = rg.ScanIndex(given.compute()).query(0.5, 2)
        assert len(rows) == len(set(SOURCE) | set(DESTINATION))


class Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize("path", ["edges.csv", Path("edges.csv")])
def test_a_path_is_no_frame(path):
    message = r"'edges.csv' is not an edge frame; .*rg.read_edges\(path"
    with pytest.raises(rg.GraphError, match=message) as caught:
        rg.pagerank(path)
    assert caught.value.parameter == "graph"


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (rg.Graph, "edges"),
        (rg.scan, "graph"),
        (rg.ScanIndex, "graph"),
        (lambda value: rg.verify.bfs({"source": [0], "destination": [1]}, value, 0), "result"),
        (rg.plot.sweep, "frame"),
    ],
)
def test_the_error_has_the_parameter_of_the_caller(call, parameter):
    with pytest.raises(rg.GraphError, match="is not an edge frame") as caught:
        call(3)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (None, "None"),
        ([], "list"),
        ([(0, 1, {"km": 2})], "list"),
        (np.zeros((2, 2, 2), int), "ndarray"),
        (pyarrow.array([1, 2]), "Array"),
        (pyarrow.chunked_array([[1, 2]]), "ChunkedArray"),
        (Color.RED, "Color"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_frames(thing, name):
    with pytest.raises(rg.GraphError, match=f"{name} is not an edge frame; give a pandas"):
        rg.pagerank(thing)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"src": [0], "dst": [1]},
            r"no column 'source'; the columns are src, dst; name the endpoint columns: "
            r"rg.Graph\(edges, source='src', destination='dst'\)$",
        ),
        (
            {"source": [0], "Target": [1]},
            r"no column 'destination'; the columns are source, Target; name the endpoint columns: "
            r"rg.Graph\(edges, destination='Target'\)$",
        ),
        (
            {"source": [0], "destinaton": [1]},
            r"the columns are source, destinaton; .* rg.Graph\(edges, destination='destinaton'\)$",
        ),
        ({"x": [0], "y": [1]}, r"are x, y; .* rg.Graph\(edges, source=..., destination=...\)$"),
        ({"Source": [0], "destination": [1]}, r"rg.Graph\(edges, source='Source'\)$"),
    ],
)
def test_missing_columns_are_listed_with_the_likely_one(make_held_frame, columns, message):
    if make_held_frame.kind == "duckdb" and "Source" in columns:
        pytest.skip("DuckDB's column names have no case")
    frame = make_held_frame(columns)
    for call in (
        rg.pagerank,
        rg.connected_components,
        rg.Graph,
        lambda edges: rg.bfs(edges, 0),
        lambda edges: rg.sssp(edges, 0),
    ):
        with pytest.raises(rg.GraphError, match=message):
            call(frame)


def test_columns_of_several_levels_are_named_by_lists_of_tuples():
    levels = [("source", "a"), ("destination", "b"), ("weight", "c")]
    columns = pandas.MultiIndex.from_tuples(levels)
    frame = pandas.DataFrame([[0, 1, 2.5], [1, 2, 3.0]], columns=columns)
    call = "rg.Graph(edges, source=[('source', 'a')], destination=[('destination', 'b')], "
    call += "weight=('weight', 'c'))"
    for function in (rg.Graph, rg.pagerank, lambda edges: rg.sssp(edges, 0)):
        with pytest.raises(rg.MissingColumnError) as caught:
            function(frame)
        assert str(caught.value) == (
            "there is no column 'source'; the columns are ('source', 'a'), ('destination', 'b'), "
            f"('weight', 'c'); the columns have several levels; pass one as a list with its "
            f"tuple: {call}"
        )
        assert caught.value.hint == call
    graph = eval(call, {"rg": rg, "edges": frame})
    assert rg.sssp(graph, 0)["distance"].tolist() == [0, 2.5, 5.5]
    ends = {"source": [levels[0]], "destination": [levels[1]]}
    for wrong, hint in (
        ({"source": "source"}, "pass source=[('source', 'a')]"),
        ({"source": levels[0], "destination": levels[1]}, "pass source=[('source', 'a')]"),
        ({"source": "start"}, "pass source=[('source', 'a')]"),
        ({"destination": "b"}, "pass destination=[('destination', 'b')]"),
        ({"weight": "c"}, "pass weight=('weight', 'c')"),
        ({"weight": "km"}, "pass weight=('weight', 'c')"),
    ):
        with pytest.raises(rg.MissingColumnError, match="several levels: pass ") as caught:
            rg.Graph(frame, **ends | wrong)
        assert caught.value.hint == hint
        assert str(caught.value).endswith(hint)


def test_several_levels_without_a_likely_column():
    levels = [("source", "a"), ("source", "b"), ("x", "a"), ("x", "b")]
    frame = pandas.DataFrame([[0, 1, 2, 3]], columns=pandas.MultiIndex.from_tuples(levels))
    with pytest.raises(rg.MissingColumnError) as caught:
        rg.pagerank(frame)
    assert caught.value.hint == "rg.Graph(edges, source=[...], destination=[...])"
    with pytest.raises(rg.MissingColumnError) as caught:
        rg.Graph(frame, "source", [levels[2]])
    hint = "pass a column as a list with its tuple, such as source=[('source', 'a')]"
    assert caught.value.hint == hint and str(caught.value).endswith(hint)
    assert rg.Graph(frame, levels[:2], levels[2:]).num_edges == 1


def test_missing_ends_beside_a_weight_that_is_used():
    frame = pandas.DataFrame({"from": [0], "to": [1], "weight": [2.0]})
    call = "rg.Graph(edges, source='from', destination='to', multi_edges='min')"
    effect = ", which takes the smallest weight of parallel edges"
    with pytest.raises(rg.GraphError, match=re.escape(call + effect)) as caught:
        rg.sssp(frame, 0)
    assert caught.value.hint == call
    assert rg.sssp(eval(call, {"rg": rg, "edges": frame}), 0)["distance"].tolist() == [0, 2]
    with pytest.raises(
        rg.GraphError, match=r"are from, to, weight; did you mean 'from'\? Pass source='from'$"
    ):
        rg.Graph(frame, "beginning", "to")


def test_a_missing_column_of_weights_is_named():
    frame = pandas.DataFrame({"source": [0], "destination": [1], "cost": [1.0]})
    with pytest.raises(
        rg.GraphError, match=r"no column 'weights'.* did you mean 'cost'\? Pass weight='cost'$"
    ):
        rg.Graph(frame, weight="weights")


def test_columns_of_one_name():
    frame = pandas.DataFrame([[0, 1, 2]], columns=["source", "source", "destination"])
    with pytest.raises(rg.GraphError, match="2 columns are called 'source'; rename all but one"):
        rg.pagerank(frame)
    table = pyarrow.table([[0], [1], [2]], names=["source", "destination", "destination"])
    with pytest.raises(rg.GraphError, match="2 columns are called 'destination'; rename all but"):
        rg.pagerank(table)
    unread = pandas.DataFrame([[1, 2, 0, 0], [2, 3, 0, 0]])
    with pytest.warns(rg.WeightWarning, match="columns of numbers: 'x', 'x'"):
        assert_is_path(unread.set_axis(["source", "destination", "x", "x"], axis=1))


def test_columns_need_not_be_called_by_text():
    frame = pandas.DataFrame(np.array([SOURCE, DESTINATION]).T)
    assert_is_path(rg.Graph(frame, source=0, destination=1))
    with pytest.raises(rg.GraphError, match="no column 'source'; the columns are 0, 1"):
        rg.pagerank(frame)


def test_columns_of_different_lengths():
    with pytest.raises(rg.GraphError, match=r"columns have different lengths: \[1, 2\]"):
        rg.pagerank({"source": [0, 1], "destination": [1]})


@pytest.mark.parametrize("values", [np.zeros((2, 2), int), np.int64(3), [[1, 2], [3, 4]]])
def test_columns_have_one_dimension(values):
    with pytest.raises(rg.GraphError, match=r"column 'source' has [02] dimensions; it must have"):
        rg.pagerank({"source": values, "destination": [1, 2]})


# No rows


@pytest.mark.parametrize("method", ["auto", "frames"])
@pytest.mark.parametrize("kind", ["str", "string", "Arrow large_string", "Arrow", "Polars", "Dask"])
def test_text_without_rows_gives_text(kind, method):
    frame = pandas.DataFrame({"source": SOURCE, "destination": DESTINATION}).astype("str")
    if kind in TEXT:
        frame = frame.astype(TEXT[kind])
    elif kind == "Arrow":
        frame = pyarrow.Table.from_pandas(frame)
    elif kind == "Polars":
        frame = pytest.importorskip("polars").from_pandas(frame)
    else:
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    empty = frame[frame["source"] == "x"] if kind == "Dask" else frame[:0]
    results = [to_pandas(rg.connected_components(edges, method=method)) for edges in (frame, empty)]
    assert results[1].empty
    assert list(results[1].dtypes) == list(results[0].dtypes)


@pytest.mark.parametrize("method", ["auto", "frames"])
def test_text_and_numbers_without_rows_give_numbers(method):
    frame = pandas.DataFrame({"source": SOURCE, "destination": DESTINATION})[:0]
    frame["source"] = frame["source"].astype("str")
    result = rg.connected_components(frame, method=method)
    assert result.empty
    assert result["vertex"].dtype == "int64"
    assert len(rg.pagerank(rg.Graph(frame.astype("str"), vertices=3))) == 3


@pytest.mark.parametrize("dtype", ["int32", "int64", "str", "object", "float64", "M8[ns]", "bool"])
def test_frames_without_rows(make_held_frame, dtype):
    if make_held_frame.on_gpu and dtype in ("object", "M8[ns]"):
        pytest.skip("CuPy and cuDF make no frames of NumPy's objects and dates")
    none = np.empty(0, dtype)
    frame = make_held_frame({"source": none, "destination": none})
    result = rg.pagerank(frame)
    assert type(result) is type(frame)
    assert to_pandas(result).shape == (0, 2)
    if dtype.startswith("int"):
        assert to_pandas(result)["vertex"].dtype == dtype
    assert rg.Graph(frame, vertices=2).num_vertices == 2


def test_kind_of(make_held_frame):
    kind = {"cupy": "arrays"}.get(make_held_frame.kind, make_held_frame.kind)
    assert frames.normalize_frame(make_held_frame({"a": [1]}))[0] == kind


@pytest.mark.parametrize("dtype", ["str", "string", "object"])
def test_a_result_does_not_change_the_names(dtype):
    columns = {"source": ["a", "b"], "destination": ["b", "c"]}
    edges = pandas.DataFrame(columns, dtype=dtype)
    graph = rg.Graph(edges, directed=False)
    first, second = (rg.neighbor_similarity(graph) for _ in range(2))
    pandas.testing.assert_frame_equal(first, second)
    assert first.dtypes.tolist() == [*edges.dtypes, np.float64]
    assert first.index.equals(pandas.RangeIndex(2))
    first.loc[0, "source"] = "z"
    first["destination"] += "!"
    assert first.values.tolist() == [["z", "b!", 0], ["b", "c!", 0]]
    assert second[["source", "destination"]].equals(edges)
    assert graph.vertices["vertex"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("dtype", ["str", "string[python]", "object"])
def test_an_array_of_a_result_does_not_change_the_names(dtype):
    names = pandas.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]}, dtype=dtype)
    graph = rg.Graph(names)
    graph.vertices["vertex"].array[0] = "z"
    rg.connected_components(graph)["vertex"].array[1] = "z"
    assert graph.vertices["vertex"].tolist() == ["a", "b", "c"]


def test_arrays_of_a_result_can_be_changed():
    names = {"source": np.array(["a", "b"], object), "destination": np.array(["b", "c"], object)}
    result = rg.bfs(names, "a")
    assert all(values.flags.writeable for values in result.values())
    assert result["predecessor"].tolist() == [None, "a", "b"]


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
def test_text_of_results_where_pandas_infers_none(monkeypatch):
    for cached in ("_pandas_categories", "_encode_categories"):
        function = getattr(to_frame, cached).__wrapped__
        monkeypatch.setattr(to_frame, cached, functools.cache(function))
    with pandas.option_context("future.infer_string", False):
        edges = pandas.DataFrame({"source": [0, 1], "destination": [1, 2]})
        roles = rg.scan(edges, epsilon=0.1, mu=2)["role"]
        assert roles.dtype == object
        assert (roles == "core").all()


class CudfColumn:
    """A stand-in for a column inside a frame of cuDF."""

    def __init__(self, values, dtype=None, nulls=False):
        self.values, self.nulls = np.array(values), nulls
        self.dtype = self.values.dtype if dtype is None else dtype

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return self.values

    def has_nulls(self):
        return self.nulls


class CudfFrame(dict):
    __module__ = "cudf.core.dataframe"
    _data = property(dict)


def test_numbers_of_cudf_are_those_of_plain_columns(monkeypatch):
    """Codes of categories, nulls, Booleans and empty columns are left to cuDF."""
    monkeypatch.setattr(from_frame.device, "import_cupy", lambda: np)
    columns = {
        "int": CudfColumn([3, 4]),
        "unsigned": CudfColumn(np.array([3, 4], np.uint8)),
        "float": CudfColumn([0.5, np.nan]),
        "category": CudfColumn(np.array([0, 1], np.int8), pandas.CategoricalDtype([5, 6])),
        "nullable": CudfColumn([3, 4], pandas.Int64Dtype()),
        "nulls": CudfColumn([3, 4], nulls=True),
        "bool": CudfColumn([True, False]),
        "empty": CudfColumn(np.empty(0, np.int64)),
    }
    read = {name: from_frame._numbers_of_cudf(CudfFrame(columns), name) for name in columns}
    assert [name for name, values in read.items() if values is not None] == [
        "int", "unsigned", "float",
    ]  # fmt: skip
    assert frames.get_column(CudfFrame(columns), "int", "source").tolist() == [3, 4]


def test_a_series_of_other_rows_stays_aligned():
    text = pandas.Series(["a", "b"], index=[1, 0], dtype="str")
    frame = frames.make_frame("pandas", {"text": text, "other": text.sort_index()})
    assert frame["text"].tolist() == frame["other"].tolist()


@pytest.mark.parametrize("module", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("value_type", [np.int64, np.uint64])
@pytest.mark.parametrize("name_type", [np.int16, np.int32, np.int64, np.uint64])
def test_few_and_many_numbers_are_found(name_type, value_type, module):
    """On a CPU, a few by binary searches, many by a hash table; also where a double rounds."""
    xp = importlib.import_module(module)
    start = 0 if np.dtype(name_type).itemsize < 8 else 2**53
    names = np.arange(start, start + 3 * 500, 3).astype(name_type)
    assert len(names) > 3 * factorize.MIN_SEARCHED
    few = np.array([start, start + 1, start + 3 * 499], value_type)
    for values in (few, np.tile(few, len(names))):
        positions = factorize.find_numbers(xp.asarray(values), xp.asarray(names), xp)
        assert positions.tolist() == [0, -1, 499] * (len(values) // 3)


INTEGER_TYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("module", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("value_type", INTEGER_TYPES)
@pytest.mark.parametrize("name_type", INTEGER_TYPES)
def test_numbers_beyond_the_type_of_the_names_are_not_found(name_type, value_type, module):
    """Names with the same low bits, and those that a double does not tell apart."""
    xp = importlib.import_module(module)
    limits, value_limits = np.iinfo(name_type), np.iinfo(value_type)
    names = [1, 2, limits.max - 1] if limits.min else [0, 1, 2, limits.max]
    shifts = [0, *(sign * 2**bits for sign in (1, -1) for bits in (8, 16, 32, 53, 63, 64))]
    candidates = {name + shift + step for name in names for shift in shifts for step in (0, 1)}
    values = sorted(v for v in candidates if value_limits.min <= v <= value_limits.max)
    natural = [value for value in values if value >= 0]  # pandas makes only these unsigned
    for queries in (values, natural, natural * 3 * factorize.MIN_SEARCHED):
        positions = factorize.find_numbers(
            xp.asarray(np.array(queries, value_type)), xp.asarray(np.array(names, name_type)), xp
        )
        assert positions.tolist() == [names.index(v) if v in names else -1 for v in queries]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([3, 2], ([0, 1], (0, 3, 4))),
        ([0, 3, 0, 1], ([1, 3], (0, 3, 3))),
        ([0, 0], ([0], (None, None))),
    ],
)
def test_divisions_of_row_numbers(counts, expected):
    assert frames.divide_rows(counts) == expected


def test_eager_frames_and_mappings_are_frames():
    polars = pytest.importorskip("polars")
    frame, table = pandas.DataFrame({"a": [1]}), pyarrow.table({"a": [1]})
    polars_frame = polars.DataFrame({"a": [1]})
    for values in ({"a": [1]}, frame, table, table.to_batches()[0], polars_frame):
        assert frames.is_frame(values)
    lazy = polars_frame.lazy()
    for values in (None, 1, "a", [1], np.ones(1), frame["a"], polars_frame["a"], table["a"], lazy):
        assert not frames.is_frame(values)
        with pytest.raises(rg.GraphError):
            frames.normalize_frame(values)


def test_frames_share_no_labels():
    """Labels are cached; what a caller does to those of a result does not change the next one."""
    columns = {"vertex": np.arange(3), "depth": np.ones(3)}
    frame = frames.make_frame("pandas", columns)
    frame.columns.name = "quantity"
    frame.columns = ["vertex", "level"]
    expected = pandas.DataFrame(columns)
    pandas.testing.assert_frame_equal(frames.make_frame("pandas", columns), expected)
    mixed = {"vertex": np.arange(3), 7: np.ones(3)}
    pandas.testing.assert_frame_equal(frames.make_frame("pandas", mixed), pandas.DataFrame(mixed))


@pytest.mark.parametrize(
    "values",
    [
        np.arange(4, dtype=np.int32),
        np.arange(8.0)[::2],
        np.array([True, False, True, True]),
        np.array(["a", "b", "a", None], object),
        np.array(["2026-11-24"] * 4, "datetime64[s]"),
        pandas.array([1, None, 2, 3], "Int32"),
        pandas.Series(list("abca")).array,
        pandas.Series(list("abca")),
    ],
    ids=lambda values: str(values.dtype),
)
def test_frames_are_those_of_the_constructor_of_pandas(values):
    """Columns of which no type has to be inferred do without the constructor."""
    columns = {"vertex": np.arange(4), "value": values}
    frame, expected = frames.make_frame("pandas", columns), pandas.DataFrame(columns)
    pandas.testing.assert_frame_equal(frame, expected)
    frame["more"] = expected["more"] = 1
    frame.loc[2, "vertex"] = expected.loc[2, "vertex"] = 7
    pandas.testing.assert_frame_equal(frame.sort_values("vertex"), expected.sort_values("vertex"))


@pytest.mark.parametrize("categories", [("core", "é", ""), ("longer than a word", "b", "c")])
@pytest.mark.parametrize("size", [0, 1, to_frame.MIN_DECODED_ROWS, 5000])
def test_text_by_category_is_what_pandas_gathers(size, categories):
    codes = np.random.default_rng(size).integers(0, 3, size).astype(np.int8)
    column = frames.make_frame("pandas", {"x": frames.decode_text("pandas", codes, categories)})[
        "x"
    ]
    expected = pandas.Series(categories).take(codes).reset_index(drop=True).rename("x")
    pandas.testing.assert_series_equal(column, expected)
    pandas.testing.assert_series_equal(column.str.len(), expected.str.len())


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32", "float32", "float64"])
def test_numbers_of_cudf_are_read_in_place(dtype):
    cudf = pytest.importorskip("cudf")
    whole = cudf.DataFrame({"a": np.arange(40).astype(dtype), "b": np.arange(40)})
    for frame in (whole, whole[7:31], whole.copy()):
        values = from_frame.get_column(frame, "a", "edges")
        expected = frame["a"].values
        assert values.data.ptr == expected.data.ptr
        assert values.dtype == expected.dtype and values.tolist() == expected.tolist()
    expected = whole["a"].values.tolist()
    values = from_frame.get_column(whole, "a", "edges")
    del whole, frame
    others = [cudf.DataFrame({"a": np.zeros(40, dtype)}) for _ in range(100)]  # in freed memory
    assert values.tolist() == expected and len(others) == 100


@pytest.mark.gpu
def test_columns_of_cudf_that_are_no_plain_numbers():
    cudf = pytest.importorskip("cudf")
    columns = {
        "category": cudf.Series(["b", "a", "b"], dtype="category"),
        "nulls": cudf.Series([1, None, 3]),
        "text": cudf.Series(["x", "y", "z"]),
        "none": cudf.Series([], dtype="int64"),
    }
    for series in columns.values():
        assert from_frame._numbers_of_cudf(series.to_frame("a"), "a") is None


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "float32"])
def test_columns_of_cudf_of_any_type(dtype):
    cudf = pytest.importorskip("cudf")
    values = device.import_cupy().asarray([0, 1, 1, 5]).astype(dtype)
    frame = frames.make_frame("cudf", {"values": values, "part": values[1:3].repeat(2)})
    assert frame["values"].dtype == dtype
    assert frame["values"].to_arrow().to_pylist() == values.tolist()
    assert frame["part"].to_arrow().to_pylist() == [values[1].item()] * 2 + [values[2].item()] * 2
    with pytest.raises(AssertionError):
        frames.make_frame("cudf", {"values": values[::2]})
    with cudf.option_context("spill", False):
        assert len(frames.make_frame("cudf", {"values": values})) == 4


@pytest.mark.gpu
def test_a_cudf_frame_of_too_many_rows(monkeypatch):
    monkeypatch.setattr(to_frame, "MAX_CUDF_ROWS", 3)
    values = device.import_cupy().arange(4)
    with pytest.raises(rg.GraphError, match="the result has 4 rows; a cuDF frame has at most 3"):
        frames.make_frame("cudf", {"values": values})


@pytest.mark.gpu
def test_columns_of_cudf_have_masks_if_they_have_nulls():
    cudf = pytest.importorskip("cudf")
    cupy = device.import_cupy()
    integers = cupy.arange(70, dtype=cupy.int32)
    frame = frames.make_frame(
        "cudf",
        {
            "vertex": cupy.arange(70),
            "all": frames.NullableIntegers(integers, null=-1),
            "some": frames.NullableIntegers(integers, null=33, names=10 * cupy.arange(70)),
            "flags": (integers, integers < 2),
        },
    )
    assert isinstance(frame, cudf.DataFrame)
    assert [frame[name].null_count for name in frame] == [0, 0, 1, 68]
    assert frame["all"].to_arrow().to_pylist() == [*range(70)]
    expected = [None if row == 33 else 10 * row for row in range(70)]
    assert frame["some"].to_arrow().to_pylist() == expected
    assert frame["flags"].dropna().to_arrow().to_pylist() == [0, 1]
