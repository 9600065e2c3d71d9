"""GPUSCAN's tables 1 to 5: its graphs, its figures, and whether its claims hold here.

Reference: Stovall, Kockara and Avci, GPUSCAN, 2015, section 4.2. Speedups are over its own serial
  SCAN, milliseconds those of its CPU and of its two GPUs (GTX 460 and GTX 480).
"""

import statistics
from dataclasses import dataclass

from pipelines.benchmarks.clusterers import PARTS

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
TRANSFER_TABLES = {  # kind of records: title, columns
    "transfers": (
        "GPUSCAN's table 5: transfers of real graphs",
        [
            "graph", "upload_ms", "download_ms", "auto_ms", "transfer_share",
            "speedup_with_transfers", "paper_upload_ms", "paper_download_ms",
            "paper_transfer_share",
        ],
    )
}  # fmt: skip
TRANSFER_HEADINGS = {
    "upload_ms": "to the device, ms",
    "download_ms": "to the host, ms",
    "transfer_share": "share of all, %",
    "speedup_with_transfers": "serial by all",
    "paper_upload_ms": "its to the device, ms",
    "paper_download_ms": "its to the host, ms",
    "paper_transfer_share": "its share, %",
}
SERIES = ("R-MAT, vertices", "SSCA#2, vertices", "R-MAT, degree", "SSCA#2, degree")
QUICK_VERTICES, QUICK_DEGREES, QUICK_SCALE = (1024, 2048), (10, 20), 8
QUICK_REAL = ("ca-GrQc",)


@dataclass(frozen=True)
class Entry:
    """One of its graphs, and its figures for "whole" and "alone".

    Attributes
    ----------
    tables : {part: number}
    series : str
        Its kind, and what grows.
    size : int, or None
        What grows.
    figures : {part: speedup, or milliseconds of the CPU and the GPUs}
    """

    graph: str
    tables: dict
    series: str
    size: int | None
    figures: dict

    def about(self, gives, case):
        """What records say of it."""
        part = next(part for part, text in PARTS.items() if text == gives)
        degree = 2 * case.edges / max(case.workload.vertices, 1)
        found = {"of_table": self.tables[part], "series": self.series, "size": self.size}
        found["degree"] = float(f"{degree:.3g}")
        figures = self.figures[part]
        if self.size is not None:
            return found | {"paper_speedup": figures}
        cpu, *gpus = figures
        return found | {
            "paper_cpu_ms": cpu,
            "paper_gpu_ms": min(gpus),
            "paper_speedup": float(f"{cpu / min(gpus):.3g}"),
        }


def entries(quick=False, every=1):
    """All graphs that can be had, as names of workloads; of series each `every`-th."""
    tables, made = {"whole": 1, "alone": 2}, []

    def add(series, size, name, figures):
        made.append(Entry(name, tables, series, size, dict(zip(PARTS, figures))))

    for vertices in QUICK_VERTICES if quick else list(BY_VERTICES)[::every]:
        rmat, ssca2, rmat_alone, ssca2_alone = BY_VERTICES[vertices]
        scale = vertices.bit_length() - 1
        add("R-MAT, vertices", vertices, f"rmat{scale}u-3", (rmat, rmat_alone))
        add("SSCA#2, vertices", vertices, f"ssca{scale}-7", (ssca2, ssca2_alone))
    for degree in QUICK_DEGREES if quick else list(BY_DEGREE)[::every]:
        rmat, ssca2, rmat_alone, ssca2_alone = BY_DEGREE[degree]
        scale = QUICK_SCALE if quick else 15
        add("R-MAT, degree", degree, f"rmat{scale}u-{degree // 2}", (rmat, rmat_alone))
        clique = 3 * degree // 2 - 2  # 2 / 3 (clique - 1) + 4 * 0.5 is the degree
        add("SSCA#2, degree", degree, f"ssca{scale}-{clique}", (ssca2, ssca2_alone))
    made.sort(key=lambda entry: SERIES.index(entry.series))
    tables = {"whole": 3, "alone": 4}
    for name, figures in REAL.items():
        if name in QUICK_REAL or not quick:
            add("real graphs", None, name, figures)
    return made


