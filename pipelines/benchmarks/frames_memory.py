"""Components of a graph whose vertex arrays do not fit into the memory of a Dask worker.

The kernels need arrays of all vertices on every worker. With ``method="frames"`` Dask spills the
partitions to disk. Run ``python -m pipelines.benchmarks.frames_memory``.
"""

from __future__ import annotations

import argparse
import itertools
import time

import dask
import numpy as np
import pandas

import rapidsgraph as rg

MULTIPLIER = 1_000_003  # names have gaps, so that they are no ids


def make_edges(start: int, stop: int) -> pandas.DataFrame:
    """Return edges of a tree from vertices to their parents."""
    vertices = np.arange(start, stop)
    parents = np.maximum(vertices // 64, 1)
    return pandas.DataFrame({"source": vertices * MULTIPLIER, "destination": parents * MULTIPLIER})


def main() -> None:
    """Run both methods on a cluster of two workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vertices", type=int, default=6_000_000)
    parser.add_argument("--partitions", type=int, default=24)
    parser.add_argument("--memory-limit", default="450MB")
    parser.add_argument("--method", choices=("auto", "frames"), required=True)
    options = parser.parse_args()
    from dask.dataframe import from_delayed
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    bounds = np.linspace(1, options.vertices + 1, options.partitions + 1).astype(int)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=options.memory_limit,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        make = dask.delayed(make_edges, pure=False)
        parts = [make(start, stop) for start, stop in itertools.pairwise(bounds)]
        edges = from_delayed(parts, meta=make_edges(1, 2))
        began = time.perf_counter()
        try:
            result = rg.connected_components(edges, method=options.method)
            count = len(result)
            largest = int(result["component"].max().compute())
        except Exception as error:
            print(f"{options.method}: {type(error).__name__}: {str(error)[:300]}")
            return
        spilled = sum(client.run(lambda dask_worker: dask_worker.data.spilled_total.disk).values())
        seconds = time.perf_counter() - began
        print(f"{options.method}: {count:,} vertices, {largest + 1:,} components, {seconds:.0f} s")
        print(f"{spilled / 1e6:.0f} MB on disk at the end")


if __name__ == "__main__":
    main()
