"""Kim's figures 4 to 6: ten iterations of PageRank by edges and by vertices, host to host.

    python pipelines/benchmarks/kim.py [--device auto|cpu|gpu] [--graphs 2M-sparse,roadNet-CA]
                                       [--full] [--quick] [--output FILE]

Random graphs have 2, 4 and 8 million vertices and 1, 5 or 10 edges per vertex between uniform
pairs; on a CPU alone an eighth of that, unless --full is given. Two graphs are real, or substitutes
of them. Our kernels on the CPU stand for Green-Marl. Dangling mass is lost, as in formula (1). Kim
prints no times, only the largest ratios of the bars.

References
----------
.. [1] M.-S. Kim, "Towards exploiting GPUs for fast PageRank computation of large-scale networks",
   Daegu Gyeongbuk Institute of Science and Technology (DGIST), section 5.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record, claim_row
from pipelines.benchmarks.tasks import DAMPING, pagerank_after
from rapidsgraph import generate
from rapidsgraph.graph.csr import row_indices

ITERATIONS, LAUNCH = 10, (1000, 1000)  # Kim's blocks and threads, for edge and node
MAX_DISTANCE = 1e-5  # in total from formula (1), in single precision
DENSITIES, FIGURES = {"sparse": 1, "normal": 5, "dense": 10}, {2: "4", 4: "text", 8: "5"}
RANDOM = {f"{size}M-{density}": (size, density) for size in FIGURES for density in DENSITIES}
REAL = {"roadNet-CA": "NY", "cit-Patents": "cit-HepPh"}  # figure 6, and the substitutes
CLAIMS = (  # claim, slower and faster system
    ("node is faster than edge on the GPU, up to 2.82 times", "gpu_edge", "gpu_node"),
    ("node is faster than edge on one thread", "cpu_edge_1", "cpu_node_1"),
    ("node on the GPU is faster than all threads, up to 1.96 times", "cpu_node_all", "gpu_node"),
    ("all threads are faster than one", "cpu_node_1", "cpu_node_all"),
)  # fmt: skip


def load_graph(name: str, session: Session, divisor: int) -> tuple[str, Workload]:
    """Return (figure, workload); random graphs have 1 / divisor of the vertices."""
    if name in RANDOM:
        size, density = RANDOM[name]
        vertices = size * 10**6 // divisor
        edges = DENSITIES[density] * vertices
        ends = generate.arrays.uniform_arrays(session.xp, vertices, edges, seed=SEED)[:2]
        label = name if divisor == 1 else f"{name}/{divisor}"
        origin = f"uniform({vertices}, {edges}, seed={SEED})"
        return FIGURES[size], Workload(
            label, origin, session.xp, vertices, *ends, multi_edges="keep"
        )
    try:
        return "6", load(name, session.xp, session.options.data)
    except GraphUnavailableError:
        if name not in REAL:
            raise
        session.notes.append(f"{REAL[name]} stands in for {name}, which is not here")
        return "6", load(REAL[name], session.xp, session.options.data)


def systems(on_gpu: bool) -> dict[str, tuple[str, int | None]]:
    """Return {key: (method, threads of the CPU or None for the GPU)}."""
    gpu = {f"gpu_{method}": (method, None) for method in ("edge", "node", "auto")}
    threads = numba.get_num_threads()
    cpu = {"cpu_edge_1": ("edge", 1), "cpu_node_1": ("node", 1), "cpu_node_all": ("node", threads),
           "cpu_auto_all": ("auto", threads)}  # fmt: skip
    return {**gpu, **cpu} if on_gpu else cpu


def run_pagerank(graph: Any, method: str, threads: int | None) -> Any:
    """Return the values after ten iterations in single precision."""
    previous = numba.get_num_threads()
    numba.set_num_threads(threads or previous)
    launch = LAUNCH if method in ("edge", "node") and threads is None else None
    try:
        return rg.pagerank(
            graph, damping=DAMPING, tolerance=0, max_iterations=ITERATIONS, dangling="drop",
            method=method, precision="single", progress=False, launch=launch,
        )["pagerank"]  # fmt: skip
    finally:
        numba.set_num_threads(previous)


def transferred_arrays(graph: Any, method: str) -> list[np.ndarray]:
    """Return the arrays that Kim copies to the device: edges or lists, and out-degrees."""
    csc = graph.csc
    degrees = graph.xp.bincount(csc.neighbors, minlength=graph.num_vertices).astype(np.int32)
    ends = (csc.neighbors, row_indices(csc)) if method == "edge" else (csc.offsets, csc.neighbors)
    return [to_host(values) for values in (*ends, degrees)]


def prepare(
    workload: Workload, method: str, threads: int | None, expected: Any, session: Session,
    row: Record,
) -> harness.Job | None:  # fmt: skip
    """Check a system and time its transfers; return the job that times it with them."""
    if threads and session.on_gpu:
        columns = {name: to_host(getattr(workload, name)) for name in ("source", "destination")}
        workload = replace(workload, xp=np, **columns)
    build, graph = session.clock.timed(lambda: build_with_incoming(workload))
    row["build_ms"] = timing.summary([build])
    run = partial(run_pagerank, graph, method, threads)
    if threads is None:
        arrays, xp, values = transferred_arrays(graph, method), workload.xp, run()
        resident = session.clock.repeated(run, 3, 0.2)
        transfer = session.clock.repeated(
            lambda: ([xp.asarray(array) for array in arrays], to_host(values)), 3, 0.2
        )
        row["transferred_bytes"] = sum(array.nbytes for array in arrays) + values.nbytes
        row |= {"resident_ms": timing.summary(resident), "transfer_ms": timing.summary(transfer)}
        whole = lambda: ([xp.asarray(array) for array in arrays], to_host(run()))[1]  # noqa: E731
    else:
        whole = lambda: to_host(run())  # noqa: E731

    def check(values: np.ndarray) -> str | None:
        return compare_pagerank(values, expected, MAX_DISTANCE, "formula (1)")

    return harness.checked(whole, check, session, row)


def build_with_incoming(workload: Workload) -> Any:
    """Build a graph and its lists by destination, which are cached on it."""
    graph = workload.build()
    _ = graph.csc
    return graph


def measure(name: str, session: Session, divisor: int) -> Iterator[Record]:
    """Yield the bars of a graph with their ratios, and its runs."""
    figure, workload = load_graph(name, session, divisor)
    expected = to_host(pagerank_after(workload, ITERATIONS, dangling=False))
    contenders = []
    for key, (method, threads) in systems(session.on_gpu).items():
        place = "GPU" if threads is None else f"CPU, {threads} threads"
        row = {"table": "Kim runs", "figure": figure, "graph": workload.name, "key": key}
        row |= {"kind": method, "runs_on": place}
        contenders.append((row, partial(prepare, workload, method, threads, expected, session)))
    runs = harness.take_turns(contenders, session, "ten_ms")
    bars: Record = {"table": "Kim", "figure": figure, "graph": workload.name}
    bars |= {"vertices": workload.vertices, "edges": int(workload.rows)}
    bars |= {f"{row['key']}_ms": row["ten_ms"] for row, _ in runs if "ten_ms" in row}
    yield bars
    yield from (row for row, _ in runs)


def claims(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield a sentence on each claim of Kim's that the rows can judge."""
    bars = [row for row in rows if row["table"] == "Kim"]
    for text, slow, fast in CLAIMS:
        pairs = [(row.get(f"{slow}_ms"), row.get(f"{fast}_ms")) for row in bars]
        ratios = [one["median"] / other["median"] for one, other in pairs if one and other]
        if ratios:
            yield claim_row("Kim", text, ratios)
    for text, is_real in (("slower on random graphs", False), ("faster on real graphs", True)):
        own = [row for row in bars if (row["figure"] == "6") == is_real and "gpu_edge_ms" in row]
        ratios = [row["cpu_node_all_ms"]["median"] / row["gpu_edge_ms"]["median"] for row in own]
        if ratios:
            holds = min(ratios) > 1 if is_real else max(ratios) < 1
            yield claim_row("Kim", f"edge on the GPU is {text} than all threads", ratios, holds)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--full", action="store_true", help="Kim's sizes on a CPU, too")

    options = harness.parse_options(__doc__, arguments, add_options)
    divisor = 2000 if options.quick else 1 if options.full or options.on_gpu else 8
    options.effort = replace(options.effort, rounds=min(options.effort.rounds, 3), budget=1.0)
    session = Session("kim", options, seed=SEED, precision="single", smaller=divisor)
    list(measure("2M-sparse", session, 2000))  # compiles
    for name in options.graphs or (list(RANDOM)[:2] if options.quick else [*RANDOM, *REAL]):
        session.attempt(name, partial(measure, name, session, divisor))
    session.rows = [*claims(session.rows), *session.rows]
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
