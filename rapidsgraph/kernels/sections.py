"""Packed partitions of layered edge lists on a CPU: the functions of sections.cuh.

Numba has no include directive, so these functions are inlined into each kernel. sections.cuh
describes the parameters that kernels share.
"""

import numpy as np
from numba import prange

from .constants import GROUP_ROWS, Column
from .intrinsics import exchange_if
from .jit import parallel, serial

NUM_CHUNKS = 64  # chunks of a section at most, which threads process in parallel
MIN_CHUNK_WORK = 4096
ONE, WORD_SHIFT, BIT_MASK = np.uint64(1), np.uint64(5), np.uint64(31)
POSITION, WORDS, FORWARD_WORDS = map(int, (Column.POSITION, Column.WORDS, Column.FORWARD_WORDS))
FIRST, ROWS = map(int, (Column.FIRST, Column.ROWS))
FORWARD, BACKWARD = map(int, (Column.FORWARD_EDGES, Column.BACKWARD_EDGES))
CHECKSUM = int(Column.FORWARD_CHECKSUM)


@serial
def read_section(table, partition, direction, origin, weight_words):
    """Return the layout of the forward (0) or backward (1) section.

    A plain tuple of (starts, degrees, neighbors, weights, rows, edges, base, bits, degree_bits),
    because the body of a `prange` loop cannot use named ones. The first three are indices of words,
    `weights` is the index of a weight, which takes `weight_words` words.
    """
    row = table[partition]
    columns = BACKWARD if direction else FORWARD
    rows, edges, base, bits, degree_bits = (
        row[ROWS], row[columns], row[columns + 1], row[columns + 2], row[columns + 3]
    )  # fmt: skip
    starts = row[POSITION] - origin + (row[FORWARD_WORDS] if direction else 0)
    degrees = num_groups(rows) + 1
    neighbors = degrees + (rows * degree_bits + 31) // 32 + 1
    weights = neighbors + (max(edges * bits, 1) + 31) // 32 + 1
    weights += weights % 2
    return (
        starts, starts + degrees, starts + neighbors, (starts + weights) // weight_words,
        rows, edges, base, bits, degree_bits,
    )  # fmt: skip


@serial
def is_intact(table, checksums, partition, direction):
    """Return whether the computed checksum of a section is the one in the table."""
    return np.int64(checksums[2 * partition + direction]) == table[partition, CHECKSUM + direction]


@serial
def extract(words, position, bits, index):
    """Return a packed value of the array that starts at word `position`."""
    bit = np.uint64(index * bits)
    word = np.uint64(position) + (bit >> WORD_SHIFT)
    pair = np.uint64(words[word]) | np.uint64(words[word + ONE]) << np.uint64(32)
    return np.int64(pair >> (bit & BIT_MASK) & ((ONE << np.uint64(bits)) - ONE))


@parallel
def add_words(words, checksum):
    """Add the checksum of words to checksum[0]."""
    size, sums = len(words), np.zeros(NUM_CHUNKS, np.uint64)
    for chunk in prange(NUM_CHUNKS):
        total = np.uint64(0)
        for i in range(chunk * size // NUM_CHUNKS, (chunk + 1) * size // NUM_CHUNKS):
            factor = np.uint64(2 * i + 1) * np.uint64(0x9E3779B97F4A7C15)
            total += (np.uint64(words[np.uint64(i)]) + ONE) * factor
        sums[chunk] = total
    for chunk in range(NUM_CHUNKS):
        checksum[0] += sums[chunk]


@serial
def num_groups(rows):
    """Return the number of groups of GROUP_ROWS rows."""
    return (rows + GROUP_ROWS - 1) // GROUP_ROWS


@serial
def group_start(words, starts, group):
    """Return the first edge of a group."""
    return np.int64(words[np.uint64(starts + group)])


@serial
def split_work(rows, edges):
    """Return the work of a section, 1 per edge and GROUP_ROWS per group, and its chunks."""
    work = edges + GROUP_ROWS * num_groups(rows) if edges else 0
    return work, min(NUM_CHUNKS, (work + MIN_CHUNK_WORK - 1) // MIN_CHUNK_WORK)


@serial
def first_group(words, starts, rows, work_start):
    """Return the last group whose work begins at or before `work_start`."""
    group, stop = 0, num_groups(rows)
    while stop - group > 1:
        middle = (group + stop) // 2
        if group_start(words, starts, middle) + GROUP_ROWS * middle <= work_start:
            group = middle
        else:
            stop = middle
    return group


@serial
def find_layer(layer_starts, num_layers, position):
    """Return the last layer that starts at or before a position."""
    layer, stop = 0, num_layers
    while stop - layer > 1:
        middle = (layer + stop) // 2
        if layer_starts[middle] <= position:
            layer = middle
        else:
            stop = middle
    return layer


@serial
def atomic_min(values, index, value):
    """Lower values[index] to `value` atomically."""
    old = values[index]
    while value < old:
        current = exchange_if(values, index, old, value)
        if current == old:
            return
        old = current
