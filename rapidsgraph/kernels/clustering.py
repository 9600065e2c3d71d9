"""Structural clustering in one launch, on a CPU; a GPU takes several, unless a graph is small.

The steps with parallel loops are the kernels of `scan.py`.
"""

import numpy as np
from numba import prange

from .constants import BORDER, CORE, HUB, NO_CLUSTER, OUTLIER
from .disjoint_sets import join
from .jit import parallel, serial
from .scan import _similar, attach_borders, join_cores
from .union_find import compress

NUM_BLOCKS = 64
NONE = np.int32(NO_CLUSTER)


@serial
def cluster_counted(
    mu, is_similar, floor, numerator, denominator, offsets, neighbors, common, sizes, is_core,
    is_border, roots, borders, nearest, work_space, clusters, roles, members,
):  # fmt: skip
    """Find and link cores, comparing each edge once, and cluster the vertices by `cluster_linked`.

    Parameters
    ----------
    mu : int
    is_similar : bool array, shape (arcs,)
        Overwritten.
    is_core, is_border : bool array, shape (vertices,)
        Overwritten.
    roots : int32 array, shape (vertices,)
        Overwritten.

    Other parameters and the result are those of `cluster_linked`; lists are sorted by neighbor.
    """
    num_vertices, num_cores, one = len(roots), 0, np.uint64(1)
    num_similar = work_space  # of each vertex, including itself
    for vertex in range(num_vertices):
        num_similar[np.uint64(vertex)] = 1
    for vertex_ in range(num_vertices):
        vertex = np.uint64(vertex_)
        arc, count = np.uint64(offsets[vertex + one]), 0
        while arc > np.uint64(offsets[vertex]):
            arc -= one
            neighbor = np.uint64(neighbors[arc])
            if neighbor < vertex:
                break
            found = _similar(vertex, arc, neighbors, common, sizes, numerator, denominator)
            is_similar[arc] = found
            num_similar[neighbor] += found
            count += found
        num_similar[vertex] += count
    for vertex_ in range(num_vertices):
        vertex = np.uint64(vertex_)
        roots[vertex], clusters[vertex], roles[vertex] = vertex_, NONE, OUTLIER
        is_core[vertex], is_border[vertex] = num_similar[vertex] >= mu, False
        num_cores += is_core[vertex]
    if num_cores == 0:
        return 0, 0
    for vertex_ in range(num_vertices):
        vertex = np.uint64(vertex_)
        arc = np.uint64(offsets[vertex + one])
        while arc > np.uint64(offsets[vertex]):
            arc -= one
            neighbor = np.uint64(neighbors[arc])
            if neighbor < vertex:
                break
            if not is_similar[arc] or not (is_core[vertex] | is_core[neighbor]):
                continue
            if is_core[vertex] & is_core[neighbor]:
                if roots[neighbor] != roots[vertex]:
                    join(roots, vertex, neighbor)
            else:
                is_border[vertex if is_core[neighbor] else neighbor] = True
    compress(num_vertices, roots)
    return cluster_linked(
        floor, numerator, denominator, offsets, neighbors, common, sizes, is_core, is_border,
        roots, borders, nearest, work_space, clusters, roles, members,
    )  # fmt: skip


@serial
def cluster_cores(
    num_cores, cores, floor, numerator, denominator, offsets, neighbors, common, sizes, is_core,
    is_border, roots, borders, nearest, work_space, clusters, roles, members,
):  # fmt: skip
    """Link cores, and cluster the vertices by `cluster_linked`.

    Parameters
    ----------
    num_cores : int
    cores : int32 array
        The first `num_cores` are the cores.
    roots : int32 array, shape (vertices,)
        Overwritten; before, every vertex is its own root.
    is_border : bool array, shape (vertices,)
        Overwritten; before, no vertex is a border.

    Other parameters and the result are those of `cluster_linked`.
    """
    join_cores(
        num_cores, cores, floor, numerator, denominator, offsets, neighbors, common, sizes,
        is_core, roots, is_border,
    )  # fmt: skip
    compress(len(roots), roots)
    return cluster_linked(
        floor, numerator, denominator, offsets, neighbors, common, sizes, is_core, is_border,
        roots, borders, nearest, work_space, clusters, roles, members,
    )  # fmt: skip


