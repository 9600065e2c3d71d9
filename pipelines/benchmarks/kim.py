"""Kim's figures 4 to 6: ten iterations of PageRank from host to host, by edges and by vertices.

    python pipelines/benchmarks/kim.py [--device auto|cpu|gpu] [--graphs 2M-sparse,roadNet-CA]
                                       [--full] [--seconds N] [--quick] [--output FILE]

Random graphs of 2, 4 and 8 million vertices with 1, 5 or 10 edges each between any two, as
Green-Marl's generator makes them, and two real ones. On a CPU alone the random ones are an eighth
of that, unless --full is given. The CPU's twins of our methods stand for Green-Marl. Sinks lose
their rank, as in Kim.
"""

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import command, timing
from pipelines.benchmarks.pagerank import on_host
from pipelines.benchmarks.pagerank_papers import (
    DAMPING,
    KIM_DENSITIES,
    KIM_MILLIONS,
    KIM_NODE_OVER_CPU,
    KIM_NODE_OVER_EDGE,
    KIM_REAL,
    kim_claims,
    plain_ranks,
    problem,
)
from pipelines.benchmarks.workloads import SEED, Missing, Workload, load
from rapidsgraph import generate
from rapidsgraph.graph.csr import row_indices

ITERATIONS = 10
LAUNCH = (1000, 1000)  # Kim's blocks and threads, for edge and node
DISTANCE = 1e-5  # in total, of ranks in single precision
LONG, BUDGET = 1000, 1.0  # ms of a run that is not repeated; seconds for a system's rounds
EIGHTH, TINY = 8, 2000  # how much smaller the random graphs are: on a CPU, and in a quick run
RANDOM = {
    f"{size}M-{density}": (size, density) for size in KIM_MILLIONS for density in KIM_DENSITIES
}
GRAPHS = (*list(RANDOM)[:3], *KIM_REAL, *list(RANDOM)[3:])  # what takes longest comes last
QUICK_GRAPHS = ("2M-sparse", "2M-dense")


@dataclass(frozen=True)
class System:
    """One of our methods on the GPU, or on some threads of the CPU."""

    method: str
    threads: int | None = None  # of the CPU; None means the GPU

    @property
    def key(self):
        if self.threads is None:
            return f"gpu_{self.method}"
        return f"cpu_{self.method}_{1 if self.threads == 1 else 'all'}"

    @property
    def place(self):
        if self.threads is None:
            return "GPU"
        return f"CPU, {self.threads} thread{'s' if self.threads > 1 else ''}"

    def __str__(self):
        return f"{self.method}, {self.place}"

    def rank(self, graph):
        """Ranks after Kim's ten iterations, where the graph is."""
        launch = LAUNCH if self.method in ("edge", "node") and self.threads is None else None
        with threads(self.threads):
            ranks = rg.pagerank(
                graph, damping=DAMPING, tolerance=0, max_iterations=ITERATIONS, dangling="drop",
                method=self.method, precision="single", progress=False, launch=launch,
            )  # fmt: skip
        return ranks["pagerank"]

    def structure(self, graph):
        """Arrays that Kim copies to the device: edges, or lists; and the out-degrees."""
        lists = graph.csc
        degrees = graph.xp.bincount(lists.neighbors, minlength=graph.num_vertices)
        if self.method == "edge":
            arrays = lists.neighbors, row_indices(lists)
            if not graph.directed:  # each edge once, and the kernel adds both ways
                once = arrays[0] <= arrays[1]
                arrays = arrays[0][once], arrays[1][once]
        else:
            arrays = lists.offsets, lists.neighbors
        return [on_host(values) for values in (*arrays, degrees.astype(np.int32))]


