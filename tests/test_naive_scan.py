"""The slow loops of SCAN against facts worked out by hand, known results, and each other."""

from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path

import naive
import numpy as np
import pytest
from conftest import random_edges

from pipelines.benchmarks.adapters.serial import serial_scan

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[2] / "shared" / "data"
ROLES = ("core", "border", "hub", "outlier")


def edges_of(pairs):
    return [(a, b, 1) for a, b in pairs]


def clique(vertices):
    return edges_of(combinations(vertices, 2))


def path(vertices):
    return edges_of(pairwise(vertices))


def real(name):
    file = DATA / f"{name}.parquet"
    if not file.exists():
        pytest.skip(f"{file.name} is not in ../shared/data, so this graph was not clustered")
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(file, columns=["source", "destination"])
    return edges_of(zip(*(column.to_pylist() for column in table.columns)))


def clusters_of(result):
    """The members of each cluster, in the order of their numbers."""
    members = {}
    for vertex, (cluster, _) in result.items():
        if cluster is not None:
            members.setdefault(cluster, []).append(vertex)
    assert sorted(members) == list(range(len(members)))
    return [members[cluster] for cluster in range(len(members))]


def with_role(result, role):
    return [vertex for vertex, (_, found) in result.items() if found == role]


# Like figure 1 of GPUSCAN: two clusters, a hub (4) between them, outliers (8, 9) on a string.
FIGURE = clique([0, 1, 2, 3]) + clique([5, 6, 7]) + path([3, 4, 5]) + path([7, 8, 9])


def test_similarities_by_hand():
    assert naive.similarities(clique("abcd")) == dict.fromkeys(combinations("abcd", 2), (4, 4, 4))
    star = naive.similarities(edges_of((0, leaf) for leaf in range(1, 6)))
    assert star == {(0, leaf): (2, 6, 2) for leaf in range(1, 6)}
    assert naive.similarities(path(range(4))) == {
        (0, 1): (2, 2, 3),
        (1, 2): (2, 3, 3),
        (2, 3): (2, 3, 2),
    }
    square = naive.similarities(path([0, 1, 2, 3, 0]))
    assert square == dict.fromkeys([(0, 1), (0, 3), (1, 2), (2, 3)], (2, 3, 3))
    figure = naive.similarities(FIGURE)
    assert figure[0, 1] == (4, 4, 4) and figure[0, 3] == (4, 4, 5)
    assert figure[3, 4] == (2, 5, 3) and figure[5, 7] == (3, 4, 4)


def test_similarities_take_no_notice_of_loops_directions_and_repetitions():
    once = path(range(4))
    assert naive.similarities([(b, a, 1) for a, b, _ in once] + once + [(1, 1, 1)]) == (
        naive.similarities(once, vertices=[7])
    )


def test_clique_is_one_cluster():
    """All neighborhoods are the same, so every similarity is 1."""
    cluster = {vertex: (0, "core") for vertex in range(5)}
    assert naive.scan(clique(range(5)), 1.0, 5) == cluster
    assert naive.scan(clique(range(5)), 0.01, 1) == cluster
    assert set(naive.scan(clique(range(5)), 0.01, 6).values()) == {(None, "outlier")}


def test_star_has_one_core_or_none():
    """A leaf and the centre of k leaves: 2 / sqrt(2 (k + 1)), for 7 leaves one half."""
    star = edges_of((7, leaf) for leaf in range(7))
    found = naive.scan(star, 0.5, 3)
    assert found == {**{leaf: (0, "border") for leaf in range(7)}, 7: (0, "core")}
    assert set(naive.scan(star, 0.5, 2).values()) == {(0, "core")}
    assert set(naive.scan(star, 0.5, 9).values()) == {(None, "outlier")}
    assert set(naive.scan(star, 0.51, 2).values()) == {(None, "outlier")}


