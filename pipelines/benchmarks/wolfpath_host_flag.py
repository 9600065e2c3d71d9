"""BFS whose host checks a flag after each layer, and the same search in one launch.

One kernel goes over the edges of a layer (wolfpath_host_flag.cu, and its twins here), as in CuSha
and WolfPath. Four variants differ in who starts the next layer, and in whether distances pass
through the shared memory of a block. All of them must end with the distances that
`rapidsgraph.verify` has passed.

References
----------
.. [1] H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing algorithms
   on GPU", Int. J. Parallel Program. 47, 2019. https://doi.org/10.1007/s10766-017-0533-y,
   tables 2 and 3, section 4.5.1 and figure 9.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import prange

from pipelines.benchmarks import harness, layered_streaming, timing
from pipelines.benchmarks.answers import result_arrays
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Effort, Session, Step
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.timing import Clock
from pipelines.benchmarks.wolfpath import (
    FLAG_PER_LAYER,
    LAUNCH_PER_LAYER,
    ONE_LAUNCH,
    SHARED_MEMORY,
)
from rapidsgraph import device
from rapidsgraph.device.arrays import Array
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.graph.local_graph import LocalGraph
from rapidsgraph.kernels.jit import parallel, serial

SOURCE = Path(__file__).with_suffix(".cu")
CHUNK_EDGES = 2048  # of a block in shared memory; passed to the kernel
THREADS = 1024
NUM_CHUNKS = 64  # of a layer's edges, on a CPU


@dataclass
class EdgeLayers:
    """The edges that a root reaches, by the distance of their sources, in arrays of `xp`."""

    xp: Any
    root: int
    vertices: int
    num_layers: int
    starts: Array  # int64, num_layers + 1
    sources: Array  # int32
    destinations: Array

    @property
    def num_edges(self) -> int:
        return self.sources.size

    def arguments(self) -> tuple[Array, ...]:
        """Return the arrays that `search` takes."""
        return self.starts, self.sources, self.destinations

    def chunk_arguments(self) -> tuple[Array, ...]:
        """Return the arrays of `search_in_shared`: the edges in chunks with local vertices."""
        xp = self.xp
        starts = self.starts if xp is np else self.starts.get()
        cuts = [np.arange(start, stop, CHUNK_EDGES) for start, stop in itertools.pairwise(starts)]
        layer_chunks = np.concatenate([[0], np.cumsum([cut.size for cut in cuts])])
        chunk_starts = xp.asarray(np.concatenate([*cuts, starts[-1:]]).astype(np.int64))
        num_chunks = chunk_starts.size - 1
        edges = xp.arange(self.num_edges, dtype=np.int64)
        chunk_of_edge = xp.searchsorted(chunk_starts, edges, side="right") - 1
        keys = (chunk_of_edge.astype(np.int64) << 32) | self.destinations
        unique_keys, local_ids = xp.unique(keys, return_inverse=True)
        vertex_starts = xp.searchsorted(unique_keys >> 32, xp.arange(num_chunks + 1))
        vertex_starts = vertex_starts.astype(np.int64)
        local_ids = (local_ids - vertex_starts[chunk_of_edge]).astype(np.uint16)
        vertices = (unique_keys & 0x7FFFFFFF).astype(np.int32)
        layer_chunks = xp.asarray(layer_chunks.astype(np.int64))
        return layer_chunks, chunk_starts, vertex_starts, vertices, self.sources, local_ids


def split_into_layers(graph: LocalGraph, root: int, distances: Array) -> EdgeLayers:
    """Return the layers from a root, given its verified int32 distances (-1: unreached)."""
    xp, csr = graph.xp, graph.csr
    sources = row_indices(csr)
    levels = distances[sources].astype(np.int64)
    keys = levels * max(sources.size, 1) + xp.arange(sources.size, dtype=np.int64)
    order = xp.argsort(keys)[int((levels < 0).sum()) :]
    num_layers = int(distances.max()) + 1
    starts = xp.searchsorted(levels[order], xp.arange(num_layers + 1)).astype(np.int64)
    edges = sources[order], csr.neighbors[order].astype(np.int32)
    return EdgeLayers(xp, root, graph.num_vertices, num_layers, starts, *edges)


# Twins of the CUDA kernels


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


@serial
def search_in_shared(
    start_level, stop_level, layer_chunks, chunk_starts, vertex_starts, local_vertices, sources,
    local_ids, distances, changed, num_arrived,
):  # fmt: skip
    for level in range(start_level, stop_level):
        for chunk in range(layer_chunks[level], layer_chunks[level + 1]):
            vertices = local_vertices[vertex_starts[chunk] : vertex_starts[chunk + 1]]
            values = distances[vertices]
            for edge in range(chunk_starts[chunk], chunk_starts[chunk + 1]):
                if distances[sources[edge]] == level and values[local_ids[edge]] == -1:
                    values[local_ids[edge]] = level + 1
                    changed[level] = 1
            for index in range(values.size):
                if values[index] == level + 1:
                    distances[vertices[index]] = level + 1
        if changed[level] == 0:
            break


TWINS = {"search": search, "search_in_shared": search_in_shared}


# Launches


def cuda_source() -> str:
    """Return the CUDA source, with the package's grid barrier before it."""
    grid = device.KERNELS / "grid.cuh"
    return "".join(f'#line 1 "{path.as_posix()}"\n{path.read_text()}' for path in (grid, SOURCE))


