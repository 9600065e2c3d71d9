"""Adjacency in compressed sparse row (CSR) form: build it from arcs, transpose and symmetrize it.

Each row has its neighbors in ascending order, and optional weights. Vertex ids are int32 on the
device of the adjacency.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import device
from ..device import Array
from ..kernels.constants import MAX_BLOCK_ARCS, MAX_BLOCK_VERTICES, WARP
from .multi_edges import MULTI_EDGES, MultiEdges, count_conflicts, reduce_runs
from .pair_sort import sort_pairs

MAX_DROPPED_SHARE = 1 / 16  # of arcs on a CPU, up to which they are searched for in the offsets


@dataclass(frozen=True)
class Adjacency:
    """The neighbors of every vertex, ascending.

    Attributes
    ----------
    offsets : int64, shape (vertices + 1,)
        The arcs of vertex v are offsets[v] to offsets[v + 1].
    neighbors : int32, shape (arcs,)
    weights : floating point or integers, shape (arcs,), or (0,) without weights
    """

    offsets: Array
    neighbors: Array
    weights: Array

    @property
    def nbytes(self) -> int:
        return self.offsets.nbytes + self.neighbors.nbytes + self.weights.nbytes


def from_coo(
    coo: list[Any],
    num_rows: int,
    multi_edges: MultiEdges,
    *,
    minor_sorted: bool = False,
    report_conflicts: Callable[[int], None] | None = None,
) -> Adjacency:
    """Return the adjacency of arcs, with parallel arcs merged.

    Parameters
    ----------
    coo : list
        [rows, neighbors, weights or None]; emptied, so that arrays are freed once they are sorted.
    num_rows : int
    multi_edges : MultiEdges
    minor_sorted : bool, default False
        Whether the neighbors ascend already, so that one stable pass by row suffices.
    report_conflicts : callable, optional
        Called with the number of arcs that are merged into an earlier one of a different weight.
    """
    xp, weights = device.array_module(coo[0]), coo.pop()
    offsets, neighbors, order, num_distinct = sort_pairs(
        coo, num_rows, with_order=weights is not None, minor_sorted=minor_sorted
    )
    new_weights = device.no_values(float, xp) if order is None else permute(weights, order)
    del weights, order
    adjacency, reduction = Adjacency(offsets, neighbors, new_weights), MULTI_EDGES[multi_edges]
    if reduction is None or not neighbors.size:
        return adjacency
    if num_distinct is not None and int(num_distinct[0]) == neighbors.size:
        return adjacency
    # Each run of equal neighbors in a row becomes one arc.
    is_first, num_first = _mark_first_of_runs(adjacency)
    if num_first == is_first.size:
        return adjacency
    del adjacency  # frees the weights as soon as they are reduced
    if new_weights.size:
        if report_conflicts is not None:
            report_conflicts(count_conflicts(offsets, neighbors, is_first, new_weights))
        new_weights = reduce_runs(is_first, new_weights, reduction)
    return Adjacency(*_filter(is_first, offsets, neighbors), new_weights)


def transpose(adjacency: Adjacency, keep: Array | None = None) -> Adjacency:
    """Return the adjacency of the reversed arcs, with `keep` only of those that it marks."""
    weights = adjacency.weights if adjacency.weights.size else None
    coo = [adjacency.neighbors, row_indices(adjacency), weights]
    if keep is not None:
        kept = device.compress(keep, *coo[:2] if weights is None else coo)
        coo = [*kept, None] if weights is None else kept
    transposed = from_coo(coo, adjacency.offsets.size - 1, "keep", minor_sorted=True)
    # Without arcs, `from_coo` does not know the type of the weights.
    return transposed if weights is not None else replace(transposed, weights=adjacency.weights)


def symmetrize(upper: Adjacency) -> Adjacency:
    """Return both directions of edges whose neighbor >= row; a self-loop stays one arc."""
    xp, num_rows = device.array_module(upper.neighbors), upper.offsets.size - 1
    is_proper = mark_proper(upper.neighbors, row_indices(upper))
    has_loops = device.count_nonzero(is_proper) < is_proper.size
    lower = transpose(upper, is_proper if has_loops else None)
    del is_proper
    # All neighbors in `lower` precede those in `upper`, so concatenated rows are sorted.
    weighted = upper.weights.size > 0
    neighbors = xp.empty(lower.neighbors.size + upper.neighbors.size, xp.int32)
    weights = xp.empty(neighbors.size if weighted else 0, upper.weights.dtype)
    offsets = xp.empty_like(upper.offsets)
    device.launch(
        "build", "concatenate_rows", size=WARP * num_rows,
        num_rows=num_rows, first_offsets=lower.offsets, first_neighbors=lower.neighbors,
        first_weights=lower.weights, second_offsets=upper.offsets, second_neighbors=upper.neighbors,
        second_weights=upper.weights, weighted=weighted, offsets=offsets, neighbors=neighbors,
        weights=weights,
    )  # fmt: skip
    return Adjacency(offsets, neighbors, weights)


def mark_proper(sources: Array, destinations: Array) -> Array:
    """Return whether the endpoints of each edge differ, of int32 arrays."""
    is_proper = device.array_module(sources).empty(sources.size, bool)
    device.launch(
        "build", "mark_proper", size=sources.size, num_edges=sources.size,
        sources=sources, destinations=destinations, is_proper=is_proper,
    )  # fmt: skip
    return is_proper


def sort_endpoints(sources: Array, destinations: Array) -> list[Array]:
    """Return the smaller and the larger endpoint of each edge, as new int32 arrays."""
    low, high = (device.array_module(sources).empty(sources.size, np.int32) for _ in range(2))
    device.launch(
        "build", "sort_endpoints", size=sources.size, num_edges=sources.size,
        sources=sources, destinations=destinations, low=low, high=high,
    )  # fmt: skip
    return [low, high]


def to_undirected(adjacency: Adjacency) -> Adjacency:
    """Return both directions of every arc once, without self-loops and weights."""
    rows = row_indices(adjacency)
    endpoints = device.compress(mark_proper(rows, adjacency.neighbors), rows, adjacency.neighbors)
    del rows
    coo = [*sort_endpoints(*endpoints), None]
    del endpoints
    return symmetrize(from_coo(coo, adjacency.offsets.size - 1, "first"))


def simplify(
    adjacency: Adjacency, *, is_merged: bool = False, is_loopless: bool = False
) -> Adjacency:
    """Return a symmetric adjacency without self-loops, parallel arcs and weights.

    Arrays are shared if there are none. The flags tell what the build has removed already.
    """
    neighbors, offsets = adjacency.neighbors, adjacency.offsets
    xp = device.array_module(neighbors)
    if is_merged and not is_loopless:
        is_loopless = is_simple(adjacency)
    if neighbors.size and not (is_merged and is_loopless):
        keep: Array = None if is_loopless else mark_proper(row_indices(adjacency), neighbors)
        if not is_merged:
            is_first, _ = _mark_first_of_runs(adjacency)
            if keep is not None:
                is_first &= keep
            keep = is_first
        if device.count_nonzero(keep) < keep.size:
            return select_arcs(adjacency, keep)
    return Adjacency(offsets, neighbors, device.no_values(float, xp))


def select_arcs(adjacency: Adjacency, keep: Array) -> Adjacency:
    """Return the arcs that `keep` marks, without weights."""
    xp = device.array_module(keep)
    return Adjacency(*_filter(keep, adjacency.offsets, adjacency.neighbors), xp.empty(0))


def select_rows(adjacency: Adjacency, rows: Array, *, with_weights: bool = True) -> Adjacency:
    """Return the lists of int32 `rows`, in this order; neighbors keep their ids."""
    xp, starts = device.array_module(rows), adjacency.offsets[rows]
    offsets = offsets_from_sizes(adjacency.offsets[rows + 1] - starts)
    arcs = xp.arange(int(offsets[-1]))
    lists = Adjacency(offsets, arcs, xp.empty(0))
    arcs += (starts - offsets[:-1])[row_indices(lists)]
    weights = adjacency.weights
    if weights.size:
        weights = weights[arcs] if with_weights else xp.empty(0)
    return Adjacency(offsets, adjacency.neighbors[arcs], weights)


def is_simple(adjacency: Adjacency) -> bool:
    """Return whether a symmetric adjacency without parallel arcs has no self-loop.

    A self-loop is one arc, any other edge is two.
    """
    return 2 * int(count_upper(adjacency).sum()) == adjacency.neighbors.size


def count_upper(adjacency: Adjacency) -> Array:
    """Return the number of neighbors >= row of each row, as int64."""
    xp, num_rows = device.array_module(adjacency.neighbors), adjacency.offsets.size - 1
    counts = xp.empty(num_rows, xp.int64)
    device.launch(
        "build", "count_upper", size=num_rows,
        num_rows=num_rows, offsets=adjacency.offsets, neighbors=adjacency.neighbors, counts=counts,
    )  # fmt: skip
    return counts


def count_nonempty(adjacency: Adjacency) -> int:
    """Return the number of rows that have neighbors."""
    offsets = adjacency.offsets
    if not device.is_on_gpu(offsets):
        return int(np.count_nonzero(offsets[1:] > offsets[:-1]))
    count = device.array_module(offsets).zeros(1, "int64")
    device.launch(
        "build", "count_nonempty", size=offsets.size,
        num_rows=offsets.size - 1, offsets=offsets, count=count,
    )  # fmt: skip
    return int(count[0])


def fits_in_block(adjacency: Adjacency) -> bool:
    """Return whether an adjacency is on a GPU, and so small that one block processes it."""
    return (
        device.is_on_gpu(adjacency.neighbors)
        and adjacency.offsets.size - 1 <= MAX_BLOCK_VERTICES
        and adjacency.neighbors.size <= MAX_BLOCK_ARCS
    )


def row_indices(adjacency: Adjacency) -> Array:
    """Return the row of every arc, as int32."""
    xp, num_rows = device.array_module(adjacency.neighbors), adjacency.offsets.size - 1
    rows = xp.empty(adjacency.neighbors.size, xp.int32)
    device.launch(
        "build", "expand_rows", size=WARP * num_rows,
        num_rows=num_rows, offsets=adjacency.offsets, rows=rows,
    )  # fmt: skip
    return rows


def offsets_from_sizes(sizes: Array) -> Array:
    """Return the int64 offsets of consecutive lists of these sizes."""
    return device.accumulate(sizes)


def permute(values: Array, order: Array) -> Array:
    """Return ``values[order]``."""
    permuted = device.array_module(values).empty_like(values)
    device.launch(
        "build", "permute", size=order.size,
        num_items=order.size, order=order, values=values, new_values=permuted,
    )  # fmt: skip
    return permuted


def _mark_first_of_runs(adjacency: Adjacency) -> tuple[Array, int]:
    """Return whether each arc is the first from its row to its neighbor, and how many are.

    There are arcs.
    """
    xp, num_rows = device.array_module(adjacency.neighbors), adjacency.offsets.size - 1
    is_first, num_first = xp.empty(adjacency.neighbors.size + 1, bool), xp.zeros(1, xp.int64)
    device.launch(
        "build", "mark_first", size=adjacency.neighbors.size,
        num_rows=num_rows, offsets=adjacency.offsets, neighbors=adjacency.neighbors,
        is_first=is_first, num_first=num_first,
    )  # fmt: skip
    return is_first[:-1], int(num_first[0])


def _filter(keep: Array, offsets: Array, neighbors: Array) -> tuple[Array, Array]:
    """Return the offsets and the neighbors of the arcs that `keep` marks."""
    if device.array_module(keep) is np:  # the twin of the kernel would copy them once more
        return filter_offsets(keep, offsets), neighbors[keep]
    num_before = _count_before(keep)
    new_neighbors = device.array_module(keep).empty(int(num_before[-1]), neighbors.dtype)
    device.launch(
        "build", "filter_neighbors", size=keep.size,
        num_arcs=keep.size, keep=keep, num_before=num_before, neighbors=neighbors,
        new_neighbors=new_neighbors,
    )  # fmt: skip
    return _filter_offsets(num_before, offsets), new_neighbors


def filter_offsets(keep: Array, offsets: Array) -> Array:
    """Return the offsets of the arcs that `keep` marks."""
    if not device.is_on_gpu(keep):
        num_dropped = keep.size - device.count_nonzero(keep)
        if num_dropped <= MAX_DROPPED_SHARE * keep.size:
            return offsets - _count_dropped(np.flatnonzero(~keep), offsets)
    return _filter_offsets(_count_before(keep), offsets)


def _count_dropped(dropped: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return how many of the positions `dropped`, ascending, are below each of the offsets."""
    first_rows = np.searchsorted(offsets, dropped, side="right")
    repeats = np.diff(first_rows, prepend=0, append=offsets.size)
    return np.repeat(np.arange(dropped.size + 1), repeats)


def _filter_offsets(num_before: Array, offsets: Array) -> Array:
    new_offsets = device.array_module(offsets).empty_like(offsets)
    device.launch(
        "build", "filter_offsets", size=offsets.size,
        num_rows=offsets.size - 1, num_before=num_before, offsets=offsets, new_offsets=new_offsets,
    )  # fmt: skip
    return new_offsets


def _count_before(keep: Array) -> Array:
    """Return how many flags before each position are set, and behind the last one, of all."""
    return device.accumulate(keep, np.int32 if keep.size < 2**31 else np.int64)