@contextmanager
def threads(count):
    """So many threads of the CPU, or as they are."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(count or before)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def systems(on_gpu):
    """Whoever takes part, without the same twice where the CPU has one thread."""
    import numba

    every = numba.get_num_threads()
    found = [System(method) for method in ("edge", "node", "auto")] if on_gpu else []
    found += [System("edge", 1)] if not on_gpu else []  # its additions are one thread's
    found += [System("node", 1), System("node", every), System("auto", every)]
    return list(dict.fromkeys(found))


def workload_of(name, xp, data, smaller=1):
    """(figure, Workload, note), random graphs with 1 / smaller of the vertices."""
    if name in RANDOM:
        size, density = RANDOM[name]
        vertices = size * 10**6 // smaller
        edges = KIM_DENSITIES[density] * vertices
        arrays = generate.arrays.uniform_arrays(xp, vertices, edges, seed=SEED)
        label = name if smaller == 1 else f"{name}/{smaller}"
        origin = f"uniform({vertices}, {edges}, seed={SEED})"
        graph = Workload(label, origin, xp, vertices, *arrays[:2], multi_edges="keep")
        return KIM_MILLIONS[size], graph, ""
    try:
        return "6", load(name, xp, data), ""
    except Missing:
        if name not in KIM_REAL:
            raise
        instead = KIM_REAL[name]
        return "6", load(instead, xp, data), f"stands in for {name}, which is not here"


def arcs_of(workload):
    """Rows as they are, where repeated ones count, or each arc once."""
    if workload.multi_edges == "keep":
        return workload.source, workload.destination
    return workload.arcs


def on_cpu(workload):
    """The same graph in the host's memory."""
    columns = {name: on_host(getattr(workload, name)) for name in ("source", "destination")}
    return replace(workload, xp=np, **columns)


def measure(workload, contenders, effort, clock, step=lambda text: None):
    """A record for each system: checked, then timed in turns."""
    arcs = arcs_of(workload)
    truth = on_host(plain_ranks(workload.xp, workload.vertices, *arcs, ITERATIONS))
    places, found, jobs = {}, {}, {}
    for system in contenders:
        step(f"{workload.name}: {system}")
        row = {"table": "Kim runs", "graph": workload.name, "key": system.key}
        found[system] = row | {"kind": system.method, "runs_on": system.place}
        work = partial(prepared, system, workload, places, truth, found[system], clock)
        if job := command.attempted(found[system], work):
            jobs[system] = job
    step(f"{workload.name}: taking turns")
    taken = timing.rounds(jobs, effort.rounds, BUDGET, clock)
    for system, pairs in taken.items():
        whole, alone = zip(*pairs)
        found[system]["ten_ms"] = timing.summary(whole)
        if system.threads is None:
            found[system]["resident_ms"] = timing.summary(alone)
    return list(found.values()), taken


def prepared(system, workload, places, truth, row, clock):
    """Build, check and time transfers; the job that gives (ms with transfers, ms without)."""
    is_gpu = system.threads is None
    if is_gpu not in places:
        here = workload if is_gpu or workload.xp is np else on_cpu(workload)
        places[is_gpu] = (here, *build(here, clock))
    here, graph, build_ms = places[is_gpu]
    if system.method == "auto":
        system.rank(graph)  # makes its layout
    first, ranks = clock.timed(lambda: on_host(system.rank(graph)))
    wrong = problem(ranks, truth, DISTANCE)
    row["check"] = wrong or "ok"
    if wrong:
        return None
    row["build_ms"] = build_ms
    if not is_gpu:
        kept = [first] if first > LONG else []
        return lambda: (kept.pop() if kept else clock.ms(lambda: system.rank(graph)), None)
    arrays, xp = system.structure(graph), here.xp
    row["transferred_bytes"] = sum(values.nbytes for values in arrays) + ranks.nbytes
    resident = xp.asarray(ranks)

    def there_and_back():
        copies = [xp.asarray(values) for values in arrays]
        return copies, on_host(resident)

    def whole():
        copies = [xp.asarray(values) for values in arrays]
        return copies, on_host(system.rank(graph))

    there_and_back()  # the first has to find memory on both sides
    row["transfer_ms"] = timing.summary(clock.repeated(there_and_back, 3, 0.2))
    return lambda: (clock.ms(whole), clock.ms(lambda: system.rank(graph)))


