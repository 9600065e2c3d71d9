"""One task on one R-MAT graph: its time, its peak memory, and whether its answer is correct.

The time is the median of runs on a ready graph (of `build`: from the frame). The peak is that of
the first run on a graph that has cached nothing, beside the package's estimate.
`rapidsgraph.verify` passes an answer of each size, untimed.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import layered_streaming, peak_memory, timing
from pipelines.benchmarks.answers import WrongAnswerError, result_arrays
from pipelines.benchmarks.graphs import Workload, with_weights
from pipelines.benchmarks.harness import Effort, Session
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.timing import Clock
from rapidsgraph.frames import Frame
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.graph.local_graph import LocalGraph

ITERATIONS, DAMPING = 20, 0.85  # of the PageRank that is timed
TOLERANCE = 1e-9  # of the PageRank that is verified
VERIFY_TOLERANCE = 1e-8
MAX_RUNS = 7
CAN_MEASURE_PEAK = platform.system() == "Linux"  # on a CPU


@dataclass(frozen=True)
class Task:
    """A task; `algorithm` is its name in `rg.estimate_memory`, None for a build."""

    name: str
    algorithm: str | None
    weighted: bool = False
    directed: bool = True

    def workload(self, plain: Workload, data: Path | None = None) -> Workload:
        """Return the rows in the form that this task requires."""
        workload = with_weights(plain, data) if self.weighted else plain
        return workload if self.directed else replace(workload, directed=False)

    def estimate(self, plain: Workload) -> int:
        """Return the estimated bytes above the frame that building and running take."""
        if self.algorithm is None:
            return plain.estimate_build()
        rows = {"source": plain.source, "destination": plain.destination}
        if self.weighted:
            rows["weight"] = plain.source  # any numbers
        return rg.estimate_memory(rows, self.algorithm, directed=self.directed).needed


TASKS = {
    task.name: task
    for task in (
        Task("build", None),
        Task("pagerank", "pagerank"),
        Task("bfs", "bfs"),
        Task("sssp", "sssp", weighted=True),
        Task("components", "connected_components"),
        Task("scan", "scan", directed=False),
        Task("streamed bfs", "bfs"),
    )
}


class Measurement(NamedTuple):
    """The function to run, the check of its answer, and the estimated bytes or the limit."""

    run: Callable[[], Any]
    check: Callable[[Any], None]
    estimate: int


def search_start(workload: Workload) -> int:
    """Return the first vertex of largest out-degree; rows of R-MAT are distinct."""
    return int(workload.xp.bincount(workload.source).argmax())


@contextmanager
def prepare(task: Task, workload: Workload, folder: Path | None = None) -> Iterator[Measurement]:
    """Yield the measurement of a task on a new graph."""
    if task.algorithm is None:
        check = partial(check_csr, workload=workload)
        yield Measurement(workload.build, check, workload.estimate_build())
        return
    graph, start = workload.build(), search_start(workload)
    estimate = rg.estimate_memory(graph, task.algorithm).needed
    if task.name == "pagerank":
        run: Callable[[], Any] = partial(
            rg.pagerank, graph, damping=DAMPING, tolerance=0, max_iterations=ITERATIONS,
            progress=False,
        )  # fmt: skip
        yield Measurement(run, partial(check_pagerank, graph=graph), estimate)
    elif task.name == "components":
        run = partial(rg.connected_components, graph)
        yield Measurement(run, partial(verify, task, graph, None), estimate)
    elif task.name == "scan":

        def scan() -> Frame:
            graph._cache.clear()  # common neighbors, which the Graph caches for later calls
            return rg.scan(graph)

        yield Measurement(scan, partial(verify, task, graph, None), estimate)
    elif task.name == "streamed bfs":
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            layered = save_and_open(graph, start, Path(temporary) / "store")
            limit = layered_streaming.memory_limit(layered, "bfs")
            run = partial(rg.bfs, layered, memory_limit=limit)
            yield Measurement(run, partial(verify, task, graph, start), limit)
    else:
        run = partial(getattr(rg, task.name), graph, start)
        yield Measurement(run, partial(verify, task, graph, start), estimate)


def save_and_open(graph: LocalGraph, start: int, folder: Path) -> rg.LayeredEdgeList:
    """Save a layered edge list and open its store."""
    # Packed, an edge takes 2 bytes or more.
    size = layered_streaming.partition_bytes(2 * graph.num_arcs)
    rg.LayeredEdgeList.build(graph, start, partition_bytes=size).save(folder)
    return layered_streaming.open_store(folder, graph.xp)


def verify(task: Task, graph: LocalGraph, start: int | None, answer: Frame) -> None:
    """Raise if `rapidsgraph.verify` rejects an answer."""
    name = task.name.removeprefix("streamed ")
    getattr(rg.verify, name)(graph, answer, *([] if start is None else [start]))


def check_pagerank(answer: Frame, graph: LocalGraph) -> None:
    """Raise unless a verified converged result is within the error bound of few iterations."""
    converged = rg.pagerank(graph, damping=DAMPING, tolerance=TOLERANCE, progress=False)
    rg.verify.pagerank(graph, converged, damping=DAMPING, tolerance=VERIFY_TOLERANCE)
    values, expected = (
        result_arrays(result, graph.xp)["pagerank"] for result in (answer, converged)
    )
    distance, bound = float(abs(values - expected).sum()), 2 * DAMPING**ITERATIONS
    if not distance <= bound:
        raise WrongAnswerError(
            f"PageRank after {ITERATIONS} iterations is off by {distance:.3g}, "
            f"more than {bound:.3g}"
        )


def check_csr(graph: LocalGraph, workload: Workload) -> None:
    """Raise unless the adjacency has the rows, which are distinct."""
    xp, csr = graph.xp, graph.csr
    arcs = row_indices(csr).astype(np.int64) << 32 | csr.neighbors
    expected = workload.source.astype(np.int64) << 32 | workload.destination
    if graph.num_vertices != workload.vertices or arcs.size != expected.size:
        raise WrongAnswerError(f"the graph has {arcs.size} arcs, not {expected.size}")
    if num_wrong := int((arcs != xp.sort(expected)).sum()):
        raise WrongAnswerError(f"{num_wrong} arcs differ")


def peak_bytes(clock: Clock, allocator: str | None, run: Callable[[], Any]) -> int | None:
    """Return the peak memory of a run above that before it, or None if it is unknown."""
    if clock.xp is not np:
        return peak_memory.measure_device_peak(clock, run, allocator)[0]
    if not CAN_MEASURE_PEAK:
        run()
        return None
    return peak_memory.measure_peak(run)[0]


def measure(
    task: Task, plain: Workload, session: Session, effort: Effort, folder: Path | None = None
) -> Record:
    """Return the record of a task on a graph; raise if it fails or its answer is wrong."""
    clock = session.clock
    workload = task.workload(plain, session.data)
    row: Record = {
        "table": "size", "task": task.name, "graph": plain.name, "vertices": plain.vertices,
        "edges": int(plain.rows),
    }  # fmt: skip
    _ = workload.frame
    with prepare(task, workload, folder) as (run, check, estimate):
        peak = peak_bytes(clock, session.allocator, run)
        first, answer = clock.timed(run)
        check(answer)
        del answer
        times = clock.repeated(run, MAX_RUNS, effort.run_budget, first=first)
    row["run_ms"] = timing.summary(times)
    row["ns_per_edge"] = float(f"{row['run_ms']['median'] * 1e6 / max(row['edges'], 1):.4g}")
    row["estimate_bytes"] = int(estimate)
    if peak is not None:
        row["peak_bytes"] = int(peak)
        row["bytes_per_edge"] = round(peak / max(row["edges"], 1), 2)
    return row | {"check": "ok"}
