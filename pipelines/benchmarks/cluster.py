"""Time calls on Dask frames and the same calls in one process.

    python pipelines/benchmarks/cluster.py [--device auto|cpu|gpu] [--scale 21] [--workers 1,2]
                                           [--only pagerank,pagerank_single,bfs,components,
                                                   sssp,scan,cugraph,streamed]
                                           [--protocol ucx] [--stream-scale 20] [--folder FOLDER]
                                           [--quick] [--output FILE]

Rows are generated in shards: on a CPU as Parquet files, which workers read, on GPUs by the workers.
The partitions of a result are compared, where they are, with the result of one process; a wrong one
gets no time. Each record is printed and saved at once. README.md in this folder explains the
columns. "cugraph" times the same graph by pylibcugraph with one process per GPU and no Dask.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import rapidsgraph as rg
from pipelines.benchmarks import cugraph_ranks, dask_shards, harness, layered_dask, timing
from pipelines.benchmarks.dask_shards import (
    LONG,
    SHORT,
    Reference,
    ReferenceTimes,
    Run,
    SharedRows,
    per_iteration,
)
from pipelines.benchmarks.graphs import SEED
from pipelines.benchmarks.harness import GraphSets, Session
from pipelines.benchmarks.records import Record

TASKS = (*dask_shards.UNWEIGHTED, "sssp", "scan", "cugraph", "streamed")
CPU_TASKS = ("pagerank", "bfs", "components", "sssp", "scan", "streamed")
SCALES = {"cpu": 21, "gpu": 24, "quick": 10}
EDGE_FACTORS = {"cpu": 16, "gpu": 40, "quick": 8}
STREAM_SCALES = {"cpu": 16, "gpu": 20, "quick": 8}
STREAM_EDGE_FACTORS = {"cpu": 256, "gpu": 256, "quick": 256}
NUM_SHARDS = 8
BUDGET = 60  # seconds for the rounds of a task
# Seconds after a call, in which Dask's client sends the release of the result: it sends a message
# every 10 ms at most, so that the next call would wait.
RELEASE_PAUSE = 0.02


class Setup(NamedTuple):
    """Workers to compare: their name in records, number, threads each, and a client's context."""

    name: str
    workers: int
    threads: int
    client: AbstractContextManager[Any]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    harness.add_only_option(TASKS)(parser)
    parser.set_defaults(only=None)
    parser.add_argument("--scale", type=int, help="the graph has 2^SCALE vertices")
    parser.add_argument("--factor", type=int, help="rows per vertex")
    parser.add_argument("--stream-scale", type=int, help="scale of the streamed graph")
    parser.add_argument("--stream-factor", type=int, help="rows per vertex of the streamed graph")
    parser.add_argument("--workers", default="1,2", help="numbers of workers, such as 1,2")
    parser.add_argument("--protocol", help="protocol between GPU workers: tcp or ucx")
    parser.add_argument("--folder", type=Path, help="for files of rows, results and stores")


def setups(run: Run, workers: Iterable[int]) -> Iterator[Setup]:
    """Yield the workers to compare; on a CPU all have the same number of threads in total."""
    from dask.system import CPU_COUNT

    for count in workers:
        if run.on_gpu:
            yield Setup(f"{count} GPU{'s' if count > 1 else ''}", count, 1, run.cluster(count))
            continue
        threads = max(1, CPU_COUNT // count)
        suffix = "es" if count > 1 else ""
        yield Setup(f"{count} process{suffix}", count, threads, run.cluster(count))
        in_process = threaded_cluster(count, threads)
        yield Setup(f"in this process, {count}", count, threads, in_process)
    if not run.on_gpu:
        yield Setup("no client", 1, CPU_COUNT, contextlib.nullcontext())


@contextlib.contextmanager
def threaded_cluster(workers: int, threads: int) -> Iterator[Any]:
    """Yield the client of a LocalCluster of threads of this process."""
    from distributed import Client, LocalCluster

    options = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=threads, **options) as local,
        Client(local) as client,
    ):
        yield client


def time_build(run: Run, rows: SharedRows) -> tuple[float, rg.Graph]:
    """Return (milliseconds of the build, the distributed graph).

    On GPUs the rows are there before; on a CPU workers read them from files.
    """
    frame = run.frame(rows)
    if run.on_gpu:
        from distributed import wait

        frame = frame.persist()
        wait(frame)
        rg.Graph(frame, **rows.graph_options())  # compiles kernels and connects the workers

    def build() -> rg.Graph:
        return rg.Graph(frame, **rows.graph_options())

    return timing.Clock().timed(build)


