"""Time the frame form of each algorithm beside its kernel form, and the peak memory of both.

Engines are pandas, Dask on two processes, and where GPUs are, cuDF and dask-cuDF on two of them;
PageRank and BFS also run as the same joins in DuckDB and Polars. A call takes an edge frame, so
that a time includes the build of the graph. Each runs in a process of its own, kernels after a
first call. Peak memory is that of the process above its memory before, of all workers together, or
of the GPU. `--only limited` shows what the frame form is for: components of a tree whose vertex
arrays do not fit into the memory of two Dask workers, which spill the partitions of its tables.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas

import rapidsgraph as rg
from pipelines.benchmarks import harness, memory, timing
from pipelines.benchmarks.answers import compare_frames, to_pandas
from pipelines.benchmarks.graphs import load, with_weights
from pipelines.benchmarks.harness import Measure, Session, Suite
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import CALLS, call
from rapidsgraph import device

GRAPH = "rmat15-8"
WORKERS = 2  # of Dask
MAX_REPEATS, BUDGET = 3, 5.0  # runs of a call, and seconds for them
ENGINES = ("pandas", "dask", "cudf", "dask_cudf", "duckdb", "polars")  # names of modules
QUERY_ENGINES, QUERIES = ("duckdb", "polars"), ("pagerank", "bfs")
TREE_VERTICES, TREE_PARTITIONS, WORKER_MEMORY = 4_000_000, 32, "400MB"


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


def measure_workers(client: Any, run: Callable[[], Any]) -> int:
    """Return the sum of the peaks of all workers above their memory before."""
    baselines = client.run(memory.reset_peak)
    run()
    peaks = client.run(memory.resident_bytes, "VmHWM")
    return sum(peaks[worker] - baselines[worker] for worker in peaks)


def measure(task: str, engine: str, form: str, name: str) -> tuple[Record, pandas.DataFrame]:
    """Return the times and the peak memory of a form of a task on a graph, and its result."""
    if engine in QUERY_ENGINES:
        module = importlib.import_module(f"pipelines.benchmarks.adapters.{engine}")
        run_task = getattr(module, task)
    else:
        run_task = partial(call, task, method="frames" if form == "frames" else "auto")
    with open_engine(engine) as (convert, peak_of, xp):
        clock, workload = timing.Clock(xp), with_weights(load(name))
        local = workload.frame.astype({"source": "int64", "destination": "int64"})
        start = int(local["source"][0])
        edges = convert(local[["source", "destination"]] if task == "pagerank" else local)

        def run() -> Any:
            return complete(run_task(edges, start))

        result = to_pandas(run())  # compiles kernels, and fills pools
        peak = peak_of(run)
        times = clock.repeated(run, MAX_REPEATS, BUDGET)
        return {f"{form}_ms": timing.summary(times), f"{form}_bytes": peak}, result


def measure_task(task: str, engines: Sequence[str], name: str) -> Iterator[Record]:
    """Yield the record of both forms of a task on each engine; the kernels of pandas are right."""
    _, expected = memory.call_in_process(measure, task, "pandas", "kernels", name)
    for engine in engines:
        row: Record = {"table": "frames", "algorithm": task, "engine": engine, "check": "ok"}
        for form in ["frames"] if engine in QUERY_ENGINES else ["kernels", "frames"]:
            arguments = measure, task, engine, form, name
            answer = harness.try_call(row, partial(memory.call_in_process, *arguments))
            if answer and (problem := compare_frames(answer[1], expected)):
                row["check"] = problem
            elif answer:
                row |= answer[0]
        if "kernels_ms" in row and "frames_ms" in row:
            ratio = row["frames_ms"]["median"] / row["kernels_ms"]["median"]
            row["frames_by_kernels"] = float(f"{ratio:.3g}")
        yield row


def make_tree(start: int, stop: int) -> pandas.DataFrame:
    """Return edges of a tree from vertices to their parents; names have gaps, so are no ids."""
    vertices = np.arange(start, stop)
    ends = {"source": vertices, "destination": np.maximum(vertices // 64, 1)}
    return pandas.DataFrame(ends) * 1_000_003


def measure_limited(method: str, vertices: int) -> Iterator[Record]:
    """Yield the record of the components of a tree on workers with a limit."""
    import dask.dataframe

    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    bounds = np.linspace(1, vertices + 1, TREE_PARTITIONS + 1).astype(int)
    with rg.cluster("cpu", workers=WORKERS, memory_limit=WORKER_MEMORY) as client:
        edges = dask.dataframe.from_map(make_tree, bounds[:-1], bounds[1:], meta=make_tree(1, 2))
        start = time.perf_counter()
        result = complete(rg.connected_components(edges, method=method))
        seconds, num_rows = time.perf_counter() - start, len(result)
        spilled = client.run(lambda dask_worker: dask_worker.data.spilled_total.disk)
    yield {
        "table": "limited", "method": method,
        "run_s": float(f"{seconds:.4g}"), "spilled_bytes": sum(spilled.values()),
        "check": "ok" if num_rows == vertices else f"wrong: {num_rows} rows",
    }  # fmt: skip


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    options = session.options
    [name] = options.graphs or ["rmat8-8" if options.quick else GRAPH]
    session.start["graph"] = name
    engines = [engine for engine in ENGINES if importlib.util.find_spec(engine)
               and (options.on_gpu or "cudf" not in engine)]  # fmt: skip
    session.notes += [f"{engine} does not run here" for engine in ENGINES if engine not in engines]
    for task in session.tasks(CALLS, "limited"):
        if task == "limited":
            vertices = TREE_VERTICES // (1000 if options.quick else 1)
            for method in ("auto", "frames"):  # the first is expected to exceed the limit
                yield f"{task}, {method}", partial(measure_limited, method, vertices)
        else:
            with_task = [
                engine for engine in engines if task in QUERIES or engine not in QUERY_ENGINES
            ]
            yield task, partial(measure_task, task, with_task, name)


SUITE = Suite("frames", measurements, in_processes=True)
