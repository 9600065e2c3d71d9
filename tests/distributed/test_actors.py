"""Members on workers: supersteps in step, shared memory, and recovery from a lost member."""

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

distributed = pytest.importorskip("distributed")
dataframe = pytest.importorskip("dask.dataframe")

from rapidsgraph.distributed import (  # noqa: E402
    actors,
    executor,
    pagerank_partition,
    shared_memory,
    traversal_partition,
)

pytestmark = pytest.mark.slow

gpu = pytest.mark.gpu
on_linux = pytest.mark.skipif(
    shared_memory.get_machine_id() is None, reason="memory in common is of Linux"
)


@pytest.fixture(scope="module")
def client():
    """Of three workers in this process."""
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class Counting(actors.GroupMember):
    """Adds up what all count."""

    def __init__(self, rank, name, step):
        super().__init__(rank, name)
        self._count, self._step = rank, step

    async def go_on(self, rounds):
        for _ in range(rounds):
            counts = await self.superstep(self._work)
            self._count = sum(counts) + self.rank
        return self._count, counts

    def _work(self):
        return self._step(self.rank, self._count)

    def message_for(self, rank, result):
        return result + 100 * rank if result < 0 else result


def start_three(client, step):
    own = [(step,)] * 3
    return actors.ActorGroup(executor.DaskExecutor(client), Counting, own, name="count")


def test_supersteps_exchange_in_step(client):
    """Each member gets what all made in the same superstep, in rank order, however slow one is."""
    members = start_three(client, late_second)
    counts, expected = [0, 1, 2], None
    for _ in range(7):
        expected = list(counts)
        counts = [sum(counts) + number for number in range(3)]
    found = members.call("go_on", 4)
    assert len(found) == 3
    found = members.call("go_on", 3)
    assert found == [(count, expected) for count in counts]


def late_second(number, count):
    time.sleep(0.01 * (number == 1))
    return count


def test_messages_differ_by_receiver(client):
    members = start_three(client, negative)
    assert [seen for _, seen in members.call("go_on", 1)] == [
        [-1, -2, -3], [99, -2, 97], [199, 198, -3]
    ]  # fmt: skip


def negative(number, count):
    return -1 - number


@pytest.mark.parametrize("error", [ValueError, OSError])
def test_a_failing_member_does_not_block_the_others(client, error):
    """The others do not wait for it."""
    members = start_three(client, {ValueError: wrong, OSError: broken}[error])
    expected = (
        (ValueError, actors.MemberLostError) if error is ValueError else actors.MemberLostError
    )
    with pytest.raises(expected, match="of the second|failed|stop"):
        members.call("go_on", 2)
    with pytest.raises(actors.MemberLostError):
        members.call("go_on", 1)


def wrong(number, count):
    if number == 1:
        raise ValueError("of the second")
    return count


def broken(number, count):
    if number == 1:
        raise OSError("of the second")
    return count


def gone(names):
    """Whether members are let go of soon, without Python looking for garbage."""
    for _ in range(100):
        if not any(actors.get_local_member(name) for name in names):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def no_garbage_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_members_live_as_long_as_they_are_referenced(client, no_garbage_collection):
    with start_three(client, negative) as members:
        members.call("go_on", 2)
        assert [actors.get_local_member(name).rank for name in members.names] == [0, 1, 2]
        assert actors.get_local_member("another") is None
    assert gone(members.names)


def test_calls_of_released_members_log_no_error(client, caplog):
    """Others may ask them still; Dask's actors would log a traceback for each question."""
    members = start_three(client, negative)
    names, kept = members.names, members.futures[0]
    members.call("go_on", 2)
    members.futures = members.futures[1:]
    members.close()
    assert gone(names[1:])
    with (
        caplog.at_level("WARNING"),
        pytest.raises(actors.MemberLostError, match="its member any more"),
    ):
        client.sync(members._ask, members._members[1], "stop", ())
    with pytest.raises(actors.MemberLostError):
        members._actors, members.futures = [], [kept]
        client.sync(members._ask, members._members[0], "run", (members._members, "go_on", 1))
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


# Memory in common

LOOK = """
import sys
import numpy as np
from rapidsgraph.distributed import shared_memory

array = shared_memory.attach({address}, (2, 5), np.float32)
if array is None:
    sys.exit(3)
assert array[1, 2] == 7 and array.dtype == np.float32
array[0, 4] = 5
"""


def look(address):
    return subprocess.run([sys.executable, "-c", LOOK.format(address=address)]).returncode


@on_linux
def test_shared_memory():
    array, address = shared_memory.allocate((2, 5), np.float32)
    assert array.shape == (2, 5) and not array.any()
    array[1, 2] = 7
    assert look(address) == 0 and array[0, 4] == 5
    process, file, token = address
    assert shared_memory.attach((process, file, bytes(16)), (2, 5), np.float32) is None
    assert shared_memory.attach((process, 10**6, token), (2, 5), np.float32) is None
    assert (
        shared_memory.attach((2**22 + 1, file, token), (2, 5), np.float32) is None
    )  # no such process
    held = shared_memory.attach(address, (2, 5), np.float32)
    del array
    assert look(address) == 3  # its maker has let it go
    assert held[1, 2] == 7


