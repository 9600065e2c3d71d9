"""One step on a layered edge list, in a process whose memory is limited.

    python pipelines/benchmarks/limited_step.py GROUP LIMIT STEP ARGUMENTS

joins the control group GROUP, or for "-" limits its own data (RLIMIT_DATA), before it imports
anything that allocates; then it runs a step and prints its figures as JSON. A control group also
counts the page cache of files that the process reads and writes; RLIMIT_DATA counts allocations
only.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

NO_GROUP = "-"


def limit_memory(group: str, limit: str) -> None:
    """Join a control group, or limit the data of this process."""
    if group == NO_GROUP:
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))
    else:
        (Path(group) / "cgroup.procs").write_text(str(os.getpid()))


if __name__ == "__main__":
    limit_memory(*sys.argv[1:3])  # before the imports that allocate

import numpy as np  # noqa: E402

import rapidsgraph as rg  # noqa: E402
from rapidsgraph.frames import Frame  # noqa: E402


def build(path: str | Path, store: str | Path, root: int, limit: int) -> None:
    """Build out of core with parallel edges, so that rows can be counted."""
    rg.LayeredEdgeList.build(
        path, root, store=store, weight=None, multi_edges="keep", device="cpu", memory_limit=limit
    )


def run_bfs(layered: rg.LayeredEdgeList, limit: int, iterations: int) -> Frame:
    """Run BFS within a limit."""
    return rg.bfs(layered, memory_limit=limit)


def run_pagerank(layered: rg.LayeredEdgeList, limit: int, iterations: int) -> Frame:
    """Run some iterations of PageRank within a limit."""
    return rg.pagerank(
        layered, tolerance=0, max_iterations=iterations, memory_limit=limit, progress=False
    )


ALGORITHMS = {"bfs": run_bfs, "pagerank": run_pagerank}


def describe_run(last_run: Any) -> dict[str, int]:
    """Return the recorded facts about the passes of a run."""
    return {} if last_run is None else {"passes": last_run.passes, "bytes": last_run.nbytes}


def bytes_read() -> int:
    """Return the bytes that this process has caused to be read from disk."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


def peak_resident_bytes() -> int:
    """Return the peak resident set, which includes pages of mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


def save_answer(answer: Frame, path: str) -> None:
    """Write the columns of a result as an .npz file, with -1 for nulls."""
    columns = {name: answer[name].to_numpy(np.float64, na_value=np.nan) for name in answer.columns}
    np.savez(path, **{name: np.nan_to_num(v, nan=-1.0) for name, v in columns.items()})


def main(group: str, limit: str, step: str, *arguments: str) -> None:
    """Run a step and print its figures."""
    initial_bytes, start = bytes_read(), time.perf_counter()
    layered = answer = None
    if step == "build":
        path, store, root, build_limit = arguments
        build(path, store, int(root), int(build_limit))
    else:
        store, array_limit, iterations, _ = arguments
        layered = rg.LayeredEdgeList.open(store, device="cpu")
        answer = ALGORITHMS[step](layered, int(array_limit), int(iterations))
    facts: dict[str, Any] = {
        "taken_ms": (time.perf_counter() - start) * 1e3,
        "read_bytes": bytes_read() - initial_bytes,
        "resident_bytes": peak_resident_bytes(),
    }
    if layered is not None:
        facts |= describe_run(layered.last_run)
        del layered
        save_answer(answer, arguments[-1])
    print(json.dumps(facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
