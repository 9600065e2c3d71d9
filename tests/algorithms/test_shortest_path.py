"""Shortest paths between vertices, against the paths that `bfs` and `sssp` imply and NetworkX."""

import dask.dataframe
import networkx
import numpy as np
import pandas
import pyarrow
import pytest
from conftest import build_storage, columns_of, in_partitions, listed, paths_of, random_edges
from local_ranks import use_local_ranks

import rapidsgraph as rg
from rapidsgraph.algorithms import traversal
from rapidsgraph.distributed import executor, replica

INF = float("inf")
DETOUR = [("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", 3.0), ("c", "d", 0.0), ("x", "a", 1.0)]


def detour():
    return pandas.DataFrame(DETOUR, columns=["source", "destination", "weight"])


def expected_paths(result, targets):
    """The columns of paths along the predecessors of a result of bfs or sssp."""
    distances, predecessors = paths_of(result)
    columns = {"target": [], "vertex": [], "distance": []}
    for target in targets:
        path, vertex = [], target if distances[target] not in (None, INF) else None
        while vertex is not None:
            path.append(vertex)
            vertex = predecessors[vertex]
        columns["target"] += [target] * len(path)
        columns["vertex"] += path[::-1]
        columns["distance"] += [distances[vertex] for vertex in path[::-1]]
    return columns


def check_all_targets(graph, source):
    """Some targets alone, and all together in descending order."""
    for weighted, search in ((True, rg.sssp), (False, rg.bfs)):
        result = search(graph, source)
        targets = sorted(paths_of(result)[0], reverse=True)
        found = rg.shortest_path(graph, source, targets, weighted=weighted)
        assert listed(found) == expected_paths(result, targets)
        for target in targets[::5]:
            found = rg.shortest_path(graph, source, target, weighted=weighted)
            expected = expected_paths(result, [target])
            del expected["target"]
            assert listed(found) == expected


@pytest.fixture(params=["queues", "heap"])
def kernel(request, monkeypatch):
    """Search by either kernel of shortest paths on a CPU."""
    monkeypatch.setattr(traversal, "has_wide_weights", lambda _: request.param == "heap")


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("directed", [True, False])
def test_paths_follow_the_predecessors_of_a_whole_search(make_arrays, directed):
    for seed in range(2):
        columns = columns_of(random_edges(seed))
        graph = rg.Graph(make_arrays(columns), multi_edges="first", directed=directed)
        check_all_targets(graph, [7, 8])
        rg.pagerank(graph)  # builds the CSC
        check_all_targets(graph, 9)


def test_paths_have_the_lengths_of_networkx(make_arrays):
    columns = columns_of(random_edges(5, vertices=200, rows=900))
    graph = rg.Graph(make_arrays(columns), weight="weight", multi_edges="min")
    peer = graph.to_networkx()
    lengths = networkx.single_source_dijkstra_path_length(peer, 11)
    for target in range(0, 190, 17):
        path = listed(rg.shortest_path(graph, 11, target))
        if target not in lengths:
            assert path == {"vertex": [], "distance": []}
            continue
        assert networkx.path_weight(peer, path["vertex"], "weight") == lengths[target]
        assert path["distance"][-1] == lengths[target]


def test_a_path_from_every_library(make_frame):
    columns = columns_of([(0, 1, 1), (1, 2, 1), (0, 2, 3), (2, 3, 0.5), (4, 0, 1)])
    frame = make_frame(columns)
    found = rg.shortest_path(frame, 0, 3)
    assert type(found) is type(frame)
    assert listed(found) == {"vertex": [0, 1, 2, 3], "distance": [0.0, 1.0, 2.0, 2.5]}
    found = rg.shortest_path(frame, 0, [3, 4, 0], weighted=False)
    assert listed(found) == {
        "target": [3, 3, 3, 0], "vertex": [0, 2, 3, 0], "distance": [0, 1, 2, 0]
    }  # fmt: skip
    assert listed(rg.shortest_path(frame, 0, 4)) == {"vertex": [], "distance": []}


def test_no_path_keeps_the_types_of_columns():
    found = rg.shortest_path(detour(), "d", "a")
    assert found.dtypes.equals(rg.shortest_path(detour(), "a", "d").dtypes)
    found = rg.shortest_path(pyarrow.table({"source": [1], "destination": [2]}), 2, [1])
    assert [str(field.type) for field in found.schema] == ["int64", "int64", "double"]


def test_one_target_in_a_list_gives_the_column_of_targets():
    for target in (["c"], ("c",), {"c"}, np.array(["c"]), pandas.Series(["c"]), iter(["c"])):
        found = rg.shortest_path(detour(), "a", target)
        assert listed(found) == {
            "target": ["c"] * 3, "vertex": ["a", "b", "c"], "distance": [0.0, 1.0, 2.0]
        }  # fmt: skip
    assert list(rg.shortest_path(detour(), "a", np.str_("c"))) == ["vertex", "distance"]


