"""Layered edge lists: builds, streamed from a store, and larger than memory; WolfPath's claims.

The suite `traversal` has lists in memory beside peers. Here are builds from a Graph and
from a file, on a GPU BFS with a flag per layer (wolfpath.py), stores streamed within a limit of the
vertices and a tenth of the list, and, if named, `large`: a file that exceeds the memory limit 20
times, on a CPU in processes that may allocate 1 GiB.
"""

from __future__ import annotations

import contextlib
import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import comparisons, harness, memory, timing, wolfpath
from pipelines.benchmarks.answers import compare_frames, to_pandas
from pipelines.benchmarks.graphs import SEED, Workload, load, with_weights
from pipelines.benchmarks.harness import Measure, Session, Suite
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import call
from rapidsgraph import device
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES
from rapidsgraph.dispatch import storage_of
from rapidsgraph.graph.local_graph import build_graph
from rapidsgraph.layered import streaming
from rapidsgraph.layered.outofcore.file_array import OVERHEAD_BYTES
from rapidsgraph.layered.packing import PARTITION_BYTES

GRAPHS = {"cpu": ("rmat18", "NY"), "gpu": ("rmat22", "grid1400"), "quick": ("rmat8", "grid16")}
STREAMED = GRAPHS | {"gpu": ("uniform21-128", "rmat24")}
LARGE = {"cpu": "rmat22-128", "gpu": "uniform20-1024", "quick": "uniform9-64"}
# Streams with one host thread and one device buffer, so that copies overlap nothing.
NO_OVERLAP = mock.patch.multiple(streaming, MAX_COPY_THREADS=1, NUM_DEVICE_BUFFERS=1)
LIMIT_RATIO, LARGE_RATIO, MIN_PARTITIONS = 10, 20, 32
PROCESS_BYTES, ARRAY_BYTES = 2**30, 600_000_000  # limits of `large`; code takes the rest


