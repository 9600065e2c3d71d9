"""The benchmarks run, check what they time and say what is missing; no speed is asserted."""

import dataclasses
import importlib
import json
import sys
import types
from functools import partial

import numpy as np
import pytest
from conftest import build_storage

import rapidsgraph as rg
from pipelines.benchmarks import build, graphs, pagerank, peak_memory, records, tables, timing
from pipelines.benchmarks.adapters import registry
from pipelines.benchmarks.adapters.interface import PageRankAdapter
from pipelines.benchmarks.adapters.networkit import AdjacencyListBuild
from pipelines.benchmarks.adapters.rapidsgraph import (
    RapidsgraphBuild,
    RapidsgraphBuildByDestination,
    RapidsgraphPageRank,
    build_adapters,
)
from pipelines.benchmarks.graphs import GraphUnavailableError, load
from pipelines.benchmarks.harness import QUICK

TIME = {"median": 1.5, "low": 1.0, "high": 2.0, "repeats": 3}
ROW = {
    "table": "pagerank", "graph": "rmat8", "library": "rapidsgraph", "implementation": "auto",
    "precision": "double", "iteration_ms": TIME, "ratio": 1.0, "check": "ok",
}  # fmt: skip


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


class Fake(PageRankAdapter):
    """A library that gives every vertex the same rank."""

    library = "fake"

    def prepare(self, workload):
        return workload.vertices

    def iterate(self, vertices, iterations):
        return np.full(vertices, 1 / vertices)

    def solve(self, vertices):
        return self.iterate(vertices, 1)


def fake_clock(*seconds):
    """A Clock that reads the times of `seconds`, one after another."""
    clock, left = timing.Clock(), iter(seconds)
    clock.timed = lambda work: (next(left) * 1e3, work())
    return clock


# Records


def test_records_come_back_as_written(tmp_path):
    written = [records.run_record("pagerank", seed=1), ROW, {"table": "note", "note": "x is out"}]
    records.write(tmp_path / "deep" / "a.jsonl", written)
    assert records.read(tmp_path / "deep" / "a.jsonl") == written
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["a.jsonl", "a.md"]


def test_run_record_names_machine_versions_and_commit():
    record = records.run_record("pagerank", seed=1)
    assert record["benchmark"] == "pagerank" and record["seed"] == 1
    assert record["machine"]["cores"] >= 1 and record["machine"]["cpu"]
    assert {"python", "rapidsgraph", "numpy"} <= set(record["versions"])
    assert record["commit"] == "unknown" or len(record["commit"]) >= 7


def test_commit_is_unknown_without_git(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert records.commit() == "unknown"


def test_records_command_prints_and_writes_markdown(tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    records.main([str(path)])
    printed = capsys.readouterr().out
    assert "| rapidsgraph | auto | double | 1.5 | 1 to 2 | 1 | ok |" in printed
    assert path.with_suffix(".md").read_text() in printed


def test_methods_stand_in_one_table():
    other = ROW | {"graph": "NY", "iteration_ms": TIME | {"median": 4.0}}
    text = tables.markdown([ROW, other], "a.jsonl")
    assert "| method | precision | rmat8 | NY |\n| --- | --- | --- | --- |\n" in text
    assert "| auto | double | 1.5 | 4 |" in text


def test_wrong_answer_reads_wrong_instead_of_a_time():
    wrong = {name: value for name, value in ROW.items() if name not in ("iteration_ms", "ratio")}
    text = tables.markdown([ROW, wrong | {"check": "wrong: by 1"}], "a.jsonl")
    assert "| rapidsgraph | auto | double | wrong |  |  | wrong: by 1 |" in text


def test_unknown_tables_show_every_column():
    text = tables.markdown([{"tool": "memcheck", "exit_code": 0}], "sanitizer.jsonl")
    assert "| tool | exit_code |\n| --- | --- |\n| memcheck | 0 |" in text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (1234.5, "1,234"), (99.94, "99.9"), (0.00123456, "0.00123")]
)
def test_numbers_have_three_digits(value, text):
    assert tables.number(value) == text


# Times


def test_iteration_is_many_less_few_shared_out():
    clock = fake_clock(0.5, 1.3)
    assert timing.per_iteration(clock, lambda count: None, 2, 10) == pytest.approx(100)