def build(workload, clock):
    """(graph, time of building it and its lists by destination)."""

    def work():
        graph = workload.build()
        return graph, graph.csc  # made on first use, and kept

    len(workload.frame)  # made before, a caller holds it
    ms, (graph, _) = clock.timed(work)
    return graph, timing.summary([ms])


def summed_up(figure, workload, rows, taken):
    """The figure's bars for one graph, and how often one fits into another."""
    row = {"table": "Kim", "figure": figure, "graph": workload.name}
    row |= {"vertices": workload.vertices, "edges": int(workload.rows)}
    row |= {f"{found['key']}_ms": found["ten_ms"] for found in rows if "ten_ms" in found}
    times = {system.key: [ms for ms, _ in pairs] for system, pairs in taken.items()}
    pairs = {
        "edge_by_node": (("gpu_edge", "gpu_node"), ("cpu_edge_1", "cpu_node_1")),
        "cpu_by_node": (("cpu_node_all", "gpu_node"), ("cpu_node_1", "gpu_node")),
    }
    for name, choices in pairs.items():
        for slow, fast in choices:
            if name not in row and slow in times and fast in times:
                row[name] = timing.paired_ratio(times[slow], times[fast])
    if figure == "4":
        most = {"edge_by_node": KIM_NODE_OVER_EDGE, "cpu_by_node": KIM_NODE_OVER_CPU}
        row |= {f"paper_{name}": f"up to {most[name]:g}" for name in most if name in row}
    return row


def extend(parser):
    parser.add_argument("--full", action="store_true", help="Kim's sizes on a CPU, too")
    parser.add_argument(
        "--seconds", type=float, default=45.0, help="start no graph after so long (default: 45)"
    )


def main(arguments=None):
    graphs = GRAPHS, GRAPHS, QUICK_GRAPHS
    found = command.options("Time Kim's figures 4 to 6.", arguments, graphs, extend)
    smaller = TINY if found.quick else 1 if found.full or found.on_gpu else EIGHTH
    about = {"seed": SEED, "precision": "single", "smaller": smaller}
    session = command.Session("kim", found, **about)
    effort = replace(found.effort, rounds=min(found.effort.rounds, 3))
    contenders, began = systems(found.on_gpu), time.perf_counter()
    machine = session.start["machine"]
    where = f"{machine['gpu']}, {machine['cpu']}" if found.on_gpu else machine["cpu"]
    summaries, runs = [], []
    with command.progress("Kim", len(found.names) * (len(contenders) + 1) + 1) as step:
        step("warming up")
        for name in ("2M-sparse", "karate"):
            command.attempted({}, partial(once, name, session, contenders))
        for name in found.names:
            if time.perf_counter() - began > found.seconds:
                session.notes.append(f"{name}: left out, --seconds {found.seconds:g} were over")
                continue
            try:
                figure, workload, note = workload_of(name, session.xp, session.data, smaller)
            except Missing as missing:
                session.notes.append(str(missing))
                continue
            if note:
                session.notes.append(f"{workload.name} {note}")
            trouble, work = {}, partial(measure, workload, contenders, effort, session.clock, step)
            measured = command.attempted(trouble, work)
            if measured is None:
                session.notes.append(f"{name}: nothing was measured, {trouble['check']}")
                continue
            rows, taken = measured
            summaries.append(summed_up(figure, workload, rows, taken))
            runs += [row | {"figure": figure, "note": note} for row in rows]
            session.rows = [*summaries, *kim_claims(summaries, where), *runs]
            session.save()
    return session.finish()


def once(name, session, contenders):
    """Everything once on a tiny graph, to compile what compiles on first use."""
    workload = workload_of(name, session.xp, session.data, smaller=TINY)[1]
    measure(workload, contenders, command.QUICK, session.clock)


if __name__ == "__main__":
    sys.exit(command.status(main()))
