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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numba
import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import comparisons, harness, timing
from pipelines.benchmarks.answers import compare_pagerank, to_host
from pipelines.benchmarks.graphs import SEED, Workload
from pipelines.benchmarks.harness import Effort, Session, Suite
from pipelines.benchmarks.records import Record, claim_rows
from pipelines.benchmarks.tasks import DAMPING, pagerank_after
from rapidsgraph.graph.csr import row_indices

ITERATIONS, LAUNCH = 10, (1000, 1000)  # Kim's blocks and threads, for edge and node
MAX_DISTANCE = 1e-5  # in total from formula (1), in single precision
REAL = ("roadNet-CA", "cit-Patents", "NY", "cit-HepPh")
SCALES = {"gpu": (21, 22, 23), "cpu": (18, 19, 20), "quick": (10,)}
GRAPHS = {
    kind: [f"uniform{scale}-{factor}" for scale in scales for factor in (1, 5, 10)]
    + list(REAL) * (kind != "quick")
    for kind, scales in SCALES.items()
}
GPU, ONE, ALL = "GPU", "1 thread", "all threads"
SYSTEMS = (("edge", GPU), ("node", GPU), ("auto", GPU), ("edge", ONE), ("node", ONE), ("node", ALL),
           ("auto", ALL))  # fmt: skip
CLAIMS = (  # claim, its graphs, slower system, faster one; Kim prints only the largest ratios
    ("node is faster than edge on the GPU, up to 2.82 times", "", "edge, GPU", "node, GPU"),
    ("node is faster than edge on one thread", "", "edge, 1 thread", "node, 1 thread"),
    ("node on the GPU is faster than all threads, up to 1.96 times", "", "node, all threads",
     "node, GPU"),
    ("all threads are faster than one", "", "node, 1 thread", "node, all threads"),
    ("all threads are faster than edge on the GPU on random graphs", "random", "edge, GPU",
     "node, all threads"),
    ("edge on the GPU is faster than all threads on real graphs", "real", "node, all threads",
     "edge, GPU"),
)  # fmt: skip


def run_pagerank(graph: Any, method: str, place: str) -> np.ndarray:
    """Return the values after ten iterations in single precision, on the host."""
    previous = numba.get_num_threads()
    numba.set_num_threads(1 if place == ONE else previous)
    try:
        result = rg.pagerank(
            graph, damping=DAMPING, tolerance=0, max_iterations=ITERATIONS, dangling="drop",
            method=method, precision="single", progress=False,
            launch=LAUNCH if place == GPU and method != "auto" else None,
        )  # fmt: skip
        return to_host(result["pagerank"])
    finally:
        numba.set_num_threads(previous)


def transferred_arrays(graph: Any, method: str) -> list[np.ndarray]:
    """Return the arrays that Kim copies to the device: edges or lists, and out-degrees."""
    csc = graph.csc
    degrees = graph.xp.bincount(csc.neighbors, minlength=graph.num_vertices).astype(np.int32)
    ends = (csc.neighbors, row_indices(csc)) if method == "edge" else (csc.offsets, csc.neighbors)
    return [to_host(values) for values in (*ends, degrees)]


def prepare(
    workload: Workload, method: str, place: str, session: Session, row: Record
) -> Callable[[], np.ndarray]:
    """Return the function to time; on the GPU it includes the transfers, `resident_ms` does not."""
    run = partial(run_pagerank, workload.graph, method, place)
    if place != GPU:
        return run
    arrays = transferred_arrays(workload.graph, method)
    row["resident_ms"] = timing.summary(session.clock.repeated(run, 3, 0.2))
    return lambda: ([workload.xp.asarray(values) for values in arrays], run())[1]


def measure(workload: Workload, session: Session) -> Iterator[Record]:
    """Yield a record of each system on a graph."""
    ends = {name: to_host(getattr(workload, name)) for name in ("source", "destination")}
    on_host = replace(workload, xp=np, **ends)
    about: Record = {"table": "Kim", "graph": workload.name}
    about |= {"kind": "random" if workload.name.startswith("uniform") else "real"}
    about |= {"vertices": workload.vertices, "edges": int(workload.rows)}
    systems = []
    for method, place in (each for each in SYSTEMS if session.on_gpu or each[1] != GPU):
        row, own = about | {"system": f"{method}, {place}"}, workload if place == GPU else on_host
        systems.append((row, partial(prepare, own, method, place, session, row)))
    expected = to_host(pagerank_after(workload, ITERATIONS, dangling=False))
    check = partial(compare_pagerank, reference=expected, max_distance=MAX_DISTANCE)
    yield from (row for row, _ in comparisons.compare_systems(systems, check, session))


def claims(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield the record of each claim that the rows can judge."""
    for text, kind, slow, fast in CLAIMS:
        times = {(row["graph"], row["system"]): row["run_ms"]["median"] for row in rows
                 if "run_ms" in row and kind in ("", row["kind"])}  # fmt: skip
        yield from claim_rows("Kim", [(text, slow, fast)], times)


SUITE = Suite(
    "kim", harness.on_graphs(measure, GRAPHS, compile_on="uniform10-1"), claims,
    Effort(rounds=3, budget=1.0), settings={"seed": SEED, "precision": "single"},
)  # fmt: skip
