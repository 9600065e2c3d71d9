"""Layered edge lists in folders: what was saved comes back, whole or as an error, never in part."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas
import pyarrow
import pytest
from conftest import on_host, to_pandas

import rapidsgraph as rg
from rapidsgraph import atomic, frames
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import LayeredEdgeList
from rapidsgraph.layered.packing import COLUMN, TABLE, checksum
from rapidsgraph.layered.store import open_store
from rapidsgraph.layered.store_writer import (
    NPY_HEADER_BYTES,
    check_destination,
    create_store,
    save_store,
)

pytestmark = pytest.mark.slow

SMALL = ["vertices.arrow", "layers.arrow", "partitions.arrow"]
FILES = ["manifest.json", *SMALL, "edges.npy"]
ARRAYS = ["order", "out_weights", "layer_starts", "layer_edges"]


def edges(names=range(60), seed=0):
    random = np.random.default_rng(seed)
    names = np.array(names, object)
    ends = random.integers(0, len(names), (2, 4 * len(names)))
    source, destination = (pandas.Series(names[ids].tolist()) for ids in ends)
    weight = random.integers(0, 8, len(source)) / 8
    return pandas.DataFrame({"source": source, "destination": destination, "weight": weight})


def layered_list(frame, root=None, partition_bytes=200, **options):
    graph = rg.Graph(frame, **{"multi_edges": "first"} | options)
    root = to_pandas(frame)["source"][0] if root is None else root
    return storage_of(LayeredEdgeList.build(graph, root, partition_bytes=partition_bytes))


def networks():
    frame = pandas.concat([edges().assign(network="ü"), edges(seed=1).assign(network="a, b")])
    columns = {"source": ["network", "source"], "destination": ["network", "destination"]}
    return layered_list(frame, ("ü", 3), **columns)


def lonely():
    return layered_list(edges().head(0).astype({"source": int, "destination": int}), 0, vertices=1)


def unreached():
    frame = pandas.DataFrame({"source": [5, 5, 6, 0], "destination": [6, 7, 5, 5]})
    return layered_list(frame, 6, vertices=range(9))


LISTS = {
    "ids": lambda: layered_list(edges()),
    "weights": lambda: layered_list(edges(), weight="weight"),
    "weights in 64 bits": lambda: layered_list(
        edges().assign(weight=lambda frame: frame["weight"] / 3), weight="weight"
    ),
    "undirected": lambda: layered_list(edges(), weight="weight", directed=False),
    "gaps": lambda: layered_list(edges(range(-500, 1000, 7))),
    "large": lambda: layered_list(edges([2**31 + i for i in range(40)] + [2**40, -(2**60)])),
    "unsigned": lambda: layered_list(edges([2**63 + i for i in range(50)])),
    "int8": lambda: layered_list(edges(range(100))[["source", "destination"]].astype("int8")),
    "text": lambda: layered_list(edges(["", "ä", "a b", '"', "\n", "𝄞", *map(str, range(30))])),
    "several columns": networks,
    "no edge, one vertex": lonely,
    "unreached": unreached,
    "one partition": lambda: layered_list(edges(), partition_bytes=2**20),
}  # fmt: skip


def partitions(words, table):
    """[(row without position, words)] of all partitions."""
    found = []
    for row in table.tolist():
        start = row[COLUMN["position"]]
        found.append((row[1:], on_host(words[start : start + row[COLUMN["words"]]]).tolist()))
    return found


def name_frame(names, xp=np):
    columns = names.columns(xp).items()
    return {label: frames.to_device(values, np).tolist() for label, values in columns}


def assert_same(opened, layered):
    """A Store has what a LayeredEdgeList has."""
    for name in ARRAYS:
        given, found = on_host(getattr(layered, name)), getattr(opened, name)
        assert found.dtype == given.dtype and found.tolist() == given.tolist(), name
        assert found.flags.writeable and found.flags.c_contiguous, name
    assert opened.table.dtype == np.int64 and opened.table.flags.c_contiguous
    assert partitions(opened.words, opened.table) == partitions(layered.words, layered.table)
    assert name_frame(opened.names) == name_frame(layered.names, layered.xp)
    assert opened.names.labels == layered.names.labels
    assert opened.names.dtype == layered.names.dtype
    assert (opened.root_id, opened.root) == (layered.root_id, layered.root)
    assert opened.weight_dtype == layered.weight_dtype
    facts = {
        "edges": layered.num_edges,
        "vertices": layered.num_vertices,
        "depth": layered.depth,
        "directed": layered.directed,
        "weighted": layered.weighted,
        "minimum_edges": layered.minimum_edges,
        "is_merged": layered.is_merged,
        "own": list(layered.labeling.is_endpoint_specific),
        "source_columns": list(layered.labeling.source_columns),
        "origin": None,
    }
    assert {name: opened.manifest[name] for name in facts} == facts


def verify_partitions(opened):
    """Raise GraphError where a section differs from its checksum, as whoever sweeps does."""
    for row in opened.table:
        start, middle, size = (int(row[COLUMN[c]]) for c in ("position", "forward_words", "words"))
        words = opened.words[start : start + size]
        for part, own in (("forward", words[:middle]), ("backward", words[middle:])):
            if own.size and checksum(own) != row[COLUMN[f"{part}_checksum"]]:
                raise rg.GraphError("edges.npy: a partition is damaged")


@pytest.fixture
def saved(tmp_path):
    """A list with several partitions, and its folder."""
    layered, folder = LISTS["weights"](), tmp_path / "list"
    assert len(layered.table) > 3
    save_store(layered, folder)
    return layered, folder


def only(folder, name="list"):
    """Whether nothing but the store is there."""
    return [path.name for path in folder.iterdir()] == [name]


# What comes back


@pytest.mark.parametrize("kind", LISTS)
def test_what_is_opened_is_what_was_saved(tmp_path, kind):
    layered, folder = LISTS[kind](), tmp_path / "list"
    save_store(layered, folder)
    assert sorted(os.listdir(folder)) == sorted(FILES) and only(tmp_path)
    assert_same(open_store(folder), layered)
    assert_same(open_store(f"{folder}/"), layered)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_from_either_device(tmp_path, make_arrays, weight):
    layered = layered_list(make_arrays(edges(range(3, 90)).to_dict("series")), 5, weight=weight)
    save_store(layered, tmp_path / "list")
    assert_same(open_store(tmp_path / "list"), layered)


@pytest.mark.gpu
def test_text_from_a_gpu_and_to_it(tmp_path):
    import cudf
    import cupy

    frame = edges(["", "ä", *map(str, range(30))])
    layered = layered_list(cudf.DataFrame(frame), frame["source"][0])
    save_store(layered, tmp_path / "list")
    opened = open_store(tmp_path / "list")
    assert opened.root == frame["source"][0]
    assert name_frame(opened.names) == {"vertex": sorted({*frame["source"], *frame["destination"]})}
    moved = opened.vertex_names(cupy).columns(cupy)["vertex"]
    assert isinstance(moved, cudf.Series)
    assert moved.to_arrow().to_pylist() == name_frame(opened.names)["vertex"]


def test_numpy_and_arrow_can_read_the_files(saved):
    layered, folder = saved
    words, header = np.load(folder / "edges.npy"), NPY_HEADER_BYTES // 4
    opened = open_store(folder)
    assert words.dtype == np.uint32 and words.size == opened.words.size - header
    for row, (_, expected) in zip(
        opened.table, partitions(layered.words, layered.table), strict=True
    ):
        start = int(row[COLUMN["position"]]) - header
        assert words[start : start + int(row[COLUMN["words"]])].tolist() == expected
    listed = pyarrow.ipc.open_file(folder / "partitions.arrow").read_all()
    assert listed.column_names == list(TABLE) and listed.num_rows == len(layered.table)
    layers = pyarrow.ipc.open_file(folder / "layers.arrow").read_all().to_pydict()
    assert layers["first_vertex"] == layered.layer_starts[:-1].tolist()
    assert layers["forward_edges"] == layered.layer_edges[0].tolist()
    vertices = pyarrow.ipc.open_file(folder / "vertices.arrow").read_all()
    assert vertices["order"][0].as_py() == layered.order.tolist()


@pytest.mark.parametrize("sizes", [[0], [4, 8, 0, 12, 16, 20, 4], [1, 2, 3, 5, 1000, 7, 1]])
def test_words_begin_where_the_table_says(tmp_path, saved, sizes):
    layered, _ = saved
    given = [np.arange(size, dtype=np.uint32) + 10**9 + size for size in sizes]
    with create_store(tmp_path / "other") as writer:
        for place, words in enumerate(given):
            row = np.full(len(TABLE), -(2**50) - place)
            row[COLUMN["words"]] = words.size
            writer.add(words, row)
        writer.finish(layered)
    opened = open_store(tmp_path / "other")
    assert opened.words.dtype == np.uint32 and opened.words.flags.writeable
    assert opened.words.ctypes.data % 64 == 0 and len(opened.mapped) // 4 == opened.words.size
    written = pyarrow.ipc.open_file(tmp_path / "other" / "partitions.arrow").read_all()
    for start, words in zip(written["position"].to_pylist(), given, strict=True):
        assert start % 16 == 0  # words, which makes 64 bytes
        assert opened.words[start : start + words.size].tolist() == words.tolist()
    assert written["first"].to_pylist() == [-(2**50) - i for i in range(len(given))]


def test_words_stay_when_the_store_is_gone(saved):
    layered, folder = saved
    words, table = open_store(folder).words, open_store(folder).table
    assert partitions(words, table) == partitions(layered.words, layered.table)


def test_saving_what_was_opened_gives_the_same_files(tmp_path, saved):
    layered, folder = saved
    opened = open_store(folder)
    layered.words, layered.table = opened.words, opened.table
    save_store(layered, tmp_path / "again")
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_only_the_manifest_is_read_at_first(saved):
    layered, folder = saved
    for name in SMALL:
        size = (folder / name).stat().st_size
        (folder / name).write_bytes(bytes(size))
    opened = open_store(folder)
    assert opened.root == layered.root and opened.manifest["depth"] == layered.depth
    for name, file in (
        ("order", SMALL[0]),
        ("out_weights", SMALL[0]),
        ("names", SMALL[0]),
        ("layer_starts", SMALL[1]),
        ("layer_edges", SMALL[1]),
        ("table", SMALL[2]),
    ):
        with pytest.raises(rg.GraphError, match=f"list/{file}: the file is damaged"):
            getattr(opened, name)


# What is damaged


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_length(saved, name):
    _, folder = saved
    data = (folder / name).read_bytes()
    for other in (data[:-1], b"", data + b"\0", data[: len(data) // 2]):
        (folder / name).write_bytes(other)
        with pytest.raises(rg.GraphError, match=f"list/{name}: "):
            open_store(folder)
    (folder / name).unlink()
    with pytest.raises(rg.GraphError, match=f"list/{name}: there is no such file"):
        open_store(folder)
    (folder / name).mkdir()
    with pytest.raises(rg.GraphError, match=f"list/{name}: "):
        open_store(folder)


def test_one_changed_byte_of_the_manifest(saved):
    _, folder = saved
    path, random = folder / "manifest.json", np.random.default_rng(0)
    data = path.read_bytes()
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= random.integers(1, 256)
        path.write_bytes(changed)
        with pytest.raises(rg.GraphError, match=r"list/manifest\.json: "):
            open_store(folder)
    path.write_bytes(data)
    open_store(folder).verify_checksums()


@pytest.mark.parametrize("name", SMALL)
def test_one_changed_byte_of_a_file(saved, name):
    _, folder = saved
    path, random = folder / name, np.random.default_rng(0)
    data = path.read_bytes()
    for place in range(len(data)):
        with open(path, "r+b") as file:
            file.seek(place)
            file.write(bytes([data[place] ^ random.integers(1, 256)]))
        with pytest.raises(rg.GraphError, match=f"list/{name}: the file is damaged"):
            open_store(folder).verify_checksums()
        with open(path, "r+b") as file:
            file.seek(place)
            file.write(data[place : place + 1])
    open_store(folder).verify_checksums()


def test_one_changed_byte_of_a_partition(saved):
    layered, folder = saved
    path, random = folder / "edges.npy", np.random.default_rng(0)
    data, table = path.read_bytes(), open_store(folder).table
    verify_partitions(open_store(folder))
    begin, size = 4 * table[:, COLUMN["position"]], 4 * table[:, COLUMN["words"]]
    inside = np.concatenate([np.arange(b, b + s) for b, s in zip(begin, size)])
    for place in random.choice(inside, 500, replace=False):
        changed = bytearray(data)
        changed[place] ^= random.integers(1, 256)
        path.write_bytes(changed)
        with pytest.raises(rg.GraphError, match="partition is damaged"):
            verify_partitions(open_store(folder))
    outside = np.setdiff1d(np.arange(len(data)), inside)
    for place in random.choice(outside, 100, replace=False):  # nobody reads these
        changed = bytearray(data)
        changed[place] ^= random.integers(1, 256)
        path.write_bytes(changed)
        assert_same(open_store(folder), layered)


def test_a_file_that_is_truncated_after_opening(saved):
    _, folder = saved
    opened = open_store(folder)
    os.truncate(folder / "vertices.arrow", 10)
    with pytest.raises(rg.GraphError, match=r"vertices\.arrow: truncated or altered, it has 10"):
        opened.order  # noqa: B018


def test_files_of_two_stores(tmp_path, saved):
    _, folder = saved
    save_store(layered_list(edges(seed=7), weight="weight"), tmp_path / "other")
    for name in SMALL:
        data = (tmp_path / "other" / name).read_bytes()
        kept = (folder / name).read_bytes()
        (folder / name).write_bytes(data)
        with pytest.raises(rg.GraphError, match=f"list/{name}: "):
            open_store(folder).verify_checksums()
        (folder / name).write_bytes(kept)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"version": 2', b'"version": 3', "has version 3; only version 2 is supported"),
        (b'"version": 2', b'"version": null', "has version None; only version 2 is supported"),
        (b'"depth": ', b'"depth": 1', "the manifest is damaged"),
        (b'"checksum": "', b'"checksum": "+', "the manifest is damaged"),
        (b"rapidsgraph.Lay", b"rapidsgraph.lay", "not the manifest"),
        (b"{", b"[", "not the manifest"),
    ],
)
def test_another_manifest(saved, old, new, message):
    _, folder = saved
    path = folder / "manifest.json"
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(rg.GraphError, match=f"list/manifest.json: .*{message}"):
        open_store(folder)


@pytest.mark.parametrize(
    "text", ["[" * 10**5, "null", "3", '"rapidsgraph.LayeredEdgeList"', "\xff"]
)
def test_other_files_are_no_manifest(tmp_path, text):
    (tmp_path / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(rg.GraphError, match=r"manifest\.json: it is not the manifest"):
        open_store(tmp_path)


def test_what_is_no_store(tmp_path):
    (tmp_path / "file").write_text("source,destination\n")
    for name, message in (
        ("absent", "absent: there is no such folder"),
        ("file", "file: it is a file; a layered edge list is a folder"),
        (".", r"manifest\.json: there is no such file, so the folder is not a layered edge list"),
    ):
        with pytest.raises(rg.GraphError, match=message):
            open_store(tmp_path / name)


# Where a store can go


def test_where_a_store_cannot_go(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "edges.npy").write_text("mine")
    (tmp_path / "more").mkdir()
    save_store(lonely(), tmp_path / "more")
    (tmp_path / "more" / "notes.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    for name, message in (
        ("file", "file: it is a file"),
        ("data", "data: the folder is not a layered edge list, it contains other files"),
        ("more", r"more: .* it contains notes\.txt, which is not part of one"),
        ("absent/list", "list: the folder .*absent does not exist; create it first"),
        ("file/list", "list: the folder .*file does not exist; create it first"),
    ):
        for use in (check_destination, lambda folder: save_store(lonely(), folder)):
            with pytest.raises(rg.GraphError, match=message):
                use(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before


def test_no_permission(tmp_path, monkeypatch):
    if os.geteuid():
        tmp_path.chmod(0o500)
    else:  # root may do all
        monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path)
    with pytest.raises(rg.GraphError, match=r"list: there is no permission to write into the"):
        save_store(lonely(), tmp_path / "list")
    tmp_path.chmod(0o700)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("can_exchange", [True, False])
def test_an_old_store_an_empty_folder_or_a_link_is_replaced(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    folder = tmp_path / "list"
    folder.mkdir()
    for kind in ("ids", "text", "weights"):
        save_store(LISTS[kind](), folder)
        assert_same(open_store(folder), LISTS[kind]())
        assert only(tmp_path)
    (tmp_path / "link").symlink_to(folder)
    save_store(LISTS["gaps"](), tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and not folder.is_symlink()
    assert_same(open_store(folder), LISTS["gaps"]())


def test_where_the_second_of_two_renames_fails(tmp_path, monkeypatch, saved):
    layered, folder = saved
    calls, rename = [], os.rename

    def failing(one, other):
        calls.append(one)
        if len(calls) == 3:
            raise OSError(5, "Input/output error")
        rename(one, other)

    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(rg.GraphError, match=r"list: it could not be written .*Input/output error"):
        save_store(LISTS["ids"](), folder)
    assert len(calls) == 4 and only(tmp_path)
    assert_same(open_store(folder), layered)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_store_is_replaced(tmp_path, saved, name):
    _, folder = saved
    for data in (b"", b"{}", None):
        (folder / name).write_bytes(data) if data is not None else (folder / name).unlink()
        save_store(LISTS["ids"](), folder)
        assert_same(open_store(folder), LISTS["ids"]())


# What interrupts


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError, rg.GraphError])
@pytest.mark.parametrize("done", [0, 2])
def test_what_goes_wrong_in_the_block_leaves_nothing(tmp_path, saved, before, error, done):
    layered, folder = saved
    place = folder if before else tmp_path / "new"
    with pytest.raises(error, match="stop"), create_store(place) as writer:
        for row in layered.table[:done]:
            start = row[COLUMN["position"]]
            writer.add(layered.words[start : start + row[COLUMN["words"]]], row)
        raise error("stop")
    assert only(tmp_path)
    assert_same(open_store(folder), layered)


def test_a_block_that_forgets_to_finish(tmp_path):
    with (
        pytest.raises(RuntimeError, match="without StoreWriter.finish"),
        create_store(tmp_path / "list"),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_facts_that_are_not_complete(tmp_path, saved):
    layered, folder = saved
    with pytest.raises(AttributeError), create_store(folder) as writer:
        writer.finish(object())
    assert only(tmp_path)
    assert_same(open_store(folder), layered)


@pytest.mark.parametrize("limit", [0, 300, 10_000, 100_000])
def test_a_full_disk(tmp_path, saved, limit):
    layered, folder = saved
    large = layered_list(edges(range(9000)), partition_bytes=50_000)
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
    try:
        with pytest.raises(rg.GraphError, match="list: the limit of file sizes .* are needed"):
            save_store(large, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert only(tmp_path)
    assert_same(open_store(folder), layered)


WAITING = """
    import sys, time
    import numpy as np
    from rapidsgraph.layered.store_writer import create_store
    from rapidsgraph.layered.packing import TABLE

    with create_store(sys.argv[1]) as writer:
        writer.add(np.arange(1000, dtype=np.uint32), np.zeros(len(TABLE), np.int64))
        print("written", flush=True)
        time.sleep(600)
