"""Layered edge lists in memory: builds, iterations, and runs beside those of a Graph and cuGraph.

Means: three functions of a workload that give records as they come.
"""

import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import pagerank, streams, timing, traversal, wolfpath
from pipelines.benchmarks.contenders import DAMPING, MOST_ITERATIONS, TOLERANCE, Contender
from pipelines.benchmarks.contenders import Ours as OurRanks
from pipelines.benchmarks.searchers import Ours, Searcher, cpu_peers
from pipelines.benchmarks.workloads import with_weights
from rapidsgraph import device
from rapidsgraph.dispatch import storage_of
from rapidsgraph.graph.local_graph import LocalGraph
from rapidsgraph.layered import algorithms as sweeps
from rapidsgraph.layered.outofcore.limits import MIN_WORK_BYTES, OVERHEAD_BYTES, VERTEX_BYTES

MOST_WEIGHTED = 2**24  # rows of a file with weights that is built out of core, too
FLAGS = 200  # times that a flag is copied to the host


class Layered(Searcher):
    """BFS or SSSP of a layered edge list in memory."""

    library, form = "rapidsgraph", "layered"

    def __init__(self, task):
        super().__init__(task, "layered", True, "of a layered edge list")

    def prepare(self, workload):
        return rg.LayeredEdgeList.build(workload.graph, workload.start)

    def run(self, layered, workload):
        return streams.CALLS[self.task](layered)

    by_vertex = Ours.by_vertex


class LayeredRanks(Contender):
    """PageRank of a layered edge list in memory."""

    library = "rapidsgraph"

    def __init__(self):
        super().__init__("layered")
        self.note = "of a layered edge list"

    def prepare(self, workload):
        return rg.LayeredEdgeList.build(workload.graph, workload.start)

    def iterate(self, layered, iterations):
        return self.rank(layered, tolerance=0, max_iterations=iterations)

    def solve(self, layered):
        return self.rank(
            layered, tolerance=TOLERANCE[self.precision], max_iterations=MOST_ITERATIONS
        )

    def rank(self, layered, **limits):
        return rg.pagerank(layered, damping=DAMPING, progress=False, **limits)["pagerank"]


def resident(workload, session, effort, step):
    """Records of BFS, SSSP and PageRank of a list in memory, of a Graph, and of cuGraph."""
    weighted, clock = with_weights(workload, session.data), session.clock
    peers = session.peers(cpu_peers, "gpu_searchers")
    ready = traversal.Ready(weighted, clock)
    _ = weighted.graph
    for task in ("bfs", "sssp"):
        searchers = [Ours(task, True), Layered(task)]
        searchers += traversal.chosen(
            [one for one in peers if one.predecessors], task, weighted, session.notes
        )
        yield from traversal.measure(weighted, task, searchers, ready, effort, clock, step)
    others = []
    if session.xp is not np:
        others = [one for one in session.peers(None, "gpu_peers") if one.library == "cuGraph"]
    ranked = [OurRanks("auto", "double"), LayeredRanks(), *others]
    yield from pagerank.measure(workload, ranked, effort, clock, step=step)


@contextmanager
def counted_launches():
    """A list of the kernels over partitions that are launched meanwhile, checksums aside."""
    found, honest = [], device.launch

    def launch(stem, entry, **arguments):
        if stem in ("layered_sweep", "layered_sssp") and entry != "add_checksums":
            found.append(entry)
        return honest(stem, entry, **arguments)

    device.launch = launch
    try:
        yield found
    finally:
        device.launch = honest


def flag_us(clock):
    """Microseconds of a kernel and of copying the number that it wrote to the host."""
    flag = clock.xp.zeros(1, np.int32)

    def copies():
        for _ in range(FLAGS):
            flag.fill(1)
            flag.get()

    return min(clock.ms(copies) for _ in range(3)) / FLAGS * 1e3


def iterations(workload, session, effort, step):
    """Records of the iterations of BFS and SSSP, and what they would take with a flag."""
    clock, start = session.clock, workload.start
    for algorithm in ("bfs", "sssp"):
        step(f"{workload.name}: iterations, {algorithm}")
        given = with_weights(workload, session.data) if algorithm == "sssp" else workload
        graph = given.build()
        layered = rg.LayeredEdgeList.build(graph, start)
        row = {
            "table": "iterations", "who": "here", "graph": workload.name, "algorithm": algorithm,
            "edges": layered.num_edges, "layers": layered.depth + 1,
            "combined": len(layered.combined["edges"]),
        }  # fmt: skip
        truth = streams.truths(graph, start, [algorithm])[algorithm]
        run = partial(streams.CALLS[algorithm], layered)
        with counted_launches() as launches:
            answer = run()
        row |= {"launches": len(launches), "passes": layered.last_run.passes}
        row["check"] = streams.differs(answer, truth, session.xp) or "ok"
        del answer, truth
        if algorithm == "sssp":
            row["sweep_rounds"] = sweeps.run_sssp(
                storage_of(layered), float("inf"), True, None, False
            ).rounds
        if row["check"] == "ok":
            jobs = {
                "run_ms": partial(clock.ms, run),
                "graph_run_ms": partial(clock.ms, partial(streams.CALLS[algorithm], graph, start)),
            }
            for name, taken in timing.rounds(jobs, effort.rounds, effort.build, clock).items():
                row[name] = timing.summary(taken)
        if session.xp is not np:
            each = flag_us(clock)
            row |= {
                "flag_us": wolfpath.rounded(each),
                "flag_ms": wolfpath.rounded(each * row["layers"] / 1e3),
            }
        yield row


