"""Random graphs on a CPU: the twins of generate.cu, which documents them.

Operands of 64-bit arithmetic are explicitly uint64 or int64, because Numba converts a mixture of
the two to float64.
"""

import numba
import numpy as np

from .jit import parallel, serial

LOW_WORD = 0xFFFFFFFF
UNIT = 2.0**-53


@serial
def _random_bits(key, draw):
    bits = np.uint64(key)
    bits += (np.uint64(draw) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@serial
def _upper_bits(key, draw):
    return np.int64(_random_bits(key, draw) >> np.uint64(11))


@serial
def _pack(source, destination):
    return (np.int64(source) << 32) | np.int64(destination)


@parallel
def draw_order(num_vertices, key, bits, order):
    for index in numba.prange(num_vertices):
        vertex = np.int64(index)
        random = np.int64(_random_bits(key, vertex) >> np.uint64(1))
        order[vertex] = ((random >> bits) << bits) | vertex


@parallel
def draw_rmat(num_edges, scale, key, a, ab, abc, names, keys):
    for index in numba.prange(num_edges):
        edge = np.int64(index)
        source, destination = np.int64(0), np.int64(0)
        for level in range(scale):
            random = _upper_bits(key, edge * scale + level)
            source = 2 * source + np.int64(random >= ab)
            right = np.int64(random >= a) - np.int64(random >= ab) + np.int64(random >= abc)
            destination = 2 * destination + right
        keys[edge] = _pack(names[source], names[destination])


@parallel
def draw_uniform(num_edges, num_vertices, key, sources, destinations):
    for index in numba.prange(num_edges):
        edge = np.int64(index)
        sources[edge] = np.int64(_random_bits(key, 2 * edge) >> np.uint64(1)) % num_vertices
        destinations[edge] = (
            np.int64(_random_bits(key, 2 * edge + 1) >> np.uint64(1)) % num_vertices
        )


@parallel
def draw_grid(num_vertices, width, key, threshold, is_selected):
    for index in numba.prange(num_vertices):
        vertex = np.int64(index)
        right, below = vertex % width < width - 1, vertex < num_vertices - width
        is_selected[2 * vertex] = right and _upper_bits(key, 2 * vertex) < threshold
        is_selected[2 * vertex + 1] = below and _upper_bits(key, 2 * vertex + 1) < threshold


@parallel
def pack_grid(num_edges, width, lattice_edges, names, keys):
    for index in numba.prange(num_edges):
        edge = np.int64(index)
        vertex, step = lattice_edges[edge] // 2, 1
        if lattice_edges[edge] % 2:
            step = width
        name, other_name = names[vertex], names[vertex + step]
        keys[2 * edge] = _pack(name, other_name)
        keys[2 * edge + 1] = _pack(other_name, name)


@parallel
def draw_cliques(num_cliques, max_clique, key, sizes):
    for index in numba.prange(num_cliques):
        clique = np.int64(index)
        sizes[clique] = 1 + np.int64(_random_bits(key, clique) >> np.uint64(1)) % max_clique


@serial
def _bridge_end(bridge, clique, cliques, key, threshold, starts):
    endpoint = np.int64(-1)
    if _upper_bits(key, 3 * bridge) < threshold:
        coins = np.int64(_random_bits(key, 3 * bridge + 1) >> np.uint64(1))
        distance = np.int64(1)
        while coins & 1 and distance < cliques:
            distance *= 2
            coins >>= 1
        if clique + distance < cliques:
            start = starts[clique + distance]
            size = starts[clique + distance + 1] - start
            endpoint = start + np.int64(_random_bits(key, 3 * bridge + 2) >> np.uint64(1)) % size
    return endpoint


@parallel
def draw_bridges(num_vertices, num_cliques, key, threshold, clique_of, clique_offsets, bridge_ends):
    for index in numba.prange(num_vertices):
        vertex = np.int64(index)
        clique = np.int64(clique_of[vertex])
        first = _bridge_end(2 * vertex, clique, num_cliques, key, threshold, clique_offsets)
        second = _bridge_end(2 * vertex + 1, clique, num_cliques, key, threshold, clique_offsets)
        bridge_ends[2 * vertex] = first
        bridge_ends[2 * vertex + 1] = second
        if second == first:
            bridge_ends[2 * vertex + 1] = -1


@parallel
def pack_cliques(num_vertices, clique_of, clique_offsets, key_offsets, names, keys):
    for index in numba.prange(num_vertices):
        vertex = np.int64(index)
        clique = clique_of[vertex]
        start, stop = clique_offsets[clique], clique_offsets[clique + 1]
        key_index = key_offsets[clique] + (vertex - start) * (stop - start - 1)
        for other in range(start, stop):
            if other != vertex:
                keys[key_index] = _pack(names[vertex], names[other])
                key_index += 1


@parallel
def pack_bridges(num_edges, bridges, bridge_ends, names, keys):
    for index in numba.prange(num_edges):
        edge = np.int64(index)
        name, other_name = names[bridges[edge] // 2], names[bridge_ends[bridges[edge]]]
        keys[2 * edge] = _pack(name, other_name)
        keys[2 * edge + 1] = _pack(other_name, name)


@parallel
def mark_simple(num_edges, keys, is_simple):
    for index in numba.prange(num_edges):
        edge = np.int64(index)
        packed = keys[edge]
        loop = packed >> 32 == packed & LOW_WORD
        is_simple[edge] = not loop and (edge == 0 or keys[edge - 1] != packed)


@parallel
def unpack(num_edges, keys, sources, destinations):
    for index in numba.prange(num_edges):
        edge = np.int64(index)
        sources[edge] = keys[edge] >> 32
        destinations[edge] = keys[edge] & LOW_WORD


@parallel
def draw_weights(
    num_edges, key, symmetrize, min_weight, weight_range, max_weight, sources, destinations, weights
):
    for index in numba.prange(num_edges):
        edge = np.int64(index)
        source, destination = sources[edge], destinations[edge]
        draw = edge
        if symmetrize:
            draw = _pack(min(source, destination), max(source, destination))
        weight = min_weight + weight_range * (_upper_bits(key, draw) * UNIT)
        weights[edge] = min(weight, max_weight)