"""


@contextlib.contextmanager
def waiting_in_a_save(folder):
    """A process that has written a partition and will not go on."""
    command = [sys.executable, "-c", textwrap.dedent(WAITING), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "written\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_killed_in_the_middle_of_a_save(tmp_path, saved):
    layered, folder = saved
    other = tmp_path / "list.2"
    save_store(layered, other)
    with waiting_in_a_save(folder) as living, waiting_in_a_save(other):
        with waiting_in_a_save(folder) as process:
            process.kill()
            process.wait()
            assert_same(open_store(folder), layered)
            assert len(list(tmp_path.glob(".list.*.tmp"))) == 3
        save_store(LISTS["ids"](), folder)
        assert_same(open_store(folder), LISTS["ids"]())
        assert len(list(tmp_path.glob(".list.*.tmp"))) == 2  # of living processes
        living.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in living.communicate(timeout=60)[1]
        assert len(list(tmp_path.glob(".list.*.tmp"))) == 1
    save_store(layered, folder)  # that of another store of a similar name stays
    assert len(list(tmp_path.glob(".list.2.*.tmp"))) == 1
    save_store(layered, other)
    assert sorted(os.listdir(tmp_path)) == ["list", "list.2"]


# What happens meanwhile


@pytest.mark.parametrize("can_exchange", [True, False])
def test_an_opened_store_stays_as_it_was(saved, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    layered, folder = saved
    opened = open_store(folder)
    save_store(LISTS["text"](), folder)
    assert_same(opened, layered)
    assert_same(open_store(folder), LISTS["text"]())


REPLACING = """
    import shutil, sys
    from pathlib import Path
    from rapidsgraph.atomic import replacing_folder

    folder, *sources = map(Path, sys.argv[1:])
    print("running", flush=True)
    while True:
        for source in sources:
            with replacing_folder(folder, lambda final: None) as temporary:
                shutil.copytree(source, temporary, dirs_exist_ok=True)
