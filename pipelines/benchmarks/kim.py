"""Time Kim's figures 4 to 6: ten iterations of PageRank by edges and by vertices, host to host.

    python pipelines/benchmarks/kim.py [--device auto|cpu|gpu] [--graphs 2M-sparse,roadNet-CA]
                                       [--full] [--seconds N] [--quick] [--output FILE]

The graphs are random ones of 2, 4 and 8 million vertices with 1, 5 or 10 edges per vertex between
uniform pairs, as Green-Marl's generator makes them, and two real ones. On a CPU alone the random
ones have an eighth of that size unless --full is given. The CPU twins of our methods stand for
Green-Marl. As in Kim, dangling mass is lost.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numba
import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import harness, timing
from pipelines.benchmarks.answers import compare_pagerank, to_host
from pipelines.benchmarks.graphs import SEED, GraphUnavailableError, Workload, load
from pipelines.benchmarks.harness import Effort, GraphSets, Session, Step, ignore_step
from pipelines.benchmarks.pagerank_papers import (
    DAMPING,
    KIM_DENSITIES,
    KIM_MILLIONS,
    KIM_NODE_OVER_CPU,
    KIM_NODE_OVER_EDGE,
    KIM_REAL,
    kim_claims,
    pagerank_formula,
)
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.timing import Clock, Summary
from rapidsgraph import generate
from rapidsgraph.device.arrays import Array
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.graph.local_graph import LocalGraph

ITERATIONS = 10
LAUNCH = (1000, 1000)  # Kim's blocks and threads, for edge and node
MAX_DISTANCE = 1e-5  # in total from formula (1), in single precision
LONG_MS = 1000  # a run that takes longer is not repeated
BUDGET = 1.0  # seconds for the rounds of a system
CPU_DIVISOR, QUICK_DIVISOR = 8, 2000  # of the sizes of random graphs
RANDOM = {
    f"{size}M-{density}": (size, density) for size in KIM_MILLIONS for density in KIM_DENSITIES
}
NAMES = (*list(RANDOM)[:3], *KIM_REAL, *list(RANDOM)[3:])  # those that take longest come last
GRAPHS = GraphSets(cpu=NAMES, gpu=NAMES, quick=("2M-sparse", "2M-dense"))

Pair = tuple[float, float | None]  # milliseconds with transfers, and without on a GPU


@dataclass(frozen=True)
class System:
    """One of our methods on the GPU, or on some threads of the CPU."""

    method: str
    threads: int | None = None  # of the CPU; None means the GPU

    @property
    def is_gpu(self) -> bool:
        return self.threads is None

    @property
    def key(self) -> str:
        if self.is_gpu:
            return f"gpu_{self.method}"
        return f"cpu_{self.method}_{1 if self.threads == 1 else 'all'}"

    @property
    def place(self) -> str:
        if self.threads is None:
            return "GPU"
        return f"CPU, {self.threads} thread{'s' if self.threads > 1 else ''}"

    def __str__(self) -> str:
        return f"{self.method}, {self.place}"

    def run(self, graph: LocalGraph) -> Array:
        """Return PageRank after Kim's ten iterations, on the device of the graph."""
        launch = LAUNCH if self.method in ("edge", "node") and self.is_gpu else None
        with numba_threads(self.threads):
            result = rg.pagerank(
                graph, damping=DAMPING, tolerance=0, max_iterations=ITERATIONS, dangling="drop",
                method=self.method, precision="single", progress=False, launch=launch,
            )  # fmt: skip
        return result["pagerank"]

    def transferred_arrays(self, graph: LocalGraph) -> list[np.ndarray]:
        """Return the arrays that Kim copies to the device: edges or lists, and out-degrees."""
        csc = graph.csc
        degrees = graph.xp.bincount(csc.neighbors, minlength=graph.num_vertices)
        if self.method == "edge":
            sources, destinations = csc.neighbors, row_indices(csc)
            if not graph.directed:  # each edge once; the kernel adds both arcs
                keep = sources <= destinations
                sources, destinations = sources[keep], destinations[keep]
            arrays = sources, destinations
        else:
            arrays = csc.offsets, csc.neighbors
        return [to_host(values) for values in (*arrays, degrees.astype(np.int32))]


@contextmanager
def numba_threads(count: int | None) -> Iterator[None]:
    """Set Numba's number of threads; None does not change it."""
    previous = numba.get_num_threads()
    numba.set_num_threads(count or previous)
    try:
        yield
    finally:
        numba.set_num_threads(previous)


