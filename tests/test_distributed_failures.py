"""Workers, schedulers and clients that go away in the middle: the same answer, or a clear error.

Each test has a time limit of its own: what hangs fails.
"""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas
import pytest

import rapidsgraph as rg
from rapidsgraph import GraphError
from rapidsgraph.distributed import engine, local, ranks, together

distributed = pytest.importorskip("distributed")
dataframe = pytest.importorskip("dask.dataframe")

LIMIT = 100  # seconds
START = 7


@contextlib.contextmanager
def limited(seconds=LIMIT):
    """Raise where the body takes longer."""

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


@pytest.fixture(scope="module")
def edges():
    """A ring with chords, so that searches go through both parts many times over."""
    random = np.random.default_rng(1)
    ring = np.arange(3000)
    sources = np.concatenate([ring, random.integers(0, 3000, 2000)])
    destinations = np.concatenate([(ring * 1471 + 11) % 3000, random.integers(0, 2500, 2000)])
    weights = random.uniform(0, 2, sources.size).round(2)
    columns = {"source": sources, "destination": destinations, "weight": weights}
    return pandas.DataFrame(columns)


def spread(edges):
    return dataframe.from_pandas(edges, npartitions=3, sort=False)


@pytest.fixture(scope="module")
def cluster():
    with local.cluster("cpu", workers=2, memory_limit="4GB") as client:
        yield client


@pytest.fixture
def two(cluster):
    """The client of two workers, all of them there again."""
    cluster.wait_for_workers(2)
    return cluster


def pids_of(client):
    return sorted(client.run(os.getpid).values())


def kill(client, count=1):
    for pid in pids_of(client)[:count]:
        os.kill(pid, signal.SIGKILL)


class Killing:
    """A progress callback that does something at a step, and knows that it did."""

    def __init__(self, step, act):
        self.step, self.act, self.calls = step, act, 0

    def __call__(self, done, total, text):
        self.calls += 1
        if self.calls == self.step:
            self.act()


def same(found, expected):
    """Whether a Dask frame is the frame of one memory; ranks but for the last bits."""
    found = found.compute().reset_index(drop=True)
    if "pagerank" in expected:
        np.testing.assert_allclose(found["pagerank"], expected["pagerank"], rtol=0, atol=1e-12)
        found, expected = found.drop(columns="pagerank"), expected.drop(columns="pagerank")
    pandas.testing.assert_frame_equal(found, expected)


CALLS = {
    "pagerank": lambda graph, **more: rg.pagerank(graph, tolerance=0, max_iterations=12, **more),
    "bfs": lambda graph, **more: rg.bfs(graph, START, **more),
    "sssp": lambda graph, **more: rg.sssp(graph, START, **more),
    "components": lambda graph: rg.connected_components(graph),
    "similarity": lambda graph: rg.structural_similarity(graph),
    "scan": lambda graph: rg.scan(graph, epsilon=0.3, mu=2),
}


def plain(edges, name):
    """The frame that a call is for: weights are for sssp."""
    return edges if name == "sssp" else edges[["source", "destination"]]


@pytest.mark.parametrize("name, killed", [("pagerank", 1), ("bfs", 1), ("sssp", 1), ("sssp", 2)])
def test_workers_die_between_steps(two, edges, name, killed):
    """One of two, then both at once, which their nannies start again."""
    expected = CALLS[name](plain(edges, name))
    killing = Killing(3, lambda: kill(two, killed))
    found = CALLS[name](spread(plain(edges, name)), progress=killing)
    assert killing.calls > 3
    same(found, expected)


TASKS = [
    ("pagerank", "read-edges"),
    ("pagerank", "build-part"),
    ("pagerank", "label"),
    ("sssp", "search-member"),
    ("sssp", "predecessors"),
    ("components", "link"),
]


@pytest.mark.parametrize("name, task", TASKS)
def test_a_worker_dies_when_a_task_was_sent(two, edges, name, task, monkeypatch):
    """In the build, and where there is no progress to follow."""
    expected, done, submit = CALLS[name](plain(edges, name)), [], engine.There.submit

    def watched(self, *arguments, **options):
        future = submit(self, *arguments, **options)
        if options["name"] == task and not done:
            done.append(task)
            kill(two)
        return future

    monkeypatch.setattr(engine.There, "submit", watched)
    found = CALLS[name](spread(plain(edges, name)))
    assert done == [task]
    same(found, expected)


def test_a_worker_dies_between_calls(two, edges):
    """What the graph keeps is lost with it, and so are results that nobody has asked for yet."""
    graph = rg.Graph(spread(plain(edges, "bfs")))
    first = rg.bfs(graph, START)
    kill(two)
    same(rg.pagerank(graph, tolerance=0, max_iterations=12), CALLS["pagerank"](edges))
    same(first, CALLS["bfs"](edges))


def test_a_worker_dies_after_a_call(two, edges):
    """Its part of the result is made again from the others', and what had been asked for stays."""
    found = CALLS["pagerank"](spread(plain(edges, "pagerank")))
    for _ in range(2):
        kill(two)
        same(found, CALLS["pagerank"](edges))
        two.wait_for_workers(2)


def test_a_worker_dies_while_one_has_a_part_of_a_result(two, edges):
    """All others' parts are needed to make it again, though nobody has them any more."""
    found = CALLS["pagerank"](spread(plain(edges, "pagerank")))
    part = found.partitions[0].persist()
    distributed.wait(part)
    del found
    gc.collect()
    kill(two, 2)
    expected = CALLS["pagerank"](edges)["pagerank"]
    found = part.compute()["pagerank"]
    np.testing.assert_allclose(found, expected[: len(found)], rtol=0, atol=1e-12)


