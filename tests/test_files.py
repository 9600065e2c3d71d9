"""Reading and writing: every format, every kind of damage, and what is left behind."""

import gzip
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from rapidsgraph import files, formats, textfiles
from rapidsgraph.errors import GraphError, NoGPU
from rapidsgraph.files import check_writable, edge_facts, read_edges, read_table, write_frame

EDGES = {"source": [3, 0, 7], "destination": [0, 7, 7], "weight": [0.5, 2.0, -1.25]}
NAMED = {"source": ["C#", "null", "ä"], "destination": ["null", "10%", "C#"]}
TEXT = [".csv", ".tsv", ".txt", ".edges", ".el", ".csv.gz", ".tsv.gz", ".txt.gz", ".el.gz"]
BINARY = [".parquet", ".pq", ".feather", ".arrow", ".ipc"]


def read(path, **given):
    return read_edges(path, device="cpu", **given)


def columns(frame):
    return {name: frame[name].tolist() for name in frame.columns}


@pytest.fixture
def put(tmp_path):
    """Write a file, packed if its name says so, and return its path."""

    def put(name, content):
        content = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return put


# Formats


@pytest.mark.parametrize("ending", [*TEXT, *BINARY, ".mtx", ".mtx.gz", ".CSV", ".Txt.GZ"])
def test_numbers_come_back(tmp_path, ending):
    path = tmp_path / f"edges{ending}"
    write_frame(pd.DataFrame(EDGES), path)
    frame = read(path, weight="weight")
    assert columns(frame) == EDGES
    assert [str(kind) for kind in frame.dtypes] == ["int64", "int64", "float64"]
    assert list(read(path).columns) == ["source", "destination"]
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
        assert read_table(tmp_path / f"r{ending}", device="cpu")["pagerank"].tolist() == [value]


SNAP = "# Directed graph\n# FromNodeId\tToNodeId\n3\t0\r\n  0   7\t\n% in between\n\n7 7"


def test_snap(put):
    for name in ("a.txt", "a.txt.gz", "a.edges", "a.el"):
        assert columns(read(put(name, SNAP))) == {"source": [3, 0, 7], "destination": [0, 7, 7]}
    bom = b"\xef\xbb\xbf# comment\n1 2\n"
    assert columns(read(put("bom.txt", bom))) == {"source": [1], "destination": [2]}


def test_snap_with_weights_and_further_columns(put):
    path = put("a.txt", "0 1 2.5 1999\n1 2 -3 2001\n")
    assert columns(read(path, weight="weight"))["weight"] == [2.5, -3.0]
    assert columns(read(path, weight="column4"))["weight"] == [1999.0, 2001.0]
    assert list(read(path).columns) == ["source", "destination"]


def test_snap_names_are_text_as_soon_as_one_is(put):
    frame = read(put("a.txt", "1 2\n2 C#\n"))
    assert columns(frame) == {"source": ["1", "2"], "destination": ["2", "C#"]}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
def test_snap_in_blocks_of_any_size(size):
    content = b"\xef\xbb\xbf#c\r\n 1\t 2 \n\n  # c\n3\v4\n5 6#7\n%\n8 9"
    clean = textfiles._Cleaner()
    blocks = [content[at : at + size] for at in range(0, len(content), size)]
    lines = b"".join(map(clean, [*blocks, b"", b""])).split(b"\n")
    assert [line for line in lines if line] == [b"1 2", b"3 4", b"5 6#7", b"8 9"]


