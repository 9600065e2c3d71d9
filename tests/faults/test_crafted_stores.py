"""Stores and index files of strangers: whatever they say, an error at worst.

Each trial changes one field and computes all checksums again, or changes bytes and leaves the
checksums alone. It ends in a GraphError or in a result that is complete: no crash, no hang. A
changed field may describe another graph, whose results differ; those of changed bytes must not.
"""

import functools
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pytest
from crafting import CraftedIndex, CraftedStore, with_value
from trials import run_trials

import rapidsgraph as rg
from rapidsgraph.device import array_module, launch
from rapidsgraph.distributed import layered as distributed_layered
from rapidsgraph.distributed.communicator import LocalCommunicator
from rapidsgraph.distributed.spmd_worker import ignore_report
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.io.formats import STORE_FILES
from rapidsgraph.layered.packing import COLUMN, TABLE, pack_partition

pytestmark = pytest.mark.slow

VERTICES = 90
FEW, MANY = 60, pytest.param(2000, marks=pytest.mark.long)
INTEGERS = (
    -(2**63),
    -(2**31),
    -1,
    0,
    1,
    2,
    31,
    32,
    33,
    64,
    2**31 - 1,
    2**31,
    2**32,
    2**62,
    2**63 - 1,
)
JSON = (None, True, -1, 0, 1, 2, 1.5, float("nan"), 2**31, 2**63, 2**70, "", "x", "int8", [], {},
        [1], ["x"], {"x": 1}, [[]], "\ud800")  # fmt: skip
FLOATS = (float("nan"), float("inf"), -float("inf"), -1.0, 0.0, -0.0, 1e308, 5e-324, 0.5)


def frame(kind):
    random = np.random.default_rng(0)
    source, destination = random.integers(0, VERTICES, (2, 5 * VERTICES))
    source[:40] = 7  # a long row
    destination[:VERTICES] = np.arange(VERTICES)
    columns = {"source": source, "destination": destination}
    if kind == "text":
        columns = {name: np.char.add("v", values.astype(str)) for name, values in columns.items()}
    if kind == "pairs":
        columns = {"source": source // 9, "destination": destination // 9} | {
            "s2": source % 9 * 2, "d2": destination % 9 * 2
        }  # fmt: skip
    columns["weight"] = random.integers(1, 9, source.size) / 8
    return pandas.DataFrame(columns)


def graph(kind):
    edges = frame(kind)
    ends = (["source", "s2"], ["destination", "d2"]) if kind == "pairs" else ()
    return rg.Graph(edges, *ends, weight=None if kind == "text" else "weight")


def root(kind):
    edges = frame(kind)
    return (edges["source"][0], edges["s2"][0]) if kind == "pairs" else edges["source"][0]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """{kind: folder} of stores with several partitions, one of them of a part of a row."""
    folders = {}
    for kind in ("weights", "text", "pairs"):
        folders[kind] = tmp_path_factory.mktemp("stores") / kind
        rg.LayeredEdgeList.build(graph(kind), root(kind), partition_bytes=300).save(folders[kind])
    return folders


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    """{kind: path} of index files."""
    paths = {}
    for kind in ("weights", "text", "pairs"):
        paths[kind] = tmp_path_factory.mktemp("indexes") / f"{kind}.arrow"
        rg.ScanIndex(graph(kind)).save(paths[kind])
    return paths


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request):
    return request.param


def use_store(folder, device="cpu"):
    """Every result that a store gives."""
    layered = rg.LayeredEdgeList.open(folder, device=device)
    edges, layers, combined = layered.edges(), layered.layers, layered.combined
    searched = rg.bfs(layered), rg.sssp(layered), rg.pagerank(layered, tolerance=1e-3)
    return [edges, layers, combined, *searched]


def use_index(path, device="cpu"):
    """Every result that an index gives."""
    index = rg.ScanIndex.open(path, device=device)
    queries = [index.query(e, mu) for e, mu in ((0.3, 2), (0.5, 3), (0.2, 5))]
    return [index.sweep([0.2, 0.5], [1, 2, 4, 99]), *queries]


def is_complete(results):
    return all(len(frame) for frame in results) and all(
        len(frame) == VERTICES for frame in results[-3:]
    )


# Fields


def try_store_field(argument, device="cpu"):
    """Change one field of a store, which has right checksums again, and use it."""
    folder, field, *value = argument
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "store"
        shutil.copytree(folder, copy)
        store = CraftedStore(copy)
        STORE_EDITS[field[0]](store, *field[1:], *value)
        if field[0] in ("manifest", "entry"):
            store.seal_manifest()
        else:
            store.seal()
        return "right" if is_complete(use_store(copy, device)) else "incomplete"


