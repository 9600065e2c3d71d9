"""Steps on a layered edge list larger than memory, in processes that the system limits.

    python pipelines/benchmarks/limited.py GROUP LIMIT STEP ARGUMENTS

joins the control group GROUP, or where that is "-" limits its own data (RLIMIT_DATA), before
anything is imported; then runs a step and prints what it took as JSON. A control group counts the
pages of files that the process reads and writes, too; RLIMIT_DATA counts what it allocates.
"""

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GROUPS = (  # of version 1 and 2: folder, a file that shows it, those of the limit and the peak
    (
        Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.limit_in_bytes",
        "memory.max_usage_in_bytes",
    ),
    (Path("/sys/fs/cgroup"), "cgroup.controllers", "memory.max", "memory.peak"),
)  # fmt: skip
NONE = "-"


def build(path, store, root, limit):
    """Build out of core; parallel edges are kept, so that rows can be counted."""
    import rapidsgraph as rg

    rg.LayeredEdgeList.build(
        path, int(root), store=store, multi_edges="keep", device="cpu", memory_limit=int(limit)
    )


def bfs(layered, limit, iterations):
    import rapidsgraph as rg

    return rg.bfs(layered, memory_limit=int(limit))


def pagerank(layered, limit, iterations):
    import rapidsgraph as rg

    return rg.pagerank(
        layered, tolerance=0, max_iterations=int(iterations), memory_limit=int(limit),
        progress=False,
    )  # fmt: skip


STEPS = {"bfs": bfs, "pagerank": pagerank}


class Here:
    """Steps in this process, on the device of `xp`."""

    def __init__(self, xp):
        self.xp = xp

    def run(self, row, step, *arguments):
        """(what the step took, its result); None and None where it fails, and the row says why."""
        from pipelines.benchmarks import command
        from pipelines.benchmarks.streams import opened
        from pipelines.benchmarks.timing import Clock, summary

        clock = Clock(self.xp)

        def work():
            if step == "build":
                return clock.timed(lambda: build(*map(str, arguments))), None
            store, *more = arguments
            layered = opened(store, self.xp)
            first = clock.ms(lambda: STEPS[step](layered, *more))  # pages, checksums, buffers
            taken = clock.timed(lambda: STEPS[step](layered, *more))
            row["first_ms"] = summary([first])["median"]
            return taken, layered.last_run

        found = command.attempted(row, work)
        if found is None:
            return None, None
        (taken, answer), took = found
        facts = {"run_ms": summary([taken])} | facts_of(took)
        row.update(facts)
        return facts, answer


class Processes:
    """Steps in processes of their own, with a limit of memory, on a CPU."""

    def __init__(self, limit):
        self.limit = limit

    def run(self, row, step, *arguments):
        """As `Here.run`; what a process leaves behind is its result."""
        import numpy as np

        from pipelines.benchmarks.timing import summary

        for path in (path for path in arguments if isinstance(path, Path)):
            forget(path)
        with tempfile.TemporaryDirectory() as folder, group_of(self.limit) as (group, peak):
            result = Path(folder) / "result.npz"
            words = [group or NONE, self.limit, step, *arguments, *([result] * (step in STEPS))]
            line = [sys.executable, __file__, *map(str, words)]
            done = subprocess.run(line, capture_output=True, text=True)
            row["limited_by"] = "a control group, file pages counted" if group else "RLIMIT_DATA"
            row["process_bytes"] = self.limit
            if done.returncode:
                said = done.stderr.strip().splitlines()[-1:] or ["nothing was said"]
                row["check"] = f"failed: exit status {done.returncode}: {said[0]}"[:300]
                return None, None
            facts = json.loads(done.stdout.splitlines()[-1])
            facts["run_ms"] = summary([facts.pop("taken_ms")])
            if peak:
                facts["peak_bytes"] = int(Path(peak).read_text())
            row.update(facts)
            answer = dict(np.load(result)) if result.exists() else None
        return facts, answer


def forget(path):
    """Have the system drop what it keeps of a file, or of those in a folder.

    Pages that others have read would not count for the process that is limited.
    """
    for each in sorted(path.iterdir()) if path.is_dir() else [path] * path.exists():
        with each.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def group_of(limit):
    """(folder, file of its peak) of a control group with so much memory; None where there is none.

    It is empty again at the end, and gone.
    """
    for root, shown_by, limit_file, peak_file in GROUPS:
        folder = root / f"rapidsgraph-{os.getpid()}"
        if not (root / shown_by).exists():
            continue
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / limit_file).write_text(str(limit))
        except OSError:
            folder.rmdir()
            continue
        try:
            peak = folder / peak_file
            yield str(folder), str(peak) if peak.exists() else None
        finally:
            dissolve(folder)
        return
    yield None, None


def dissolve(folder):
    """Remove a control group; processes that end now are in it for a moment more."""
    for _ in range(50):
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)


def facts_of(took):
    return {} if took is None else {"passes": took.passes, "bytes": took.nbytes}


def read_bytes():
    """Bytes that this process has had the disk read."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


def most_resident():
    """Bytes of the greatest resident set so far, pages of mapped files included."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


def main(group, limit, step, *arguments):
    if group == NONE:
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))
    else:
        (Path(group) / "cgroup.procs").write_text(str(os.getpid()))
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    import numpy as np

    import rapidsgraph as rg

    before, start = read_bytes(), time.perf_counter()
    if step == "build":
        build(*arguments)
        layered = answer = None
    else:
        store, *more, result = arguments
        layered = rg.LayeredEdgeList.open(store, device="cpu")
        answer = STEPS[step](layered, *more)
    facts = {
        "taken_ms": (time.perf_counter() - start) * 1e3,
        "read_bytes": read_bytes() - before,
        "resident_bytes": most_resident(),
    }
    if answer is not None:
        facts |= facts_of(layered.last_run)
        del layered
        columns = {name: answer[name] for name in answer.columns}
        columns = {
            name: values.to_numpy(np.float64, na_value=np.nan) for name, values in columns.items()
        }
        np.savez(result, **{name: np.nan_to_num(v, nan=-1.0) for name, v in columns.items()})
    print(json.dumps(facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
