"""Reading and writing: every format, every kind of damage, and what is left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest

from rapidsgraph.errors import GpuUnavailableError, GraphError
from rapidsgraph.io import (
    check_writable,
    edge_files,
    read_edges,
    read_vertex_values,
    write_frame,
    writers,
)

EDGES = {"source": [3, 0, 7], "destination": [0, 7, 7], "weight": [0.5, 2.0, -1.25]}
NAMED = {"source": ["C#", "null", "ä"], "destination": ["null", "10%", "C#"]}
TEXT = [".csv", ".tsv", ".txt", ".edges", ".el", ".csv.gz", ".tsv.gz", ".txt.gz", ".el.gz"]
BINARY = [".parquet", ".pq", ".feather", ".arrow", ".ipc"]


def read(path, **given):
    return read_edges(path, device="cpu", **given)


def columns(frame):
    return {name: frame[name].tolist() for name in frame.columns}


# Formats


@pytest.mark.parametrize("ending", [*TEXT, *BINARY, ".mtx", ".mtx.gz", ".CSV", ".Txt.GZ"])
def test_numbers_come_back(tmp_path, ending):
    path = tmp_path / f"edges{ending}"
    edges = {**EDGES, "source": [3, 1, 7]} if ".mtx" in ending else EDGES
    edges = {**edges, "destination": [1, 7, 7]} if ".mtx" in ending else edges
    write_frame(pd.DataFrame(edges), path)
    frame = read(path)
    assert columns(frame) == columns(read(path, weight="weight")) == edges
    assert [str(kind) for kind in frame.dtypes] == ["int64", "int64", "float64"]
    assert list(read(path, weight=None).columns) == ["source", "destination"]
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("ending", [*TEXT, *BINARY])
def test_names_come_back(tmp_path, ending):
    path = tmp_path / f"edges{ending}"
    write_frame(pd.DataFrame(NAMED), path)
    assert columns(read(path)) == NAMED


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".parquet", ".feather"])
def test_frames_without_rows_come_back(tmp_path, ending):
    path = tmp_path / f"edges{ending}"
    write_frame(pd.DataFrame(EDGES).iloc[:0], path)
    assert columns(read(path, weight="weight")) == {"source": [], "destination": [], "weight": []}


@pytest.mark.parametrize("value", [1 / 3, 5e-324, 1.7976931348623157e308, 2**53 + 2.0])
def test_text_keeps_every_bit(tmp_path, value):
    for ending in (".csv", ".txt"):
        write_frame(pd.DataFrame({"vertex": [1], "pagerank": [value]}), tmp_path / f"r{ending}")
        assert read_vertex_values(tmp_path / f"r{ending}", device="cpu")["pagerank"].tolist() == [
            value
        ]


def test_columns_by_name(put):
    path = put("a.csv", "from,to,km\nUlm,Aalen,70\n")
    expected = {"source": ["Ulm"], "destination": ["Aalen"], "weight": [70.0]}
    assert columns(read(path, source="from", destination="to", weight="km")) == expected


def test_several_columns_make_a_name(put):
    path = put("a.csv", "c1,n1,c2,n2,w\nde,1,fr,2,3\nfr,x,de,1,4\n")
    frame = read(path, source=["c1", "n1"], destination=["c2", "n2"], weight="w")
    assert columns(frame) == {
        "c1": ["de", "fr"], "n1": ["1", "x"], "c2": ["fr", "de"], "n2": ["2", "1"], "w": [3, 4],
    }  # fmt: skip
    path = put("b.csv", "c1,n1,c2,n2\nde,1,fr,2\n")
    frame = read(path, source=("c1", "n1"), destination=("c2", "n2"))
    assert columns(frame) == {"c1": ["de"], "n1": [1], "c2": ["fr"], "n2": [2]}


def test_missing_file_and_folder_without_parquet(tmp_path):
    with pytest.raises(GraphError, match="nowhere.csv: there is no such file") as caught:
        read(tmp_path / "nowhere.csv")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    with pytest.raises(GraphError, match="there is no such file"):
        read(tmp_path / "nowhere")
    (tmp_path / "a.md").write_text("1,2\n")
    with pytest.raises(GraphError, match=r"no file of the folder ends in .*\.arrow or \.ipc$"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("header", "given", "hint"),
    [
        (
            "src,dst",
            {},
            r"src, dst; did you mean 'src' and 'dst'\? Pass source='src', destination='dst'",
        ),
        ("source,target", {}, "no column 'destination'.*Pass destination='target'"),
        ("U,V", {}, "Pass source='U'"),
        ("sauce,destination", {"source": "source"}, "Pass source='sauce'"),
        ("a,b", {}, "the columns are a, b; name the column to use with source="),
        ("source,destination,costs", {"weight": "cost"}, "Pass weight='costs'"),
        ("a;b", {}, r"one column, 'a;b'; the delimiter looks like ';'"),
    ],
)
def test_missing_columns_suggest_the_likely(put, header, given, hint):
    row = ",".join("x" * (header.count(",") + 1))
    with pytest.raises(GraphError, match=hint):
        read(put("a.csv", f"{header}\n{row}\n"), **given)


def test_columns_that_cannot_go_together(put):
    path = put("a.csv", "a,b,c\n1,2,3\n")
    with pytest.raises(GraphError, match="a.csv: source has 2 columns and destination 1"):
        read(path, source=["a", "b"], destination=["c"])
    with pytest.raises(GraphError, match="source has 0 columns"):
        read(path, source=[], destination=[])
    with pytest.raises(GraphError, match="must be different columns"):
        read(path, source="a", destination="a")


def test_device_is_checked_before_the_file(tmp_path):
    with pytest.raises(ValueError, match="'tpu'"):
        read_edges(tmp_path / "nowhere.csv", device="tpu")
    from rapidsgraph.device import frame_library_problem

    if frame_library_problem():
        with pytest.raises(GpuUnavailableError):
            read_edges(tmp_path / "nowhere.csv", device="gpu")


# Tables of values


@pytest.mark.parametrize("ending", [*TEXT, *BINARY])
def test_results_can_be_read_again(tmp_path, ending):
    ranks = {"vertex": ["b", "a"], "pagerank": [0.25, 0.75]}
    write_frame(pd.DataFrame(ranks), tmp_path / f"ranks{ending}")
    assert columns(read_vertex_values(tmp_path / f"ranks{ending}", device="cpu")) == ranks


def test_tables_without_header(put):
    for name, text in (("a.csv", "1,2\n3,4\n"), ("a.txt", "1 2\n3 4\n")):
        expected = {"vertex": [1, 3], "value": [2.0, 4.0]}
        assert columns(read_vertex_values(put(name, text), device="cpu")) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.csv",
            "vertex,a,b\n1,2,3\n",
            "must be vertex and one of numbers; they are vertex, a, b",
        ),
        ("a.csv", "node,a\nx,2\n", "they are node, a"),
        ("a.csv", "vertex,a\nx,high\n", "line 2: 'high' in column 'a' is not a number"),
        ("a.mtx", "x", "holds edges, not values of vertices"),
    ],
)
def test_tables_that_are_none(put, name, text, message):
    with pytest.raises(GraphError, match=message):
        read_vertex_values(put(name, text), device="cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("ending", [".csv", ".txt.gz", ".parquet", ".arrow", ".mtx"])
def test_a_gpu_reads_and_writes_the_same(tmp_path, ending):
    path = tmp_path / f"edges{ending}"
    ones = {**EDGES, "source": [3, 1, 7], "destination": [1, 7, 7]}
    for edges in (EDGES, NAMED) if ending != ".mtx" else (ones,):
        weight = "weight" if "weight" in edges else None
        write_frame(pd.DataFrame(edges), path)
        frame = read_edges(path, weight=weight, device="gpu")
        assert type(frame).__module__.startswith("cudf")
        assert columns(frame.to_pandas()) == edges
        write_frame(frame, path)
        assert columns(read(path, weight=weight)) == edges
    with pytest.raises(GraphError, match="no column 'costs'"):
        read_edges(path, weight="costs", device="gpu")


# Writing


@pytest.mark.parametrize("make", [pa.table, "polars"])
def test_other_frames_are_written(tmp_path, make):
    make = pytest.importorskip("polars").DataFrame if make == "polars" else make
    write_frame(make(EDGES), tmp_path / "a.csv")
    assert columns(read(tmp_path / "a.csv", weight="weight")) == EDGES


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(5, "Input/output error")])
def test_nothing_half_written_is_left(tmp_path, monkeypatch, error):
    def write(table, file, *_):
        file.write(b"half")
        file.flush()
        assert sorted(os.listdir(tmp_path))[0].endswith(".tmp")
        raise error

    (tmp_path / "a.csv").write_text("old")
    monkeypatch.setattr(writers, "_write", write)
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else GraphError):
        write_frame(pd.DataFrame(EDGES), tmp_path / "a.csv")
    assert os.listdir(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"


def test_links_and_permissions_survive(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near.csv").symlink_to(tmp_path / "far" / "a.csv")
    umask = os.umask(0o027)
    try:
        write_frame(pd.DataFrame(EDGES), tmp_path / "near.csv")
    finally:
        os.umask(umask)
    assert (tmp_path / "near.csv").is_symlink()
    assert (tmp_path / "far" / "a.csv").stat().st_mode & 0o777 == 0o640


def test_check_writable(tmp_path, monkeypatch):
    assert check_writable(tmp_path / "a.csv.gz") == "csv"
    assert check_writable(tmp_path / "a.PNG", endings=[".png"]) == ".png"
    for name, message in (
        ("a.xlsx", "the ending '.xlsx' is not known"),
        ("a.feather.gz", "its own compression"),
        ("none/a.csv", "the folder .*none does not exist"),
        ("folder.csv", "it is a folder"),
    ):
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        with pytest.raises(GraphError, match=message):
            check_writable(tmp_path / name)
    with pytest.raises(GraphError, match="try .png .svg"):
        check_writable(tmp_path / "a.bmp", endings=[".png", ".svg"])
    monkeypatch.setattr(writers.os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(GraphError, match="no permission to write into the folder"):
        check_writable(tmp_path / "a.csv")


def test_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_frame(pd.DataFrame(EDGES), "~/a.csv")
    assert len(read("~/a.csv")) == 3


def test_imports_are_late():
    program = (
        "import sys, types; package = types.ModuleType('rapidsgraph');"
        f"package.__path__ = [{str(Path(edge_files.__file__).parents[1])!r}];"
        "sys.modules['rapidsgraph'] = package; import rapidsgraph.io.edge_files;"
        "print(sorted({'pandas', 'pyarrow', 'cudf', 'cupy', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
