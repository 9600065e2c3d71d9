"""BFS whose host looks at a flag after each layer, beside the same search in one launch.

Means: one kernel over the edges of a layer (flagged.cu, and its twins here), as CuSha's and
  WolfPath's are. It runs in four ways, which differ in who starts the next layer, and in whether
  distances pass through the shared memory of a block. Every way must end with the distances that
  `rapidsgraph.verify` has passed.
Reference: Zhu et al., WolfPath, 2017, tables 2 and 3, section 4.5.1 and figure 9.
"""

import functools
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numba import prange

from pipelines.benchmarks import command, streams, timing
from pipelines.benchmarks.wolfpath import FLAG, LAUNCHES, ONE, SHARED
from rapidsgraph import device
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.kernels import parallel, serial

SOURCE = Path(__file__).with_suffix(".cu")
CHUNK = 2048  # edges of a block in shared memory; flagged.cu agrees
THREADS = 1024
PARTS = 64  # of a layer's edges, on a CPU


@dataclass
class Layers:
    """The edges that a root reaches, by the distance of their sources, in arrays of `xp`."""

    xp: object
    root: int
    vertices: int
    layers: int
    starts: object  # int64, layers + 1 of them
    sources: object  # int32
    destinations: object

    @property
    def edges(self):
        return self.sources.size

    def plain(self):
        """What `search` is given."""
        return self.starts, self.sources, self.destinations

    def chunked(self):
        """What `search_in_shared` is given: the same edges in chunks with vertices of their own."""
        xp = self.xp
        starts = self.starts if xp is np else self.starts.get()
        cuts = [np.arange(*pair, CHUNK) for pair in zip(starts, starts[1:], strict=False)]
        layer_chunks = np.concatenate([[0], np.cumsum([cut.size for cut in cuts])])
        chunk_starts = xp.asarray(np.concatenate([*cuts, starts[-1:]]).astype(np.int64))
        chunks = chunk_starts.size - 1
        edges = xp.arange(self.edges, dtype=np.int64)
        of_chunk = xp.searchsorted(chunk_starts, edges, side="right") - 1
        keys = (of_chunk.astype(np.int64) << 32) | self.destinations
        found, places = xp.unique(keys, return_inverse=True)
        vertex_starts = xp.searchsorted(found >> 32, xp.arange(chunks + 1)).astype(np.int64)
        places = (places - vertex_starts[of_chunk]).astype(np.uint16)
        local = (found & 0x7FFFFFFF).astype(np.int32)
        layer_chunks = xp.asarray(layer_chunks.astype(np.int64))
        return layer_chunks, chunk_starts, vertex_starts, local, self.sources, places


def layers_of(graph, root, distances):
    """Layers of a Graph from a root, whose verified `distances` (-1: unreached) are int32."""
    xp, lists = graph.xp, graph.csr
    sources = row_indices(lists)
    levels = distances[sources].astype(np.int64)
    keys = levels * max(sources.size, 1) + xp.arange(sources.size, dtype=np.int64)
    order = xp.argsort(keys)[int((levels < 0).sum()) :]
    layers = int(distances.max()) + 1
    starts = xp.searchsorted(levels[order], xp.arange(layers + 1)).astype(np.int64)
    edges = sources[order], lists.neighbors[order].astype(np.int32)
    return Layers(xp, root, graph.num_vertices, layers, starts, *edges)


# The twins


@serial
def _expand(level, low, high, sources, destinations, distances):
    found = False
    for edge in range(low, high):
        if distances[sources[edge]] == level and distances[destinations[edge]] == -1:
            distances[destinations[edge]] = level + 1
            found = True
    return found


@parallel
def search(first, last, layer_starts, sources, destinations, distances, changed, arrived):
    for level in range(first, last):
        start, count = layer_starts[level], layer_starts[level + 1] - layer_starts[level]
        if count < device.MIN_PARALLEL_SIZE:
            if _expand(level, start, start + count, sources, destinations, distances):
                changed[level] = 1
        else:
            for part in prange(PARTS):
                low, high = start + part * count // PARTS, start + (part + 1) * count // PARTS
                if _expand(level, low, high, sources, destinations, distances):
                    changed[level] = 1
        if changed[level] == 0:
            break


@serial
def search_in_shared(
    first, last, layer_chunks, chunk_starts, vertex_starts, local_vertices, sources, places,
    distances, changed, arrived,
):  # fmt: skip
    for level in range(first, last):
        for chunk in range(layer_chunks[level], layer_chunks[level + 1]):
            vertices = local_vertices[vertex_starts[chunk] : vertex_starts[chunk + 1]]
            values = distances[vertices]
            for edge in range(chunk_starts[chunk], chunk_starts[chunk + 1]):
                if distances[sources[edge]] == level and values[places[edge]] == -1:
                    values[places[edge]] = level + 1
                    changed[level] = 1
            for place in range(values.size):
                if values[place] == level + 1:
                    distances[vertices[place]] = level + 1
        if changed[level] == 0:
            break


TWINS = {"search": search, "search_in_shared": search_in_shared}


# Launches


