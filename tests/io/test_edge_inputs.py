"""Folders, globs, URLs, open files and compressions: what is read, and which file is blamed."""

import builtins
import bz2
import concurrent.futures
import errno
import gzip
import io
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import pandas as pd
import pyarrow as pa
import pytest

import rapidsgraph as rg
from rapidsgraph.errors import GraphError
from rapidsgraph.io import (
    column_names,
    inputs,
    read_edge_metadata,
    read_edges,
    read_vertex_values,
    read_vertices,
    write_frame,
    writers,
)
from rapidsgraph.io.formats import FORMATS as ENDINGS
from rapidsgraph.io.remote import display_url
from rapidsgraph.io.text_stream import JoinedFiles

fsspec = pytest.importorskip("fsspec")

EDGES = {"source": ["a", "b"], "destination": ["b", "c"], "weight": [1.5, 2.0]}
TEXT = [".csv", ".tsv", ".txt", ".jsonl"]
FORMATS = [*TEXT, ".parquet", ".feather"]


def read(path, **given):
    return read_edges(path, device="cpu", **given)


def columns(frame):
    return {name: frame[name].tolist() for name in frame.columns}


@pytest.fixture
def memory():
    """The file system behind ``memory://``, empty."""
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    filesystem.pseudo_dirs[:] = [""]
    yield filesystem
    filesystem.store.clear()


@pytest.fixture(autouse=True)
def spool(tmp_path_factory, monkeypatch):
    """A temporary folder in which nothing may be left."""
    folder = tmp_path_factory.mktemp("spool")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert os.listdir(folder) == []


# Compressions


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".zst", ".xz", ".ZST"])
@pytest.mark.parametrize("ending", TEXT)
def test_compressed_text_comes_back(tmp_path, ending, compression):
    path = tmp_path / f"edges{ending}{compression}"
    write_frame(pd.DataFrame(EDGES), path)
    first = path.read_bytes()
    assert columns(read(path)) == EDGES
    write_frame(pd.DataFrame(EDGES), path)
    assert path.read_bytes() == first


def test_compressed_by_others(tmp_path):
    text = b"source,destination\n1,2\n"
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        file.write(text)
    contents = {
        ".bz2": bz2.compress(text), ".xz": lzma.compress(text),
        ".zst": sink.getvalue().to_pybytes(), ".gz": gzip.compress(text),
    }  # fmt: skip
    for ending, content in contents.items():
        (tmp_path / f"a.csv{ending}").write_bytes(content)
        assert columns(read(tmp_path / f"a.csv{ending}")) == {"source": [1], "destination": [2]}


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".zst", ".xz"])
@pytest.mark.parametrize("ending", TEXT)
def test_compression_is_detected_without_its_suffix(tmp_path, ending, compression):
    path = tmp_path / f"edges{ending}{compression}"
    write_frame(pd.DataFrame(EDGES), path)
    path = path.rename(tmp_path / f"edges{ending}")
    assert columns(read(path)) == EDGES
    path = path.rename(tmp_path / "edges.part")
    assert columns(read(path, format=ENDINGS[ending])) == EDGES


@pytest.mark.parametrize("gene", ["PAR1", "ARROW1", "BZh9"])
def test_text_may_begin_with_the_letters_of_a_binary_format(tmp_path, gene):
    (tmp_path / "genes.txt").write_text(f"{gene} F2R 0.5\n")
    assert columns(read(tmp_path / "genes.txt"))["source"] == [gene]


