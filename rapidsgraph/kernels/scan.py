"""Structural clustering on a CPU: the twins of scan.cu, which documents them."""

import math

import numpy as np
from numba import prange

from .constants import BORDER, CORE, HUB, NO_CLUSTER, OUTLIER, SIMILARITY_LEVELS
from .disjoint_sets import join
from .intrinsics import add_at, exchange_if, minimum
from .jit import parallel, serial
from .searches import is_at_least
from .union_find import compress

NUM_BLOCKS = 64
NONE = np.int32(NO_CLUSTER)


@serial
def _similar(row, arc, neighbors, common, sizes, numerator, denominator):
    shared = np.uint64(common[np.uint64(arc)])
    other = np.uint64(sizes[np.uint64(neighbors[np.uint64(arc)])])
    product = np.uint64(sizes[np.uint64(row)]) * other
    return is_at_least(shared * shared, np.uint64(denominator), np.uint64(numerator), product)


@serial
def _level(row, arc, neighbors, common, sizes):
    other = np.float64(sizes[np.uint64(neighbors[np.uint64(arc)])])
    product = np.float64(sizes[np.uint64(row)]) * other
    return minimum(
        np.int64(common[np.uint64(arc)] / math.sqrt(product) * SIMILARITY_LEVELS),
        SIMILARITY_LEVELS - 1,
    )


@serial
def _ends(row, arc, floor, neighbors, common, sizes):
    return floor > 0 and _level(row, arc, neighbors, common, sizes) < floor


@parallel
def mark_cores(
    num_vertices, mu, numerator, denominator, offsets, neighbors, common, sizes, is_core
):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for row in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            start, stop, similar = offsets[np.uint64(row)], offsets[np.uint64(row + 1)], 1
            for arc in range(start, stop if stop - start + 1 >= mu else start):
                if similar >= mu:
                    break
                similar += _similar(row, arc, neighbors, common, sizes, numerator, denominator)
            is_core[np.uint64(row)] = similar >= mu


@parallel
def mark_indexed_cores(
    num_candidates,
    mu,
    floor,
    numerator,
    denominator,
    candidates,
    offsets,
    neighbors,
    common,
    sizes,
    is_core,
):
    for block_ in prange(NUM_BLOCKS):
        for i in range(np.int64(block_), num_candidates, NUM_BLOCKS):
            vertex = np.uint64(candidates[np.uint64(i)])
            start, stop = offsets[vertex], offsets[vertex + np.uint64(1)]
            if _level(vertex, start + mu - 2, neighbors, common, sizes) < floor:
                break
            arc = start + mu - 1
            while arc > start and _level(vertex, arc - 1, neighbors, common, sizes) <= floor + 1:
                arc -= 1
            similar = arc - start + 1
            while arc < stop and similar < mu:
                if _level(vertex, arc, neighbors, common, sizes) < floor:
                    break
                similar += _similar(vertex, arc, neighbors, common, sizes, numerator, denominator)
                arc += 1
            if similar >= mu:
                is_core[vertex] = True


