"""Time structural similarity and SCAN, ours and peers', and GPUSCAN's tables.

    python pipelines/benchmarks/scan.py [--device auto|cpu|gpu] [--graphs rmat16u,NY]
                                        [--only similarity,scan,queries,papers]
                                        [--quick] [--output FILE] [--data FOLDER]

A run starts on a ready graph that has cached nothing but its lists, and ends with the result.
Answers are checked in the same run: rapidsgraph.verify passes our clusters, or the serial loop
where that would take long, and an adapter with other clusters gets no time. README.md in this
folder explains the columns.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import rapidsgraph as rg
from pipelines.benchmarks import gpuscan, harness, roofline, timing
from pipelines.benchmarks.adapters import registry
from pipelines.benchmarks.adapters.interface import ScanAdapter, select_supported
from pipelines.benchmarks.adapters.rapidsgraph import LIBRARY, scan_adapters, similarity_adapters
from pipelines.benchmarks.answers import is_same_clustering
from pipelines.benchmarks.graphs import FILES, SEED, Workload, load
from pipelines.benchmarks.harness import Effort, GraphSets, Session, Step, ignore_step
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.scan_reference import EPSILON, MU, ScanCase
from pipelines.benchmarks.timing import Clock, Summary

TASKS = ("similarity", "scan", "queries", "papers")
GRAPHS = GraphSets(
    cpu=("rmat16u", "grid1000", *FILES),
    gpu=("rmat22u", "grid1400", "NY", "cnr-2000", "ego-Facebook"),
    quick=("rmat8u", "grid16"),
)
SERIES_STEP = 3  # with --few
EPSILONS = tuple(tenths / 10 for tenths in range(2, 10))
MUS = tuple(range(2, 11))
QUICK_EPSILONS, QUICK_MUS = (0.2, 0.5, 0.9), (2, 5)

Rows = dict[ScanAdapter, Record]
Times = dict[ScanAdapter, list[float]]


def measure(
    case: ScanCase,
    adapters: Sequence[ScanAdapter],
    effort: Effort,
    clock: Clock,
    table: str,
    step: Step = ignore_step,
) -> tuple[Rows, Times]:
    """Return the records and times of adapters on one graph; correct ones take turns.

    A run of more than ``3 * effort.build_budget`` seconds is not repeated: the checked run counts.
    """
    rows: Rows = {}
    times: Times = {}
    jobs: dict[ScanAdapter, Callable[[], float]] = {}
    for adapter in adapters:
        step(f"{case.name}: {adapter}")
        row = {"table": table, "graph": case.name} | case.facts() | adapter.about()
        rows[adapter] = row
        first = harness.try_call(row, partial(run_and_check, adapter, case, row, clock))
        if first is not None:
            times[adapter] = [first]
            if first <= 3e3 * effort.build_budget:
                jobs[adapter] = lambda adapter=adapter: clock.ms(adapter.prepare(case))  # type: ignore[misc]
    step(f"{case.name}: taking turns")
    times |= timing.rounds(jobs, effort.rounds, effort.build_budget, clock)
    for adapter, own_times in times.items():
        rows[adapter]["run_ms"] = timing.summary(own_times)
        if adapter.library == LIBRARY:
            rows[adapter] |= timing.roofline_ms(clock, roofline.SCANS[adapter.task](case))
    return rows, times


def run_and_check(adapter: ScanAdapter, case: ScanCase, row: Record, clock: Clock) -> float | None:
    """Return the milliseconds of a run whose answer was checked, or None if it is wrong."""
    elapsed, answer = clock.timed(adapter.prepare(case))
    problem = adapter.check(case, answer)
    row["check"] = problem or "ok"
    return None if problem else elapsed


def measure_similarities(
    case: ScanCase,
    adapters: Sequence[ScanAdapter],
    effort: Effort,
    clock: Clock,
    step: Step = ignore_step,
) -> list[Record]:
    """Return records of similarities and counts; ratios are to our `auto` of the same task."""
    rows, times = measure(case, adapters, effort, clock, "similarity", step)
    own = {
        adapter.task: own_times
        for adapter, own_times in times.items()
        if adapter.library == LIBRARY and adapter.implementation == "auto"
    }
    for adapter, own_times in times.items():
        rows[adapter]["ratio"] = timing.paired_ratio(own_times, own.get(adapter.task, []))
    return list(rows.values())


def measure_scan(
    case: ScanCase, session: Session, effort: Effort, step: Step = ignore_step
) -> list[Record]:
    """Return records of SCAN with and without similarities, with the speedup over serial."""
    all_rows: list[Record] = []
    _, facts, verifier = case.clustering
    for adapters in scan_adapters():
        selected = select_supported(session.select_libraries(adapters), case, session.notes)
        rows, times = measure(case, selected, effort, session.clock, "scan", step)
        by_library = {adapter.library: own_times for adapter, own_times in times.items()}
        for adapter, own_times in times.items():
            rows[adapter] |= facts | {"verified": verifier}
            if adapter.library == LIBRARY:
                serial = by_library.get("serial", [])
                rows[adapter]["speedup"] = timing.paired_ratio(serial, own_times)
        all_rows += rows.values()
    return all_rows


def measure_queries(
    case: ScanCase,
    epsilons: Iterable[float],
    mus: Iterable[int],
    effort: Effort,
    clock: Clock,
) -> Record:
    """Return the record of an index: build, size, and queries for every pair of parameters.

    Each answer must be that of scan with the same parameters, which is timed, too.
    """
    pairs = list(product(epsilons, mus))
    row: Record = {"table": "queries", "graph": case.name} | case.facts()
    budget = effort.run_budget
    build = clock.repeated(lambda: rg.ScanIndex(case.clear_graph_cache()), effort.rounds, budget)
    index = rg.ScanIndex(case.graph)
    sort = clock.repeated(lambda: rg.ScanIndex(case.graph), effort.rounds, budget)
    row |= {
        "build_ms": timing.summary(build),
        "sort_ms": timing.summary(sort),
        "bytes_per_edge": round(index.nbytes / max(case.num_edges, 1), 1),
        "pairs": len(pairs),
    }
    medians: dict[tuple[float, int], float] = {}
    ratios, scan_times = [], []
    for epsilon, mu in pairs:
        query = partial(index.query, epsilon, mu)
        elapsed, answer = clock.timed(partial(rg.scan, case.graph, epsilon=epsilon, mu=mu))
        if not is_same_clustering(query(), answer):
            row["check"] = f"wrong: differs from scan for epsilon {epsilon}, mu {mu}"
            return row
        del answer
        query_times = clock.repeated(query, 3, effort.build_budget / 10)
        medians[epsilon, mu] = statistics.median(query_times)
        scan_times.append(elapsed)
        ratios.append(elapsed / medians[epsilon, mu])
    slowest = max(medians, key=lambda pair: medians[pair])
    return row | {
        "query_ms": timing.summary(list(medians.values())),
        "slowest_ms": float(f"{medians[slowest]:.4g}"),
        "slowest": f"epsilon {slowest[0]}, mu {slowest[1]}",
        "direct_ms": timing.summary(scan_times),
        "saves": float(f"{statistics.median(ratios):.3g}"),
        "check": "ok",
    }


def measure_paper_tables(
    session: Session, entries: Iterable[gpuscan.Entry], effort: Effort, step: Step = ignore_step
) -> None:
    """Add GPUSCAN's tables 1 to 5 and the verdicts on its claims to the session."""
    all_rows: list[Record] = []
    for entry in entries:
        failure: Record = {}
        run = partial(measure_entry, entry, session, effort, step)
        rows = harness.try_call(failure, run) or []
        if failure:
            session.notes.append(f"{entry.graph}, GPUSCAN's tables: {failure['check']}")
        all_rows += rows
        session.rows += rows
        session.save()
    if not session.on_gpu:
        session.notes.append("GPUSCAN's table 5: left out, on a CPU nothing is transferred")
    where = "a GPU" if session.on_gpu else f"{timing.cores()} cores of a CPU"
    session.rows += gpuscan.claims(all_rows, where)


