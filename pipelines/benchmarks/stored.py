"""A layered edge list whose edges no worker may hold, streamed by several of them.

Means: one worker makes the graph in its memory, keeps what its calls give there, and saves the
  list. Then workers open the store, each with a limit so low that the edges exceed those of all
  workers together, and their results are compared with the ones kept.
"""

from functools import partial

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import shares, timing
from pipelines.benchmarks.streams import ITERATIONS, partition_bytes
from rapidsgraph.dispatch import storage_of
from rapidsgraph.layered.packing import COLUMN
from rapidsgraph.memory import ALGORITHM_BYTES

BUFFERS = 5  # partitions beside the vertices that a limit has room for


def calls(limit):
    options = {"memory_limit": limit, "progress": False}
    return {
        "bfs": partial(rg.bfs, **options),
        "sssp": partial(rg.sssp, **options),
        "pagerank": partial(rg.pagerank, tolerance=0, max_iterations=ITERATIONS, **options),
    }


def make(rows, folder, on_gpu):
    """Make a graph, keep its results, save its list: (times, facts)."""
    held = shares.Held(rows, folder, on_gpu)
    held.keep(("bfs", "sssp"))
    ranks = rg.pagerank(held.graph, tolerance=0, max_iterations=ITERATIONS, progress=False)
    for name in ranks.columns:
        np.save(shares.path_of(folder, "pagerank", name), shares.values_of(ranks[name]))
    times = {name: timing.summary([held.run(name)]) for name in ("bfs", "sssp")}
    build, layered = held.clock.timed(lambda: rg.LayeredEdgeList.build(held.graph, held.start))
    pieces = partition_bytes(layered.nbytes)
    layered = rg.LayeredEdgeList.build(held.graph, held.start, partition_bytes=pieces)
    saving = held.clock.ms(lambda: layered.save(f"{folder}/store"))
    facts = {
        "vertices": layered.num_vertices, "edges": layered.num_edges,
        "list_bytes": layered.nbytes, "partitions": len(storage_of(layered).table),
        "largest": int(storage_of(layered).table[:, COLUMN["words"]].max(initial=1)) * 4,
    }  # fmt: skip
    return times, facts | {"build_ms": timing.summary([build]), "save_ms": timing.summary([saving])}


def measure(run, rows, workers):
    """Records of searches and PageRank of the store, by each number of workers."""
    facts = times = None
    for count in workers:
        with run.cluster(count) as client:
            if facts is None:
                made = client.submit(make, rows, str(run.folder), run.on_gpu, pure=False)
                times, facts = made.result()
                largest = facts.pop("largest")
                run.add({"table": "cluster store", "graph": rows.name, "check": "ok"} | facts)
            device = "gpu" if run.on_gpu else "cpu"
            layered = rg.LayeredEdgeList.open(run.folder / "store", client=client, device=device)
            for name in ("bfs", "sssp", "pagerank"):
                limit = ALGORITHM_BYTES[name].per_vertex * facts["vertices"] + BUFFERS * largest
                about = {
                    "table": "cluster streamed", "graph": rows.name, "algorithm": name,
                    "workers": count, "vertices": facts["vertices"], "edges": facts["edges"],
                    "list_bytes": facts["list_bytes"], "limit_bytes": limit,
                    "list_by_limits": float(f"{facts['list_bytes'] / (limit * count):.3g}"),
                    "memory_ms": times.get(name),
                }  # fmt: skip
                run.attempt(about, partial(one, run, layered, name, limit))
            del layered


def one(run, layered, name, limit, row):
    """Check one call, and time it."""
    clock, call = timing.Clock(), calls(limit)[name]

    def finished():
        return sum(shares.map_partitions(call(layered), shares.settled))

    first, result = clock.timed(lambda: call(layered))
    found = shares.map_partitions(result, shares.compared, run.folder, name)
    lengths, wrong = map(sum, zip(*found))
    del result
    row["first_ms"] = timing.summary([first])["median"]
    if wrong or lengths != row["vertices"]:
        row["check"] = f"wrong: {wrong} values in {lengths} rows"
        return
    times = [clock.ms(finished) for _ in range(run.rounds)]
    took = layered.last_run
    row |= {"run_ms": timing.summary(times), "passes": took.passes, "bytes": took.nbytes}
    row["gb_per_s"] = float(f"{took.nbytes / row['run_ms']['median'] / 1e6:.4g}")
    if name == "pagerank":
        row["iteration_ms"] = timing.summary([each / ITERATIONS for each in times])
    row["check"] = "ok"
