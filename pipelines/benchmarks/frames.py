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
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import pandas

import rapidsgraph as rg
from pipelines.benchmarks import harness, peak_memory, timing
from pipelines.benchmarks.harness import GraphSets, Session
from pipelines.benchmarks.records import Record
from rapidsgraph import device

ITERATIONS = 10  # of PageRank
SEED = 1
CALLS: dict[str, Callable[..., Any]] = {
    "pagerank": lambda edges, method, root: rg.pagerank(
        edges[["source", "destination"]],
        tolerance=0,
        max_iterations=ITERATIONS,
        method=method,
        progress=False,
    ),
    "bfs": lambda edges, method, root: rg.bfs(edges, root, method=method),
    "sssp": lambda edges, method, root: rg.sssp(edges, root, method=method),
    "components": lambda edges, method, root: rg.connected_components(edges, method=method),
    "similarity": lambda edges, method, root: rg.structural_similarity(edges, method=method),
    "scan": lambda edges, method, root: rg.scan(edges, epsilon=0.4, method=method),
    "strong components": lambda edges, method, root: rg.connected_components(
        edges, strong=True, method=method
    ),
    "core numbers": lambda edges, method, root: rg.core_number(edges, method=method),
    "labels": lambda edges, method, root: rg.label_propagation(edges, method=method),
    "triangles": lambda edges, method, root: rg.triangle_count(edges, method=method),
    "clustering": lambda edges, method, root: rg.clustering_coefficient(edges, method=method),
    "neighbor similarity": lambda edges, method, root: rg.neighbor_similarity(edges, method=method),
}
ENGINES = {"cpu": ("pandas", "dask"), "gpu": ("cudf", "dask_cudf")}
QUERY_ENGINES = ("duckdb", "polars")
WORKERS = 2
MAX_REPEATS, BUDGET = 3, 5.0  # runs of a call, and seconds for all of them
TIMEOUT = 300  # seconds of a process


# The same joins in DuckDB and Polars


def duckdb_pagerank(edges: pandas.DataFrame, root: int) -> pandas.DataFrame:
    """Run PageRank by SQL."""
    import duckdb

    database = duckdb.connect()
    database.register("edges", edges)
    database.execute("create table arcs as select distinct source, destination from edges")
    database.execute("""
        create table state as
        select vertex, coalesce(degree, 0) as degree, 1.0::double / count(*) over () as pagerank
        from (select source as vertex from arcs union select destination from arcs)
        left join (select source as vertex, count(*) as degree from arcs group by source)
        using (vertex)""")
    for _ in range(ITERATIONS):
        database.execute("""
            create or replace table state as
            with received as (
                select destination as vertex, sum(pagerank / degree) as received
                from arcs join state on source = vertex group by destination
            ), totals as (
                select count(*) as size, sum(if(degree = 0, pagerank, 0)) as dangling from state
            )
            select vertex, degree,
                0.15 / size + 0.85 * (coalesce(received, 0) + dangling / size) as pagerank
            from totals, state left join received using (vertex)""")
    return database.sql("select vertex, pagerank from state order by vertex").df()


def duckdb_bfs(edges: pandas.DataFrame, root: int) -> pandas.DataFrame:
    """Run BFS by SQL."""
    import duckdb

    database = duckdb.connect()
    database.register("edges", edges)
    database.execute("create table arcs as select source, destination from edges")
    database.execute(f"create table reached as select {root}::bigint as vertex, 0 as distance")
    level, size = 0, 1
    while size:
        level += 1
        [(size,)] = database.execute(f"""
            insert into reached
            select distinct destination, {level} from arcs join reached on source = vertex
            where distance = {level - 1} and destination not in (select vertex from reached)
            """).fetchall()
    return database.sql("select vertex, distance from reached order by vertex").df()


def polars_pagerank(edges: pandas.DataFrame, root: int) -> pandas.DataFrame:
    """Run PageRank by Polars' joins."""
    import polars

    arcs = polars.from_pandas(edges[["source", "destination"]]).unique()
    vertices = polars.concat([arcs["source"], arcs["destination"]]).unique().alias("vertex")
    degrees = arcs.group_by(vertex="source").agg(degree=polars.len())
    state = vertices.to_frame().join(degrees, on="vertex", how="left")
    state = state.with_columns(pagerank=polars.lit(1 / len(state)))
    for _ in range(ITERATIONS):
        contributions = state.select(
            source="vertex", contribution=polars.col("pagerank") / polars.col("degree")
        )
        received = arcs.join(contributions, on="source").group_by(vertex="destination")
        received = received.agg(received=polars.col("contribution").sum())
        dangling = state.filter(polars.col("degree").is_null())["pagerank"].sum()
        constant = 0.15 / len(state) + 0.85 * dangling / len(state)
        state = state.join(received, on="vertex", how="left").select(
            "vertex", "degree", pagerank=constant + 0.85 * polars.col("received").fill_null(0)
        )
    return state.select("vertex", "pagerank").sort("vertex").to_pandas()


