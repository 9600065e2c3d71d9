"""The benchmark of layered edge lists checks what it times; no speed is asserted."""

from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from conftest import build_storage
from test_benchmarks import TIME

import rapidsgraph as rg
from pipelines.benchmarks import (
    layered_in_memory,
    layered_out_of_core,
    layered_streaming,
    layers,
    limited_step,
    memory_cgroup,
    records,
    sanitizer_workload,
    wolfpath,
    wolfpath_claims,
)
from pipelines.benchmarks.answers import compare_results, result_arrays
from pipelines.benchmarks.graphs import GraphUnavailableError, load, with_weights
from pipelines.benchmarks.harness import QUICK
from pipelines.benchmarks.timing import Clock
from rapidsgraph import device
from rapidsgraph.dispatch import storage_of
from rapidsgraph.kernels.constants import NO_VERTEX
from rapidsgraph.layered import streaming
from rapidsgraph.layered.outofcore.file_array import OVERHEAD_BYTES
from rapidsgraph.layered.packing import COLUMN

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

SESSION = SimpleNamespace(clock=Clock(), xp=np, data=None, notes=[], peers=lambda registry: [])
TINY = "uniform6-8"
BUILD_LIMIT = OVERHEAD_BYTES + 2**24
quiet = lambda text: None  # noqa: E731


def iterations(name):
    return list(layered_in_memory.measure_iterations(load(name), SESSION, QUICK, quiet))


def built(name, folder):
    return list(layered_in_memory.measure_builds(load(name), SESSION, QUICK, folder, quiet))


def streamed(name=TINY, **options):
    return list(layered_streaming.measure(load(name), Clock(), QUICK, **options))


def changed(call, column, change=lambda values: values + 1):
    """What `call` gives of a layered edge list, with a column changed."""

    def run(graph, *arguments, **options):
        answer = call(graph, *arguments, **options)
        if isinstance(graph, rg.LayeredEdgeList):
            answer = answer.assign(**{column: change(answer[column])})
        return answer

    return run


# In memory


def test_iterations_count_launches_and_passes():
    bfs, sssp = iterations("grid8")
    truth = rg.LayeredEdgeList.build(load("grid8").graph, load("grid8").start)
    assert [row["algorithm"] for row in (bfs, sssp)] == ["bfs", "sssp"]
    assert bfs["check"] == sssp["check"] == "ok"
    assert bfs["layers"] == sssp["layers"] == truth.depth + 1 > 5
    assert (bfs["launches"], bfs["passes"], bfs["combined"]) == (1, 1, 1)
    assert sssp["launches"] > sssp["passes"] >= 2 and sssp["sweep_rounds"] >= 1
    assert bfs["run_ms"]["repeats"] >= 1 and bfs["graph_run_ms"]["repeats"] >= 1
    assert "flag_ms" not in bfs  # a CPU has none


def test_launches_are_counted_only_meanwhile():
    honest = device.launch
    with pytest.raises(ZeroDivisionError), layered_in_memory.record_launches():
        assert device.launch is not honest
        raise ZeroDivisionError
    assert device.launch is honest


@pytest.mark.parametrize("column", ["distance", "predecessor"])
def test_wrong_searches_are_flagged_and_not_timed(monkeypatch, column):
    honest = layered_streaming.CALLS["bfs"]
    monkeypatch.setitem(layered_streaming.CALLS, "bfs", changed(honest, column))
    bfs, sssp = iterations("rmat6")
    assert bfs["check"].startswith("wrong: ") and bfs["check"].endswith(f" values of {column}")
    assert "run_ms" not in bfs and sssp["check"] == "ok"
    rows = streamed()
    assert {row["algorithm"] for row in rows if row["check"] != "ok"} == {"bfs"}
    assert all(("run_ms" in row) == (row["check"] == "ok") for row in rows)


