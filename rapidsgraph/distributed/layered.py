"""BFS, SSSP and PageRank of a layered edge list whose partitions workers share among them.

Means: what the functions of the same names give for the list in memory, as Dask frames: BFS and
  SSSP bit for bit, PageRank but for the last bits.
Requires: a path that the client and all workers can open; vertex arrays that fit on each worker.
Reference: Zhu et al. 2017 (WolfPath), as algorithms/layered.py; shares of it by us.

Each worker takes consecutive partitions of about equally many words and reads them by itself; only
vertex arrays travel. In a round every worker sweeps over its own, and what they found is combined:
the least parents or distances, the sum of what edges add to ranks. SSSP sweeps within a share until
nothing changes there, then the others hear of it, until nothing changes anywhere.
"""

import math
import weakref

import numpy as np

from ..algorithms import pagerank as in_memory
from ..algorithms import traversal
from ..errors import ConvergenceError, GraphError
from ..kernels.constants import NO_VERTEX
from ..layered import algorithms as sweeps
from ..layered.edge_list import LayeredEdgeList, layered_storage
from ..layered.packing import COLUMN
from ..layered.storage import StreamStats
from ..progress import reporter
from ..validation import check_choice, check_path, parse_bytes
from . import store_shard
from .executor import DaskExecutor, release_on_error, tree

FACTS = (
    "root", "depth", "layers", "combined", "num_vertices", "num_edges", "num_arcs", "directed",
    "weighted", "weight_dtype", "minimum_edges", "nbytes", "largest_partition", "layer_starts",
    "layer_edges",
)  # fmt: skip


class DistributedLayeredEdgeList:
    """A layered edge list in a folder, whose partitions the workers of a Dask client share.

    Made by `LayeredEdgeList.open(path, client=client)`. `bfs`, `sssp` and `pagerank` take it, and
    give Dask frames with a partition a worker.

    Attributes
    ----------
    root, depth, layers, combined, num_vertices, num_edges, directed, weighted, nbytes
        As of a `LayeredEdgeList`.
    path : Path
    client : distributed.Client
    device : {"cpu", "gpu"}
        Where workers compute; frames are pandas or cuDF accordingly.
    last_run : StreamStats or None
        What the last call with this list took: passes, those of the worker that made most of them
        in each round; partitions and bytes, those of all workers.
    """

    has_own_client = True  # which the caller names, and which computes results
    last_run = None

    def __init__(self, path, client, device="auto"):
        if not hasattr(client, "submit") or not hasattr(client, "nthreads"):
            raise GraphError(
                f"client is a {type(client).__name__}; it must be a distributed.Client, which "
                "LocalCluster, LocalCUDACluster or a scheduler's address make"
            )
        check_choice("device", device, ("auto", "cpu", "gpu"))
        self.path, self.client = check_path(path).absolute(), client
        self.opened = LayeredEdgeList.open(self.path, device="cpu")
        self.storage = layered_storage(self.opened)
        what = str(self.path), self.storage.manifest_checksum, device
        with _Letting(client) as engine:
            self._workers = len(engine.workers)
            devices = engine.results(
                [
                    engine.submit(store_shard.device_here, *what, name="device", at=place)
                    for place in range(len(engine.workers))
                ]
            )
        self.device = "gpu" if set(devices) == {"gpu"} else "cpu"

    def __getattr__(self, name):
        if name in FACTS:
            frames = name in ("layers", "combined")
            return getattr(self.opened if frames else self.storage, name)
        raise AttributeError(f"DistributedLayeredEdgeList has no attribute {name!r}")

    def __dir__(self):
        return [*super().__dir__(), *FACTS]

    def __repr__(self):
        return (
            f"<DistributedLayeredEdgeList: {self.num_vertices:,} vertices, {self.num_edges:,} edges, depth "
            f"{self.depth} from {self.root!r}, {len(self.storage.table)} partitions, {self.device} "
            f"of {self._workers} workers>"
        )


@release_on_error
def bfs(
    layers, source=None, *, depth_limit=None, predecessors=True, memory_limit=None, progress=None
):
    """As `rapidsgraph.bfs`, of DistributedLayeredEdgeList: a Dask frame."""
    limit = traversal.check_depth_limit(depth_limit)
    _check(layers, source, predecessors)
    return _search(layers, limit, predecessors, memory_limit, progress, False)


