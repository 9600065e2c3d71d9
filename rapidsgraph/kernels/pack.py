"""Construction of layered edge lists on a CPU: the twins of pack.cu."""

import numpy as np
from numba import prange

from .constants import NO_VERTEX, UNREACHED
from .jit import parallel, serial
from .sections import NUM_CHUNKS, ONE, add_words, extract


@parallel
def count_forward(num_vertices, order, depths, offsets, neighbors, counts):
    for position in prange(num_vertices):
        vertex = np.uint64(order[position])
        depth = depths[vertex]
        count = 0
        if depth != UNREACHED:
            for arc in range(offsets[vertex], offsets[vertex + ONE]):
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
    for position in prange(num_vertices):
        vertex = np.uint64(order[position])
        depth = depths[vertex]
        forward = np.uint64(forward_offsets[vertex])
        backward = np.uint64(backward_offsets[vertex])
        for arc_ in range(offsets[vertex], offsets[vertex + ONE]):
            arc = np.uint64(arc_)
            neighbor = np.uint64(neighbors[arc])
            if depth != UNREACHED and depths[neighbor] >= depth:
                forward_neighbors[forward] = position_of[neighbor]
                if weighted:
                    forward_weights[forward] = weights[arc]
                forward += ONE
            else:
                backward_neighbors[backward] = position_of[neighbor]
                if weighted:
                    backward_weights[backward] = weights[arc]
                backward += ONE


@parallel
def pack(num_values, base, bits, values, words):
    num_words = (num_values * bits + 31) // 32 + 1
    for chunk in prange(NUM_CHUNKS):
        start, stop = chunk * num_words // NUM_CHUNKS, (chunk + 1) * num_words // NUM_CHUNKS
        i = 32 * start // bits if bits else num_values
        for word in range(start, stop):
            first_bit, packed = 32 * word, np.uint32(0)
            if i * bits > first_bit and i:
                i -= 1  # this value begins in the previous word
            while i < num_values and i * bits < first_bit + 32:
                value, shift = np.uint64(values[i] - base), i * bits - first_bit
                shifted = value << np.uint64(shift) if shift >= 0 else value >> np.uint64(-shift)
                packed |= np.uint32(shifted & np.uint64(0xFFFFFFFF))
                i += 1
            words[word] = packed


@parallel
def unpack(num_values, base, bits, words, values):
    for i in prange(num_values):
        values[i] = base + extract(words, 0, bits, i)


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
    for chunk in prange(NUM_CHUNKS):
        start, stop = chunk * num_vertices // NUM_CHUNKS, (chunk + 1) * num_vertices // NUM_CHUNKS
        layer = 0
        for position in range(start, stop):
            vertex = np.uint64(order[np.uint64(position)])
            while layer + 1 < num_layers and layer_starts[layer + 1] <= position:
                layer += 1
            distances[vertex] = layer if position < num_reached else -1
            if with_predecessors:
                parent = parents[np.uint64(position)]
                predecessors[vertex] = (
                    NO_VERTEX if parent == NO_VERTEX else order[np.uint64(parent)]
                )


@serial
def add_checksum(num_words, words, checksum):
    add_words(words[:num_words], checksum)