@on_linux
def test_no_file_stays_open():
    def count():
        return len(os.listdir("/proc/self/fd"))

    before = count()
    for _ in range(20):
        array, address = shared_memory.allocate((2, 5), np.float64)
        assert shared_memory.attach(address, (2, 5), np.float64) is not None
        del array
    assert count() == before


# PageRank

RING, CHORDS = np.arange(500), np.random.default_rng(1).integers(0, 400, (2, 900))
EDGES = pandas.DataFrame(
    {
        "source": np.concatenate([RING, CHORDS[0]]),
        "destination": np.concatenate([RING * 7 % 501, CHORDS[1]]),
    }
)


def ranks_in_parts(**options):
    spread = dataframe.from_pandas(EDGES, npartitions=3, sort=False)
    return rg.pagerank(spread, tolerance=0, max_iterations=30, **options).compute()["pagerank"]


def set_transport(patch, transport):
    """Have three members exchange by one of the `TRANSPORTS`."""
    machines = iter(["one", "other", "one"])
    if transport == "sent":
        patch.setattr(shared_memory, "get_machine_id", lambda: None)
    if transport == "partly sent":
        patch.setattr(shared_memory, "get_machine_id", lambda: next(machines))
    if transport == "unreachable":
        patch.setattr(shared_memory, "attach", lambda *_: None)
    if transport == "tasks":
        patch.setattr(actors.ActorGroup, "call", lost)


TRANSPORTS = ("shared memory", "sent", "partly sent", "unreachable", "tasks")


@pytest.mark.parametrize(
    ("transport", "precision"), [*((each, "double") for each in TRANSPORTS), ("sent", "single")]
)
def test_pagerank_is_the_same_by_every_transport(client, monkeypatch, transport, precision):
    """Shared memory, messages and tasks give the same bits."""
    expected = rg.pagerank(EDGES, tolerance=0, max_iterations=30, precision=precision)["pagerank"]
    sent, message_for = [], pagerank_partition.PageRankMember.message_for

    def watched(self, other, made):
        made = message_for(self, other, made)
        sent.append(getattr(made, "values", None) is not None)
        return made

    with monkeypatch.context() as patch:
        patch.setattr(pagerank_partition.PageRankMember, "message_for", watched)
        set_transport(patch, transport)
        found = ranks_in_parts(precision=precision)
    close = 1e-12 if precision == "double" else 1e-6
    np.testing.assert_allclose(found, expected, rtol=0, atol=close)
    of_all = 31 * 6  # pieces in 30 iterations and before the first
    if shared_memory.get_machine_id() is not None or transport not in (
        "shared memory",
        "partly sent",
    ):
        many = {"shared memory": 0, "tasks": 0, "partly sent": 4 / 6 * of_all}.get(
            transport, of_all
        )
        assert sum(sent) == many
    assert (found == ranks_in_parts(precision=precision)).all()


SEARCHES = {
    "bfs": lambda graph: rg.bfs(graph, [3, 9]),
    "levels": lambda graph: rg.bfs(graph, 3, depth_limit=5),
    "sssp": lambda graph: rg.sssp(graph, 3),
    "cutoff": lambda graph: rg.sssp(graph, [3, 9], cutoff=4.5),
}


@pytest.mark.parametrize(
    ("transport", "name"),
    [
        *((each, name) for each in TRANSPORTS for name in ("bfs", "sssp")),
        *((each, name) for each in ("shared memory", "tasks") for name in ("levels", "cutoff")),
    ],
)
def test_searches_are_the_same_by_every_transport(client, monkeypatch, transport, name):
    """Distances lowered by others arrive by shared memory, messages or tasks."""
    frame = EDGES.assign(weight=np.random.default_rng(3).choice([0.0, 0.5, 1, 2.5], len(EDGES)))
    graph = rg.Graph(dataframe.from_pandas(frame, npartitions=3, sort=False), weight="weight")
    expected = SEARCHES[name](rg.Graph(frame, weight="weight"))
    sent, message_for = [], traversal_partition.SearchMember.message_for

    def watched(self, other, made):
        made = message_for(self, other, made)
        if isinstance(made, traversal_partition.FrontierUpdate):
            sent.append(made.ids is not None)
        return made

    with monkeypatch.context() as patch:
        patch.setattr(traversal_partition.SearchMember, "message_for", watched)
        set_transport(patch, transport)
        found = SEARCHES[name](graph).compute()
    pandas.testing.assert_frame_equal(found, expected)
    assert bool(sent) == (transport != "tasks")
    if shared_memory.get_machine_id() is not None and sent:
        share = {"shared memory": 0, "partly sent": 4 / 6}.get(transport, 1)
        assert sum(sent) == pytest.approx(share * len(sent))


