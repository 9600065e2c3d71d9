"""The benchmark of frame forms: its queries in other libraries, its checks, and its records."""

import json

import pandas
import pytest

import rapidsgraph as rg
from pipelines.benchmarks import frames

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("algorithm", "engine"), frames.QUERIES)
def test_queries_give_the_results_of_kernels(algorithm, engine):
    pytest.importorskip(engine)
    edges = frames.make_edges(7, 3)
    root = int(edges["source"][0])
    expected = frames.CALLS[algorithm](edges, "auto", root)
    result = frames.QUERIES[algorithm, engine](edges, root)
    assert frames.compare(result, expected) == "ok"
    column = result.columns[-1]
    result[column] = result[column] + 1
    assert frames.compare(result, expected).startswith("wrong: ")


@pytest.mark.parametrize("algorithm", frames.CALLS)
def test_measurements_of_pandas(tmp_path, monkeypatch, algorithm):
    monkeypatch.setattr(frames, "BUDGET", 0.0)  # one run
    for form in ("kernels", "frames"):
        row = frames.measure(algorithm, "pandas", form, 6, 3, tmp_path / "expected")
        assert row["check"] == "ok" and row["ms"]["median"] > 0 and row["bytes"] < 10**9


def test_records(tmp_path, monkeypatch, capsys):
    """Missing engines become notes; a wrong result has no time."""

    def measure(arguments):
        _, engine, form, *_ = arguments
        if (engine, form) == ("pandas", "frames"):
            return {"check": "wrong: values are different"}
        return {"check": "ok", "ms": {"median": 2.0}, "bytes": 10}

    monkeypatch.setattr(frames, "run_process", measure)
    reasons = {"dask": "distributed is not installed"}
    monkeypatch.setattr(frames, "missing_reason", reasons.get)
    path = tmp_path / "frames.jsonl"
    arguments = ["--device", "cpu", "--quick", "--only", "bfs", "--output", str(path)]
    assert frames.main(arguments) == 3  # a wrong result of ours
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [row for row in rows if row["table"] in ("frames", "note")]
    pandas_row, duckdb_row, polars_row, *notes = rows
    assert "kernels_ms" in pandas_row and "frames_ms" not in pandas_row
    assert pandas_row["check"] == "wrong: values are different"
    assert duckdb_row["engine"] == "duckdb" and polars_row["frames_ms"] == {"median": 2.0}
    texts = [note["note"] for note in notes]
    assert texts == [
        "cudf: there is no GPU", "dask_cudf: there is no GPU", "dask: distributed is not installed",
    ]  # fmt: skip
    assert "frames, bytes" in capsys.readouterr().out


def test_a_failing_process_is_a_failed_check(tmp_path):
    row = frames.run_process(["bfs", "pandas", "kernels", "-1", "3", str(tmp_path / "expected")])
    assert row["check"].startswith("failed: ")


def test_edges_are_the_same_every_time():
    pandas.testing.assert_frame_equal(frames.make_edges(5, 4), frames.make_edges(5, 4))
    assert rg.Graph(frames.make_edges(5, 4), weight="weight").weighted
