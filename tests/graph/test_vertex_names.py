"""Vertices keep the names they come with, whatever these are."""

import naive
import numpy as np
import pandas
import pyarrow
import pytest
from conftest import FrameMaker, assert_close, build_storage, ranks_of, to_pandas

import rapidsgraph as rg

PLACES = np.arange(12)
TEXT = ["", " ", "0", "10", "9", "A", "Zürich", "a", "aa", "ä", "名前", "𝄞"]  # as Unicode orders
NAMES = {
    "from 0": PLACES,
    "from 5": PLACES + 5,
    "with gaps": PLACES * 7,
    "negative": PLACES * 3 - 20,
    "far apart": PLACES * 10**12 - 5 * 10**12,
    "beyond 2^31": PLACES + 2**31,
    "beyond 2^53": PLACES + 2**53 + 1,  # one float for two of them
    "far apart beyond 2^53": PLACES * 2**56 + PLACES + 1,
    "all of int64": np.array([-(2**63), -(2**63) + 1, *range(-4, 4), 2**63 - 2, 2**63 - 1]),
    "beyond 2^63": PLACES.astype(np.uint64) + np.uint64(2**63),
    "around 2^63": PLACES.astype(np.uint64) + np.uint64(2**63 - 6),
    "all of uint64": np.array([*range(6), *range(2**64 - 6, 2**64)], np.uint64),
    "unsigned from 0": PLACES.astype(np.uint64),
    "unsigned from 2^60": PLACES.astype(np.uint64) + np.uint64(2**60),
    "int8": (PLACES - 128).astype(np.int8),
    "uint8": (PLACES + 244).astype(np.uint8),
    "int16": (PLACES * 2000).astype(np.int16),
    "uint16": (PLACES + 65000).astype(np.uint16),
    "int32": (PLACES * 10**8).astype(np.int32),
    "uint32": (PLACES + 2**32 - 12).astype(np.uint32),
    "text": np.array(TEXT),
}


def named(names, rows=40, seed=0):
    """Columns of random edges between names, with an edge of the first and last to be sure."""
    random = np.random.default_rng(seed)
    sources, destinations = random.integers(0, len(names), (2, rows))
    sources[:2], destinations[:2] = (0, 5), (5, len(names) - 1)
    return {"source": names[sources], "destination": names[destinations]}


def expected_ranks(columns, **options):
    ends = zip(columns["source"].tolist(), columns["destination"].tolist())
    return naive.pagerank(naive.merged([(*pair, 1) for pair in ends]), **options)


@pytest.mark.parametrize("kind", NAMES)
def test_names(make_held_frame, kind):
    columns = named(NAMES[kind])
    result = rg.pagerank(make_held_frame(columns), tolerance=1e-14, max_iterations=500)
    assert_close(ranks_of(result), expected_ranks(columns), 1e-12)
    if kind != "text":
        assert to_pandas(result)["vertex"].dtype == NAMES[kind].dtype


@pytest.mark.parametrize("kind", NAMES)
def test_vertices_found_by_name(make_arrays, kind):
    names = NAMES[kind]
    graph = build_storage(make_arrays(named(names)))
    present = to_pandas(graph.vertices)["vertex"]
    for place in (0, 3, len(present) - 1):
        given = make_arrays({"vertex": present.to_numpy()[[place]].astype(names.dtype), "x": [1.0]})
        found = rg.pagerank(graph, damping=0, personalization=given, max_iterations=2)
        assert list(ranks_of(found).values()) == [float(i == place) for i in range(len(present))]


