"""Time layered edge lists in memory: builds and iterations."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import layered_streaming, timing, wolfpath
from pipelines.benchmarks.answers import compare_results, to_host
from pipelines.benchmarks.graphs import Workload, with_weights
from pipelines.benchmarks.harness import Effort, Session, Step
from pipelines.benchmarks.layered_streaming import open_store
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.timing import Clock
from rapidsgraph import device
from rapidsgraph.dispatch import storage_of
from rapidsgraph.graph.local_graph import build_graph
from rapidsgraph.layered import algorithms as layered_algorithms
from rapidsgraph.layered.outofcore.file_array import MIN_WORK_BYTES, OVERHEAD_BYTES, VERTEX_BYTES

MAX_WEIGHTED_ROWS = 2**24  # of a weighted file that is built out of core, too
NUM_FLAG_COPIES = 200  # whose time is averaged


@contextmanager
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


def flag_copy_us(clock: Clock) -> float:
    """Return the microseconds of a kernel and of copying its result to the host."""
    flag = clock.xp.zeros(1, np.int32)

    def copy_flags() -> None:
        for _ in range(NUM_FLAG_COPIES):
            flag.fill(1)
            flag.get()

    return min(clock.ms(copy_flags) for _ in range(3)) / NUM_FLAG_COPIES * 1e3


def measure_iterations(
    workload: Workload, session: Session, effort: Effort, step: Step
) -> Iterator[Record]:
    """Yield records of the iterations of BFS and SSSP, and the time of a flag per layer."""
    clock, start = session.clock, workload.start
    for algorithm in ("bfs", "sssp"):
        step(f"{workload.name}: iterations, {algorithm}")
        variant = with_weights(workload, session.data) if algorithm == "sssp" else workload
        graph = variant.build()
        layered = rg.LayeredEdgeList.build(graph, start)
        row = {
            "table": "iterations", "who": "here", "graph": workload.name, "algorithm": algorithm,
            "edges": layered.num_edges, "layers": layered.depth + 1,
            "combined": len(layered.combined["edges"]),
        }  # fmt: skip
        call = layered_streaming.CALLS[algorithm]
        reference = layered_streaming.verified_results(graph, start, [algorithm])[algorithm]
        run = partial(call, layered)
        with record_launches() as launches:
            answer = run()
        row |= {"launches": len(launches), "passes": layered.last_run.passes}
        row["check"] = compare_results(answer, reference, session.xp) or "ok"
        del answer, reference
        if algorithm == "sssp":
            result = layered_algorithms.run_sssp(
                storage_of(layered), float("inf"), True, None, False
            )
            row["sweep_rounds"] = int(result.num_rounds)
        if row["check"] == "ok":
            jobs = {
                "run_ms": partial(clock.ms, run),
                "graph_run_ms": partial(clock.ms, partial(call, graph, start)),
            }
            times = timing.rounds(jobs, effort.rounds, effort.build_budget, clock)
            row |= {name: timing.summary(values) for name, values in times.items()}
        if session.xp is not np:
            elapsed = flag_copy_us(clock)
            row |= {
                "flag_us": wolfpath.rounded(elapsed),
                "flag_ms": wolfpath.rounded(elapsed * row["layers"] / 1e3),
            }
        yield row


def measure_builds(
    workload: Workload, session: Session, effort: Effort, folder: Path | None, step: Step
) -> Iterator[Record]:
    """Yield records of a build in memory, of save and open, and of builds from a file."""
    for weighted in (False, True):
        variant = with_weights(workload, session.data) if weighted else workload
        step(f"{workload.name}: building{', weights' * weighted}")
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            yield measure_build(variant, workload.start, session, effort, Path(temporary))


def measure_build(
    workload: Workload, root: int, session: Session, effort: Effort, folder: Path
) -> Record:
    """Return the record of builds with or without weights; all must give the same layers."""
    clock, xp, weighted = session.clock, session.xp, workload.weight is not None
    graph = workload.build()
    build = partial(rg.LayeredEdgeList.build, graph, root)
    layered, store = build(), folder / "store"
    row: Record = {
        "table": "layered build", "graph": workload.name, "weighted": weighted,
        "vertices": layered.num_vertices, "edges": layered.num_edges, "layers": layered.depth + 1,
        "partitions": len(storage_of(layered).table),
    } | space_per_edge(layered)  # fmt: skip
    row["graph_ms"] = timing.summary(clock.repeated(workload.build, 3, effort.run_budget))
    row["build_ms"] = timing.summary(clock.repeated(build, effort.rounds, effort.build_budget))
    save = partial(layered.save, store)
    row["save_ms"] = timing.summary(clock.repeated(save, 3, effort.build_budget))
    open_again = partial(open_store, store, xp)
    open_times = clock.repeated(open_again, effort.rounds, effort.run_budget)
    row["open_ms"] = timing.summary(open_times)
    stores = [store]
    path = folder / "edges.parquet"
    write_edges(workload, path)
    columns = {"weight": "weight" if weighted else None}
    options = {"directed": workload.directed, "multi_edges": workload.multi_edges}
    if not weighted or workload.rows <= MAX_WEIGHTED_ROWS:
        limit = OVERHEAD_BYTES + MIN_WORK_BYTES + VERTEX_BYTES * workload.vertices
        limit += path.stat().st_size // 4
        build_out_of_core = partial(
            rg.LayeredEdgeList.build, path, root, store=folder / "external", device="cpu",
            memory_limit=limit, **columns, **options,
        )  # fmt: skip
        row["limit_bytes"] = limit
        times = clock.repeated(build_out_of_core, 2, effort.build_budget)
        row["external_ms"] = timing.summary(times)
        stores.append(folder / "external")
    if xp is np or not device.frame_library_problem():

        def build_from_file() -> None:
            frame = rg.read_edges(path, **columns, device="cpu" if xp is np else "gpu")
            graph = build_graph(frame, **columns, **options)
            rg.LayeredEdgeList.build(graph, root).save(folder / "whole")

        times = clock.repeated(build_from_file, 2, effort.build_budget)
        row["whole_ms"] = timing.summary(times)
        stores.append(folder / "whole")
    problems = (compare_layers(open_store(path, xp), layered) for path in stores)
    problem = next((problem for problem in problems if problem), None)
    row["check"] = problem or "ok"
    if problem:
        row = {name: value for name, value in row.items() if not name.endswith("_ms")}
    return row


def space_per_edge(layered: rg.LayeredEdgeList) -> dict[str, float]:
    """Return bytes per edge of CSR, of the list and, according to the paper, of CuSha.

    Weights count as they are stored.
    """
    edges, vertices = max(layered.num_edges, 1), layered.num_vertices
    weight = (
        0
        if storage_of(layered).weight_dtype is None
        else np.dtype(storage_of(layered).weight_dtype).itemsize
    )
    csr = (4 + weight) * layered.num_edges + 8 * (vertices + 1)
    arrays = (
        storage_of(layered).table,
        storage_of(layered).layer_starts,
        storage_of(layered).layer_edges,
    )
    own = layered.nbytes + 4 * vertices + sum(array.nbytes for array in arrays)
    return {
        "csr_per_edge": wolfpath.rounded(csr / edges),
        "layered_per_edge": wolfpath.rounded(own / edges),
        "cusha_per_edge": wolfpath.rounded(wolfpath.CUSHA_SPACE * csr / edges),
        "by_csr": wolfpath.rounded(own / csr),
        "cusha_by_csr": wolfpath.CUSHA_SPACE,
    }


def compare_layers(layered: rg.LayeredEdgeList, reference: rg.LayeredEdgeList) -> str | None:
    """Return how the layers of two lists differ, or None.

    A file has no vertices without edges, and these are in no layer.
    """
    if layered.num_edges != reference.num_edges:
        return f"wrong: {layered.num_edges} edges of {reference.num_edges}"
    if not np.array_equal(storage_of(layered).layer_edges, storage_of(reference).layer_edges):
        return "wrong: edges of the layers"
    if not np.array_equal(storage_of(layered).layer_starts, storage_of(reference).layer_starts):
        return "wrong: vertices of the layers"
    return None


def write_edges(workload: Workload, path: Path) -> None:
    """Write the rows of a workload as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    columns = {"source": workload.source, "destination": workload.destination}
    if workload.weight is not None:
        columns["weight"] = workload.weight
    table = pyarrow.table({name: to_host(values) for name, values in columns.items()})
    pyarrow.parquet.write_table(table, path, compression="none", use_dictionary=False)
