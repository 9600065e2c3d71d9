"""Time rapidsgraph beside cuGraph on one GPU as R-MAT graphs grow, up to 10^9 edges.

    python pipelines/benchmarks/cugraph_scaling.py [--graphs 18-16,22-16,24-40] [--only bfs,build]
                                                   [--without-peer] [--output FILE]

A graph is SCALE-FACTOR: 2^SCALE vertices and FACTOR drawn edges per vertex, without self-loops and
parallel edges. cuGraph is called through pylibcugraph, so that no dataframe layer takes part; calls
of rapidsgraph include their result frames. Both take turns, and times are medians. `floor_ms` is
the time of moving the bytes of `roofline` at the copy rate of the run. cuGraph's PageRank is in
single precision. It has no local clustering coefficient and no label propagation. With `--output`
a picture (.png) is drawn beside the records.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import records
from pipelines.benchmarks.records import Record

GRAPHS = ("16-16", "18-16", "20-16", "22-16", "24-16", "24-40", "26-16")
TASKS = (
    "build", "build and first iteration", "pagerank single", "pagerank double", "bfs", "sssp",
    "bfs undirected", "components undirected", "core number", "triangles", "clustering coefficient",
    "label propagation", "strong components",
)  # fmt: skip
ROUNDS = 5
FEW, MANY = 5, 25  # iterations of two PageRank calls, whose difference is the time of 20
WITHOUT_PEER = ("clustering coefficient", "label propagation")
DAMPING = 0.85
POOL_FRACTION = 0.8  # of the memory of the GPU


class Peer:
    """The functions of cuGraph that are timed, on the rows of one graph."""

    def __init__(self, plc: Any, source: Any, destination: Any, weights: Any) -> None:
        self.plc, self.handle = plc, plc.ResourceHandle()
        self.source, self.destination, self.weights = source, destination, weights
        self.start: Any = None

    def build(self, *, transposed: bool = False, symmetric: bool = False, weighted: bool = False):
        """Return a graph of the rows; a symmetric one has both directions of every edge."""
        options = {"drop_multi_edges": True, "symmetrize": True} if symmetric else {}
        properties = self.plc.GraphProperties(is_symmetric=symmetric, is_multigraph=False)
        return self.plc.SGGraph(
            self.handle, properties, self.source, self.destination,
            weight_array=self.weights if weighted else None, store_transposed=transposed,
            renumber=True, do_expensive_check=False, **options,
        )  # fmt: skip

    def pagerank(self, graph: Any, iterations: int) -> Any:
        return self.plc.pagerank(
            self.handle, graph, None, None, None, None, DAMPING, 0.0, iterations, False,
            fail_on_nonconvergence=False,
        )  # fmt: skip

    def bfs(self, graph: Any, *, direction_optimizing: bool) -> Any:
        return self.plc.bfs(
            self.handle, graph, self.start, direction_optimizing, -1, True, False
        )  # fmt: skip

    def sssp(self, graph: Any) -> Any:
        return self.plc.sssp(self.handle, graph, int(self.start[0]), 1e30, True, False)

    def components(self, graph: Any) -> Any:
        return self.plc.weakly_connected_components(
            self.handle, graph, None, None, None, None, False
        )

    def core_number(self, graph: Any) -> Any:
        return self.plc.core_number(self.handle, graph, "incoming", False)

    def triangles(self, graph: Any) -> Any:
        return self.plc.triangle_count(self.handle, graph, None, False)

    def strong_components(self, graph: Any) -> Any:
        return self.plc.strongly_connected_components(
            self.handle, graph, None, None, None, None, False
        )


class NoPeer:
    """Stand for cuGraph where it is not timed."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments, **options: None


