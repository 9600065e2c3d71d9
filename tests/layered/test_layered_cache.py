"""The store beside an edge file is used for that file as it is, that root and those options."""

import os
import types

import numpy as np
import pandas
import pytest
from conftest import build_storage

import rapidsgraph as rg
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.io.formats import STORE_FILES
from rapidsgraph.layered import LayeredEdgeList
from rapidsgraph.layered import cache as store_cache
from rapidsgraph.layered.store import open_store
from rapidsgraph.layered.store_writer import save_store

OPTIONS = {"source": None, "weight": "km", "directed": True, "multi_edges": "first"}


def edges(names=(3, 5, 8)):
    a, b, c = names
    return pandas.DataFrame({"source": [a, b, c], "destination": [b, c, b], "km": [1.0, 2, 3]})


def cache(path, frame, root, options=OPTIONS, **columns):
    """Put a store beside `path`."""
    layered = LayeredEdgeList.build(build_storage(frame, weight="km", **columns), root)
    storage_of(layered).origin = store_cache.origin_of(path, options)
    save_store(storage_of(layered), store_cache.cache_path(path))


@pytest.fixture
def cached(tmp_path):
    """A file of edges with its store."""
    path = tmp_path / "edges.parquet"
    edges().to_parquet(path)
    cache(path, edges(), 5)
    return path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/edges.parquet", "a/edges.parquet.layers"),
        ("a/folder/", "a/folder.layers"),
        ("/a/edges", "/a/edges.layers"),
        ("edges.csv.gz", "edges.csv.gz.layers"),
        (".", f"{os.getcwd()}.layers"),
        ("~/edges.csv", os.path.expanduser("~/edges.csv.layers")),
    ],
)
def test_beside(path, expected):
    assert str(store_cache.cache_path(path)) == expected


def test_what_fits(cached):
    found = store_cache.find_store(cached, 5, OPTIONS)
    assert found.root == 5 and found.order.tolist() == [1, 2, 0]
    assert found.folder == cached.with_name("edges.parquet.layers")
    assert (
        store_cache.find_store(str(cached), np.int32(5), dict(reversed(OPTIONS.items())))
        is not None
    )


def test_none_yet(tmp_path):
    edges().to_csv(tmp_path / "edges.csv")
    assert store_cache.find_store(tmp_path / "edges.csv", 5, OPTIONS) is None
    with pytest.raises(rg.GraphError, match=r"absent\.csv: there is no such file"):
        store_cache.find_store(tmp_path / "absent.csv", 5, OPTIONS)


@pytest.mark.parametrize(
    "change",
    [
        {"source": "source"},
        {"weight": None},
        {"directed": False},
        {"multi_edges": "min"},
        {"minimum_edges": 5},
    ],
)
def test_other_options(cached, change):
    assert store_cache.find_store(cached, 5, {**OPTIONS, **change}) is None


def test_options_that_are_left_out(cached):
    less = {"weight": "km"}
    assert store_cache.find_store(cached, 5, less).root == 5
    assert (
        store_cache.find_store(cached, 5, {**less, "self_loops": "keep", "destination": None}).root
        == 5
    )
    assert store_cache.find_store(cached, 5, {**less, "self_loops": "drop"}) is None


def test_options_of_several_columns(cached):
    cache(cached, edges(), 5, {"source": ("a", "b")})
    assert store_cache.find_store(cached, 5, {"source": ["a", "b"]}).root == 5
    assert store_cache.find_store(cached, 5, {"source": ["b", "a"]}) is None


