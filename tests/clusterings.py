"""What the tests of SCAN share: results as dictionaries, graphs of known shapes, checks."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import naive
import numpy as np
from conftest import columns_of, listed

import rapidsgraph as rg

ROLES = ("core", "border", "hub", "outlier")
METHODS = ("auto", "gpuscan")
ALL_METHODS = (*METHODS, "frames")
# With such a table for half of it an upper list of 33 has two parts; all owners count for them.
SMALL_TABLES = {"MAX_BLOCK_TABLE_SIZE": 64}
# Who counts for an owner, by its neighbors: a thread up to FEW, a warp up to SOME, a block.
# Also where all lists are short or few.
BY_TRIANGLES = {"MAX_MERGE_ARCS": 0, "MAX_MERGE_DEGREE": 0, "MAX_MERGE_STEPS": 0}
NOT_BY_THREADS = {"MAX_THREAD_DEGREE": 0, "MAX_CPU_DEGREE": 0}
COUNTERS = {
    "as they are": {},
    "by triangles": BY_TRIANGLES,
    "small tables": {**BY_TRIANGLES, **SMALL_TABLES},
    "threads": {**BY_TRIANGLES, "MAX_THREAD_DEGREE": 10**9, "MAX_WARP_DEGREE": 10**9},
    "warps up to 128": {**BY_TRIANGLES, **NOT_BY_THREADS},
    "blocks": {**BY_TRIANGLES, **NOT_BY_THREADS, "MAX_WARP_DEGREE": 0},
    "blocks, small tables": {
        **BY_TRIANGLES,
        **NOT_BY_THREADS,
        "MAX_WARP_DEGREE": 0,
        **SMALL_TABLES,
    },
    "all kinds": {
        **BY_TRIANGLES,
        "MAX_THREAD_DEGREE": 2,
        "MAX_CPU_DEGREE": 2,
        "MAX_WARP_DEGREE": 10,
        **SMALL_TABLES,
    },
}


def edges_of(pairs):
    return [(a, b, 1) for a, b in pairs]


def clique(vertices):
    return edges_of(combinations(vertices, 2))


def path(vertices):
    return edges_of(pairwise(vertices))


def cycle(n):
    return edges_of((i, (i + 1) % n) for i in range(n))


def star(leaves):
    """The hub is 0."""
    return edges_of((0, leaf + 1) for leaf in range(leaves))


def bipartite(left, right):
    return edges_of((a, left + b) for a in range(left) for b in range(right))


def lattice(width, height):
    """A torus: everyone has four neighbors, and neighbors have none together."""
    return edges_of(
        (x + width * y, other)
        for y in range(height)
        for x in range(width)
        for other in ((x + 1) % width + width * y, x + width * ((y + 1) % height))
    )


def small_graphs(seed, graphs, vertices=10):
    """Edges of many random graphs beside each other, each denser or sparser than the next."""
    random, edges = np.random.default_rng(seed), []
    for first in range(0, graphs * vertices, vertices):
        size = int(random.integers(2, vertices + 1))
        rows = int(random.integers(1, 3 * vertices))
        ends = first + random.integers(0, size, (rows, 2))
        edges += edges_of(ends.tolist())
    return edges


def frame_columns(edges):
    columns = columns_of(edges)
    return {name: columns[name] for name in ("source", "destination")}


def row_indices(result, names=("vertex",)):
    """[(vertex, cluster or None, role)] of any result of scan, after a look at its columns.

    Vertices of several name columns are tuples.
    """
    columns = listed(result)
    assert list(columns) == [*names, "cluster", "role"]
    clusters, roles = columns["cluster"], columns["role"]
    if isinstance(result, dict):  # of arrays, which have no null, and on a GPU no text
        clusters = [None if cluster == -1 else cluster for cluster in clusters]
        roles = [role if isinstance(role, str) else ROLES[role] for role in roles]
    vertices = list(zip(*(columns[name] for name in names)))
    vertices = columns[names[0]] if len(names) == 1 else vertices
    return list(zip(vertices, clusters, roles))


def clustered(result, names=("vertex",)):
    """{vertex: (cluster or None, role)} of any result of scan with one row a vertex."""
    rows = row_indices(result, names)
    vertices = [vertex for vertex, *_ in rows]
    assert vertices == sorted(set(vertices))
    return {vertex: (cluster, role) for vertex, cluster, role in rows}


def expected_rows(found, all_of):
    """What naive.scan with memberships says, as row_indices."""
    return [(v, cluster, role) for v, (_, role) in found.items() for cluster in all_of[v]]


def check_scan(graph, edges, epsilon, mu, vertices=(), index=None, methods=METHODS):
    """All ways to one clustering agree with the slow loops; its result."""
    found, all_of = naive.scan(edges, epsilon, mu, vertices, memberships=True)
    rows = expected_rows(found, all_of)
    parameters = {"epsilon": epsilon, "mu": mu}
    for method in methods:
        result = rg.scan(graph, **parameters, memberships=True, method=method)
        assert clustered(rg.scan(graph, **parameters, method=method)) == found
        assert row_indices(result) == rows
    if index is not None:
        assert clustered(index.query(**parameters)) == found
        assert row_indices(index.query(**parameters, memberships=True)) == rows
    return found


def similarity_of(result):
    """{(source, destination): similarity}, after a look at columns and order."""
    columns = listed(result)
    assert list(columns) == ["source", "destination", "similarity"]
    pairs = list(zip(columns["source"], columns["destination"]))
    assert pairs == sorted(set(pairs)) and all(a < b for a, b in pairs)
    return dict(zip(pairs, columns["similarity"]))


def expected_similarity(edges):
    """From the slow loops: exact sizes, then one rounded root and one rounded quotient."""
    found = naive.similarities(edges)
    return {pair: common / math.sqrt(du * dv) for pair, (common, du, dv) in found.items()}


def thresholds(edges):
    """Epsilons on, just below and just above every similarity; on it, where it is a fraction."""
    epsilons = set()
    for common, du, dv in set(naive.similarities(edges).values()):
        root = math.isqrt(du * dv)
        if root * root == du * dv:
            epsilons.add(Fraction(common, root))
        near = common / math.sqrt(du * dv)
        epsilons |= {math.nextafter(near, 0), near, math.nextafter(near, 2)}
    return sorted(epsilon for epsilon in epsilons if epsilon <= 1)
