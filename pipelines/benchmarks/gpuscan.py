"""GPUSCAN's tables 1 to 5: serial SCAN beside ours on its graphs, with its figures.

Tables 1 and 2 have R-MAT and SSCA#2 graphs, by vertices and by degree; 3 and 4 real ones. Tables 1
and 3 time similarity and clustering, 2 and 4 clustering alone; 5 has transfers, on a GPU only.
Speedups are over serial SCAN.

References
----------
.. [1] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-Based Parallel Structural Clustering
   Algorithm for Networks", 2015, section 4.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from pipelines.benchmarks import comparisons, timing
from pipelines.benchmarks.answers import to_host
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Effort, Measure, Session, Suite
from pipelines.benchmarks.records import Record, claim_row
from pipelines.benchmarks.tasks import TASKS

# Speedups of tables 1, with similarity, and 2, clustering alone: by vertices at an average degree
# of 6, and by degree with 32,768 vertices.
VERTICES, DEGREES = [2**scale for scale in range(10, 20)], range(10, 101, 10)
SPEEDUPS = {
    "R-MAT, vertices": ((13.8, 13.3, 28.3, 31.3, 38.3, 50.5, 77.8, 88.7, 111.1, 149.2),
                        (2.2, 4.5, 8.7, 9, 13.3, 17.3, 24.4, 37.2, 49.6, 64.6)),
    "SSCA#2, vertices": ((10.6, 13.1, 17.1, 16.1, 23.9, 31.9, 54, 59.7, 74.1, 87.6),
                         (1.9, 3.5, 5.3, 5.4, 7.9, 9.7, 16, 16.8, 24.1, 28)),
    "R-MAT, degree": ((115.3, 151.3, 173.6, 185.9, 196.6, 198.6, 214.2, 219.6, 235, 239.2),
                      (17.5, 24.3, 28.4, 30.9, 32, 37.5, 41.8, 43.5, 44.8, 46.6)),
    "SSCA#2, degree": ((79.5, 114.2, 158.1, 173.4, 201.8, 218.5, 224.7, 235, 250.5, 254.2),
                       (22.1, 29.7, 34.8, 38.2, 39.5, 40.4, 41.7, 41.7, 43.6, 45.7)),
}  # fmt: skip
REAL = {  # milliseconds of tables 3 and 4, on its CPU and its faster GPU, and 5, to and from it
    "ca-CondMat": ((118, 11.29), (36, 9.21), (1.62, 1.78)),
    "ca-GrQc": ((581, 28.21), (116, 18.56), (0.367, 0.352)),
    "email-Enron": ((5192, 124.75), (301, 21.11), (3.08, 3.1)),
    "loc-brightkite": ((3009, 78.3), (224, 22), (0.02, None)),
    "loc-gowalla": ((61915, 1213.37), (1680, 51.14), (15, 15.1)),
    "roadNet-CA": ((107333, 209.75), (45083, 118.65), (43, 48.5)),
}
QUICK_GRAPHS = ("rmat10u-3", "ca-GrQc")
GIVES = ("similarity and clustering", "clustering alone")


def series_graphs() -> Iterator[tuple[str, str, tuple[float, float]]]:
    """Yield (graph, series, speedups of tables 1 and 2) of the generated graphs."""
    for series, tables in SPEEDUPS.items():
        sizes = VERTICES if "vertices" in series else DEGREES
        for size, *speedups in zip(sizes, *tables, strict=True):
            scale, degree = (size.bit_length() - 1, 6) if "vertices" in series else (15, size)
            clique = 7 if degree == 6 else 3 * degree // 2 - 2  # degree 2 / 3 (clique - 1) + 2
            is_rmat = series.startswith("R-MAT")
            name = f"rmat{scale}u-{degree // 2}" if is_rmat else f"ssca{scale}-{clique}"
            yield name, series, tuple(speedups)


def measure(workload: Workload, series: str, speedups: Any, session: Session) -> list[Record]:
    """Return the records of one graph, with the speedups over serial SCAN and the paper's."""
    [case] = TASKS["scan"].cases(workload)
    rows = comparisons.measure(TASKS["scan"], case, session, ["rapidsgraph", "serial"])
    serial = {row["gives"]: row["run_ms"]["median"] for row in rows
              if row["library"] == "serial" and "run_ms" in row}  # fmt: skip
    for row in rows:
        number = GIVES.index(row["gives"])
        row |= {"table": "papers", "of_table": number + (3 if series == "real" else 1)}
        row |= {"series": series, "edges": int(case.edges[0].size)}
        row["paper_speedup"] = float(f"{speedups[number]:.3g}")
        if row["gives"] in serial and "run_ms" in row and row["library"] != "serial":
            row["speedup"] = float(f"{serial[row['gives']] / row['run_ms']['median']:.3g}")
    if series == "real" and session.on_gpu:
        rows = [*rows, *measure_transfers(case, rows, session)]
    return rows


