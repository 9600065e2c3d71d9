"""Collectives on every communicator, and SPMD calls on workers that fail, die and work at once."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas
import pytest
from conftest import columns_of, gpu, in_partitions, random_edges, restore_workers

import rapidsgraph as rg
from rapidsgraph.distributed import (
    communicator,
    executor,
    host,
    monitor,
    replica,
    shared_memory,
    spmd,
    spmd_call,
    spmd_worker,
)
from rapidsgraph.distributed.local_ranks import run_ranks
from rapidsgraph.graph.local_graph import storage_of

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
dataframe = pytest.importorskip("dask.dataframe")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_workers")]

SIZES = [1, 2, 3, 4]


def on_ranks(size, function, *arguments):
    """Return ``function(communicator, *arguments)`` of each rank."""
    results = run_ranks(
        lambda group, report, *own: (function(group, *own), None), [arguments] * size
    )
    return [result for result, _ in results]


def check_collectives(group, xp):
    """Compare every collective with NumPy's answer, for arrays of `xp`."""
    rank, size = group.rank, group.size
    own = [xp.arange(5) * (r + 1) - 4 for r in range(size)]
    for operation, reduce in (("sum", np.sum), ("min", np.min), ("max", np.max)):
        for dtype in (np.int32, np.int64, np.float32, np.float64):
            reduced = group.all_reduce(own[rank].astype(dtype), operation)
            expected = reduce(np.stack([host.device.to_host(values) for values in own]), axis=0)
            assert reduced.dtype == dtype
            assert reduced.tolist() == expected.astype(dtype).tolist()
    flags = group.all_reduce(xp.arange(size) == rank, "max")
    assert flags.dtype == bool
    assert flags.all()
    large = group.all_reduce(xp.full((1000, 70), rank + 1.0))
    assert large.shape == (1000, 70)
    assert float(large.min()) == float(large.max()) == size * (size + 1) / 2
    gathered = group.all_gather(xp.full((rank, 2), rank, xp.int32))  # rank 0 has no rows
    assert gathered.dtype == np.int32
    assert gathered.tolist() == [[r, r] for r in range(size) for _ in range(r)]
    received = group.all_to_all([xp.full(rank * target, rank) for target in range(size)])
    assert [values.tolist() for values in received] == [[r] * (r * rank) for r in range(size)]
    for distance in range(-1, size + 2):
        shifted = group.ring_shift(xp.full(rank + 1, rank), distance)
        sender = (rank - distance) % size
        assert shifted.tolist() == [sender] * (sender + 1)
    assert group.all_gather_object({"rank": rank}) == [{"rank": r} for r in range(size)]
    bounds = [sum(range(r)) for r in range(size + 1)]
    buffer = group.allocate((2, bounds[-1] + 1), bounds, np.float32, xp)
    for row in (0, 1, 0):
        buffer.array[row, bounds[rank] : bounds[rank + 1]] = rank + 10 * row
        buffer.all_gather(row)
        expected = [r + 10.0 * row for r in range(size) for _ in range(r)]
        assert buffer.array[row].tolist() == [*expected, 0.0]
        group.barrier()
    group.check()
    return True


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("memory", ["shared", "private", "refused"])
def test_collectives(size, memory, monkeypatch):
    """On threads, whose buffers are one where memory can be shared."""
    if memory == "private":
        monkeypatch.setattr(shared_memory, "get_machine_id", lambda: None)
    if memory == "refused":
        monkeypatch.setattr(shared_memory, "attach", lambda *arguments: None)
    assert all(on_ranks(size, check_collectives, np))


def test_ranks_of_two_machines(monkeypatch):
    """Two of three ranks share memory; the third one sends and receives its columns."""
    machines = iter(["one", "other", "one"])
    lock = threading.Lock()

    def get_machine_id():
        with lock:
            return next(machines)

    def allocate(group):
        bounds = [0, 2, 4, 6]
        buffer = group.allocate((1, 6), bounds, np.int64, np)
        buffer.array[0, bounds[group.rank] : bounds[group.rank + 1]] = group.rank
        buffer.all_gather()
        return buffer.array[0].tolist(), len(buffer._shared)

    monkeypatch.setattr(shared_memory, "get_machine_id", get_machine_id)
    results = on_ranks(3, allocate)
    assert [values for values, _ in results] == [[0, 0, 1, 1, 2, 2]] * 3
    if shared_memory.get_machine_id.__module__ and hasattr(os, "memfd_create"):
        assert sorted(count for _, count in results) == [0, 2, 2]


