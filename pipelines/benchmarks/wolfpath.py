"""WolfPath's figures, its claims beside our measurements, and BFS with a host flag per layer.

One kernel goes over the edges of a layer (wolfpath.cu, and its twins here), as in CuSha and
WolfPath. Four variants differ in who starts the next layer, and in whether distances pass through
the shared memory of a block.

References
----------
.. [1] H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing algorithms
   on GPU", Int. J. Parallel Program. 47, 2019. https://doi.org/10.1007/s10766-017-0533-y,
   sections 2 and 5. Its GPU is a GTX 780 Ti with 3 GB.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import prange

import rapidsgraph as rg
from pipelines.benchmarks import harness, timing
from pipelines.benchmarks.answers import result_arrays
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record, claim_row
from rapidsgraph import device
from rapidsgraph.device.arrays import Array
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.kernels.jit import parallel, serial

EDGES = {  # tables 1 and 4
    "RoadNet-CA": 5_533_214,
    "amazon0601": 3_387_388,
    "web-Google": 5_105_039,
    "LiveJournal": 68_993_773,
    "orkut": 117_185_083,
    "hollywood2011": 228_985_632,
    "arabic2005": 639_999_458,
    "uk2002": 298_113_762,
}
IN_MEMORY = {  # table 5: iterations and milliseconds in all of WolfPath, of CuSha
    "bfs": {
        "RoadNet-CA": ((554, 8.1), (551, 203.75)),
        "amazon0601": ((35, 2.21), (35, 26.68)),
        "web-Google": ((32, 3.27), (21, 19.58)),
        "LiveJournal": ((14, 48.22), (9, 159.82)),
    },
    "sssp": {
        "RoadNet-CA": ((554, 8.71), (550, 278.78)),
        "amazon0601": ((35, 2.33), (35, 51.92)),
        "web-Google": ((32, 3.84), (20, 24.93)),
        "LiveJournal": ((14, 49.79), (9, 307.31)),
    },
}
BY_FLAG = {  # table 2: iterations and milliseconds of CuSha with the flag, and without it
    "RoadNet-CA": ((551, 195.97), (554, 1.98)),
    "amazon0601": ((35, 22.3), (35, 0.15)),
    "web-Google": ((21, 12.83), (32, 0.14)),
    "LiveJournal": ((9, 70.96), (14, 0.076)),
}
FLAG_COST = {  # table 3: milliseconds an iteration of copying the flag, of computing
    "RoadNet-CA": (0.36, 0.004),
    "amazon0601": (0.63, 0.004),
    "web-Google": (0.6, 0.004),
    "LiveJournal": (7.9, 0.005),
}
STREAMED = {  # table 6: iterations and seconds
    "bfs": {
        "orkut": (7, 0.02),
        "hollywood2011": (16, 0.09),
        "arabic2005": (51, 0.2),
        "uk2002": (49, 0.15),
    },
    "sssp": {
        "orkut": (7, 0.02),
        "hollywood2011": (16, 0.1),
        "arabic2005": (51, 0.23),
        "uk2002": (49, 0.16),
    },
}
PREPROCESSING = {  # table 7, seconds
    "amazon0601": 0.79,
    "LiveJournal": 14.68,
    "web-Google": 1.46,
    "orkut": 21.4,
    "hollywood2011": 38.6,
    "uk2002": 59.78,
    "arabic2005": 120.3,
}
SPACE, CUSHA_SPACE = 1.37, 2.81  # figure 8: times CSR
PER_LAYER, FLAG_PER_LAYER = "a launch a layer", "a launch and a flag a layer"
ONE_LAUNCH, SHARED_MEMORY = "one launch", "one launch, shared memory"
NO_OVERLAP = "one thread, one buffer"
SOURCE = Path(__file__).with_suffix(".cu")
CHUNK_EDGES, THREADS = 2048, 1024  # of a block in shared memory; passed to the kernel
NUM_CHUNKS = 64  # of a layer's edges, on a CPU


def paper_rows() -> Iterator[Record]:
    """Yield the rows of the paper's tables 2, 3, 5, 6 and 7."""

    def row(table: str, number: int, graph: str, who: str, **columns: Any) -> Record:
        about = {"table": table, "who": f"{who}, table {number}", "graph": graph}
        return about | {"edges": EDGES[graph], "of_paper": True} | columns

    for graph, both in BY_FLAG.items():
        for how, (layers, ms) in zip(("with the flag", "without it"), both, strict=True):
            yield row("flag", 2, graph, "CuSha", how=how, layers=layers, run_ms=ms)
    for graph, (copy, compute) in FLAG_COST.items():
        yield row("iterations", 3, graph, "CuSha", algorithm="bfs", flag_us=copy * 1e3,
                  compute_us=compute * 1e3)  # fmt: skip
    for algorithm, graphs in IN_MEMORY.items():
        for graph, systems in graphs.items():
            for who, (layers, ms) in zip(("WolfPath", "CuSha"), systems, strict=True):
                yield row("iterations", 5, graph, who, algorithm=algorithm, layers=layers,
                          run_ms=ms)  # fmt: skip
    for algorithm, times in STREAMED.items():
        for graph, (layers, seconds) in times.items():
            rate = float(f"{EDGES[graph] / seconds / 1e6:.4g}")
            yield row("streamed", 6, graph, "WolfPath", algorithm=algorithm, layers=layers,
                      run_ms=seconds * 1e3, edges_per_us=rate)  # fmt: skip
    for graph, seconds in PREPROCESSING.items():
        cost = float(f"{seconds / EDGES[graph] * 1e9:.4g}")
        yield row("layered build", 7, graph, "WolfPath", whole_ms=seconds * 1e3, ns_per_edge=cost)


