"""Threads of parallel kernels on a CPU: one kernel at a time, and few threads for small ones."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from ..errors import GraphError

MIN_PARALLEL_SIZE = 2**15  # work items below which one CPU thread is faster than several
THREADING_LAYERS = {"omp", "tbb", "workqueue"}  # of Numba

_kernel_lock = threading.Lock()
_has_run_parallel = _is_forked_after_parallel = False


def _reset_after_fork() -> None:
    """Replace the lock, which a thread that the child does not have may hold."""
    global _kernel_lock, _is_forked_after_parallel  # noqa: PLW0603
    _kernel_lock = threading.Lock()
    _is_forked_after_parallel = _has_run_parallel


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def kernel_lock() -> threading.Lock:
    """Return the lock of the process for parallel kernels.

    Numba's workqueue layer aborts the process if two threads enter parallel kernels at once. A
    parallel kernel is called within ``with kernel_lock(), limit_threads(size):``. The lock itself
    is in the statement, since a signal could interrupt a Python function that acquires it after it
    has done so, and the lock would never be released. With Python 3.14 a signal can still arrive
    between the acquisition and the block (https://github.com/python/cpython/issues/148874).
    """
    return _kernel_lock


class _Limit(threading.local):
    """The number of threads to return to, in a thread that runs a small kernel; 1 in any other."""

    num_threads = 1


_limit = _Limit()


class limit_threads:  # noqa: N801  a context manager, which contextlib would make slower
    """Run parallel Numba kernels with as many threads as `size` work items deserve.

    Waking threads takes longer than a small kernel, so below `MIN_PARALLEL_SIZE` items there is
    one thread; without `size` the number of threads stays as it is. Contexts cannot be nested.

    Raises
    ------
    GraphError
        If the process is a fork of one that has run parallel kernels on GNU OpenMP, or Numba
        cannot load the threading layer of its settings.
    """

    __slots__ = ("_size",)

    def __init__(self, size: int | None = None) -> None:
        self._size = size

    def __enter__(self) -> None:
        global _has_run_parallel  # noqa: PLW0603
        if not _has_run_parallel:
            _thread_functions()
        if _is_forked_after_parallel:
            _check_threading_layer()
        _has_run_parallel = True
        if _limit.num_threads > 1:  # a signal has interrupted `__exit__`
            self.__exit__()
        if self._size is None or self._size >= MIN_PARALLEL_SIZE:
            return
        get_num_threads, set_num_threads = _thread_functions()
        num_threads = get_num_threads()
        if num_threads > 1:
            _limit.num_threads = num_threads
            set_num_threads(1)

    def __exit__(self, *exception: object) -> None:
        num_threads = _limit.num_threads
        if num_threads > 1:
            _thread_functions()[1](num_threads)
            _limit.num_threads = 1


def check_num_threads() -> None:
    """Raise GraphError if NUMBA_NUM_THREADS is no number of threads.

    Numba cannot be imported if it is less than 1, and ignores it if it is not an integer.
    """
    value = os.environ.get("NUMBA_NUM_THREADS")
    if value is None:
        return
    try:
        is_valid = int(value) > 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise GraphError(
            f"{{parameter}} is {value!r}; {{hint}}",
            parameter="NUMBA_NUM_THREADS",
            value=value,
            hint="set it to the number of threads, 1 or more, or unset it",
        )


def num_threads() -> int:
    """Return the number of threads of Numba's parallel loops, without the limit of small kernels.

    Raises
    ------
    GraphError
        If Numba cannot load the threading layer of its settings.
    """
    return max(_limit.num_threads, _thread_functions()[0]())


@functools.cache
def _thread_functions() -> tuple[Callable[[], int], Callable[[int], None]]:
    """Return the functions that get and set the number of threads of Numba's parallel loops.

    Those of its threading layer take a quarter of the time of its public ones, which check.

    Raises
    ------
    GraphError
        If Numba cannot load the threading layer of its settings.
    """
    import numba
    from numba.np.ufunc import parallel

    try:
        numba.get_num_threads()  # loads the threading layer
    except ValueError as error:
        settings: Any = numba.config
        name, value = "NUMBA_THREADING_LAYER", settings.THREADING_LAYER
        hint = "set it to workqueue, or unset it"
        if {*settings.THREADING_LAYER_PRIORITY} != THREADING_LAYERS:  # checked first
            name, value = f"{name}_PRIORITY", " ".join(settings.THREADING_LAYER_PRIORITY)
            hint = "unset it"
        raise GraphError(
            f"{{parameter}} is {value!r}, and Numba cannot start its threads "
            f"({' '.join(str(error).split())}); {{hint}}",
            parameter=name,
            value=value,
            hint=hint,
        ) from error
    return (
        getattr(parallel, "_get_num_threads", numba.get_num_threads),
        getattr(parallel, "_set_num_threads", numba.set_num_threads),
    )


def _check_threading_layer() -> None:
    """Raise GraphError if the threads of the process that this one was forked from are missing."""
    if sys.modules["numba"].threading_layer() == "omp":
        raise GraphError(
            "this process was forked from one that had already run parallel kernels, which GNU "
            "OpenMP does not survive; start processes by 'spawn' or 'forkserver', or set "
            "NUMBA_THREADING_LAYER=workqueue before the first call",
            hint="start processes by 'spawn' or 'forkserver'",
        )
