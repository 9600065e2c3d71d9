"""Peak memory of a call: of this process on a CPU, of the memory pool on a GPU."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    with contextlib.suppress(Exception):
        importlib.import_module("pylibcugraph")
    try:
        import cupy
        import rmm
        from rmm.allocators.cupy import rmm_cupy_allocator

        size = min(POOL_BYTES, cupy.cuda.runtime.memGetInfo()[0] // 2 >> 8 << 8)
        rmm.reinitialize(pool_allocator=True, initial_pool_size=size)
        cupy.cuda.set_allocator(rmm_cupy_allocator)
    except Exception as error:  # it is not installed, or names differ between releases
        notes.append(f"RMM's pool could not be set up ({error}); CuPy's own pool is used")
        return CUPY_POOL
    return RMM_POOL


def measure_device_peak(
    clock: Clock, function: Callable[[], Any], allocator: str | None
) -> tuple[int, Any]:
    """Return (peak of device memory above what was allocated before, result of the function)."""
    clock.synchronize()
    if allocator == RMM_POOL:
        from rmm import statistics

        with statistics.statistics():
            result = function()
            clock.synchronize()
            peak = statistics.get_statistics().peak_bytes
    else:
        pool = clock.xp.get_default_memory_pool()
        pool.free_all_blocks()
        baseline = pool.total_bytes()
        result = function()
        clock.synchronize()
        peak = pool.total_bytes() - baseline
    return int(peak), result
