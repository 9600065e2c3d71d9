"""GPUSCAN's tables 1 to 5: serial SCAN beside ours on its graphs, with its figures.

    python pipelines/benchmarks/gpuscan.py [--device auto|cpu|gpu] [--few] [--quick] [--output FILE]

Tables 1 and 2 have R-MAT and SSCA#2 graphs, by vertices and by degree; 3 and 4 real ones. Tables 1
and 3 time similarity and clustering, 2 and 4 clustering alone; 5 has transfers, on a GPU only.
Speedups are over its own serial SCAN; milliseconds are of its CPU and its two GPUs.

References
----------
.. [1] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-Based Parallel Structural Clustering
   Algorithm for Networks", 2015, section 4.2.
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

from pipelines.benchmarks import harness, timing
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record, claim_row
from pipelines.benchmarks.tasks import TASKS

# vertices: speedups of table 1 (R-MAT, SSCA#2) and of table 2, at an average degree of 6
BY_VERTICES = {
    1024: (13.8, 10.6, 2.2, 1.9),
    2048: (13.3, 13.1, 4.5, 3.5),
    4096: (28.3, 17.1, 8.7, 5.3),
    8192: (31.3, 16.1, 9, 5.4),
    16384: (38.3, 23.9, 13.3, 7.9),
    32768: (50.5, 31.9, 17.3, 9.7),
    65536: (77.8, 54, 24.4, 16),
    131072: (88.7, 59.7, 37.2, 16.8),
    262144: (111.1, 74.1, 49.6, 24.1),
    524288: (149.2, 87.6, 64.6, 28),
}
# average degree: the same, with 32,768 vertices
BY_DEGREE = {
    10: (115.3, 79.5, 17.5, 22.1),
    20: (151.3, 114.2, 24.3, 29.7),
    30: (173.6, 158.1, 28.4, 34.8),
    40: (185.9, 173.4, 30.9, 38.2),
    50: (196.6, 201.8, 32, 39.5),
    60: (198.6, 218.5, 37.5, 40.4),
    70: (214.2, 224.7, 41.8, 41.7),
    80: (219.6, 235, 43.5, 41.7),
    90: (235, 250.5, 44.8, 43.6),
    100: (239.2, 254.2, 46.6, 45.7),
}
# milliseconds of tables 3 and 4: CPU, GPU1, GPU2
REAL = {
    "ca-CondMat": ((118, 11.69, 11.29), (36, 9.21, 9.41)),
    "ca-GrQc": ((581, 32, 28.21), (116, 19.46, 18.56)),
    "email-Enron": ((5192, 148.1, 124.75), (301, 24.61, 21.11)),
    "loc-brightkite": ((3009, 93.12, 78.3), (224, 24.29, 22)),
    "loc-gowalla": ((61915, 1593.2, 1213.37), (1680, 70.78, 51.14)),
    "roadNet-CA": ((107333, 293.4, 209.75), (45083, 181.4, 118.65)),
}
# milliseconds of table 5: to the device, to the host; it gives none back of Brightkite
TRANSFERS = {
    "ca-CondMat": (1.62, 1.78),
    "ca-GrQc": (0.367, 0.352),
    "email-Enron": (3.08, 3.1),
    "loc-brightkite": (0.02, None),
    "loc-gowalla": (15, 15.1),
    "roadNet-CA": (43, 48.5),
}
GIVES = ("similarity and clustering", "clustering alone")
SERIES_STEP = 3  # with --few

Entry = tuple[str, str, int | None, tuple[Any, Any]]  # graph, series, size, figures by GIVES


def entries(quick: bool = False, step: int = 1) -> Iterator[Entry]:
    """Yield the paper's graphs, of series every `step`-th."""
    for vertices in list(BY_VERTICES)[:2] if quick else list(BY_VERTICES)[::step]:
        rmat, ssca2, rmat_alone, ssca2_alone = BY_VERTICES[vertices]
        scale = vertices.bit_length() - 1
        yield f"rmat{scale}u-3", "R-MAT, vertices", vertices, (rmat, rmat_alone)
        yield f"ssca{scale}-7", "SSCA#2, vertices", vertices, (ssca2, ssca2_alone)
    for degree in list(BY_DEGREE)[:1] if quick else list(BY_DEGREE)[::step]:
        rmat, ssca2, rmat_alone, ssca2_alone = BY_DEGREE[degree]
        scale, clique = 8 if quick else 15, 3 * degree // 2 - 2  # degree 2 / 3 (clique - 1) + 2
        yield f"rmat{scale}u-{degree // 2}", "R-MAT, degree", degree, (rmat, rmat_alone)
        yield f"ssca{scale}-{clique}", "SSCA#2, degree", degree, (ssca2, ssca2_alone)
    for name, figures in REAL.items():
        if name == "ca-GrQc" or not quick:
            yield name, "real graphs", None, figures


