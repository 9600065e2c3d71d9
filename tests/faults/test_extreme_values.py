"""Values beyond 64 bits and double precision, and of wrong types: a right answer or a GraphError.

No warning of NumPy and no error of another kind may come out.
"""

import datetime
import decimal
import fractions
import functools

import dask.dataframe
import numpy as np
import pandas
import pytest
from conftest import build_storage
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal
from trials import Outcomes

import rapidsgraph as rg
from rapidsgraph.graph.local_graph import LocalGraph

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("error")]

VALUES = {
    "10^30": 10**30,
    "-10^30": -(10**30),
    "10^400": 10**400,
    "10^5000": 10**5000,  # Python refuses to write so many digits
    "2^31": 2**31,
    "2^63": 2**63,
    "2^64": 2**64,
    "uint64 2^63": np.uint64(2**63),
    "-2^63 - 1": -(2**63) - 1,
    "-1": -1,
    "int64 -1": np.int64(-1),
    "0.5": 0.5,
    "-0.5": -0.5,
    "1e308": 1e308,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": -float("inf"),
    "longdouble": np.longdouble("1e400"),
    "Decimal": decimal.Decimal("1e400"),
    "Fraction": fractions.Fraction(10**400),
    "complex": 1j,
    "True": True,
    "None": None,
    "NA": pandas.NA,
    "NaT": pandas.NaT,
    "date": datetime.date(2020, 1, 1),
    "datetime64": np.datetime64("2020"),
    "text": "x",
    "empty text": "",
    "digits": "9" * 500,
    "bytes": b"x",
    "object": object(),
    "range": range(10**30),
    "far range": range(10**29, 10**30),
    "list": [10**30],
    "long list": [10**5000],
    "mixed list": [2**63, -1],
    "list of True": [True],
    "list of None": [None],
    "list of NaN": [float("nan")],
    "list of lists": [[1], [1, 2]],
    "empty list": [],
    "empty array": np.array([]),
    "object array": np.array([10**30], object),
    "dict": {"a": 10**400},
    "integer dict": {10**30: 1},
    "long dict": {0: 10**5000},
    "infinite dict": {0: float("inf")},
    "longdouble dict": {0: np.longdouble("1e400")},
    "large dict": {0: 1e308, 1: 1e308},
}
EDGES = {"source": [0, 1, 2], "destination": [1, 2, 3], "weight": [1.0, 2.0, 3.0]}
FRAME = pandas.DataFrame(EDGES)
RANKING = {"max_iterations": 3, "tolerance": 0}
WHOLE = {"10^30", "10^400", "10^5000", "2^31", "2^63", "2^64", "uint64 2^63"}  # integers
LARGE = {*WHOLE, "1e308", "inf", "longdouble"}
FLAGS = {"True": True}


def as_none(labels):
    """These values mean the same as None."""
    return dict.fromkeys(labels, None)


@functools.cache
def graph_of(kind):
    if kind == "undirected":
        return build_storage(FRAME, directed=False)
    if kind == "dask":
        return build_storage(dask.dataframe.from_pandas(FRAME, npartitions=2), weight="weight")
    graph = build_storage(FRAME, weight="weight")
    return graph if kind == "graph" else rg.LayeredEdgeList.build(graph, 0)


