"""Similarity and SCAN as frame operations: equal to the kernels, exact, and bounded in memory."""

import itertools
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pandas
import pytest
from clusterings import clique, edges_of, frame_columns, small_graphs, thresholds
from hypothesis import given, settings
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal
from traced_memory import trace_memory

import rapidsgraph as rg
from rapidsgraph.relational import scan as relational_scan
from rapidsgraph.relational.frame_graph import as_frame_graph

pytestmark = pytest.mark.usefixtures("one_thread_of_dask")

SCANS = [
    {"epsilon": epsilon, "mu": mu, "memberships": memberships}
    for epsilon, mu in ((0.5, 3), (Fraction(2, 3), 1), (0.3, 2))
    for memberships in (False, True)
]


def check(graph, scans=SCANS):
    """Check that frames and kernels give the same rows, order and types."""
    calls = [(rg.structural_similarity, {}), *((rg.scan, parameters) for parameters in scans)]
    for function, parameters in calls:
        result = function(graph, **parameters, method="frames")
        expected = function(graph, **parameters)
        if hasattr(result, "compute"):
            assert_frame_equal(result._meta, expected._meta)
            result, expected = result.compute(), expected.compute()
        assert_frame_equal(result, expected, check_exact=True)


@given(st.data())
@settings(max_examples=12)
def test_random_graphs(data):
    num_vertices = data.draw(st.integers(1, 12))
    ends = st.integers(0, num_vertices - 1)
    edges = data.draw(st.lists(st.tuples(ends, ends, st.just(1)), max_size=40))
    frame = pandas.DataFrame(frame_columns(edges))
    epsilon = data.draw(st.sampled_from([*thresholds(edges), 0.4, Fraction(2, 3), 1]))
    scans = [{"epsilon": epsilon, "mu": data.draw(st.integers(1, 5)), "memberships": True}]
    check(frame, scans)
    if edges:
        check(frame.astype(str), scans)


@pytest.mark.parametrize("directed", [True, False])
def test_graphs_with_isolated_vertices_and_names_of_several_columns(directed):
    frame = pandas.DataFrame(frame_columns(small_graphs(1, 20)))
    check(rg.Graph(frame, directed=directed, vertices=300))
    frame = frame.assign(net=(frame["source"] % 2).astype(str), other=7)
    check(rg.Graph(frame, ["net", "source"], ["net", "destination"], directed=directed), SCANS[-1:])
    check(rg.Graph(frame, ["other", "source"], ["source", "destination"]), SCANS[:1])


