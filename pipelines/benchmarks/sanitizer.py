"""Run the tests marked `sanitizer` on a GPU under tools of compute-sanitizer, and record the sums.

The tests launch every CUDA kernel of the package; the record says which not, by the pytest plugin
`tests/launch_counter.py`. They need a GPU, CuPy and compute-sanitizer, but not cuDF.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from pipelines.benchmarks.harness import Measure, Session, Suite
from pipelines.benchmarks.records import Record
from rapidsgraph import device

TOOLS = {
    "memcheck": ["--report-api-errors", "no"],  # a call that fails raises, or is expected to fail
    "racecheck": [],
    "synccheck": [],
}
PATTERNS = (r"(?:ERROR|RACECHECK) SUMMARY: (.*)", r"(\d+) passed", r"kernels not launched: (.*)")
ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 16  # at once on a GPU, most of whose time is that of compilers and of Python


def measure(tool: str, tests: Path) -> Iterator[Record]:
    """Run the modules with marked tests under a tool, several at once, and yield their record."""
    marked = [path for path in sorted(tests.rglob("test_*.py")) or [tests]
              if "mark.sanitizer" in path.read_text()]  # fmt: skip
    if not marked:
        raise ValueError(f"no test of {tests} has the mark `sanitizer`")
    num_gpus = device.import_cupy().cuda.runtime.getDeviceCount()
    names = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(num_gpus)))
    gpus = itertools.cycle(names.split(","))
    with ThreadPoolExecutor(min(PROCESSES * num_gpus, os.cpu_count() or 1)) as pool:
        yield summarize(tool, list(pool.map(partial(run_module, tool), marked, gpus)))


def run_module(tool: str, module: Path, gpu: str) -> tuple[int, str]:
    """Run the marked tests of a module under a tool; return the exit status and the output."""
    line = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--error-exitcode", "99",
            "--kernel-name-exclude", "kernel_substring=cupy", sys.executable, "-m", "pytest",
            str(module), "-p", "launch_counter", "-q", "--gpu",
            "-m", "sanitizer and gpu"]  # fmt: skip
    path = [str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]  # of the plugin
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path), "CUDA_VISIBLE_DEVICES": gpu}
    start = time.perf_counter()
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, env=environment)
    seconds = time.perf_counter() - start
    print(f"{tool} {module.name}: status {done.returncode}, {seconds:.0f} s", file=sys.stderr)
    return done.returncode, done.stdout + done.stderr


def summarize(tool: str, runs: Sequence[tuple[int, str]]) -> Record:
    """Return the record of the runs of modules; it is all right if tests and tool are."""
    record: Record = {"table": "sanitizer", "tool": tool, "check": "ok"}
    passed, not_launched = 0, []
    for status, output in runs:
        found = [re.findall(pattern, output) for pattern in PATTERNS]
        if status or not all(found):
            print(output[:4000], output[-4000:], sep="\n...\n", file=sys.stderr)
            record["check"] = f"failed: status {status}: {output[-200:]}"
            continue
        record["summary"], tests, kernels = (matches[-1] for matches in found)
        passed += int(tests)
        not_launched.append(set(kernels.split(", ")) - {"none"})
    if record["check"] != "ok":
        return record
    missing = ", ".join(sorted(set.intersection(*not_launched))) or "none"
    return record | {"tests": passed, "not_launched": missing}


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    """Yield the measurement by each tool; each is saved, because the next may take too long."""
    tests = session.start["tests"] = session.options.tests
    for tool in session.tasks(TOOLS):
        yield tool, partial(measure, tool, ROOT / tests)


SUITE = Suite("sanitizer", measurements, in_processes=True)