def measure_transfers(case: Workload, rows: list[Record], session: Session) -> Iterator[Record]:
    """Yield our row of table 5: transfers, and the speedup of `auto` with them."""
    xp, columns = session.xp, [to_host(values) for values in (case.source, case.destination)]
    results = [xp.ones(case.vertices, dtype) for dtype in ("int32", "int8")]
    copies = {
        "upload_ms": lambda: [xp.asarray(values) for values in columns],
        "download_ms": lambda: [to_host(values) for values in results],
    }
    times = {
        name: timing.summary(session.clock.repeated(copy, 5, 1)) for name, copy in copies.items()
    }
    paper = dict(zip(("paper_upload_ms", "paper_download_ms"), REAL[case.name][2], strict=True))
    for row in rows:
        if (row["implementation"], row["of_table"]) == ("auto", 3) and "speedup" in row:
            ms = row["run_ms"]["median"]
            total = ms + sum(transfer["median"] for transfer in times.values())
            yield {
                "table": "transfers", "of_table": 5, "graph": case.name, **times, **paper,
                "auto_ms": row["run_ms"],
                "speedup_with_transfers": float(f"{row['speedup'] * ms / total:.3g}"),
            }  # fmt: skip


def claims(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield for each table and method whether serial SCAN is slower on every graph."""
    series = [speedups for _, _, speedups in series_graphs()]
    real = [[cpu / gpu for cpu, gpu in times[:2]] for times in REAL.values()]
    tables = [*zip(*series, strict=True), *zip(*real, strict=True)]
    for number, method in itertools.product(range(1, 5), ("auto", "gpuscan")):
        speedups = [row["speedup"] for row in rows if row.get("of_table") == number
                    and row.get("implementation") == method and "speedup" in row]  # fmt: skip
        if speedups:
            low, high = min(tables[number - 1]), max(tables[number - 1])
            text = f"serial SCAN takes {low:.3g} to {high:.3g} times as long ({method})"
            yield claim_row(f"GPUSCAN, table {number}", text, speedups)
    totals = [row["speedup_with_transfers"] for row in rows if "speedup_with_transfers" in row]
    if totals:
        yield claim_row("GPUSCAN, table 5", "it is faster than serial SCAN even with transfers",
                        totals)  # fmt: skip


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    """Yield the measurement of each graph of the tables."""
    comparisons.warm_up([TASKS["scan"]], session)
    graphs = [(name, "real", [cpu / gpu for cpu, gpu in tables[:2]])
              for name, tables in REAL.items()]  # fmt: skip
    names = session.options.graphs or (QUICK_GRAPHS if session.kind == "quick" else None)
    for name, series, speedups in [*series_graphs(), *graphs]:
        if names is None or name in names:
            for workload in session.graphs([name]):
                yield name, partial(measure, workload, series, speedups, session)


SUITE = Suite("gpuscan", measurements, claims, Effort(rounds=3, budget=0.5))
