"""WolfPath's tables 2, 3 and 5 to 7 and figures 8 and 9, and our rows that correspond to them.

The paper's GPU is a GTX 780 Ti with 3 GB. Of figure 8 there are the means that the text gives, of
figure 9 the one pair of times.

References
----------
.. [1] H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing algorithms
   on GPU", Int. J. Parallel Program. 47, 2019. https://doi.org/10.1007/s10766-017-0533-y,
   sections 2 and 5.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from pipelines.benchmarks.records import Record

EDGES = {  # tables 1 and 4
    "RoadNet-CA": 5_533_214,
    "amazon0601": 3_387_388,
    "web-Google": 5_105_039,
    "LiveJournal": 68_993_773,
    "orkut": 117_185_083,
    "hollywood2011": 228_985_632,
    "arabic2005": 639_999_458,
    "uk2002": 298_113_762,
}
IN_MEMORY = {  # table 5: iterations and milliseconds in all of WolfPath, of CuSha
    "bfs": {
        "RoadNet-CA": ((554, 8.1), (551, 203.75)),
        "amazon0601": ((35, 2.21), (35, 26.68)),
        "web-Google": ((32, 3.27), (21, 19.58)),
        "LiveJournal": ((14, 48.22), (9, 159.82)),
    },
    "sssp": {
        "RoadNet-CA": ((554, 8.71), (550, 278.78)),
        "amazon0601": ((35, 2.33), (35, 51.92)),
        "web-Google": ((32, 3.84), (20, 24.93)),
        "LiveJournal": ((14, 49.79), (9, 307.31)),
    },
}
BY_FLAG = {  # table 2: iterations and milliseconds of CuSha with the flag, and without it
    "RoadNet-CA": ((551, 195.97), (554, 1.98)),
    "amazon0601": ((35, 22.3), (35, 0.15)),
    "web-Google": ((21, 12.83), (32, 0.14)),
    "LiveJournal": ((9, 70.96), (14, 0.076)),
}
FLAG_COST = {  # table 3: milliseconds an iteration of copying the flag, of computing
    "RoadNet-CA": (0.36, 0.004),
    "amazon0601": (0.63, 0.004),
    "web-Google": (0.6, 0.004),
    "LiveJournal": (7.9, 0.005),
}
STREAMED = {  # table 6: iterations and seconds
    "bfs": {
        "orkut": (7, 0.02),
        "hollywood2011": (16, 0.09),
        "arabic2005": (51, 0.2),
        "uk2002": (49, 0.15),
    },
    "sssp": {
        "orkut": (7, 0.02),
        "hollywood2011": (16, 0.1),
        "arabic2005": (51, 0.23),
        "uk2002": (49, 0.16),
    },
}
PREPROCESSING = {  # table 7, seconds
    "amazon0601": 0.79,
    "LiveJournal": 14.68,
    "web-Google": 1.46,
    "orkut": 21.4,
    "hollywood2011": 38.6,
    "uk2002": 59.78,
    "arabic2005": 120.3,
}
SPACE, CUSHA_SPACE = 1.37, 2.81  # figure 8: times CSR
WITHOUT_OVERLAP, OVERLAPPED = 71, 48  # figure 9: milliseconds of BFS, LiveJournal
# Our variants, as records name them.
NO_OVERLAP = "one thread, one buffer"
ONE_LAUNCH, LAUNCH_PER_LAYER, FLAG_PER_LAYER = (
    "one launch",
    "a launch a layer",
    "a launch and a flag a layer",
)
SHARED_MEMORY = "one launch, shared memory"


def paper_rows(tasks: Container[str]) -> list[Record]:
    """Return the rows of the paper's tables."""
    rows: list[Record] = []

    def add(table: str, who: str, graph: str, **columns: Any) -> None:
        about = {"table": table, "who": who, "graph": graph, "edges": EDGES[graph]}
        rows.append(about | columns | {"of_paper": True})

    if "flag" in tasks:
        for graph, both in BY_FLAG.items():
            for how, (iterations, ms) in zip(("with the flag", "without it"), both, strict=True):
                add("flag", "CuSha, table 2", graph, how=how, layers=iterations, run_ms=ms)
        for what, ms in (("neither", WITHOUT_OVERLAP), ("both", OVERLAPPED)):
            how = f"overlap and shared memory: {what}"
            add("flag", "WolfPath, figure 9", "LiveJournal", how=how, run_ms=ms)
    if "iterations" in tasks:
        for graph, (copy, compute) in FLAG_COST.items():
            add("iterations", "CuSha, table 3", graph, algorithm="bfs", flag_us=copy * 1e3,
                compute_us=compute * 1e3)  # fmt: skip
        for algorithm, graphs in IN_MEMORY.items():
            for graph, both in graphs.items():
                for system, (iterations, ms) in zip(("WolfPath", "CuSha"), both, strict=True):
                    add("iterations", f"{system}, table 5", graph, algorithm=algorithm,
                        layers=iterations, run_ms=ms)  # fmt: skip
    if "streamed" in tasks or "large" in tasks:
        for algorithm, times in STREAMED.items():
            for graph, (iterations, seconds) in times.items():
                add("out of memory", "WolfPath, table 6", graph, algorithm=algorithm,
                    layers=iterations, seconds=seconds,
                    edges_per_us=rounded(EDGES[graph] / seconds / 1e6))  # fmt: skip
    if "build" in tasks:
        for graph, seconds in PREPROCESSING.items():
            add("preprocessing", "WolfPath, table 7", graph, seconds=seconds,
                ns_per_edge=rounded(seconds / EDGES[graph] * 1e9))  # fmt: skip
    return rows


def derived_rows(rows: Iterable[Record]) -> list[Record]:
    """Return our rows of tables 6 and 7, which follow from measurements."""
    derived: list[Record] = []
    for row in rows:
        if row["table"] == "layered build":
            for column, where in (("whole_ms", "in memory"), ("external_ms", "out of core")):
                if row.get(column):
                    derived.append(preprocessing_row(row, median(row[column]), where))
        if row["table"] not in ("streamed", "large") or not row.get("run_ms"):
            continue
        ms = median(row["run_ms"])
        if row["algorithm"] == "build":
            derived.append(preprocessing_row(row, ms, "out of core"))
        elif row["algorithm"] in STREAMED and row.get("how") in ("streamed", "mapped", "limited"):
            derived.append(
                {
                    "table": "out of memory", "who": "here", "graph": row["graph"],
                    "edges": row["edges"], "algorithm": row["algorithm"], "layers": row["layers"],
                    "passes": row["passes"], "seconds": rounded(ms / 1e3),
                    "edges_per_us": rounded(row["edges"] / ms / 1e3),
                }
            )  # fmt: skip
    return derived


def preprocessing_row(row: Record, ms: float, where: str) -> Record:
    """Return our row of table 7 for a build."""
    return {
        "table": "preprocessing", "who": f"here, {where}", "graph": row["graph"],
        "edges": row["edges"], "weighted": row.get("weighted", False),
        "seconds": rounded(ms / 1e3), "ns_per_edge": rounded(ms * 1e6 / row["edges"]),
    }  # fmt: skip


def median(value: Any) -> float:
    """Return the median of a repeated time; papers have single values."""
    return value["median"] if isinstance(value, dict) else value


def rounded(value: float) -> float:
    """Round to four significant digits."""
    return float(f"{value:.4g}")
