"""Parquet, Arrow and Feather, damaged files, and what each format can hold."""

import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rapidsgraph.errors import GraphError
from rapidsgraph.io import read_edge_metadata, read_edges, read_vertex_values, write_frame
from rapidsgraph.io.columnar_files import Parquet
from rapidsgraph.io.inputs import open_input

EDGES = {"source": [3, 0, 7], "destination": [0, 7, 7], "weight": [0.5, 2.0, -1.25]}
NAMED = {"source": ["C#", "null", "ä"], "destination": ["null", "10%", "C#"]}
BINARY = [".parquet", ".pq", ".feather", ".arrow", ".ipc"]


def read(path, **given):
    return read_edges(path, device="cpu", **given)


def columns(frame):
    return {name: frame[name].tolist() for name in frame.columns}


def test_stream_format(tmp_path):
    for name in ("a.arrow", "a.ipc", "a.feather"):
        with pa.OSFile(str(tmp_path / name), "wb") as file:
            table = pa.table({"w": [0.5, 1.0], **{k: v[:2] for k, v in NAMED.items()}})
            with pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=1)
        frame = read(tmp_path / name, weight="w")
        assert columns(frame) == {**{k: v[:2] for k, v in NAMED.items()}, "weight": [0.5, 1.0]}
        assert read_edge_metadata(tmp_path / name) == (2, "string", None)


def test_folder_of_parquet_files(tmp_path):
    folder = tmp_path / "edges.parquet"
    (folder / "year=1999").mkdir(parents=True)
    pd.DataFrame(EDGES).to_parquet(folder / "a.parquet")
    pd.DataFrame(EDGES).to_parquet(folder / "year=1999" / "b.pq")
    for name in ("_SUCCESS", "_metadata.parquet", ".hidden.parquet", "README.md"):
        (folder / name).write_text("no table")
    assert columns(read(folder, weight="weight")) == {k: v * 2 for k, v in EDGES.items()}
    assert read_edge_metadata(folder) == (6, "integer", (0, 7))


def test_categories_decimals_and_indexes_of_parquet(tmp_path):
    frame = pd.DataFrame(NAMED, index=pd.Index([5, 6, 7], name="i")).astype("category")
    table = pa.Table.from_pandas(frame)
    table = table.append_column("d", pa.array([1, 2, 3]).cast(pa.decimal128(21, 2)))
    pq.write_table(table, tmp_path / "a.parquet")
    frame = read(tmp_path / "a.parquet", weight="d")
    assert columns(frame) == {**NAMED, "weight": [1.0, 2.0, 3.0]}
    assert list(frame.index) == [0, 1, 2]
    assert read_edge_metadata(tmp_path / "a.parquet") == (3, "string", None)


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_categories_in_some_files_only(tmp_path, ending):
    write_frame(pd.DataFrame(NAMED), tmp_path / f"a{ending}")
    write_frame(pd.DataFrame(NAMED).astype("category"), tmp_path / f"b{ending}")
    write_frame(pd.DataFrame(NAMED).astype({"source": "category"}), tmp_path / f"c{ending}")
    assert columns(read(tmp_path)) == {name: 3 * values for name, values in NAMED.items()}


def test_parquet_files_of_different_schemas_are_recognized(tmp_path):
    """cuDF reads those of one schema only."""
    frame = pd.DataFrame(EDGES)
    others = frame.astype({"source": "int32"}), frame[["weight", "destination", "source"]]
    for other, expected in ((frame, True), *((other, False) for other in others)):
        write_frame(frame, tmp_path / "a.parquet")
        write_frame(other, tmp_path / "b.parquet")
        with open_input(tmp_path) as files:
            assert Parquet(files).has_one_schema is expected


@pytest.mark.gpu
def test_a_gpu_reads_parquet_files_of_different_schemas(tmp_path):
    frame = pd.DataFrame(EDGES)
    write_frame(frame.astype({"source": "int32"}), tmp_path / "a.parquet")
    write_frame(frame[["weight", "destination", "source"]], tmp_path / "b.parquet")
    expected = {name: 2 * values for name, values in EDGES.items()}
    result = read_edges(tmp_path, device="gpu").to_pandas()
    assert columns(result) == expected
    assert result.dtypes.tolist() == ["int64", "int64", "float64"]


