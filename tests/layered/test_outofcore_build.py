"""Layers from a file, out of core: the store is what the Graph in memory gives, or an error."""

import contextlib
import errno
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pandas
import pyarrow
import pytest
from conftest import build_storage
from pyarrow import feather, parquet
from traced_memory import trace_memory

import rapidsgraph as rg
from rapidsgraph.errors import GraphError, InsufficientMemoryError
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.io import declared_vertices, write_frame
from rapidsgraph.layered import LayeredEdgeList
from rapidsgraph.layered.outofcore import build, dictionaries, file_array, integer_names
from rapidsgraph.layered.outofcore.build import build_from_file
from rapidsgraph.layered.packing import COLUMN, checksum, unpack_partition
from rapidsgraph.layered.store import open_store
from rapidsgraph.validation import parse_bytes

pytestmark = pytest.mark.slow

TINY = 2**18 + 50_000  # bytes: many batches and buckets of a few thousand edges


@pytest.fixture(autouse=True)
def no_overhead(monkeypatch):
    """Let small limits work, so that small files take many batches, runs and buckets."""
    monkeypatch.setattr(file_array, "OVERHEAD_BYTES", 0)
    monkeypatch.setattr(build, "MIN_NAMING_BYTES", 2**18)


def random_frame(seed=0, vertices=300, rows=6000):
    """With parallel edges far apart, self-loops, and vertices that nothing leads to."""
    random = np.random.default_rng(seed)
    source = random.integers(0, vertices, rows)
    destination = (random.integers(0, vertices, rows) * random.random(rows)).astype(np.int64)
    weight = random.integers(0, 2**30, rows) / 7
    frame = pandas.DataFrame({"source": source, "destination": destination, "weight": weight})
    is_far = frame["destination"] > vertices // 2
    frame.loc[is_far, "destination"] = frame.loc[is_far, "source"]
    return frame


def arcs(storage, weight_dtype):
    """Return sources, neighbors and weights of forward and backward edges, by position."""
    found = [[], []]
    for row in storage.table:
        start, count = int(row[COLUMN["position"]]), int(row[COLUMN["words"]])
        words = np.array(storage.words[start : start + count])
        ahead = int(row[COLUMN["forward_words"]])
        assert checksum(words[:ahead]) == row[COLUMN["forward_checksum"]]
        assert checksum(words[ahead:]) == row[COLUMN["backward_checksum"]]
        for part, columns in enumerate(unpack_partition(words, row, weight_dtype)):
            found[part].append(columns)
    return [[np.concatenate(arrays) for arrays in zip(*part, strict=True)] for part in found]