def test_many_names_in_any_range(make_arrays):
    """Ranges as wide as the rows, a few times and a thousand times wider."""
    random = np.random.default_rng(1)
    for high in (1_000, 20_000, 80_000, 10**7, 10**15):
        for low in (0, -high // 2, high):
            columns = {
                "source": random.integers(low, low + high, 10_000),
                "destination": random.integers(low, low + high, 10_000),
            }
            graph = build_storage(make_arrays(columns), multi_edges="keep")
            names = np.unique(np.concatenate(list(columns.values())))
            assert np.array_equal(to_pandas(graph.vertices)["vertex"], names)
            lists = graph.csr
            rows = np.repeat(names, np.diff(_on_host(lists.offsets)))
            order = np.lexsort((columns["destination"], columns["source"]))
            assert np.array_equal(rows, columns["source"][order])
            assert np.array_equal(names[_on_host(lists.neighbors)], columns["destination"][order])


def _on_host(array):
    return array.get() if hasattr(array, "get") else array


def test_many_text_names(make_held_frame):
    random = np.random.default_rng(2)
    names = np.array([f"{number:x}" for number in random.integers(0, 3000, 5000).tolist()])
    columns = named(names, rows=5000, seed=3)
    graph = build_storage(make_held_frame(columns))
    expected = sorted({*columns["source"].tolist(), *columns["destination"].tolist()})
    assert to_pandas(graph.vertices)["vertex"].tolist() == expected
    ranks = ranks_of(rg.pagerank(graph, tolerance=0, max_iterations=3))
    assert_close(ranks, expected_ranks(columns, iterations=3), 1e-15)


def test_columns_of_different_integer_types(make_held_frame):
    pairs = [("int8", "int64"), ("uint8", "int32"), ("uint32", "int32"), ("int64", "uint64")]
    for (first, second), out in zip(pairs, ["int64", "int32", "int64", "int64"]):
        columns = {"source": np.array([1, 100], first), "destination": np.array([100, 7], second)}
        result = rg.pagerank(make_held_frame(columns))
        assert list(ranks_of(result)) == [1, 7, 100]
        assert to_pandas(result)["vertex"].dtype == out


def test_signed_names_beside_unsigned_ones_too_large_for_them(make_arrays):
    columns = {"source": np.array([2**63 + 1], np.uint64), "destination": np.array([-1])}
    with pytest.raises(rg.GraphError, match="beyond 2\\^63 in one column and signed in another"):
        rg.pagerank(make_arrays(columns))


# Several columns


def test_names_of_two_columns(make_held_frame):
    columns = {
        "network": ["north", "south", "north", "north"],
        "source": np.array([4, 4, 900, 4], np.int32),
        "destination": np.array([900, 1, 7, 900], np.int32),
    }
    graph = build_storage(
        make_held_frame(columns), ["network", "source"], ["network", "destination"]
    )
    result = to_pandas(rg.pagerank(graph, tolerance=1e-14, max_iterations=300))
    assert result.columns.tolist() == ["network", "vertex", "pagerank"]
    names = list(zip(result["network"], result["vertex"].tolist()))
    edges = [(("north", 4), ("north", 900)), (("south", 4), ("south", 1))]
    edges = [(a, b, 1) for a, b in [*edges, (("north", 900), ("north", 7))]]
    expected = naive.pagerank(edges)
    assert names == list(expected)
    assert result["pagerank"].tolist() == pytest.approx(list(expected.values()), abs=1e-13)
    assert graph.report.rows_merged == 1
    assert result["vertex"].dtype == "int32"


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("names", [[0, 1, 2], [0, 100, 70]], ids=["from 0", "with gaps"])
def test_names_of_several_columns_keep_their_types(make_arrays, dtype, names):
    names = np.array(names, dtype)
    columns = {"a": names, "b": np.roll(names, 1), "c": names}
    graph = build_storage(make_arrays(columns), ["a", "c"], ["b", "c"])
    vertices = to_pandas(graph.vertices)
    assert vertices.dtypes.to_dict() == {"vertex": names.dtype, "c": names.dtype}
    pairs = {*zip(columns["a"].tolist(), columns["c"].tolist())}
    pairs |= {*zip(columns["b"].tolist(), columns["c"].tolist())}
    assert list(zip(vertices["vertex"].tolist(), vertices["c"].tolist())) == sorted(pairs)


def test_names_of_columns_that_differ_are_numbered(make_arrays):
    columns = {"a": [1, 2], "b": [3, 4], "c": [5, 6], "d": [7, 8], "e": [0, 0]}
    graph = build_storage(make_arrays(columns), ["a", "e", "b"], ["c", "e", "d"])
    vertices = to_pandas(graph.vertices)
    assert vertices.columns.tolist() == ["vertex_0", "e", "vertex_1"]
    assert vertices.to_numpy().tolist() == [[1, 0, 3], [2, 0, 4], [5, 0, 7], [6, 0, 8]]


def test_so_many_columns_that_their_combinations_pass_2_to_the_64(make_arrays):
    columns = np.random.default_rng(4).integers(0, 1000, (2, 7, 1000))
    sources, destinations = [f"s{i}" for i in range(7)], [f"d{i}" for i in range(7)]
    frame = make_arrays(dict(zip(sources + destinations, columns.reshape(14, 1000))))
    vertices = to_pandas(build_storage(frame, sources, destinations).vertices)
    expected = {tuple(name) for name in columns.transpose(0, 2, 1).reshape(2000, 7).tolist()}
    assert [tuple(row) for row in vertices.to_numpy().tolist()] == sorted(expected)


def test_both_ends_need_as_many_columns():
    frame = FrameMaker("arrays")({"a": [1], "b": [2], "c": [3]})
    with pytest.raises(rg.GraphError, match="source has 2 columns and destination 1"):
        build_storage(frame, ["a", "b"], "c")
    with pytest.raises(rg.GraphError, match="destination 0; both need the same number, at least"):
        build_storage(frame, [], [])


# Vertices without edges


@pytest.mark.parametrize(
    "vertices",
    [
        pytest.param(5, id="int"),
        pytest.param(np.int64(5), id="numpy.int64"),
        pytest.param(range(5), id="range"),
        pytest.param([4, 3], id="list"),
        pytest.param((3, 4, 3), id="tuple"),
        pytest.param(np.array([3, 4], np.int32), id="numpy.ndarray"),
        pytest.param(pandas.Series([3, 4], index=[7, 7]), id="pandas.Series"),
        pytest.param(pandas.Index([3, 4]), id="pandas.Index"),
        pytest.param(pandas.DataFrame({"vertex": [3, 4], "x": [8, 9]}), id="pandas.DataFrame"),
        pytest.param(pandas.DataFrame({"id": [3, 4]}), id="column of another name"),
        pytest.param({"vertex": [3, 4]}, id="dict"),
        pytest.param(pyarrow.array([3, 4]), id="pyarrow.Array"),
        pytest.param(pyarrow.chunked_array([[3], [4]]), id="pyarrow.ChunkedArray"),
        pytest.param(pyarrow.table({"vertex": [3, 4]}), id="pyarrow.Table"),
    ],
)
def test_vertices_in_every_form(make_arrays, vertices):
    graph = build_storage(make_arrays({"source": [0, 1], "destination": [1, 2]}), vertices=vertices)
    assert to_pandas(graph.vertices)["vertex"].tolist() == [0, 1, 2, 3, 4]
    assert (graph.report.vertices, graph.report.isolates) == (5, 2)


def test_vertices_from_polars():
    polars = pytest.importorskip("polars")
    frame = FrameMaker("polars")({"source": [0, 1], "destination": [1, 2]})
    for vertices in (polars.Series([3, 4]), polars.DataFrame({"vertex": [3, 4]})):
        assert to_pandas(build_storage(frame, vertices=vertices).vertices)["vertex"].tolist() == [
            *range(5)
        ]


def test_vertices_from_a_frame_of_the_same_library(make_held_frame):
    frame = make_held_frame({"source": ["b", "a"], "destination": ["a", "b"]})
    graph = build_storage(frame, vertices=make_held_frame({"vertex": ["c", "a", "0"]}))
    assert to_pandas(graph.vertices)["vertex"].tolist() == ["0", "a", "b", "c"]
    graph = build_storage(frame, vertices=["c", "a", "0"])
    assert to_pandas(graph.vertices)["vertex"].tolist() == ["0", "a", "b", "c"]


def test_vertices_with_gaps_beside_edges_without(make_arrays):
    frame = make_arrays({"source": [0, 1], "destination": [1, 2]})
    graph = build_storage(frame, vertices=[10**12, -7])
    assert to_pandas(graph.vertices)["vertex"].tolist() == [-7, 0, 1, 2, 10**12]
    ranks = naive.pagerank([(0, 1, 1), (1, 2, 1)], [10**12, -7])
    assert_close(ranks_of(rg.pagerank(graph, tolerance=1e-14)), ranks, 1e-13)


def test_vertices_of_several_columns(make_held_frame):
    columns = {"net": ["x"], "source": [1], "destination": [2]}
    more = make_held_frame({"net": ["y", "x"], "vertex": [1, 1]})
    ends = ["net", "source"], ["net", "destination"]
    graph = build_storage(make_held_frame(columns), *ends, vertices=more)
    vertices = to_pandas(graph.vertices)
    assert vertices["net"].tolist() == ["x", "x", "y"]
    assert vertices["vertex"].tolist() == [1, 2, 1]


def test_a_range_names_vertices_beyond_the_type_of_the_names(make_arrays):
    frame = make_arrays(
        {"source": np.array([0, 1], "int8"), "destination": np.array([1, 5], "int8")}
    )
    vertices = to_pandas(build_storage(frame, vertices=300).vertices)["vertex"]
    assert vertices.tolist() == [*range(300)]


def test_no_edges_but_vertices(make_held_frame):
    none = np.empty(0, np.int64)
    graph = build_storage(make_held_frame({"source": none, "destination": none}), vertices=range(3))
    assert_close(ranks_of(rg.pagerank(graph)), dict.fromkeys(range(3), 1 / 3), 1e-15)
    graph = build_storage(make_held_frame({"source": none, "destination": none}), vertices=[9, 4])
    assert_close(ranks_of(rg.pagerank(graph)), {4: 0.5, 9: 0.5}, 1e-15)


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        (range(-2, 5), r"range\(-2, 5\) must be range\(n\)"),
        (range(0, 9, 3), r"range\(0, 9, 3\) must be range\(n\)"),
        (2, r"vertices is range\(2\), but an edge has the vertex 2"),
        (range(0), r"vertices is range\(0\), but an edge has the vertex 2"),
        (-1, r"vertices.*-1"),
        (["a"], r"vertices: vertex names are text, and numbers in the edges; pass numbers as"),
        ([0.5], r"float64, such as 0.5 in row 0; use .astype\('str'\)$"),
        ([7.0], r"float64, such as 7.0 in row 0; use .astype\('int64'\) or .astype\('str'\)$"),
        ("abc", r"vertices is 'abc'; it can be a count, range\(n\), or names"),
    ],
)
def test_unsuitable_vertices(vertices, message):
    frame = FrameMaker("arrays")({"source": [0, 1], "destination": [1, 2]})
    with pytest.raises(rg.GraphError, match=message):
        build_storage(frame, vertices=vertices)


