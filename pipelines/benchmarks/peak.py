"""Peak memory of one build on a CPU, in a process of its own.

    python pipelines/benchmarks/peak.py GRAPH EDGE_FACTOR CASE BUILDER

prints {"peak_bytes", "rows", "vertices", "estimate"}: the greatest resident set during the build
less the one before it, which holds the frame, the libraries and the compiled kernels, and the
estimate of the package's own build.
"""

import ctypes
import gc
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks.builds import builders, make_case
from pipelines.benchmarks.workloads import load

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")  # 5 written to it makes the peak what is resident now


def resident(which="VmRSS"):
    """Bytes that are resident now, or (VmHWM) were at the peak."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(which))
    return int(line.split()[1]) * 1024


def peak_of(work):
    """(bytes at the peak above those before, what `work` returned)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what is free already must not serve the build unseen
    RESET.write_text("5")
    before = resident()
    result = work()
    return resident("VmHWM") - before, result


def in_a_process(graph, edge_factor, case, builder):
    """The figures of one build, or {"failed": why}."""
    command = [sys.executable, __file__, graph, str(edge_factor), case, str(builder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return {"failed": reason[0][:300]}
    return json.loads(done.stdout.splitlines()[-1])


def main(graph, edge_factor, case, builder):
    builder = next(one for one in builders(False, []) if str(one) == builder)
    for tiny in ("rmat8", "rmat12"):  # compiles, or loads what has been compiled
        builder.build(make_case(load(tiny), case))
    given = make_case(load(graph, edge_factor=int(edge_factor)), case)
    _ = given.frame
    estimate = given.estimate_build()
    peak, built = peak_of(lambda: builder.build(given))
    facts = {"rows": int(given.rows), "vertices": given.vertices, "estimate": estimate}
    print(json.dumps({"peak_bytes": peak} | facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
