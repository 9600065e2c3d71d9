"""Layered edge lists whose edges are elsewhere: in a store, within a limit of memory.

Means: what BFS, SSSP and PageRank take then, beside the same list in memory; on a GPU beside the
  rate of pinned copies that was measured in the same run.
"""

import contextlib
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import timing
from pipelines.benchmarks.wolfpath import ALONE
from pipelines.benchmarks.workloads import with_weights
from rapidsgraph import device
from rapidsgraph.dispatch import storage_of
from rapidsgraph.layered import streaming
from rapidsgraph.layered.packing import COLUMN, PARTITION_BYTES
from rapidsgraph.memory import ALGORITHM_BYTES

ITERATIONS = 10  # of PageRank
PIECES = 32  # partitions that there are at least, so that a tenth of them is some
PINNED = 8  # buffers whose copies are timed


def partition_bytes(layered_bytes):
    """What partitions of a list of so many bytes have, at most the default."""
    return int(min(PARTITION_BYTES, max(layered_bytes // PIECES, 2**10)))


def opened(folder, xp):
    """The list in a folder, on the device of `xp`; where there is no cuDF results are arrays."""
    on_cpu = xp is np
    if on_cpu or not device.frame_library_problem():
        return rg.LayeredEdgeList.open(folder, device="cpu" if on_cpu else "gpu")
    layered = rg.LayeredEdgeList.open(folder, device="cpu")
    storage = storage_of(layered)
    storage.xp, storage.names, storage._kind = xp, storage.store.vertex_names(xp), "arrays"
    return layered


def limit_of(layered, algorithm, share=10):
    """Bytes for the vertices and a tenth of the edges, or the few partitions that it takes."""
    largest = int(storage_of(layered).table[:, COLUMN["words"]].max(initial=1)) * 4
    reserved = ALGORITHM_BYTES[algorithm].per_vertex * layered.num_vertices
    return reserved + max(layered.nbytes // share, 3 * largest)


def pinned_rate(clock, nbytes, total=2**30):
    """Bytes a second of copies of `nbytes` each from pinned memory to the device; the median."""
    cupy = clock.xp
    count = max(1, total // nbytes)
    pinned = [cupy.cuda.alloc_pinned_memory(nbytes) for _ in range(min(PINNED, count))]
    arrays = [np.frombuffer(memory, np.uint8, nbytes) for memory in pinned]
    for array in arrays:
        array[:] = 1
    target, stream = cupy.empty(nbytes, cupy.uint8), cupy.cuda.Stream(non_blocking=True)

    def copies():
        for turn in range(count):
            source = arrays[turn % len(arrays)].ctypes.data
            cupy.cuda.runtime.memcpyAsync(target.data.ptr, source, nbytes, 1, stream.ptr)
        stream.synchronize()

    times = [clock.ms(copies) for _ in range(6)][1:]
    return count * nbytes / timing.summary(times)["median"] * 1e3


@contextlib.contextmanager
def counted_copies():
    """A list of the bytes of each copy to the device that a feed makes meanwhile."""
    found, honest = [], streaming.GpuStream._copy

    def copy(self, filling, target):
        found.append(int(target.nbytes))
        honest(self, filling, target)

    streaming.GpuStream._copy = copy
    try:
        yield found
    finally:
        streaming.GpuStream._copy = honest


@contextlib.contextmanager
def few(threads, buffers):
    """Feeds have so many host threads and buffers on the device meanwhile."""
    before = streaming.MAX_COPY_THREADS, streaming.NUM_DEVICE_BUFFERS
    streaming.MAX_COPY_THREADS, streaming.NUM_DEVICE_BUFFERS = threads, buffers
    try:
        yield
    finally:
        streaming.MAX_COPY_THREADS, streaming.NUM_DEVICE_BUFFERS = before


def arrays_of(answer, xp):
    """Columns of a result as float64 arrays; -1 where there is nothing."""
    found = {}
    for name in getattr(answer, "columns", answer):
        values = answer[name]
        if hasattr(values, "fillna"):
            values = values.astype(np.float64).fillna(-1).values
        found[name] = xp.asarray(values).astype(np.float64)
    return found


def differs(answer, truth, xp):
    """What is wrong with a result that must be `truth`, or None; ranks may be off by rounding."""
    found, expected = arrays_of(answer, xp), arrays_of(truth, xp)
    if list(found) != list(expected):
        return f"wrong: columns {', '.join(found)}"
    for name, values in expected.items():
        given = found[name]
        if given.shape != values.shape:
            return f"wrong: {given.size} rows for {values.size} vertices"
        same = given == values
        if name == "pagerank":
            same = xp.abs(given - values) <= 1e-9 * values
        if wrong := int((~same).sum()):
            return f"wrong: {wrong} values of {name}"
    return None


CALLS = {
    "bfs": rg.bfs,
    "sssp": rg.sssp,
    "pagerank": partial(rg.pagerank, tolerance=0, max_iterations=ITERATIONS, progress=False),
}


def truths(graph, start, algorithms):
    """{algorithm: result of the graph}; those of searches have been verified, or it raises."""
    found = {}
    for algorithm in algorithms:
        if algorithm == "pagerank":
            found[algorithm] = CALLS[algorithm](graph)
            continue
        found[algorithm] = CALLS[algorithm](graph, start)
        getattr(rg.verify, algorithm)(graph, found[algorithm], start)
    return found


def measure(workload, clock, effort, folder=None, rate=None, step=lambda text: None):
    """Records of one graph, without weights and with them, as they come."""
    start, sizes = workload.start, {}
    for weighted in (False, True):
        given = with_weights(workload) if weighted else workload
        graph = given.build()
        algorithms = ("sssp",) if weighted else ("bfs", "pagerank")
        step(f"{workload.name}: answers")
        truth = truths(graph, start, algorithms)
        layered = rg.LayeredEdgeList.build(graph, start)
        layered = rg.LayeredEdgeList.build(
            graph, start, partition_bytes=partition_bytes(layered.nbytes)
        )
        del graph, given
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            store = Path(temporary) / "store"
            layered.save(store)
            if rate is not None and not sizes:
                sizes["rate"] = rate(storage_of(layered).largest_partition)
            for algorithm in algorithms:
                for how in ways(clock.xp):
                    step(f"{workload.name}: {algorithm}, {how}")
                    row = {
                        "table": "streamed", "graph": workload.name, "algorithm": algorithm,
                        "weighted": weighted, "how": how, "vertices": layered.num_vertices,
                        "edges": layered.num_edges, "layers": layered.depth + 1,
                    }  # fmt: skip
                    one = layered if how in IN_PLACE else opened(store, clock.xp)
                    try:
                        timed(row, one, truth[algorithm], clock, effort, sizes.get("rate"))
                    except Exception as error:  # it must not end the run
                        row["check"] = f"failed: {type(error).__name__}: {error}"[:300]
                    yield row
                    del one


IN_PLACE = ("resident", "in memory")


def ways(xp):
    """How a list is run: where it is, and from its store."""
    return ("in memory", "mapped") if xp is np else ("resident", "streamed", ALONE)


def timed(row, layered, truth, clock, effort, rate):
    """Check and time one algorithm on a list; fill its row."""
    algorithm, how = row["algorithm"], row["how"]
    limit = None if how in IN_PLACE else limit_of(layered, algorithm)
    num_partitions = len(storage_of(layered).table)
    row |= {"partitions": num_partitions, "list_bytes": layered.nbytes, "limit_bytes": limit}
    run = partial(CALLS[algorithm], layered, memory_limit=limit)
    with few(1, 1) if how == ALONE else contextlib.nullcontext():
        with counted_copies() as copies:
            first, answer = clock.timed(run)
        wrong = differs(answer, truth, clock.xp)
        row["check"] = wrong or "ok"
        if wrong:
            return
        del answer
        run()  # whatever is checked or made on first use
        times = clock.repeated(run, effort.rounds, 2 * effort.build)
    took = layered.last_run
    row |= {
        "first_ms": float(f"{first:.4g}"), "run_ms": timing.summary(times),
        "passes": took.passes, "bytes": took.nbytes,
    }  # fmt: skip
    taken = row["run_ms"]["median"] / 1e3
    if algorithm == "pagerank":
        each = [one / ITERATIONS for one in times]
        row["iteration_ms"] = timing.summary(each)
    if how in IN_PLACE:
        return
    moved = sum(copies) if copies else took.nbytes
    row |= {"copied": moved, "gb_per_s": float(f"{moved / taken / 1e9:.4g}")}
    if rate:
        row |= {
            "pinned_gb_per_s": float(f"{rate / 1e9:.4g}"),
            "share": float(f"{moved / taken / rate:.3g}"),
            "by_floor": float(f"{taken * rate / max(took.nbytes, 1):.3g}"),
        }
