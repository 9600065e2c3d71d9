"""Layered edge lists as frame operations, and the stores that Dask workers write."""

import os

import hypothesis.strategies as st
import numpy as np
import pandas
import pytest
from conftest import columns_of, random_edges
from hypothesis import given, settings
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.layered.packing import split_rows
from rapidsgraph.relational import layered_build, layered_tasks, layering
from rapidsgraph.relational.frame_graph import as_frame_graph


def names_of(vertices, positions):
    """Return the names of vertices at positions; those of several columns as tuples."""
    columns = [name for name in vertices if name.startswith("vertex_")]
    rows = vertices[columns].iloc[positions].itertuples(index=False, name=None)
    return [row if len(row) > 1 else row[0] for row in rows]


def combine_layers(layers, minimum_edges):
    """Combine consecutive layers into lists of at least `minimum_edges`; the last has the rest."""
    edges = layers["forward_edges"] + layers["backward_edges"]
    numbers, number, total = [], 0, 0
    for count in edges.values.tolist():
        if total >= minimum_edges:
            number, total = number + 1, 0
        numbers.append(number)
        total += count
    lists = layers[["layer"]].rename(columns={"layer": "first_layer"})
    lists = lists.assign(last_layer=layers["layer"], edges=edges, number=numbers)
    how = {"first_layer": "min", "last_layer": "max", "edges": "sum"}
    lists = lists.groupby("number", as_index=False).agg(how).sort_values("number")
    return lists[list(how)].reset_index(drop=True)


def check(graph, root, minimum_edges=7, source=("source",), destination=("destination",)):
    """Check the relational form against the kernels."""
    layered = rg.LayeredEdgeList.build(graph, root, minimum_edges=minimum_edges)
    frame_graph = as_frame_graph(graph, "weight", multi_edges="first")
    vertex = frame_graph.name_columns("vertex")
    _, tuples = layering.number_names(frame_graph)
    row = dict(zip(vertex, root if isinstance(root, tuple) else (root,)))
    root_row = tuples[-1].filter(
        lambda ids: np.logical_and.reduce([ids[name] == value for name, value in row.items()])
    )
    vertices = layering.order_vertices(frame_graph, tuples[-1], root_row)
    edges = layering.split_edges(frame_graph, vertices)
    layers = layering.summarize_layers(vertices, edges)
    assert_frame_equal(layers, layered.layers)
    assert_frame_equal(combine_layers(layers, minimum_edges), layered.combined)
    vertices, expected = vertices.collect(), layered.edges()
    edges = edges.collect().sort_values(["position", "is_backward", "neighbor_id"])
    for columns, positions in ((source, edges["position"]), (destination, edges["neighbor"])):
        rows = expected[list(columns)].itertuples(index=False, name=None)
        assert names_of(vertices, positions) == [r if len(r) > 1 else r[0] for r in rows]
    assert expected["forward"].tolist() == (~edges["is_backward"]).tolist()
    if "weight" in expected:
        assert expected["weight"].tolist() == edges["weight"].tolist()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.just(1)), min_size=1))
@settings(max_examples=15)
def test_random_graphs(edges):
    frame = pandas.DataFrame(columns_of(edges))[["source", "destination"]]
    check(frame, edges[0][0], minimum_edges=2)
    check(frame.astype(str), str(edges[0][1]))


def test_weights_directions_isolated_vertices_and_several_columns():
    frame = pandas.DataFrame(columns_of(random_edges(3, 60, 150)))
    check(rg.Graph(frame, multi_edges="first", directed=False, vertices=70), 3)
    frame = frame.assign(net=(frame["source"] % 2).astype(str))
    graph = rg.Graph(frame, ["net", "source"], ["net", "destination"], multi_edges="keep")
    root = frame["net"][0], int(frame["source"][0])
    check(graph, root, source=("net", "source"), destination=("net", "destination"))


@given(st.lists(st.integers(0, 30), min_size=1), st.integers(1, 200), st.sampled_from([4, 8, 12]))
def test_ranges_of_rows_are_those_of_one_memory(degrees, partition_bytes, edge_bytes):
    """Whatever the partitions of the frame of degrees."""
    offsets = np.cumsum([0, *degrees])
    ranges = [(0, 0, 0)]
    for part in np.array_split(degrees, 3):
        frame = pandas.DataFrame({"degree": part})
        ranges = layered_tasks.extend_ranges(ranges, frame, edge_bytes, partition_bytes)
    expected = split_rows(offsets, edge_bytes - 4, partition_bytes)
    assert [(start, stop) for start, stop, _ in ranges] == expected
    assert [edges for *_, edges in ranges] == [offsets[b] - offsets[a] for a, b in expected]


# Stores


