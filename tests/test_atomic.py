"""Destinations of writes: what is replaced, what is kept of it, and where nothing is written."""

import contextlib
import errno
import os
import socket
import stat
import subprocess
import sys

import pandas as pd
import pytest

import rapidsgraph as rg
from rapidsgraph import GraphError, atomic
from rapidsgraph.io import check_writable, read_edges, write_frame
from rapidsgraph.plot import savefig

EDGES = {"source": [3, 0, 7], "destination": [0, 7, 7], "weight": [0.5, 2.0, 1.25]}


def test_a_replaced_file_keeps_its_mode_and_owner(tmp_path):
    path = tmp_path / "a.csv"
    for mode in (0o600, 0o640, 0o755):
        path.touch()
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, 12345, 23456)
        before = path.stat()
        write_frame(pd.DataFrame(EDGES), path)
        after = path.stat()
        assert len(read_edges(path, device="cpu")) == 3 and after.st_ino != before.st_ino
        assert stat.S_IMODE(after.st_mode) == mode
        assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


def test_a_group_that_cannot_be_kept_gains_no_access(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.touch()
    path.chmod(0o664)

    def refuse(handle, owner, group):
        raise PermissionError(errno.EPERM, "not permitted")

    monkeypatch.setattr(atomic.os, "fchown", refuse)
    status = os.stat_result([0o100664, 0, 0, 1, os.geteuid(), os.getegid() + 1, 0, 0, 0, 0])
    with open(path, "r+b") as file:
        atomic.copy_ownership(file.fileno(), status)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def make_fifo(path):
    os.mkfifo(path)
    return "a FIFO"


def make_socket(path):
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)
    return "a socket"


def make_link_to_a_device(path):
    path.symlink_to("/dev/null")
    return "a character device"


def make_link_to_itself(path):
    path.symlink_to(path.name)
    return "a link that leads to itself"


@pytest.mark.parametrize(
    "make", [make_fifo, make_socket, make_link_to_a_device, make_link_to_itself]
)
def test_only_regular_files_are_replaced(tmp_path, make):
    path = tmp_path / "a.csv"
    kind, before = make(path), path.lstat()[:7]  # without times: to follow a link changes one
    for write in (check_writable, lambda path: write_frame(pd.DataFrame(EDGES), path)):
        with pytest.raises(GraphError, match=f"a.csv: it is {kind}"):
            write(path)
    with pytest.raises(GraphError, match=kind), atomic.atomic_write(path):
        raise AssertionError("it was replaced")
    assert path.lstat()[:7] == before
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_standard_output_is_not_replaced(name, tmp_path):
    """Neither a pipe nor a file: what others write to it would be lost."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    program = f"from rapidsgraph.io import check_writable; check_writable({name!r}, format='csv')"
    redirected = tmp_path / "output.csv"
    with redirected.open("w") as file:
        for output in (subprocess.PIPE, file):
            done = subprocess.run(
                [sys.executable, "-c", program],
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
            )
            assert f"GraphError: {name}: it is a file that is already open" in done.stderr


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(GraphError, match="the folder .*file does not exist"):
        write_frame(pd.DataFrame(EDGES), tmp_path / "file" / "a.csv")


def test_nothing_is_written_into_a_store(tmp_path):
    """Not over its files, not beside them, not below them; a damaged store is one, too."""
    store = tmp_path / "s.layers"
    layered = rg.LayeredEdgeList.build(pd.DataFrame(EDGES), 0)
    layered.save(store)
    (tmp_path / "link").symlink_to(store)
    (tmp_path / "link.arrow").symlink_to(store / "edges.npy")
    names = sorted(os.listdir(store))
    before = {name: (store / name).read_bytes() for name in names}
    frame, index = pd.DataFrame(EDGES), rg.ScanIndex(pd.DataFrame(EDGES)[["source", "destination"]])
    writers = [
        check_writable,
        lambda path: write_frame(frame, path),
        index.save,
        layered.save,
        lambda path: savefig.check(store / path.with_suffix(".png").name),
    ]
    for path in (
        store / "edges.npy",
        store / "new.arrow",
        tmp_path / "link" / "edges.npy",
        tmp_path / "link.arrow",
        store / ".." / "s.layers" / "new.arrow",
    ):
        for write in writers:
            with pytest.raises(GraphError, match=r"s\.layers is a layered edge list"):
                write(path)
    with contextlib.chdir(store), pytest.raises(GraphError, match="is a layered edge list"):
        write_frame(frame, "edges.npy")
    assert {name: (store / name).read_bytes() for name in sorted(os.listdir(store))} == before
    (store / "manifest.json").unlink()
    with pytest.raises(GraphError, match="is a layered edge list"):
        write_frame(frame, store / "manifest.csv")


def test_a_store_is_not_built_over_its_source(tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    write_frame(pd.DataFrame(EDGES), parts / "a.parquet")
    inner = tmp_path / "outer" / "parts"
    inner.mkdir(parents=True)
    write_frame(pd.DataFrame(EDGES), inner / "a.parquet")
    (tmp_path / "link").symlink_to(parts)
    for source, store in (
        (parts, parts / "s.layers"),
        (parts, tmp_path / "link" / "s.layers"),
        (parts, tmp_path / "link" / ".." / "parts" / "s.layers"),
        (tmp_path / "link", parts / "s.layers"),
    ):
        with pytest.raises(GraphError, match="s.layers: the edges are read from"):
            rg.LayeredEdgeList.build(source, 0, store=store, device="cpu")
        assert os.listdir(parts) == ["a.parquet"]
    store = tmp_path / "s.layers"
    rg.LayeredEdgeList.build(pd.DataFrame(EDGES), 0).save(store)
    names = sorted(os.listdir(store))
    with pytest.raises(GraphError, match="s.layers: the edges are read from"):
        columns = {"source": "a", "destination": "b"}
        rg.LayeredEdgeList.build(store / "vertices.arrow", 0, store=store, device="cpu", **columns)
    assert sorted(os.listdir(store)) == names


def test_a_replaced_store_keeps_its_mode(tmp_path):
    store = tmp_path / "s.layers"
    layered = rg.LayeredEdgeList.build(pd.DataFrame(EDGES), 0)
    layered.save(store)
    store.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(store, 12345, 23456)
    before = store.stat()
    layered.save(store)
    after = store.stat()
    assert after.st_ino != before.st_ino and stat.S_IMODE(after.st_mode) == 0o700
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


@pytest.mark.parametrize("failing", [0, 1])
def test_an_old_folder_is_put_back(tmp_path, monkeypatch, failing):
    """Where two folders cannot be exchanged at once, a failure between the renames loses none."""
    store = tmp_path / "s.layers"
    layered = rg.LayeredEdgeList.build(pd.DataFrame(EDGES), 0)
    layered.save(store)
    rename, calls = os.rename, []

    def interrupted(old, new):
        calls.append(new)
        if len(calls) == 2 + failing:  # the first finds that there is a folder
            raise KeyboardInterrupt
        rename(old, new)

    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rg.LayeredEdgeList.build(pd.DataFrame(EDGES), 7).save(store)
    assert os.listdir(tmp_path) == ["s.layers"]
    assert rg.LayeredEdgeList.open(store, device="cpu").root == 0
