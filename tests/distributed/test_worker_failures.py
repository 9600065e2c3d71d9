"""Loss of workers, schedulers and clients during a call: the same result, or a clear error.

Each test has a time limit of its own: what hangs fails.
"""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
import warnings

import cloudpickle
import numpy as np
import pandas
import pytest
from conftest import restore_workers
from forked_cluster import processes

import rapidsgraph as rg
from rapidsgraph import ClusterError, GraphError, SchedulerLostError, WorkerLostError, device
from rapidsgraph.distributed import cluster as local
from rapidsgraph.distributed import executor, host, monitor, replica, spmd, spmd_worker
from rapidsgraph.graph.local_graph import storage_of

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
dataframe = pytest.importorskip("dask.dataframe")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_workers")]

LIMIT = 100  # seconds
START = 7
PAIRS = [(vertex, 7 * vertex % 3000) for vertex in range(0, 3000, 2)]


@contextlib.contextmanager
def limited(seconds=LIMIT):
    """Raise an error if the body takes longer."""

    def stop(number, frame):
        raise AssertionError(f"it hung: {seconds} seconds are over")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def no_hang():
    with limited():
        yield


@pytest.fixture
def time_limit():
    """Return a function that sets the time limit in seconds for the rest of a test."""
    with contextlib.ExitStack() as stack:
        yield lambda seconds: stack.enter_context(dask.config.set({monitor.TIMEOUT: seconds}))


@pytest.fixture(scope="module")
def edges():
    """A ring with chords, so that searches pass through both partitions many times."""
    random = np.random.default_rng(1)
    ring = np.arange(3000)
    sources = np.concatenate([ring, random.integers(0, 3000, 2000)])
    destinations = np.concatenate([(ring * 1471 + 11) % 3000, random.integers(0, 2500, 2000)])
    weights = random.uniform(0, 2, sources.size).round(2)
    columns = {"source": sources, "destination": destinations, "weight": weights}
    return pandas.DataFrame(columns)


def spread(edges):
    return dataframe.from_pandas(edges, npartitions=3, sort=False)


