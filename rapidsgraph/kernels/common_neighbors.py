"""Count the common neighbors of pairs of vertices: the CPU twin of common_neighbors.cu."""

import numpy as np
from numba import prange

from .constants import SIMILARITY_JACCARD, SIMILARITY_OVERLAP
from .jit import parallel, serial
from .searches import position

NUM_BLOCKS = 64
SEARCH_RATIO = 16  # of the lengths of two lists, above which the longer one is searched
ONE = np.uint64(1)


@serial
def _count(shorter, longer, offsets, neighbors):
    i, stop = offsets[shorter], offsets[shorter + ONE]
    j, longer_stop = offsets[longer], offsets[longer + ONE]
    num_common = 0
    if longer_stop - j > SEARCH_RATIO * (stop - i):
        for arc in range(i, stop):
            vertex = neighbors[np.uint64(arc)]
            j = position(neighbors, j, longer_stop, vertex)
            num_common += j < longer_stop and neighbors[np.uint64(j)] == vertex
        return num_common
    while i < stop and j < longer_stop:
        neighbor, longer_neighbor = neighbors[np.uint64(i)], neighbors[np.uint64(j)]
        num_common += neighbor == longer_neighbor
        i += neighbor <= longer_neighbor
        j += longer_neighbor <= neighbor
    return num_common


@parallel
def count_pairs(num_pairs, sources, destinations, offsets, neighbors, common):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for pair in range(num_pairs * block // NUM_BLOCKS, num_pairs * (block + 1) // NUM_BLOCKS):
            source, destination = np.uint64(sources[pair]), np.uint64(destinations[pair])
            degree = offsets[source + ONE] - offsets[source]
            if degree <= offsets[destination + ONE] - offsets[destination]:
                common[pair] = _count(source, destination, offsets, neighbors)
            else:
                common[pair] = _count(destination, source, offsets, neighbors)


def compare(num_pairs, kind, common, degrees, other_degrees, similarities):
    if kind == SIMILARITY_JACCARD:
        denominators = degrees + (other_degrees - common)  # no overflow of the union
    elif kind == SIMILARITY_OVERLAP:
        denominators = np.minimum(degrees, other_degrees)
    else:
        denominators = np.sqrt(degrees.astype(np.float64) * other_degrees.astype(np.float64))
    np.divide(common, np.maximum(denominators, 1), out=similarities)
