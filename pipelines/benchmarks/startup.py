"""Time the first call of each algorithm in a process of its own, with and without cached kernels.

Each algorithm runs twice in new processes that share a folder for compiled kernels, which is empty
before the first process. A process imports the dependencies and the package, then calls the
algorithm two times on the same frame of random edges. `first_cpu_s` is the CPU time of the first
call in all threads, which depends less on other processes than `first_s` does. On a GPU, PageRank
also runs on a graph so large that it uses propagation blocking, which has kernels of its own; the
few kernels that generate its edges are compiled before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.benchmarks.harness import Measure, Session

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # of a process that is measured

VERTICES, EDGES = 20_000, 320_000
LARGE = "pagerank, propagation blocking"
NAMES = (
    "pagerank", "connected_components", "core_number", "label_propagation",
    "structural_similarity", "triangle_count", "clustering_coefficient", "scan",
)  # fmt: skip
RUNS: dict[str, Callable[[Any, Any], Any]] = {
    name: lambda rg, edges, name=name: getattr(rg, name)(edges) for name in NAMES
} | {
    LARGE: lambda rg, edges: rg.pagerank(edges),
    "graph": lambda rg, edges: rg.Graph(edges),
    "bfs": lambda rg, edges: rg.bfs(edges, 0),
    "sssp": lambda rg, edges: rg.sssp(edges.assign(weight=1.5), 0),
    "strong components": lambda rg, edges: rg.connected_components(edges, strong=True),
    "neighbor_similarity": lambda rg, edges: rg.neighbor_similarity(edges, edges[:9]),
    "scan_index": lambda rg, edges: rg.ScanIndex(edges).query(0.5, 3),
}

QUICK = ("graph", "bfs")


def random_edges(name: str, rg: Any) -> Any:
    """Return the edge frame on which an algorithm is measured."""
    if name == LARGE:
        return rg.generate.rmat(24, 10, seed=1)
    import numpy as np
    import pandas

    ends = np.random.default_rng(1).integers(0, VERTICES, (2, EDGES))
    return pandas.DataFrame({"source": ends[0], "destination": ends[1]})


def measure(name: str, device: str) -> dict[str, float]:
    """Return the seconds of the imports and of two calls in this process."""
    laps = [time.perf_counter()]
    import pandas

    if device == "gpu":
        import cudf
    laps.append(time.perf_counter())
    import rapidsgraph as rg

    laps.append(time.perf_counter())
    edges = random_edges(name, rg)
    if device == "gpu" and isinstance(edges, pandas.DataFrame):
        edges = cudf.from_pandas(edges)
    times = {"rows": len(edges), "dependencies_s": laps[1] - laps[0], "import_s": laps[2] - laps[1]}
    for call in ("first", "second"):
        start, cpu = time.perf_counter(), time.process_time()
        RUNS[name](rg, edges)
        times[f"{call}_s"] = time.perf_counter() - start
        times[f"{call}_cpu_s"] = time.process_time() - cpu
    return {key: round(seconds, 4) for key, seconds in times.items()}


def measure_in_process(name: str, device: str, folder: str) -> dict[str, Any]:
    """Return the times of a new process whose kernels are cached in `folder`."""
    caches = {"NUMBA_CACHE_DIR": folder, "CUPY_CACHE_DIR": folder, "XDG_CACHE_HOME": folder}
    line = [sys.executable, __file__, name, device]
    done = subprocess.run(line, env=os.environ | caches, capture_output=True, text=True)
    if done.returncode:
        return {"check": f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"}
    return json.loads(done.stdout.splitlines()[-1])


def measure_algorithm(name: str, device: str) -> Iterator[dict[str, Any]]:
    """Yield the records of an algorithm with an empty and with a full cache."""
    with tempfile.TemporaryDirectory(prefix="kernels-") as folder:  # private, so the cache uses it
        for cache in ("empty", "full"):
            row = {"table": "startup", "algorithm": name, "cache": cache, "check": "ok"}
            yield row | measure_in_process(name, device, folder)


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    device = "gpu" if session.options.on_gpu else "cpu"
    session.start["device"] = device
    names = [name for name in RUNS if device == "gpu" or name != LARGE]
    for name in session.tasks(QUICK if session.options.quick else names, *names):
        yield name, partial(measure_algorithm, name, device)


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
