"""Serial SCAN on one thread of the CPU, GPUSCAN's algorithm 1, also beside a GPU.

Clusters grow one after the other, breadth first, from core to core. A similarity is computed when
it is first needed, by merging two sorted adjacency lists, unless the common-neighbor counts of all
arcs are given; between two cores that are known to be in one cluster it is never needed. Unlike in
the paper, mu counts the vertex itself, a border of several clusters stays in the first one, and
dissimilar pairs are remembered, too.

References
----------
.. [1] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-based parallel structural clustering
   algorithm for networks", IEEE Trans. Parallel Distrib. Syst. 26(12), 2015, section 2.
   https://doi.org/10.1109/TPDS.2014.2374607
"""

from fractions import Fraction
from typing import Any

import numba
import numpy as np

from pipelines.benchmarks.adapters import CLUSTERS, Library, products_below
from pipelines.benchmarks.answers import to_host
from pipelines.benchmarks.graphs import Workload

library = Library("serial", "Numba, one thread of the CPU")
THRESHOLD = Fraction(CLUSTERS["epsilon"]).as_integer_ratio()
NONE, VISITED = -1, -2  # in no cluster: not seen yet; seen, and not a core
UNKNOWN, SIMILAR, DIFFERENT = range(3)
CORE, BORDER, HUB, OUTLIER = range(4)


@numba.njit
def serial_scan(offsets, neighbors, p, q, mu, common=None):
    """Return (cluster, role) of each vertex: -1 for none; 0 to 3 for core, border, hub, outlier.

    The graph is symmetric, without self-loops and parallel arcs: `offsets` int64, `neighbors`
    int32, ascending in each row. Epsilon is p / q, with (q * common)^2 below 2^63.
    """
    vertices = offsets.size - 1
    clusters = np.full(vertices, NONE, np.int64)
    known = np.full(neighbors.size, UNKNOWN, np.int8)  # what is known of each pair, both ways
    counts = np.ones(vertices, np.int64)  # similar vertices found, the vertex itself one of them
    queue = np.empty(vertices, np.int32)
    new = 0
    for start in range(vertices):
        if clusters[start] != NONE:
            continue
        first, last = 0, 1
        queue[0] = start
        while first < last:
            u = queue[first]
            first += 1
            if not _is_core(u, offsets, neighbors, p, q, mu, common, clusters, known, counts):
                if clusters[u] == NONE:
                    clusters[u] = VISITED
                continue
            if clusters[u] == NONE:
                clusters[u] = new
                new += 1
            for arc in range(offsets[u], offsets[u + 1]):
                v = neighbors[arc]
                if known[arc] == SIMILAR and clusters[v] < 0:
                    if clusters[v] == NONE:
                        queue[last] = v
                        last += 1
                    clusters[v] = clusters[u]
    return clusters, _settle(offsets, neighbors, mu, clusters, counts)


@numba.njit
def _is_core(u, offsets, neighbors, p, q, mu, common, clusters, known, counts):
    """Return whether a vertex is a core, and note the similarities that had to be computed.

    With common neighbors that are given, each vertex is asked for its own arcs alone.
    """
    for arc in range(offsets[u], offsets[u + 1]):
        v = neighbors[arc]
        if common is not None:
            similar = _is_similar(u, v, offsets, p, q, np.int64(common[arc]))
        elif known[arc] != UNKNOWN or (clusters[v] >= 0 and counts[u] >= mu and counts[v] >= mu):
            continue
        else:
            similar = _is_similar(u, v, offsets, p, q, _common(u, v, offsets, neighbors))
            back = offsets[v] + np.searchsorted(neighbors[offsets[v] : offsets[v + 1]], u)
            known[back] = SIMILAR if similar else DIFFERENT
            counts[v] += similar
        known[arc] = SIMILAR if similar else DIFFERENT
        counts[u] += similar
    return counts[u] >= mu


@numba.njit
def _is_similar(u, v, offsets, p, q, common):
    size_u, size_v = offsets[u + 1] - offsets[u] + 1, offsets[v + 1] - offsets[v] + 1
    return (common * q) ** 2 >= p * p * size_u * size_v


@numba.njit
def _common(u, v, offsets, neighbors):
    """Count the vertices in both closed neighborhoods; u and v, which are neighbors, are two."""
    i, last_i = offsets[u], offsets[u + 1]
    j, last_j = offsets[v], offsets[v + 1]
    found = 2
    while i < last_i and j < last_j:
        a, b = neighbors[i], neighbors[j]
        found += a == b
        i += a <= b
        j += b <= a
    return found


@numba.njit
def _settle(offsets, neighbors, mu, clusters, counts):
    """Return the role of each vertex, and set -1 in `clusters` for those without a cluster."""
    roles = np.empty(clusters.size, np.int8)
    for u in range(clusters.size):
        if clusters[u] >= 0:
            roles[u] = CORE if counts[u] >= mu else BORDER
            continue
        clusters[u] = NONE
        roles[u] = OUTLIER
        seen = NONE
        for v in neighbors[offsets[u] : offsets[u + 1]]:
            if clusters[v] >= 0:
                if seen != NONE and clusters[v] != seen:
                    roles[u] = HUB
                seen = clusters[v]
    return roles


def lists(case: Workload) -> tuple[Any, ...]:
    """Return the sorted lists of neighbors, and no counts of common neighbors."""
    return to_host(case.lists.offsets), to_host(case.lists.neighbors), None


def counted_lists(case: Workload) -> tuple[Any, ...]:
    """Return the lists and the counts."""
    return *lists(case)[:2], to_host(case.common_neighbors)


for gives, graph, limit in (
    ("similarity and clustering", lists, 2 * 10**10),
    ("clustering alone", counted_lists, 10**14),
):
    library.add(
        "scan", "algorithm 1",
        lambda arrays, case: serial_scan(*arrays[:2], *THRESHOLD, CLUSTERS["mu"], arrays[2]),
        graph, lambda answer, case: (answer[0], answer[1] == CORE), skip=products_below(limit),
        gives=gives,
    )  # fmt: skip