@pytest.mark.parametrize("is_dask", [False, True])
@pytest.mark.parametrize(
    ("names", "vertices", "kinds"),
    [
        ([1, 2], ["a"], ["text", "numbers"]),
        ([1, 2], pandas.DataFrame({"vertex": ["3"]}), ["text", "numbers"]),
        (["1", "2"], [3], ["numbers", "text"]),
        (["1", "2"], 5, ["numbers", "text"]),
        (["1", "2"], range(2, 5), ["numbers", "text"]),
    ],
)
def test_vertices_of_another_kind_than_the_edges(is_dask, names, vertices, kinds):
    frame = pandas.DataFrame({"source": names, "destination": names[::-1]})
    if is_dask:
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    with pytest.raises(rg.GraphError) as caught:
        rg.Graph(frame, vertices=vertices)
    kind, edge_kind = kinds
    hint = f"pass {edge_kind} as vertices, or convert those of the edges to {kind}"
    assert str(caught.value) == (
        f"vertices: vertex names are {kind}, and {edge_kind} in the edges; {hint}"
    )
    assert (caught.value.parameter, caught.value.hint) == ("vertices", hint)


def test_fractions_beside_text_are_numbers():
    with pytest.raises(rg.GraphError, match="vertex names are numbers, and text in the edges"):
        rg.Graph(pandas.DataFrame({"source": ["1"], "destination": ["2"]}), vertices=[0.5])


