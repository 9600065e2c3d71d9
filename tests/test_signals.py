"""Signals that end the command, and what is imported before it can handle them."""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rapidsgraph as rg

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SWALLOWS = """
from rapidsgraph.signals import cleanup_on_signal, exit_on_signals
exit_on_signals()
import ctypes, os, signal, sys

def send():
    os.kill(os.getpid(), signal.{name})

class Deleted:
    def __del__(self):
        send()

with cleanup_on_signal(lambda: print("cleaned", flush=True)):
    try:
        {how}
    except BaseException:
        pass
print("swallowed")
"""


def run(program, **options):
    options = {"capture_output": True, "text": True, "timeout": 60, "cwd": ROOT} | options
    return subprocess.run([sys.executable, "-c", program], **options)


@pytest.mark.parametrize(
    ("name", "reason"), [("SIGINT", "interrupted"), ("SIGTERM", "terminated"), ("SIGHUP", "the")]
)
@pytest.mark.parametrize("how", ["send()", "Deleted()", "ctypes.CFUNCTYPE(None)(send)()"])
def test_a_signal_is_never_swallowed(name, reason, how):
    """Not by an except clause, a destructor or a callback of C code, where an exception is lost."""
    done = run(
        SWALLOWS.format(name=name, how=how),
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),  # under nohup, too
    )
    assert (done.returncode, done.stdout) == (128 + getattr(signal, name), "cleaned\n")
    assert done.stderr.startswith(f"error: {reason}") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_a_call_that_does_not_return(name):
    """A kernel, in which Python calls no handler."""
    program = """
from rapidsgraph.signals import cleanup_on_signal, exit_on_signals
exit_on_signals()
import hashlib, os, subprocess
with cleanup_on_signal(lambda: print("cleaned", flush=True)):
    subprocess.Popen(["sh", "-c", f"sleep 1; kill -{number} {{os.getpid()}}"])
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # minutes without the GIL
"""
    number = int(getattr(signal, name))
    done = run(
        program.format(number=number), preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)
    )
    assert (done.returncode, done.stdout) == (128 + number, "cleaned\n")
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_a_second_signal_within_the_handler_ends_the_process():
    program = """
import os, signal
from rapidsgraph.signals import cleanup_on_signal, exit_on_signals
exit_on_signals()
install = signal.signal

def install_after_another_signal(*arguments):
    signal.signal = install
    os.kill(os.getpid(), signal.SIGTERM)
    return install(*arguments)

signal.signal = install_after_another_signal
with cleanup_on_signal(lambda: print("cleaned", flush=True)):
    os.kill(os.getpid(), signal.SIGHUP)
"""
    done = run(program, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, "cleaned\n")
    assert done.stderr.startswith("error: terminated") and done.stderr.count("\n") == 1


def test_an_ignored_signal_stays_ignored():
    """As of jobs in the background, and under nohup."""
    done = run(
        SWALLOWS.format(name="SIGINT", how="send()"),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "swallowed\n", "")


def test_a_forked_process_cleans_nothing_up():
    """Nor does its parent, which would end after a delay."""
    program = """
from rapidsgraph.signals import HANDLER_DELAY, cleanup_on_signal, exit_on_signals
exit_on_signals()
import os, signal, time
with cleanup_on_signal(lambda: print("cleaned", flush=True)):
    child = os.fork()
    if not child:
        os.kill(os.getpid(), signal.SIGTERM)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    time.sleep(2 * HANDLER_DELAY)
"""
    done = run(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "143\n", "")


@pytest.mark.parametrize("module", ["rapidsgraph", "rapidsgraph.__main__"])
def test_handlers_are_installed_before_large_imports(module):
    large = {"asyncio", "numba", "numpy", "pandas", "pathlib", "pyarrow", "typer", "typing"}
    program = f"import sys; before = {{*sys.modules}}; import {module}; "
    done = run(f"{program}print(sorted({large} & ({{*sys.modules}} - before)))")
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_public_names_are_the_same_for_python_and_type_checkers():
    assert {*rg.__all__} <= {*dir(rg)}
    for module in (rg.datasets, rg.generate, rg.plot, rg.verify):
        assert dir(module) == sorted(module.__all__)
    assert all(getattr(rg, name) is not None for name in rg.__all__)
    with pytest.raises(AttributeError, match="module 'rapidsgraph' has no attribute 'absent'"):
        rg.absent  # noqa: B018
    tree = ast.parse(Path(rg.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name: node.module for node in ast.walk(block) if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }  # fmt: skip
    assert imported == rg._MODULES


def test_every_public_name_can_be_the_first():
    """Imports in cycles would depend on which name is used first."""
    names = [*{module or name: name for name, module in rg._MODULES.items()}.values()]
    program = f"""
import asyncio, os, sys
import numpy, pandas  # once, not in each child
for name in {names}:
    child = os.fork()
    if not child:
        import rapidsgraph
        getattr(rapidsgraph, name)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(name)
"""
    assert run(program, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}).stderr == ""
