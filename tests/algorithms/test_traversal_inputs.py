"""What BFS and SSSP are given, from every library: names, sources, limits; and what comes out."""

import naive
import numpy as np
import pandas
import pytest
from conftest import (
    FrameMaker,
    check_traversals,
    columns_of,
    listed,
    paths_of,
    random_edges,
    to_pandas,
)

import rapidsgraph as rg

pytestmark = pytest.mark.slow

INF = float("inf")

symmetrize = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


PLACES = np.arange(40)
NAMES = {
    "from 0": PLACES,
    "with gaps": PLACES * 7 + 5,
    "negative": PLACES * 3 - 200,
    "beyond 2^31": PLACES + 2**31,
    "far apart": PLACES * 10**12 - 5 * 10**12,
    "beyond 2^53": PLACES + 2**53 + 1,
    "int8": (PLACES - 120).astype(np.int8),
    "uint8": (PLACES + 200).astype(np.uint8),
    "unsigned from 0": PLACES.astype(np.uint32),
    "uint64": PLACES.astype(np.uint64) + np.uint64(2**63),
    "text": np.array([f"v{place:02}é" for place in PLACES]),
}


def named(kind):
    edges = random_edges(70, 40, 90)
    names = NAMES[kind].tolist()
    columns = columns_of(edges)
    columns |= {name: NAMES[kind][columns[name]] for name in ("source", "destination")}
    return columns, [(names[a], names[b], w) for a, b, w in edges], names


@pytest.mark.parametrize("kind", NAMES)
def test_names(make_frame, kind):
    columns, edges, names = named(kind)
    frame = make_frame(columns)
    cheapest = naive.merged(edges, "min")
    found = rg.sssp(frame, names[20])
    assert paths_of(found) == naive.sssp(cheapest, [names[20]])
    assert rg.verify.sssp(frame, found, names[20]) == max(
        d for d in paths_of(found)[0].values() if d < INF
    )
    found = rg.bfs(frame, [names[20], names[3]])
    expected = naive.bfs(edges, [names[20], names[3]])
    assert paths_of(found) == expected
    assert rg.verify.bfs(frame, found, [names[20], names[3]]) == max(
        filter(None, expected[0].values())
    )


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "own"])
def test_names_of_several_columns(make_frame, shared):
    edges = random_edges(71, 40, 120)
    net = [("b", "a")[a % 2] for a, _, _ in edges]
    # Of shared names an edge stays within a network; of own ones it may cross.
    nets = [net, net if shared else [("b", "a")[b % 3 % 2] for _, b, _ in edges]]
    ends = [[edge[end] for edge in edges] for end in (0, 1)]
    weights = [edge[2] for edge in edges]
    rows = list(zip(zip(nets[0], ends[0]), zip(nets[1], ends[1]), weights))
    rows = naive.merged(rows, "min")
    if shared:
        columns = {"net": net, "source": ends[0], "destination": ends[1], "w": weights}
        names, labels = (["net", "source"], ["net", "destination"]), ("net", "vertex")
    else:
        columns = {"net_0": nets[0], "source": ends[0], "net_1": nets[1],
                   "destination": ends[1], "w": weights}  # fmt: skip
        names, labels = (["net_0", "source"], ["net_1", "destination"]), ("vertex_0", "vertex_1")
    graph = rg.Graph(make_frame(columns), *names, weight="w", multi_edges="min")
    start, other = rows[0][0], rows[7][0]
    frame = make_frame({label: [start[place], other[place]] for place, label in enumerate(labels)})
    for source, several in ((start, [start]), ([start, other], [start, other]),
                            (frame, [start, other])):  # fmt: skip
        found = rg.bfs(graph, source)
        assert paths_of(found, labels) == naive.bfs(rows, several)
        assert rg.verify.bfs(graph, found, source) > 0
        found = rg.sssp(graph, source)
        assert paths_of(found, labels) == naive.sssp(rows, several)
        assert rg.verify.sssp(graph, found, source) > 0
    own = make_frame({label: [start[place]] for place, label in enumerate(names[0])})
    assert paths_of(rg.bfs(graph, own), labels) == naive.bfs(rows, [start])
    with pytest.raises(rg.GraphError, match=r"source: vertex \('c', 1\) is not in the graph"):
        rg.bfs(graph, ("c", 1))
    with pytest.raises(rg.GraphError, match="source"):
        rg.sssp(graph, 3)


