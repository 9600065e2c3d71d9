"""Peaks of the memory that Python and NumPy allocate, also while other threads allocate."""

import gc
import threading
import time
import tracemalloc
from contextlib import contextmanager

IDLE_TIMEOUT = 10  # seconds
INTERVAL = 0.01  # seconds between two looks at the other threads
MAX_BUSY = 0.1  # share of an interval for which idle threads may run, such as event loops


@contextmanager
def trace_memory():
    """Trace allocations; yield a function that returns the peak in bytes above the start.

    In Python 3.11, `tracemalloc.stop` frees what a thread without the interpreter's lock may
    be about to use, and the process crashes (https://github.com/python/cpython/issues/128679).
    Arrow's threads are such threads when they enter Python to read a file. Tracing therefore
    stops when the other threads are idle, or else continues, which is slow but safe.
    """
    gc.collect()
    num_threads = threading.active_count()
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()  # an earlier trace may continue
        before, _ = tracemalloc.get_traced_memory()
        yield lambda: tracemalloc.get_traced_memory()[1] - before
    finally:
        if wait_for_idle_threads(num_threads):
            tracemalloc.stop()


def wait_for_idle_threads(num_threads):
    """Wait until at most `num_threads` threads of Python exist and all but this one are idle.

    Returns whether that is so before the timeout.
    """
    deadline, is_idle = time.monotonic() + IDLE_TIMEOUT, False
    while not is_idle and time.monotonic() < deadline:
        before = _get_time_of_others()
        time.sleep(INTERVAL)
        busy = _get_time_of_others() - before
        is_idle = busy < MAX_BUSY * INTERVAL and threading.active_count() <= num_threads
    return is_idle


def _get_time_of_others():
    """Return the processor time of all threads except this one in seconds."""
    return time.process_time() - time.thread_time()
