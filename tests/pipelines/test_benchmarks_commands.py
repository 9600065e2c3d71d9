"""The commands of the benchmarks on tiny graphs: their records, checks and claims."""

import importlib.util
import re
import subprocess
import sys

import numpy as np
import pandas
import pytest
from conftest import build_storage
from test_kernels import ARCHITECTURES, compile_cuda

import rapidsgraph as rg
from pipelines.benchmarks import (
    cluster,
    dask_shards,
    frames,
    gpuscan,
    harness,
    kim,
    layers,
    limited,
    memory,
    memory_estimates,
    networkx_backend,
    records,
    reddy,
    sanitizer_workload,
    scaling,
    startup,
    wolfpath,
)
from pipelines.benchmarks.answers import compare_pagerank, result_arrays
from pipelines.benchmarks.graphs import load
from pipelines.benchmarks.tasks import TASKS, pagerank_after
from rapidsgraph.kernels.constants import NO_VERTEX

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

QUICK = ["--device", "cpu", "--quick"]
TIME = {"median": 2.0, "low": 1.0, "high": 3.0, "repeats": 3}


@pytest.mark.parametrize(
    ("command", "options", "tables"),
    [
        (kim, ["--graphs", "2M-sparse,karate"], {"Kim", "Kim runs", "claim"}),
        (reddy, ["--graphs", "rmat8"], {"Reddy", "claim"}),
        (gpuscan, ["--graphs", "rmat10u-3"], {"papers", "claim"}),
        (layers, ["--only", "build,iterations,flag,streamed", "--graphs", "rmat8"],
         {"layered build", "iterations", "flag", "streamed", "claim"}),
        (layers, ["--only", "large"], {"large"}),
        (scaling, ["--graphs", "rmat6,rmat7"], {"pagerank", "bfs", "build", "slope"}),
        (networkx_backend, [], {"NetworkX", "graph"}),
    ],
    ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2] or None,
)  # fmt: skip
def test_commands_record_correct_answers(command, options, tables, tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    if command is networkx_backend:
        pytest.importorskip("networkx")
    rows = command.main([*QUICK, *options, "--output", str(path)])
    assert {row["table"] for row in rows} >= tables
    assert records.read(path) == rows and path.with_suffix(".md").read_text()
    checked = [row for row in rows if "check" in row]
    assert checked and all(row["check"] == "ok" for row in checked)
    assert harness.exit_status(rows) == 0
    assert "## " in capsys.readouterr().out


def test_wrong_layers_and_lists_are_found(monkeypatch):
    call = layers.CALLS["bfs"]

    def wrong(graph, *arguments, **options):
        answer = call(graph, *arguments, **options)
        is_list = isinstance(graph, rg.LayeredEdgeList)
        return answer.assign(distance=answer["distance"] + 1) if is_list else answer

    monkeypatch.setitem(layers.CALLS, "bfs", wrong)
    rows = layers.main([*QUICK, "--only", "iterations", "--graphs", "rmat8"])
    checks = {row["algorithm"]: row for row in rows if row.get("who") == "here"}
    assert checks["bfs"]["check"].startswith("wrong") and "run_ms" not in checks["bfs"]
    assert checks["sssp"]["check"] == "ok"


def test_results_of_a_file_are_checked(tmp_path):
    path = tmp_path / "a.parquet"
    vertices, rows = layers.write_file("rmat6-8", path, np)
    assert (vertices, rows) == (64, 512)
    reference = layers.FileReference(path, vertices, np)
    edges = pandas.read_parquet(path)
    graph = rg.Graph(edges, multi_edges="keep")
    bfs = rg.bfs(graph, reference.root)
    assert reference.check_bfs(bfs) is None
    for column in ("distance", "predecessor"):
        assert reference.check_bfs(bfs.assign(**{column: bfs[column] + 1})).startswith("wrong")
    pagerank = rg.pagerank(graph, tolerance=0, max_iterations=2, progress=False)
    assert reference.check_pagerank(pagerank, 2) is None
    assert reference.check_pagerank(pagerank, 3).startswith("wrong")


def test_steps_run_in_limited_processes(tmp_path):
    path, store = tmp_path / "a.parquet", tmp_path / "store"
    layers.write_file("uniform8-16", path, np)
    root = layers.FileReference(path, 256, np).root
    row, _ = limited.run_step(2**31, "build", path, store, root, 2**28)
    assert row["run_ms"]["median"] > 0 and row["resident_bytes"] > 2**24, row
    row, answer = limited.run_step(2**31, "bfs", store, 2**26, 1)
    assert row["passes"] >= 1 and answer["distance"].min() == 0
    row, answer = limited.run_step(2**31, "bfs", tmp_path / "nothing", 2**26, 1)
    assert row["check"].startswith("failed: status 1") and answer is None


# BFS with a flag on the host, and Reddy's kernels


@pytest.mark.parametrize(
    "variant", [wolfpath.ONE_LAUNCH, wolfpath.PER_LAYER, wolfpath.FLAG_PER_LAYER]
)
def test_searches_by_layers_find_the_distances(variant):
    graph = load("rmat6").build()
    distances = result_arrays(rg.bfs(graph, 5), np)["distance"].astype(np.int32)
    edges = wolfpath.split_into_layers(graph, distances)
    reset, run, found = wolfpath.prepare_search(np, edges, 5, graph.num_vertices, variant)
    for _ in range(2):
        reset()
        assert run() in (1, edges[0].size - 1)
        np.testing.assert_array_equal(found, distances)


def test_chunks_have_each_vertex_once(monkeypatch):
    monkeypatch.setattr(wolfpath, "CHUNK_EDGES", 8)
    graph = load("rmat6").build()
    distances = result_arrays(rg.bfs(graph, 5), np)["distance"].astype(np.int32)
    edges = wolfpath.split_into_layers(graph, distances)
    layer_chunks, starts, first, vertices, _, local = wolfpath.chunk_arguments(np, edges)
    assert layer_chunks[-1] == starts.size - 1 and (np.diff(starts) <= 8).all()
    for chunk in range(starts.size - 1):
        own = vertices[first[chunk] : first[chunk + 1]]
        assert np.unique(own).size == own.size
        arcs = slice(starts[chunk], starts[chunk + 1])
        np.testing.assert_array_equal(own[local[arcs]], edges[2][arcs])


def kernel_parameters(path, entry):
    text = re.sub(r"//[^\n]*", "", path.read_text())
    found = re.search(rf"\b{entry}\(([^)]*)\)", text, re.S)[1]
    return [re.findall(r"\w+", parameter)[-1] for parameter in found.split(",")]


def test_twin_has_the_parameters_of_its_kernel():
    code = wolfpath.search.py_func.__code__
    assert kernel_parameters(wolfpath.SOURCE, "search") == list(
        code.co_varnames[: code.co_argcount]
    )


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_compile(architecture):
    source = wolfpath.cuda_source()
    options = f"--gpu-architecture={architecture}", *wolfpath.compile_options(source)
    accepted, log = compile_cuda(source, *options)
    assert accepted, log
    source = wolfpath.SOURCE.with_name("reddy.cu").read_text()
    for options in ((), ("-DCHILD_KERNELS", "-dc")):
        accepted, log = compile_cuda(source, f"--gpu-architecture={architecture}", *options)
        assert accepted, log


@pytest.mark.parametrize("max_inline", [None, 0])
def test_sums_are_called_with_the_parameters_of_the_kernel(max_inline):
    """A kernel on NumPy that reads its arguments by the names in the source."""
    entry = "sum_in_blocks" if max_inline is None else "sum_in_children"
    names = kernel_parameters(wolfpath.SOURCE.with_name("reddy.cu"), entry)
    workload = load("rmat6")

    def kernel(blocks, threads, arguments):
        assert len(arguments) == len(names)
        arrays = [value for value in arguments if isinstance(value, np.ndarray)]
        offsets, neighbors, out_weights, now, following, values = arrays[:6]
        damping, teleport = (v for v in arguments if isinstance(v, np.float64))
        sums = np.add.reduceat(np.append(now[neighbors], 0), offsets[:-1])
        sums[np.diff(offsets) == 0] = 0
        values[:] = teleport + damping * sums
        following[:] = values / out_weights

    run = reddy.prepare_sums(max_inline, workload, kernel)
    expected = pagerank_after(workload, 3, dangling=False)
    assert compare_pagerank(run(3), expected, 1e-4) is None


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
    rows = scaling.main([*QUICK, "--only", "bfs", "--budget", "0.000001"])
    assert [row["table"] for row in rows] == ["run", "note"]


def test_estimates_are_measured_in_processes(tmp_path):
    path = tmp_path / "a.jsonl"
    memory_estimates.main(["--only", "bfs ids R-MAT", "--rows", "20000", "--output", str(path)])
    if memory.STATUS.exists():
        rows = memory_estimates.measure(next(iter(memory_estimates.cases())), 20_000)
        assert {"peak_mb", "estimate_mb", "peak_by_estimate", "check"} <= set(rows)


# Processes and clusters


def test_first_calls(monkeypatch, tmp_path):
    times = startup.measure("pagerank", "cpu")
    assert list(times) == ["dependencies_s", "import_s", "first_s", "first_cpu_s", "second_s"]
    for measured, status, checks in (
        ({"first_s": 4.5}, 0, ["above 4 s", "ok"]),
        ({"check": "failed: no GPU"}, 3, ["failed: no GPU"] * 2),
    ):
        monkeypatch.setattr(startup, "measure_in_process", lambda *_, m=measured: dict(m))
        path = tmp_path / "startup.jsonl"
        assert startup.main(["--only", "bfs", "--output", str(path)]) == status
        assert [row["check"] for row in records.read(path)[1:]] == checks


@pytest.mark.parametrize("engine", ["pandas", *frames.QUERY_ENGINES])
def test_frame_forms_and_queries_agree(engine, tmp_path):
    pytest.importorskip(engine)
    for algorithm in frames.QUERIES:
        path = tmp_path / algorithm
        frames.measure(algorithm, "pandas", "kernels", 6, 4, path)
        row = frames.measure(algorithm, engine, "frames", 6, 4, path)
        assert row["check"] == "ok" and row["ms"]["median"] > 0
    expected = pandas.read_parquet(path)
    wrong = expected.assign(distance=expected["distance"] + 1)
    assert frames.compare(wrong, expected).startswith("wrong")


def test_a_failing_process_is_a_check(tmp_path):
    row = frames.run_process("bfs", "nothing", "frames", 6, 4, tmp_path / "a")
    assert row["check"].startswith("failed")


def test_dask_frames_beside_one_graph(tmp_path):
    options = ["--scale", "7", "--workers", "2", "--output", str(tmp_path / "a.jsonl")]
    rows = cluster.main([*QUICK, *options, "--only", "pagerank,components,scan,streamed"])
    own = [row for row in rows if row["table"] == "cluster"]
    assert [row["algorithm"] for row in own] == ["build", "pagerank", "components", "build", "scan"]
    streamed = [row for row in rows if row["table"] == "cluster streamed"]
    assert [row["algorithm"] for row in streamed] == ["bfs", "sssp", "pagerank"]
    for row in [*own, *streamed]:
        assert row["check"] == "ok" and row["run_ms"]["median"] > 0, row
    assert all(row["list_by_limits"] > 1 for row in streamed)


def test_wrong_partitions_are_counted(tmp_path):
    rows = dask_shards.SharedRows("rmat", 7, 8, 4)
    reference = dask_shards.Reference(rows)
    reference.write("bfs", tmp_path)
    result = dask_shards.calls(reference.start)["bfs"](reference.graph)
    assert dask_shards.compare_partition(result, tmp_path, "bfs") == (len(result), 0)
    wrong = result.assign(distance=result["distance"] + 1)
    assert dask_shards.compare_partition(wrong.iloc[5:], tmp_path, "bfs")[1] > 0
    halves = [rows.half().whole(), rows.whole().iloc[: rows.num_rows // 2]]
    pandas.testing.assert_frame_equal(*halves)


def test_scaling_compares_workers():
    row = {"table": "cluster", "graph": "g", "algorithm": "bfs", "run_ms": TIME}
    half = row | {"graph": "g, 4 of 8 shards", "workers": 1}
    rows = [row | {"workers": 1}, half, row | {"workers": 2, "run_ms": TIME | {"median": 1.0}}]
    found = {each["scaling"]: each["speedup"] for each in cluster.scaling_rows(rows)}
    assert found == {"strong": 2.0, "weak": 2.0}


# cuGraph and compute-sanitizer, which need a GPU


@pytest.mark.gpu
@pytest.mark.skipif(not importlib.util.find_spec("pylibcugraph"), reason="cuGraph is missing")
def test_beside_cugraph_on_a_small_graph(tmp_path):
    """In a process of its own, in which cuGraph is imported before CuPy."""
    output = tmp_path / "records.jsonl"
    options = ["--device", "gpu", "--graphs", "rmat10-8", "--only", ",".join(TASKS)]
    command = [sys.executable, scaling.__file__, *options, "--output", output]
    subprocess.run(command, check=True, timeout=300)
    rows = [row for row in records.read(output) if "check" in row]
    assert {row["table"] for row in rows if row["library"] == "cuGraph"} >= {"bfs", "pagerank"}
    assert {row["check"] for row in rows} == {"ok"}


@pytest.mark.parametrize("weight", [None, "weight"])
def test_sanitizer_searches_lists_and_partitions(weight):
    columns, (start, *_) = sanitizer_workload.search_inputs()["no weight"]
    how = {"root": start, "weight": weight, "directed": True}
    found = sanitizer_workload.layered_results(columns, **how)
    graph = build_storage(columns, weight=weight, multi_edges="min")
    for name, values in result_arrays(rg.bfs(graph, start), np).items():
        for list_name in ("built", "stored"):
            np.testing.assert_array_equal(found[f"{list_name} bfs {name}"], values)
    columns, (start, *_) = sanitizer_workload.search_inputs()["hub"]
    for layout in ("csr", "csc"):
        found = sanitizer_workload.search_in_supersteps(columns, start, weight, layout)
        expected = rg.sssp(build_storage(columns, weight=weight, multi_edges="min"), start)
        np.testing.assert_array_equal(found["distance"], expected["distance"])
        has_predecessor = found["predecessor"] < NO_VERTEX
        np.testing.assert_array_equal(has_predecessor, expected["predecessor"] >= 0)


def test_sanitizer_peels_and_compares_pairs():
    for columns in sanitizer_workload.clustering_inputs().values():
        found = sanitizer_workload.peel_in_rounds(columns)
        np.testing.assert_array_equal(found["core"], rg.core_number(columns)["core"])
        result = sanitizer_workload.compare_pairs(columns, "jaccard")
        assert len(result["jaccard"]) == min(5000, len(columns["source"]))
