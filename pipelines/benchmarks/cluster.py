"""Time calls on Dask frames and the same calls in one process.

    python pipelines/benchmarks/cluster.py [--device auto|cpu|gpu] [--scale 21] [--workers 1,2]
                                           [--only pagerank,pagerank_single,bfs,components,
                                                   sssp,scan,cugraph,streamed]
                                           [--protocol ucx] [--stream-scale 20] [--folder FOLDER]
                                           [--quick] [--output FILE]

Rows are generated in shards: on a CPU as Parquet files, which workers read, on GPUs by the workers.
Partitions of a result are compared, where they are, with the result of one process. A call returns
when its result is complete on the workers. *Strong* scaling is the same graph on more workers,
*weak* half of it on one and all on two. "cugraph" times the graph by pylibcugraph with one process
per GPU and no Dask; "streamed" a store within a limit for each worker that all of them together
exceed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script


import rapidsgraph as rg
from pipelines.benchmarks import cugraph_ranks, dask_shards, harness, layers, timing
from pipelines.benchmarks.dask_shards import LONG, PAGERANK, SHORT, SharedRows, per_iteration
from pipelines.benchmarks.graphs import SEED
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES
from rapidsgraph.dispatch import storage_of
from rapidsgraph.distributed.cluster import cluster

UNWEIGHTED = (*PAGERANK, "bfs", "components")  # tasks on the same graph
TASKS = (*UNWEIGHTED, "sssp", "scan", "cugraph", "streamed")
CPU_TASKS = ("pagerank", "bfs", "components", "sssp", "scan", "streamed")
SIZES = {"cpu": (21, 16, 16), "gpu": (24, 40, 20), "quick": (10, 8, 8)}  # scale, factor, streamed
ROUNDS, STREAM_FACTOR, PARTITIONS_IN_LIMIT = {"cpu": 5, "gpu": 3, "quick": 1}, 256, 5
# Seconds after a call, in which Dask's client sends the release of the result: it sends a message
# every 10 ms at most, so that the next call would wait.
RELEASE_PAUSE = 0.02


class Run:
    """A session, its folder, and its clusters."""

    def __init__(self, session: Session, kind: str, folder: Path, protocol: str | None) -> None:
        self.session, self.kind, self.folder, self.protocol = session, kind, folder, protocol
        self.on_gpu, self.rounds, self.clock = kind == "gpu", ROUNDS[kind], timing.Clock()

    def add(self, row: Record) -> None:
        """Print and save a record."""
        self.session.rows.append(row)
        print(*(f"{name}={value}" for name, value in row.items()), file=sys.stderr, flush=True)
        self.session.save()

    def cluster(self, workers: int) -> Any:
        """Start a cluster on this machine; it yields its client."""
        return cluster("gpu" if self.on_gpu else "cpu", workers=workers, protocol=self.protocol)


def list_cases(
    tasks: Iterable[str], rows: SharedRows, difference: int
) -> Iterator[tuple[SharedRows, list[str]]]:
    """Yield the graphs to measure with their tasks; those of SSSP and SCAN are smaller."""
    if unweighted := [task for task in UNWEIGHTED if task in tasks]:
        yield rows, unweighted
    for task, smaller, options in (("sssp", difference, {"weighted": True}),
                                   ("scan", 4, {"directed": False})):  # fmt: skip
        if task in tasks:
            yield (
                SharedRows("rmat", max(rows.scale - smaller, 8), rows.edge_factor, **options),
                [task],
            )


def measure_case(
    run: Run, client: Any, rows: SharedRows, tasks: Sequence[str], workers: int, live: Any
) -> None:
    """Add the records of a build and of tasks on the distributed graph.

    `live` is the graph in this process, whose calls take turns, or None: one worker measures it.
    """
    folder = run.folder / rows.name.replace(", ", "-").replace(" ", "-")
    folder.mkdir(exist_ok=True)
    if live is None:
        arguments = rows, folder, tasks, run.rounds, run.on_gpu
        future = client.submit(dask_shards.measure_reference, *arguments, pure=False)
        start, facts, times = future.result()
    else:
        start, facts, times = live.start, live.facts, {}
        for task in tasks:
            live.write(task, folder)
    how = f"{workers} GPU" if run.on_gpu else f"{workers} process"
    how += ("s" if run.on_gpu else "es") if workers > 1 else ""
    about = {"table": "cluster", "graph": rows.name, "how": how, "workers": workers}
    frame = rows.frame(run.on_gpu, None if run.on_gpu else run.folder)
    if run.on_gpu:
        from distributed import wait

        frame = frame.persist()
        wait(frame)
    warm_up(run, rows, tasks)
    build, graph = run.clock.timed(lambda: rg.Graph(frame, **rows.graph_options()))
    sizes = graph.num_vertices, graph.num_edges
    is_correct = sizes == (facts["vertices"], facts["edges"])
    check = "ok" if is_correct else f"wrong: {sizes}"
    run.add(about | {"algorithm": "build"} | facts | {"run_ms": timing.summary([build]),
                                                      "check": check})  # fmt: skip
    for task in tasks:
        row = about | {"algorithm": task, "edges": facts["edges"]}
        measure = partial(measure_task, run, graph, task, start, facts, folder, times, live, row)
        harness.try_call(row, measure)
        run.add(row)


def measure_task(
    run: Run, graph: Any, task: str, start: int, facts: Record, folder: Path, times: dict,
    live: Any, row: Record,
) -> None:  # fmt: skip
    """Check one task, then time it."""

    def ms(iterations: int = LONG) -> float:
        elapsed, result = run.clock.timed(lambda: dask_shards.calls(start, iterations)[task](graph))
        del result
        time.sleep(RELEASE_PAUSE)
        return elapsed

    first, result = run.clock.timed(lambda: dask_shards.calls(start)[task](graph))
    row["first_ms"] = timing.summary([first])["median"]
    row["check"] = dask_shards.compare_partitions(result, folder, task, facts["vertices"]) or "ok"
    del result
    if row["check"] != "ok":
        return
    counts = (LONG, SHORT) if task in PAGERANK else (LONG,)
    jobs: dict[Any, Any] = {("run", count): partial(ms, count) for count in counts}
    if live is not None:
        jobs |= {("one", count): partial(live.ms, task, count) for count in counts}
    measured = timing.rounds(jobs, run.rounds, 60)
    own = {count: measured["run", count] for count in counts}
    one = {count: measured.get(("one", count)) or times[task, count] for count in counts}
    row["run_ms"], row["memory_ms"] = timing.summary(own[LONG]), timing.summary(one[LONG])
    row["by_memory"] = timing.paired_ratio(own[LONG], one[LONG])
    if task in PAGERANK:
        iteration = per_iteration(own[LONG], own[SHORT])
        row["iteration_ms"] = timing.summary(iteration)
        row["memory_iteration_ms"] = timing.summary(per_iteration(one[LONG], one[SHORT]))


def warm_up(run: Run, rows: SharedRows, tasks: Iterable[str]) -> None:
    """Compile or load the kernels on each worker."""
    tiny = SharedRows(rows.kind, 8, 8, 4, weighted=rows.weighted, directed=rows.directed)
    graph = rg.Graph(tiny.frame(run.on_gpu), **tiny.graph_options())
    start = int(tiny.shard(0)["source"].iloc[0])
    for task in tasks:
        dask_shards.calls(start, SHORT)[task](graph)


def scaling_rows(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield the speedups of more workers on the same graph, and of two on twice the graph."""
    timed = [row for row in rows if row["table"] == "cluster" and "run_ms" in row]
    for several in (row for row in timed if row["workers"] > 1):
        for single in (row for row in timed if row["workers"] == 1):
            is_same = single["graph"] == several["graph"]
            is_half = single["graph"].startswith(several["graph"] + ",")
            is_weak = is_half and several["workers"] == 2
            if single["algorithm"] == several["algorithm"] and (is_same or is_weak):
                one, many = (row.get("iteration_ms", row["run_ms"])["median"]
                             for row in (single, several))  # fmt: skip
                yield {
                    "table": "scaling", "scaling": "strong" if is_same else "weak",
                    "algorithm": several["algorithm"], "graph": several["graph"], "one_ms": one,
                    "many_ms": many, "workers": several["workers"],
                    "speedup": float(f"{one / many:.3g}") if many > 0 else None,
                }  # fmt: skip


