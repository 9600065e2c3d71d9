"""Similarities against thresholds, exactly: fractions, products of 128 bits, levels, intrinsics."""

import bisect
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import hypothesis.strategies as st
import numba
import numpy as np
import pytest
from clusterings import METHODS, clustered, cycle, edges_of, frame_columns, lattice, path, star
from conftest import on_host
from hypothesis import example, given, settings
from numba import prange

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.algorithms.scan import check_epsilon
from rapidsgraph.algorithms.similarity import SimilarityGraph, min_fraction_at_least
from rapidsgraph.graph.csr import Adjacency
from rapidsgraph.kernels.constants import SIMILARITY_LEVELS
from rapidsgraph.kernels.intrinsics import add_at, high_product

pytestmark = pytest.mark.slow

MOST = 2**31 - 1  # what a size can be


@pytest.fixture(scope="module")
def fractions():
    return sorted({Fraction(p, q) for q in range(1, 201) for p in range(1, q + 1)})


@pytest.mark.parametrize("largest", [1, 2, 3, 10, 49, 121, 200])
def test_least_above_is_the_least_of_all_fractions(fractions, largest):
    few = [f for f in fractions if f.denominator <= largest]
    values = fractions[::17] + fractions[-3:]
    for value in fractions[::61]:
        values += value * Fraction(10**30 - 1, 10**30), value * Fraction(10**30, 10**30 + 1)
    for value in values:
        expected = few[bisect.bisect_left(few, value)]
        assert Fraction(*min_fraction_at_least(value, largest)) == expected


