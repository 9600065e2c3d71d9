"""BFS, SSSP and connected components: time of a run, beside other libraries.

    python pipelines/benchmarks/traversal.py [--device auto|cpu|gpu] [--graphs rmat18,NY]
                                             [--only bfs,sssp,components]
                                             [--quick] [--output FILE] [--data FOLDER]

A run starts on a ready graph and ends with the result; from the frame it begins with the rows.
Answers are checked in the same run: rapidsgraph.verify passes ours, and whoever finds other
distances or components gets no time. README.md beside this file says what the columns mean.
"""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import command, floors, timing
from pipelines.benchmarks.searchers import CLOSE, TASKS, Ours, cpu_peers, ours
from pipelines.benchmarks.workloads import SEED, load, with_weights

CPU_GRAPHS = ("rmat18", "NY", "rmat20", "grid1000", "grid1400")
GPU_GRAPHS = ("rmat22", "rmat22u", "grid1400", "NY", "cnr-2000")
QUICK_GRAPHS = ("rmat8", "grid16")


class Ready:
    """Graphs of one workload as the libraries keep them, each made once, when first wanted."""

    def __init__(self, workload, clock):
        self.workload, self.clock, self.made = workload, clock, {}

    def graph(self, searcher):
        return self._made(searcher)[1]

    def build_ms(self, searcher):
        return timing.summary([self._made(searcher)[0]])

    def _made(self, searcher):
        key = searcher.library, searcher.form
        if key not in self.made:
            known = self.workload  # what libraries may ask of it, untimed
            _ = known.frame, known.arcs, known.arc_weights, known.symmetric
            self.made[key] = self.clock.timed(lambda: searcher.prepare(known))
        return self.made[key]


def reference(task, workload, graph):
    """(distances or components that rapidsgraph.verify has passed, what it found); or it raises."""
    own = Ours(task, None if task == "components" else True)
    answer = own.run(graph, workload)
    if task == "components":
        facts = {"components": int(rg.verify.components(graph, answer))}
    elif task == "bfs":
        facts = {"levels": int(rg.verify.bfs(graph, answer, workload.start))}
    else:
        facts = {"farthest": float(rg.verify.sssp(graph, answer, workload.start))}
    return own.by_vertex(answer, workload), facts


def problem(searcher, answer, truth, workload):
    """What is wrong with an answer, or None."""
    xp, given = workload.xp, searcher.by_vertex(answer, workload)
    if given.shape != truth.shape:
        return f"wrong: {given.size} values for {truth.size} vertices"
    if searcher.task == "components":
        return other_partition(given, truth, xp)
    reached = xp.isfinite(truth)
    others = int((xp.isfinite(given) != reached).sum())
    if others:
        return f"wrong: {others} vertices reached or not, unlike in the verified answer"
    apart = xp.abs(given[reached] - truth[reached])
    share = CLOSE[searcher.precision] if searcher.task == "sssp" else 0
    wrong = int((apart > share * truth[reached]).sum())
    return f"wrong: {wrong} distances, by {float(apart.max()):.2g} at most" if wrong else None


def other_partition(given, truth, xp):
    """Labels of components may be any, but as many, and each with one of the verified."""
    counts = []
    labels = xp.unique(given, return_inverse=True)[1].astype(np.int64)
    for values in (labels, truth, labels * (int(truth.max()) + 1) + truth):
        counts.append(int(xp.unique(values).size))
    if len(set(counts)) > 1:
        return f"wrong: {counts[0]} components, {counts[1]} verified, {counts[2]} overlaps"
    return None


def rounds_of(searcher, graph, workload):
    """How often our kernel's threads met at a barrier; None where it does not say."""
    from rapidsgraph.algorithms import traversal
    from rapidsgraph.graph.vertex_arguments import resolve_vertices

    work = {"bfs": "search", "sssp": "paths"}.get(searcher.task)
    if work is None or not hasattr(traversal, work):
        return None
    ids = resolve_vertices(graph.labeling, workload.start)
    found = getattr(traversal, work)(graph, ids, predecessors=searcher.predecessors)
    return getattr(found, "rounds", None) or None