def test_partitions_without_vertices(client):
    """There are more parts than vertices; some members have none."""
    pair = pandas.DataFrame({"source": [4, 4], "destination": [6, 4]})
    graph = rg.Graph(dataframe.from_pandas(pair, npartitions=2))
    for call in (lambda g: rg.bfs(g, 4), lambda g: rg.sssp(g, 4), rg.pagerank):
        pandas.testing.assert_frame_equal(call(graph).compute(), call(pair))


def test_long_paths_take_many_supersteps(client, monkeypatch):
    """A long path, whose vertices take turns between parts: many calls of some rounds each."""
    order = np.random.default_rng(1).permutation(400)
    path = pandas.DataFrame({"source": order[:-1], "destination": order[1:]})
    graph, seen = rg.Graph(dataframe.from_pandas(path, npartitions=3)), []
    found = rg.bfs(graph, int(order[0]), progress=lambda done, total, text: seen.append(done))
    pandas.testing.assert_frame_equal(found.compute(), rg.bfs(path, int(order[0])))
    assert seen == list(range(1, len(seen) + 1)) and len(seen) > 20


def lost(self, *_):
    raise actors.MemberLostError("of the test")


def test_supersteps_need_no_tasks(client, monkeypatch):
    submit, names = executor.DaskExecutor.submit, []

    def watched(self, *arguments, **options):
        names.append(options["name"])
        return submit(self, *arguments, **options)

    monkeypatch.setattr(executor.DaskExecutor, "submit", watched)
    ranks_in_parts()
    assert names.count("pagerank-member") == 3 and "pagerank" not in names


def test_results_are_recomputed(client, monkeypatch):
    """Where the member is gone when its piece is asked for."""
    expected = ranks_in_parts()
    monkeypatch.setattr(actors, "get_local_member", lambda name: None)
    assert (ranks_in_parts() == expected).all()


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, ValueError])
def test_members_are_released_after_a_call(client, error, no_garbage_collection):
    def fail(done, total, text):
        if error and done > 20:
            raise error("now")

    graph = rg.Graph(dataframe.from_pandas(EDGES, npartitions=3, sort=False))
    before, seen = set(actors._local_members), set()

    def progress(done, total, text):
        seen.update(set(actors._local_members) - before)
        fail(done, total, text)

    with pytest.raises(error, match="now") if error else contextlib.nullcontext():
        found = rg.pagerank(graph, tolerance=0, max_iterations=60, progress=progress)  # noqa: F841
    assert len(seen) == 3 and gone(seen)


# Two processes with a GPU of their own each, or with one together

SENT = []


def watch(machine):
    """In a worker: count pieces that are sent, and say that this machine is `machine`."""
    message_for, SENT[:] = pagerank_partition.PageRankMember.message_for, []

    def watched(self, other, made):
        made = message_for(self, other, made)
        SENT.append(getattr(made, "values", None) is not None)
        return made

    pagerank_partition.PageRankMember.message_for = watched
    if machine is None:
        shared_memory.get_machine_id = lambda: None


def share(number):
    import cudf

    return cudf.DataFrame(EDGES.iloc[number * 700 : (number + 1) * 700])


@gpu
@pytest.mark.parametrize("transport", ["shared memory", "sent", "lost"])
def test_gpus(transport, monkeypatch):
    """One reads what the other wrote; where it cannot, or one dies, the answer is the same."""
    from rapidsgraph.distributed import pagerank

    iterations, tried = {"lost": 800}.get(transport, 30), []
    by_tasks = pagerank._iterate_by_tasks
    monkeypatch.setattr(
        pagerank, "_iterate_by_tasks", lambda *given: tried.append(1) or by_tasks(*given)
    )
    monkeypatch.setattr(actors, "FIRST_BATCH", 400)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        client.run(watch, None if transport == "sent" else "as it is")
        spread = dataframe.from_map(share, range(2), meta=share(0).iloc[:0])

        def progress(done, total, text):
            if done == 1 and transport == "lost":
                pid = min(client.run(os.getpid).values())
                threading.Timer(0.1, os.kill, [pid, signal.SIGKILL]).start()

        found = rg.pagerank(spread, tolerance=0, max_iterations=iterations, progress=progress)
        expected = rg.pagerank(EDGES, tolerance=0, max_iterations=iterations)
        found = found.compute().to_pandas()
        np.testing.assert_allclose(found["pagerank"], expected["pagerank"], rtol=0, atol=1e-12)
        assert len(tried) == (transport == "lost")
        if transport != "lost":
            sent = [sum(each) for each in client.run(sent_here).values()]
            assert sent == ([31, 31] if transport == "sent" else [0, 0])


def sent_here():
    return SENT
