"""Reddy's table 6.2: 1000 iterations of PageRank, serial and by implementations I, II and III.

A run starts on a ready graph and ends with values on the host, in single precision; dangling mass
is lost. I is our method node, II contribution. III, which was only planned, sums a list by a warp,
as our method warp does.

References
----------
.. [1] C. S. Reddy, "GPU Programming", B.Tech. project report, Indian Institute of Technology
   Palakkad, chapters 3 to 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numba import njit

import rapidsgraph as rg
from pipelines.benchmarks import comparisons, harness, timing
from pipelines.benchmarks.answers import compare_pagerank, to_host
from pipelines.benchmarks.graphs import SEED, Workload
from pipelines.benchmarks.harness import Effort, Session, Suite
from pipelines.benchmarks.records import Record, claim_rows
from pipelines.benchmarks.tasks import DAMPING, MAX_DISTANCE, pagerank_after

ITERATIONS = 1000
CONVERGED = 300  # iterations after which values in double precision are constant: 0.85^300 = 7e-22
SECONDS = {  # of 1000 iterations on an RTX 2080 Ti
    "ego-Facebook": {"serial": 0.657086, "I": 0.200191, "II": 0.161187},
    "cit-DBLP": {"serial": 0.689932, "I": 0.200105, "II": 0.160348},
}
GRAPHS = {"cpu": tuple(SECONDS), "gpu": tuple(SECONDS), "quick": ("rmat8", "karate")}
METHODS = {"I": "node", "II": "contribution", "III": "warp", "auto": "auto"}
CLAIMS = (("I is faster than serial, 3.28 to 3.45 times", "serial", "I"),
          ("II is faster than I, 1.24 to 1.25 times", "I", "II"),
          ("III, as planned, is faster than II", "II", "III"))  # fmt: skip


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


def prepare(name: str, workload: Workload) -> Callable[[], np.ndarray]:
    """Return the function that runs an implementation on a ready graph."""
    if name == "serial":
        csc = workload.graph.csc
        offsets, neighbors = to_host(csc.offsets), to_host(csc.neighbors)
        degrees = np.bincount(neighbors, minlength=workload.vertices).astype(np.int32)
        arguments = offsets, neighbors, degrees, np.float32(DAMPING), ITERATIONS
        return partial(serial_pagerank, *arguments)
    options = {"damping": DAMPING, "tolerance": 0, "dangling": "drop", "precision": "single"}
    call = partial(rg.pagerank, workload.graph, method=METHODS[name], progress=False, **options)
    call(max_iterations=1)  # builds lists by destination, and a layout if the method has one
    return lambda: to_host(call(max_iterations=ITERATIONS)["pagerank"])


def measure(workload: Workload, session: Session) -> Iterator[Record]:
    """Yield a record for each implementation; they take turns."""
    systems, seconds = [], SECONDS.get(workload.name, {})
    for name in ("serial", *METHODS):
        row: Record = {"table": "Reddy", "graph": workload.name, "vertices": workload.vertices}
        row |= {"edges": int(workload.rows), "implementation": name}
        if name in seconds:
            row["paper_ms"] = round(1e3 * seconds[name], 3)
            row["paper_by_serial"] = float(f"{seconds['serial'] / seconds[name]:.3g}")
        systems.append((row, partial(prepare, name, workload)))
    expected = to_host(pagerank_after(workload, CONVERGED, dangling=False))
    check = partial(compare_pagerank, reference=expected, max_distance=MAX_DISTANCE["single"])
    measured = comparisons.compare_systems(systems, check, session, "thousand_ms")
    for row, times in measured:
        if times and row["implementation"] != "serial":
            row["by_serial"] = timing.paired_ratio(measured[0][1], times)
        yield row


def claims(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield the record of each claim."""
    times = {(row["graph"], row["implementation"]): row["thousand_ms"]["median"]
             for row in rows if "thousand_ms" in row}  # fmt: skip
    return claim_rows("Reddy", CLAIMS, times)


SUITE = Suite(
    "reddy", harness.on_graphs(measure, GRAPHS, compile_on="rmat6"), claims,
    Effort(rounds=10, budget=0.7), settings={"seed": SEED, "precision": "single"},
)  # fmt: skip
