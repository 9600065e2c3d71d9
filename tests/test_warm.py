"""Compilation ahead of the first calls."""

import asyncio
import functools
import importlib
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pandas
import pytest
from numba.core.dispatcher import Dispatcher
from typer.testing import CliRunner

import rapidsgraph as rg
from pipelines.benchmarks import startup
from rapidsgraph import cli, device, warm
from rapidsgraph.device import launcher
from rapidsgraph.distributed import replica
from rapidsgraph.distributed.executor import local_ranks
from rapidsgraph.errors import GraphError, InsufficientMemoryError
from rapidsgraph.kernels import cache_folders, jit

dask = pytest.importorskip("dask")
pytest.importorskip("dask.dataframe")

PAIRS = pandas.DataFrame({"source": [0, 1], "destination": [1, 2]})
LAYERED = [
    rg.bfs,
    rg.sssp,
    rg.pagerank,
    rg.connected_components,
    functools.partial(rg.connected_components, strong=True),
    rg.core_number,
    rg.label_propagation,
    rg.triangle_count,
    rg.clustering_coefficient,
    rg.neighbor_similarity,
    lambda layers: rg.neighbor_similarity(layers, PAIRS),
]
DISTRIBUTED = [
    functools.partial(rg.bfs, source=0),
    functools.partial(rg.sssp, source=0),
    functools.partial(rg.shortest_path, source=0, target=1),
    rg.scan,
    rg.structural_similarity,
    lambda graph: rg.pagerank(graph.subgraph(range(0, 500, 2)).reverse()),
    lambda graph: graph.to_undirected(multi_edges="sum").edges,
    lambda graph: graph.neighborhood(0, 2),
    lambda graph: rg.bfs(rg.Graph(graph.edges.assign(weight=1.5)), 0),
]


