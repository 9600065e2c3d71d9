"""Damaged files of edges: flipped bytes, overwritten bytes and truncations in every format.

A reader refuses such a file by a GraphError, or gives what the damaged bytes say: for text what
Python's own csv module and str.split read, for the others the same number of rows. Truncated
files and damaged gzip data are never read as if they were whole.
"""

import contextlib
import csv
import functools
import io
import itertools
import re
import struct
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from trials import run_trials

import rapidsgraph as rg
from rapidsgraph import device

pytestmark = pytest.mark.slow

ROWS = 200
DELIMITERS = {".csv": ",", ".tsv": "\t"}
FORMATS = [
    ".csv", ".tsv", ".txt", ".mtx", ".csv.gz", ".txt.gz", ".mtx.gz", ".parquet", "strings.parquet",
    ".feather", "strings.feather", "raw.arrow", "strings.raw.arrow", "stream.ipc",
    "strings.stream.ipc", "dictionary.arrow", "dictionary.stream.ipc",
]  # fmt: skip


def _frame(kind):
    random = np.random.default_rng(5)
    source, destination = random.integers(1, 40, (2, ROWS))
    source[0] = 1
    if kind.startswith((".csv", ".tsv")):  # names with all that needs quotes
        marks = ["", ",", '"', "\n", "\t", "\r\n"]
        names = np.array([f"v{i}{marks[i % 6]}x" for i in range(40)])
        names[1] = "1"
        source, destination = names[source], names[destination]
    elif kind.startswith(("strings", "dictionary")):
        names = np.array([f"v{i}é" for i in range(40)])
        names[1] = "1"
        source, destination = names[source], names[destination]
    return pa.table({"source": source, "weight": np.ones(ROWS), "destination": destination})


@functools.cache
def _intact(kind):
    """The bytes of a file without damage."""
    from rapidsgraph.io import write_frame

    table = _frame(kind)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "edges" + kind)
        if kind.startswith("dictionary"):
            for place in (0, 2):
                table = table.set_column(
                    place, table.column_names[place], table.column(place).dictionary_encode()
                )
        codec = None if "raw" in kind else "zstd" if "dictionary" in kind else "lz4"
        options = pa.ipc.IpcWriteOptions(compression=codec)
        if "stream" in kind or kind.endswith(".arrow"):
            new = pa.ipc.new_stream if "stream" in kind else pa.ipc.new_file
            with pa.OSFile(str(path), "wb") as file, new(file, table.schema, options=options) as to:
                to.write_table(table, max_chunksize=80)
        elif kind.endswith(".parquet"):
            pq.write_table(table, path, row_group_size=80)
        else:
            write_frame(table, path)
        content = path.read_bytes()
    return content


def _damaged(kind, seed):
    """(content, whether it was truncated)."""
    random = np.random.default_rng([FORMATS.index(kind), seed])
    content = bytearray(_intact(kind))
    at, way = int(random.integers(len(content))), int(random.integers(8))
    if way == 0:
        return bytes(content[:at]), True
    if way == 1:
        piece = [b"\xff" * 8, b"\0" * 8, b"\0\0\0\x7f", random.bytes(4)][random.integers(4)]
        content[at : at + len(piece)] = piece
    else:
        content[at] ^= int(random.integers(1, 256))
    return bytes(content), False


def _read(path):
    return rg.read_edges(path, device="cpu")


def trial_of_reading(argument):
    kind, seed = argument
    content, is_truncated = _damaged(kind, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "edges" + kind)
        path.write_bytes(content)
        frame = _read(path)
    found = [frame[name].tolist() for name in ("source", "destination")]
    intact = [_frame(kind)[name].to_pylist() for name in ("source", "destination")]
    if kind.endswith(".gz"):
        return "right" if found == intact else "other edges from gzip data"
    if kind[1:4] in ("csv", "tsv", "txt", "mtx"):
        return _compared(found, _expected(kind, content))
    if is_truncated:
        return "right" if found == intact else "a truncated file was read"
    is_whole = len(found[0]) == len(found[1]) == ROWS
    return "right" if is_whole else f"{len(found[0])} rows, not {ROWS}"


def trial_of_building(argument):
    """The store of a damaged file is that of the frame of the same file."""
    kind, seed = argument
    content, _ = _damaged(kind, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "edges" + kind)
        path.write_bytes(content)
        frame = graph = refusal = None
        with contextlib.suppress(rg.GraphError):
            frame = _read(path)
            graph = rg.Graph(frame)
        root = 1 if frame is None or frame["source"].dtype.kind == "i" else "1"
        try:
            built = rg.LayeredEdgeList.build(
                path, root, store=Path(folder, "store"), memory_limit="64MB", device="cpu"
            )
        except rg.GraphError as error:
            refusal = error
        if refusal is not None:
            is_right = graph is None or "is not in the graph" in str(refusal)
            if is_right:
                raise refusal
            return f"read_edges reads what build refuses: {refusal}"
    if graph is None:
        return "build reads what read_edges refuses"
    same = (built.num_vertices, built.num_edges) == (graph.num_vertices, graph.num_edges)
    return "right" if same else f"{built!r} is not of {graph!r}"


def _expected(kind, content):
    """Both columns as texts, by an independent reading; None where it must be refused."""
    text = content.decode(errors="surrogateescape").removeprefix("\ufeff")
    if kind in DELIMITERS:
        rows = _csv_rows(text, DELIMITERS[kind])
        if rows is None:
            return None
        names, rows = [name.strip() for name in rows[0]], rows[1:]
    else:
        lines = re.split("\r\n|\r|\n", text)
        names, comment = ["source", "destination"], lines[0].lstrip("#% ").split()
        lines = [line.encode(errors="surrogateescape").split() for line in lines]
        rows = [[field.decode(errors="surrogateescape") for field in line] for line in lines]
        rows = [line for line in rows if line and line[0][0] not in "#%"]
        if kind == ".mtx":
            rows = rows[1:]
        elif {"source", "destination"} <= {*comment}:
            names = comment
    try:
        places = [names.index(name) for name in ("source", "destination")]
        return [[row[place] for row in rows] for place in places]
    except (ValueError, IndexError):
        return None


