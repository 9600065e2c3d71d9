"""Kernels that other kernels call, which are compiled into their callers only."""

import gc

import numba
import numpy as np
import pytest
from numba import prange

import rapidsgraph as rg
from rapidsgraph import device, kernels
from rapidsgraph.kernels import jit
from rapidsgraph.kernels.intrinsics import maximum, minimum
from rapidsgraph.kernels.jit import parallel, serial

pytestmark = pytest.mark.skipif(
    numba.version_info.short not in jit.TESTED_VERSIONS,
    reason="this version of Numba compiles all functions in the same way",
)


@serial
def add(value, term):
    return value + term


@parallel
def add_to_all(values, term):
    for i in prange(len(values)):
        values[i] = add(values[i], term)


@serial
def add_twice(values):
    add_to_all(values, 1)
    add_to_all(values, 2)
    return add(values[0], 3)


def test_called_kernels_are_compiled_for_their_callers_only():
    for kernel in (add, add_to_all, add_twice):
        kernel._cache.disable()
    values = np.arange(100)
    with device.kernel_lock(), device.limit_threads():
        assert add_twice(values) == 6
    np.testing.assert_array_equal(values, np.arange(100) + 3)
    assert (len(add_twice.signatures), add.signatures, add_to_all.signatures) == (1, [], [])
    # The terms 1, 2 and 3 are constants of one type, for which there is one version.
    assert [len(kernel._subroutine.overloads) for kernel in (add, add_to_all)] == [1, 1]

    with device.kernel_lock(), device.limit_threads():  # from Python, they are kernels like others
        add_to_all(values, -3)
    np.testing.assert_array_equal(values, np.arange(100))
    assert (add(2, 3), add(1.5, 2.0)) == (5, 3.5)
    assert (len(add.signatures), len(add_to_all.signatures)) == (2, 1)


def test_kernels_of_a_similarity_can_be_cached():
    # The cache leaves out code with addresses of this process, such as that of Numba's
    # get_num_threads, and the next process compiles it again.
    random = np.random.default_rng(1)
    for num_edges, entry in ((500, "merge_lists"), (50_000, "assign_counts")):
        ends = random.integers(0, 1000, (2, num_edges))
        rg.structural_similarity({"source": ends[0], "destination": ends[1]})
        results = list(getattr(kernels.similarity, entry).overloads.values())
        assert results and not any(result.library.has_dynamic_globals for result in results)


def test_the_garbage_collector_is_paused_while_a_kernel_is_compiled(monkeypatch):
    @serial
    def subtract(value, term):
        return value - term

    @serial
    def fail(value):
        return value.missing

    subtract._cache.disable()
    is_enabled = []
    compile_signature = subtract._compiler.compile

    def compile_and_note(*arguments):
        is_enabled.append(gc.isenabled())
        return compile_signature(*arguments)

    monkeypatch.setattr(subtract._compiler, "compile", compile_and_note)
    assert subtract(5, 3) == 2
    assert (is_enabled, gc.isenabled()) == ([False], True)
    with pytest.raises(numba.TypingError, match="missing"):
        fail(1)
    assert gc.isenabled()
    gc.disable()
    try:
        assert subtract(5.0, 3.0) == 2
        assert not gc.isenabled()
    finally:
        gc.enable()


@serial
def extremes(one, other):
    return minimum(one, other), maximum(one, other)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64])
def test_minimum_and_maximum_of_integers(kind):
    limits = np.iinfo(kind)
    for one, other in ((1, 2), (limits.min, limits.max), (limits.max, 0), (3, 3)):
        assert extremes(kind(one), kind(other)) == (min(one, other), max(one, other))
    assert extremes(np.int32(-5), np.int64(2**40)) == (-5, 2**40)
    for one, other in ((1.5, 2), (np.uint64(1), -1)):
        with pytest.raises(numba.TypingError, match="no type of integers"):
            extremes(one, other)