def claims(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield a sentence on each table or figure that has measurements."""
    own = [row for row in rows if row.get("check") == "ok"]
    flags = [row["by_one"] for row in own if row.get("how") == FLAG_PER_LAYER]
    if flags:
        text = "table 2: with a flag that the host reads, BFS takes 92 to 934 times as long"
        yield claim_row("WolfPath", text, flags)
    copies = [row["flag_us"] * row["layers"] / row["run_ms"]["median"] / 1e3 for row in own
              if row.get("flag_us") and row["algorithm"] == "bfs"]  # fmt: skip
    if copies:
        text = "table 3: copying a flag takes 90 to 1580 times as long as computing an iteration"
        yield claim_row("WolfPath", text, copies)
    rates = [row["edges_per_us"] / 1987 for row in own if row.get("edges_per_us")]
    if rates:
        text = "table 6: BFS of graphs beyond memory processes 1,987 edges per µs or more"
        yield claim_row("WolfPath", text, rates)
    costs = [row["ns_per_edge"] / 286 for row in own if row.get("ns_per_edge")]
    if costs:
        text = "table 7: preprocessing takes 286 ns per edge at most"
        yield claim_row("WolfPath", text, costs, max(costs) <= 1)
    sizes = [row["by_csr"] for row in own if row.get("by_csr")]
    if sizes:
        text = f"figure 8: the layered list takes {SPACE} times as much as CSR, CuSha {CUSHA_SPACE}"
        yield claim_row("WolfPath", text, sizes, max(sizes) <= SPACE)
    times = {(row["graph"], row["algorithm"], row["how"]): row["run_ms"]["median"]
             for row in own if row["table"] == "streamed"}  # fmt: skip
    ratios = [ms / times[(*key, "streamed")] for (*key, how), ms in times.items()
              if how == NO_OVERLAP and (*key, "streamed") in times]  # fmt: skip
    if ratios:
        text = "figure 9: without copying while computing it takes longer"
        yield claim_row("WolfPath", text, ratios)
    shared = [1 / row["by_one"] for row in own if row.get("how") == SHARED_MEMORY]
    if shared:
        yield claim_row("WolfPath", "figure 9: BFS is faster with shared memory", shared)


# BFS by layers, with and without a flag on the host


@serial
def _expand(level, start, stop, sources, destinations, distances):
    has_changed = False
    for edge in range(start, stop):
        if distances[sources[edge]] == level and distances[destinations[edge]] == -1:
            distances[destinations[edge]] = level + 1
            has_changed = True
    return has_changed


@parallel
def search(
    start_level, stop_level, layer_starts, sources, destinations, distances, changed, num_arrived,
):  # fmt: skip
    for level in range(start_level, stop_level):
        layer_start = layer_starts[level]
        count = layer_starts[level + 1] - layer_start
        if count < device.MIN_PARALLEL_SIZE:
            if _expand(level, layer_start, layer_start + count, sources, destinations, distances):
                changed[level] = 1
        else:
            for chunk in prange(NUM_CHUNKS):
                start = layer_start + chunk * count // NUM_CHUNKS
                stop = layer_start + (chunk + 1) * count // NUM_CHUNKS
                if _expand(level, start, stop, sources, destinations, distances):
                    changed[level] = 1
        if changed[level] == 0:
            break


def chunk_arguments(xp: Any, layers: Sequence[Array]) -> tuple[Array, ...]:
    """Return the arrays of `search_in_shared`: the edges in chunks with local vertices."""
    starts, sources, destinations = layers
    bounds = itertools.pairwise(starts.get() if hasattr(starts, "get") else starts)
    cuts = [np.arange(start, stop, CHUNK_EDGES) for start, stop in bounds]
    layer_chunks = np.concatenate([[0], np.cumsum([cut.size for cut in cuts])])
    chunk_starts = xp.asarray(np.concatenate([*cuts, [sources.size]]).astype(np.int64))
    edges = xp.arange(sources.size, dtype=np.int64)
    chunk_of_edge = xp.searchsorted(chunk_starts, edges, side="right") - 1
    keys = (chunk_of_edge.astype(np.int64) << 32) | destinations
    unique_keys, local_ids = xp.unique(keys, return_inverse=True)
    vertex_starts = xp.searchsorted(unique_keys >> 32, xp.arange(chunk_starts.size))
    vertex_starts = vertex_starts.astype(np.int64)
    local_ids = (local_ids - vertex_starts[chunk_of_edge]).astype(np.uint16)
    vertices = (unique_keys & 0x7FFFFFFF).astype(np.int32)
    layer_chunks = xp.asarray(layer_chunks.astype(np.int64))
    return layer_chunks, chunk_starts, vertex_starts, vertices, sources, local_ids


def split_into_layers(graph: Any, distances: Array) -> tuple[Array, Array, Array]:
    """Return (starts, sources, destinations) of the reached edges by the distance of the source."""
    xp, csr = graph.xp, graph.csr
    sources = row_indices(csr)
    levels = distances[sources].astype(np.int64)
    keys = levels * max(sources.size, 1) + xp.arange(sources.size, dtype=np.int64)
    order = xp.argsort(keys)[int((levels < 0).sum()) :]
    starts = xp.searchsorted(levels[order], xp.arange(int(distances.max()) + 2)).astype(np.int64)
    return starts, sources[order], csr.neighbors[order].astype(np.int32)


def compile_options(source: str) -> tuple[str, ...]:
    """Return the compiler options that define the constants of the CUDA source."""
    return f"-DCHUNK_EDGES={CHUNK_EDGES}", *device.constant_macros(source)


def cuda_source() -> str:
    """Return the CUDA source, with the package's grid barrier before it."""
    grid = device.KERNELS / "grid.cuh"
    return "".join(f'#line 1 "{path.as_posix()}"\n{path.read_text()}' for path in (grid, SOURCE))


@functools.cache
def cuda_launcher(entry: str, cooperative: bool) -> Callable[..., None]:
    """Return a function of (start level, stop level, *arrays) that does not wait."""
    import cupy

    def compile_kernel(cooperative: bool) -> Any:
        source = cuda_source()
        options = ("-std=c++17", *compile_options(source))
        module = cupy.RawModule(code=source, options=options, enable_cooperative_groups=cooperative)
        return module.get_function(entry)

    blocks = device.resident_blocks(compile_kernel(True), THREADS, 0)  # the same for all variants
    function = compile_kernel(cooperative)

    def launch(start_level: int, stop_level: int, *arrays: Array) -> None:
        levels = np.int64(start_level), np.int64(stop_level)
        function((blocks,), (THREADS,), (*levels, *arrays))

    return launch


def prepare_search(
    xp: Any, layers: Sequence[Array], root: int, vertices: int, variant: str
) -> tuple[Callable[[], None], Callable[[], int], Array]:
    """Return (reset, the function that searches and counts launches, its distances)."""
    num_layers = layers[0].size - 1
    distances, changed = xp.empty(vertices, np.int32), xp.empty(num_layers, np.int32)
    num_arrived = xp.empty(1, np.uint64)
    edges = chunk_arguments(xp, layers) if variant == SHARED_MEMORY else tuple(layers)
    is_one = variant in (ONE_LAUNCH, SHARED_MEMORY)
    entry = "search_in_shared" if variant == SHARED_MEMORY else "search"
    launch = search if xp is np else cuda_launcher(entry, is_one)
    arguments = *edges, distances, changed, num_arrived

    def reset() -> None:
        distances.fill(-1)
        distances[root] = 0
        changed.fill(0)
        num_arrived.fill(0)

    def run() -> int:
        for level in (0,) if is_one else range(num_layers):
            launch(level, num_layers if is_one else level + 1, *arguments)
            if variant == FLAG_PER_LAYER and not int(changed[level]):  # waits for the device
                return level + 1
        return 1 if is_one else num_layers

    return reset, run, distances


def measure_flags(workload: Workload, session: Session) -> Iterator[Record]:
    """Yield the records of all variants, which take turns."""
    xp, graph, start = session.xp, workload.graph, workload.start
    answer = rg.bfs(graph, start)
    rg.verify.bfs(graph, answer, start)
    reference = result_arrays(answer, xp)["distance"].astype(np.int32)
    layers = split_into_layers(graph, reference)
    variants = [ONE_LAUNCH, PER_LAYER, FLAG_PER_LAYER, *([SHARED_MEMORY] if xp is not np else [])]

    def prepare(variant: str, row: Record) -> harness.Job | None:
        reset, run, distances = prepare_search(xp, layers, start, workload.vertices, variant)
        reset()
        row["launches"] = run()
        num_wrong = int((distances != reference).sum())
        row["check"] = f"wrong: {num_wrong} distances" if num_wrong else "ok"
        return None if num_wrong else lambda: (reset(), session.clock.ms(run))[1]

    about = {"table": "flag", "who": "here", "graph": workload.name, "vertices": workload.vertices,
             "edges": int(layers[1].size), "layers": int(layers[0].size) - 1}  # fmt: skip
    contenders = [(about | {"how": variant}, partial(prepare, variant)) for variant in variants]
    measured = harness.take_turns(contenders, session)
    for row, values in measured:
        row["by_one"] = timing.paired_ratio(values, measured[0][1])
        yield row
