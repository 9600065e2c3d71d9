"""Sums of weights beyond the range of their type: exact totals, and errors that name vertices.

Means: integers add up exactly, and no infinite sum of finite weights passes for a missing path.
Requires: weights that are finite and not negative (checked by Graph).
"""

import math

import numpy as np

from .. import device
from ..errors import GraphError
from .csr import row_indices
from .vertex_names import name_of

BLOCK = 2**22  # items examined at a time
MAX_SAFE_SUM = 2.0**1023  # half of the largest double: rounding cannot carry a sum past that
LIMIT = "1.8e308, the largest number of double precision; scale the weights down"


def sum_exactly(values):
    """Return the sum of integers that are not negative, as a Python int."""
    if not values.size:
        return 0
    if int(values.max()) * values.size < 2**63:
        return int(values.sum(dtype=np.int64))
    total = 0
    for start in range(0, values.size, BLOCK):
        block = values[start : start + BLOCK]
        low, high = block & 0xFFFFFFFF, block >> 32
        total += int(low.sum(dtype=np.int64)) + (int(high.sum(dtype=np.int64)) << 32)
    return total


def total_weight(weights):
    """Return the sum of weights: an exact int of integers, else a float, which may be infinite."""
    if weights.dtype.kind in "iu":
        return sum_exactly(weights)
    with np.errstate(over="ignore"):
        return float(weights.sum(dtype=np.float64))


def sum_type(total):
    """Return the dtype in which weights are summed: int64 for totals below 2^63, else float64.

    `total` is an int, or None where the weights are not integers.
    """
    return np.int64 if isinstance(total, int) and 0 < total < 2**63 else np.float64


def check_merged_weights(lists, vertices):
    """Raise GraphError where the weights of parallel edges sum to infinity.

    Parameters
    ----------
    lists : Adjacency
        Of summed weights.
    vertices : Labeling
    """
    weights = lists.weights
    if not weights.size or weights.dtype.kind != "f" or bool(weights.max() < np.inf):
        return
    xp, arc = device.array_module(weights), int(weights.argmax())
    row = int(xp.searchsorted(lists.offsets, xp.asarray([arc]), side="right")[0]) - 1
    raise merged_weight_error(vertices, row, int(lists.neighbors[arc]))


def merged_weight_error(vertices, *ends):
    """Return the error for parallel edges whose weights sum to infinity, by ids."""
    first, second = (name_of(vertices.names, vertex, vertices.xp) for vertex in ends)
    return GraphError(
        f"multi_edges='sum': the weights of the edges between {first!r} and {second!r} sum to more "
        f"than {LIMIT}"
    )


def check_out_weights(out_weights, vertices, order=None):
    """Raise GraphError where the weights that leave a vertex sum to infinity.

    Parameters
    ----------
    out_weights : float64 array
    vertices : Labeling
    order : int32 array, optional
        The vertex at each place of `out_weights`; by default they are in the order of ids.
    """
    if bool(device.array_module(out_weights).isfinite(out_weights).all()):
        return
    vertex = int(out_weights.argmax())
    vertex = vertex if order is None else int(order[vertex])
    name = name_of(vertices.names, vertex, vertices.xp)
    raise GraphError(
        f"the weights of the edges that leave vertex {name!r} sum to more than {LIMIT}"
    )


def can_overflow(total):
    """Return whether a path may be longer than double precision can tell, by the total weight."""
    return total >= MAX_SAFE_SUM


def check_distances(lists, distances, vertices):
    """Raise GraphError where a path leads to a vertex whose distance is infinite.

    Parameters
    ----------
    lists : Adjacency
        By source.
    distances : float64, shape (vertices,)
        Of shortest paths, without a cutoff.
    vertices : Labeling
    """
    xp = device.array_module(distances)
    is_infinite = distances == math.inf
    if not bool(is_infinite.any()):
        return
    rows = row_indices(lists)
    for start in range(0, rows.size, BLOCK):
        block = slice(start, start + BLOCK)
        ends = lists.neighbors[block]
        overflown = ends[is_infinite[ends] & ~is_infinite[rows[block]]]
        if overflown.size:
            raise distance_error(vertices, int(xp.min(overflown)))


def check_reached_distances(distances, order, vertices):
    """Raise GraphError where a vertex that a path leads to has an infinite distance.

    Parameters
    ----------
    distances : float64 array
        By place, of the vertices that are reached in edges.
    order : int32 array
        The vertex at each place.
    vertices : Labeling
    """
    is_infinite = distances == math.inf
    if bool(is_infinite.any()):
        raise distance_error(vertices, int(order[int(is_infinite.argmax())]))


def distance_error(vertices, vertex):
    """Return the error for a vertex whose distance is beyond double precision, by its id."""
    name = name_of(vertices.names, vertex, vertices.xp)
    return GraphError(f"the distance to vertex {name!r} is more than {LIMIT}")
