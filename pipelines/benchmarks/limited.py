"""Run a step on a layered edge list in a process with a memory limit, and return its figures.

    python pipelines/benchmarks/limited.py GROUP LIMIT STEP ARGUMENTS

joins the control group GROUP, or for "-" limits its own data (RLIMIT_DATA), before it imports
anything that allocates. A control group also counts the page cache of files that the process reads
and writes; RLIMIT_DATA counts allocations only.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

CGROUPS = (  # folder, a file that exists where this version is in use, limit, peak
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.limit_in_bytes",
     "memory.max_usage_in_bytes"),
    ("/sys/fs/cgroup", "cgroup.controllers", "memory.max", "memory.peak"),
)  # fmt: skip

if __name__ == "__main__":  # before the imports that allocate
    if sys.argv[1] == "-":
        resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[2]),) * 2)
    else:
        Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))

import numpy as np  # noqa: E402

import rapidsgraph as rg  # noqa: E402


def build(path: str | Path, store: str | Path, root: int, limit: int) -> None:
    """Build out of core with parallel edges, so that rows can be counted."""
    rg.LayeredEdgeList.build(
        path, root, store=store, weight=None, multi_edges="keep", device="cpu", memory_limit=limit
    )


def run(algorithm: str, layered: rg.LayeredEdgeList, limit: int, iterations: int) -> Any:
    """Run BFS, or some iterations of PageRank, within a limit."""
    if algorithm == "bfs":
        return rg.bfs(layered, memory_limit=limit)
    options = {"tolerance": 0, "max_iterations": iterations, "progress": False}
    return rg.pagerank(layered, memory_limit=limit, **options)


def run_step(limit: int, step: str, *arguments: Any) -> tuple[dict[str, Any], Any]:
    """Return (figures, answer) of a step in a limited process; a failure is the check."""
    for path in (path for path in arguments if isinstance(path, Path)):
        drop_page_cache(path)
    with tempfile.TemporaryDirectory() as folder, memory_group(limit) as (group, peak):
        result = Path(folder) / "result.npz"
        line = [sys.executable, __file__, group or "-", limit, step, *arguments, result]
        done = subprocess.run(list(map(str, line)), capture_output=True, text=True)
        row: dict[str, Any] = {"process_bytes": limit}
        row["limited_by"] = "a control group, file pages counted" if group else "RLIMIT_DATA"
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["no output"]
            return row | {"check": f"failed: status {done.returncode}: {last[0]}"[:300]}, None
        row |= json.loads(done.stdout.splitlines()[-1])
        if peak:
            row["peak_bytes"] = int(Path(peak).read_text())
        return row, dict(np.load(result)) if result.exists() else None


def drop_page_cache(path: Path) -> None:
    """Drop the cached pages of a file or folder: pages that others read would not count."""
    for each in sorted(path.iterdir()) if path.is_dir() else [path] * path.exists():
        with each.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def memory_group(limit: int) -> Iterator[tuple[str | None, str | None]]:
    """Yield (folder, file of the peak) of a control group with a limit, None where impossible."""
    for parent, marker, limit_file, peak_file in CGROUPS:
        folder = Path(parent, f"rapidsgraph-{os.getpid()}")
        if not Path(parent, marker).exists():
            continue
        try:
            folder.mkdir()
            (folder / limit_file).write_text(str(limit))
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        try:
            peak = folder / peak_file
            yield str(folder), str(peak) if peak.exists() else None
        finally:
            for _ in range(50):  # a process that has just ended stays in it for a moment
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.1)
        return
    yield None, None


def read_counter(path: str, key: str) -> int:
    """Return a number of a file in /proc."""
    line = next(line for line in Path(path).read_text().splitlines() if line.startswith(key))
    return int(line.split()[1])


def main(step: str, *arguments: str) -> None:
    """Run a step, print its figures, and write its answer with -1 for nulls."""
    initial, start = read_counter("/proc/self/io", "read_bytes"), time.perf_counter()
    layered = answer = None
    if step == "build":
        path, store, root, limit, result = arguments
        build(path, store, int(root), int(limit))
    else:
        store, limit, iterations, result = arguments
        layered = rg.LayeredEdgeList.open(store, device="cpu")
        answer = run(step, layered, int(limit), int(iterations))
    elapsed = float(f"{(time.perf_counter() - start) * 1e3:.4g}")
    facts: dict[str, Any] = {
        "run_ms": {"median": elapsed, "low": elapsed, "high": elapsed, "repeats": 1},
        "read_bytes": read_counter("/proc/self/io", "read_bytes") - initial,
        "resident_bytes": read_counter("/proc/self/status", "VmHWM") * 1024,
    }
    if layered is not None:
        facts |= {"passes": layered.last_run.passes, "bytes": layered.last_run.nbytes}
        names = answer.columns
        columns = {name: answer[name].to_numpy(np.float64, na_value=np.nan) for name in names}
        np.savez(result, **{name: np.nan_to_num(v, nan=-1.0) for name, v in columns.items()})
    print(json.dumps(facts))


if __name__ == "__main__":
    main(*sys.argv[3:])