def edit_facts(index, name, value):
    if value == "missing":
        del index.facts[name]
    else:
        index.facts[name] = value


def edit_manifest(store, name, value):
    if value == "missing":
        del store.manifest[name]
    else:
        store.manifest[name] = value


def edit_file_entry(store, name, key, value):
    store.manifest["files"][name][key] = value


def edit_column(store, part, name, place, value):
    columns = getattr(store, part)
    if place == "missing":
        del columns[name]
    elif place == "type":
        values = pyarrow.array(columns[name])
        if pyarrow.types.is_large_string(values.type):
            values = pyarrow.array(range(len(values)))
        columns[name] = values.cast(value, safe=False)
    elif place == "length":
        columns[name] = pyarrow.array(columns[name]).take(
            pyarrow.array(np.arange(len(columns[name]) + value).clip(0, len(columns[name]) - 1))
        )
    elif place == "null":
        columns[name] = with_value(pyarrow.array(columns[name]), 0, None)
    elif place == "swap":
        columns[name] = pyarrow.array(columns[name]).take(
            pyarrow.array([1, 0, *range(2, len(columns[name]))])
        )
    elif place == "lists":
        offsets = pyarrow.array([0] + [len(columns[name])] * value, "int64")
        lists = pyarrow.LargeListArray.from_arrays(offsets, columns[name])
        columns[name] = pyarrow.chunked_array([lists])
    else:
        columns[name] = with_value(columns[name], place, value)


def edit_all_columns(store, part, length):
    """The same change of length in all columns, and in what the manifest says of it."""
    columns = getattr(store, part)
    for name in columns:
        edit_column(store, part, name, "length", length)
    counted = "partitions" if part == "table" else "depth"
    store.manifest[counted] += length


def edit_relative(store, part, name, place, by):
    columns = getattr(store, part)
    columns[name][place] += by


def edit_section(store, partition, part, what, place, value):
    """Change a word, or weight, of a section."""
    own, layout = store.section(partition, part)
    begin, end = {
        "starts": (0, layout.degrees),
        "degrees": (layout.degrees, layout.neighbors),
        "neighbors": (layout.neighbors, layout.weights),
        "weights": (layout.weights, layout.words),
    }[what]
    values = own[begin:end]
    if what == "weights":
        size = layout.edges * store.weight_dtype.itemsize // 4
        values = values[:size].view(store.weight_dtype)
    with np.errstate(over="ignore"):
        values[place % values.size] = value
    store.sum_sections()


STORE_EDITS = {
    "manifest": edit_manifest,
    "entry": edit_file_entry,
    "column": edit_column,
    "columns": edit_all_columns,
    "relative": edit_relative,
    "section": edit_section,
}