def cuda_source():
    """The text that is compiled for a GPU."""
    grid = device.KERNELS / "grid.cuh"
    return "".join(f'#line 1 "{path.as_posix()}"\n{path.read_text()}' for path in (grid, SOURCE))


@functools.cache
def cuda_function(entry, cooperative):
    """A kernel of flagged.cu and the blocks that it is launched with, the same in every way."""
    import cupy

    def compiled(cooperative):
        source = cuda_source()
        options = ("-std=c++17", *device.constant_macros(source))
        module = cupy.RawModule(code=source, options=options, enable_cooperative_groups=cooperative)
        return module.get_function(entry)

    blocks = device.resident_blocks(compiled(True), THREADS, 0)
    return compiled(cooperative), blocks


def launcher(xp, entry, cooperative):
    """A function of (first, last, *arrays) that runs a kernel, on a GPU without waiting for it."""
    if xp is np:
        return TWINS[entry]
    function, blocks = cuda_function(entry, cooperative)

    def launch(first, last, *arrays):
        function((blocks,), (THREADS,), (np.int64(first), np.int64(last), *arrays))

    return launch


def flag_reader(xp, changed):
    """A function of a layer that waits for the device, and says whether it changed anything."""
    if xp is np:
        return lambda level: bool(changed[level])
    runtime = xp.cuda.runtime
    memory = xp.cuda.alloc_pinned_memory(changed.itemsize)
    flag = np.frombuffer(memory, changed.dtype, 1)
    target, first, stream = flag.ctypes.data, changed.data.ptr, xp.cuda.get_current_stream()

    def read(level):
        at = first + level * changed.itemsize
        runtime.memcpyAsync(target, at, changed.itemsize, 2, stream.ptr)
        stream.synchronize()
        return bool(flag[0])

    return read


class Search:
    """One way of searching a graph's layers; `reset` before each `run`."""

    def __init__(self, layers, how):
        xp, self.layers, self.how = layers.xp, layers, how
        self.distances = xp.empty(layers.vertices, np.int32)
        self.changed = xp.empty(layers.layers, np.int32)
        self.arrived = xp.empty(1, np.uint64)
        entry = "search_in_shared" if how == SHARED else "search"
        given = layers.chunked() if how == SHARED else layers.plain()
        self.arrays = *given, self.distances, self.changed, self.arrived
        self.launch = launcher(xp, entry, cooperative=how in (ONE, SHARED))
        self.is_changed = flag_reader(xp, self.changed)
        self.launches = self.copies = 0

    def reset(self):
        self.distances.fill(-1)
        self.distances[self.layers.root] = 0
        self.changed.fill(0)
        self.arrived.fill(0)

    def run(self):
        if self.how in (ONE, SHARED):
            self.launch(0, self.layers.layers, *self.arrays)
            self.launches, self.copies = 1, 0
            return
        self.launches, self.copies = 0, 0
        for level in range(self.layers.layers):
            self.launch(level, level + 1, *self.arrays)
            self.launches += 1
            if self.how == FLAG:
                self.copies += 1
                if not self.is_changed(level):
                    break


def ways(xp):
    """A CPU has no shared memory."""
    return (ONE, LAUNCHES, FLAG) if xp is np else (ONE, LAUNCHES, FLAG, SHARED)


def verified(graph, start):
    """Distances by id that `rapidsgraph.verify` has passed, int32, -1 where unreached."""
    truth = streams.truths(graph, start, ["bfs"])["bfs"]
    return streams.arrays_of(truth, graph.xp)["distance"].astype(np.int32)


def measure(workload, session, effort, step):
    """Records of BFS in each way, which take turns."""
    clock, start = session.clock, workload.start
    step(f"{workload.name}: layers of edges")
    truth = verified(workload.graph, start)
    layers = layers_of(workload.graph, start, truth)
    rows, jobs = {}, {}
    for how in ways(session.xp):
        step(f"{workload.name}: {how}")
        row = rows[how] = {
            "table": "flag", "who": "here", "graph": workload.name, "how": how,
            "vertices": layers.vertices, "edges": layers.edges, "layers": layers.layers,
        }  # fmt: skip
        if job := command.attempted(row, partial(prepared, row, layers, truth, clock)):
            jobs[how] = job
    step(f"{workload.name}: taking turns")
    times = timing.rounds(jobs, effort.rounds, effort.build, clock)
    for how, taken in times.items():
        row = rows[how]
        row["run_ms"] = timing.summary(taken)
        row["layer_us"] = float(f"{row['run_ms']['median'] / layers.layers * 1e3:.4g}")
        row["by_one"] = timing.paired_ratio(taken, times.get(ONE, []))
    yield from rows.values()


def prepared(row, layers, truth, clock):
    """The job that times a way, once its answer has been checked; else None."""
    search = Search(layers, row["how"])
    search.reset()
    search.run()
    wrong = int((search.distances != truth).sum())
    row |= {"launches": search.launches, "copies": search.copies}
    row["check"] = f"wrong: {wrong} distances" if wrong else "ok"
    if wrong:
        return None

    def job():
        search.reset()
        return clock.ms(search.run)

    return job