def claims(rows, where):
    """A sentence on each table: is serial SCAN slower, and the more so the larger the graph?"""
    made = transfer_claim([row for row in rows if row.get("of_table") == 5], where)
    rows = [row for row in rows if row["of_table"] != 5]
    for number in sorted({row["of_table"] for row in rows}):
        of_table = [row for row in rows if row["of_table"] == number]
        holds, here = {}, []
        for method in ("gpuscan", "auto"):
            own = [row for row in of_table if row["implementation"] == method]
            speedups = [row["speedup"] for row in own if row.get("speedup")]
            if speedups:
                holds[method] = min(speedups) > 1 and (number > 2 or grows(own))
                verdict = "holds" if holds[method] else "does not hold"
                here.append(f"{method} {min(speedups):g} to {max(speedups):g} times: {verdict}")
        if holds:
            theirs, graphs = speedups_of(number), len({row["graph"] for row in of_table})
            what = "and more so the larger or denser the graph" if number < 3 else "on every graph"
            text = (
                f"GPUSCAN claims to be {min(theirs):g} to {max(theirs):g} times as fast as serial "
                f"SCAN, {what}, on {len(theirs)} graphs. Here, on {where}, on {graphs} of them, "
                f"{'; '.join(here)}."
            )
            made.append({"table": "claim", "of_table": number, "claim": text, "holds": holds})
    return made


def speedups_of(number):
    """All that one of tables 1 to 4 has; of real graphs those of the faster GPU."""
    if number < 3:
        places = slice(0, 2) if number == 1 else slice(2, 4)
        sizes = [*BY_VERTICES.values(), *BY_DEGREE.values()]
        return [speedup for found in sizes for speedup in found[places]]
    real = [figures[number - 3] for figures in REAL.values()]
    return [float(f"{cpu / min(gpus):.3g}") for cpu, *gpus in real]


def transfer_record(graph, moved, rows):
    """Its row of table 5: transfers beside similarity and clustering by `auto`, and by serial."""
    up, down = TRANSFERS[graph]
    record = {"table": "transfers", "of_table": 5, "graph": graph} | moved
    record |= {"paper_upload_ms": up, "paper_download_ms": down}
    if down is not None:
        record["paper_transfer_share"] = share(up + down, min(REAL[graph][0][1:]))
    whole = {row["implementation"]: row for row in rows if row["gives"] == PARTS["whole"]}
    if "run_ms" in whole.get("auto", {}):
        record["auto_ms"] = whole["auto"]["run_ms"]
        transfer = sum(moved[key]["median"] for key in ("upload_ms", "download_ms"))
        together = transfer + record["auto_ms"]["median"]
        record["transfer_share"] = share(transfer, together)
        if "run_ms" in whole.get("algorithm 1", {}):
            serial = whole["algorithm 1"]["run_ms"]["median"]
            record["speedup_with_transfers"] = float(f"{serial / together:.3g}")
    return record


def share(part, whole):
    """Per cent."""
    return float(f"{100 * part / whole:.3g}")


def transfer_claim(rows, where):
    """Table 5 stands beside totals that transfers are part of: is it ahead all the same?"""
    found = [row for row in rows if row.get("speedup_with_transfers")]
    if not found:
        return []
    theirs = [
        share(up + down, min(REAL[graph][0][1:]))
        for graph, (up, down) in TRANSFERS.items()
        if down is not None
    ]
    own = [row["transfer_share"] for row in found]
    ratios = [row["speedup_with_transfers"] for row in found]
    holds = min(ratios) > 1
    text = (
        f"GPUSCAN has transfers of {min(theirs):g} to {max(theirs):g} % of its runs of "
        f"{len(TRANSFERS)} graphs, which are ahead of serial SCAN with them. Here, on {where}, of "
        f"{len(found)} of them they are "
        f"{min(own):g} to {max(own):g} % (median {statistics.median(own):.3g} %) of all, and auto "
        f"with them is {min(ratios):g} to {max(ratios):g} times as fast as serial SCAN: "
        f"{'holds' if holds else 'does not hold'}."
    )
    return [{"table": "claim", "of_table": 5, "claim": text, "holds": {"auto": holds}}]


def grows(rows):
    """Is the speedup on the largest graph of every series above that on the smallest?"""
    series = {}
    for row in rows:
        if row.get("speedup"):
            series.setdefault(row["series"], []).append((row["size"], row["speedup"]))
    return all(max(found)[1] > min(found)[1] for found in series.values())
