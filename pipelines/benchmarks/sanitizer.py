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

import numpy as np

METHODS = ("auto", "edge", "node", "contribution", "warp")
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def edges(hub=7000, vertices=9001):
    """A hub that needs chunks, rows of every length, short lists, idle vertices, parallel edges."""
    random = np.random.default_rng(1)
    sources = [np.arange(1, hub), random.integers(0, vertices - 500, 30_000)]
    destinations = [np.zeros(hub - 1, int), random.integers(0, 1500, 30_000) ** 2 // 1600]
    sources += [random.integers(0, 3000, 1200), random.integers(0, vertices - 500, 4000)]
    destinations += [np.full(1200, 3), random.integers(0, 2000, 4000)]
    return np.concatenate(sources), np.concatenate(destinations), vertices


def work():
    """Build and rank on the GPU, a few iterations each; the ranks must be those of the CPU."""
    import cupy

    import rapidsgraph as rg
    from rapidsgraph import generate

    sources, destinations, vertices = edges()
    weights = np.random.default_rng(2).random(sources.size)
    everyone = np.arange(vertices) * 3 - 7  # gaps, so that names are looked up
    frame = {"source": everyone[sources], "destination": everyone[destinations], "weight": weights}
    start = {"vertex": everyone[:50], "value": np.arange(1.0, 51.0)}

    def same_ranks(frame, graph_options, **options):
        found = []
        for xp in (np, cupy):
            graph = rg.Graph({k: xp.asarray(v) for k, v in frame.items()}, **graph_options)
            ranks = rg.pagerank(graph, tolerance=0, max_iterations=3, **options)["pagerank"]
            found.append(cupy.asnumpy(ranks))
        single = options.get("precision") == "single"
        np.testing.assert_allclose(*found, atol=1e-6 if single else 1e-13, rtol=0)

    for weight, multi_edges in ((None, "first"), ("weight", "sum")):
        for directed in (True, False):
            graph_options = {
                "weight": weight, "directed": directed, "multi_edges": multi_edges,
                "vertices": everyone,
            }  # fmt: skip
            for method in METHODS:
                same_ranks(frame, graph_options, method=method)
    same_ranks(frame, graph_options, precision="single")
    same_ranks(frame, graph_options, personalization=start, start=start)
    grid = generate.grid_arrays(cupy, 90, 90, keep=0.8, seed=3)  # narrow lists alone
    same_ranks(dict(zip(("source", "destination"), map(cupy.asnumpy, grid[:2]))), {})
    generate.rmat_arrays(cupy, 10, 8, seed=4, weights=(1, 2))
    generate.uniform_arrays(cupy, 1000, 5000, seed=5)
    cupy.cuda.Device().synchronize()


def gpu_name():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--tools", default=",".join(TOOLS), help="which, with commas between")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work()
        return 0
    records = []
    for tool in arguments.tools.split(","):
        command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9"]
        command += ["--kernel-name-exclude", "kernel_substring=cupy"]  # CuPy's own are not ours
        command += [sys.executable, __file__, "--work"]
        done = subprocess.run(command, capture_output=True, text=True)
        said = done.stdout + done.stderr
        found = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", said)
        record = {
            "benchmark": "sanitizer",
            "tool": tool,
            "gpu": gpu_name(),
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
