"""CSV, TSV, SNAP and Matrix Market: what is read, and which line is blamed."""

import gzip

import numpy as np
import pandas as pd
import pytest
from traced_memory import trace_memory

from rapidsgraph import Graph, LayeredEdgeList, bfs, estimate_memory
from rapidsgraph.errors import GraphError
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.io import (
    declared_vertices,
    read_edge_metadata,
    read_edges,
    read_vertex_values,
    read_vertices,
    text_stream,
    write_frame,
)


def read(path, **given):
    return read_edges(path, device="cpu", **given)


def columns(frame):
    return {name: frame[name].tolist() for name in frame.columns}


SNAP = "# Directed graph\n# FromNodeId\tToNodeId\n3\t0\r\n  0   7\t\n% in between\n\n7 7"


def test_snap(put):
    for name in ("a.txt", "a.txt.gz", "a.edges", "a.el"):
        assert columns(read(put(name, SNAP))) == {"source": [3, 0, 7], "destination": [0, 7, 7]}
    bom = b"\xef\xbb\xbf# comment\n1 2\n"
    assert columns(read(put("bom.txt", bom))) == {"source": [1], "destination": [2]}


def test_snap_with_weights_and_further_columns(put):
    path = put("a.txt", "0 1 2.5 1999\n1 2 -3 2001\n")
    assert columns(read(path))["weight"] == [2.5, -3.0]
    assert columns(read(path, weight="column4"))["weight"] == [1999.0, 2001.0]
    assert list(read(path, weight=None).columns) == ["source", "destination"]


def test_snap_names_are_text_as_soon_as_one_is(put):
    frame = read(put("a.txt", "1 2\n2 C#\n"))
    assert columns(frame) == {"source": ["1", "2"], "destination": ["2", "C#"]}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
def test_snap_in_blocks_of_any_size(size):
    content = b"\xef\xbb\xbf#c\r\n 1\t 2 \n\n  # c\n3\v4\n5 6#7\n%\n8 9"
    clean = text_stream.LineCleaner()
    blocks = [content[at : at + size] for at in range(0, len(content), size)]
    lines = b"".join(map(clean, [*blocks, b"", b""])).split(b"\n")
    assert [line for line in lines if line] == [b"1 2", b"3 4", b"5 6#7", b"8 9"]


def test_a_lone_carriage_return_ends_a_line(put):
    text = "# source weight destination\r1 5 2\n# c\r3 5 4\r\n"
    expected = {"source": [1, 3], "destination": [2, 4], "weight": [5.0, 5.0]}
    assert columns(read(put("a.txt", text))) == expected
    text = "source,destination\r1,2\n3,4\r"
    assert columns(read(put("a.csv", text))) == {"source": [1, 3], "destination": [2, 4]}


def test_snap_of_many_blocks(put):
    rows = np.arange(400_000).reshape(-1, 2)
    text = "# c\n" + "\n".join(f"{a}\t {b}" for a, b in rows) + "\n# end\n"
    frame = read(put("a.txt.gz", text))
    assert np.array_equal(frame.to_numpy(), rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n2,3\n", {"source": [1, 2], "destination": [2, 3]}),
        ("-1, 2,0.5\n", {"source": [-1], "destination": [2], "weight": [0.5]}),
        ("\n\nsource,destination\n1,2\n", {"source": [1], "destination": [2]}),
        ("\ufeffsource, destination\n1,2\n", {"source": [1], "destination": [2]}),
        ("\ufeff1,2\n", {"source": [1], "destination": [2]}),
        ("kind,destination,source\nx,1,2\n", {"source": [2], "destination": [1]}),
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
        ("pattern", "general", "1 2\n3 3\n", ([1, 3], [2, 3], None)),
        ("integer", "general", "1 2 5\n3 3 -6\n", ([1, 3], [2, 3], [5, -6])),
        ("real", "general", "1 2 5\n3 3 1e-3\n", ([1, 3], [2, 3], [5.0, 0.001])),
        ("real", "symmetric", "2 1 5\n3 3 1.5\n", ([2, 3, 1], [1, 3, 2], [5.0, 1.5, 5.0])),
        ("Pattern", "Symmetric", "2 1\n  3\t1 \n", ([2, 3, 1, 1], [1, 1, 2, 3], None)),
        ("pattern", "symmetric", "", ([], [], None)),
    ],
)
def test_matrix_market(put, field, symmetry, rows, expected):
    path = put("a.mtx", MATRIX.format(field, symmetry, rows.count("\n")) + rows)
    frame = read(path, weight="weight" if expected[2] else None)
    names = ["source", "destination", "weight"]
    assert columns(frame) == {
        name: values for name, values in zip(names, expected) if values is not None
    }
    assert frame["source"].dtype == "int64"
    if field == "integer":
        assert frame["weight"].dtype == "int64"
    rows = rows.count("\n") * (2 if symmetry.lower() == "symmetric" else 1)
    assert read_edge_metadata(path) == (rows, "integer", (1, 3))
    assert declared_vertices(path) == range(1, 4)
    assert columns(read_vertices(path, device="cpu")) == {"vertex": [1, 2, 3]}


