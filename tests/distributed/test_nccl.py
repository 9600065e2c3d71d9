"""Calls of several ranks with GPUs of their own, as far as it does not take GPUs."""

import contextlib
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rapidsgraph.distributed import nccl
from rapidsgraph.distributed.communicator import RankLostError
from rapidsgraph.distributed.local_ranks import run_ranks


class FakeGpu:
    """A lock, and a stream that runs what is enqueued in order, as collectives on a GPU."""

    def __init__(self):
        self.lock, self.stream = threading.Lock(), ThreadPoolExecutor(1)


def on_ranks(function, size=2):
    """Return ``function(communicator)`` of each rank."""
    results = run_ranks(lambda group, report: (function(group), None), [[]] * size)
    return [result for result, _ in results]


def test_calls_with_common_gpus_run_one_after_another():
    """Each call starts first on another GPU, where its collectives would block the other's."""
    gpus = {name: FakeGpu() for name in "ab"}
    start = threading.Barrier(2)

    def call(order):
        def enqueue(group):
            gpu = gpus[order[group.rank]]
            if group.rank == 0:
                start.wait(timeout=10)
            else:
                threading.Event().wait(0.1)
            with nccl.lock_gpus(group, order, gpu.lock):
                for _ in range(3):
                    gpu.stream.submit(group.barrier).result(timeout=5)
            return group.rank

        return on_ranks(enqueue)

    with ThreadPoolExecutor(2) as threads:
        for _ in range(3):
            assert list(threads.map(call, ("ab", "ba"))) == [[0, 1], [0, 1]]
    for gpu in gpus.values():
        assert not gpu.lock.locked()
        gpu.stream.shutdown()


def test_a_closed_communicator_does_not_wait_for_a_gpu():
    busy = threading.Lock()

    def lock(group):
        if group.rank == 1:
            threading.Timer(0.2, group.close).start()
        own = threading.Lock() if group.rank == 0 else busy
        with pytest.raises(RankLostError), nccl.lock_gpus(group, "ab", own):
            group.barrier()
        return own.locked()

    with busy, pytest.raises(RankLostError):  # of the last barrier of `on_ranks`
        on_ranks(lock)
    assert not busy.locked()


@pytest.fixture
def fake_nccl(monkeypatch):
    """Have NcclCommunicator use NumPy; return its module, whose lock each rank has for itself."""

    class FakeCommunicator:
        def __init__(self, size, unique_id, rank):
            assert unique_id == "id"

        def abort(self):
            pass

    module = types.SimpleNamespace(NcclCommunicator=FakeCommunicator, get_unique_id=lambda: "id")
    monkeypatch.setattr(nccl, "import_nccl", lambda: module)
    monkeypatch.setattr(nccl.device, "import_cupy", lambda: np)
    monkeypatch.setattr(nccl, "lock_gpus", lambda *arguments: contextlib.nullcontext())


def test_a_rank_is_lost_while_the_stream_runs(fake_nccl, monkeypatch):
    """Collectives that were aborted have wrong results: the call must fail."""

    def serve(group):
        communicator = nccl.NcclCommunicator(group, [None, None], "ab")
        with communicator.serve(1):
            communicator.barrier()
        monkeypatch.setattr(nccl.device, "synchronize", lambda xp: communicator._state.close())
        with pytest.raises(RankLostError, match="aborted"), communicator.serve(2):
            pass

    on_ranks(serve, size=1)
