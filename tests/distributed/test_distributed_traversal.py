"""BFS and SSSP on several ranks: the results of one memory, whatever the supersteps are."""

import math
import os
import signal
import threading

import dask.dataframe
import numpy as np
import pandas
import pytest
from conftest import in_partitions, restore_workers
from distributed import Client, LocalCluster, WorkerPlugin
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.algorithms.traversal import allocate_queues, relax_from
from rapidsgraph.distributed import replica, traversal
from rapidsgraph.graph.local_graph import storage_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_workers")]


def random_frame(seed, num_vertices=60, num_edges=240):
    """Return edges with a few hubs, gaps between names, and many weights of 0."""
    random = np.random.default_rng(seed)
    ends = (num_vertices * random.random((2, num_edges)) ** 2).astype(np.int64) * 3
    weights = random.choice([0.0, 0.0, 0.1, 0.3, 1.0, 7.5], num_edges)
    return pandas.DataFrame({"source": ends[0], "destination": ends[1], "weight": weights})


def disable_replicas():
    replica.MAX_REPLICA_ARCS.update(cpu=-1, gpu=-1)


@pytest.fixture(autouse=True)
def no_replicas(monkeypatch):
    """Have ranks search partitions, although the graphs are small."""
    monkeypatch.setattr(replica, "MAX_REPLICA_ARCS", {"cpu": -1, "gpu": -1})


@pytest.fixture(params=[1, 2, 4])
def num_ranks(request, monkeypatch):
    use_local_ranks(monkeypatch, request.param)
    return request.param


@pytest.fixture(params=["levels", "many levels", "bottom-up"])
def supersteps(request, monkeypatch):
    """Have BFS take one level in a superstep, soon more and more, or large frontiers only."""
    few, many = dict.fromkeys(("cpu", "gpu"), 0), dict.fromkeys(("cpu", "gpu"), 10**9)
    monkeypatch.setattr(traversal, "MIN_ARCS", many if request.param == "many levels" else few)
    monkeypatch.setattr(traversal, "NUM_SMALL", 0)
    monkeypatch.setattr(traversal, "BFS_ALPHA", 10**9 if request.param == "bottom-up" else 0)
    return request.param


def check(call, spread, whole):
    result = call(spread).compute()
    assert_frame_equal(result, call(whole), check_exact=True)
    assert result.index.equals(pandas.RangeIndex(len(result)))


@pytest.mark.parametrize("directed", [True, False])
def test_bfs(num_ranks, supersteps, directed):
    for seed in range(2):
        frame = random_frame(seed)
        spread = rg.Graph(in_partitions(frame, 3), directed=directed)
        whole, sources = rg.Graph(frame, directed=directed), frame["source"].iloc[[0, 9]].tolist()
        check(lambda graph: rg.bfs(graph, sources[0]), spread, whole)  # noqa: B023
        check(lambda graph: rg.bfs(graph, sources), spread, whole)  # noqa: B023
        for limit in range(4):
            check(lambda graph: rg.bfs(graph, sources, depth_limit=limit), spread, whole)  # noqa: B023
        check(lambda graph: rg.bfs(graph, sources, predecessors=False), spread, whole)  # noqa: B023
        check(lambda graph: rg.sssp(graph, sources, cutoff=2.5), spread, whole)  # noqa: B023


@pytest.mark.parametrize("num_ranks", [2, 3], indirect=True)
@pytest.mark.parametrize("directed", [True, False])
def test_bfs_top_down_before_and_after_bottom_up(num_ranks, directed, monkeypatch):
    """Predecessors of the levels before and after those that are expanded bottom-up."""
    monkeypatch.setattr(traversal, "MIN_ARCS", {"cpu": 0, "gpu": 0})  # single levels
    monkeypatch.setattr(traversal, "BFS_ALPHA", 5)
    monkeypatch.setattr(traversal, "BFS_BETA", 3)
    levels, expand = [], traversal.Traversal._expand_bottom_up

    def watched(self, distance):
        bound = expand(self, distance)
        levels.append((distance, bound))
        return bound

    monkeypatch.setattr(traversal.Traversal, "_expand_bottom_up", watched)
    random = np.random.default_rng(6)
    dense = random.integers(10, 210, (2, 2000))
    paths = np.concatenate([np.arange(10), np.arange(210, 220)])
    gate = dense[1, 0]  # where the second path starts
    ends = np.concatenate([dense, [paths, paths + 1], [[gate], [210]]], axis=1)
    names = random.permutation(221)  # so that every rank has vertices of each region
    frame = pandas.DataFrame(names[ends].T, columns=["source", "destination"])
    spread = rg.Graph(in_partitions(frame, 3), directed=directed)
    check(lambda graph: rg.bfs(graph, names[0]), spread, rg.Graph(frame, directed=directed))
    farthest = rg.bfs(rg.Graph(frame, directed=directed), names[0])["distance"].max()
    assert len(levels) == num_ranks
    for start, stop in levels:
        assert 0 < start < stop < farthest


