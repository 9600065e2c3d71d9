"""The radix sort against NumPy's stable sort; the same tests run the CUDA twins."""

import numpy as np
import pytest

from rapidsgraph import device
from rapidsgraph.graph import pair_sort, radix_sort
from rapidsgraph.kernels.constants import SORT_TILE


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(device, "num_multiprocessors", lambda: 3)
    return pytest.importorskip(request.param)


def draw_keys(kind, size, num_keys):
    random = np.random.default_rng(size)
    if kind == "skewed":
        return (num_keys * random.random(size) ** 8).astype(np.int64)
    return {
        "random": random.integers(0, num_keys, size),
        "equal": np.full(size, num_keys - 1),
        "descending": np.arange(size)[::-1] % num_keys,
    }[kind]


def check_sort(xp, keys, first_bit, num_bits):
    order = np.argsort(keys >> first_bit & ((1 << num_bits) - 1), kind="stable")
    for with_positions in (False, True):
        new_keys, positions = radix_sort.sort_by_bits(
            xp.array(keys), first_bit, num_bits, with_positions=with_positions
        )
        assert np.array_equal(device.to_host(new_keys), keys[order])
        expected = order if with_positions else order[:0]
        assert positions.dtype == np.uint32
        assert np.array_equal(device.to_host(positions), expected)


@pytest.mark.sanitizer
@pytest.mark.parametrize("num_bits", [0, 1, 8, 9, 21, 62])
@pytest.mark.parametrize("kind", ["random", "skewed", "equal", "descending"])
@pytest.mark.parametrize("size", [0, 1, 31, 33, SORT_TILE, SORT_TILE + 1, 3 * SORT_TILE + 77])
def test_keys_are_sorted_stably(xp, kind, size, num_bits):
    check_sort(xp, draw_keys(kind, size, 2**num_bits), 0, num_bits)


@pytest.mark.parametrize(("first_bit", "num_bits"), [(21, 21), (32, 30), (5, 1), (0, 33)])
def test_keys_are_sorted_by_some_bits(xp, first_bit, num_bits):
    check_sort(xp, draw_keys("random", 2 * SORT_TILE, 2**62), first_bit, num_bits)


def test_many_keys_have_longer_states(xp, monkeypatch):
    monkeypatch.setattr(radix_sort, "MAX_SHORT_STATES", 0)
    check_sort(xp, draw_keys("skewed", 5 * SORT_TILE + 1, 2**20), 0, 20)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["random", "skewed"])
def test_tiles_wait_for_those_before_them(kind):
    """There are many times as many tiles as the GPU holds at once."""
    cupy = pytest.importorskip("cupy")
    check_sort(cupy, draw_keys(kind, 4000 * SORT_TILE + 9, 2**20), 0, 20)


@pytest.mark.gpu
@pytest.mark.parametrize("with_order", [False, True])
@pytest.mark.parametrize("minor_sorted", [False, True])
def test_few_and_many_pairs_are_sorted_alike(with_order, minor_sorted, monkeypatch):
    cupy = pytest.importorskip("cupy")
    random = np.random.default_rng(1)
    major, minor = random.integers(0, 5000, (2, 70_000)).astype(np.int32)
    minor = np.sort(minor) if minor_sorted else minor
    results = []
    for min_size in (0, 2**40):
        monkeypatch.setattr(pair_sort, "MIN_RADIX_SORTED", min_size)
        monkeypatch.setattr(pair_sort, "MIN_RADIX_SORTED_BY_ONE", min_size)
        pairs = [cupy.asarray(major), cupy.asarray(minor)]
        options = {"with_order": with_order, "minor_sorted": minor_sorted}
        offsets, new_minor, order, num_distinct = pair_sort.sort_pairs(pairs, 5000, **options)
        assert int(num_distinct[0]) == len({*zip(major.tolist(), minor.tolist(), strict=True)})
        results.append((offsets.tolist(), new_minor.tolist(), with_order and order.tolist()))
    expected = np.lexsort((minor, major))
    counts = np.bincount(major, minlength=5000)
    for offsets, new_minor, order in results:
        assert offsets == [0, *np.cumsum(counts).tolist()]
        assert new_minor == minor[expected].tolist()
        assert order == (with_order and expected.tolist())