def test_rounds_take_turns_and_the_slow_stand_back():
    order = []

    def job(name, seconds):
        order.append(name)
        timing.time.sleep(seconds)

    jobs = {"slow": partial(job, "slow", 0.3), "quick": partial(job, "quick", 0)}
    results = timing.rounds(jobs, 3, 0.2, timing.Clock())
    assert order == ["slow", "quick", "quick", "quick"]
    assert {name: len(values) for name, values in results.items()} == {"slow": 1, "quick": 3}


def test_summary_and_ratio_of_the_same_rounds():
    assert timing.summary([3.0, 1.0, 2.0]) == {"median": 2, "low": 1, "high": 3, "repeats": 3}
    assert timing.paired_ratio([2.0, 30.0, 4.0], [1.0, 10.0, 2.0]) == 2
    assert timing.paired_ratio([1.0], []) is None


def test_disturbed_runs_are_repeated_while_patience_lasts(monkeypatch):
    disturbances = iter([1.0, 0.0, 1.0])
    monkeypatch.setattr(timing, "other_cpu_seconds", lambda since: next(disturbances))
    monkeypatch.setattr(timing, "PAUSE", 0.01)
    runs, clock = [], timing.Clock(patience=0.015)
    clock.ms(lambda: runs.append(1))
    assert len(runs) == 2 and 0 < clock.patience <= 0.005
    clock.ms(lambda: runs.append(1))
    assert len(runs) == 4 and clock.patience <= 0


def test_first_run_counts_only_where_it_used_up_the_budget():
    assert fake_clock(0.5, 0.1, 0.2).repeated(lambda: None, 2, budget=1) == [100, 200]
    assert fake_clock(2).repeated(lambda: None, 5, budget=1) == [2000]


# Checks


def test_wrong_ranks_are_flagged_and_not_timed():
    workload, clock = load("rmat6"), timing.Clock()
    rows = pagerank.measure(
        workload, [RapidsgraphPageRank("auto", "double"), Fake("even")], QUICK, clock
    )
    right, wrong = rows
    assert right["check"] == "ok" and right["iteration_ms"]["repeats"] >= 1
    assert wrong["check"].startswith("wrong: ")
    assert not [name for name in wrong if name.endswith("_ms")]


def test_small_graphs_are_also_ranked_with_1000_iterations():
    contenders = [RapidsgraphPageRank("auto", "single"), *registry.pagerank_peers(False)[0][:1]]
    effort = dataclasses.replace(QUICK, max_iterations=1000)
    rows = pagerank.measure(load("rmat6"), contenders, effort, timing.Clock())
    assert all(row["thousand_ms"]["median"] > 0 for row in rows)
    assert rows[0]["thousand_frame_ms"]["median"] > 0 and rows[0]["ten_ms"]["median"] > 0


def test_trouble_of_one_library_does_not_end_the_run():
    broken = Fake("even")
    broken.solve = lambda state: 1 / 0
    (row,) = pagerank.measure(load("rmat6"), [broken], QUICK, timing.Clock())
    assert row["check"] == "failed: ZeroDivisionError: division by zero"


def test_reference_is_verified(monkeypatch):
    honest = rg.pagerank
    monkeypatch.setattr(rg, "pagerank", lambda *a, **k: honest(*a, **k) * [1, 0.9])
    with pytest.raises(rg.VerificationError):
        pagerank.reference_pagerank(load("rmat6"))


@pytest.mark.parametrize("name", graphs.BUILD_CASES)
def test_builders_are_checked(name):
    case = graphs.make_build_case(load("rmat6"), name)
    for builder in [*build_adapters(), *registry.build_peers(False)[0]]:
        if name in builder.cases:
            assert builder.check(case, builder.build(case)) is None, builder
            if case.directed:
                other = graphs.make_build_case(load("rmat6", edge_factor=3), name)
                assert builder.check(case, builder.build(other)).startswith("wrong: "), builder


def test_wrong_build_is_flagged_and_not_timed():
    wrong = AdjacencyListBuild("fake", lambda *edges: None, lambda graph: 7, "")
    case = graphs.make_build_case(load("rmat6"), "in order")
    rows = build.measure_case(case, [RapidsgraphBuild(), wrong], QUICK, timing.Clock())
    assert [row["check"] for row in rows] == ["ok", f"wrong: 7 edges of {case.rows} rows"]
    assert "build_ms" in rows[0] and "build_ms" not in rows[1]