class Benchmark:
    """The tasks on one graph."""

    def __init__(self, name: str, plc: Any) -> None:
        import cupy

        import rapidsgraph as rg

        self.rg, self.cupy, self.name = rg, cupy, name
        scale, factor = map(int, name.split("-"))
        edges = rg.generate.rmat(scale, factor, seed=1, device="gpu")
        source, destination = (edges[each].values for each in ("source", "destination"))
        random = cupy.random.RandomState(1)
        order = random.permutation(source.size)
        columns = {"source": source[order], "destination": destination[order]}
        self.edges = type(edges)(columns)
        self.num_edges, self.num_vertices = source.size, 1 << scale
        self.start = int(cupy.bincount(source, minlength=self.num_vertices).argmax())
        del edges, source, destination, order
        self.weights = random.rand(self.num_edges).astype(cupy.float32)
        self.peer: Any = NoPeer()
        if plc:
            self.peer = Peer(plc, columns["source"], columns["destination"], self.weights)
            self.peer.start = cupy.array([self.start], dtype=columns["source"].dtype)

    def times(self, *functions: Callable[[], Any]) -> list[float]:
        """Return the median milliseconds of each function; they take turns after a warm-up."""
        measured: list[list[float]] = [[] for _ in functions]
        for number in range(ROUNDS + 1):
            for function, values in zip(functions, measured, strict=True):
                self.cupy.cuda.Device().synchronize()
                start = time.perf_counter()
                result = function()
                self.cupy.cuda.Device().synchronize()
                if number:
                    values.append((time.perf_counter() - start) * 1e3)
                del result
        return [statistics.median(values) for values in measured]

    def run(self, tasks: Sequence[str], copy_rate: float) -> Iterator[Record]:
        """Yield the record of each task; one that fails says why."""
        for task in tasks:
            row: Record = {
                "table": "beside cuGraph", "graph": self.name, "edges": self.num_edges,
                "task": task,
            }  # fmt: skip
            try:
                ours, theirs, num_bytes = getattr(self, f"_{task.split()[0]}")(task)
                floor = num_bytes / copy_rate * 1e3 if num_bytes else None
                row["rapidsgraph_ms"] = round(ours, 4)
                if isinstance(self.peer, Peer) and task not in WITHOUT_PEER:
                    row |= {"cugraph_ms": round(theirs, 4), "ratio": round(theirs / ours, 2)}
                row |= {"floor_ms": floor and round(floor, 4), "check": "ok"}
            except Exception as error:  # of memory or of the peer: the next task may work
                row["check"] = f"failed: {type(error).__name__}: {error}"[:160]
            self.cupy.get_default_memory_pool().free_all_blocks()
            yield row

    def _build(self, task: str) -> tuple[float, float, int]:
        rg, peer = self.rg, self.peer
        if task == "build":
            ours, theirs = self.times(lambda: rg.Graph(self.edges), peer.build)
        else:
            ours, theirs = self.times(
                lambda: rg.pagerank(rg.Graph(self.edges), **_iterations(1, "single")),
                lambda: peer.pagerank(peer.build(transposed=True), 1),
            )
        return ours, theirs, 12 * self.num_edges + 8 * self.num_vertices

    def _pagerank(self, task: str) -> tuple[float, float, int]:
        precision = task.split()[1]
        graph, theirs = self.rg.Graph(self.edges), self.peer.build(transposed=True)
        few, many, peer_few, peer_many = self.times(
            *(
                lambda n=n: self.rg.pagerank(graph, **_iterations(n, precision))
                for n in (FEW, MANY)
            ),
            *(lambda n=n: self.peer.pagerank(theirs, n) for n in (FEW, MANY)),
        )
        value = 4 if precision == "single" else 8
        num_bytes = 4 * self.num_edges + 3 * value * self.num_vertices
        return (many - few) / (MANY - FEW), (peer_many - peer_few) / (MANY - FEW), num_bytes

    def _bfs(self, task: str) -> tuple[float, float, int]:
        is_directed = task == "bfs"
        graph = self.rg.Graph(self.edges, directed=is_directed)
        theirs = self.peer.build(symmetric=not is_directed)
        ours, peer = self.times(
            lambda: self.rg.bfs(graph, self.start),
            lambda: self.peer.bfs(theirs, direction_optimizing=not is_directed),
        )
        return ours, peer, 0  # direction-optimizing searches read a part of the arcs

    def _sssp(self, task: str) -> tuple[float, float, int]:
        graph = self.rg.Graph(self.edges.assign(weight=self.weights))
        theirs = self.peer.build(weighted=True)
        ours, peer = self.times(
            lambda: self.rg.sssp(graph, self.start), lambda: self.peer.sssp(theirs)
        )
        return ours, peer, 8 * self.num_edges + 20 * self.num_vertices

    def _components(self, task: str) -> tuple[float, float, int]:
        return self._undirected(self.rg.connected_components, self.peer.components)

    def _core(self, task: str) -> tuple[float, float, int]:
        return self._undirected(self.rg.core_number, self.peer.core_number)

    def _triangles(self, task: str) -> tuple[float, float, int]:
        return self._undirected(self.rg.triangle_count, self.peer.triangles)

    def _clustering(self, task: str) -> tuple[float, float, int]:
        return self._undirected(self.rg.clustering_coefficient, NoPeer().any)

    def _label(self, task: str) -> tuple[float, float, int]:
        graph = self.rg.Graph(self.edges, directed=False)
        few, many = self.times(
            *(lambda n=n: self.rg.label_propagation(graph, iterations=n) for n in (1, FEW))
        )
        num_bytes = 8 * self.num_edges + 12 * self.num_vertices
        return (many - few) / (FEW - 1), 0.0, num_bytes

    def _strong(self, task: str) -> tuple[float, float, int]:
        graph, theirs = self.rg.Graph(self.edges), self.peer.build()
        ours, peer = self.times(
            lambda: self.rg.connected_components(graph, strong=True),
            lambda: self.peer.strong_components(theirs),
        )
        return ours, peer, 8 * self.num_edges + 20 * self.num_vertices

    def _undirected(
        self, function: Callable[[Any], Any], peer: Callable[[Any], Any]
    ) -> tuple[float, float, int]:
        graph = self.rg.Graph(self.edges, directed=False)
        theirs = self.peer.build(symmetric=True)
        num_bytes = 8 * self.num_edges + 12 * self.num_vertices
        return *self.times(lambda: function(graph), lambda: peer(theirs)), num_bytes


