"""Disjoint sets as trees of vertices on a CPU: the functions of disjoint_sets.cuh."""

import numpy as np

from .intrinsics import exchange_if, maximum, minimum
from .jit import serial


@serial
def root(parents, vertex):
    """Return the root of a vertex, halving the path to it."""
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
    """Merge the trees of two vertices; the smaller root becomes the root of both."""
    one, other = np.uint32(one), np.uint32(other)
    if parents[one] == parents[other]:
        return
    one, other = root(parents, one), root(parents, other)
    while one != other:
        high, low = maximum(one, other), minimum(one, other)
        was = exchange_if(parents, np.uint64(high), np.int32(high), np.int32(low))
        if was == np.int32(high):
            return
        one, other = root(parents, was), root(parents, low)
