"""One task on one R-MAT graph: its time, its peak memory, and whether its answer is right.

Means: the median of runs on a ready graph (of `build`: from the frame), the peak of the first run
  on a graph that nothing is kept of, and what the package estimated before. `rapidsgraph.verify`
  passes an answer of each size, untimed.
"""

import platform
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import peak, streams, timing
from pipelines.benchmarks.workloads import with_weights
from rapidsgraph.graph.csr import row_indices

ITERATIONS, DAMPING = 20, 0.85  # of the PageRank that is timed
SOLVED, CLOSE = 1e-9, 1e-8  # change of one that is verified, and what verify lets pass
RUNS = 7
CAN_MEASURE = platform.system() == "Linux"  # peaks of a process


class Wrong(Exception):
    """An answer is wrong; the message says how."""


@dataclass(frozen=True)
class Task:
    """What is done; `algorithm` is what `rg.estimate_memory` calls it, None for a build."""

    name: str
    algorithm: str | None
    weighted: bool = False
    directed: bool = True

    def workload(self, plain, data=None):
        """The same rows as this task takes them."""
        given = with_weights(plain, data) if self.weighted else plain
        return given if self.directed else replace(given, directed=False)

    def estimate(self, plain):
        """Bytes above the frame that building and running take, as the package says before."""
        if self.algorithm is None:
            return plain.estimate_build()
        rows = {"source": plain.source, "destination": plain.destination}
        weights = {"weight": "weight"} if self.weighted else {}
        return rg.estimate_memory(rows, self.algorithm, directed=self.directed, **weights).needed


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


def start_of(workload):
    """The first vertex of greatest out-degree; rows of R-MAT are distinct."""
    return int(workload.xp.bincount(workload.source).argmax())


@contextmanager
def ready(task, workload, folder=None):
    """(what is run, what checks its answer, bytes that it may take) on a fresh graph."""
    if task.name == "build":
        check = partial(check_lists, workload=workload)
        yield workload.build, check, workload.estimate_build()
        return
    graph, start = workload.build(), start_of(workload)
    estimate = rg.estimate_memory(graph, task.algorithm).needed
    if task.name == "pagerank":
        run = partial(
            rg.pagerank, graph, damping=DAMPING, tolerance=0, max_iterations=ITERATIONS,
            progress=False,
        )  # fmt: skip
        yield run, partial(check_ranks, graph=graph), estimate
    elif task.name == "components":
        yield (
            partial(rg.connected_components, graph),
            partial(verified, task, graph, None),
            estimate,
        )
    elif task.name == "scan":

        def scan():
            graph._cache.clear()  # common neighbors are kept for later calls
            return rg.scan(graph)

        yield scan, partial(verified, task, graph, None), estimate
    elif task.name == "streamed bfs":
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            layered, limit = stored(graph, start, Path(temporary) / "store")
            run = partial(rg.bfs, layered, memory_limit=limit)
            yield run, partial(verified, task, graph, start), limit
    else:
        run = partial(getattr(rg, task.name), graph, start)
        yield run, partial(verified, task, graph, start), estimate


def stored(graph, start, folder):
    """(the opened store of a layered edge list, the vertices and a tenth of it in bytes)."""
    size = streams.partition_bytes(2 * graph.num_arcs)  # packed, an edge takes 2 bytes or more
    rg.LayeredEdgeList.build(graph, start, partition_bytes=size).save(folder)
    layered = streams.opened(folder, graph.xp)
    return layered, streams.limit_of(layered, "bfs")


def verified(task, graph, start, answer):
    """`rapidsgraph.verify` raises where an answer is wrong."""
    name = task.name.removeprefix("streamed ")
    getattr(rg.verify, name)(graph, answer, *([] if start is None else [start]))


def check_ranks(answer, graph):
    """Ranks until nothing changes pass, and those of a few iterations are as near as can be."""
    solved = rg.pagerank(graph, damping=DAMPING, tolerance=SOLVED, progress=False)
    rg.verify.pagerank(graph, solved, damping=DAMPING, tolerance=CLOSE)
    given, truth = (streams.arrays_of(ranks, graph.xp)["pagerank"] for ranks in (answer, solved))
    apart, most = float(abs(given - truth).sum()), 2 * DAMPING**ITERATIONS
    if not apart <= most:
        raise Wrong(f"ranks of {ITERATIONS} iterations are {apart:.3g} off, more than {most:.3g}")


def check_lists(graph, workload):
    """The lists must hold the rows, which are distinct."""
    xp, lists = graph.xp, graph.csr
    found = row_indices(lists).astype(np.int64) << 32 | lists.neighbors
    given = workload.source.astype(np.int64) << 32 | workload.destination
    if graph.num_vertices != workload.vertices or found.size != given.size:
        raise Wrong(f"the graph has {found.size} arcs, not {given.size}")
    if wrong := int((found != xp.sort(given)).sum()):
        raise Wrong(f"{wrong} arcs are others")


def peak_bytes(clock, allocator, run):
    """Bytes that a run held at its peak above what was held before; None where nobody knows."""
    if clock.xp is not np:
        from pipelines.benchmarks import gpu

        return gpu.peak_bytes(clock, run, allocator)
    if not CAN_MEASURE:
        run()
        return None
    return peak.peak_of(run)[0]


def measure(task, plain, session, effort, folder=None):
    """The record of a task on a graph; it raises what the package raises, and where it is wrong."""
    clock = session.clock
    workload = task.workload(plain, session.data)
    row = {
        "table": "size", "task": task.name, "graph": plain.name, "vertices": plain.vertices,
        "edges": int(plain.rows),
    }  # fmt: skip
    _ = workload.frame
    with ready(task, workload, folder) as (run, check, estimate):
        peak_of_run = peak_bytes(clock, session.allocator, run)
        first, answer = clock.timed(run)
        check(answer)
        del answer
        times = clock.repeated(run, RUNS, effort.whole, first=first)
    row["run_ms"] = timing.summary(times)
    row["ns_per_edge"] = float(f"{row['run_ms']['median'] * 1e6 / max(row['edges'], 1):.4g}")
    row["estimate_bytes"] = int(estimate)
    if peak_of_run is not None:
        row["peak_bytes"] = int(peak_of_run)
        row["bytes_per_edge"] = round(peak_of_run / max(row["edges"], 1), 2)
    return row | {"check": "ok"}
