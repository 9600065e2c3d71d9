"""CSV, TSV, SNAP and Matrix Market: what is read, and which line is blamed."""

import gzip

import numpy as np
import pytest

from rapidsgraph import textfiles
from rapidsgraph.errors import GraphError
from rapidsgraph.files import edge_facts, read_edges, write_frame


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