@pytest.fixture(scope="module", autouse=True)
def partitions_only():
    """Have workers search partitions, although the graphs are small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASK_RAPIDSGRAPH__MAX_REPLICA_ARCS", "-1")
        with dask.config.set({replica.REPLICA_LIMIT: -1}):  # nannies pass it on
            yield


@pytest.fixture(scope="module")
def cluster():
    with local.cluster("cpu", workers=2, memory_limit="4GB") as client:
        yield client


@pytest.fixture
def two(cluster):
    """The client of two workers, after both have restarted."""
    restore_workers(cluster, 2)
    return cluster


def pids_of(client):
    return sorted(client.run(os.getpid).values())


def kill(client, count=1):
    for pid in pids_of(client)[:count]:
        os.kill(pid, signal.SIGKILL)


class Killing:
    """A progress callback that runs an action at a step, and records it."""

    def __init__(self, step, act):
        self.step, self.act, self.calls = step, act, 0

    def __call__(self, done, total, text):
        self.calls += 1
        if self.calls == self.step:
            self.act()


# Workers of separate processes cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def slow_down():
    """In a worker: take time for every collective, and report all progress."""
    exchange = host.HostCommunicator._exchange

    def slowed(self, values):
        time.sleep(0.02)
        return exchange(self, values)

    host.HostCommunicator._exchange, spmd_worker.REPORT_INTERVAL = slowed, 0.0


@pytest.fixture
def slow(two):
    """The client of two workers whose calls take some seconds, until they restart."""
    two.run(slow_down)
    yield two
    two.restart()


def same(found, expected):
    """Check that a Dask frame equals the local result; PageRank except for rounding."""
    found = found.compute().reset_index(drop=True)
    if "pagerank" in expected:
        np.testing.assert_allclose(found["pagerank"], expected["pagerank"], rtol=0, atol=1e-12)
        found, expected = found.drop(columns="pagerank"), expected.drop(columns="pagerank")
    pandas.testing.assert_frame_equal(found, expected)


CALLS = {
    "pagerank": lambda graph, **more: rg.pagerank(graph, tolerance=0, max_iterations=12, **more),
    "bfs": lambda graph, **more: rg.bfs(graph, START, **more),
    "sssp": lambda graph, **more: rg.sssp(graph, START, **more),
    "components": rg.connected_components,
    "strong components": lambda graph: rg.connected_components(graph, strong=True),
    "similarity": rg.structural_similarity,
    "pairs": lambda graph: rg.neighbor_similarity(graph, PAIRS, kind="common"),
    "scan": lambda graph: rg.scan(graph, epsilon=0.3, mu=2),
}


def plain(edges, name):
    """Return the edge frame of a call; only sssp gets weights."""
    return edges if name == "sssp" else edges[["source", "destination"]]


@pytest.mark.parametrize(
    ("name", "killed"),
    [("sssp", 2), *(pytest.param(*case, marks=pytest.mark.long) for case in [
        ("bfs", 1), ("sssp", 1)
    ])],
)  # fmt: skip
def test_workers_die_between_steps(slow, edges, name, killed):
    """One of two workers, then both at once; their nannies restart them."""
    expected = CALLS[name](plain(edges, name))
    killing = Killing(3, lambda: kill(slow, killed))
    found = CALLS[name](spread(plain(edges, name)), progress=killing)
    assert killing.calls >= 3
    same(found, expected)


TASKS = [
    ("pagerank", "build"),
    ("pagerank", "pagerank"),
    ("sssp", "communicator"),
    ("sssp", "search"),
    ("components", "components"),
    ("strong components", "strong"),
    ("pairs", "pairs"),
]
LONG_TASKS = ("components",)


def act_on_task(monkeypatch, task, act):
    """Run an action when a task of this name was sent; return the names of such tasks."""
    submit, names = executor.DaskExecutor.submit_pinned, []

    def watched(self, *arguments, **options):
        future = submit(self, *arguments, **options)
        if options["name"] == task and not names:
            names.append(task)
            act()
        return future

    monkeypatch.setattr(executor.DaskExecutor, "submit_pinned", watched)
    monkeypatch.setattr(spmd, "_acquire", spmd.Group)  # no group of an earlier call
    return names


@pytest.mark.parametrize(
    ("name", "task"),
    [
        pytest.param(*task, marks=pytest.mark.long if task[1] in LONG_TASKS else ())
        for task in TASKS
    ],
)
def test_a_worker_dies_when_a_task_was_sent(two, edges, name, task, monkeypatch):
    """During the build, and in calls without progress callbacks."""
    expected = CALLS[name](plain(edges, name))
    names = act_on_task(monkeypatch, task, lambda: kill(two))
    found = CALLS[name](spread(plain(edges, name)))
    assert names == [task]
    same(found, expected)


def test_a_worker_dies_that_large_arguments_were_sent_to(two, edges, monkeypatch):
    """Dask cannot compute scattered data again, and cancels the tasks that need them."""
    scatter_large, statuses = spmd._scatter_large, []

    def watched(*arguments):
        scattered, sent = scatter_large(*arguments)
        if scattered and not statuses:
            kill(two)
            while all(future.status == "finished" for future in scattered):
                time.sleep(0.01)
            statuses.extend(future.status for future in scattered)
        return scattered, sent

    monkeypatch.setattr(spmd, "_scatter_large", watched)
    monkeypatch.setattr(spmd, "LARGE_BYTES", 1000)
    graph = rg.Graph(spread(plain(edges, "pairs")))
    same(CALLS["pairs"](graph), CALLS["pairs"](plain(edges, "pairs")))
    assert sorted(statuses) == ["cancelled", "finished"]


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "task"),
    [
        *(task for task in TASKS if task[1] != "search"),
        ("bfs", "search"), ("sssp", "search"), ("scan", "scan"),
    ],
)  # fmt: skip
def test_a_gpu_worker_dies_when_a_task_was_sent(edges, name, task, monkeypatch):
    """The other rank waits in a collective of NCCL, or is about to start one."""
    import cudf

    expected = CALLS[name](plain(edges, name))
    num_gpus = device.import_cupy().cuda.runtime.getDeviceCount()
    if num_gpus == 1 and task == "communicator":
        pytest.skip("a single rank has no communicator of a group; two GPUs are needed")
    with local.cluster("gpu", workers=min(2, num_gpus)) as client:
        frame = spread(plain(edges, name)).map_partitions(cudf.from_pandas)
        names = act_on_task(monkeypatch, task, lambda: kill(client))
        found = CALLS[name](frame).compute().to_pandas()
    assert names == [task]
    assert list(found) == list(expected)
    for column in expected:
        if column == "pagerank":
            np.testing.assert_allclose(found[column], expected[column], rtol=0, atol=1e-12)
        else:
            both = (result[column].astype(object) for result in (found, expected))
            values = [series.where(series.notna(), None).tolist() for series in both]
            assert values[0] == values[1]


def test_a_worker_dies_between_calls(two, edges):
    """Its partition is built again; its rows of an earlier result are lost."""
    graph = rg.Graph(spread(plain(edges, "bfs")))
    first = rg.bfs(graph, START)
    kill(two)
    same(
        rg.pagerank(graph, tolerance=0, max_iterations=12),
        CALLS["pagerank"](plain(edges, "pagerank")),
    )
    with pytest.raises(ClusterError):
        first.compute()
    same(rg.bfs(graph, START), CALLS["bfs"](edges))


def test_a_worker_dies_after_a_graph_was_derived(two, edges):
    """Its partition is derived again, from the frame of a graph that is gone."""

    def derive(frame):
        graph = rg.Graph(frame, multi_edges="min").reverse().subgraph(range(0, 3000, 2))
        return graph.to_undirected(multi_edges="sum")

    graph, expected = derive(spread(edges)), derive(edges)
    same(graph.edges, expected.edges)
    kill(two)
    same(graph.edges, expected.edges)
    same(graph.neighborhood(8, 3), expected.neighborhood(8, 3))


def test_a_worker_dies_after_a_call(two, edges):
    """A lost partition of the result is an error, unless Dask has copied it to another worker."""
    frame = spread(plain(edges, "pagerank"))
    for _ in range(2):
        result = CALLS["pagerank"](frame)
        same(result, CALLS["pagerank"](plain(edges, "pagerank")))
        kill(two)
        restore_workers(two, 2)
        problem = "repeat the call"
        try:
            same(result, CALLS["pagerank"](plain(edges, "pagerank")))
        except ClusterError as error:
            problem = str(error)
        assert "repeat the call" in problem


def delay_ends(gate):
    """In a worker: end tasks that have sent their info only when the file `gate` exists."""
    log_event = distributed.Worker.log_event

    def delayed(self, topic, message):
        log_event(self, topic, message)
        if message[1] == "info":
            deadline = time.monotonic() + LIMIT / 2
            while not os.path.exists(gate) and time.monotonic() < deadline:
                time.sleep(0.01)

    distributed.Worker.log_event = delayed


@pytest.fixture
def delayed(two, tmp_path):
    """The client of two workers, and the path of the file that lets their tasks end."""
    gate = tmp_path / "gate"
    two.run(delay_ends, str(gate))
    yield two, gate
    gate.touch()
    two.restart()


def get_statuses(client, name):
    prefix = f"{monitor.PINNED_PREFIX}{name}-"
    return [state.status for key, state in client.futures.items() if str(key).startswith(prefix)]


@pytest.mark.parametrize("task", ["build", "search"])
def test_a_worker_dies_before_its_task_is_known_to_end(delayed, edges, task):
    """A call returns when the ranks have sent their infos; see `spmd._wait`."""
    client, gate = delayed
    edges, result = plain(edges, "bfs"), None
    if task == "build":
        graph = rg.Graph(spread(edges))
    else:
        gate.touch()
        graph = rg.Graph(spread(edges))
        same(rg.bfs(graph, START), CALLS["bfs"](edges))
        gate.unlink()
        result = rg.bfs(graph, START)
    assert get_statuses(client, task).count("pending") == 2
    kill(client)
    gate.touch()
    if result is not None:
        with pytest.raises(ClusterError, match="repeat the call"):
            result.compute()
    same(rg.bfs(graph, START), CALLS["bfs"](edges))
    assert storage_of(graph)._num_builds > 0


def test_a_worker_dies_during_an_iteration(slow, edges):
    """The others wait for it in a collective."""
    options = {"tolerance": 0, "max_iterations": 25}
    graph = rg.Graph(spread(plain(edges, "pagerank")))
    timer = threading.Timer(0.5, os.kill, [pids_of(slow)[0], signal.SIGKILL])
    timer.start()
    result = rg.pagerank(graph, **options)
    assert not timer.is_alive()
    same(result, rg.pagerank(plain(edges, "pagerank"), **options))


def test_separate_processes(edges):
    with processes(2) as (address, _), distributed.Client(address) as client:
        client.wait_for_workers(2, timeout=60)
        for name, call in CALLS.items():
            same(call(spread(plain(edges, name))), call(plain(edges, name)))


def test_a_worker_without_nanny_dies(edges):
    """The other worker takes over."""
    with processes(2) as (address, (_, first, *_)), distributed.Client(address) as client:
        client.wait_for_workers(2, timeout=60)
        client.run(slow_down)
        killing = Killing(3, first.kill)
        found = CALLS["sssp"](spread(edges), progress=killing)
        same(found, CALLS["sssp"](edges))
        assert killing.calls >= 3 and len(client.nthreads()) == 1


@pytest.mark.parametrize("name", [pytest.param("bfs", marks=pytest.mark.long), "sssp"])
def test_all_workers_die_for_good(edges, name, time_limit):
    with processes(2) as (address, (_, *workers)), distributed.Client(address) as client:
        client.wait_for_workers(2, timeout=60)
        client.run(slow_down)
        # A worker that imports on a busy machine may be silent for as long as this limit.
        killing = Killing(3, lambda: [time_limit(2), *(worker.kill() for worker in workers)])
        with pytest.raises(WorkerLostError, match="there was no worker for 2 seconds") as caught:
            CALLS[name](spread(plain(edges, name)), progress=killing)
        assert killing.calls >= 3 and caught.value.timeout == 2


def test_the_scheduler_dies(edges):
    with (
        processes(1) as (address, (scheduler, _)),
        distributed.Client(address, timeout=5) as client,
    ):
        client.wait_for_workers(1, timeout=60)
        killing = Killing(1, scheduler.kill)
        options = {"tolerance": 0, "max_iterations": 10**7, "progress": killing}
        with pytest.raises(SchedulerLostError, match="scheduler is gone"):
            rg.pagerank(spread(plain(edges, "pagerank")), **options)


def test_the_client_is_closed(edges):
    options = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as one,
        distributed.Client(one) as client,
    ):
        killing = Killing(1, client.close)
        with pytest.raises(ClusterError, match="client is closed"):
            CALLS["pagerank"](spread(plain(edges, "pagerank")), progress=killing)
        assert client.status == "closed"


@pytest.mark.parametrize("error", [FileNotFoundError, TimeoutError, GraphError])
def test_errors_of_tasks_are_raised(two, error):
    """They are not mistaken for errors of the cluster."""
    there = executor.DaskExecutor(two)
    with pytest.raises(error, match="of a task"):
        there.gather([there.submit(fail, error, name="fail")])


def fail(error):
    raise error("of a task")


def test_only_tasks_of_earlier_calls_are_retried(two, tmp_path, monkeypatch):
    monkeypatch.setattr(two.cluster.scheduler, "allowed_failures", 0)
    flag, retry, retried = tmp_path / "flag", executor.DaskExecutor._retry, []
    flag.touch()

    def watched(self, tasks):
        retried.extend(tasks)
        return retry(self, tasks)

    monkeypatch.setattr(executor.DaskExecutor, "_retry", watched)
    there = executor.DaskExecutor(two)
    task = there.submit(end_where, str(flag), name="end")
    with pytest.raises(ClusterError, match="workers died repeatedly"):
        there.gather([task])
    assert not retried
    flag.unlink()
    assert there.gather([there.submit(int, task, name="int")]) == [1]
    assert retried


def end_where(flag):
    if os.path.exists(flag):
        os._exit(1)
    return True


@pytest.mark.long
def test_failed_tasks_of_a_frame_are_tried_again(two, edges, tmp_path, monkeypatch):
    """A graph of a persisted frame shares the tasks of the frame, which failed before."""
    monkeypatch.setattr(two.cluster.scheduler, "allowed_failures", 0)
    flag = tmp_path / "flag"
    flag.touch()

    rows = plain(edges, "bfs")

    def load(number, flag=str(flag), rows=rows):
        if os.path.exists(flag):
            os._exit(1)
        return rows.iloc[number::2]

    frame = dataframe.from_map(load, range(2), meta=rows[:0])
    persisted = frame.persist()  # fails once, as workers die
    with pytest.raises(ClusterError, match="workers died repeatedly"):
        rg.Graph(persisted)
    flag.unlink()
    same(CALLS["bfs"](rg.Graph(persisted)), CALLS["bfs"](edges))


@pytest.mark.parametrize(
    ("name", "killed"),
    [("sssp", 1), *(pytest.param(*case, marks=pytest.mark.long) for case in [
        ("pagerank", 1), ("sssp", 2)
    ])],
)  # fmt: skip
def test_workers_of_a_layered_list_die(slow, edges, tmp_path, name, killed):
    """Other workers, or new ones that the nannies start, open the store and repeat the call."""
    options = {"weight": "weight"} if name == "sssp" else {}
    folder = tmp_path / "edges.layers"
    graph = rg.Graph(plain(edges, name), **options)
    rg.LayeredEdgeList.build(graph, START, partition_bytes=1000).save(folder)
    layers = rg.LayeredEdgeList.open(folder, client=slow)
    killing = Killing(3, lambda: kill(slow, killed))
    found = CALLS[name](layers, progress=killing)
    assert killing.calls > 3
    same(found, CALLS[name](plain(edges, name)))
    same(CALLS[name](layers), CALLS[name](plain(edges, name)))


def test_a_worker_dies_between_calls_on_a_layered_list(two, edges, tmp_path):
    folder = tmp_path / "edges.layers"
    rg.LayeredEdgeList.build(rg.Graph(plain(edges, "bfs")), START).save(folder)
    layers = rg.LayeredEdgeList.open(folder, client=two)
    kill(two)
    same(CALLS["bfs"](layers), CALLS["bfs"](plain(edges, "bfs")))


def stop(pid):
    os.kill(pid, signal.SIGSTOP)


@pytest.mark.parametrize(
    ("name", "stopped", "limit"),
    [("sssp", 1, 3), *(pytest.param(*case, marks=pytest.mark.long) for case in [
        ("bfs", 1, 6), ("sssp", 2, 6)
    ])],
)  # fmt: skip
def test_stopped_workers_are_restarted(slow, edges, name, stopped, limit, time_limit):
    stopping = Killing(3, lambda: [time_limit(limit), *map(stop, pids_of(slow)[:stopped])])
    began = time.monotonic()
    with pytest.warns(RuntimeWarning, match=f"did not answer for {limit} s and is restarted"):
        found = CALLS[name](spread(plain(edges, name)), progress=stopping)
        same(found, CALLS[name](plain(edges, name)))
    assert stopping.calls >= 3 and time.monotonic() - began < 80


@pytest.mark.long
@pytest.mark.parametrize(("name", "task"), TASKS)
def test_a_worker_stops_when_a_task_was_sent(two, edges, name, task, monkeypatch, time_limit):
    time_limit(6)
    names = act_on_task(monkeypatch, task, lambda: stop(pids_of(two)[0]))
    with pytest.warns(RuntimeWarning, match="did not answer"):
        same(CALLS[name](spread(plain(edges, name))), CALLS[name](plain(edges, name)))
    assert names == [task]


def test_a_scheduler_and_workers_without_nannies_stop(edges, time_limit):
    """The scheduler for some time, then a worker, whose tasks the other one takes, then both."""
    frame = edges
    with processes(2) as (address, (scheduler, *workers)), distributed.Client(address) as client:
        client.wait_for_workers(2, timeout=60)
        client.run(slow_down)
        graph = rg.Graph(spread(frame), weight="weight", multi_edges="min")
        stopping = Killing(3, lambda: [time_limit(3), stop(scheduler.pid)])
        began = time.monotonic()
        with pytest.raises(
            SchedulerLostError, match=f"{address} did not answer within 3 sec"
        ) as caught:
            CALLS["sssp"](graph, progress=stopping)
        assert time.monotonic() - began < 60
        assert (caught.value.scheduler, caught.value.timeout) == (address, 3)
        os.kill(scheduler.pid, signal.SIGCONT)
        stopping = Killing(3, lambda: stop(workers[0].pid))
        with pytest.warns(RuntimeWarning, match="3 s and is removed from the cluster"):
            same(CALLS["sssp"](graph, progress=stopping), CALLS["sssp"](frame))
        assert stopping.calls >= 3
        [left] = client.nthreads()
        stopping = Killing(3, lambda: stop(workers[1].pid))
        with pytest.warns(RuntimeWarning), pytest.raises(WorkerLostError, match=left) as caught:
            CALLS["sssp"](graph, progress=stopping)
        assert (caught.value.worker, caught.value.timeout) == (left, 3)


class FakeClient:
    """A client whose scheduler gives a fixed answer, or none at all."""

    status = "running"

    def __init__(self, workers=None):
        self.scheduler, self.address = self, "tcp://scheduler:1"
        self.workers, self.asked, self.restarted = workers, 0, []

    async def identity(self):
        self.asked += 1
        if self.workers is None:
            await asyncio.sleep(LIMIT)
        return {"workers": self.workers}

    async def restart_workers(self, workers, **_):
        self.restarted += workers


@pytest.mark.parametrize(("workers", "lost"), [(None, SchedulerLostError), ({}, WorkerLostError)])
def test_a_lost_cluster_is_reported_to_all_watchers(workers, lost, time_limit, monkeypatch):
    """All see the same failed check; a call that starts later waits for the time limit again."""
    monkeypatch.setattr(monitor, "MIN_TIMEOUT", 0.1)
    time_limit(0.4)
    client = FakeClient(workers)
    watcher = monitor.get_monitor(client)

    async def watch():
        with pytest.raises(lost) as caught:
            await watcher.run()
        assert caught.value.timeout == 0.4
        return client.asked

    async def several():
        return [*await asyncio.gather(*(watch() for _ in range(3))), await watch()]

    first, *others, later = asyncio.run(several())
    assert others == [first, first] and later > first


def test_silent_workers_are_restarted_where_warnings_are_errors(time_limit, monkeypatch):
    monkeypatch.setattr(monitor, "MIN_TIMEOUT", 0.1)
    time_limit(0.2)
    monkeypatch.setattr(monitor, "MISSED_HEARTBEATS", 0)
    workers = {f"tcp://worker:{port}": {"last_seen": 1.0, "nanny": "tcp://n:1"} for port in (1, 2)}
    client = FakeClient(workers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="did not answer for 0.2 s and is restarted"):
            asyncio.run(monitor.get_monitor(client).run())
    assert client.restarted == list(workers)


def test_watching_goes_on_after_other_errors(two, monkeypatch, caplog):
    """They are logged; a lost cluster still closes the client afterwards."""
    calls = []

    async def check():
        calls.append(len(calls))
        if len(calls) > 2:
            raise WorkerLostError(None, 3)
        raise RuntimeWarning("a warning that is an error")

    monkeypatch.setattr(monitor, "MAX_INTERVAL", 0.05)
    with distributed.Client(two.cluster, set_as_default=False) as client:
        monkeypatch.setattr(monitor.get_monitor(client), "check", check)
        with monitor.watching(client, close=True) as errors:
            while client.status != "closed":
                time.sleep(0.02)
    assert [str(error) for error in errors] == [str(WorkerLostError(None, 3))]
    logged = [record for record in caplog.records if record.name == monitor.__name__]
    assert len(logged) == 2 and "check of the Dask cluster failed" in logged[0].message
    assert logged[0].exc_info[0] is RuntimeWarning


def test_graphs_of_other_clusters(edges, time_limit):
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    options["dashboard_address"] = "127.0.0.1:0"
    with (
        distributed.LocalCluster(**options) as one,
        distributed.LocalCluster(**options) as other,
        distributed.Client(one) as first,
    ):
        graph = rg.Graph(spread(plain(edges, "bfs")))
        persisted = spread(plain(edges, "bfs")).persist()
        distributed.wait(persisted)
        with distributed.Client(other):
            with pytest.raises(ClusterError, match="the graph is on the cluster at .* active cli"):
                rg.bfs(graph, START)
            with pytest.raises(ClusterError, match="the frame or graph is of another cluster"):
                rg.Graph(persisted)
            with first.as_current():
                found = rg.bfs(graph, START).compute()
        assert len(found) == graph.num_vertices
        first.restart(wait_for_workers=False)
        with pytest.raises(ClusterError, match="it was restarted"):
            rg.bfs(graph, START)
    with pytest.raises(ClusterError, match="client is closed"):
        rg.bfs(graph, START)


@pytest.mark.parametrize("value", [0, -1, "soon", True, None, "inf", [1], "1e400 s", "1 ms"])
def test_time_limits_are_checked(value, time_limit):
    time_limit(value)
    with pytest.raises(GraphError, match=r"dask.config key 'rapidsgraph.timeout' is .*or more"):
        monitor.get_timeout()
    if value is not None:
        with pytest.raises(GraphError, match="timeout is"), local.cluster("cpu", timeout=value):
            raise AssertionError("a cluster started")


def test_time_limits(time_limit):
    assert monitor.get_timeout() == 60
    given = dask.config.collect_env({"DASK_RAPIDSGRAPH__TIMEOUT": "2 m"})
    with dask.config.set(given):
        assert monitor.get_timeout() == 120
    for error in (
        WorkerLostError(None, 3),
        WorkerLostError("tcp://a:1", 3),
        SchedulerLostError("tcp://a:1", 3),
    ):
        assert "rapidsgraph.timeout" in str(error)
        assert str(error) == str(error.__reduce__()[0](*error.__reduce__()[1]))
