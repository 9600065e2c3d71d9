"""DistributedLayeredStorage: a layered edge list in a folder that all workers of a cluster read.

Each rank opens the store, from a path that the client and all workers can read, and keeps it open
between calls. In a call it reads consecutive partitions, of about as many words as those of any
other rank.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ..device.arrays import ArrayModule, Device
from ..errors import GpuUnavailableError, GraphError
from ..frames import Frame
from ..graph.vertex_names import Labeling
from ..layered.packing import COLUMN
from ..layered.storage import LayeredStorage, StreamStats
from ..layered.store import Store, open_store
from ..progress import Progress, Report, reporter
from ..validation import check_choice, check_path, parse_bytes
from .communicator import Communicator
from .executor import get_executor, release_on_error
from .storage import DistributedStorage

TITLES = {
    "bfs": "BFS", "sssp": "SSSP", "pagerank": "PageRank", "connected_components": "components",
    "strong_components": "strong components", "core_number": "core numbers",
    "label_propagation": "label propagation", "triangle_count": "triangles",
    "clustering_coefficient": "clustering coefficients",
    "neighbor_similarity": "neighbor similarity",
    "structural_similarity": "structural similarity",
}  # fmt: skip
STORES = "stores"  # key of the tasks that have opened the store


class DistributedLayeredStorage(DistributedStorage):
    """The state of a `LayeredEdgeList` whose partitions are distributed over Dask workers.

    Algorithms return Dask frames with a partition per worker.

    Attributes
    ----------
    local : LayeredStorage
        The list as this process opened it; its partitions are not read here.
    path : Path
    last_run : StreamStats or None
        Cost of the last call with this list: the passes of the rank that made most of them, and the
        partitions and bytes of all ranks.
    """

    engine = "distributed_layered"
    has_own_client = True
    last_run: StreamStats | None = None

    @release_on_error
    def __init__(self, path: str | Path, client: Any, device: Device = "auto") -> None:
        if not hasattr(client, "submit") or not hasattr(client, "nthreads"):
            raise GraphError(
                f"client is a {type(client).__name__}; it must be a distributed.Client, which is "
                "created from a LocalCluster, a LocalCUDACluster or a scheduler's address",
                parameter="client",
                value=client,
            )
        check_choice("device", device, get_args(Device))
        super().__init__(get_executor(client))
        self.path = check_path(path).absolute()
        self.local = LayeredStorage.from_store(open_store(self.path), "cpu")
        self.device = "cpu"  # where the communicator of the first call works
        self._requested_device = device
        self._rebuild()

    def _rebuild(self) -> None:
        arguments = str(self.path), self.local.manifest_checksum, self._requested_device
        tasks, devices = self._run(_open_storage, arguments, name="open")
        self._partitions.setdefault(STORES, [])[:] = tasks
        self.device = devices[0]

    def run_algorithm(
        self,
        algorithm: str,
        function: Callable[..., Any],
        used: Any,
        words: str | None,
        *arguments: Any,
        memory_limit: Any,
        progress: Progress,
        total: int | None = None,
    ) -> tuple[Frame, Any]:
        """Run ``function(communicator, report, storage, memory_limit, *arguments)`` on every rank.

        Parameters
        ----------
        algorithm : str
            A key of `TITLES`.
        function : callable
            Returns what `finish_frame` does, with the info (StreamStats, anything); its storage
            has the partitions of the rank only.
        used : index array or slice
            The partitions that ranks read.
        words : str or None
            Column of the partition table with the cost of a partition; None for the same, all
            partitions on every rank.
        total : int, optional
            Of the progress that rank 0 reports.

        Returns
        -------
        frame : Dask frame
        info : object
            Of rank 0.
        """
        limit = None if memory_limit is None else parse_bytes(memory_limit, "memory_limit")
        self.last_run = StreamStats(0, 0, 0)
        table = self.local.table
        ranges = [(0, len(table))] * self.num_partitions
        if words is not None:
            costs = np.zeros(len(table), np.int64)
            costs[used] = table[used, COLUMN[words]]
            ranges = balance_partitions(costs, self.num_partitions)
        with reporter(progress, TITLES[algorithm], total) as report:
            frame, infos = self.run_for_frame(
                _run_on_slice, self._partitions[STORES], ranges, function, limit, *arguments,
                name=algorithm, report=report,
            )  # fmt: skip
        stats, others = zip(*infos, strict=True)
        passes, num_partitions, nbytes = zip(*stats, strict=True)
        self.last_run = StreamStats(max(passes), sum(num_partitions), sum(nbytes))
        return frame, others[0]

    # The properties of `LayeredStorage` that `LayeredEdgeList` reads.

    @property
    def labeling(self) -> Labeling:
        return self.local.labeling

    @property
    def xp(self) -> ArrayModule:
        return self.local.xp

    @property
    def root(self) -> Any:
        return self.local.root

    @property
    def depth(self) -> int:
        return self.local.depth

    @property
    def layer_starts(self) -> np.ndarray:
        return self.local.layer_starts

    @property
    def layer_edges(self) -> np.ndarray:
        return self.local.layer_edges

    @property
    def minimum_edges(self) -> int | None:
        return self.local.minimum_edges

    @property
    def num_vertices(self) -> int:
        return self.local.num_vertices

    @property
    def num_edges(self) -> int:
        return self.local.num_edges

    @property
    def directed(self) -> bool:
        return self.local.directed

    @property
    def weighted(self) -> bool:
        return self.local.weighted

    @property
    def nbytes(self) -> int:
        return self.local.nbytes

    def summarize(self) -> dict[str, Any]:
        """Return the properties that a notebook shows."""
        return {**self.local.summarize(), "device": self.device, "workers": self.num_partitions}

    def __repr__(self) -> str:
        return (
            repr(self.local).removesuffix("cpu>")
            + f"{self.device} of {self.num_partitions} workers>"
        )


def balance_partitions(costs: np.ndarray, num_ranks: int) -> list[tuple[int, int]]:
    """Return ranges of partitions for each rank, of about equal cost.

    Partitions before the first and after the last one with a cost belong to no rank.
    """
    nonzero = np.flatnonzero(costs)
    if not nonzero.size:
        return [(0, 0)] * num_ranks
    start, stop = int(nonzero[0]), int(nonzero[-1]) + 1
    ends = np.cumsum(costs[start:stop].astype(np.float64))
    middles = ends - costs[start:stop] / 2
    inner = np.searchsorted(middles, ends[-1] * np.arange(1, num_ranks) / num_ranks)
    return list(itertools.pairwise([start, *(start + inner).tolist(), stop]))


# SPMD functions: every rank of a communicator calls them.


def _open_storage(
    communicator: Communicator, report: Report, path: str, checksum: str, device: Device
) -> tuple[LayeredStorage, str]:
    """Return the storage of a rank, and the device of all ranks."""
    store = _open_store(path, checksum)
    try:
        storage = LayeredStorage.from_store(store, device)
    except GpuUnavailableError as error:
        raise GpuUnavailableError(f"{error} (seen by worker {_get_address()})") from error
    if len(set(communicator.all_gather_object(storage.device))) > 1:
        storage = LayeredStorage.from_store(store, "cpu")
    return storage, storage.device


def _run_on_slice(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    partitions: tuple[int, int],
    function: Callable[..., Any],
    *arguments: Any,
) -> Any:
    """Run a function on the partitions of a rank; see `DistributedLayeredStorage.run_algorithm`."""
    _open_store(str(storage.path), storage.manifest_checksum)
    return function(communicator, report, storage.slice_partitions(*partitions), *arguments)


def _open_store(path: str, checksum: str) -> Store:
    """Open the store in a folder on this worker.

    Raises
    ------
    GraphError
        It cannot be opened, or has another checksum; the message names the path and the worker.
    """
    try:
        store = open_store(path)
    except GraphError as error:
        raise GraphError(
            f"{error} (seen by worker {_get_address()}; every worker reads the store by itself, "
            "from a file system that all of them share)",
            path=path,
        ) from error
    if store.manifest["checksum"] != checksum:
        raise GraphError(
            f"{path}: worker {_get_address()} sees another layered edge list there than the "
            "client; put it on a file system that all of them share, and open it again",
            path=path,
        )
    return store


def find_worker() -> Any:
    """Return the Dask worker of this task, or None."""
    import distributed

    try:
        return distributed.get_worker()
    except ValueError:
        return None


def _get_address() -> str:
    return getattr(find_worker(), "address", "in this process")