@serial
def cluster_linked(
    floor, numerator, denominator, offsets, neighbors, common, sizes, is_core, is_border, roots,
    borders, nearest, work_space, clusters, roles, members,
):  # fmt: skip
    """Attach borders to linked cores, and number clusters; mark hubs, unless lists are ordered.

    Parameters
    ----------
    floor, numerator, denominator, offsets, neighbors, common, sizes
        As for `scan.attach_borders`.
    is_core, is_border : bool array, shape (vertices,)
    roots : int32 array, shape (vertices,)
        Root of the component of similar cores of every core.
    borders, nearest, work_space : int32 array, shape (vertices,)
        Overwritten.
    clusters, roles, members
        As for `label_vertices`.

    Returns
    -------
    num_clusters, num_members : int
    """
    num_vertices, num_borders = len(roots), 0
    for vertex in range(num_vertices):
        borders[np.uint64(num_borders)] = vertex
        num_borders += is_border[np.uint64(vertex)]
    if num_borders > 0:
        attach_borders(
            num_borders, borders, floor, numerator, denominator, offsets, neighbors, common, sizes,
            is_core, nearest, work_space,
        )  # fmt: skip
    num_clusters, num_members = label_vertices(
        num_vertices, is_core, is_border, roots, nearest, borders, work_space, clusters, roles,
        members,
    )  # fmt: skip
    if floor == 0 and num_clusters > 1:
        _mark_hubs(clusters, offsets, neighbors, roles)
    return num_clusters, num_members


@serial
def label_vertices(
    num_vertices, is_core, is_border, roots, nearest, labels, work_space, clusters, roles, members
):
    """Number clusters by descending size, ties by smallest member.

    Parameters
    ----------
    is_core, is_border : bool array, shape (vertices,)
    roots : int32 array, shape (vertices,)
        Root of the component of similar cores of every core.
    nearest : int32 array, shape (vertices,)
        Most similar core of every border; overwritten.
    labels, work_space : int32 array, shape (vertices,)
        Overwritten.
    clusters : int32 array, shape (vertices,)
        Written: the cluster of every vertex, or `NO_CLUSTER`.
    roles : int8 array, shape (vertices,)
        Written: `CORE`, `BORDER` or `OUTLIER`.
    members : int32 array, shape (vertices,)
        Written: the vertices with a cluster, ascending.

    Returns
    -------
    num_clusters, num_members : int
    """
    num_members = num_clusters = largest = 0
    sizes = work_space  # by label
    for vertex_ in range(num_vertices):
        vertex = np.uint64(vertex_)
        sizes[vertex], clusters[vertex], roles[vertex] = 0, NONE, OUTLIER
        if is_core[vertex] | is_border[vertex]:
            core = np.uint64(nearest[vertex] if is_border[vertex] else vertex_)
            labels[vertex] = roots[core]
            roles[vertex] = CORE if is_core[vertex] else BORDER
            members[np.uint64(num_members)] = vertex_
            num_members += 1
    # Labels by smallest member; `clusters` is free until the end.
    ordered = clusters
    for i in range(num_members):
        label = np.uint64(labels[np.uint64(members[np.uint64(i)])])
        if sizes[label] == 0:
            ordered[np.uint64(num_clusters)] = label
            num_clusters += 1
        sizes[label] += 1
        largest = max(largest, sizes[label])
    # Counting sort: the clusters of a size begin at `starts[largest - size]`.
    starts, start = nearest, 0  # not needed any more
    for i in range(largest):
        starts[np.uint64(i)] = 0
    for i in range(num_clusters):
        starts[np.uint64(largest - sizes[np.uint64(ordered[np.uint64(i)])])] += 1
    for i in range(largest):
        count = starts[np.uint64(i)]
        starts[np.uint64(i)] = start
        start += count
    numbers = work_space  # a label's size is read before its number is written
    for i in range(num_clusters):
        label = np.uint64(ordered[np.uint64(i)])
        slot = np.uint64(largest - sizes[label])
        numbers[label] = starts[slot]
        starts[slot] += 1
        ordered[np.uint64(i)] = NONE
    for i in range(num_members):
        member = np.uint64(members[np.uint64(i)])
        clusters[member] = numbers[np.uint64(labels[member])]
    return num_clusters, num_members


@parallel
def _mark_hubs(labels, offsets, neighbors, roles):
    """Mark the vertices without a cluster that have neighbors in several.

    Parameters
    ----------
    labels : int32 array, shape (vertices,)
        Cluster of every vertex, or `NO_CLUSTER`.
    roles : int8 array, shape (vertices,)
        Set to `HUB` for hubs.

    Notes
    -----
    Unlike `scan.find_hubs`, which reads the lists of the vertices in clusters, this kernel reads
    those of all others. No threads contend for a vertex, but it takes longer where few vertices are
    in clusters.
    """
    num_vertices = len(labels)
    for block_ in prange(NUM_BLOCKS):
        block = np.int64(block_)
        for vertex in range(
            num_vertices * block // NUM_BLOCKS, num_vertices * (block + 1) // NUM_BLOCKS
        ):
            if labels[np.uint64(vertex)] != NONE:
                continue
            first = NONE
            for arc in range(offsets[np.uint64(vertex)], offsets[np.uint64(vertex + 1)]):
                label = labels[np.uint64(neighbors[np.uint64(arc)])]
                if (label != NONE) & (first != NONE) & (label != first):
                    roles[np.uint64(vertex)] = HUB
                    break
                first = label if label != NONE else first
