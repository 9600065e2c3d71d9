"""GPUSCAN's tables 1 to 5: its graphs, its figures, and verdicts on its claims.

Speedups are over its own serial SCAN; milliseconds are of its CPU and of its two GPUs (GTX 460 and
GTX 480).

References
----------
.. [1] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-Based Parallel Structural Clustering
   Algorithm for Networks", 2015, section 4.2.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.benchmarks.adapters.interface import SCAN_TASKS
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.scan_reference import ScanCase

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
SERIES = ("R-MAT, vertices", "SSCA#2, vertices", "R-MAT, degree", "SSCA#2, degree")
QUICK_VERTICES, QUICK_DEGREES, QUICK_SCALE = (1024, 2048), (10, 20), 8
QUICK_REAL = ("ca-GrQc",)


@dataclass(frozen=True)
class Entry:
    """One of the paper's graphs, and its figures for the tasks "whole" and "alone".

    Attributes
    ----------
    graph : str
        Name of the workload.
    tables : dict from task to int
        The table's number.
    series : str
        The kind of graph, and what grows.
    size : int or None
        The value of what grows; None for real graphs.
    figures : dict from task to float or tuple
        The speedup, or milliseconds of the CPU and the GPUs.
    """

    graph: str
    tables: Mapping[str, int]
    series: str
    size: int | None
    figures: Mapping[str, Any]

    def about(self, gives: str, case: ScanCase) -> Record:
        """Return the columns of a record that describe the graph, with the paper's figures."""
        task = next(task for task, text in SCAN_TASKS.items() if text == gives)
        degree = 2 * case.num_edges / max(case.workload.vertices, 1)
        columns = {"of_table": self.tables[task], "series": self.series, "size": self.size}
        columns["degree"] = rounded(degree)
        figures = self.figures[task]
        if self.size is not None:
            return columns | {"paper_speedup": figures}
        cpu, *gpus = figures
        return columns | {
            "paper_cpu_ms": cpu,
            "paper_gpu_ms": min(gpus),
            "paper_speedup": rounded(cpu / min(gpus)),
        }


def entries(quick: bool = False, step: int = 1) -> list[Entry]:
    """Return the paper's graphs that are available, of series every `step`-th."""
    tables, all_entries = {"whole": 1, "alone": 2}, []

    def add(series: str, size: int | None, name: str, figures: Sequence[Any]) -> None:
        by_task = dict(zip(SCAN_TASKS, figures, strict=True))
        all_entries.append(Entry(name, tables, series, size, by_task))

    for vertices in QUICK_VERTICES if quick else list(BY_VERTICES)[::step]:
        rmat, ssca2, rmat_alone, ssca2_alone = BY_VERTICES[vertices]
        scale = vertices.bit_length() - 1
        add("R-MAT, vertices", vertices, f"rmat{scale}u-3", (rmat, rmat_alone))
        add("SSCA#2, vertices", vertices, f"ssca{scale}-7", (ssca2, ssca2_alone))
    for degree in QUICK_DEGREES if quick else list(BY_DEGREE)[::step]:
        rmat, ssca2, rmat_alone, ssca2_alone = BY_DEGREE[degree]
        scale = QUICK_SCALE if quick else 15
        add("R-MAT, degree", degree, f"rmat{scale}u-{degree // 2}", (rmat, rmat_alone))
        clique = 3 * degree // 2 - 2  # the degree is 2 / 3 (clique - 1) + 4 * 0.5
        add("SSCA#2, degree", degree, f"ssca{scale}-{clique}", (ssca2, ssca2_alone))
    all_entries.sort(key=lambda entry: SERIES.index(entry.series))
    tables = {"whole": 3, "alone": 4}
    for name, figures in REAL.items():
        if name in QUICK_REAL or not quick:
            add("real graphs", None, name, figures)
    return all_entries