def build_store(rows: SharedRows, folder: Path, on_gpu: bool) -> dict[str, Any]:
    """Build a graph, write its results, and save its list; return facts."""
    reference = dask_shards.Reference(rows, on_gpu)
    graph, start = reference.graph, reference.start
    for task in ("bfs", "sssp"):
        reference.write(task, folder)
    reference.write("pagerank", folder, layers.CALLS["pagerank"](graph))
    size = layers.partition_bytes(rg.LayeredEdgeList.build(graph, start).nbytes)
    layered = rg.LayeredEdgeList.build(graph, start, partition_bytes=size)
    layered.save(folder / "store")
    facts = {"vertices": layered.num_vertices, "edges": layered.num_edges}
    facts |= {"list_bytes": layered.nbytes, "partitions": len(storage_of(layered).table)}
    return facts | {"largest": layers.largest_partition(layered)}


def measure_streamed(run: Run, rows: SharedRows, workers: Iterable[int]) -> None:
    """Add the records of searches and PageRank of a store by each number of workers."""
    facts: dict[str, Any] = {}
    for count in workers:
        with run.cluster(count) as client:
            if not facts:
                arguments = rows, run.folder, run.on_gpu
                facts = client.submit(build_store, *arguments, pure=False).result()
            device = "gpu" if run.on_gpu else "cpu"
            layered = rg.LayeredEdgeList.open(run.folder / "store", client=client, device=device)
            for task, call in layers.CALLS.items():
                limit = ALGORITHM_BYTES[task].per_vertex * facts["vertices"]
                limit += PARTITIONS_IN_LIMIT * facts["largest"]
                row: Record = {"table": "cluster streamed", "graph": rows.name, "algorithm": task}
                row |= {"workers": count, "limit_bytes": limit} | facts
                row["list_by_limits"] = float(f"{facts['list_bytes'] / (limit * count):.3g}")
                stream = partial(call, layered, memory_limit=limit)
                harness.try_call(row, partial(stream_once, run, stream, task, row))
                run.add(row)


