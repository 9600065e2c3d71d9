"""A worker's share of a layered edge list: consecutive partitions of a store, which it reads.

Means: a sweep over a share gives what its edges say of all vertices, in arrays by place; those of
  all shares are combined. share_sweeps.py has the sweeps.
Requires: a path that every worker can open. Tasks change none of their arguments but the share,
  whose feed stays open for a run; where a share is needed elsewhere it is opened again.
"""
# Sweeps over a share of a layered edge list: the tasks of layered.py.
#
# Means: parents of BFS, distances and predecessors of SSSP, what edges add to ranks; and rows of
#   results. Arrays are by place, and None stands for what is not there.
# Requires: as shares.py. What is sent from task to task is Swept, Terms or Ranks.

import importlib
import math
import threading
import weakref
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import device, frames
from ..algorithms.pagerank_problem import (
    NUM_CPU_BLOCKS,
    dangling_weights,
    vertex_distribution,
)
from ..errors import GpuUnavailableError, GraphError
from ..graph import weight_sums
from ..kernels.constants import NO_VERTEX
from ..layered import algorithms as sweeps
from ..layered.storage import LayeredStorage, StreamStats
from ..layered.store import open_store
from ..layered.streaming import open_stream

NOTHING = StreamStats(0, 0, 0)


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
    run: StreamStats


