"""PageRank: time of an iteration, of the first call and of whole runs, beside other libraries.

    python pipelines/benchmarks/pagerank.py [--device auto|cpu|gpu] [--graphs rmat18,NY]
                                            [--quick] [--output FILE] [--data FOLDER]

An iteration's time is that of many iterations less that of few, on a ready graph, shared out.
Answers are checked in the same run: rapidsgraph.verify passes the ranks of reference, and whoever
ends elsewhere gets no time. README.md beside this file says what the columns mean.
"""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import command, floors, timing
from pipelines.benchmarks.contenders import (
    DAMPING,
    DISTANCE,
    MOST_ITERATIONS,
    Ours,
    cpu_peers,
    ours,
    taking,
)
from pipelines.benchmarks.timing import on_host
from pipelines.benchmarks.workloads import SEED, load

CPU_GRAPHS = ("rmat18", "NY", "grid1000", "ego-Facebook", "cit-DBLP", "cnr-2000")
GPU_GRAPHS = ("rmat22", "grid1400", "ego-Facebook", "cit-DBLP", "cnr-2000")
QUICK_GRAPHS = ("rmat8", "grid16")
FEW = 3  # iterations that are compared, too: who makes fewer of them than asked would be fast
SMALL = 20_000  # vertices; such graphs are also ranked with 1000 iterations, as in Reddy


def reference(workload):
    """Ranks by vertex that rapidsgraph.verify has passed; raises VerificationError otherwise."""
    graph = workload.graph
    ranks = rg.pagerank(graph, tolerance=1e-12, max_iterations=MOST_ITERATIONS, progress=False)
    rg.verify.pagerank(graph, ranks, tolerance=1e-11)
    return workload.xp.asarray(ranks["pagerank"])


def after(workload, iterations):
    """Ranks after so many iterations, by the formula alone."""
    xp, vertices = workload.xp, workload.vertices
    sources, destinations = workload.arcs
    degrees = xp.bincount(sources, minlength=vertices)
    ranks = xp.full(vertices, 1 / vertices)
    for _ in range(iterations):
        shares = (ranks / xp.maximum(degrees, 1))[sources]
        sums = xp.bincount(destinations, weights=shares, minlength=vertices)
        sinks = float(ranks[degrees == 0].sum())
        ranks = DAMPING * (sums + sinks / vertices) + (1 - DAMPING) / vertices
    return ranks


def problem(contender, answer, truth, xp):
    """What is wrong with an answer, or None."""
    given = xp.asarray(contender.by_vertex(answer)).astype(np.float64)
    if given.shape != truth.shape:
        return f"wrong: {given.size} ranks for {truth.size} vertices"
    distance = float(xp.abs(given - truth).sum())
    if not distance <= DISTANCE[contender.precision]:
        return f"wrong: {distance:.2g} away in total from the verified ranks"
    return None


def measure(workload, contenders, effort, clock, step=lambda text: None):
    """Records of one graph: every contender is checked, then those that passed take turns."""
    truth = reference(workload)
    found, jobs = {}, {}
    for contender in contenders:
        step(f"{workload.name}: {contender}")
        row = {"table": "pagerank", "graph": workload.name} | contender.about()
        found[contender] = row
        work = partial(prepared, contender, workload, truth, row, effort, clock)
        if job := command.attempted(row, work):
            jobs[contender] = job
    step(f"{workload.name}: taking turns")
    times = timing.rounds(jobs, effort.rounds, 2 * effort.build, clock)
    for contender, row in found.items():
        if contender in times:
            row["iteration_ms"] = timing.summary(times[contender])
        if row["check"] == "ok" and isinstance(contender, Ours):
            row |= timing.floor(clock, floors.pagerank(workload, contender.precision))
    add_ratios(found, times)
    return list(found.values())


