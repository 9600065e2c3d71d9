"""Reddy's table 6.2: 1000 iterations of PageRank, serial and by implementations I, II and III.

    python pipelines/benchmarks/reddy.py [--device auto|cpu|gpu] [--graphs ego-Facebook,cit-DBLP]
                                         [--quick] [--output FILE] [--data FOLDER]

A run starts on a ready graph and ends with values on the host, in single precision; dangling mass
is lost. I is our method node, II contribution. III was only planned: our method warp is similar,
and on a GPU reddy.cu has it with child kernels, for all lists or for long ones, and the same sums
without them. Times of child kernels are scaled from few iterations.

References
----------
.. [1] C. S. Reddy, "GPU Programming", B.Tech. project report, Indian Institute of Technology
   Palakkad, chapters 3 to 7.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np
from numba import njit

import rapidsgraph as rg
from pipelines.benchmarks import harness, timing
from pipelines.benchmarks.answers import compare_pagerank, to_host
from pipelines.benchmarks.graphs import SEED, Workload, load
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record, claim_row
from pipelines.benchmarks.tasks import DAMPING, MAX_DISTANCE, pagerank_after

ITERATIONS, QUICK_ITERATIONS, CHILD_ITERATIONS = 1000, 50, 20
CONVERGED = 300  # iterations after which values in double precision are constant: 0.85^300 = 7e-22
LONG_LIST = 32  # neighbors; a child kernel cannot pay for fewer
PARENT_THREADS, VERTEX_THREADS = 256, 64  # of a block, with and without child kernels
PENDING_LAUNCHES = 0x04  # cudaLimitDevRuntimePendingLaunchCount
SECONDS = {  # of 1000 iterations on an RTX 2080 Ti
    "ego-Facebook": {"serial": 0.657086, "I": 0.200191, "II": 0.161187},
    "cit-DBLP": {"serial": 0.689932, "I": 0.200105, "II": 0.160348},
}
CHILDREN, LONG_CHILDREN = "III, a child kernel a vertex", "III, child kernels for long lists"
NO_CHILDREN = "III, without child kernels"
METHODS = {"I": "node", "II": "contribution", "III": "warp", "auto": "auto"}
CLAIMS = (("I is faster than serial, 3.28 to 3.45 times", "serial", "I"),
          ("II is faster than I, 1.24 to 1.25 times", "I", "II"),
          ("III, as planned, is faster than II", "II", CHILDREN),
          ("III without child kernels is faster than II", "II", NO_CHILDREN))  # fmt: skip


@njit
def serial_pagerank(offsets, neighbors, degrees, damping, iterations):
    """Evaluate listing 3.1: one thread, single precision, one division per edge."""
    vertices = len(degrees)
    values = np.full(vertices, np.float32(1.0) / np.float32(vertices), np.float32)
    new_values = np.empty(vertices, np.float32)
    teleport = (np.float32(1.0) - damping) / np.float32(vertices)
    for _ in range(iterations):
        for vertex in range(vertices):
            contribution = np.float32(0.0)
            for edge in range(offsets[vertex], offsets[vertex + 1]):
                source = neighbors[edge]
                contribution += values[source] / np.float32(degrees[source])
            new_values[vertex] = teleport + damping * contribution
        values[:] = new_values
    return values


def prepare_serial(workload: Workload) -> Callable[[int], Any]:
    """Return the function that runs listing 3.1 for some iterations."""
    csc = workload.graph.csc
    neighbors = to_host(csc.neighbors)
    degrees = np.bincount(neighbors, minlength=workload.vertices).astype(np.int32)
    return partial(serial_pagerank, to_host(csc.offsets), neighbors, degrees, np.float32(DAMPING))


def prepare_method(method: str, workload: Workload) -> Callable[[int], Any]:
    """Return the function that runs a method of ours."""

    def run(iterations: int) -> np.ndarray:
        result = rg.pagerank(
            workload.graph, damping=DAMPING, tolerance=0, max_iterations=iterations,
            dangling="drop", method=method, precision="single", progress=False,
        )  # fmt: skip
        return to_host(result["pagerank"])

    run(1)  # builds lists by destination, and a layout if the method has one
    return run


@functools.cache
def compile_kernel(entry: str) -> Any:
    """Compile a kernel of reddy.cu; child kernels need relocatable code, which nvcc links."""
    import cupy

    code = Path(__file__).with_suffix(".cu").read_text()
    if entry == "sum_in_blocks":
        return cupy.RawModule(code=code, options=("-std=c++17",)).get_function(entry)
    options = ("-std=c++17", "-DCHILD_KERNELS", "-dc")
    module = cupy.RawModule(code=code, options=options, backend="nvcc")
    return module.get_function(entry)


def prepare_sums(
    max_inline: int | None, workload: Workload, kernel: Callable[..., None] | None = None
) -> Callable[[int], Any]:
    """Return the function that runs sums by warps; lists beyond `max_inline` have child kernels."""
    graph, xp = workload.graph, workload.xp
    csc, vertices = graph.csc, graph.num_vertices
    kernel = kernel or compile_kernel("sum_in_blocks" if max_inline is None else "sum_in_children")
    degrees = xp.bincount(csc.neighbors, minlength=vertices)
    out_weights = xp.maximum(degrees, 1).astype(np.float32)
    lists = (
        xp.ascontiguousarray(csc.offsets, dtype=np.int64),
        xp.ascontiguousarray(csc.neighbors, dtype=np.int32), out_weights,
        np.float64(DAMPING), np.float64((1 - DAMPING) / vertices),
    )  # fmt: skip
    failures = xp.zeros(2, np.int32)
    if max_inline is not None and xp is not np:
        runtime = xp.cuda.runtime
        if runtime.deviceGetLimit(PENDING_LAUNCHES) < vertices:
            runtime.deviceSetLimit(PENDING_LAUNCHES, vertices)

    def run(iterations: int) -> np.ndarray:
        buffers, values = xp.empty((2, vertices), np.float32), xp.empty(vertices, np.float32)
        buffers[0] = 1 / vertices / out_weights
        for iteration in range(iterations):
            now, following = iteration % 2, 1 - iteration % 2
            arrays = (*lists, buffers[now], buffers[following], values)
            if max_inline is None:
                kernel((vertices,), (VERTEX_THREADS,), (np.int64(vertices), *arrays))
                continue
            blocks, sizes = -(-vertices // PARENT_THREADS), (vertices, max_inline)
            arguments = (*map(np.int64, sizes), *arrays, failures)
            kernel((blocks,), (PARENT_THREADS,), arguments)
        if count := int(failures[0]):
            raise RuntimeError(f"{count} launches were refused, CUDA error {int(failures[1])}")
        return to_host(values)

    return run


def implementations(on_gpu: bool) -> dict[str, Callable[[Workload], Callable[[int], Any]]]:
    """Return the functions that prepare each row of the table; only a GPU has child kernels."""
    rows: dict[str, Callable[[Workload], Callable[[int], Any]]] = {"serial": prepare_serial}
    rows |= {name: partial(prepare_method, method) for name, method in METHODS.items()}
    if on_gpu:
        sums = {NO_CHILDREN: None, CHILDREN: 0, LONG_CHILDREN: LONG_LIST}
        rows |= {name: partial(prepare_sums, max_inline) for name, max_inline in sums.items()}
    return rows


def measure(workload: Workload, session: Session, iterations: int) -> Iterator[Record]:
    """Yield a record for each implementation: checked by formula (1), then timed in turns."""
    contenders = []

    def prepare(name: str, prepare: Callable, row: Record) -> harness.Job | None:
        run, count = prepare(workload), iterations
        if "child kernel" in name and name != NO_CHILDREN:
            count = min(iterations, CHILD_ITERATIONS)
            row["note"] = f"{iterations} extrapolated from {count}"
        expected = to_host(pagerank_after(workload, min(count, CONVERGED), dangling=False))

        def check(values: np.ndarray) -> str | None:
            return compare_pagerank(values, expected, MAX_DISTANCE["single"], "formula (1)")

        job = harness.checked(lambda: run(count), check, session, row)
        return job and (lambda: job() * iterations / count)

    for name, function in implementations(session.on_gpu).items():
        seconds = SECONDS.get(workload.name, {})
        row: Record = {"table": "Reddy", "graph": workload.name, "vertices": workload.vertices}
        row |= {"edges": int(workload.rows), "implementation": name, "kind": METHODS.get(name)}
        if name in seconds:
            row["paper_ms"] = round(1e3 * seconds[name], 3)
            row["paper_by_serial"] = float(f"{seconds['serial'] / seconds[name]:.3g}")
        contenders.append((row, partial(prepare, name, function)))
    measured = harness.take_turns(contenders, session, "thousand_ms")
    times = {row["implementation"]: values for row, values in measured}
    for row, values in measured:
        if values and row["implementation"] != "serial":
            row["by_serial"] = timing.paired_ratio(times["serial"], values)
        yield row


def claims(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield a sentence on each step from one implementation to the next."""
    times = {(row["graph"], row["implementation"]): row["thousand_ms"]["median"]
             for row in rows if "thousand_ms" in row}  # fmt: skip
    for text, slow, fast in CLAIMS:
        graphs = dict.fromkeys(graph for graph, name in times if name == fast)
        ratios = [times[g, slow] / times[g, fast] for g in graphs if (g, slow) in times]
        if ratios:
            yield claim_row("Reddy", text, ratios)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    options = harness.parse_options(__doc__, arguments)
    iterations = QUICK_ITERATIONS if options.quick else ITERATIONS
    options.effort = replace(options.effort, rounds=10, budget=0.7)
    session = Session("reddy", options, seed=SEED, precision="single", iterations=iterations)
    list(measure(load("rmat6", session.xp), session, 2))  # compiles
    default = ("rmat8", "karate") if options.quick else tuple(SECONDS)
    for workload in session.graphs(options.graphs or default):
        session.attempt(workload.name, partial(measure, workload, session, iterations))
    session.rows = [*claims(session.rows), *session.rows]
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