@release_on_error
def sssp(layers, source=None, *, cutoff=None, predecessors=True, memory_limit=None, progress=None):
    """As `rapidsgraph.sssp`, of DistributedLayeredEdgeList: a Dask frame."""
    most = traversal.check_cutoff(cutoff)
    _check(layers, source, predecessors)
    if layers.weighted:
        return _paths(layers, most, predecessors, memory_limit, progress)
    most = int(min(most, NO_VERTEX))
    return _search(layers, most, predecessors, memory_limit, progress, True)


@release_on_error
def pagerank(
    layers,
    *,
    damping=0.85,
    tolerance=1e-6,
    max_iterations=100,
    personalization=None,
    dangling=None,
    start=None,
    method="auto",
    precision="double",
    progress=None,
    launch=None,
    memory_limit=None,
):
    """As `rapidsgraph.pagerank`, of DistributedLayeredEdgeList: a Dask frame.

    The frames that it takes may be Dask frames, too.
    """
    damping, tolerance, max_iterations = in_memory.check_parameters(
        damping, tolerance, max_iterations, dangling, method, precision, launch
    )
    if method != "auto":
        raise GraphError(f"method is {method!r}; a layered edge list has 'auto' alone")
    layers.storage.labeling.check_name_collisions("pagerank")
    with _Run(layers, "pagerank", "PageRank", memory_limit, slice(None), "words") as run:
        given = [_given(run.engine, each) for each in (personalization, dangling, start)]
        terms = run.submit(store_shard.rank_terms, run.shares[0], damping, *given)
        ranks = run.submit(store_shard.first_ranks, terms)
        with reporter(progress, "PageRank", max_iterations) as report:
            ranks, iterations, residual = _iterate(
                run, terms, ranks, damping, tolerance, max_iterations, report
            )
        if tolerance and not residual < tolerance:
            raise ConvergenceError(iterations, residual, tolerance)
        return run.frame(store_shard.rank_rows, ranks, in_memory.PRECISIONS[precision])


def _iterate(run, terms, ranks, damping, tolerance, max_iterations, report):
    """(ranks, iterations, the last change): the next iteration is queued before a look at one.

    It does nothing where the one before converged.
    """
    standing, queued, converged = None, 0, False
    while not converged and (queued < max_iterations or standing is not None):
        following = None
        if queued < max_iterations:
            added = run.each(store_shard.scattered, ranks, damping)
            added = tree(run.engine, store_shard.total, added, "total")
            ranks = run.submit(store_shard.settled, terms, ranks, added, tolerance)
            following, queued = run.submit(store_shard.standing, ranks), queued + 1
        if standing is not None:
            iterations, residual, converged, took = run.result(standing)
            run.layers.last_run = took
            report(iterations, f"change {residual:.1e}")
        standing = following
    return ranks, iterations, residual


def _search(layers, limit, predecessors, memory_limit, progress, float_distances):
    """BFS: distances are the layers, so one pass over edges that go forward finds parents."""
    last, found = min(limit, layers.depth), None
    sweeps.check_vertices_fit(layers.storage, "bfs", "BFS", memory_limit)
    wanted = sweeps.forward_partitions(layers.storage, last) if predecessors else np.empty(0, int)
    with _Run(layers, "bfs", "BFS", memory_limit, wanted, "forward_words") as run:
        if predecessors:
            swept = run.each(store_shard.parents, last)
            run.wait(swept, progress, "BFS")
            found = tree(run.engine, store_shard.least, swept, "least")
        return run.frame(store_shard.level_rows, last, found, float_distances)


def _paths(layers, cutoff, predecessors, memory_limit, progress):
    reached = layers.storage.partitions_before(int(layers.layer_starts[-1]))
    with _Run(layers, "sssp", "SSSP", memory_limit, reached, "words") as run:
        distances, before = run.submit(store_shard.first_distances, run.shares[0]), None
        distances = _rounds(run, "relax", distances, cutoff, progress)
        if cutoff == math.inf and layers.weight_dtype == np.float64:
            run.result(run.submit(store_shard.check_distances, run.shares[0], distances))
        if predecessors:
            before = _look_back(run, distances, None, None, progress)
            steps = run.submit(store_shard.first_steps, distances, before)
            if run.result(run.submit(store_shard.is_something, steps)):
                steps = _rounds(run, "relax_zero_weight", steps, distances, progress)
                before = _look_back(run, distances, steps, before, progress)
        return run.frame(store_shard.path_rows, distances, before)


