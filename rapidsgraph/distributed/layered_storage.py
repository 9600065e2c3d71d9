"""DistributedLayeredStorage: a layered edge list in a folder that all workers of a cluster read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np

from ..device.arrays import ArrayModule, Device
from ..errors import GraphError
from ..graph.vertex_names import Labeling
from ..layered.storage import LayeredStorage, StreamStats
from ..layered.store import open_store
from ..validation import check_choice, check_path
from .executor import DaskExecutor, DistributedStorage, release_on_error
from .store_shard import get_device


class DistributedLayeredStorage(DistributedStorage):
    """The state of a `LayeredEdgeList` whose partitions are distributed over Dask workers.

    `bfs`, `sssp` and `pagerank` return Dask frames with a partition per worker.

    Attributes
    ----------
    local : LayeredStorage
        The list as this process opened it; its partitions are not read here.
    path : Path
    device : {"cpu", "gpu"}
        Where workers compute; frames are pandas or cuDF accordingly.
    last_run : StreamStats or None
        Cost of the last call with this list: the passes of the worker that made most of them in
        each superstep, and the partitions and bytes of all workers.
    """

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
        self.path, self.client = check_path(path).absolute(), client
        self.local = LayeredStorage.from_store(open_store(self.path), "cpu")
        store = str(self.path), self.local.manifest_checksum, device
        executor = DaskExecutor(client)
        self._num_workers = len(executor.workers)
        devices = executor.gather(
            [
                executor.submit(get_device, *store, name="device", worker=number)
                for number in range(self._num_workers)
            ]
        )
        self.device = "gpu" if set(devices) == {"gpu"} else "cpu"

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

    def __repr__(self) -> str:
        return (
            repr(self.local).removesuffix("cpu>") + f"{self.device} of {self._num_workers} workers>"
        )
