"""Clusters and roles of the vertices of a structural clustering in one launch, on a CPU.

A GPU takes a launch for each step; see `scan.cu`.
"""

import numpy as np

from .constants import BORDER, CORE, NO_CLUSTER, OUTLIER
from .jit import serial

NONE = np.int32(NO_CLUSTER)


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
        Most similar core of every border.
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
    starts = np.zeros(largest + 1, np.int32)
    for i in range(num_clusters):
        starts[np.uint64(largest - sizes[np.uint64(ordered[np.uint64(i)])] + 1)] += 1
    for i in range(largest):
        starts[np.uint64(i + 1)] += starts[np.uint64(i)]
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
