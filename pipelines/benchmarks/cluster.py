"""Dask frames beside the same calls in memory: builds, iterations, searches, scaling, streaming.

    python pipelines/benchmarks/cluster.py [--device auto|cpu|gpu] [--scale 21] [--workers 1,2]
                                           [--only pagerank,bfs,components,sssp,scan,streamed]
                                           [--protocol ucx] [--stream-scale 20] [--folder FOLDER]
                                           [--quick] [--output FILE]

Rows are made in shares: on a CPU as Parquet files, which workers read, on GPUs by the workers. What
the parts of a result hold is compared, where they are, with what one memory gave; whoever differs
gets no time. Each figure is printed and saved when it is there. README.md beside this file says
what the columns mean.
"""

import contextlib
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script


import rapidsgraph as rg
from pipelines.benchmarks import command, shares, stored, timing
from pipelines.benchmarks.shares import FEW, MANY, Rows
from pipelines.benchmarks.workloads import SEED
from rapidsgraph.distributed.cluster import cluster

TASKS = ("pagerank", "bfs", "components", "sssp", "scan", "streamed")
GPU_TASKS = ("pagerank", "bfs", "streamed")
SCALES = {"cpu": 21, "gpu": 24, "quick": 10}
FACTORS = {"cpu": 16, "gpu": 40, "quick": 8}
STREAM_SCALES = {"cpu": 16, "gpu": 20, "quick": 8}
STREAM_FACTORS = {"cpu": 256, "gpu": 256, "quick": 256}
SHARES = 8
ROUNDS = {"cpu": 5, "gpu": 3, "quick": 1}


def extend(parser):
    command.only(TASKS)(parser)
    parser.set_defaults(only=None)
    parser.add_argument("--scale", type=int, help="of the graph: 2^SCALE vertices")
    parser.add_argument("--factor", type=int, help="rows for each vertex")
    parser.add_argument("--stream-scale", type=int, help="of the graph that is streamed")
    parser.add_argument("--stream-factor", type=int, help="rows for each of its vertices")
    parser.add_argument("--workers", default="1,2", help="numbers of workers, such as 1,2")
    parser.add_argument("--protocol", help="how workers on GPUs talk: tcp or ucx")
    parser.add_argument("--folder", type=Path, help="for files of rows, results and stores")


class Run:
    """A session whose records are printed and saved as they come."""

    def __init__(self, session, kind, folder, protocol):
        self.session, self.kind, self.folder = session, kind, Path(folder)
        self.on_gpu, self.rounds, self.protocol = kind == "gpu", ROUNDS[kind], protocol

    def add(self, row):
        self.session.rows.append(row)
        facts = {name: value for name, value in row.items() if name not in ("table", "check")}
        said = [
            f"{name} {value['median'] if isinstance(value, dict) else value}"
            for name, value in facts.items()
        ]
        print(f"{row.get('check', '')}: {', '.join(said)}", flush=True)
        self.session.save()

    def attempt(self, about, work):
        """`work(row)` fills a record, which says why where it fails."""
        row = dict(about)
        command.attempted(row, lambda: work(row))
        self.add(row)

    def frame(self, rows):
        """A Dask frame of the rows: of files, or on GPUs of what workers make."""
        import dask.dataframe

        if self.on_gpu:
            return rows.frame(on_gpu=True)
        return dask.dataframe.read_parquet(rows.write(self.folder))

    def cluster(self, workers):
        return cluster("gpu" if self.on_gpu else "cpu", workers=workers, protocol=self.protocol)


def ways(run, workers):
    """(how, workers, threads of each, a context of a client) of what is compared."""
    from dask.system import CPU_COUNT

    for count in workers:
        if run.on_gpu:
            yield f"{count} GPU{'s' if count > 1 else ''}", count, 1, run.cluster(count)
            continue
        each = max(1, CPU_COUNT // count)
        several = "es" if count > 1 else ""
        yield f"{count} process{several}", count, each, run.cluster(count)
        yield f"in this process, {count}", count, each, in_this_process(count, each)
    if not run.on_gpu:
        yield "no client", 1, CPU_COUNT, contextlib.nullcontext()


@contextlib.contextmanager
def in_this_process(workers, threads):
    from distributed import Client, LocalCluster

    options = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=threads, **options) as local,
        Client(local) as client,
    ):
        yield client


