"""Distributed calls of several ranks in this process: each rank is a thread, without a cluster."""

import socket
from concurrent.futures import ThreadPoolExecutor

from rapidsgraph.distributed import executor
from rapidsgraph.distributed.communicator import LocalCommunicator, RankLostError
from rapidsgraph.distributed.host import HostCommunicator
from rapidsgraph.distributed.spmd_worker import ignore_report


def use_local_ranks(monkeypatch, count):
    """Give graphs without a client `count` partitions."""
    monkeypatch.setattr(executor.LocalExecutor, "workers", (None,) * count)
    monkeypatch.setattr(executor.LocalExecutor, "run_spmd", _run_spmd)


def _run_spmd(self, function, arguments, *, name, on_gpu, report=None):
    arguments = [list(map(executor._resolve, own)) for own in arguments]
    results, infos = zip(*run_ranks(function, arguments, report))
    return [executor._LocalTask(result) for result in results], list(infos)


def run_ranks(function, arguments, report=None):
    """Return ``function(communicator, report, *arguments[rank])`` of every rank."""
    size = len(arguments)
    connections = [[None] * size for _ in range(size)]
    for rank in range(size):
        for peer in range(rank):
            connections[rank][peer], connections[peer][rank] = socket.socketpair()

    def run(rank):
        own_report = report if report and rank == 0 else ignore_report
        if size == 1:
            return function(LocalCommunicator(), own_report, *arguments[rank])
        communicator = HostCommunicator(rank, connections[rank])
        try:
            result = function(communicator, own_report, *arguments[rank])
            communicator.barrier()  # no rank closes its connections while another needs them
            return result
        finally:
            communicator.close()

    with ThreadPoolExecutor(size) as threads:
        futures = [threads.submit(run, rank) for rank in range(size)]
    errors = [future.exception() for future in futures if future.exception()]
    errors.sort(key=lambda error: isinstance(error, RankLostError))
    if errors:
        raise errors[0]
    return [future.result() for future in futures]