def calls():
    """Yield (name, function of a value, {label of a value: one that means the same})."""
    limits = as_none({*WHOLE, "None"})
    cutoffs = {**as_none({*LARGE, "None"}), "0.5": 0.5}
    weights = {"None": None, "large dict": {0: 1.0, 1: 1.0}}
    for kind in ("graph", "layers", "dask"):
        graph = functools.partial(graph_of, kind)
        root = as_none(["None"]) if kind == "layers" else {}
        start = {} if kind == "layers" else {"source": 0}

        def ranked(parameter, value, graph=graph):
            return rg.pagerank(graph(), **{**RANKING, parameter: value})

        for parameter, same in (
            ("damping", {"0.5": 0.5}),
            ("personalization", weights),
            ("start", weights),
        ):
            yield f"pagerank {parameter}, {kind}", functools.partial(ranked, parameter), same
        dangling = functools.partial(ranked, "dangling")
        yield f"pagerank dangling, {kind}", dangling, {**weights, "None": "uniform"}
        yield (
            f"pagerank tolerance, {kind}",
            lambda value, graph=graph: rg.pagerank(graph(), tolerance=value),
            {**dict.fromkeys(LARGE, 9.0), "0.5": 0.5},
        )
        yield (
            f"bfs depth_limit, {kind}",
            lambda value, graph=graph, start=start: rg.bfs(graph(), **start, depth_limit=value),
            limits,
        )
        yield (
            f"sssp cutoff, {kind}",
            lambda value, graph=graph, start=start: rg.sssp(graph(), **start, cutoff=value),
            cutoffs,
        )
        for search in (rg.bfs, rg.sssp):
            yield (
                f"{search.__name__} source, {kind}",
                lambda value, graph=graph, search=search: search(graph(), value),
                root,
            )
        yield (
            f"bfs predecessors, {kind}",
            lambda value, graph=graph, start=start: rg.bfs(graph(), **start, predecessors=value),
            FLAGS,
        )
    yield (
        "pagerank max_iterations",
        lambda value: rg.pagerank(FRAME, max_iterations=value),
        dict.fromkeys(WHOLE, 100),
    )
    yield (
        "pagerank launch",
        lambda value: rg.pagerank(FRAME, method="edge", launch=(value, 32)),
        {},
    )
    for parameter in ("method", "precision"):
        yield (
            f"pagerank {parameter}",
            lambda value, parameter=parameter: rg.pagerank(FRAME, **{parameter: value}),
            {},
        )
    nobody = {"None": None, "empty list": None, "empty array": None}
    for kind in ("graph", "dask"):
        yield f"Graph vertices, {kind}", functools.partial(_vertices, kind), nobody
    for parameter in ("directed", "multi_edges", "self_loops", "source", "destination"):
        yield (
            f"Graph {parameter}",
            lambda value, parameter=parameter: build_storage(FRAME, **{parameter: value}).vertices,
            FLAGS if parameter == "directed" else {},
        )
    yield (
        "Graph weight",
        lambda value: build_storage(FRAME, weight=value).vertices,
        as_none(["None"]),
    )
    yield (
        "LayeredEdgeList root",
        lambda value: rg.LayeredEdgeList.build(FRAME, value).layers,
        {},
    )
    for parameter in ("minimum_edges", "partition_bytes"):
        yield (
            f"LayeredEdgeList {parameter}",
            lambda value, parameter=parameter: (
                rg.LayeredEdgeList.build(FRAME, 0, **{parameter: value}).layers
            ),
            {"2^31": 2**31, **({"None": None} if parameter == "minimum_edges" else {})},
        )
    yield "LayeredEdgeList edges", lambda value: graph_of("layers").edges(value), as_none(["None"])
    yield (
        "memory_limit",
        lambda value: rg.bfs(graph_of("layers"), memory_limit=value),
        as_none(["2^31", "None"]),
    )
    undirected = functools.partial(graph_of, "undirected")
    yield (
        "scan epsilon",
        lambda value: rg.scan(undirected(), epsilon=value, mu=2),
        {"0.5": 0.5},
    )
    yield (
        "scan mu",
        lambda value: rg.scan(undirected(), mu=value),
        dict.fromkeys(WHOLE, 10**6),
    )
    yield "scan memberships", lambda value: rg.scan(undirected(), memberships=value), FLAGS
    yield (
        "estimate_memory algorithm",
        lambda value: rg.estimate_memory(undirected(), value),
        {},
    )
    yield "read_edges path", rg.read_edges, {}
    yield "LayeredEdgeList open", rg.LayeredEdgeList.open, {}
    widths = {label: float(VALUES[label]) for label in LARGE - {"10^400", "10^5000", "inf"}}
    del widths["longdouble"]
    widths |= {"True": 1, "0.5": 0.5}
    for name, function, same in (
        ("rmat scale", lambda value: rg.generate.rmat(value, device="cpu"), {"True": 1}),
        ("rmat a", lambda value: rg.generate.rmat(2, a=value, device="cpu"), {"0.5": 0.5}),
        ("rmat edge_factor", lambda value: rg.generate.rmat(2, value, device="cpu"), {"True": 1}),
        ("grid width", lambda value: rg.generate.grid(value, device="cpu"), {"True": 1}),
        (
            "grid keep",
            lambda value: rg.generate.grid(2, keep=value, device="cpu"),
            {"True": 1, "0.5": 0.5},
        ),
        ("uniform edges", lambda value: rg.generate.uniform(4, value, device="cpu"), {"True": 1}),
        (
            "ssca2 max_clique",
            lambda v: rg.generate.ssca2(4, max_clique=v, device="cpu"),
            {"True": 1},
        ),
        (
            "uniform weights",
            lambda v: rg.generate.uniform(4, 3, weights=(0, v), device="cpu"),
            widths,
        ),
    ):
        yield f"generate {name}", function, same
    ranks = functools.cache(lambda: rg.pagerank(graph_of("graph")))
    for parameter, same in (
        ("damping", {}),
        ("tolerance", {**dict.fromkeys(LARGE, 1.0), "0.5": 0.5}),
    ):
        yield (
            f"verify.pagerank {parameter}",
            lambda value, parameter=parameter: rg.verify.pagerank(
                graph_of("graph"), ranks(), **{parameter: value}
            ),
            same,
        )