def polars_bfs(edges: pandas.DataFrame, root: int) -> pandas.DataFrame:
    """Run BFS by Polars' joins."""
    import polars

    arcs = polars.from_pandas(edges[["source", "destination"]])
    frontier = polars.DataFrame({"vertex": [root], "distance": [0]})
    reached = frontier
    while len(frontier):
        level = frontier["distance"][0] + 1
        found = arcs.join(frontier.select(source="vertex"), on="source").select("destination")
        found = found.unique().rename({"destination": "vertex"})
        frontier = found.join(reached, on="vertex", how="anti").with_columns(
            distance=polars.lit(level, polars.Int64)
        )
        reached = polars.concat([reached, frontier])
    return reached.sort("vertex").to_pandas()


QUERIES = {
    ("pagerank", "duckdb"): duckdb_pagerank,
    ("bfs", "duckdb"): duckdb_bfs,
    ("pagerank", "polars"): polars_pagerank,
    ("bfs", "polars"): polars_bfs,
}


# One measurement, in a process of its own


def measure(algorithm: str, engine: str, form: str, scale: int, factor: int, path: Path) -> Record:
    """Return times, the peak of memory, and whether the result is that of the file `path`.

    The kernel form of pandas writes the file.
    """
    with open_engine(engine) as (convert, peak_of, xp):
        clock = timing.Clock(xp)
        if (algorithm, engine) in QUERIES:
            call = QUERIES[algorithm, engine]
        else:
            method = "frames" if form == "frames" else "auto"

            def call(edges: Any, root: int) -> Any:
                result = CALLS[algorithm](edges, method, root)
                return result.persist() if hasattr(result, "persist") else result

        local = make_edges(scale, factor)
        edges, root = convert(local), int(local["source"][0])

        def run() -> Any:
            result = call(edges, root)
            if hasattr(result, "dask"):
                from distributed import wait

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
    return {
        "ms": timing.summary(times),
        "bytes": peak,
        "check": compare(result, pandas.read_parquet(path)),
    }


def make_edges(scale: int, factor: int) -> pandas.DataFrame:
    """Return an R-MAT graph with a weight column."""
    edges = rg.generate.rmat(scale, factor, seed=SEED, device="cpu")
    weights = (edges["source"] * 7 + edges["destination"] * 13) % 10 + 1
    return pandas.DataFrame(
        {"source": edges["source"], "destination": edges["destination"], "weight": weights}
    ).astype({"source": "int64", "destination": "int64", "weight": "float64"})


def compare(result: pandas.DataFrame, expected: pandas.DataFrame) -> str:
    """Return "ok" if the result has the expected values; query engines have fewer rows and columns.

    PageRank may differ in rounding.
    """
    if len(result) < len(expected):  # BFS without unreached vertices
        expected = expected[expected["distance"].notna()].reset_index(drop=True)
    expected = expected[list(result.columns)]
    both = [_convert_numbers(frame.reset_index(drop=True)) for frame in (result, expected)]
    try:
        pandas.testing.assert_frame_equal(*both, check_dtype=False, rtol=1e-9, atol=1e-12)
    except AssertionError as error:
        return f"wrong: {str(error).splitlines()[0]}"
    return "ok"


