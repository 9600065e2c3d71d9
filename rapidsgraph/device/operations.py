"""Operations of CuPy that most algorithms begin with, compiled in parallel.

CuPy compiles a kernel at the first use of an operation on element types, about 0.1 s each, while
the caller waits. An algorithm uses some thirty. Called once on short arrays in several threads,
they are compiled while the caller reads and sorts its edges; an operation that is missing here is
compiled when it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from types import SimpleNamespace
from typing import Any

from .launcher import run_in_compiler

SIZE = 4096  # values; shorter scans take other kernels

# In the order in which a build and then algorithms need them.
OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda xp, a: a.int64.astype(xp.int32),
    lambda xp, a: a.int32 != a.int32,
    lambda xp, a: a.int32[a.flags],
    lambda xp, a: xp.minimum(a.int32, a.int32),
    lambda xp, a: xp.maximum(a.int32, a.int32),
    lambda xp, a: a.int64.view(xp.int32)[::2].copy(),
    lambda xp, a: a.int64.view(xp.uint32)[::2].copy(),
    lambda xp, a: xp.cumsum(a.flags, out=xp.empty(SIZE, xp.int32)),
    lambda xp, a: xp.flatnonzero(a.flags),
    lambda xp, a: a.int64 - a.int64,
    lambda xp, a: a.int64 + a.int64,
    lambda xp, a: a.int64 + 1,
    lambda xp, a: xp.cumsum(a.int64),
    lambda xp, a: a.int32[a.int32],
    lambda xp, a: a.int64[a.int32],
    lambda xp, a: xp.empty(SIZE, xp.int32).__setitem__(a.int32, a.int32),
    lambda xp, a: a.int64 > 0,
    lambda xp, a: a.int64 > a.int64,
    lambda xp, a: a.int32 > 0,
    lambda xp, a: a.int32 >= 0,
    lambda xp, a: a.int32 < 1,
    lambda xp, a: a.flags & a.flags,
    lambda xp, a: ~a.flags,
    lambda xp, a: -a.int64,
    lambda xp, a: -a.float64,
    lambda xp, a: a.int64[a.int64],
    lambda xp, a: a.float64[a.int32],
    lambda xp, a: xp.searchsorted(a.int64, a.int64),
    lambda xp, a: a.int64 * 32,
    lambda xp, a: a.float64 > 0,
    lambda xp, a: xp.where(a.flags, a.float64, 1.0),
    lambda xp, a: 1.0 / a.float64,
    lambda xp, a: xp.full(SIZE, 1.0),
    lambda xp, a: xp.full(SIZE, 1, xp.int32),
    lambda xp, a: a.float64 < 1.0,
    lambda xp, a: a.float64.__setitem__(a.int32, 0.0),
    lambda xp, a: a.int32.astype(xp.int64),
    lambda xp, a: a.int64.astype(xp.float64),
)

_compiled: set[int] = set()  # devices


def compile_operations_ahead() -> list[Future[Any]]:
    """Start to compile `OPERATIONS` for the current GPU, once per process."""
    import cupy

    device_id = cupy.cuda.Device().id
    if device_id in _compiled:
        return []
    _compiled.add(device_id)
    return [run_in_compiler(partial(_run, operation)) for operation in OPERATIONS]


def _run(operation: Callable[[Any, Any], Any]) -> None:
    """Call an operation with CuPy and one array of each type."""
    import cupy

    int32 = cupy.arange(SIZE, dtype=cupy.int32)
    arrays = SimpleNamespace(
        int32=int32,
        int64=cupy.arange(SIZE),
        float64=cupy.empty(SIZE),
        flags=cupy.zeros(SIZE, bool),
    )
    operation(cupy, arrays)
