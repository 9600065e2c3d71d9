"""Compile the kernels of all algorithms ahead of their first calls.

`rapidsgraph warm` runs it, and Dask workers do with ``dask worker --preload rapidsgraph.warm``.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas

import rapidsgraph as rg

from .device import Device, choose, wait_for_compilations
from .distributed.executor import local_ranks
from .distributed.replica import REPLICA_LIMIT
from .errors import GraphError, InsufficientMemoryError, WeightWarning
from .kernels import cache_folders, jit
from .progress import Progress, reporter

SCALE, EDGE_FACTOR = 10, 16  # of the graph that algorithms run on


def warm(
    device: Device = "auto", *, num_jobs: int | None = None, progress: Progress = None
) -> tuple[Path, int]:
    """Compile the kernels of all algorithms and cache them.

    On a CPU with Dask these include the kernels that only several ranks use.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu"}, default "auto"
        Device whose kernels are compiled; "auto" is a GPU if one works.
    num_jobs : int, optional
        Number of processes; by default one per CPU core. One compiles in this process.
    progress : bool or callable, optional
        Whether to report the algorithms done; as in `rapidsgraph.pagerank`.

    Returns
    -------
    folder : Path
        The folder of compiled kernels, or that of most if they are in several.
    num_entries : int
        The number of files in it.

    Raises
    ------
    GraphError
        If there is no folder to cache kernels in, or CuPy caches them in memory only.

    Warns
    -----
    KernelCacheWarning
        If kernels cannot be written to the folder, as on a full disk.
    """
    kind = choose(device)
    folders = list_cache_folders(kind)
    first, *others = RUNS
    num_jobs = min(num_jobs or os.cpu_count() or 1, len(others))
    with reporter(progress, "compiling", len(RUNS)) as report:
        report(0, first)
        run(first, kind)  # the others need its kernels, too
        for done, name in enumerate(_run_others(others, kind, num_jobs), 2):
            report(done, name)
    pattern = "*.cubin" if kind == "gpu" else f"*{jit.SUFFIX}"
    num_entries = {folder: len(list(folder.glob(pattern))) for folder in folders}
    return max(num_entries.items(), key=lambda item: item[1])


def _run_others(names: list[str], device: Device, num_jobs: int) -> Iterator[str]:
    """Run algorithms, in processes if there are several jobs, and yield their names."""
    if num_jobs == 1:
        for name in names:
            run(name, device)
            yield name
        return
    context = multiprocessing.get_context("spawn")  # threads of this process do not survive a fork
    with ProcessPoolExecutor(num_jobs, context, _end_silently_on_interrupt) as executor:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the processes inherit it
        try:
            futures = {executor.submit(_run_in_process, name, device): name for name in names}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            for future in as_completed(futures):
                for message in future.result():
                    cache_folders.warn_once(message)
                yield futures[future]
        except BaseException:  # also Ctrl-C
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _end_silently_on_interrupt() -> None:
    """End this process without a traceback on SIGINT, which has been blocked so far."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _run_in_process(name: str, device: Device) -> list[str]:
    """Run an algorithm of `RUNS`; return the warnings about the cache, for the calling process."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", cache_folders.KernelCacheWarning)
        run(name, device)
    return [str(w.message) for w in caught if w.category is cache_folders.KernelCacheWarning]


def list_cache_folders(device: str) -> list[Path]:
    """Return the folders that the compiled kernels of a device are read from."""
    if device == "gpu":
        if os.environ.get("CUPY_CACHE_IN_MEMORY", "0") != "0":
            raise GraphError(
                "compiled kernels cannot be cached, because CUPY_CACHE_IN_MEMORY is set",
                hint="unset CUPY_CACHE_IN_MEMORY",
            )
        from cupy.cuda.compiler import get_cache_dir

        return [Path(get_cache_dir())]
    if cache_folders.write_folder() is None:
        raise GraphError(
            "compiled kernels cannot be cached, because no cache folder is private to you and "
            f"writable; {cache_folders.HINT}",
            hint=cache_folders.HINT,
        )
    return cache_folders.folders()


def run(name: str, device: Device) -> None:
    """Run an algorithm of `RUNS` on a small random graph."""
    options: Any = {"seed": 1, "device": device}
    names = {"source": "int64", "destination": "int64"}
    edges, weighted = (
        rg.generate.rmat(SCALE, EDGE_FACTOR, weights=weights, **options)
        .astype(names)
        .sample(frac=1.5, replace=True, random_state=1)  # unsorted, with parallel edges
        for weights in (None, (1.0, 2.0))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)  # of parallel edges with different weights
        RUNS[name](edges, weighted)
    wait_for_compilations()  # also of kernels that no small graph needs


def _with_integers(weighted: Any) -> Any:
    """Return edges whose weights are integers, as those of roads often are."""
    return weighted.assign(weight=(10 * weighted["weight"]).astype("int64"))


def _graph(edges: Any, weighted: Any) -> None:
    for frame in (edges, weighted, _with_integers(weighted)):
        rg.Graph(frame)
        rg.Graph(frame.astype({"source": "int32", "destination": "int32"}))


def _pagerank(edges: Any, weighted: Any) -> None:
    for graph in map(rg.Graph, (edges, weighted, _with_integers(weighted))):
        for precision in ("double", "single"):
            rg.pagerank(graph, precision=precision, progress=False)
    rg.pagerank(weighted, progress=False)  # sums the weights of parallel edges


def _search(edges: Any, weighted: Any) -> None:
    for frame in (weighted, _with_integers(weighted)):
        for directed in (True, False):
            graph = rg.Graph(frame, directed=directed)
            source, target = graph.vertices.iloc[[0]], graph.vertices.iloc[[-1]]
            rg.bfs(graph, source)
            for _ in range(2):  # the second one sorts the lists of a graph by weight
                rg.sssp(graph, source)
            rg.shortest_path(graph, source, target)
        rg.sssp(frame.assign(weight=0 * frame["weight"]), source)  # along zero-weight edges
        rg.sssp(frame, frame["source"].iloc[0])  # uses the minimum of those of parallel edges


def _components(edges: Any, weighted: Any) -> None:
    rg.connected_components(edges)
    rg.connected_components(edges, strong=True)


def _core_number(edges: Any, weighted: Any) -> None:
    rg.core_number(edges)


def _label_propagation(edges: Any, weighted: Any) -> None:
    for options in ({}, {"directed": False}, {"multi_edges": "keep"}):
        rg.label_propagation(rg.Graph(edges, **options))


def _scan(edges: Any, weighted: Any) -> None:
    graph = rg.Graph(edges, directed=False, self_loops="drop")
    rg.scan(graph, epsilon=0.3, memberships=True)  # finds clusters, borders and hubs here
    rg.scan(graph)
    rg.structural_similarity(graph)
    options: Any = {"seed": 1, "device": graph.device}
    large = rg.Graph(rg.generate.rmat(SCALE + 2, EDGE_FACTOR, **options), directed=False)
    rg.scan(large)  # evaluates only edges that decide the clustering
    rg.structural_similarity(large)
    index = rg.ScanIndex(graph)
    index.query(0.3, 3)
    index.sweep([0.3], [3])


def _layered(edges: Any, weighted: Any) -> None:
    graph = rg.Graph(weighted)
    root = weighted["source"].iloc[0]
    with tempfile.TemporaryDirectory() as folder:
        path, store = Path(folder) / "edges.csv", Path(folder) / "graph.layers"
        weighted.to_csv(path, index=False)
        options: Any = {"weight": "weight", "device": graph.device, "progress": False}
        rg.LayeredEdgeList.build(path, root, store=store, **options)  # on disk
        text = edges.astype({"source": "str", "destination": "str"})
        for name, frame in {"text": text, "integers": _with_integers(weighted)}.items():
            path = Path(folder) / f"{name}.parquet"
            frame.to_parquet(path)
            options |= {"weight": "weight" if name == "integers" else None}
            start, other = frame["source"].iloc[0], path.with_suffix(".layers")
            rg.bfs(rg.LayeredEdgeList.build(path, start, store=other, **options))
        for layers in (rg.LayeredEdgeList.build(graph, root), rg.LayeredEdgeList.open(store)):
            rg.bfs(layers)
            rg.sssp(layers)
            rg.pagerank(layers, progress=False)
            for strong in (False, True):
                rg.connected_components(layers, strong=strong)
            rg.core_number(layers)
            rg.label_propagation(layers)
            rg.triangle_count(layers)
            rg.clustering_coefficient(layers)
            rg.neighbor_similarity(layers)
            rg.neighbor_similarity(layers, weighted)
    # Single precision holds these weights, so that they are stored in it.
    rounded = rg.Graph(weighted.assign(weight=weighted["weight"].round()))
    layers = rg.LayeredEdgeList.build(rounded, root)
    rg.sssp(layers)
    rg.pagerank(layers, progress=False)


def _triangles(edges: Any, weighted: Any) -> None:
    rg.triangle_count(edges)
    for directed in (True, False):
        rg.clustering_coefficient(rg.Graph(edges, directed=directed))
    rg.neighbor_similarity(edges)
    rg.neighbor_similarity(edges, edges)


def _several_ranks(edges: Any, weighted: Any) -> None:
    """Run what a Dask cluster of CPUs runs otherwise than one process does."""
    if not isinstance(edges, pandas.DataFrame) or find_spec("dask") is None:
        return
    import dask.dataframe

    layers = rg.LayeredEdgeList.build(rg.Graph(edges), edges["source"].iloc[0])
    try:
        rg.core_number(layers, memory_limit=1)
    except InsufficientMemoryError as error:
        rg.core_number(layers, memory_limit=error.needed)  # in tiles, as ranks do
    options = {"scheduler": "synchronous", REPLICA_LIMIT: -1}  # small graphs are divided, too
    with local_ranks(2), dask.config.set(options):
        for directed in (True, False):
            frame = dask.dataframe.from_pandas(weighted, npartitions=2, sort=False)
            graph = rg.Graph(frame, directed=directed)
            source = weighted["source"].iloc[0]
            rg.pagerank(graph, progress=False)
            for depth_limit in (None, 1):  # with and without bottom-up levels
                rg.bfs(graph, source, depth_limit=depth_limit)
            rg.sssp(graph, source)
            for strong in (False, True):
                rg.connected_components(graph, strong=strong)
            rg.core_number(graph)
            rg.label_propagation(graph)
            rg.scan(graph)
            rg.clustering_coefficient(graph)
            rg.neighbor_similarity(graph, edges)


RUNS: dict[str, Callable[[Any, Any], None]] = {
    "graph": _graph,
    "pagerank": _pagerank,
    "bfs, sssp": _search,
    "connected components": _components,
    "core number": _core_number,
    "label propagation": _label_propagation,
    "scan": _scan,
    "triangles": _triangles,
    "layered edge list": _layered,
    "several ranks": _several_ranks,
}


async def dask_setup(worker: Any) -> None:
    """Compile all kernels when a Dask worker starts that preloads this module."""
    await asyncio.to_thread(warm, num_jobs=1, progress=False)