def test_path():
    """2 / sqrt(6) = 0.816 at the ends, 2 / 3 between."""
    line = path(range(5))
    assert naive.scan(line, 0.66, 3) == {
        0: (0, "border"), 1: (0, "core"), 2: (0, "core"), 3: (0, "core"), 4: (0, "border"),
    }  # fmt: skip
    assert naive.scan(line, 0.67, 2) == {
        0: (0, "core"), 1: (0, "core"), 2: (None, "hub"), 3: (1, "core"), 4: (1, "core"),
    }  # fmt: skip


def test_cycle():
    ring = path([*range(6), 0])
    assert set(naive.scan(ring, 0.66, 3).values()) == {(0, "core")}
    assert set(naive.scan(ring, 0.67, 2).values()) == {(None, "outlier")}
    assert clusters_of(naive.scan(ring, 1.0, 1)) == [[vertex] for vertex in range(6)]


def test_figure_of_two_clusters_a_hub_and_outliers():
    found = naive.scan(FIGURE, 0.7, 3)
    assert clusters_of(found) == [[0, 1, 2, 3], [5, 6, 7]]
    assert with_role(found, "core") == [0, 1, 2, 3, 5, 6, 7]
    assert with_role(found, "hub") == [4]
    assert with_role(found, "outlier") == [8, 9]


def test_epsilon_is_the_decimal_as_written():
    """2 / 3, which no float is, lies between 0.6666666666666666 and 0.6666666666666667."""
    ring = path([*range(5), 0])
    for epsilon in (
        0.6666666666666666,
        Fraction(2, 3),
        Decimal("0.6666666666666666"),
        np.float64(0.66),
    ):
        assert set(naive.scan(ring, epsilon, 3).values()) == {(0, "core")}
    for epsilon in (0.6666666666666667, Fraction(2001, 3000), 1):
        assert set(naive.scan(ring, epsilon, 3).values()) == {(None, "outlier")}
    # 2 / 5 at the middle of a double star is 0.4, though the float 0.4 is greater.
    double = edges_of(
        [(0, 1), *((0, leaf) for leaf in (2, 3, 4)), *((1, leaf) for leaf in (5, 6, 7))]
    )
    assert naive.similarities(double)[0, 1] == (2, 5, 5)
    assert len(clusters_of(naive.scan(double, 0.4, 5))) == 1
    assert len(clusters_of(naive.scan(double, 0.41, 5))) == 0


TWO_CLIQUES = clique([10, 11, 12, 13]) + clique([20, 21, 22, 23])


def test_border_goes_to_the_most_similar_core():
    # 0.45 to 13, 0.67 to 20 and 21; each of the three is a core only with its similarity to 0.
    edges = TWO_CLIQUES + edges_of([(0, 13), (0, 20), (0, 21)])
    assert naive.similarities(edges)[0, 13] == (2, 4, 5)
    assert naive.similarities(edges)[0, 20] == (3, 4, 5)
    found, all_of = naive.scan(edges, 0.4, 5, memberships=True)
    assert with_role(found, "core") == [13, 20, 21]
    assert clusters_of(found) == [[0, 20, 21, 22, 23], [10, 11, 12, 13]]
    assert all_of[0] == [0, 1] and all_of[10] == [1] and all_of[20] == [0]


def test_tie_of_a_border_goes_to_the_smallest_core():
    # 0.52 to 13 and to 20; of two clusters of four it makes one the larger.
    for name in (0, 99):
        found, all_of = naive.scan(
            TWO_CLIQUES + edges_of([(name, 13), (20, name)]), 0.4, 5, memberships=True
        )
        assert clusters_of(found) == [sorted([name, 10, 11, 12, 13]), [20, 21, 22, 23]]
        assert found[name] == (0, "border") and all_of[name] == [0, 1]


def test_memberships_of_a_border_begin_with_its_own_cluster():
    # 0.38 to 10 of the larger cluster, 0.67 to 20 and 21 of the smaller.
    edges = clique(range(10, 16)) + clique(range(20, 24)) + edges_of([(0, 10), (0, 20), (0, 21)])
    found, all_of = naive.scan(edges, 0.37, 5, vertices=[77], memberships=True)
    assert clusters_of(found) == [[*range(10, 16)], [0, *range(20, 24)]]
    assert found[0] == (1, "border") and all_of[0] == [1, 0]
    assert found[77] == (None, "outlier") and all_of[77] == [None]