def above(value, largest):
    """What least_above says, but that it is the least follows from the fraction before it."""
    p, q = min_fraction_at_least(value, largest)
    assert p * value.denominator >= value.numerator * q and 0 < q <= largest and math.gcd(p, q) == 1
    if q > 1:
        # Of fractions with denominators up to `largest`, the one before p / q has the greatest
        # denominator b with b p = 1 modulo q: a / b = (b p - 1) / (b q).
        b = pow(p, -1, q)
        b += (largest - b) // q * q
        assert Fraction((b * p - 1) // q, b) < value
    return p, q


@given(st.integers(1, 2**62), st.integers(1, 2**62), st.integers(1, 2**62), st.integers(0, 10**40))
@example(1, 2**62, 2**61, 0)
@example(2**62 - 1, 2**62, 2**62 - 1, 0)
@example(2**62 - 1, 2**62, 2**61, 3)
@settings(max_examples=500)
def test_least_above_of_huge_values(p, q, largest, noise):
    p, q = sorted((p, q))
    value = Fraction(p * 10**40 - min(noise, p), q * 10**40)
    above(value, largest)


@pytest.mark.parametrize("epsilon", ["1e-300", "0.1", "0.5", "0.999999999999999999999", "1"])
@pytest.mark.parametrize("largest", [1, 4, 9, 10**6, MOST**2])
def test_least_above_of_epsilons(epsilon, largest):
    above(Fraction(epsilon) ** 2, largest)
    assert min_fraction_at_least(Fraction(1), largest) == (1, 1)
    assert min_fraction_at_least(Fraction("1e-300"), largest) == (1, largest)


# The comparison, by the kernels


def mark(make_arrays, rows, neighbors, common, sizes, numerator, denominator):
    vertices, arcs = len(sizes), len(rows)
    arrays = make_arrays(
        {
            "sources": np.asarray(rows, np.int32),
            "offsets": np.searchsorted(rows, np.arange(vertices + 1)),
            "neighbors": np.asarray(neighbors, np.int32),
            "common": np.asarray(common, np.int32),
            "sizes": np.asarray(sizes, np.int32),
            "is_similar": np.zeros(arcs, bool),
        }
    )
    device.launch(
        "scan", "mark_similar", size=arcs,
        num_arcs=arcs, numerator=numerator, denominator=denominator, **arrays,
    )  # fmt: skip
    return on_host(arrays["is_similar"]).tolist()


def huge_arcs(seed, count=400):
    random = np.random.default_rng(seed)
    sizes = np.concatenate([[MOST, MOST, MOST - 1], random.integers(2, MOST, 61)])
    rows = np.sort(random.integers(0, sizes.size, count))
    neighbors = random.integers(0, sizes.size, count)
    most = np.minimum(sizes[rows], sizes[neighbors])
    common = random.integers(1, most, endpoint=True)
    common[::3] = most[::3] - random.integers(0, 2, most[::3].size)
    return rows, neighbors, common, sizes


def test_products_of_128_bits_are_compared_exactly(make_arrays):
    rows, neighbors, common, sizes = huge_arcs(0)
    arcs = list(zip(*(v.tolist() for v in (sizes[rows], sizes[neighbors], common))))
    limits = [(1, 1), (1, 2**62), (2**62 - 1, 2**62), (2**62, 2**62), (1, 3), (2**61 - 1, 2**62)]
    for one, other, shared in arcs[::20]:  # on the similarity of an arc, above and below
        exact = Fraction(shared**2, one * other)
        p, q = exact.as_integer_ratio()
        limits += [(p, q), (max(p - 1, 1), q), (p, q + 1), (min(p + 1, q), q)]
    outcomes = set()
    for p, q in limits:
        expected = [shared**2 * q >= p * one * other for one, other, shared in arcs]
        assert mark(make_arrays, rows, neighbors, common, sizes, p, q) == expected
        outcomes |= set(expected)
    assert outcomes == {True, False}


def test_huge_sizes_at_epsilons_as_written(make_arrays):
    """From epsilon, through least_above, to the kernel: as common^2 / product >= epsilon^2."""
    rows, neighbors, common, sizes = huge_arcs(1)
    largest = int(sizes.max()) ** 2
    arcs = list(zip(*(v.tolist() for v in (sizes[rows], sizes[neighbors], common))))
    epsilons = [0.1, 0.5, 0.9, 0.99999, 1, Fraction(1, 3), 1e-9, 0.30000000000000004]
    for one, other, shared in arcs[::40]:
        near = shared / math.sqrt(one * other)
        epsilons += [min(math.nextafter(near, to), 1.0) for to in (0, near, 2)]
    for epsilon in map(check_epsilon, epsilons):
        expected = [shared**2 >= epsilon**2 * one * other for one, other, shared in arcs]
        limits = min_fraction_at_least(epsilon**2, largest)
        assert mark(make_arrays, rows, neighbors, common, sizes, *limits) == expected


def test_ties_of_huge_similarities_and_not_quite(make_arrays):
    """attach compares common^2 / size: of equal ones the first counts, of others the greater."""
    half = 2**30
    sizes = np.array([MOST, half, half, MOST, MOST - 1, half - 1], np.int32)
    common = {
        (1, 2): ((half, half), 1),
        (2, 1): ((half, half), 1),  # lists need not ascend
        (3, 4): ((half, half), 4),  # the smaller one's square is divided by less
        (1, 5): ((half - 1, half - 1), 5),
        (1, 3): ((2**20, 2**20), 1),
        (4, 3): ((2**30, 2**30), 4),
    }
    for (one, other), (shared, nearest) in common.items():
        squares = [Fraction(c * c, int(sizes[v])) for c, v in zip(shared, (one, other))]
        assert nearest == min((one, other), key=lambda v: (-squares[(one, other).index(v)], v))
        arrays = make_arrays(
            {
                "offsets": np.array([0, 2, 2, 2, 2, 2, 2]),
                "neighbors": np.array([one, other], np.int32),
                "common": np.array(shared, np.int32),
                "sizes": sizes,
                "borders": np.zeros(1, np.int32),
                "is_core": np.arange(6) > 0,
                "nearest": np.full(6, -7, np.int32),
                "num_similar_cores": np.zeros(6, np.int32),
            }
        )
        lists = Adjacency(arrays["offsets"], arrays["neighbors"], arrays["offsets"][:0])
        similar = SimilarityGraph(lists, arrays["common"], Fraction(1, 10**9), arrays["sizes"])
        borders = arrays.pop("borders")
        similar.launch(
            "attach_borders", borders,
            **{name: arrays[name] for name in list(arrays)[4:]},
        )  # fmt: skip
        assert on_host(arrays["nearest"]).tolist() == [nearest] + [-7] * 5
        assert on_host(arrays["num_similar_cores"]).tolist() == [2, 0, 0, 0, 0, 0]


IN_ONE_LEVEL = {  # sizes of 0, 1 and 2, what 0 shares with 1 and 2, an epsilon between
    "the lowest": ((4_000_000, 8_000_000, 2_100_000), (2, 2), Fraction("5e-7")),
    "another": ((10**9,) * 3, (572_205_000, 572_205_001), Fraction("0.572205001")),
    "the highest": ((10**9,) * 3, (10**9 - 1, 10**9), Fraction(1)),
}


@pytest.mark.parametrize("level", IN_ONE_LEVEL)
def test_lists_do_not_end_within_a_level(make_arrays, level):
    """Lists of an index fall by level alone: 1 and 2 have the same, and only 2 is similar."""
    sizes, common, epsilon = IN_ONE_LEVEL[level]
    arrays = make_arrays(
        {
            "offsets": np.array([0, 2, 2, 2]),
            "neighbors": np.array([1, 2], np.int32),
            "common": np.array(common, np.int32),
            "sizes": np.array(sizes, np.int32),
            "borders": np.zeros(1, np.int32),
            "is_core": np.array([False, True, True]),
            "nearest": np.full(3, -1, np.int32),
            "num_similar_cores": np.zeros(3, np.int32),
        }
    )
    levels = [min(int(c / math.sqrt(sizes[0] * s) * SIMILARITY_LEVELS), SIMILARITY_LEVELS - 1)
              for c, s in zip(common, sizes[1:])]  # fmt: skip
    assert levels[0] == levels[1]
    lists = Adjacency(arrays["offsets"], arrays["neighbors"], arrays["offsets"][:0])
    similar = SimilarityGraph(lists, arrays["common"], epsilon, arrays["sizes"], is_ordered=True)
    borders = arrays.pop("borders")
    similar.launch("attach_borders", borders, **{name: arrays[name] for name in list(arrays)[4:]})
    assert on_host(arrays["nearest"]).tolist() == [2, -1, -1]
    assert on_host(arrays["num_similar_cores"]).tolist() == [1, 0, 0]


# Epsilons of every kind


AT_TWO_THIRDS = [  # whether 2 / 3 is at least that
    (Fraction(2, 3), True),
    (Fraction(2 * 10**40 + 1, 3 * 10**40), False),
    (Fraction(2 * 10**40 - 1, 3 * 10**40), True),
    (0.6666666666666666, True),
    (0.6666666666666667, False),
    (Decimal("0." + "6" * 60), True),
    (Decimal("0." + "6" * 60 + "7"), False),
    (np.float64(0.6666666666666666), True),
    (np.float64(0.6666666666666667), False),
    (np.float32(0.6666666), True),
    (np.float32(2 / 3), False),  # prints as 0.6666667
    (np.array(0.6666666666666666), True),
    (1, False),
    (1.0, False),
    (np.int64(1), False),
    (5e-324, True),
    (Fraction(1, 10**400), True),
]


@pytest.mark.parametrize(
    ("epsilon", "is_similar"), AT_TWO_THIRDS, ids=lambda value: repr(value)[:30]
)
def test_two_thirds_on_a_cycle(make_arrays, epsilon, is_similar):
    frame = make_arrays(frame_columns(cycle(5)))
    expected = (0, "core") if is_similar else (None, "outlier")
    for method in METHODS:
        found = clustered(rg.scan(frame, epsilon=epsilon, method=method))
        assert set(found.values()) == {expected}
    assert set(clustered(rg.ScanIndex(frame).query(epsilon)).values()) == {expected}


HALVES = [0.5, Fraction(1, 2), Decimal("0.5"), np.float32(0.5), np.float64(0.5), np.float16(0.5)]


@pytest.mark.parametrize("epsilon", HALVES, ids=lambda value: type(value).__name__)
def test_one_half_on_a_star_and_on_a_cube(make_arrays, epsilon):
    """2 / sqrt(8 * 2) at a hub with 7 leaves; 2 / sqrt(4 * 4) in a cube, whose degrees are 3."""
    cube = edges_of((v, v | bit) for v in range(8) for bit in (1, 2, 4) if not v & bit)
    for edges in (star(7), cube):
        index = rg.ScanIndex(make_arrays(frame_columns(edges)))
        assert {cluster for cluster, _ in clustered(index.query(epsilon, 4)).values()} == {0}
        above = [Fraction(1, 2) + Fraction(1, 10**20), 0.5000000000000001]
        for more in above:
            assert set(clustered(index.query(more, 2)).values()) == {(None, "outlier")}


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, Decimal, Fraction], ids=str)
def test_a_decimal_means_itself_and_not_the_float_beside_it(make_arrays, kind):
    """2 / 5 in a torus, 2 / sqrt(2 * 200) = 1 / 10 on a star; both floats are above."""
    frame = make_arrays(frame_columns(lattice(5, 5)))
    assert set(clustered(rg.scan(frame, epsilon=kind("0.4"), mu=5)).values()) == {(0, "core")}
    assert Fraction(0.4) > Fraction("0.4") and Fraction(np.float32(0.4).item()) > Fraction("0.4")
    frame = make_arrays(frame_columns(star(199)))
    assert set(clustered(rg.scan(frame, epsilon=kind("0.1"), mu=2)).values()) == {(0, "core")}
    assert Fraction(0.1) > Fraction("0.1")


