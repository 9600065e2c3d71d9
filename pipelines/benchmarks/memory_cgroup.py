"""Run the steps of ``limited_step.py`` here, or in a process with a memory limit."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipelines.benchmarks import harness, limited_step
from pipelines.benchmarks.layered_streaming import open_store
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.timing import Clock, summary

SCRIPT = limited_step.__file__


class CgroupFiles(NamedTuple):
    """Files of a version of the control group interface."""

    folder: Path
    marker: str  # a file that exists where this version is in use
    limit: str
    peak: str


CGROUPS = (
    CgroupFiles(
        Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.limit_in_bytes",
        "memory.max_usage_in_bytes",
    ),
    CgroupFiles(Path("/sys/fs/cgroup"), "cgroup.controllers", "memory.max", "memory.peak"),
)  # fmt: skip


class StepResult(NamedTuple):
    """Whether a step succeeded, and its result if it is an algorithm."""

    is_done: bool
    answer: Any = None


class InProcess:
    """Run steps in this process, on the device of `xp`."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def run(self, row: Record, step: str, *arguments: Any) -> StepResult:
        """Run a step and fill its record; a failure is the record's check."""
        clock = Clock(self.xp)

        def run_step() -> tuple[float, Any, Any]:
            if step == "build":
                return *clock.timed(lambda: limited_step.build(*arguments)), None
            store, limit, iterations = arguments
            layered = open_store(store, self.xp)
            call = limited_step.ALGORITHMS[step]
            first = clock.ms(lambda: call(layered, limit, iterations))  # page cache, checksums
            elapsed, answer = clock.timed(lambda: call(layered, limit, iterations))
            row["first_ms"] = summary([first])["median"]
            return elapsed, answer, layered.last_run

        result = harness.try_call(row, run_step)
        if result is None:
            return StepResult(False)
        elapsed, answer, last_run = result
        row.update({"run_ms": summary([elapsed])} | limited_step.describe_run(last_run))
        return StepResult(True, answer)


class LimitedProcess:
    """Run steps on a CPU in processes of their own, with a memory limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def run(self, row: Record, step: str, *arguments: Any) -> StepResult:
        """Run a step and fill its record, as `InProcess.run`."""
        for path in (path for path in arguments if isinstance(path, Path)):
            drop_page_cache(path)
        with tempfile.TemporaryDirectory() as folder, memory_group(self.limit) as (group, peak):
            result = Path(folder) / "result.npz"
            outputs = [result] if step in limited_step.ALGORITHMS else []
            values = [group or limited_step.NO_GROUP, self.limit, step, *arguments, *outputs]
            command = [sys.executable, SCRIPT, *map(str, values)]
            done = subprocess.run(command, capture_output=True, text=True)
            row["limited_by"] = "a control group, file pages counted" if group else "RLIMIT_DATA"
            row["process_bytes"] = self.limit
            if done.returncode:
                last = done.stderr.strip().splitlines()[-1:] or ["no output"]
                row["check"] = f"failed: exit status {done.returncode}: {last[0]}"[:300]
                return StepResult(False)
            facts = json.loads(done.stdout.splitlines()[-1])
            facts["run_ms"] = summary([facts.pop("taken_ms")])
            if peak:
                facts["peak_bytes"] = int(Path(peak).read_text())
            row.update(facts)
            return StepResult(True, dict(np.load(result)) if result.exists() else None)


def drop_page_cache(path: Path) -> None:
    """Drop the cached pages of a file, or of the files in a folder.

    Pages that others have read would not count for the limited process.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path] * path.exists()
    for each in files:
        with each.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def memory_group(limit: int) -> Iterator[tuple[str | None, str | None]]:
    """Yield (folder, file of the peak) of a control group with a memory limit.

    Both are None where no group can be created. The group is removed at the end.
    """
    for version in CGROUPS:
        folder = version.folder / f"rapidsgraph-{os.getpid()}"
        if not (version.folder / version.marker).exists():
            continue
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / version.limit).write_text(str(limit))
        except OSError:
            folder.rmdir()
            continue
        try:
            peak = folder / version.peak
            yield str(folder), str(peak) if peak.exists() else None
        finally:
            remove_group(folder)
        return
    yield None, None


def remove_group(folder: Path) -> None:
    """Remove a control group; processes that have just ended stay in it for a moment."""
    for _ in range(50):
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)
