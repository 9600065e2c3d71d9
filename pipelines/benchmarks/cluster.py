"""Time calls on Dask frames and the same calls in one process.

Workers read the rows from Parquet files, on GPUs before a build is timed. A result is compared with
that of one process; a call returns when its result is complete on the workers. Half of the edges
on one worker are for weak scaling. "cugraph" times the graph by pylibcugraph with one process per
GPU and no Dask; "streamed" a store within a limit for each worker that all of them together exceed.
"""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import layers, memory, timing
from pipelines.benchmarks.adapters import cugraph_ranks
from pipelines.benchmarks.adapters.rapidsgraph import CALLS
from pipelines.benchmarks.graphs import load, with_weights
from pipelines.benchmarks.harness import Measure, Session, Suite
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import TASKS
from pipelines.benchmarks.timing import LONG, SHORT
from rapidsgraph import device

PRECISIONS = {"pagerank": "double", "pagerank_single": "single"}  # of PageRank, by task
PLAIN, STREAMED = ("pagerank", "bfs", "components"), ("streamed",)
DIRECTED = ("strong components", "label_propagation")
UNDIRECTED = ("scan", "triangle_count", "clustering_coefficient", "core_number",
              "neighbor_similarity")  # fmt: skip
GRAPHS = {  # graph, tasks, and numbers of workers if not those of --workers
    "cpu": (("rmat21-16", PLAIN), ("rmat21-8", PLAIN, [1]), ("rmat19-16", ("sssp",)),
            ("rmat19-16", DIRECTED), ("rmat17u-16", UNDIRECTED), ("uniform16-256", STREAMED)),
    "gpu": (("rmat24-40", (*PLAIN, "pagerank_single", "cugraph")), ("rmat24-20", PLAIN, [1]),
            ("rmat24-40", ("sssp",)), ("rmat22-16", DIRECTED), ("rmat20u-40", UNDIRECTED),
            ("uniform20-256", STREAMED)),
    "quick": (("rmat9-8", PLAIN), ("rmat9-4", PLAIN, [1]), ("rmat9-8", ("sssp",)),
              ("rmat9-8", DIRECTED), ("rmat9u-8", UNDIRECTED), ("uniform8-256", STREAMED)),
}  # fmt: skip
ROUNDS, STREAM_RATIO = {"cpu": 5, "gpu": 3, "quick": 1}, 100
# Seconds after a call, in which Dask's client sends the release of the result: it sends a message
# every 10 ms at most, so that the next call would wait.
RELEASE_PAUSE = 0.02


def run_task(task: str, graph: Any, start: int, iterations: int = LONG, **options: Any) -> Any:
    """Run a task on a graph or layered edge list, in one process or distributed."""
    if task in PRECISIONS:
        options |= {"max_iterations": iterations, "precision": PRECISIONS[task]}
    return CALLS[base(task)](graph, *([start] if task in ("bfs", "sssp") else []), **options)


def base(task: str) -> str:
    return task.removesuffix("_single")


def time_task(
    clock: timing.Clock, task: str, graph: Any, start: int, rounds: int, **options: Any
) -> dict[int, list[float]]:
    """Return the times of a task by the number of iterations."""

    def ms(iterations: int) -> float:
        elapsed = clock.ms(partial(run_task, task, graph, start, iterations, **options))
        time.sleep(RELEASE_PAUSE)
        return elapsed

    counts = (LONG, SHORT) if task in PRECISIONS else (LONG,)
    return {count: [ms(count) for _ in range(rounds)] for count in counts}


class Reference(NamedTuple):
    """What one process gives: files, the source of searches, and by task results and times."""

    files: list[Path]
    options: Record  # of Graph
    start: int
    facts: Record
    results: dict[str, Any]
    times: dict[str, dict[int, list[float]]]


def measure_reference(
    name: str, tasks: Sequence[str], rounds: int, on_gpu: bool, folder: Path, store: Path | None
) -> Reference:
    """Generate a graph and run the tasks in this process; write its rows and, if asked, a store."""
    clock = timing.Clock(device.import_cupy() if on_gpu else np)
    workload = load(name, clock.xp, clean=False)
    workload = with_weights(workload) if "sssp" in tasks else workload
    frame, start = workload.frame, int(workload.source[0])
    build, graph = clock.timed(lambda: rg.Graph(frame, **workload.options))
    facts = {"vertices": graph.num_vertices, "rows": workload.rows, "edges": graph.num_edges}
    facts["memory_build_ms"] = timing.summary([build])
    if store is not None:
        layers.build_in_partitions(graph, start).save(store)
    results = {task: CALLS[base(task)].values(run_task(task, graph, start)) for task in tasks}
    times = {task: time_task(clock, task, graph, start, rounds) for task in tasks}
    return Reference(workload.write(folder), workload.options, start, facts, results, times)


