"""Graph build: time and peak memory, beside other libraries.

    python pipelines/benchmarks/build.py [--device auto|cpu|gpu] [--graphs rmat18,NY]
                                         [--quick] [--output FILE] [--data FOLDER]

Every graph is built from its rows in order, shuffled, with gaps between ids, with weights, and
without direction. Builders take turns; whoever builds another graph gets no time. README.md beside
this file says what the columns mean.
"""

import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from functools import partial

from pipelines.benchmarks import command, floors, peak, timing
from pipelines.benchmarks.builds import CASES, builders, make_case
from pipelines.benchmarks.workloads import SEED, load

CPU_GRAPHS, GPU_GRAPHS, QUICK_GRAPHS = ("rmat18", "NY"), ("rmat22", "grid1400"), ("rmat8",)
MEMORY_EDGE_FACTOR = 20  # of the CPU's memory graph: rmat18 then has more than 4 million rows
PEERS_MEMORY = "shuffled"  # the only case of peers: each takes a process, and seconds


def measure(workload, everyone, effort, clock, step=lambda text: None):
    """Records of one graph: every case by every builder that takes it."""
    rows = []
    for name in CASES:
        step(f"{workload.name}: {name}")
        rows += measure_case(make_case(workload, name), everyone, effort, clock)
    return rows


def measure_case(case, everyone, effort, clock):
    """Check, then time in turns."""
    _ = case.frame
    found, jobs = {}, {}
    for builder in everyone:
        if case.case not in builder.cases:
            continue
        row = found[builder] = {"table": "build"} | about(builder, case)
        wrong = command.attempted(row, lambda: builder.problem(case, builder.build(case)))  # noqa: B023
        if row.setdefault("check", wrong or "ok") == "ok":
            jobs[builder] = partial(clock.ms, partial(builder.build, case))
    times = timing.rounds(jobs, effort.rounds, effort.build, clock)
    own = {one.by: one for one in found if one.library == "rapidsgraph"}
    for builder, row in found.items():
        if builder in times:
            row["build_ms"] = timing.summary(times[builder])
            against = own.get(builder.by, own.get("source"))
            row["ratio"] = timing.paired_ratio(times[builder], times.get(against, []))
            if builder.library == "rapidsgraph":
                row |= timing.floor(clock, floors.build(case))
    return list(found.values())


def about(builder, case):
    return {
        "graph": case.name,
        "case": case.case,
        "library": builder.library,
        "implementation": builder.implementation,
        "note": builder.note,
    }


def cpu_memory(everyone, scale, cases, notes, step):
    """Records of peak memory, a process each."""
    if platform.system() != "Linux":
        notes.append("peak memory is left out: it is read from /proc, which only Linux has")
        return []
    name, rows = f"rmat{scale}", []
    for case in cases:
        for builder in everyone:
            is_ours = builder.library == "rapidsgraph"
            if case not in builder.cases or not (is_ours or case == PEERS_MEMORY):
                continue
            step(f"memory: {case}, {builder}")
            found = peak.in_a_process(name, MEMORY_EDGE_FACTOR, case, builder)
            row = {
                "table": "memory",
                "graph": f"{name}, edge factor {MEMORY_EDGE_FACTOR}",
                "case": case,
                "library": builder.library,
                "implementation": builder.implementation,
                "note": builder.note,
            }
            if "failed" in found:
                row["note"] = found["failed"]
            rows.append(row | ({} if "failed" in found else per_row(builder, **found)))
    return rows


def per_row(builder, peak_bytes, rows, vertices, estimate):
    """Bytes for each row of the frame; ours beside the library's own estimate."""
    figures = {
        "rows": rows,
        "vertices": vertices,
        "peak_bytes": peak_bytes,
        "bytes_per_row": round(peak_bytes / rows, 2),
    }
    if builder.library == "rapidsgraph":
        figures["estimate_per_row"] = round(estimate / rows, 2)
    return figures


def gpu_memory(workload, everyone, clock, allocator):
    """Records of peak memory of the device, one after another."""
    from pipelines.benchmarks.gpu import peak_bytes

    rows = []
    for name in CASES:
        case = make_case(workload, name)
        _ = case.frame
        for builder in everyone:
            if name not in builder.cases:
                continue
            if builder.library == "cuGraph" and allocator != "RMM pool":
                continue  # its memory is RMM's, which only RMM's statistics see
            row = {"table": "memory"} | about(builder, case)
            try:
                bytes_ = peak_bytes(clock, partial(builder.build, case), allocator)
                row |= per_row(
                    builder, bytes_, int(case.rows), case.vertices, case.estimate_build()
                )
            except Exception as error:  # one library's trouble must not end the run
                row["note"] = f"failed: {type(error).__name__}: {error}"[:300]
            rows.append(row)
    return rows


def build_where_taken(builder, case):
    if case.case in builder.cases:
        builder.build(case)


def main(arguments=None):
    graphs = CPU_GRAPHS, GPU_GRAPHS, QUICK_GRAPHS
    found = command.options("Time graph builds, beside other libraries.", arguments, graphs)
    session = command.Session("build", found, seed=SEED)
    effort, clock, xp = found.effort, session.clock, session.xp
    everyone = session.wanted(builders(found.on_gpu, session.notes))
    with command.progress("Builds", (len(found.names) + 4) * len(CASES) + 1) as step:
        step("warming up")
        tiny = [make_case(load("rmat6", xp), name) for name in CASES]
        command.warm_up(tiny, everyone, build_where_taken)
        session.measure_copies(effort)
        for workload in session.graphs(found.names):
            rows = measure(workload, everyone, effort, clock, step)
            columns = workload.source, workload.destination
            moved = timing.transfers(clock, columns, (0,))
            moved.pop("download_ms", None)  # a graph stays where it was built
            session.rows += [{"table": "graph"} | workload.facts() | moved, *rows]
            if found.on_gpu:
                session.rows += gpu_memory(workload, everyone, clock, session.allocator)
            session.save()
        if not found.on_gpu:
            cases = ("shuffled",) if found.quick else CASES
            some = everyone[:1] if found.quick else [b for b in everyone if b.library != "igraph"]
            session.rows += cpu_memory(some, effort.memory_scale, cases, session.notes, step)
    return session.finish()


if __name__ == "__main__":
    sys.exit(command.status(main()))