def compile_options(source: str) -> tuple[str, ...]:
    """Return the compiler options that define the constants of the CUDA source."""
    return f"-DCHUNK_EDGES={CHUNK_EDGES}", *device.constant_macros(source)


@functools.cache
def cuda_function(entry: str, cooperative: bool) -> tuple[Any, int]:
    """Return a kernel, and the number of blocks of its launches, the same for all variants."""
    import cupy

    def compile_kernel(cooperative: bool) -> Any:
        source = cuda_source()
        options = ("-std=c++17", *compile_options(source))
        module = cupy.RawModule(code=source, options=options, enable_cooperative_groups=cooperative)
        return module.get_function(entry)

    blocks = device.resident_blocks(compile_kernel(True), THREADS, 0)
    return compile_kernel(cooperative), blocks


def launcher(xp: Any, entry: str, cooperative: bool) -> Callable[..., None]:
    """Return a function of (start_level, stop_level, *arrays) that launches a kernel.

    On a GPU it does not wait for the kernel.
    """
    if xp is np:
        return TWINS[entry]
    function, blocks = cuda_function(entry, cooperative)

    def launch(start_level: int, stop_level: int, *arrays: Array) -> None:
        levels = np.int64(start_level), np.int64(stop_level)
        function((blocks,), (THREADS,), (*levels, *arrays))

    return launch


def flag_reader(xp: Any, changed: Array) -> Callable[[int], bool]:
    """Return a function that waits for the device and returns whether a layer had changes."""
    if xp is np:
        return lambda level: bool(changed[level])
    runtime = xp.cuda.runtime
    memory = xp.cuda.alloc_pinned_memory(changed.itemsize)
    flag = np.frombuffer(memory, changed.dtype, 1)
    target, base, stream = flag.ctypes.data, changed.data.ptr, xp.cuda.get_current_stream()

    def read(level: int) -> bool:
        address = base + level * changed.itemsize
        runtime.memcpyAsync(target, address, changed.itemsize, 2, stream.ptr)
        stream.synchronize()
        return bool(flag[0])

    return read


