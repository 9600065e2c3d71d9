"""Construction of layered edge lists on a CPU: the twins of pack.cu, which documents them."""

import numpy as np
from numba import prange

from .constants import NO_VERTEX, UNREACHED
from .jit import parallel

PARTS = 64


@parallel
def count_forward(num_vertices, order, depths, offsets, neighbors, counts):
    for place in prange(num_vertices):
        vertex = np.uint64(order[place])
        depth = depths[vertex]
        count = 0
        if depth != UNREACHED:
            for arc in range(offsets[vertex], offsets[vertex + np.uint64(1)]):
                count += depths[np.uint64(neighbors[np.uint64(arc)])] >= depth
        counts[vertex] = count


@parallel
def move_arcs(
    num_vertices,
    order,
    position_of,
    depths,
    offsets,
    neighbors,
    weights,
    weighted,
    forward_offsets,
    backward_offsets,
    forward_neighbors,
    backward_neighbors,
    forward_weights,
    backward_weights,
):
    for place in prange(num_vertices):
        vertex = np.uint64(order[place])
        depth = depths[vertex]
        ahead, back = np.uint64(forward_offsets[vertex]), np.uint64(backward_offsets[vertex])
        for arc_ in range(offsets[vertex], offsets[vertex + np.uint64(1)]):
            arc = np.uint64(arc_)
            neighbor = np.uint64(neighbors[arc])
            if depth != UNREACHED and depths[neighbor] >= depth:
                forward_neighbors[ahead] = position_of[neighbor]
                if weighted:
                    forward_weights[ahead] = weights[arc]
                ahead += np.uint64(1)
            else:
                backward_neighbors[back] = position_of[neighbor]
                if weighted:
                    backward_weights[back] = weights[arc]
                back += np.uint64(1)


@parallel
def pack(num_values, base, bits, values, words):
    size = (num_values * bits + 31) // 32 + 1
    for part in prange(PARTS):
        first, last = part * size // PARTS, (part + 1) * size // PARTS
        value = 32 * first // bits if bits else num_values
        for word in range(first, last):
            begin, packed = 32 * word, np.uint32(0)
            if value * bits > begin and value:
                value -= 1  # it began in the word before
            while value < num_values and value * bits < begin + 32:
                number, at = np.uint64(values[value] - base), value * bits - begin
                moved = number << np.uint64(at) if at >= 0 else number >> np.uint64(-at)
                packed |= np.uint32(moved & np.uint64(0xFFFFFFFF))
                value += 1
            words[word] = packed


@parallel
def unpack(num_values, base, bits, words, values):
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for i in prange(num_values):
        at = np.uint64(i * bits)
        word = at >> np.uint64(5)
        pair = np.uint64(words[word]) | np.uint64(words[word + np.uint64(1)]) << np.uint64(32)
        values[i] = base + np.int64(pair >> (at & np.uint64(31)) & mask)


@parallel
def compute_distances(
    num_vertices,
    num_reached,
    num_layers,
    layer_starts,
    order,
    with_predecessors,
    parents,
    distances,
    predecessors,
):
    for part in prange(PARTS):
        first, last = part * num_vertices // PARTS, (part + 1) * num_vertices // PARTS
        layer = 0
        for place in range(first, last):
            vertex = np.uint64(order[np.uint64(place)])
            while layer + 1 < num_layers and layer_starts[layer + 1] <= place:
                layer += 1
            distances[vertex] = layer if place < num_reached else -1
            if with_predecessors:
                parent = parents[np.uint64(place)]
                before = parent if parent == NO_VERTEX else order[np.uint64(parent)]
                predecessors[vertex] = before


@parallel
def add_checksum(num_words, words, checksum):
    sums = np.zeros(PARTS, np.uint64)
    for part in prange(PARTS):
        found = np.uint64(0)
        for i in range(part * num_words // PARTS, (part + 1) * num_words // PARTS):
            factor = np.uint64(2 * i + 1) * np.uint64(0x9E3779B97F4A7C15)
            found += (np.uint64(words[i]) + np.uint64(1)) * factor
        sums[part] = found
    for part in range(PARTS):
        checksum[0] += sums[part]