@pytest.mark.parametrize("compression", ["gz", "bz2", "zst", "xz"])
@pytest.mark.parametrize("ending", [".csv", ".txt", ".jsonl", ".mtx"])
def test_truncated_and_damaged_compressed_files_are_named(tmp_path, ending, compression):
    path = tmp_path / f"a{ending}.{compression}"
    frame = pd.DataFrame({"source": range(1, 50_000)})
    write_frame(frame.assign(destination=frame["source"] * 7919 % 50_021), path)
    content = path.read_bytes()
    for damaged in (content[:-6], content[: len(content) // 2], content[:3], b"x" + content):
        path.write_bytes(damaged)
        with pytest.raises(GraphError, match="truncated") as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert caught.value.path == path


def test_formats_with_their_own_compression_are_not_compressed_again(tmp_path):
    (tmp_path / "a.parquet.zst").write_bytes(b"x")
    with pytest.raises(GraphError, match="parquet has its own compression and cannot be in zstd"):
        read(tmp_path / "a.parquet.zst")


# Folders and globs


@pytest.mark.parametrize("ending", FORMATS)
def test_a_folder_is_read_in_sorted_order(tmp_path, ending):
    (tmp_path / "f" / "day=1").mkdir(parents=True)
    for name, first in (("b", 2), ("a", 1), ("day=1/c", 3)):
        frame = pd.DataFrame({"source": [first], "destination": [first + 1], "weight": [0.5]})
        write_frame(frame, tmp_path / "f" / f"{name}{ending}")
    for name in ("_SUCCESS", ".hidden.csv", "_log.json", "README.md"):
        (tmp_path / "f" / name).write_text("no table")
    expected = {"source": [1, 2, 3], "destination": [2, 3, 4], "weight": [0.5] * 3}
    assert columns(read(tmp_path / "f")) == expected
    assert columns(read(f"{tmp_path}/f/**/*{ending}")) == expected
    assert columns(read(f"{tmp_path}/f/[ab]*")) == {k: v[:2] for k, v in expected.items()}
    assert read_edge_metadata(tmp_path / "f")[0] == (3 if ending != ".txt" else 6)
    names = list(expected)
    assert column_names(tmp_path / "f") == names
    assert columns(read_vertices(tmp_path / "f", names=["source"], device="cpu")) == {
        "source": [1, 2, 3]
    }
    assert rg.estimate_memory(tmp_path / "f", "bfs").needed > 0


def test_compressions_and_headers_of_a_folder_may_differ(tmp_path):
    write_frame(pd.DataFrame(EDGES), tmp_path / "a.csv")
    write_frame(pd.DataFrame(EDGES), tmp_path / "b.csv.zst")
    (tmp_path / "c.csv").write_bytes(b"\xef\xbb\xbf\r\nsource,destination,weight\r\n1,2,3")
    (tmp_path / "d.csv").write_text("7,8,9\n")
    (tmp_path / "e.csv").write_text("source,destination,weight\n")
    frame = read(tmp_path)
    assert frame["source"].tolist() == ["a", "b", "a", "b", "1", "7"]
    assert frame["weight"].tolist() == [1.5, 2.0, 1.5, 2.0, 3.0, 9.0]


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_files_are_joined_in_blocks_of_any_size(tmp_path, monkeypatch, block):
    monkeypatch.setattr("rapidsgraph.io.text_stream.BLOCK_BYTES", block)
    (tmp_path / "a.csv").write_bytes(b"source,destination\r\n1,2")
    (tmp_path / "b.csv").write_bytes(b"\r\nsource,destination\r3,4\r5,6\r")
    (tmp_path / "c.csv").write_bytes(b"source,destination\n7,8\n")
    assert columns(read(tmp_path)) == {"source": [1, 3, 5, 7], "destination": [2, 4, 6, 8]}


def test_one_text_name_makes_all_files_text(tmp_path):
    (tmp_path / "a.csv").write_text("source,destination\n1,2\n")
    (tmp_path / "b.csv").write_text("source,destination\n3,x\n")
    assert columns(read(tmp_path)) == {"source": ["1", "3"], "destination": ["2", "x"]}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"source,destination,weight\n1,2,3\n4,5,far\n", "line 3: 'far' in column 'weight'"),
        (b"source,destination,weight\r\r\r1,2,3\r4,5\r", "line 5: the number of fields is 2"),
        (b"source,destination,weight\n1,,3\n", "line 2: there is no value in column 'destination'"),
        (b"source,destination,weight\n1,\xff,3\n", "line 2: the text is not UTF-8"),
        (b'source,destination,weight\n"1,2,3\n', "line 2: the quoted field that starts here"),
        (b"source,target,weight\n1,2,3\n", " its columns are source, target, weight, and those of"),
        (b"source,weight,destination\n1,2,3\n", " its columns are source, weight, destination"),
        (b"", " the file is empty"),
    ],
)
def test_the_file_of_an_error_is_named(tmp_path, content, problem):
    for name in ("a", "c"):
        (tmp_path / f"{name}.csv").write_text("source,destination,weight\nx,y,1\n\nz,y,1")
    (tmp_path / "b.csv").write_bytes(content)
    with pytest.raises(GraphError) as caught:
        read(tmp_path)
    assert f"{tmp_path / 'b.csv'}{',' if 'line' in problem else ':'} {problem.strip()}" in str(
        caught.value
    )
    assert caught.value.path == tmp_path / "b.csv"


LINES_OF_ROW_1 = {".csv": 3, ".tsv": 3, ".txt": 3, ".el": 3, ".edges": 3, ".mtx": 4}
LINES_OF_ROW_1 |= {".jsonl": 2, ".ndjson": 2}


def test_the_line_of_an_invalid_weight_counts_comments_and_breaks(tmp_path):
    texts = {
        "a.csv": ('source,destination,weight\n1,2,1\n\n"2\n",3,-3.5\n', 5),
        "b.txt": ("1 2 1\n# 2 3 2\n2 3 -3.5\n", 3),
        "c.jsonl": ('\n{"source": 2, "destination": 3, "weight": NaN}\n', 2),
        "d.mtx": ("%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 2\n"
                  "2 1 1\n\n3 2 -3.5\n", 6),
    }  # fmt: skip
    for name, (text, line) in texts.items():
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(GraphError) as caught:
            rg.LayeredEdgeList.build(path, 1, store=tmp_path / "s", device="cpu")
        assert str(caught.value).startswith(f"{path}, line {line}: weight in column 'weight' is ")


