"""The radix sort against NumPy's stable sort; the same tests run the CUDA twins."""

import numpy as np
import pytest

from rapidsgraph.graph import pair_sort, radix_sort
from rapidsgraph.kernels.constants import SORT_TILE


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request):
    return pytest.importorskip(request.param)


def draw_keys(kind, size, num_keys):
    random = np.random.default_rng(size)
    if kind == "skewed":
        return (num_keys * random.random(size) ** 8).astype(np.int32)
    return {
        "random": random.integers(0, num_keys, size, np.int32),
        "equal": np.full(size, num_keys - 1, np.int32),
        "descending": (np.arange(size, dtype=np.int32)[::-1] % num_keys).astype(np.int32),
    }[kind]


@pytest.mark.parametrize("num_keys", [1, 2, 3, 1000, 2**16, 2**16 + 1, 2**22, 2**31 - 1])
@pytest.mark.parametrize("kind", ["random", "skewed", "equal", "descending"])
@pytest.mark.parametrize("size", [1, 31, 33, SORT_TILE, SORT_TILE + 1, 3 * SORT_TILE + 77])
def test_items_are_sorted_stably(xp, kind, size, num_keys):
    keys = draw_keys(kind, size, num_keys)
    values = np.arange(size, dtype=np.int32)
    order = np.argsort(keys, kind="stable")
    new_keys, new_values = radix_sort.sort_by_key(xp.asarray(keys), num_keys, xp.asarray(values))
    assert new_keys.tolist() == keys[order].tolist()
    assert new_values.tolist() == order.tolist()


@pytest.mark.parametrize("num_keys", [1, 5, 3000])
def test_offsets_of_sorted_keys(xp, num_keys):
    keys = np.sort(draw_keys("random", 2000, num_keys))
    offsets = radix_sort.find_offsets(xp.asarray(keys), num_keys)
    assert offsets.tolist() == np.searchsorted(keys, np.arange(num_keys + 1)).tolist()


@pytest.mark.gpu
@pytest.mark.sanitizer
@pytest.mark.parametrize("with_order", [False, True])
@pytest.mark.parametrize("minor_sorted", [False, True])
def test_pairs_are_sorted_as_by_packed_keys(with_order, minor_sorted, monkeypatch):
    cupy = pytest.importorskip("cupy")
    random = np.random.default_rng(1)
    major, minor = random.integers(0, 5000, (2, 70_000)).astype(np.int32)
    minor = np.sort(minor) if minor_sorted else minor
    results = []
    for min_size in (0, 2**40):
        monkeypatch.setattr(pair_sort, "MIN_RADIX_SORTED", min_size)
        pairs = [cupy.asarray(major), cupy.asarray(minor)]
        options = {"with_order": with_order, "minor_sorted": minor_sorted}
        offsets, new_minor, order = pair_sort.sort_pairs(pairs, 5000, **options)
        results.append((offsets.tolist(), new_minor.tolist(), with_order and order.tolist()))
    assert results[0] == results[1]
    assert results[0][1] == minor[np.lexsort((minor, major))].tolist()