def measure_entry(
    entry: gpuscan.Entry, session: Session, effort: Effort, step: Step
) -> list[Record]:
    """Return the records of one of the paper's graphs."""
    workload = next(session.graphs([entry.graph]), None)
    if workload is None:
        return []
    case = ScanCase(workload)
    rows = measure_scan(case, session, effort, step)
    for row in rows:
        row |= {"table": "papers"} | entry.about(row["gives"], case)
    if entry.size is None and (transfers := time_transfers(workload, session.clock)):
        rows.append(gpuscan.transfer_record(entry.graph, transfers, rows))
    return rows


def time_transfers(workload: Workload, clock: Clock) -> dict[str, Summary]:
    """Time copying columns to the device, and clusters and roles back."""
    columns = workload.source, workload.destination
    return timing.transfers(clock, columns, workload.vertices, "int32", "int8")


def measure_task(
    task: str,
    case: ScanCase,
    adapters: Sequence[ScanAdapter],
    parameters: tuple[Sequence[float], Sequence[int]],
    effort: Effort,
    session: Session,
    step: Step,
) -> list[Record]:
    """Return the records of one task on one graph."""
    if task == "queries":
        return [measure_queries(case, *parameters, effort, session.clock)]
    if task == "scan":
        return measure_scan(case, session, effort, step)
    supported = select_supported(adapters, case, session.notes)
    return measure_similarities(case, supported, effort, session.clock, step)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--only`` and ``--few``."""
    harness.add_only_option(TASKS)(parser)
    parser.add_argument("--few", action="store_true", help="every third graph of GPUSCAN's series")


def warm_up(session: Session, adapters: Iterable[ScanAdapter]) -> None:
    """Compile kernels before measurements."""
    tiny = [ScanCase(load(name, session.xp)) for name in ("rmat9u", "grid8")]
    everything = [*adapters, *(adapter for group in scan_adapters() for adapter in group)]
    harness.warm_up(tiny, everything, lambda adapter, case: adapter.prepare(case)())
    for case in tiny:
        measure_queries(case, QUICK_EPSILONS, QUICK_MUS, harness.QUICK, session.clock)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    description = "Time structural similarity and SCAN, ours and peers'."
    options = harness.parse_options(description, arguments, GRAPHS, add_options)
    entries = gpuscan.entries(options.quick, SERIES_STEP if options.few else 1)
    session = Session("scan", options, seed=SEED, epsilon=EPSILON, mu=MU)
    budget = options.effort.build_budget / 3
    effort = dataclasses.replace(options.effort, build_budget=budget)
    parameters: Any = (QUICK_EPSILONS, QUICK_MUS) if options.quick else (EPSILONS, MUS)
    available = [*similarity_adapters(), *session.peers(registry.scan_peers)]
    adapters = session.select_libraries(available)
    num_steps = len(options.names) * 20 + len(entries) * 8 + 1
    names = options.names if set(options.only) - {"papers"} else ()
    with harness.progress("SCAN", num_steps) as step:
        step("warming up")
        warm_up(session, adapters)
        session.measure_copy_rate(effort)
        for workload in session.graphs(names):
            case = ScanCase(workload)
            facts = workload.facts() | {"edges": case.num_edges}
            facts |= time_transfers(workload, session.clock)
            session.rows.append({"table": "graph"} | facts)
            for task in (task for task in TASKS[:-1] if task in options.only):
                step(f"{case.name}: {task}")
                failure: Record = {}
                run = partial(measure_task, task, case, adapters, parameters, effort, session, step)
                session.rows += harness.try_call(failure, run) or []
                if failure:  # also a wrong reference
                    session.notes.append(f"{case.name}, {task}: {failure['check']}")
            session.save()
        if "papers" in options.only:
            rounds = min(3, effort.rounds)
            short = dataclasses.replace(effort, rounds=rounds, build_budget=budget / 3)
            measure_paper_tables(session, entries, short, step)
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