def test_a_changed_input(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(b"source,destination\n" + b"3,5\n" * 10**5)
    cache(path, edges(), 5)
    data, times = path.read_bytes(), (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    for changed in (b"t" + data[1:], data[:-2] + b"6\n", data + b"3,5\n", data[:-4]):
        path.write_bytes(changed)
        os.utime(path, ns=times)
        assert store_cache.find_store(path, 5, OPTIONS) is None
    path.write_bytes(data)
    os.utime(path, ns=times)
    assert store_cache.find_store(path, 5, OPTIONS).root == 5
    os.utime(path, ns=(times[0], times[1] + 1))
    assert store_cache.find_store(path, 5, OPTIONS) is None


def test_a_folder_of_parquet(tmp_path):
    folder = tmp_path / "edges"
    (folder / "day=1").mkdir(parents=True)
    edges().to_parquet(folder / "day=1" / "a.parquet")
    edges().to_parquet(folder / "b.parquet")
    cache(folder, edges(), 5)
    assert store_cache.find_store(f"{folder}/", 5, OPTIONS).root == 5
    (folder / "notes.md").write_text("not read")
    assert store_cache.find_store(folder, 5, OPTIONS).root == 5
    (folder / "b.parquet").rename(folder / "c.parquet")
    assert store_cache.find_store(folder, 5, OPTIONS) is None
    (folder / "c.parquet").rename(folder / "b.parquet")
    assert store_cache.find_store(folder, 5, OPTIONS).root == 5
    edges().to_parquet(folder / "c.parquet")
    assert store_cache.find_store(folder, 5, OPTIONS) is None


@pytest.mark.parametrize("name", STORE_FILES)
@pytest.mark.parametrize("data", [None, b"", "changed"])
def test_a_damaged_store(cached, name, data):
    path = store_cache.cache_path(cached) / name
    if data is None:
        path.unlink()
    elif data == "changed" and name != "edges.npy":  # whose partitions are compared when swept
        changed = bytearray(path.read_bytes())
        changed[len(changed) // 2] ^= 1
        path.write_bytes(changed)
    else:
        path.write_bytes(b"")
    if name == "manifest.json" and data is None:
        assert store_cache.find_store(cached, 5, OPTIONS) is None
    else:
        with pytest.warns(RuntimeWarning, match=f"the cache is not used: .*{name}: "):
            assert store_cache.find_store(cached, 5, OPTIONS) is None
    cache(cached, edges(), 5)
    assert store_cache.find_store(cached, 5, OPTIONS).root == 5


def test_a_damaged_partition_is_an_error_once_and_then_built_again(cached):
    options = {"weight": "km"}
    layered = LayeredEdgeList.cached(cached, 5, device="cpu", **options)
    expected = rg.sssp(layered)
    path = store_cache.cache_path(cached) / "edges.npy"
    data = bytearray(path.read_bytes())
    data[4 * int(storage_of(layered).table[0, 0])] ^= 1
    path.write_bytes(data)
    with pytest.raises(rg.GraphError, match="partition 0 .* is damaged; the store was discarded"):
        rg.sssp(LayeredEdgeList.cached(cached, 5, device="cpu", **options))
    again = LayeredEdgeList.cached(cached, 5, device="cpu", **options)
    pandas.testing.assert_frame_equal(rg.sssp(again), expected)


def test_a_store_that_was_replaced_is_not_discarded(cached):
    layered = LayeredEdgeList.cached(cached, 5, device="cpu", weight="km")
    cache(cached, edges(), 3)
    assert not storage_of(layered).store.discard()
    words = np.array(storage_of(layered).words)
    words[int(storage_of(layered).table[0, 0])] ^= 1
    storage_of(layered).words = words
    with pytest.raises(rg.GraphError, match="is damaged; build the layered edge list again"):
        storage_of(layered).verify_partition(0, words)
    assert store_cache.find_store(cached, 3, OPTIONS).root == 3


def test_a_folder_of_somebody(cached):
    folder = store_cache.cache_path(cached)
    for file in folder.iterdir():
        file.unlink()
    (folder / "notes.txt").write_text("mine")
    assert store_cache.find_store(cached, 5, OPTIONS) is None
    with pytest.raises(rg.GraphError, match=r"layers: .*it contains notes\.txt"):
        cache(cached, edges(), 5)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_a_store_of_something_else(cached):
    layered = LayeredEdgeList.build(edges(), 5)
    save_store(storage_of(layered), store_cache.cache_path(cached))
    assert open_store(store_cache.cache_path(cached)).manifest["origin"] is None
    assert store_cache.find_store(cached, 5, OPTIONS) is None


@pytest.mark.parametrize(
    ("stored", "same", "others"),
    [
        (5, [5, np.uint8(5), [5], (5,), np.array([5]), pandas.Series([5])], [6, "5", 5.5, None]),
        (1, [1], [True, 1.0, "1", [1, 1], pandas.DataFrame({"vertex": [1]})]),
        ("5", ["5", np.str_("5"), ["5"], pandas.Series(["5"])], [5, "05", "", b"5"]),
        (-(2**60), [-(2**60)], [2**60]),
        (2**63 + 1, [2**63 + 1, np.uint64(2**63 + 1)], [2**63, float(2**63)]),
        (["ü", 5], [("ü", 5), ["ü", 5], [("ü", 5)], ("ü", np.int64(5))], [("ü", "5"), (5, "ü")]),
    ],
)  # fmt: skip
def test_roots(stored, same, others):
    opened = types.SimpleNamespace(root=tuple(stored) if isinstance(stored, list) else stored)
    for root in same:
        assert store_cache.has_root(opened, root), root
    for root in others:
        assert not store_cache.has_root(opened, root), root


def test_another_root(cached):
    assert store_cache.find_store(cached, 3, OPTIONS) is None
    assert store_cache.find_store(cached, "5", OPTIONS) is None


def test_roots_of_text_and_of_several_columns(tmp_path):
    path = tmp_path / "edges.parquet"
    edges(("a", "ä", "")).to_parquet(path)
    cache(path, edges(("a", "ä", "")), "")
    assert store_cache.find_store(path, "", OPTIONS).root == ""
    assert store_cache.find_store(path, "ä", OPTIONS) is None
    ends = {"source": ["net", "source"], "destination": ["net", "destination"]}
    cache(path, edges().assign(net="n"), ("n", 8), **ends)
    assert store_cache.find_store(path, ("n", 8), OPTIONS).root == ("n", 8)
    assert store_cache.find_store(path, ("n", 5), OPTIONS) is None