def measure_setup(
    run: Run,
    rows: SharedRows,
    setup: Setup,
    reference: ReferenceTimes,
    tasks: Iterable[str],
    folder: Path,
) -> None:
    """Add the records of a build and of tasks on the distributed graph.

    `folder` has the reference results.
    """
    facts = reference.facts
    about = {
        "table": "cluster", "graph": rows.name, "how": setup.name, "workers": setup.workers,
        "threads": setup.threads,
    }  # fmt: skip
    row: Record = about | {"algorithm": "build"}
    result = harness.try_call(row, lambda: time_build(run, rows))
    if result is None:
        run.add(row)
        return
    build, graph = result
    expected = facts["vertices"], facts["edges"]
    is_correct = (graph.num_vertices, graph.num_edges) == expected
    row |= facts | {"check": "ok" if is_correct else f"wrong: {graph.num_edges} edges"}
    run.add(row | ({"run_ms": timing.summary([build])} if is_correct else {}))
    for task in tasks if is_correct else ():
        sizes = {key: facts[key] for key in ("vertices", "edges")}
        measure = partial(measure_task, run, graph, task, reference, folder)
        run.attempt(about | {"algorithm": task} | sizes, measure)


def measure_task(
    run: Run,
    graph: rg.Graph,
    task: str,
    reference: ReferenceTimes,
    folder: Path,
    row: Record,
) -> None:
    """Check one task, then time it; a live reference takes turns.

    A call returns when its result is complete on the workers.
    """
    clock, live = timing.Clock(), reference.live
    calls = {
        iterations: dask_shards.calls(reference.start, iterations)[task]
        for iterations in (LONG, SHORT)
    }

    def ms(iterations: int = LONG) -> float:
        elapsed, result = clock.timed(lambda: calls[iterations](graph))
        del result
        time.sleep(RELEASE_PAUSE)
        return elapsed

    first, result = clock.timed(lambda: calls[LONG](graph))
    row["first_ms"] = timing.summary([first])["median"]
    problem = dask_shards.compare_partitions(result, folder, task, row["vertices"])
    del result
    if problem:
        row["check"] = problem
        return
    jobs = {"run": ms} | ({"memory": lambda: live.ms(task)} if live else {})
    if task in dask_shards.PAGERANK:
        jobs |= {"short": lambda: ms(SHORT)}
        jobs |= {"memory_short": lambda: live.ms(task, SHORT)} if live else {}
    times = timing.rounds(jobs, run.rounds, BUDGET, clock)
    memory = times["memory"] if live else reference.times[task]
    row["run_ms"], row["memory_ms"] = timing.summary(times["run"]), timing.summary(memory)
    row["by_memory"] = timing.paired_ratio(times["run"], memory)
    if task in dask_shards.PAGERANK:
        own = per_iteration(times["run"], times["short"])
        one_graph = reference.iteration_times.get(task, [])
        if live:
            one_graph = per_iteration(memory, times["memory_short"])
        row["iteration_ms"] = timing.summary(own)
        row["memory_iteration_ms"] = timing.summary(one_graph)
        row["iteration_by_memory"] = timing.paired_ratio(own, one_graph)
        overhead = row["iteration_ms"]["median"] - row["memory_iteration_ms"]["median"]
        row["overhead_ms"] = float(f"{overhead:.3g}")
    row["check"] = "ok"


def list_cases(
    tasks: Iterable[str], rows: SharedRows, sssp_difference: int
) -> list[tuple[SharedRows, list[str]]]:
    """Return the graphs to measure, with the tasks on each.

    The weighted graph of SSSP is `sssp_difference` scales smaller, the undirected one of SCAN 4.
    """
    unweighted = [task for task in dask_shards.UNWEIGHTED if task in tasks]
    cases = [(rows, unweighted)] if unweighted else []
    for task, difference, options in (
        ("sssp", sssp_difference, {"weighted": True}),
        ("scan", 4, {"directed": False}),
    ):
        if task in tasks:
            scale = max(rows.scale - difference, 8)
            smaller = SharedRows("rmat", scale, rows.edge_factor, rows.num_shards, **options)
            cases.append((smaller, [task]))
    return cases


def measure_on_cpu(
    run: Run, tasks: Sequence[str], workers: Sequence[int], rows: SharedRows
) -> None:
    """Measure all setups in turns with the graph in this process, with as many threads."""
    for case, own_tasks in list_cases(tasks, rows, 2):
        case.write(run.folder)
        live = Reference(case, run.folder)
        live.write_results(own_tasks)
        reference = ReferenceTimes(live.start, live.facts, {}, {}, live)
        for setup in setups(run, workers):
            with setup.client:
                warm_up(run, own_tasks, case)
                measure_setup(run, case, setup, reference, own_tasks, run.folder)


