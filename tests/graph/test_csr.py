"""Adjacency lists and the sorts behind them, against the obvious way."""

import itertools

import hypothesis.strategies as st
import numba
import numpy as np
import pytest
from hypothesis import given, settings

from rapidsgraph import device
from rapidsgraph.graph import csr, multi_edges, pair_sort
from rapidsgraph.graph.csr import Adjacency
from rapidsgraph.graph.pair_sort import sort_pairs
from rapidsgraph.layered.tiles import sort_lists


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request):
    return np if request.param == "numpy" else device.import_cupy()


def host(array):
    return array.get() if hasattr(array, "get") else array


def pairs(rows, bound, seed=0):
    return np.random.default_rng(seed).integers(0, bound, (2, rows), dtype=np.int32)


def obvious(major, minor, bound):
    order = np.lexsort((minor, major))  # stable, as the reference must be
    offsets = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=bound))])
    return offsets, minor[order], order


def assert_sorted(xp, major, minor, bound, **options):
    offsets, new_minor, order, num_distinct = sort_pairs(
        [xp.asarray(major), xp.asarray(minor)], bound, **options
    )
    if num_distinct is not None:
        assert int(num_distinct[0]) == len({*zip(major.tolist(), minor.tolist(), strict=True)})
    wanted = obvious(major, minor, bound)
    assert (offsets.dtype, new_minor.dtype) == (np.int64, np.int32)
    assert np.array_equal(host(offsets), wanted[0])
    assert np.array_equal(host(new_minor), wanted[1])
    if options.get("with_order"):
        assert np.array_equal(host(order), wanted[2])
    else:
        assert order is None


SHAPES = [(0, 1), (1, 1), (7, 3), (1000, 10), (1000, 5000), (70_001, 300), (50_000, 50_000)]


@pytest.mark.parametrize("with_order", [False, True])
@pytest.mark.parametrize(("rows", "bound"), SHAPES)
def test_pairs_sorted(xp, rows, bound, with_order):
    major, minor = pairs(rows, bound)
    assert_sorted(xp, major, minor, bound, with_order=with_order)
    minor.sort()
    assert_sorted(xp, major, minor, bound, with_order=with_order, minor_sorted=True)