def built(workload, session, effort, folder, step):
    """Records of a build in memory, of save and open, and of builds from a file."""
    for weighted in (False, True):
        given = with_weights(workload, session.data) if weighted else workload
        step(f"{workload.name}: building{', weights' * weighted}")
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            yield one_build(given, workload.start, session, effort, Path(temporary))


def one_build(workload, root, session, effort, folder):
    clock, weighted = session.clock, workload.weight is not None
    graph = workload.build()
    make = partial(rg.LayeredEdgeList.build, graph, root)
    layered, store = make(), folder / "store"
    row = {
        "table": "layered build", "graph": workload.name, "weighted": weighted,
        "vertices": layered.num_vertices, "edges": layered.num_edges, "layers": layered.depth + 1,
        "partitions": len(storage_of(layered).table),
    } | sizes(layered)  # fmt: skip
    row["graph_ms"] = timing.summary(clock.repeated(workload.build, 3, effort.whole))
    row["build_ms"] = timing.summary(clock.repeated(make, effort.rounds, effort.build))
    save = partial(layered.save, store)
    row["save_ms"] = timing.summary(clock.repeated(save, 3, effort.build))
    opening = partial(streams.opened, store, session.xp)
    row["open_ms"] = timing.summary(clock.repeated(opening, effort.rounds, effort.whole))
    wrong = differs(streams.opened(store, session.xp), layered)
    path = folder / "edges.parquet"
    write_file(workload, path)
    columns = {"weight": "weight"} if weighted else {}
    options = {"directed": workload.directed, "multi_edges": workload.multi_edges}

    if not weighted or workload.rows <= MOST_WEIGHTED:
        limit = OVERHEAD_BYTES + MIN_WORK_BYTES + VERTEX_BYTES * workload.vertices
        limit += path.stat().st_size // 4
        external = partial(
            rg.LayeredEdgeList.build, path, root, store=folder / "external", device="cpu",
            memory_limit=limit, **columns, **options,
        )  # fmt: skip
        row["limit_bytes"] = limit
        row["external_ms"] = timing.summary(clock.repeated(external, 2, effort.build))
        wrong = wrong or differs(streams.opened(folder / "external", session.xp), layered)
    if session.xp is np or not device.frame_library_problem():

        def whole():
            frame = rg.read_edges(path, **columns, device="cpu" if session.xp is np else "gpu")
            again = LocalGraph(frame, **columns, **options)
            rg.LayeredEdgeList.build(again, root).save(folder / "whole")

        row["whole_ms"] = timing.summary(clock.repeated(whole, 2, effort.build))
        wrong = wrong or differs(streams.opened(folder / "whole", session.xp), layered)
    row["check"] = wrong or "ok"
    if wrong:
        row = {name: value for name, value in row.items() if not name.endswith("_ms")}
    return row


def sizes(layered):
    """Bytes an edge of CSR, of the list and, by the text, of CuSha; with weights as stored."""
    edges, vertices = max(layered.num_edges, 1), layered.num_vertices
    storage = storage_of(layered)
    weight = 0 if storage.weight_dtype is None else np.dtype(storage.weight_dtype).itemsize
    csr = (4 + weight) * layered.num_edges + 8 * (vertices + 1)
    arrays = storage.table, storage.layer_starts, storage.layer_edges
    own = layered.nbytes + 4 * vertices + sum(array.nbytes for array in arrays)
    return {
        "csr_per_edge": wolfpath.rounded(csr / edges),
        "layered_per_edge": wolfpath.rounded(own / edges),
        "cusha_per_edge": wolfpath.rounded(wolfpath.CUSHA_SPACE * csr / edges),
        "by_csr": wolfpath.rounded(own / csr),
        "cusha_by_csr": wolfpath.CUSHA_SPACE,
    }


def differs(layered, truth):
    """What is wrong with a list that must have the layers of another, or None.

    A file has no vertices without edges; in no layer are they.
    """
    storage, expected = storage_of(layered), storage_of(truth)
    if layered.num_edges != truth.num_edges:
        return f"wrong: {layered.num_edges} edges of {truth.num_edges}"
    if not np.array_equal(storage.layer_edges, expected.layer_edges):
        return "wrong: edges of the layers"
    if not np.array_equal(storage.layer_starts, expected.layer_starts):
        return "wrong: vertices of the layers"
    return None


def write_file(workload, path):
    """The rows of a workload as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    columns = {"source": workload.source, "destination": workload.destination}
    if workload.weight is not None:
        columns["weight"] = workload.weight
    columns = {name: on_host(values) for name, values in columns.items()}
    pyarrow.parquet.write_table(
        pyarrow.table(columns), path, compression="none", use_dictionary=False
    )


def on_host(values):
    return values.get() if hasattr(values, "get") else values