def select_systems(on_gpu: bool) -> list[System]:
    """Return the systems, without duplicates on a CPU with one thread."""
    all_threads = numba.get_num_threads()
    systems = [System(method) for method in ("edge", "node", "auto")] if on_gpu else []
    systems += [System("edge", 1)] if not on_gpu else []  # its additions are serial
    systems += [System("node", 1), System("node", all_threads), System("auto", all_threads)]
    return list(dict.fromkeys(systems))


def load_graph(
    name: str, xp: Any, data: Path | None, divisor: int = 1
) -> tuple[str, Workload, str]:
    """Return (figure, workload, note); random graphs have 1 / divisor of the vertices."""
    if name in RANDOM:
        size, density = RANDOM[name]
        vertices = size * 10**6 // divisor
        edges = KIM_DENSITIES[density] * vertices
        source, destination, *_ = generate.arrays.uniform_arrays(xp, vertices, edges, seed=SEED)
        label = name if divisor == 1 else f"{name}/{divisor}"
        origin = f"uniform({vertices}, {edges}, seed={SEED})"
        workload = Workload(label, origin, xp, vertices, source, destination, multi_edges="keep")
        return KIM_MILLIONS[size], workload, ""
    try:
        return "6", load(name, xp, data), ""
    except GraphUnavailableError:
        if name not in KIM_REAL:
            raise
        substitute = KIM_REAL[name]
        return "6", load(substitute, xp, data), f"stands in for {name}, which is not here"


def formula_arcs(workload: Workload) -> tuple[Array, Array]:
    """Return the rows where repeated rows count, or else each arc once."""
    if workload.multi_edges == "keep":
        return workload.source, workload.destination
    return workload.arcs


def on_cpu(workload: Workload) -> Workload:
    """Return the same graph in host memory."""
    columns = {name: to_host(getattr(workload, name)) for name in ("source", "destination")}
    return replace(workload, xp=np, **columns)


class GraphsByDevice:
    """The workload and its graph on each device, built on first use."""

    def __init__(self, workload: Workload, clock: Clock) -> None:
        self.workload, self.clock = workload, clock
        self._graphs: dict[bool, tuple[Workload, LocalGraph, Summary]] = {}

    def get(self, is_gpu: bool) -> tuple[Workload, LocalGraph, Summary]:
        """Return (workload, graph, time of building it with its lists by destination)."""
        if is_gpu not in self._graphs:
            workload = self.workload
            if not is_gpu and workload.xp is not np:
                workload = on_cpu(workload)
            _ = workload.frame  # a caller holds it before the build
            elapsed, graph = self.clock.timed(partial(build_with_incoming, workload))
            self._graphs[is_gpu] = workload, graph, timing.summary([elapsed])
        return self._graphs[is_gpu]


def build_with_incoming(workload: Workload) -> LocalGraph:
    """Build a graph and its lists by destination, which are cached on it."""
    graph = workload.build()
    _ = graph.csc
    return graph


def measure(
    workload: Workload,
    systems: Sequence[System],
    effort: Effort,
    clock: Clock,
    step: Step = ignore_step,
) -> tuple[list[Record], dict[System, list[Pair]]]:
    """Return the records and times of the systems: checked, then timed in turns."""
    arcs = formula_arcs(workload)
    expected = pagerank_formula(workload.xp, workload.vertices, *arcs, ITERATIONS)
    reference = to_host(expected)
    graphs = GraphsByDevice(workload, clock)
    rows: dict[System, Record] = {}
    jobs: dict[System, Callable[[], Pair]] = {}
    for system in systems:
        step(f"{workload.name}: {system}")
        row: Record = {"table": "Kim runs", "graph": workload.name, "key": system.key}
        rows[system] = row | {"kind": system.method, "runs_on": system.place}
        prepare = partial(prepare_job, system, graphs, reference, rows[system], clock)
        if job := harness.try_call(rows[system], prepare):
            jobs[system] = job
    step(f"{workload.name}: taking turns")
    times = timing.rounds(jobs, effort.rounds, BUDGET, clock)
    for system, pairs in times.items():
        rows[system]["ten_ms"] = timing.summary([whole for whole, _ in pairs])
        if system.is_gpu:
            resident = [alone for _, alone in pairs if alone is not None]
            rows[system]["resident_ms"] = timing.summary(resident)
    return list(rows.values()), times


