"""Structural similarity and SCAN: time of a run, beside other libraries and GPUSCAN's own tables.

    python pipelines/benchmarks/scan.py [--device auto|cpu|gpu] [--graphs rmat16u,NY]
                                        [--only similarity,scan,queries,papers]
                                        [--quick] [--output FILE] [--data FOLDER]

A run starts on a ready graph, of which nothing is kept but its lists, and ends with the result.
Answers are checked in the same run: rapidsgraph.verify passes our clusters, or where that would
take long a serial loop does, and whoever finds others gets no time. README.md beside this file
says what the columns mean.
"""

import dataclasses
import statistics
import sys
from functools import partial
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import rapidsgraph as rg
from pipelines.benchmarks import command, floors, gpuscan, timing
from pipelines.benchmarks.cases import EPSILON, MU, Case, same
from pipelines.benchmarks.clusterers import Ours, cpu_peers, ours, racers
from pipelines.benchmarks.contenders import taking
from pipelines.benchmarks.workloads import FILES, SEED, load

TASKS = ("similarity", "scan", "queries", "papers")
CPU_GRAPHS = ("rmat16u", "grid1000", *FILES)
GPU_GRAPHS = ("rmat22u", "grid1400", "NY", "cnr-2000", "ego-Facebook")
QUICK_GRAPHS = ("rmat8u", "grid16")
THIRD = 3
EPSILONS = tuple(tenths / 10 for tenths in range(2, 10))
MUS = tuple(range(2, 11))
FEW_EPSILONS, FEW_MUS = (0.2, 0.5, 0.9), (2, 5)


def measure(case, contenders, effort, clock, table, step=lambda text: None):
    """Records of contenders on one graph: all are checked, then those that passed take turns.

    A run of more than 3 `effort.build` seconds is not repeated: the one that was checked counts.
    """
    found, times, jobs = {}, {}, {}
    for one in contenders:
        step(f"{case.name}: {one}")
        row = {"table": table, "graph": case.name} | case.facts() | one.about()
        found[one] = row
        first = command.attempted(row, partial(checked, one, case, row, clock))
        if first is not None:
            times[one] = [first]
            if first <= 3e3 * effort.build:
                jobs[one] = lambda one=one: clock.ms(one.start(case))
    step(f"{case.name}: taking turns")
    times |= timing.rounds(jobs, effort.rounds, effort.build, clock)
    for one, taken in times.items():
        found[one]["run_ms"] = timing.summary(taken)
        if isinstance(one, Ours):
            found[one] |= timing.floor(clock, floors.CLUSTERINGS[one.task](case))
    return found, times


def checked(one, case, row, clock):
    """Milliseconds of a run whose answer was checked, or None where it is wrong."""
    taken, answer = clock.timed(one.start(case))
    wrong = one.problem(case, answer)
    row["check"] = wrong or "ok"
    return None if wrong else taken


def similarities(case, contenders, effort, clock, step=lambda text: None):
    """Records of similarities and of counts; ratios are to ours that gives as much."""
    found, times = measure(case, contenders, effort, clock, "similarity", step)
    own = {one.task: taken for one, taken in times.items() if is_ours(one, "auto")}
    for one, taken in times.items():
        found[one]["ratio"] = timing.paired_ratio(taken, own.get(one.task, []))
    return list(found.values())


def clusterings(case, session, effort, step=lambda text: None):
    """Records of SCAN with similarities and without, with how many times as fast as serial."""
    rows, clock, (_, facts, how) = [], session.clock, case.clustering
    for contenders in racers():
        chosen = taking(session.wanted(contenders), case, session.notes)
        found, times = measure(case, chosen, effort, clock, "scan", step)
        by_library = {one.library: taken for one, taken in times.items()}
        for one, taken in times.items():
            found[one] |= facts | {"verified": how}
            if isinstance(one, Ours):
                serial = by_library.get("serial", [])
                found[one]["speedup"] = timing.paired_ratio(serial, taken)
        rows += found.values()
    return rows


def queries(case, epsilons, mus, effort, clock):
    """The record of an index: its build, its size, and queries for every pair of parameters.

    Each answer must be that of scan with the same parameters, which is timed beside.
    """
    row = {"table": "queries", "graph": case.name} | case.facts()
    build = clock.repeated(lambda: rg.ScanIndex(case.forget()), effort.rounds, effort.whole)
    index = rg.ScanIndex(case.graph)
    alone = clock.repeated(lambda: rg.ScanIndex(case.graph), effort.rounds, effort.whole)
    row |= {
        "build_ms": timing.summary(build),
        "sort_ms": timing.summary(alone),
        "bytes_per_edge": round(index.nbytes / max(case.edges, 1), 1),
        "pairs": len(epsilons) * len(mus),
    }
    middle, ratios, directs = {}, [], []
    for epsilon, mu in product(epsilons, mus):
        query = partial(index.query, epsilon, mu)
        direct = partial(rg.scan, case.graph, epsilon=epsilon, mu=mu)
        took, answer = clock.timed(direct)
        if not same(query(), answer):
            row["check"] = f"wrong: not what scan finds for epsilon {epsilon}, mu {mu}"
            return row
        del answer
        middle[epsilon, mu] = statistics.median(clock.repeated(query, 3, effort.build / 10))
        directs.append(took)
        ratios.append(took / middle[epsilon, mu])
    slowest = max(middle, key=middle.get)
    row |= {
        "query_ms": timing.summary(list(middle.values())),
        "slowest_ms": float(f"{middle[slowest]:.4g}"),
        "slowest": f"epsilon {slowest[0]}, mu {slowest[1]}",
        "direct_ms": timing.summary(directs),
        "saves": float(f"{statistics.median(ratios):.3g}"),
        "check": "ok",
    }
    return row


