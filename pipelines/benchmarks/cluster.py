"""Time calls on Dask frames and the same calls in one process.

Rows are generated in shards: on a CPU as Parquet files, which workers read, on GPUs by the workers.
A result is compared with that of one process; a call returns when its result is complete on the
workers. Half of the edges on one worker are for weak scaling. "cugraph" times the graph by
pylibcugraph with one process per GPU and no Dask; "streamed" a store within a limit for each worker
that all of them together exceed.
"""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas

import rapidsgraph as rg
from pipelines.benchmarks import layers, memory, timing
from pipelines.benchmarks.adapters import cugraph_ranks
from pipelines.benchmarks.answers import compare_frames, to_pandas
from pipelines.benchmarks.dask_shards import LONG, SHORT, SharedRows, per_iteration
from pipelines.benchmarks.graphs import SEED
from pipelines.benchmarks.harness import Measure, Session, Suite
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import call
from rapidsgraph import device

PAGERANK = {"pagerank": "double", "pagerank_single": "single"}  # precision by task
SIZES = {"cpu": (21, 16, 16), "gpu": (24, 40, 20), "quick": (9, 8, 8)}  # scale, factor, streamed
ROUNDS, STREAM_FACTOR, STREAM_RATIO = {"cpu": 5, "gpu": 3, "quick": 1}, 256, 100
# Seconds after a call, in which Dask's client sends the release of the result: it sends a message
# every 10 ms at most, so that the next call would wait.
RELEASE_PAUSE = 0.02


def run_task(task: str, graph: Any, start: int, iterations: int = LONG, **options: Any) -> Any:
    """Run a task on a graph or layered edge list, in one process or distributed."""
    if task in PAGERANK:
        options |= {"max_iterations": iterations, "precision": PAGERANK[task]}
    return call(task.removesuffix("_single"), graph, start, **options)


def time_call(clock: timing.Clock, task: str, graph: Any, start: int, rounds: int, **options: Any
              ) -> dict[int, list[float]]:  # fmt: skip
    """Return the times of a task by the number of iterations."""

    def ms(iterations: int) -> float:
        elapsed = clock.ms(partial(run_task, task, graph, start, iterations, **options))
        time.sleep(RELEASE_PAUSE)
        return elapsed

    counts = (LONG, SHORT) if task in PAGERANK else (LONG,)
    return {count: [ms(count) for _ in range(rounds)] for count in counts}


class Reference(NamedTuple):
    """What one process gives: the source of searches, facts, and by task results and times."""

    start: int
    facts: Record
    results: dict[str, pandas.DataFrame]
    times: dict[str, dict[int, list[float]]]


def measure_reference(
    rows: SharedRows, tasks: Sequence[str], rounds: int, on_gpu: bool, store: Path | None
) -> Reference:
    """Build the graph in this process, run the tasks, and save a layered edge list in `store`."""
    clock = timing.Clock(device.import_cupy() if on_gpu else np)
    frame = (importlib.import_module("cudf") if on_gpu else pandas).DataFrame(rows.whole(clock.xp))
    start = int(frame["source"].iloc[0])
    build, graph = clock.timed(lambda: rg.Graph(frame, **rows.graph_options))
    facts = {"vertices": graph.num_vertices, "rows": rows.num_rows, "edges": graph.num_edges}
    facts["memory_build_ms"] = timing.summary([build])
    if store is not None:
        size = layers.partition_bytes(rg.LayeredEdgeList.build(graph, start).nbytes)
        rg.LayeredEdgeList.build(graph, start, partition_bytes=size).save(store)
    results = {task: to_pandas(run_task(task, graph, start)) for task in tasks}
    times = {task: time_call(clock, task, graph, start, rounds) for task in tasks}
    return Reference(start, facts, results, times)