def test_snap_of_many_blocks(put):
    rows = np.arange(400_000).reshape(-1, 2)
    text = "# c\n" + "\n".join(f"{a}\t {b}" for a, b in rows) + "\n# end\n"
    frame = read(put("a.txt.gz", text))
    assert np.array_equal(frame.to_numpy(), rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n2,3\n", {"source": [1, 2], "destination": [2, 3]}),
        ("-1, 2,0.5\n", {"source": [-1], "destination": [2]}),
        ("\n\nsource,destination\n1,2\n", {"source": [1], "destination": [2]}),
        ("\ufeffsource, destination\n1,2\n", {"source": [1], "destination": [2]}),
        ("\ufeff1,2\n", {"source": [1], "destination": [2]}),
        ("w,destination,source\n9,1,2\n", {"source": [2], "destination": [1]}),
        ('source,destination\n"a,b",NA\n', {"source": ["a,b"], "destination": ["NA"]}),
        ("source,destination\n1,2\n\n3,x\n", {"source": ["1", "3"], "destination": ["2", "x"]}),
        ("source,destination\n1,99999999999999999999\n", None),
    ],
)
def test_csv(put, text, expected):
    expected = expected or {"source": ["1"], "destination": ["99999999999999999999"]}
    assert columns(read(put("a.csv", text))) == expected
    tabbed = text.replace(",", "\t") if '"' not in text else text.replace(",N", "\tN")
    assert columns(read(put("a.tsv.gz", tabbed.replace("source,d", "source\td")))) == expected


def test_names_change_to_text_however_late(put):
    text = "source,destination\n" + "1,2\n" * 400_000 + "3,x\n"
    frame = read(put("a.csv", text))
    assert frame.iloc[0].tolist() == ["1", "2"]
    assert frame.iloc[-1].tolist() == ["3", "x"]


def test_weight_of_a_csv_without_header(put):
    assert columns(read(put("a.csv", "1,2,0.5\n"), weight="weight"))["weight"] == [0.5]


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


MATRIX = "%%MatrixMarket matrix coordinate {} {}\n% comment\n3 3 {}\n"


@pytest.mark.parametrize(
    ("field", "symmetry", "rows", "expected"),
    [
        ("pattern", "general", "1 2\n3 3\n", ([0, 2], [1, 2], None)),
        ("integer", "general", "1 2 5\n3 3 -6\n", ([0, 2], [1, 2], [5, -6])),
        ("real", "general", "1 2 5\n3 3 1e-3\n", ([0, 2], [1, 2], [5.0, 0.001])),
        ("real", "symmetric", "2 1 5\n3 3 1.5\n", ([1, 2, 0], [0, 2, 1], [5.0, 1.5, 5.0])),
        ("Pattern", "Symmetric", "2 1\n  3\t1 \n", ([1, 2, 0, 0], [0, 0, 1, 2], None)),
        ("pattern", "symmetric", "", ([], [], None)),
    ],
)
def test_matrix_market(put, field, symmetry, rows, expected):
    path = put("a.mtx", MATRIX.format(field, symmetry, rows.count("\n")) + rows)
    frame = read(path, weight="weight" if expected[2] else None)
    names = ["source", "destination", "weight"]
    assert columns(frame) == {name: each for name, each in zip(names, expected) if each is not None}
    assert frame["source"].dtype == "int64"
    if field == "integer":
        assert frame["weight"].dtype == "int64"
    rows = rows.count("\n") * (2 if symmetry.lower() == "symmetric" else 1)
    assert edge_facts(path) == (rows, "integer", (0, 2))


def test_matrix_market_agrees_with_scipy(tmp_path):
    scipy_io, sparse = pytest.importorskip("scipy.io"), pytest.importorskip("scipy.sparse")
    half = sparse.random(20, 20, 0.2, rng=np.random.default_rng(1))
    scipy_io.mmwrite(tmp_path / "s.mtx", (half + half.T).tocoo(), symmetry="symmetric")
    frame = read(tmp_path / "s.mtx", weight="weight")
    ours = sparse.coo_array(
        (frame["weight"], (frame["source"], frame["destination"])), shape=(20, 20)
    )
    assert abs(ours - (half + half.T)).max() == 0
    write_frame(frame, tmp_path / "ours.mtx")
    assert abs(scipy_io.mmread(tmp_path / "ours.mtx", spmatrix=False) - ours).max() == 0


