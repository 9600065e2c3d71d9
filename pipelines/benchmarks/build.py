"""Time graph builds and measure their peak memory, ours and peers'.

    python pipelines/benchmarks/build.py [--device auto|cpu|gpu] [--graphs rmat18,NY]
                                         [--quick] [--output FILE] [--data FOLDER]

Every graph is built from its rows in order, shuffled, with gaps between ids, with weights, and
undirected. Builders take turns; a builder whose graph is wrong gets no time. README.md in this
folder explains the columns.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import harness, peak_memory, roofline, timing
from pipelines.benchmarks.adapters import registry
from pipelines.benchmarks.adapters.interface import BuildAdapter
from pipelines.benchmarks.adapters.rapidsgraph import LIBRARY, build_adapters
from pipelines.benchmarks.graphs import (
    BUILD_CASES,
    SEED,
    BuildCase,
    Workload,
    load,
    make_build_case,
)
from pipelines.benchmarks.harness import Effort, GraphSets, Step, ignore_step
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.timing import Clock

GRAPHS = GraphSets(cpu=("rmat18", "NY"), gpu=("rmat22", "grid1400"), quick=("rmat8",))
MEMORY_EDGE_FACTOR = 20  # of the CPU's memory graph: rmat18 then has more than 4 million rows
PEERS_MEMORY_CASE = "shuffled"  # peers' only case: each takes a process, and seconds


def measure(
    workload: Workload,
    builders: Sequence[BuildAdapter],
    effort: Effort,
    clock: Clock,
    step: Step = ignore_step,
) -> list[Record]:
    """Return the records of one graph: every case by every builder that takes it."""
    rows = []
    for name in BUILD_CASES:
        step(f"{workload.name}: {name}")
        rows += measure_case(make_build_case(workload, name), builders, effort, clock)
    return rows


def measure_case(
    case: BuildCase, builders: Sequence[BuildAdapter], effort: Effort, clock: Clock
) -> list[Record]:
    """Return the records of one case: correct builders take turns."""
    _ = case.frame
    rows: dict[BuildAdapter, Record] = {}
    jobs: dict[BuildAdapter, Callable[[], float]] = {}
    for builder in builders:
        if case.case not in builder.cases:
            continue
        row = rows[builder] = {"table": "build"} | about(builder, case)
        problem = harness.try_call(row, lambda: builder.check(case, builder.build(case)))  # noqa: B023
        if row.setdefault("check", problem or "ok") == "ok":
            jobs[builder] = partial(clock.ms, partial(builder.build, case))
    times = timing.rounds(jobs, effort.rounds, effort.build_budget, clock)
    own = {builder.by: builder for builder in rows if builder.library == LIBRARY}
    for builder, row in rows.items():
        if builder in times:
            row["build_ms"] = timing.summary(times[builder])
            ours = own.get(builder.by, own.get("source"))
            own_times = times.get(ours, []) if ours else []
            row["ratio"] = timing.paired_ratio(times[builder], own_times)
            if builder.library == LIBRARY:
                row |= timing.roofline_ms(clock, roofline.build_bytes(case))
    return list(rows.values())


def about(builder: BuildAdapter, case: BuildCase) -> Record:
    """Return the columns of a record that describe a builder and a case."""
    return {
        "graph": case.name,
        "case": case.case,
        "library": builder.library,
        "implementation": builder.implementation,
        "note": builder.note,
    }


def measure_cpu_memory(
    builders: Iterable[BuildAdapter],
    scale: int,
    cases: Iterable[str],
    notes: list[str],
    step: Step,
) -> list[Record]:
    """Return records of peak memory, each from a process of its own."""
    if platform.system() != "Linux":
        notes.append("peak memory is left out: it is read from /proc, which only Linux has")
        return []
    name, rows, builders = f"rmat{scale}", [], list(builders)
    for case in cases:
        for builder in builders:
            is_ours = builder.library == LIBRARY
            if case not in builder.cases or not (is_ours or case == PEERS_MEMORY_CASE):
                continue
            step(f"memory: {case}, {builder}")
            figures = peak_memory.measure_build(name, MEMORY_EDGE_FACTOR, case, builder)
            row: Record = {
                "table": "memory",
                "graph": f"{name}, edge factor {MEMORY_EDGE_FACTOR}",
                "case": case,
                "library": builder.library,
                "implementation": builder.implementation,
                "note": figures.get("failed", builder.note),
            }
            rows.append(row if "failed" in figures else row | per_row(builder, **figures))
    return rows


def per_row(
    builder: BuildAdapter, peak_bytes: int, rows: int, vertices: int, estimate: int
) -> dict[str, Any]:
    """Return bytes per row of the frame; of ours also the library's own estimate."""
    figures = {
        "rows": rows,
        "vertices": vertices,
        "peak_bytes": peak_bytes,
        "bytes_per_row": round(peak_bytes / rows, 2),
    }
    if builder.library == LIBRARY:
        figures["estimate_per_row"] = round(estimate / rows, 2)
    return figures


def measure_gpu_memory(
    workload: Workload, builders: Sequence[BuildAdapter], clock: Clock, allocator: str | None
) -> list[Record]:
    """Return records of peak device memory."""
    rows = []
    for name in BUILD_CASES:
        case = make_build_case(workload, name)
        _ = case.frame
        for builder in builders:
            if name not in builder.cases:
                continue
            if builder.library == "cuGraph" and allocator != peak_memory.RMM_POOL:
                continue  # only RMM's statistics see its memory
            row = {"table": "memory"} | about(builder, case)
            try:
                build = partial(builder.build, case)
                peak_bytes = peak_memory.measure_device_peak(clock, build, allocator)
                estimate = case.estimate_build()
                row |= per_row(builder, peak_bytes, int(case.rows), case.vertices, estimate)
            except Exception as error:  # one library's failure must not end the run
                row["note"] = harness.describe_failure(error)
            rows.append(row)
    return rows


def build_if_supported(builder: BuildAdapter, case: BuildCase) -> None:
    """Build a case that the builder takes."""
    if case.case in builder.cases:
        builder.build(case)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    description = "Time graph builds, ours and peers'."
    options = harness.parse_options(description, arguments, GRAPHS)
    session = harness.Session("build", options, seed=SEED)
    effort, clock, xp = options.effort, session.clock, session.xp
    available = [*build_adapters(), *session.peers(registry.build_peers)]
    builders = session.select_libraries(available)
    num_steps = (len(options.names) + 4) * len(BUILD_CASES) + 1
    with harness.progress("Builds", num_steps) as step:
        step("warming up")
        tiny = [make_build_case(load("rmat6", xp), name) for name in BUILD_CASES]
        harness.warm_up(tiny, builders, build_if_supported)
        session.measure_copy_rate(effort)
        for workload in session.graphs(options.names):
            rows = measure(workload, builders, effort, clock, step)
            columns = workload.source, workload.destination
            transfers = timing.transfers(clock, columns, 0)
            transfers.pop("download_ms", None)  # a graph stays where it was built
            session.rows += [{"table": "graph"} | workload.facts() | transfers, *rows]
            if options.on_gpu:
                session.rows += measure_gpu_memory(workload, builders, clock, session.allocator)
            session.save()
        if not options.on_gpu:
            cases = ("shuffled",) if options.quick else BUILD_CASES
            without_igraph = [builder for builder in builders if builder.library != "igraph"]
            selected = builders[:1] if options.quick else without_igraph
            session.rows += measure_cpu_memory(
                selected, effort.memory_scale, cases, session.notes, step
            )
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
