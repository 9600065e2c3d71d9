"""Every writer on a disk that is too small, and under a limit of file sizes."""

import os
import re
import resource
import subprocess
import sys
from contextlib import contextmanager

import forked_process
import numpy as np
import pandas as pd
import pytest

import rapidsgraph as rg
from rapidsgraph.io import write_frame

pytestmark = pytest.mark.slow

LIMIT = 160 * 1024
FEW, MANY = 30, 20_000  # rows
SIZE = r"about [\d.]+ [kM]B are needed"
MESSAGES = {
    "tmpfs": rf"the disk is full; {SIZE} and [\d.]+ kB are free in .*; free some space"
    r"|building the layers needs about [\d.]+ [kM]B of disk space there, and [\d.]+ kB are free",
    "file size": rf"the limit of file sizes \(ulimit -f\) is reached; {SIZE} and [\d.]+ kB are "
    "allowed; raise the limit",
}


@pytest.fixture(params=["tmpfs", "file size"])
def full(request, tmp_path):
    """Return (folder, context in which it is too small, regular expression of the message)."""
    folder = tmp_path / "small"
    folder.mkdir()
    if request.param == "file size":
        yield folder, file_size_limit, MESSAGES["file size"]
        return
    options = ["-t", "tmpfs", "-o", f"size={LIMIT}", "tmpfs", str(folder)]
    done = subprocess.run(["mount", *options], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {done.stderr.strip()}")
    try:
        yield folder, contextmanager(lambda: iter([None])), MESSAGES["tmpfs"]
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def file_size_limit():
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)  # Python ignores SIGXFSZ
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def frame_of(rows):
    random = np.random.default_rng(rows)
    return pd.DataFrame(
        {
            "source": random.integers(0, max(rows // 2, 1), rows),
            "destination": random.integers(0, max(rows // 2, 1), rows),
            "weight": random.random(rows),
        }
    )


def save_index(path, rows):
    rg.ScanIndex(frame_of(rows)[["source", "destination"]]).save(path)


def save_store(path, rows):
    frame = frame_of(rows)
    rg.LayeredEdgeList.build(frame, int(frame["source"][0])).save(path)


def build(path, rows, name):
    edges = path.parent.parent / f"{rows} {name}"  # not on the small disk
    root = int(frame_of(rows)["source"][0])
    rg.LayeredEdgeList.build(edges, root, store=path, device="cpu")


def draw(path, rows):
    from rapidsgraph.plot import savefig

    figures = pytest.importorskip("matplotlib.figure")
    figure = figures.Figure(figsize=(8, 8) if rows == MANY else (1, 1))
    figure.add_subplot().imshow(np.random.default_rng(1).random((500, 500)))
    savefig.save_figure(figure, path)


WRITERS = {
    "r.csv": lambda path, rows: write_frame(frame_of(rows), path),
    "r.tsv": lambda path, rows: write_frame(frame_of(rows), path),
    "r.txt": lambda path, rows: write_frame(frame_of(rows), path),
    "r.mtx": lambda path, rows: write_frame(frame_of(rows) + 1, path),  # ids from 1 on
    "r.csv.gz": lambda path, rows: write_frame(frame_of(rows), path),
    "r.parquet": lambda path, rows: write_frame(frame_of(rows), path),
    "r.arrow": lambda path, rows: write_frame(frame_of(rows), path),
    "index.arrow": save_index,
    "saved.layers": save_store,
    "of_parquet.layers": lambda path, rows: build(path, rows, "e.parquet"),
    "of_text.layers": lambda path, rows: build(path, rows, "e.csv"),
    "picture.png": draw,
}


def content(path):
    """Return {relative path: bytes} of a file or a folder."""
    paths = [path] if path.is_file() else sorted(path.rglob("*"))
    return {str(file.relative_to(path.parent)): file.read_bytes() for file in paths}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_keeps_the_old_output(full, name):
    folder, limited, message = full
    for rows in (FEW, MANY) if name.startswith("of_") else ():
        for source in ("e.parquet", "e.csv"):
            write_frame(frame_of(rows), folder.parent / f"{rows} {source}")
    write, path = WRITERS[name], folder / name
    write(path, FEW)
    before = content(path)
    with limited(), pytest.raises(rg.GraphError) as raised:
        write(path, MANY)
    assert re.search(f"{re.escape(name)}: ({message})|small: ({message})", str(raised.value))
    assert "damaged" not in str(raised.value)
    assert os.listdir(folder) == [name]
    assert content(path) == before


PROGRAM = "from rapidsgraph.__main__ import main; main()"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_stream_on_a_full_disk(tmp_path, stream):
    """Results that cannot be printed are an error in one line; a log that cannot is none."""
    edges, output = tmp_path / "e.parquet", tmp_path / "r.csv"
    write_frame(frame_of(200), edges)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options = ["--top", "5"] if stream == "stdout" else ["-o", output]
    with open("/dev/full", "w") as full_device:
        done = subprocess.run(
            forked_process.command(PROGRAM, "pagerank", edges, "--verify", *options),
            **{**streams, stream: full_device},
            text=True,
            timeout=60,
        )
    if stream == "stdout":
        assert done.returncode == 1
        last = "error: standard output could not be written ([Errno 28] No space left on device)"
        assert done.stderr.splitlines()[-1] == last
    else:
        assert (done.returncode, done.stdout) == (0, "") and output.exists()


@pytest.mark.parametrize("arguments", [["--help"], ["pagerank", "--help"], ["--version"]])
def test_help_on_a_full_disk(arguments):
    command = [sys.executable, "-m", "rapidsgraph", *arguments]
    with open("/dev/full", "w") as full_device:
        done = subprocess.run(
            command, stdout=full_device, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 1
    last = "error: standard output could not be written ([Errno 28] No space left on device)\n"
    assert done.stderr == last