def test_sums_do_not_depend_on_timing():
    """Ranks are added in order, also where each adds a slice."""
    random = np.random.default_rng(1)
    values = [random.normal(size=40_000) * 10.0 ** (9 * r) for r in range(3)]
    expected = (values[0] + values[1]) + values[2]

    def add(group):
        time.sleep(0.02 * ((group.rank + 1) % 3))
        return group.all_reduce(values[group.rank].copy())

    for total in on_ranks(3, add):
        assert (total == expected).all()


def test_a_rank_that_ends_fails_the_others():
    def leave(group):
        if group.rank == 1:
            raise ValueError("of rank 1")
        started = time.monotonic()
        with pytest.raises(communicator.RankLostError):
            group.barrier()
        with pytest.raises(communicator.RankLostError):  # it stays closed
            group.all_reduce(np.ones(1))
        assert time.monotonic() - started < 5

    with pytest.raises(ValueError, match="of rank 1"):
        on_ranks(3, leave)


def test_a_call_is_served_once():
    """A refused call leaves the communicator open for the next one."""

    def serve(group):
        with group.serve(1):
            group.barrier()
        with pytest.raises(communicator.RankLostError, match="repeat the call"), group.serve(1):
            raise AssertionError("served again")
        with group.serve(2):
            return group.all_gather_object(group.rank)

    assert on_ranks(3, serve) == [[0, 1, 2]] * 3


def test_messages_do_not_reach_another_call():
    def serve(group):
        with pytest.raises(communicator.RankLostError), group.serve(1 + group.rank):
            group.all_gather_object(group.rank)
        with pytest.raises(communicator.RankLostError, match="closed"):
            group.check()

    with pytest.raises(communicator.RankLostError, match="closed"):
        on_ranks(2, serve)  # its last barrier


