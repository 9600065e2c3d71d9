"""Time the frame form of each algorithm beside its kernel form, and the peak memory of both.

    python pipelines/benchmarks/frames.py [--scale 12] [--only pagerank,bfs,...] [--quick]
                                          [--output FILE]
    python pipelines/benchmarks/frames.py --only limited

Engines are pandas, Dask on two processes, and where GPUs are, cuDF and dask-cuDF on two of them;
PageRank and BFS also run as the same joins in DuckDB and Polars. A call takes an edge frame, so
that a time includes the build of the graph. Each runs in a process of its own, kernels after a
first call. Peak memory is that of the process above its memory before, of all workers together, or
of the GPU. *limited* shows what the frame form is for: components of a tree whose vertex arrays do
not fit into the memory of two Dask workers, which spill the partitions of its tables.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np
import pandas

import rapidsgraph as rg
from pipelines.benchmarks import harness, memory, timing
from pipelines.benchmarks.graphs import SEED
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record
from rapidsgraph import device

ITERATIONS = 10  # of PageRank
EDGE_FACTOR = 8  # rows per vertex
WORKERS = 2  # of Dask
MAX_REPEATS, BUDGET = 3, 5.0  # runs of a call, and seconds for them
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {  # by the name of the task
    "pagerank": (rg.pagerank, {"tolerance": 0, "max_iterations": ITERATIONS, "progress": False}),
    "bfs": (rg.bfs, {}),
    "sssp": (rg.sssp, {}),
    "components": (rg.connected_components, {}),
    "similarity": (rg.structural_similarity, {}),
    "scan": (rg.scan, {"epsilon": 0.4}),
    "strong components": (rg.connected_components, {"strong": True}),
    "core numbers": (rg.core_number, {}),
    "labels": (rg.label_propagation, {}),
    "triangles": (rg.triangle_count, {}),
    "clustering": (rg.clustering_coefficient, {}),
    "neighbor similarity": (rg.neighbor_similarity, {}),
}
ENGINES = ("pandas", "dask", "cudf", "dask_cudf", "duckdb", "polars")  # names of modules
QUERY_ENGINES, QUERIES = ("duckdb", "polars"), ("pagerank", "bfs")
TREE_VERTICES, TREE_PARTITIONS, WORKER_MEMORY = 4_000_000, 32, "400MB"


def make_edges(scale: int) -> pandas.DataFrame:
    """Return an R-MAT graph with a weight column."""
    edges = rg.generate.rmat(scale, EDGE_FACTOR, seed=SEED, device="cpu").astype("int64")
    weights = (edges["source"] * 7 + edges["destination"] * 13) % 10 + 1.0
    return edges[["source", "destination"]].assign(weight=weights)


@contextlib.contextmanager
def open_engine(engine: str) -> Iterator[tuple[Callable, Callable, Any]]:
    """Yield a converter of pandas frames, a function that measures memory, and an array module."""
    if engine == "cudf":
        cudf, (allocator, _) = importlib.import_module("cudf"), memory.use_rmm_pool()
        clock = timing.Clock(device.import_cupy())
        yield cudf.from_pandas, lambda run: memory.measure_peak(run, clock, allocator)[0], clock.xp
    elif "dask" not in engine:
        yield lambda frame: frame, lambda run: memory.measure_peak(run)[0], np
    else:
        from dask import dataframe

        def distribute(frame: pandas.DataFrame) -> Any:
            frame = dataframe.from_pandas(frame, npartitions=2 * WORKERS)
            return complete(frame.to_backend("cudf") if engine == "dask_cudf" else frame)

        with rg.cluster("gpu" if engine == "dask_cudf" else "cpu", workers=WORKERS) as client:
            yield distribute, partial(measure_workers, client), np


def complete(frame: Any) -> Any:
    """Return a frame whose partitions are there if it is one of Dask."""
    if hasattr(frame, "dask"):
        from distributed import wait

        wait(frame := frame.persist())
    return frame


def to_pandas(frame: Any) -> pandas.DataFrame:
    """Return a frame of any engine as one of pandas."""
    frame = frame.compute() if hasattr(frame, "compute") else frame
    return frame.to_pandas() if hasattr(frame, "to_pandas") else frame


def measure_workers(client: Any, run: Callable[[], Any]) -> int:
    """Return the sum of the peaks of all workers above their memory before."""
    baselines = client.run(memory.reset_peak)
    run()
    peaks = client.run(memory.resident_bytes, "VmHWM")
    return sum(peaks[worker] - baselines[worker] for worker in peaks)


def measure(task: str, engine: str, form: str, scale: int) -> tuple[Record, pandas.DataFrame]:
    """Return the times and the peak memory of a form of a task, and its result."""
    if engine in QUERY_ENGINES:
        module = importlib.import_module(f"pipelines.benchmarks.adapters.{engine}")
        call = getattr(module, task)
    else:
        function, options = CALLS[task]
        call = partial(function, **options, method="frames" if form == "frames" else "auto")
    with open_engine(engine) as (convert, peak_of, xp):
        clock, local = timing.Clock(xp), make_edges(scale)
        needs_root = engine in QUERY_ENGINES or task in ("bfs", "sssp")
        arguments = [int(local["source"][0])] if needs_root else []
        local = local[["source", "destination"]] if task == "pagerank" else local
        edges = convert(local)

        def run() -> Any:
            return complete(call(edges, *arguments))

        result = to_pandas(run())  # compiles kernels, and fills pools
        peak = peak_of(run)
        times = clock.repeated(run, MAX_REPEATS, BUDGET)
        return {f"{form}_ms": timing.summary(times), f"{form}_bytes": peak}, result


def compare(result: pandas.DataFrame, expected: pandas.DataFrame, rtol: float = 1e-9) -> str:
    """Return "ok" if the result has the expected values; query engines have fewer rows and columns.

    Values that are not integers may differ in rounding, and nulls of all libraries are equal.
    """
    if len(result) < len(expected):  # BFS without unreached vertices
        expected = expected[expected["distance"].notna()]
    both = []
    for frame in (result, expected[list(result.columns)]):
        numbers = {
            name: frame[name].astype("Float64").to_numpy(float, na_value=np.nan)
            for name in frame.select_dtypes("number")
        }
        both.append(frame.assign(**numbers).reset_index(drop=True))
    try:
        pandas.testing.assert_frame_equal(*both, check_dtype=False, rtol=rtol, atol=1e-12)
    except AssertionError as error:
        return f"wrong: {str(error).splitlines()[0]}"
    return "ok"


def measure_task(task: str, engines: Sequence[str], scale: int) -> Iterator[Record]:
    """Yield the record of both forms of a task on each engine; the kernels of pandas are right."""
    _, expected = memory.call_in_process(measure, task, "pandas", "kernels", scale)
    for engine in engines:
        row: Record = {"table": "frames", "algorithm": task, "engine": engine, "check": "ok"}
        for form in ["frames"] if engine in QUERY_ENGINES else ["kernels", "frames"]:
            arguments = measure, task, engine, form, scale
            answer = harness.try_call(row, partial(memory.call_in_process, *arguments))
            if answer and (check := compare(answer[1], expected)) != "ok":
                row["check"] = check
            elif answer:
                row |= answer[0]
        if "kernels_ms" in row and "frames_ms" in row:
            both = [[row[f"{form}_ms"]["median"]] for form in ("frames", "kernels")]
            row["frames_by_kernels"] = timing.paired_ratio(*both)
        print(f"{task} {engine}: {row['check']}", file=sys.stderr, flush=True)
        yield row


def make_tree(start: int, stop: int) -> pandas.DataFrame:
    """Return edges of a tree from vertices to their parents; names have gaps, so are no ids."""
    vertices = np.arange(start, stop)
    ends = {"source": vertices, "destination": np.maximum(vertices // 64, 1)}
    return pandas.DataFrame(ends) * 1_000_003


def measure_limited(method: str, vertices: int) -> Record:
    """Return the record of the components of a tree on workers with a limit."""
    import dask
    from dask.dataframe import from_delayed

    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    bounds = np.linspace(1, vertices + 1, TREE_PARTITIONS + 1).astype(int)
    with rg.cluster("cpu", workers=WORKERS, memory_limit=WORKER_MEMORY) as client:
        shards = [dask.delayed(make_tree, pure=False)(*pair) for pair in itertools.pairwise(bounds)]
        edges, start = from_delayed(shards, meta=make_tree(1, 2)), time.perf_counter()
        result = complete(rg.connected_components(edges, method=method))
        seconds, num_rows = time.perf_counter() - start, len(result)
        spilled = client.run(lambda dask_worker: dask_worker.data.spilled_total.disk)
    return {
        "run_s": float(f"{seconds:.4g}"), "spilled_bytes": sum(spilled.values()),
        "check": "ok" if num_rows == vertices else f"wrong: {num_rows} rows",
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--scale", type=int, help="the graph has 2^SCALE vertices")

    options = harness.parse_options(__doc__, arguments, add_options)
    scale = options.scale or (8 if options.quick else 18 if options.on_gpu else 12)
    has_gpu, options.on_gpu = options.on_gpu, False  # the processes use the GPU, not this one
    session = Session("frames", options, graph=f"R-MAT, scale {scale}, {EDGE_FACTOR} rows a vertex")
    engines = [each for each in ENGINES if importlib.util.find_spec(each)
               and (has_gpu or "cudf" not in each)]  # fmt: skip
    session.notes += [f"{each} does not run here" for each in ENGINES if each not in engines]
    for task in options.only or CALLS:
        if task == "limited":
            for method in ("auto", "frames"):  # "auto" is expected to exceed the limit
                row: Record = {"table": "limited", "method": method}
                arguments = method, TREE_VERTICES // (1000 if options.quick else 1)
                row |= harness.try_call(row, partial(measure_limited, *arguments)) or {}
                session.rows.append(row)
            continue
        own = [each for each in engines if task in QUERIES or each not in QUERY_ENGINES]
        session.attempt(task, partial(measure_task, task, own, scale))
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