def test_epsilon_1_is_the_same_neighborhood(make_arrays):
    frame = make_arrays(frame_columns(path(range(3)) + path([7, 8])))
    expected = {0: (None, "outlier"), 1: (None, "outlier"), 2: (None, "outlier"),
                7: (0, "core"), 8: (0, "core")}  # fmt: skip
    for one in (1, 1.0, Fraction(1), Decimal(1), np.float32(1), np.uint8(1)):
        assert clustered(rg.scan(frame, epsilon=one, mu=2)) == expected


# Intrinsics


@numba.njit
def upper_half(ones, others, results):
    for i in range(ones.size):
        results[i] = high_product(ones[i], others[i])


def test_the_upper_half_of_a_product():
    random = np.random.default_rng(2)
    factors = random.integers(0, 2**64, (2, 1000), dtype=np.uint64)
    edges = np.array([0, 1, 2, 2**32 - 1, 2**32, 2**63, 2**64 - 1], np.uint64)
    pairs = np.array(np.meshgrid(edges, edges)).reshape(2, -1)
    ones, others = np.concatenate([factors, pairs], axis=1)
    results = np.empty(ones.size, np.uint64)
    upper_half(ones, others, results)
    expected = [one * other >> 64 for one, other in zip(ones.tolist(), others.tolist())]
    assert results.tolist() == expected