SOURCES = {
    "list": [3, 20, 3],
    "tuple": (3, 20),
    "set": {3, 20},
    "array": np.array([20, 3]),
    "small integers": np.array([20, 3], np.uint8),
    "series": pandas.Series([3, 20], index=[5, 9]),
    "frame": pandas.DataFrame({"vertex": [3, 20]}),
    "index": pandas.Index([3, 20]),
    "range": range(3, 21, 17),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_sources_of_any_kind(make_frame, kind):
    edges = [(a, b, 1) for a, b, _ in random_edges(72)]
    graph = rg.Graph(make_frame(columns_of(edges)))
    assert paths_of(rg.bfs(graph, SOURCES[kind])) == naive.bfs(edges, [3, 20])


@pytest.mark.parametrize(
    "source", [[np.uint64(3), 20], (20, np.uint64(3)), {np.uint64(3), np.int8(20)}], ids=repr
)
def test_integers_of_several_types(make_arrays, source):
    edges = [(a, b, 1) for a, b, _ in random_edges(72)]
    graph = rg.Graph(make_arrays(columns_of(edges)))
    assert paths_of(rg.bfs(graph, source)) == naive.bfs(edges, [3, 20])


def test_integers_that_no_type_holds_together(make_arrays):
    names = np.array([2**63, 5, 2**64 - 1], np.uint64)
    graph = rg.Graph(make_arrays({"source": names, "destination": np.roll(names, -1)}))
    assert rg.bfs(graph, [2**63, 5])["distance"].tolist() == [0, 0, 1]
    with pytest.raises(rg.GraphError, match="^source: vertex -1 is not in the graph"):
        rg.bfs(graph, [2**63, -1])
    with pytest.raises(rg.GraphError, match=f"^source: vertex {2**64} is not in the graph"):
        rg.bfs(graph, [2**64])
    frame = {"n": ["x"], "source": [-1], "destination": [3]}
    graph = rg.Graph(FrameMaker("pandas")(frame), ["n", "source"], ["n", "destination"])
    with pytest.raises(rg.GraphError, match=r"vertex \('x', 9223372036854775808\) is not in the"):
        rg.bfs(graph, [("x", -1), ("x", 2**63)])


@pytest.mark.parametrize("source", [3, np.int64(3), np.uint8(3), np.array(3), [3], {3}], ids=repr)
def test_one_source_of_any_kind(make_arrays, source):
    edges = [(a, b, 1) for a, b, _ in random_edges(73)]
    graph = rg.Graph(make_arrays(columns_of(edges)))
    assert paths_of(rg.bfs(graph, source)) == naive.bfs(edges, [3])


def test_sources_come_from_every_library(make_frame):
    edges = random_edges(74)
    frame = make_frame(columns_of(edges))
    expected = naive.bfs(edges, [59, 4])
    assert paths_of(rg.bfs(frame, make_frame({"vertex": [59, 4]}))) == expected
    assert paths_of(
        rg.bfs(pandas.DataFrame(columns_of(edges)), make_frame({"vertex": [59, 4]}))
    ) == (expected)
    column = make_frame({"vertex": [59, 4]})
    if make_frame.kind not in ("duckdb",):
        assert paths_of(rg.bfs(frame, column["vertex"])) == expected


def test_sources_of_text(make_frame):
    frame = make_frame({"source": ["a", "b", "ä"], "destination": ["b", "ä", "c"]})
    for source in ("b", ["b"], {"b"}, ("b",), np.array(["b"]), pandas.Series(["b"])):
        expected = {"a": None, "b": 0, "c": 2, "ä": 1}, {"a": None, "b": None, "c": "ä", "ä": "b"}
        assert paths_of(rg.bfs(frame, source)) == expected
    assert paths_of(rg.bfs(frame, ["c", "a"]))[0] == {"a": 0, "b": 1, "c": 0, "ä": 2}


def test_a_vertex_called_minus_1(make_frame):
    """In arrays -1 says that there is no predecessor, and is one where there is a distance."""
    frame = make_frame({"source": [-1, 0, -1], "destination": [0, 1, 2], "weight": [1, 1, 0]})
    expected = {-1: 0, 0: 1, 1: 2, 2: 0}, {-1: None, 0: -1, 1: 0, 2: -1}
    found = rg.sssp(frame, -1)
    distances, predecessors = paths_of(found)
    if make_frame.kind in ("arrays", "cupy"):
        assert found["predecessor"].tolist() == [-1, -1, 0, -1]
    else:
        assert predecessors == expected[1]
    assert distances == expected[0]
    assert rg.verify.sssp(frame, found, -1) == 2


@pytest.mark.parametrize("run", [rg.bfs, rg.sssp])
def test_columns_and_types(make_frame, run):
    frame = make_frame(
        {"source": np.array([0, 2], "int16"), "destination": np.array([1, 0], "int16")}
    )
    found = run(frame, 0)
    assert type(found) is type(frame)
    types = to_pandas(found).dtypes.astype(str).to_dict()
    assert list(types) == ["vertex", "distance", "predecessor"]
    assert types["vertex"] == "int16"
    kind, values = make_frame.kind, listed(found)
    if kind in ("arrays", "cupy"):
        assert {type(values) for values in found.values()} == {type(frame["source"])}
        distance = "int32" if run is rg.bfs else "float64"
        assert {name: str(found[name].dtype) for name in found} == {
            "vertex": "int16", "distance": distance, "predecessor": "int16",
        }  # fmt: skip
        assert found["distance"].tolist() == [0, 1, -1 if run is rg.bfs else INF]
        assert found["predecessor"].tolist() == [-1, 0, -1]
    if kind == "pandas":
        assert types["predecessor"] == "Int16"
        assert types["distance"] == ("Int32" if run is rg.bfs else "float64")
    if kind in ("arrow", "cudf"):
        found = found if kind == "arrow" else found.to_arrow()
        types = [str(found.schema.field(name).type) for name in ("distance", "predecessor")]
        assert types == ["int32" if run is rg.bfs else "double", "int16"]
    if kind == "polars":
        types = [str(found.schema[name]) for name in ("distance", "predecessor")]
        assert types == ["Int32" if run is rg.bfs else "Float64", "Int16"]
    assert values["predecessor"] == [None, 0, None]
    assert values["distance"] == [0, 1, None if run is rg.bfs else INF]


@pytest.mark.parametrize("run", [rg.bfs, rg.sssp])
def test_without_predecessors(make_frame, run):
    edges = random_edges(75)
    frame = make_frame(columns_of(edges))
    found = run(frame, 3, predecessors=False)
    assert list(to_pandas(found).columns) == ["vertex", "distance"]
    assert paths_of(found) == (paths_of(run(frame, 3))[0], None)
    assert {rg.bfs: rg.verify.bfs, rg.sssp: rg.verify.sssp}[run](frame, found, 3) > 0


@pytest.mark.parametrize("limit", [0, 1, 2, 3, np.int64(2), 10**12])
def test_depth_limit(make_frame, limit):
    frame = make_frame({"source": np.arange(5), "destination": np.arange(1, 6)})
    found = rg.bfs(frame, 0, depth_limit=limit)
    levels = {v: v if v <= limit else None for v in range(6)}
    assert paths_of(found) == (levels, {v: v - 1 if v and v <= limit else None for v in levels})
    assert rg.verify.bfs(frame, found, 0, depth_limit=limit) == min(limit, 5)


def test_cutoff(make_arrays):
    weights = [0.1, 0.2, 0.0, 0.3, 1e-3]
    edges = [(place, place + 1, weight) for place, weight in enumerate(weights)]
    frame = make_arrays(columns_of(edges))
    distances = list(paths_of(rg.sssp(frame, 0))[0].values())
    exact = [0.0, 0.1, 0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.2 + 0.3, 0.1 + 0.2 + 0.3 + 1e-3]
    assert distances == exact
    for cutoff in (
        *exact,
        *np.nextafter(exact[1:], 0),
        *np.nextafter(exact, 1),
        9,
        INF,
        np.float32(0.5),
    ):
        found = rg.sssp(frame, 0, cutoff=cutoff)
        reached = [d if d <= cutoff else INF for d in exact]
        before = {v: v - 1 if v and d < INF else None for v, d in enumerate(reached)}
        assert paths_of(found) == (dict(enumerate(reached)), before)
        assert rg.verify.sssp(frame, found, 0, cutoff=cutoff) == max(d for d in reached if d < INF)


@pytest.mark.parametrize(
    ("cutoff", "reached"), [(0, 1), (0.5, 1), (1, 2), (1.999, 2), (2, 3), (INF, 5)]
)
def test_cutoff_without_weights(make_arrays, cutoff, reached):
    frame = make_arrays({"source": [0, 1, 2, 3], "destination": [1, 2, 3, 4]})
    found = rg.sssp(frame, 0, cutoff=cutoff)
    assert paths_of(found)[0] == {v: v if v < reached else INF for v in range(5)}
    assert rg.verify.sssp(frame, found, 0, cutoff=cutoff) == reached - 1


def test_a_limit_does_not_end_what_goes_round(make_arrays):
    """2 is within the cutoff only by way of 1, which the direct edge leaves outside."""
    edges = [(0, 2, 9), (0, 1, 1), (1, 2, 1), (2, 3, 5)]
    frame = make_arrays(columns_of(edges))
    found = rg.sssp(frame, 0, cutoff=2)
    assert paths_of(found) == ({0: 0, 1: 1, 2: 2, 3: INF}, {0: None, 1: 0, 2: 1, 3: None})


@symmetrize
def test_one_graph_serves_many_searches(make_arrays, directed):
    edges = random_edges(76, 40, 120)
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", directed=directed,
                     multi_edges="keep", vertices=40)  # fmt: skip
    before = paths_of(rg.sssp(graph, 0))
    for source in range(0, 40, 2):
        check_traversals(graph, edges, source, vertices=range(40), directed=directed)
    rg.pagerank(graph, max_iterations=500)
    rg.connected_components(graph)
    check_traversals(graph, edges, [1, 2], vertices=range(40), limit=2, directed=directed)
    assert paths_of(rg.sssp(graph, 0)) == before


