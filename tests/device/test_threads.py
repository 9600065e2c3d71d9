"""The lock and the number of threads of parallel kernels, also after signals."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from rapidsgraph import device
from rapidsgraph.device import threads

SMALL, LARGE = 1, device.MIN_PARALLEL_SIZE


def count_threads():
    """Return the present number of threads, without the lock of `numba.get_num_threads`."""
    return threads._thread_functions()[0]()


def run(size):
    """Return the number of threads of a kernel of this size."""
    with device.kernel_lock(), device.limit_threads(size):
        return count_threads()


@pytest.fixture
def two_threads():
    numba = pytest.importorskip("numba")
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("needs two threads")
    before = numba.get_num_threads()
    numba.set_num_threads(2)
    yield
    numba.set_num_threads(before)


def test_small_kernels_have_one_thread(two_threads):
    assert [run(size) for size in (SMALL, LARGE, None, SMALL)] == [1, 2, 2, 1]
    assert count_threads() == device.num_threads() == 2
    with pytest.raises(ValueError, match="stop"), device.limit_threads(SMALL):
        assert (count_threads(), device.num_threads()) == (1, 2)
        raise ValueError("stop")
    assert count_threads() == 2


def test_an_interrupted_exit_does_not_limit_later_kernels(two_threads):
    limit = device.limit_threads(SMALL)
    limit.__enter__()  # and no exit
    assert (count_threads(), device.num_threads()) == (1, 2)
    assert [run(size) for size in (SMALL, LARGE)] == [1, 2]
    assert count_threads() == 2


SIGNALS = """
import random, signal
from rapidsgraph import device

class StopError(Exception):
    pass

def stop(*_):
    raise StopError

with device.kernel_lock(), device.limit_threads(1):
    pass  # loads Numba, whose own locks a signal could leave
signal.signal(signal.SIGALRM, stop)
random.seed(1)
for _ in range(2000):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 3e-4))
        for _ in range(10_000):
            with device.kernel_lock(), device.limit_threads(1):
                pass
    except StopError:
        assert not device.kernel_lock().locked()
signal.setitimer(signal.ITIMER_REAL, 0)
before = device.num_threads()
with device.kernel_lock(), device.limit_threads():
    print(before, device.num_threads())
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.skipif(sys.version_info[:2] == (3, 14), reason="a defect of Python 3.14, #148874")
def test_signals_release_the_lock():
    """A signal that arrives anywhere leaves no lock behind."""
    done = subprocess.run(
        [sys.executable, "-c", SIGNALS], capture_output=True, text=True, timeout=120,
        env={**os.environ, "NUMBA_NUM_THREADS": "2"},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("2 2\n", "")


def test_a_child_of_a_fork_has_its_own_lock():
    lock, is_forked = device.kernel_lock(), threads._is_forked_after_parallel
    try:
        threads._reset_after_fork()
        assert device.kernel_lock() is not lock and isinstance(lock, type(threading.Lock()))
    finally:
        threads._kernel_lock, threads._is_forked_after_parallel = lock, is_forked
