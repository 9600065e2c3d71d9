"""Time the frame form of each algorithm beside its kernel form, and the peak memory of both.

Engines are pandas, Dask on two processes, and where GPUs are, cuDF and, on two of them, dask-cuDF
instead of Dask; PageRank and BFS also run as the same joins in DuckDB and Polars. A call takes an
edge frame, so that a time includes the build of the graph; `ratio` is to the kernels on the same
frame. Peak memory is that of the process, of all workers together, or of the GPU.

`--only limited` shows what the frame form is for: components of a tree whose vertex arrays do not
fit into the memory of two Dask workers, which spill the partitions of its tables.
"""

from __future__ import annotations

import contextlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas

import rapidsgraph as rg
from pipelines.benchmarks import comparisons, memory
from pipelines.benchmarks.adapters import Entry, import_adapter
from pipelines.benchmarks.adapters.rapidsgraph import CALLS
from pipelines.benchmarks.answers import compare_values
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Effort, Measure, Session, Suite
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import TASKS, Task, pagerank_reference, verified
from rapidsgraph import device

GRAPH, ITERATIONS = "rmat15-8", 10
WORKERS = 2  # of Dask
TREE_VERTICES, TREE_PARTITIONS, WORKER_MEMORY = 4_000_000, 32, "400MB"
FRAME_TASKS = TASKS | {
    "pagerank": replace(TASKS["pagerank"], reference=pagerank_reference(ITERATIONS), time="run_ms"),
    "clustering_coefficient": replace(TASKS["clustering_coefficient"], is_undirected=False),
    "similarity": Task("similarity", "frames", verified("similarity", "", lambda case: np.inf),
                       compare_values, (), (), is_undirected=True),
}  # fmt: skip


def engines_of(session: Session) -> list[str]:
    """Return the libraries of frames that run here."""
    has_cudf = session.on_gpu and not device.frame_library_problem()
    num_gpus = session.xp.cuda.runtime.getDeviceCount() if has_cudf else 0
    dask = "dask_cudf" if num_gpus >= WORKERS else "dask"
    return ["pandas", *(["cudf"] * has_cudf), *([dask] * bool(importlib.util.find_spec(dask)))]


def make_frame(case: Workload, engine: str) -> Any:
    """Return the rows of a graph as a frame of an engine."""
    if engine == "pandas":
        return case.host_frame
    if engine == "cudf":
        return case.frame
    from dask import dataframe

    frame = dataframe.from_pandas(case.host_frame, npartitions=2 * WORKERS)
    return complete(frame.to_backend("cudf") if engine == "dask_cudf" else frame)


def complete(frame: Any) -> Any:
    """Return a frame whose partitions are there if it is one of Dask."""
    if hasattr(frame, "dask"):
        from distributed import wait

        wait(frame := frame.persist())
    return frame


def measure_workers(client: Any, run: Callable[[], Any]) -> tuple[int, Any]:
    """Return (sum of the peaks of all workers above their memory before, result of a function)."""
    baselines = client.run(memory.reset_peak)
    result = run()
    peaks = client.run(memory.resident_bytes, "VmHWM")
    return sum(peaks[worker] - baselines[worker] for worker in peaks), result


def make_entries(name: str, engine: str, measure_peak: Callable[..., Any]) -> Iterator[Entry]:
    """Yield both forms of a task on an engine."""
    call = CALLS[name]
    options = {"max_iterations": ITERATIONS} if name == "pagerank" else {}
    for form, method in (("kernels", "auto"), ("frames", "frames")):
        yield Entry(
            "rapidsgraph", name, form,
            lambda arguments, case, m=method: complete(call(*arguments, method=m, **options)),
            lambda case: (make_frame(case, engine), *call.starts(case)),
            lambda answer, case: call.values(answer, case.xp),
            columns={"engine": engine}, measure_peak=measure_peak,
        )  # fmt: skip


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


def compare(names: list[str], session: Session) -> Iterator[tuple[str, Measure]]:
    """Yield the measurements of tasks by all engines."""
    engines, tasks = engines_of(session), []
    queries, problems = zip(*map(import_adapter, ("DuckDB", "Polars")), strict=True)
    session.notes += filter(None, problems)
    measures: dict[str, Any] = {"pandas": memory.measure_peak, "cudf": session.measure_peak}
    with contextlib.ExitStack() as stack:
        if "dask" in engines[-1]:
            where = "gpu" if engines[-1] == "dask_cudf" else "cpu"
            client = stack.enter_context(rg.cluster(where, workers=WORKERS))
            measures[engines[-1]] = partial(measure_workers, client)
        for name in names:
            entries = [entry for module in queries if module for entry in module.library.entries
                       if entry.task == name]  # fmt: skip
            for engine in engines:  # a call on Dask takes a second, however small the graph is
                if not (session.options.quick and "dask" in engine and name != "bfs"):
                    entries += make_entries(name, engine, measures[engine])
            tasks.append(replace(FRAME_TASKS[name], entries=entries, is_without_isolated=True))
        yield from comparisons.compare_libraries(tasks, session)


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    options, names = session.options, session.tasks(CALLS, "limited")
    options.graphs = options.graphs or ["rmat8-8" if options.quick else GRAPH]
    if compared := [name for name in names if name != "limited"]:
        yield from compare(compared, session)
    if "limited" in names:
        vertices = TREE_VERTICES // (1000 if options.quick else 1)
        for method in ("auto", "frames"):  # the first is expected to exceed the limit
            yield f"limited, {method}", partial(measure_limited, method, vertices)


SUITE = Suite("frames", measurements, effort=Effort(3, budget=5.0))
