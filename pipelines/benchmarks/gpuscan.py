"""GPUSCAN's tables 1 to 5: serial SCAN beside ours on its graphs.

Tables 1 and 2 have R-MAT and SSCA#2 graphs, by vertices and by degree; 3 and 4 real ones. Tables 1
and 3 time similarity and clustering, 2 and 4 clustering alone; 5 has transfers, on a GPU only.

References
----------
.. [1] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-Based Parallel Structural Clustering
   Algorithm for Networks", 2015, section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from pipelines.benchmarks import comparisons, timing
from pipelines.benchmarks.answers import to_host
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Effort, Measure, Session, Suite
from pipelines.benchmarks.records import Record, claim_row, claim_rows
from pipelines.benchmarks.tasks import TASKS

REAL = ("ca-CondMat", "ca-GrQc", "email-Enron", "loc-brightkite", "loc-gowalla", "roadNet-CA")
GRAPHS = (  # 2^10 to 2^19 vertices of degree 6; degrees 10 to 100 of 2^15 vertices
    *(f"rmat{scale}u-3" for scale in range(10, 20)),
    *(f"ssca{scale}-7" for scale in range(10, 20)),
    *(f"rmat15u-{degree // 2}" for degree in range(10, 101, 10)),
    *(f"ssca15-{3 * degree // 2 - 2}" for degree in range(10, 101, 10)),
)
QUICK_GRAPHS = ("rmat10u-3", "ca-GrQc")
BOTH, CLUSTERING = "similarity and clustering", "clustering alone"
TABLES = (  # table, what is timed, on real graphs or not, how many times as long serial SCAN takes
    (1, BOTH, False, "10.6 to 254"), (2, CLUSTERING, False, "1.9 to 64.6"),
    (3, BOTH, True, "10.5 to 512"), (4, CLUSTERING, True, "3.91 to 380"),
)  # fmt: skip


def measure_transfers(case: Workload, session: Session) -> Iterator[Record]:
    """Yield the times of copies of a graph to the GPU and of a result from it."""
    xp, columns = session.xp, [to_host(values) for values in (case.source, case.destination)]
    results = [xp.ones(case.vertices, dtype) for dtype in ("int32", "int8")]
    upload = session.clock.repeated(lambda: [xp.asarray(values) for values in columns], 5, 1)
    download = session.clock.repeated(lambda: [to_host(values) for values in results], 5, 1)
    yield {"table": "transfers", "graph": case.name, "upload_ms": timing.summary(upload),
           "download_ms": timing.summary(download)}  # fmt: skip


def claims(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield for each table and method whether serial SCAN is slower on every graph."""
    for number, gives, is_real, paper in TABLES:
        chosen = [row for row in rows if row.get("gives") == gives
                  and (row["graph"] in REAL) == is_real]  # fmt: skip
        for method in ("auto", "gpuscan"):
            text = f"serial SCAN takes {paper} times as long ({method})"
            yield from claim_rows(
                f"GPUSCAN, table {number}", [(text, "algorithm 1", method)], chosen
            )
    ms = {(row["graph"], row["implementation"]): row["run_ms"]["median"]
          for row in rows if row.get("gives") == BOTH and "run_ms" in row}  # fmt: skip
    ratios = []
    for row in (row for row in rows if row["table"] == "transfers"):
        serial, ours = (ms.get((row["graph"], name)) for name in ("algorithm 1", "auto"))
        if serial and ours:
            copies = row["upload_ms"]["median"] + row["download_ms"]["median"]
            ratios.append(serial / (ours + copies))
    if ratios:
        text = "it is faster than serial SCAN even with transfers"
        yield claim_row("GPUSCAN, table 5", text, ratios)


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    options = session.options
    options.graphs = options.graphs or (QUICK_GRAPHS if options.quick else (*GRAPHS, *REAL))
    yield from comparisons.compare_libraries([TASKS["scan"]], session)
    if session.on_gpu:
        for workload in session.graphs(name for name in options.graphs if name in REAL):
            yield f"{workload.name}, transfers", partial(measure_transfers, workload, session)


SUITE = Suite("gpuscan", measurements, claims, Effort(rounds=3, budget=0.5),
              options={"libraries": ["rapidsgraph", "serial"]})  # fmt: skip