@pytest.mark.parametrize("ending", [*FORMATS, ".csv.gz"])
def test_invalid_weights_of_a_streamed_build_are_located(tmp_path, ending):
    (tmp_path / "f").mkdir()
    for name, last in (("a", 1.0), ("b", 2.0), ("c", -3.5)):
        frame = pd.DataFrame({"source": [1, 2], "destination": [2, 3], "weight": [1.0, last]})
        write_frame(frame, tmp_path / "f" / f"{name}{ending}")
    path, line = tmp_path / "f" / f"c{ending}", LINES_OF_ROW_1.get(ending.removesuffix(".gz"))
    place = ": weight in row 1 of" if line is None else f", line {line}: weight in"
    message = f"{path}{place} column 'weight' is -3.5; weights must"
    for memory in ("auto", 1):  # batches of many rows and of few
        with pytest.MonkeyPatch.context() as patch:
            if memory == 1:
                patch.setattr("rapidsgraph.layered.outofcore.edge_reader._max_rows", lambda *_: 1)
            with pytest.raises(GraphError) as caught:
                rg.LayeredEdgeList.build(tmp_path / "f", 1, store=tmp_path / "s", device="cpu")
        assert str(caught.value).startswith(message)
        assert (caught.value.path, caught.value.row) == (path, 1)
        assert caught.value.column == "weight"


def test_fractions_as_names_in_a_streamed_build_are_located(tmp_path):
    for name, last in (("a", 2.0), ("b", 2.5)):
        frame = pd.DataFrame({"source": [1.0, last], "destination": [2.0, 3.0]})
        write_frame(frame, tmp_path / f"{name}.parquet")
    with pytest.raises(GraphError, match=r"b\.parquet: .*2\.5") as caught:
        rg.LayeredEdgeList.build(f"{tmp_path}/*.parquet", 1, store=tmp_path / "s", device="cpu")
    assert caught.value.row == 1


def test_errors_of_the_streamed_build_name_the_file(tmp_path):
    (tmp_path / "f").mkdir()
    for name, content in (("a", "1,2\n"), ("b", "3,4\n5,\n")):
        (tmp_path / "f" / f"{name}.csv").write_text(content)
    with pytest.raises(GraphError, match=r"f/b\.csv, line 2: there is no value"):
        rg.LayeredEdgeList.build(tmp_path / "f", 1, store=tmp_path / "s", device="cpu")
    for name, last in (("a", 2), ("b", None)):
        frame = pd.DataFrame({"source": [1, 2], "destination": pd.array([2, last], "Int64")})
        write_frame(frame, tmp_path / f"{name}.parquet")
    with pytest.raises(GraphError, match=r"b\.parquet: column 'destination' has no value in row 1"):
        rg.LayeredEdgeList.build(f"{tmp_path}/*.parquet", 1, store=tmp_path / "s", device="cpu")


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_the_file_of_an_error_is_named_in_columnar_formats(tmp_path, ending):
    first, second = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    frame = pd.DataFrame(EDGES)
    write_frame(frame, first)
    for other, problem in (
        (frame.assign(weight=[1.0, None]), ": column 'weight' has no value in row 1"),
        (frame[["source", "destination"]], ": its columns are source, destination, and those of"),
        (frame.assign(source=[1, 2]), ": a column has another type than in"),
    ):
        write_frame(other, second)
        with pytest.raises(GraphError) as caught:
            read(tmp_path)
        assert str(caught.value).startswith(f"{second}{problem}")
    content = first.read_bytes()
    second.write_bytes(content[: len(content) - 30])
    with pytest.raises(GraphError, match=f"b{ending}: truncated"):
        read(tmp_path)
    write_frame(frame.assign(weight=[1, 2]), second)  # numbers have a common type
    assert read(tmp_path)["weight"].tolist() == [1.5, 2.0, 1.0, 2.0]


