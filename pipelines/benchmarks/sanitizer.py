"""Run every CUDA kernel of the package under compute-sanitizer, with sanitizer_workload.py.

    python pipelines/benchmarks/sanitizer.py [--output results/sanitizer-h100.jsonl]

It runs itself once per tool (memcheck, racecheck, initcheck, synccheck) and records the reports. It
needs a GPU, CuPy and compute-sanitizer, but not cuDF.

Memory that an excluded kernel writes counts as never written. So initcheck excludes no kernels, not
even CuPy's, and its reports are classified by the kernel that they name: CUB reads ahead in its
sorts and scans. `--exclude` names the kernels to exclude instead.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks.records import Record
from pipelines.benchmarks.sanitizer_workload import WORKLOADS, run_workloads
from rapidsgraph import device

TOOLS: dict[str, tuple[str, ...]] = {  # tool: substrings of the names of excluded kernels
    "memcheck": ("cupy",),  # kernels of CuPy itself
    "racecheck": ("cupy",),
    "initcheck": (),
    "synccheck": ("cupy",),
}
# A pool is one allocation: memory that was written before it is reused counts as written, and an
# access beyond an array is not an error. Without the pool every array is an allocation.
WITHOUT_POOL = ("memcheck", "initcheck")
MAX_REPORTS = 1_000_000
EXIT_ERRORS = 9  # exit status of a tool that reports errors


def gpu_name() -> str:
    """Return the name of the GPU and the version of its driver."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True).stdout.strip()


def command_line(
    tool: str, workloads: Sequence[str], excluded: Sequence[str] | None = None
) -> list[str]:
    """Return the command line that runs some workloads under a tool."""
    excluded = TOOLS[tool] if excluded is None else excluded
    words = ["compute-sanitizer", "--tool", tool, "--error-exitcode", str(EXIT_ERRORS)]
    if excluded:
        words += [
            "--kernel-name-exclude",
            ",".join(f"kernel_substring={part}" for part in excluded),
        ]
    if tool == "memcheck":  # a failing API call raises, or is expected to fail
        words += ["--report-api-errors", "no"]
    if tool == "initcheck":
        words += ["--print-limit", str(MAX_REPORTS), "--show-backtrace", "device"]
    words += [sys.executable, __file__, "--work", "--only", ",".join(workloads)]
    return [*words, "--without-pool"] if tool in WITHOUT_POOL else words


def own_kernels() -> set[str]:
    """Return the names of the package's kernels."""
    return {entry for path in device.KERNELS.glob("*.cu") for entry in device.signatures(path.stem)}


def count_uninitialized(output: str, own: set[str]) -> tuple[int, int]:
    """Return the numbers of reports of uninitialized memory in `own` kernels and in others."""
    reports = [
        text for text in re.split(r"^=+ (?=\S)", output, flags=re.M) if "ninitialized" in text
    ]
    num_ours = 0
    for report in reports:
        frames = re.findall(r"^=+ +(?:at|Device Frame:) ?(.*)", report, flags=re.M)
        num_ours += any(not own.isdisjoint(re.findall(r"\w+", frame)) for frame in frames)
    return num_ours, len(reports) - num_ours


def summarize_output(tool: str, exit_code: int, output: str) -> Record:
    """Return the record of a tool's output, and whether it passed.

    A tool that checks all kernels may report errors in those of others.
    """
    summaries = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", output)
    summary = summaries[-1] if summaries else output[-500:]
    record: Record = {"exit_code": exit_code, "summary": summary}
    heads = re.findall(r"^=+ ((?:Invalid|Program|Error|Warning|Race|Barrier).*)", output, re.M)
    if heads:
        record["reports"] = list(dict.fromkeys(heads))[:5]
    is_ok = bool(summaries) and exit_code == 0
    if tool == "initcheck":
        num_ours, num_others = count_uninitialized(output, own_kernels())
        record |= {"in_ours": num_ours, "in_others": num_others}
        is_ok = bool(summaries) and not num_ours and exit_code in (0, EXIT_ERRORS)
    return record | {"ok": is_ok}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tools; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--tools", default=",".join(TOOLS), help="tools, separated by commas")
    parser.add_argument("--only", default=",".join(WORKLOADS), help="workloads, likewise")
    parser.add_argument(
        "--exclude",
        metavar="NAMES",
        help="exclude kernels whose names contain one of these (default: cupy, in initcheck none, "
        "where memory that they write counts as never written)",
    )
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--without-pool", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    workloads = options.only.split(",")
    if options.work:
        run_workloads(workloads, not options.without_pool)
        return 0
    excluded = None
    if options.exclude is not None:
        excluded = [name for name in options.exclude.split(",") if name]
    records = []
    for tool in options.tools.split(","):
        line = command_line(tool, workloads, excluded)
        done = subprocess.run(line, capture_output=True, text=True)
        output = done.stdout + done.stderr
        record: Record = {
            "benchmark": "sanitizer",
            "tool": tool,
            "kernels": options.only,
            "gpu": gpu_name(),
            "date": datetime.date.today().isoformat(),
        }
        record |= summarize_output(tool, done.returncode, output)
        records.append(record)
        print(json.dumps(record), flush=True)
        if not record["ok"]:
            print(output[:4000])
        if options.output:  # after each tool, because the next may exceed the time limit
            lines = "".join(json.dumps(record) + "\n" for record in records)
            options.output.write_text(lines)
    return int(not all(record["ok"] for record in records))


if __name__ == "__main__":
    sys.exit(main())