def test_vertices_of_another_kind_in_one_of_several_columns():
    frame = pandas.DataFrame({"net": ["a"], "source": [1], "destination": [2]})
    vertices = pandas.DataFrame({"net": [1], "vertex": [1]})
    with pytest.raises(rg.GraphError, match="vertices: net names are numbers, and text") as caught:
        rg.Graph(frame, ["net", "source"], ["net", "destination"], vertices=vertices)
    assert caught.value.column == "net"


@pytest.mark.parametrize("is_dask", [False, True])
def test_the_remedies_for_names_beyond_2_to_63_beside_signed_ones(is_dask):
    def build(frame):
        if is_dask:
            frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=1)
        return rg.Graph(frame).num_vertices

    big = np.array([2**63 + 1, 2], "uint64")
    for signed, remedy in (([2, 3], "uint64"), ([-2, 3], "str")):
        frame = pandas.DataFrame({"source": big, "destination": signed})
        with pytest.raises(rg.GraphError, match="convert both columns to uint64, or to text"):
            build(frame)
        assert build(frame.astype(remedy)) == (3 if remedy == "uint64" else 4)


def test_edges_outside_a_range_of_vertices_name_the_vertex():
    frame = FrameMaker("arrays")({"source": [0, -4], "destination": [1, 2]})
    with pytest.raises(rg.GraphError, match=r"range\(9\), but an edge has the vertex -4"):
        build_storage(frame, vertices=9)