def test_damaged_pages_of_a_folder_are_located(tmp_path):
    write_frame(pd.DataFrame(EDGES), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(content[:10] + bytes(40) + content[50:])
    with pytest.raises(GraphError, match=r"b\.parquet: truncated, damaged"):
        read(tmp_path)


def test_the_reason_of_a_damaged_schema_is_given_once(tmp_path):
    path = tmp_path / "a.parquet"
    write_frame(pd.DataFrame(EDGES), path)
    content = bytearray(path.read_bytes())
    content[content.index(b"ARROW:schema") + 40] = ord("!")  # not Base64
    path.write_bytes(content)
    with pytest.raises(GraphError, match=r"another format \(Invalid base64 input[^()]*\); copy it"):
        read(path)


def test_mixed_folders(tmp_path):
    write_frame(pd.DataFrame(EDGES), tmp_path / "a.csv")
    write_frame(pd.DataFrame(EDGES), tmp_path / "b.parquet")
    with pytest.raises(GraphError, match=r"b\.parquet: it is parquet, and .*a\.csv is csv; .*glob"):
        read(tmp_path)
    assert columns(read(f"{tmp_path}/*.csv")) == EDGES


def test_what_holds_no_edges(tmp_path, put):
    with pytest.raises(GraphError, match="no file of the folder ends in"):
        read(tmp_path)
    with pytest.raises(GraphError, match=r"\*\.csv: no file matches"):
        read(tmp_path / "*.csv")
    matrix = "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n"
    put("a.mtx", matrix), put("b.mtx", matrix)
    with pytest.raises(GraphError, match="a Matrix Market file is one matrix, and these are 2"):
        read(tmp_path)


def test_a_name_with_the_characters_of_a_glob(put):
    assert columns(read(put("a[1].csv", "1,2\n"))) == {"source": [1], "destination": [2]}


def test_layered_edge_lists_are_no_edges(tmp_path):
    write_frame(pd.DataFrame(EDGES), tmp_path / "a.csv")
    rg.LayeredEdgeList.cached(tmp_path / "a.csv", "a", device="cpu")
    assert columns(read(tmp_path)) == EDGES  # a.csv.layers is beside it
    with pytest.raises(GraphError, match=r"layered edge list; open it by rg\.LayeredEdgeList"):
        read(tmp_path / "a.csv.layers")


def test_a_folder_of_text_is_cached_beside_it(tmp_path):
    (tmp_path / "f").mkdir()
    write_frame(pd.DataFrame(EDGES), tmp_path / "f" / "a.csv")
    assert rg.LayeredEdgeList.cached(tmp_path / "f", "a", device="cpu").num_edges == 2
    write_frame(pd.DataFrame(EDGES).replace("b", "d"), tmp_path / "f" / "b.csv")
    assert rg.LayeredEdgeList.cached(tmp_path / "f", "a", device="cpu").num_edges == 4
    for path in (f"{tmp_path}/f/*.csv", "memory://a.csv"):
        with pytest.raises(GraphError, match=r"beside one local file or folder.*build\(path"):
            rg.LayeredEdgeList.cached(path, "a", device="cpu")


def test_an_unreadable_file(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("1,2\n")
    original = builtins.open

    def refuse(path, *given, **options):
        if str(path).endswith("b.csv"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return original(path, *given, **options)

    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(GraphError, match=r"b\.csv: there is no permission to read it"):
        read(tmp_path)


# Open files


def test_open_files(tmp_path):
    write_frame(pd.DataFrame(EDGES), tmp_path / "a.csv.xz")
    with open(tmp_path / "a.csv.xz", "rb") as file:
        assert columns(read(file)) == EDGES
        assert not file.closed
    text = "source,destination\nä,b\n"
    expected = {"source": ["ä"], "destination": ["b"]}
    assert columns(read(io.StringIO(text), format="csv")) == expected
    assert columns(read(io.BytesIO(gzip.compress(text.encode())), format="csv")) == expected
    file = io.BytesIO(b"skipped\n1 2\n")
    file.readline()
    assert columns(read(file, format="snap")) == {"source": [1], "destination": [2]}
    for name, content in (("a.parquet", EDGES), ("a.arrow", EDGES)):
        write_frame(pd.DataFrame(content), tmp_path / name)
        assert columns(read(io.BytesIO((tmp_path / name).read_bytes()))) == EDGES
    matrix = b"%%MatrixMarket matrix coordinate pattern general\n3 3 1\n2 1\n"
    assert len(read_vertices(io.BytesIO(matrix), device="cpu")) == 3
    with open(tmp_path / "a.csv.xz", "rb") as file:
        values = read_vertex_values(file, names=["source", "destination"], device="cpu")
    assert values["weight"].tolist() == EDGES["weight"]


def test_a_fifo_is_read_like_an_open_file(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    writer = threading.Thread(target=(tmp_path / "a.csv").write_text, args=["1,2\n"], daemon=True)
    writer.start()
    assert columns(read(tmp_path / "a.csv")) == {"source": [1], "destination": [2]}


@pytest.mark.parametrize(
    ("file", "given", "message"),
    [
        (io.BytesIO(b"1,2\n"), {}, "<BytesIO>: the format of an open file .*pass format='csv'"),
        (io.BytesIO(b""), {"format": "csv"}, "<BytesIO>: it is empty, or was read to its end"),
        (io.BytesIO(b"x"), {"format": "xls"}, "format is 'xls'; it must be one of csv, tsv"),
        (io.BytesIO(b"1,2\n3,\n"), {"format": "csv"}, "<BytesIO>, line 2: there is no value"),
        (io.BytesIO(b"\x1f\x8bxx"), {"format": "csv"}, "<BytesIO>: .*truncated"),
        (io.BytesIO(b"PAR1\x15"), {}, "<BytesIO>: truncated, damaged"),
        (io.BytesIO(b"BZh\0"), {"format": "parquet"}, "parquet has its own compression"),
        (io.BytesIO(b"1,2\n"), {"format": "parquet"}, "<BytesIO>: it is text, not parquet"),
        (io.BytesIO(b"PAR1\x15"), {"format": "csv"}, "<BytesIO>: it is parquet, not csv"),
        (io.BytesIO(b"PK\3\4"), {"format": "csv"}, "<BytesIO>: it is a zip archive"),
        (7, {}, "path is 7; it must be a pathlib.Path or a non-empty string"),
    ],
)
def test_mistakes_with_open_files(file, given, message):
    with pytest.raises(GraphError, match=message):
        read(file, **given)


def test_a_file_open_for_writing(tmp_path):
    with open(tmp_path / "a.csv", "w") as file, pytest.raises(GraphError, match="for reading"):
        read(file)


def test_a_full_disk_while_a_stream_is_copied(monkeypatch):
    class Full(io.BytesIO):
        def read(self, size=-1):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(GraphError, match=r"the disk is full while its copy is written.*set TMPDIR"):
        read(Full(), format="csv")


def test_format_of_a_file_with_another_ending(put):
    assert columns(read(put("a.dat", "1 2\n"), format="snap"))["source"] == [1]
    with pytest.raises(GraphError, match="the ending '.dat' is not known"):
        read(put("a.dat", "1 2\n"))


def test_errors_of_the_caller_of_a_fifo_are_not_of_the_file(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    writer = threading.Thread(target=(tmp_path / "a.csv").write_text, args=["1,2\n"], daemon=True)
    writer.start()
    with pytest.raises(KeyError, match="mine"), inputs.open_input(tmp_path / "a.csv"):
        raise KeyError("mine")


def test_errors_of_open_files_are_those_of_paths(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(b"source,destination\na\xe9,b\n")
    with (
        open(path, encoding="utf-8") as file,
        pytest.raises(GraphError, match=r"edges.csv: the text is not UTF-8"),
    ):
        rg.read_edges(file, device="cpu")
    content = gzip.compress(b"source,destination\n" + b"1,2\n" * 1000)
    for damaged in (content[:-20], content[:15] + b"x" + content[16:]):
        with (
            gzip.open(io.BytesIO(damaged)) as file,
            pytest.raises(GraphError, match="GzipFile|truncated|damaged"),
        ):
            rg.read_edges(file, format="csv", device="cpu")


def test_a_stream_without_end_marker_says_what_to_do(tmp_path):
    table = pa.table(EDGES)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "a.arrow").write_bytes(sink.getvalue().to_pybytes()[:-8])
    with pytest.raises(
        GraphError, match="end-of-stream marker, which its writer adds when it is c"
    ):
        read(tmp_path / "a.arrow")


def test_open_files_for_output():
    frame = pd.DataFrame({"source": ["a"], "destination": ["b"]})
    binary = io.BytesIO()
    write_frame(frame, binary, "csv")
    assert binary.getvalue() == b"source,destination\na,b\n"
    for file in (io.StringIO(), io.TextIOWrapper(binary)):
        with pytest.raises(GraphError, match="it is a text file; open it in binary mode"):
            write_frame(frame, file, "csv")
    with pytest.raises(GraphError, match="pass the format of an open file, such as format='csv'"):
        write_frame(frame, binary)
    with pytest.raises(GraphError, match="path is 7; it must be"):
        write_frame(frame, 7)


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow", "mtx"])
def test_a_file_that_is_not_open_for_writing(put, format):
    frame = pd.DataFrame({"source": [1], "destination": [2]})
    message = r"a\.csv: the file is not open for writing"
    with open(put("a.csv", ""), "rb") as file, pytest.raises(GraphError, match=message):
        write_frame(frame, file, format)


# URLs


@pytest.mark.parametrize("ending", [*FORMATS, ".csv.gz"])
def test_urls(memory, ending):
    write_frame(pd.DataFrame(EDGES), f"memory://out/a{ending}")
    write_frame(pd.DataFrame(EDGES).replace("a", "d"), f"memory://out/b{ending}")
    memory.pipe("/out/_SUCCESS", b"")
    assert columns(read(f"memory://out/a{ending}")) == EDGES
    for several in ("memory://out", f"memory://out/*{ending}"):
        assert read(several)["source"].tolist() == ["a", "b", "d", "b"]
    assert rg.estimate_memory("memory://out", "pagerank").needed > 0


def test_errors_of_urls(memory, tmp_path):
    memory.pipe("/d/a.csv", b"source,destination\n1,2\n")
    memory.pipe("/d/b.csv", b"source,destination\n3,\n")
    with pytest.raises(GraphError, match=r"^memory:///d/b\.csv, line 2: there is no value"):
        read("memory://d")
    with pytest.raises(GraphError, match=r"^memory://d/c\.csv: there is no such file"):
        read("memory://d/c.csv")
    with pytest.raises(GraphError, match=r"^memory://d/\*\.pq: no file matches"):
        read("memory://d/*.pq")
    with pytest.raises(GraphError, match="the ending '.xls' is not known"):
        write_frame(pd.DataFrame(EDGES), "memory://d/a.xls")
    with pytest.raises(GraphError, match="storage_options are options of the file system of a URL"):
        read(tmp_path, storage_options={})
    with pytest.raises(GraphError, match=r"s3:/b/a\.csv: .*pass a URL as text"):
        read(pathlib.Path("s3://b/a.csv"))


def test_missing_packages(monkeypatch):
    monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    for package in ("s3fs", "gcsfs", "aiohttp"):
        monkeypatch.setitem(sys.modules, package, None)
    packages = {"s3": "s3fs", "gs": "gcsfs", "https": "aiohttp and requests"}
    for protocol, package in packages.items():
        url = f"{protocol}://name:password@host/a.csv?token=secret"
        with pytest.raises(GraphError, match=f"require {package}: pip install") as caught:
            read(url)
        assert "password" not in str(caught.value)
    with pytest.raises(GraphError, match="Protocol not known: nothing"):
        read("nothing://a.csv")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(GraphError, match="require fsspec and s3fs: pip install fsspec s3fs"):
        read("s3://bucket/a.csv")


def test_errors_of_a_file_system(memory, monkeypatch):
    memory.pipe("/a.csv", b"1,2\n")
    for error, message in (
        (PermissionError("403"), "there is no permission to read it"),
        (RuntimeError("no credentials\nsecond line"), r"cannot read it \(no credentials\)"),
        (OSError(errno.ENOSPC, "full"), "the disk is full while its copy is written"),
    ):

        def fail(*_given, error=error, **_options):
            raise error

        monkeypatch.setattr(type(memory), "get_file", fail)
        with pytest.raises(GraphError, match=message):
            read("memory://a.csv")


def test_storage_options_reach_the_file_system(monkeypatch, memory):
    memory.pipe("/a.csv", b"1,2\n")
    given = {}

    def url_to_fs(url, **options):
        given.update(options)
        return memory, "/a.csv"

    monkeypatch.setattr("fsspec.core.url_to_fs", url_to_fs)
    assert len(read("memory://a.csv", storage_options={"anon": True})) == 1
    assert given == {"anon": True}


def test_format_and_storage_options(monkeypatch, memory, tmp_path):
    memory.pipe("/a.dat", b"1,2\n")
    given = []

    def url_to_fs(url, **options):
        given.append(options)
        return memory, "/a.dat"

    monkeypatch.setattr("fsspec.core.url_to_fs", url_to_fs)
    options = {"format": "csv", "storage_options": {"anon": True}}
    assert rg.estimate_memory("memory://a.dat", "bfs", **options).needed > 0
    values = read_vertex_values("memory://a.dat", device="cpu", **options)
    assert columns(values) == {"vertex": [1], "value": [2.0]}
    store = tmp_path / "s"
    rg.LayeredEdgeList.build("memory://a.dat", 1, store=store, device="cpu", **options)
    write_frame(values, "memory://a.dat", **options)
    assert given == [{"anon": True}] * 5
    assert memory.cat_file("/a.dat") == b"vertex,value\n1,2\n"
    for name, value in options.items():
        with pytest.raises(GraphError, match=f"{name} is an option for the path of a file"):
            rg.LayeredEdgeList.build(pd.DataFrame(EDGES), "a", **{name: value})


def test_a_layered_edge_list_of_an_open_file(tmp_path, put):
    store = tmp_path / "s"
    with pytest.raises(GraphError, match="<BytesIO>: store is required"):
        rg.LayeredEdgeList.build(io.BytesIO(b"1,2\n"), 1)
    with pytest.raises(GraphError, match="<BytesIO>: the format of an open file cannot be"):
        rg.LayeredEdgeList.build(io.BytesIO(b"1,2\n"), 1, store=store)
    file, options = io.BytesIO(b"1,2\n2,3\n"), {"store": store, "device": "cpu"}
    assert rg.LayeredEdgeList.build(file, 1, format="csv", **options).num_edges == 2
    path = put("a.txt", "1,2\n2,3\n")
    assert rg.LayeredEdgeList.build(path, 1, format="csv", **options).num_edges == 2
    with pytest.raises(GraphError, match=r"^<BytesIO>: a store is cached beside one local file"):
        rg.LayeredEdgeList.cached(file, 1)


def test_a_layered_edge_list_of_a_url(memory, tmp_path):
    memory.pipe("/a.csv", b"1,2\n2,3\n")
    layered = rg.LayeredEdgeList.build("memory://a.csv", 1, store=tmp_path / "s", device="cpu")
    assert layered.num_edges == 2


@pytest.mark.parametrize("prefix", ["file://", "FILE://localhost", "local://"])
def test_file_urls_are_paths(put, tmp_path, monkeypatch, prefix):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    path = put("a é%.csv", "1,2\n")
    for quoted in (urllib.parse.quote(str(path)), str(path).replace("%", "%25")):
        with inputs.open_input(f"{prefix}{quoted}") as files:
            assert files.local_path == path
        assert columns(read(f"{prefix}{quoted}")) == {"source": [1], "destination": [2]}
    write_frame(pd.DataFrame(EDGES), f"{prefix}{urllib.parse.quote(str(path))}")
    assert columns(read(path)) == EDGES
    rg.LayeredEdgeList.build(pd.DataFrame(EDGES), "a").save(tmp_path / "s")
    with pytest.raises(GraphError, match="is a layered edge list, which another file would damage"):
        write_frame(pd.DataFrame(EDGES), f"{prefix}{tmp_path}/s/a.csv")
    with pytest.raises(GraphError, match="storage_options are options of the file system of a URL"):
        write_frame(pd.DataFrame(EDGES), f"{prefix}{tmp_path}/b.csv", storage_options={})


LEFTOVERS = ["_temporary/b.csv", ".ipynb_checkpoints/a-checkpoint.csv", "x/_tmp/c.csv", "_d.csv"]


def test_hidden_folders_are_left_out(tmp_path, memory, monkeypatch):
    root = tmp_path / "_f" / ".g"
    for name in ["a.csv", "x/z.csv", *LEFTOVERS]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1,2\n")
        memory.pipe(f"/_f/.g/{name}", b"1,2\n")
    (root / ".hidden.csv").write_text("3,4\n")
    monkeypatch.chdir(root)
    for folder in (root, f"{root}/", f"{root}/x/..", ".", "memory://_f/.g", "memory://_f/.g/"):
        with inputs.open_input(folder) as files:
            names = [str(file.name) for file in files.files]
        assert len(names) == 2
        assert names[0].endswith("a.csv")
        assert names[1].endswith("x/z.csv")


def test_layered_edge_lists_behind_urls_are_no_edges(memory, tmp_path):
    rg.LayeredEdgeList.build(pd.DataFrame(EDGES), "a").save(tmp_path / "s")
    for path in (tmp_path / "s").iterdir():
        memory.pipe(f"/d/s.layers/{path.name}", path.read_bytes())
    with pytest.raises(GraphError, match=r"s\.layers: the folder is a layered edge list"):
        read("memory://d/s.layers")
    memory.pipe("/d/a.csv", b"1,2\n")
    assert columns(read("memory://d")) == {"source": [1], "destination": [2]}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://u:p@ss@h/a.csv?sig=SECRET", "https://h/a.csv"),
        ("simplecache::https://h/a.csv?sig=SECRET::x", "simplecache::https://h/a.csv"),
        ("zip://b?.csv::https://h/a.zip?sig=SECRET", "zip://b?.csv::https://h/a.zip"),
        (
            "zip://b.csv::https://h/a.zip?k=SECRET::file://x",
            "zip://b.csv::https://h/a.zip::file://x",
        ),
        ("https://u:p?w@h/a.csv", "https://h/a.csv"),
        ("memory://d/a?.csv", "memory://d/a?.csv"),
    ],
)
def test_names_of_urls_hold_no_secrets(url, name):
    assert display_url(url) == name


@pytest.mark.parametrize(
    "text",
    [
        "403, message='Forbidden', url='https://h/a.csv?sig=SECRET&x=1'",
        "HTTPSConnectionPool(host='h', port=443): Max retries exceeded with url: /a.csv?sig=SECRET",
        "cannot open ftp://name:SECRET@host/a.csv",
        "<https://h/a.csv?SECRET>",
        "Cannot connect to https://name:SEC?RET@h/a.csv",
        "s3://name:SECRET@SECRET@bucket/a.csv?versionId=SECRET",
    ],
)
@pytest.mark.parametrize("error", [OSError, PermissionError, ValueError])
def test_errors_of_clients_hold_no_secrets(memory, monkeypatch, text, error):
    memory.pipe("/a.csv", b"1,2\n")

    def fail(*_given, **_options):
        raise error(text)

    monkeypatch.setattr(type(memory), "get_file", fail)
    with pytest.raises(GraphError, match="a.csv") as caught:
        read("memory://a.csv")
    assert not re.search("SEC|RET", str(caught.value))


@pytest.mark.parametrize("error", [AttributeError, TypeError])
def test_programming_errors_of_a_file_system_are_not_hidden(memory, monkeypatch, error):
    memory.pipe("/a.csv", b"1,2\n")

    def fail(*_given, **_options):
        raise error("bug")

    monkeypatch.setattr(type(memory), "get_file", fail)
    with pytest.raises(error, match="bug"):
        read("memory://a.csv")


def test_a_full_disk_while_a_url_is_written(memory, monkeypatch):
    def write(*_given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(writers.WRITERS, "csv", write)
    with pytest.raises(GraphError, match=r"^memory://a\.csv: the disk is full while .*TMPDIR"):
        write_frame(pd.DataFrame(EDGES), "memory://a.csv")
    monkeypatch.undo()
    monkeypatch.setattr(type(memory), "put_file", write)
    with pytest.raises(GraphError, match=r"^memory://a\.csv: the file system cannot write it"):
        write_frame(pd.DataFrame(EDGES), "memory://a.csv")


class SlowFile(io.BytesIO):
    """A file of many blocks, whose reads after the first wait for `go_on` and take a while."""

    def __init__(self, content):
        super().__init__(content)
        self.is_reading, self.go_on, self.num_reads = threading.Event(), threading.Event(), 0

    def read(self, size=-1):
        self.num_reads += 1
        if self.num_reads > 1:
            self.is_reading.set()
            self.go_on.wait(10)
            time.sleep(0.1)
        return super().read(size)


def test_joined_files_are_closed_while_a_thread_reads(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).touch()
    slow = SlowFile(b"1,2\n" * 1000)
    monkeypatch.setattr("rapidsgraph.io.text_stream.BLOCK_BYTES", 100)
    monkeypatch.setattr("rapidsgraph.io.text_stream.open_compressed", lambda *_: slow)
    files = [inputs.InputFile(tmp_path / name, name, None) for name in "ab"]
    joined = JoinedFiles(files, [0, 0])
    with concurrent.futures.ThreadPoolExecutor(1) as reader:
        block = reader.submit(joined.read, 200)
        with pytest.raises(KeyError, match="of the caller"), joined:
            assert slow.is_reading.wait(10)
            slow.go_on.set()
            raise KeyError("of the caller")
        assert len(block.result(10)) == 200  # `close` has waited for it
    assert slow.closed
    assert joined.closed
    assert joined.read(10) == joined.read() == b""


def test_an_error_of_a_build_is_not_hidden_by_reading_ahead(tmp_path):
    """PyArrow reads ahead while the first block is refused."""
    rows = b"".join(b"%d,%d,1\n" % (i, i * 7919 % 600_011) for i in range(600_000))
    (tmp_path / "f").mkdir()
    for name, start in (("a", b"1,2,x\n"), ("b", b""), ("c", b"")):
        with gzip.open(tmp_path / "f" / f"{name}.csv.gz", "wb", 1) as file:
            file.write(b"source,destination,weight\n" + start + rows)
    script = f"""
import rapidsgraph as rg
try:
    rg.LayeredEdgeList.build({str(tmp_path / "f")!r}, 1, store={str(tmp_path / "s")!r})
except rg.GraphError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert f"{tmp_path}/f/a.csv.gz, line 2: 'x' in column 'weight' is not a number" in run.stdout
    assert run.stderr == ""


@pytest.mark.parametrize("is_text", [False, True])
def test_closed_files(tmp_path, is_text):
    (tmp_path / "e.csv").write_text("1,2\n")
    with open(tmp_path / "e.csv", "r" if is_text else "rb") as file:
        pass
    with pytest.raises(GraphError, match="e.csv: the file is closed"):
        rg.read_edges(file, format="csv")


def test_the_limit_of_file_sizes_while_a_copy_is_written(monkeypatch):
    class Limited(io.BytesIO):
        def read(self, size=-1):
            raise OSError(errno.EFBIG, "File too large")

    with pytest.raises(GraphError, match="limit of file sizes .* is reached .*; raise the limit$"):
        rg.read_edges(Limited(b"1,2"), format="csv")


@pytest.mark.parametrize("content", [b"\0\1\2\n", b"PAR1\x15" + b"x" * 100])
def test_damaged_parquet_from_open_files(content):
    with pytest.raises(GraphError, match="^<BytesIO>: truncated") as caught:
        rg.read_edges(io.BytesIO(content), format="parquet")
    assert "stream" not in str(caught.value)
    assert "/" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.csv", "source,destination\na,b\nc\n"),
        ("e.txt", "1 2\n3\n"),
        ("e.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1\n"),
        ("e.jsonl", '{"source":1,"destination":2}\n{"source":1,"destination":true}\n'),
    ],
)
def test_an_error_keeps_no_file_open(put, name, text):
    psutil = pytest.importorskip("psutil")
    path = put(name, text)
    with pytest.raises(GraphError, match=name) as error:
        read_edges(path, device="cpu")
    assert error.tb is not None  # with all frames
    assert str(path) not in [file.path for file in psutil.Process().open_files()]