def test_stream_format(tmp_path):
    for name in ("a.arrow", "a.ipc", "a.feather"):
        with pa.OSFile(str(tmp_path / name), "wb") as file:
            table = pa.table({"w": [0.5, 1.0], **{k: v[:2] for k, v in NAMED.items()}})
            with pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=1)
        frame = read(tmp_path / name, weight="w")
        assert columns(frame) == {**{k: v[:2] for k, v in NAMED.items()}, "weight": [0.5, 1.0]}
        assert edge_facts(tmp_path / name) == (2, "string", None)


def test_folder_of_parquet_files(tmp_path):
    folder = tmp_path / "edges.parquet"
    (folder / "year=1999").mkdir(parents=True)
    pd.DataFrame(EDGES).to_parquet(folder / "a.parquet")
    pd.DataFrame(EDGES).to_parquet(folder / "year=1999" / "b.pq")
    for name in ("_SUCCESS", "_metadata.parquet", ".hidden.parquet", "README.txt"):
        (folder / name).write_text("no table")
    assert columns(read(folder, weight="weight")) == {k: v * 2 for k, v in EDGES.items()}
    assert edge_facts(folder) == (6, "integer", (0, 7))


def test_categories_decimals_and_indexes_of_parquet(tmp_path):
    frame = pd.DataFrame(NAMED, index=pd.Index([5, 6, 7], name="i")).astype("category")
    table = pa.Table.from_pandas(frame)
    table = table.append_column("d", pa.array([1, 2, 3]).cast(pa.decimal128(21, 2)))
    pq.write_table(table, tmp_path / "a.parquet")
    frame = read(tmp_path / "a.parquet", weight="d")
    assert columns(frame) == {**NAMED, "weight": [1.0, 2.0, 3.0]}
    assert list(frame.index) == [0, 1, 2]
    assert edge_facts(tmp_path / "a.parquet") == (3, "string", None)


def test_small_integers_stay_small(tmp_path):
    pd.DataFrame({"source": [1], "destination": [2]}).astype("int32").to_parquet(tmp_path / "a.pq")
    assert read(tmp_path / "a.pq")["source"].dtype == "int32"


# Tables of values


@pytest.mark.parametrize("ending", [*TEXT, *BINARY])
def test_results_can_be_read_again(tmp_path, ending):
    ranks = {"vertex": ["b", "a"], "pagerank": [0.25, 0.75]}
    write_frame(pd.DataFrame(ranks), tmp_path / f"ranks{ending}")
    assert columns(read_table(tmp_path / f"ranks{ending}", device="cpu")) == ranks


def test_tables_without_header(put):
    for name, text in (("a.csv", "1,2\n3,4\n"), ("a.txt", "1 2\n3 4\n")):
        expected = {"vertex": [1, 3], "value": [2.0, 4.0]}
        assert columns(read_table(put(name, text), device="cpu")) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "vertex,a,b\n1,2,3\n", "vertex, a, b; it must have two, 'vertex' and one"),
        ("a.csv", "node,a\nx,2\n", "node, a; it must have two"),
        ("a.csv", "vertex,a\nx,high\n", "line 2: 'high' in column 'a' is no number"),
        ("a.mtx", "x", "holds edges, no values of vertices"),
    ],
)
def test_tables_that_are_none(put, name, text, message):
    with pytest.raises(GraphError, match=message):
        read_table(put(name, text), device="cpu")