# What is no name


@pytest.mark.parametrize(
    ("column", "message"),
    [
        pytest.param(
            np.array([True, False]),
            r"holds boolean values \(bool\), such as True in row 0",
            id="bool",
        ),
        pytest.param(
            np.array([1.5, 2]), "'source' has type float64, such as 1.5 in row 0", id="float"
        ),
        pytest.param(np.array([1, np.nan]), r"name is missing \(NaN\) in row 1", id="NaN"),
        pytest.param(np.array([1, 2], "M8[ns]"), "datetime64", id="datetime"),
        pytest.param(np.array([1j, 2j]), "complex", id="complex"),
        pytest.param(np.array([b"a", b"b"], object), "bytes", id="bytes"),
        pytest.param(np.array([1, "a"], object), "int and str values", id="mixed"),
        pytest.param(np.array(["a", None], object), "'source' has no value in row 1", id="None"),
        pytest.param(
            np.array([2**70, 1], object),
            f"'source' holds {2**70} in row 0, which is beyond 64",
            id="2^70",
        ),
    ],
)
@pytest.mark.parametrize("frame", [dict, pandas.DataFrame])
def test_unsuitable_names(frame, column, message):
    with pytest.raises(rg.GraphError, match=message):
        rg.pagerank(frame({"source": column, "destination": np.array([1, 2])}))


def test_text_in_one_column_and_numbers_in_the_other(make_held_frame):
    frame = make_held_frame({"source": ["1", "2"], "destination": [2, 1]})
    with pytest.raises(rg.GraphError, match="text in one column and numbers in another"):
        rg.pagerank(frame)