# What is missing


def test_missing_peers_are_named(monkeypatch):
    modules = ["scipy.sparse", "networkit", "igraph", "graphblas", "networkx"]
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)
    peers, notes = registry.pagerank_peers(False)
    assert peers == []
    assert [note.split()[0] for note in notes] == modules
    assert all("pip install" in note for note in notes)
    builders, notes = registry.build_peers(False)
    assert builders == []
    assert [note.split()[0] for note in notes] == [*modules[:2], "graphblas", "igraph"]


def test_missing_graphs_are_named(tmp_path, capsys):
    with pytest.raises(
        GraphUnavailableError, match="NY: skipped, USA-road-d.NY.parquet is not in "
    ):
        load("NY", folder=tmp_path)
    with pytest.raises(
        GraphUnavailableError, match="unknown graph 'petersen'; known graphs are rmat<scale>"
    ):
        load("petersen")
    found = pagerank.main(["--device", "cpu", "--quick", "--graphs", "NY", "--data", str(tmp_path)])
    assert found[-1]["note"].startswith("NY: skipped")
    assert "- NY: skipped" in capsys.readouterr().out


def test_gpu_that_is_not_there_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(rg.device, "gpu_problem", lambda: "the driver reports no GPU")
    with pytest.raises(SystemExit):
        pagerank.main(["--device", "gpu"])
    assert "--device gpu: the driver reports no GPU" in capsys.readouterr().err


# cuGraph, where there is none


class FakeCuGraph(types.ModuleType):
    """What the benchmarks call of pylibcugraph, on NumPy, and with vertices in another order."""

    ResourceHandle = object

    def GraphProperties(self, is_symmetric, is_multigraph):
        return is_symmetric

    def SGGraph(self, handle, symmetric, sources, destinations, *, symmetrize, **options):
        assert symmetrize in (symmetric, False) and not options["do_expensive_check"]
        columns = {"source": sources, "destination": destinations}
        everyone, weights = options["vertices_array"], options["weight_array"]
        if weights is not None:
            columns["weight"] = weights
        weight = None if weights is None else "weight"
        graph = build_storage(columns, weight=weight, directed=not symmetrize, vertices=everyone)
        graph.symmetric = symmetric
        return graph

    def pagerank(self, handle, graph, *nothing_and_numbers, fail_on_nonconvergence):
        assert nothing_and_numbers[:4] == (None,) * 4 and not fail_on_nonconvergence
        damping, epsilon, iterations, _ = nothing_and_numbers[4:]
        tolerance = epsilon if epsilon > 1e-20 else 0
        ranks = rg.pagerank(
            graph, damping=damping, tolerance=tolerance, max_iterations=iterations,
            precision="single",
        )  # fmt: skip
        return ranks["vertex"][::-1], ranks["pagerank"][::-1], tolerance > 0

    def bfs(self, handle, graph, sources, symmetrize, limit, predecessors, check):
        assert limit < 0 and not check and graph.symmetric >= symmetrize
        found = rg.bfs(graph, sources, predecessors=predecessors)
        distances = np.where(found["distance"] < 0, 2**31 - 1, found["distance"])
        return distances[::-1], None, found["vertex"][::-1]

    def sssp(self, handle, graph, source, cutoff, predecessors, check):
        assert cutoff == np.inf and predecessors and not check
        found = rg.sssp(graph, source)
        kind = graph.csr.weights.dtype
        distances = np.minimum(found["distance"], np.finfo(kind).max).astype(kind)
        return found["vertex"][::-1], distances[::-1], None

    def weakly_connected_components(self, handle, graph, *arrays_and_check):
        assert graph.symmetric and arrays_and_check == (None,) * 4 + (False,)
        found = rg.connected_components(graph)
        return found["vertex"][::-1], found["component"][::-1] + 7

    def out_degrees(self, handle, graph, vertices, check):
        return None, graph.out_degrees


def spmv(matrix, vector):
    """As cuSPARSE's product in CuPy, which takes no other matrix."""
    assert matrix.has_canonical_format and matrix.dtype == vector.dtype
    return matrix @ vector


