"""Every CUDA kernel of the package under compute-sanitizer, as sanitized.py runs them.

    python pipelines/benchmarks/sanitizer.py [--output results/sanitizer-h100.jsonl]

Runs itself once a tool (memcheck, racecheck, initcheck, synccheck) and records what each found.
Needs a GPU, CuPy and compute-sanitizer; cuDF is not needed.

What a kernel that is left out writes counts as never written. So initcheck leaves none out, not
even CuPy's, and what it reports is told apart by the kernel that it names: CUB reads ahead in its
sorts and scans, which is not our fault. `--exclude` says which kernels to leave out instead.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks.sanitized import PARTS, work

TOOLS = {  # tool: parts of the names of kernels that are left out
    "memcheck": ("cupy",),  # CuPy's own are not ours
    "racecheck": ("cupy",),
    "initcheck": (),
    "synccheck": ("cupy",),
}
# A pool's memory is one allocation: what was written before it was used again counts as written,
# and what lies beside an array is no error. Without the pool every array is an allocation.
WITHOUT_POOL = ("memcheck", "initcheck")
MOST_REPORTS, ERRORS = 1_000_000, 9  # printed; the exit status where there are errors


def gpu_name():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True).stdout.strip()


def command(tool, parts, excluded=None):
    """The command line that runs some of PARTS under a tool."""
    excluded = TOOLS[tool] if excluded is None else excluded
    words = ["compute-sanitizer", "--tool", tool, "--error-exitcode", str(ERRORS)]
    if excluded:
        words += [
            "--kernel-name-exclude",
            ",".join(f"kernel_substring={part}" for part in excluded),
        ]
    if tool == "memcheck":  # what a call refuses is an exception, or allowed for
        words += ["--report-api-errors", "no"]
    if tool == "initcheck":
        words += ["--print-limit", str(MOST_REPORTS), "--show-backtrace", "device"]
    words += [sys.executable, __file__, "--work", "--only", ",".join(parts)]
    return [*words, "--without-pool"] if tool in WITHOUT_POOL else words


def own_kernels():
    """Names of the kernels of the package."""
    from rapidsgraph import device

    return {entry for path in device.KERNELS.glob("*.cu") for entry in device.signatures(path.stem)}


def told_apart(said, own):
    """(reports that name a kernel of `own`, other reports) of uninitialized memory."""
    reports = [text for text in re.split(r"^=+ (?=\S)", said, flags=re.M) if "ninitialized" in text]
    ours = 0
    for report in reports:
        frames = re.findall(r"^=+ +(?:at|Device Frame:) ?(.*)", report, flags=re.M)
        ours += any(not own.isdisjoint(re.findall(r"\w+", frame)) for frame in frames)
    return ours, len(reports) - ours


def verdict(tool, returncode, said):
    """What is recorded of a run: what the tool says, and whether it is all right.

    A tool that looks at all kernels may find errors in those of others.
    """
    found = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", said)
    record = {"exit_code": returncode, "summary": found[-1] if found else said[-500:]}
    heads = re.findall(r"^=+ ((?:Invalid|Program|Error|Warning|Race|Barrier).*)", said, re.M)
    if heads:
        record["reports"] = list(dict.fromkeys(heads))[:5]
    ok = bool(found) and returncode == 0
    if tool == "initcheck":
        ours, others = told_apart(said, own_kernels())
        record |= {"in_ours": ours, "in_others": others}
        ok = bool(found) and not ours and returncode in (0, ERRORS)
    return record | {"ok": ok}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--tools", default=",".join(TOOLS), help="which, with commas between")
    parser.add_argument("--only", default=",".join(PARTS), help="which kernels, likewise")
    parser.add_argument(
        "--exclude",
        metavar="PARTS",
        help="kernels whose names contain one of these are left out (default: cupy, in initcheck "
        "none; what they write counts as never written there)",
    )
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--without-pool", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    parts = given.only.split(",")
    if given.work:
        work(parts, not given.without_pool)
        return 0
    excluded = None if given.exclude is None else [p for p in given.exclude.split(",") if p]
    records = []
    for tool in given.tools.split(","):
        done = subprocess.run(command(tool, parts, excluded), capture_output=True, text=True)
        said = done.stdout + done.stderr
        record = {
            "benchmark": "sanitizer",
            "tool": tool,
            "kernels": given.only,
            "gpu": gpu_name(),
            "date": datetime.date.today().isoformat(),
        }
        record |= verdict(tool, done.returncode, said)
        records.append(record)
        print(json.dumps(record), flush=True)
        if not record["ok"]:
            print(said[:4000])
        if given.output:  # each time: a tool may take longer than there is
            given.output.write_text("".join(json.dumps(record) + "\n" for record in records))
    return not all(record["ok"] for record in records)


if __name__ == "__main__":
    sys.exit(main())
