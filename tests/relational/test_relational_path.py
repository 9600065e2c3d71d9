"""Shortest paths by frame operations: those of the kernels."""

import math

import dask
import hypothesis.strategies as st
import pandas
import pytest
from conftest import FrameMaker, columns_of, in_partitions, random_edges, to_pandas
from hypothesis import given, settings
from test_agreement import edge_lists, policies, source_lists, split_rows
from test_inputs import SOURCES, assert_same

import rapidsgraph as rg
from rapidsgraph.relational.frame_graph import as_frame_graph

pytestmark = pytest.mark.usefixtures("one_thread_of_dask")

target_lists = st.lists(st.integers(0, 10), min_size=1, max_size=4)


def assert_same_paths(graph, source, target):
    for weighted in (True, False):
        assert_same(
            lambda method, weighted=weighted: rg.shortest_path(
                graph, source, target, weighted=weighted, method=method
            )
        )


@given(edge_lists, source_lists, target_lists, st.booleans(), policies)
@settings(max_examples=20)
def test_paths_in_graphs(edges, sources, targets, directed, multi_edges):
    options = {"directed": directed, "multi_edges": multi_edges, "vertices": 11}
    graph = rg.Graph(FrameMaker("pandas")(columns_of(edges)), weight="weight", **options)
    assert_same_paths(graph, sources, targets)
    assert_same_paths(graph, sources[0], targets[0])


def test_a_long_path_and_a_target_without_one():
    """Seventeen vertices: paths double in length up to sixteen steps, and end at the source."""
    path = [(vertex, vertex + 1, 0.5) for vertex in range(16)]
    frame = pandas.DataFrame(columns_of([*path, (20, 0, 1.0)]))
    result = rg.shortest_path(frame, 0, [16, 20, 0, 7], method="frames")
    assert result["target"].tolist() == [16] * 17 + [0] + [7] * 8
    assert result["vertex"].tolist() == [*range(17), 0, *range(8)]
    assert result["distance"].tolist() == [v / 2 for v in [*range(17), 0, *range(8)]]
    assert rg.shortest_path(frame, 0, 20, method="frames").empty


def test_vertices_that_only_edges_without_length_reach():
    edges = [(0, 1, 0.0), (1, 2, 0.0), (0, 3, 0.0), (3, 2, 0.0), (2, 4, 1.0), (4, 5, 0.0)]
    frame = pandas.DataFrame(columns_of(edges))
    assert_same_paths(frame, 0, [5, 2, 4])


@pytest.mark.parametrize("kind", [int, str])
def test_frames_of_every_library(make_frame, kind):
    columns = columns_of(random_edges(7, 20, 60))
    for end in ("source", "destination"):
        columns[end] = columns[end].astype(kind)
    frame = make_frame(columns)
    first, *others = columns["destination"][:5].tolist()
    assert_same_paths(frame, first, [*others, first, others[0]] if kind is int else others[0])


@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_dask_frames_and_their_graphs(partitions):
    frame = pandas.DataFrame(columns_of(random_edges(5, 60, 200)))
    spread = in_partitions(frame, partitions)
    targets = list(range(60, 0, -7))
    targets = [vertex for vertex in targets if vertex in frame["destination"].values]
    for graph in (spread, rg.Graph(spread, multi_edges="min")):
        for weighted in (True, False):
            expected = rg.shortest_path(frame, 7, targets, weighted=weighted)
            with dask.config.set(scheduler="threads"):  # as users do
                result = rg.shortest_path(graph, 7, targets, weighted=weighted, method="frames")
            assert hasattr(result, "dask")
            pandas.testing.assert_frame_equal(to_pandas(result), expected)


def test_names_of_several_columns_in_partitions():
    columns = columns_of(random_edges(72, 30, 90))
    frame = pandas.DataFrame(columns).assign(net="a")
    graph = rg.Graph(frame, ["net", "source"], ["net", "destination"], multi_edges="min")
    tables = as_frame_graph(graph)
    tables.arcs = split_rows(tables.arcs.frame, 3).partition(tables.name_columns("source"))
    tables.vertices = split_rows(tables.vertices.frame, 3).partition(tables.name_columns("vertex"))
    names = [("a", name) for name in frame["destination"].unique()[:6].tolist()]
    assert_same_paths(graph, names[0], names)
    expected = rg.shortest_path(graph, names[0], names[::-1])
    result = rg.shortest_path(tables, names[0], names[::-1], method="frames").compute()
    pandas.testing.assert_frame_equal(result, expected)


@pytest.mark.parametrize("target", SOURCES, ids=repr)
def test_targets_and_their_errors(target):
    edges = {"source": [3, 4, 5, 3], "destination": [4, 5, 6, 7], "weight": [1.0, 2.0, 0.5, 1.0]}
    frame = FrameMaker("pandas")(edges)
    assert_same(lambda method: rg.shortest_path(frame, 3, target, method=method))
    assert_same(lambda method: rg.shortest_path(frame, target, 6, method=method))


def test_name_columns_may_not_be_called_like_results():
    for column in ("distance", "target"):
        frame = pandas.DataFrame({column: ["x", "y"], "source": [1, 1], "destination": [2, 3]})
        graph = rg.Graph(frame, [column, "source"], [column, "destination"])
        assert_same_paths(graph, ("x", 1), ("x", 2))
        assert_same_paths(graph, ("x", 1), [("x", 2)])


def test_distances_beyond_double_precision_matter_at_targets_only():
    edges = {"source": [3, 4, 3], "destination": [4, 5, 6], "weight": [1.7e308, 1e308, 2.0]}
    frame = pandas.DataFrame(edges)
    assert_same_paths(frame, 3, 6)
    assert_same_paths(frame, 3, 5)
    with pytest.raises(rg.GraphError, match="the distance to vertex 5 is more than"):
        rg.shortest_path(frame, 3, [6, 5], method="frames")
    assert rg.shortest_path(frame, 3, 4, method="frames")["distance"].max() < math.inf