def test_sizes_are_counted_by_hand():
    layered = rg.LayeredEdgeList.build(load("rmat6").graph, load("rmat6").start)
    found = layered_in_memory.space_per_edge(layered)
    edges, vertices = layered.num_edges, layered.num_vertices
    csr = 4 * edges + 8 * (vertices + 1)
    own = layered.nbytes + 4 * vertices + 8 * (16 + 3 * (layered.depth + 1) + 1)
    assert found["csr_per_edge"] == pytest.approx(csr / edges, rel=1e-3)
    assert found["layered_per_edge"] == pytest.approx(own / edges, rel=1e-3)
    assert found["by_csr"] == pytest.approx(own / csr, rel=1e-3)
    assert found["cusha_per_edge"] == pytest.approx(2.81 * csr / edges, rel=1e-3)
    weighted = with_weights(load("rmat6"))
    layered = rg.LayeredEdgeList.build(weighted.graph, weighted.start)
    found = layered_in_memory.space_per_edge(layered)  # those of single precision stay so
    assert found["csr_per_edge"] == pytest.approx((csr + 4 * edges) / edges, rel=1e-3)


def test_builds_are_compared_with_each_other(tmp_path, monkeypatch):
    rows = built("grid8", tmp_path)
    assert [row["weighted"] for row in rows] == [False, True]
    for row in rows:
        times = ("graph_ms", "build_ms", "save_ms", "open_ms", "whole_ms", "external_ms")
        assert row["check"] == "ok" and all(row[name]["repeats"] >= 1 for name in times)
    assert list(tmp_path.iterdir()) == []  # files and stores are gone
    honest = layered_in_memory.open_store

    def without_an_edge(folder, xp):
        layered = honest(folder, xp)
        if folder.name == "external":
            storage = storage_of(layered)
            storage.layer_edges = storage.layer_edges - np.eye(*storage.layer_edges.shape, k=0)
        return layered

    monkeypatch.setattr(layered_in_memory, "open_store", without_an_edge)
    for row in built("grid8", tmp_path):
        assert row["check"] == "wrong: edges of the layers"
        assert not any(name.endswith("_ms") for name in row)


# Streamed


def test_stores_run_within_their_limits():
    rows = streamed("uniform9-32", copy_rate=lambda nbytes: 1e9)
    ways = [(row["algorithm"], row["how"]) for row in rows]
    assert ways == [
        (algorithm, how)
        for algorithm in ("bfs", "pagerank", "sssp")
        for how in ("in memory", "mapped")
    ]
    for row in rows:
        assert row["check"] == "ok" and row["run_ms"]["repeats"] >= 1
        assert row["weighted"] == (row["algorithm"] == "sssp")
        if row["how"] == "mapped":
            assert row["limit_bytes"] < row["list_bytes"] + row["vertices"] * 64
            taken = row["run_ms"]["median"] / 1e3
            assert row["copied"] == row["bytes"]
            assert row["share"] == pytest.approx(row["bytes"] / taken / 1e9, rel=0.01)
            assert row["by_floor"] == pytest.approx(taken * 1e9 / row["bytes"], rel=0.01)
        else:
            assert row["limit_bytes"] is None and "share" not in row
    ranks = [row for row in rows if row["algorithm"] == "pagerank"]
    for row in ranks:
        assert row["passes"] == layered_streaming.ITERATIONS
        assert row["bytes"] == layered_streaming.ITERATIONS * row["list_bytes"]
        assert row["iteration_ms"]["median"] == pytest.approx(
            row["run_ms"]["median"] / 10, rel=0.01
        )


def test_limits_are_a_tenth_or_the_least_there_can_be():
    workload = load("uniform9-32")
    layered = rg.LayeredEdgeList.build(workload.graph, workload.start, partition_bytes=2**11)
    assert len(storage_of(layered).table) > 30
    assert layered_streaming.memory_limit(layered, "bfs") == 64 * 512 + layered.nbytes // 10
    layered = rg.LayeredEdgeList.build(workload.graph, workload.start)
    assert layered_streaming.memory_limit(layered, "pagerank") == 96 * 512 + 3 * layered.nbytes


def test_trouble_with_one_run_does_not_end_the_others(monkeypatch):
    monkeypatch.setattr(layered_streaming, "memory_limit", lambda layered, algorithm: 10)
    rows = streamed()
    assert [row["check"] for row in rows if row["how"] == "in memory"] == ["ok"] * 3
    failed = [row["check"] for row in rows if row["how"] == "mapped"]
    assert len(failed) == 3 and all(
        text.startswith("failed: InsufficientMemoryError") for text in failed
    )