def test_strangers_cannot_connect():
    """A connection without the secret is closed, and the listener waits for the rank."""
    listeners = [host.open_listener("127.0.0.1") for _ in range(2)]
    addresses = [listener.getsockname() for listener in listeners]
    stranger = socket.create_connection(addresses[0])
    stranger.sendall(b"x" * 24)
    results = [None, None]

    def connect(rank):
        results[rank] = host.connect(listeners[rank], rank, addresses, b"s" * 16)

    threads = [threading.Thread(target=connect, args=[rank]) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with contextlib.suppress(ConnectionResetError):
        assert stranger.recv(1) == b""
    stranger.close()
    for rank in range(2):
        threads[rank] = threading.Thread(target=exchange, args=[rank, results])
        threads[rank].start()
    for thread in threads:
        thread.join()
    assert results == [[0, 1], [0, 1]]


def exchange(rank, results):
    results[rank] = host.HostCommunicator(rank, results[rank]).all_gather_object(rank)


def test_a_rank_that_does_not_connect(monkeypatch):
    monkeypatch.setattr(host, "CONNECT_TIMEOUT", 0.2)
    listener = host.open_listener("127.0.0.1")
    with pytest.raises(communicator.RankLostError, match="not all ranks have connected"):
        host.connect(listener, 0, [listener.getsockname()] * 2, b"s" * 16)
    assert listener.fileno() == -1


# On a cluster


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def run(client):
    """Return a function that runs an SPMD call on two workers."""
    restore_workers(client, 2)

    def run(function, *arguments, size=2, **options):
        own = [list(arguments)] * size
        ranks = executor.DaskExecutor(client)
        return ranks.run_spmd(function, own, name="test", on_gpu=False, **options)

    return run


def add_ranks(group, report, value):
    report(1, "added")
    total = int(group.all_reduce(np.asarray([group.rank + value]))[0])
    return total, (group.rank, group.size, os.getpid())


def test_results_stay_and_infos_return(run, client):
    results, infos = run(add_ranks, 5)
    assert [info[:2] for info in infos] == [(0, 2), (1, 2)]
    assert infos[0][2] != infos[1][2] != os.getpid()
    assert client.gather(results) == [11, 11]
    with pytest.raises(KeyError):
        spmd_call._calls["none"]
    assert not spmd_call._calls


def test_more_ranks_than_workers(run, client):
    """Two ranks on a worker of one thread do not wait for it."""
    results, infos = run(add_ranks, 1, size=5)
    assert client.gather(results) == [15] * 5
    assert len({pid for *_, pid in infos}) == 2


def test_communicators_are_reused(run, client):
    run(add_ranks, 5)
    names = client.run(communicator_names)
    run(add_ranks, 5)
    assert_no_new_communicators(client, names)
    assert any(names.values())


def test_groups_of_other_sizes_stay(run, client):
    """Calls of two and of three ranks in turn create communicators once, up to a number of them."""
    spmd._idle_groups(client).clear()
    for size in (2, 3):
        run(add_ranks, 5, size=size)
    names = client.run(communicator_names)
    for size in (2, 3):
        run(add_ranks, 5, size=size)
    assert_no_new_communicators(client, names)
    for size in range(2, 4 + spmd.MAX_IDLE_GROUPS):
        run(add_ranks, 5, size=size)
    assert len(spmd._idle_groups(client)) == spmd.MAX_IDLE_GROUPS
    wait_until(client, lambda: len({n for n, _ in spmd_worker._communicators}) <= 4)


def wait_until(client, condition):
    """Wait until a condition is true on all workers."""
    deadline = time.monotonic() + 20
    while not all(client.run(condition).values()):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def count_listeners():
    psutil = pytest.importorskip("psutil")
    process = psutil.Process()
    connections = getattr(process, "net_connections", None) or process.connections
    return sum(connection.status == psutil.CONN_LISTEN for connection in connections("tcp"))


def test_an_interrupted_start_closes_its_listeners(run, client, monkeypatch):
    submit, before = executor.DaskExecutor.submit_pinned, client.run(count_listeners)

    def interrupt(self, workers, function, arguments, *, name):
        if name == "communicator":
            distributed.wait(arguments[0][3:])
            raise KeyboardInterrupt
        return submit(self, workers, function, arguments, name=name)

    monkeypatch.setattr(executor.DaskExecutor, "submit_pinned", interrupt)
    monkeypatch.setattr(spmd, "_acquire", spmd.Group)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run(add_ranks, 5)
    deadline = time.monotonic() + 10
    while client.run(count_listeners) != before:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_closed_client_leaves_nothing(client):
    """Neither this process nor the scheduler keeps it or its events."""
    other = distributed.Client(client.cluster, set_as_default=False)
    executor.DaskExecutor(other).run_spmd(add_ranks, [[5]] * 2, name="test", on_gpu=False)
    scheduler, topic = client.cluster.scheduler, monitor.get_events_topic(other.id)
    assert scheduler.get_events(topic) and other.id in scheduler._broker._topics[topic].subscribers
    other.close()
    reference, other = weakref.ref(other), None
    deadline = time.monotonic() + 10
    while reference() is not None or scheduler.get_events(topic):
        assert time.monotonic() < deadline
        gc.collect()
        time.sleep(0.1)
    assert not scheduler._broker._topics[topic].subscribers


def test_an_asynchronous_client(ring):
    async def call():
        options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
        async with (
            distributed.LocalCluster(asynchronous=True, **options) as cluster,
            distributed.Client(cluster, asynchronous=True),
        ):
            with pytest.raises(rg.ClusterError, match="asynchronous"):
                rg.pagerank(dataframe.from_pandas(ring, npartitions=2))

    asyncio.run(call())


def test_a_worker_retires():
    """Dask copies all results of a worker that retires, and next calls have other communicators."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        ranks = executor.DaskExecutor(client)
        results, _ = ranks.run_spmd(add_ranks, [[5]] * 2, name="test", on_gpu=False)
        retiring = threading.Thread(target=client.retire_workers, args=[ranks.workers[:1]])
        retiring.daemon = True
        retiring.start()
        retiring.join(20)
        assert not retiring.is_alive()
        assert client.gather(results) == [11, 11]
        results, _ = ranks.run_spmd(add_ranks, [[6]] * 2, name="test", on_gpu=False)
        assert client.gather(results) == [13, 13]


@pytest.fixture(scope="module")
def ring():
    columns = {"source": np.arange(50), "destination": (np.arange(50) * 7 + 1) % 50}
    return pandas.DataFrame(columns)


def test_a_call_that_fails_leaves_the_graph(client, ring):
    """What a graph has derived for it is of use to other calls, which may use it already."""
    graph = rg.Graph(dataframe.from_pandas(ring, npartitions=2))
    storage = storage_of(graph)
    with pytest.raises(rg.GraphError, match="1000"):
        rg.bfs(graph, 1000)
    assert [future.status for future in storage._partitions["csc"]] == ["finished"] * 2
    bad = pandas.DataFrame({"vertex": [1000], "value": [1.0]})
    with pytest.raises(rg.GraphError):
        rg.pagerank(graph, personalization=bad)
    assert storage._cache["labeling"].status == "finished"
    assert rg.bfs(graph, 0).compute().equals(rg.bfs(ring, 0))


def test_limits_of_workers_differ(client, ring):
    """The client decides which ranks copy the graph, or they would wait for each other."""
    workers, results = sorted(client.scheduler_info(n_workers=-1)["workers"]), []
    graph = rg.Graph(dataframe.from_pandas(ring, npartitions=2))
    try:
        client.run(dask.config.set, {replica.REPLICA_LIMIT: -1}, workers=workers[:1])
        search = threading.Thread(
            target=lambda: results.append(rg.bfs(graph, 0).compute()), daemon=True
        )
        search.start()
        search.join(20)
    finally:
        client.run(dask.config.set, {replica.REPLICA_LIMIT: 2**24})
    assert len(results) == 1 and results[0].equals(rg.bfs(ring, 0))


def communicator_names():
    return {name for name, _ in spmd_worker._communicators}


def assert_no_new_communicators(client, names):
    """Communicators of earlier tests may close meanwhile: Dask releases their results when idle."""
    for worker, present in client.run(communicator_names).items():
        assert present <= names[worker]


def test_progress_is_reported(run):
    seen = []
    run(add_ranks, 5, report=lambda step, text: seen.append((step, text)))
    assert seen == [(1, "added")]


def fail(group, report, error):
    if group.rank == 1:
        raise error
    group.barrier()
    return None, None


@pytest.mark.parametrize("error", [ValueError("of rank 1"), rg.GraphError("of rank 1")])
def test_the_error_of_a_rank_is_raised(run, client, error):
    """Rank 0, which only lost its peer, is not the one that is reported."""
    with pytest.raises(type(error), match="of rank 1"):
        run(fail, error)
    results, _ = run(add_ranks, 5)
    assert client.gather(results) == [11, 11]


def fail_early(group, report, error):
    if group.rank == 1:
        raise error
    time.sleep(8)  # in a computation that no collective interrupts
    return None, None


def test_the_error_of_a_rank_is_raised_while_another_computes(run, client):
    with pytest.raises(rg.GraphError, match="of rank 1"):
        run(fail_early, rg.GraphError("of rank 1"))


def kill_once(group, report, path, rank):
    if group.rank == rank:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
    group.barrier()
    return group.size, group.rank


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_worker(run, client, tmp_path, rank):
    """The call starts again on the workers that are left."""
    started = time.monotonic()
    results, infos = run(kill_once, str(tmp_path / "killed"), rank)
    assert (tmp_path / "killed").exists()
    assert infos == [0, 1]
    assert client.gather(results) == [2, 2]
    assert time.monotonic() - started < 30


def kill_always(group, report):
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    group.barrier()
    return None, None


def test_workers_that_always_die(monkeypatch):
    monkeypatch.setattr(spmd, "MAX_ATTEMPTS", 2)  # workers take seconds to start again
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        ranks = executor.DaskExecutor(client)
        with pytest.raises(rg.ClusterError):
            ranks.run_spmd(kill_always, [[]] * 2, name="test", on_gpu=False)


def test_results_of_a_killed_worker(run, client):
    """Nobody can compute one rank again: the error says so, and nothing hangs."""
    results, infos = run(add_ranks, 5)
    os.kill(infos[1][2], signal.SIGKILL)
    restore_workers(client, 2)
    with pytest.raises(rg.ClusterError, match="repeat the call"):
        results[1].result(timeout=30)


def test_a_rank_that_is_computed_again_alone(run, client):
    """Dask has lost the result: it is refused, and later calls have the same communicator."""
    results, _ = run(add_ranks, 5)
    names = client.run(communicator_names)
    [worker] = client.who_has(results)[results[1].key]
    delete = client.cluster.scheduler.delete_worker_data
    client.sync(delete, worker, [results[1].key], stimulus_id="test")
    with pytest.raises(rg.ClusterError, match="repeat the call"):
        results[1].result(timeout=10)
    later, _ = run(add_ranks, 7)
    assert client.gather(later) == [15, 15]
    assert_no_new_communicators(client, names)


def wait_a_little(group, report, value):
    for _ in range(20):
        group.barrier()
        time.sleep(0.005)
    return value, value


def test_calls_from_several_threads(run):
    """Each has a communicator of its own, and workers of one thread serve all of them."""
    results = {}

    def call(number):
        results[number] = run(wait_a_little, number)[1]

    threads = [threading.Thread(target=call, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: [number] * 2 for number in range(4)}


def rank_in_task(frame):
    return len(rg.pagerank(frame).compute())


def test_a_call_within_a_task(run, client):
    """The task leaves its thread, which the ranks need."""
    frame = pandas.DataFrame({"source": np.arange(50), "destination": (np.arange(50) * 7 + 1) % 50})
    edges = dataframe.from_pandas(frame, npartitions=2)
    assert client.submit(rank_in_task, edges, pure=False).result(timeout=60) == 50


def test_an_interrupted_call_ends_on_the_workers(run, client):
    """An exception of the client closes the communicator, so that no rank goes on."""

    def interrupt(step, text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(run_long, report=interrupt)
    deadline = time.monotonic() + 20
    while any(client.run(is_running).values()):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def run_long(group, report):
    threading.current_thread().name = "run-long"
    for step in range(2000):
        report(step, "running")
        group.barrier()
        time.sleep(0.02)
    return None, None


def is_running():
    return any(thread.name == "run-long" for thread in threading.enumerate())


def test_a_client_that_ends_leaves_nothing():
    """Its communicators are closed when its futures are released."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        program = (
            "import sys, distributed, numpy, pandas, dask.dataframe as dd, rapidsgraph as rg\n"
            "client = distributed.Client(sys.argv[1])\n"
            "frame = pandas.DataFrame({'source': [0, 1, 2], 'destination': [1, 2, 0]})\n"
            "print(len(rg.pagerank(dd.from_pandas(frame, npartitions=2))))\n"
            "import os; os._exit(0)\n"
        )
        command = [sys.executable, "-c", program, cluster.scheduler_address]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        with distributed.Client(cluster) as client:
            deadline = time.monotonic() + 20
            while any(client.run(lambda: len(spmd_worker._communicators)).values()):
                assert time.monotonic() < deadline
                time.sleep(0.1)


