"""Count the common neighbors of pairs of vertices: the CPU twin of common_neighbors.cu."""

import numpy as np
from numba import prange

from .jit import parallel, serial
from .searches import position

NUM_BLOCKS = 64
SEARCH_RATIO = 16  # of the lengths of two lists, above which the longer one is searched
ONE = np.uint64(1)


@serial
def _count(shorter, longer, offsets, neighbors):
    i, stop = offsets[shorter], offsets[shorter + ONE]
    j, other_stop = offsets[longer], offsets[longer + ONE]
    num_common = 0
    if other_stop - j > SEARCH_RATIO * (stop - i):
        for arc in range(i, stop):
            vertex = neighbors[np.uint64(arc)]
            j = position(neighbors, j, other_stop, vertex)
            num_common += j < other_stop and neighbors[np.uint64(j)] == vertex
        return num_common
    while i < stop and j < other_stop:
        one, other = neighbors[np.uint64(i)], neighbors[np.uint64(j)]
        num_common += one == other
        i += one <= other
        j += other <= one
    return num_common


@parallel
def count_pairs(num_pairs, sources, destinations, offsets, neighbors, common):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for pair in range(num_pairs * block // NUM_BLOCKS, num_pairs * (block + 1) // NUM_BLOCKS):
            one, other = np.uint64(sources[pair]), np.uint64(destinations[pair])
            if offsets[one + ONE] - offsets[one] <= offsets[other + ONE] - offsets[other]:
                common[pair] = _count(one, other, offsets, neighbors)
            else:
                common[pair] = _count(other, one, offsets, neighbors)