@pytest.mark.parametrize("directed", [True, False])
def test_sssp(num_ranks, directed):
    for seed in range(3):
        frame = random_frame(seed)
        options = {"weight": "weight", "multi_edges": "min", "directed": directed}
        spread, whole = rg.Graph(in_partitions(frame, 3), **options), rg.Graph(frame, **options)
        sources = frame["source"].iloc[[0, 9]].tolist()
        for cutoff in (None, 0, 0.3, 1.4):
            check(lambda graph: rg.sssp(graph, sources, cutoff=cutoff), spread, whole)  # noqa: B023
        check(lambda graph: rg.sssp(graph, sources[1], predecessors=False), spread, whole)  # noqa: B023


@pytest.mark.parametrize("directed", [True, False])
def test_small_graphs_are_searched_by_every_rank(num_ranks, directed, monkeypatch):
    monkeypatch.setattr(replica, "MAX_REPLICA_ARCS", {"cpu": 2**20, "gpu": 2**20})
    monkeypatch.setattr(traversal, "Traversal", None)  # that would take supersteps
    frame = random_frame(4)
    for weight in (None, "weight"):
        options = {"weight": weight, "multi_edges": "min", "directed": directed}
        if weight is None:
            options["multi_edges"] = "first"
        spread, whole = rg.Graph(in_partitions(frame, 3), **options), rg.Graph(frame, **options)
        sources = frame["source"].iloc[[0, 9]].tolist()
        for _ in range(2):  # the second time with the copies of the first
            check(lambda graph: rg.bfs(graph, sources), spread, whole)  # noqa: B023
            check(lambda graph: rg.sssp(graph, sources[0]), spread, whole)  # noqa: B023
        check(lambda graph: rg.bfs(graph, sources, predecessors=False), spread, whole)  # noqa: B023
    check(lambda edges: rg.bfs(edges, sources[0]), in_partitions(frame, 3), frame)


def test_graphs_without_room_for_copies(num_ranks, monkeypatch):
    """Where the whole graph would take much of the free memory, partitions are searched."""
    monkeypatch.setattr(replica, "MAX_REPLICA_ARCS", {"cpu": 2**20, "gpu": 2**20})
    frame, searched = random_frame(4), []
    find_distances = traversal.Traversal.find_distances

    def watched(self, *arguments):
        searched.append(True)
        return find_distances(self, *arguments)

    monkeypatch.setattr(traversal.Traversal, "find_distances", watched)
    spread, source = rg.Graph(in_partitions(frame, 3)), int(frame["source"][0])
    storage_of(spread).partitions("csc")
    monkeypatch.setattr(traversal.device, "free_memory", lambda xp: 1000)
    monkeypatch.setattr(traversal, "check_search_memory", lambda *arguments: None)
    found = rg.bfs(spread, source).compute()
    monkeypatch.undo()
    assert_frame_equal(found, rg.bfs(frame, source))
    assert len(searched) == (num_ranks if num_ranks > 1 else 0)


def test_frames_are_searched_without_their_transpose(num_ranks, supersteps):
    frame = random_frame(5)
    spread, source = in_partitions(frame, 3), int(frame["source"][0])
    check(lambda edges: rg.bfs(edges, source), spread, frame)
    check(lambda edges: rg.sssp(edges, source), spread, frame)


def test_more_ranks_than_vertices(num_ranks):
    pair = pandas.DataFrame({"source": [4, 4], "destination": [6, 4], "weight": [0.0, 2.0]})
    spread, whole = rg.Graph(in_partitions(pair, 2)), rg.Graph(pair)
    for source in (4, 6):
        check(lambda graph: rg.bfs(graph, source), spread, whole)  # noqa: B023
        check(lambda graph: rg.sssp(graph, source), spread, whole)  # noqa: B023


def test_large_frontiers_are_expanded_bottom_up(num_ranks, monkeypatch):
    entries, launch = [], device.launch

    def record(stem, entry, **arguments):
        entries.append(entry)
        launch(stem, entry, **arguments)

    monkeypatch.setattr(device, "launch", record)
    frame = random_frame(7, 400, 8000)
    spread = rg.Graph(in_partitions(frame, 3), directed=False)
    check(lambda graph: rg.bfs(graph, 0), spread, rg.Graph(frame, directed=False))
    assert entries.count("expand_bottom_up") >= (num_ranks if num_ranks > 1 else 0)
    assert ("expand_bottom_up" in entries) == (num_ranks > 1)


def test_long_paths_take_few_supersteps(num_ranks):
    """The path crosses from range to range only at their bounds."""
    path = pandas.DataFrame({"source": np.arange(4999), "destination": np.arange(1, 5000)})
    spread, steps = rg.Graph(in_partitions(path, 3)), []
    result = rg.bfs(spread, 0, progress=lambda done, total, text: steps.append(done))
    assert_frame_equal(result.compute(), rg.bfs(path, 0))
    assert steps == list(range(1, len(steps) + 1)) and len(steps) < 40


