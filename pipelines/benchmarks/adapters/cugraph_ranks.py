"""Time cuGraph on several GPUs: pylibcugraph over NCCL, one process per GPU, without Dask.

Each process reads its files of the rows that `cluster.py` measures. cuGraph's PageRank is in single
precision.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pipelines.benchmarks import memory, timing
from pipelines.benchmarks.harness import try_call
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.timing import LONG, SHORT

ROUNDS = 5
TIMEOUT = 300  # seconds for all records


def measure(name: str, files: Sequence[Path], start: int, num_gpus: int) -> Iterator[Record]:
    how = f"cuGraph, {num_gpus} GPU{'s' if num_gpus > 1 else ''}"
    about = {"table": "cluster", "graph": name, "how": how, "workers": num_gpus, "threads": 1}
    context = multiprocessing.get_context("spawn")
    records, ids, barrier = context.Queue(), context.Queue(), context.Barrier(num_gpus)
    processes = [
        context.Process(target=run_rank, args=(rank, num_gpus, files[rank::num_gpus], start,
                                               barrier, ids, records))
        for rank in range(num_gpus)
    ]  # fmt: skip
    for process in processes:
        process.start()
    try:
        while (record := records.get(timeout=TIMEOUT)) is not None:
            yield about | record
    except queue.Empty:
        yield about | {"algorithm": "build", "check": f"failed: no answer in {TIMEOUT} s"}
    finally:
        for process in processes:
            process.join(timeout=10)
            process.kill()


def run_rank(rank: int, *arguments: Any) -> None:
    """Run a rank; its failure is a record."""
    failure: dict[str, Any] = {}
    *_, barrier, _, records = arguments
    try_call(failure, lambda: measure_rank(rank, *arguments))
    if failure:
        records.put({"algorithm": "build"} | failure)
        barrier.abort()
    if rank == 0:
        records.put(None)


def measure_rank(
    rank: int, num_gpus: int, files: Sequence[Path], start: int, barrier: Any, ids: Any,
    records: Any,
) -> None:  # fmt: skip
    """Measure the tasks on the rows of a rank; the first one puts the records."""
    # Each process sees all GPUs, its own one first, so that NCCL can use peer access.
    visible = ",".join(str((rank + other) % num_gpus) for other in range(num_gpus))
    os.environ["CUDA_VISIBLE_DEVICES"] = visible
    memory.use_rmm_pool(48 << 30)
    import cudf
    import cupy
    import pylibcugraph

    from pipelines.benchmarks.adapters import cugraph

    if num_gpus > 1:
        cugraph.handle = join(pylibcugraph, rank, num_gpus, ids)
    frame = cudf.read_parquet(list(files))
    source, destination = (frame[name].values for name in ("source", "destination"))
    starts = cupy.asarray([start] if rank == 0 else [], dtype=source.dtype)
    clock = timing.Clock(cupy)

    def build(transposed: bool = False, symmetric: bool = False) -> Any:
        properties = pylibcugraph.GraphProperties(is_symmetric=symmetric, is_multigraph=False)
        options = {
            "store_transposed": transposed, "do_expensive_check": False,
            "drop_multi_edges": True, "symmetrize": symmetric,
        }  # fmt: skip
        rows = (source, destination) if num_gpus == 1 else ([source], [destination])
        kind = pylibcugraph.SGGraph if num_gpus == 1 else pylibcugraph.MGGraph
        options |= {"renumber": True} if num_gpus == 1 else {}
        return kind(cugraph.handle, properties, *rows, **options)

    def times(call: Callable[[], Any], num_rounds: int = ROUNDS) -> list[float]:
        """Return the milliseconds of all ranks together; the first call warms up."""
        timed_call = lambda: (barrier.wait(), call(), clock.synchronize(), barrier.wait())  # noqa: E731
        return [clock.ms(timed_call) for _ in range(num_rounds + 1)][1:]

    def put(algorithm: str, milliseconds: list[float], **values: Any) -> None:
        if rank == 0:
            row = {"algorithm": algorithm, "check": "not compared"} | values
            records.put(row | {"run_ms": timing.summary(milliseconds)})

    put("build", times(lambda: build(transposed=True), 2))
    graph = build(transposed=True)
    long, short = (times(lambda n=n: cugraph.pagerank(graph, None, n)) for n in (LONG, SHORT))
    put("pagerank", long, iteration_ms=timing.per_iteration(long, short))
    graph = build()
    put("bfs", times(lambda: cugraph.search(graph, starts)))
    graph = build(symmetric=True)
    put("components", times(lambda: cugraph.components(graph, None)))


def join(pylibcugraph: Any, rank: int, num_gpus: int, ids: Any) -> Any:
    """Return the handle of a rank after all of them have met."""
    from pylibcugraph.comms import cugraph_comms_get_raft_handle, cugraph_comms_init
    from raft_dask.common.nccl import nccl

    if rank == 0:
        unique_id = nccl.get_unique_id()
        for _ in range(num_gpus):
            ids.put(unique_id)
    cugraph_comms_init(rank, num_gpus, ids.get(), 0)
    return pylibcugraph.ResourceHandle(cugraph_comms_get_raft_handle().getHandle())