def test_targets_keep_their_order_and_count_once():
    found = rg.shortest_path(detour(), "x", ["c", "a", "c", "x"])
    assert found["target"].drop_duplicates().tolist() == ["c", "a", "x"]
    assert len(found) == 4 + 2 + 1


def test_the_nearest_of_several_sources():
    assert rg.shortest_path(detour(), ["x", "b"], "d")["vertex"].tolist() == ["b", "c", "d"]


def test_a_graph_without_weights_has_the_types_of_sssp():
    graph = rg.Graph(detour(), weight=None)
    assert rg.shortest_path(graph, "a", "d")["distance"].tolist() == [0.0, 1.0, 2.0]
    assert rg.shortest_path(graph, "a", "d")["distance"].dtype == float
    assert rg.shortest_path(graph, "a", "d", weighted=False)["distance"].dtype == np.int32


def test_names_of_several_columns():
    stops = pandas.DataFrame(
        {"network": ["n", "n", "m"], "a": [1, 2, 1], "b": [2, 3, 2], "weight": [1.0, 2.0, 5.0]}
    )
    graph = rg.Graph(stops, ["network", "a"], ["network", "b"], weight="weight")
    found = rg.shortest_path(graph, ("n", 1), ("n", 3))
    assert listed(found) == {
        "network": ["n"] * 3, "vertex": [1, 2, 3], "distance": [0.0, 1.0, 3.0]
    }  # fmt: skip
    found = rg.shortest_path(graph, ("n", 1), [("n", 3), ("m", 2)])
    assert listed(found) == {
        "target": [3] * 3, "network": ["n"] * 3, "vertex": [1, 2, 3], "distance": [0.0, 1.0, 3.0]
    }  # fmt: skip


def test_text_of_arrow_keeps_its_type():
    edges = pyarrow.table(
        {"source": pyarrow.array(["a"], "large_string"), "destination": ["b"]}
    )  # fmt: skip
    found = rg.shortest_path(edges, "a", ["b"])
    assert [str(field.type) for field in found.schema] == ["large_string"] * 2 + ["double"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("q", "a"), "source: vertex 'q' is not in the graph"),
        (("a", ["b", "q"]), "target: vertex 'q' is not in the graph"),
        (("a", 7), "target: 7 is a number, but the vertex names of this graph are text"),
        (("a", None), "target is None; name a vertex, or several in a list"),
        (("a", []), "target is empty; name at least one vertex"),
    ],
)
def test_wrong_endpoints(arguments, message):
    with pytest.raises(rg.GraphError) as error:
        rg.shortest_path(rg.Graph(detour()), *arguments)
    assert str(error.value).startswith(message)
    assert error.value.parameter == message.split(":")[0].split()[0]


def test_wrong_parameters():
    with pytest.raises(rg.GraphError, match="weighted"):
        rg.shortest_path(detour(), "a", "b", weighted="km")
    with pytest.raises(rg.GraphError, match="applies to layered edge lists only"):
        rg.shortest_path(detour(), "a", "b", memory_limit="1GB")
    with pytest.raises(rg.GraphError, match="negative"):
        rg.shortest_path(detour().assign(weight=-1.0), "a", "b")


def test_a_name_column_that_collides_with_the_targets():
    stops = pandas.DataFrame({"target": ["n"], "a": [1], "b": [2]})
    graph = rg.Graph(stops, ["target", "a"], ["target", "b"])
    assert len(rg.shortest_path(graph, ("n", 1), ("n", 2))) == 2
    with pytest.raises(rg.GraphError, match="'target' collides with a result column"):
        rg.shortest_path(graph, ("n", 1), [("n", 2)])


def test_a_length_beyond_double_precision():
    edges = columns_of([(0, 1, 1e308), (1, 2, 1e308), (0, 3, 1.0)])
    assert listed(rg.shortest_path(edges, 0, 3))["distance"] == [0.0, 1.0]
    with pytest.raises(rg.GraphError, match="distance to vertex 2 is more than"):
        rg.shortest_path(edges, 0, 2)


@pytest.mark.sanitizer
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("bottom_up", [True, False])
def test_the_search_ends_at_the_targets(make_arrays, bottom_up):
    """Of a path of 1000 vertices, those farther than the targets are not reached."""
    edges = columns_of([(i, i + 1, 1.0 + i % 3) for i in range(1000)])
    graph = build_storage(make_arrays(edges), weight="weight")
    source, targets = (graph.xp.asarray(ids, dtype=np.int32) for ids in ([0], [7, 4]))
    result = traversal.run_bfs(graph, source, bottom_up=bottom_up, targets=targets)
    assert int((result.distances >= 0).sum()) == 8
    distances = graph.xp.full(1001, INF)
    distances[source] = 0
    traversal.relax_from(graph, source, distances, targets=targets)
    assert 8 <= int((distances < INF).sum()) < 50
    result = traversal.run_sssp(graph, source, bottom_up=bottom_up, targets=targets)
    assert int((result.distances < INF).sum()) == 8