def measure_task(row: Record, graph: Any, reference: Reference, **options: Any) -> Record:
    """Check and time the task of a row, and return the row."""
    task, start = row["algorithm"], reference.start
    result = to_pandas(run_task(task, graph, start, **options))
    rtol = 1e-4 if task == "pagerank_single" else 1e-9
    row["check"] = compare_frames(result, reference.results[task], rtol) or "ok"
    if row["check"] == "ok":
        one = reference.times[task]
        own = time_call(timing.Clock(), task, graph, start, len(one[LONG]), **options)
        row["run_ms"], row["memory_ms"] = timing.summary(own[LONG]), timing.summary(one[LONG])
        row["by_memory"] = timing.paired_ratio(own[LONG], one[LONG])
        if task in PAGERANK:
            row["iteration_ms"] = timing.summary(per_iteration(own[LONG], own[SHORT]))
            row["memory_iteration_ms"] = timing.summary(per_iteration(one[LONG], one[SHORT]))
    return row


def measure_graph(
    about: Record, rows: SharedRows, tasks: Sequence[str], reference: Reference, folder: Path
) -> Iterator[Record]:
    """Yield the records of a build and of tasks on the distributed graph."""
    frame = rows.frame(on_gpu=about["how"].endswith(("GPU", "GPUs")), folder=folder)
    build = partial(rg.Graph, frame, **rows.graph_options)
    times = timing.Clock().repeated(build, 1, 60)  # the first does not count
    graph = build()
    sizes = {"vertices": graph.num_vertices, "edges": graph.num_edges}
    check = "ok" if sizes.items() <= reference.facts.items() else f"wrong: {sizes}"
    row = {"table": "cluster"} | about | {"algorithm": "build"} | reference.facts
    yield row | {"run_ms": timing.summary(times), "check": check}
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


def graphs_of(kind: str) -> dict[SharedRows, list[str]]:
    """Return the tasks on each graph of a kind of run; the second is for weak scaling."""
    scale, factor, stream_scale = SIZES[kind]
    rows, plain = SharedRows("rmat", scale, factor), ["pagerank", "bfs", "components"]
    return {
        rows: [*plain, *(["pagerank_single", "cugraph"] if kind == "gpu" else [])],
        replace(rows, edge_factor=factor // 2): plain,
        replace(rows, scale=scale - 2 * (kind == "cpu"), weighted=True): ["sssp"],
        replace(rows, scale=scale - 4 * (kind != "quick"), directed=False): ["scan"],
        SharedRows("uniform", stream_scale, STREAM_FACTOR, weighted=True): ["streamed"],
    }


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    """Yield the measurement of each graph and number of workers."""
    options, on_gpu = session.options, session.kind == "gpu"
    session.start["seed"] = SEED
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder, store = Path(temporary), Path(temporary, "store")
        for number, (graph, own) in enumerate(graphs_of(session.kind).items()):
            if not (tasks := [task for task in own if task in (options.only or own)]):
                continue
            streamed, local = tasks == ["streamed"], [task for task in tasks if task != "cugraph"]
            local = ["bfs", "sssp", "pagerank"] if streamed else local
            reference = memory.call_in_process(
                measure_reference, graph, local, ROUNDS[session.kind], on_gpu,
                store if streamed else None,
            )  # fmt: skip
            for count in [1] if number == 1 else map(int, options.workers or (1, 2)):
                unit = ("GPU", "GPUs") if on_gpu else ("process", "processes")
                about: Record = {"graph": graph.name, "how": f"{count} {unit[count > 1]}"}
                about |= {"workers": count, "edges": reference.facts["edges"]}
                with rg.cluster("gpu" if on_gpu else "cpu", workers=count) as client:
                    measure = partial(measure_graph, about, graph, local, reference, folder)
                    if streamed:
                        measure = partial(measure_streamed, about, local, reference, store, client)
                    yield f"{graph.name}, {count} workers", measure
                if "cugraph" in tasks:
                    name = f"{graph.name}, cuGraph, {count} workers"
                    yield name, partial(cugraph_ranks.measure, graph, count)


SUITE = Suite("cluster", measurements, in_processes=True)