def test_edges_are_not_changed(make_arrays):
    columns = columns_of(random_edges(77))
    frame = make_arrays(columns)
    for run in (rg.bfs, rg.sssp, lambda given, _: rg.connected_components(given)):
        run(frame, 3)
        assert listed(frame) == {name: values.tolist() for name, values in columns.items()}


def test_vertices_without_edges(make_arrays):
    none = make_arrays({"source": np.empty(0, int), "destination": np.empty(0, int)})
    graph = rg.Graph(none, vertices=3)
    expected = {0: None, 1: 0, 2: None}, dict.fromkeys(range(3))
    assert paths_of(rg.bfs(graph, 1)) == expected
    assert rg.verify.bfs(graph, rg.bfs(graph, 1), 1) == 0
    expected = {0: INF, 1: 0, 2: INF}, dict.fromkeys(range(3))
    assert paths_of(rg.sssp(graph, 1)) == expected
    assert rg.verify.sssp(graph, rg.sssp(graph, 1), 1) == 0
    graph = rg.Graph(none, vertices=1)
    assert paths_of(rg.bfs(graph, 0)) == ({0: 0}, {0: None})
    weighted = make_arrays({"source": [], "destination": [], "weight": []} | {
        name: np.empty(0, int) for name in ("source", "destination")
    })  # fmt: skip
    graph = rg.Graph(weighted, weight="weight", vertices=2)
    assert paths_of(rg.sssp(graph, [0, 1])) == ({0: 0, 1: 0}, {0: None, 1: None})


