"""Ranks in this process: each one is a thread, and they communicate over pairs of sockets.

Distributed graphs without a Dask client have one rank, unless they are built within
`executor.local_ranks`, which `warm` and tests use.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..progress import Report
from .communicator import LocalCommunicator, RankLostError
from .host import HostCommunicator
from .spmd_worker import ignore_report


def run_ranks(
    function: Callable[..., Any],
    arguments: Sequence[Sequence[Any]],
    report: Report | None = None,
) -> list[Any]:
    """Return ``function(communicator, report, *arguments[rank])`` of every rank.

    A single rank runs in this thread. Rank 0 gets the `report`.
    """
    reports = [report or ignore_report, *[ignore_report] * (len(arguments) - 1)]
    if len(arguments) == 1:
        return [function(LocalCommunicator(), reports[0], *arguments[0])]
    connections = _connect(len(arguments))

    def run(rank: int) -> Any:
        communicator = HostCommunicator(rank, connections[rank])
        try:
            result = function(communicator, reports[rank], *arguments[rank])
            communicator.barrier()  # no rank closes its connections while another needs them
            return result
        finally:
            communicator.close()

    with ThreadPoolExecutor(len(arguments)) as threads:
        futures = [threads.submit(run, rank) for rank in range(len(arguments))]
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:  # ranks that lost another one do not have the root cause
        raise min(errors, key=lambda error: isinstance(error, RankLostError))
    return [future.result() for future in futures]


def _connect(size: int) -> list[list[Any]]:
    """Return the connection of each rank to every other one; None to itself."""
    connections: list[list[Any]] = [[None] * size for _ in range(size)]
    for rank in range(size):
        for peer in range(rank):
            connections[rank][peer], connections[peer][rank] = socket.socketpair()
    return connections
