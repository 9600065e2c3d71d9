"""Hypothesis: ``method="frames"`` gives what the kernels give, on pandas and on Dask."""

import dask.dataframe
import hypothesis.strategies as st
import numpy as np
import pandas
import pytest
from conftest import FrameMaker, columns_of, random_edges
from hypothesis import given, settings
from test_inputs import assert_same

import rapidsgraph as rg
from rapidsgraph.relational.dask_table import DaskTable
from rapidsgraph.relational.frame_graph import as_frame_graph

pytestmark = pytest.mark.usefixtures("one_thread_of_dask")

edge_lists = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.integers(0, 9),
        st.sampled_from([0, 0, 0, 1, 1, 2, 3, 0.1, 0.2, 0.3, 0.5, 1e-20, 5e-324]),
    ),
    max_size=25,
)
source_lists = st.lists(st.integers(0, 10), min_size=1, max_size=3)
policies = st.sampled_from(["first", "sum", "min", "max", "keep"])


@given(edge_lists, source_lists, st.sampled_from([None, 0, 1, 2, 4]), st.booleans(), policies)
@settings(max_examples=20)
def test_traversals_of_graphs(edges, sources, limit, directed, multi_edges):
    options = {"directed": directed, "multi_edges": multi_edges, "vertices": 11}
    graph = rg.Graph(FrameMaker("pandas")(columns_of(edges)), weight="weight", **options)
    assert_same(lambda method: rg.bfs(graph, sources, depth_limit=limit, method=method))
    assert_same(lambda method: rg.sssp(graph, sources, cutoff=limit, method=method))


def test_graphs_of_text_without_edges():
    """The type of names is that of the vertices."""
    frame = pandas.DataFrame({"source": ["a", "b"], "destination": ["a", "b"]})
    graph = rg.Graph(frame, self_loops="drop")
    assert graph.num_edges == 0
    assert_same(lambda method: rg.bfs(graph, "a", method=method))
    assert_same(lambda method: rg.sssp(graph, "a", method=method))
    assert_same(lambda method: rg.connected_components(graph, method=method))
    assert_same(lambda method: rg.structural_similarity(graph, method=method))
    assert_same(lambda method: rg.scan(graph, method=method))
    assert_same(lambda method: rg.triangle_count(graph, method=method))
    assert_same(lambda method: rg.clustering_coefficient(graph, method=method))


@given(edge_lists, st.booleans(), policies, st.sampled_from(["drop", "keep"]))
@settings(max_examples=20)
def test_components_and_pagerank_of_graphs(edges, directed, multi_edges, self_loops):
    graph = rg.Graph(
        FrameMaker("pandas")(columns_of(edges)), weight="weight", directed=directed,
        multi_edges=multi_edges, self_loops=self_loops, vertices=11,
    )  # fmt: skip
    assert_same(lambda method: rg.connected_components(graph, method=method))
    assert_same(lambda method: rg.triangle_count(graph, method=method))
    assert_same(lambda method: rg.clustering_coefficient(graph, method=method))
    assert_same(lambda method: rg.pagerank(graph, tolerance=0, max_iterations=4, method=method))


weights = st.dictionaries(st.integers(0, 10), st.integers(1, 9), min_size=1)


@given(
    edge_lists, st.none() | weights, st.sampled_from([None, "drop", "uniform"]) | weights,
    st.none() | weights, st.sampled_from(["double", "single"]),
)  # fmt: skip
@settings(max_examples=20)
def test_options_of_pagerank(edges, personalization, dangling, start, precision):
    graph = rg.Graph(
        FrameMaker("pandas")(columns_of(edges)), weight="weight", multi_edges="keep", vertices=11
    )
    options = {"personalization": personalization, "dangling": dangling, "start": start}
    results = [
        rg.pagerank(graph, tolerance=0, max_iterations=6, precision=precision, method=method,
                    **options)
        for method in ("auto", "frames")
    ]  # fmt: skip
    within = {"double": 1e-14, "single": 1e-6}[precision]
    pandas.testing.assert_frame_equal(*results, rtol=0, atol=within)


@pytest.mark.slow
@pytest.mark.parametrize(("partitions", "kind"), [(1, "text"), (2, "text"), (3, "integers")])
def test_partitions_of_dask_frames(partitions, kind):
    """Of the graph of a frame: vertices of degree 0, ties, zero weights, several components."""
    random = np.random.default_rng(partitions)
    columns = {
        "source": random.integers(0, 14, 18),
        "destination": random.integers(0, 20, 18),
        "weight": random.integers(0, 3, 18) / 2,
    }
    source = [int(columns["source"][0]), int(columns["destination"][5])]
    if kind == "text":
        columns |= {end: columns[end].astype(str) for end in ("source", "destination")}
        source = [str(name) for name in source]
    frame = dask.dataframe.from_pandas(
        pandas.DataFrame(columns), npartitions=partitions, sort=False
    )
    assert_same(lambda method: rg.bfs(frame, source, method=method))
    assert_same(lambda method: rg.sssp(frame, source, method=method))
    assert_same(lambda method: rg.connected_components(frame, method=method))
    assert_same(lambda method: rg.core_number(frame, method=method))
    assert_same(lambda method: rg.label_propagation(frame, iterations=3, method=method))
    options = {"tolerance": 0, "max_iterations": 3}
    assert_same(lambda method: rg.pagerank(frame, method=method, **options))


def test_names_of_several_columns_in_partitions():
    columns = columns_of(random_edges(71, 20, 40))
    columns["net"] = np.array(["b", "a"])[columns["source"] % 2]
    graph = rg.Graph(
        pandas.DataFrame(columns), ["net", "source"], ["net", "destination"], "weight",
        multi_edges="first", directed=False,
        vertices=pandas.DataFrame({"net": ["a", "c"], "vertex": [77, -1]}),
    )  # fmt: skip
    tables = as_frame_graph(graph)
    parts = [split_rows(table.frame, 3) for table in (tables.arcs, tables.vertices)]
    tables.arcs = parts[0].partition(tables.name_columns("source"))
    tables.vertices = parts[1].partition(tables.name_columns("vertex"))
    source = ("c", -1), ("b", int(columns["source"][columns["net"] == "b"][0]))
    for name, arguments in {
        "bfs": [list(source)], "sssp": [list(source)], "connected_components": [],
        "core_number": [], "label_propagation": [],
    }.items():  # fmt: skip
        function = getattr(rg, name)
        result = function(tables, *arguments, method="frames").compute()
        pandas.testing.assert_frame_equal(result, function(graph, *arguments))


def split_rows(frame, num_partitions):
    """A DaskTable of the rows of a frame, which are dealt to the partitions."""
    return DaskTable([dask.delayed(frame[rank::num_partitions]) for rank in range(num_partitions)])
