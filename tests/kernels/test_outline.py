"""Parallel loops of kernels, which are compiled as functions of their own."""

import numba
import numpy as np
import pytest
from numba import prange

from rapidsgraph import device
from rapidsgraph.kernels import jit
from rapidsgraph.kernels.jit import parallel
from rapidsgraph.kernels.outline import outline

pytestmark = pytest.mark.skipif(
    numba.version_info.short not in jit.TESTED_VERSIONS,
    reason="this version of Numba compiles the loops itself",
)


def number_all(size, start, stop, values, threads):
    doubled = values[::2]
    for i in prange(size):
        threads[i] = numba.get_thread_id()
        value = np.int64(i)
        value += 1
        doubled[i] = value
    for i in prange(start, stop):
        values[2 * (i - start) + 1] = -i


number_items = parallel(number_all)


def test_other_versions_of_numba_compile_the_loops(monkeypatch):
    monkeypatch.setattr(jit, "TESTED_VERSIONS", set())
    by_numba = parallel(number_all)
    by_numba._cache.disable()  # its entries would have the same names
    results = []
    for kernel in (number_items, by_numba):
        values, threads = np.zeros(202, np.int64), np.full(101, -1)
        with device.kernel_lock(), device.limit_threads():
            kernel(101, -7, 94, values, threads)
        results.append(values)
    assert by_numba.targetoptions["parallel"]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("num_threads", range(1, numba.config.NUMBA_NUM_THREADS + 1))
def test_loops_run_each_iteration_once_in_ranges_per_thread(num_threads):
    values, threads = np.zeros(202, np.int64), np.full(101, -1)
    with device.kernel_lock(), device.limit_threads():
        before = numba.get_num_threads()
        numba.set_num_threads(num_threads)
        number_items(101, -7, 94, values, threads)
        numba.set_num_threads(before)
    assert values[::2].tolist() == list(range(1, 102))
    assert values[1::2].tolist() == [-i for i in range(-7, 94)]
    assert np.count_nonzero(np.diff(threads)) == len(set(threads)) - 1 == num_threads - 1


@pytest.mark.parametrize("size", [0, -3])
def test_empty_ranges_run_nothing(size):
    values, threads = np.zeros(4, np.int64), np.zeros(2, np.int64)
    with device.kernel_lock(), device.limit_threads():
        number_items(size, 5, 5 + size, values, threads)
    assert not values.any()


@parallel
def find_negative(values):
    for i in prange(len(values)):
        if values[i] < 0:
            raise ValueError("negative")


def test_an_error_of_an_iteration_is_raised():
    with device.kernel_lock(), device.limit_threads():
        find_negative(np.arange(100))
        with pytest.raises(RuntimeError, match="an iteration of a parallel loop failed"):
            find_negative(50 - np.arange(100))


def test_reductions_into_variables_are_refused():
    def add(values):
        total = 0.0
        for value in values:  # not a parallel loop
            total += value
        for i in prange(len(values)):
            total += values[i]
        return total

    with pytest.raises(TypeError, match="add: a parallel loop reduces into the variable 'total'"):
        outline(add)
