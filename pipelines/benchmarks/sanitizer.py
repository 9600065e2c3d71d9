"""Every CUDA kernel of the package under compute-sanitizer, on graphs that reach each branch.

    python pipelines/benchmarks/sanitizer.py [--output results/sanitizer-h100.jsonl]

Runs itself once a tool (memcheck, racecheck, initcheck, synccheck) and records what each found.
Needs a GPU, CuPy and compute-sanitizer; cuDF is not needed.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def edges(xp, hub=7000, vertices=9001):
    """A hub that needs chunks, rows of every length, short lists, idle vertices, parallel edges."""
    random = xp.random.RandomState(1)
    sources = [xp.arange(1, hub), random.randint(0, vertices - 500, 30_000)]
    destinations = [xp.zeros(hub - 1, int), random.randint(0, 1500, 30_000) ** 2 // 1600]
    sources += [random.randint(0, 3000, 1200), random.randint(0, vertices - 500, 4000)]
    destinations += [xp.full(1200, 3), random.randint(0, 2000, 4000)]
    return xp.concatenate(sources), xp.concatenate(destinations), vertices


def work():
    """Build and rank on the GPU; the answers are checked, so that the tools watch real runs."""
    import cupy

    import rapidsgraph as rg
    from rapidsgraph import generate
    from rapidsgraph.algorithms.pagerank import METHODS

    sources, destinations, vertices = edges(cupy)
    frame = {
        "source": sources * 3 - 7,  # gaps, so that names are looked up
        "destination": destinations * 3 - 7,
        "weight": cupy.random.RandomState(2).rand(sources.size),
    }
    everyone = cupy.arange(vertices) * 3 - 7
    for directed in (True, False):
        for weight in (None, "weight"):
            for multi_edges in ("first", "sum"):
                graph = rg.Graph(
                    frame, weight=weight, directed=directed, multi_edges=multi_edges,
                    vertices=everyone,
                )  # fmt: skip
            start = {"vertex": everyone[:50], "value": cupy.arange(1.0, 51.0)}
            for method in METHODS:
                for precision in ("single", "double"):
                    ranks = rg.pagerank(graph, method=method, precision=precision, tolerance=1e-5)
                    rg.verify.pagerank(graph, ranks, tolerance=1e-4)
                rg.pagerank(graph, method=method, personalization=start, start=start)
    for side in (3, 90):  # narrow lists: rows by neighborhood
        source, destination, _ = generate.grid_arrays(cupy, side, side, keep=0.8, seed=3)
        grid = {"source": source, "destination": destination}
        rg.verify.pagerank(grid, rg.pagerank(grid, tolerance=1e-7))
    source, destination, _ = generate.rmat_arrays(cupy, 10, 8, seed=4, weights=(1, 2))
    source, destination, _ = generate.uniform_arrays(cupy, 1000, 5000, seed=5)
    cupy.cuda.Device().synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work()
        return 0
    records = []
    for tool in TOOLS:
        command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9"]
        command += [sys.executable, __file__, "--work"]
        done = subprocess.run(command, capture_output=True, text=True)
        said = done.stdout + done.stderr
        found = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", said)
        record = {
            "benchmark": "sanitizer",
            "tool": tool,
            "date": datetime.date.today().isoformat(),
            "exit_code": done.returncode,
            "summary": found[-1] if found else said[-500:],
        }
        records.append(record)
        print(json.dumps(record), flush=True)
        if done.returncode:
            print(said[:4000])
    if arguments.output:
        arguments.output.write_text("".join(json.dumps(record) + "\n" for record in records))
    return any(record["exit_code"] for record in records)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.exit(main())