def test_feeds_are_as_before_afterwards():
    def settings():
        return (
            streaming.MAX_COPY_THREADS,
            streaming.NUM_DEVICE_BUFFERS,
            streaming.GpuStream._copy,
        )

    before = settings()
    with layered_streaming.limit_overlap(1, 1), layered_streaming.record_copies() as copies:
        assert (streaming.MAX_COPY_THREADS, streaming.NUM_DEVICE_BUFFERS) == (1, 1)
        assert streaming.GpuStream._copy is not before[2] and copies == []
    assert settings() == before


def test_copies_are_counted(monkeypatch):
    given = []
    monkeypatch.setattr(streaming.GpuStream, "_copy", lambda self, *rest: given.append(rest))
    with layered_streaming.record_copies() as copies:
        streaming.GpuStream._copy(None, "filling", np.zeros(5, np.uint32))
    assert copies == [20] and given[0][0] == "filling"


def test_pinned_copies_are_timed():
    moved = []
    stream = SimpleNamespace(ptr=7, synchronize=lambda: None)
    runtime = SimpleNamespace(memcpyAsync=lambda *words: moved.append(words))
    cuda = SimpleNamespace(
        alloc_pinned_memory=bytearray, Stream=lambda non_blocking: stream, runtime=runtime
    )
    target = SimpleNamespace(data=SimpleNamespace(ptr=5))
    xp = SimpleNamespace(cuda=cuda, uint8=np.uint8, empty=lambda size, dtype: target)

    def ms(work):
        work()
        return 2.0

    assert (
        layered_streaming.pinned_copy_rate(SimpleNamespace(xp=xp, ms=ms), 1000, 4000) == 4000 / 2e-3
    )
    assert len(moved) == 6 * 4 and {words[2:] for words in moved} == {(1000, 1, 7)}
    assert len({words[1] for words in moved}) == 4  # of different buffers


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"distance": [0, 1, 3]}, "wrong: 1 values of distance"),
        ({"distance": [0, 1, np.inf]}, "wrong: 1 values of distance"),
        ({"vertex": [0, 1, 3]}, "wrong: 1 values of vertex"),
        ({"pagerank": [0.2, 0.3, 0.5 + 1e-8]}, "wrong: 1 values of pagerank"),
        ({"pagerank": [0.2, 0.3, 0.5 + 1e-11]}, None),
        ({"pagerank": [0.2, 0.3, np.nan]}, "wrong: 1 values of pagerank"),
        ({"distance": [0, 1]}, "wrong: 2 rows for 3 vertices"),
        ({}, None),
    ],
)
def test_results_are_compared(change, wrong):
    truth = {"vertex": [0, 1, 2], "distance": [0, 1, 2], "pagerank": [0.2, 0.3, 0.5]}
    assert compare_results(truth | change, truth, np) == wrong
    assert compare_results({"vertex": [0]}, truth, np) == "wrong: columns vertex"


# What a GPU does, as far as that can be seen without one


@pytest.fixture
def stand_in(monkeypatch):
    """A Session whose `xp` is not NumPy and does what NumPy does; lists stay on the CPU."""
    xp = ModuleType("cupy")
    xp.__getattr__ = lambda name: getattr(np, name)
    runtime = SimpleNamespace(memGetInfo=lambda: (2**33, 0))
    machine = SimpleNamespace(synchronize=lambda: None)
    xp.cuda = SimpleNamespace(Device=lambda: machine, runtime=runtime)
    xp.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 0)
    honest = layered_streaming.open_store

    def opened(folder, xp):
        layered = honest(folder, np)
        storage_of(layered).labeling.library = "arrays"
        return layered

    for module in (layered_streaming, layered_out_of_core, memory_cgroup, layered_in_memory):
        monkeypatch.setattr(module, "open_store", opened)
    monkeypatch.setattr(layered_in_memory, "flag_copy_us", lambda clock: 10.0)
    return SimpleNamespace(**vars(SESSION) | {"xp": xp, "clock": Clock(xp)})