def test_paths_that_change_ranks_at_every_edge(num_ranks):
    order = np.random.default_rng(1).permutation(400)
    path = pandas.DataFrame({"source": order[:-1], "destination": order[1:]})
    path["weight"] = np.random.default_rng(2).random(len(path))
    options = {"weight": "weight"}
    spread, whole = rg.Graph(in_partitions(path, 3), **options), rg.Graph(path, **options)
    check(lambda graph: rg.bfs(graph, int(order[0])), spread, whole)
    check(lambda graph: rg.sssp(graph, int(order[0])), spread, whole)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_weights_of_any_scale(num_ranks, scale):
    """Bounds of supersteps neither vanish nor overflow."""
    frame = random_frame(8)
    frame["weight"] *= scale
    options = {"weight": "weight", "multi_edges": "min"}
    spread, whole = rg.Graph(in_partitions(frame, 3), **options), rg.Graph(frame, **options)
    check(lambda graph: rg.sssp(graph, 0), spread, whole)


def test_overflow_is_reported(num_ranks):
    frame = pandas.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [1e308, 1e308]})
    graph = rg.Graph(in_partitions(frame, 3), weight="weight")
    with pytest.raises(rg.GraphError, match="vertex 2"):
        rg.sssp(graph, 0)
    check(lambda g: rg.sssp(g, 0, cutoff=1.5e308), graph, rg.Graph(frame, weight="weight"))


@pytest.mark.parametrize("uses_heap", [False, True])
@pytest.mark.parametrize("stop", [0.5, 1.0, 2.0, 5.0, math.inf])
def test_relaxation_stops(monkeypatch, stop, uses_heap):
    """Vertices at `stop` or farther are reached only by arcs from nearer ones."""
    monkeypatch.setattr(
        "rapidsgraph.algorithms.traversal.has_wide_weights", lambda graph: uses_heap
    )
    frame = random_frame(9)
    graph = storage_of(rg.Graph(frame, weight="weight", multi_edges="min"))
    queues = allocate_queues(graph.num_vertices, np)
    complete, distances = (np.full(graph.num_vertices, math.inf) for _ in range(2))
    source = np.zeros(1, np.int32)
    for values, bound in ((complete, math.inf), (distances, stop)):
        values[0] = 0.0
        relax_from(graph, source, values, stop=bound, queues=queues)
    expected = complete.copy()
    expected[complete >= stop] = math.inf
    rows = np.repeat(np.arange(graph.num_vertices), np.diff(graph.csr.offsets))
    is_near = complete[rows] < stop
    heads = graph.csr.neighbors[is_near]
    np.minimum.at(expected, heads, complete[rows[is_near]] + graph.csr.weights[is_near])
    np.testing.assert_array_equal(distances, expected)


# On a cluster


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        client.register_plugin(PartitionsOnly())
        yield client


class PartitionsOnly(WorkerPlugin):
    """Disables copies of small graphs on a worker, also after it has restarted."""

    def setup(self, worker):
        disable_replicas()


def kill_in(method, path):
    """In a worker: end the process when a rank calls a method, once per path."""

    def end(*arguments):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return original(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    original = getattr(traversal.Traversal, method)
    setattr(traversal.Traversal, method, end)


@pytest.mark.parametrize(
    "method",
    [
        "_exchange",
        pytest.param("_expand_bottom_up", marks=pytest.mark.long),
        "find_predecessors",
    ],
)
def test_a_worker_is_killed_during_a_search(client, tmp_path, method):
    restore_workers(client, 2)
    frame = random_frame(7, 400, 8000)
    graph = rg.Graph(in_partitions(frame, 3), directed=False)
    client.run(kill_in, method, str(tmp_path / "killed"))
    check(lambda g: rg.bfs(g, 0), graph, rg.Graph(frame, directed=False))
    assert (tmp_path / "killed").exists()


def test_two_searches_at_once(client):
    restore_workers(client, 2)
    frame = random_frame(11, 3000, 20000)
    options = {"weight": "weight", "multi_edges": "min"}
    graph, results = rg.Graph(in_partitions(frame, 3), **options), {}

    def search(call):
        results[call] = call(graph, 0).compute()

    threads = [threading.Thread(target=search, args=(call,)) for call in (rg.bfs, rg.sssp)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for call, result in results.items():
        assert_frame_equal(result, call(rg.Graph(frame, **options), 0), check_exact=True)
    assert len(results) == 2


def test_a_search_within_a_task(client):
    restore_workers(client, 2)
    frame = random_frame(12)
    expected = rg.bfs(rg.Graph(frame), 0)
    assert_frame_equal(client.submit(search_in_task, frame).result(), expected)


def search_in_task(frame):
    spread = dask.dataframe.from_pandas(frame, npartitions=2, sort=False)
    return rg.bfs(rg.Graph(spread), 0).compute()
