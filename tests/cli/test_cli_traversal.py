"""The commands bfs, sssp and components: what they print, write, check and refuse."""

import os
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import build_storage
from test_cli import run, without_gpu  # noqa: F401  a fixture for all tests here

import rapidsgraph as rg
from rapidsgraph import frames
from rapidsgraph.cli.app import describe_error
from rapidsgraph.errors import GraphError, VertexNotFoundError
from rapidsgraph.io import write_frame

# a -> b, c; b -> c, d; c -> d; e -> f, which neither a nor b reaches; a -> c twice
EDGES = pd.DataFrame(
    {
        "source": ["a", "a", "b", "b", "c", "e", "a"],
        "destination": ["b", "c", "c", "d", "d", "f", "c"],
        "km": [1.0, 4.0, 2.0, 7.5, 0.25, 1.0, 9.0],
    }
)
NUMBERS = pd.DataFrame({"source": [5, 5, -3, 900], "destination": [-3, 7, 7, 8]})
PAIRS = pd.DataFrame(
    {"net": ["x,1", "x,1", "y"], "u": [1, 2, 1], "v": [2, 3, 2], "weight": [1.0, 0.5, 2.0]}
)


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    write_frame(EDGES, path)
    return path


@pytest.fixture
def numbers(tmp_path):
    path = tmp_path / "numbers.txt"
    write_frame(NUMBERS, path)
    return path


COSTS_1 = (
    "there is no column 'weight' and no --weight: each edge costs 1; columns of numbers: 'km'; "
    "--weight km uses one of them, --unweighted none\n"
)


def start_of(name, vertex="a"):
    return [] if name == "components" else ["--from", vertex]


def rows_of(done):
    return [line.split("\t") for line in done.stdout.splitlines()]


def written(path):
    """{column: values} of a result, with None where there is nothing."""
    return pq.read_table(path).to_pydict()


def plain(result):
    """The same of a result frame."""
    return pa.Table.from_pandas(result, preserve_index=False).to_pydict()


# What is printed


def test_bfs_prints_how_many_vertices_each_level_has(edges):
    done = run("bfs", edges, "--from", "a")
    assert done.stdout == "0\t1\n1\t2\n2\t1\n"
    assert done.stderr == ""
    assert run("bfs", edges, "--from", "a", "--top", 2).stdout == "0\t1\n1\t2\n"
    assert run("bfs", edges, "--from", "a", "--depth-limit", 1).stdout == "0\t1\n1\t2\n"
    assert run("bfs", edges, "--from", "d").stdout == "0\t1\n"
    assert run("bfs", edges, "--from", "d", "--undirected").stdout == "0\t1\n1\t2\n2\t1\n"


def test_sssp_prints_the_nearest(edges):
    done = run("sssp", edges, "--from", "a", "--weight", "km")
    assert done.stdout == "b\t1.0\ta\nc\t3.0\tb\nd\t3.25\tc\n"  # without a itself and e, f
    assert done.stderr == ""
    assert run("sssp", edges, "--from", "a", "--weight", "km", "--top", 1).stdout == "b\t1.0\ta\n"
    done = run("sssp", edges, "--from", "a", "--from", "e", "--no-predecessors")
    assert done.stdout == "b\t1.0\nc\t1.0\nf\t1.0\nd\t2.0\n"  # equals by name
    assert done.stderr == COSTS_1  # also where nobody watches: it changes the result
    assert run("sssp", edges, "--from", "d").stdout == ""