def _iterations(count: int, precision: str) -> dict[str, Any]:
    return {"tolerance": 0, "max_iterations": count, "damping": DAMPING, "precision": precision}


def copy_rate(cupy: Any) -> float:
    """Return the bytes per second, read and written, of a copy of 1 GiB on the device."""
    values = cupy.zeros(2**30, cupy.uint8)
    target, times = cupy.empty_like(values), []
    for _ in range(5):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        cupy.copyto(target, values)
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return 2 * values.nbytes / min(times)


def plot(rows: Sequence[Record], path: Path) -> None:
    """Draw the times of both against the edges, a panel per task."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    done = [row for row in rows if row.get("check") == "ok" and "ratio" in row]
    tasks = list(dict.fromkeys(row["task"] for row in done))
    figure = Figure(figsize=(13, 5.5), layout="constrained")
    for axes, task in zip(figure.subplots(2, -(-len(tasks) // 2)).flat, tasks, strict=False):
        own = sorted((row for row in done if row["task"] == task), key=lambda row: row["edges"])
        edges = [row["edges"] for row in own]
        for name, label in (("rapidsgraph_ms", "rapidsgraph"), ("cugraph_ms", "cuGraph")):
            axes.plot(edges, [row[name] for row in own], marker="o", markersize=3, label=label)
        floors = [row["floor_ms"] for row in own]
        if all(floors):
            axes.plot(edges, floors, color="gray", linestyle=":", label="floor")
        axes.set(xscale="log", yscale="log", title=task, xlabel="edges", ylabel="ms")
        axes.xaxis.set_minor_formatter(NullFormatter())  # labels would overlap
        axes.grid(True, linewidth=0.4, alpha=0.6)
        axes.legend(fontsize="x-small", frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 2 if cuGraph is missing."""
    parser = argparse.ArgumentParser(description="Time rapidsgraph beside cuGraph on one GPU.")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="SCALE-FACTOR, ...")
    parser.add_argument("--only", default=",".join(TASKS), help="tasks")
    parser.add_argument("--without-peer", action="store_true", help="time rapidsgraph alone")
    parser.add_argument("--output", type=Path, metavar="FILE", help="records (.jsonl, .md beside)")
    options = parser.parse_args(arguments)
    tasks = options.only.split(",")
    if unknown := [task for task in tasks if task not in TASKS]:
        parser.error(f"no task {unknown[0]!r}; the tasks are {', '.join(TASKS)}")
    pylibcugraph: Any = None
    if not options.without_peer:
        try:
            import pylibcugraph  # before CuPy, whose libraries it would not find
        except ImportError as error:
            print(f"cuGraph is missing ({error}); install pylibcugraph-cu13", file=sys.stderr)
            return 2
    import cupy
    import rmm
    from rmm.allocators.cupy import rmm_cupy_allocator

    size = int(cupy.cuda.Device().mem_info[1] * POOL_FRACTION) // 256 * 256
    rmm.reinitialize(pool_allocator=True, initial_pool_size=size)
    cupy.cuda.set_allocator(rmm_cupy_allocator)
    warnings.simplefilter("ignore")
    rows: list[Record] = []
    rate = copy_rate(cupy)
    run = records.run_record("beside cuGraph", copy_gb_per_s=round(rate / 1e9), rounds=ROUNDS)
    for name in options.graphs.split(","):
        for row in Benchmark(name, pylibcugraph).run(tasks, rate):
            print(*(f"{key}={value}" for key, value in row.items() if key != "table"), flush=True)
            rows.append(row)
            if options.output:
                records.write(options.output, [run, *rows])
    if options.output and any("ratio" in row for row in rows):
        plot(rows, options.output.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
