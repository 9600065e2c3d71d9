"""Processes that are killed, terminated or interrupted at any moment, over an older output.

Whatever the moment is, the old output is whole or the new one is complete. SIGTERM and SIGINT leave
nothing else behind and print one line; what SIGKILL leaves behind goes with the next write.
"""

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from trials import run_trials

import rapidsgraph as rg
from rapidsgraph import atomic
from rapidsgraph.io import write_frame

pytestmark = pytest.mark.slow

LINES = {
    signal.SIGINT: "error: interrupted; no half-written file is left\n",
    signal.SIGTERM: "error: terminated; no half-written file is left\n",
    signal.SIGKILL: "",
}
SAVES_AN_INDEX = """
from rapidsgraph.signals import exit_on_signals, ignore_signals
exit_on_signals()
import sys
import rapidsgraph as rg
rg.ScanIndex(rg.read_edges(sys.argv[1], device="cpu")).save(sys.argv[2])
ignore_signals()
"""
OUTPUTS = ("r.csv.gz", "r.layers", "i.arrow", "t.layers", "r.csv", "r.parquet", "r.arrow")
INPUTS = ("edges.csv", "edges.parquet")
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(__file__).parents[2]),
    "CUDA_VISIBLE_DEVICES": "",
}


def edges_of(seed, rows=20_000):
    random = np.random.default_rng(seed)
    columns = {name: random.integers(0, rows // 8, rows) for name in ("source", "destination")}
    return pd.DataFrame(columns)


def command_of(output, folder):
    """Return the command that writes an output from the edges in a folder."""
    edges = folder / ("edges.csv" if output == "t.layers" else "edges.parquet")
    if output == "i.arrow":
        return [sys.executable, "-c", SAVES_AN_INDEX, edges, folder / output]
    what = ["layer", edges, "--from", "1"] if output.endswith("layers") else ["pagerank", edges]
    return [sys.executable, "-m", "rapidsgraph", *what, "--device", "cpu", "-o", folder / output]


def write(frame, path):
    """Write what the command writes, of any edges."""
    if path.suffix == ".layers":
        rg.LayeredEdgeList.build(frame, 1).save(path)
    elif path.name == "i.arrow":
        rg.ScanIndex(frame).save(path)
    else:
        write_frame(rg.pagerank(frame), path)


def content(path):
    """Return the bytes of a file, or what a search in an intact store returns."""
    if path.is_dir():
        return rg.bfs(rg.LayeredEdgeList.open(path, device="cpu")).to_csv()
    return path.read_bytes()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Return (folder with the inputs, old outputs and new outputs, seconds that a run takes)."""
    folder = tmp_path_factory.mktemp("kills")
    for name in INPUTS:
        write_frame(edges_of(1), folder / name)
    for kind, frame in (("old", edges_of(2, 400)), ("new", edges_of(1))):
        (folder / kind).mkdir()
        for output in OUTPUTS:
            write(frame, folder / kind / output)
    started = time.monotonic()
    subprocess.run(command_of("r.csv", folder), env=ENVIRONMENT, check=True, timeout=120)
    seconds = time.monotonic() - started
    assert content(folder / "r.csv") == content(folder / "new" / "r.csv")
    return folder, seconds


def has_signal(pid, field, number):
    """Return whether a mask in /proc contains a signal; None if the process has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    masks = [line.split()[1] for line in status.splitlines() if line.startswith(field)]
    return bool(int(masks[0], 16) >> (number - 1) & 1) if masks else None


def kill_at_a_moment(argument):
    """Send a signal to a command that writes over an old output, and check what is left."""
    prepared, output, number, delay = argument
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in INPUTS:
            shutil.copy2(prepared / name, folder)
        old, path = prepared / "old" / output, folder / output
        (shutil.copytree if old.is_dir() else shutil.copy2)(old, path)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command_of(output, folder), env=ENVIRONMENT, **streams)
        try:
            deadline = time.monotonic() + 60
            while number != signal.SIGKILL and not has_signal(process.pid, "SigCgt", 15):
                assert process.poll() is None and time.monotonic() < deadline, "no handler"
                time.sleep(0.001)
            time.sleep(delay)
            process.send_signal(number)
            is_done = has_signal(process.pid, "SigIgn", 15) is not False or process.poll() == 0
            _out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return check(prepared, folder, output, number, process.returncode, err, is_done)


def check(prepared, folder, output, number, code, err, is_done):
    path, expected = folder / output, -number if number == signal.SIGKILL else 128 + number
    new, old = (content(prepared / kind / output) for kind in ("new", "old"))
    if code == 0:
        assert is_done, "the signal was lost"
        assert content(path) == new and "Traceback" not in err
    else:
        # A kill comes after any number of lines on what was done.
        said = err if number != signal.SIGKILL else LINES[number]
        assert (code, said) == (expected, LINES[number]), (code, err)
        assert content(path) in (old, new)
    left = {*os.listdir(folder)} - {*INPUTS, output}
    if code == expected == -signal.SIGKILL:
        assert all(re.fullmatch(rf"\.{output}\.[0-9a-f]{{8}}\.tmp", name) for name in left)
        write(edges_of(2, 400), path)
        left = {*os.listdir(folder)} - {*INPUTS, output}
    assert not left, left
    return "right"


@pytest.mark.parametrize("kills", [8, pytest.param(546, marks=pytest.mark.long)])
def test_kills_at_any_moment(prepared, record_outcomes, kills):
    folder, seconds = prepared
    random = np.random.default_rng(kills)
    cases = itertools.islice(itertools.cycle(itertools.product(OUTPUTS, LINES)), kills)
    arguments = [
        (folder, output, number, delay * seconds)
        for (output, number), delay in zip(cases, random.uniform(0, 1.1, kills))
    ]
    outcomes = run_trials(kill_at_a_moment, arguments, timeout=180)
    record_outcomes("kill", "outputs of commands", outcomes)


@pytest.mark.parametrize("name", ["result.csv", "result.layers"])
def test_leftovers_of_the_living_stay(tmp_path, name):
    """Of three temporary files or folders the one of a process that still writes is kept."""
    final, is_folder = tmp_path / name, name.endswith("layers")
    for token in ("0" * 8, "1" * 8):
        leftover = tmp_path / f".{name}.{token}.tmp"
        leftover.mkdir() if is_folder else leftover.touch()
    other = tmp_path / f".{name}.2.{'0' * 8}.tmp"  # of another destination
    other.touch()
    with atomic.temporary_path(final, 0o700, is_folder=is_folder) as (living, _):
        write(edges_of(2, 400), final)
        assert {*os.listdir(tmp_path)} == {name, living.name, other.name}