def _convert_numbers(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return a frame whose numbers are float64, so that nulls of all libraries are equal."""
    numbers = frame.select_dtypes("number").columns
    return frame.assign(
        **{
            name: frame[name].astype("Float64").to_numpy(float, na_value=math.nan)
            for name in numbers
        }
    )


@contextlib.contextmanager
def open_engine(engine: str) -> Iterator[tuple[Callable[..., Any], Callable[..., Any], Any]]:
    """Yield a converter of pandas frames, a function that measures memory, and an array module."""
    if engine in ("dask", "dask_cudf"):
        with open_cluster(on_gpu=engine == "dask_cudf") as client:
            yield make_dask_converter(engine), lambda run: measure_workers(client, run), _numpy()
    elif engine == "cudf":
        import cudf

        allocator = peak_memory.use_rmm_pool([])
        xp = device.import_cupy()
        clock = timing.Clock(xp)
        yield (
            cudf.from_pandas,
            lambda run: peak_memory.measure_device_peak(clock, run, allocator)[0],
            xp,
        )
    else:
        yield lambda frame: frame, lambda run: peak_memory.measure_peak(run)[0], _numpy()


def _numpy() -> Any:
    import numpy

    return numpy


def make_dask_converter(engine: str) -> Callable[[pandas.DataFrame], Any]:
    """Return a function that distributes a pandas frame over the workers."""
    from dask import dataframe
    from distributed import wait

    def convert(frame: pandas.DataFrame) -> Any:
        frame = dataframe.from_pandas(frame, npartitions=2 * WORKERS)
        frame = frame.to_backend("cudf") if engine == "dask_cudf" else frame
        frame = frame.persist()
        wait(frame)
        return frame

    return convert


@contextlib.contextmanager
def open_cluster(*, on_gpu: bool) -> Iterator[Any]:
    """Yield the client of a cluster of `WORKERS` processes on this machine."""
    from distributed import Client, LocalCluster

    if on_gpu:
        from dask_cuda import LocalCUDACluster

        cluster = LocalCUDACluster(n_workers=WORKERS)
    else:
        cluster = LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        )
    with cluster, Client(cluster) as client:
        yield client


def measure_workers(client: Any, run: Callable[[], Any]) -> int:
    """Return the sum of the peaks of all workers above their memory before."""
    baselines = client.run(_reset_peak)
    run()
    peaks = client.run(peak_memory.resident_bytes, "VmHWM")
    return sum(peaks[worker] - baselines[worker] for worker in peaks)


def _reset_peak() -> int:
    peak_memory.RESET.write_text("5")
    return peak_memory.resident_bytes()


# All measurements


def missing_reason(engine: str) -> str | None:
    """Return why an engine cannot run here, or None."""
    modules = {"dask": "distributed", "dask_cudf": "dask_cuda"}
    module = modules.get(engine, engine)
    if importlib.util.find_spec(module) is None:
        return f"{module} is not installed"
    if engine in ENGINES["gpu"]:
        return device.gpu_problem()
    return None


def run_process(arguments: list[str]) -> Record:
    """Run one measurement."""
    command = [sys.executable, __file__, "--measure", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return {"check": f"failed: {reason}"[:300]}
    return json.loads(done.stdout.splitlines()[-1])


def measure_engine(session: Session, options: argparse.Namespace, row: Record, path: Path) -> None:
    """Add the record of both forms of an algorithm on an engine."""
    engine, algorithm = row["engine"], row["algorithm"]
    forms = ["frames"] if engine in QUERY_ENGINES else ["kernels", "frames"]
    checks = []
    for form in forms:
        arguments = [algorithm, engine, form, str(options.scale), str(options.factor), str(path)]
        result: Record = {}
        result = harness.try_call(result, lambda: run_process(arguments)) or result  # noqa: B023
        checks.append(result["check"])
        if result["check"] == "ok":
            row |= {f"{form}_ms": result["ms"], f"{form}_bytes": result["bytes"]}
    if "kernels_ms" in row and "frames_ms" in row:
        ratio = row["frames_ms"]["median"] / row["kernels_ms"]["median"]
        row["frames_by_kernels"] = float(f"{ratio:.3g}")
    row["check"] = next((check for check in checks if check != "ok"), "ok")
    print(f"{algorithm} {engine}: {row['check']}", file=sys.stderr, flush=True)
    session.rows.append(row)
    session.save()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    harness.add_only_option(tuple(CALLS))(parser)
    parser.add_argument("--scale", type=int, help="the graph has 2^SCALE vertices")
    parser.add_argument("--factor", type=int, default=8, help="rows per vertex")
    parser.add_argument("--engines", help="engines, pandas among them; by default all")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    graphs = GraphSets((), (), ())
    options = harness.parse_options((__doc__ or "").splitlines()[0], arguments, graphs, add_options)
    options.scale = options.scale or (8 if options.quick else 18 if options.on_gpu else 12)
    on_gpu, options.on_gpu = options.on_gpu, False  # the measurements use the GPU, not this process
    session = Session(
        "frames", options, graph=f"R-MAT, scale {options.scale}, {options.factor} rows per vertex",
        workers=WORKERS, iterations=ITERATIONS,
    )  # fmt: skip
    engines = [*ENGINES["cpu"], *ENGINES["gpu"]] if on_gpu else [*ENGINES["cpu"]]
    if not on_gpu:
        session.notes += [f"{engine}: there is no GPU" for engine in ENGINES["gpu"]]
    engines += QUERY_ENGINES
    if options.engines:
        engines = [engine for engine in engines if engine in options.engines.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        for algorithm in options.only:
            path = Path(folder, algorithm)
            for engine in engines:
                if engine in QUERY_ENGINES and (algorithm, engine) not in QUERIES:
                    continue
                reason = missing_reason(engine)
                if reason:
                    session.notes.append(f"{engine}: {reason}")
                    continue
                row = {"table": "frames", "algorithm": algorithm, "engine": engine}
                measure_engine(session, options, row, path)
    return harness.exit_status(session.finish())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        algorithm, engine, form, scale, factor, path = sys.argv[2:]
        print(json.dumps(measure(algorithm, engine, form, int(scale), int(factor), Path(path))))
    else:
        sys.exit(main())