def test_a_worker_dies_between_the_members(two, edges, monkeypatch):
    """The first is made, the second not yet."""
    results, killed = engine.There.results, []

    def watched(self, tasks):
        tasks = list(tasks)
        if not killed and tasks and tasks[0].key.startswith("rank-member"):
            distributed.wait(tasks[0])
            [[address]] = two.who_has(tasks[:1]).values()
            killed.append(address)
            os.kill(two.run(os.getpid, workers=[address])[address], signal.SIGKILL)
            while tasks[0].status == "finished":
                time.sleep(0.05)
        return results(self, tasks)

    monkeypatch.setattr(engine.There, "results", watched)
    found = CALLS["pagerank"](spread(plain(edges, "pagerank")))
    assert killed
    same(found, CALLS["pagerank"](edges))


def test_a_worker_dies_within_a_round(two, edges, monkeypatch):
    """While the client waits for many iterations; and the count goes on where it had been."""
    by_tasks, tried, seen = ranks._by_tasks, [], []
    timer = threading.Timer(0.5, kill, [two])

    def watched(*arguments):
        tried.append(len(seen))
        return by_tasks(*arguments)

    def progress(done, total, text):
        seen.append(done)
        if done == 1:
            timer.start()

    monkeypatch.setattr(ranks, "_by_tasks", watched)
    monkeypatch.setattr(together, "FEW", 1200)
    options = {"tolerance": 0, "max_iterations": 2400}
    found = rg.pagerank(spread(plain(edges, "pagerank")), progress=progress, **options)
    timer.join()
    assert tried == [1200] and seen == list(range(1, 2401))
    same(found, rg.pagerank(plain(edges, "pagerank"), **options))


@contextlib.contextmanager
def processes(workers, *options):
    """(address, processes) of a scheduler and workers without nannies, each started by itself."""
    command = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    started = []

    def start(*words):
        started.append(subprocess.Popen([*command, *map(str, words)], **quiet))
        return started[-1]

    def said(process, word):
        for line in process.stderr:
            if word in line:
                # A full pipe would stop the process.
                threading.Thread(target=process.stderr.read, daemon=True).start()
                return line.split()[-1]
        raise AssertionError(f"it ended: {process.wait()}")

    try:
        host = ("--host", "127.0.0.1", "--no-dashboard")
        scheduler = start("scheduler", *host, "--port", 0, *options)
        address = said(scheduler, "Scheduler at:")
        for _ in range(workers):
            start("worker", address, *host, "--no-nanny", "--nthreads", 1, "--memory-limit", 0)
        yield address, started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()
            process.stderr.close()


@pytest.fixture(scope="module")
def separate():
    with processes(2) as found:
        yield found


def test_separate_processes(separate, edges):
    address, _ = separate
    with distributed.Client(address) as client:
        client.wait_for_workers(2)
        for name, call in CALLS.items():
            same(call(spread(plain(edges, name))), call(plain(edges, name)))


def test_a_worker_of_its_own_dies(separate, edges):
    """The other one does all; a third comes in its place."""
    address, (_, first, *_) = separate
    with distributed.Client(address) as client:
        client.wait_for_workers(2)
        killing = Killing(3, first.kill)
        found = CALLS["pagerank"](spread(plain(edges, "pagerank")), progress=killing)
        same(found, CALLS["pagerank"](edges))
        assert killing.calls > 3 and len(client.nthreads()) == 1


@pytest.mark.parametrize("name", ["pagerank", "sssp"])
def test_all_workers_die_for_good(edges, name, monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE", 2)
    monkeypatch.setattr(engine, "LOOK", 1)
    with processes(2) as (address, (_, *workers)), distributed.Client(address) as client:
        client.wait_for_workers(2)
        killing = Killing(3, lambda: [worker.kill() for worker in workers])
        with pytest.raises(GraphError, match="there was no worker for 2 seconds"):
            CALLS[name](spread(plain(edges, name)), progress=killing)
        assert killing.calls >= 3


def test_the_scheduler_dies(edges):
    with (
        processes(1) as (address, (scheduler, _)),
        distributed.Client(address, timeout=5) as client,
    ):
        client.wait_for_workers(1)
        killing = Killing(1, scheduler.kill)
        with pytest.raises(GraphError, match="scheduler is gone"):
            CALLS["pagerank"](spread(plain(edges, "pagerank")), progress=killing)


def test_the_client_is_closed(edges):
    options = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as one,
        distributed.Client(one) as client,
    ):
        killing = Killing(1, client.close)
        with pytest.raises(GraphError, match="client is closed"):
            CALLS["pagerank"](spread(plain(edges, "pagerank")), progress=killing)
        assert client.status == "closed"


@pytest.mark.parametrize("error", [FileNotFoundError, TimeoutError, GraphError])
def test_errors_of_tasks_are_theirs(two, error):
    """Not taken for those of the cluster."""
    there = engine.There(two)
    with pytest.raises(error, match="of a task"):
        there.results([there.submit(fail, error, name="fail")])


def fail(error):
    raise error("of a task")


def test_a_task_that_kills_every_worker(two, edges, monkeypatch):
    """Dask gives up on it after some workers; so must we, and say what it was."""
    monkeypatch.setattr(two.cluster.scheduler, "allowed_failures", 1)
    submit = engine.There.submit

    def deadly(self, function, *arguments, **options):
        if options["name"] in ("rank-member", "rank"):
            return submit(self, end, *arguments, **options)
        return submit(self, function, *arguments, **options)

    monkeypatch.setattr(engine.There, "submit", deadly)
    with pytest.raises(GraphError, match="workers died again and again"):
        CALLS["pagerank"](spread(plain(edges, "pagerank")))


def end(*arguments):
    os._exit(1)