@pytest.fixture
def cugraph(monkeypatch):
    fake = FakeCuGraph("pylibcugraph")
    monkeypatch.setitem(sys.modules, "pylibcugraph", fake)
    fake_cupy = types.SimpleNamespace(arange=np.arange, ndarray=type("ndarray", (), {}))
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    monkeypatch.setitem(sys.modules, "cupyx.scipy.sparse", importlib.import_module("scipy.sparse"))
    cusparse = types.SimpleNamespace(spmv=spmv)
    monkeypatch.setitem(sys.modules, "cupyx.cusparse", cusparse)
    return fake


def test_cugraph_is_asked_and_its_answer_put_in_order(cugraph):
    peers, notes = registry.pagerank_peers(True)
    assert notes == [] and [peer.library for peer in peers] == ["cuSPARSE"] * 4 + ["cuGraph"] * 5
    single = [peer for peer in peers if peer.precision == "single"]
    rows = pagerank.measure(
        load("rmat6"), [RapidsgraphPageRank("auto", "single"), *single], QUICK, timing.Clock()
    )
    assert [row["check"] for row in rows] == ["ok"] * 7
    assert all(row["iteration_ms"]["repeats"] >= 1 for row in rows)


def test_cugraph_builds_are_checked(cugraph):
    everyone = registry.build_peers(True)[0]
    assert [one.library for one in everyone] == ["cuSPARSE"] * 2 + ["cuGraph"] * 4
    for name in graphs.BUILD_CASES:
        case = graphs.make_build_case(load("rmat6"), name)
        for builder in everyone:
            if name in builder.cases:
                assert builder.check(case, builder.build(case)) is None, builder


# End to end


def test_pagerank_quick(tmp_path, capsys):
    found = pagerank.main(["--device", "cpu", "--quick", "--output", str(tmp_path / "p.jsonl")])
    assert found == records.read(tmp_path / "p.jsonl")
    rows = [row for row in found if row["table"] == "pagerank"]
    ours = [row for row in rows if row["library"] == "rapidsgraph"]
    assert len(ours) == 2 * 5 * 2  # graphs, methods, precisions
    assert {row["check"] for row in rows} == {"ok"}
    assert all(row["iteration_ms"]["repeats"] >= 1 for row in ours)
    assert capsys.readouterr().out.strip() == (tmp_path / "p.md").read_text().strip()


def test_build_quick(tmp_path):
    found = build.main(["--device", "cpu", "--quick", "--output", str(tmp_path / "b.jsonl")])
    assert found == records.read(tmp_path / "b.jsonl")
    rows = [row for row in found if row["table"] == "build"]
    assert {row["case"] for row in rows} == set(graphs.BUILD_CASES)
    assert {row["check"] for row in rows} == {"ok"}
    memory = [row for row in found if row["table"] == "memory"]
    if sys.platform == "linux":
        assert [row["rows"] for row in memory] == [load("rmat8", edge_factor=20).rows]
        assert memory[0]["estimate_per_row"] > 24


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_peers_is_that_of_shuffled_rows(monkeypatch):
    figures = {"peak_bytes": 4000, "rows": 100, "vertices": 10, "estimate": 5000}
    monkeypatch.setattr(peak_memory, "measure_build", lambda *of: figures)
    everyone = [*build_adapters(), *registry.build_peers(False)[0]]
    rows = build.measure_cpu_memory(everyone, 8, graphs.BUILD_CASES, [], lambda text: None)
    ours = [row["case"] for row in rows if row["library"] == "rapidsgraph"]
    assert sorted(ours) == sorted([*graphs.BUILD_CASES, *RapidsgraphBuildByDestination.cases])
    others = [row for row in rows if row["library"] != "rapidsgraph"]
    assert {row["case"] for row in others} == {"shuffled"} and rows[0]["bytes_per_row"] == 40
    assert len(others) == len(everyone) - 2


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_peak_counts_what_is_given_back():
    peak_bytes, size = peak_memory.measure_peak(lambda: np.ones(4_000_000).size)
    assert size == 4_000_000
    assert 31e6 < peak_bytes < 48e6


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_failed_process_says_why():
    assert (
        "unknown graph"
        in peak_memory.measure_build("petersen", 1, "shuffled", RapidsgraphBuild())["failed"]
    )
