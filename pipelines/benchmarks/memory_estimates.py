"""Measured peak memory beside estimates, on a CPU, in a process for each algorithm and input.

    python pipelines/benchmarks/memory_estimates.py [--output FILE] [--only TEXT] [--rows ROWS]

The peak is that of the resident set (VmHWM in /proc) above its value before the call, after the
same call on a small graph has loaded all compiled code. `peak_by_estimate` is the peak divided by
the estimate with the number of vertices known; it should be at most 1 and near it.
`peak_by_estimate_unknown` is the ratio to the estimate from the number of rows, and the range of
integers, alone.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np
import pandas

import rapidsgraph as rg
from pipelines.benchmarks import peak, records
from rapidsgraph import memory
from rapidsgraph.graph import build_memory
from rapidsgraph.graph.edge_frame import read_columns
from rapidsgraph.io import write_frame

LOW, HIGH = 0.7, 1.0  # of the ratio
ROWS, SMALL = 2_000_000, 40_000
WORDS = {"text": "v{:07d}", "long text": "vertex {:07d} of this graph, named"}
NAMES = ("ids", "gaps", "64-bit", "text", "long text", "objects", "two columns")
RUNS = {
    "pagerank": lambda edges: rg.pagerank(edges, tolerance=0, max_iterations=3, progress=False),
    "bfs": lambda graph: rg.bfs(graph, graph.vertices.iloc[[0]]),
    "sssp": lambda graph: rg.sssp(graph, graph.vertices.iloc[[0]]),
    "connected_components": rg.connected_components,
    "scan": rg.scan,
    "scan_index": rg.ScanIndex,
    "structural_similarity": rg.structural_similarity,
}


def cases():
    """All cases as dictionaries of words: what is run, of what, and how vertices are named."""
    shapes = ("random", "R-MAT", "grid", "star")

    def case(start, what, names, shape, **options):
        kind = {"directed": True, "weighted": False} | options
        return {"from": start, "run": what, "names": names, "shape": shape} | kind

    for place, names in enumerate(NAMES):
        for directed in (True, False):
            for weighted in (False, True):
                shape = shapes[(place + directed + 2 * weighted) % 4]
                yield case("frame", "build", names, shape, directed=directed, weighted=weighted)
    for place, what in enumerate(RUNS):
        for turn, names in enumerate(("ids", "64-bit", "long text", "objects")):
            for directed in (True, False):
                shape = shapes[(place + turn + directed) % 3]
                weighted = turn % 2 == 0 and what in ("pagerank", "sssp", "connected_components")
                yield case("graph", what, names, shape, directed=directed, weighted=weighted)
    for place, what in enumerate(RUNS):
        clusters = what in memory.UNDIRECTED_ALGORITHMS
        for names in ("ids", "text"):
            yield case("frame", what, names, shapes[place % 4], directed=not clusters)
    for what in ("connected_components", "sssp", "pagerank"):
        for names in ("ids", "gaps", "text"):
            yield case("frame", what, names, "random", directed=False, weighted=True)
    for ending in ("parquet", "csv"):
        for what in ("pagerank", "bfs", "sssp"):
            for names in ("ids", "long text"):
                yield case(ending, what, names, "R-MAT", weighted=what == "sssp")


def edges_of(case, rows):
    """The edges of a case as a pandas frame, and the number of vertices."""
    random = np.random.default_rng(1)
    if case["shape"] == "R-MAT":
        scale = round(np.log2(rows / 8))
        ends = rg.generate.rmat(scale, 8, seed=1, device="cpu").iloc[:, :2].to_numpy().T
    elif case["shape"] == "grid":
        side = int(np.sqrt(rows / 2))
        place = np.arange(side * side).reshape(side, side)
        across = np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()])
        ends = np.concatenate([across, np.stack([place[:-1].ravel(), place[1:].ravel()])], axis=1)
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
    columns, names = {}, case["names"]
    for end, ids in zip(("source", "destination"), ends):
        columns |= _named(end, ids, names, count)
    if case["weighted"]:
        columns["weight"] = random.random(ends.shape[1])
    return pandas.DataFrame(columns), count


def _named(end, ids, names, count):
    if names == "two columns":
        return {f"{end}_area": ids // 1000, f"{end}_number": ids % 1000}
    if names == "gaps":
        ids = ids * 2 + 5
    elif names == "64-bit":
        ids = ids * 10**12 + 17
    elif names != "ids":
        words = WORDS.get(names, WORDS["text"])
        kind = "object" if names == "objects" else "str"
        words = pandas.Series(list(map(words.format, range(count))), dtype=kind)
        ids = words.take(ids).reset_index(drop=True)
    return {end: ids}


def prepared(case, rows, folder):
    """(what is measured, estimate with vertices known, estimate without)."""
    frame, count = edges_of(case, rows)
    ends = {end: [c for c in frame if str(c).startswith(end)] for end in ("source", "destination")}
    ends = {end: names[0] if len(names) == 1 else names for end, names in ends.items()}
    options = {"weight": "weight"} if case["weighted"] else {}
    what, build = case["run"], {"directed": case["directed"]} | options | ends
    if what == "build":
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
    run = RUNS[what]
    if case["from"] == "graph":
        graph = rg.Graph(frame, **build)
        estimate = rg.estimate_memory(graph, what).needed
        return (lambda: run(graph)), estimate, estimate
    build |= {"self_loops": "drop"} if what in memory.UNDIRECTED_ALGORITHMS else {}
    given = frame
    if case["from"] != "frame":
        given = Path(folder) / f"edges.{case['from']}"
        write_frame(frame, given)
    estimate = options | ends | {"directed": case["directed"]}
    known = rg.estimate_memory(given, what, num_vertices=count, **estimate).needed
    unknown = rg.estimate_memory(given, what, **estimate).needed
    if given is frame:
        return (lambda: run(rg.Graph(frame, **build))), known, unknown
    return (lambda: run(rg.Graph(rg.read_edges(given, **options), **build))), known, unknown


def measure(case, rows):
    """The record of one case."""
    import pyarrow

    with tempfile.TemporaryDirectory() as folder:
        prepared(case, SMALL, folder)[0]()
        work, known, unknown = prepared(case, rows, folder)
        pyarrow.default_memory_pool().release_unused()
        measured, result = peak.peak_of(work)
    del result
    figures = {
        "peak_mb": round(measured / 1e6, 1), "estimate_mb": round(known / 1e6, 1),
        "peak_by_estimate": round(measured / known, 3),
        "peak_by_estimate_unknown": round(measured / unknown, 3),
    }  # fmt: skip
    inside = measured <= known and measured <= unknown
    return case | figures | {"check": "ok" if inside else "above the estimate"}


def in_a_process(group, rows):
    """The records of some cases; one that fails has a `check` that tells why."""
    line = [sys.executable, __file__, "--cases", json.dumps(group), "--rows", str(rows)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        left = list(group)
        for record in map(json.loads, process.stdout):
            yield record
            del left[0]
    if left:
        yield left[0] | {"check": f"failed: exit status {process.returncode}"}
    if left[1:]:
        yield from in_a_process(left[1:], rows)


def save(options, rows):
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
        start = records.run_record("memory-estimates", rows=options.rows, **summary)
        records.write(options.output, [start, *rows])


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Measure peaks beside estimates of memory.")
    parser.add_argument("--output", type=Path, metavar="FILE", help="records (.jsonl, .md beside)")
    parser.add_argument("--only", default="", help="cases whose words contain one of these texts")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--cases", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.cases:
        for case in options.cases:
            print(json.dumps(measure(case, options.rows)), flush=True)
        return 0
    groups = {}
    for case in cases():
        if any(text in " ".join(map(str, case.values())) for text in options.only.split(",")):
            groups.setdefault((case["from"], case["run"]), []).append(case)
    rows = []
    for group in groups.values():
        for row in in_a_process(group, options.rows):
            rows.append({"table": "estimates"} | row)
            print(*row.values(), flush=True)
        save(options, rows)
    return int(any(row["check"] != "ok" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