def prepare_job(
    system: System, graphs: GraphsByDevice, reference: np.ndarray, row: Record, clock: Clock
) -> Callable[[], Pair] | None:
    """Build, check and time transfers; return the job that gives a `Pair`."""
    workload, graph, build_ms = graphs.get(system.is_gpu)
    if system.method == "auto":
        system.run(graph)  # builds its layout
    first, values = clock.timed(lambda: to_host(system.run(graph)))
    problem = compare_pagerank(values, reference, MAX_DISTANCE, "formula (1)")
    row["check"] = problem or "ok"
    if problem:
        return None
    row["build_ms"] = build_ms
    if not system.is_gpu:
        measured = [first] if first > LONG_MS else []
        return lambda: (
            measured.pop() if measured else clock.ms(lambda: system.run(graph)),
            None,
        )
    arrays, xp = system.transferred_arrays(graph), workload.xp
    row["transferred_bytes"] = sum(array.nbytes for array in arrays) + values.nbytes
    on_device = xp.asarray(values)

    def transfer() -> tuple[list[Array], np.ndarray]:
        copies = [xp.asarray(array) for array in arrays]
        return copies, to_host(on_device)

    def run_with_transfers() -> tuple[list[Array], np.ndarray]:
        copies = [xp.asarray(array) for array in arrays]
        return copies, to_host(system.run(graph))

    transfer()  # the first allocates memory on both sides
    row["transfer_ms"] = timing.summary(clock.repeated(transfer, 3, 0.2))
    return lambda: (clock.ms(run_with_transfers), clock.ms(lambda: system.run(graph)))


def summarize(
    figure: str,
    workload: Workload,
    rows: Sequence[Record],
    times: Mapping[System, Sequence[Pair]],
) -> Record:
    """Return the bars of the figure for one graph, and their ratios."""
    row: Record = {"table": "Kim", "figure": figure, "graph": workload.name}
    row |= {"vertices": workload.vertices, "edges": int(workload.rows)}
    row |= {f"{run['key']}_ms": run["ten_ms"] for run in rows if "ten_ms" in run}
    by_key = {system.key: [ms for ms, _ in pairs] for system, pairs in times.items()}
    ratios = {
        "edge_by_node": (("gpu_edge", "gpu_node"), ("cpu_edge_1", "cpu_node_1")),
        "cpu_by_node": (("cpu_node_all", "gpu_node"), ("cpu_node_1", "gpu_node")),
    }
    for name, choices in ratios.items():
        for slow, fast in choices:
            if name not in row and slow in by_key and fast in by_key:
                row[name] = timing.paired_ratio(by_key[slow], by_key[fast])
    if figure == "4":
        paper = {"edge_by_node": KIM_NODE_OVER_EDGE, "cpu_by_node": KIM_NODE_OVER_CPU}
        row |= {f"paper_{name}": f"up to {paper[name]:g}" for name in paper if name in row}
    return row


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--full", action="store_true", help="Kim's sizes on a CPU, too")
    parser.add_argument(
        "--seconds", type=float, default=45.0, help="start no graph after this time (default: 45)"
    )


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    options = harness.parse_options("Time Kim's figures 4 to 6.", arguments, GRAPHS, add_options)
    divisor = (
        QUICK_DIVISOR if options.quick else 1 if options.full or options.on_gpu else CPU_DIVISOR
    )
    session = Session("kim", options, seed=SEED, precision="single", smaller=divisor)
    effort = replace(options.effort, rounds=min(options.effort.rounds, 3))
    systems, start = select_systems(options.on_gpu), time.perf_counter()
    machine = session.start["machine"]
    where = f"{machine['gpu']}, {machine['cpu']}" if options.on_gpu else machine["cpu"]
    summaries: list[Record] = []
    runs: list[Record] = []
    with harness.progress("Kim", len(options.names) * (len(systems) + 1) + 1) as step:
        step("warming up")
        for name in ("2M-sparse", "karate"):
            harness.try_call({}, partial(run_once, name, session, systems))
        for name in options.names:
            if time.perf_counter() - start > options.seconds:
                session.notes.append(f"{name}: left out, --seconds {options.seconds:g} elapsed")
                continue
            try:
                figure, workload, note = load_graph(name, session.xp, session.data, divisor)
            except GraphUnavailableError as error:
                session.notes.append(str(error))
                continue
            if note:
                session.notes.append(f"{workload.name} {note}")
            failure: Record = {}
            run = partial(measure, workload, systems, effort, session.clock, step)
            result = harness.try_call(failure, run)
            if result is None:
                session.notes.append(f"{name}: nothing was measured, {failure['check']}")
                continue
            rows, times = result
            summaries.append(summarize(figure, workload, rows, times))
            runs += [row | {"figure": figure, "note": note} for row in rows]
            session.rows = [*summaries, *kim_claims(summaries, where), *runs]
            session.save()
    return session.finish()


def run_once(name: str, session: Session, systems: Sequence[System]) -> None:
    """Run everything once on a tiny graph, to compile kernels."""
    workload = load_graph(name, session.xp, session.data, QUICK_DIVISOR)[1]
    measure(workload, systems, harness.QUICK, session.clock)


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
