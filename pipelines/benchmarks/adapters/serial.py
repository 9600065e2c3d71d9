"""Serial SCAN on one thread of the CPU, GPUSCAN's algorithm 1, also beside a GPU.

The similarity of each edge is computed once, by merging two sorted adjacency lists, unless the
common-neighbor counts of all arcs are given; clusters then grow one after the other, breadth first,
from core to core. Unlike in the paper, mu counts the vertex itself, and a border of several
clusters stays in the first one.

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
CORE, BORDER, HUB, OUTLIER = range(4)


@numba.njit
def serial_scan(offsets, neighbors, p, q, mu, common=None):
    """Return (cluster, role) of each vertex: -1 for none; 0 to 3 for core, border, hub, outlier.

    The graph is symmetric, without self-loops and parallel arcs: `offsets` int64, `neighbors`
    int32, ascending in each row. Epsilon is p / q, with (q * common)^2 below 2^63.
    """
    vertices = offsets.size - 1
    is_similar = np.zeros(neighbors.size, np.bool_)
    num_similar = np.ones(vertices, np.int64)  # each vertex is similar to itself
    for u in range(vertices):
        for arc in range(offsets[u], offsets[u + 1]):
            v = neighbors[arc]
            if v < u:
                continue
            sizes = (offsets[u + 1] - offsets[u] + 1) * (offsets[v + 1] - offsets[v] + 1)
            count = _common(u, v, offsets, neighbors) if common is None else np.int64(common[arc])
            if (count * q) ** 2 >= p * p * sizes:
                reverse = offsets[v] + np.searchsorted(neighbors[offsets[v] : offsets[v + 1]], u)
                is_similar[arc] = is_similar[reverse] = True
                num_similar[u] += 1
                num_similar[v] += 1
    clusters = np.full(vertices, -1, np.int64)
    queue = np.empty(vertices, np.int32)
    num_clusters = 0
    for start in range(vertices):
        if clusters[start] != -1 or num_similar[start] < mu:
            continue
        clusters[start] = num_clusters
        first, last = 0, 1
        queue[0] = start
        while first < last:
            u = queue[first]
            first += 1
            for arc in range(offsets[u], offsets[u + 1]):
                v = neighbors[arc]
                if is_similar[arc] and clusters[v] == -1:
                    clusters[v] = num_clusters
                    if num_similar[v] >= mu:
                        queue[last] = v
                        last += 1
        num_clusters += 1
    return clusters, _find_roles(offsets, neighbors, clusters, num_similar >= mu)


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
def _find_roles(offsets, neighbors, clusters, is_core):
    roles = np.full(clusters.size, OUTLIER, np.int8)
    for u in range(clusters.size):
        if clusters[u] >= 0:
            roles[u] = CORE if is_core[u] else BORDER
            continue
        seen = -1
        for v in neighbors[offsets[u] : offsets[u + 1]]:
            if clusters[v] >= 0:
                if seen >= 0 and clusters[v] != seen:
                    roles[u] = HUB
                seen = clusters[v]
    return roles


def lists(case: Workload) -> tuple[Any, ...]:
    """Return the sorted lists of neighbors, and no counts of common neighbors."""
    return to_host(case.lists.offsets), to_host(case.lists.neighbors), None


def counted_lists(case: Workload) -> tuple[Any, ...]:
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
