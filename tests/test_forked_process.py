"""Forks behave as processes that start afresh: streams, status, signals, environment and folder."""

import os
import signal
import subprocess

import forked_process
import pytest


def run(program, *arguments, **options):
    options = {"capture_output": True, "text": True, "timeout": 60, **options}
    return subprocess.run(forked_process.command(program, *arguments), **options)


def test_arguments_streams_environment_and_folder(tmp_path):
    program = """
import os, sys
print(sys.argv, os.getcwd(), os.environ["A"], sys.stdin.name, sys.stdin.read(), __name__)
print("warning", file=sys.stderr)
"""
    environment = {**os.environ, "A": "b"}
    done = run(program, "x", 1, input="text", cwd=tmp_path, env=environment)
    assert done.stdout == f"['-c', 'x', '1'] {tmp_path} b <stdin> text __main__\n"
    assert (done.returncode, done.stderr) == (0, "warning\n")


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("raise ValueError", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
    ],
)
def test_status(program, status):
    assert run(program).returncode == status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_passed_on(number):
    program = "import time; print('here', flush=True); time.sleep(60)"
    with subprocess.Popen(
        forked_process.command(program), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout.readline() == b"here\n"
        process.send_signal(number)
        assert process.wait(60) == -number