def test_matrix_market_agrees_with_scipy(tmp_path):
    scipy_io, sparse = pytest.importorskip("scipy.io"), pytest.importorskip("scipy.sparse")
    half = sparse.random(20, 20, 0.2, rng=np.random.default_rng(1))
    scipy_io.mmwrite(tmp_path / "s.mtx", (half + half.T).tocoo(), symmetry="symmetric")
    frame = read(tmp_path / "s.mtx", weight="weight")
    ours = sparse.coo_array(
        (frame["weight"], (frame["source"] - 1, frame["destination"] - 1)), shape=(20, 20)
    )
    assert abs(ours - (half + half.T)).max() == 0
    write_frame(frame, tmp_path / "ours.mtx")
    assert abs(scipy_io.mmread(tmp_path / "ours.mtx", spmatrix=False) - ours).max() == 0


# What is wrong with a file


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", "x", "the ending '.xlsx' is not known; try .csv .tsv .txt .* .mtx$"),
        ("a", "x", "the ending '' is not known"),
        ("a.parquet.gz", "x", ".parquet has its own compression"),
        ("a.csv", "", "the file is empty"),
        ("a.csv.gz", "", "the file is empty"),
        ("a.txt", "\n \n", "the file is empty"),
        ("a.mtx", "", "the file is empty"),
        ("a.parquet", "", "the file is empty"),
        (
            "a.parquet",
            "PAR1\x15 and so on",
            r"a.parquet: truncated, damaged or of another format \(Parquet magic bytes not found "
            r"in footer\); copy it again from its source, or name its format$",
        ),
        ("a.feather", "ARROW1\0\0 and so on", "truncated, damaged or of another format"),
        ("a.arrow", "\1 and so on", "truncated, damaged or of another format"),
        ("a.arrow", "PAR1\x15\4", "it is parquet, not arrow; give it the ending .parquet, or"),
        ("a.csv", "PAR1\x15\4", "it is parquet, not csv; give it the ending .parquet, or name"),
        ("a.parquet", "1,2\n", "it is text, not parquet; .* such as .csv, or name the format$"),
        ("a.csv", "PK\3\4", "it is a zip archive; extract its files, or compress them by gzip$"),
        ("a.csv", "source,destination\n1,2,3\n", "a.csv, line 2: the number of fields is 3, not 2"),
        (
            "a.csv",
            "source,destination\n1,2\n# x\n",
            "line 3: the number of fields is 1, not 2; this format has no comments, so remove",
        ),
        (
            "a.csv",
            "source,destination\n1,2\n\n3\n",
            "line 4: the number of fields is 1, not 2",
        ),
        ("a.csv", "source,destination\n1,2\n3,\n", "line 3: there is no value in column 'dest"),
        ("a.csv", "source,destination\na,b\n,c\n", "line 3: there is no value in column 'source'"),
        ("a.csv", b"source,destination\na,\xe9\n", "the text is not UTF-8"),
        ("a.csv", "source,source,destination\n1,2,3\n", "several columns have the name 'source'"),
        ("a.txt", "# c\n1 2\n3\n", "a.txt, line 3: the number of fields is 1, not 2"),
        ("a.txt.gz", "1 2\n\n%c\n3 4 5\n", "a.txt.gz, line 4: the number of fields is 3, not 2"),
        ("a.txt", "1\n2\n", "there is no column 'destination'; the columns are source"),
        ("a.mtx", "1 2\n", "line 1: it must start with '%%MatrixMarket matrix'"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n", "layout is 'array', not coord"),
        ("a.mtx", MATRIX.format("complex", "general", 0), "field is 'complex', not pattern or int"),
        ("a.mtx", MATRIX.format("real", "hermitian", 0), "symmetry is 'hermitian', not general or"),
        ("a.mtx", MATRIX.format("real", "skew-symmetric", 0), "symmetry is 'skew-symmetric'"),
        (
            "a.mtx",
            MATRIX.format("real", "general", "x"),
            "line 3: it must have the numbers of rows",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real general\n",
            "line 2: it must have the numbers",
        ),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 0", "square, not 2 by 3"),
        (
            "a.mtx",
            MATRIX.format("pattern", "general", 1) + "1 2 3\n",
            "line 4: the number of fields is 3",
        ),
        ("a.mtx", MATRIX.format("pattern", "general", 1) + "1 4\n", "line 4: '4' in column 'dest"),
        ("a.mtx", MATRIX.format("pattern", "general", 1) + "0 1\n", "line 4: '0' in column 'sour"),
        ("a.mtx", MATRIX.format("pattern", "general", 1) + "1 a\n", "line 4: 'a' in column 'dest"),
        (
            "a.mtx",
            MATRIX.format("pattern", "general", 5) + "1 2\n",
            "1 entries, but the size line d",
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
        (
            "a.csv",
            "source,destination,w\na,b,3\na,b,NA\n",
            "line 3: 'NA' in column 'w' is not a num",
        ),
        ("a.csv", "source,destination,w\n1,2,\n", "line 2: there is no value in column 'w'"),
        ("a.csv", "source,destination\n1,2\n", "there is no column 'w'; the columns are source, d"),
        ("a.txt", "1 2 x\n", "there is no column 'w'"),
    ],
)
def test_bad_weights(put, name, content, message):
    with pytest.raises(GraphError, match=message):
        read(put(name, content), weight="w")