# On GPUs


def check_on_gpu(group, report):
    import cupy

    check_collectives(group, cupy)
    return None, type(group).__name__


@gpu
def test_collectives_on_gpus():
    """NCCL where each rank has a GPU of its own; else arrays are staged in host memory."""
    import cupy

    num_gpus = cupy.cuda.runtime.getDeviceCount()
    with rg.cluster("gpu") as client:
        ranks = executor.DaskExecutor(client)
        for size in (num_gpus, 2 * num_gpus):
            _, names = ranks.run_spmd(check_on_gpu, [[]] * size, name="test", on_gpu=True)
            if size > 1:
                is_nccl = size == num_gpus
                expected = "NcclCommunicator" if is_nccl else "HostCommunicator"
                assert names == [expected] * size


@gpu
def test_calls_of_several_threads_on_gpus():
    """Each call has a communicator of its own, but all use the same GPUs."""
    import cudf

    edges = cudf.DataFrame(columns_of(random_edges(3, 200, 2000)))
    with rg.cluster("gpu") as client:
        graph = rg.Graph(in_partitions(edges, 2))
        calls = [
            lambda: rg.pagerank(graph, tolerance=0, max_iterations=30),
            lambda: rg.connected_components(graph),
        ]
        expected = [call().compute().to_pandas() for call in calls]

        def repeat(number):
            with client.as_current():
                return [calls[number % 2]().compute().to_pandas() for _ in range(5)]

        with ThreadPoolExecutor(4) as threads:
            for number, results in enumerate(threads.map(repeat, range(4))):
                for result in results:
                    pandas.testing.assert_frame_equal(result, expected[number % 2])