def measure_task(row: Record, graph: Any, reference: Reference, **options: Any) -> Record:
    """Check and time the task of a row, and return the row."""
    task, start = row["algorithm"], reference.start
    values = CALLS[base(task)].values(run_task(task, graph, start, **options))
    precision, expected = PRECISIONS.get(task, "double"), reference.results[task]
    row["check"] = TASKS[base(task)].compare(values, expected, precision) or "ok"
    if row["check"] == "ok":
        one = reference.times[task]
        many = time_task(timing.Clock(), task, graph, start, len(one[LONG]), **options)
        row["run_ms"], row["memory_ms"] = timing.summary(many[LONG]), timing.summary(one[LONG])
        row["by_memory"] = timing.paired_ratio(many[LONG], one[LONG])
        if task in PRECISIONS:
            row["iteration_ms"] = timing.per_iteration(many[LONG], many[SHORT])
            row["memory_iteration_ms"] = timing.per_iteration(one[LONG], one[SHORT])
    return row


def read_frame(files: Sequence[Path], on_gpu: bool) -> Any:
    """Return a Dask frame of a partition per file, on GPUs in their memory."""
    import dask.dataframe

    library = importlib.import_module("cudf" if on_gpu else "pandas")
    if on_gpu:
        importlib.import_module("dask_cudf")  # registers cuDF's frames with Dask
    frame = dask.dataframe.from_map(library.read_parquet, list(files))
    return frame.persist() if on_gpu else frame


def measure_graph(
    about: Record, tasks: Sequence[str], reference: Reference, on_gpu: bool
) -> Iterator[Record]:
    """Yield the records of a build and of tasks on the distributed graph."""
    frame = read_frame(reference.files, on_gpu)
    build = partial(rg.Graph, frame, **reference.options)
    build()  # compiles
    elapsed, graph = timing.Clock().timed(build)
    sizes = {"vertices": graph.num_vertices, "edges": graph.num_edges}
    check = "ok" if sizes.items() <= reference.facts.items() else f"wrong: {sizes}"
    row = {"table": "cluster"} | about | {"algorithm": "build"} | reference.facts
    yield row | {"run_ms": timing.summary([elapsed]), "check": check}
    for task in tasks:
        yield measure_task({"table": "cluster"} | about | {"algorithm": task}, graph, reference)


def measure_streamed(
    about: Record, tasks: Sequence[str], reference: Reference, store: Path, client: Any
) -> Iterator[Record]:
    """Yield the records of tasks on a store that the memory limits of all workers do not hold."""
    where = "gpu" if "GPU" in about["how"] else "cpu"
    layered = rg.LayeredEdgeList.open(store, client=client, device=where)
    for task in tasks:
        limit = layers.memory_limit(layers.open_store(store, np), task, STREAM_RATIO)
        row = {"table": "cluster streamed"} | about | {"algorithm": task}
        row |= {"list_bytes": layered.nbytes, "limit_bytes": limit}
        row["list_by_limits"] = float(f"{layered.nbytes / limit / about['workers']:.3g}")
        yield measure_task(row, layered, reference, memory_limit=limit)


def measure_all(
    name: str, tasks: Sequence[str], counts: Sequence[int], session: Session, folder: Path
) -> Iterator[tuple[str, Measure]]:
    """Yield the measurement of a graph on each number of workers."""
    on_gpu, store = session.options.on_gpu, folder / "store" if "streamed" in tasks else None
    calls = ("bfs", "sssp", "pagerank") if store else [t for t in tasks if t != "cugraph"]
    reference = memory.call_in_process(
        measure_reference, name, calls, ROUNDS[session.kind], on_gpu, folder / "rows", store
    )
    unit = ("GPU", "GPUs") if on_gpu else ("process", "processes")
    for count in counts:
        about: Record = {"graph": name, "how": f"{count} {unit[count > 1]}", "workers": count}
        about["edges"] = reference.facts["edges"]
        with rg.cluster("gpu" if on_gpu else "cpu", workers=count) as client:
            measure = partial(measure_graph, about, calls, reference, on_gpu)
            if store:
                measure = partial(measure_streamed, about, calls, reference, store, client)
            yield f"{name}, {count} workers", measure
        if "cugraph" in tasks:
            measure = partial(cugraph_ranks.measure, name, reference.files, reference.start, count)
            yield f"{name}, cuGraph, {count} workers", measure


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    options = session.options
    for name, tasks, *counts in GRAPHS[session.kind]:
        if chosen := [task for task in tasks if task in (options.only or tasks)]:
            workers = [int(count) for count in options.workers or (1, 2)]
            with tempfile.TemporaryDirectory() as folder:
                yield from measure_all(name, chosen, *(counts or [workers]), session, Path(folder))


SUITE = Suite("cluster", measurements, in_processes=True)