def test_bad_weights_of_snap_and_matrix_market(put):
    with pytest.raises(GraphError, match="a.txt, line 2: 'x' in column 'weight' is not a number"):
        read(put("a.txt", "# c\n1 2 x\n"), weight="weight")
    with pytest.raises(GraphError, match="a.mtx, line 4: 'x' in column 'weight' is not a number"):
        read(put("a.mtx", MATRIX.format("real", "general", 1) + "1 2 x\n"), weight="weight")
    with pytest.raises(GraphError, match="there is no column 'value'"):
        read(put("a.mtx", MATRIX.format("pattern", "general", 1) + "1 2\n"), weight="value")


# Quotes


QUOTED = ["a,b", 'q"r', '"', "l\nm", "x\r\ny", "a\rb", "t\tx", '"\n"', "plain", 'in"side']
STRAY = "the quoted field that starts here has no closing quote"


def chain(count, line=None, text=None):
    """Lines `i,i+1`, one of them replaced."""
    lines = [f"{i},{i + 1}" for i in range(count)]
    if line is not None:
        lines[line] = text
    return "source,destination\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv"])
@pytest.mark.parametrize("count", [1500, 200_000])
def test_a_stray_quote_is_refused_wherever_it_is(put, tmp_path, name, count):
    separator = "\t" if "tsv" in name else ","
    path = put(name, chain(count, 998, '1000,"1001').replace(",", separator))
    for use in (read, lambda path: LayeredEdgeList.build(path, 1, store=tmp_path / "store")):
        with pytest.raises(GraphError, match=f"{name}, line 1000: {STRAY}"):
            use(path)
    assert not (tmp_path / "store").exists()
    with pytest.raises(GraphError, match=f"line 1000: {STRAY}"):
        read_vertex_values(path, names=["source"], device="cpu")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('source,"destination\n1,2\n', 1),
        ('"source,destination\n1,2\n', 1),
        ('1,"2\n3,4', 1),
        ('source,destination\n1,2\n3,"4', 3),
        ('source,destination\n1,2\n3,"4\n', 3),
        ('source,destination\n1,2\n3,"4""\n', 3),
        ('source,destination\n"1\n2",3\n3,"4\n', 4),
        ('source,destination,note\n1,2,"\n3,4,x\n', 2),
        ('source,destination\n1,2\n"' + "3\n" * 100_000, 3),
    ],
)
def test_an_unclosed_quote_names_its_line(put, text, line):
    for name in ("a.csv", "a.csv.gz"):
        with pytest.raises(GraphError, match=f"{name}, line {line}: {STRAY}"):
            read(put(name, text))


