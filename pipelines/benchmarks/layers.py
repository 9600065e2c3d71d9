"""Layered edge lists: builds, iterations, streamed from a store, and larger than memory.

    python pipelines/benchmarks/layers.py [--device auto|cpu|gpu] [--graphs rmat18,NY]
                                          [--only build,flag,iterations,streamed,large]
                                          [--folder FOLDER] [--quick] [--output FILE]

In memory, lists run beside a Graph and peers in the suite `traversal` of run.py. Here are builds
from a Graph and from a file, the layers and launches of searches, BFS with a host flag per layer
(wolfpath.py), stores streamed within a limit of the vertices and a tenth of the list, and, only if
named, `large`: a file that exceeds the memory limit 20 times. On a CPU its steps are processes
limited to 1 GiB (limited.py).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np
import pyarrow
import pyarrow.parquet

import rapidsgraph as rg
from pipelines.benchmarks import harness, limited, timing, wolfpath
from pipelines.benchmarks.answers import compare_results, result_arrays, to_host
from pipelines.benchmarks.graphs import SEED, Workload, load, with_weights
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import DAMPING
from rapidsgraph import device, generate
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES
from rapidsgraph.dispatch import storage_of
from rapidsgraph.graph.local_graph import build_graph
from rapidsgraph.layered import streaming
from rapidsgraph.layered.outofcore.file_array import MIN_WORK_BYTES, OVERHEAD_BYTES, VERTEX_BYTES
from rapidsgraph.layered.packing import COLUMN, PARTITION_BYTES

TASKS = ("build", "iterations", "flag", "streamed", "large")
GRAPHS = {"cpu": ("rmat18", "NY"), "gpu": ("rmat22", "grid1400"), "quick": ("rmat8", "grid16")}
STREAMED = {"cpu": ("rmat18", "NY"), "gpu": ("uniform21-128", "rmat24"), "quick": ("uniform9-32",)}
LARGE = {"cpu": "rmat22-128", "gpu": "uniform20-1024", "quick": "uniform9-64"}
ITERATIONS, LARGE_ITERATIONS = 10, {"cpu": 1, "gpu": 3, "quick": 1}  # of PageRank
LIMIT_RATIO, LARGE_RATIO, MIN_PARTITIONS = 10, 20, 32
BUILD_LIMIT = 2**30  # of arrays, on a machine with a GPU
PROCESS_LIMIT, ARRAYS_LIMIT = 2**30, 600_000_000  # on a CPU; code takes the rest
CHUNK_ROWS = 2**25  # drawn at once
CALLS: dict[str, Callable[..., Any]] = {
    "bfs": rg.bfs,
    "sssp": rg.sssp,
    "pagerank": partial(rg.pagerank, tolerance=0, max_iterations=ITERATIONS, progress=False),
}


def partition_bytes(list_bytes: int) -> int:
    """Return a partition size so that a tenth of the list is several partitions."""
    return int(min(PARTITION_BYTES, max(list_bytes // MIN_PARTITIONS, 2**10)))


def largest_partition(layered: rg.LayeredEdgeList) -> int:
    """Return the bytes of the largest partition."""
    return int(storage_of(layered).table[:, COLUMN["words"]].max(initial=1)) * 4


def open_store(folder: Path, xp: Any) -> rg.LayeredEdgeList:
    """Open a store on the device of `xp`; without cuDF, results on a GPU are arrays."""
    if xp is np or not device.frame_library_problem():
        return rg.LayeredEdgeList.open(folder, device="cpu" if xp is np else "gpu")
    layered = rg.LayeredEdgeList.open(folder, device="cpu")
    storage = storage_of(layered)
    names = storage.store.vertex_names(xp)
    storage.labeling = replace(storage.labeling, names=names, xp=xp, library="arrays")
    return layered


def memory_limit(layered: rg.LayeredEdgeList, algorithm: str, ratio: int = LIMIT_RATIO) -> int:
    """Return the bytes of the vertices and a part of the edges, three partitions at least."""
    vertex_bytes = ALGORITHM_BYTES[algorithm].per_vertex * layered.num_vertices
    return vertex_bytes + max(layered.nbytes // ratio, 3 * largest_partition(layered))


def reference_result(graph: Any, algorithm: str, start: int) -> Any:
    """Return the result of a Graph; `rapidsgraph.verify` passes those of searches."""
    if algorithm == "pagerank":
        return CALLS[algorithm](graph)
    result = CALLS[algorithm](graph, start)
    getattr(rg.verify, algorithm)(graph, result, start)
    return result


def variants(workload: Workload) -> Iterator[tuple[Workload, tuple[str, ...]]]:
    """Yield the graph without and with weights, and the algorithms on each."""
    yield workload, ("bfs", "pagerank")
    yield with_weights(workload), ("sssp",)


# In memory


def measure_builds(workload: Workload, session: Session, folder: Path) -> Iterator[Record]:
    """Yield records of builds from a Graph and from a file, of save and open, and of space."""
    clock, xp, budget = session.clock, session.xp, session.effort.budget / 8
    for case, algorithms in variants(workload):
        weighted = algorithms == ("sssp",)
        graph, root, path = case.build(), workload.start, folder / "edges.parquet"
        build = partial(rg.LayeredEdgeList.build, graph, root)
        layered = build()
        row: Record = {"table": "layered build", "who": "here", "graph": case.name}
        row |= {"weighted": weighted, "edges": layered.num_edges, "layers": layered.depth + 1}
        storage = storage_of(layered)
        weight = 0 if storage.weight_dtype is None else np.dtype(storage.weight_dtype).itemsize
        csr = (4 + weight) * layered.num_edges + 8 * (layered.num_vertices + 1)
        arrays = storage.table, storage.layer_starts, storage.layer_edges
        own = layered.nbytes + 4 * layered.num_vertices + sum(array.nbytes for array in arrays)
        row["by_csr"] = float(f"{own / csr:.4g}")
        columns = {"source": case.source, "destination": case.destination}
        columns |= {"weight": case.weight} if weighted else {}
        table = pyarrow.table({name: to_host(values) for name, values in columns.items()})
        pyarrow.parquet.write_table(table, path, compression="none", use_dictionary=False)
        options = {"weight": "weight" if weighted else None}
        policies = {"directed": case.directed, "multi_edges": case.multi_edges}
        limit = OVERHEAD_BYTES + MIN_WORK_BYTES + VERTEX_BYTES * case.vertices
        limit += path.stat().st_size // 4

        def build_from_file() -> None:
            frame = rg.read_edges(path, **options, device="cpu" if xp is np else "gpu")  # noqa: B023
            graph = build_graph(frame, **options, **policies)  # noqa: B023
            rg.LayeredEdgeList.build(graph, root).save(folder / "whole")  # noqa: B023

        steps: dict[str, Callable[[], Any]] = {
            "graph_ms": case.build, "build_ms": build,
            "save_ms": partial(layered.save, folder / "store"),
            "open_ms": lambda: open_store(folder / "store", xp),
            "external_ms": partial(
                rg.LayeredEdgeList.build, path, root, store=folder / "external", device="cpu",
                memory_limit=limit, **options, **policies,
            ),
        }  # fmt: skip
        if xp is np or not device.frame_library_problem():
            steps["whole_ms"] = build_from_file
        row |= {name: timing.summary(clock.repeated(step, 3, budget))
                for name, step in steps.items()}  # fmt: skip
        if "whole_ms" in row:
            cost = row["whole_ms"]["median"] * 1e6 / layered.num_edges
            row["ns_per_edge"] = float(f"{cost:.4g}")
        stores = [folder / name for name in ("store", "external", "whole")]
        is_same = all(same_layers(open_store(p, xp), layered) for p in stores if p.exists())
        yield row | {"limit_bytes": limit, "check": "ok" if is_same else "wrong: layers differ"}


def same_layers(layered: rg.LayeredEdgeList, reference: rg.LayeredEdgeList) -> bool:
    """Return whether two lists have the same layers; vertices without edges are in none."""
    one, other = storage_of(layered), storage_of(reference)
    names = ("layer_edges", "layer_starts")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def measure_iterations(workload: Workload, session: Session) -> Iterator[Record]:
    """Yield records of the layers, launches and passes of BFS and SSSP, beside a Graph."""
    clock, start = session.clock, workload.start
    for case, algorithms in variants(workload):
        algorithm, graph = algorithms[0], case.build()
        layered = rg.LayeredEdgeList.build(graph, start)
        row: Record = {
            "table": "iterations", "who": "here", "graph": case.name, "algorithm": algorithm,
            "edges": layered.num_edges, "layers": layered.depth + 1,
            "combined": len(layered.combined["edges"]),
        }  # fmt: skip
        run = partial(CALLS[algorithm], layered)
        expected = reference_result(graph, algorithm, start)
        with record_launches() as launches:
            row["check"] = compare_results(run(), expected, session.xp) or "ok"
        row |= {"launches": len(launches), "passes": layered.last_run.passes}
        if row["check"] == "ok":
            on_graph = partial(CALLS[algorithm], graph, start)
            jobs = {"run_ms": run, "graph_run_ms": on_graph}
            jobs = {name: partial(clock.ms, job) for name, job in jobs.items()}
            times = timing.rounds(jobs, session.effort.rounds, session.effort.budget)
            row |= {name: timing.summary(values) for name, values in times.items()}
        if session.on_gpu:
            flag = session.xp.zeros(1, np.int32)
            copies = lambda: [(flag.fill(1), flag.get()) for _ in range(200)]  # noqa: E731, B023
            row["flag_us"] = float(f"{min(clock.ms(copies) for _ in range(3)) * 5:.4g}")
        yield row


@contextlib.contextmanager
def record_launches() -> Iterator[list[str]]:
    """Yield a list that receives the entry of each launch over partitions except checksums."""
    entries: list[str] = []
    original = device.launch

    def launch(stem: str, entry: str, **arguments: Any) -> None:
        if stem in ("layered_sweep", "layered_sssp") and entry != "add_checksums":
            entries.append(entry)
        return original(stem, entry, **arguments)

    device.launch = launch  # type: ignore[assignment]
    try:
        yield entries
    finally:
        device.launch = original


# Streamed


def measure_streamed(workload: Workload, session: Session, folder: Path) -> Iterator[Record]:
    """Yield records of a list in memory and of its store within a limit."""
    for case, algorithms in variants(workload):
        graph, start, store = case.build(), workload.start, folder / "store"
        size = partition_bytes(rg.LayeredEdgeList.build(graph, start).nbytes)
        layered = rg.LayeredEdgeList.build(graph, start, partition_bytes=size)
        layered.save(store)
        for algorithm in algorithms:
            expected = reference_result(graph, algorithm, start)
            for how in ("in memory", "streamed", *([wolfpath.NO_OVERLAP] * session.on_gpu)):
                row: Record = {"table": "streamed", "graph": case.name, "algorithm": algorithm}
                row |= {"how": how, "edges": layered.num_edges, "layers": layered.depth + 1}
                target = layered if how == "in memory" else open_store(store, session.xp)
                limit = None if how == "in memory" else memory_limit(target, algorithm)
                row |= {"list_bytes": layered.nbytes, "limit_bytes": limit}
                with limit_overlap() if how == wolfpath.NO_OVERLAP else contextlib.nullcontext():
                    harness.try_call(row, partial(run_list, row, target, expected, session))
                yield row


def run_list(row: Record, layered: rg.LayeredEdgeList, expected: Any, session: Session) -> None:
    """Check and time one algorithm on a list."""
    run = partial(CALLS[row["algorithm"]], layered, memory_limit=row["limit_bytes"])
    job = harness.checked(
        run, lambda answer: compare_results(answer, expected, session.xp), session, row
    )
    if job is None:
        return
    times = [job() for _ in range(session.effort.rounds)]
    row |= {"run_ms": timing.summary(times), "passes": layered.last_run.passes,
            "bytes": layered.last_run.nbytes}  # fmt: skip
    if row["limit_bytes"] is not None:
        add_rates(row)


def add_rates(row: Record) -> None:
    """Add the rates that follow from the time and the bytes of a run."""
    seconds = row["run_ms"]["median"] / 1e3
    row["gb_per_s"] = float(f"{row['bytes'] / seconds / 1e9:.4g}")
    if row["algorithm"] == "bfs":
        row["edges_per_us"] = float(f"{row['edges'] / seconds / 1e6:.4g}")


@contextlib.contextmanager
def limit_overlap() -> Iterator[None]:
    """Stream with one host thread and one device buffer, so that copies overlap nothing."""
    previous = streaming.MAX_COPY_THREADS, streaming.NUM_DEVICE_BUFFERS
    streaming.MAX_COPY_THREADS = streaming.NUM_DEVICE_BUFFERS = 1
    try:
        yield
    finally:
        streaming.MAX_COPY_THREADS, streaming.NUM_DEVICE_BUFFERS = previous


# Larger than memory


def write_file(name: str, path: Path, xp: Any) -> tuple[int, int]:
    """Write a graph as Parquet chunk by chunk, unless it exists; return (vertices, rows)."""
    kind, scale, factor = name.rstrip("0123456789-"), *map(int, name.lstrip("uniformat").split("-"))
    vertices, rows = 1 << scale, factor << scale
    if path.exists() and pyarrow.parquet.read_metadata(path).num_rows == rows:
        return vertices, rows
    ids = xp.asarray(np.random.default_rng(SEED).permutation(vertices).astype(np.int32))
    size = max(CHUNK_ROWS >> scale, 1) << scale
    schema = pyarrow.schema([(end, pyarrow.int32()) for end in ("source", "destination")])
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    temporary = path.with_suffix(".tmp")
    with pyarrow.parquet.ParquetWriter(temporary, schema, **options) as writer:
        for seed, first in enumerate(range(0, rows, size)):
            count = min(size, rows - first)
            if kind == "uniform":
                ends = generate.uniform_arrays(xp, vertices, count, seed=seed)[:2]
            else:
                how = {"clean": False, "permute": False}
                ends = generate.rmat_arrays(xp, scale, count >> scale, seed=seed, **how)[:2]
                ends = tuple(ids[end] for end in ends)
            writer.write_table(pyarrow.table(list(map(to_host, ends)), schema=schema), 2**20)
    os.replace(temporary, path)
    return vertices, rows


class FileReference:
    """Checks of results against the rows of a file, over vertices 0 to n - 1."""

    def __init__(self, path: Path, vertices: int, xp: Any) -> None:
        self.path, self.vertices, self.xp = path, vertices, xp
        self.root = int(next(self.read(1))[0][0])

    def read(self, batch_rows: int = 2**22) -> Iterator[tuple[Any, Any]]:
        """Yield (sources, destinations) batch by batch."""
        with pyarrow.parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(batch_rows):
                yield tuple(self.xp.asarray(column.to_numpy()) for column in batch.columns)

    def by_vertex(self, answer: Any, name: str, missing: float) -> Any:
        """Return a column by vertex id; vertices without edges are missing."""
        columns = result_arrays(answer, self.xp)
        values = self.xp.full(self.vertices, missing)
        values[columns["vertex"].astype(np.int64)] = columns[name]
        return values

    def check_bfs(self, answer: Any) -> str | None:
        """Check that no edge skips a level, and that predecessors are the smallest sources."""
        xp, n = self.xp, self.vertices
        distance = self.by_vertex(answer, "distance", -1.0)
        predecessor = self.by_vertex(answer, "predecessor", -1.0)
        smallest, num_skips = xp.full(n, 2**31 - 1, np.int32), 0
        for sources, destinations in self.read():
            level, following = distance[sources], distance[destinations]
            is_skip = (following < 0) | (following > level + 1)
            num_skips += int(((level >= 0) & is_skip).sum())
            is_tree = (level >= 0) & (following == level + 1)
            xp.minimum.at(smallest, destinations[is_tree], sources[is_tree])
        expected = xp.where(smallest < 2**31 - 1, smallest, -1)
        is_root = (distance == 0) != (xp.arange(n) == self.root)
        num_wrong = int((is_root | ((distance > 0) != (expected >= 0))).sum())
        num_wrong += int((predecessor != expected).sum())
        return f"wrong: {num_skips} skips, {num_wrong} vertices" if num_skips + num_wrong else None

    def check_pagerank(self, answer: Any, iterations: int) -> str | None:
        """Compare with plain sums over the rows."""
        xp, n = self.xp, self.vertices
        degrees, is_present = xp.zeros(n, np.int64), xp.zeros(n, bool)
        for sources, destinations in self.read():
            degrees += xp.bincount(sources, minlength=n)
            is_present[destinations] = True
        is_present |= degrees > 0
        count = int(is_present.sum())
        expected = xp.where(is_present, 1 / count, 0.0)
        for _ in range(iterations):
            shares, sums = expected / xp.maximum(degrees, 1), xp.zeros(n)
            for sources, destinations in self.read():
                sums += xp.bincount(destinations, weights=shares[sources], minlength=n)
            lost = float(expected[is_present & (degrees == 0)].sum())
            expected = DAMPING * (sums + lost / count) + (1 - DAMPING) / count
            expected = xp.where(is_present, expected, 0.0)
        values = self.by_vertex(answer, "pagerank", 0.0)
        num_wrong = int((xp.abs(values - expected) > 1e-9 * expected).sum())
        return f"wrong: {num_wrong} values of pagerank" if num_wrong else None


def measure_large(name: str, session: Session, folder: Path, iterations: int) -> Iterator[Record]:
    """Yield the records of a build, BFS and PageRank beyond the limit, checked by the rows."""
    path, store, xp = folder / f"{name}.parquet", folder / f"{name}.layers", session.xp
    vertices, rows = write_file(name, path, xp)
    reference = FileReference(path, vertices, xp)
    limit = BUILD_LIMIT if session.on_gpu else ARRAYS_LIMIT
    about: Record = {"table": "large", "graph": name, "vertices": vertices, "edges": rows,
                     "file_bytes": path.stat().st_size}  # fmt: skip

    def run(step: str, limit: int, *arguments: Any) -> tuple[Record, Any]:
        if not session.on_gpu:
            return limited.run_step(PROCESS_LIMIT, step, *arguments)
        if step == "build":
            elapsed, _ = session.clock.timed(lambda: limited.build(*arguments))
            return {"run_ms": timing.summary([elapsed])}, None
        layered = open_store(store, xp)
        call = lambda: limited.run(step, layered, limit, iterations)  # noqa: E731
        call()  # page cache, checksums
        elapsed, answer = session.clock.timed(call)
        last = layered.last_run
        facts = {"run_ms": timing.summary([elapsed]), "passes": last.passes, "bytes": last.nbytes}
        return facts, answer

    facts, _ = run("build", limit, path, store, reference.root, limit + OVERHEAD_BYTES)
    row = about | {"algorithm": "build", "limit_bytes": limit} | facts
    if "check" in row:
        yield row
        return
    layered = open_store(store, xp)
    about |= {"list_bytes": layered.nbytes, "layers": layered.depth + 1}
    is_whole = layered.num_edges == rows
    yield row | about | {"check": "ok" if is_whole else f"wrong: {layered.num_edges} edges"}
    for algorithm in ("bfs", "pagerank"):
        if session.on_gpu:
            limit = memory_limit(layered, algorithm, LARGE_RATIO)
        facts, answer = run(algorithm, limit, store, limit, iterations)
        row = about | {"algorithm": algorithm, "limit_bytes": limit} | facts
        row["list_by_limit"] = float(f"{layered.nbytes / limit:.4g}")
        if answer is not None:
            check = reference.check_bfs if algorithm == "bfs" else partial(
                reference.check_pagerank, iterations=iterations)  # fmt: skip
            row["check"] = check(answer) or "ok"
            add_rates(row)
        yield row


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--folder", type=Path, help="for stores and the large file")

    options = harness.parse_options(__doc__, arguments, add_options)
    kind = "quick" if options.quick else "gpu" if options.on_gpu else "cpu"
    tasks = options.only or TASKS[:-1]
    session = Session("layers", options, seed=SEED, tasks=",".join(tasks))
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary)
        measures = {
            "build": partial(measure_builds, session=session, folder=folder),
            "iterations": partial(measure_iterations, session=session),
            "flag": partial(wolfpath.measure_flags, session=session),
            "streamed": partial(measure_streamed, session=session, folder=folder),
        }
        for task in (task for task in tasks if task in measures):
            for name in ("rmat9", "grid8"):  # compiles
                harness.try_call({}, lambda: list(measures[task](load(name, session.xp))))  # noqa: B023
            names = options.graphs or (STREAMED if task == "streamed" else GRAPHS)[kind]
            for workload in session.graphs(names):
                session.attempt(f"{workload.name}, {task}", partial(measures[task], workload))
        if "large" in tasks:
            large, name = options.folder or folder, (options.graphs or [LARGE[kind]])[0]
            count = LARGE_ITERATIONS[kind]
            session.attempt(name, partial(measure_large, name, session, large, count))
    session.rows += [*wolfpath.paper_rows(), *wolfpath.claims(session.rows)]
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
