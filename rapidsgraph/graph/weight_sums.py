"""Sum weights without loss, and report sums that double precision cannot hold.

Integers are summed exactly, and no infinite sum of finite weights passes for a missing path.
Weights are finite and not negative.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import device
from ..device.arrays import Array
from ..errors import GraphError, format_value
from .csr import Adjacency, row_indices
from .vertex_names import Labeling

BLOCK = 2**22  # items examined at a time
INT64_LIMIT = 2**63  # which int64 does not reach
MAX_SAFE_SUM = 2.0**1023  # half of the largest double; rounding cannot carry a sum past that
LIMIT = "1.8e308, the largest number of double precision; scale the weights down"


def sum_exactly(values: Array) -> int:
    """Return the sum of integers that are not negative, as a Python int."""
    if not values.size:
        return 0
    if int(values.max()) * values.size < INT64_LIMIT:
        return int(values.sum(dtype=np.int64))
    total = 0
    for start in range(0, values.size, BLOCK):
        block = values[start : start + BLOCK].astype(np.int64, copy=False)
        low, high = block & 0xFFFFFFFF, block >> 32
        total += int(low.sum(dtype=np.int64)) + (int(high.sum(dtype=np.int64)) << 32)
    return total


def total_weight(weights: Array) -> float:
    """Return the sum of weights: an exact int of integers, else a float, which may be infinite."""
    if weights.dtype.kind in "iu":
        return sum_exactly(weights)
    with np.errstate(over="ignore"):
        return float(weights.sum(dtype=np.float64))


def sum_type(total: int | float | None) -> type[np.generic]:
    """Return the type in which weights are summed: int64 for totals below 2^63, else float64.

    `total` is an int, or anything else where the weights are not integers.
    """
    return np.int64 if isinstance(total, int) and 0 <= total < INT64_LIMIT else np.float64


def check_merged_weights(adjacency: Adjacency, labeling: Labeling) -> None:
    """Raise GraphError if the merged weights of parallel edges are infinite."""
    weights = adjacency.weights
    if not weights.size or weights.dtype.kind != "f" or float(weights.max()) < math.inf:
        return
    xp, arc = device.array_module(weights), int(weights.argmax())
    row = int(xp.searchsorted(adjacency.offsets, xp.asarray([arc]), side="right")[0]) - 1
    raise merged_weight_error(labeling, row, int(adjacency.neighbors[arc]))


def merged_weight_error(labeling: Labeling, *endpoints: int) -> GraphError:
    """Return the error for parallel edges whose weights sum to infinity, by vertex ids."""
    names = tuple(labeling.name_of(vertex) for vertex in endpoints)
    return GraphError(
        f"the weights of the edges between {format_value(names[0])} and {format_value(names[1])} "
        f"sum to more than {LIMIT}",
        parameter="multi_edges",
        value=names,
    )


def check_out_weights(out_weights: Array, labeling: Labeling, order: Array | None = None) -> None:
    """Raise GraphError if the weights that leave a vertex sum to infinity.

    Parameters
    ----------
    out_weights : float64 array
    labeling : Labeling
    order : int32 array, optional
        The vertex of each value in `out_weights`; by default values are by vertex id.
    """
    if not out_weights.size or float(out_weights.max()) < math.inf:
        return
    index = int(out_weights.argmax())
    raise out_weight_error(labeling.name_of(index if order is None else int(order[index])))


def out_weight_error(name: Any) -> GraphError:
    """Return the error for a vertex whose edges have weights that sum to infinity."""
    return GraphError(
        f"the weights of the edges that leave vertex {format_value(name)} sum to more than {LIMIT}",
        parameter="weight",
        value=name,
    )


def can_overflow(total: float) -> bool:
    """Return whether a distance may overflow double precision, given the sum of all weights."""
    return total >= MAX_SAFE_SUM


def check_distances(adjacency: Adjacency, distances: Array, labeling: Labeling) -> None:
    """Raise GraphError if a path leads to a vertex whose distance is infinite.

    Parameters
    ----------
    adjacency : Adjacency
        By source.
    distances : float64 array, shape (vertices,)
        Lengths of shortest paths, computed without a cutoff.
    labeling : Labeling
    """
    xp = device.array_module(distances)
    is_infinite = distances == math.inf
    if not device.count_nonzero(is_infinite):
        return
    rows = row_indices(adjacency)
    for start in range(0, rows.size, BLOCK):
        block = slice(start, start + BLOCK)
        heads = adjacency.neighbors[block]
        overflowed = heads[is_infinite[heads] & ~is_infinite[rows[block]]]
        if overflowed.size:
            raise distance_error(labeling.name_of(int(xp.min(overflowed))))


def check_reached_distances(distances: Array, order: Array, labeling: Labeling) -> None:
    """Raise GraphError if a vertex that a path leads to has an infinite distance.

    Parameters
    ----------
    distances : float64 array
        Distances of vertices that paths lead to.
    order : int32 array
        The vertex of each distance.
    labeling : Labeling
    """
    is_infinite = distances == math.inf
    if device.count_nonzero(is_infinite):
        raise distance_error(labeling.name_of(int(order[int(is_infinite.argmax())])))


def distance_error(name: Any) -> GraphError:
    """Return the error for a vertex at a distance that double precision cannot hold."""
    return GraphError(
        f"the distance to vertex {format_value(name)} is more than {LIMIT}",
        parameter="weight",
        value=name,
    )