def test_a_bottom_up_search_ends_at_the_targets(make_arrays):
    """A dense graph, in which the first levels are expanded bottom-up, and a path behind it."""
    random = np.random.default_rng(1)
    dense = random.integers(0, 300, (2, 6000))
    ends = np.concatenate([dense, [range(299, 400), range(300, 401)]], axis=1)
    graph = build_storage(make_arrays({"source": ends[0], "destination": ends[1]}), directed=False)
    source, target = (graph.xp.asarray(ids, dtype=np.int32) for ids in ([0], [5]))
    whole = traversal.run_bfs(graph, source)
    result = traversal.run_bfs(graph, source, targets=target)
    level = int(whole.distances[5])
    is_near = whole.distances <= level
    assert bool((result.distances[is_near] == whole.distances[is_near]).all())
    assert bool((result.predecessors[is_near] == whole.predecessors[is_near]).all())
    assert int(result.distances.max()) == level < int(whole.distances.max())


# Dask and layered edge lists


@pytest.fixture(params=[1, 3])
def num_ranks(request, monkeypatch):
    use_local_ranks(monkeypatch, request.param)
    return request.param


@pytest.mark.parametrize("max_arcs", [-1, 10**6], ids=["partitions", "replicas"])
def test_paths_on_several_ranks(num_ranks, monkeypatch, max_arcs):
    monkeypatch.setattr(replica, "MAX_REPLICA_ARCS", {"cpu": max_arcs, "gpu": max_arcs})
    frame = pandas.DataFrame(columns_of(random_edges(6)))
    whole = rg.Graph(frame, weight="weight", multi_edges="min")
    spread = rg.Graph(in_partitions(frame, 3), weight="weight", multi_edges="min")
    for targets in (30, [30, 2, 59, 5, 12], pandas.Series([5])):
        for weighted in (True, False):
            options = {"source": [7, 8], "target": targets, "weighted": weighted}
            found = rg.shortest_path(spread, **options)
            assert isinstance(found, dask.dataframe.DataFrame)
            expected = rg.shortest_path(whole, **options)
            pandas.testing.assert_frame_equal(found.compute(), expected)
    found = rg.shortest_path(in_partitions(frame, 3), 7, dask.dataframe.from_pandas(
        pandas.Series([30, 2]), npartitions=1
    ))  # fmt: skip
    pandas.testing.assert_frame_equal(found.compute(), rg.shortest_path(whole, 7, [30, 2]))


def test_a_distributed_search_ends_at_the_targets(monkeypatch):
    """Of a path of 1000 vertices, supersteps end soon after the target."""
    monkeypatch.setattr(executor, "get_active_client", lambda: None)
    monkeypatch.setattr(replica, "MAX_REPLICA_ARCS", {"cpu": -1, "gpu": -1})
    use_local_ranks(monkeypatch, 2)
    frame = pandas.DataFrame(columns_of([(i, i + 1, 1.0) for i in range(1000)]))
    graph = rg.Graph(in_partitions(frame, 3), weight="weight")
    from rapidsgraph.distributed import traversal as distributed_traversal

    bounds, relax = [], distributed_traversal.relax_from

    def watched(csr, active, distances, cutoff, bound, queues):
        bounds.append(bound)
        return relax(csr, active, distances, cutoff, bound, queues)

    monkeypatch.setattr(distributed_traversal, "relax_from", watched)
    assert len(rg.shortest_path(graph, 0, 7).compute()) == 8
    assert max(bounds) < 100


def test_paths_in_a_layered_edge_list():
    columns = columns_of(random_edges(6))
    graph = rg.Graph(pandas.DataFrame(columns), weight="weight", multi_edges="min")
    layered = rg.LayeredEdgeList.build(graph, 7)
    targets = list(range(59, 0, -1))
    targets = [name for name in targets if name in set(graph.vertices["vertex"])]
    for weighted in (True, False):
        for target in (targets, targets[0], 7):
            found = rg.shortest_path(layered, None, target, weighted=weighted)
            expected = rg.shortest_path(graph, 7, target, weighted=weighted)
            pandas.testing.assert_frame_equal(found, expected)
    assert rg.shortest_path(layered, 7, 7)["vertex"].tolist() == [7]
    with pytest.raises(rg.GraphError, match="the layers belong to the root 7"):
        rg.shortest_path(layered, 8, 7)


def test_a_layered_search_reads_the_layers_before_the_target():
    edges = columns_of([(i, i + 1, 1.0) for i in range(40)])
    layered = rg.LayeredEdgeList.build(rg.Graph(edges, weight=None), 0, partition_bytes=64)
    rg.shortest_path(layered, 0, 40)
    num_partitions = layered.last_run.partitions
    rg.shortest_path(layered, 0, 3)
    assert layered.last_run.partitions < num_partitions
