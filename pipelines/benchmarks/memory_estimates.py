"""Compare measured peak memory with its estimates on a CPU, in processes of their own.

    python pipelines/benchmarks/memory_estimates.py [--only bfs,build] [--quick] [--output FILE]

The peak is that of the resident set (VmHWM in /proc) above its value before the call, after the
same call on a small graph has loaded all compiled code. `peak_by_estimate` should be at most 1 and
near it. Calls are builds, with the number of vertices known, and algorithms on a Graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np
import pandas

import rapidsgraph as rg
from pipelines.benchmarks import harness, memory
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record
from rapidsgraph.generate import arrays
from rapidsgraph.graph import build_memory
from rapidsgraph.graph.edge_columns import read_columns

ROWS, QUICK_ROWS, WARM_UP_ROWS = 2_000_000, 100_000, 40_000
NAMES: dict[str, Callable[[np.ndarray], list[Any]]] = {  # columns of names by vertex ids
    "ids": lambda ids: [ids],
    "gaps": lambda ids: [ids * 2 + 5],
    "64-bit": lambda ids: [ids * 10**12 + 17],
    "text": lambda ids: [name_by_text(ids, "v{:07d}", "str")],
    "long text": lambda ids: [name_by_text(ids, "vertex {:07d} of this graph, named", "str")],
    "objects": lambda ids: [name_by_text(ids, "v{:07d}", "object")],
    "two columns": lambda ids: [ids // 1000, ids % 1000],
}
SHAPES: dict[str, Callable[[int], Any]] = {  # ends of about so many rows
    "random": lambda rows: arrays.uniform_arrays(np, rows // 8, rows, seed=1)[:2],
    "R-MAT": lambda rows: arrays.rmat_arrays(np, round(np.log2(rows / 8)), 8, seed=1)[:2],
    "grid": lambda rows: arrays.grid_arrays(np, int((rows / 2) ** 0.5), int((rows / 2) ** 0.5))[:2],
    "star": lambda rows: (np.zeros(rows // 2, int), 1 + np.arange(rows // 2)),
}
WEIGHTED = ("pagerank", "sssp", "connected_components")
RUNS: dict[str, Callable[[Any], Any]] = {
    name: getattr(rg, name)
    for name in ("connected_components", "core_number", "label_propagation", "scan",
                 "structural_similarity", "triangle_count", "clustering_coefficient",
                 "neighbor_similarity")
} | {
    "pagerank": partial(rg.pagerank, tolerance=0, max_iterations=3, progress=False),
    "bfs": lambda graph: rg.bfs(graph, graph.vertices.iloc[[0]]),
    "sssp": lambda graph: rg.sssp(graph, graph.vertices.iloc[[0]]),
    "scan_index": rg.ScanIndex,
}  # fmt: skip


def name_by_text(ids: np.ndarray, template: str, dtype: str) -> pandas.Series:
    """Return names of text by ids."""
    text = pandas.Series(list(map(template.format, range(int(ids.max()) + 1))), dtype=dtype)
    return text.take(ids).reset_index(drop=True)


def cases() -> Iterator[Record]:
    """Yield all cases: a build or a run, the kind of names, and the shape of the graph."""
    both, shapes = (True, False), list(SHAPES)
    kinds = [("build", *each) for each in product(NAMES, both, both)]
    kinds += [(run, names, directed, run in WEIGHTED) for run, names, directed
              in product(RUNS, ("ids", "64-bit", "long text", "objects"), both)]  # fmt: skip
    for number, (run, names, directed, weighted) in enumerate(kinds):
        shape = shapes[(number + number // 4) % 4]
        yield {"run": run, "names": names, "shape": shape, "directed": directed,
               "weighted": weighted}  # fmt: skip


def prepare(case: Record, rows: int) -> tuple[Callable[[], Any], int]:
    """Return the function to measure and its estimate."""
    ends = np.stack(SHAPES[case["shape"]](rows))
    vertices, ids = np.unique(ends, return_inverse=True)
    columns: dict[str, Any] = {}
    names: dict[str, Any] = {}
    for end, own in zip(("source", "destination"), ids.reshape(ends.shape), strict=True):
        values = NAMES[case["names"]](own)
        names[end] = [end, f"{end}_2"] if len(values) > 1 else end
        columns |= dict(zip([end, f"{end}_2"], values, strict=False))
    if case["weighted"]:
        columns["weight"] = np.random.default_rng(1).random(ends.shape[1])
    frame = pandas.DataFrame(columns)
    options = names | {
        "directed": case["directed"],
        "weight": "weight" if case["weighted"] else None,
    }
    if case["run"] != "build":
        graph = rg.Graph(frame, **options, multi_edges="first")
        return partial(RUNS[case["run"]], graph), rg.estimate_memory(graph, case["run"]).needed
    edges = read_columns(frame, *names.values(), None, "first")
    stats = build_memory.name_column_stats(edges.sources, edges.destinations)
    flags = {"directed": case["directed"], "weighted": case["weighted"], "columns": stats}
    estimate = build_memory.build_bytes(len(frame), vertices.size, **flags)
    return partial(rg.Graph, frame, **options, multi_edges="first"), estimate


def measure(case: Record, rows: int) -> Record:
    """Return the record of one case."""
    prepare(case, WARM_UP_ROWS)[0]()
    run, estimate = prepare(case, rows)
    peak, _result = memory.measure_peak(run)
    figures = {"peak_mb": round(peak / 1e6, 1), "estimate_mb": round(estimate / 1e6, 1),
               "peak_by_estimate": round(peak / estimate, 3)}  # fmt: skip
    return case | figures | {"check": "ok" if peak <= estimate else "above the estimate"}


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    options = harness.parse_options(__doc__, arguments)
    options.on_gpu = False
    session = Session("memory-estimates", options, rows=QUICK_ROWS if options.quick else ROWS)
    for case in cases():
        if options.only is None or case["run"] in options.only:
            row: Record = {"table": "estimates"}
            call = partial(memory.call_in_process, measure, case, session.start["rows"])
            session.rows.append(row | case | (harness.try_call(row, call) or row))
            session.save()
    ratios = [row["peak_by_estimate"] for row in session.rows if "peak_by_estimate" in row]
    session.start |= {"cases": len(session.rows), "lowest": min(ratios, default=None),
                      "highest": max(ratios, default=None)}  # fmt: skip
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
