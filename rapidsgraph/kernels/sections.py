"""Packed partitions of layered edge lists on a CPU: the functions of sections.cuh.

Numba has no include directive, so these functions are inlined into each kernel.
"""

import numpy as np

from .constants import GROUP_ROWS, Column
from .intrinsics import exchange_if
from .jit import serial

PARTS = 64  # of a section, at most
LEAST = 4096  # work of a part
ONE, FIVE, MASK = np.uint64(1), np.uint64(5), np.uint64(31)
POSITION, WORDS, FORWARD_WORDS = map(int, (Column.POSITION, Column.WORDS, Column.FORWARD_WORDS))
FIRST, ROWS = map(int, (Column.FIRST, Column.ROWS))
FORWARD, BACKWARD = map(int, (Column.FORWARD_EDGES, Column.BACKWARD_EDGES))
CHECKSUM = int(Column.FORWARD_CHECKSUM)


@serial
def section(table, partition, part, origin):
    """(starts, degrees, neighbors, weights, rows, edges, base, bits, degree_bits) of a section."""
    row = table[partition]
    own = BACKWARD if part else FORWARD
    rows, edges, base, bits, degree_bits = (
        row[ROWS],
        row[own],
        row[own + 1],
        row[own + 2],
        row[own + 3],
    )
    starts = row[POSITION] - origin + (row[FORWARD_WORDS] if part else 0)
    degrees = (rows + GROUP_ROWS - 1) // GROUP_ROWS + 1
    neighbors = degrees + (rows * degree_bits + 31) // 32 + 1
    weights = neighbors + (max(edges * bits, 1) + 31) // 32 + 1
    weights += weights % 2
    return (
        starts, starts + degrees, starts + neighbors, starts + weights, rows, edges, base, bits,
        degree_bits,
    )  # fmt: skip


@serial
def extract(words, position, bits, index):
    at = np.uint64(index * bits)
    word = np.uint64(position) + (at >> FIVE)
    pair = np.uint64(words[word]) | np.uint64(words[word + ONE]) << np.uint64(32)
    return np.int64(pair >> (at & MASK) & ((ONE << np.uint64(bits)) - ONE))


@serial
def groups(rows):
    return (rows + GROUP_ROWS - 1) // GROUP_ROWS


@serial
def first_edge(words, starts, group):
    """The first edge of a group."""
    return np.int64(words[np.uint64(starts + group)])


@serial
def first_group(words, starts, rows, low):
    """The last group whose work begins at `low` or before: an edge is 1, a group GROUP_ROWS."""
    group, behind = 0, groups(rows)
    while behind - group > 1:
        middle = (group + behind) // 2
        if first_edge(words, starts, middle) + GROUP_ROWS * middle <= low:
            group = middle
        else:
            behind = middle
    return group


@serial
def shared_work(rows, edges):
    """(how much there is to do in a section, for how many to share)."""
    work = edges + GROUP_ROWS * groups(rows) if edges else 0
    return work, min(PARTS, (work + LEAST - 1) // LEAST)


@serial
def is_sound(table, sums, partition, part):
    return np.int64(sums[2 * partition + part]) == table[partition, CHECKSUM + part]


@serial
def lower_to(values, place, new):
    """values[place] = new where that is less, in one step; whether it was."""
    old = values[place]
    while new < old:
        seen = exchange_if(values, place, old, new)
        if seen == old:
            return True
        old = seen
    return False