def test_components_prints_the_largest(edges, tmp_path):
    done = run("components", edges)
    assert (done.stdout, done.stderr) == ("0\t4\n1\t2\n", "")
    assert run("components", edges, "--top", 1).stdout == "0\t4\n"
    assert run("components", edges, "--undirected").stdout == "0\t4\n1\t2\n"  # as always
    pairs = np.arange(40)
    write_frame(pd.DataFrame({"source": pairs, "destination": pairs // 2 * 2}), tmp_path / "p.txt")
    assert run("components", tmp_path / "p.txt").stdout == "".join(f"{i}\t2\n" for i in range(10))


def test_sssp_prints_ten_unless_told(tmp_path):
    path, chain = tmp_path / "chain.txt", np.arange(30)
    write_frame(pd.DataFrame({"source": chain, "destination": chain + 1}), path)
    assert run("sssp", path, "--from", 0).stdout == "".join(
        f"{place}\t{float(place)}\t{place - 1}\n" for place in range(1, 11)
    )
    assert len(rows_of(run("bfs", path, "--from", 0))) == 31  # levels are few, or asked for
    for name in ("bfs", "sssp", "components"):
        arguments = [name, path, *start_of(name, 0)]
        done = run(*arguments, "--output", tmp_path / "r.csv")
        assert (done.stdout, done.stderr) == (
            "",
            COSTS_1.partition(";")[0] + "\n" if name == "sssp" else "",
        )
        done = run(*arguments, "--output", tmp_path / "r.csv", "--top", 20)
        assert len(rows_of(done)) == (1 if name == "components" else 20)


# What is written


def test_writes_every_vertex(edges, tmp_path):
    result = tmp_path / "r.csv"
    run("bfs", edges, "--from", "a", "-o", result)
    assert result.read_text() == (
        "vertex,distance,predecessor\na,0,\nb,1,a\nc,1,a\nd,2,b\ne,,\nf,,\n"
    )
    run("sssp", edges, "--from", "a", "--weight", "km", "-o", result)
    assert result.read_text() == (
        "vertex,distance,predecessor\na,0,\nb,1,a\nc,3,b\nd,3.25,c\ne,inf,\nf,inf,\n"
    )
    run("sssp", edges, "--from", "a", "--no-predecessors", "-o", tmp_path / "r.txt")
    assert (tmp_path / "r.txt").read_text().splitlines()[-1] == "f\tinf"
    run("components", edges, "-o", tmp_path / "r.txt")
    assert (tmp_path / "r.txt").read_text() == (
        "# vertex\tcomponent\na\t0\nb\t0\nc\t0\nd\t0\ne\t1\nf\t1\n"
    )


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv.gz"])
def test_writes_by_the_ending(edges, ending):
    for name in ("bfs", "sssp", "components"):
        run(name, edges, *start_of(name), "-o", edges.with_name(f"{name}{ending}"))
    there = sorted(os.listdir(edges.parent))
    assert there == [f"bfs{ending}", f"components{ending}", "edges.csv", f"sssp{ending}"]


def options_and_meaning():
    yield "bfs", [], {}, {}
    yield "bfs", ["--undirected"], {"directed": False}, {}
    yield "bfs", ["--depth-limit", 1], {}, {"depth_limit": 1}
    yield "bfs", ["--depth-limit", 0], {}, {"depth_limit": 0}
    yield "bfs", ["--no-predecessors"], {}, {"predecessors": False}
    reverse = {"source": "destination", "destination": "source"}
    yield "bfs", ["--source", "destination", "--destination", "source"], reverse, {}
    weighted = {"weight": "km", "multi_edges": "min"}
    yield "sssp", [], {}, {}
    yield "sssp", ["--weight", "km"], weighted, {}
    yield "sssp", ["--weight", "km", "--undirected"], weighted | {"directed": False}, {}
    for policy in ("first", "sum", "max", "keep"):
        options = ["--weight", "km", "--multi-edges", policy]
        yield "sssp", options, weighted | {"multi_edges": policy}, {}
    yield "sssp", ["--weight", "km", "--cutoff", 3], weighted, {"cutoff": 3}
    yield "sssp", ["--weight", "km", "--cutoff", "2.5"], weighted, {"cutoff": 2.5}
    yield "sssp", ["--weight", "km", "--cutoff", "inf"], weighted, {}
    yield "sssp", ["--no-predecessors"], {}, {"predecessors": False}


@pytest.mark.parametrize(("name", "options", "build", "how"), list(options_and_meaning()))
def test_options_mean_what_they_mean_in_python(edges, tmp_path, name, options, build, how):
    run(name, edges, "--from", "b", *options, "--verify", "-o", tmp_path / "r.parquet")
    expected = getattr(rg, name)(build_storage(EDGES, **{"weight": None} | build), "b", **how)
    assert written(tmp_path / "r.parquet") == plain(expected)


def test_parallel_edges_of_sssp_are_the_cheapest(edges, tmp_path):
    frame = EDGES.rename(columns={"km": "weight"}).iloc[::-1]  # a -> c costs 9, then 4
    write_frame(frame, tmp_path / "r.csv")
    assert rows_of(run("sssp", tmp_path / "r.csv", "--from", "a", "--cutoff", 2)) == [
        ["b", "1.0", "a"]
    ]
    frame = frame[frame["source"] != "b"]
    write_frame(frame, tmp_path / "r.csv")
    assert run("sssp", tmp_path / "r.csv", "--from", "a").stdout.splitlines()[1] == "c\t4.0\ta"
    done = run("sssp", tmp_path / "r.csv", "--from", "a", "--multi-edges", "first")
    assert done.stdout.splitlines()[1:] == ["c\t9.0\ta", "d\t9.25\tc"]


def test_a_column_weight_is_what_edges_cost(tmp_path):
    def distances(path, *options):
        run("sssp", path, "--from", 1, *options, "-o", tmp_path / "r.parquet")
        return written(tmp_path / "r.parquet")["distance"]

    (tmp_path / "named.csv").write_text("weight,destination,source\n0.5,2,1\n2,3,2\n")
    (tmp_path / "bare.txt").write_text("1 2 0.5\n2 3 2\n")
    (tmp_path / "other.csv").write_text("source,destination,cost\n1,2,0.5\n2,3,2\n")
    (tmp_path / "real.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n2 3 2\n"
    )
    for name in ("named.csv", "bare.txt", "real.mtx"):
        assert distances(tmp_path / name) == [0, 0.5, 2.5]
    assert distances(tmp_path / "other.csv") == [0, 1, 2]
    assert distances(tmp_path / "other.csv", "--weight", "cost") == [0, 0.5, 2.5]
    (tmp_path / "end.csv").write_text("source,weight\n1,2\n2,3\n")
    assert distances(tmp_path / "end.csv", "--destination", "weight") == [0, 1, 2]


# Where to start


def test_several_starts(edges, numbers, tmp_path):
    assert run("bfs", edges, "--from", "a", "--from", "e").stdout == "0\t2\n1\t3\n2\t1\n"
    assert run("bfs", edges, "--from", "a", "--from", "a").stdout == "0\t1\n1\t2\n2\t1\n"
    assert run("bfs", numbers, "--from", -3, "--from", 900).stdout == "0\t2\n1\t2\n"
    assert run("bfs", numbers, "--from", " 5 ").stdout == "0\t1\n1\t2\n"


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".txt.gz", ".parquet", ".arrow"])
def test_starts_in_a_file(edges, numbers, tmp_path, ending):
    path = tmp_path / f"starts{ending}"
    write_frame(pd.DataFrame({"vertex": ["a", "e"]}), path)
    assert run("bfs", edges, "--from-file", path).stdout == "0\t2\n1\t3\n2\t1\n"
    write_frame(pd.DataFrame({"vertex": [-3, 5], "value": [0.5, 1.5]}), path)
    assert run("bfs", numbers, "--from-file", path, "--from", 900).stdout == "0\t3\n1\t2\n"


def test_numbers_are_text_where_text_names_vertices(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("source,destination\n007,x\n7,y\nx,8\n")
    (tmp_path / "starts.csv").write_text("vertex\n007\n")
    for start in (["--from", "007"], ["--from-file", tmp_path / "starts.csv"]):
        assert run("sssp", path, *start).stdout == "x\t1.0\t007\n8\t2.0\tx\n"
    write_frame(pd.DataFrame({"vertex": [7]}), tmp_path / "starts.parquet")
    done = run("sssp", path, "--from-file", tmp_path / "starts.parquet")
    assert done.stdout == "y\t1.0\t7\n"


def test_names_of_several_columns(tmp_path):
    path, starts = tmp_path / "e.csv", tmp_path / "starts.csv"
    write_frame(PAIRS, path)
    columns = ["--source", "net", "--source", "u", "--destination", "net", "--destination", "v"]
    expected = "x,1\t2\t1.0\t1\nx,1\t3\t1.5\t2\n"
    done = run("sssp", path, *columns, "--from", '"x,1",1', "--verify")
    assert done.stdout == expected
    assert "4 reached" not in done.stderr
    write_frame(pd.DataFrame({"net": ["x,1"], "vertex": [1]}), starts)
    assert run("sssp", path, *columns, "--from-file", starts).stdout == expected
    assert run("bfs", path, *columns, "--from-file", starts, "--from", "y,1").stdout == (
        "0\t2\n1\t2\n2\t1\n"
    )
    run("bfs", path, *columns, "--from", "y,1", "-o", tmp_path / "r.parquet")
    graph = build_storage(PAIRS, ["net", "u"], ["net", "v"])
    assert written(tmp_path / "r.parquet") == plain(rg.bfs(graph, ("y", 1)))
    assert run("components", path, *columns).stdout == "0\t3\n1\t2\n"
    for text, message in (
        ("y", "--from 'y': 2 columns name a vertex (net, vertex); join their values by commas"),
        ("", "--from '': 2 columns name a vertex (net, vertex); join their values by commas"),
        ("y\n,1", "--from 'y\\n,1': 2 columns name a vertex (net, vertex); join their values by "
         "commas"),
        ("y,x", "--from 'y,x': vertices are named by integers"),
        ("y,3", "--from: vertex ('y', 3) is not in the graph"),
    ):  # fmt: skip
        done = run("bfs", path, *columns, "--from", text, code=1)
        assert done.stderr == f"error: {message}\n"


@pytest.mark.parametrize("command", ["bfs", "sssp"])
def test_a_source_in_a_file_that_is_not_in_the_graph(edges, tmp_path, command):
    starts = tmp_path / "starts.csv"
    starts.write_text("vertex\na\nq\nb\nr\n")
    done = run(command, edges, "--from-file", starts, code=1)
    message = "2 of 4 vertices are not in the graph: 'q', 'r'"
    assert done.stderr == f"error: {starts}, line 3: {message}\n"
    done = run(command, edges, "--from", "z", "--from-file", starts, code=1)
    assert done.stderr.startswith("error: --from: 3 of 5 vertices are not in the graph: 'z', ")


def test_a_source_in_one_of_several_files(edges, tmp_path):
    for suffix, place in (("csv", "line 3"), ("parquet", "row 1")):
        folder = tmp_path / suffix
        folder.mkdir()
        for number, names in enumerate([["a", "b"], ["c", "q"]]):
            write_frame(pd.DataFrame({"vertex": names}), folder / f"{number}.{suffix}")
        for given in (folder, folder / f"*.{suffix}"):
            done = run("bfs", edges, "--from-file", given, code=1)
            message = f"{place}: vertex 'q' is not in the graph"
            assert done.stderr == f"error: {folder}/1.{suffix}, {message}\n"


# What is said


def test_verify_says_what_it_found(edges, monkeypatch):
    done = run("bfs", edges, "--from", "a", "--verify")
    assert "6 vertices, 6 edges on the CPU: read in" in done.stderr
    assert "reached 4 of 6 vertices, the farthest at distance 2\n" in done.stderr
    assert "verified: no edge skips a level" in done.stderr
    done = run("sssp", edges, "--from", "a", "--verify", "--weight", "km")
    assert "reached 4 of 6 vertices, the farthest at distance 3.25\n" in done.stderr
    assert "verified: no edge shortens a path" in done.stderr
    assert "costs" not in done.stderr
    assert "weights of edges" not in done.stderr
    done = run("sssp", edges, "--from", "a", "--verify")
    assert COSTS_1 in done.stderr
    done = run("components", edges, "--verify")
    assert "components: 2, the largest of 4 vertices\n" in done.stderr
    assert "verified: every component is connected, and no edge joins two\n" in done.stderr


@pytest.mark.parametrize(
    ("name", "function", "column"),
    [
        ("bfs", "bfs", "distance"),
        ("sssp", "sssp", "distance"),
        ("components", "connected_components", "component"),
    ],
)
def test_a_wrong_result_is_not_written(edges, monkeypatch, name, function, column):
    right = getattr(rg, function)

    def wrong(*arguments, **options):
        result = right(*arguments, **options)
        return result.assign(**{column: result[column] + 1})

    monkeypatch.setattr(rg, function, wrong)
    start = start_of(name)
    done = run(name, edges, *start, "--verify", "-o", edges.with_name("r.csv"), code=1)
    assert "error: " in done.stderr
    assert "verified" not in done.stderr
    assert os.listdir(edges.parent) == ["edges.csv"]


def test_errors_name_options_instead_of_parameters():
    for error, message in (
        (
            VertexNotFoundError("{parameter}: vertex 7 is not in the graph", parameter="source"),
            "--from: vertex 7 is not in the graph",
        ),
        (
            GraphError("{parameter} is empty; name at least one vertex", parameter="source"),
            "--from is empty; name at least one vertex",
        ),
        (
            frames.missing_column_error("source", ["from", "to"], "source"),
            "there is no column 'source'; the columns are from, to; did you mean 'from'? Use "
            "--source from",
        ),
        (
            frames.missing_endpoint_error(None, ["from", "to", "km"], {}),
            "there are no columns 'source' and 'destination'; the columns are from, to, km; did "
            "you mean 'from' and 'to'? Use --source from --destination to",
        ),
        (
            frames.missing_endpoint_error(None, ["source", "to", "km"], {}),
            "there is no column 'destination'; the columns are source, to, km; did you mean 'to'? "
            "Use --destination to",
        ),
        (
            GraphError("{parameter} is nan; it must be a number", parameter="cutoff"),
            "--cutoff is nan; it must be a number",
        ),
        (
            GraphError("{parameter} is -1; it must be", parameter="depth_limit"),
            "--depth-limit is -1; it must be",
        ),
        (GraphError("cutoff.csv: there is no such file"), "cutoff.csv: there is no such file"),
        (GraphError("sources/depth_limit.csv: gone"), "sources/depth_limit.csv: gone"),
    ):
        assert describe_error(error) == message


@pytest.mark.slow
def test_plot(edges):
    pytest.importorskip("matplotlib")
    for name in ("bfs", "sssp", "components"):
        run(name, edges, *start_of(name), "--plot", edges.with_name("a.png"))
        assert edges.with_name("a.png").read_bytes().startswith(b"\x89PNG")
        edges.with_name("a.png").unlink()


# What goes wrong


def mistakes():
    starts = ["--from", "a"]
    for name in ("bfs", "sssp"):
        yield [name, "edges.csv", "--from", "x"], "--from: vertex 'x' is not in the graph"
        yield [name, "edges.csv", "--from", ""], "--from: vertex '' is not in the graph"
        yield [name, "numbers.txt", "--from", "6"], "--from: vertex 6 is not in the graph"
        yield [name, "numbers.txt", "--from", "x"], "--from 'x': vertices are named by integers"
        yield [name, "numbers.txt", "--from", "5.0"], "--from '5.0': vertices are named by int"
        yield [name, "numbers.txt", "--from", "5_0"], "--from '5_0': vertices are named by int"
        for digits in (20, 30, 5000):
            message = "': vertex names that are integers have at most 64 bits"
            yield [name, "numbers.txt", "--from", "9" * digits], message
        yield [name, "edges.csv", "--from-file", "none.csv"], "none.csv: there is no such file"
        yield [name, "edges.csv", "--from-file", "void.csv"], "void.csv: the file is empty"
        yield [name, "edges.csv", "--from-file", "head.csv"], "head.csv: the table has no rows"
        yield [name, "edges.csv", "--from-file", "cut.parquet"], "cut.parquet: truncated, damaged"
        yield (
            [name, "edges.csv", "--from-file", "numbers.txt"],
            "numbers.txt: there must be one column 'vertex'; the columns are source, destination",
        )
        yield (
            [name, "numbers.txt", "--from-file", "letters.csv"],
            "letters.csv, line 3: vertices are named by integers",
        )
        yield (
            [name, "edges.csv", "--from-file", "ragged.csv"],
            "ragged.csv, line 2: the number of fields is 2, not 1",
        )
        yield [name, "bare.csv", *starts], "there are no edges, so there is no source vertex"
        yield [name, "edges.csv", *starts, "-o", "a.txt"], "a.txt: SNAP text cannot hold missing"
        yield (
            [name, "edges.csv", *starts, "-o", "a.mtx"],
            "a.mtx: Matrix Market files hold edges, not",
        )
    yield ["sssp", "edges.csv", *starts, "--weight", "kilo"], "there is no column 'kilo'"
    yield ["sssp", "minus.csv", *starts], "minus.csv, line 3: weight in column 'weight' is -2.0"
    yield ["sssp", "words.csv", *starts], "words.csv, line 3: 'far' in column 'weight' is not a num"
    yield ["components", "edges.csv", "-o", "a.mtx"], "a.mtx: Matrix Market files hold edges"
    for name in ("bfs", "sssp", "components"):
        start = start_of(name)
        yield [name, "missing.csv", *start], "missing.csv: there is no such file"
        yield [name, "void.csv", *start], "void.csv: the file is empty"
        yield [name, ".", *start], "numbers.txt: it is snap, and bare.csv is csv"
        yield [name, "cut.parquet", *start], "cut.parquet: truncated, damaged or of another format"
        yield [name, "edges.csv", *start, "--source", "from"], "there is no column 'from'"
        yield [name, "edges.csv", *start, "-o", "a.xls"], "a.xls: the ending '.xls' is not known"
        yield [name, "edges.csv", *start, "-o", "folder.csv"], "folder.csv: it is a folder"
        yield [name, "edges.csv", *start, "-o", "none/a.csv"], "the folder .* does not exist"
        yield [name, "edges.csv", *start, "--plot", "a.bmp"], "a.bmp: the ending '.bmp' is not"
        yield [name, "edges.csv", *start, "--device", "gpu"], "device='gpu' was requested, but this"


@pytest.mark.parametrize(("arguments", "message"), list(mistakes()))
def test_mistakes_are_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write_frame(EDGES, "edges.csv")
    write_frame(NUMBERS, "numbers.txt")
    for name, text in (
        ("void.csv", ""),
        ("head.csv", "vertex,value\n"),
        ("bare.csv", "source,destination\n"),
        ("letters.csv", "vertex\n5\nx\n"),
        ("ragged.csv", "vertex\na,b\n"),
        ("minus.csv", "source,destination,weight\na,b,1\nb,c,-2\n"),
        ("words.csv", "source,destination,weight\na,b,1\nb,c,far\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "folder.csv").mkdir()
    write_frame(EDGES, "whole.pq")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "whole.pq").read_bytes()[:-20])
    (tmp_path / "whole.pq").unlink()
    there = sorted(os.listdir(tmp_path))
    if arguments[1] == ".":
        (tmp_path / "cut.parquet").unlink()
        there.remove("cut.parquet")
    done = run(*arguments, code=1)
    assert re.match(f"error: .*{re.escape(message).replace(re.escape('.*'), '.*')}", done.stderr)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert sorted(os.listdir(tmp_path)) == there


@pytest.mark.parametrize(
    "arguments",
    [
        ["bfs", "a.csv"],
        ["sssp", "a.csv"],
        ["bfs", "--from", "a"],
        ["components"],
        ["bfs", "a.csv", "--from", "a", "--depth-limit", "-1"],
        ["bfs", "a.csv", "--from", "a", "--depth-limit", "1.5"],
        ["sssp", "a.csv", "--from", "a", "--cutoff", "-1"],
        ["sssp", "a.csv", "--from", "a", "--cutoff", "nan"],
        ["sssp", "a.csv", "--from", "a", "--cutoff", "far"],
        ["sssp", "a.csv", "--from", "a", "--top", "0"],
        ["sssp", "a.csv", "--from"],
        ["bfs", "a.csv", "--from", "a", "--weight", "km"],  # edges count one each
    ],
)
def test_wrong_usage_is_code_2(arguments, tmp_path, monkeypatch):
    write_frame(EDGES, tmp_path / "a.csv")
    monkeypatch.chdir(tmp_path)
    assert run(*arguments, code=2).stdout == ""


def test_a_start_is_asked_for_by_name(tmp_path):
    write_frame(EDGES, tmp_path / "a.csv")
    assert "--from" in run("bfs", tmp_path / "a.csv", code=2).stderr
    for name in ("bfs", "sssp"):
        assert "Give --from or --from-file, unless" in run(name, "--help").stdout


COMMANDS = ("pagerank", "bfs", "sssp", "components")
READ = {"pagerank": ("--personalization", "--start", "--dangling")}
READ |= dict.fromkeys(("bfs", "sssp"), ("--from-file",))


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_read_is_not_written_over(edges, tmp_path, name):
    def refused(message, *arguments):
        text = {path: path.read_bytes() for path in there}
        done = run(name, *arguments, code=1)
        assert re.search(message, done.stderr)
        assert {path: path.read_bytes() for path in there} == text

    start = ["--from", "a"] if name in ("bfs", "sssp") else []
    values, link = tmp_path / "values.csv", tmp_path / "link.csv"
    write_frame(pd.DataFrame({"vertex": ["a"], "value": [1.0]}), values)
    link.symlink_to(edges)
    there = [edges, values]
    message = "--output would overwrite EDGES, which is an input; name another file"
    for output in (edges, link, tmp_path / ".." / tmp_path.name / "edges.csv"):
        named = (
            message if output == edges else re.escape(f"{output}: --output would overwrite EDGES")
        )
        refused(named, edges, *start, "-o", output)
    refused(rf"edges.csv: --output .* EDGES \({link}\)", link, *start, "--output", edges)
    for option in READ.get(name, ()):
        message = f"values.csv: --output would overwrite {option}, which is an input"
        refused(message, edges, *start, option, values, "-o", values)
        run(name, edges, *start, option, values, "-o", tmp_path / "new.csv")
    parts = tmp_path / "parts"
    parts.mkdir()
    write_frame(EDGES, parts / "a.parquet")
    there = [parts / "a.parquet"]
    for output in ("a.parquet", "b.pq", "b.csv.gz"):  # the folder would be mixed
        refused("--output would overwrite EDGES", parts, *start, "-o", parts / output)
    assert os.listdir(parts) == ["a.parquet"]
    refused("--output would overwrite EDGES", f"{parts}/*", *start, "-o", parts / "b.csv")


def test_a_picture_does_not_replace_what_is_read(edges):
    pytest.importorskip("matplotlib")
    link = edges.with_name("edges.png")
    link.symlink_to(edges)
    done = run("components", edges, "--plot", link, code=1)
    assert "edges.png: --plot would overwrite EDGES" in done.stderr
    assert edges.read_text().startswith("source")


@pytest.mark.parametrize("name", COMMANDS)
def test_standard_input_is_that_of_edges(edges, name):
    start = ["--from", "a"] if name in ("bfs", "sssp") else []
    done = run(name, "-", *start, code=1)
    assert done.stderr.startswith("error: EDGES is -; give the format of standard input by --for")
    for option in READ.get(name, ()):
        done = run(name, edges, option, "-", code=1)
        assert done.stderr.startswith(f"error: {option} is -, but only EDGES is read from standard")


def test_results_and_starts_are_checked_before_the_edges_are_read(edges, monkeypatch):
    monkeypatch.setattr("rapidsgraph.io.read_edges", lambda *_, **__: pytest.fail("too late"))
    for name in ("bfs", "sssp", "components"):
        run(name, edges, *start_of(name), "--output", edges.with_name("none") / "a.csv", code=1)
        run(name, edges, *start_of(name), "--plot", edges.with_name("none") / "a.png", code=1)
    run("bfs", edges, "--from-file", edges.with_name("none.csv"), code=1)
    run("sssp", edges, "--from-file", edges.with_name("none.csv"), code=1)


@pytest.mark.gpu
def test_on_a_gpu(edges, tmp_path):
    done = run("bfs", edges, "--from", "a", "--verify", "-o", tmp_path / "r.csv", "--top", 9)
    assert "6 vertices, 6 edges on the GPU" in done.stderr
    assert done.stdout == "0\t1\n1\t2\n2\t1\n"
    assert (tmp_path / "r.csv").read_text().splitlines()[4:] == ["d,2,b", "e,,", "f,,"]
    done = run("sssp", edges, "--from", "a", "--weight", "km", "--verify")
    assert done.stdout == "b\t1.0\ta\nc\t3.0\tb\nd\t3.25\tc\n"
    assert run("components", edges, "--verify").stdout == "0\t4\n1\t2\n"
    for name in ("bfs", "sssp", "components"):
        run(name, edges, *start_of(name), "--plot", tmp_path / "a.png")
