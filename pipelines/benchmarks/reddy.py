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

from functools import partial
from typing import Any

import numpy as np
from numba import njit

from pipelines.benchmarks import comparisons
from pipelines.benchmarks.adapters import DAMPING, Library
from pipelines.benchmarks.adapters.rapidsgraph import CALLS
from pipelines.benchmarks.answers import compare_pagerank, to_host
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Effort, Suite
from pipelines.benchmarks.records import claim_rows
from pipelines.benchmarks.tasks import Task, pagerank_reference

ITERATIONS = 1000
CONVERGED = 300  # iterations after which values in double precision are constant: 0.85^300 = 7e-22
GRAPHS = ("ego-Facebook", "cit-DBLP")
METHODS = {"I": "node", "II": "contribution", "III": "warp", "auto": "auto"}
CLAIMS = (
    ("Reddy: I is faster than serial, 3.28 to 3.45 times", "serial", "I"),
    ("Reddy: II is faster than I, 1.24 to 1.25 times", "I", "II"),
    ("Reddy: III, as planned, is faster than II", "II", "III"),
)


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
    result = CALLS["pagerank"](graph, max_iterations=ITERATIONS, dangling="drop", method=method,
                               precision="single")  # fmt: skip
    return to_host(result["pagerank"])


library = Library("rapidsgraph")
library.add("reddy", "serial",
            lambda arrays, case: serial_pagerank(*arrays, np.float32(DAMPING), ITERATIONS),
            lists_on_host, precision="single")  # fmt: skip
for name, method in METHODS.items():
    library.add("reddy", name, partial(run_pagerank, method=method), lambda case: case.graph,
                precision="single")  # fmt: skip
TASK = Task("reddy", "reddy", pagerank_reference(CONVERGED, dangling=False), compare_pagerank,
            GRAPHS, GRAPHS, entries=library.entries)  # fmt: skip
SUITE = Suite("reddy", partial(comparisons.compare_libraries, [TASK]), partial(claim_rows, CLAIMS),
              Effort(rounds=10, budget=0.7), options={"full": True})  # fmt: skip
