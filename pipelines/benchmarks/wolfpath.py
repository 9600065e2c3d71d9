"""WolfPath's claims beside our measurements, and on a GPU BFS with a flag per layer.

One kernel goes over the edges of a layer (wolfpath.cu), as in CuSha and WolfPath. Three variants
differ in who starts the next layer. `layers.py` runs them.

References
----------
.. [1] H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing algorithms
   on GPU", Int. J. Parallel Program. 47, 2019. https://doi.org/10.1007/s10766-017-0533-y,
   sections 2 and 5. Its GPU is a GTX 780 Ti with 3 GB.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import comparisons, timing
from pipelines.benchmarks.answers import compare_values, result_arrays
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record, claim_row
from rapidsgraph import device
from rapidsgraph.device.arrays import Array
from rapidsgraph.graph.csr import row_indices

PER_LAYER, FLAG_PER_LAYER = "a launch a layer", "a launch and a flag a layer"
ONE_LAUNCH, NO_OVERLAP = "one launch", "one thread, one buffer"
THREADS = 1024  # of a block


def summarize(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield the claim of each figure that has measurements."""
    rows = [row for row in rows if row.get("check") == "ok"]
    flags = [row["by_one"] for row in rows if row.get("how") == FLAG_PER_LAYER]
    times = {(row["graph"], row["algorithm"], row["how"]): row["run_ms"]["median"]
             for row in rows if row["table"] == "streamed"}  # fmt: skip
    overlap = [ms / times[(*key, "streamed")] for (*key, how), ms in times.items()
               if how == NO_OVERLAP and (*key, "streamed") in times]  # fmt: skip
    copies = [row["flag_us"] * row["layers"] / row["run_ms"]["median"] / 1e3
              for row in rows if "flag_us" in row]  # fmt: skip
    rates = [row["edges_per_us"] / 1987 for row in rows if "edges_per_us" in row]
    costs = [row["ns_per_edge"] / 286 for row in rows if "ns_per_edge" in row]
    sizes = [row["by_csr"] for row in rows if "by_csr" in row]
    for where, claim, ratios, holds in (
        ("table 2", "BFS takes 92 to 934 times as long if the host reads a flag after each "
         "iteration", flags, None),
        ("table 3", "copying a flag to the host takes 90 to 1580 times as long as an iteration",
         copies, None),
        ("table 6", "BFS of graphs that exceed the memory of the GPU processes at least 1,987 "
         "edges per µs", rates, None),
        ("table 7", "preprocessing takes at most 286 ns per edge", costs,
         max(costs, default=0) <= 1),
        ("figure 8", "a layered edge list takes at most 1.37 times as much memory as CSR, CuSha "
         "2.81 times", sizes, max(sizes, default=0) <= 1.37),
        ("figure 9", "BFS takes 1.5 times as long if copies do not overlap with computation",
         overlap, None),
    ):  # fmt: skip
        if ratios:
            yield claim_row(f"WolfPath, {where}", claim, ratios, holds)


def split_into_layers(graph: Any, distances: Array) -> tuple[Array, Array, Array]:
    """Return (starts, sources, destinations) of the reached edges by the distance of the source."""
    xp, csr = graph.xp, graph.csr
    sources = row_indices(csr)
    levels = distances[sources].astype(np.int64)
    keys = levels * max(sources.size, 1) + xp.arange(sources.size, dtype=np.int64)
    order = xp.argsort(keys)[int((levels < 0).sum()) :]
    starts = xp.searchsorted(levels[order], xp.arange(int(distances.max()) + 2)).astype(np.int64)
    return starts, sources[order], csr.neighbors[order].astype(np.int32)


def cuda_source() -> tuple[str, tuple[str, ...]]:
    """Return the CUDA source, with the package's grid barrier before it, and its options."""
    files = device.KERNELS / "grid.cuh", Path(__file__).with_suffix(".cu")
    source = "".join(f'#line 1 "{path.as_posix()}"\n{path.read_text()}' for path in files)
    return source, ("-std=c++17", *device.constant_macros(source))


@functools.cache
def cuda_launcher(cooperative: bool) -> Callable[..., None]:
    """Return a function of (start level, stop level, *arrays) that does not wait."""
    import cupy

    def compile_kernel(cooperative: bool) -> Any:
        source, options = cuda_source()
        module = cupy.RawModule(code=source, options=options, enable_cooperative_groups=cooperative)
        return module.get_function("search")

    blocks = device.resident_blocks(compile_kernel(True), THREADS, 0)  # the same for all variants
    function = compile_kernel(cooperative)
    return lambda start_level, stop_level, *arrays: function(
        (blocks,), (THREADS,), (np.int64(start_level), np.int64(stop_level), *arrays)
    )


def prepare_search(
    xp: Any, layers: Sequence[Array], root: int, vertices: int, variant: str
) -> Callable[[], Array]:
    """Return the function that searches and returns distances."""
    num_layers, launch = layers[0].size - 1, cuda_launcher(variant == ONE_LAUNCH)
    distances, changed = xp.empty(vertices, np.int32), xp.empty(num_layers, np.int32)
    num_arrived = xp.empty(1, np.uint64)

    def search() -> Array:
        distances.fill(-1)
        distances[root] = 0
        changed.fill(0)
        num_arrived.fill(0)
        for level in (0,) if variant == ONE_LAUNCH else range(num_layers):
            stop = num_layers if variant == ONE_LAUNCH else level + 1
            launch(level, stop, *layers, distances, changed, num_arrived)
            if variant == FLAG_PER_LAYER and not int(changed[level]):  # waits for the device
                break
        return distances

    return search


def measure_flags(workload: Workload, session: Session) -> Iterator[Record]:
    """Yield the records of all variants, which take turns, and the time of copying a flag."""
    xp, graph, root = session.xp, workload.graph, workload.start
    reference = result_arrays(rg.bfs(graph, root), xp)["distance"].astype(np.int32)
    layers = split_into_layers(graph, reference)
    about = {"table": "flag", "graph": workload.name, "vertices": workload.vertices,
             "edges": int(layers[1].size), "layers": int(layers[0].size) - 1}  # fmt: skip
    check = partial(compare_values, reference=reference, what="distances")
    contenders = []
    for variant in (ONE_LAUNCH, PER_LAYER, FLAG_PER_LAYER):
        prepare = partial(prepare_search, xp, layers, root, workload.vertices, variant)
        job = partial(comparisons.checked, prepare, check, session)
        contenders.append((about | {"how": variant}, job))
    measured = comparisons.take_turns(contenders, session)
    flag = xp.zeros(1, np.int32)
    copies = lambda: [(flag.fill(1), device.to_host(flag)) for _ in range(200)]  # noqa: E731
    measured[0][0]["flag_us"] = float(f"{min(session.clock.ms(copies) for _ in range(3)) * 5:.4g}")
    for row, times in measured:
        row["by_one"] = timing.paired_ratio(times, measured[0][1])
        yield row
