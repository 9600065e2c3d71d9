"""In-lists rearranged for `rank.iterate`: rows by in-degree, each kind summed in its own way.

Means: the layout that kernels/pagerank.cu describes. Hubs' lists are cut into chunks, long lists
  go a warp each, the rest side by side in slices of 32 rows (sliced ELLPACK), which needs no
  offsets a row and no idle lanes since rows of a slice have nearly equal lengths.
Requires: adjacency by destination; the weight that leaves each vertex.
Reference: Kreutzer et al., "A unified sparse matrix data format for efficient general sparse
  matrix-vector multiplication", SIAM J. Sci. Comput. 36(5), 2014. Gathers of a skewed graph are
  bound by the L2 cache, so contributions of the vertices with most out-edges come first, where
  each multiprocessor keeps them in its shared memory.
"""

from dataclasses import dataclass

import numpy as np

from .. import device
from ..device import Array
from ..kernels.constants import PAGERANK_CHUNK, WARP

WHOLE = (16, 64, 256)  # a longer list is a row of its own: the first that makes at most
MOST_WHOLE = 16_384  # of them, a few a warp, or the last
NARROW = 4  # a list up to this long is narrow
WINDOW = 1024  # narrow rows that are sorted by length among themselves
ROUNDS = 3  # of spreading labels
HOT_BYTES = 192 * 1024  # of shared memory; past this the L1 beside it gets too small
HOT_SHARE = 0.1  # of all gathers that must hit it, or filling it costs more than it saves
SIMILAR = 0.9  # one order serves rows and slots when it covers this much of what two would


@dataclass(frozen=True)
class PageRankLayout:
    """The arrays of the layout; names are those of pagerank.cu's parameters."""

    order: Array  # int32 (vertices,): which vertex is row r
    slots: Array  # int32 (vertices,): where row r's contribution lives; empty: at r
    hot: int
    idle: int  # rows without an edge, the last ones
    long_rows: int
    whole_rows: int
    narrow_slices: int
    chunks: int
    chunk_rows: Array
    chunk_offsets: Array
    row_offsets: Array
    slice_offsets: Array
    neighbors: Array
    weights: Array
    inverse_weights: Array  # value type (vertices,), by row; 0 for a sink


def arrange(lists, weights, out_degrees, out_weights, value_type):
    """The layout of a graph.

    Parameters
    ----------
    lists : Adjacency
        By destination.
    weights : value_type, by arc, or empty
    out_degrees : numbers, shape (vertices,)
        How often each vertex's contribution is gathered.
    out_weights : float64, shape (vertices,)
    value_type : numpy.float32 or numpy.float64
    """
    xp = device.array_module(lists.neighbors)
    degrees = xp.diff(lists.offsets)
    # Among equals those with out-edges first: what is gathered lies together, and rows without
    # any edge come last of all.
    order = order_by_degree(2 * degrees + (out_weights > 0), xp)
    idle = int(((degrees == 0) & (out_weights == 0)).sum())
    order = _near_together(order, idle, degrees, lists, xp)
    slots, slot_of, hot = _slots(order, out_degrees, lists.neighbors.size, value_type, xp)
    return build_layout(lists, weights, out_weights, value_type, order, idle, slots, slot_of, hot)