def finish(result):
    """Wait for all parts of a result: how many rows there are."""
    return sum(shares.map_partitions(result, shares.settled))


def built(run, rows):
    """(milliseconds of the build, the graph in parts)."""
    clock = timing.Clock()

    def build():
        graph = rg.Graph(run.frame(rows), **rows.options())
        finish(graph.vertices)
        return graph

    return clock.timed(build)


def parted(run, rows, where, truth, algorithms, folder, held=None):
    """Records of algorithms on a graph in parts, beside those in memory.

    truth: what `shares.reference` gives; folder: where it left the results that are right. held:
    the graph in memory, where it takes turns.
    """
    how, count, threads, _ = where
    start, facts, memory, each = truth
    about = {
        "table": "cluster", "graph": rows.name, "how": how, "workers": count, "threads": threads,
    }  # fmt: skip
    row = about | {"algorithm": "build"}
    found = command.attempted(row, lambda: built(run, rows))
    if found is None:
        run.add(row)
        return
    build, graph = found
    right = (graph.num_vertices, graph.num_edges) == (facts["vertices"], facts["edges"])
    row |= facts | {"check": "ok" if right else f"wrong: {graph.num_edges} edges"}
    run.add(row | ({"run_ms": timing.summary([build])} if right else {}))
    for name in algorithms if right else ():
        sizes = {key: facts[key] for key in ("vertices", "edges")}
        work = partial(one, run, graph, name, start, memory.get(name), each, folder, held)
        run.attempt(about | {"algorithm": name} | sizes, work)


def one(run, graph, name, start, memory, each, folder, held, row):
    """Check one algorithm, then time it; `held` in memory takes turns."""
    clock = timing.Clock()
    calls = {MANY: shares.calls(start)[name], FEW: shares.calls(start, FEW)[name]}

    def ms(iterations=MANY):
        return clock.ms(lambda: finish(calls[iterations](graph)))

    first, result = clock.timed(lambda: calls[MANY](graph))
    row["first_ms"] = timing.summary([first])["median"]
    found = shares.map_partitions(result, shares.compared, folder, name)
    lengths, wrong = map(sum, zip(*found))
    del result
    if wrong or lengths != row["vertices"]:
        row["check"] = f"wrong: {wrong} values in {lengths} rows"
        return
    jobs = {"run": ms} | ({"memory": lambda: held.run(name)} if held else {})
    if name == "pagerank":
        jobs |= {"few": lambda: ms(FEW)}
        jobs |= {"memory_few": lambda: held.run(name, FEW)} if held else {}
    times = timing.rounds(jobs, run.rounds, 60, clock)
    memory = times.get("memory", memory)
    row["run_ms"], row["memory_ms"] = timing.summary(times["run"]), timing.summary(memory)
    row["by_memory"] = timing.paired_ratio(times["run"], memory)
    if name == "pagerank":
        own = each_of(times["run"], times["few"])
        each = each_of(memory, times["memory_few"]) if held else each
        row["iteration_ms"] = timing.summary(own)
        row["memory_iteration_ms"] = timing.summary(each)
        row["iteration_by_memory"] = timing.paired_ratio(own, each)
        beyond = row["iteration_ms"]["median"] - row["memory_iteration_ms"]["median"]
        row["overhead_ms"] = float(f"{beyond:.3g}")
    row["check"] = "ok"


def each_of(many, few):
    return [(long - short) / (MANY - FEW) for long, short in zip(many, few)]


def on_cpu(run, tasks, workers, rows):
    """All ways take turns with the graph in this process, which has as many threads."""
    plain = [name for name in shares.PLAIN if name in tasks]
    cases = [(rows, plain)] if plain else []
    if "sssp" in tasks:
        smaller = Rows("rmat", max(rows.scale - 2, 8), rows.factor, rows.count, weighted=True)
        cases.append((smaller, ["sssp"]))
    if "scan" in tasks:
        smaller = Rows("rmat", max(rows.scale - 4, 8), rows.factor, rows.count, directed=False)
        cases.append((smaller, ["scan"]))
    for given, algorithms in cases:
        given.write(run.folder)
        held = shares.Held(given, run.folder)
        held.keep(algorithms)
        truth = held.start, held.facts, {}, []
        for where in ways(run, workers):
            with where[-1]:
                warm_up(run, algorithms, given)
                parted(run, given, where, truth, algorithms, run.folder, held)