def compiled_signatures():
    """{kernel: number of its signatures} of all modules of kernels."""
    stems = (path.stem for path in device.KERNELS.glob("*.py") if path.stem != "__init__")
    modules = [importlib.import_module(f"rapidsgraph.kernels.{stem}") for stem in stems]
    return {
        f"{value.__module__}.{name}": len(value.signatures)
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rapidsgraph.WeightWarning")
def test_nothing_is_left_to_compile(tmp_path):
    for name in warm.RUNS:
        warm.run(name, "cpu")
    before = compiled_signatures()
    assert before["rapidsgraph.kernels.pagerank.iterate"] > 0
    ends = np.random.default_rng(2).integers(0, 500, (2, 8000))
    edges = pandas.DataFrame({"source": ends[0], "destination": ends[1]})
    integers = edges.assign(weight=np.random.default_rng(3).integers(1, 9, 8000))
    for frame in (edges, integers):
        for run in startup.RUNS.values():
            run(rg, frame)
        rg.sssp(rg.Graph(frame, directed=False), 0)
    for dtype in ("int64", "float64"):  # along zero-weight edges
        rg.sssp(edges.assign(weight=np.zeros(8000, dtype)), 0)
    rg.ScanIndex(edges).sweep()
    for number, frame in enumerate((edges.astype("str"), integers)):
        path = tmp_path / f"{number}.parquet"
        frame.to_parquet(path)
        root = frame["source"].iloc[0]
        rg.bfs(rg.LayeredEdgeList.build(path, root, store=path.with_suffix(".layers")))
    # 60 cliques of 10 vertices, of which each is joined to one of 40 hubs
    first, second = np.triu_indices(10, 1)
    cliques, members = 10 * np.arange(60)[:, None], np.arange(600)
    source = np.concatenate([(cliques + first).ravel(), members])
    destination = np.concatenate([(cliques + second).ravel(), 600 + members % 40])
    graph = rg.Graph(
        pandas.DataFrame({"source": source, "destination": destination}), directed=False
    )
    for run in (rg.scan, rg.structural_similarity, rg.scan, lambda g: rg.ScanIndex(g).query()):
        run(graph)
    assert rg.scan(graph)["role"].value_counts().to_dict() == {"core": 600, "hub": 40}
    layers = rg.LayeredEdgeList.build(edges, 0)
    for run in LAYERED:
        run(layers)
    with pytest.raises(InsufficientMemoryError) as caught:
        rg.core_number(layers, memory_limit=1)
    rg.core_number(layers, memory_limit=caught.value.needed)
    for weight, dtype in ((1.5, np.float32), (0.1, np.float64)):
        layers = rg.LayeredEdgeList.build(rg.Graph(edges.assign(weight=weight)), 0)
        assert layers._storage.weight_dtype is dtype
        for run in (rg.sssp, rg.pagerank):
            run(layers)
    with local_ranks(3), dask.config.set(scheduler="synchronous"):
        for limit, directed in itertools.product((-1, 2**20), (True, False)):
            with dask.config.set({replica.REPLICA_LIMIT: limit}):
                frame = dask.dataframe.from_pandas(edges, npartitions=5, sort=False)
                graph = rg.Graph(frame, directed=directed)
                for run in (*DISTRIBUTED, *LAYERED[2:]):
                    run(graph)
    after = compiled_signatures()
    assert {name: after[name] for name in after if after[name] > before[name]} == {}


def test_progress_and_the_number_of_entries(monkeypatch, tmp_path):
    folders = tmp_path / "of the user", tmp_path / "of the image", tmp_path / "temporary"
    for folder, names in zip(folders, (["a.kernel", "c.txt", "d.txt"], ["a.kernel", "b.kernel"])):
        folder.mkdir()
        for name in names:
            (folder / name).touch()
    runs, reports = [], []
    monkeypatch.setattr(warm.cache_folders, "write_folder", lambda: folders[0])
    monkeypatch.setattr(warm.cache_folders, "folders", lambda: list(folders))
    monkeypatch.setattr(warm, "run", lambda *arguments: runs.append(arguments))
    result = warm.warm("cpu", num_jobs=1, progress=lambda *report: reports.append(report))
    assert result == (folders[1], 2)
    assert runs == [(name, "cpu") for name in warm.RUNS]
    total = len(warm.RUNS)
    assert [(done, total) for done in (0, *range(2, total + 1))] == [item[:2] for item in reports]
    asyncio.run(warm.dask_setup(None))
    assert len(runs) == 2 * total


def test_a_run_ends_when_threads_have_compiled_all_kernels(monkeypatch):
    future = Future()
    timer = threading.Timer(0.2, future.set_result, [None])
    monkeypatch.setattr(launcher, "_modules", {"key": future, "other": None})
    monkeypatch.setattr(warm, "RUNS", {"start": lambda edges, weighted: timer.start()})
    warm.run("start", "cpu")
    assert future.done()


@pytest.mark.slow
def test_several_jobs_are_processes():
    assert list(warm._run_others(["graph"], "cpu", 2)) == ["graph"]
    with pytest.raises(KeyError):
        list(warm._run_others(["no algorithm"], "cpu", 2))


@pytest.mark.slow
def test_processes_report_that_kernels_cannot_be_cached(monkeypatch, tmp_path):
    """A file in place of the folder, into which root cannot write either.

    The temporary folder has the entries of all kernels but those of core numbers.
    """
    (tmp_path / "cache").touch()
    own = tmp_path / "temporary" / cache_folders.temporary_folder().parent.name / "kernels"
    own.mkdir(parents=True)
    for folder in cache_folders.folders():
        for path in folder.glob(f"*{jit.SUFFIX}"):
            if not path.name.startswith("core_number.") and not (own / path.name).exists():
                (own / path.name).symlink_to(path)
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(cache_folders, "_warned", set())
    with pytest.warns(cache_folders.KernelCacheWarning, match="which is temporary"):
        list(warm._run_others(["core number"], "cpu", 2))


@pytest.mark.slow
def test_an_interrupt_ends_processes_without_a_traceback():
    """As Ctrl-C in a terminal, which sends the signal to all processes."""
    program = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # under nohup, too
from rapidsgraph.__main__ import main
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program, "warm", "--device", "cpu", "--jobs", "2"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while len(children.read_text().split()) < 3:  # two processes and their resource tracker
        time.sleep(0.01)
    time.sleep(0.3)  # they import the package
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "")
    assert errors.startswith("error: interrupted") and errors.count("\n") == 1


def test_a_missing_folder_is_an_error(monkeypatch):
    monkeypatch.setattr(warm.cache_folders, "write_folder", lambda: None)
    with pytest.raises(GraphError, match="cannot be cached.*NUMBA_CACHE_DIR"):
        warm.warm("cpu")


def test_kernels_that_cupy_keeps_in_memory_are_an_error(monkeypatch):
    monkeypatch.setenv("CUPY_CACHE_IN_MEMORY", "1")
    with pytest.raises(GraphError, match="CUPY_CACHE_IN_MEMORY is set"):
        warm.list_cache_folders("gpu")


def test_the_command(monkeypatch, tmp_path):
    calls = []

    def compile_kernels(device, num_jobs, progress):
        calls.append((device, num_jobs))
        return tmp_path, 12

    monkeypatch.setattr(warm, "warm", compile_kernels)
    result = CliRunner().invoke(cli.app, ["warm", "--device", "cpu", "--jobs", "3"])
    assert result.output == f"12 compiled kernels are cached in {tmp_path}\n"
    assert calls == [("cpu", 3)]
