"""Names by a table, as a GPU makes it: every way to it, with both twins of the kernels."""

import numpy as np
import pytest
from traced_memory import trace_memory

from rapidsgraph import device
from rapidsgraph.graph import name_table
from rapidsgraph.graph.build_memory import name_column_stats, naming_bytes
from rapidsgraph.graph.vertex_naming import name_vertices

WINDOW_FLAGS = 128


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def xp(request, monkeypatch):
    module = pytest.importorskip(request.param)
    if module is np:
        monkeypatch.setattr(device, "num_multiprocessors", lambda: 3)
        monkeypatch.setattr(device, "max_cooperative_blocks", lambda: 3)
    monkeypatch.setattr(device, "max_shared_bytes", lambda: WINDOW_FLAGS // 8)
    return module


def name(xp, *columns, dtype="int64"):
    arrays = [xp.asarray(np.array(values, dtype)) for values in columns]
    filled = [values for values in arrays if values.size]
    return name_table._name_on_gpu(arrays, filled, np.int64, xp)


MANY = [*range(3, 2000)]


@pytest.mark.parametrize("max_names", [0, 2**26])
@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ([[0, 1], [2, 1]], "int32"),
        ([[5, 1], [2, 7]], "int64"),
        ([[5, 250], [2, 7]], "int64"),  # in the second window
        ([[5, 270], [2, 7]], "int64"),  # beyond the windows
        ([[1, 900], MANY], "int32"),
        ([[-5, 100], [2, 7]], "int64"),
        ([[-400, 1000], MANY], "int32"),
        ([[10**12, 10**12 + 9], [10**12 + 3]], "int64"),
        ([[10**12 + value for value in MANY], [10**12]], "int64"),
        ([[], [4, 9]], "int64"),
        ([[3, 4], [4, 9], [100, 9]], "int64"),
        ([[2**62, 2**62 + 5], [2**62]], "uint64"),
    ],
)
def test_names_and_ids(xp, monkeypatch, columns, dtype, max_names):
    monkeypatch.setattr(name_table, "MAX_NAMES_IN_SHARED", max_names)
    names, count, ids = name(xp, *columns, dtype=dtype)
    joined = np.concatenate([np.array(values, dtype) for values in columns])
    distinct, expected = np.unique(joined, return_inverse=True)
    assert count == distinct.size
    if distinct.tolist() == [*range(count)]:
        assert names is None
    else:
        assert names.tolist() == distinct.tolist()
    bounds = np.cumsum([len(values) for values in columns])[:-1]
    for found, wanted in zip(ids, np.split(expected, bounds), strict=True):
        assert found.dtype == np.int32 and found.tolist() == wanted.tolist()


@pytest.mark.parametrize("max_names", [0, 2**26])
@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ([[0, 10**6], [1, 2]], "int64"),
        ([[-(10**6), 0], [1, 2]], "int32"),
        ([[-(2**63), 2**63 - 1], [1, 2]], "int64"),
        ([[2**63, 2**63 + 1], [2**63]], "uint64"),
    ],
)
def test_no_table_over_a_wide_range(xp, monkeypatch, columns, dtype, max_names):
    monkeypatch.setattr(name_table, "MAX_NAMES_IN_SHARED", max_names)
    assert name(xp, *columns, dtype=dtype) is None


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64"])
@pytest.mark.parametrize("repeats", [1, 2, 20])
@pytest.mark.parametrize("first", [0, 1])
def test_the_peak_of_naming_on_a_cpu_is_within_its_estimate(dtype, repeats, first):
    names = np.repeat(np.arange(200_000 // repeats) * 2 + first, repeats).astype(dtype)
    np.random.default_rng(1).shuffle(names)
    columns = [names[::2].copy()], [names[1::2].copy()]
    name_vertices(*columns, None, ["vertex"], np)  # compiles the kernels
    stats = name_column_stats(*columns, None)
    with trace_memory() as peak:
        found, *ids = name_vertices(*columns, None, ["vertex"], np)
        used = peak()
    estimate, retained = naming_bytes(stats, found.count)
    assert used <= estimate + 2**14
    assert sum(values.nbytes for values in (*ids, found.distinct[0])) <= retained