def _vertices(kind, value):
    frame = FRAME if kind == "graph" else dask.dataframe.from_pandas(FRAME, npartitions=2)
    return build_storage(frame, vertices=value).vertices


CALLS = {name: (function, same) for name, function, same in calls()}


@pytest.fixture(autouse=True)
def without_client(monkeypatch):
    """Run Dask frames in this process, in two parts."""
    use_local_ranks(monkeypatch, 2)


@pytest.mark.parametrize("name", CALLS)
def test_parameters(name, record_outcomes):
    function, same = CALLS[name]
    outcomes = Outcomes()
    for label, value in VALUES.items():
        try:
            found = function(value)
        except rg.GraphError as error:
            if label in same:
                outcomes.add(label, "wrong", f"refused: {error}")
            else:
                outcomes.add(label, "refused")
            continue
        except Exception as error:
            outcomes.add(label, "wrong", repr(error)[:500])
            continue
        if label not in same:
            outcomes.add(label, "wrong", f"accepted: {found}")
            continue
        try:
            _check_equal(found, function(same[label]))
            outcomes.add(label, "right")
        except AssertionError as error:
            outcomes.add(label, "wrong", str(error))
    record_outcomes("extreme value", name, outcomes)


def _check_equal(found, expected):
    if hasattr(found, "compute"):
        found, expected = found.compute(), expected.compute()
    if isinstance(found, pandas.DataFrame):
        assert_frame_equal(found, expected)
    else:
        assert found == expected


# Sums of weights


def _frame(weights, kind):
    columns = {"source": ["a", "a", "b"], "destination": ["b", "b", "c"]}
    return pandas.DataFrame({**columns, "weight": np.array(weights, kind)})


def _graph(frame, folder, **options):
    return build_storage(frame, weight="weight", **options)


def _partitioned(frame, folder, **options):
    frame = dask.dataframe.from_pandas(frame, npartitions=3)
    return build_storage(frame, weight="weight", **options)


def _layered(frame, folder, **options):
    return rg.LayeredEdgeList.build(build_storage(frame, weight="weight", **options), "a")


def _stored(frame, folder, **options):
    path = folder / "edges.parquet"
    frame.to_parquet(path)
    build = rg.LayeredEdgeList.build
    return build(path, "a", store=folder / "store", weight="weight", device="cpu", **options)


@pytest.fixture(params=[_graph, _partitioned, _layered, _stored])
def make_graph(request, tmp_path):
    """A function of a frame and options that makes a graph from which "a" can be searched."""
    return functools.partial(request.param, folder=tmp_path)


def _distances(graph, **options):
    source = () if isinstance(graph, rg.LayeredEdgeList) else ("a",)
    result = rg.sssp(graph, *source, **options)
    result = result.compute() if hasattr(result, "compute") else result
    return result["distance"].tolist()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    "weights",
    [
        [2**62, 2**62 - 1, 0],  # the largest sum of 64 bits
        [2**62, 2**62, 0],
        [2**63 - 1, 1, 5],
        [2**63 - 1, 2**63 - 1, 1],
        [2**53 - 1, 2, 1],
    ],
)
def test_integer_sums_near_2_to_63(make_graph, weights, directed):
    graph = make_graph(_frame(weights, "int64"), multi_edges="sum", directed=directed)
    first = float(weights[0] + weights[1])
    assert _distances(graph) == [0.0, first, first + float(weights[2])]


def test_integer_sums_whose_rounded_total_fits(make_graph):
    # In double precision each addition rounds down, to 2^63 - 1024.
    weights = [2**63 - 1024, 511, 511, 511]
    frame = pandas.DataFrame({"source": "a", "destination": "b", "weight": weights})
    distances = _distances(make_graph(frame, multi_edges="sum"))
    assert distances == pytest.approx([0, 2**63], rel=1e-15)