def column_trials(part, columns, values, is_list=False):
    for name, items in columns.items():
        for place in sorted({0, 1, len(items) // 2, len(items) - 1} - {len(items)}):
            for value in values(name, items):
                yield ("column", part, name, place), value
        for by in (-1, 1, 1000, -len(items)) if is_list else ():
            yield ("column", part, name, "length"), by
        for kind in ("int8", "uint64", "float", "double", "bool", "large_string"):
            yield ("column", part, name, "type"), kind
        yield ("column", part, name, "missing"), None
        yield ("column", part, name, "null"), None
        yield ("column", part, name, "swap"), None
        if is_list:
            yield ("column", part, name, "lists"), 2


def values_for(name, items):
    if str(items.type) == "double":
        return FLOATS
    if str(items.type) == "large_string":
        return "", "v1", "v10", "zz", "\U0001d11e"
    limits = np.iinfo(str(items.type))
    return [n for n in (*INTEGERS, VERTICES - 1, VERTICES) if limits.min <= n <= limits.max]


def store_trials(folder):
    """(field, value) of every trial of a store."""
    store = CraftedStore(folder)
    for name in store.manifest:
        if name not in ("format", "version", "checksum"):
            for value in (*JSON, "missing"):
                yield ("manifest", name), value
    for name in STORE_FILES[1:]:
        for key in ("bytes", "checksum"):
            for value in JSON[:12]:
                yield ("entry", name, key), value
    yield from column_trials("vertices", store.vertices, values_for, is_list=True)
    yield from column_trials("layers", store.layers, lambda *_: INTEGERS)
    used = {name: items for name, items in store.table.items() if name != "unused"}
    yield from column_trials("table", used, lambda *_: INTEGERS)
    for part, columns in (("layers", store.layers), ("table", used)):
        for name, items in columns.items():
            for place in (0, len(items) // 2, len(items) - 1):
                for by in (-4, -1, 1, 4):
                    yield ("relative", part, name, place), by
        for by in (-1, 1):
            yield ("columns", part), by
    for partition, layouts in enumerate(store.layouts):
        for part, layout in enumerate(layouts):
            if not layout.edges or partition % 3:
                continue
            for what in ("starts", "degrees", "neighbors"):
                for place in (0, 1, -1, -2):
                    for value in (0, 1, 33, 2**31, 2**32 - 1, 0xAAAAAAAA):
                        yield ("section", partition, part, what, place), value
            for place in (0, 5, -1) if store.weight_dtype else ():
                for value in FLOATS:
                    yield ("section", partition, part, "weights", place), value


def some(trials, count, seed=0):
    """So many of the trials, or all where there are fewer, the same ones every time."""
    trials = list(trials)
    if count >= len(trials):
        return trials
    chosen = np.random.default_rng(seed).choice(len(trials), count, replace=False)
    return [trials[place] for place in sorted(chosen)]


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_crafted_field_of_a_store(stores, count, record_outcomes):
    every = [(str(path), *trial) for path in stores.values() for trial in store_trials(path)]
    arguments = some(every, count)
    outcomes = run_trials(try_store_field, arguments, batch=500)
    record_outcomes("crafted field", "store", outcomes)
    assert outcomes.counts["refused"] > len(arguments) / 2


# What led to crashes and hangs: each of these is refused, by name.


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (("manifest", "vertices"), 2**70, r"manifest\.json: vertices is 11805916\d+, not 0 to"),
        (("manifest", "root_id"), VERTICES, r"manifest\.json: root_id is 90, not 0 to 89"),
        (("manifest", "root"), 8, r"vertices\.arrow: root is 8, not 7"),
        (("column", "vertices", "order", 3), VERTICES, r"order\[3\] is 90, not 0 to 89"),
        (("column", "vertices", "order", 3), -1, r"order\[3\] is -1, not 0 to 89"),
        (("column", "vertices", "order", "swap"), None, r"order\[0\] is .*, not 7, the root"),
        (("column", "vertices", "out_weights", 2), float("nan"), r"out_weights\[2\] is nan"),
        (("relative", "layers", "first_vertex", 1), 1, "first_vertex is 2, not 1"),
        (("column", "layers", "first_vertex", 2), 0, r"first_vertex\[2\] is 0, not above 1"),
        (("column", "table", "position", 1), 2**62, r"position\[1\] is 4611686018427387904, not 0"),
        (("relative", "table", "position", 1), 1, r"position\[1\] is .*, not a multiple of 4"),
        (("column", "table", "forward_base", 1), VERTICES, r"forward_base\[1\] is 90, not 0 to 89"),
        (("column", "table", "forward_bits", 1), 64, r"forward_bits\[1\] is 64, not 0 to 31"),
        (("column", "table", "rows", 1), 2**31, r"rows\[1\] is 2147483648, not 1 to 90"),
        (("relative", "table", "rows", -1), 1, r"(rows|words)\[\d+\] is \d+, not"),
        (("section", 0, 0, "starts", 0), 5, r"partition 0 .* forward start of group 0 is 5, not 0"),
        (("section", 0, 0, "degrees", 0), 0, r"partition 0 .* invalid: forward"),
        (("section", 0, 0, "weights", 1), float("nan"), r"invalid: forward weight 1 is nan; w"),
        (("section", 0, 0, "weights", 1), -1.0, r"invalid: forward weight 1 is -1\.0; weights"),
    ],
)  # fmt: skip
def test_the_message_names_the_field_and_the_value(stores, device, field, value, message):
    with pytest.raises(rg.GraphError, match=f"{message}.*; build the layered"):
        try_store_field((stores["weights"], field, value), device)


def test_a_neighbor_that_is_no_vertex(stores, device, tmp_path):
    """Among all values that fit into so many bits."""
    shutil.copytree(stores["text"], tmp_path / "store")
    store = CraftedStore(tmp_path / "store")
    own, layout = store.section(0, 0)
    assert layout.base + 2**layout.bits - 1 >= VERTICES
    own[layout.neighbors] |= np.uint32((1 << layout.bits) - 1)
    store.sum_sections()
    store.seal()
    expected = rf"store/edges\.npy: partition 0 .* neighbor 0 is \d+, not 0 to {VERTICES - 1}"
    streamed = 2**20
    for use in (
        rg.bfs,
        rg.pagerank,
        lambda layered: rg.bfs(layered, memory_limit=streamed),
        lambda layered: layered.edges(),
    ):
        with pytest.raises(rg.GraphError, match=expected):
            use(rg.LayeredEdgeList.open(tmp_path / "store", device=device))
    with pytest.raises(rg.GraphError, match=expected):
        rg.LayeredEdgeList.open(tmp_path / "store", device=device).save(tmp_path / "other")
    assert not (tmp_path / "other").exists()
    layered = rg.LayeredEdgeList.open(tmp_path / "store", device=device)
    storage = storage_of(layered).slice_partitions(0, 3)
    with pytest.raises(rg.GraphError, match=expected):
        distributed_layered._find_parents(
            LocalCommunicator(), ignore_report, storage, None, layered.depth, True, False
        )


@pytest.mark.parametrize("bits", [1, 3, 7, 12, 17, 20, 25, 30])
def test_a_neighbor_beyond_the_vertices_is_seen_at_every_place(make_arrays, bits):
    """Of values all up to the limit but one above it."""
    edges = 8 * 32 + 32 + 5  # a full period of the check, a block, and a few
    limit = 2 ** (bits - 1) + 2 ** (bits - 1) // 3 if bits > 1 else 0
    given = make_arrays({"ends": [0, edges], "none": [0, 0]})
    xp = array_module(given["ends"])
    random = np.random.default_rng(bits)
    for place in [None, *range(0, edges, 7), edges - 1]:
        neighbors = random.integers(0, limit + 1, edges).astype(np.int32)
        neighbors[:2] = 0, limit
        neighbors[2:40] = limit
        if place is not None:
            neighbors[place] = limit + 1 if place % 2 else 2**bits - 1
        is_valid = int(neighbors.max()) <= limit
        neighbors, empty = xp.asarray(neighbors), xp.empty(0)
        lists = [(given["ends"], neighbors, empty), (given["none"], neighbors[:0], empty)]
        ((words, row),) = pack_partition(0, lists, 0)
        expected = row[[COLUMN["forward_checksum"], COLUMN["backward_checksum"]]].astype(np.uint64)
        sums = xp.array(expected)
        launch(
            "layered_sweep", "check_sections", size=1,
            start=0, stop=1, origin=0, num_sections=2, num_vertices=limit + 1,
            table=xp.asarray(row[None]), words=words, weight_type=empty, weighted=False,
            checksums=sums,
        )  # fmt: skip
        assert (sums.tolist() == expected.tolist()) == is_valid, place


def test_partitions_are_checked_once(stores, monkeypatch):
    from rapidsgraph.layered import streaming

    calls, verify = [], streaming.verify_partitions
    monkeypatch.setattr(
        streaming,
        "verify_partitions",
        lambda *given: (calls.append(given[0]), verify(*given)),
    )
    layered = rg.LayeredEdgeList.open(stores["weights"], device="cpu")
    rg.pagerank(layered)
    assert sorted(calls) == list(range(len(storage_of(layered).table)))
    rg.pagerank(layered)
    rg.sssp(layered)
    assert len(calls) == len(storage_of(layered).table)


# Index files


def try_index_field(argument, device="cpu"):
    path, field, value = argument
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "index.arrow"
        shutil.copyfile(path, copy)
        index = CraftedIndex(copy)
        if field[0] == "facts":
            edit_facts(index, *field[1:], value)
        else:
            edit_column(index, *field[1:], value)
        index.seal()
        return "right" if is_complete(use_index(copy, device)) else "incomplete"


def index_trials(path):
    index = CraftedIndex(path)
    for name in index.facts:
        for value in (*JSON, "missing"):
            yield ("facts", name), value
    yield from column_trials("columns", index.columns, values_for, is_list=True)


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_crafted_field_of_an_index(indexes, count, record_outcomes):
    every = [(str(path), *trial) for path in indexes.values() for trial in index_trials(path)]
    arguments = some(every, count)
    outcomes = run_trials(try_index_field, arguments, batch=500)
    record_outcomes("crafted field", "index", outcomes)
    assert outcomes.counts["refused"] > len(arguments) / 2


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (("column", "columns", "offsets", 3), 2**62, r"offsets\[4\] is \d+, not \d+ or more"),
        (("column", "columns", "offsets", 0), 1, r"offsets\[0\] is 1, not 0"),
        (("column", "columns", "neighbors", 3), VERTICES, r"neighbors\[3\] is 90, not 0 to 89"),
        (("column", "columns", "common", 3), -1, r"common\[3\] is -1, not a possible number"),
        (("column", "columns", "cores", 3), -1, r"cores\[3\] is -1, not 0 to 89"),
        (("column", "columns", "core_offsets", 1), 2**62, r"core_offsets\[1\] is \d+, not 90"),
        (("facts", "vertices"), VERTICES + 1, "the length of offsets is 91, not 92"),
        (("facts", "dtype"), "object", "dtype is object, not null or one of int8"),
    ],
)  # fmt: skip
def test_the_message_names_the_field_of_an_index(indexes, device, field, value, message):
    with pytest.raises(rg.GraphError, match=rf"index\.arrow: {message}.*; build the index again"):
        try_index_field((indexes["weights"], field, value), device)


