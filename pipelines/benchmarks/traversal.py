"""Time BFS, SSSP and connected components, ours and peers'.

    python pipelines/benchmarks/traversal.py [--device auto|cpu|gpu] [--graphs rmat18,NY]
                                             [--only bfs,sssp,components]
                                             [--quick] [--output FILE] [--data FOLDER]

A run starts on a ready graph and ends with the result; from the frame it starts with the rows.
Answers are checked in the same run: rapidsgraph.verify passes ours, and an adapter with other
distances or components gets no time. README.md in this folder explains the columns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import harness, roofline, timing
from pipelines.benchmarks.adapters import registry
from pipelines.benchmarks.adapters.interface import (
    DISTANCE_TOLERANCE,
    TRAVERSALS,
    TraversalAdapter,
)
from pipelines.benchmarks.adapters.rapidsgraph import RapidsgraphTraversal, traversal_adapters
from pipelines.benchmarks.answers import compare_components
from pipelines.benchmarks.graphs import SEED, Workload, load, with_weights
from pipelines.benchmarks.harness import Effort, GraphSets, Step, ignore_step
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.timing import Clock, Summary
from rapidsgraph.algorithms import traversal
from rapidsgraph.device.arrays import Array
from rapidsgraph.graph.local_graph import LocalGraph
from rapidsgraph.graph.vertex_arguments import resolve_vertices

GRAPHS = GraphSets(
    cpu=("rmat18", "NY", "rmat20", "grid1000", "grid1400"),
    gpu=("rmat22", "rmat22u", "grid1400", "NY", "cnr-2000"),
    quick=("rmat8", "grid16"),
)


class GraphCache:
    """The libraries' graphs of one workload, each built once, on first use."""

    def __init__(self, workload: Workload, clock: Clock) -> None:
        self.workload, self.clock = workload, clock
        self._builds: dict[Any, tuple[float, Any]] = {}

    def graph(self, adapter: TraversalAdapter) -> Any:
        """Return the graph that an adapter takes."""
        return self._build(adapter)[1]

    def build_ms(self, adapter: TraversalAdapter) -> Summary:
        """Return the time of building that graph."""
        return timing.summary([self._build(adapter)[0]])

    def _build(self, adapter: TraversalAdapter) -> tuple[float, Any]:
        key = adapter.library, adapter.graph_key
        if key not in self._builds:
            workload = self.workload  # what libraries take from it is not timed
            _ = workload.frame, workload.arcs, workload.arc_weights, workload.symmetric
            self._builds[key] = self.clock.timed(lambda: adapter.prepare(workload))
        return self._builds[key]


def reference_answer(
    task: str, workload: Workload, graph: LocalGraph
) -> tuple[Array, dict[str, Any]]:
    """Return (distances or components that rapidsgraph.verify has passed, facts), or raise."""
    adapter = RapidsgraphTraversal(task, None if task == "components" else True)
    answer = adapter.run(graph, workload)
    facts: dict[str, Any]
    if task == "components":
        facts = {"components": int(rg.verify.components(graph, answer))}
    elif task == "bfs":
        facts = {"levels": int(rg.verify.bfs(graph, answer, workload.start))}
    else:
        facts = {"farthest": float(rg.verify.sssp(graph, answer, workload.start))}
    return adapter.by_vertex(answer, workload), facts


def check_answer(
    adapter: TraversalAdapter, answer: Any, reference: Array, workload: Workload
) -> str | None:
    """Return the problem of an answer, or None."""
    xp, values = workload.xp, adapter.by_vertex(answer, workload)
    if values.shape != reference.shape:
        return f"wrong: {values.size} values for {reference.size} vertices"
    if adapter.task == "components":
        return compare_components(values, reference, xp)
    is_reached = xp.isfinite(reference)
    if num_wrong := int((xp.isfinite(values) != is_reached).sum()):
        return f"wrong: {num_wrong} vertices differ from the verified answer in being reached"
    difference = xp.abs(values[is_reached] - reference[is_reached])
    tolerance = DISTANCE_TOLERANCE[adapter.precision] if adapter.task == "sssp" else 0
    num_wrong = int((difference > tolerance * reference[is_reached]).sum())
    if not num_wrong:
        return None
    return f"wrong: {num_wrong} distances, by {float(difference.max()):.2g} at most"


def count_barriers(
    adapter: RapidsgraphTraversal, graph: LocalGraph, workload: Workload
) -> int | None:
    """Return the number of barriers of our kernel, or None if it is unknown."""
    searches = {"bfs": traversal.run_bfs, "sssp": traversal.run_sssp}
    if adapter.task not in searches:
        return None
    ids = resolve_vertices(graph.labeling, workload.start)
    result = searches[adapter.task](graph, ids, predecessors=bool(adapter.predecessors))
    return int(result.num_rounds) or None