# What is wrong with a file


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", "x", "the ending '.xlsx' is not known; known are .csv .tsv .txt .* .mtx$"),
        ("a", "x", "the ending '' is not known"),
        ("a.parquet.gz", "x", ".parquet is compressed inside"),
        ("a.csv", "", "the file is empty"),
        ("a.csv.gz", "", "the file is empty"),
        ("a.txt", "\n \n", "the file is empty"),
        ("a.mtx", "", "the file is empty"),
        ("a.parquet", "", "the file is empty"),
        ("a.parquet", "PAR1 and so on", "truncated, damaged or no such format"),
        ("a.feather", "ARROW1 and so on", "truncated, damaged or no such format"),
        ("a.arrow", "and so on", "truncated, damaged or no such format"),
        ("a.csv", "source,destination\n1,2,3\n", "a.csv, line 2: there are 3 fields, not 2"),
        ("a.csv", "source,destination\n1,2\n\n3\n", "a.csv, line 4: there are 1 fields, not 2"),
        ("a.csv", "source,destination\n1,2\n3,\n", "line 3: there is no value in column 'dest"),
        ("a.csv", "source,destination\na,b\n,c\n", "line 3: there is no value in column 'source'"),
        ("a.csv", b"source,destination\na,\xe9\n", "the text is not UTF-8"),
        ("a.csv", "source,source,destination\n1,2,3\n", "several columns are called 'source'"),
        ("a.txt", "# c\n1 2\n3\n", "a.txt, line 3: there are 1 fields, not 2"),
        ("a.txt.gz", "1 2\n\n%c\n3 4 5\n", "a.txt.gz, line 4: there are 3 fields, not 2"),
        ("a.txt", "1\n2\n", "there is no column 'destination'; the columns are source"),
        ("a.mtx", "1 2\n", "line 1: it must begin with '%%MatrixMarket matrix'"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n", "layout is 'array', not coord"),
        ("a.mtx", MATRIX.format("complex", "general", 0), "field is 'complex', not pattern or int"),
        ("a.mtx", MATRIX.format("real", "hermitian", 0), "symmetry is 'hermitian', not general or"),
        ("a.mtx", MATRIX.format("real", "skew-symmetric", 0), "symmetry is 'skew-symmetric'"),
        ("a.mtx", MATRIX.format("real", "general", "x"), "line 3: it must hold rows, columns and"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n", "line 2: it must hold rows"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 0", "square, not 2 by 3"),
        ("a.mtx", MATRIX.format("pattern", "general", 1) + "1 2 3\n", "line 4: there are 3 fields"),
        ("a.mtx", MATRIX.format("pattern", "general", 1) + "1 4\n", "line 4: '4' in column 'dest"),
        ("a.mtx", MATRIX.format("pattern", "general", 1) + "0 1\n", "line 4: '0' in column 'sour"),
        ("a.mtx", MATRIX.format("pattern", "general", 1) + "1 a\n", "line 4: 'a' in column 'dest"),
        (
            "a.mtx",
            MATRIX.format("pattern", "general", 5) + "1 2\n",
            "1 entries and the size line p",
        ),
    ],
)
def test_bad_files(put, name, content, message):
    path = put(name, content)
    with pytest.raises(GraphError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "source,destination,w\n1,2,3\n\n1,2,heavy\n", "line 4: 'heavy' in column 'w' is"),
        ("a.csv", "source,destination,w\na,b,3\na,b,NA\n", "line 3: 'NA' in column 'w' is no num"),
        ("a.csv", "source,destination,w\n1,2,\n", "line 2: there is no value in column 'w'"),
        ("a.csv", "source,destination\n1,2\n", "there is no column 'w'; the columns are source, d"),
        ("a.txt", "1 2 x\n", "there is no column 'w'"),
    ],
)
def test_bad_weights(put, name, content, message):
    with pytest.raises(GraphError, match=message):
        read(put(name, content), weight="w")


def test_bad_weights_of_snap_and_matrix_market(put):
    with pytest.raises(GraphError, match="a.txt, line 2: 'x' in column 'weight' is no number"):
        read(put("a.txt", "# c\n1 2 x\n"), weight="weight")
    with pytest.raises(GraphError, match="a.mtx, line 4: 'x' in column 'weight' is no number"):
        read(put("a.mtx", MATRIX.format("real", "general", 1) + "1 2 x\n"), weight="weight")
    with pytest.raises(GraphError, match="there is no column 'weight'"):
        read(put("a.mtx", MATRIX.format("pattern", "general", 1) + "1 2\n"), weight="weight")