def measure(workload, task, searchers, ready, effort, clock, step=lambda text: None):
    """Records of one task on one graph: all are checked, then those that passed take turns."""
    truth, facts = reference(task, workload, ready.graph(Ours(task)))
    found, jobs = {}, {}
    for searcher in searchers:
        step(f"{workload.name}: {searcher}")
        row = {"table": task, "graph": workload.name} | searcher.about() | facts
        found[searcher] = row
        work = partial(prepared, searcher, workload, truth, row, ready, effort, clock)
        if job := command.attempted(row, work):
            jobs[searcher] = job
    step(f"{workload.name}, {task}: taking turns")
    times = timing.rounds(jobs, effort.rounds, 2 * effort.build, clock)
    for searcher, taken in times.items():
        row = found[searcher]
        row["run_ms"] = timing.summary(taken)
        if row.get("levels"):
            row["level_us"] = float(f"{row['run_ms']['median'] / row['levels'] * 1e3:.4g}")
        if isinstance(searcher, Ours):
            least = floors.SEARCHES[task](workload, truth, searcher.predecessors)
            row |= timing.floor(clock, least)
    add_ratios(found, times)
    return list(found.values())


def prepared(searcher, workload, truth, row, ready, effort, clock):
    """Check a searcher, time what begins with rows; the job that times a run, or None."""
    graph = ready.graph(searcher)
    row["build_ms"] = ready.build_ms(searcher)
    run = partial(searcher.run, graph, workload)
    wrong = problem(searcher, run(), truth, workload)
    row["check"] = wrong or "ok"
    if wrong:
        return None
    if isinstance(searcher, Ours):
        row["rounds"] = rounds_of(searcher, graph, workload)
        if searcher.predecessors is not False:
            fresh = [searcher.prepare(workload) for _ in range(3)]
            first = [clock.ms(partial(searcher.run, one, workload)) for one in fresh]
            searcher.from_frame(workload)  # memory pools grow once
            whole = clock.repeated(lambda: searcher.from_frame(workload), 5, effort.whole)
            row |= {"first_ms": timing.summary(first), "frame_ms": timing.summary(whole)}
    return partial(clock.ms, run)


def add_ratios(found, times):
    """How many times as long as ours that gives as much; and as the same without predecessors."""
    own = {one.predecessors: times[one] for one in times if isinstance(one, Ours)}
    plain = {one.method: times[one] for one in times if one.predecessors is False}
    for searcher, taken in times.items():
        row = found[searcher]
        row["ratio"] = timing.paired_ratio(taken, own.get(searcher.predecessors, []))
        if searcher.predecessors and searcher.method in plain:
            row["cost"] = timing.paired_ratio(taken, plain[searcher.method])


def chosen(searchers, task, workload, notes):
    """Those of a task that take the graph; notes say who does not, and why."""
    taken = []
    for searcher in searchers:
        if searcher.task != task:
            continue
        why = searcher.reason_against(workload)
        if why is None:
            taken.append(searcher)
            continue
        is_too_large = searcher.most_arcs and workload.arcs[0].size > searcher.most_arcs
        which = "" if is_too_large else f"'s {searcher.implementation} {task}"
        notes.append(f"{workload.name}: {searcher.library}{which} is left out, {why}")
    return taken


def transfers(workload, clock):
    """Columns and weights to the device, distances and predecessors back."""
    columns = workload.source, workload.destination, workload.weight
    return timing.transfers(clock, columns, (workload.vertices, np.int32, np.int32))


def main(arguments=None):
    graphs = CPU_GRAPHS, GPU_GRAPHS, QUICK_GRAPHS
    description = "Time BFS, SSSP and connected components, beside other libraries."
    found = command.options(description, arguments, graphs, command.only(TASKS))
    session = command.Session("traversal", found, seed=SEED)
    clock, xp = session.clock, session.xp
    everyone = ours() + session.peers(cpu_peers, "gpu_searchers")
    searchers = [one for one in session.wanted(everyone) if one.task in found.only]
    with command.progress("Traversal", len(found.names) * (len(searchers) + 3) + 1) as step:
        step("warming up")
        tiny = [with_weights(load(name, xp)) for name in ("rmat6", "rmat6u")]
        command.warm_up(tiny, searchers, lambda one, case: one.run(one.prepare(case), case))
        session.measure_copies(found.effort)
        for plain in session.graphs(found.names):
            workload = with_weights(plain, found.data)
            ready = Ready(workload, clock)
            facts = workload.facts() | workload.start_facts() | transfers(workload, clock)
            session.rows.append({"table": "graph"} | facts)
            for task in found.only:
                taking = chosen(searchers, task, workload, session.notes)
                failed = {}
                work = partial(measure, workload, task, taking, ready, found.effort, clock, step)
                session.rows += command.attempted(failed, work) or []
                if failed:  # also where verify rejects the reference
                    session.notes.append(f"{workload.name}, {task}: {failed['check']}")
            session.save()
    return session.finish()


if __name__ == "__main__":
    sys.exit(command.status(main()))