def prepared(contender, workload, truth, row, effort, clock):
    """Check a contender, time what is not an iteration; the job that times one, or None."""
    state = contender.state(workload)
    if contender.counts:
        contender.iterate(state, 1)  # makes a layout, where there is one
    solving, answer = clock.timed(lambda: contender.solve(state))
    wrong = problem(contender, answer, truth, workload.xp)
    if not wrong and contender.counts and contender.makes_ranks:
        few = contender.iterate(state, FEW)
        if wrong := problem(contender, few, after(workload, FEW), workload.xp):
            wrong = f"{wrong} after {FEW} iterations"
    row["check"] = wrong or "ok"
    if wrong:
        return None
    solve = clock.repeated(lambda: contender.solve(state), 3, effort.whole, first=solving)
    row["solve_ms"] = timing.summary(solve)
    is_ours = isinstance(contender, Ours)
    if not is_ours or contender.implementation == "auto":
        build = clock.repeated(lambda: contender.prepare(workload), 5, effort.whole)
        row["build_ms"] = timing.summary(build)
    if not contender.counts:
        return None
    if is_ours:
        add_whole_runs(contender, workload, row, effort, clock)
    most = min(contender.most, effort.most)
    if workload.vertices <= SMALL and most >= 1000:
        thousand = clock.repeated(lambda: contender.iterate(state, 1000), 5, effort.whole)
        row["thousand_ms"] = timing.summary(thousand)
    iterate = partial(contender.iterate, state)
    few, many = timing.plan(clock, iterate, effort.target, most)
    row["iterations"] = [few, many]
    return partial(timing.per_iteration, clock, iterate, few, many)


def add_whole_runs(contender, workload, row, effort, clock):
    """The first call of a method, and runs that begin with the columns."""
    first = []
    for _ in range(3):
        fresh = contender.prepare(workload)
        first.append(clock.ms(lambda: contender.iterate(fresh, 1)))  # noqa: B023
    row["first_ms"] = timing.summary(first)
    columns = [on_host(values) for values in (workload.source, workload.destination)]

    def ten():
        source, destination = map(workload.xp.asarray, columns)
        moved = replace(workload, source=source, destination=destination)
        return on_host(contender.iterate(contender.prepare(moved), 10))

    if contender.precision == "single":
        row["ten_ms"] = timing.summary(clock.repeated(ten, 3, effort.whole))
    if workload.vertices <= SMALL and effort.most >= 1000:
        whole = clock.repeated(
            lambda: contender.iterate(contender.prepare(workload), 1000), 5, effort.whole
        )
        row["thousand_frame_ms"] = timing.summary(whole)


def add_ratios(found, times):
    """How many times as long as our `auto` in the same precision, in the same rounds."""
    own = {c.precision: c for c in found if isinstance(c, Ours) and c.implementation == "auto"}
    for contender, row in found.items():
        best = own.get(contender.precision)
        if best is None or row["check"] != "ok" or found[best]["check"] != "ok":
            continue
        if contender in times:
            row["ratio"] = timing.paired_ratio(times[contender], times[best])
        else:
            solves = [found[c]["solve_ms"]["median"] for c in (contender, best)]
            row["ratio"] = timing.paired_ratio(solves[:1], solves[1:])


def once(contender, workload):
    """Whatever is timed, once."""
    state = contender.state(workload)
    contender.solve(state)
    if contender.counts:
        contender.iterate(state, 2)


def main(arguments=None):
    graphs = CPU_GRAPHS, GPU_GRAPHS, QUICK_GRAPHS
    found = command.options("Time PageRank, beside other libraries.", arguments, graphs)
    session = command.Session("pagerank", found, seed=SEED)
    clock, xp = session.clock, session.xp
    everyone = ours(on_gpu=found.on_gpu) + session.peers(cpu_peers, "gpu_peers")
    contenders = session.wanted(everyone)
    with command.progress("PageRank", len(found.names) * (len(contenders) + 1) + 1) as step:
        step("warming up")
        tiny = load("rmat6", xp)
        command.warm_up((tiny, replace(tiny, directed=False)), contenders, once)
        session.measure_copies(found.effort)
        for workload in session.graphs(found.names):
            chosen = taking(contenders, workload, session.notes)
            try:
                rows = measure(workload, chosen, found.effort, clock, step)
            except rg.GraphError as error:  # also a reference that verify rejects
                session.notes.append(f"{workload.name}: nothing was measured: {error}")
                continue
            columns, ranks = (workload.source, workload.destination), np.float32
            moved = timing.transfers(clock, columns, (workload.vertices, ranks))
            session.rows += [{"table": "graph"} | workload.facts() | moved, *rows]
            session.save()
    return session.finish()


if __name__ == "__main__":
    sys.exit(command.status(main()))