@pytest.mark.parametrize("ending", BINARY)
def test_columns_of_another_type(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    write_frame(pd.DataFrame({**NAMED, "w": ["1", "2.5", "heavy"]}), path)
    with pytest.raises(GraphError, match="'w' holds .*string where numbers.*'heavy' in row 2"):
        read(path, weight="w")
    write_frame(pd.DataFrame({**NAMED, "w": ["1", "2", "3"]}), path)
    with pytest.raises(GraphError, match="'1' in row 0"):
        read(path, weight="w")
    write_frame(pd.DataFrame({**NAMED, "w": [1.0, None, 3.0]}), path)
    with pytest.raises(GraphError, match="column 'w' has no value in row 1"):
        read(path, weight="w")
    write_frame(pd.DataFrame({"source": [1, None], "destination": [1, 2]}), path)
    with pytest.raises(GraphError, match="column 'source' has no value in row 1"):
        read(path)


def test_missing_file_and_folder_without_parquet(tmp_path):
    with pytest.raises(GraphError, match="nowhere.csv: there is no such file") as caught:
        read(tmp_path / "nowhere.csv")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    with pytest.raises(GraphError, match="there is no such file"):
        read(tmp_path / "nowhere")
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(GraphError, match="the folder holds no .parquet or .pq file"):
        read(tmp_path)


@pytest.mark.parametrize("ending", [*BINARY, ".csv.gz", ".txt.gz", ".mtx.gz"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_truncated_files(tmp_path, ending, part):
    path, whole = tmp_path / f"a{ending}", np.random.default_rng(1).integers(0, 1 << 40, (5000, 2))
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


@pytest.mark.parametrize(
    ("header", "given", "hint"),
    [
        ("src,dst", {}, "there is no column 'source'; the columns are src, dst; give source='src'"),
        ("source,target", {}, "no column 'destination'.*give destination='target'"),
        ("U,V", {}, "give source='U'"),
        ("sauce,destination", {"source": "source"}, "give source='sauce'"),
        ("a,b", {}, "the columns are a, b; name the one to take with source="),
        ("source,destination,costs", {"weight": "cost"}, "give weight='costs'"),
        ("a;b", {}, "the columns are a;b"),
    ],
)
def test_missing_columns_suggest_the_likely(put, header, given, hint):
    row = ",".join("x" * (header.count(",") + 1))
    with pytest.raises(GraphError, match=hint):
        read(put("a.csv", f"{header}\n{row}\n"), **given)


def test_columns_that_cannot_go_together(put):
    path = put("a.csv", "a,b,c\n1,2,3\n")
    with pytest.raises(GraphError, match="2 columns for source and 1 for destination"):
        read(path, source=["a", "b"], destination=["c"])
    with pytest.raises(GraphError, match="0 columns for source"):
        read(path, source=[], destination=[])
    with pytest.raises(GraphError, match="must be different columns"):
        read(path, source="a", destination="a")


def test_device_is_checked_before_the_file(tmp_path):
    with pytest.raises(ValueError, match="'tpu'"):
        read_edges(tmp_path / "nowhere.csv", device="tpu")
    from rapidsgraph.device import frame_library_problem

    if frame_library_problem():
        with pytest.raises(NoGPU):
            read_edges(tmp_path / "nowhere.csv", device="gpu")


# Facts


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".feather", ".parquet", ".txt", ".mtx"])
def test_facts(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    write_frame(pd.DataFrame(EDGES), path)
    rows, kind, bounds = edge_facts(path)
    assert (rows, kind) == (4 if ending == ".txt" else 3, "integer")  # a comment counts
    assert bounds == ((0, 7) if ending in (".parquet", ".mtx") else None)
    if ending != ".mtx":
        write_frame(pd.DataFrame(NAMED), path)
        assert edge_facts(path)[1:] == ("string", None)


def test_facts_of_named_columns_and_row_groups(tmp_path):
    frame = pd.DataFrame({"s": [5, -6, 7], "d": [1, 2, 30], "x": [-99, 0, 99]})
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "a.pq", row_group_size=1)
    assert edge_facts(tmp_path / "a.pq", source="s", destination="d") == (3, "integer", (-6, 30))
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, tmp_path / "b.pq", write_statistics=False)
    assert edge_facts(tmp_path / "b.pq", source="s", destination="d") == (3, "integer", None)
    with pytest.raises(GraphError, match="no column 'source'"):
        edge_facts(tmp_path / "a.pq")