@pytest.mark.parametrize("run", [rg.bfs, rg.sssp])
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (9, r"source: vertex 9 is not in the graph"),
        (-1, r"source: vertex -1 is not in the graph"),
        ([0, 7, 8], r"source: 2 of 3 vertices are not in the graph: 7, 8"),
        (2**63, r"source"),
        ([], r"source is empty; name at least one vertex"),
        ((), r"source is empty"),
        (set(), r"source is empty"),
        (np.array([], int), r"source is empty"),
        (range(0), r"source is empty"),
        (None, r"source is None"),
        (True, r"source is True"),
        ([True, 0], r"source"),
        ((True,), r"source"),
        (np.array([True]), r"source"),
        (1.0, r"source"),
        ([1.0], r"source"),
        ([0, None], r"source"),
        (float("nan"), r"^source: a vertex name is missing .* in row 0"),
        (np.array([0, np.nan]), r"^source: a vertex name is missing .* in row 1"),
        (
            pandas.DataFrame({"vertex": [0, np.nan]}),
            r"^source: a vertex name is missing .* in row 1",
        ),
        ([2**63, -1], r"^source: vertex -1 is not in the graph"),
        ([0, 2**64 - 1], r"^source: vertex 18446744073709551615 is not in the graph"),
        ("0", r"source"),
        (["0"], r"source"),
        (["0", 1], r"source"),
        ((0, "1"), r"source"),
        (b"0", r"source"),
        ([[0, 1]], r"source"),
        (np.zeros((1, 1), int), r"source"),
        pytest.param(object(), r"source", id="object"),
        (
            pandas.DataFrame({"name": [0]}),
            r"^source: .*; did you mean 'name'\? Rename 'name' to 'vertex'$",
        ),
    ],
    ids=repr,
)
def test_unsuitable_sources(run, source, message):
    frame = FrameMaker("arrays")({"source": [0, 1], "destination": [1, 2]})
    with pytest.raises(rg.GraphError, match=message):
        run(frame, source)