def test_two_stray_quotes_do_not_make_a_name(put):
    text = chain(5000, 998, '1000,"1001').replace("3000,3001", '3000,"3001')
    with pytest.raises(
        GraphError, match="line 1000: .* spans lines and has text after its closing"
    ):
        read(put("a.csv", text))


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_names_with_line_breaks_come_back_from_large_files(tmp_path, ending):
    names = [f"{i:030}{QUOTED[i % len(QUOTED)]}" for i in range(30_000)]
    frame = pd.DataFrame({"source": names[0], "destination": names[1:]})
    path = tmp_path / f"edges{ending}"
    write_frame(frame, path)
    if ending != ".csv.gz":
        assert path.stat().st_size > text_stream.BLOCK_BYTES
    found = read(path)
    assert all(found[name].tolist() == frame[name].tolist() for name in frame)
    if ending == ".csv":
        layered = LayeredEdgeList.build(path, names[0], store=tmp_path / "store")
        assert (layered.num_vertices, layered.depth) == (30_000, 1)


def test_a_quote_inside_a_field_is_part_of_it(put):
    text = 'source,destination\n5" disk,a"\nb,"c"d\n'
    frame = read(put("a.csv", text))
    assert columns(frame) == {"source": ['5" disk', "b"], "destination": ['a"', "cd"]}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
def test_quotes_are_followed_across_blocks(size):
    def raise_stray_quote(offset, problem):
        raise GraphError(f"{offset} {problem}")

    def follow(content, **options):
        tracker = text_stream.QuoteTracker(",", raise_stray_quote, **options)
        blocks = [content[at : at + size] for at in range(0, len(content), size)]
        return b"".join(map(tracker, [*blocks, b""]))

    whole = b'\xef\xbb\xbf"a""b",c"d\n"",""""\r\n"x,y",z\n'
    assert follow(whole) == whole
    broken = b'a,b\n"c\nd",e\n'
    with pytest.raises(text_stream.LineBreakInQuotes):
        follow(broken)
    assert follow(broken, stops_at_line_break=False) == broken
    with pytest.raises(GraphError, match="11 has no closing quote"):
        follow(b'"a","b",cd\n"e"",f')
    with pytest.raises(GraphError, match="4 spans lines and has text"):
        follow(b'a,b\n"c\nd"e,f\n', stops_at_line_break=False)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.txt.gz", "a.mtx.gz"])
@pytest.mark.parametrize("head", ["", "source,destination\n1,2\n"])
def test_a_line_without_end_is_refused_in_bounded_memory(put, tmp_path, name, head):
    if head and name != "a.csv.gz":
        head = MATRIX.format("pattern", "general", 1) if name == "a.mtx.gz" else "1 2\n"
    path = put(name, head + "1" * 60_000_000)
    for use in (read, lambda path: LayeredEdgeList.build(path, 1, store=tmp_path / "store")):
        with pytest.raises(GraphError):
            use(path)  # imports what it needs, which takes memory, too
        too_long = r"line \d: it is longer than the maximum of 1,048,576 bytes"
        with trace_memory() as get_peak:
            with pytest.raises(GraphError, match=too_long):
                use(path)
            # About 12 MB; readers run in threads, which adds some blocks of a megabyte at times.
            assert get_peak() < 30e6


