"""Trees of vertices, on a CPU; disjoint_sets.cuh says what they mean."""

import numpy as np

from .intrinsics import exchange_if
from .jit import serial


@serial
def root(parents, vertex):
    """The root of a vertex; the way there is halved."""
    vertex = np.uint32(vertex)
    parent = np.uint32(parents[vertex])
    while parent != vertex:
        above = np.uint32(parents[parent])
        if above != parent:
            parents[vertex] = above
        vertex, parent = parent, above
    return vertex


@serial
def join(parents, one, other):
    """Make the trees of two vertices one, the smaller root the root of both."""
    one, other = np.uint32(one), np.uint32(other)
    if parents[one] == parents[other]:
        return
    one, other = root(parents, one), root(parents, other)
    while one != other:
        high, low = max(one, other), min(one, other)
        was = exchange_if(parents, np.uint64(high), np.int32(high), np.int32(low))
        if was == np.int32(high):
            return
        one, other = root(parents, was), root(parents, low)