def test_on_a_gpu_lists_run_in_three_ways(stand_in):
    workload = load("uniform9-32", stand_in.xp)
    rows = list(
        layered_streaming.measure(workload, stand_in.clock, QUICK, copy_rate=lambda nbytes: 1e9)
    )
    assert [row["how"] for row in rows] == ["resident", "streamed", "one thread, one buffer"] * 3
    assert {row["check"] for row in rows} == {"ok"}
    assert all(("share" in row) == (row["how"] != "resident") for row in rows)
    assert {row["about"] for row in wolfpath_claims.claims(rows, "a GPU")} == {
        "WolfPath's figure 9"
    }


def test_on_a_gpu_iterations_say_what_a_flag_costs(stand_in):
    workload = load("grid8", stand_in.xp)
    bfs, sssp = layered_in_memory.measure_iterations(workload, stand_in, QUICK, quiet)
    assert bfs["check"] == sssp["check"] == "ok"
    assert bfs["flag_us"] == 10 and bfs["flag_ms"] == pytest.approx(bfs["layers"] / 100)


# Larger than memory


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(layered_out_of_core, "CHUNK_ROWS", 2**9)
    made = layered_out_of_core.EdgeFile("rmat6-20", tmp_path)
    made.write(np)
    return made


def of_file(file):
    """(layered edge list, Truth) of a file."""
    limited_step.build(file.path, file.path.with_suffix(".store"), file.root(), BUILD_LIMIT)
    layered = layered_streaming.open_store(file.path.with_suffix(".store"), np)
    return layered, layered_out_of_core.FileReference(file, file.root(), np)


@pytest.mark.parametrize("name", ["rmat6-20", "uniform6-20"])
def test_files_are_written_in_chunks_and_kept(tmp_path, monkeypatch, name):
    monkeypatch.setattr(layered_out_of_core, "CHUNK_ROWS", 2**9)
    file = layered_out_of_core.EdgeFile(name, tmp_path)
    file.write(np)
    chunks = list(file.chunks(np))
    assert len(chunks) == 3 and [each[0].size for each in chunks] == [512, 512, 256]
    for read in (1280, 100):
        rows = [np.concatenate(ends) for ends in zip(*file.read(np, read))]
        assert rows[0].dtype == np.int32
        for end in range(2):
            np.testing.assert_array_equal(rows[end], np.concatenate([c[end] for c in chunks]))
    assert not np.array_equal(chunks[0][0], chunks[1][0]) and file.root() == chunks[0][0][0]
    before = file.path.stat().st_mtime_ns
    file.write(np)
    assert file.path.stat().st_mtime_ns == before
    file.path.write_bytes(file.path.read_bytes())
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.parquet"]


def test_unknown_large_graphs_are_named(tmp_path):
    with pytest.raises(GraphUnavailableError, match="grid9: large graphs are uniform"):
        layered_out_of_core.EdgeFile("grid9", tmp_path)


def test_right_results_of_a_file_pass(file):
    layered, truth = of_file(file)
    assert truth.check_bfs(rg.bfs(layered)) is None
    for iterations in (1, 3):
        assert (
            truth.check_pagerank(limited_step.run_pagerank(layered, 2**24, iterations), iterations)
            is None
        )


@pytest.mark.parametrize(
    ("column", "change", "wrong"),
    [
        ("distance", lambda d: d.where(d != 2, 3), "edges skip a level"),
        ("distance", lambda d: d.where(d != 0, 1), "at distance 0 or not"),
        (
            "distance",
            lambda d: d.where(d != d.max(), d.max() - 1),
            "no edge from the previous level",
        ),
        ("predecessor", lambda p: p.where(p != p.min(), p.min() + 1), " predecessors"),
    ],
)
def test_wrong_searches_of_a_file_are_found(file, column, change, wrong):
    layered, truth = of_file(file)
    answer = rg.bfs(layered)
    said = truth.check_bfs(answer.assign(**{column: change(answer[column])}))
    assert said.startswith("wrong: ") and wrong in said


