"""Peak memory: of a process of its own on a CPU, of the memory pool on a GPU.

    python pipelines/benchmarks/peak_memory.py GRAPH EDGE_FACTOR CASE BUILDER

prints {"peak_bytes", "rows", "vertices", "estimate"} of one build on a CPU: the peak of the
resident set above its value before the build, which includes the frame, the libraries and the
compiled kernels, and the package's own estimate.
"""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks.adapters import cugraph, rapidsgraph, registry
from pipelines.benchmarks.adapters.interface import BuildAdapter, import_optional
from pipelines.benchmarks.graphs import load, make_build_case
from pipelines.benchmarks.timing import Clock

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")  # writing 5 resets the peak to the current resident set
POOL_BYTES = 8 << 30
RMM_POOL, CUPY_POOL = "RMM pool", "CuPy pool"


def resident_bytes(key: str = "VmRSS") -> int:
    """Return the bytes that are resident now, or (VmHWM) were at the peak."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


def measure_peak(function: Callable[[], Any]) -> tuple[int, Any]:
    """Return (bytes at the peak above those before, the result of the function), on a CPU."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # or free heap memory would serve the function unnoticed
    RESET.write_text("5")
    baseline = resident_bytes()
    result = function()
    return resident_bytes("VmHWM") - baseline, result


def use_rmm_pool(notes: list[str]) -> str:
    """Use one RMM pool for CuPy and RAPIDS, as usual with cuDF.

    Returns the name of the pool in use: CuPy's own where RMM is missing.
    """
    # Import it before CuPy loads CUDA libraries that may be too old for cuGraph.
    import_optional("pylibcugraph", [], cugraph.HINT)
    rmm = import_optional("rmm", notes, "CuPy's own pool is used")
    if rmm is None:
        return CUPY_POOL
    try:
        import cupy
        from rmm.allocators.cupy import rmm_cupy_allocator

        size = min(POOL_BYTES, cupy.cuda.runtime.memGetInfo()[0] // 2 >> 8 << 8)
        rmm.reinitialize(pool_allocator=True, initial_pool_size=size)
        cupy.cuda.set_allocator(rmm_cupy_allocator)
    except Exception as error:  # names differ between releases of RMM
        notes.append(f"RMM's pool could not be set up ({error}); CuPy's own pool is used")
        return CUPY_POOL
    return RMM_POOL


def measure_device_peak(clock: Clock, function: Callable[[], Any], allocator: str | None) -> int:
    """Return the peak of device memory above what was allocated before."""
    clock.synchronize()
    if allocator == RMM_POOL:
        from rmm import statistics

        with statistics.statistics():
            result = function()
            clock.synchronize()
            peak = statistics.get_statistics().peak_bytes
            del result
    else:
        pool = clock.xp.get_default_memory_pool()
        pool.free_all_blocks()
        baseline = pool.total_bytes()
        result = function()
        clock.synchronize()
        peak = pool.total_bytes() - baseline
        del result
    return int(peak)


def measure_build(graph: str, edge_factor: int, case: str, builder: BuildAdapter) -> dict[str, Any]:
    """Return the figures of one build in a process of its own, or {"failed": reason}."""
    command = [sys.executable, __file__, graph, str(edge_factor), case, str(builder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return {"failed": reason[0][:300]}
    return json.loads(done.stdout.splitlines()[-1])


def main(graph: str, edge_factor: str, case: str, builder_name: str) -> None:
    """Build once and print the figures."""
    builders = [*rapidsgraph.build_adapters(), *registry.build_peers(False)[0]]
    builder = next(builder for builder in builders if str(builder) == builder_name)
    for tiny in ("rmat8", "rmat12"):  # compile or load the kernels
        builder.build(make_build_case(load(tiny), case))
    build_case = make_build_case(load(graph, edge_factor=int(edge_factor)), case)
    _ = build_case.frame
    estimate = build_case.estimate_build()
    peak, _ = measure_peak(lambda: builder.build(build_case))
    facts = {"rows": int(build_case.rows), "vertices": build_case.vertices, "estimate": estimate}
    print(json.dumps({"peak_bytes": peak} | facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