# Bytes


@functools.cache
def expected_of(use, path):
    return use(path)


def try_store_bytes(argument):
    """Change some bytes of a file of a store, which then differs from its checksum."""
    folder, name, changes = argument
    expected = expected_of(use_store, folder)
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "store"
        shutil.copytree(folder, copy)
        change_bytes(copy / name, changes)
        return "right" if are_same(use_store(copy), expected) else "another result"


def try_index_bytes(argument):
    path, changes = argument
    expected = expected_of(use_index, path)
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "index.arrow"
        shutil.copyfile(path, copy)
        change_bytes(copy, changes)
        return "right" if are_same(use_index(copy), expected) else "another result"


def change_bytes(path, changes):
    """Flip bytes, or what else a fault makes of a file."""
    if changes == "missing":
        path.unlink()
    elif changes == "folder":
        path.unlink()
        path.mkdir()
    elif changes == "pipe":
        path.unlink()
        os.mkfifo(path)
    elif isinstance(changes, int):
        os.truncate(path, changes)
    else:
        data = bytearray(path.read_bytes())
        for place, value in changes:
            data[place] ^= value
        path.write_bytes(data)


def are_same(results, expected):
    return all(one.equals(other) for one, other in zip(results, expected, strict=True))


def flips(size, count, random):
    """`count` trials of one to four flipped bytes, half of them among the metadata at the ends."""
    for trial in range(count):
        number = 1 if trial % 4 else 4
        ends = np.concatenate([np.arange(min(600, size)), np.arange(max(size - 600, 0), size)])
        places = random.choice(ends if trial % 2 else size, number, replace=False)
        values = random.integers(1, 256, number)
        yield list(zip(places.tolist(), values.tolist()))