def test_wrong_ranks_of_a_file_are_found(file):
    layered, truth = of_file(file)
    assert truth.check_bfs(rg.bfs(layered)) is None
    ranks = limited_step.run_pagerank(layered, 2**24, 3)
    scaled = ranks.assign(pagerank=ranks["pagerank"] * 1.1)
    assert truth.check_pagerank(scaled, 3).startswith("wrong: PageRank sums to 1.1")
    transpose = ranks.assign(pagerank=ranks["pagerank"].to_numpy()[::-1])
    assert truth.check_pagerank(transpose, 3).endswith(" values of pagerank")
    assert truth.check_pagerank(ranks, 2).endswith(" values of pagerank")


def test_limits_of_large_graphs_are_exceeded_twenty_times():
    table = np.zeros((2, 16), np.int64)
    table[:, COLUMN["words"]] = 250
    layered = SimpleNamespace(table=table, num_vertices=10, nbytes=200_000)
    assert layered_out_of_core.memory_limit(layered, "bfs", 300_000) == 10_000
    assert layered_out_of_core.memory_limit(layered, "bfs", 100_000) == 5_000
    assert (
        layered_out_of_core.memory_limit(layered, "pagerank", 1000) == 10 * 96 + 3000
    )  # the least there can be


def test_large_graphs_run_here(tmp_path):
    build, bfs, ranks = layered_out_of_core.measure("uniform8-32", SESSION, tmp_path, rate=1e9)
    assert [row["algorithm"] for row in (build, bfs, ranks)] == ["build", "bfs", "pagerank"]
    assert [row["check"] for row in (build, bfs, ranks)] == ["ok"] * 3
    assert build["edges"] == 2**13 and build["file_bytes"] > 2**16
    assert bfs["csr_bytes"] == 4 * 2**13 + 8 * 256 and bfs["passes"] == 1
    assert ranks["passes"] == 3 and ranks["bytes"] == 3 * ranks["list_bytes"]
    assert bfs["share"] > 0 and ranks["by_floor"] > 0


def test_large_graphs_that_are_wrong_have_no_time(tmp_path, monkeypatch):
    monkeypatch.setattr(rg, "bfs", changed(rg.bfs, "distance"))
    build, bfs, ranks = layered_out_of_core.measure("uniform8-32", SESSION, tmp_path)
    assert bfs["check"].startswith("wrong: ") and "run_ms" not in bfs
    assert (build["check"], ranks["check"]) == ("ok", "ok")


def test_processes_are_limited(tmp_path):
    found = list(
        layered_out_of_core.measure("uniform8-32", SESSION, tmp_path, (2**31, 2**22), iterations=1)
    )
    assert [row["check"] for row in found] == ["ok"] * 3
    for row in found:
        assert row["process_bytes"] == 2**31 and row["resident_bytes"] > 2**24
        assert row["read_bytes"] >= 0 and row["how"] == "limited"
        assert row["limited_by"] == "RLIMIT_DATA" or row["peak_bytes"] < 2**31


def test_processes_that_fail_say_why(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_cgroup, "CGROUPS", ())
    (row,) = layered_out_of_core.measure(
        "uniform8-32", SESSION, tmp_path, (2**31, 1000), iterations=1
    )
    assert (
        row["check"].startswith("failed: exit status 1: ")
        and "InsufficientMemoryError" in row["check"]
    )
    assert "run_ms" not in row and row["limited_by"] == "RLIMIT_DATA"


