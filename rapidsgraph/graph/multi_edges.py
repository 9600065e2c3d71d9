"""Policies for parallel edges, and the weights of runs of arcs that are merged by them."""

from __future__ import annotations

from typing import Any, Literal, cast

from .. import device
from ..device import Array
from ..kernels.constants import MERGE_FIRST, MERGE_MAX, MERGE_MIN, MERGE_SUM

BLOCK_ARCS = 2**20  # arcs whose runs are listed together, at least
MultiEdges = Literal["first", "sum", "min", "max", "keep"]
MULTI_EDGES: dict[MultiEdges, Any] = {
    "first": MERGE_FIRST,
    "sum": MERGE_SUM,
    "min": MERGE_MIN,
    "max": MERGE_MAX,
    "keep": None,
}


class DefaultMultiEdges(str):
    """The policy "first" of a caller who has not chosen one."""


DEFAULT_MULTI_EDGES: MultiEdges = cast(MultiEdges, DefaultMultiEdges("first"))


def reduce_runs(is_first: Array, weights: Array, reduction: int) -> Array:
    """Return one weight for each run of arcs.

    The starts of runs take as much memory as the weights, so they are listed block by block.
    """
    xp = device.array_module(weights)
    reduced = xp.empty(device.count_nonzero(is_first), weights.dtype)
    start = num_reduced = 0
    while start < weights.size:
        stop = _next_run(is_first, start + BLOCK_ARCS)
        starts = device.flatnonzero(is_first[start:stop])
        device.launch(
            "build", "reduce_runs", size=starts.size,
            num_runs=starts.size, num_edges=stop - start, starts=starts,
            weights=weights[start:stop], reduction=reduction,
            reduced=reduced[num_reduced : num_reduced + starts.size],
        )  # fmt: skip
        start, num_reduced = stop, num_reduced + starts.size
    return reduced


def _next_run(is_first: Array, position: int) -> int:
    """Return the first position from `position` on at which a run begins, or the end."""
    size = 1024
    while position < is_first.size:
        window = is_first[position : position + size]
        if device.count_nonzero(window):
            return position + int(window.argmax())
        position, size = position + size, 2 * size
    return is_first.size


def count_conflicts(offsets: Array, neighbors: Array, is_first: Array, weights: Array) -> int:
    """Return the number of arcs whose weight differs from that of the first arc of their run.

    Parameters
    ----------
    offsets, neighbors, weights : arrays
        As in `Adjacency`; there are arcs.
    is_first : bool, shape (arcs,)
        Whether an arc is the first from its row to its neighbor.
    """
    count = device.array_module(weights).zeros(1, "int64")
    device.launch(
        "build", "count_conflicts", size=weights.size,
        num_rows=offsets.size - 1, offsets=offsets, neighbors=neighbors, is_first=is_first,
        weights=weights, count=count,
    )  # fmt: skip
    return int(count[0])