def check_same(store, expected):
    """Assert that a store and the storage of a list are equal, bit for bit."""
    for name in ("order", "out_weights", "layer_starts", "layer_edges"):
        found, wanted = getattr(store, name), getattr(expected, name)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted, err_msg=name)
    assert store.weight_dtype == expected.weight_dtype
    for name in ("root_id", "directed", "weighted"):
        assert store.manifest[name] == getattr(expected, name)
    assert store.manifest["edges"] == expected.num_edges
    assert store.manifest["own"] == expected.labeling.is_endpoint_specific
    assert store.manifest["source_columns"] == expected.labeling.source_columns
    parts = arcs(store, expected.weight_dtype), arcs(expected, expected.weight_dtype)
    for found, wanted in zip(*parts, strict=True):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    found, wanted = store.names, expected.names
    assert (found.labels, found.count, found.dtype) == (wanted.labels, wanted.count, wanted.dtype)
    for one, other in zip(found.distinct, wanted.distinct, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.dtype == other.dtype
            assert list(one) == list(other)
    assert list(map(list, found.pairs)) == list(map(list, wanted.pairs))


def in_memory(path, root, columns, options):
    edges = rg.read_edges(path, **columns, device="cpu")
    options = {"vertices": declared_vertices(path), **options}
    several = isinstance(columns.get("source"), list)
    weight = columns.get("weight", "weight")
    columns = dict(columns) if several else {"weight": weight and "weight"}
    layered = LayeredEdgeList.build(build_storage(edges, **columns, **options), root)
    return storage_of(layered)


def check(path, root, folder, *, limit=TINY, partition_bytes=4096, columns=None, **options):
    """Build, compare with what is built in memory, and give the store."""
    columns = columns or {}
    build_from_file(
        path,
        root,
        folder,
        memory_limit=limit,
        partition_bytes=partition_bytes,
        **columns,
        **options,
    )
    layered = open_store(folder)
    check_same(layered, in_memory(path, root, columns, options))
    assert [path.name for path in folder.parent.iterdir() if path.name[0] == "."] == []
    return layered


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("multi_edges", ["first", "sum", "min", "max", "keep"])
def test_policies(tmp_path, multi_edges, directed, weighted):
    random_frame().to_parquet(tmp_path / "edges.parquet")
    columns = {"weight": "weight" if weighted else None}
    for self_loops in ("keep", "drop"):
        layered = check(
            tmp_path / "edges.parquet", 5, tmp_path / "layers", columns=columns,
            directed=directed, multi_edges=multi_edges, self_loops=self_loops, partition_bytes=1024,
        )  # fmt: skip
    assert len(layered.table) > 10
    unreached = layered.order.size - layered.layer_starts[-1]
    assert (unreached > 100) == directed


@pytest.mark.parametrize(
    ("dtype", "factor", "multi_edges", "directed"),
    [
        ("int32", 1, "first", True),
        ("int64", 2**40, "min", False),
        ("int64", 2**20, "sum", True),
        ("int64", 2**50, "sum", False),  # the sum of all is beyond 64 bits
        ("uint64", 2**33, "max", True),  # single weights are beyond 2^63
        ("uint8", 1, "sum", False),
        ("float32", 1 / 3, "sum", False),
        ("float32", 1 / 3, "sum", True),
        ("float32", 1 / 3, "keep", False),
        ("float64", 1 / 4, "first", True),  # held by float32
    ],
)
def test_types_of_weights(tmp_path, dtype, factor, multi_edges, directed):
    frame = random_frame(1)
    weight = np.random.default_rng(1).integers(1, 200, len(frame)).astype(object) * factor
    if dtype == "uint64":  # all of the first batch fit in 63 bits
        weight[4000:] += 2**63
    frame["weight"] = weight.astype(dtype)
    frame.to_parquet(tmp_path / "edges.parquet")
    check(
        tmp_path / "edges.parquet", 5, tmp_path / "layers", columns={"weight": "weight"},
        directed=directed, multi_edges=multi_edges,
    )  # fmt: skip


def named(frame, names):
    """Rename the vertices of edges; `names` maps an array of ids."""
    ends = {end: names(frame[end].to_numpy()) for end in ("source", "destination")}
    return frame.assign(**ends)


NAMES = {
    "int8": (lambda ids: (ids % 200 - 100).astype(np.int8), -95),
    "int32": (lambda ids: ids.astype(np.int32), 5),
    "gaps": (lambda ids: ids * 7 - 30, 5),
    "wide": (lambda ids: (ids - 7) * 2**45 + ids, -2 * 2**45 + 5),
    "unsigned": (lambda ids: ids.astype(np.uint64) + 2**63, 2**63 + 5),
    "whole range": (lambda ids: ids.astype(np.uint64) * (2**64 // 299), 5 * (2**64 // 299)),
    "text": (lambda ids: [f"v{i} ü" for i in ids], "v5 ü"),
    "categories": (lambda ids: pandas.Categorical([f"v{i}" for i in ids]), "v5"),
}


@pytest.mark.parametrize("kind", NAMES)
def test_names(tmp_path, kind):
    names, root = NAMES[kind]
    named(random_frame(2), names).to_parquet(tmp_path / "edges.parquet", row_group_size=1500)
    check(tmp_path / "edges.parquet", root, tmp_path / "layers", limit=2**20)


def test_names_beyond_the_table(tmp_path):
    """Integers whose range grows from batch to batch, until a table of it is too large."""
    ids = np.arange(5000)
    ids[1024:] *= 40
    ids[3000:] *= -4000
    pandas.DataFrame({"source": ids, "destination": np.roll(ids, -1)}).to_parquet(
        tmp_path / "edges.parquet"
    )
    limit = 2**18 + 48 * 5000 + 2**15
    layered = check(tmp_path / "edges.parquet", 3, tmp_path / "layers", limit=limit)
    assert layered.layer_starts.size == 5001  # a circle


def test_names_of_several_columns(tmp_path):
    frame = random_frame(3).assign(network=lambda f: np.where(f["source"] % 2, "odd", "even"))
    frame["city"] = frame["source"] // 3 - 20
    frame["place"] = frame["destination"] // 3 - 20
    frame.to_parquet(tmp_path / "edges.parquet")
    columns = {"source": ["network", "city"], "destination": ["network", "place"]}
    path = tmp_path / "edges.parquet"
    check(path, ("odd", 5), tmp_path / "layers", limit=2**20, columns=columns)
    frame.to_csv(tmp_path / "edges.csv", index=False)
    columns["weight"] = "weight"
    path = tmp_path / "edges.csv"
    check(path, ("even", 5), tmp_path / "layers", limit=2**20, columns=columns)


def test_mixed_types_of_integers(tmp_path):
    frame = random_frame(4).astype({"source": np.uint64, "destination": np.int16})
    frame.to_parquet(tmp_path / "edges.parquet")
    check(tmp_path / "edges.parquet", 5, tmp_path / "layers")
    frame.loc[5000, "source"] = np.uint64(2**63)
    frame.to_parquet(tmp_path / "edges.parquet")
    with pytest.raises(GraphError, match="beyond 2\\^63 in one column and signed in another"):
        build_from_file(tmp_path / "edges.parquet", 5, tmp_path / "other", memory_limit=TINY)


def write_mtx(frame, path, banner):
    lines = [f"%%MatrixMarket matrix coordinate {banner}", "% a comment", f"300 300 {len(frame)}"]
    frame = frame.assign(source=frame["source"] + 1, destination=frame["destination"] + 1)
    text = "\n".join(lines) + "\n" + frame.to_csv(sep=" ", header=False, index=False)
    path.write_text(text)


def write_folder(frame, path):
    path.mkdir()
    frame[:2000].to_parquet(path / "b.parquet")
    (path / "a").mkdir()
    frame[2000:].to_parquet(path / "a" / "0.parquet")


WRITERS = {
    "edges.csv": lambda f, path: f.to_csv(path, index=False),
    "bare.csv": lambda f, path: f.to_csv(path, index=False, header=False),
    "edges.csv.gz": lambda f, path: f.to_csv(path, index=False),
    "edges.tsv": lambda f, path: f.to_csv(path, index=False, sep="\t"),
    "edges.txt": write_frame,
    "edges.el.gz": write_frame,
    "edges.feather": lambda f, path: feather.write_feather(f, path, chunksize=2500),
    "plain.arrow": lambda f, path: feather.write_feather(f, path, compression="uncompressed"),
    "folder": write_folder,
    "edges.mtx": lambda f, path: write_mtx(f, path, "real general"),
    "integer.mtx": lambda f, path: write_mtx(f.astype(int), path, "integer general"),
    "symmetric.mtx": lambda f, path: write_mtx(f, path, "real symmetric"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_formats(tmp_path, name):
    WRITERS[name](random_frame(5), tmp_path / name)
    check(tmp_path / name, 5, tmp_path / "layers", columns={"weight": "weight"}, limit=2**20)
    check(tmp_path / name, 5, tmp_path / "layers", directed=False, multi_edges="sum", limit=2**20)


@pytest.mark.parametrize(
    "names",
    [
        lambda ids: [f"v{i}" for i in ids],
        lambda ids: [str(i) if place < 5990 else f"v{i}" for place, i in enumerate(ids)],
    ],
    ids=["text", "text at the end"],
)
def test_text_of_names(tmp_path, names):
    frame = named(random_frame(6), names)
    root = frame["source"][0]
    for name in ("edges.csv", "edges.txt"):
        write_frame(frame, tmp_path / name)
        check(tmp_path / name, root, tmp_path / "layers", limit=2**20)


@pytest.fixture
def merges(monkeypatch):
    """Record the number of runs on disk of each merge of distinct names."""
    seen = []
    for module in (dictionaries, integer_names):
        original = module.merge_runs

        def merge_runs(column, runs, files, original=original, **options):
            seen.append(len(runs))
            return original(column, runs, files, **options)

        monkeypatch.setattr(module, "merge_runs", merge_runs)
    return seen


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt"])
def test_text_in_several_chunks(tmp_path, ending):
    frame = named(random_frame(vertices=2000, rows=40_000), lambda ids: [f"name-{i}" for i in ids])
    path = tmp_path / f"edges.{ending}"
    write_frame(frame, path)
    assert path.stat().st_size > 1.1e6  # more than one block of the reader
    check(path, frame["source"][0], tmp_path / "layers", limit=None)


TEXTS = {
    "long prefixes": lambda i: "https://example.org/" + "a" * (i % 50) + str(i),
    "trailing NUL": lambda i: "name" + "\0" * (i % 9) + str(i // 9) * (i % 2),
    "unicode": lambda i: chr(0x20 + 37 * i % 0xD000) + ("\U0001f600" if i % 3 else "\uffff"),
    "empty": lambda i: str(i) if i else "",
}


@pytest.mark.parametrize("limit", [600_000, 10**8])
@pytest.mark.parametrize("names", TEXTS)
def test_order_of_text(tmp_path, names, limit, merges):
    frame = named(random_frame(11, 2500, 9000), lambda ids: [TEXTS[names](int(i)) for i in ids])
    frame.to_parquet(tmp_path / "edges.parquet")
    check(tmp_path / "edges.parquet", frame["source"][0], tmp_path / "layers", limit=limit)
    assert bool(merges) == (limit == 600_000)


@pytest.mark.parametrize("limit", [350_000, 10**8])
def test_order_of_several_columns(tmp_path, limit, merges):
    frame, table = random_frame(12, 1500, 6000), {}
    for end in ("source", "destination"):
        ids = frame[end]
        table[f"{end}_city"] = [f"city {i % 40}" for i in ids]
        table[f"{end}_code"] = (ids.to_numpy() // 40).astype(np.uint64) * 2**58
        table[f"{end}_zone"] = -ids.to_numpy() % 3 - 2
    table = pandas.DataFrame(table).assign(weight=frame["weight"])
    table.to_parquet(tmp_path / "edges.parquet")
    parts = ("city", "code", "zone")
    columns = {end: [f"{end}_{part}" for part in parts] for end in ("source", "destination")}
    root = tuple(table[column][0] for column in columns["source"])
    check(
        tmp_path / "edges.parquet", (root[0], int(root[1]), int(root[2])), tmp_path / "layers",
        limit=limit, columns={**columns, "weight": "weight"}, directed=False,
    )  # fmt: skip
    assert bool(merges) == (limit == 350_000)


@pytest.mark.parametrize(
    "values",
    [
        lambda ids: ids * 2**40 - 2**62,
        lambda ids: ids.astype(np.uint64) * np.uint64(2**50) + np.uint64(2**63),
        lambda ids: np.where(ids < 2000, ids * 3, ids * 2**30),  # first a table, then an array
    ],
    ids=["negative", "beyond 2^63", "few far"],
)
def test_integers_out_of_core(tmp_path, values, merges):
    frame = random_frame(13, 6000, 30_000).sort_values("source", ignore_index=True)
    for end in ("source", "destination"):
        frame[end] = values(frame[end].to_numpy())
    frame.to_parquet(tmp_path / "edges.parquet")
    root = int(frame["source"][7])
    check(tmp_path / "edges.parquet", root, tmp_path / "layers", limit=600_000)
    with pytest.raises(GraphError, match="root: vertex 1 is not in the graph"):
        build_from_file(tmp_path / "edges.parquet", 1, tmp_path / "other", memory_limit=600_000)
    assert merges


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_dictionary_columns(tmp_path, ending, merges):
    frame = named(random_frame(14, 2500, 9000), lambda ids: [f"{i}" for i in ids])
    table = pyarrow.Table.from_pandas(frame)
    for place, end in enumerate(("source", "destination")):
        table = table.set_column(place, end, table[end].dictionary_encode())
    path = tmp_path / f"edges.{ending}"
    if ending == "parquet":
        parquet.write_table(table, path, row_group_size=2000)
    else:
        feather.write_feather(table, path, compression="uncompressed", chunksize=9000)
    for limit in (500_000, 10**8):
        check(path, frame["source"][0], tmp_path / "layers", limit=limit)
    assert merges


ADVISED = {
    "integers": ({}, {}),
    "weighted": ({"weight": "weight"}, {"directed": False, "multi_edges": "sum"}),
    "text": ({}, {}),
    "several columns": ({"source": ["source", "s"], "destination": ["destination", "d"]}, {}),
    "compressed": ({}, {}),
}


@pytest.mark.parametrize("case", ADVISED)
@pytest.mark.parametrize("limit", [1, 300_000])
def test_the_advised_limit_suffices(tmp_path, case, limit, monkeypatch):
    monkeypatch.setattr(file_array, "OVERHEAD_BYTES", 100_000)
    (columns, options), frame, path = ADVISED[case], random_frame(16, 5000, 20_000), "edges.parquet"
    root = int(frame["source"][0])
    if case == "text":
        frame, root = named(frame, lambda ids: [f"{i:060}" for i in ids]), f"{root:060}"
    if case == "several columns":
        frame, root = frame.assign(s=frame["source"] % 3, d=frame["destination"] % 3), (root, 0)
        root = (root[0], root[0] % 3)
    if case == "compressed":
        path = "edges.feather"
        feather.write_feather(frame, tmp_path / path, chunksize=20_000)
    else:
        frame.to_parquet(tmp_path / path)
    with pytest.raises(InsufficientMemoryError) as caught:
        build_from_file(
            tmp_path / path, root, tmp_path / "layers", memory_limit=limit, **columns, **options
        )
    advice = re.search(r"needs about ([\d.]+ [kM]?B) but memory_limit is", str(caught.value))[1]
    limit = parse_bytes(advice, "memory_limit")
    assert limit >= caught.value.needed
    check(tmp_path / path, root, tmp_path / "layers", limit=limit, columns=columns, **options)


def test_columns_of_other_names(tmp_path):
    frame = random_frame(7).set_axis(["from", "to", "km"], axis=1)
    frame.to_csv(tmp_path / "roads.csv", index=False)
    columns = {"source": "from", "destination": "to", "weight": "km"}
    check(tmp_path / "roads.csv", 5, tmp_path / "layers", columns=columns)


@pytest.mark.parametrize("multi_edges", ["first", "sum", "keep"])
def test_hubs(tmp_path, multi_edges):
    """Rows larger than a bucket, one of them by the same edge again and again."""
    rows, random = 50_000, np.random.default_rng(8)
    source = np.where(random.random(rows) < 0.5, 2, random.integers(0, 900, rows))
    destination = random.integers(0, 900, rows)
    source[10_000:30_000], destination[10_000:30_000] = 1, 0
    frame = pandas.DataFrame({"source": source, "destination": destination})
    frame["weight"] = random.integers(0, 999, rows) / 10
    frame.to_parquet(tmp_path / "edges.parquet")
    is_first = multi_edges == "first"
    for columns, directed in (({}, not is_first), ({"weight": "weight"}, is_first)):
        check(
            tmp_path / "edges.parquet", 7, tmp_path / "layers", columns=columns,
            directed=directed, multi_edges=multi_edges, partition_bytes=20_000,
        )  # fmt: skip


def test_many_layers(tmp_path):
    """A path with what goes back from everywhere, in an order that is not that of its vertices."""
    places = np.random.default_rng(9).permutation(2000)
    source = np.concatenate([places[:-1], places])
    destination = np.concatenate([places[1:], np.full(2000, places[0])])
    pandas.DataFrame({"source": source, "destination": destination}).to_parquet(
        tmp_path / "edges.parquet"
    )
    layered = check(tmp_path / "edges.parquet", places[0], tmp_path / "layers", limit=400_000)
    assert layered.layer_starts.size == 2001
    num_edges = layered.layer_edges.sum(axis=1).tolist()
    assert num_edges == [2000, 1999]  # the root's loop is forward


def test_one_edge(tmp_path):
    pandas.DataFrame({"source": [4], "destination": [4]}).to_csv(tmp_path / "e.csv", index=False)
    layered = check(tmp_path / "e.csv", 4, tmp_path / "layers", limit=None)
    assert layered.manifest["edges"] == 1
    check(tmp_path / "e.csv", 4, tmp_path / "layers", self_loops="drop")


def test_limit_is_kept(tmp_path):
    """Arrays stay below the limit (those of pyarrow are not seen, nor is what is imported)."""
    random, rows = np.random.default_rng(10), 300_000
    ends = {end: random.integers(0, 20_000, rows) for end in ("source", "destination")}
    frame = pandas.DataFrame(ends).assign(weight=random.random(rows))
    path = tmp_path / "edges.parquet"
    frame.to_parquet(path)
    options = {"columns": {"weight": "weight"}, "partition_bytes": 2**16, "directed": False}
    limit = 2_500_000
    assert frame.memory_usage().sum() > 2.8 * limit
    check(path, 0, tmp_path / "layers", limit=limit, **options)  # and all is compiled
    with trace_memory() as get_peak:
        build_from_file(
            path, 0, tmp_path / "layers", weight="weight", directed=False, memory_limit=limit
        )
        assert get_peak() < limit


def test_too_little_memory(tmp_path):
    random_frame(vertices=5000, rows=20_000).to_parquet(tmp_path / "edges.parquet")
    with pytest.raises(InsufficientMemoryError, match=r"layers of [45],\d+ vertices") as caught:
        build_from_file(tmp_path / "edges.parquet", 5, tmp_path / "layers", memory_limit=200_000)
    assert caught.value.free == 200_000
    assert os.listdir(tmp_path) == ["edges.parquet"]
    check(tmp_path / "edges.parquet", 5, tmp_path / "layers", limit=caught.value.needed)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32"])
@pytest.mark.parametrize(
    "vertices", [77, np.int32(127), 128, range(20_000), range(50, 20_000), range(3, 3)], ids=str
)
def test_vertices_by_count_and_range(tmp_path, dtype, vertices):
    edges = pandas.DataFrame({"source": [5, 9, 70], "destination": [9, 70, 5]}, dtype=dtype)
    edges.to_parquet(tmp_path / "edges.parquet")
    limit = 2**18 + 20_000 * file_array.VERTEX_BYTES
    check(tmp_path / "edges.parquet", 5, tmp_path / "layers", limit=limit, vertices=vertices)


@pytest.mark.parametrize(
    ("edges", "vertices"),
    [
        ({"source": [5, 9], "destination": [9, 60]}, 60),
        ({"source": [5, 9], "destination": [9, 10**12]}, range(60)),
        ({"source": [5, -9], "destination": [9, 60]}, range(60)),
        ({"source": [5], "destination": [9]}, range(0)),
        ({"source": [5], "destination": [9]}, 2**31),
        ({"source": [5], "destination": [9]}, range(7, 2**40)),
        ({"source": [5], "destination": [9]}, range(0, 10, 2)),
        ({"source": [5], "destination": [9]}, -1),
        ({"source": [5], "destination": [9]}, True),
        ({"source": ["a"], "destination": ["b"]}, 2),
    ],
)
def test_vertices_that_do_not_fit(tmp_path, edges, vertices):
    pandas.DataFrame(edges).to_parquet(tmp_path / "edges.parquet")
    with pytest.raises(GraphError) as expected:
        in_memory(tmp_path / "edges.parquet", 5, {}, {"vertices": vertices})
    with pytest.raises(GraphError) as found:
        build_from_file(tmp_path / "edges.parquet", 5, tmp_path / "layers", vertices=vertices)
    assert str(found.value) == str(expected.value)
    assert os.listdir(tmp_path) == ["edges.parquet"]


@pytest.mark.parametrize("vertices", [2_000_000_000, range(2_000_000_000), range(9, 2**31)])
def test_vertices_beyond_the_limit(tmp_path, monkeypatch, vertices):
    random_frame().to_parquet(tmp_path / "edges.parquet")
    monkeypatch.setattr(build.EdgeFile, "vertex_batches", None)  # none is written
    with pytest.raises(
        InsufficientMemoryError, match=r"layers of 2,\d+,\d+,\d+ vertices"
    ) as caught:
        build_from_file(
            tmp_path / "edges.parquet", 5, tmp_path / "layers", vertices=vertices, memory_limit=TINY
        )
    assert caught.value.needed > 2_000_000_000 * file_array.VERTEX_BYTES
    assert os.listdir(tmp_path) == ["edges.parquet"]


def test_needed_memory_suffices_for_vertices(tmp_path):
    random_frame(rows=2000).to_parquet(tmp_path / "edges.parquet")
    build = {"path": tmp_path / "edges.parquet", "root": 5, "vertices": range(9, 20_000)}
    with pytest.raises(InsufficientMemoryError) as caught:
        build_from_file(**build, folder=tmp_path / "layers", memory_limit=TINY)
    build_from_file(**build, folder=tmp_path / "layers", memory_limit=caught.value.needed)
    assert open_store(tmp_path / "layers").names.count == 20_000


def test_batch_too_large(tmp_path):
    feather.write_feather(random_frame(rows=20_000), tmp_path / "edges.feather", chunksize=10**6)
    with pytest.raises(InsufficientMemoryError, match="reading a compressed batch of 20,000 rows"):
        build_from_file(tmp_path / "edges.feather", 5, tmp_path / "layers", memory_limit=60_000)


WRONG = {
    "no value.parquet": {"source": [1] * 3000 + [None], "destination": [2] * 3001},
    "text weight.parquet": {"source": [1], "destination": [2], "weight": ["heavy"]},
    "negative.parquet": {
        "source": [1] * 3000, "destination": [2] * 3000, "weight": [1.0] * 2999 + [-1.0],
    },
    "infinite.csv": {
        "source": [1] * 3000, "destination": [2] * 3000, "weight": [1.0] * 2500 + [np.inf] * 500,
    },
    "not a number.feather": {
        "source": [1] * 3000, "destination": [2] * 3000, "weight": [1.0] * 2998 + [np.nan, 2],
    },
    "no value.csv": {"source": [1, 2], "destination": [2, None]},
    "no number.csv": {"source": [1, 2], "destination": [2, 1], "weight": ["1", "x"]},
    "fractions.parquet": {"source": [0.5, 1.5], "destination": [2, 3]},
    "later fraction.parquet": {"source": [7.0] * 3000 + [1.5], "destination": [2.5] * 3001},
    "infinite name.parquet": {"source": [7] * 3000, "destination": [2.0] * 2999 + [np.inf]},
    "whole fractions.parquet": {"source": [7] * 3000, "destination": [2.0] * 3000},
    "both.parquet": {"source": ["a"], "destination": [2]},
    "dates.parquet": {"source": pandas.to_datetime(["2020-01-01"]), "destination": [2]},
    "columns.csv": {"from": [1], "to": [2]},
    "root.csv": {"source": [1], "destination": [2]},
    "nothing.parquet": {"source": np.zeros(0, np.int32), "destination": np.zeros(0, np.int32)},
    "nothing.csv": {"source": [], "destination": []},
    "text root.csv": {"source": ["a"], "destination": ["b"]},
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_of_reading_and_of_graphs(tmp_path, name):
    table = pyarrow.Table.from_pandas(pandas.DataFrame(WRONG[name]))
    if name.endswith(".parquet"):
        parquet.write_table(table, tmp_path / name)
    elif name.endswith(".csv"):
        table.to_pandas().to_csv(tmp_path / name, index=False)
    else:
        feather.write_feather(table, tmp_path / name)
    columns = {"weight": "weight"} if "weight" in WRONG[name] else {}
    with pytest.raises(GraphError) as expected:
        in_memory(tmp_path / name, 77, columns, {})
    with pytest.raises(GraphError) as found:
        build_from_file(tmp_path / name, 77, tmp_path / "layers", memory_limit=TINY, **columns)
    message = str(expected.value).replace("rg.Graph(edges, weight=None)", "weight=None")
    error = expected.value
    if error.path is None and error.row is not None and error.parameter != "root":  # of a frame
        if name.endswith(".csv"):  # the header is line 1
            line = f"{tmp_path / name}, line {error.row + 2}: "
            message = line + message.replace(f" in row {error.row} of ", " in ")
        else:
            message = f"{tmp_path / name}: {message}"
    assert str(found.value) == message
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("edges.csv", "source,destination\n1,2\n3\n"),
        ("edges.csv", ""),
        ("edges.csv", "source,destination,source\n1,2,3\n"),
        ("edges.txt", "# only a comment\n"),
        ("edges.txt", "1 2\n3 4\n5\n"),
        ("edges.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n1 3\n"),
        ("edges.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n1 4\n"),
        ("edges.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n1 b\n"),
        ("edges.csv.gz", "no gzip"),
        ("edges.parquet", "no Parquet"),
        ("edges.feather", "no Arrow file"),
        ("edges.xls", "1 2"),
    ],
)
def test_errors_of_files(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(GraphError) as expected:
        in_memory(tmp_path / name, 77, {}, {})
    with pytest.raises(GraphError) as found:
        build_from_file(tmp_path / name, 77, tmp_path / "layers")
    assert str(found.value) == str(expected.value)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"multi_edges": "last"}, "multi_edges is 'last'"),
        ({"self_loops": "maybe"}, "self_loops is 'maybe'"),
        ({"directed": None}, "directed is None"),
        ({"memory_limit": 0}, "memory_limit is 0"),
        ({"memory_limit": "1 GB"}, "memory_limit is '1 GB'"),
        ({"root": [1, 2]}, "root names 2 vertices"),
        ({"root": 99}, "vertex 99 is not in the graph"),
        ({"path": "absent.csv"}, "absent.csv: there is no such file"),
        ({"source": "destination"}, "must be different columns"),
        ({"folder": "edges.csv"}, "it is a file"),
        ({"folder": "absent/layers"}, "does not exist"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    (tmp_path / "edges.csv").write_text("source,destination\n1,2\n2,1\n")
    given = {"path": "edges.csv", "root": 1, "folder": "layers", **options}
    given |= {name: tmp_path / given[name] for name in ("path", "folder")}
    with pytest.raises(GraphError, match=re.escape(message)):
        build_from_file(**given)
    assert os.listdir(tmp_path) == ["edges.csv"]


def test_full_disk(tmp_path, monkeypatch):
    random_frame().drop(columns="weight").to_parquet(tmp_path / "edges.parquet")
    usage = type("Usage", (), {"free": 1000})
    with monkeypatch.context() as patch:
        patch.setattr(file_array.shutil, "disk_usage", lambda path: usage)
        with pytest.raises(
            GraphError, match=r"needs about 72\.00 kB of disk space there, and 1\.00 kB are"
        ):
            build_from_file(tmp_path / "edges.parquet", 5, tmp_path / "layers")
    written, append_really = [], file_array.FileArray.append

    def append(array, values):
        written.append(values)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        append_really(array, values)

    monkeypatch.setattr(file_array.FileArray, "append", append)
    with pytest.raises(GraphError, match=r"layers: the disk is full; about 72\.00 kB are needed"):
        build_from_file(tmp_path / "edges.parquet", 5, tmp_path / "layers", memory_limit=TINY)
    assert len(written) == 3
    assert os.listdir(tmp_path) == ["edges.parquet"]


@pytest.mark.parametrize("row_bytes", [12, 28], ids=["codes", "runs"])
def test_disk_too_small_for_names(tmp_path, monkeypatch, row_bytes):
    """The disk holds the edges, but not the codes, or not the names themselves."""
    frame = named(random_frame(rows=20_000), lambda ids: [f"{i:02000}" for i in ids])
    frame.drop(columns="weight").to_parquet(tmp_path / "edges.parquet")
    usage = type("Usage", (), {"free": 20_000 * row_bytes + 1000})
    monkeypatch.setattr(file_array.shutil, "disk_usage", lambda path: usage)
    needed = "560.00 kB" if row_bytes == 12 else r"1\.2\d MB"
    with pytest.raises(GraphError, match=rf"about {needed} of disk space there, .* free some"):
        build_from_file(
            tmp_path / "edges.parquet", f"{0:02000}", tmp_path / "layers", memory_limit=10**8
        )
    assert os.listdir(tmp_path) == ["edges.parquet"]


def test_reports(tmp_path):
    random_frame(rows=20_000).to_csv(tmp_path / "edges.csv", index=False)
    seen = []
    build_from_file(
        tmp_path / "edges.csv", 5, tmp_path / "layers", memory_limit=TINY,
        report=lambda done, text: seen.append((done, text)),
    )  # fmt: skip
    steps = [done for done, _ in seen]
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert steps[-1] == build.STEPS
    texts = {re.sub(r"^[\d,]+ ", "", text) for _, text in seen}
    assert texts == {
        "rows read", "rows, names", "rows, by source", "edges sorted", "levels", "edges by layer",
        "edges packed",
    }  # fmt: skip


@pytest.mark.parametrize("at", ["names", "by source", "sorted", "levels", "by layer", "packed"])
def test_interrupted(tmp_path, at):
    random_frame().to_parquet(tmp_path / "edges.parquet")
    check(tmp_path / "edges.parquet", 5, tmp_path / "layers")
    before = open_store(tmp_path / "layers").manifest

    def interrupt(done, text):
        if at in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_from_file(tmp_path / "edges.parquet", 6, tmp_path / "layers", report=interrupt)
    assert sorted(os.listdir(tmp_path)) == ["edges.parquet", "layers"]
    assert open_store(tmp_path / "layers").manifest == before


KILLED = """
import os, signal, sys
from rapidsgraph.layered.outofcore.build import build_from_file
path, folder = sys.argv[1:]
def report(done, text):
    if "packed" in text:
        os.kill(os.getpid(), signal.SIGKILL)
build_from_file(path, 6, folder, memory_limit=50_000_000, report=report)
"""


def test_killed(tmp_path):
    path, folder = tmp_path / "edges.parquet", tmp_path / "layers"
    random_frame().to_parquet(path)
    expected = check(path, 5, folder).manifest
    done = subprocess.run([sys.executable, "-c", KILLED, path, folder], check=False)
    assert done.returncode == -signal.SIGKILL
    assert open_store(folder).manifest == expected
    assert len([name for name in os.listdir(tmp_path) if name[0] == "."]) == 2
    with contextlib.suppress(GraphError):  # leftovers go when a run begins, whatever comes of it
        build_from_file(path, 999, folder)
    assert sorted(os.listdir(tmp_path)) == ["edges.parquet", "layers"]
