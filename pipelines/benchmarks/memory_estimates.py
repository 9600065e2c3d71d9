"""Compare measured peak memory with its estimates on a CPU, in a process per algorithm and input.

    python pipelines/benchmarks/memory_estimates.py [--output FILE] [--only TEXT] [--rows ROWS]

The peak is that of the resident set (VmHWM in /proc) above its value before the call, after the
same call on a small graph has loaded all compiled code. `peak_by_estimate` is the peak divided by
the estimate with the number of vertices known; it should be at most 1 and near it.
`peak_by_estimate_unknown` is the ratio to the estimate from the number of rows, and the range of
integers, alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np
import pandas

import rapidsgraph as rg
from pipelines.benchmarks import memory as peaks
from pipelines.benchmarks import records
from pipelines.benchmarks.records import Record
from rapidsgraph import memory
from rapidsgraph.graph import build_memory
from rapidsgraph.graph.edge_columns import read_columns
from rapidsgraph.io import write_frame

LOW, HIGH = 0.7, 1.0  # the aim for peak / estimate
ROWS, WARM_UP_ROWS = 2_000_000, 40_000
TEXT_FORMATS = {"text": "v{:07d}", "long text": "vertex {:07d} of this graph, named"}
NAMES = ("ids", "gaps", "64-bit", "text", "long text", "objects", "two columns")
WEIGHTED = ("pagerank", "sssp", "connected_components")
RUNS: dict[str, Callable[[Any], Any]] = {
    "pagerank": lambda edges: rg.pagerank(edges, tolerance=0, max_iterations=3, progress=False),
    "bfs": lambda graph: rg.bfs(graph, graph.vertices.iloc[[0]]),
    "sssp": lambda graph: rg.sssp(graph, graph.vertices.iloc[[0]]),
    "connected_components": rg.connected_components,
    "core_number": rg.core_number,
    "label_propagation": rg.label_propagation,
    "scan": rg.scan,
    "scan_index": rg.ScanIndex,
    "structural_similarity": rg.structural_similarity,
    "triangle_count": rg.triangle_count,
    "clustering_coefficient": rg.clustering_coefficient,
    "neighbor_similarity": rg.neighbor_similarity,
}


def cases() -> Iterator[Record]:
    """Yield all cases: the algorithm, its input, and the kind of vertex names."""
    shapes = ("random", "R-MAT", "grid", "star")

    def case(source: str, run: str, names: str, shape: str, **options: bool) -> Record:
        flags = {"directed": True, "weighted": False} | options
        return {"from": source, "run": run, "names": names, "shape": shape} | flags

    for index, names in enumerate(NAMES):
        for directed in (True, False):
            for weighted in (False, True):
                shape = shapes[(index + directed + 2 * weighted) % 4]
                yield case("frame", "build", names, shape, directed=directed, weighted=weighted)
    for index, algorithm in enumerate(RUNS):
        for offset, names in enumerate(("ids", "64-bit", "long text", "objects")):
            for directed in (True, False):
                shape = shapes[(index + offset + directed) % 3]
                weighted = offset % 2 == 0 and algorithm in (
                    "pagerank",
                    "sssp",
                    "connected_components",
                )
                yield case("graph", algorithm, names, shape, directed=directed, weighted=weighted)
    for index, algorithm in enumerate(RUNS):
        is_undirected = algorithm in memory.UNDIRECTED_ALGORITHMS
        for names in ("ids", "text"):
            yield case("frame", algorithm, names, shapes[index % 4], directed=not is_undirected)
    for algorithm in ("connected_components", "sssp", "pagerank"):
        for names in ("ids", "gaps", "text"):
            yield case("frame", algorithm, names, "random", directed=False, weighted=True)
    for suffix in ("parquet", "csv"):
        for algorithm in ("pagerank", "bfs", "sssp"):
            for names in ("ids", "long text"):
                yield case(suffix, algorithm, names, "R-MAT", weighted=algorithm == "sssp")


def draw_edges(case: Record, rows: int) -> tuple[pandas.DataFrame, int]:
    """Return the edges of a case, and the number of vertices."""
    random = np.random.default_rng(1)
    if case["shape"] == "R-MAT":
        scale = round(np.log2(rows / 8))
        ends = rg.generate.rmat(scale, 8, seed=1, device="cpu").iloc[:, :2].to_numpy().T
    elif case["shape"] == "grid":
        side = int(np.sqrt(rows / 2))
        ids = np.arange(side * side).reshape(side, side)
        horizontal = np.stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()])
        vertical = np.stack([ids[:-1].ravel(), ids[1:].ravel()])
        ends = np.concatenate([horizontal, vertical], axis=1)
        ends = ends[:, random.permutation(ends.shape[1])]
    elif case["shape"] == "star":
        count = rows // 2
        ends = np.stack([np.zeros(count, np.int64), 1 + random.permutation(count)])
    else:
        ends = random.integers(0, rows // 8, (2, rows))
    is_present = np.zeros(int(ends.max()) + 1, bool)
    is_present[ends.ravel()] = True
    ends = (np.cumsum(is_present) - 1)[ends]
    count = int(is_present.sum())
    columns: dict[str, Any] = {}
    for end, ids in zip(("source", "destination"), ends, strict=True):
        columns |= name_vertices(end, ids, case["names"], count)
    if case["weighted"]:
        columns["weight"] = random.random(ends.shape[1])
    return pandas.DataFrame(columns), count


def name_vertices(end: str, ids: np.ndarray, names: str, count: int) -> dict[str, Any]:
    """Return the columns of one end of the edges, with names instead of ids."""
    values: Any = ids
    if names == "two columns":
        return {f"{end}_area": ids // 1000, f"{end}_number": ids % 1000}
    if names == "gaps":
        values = ids * 2 + 5
    elif names == "64-bit":
        values = ids * 10**12 + 17
    elif names != "ids":
        text_format = TEXT_FORMATS.get(names, TEXT_FORMATS["text"])
        dtype = "object" if names == "objects" else "str"
        text = pandas.Series(list(map(text_format.format, range(count))), dtype=dtype)
        values = text.take(ids).reset_index(drop=True)
    return {end: values}


def prepare(case: Record, rows: int, folder: str) -> tuple[Callable[[], Any], int, int]:
    """Return (function to measure, estimate with the number of vertices, estimate without)."""
    frame, count = draw_edges(case, rows)
    ends = {end: [c for c in frame if str(c).startswith(end)] for end in ("source", "destination")}
    ends = {end: names[0] if len(names) == 1 else names for end, names in ends.items()}
    options: dict[str, Any] = {"weight": "weight"} if case["weighted"] else {}
    algorithm, build = case["run"], {"directed": case["directed"]} | options | ends
    if algorithm == "build":
        edges = read_columns(frame, *ends.values(), None, "first")
        columns = build_memory.name_column_stats(edges.sources, edges.destinations)
        estimates = (
            build_memory.build_bytes(
                len(frame), vertices, columns=columns, directed=case["directed"],
                weighted=case["weighted"],
            )
            for vertices in (count, 2 * len(frame))
        )  # fmt: skip
        return (lambda: rg.Graph(frame, **build)), *estimates
    run = RUNS[algorithm]
    if case["from"] == "graph":
        graph = rg.Graph(frame, **build)
        estimate = rg.estimate_memory(graph, algorithm).needed
        return (lambda: run(graph)), estimate, estimate
    build |= {"self_loops": "drop"} if algorithm in memory.UNDIRECTED_ALGORITHMS else {}
    edges: Any = frame
    if case["from"] != "frame":
        edges = Path(folder) / f"edges.{case['from']}"
        write_frame(frame, edges)
    reading = options | ends | {"directed": case["directed"]}
    known = rg.estimate_memory(edges, algorithm, num_vertices=count, **reading).needed
    unknown = rg.estimate_memory(edges, algorithm, **reading).needed
    if edges is frame:
        return (lambda: run(rg.Graph(frame, **build))), known, unknown
    return (lambda: run(rg.Graph(rg.read_edges(edges, **options), **build))), known, unknown


def measure(case: Record, rows: int) -> Record:
    """Return the record of one case."""
    import pyarrow

    with tempfile.TemporaryDirectory() as folder:
        prepare(case, WARM_UP_ROWS, folder)[0]()
        run, known, unknown = prepare(case, rows, folder)
        pyarrow.default_memory_pool().release_unused()
        peak, result = peaks.measure_peak(run)
    del result
    figures = {
        "peak_mb": round(peak / 1e6, 1), "estimate_mb": round(known / 1e6, 1),
        "peak_by_estimate": round(peak / known, 3),
        "peak_by_estimate_unknown": round(peak / unknown, 3),
    }  # fmt: skip
    is_bound = peak <= known and peak <= unknown
    return case | figures | {"check": "ok" if is_bound else "above the estimate"}


def measure_in_process(group: Sequence[Record], rows: int) -> Iterator[Record]:
    """Yield the records of some cases, measured in a process of their own.

    The check of a case that ends the process says so, and the others run in another process.
    """
    line = [sys.executable, __file__, "--cases", json.dumps(group), "--rows", str(rows)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        remaining = list(group)
        assert process.stdout is not None
        for record in map(json.loads, process.stdout):
            yield record
            del remaining[0]
    if remaining:
        yield remaining[0] | {"check": f"failed: exit status {process.returncode}"}
    if remaining[1:]:
        yield from measure_in_process(remaining[1:], rows)


def save(options: argparse.Namespace, rows: Sequence[Record]) -> None:
    """Print a summary, and write the records so far."""
    ratios = [row["peak_by_estimate"] for row in rows if "peak_by_estimate" in row]
    summary = {
        "cases": len(rows),
        "upper_bounds": sum(row["check"] == "ok" for row in rows),
        f"ratio_{LOW}_to_{HIGH}": sum(LOW <= ratio <= HIGH for ratio in ratios),
        "lowest": min(ratios, default=None),
        "highest": max(ratios, default=None),
    }
    print(summary)
    if options.output:
        run = records.run_record("memory-estimates", rows=options.rows, **summary)
        records.write(options.output, [run, *rows])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark, and return the exit status."""
    parser = argparse.ArgumentParser(description="Compare peak memory with its estimates.")
    parser.add_argument("--output", type=Path, metavar="FILE", help="records (.jsonl, .md beside)")
    parser.add_argument("--only", default="", help="cases whose columns contain one of these texts")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--cases", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.cases:
        for case in options.cases:
            print(json.dumps(measure(case, options.rows)), flush=True)
        return 0
    groups: dict[tuple[str, str], list[Record]] = {}
    for case in cases():
        if any(text in " ".join(map(str, case.values())) for text in options.only.split(",")):
            groups.setdefault((case["from"], case["run"]), []).append(case)
    rows: list[Record] = []
    for group in groups.values():
        for row in measure_in_process(group, options.rows):
            rows.append({"table": "estimates"} | row)
            print(*row.values(), flush=True)
        save(options, rows)
    return int(any(row["check"] != "ok" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
