"""DistributedStorage: a graph or layered edge list with a rank on each worker of a cluster.

A rank's partition is the result of a task that is pinned to the worker of that rank. If a worker is
lost, the call that notices it builds all partitions again, and starts again.
"""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..errors import ClusterError
from ..frames import Frame, divide_rows, library_name
from ..graph.local_graph import Storage
from ..progress import Report
from .communicator import Communicator, RankLostError
from .executor import Executor, get_active_client, releasing_on_error
from .monitor import check_open, get_address

MAX_BUILDS = 3  # of lost partitions in one call

R = TypeVar("R")


class DistributedStorage(Storage, ABC):
    """The state of a graph or layered edge list on the workers of a Dask cluster.

    Attributes
    ----------
    executor : Executor
    device : {"cpu", "gpu"}
        Where the workers compute.
    num_partitions : int
        Number of ranks.
    """

    device: str
    has_own_client = False  # whether the caller passed the client; otherwise it is the active one

    def __init__(self, executor: Executor) -> None:
        self.executor, self.num_partitions = executor, len(executor.workers)
        self._partitions: dict[str, list] = {}  # tasks by layout, one per rank
        self._lock, self._num_builds = threading.Lock(), 0

    @property
    def client(self) -> Any:
        """The client whose workers have the partitions; None for this process."""
        return self.executor.client

    def run(
        self,
        function: Callable[..., tuple[Any, Any]],
        *arguments: Any,
        name: str,
        report: Report | None = None,
    ) -> tuple[list, list]:
        """Run ``function(communicator, report, *arguments)`` on every rank; see `spmd.run`.

        An argument that is a list has one entry per rank, such as the tasks of partitions.
        """
        return self._recover(lambda: self._run(function, arguments, name=name, report=report))

    def _run(
        self,
        function: Callable[..., tuple[Any, Any]],
        arguments: Sequence[Any],
        *,
        name: str,
        report: Report | None = None,
    ) -> tuple[list, list]:
        by_rank = [
            [argument[rank] if isinstance(argument, list) else argument for argument in arguments]
            for rank in range(self.num_partitions)
        ]
        return self.executor.run_spmd(
            function, by_rank, name=name, on_gpu=self.device == "gpu", report=report
        )

    def run_for_frame(
        self,
        function: Callable[..., tuple[Frame, Any]],
        *arguments: Any,
        name: str,
        report: Report | None = None,
    ) -> tuple[Frame, list]:
        """Run a function whose results are frames from `finish_frame`; see `run`.

        Returns
        -------
        frame : Dask frame
        infos : list
            What the function returned besides, by rank.
        """
        tasks, infos = self.run(function, *arguments, name=name, report=report)
        counts, metas, others = zip(*infos, strict=True)
        nonempty, divisions = divide_rows(counts)
        frames = [tasks[rank] for rank in nonempty]
        return self.executor.to_dask(frames, metas[0], divisions), list(others)

    def _recover(self, call: Callable[[], R]) -> R:
        """Return ``call()``; if it fails because partitions are lost, build them and call again."""
        self._check_client()
        for _ in range(MAX_BUILDS):
            num_builds = self._num_builds
            try:
                return call()
            except RankLostError:
                if not self._rebuild_if_lost(num_builds):
                    raise
        return call()

    def _rebuild_if_lost(self, num_builds: int) -> bool:
        """Build lost partitions again; return False if none is lost since a call began.

        `num_builds` was `_num_builds` when the call began. Calls of other threads may fail for
        the same lost worker.
        """
        with self._lock:
            if self._num_builds != num_builds:
                return True
            if self.executor.are_valid(list(self._partitions.values())):
                return False
            self._num_builds += 1
            with releasing_on_error():
                self._rebuild()
            return True

    @abstractmethod
    def _rebuild(self) -> None:
        """Build all partitions again, in the same lists: repeated calls have these as arguments."""

    def _check_client(self) -> None:
        """Raise ClusterError if the client is closed, or active on another cluster.

        Dask computes result frames on the active client, which would not know their tasks.
        """
        if self.client is None:
            return
        check_open(self.client)
        active = None if self.has_own_client else get_active_client()
        if active is None or active is self.client:
            return
        address, active_address = get_address(self.client), get_address(active)
        if address != active_address:
            raise ClusterError(
                f"the graph is on the cluster at {address}, but the active client is connected to "
                f"{active_address}; call within `with client.as_current():` of the graph's own "
                "client, or build the graph again",
                parameter="graph",
            )


def finish_frame(
    communicator: Communicator, frame: Frame, info: Any = None
) -> tuple[Frame, tuple[int, Frame, Any]]:
    """Return the frame of a rank with its rows of the result's index, and what the client needs.

    See `DistributedStorage.run_for_frame`; every rank must call this.
    """
    counts = communicator.all_gather_object(len(frame))
    start, frame = sum(counts[: communicator.rank]), frame.copy(deep=False)
    frame.index = sys.modules[library_name(frame)].RangeIndex(start, start + len(frame))
    return frame, (len(frame), frame.iloc[:0] if communicator.rank == 0 else None, info)
