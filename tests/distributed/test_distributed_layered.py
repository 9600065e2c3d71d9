"""Layered edge lists on a cluster: equal to the list in memory, also if workers are lost."""

import contextlib
import gc
import sys
import time
import types

import hypothesis.strategies as st
import numpy as np
import pandas
import pytest
from conftest import columns_of, random_edges
from hypothesis import given, settings
from test_layered_traversal import BACK, SMALL
from test_streaming import damaged

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES
from rapidsgraph.dispatch import in_memory
from rapidsgraph.distributed import layered as algorithms
from rapidsgraph.distributed.communicator import LocalCommunicator
from rapidsgraph.distributed.layered_storage import DistributedLayeredStorage, balance_partitions
from rapidsgraph.distributed.spmd_worker import ignore_report
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import LayeredEdgeList, streaming
from rapidsgraph.layered.packing import COLUMN
from rapidsgraph.layered.storage import StreamStats

distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_workers")]

ROOT = 7
SHORT = {"tolerance": 0, "max_iterations": 5}
RUNS = {"bfs": (rg.bfs, {}), "sssp": (rg.sssp, {}), "pagerank": (rg.pagerank, SHORT)}
by_run = pytest.mark.parametrize("algorithm", RUNS)


def client_of(**options):
    cluster = distributed.LocalCluster(
        threads_per_worker=1, dashboard_address=":0", memory_limit=0, **options
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    """A client of two worker processes, which are restarted if they end."""
    yield from client_of(n_workers=2, processes=True)


@pytest.fixture(scope="module")
def threads():
    """A client of three workers in this process."""
    yield from client_of(n_workers=3, processes=False)


def stored(folder, edges, root, size, **options):
    options = {"weight": "weight", "multi_edges": "keep", **options}
    frame = edges if isinstance(edges, pandas.DataFrame) else pandas.DataFrame(columns_of(edges))
    graph = rg.Graph(frame, **options)
    LayeredEdgeList.build(graph, root, partition_bytes=size).save(folder)
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A store of about 40 partitions."""
    folder = tmp_path_factory.mktemp("stores") / "layers"
    return stored(folder, random_edges(100, 400, 2500), ROOT, 800, vertices=420)


@pytest.fixture
def copied(saved, tmp_path):
    """A copy of the store that a test may damage."""
    LayeredEdgeList.open(saved, device="cpu").save(tmp_path / "layers")
    return tmp_path / "layers"


def opened(folder, client):
    """Open a store on the cluster and in this process."""
    layers = LayeredEdgeList.open(folder, device="cpu", client=client)
    assert isinstance(layers, LayeredEdgeList)
    assert isinstance(storage_of(layers), DistributedLayeredStorage)
    return layers, LayeredEdgeList.open(folder, device="cpu")


def computed(layers, frame):
    """Compute a Dask frame after a check of its partitions."""
    client = storage_of(layers).client
    pieces = client.gather(client.compute(frame.to_delayed()))
    assert [piece.index[0] for piece in pieces] == list(frame.divisions[:-1])
    whole = pandas.concat(pieces)
    assert frame.columns.tolist() == whole.columns.tolist()
    assert frame.dtypes.tolist() == whole.dtypes.tolist()
    assert frame.npartitions == min(len(client.nthreads()), len(whole))
    assert frame.divisions[0] == 0 and frame.divisions[-1] == len(whole) - 1
    return whole


def check_same(algorithm, layers, whole, **options):
    run, more = RUNS[algorithm]
    found = computed(layers, run(layers, **more, **options))
    options.pop("memory_limit", None)
    expected = run(whole, **more, **options)
    within = {"rtol": 0, "atol": 1e-12} if algorithm == "pagerank" else {"check_exact": True}
    pandas.testing.assert_frame_equal(found, expected, **within)
    return found


# The same as in memory


@by_run
def test_equals_list_in_memory(client, saved, algorithm):
    layers, whole = opened(saved, client)
    calls = []
    run, more = RUNS[algorithm]
    run(layers, progress=lambda *call: calls.append(call), **more)
    assert len(check_same(algorithm, layers, whole)) == 420
    steps = [step for step, *_ in calls]
    assert steps == sorted(steps) and steps[0] > 0
    assert {total for _, total, _ in calls} == {5 if algorithm == "pagerank" else None}
    if algorithm != "sssp":  # its passes depend on what the others send
        assert layers.last_run == whole.last_run
        return
    assert calls[-1][2] == "predecessors"
    run = layers.last_run
    assert run.passes > whole.last_run.passes
    # Without a choice of active partitions it would be 1.75 times as many as in memory.
    assert len(storage_of(whole).table) < run.partitions < 1.75 * whole.last_run.partitions
    assert len(storage_of(whole).table) * 200 < run.nbytes < run.passes * whole.nbytes


def test_progress_of_pagerank(client, saved):
    """Some of the iterations are reported, and the last one."""
    layers, whole = opened(saved, client)
    calls = []
    rg.pagerank(layers, progress=lambda *call: calls.append(call))
    rg.pagerank(whole)
    count = whole.last_run.passes
    assert set(call[:2] for call in calls) <= {(done + 1, 100) for done in range(count)}
    assert calls[-1][0] == count and all(call[2].startswith("change ") for call in calls)
    assert layers.last_run == whole.last_run


def test_attributes_are_those_of_the_list(client, saved):
    layers, whole = opened(saved, client)
    for name in ("root", "depth", "num_vertices", "num_edges", "directed", "weighted", "nbytes"):
        assert getattr(layers, name) == getattr(whole, name)
    for name in ("layers", "combined"):
        pandas.testing.assert_frame_equal(getattr(layers, name), getattr(whole, name))
    assert layers.device == "cpu" and layers.path == saved and layers.last_run is None
    assert repr(layers) == (
        f"<LayeredEdgeList: 420 vertices, 2,500 edges, depth {whole.depth} from 7, "
        f"partitions: {len(storage_of(whole).table)}, cpu of 2 workers>"
    )


def test_operations_that_a_list_on_a_cluster_does_not_support(client, saved, tmp_path):
    layers, _ = opened(saved, client)
    for call in (layers.edges, lambda: layers.save(tmp_path / "copy")):
        with pytest.raises(rg.GraphError, match="does not support layered edge lists on a cluster"):
            call()
    with pytest.raises(rg.GraphError, match="scan does not support layered edge"):
        rg.scan(layers)
    with pytest.raises(rg.GraphError, match="on a cluster; open the list without client="):
        rg.estimate_memory(layers, "bfs")
    with pytest.raises(rg.GraphError, match="a layered edge list on a cluster cannot be collected"):
        in_memory(layers)


def test_results_are_dask_frames(client, saved):
    layers, whole = opened(saved, client)
    found = rg.sssp(layers)
    with client.as_current():
        pandas.testing.assert_frame_equal(found.compute(), rg.sssp(whole), check_exact=True)
        near = found[found["distance"] < 5].compute()
        assert len(found) == 420 and found.loc[100:102].compute()["vertex"].tolist() == [
            100,
            101,
            102,
        ]
    expected = rg.sssp(whole)
    assert near.equals(expected[expected["distance"] < 5]) and 20 < len(near) < 420


@pytest.mark.parametrize(
    ("weight", "directed"), [("weight", True), (None, False)], ids=["weighted, directed", "neither"]
)
def test_kinds_of_graphs_and_limits(threads, tmp_path, directed, weight):
    options = {"directed": directed, "weight": weight}
    folder = stored(tmp_path / "layers", random_edges(103, 60, 250), ROOT, 100, **options)
    layers, whole = opened(folder, threads)
    for algorithm in RUNS:
        check_same(algorithm, layers, whole)
    for limit in (0, 1):
        check_same("bfs", layers, whole, depth_limit=limit)
    check_same("sssp", layers, whole, cutoff=1.5)
    check_same("bfs", layers, whole, predecessors=False)
    assert layers.last_run == (0, 0, 0)
    check_same("sssp", layers, whole, predecessors=False, source=ROOT)


@pytest.mark.parametrize("name", SMALL)
def test_small_graphs(threads, tmp_path, name):
    """With fewer partitions than workers, no edges, or fewer vertices than workers."""
    edges, root, vertices = SMALL[name]
    layers, whole = opened(stored(tmp_path / "layers", edges, root, 1, vertices=vertices), threads)
    for algorithm in RUNS:
        check_same(algorithm, layers, whole)


def test_one_layer_on_all_workers(threads, tmp_path):
    """A star whose hub has many partitions."""
    leaves = np.arange(1, 500)
    edges = [(0, int(leaf), float(leaf % 7)) for leaf in leaves]
    layers, whole = opened(stored(tmp_path / "layers", edges, 0, 100), threads)
    own = storage_of(whole).table[storage_of(whole).table[:, COLUMN["words"]] > 0]
    assert whole.depth == 1 and (own[:, COLUMN["first"]] == 0).all()
    for algorithm in RUNS:
        check_same(algorithm, layers, whole)
    words = storage_of(layers).local.table[:, COLUMN["forward_words"]]
    assert all(start < stop for start, stop in balance_partitions(words, 3))


@pytest.mark.parametrize("size", [1, 200])
def test_paths_back_to_earlier_layers(threads, tmp_path, size):
    """Each link of a chain depends on the one before, on another worker."""
    times = 8
    edges = [(a + 4 * part, b + 4 * part, weight) for part in range(times) for a, b, weight in BACK]
    layers, whole = opened(stored(tmp_path / "layers", edges, 0, size), threads)
    found = check_same("sssp", layers, whole)
    assert found["distance"].tolist() == [
        place // 4 * 4 + (0, 3, 1, 2)[place % 4] for place in range(4 * times + 1)
    ]


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (0, 2))]
)
def test_stress(threads, tmp_path, seed):
    """Few distinct weights, many of them 0, so that most paths are ties; small partitions."""
    random = np.random.default_rng(seed)
    vertices, rows = 150, int(random.integers(150, 900))
    frame = pandas.DataFrame(
        {
            "source": random.integers(0, vertices, rows),
            "destination": random.integers(0, vertices, rows),
            "weight": random.choice([0.0, 0.0, 0.1, 0.2, 0.3], rows),
        }
    )
    root, size = int(frame["source"][0]), (1, 20, 150)[seed % 3]
    options = {"vertices": vertices, "directed": seed % 2 == 0}
    layers, whole = opened(stored(tmp_path / "layers", frame, root, size, **options), threads)
    assert len(storage_of(whole).table) > 20
    for algorithm in RUNS:
        check_same(algorithm, layers, whole)
    check_same("sssp", layers, whole, cutoff=0.3)


def test_names_of_text_and_of_several_columns(client, tmp_path):
    names = np.array(["b", "a", "", "ö", "a b"])
    ends = np.array([(0, 1), (1, 2), (1, 3), (4, 0), (3, 0)])
    frame = pandas.DataFrame({"source": names[ends[:, 0]], "destination": names[ends[:, 1]]})
    layers, whole = opened(stored(tmp_path / "text", frame, "b", 1, weight=None), client)
    for algorithm in RUNS:
        check_same(algorithm, layers, whole)
    found = computed(layers, rg.bfs(layers, "b"))
    assert found["vertex"].tolist() == ["", "a", "a b", "b", "ö"]
    assert found["predecessor"].isna().tolist() == [False, False, True, True, False]
    frame = pandas.DataFrame({"net": ["x", "x", "y"], "a": [0, 5, 0], "b": [5, 6, 5]})
    options = {"source": ["net", "a"], "destination": ["net", "b"], "weight": None}
    layers, whole = opened(stored(tmp_path / "pairs", frame, ("y", 0), 1, **options), client)
    for algorithm in RUNS:
        check_same(algorithm, layers, whole)
    check_same("bfs", layers, whole, source=("y", 0))


# Parameters


@pytest.mark.parametrize(
    "options",
    [
        {"personalization": {3: 2.0, 41: 6.0}},
        {"dangling": "drop"},
        {"dangling": {5: 1.0}, "start": {9: 1.0, 10: 3.0}},
        {"personalization": {3: 2.0}, "dangling": "uniform"},
        {"damping": 0.5},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_of_pagerank(threads, saved, options):
    layers, whole = opened(saved, threads)
    check_same("pagerank", layers, whole, **options)


def test_pagerank_takes_dask_frames_of_values(client, saved):
    from dask.dataframe import from_pandas

    layers, whole = opened(saved, client)
    shares_ = pandas.DataFrame({"vertex": [41, 3, 77], "value": [1.0, 2.0, 0.5]})
    found = rg.pagerank(
        layers, personalization=from_pandas(shares_, npartitions=2), start=shares_, **SHORT
    )
    expected = rg.pagerank(whole, personalization=shares_, start=shares_, **SHORT)
    found = computed(layers, found)
    pandas.testing.assert_frame_equal(found, expected, rtol=0, atol=1e-12)
    result = rg.pagerank(layers, tolerance=1e-13, max_iterations=300)
    again = rg.pagerank(layers, start=result, tolerance=1e-12, max_iterations=1)
    pandas.testing.assert_frame_equal(
        computed(layers, again), computed(layers, result), rtol=0, atol=1e-12
    )


def test_pagerank_without_convergence(client, saved):
    layers, whole = opened(saved, client)
    options = {"tolerance": 1e-9, "max_iterations": 6}
    with pytest.raises(rg.ConvergenceError) as expected:
        rg.pagerank(whole, **options)
    with pytest.raises(rg.ConvergenceError) as caught:
        rg.pagerank(layers, **options)
    assert caught.value.iterations == 6 == layers.last_run.passes
    assert caught.value.residual == pytest.approx(expected.value.residual, rel=1e-9)
    assert layers.last_run == whole.last_run
    pandas.testing.assert_frame_equal(
        computed(layers, caught.value.result), expected.value.result, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("options", [{"precision": "single"}, {"tolerance": 1e-9}])
def test_pagerank_until_convergence(client, saved, options):
    layers, whole = opened(saved, client)
    found = computed(layers, rg.pagerank(layers, **options))
    expected = rg.pagerank(whole, **options)
    assert found["pagerank"].dtype == expected["pagerank"].dtype
    pandas.testing.assert_frame_equal(found, expected, rtol=0, atol=1e-8)
    assert layers.last_run == whole.last_run


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda layers: rg.bfs(layers, 8), "source is 8, but the layers belong to the root 7"),
        (lambda layers: rg.sssp(layers, "x"), "source"),
        (lambda layers: rg.bfs(layers, depth_limit=-1), "depth_limit is -1"),
        (lambda layers: rg.sssp(layers, cutoff="far"), "cutoff is 'far'"),
        (lambda layers: rg.bfs(layers, predecessors=1), "predecessors is 1"),
        (lambda layers: rg.bfs(layers, memory_limit="much"), "memory_limit is 'much'"),
        (lambda layers: rg.pagerank(layers, method="edge"), "method 'edge' is not supported for"),
        (lambda layers: rg.pagerank(layers, damping=2), "damping is 2"),
        (lambda layers: rg.pagerank(layers, dangling="x"), "dangling is 'x'"),
        (
            lambda layers: rg.pagerank(layers, personalization={999: 1.0}),
            "personalization: vertex 999 is not in the graph",
        ),
    ],
)
def test_wrong_parameters(client, saved, call, message):
    with pytest.raises(rg.GraphError, match=message):
        call(opened(saved, client)[0])


def test_weights_whose_sum_is_infinite(threads, tmp_path):
    edges = [(0, 1, 1.7e308), (0, 2, 1.7e308), (1, 0, 1.0)]
    layers, _ = opened(stored(tmp_path / "layers", edges, 0, 1), threads)
    with pytest.raises(rg.GraphError, match="edges that leave vertex 0 sum to more than 1.8e308"):
        rg.pagerank(layers)


def test_infinite_distances(threads, tmp_path):
    edges = [(0, 1, 1.5e308), (1, 2, 1e308), (3, 0, 1.0)]
    layers, _ = opened(stored(tmp_path / "layers", edges, 0, 1), threads)
    with pytest.raises(rg.GraphError, match="the distance to vertex 2 is more than 1.8e308"):
        rg.sssp(layers)
    distances = computed(layers, rg.sssp(layers, cutoff=1.6e308))["distance"]
    assert distances.tolist() == [0, 1.5e308, np.inf, np.inf]


# Limits of memory


@by_run
def test_smallest_memory_limit(client, saved, algorithm):
    """A worker needs two of its partitions and the arrays over vertices."""
    layers, whole = opened(saved, client)
    run, more = RUNS[algorithm]
    reserved = whole.num_vertices * ALGORITHM_BYTES[algorithm].per_vertex
    with pytest.raises(rg.InsufficientMemoryError) as caught:
        run(layers, memory_limit=reserved + 10, **more)
    least = caught.value.needed
    assert reserved + 10 < least <= reserved + 2 * storage_of(whole).largest_partition
    assert caught.value.where == "memory_limit" and caught.value.free == reserved + 10
    check_same(
        algorithm, layers, whole, memory_limit=reserved + 2 * storage_of(whole).largest_partition
    )
    check_same(algorithm, layers, whole, memory_limit="1GB")


def test_memory_limit_below_vertex_arrays(client, saved):
    layers, whole = opened(saved, client)
    with pytest.raises(rg.InsufficientMemoryError, match="memory_limit is 100 bytes"):
        rg.bfs(layers, predecessors=False, memory_limit=100)
    check_same("bfs", layers, whole, predecessors=False, memory_limit="1MB")


@pytest.mark.parametrize(
    ("allowed", "kind"),
    [
        (0, streaming.PartitionStream),
        (2**40, streaming.PartitionStream),
        (1, streaming.MappedStream),
    ],
)
def test_worker_limit_of_dask_limits_memory(saved, monkeypatch, allowed, kind):
    """Pages of a mapped file are released if they would exceed the limit of the worker."""
    worker = types.SimpleNamespace(memory_manager=types.SimpleNamespace(memory_limit=allowed))
    monkeypatch.setattr(algorithms, "find_worker", lambda: worker)
    monkeypatch.setattr(device, "free_memory", lambda xp: 2**30)
    storage = storage_of(LayeredEdgeList.open(saved, device="cpu")).slice_partitions(3, 30)
    with algorithms._open_stream(storage, "pagerank", None) as stream:
        assert type(stream) is kind


# Partitions of a rank


@given(st.lists(st.integers(0, 10**6), max_size=60), st.integers(1, 9))
@settings(max_examples=200)
def test_ranks_have_about_equal_costs(costs, workers):
    costs = np.array(costs, np.int64)
    ranges = balance_partitions(costs, workers)
    assert len(ranges) == workers
    found = [p for start, stop in ranges for p in range(start, stop)]
    assert found == list(range(found[0], found[-1] + 1)) if found else not costs.any()
    assert set(np.flatnonzero(costs)) <= set(found)
    loads = [int(costs[start:stop].sum()) for start, stop in ranges]
    assert max(loads) <= costs.sum() / workers + costs.max(initial=0)


def test_slices_share_what_was_verified(saved):
    storage = storage_of(LayeredEdgeList.open(saved, device="cpu"))
    sliced = storage.slice_partitions(3, 9)
    assert storage.slice_partitions(3, 9) is sliced and sliced.first_partition == 3
    np.testing.assert_array_equal(sliced.table, storage.table[3:9])
    assert sliced.order is storage.order and sliced.out_weights is storage.out_weights
    with algorithms._open_stream(sliced, "pagerank", None) as stream:
        assert [start for start, *_ in stream.sweep([0, 4])] == [0, 4]
        stats = algorithms._finish_stream(stream, 2)
    assert stats == StreamStats(2, 2, 4 * int(sliced.table[[0, 4], COLUMN["words"]].sum()))
    other = storage.slice_partitions(5, 12)
    assert other is not sliced
    for partitions, first in ((storage, 0), (sliced, 3), (other, 5)):
        verified = np.flatnonzero(partitions.is_verified.all(axis=1)) + first
        assert verified.tolist() == [3, 7] if first < 5 else [7]
        checksums = partitions.checksums.reshape(-1, 2)[verified - first].astype(np.int64)
        columns = [COLUMN["forward_checksum"], COLUMN["backward_checksum"]]
        np.testing.assert_array_equal(checksums, storage.table[verified][:, columns])


@pytest.mark.parametrize("fails", [False, True])
def test_a_rank_closes_its_stream(saved, monkeypatch, fails):
    closed = []

    def close(stream):  # a method, unlike closed.append
        closed.append(stream)

    def find_parents(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(streaming.PartitionStream, "close", close)
    if fails:
        monkeypatch.setattr(algorithms.sweeps, "find_parents", find_parents)
    storage = storage_of(LayeredEdgeList.open(saved, device="cpu"))
    arguments = LocalCommunicator(), ignore_report, storage, None, storage.depth, True, False
    with pytest.raises(KeyboardInterrupt) if fails else contextlib.nullcontext():
        algorithms._find_parents(*arguments)
    assert len(closed) == 1


# What goes wrong


def test_missing_path(client, tmp_path):
    with pytest.raises(rg.GraphError, match="nowhere: there is no such folder"):
        LayeredEdgeList.open(tmp_path / "nowhere", client=client)


@by_run
def test_store_that_a_worker_does_not_see(client, copied, algorithm):
    layers, _ = opened(copied, client)
    copied.rename(copied.with_name("moved"))
    with pytest.raises(rg.GraphError) as caught:
        RUNS[algorithm][0](layers)
    assert str(caught.value).startswith(f"{copied}: there is no such folder")
    assert any(f"seen by worker {address};" in str(caught.value) for address in client.nthreads())


def test_another_store_at_the_path(client, copied):
    layers, _ = opened(copied, client)
    stored(copied, random_edges(104), ROOT, 800)
    with pytest.raises(rg.GraphError, match="sees another layered edge list there than the client"):
        rg.bfs(layers)
    check_same("bfs", *opened(copied, client))


@pytest.mark.parametrize(
    "given_", [1, "tcp://localhost:1", object()], ids=["number", "address", "object"]
)
def test_invalid_client(saved, given_):
    with pytest.raises(rg.GraphError, match="it must be a distributed.Client"):
        LayeredEdgeList.open(saved, client=given_)


@pytest.mark.skipif(device.gpu_problem() is None, reason="there is a GPU")
def test_workers_without_gpu(client, saved):
    with pytest.raises(rg.GpuUnavailableError, match="seen by worker"):
        LayeredEdgeList.open(saved, device="gpu", client=client)


def test_invalid_device(client, saved):
    with pytest.raises(rg.GraphError, match="device is 'tpu'"):
        LayeredEdgeList.open(saved, device="tpu", client=client)


@pytest.mark.parametrize(
    ("algorithm", "part"),
    [("bfs", 0.9), ("sssp", 0.1), ("pagerank", 0.9)],
    ids=["bfs, last worker", "sssp, first worker", "pagerank, last worker"],
)
def test_damaged_partition(client, copied, algorithm, part):
    whole = LayeredEdgeList.open(copied, device="cpu")
    end = int(storage_of(whole).layer_starts[whole.depth])
    read = storage_of(whole).partitions_before(end, forward_only=True)
    partition = int(read[int(part * read.size)])
    layers, _ = opened(copied, client)
    damaged(copied, whole, partition, 0, 0)
    message = rf"edges\.npy: partition {partition} of its edges is damaged; build"
    for _ in range(2):  # also when it is asked again
        with pytest.raises(rg.GraphError, match=message):
            RUNS[algorithm][0](layers)
    damaged(copied, whole, partition, 0, 0)
    check_same(algorithm, layers, whole)


@pytest.mark.parametrize(
    "algorithm", ["bfs", pytest.param("sssp", marks=pytest.mark.long), "pagerank"]
)
def test_failed_run_releases_its_tasks(client, copied, algorithm):
    layers, whole = opened(copied, client)
    run, more = RUNS[algorithm]

    def progress(*call):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(layers, progress=progress, **more)
    opening = ["open", "open"]
    assert_tasks(client, opening)
    with pytest.raises(rg.InsufficientMemoryError):
        reserved = whole.num_vertices * ALGORITHM_BYTES[algorithm].per_vertex
        run(layers, memory_limit=reserved + 1, **more)
    assert_tasks(client, opening)
    layers, _ = opened(copied, client)  # has not verified any partition
    damaged(copied, whole, 0, 0, 0)
    with pytest.raises(rg.GraphError, match="partition 0 of its edges is damaged"):
        run(layers, **more)
    assert_tasks(client, opening)
    damaged(copied, whole, 0, 0, 0)
    found = run(layers, **more)
    reused = ["communicator", "communicator", *opening]
    assert_tasks(client, sorted([algorithm, algorithm, *reused]))
    del found
    assert_tasks(client, reused)
    del layers
    assert_tasks(client, reused[:2])


def list_tasks(dask_scheduler):
    """List the names of all tasks that the scheduler has not released."""
    states = "memory", "erred", "processing", "waiting", "no-worker"
    tasks = dask_scheduler.tasks.items()
    return sorted(
        str(key).removeprefix("rapidsgraph-").split("-")[0]
        for key, task in tasks
        if task.state in states
    )


def assert_tasks(client, kinds):
    """Wait until the scheduler has these tasks only.

    `pytest.raises` may refer to the error, and the error to the frames of the call.
    """
    gc.collect()
    for _ in range(200):
        names = client.run_on_scheduler(list_tasks)
        if names == kinds:
            break
        time.sleep(0.02)
    assert names == kinds


# The package


def test_public_functions(client, saved):
    layers, whole = opened(saved, client)
    pandas.testing.assert_frame_equal(computed(layers, rg.bfs(layers, ROOT)), rg.bfs(whole))
    pandas.testing.assert_frame_equal(computed(layers, rg.sssp(layers)), rg.sssp(whole))
    found = computed(layers, rg.pagerank(layers, **SHORT))
    expected = rg.pagerank(whole, **SHORT)
    pandas.testing.assert_frame_equal(found, expected, rtol=0, atol=1e-12)


# On GPUs


@pytest.mark.gpu
@by_run
@pytest.mark.parametrize("limited", [False, True], ids=["no limit", "least limit"])
def test_on_gpus(gpu_client, saved, algorithm, limited):
    """Workers with GPUs return cuDF frames equal to those of a CPU."""
    layers = LayeredEdgeList.open(saved, client=gpu_client)
    whole = LayeredEdgeList.open(saved, device="cpu")
    assert layers.device == "gpu"
    run, more = RUNS[algorithm]
    reserved = whole.num_vertices * ALGORITHM_BYTES[algorithm].per_vertex
    limit = reserved + 2 * storage_of(whole).largest_partition if limited else None
    for _ in range(2):
        found = gpu_client.compute(run(layers, memory_limit=limit, **more)).result()
        assert type(found).__module__.startswith("cudf")
        found, expected = found.to_pandas(nullable=algorithm == "bfs"), run(whole, **more)
        for name in expected:
            left, right = (result[name].astype("Float64") for result in (found, expected))
            assert left.isna().tolist() == right.isna().tolist()
            left, right = (column.fillna(-1).to_numpy(float) for column in (left, right))
            np.testing.assert_allclose(left, right, rtol=0, atol=1e-12)
    with pytest.raises(rg.InsufficientMemoryError):
        run(layers, memory_limit=reserved + 10, **more)


@pytest.fixture(scope="module")
def gpu_client():
    """A client of one worker per GPU."""
    from dask_cuda import LocalCUDACluster

    assert "cudf" in sys.modules or device.frame_library_problem() is None
    with (
        LocalCUDACluster(dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("weighted", [True, False])
def test_paths_on_a_cluster_are_those_of_the_list_in_memory(saved, threads, weighted):
    layers, whole = opened(saved, threads)
    for target in (30, [30, 390, 7, 415, 12]):
        found = rg.shortest_path(layers, ROOT, target, weighted=weighted)
        found = threads.compute(found).result()
        expected = rg.shortest_path(whole, ROOT, target, weighted=weighted)
        pandas.testing.assert_frame_equal(found, expected)
    with pytest.raises(rg.GraphError, match="the layers belong to the root"):
        rg.shortest_path(layers, 8, 9)
