"""Count the common neighbors of single edges until their similarity is certain, on a CPU.

The shorter of two lists is looked up in the longer one by binary search if they differ much in
length, or the neighbor's list in a bitmap of the vertex's neighbors, or short lists are merged.
"""

import math

import numpy as np

from .intrinsics import bit_length
from .jit import serial
from .searches import is_at_least, position

STEPS_PER_CHECK = 16  # between two tests of whether the outcome is certain
MIN_MARKED_DEGREE = 16  # of a vertex whose neighbors are marked in a bitmap
SEARCH_RATIO = 16  # of the lengths of two lists, above which the longer one is searched
UNKNOWN, DISSIMILAR = np.int32(-1), np.int32(0)
ONE, SIX, LOW_SIX = np.uint64(1), np.uint64(6), np.uint64(63)


@serial
def least_common(product, numerator, denominator):
    """Return the least number of common neighbors that makes a pair of sizes similar."""
    estimate = math.sqrt(float(numerator) / float(denominator) * float(product))
    least = np.uint64(estimate)
    while least > ONE and is_at_least(
        (least - ONE) * (least - ONE), denominator, numerator, product
    ):
        least -= ONE
    while not is_at_least(least * least, denominator, numerator, product):
        least += ONE
    return np.int64(least)


@serial
def _merge(row, neighbor, least, most, offsets, neighbors):
    """Count the common neighbors of an edge until there are `most`, or cannot be `least`.

    Return the count, which is a lower bound if it is `most` or more, and the number of steps.
    """
    i, stop = offsets[row], offsets[row + ONE]
    j, other_stop = offsets[neighbor], offsets[neighbor + ONE]
    start = i + j
    num_common = 2
    while num_common < most:
        num_left = min(stop - i, other_stop - j)
        if num_left == 0 or num_common + num_left < least:
            break
        for _ in range(min(num_left, STEPS_PER_CHECK)):
            one, other = neighbors[np.uint64(i)], neighbors[np.uint64(j)]
            num_common += one == other
            i += one <= other
            j += other <= one
    return num_common, i + j - start


@serial
def is_marked(vertex, bits):
    """Return 1 if a vertex is marked in a bitmap, else 0."""
    vertex = np.uint64(np.uint32(vertex))
    return np.int64((bits[vertex >> SIX] >> (vertex & LOW_SIX)) & ONE)


@serial
def _probe(bits, start, stop, least, most, neighbors):
    """Count like `_merge` the vertices of a list that are marked in a bitmap."""
    i = start
    num_common = 2
    while num_common < most and num_common + stop - i >= least:
        if stop - i < STEPS_PER_CHECK:
            for j in range(i, stop):
                num_common += is_marked(neighbors[np.uint64(j)], bits)
            i = stop
            break
        for j in range(STEPS_PER_CHECK):
            num_common += is_marked(neighbors[np.uint64(i + j)], bits)
        i += STEPS_PER_CHECK
    return num_common, i - start


@serial
def _search(row, neighbor, least, most, offsets, neighbors):
    """Count like `_merge`, by binary searches for the neighbors of `row`."""
    stop = offsets[row + ONE]
    low, high = offsets[neighbor], offsets[neighbor + ONE]
    width = bit_length(np.uint64(high - low))
    num_common, steps = 2, 0
    for i in range(offsets[row], stop):
        if num_common >= most or num_common + stop - i < least:
            break
        vertex = neighbors[np.uint64(i)]
        low = position(neighbors, low, high, vertex)
        num_common += low < high and neighbors[np.uint64(low)] == vertex
        steps += width
    return num_common, steps


@serial
def mark_list(row, offsets, neighbors, bits):
    """Mark the neighbors of a vertex in a bitmap."""
    for arc in range(offsets[row], offsets[row + ONE]):
        vertex = np.uint64(neighbors[np.uint64(arc)])
        bits[vertex >> SIX] |= ONE << (vertex & LOW_SIX)


@serial
def mark(row, is_marked, offsets, neighbors, bits):
    """Mark the neighbors of a vertex of high degree, unless they are; return whether they are."""
    if is_marked or offsets[row + ONE] - offsets[row] < MIN_MARKED_DEGREE:
        return is_marked
    mark_list(row, offsets, neighbors, bits)
    return True


@serial
def unmark(row, offsets, neighbors, bits):
    """Clear the bitmap of the neighbors of a vertex."""
    for arc in range(offsets[row], offsets[row + ONE]):
        bits[np.uint64(neighbors[np.uint64(arc)]) >> SIX] = 0


@serial
def evaluate(row, arc, exact, numerator, denominator, offsets, neighbors, bits, common):
    """Decide whether the endpoints of an arc are similar; return the number of steps.

    `bits` marks the neighbors of `row` if it has `MIN_MARKED_DEGREE` or more.
    """
    neighbor = np.uint64(neighbors[arc])
    start, stop = offsets[neighbor], offsets[neighbor + ONE]
    degree, other_degree = offsets[row + ONE] - offsets[row], stop - start
    product = np.uint64(degree + 1) * np.uint64(other_degree + 1)
    least = least_common(product, numerator, denominator)
    most = min(degree, other_degree) + 1 if exact else least
    if other_degree > SEARCH_RATIO * degree:
        num_common, steps = _search(row, neighbor, least, most, offsets, neighbors)
    elif degree >= MIN_MARKED_DEGREE:
        num_common, steps = _probe(bits, start, stop, least, most, neighbors)
    else:
        num_common, steps = _merge(row, neighbor, least, most, offsets, neighbors)
    value = np.int32(num_common) if num_common >= least else DISSIMILAR
    common[arc] = value
    common[np.uint64(position(neighbors, start, stop, row))] = value
    return steps
