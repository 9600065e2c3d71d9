"""Peak memory of a call: of this process on a CPU, of the memory pool on a GPU."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")  # of Linux
POOL_BYTES = 8 << 30
RMM_POOL, CUPY_POOL = "RMM pool", "CuPy pool"


def resident_bytes(key: str = "VmRSS") -> int:
    """Return the bytes that are resident now, or (VmHWM) were at the peak."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


def reset_peak() -> int:
    """Reset the peak of the resident set, and return the bytes that are resident."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # or free heap memory would serve a function unnoticed
    Path("/proc/self/clear_refs").write_text("5")
    return resident_bytes()


def measure_peak(function: Callable[[], Any]) -> tuple[int | None, Any]:
    """Return (bytes at the peak above those before or None if unknown, result of the function)."""
    if not STATUS.exists():
        return None, function()
    baseline = reset_peak()
    result = function()
    return resident_bytes("VmHWM") - baseline, result


def call_in_process(
    function: Callable[..., Any], *arguments: Any, setup: Callable[[], None] | None = None
) -> Any:
    """Return the result of a call in a new process, in which `setup` has been called before."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=setup) as pool:
        return pool.submit(function, *arguments).result()


def measure_device_peak(function: Callable[[], Any]) -> tuple[int, Any]:
    """Return the same for RMM's pool, of a function that leaves the device idle."""
    from rmm import statistics

    with statistics.statistics():
        result = function()
        return int(statistics.get_statistics().peak_bytes), result


def import_gpu_libraries() -> None:
    """Import cuGraph before CuPy, which loads CUDA libraries that may be too old for it."""
    for name in ("pylibcugraph", "cupy"):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


@functools.cache  # a pool cannot be replaced while it is in use
def use_rmm_pool(nbytes: int = POOL_BYTES) -> tuple[str, str | None]:
    """Use one RMM pool for CuPy and RAPIDS, as usual with cuDF, or CuPy's own without RMM.

    Returns the name of the pool, and why it is CuPy's.
    """
    import_gpu_libraries()
    try:
        import cupy
        import rmm
        from rmm.allocators.cupy import rmm_cupy_allocator

        size = min(nbytes, cupy.cuda.runtime.memGetInfo()[0] // 2 >> 8 << 8)
        rmm.reinitialize(pool_allocator=True, initial_pool_size=size)
        cupy.cuda.set_allocator(rmm_cupy_allocator)
    except Exception as error:  # it is not installed, or names differ between releases
        return CUPY_POOL, f"RMM's pool could not be set up ({error}); CuPy's own pool is used"
    return RMM_POOL, None
