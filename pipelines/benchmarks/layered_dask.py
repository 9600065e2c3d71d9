"""Time a layered edge list streamed by several Dask workers, within a memory limit for each.

One worker builds the graph in its memory, writes what its calls return, and saves the list. Then
workers open the store, each with a limit so low that the edges exceed the limits of all workers
together, and their results are compared with those written before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import dask_shards, timing
from pipelines.benchmarks.dask_shards import Run, SharedRows
from pipelines.benchmarks.layered_streaming import ITERATIONS, largest_partition, partition_bytes
from pipelines.benchmarks.records import Record
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES
from rapidsgraph.dispatch import storage_of
from rapidsgraph.frames import Frame

ALGORITHMS = ("bfs", "sssp", "pagerank")
PARTITIONS_IN_LIMIT = 5  # beside the vertices


def calls(limit: int) -> dict[str, Callable[[rg.LayeredEdgeList], Frame]]:
    """Return the calls within a limit, by algorithm."""
    options = {"memory_limit": limit, "progress": False}
    return {
        "bfs": partial(rg.bfs, **options),
        "sssp": partial(rg.sssp, **options),
        "pagerank": partial(rg.pagerank, tolerance=0, max_iterations=ITERATIONS, **options),
    }


def build_store(
    rows: SharedRows, folder: str, on_gpu: bool
) -> tuple[dict[str, timing.Summary], dict[str, Any]]:
    """Build a graph, write its results, and save its list; return (times, facts)."""
    reference = dask_shards.Reference(rows, Path(folder), on_gpu)
    reference.write_results(("bfs", "sssp"))
    graph, start, clock = reference.graph, reference.start, reference.clock
    pagerank = rg.pagerank(graph, tolerance=0, max_iterations=ITERATIONS, progress=False)
    for name in pagerank.columns:
        path = dask_shards.column_path(Path(folder), "pagerank", name)
        np.save(path, dask_shards.column_values(pagerank[name]))
    times = {name: timing.summary([reference.ms(name)]) for name in ("bfs", "sssp")}
    build, layered = clock.timed(lambda: rg.LayeredEdgeList.build(graph, start))
    size = partition_bytes(layered.nbytes)
    layered = rg.LayeredEdgeList.build(graph, start, partition_bytes=size)
    save = clock.ms(lambda: layered.save(f"{folder}/store"))
    facts = {
        "vertices": layered.num_vertices, "edges": layered.num_edges,
        "list_bytes": layered.nbytes, "partitions": len(storage_of(layered).table),
        "largest": largest_partition(layered),
    }  # fmt: skip
    return times, facts | {"build_ms": timing.summary([build]), "save_ms": timing.summary([save])}


def measure(run: Run, rows: SharedRows, workers: Iterable[int]) -> None:
    """Add the records of searches and PageRank of the store by each number of workers."""
    times: dict[str, timing.Summary] = {}
    facts: dict[str, Any] = {}
    for count in workers:
        with run.cluster(count) as client:
            if not facts:
                future = client.submit(build_store, rows, str(run.folder), run.on_gpu, pure=False)
                times, facts = future.result()
                largest = facts.pop("largest")
                run.add({"table": "cluster store", "graph": rows.name, "check": "ok"} | facts)
            device = "gpu" if run.on_gpu else "cpu"
            layered = rg.LayeredEdgeList.open(run.folder / "store", client=client, device=device)
            for name in ALGORITHMS:
                vertex_bytes = ALGORITHM_BYTES[name].per_vertex * facts["vertices"]
                limit = vertex_bytes + PARTITIONS_IN_LIMIT * largest
                row = {
                    "table": "cluster streamed", "graph": rows.name, "algorithm": name,
                    "workers": count, "vertices": facts["vertices"], "edges": facts["edges"],
                    "list_bytes": facts["list_bytes"], "limit_bytes": limit,
                    "list_by_limits": float(f"{facts['list_bytes'] / (limit * count):.3g}"),
                    "memory_ms": times.get(name),
                }  # fmt: skip
                run.attempt(row, partial(measure_call, run, layered, name, limit))
            del layered


def measure_call(run: Run, layered: rg.LayeredEdgeList, name: str, limit: int, row: Record) -> None:
    """Check one call, then time it."""
    clock, call = timing.Clock(), calls(limit)[name]

    def run_until_ready() -> int:
        return sum(dask_shards.map_partitions(call(layered), dask_shards.wait_for_partition))

    first, result = clock.timed(lambda: call(layered))
    row["first_ms"] = timing.summary([first])["median"]
    problem = dask_shards.compare_partitions(result, run.folder, name, row["vertices"])
    del result
    if problem:
        row["check"] = problem
        return
    times = [clock.ms(run_until_ready) for _ in range(run.rounds)]
    last_run = layered.last_run
    row |= {"run_ms": timing.summary(times), "passes": last_run.passes, "bytes": last_run.nbytes}
    row["gb_per_s"] = float(f"{last_run.nbytes / row['run_ms']['median'] / 1e6:.4g}")
    if name == "pagerank":
        row["iteration_ms"] = timing.summary([elapsed / ITERATIONS for elapsed in times])
    row["check"] = "ok"