def build_layout(lists, weights, out_weights, value_type, order, idle, slots, slot_of, hot):
    """The layout of some rows, the last `idle` of `order` without an edge.

    Row r's contribution lives at slots[r] (r, if empty), vertex v's at slot_of[v], of which there
    may be more than rows.
    """
    xp, vertices = device.array_module(lists.neighbors), order.size
    lengths = xp.diff(lists.offsets)[order]
    # Counts by threshold of a descending array: where its negative passes the threshold.
    on_gpu = xp is not np
    long_rows, *choices = (
        int(count) for count in xp.searchsorted(-lengths, -xp.asarray([PAGERANK_CHUNK, *WHOLE]))
    )
    # A core takes a list of any length, and slices whenever it can.
    whole_rows, few = choices[-1], [count for count in choices if count <= MOST_WHOLE]
    if on_gpu and few:
        whole_rows = few[0]
    long_rows = min(long_rows, whole_rows) if on_gpu else 0
    row_offsets = _offsets(lengths[:whole_rows], 0, xp)
    slices = -(-(vertices - whole_rows) // WARP)
    padded = xp.zeros(slices * WARP, xp.int64)
    padded[: vertices - whole_rows] = lengths[whole_rows:]
    widths = padded.reshape(slices, WARP).max(axis=1) if slices else padded
    slice_offsets = _offsets(widths * WARP, int(row_offsets[-1]), xp)
    narrow_slices = int((widths > NARROW).sum())
    chunk_counts = -(-lengths[:long_rows] // PAGERANK_CHUNK)
    chunk_offsets = _offsets(chunk_counts, 0, xp).astype(xp.int32)
    chunks = int(chunk_offsets[-1])
    chunk_rows = xp.searchsorted(chunk_offsets, xp.arange(chunks), side="right") - 1

    weighted = weights.size > 0
    neighbors = xp.empty(int(slice_offsets[-1]), xp.int32)
    new_weights = xp.empty(neighbors.size if weighted else 0, value_type)
    device.launch(
        "pagerank", "arrange", size=32 * vertices,
        num_vertices=vertices, num_contributions=slot_of.size, num_whole_rows=whole_rows,
        order=order, contribution_index=slot_of, offsets=lists.offsets, neighbors=lists.neighbors,
        weights=weights, weighted=weighted, row_offsets=row_offsets, slice_offsets=slice_offsets,
        new_neighbors=neighbors, new_weights=new_weights,
    )  # fmt: skip
    out = out_weights[order]
    inverse = xp.where(out > 0, 1.0 / xp.where(out > 0, out, 1.0), 0.0).astype(value_type)
    return PageRankLayout(
        order, slots, hot, idle, long_rows, whole_rows, narrow_slices, chunks,
        chunk_rows.astype(xp.int32), chunk_offsets, row_offsets, slice_offsets, neighbors,
        new_weights, inverse,
    )  # fmt: skip


def _near_together(order, idle, degrees, lists, xp):
    """Where most arcs are in narrow rows, those rows by neighborhood instead of by degree.

    A few rounds of taking the smallest label around gives a neighborhood one label. Rows of it
    become neighbors in memory, so that one memory sector or cache line serves many gathers; in
    windows they are sorted by degree again, which keeps slices nearly even.
    """
    vertices = order.size
    wide = int((degrees > NARROW).sum())
    wide = min(vertices, -(-wide // WARP) * WARP)
    narrow = order[wide : max(wide, vertices - idle)]
    if 2 * int(degrees[narrow].sum()) < lists.neighbors.size:
        return order
    labels, spread = xp.arange(vertices, dtype=xp.int32), xp.empty(vertices, xp.int32)
    for _ in range(ROUNDS):
        device.launch(
            "pagerank", "propagate_labels", size=vertices,
            num_vertices=vertices, offsets=lists.offsets, neighbors=lists.neighbors, labels=labels,
            new_labels=spread,
        )  # fmt: skip
        labels, spread = spread, labels
    narrow = narrow[xp.argsort(labels[narrow], kind="stable")]
    window = xp.arange(narrow.size) // WINDOW * (NARROW + 1)
    narrow = narrow[xp.argsort(window + NARROW - degrees[narrow], kind="stable")]
    return xp.concatenate([order[:wide], narrow, order[wide + narrow.size :]])


def _slots(order, out_degrees, gathers, value_type, xp):
    """(slot of each row or empty, slot of each vertex, how many slots are hot)."""
    vertices = order.size
    rows = xp.arange(vertices, dtype=xp.int32)
    none = xp.empty(0, xp.int32)
    slot_of = xp.empty(vertices, xp.int32)
    slot_of[order] = rows
    most = min(vertices, HOT_BYTES // np.dtype(value_type).itemsize)
    if xp is np or not gathers:
        return none, slot_of, 0
    by_use = order_by_degree(out_degrees, xp)
    best = float(out_degrees[by_use[:most]].sum()) / gathers
    same = float(out_degrees[order[:most]].sum()) / gathers
    if best < HOT_SHARE:
        return none, slot_of, 0
    if same >= SIMILAR * best:
        return none, slot_of, most
    slot_of[by_use] = rows
    return slot_of[order], slot_of, most


def order_by_degree(degrees, xp):
    """Vertices by descending degree, int32; stable, so near vertices stay near."""
    return xp.argsort(-degrees, kind="stable").astype(xp.int32)


def _offsets(lengths, start, xp):
    offsets = xp.full(lengths.size + 1, start, xp.int64)
    xp.cumsum(lengths, out=offsets[1:])
    offsets[1:] += start
    return offsets