def measure(entry: Entry, workload: Workload, session: Session) -> list[Record]:
    """Return the records of one graph, with the speedups over serial SCAN and the paper's."""
    _, series, size, figures = entry
    [case] = TASKS["scan"].cases(workload)
    rows = harness.measure(TASKS["scan"], case, session, ["rapidsgraph", "serial"])
    degree = 2 * case.edges[0].size / max(case.vertices, 1)
    serial = {r["gives"]: r["run_ms"]["median"] for r in rows
              if r["library"] == "serial" and "run_ms" in r}  # fmt: skip
    for row in rows:
        table = GIVES.index(row["gives"]) + (1 if size else 3)
        row |= {"table": "papers", "of_table": table, "series": series, "size": size}
        row |= {"edges": int(case.edges[0].size), "degree": float(f"{degree:.3g}")}
        own = figures[GIVES.index(row["gives"])]
        if size:
            row["paper_speedup"] = own
        else:
            cpu, *gpus = own
            row |= {"paper_cpu_ms": cpu, "paper_gpu_ms": min(gpus)}
            row["paper_speedup"] = float(f"{cpu / min(gpus):.3g}")
        if row["gives"] in serial and "run_ms" in row and row["library"] != "serial":
            row["speedup"] = float(f"{serial[row['gives']] / row['run_ms']['median']:.3g}")
    if size is None and session.on_gpu:
        rows.append(measure_transfers(case, rows, session))
    return rows


def measure_transfers(case: Workload, rows: list[Record], session: Session) -> Record:
    """Return our row of table 5: transfers, and their share of transfers and SCAN by `auto`."""
    columns = case.source, case.destination
    times = timing.transfers(session.clock, columns, case.vertices, "int32", "int8")
    upload, download = TRANSFERS[case.name]
    row: Record = {"table": "transfers", "of_table": 5, "graph": case.name, **times}
    row |= {"paper_upload_ms": upload, "paper_download_ms": download}
    whole = next((r for r in rows if r["implementation"] == "auto" and "run_ms" in r), None)
    if whole:
        transfer = sum(times[key]["median"] for key in ("upload_ms", "download_ms"))
        total = transfer + whole["run_ms"]["median"]
        row |= {
            "auto_ms": whole["run_ms"],
            "transfer_share": float(f"{100 * transfer / total:.3g}"),
        }
        if "speedup" in whole:
            serial = whole["speedup"] * whole["run_ms"]["median"]
            row["speedup_with_transfers"] = float(f"{serial / total:.3g}")
    return row


def claims(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield for each table and method whether serial SCAN is slower on every graph."""
    for number in (1, 2, 3, 4):
        for method in ("auto", "gpuscan"):
            own = [row for row in rows if row.get("of_table") == number and "speedup" in row]
            own = [row for row in own if row["implementation"] == method]
            paper = [row["paper_speedup"] for row in own]
            if own:
                times = f"{min(paper)} to {max(paper)} times as long"
                text = f"table {number}, {method}: serial SCAN takes {times}"
                yield claim_row("GPUSCAN", text, [row["speedup"] for row in own])
    own = [row["speedup_with_transfers"] for row in rows if "speedup_with_transfers" in row]
    if own:
        yield claim_row("GPUSCAN", "table 5: it is ahead of serial SCAN with transfers", own)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--few", action="store_true", help="every third graph of a series")

    options = harness.parse_options(__doc__, arguments, add_options)
    options.effort = replace(options.effort, rounds=min(3, options.effort.rounds), budget=0.5)
    session = Session("gpuscan", options)
    harness.warm_up([TASKS["scan"]], session)
    for entry in entries(options.quick, SERIES_STEP if options.few else 1):
        if options.graphs is None or entry[0] in options.graphs:
            for workload in session.graphs([entry[0]]):
                session.attempt(workload.name, partial(measure, entry, workload, session))
    session.rows = [*claims(session.rows), *session.rows]
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
