"""Time the frame form of each algorithm beside its kernel form, and the peak memory of both.

    python pipelines/benchmarks/frames.py [--device auto|cpu|gpu] [--scale 12] [--factor 8]
                                          [--only pagerank,bfs,...] [--engines pandas,cudf,...]
                                          [--quick] [--output FILE]

Engines are pandas, Dask on two processes, and where GPUs are, cuDF and dask-cuDF on two of them. A
call takes an edge frame, so that a time includes the build of the graph, and returns a frame. Each
runs in a process of its own; kernels are compiled before. Peak memory is that of the process above
its memory before, of all workers together, or of the GPU. PageRank and BFS also run as the same
joins in DuckDB and Polars. A result that differs from the kernels' in pandas gets no time.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np
import pandas

import rapidsgraph as rg
from pipelines.benchmarks import harness, memory, timing
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record
from rapidsgraph import device

ITERATIONS, SEED, WORKERS = 10, 1, 2  # iterations of PageRank
MAX_REPEATS, BUDGET, TIMEOUT = 3, 5.0, 300  # runs of a call, seconds for them and for a process
CALLS: dict[str, Callable[..., Any]] = {
    "pagerank": lambda edges, root, **options: rg.pagerank(
        edges[["source", "destination"]], tolerance=0, max_iterations=ITERATIONS, progress=False,
        **options,
    ),
    "bfs": rg.bfs,
    "sssp": rg.sssp,
    "components": lambda edges, root, **options: rg.connected_components(edges, **options),
    "similarity": lambda edges, root, **options: rg.structural_similarity(edges, **options),
    "scan": lambda edges, root, **options: rg.scan(edges, epsilon=0.4, **options),
    "strong components": lambda edges, root, **options: rg.connected_components(
        edges, strong=True, **options
    ),
    "core numbers": lambda edges, root, **options: rg.core_number(edges, **options),
    "labels": lambda edges, root, **options: rg.label_propagation(edges, **options),
    "triangles": lambda edges, root, **options: rg.triangle_count(edges, **options),
    "clustering": lambda edges, root, **options: rg.clustering_coefficient(edges, **options),
    "neighbor similarity": lambda edges, root, **options: rg.neighbor_similarity(edges, **options),
}  # fmt: skip
ENGINES = {"cpu": ("pandas", "dask"), "gpu": ("cudf", "dask_cudf")}
QUERY_ENGINES, QUERIES = ("duckdb", "polars"), ("pagerank", "bfs")


def make_edges(scale: int, factor: int) -> pandas.DataFrame:
    """Return an R-MAT graph with a weight column."""
    edges = rg.generate.rmat(scale, factor, seed=SEED, device="cpu")
    weights = (edges["source"] * 7 + edges["destination"] * 13) % 10 + 1
    types = {"source": "int64", "destination": "int64", "weight": "float64"}
    return edges[["source", "destination"]].assign(weight=weights).astype(types)


@contextlib.contextmanager
def open_engine(engine: str) -> Iterator[tuple[Callable, Callable, Any]]:
    """Yield a converter of pandas frames, a function that measures memory, and an array module."""
    if engine == "cudf":
        import cudf

        (allocator, _), clock = memory.use_rmm_pool(), timing.Clock(device.import_cupy())
        yield cudf.from_pandas, lambda run: memory.measure_peak(run, clock, allocator)[0], clock.xp
    elif "dask" not in engine:
        yield lambda frame: frame, lambda run: memory.measure_peak(run)[0], np
    else:
        with rg.cluster("gpu" if engine == "dask_cudf" else "cpu", workers=WORKERS) as client:
            yield partial(distribute, engine=engine), partial(measure_workers, client), np


def distribute(frame: pandas.DataFrame, engine: str) -> Any:
    """Distribute a pandas frame over the workers."""
    from dask import dataframe
    from distributed import wait

    frame = dataframe.from_pandas(frame, npartitions=2 * WORKERS)
    frame = (frame.to_backend("cudf") if engine == "dask_cudf" else frame).persist()
    wait(frame)
    return frame


def measure_workers(client: Any, run: Callable[[], Any]) -> int:
    """Return the sum of the peaks of all workers above their memory before."""
    baselines = client.run(memory.reset_peak)
    run()
    peaks = client.run(memory.resident_bytes, "VmHWM")
    return sum(peaks[worker] - baselines[worker] for worker in peaks)


def measure(algorithm: str, engine: str, form: str, scale: int, factor: int, path: Path) -> Record:
    """Return times, the peak of memory, and whether the result is that of the file `path`.

    The kernel form of pandas writes the file.
    """
    if engine in QUERY_ENGINES:
        module = importlib.import_module(f"pipelines.benchmarks.adapters.{engine}")
        call = getattr(module, algorithm)
    else:
        call = partial(CALLS[algorithm], method="frames" if form == "frames" else "auto")
    with open_engine(engine) as (convert, peak_of, xp):
        clock, local = timing.Clock(xp), make_edges(scale, factor)
        edges, root = convert(local), int(local["source"][0])

        def run() -> Any:
            result = call(edges, root)
            if hasattr(result, "dask"):
                from distributed import wait

                result = result.persist()
                wait(result)
            return result

        if form == "kernels":  # compile those for this size, and fill pools
            run()
        timed: list[tuple[float, Any]] = []
        peak = peak_of(lambda: timed.append(clock.timed(run)))
        [(first, result)] = timed
        result = result.compute() if hasattr(result, "compute") else result
        result = result.to_pandas() if hasattr(result, "to_pandas") else result
        times = clock.repeated(run, MAX_REPEATS, BUDGET, first)
    if (engine, form) == ("pandas", "kernels"):
        result.to_parquet(path)
    check = compare(result, pandas.read_parquet(path))
    return {"ms": timing.summary(times), "bytes": peak, "check": check}


def compare(result: pandas.DataFrame, expected: pandas.DataFrame) -> str:
    """Return "ok" if the result has the expected values; query engines have fewer rows and columns.

    PageRank may differ in rounding.
    """
    if len(result) < len(expected):  # BFS without unreached vertices
        expected = expected[expected["distance"].notna()]
    both = []
    for frame in (result, expected[list(result.columns)]):
        numbers = {
            name: frame[name].astype("Float64").to_numpy(float, na_value=math.nan)
            for name in frame.select_dtypes("number")
        }  # nulls of all libraries are equal
        both.append(frame.assign(**numbers).reset_index(drop=True))
    try:
        pandas.testing.assert_frame_equal(*both, check_dtype=False, rtol=1e-9, atol=1e-12)
    except AssertionError as error:
        return f"wrong: {str(error).splitlines()[0]}"
    return "ok"


def missing_reason(engine: str) -> str | None:
    """Return why an engine cannot run here, or None."""
    module = {"dask": "distributed", "dask_cudf": "dask_cuda"}.get(engine, engine)
    if importlib.util.find_spec(module) is None:
        return f"{module} is not installed"
    return device.gpu_problem() if engine in ENGINES["gpu"] else None


def run_process(*arguments: Any) -> Record:
    """Run one measurement in a process of its own."""
    line = [sys.executable, __file__, "--measure", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return {"check": f"failed: {reason}"[:300]}
    return json.loads(done.stdout.splitlines()[-1])


def measure_engine(algorithm: str, engine: str, options: Any, path: Path) -> Iterator[Record]:
    """Yield the record of both forms of an algorithm on an engine."""
    row: Record = {"table": "frames", "algorithm": algorithm, "engine": engine, "check": "ok"}
    for form in ["frames"] if engine in QUERY_ENGINES else ["kernels", "frames"]:
        result = run_process(algorithm, engine, form, options.scale, options.factor, path)
        if result["check"] == "ok":
            row |= {f"{form}_ms": result["ms"], f"{form}_bytes": result["bytes"]}
        else:
            row["check"] = result["check"]
    if "kernels_ms" in row and "frames_ms" in row:
        ratio = row["frames_ms"]["median"] / row["kernels_ms"]["median"]
        row["frames_by_kernels"] = float(f"{ratio:.3g}")
    print(f"{algorithm} {engine}: {row['check']}", file=sys.stderr, flush=True)
    yield row


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--scale", type=int, help="the graph has 2^SCALE vertices")
        parser.add_argument("--factor", type=int, default=8, help="rows per vertex")
        parser.add_argument("--engines", help="engines, pandas among them; by default all")

    options = harness.parse_options(__doc__, arguments, add_options)
    options.scale = options.scale or (8 if options.quick else 18 if options.on_gpu else 12)
    engines = [*ENGINES["cpu"], *(ENGINES["gpu"] if options.on_gpu else ()), *QUERY_ENGINES]
    if options.engines:
        engines = [engine for engine in engines if engine in options.engines.split(",")]
    options.on_gpu = False  # the measurements use the GPU, not this process
    graph = f"R-MAT, scale {options.scale}, {options.factor} rows per vertex"
    session = Session("frames", options, graph=graph, workers=WORKERS, iterations=ITERATIONS)
    with tempfile.TemporaryDirectory() as folder:
        for algorithm in options.only or CALLS:
            for engine in engines:
                if engine in QUERY_ENGINES and algorithm not in QUERIES:
                    continue
                if reason := missing_reason(engine):
                    session.notes.append(f"{engine}: {reason}")
                    continue
                path = Path(folder, algorithm)
                measure_one = partial(measure_engine, algorithm, engine, options, path)
                session.attempt(f"{algorithm}, {engine}", measure_one)
    return harness.exit_status(session.finish())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        algorithm, engine, form, scale, factor, path = sys.argv[2:]
        print(json.dumps(measure(algorithm, engine, form, int(scale), int(factor), Path(path))))
    else:
        sys.exit(main())