def test_files_are_forgotten(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(memory_cgroup.os, "posix_fadvise", lambda *words: told.append(words[1:]))
    (tmp_path / "a").write_text("some")
    memory_cgroup.drop_page_cache(tmp_path / "a")
    memory_cgroup.drop_page_cache(tmp_path)
    memory_cgroup.drop_page_cache(tmp_path / "b")  # there is none
    assert told == [(0, 0, memory_cgroup.os.POSIX_FADV_DONTNEED)] * 2


def test_where_no_control_group_can_be_made_there_is_none(tmp_path, monkeypatch):
    files = ("shown", "limit", "peak")
    groups = [memory_cgroup.CgroupFiles(path, *files) for path in (tmp_path / "none", tmp_path)]
    monkeypatch.setattr(memory_cgroup, "CGROUPS", groups)
    with memory_cgroup.memory_group(1000) as found:
        assert found == (None, None)
    (tmp_path / "shown").touch()
    (tmp_path / f"rapidsgraph-{memory_cgroup.os.getpid()}").touch()
    with memory_cgroup.memory_group(1000) as found:
        assert found == (None, None)


# WolfPath's tables


def test_figures_of_the_paper():
    rows = wolfpath.paper_rows(layers.TASKS)
    assert len(rows) == 2 * 4 + 2 + 4 + 2 * 2 * 4 + 2 * 4 + 7
    assert all(row["of_paper"] and row["edges"] > 10**6 for row in rows)
    road = [row for row in rows if row["graph"] == "RoadNet-CA"]
    assert [row["run_ms"] for row in road if row["who"] == "WolfPath, table 5"] == [8.1, 8.71]
    (orkut,) = [
        row for row in rows
        if (row["graph"], row.get("algorithm")) == ("orkut", "bfs")
    ]  # fmt: skip
    assert orkut["layers"] == 7 and orkut["edges_per_us"] == 5859
    (live,) = [row for row in rows if row["table"] == "preprocessing" and "Live" in row["graph"]]
    assert live["seconds"] == 14.68 and live["ns_per_edge"] == 212.8
    assert {row["table"] for row in wolfpath.paper_rows(["build"])} == {"preprocessing"}
    flags = [row for row in rows if row["table"] == "flag" and row["graph"] == "LiveJournal"]
    assert [(row["layers"], row["run_ms"]) for row in flags[:2]] == [(9, 70.96), (14, 0.076)]
    assert [row["run_ms"] for row in flags[2:]] == [71, 48]


def time_of(median):
    return TIME | {"median": median}


FLAG_ROW = {"table": "flag", "graph": "g", "edges": 10, "layers": 1000, "check": "ok"}
OURS = {
    "iterations": {
        "table": "iterations", "graph": "g", "algorithm": "bfs", "layers": 1000, "launches": 1,
        "run_ms": time_of(2.0), "flag_us": 12.0, "edges": 10, "check": "ok",
    },
    "one": FLAG_ROW | {"how": wolfpath.ONE_LAUNCH, "run_ms": time_of(2.5), "by_one": 1.0},
    "launches": FLAG_ROW
    | {"how": wolfpath.LAUNCH_PER_LAYER, "run_ms": time_of(5.0), "by_one": 2.0},
    "flag": FLAG_ROW | {"how": wolfpath.FLAG_PER_LAYER, "run_ms": time_of(30.0), "by_one": 12.0},
    "shared": FLAG_ROW | {"how": wolfpath.SHARED_MEMORY, "run_ms": time_of(2.4), "by_one": 0.96},
    "bfs": {
        "table": "bfs", "graph": "g", "library": "cuGraph", "run_ms": time_of(50.0), "ratio": 25.0,
        "check": "ok",
    },
    "streamed": {
        "table": "streamed", "graph": "g", "algorithm": "bfs", "how": "streamed", "edges": 10**9,
        "layers": 4, "passes": 1, "run_ms": time_of(100.0), "check": "ok",
    },
    "build": {
        "table": "layered build", "graph": "g", "edges": 10**6, "by_csr": 0.7,
        "whole_ms": time_of(100.0), "external_ms": time_of(400.0), "check": "ok",
    },
}  # fmt: skip


def claims(*rows):
    rows = [*rows, *wolfpath.derived_rows(rows)]
    found = wolfpath_claims.claims(rows, "a GPU")
    return {row["about"].removeprefix("WolfPath's "): row for row in found}


@pytest.mark.parametrize(
    ("about", "kind", "change"),
    [
        ("table 2", "flag", {"by_one": 0.99}),
        ("table 3", "iterations", {"flag_us": 1.9}),
        ("figure 9, shared memory", "shared", {"run_ms": time_of(2.6)}),
        ("table 5", "bfs", {"run_ms": time_of(1.9)}),
        ("table 6", "streamed", {"run_ms": time_of(1000.0)}),
        ("figure 8", "build", {"by_csr": 1.4}),
    ],
)
def test_claims_that_do_not_hold(about, kind, change):
    found = claims(*(OURS | {kind: OURS[kind] | change}).values())
    assert not found[about]["holds"] and "does not hold" in found[about]["claim"]


def test_wrong_answers_judge_nothing():
    rows = [row | {"check": "wrong: 1 value"} for row in OURS.values()]
    assert wolfpath_claims.claims(rows, "a GPU") == []
    assert claims() == {}


# The whole
def test_what_fails_is_noted_and_keeps_the_rest(tmp_path, monkeypatch):
    def broken(workload, *rest):
        yield OURS["iterations"]
        raise ZeroDivisionError(workload.name)

    monkeypatch.setattr(layered_in_memory, "measure_iterations", broken)
    path = tmp_path / "l.jsonl"
    options = ["--device", "cpu", "--quick", "--graphs", "rmat6", "--output", str(path)]
    found = layers.main([*options, "--only", "iterations,build"])
    assert len([row for row in found if row["table"] == "layered build"]) == 2
    assert OURS["iterations"] in found
    assert found[-1]["note"] == "rmat6, iterations: failed: ZeroDivisionError: rmat6"


def test_records_are_there_before_the_end(tmp_path, monkeypatch):
    path, seen = tmp_path / "l.jsonl", []

    def watched(*rest):
        yield OURS["iterations"]
        seen.extend(records.read(path))

    monkeypatch.setattr(layered_in_memory, "measure_iterations", watched)
    options = ["--device", "cpu", "--quick", "--graphs", "rmat6", "--only", "iterations"]
    layers.main([*options, "--output", str(path)])
    assert OURS["iterations"] in seen


# compute-sanitizer


@pytest.mark.parametrize("weight", [None, "weight"])
def test_sanitizer_runs_lists_and_their_stores(weight):
    columns, (root, *_) = sanitizer_workload.search_inputs()["no weight"]
    run = {"root": root, "weight": weight, "directed": True}
    found = sanitizer_workload.layered_results(
        columns, **run
    ) | sanitizer_workload.layered_pagerank(columns, **run)
    graph = build_storage(columns, weight=weight, multi_edges="min")
    bfs = result_arrays(rg.bfs(graph, root), np)
    for how in ("built", "stored"):
        for name, values in bfs.items():
            np.testing.assert_array_equal(found[f"{how} bfs {name}"], values)
        assert found[f"{how} edges source"].size == graph.num_arcs
        assert found[f"{how} pagerank pagerank"].sum() == pytest.approx(1)
    assert sum(part.startswith("layers-") for part in sanitizer_workload.WORKLOADS) == 4


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_sanitizer_searches_partitions(weight, layout):
    """Two ranks find what one memory does, so that messages between them have data."""
    columns, (start, *_) = sanitizer_workload.search_inputs()["hub"]
    found = sanitizer_workload.search_in_supersteps(columns, start, weight, layout)
    graph = build_storage(columns, weight=weight, multi_edges="min")
    expected = rg.sssp(graph, start)
    np.testing.assert_array_equal(found["distance"], expected["distance"])
    has_predecessor = found["predecessor"] < NO_VERTEX
    np.testing.assert_array_equal(has_predecessor, expected["predecessor"] >= 0)
    names = expected["vertex"][found["predecessor"][has_predecessor]]
    np.testing.assert_array_equal(names, expected["predecessor"][has_predecessor])


def test_sanitizer_runs_cores_and_pairs():
    largest = []
    for columns in sanitizer_workload.clustering_inputs().values():
        found = sanitizer_workload.peel_in_rounds(columns)
        np.testing.assert_array_equal(found["core"], rg.core_number(columns)["core"])
        result = sanitizer_workload.compare_pairs(columns, "jaccard")
        assert len(result["jaccard"]) == min(5000, len(columns["source"]))
        largest.append(result["jaccard"].max())
    assert max(largest) > 0
