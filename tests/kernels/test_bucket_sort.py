"""The sort of pairs in buckets against NumPy's stable sort."""

import numpy as np
import pytest

from rapidsgraph import device
from rapidsgraph.graph import pair_sort
from rapidsgraph.kernels.constants import BUCKET_THREAD_SIZE, BUCKET_WARP_SIZE

MINOR_BITS = 21


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request, monkeypatch):
    """The arrays of a test, which decide between the twins of the kernels."""
    monkeypatch.setattr(pair_sort, "MIN_BUCKET_SORTED", 0)
    monkeypatch.setattr(pair_sort, "MAX_PAIRS_PER_KEY", 2**40)
    monkeypatch.setattr(pair_sort, "MAX_IMBALANCE", 2**20)
    if request.param == "numpy":
        monkeypatch.setattr(device, "is_on_gpu", lambda array: True)
        monkeypatch.setattr(device, "num_multiprocessors", lambda: 3)
        monkeypatch.setattr(device, "max_shared_bytes", lambda: 2**17)
    return pytest.importorskip(request.param)


def sort_in_buckets(major, minor, num_keys, *, with_order):
    """Return the sorted pairs, or None if they were sorted in another way."""
    results = []

    def record(*arguments, **options):
        results.append(sort(*arguments, **options))
        return results[-1]

    sort = pair_sort._sort_in_buckets
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_sort, "_sort_in_buckets", record)
        pairs = [major.astype("int32"), minor.astype("int32")]
        pair_sort.sort_pairs(pairs, num_keys, 2**MINOR_BITS, with_order=with_order)
    return results[0]


def check_sort(xp, counts, num_minor_keys, with_order):
    """Sort pairs of which `counts` have each major key, in random order."""
    random, num_keys = np.random.default_rng(len(counts)), len(counts)
    major = random.permutation(np.repeat(np.arange(num_keys), counts))
    minor = random.integers(0, num_minor_keys, major.size)
    result = sort_in_buckets(xp.array(major), xp.array(minor), num_keys, with_order=with_order)
    assert result is not None
    order = np.lexsort((minor, major))
    assert np.array_equal(device.to_host(result.offsets), [0, *np.cumsum(counts)])
    assert np.array_equal(device.to_host(result.minor), minor[order])
    assert (result.offsets.dtype, result.minor.dtype) == (np.int64, np.int32)
    if with_order:
        assert np.array_equal(device.to_host(result.order), order)
    else:
        assert result.order is None
    assert int(result.num_distinct[0]) == np.unique(major << MINOR_BITS | minor).size


@pytest.mark.parametrize("num_keys", [256, 257, 300, 511, 512])
def test_one_bucket_may_not_be_much_larger_than_others(xp, monkeypatch, num_keys):
    monkeypatch.setattr(pair_sort, "MAX_IMBALANCE", 3)
    for factor, is_sorted in ((2, True), (12, False)):
        counts = [40 * factor if key == 7 else 40 for key in range(num_keys)]
        major = xp.array(np.repeat(np.arange(num_keys), counts))
        result = sort_in_buckets(major, major, num_keys, with_order=False)
        assert (result is not None) == is_sorted


COUNTS = {
    "one pair": [*[0] * 400, 1, *[0] * 111],
    "one pair of each key": [1] * 256,
    "not a power of two": [2] * 777,
    "sorted by threads": [*range(BUCKET_THREAD_SIZE + 1)] * 40,
    "sorted by warps": [BUCKET_THREAD_SIZE + 1, 0, 100, 3, 31, 32, 33, BUCKET_WARP_SIZE] * 64,
    "sorted by blocks": [BUCKET_WARP_SIZE + 1, 1, 600, 0, 1025, 200, 129, 1] * 33,
    "large and empty buckets": [*[0] * 5000, 9000, 4, *[0] * 5000],
}


@pytest.mark.sanitizer
@pytest.mark.parametrize("with_order", [False, True])
@pytest.mark.parametrize("num_minor_keys", [1, 50, 2**MINOR_BITS])
@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
def test_pairs_are_sorted_by_both_keys(xp, counts, num_minor_keys, with_order):
    check_sort(xp, counts, num_minor_keys, with_order)


@pytest.mark.sanitizer
@pytest.mark.parametrize("with_order", [False, True])
def test_random_buckets(xp, with_order):
    random = np.random.default_rng(1)
    for mean in (0.5, 3, 20):
        check_sort(xp, random.poisson(mean, 6000), 1000, with_order)
        skewed = (mean / random.random(6000) ** 0.5).astype(int)
        check_sort(xp, np.minimum(skewed, 3000), 1000, with_order)


@pytest.mark.parametrize("with_order", [False, True])
def test_gpus_with_less_shared_memory(xp, monkeypatch, with_order):
    monkeypatch.setattr(device, "max_shared_bytes", lambda: 60_000)
    check_sort(xp, [10] * 3000, 2**20, with_order)
    major = xp.arange(100_000) % 10_000 % 300
    assert sort_in_buckets(major, major, 300, with_order=with_order) is not None
    major = xp.arange(1_500_000) % 300  # 10,000 pairs in a bucket
    result = sort_in_buckets(major, major, 300, with_order=with_order)
    assert (result is None) == with_order


@pytest.mark.gpu
@pytest.mark.parametrize("with_order", [False, True])
@pytest.mark.parametrize("num_keys", [2**18, 2**20 + 1, 2**21 - 3])
@pytest.mark.parametrize("xp", ["cupy"], indirect=True)
def test_many_pairs(xp, num_keys, with_order):
    check_sort(xp, np.random.default_rng(1).poisson(2, num_keys), 2**MINOR_BITS, with_order)


@pytest.mark.parametrize("with_order", [False, True])
def test_buckets_must_fit_in_shared_memory(xp, with_order):
    num_pairs = 70_000
    major, minor = xp.full(num_pairs, 900), xp.arange(num_pairs)
    assert sort_in_buckets(major, minor, 1000, with_order=with_order) is None
    major = xp.arange(num_pairs) % 1000
    assert sort_in_buckets(major, minor, 1000, with_order=with_order) is not None
    assert sort_in_buckets(major, minor, 2**24, with_order=with_order) is None
