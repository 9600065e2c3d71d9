"""Standard input and output, globs, folders and URLs of the command line."""

import gzip
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import forked_process
import pandas as pd
import pyarrow.parquet as pq
import pytest
from test_cli import run, without_gpu  # noqa: F401  a fixture for all tests here

import rapidsgraph as rg
from rapidsgraph.cli.files import overwrites
from rapidsgraph.io import read_vertex_values, write_frame

ROOT = Path(__file__).parents[2]
EDGES = pd.DataFrame({"source": ["a", "b", "c", "a"], "destination": ["b", "a", "a", "c"]})
CSV = "source,destination\na,b\nb,a\nc,a\na,c\n"


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(CSV)
    return path


@pytest.fixture
def memory():
    filesystem = pytest.importorskip("fsspec").filesystem("memory")
    filesystem.store.clear()
    yield filesystem
    filesystem.store.clear()


def ranks(path):
    return read_vertex_values(path, device="cpu")


def test_globs_folders_and_urls(tmp_path, edges, memory):
    run("pagerank", edges, "--output", tmp_path / "r.parquet")
    expected = ranks(tmp_path / "r.parquet")
    (tmp_path / "f").mkdir()
    half = len(EDGES) // 2
    write_frame(EDGES[:half], tmp_path / "f" / "a.csv.zst")
    write_frame(EDGES[half:], tmp_path / "f" / "b.csv")
    memory.pipe("/d/e.csv", CSV.encode())
    for source in (tmp_path / "f", f"{tmp_path}/f/*.csv*", "memory://d/e.csv", "memory://d"):
        run("pagerank", source, "--output", "memory://out/r.jsonl")
        pd.testing.assert_frame_equal(ranks("memory://out/r.jsonl"), expected)
    memory.pipe("/s.csv", b"vertex\nb\n")
    shown = run("bfs", edges, "--from-file", "memory://s.csv").stdout
    assert shown == run("bfs", edges, "--from", "b").stdout


def test_a_file_with_another_ending(tmp_path, edges):
    renamed = edges.rename(tmp_path / "edges.dat")
    assert "the ending '.dat' is not known" in run("components", renamed, code=1).stderr
    assert run("components", renamed, "--format", "csv").stdout == "0\t3\n"
    run("pagerank", renamed, "--format", "csv", "-o", tmp_path / "r", "--output-format", "parquet")
    assert pq.read_table(tmp_path / "r").num_rows == 3


def test_layers_need_a_place(tmp_path, edges, memory):
    memory.pipe("/e.csv", CSV.encode())
    for source in ("memory://e.csv", f"{tmp_path}/*.csv", "-"):
        for arguments in (
            ["bfs", source, "--from", "a b", "--layers", "--source", "to", "--undirected"],
            ["pagerank", source, "--memory-limit", "1GB"],
            ["layer", source, "--from", "a", "--format", "csv"],
        ):
            done = run(*arguments, code=1)
            assert f"{source}: layers are stored beside one local file or folder" in done.stderr
            options = {
                "bfs": "--from 'a b' --source to --undirected",
                "pagerank": "--from VERTEX",
                "layer": "--from a --format csv",
            }
            command = f"{options[arguments[0]]} --output FOLDER`"
            if source == "-" and "--format" not in command:
                command = re.sub(r"--from ('a b'|VERTEX)", r"\g<0> --format FORMAT", command)
            assert command in done.stderr


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([""], "EDGES"),
        (["edges.csv", "--output", ""], "--output"),
        (["edges.csv", "--vertices", ""], "--vertices"),
        (["edges.csv", "--personalization", ""], "--personalization"),
        (["edges.csv", "--start", ""], "--start"),
        (["edges.csv", "--dangling", ""], "--dangling"),
    ],
)
def test_empty_names_of_files(arguments, name):
    assert run("pagerank", *arguments, code=1).stderr == f"error: {name} is empty; name a file\n"


def test_layers_of_urls(tmp_path, edges, memory):
    memory.pipe("/e.csv", CSV.encode())
    run("layer", "memory://e.csv", "--from", "a", "--output", tmp_path / "L")
    run("layer", "memory://e.csv", "--from", "b", "--output", tmp_path / "L")  # replaces it
    assert rg.LayeredEdgeList.open(tmp_path / "L", device="cpu").root == "b"
    done = run("bfs", edges, "--from", "a", "--layers", "--format", "csv", code=2)
    assert "--format" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["pagerank", "edges.csv", "-o", "-", "--top", "3"], 2, "--top"),
        (["pagerank", "edges.csv", "--output-format", "csv"], 2, "give --output too"),
        (["pagerank", "edges.csv", "-o", "-", "--output-format", "mtx"], 1, "hold edges, not"),
        (["bfs", "edges.csv", "--from", "a", "-o", "-", "--output-format", "snap"], 1, "missing"),
        (["pagerank", "edges.csv", "--format", "xls"], 2, "--format"),
        (["pagerank", "no*.csv"], 1, "no*.csv: no file matches"),
        (["pagerank", "s3://b/e.csv"], 1, "s3://b/e.csv: URLs of this protocol require s3fs"),
        (["pagerank", "edges.csv", "-o", "s3://b/e.csv"], 1, "require s3fs: pip install s3fs"),
        (["pagerank", "edges.csv", "-o", "memory://e.xls"], 1, "the ending '.xls' is not known"),
        (["generate", "grid", "3", "-o", "a.xls"], 1, "the ending '.xls' is not known"),
    ],
)
def test_mistakes(edges, monkeypatch, arguments, code, message):
    monkeypatch.chdir(edges.parent)
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert message in run(*arguments, code=code).stderr