def build_in_partitions(graph: Any, root: int) -> rg.LayeredEdgeList:
    """Build a list of many partitions, so that a tenth of it is several."""
    num_bytes = rg.LayeredEdgeList.build(graph, root).nbytes
    size = int(min(PARTITION_BYTES, max(num_bytes // MIN_PARTITIONS, 2**10)))
    return rg.LayeredEdgeList.build(graph, root, partition_bytes=size)


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
    return vertex_bytes + max(layered.nbytes // ratio, 3 * storage_of(layered).largest_partition)


def variants(workload: Workload) -> Iterator[tuple[Workload, tuple[str, ...]]]:
    """Yield the graph without and with weights, and the algorithms on each."""
    yield workload, ("bfs", "pagerank")
    yield with_weights(workload), ("sssp",)


def measure_builds(workload: Workload, session: Session, folder: Path) -> Iterator[Record]:
    """Yield records of builds from a Graph and from a file, of save and open, and of space."""
    where = "cpu" if session.xp is np else "gpu"
    for case, _ in variants(workload):
        root, path = workload.start, folder / "rows"
        layered = rg.LayeredEdgeList.build(case.graph, root)
        case.write(path)

        def build_whole() -> None:
            edges = rg.read_edges(path, weight=case.options["weight"], device=where)  # noqa: B023
            graph = build_graph(edges, **case.options)  # noqa: B023
            rg.LayeredEdgeList.build(graph, root).save(folder / "whole")  # noqa: B023

        steps = {
            "build_ms": partial(rg.LayeredEdgeList.build, case.graph, root),
            "save_ms": partial(layered.save, folder / "store"),
            "open_ms": partial(open_store, folder / "store", session.xp),
        }
        if where == "cpu" or not device.frame_library_problem():
            steps["whole_ms"] = build_whole
        row: Record = {"table": "layered build", "graph": case.name, "edges": layered.num_edges}
        row |= {"weighted": case.weight is not None, "layers": layered.depth + 1}
        for name, step in steps.items():
            times = session.clock.repeated(step, 3, session.effort.budget / 8)
            row[name] = timing.summary(times)
        if "whole_ms" in row:
            cost = row["whole_ms"]["median"] * 1e6 / layered.num_edges
            row["ns_per_edge"] = float(f"{cost:.4g}")
        list_bytes = layered.nbytes + 4 * layered.num_vertices + storage_of(layered).table.nbytes
        csr = case.graph.csr
        csr_bytes = csr.offsets.nbytes + csr.neighbors.nbytes + csr.weights.nbytes
        row["by_csr"] = float(f"{list_bytes / csr_bytes:.4g}")
        yield row | {"check": "ok"}


def measure_streamed(workload: Workload, session: Session, folder: Path) -> Iterator[Record]:
    """Yield records of a list in memory and of its store within a limit."""
    for case, algorithms in variants(workload):
        layered = build_in_partitions(case.graph, workload.start)
        layered.save(folder / "store")
        for algorithm in algorithms:
            expected = call(algorithm, case.graph, workload.start)
            for how in ("in memory", "streamed", *([wolfpath.NO_OVERLAP] * session.on_gpu)):
                row: Record = {"table": "streamed", "graph": case.name, "algorithm": algorithm}
                row |= {"how": how, "edges": layered.num_edges, "layers": layered.depth + 1}
                row["list_bytes"], target = layered.nbytes, layered
                if how != "in memory":
                    target = open_store(folder / "store", session.xp)
                    row["limit_bytes"] = memory_limit(target, algorithm)
                with NO_OVERLAP if how == wolfpath.NO_OVERLAP else contextlib.nullcontext():
                    harness.try_call(row, partial(run_list, row, target, expected, session))
                yield row


def run_list(row: Record, layered: rg.LayeredEdgeList, expected: Any, session: Session) -> None:
    """Check and time the algorithm of a row on a list, within its limit if it has one."""
    limit = row.get("limit_bytes")
    run = partial(call, row["algorithm"], layered, memory_limit=limit)
    check = partial(compare_frames, expected=expected)
    if job := comparisons.checked(lambda: run, check, session, row):
        row["run_ms"] = timing.summary([job() for _ in range(session.effort.rounds)])
        row |= rates(row, layered) if limit is not None else {}


def rates(row: Record, layered: rg.LayeredEdgeList) -> Record:
    """Return the passes and bytes of the last run, and the rates that follow from its time."""
    run, seconds = layered.last_run, row["run_ms"]["median"] / 1e3
    facts = {"passes": run.passes, "bytes": run.nbytes}
    facts["gb_per_s"] = float(f"{run.nbytes / seconds / 1e9:.4g}")
    if row["algorithm"] == "bfs":
        facts["edges_per_us"] = float(f"{row['edges'] / seconds / 1e6:.4g}")
    return facts


# Larger than memory


def build_store(path: Path, root: int, store: Path) -> Record:
    """Build out of core, with parallel edges so that rows can be counted; return the time."""
    options: dict[str, Any] = {"store": store, "weight": None, "multi_edges": "keep"}
    limit = ARRAY_BYTES + OVERHEAD_BYTES
    elapsed, _ = timing.Clock().timed(
        partial(rg.LayeredEdgeList.build, path, root, device="cpu", memory_limit=limit, **options)
    )
    return {"run_ms": timing.summary([elapsed])}


def run_store(row: Record, store: Path, on_gpu: bool) -> tuple[Record, Any]:
    """Run the algorithm of a row on a store within its limit; return figures and the columns."""
    xp = device.import_cupy() if on_gpu else np
    layered = open_store(store, xp)
    run_task = partial(call, row["algorithm"], layered, memory_limit=row["limit_bytes"])
    if on_gpu:
        run_task()  # fills the page cache, checks sums
    elapsed, answer = timing.Clock(xp).timed(run_task)
    facts: Record = {"run_ms": timing.summary([elapsed])}
    if not on_gpu and memory.STATUS.exists():
        facts["resident_bytes"] = memory.resident_bytes("VmHWM")
    return facts | rates(row | facts, layered), to_pandas(answer)


def measure_large(name: str, session: Session, folder: Path) -> Iterator[Record]:
    """Yield the records of a build, BFS and PageRank beyond the limit, compared with a Graph."""
    workload, store = load(name, session.xp, clean=False), folder / "large-store"
    files, root = workload.write(folder / name), int(workload.source[0])
    limits = partial(resource.setrlimit, resource.RLIMIT_DATA, (PROCESS_BYTES, PROCESS_BYTES))

    def run(function: Callable[..., Any], *arguments: Any) -> Any:
        if session.on_gpu:
            return function(*arguments)
        for path in [*files, *(store.iterdir() if store.exists() else ())]:
            with path.open("rb") as file:  # cached pages would not count as memory
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return memory.call_in_process(function, *arguments, setup=limits)

    facts = run(build_store, folder / name, root, store)
    layered = open_store(store, session.xp)
    about: Record = {"table": "large", "graph": name, "edges": workload.rows}
    about |= {"process_bytes": None if session.on_gpu else PROCESS_BYTES}
    about |= {"file_bytes": sum(file.stat().st_size for file in files)}
    about |= {"list_bytes": layered.nbytes, "layers": layered.depth + 1}
    is_whole = layered.num_edges == workload.rows
    row = about | {"algorithm": "build", "limit_bytes": ARRAY_BYTES} | facts
    yield row | {"check": "ok" if is_whole else f"wrong: {layered.num_edges} edges"}
    graph = workload.build(vertices=None, multi_edges="keep")
    for algorithm in ("bfs", "pagerank"):
        limit = memory_limit(layered, algorithm, LARGE_RATIO) if session.on_gpu else ARRAY_BYTES
        row = about | {"algorithm": algorithm, "limit_bytes": limit}
        facts, answer = run(run_store, row, store, session.on_gpu)
        row |= facts | {"list_by_limit": float(f"{layered.nbytes / limit:.4g}")}
        yield row | {"check": compare_frames(answer, call(algorithm, graph, root)) or "ok"}


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    options, kind = session.options, session.kind
    session.start["seed"] = SEED
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        measures: dict[str, Callable[[Workload], Iterator[Record]]] = {
            "build": partial(measure_builds, session=session, folder=folder),
            "streamed": partial(measure_streamed, session=session, folder=folder),
        }
        if session.on_gpu:
            measures["flag"] = partial(wolfpath.measure_flags, session=session)
        for task in session.tasks(measures, "large"):
            if task == "large":
                yield task, partial(measure_large, LARGE[kind], session, folder)
                continue
            for name in ("rmat9", "grid8"):  # compiles
                compile_all = partial(measures[task], load(name, session.xp))
                harness.try_call({}, lambda: list(compile_all()))  # noqa: B023
            names = options.graphs or (STREAMED if task == "streamed" else GRAPHS)[kind]
            for workload in session.graphs(names):
                yield f"{workload.name}, {task}", partial(measures[task], workload)


SUITE = Suite("layers", measurements, wolfpath.summarize)