# Writing


def test_what_is_written(tmp_path):
    ranks = pd.DataFrame({"vertex": ["a", 'b"c'], "pagerank": [0.25, 0.75]}, index=[7, 9])
    write_frame(ranks, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == 'vertex,pagerank\n"a",0.25\n"b""c",0.75\n'
    write_frame(ranks.iloc[:1], tmp_path / "a.txt.gz")
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == b"# vertex\tpagerank\na\t0.25\n"
    write_frame(pd.DataFrame(EDGES)[["source", "destination"]], tmp_path / "a.mtx")
    assert (tmp_path / "a.mtx").read_text() == (
        "%%MatrixMarket matrix coordinate pattern general\n8 8 3\n4 1\n1 8\n8 8\n"
    )
    (tmp_path / "b.txt.gz").write_bytes(b"")
    write_frame(ranks.iloc[:1], tmp_path / "b.txt.gz")  # the same bytes, so that runs compare
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.txt.gz").read_bytes()


@pytest.mark.parametrize("make", [pa.table, "polars"])
def test_other_frames_are_written(tmp_path, make):
    make = pytest.importorskip("polars").DataFrame if make == "polars" else make
    write_frame(make(EDGES), tmp_path / "a.csv")
    assert columns(read(tmp_path / "a.csv", weight="weight")) == EDGES


@pytest.mark.parametrize(
    ("frame", "name", "message"),
    [
        (NAMED, "a.mtx", "edges between integers from 0"),
        ({"source": [-1], "destination": [0]}, "a.mtx", "some are negative or missing"),
        ({"vertex": [1], "pagerank": [1.0]}, "a.mtx", r"these are \['vertex', 'pagerank'\]"),
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


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_nothing_half_written_is_left(tmp_path, monkeypatch, error):
    def write(table, file, kind):
        file.write(b"half")
        file.flush()
        assert sorted(os.listdir(tmp_path))[0].endswith(".tmp")
        raise error

    (tmp_path / "a.csv").write_text("old")
    monkeypatch.setattr(formats, "write", write)
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
        ("a.feather.gz", "compressed inside"),
        ("none/a.csv", "the folder .*none does not exist"),
        ("folder.csv", "it is a folder"),
    ):
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        with pytest.raises(GraphError, match=message):
            check_writable(tmp_path / name)
    with pytest.raises(GraphError, match="try .png .svg"):
        check_writable(tmp_path / "a.bmp", endings=[".png", ".svg"])
    monkeypatch.setattr(files.os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(GraphError, match="no permission to write into the folder"):
        check_writable(tmp_path / "a.csv")


def test_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_frame(pd.DataFrame(EDGES), "~/a.csv")
    assert len(read("~/a.csv")) == 3


def test_imports_are_late():
    program = (
        "import sys, types; package = types.ModuleType('rapidsgraph');"
        f"package.__path__ = [{str(os.path.dirname(files.__file__))!r}];"
        "sys.modules['rapidsgraph'] = package; import rapidsgraph.files;"
        "print(sorted({'pandas', 'pyarrow', 'cudf', 'cupy', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