def _rounds(run, entry, values, constants, progress):
    """Values that no edge lowers any more: each share lowers them, and the least count."""
    before = [None] * len(run.busy)
    while True:
        swept = [
            run.submit(
                store_shard.relaxed, run.shares[place], entry, values, own, constants, at=place
            )
            for place, own in zip(run.busy, before)
        ]
        if not run.wait(swept, progress, "SSSP").partitions:
            return values
        values, before = tree(run.engine, store_shard.least, swept, "least"), swept


def _look_back(run, distances, steps, before, progress):
    swept = run.each(store_shard.predecessors, distances, steps, before)
    run.wait(swept, progress, "SSSP, predecessors")
    return tree(run.engine, store_shard.least, swept, "least")


class _Letting(DaskExecutor):
    """Tasks on workers, all of which are let go of where a block fails.

    Else they would stay, and feeds open: Dask keeps the errors of tasks, which know the frames of
    the calls that they passed, and these the tasks.
    """

    def __init__(self, client):
        super().__init__(client)
        self._tasks = weakref.WeakValueDictionary()

    def submit(self, function, *arguments, name, at=None):
        task = super().submit(function, *arguments, name=name, at=at)
        self._tasks[task.key] = task
        return task

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            for task in list(self._tasks.values()):
                task.release()


class _Run:
    """The shares of a run, and tasks of them.

    Attributes
    ----------
    shares : list of tasks, one a worker
    busy : list of int
        Places of those that have partitions, or of one.
    """

    def __init__(self, layers, algorithm, title, memory_limit, wanted, words):
        limit = None if memory_limit is None else parse_bytes(memory_limit, "memory_limit")
        self.layers, self.engine = layers, _Letting(layers.client)
        layers.last_run = StreamStats(0, 0, 0)
        table, workers = layers.storage.table, len(self.engine.workers)
        costs = np.zeros(len(table), np.int64)
        costs[wanted] = table[wanted, COLUMN[words]]
        store = str(layers.path), layers.storage.manifest_checksum, layers.device
        ranges = store_shard.shared_out(costs, workers)
        self.shares = [
            self.submit(
                store_shard.Share,
                store_shard.Asked(*store, *each, algorithm, title, limit),
                at=place,
            )
            for place, each in enumerate(ranges)
        ]
        self.busy = [place for place, (start, stop) in enumerate(ranges) if stop > start] or [0]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.engine.__exit__(*error)

    def submit(self, function, *arguments, at=0):
        return self.engine.submit(function, *arguments, name=function.__name__, at=at)

    def each(self, function, *arguments):
        """Tasks of all busy shares."""
        return [self.submit(function, self.shares[at], *arguments, at=at) for at in self.busy]

    def result(self, task):
        return self.engine.results([task])[0]

    def wait(self, swept, progress, title):
        """Wait for what shares sweep, and count it: the StreamStats of all together."""
        found = []
        counts = [
            self.submit(store_shard.run_of, each, at=at) for each, at in zip(swept, self.busy)
        ]
        with reporter(progress, title, len(swept)) as report:
            for place, count in enumerate(counts):
                found.append(self.result(count))
                report(place + 1, "workers")
        together = store_shard.runs_together(found)
        self.layers.last_run = StreamStats(*(a + b for a, b in zip(self.layers.last_run, together)))
        return together

    def frame(self, rows, *arguments):
        """The Dask frame of a result, as many `rows` on each worker, at the end of a run."""
        # Before another run may want the memory of the feeds.
        self.engine.results(self.each(store_shard.closed))
        vertices, workers = self.layers.num_vertices, len(self.shares)
        bounds = [vertices * place // workers for place in range(workers + 1)]
        parts = [
            self.submit(rows, self.shares[at], start, stop, *arguments, at=at)
            for at, (start, stop) in enumerate(zip(bounds, bounds[1:]))
            if stop > start
        ]
        meta = self.result(self.submit(store_shard.no_rows, parts[0]))
        divisions = (*sorted(set(bounds[:-1])), vertices - 1)
        return self.engine.collection(parts, meta, divisions)


def _given(engine, values):
    """What a caller gave for a parameter; of a Dask frame a task that gives the whole of it."""
    if not hasattr(values, "to_delayed"):
        return values
    return engine.submit(store_shard.joined, *engine.frames(values), name="joined")


def _check(layers, source, predecessors):
    traversal.check_result_columns(layers.storage.labeling, predecessors)
    sweeps.check_root(layers.storage, source)
