"""Time BFS, SSSP and PageRank of layered edge lists that stay in a store, within a memory limit.

The same list in memory is timed beside them; on a GPU also the rate of copies from pinned memory.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import harness, timing
from pipelines.benchmarks.answers import compare_results
from pipelines.benchmarks.graphs import Workload, with_weights
from pipelines.benchmarks.harness import Effort, Step, ignore_step
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.timing import Clock
from pipelines.benchmarks.wolfpath import NO_OVERLAP
from rapidsgraph import device
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES
from rapidsgraph.dispatch import storage_of
from rapidsgraph.frames import Frame
from rapidsgraph.graph.local_graph import LocalGraph
from rapidsgraph.layered import streaming
from rapidsgraph.layered.packing import COLUMN, PARTITION_BYTES

ITERATIONS = 10  # of PageRank
MIN_PARTITIONS = 32  # so that a tenth of them is more than three
NUM_PINNED_BUFFERS = 8  # whose copies are timed
LIMIT_RATIO = 10  # the limit fits a tenth of the edges
MIN_PARTITIONS_IN_LIMIT = 3
IN_PLACE = ("resident", "in memory")  # variants without a store

CALLS: dict[str, Callable[..., Frame]] = {
    "bfs": rg.bfs,
    "sssp": rg.sssp,
    "pagerank": partial(rg.pagerank, tolerance=0, max_iterations=ITERATIONS, progress=False),
}


def partition_bytes(list_bytes: int) -> int:
    """Return the partition size for a list of `list_bytes`, at most the default."""
    return int(min(PARTITION_BYTES, max(list_bytes // MIN_PARTITIONS, 2**10)))


def largest_partition(layered: rg.LayeredEdgeList) -> int:
    """Return the bytes of the largest partition."""
    return int(storage_of(layered).table[:, COLUMN["words"]].max(initial=1)) * 4


def open_store(folder: Path, xp: Any) -> rg.LayeredEdgeList:
    """Open a store on the device of `xp`; without cuDF, results on a GPU are arrays."""
    on_cpu = xp is np
    if on_cpu or not device.frame_library_problem():
        return rg.LayeredEdgeList.open(folder, device="cpu" if on_cpu else "gpu")
    layered = rg.LayeredEdgeList.open(folder, device="cpu")
    storage = storage_of(layered)
    names = storage.store.vertex_names(xp)
    storage.labeling = replace(storage.labeling, names=names, xp=xp, library="arrays")
    return layered


def memory_limit(layered: rg.LayeredEdgeList, algorithm: str) -> int:
    """Return the bytes of the vertices and a tenth of the edges, or some partitions if larger."""
    vertex_bytes = ALGORITHM_BYTES[algorithm].per_vertex * layered.num_vertices
    min_bytes = MIN_PARTITIONS_IN_LIMIT * largest_partition(layered)
    return vertex_bytes + max(layered.nbytes // LIMIT_RATIO, min_bytes)


def pinned_copy_rate(clock: Clock, nbytes: int, total: int = 2**30) -> float:
    """Return the median bytes per second of copies of `nbytes` from pinned memory to the device."""
    cupy = clock.xp
    count = max(1, total // nbytes)
    pinned = [cupy.cuda.alloc_pinned_memory(nbytes) for _ in range(min(NUM_PINNED_BUFFERS, count))]
    arrays = [np.frombuffer(memory, np.uint8, nbytes) for memory in pinned]
    for array in arrays:
        array[:] = 1
    target, stream = cupy.empty(nbytes, cupy.uint8), cupy.cuda.Stream(non_blocking=True)

    def copy_all() -> None:
        for index in range(count):
            source = arrays[index % len(arrays)].ctypes.data
            cupy.cuda.runtime.memcpyAsync(target.data.ptr, source, nbytes, 1, stream.ptr)
        stream.synchronize()

    times = [clock.ms(copy_all) for _ in range(6)][1:]
    return count * nbytes / timing.summary(times)["median"] * 1e3


@contextlib.contextmanager
def record_copies() -> Iterator[list[int]]:
    """Yield a list that receives the bytes of each copy of a partition to the device."""
    sizes: list[int] = []
    original = streaming.GpuStream._copy

    def copy(self: Any, filling: Any, target: Any) -> None:
        sizes.append(int(target.nbytes))
        original(self, filling, target)

    streaming.GpuStream._copy = copy
    try:
        yield sizes
    finally:
        streaming.GpuStream._copy = original


@contextlib.contextmanager
def limit_overlap(threads: int, buffers: int) -> Iterator[None]:
    """Set the numbers of host threads and device buffers of streams."""
    previous = streaming.MAX_COPY_THREADS, streaming.NUM_DEVICE_BUFFERS
    streaming.MAX_COPY_THREADS, streaming.NUM_DEVICE_BUFFERS = threads, buffers
    try:
        yield
    finally:
        streaming.MAX_COPY_THREADS, streaming.NUM_DEVICE_BUFFERS = previous


def verified_results(graph: LocalGraph, start: int, algorithms: Iterable[str]) -> dict[str, Frame]:
    """Return the results of a Graph; rapidsgraph.verify passes those of searches, or raises."""
    results = {}
    for algorithm in algorithms:
        if algorithm == "pagerank":
            results[algorithm] = CALLS[algorithm](graph)
            continue
        results[algorithm] = CALLS[algorithm](graph, start)
        getattr(rg.verify, algorithm)(graph, results[algorithm], start)
    return results


def measure(
    workload: Workload,
    clock: Clock,
    effort: Effort,
    folder: Path | None = None,
    copy_rate: Callable[[int], float] | None = None,
    step: Step = ignore_step,
) -> Iterator[Record]:
    """Yield the records of one graph, without and with weights.

    `copy_rate` measures the rate of pinned copies of so many bytes each.
    """
    start = workload.start
    rate: float | None = None
    for weighted in (False, True):
        variant = with_weights(workload) if weighted else workload
        graph = variant.build()
        algorithms = ("sssp",) if weighted else ("bfs", "pagerank")
        step(f"{workload.name}: answers")
        results = verified_results(graph, start, algorithms)
        layered = rg.LayeredEdgeList.build(graph, start)
        size = partition_bytes(layered.nbytes)
        layered = rg.LayeredEdgeList.build(graph, start, partition_bytes=size)
        del graph, variant
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            store = Path(temporary) / "store"
            layered.save(store)
            if copy_rate is not None and rate is None:
                rate = copy_rate(largest_partition(layered))
            for algorithm in algorithms:
                for variant_name in variants(clock.xp):
                    step(f"{workload.name}: {algorithm}, {variant_name}")
                    row = {
                        "table": "streamed", "graph": workload.name, "algorithm": algorithm,
                        "weighted": weighted, "how": variant_name,
                        "vertices": layered.num_vertices, "edges": layered.num_edges,
                        "layers": layered.depth + 1,
                    }  # fmt: skip
                    is_in_place = variant_name in IN_PLACE
                    target = layered if is_in_place else open_store(store, clock.xp)
                    harness.try_call(
                        row,
                        partial(fill_row, row, target, results[algorithm], clock, effort, rate),
                    )
                    yield row
                    del target


def variants(xp: Any) -> tuple[str, ...]:
    """Return the variants of a run: in place, and from the store."""
    return ("in memory", "mapped") if xp is np else ("resident", "streamed", NO_OVERLAP)


def fill_row(
    row: Record,
    layered: rg.LayeredEdgeList,
    reference: Frame,
    clock: Clock,
    effort: Effort,
    rate: float | None,
) -> None:
    """Check and time one algorithm on a list."""
    algorithm, variant = row["algorithm"], row["how"]
    is_in_place = variant in IN_PLACE
    limit = None if is_in_place else memory_limit(layered, algorithm)
    row |= {
        "partitions": len(storage_of(layered).table),
        "list_bytes": layered.nbytes,
        "limit_bytes": limit,
    }
    run = partial(CALLS[algorithm], layered, memory_limit=limit)
    with limit_overlap(1, 1) if variant == NO_OVERLAP else contextlib.nullcontext():
        with record_copies() as copies:
            first, answer = clock.timed(run)
        problem = compare_results(answer, reference, clock.xp)
        row["check"] = problem or "ok"
        if problem:
            return
        del answer
        run()  # what is validated or cached on first use
        times = clock.repeated(run, effort.rounds, 2 * effort.build_budget)
    last_run = layered.last_run
    row |= {
        "first_ms": float(f"{first:.4g}"), "run_ms": timing.summary(times),
        "passes": last_run.passes, "bytes": last_run.nbytes,
    }  # fmt: skip
    seconds = row["run_ms"]["median"] / 1e3
    if algorithm == "pagerank":
        row["iteration_ms"] = timing.summary([elapsed / ITERATIONS for elapsed in times])
    if is_in_place:
        return
    copied = sum(copies) if copies else last_run.nbytes
    row |= {"copied": copied, "gb_per_s": float(f"{copied / seconds / 1e9:.4g}")}
    if rate:
        row |= {
            "pinned_gb_per_s": float(f"{rate / 1e9:.4g}"),
            "share": float(f"{copied / seconds / rate:.3g}"),
            "by_floor": float(f"{seconds * rate / max(last_run.nbytes, 1):.3g}"),
        }