@pytest.fixture
def dataframe():
    """Dask's module of frames, which are computed in this thread."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield pytest.importorskip("dask.dataframe")


@pytest.fixture
def edges():
    return pandas.DataFrame(columns_of(random_edges(5, 100, 250)))


def read_store(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_store(tmp_path, graph, dask_graph, root, **options):
    """Check that workers write the bytes that one memory writes; return the list."""
    rg.LayeredEdgeList.build(graph, root, **options).save(tmp_path / "expected")
    layered = rg.LayeredEdgeList.build(dask_graph, root, store=tmp_path / "store", **options)
    assert read_store(tmp_path / "store") == read_store(tmp_path / "expected")
    assert sorted(os.listdir(tmp_path)) == ["expected", "store"]
    return layered


@pytest.mark.parametrize(("num_partitions", "partition_bytes"), [(1, 100), (3, 2**24), (5, 100)])
def test_stores(tmp_path, dataframe, edges, num_partitions, partition_bytes):
    edges = edges[["source", "destination"]]
    options = {"partition_bytes": partition_bytes, "minimum_edges": 10}
    frame = dataframe.from_pandas(edges, npartitions=num_partitions)
    layered = check_store(tmp_path, edges, frame, int(edges["source"][0]), **options)
    expected = rg.bfs(edges, int(edges["source"][0]))
    assert_frame_equal(rg.bfs(layered, int(edges["source"][0])), expected, check_dtype=False)


def int8_names(edges):
    return edges.astype("int8") - 50


def many_sinks(edges):
    """Ranges of rows without edges become partitions without words."""
    sinks = np.arange(1000, 1500)
    return pandas.concat([edges, pandas.DataFrame({"source": 1, "destination": sinks})])


def consecutive_names(edges):
    path = np.arange(100)
    return pandas.DataFrame(
        {"source": [*edges["source"], *path], "destination": [*edges["destination"], *path]}
    )


def text_names(edges):
    return edges.astype(str).replace("1", "")


@pytest.mark.parametrize("rename", [int8_names, consecutive_names, many_sinks, text_names])
def test_stores_of_names(tmp_path, dataframe, edges, rename):
    edges = rename(edges[["source", "destination"]]).reset_index(drop=True)
    root = edges["source"].iloc[0]
    root = root.item() if hasattr(root, "item") else root
    frame = dataframe.from_pandas(edges, npartitions=3)
    check_store(tmp_path, edges, frame, root, partition_bytes=300)


@pytest.mark.parametrize("directed", [True, False])
def test_store_of_parallel_edges(tmp_path, dataframe, directed):
    """They are in the order of the rows, however the tasks deliver them."""
    random = np.random.default_rng(0)
    ends = {end: random.integers(0, 9, 100) for end in ("source", "destination")}
    edges = pandas.DataFrame({**ends, "weight": random.random(100)})
    options = {"weight": "weight", "directed": directed, "multi_edges": "keep"}
    graph = rg.Graph(dataframe.from_pandas(edges, npartitions=3), **options)
    check_store(tmp_path, rg.Graph(edges, **options), graph, 0, partition_bytes=200)


@pytest.mark.parametrize("weights", [np.float32, np.float64])
def test_store_of_a_weighted_graph(tmp_path, dataframe, edges, weights):
    random = np.random.default_rng(0)
    edges["weight"] = random.random(len(edges)).astype(weights)
    options = {"weight": "weight", "directed": False, "multi_edges": "min"}
    frame = dataframe.from_pandas(edges, npartitions=3)
    root = int(edges["source"][0])
    check_store(tmp_path, rg.Graph(edges, **options), rg.Graph(frame, **options), root)


def test_store_of_names_of_several_columns(tmp_path, dataframe, edges):
    edges = edges.assign(net=(edges["source"] % 2).astype(str), a=edges["source"] % 3, b=1)
    names = ["net", "a", "source"], ["net", "b", "destination"]
    graph = rg.Graph(dataframe.from_pandas(edges, npartitions=3), *names)
    root = tuple(edges[names[0]].iloc[0].tolist())
    expected = rg.Graph(edges, *names, multi_edges="first")
    check_store(tmp_path, expected, graph, root, partition_bytes=200)


@pytest.mark.parametrize("failing", ["pack_partitions", "write_words", "write_column"])
def test_failed_builds_leave_nothing(tmp_path, dataframe, edges, monkeypatch, failing):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    frame = dataframe.from_pandas(edges[["source", "destination"]], npartitions=3)
    rg.LayeredEdgeList.build(edges[["source", "destination"]], 1).save(tmp_path / "store")
    before = read_store(tmp_path / "store")
    monkeypatch.setattr(layered_build, failing, fail)
    with pytest.raises(rg.GraphError, match="disk is full"):
        rg.LayeredEdgeList.build(frame, 1, store=tmp_path / "store")
    assert os.listdir(tmp_path) == ["store"] and read_store(tmp_path / "store") == before


def test_interrupted_build_leaves_nothing(tmp_path, dataframe, edges, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    frame = dataframe.from_pandas(edges[["source", "destination"]], npartitions=3)
    monkeypatch.setattr(layered_build, "pack_partitions", interrupt)
    with pytest.raises(KeyboardInterrupt):
        rg.LayeredEdgeList.build(frame, 1, store=tmp_path / "store")
    assert not os.listdir(tmp_path)


def test_unsuitable_arguments(tmp_path, dataframe, edges, monkeypatch):
    frame = dataframe.from_pandas(edges[["source", "destination"]], npartitions=3)
    with pytest.raises(rg.GraphError, match="store is required"):
        rg.LayeredEdgeList.build(frame, 1)
    with pytest.raises(rg.GraphError, match="directed is an option for the path of a file"):
        rg.LayeredEdgeList.build(frame, 1, store=tmp_path / "store", directed=False)
    with pytest.raises(rg.VertexNotFoundError, match="root: vertex 1000 is not in the graph"):
        rg.LayeredEdgeList.build(frame, 1000, store=tmp_path / "store")
    monkeypatch.setattr(layered_build, "free_memory", lambda xp: 1000)
    with pytest.raises(rg.InsufficientMemoryError, match="a partition of"):
        rg.LayeredEdgeList.build(frame, 1, store=tmp_path / "store")
    assert not os.listdir(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("forked_workers")
def test_store_written_by_a_cluster(tmp_path, edges):
    distributed = pytest.importorskip("distributed")
    dataframe = pytest.importorskip("dask.dataframe")
    edges = edges[["source", "destination"]]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        frame = dataframe.from_pandas(edges, npartitions=2)
        layered = check_store(tmp_path, edges, frame, 1, partition_bytes=100)
        result, expected = rg.bfs(layered, 1).compute(), rg.bfs(edges, 1)
        assert_frame_equal(result, expected, check_dtype=False)