@pytest.mark.parametrize("with_order", [False, True])
@pytest.mark.parametrize(("rows", "bound"), SHAPES)
def test_pairs_that_are_in_order_or_almost(xp, rows, bound, with_order):
    major, minor = pairs(rows, bound)
    order = np.lexsort((minor, major))
    major, minor = major[order], minor[order]
    given = [xp.asarray(major), xp.asarray(minor)]
    assert_sorted(xp, major, minor, bound, with_order=with_order)
    new_minor = sort_pairs(list(given), bound).minor
    assert not rows or not xp.shares_memory(new_minor, given[1])
    # One pair out of order, anywhere.
    for at in {0, rows // 2, rows - 1} if rows > 1 else ():
        for key in (major, minor):
            kept, key[at] = key[at], (key[at] + bound // 2) % bound
            assert_sorted(xp, major, minor, bound, with_order=with_order)
            key[at] = kept


@pytest.mark.parametrize(("rows", "bound"), SHAPES)
def test_minor_keys_have_a_bound_of_their_own(xp, rows, bound):
    major = pairs(rows, bound)[0]
    for minor_bound in (1, 2**20):
        minor = pairs(rows, minor_bound, seed=1)[1]
        for with_order in (False, True):
            assert_sorted(
                xp, major, minor, bound, num_minor_keys=minor_bound, with_order=with_order
            )


@pytest.fixture(params=["radix", "buckets"])
def as_on_gpu(request, monkeypatch):
    """Arrays of NumPy are sorted as on a GPU, by the twins of its kernels; few keys are many."""
    monkeypatch.setattr(device, "num_multiprocessors", lambda: 3)
    monkeypatch.setattr(device, "max_shared_bytes", lambda: 2**17)
    if request.param == "buckets":
        monkeypatch.setattr(pair_sort, "MIN_BUCKET_SORTED", 500)
        monkeypatch.setattr(pair_sort, "MAX_PAIRS_PER_KEY", 2**40)
        monkeypatch.setattr(pair_sort, "MAX_IMBALANCE", 2**20)
    monkeypatch.setattr(device, "is_on_gpu", lambda array: True)
    monkeypatch.setattr(pair_sort, "MIN_RADIX_SORTED", 500)
    monkeypatch.setattr(pair_sort, "MIN_RADIX_SORTED_BY_ONE", 500)


@pytest.mark.parametrize("minor_bound", [1, 300, 2**20])
@pytest.mark.parametrize(("rows", "bound"), SHAPES)
def test_pairs_sorted_by_the_method_of_a_gpu(as_on_gpu, rows, bound, minor_bound):
    major, minor = pairs(rows, bound)[0], pairs(rows, minor_bound, seed=1)[1]
    for minor_sorted in (False, True):
        for with_order in (False, True):
            options = {"minor_sorted": minor_sorted, "with_order": with_order}
            assert_sorted(np, major, minor, bound, num_minor_keys=minor_bound, **options)
        minor.sort()


def test_lists_sorted_by_the_method_of_a_gpu(as_on_gpu):
    """A few rows of a large graph, with neighbors of any vertex, are sorted at a time."""
    random = np.random.default_rng(0)
    sizes = random.integers(0, 400, 30)
    offsets, neighbors = np.append(0, np.cumsum(sizes)), random.integers(0, 2**31 - 1, sizes.sum())
    neighbors = neighbors.astype(np.int32)
    lists = [sorted(neighbors[offsets[row] : offsets[row + 1]].tolist()) for row in range(30)]
    given = neighbors.tolist()
    sort_lists(Adjacency(offsets, neighbors, np.empty(0)), 3, 29)
    assert neighbors[offsets[3] : offsets[29]].tolist() == [*itertools.chain(*lists[3:29])]
    assert neighbors[: offsets[3]].tolist() == given[: offsets[3]]
    assert neighbors[offsets[29] :].tolist() == given[offsets[29] :]


def test_keys_at_both_ends(xp):
    bound = 2000
    for value in (0, bound - 1):
        keys = np.full(5000, value, np.int32)
        assert_sorted(xp, keys, keys, bound, with_order=True)
        assert_sorted(xp, keys, pairs(5000, bound)[0], bound, with_order=True)
        assert_sorted(xp, pairs(5000, bound)[0], keys, bound, with_order=True)


def test_sorting_does_not_change_its_arguments(xp):
    major, minor = pairs(5000, 100)
    given = xp.asarray(major), xp.asarray(minor)
    sort_pairs(list(given), 100, with_order=True)
    assert np.array_equal(host(given[0]), major) and np.array_equal(host(given[1]), minor)


def test_the_number_of_threads_does_not_matter():
    most = numba.config.NUMBA_NUM_THREADS
    if most < 2:
        pytest.skip("Numba has one thread here, so another number of threads was not tried")
    major, minor = pairs(100_000, 50)
    order = np.lexsort((minor, major))
    try:
        for threads in {1, 2, most}:
            numba.set_num_threads(threads)
            assert_sorted(np, major, minor, 50, with_order=True)
            assert_sorted(np, major[order], minor[order], 50, with_order=True)
    finally:
        numba.set_num_threads(most)


def lists_of(xp, rows, bound, weighted=True, seed=1):
    major, minor = pairs(rows, bound, seed)
    weights = xp.asarray(np.random.default_rng(seed).random(rows)) if weighted else None
    lists = csr.from_coo([xp.asarray(major), xp.asarray(minor), weights], bound, "keep")
    return lists, major, minor, weights


def dense(lists, bound):
    """How often, and with what weights, each row has each neighbor, as matrices."""
    rows = np.repeat(np.arange(bound), np.diff(host(lists.offsets)))
    count, total = np.zeros((bound, bound)), np.zeros((bound, bound))
    np.add.at(count, (rows, host(lists.neighbors)), 1)
    if lists.weights.size:
        np.add.at(total, (rows, host(lists.neighbors)), host(lists.weights))
    return count, total


def assert_ascending(lists):
    rows = np.repeat(np.arange(lists.offsets.size - 1), np.diff(host(lists.offsets)))
    keys = rows * 10**6 + host(lists.neighbors)
    assert np.all(np.diff(keys) >= 0)


@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
@pytest.mark.parametrize(("rows", "bound"), [(0, 3), (1, 1), (5000, 40), (300, 200)])
def test_transposed(xp, rows, bound, weighted):
    lists, *_ = lists_of(xp, rows, bound, weighted)
    there = csr.transpose(lists)
    back = csr.transpose(there)
    assert_ascending(there)
    for matrix, other in zip(dense(there, bound), dense(lists, bound)):
        assert np.allclose(matrix, other.T, rtol=1e-14)
    for name in ("offsets", "neighbors", "weights"):
        assert np.array_equal(host(getattr(back, name)), host(getattr(lists, name)))


@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
@pytest.mark.parametrize("loops", [True, False], ids=["loops", "no loops"])
@pytest.mark.parametrize(("rows", "bound"), [(0, 3), (2, 2), (3000, 40), (300, 200)])
def test_both_ways(xp, rows, bound, weighted, loops):
    major, minor = np.sort(pairs(rows, bound, 2), axis=0)
    if not loops:
        major, minor = major[major < minor], minor[major < minor]
    weights = xp.asarray(np.arange(1.0, major.size + 1)) if weighted else None
    upper = csr.from_coo([xp.asarray(major), xp.asarray(minor), weights], bound, "keep")
    both = csr.symmetrize(upper)
    assert_ascending(both)
    for matrix, upper_matrix in zip(dense(both, bound), dense(upper, bound)):
        assert np.array_equal(matrix, upper_matrix + np.triu(upper_matrix, 1).T)


def arcs_of(lists):
    """[(row, neighbor)] in the order of the lists, after a look at types."""
    assert (lists.offsets.dtype, lists.neighbors.dtype) == (np.int64, np.int32)
    assert lists.weights.size == 0
    return list(zip(*(host(v).tolist() for v in (csr.row_indices(lists), lists.neighbors))))


@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
@pytest.mark.parametrize(("rows", "bound"), [(0, 3), (0, 0), (1, 1), (3000, 40), (300, 200)])
def test_without_loops_repetitions_and_weights(xp, rows, bound, weighted):
    if not bound:
        lists = Adjacency(xp.zeros(1, xp.int64), xp.empty(0, xp.int32), xp.empty(0))
        assert arcs_of(csr.simplify(lists)) == []
        assert arcs_of(csr.to_undirected(lists)) == []
        return
    lists, major, minor, _ = lists_of(xp, rows, bound, weighted)
    arcs = {(a, b) for a, b in zip(major.tolist(), minor.tolist()) if a != b}
    assert arcs_of(csr.simplify(lists)) == sorted(arcs)
    both = csr.to_undirected(lists)
    assert arcs_of(both) == sorted(arcs | {(b, a) for a, b in arcs})
    assert both.offsets.size == bound + 1
    # What is simple already is taken as it is, and weights are left behind.
    again = csr.simplify(both)
    assert again.neighbors is both.neighbors and again.offsets is both.offsets
    weights = xp.ones(both.neighbors.size)
    assert arcs_of(csr.simplify(Adjacency(both.offsets, both.neighbors, weights))) == (
        arcs_of(both)
    )


def test_without_loops_alone_and_without_repetitions_alone(xp):
    for pairs_, left in (
        ([(0, 0), (0, 2), (2, 0), (2, 2)], [(0, 2), (2, 0)]),
        ([(0, 1), (0, 1), (1, 0), (1, 0)], [(0, 1), (1, 0)]),
        ([(0, 0), (1, 1), (1, 1)], []),
        ([(0, 1), (1, 1), (2, 1)], [(0, 1), (2, 1)]),  # across rows nothing is repeated
    ):
        major, minor = (xp.asarray(v, xp.int32) for v in zip(*pairs_))
        lists = csr.from_coo([major, minor, None], 4, "keep")
        assert arcs_of(csr.simplify(lists)) == left
        both = sorted({*left, *((b, a) for a, b in left)})
        assert arcs_of(csr.to_undirected(lists)) == both


def test_rows_of_each_arc(xp):
    lists, major, *_ = lists_of(xp, 5000, 300, weighted=False)
    rows = csr.row_indices(lists)
    assert rows.dtype == np.int32
    assert np.array_equal(host(rows), np.sort(major))


def test_lists_know_their_bytes(xp):
    lists, *_ = lists_of(xp, 1000, 10)
    assert lists.nbytes == 8 * 11 + 4 * 1000 + 8 * 1000
    assert isinstance(lists, Adjacency)


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)), max_size=40),
    multi_edges=st.sampled_from(list(multi_edges.MULTI_EDGES)),
)
def test_parallel_pairs_merge(rows, multi_edges):
    groups = {}
    for row, neighbor, weight in rows:
        groups.setdefault((row, neighbor), []).append(weight)
    combine = {"first": lambda weights: weights[0], "sum": sum, "min": min, "max": max}
    expected = [
        (*pair, weight)
        for pair, weights in sorted(groups.items())
        for weight in (weights if multi_edges == "keep" else [combine[multi_edges](weights)])
    ]
    major, minor, weights = np.array(rows, np.int32).reshape(-1, 3).T
    ends = [np.ascontiguousarray(major), np.ascontiguousarray(minor)]
    lists = csr.from_coo([*ends, weights.astype(np.int64)], 6, multi_edges)
    found = zip(csr.row_indices(lists), lists.neighbors, lists.weights)
    assert [tuple(map(int, arc)) for arc in found] == expected
    plain = csr.from_coo([*ends, None], 6, multi_edges)
    assert plain.neighbors.tolist() == [arc[1] for arc in expected]
    assert plain.weights.size == 0
