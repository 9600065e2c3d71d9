"""GPUSCAN's tables 1 to 5: serial SCAN beside ours on its graphs.

Tables 1 and 2 have R-MAT and SSCA#2 graphs, by vertices and by degree; 3 and 4 real ones. Tables 1
and 3 time similarity and clustering, 2 and 4 clustering alone; 5 has transfers, on a GPU only.

References
----------
.. [1] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-Based Parallel Structural Clustering
   Algorithm for Networks", 2015, section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from pipelines.benchmarks import comparisons
from pipelines.benchmarks.adapters import Library, find_entries
from pipelines.benchmarks.adapters.rapidsgraph import CALLS, forget_counts
from pipelines.benchmarks.answers import clusters_and_cores, to_host
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Effort, Measure, Session, Suite
from pipelines.benchmarks.records import Record, claim_rows
from pipelines.benchmarks.tasks import TASKS

REAL = ("ca-CondMat", "ca-GrQc", "email-Enron", "loc-brightkite", "loc-gowalla", "roadNet-CA")
GRAPHS = (  # 2^10 to 2^19 vertices of degree 6; degrees 10 to 100 of 2^15 vertices
    *(f"rmat{scale}u-3" for scale in range(10, 20)),
    *(f"ssca{scale}-7" for scale in range(10, 20)),
    *(f"rmat15u-{degree // 2}" for degree in range(10, 101, 10)),
    *(f"ssca15-{3 * degree // 2 - 2}" for degree in range(10, 101, 10)),
    *REAL,
)
BOTH, CLUSTERING = "similarity and clustering", "clustering alone"
TRANSFERS = "auto, with transfers"
TABLES = (  # table, what is timed, on real graphs or not, how many times as long serial SCAN takes
    (1, BOTH, False, "10.6 to 254"), (2, CLUSTERING, False, "1.9 to 64.6"),
    (3, BOTH, True, "10.5 to 512"), (4, CLUSTERING, True, "3.91 to 380"),
)  # fmt: skip


def is_meant(row: Record, gives: str, is_real: bool) -> bool:
    return row.get("gives") == gives and (row["graph"] in REAL) == is_real


CLAIMS = [
    (f"GPUSCAN, table {number}: serial SCAN takes {paper} times as long ({method})", "algorithm 1",
     method, partial(is_meant, gives=gives, is_real=is_real))
    for number, gives, is_real, paper in TABLES for method in ("auto", "gpuscan")
] + [("GPUSCAN, table 5: it is faster than serial SCAN even with transfers", "algorithm 1",
      TRANSFERS, partial(is_meant, gives=BOTH, is_real=True))]  # fmt: skip


def run_with_transfers(inputs: tuple[Any, list[Any]], case: Workload) -> tuple[Any, Any]:
    """Copy a graph to the GPU, call SCAN, and copy the result to the host."""
    graph, columns = inputs
    _ = [case.xp.asarray(values) for values in columns]
    forget_counts(graph)
    return clusters_and_cores(CALLS["scan"](graph))


def on_host(case: Workload) -> tuple[Any, list[Any]]:
    return case.graph, [to_host(values) for values in (case.source, case.destination)]


library = Library("rapidsgraph")
library.add("scan", TRANSFERS, run_with_transfers, on_host, gives=BOTH)


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    entries = find_entries("scan", session.on_gpu, ["rapidsgraph", "serial"])
    entries += library.entries if session.on_gpu else []
    task = replace(TASKS["scan"], entries=entries, cpu=GRAPHS, gpu=GRAPHS)
    return comparisons.compare_libraries([task], session)


SUITE = Suite("gpuscan", measurements, partial(claim_rows, CLAIMS), Effort(rounds=25, budget=0.5),
              options={"full": True})  # fmt: skip