@pytest.mark.parametrize("count", [60, pytest.param(1500, marks=pytest.mark.long)])
def test_flipped_bytes(stores, indexes, count, record_outcomes):
    random, each = np.random.default_rng(count), count // (len(STORE_FILES) + 1)
    folder, index = stores["weights"], indexes["pairs"]
    of_store = [
        (str(folder), name, changes)
        for name in STORE_FILES
        for changes in flips((folder / name).stat().st_size, each, random)
    ]
    of_index = [(str(index), changes) for changes in flips(index.stat().st_size, each, random)]
    for trial, arguments, target in (
        (try_store_bytes, of_store, "store"),
        (try_index_bytes, of_index, "index"),
    ):
        outcomes = run_trials(trial, arguments, batch=500)
        record_outcomes("flipped bytes", target, outcomes)
        assert outcomes.counts["refused"] > len(arguments) * 0.8


def test_missing_and_truncated_files_and_what_is_no_file(stores, indexes, tmp_path):
    for name in STORE_FILES:
        size = (stores["text"] / name).stat().st_size
        for place, changes in enumerate(("missing", "folder", "pipe", 0, 1, size // 2, size - 1)):
            copy = tmp_path / f"{name}.{place}"
            shutil.copytree(stores["text"], copy)
            change_bytes(copy / name, changes)
            with pytest.raises(rg.GraphError, match=f"{copy.name}/{name}: "):
                rg.LayeredEdgeList.open(copy, device="cpu")
    size = indexes["text"].stat().st_size
    for place, changes in enumerate(("missing", "folder", 0, 1, size // 2, size - 1)):
        copy = tmp_path / f"index.{place}.arrow"
        shutil.copyfile(indexes["text"], copy)
        change_bytes(copy, changes)
        with pytest.raises(rg.GraphError, match=f"{copy.name}: "):
            rg.ScanIndex.open(copy, device="cpu")


def test_the_table_has_no_field_without_a_trial(stores):
    """A new column is one more field that a stranger sets."""
    fields = [field for field, _ in store_trials(stores["weights"])]
    tried = {field[2] for field in fields if field[:2] == ("column", "table")}
    assert tried == {*TABLE} - {"unused"}
