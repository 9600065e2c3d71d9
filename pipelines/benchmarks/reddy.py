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

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numba import njit

import rapidsgraph as rg
from pipelines.benchmarks import comparisons
from pipelines.benchmarks.adapters import DAMPING, Library
from pipelines.benchmarks.answers import MAX_DISTANCE, compare_pagerank, to_host
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Effort, Suite
from pipelines.benchmarks.records import Record, claim_rows
from pipelines.benchmarks.tasks import Task, pagerank_after

ITERATIONS = 1000
CONVERGED = 300  # iterations after which values in double precision are constant: 0.85^300 = 7e-22
GRAPHS = ("ego-Facebook", "cit-DBLP")
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


def lists_on_host(case: Workload) -> tuple[np.ndarray, ...]:
    offsets, neighbors = to_host(case.graph.csc.offsets), to_host(case.graph.csc.neighbors)
    return offsets, neighbors, np.bincount(neighbors, minlength=case.vertices).astype(np.int32)


def run_pagerank(graph: Any, case: Workload, method: str) -> np.ndarray:
    """Return our values after all iterations, on the host."""
    options = {"damping": DAMPING, "tolerance": 0, "dangling": "drop", "precision": "single"}
    result = rg.pagerank(graph, method=method, max_iterations=ITERATIONS, progress=False, **options)
    return to_host(result["pagerank"])


library = Library("rapidsgraph")
library.add("reddy", "serial",
            lambda arrays, case: serial_pagerank(*arrays, np.float32(DAMPING), ITERATIONS),
            lists_on_host, precision="single")  # fmt: skip
for name, method in METHODS.items():
    library.add("reddy", name, partial(run_pagerank, method=method), lambda case: case.graph,
                precision="single")  # fmt: skip
TASK = Task(
    "reddy", "reddy", lambda case: (to_host(pagerank_after(case, CONVERGED, dangling=False)), {}),
    lambda answer, reference, _: compare_pagerank(answer, reference, MAX_DISTANCE["single"]),
    GRAPHS, GRAPHS, entries=library.entries,
)  # fmt: skip


def claims(rows: Sequence[Record]) -> Iterator[Record]:
    return claim_rows("Reddy", CLAIMS, rows)


OPTIONS = {"full": True, "libraries": ["rapidsgraph"]}
SUITE = Suite("reddy", partial(comparisons.compare_libraries, [TASK]), claims,
              Effort(rounds=10, budget=0.7), options=OPTIONS)  # fmt: skip
