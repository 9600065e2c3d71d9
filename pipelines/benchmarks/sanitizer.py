"""Run the tests marked `sanitizer` on a GPU under tools of compute-sanitizer, and record the sums.

The tests launch every CUDA kernel of the package; the record says which not, by the pytest plugin
`tests/launch_counter.py`. They need a GPU, CuPy and compute-sanitizer, but not cuDF.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pipelines.benchmarks.harness import Measure, Session, Suite
from pipelines.benchmarks.records import Record

TOOLS = {
    "memcheck": ["--report-api-errors", "no"],  # a call that fails raises, or is expected to fail
    "racecheck": [],
    "synccheck": [],
}
PATTERNS = {"summary": r"(?:ERROR|RACECHECK) SUMMARY: (.*)", "tests": r"(\d+ (?:pass|fail).*) in",
            "not_launched": r"kernels not launched: (.*)"}  # fmt: skip


def measure(tool: str, tests: str) -> Iterator[Record]:
    """Run tests under a tool, and yield the record of its output."""
    line = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--error-exitcode", "99",
            "--kernel-name-exclude", "kernel_substring=cupy", sys.executable, "-m", "pytest", tests,
            "-p", "launch_counter", "-q", "--gpu", "-m", "sanitizer and gpu"]  # fmt: skip
    root = Path(__file__).resolve().parents[2]
    path = [str(root / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]  # of the plugin
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(line, capture_output=True, text=True, cwd=root, env=environment)
    yield summarize(tool, done.returncode, done.stdout + done.stderr)


def summarize(tool: str, status: int, output: str) -> Record:
    """Return the record of a tool's output; it is all right if tests and tool are."""
    record: Record = {"table": "sanitizer", "tool": tool}
    for name, pattern in PATTERNS.items():
        record[name] = (re.findall(pattern, output) or [None])[-1]
    is_ok = status == 0 and None not in record.values()
    if not is_ok:
        print(output[-8000:], file=sys.stderr)
    return record | {"check": "ok" if is_ok else f"failed: status {status}: {output[-200:]}"}


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    """Yield the measurement by each tool; each is saved, because the next may take too long."""
    tests = session.start["tests"] = session.options.tests
    for tool in session.tasks(TOOLS):
        yield tool, partial(measure, tool, tests)


SUITE = Suite("sanitizer", measurements, in_processes=True)
