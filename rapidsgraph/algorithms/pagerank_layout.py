"""The adjacency layout of PageRank's method `auto`, and the launch of its iterations.

Rows are sorted by descending in-degree, in classes. On a GPU, the longest are cut into chunks that
several warps sum. A warp sums each of the next ones, and the short rest is in slices of 32 rows
whose entries are interleaved (sliced ELLPACK [1]_): rows of a slice have nearly equal lengths, so
few entries are padding and no lane is idle. A CPU core sums a row of any length at once.

Gathers of a skewed graph are bound by the L2 cache. On a GPU, contributions of the vertices with
most out-edges therefore come first, and each multiprocessor caches them in its shared memory.

References
----------
.. [1] M. Kreutzer et al., "A unified sparse matrix data format for efficient general sparse
   matrix-vector multiplication on modern processors with wide SIMD units", SIAM J. Sci. Comput.
   36(5), 2014. https://doi.org/10.1137/130930352
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import device
from ..device import Array, invert_order
from ..graph.csr import Adjacency, offsets_from_sizes
from ..graph.local_graph import LocalGraph
from ..graph.radix_sort import sort_by_bits
from ..kernels.constants import COOPERATIVE_THREADS, WARP

# A warp sums each row that is longer than a threshold. This is the first one that leaves at most
# MAX_WHOLE_ROWS such rows on a GPU, or else the last one. Thresholds, NARROW_LENGTH and
# PAGERANK_CHUNK must be the largest in-degree of a class of `classify_rows`.
WHOLE_ROW_LENGTHS = (16, 64, 256)
MAX_WHOLE_ROWS = 16_384
MAX_DIRECT_LENGTH = 2**15  # longest row that one warp sums without a layout
NARROW_LENGTH = 4  # longest narrow row
ROWS_PER_THREAD = 8  # of kernels that end with atomic additions to shared counters
WINDOW_ROWS = 1024  # narrow rows that are sorted by length among themselves
LABEL_ROUNDS = 3  # of label propagation
# On a GPU, grouping narrow rows costs as much time as it saves in 20 to 90 iterations if caches do
# not hold the contributions, and in more than 100 if they do.
MIN_GROUPED_ITERATIONS = 50
MIN_GROUPED_BYTES = 2**26
CACHE_BYTES = 192 * 1024  # of shared memory; more would leave too little L1 cache
MIN_CACHED_GATHERS = 0.1  # fraction of gathers that must hit the cache to be worth filling it
SIMILAR_COVERAGE = 0.9  # rows and contributions share an order that covers this much of the best
ZEROED_BUFFERS = ("chunk_sums", "arrived_chunks", "arrived_blocks", "partials")
NUM_CPU_BLOCKS = 64  # vertex ranges with a partial sum each, on a CPU
MIN_BLOCK_SIZE = 2**10  # rows plus arcs of such a range; the kernel allocates memory for each


@dataclass(frozen=True)
class PageRankLayout:
    """Rows of in-neighbors, as the kernel `iterate` in pagerank.cu reads them.

    Attributes
    ----------
    order : int32, shape (rows,)
        The vertex of each row.
    contribution_index : int32, shape (rows,) or (0,)
        Position of each row's contribution; empty if it is the row.
    num_contributions : int
        Number of contributions; padding refers to the position behind them.
    num_cached : int
        Number of first contributions that are cached in shared memory.
    num_isolated : int
        Number of last rows whose vertices have no edges.
    num_dangling : int
        Number of rows whose vertices have no out-edges.
    num_long_rows, num_whole_rows : int
        Number of first rows that are cut into chunks, and that are not in slices.
    num_narrow_slices, num_chunks : int
    chunk_rows, chunk_offsets, row_offsets, slice_offsets, neighbors, weights : array
        Parameters of the kernel. `neighbors` holds positions of contributions, and `weights` are
        of the value type, or empty and Boolean without weights.
    inverse_weights : array of the value type, shape (rows,)
        1 over the weight that leaves the vertex; 0 for a dangling vertex.
    """

    order: Array
    contribution_index: Array
    num_contributions: int
    num_cached: int
    num_isolated: int
    num_dangling: int
    num_long_rows: int
    num_whole_rows: int
    num_narrow_slices: int
    num_chunks: int
    chunk_rows: Array
    chunk_offsets: Array
    row_offsets: Array
    slice_offsets: Array
    neighbors: Array
    weights: Array
    inverse_weights: Array


def should_group(graph: LocalGraph, value_type: type, max_iterations: int) -> bool:
    """Return whether it probably pays off to group the narrow rows of a graph by neighborhood.

    On a CPU they are always grouped: without it, an iteration on a road network takes up to 1.7
    times as long, depending on where its arrays are in memory.
    """
    if graph.num_arcs > 2 * NARROW_LENGTH * graph.num_vertices:  # other rows have most arcs
        return False
    contribution_bytes = graph.num_vertices * np.dtype(value_type).itemsize
    return graph.xp is np or (
        max_iterations >= MIN_GROUPED_ITERATIONS and contribution_bytes >= MIN_GROUPED_BYTES
    )


def arrange(
    csc: Adjacency,
    weights: Array,
    out_degrees: Array,
    out_weights: Array,
    value_type: type,
    *,
    grouped: bool = False,
) -> PageRankLayout:
    """Return the layout of a graph.

    Parameters
    ----------
    csc : Adjacency
        By destination.
    weights : array of `value_type`, shape (arcs,) or (0,)
    out_degrees : numbers, shape (vertices,)
        Number of gathers of each vertex's contribution.
    out_weights : float64, shape (vertices,)
    value_type : numpy.float32 or numpy.float64
    grouped : bool, default False
        Whether to group narrow rows by neighborhood, if they have most arcs.
    """
    rows = order_rows(csc, out_weights)
    if grouped and 2 * rows.counts.narrow_arcs >= csc.neighbors.size:
        rows = _group_neighborhoods(rows, csc)
    sizes = measure_unit_sizes(rows, csc)
    index, vertex_index, num_cached = _index_contributions(rows.order, out_degrees, csc, value_type)
    return build_layout(
        csc, weights, out_weights, value_type, rows, sizes, index, vertex_index, rows.order.size,
        num_cached=num_cached,
    )  # fmt: skip


def read_directly(
    csc: Adjacency, weights: Array, out_weights: Array, value_type: type
) -> PageRankLayout | None:
    """Return the adjacency itself as a layout, for fewer iterations than would pay for another.

    The parameters are those of `arrange`.

    Returns
    -------
    PageRankLayout or None
        Rows that a CPU core, or a warp of a GPU, sums each; None if one is too long for a warp.
    """
    num_rows, xp = out_weights.size, device.array_module(out_weights)
    order, no_indices = device.arange(num_rows, np.int32, xp), device.no_values(np.int32, xp)
    inverse_weights = invert_weights(out_weights, order, value_type)
    if xp is np:
        num_dangling = num_rows - int(np.count_nonzero(inverse_weights))
    else:
        lengths = (*WHOLE_ROW_LENGTHS[:2], MAX_DIRECT_LENGTH)  # of which only the last one matters
        _, read_counts = _classify_rows(csc, out_weights, lengths)
        counts = RowCounts(*read_counts())
        num_dangling = counts.dangling
        if counts.longer_than_third:
            return None
    return PageRankLayout(
        order, contribution_index=no_indices, num_contributions=num_rows, num_cached=0,
        num_isolated=0, num_dangling=num_dangling, num_long_rows=0, num_whole_rows=num_rows,
        num_narrow_slices=0, num_chunks=0, chunk_rows=no_indices, chunk_offsets=no_indices,
        row_offsets=csc.offsets, slice_offsets=csc.offsets[num_rows:], neighbors=csc.neighbors,
        weights=weights if weights.size else device.no_values(bool, xp),
        inverse_weights=inverse_weights,
    )  # fmt: skip


@dataclass(frozen=True)
class RowOrder:
    """Vertices by descending class of in-degree, and how many have which in-degree.

    A class has one in-degree up to 64, two consecutive ones up to 256, and those between powers of
    two above.

    Attributes
    ----------
    order : int32, shape (rows,)
        Up to in-degree 64, vertices with out-edges come first within each in-degree: what is
        gathered is contiguous, and isolated vertices are last.
    read_counts : callable
        Returns the counts of `classify_rows`, and may wait for the GPU.
    """

    order: Array
    read_counts: Callable[[], list[int]]

    @property
    def counts(self) -> RowCounts:
        """The counts of rows."""
        return RowCounts(*self.read_counts())


class RowCounts(NamedTuple):
    """Counts in the order of `classify_rows`.

    Attributes
    ----------
    wide, long : int
        Rows longer than `NARROW_LENGTH`, and than `PAGERANK_CHUNK`.
    longer_than_first, longer_than_second, longer_than_third : int
        Rows longer than each of three lengths, those of `WHOLE_ROW_LENGTHS` in a layout.
    narrow_arcs : int
        Arcs of rows that are not wide.
    isolated, dangling : int
        Rows without any edge, and without out-edges.
    """

    wide: int
    long: int
    longer_than_first: int
    longer_than_second: int
    longer_than_third: int
    narrow_arcs: int
    isolated: int
    dangling: int


def order_rows(csc: Adjacency, out_weights: Array) -> RowOrder:
    """Return the rows of a graph in the order of a layout.

    `out_weights` are float64, and 0 for a dangling vertex.
    """
    keys, read_counts = _classify_rows(csc, out_weights, WHOLE_ROW_LENGTHS)
    return RowOrder(_sort_classes(keys), read_counts)


def _classify_rows(
    csc: Adjacency, out_weights: Array, lengths: tuple[int, int, int]
) -> tuple[Array, Callable[[], list[int]]]:
    """Return the keys of rows by descending class, and a function that returns `RowCounts`.

    `lengths` are those of the fields `longer_than_...`.
    """
    xp, num_rows = device.array_module(out_weights), out_weights.size
    arrays = device.allocate(
        xp, zeroed=("counts",), counts=(len(RowCounts._fields), np.int64), keys=(num_rows, np.int64)
    )
    first_length, second_length, third_length = lengths
    device.launch(
        "pagerank_layout", "classify_rows", size=num_rows // ROWS_PER_THREAD,
        num_rows=num_rows, narrow_length=NARROW_LENGTH, first_length=first_length,
        second_length=second_length, third_length=third_length, offsets=csc.offsets,
        out_weights=out_weights, **arrays,
    )  # fmt: skip
    return arrays["keys"], device.start_reading(arrays["counts"])


def order_by_degree(degrees: Array) -> Array:
    """Return the vertices by descending degree, stably, as int32."""
    keys = device.array_module(degrees).empty(degrees.size, "int64")
    device.launch(
        "pagerank_layout", "rank_values", size=degrees.size,
        num_values=degrees.size, values=degrees, keys=keys,
    )  # fmt: skip
    keys.sort()
    return device.astype(keys, np.int32)


def order_by_magnitude(degrees: Array) -> Array:
    """Return the vertices by descending degree, rounded down to four leading bits, as int32.

    Equal ones are in the order of ids.
    """
    keys = device.array_module(degrees).empty(degrees.size, "int64")
    device.launch(
        "pagerank_layout", "classify_values", size=degrees.size,
        num_values=degrees.size, values=degrees, keys=keys,
    )  # fmt: skip
    return _sort_classes(keys)


def _sort_classes(keys: Array) -> Array:
    """Return the stable order of keys below 256 as int32; the keys are overwritten.

    One pass of a radix sort takes a fraction of the time of a sort by exact degrees.
    """
    if not device.is_on_gpu(keys):
        return np.argsort(keys.astype(np.uint8), kind="stable").astype(np.int32)
    return sort_by_bits(keys, 0, 8, with_positions=True)[1].view(np.int32)


class UnitSizes(NamedTuple):
    """The units of work of an iteration, as in `PageRankLayout`.

    Attributes
    ----------
    num_long_rows, num_whole_rows : int
    chunks : int64, shape (long rows,)
        Number of chunks of each row.
    offsets : int64
        Offsets of the entries of whole rows, and of slices from `num_whole_rows` on.
    read_totals : callable
        Returns the numbers of wide slices, entries and chunks, and may wait for the GPU.
    """

    num_long_rows: int
    num_whole_rows: int
    chunks: Array
    offsets: Array
    read_totals: Callable[[], list[int]]


def measure_unit_sizes(rows: RowOrder, csc: Adjacency) -> UnitSizes:
    """Divide the rows of a graph or of one partition into units of work."""
    num_rows, xp = rows.order.size, device.array_module(csc.neighbors)
    counts, is_gpu = rows.counts, xp is not np
    choices = counts.longer_than_first, counts.longer_than_second, counts.longer_than_third
    num_whole_rows = choices[-1]  # on a CPU, as many rows as possible are in slices
    if is_gpu:
        num_whole_rows = next((n for n in choices if n <= MAX_WHOLE_ROWS), num_whole_rows)
    num_long_rows = min(counts.long, num_whole_rows) if is_gpu else 0
    num_units = num_whole_rows + -(-(num_rows - num_whole_rows) // WARP)
    arrays = device.allocate(
        xp, zeroed=("totals",), totals=(3, np.int64), sizes=(num_units, np.int64),
        chunks=(num_long_rows, np.int64),
    )  # fmt: skip
    device.launch(
        "pagerank_layout", "measure_rows", size=num_rows // ROWS_PER_THREAD,
        num_rows=num_rows, num_long_rows=num_long_rows, num_whole_rows=num_whole_rows,
        narrow_length=NARROW_LENGTH, order=rows.order, offsets=csc.offsets, **arrays,
    )  # fmt: skip
    read_totals = device.start_reading(arrays["totals"])
    offsets = offsets_from_sizes(arrays["sizes"])
    return UnitSizes(num_long_rows, num_whole_rows, arrays["chunks"], offsets, read_totals)


def build_layout(
    csc: Adjacency,
    weights: Array,
    out_weights: Array,
    value_type: type,
    rows: RowOrder,
    sizes: UnitSizes,
    contribution_index: Array,
    vertex_index: Array,
    num_contributions: int,
    *,
    num_cached: int,
) -> PageRankLayout:
    """Return the layout of the rows of a graph or of one partition.

    Parameters
    ----------
    csc, weights, out_weights, value_type
        As for `arrange`, of the rows.
    rows : RowOrder
    sizes : UnitSizes
    contribution_index, num_cached
        As in `PageRankLayout`.
    vertex_index : int32, shape (vertices,)
        Position of each vertex's contribution, including those of other partitions.
    num_contributions : int
        Number of contributions; padding refers to the position behind them.
    """
    order, num_rows, xp = rows.order, rows.order.size, device.array_module(csc.neighbors)
    num_long_rows, num_whole_rows, chunks, offsets, read_totals = sizes
    num_narrow_slices, num_entries, num_chunks = read_totals()
    row_offsets, slice_offsets = offsets[: num_whole_rows + 1], offsets[num_whole_rows:]
    chunk_offsets = chunk_rows = device.no_values(xp.int32, xp)
    if num_long_rows:
        chunk_offsets, chunk_rows = list_chunks(chunks, num_chunks)
    neighbors = xp.empty(num_entries, xp.int32)
    weighted = weights.size > 0
    new_weights = xp.empty(num_entries, value_type) if weighted else weights
    device.launch(
        "pagerank_layout", "arrange", size=WARP * num_rows,
        num_vertices=num_rows, num_contributions=num_contributions, num_whole_rows=num_whole_rows,
        order=order, contribution_index=vertex_index, offsets=csc.offsets, neighbors=csc.neighbors,
        weights=weights, weighted=weighted, row_offsets=row_offsets,
        slice_offsets=slice_offsets, new_neighbors=neighbors, new_weights=new_weights,
    )  # fmt: skip
    return PageRankLayout(
        order, contribution_index, num_contributions, num_cached, rows.counts.isolated,
        rows.counts.dangling, num_long_rows, num_whole_rows, num_narrow_slices, num_chunks,
        chunk_rows, chunk_offsets, row_offsets, slice_offsets, neighbors,
        new_weights if weighted else device.no_values(bool, xp),
        invert_weights(out_weights, order, value_type),
    )  # fmt: skip


def list_chunks(chunks: Array, num_chunks: int | None = None) -> tuple[Array, Array]:
    """Return the chunks of rows.

    Parameters
    ----------
    chunks : int64, shape (rows,)
        Number of chunks of each row.
    num_chunks : int, optional
        Their sum; by default it is computed, which waits for a GPU.

    Returns
    -------
    chunk_offsets : int32, shape (rows + 1,)
        First chunk of each row, and the end of the last.
    chunk_rows : int32, shape (chunks,)
        The row of each chunk.
    """
    xp = device.array_module(chunks)
    chunk_offsets = device.accumulate(chunks, xp.int32)
    if num_chunks is None:
        num_chunks = int(chunk_offsets[-1])
    chunk_rows = xp.empty(num_chunks, xp.int32)
    device.launch(
        "pagerank_layout", "list_chunks", size=chunks.size,
        num_long_rows=chunks.size, chunk_offsets=chunk_offsets, chunk_rows=chunk_rows,
    )  # fmt: skip
    return chunk_offsets, chunk_rows


def invert_weights(out_weights: Array, order: Array, value_type: type) -> Array:
    """Return 1 over the weight that leaves the vertex of each row; 0 for a dangling vertex."""
    inverse_weights = device.array_module(order).empty(order.size, value_type)
    device.launch(
        "pagerank_layout", "invert_weights", size=order.size,
        num_rows=order.size, order=order, out_weights=out_weights, inverse_weights=inverse_weights,
    )  # fmt: skip
    return inverse_weights


def _group_neighborhoods(rows: RowOrder, csc: Adjacency) -> RowOrder:
    """Reorder narrow rows by neighborhood instead of by degree.

    A few rounds of label propagation give the vertices of a neighborhood one label. Its rows become
    contiguous, so that one cache line serves several gathers. Within windows they are sorted by
    degree again, which keeps the lengths of a slice nearly equal.
    """
    order, num_vertices = rows.order, rows.order.size
    xp, degrees = device.array_module(order), device.array_module(order).diff(csc.offsets)
    start = -(-rows.counts.wide // WARP) * WARP
    stop = num_vertices - rows.counts.isolated
    narrow = order[start : max(start, stop)]
    labels, new_labels = xp.arange(num_vertices, dtype=xp.int32), xp.empty(num_vertices, xp.int32)
    for _ in range(LABEL_ROUNDS):
        device.launch(
            "pagerank_layout", "propagate_labels", size=num_vertices,
            num_vertices=num_vertices, offsets=csc.offsets, neighbors=csc.neighbors, labels=labels,
            new_labels=new_labels,
        )  # fmt: skip
        labels, new_labels = new_labels, labels
    narrow = narrow[xp.argsort(labels[narrow], kind="stable")]
    window = xp.arange(narrow.size) // WINDOW_ROWS * (NARROW_LENGTH + 1)
    narrow = narrow[xp.argsort(window + NARROW_LENGTH - degrees[narrow], kind="stable")]
    order = xp.concatenate([order[:start], narrow, order[start + narrow.size :]])
    return replace(rows, order=order)


def _index_contributions(
    order: Array, out_degrees: Array, csc: Adjacency, value_type: type
) -> tuple[Array, Array, int]:
    """Return (contribution index by row or empty, by vertex, number of cached contributions)."""
    xp, num_vertices = device.array_module(order), order.size
    vertex_index, same_as_rows = invert_order(order), device.no_values(np.int32, xp)
    if xp is np or not csc.neighbors.size:
        return same_as_rows, vertex_index, 0
    num_cached = _count_cacheable(num_vertices, value_type)
    if num_cached == num_vertices:
        return same_as_rows, vertex_index, num_cached
    by_gathers, num_gathers = order_by_magnitude(out_degrees), xp.zeros(2)
    device.launch(
        "pagerank_layout", "sum_first", size=num_cached, num_first=num_cached,
        first_order=by_gathers, second_order=order, values=out_degrees, sums=num_gathers,
    )  # fmt: skip
    best, by_rows = num_gathers.tolist()
    if best < MIN_CACHED_GATHERS * csc.neighbors.size:
        return same_as_rows, vertex_index, 0
    if by_rows >= SIMILAR_COVERAGE * best:
        return same_as_rows, vertex_index, num_cached
    vertex_index = invert_order(by_gathers)
    return vertex_index[order], vertex_index, num_cached


def select_cached(num_reads: Array, num_arcs: int, value_type: type) -> Array:
    """Return the vertices whose contributions a GPU caches, by roughly descending reads: int32.

    Empty if they have a small part of all `num_arcs` reads. `num_reads` has one value per vertex.
    """
    num_cached = _count_cacheable(num_reads.size, value_type)
    vertices = order_by_magnitude(num_reads)[:num_cached]
    is_useful = float(num_reads[vertices].sum()) >= max(1, MIN_CACHED_GATHERS * num_arcs)
    return vertices if is_useful else vertices[:0]


def _count_cacheable(count: int, value_type: type) -> int:
    """Return how many of `count` contributions fit in the cache of the current GPU."""
    cache_bytes = min(CACHE_BYTES, device.max_shared_bytes())
    return min(count, cache_bytes // np.dtype(value_type).itemsize)


def buffer_sizes(layout: PageRankLayout) -> dict[str, tuple[int, Any]]:
    """Return the sizes and types of arrays that `launch_iterations` needs only within a launch.

    Those in `ZEROED_BUFFERS` have to be 0 before the first launch.
    """
    if not device.is_on_gpu(layout.order):
        num_blocks = (layout.order.size + layout.neighbors.size) // MIN_BLOCK_SIZE
        num_partials = 2 * min(max(num_blocks, 1), NUM_CPU_BLOCKS)
    else:
        num_partials = 4 * device.max_cooperative_blocks()
    return {
        "chunk_sums": (max(layout.num_chunks, 1), np.float64),
        "arrived_chunks": (layout.num_long_rows + 1, np.int32),
        "arrived_blocks": (1, np.uint64),
        "partials": (num_partials, np.float64),
    }


def launch_iterations(
    layout: PageRankLayout,
    num_iterations: int,
    tolerance: float,
    damping: float,
    teleport: Array,
    dangling_weights: Array,
    contributions: Array,
    pagerank: Array,
    buffers: dict[str, Array],
    state: Array,
    *,
    num_isolated: int = 0,
) -> None:
    """Run up to `num_iterations` over the rows of a layout in one launch; see pagerank.cu.

    Parameters
    ----------
    layout : PageRankLayout
    num_iterations : int
    tolerance, damping : float
    teleport, dangling_weights : float64, shape (rows,) or (1,)
    contributions : array of the value type, shape (2, n + 1)
        Contributions of n vertices, those of the rows among them; double-buffered.
    pagerank : array of the value type, shape (rows,)
        PageRank of the dangling vertices.
    buffers : dict
        The arrays of `buffer_sizes`.
    state : float64, shape (5,)
        As in pagerank.cu.
    num_isolated : int
        Number of last rows without edges, whose PageRank is ``state[4]``.
    """
    num_rows = layout.order.size
    num_units = layout.num_chunks + layout.num_whole_rows + (num_rows - num_isolated) // WARP + 1
    buffers["arrived_blocks"].fill(0)
    device.launch(
        "pagerank", "iterate", size=num_units * WARP, threads=COOPERATIVE_THREADS,
        cooperative=True, shared_bytes=layout.num_cached * pagerank.itemsize,
        num_iterations=num_iterations, tolerance=tolerance, damping=damping,
        num_vertices=num_rows, num_contributions=contributions.shape[1] - 1,
        num_isolated=num_isolated, num_long_rows=layout.num_long_rows,
        num_whole_rows=layout.num_whole_rows, num_narrow_slices=layout.num_narrow_slices,
        num_chunks=layout.num_chunks, num_cached=layout.num_cached, chunk_rows=layout.chunk_rows,
        chunk_offsets=layout.chunk_offsets, row_offsets=layout.row_offsets,
        slice_offsets=layout.slice_offsets, neighbors=layout.neighbors, weights=layout.weights,
        contribution_index=layout.contribution_index,
        has_contribution_index=layout.contribution_index.size > 0,
        inverse_weights=layout.inverse_weights, teleport=teleport, num_teleports=teleport.size,
        dangling_weights=dangling_weights, num_dangling_weights=dangling_weights.size,
        contributions=contributions.reshape(-1), pagerank=pagerank, state=state, **buffers,
    )  # fmt: skip


def read_state(state: Array) -> tuple[int, float, bool]:
    """Copy (iterations, residual, has converged) from the device."""
    return start_reading_state(state)()


def start_reading_state(state: Array) -> Callable[[], tuple[int, float, bool]]:
    """Start copying the state; return a function that returns what `read_state` does."""
    read = device.start_reading(state)

    def wait() -> tuple[int, float, bool]:
        iterations, residual, _, converged, *_ = read()
        return int(iterations), residual, converged != 0

    return wait