def measure_on_gpus(
    run: Run, tasks: Sequence[str], workers: Sequence[int], rows: SharedRows
) -> None:
    """Measure in one process on one GPU, then by each number of workers.

    Strong scaling is the same graph on more workers, weak scaling half of it on one and all on two.
    """
    cases = list_cases(tasks, rows, 0)
    references: dict[SharedRows, ReferenceTimes] = {}
    for setup in setups(run, workers) if cases else ():
        with setup.client as client:
            for number, (case, own_tasks) in enumerate(cases):
                warm_up(run, own_tasks, case)
                is_halved = setup.workers == 1 and case == rows
                for part in (case.half(), case) if is_halved else (case,):
                    folder = run.folder / f"{number}-{part.num_shards}"
                    if part not in references:
                        folder.mkdir()
                        arguments = (part, folder, own_tasks, run.rounds, run.on_gpu)
                        measure = dask_shards.measure_reference
                        future = client.submit(measure, *arguments, pure=False)
                        references[part] = future.result()
                    measure_setup(run, part, setup, references[part], own_tasks, folder)


def scaling_rows(rows: Iterable[Record]) -> Iterator[Record]:
    """Yield the speedups of more workers: on the same graph (strong), and on a larger one (weak).

    Weak scaling compares half of the graph on one worker with all of it on two: a speedup of 1
    means the same time.
    """
    timed = [row for row in rows if row["table"] == "cluster" and "run_ms" in row]
    timed = [row for row in timed if row["how"][0].isdigit()]
    for several in (row for row in timed if row["workers"] > 1):
        for single in (row for row in timed if row["workers"] == 1):
            is_same = single["graph"] == several["graph"]
            is_half = single["graph"].startswith(several["graph"] + ",")
            is_weak = is_half and several["workers"] == 2
            if single["algorithm"] != several["algorithm"] or not (is_same or is_weak):
                continue
            one, many = (
                row.get("iteration_ms", row["run_ms"])["median"] for row in (single, several)
            )
            yield {
                "table": "scaling", "scaling": "strong" if is_same else "weak",
                "algorithm": several["algorithm"], "graph": several["graph"], "one_ms": one,
                "many_ms": many, "workers": several["workers"],
                "speedup": float(f"{one / many:.3g}") if many > 0 else None,
            }  # fmt: skip


def warm_up(run: Run, tasks: Iterable[str], rows: SharedRows) -> None:
    """Compile or load the kernels on each worker."""
    tiny = SharedRows(rows.kind, 8, 8, 4, weighted=rows.weighted, directed=rows.directed)
    graph = rg.Graph(tiny.frame(run.on_gpu), **tiny.graph_options())
    start = int(tiny.shard(0)["source"].iloc[0])
    for task in tasks:
        dask_shards.calls(start, SHORT)[task](graph)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    options = harness.parse_options(
        "Time calls on Dask frames.", arguments, GraphSets((), (), ()), add_options
    )
    kind = "quick" if options.quick else "gpu" if options.on_gpu else "cpu"
    on_gpu = options.on_gpu and not options.quick
    options.on_gpu = False  # this process uses no GPU
    tasks = options.only or (TASKS if on_gpu else CPU_TASKS)
    workers = [int(count) for count in options.workers.split(",")]
    session = ClusterSession("cluster", options, seed=SEED, tasks=",".join(tasks))
    scale = SCALES[kind] if options.scale is None else options.scale
    rows = SharedRows("rmat", scale, options.factor or EDGE_FACTORS[kind], NUM_SHARDS)
    scale = STREAM_SCALES[kind] if options.stream_scale is None else options.stream_scale
    edge_factor = options.stream_factor or STREAM_EDGE_FACTORS[kind]
    streamed = SharedRows("uniform", scale, edge_factor, NUM_SHARDS, weighted=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run = Run(session, kind, folder, options.protocol)
        measure = measure_on_gpus if on_gpu else measure_on_cpu
        measure(run, tasks, workers, rows)
        if on_gpu and "cugraph" in tasks:
            for count in workers:
                cugraph_ranks.measure(run, rows, count)
        session.rows += scaling_rows(list(session.rows))
        if "streamed" in tasks:
            layered_dask.measure(run, streamed, workers)
    return session.finish()


class ClusterSession(Session):
    """A session that does not count other processes, because workers are among them."""

    def other_processes(self) -> str:
        return "not counted: workers are processes, too"


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
