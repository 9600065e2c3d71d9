"""The suites of the benchmarks on tiny graphs: their records, checks and claims."""

import importlib.util
import resource
import subprocess
import sys
from functools import partial

import numpy as np
import pandas
import pytest
from test_kernels import ARCHITECTURES, compile_cuda

from pipelines.benchmarks import (
    cluster,
    gpuscan,
    harness,
    layers,
    memory,
    records,
    run,
    sanitizer,
    scaling,
    startup,
    wolfpath,
)
from pipelines.benchmarks.graphs import load, with_weights
from pipelines.benchmarks.tasks import TASKS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread", "small_heap")]

QUICK = ["--device", "cpu", "--quick"]
TIME = {"median": 2.0, "low": 1.0, "high": 3.0, "repeats": 3}


@pytest.mark.parametrize(
    ("name", "options", "tables"),
    [
        ("kim", ["--graphs", "uniform8-1,karate"], {"kim", "claim"}),
        ("reddy", ["--graphs", "rmat8"], {"reddy", "claim"}),
        ("gpuscan", ["--graphs", "rmat10u-3"], {"scan", "claim"}),
        ("layers", ["--only", "build,streamed", "--graphs", "rmat8"],
         {"layered build", "layered build, weighted", "streamed bfs", "claim"}),
        ("layers-large", [], {"large"}),
        ("scaling", ["--graphs", "rmat6,rmat7"], {"pagerank", "bfs", "build", "slope"}),
        ("small", [], {"pagerank, 20 iterations", "bfs", "components", "scan"}),
        ("networkx-backend", [], {"NetworkX", "graph"}),
        ("frames", ["--graphs", "rmat6-8", "--only", "pagerank,bfs,similarity,scan"],
         {"pagerank", "bfs", "similarity", "scan"}),
        ("frames-structure", ["--graphs", "rmat6-8"], {"core_number", "strong components"}),
    ],
)  # fmt: skip
def test_suites_record_correct_answers(name, options, tables, tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    if name == "networkx-backend":
        pytest.importorskip("networkx")
    rows = run.run([name, *QUICK, *options, "--output", str(path)])
    assert {row["table"] for row in rows} >= tables
    assert records.read(path) == rows and path.with_suffix(".md").read_text()
    checked = [row for row in rows if "check" in row]
    assert checked and all(row["check"] == "ok" for row in checked)
    assert harness.exit_status(rows) == 0
    assert "## " in capsys.readouterr().out


def test_transfers_count_beside_serial_scan():
    case = next(TASKS["scan"].cases(load("rmat6u")))
    [entry] = gpuscan.library.entries
    expected, _ = TASKS["scan"].reference(case)
    assert TASKS["scan"].compare(entry.prepare(case)(), expected, "double") is None
    row = {"table": "scan", "graph": "ca-GrQc", "gives": gpuscan.BOTH}
    rows = [
        row | {"implementation": name, "run_ms": {"median": ms}}
        for name, ms in (("algorithm 1", 8.0), ("auto", 2.0), (gpuscan.TRANSFERS, 4.0))
    ]
    claims = {row["claim"][:16]: row["here"] for row in records.claim_rows(gpuscan.CLAIMS, rows)}
    assert claims == {"GPUSCAN, table 3": "4 times", "GPUSCAN, table 5": "2 times"}


def test_wrong_lists_are_found(monkeypatch):
    run_list = layers.run_list

    def wrong(*arguments, algorithm, **options):
        answer = run_list(*arguments, algorithm=algorithm, **options)
        return answer.assign(distance=answer["distance"] + 1) if algorithm == "bfs" else answer

    monkeypatch.setattr(layers, "run_list", wrong)
    rows = run.run(["layers", *QUICK, "--only", "streamed", "--graphs", "rmat8"])
    for task, is_wrong in (("streamed bfs", True), ("streamed sssp", False)):
        of_task = [row for row in rows if row["table"] == task]
        assert [row["implementation"] for row in of_task] == ["in memory", "streamed"]
        for row in of_task:
            assert row["check"].startswith("wrong") is is_wrong
            assert ("run_ms" in row) is not is_wrong


def test_processes_have_a_limit():
    """The test runs in the process, too, which returns its result or raises its error."""
    setup = partial(resource.setrlimit, resource.RLIMIT_DATA, (2**30, 2**30))
    assert memory.call_in_process(np.ones, 10, setup=setup).sum() == 10
    with pytest.raises(MemoryError):
        memory.call_in_process(np.ones, 2**28, setup=setup)


@pytest.mark.parametrize(
    "variant", [wolfpath.ONE_LAUNCH, wolfpath.PER_LAYER, wolfpath.FLAG_PER_LAYER]
)
def test_searches_by_layers_find_the_distances(variant, monkeypatch):
    def launch(start_level, stop_level, starts, sources, destinations, distances, changed, _):
        for level in range(start_level, stop_level):
            edges = slice(starts[level], starts[level + 1])
            ends = destinations[edges][distances[sources[edges]] == level]
            new = ends[distances[ends] == -1]
            distances[new], changed[level] = level + 1, new.size > 0
            if not new.size:
                break

    monkeypatch.setattr(wolfpath, "cuda_launcher", lambda cooperative: launch)
    case = load("rmat6")
    [entry] = [entry for entry in wolfpath.library.entries if entry.implementation == variant]
    expected, _ = TASKS["bfs"].reference(case)
    for _ in range(2):
        assert TASKS["bfs"].compare(entry.prepare(case)(), expected, "double") is None


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_compile(architecture):
    source, options = wolfpath.cuda_source()
    accepted, log = compile_cuda(source, f"--gpu-architecture={architecture}", *options)
    assert accepted, log


# Memory and growth


def test_peaks_count_what_is_freed():
    peak, size = memory.measure_peak(lambda: np.ones(2**24).sum())
    assert peak is None or 0.9 * 2**27 <= peak < 2**28
    assert size == 2**24


@pytest.mark.parametrize("power", [0.5, 1, 1.37])
def test_exponents_are_powers(power):
    edges = [10**4, 10**5, 10**6, 10**7]
    values = [3 * count**power for count in edges]
    assert scaling.fit_exponent(edges, values) == pytest.approx(power, abs=1e-3)
    assert scaling.fit_exponent([1], [5.0]) is None


def test_a_used_up_budget_stops_tasks():
    rows = run.run(["scaling", *QUICK, "--only", "bfs", "--budget", "0.000001"])
    assert {row["graph"] for row in rows if row["table"] == "bfs"} == {"rmat6"}
    assert rows[-1]["note"] == "bfs ends at rmat6: the budget is used up"


# Processes and clusters


def test_first_calls(monkeypatch, tmp_path):
    times = startup.measure("pagerank", "cpu")
    assert set(times) >= {"dependencies_s", "import_s", "first_s", "first_cpu_s", "second_s"}
    for measured, status in (({"first_s": 4.5}, 0), ({"check": "failed: no GPU"}, 3)):
        monkeypatch.setattr(startup, "measure_in_process", lambda *_, m=measured: dict(m))
        path = tmp_path / "startup.jsonl"
        assert run.main(["startup", *QUICK, "--only", "bfs", "--output", str(path)]) == status
        assert [row["cache"] for row in records.read(path)[1:]] == ["empty", "full"]


@pytest.mark.usefixtures("forked_workers")
def test_dask_frames_beside_one_graph(tmp_path):
    options = ["--workers", "2", "--only", "pagerank,scan,streamed"]
    rows = run.run(["cluster", *QUICK, *options, "--output", str(tmp_path / "a.jsonl")])
    calls = [row for row in rows if row["table"] == "cluster"]
    assert [row["algorithm"] for row in calls] == ["build", "pagerank"] * 2 + ["build", "scan"]
    streamed = [row for row in rows if row["table"] == "cluster streamed"]
    assert [row["algorithm"] for row in streamed] == ["bfs", "sssp", "pagerank"]
    for row in [*calls, *streamed]:
        assert row["check"] == "ok" and row["run_ms"]["median"] > 0, row
    assert all(row["list_by_limits"] > 1 for row in streamed)


def test_files_have_the_rows(tmp_path):
    workload = with_weights(load("rmat7-8", clean=False))
    files = workload.write(tmp_path / "rows")
    frame = cluster.read_frame(files, on_gpu=False).compute().reset_index(drop=True)
    pandas.testing.assert_frame_equal(frame, workload.frame)
    assert len(frame) == 8 << 7


def test_log_normal_weights():
    workload = with_weights(load("rmat8w"))
    logarithms = np.log(workload.weight)
    assert abs(logarithms.mean()) < 0.5
    assert abs(logarithms.std() - 8) < 0.5


# cuGraph and compute-sanitizer, which need a GPU


@pytest.mark.gpu
@pytest.mark.skipif(not importlib.util.find_spec("pylibcugraph"), reason="cuGraph is missing")
def test_beside_cugraph_on_a_small_graph(tmp_path):
    """In a process of its own, in which cuGraph is imported before CuPy."""
    output = tmp_path / "records.jsonl"
    options = ["--device", "gpu", "--graphs", "rmat10-8", "--only", ",".join(TASKS)]
    command = [sys.executable, run.__file__, "scaling", *options, "--output", output]
    subprocess.run(command, check=True, timeout=300)
    rows = [row for row in records.read(output) if "check" in row]
    assert {row["table"] for row in rows if row["library"] == "cuGraph"} >= {"bfs", "pagerank"}
    assert {row["check"] for row in rows} == {"ok"}


def test_sanitizer_needs_marked_tests(tmp_path):
    (tmp_path / "test_a.py").write_text("def test_a(): ...")
    with pytest.raises(ValueError, match="no test of .* has the mark `sanitizer`"):
        next(sanitizer.measure("memcheck", tmp_path))


def test_sanitizer_reads_the_summaries():
    output = "{} passed in 2.1s\nkernels not launched: {}\n========= ERROR SUMMARY: 0 errors\n"
    runs = [(0, output.format(3, "a.b, c.d, e.f")), (0, output.format(4, "c.d, g.h"))]
    record = sanitizer.summarize("memcheck", runs)
    assert record["check"] == "ok" and record["tests"] == 7
    assert record["not_launched"] == "c.d" and record["summary"] == "0 errors"
    everything = sanitizer.summarize("memcheck", [*runs, (0, output.format(1, "none"))])
    assert everything["not_launched"] == "none"
    for failed in ((99, runs[0][1]), (0, "no such tool")):
        assert sanitizer.summarize("memcheck", [*runs, failed])["check"].startswith("failed")