def _csv_rows(text, delimiter):
    """All rows that are not empty; None where a quote is never closed."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        if "unexpected end" in str(error):
            return None
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return [row for row in rows if row]


def _compared(found, expected):
    if expected is None:
        return "what must be refused was read"
    if [len(values) for values in found] != [len(values) for values in expected]:
        return f"{len(found[0])} rows, not {len(expected[0])}"
    pairs = itertools.chain(*(zip(*pair, strict=True) for pair in zip(found, expected)))
    other = next((pair for pair in pairs if not _is_same(*pair)), None)
    return "right" if other is None else f"{other[0]!r}, not {other[1]!r}"


def _is_same(value, text):
    return (
        value == text if isinstance(value, str) else value == int(text, 16 if "x" in text else 10)
    )


@pytest.mark.parametrize("count", [25, pytest.param(400, marks=pytest.mark.long)])
def test_reading_of_damaged_files(count, record_outcomes):
    arguments = [(kind, seed) for seed in range(count) for kind in FORMATS]
    outcomes = run_trials(trial_of_reading, arguments, timeout=30, batch=300)
    record_outcomes("damaged bytes and truncations of a file", "read_edges", outcomes)


@pytest.mark.parametrize("count", [4, pytest.param(150, marks=pytest.mark.long)])
def test_building_from_damaged_files(count, record_outcomes):
    arguments = [(kind, seed) for seed in range(count) for kind in FORMATS]
    # A type that differs between footer and column chunk, statistics that are not UTF-8, and
    # dictionary batches without data.
    arguments += [(".parquet", 99), ("strings.parquet", 35), ("strings.parquet", 129)]
    arguments += [("dictionary.arrow", 224), ("dictionary.stream.ipc", 372)]
    outcomes = run_trials(trial_of_building, arguments, timeout=30, batch=150)
    record_outcomes("damaged bytes and truncations of a file", "build from a file", outcomes)


def _write(path, columns, compression=None, new=pa.ipc.new_file):
    table, options = pa.table(columns), pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as file, new(file, table.schema, options=options) as writer:
        writer.write_table(table)


def _overwrite(path, old, new):
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))


def _readings(path, folder):
    """Each way to read a file of edges."""
    yield lambda: _read(path)
    yield lambda: rg.LayeredEdgeList.build(path, 1, store=folder / "store", memory_limit="64MB")


@pytest.mark.parametrize("offset", [-1, 6, 2**31 - 1])
def test_an_offset_outside_the_names_is_refused(tmp_path, offset):
    path = tmp_path / "edges.feather"
    _write(path, {"source": ["a", "bbb", "c"], "destination": ["d", "e", "f"]})
    _overwrite(path, struct.pack("<4i", 0, 1, 4, 5), struct.pack("<4i", 0, 1, offset, 5))
    for use in _readings(path, tmp_path):
        with pytest.raises(rg.GraphError, match="edges.feather: truncated, damaged or of another"):
            use()


@pytest.mark.parametrize("index", [-1, 3, 127])
def test_an_index_outside_a_dictionary_is_refused(tmp_path, index):
    path = tmp_path / "edges.arrow"
    values = pa.array(["a", "bbb", "c"])
    indices = pa.array([2, 1, 0, 2, 1, 2, 1], "int8")
    source = pa.DictionaryArray.from_arrays(indices, values)
    _write(path, {"source": source, "destination": ["d"] * 7})
    _overwrite(path, bytes([2, 1, 0, 2, 1, 2, 1]), bytes([2, 1, index % 256, 2, 1, 2, 1]))
    for use in _readings(path, tmp_path):
        with pytest.raises(rg.GraphError, match="edges.arrow: truncated, damaged or of another"):
            use()


@pytest.mark.parametrize("claimed", [-2, 2**40, 2**62])
@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_length_that_no_buffer_has_is_refused(tmp_path, codec, claimed):
    path = tmp_path / "edges.feather"
    _write(path, {"source": np.zeros(7000, int), "destination": np.ones(7000, int)}, codec)
    content = path.read_bytes()
    path.write_bytes(content.replace(struct.pack("<q", 56_000), struct.pack("<q", claimed)))
    for use in _readings(path, tmp_path):
        with pytest.raises(rg.GraphError, match="cannot be decompressed to"):
            use()


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_a_compressed_batch_beyond_the_limit_is_not_decompressed(tmp_path, new, monkeypatch):
    path, zeros = tmp_path / "edges.arrow", pa.array(np.zeros(3_000_000, np.int64))
    _write(path, {"source": zeros, "destination": zeros, "other": zeros}, "zstd", new=new)
    del zeros
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(
            rg.InsufficientMemoryError, match="reading a compressed batch of 3,000,000 ro"
        ):
            rg.LayeredEdgeList.build(
                path, 0, weight=None, store=tmp_path / "store", memory_limit="60MB"
            )
        monkeypatch.setattr(device, "free_memory", lambda xp: 40_000_000)
        with pytest.raises(
            rg.InsufficientMemoryError, match="needs about 48.00 MB but only 40.00 MB are free"
        ):
            _read(path)
        assert pool.max_memory() < 1_000_000
    finally:
        pa.set_memory_pool(before)