@numba.njit(parallel=True)
def take_numbers(next_number, taken):
    for i in prange(taken.size):
        taken[i] = add_at(next_number, np.uint64(0), np.int64(1))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_added_in_one_step(dtype):
    """What it was before is handed out once, whoever asks."""
    next_number, taken = np.array([7], dtype), np.empty(200_000, dtype)
    with device.kernel_lock(), device.limit_threads():
        take_numbers(next_number, taken)
    assert next_number.tolist() == [200_007]
    np.testing.assert_array_equal(np.sort(taken), np.arange(7, 200_007))


def test_cores_by_neighbors_of_one_level(make_arrays):
    """Two neighbors' similarities lie in one level, the threshold between them."""
    pairs, spare = [(0, vertex) for vertex in range(1, 83)], 83
    for vertex, common, size in ((1, 80, 129), (2, 63, 80)):
        own = size - common
        pairs += [(vertex, other) for other in range(3, 3 + common - 2)]
        pairs += [(vertex, other) for other in range(spare, spare + own)]
        spare += own
    frame = make_arrays(frame_columns(edges_of(pairs)))
    index, epsilon = rg.ScanIndex(frame), Fraction(773137, 10**6)
    nearly, enough = (Fraction(c * c, 83 * size) for c, size in ((80, 129), (63, 80)))
    assert nearly < epsilon**2 <= enough
    assert math.isqrt(int(nearly * SIMILARITY_LEVELS**2)) == math.isqrt(
        int(enough * SIMILARITY_LEVELS**2)
    )
    for mu, roles in ((2, ["core", "core"]), (3, ["outlier", "outlier"])):
        assert clustered(index.query(epsilon, mu)) == clustered(
            rg.scan(frame, epsilon=epsilon, mu=mu)
        )
        found = clustered(index.query(epsilon, mu))
        assert [found[vertex][1] for vertex in (0, 2)] == roles


def test_cores_by_neighbors_of_one_level_at_random(make_arrays):
    """The threshold is the higher of two similarities that share a level."""
    random, seen = np.random.default_rng(0), 0
    for _ in range(4):
        count = 300
        near = random.random((count, count)) < random.random((count, 1)) * 0.7
        near = np.triu(near, 1) | np.triu(near, 1).T
        frame = make_arrays(frame_columns(edges_of(np.argwhere(np.triu(near)).tolist())))
        graph = rg.Graph(frame, directed=False, vertices=range(count))
        index, closed = rg.ScanIndex(graph), near | np.eye(count, dtype=bool)
        common, sizes = closed.astype(int) @ closed, closed.sum(1)
        for vertex in range(0, count, 2):
            others = np.flatnonzero(near[vertex])
            squares = [
                Fraction(int(common[vertex, v]) ** 2, int(sizes[vertex] * sizes[v])) for v in others
            ]
            squares.sort()
            for low, high in itertools.pairwise(squares):
                levels = {math.isqrt(int(square * SIMILARITY_LEVELS**2)) for square in (low, high)}
                if low == high or len(levels) > 1:
                    continue
                seen += 1
                epsilon = Fraction(math.isqrt(int(high * 10**40)), 10**20)
                mu = sum(square >= epsilon**2 for square in squares) + 1
                found = clustered(index.query(epsilon, mu))
                assert found == clustered(rg.scan(graph, epsilon=epsilon, mu=mu))
                assert found[vertex][1] == "core"
                assert clustered(index.query(epsilon, mu + 1))[vertex][1] != "core"
    assert seen >= 8