def test_cluster_is_not_joined_through_a_border():
    """GPUSCAN's text joins every pair with one core in it; the definition does not."""
    found = naive.scan(TWO_CLIQUES + edges_of([(0, 13), (0, 20)]), 0.4, 5)
    assert len(clusters_of(found)) == 2


def test_numbers_fall_with_size_then_rise_with_the_smallest_member():
    edges = clique("xyz") + clique("abc") + clique("pqrs")
    assert clusters_of(naive.scan(edges, 0.9, 2)) == [list("pqrs"), list("abc"), list("xyz")]


def test_political_books():
    books = real("polbooks")
    assert [len(cluster) for cluster in clusters_of(naive.scan(books, 0.35, 2))] == [104]
    found = naive.scan(books, 0.4, 3)
    clusters, cores = clusters_of(found), set(with_role(found, "core"))
    assert [len(cluster) for cluster in clusters] == [40, 39, 20]
    assert [len(cores.intersection(cluster)) for cluster in clusters] == [39, 39, 18]


def test_collaborations():
    """365 with GPUSCAN's 3, which does not count the vertex itself."""
    assert len(clusters_of(naive.scan(real("ca-GrQc"), 0.5, 4))) == 365


# GPUSCAN's algorithm 1, the serial race


def serially(edges, epsilon, mu, vertices, given=False):
    """(cluster, role) of serial_scan for vertices 0, 1, ...; borders may differ from naive.scan."""
    near = [set() for _ in range(vertices)]
    for a, b, _ in edges:
        if a != b:
            near[a].add(b)
            near[b].add(a)
    offsets = np.cumsum([0, *map(len, near)])
    neighbors = np.array([b for around in near for b in sorted(around)], np.int32)
    p, q = Fraction(repr(epsilon)).as_integer_ratio()
    common = None
    if given:  # the number of common neighbors of every arc
        arcs = ((a, b) for a, around in enumerate(near) for b in sorted(around))
        common = np.array([len(near[a] & near[b]) + 2 for a, b in arcs], np.int32)
    clusters, roles = serial_scan(offsets, neighbors, p, q, mu, common)
    return clusters.tolist(), [ROLES[role] for role in roles]


def check_serial(edges, epsilon, mu, vertices, given=False):
    expected, all_of = naive.scan(edges, epsilon, mu, range(vertices), memberships=True)
    clusters, roles = serially(edges, epsilon, mu, vertices, given)
    number = {}
    for vertex in with_role(expected, "core"):
        assert roles[vertex] == "core"
        # One number for each cluster of cores, and no two clusters with the same.
        assert number.setdefault(clusters[vertex], expected[vertex][0]) == expected[vertex][0]
    assert len(set(number.values())) == len(number)
    for vertex, (cluster, role) in expected.items():
        if cluster is None:
            assert clusters[vertex] == -1 and roles[vertex] in ("hub", "outlier")
        else:
            assert (roles[vertex] == "core") == (role == "core")
            assert number[clusters[vertex]] in all_of[vertex]


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("mu", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.3, 0.5, 0.6, 0.7, 1.0])
def test_serial_scan_finds_the_cores_and_their_clusters(epsilon, mu, given):
    for seed in range(20):
        edges = random_edges(seed, 40, 110)
        check_serial(edges, epsilon, mu, 40, given)
    check_serial(FIGURE, epsilon, mu, 10, given)
    check_serial([], epsilon, mu, 2, given)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize(("name", "epsilon", "mu"), [("polbooks", 0.4, 3), ("ca-GrQc", 0.5, 4)])
def test_serial_scan_of_real_graphs(name, epsilon, mu, given):
    edges = real(name)
    check_serial(edges, epsilon, mu, 1 + max(max(edge[:2]) for edge in edges), given)