@pytest.mark.parametrize("run", [rg.bfs, rg.sssp])
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("c", r"source: vertex 'c' is not in the graph"),
        (["a", "c"], r"source: vertex 'c' is not in the graph"),
        ("", r"source: vertex '' is not in the graph"),
        (0, r"^source: 0 is a number, but the vertex names of this graph are text"),
        ([0], r"^source: 0 is a number"),
        (["a", 0], r"source"),
        (None, r"source is None"),
        (["a", None], r"source"),
    ],
    ids=repr,
)
def test_unsuitable_sources_among_text(make_frame, run, source, message):
    frame = make_frame({"source": ["a"], "destination": ["b"]})
    with pytest.raises(rg.GraphError, match=message):
        run(frame, source)


@pytest.mark.parametrize(
    "limit", [-1, 1.5, 2.0, "2", True, float("nan"), np.int64(-3), [1]], ids=repr
)
def test_unsuitable_depth_limits(limit):
    frame = FrameMaker("arrays")({"source": [0, 1], "destination": [1, 2]})
    with pytest.raises(rg.GraphError, match=r"depth_limit is .*; it must be"):
        rg.bfs(frame, 0, depth_limit=limit)


@pytest.mark.parametrize("cutoff", [-1, -1e-9, float("nan"), -INF, "2", True, [1]], ids=repr)
def test_unsuitable_cutoffs(cutoff):
    frame = FrameMaker("arrays")({"source": [0, 1], "destination": [1, 2]})
    with pytest.raises(rg.GraphError, match=r"cutoff is .*; it must be"):
        rg.sssp(frame, 0, cutoff=cutoff)


@pytest.mark.parametrize(
    ("weight", "shown"),
    [(-1.0, "-1.0"), (-5e-324, "-5e-324"), (float("nan"), r"missing \(NaN\)"), (INF, "inf")],
)
def test_unsuitable_weights_name_their_row(make_held_frame, weight, shown):
    ends = {"source": [0, 1, 2], "destination": [1, 2, 0]}
    frame = make_held_frame({**ends, "weight": [1, 2.5, weight]})
    message = f"weight in row 2 of column 'weight' is {shown}; weights must be finite"
    with pytest.raises(rg.GraphError, match=message):
        rg.sssp(frame, 0)
    assert paths_of(rg.bfs(frame, 0))[0] == {0: 0, 1: 1, 2: 2}  # to which they mean nothing


def test_text_is_no_weight(make_frame):
    if make_frame.kind == "cupy":
        pytest.skip("CuPy has no text")
    frame = make_frame({"source": [0, 1], "destination": [1, 2], "weight": ["1", "2"]})
    with pytest.raises(rg.GraphError, match="weights in column 'weight' must be numbers"):
        rg.sssp(frame, 0)


def test_no_vertex_to_start_from(make_frame):
    none = make_frame({"source": np.empty(0, int), "destination": np.empty(0, int)})
    for run in (rg.bfs, rg.sssp):
        with pytest.raises(rg.GraphError, match="source: vertex 0 is not in the graph"):
            run(none, 0)


def test_a_name_column_called_like_a_result_has_no_room():
    edges = {"distance": ["x", "y"], "source": [1, 1], "destination": [2, 3]}
    graph = rg.Graph(
        FrameMaker("pandas")(edges), ["distance", "source"], ["distance", "destination"]
    )
    with pytest.raises(rg.GraphError, match="'distance' collides"):
        rg.bfs(graph, ("x", 1))