def claims(rows: Iterable[Record], where: str) -> list[Record]:
    """Return, for each table, whether serial SCAN is slower, and more so on larger graphs."""
    rows = list(rows)
    all_claims = transfer_claim([row for row in rows if row.get("of_table") == 5], where)
    rows = [row for row in rows if row["of_table"] != 5]
    for number in sorted({row["of_table"] for row in rows}):
        table = [row for row in rows if row["of_table"] == number]
        holds, details = {}, []
        for method in ("gpuscan", "auto"):
            own = [row for row in table if row["implementation"] == method]
            speedups = [row["speedup"] for row in own if row.get("speedup")]
            if speedups:
                holds[method] = min(speedups) > 1 and (number > 2 or speedup_grows(own))
                verdict = "holds" if holds[method] else "does not hold"
                details.append(f"{method} {min(speedups):g} to {max(speedups):g} times: {verdict}")
        if holds:
            paper, num_graphs = paper_speedups(number), len({row["graph"] for row in table})
            what = "and more so the larger or denser the graph" if number < 3 else "on every graph"
            text = (
                f"GPUSCAN claims to be {min(paper):g} to {max(paper):g} times as fast as serial "
                f"SCAN, {what}, on {len(paper)} graphs. Here, on {where}, on {num_graphs} of them, "
                f"{'; '.join(details)}."
            )
            all_claims.append({"table": "claim", "of_table": number, "claim": text, "holds": holds})
    return all_claims


def paper_speedups(number: int) -> list[float]:
    """Return the speedups of one of tables 1 to 4; of real graphs those of the faster GPU."""
    if number < 3:
        columns = slice(0, 2) if number == 1 else slice(2, 4)
        rows = [*BY_VERTICES.values(), *BY_DEGREE.values()]
        return [speedup for row in rows for speedup in row[columns]]
    times = [figures[number - 3] for figures in REAL.values()]
    return [rounded(cpu / min(gpus)) for cpu, *gpus in times]


def transfer_record(
    graph: str, transfers: Mapping[str, Mapping[str, float]], rows: Iterable[Record]
) -> Record:
    """Return our row of table 5: transfers, and SCAN by `auto` and by the serial loop."""
    upload, download = TRANSFERS[graph]
    record: Record = {"table": "transfers", "of_table": 5, "graph": graph, **transfers}
    record |= {"paper_upload_ms": upload, "paper_download_ms": download}
    if download is not None:
        record["paper_transfer_share"] = percent(upload + download, min(REAL[graph][0][1:]))
    whole = {row["implementation"]: row for row in rows if row["gives"] == SCAN_TASKS["whole"]}
    if "run_ms" in whole.get("auto", {}):
        record["auto_ms"] = whole["auto"]["run_ms"]
        transfer = sum(transfers[key]["median"] for key in ("upload_ms", "download_ms"))
        total = transfer + record["auto_ms"]["median"]
        record["transfer_share"] = percent(transfer, total)
        if "run_ms" in whole.get("algorithm 1", {}):
            serial = whole["algorithm 1"]["run_ms"]["median"]
            record["speedup_with_transfers"] = rounded(serial / total)
    return record


def transfer_claim(rows: Iterable[Record], where: str) -> list[Record]:
    """Return whether totals of table 5 that include transfers are below those of serial SCAN."""
    own = [row for row in rows if row.get("speedup_with_transfers")]
    if not own:
        return []
    paper = [
        percent(upload + download, min(REAL[graph][0][1:]))
        for graph, (upload, download) in TRANSFERS.items()
        if download is not None
    ]
    shares = [row["transfer_share"] for row in own]
    ratios = [row["speedup_with_transfers"] for row in own]
    holds = min(ratios) > 1
    text = (
        f"GPUSCAN has transfers of {min(paper):g} to {max(paper):g} % of its runs of "
        f"{len(TRANSFERS)} graphs, which are ahead of serial SCAN with them. Here, on {where}, of "
        f"{len(own)} of them they are {min(shares):g} to {max(shares):g} % (median "
        f"{statistics.median(shares):.3g} %) of all, and auto with them is {min(ratios):g} to "
        f"{max(ratios):g} times as fast as serial SCAN: {'holds' if holds else 'does not hold'}."
    )
    return [{"table": "claim", "of_table": 5, "claim": text, "holds": {"auto": holds}}]


def speedup_grows(rows: Iterable[Record]) -> bool:
    """Return whether the largest graph of every series has a higher speedup than the smallest."""
    series: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row.get("speedup"):
            series.setdefault(row["series"], []).append((row["size"], row["speedup"]))
    return all(max(points)[1] > min(points)[1] for points in series.values())


def percent(part: float, total: float) -> float:
    """Return a fraction in percent."""
    return rounded(100 * part / total)


def rounded(value: float) -> float:
    """Round to three significant digits."""
    return float(f"{value:.3g}")
