"""Run the tests marked `sanitizer` on a GPU under tools of compute-sanitizer, and record the sums.

The tests launch every CUDA kernel of the package; the record says which not. They need a GPU, CuPy
and compute-sanitizer, but not cuDF. In pytest, this module is the plugin that counts launches.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pipelines.benchmarks.harness import Measure, Session, Suite
from pipelines.benchmarks.records import Record
from rapidsgraph import device
from rapidsgraph.device import launcher

TOOLS = {
    "memcheck": ["--report-api-errors", "no"],  # a call that fails raises, or is expected to fail
    "racecheck": [],
    "synccheck": [],
}
PATTERNS = {"summary": r"(?:ERROR|RACECHECK) SUMMARY: (.*)", "tests": r"(\d+ (?:pass|fail).*) in",
            "not_launched": r"kernels not launched: (.*)"}  # fmt: skip


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out modules without marked tests, whose imports the GPU's environment may lack."""
    is_module = collection_path.suffix == ".py" and collection_path.name != "conftest.py"
    return True if is_module and "mark.sanitizer" not in collection_path.read_text() else None


def pytest_configure(config: Any) -> None:
    """Fit launches to the instrumented kernels, and count them."""
    if not device.gpu_problem():
        cupy = device.import_cupy()
        cupy.cuda.set_allocator(None)  # an access beyond an array of a pool is no error
        # Instrumentation takes registers, so that blocks which fit without it may never start while
        # the others wait at the grid barrier. One block per multiprocessor always fits.
        blocks = cupy.cuda.Device().attributes["MultiProcessorCount"]
        launcher.resident_blocks = lambda *_: blocks
    config.launched = set()

    def record(function: Callable[..., Any], stem: str, entry: str, *arguments: Any) -> Any:
        config.launched.add(f"{stem}.{entry}")
        return function(stem, entry, *arguments)

    launcher._bind = partial(record, launcher._bind)  # of launches on a GPU, and on a CPU:
    launcher._find_twin = partial(record, launcher._find_twin)


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """Print which kernels have not been launched."""
    stems = [path.stem for path in device.KERNELS.glob("*.cu")]
    kernels = {f"{stem}.{entry}" for stem in stems for entry in device.signatures(stem)}
    missing = ", ".join(sorted(kernels - config.launched))
    terminalreporter.write_line(f"kernels not launched: {missing or 'none'}")


def measure(tool: str, tests: str) -> Iterator[Record]:
    """Run tests under a tool, and yield the record of its output."""
    line = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--error-exitcode", "99",
            "--kernel-name-exclude", "kernel_substring=cupy", sys.executable, "-m", "pytest", tests,
            "-p", "pipelines.benchmarks.sanitizer", "-q", "--gpu",
            "-m", "sanitizer and gpu"]  # fmt: skip
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(line, capture_output=True, text=True, cwd=root)
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