def test_the_longest_line_is_read(put):
    name = "x" * (text_stream.MAX_RECORD_BYTES - 4)
    text = f"source,destination\n1,2\n{name},3\n" + "5,6\n" * 300_000
    assert read(put("a.csv", text))["source"][1] == name
    quoted = "y\n" * (text_stream.MAX_RECORD_BYTES // 2 - 10)
    assert (
        read(put("a.csv", f'a,b\n"{quoted}",3\n'), source="a", destination="b")["source"][0]
        == quoted
    )
    with pytest.raises(GraphError, match="line 3: the quoted field that starts here has 1,2"):
        read(put("a.csv", 'source,destination\n1,2\n"' + "y\n" * 600_000 + '",3\n'))


# Vertices of a matrix


@pytest.mark.parametrize(
    "size",
    ["-1 -1 0", "3 3 -1", "-3 3 1", "3 3 1.0", "3 3", "3 3 1 1", "3 3 \u0661", f"{10**18} 3 3"],
)
def test_size_lines_that_are_none(put, size):
    text = f"%%MatrixMarket matrix coordinate pattern general\n{size}\n1 2\n"
    for use in (
        read,
        read_edge_metadata,
        declared_vertices,
        lambda path: estimate_memory(path, "bfs"),
    ):
        with pytest.raises(GraphError, match="a.mtx, line 2: it must have the numbers of ro"):
            use(put("a.mtx", text))


def test_entries_that_the_size_line_denies(put):
    with pytest.raises(GraphError, match="there are 2 entries, but the size line declares 0"):
        read(put("a.mtx", MATRIX.format("pattern", "general", 0) + "1 2\n2 3\n"))


def test_blank_lines_of_a_matrix(put):
    text = MATRIX.format("pattern", "general", 1).replace("% comment", "\n \n% comment\n")
    assert columns(read(put("a.mtx", text + "\n1 2\n\n"))) == {"source": [1], "destination": [2]}


def test_a_matrix_has_all_vertices_of_its_size_line(put, tmp_path):
    path = put("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n7 7 2\n2 1\n5 4\n")
    graph = Graph(read(path), vertices=read_vertices(path, device="cpu"))
    assert graph.vertices["vertex"].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert Graph(read(path), vertices=range(1, 8)).num_vertices == 7
    layered = LayeredEdgeList.build(path, 1, store=tmp_path / "store")
    assert storage_of(layered).labeling.vertex_frame({})["vertex"].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert LayeredEdgeList.build(path, 7, store=tmp_path / "store").depth == 0
    large = put("b.mtx", f"%%MatrixMarket matrix coordinate pattern general\n{10**9} {10**9} 0\n")
    assert estimate_memory(large, "bfs").needed > 64e9
    none = put("c.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 0\n")
    assert LayeredEdgeList.build(none, 3, store=tmp_path / "store").num_vertices == 4
    with pytest.raises(GraphError, match=f"line 2: {2**31} vertices; {2**31 - 1} is the most"):
        read_vertices(put("d.mtx", large.read_text().replace(f"{10**9}", f"{2**31}")))


def test_vertices_in_a_table(put):
    assert read_vertices(put("v.csv", "age,vertex\n3,b\n4,a\n"), device="cpu").to_dict("list") == {
        "vertex": ["b", "a"]
    }
    assert read_vertices(put("v.txt", "5\n7\n"), device="cpu")["vertex"].tolist() == [5, 7]
    with pytest.raises(GraphError, match="there must be one column 'vertex'; the columns are 5"):
        read_vertices(put("w.csv", "5\n7\n"), device="cpu")
    with pytest.raises(GraphError, match="one integer, and 2 columns name them here"):
        read_vertices(put("a.mtx", MATRIX.format("pattern", "general", 0)), names=["a", "b"])


@pytest.mark.parametrize(
    ("edges", "vertices", "expected"),
    [
        ("source,destination\n5,6\n", "vertex\n5\n-3\n900000\n", [-3, 5, 6, 900_000]),
        ("source,destination\na,b\n", "vertex\n007\n", ["007", "a", "b"]),
        ("source,destination\n", "vertex\n4\n", [4]),
        ("source,destination\n5,6\n", "vertex\n", [5, 6]),
    ],
)
def test_a_store_with_further_vertices(put, tmp_path, edges, vertices, expected):
    edges, vertices = put("e.csv", edges), put("v.csv", vertices)
    options = {"vertices": vertices, "store": tmp_path / "store"}
    layered = LayeredEdgeList.build(edges, expected[0], **options)
    assert storage_of(layered).labeling.vertex_frame({})["vertex"].tolist() == expected
    cached = LayeredEdgeList.cached(edges, expected[0], vertices=vertices)
    assert cached.num_vertices == len(expected)
    vertices.write_text("vertex\n" + str(expected[0]))
    again = LayeredEdgeList.cached(edges, expected[0], vertices=vertices)
    assert again.num_vertices == len({*expected[-2:], expected[0]} if len(expected) > 1 else [0])


def test_vertices_that_do_not_fit_a_store(put, tmp_path):
    numbers, store = put("e.csv", "source,destination\n5,6\n"), tmp_path / "store"
    with pytest.raises(
        GraphError, match="vertices: vertex names are text, and numbers in the edges"
    ):
        LayeredEdgeList.build(numbers, 5, store=store, vertices=put("v.csv", "vertex\nx\n"))
    with pytest.raises(
        GraphError, match="vertex names must be integers or text; vertices has type fl"
    ):
        LayeredEdgeList.build(numbers, 5, store=store, vertices=np.array([1.5]))
    with pytest.raises(GraphError, match="vertices must be the path of a file"):
        LayeredEdgeList.cached(numbers, 5, vertices=[1])
    pair = pd.DataFrame({"vertex": [3, 4]})
    assert LayeredEdgeList.build(numbers, 5, store=store, vertices=pair).num_vertices == 4


# Text that is not Unicode


def test_lone_surrogates_are_refused_by_name(tmp_path):
    bad = pd.Series(["x", "a\ud800"], dtype=object)
    message = r"holds 'a\\ud800'( in row 1)?, which is not valid Unicode \(a lone surrogate\)"
    for make in (pd.DataFrame, dict):
        with pytest.raises(GraphError, match=f"column 'source' {message}"):
            Graph(make({"source": bad, "destination": pd.Series(["y", "z"], dtype=object)}))
    graph = Graph({"source": ["a"], "destination": ["b"]})
    with pytest.raises(GraphError, match=f"source {message}"):
        bfs(graph, "a\ud800")
    with pytest.raises(GraphError, match=r"x.csv: 'a\\ud800' is not valid Unicode"):
        write_frame(pd.DataFrame({"source": bad}), tmp_path / "x.csv")
    for use in (read, lambda path: write_frame(pd.DataFrame({"a": [1]}), path)):
        for name in ("a\ud800.csv", "a\0.csv"):
            with pytest.raises(GraphError, match="no file can have this name"):
                use(f"{tmp_path}/{name}")


@pytest.mark.parametrize("ending", [".csv", ".txt.gz", ".mtx", ".feather", ".parquet"])
def test_paths_of_any_bytes(tmp_path, ending):
    path = tmp_path / f"\udcff{ending}"
    write_frame(pd.DataFrame({"source": [1], "destination": [2]}), path)
    if ending == ".parquet":
        with pytest.raises(GraphError, match="requires a path of valid Unicode"):
            read(path)
    else:
        assert columns(read(path)) == {"source": [1], "destination": [2]}
        assert LayeredEdgeList.cached(path, 1).num_edges == 1


@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("last", [0, 1, 2])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_blank_lines_at_both_ends(tmp_path, first, last, ending):
    """CPython has one object for all lines that are a single byte."""
    path = tmp_path / "e.csv"
    lines = [*[""] * first, "source,destination,weight", "a,b,1", "", "b,c,x", *[""] * last]
    path.write_text("".join(line + ending for line in lines), newline="")
    assert read_edges(path, weight=None, device="cpu").values.tolist() == [["a", "b"], ["b", "c"]]
    with pytest.raises(GraphError, match=f"e.csv, line {first + 4}: 'x' in column 'weight'"):
        read_edges(path, weight="weight", device="cpu")


@pytest.mark.parametrize("ending", ["\r", "\r\n", "\n"])
@pytest.mark.parametrize(("name", "blank"), [("e.txt", " "), ("e.csv", ","), ("e.tsv.gz", "\t")])
def test_line_endings_at_any_size(tmp_path, name, blank, ending):
    names, rows = [f"vertex{number}" for number in range(1000)], 100_000
    lines = [blank.join((names[i % 1000], names[i % 777])) for i in range(rows)]
    head = [] if name.endswith("txt") else [blank.join(("source", "destination"))]
    text = ending.join([*head, *lines, ""]).encode()
    opened = gzip.open if name.endswith("gz") else open
    with opened(tmp_path / name, "wb") as file:
        file.write(text)
    frame = read_edges(tmp_path / name, device="cpu")
    assert len(frame) == rows
    assert frame["destination"].tolist() == [names[i % 777] for i in range(rows)]


def test_quotes_behind_lone_carriage_returns_are_found(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'source,destination\ra,"c\rd,e\r')
    with pytest.raises(GraphError, match="a.csv, line 2: the quoted field that starts here"):
        read_edges(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a\vb", "\v", "\ufeffx", "a b", "#a"])
def test_names_that_snap_text_cannot_hold_are_refused(tmp_path, name):
    frame = pd.DataFrame({"source": [name, "q"], "destination": ["q", name]})
    with pytest.raises(GraphError, match="which SNAP text cannot hold"):
        write_frame(frame, tmp_path / "x.txt")


@pytest.mark.parametrize("name", ["e.csv", "e.txt"])
def test_hexadecimal_names_are_text(tmp_path, name):
    blank = "," if name.endswith("csv") else " "
    head = [blank.join(("source", "destination"))] if name.endswith("csv") else []
    lines = [*head, *(blank.join(pair) for pair in (("1", "2"), ("0x10", "4"), ("16", "-0X1")))]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    frame = read_edges(tmp_path / name, device="cpu")
    assert frame["source"].tolist() == ["1", "0x10", "16"]
    layered = LayeredEdgeList.build(tmp_path / name, "16", store=tmp_path / "layers", device="cpu")
    assert layered.num_vertices == 6