"""


def test_opening_while_another_process_replaces(tmp_path, saved):
    layered, first = saved
    second, folder, other = tmp_path / "second", tmp_path / "replaced", LISTS["text"]()
    save_store(other, second)
    save_store(layered, folder)
    command = [sys.executable, "-c", textwrap.dedent(REPLACING), *map(str, (folder, first, second))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "running\n"
            seen = set()
            for _ in range(300):
                opened = open_store(folder)
                expected = {layered.root: layered, other.root: other}[opened.root]
                assert_same(opened, expected)
                seen.add(opened.root)
            assert process.poll() is None
        finally:
            process.kill()
    assert seen == {layered.root, other.root}


@pytest.mark.parametrize(("module", "name"), [(os, "mkdir"), (atomic, "_lock")])
def test_ctrl_c_while_a_folder_is_made(tmp_path, monkeypatch, module, name):
    """The moment after it is there, and the one before it is locked, leave nothing either."""
    original, made = getattr(module, name), []

    def interrupted(path, *arguments):
        original(path, *arguments)
        made.extend(tmp_path.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, interrupted)
    with pytest.raises(KeyboardInterrupt), atomic.temporary_folder(tmp_path / "layers"):
        raise AssertionError("the folder was made")
    monkeypatch.undo()
    assert len(made) == 1 and list(tmp_path.iterdir()) == []
