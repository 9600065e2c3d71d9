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

from pipelines.benchmarks.adapters import Library
from pipelines.benchmarks.adapters.rapidsgraph import CALLS
from pipelines.benchmarks.answers import to_host
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record, claim_row, claim_rows
from rapidsgraph import device
from rapidsgraph.device.arrays import Array
from rapidsgraph.graph.csr import row_indices

PER_LAYER, FLAG_PER_LAYER = "a launch a layer", "a launch and a flag a layer"
ONE_LAUNCH, STREAMED, NO_OVERLAP = "one launch", "streamed", "one thread, one buffer"
FROM_FILES = "from files"
THREADS = 1024  # of a block
CLAIMS = (
    ("WolfPath, table 2: BFS takes 92 to 934 times as long if the host reads a flag after each "
     "iteration", FLAG_PER_LAYER, ONE_LAUNCH),
    ("WolfPath, figure 9: BFS takes 1.5 times as long if copies do not overlap with computation",
     NO_OVERLAP, STREAMED),
)  # fmt: skip


def summarize(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield the claim of each table and figure that has measurements."""
    yield from claim_rows(CLAIMS, rows)
    rows = [row for row in rows if row.get("check") == "ok"]
    [*_, flag_us] = [0, *(row["flag_us"] for row in rows if "flag_us" in row)]
    copies = [flag_us * (row["levels"] + 1) / row["run_ms"]["median"] / 1e3
              for row in rows if row.get("implementation") == ONE_LAUNCH]  # fmt: skip
    speeds = [row["edges"] / row["run_ms"]["median"] / 1e3 / 1987 for row in rows
              if "limit_bytes" in row and row["algorithm"] == "bfs"]  # fmt: skip
    costs = [row["run_ms"]["median"] * 1e6 / row["edges"] / 286 for row in rows
             if row.get("implementation") == FROM_FILES]  # fmt: skip
    sizes = [row["by_csr"] for row in rows if "by_csr" in row]
    for claim, ratios, holds in (
        ("table 3: copying a flag to the host takes 90 to 1580 times as long as an iteration",
         copies, None),
        ("table 6: BFS of graphs that exceed the memory of the GPU processes at least 1,987 edges "
         "per µs", speeds, None),
        ("table 7: preprocessing takes at most 286 ns per edge", costs,
         max(costs, default=0) <= 1),
        ("figure 8: a layered edge list takes at most 1.37 times as much memory as CSR, CuSha "
         "2.81 times", sizes, max(sizes, default=0) <= 1.37),
    ):  # fmt: skip
        if ratios:
            yield claim_row(f"WolfPath, {claim}", ratios, holds)


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


def prepare_search(case: Workload) -> tuple[Array, ...]:
    """Return the edges of `case` by layers, and the arrays that a search fills."""
    xp, call = case.xp, CALLS["bfs"]
    distances = call.values(call(case.graph, case.start), xp)
    distances = xp.where(xp.isinf(distances), -1, distances).astype(np.int32)
    layers = split_into_layers(case.graph, distances)
    return *layers, distances, xp.empty(layers[0].size - 1, np.int32), xp.empty(1, np.uint64)


def search(arrays: tuple[Array, ...], case: Workload, variant: str) -> Array:
    """Return distances."""
    *_, distances, changed, num_arrived = arrays
    distances.fill(-1)
    distances[case.start] = 0
    changed.fill(0)
    num_arrived.fill(0)
    num_layers, launch = changed.size, cuda_launcher(variant == ONE_LAUNCH)
    for level in (0,) if variant == ONE_LAUNCH else range(num_layers):
        launch(level, num_layers if variant == ONE_LAUNCH else level + 1, *arrays)
        if variant == FLAG_PER_LAYER and not int(changed[level]):  # waits for the device
            break
    return distances


def measure_flag_copy(session: Session) -> Iterator[Record]:
    """Yield the time of setting a flag and copying it to the host."""
    flag = session.xp.zeros(1, np.int32)
    copies = lambda: [(flag.fill(1), to_host(flag)) for _ in range(200)]  # noqa: E731
    best_ms = min(session.clock.ms(copies) for _ in range(3))
    yield {"table": "flag copy", "flag_us": float(f"{best_ms * 5:.4g}")}


library = Library("rapidsgraph")
for variant in (ONE_LAUNCH, PER_LAYER, FLAG_PER_LAYER):
    library.add("flag", variant, partial(search, variant=variant), prepare_search)