@pytest.mark.parametrize(
    ("output", "source", "expected"),
    [
        ("s3://b/e.csv", "s3://b/e.csv", True),
        ("s3://b/d/e.csv", "s3://b/d/", True),
        ("s3://b/e.csv", "s3://b/*.csv", True),
        ("s3://b/e.csv", "e.csv", False),
        ("-", "-", False),
        ("out.csv", "*.csv", True),
        ("out.png", "*", False),
        ("d/out.csv", "*.pq", False),
        ("file:///d/a%20b.csv", "/d/a b.csv", True),
        ("/d/a.csv", "file:///d/*.csv", True),
    ],
)
def test_what_an_output_overwrites(tmp_path, monkeypatch, output, source, expected):
    monkeypatch.chdir(tmp_path)
    assert overwrites(output, source) is expected


# Pipes


def start(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    pipe = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | options
    program = "from rapidsgraph.__main__ import main; main()"
    command = forked_process.command(program, *arguments)
    return subprocess.Popen(command, env=environment, **pipe)


@pytest.mark.slow
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_pipe(tmp_path, edges, compress):
    run("pagerank", edges, "--output", tmp_path / "r.csv")
    process = start("pagerank", "-", "--format", "csv", "--output", "-", "--progress")
    out, err = process.communicate(compress(CSV.encode()), timeout=60)
    assert process.returncode == 0, err
    assert out == (tmp_path / "r.csv").read_bytes()


GENERATE = "generate", "grid", 30, "-o", "-", "--output-format"


def check_one_component(out, err):
    assert out.decode().splitlines()[-1].endswith(",0"), err
    assert len(out.splitlines()) == 901


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["csv", "parquet"])  # text and binary
def test_generated_edges_in_a_pipe(file_format):
    with start(*GENERATE, file_format) as generated:
        done = start("components", "-", "--format", file_format, "-o", "-", stdin=generated.stdout)
        out, err = done.communicate(timeout=60)
    check_one_component(out, err)
    assert generated.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["jsonl", "arrow", "snap", "mtx"])
def test_generated_edges_in_standard_input(file_format):
    edges = run(*GENERATE, file_format).stdout_bytes
    done = start("components", "-", "--format", file_format, "-o", "-")
    check_one_component(*done.communicate(edges, timeout=60))


@pytest.mark.slow
def test_errors_of_standard_input():
    process = start("pagerank", "-", "--format", "csv", "--output", "-")
    out, err = process.communicate(b"source,destination\n1,2\n3,\n", timeout=60)
    assert (process.returncode, out) == (1, b"")
    assert err == b"error: <stdin>, line 3: there is no value in column 'destination'\n"
    process = start("pagerank", "-", "--format", "csv", stdin=subprocess.DEVNULL)
    assert b"<stdin>: it is empty" in process.communicate(timeout=60)[1]


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["csv", "parquet", "jsonl"])
def test_a_closed_pipe_is_quiet(file_format):
    command = ["generate", "grid", 500, "--output", "-", "--output-format", file_format]
    with start(*command) as process:
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(60) in (1, -signal.SIGPIPE)
    assert err == b""


@pytest.mark.slow
def test_ctrl_c_while_standard_input_is_read(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "rapidsgraph", "pagerank", "-", "--format", "csv"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(b"1,2\n" * 2**20)
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("rapidsgraph-*/stream")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read().startswith(b"error: interrupted")
    assert list(tmp_path.glob("rapidsgraph-*")) == []


@pytest.mark.parametrize("command", [["core-number"], ["bfs", "--from", "a"], ["pagerank"]])
def test_files_whose_names_begin_with_a_tilde(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    name, *options = command
    for arguments in (["~t.csv"], ["~t.csv", "-o", "-"], ["e.csv", "-o", "~o.csv"]):
        (tmp_path / "e.csv").write_text("source,destination\na,b\n")
        done = run(name, *arguments, *options, code=1)
        assert done.stderr.startswith("error: path is '~")
        assert "home directory" in done.stderr
    (tmp_path / "~t.csv").write_text("source,destination\na,b\n")
    run(name, "~t.csv", *options, "-o", "-")


def test_a_fifo_needs_a_format(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    writer = subprocess.Popen(["sh", "-c", f"echo 1,2 > {tmp_path / 'fifo'}"])
    done = run("core-number", tmp_path / "fifo", code=1)
    writer.wait()
    assert "cannot be recognized; give --format csv, or another of csv, tsv" in done.stderr


def test_a_fifo_beside_the_edges(tmp_path):
    (tmp_path / "edges.csv").write_text("1,2\n")
    os.mkfifo(tmp_path / "fifo")
    writer = subprocess.Popen(["sh", "-c", f"echo 1 > {tmp_path / 'fifo'}"])
    done = run("bfs", tmp_path / "edges.csv", "--from-file", tmp_path / "fifo", code=1)
    writer.wait()
    assert "cannot be recognized; write it to a file with an ending, such as .csv" in done.stderr
