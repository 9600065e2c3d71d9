"""Compilation of CUDA entries ahead of their launches; a stand-in for CuPy compiles nothing."""

import sys
import threading
import types

import numpy as np
import pytest

from rapidsgraph.device import launcher

KEY = ("pagerank", "iterate", (("value_t", "float"),), True, 0)


class Device:
    def __init__(self, number=0):
        self.id = number

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def compiled(monkeypatch):
    """The entries that were compiled, with the thread of each; the first ones fail on demand."""
    calls = types.SimpleNamespace(made=[], failures=0)

    def compile_entry(*key):
        calls.made.append((key, threading.current_thread().name))
        if len(calls.made) <= calls.failures:
            raise OSError("the disk is full")
        return key

    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(Device=Device))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(launcher, "_compile", compile_entry)
    monkeypatch.setattr(launcher, "_cuda_functions", {})
    return calls


def compile_ahead():
    launcher.compile_ahead("pagerank", "iterate", cooperative=True, value_t=np.float32)


def test_a_launch_waits_for_the_thread(compiled):
    compile_ahead()
    compile_ahead()
    for _ in range(2):
        assert launcher._cuda_function(*KEY) == KEY[:-1]
    [(key, thread)] = compiled.made
    assert key == KEY[:-1] and thread.startswith("rapidsgraph-compiler")


def test_a_failure_in_the_thread_is_not_kept(compiled):
    compiled.failures = 1
    compile_ahead()
    assert launcher._cuda_function(*KEY) == KEY[:-1]
    assert len(compiled.made) == 2


def test_an_error_of_the_launch_is_raised_and_not_kept(compiled):
    compiled.failures = 2
    compile_ahead()
    with pytest.raises(OSError, match="full"):
        launcher._cuda_function(*KEY)
    assert launcher._cuda_function(*KEY) == KEY[:-1]


def test_without_a_thread(compiled):
    assert launcher._cuda_function(*KEY) == KEY[:-1]
    compile_ahead()
    assert [thread for _, thread in compiled.made] == [threading.current_thread().name]
