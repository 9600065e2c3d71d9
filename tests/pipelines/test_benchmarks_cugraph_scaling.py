"""The benchmark beside cuGraph, whose measurements need a GPU."""

import importlib.util
import subprocess
import sys

import pytest

from pipelines.benchmarks import cugraph_scaling, records

ROW = {
    "table": "beside cuGraph", "graph": "10-4", "edges": 4000, "task": "bfs",
    "rapidsgraph_ms": 1.5, "cugraph_ms": 3.0, "ratio": 2.0, "floor_ms": None, "check": "ok",
}  # fmt: skip


@pytest.mark.skipif(importlib.util.find_spec("pylibcugraph"), reason="cuGraph is installed")
def test_without_cugraph(capsys):
    assert cugraph_scaling.main([]) == 2
    assert "install pylibcugraph" in capsys.readouterr().err


def test_an_unknown_task():
    with pytest.raises(SystemExit):
        cugraph_scaling.main(["--only", "louvain"])


def test_the_picture_has_a_panel_per_task(tmp_path):
    rows = [
        ROW,
        ROW | {"task": "build", "floor_ms": 0.1},
        ROW | {"task": "build", "edges": 9000, "floor_ms": 0.2},
        {"table": "beside cuGraph", "graph": "10-4", "task": "sssp", "check": "failed: memory"},
    ]
    path = tmp_path / "picture.png"
    cugraph_scaling.plot(rows, path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_tasks_have_methods():
    for task in cugraph_scaling.TASKS:
        assert hasattr(cugraph_scaling.Benchmark, f"_{task.split()[0]}")


@pytest.mark.gpu
@pytest.mark.skipif(not importlib.util.find_spec("pylibcugraph"), reason="cuGraph is missing")
def test_records_of_a_small_graph(tmp_path):
    """In a process of its own, in which cuGraph is imported before CuPy."""
    output = tmp_path / "records.jsonl"
    command = [sys.executable, cugraph_scaling.__file__, "--graphs", "10-8", "--output", output]
    subprocess.run(command, check=True, timeout=300)
    _, *rows = records.read(output)
    assert [row["task"] for row in rows] == list(cugraph_scaling.TASKS)
    assert {row["check"] for row in rows} == {"ok"}


@pytest.mark.gpu
def test_without_peer(tmp_path):
    output = tmp_path / "records.jsonl"
    options = ["--graphs", "10-8", "--without-peer", "--output", output]
    subprocess.run([sys.executable, cugraph_scaling.__file__, *options], check=True, timeout=300)
    _, *rows = records.read(output)
    assert {row["check"] for row in rows} == {"ok"}
    assert not any("cugraph_ms" in row for row in rows)
