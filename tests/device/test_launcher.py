"""Compilation of CUDA entries ahead of their launches; a stand-in for CuPy compiles nothing."""

import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from rapidsgraph.device import launcher

KEY = ("pagerank", "iterate", (("value_t", "float"),), True, 0)
FIRST, SECOND = (
    ("build", entry, (), False, 0) for entry in ("mark_proper", "sort_endpoints")
)  # a group


class Device:
    def __init__(self, number=0):
        self.id = number

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Module:
    """What a stand-in of the compiler returns: the functions are named by module and entry."""

    def __init__(self, number):
        self.number = number

    def get_function(self, entry):
        return self.number, entry


@pytest.fixture
def compiled(monkeypatch):
    """The modules that were compiled, with the thread of each; the first ones fail on demand."""
    calls = types.SimpleNamespace(made=[], failures=0, may_begin=threading.Event())
    calls.may_begin.set()

    def compile_module(stem, group, *_):
        thread = threading.current_thread().name
        if thread.startswith("rapidsgraph-compiler"):
            calls.may_begin.wait()
        calls.made.append((stem, group, thread))
        if len(calls.made) <= calls.failures:
            raise OSError("the disk is full")
        return Module(len(calls.made))

    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(Device=Device))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(launcher, "_compile", compile_module)
    monkeypatch.setattr(launcher, "_modules", {})
    with ThreadPoolExecutor(1, thread_name_prefix="rapidsgraph-compiler") as executor:
        monkeypatch.setattr(launcher, "_compiler", executor)
        yield calls
        calls.may_begin.set()


def test_a_launch_waits_for_the_thread(compiled):
    compiled.may_begin.clear()
    for _ in range(2):
        launcher.compile_in_thread(*KEY)
    while not launcher._modules[launcher._module_key(*KEY)].running():
        pass
    threading.Timer(0.01, compiled.may_begin.set).start()
    for _ in range(2):
        assert launcher._cuda_function(*KEY) == (1, "iterate")
    [(_, group, thread)] = compiled.made
    assert group == ("iterate",) and thread.startswith("rapidsgraph-compiler")


def test_a_launch_compiles_what_no_thread_has_begun(compiled):
    compiled.may_begin.clear()  # the only thread waits
    launcher.compile_in_thread(*KEY)
    launcher.compile_in_thread(*FIRST)
    assert launcher._cuda_function(*FIRST) == (1, "mark_proper")
    [(stem, _, thread)] = compiled.made
    assert stem == "build" and thread == threading.current_thread().name


def test_entries_of_a_group_are_compiled_once(compiled):
    launcher.compile_in_thread(*FIRST)
    launcher.compile_in_thread(*SECOND)
    assert launcher._cuda_function(*SECOND) == (1, "sort_endpoints")
    assert launcher._cuda_function(*FIRST) == (1, "mark_proper")
    [(_, group, _)] = compiled.made
    assert {"mark_proper", "sort_endpoints"} <= set(group)


def test_a_failure_in_the_thread_is_not_kept(compiled):
    compiled.failures = 1
    launcher.compile_in_thread(*KEY)
    wait([launcher._modules[launcher._module_key(*KEY)]])
    assert launcher._cuda_function(*KEY) == (2, "iterate")


def test_an_error_of_the_launch_is_raised_and_not_kept(compiled):
    compiled.failures = 2
    launcher.compile_in_thread(*KEY)
    wait([launcher._modules[launcher._module_key(*KEY)]])
    with pytest.raises(OSError, match="full"):
        launcher._cuda_function(*KEY)
    assert launcher._cuda_function(*KEY) == (3, "iterate")


def test_without_a_thread(compiled):
    assert launcher._cuda_function(*KEY) == (1, "iterate")
    launcher.compile_in_thread(*KEY)
    assert [thread for *_, thread in compiled.made] == [threading.current_thread().name]


def test_the_end_of_a_process_cancels_compilations():
    """Those that no thread has begun; a thread that outlives the main one still launches."""
    program = """
import contextlib, sys, threading, time, types
from rapidsgraph.device import launcher

class Module:
    def get_function(self, entry):
        return entry

def compile_module(stem, group, *_):
    print(group[0], flush=True)
    time.sleep(0.1)
    return Module()

def launch_later():
    threading.main_thread().join()
    launcher.compile_in_thread("bfs", "late", (), False, 0)
    launcher._cuda_function("bfs", "late", (), False, 0)

cuda = types.SimpleNamespace(Device=contextlib.nullcontext)
sys.modules["cupy"] = types.SimpleNamespace(cuda=cuda)
launcher._compile = compile_module
threading.Thread(target=launch_later).start()
for number in range(64):
    launcher.compile_in_thread("bfs", str(number), (), False, 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    *compiled, late = done.stdout.split()
    assert (done.returncode, done.stderr, late) == (0, "", "late")
    assert 0 < len(compiled) < 64