class Search:
    """One variant of the search of a graph's layers; call `reset` before each `run`."""

    def __init__(self, layers: EdgeLayers, variant: str) -> None:
        xp, self.layers, self.variant = layers.xp, layers, variant
        self.distances = xp.empty(layers.vertices, np.int32)
        self.changed = xp.empty(layers.num_layers, np.int32)
        self.num_arrived = xp.empty(1, np.uint64)
        in_shared = variant == SHARED_MEMORY
        edges = layers.chunk_arguments() if in_shared else layers.arguments()
        self.arguments = *edges, self.distances, self.changed, self.num_arrived
        self.is_one_launch = variant in (ONE_LAUNCH, SHARED_MEMORY)
        entry = "search_in_shared" if in_shared else "search"
        self.launch = launcher(xp, entry, cooperative=self.is_one_launch)
        self.is_changed = flag_reader(xp, self.changed)
        self.num_launches = self.num_copies = 0

    def reset(self) -> None:
        """Set the initial distances and flags."""
        self.distances.fill(-1)
        self.distances[self.layers.root] = 0
        self.changed.fill(0)
        self.num_arrived.fill(0)

    def run(self) -> None:
        """Search all layers."""
        if self.is_one_launch:
            self.launch(0, self.layers.num_layers, *self.arguments)
            self.num_launches, self.num_copies = 1, 0
            return
        self.num_launches, self.num_copies = 0, 0
        for level in range(self.layers.num_layers):
            self.launch(level, level + 1, *self.arguments)
            self.num_launches += 1
            if self.variant == FLAG_PER_LAYER:
                self.num_copies += 1
                if not self.is_changed(level):
                    break


def variants(xp: Any) -> tuple[str, ...]:
    """Return the variants; a CPU has no shared memory."""
    on_cpu = (ONE_LAUNCH, LAUNCH_PER_LAYER, FLAG_PER_LAYER)
    return on_cpu if xp is np else (*on_cpu, SHARED_MEMORY)


def verified_distances(graph: LocalGraph, start: int) -> Array:
    """Return int32 distances by id that `rapidsgraph.verify` has passed, -1 where unreached."""
    answer = layered_streaming.verified_results(graph, start, ["bfs"])["bfs"]
    return result_arrays(answer, graph.xp)["distance"].astype(np.int32)


def measure(workload: Workload, session: Session, effort: Effort, step: Step) -> Iterator[Record]:
    """Yield the records of all variants, which take turns."""
    clock, start = session.clock, workload.start
    step(f"{workload.name}: layers of edges")
    reference = verified_distances(workload.graph, start)
    layers = split_into_layers(workload.graph, start, reference)
    rows: dict[str, Record] = {}
    jobs: dict[str, Callable[[], float]] = {}
    for variant in variants(session.xp):
        step(f"{workload.name}: {variant}")
        row = rows[variant] = {
            "table": "flag", "who": "here", "graph": workload.name, "how": variant,
            "vertices": layers.vertices, "edges": layers.num_edges, "layers": layers.num_layers,
        }  # fmt: skip
        if job := harness.try_call(row, partial(prepare_job, row, layers, reference, clock)):
            jobs[variant] = job
    step(f"{workload.name}: taking turns")
    times = timing.rounds(jobs, effort.rounds, effort.build_budget, clock)
    for variant, own_times in times.items():
        row = rows[variant]
        row["run_ms"] = timing.summary(own_times)
        row["layer_us"] = float(f"{row['run_ms']['median'] / layers.num_layers * 1e3:.4g}")
        row["by_one"] = timing.paired_ratio(own_times, times.get(ONE_LAUNCH, []))
    yield from rows.values()


def prepare_job(
    row: Record, layers: EdgeLayers, reference: Array, clock: Clock
) -> Callable[[], float] | None:
    """Check a variant; return the job that times it, or None if it is wrong."""
    search = Search(layers, row["how"])
    search.reset()
    search.run()
    num_wrong = int((search.distances != reference).sum())
    row |= {"launches": search.num_launches, "copies": search.num_copies}
    row["check"] = f"wrong: {num_wrong} distances" if num_wrong else "ok"
    if num_wrong:
        return None

    def job() -> float:
        search.reset()
        return clock.ms(search.run)

    return job