def test_small_integers_stay_small(tmp_path):
    pd.DataFrame({"source": [1], "destination": [2]}).astype("int32").to_parquet(tmp_path / "a.pq")
    assert read(tmp_path / "a.pq")["source"].dtype == "int32"


@pytest.mark.parametrize("ending", BINARY)
def test_columns_of_another_type(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    write_frame(pd.DataFrame({**NAMED, "w": ["1", "2.5", "heavy"]}), path)
    with pytest.raises(GraphError, match="'w' must hold numbers, not .*string.*'heavy' in row 2"):
        read(path, weight="w")
    write_frame(pd.DataFrame({**NAMED, "w": ["1", "2", "3"]}), path)
    with pytest.raises(GraphError, match="'1' in row 0"):
        read(path, weight="w")
    write_frame(pd.DataFrame({**NAMED, "w": ["1", "2", "3"]}).iloc[:0], path)
    with pytest.raises(GraphError, match="must hold numbers"):
        read(path, weight="w")
    write_frame(pd.DataFrame({**NAMED, "w": [1.0, None, 3.0]}), path)
    with pytest.raises(GraphError, match="column 'w' has no value in row 1"):
        read(path, weight="w")
    write_frame(pd.DataFrame({"source": [1, None], "destination": [1, 2]}), path)
    with pytest.raises(GraphError, match="column 'source' has no value in row 1"):
        read(path)


@pytest.mark.parametrize("ending", [*BINARY, ".csv.gz", ".txt.gz", ".mtx.gz"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_truncated_files(tmp_path, ending, part):
    path, whole = tmp_path / f"a{ending}", np.random.default_rng(1).integers(1, 1 << 40, (5000, 2))
    write_frame(pd.DataFrame(whole, columns=["source", "destination"]), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(GraphError, match="truncated"):
        read(path)


def test_damaged_gzip(put):
    for name in ("a.csv", "a.txt", "a.mtx"):
        path = put(name, "1,2\n").rename(put(name, "x").with_name(f"{name}.gz"))
        with pytest.raises(GraphError, match="truncated"):
            read(path)


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".feather", ".parquet", ".txt", ".mtx"])
def test_facts(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    first = 1 if ending == ".mtx" else 0
    write_frame(pd.DataFrame(EDGES) + first, path)
    rows, kind, bounds = read_edge_metadata(path)
    assert (rows, kind) == (4 if ending == ".txt" else 3, "integer")  # a comment counts
    assert bounds == ((first, 7 + first) if ending in (".parquet", ".mtx") else None)
    if ending != ".mtx":
        write_frame(pd.DataFrame(NAMED), path)
        assert read_edge_metadata(path)[1:] == ("string", None)


def test_facts_of_named_columns_and_row_groups(tmp_path):
    frame = pd.DataFrame({"s": [5, -6, 7], "d": [1, 2, 30], "x": [-99, 0, 99]})
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "a.pq", row_group_size=1)
    assert read_edge_metadata(tmp_path / "a.pq", source="s", destination="d") == (
        3,
        "integer",
        (-6, 30),
    )
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, tmp_path / "b.pq", write_statistics=False)
    assert read_edge_metadata(tmp_path / "b.pq", source="s", destination="d") == (
        3,
        "integer",
        None,
    )
    with pytest.raises(GraphError, match="no column 'source'"):
        read_edge_metadata(tmp_path / "a.pq")


# Writing


def test_what_is_written(tmp_path):
    ranks = pd.DataFrame({"vertex": ["a", 'b"c'], "pagerank": [0.25, 0.75]}, index=[7, 9])
    write_frame(ranks, tmp_path / "a.txt")  # where quotes mean nothing
    assert (tmp_path / "a.txt").read_text() == '# vertex\tpagerank\na\t0.25\nb"c\t0.75\n'
    pd.testing.assert_frame_equal(
        read_vertex_values(tmp_path / "a.txt", device="cpu"), ranks.reset_index(drop=True)
    )
    write_frame(ranks, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == 'vertex,pagerank\n"a",0.25\n"b""c",0.75\n'
    write_frame(ranks.iloc[:1], tmp_path / "a.txt.gz")
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == b"# vertex\tpagerank\na\t0.25\n"
    write_frame(pd.DataFrame(EDGES)[["source", "destination"]] + 1, tmp_path / "a.mtx")
    assert (tmp_path / "a.mtx").read_text() == (
        "%%MatrixMarket matrix coordinate pattern general\n8 8 3\n4 1\n1 8\n8 8\n"
    )
    (tmp_path / "b.txt.gz").write_bytes(b"")
    write_frame(ranks.iloc[:1], tmp_path / "b.txt.gz")  # the same bytes, so that runs compare
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.txt.gz").read_bytes()


AWKWARD = ["a,b", 'q"r', '"', "l\nm", "x\r\ny", "a\rb", "t\tx", " blank ", "#c", "NA", "ä", "7"]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_text_is_read_back_as_it_was(tmp_path, ending, monkeypatch):
    monkeypatch.setattr("rapidsgraph.io.writers.BATCH_ROWS", 3)
    frame = pd.DataFrame({"vertex": AWKWARD, "value": np.arange(len(AWKWARD)) / 4})
    path = tmp_path / f"a{ending}"
    for given in (frame, frame.astype({"vertex": "category"}), pa.table(dict(frame))):
        write_frame(given, path)
        pd.testing.assert_frame_equal(read_vertex_values(path, device="cpu"), frame)
        separator = "\t" if ending == ".tsv" else ","
        others = pd.read_csv(path, sep=separator, keep_default_na=False)
        assert others["vertex"].tolist() == AWKWARD


def test_all_text_is_quoted_if_one_value_needs_quotes(tmp_path):
    frame = {"vertex": ["007", "x y", "a,b", "", None], "value": [1.0, 2.5, None, np.inf, 1e300]}
    write_frame(pa.table(frame), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == (
        'vertex,value\n"007",1\n"x y",2.5\n"a,b",\n"",inf\n,1e+300\n'
    )
    write_frame(pa.table(frame).slice(1, 3), tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_text() == 'vertex\tvalue\n"x y"\t2.5\n"a,b"\t\n""\tinf\n'
    write_frame(pa.table(frame).slice(0, 2), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "vertex,value\n007,1\nx y,2.5\n"
    write_frame(pa.table(frame).slice(0, 0), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "vertex,value\n"


def test_quotes_do_not_make_text_of_integers(tmp_path, put):
    for text in ("vertex,value\n007,1\n8,2\n", 'vertex,value\n"007",1\n"8",2\n'):
        assert read_vertex_values(put("a.csv", text), device="cpu")["vertex"].tolist() == [7, 8]
    frame = pd.DataFrame({"vertex": ["007", "a"], "value": [1.0, 2.0]})
    write_frame(frame, tmp_path / "a.csv")
    pd.testing.assert_frame_equal(read_vertex_values(tmp_path / "a.csv", device="cpu"), frame)


@pytest.mark.parametrize(
    ("frame", "name", "message"),
    [
        (NAMED, "a.mtx", "edges between integers >= 1"),
        ({"source": [-1], "destination": [1]}, "a.mtx", "some are 0, negative or missing; add 1"),
        ({"source": [0], "destination": [1]}, "a.mtx", "some are 0, negative or missing; add 1"),
        ({"vertex": [1], "pagerank": [1.0]}, "a.mtx", r"the columns are \['vertex', 'pagerank'\]"),
        ({"vertex": ["New York"]}, "a.txt", "'vertex' has .* spaces .* write .csv"),
        ({"vertex": ["#1"]}, "a.txt", "'vertex' has missing values, or names with"),
        ({"vertex": [1.0, None]}, "a.txt", "'vertex' has missing values"),
        ({"vertex": [[1, 2]]}, "a.csv", "it could not be written"),
    ],
)
def test_what_a_format_cannot_hold_leaves_the_old_file(tmp_path, frame, name, message):
    (tmp_path / name).write_text("old")
    with pytest.raises(GraphError, match=message) as caught:
        write_frame(pd.DataFrame(frame), tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert (tmp_path / name).read_text() == "old"
    assert os.listdir(tmp_path) == [name]
