"""A worker's share of a layered edge list: consecutive partitions of a store, which it reads.

Means: a sweep over a share gives what its edges say of all vertices, in arrays by place; those of
  all shares are combined. share_sweeps.py has the sweeps.
Requires: a path that every worker can open. Tasks change none of their arguments but the share,
  whose feed stays open for a run; where a share is needed elsewhere it is opened again.
"""

import threading
import weakref
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import device
from ..algorithms import layered as sweeps
from ..errors import GraphError, NoGPU
from ..layers.layered import LayeredEdgeList, Run
from ..streaming import feed

NOTHING = Run(0, 0, 0)


class Asked(NamedTuple):
    """Which share, and what for.

    Attributes
    ----------
    path, checksum : str
        Of the store, and what its manifest says of itself.
    device : {"cpu", "gpu"}
    start, stop : int
        The first partition, and the one behind the last.
    algorithm, title : str
    memory_limit : int or None
    """

    path: str
    checksum: str
    device: str
    start: int
    stop: int
    algorithm: str
    title: str
    memory_limit: int | None


def shared_out(costs, workers):
    """[(start, stop)] of consecutive partitions for each worker, of about equal costs.

    Those without costs, before the first and behind the last that has some, are nobody's.
    """
    has = np.flatnonzero(costs)
    if not has.size:
        return [(0, 0)] * workers
    first, last = int(has[0]), int(has[-1]) + 1
    ends = np.cumsum(costs[first:last].astype(np.float64))
    middles = ends - costs[first:last] / 2
    bounds = np.searchsorted(middles, ends[-1] * np.arange(1, workers) / workers)
    bounds = [first, *(first + bounds).tolist(), last]
    return list(zip(bounds, bounds[1:]))


class Swept(NamedTuple):
    """Values by place, and what it took to find them."""

    values: object
    run: Run


class Share:
    """Some partitions of a store that is opened here, and the feed that gives them.

    Attributes
    ----------
    asked : Asked
    layered : LayeredEdgeList
        With these partitions alone.
    """

    def __init__(self, asked):
        self.asked, self._lock, self._end = asked, threading.Lock(), None
        whole = opened_here(asked.path, asked.checksum, asked.device)
        self.layered = whole.part(asked.start, asked.stop)

    def __reduce__(self):
        return Share, (self.asked,)

    @cached_property
    def leaving(self):
        """What leaves the vertex at each place, 1 where nothing does."""
        weights = self.layered.out_weights
        return self.layered.xp.where(weights == 0, 1.0, weights)

    def sweep(self, work):
        """Swept, by a function of the feed that returns (passes, values)."""
        with self._lock:
            if self._end is None:
                self._open()
            given, before = self._feed, (self._feed.partitions, self._feed.nbytes)
            passes, values = work(given)
            given.finish()
            return Swept(
                values, Run(passes, given.partitions - before[0], given.nbytes - before[1])
            )

    def _open(self):
        layered, asked = self.layered, self.asked
        what, reserved, limit = sweeps.needs(
            layered, asked.algorithm, asked.title, asked.memory_limit
        )
        limit = _worker_limit(layered, reserved) if limit is None else limit
        self._feed = feed(layered, reserved, limit, what, asked.algorithm != "bfs")
        self._end = weakref.finalize(self, self._feed.close)
        self._end.atexit = False  # the process gives back all by itself

    def close(self):
        """Give back what the feed holds."""
        with self._lock:
            if self._end is not None:
                self._end()
                self._feed = self._end = None


def _worker():
    """The worker of Dask that this is, or None."""
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def _worker_limit(layered, reserved):
    """Bytes for a run where nobody named any, or None for what is free.

    Pages of a mapped file count as memory of the worker, which Dask ends for too much of it.
    """
    allowed = getattr(getattr(_worker(), "memory_manager", None), "memory_limit", None)
    if layered.xp is not np or not allowed:
        return None
    least = reserved + min(2 * layered.largest_partition, layered.nbytes)
    free = device.free_memory(np)
    return max(min(allowed // 2, free), least) if free >= least else None


def opened_here(path, checksum, device):
    """The LayeredEdgeList in a folder, as this worker sees it.

    Raises
    ------
    GraphError
        It cannot be opened here, or is another one; the message names the path and the worker.
    """
    where = getattr(_worker(), "address", "in this process")
    try:
        found = LayeredEdgeList.open(path, device=device)
    except GraphError as error:
        raise (NoGPU if isinstance(error, NoGPU) else GraphError)(
            f"{error} (seen by worker {where}; every worker reads the store by itself, from a "
            "file system that all of them share)"
        ) from error
    if found.manifest_checksum != checksum:
        raise GraphError(
            f"{path}: worker {where} has another layered edge list there than the client; put it "
            "on a file system that all of them share, and open it again"
        )
    return found


def device_here(path, checksum, device):
    """ "cpu" or "gpu", where `device` leads to; GraphError as from `opened_here`."""
    return opened_here(path, checksum, device).device


def closed(share):
    share.close()


def run_of(swept):
    return swept.run


def runs_together(runs):
    """Of shares that swept at the same time."""
    passes, partitions, nbytes = zip(*runs)
    return Run(max(passes), sum(partitions), sum(nbytes))


def least(*swept):
    """Swept with the least of all values at each place."""
    return _combined("minimum", swept)


def total(*swept):
    """Swept with the sum of all values at each place."""
    return _combined("add", swept)


def _combined(function, swept):
    run = runs_together([each.run for each in swept])
    values = [each.values for each in swept if each.values is not None]
    if not values:
        return Swept(None, run)
    function = getattr(device.array_module(values[0]), function)
    found = values[0].copy()
    for other in values[1:]:
        function(found, other, out=found)
    return Swept(found, run)