def papers(session, entries, effort, step=lambda text: None):
    """GPUSCAN's tables 1 to 5, and a sentence on each: records of the session."""
    rows = []
    for entry in entries:
        failed = {}
        work = partial(of_paper, entry, session, effort, step)
        found = command.attempted(failed, work) or []
        if failed:
            session.notes.append(f"{entry.graph}, GPUSCAN's tables: {failed['check']}")
        rows += found
        session.rows += found
        session.save()
    on_cpu = session.xp is timing.np
    if on_cpu:
        session.notes.append("GPUSCAN's table 5: left out, on a CPU nothing is transferred")
    where = f"{timing.cores()} cores of a CPU" if on_cpu else "a GPU"
    session.rows += gpuscan.claims(rows, where)


def of_paper(entry, session, effort, step):
    workload = next(session.graphs([entry.graph]), None)
    if workload is None:
        return []
    case = Case(workload)
    rows = clusterings(case, session, effort, step)
    for row in rows:
        row |= {"table": "papers"} | entry.about(row["gives"], case)
    if entry.size is None and (moved := transfers(workload, session.clock)):
        rows.append(gpuscan.transfer_record(entry.graph, moved, rows))
    return rows


def transfers(workload, clock):
    """Columns to the device, clusters and roles back; nothing on a CPU."""
    columns = workload.source, workload.destination
    return timing.transfers(clock, columns, (workload.vertices, "int32", "int8"))


def is_ours(one, method):
    return isinstance(one, Ours) and one.implementation == method


def records_of(task, case, contenders, pairs, effort, session, step):
    """Records of one task on one graph."""
    if task == "queries":
        return [queries(case, *pairs, effort, session.clock)]
    if task == "scan":
        return clusterings(case, session, effort, step)
    chosen = taking(contenders, case, session.notes)
    return similarities(case, chosen, effort, session.clock, step)


def extend(parser):
    command.only(TASKS)(parser)
    parser.add_argument("--few", action="store_true", help="every third graph of GPUSCAN's series")


def main(arguments=None):
    description = "Time structural similarity and SCAN, beside other libraries."
    graphs = CPU_GRAPHS, GPU_GRAPHS, QUICK_GRAPHS
    found = command.options(description, arguments, graphs, extend)
    entries = gpuscan.entries(found.quick, THIRD if found.few else 1)
    session = command.Session("scan", found, seed=SEED, epsilon=EPSILON, mu=MU)
    clock, pause = session.clock, found.effort.build
    effort = dataclasses.replace(found.effort, build=pause / 3)
    pairs = (FEW_EPSILONS, FEW_MUS) if found.quick else (EPSILONS, MUS)
    contenders = session.wanted(ours() + session.peers(cpu_peers, "gpu_counters"))
    steps = len(found.names) * 20 + len(entries) * 8 + 1
    names = found.names if set(found.only) - {"papers"} else ()
    with command.progress("SCAN", steps) as step:
        step("warming up")
        tiny = [Case(load(name, session.xp)) for name in ("rmat9u", "grid8")]
        everyone = [*contenders, *(one for some in racers() for one in some)]
        command.warm_up(tiny, everyone, lambda one, case: one.start(case)())
        for case in tiny:
            queries(case, FEW_EPSILONS, FEW_MUS, command.QUICK, clock)
        session.measure_copies(effort)
        for workload in session.graphs(names):
            case = Case(workload)
            facts = workload.facts() | {"edges": case.edges} | transfers(workload, clock)
            session.rows.append({"table": "graph"} | facts)
            for task in (one for one in TASKS[:-1] if one in found.only):
                step(f"{case.name}: {task}")
                failed = {}
                work = partial(records_of, task, case, contenders, pairs, effort, session, step)
                session.rows += command.attempted(failed, work) or []
                if failed:  # also where the answers that others are checked by are wrong
                    session.notes.append(f"{case.name}, {task}: {failed['check']}")
            session.save()
        if "papers" in found.only:
            short = dataclasses.replace(
                effort, rounds=min(3, effort.rounds), build=effort.build / 3
            )
            papers(session, entries, short, step)
    return session.finish()


if __name__ == "__main__":
    sys.exit(command.status(main()))