class Share:
    """Some partitions of a store that is opened here, and the feed that gives them.

    Attributes
    ----------
    asked : Asked
    layered : LayeredStorage
        With these partitions alone.
    """

    def __init__(self, asked):
        self.asked, self._lock, self._end = asked, threading.Lock(), None
        whole = opened_here(asked.path, asked.checksum, asked.device)
        self.layered = whole.slice_partitions(asked.start, asked.stop)

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
            given, before = self._feed, (self._feed.num_partitions, self._feed.nbytes)
            passes, values = work(given)
            given.finish()
            return Swept(
                values,
                StreamStats(passes, given.num_partitions - before[0], given.nbytes - before[1]),
            )

    def _open(self):
        layered, asked = self.layered, self.asked
        what, reserved, limit = sweeps.memory_requirement(
            layered, asked.algorithm, asked.title, asked.memory_limit
        )
        limit = _worker_limit(layered, reserved) if limit is None else limit
        self._feed = open_stream(layered, reserved, limit, what, asked.algorithm != "bfs")
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
    """The LayeredStorage in a folder, as this worker sees it.

    Raises
    ------
    GraphError
        It cannot be opened here, or is another one; the message names the path and the worker.
    """
    where = getattr(_worker(), "address", "in this process")
    try:
        found = LayeredStorage.from_store(open_store(path), device)
    except GraphError as error:
        raise (GpuUnavailableError if isinstance(error, GpuUnavailableError) else GraphError)(
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
    return StreamStats(max(passes), sum(partitions), sum(nbytes))


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


# BFS


def parents(share, last):
    """The place before each, from layers before `last`, as far as this share knows one."""
    layered = share.layered
    found = layered.xp.full(layered.num_vertices, NO_VERTEX, layered.xp.int32)
    if not sweeps.forward_partitions(layered, last).size:
        return Swept(found, NOTHING)

    def work(partitions):
        sweeps.find_parents(layered, partitions, last, found, lambda *_: None)
        return 1, found

    return share.sweep(work)


# SSSP


def first_distances(share):
    xp = share.layered.xp
    distances = xp.full(share.layered.num_vertices, math.inf)
    distances[0] = 0.0
    return Swept(distances, NOTHING)


def check_distances(share, distances):
    """Raise GraphError where a distance is beyond double precision; 0 else, as a small result."""
    layered = share.layered
    reached = distances.values[: int(layered.layer_starts[-1])]
    weight_sums.check_reached_distances(reached, layered.order, layered.labeling)
    return 0


def first_steps(distances, before):
    """Steps of `relax_ties`; None where no end is open."""
    open_ends = sweeps.find_unresolved(before.values, distances.values)
    if not bool(open_ends.any()):
        return None
    xp = device.array_module(open_ends)
    return Swept(xp.where(open_ends, np.int32(NO_VERTEX), np.int32(0)), NOTHING)


def is_something(value):
    return value is not None


def relaxed(share, entry, given, before, constants):
    """What `given` is lowered to along the edges of a share, until nothing changes there.

    `before` is what this share gave the last time, or None: rows lower than there wait, at first
    those that have a value. `constants` is the cutoff, or for ties the distances.
    """
    layered, xp, values = share.layered, share.layered.xp, given.values
    if before is None:
        waits = values < (math.inf if entry == "relax" else NO_VERTEX)
    else:
        waits = values < before.values
    stamps = xp.where(waits, np.int32(0), np.int32(-1))
    values = values.copy()
    if entry == "relax":
        arguments = {"cutoff": constants, "distances": values}
    else:
        arguments = {"distances": constants.values, "hops": values}

    def work(partitions):
        passes = sweeps.SsspSweeps(layered, partitions, False)
        passes.relax(entry, stamps, **arguments, all_active=False)
        return passes.passes, values

    return share.sweep(work)


def predecessors(share, distances, steps, before):
    """The smallest vertex before each that this share knows; with `steps` for ends left open."""
    layered, xp = share.layered, share.layered.xp
    found = xp.full(layered.num_vertices, NO_VERTEX, xp.int32)
    found = found if before is None else before.values.copy()
    tied = steps is not None
    rounds = steps.values if tied else xp.empty(0, xp.int32)

    def work(partitions):
        passes = sweeps.SsspSweeps(layered, partitions, False)
        if passes.reached.size:
            passes.find_predecessors(distances.values, rounds, tied, found)
        return passes.passes, found

    return share.sweep(work)


# PageRank


class Terms(NamedTuple):
    """What the ranks are made of besides edges, by place, or one for all."""

    restart: object
    share: object
    start: object
    sinks: object


class Ranks(NamedTuple):
    """Ranks by place after some iterations.

    Attributes
    ----------
    values : float64, shape (vertices,)
    state : float64, shape (4,)
        Iterations, the last change, what sinks hold, whether they converged; as in pagerank.cu.
    run : StreamStats
    """

    values: object
    state: object
    run: StreamStats


def joined(*tables):
    """One frame of several partitions."""
    return importlib.import_module(frames.library_name(tables[0])).concat(tables)


def rank_terms(share, damping, personalization, dangling, start):
    layered = share.layered
    leaving = layered.out_weights
    if layered.weighted:
        weight_sums.check_out_weights(leaving, layered.labeling, layered.order)
    teleport = vertex_distribution(layered.labeling, personalization, "personalization")
    by_id = (
        (1 - damping) * teleport,
        damping * dangling_weights(layered.labeling, dangling, teleport),
        vertex_distribution(layered.labeling, start, "start"),
    )
    order = layered.order
    return Terms(*(each if each.size == 1 else each[order] for each in by_id), leaving == 0)


def first_ranks(terms):
    xp = device.array_module(terms.sinks)
    ranks = xp.empty(terms.sinks.size)
    ranks[...] = terms.start
    mass = float(ranks[terms.sinks].sum())
    return Ranks(ranks, xp.asarray([0.0, math.inf, mass, 0.0]), NOTHING)


def scattered(share, ranks, damping):
    """What the edges of a share add to the ranks of the next iteration; no values at the end."""
    if bool(ranks.state[3]):
        return Swept(None, NOTHING)
    layered = share.layered

    def work(partitions):
        scatter = sweeps.make_scatter(
            layered, partitions, damping, share.leaving, ranks.values, ranks.state
        )
        return 1, scatter(layered.xp.zeros(layered.num_vertices))

    return share.sweep(work)


def settled(terms, ranks, added, tolerance):
    """Ranks of the next iteration, of what edges add; the same ones where they converged."""
    if added.values is None:
        return ranks
    xp, vertices = device.array_module(ranks.values), ranks.values.size
    values, state = xp.empty(vertices), ranks.state.copy()
    device.launch(
        "pagerank", "initialize_sums", size=vertices,
        num_vertices=vertices, teleport=terms.restart, num_teleports=terms.restart.size,
        dangling_weights=terms.share, num_dangling_weights=terms.share.size, state=state,
        sums=values,
    )  # fmt: skip
    values += added.values
    blocks = NUM_CPU_BLOCKS if xp is np else 4 * xp.cuda.Device().attributes["MultiProcessorCount"]
    partials = xp.zeros(2 * blocks)
    device.launch(
        "pagerank", "measure_change", size=vertices, geometry=(blocks, 256),
        num_vertices=vertices, copy=False, new_pagerank=values, is_dangling=terms.sinks,
        state=state, pagerank=ranks.values, partials=partials,
    )  # fmt: skip
    device.launch(
        "pagerank", "check_convergence", size=blocks, geometry=(1, 256),
        num_blocks=blocks, tolerance=tolerance, partials=partials, state=state,
    )  # fmt: skip
    return Ranks(values, state, StreamStats(*(a + b for a, b in zip(ranks.run, added.run))))


def standing(ranks):
    """(iterations, the last change, whether they converged, what it took)."""
    done, residual, _, converged = ranks.state.tolist()
    return int(done), residual, converged != 0, ranks.run


# Rows of results, by id from `first` to before `stop`


def level_rows(share, first, stop, last, found, float_distances):
    """Of BFS, or as SSSP gives distances in edges; `found` may be None, for no predecessors."""
    layered = share.layered
    before = layered.xp.empty(0, layered.xp.int32) if found is None else found.values
    levels = sweeps.bfs_result(layered, last, before)
    distances = levels.distances[first:stop]
    known = distances >= 0
    if float_distances:
        distances = layered.xp.where(known, distances.astype(np.float64), math.inf)
    else:
        distances = distances, known
    before = None if found is None else levels.predecessors[first:stop]
    return _found_rows(layered, first, stop, distances, before)


def path_rows(share, first, stop, distances, before):
    layered = share.layered
    distances = sweeps.to_vertex_order(layered, distances.values)[first:stop]
    before = None if before is None else sweeps.to_vertex_order(layered, before.values)[first:stop]
    return _found_rows(layered, first, stop, distances, before)


def _found_rows(layered, first, stop, distances, before):
    columns = {"distance": distances}
    if before is not None:
        columns |= layered.labeling.name_columns(before, before < NO_VERTEX, "predecessor")
    return _rows(layered, first, stop, columns)


def rank_rows(share, first, stop, ranks, value_type):
    layered = share.layered
    values = sweeps.to_vertex_order(layered, ranks.values)[first:stop].astype(value_type)
    return _rows(layered, first, stop, {"pagerank": values})


def _rows(layered, first, stop, columns):
    frame = layered.labeling.vertex_frame(columns, layered.xp.arange(first, stop, dtype=np.int32))
    frame.index = importlib.import_module(frames.library_name(frame)).RangeIndex(first, stop)
    return frame


def no_rows(frame):
    return frame.iloc[:0]
