"""Kim's figures 4 to 6: ten iterations of PageRank by edges and by vertices, host to host.

Random graphs have 2, 4 and 8 million vertices and 1, 5 or 10 edges per vertex; without a GPU an
eighth of that. Real ones are Kim's where their files are, and two others. Numba's threads stand for
Green-Marl's. Dangling mass is lost, as in formula (1). A time on the GPU includes transfers.

References
----------
.. [1] M.-S. Kim, "Towards exploiting GPUs for fast PageRank computation of large-scale networks",
   Daegu Gyeongbuk Institute of Science and Technology (DGIST), section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numba
import numpy as np

from pipelines.benchmarks import comparisons
from pipelines.benchmarks.adapters import Library
from pipelines.benchmarks.adapters.rapidsgraph import CALLS
from pipelines.benchmarks.answers import compare_pagerank, to_host
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Effort, Measure, Session, Suite
from pipelines.benchmarks.records import claim_rows
from pipelines.benchmarks.tasks import Task, pagerank_reference
from rapidsgraph.graph.csr import row_indices

ITERATIONS, LAUNCH = 10, (1000, 1000)  # Kim's blocks and threads, for edge and node
REAL = ("roadNet-CA", "cit-Patents", "NY", "cit-HepPh")
CPU_GRAPHS, GPU_GRAPHS = (
    (*(f"uniform{scale}-{factor}" for scale in scales for factor in (1, 5, 10)), *REAL)
    for scales in ((18, 19, 20), (21, 22, 23))
)
GPU, ONE, ALL = "GPU", "1 thread", "all threads"
SYSTEMS = (("edge", GPU), ("node", GPU), ("auto", GPU), ("edge", ONE), ("node", ONE), ("node", ALL),
           ("auto", ALL))  # fmt: skip
CLAIMS = (  # claim, slower system, faster one, its graphs; Kim prints only the largest ratios
    ("Kim: node is faster than edge on the GPU, up to 2.82 times", "edge, GPU", "node, GPU"),
    ("Kim: node is faster than edge on one thread", "edge, 1 thread", "node, 1 thread"),
    ("Kim: node on the GPU is faster than all threads, up to 1.96 times", "node, all threads",
     "node, GPU"),
    ("Kim: all threads are faster than one", "node, 1 thread", "node, all threads"),
    ("Kim: all threads are faster than edge on the GPU on random graphs", "edge, GPU",
     "node, all threads", lambda row: row["graph"] not in REAL),
    ("Kim: edge on the GPU is faster than all threads on real graphs", "node, all threads",
     "edge, GPU", lambda row: row["graph"] in REAL),
)  # fmt: skip


def run_pagerank(
    inputs: tuple[Any, list[np.ndarray]], case: Workload, method: str, place: str
) -> np.ndarray:
    """Copy arrays to the device, and return the values after ten iterations, on the host."""
    graph, arrays = inputs
    previous = numba.get_num_threads()
    numba.set_num_threads(1 if place == ONE else previous)
    try:
        _ = [case.xp.asarray(values) for values in arrays]
        result = CALLS["pagerank"](
            graph, max_iterations=ITERATIONS, dangling="drop", method=method, precision="single",
            launch=LAUNCH if place == GPU and method != "auto" else None,
        )  # fmt: skip
        return to_host(result["pagerank"])
    finally:
        numba.set_num_threads(previous)


def on_host(case: Workload) -> tuple[Any, list[np.ndarray]]:
    ends = {name: to_host(getattr(case, name)) for name in ("source", "destination")}
    return replace(case, xp=np, **ends).graph, []


def on_device(case: Workload, method: str) -> tuple[Any, list[np.ndarray]]:
    """Return the graph, and the arrays that Kim copies: edges or lists, and out-degrees."""
    csc = case.graph.csc
    degrees = case.xp.bincount(csc.neighbors, minlength=case.vertices).astype(np.int32)
    ends = (csc.neighbors, row_indices(csc)) if method == "edge" else (csc.offsets, csc.neighbors)
    return case.graph, [to_host(values) for values in (*ends, degrees)]


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    library = Library("rapidsgraph")
    for method, place in (system for system in SYSTEMS if session.on_gpu or system[1] != GPU):
        run = partial(run_pagerank, method=method, place=place)
        graph = partial(on_device, method=method) if place == GPU else on_host
        library.add("kim", f"{method}, {place}", run, graph, precision="single")
    reference = pagerank_reference(ITERATIONS, dangling=False)
    task = Task("kim", "kim", reference, compare_pagerank, CPU_GRAPHS, GPU_GRAPHS,
                entries=library.entries)  # fmt: skip
    return comparisons.compare_libraries([task], session)


SUITE = Suite("kim", measurements, partial(claim_rows, CLAIMS), Effort(rounds=3, budget=1.0),
              options={"full": True})  # fmt: skip