def measure(
    workload: Workload,
    task: str,
    adapters: Sequence[TraversalAdapter],
    graphs: GraphCache,
    effort: Effort,
    clock: Clock,
    step: Step = ignore_step,
) -> list[Record]:
    """Return the records of one task on one graph: correct adapters take turns."""
    reference, facts = reference_answer(task, workload, graphs.graph(RapidsgraphTraversal(task)))
    rows: dict[TraversalAdapter, Record] = {}
    jobs: dict[TraversalAdapter, Callable[[], float]] = {}
    for adapter in adapters:
        step(f"{workload.name}: {adapter}")
        row = {"table": task, "graph": workload.name} | adapter.about() | facts
        rows[adapter] = row
        prepare = partial(prepare_job, adapter, workload, reference, row, graphs, effort, clock)
        if job := harness.try_call(row, prepare):
            jobs[adapter] = job
    step(f"{workload.name}, {task}: taking turns")
    times = timing.rounds(jobs, effort.rounds, 2 * effort.build_budget, clock)
    for adapter, own_times in times.items():
        row = rows[adapter]
        row["run_ms"] = timing.summary(own_times)
        if row.get("levels"):
            row["level_us"] = float(f"{row['run_ms']['median'] / row['levels'] * 1e3:.4g}")
        if isinstance(adapter, RapidsgraphTraversal):
            nbytes = roofline.TRAVERSALS[task](workload, reference, adapter.predecessors)
            row |= timing.roofline_ms(clock, nbytes)
    add_ratios(rows, times)
    return list(rows.values())


def prepare_job(
    adapter: TraversalAdapter,
    workload: Workload,
    reference: Array,
    row: Record,
    graphs: GraphCache,
    effort: Effort,
    clock: Clock,
) -> Callable[[], float] | None:
    """Check an adapter and time runs from the rows; return the job that times a run."""
    graph = graphs.graph(adapter)
    row["build_ms"] = graphs.build_ms(adapter)
    run = partial(adapter.run, graph, workload)
    problem = check_answer(adapter, run(), reference, workload)
    row["check"] = problem or "ok"
    if problem:
        return None
    if isinstance(adapter, RapidsgraphTraversal):
        row["rounds"] = count_barriers(adapter, graph, workload)
        if adapter.predecessors is not False:
            new_graphs = [adapter.prepare(workload) for _ in range(3)]
            first = [clock.ms(partial(adapter.run, graph, workload)) for graph in new_graphs]
            adapter.run_from_frame(workload)  # memory pools grow once
            whole = clock.repeated(lambda: adapter.run_from_frame(workload), 5, effort.run_budget)
            row |= {"first_ms": timing.summary(first), "frame_ms": timing.summary(whole)}
    return partial(clock.ms, run)


def add_ratios(
    rows: Mapping[TraversalAdapter, Record], times: Mapping[TraversalAdapter, Sequence[float]]
) -> None:
    """Add the ratio to ours with the same result, and to the method without predecessors."""
    own = {
        adapter.predecessors: times[adapter]
        for adapter in times
        if isinstance(adapter, RapidsgraphTraversal)
    }
    plain = {adapter.method: times[adapter] for adapter in times if adapter.predecessors is False}
    for adapter, own_times in times.items():
        row = rows[adapter]
        row["ratio"] = timing.paired_ratio(own_times, own.get(adapter.predecessors, []))
        if adapter.predecessors and adapter.method in plain:
            row["cost"] = timing.paired_ratio(own_times, plain[adapter.method])


def select_adapters(
    adapters: Iterable[TraversalAdapter], task: str, workload: Workload, notes: list[str]
) -> list[TraversalAdapter]:
    """Return the adapters of a task that take the graph; notes name the others."""
    selected = []
    for adapter in adapters:
        if adapter.task != task:
            continue
        reason = adapter.skip_reason(workload)
        if reason is None:
            selected.append(adapter)
            continue
        is_too_large = adapter.max_arcs and workload.arcs[0].size > adapter.max_arcs
        method = "" if is_too_large else f"'s {adapter.implementation} {task}"
        notes.append(f"{workload.name}: {adapter.library}{method} is left out, {reason}")
    return selected


def time_transfers(workload: Workload, clock: Clock) -> dict[str, Summary]:
    """Time copying columns and weights to the device, and distances and predecessors back."""
    columns = workload.source, workload.destination, workload.weight
    return timing.transfers(clock, columns, workload.vertices, np.int32, np.int32)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    description = "Time BFS, SSSP and connected components, ours and peers'."
    only = harness.add_only_option(TRAVERSALS)
    options = harness.parse_options(description, arguments, GRAPHS, only)
    session = harness.Session("traversal", options, seed=SEED)
    clock, xp, effort = session.clock, session.xp, options.effort
    available: list[TraversalAdapter] = [*traversal_adapters()]
    available += session.peers(registry.traversal_peers)
    selected = session.select_libraries(available)
    adapters = [adapter for adapter in selected if adapter.task in options.only]
    num_steps = len(options.names) * (len(adapters) + 3) + 1
    with harness.progress("Traversal", num_steps) as step:
        step("warming up")
        tiny = [with_weights(load(name, xp)) for name in ("rmat6", "rmat6u")]
        harness.warm_up(tiny, adapters, lambda adapter, w: adapter.run(adapter.prepare(w), w))
        session.measure_copy_rate(effort)
        for plain in session.graphs(options.names):
            workload = with_weights(plain, options.data)
            graphs = GraphCache(workload, clock)
            facts = workload.facts() | workload.start_facts() | time_transfers(workload, clock)
            session.rows.append({"table": "graph"} | facts)
            for task in options.only:
                own = select_adapters(adapters, task, workload, session.notes)
                failure: Record = {}
                run = partial(measure, workload, task, own, graphs, effort, clock, step)
                session.rows += harness.try_call(failure, run) or []
                if failure:  # also a reference that verify rejects
                    session.notes.append(f"{workload.name}, {task}: {failure['check']}")
            session.save()
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
