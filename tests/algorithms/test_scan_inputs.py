"""What SCAN is given, from every library, and what comes out: types, names, errors."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import naive
import numpy as np
import pandas
import pyarrow
import pytest
from clusterings import (
    ALL_METHODS,
    METHODS,
    ROLES,
    clique,
    clustered,
    edges_of,
    expected_rows,
    frame_columns,
    path,
    row_indices,
    star,
)
from conftest import FrameMaker, listed, on_host, random_edges

import rapidsgraph as rg
from rapidsgraph.distributed.graph import DistributedGraph
from rapidsgraph.frames import is_dask
from rapidsgraph.graph.local_graph import storage_of

pytestmark = pytest.mark.slow

# Two cliques, a border of both, a hub, an outlier
EDGES = clique(range(4)) + clique(range(5, 9)) + edges_of([(5, 4), (4, 3), (2, 9), (6, 9), (9, 10)])
EPSILON, MU = 0.5, 4


def ways(graph, memberships=False):
    """Every call that gives a clustering, with these parameters."""
    options = {"epsilon": EPSILON, "mu": MU, "memberships": memberships}
    if is_dask(graph) or isinstance(storage_of(graph), DistributedGraph):
        built = rg.Graph(graph) if is_dask(graph) else graph
        for given in (graph, built, built):
            yield rg.scan(given, **options)
        if not memberships:  # tests/relational/ has those of frames
            yield rg.scan(graph, **options, method="frames")
        return
    for method in ALL_METHODS:
        yield rg.scan(graph, **options, method=method)
    yield rg.ScanIndex(graph).query(EPSILON, MU, memberships=memberships)


def test_all_roles_are_in_the_example():
    found, all_of = naive.scan(EDGES, EPSILON, MU, memberships=True)
    assert {role for _, role in found.values()} == set(ROLES)
    assert len(expected_rows(found, all_of)) > len(found)


# Frames


def check_types(result, kind):
    """Nullable clusters of 32 bits and plain text, as each library has them."""
    if kind in ("arrays", "cupy"):
        assert result["cluster"].dtype == np.int32 and -1 in result["cluster"]
        assert result["role"].dtype == (object if kind == "arrays" else np.int8)
        assert {type(role) for role in on_host(result["role"])} <= {str, np.int8}
    elif kind == "pandas":
        assert result["vertex"].dtype == np.int64
        assert result["cluster"].dtype == pandas.Int32Dtype()
        assert result["cluster"].isna().sum() > 0
        assert result["role"].dtype == pandas.Series(["core"]).dtype
        assert result.index.equals(pandas.RangeIndex(len(result)))
    elif kind == "cudf":
        assert result["cluster"].dtype == np.int32 and result["cluster"].null_count > 0
        assert str(result["role"].dtype) in ("object", "str", "string")
    elif kind == "polars":
        import polars

        assert result.schema == {
            "vertex": polars.Int64, "cluster": polars.Int32, "role": polars.String,
        }  # fmt: skip
        assert result["cluster"].null_count() > 0
    else:
        table = result if kind == "arrow" else result.to_arrow_table()
        kinds = dict(zip(table.schema.names, table.schema.types))
        assert kinds["vertex"] == pyarrow.int64() and kinds["cluster"] == pyarrow.int32()
        assert pyarrow.types.is_string(kinds["role"]) or pyarrow.types.is_large_string(
            kinds["role"]
        )
        assert table["cluster"].null_count > 0 and table["role"].null_count == 0


def test_frames_of_every_library(make_frame):
    frame = make_frame(frame_columns(EDGES))
    found, all_of = naive.scan(EDGES, EPSILON, MU, memberships=True)
    once = expected_rows(found, {vertex: [cluster] for vertex, (cluster, _) in found.items()})
    expected = {False: once, True: expected_rows(found, all_of)}
    for graph, memberships in itertools.product((frame, rg.Graph(frame)), expected):
        for result in ways(graph, memberships):
            assert type(result) is type(frame)
            assert row_indices(result) == expected[memberships]
            if make_frame.is_dask:
                check_types(result.compute(), make_frame.library_name)
            else:
                check_types(result, make_frame.kind)


def test_nothing_missing_and_all_missing(make_frame):
    """Types stay where all have a cluster, or none has."""
    frame = make_frame(frame_columns(clique(range(3))))
    for result, cluster, role in (
        (rg.scan(frame, epsilon=1), 0, "core"), (rg.scan(frame, mu=4), None, "outlier"),
    ):  # fmt: skip
        assert row_indices(result) == [(vertex, cluster, role) for vertex in range(3)]
        if make_frame.kind == "pandas":
            assert result["cluster"].dtype == pandas.Int32Dtype()
        if make_frame.kind == "arrow":
            assert result.schema.field("cluster").type == pyarrow.int32()


def test_no_vertices(make_frame):
    none = make_frame({"source": np.empty(0, int), "destination": np.empty(0, int)})
    for result in (*ways(none), *ways(none, memberships=True)):
        assert type(result) is type(none)
        assert listed(result) == {"vertex": [], "cluster": [], "role": []}
        with_rows = rg.scan(make_frame(frame_columns(path([0, 1, 2]))))
        if make_frame.kind in ("pandas", "cudf") or make_frame.is_dask:
            assert result.dtypes.to_dict() == with_rows.dtypes.to_dict()
        elif make_frame.kind in ("arrow", "polars"):
            assert result.schema == with_rows.schema
        elif make_frame.kind == "duckdb":
            assert result.types == with_rows.types
        else:
            assert [v.dtype for v in result.values()] == [v.dtype for v in with_rows.values()]
    assert rg.verify.scan(none, rg.scan(none)) == 0


def test_vertices_without_edges(make_frame):
    none = make_frame({"source": np.empty(0, int), "destination": np.empty(0, int)})
    graph = rg.Graph(none, vertices=range(3))
    for result in (*ways(graph), *ways(graph, memberships=True)):
        assert clustered(result) == dict.fromkeys(range(3), (None, "outlier"))
    alone = {vertex: (vertex, "core") for vertex in range(3)}
    for method in METHODS if not make_frame.is_dask else ("auto",):
        assert clustered(rg.scan(graph, mu=1, method=method)) == alone
    assert row_indices(rg.scan(graph, mu=1, memberships=True)) == [(v, v, "core") for v in range(3)]


# Names


PLACES = np.arange(11)
NAMES = {
    "with gaps": PLACES * 7 + 5,
    "negative": PLACES * 3 - 20,
    "beyond 2^31": PLACES + 2**31,
    "far apart": PLACES * 10**12 - 5 * 10**12,
    "uint64": PLACES.astype(np.uint64) + np.uint64(2**63),
    "int8": (PLACES - 120).astype(np.int8),
    "text": np.array([f"v{place:02}é" for place in PLACES]),
}


@pytest.mark.parametrize("kind", NAMES)
def test_names(make_arrays, kind):
    check_names(make_arrays, kind)


@pytest.mark.parametrize("kind", ["uint64", "text"])
def test_names_of_every_library(make_frame, kind):
    check_names(make_frame, kind)


def check_names(make_frame, kind):
    names, ends = NAMES[kind], frame_columns(EDGES)
    frame = make_frame({name: names[values] for name, values in ends.items()})
    spelled = names.tolist()
    found, all_of = naive.scan(EDGES, EPSILON, MU, memberships=True)
    found = {spelled[vertex]: value for vertex, value in found.items()}
    all_of = {spelled[vertex]: value for vertex, value in all_of.items()}
    for result in ways(frame):
        assert clustered(result) == found
        assert rg.verify.scan(frame, result, epsilon=EPSILON, mu=MU) == 2
    for result in ways(frame, memberships=True):
        assert row_indices(result) == expected_rows(found, all_of)


def test_several_networks_in_one_call(make_frame):
    """A shared column of names keeps networks apart; each has the clusters that it has alone."""
    networks = {"b": EDGES, "a": star(6) + clique(range(1, 6)), "c": random_edges(51, 20, 60)}
    rows = [(net, a, b) for net, edges in networks.items() for a, b, _ in edges]
    rows = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    net, source, destination = map(list, zip(*rows))
    frame = make_frame({"net": net, "source": source, "destination": destination})
    graph = rg.Graph(frame, ["net", "source"], ["net", "destination"])
    pairs = [((n, a), (n, b), 1) for n, a, b in rows]
    found, all_of = naive.scan(pairs, EPSILON, MU, memberships=True)
    for result in ways(graph):
        together = clustered(result, ("net", "vertex"))
        assert together == found
        for name, edges in networks.items():
            alone = clustered(rg.scan(make_frame(frame_columns(edges)), epsilon=EPSILON, mu=MU))
            own = {vertex: value for (n, vertex), value in together.items() if n == name}
            assert {v: role for v, (_, role) in own.items()} == {
                v: role for v, (_, role) in alone.items()
            }
            numbers = {(own[v][0], alone[v][0]) for v in own}
            clusters = {cluster for cluster, _ in alone.values()}
            assert own.keys() == alone.keys() and len(numbers) == len(clusters)
    result = rg.scan(graph, epsilon=EPSILON, mu=MU, memberships=True)
    assert row_indices(result, ("net", "vertex")) == expected_rows(found, all_of)


def test_own_names_of_several_columns(make_frame):
    ends = frame_columns(EDGES)
    columns = {"a": ends["source"] % 3, "b": ends["source"], "c": ends["destination"] % 3,
               "d": ends["destination"]}  # fmt: skip
    graph = rg.Graph(make_frame(columns), ["a", "b"], ["c", "d"])
    rows = [((a % 3, a), (b % 3, b), 1) for a, b, _ in EDGES]
    found = naive.scan(rows, EPSILON, MU)
    assert clustered(rg.scan(graph, epsilon=EPSILON, mu=MU), ("vertex_0", "vertex_1")) == found


@pytest.mark.parametrize("name", ["cluster", "role"])
def test_name_columns_that_have_no_room(name):
    frame = FrameMaker("pandas")({name: ["x"], "a": [1], "b": [2]})
    graph = rg.Graph(frame, [name, "a"], [name, "b"])
    with pytest.raises(rg.GraphError, match=f"name column '{name}' collides"):
        rg.scan(graph)
    with pytest.raises(rg.GraphError, match=f"name column '{name}' collides"):
        rg.ScanIndex(graph)


@pytest.mark.parametrize("name", ["similarity", "weight", "source"])
def test_name_columns_that_have_room(name):
    frame = FrameMaker("pandas")({name: ["x"], "a": [1], "b": [2]})
    found = rg.scan(rg.Graph(frame, [name, "a"], [name, "b"]), mu=2)
    assert next(iter(found)) == name and found["cluster"].tolist() == [0, 0]


# Errors


EPSILONS = {
    "zero": [0, 0.0, -0.0, Fraction(0), Decimal(0), np.float32(0)],
    "below": [-0.5, -1, -math.inf, Fraction(-1, 2)],
    "above": [1.0000000000000002, 2, math.inf, Decimal("1.01"), Fraction(3, 2), np.int64(7)],
    "NaN": [math.nan, Decimal("nan"), Decimal("snan"), np.float64("nan"), np.float32("nan")],
    "text": ["0.5", "1/2", "", b"0.5", np.str_("0.5")],
    "truth": [True, np.True_, False],
    "something else": [None, 0.5 + 0j, [0.5], (0.5,), np.array([0.5, 0.6]), pandas.NA, object()],
}


@pytest.mark.parametrize("kind", EPSILONS)
def test_unsuitable_epsilons(kind):
    frame = FrameMaker("arrays")(frame_columns(EDGES))
    index = rg.ScanIndex(frame)
    for epsilon in EPSILONS[kind]:
        with pytest.raises(rg.GraphError, match=r"epsilon is .*; it must be a number above 0"):
            rg.scan(frame, epsilon=epsilon)
        with pytest.raises(rg.GraphError, match="epsilon is"):
            index.query(epsilon)


@pytest.mark.parametrize(
    "mu", [0, -3, 1.5, 2.0, np.float64(2), math.nan, True, np.True_, "2", None, [2], Fraction(2)]
)
def test_unsuitable_mus(mu):
    frame = FrameMaker("arrays")(frame_columns(EDGES))
    with pytest.raises(rg.GraphError, match=r"mu is .*; it must be an integer, at least 1"):
        rg.scan(frame, mu=mu)
    with pytest.raises(rg.GraphError, match="mu is"):
        rg.ScanIndex(frame).query(mu=mu)


@pytest.mark.parametrize("mu", [np.int64(4), np.uint8(4), np.array(4)], ids=repr)
def test_mus_of_every_type(make_arrays, mu):
    frame = make_arrays(frame_columns(EDGES))
    assert clustered(rg.scan(frame, epsilon=EPSILON, mu=mu)) == naive.scan(EDGES, EPSILON, 4)
    assert clustered(rg.ScanIndex(frame).query(EPSILON, mu)) == naive.scan(EDGES, EPSILON, 4)


@pytest.mark.parametrize("mu", [12, 2**31, 2**32 + 2, 2**63 - 1, 2**63, 10**30])
def test_a_mu_that_no_neighborhood_reaches(make_arrays, mu):
    frame = make_arrays(frame_columns(EDGES))
    index = rg.ScanIndex(frame)
    for memberships in (False, True):
        results = [rg.scan(frame, epsilon=0.01, mu=mu, memberships=memberships, method=method)
                   for method in METHODS]  # fmt: skip
        for result in [*results, index.query(0.01, mu, memberships)]:
            assert clustered(result) == dict.fromkeys(range(11), (None, "outlier"))


def test_frames_that_cannot_be_used(make_frame):
    for call in (rg.scan, rg.ScanIndex) if not make_frame.is_dask else (rg.scan,):
        with pytest.raises(rg.GraphError, match="destination"):
            call(make_frame({"source": [0], "target": [1]}))
        with pytest.raises(rg.GraphError, match="method is 'fast'; it can be 'auto'"):
            call(make_frame(frame_columns(EDGES)), method="fast")
        with pytest.raises(rg.GraphError):
            call([(0, 1)])


@pytest.mark.parametrize("missing", [None, np.nan], ids=["null", "NaN"])
def test_names_that_are_missing(missing):
    frame = pandas.DataFrame({"source": [missing, missing], "destination": [1, 2]}, dtype="Int64")
    for call in (rg.scan, rg.ScanIndex, rg.structural_similarity):
        with pytest.raises(rg.GraphError, match="source"):
            call(frame)
        with pytest.raises(rg.GraphError, match="source"):
            call(pyarrow.table({"source": pyarrow.nulls(2), "destination": [1, 2]}))


@pytest.mark.parametrize(
    "epsilon",
    [
        10**5000,
        Decimal("0." + "3" * 10**5),
        np.timedelta64(1, "s"),
        np.array([0.5]),
        Decimal("1e-9999"),
    ],
    ids=["huge", "digits", "time", "several", "tiny"],
)
def test_epsilons_that_are_no_number_to_compare_with(epsilon):
    with pytest.raises(rg.GraphError, match="it must be a number above 0, at most 1"):
        rg.scan(frame_columns(EDGES), epsilon=epsilon)


def test_arrays_of_no_dimension_are_numbers():
    frame = frame_columns(EDGES)
    expected = rg.scan(frame, epsilon=0.35)
    for epsilon in (np.array(0.35), np.array(0.35, np.float32)):
        assert all(
            (rg.scan(frame, epsilon=epsilon)[name] == expected[name]).all() for name in expected
        )
    swept = rg.ScanIndex(frame).sweep(np.array(0.5), np.array(3))
    assert swept["epsilon"].tolist() == [0.5] and swept["mu"].tolist() == [3]