def on_gpus(run, tasks, workers, rows):
    """In memory on one GPU, then as many workers as asked for; half of the graph on one of them.

    Strong scaling is the same graph on more workers, weak scaling half on one and all on two.
    """
    algorithms = [name for name in shares.PLAIN if name in tasks]
    truths = {}
    for where in ways(run, workers) if algorithms else ():
        with where[-1] as client:
            warm_up(run, algorithms, rows)
            for given in (rows.half(), rows) if where[1] == 1 else (rows,):
                folder = run.folder / str(given.count)
                if given not in truths:
                    folder.mkdir()
                    work = (shares.reference, given, folder, algorithms, run.rounds, run.on_gpu)
                    truths[given] = client.submit(*work, pure=False).result()
                parted(run, given, where, truths[given], algorithms, folder)


def scalings(rows):
    """Records of what more workers gain: the same graph, and one that grows with them.

    The second is half of the graph on one worker and all of it on two: the same time is a speedup
    of 1.
    """
    timed = [row for row in rows if row["table"] == "cluster" and "run_ms" in row]
    timed = [row for row in timed if row["how"].endswith(("GPU", "GPUs", "process", "processes"))]
    for many in (row for row in timed if row["workers"] > 1):
        for one in (row for row in timed if row["workers"] == 1):
            same, half = one["graph"] == many["graph"], one["graph"].startswith(many["graph"] + ",")
            weak = half and many["workers"] == 2
            if one["algorithm"] != many["algorithm"] or not (same or weak):
                continue
            times = [row.get("iteration_ms", row["run_ms"])["median"] for row in (one, many)]
            yield {
                "table": "scaling", "scaling": "strong" if same else "weak",
                "algorithm": many["algorithm"], "graph": many["graph"], "one_ms": times[0],
                "many_ms": times[1], "workers": many["workers"],
                "speedup": float(f"{times[0] / times[1]:.3g}") if times[1] > 0 else None,
            }  # fmt: skip


def warm_up(run, algorithms, rows):
    """Compile, or load, what each worker needs."""
    tiny = Rows(rows.kind, 8, 8, 4, weighted=rows.weighted, directed=rows.directed)
    graph = rg.Graph(tiny.frame(run.on_gpu), **tiny.options())
    start = int(tiny.share(0)["source"].iloc[0])
    for name in algorithms:
        finish(shares.calls(start, FEW)[name](graph))


def main(arguments=None):
    found = command.options("Time Dask frames.", arguments, ((), (), ()), extend)
    kind = "quick" if found.quick else "gpu" if found.on_gpu else "cpu"
    on_gpu, found.on_gpu = found.on_gpu and not found.quick, False  # nothing is held on a GPU here
    tasks = found.only or (GPU_TASKS if on_gpu else TASKS)
    workers = [int(count) for count in found.workers.split(",")]
    session = Alone("cluster", found, seed=SEED, tasks=",".join(tasks))
    scale = SCALES[kind] if found.scale is None else found.scale
    rows = Rows("rmat", scale, found.factor or FACTORS[kind], SHARES)
    scale = STREAM_SCALES[kind] if found.stream_scale is None else found.stream_scale
    factor = found.stream_factor or STREAM_FACTORS[kind]
    streamed = Rows("uniform", scale, factor, SHARES, weighted=True)
    with tempfile.TemporaryDirectory(dir=found.folder) as folder:
        run = Run(session, kind, folder, found.protocol)
        (on_gpus if on_gpu else on_cpu)(run, tasks, workers, rows)
        session.rows += scalings(list(session.rows))
        if "streamed" in tasks:
            stored.measure(run, streamed, workers)
    return session.finish()


class Alone(command.Session):
    """A session that cannot tell its workers from other processes, and so does not count those."""

    def others(self):
        return "not counted: workers are processes, too"


if __name__ == "__main__":
    sys.exit(command.status(main()))
