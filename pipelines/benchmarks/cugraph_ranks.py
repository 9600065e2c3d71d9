"""Time cuGraph on several GPUs: pylibcugraph over NCCL, one process per GPU, without Dask.

Each process draws its shards of the graph that `cluster.py` measures, so builds, iterations of
PageRank and searches are those of the same rows. cuGraph's PageRank is in single precision.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import time
from collections.abc import Callable
from typing import Any

from pipelines.benchmarks import timing
from pipelines.benchmarks.dask_shards import LONG, SHORT, SharedRows, per_iteration
from pipelines.benchmarks.harness import Session

ROUNDS = 5
TIMEOUT = 300  # seconds for all records


def measure(session: Session, rows: SharedRows, num_gpus: int) -> None:
    """Add a record of each task on a number of GPUs; note if cuGraph is not installed."""
    how = "cuGraph, 1 GPU" if num_gpus == 1 else f"cuGraph, {num_gpus} GPUs"
    about = {
        "table": "cluster", "graph": rows.name, "how": how, "workers": num_gpus, "threads": 1,
    }  # fmt: skip
    context = multiprocessing.get_context("spawn")
    records, barrier = context.Queue(), context.Barrier(num_gpus)
    unique_ids = context.Queue()
    arguments = rows, num_gpus, barrier, unique_ids, records
    processes = [context.Process(target=_run_rank, args=(r, *arguments)) for r in range(num_gpus)]
    for each in processes:
        each.start()
    try:
        while (record := records.get(timeout=TIMEOUT)) is not None:
            session.rows.append(about | record)
    except queue.Empty:
        check = f"failed: no answer in {TIMEOUT} s"
        session.rows.append(about | {"algorithm": "build", "check": check})
    finally:
        for each in processes:
            each.join(timeout=10)
            each.kill()
        session.save()


def _run_rank(
    rank: int, rows: SharedRows, num_gpus: int, barrier: Any, unique_ids: Any, records: Any
) -> None:
    """Run a rank; its errors are records."""
    try:
        _measure_rank(rank, rows, num_gpus, barrier, unique_ids, records)
    except Exception as error:
        records.put({"algorithm": "build", "check": f"{type(error).__name__}: {error}"[:200]})
        barrier.abort()
    if rank == 0:
        records.put(None)


def _measure_rank(
    rank: int, rows: SharedRows, num_gpus: int, barrier: Any, unique_ids: Any, records: Any
) -> None:
    # Each process sees all GPUs, its own one first, so that NCCL can use peer access.
    visible = ",".join(str((rank + other) % num_gpus) for other in range(num_gpus))
    os.environ["CUDA_VISIBLE_DEVICES"] = visible
    import pylibcugraph  # before CuPy, whose libraries it would not find
    import rmm
    from rmm.allocators.cupy import rmm_cupy_allocator

    rmm.reinitialize(pool_allocator=True, initial_pool_size=48 << 30)
    import cupy

    cupy.cuda.set_allocator(rmm_cupy_allocator)
    handle = _create_handle(pylibcugraph, rank, num_gpus, unique_ids)
    shards = [rows.edges(number, cupy) for number in range(rank, rows.num_shards, num_gpus)]
    source, destination = (cupy.concatenate(each) for each in zip(*shards, strict=True))
    start = int(rows.edges(0, cupy)[0][0])
    del shards

    def clock(call: Callable[[], Any], num_rounds: int = ROUNDS) -> list[float]:
        times = []
        for number in range(num_rounds + 1):
            barrier.wait()
            cupy.cuda.Device().synchronize()
            began = time.perf_counter()
            call()
            cupy.cuda.Device().synchronize()
            barrier.wait()
            if number:  # the first one warms up
                times.append((time.perf_counter() - began) * 1e3)
        return times

    def build(is_transposed: bool, is_symmetric: bool = False) -> Any:
        properties = pylibcugraph.GraphProperties(is_symmetric=is_symmetric, is_multigraph=False)
        options = {
            "store_transposed": is_transposed, "do_expensive_check": False,
            "drop_multi_edges": True, "symmetrize": is_symmetric,
        }  # fmt: skip
        if num_gpus > 1:
            own = [source], [destination]
            return pylibcugraph.MGGraph(handle, properties, *own, **options)
        return pylibcugraph.SGGraph(
            handle, properties, source, destination, renumber=True, **options
        )

    def put(algorithm: str, **values: Any) -> None:
        if rank == 0:
            records.put({"algorithm": algorithm, "check": "not compared"} | values)

    put("build", rows=rows.num_rows, run_ms=timing.summary(clock(lambda: build(True), 2)))
    graph = build(True)

    def pagerank(iterations: int) -> None:
        pylibcugraph.pagerank(
            handle, graph, None, None, None, None, 0.85, 0.0, iterations, False,
            fail_on_nonconvergence=False,
        )  # fmt: skip

    long, short = clock(lambda: pagerank(LONG)), clock(lambda: pagerank(SHORT))
    iteration = timing.summary(per_iteration(long, short))
    put("pagerank", run_ms=timing.summary(long), iteration_ms=iteration)
    graph = build(False)
    sources = cupy.asarray([start] if rank == 0 else [], dtype=source.dtype)

    def search() -> None:
        pylibcugraph.bfs(handle, graph, sources, False, -1, True, False)

    put("bfs", run_ms=timing.summary(clock(search)))
    graph = build(False, is_symmetric=True)

    def find_components() -> None:
        pylibcugraph.weakly_connected_components(handle, graph, None, None, None, None, False)

    put("components", run_ms=timing.summary(clock(find_components)))


def _create_handle(pylibcugraph: Any, rank: int, num_gpus: int, unique_ids: Any) -> Any:
    if num_gpus == 1:
        return pylibcugraph.ResourceHandle()
    from pylibcugraph.comms import cugraph_comms_get_raft_handle, cugraph_comms_init
    from raft_dask.common.nccl import nccl

    if rank == 0:
        unique_id = nccl.get_unique_id()
        for _ in range(num_gpus):
            unique_ids.put(unique_id)
    cugraph_comms_init(rank, num_gpus, unique_ids.get(), 0)
    return pylibcugraph.ResourceHandle(cugraph_comms_get_raft_handle().getHandle())
