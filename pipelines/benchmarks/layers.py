"""Layered edge lists: builds, streamed from a store, and larger than memory; WolfPath's claims.

`build` times builds from a Graph and from a file, `streamed` stores within a limit of the vertices
and a tenth of the list, beside lists in memory, and `flag` on a GPU BFS with a flag per layer
(wolfpath.py). `large`, if it is named, has a file that exceeds the memory limit 20 times, on a CPU
in processes that may allocate 1 GiB.
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
from pipelines.benchmarks import comparisons, memory, timing, wolfpath
from pipelines.benchmarks.adapters import Entry, Library
from pipelines.benchmarks.adapters.rapidsgraph import CALLS
from pipelines.benchmarks.graphs import Workload, load
from pipelines.benchmarks.harness import Measure, Session, Suite
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import TASKS, Task, pagerank_reference
from pipelines.benchmarks.wolfpath import FROM_FILES, NO_OVERLAP, STREAMED
from rapidsgraph import device
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES
from rapidsgraph.graph.build import build_graph
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import streaming
from rapidsgraph.layered.outofcore.file_array import OVERHEAD_BYTES
from rapidsgraph.layered.packing import PARTITION_BYTES

GRAPHS = {"cpu": ("rmat18", "NY"), "gpu": ("rmat22", "grid1400")}
STREAMED_GRAPHS = ("uniform21-128", "rmat24")  # on a GPU
LARGE = {"cpu": "rmat22-128", "gpu": "uniform20-1024", "quick": "uniform9-64"}
# Streams with one host thread and one device buffer, so that copies overlap nothing.
ONE_BUFFER = mock.patch.multiple(streaming, MAX_COPY_THREADS=1, NUM_DEVICE_BUFFERS=1)
LIMIT_RATIO, LARGE_RATIO, MIN_PARTITIONS = 10, 20, 32
PROCESS_BYTES, ARRAY_BYTES = 2**30, 600_000_000  # limits of `large`; code takes the rest
OPTIONS: dict[str, dict[str, Any]] = {"bfs": {}, "sssp": {}, "pagerank": {"max_iterations": 10}}


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


def built_list(case: Workload) -> rg.LayeredEdgeList:
    return rg.LayeredEdgeList.build(case.graph, case.start)


def build_reference(case: Workload) -> tuple[int, Record]:
    """Return the number of edges of a list, and its size beside that of a CSR matrix."""
    layered, csr = built_list(case), case.graph.csr
    list_bytes = layered.nbytes + 4 * layered.num_vertices + storage_of(layered).table.nbytes
    csr_bytes = csr.offsets.nbytes + csr.neighbors.nbytes + csr.weights.nbytes
    facts = {"edges": layered.num_edges, "layers": layered.depth + 1}
    return layered.num_edges, facts | {"by_csr": float(f"{list_bytes / csr_bytes:.4g}")}


def build_task(is_weighted: bool, folder: Path) -> Task:
    """Return the task that builds a list from a Graph and from files, saves and opens it."""
    library, name = Library("rapidsgraph"), "layered build" + ", weighted" * is_weighted

    def save(layered: rg.LayeredEdgeList, case: Workload) -> rg.LayeredEdgeList:
        layered.save(folder / "saved")
        return layered

    def build_from_files(path: Path, case: Workload) -> rg.LayeredEdgeList:
        where = "cpu" if case.xp is np else "gpu"
        edges = rg.read_edges(path, weight=case.options["weight"], device=where)
        layered = rg.LayeredEdgeList.build(build_graph(edges, **case.options), case.start)
        return save(layered, case)

    for implementation, run, graph, skip in (
        ("from a Graph", lambda _, case: built_list(case), built_list, None),
        ("save", save, built_list, None),
        ("open", lambda _, case: open_store(folder / "saved", case.xp), built_list, None),
        (FROM_FILES, build_from_files, lambda case: case.write(folder / name)[0].parent,
         lambda case: None if case.xp is np else device.frame_library_problem()),
    ):  # fmt: skip
        library.add(name, implementation, run, graph, lambda layered, case: layered.num_edges,
                    skip=skip or Entry.skip)  # fmt: skip
    return Task(
        name, "layers", build_reference,
        lambda answer, reference, _: None if answer == reference else f"wrong: {answer} edges",
        GRAPHS["cpu"], GRAPHS["gpu"], is_weighted=is_weighted, entries=library.entries,
    )  # fmt: skip


def run_list(
    layered: rg.LayeredEdgeList, case: Workload, algorithm: str, implementation: str
) -> Any:
    """Run an algorithm on a list, within a limit unless it is in memory."""
    limit = memory_limit(layered, algorithm) if implementation != "in memory" else None
    with ONE_BUFFER if implementation == NO_OVERLAP else contextlib.nullcontext():
        return CALLS[algorithm](layered, memory_limit=limit, **OPTIONS[algorithm])


def list_facts(layered: rg.LayeredEdgeList, algorithm: str, is_limited: bool) -> Record:
    """Return the size of a list, and with a limit, this and what the last run has read."""
    facts = {"algorithm": algorithm, "edges": layered.num_edges, "layers": layered.depth + 1,
             "list_bytes": layered.nbytes}  # fmt: skip
    if is_limited:
        facts |= {"limit_bytes": memory_limit(layered, algorithm)} | read_facts(layered)
    return facts


def read_facts(layered: rg.LayeredEdgeList) -> Record:
    return {"passes": layered.last_run.passes, "bytes": layered.last_run.nbytes}


def streamed_task(algorithm: str, folder: Path, on_gpu: bool) -> Task:
    """Return the task that runs an algorithm on lists in memory and in stores in a folder."""
    call, library, task = CALLS[algorithm], Library("rapidsgraph"), TASKS[algorithm]

    def in_memory(case: Workload) -> rg.LayeredEdgeList:
        return build_in_partitions(case.graph, case.start)

    def in_store(case: Workload) -> rg.LayeredEdgeList:
        case.shared(in_memory).save(folder / algorithm)
        return open_store(folder / algorithm, case.xp)

    for name in ("in memory", STREAMED, *([NO_OVERLAP] * on_gpu)):
        library.add(
            f"streamed {algorithm}", name,
            partial(run_list, algorithm=algorithm, implementation=name),
            in_memory if name == "in memory" else in_store,
            lambda answer, case: call.values(answer, case.xp),
            facts=partial(list_facts, algorithm=algorithm, is_limited=name != "in memory"),
        )  # fmt: skip
    reference = pagerank_reference(10) if algorithm == "pagerank" else task.reference
    return replace(
        task, name=f"streamed {algorithm}", time="run_ms", reference=reference,
        entries=library.entries, cpu=GRAPHS["cpu"], gpu=STREAMED_GRAPHS,
    )  # fmt: skip


# Larger than memory


def build_store(path: Path, root: int, store: Path) -> Record:
    """Build out of core, with parallel edges so that rows can be counted; return the time."""
    options: dict[str, Any] = {"store": store, "weight": None, "multi_edges": "keep"}
    limit = ARRAY_BYTES + OVERHEAD_BYTES
    elapsed, _ = timing.Clock().timed(
        partial(rg.LayeredEdgeList.build, path, root, device="cpu", memory_limit=limit, **options)
    )
    return {"run_ms": timing.summary([elapsed])}


def run_store(algorithm: str, store: Path, limit: int, on_gpu: bool) -> tuple[Record, Any]:
    """Run an algorithm on a store within a limit; return figures and the values."""
    xp = device.import_cupy() if on_gpu else np
    call, layered = CALLS[algorithm], open_store(store, xp)
    run = partial(call, layered, memory_limit=limit, **OPTIONS[algorithm])
    if on_gpu:
        run()  # fills the page cache, checks sums
    elapsed, answer = timing.Clock(xp).timed(run)
    facts = {"run_ms": timing.summary([elapsed])} | read_facts(layered)
    facts["gb_per_s"] = float(f"{facts['bytes'] / elapsed / 1e6:.4g}")
    if not on_gpu and memory.STATUS.exists():
        facts["resident_bytes"] = memory.resident_bytes("VmHWM")
    return facts, call.values(answer)


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
    for algorithm, roots in (("bfs", (root,)), ("pagerank", ())):
        limit = memory_limit(layered, algorithm, LARGE_RATIO) if session.on_gpu else ARRAY_BYTES
        facts, values = run(run_store, algorithm, store, limit, session.on_gpu)
        row = about | {"algorithm": algorithm, "limit_bytes": limit} | facts
        row["list_by_limit"] = float(f"{layered.nbytes / limit:.4g}")
        call = CALLS[algorithm]
        reference = call.values(call(graph, *roots, **OPTIONS[algorithm]))
        yield row | {"check": TASKS[algorithm].compare(values, reference, "double") or "ok"}


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    flag = replace(TASKS["bfs"], name="flag", entries=wolfpath.library.entries, gpu=GRAPHS["gpu"])
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tasks = {
            "build": [build_task(is_weighted, folder) for is_weighted in (False, True)],
            "streamed": [streamed_task(name, folder, session.on_gpu) for name in OPTIONS],
        } | ({"flag": [flag]} if session.on_gpu else {})
        names = session.tasks(tasks, "large")
        if compared := [task for name in names for task in tasks.get(name, ())]:
            yield from comparisons.compare_libraries(compared, session)
        if "flag" in names:
            yield "flag copy", partial(wolfpath.measure_flag_copy, session)
        if "large" in names:
            measure = partial(measure_large, LARGE[session.kind], session, folder)
            yield "large", measure


SUITE = Suite("layers", measurements, wolfpath.summarize, options={"full": True})