@parallel
def join_cores(
    num_rows,
    rows,
    floor,
    numerator,
    denominator,
    offsets,
    neighbors,
    common,
    sizes,
    is_core,
    parents,
    is_border,
):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for i in range(num_rows * block // NUM_BLOCKS, num_rows * (block + 1) // NUM_BLOCKS):
            row = np.uint64(rows[np.uint64(i)])
            for arc in range(offsets[row], offsets[row + np.uint64(1)]):
                neighbor = np.uint64(neighbors[np.uint64(arc)])
                is_other_core = is_core[neighbor]
                if is_other_core & (neighbor > row) & (floor == 0):
                    continue  # the row of the neighbor reports this edge
                is_similar = _similar(row, arc, neighbors, common, sizes, numerator, denominator)
                # No other branch depends on a flag of the arc, since it could not be predicted.
                if (
                    is_similar
                    & is_other_core
                    & (neighbor < row)
                    & (parents[neighbor] != parents[row])
                ):
                    join(parents, row, neighbor)
                if is_similar & (not is_other_core) and not is_border[neighbor]:
                    is_border[neighbor] = True
                if (
                    floor > 0
                    and not is_similar
                    and _ends(row, arc, floor, neighbors, common, sizes)
                ):
                    break


@parallel
def attach_borders(
    num_rows,
    rows,
    floor,
    numerator,
    denominator,
    offsets,
    neighbors,
    common,
    sizes,
    is_core,
    nearest,
    num_similar_cores,
):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for i in range(num_rows * block // NUM_BLOCKS, num_rows * (block + 1) // NUM_BLOCKS):
            row = np.uint64(rows[np.uint64(i)])
            best, most, size = np.int64(-1), np.uint64(0), np.uint64(1)
            num_cores = 0
            for arc in range(offsets[row], offsets[row + np.uint64(1)]):
                core = np.int64(neighbors[np.uint64(arc)])
                is_similar = _similar(row, arc, neighbors, common, sizes, numerator, denominator)
                if not (is_similar & is_core[np.uint64(core)]):
                    if (
                        floor > 0
                        and not is_similar
                        and _ends(row, arc, floor, neighbors, common, sizes)
                    ):
                        break
                    continue
                num_cores += 1
                shared = np.uint64(common[np.uint64(arc)])
                core_size = np.uint64(sizes[np.uint64(core)])
                # common^2 / size, compared without a division
                if is_at_least(shared * shared, size, most * most, core_size) and (
                    core < best or not is_at_least(most * most, core_size, shared * shared, size)
                ):
                    best, most, size = core, shared, core_size
            nearest[row] = best
            num_similar_cores[row] = num_cores


@parallel
def list_border_clusters(
    num_rows,
    rows,
    floor,
    numerator,
    denominator,
    offsets,
    neighbors,
    common,
    sizes,
    is_core,
    labels,
    starts,
    clusters,
):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for i in range(num_rows * block // NUM_BLOCKS, num_rows * (block + 1) // NUM_BLOCKS):
            row = np.uint64(rows[np.uint64(i)])
            index = starts[row]
            for arc in range(offsets[row], offsets[row + np.uint64(1)]):
                if _similar(row, arc, neighbors, common, sizes, numerator, denominator):
                    neighbor = np.uint64(neighbors[np.uint64(arc)])
                    if is_core[neighbor]:
                        clusters[np.uint64(index)] = labels[neighbor]
                        index += 1
                elif _ends(row, arc, floor, neighbors, common, sizes):
                    break


@serial
def measure_clusters(num_members, members, labels, cluster_sizes, first_members):
    for i in range(num_members):
        member = members[np.uint64(i)]
        label = np.uint64(labels[np.uint64(member)])
        cluster_sizes[label] += 1
        first_members[label] = minimum(first_members[label], member)


@serial
def label_members(num_vertices, is_core, is_border, roots, nearest, labels, is_member):
    for vertex_ in range(num_vertices):
        vertex = np.uint64(vertex_)
        # Masks instead of branches, which could not be predicted. NO_CLUSTER has all bits set.
        border = np.uint64(0) - np.uint64(is_border[vertex])
        core = (np.uint64(nearest[vertex]) & border) | (vertex & ~border)
        is_member[vertex] = is_core[vertex] | is_border[vertex]
        labels[vertex] = roots[core] | (np.int32(is_member[vertex]) - np.int32(1))


def assign_roles(num_vertices, is_core, is_border, is_hub, roles):
    # Roles exclude one another, so each vertex has one term at most. This takes a tenth of the time
    # of assignments by mask.
    np.multiply(is_core, np.int8(CORE - OUTLIER), out=roles)
    roles += is_border * np.int8(BORDER - OUTLIER)
    roles += is_hub * np.int8(HUB - OUTLIER)
    roles += np.int8(OUTLIER)


@serial
def list_clusters(num_members, members, labels, cluster_sizes, first_members, keys, num_keys):
    count = 0
    for i in range(num_members):
        member = members[np.uint64(i)]
        label = np.uint64(labels[np.uint64(member)])
        if first_members[label] == member:
            keys[np.uint64(count)] = (np.int64(-cluster_sizes[label]) << 32) + member
            count += 1
    num_keys[0] = count


def number_clusters(num_keys, keys, labels, numbers):
    numbers[labels[keys.astype(np.int32)]] = np.arange(num_keys, dtype=np.int32)  # the low half


@serial
def assign_clusters(num_members, members, labels, numbers, clusters):
    for i in range(num_members):
        member = np.uint64(members[np.uint64(i)])
        clusters[member] = numbers[np.uint64(labels[member])]


@parallel
def find_hubs(num_rows, rows, offsets, neighbors, labels, neighbor_labels, is_hub):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for i in range(num_rows * block // NUM_BLOCKS, num_rows * (block + 1) // NUM_BLOCKS):
            row = np.uint64(rows[np.uint64(i)])
            label = labels[row]
            for arc in range(offsets[row], offsets[row + np.uint64(1)]):
                neighbor = np.uint64(neighbors[np.uint64(arc)])
                if labels[neighbor] != NONE:
                    continue
                other = neighbor_labels[neighbor]
                if other == NONE:
                    other = exchange_if(neighbor_labels, neighbor, NONE, label)
                if other != NONE and other != label:
                    is_hub[neighbor] = True


@serial
def cluster_in_block(
    num_vertices,
    num_arcs,
    mu,
    numerator,
    denominator,
    offsets,
    neighbors,
    common,
    sizes,
    rows,
    keys,
    parents,
    labels,
    cluster_sizes,
    first_members,
    clusters,
    roles,
    mask,
    num_members,
):
    is_core, is_border = np.empty(num_vertices, np.bool_), np.zeros(num_vertices, np.bool_)
    lists = offsets, neighbors, common, sizes
    mark_cores(num_vertices, mu, numerator, denominator, *lists, is_core)
    cores = np.flatnonzero(is_core).astype(np.int32)
    for vertex in range(num_vertices):
        parents[vertex], cluster_sizes[vertex], first_members[vertex] = vertex, 0, num_vertices
    join_cores(
        len(cores), cores, 0, numerator, denominator, *lists, is_core, parents, is_border
    )  # fmt: skip
    compress(num_vertices, parents)
    borders = np.flatnonzero(is_border).astype(np.int32)
    nearest, num_similar_cores = clusters, np.empty(num_vertices, np.int32)
    attach_borders(
        len(borders), borders, 0, numerator, denominator, *lists, is_core, nearest,
        num_similar_cores,
    )  # fmt: skip
    for vertex in range(num_vertices):
        core = nearest[vertex] if is_border[vertex] else vertex
        labels[vertex] = parents[core] if is_border[vertex] or is_core[vertex] else NO_CLUSTER
    members = np.flatnonzero(labels != NO_CLUSTER).astype(np.int32)
    num_members[0] = len(members)
    measure_clusters(len(members), members, labels, cluster_sizes, first_members)
    num_keys = np.zeros(1, np.int32)
    list_clusters(len(members), members, labels, cluster_sizes, first_members, keys, num_keys)
    numbers = parents
    for number, key in enumerate(np.sort(keys[: num_keys[0]])):
        numbers[labels[key & 0x7FFFFFFF]] = number
    mask[:] = 0
    for vertex in range(num_vertices):
        clusters[vertex], roles[vertex] = NO_CLUSTER, OUTLIER
        if labels[vertex] != NO_CLUSTER:
            clusters[vertex] = numbers[labels[vertex]]
            roles[vertex] = CORE if is_core[vertex] else BORDER
            mask[vertex // 32] |= np.uint32(1) << np.uint32(vertex % 32)
    is_hub = np.zeros(num_vertices, np.bool_)
    neighbor_clusters = np.full(num_vertices, NO_CLUSTER, np.int32)
    find_hubs(len(members), members, offsets, neighbors, clusters, neighbor_clusters, is_hub)
    roles[is_hub] = HUB


@parallel
def count_internal_arcs(num_rows, rows, offsets, neighbors, labels, num_internal_arcs):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        num_internal = 0
        for i in range(num_rows * block // NUM_BLOCKS, num_rows * (block + 1) // NUM_BLOCKS):
            row = np.uint64(rows[np.uint64(i)])
            for arc in range(offsets[row], offsets[row + np.uint64(1)]):
                num_internal += labels[np.uint64(neighbors[np.uint64(arc)])] == labels[row]
        add_at(num_internal_arcs, np.uint64(0), np.int64(num_internal))


@parallel
def mark_similar(
    num_arcs, numerator, denominator, sources, offsets, neighbors, common, sizes, is_similar
):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for arc in range(num_arcs * block // NUM_BLOCKS, num_arcs * (block + 1) // NUM_BLOCKS):
            row = sources[np.uint64(arc)]
            is_similar[np.uint64(arc)] = _similar(
                row, arc, neighbors, common, sizes, numerator, denominator
            )


@parallel
def compute_levels(num_arcs, sources, neighbors, common, sizes, descent):
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for arc in range(num_arcs * block // NUM_BLOCKS, num_arcs * (block + 1) // NUM_BLOCKS):
            level = _level(sources[np.uint64(arc)], arc, neighbors, common, sizes)
            descent[np.uint64(arc)] = SIMILARITY_LEVELS - 1 - level


def find_positions(num_arcs, first_arc, rows, offsets, positions):
    positions[:] = np.arange(first_arc, first_arc + num_arcs) - offsets[rows]
