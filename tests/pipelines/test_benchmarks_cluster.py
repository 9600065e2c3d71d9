"""The benchmark of Dask frames checks what it times; no speed is asserted."""

import json

import numpy as np
import pytest
from test_benchmarks import TIME

import rapidsgraph as rg
from pipelines.benchmarks import cluster, dask_shards, layered_dask
from pipelines.benchmarks.dask_shards import ReferenceTimes, SharedRows

pytest.importorskip("distributed")

pytestmark = pytest.mark.slow
TINY = SharedRows("rmat", 7, 8, 4)


class Quick(dask_shards.Run):
    """A run on a CPU that does what one on GPUs does."""

    def __init__(self, folder):
        found = type(
            "Found", (), dict(output=None, on_gpu=False, patience=0, data=None, quick=True,
                             libraries=None, fetch=False),
        )  # fmt: skip
        super().__init__(cluster.ClusterSession("cluster", found), "quick", folder, None)

    def frame(self, rows):
        return rows.frame()


def test_shares_are_one_graph_however_they_are_read(tmp_path):
    import dask.dataframe

    whole = dask_shards.concatenate(TINY)
    assert len(whole) == TINY.num_rows == 8 << 7
    assert whole.equals(TINY.frame().compute().reset_index(drop=True))
    read = dask.dataframe.read_parquet(TINY.write(tmp_path)).compute()
    assert whole.equals(read.reset_index(drop=True))
    half = dask_shards.concatenate(TINY.half())
    assert whole.iloc[: len(whole) // 2].equals(half) and TINY.half().name != TINY.name


def test_quick(tmp_path, capsys):
    path = tmp_path / "cluster.jsonl"
    options = [
        "--device",
        "cpu",
        "--quick",
        "--scale",
        "7",
        "--workers",
        "2",
        "--output",
        str(path),
    ]
    found = cluster.main([*options, "--only", "pagerank,components,streamed"])
    rows = [row for row in found if row["table"] == "cluster"]
    ways = ["2 processes", "in this process, 2", "no client"]
    assert [row["how"] for row in rows if row["algorithm"] == "build"] == ways
    assert [row["algorithm"] for row in rows] == ["build", "pagerank", "components"] * 3
    assert {row["check"] for row in rows} == {"ok"}
    for row in rows:
        assert row["run_ms"].keys() == TIME.keys() and ("iteration_ms" in row) == (
            row["algorithm"] == "pagerank"
        )
    streamed = [row for row in found if row["table"] == "cluster streamed"]
    assert [row["algorithm"] for row in streamed] == ["bfs", "sssp", "pagerank"]
    assert {row["check"] for row in streamed} == {"ok"}
    assert all(row["list_by_limits"] > 1 and row["bytes"] > 0 for row in streamed)
    assert [json.loads(line) for line in path.read_text().splitlines()] == found
    text = capsys.readouterr().out
    assert "## Cluster" in text and "2 processes, in" not in text


def test_scaling_of_what_gpus_do(tmp_path, monkeypatch):
    run = Quick(tmp_path)
    monkeypatch.setattr(
        cluster,
        "setups",
        lambda run, workers: [
            cluster.Setup(f"{k} GPU", k, 1, cluster.threaded_cluster(k, 1)) for k in workers
        ],
    )
    cluster.measure_on_gpus(run, ("bfs",), [1, 2], TINY)
    rows = run.session.rows
    assert {row["check"] for row in rows} == {"ok"}
    assert [(row["graph"] == TINY.name, row["workers"]) for row in rows[::2]] == [
        (False, 1), (True, 1), (True, 2),
    ]  # fmt: skip
    found = [(row["scaling"], row["algorithm"]) for row in cluster.scaling_rows(rows)]
    assert sorted(found) == sorted((how, a) for how in ("strong", "weak") for a in ("build", "bfs"))


@pytest.mark.parametrize("column", ["distance", "predecessor"])
def test_a_wrong_answer_has_no_time(tmp_path, monkeypatch, column):
    honest = rg.bfs

    def wrong(graph, *arguments, **options):
        found = honest(graph, *arguments, **options)
        if not hasattr(found, "compute"):  # of the reference, in memory
            return found
        return found.assign(**{column: found[column] + 1})

    run = Quick(tmp_path)
    live = dask_shards.Reference(TINY, tmp_path)
    live.write_results(["bfs"])
    reference = ReferenceTimes(live.start, live.facts, {}, [], live)
    monkeypatch.setattr(rg, "bfs", wrong)
    setup = cluster.Setup("no client", 1, 1, None)
    cluster.measure_setup(run, TINY, setup, reference, ["bfs"], tmp_path)
    build, bfs = run.session.rows
    assert build["check"] == "ok" and "run_ms" in build
    assert bfs["check"].startswith("wrong: ") and "run_ms" not in bfs


def test_nothing_is_a_value():
    """Nulls are -1, infinite distances stay, roles are numbers."""
    import pandas

    values = pandas.Series([1, None], dtype="Int32"), pandas.Series([np.inf, 2.0])
    assert [dask_shards.column_values(each).tolist() for each in values] == [[1, -1], [np.inf, 2]]
    assert dask_shards.column_values(pandas.Series(["hub", "core"])).tolist() == [2, 0]


def test_a_failure_is_a_record(tmp_path):
    run = Quick(tmp_path)
    run.attempt(
        {"table": "cluster"}, lambda row: layered_dask.measure_call(run, None, "bfs", 1, row)
    )
    assert run.session.rows[0]["check"].startswith("failed: ")