@pytest.mark.parametrize("directed", [True, False])
def test_infinite_sums_of_parallel_edges(make_graph, directed):
    frame = _frame([1e308, 1e308, 1], "float64")
    with pytest.raises(rg.GraphError, match="edges between 'a' and 'b' sum to more than 1.8e308"):
        make_graph(frame, multi_edges="sum", directed=directed)


@pytest.mark.parametrize("predecessors", [True, False])
def test_infinite_distances(make_graph, predecessors):
    graph = make_graph(_frame([1e308, 1.5e308, 1e308], "float64"), multi_edges="min")
    with pytest.raises(rg.GraphError, match="the distance to vertex 'c' is more than 1.8e308"):
        _distances(graph, predecessors=predecessors)
    assert _distances(graph, predecessors=predecessors, cutoff=1.7e308) == [0, 1e308, np.inf]


def test_distances_near_the_largest_number(make_graph):
    graph = make_graph(_frame([8e307, 9e307, 9.5e307], "float64"), multi_edges="min")
    assert _distances(graph) == [0, 8e307, 8e307 + 9.5e307]


def test_infinite_out_weights(make_graph):
    graph = make_graph(_frame([1e308, 1e308, 1], "float64"), multi_edges="keep")
    with pytest.raises(rg.GraphError, match="leave vertex 'a' sum to more than 1.8e308"):
        rg.pagerank(graph)


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("scale", [1e308, 5e-324])
def test_ranks_by_extreme_weights(make_graph, scale, precision):
    scaled, ones = (
        make_graph(_frame([weight, weight, weight], "float64"), multi_edges="first")
        for weight in (scale, 1.0)
    )
    found, expected = (rg.pagerank(graph, precision=precision) for graph in (scaled, ones))
    if hasattr(found, "compute"):
        found, expected = found.compute(), expected.compute()
    assert_frame_equal(found, expected)
    if isinstance(scaled, LocalGraph):
        rg.verify.pagerank(scaled, found)


# Columns


WRONG_WEIGHTS = {
    "nan": float("nan"),
    "inf": float("inf"),
    "negative": -1.0,
    "text": "x",
    "None": None,
    "NA": pandas.NA,
    "Decimal": decimal.Decimal("1.5"),
    "NaN Decimal": decimal.Decimal("nan"),
    "True": True,
    "date": datetime.date(2020, 1, 1),
    "datetime": datetime.datetime(2020, 1, 1),
    "bytes": b"x",
    "list": [1],
    "10^400": 10**400,
    "longdouble": np.longdouble("1e400"),
}


WRONG_NAMES = {**WRONG_WEIGHTS, "0.5": 0.5, "2^64": 2**64, "-2^63 - 1": -(2**63) - 1}
del WRONG_NAMES["negative"], WRONG_NAMES["longdouble"]


def _makers(columns):
    """Frames of {name: list}: of pandas, of object arrays, of lists, of Dask."""
    objects = pandas.DataFrame(
        {name: pandas.Series(v, dtype=object) for name, v in columns.items()}
    )
    yield objects
    yield {name: objects[name].to_numpy() for name in columns}
    yield columns
    with dask.config.set({"dataframe.convert-string": False}):
        yield dask.dataframe.from_delayed([dask.delayed(objects)], meta=objects.iloc[:0])


@pytest.mark.parametrize("value", WRONG_WEIGHTS.values(), ids=WRONG_WEIGHTS)
def test_weights_name_row_and_column(value):
    columns = {"source": [0, 1, 2], "destination": [1, 2, 3], "cost": [1.0, 2.0, value]}
    for frame in _makers(columns):
        with pytest.raises(rg.GraphError, match=r"(?=.*'cost')(?=.*row 2\b)"):
            build_storage(frame, weight="cost")


@pytest.mark.parametrize("value", WRONG_NAMES.values(), ids=WRONG_NAMES)
def test_names_name_row_and_column(value):
    for frame in _makers({"source": [0, 1, 2], "to": [1, 2, value]}):
        with pytest.raises(rg.GraphError, match=r"(?=.*'to')(?=.*row 2\b)"):
            build_storage(frame, destination="to")


@pytest.mark.parametrize("large", [2**63, 2**64, 10**30, 1e308])
def test_large_numbers_are_weights(large):
    for frame in _makers({"source": [0, 1], "destination": [1, 2], "cost": [1, large]}):
        graph = build_storage(frame, weight="cost")
        result = rg.sssp(graph, 0)
        result = result.compute() if hasattr(result, "compute") else result
        assert result["distance"].tolist() == [0.0, 1.0, 1.0 + float(large)]