def stream_once(run: Run, call: Any, task: str, row: Record) -> None:
    """Check a call, then time it until all partitions of its result are there."""
    from distributed import wait

    row["check"] = dask_shards.compare_partitions(call(), run.folder, task, row["vertices"]) or "ok"
    if row["check"] == "ok":
        times = [run.clock.ms(lambda: wait(call().persist())) for _ in range(run.rounds)]
        row["run_ms"] = timing.summary(times)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--scale", type=int, help="the graph has 2^SCALE vertices")
        parser.add_argument("--factor", type=int, help="rows per vertex")
        parser.add_argument("--stream-scale", type=int, help="scale of the streamed graph")
        parser.add_argument("--workers", default="1,2", help="numbers of workers, such as 1,2")
        parser.add_argument("--protocol", help="protocol between GPU workers: tcp or ucx")
        parser.add_argument("--folder", type=Path, help="for files of rows, results and stores")

    options = harness.parse_options(__doc__, arguments, add_options)
    kind = "quick" if options.quick else "gpu" if options.on_gpu else "cpu"
    on_gpu, options.on_gpu = kind == "gpu", False  # this process uses no GPU
    tasks = options.only or (TASKS if on_gpu else CPU_TASKS)
    workers = [int(count) for count in options.workers.split(",")]
    session = Session("cluster", options, seed=SEED, tasks=",".join(tasks))
    scale, factor, stream_scale = SIZES[kind]
    rows = SharedRows("rmat", options.scale or scale, options.factor or factor)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run = Run(session, kind, Path(folder), options.protocol)
        for case, own in list_cases(tasks, rows, 0 if on_gpu else 2):
            live = None if on_gpu else dask_shards.Reference(case)
            for count in workers:
                with run.cluster(count) as client:
                    halves = [case.half()] if on_gpu and count == 1 and case == rows else []
                    for part in (*halves, case):
                        measure_case(run, client, part, own, count, live)
            del live
        if on_gpu and "cugraph" in tasks:
            for count in workers:
                cugraph_ranks.measure(run, rows, count)
        session.rows += scaling_rows(list(session.rows))
        if "streamed" in tasks:
            streamed = SharedRows(
                "uniform", options.stream_scale or stream_scale, STREAM_FACTOR, weighted=True
            )
            measure_streamed(run, streamed, workers)
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