@pytest.fixture
def dataframe():
    """Dask's module of frames, which are computed in this thread."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield pytest.importorskip("dask.dataframe")


@pytest.mark.slow
@pytest.mark.parametrize(("num_partitions", "names"), [(1, int), (4, str)])
def test_dask_frames(dataframe, num_partitions, names):
    frame = pandas.DataFrame(frame_columns(small_graphs(2, 4))).astype(names)
    frame = dataframe.from_pandas(frame, npartitions=num_partitions)
    check(frame, SCANS[-1:])


def test_dask_graph_and_empty_dask_frame(dataframe):
    frame = pandas.DataFrame(frame_columns(clique(range(5)) + edges_of([(4, 6), (7, 7)])))
    edges = dataframe.from_pandas(frame, npartitions=3)
    check(rg.Graph(edges, directed=False, vertices=12), SCANS[-1:])
    check(dataframe.from_map(lambda rows: rows, [frame[:0]] * 2, meta=frame[:0]), SCANS[:1])


def test_graph_of_ranks_without_edges(dataframe, monkeypatch):
    use_local_ranks(monkeypatch, 4)
    frame = pandas.DataFrame({"source": [0, 0, 0, 1], "destination": [1, 2, 3, 2]})
    check(rg.Graph(dataframe.from_pandas(frame, npartitions=2), vertices=12), SCANS[-1:])


def test_chunks_of_wedges(monkeypatch):
    """A clique has many times more wedges than edges, so that there are several chunks."""
    frame = pandas.DataFrame(frame_columns(clique(range(40)) + edges_of([(39, 40)])))
    monkeypatch.setattr(relational_scan, "MIN_WEDGES", 1)
    arcs = relational_scan.undirected_arcs(as_frame_graph(frame))
    arcs = arcs.filter(lambda arcs: arcs["source_0"] < arcs["destination_0"])
    chunks = list(relational_scan._split_wedges(arcs, ["source_0"]))
    assert len(chunks) > 10
    # The vertices 38 and 39 have one arc each, which is in no wedge.
    assert sum(chunk.count() for chunk in chunks) == 40 * 39 // 2 - 1
    check(frame, SCANS[-1:])


@given(*[st.integers(1, 2**31 - 1)] * 3, *[st.integers(1, 2**62 - 1)] * 2)
def test_exact_comparison_with_epsilon(source_size, destination_size, common, p, q):
    """Also where floating-point numbers cannot tell the sides apart."""
    product = source_size * destination_size
    arcs = {"source_size": source_size, "destination_size": destination_size, "common": common}
    arcs = pandas.DataFrame({name: [value] for name, value in arcs.items()})
    for numerator, denominator in ((p, q), (common**2, product), (common**2 + 1, product)):
        selected = relational_scan._select_similar(arcs, numerator, denominator)
        assert len(selected) == (common**2 * denominator >= numerator * product)


@given(st.lists(st.tuples(st.integers(2, 2**31 - 1), st.integers(0, 2**31 - 1)), min_size=2))
def test_exact_order_of_similar_cores(rows):
    """Also of the squares over neighboring sizes, which are almost equal."""
    rows = [*rows, *((max(size - 1, 2), common) for size, common in rows)]
    rows = [(size, min(size, common)) for size, common in rows]
    frame = pandas.DataFrame(rows, columns=["source_size", "common"])
    ranked = relational_scan._rank_by_similarity(frame)
    keys = list(zip(ranked["whole"], ranked["digits"]))
    fractions = [Fraction(common**2, size) for size, common in rows]
    for i, j in itertools.combinations(range(len(rows)), 2):
        assert (keys[i] < keys[j]) == (fractions[i] > fractions[j])
        assert (keys[i] == keys[j]) == (fractions[i] == fractions[j])


def test_memory_of_a_hub_of_a_hundred_thousand_neighbors():
    """All pairs of its neighbors would be 10^10 rows; the peak is some copies of the edges."""
    size = 100_000
    spokes = np.zeros(size, int), np.arange(1, size + 1)
    others = np.random.default_rng(0).integers(1, size, (2, size))
    source, destination = np.concatenate([spokes, others], axis=1)
    frame = pandas.DataFrame({"source": source, "destination": destination})
    expected = rg.structural_similarity(frame)
    with trace_memory() as get_peak:
        result = rg.structural_similarity(frame, method="frames")
        assert get_peak() < 1000 * len(result)
    assert_frame_equal(result, expected, check_exact=True)


@pytest.mark.parametrize(
    "parameters", [{"epsilon": 0}, {"mu": 0}, {"memberships": 1}, {"method": "quick"}], ids=str
)
def test_errors_are_those_of_the_kernels(parameters):
    frame = pandas.DataFrame(frame_columns(clique(range(3))))
    with pytest.raises(rg.GraphError) as expected:
        rg.scan(frame, **parameters)
    with pytest.raises(rg.GraphError) as error:
        rg.scan(frame, **{"method": "frames", **parameters})
    assert str(error.value) == str(expected.value)


@pytest.mark.parametrize("name", ["cluster", "role", "similarity"])
def test_collisions_of_names(name):
    frame = pandas.DataFrame({name: ["x"], "a": [1], "b": [2]})
    graph = rg.Graph(frame, [name, "a"], [name, "b"])
    function = rg.structural_similarity if name == "similarity" else rg.scan
    with pytest.raises(rg.GraphError, match=f"name column '{name}' collides"):
        function(graph, method="frames")
