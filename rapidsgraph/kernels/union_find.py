"""Connected components by union-find on a CPU: the twins of union_find.cu, which documents them."""

import functools

import numpy as np
from numba import prange

from .disjoint_sets import join
from .intrinsics import minimum, prefetch
from .jit import parallel, serial

NUM_BLOCKS = 64
AHEAD = 24  # arcs or vertices whose parents are fetched before they are needed


@parallel
def link_neighbor(num_vertices, position, offsets, neighbors, parents):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for vertex in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            ahead = minimum(vertex + AHEAD, num_vertices - 1)
            arc = offsets[np.uint64(ahead)] + position
            if arc < offsets[np.uint64(ahead + 1)]:
                prefetch(parents, np.uint64(neighbors[np.uint64(arc)]))
            arc = offsets[np.uint64(vertex)] + position
            if arc < offsets[np.uint64(vertex + 1)]:
                join(parents, vertex, neighbors[np.uint64(arc)])


@functools.partial(serial, forceinline=True)
def _link_list(vertex, start, stop, arcs, neighbors, parents):
    parent = parents[np.uint64(vertex)]
    arc = start
    while arc < stop:
        prefetch(parents, np.uint64(neighbors[np.uint64(minimum(arc + AHEAD, arcs - 1))]))
        other = np.uint32(neighbors[np.uint64(arc)])
        if parents[other] != parent:
            join(parents, vertex, other)
            parent = parents[np.uint64(vertex)]
        arc += 1


@parallel
def link_remaining(num_vertices, position, largest_root, offsets, neighbors, parents):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for vertex in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            if parents[np.uint64(vertex)] == largest_root:
                continue
            start, stop = offsets[np.uint64(vertex)] + position, offsets[np.uint64(vertex + 1)]
            _link_list(vertex, start, stop, neighbors.size, neighbors, parents)


@parallel
def link_arcs(num_vertices, num_arcs, position, rows, offsets, neighbors, parents):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for vertex in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            start, stop = offsets[np.uint64(vertex)] + position, offsets[np.uint64(vertex + 1)]
            _link_list(vertex, start, stop, num_arcs, neighbors, parents)


@parallel
def compress(num_vertices, parents):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for vertex in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            ahead = np.uint64(minimum(vertex + AHEAD, num_vertices - 1))
            prefetch(parents, np.uint64(parents[ahead]))
            parent = np.uint32(parents[np.uint64(vertex)])
            while np.uint32(parents[parent]) != parent:
                parent = np.uint32(parents[parent])
            parents[np.uint64(vertex)] = parent


@serial
def count_members(num_vertices, parents, sizes):
    for vertex in range(num_vertices):
        sizes[np.uint32(parents[np.uint64(vertex)])] += 1


def list_large(num_vertices, sizes, keys, num_keys):
    large = np.flatnonzero(sizes > 1)
    keys[: large.size] = (-sizes[large].astype(np.int64) << 32) + large
    num_keys[0] = large.size


def number_large(num_keys, keys, sizes):
    sizes[keys.astype(np.int32)] = -np.arange(num_keys, dtype=np.int32)  # the low half


def number_vertices(num_vertices, num_large, roots, sizes, num_single, numbers):
    by_root = num_single[:num_vertices]
    by_root += np.int32(num_large)
    np.negative(sizes, out=by_root, where=sizes != 1)
    np.take(by_root, roots, out=numbers, mode="clip")  # other modes copy `numbers`


@serial
def number_in_block(num_vertices, num_arcs, offsets, neighbors, work_space, components):
    parents = np.arange(num_vertices, dtype=np.int32)
    for vertex in range(num_vertices):
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            join(parents, vertex, neighbors[arc])
    sizes = np.zeros(num_vertices, np.int64)
    for vertex in range(num_vertices):  # a parent precedes its children
        parents[vertex] = parents[parents[vertex]]
        sizes[parents[vertex]] += 1
    keys = work_space[:num_vertices]
    for vertex in range(num_vertices):
        keys[vertex] = -(sizes[vertex] << 32) + vertex
    order = np.argsort(keys)
    numbers = np.empty(num_vertices, np.int32)
    for number in range(num_vertices):
        numbers[order[number]] = number
    for vertex in range(num_vertices):
        components[vertex] = numbers[parents[vertex]]
