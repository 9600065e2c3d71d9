"""The command scan: what it prints, writes, checks and refuses."""

import contextlib
import os
import re
import signal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import build_storage
from test_cli import run, without_gpu  # noqa: F401  a fixture for all tests here
from test_cli_process import INTERRUPTED, INTERRUPTS_ITSELF, shown_on_a_terminal, start

import rapidsgraph as rg
from rapidsgraph.algorithms.similarity import KERNEL_METHODS
from rapidsgraph.cli import scan as command
from rapidsgraph.io import read_edges, write_frame

pytestmark = pytest.mark.slow

# Triangles a, b, c and e, f, g; d joins them, h hangs on d and z on a. Some edges come twice, in
# both directions, or lead from a vertex to itself.
EDGES = pd.DataFrame(
    {
        "source": ["a", "c", "c", "b", "d", "f", "f", "g", "h", "z", "c", "z", "a"],
        "destination": ["b", "a", "b", "c", "c", "e", "g", "e", "d", "a", "d", "z", "b"],
    }
)
EDGES = pd.concat([EDGES, pd.DataFrame({"source": ["e"], "destination": ["d"]})])
ROWS = """a,0,core
b,0,core
c,0,core
d,,hub
e,1,core
f,1,core
g,1,core
h,,outlier
z,0,border
"""
# The similarity of u and v is 4 / 5, that of all others below.
NEAR = pd.DataFrame({"source": list("uuuvvuv"), "destination": list("vxyxypq")})
# A vertex between two cliques of four, similar to two of each: a border of both
CLIQUES = pd.DataFrame(
    [(10 * k + i, 10 * k + j) for k in (1, 2) for i in range(4) for j in range(i)]
    + [(0, 10), (0, 20)],
    columns=["source", "destination"],
)
PAIRS = pd.DataFrame({"net": ["x"] * 3 + ["y"] * 3, "u": [1, 2, 3] * 2, "v": [2, 3, 1, 2, 3, 3]})
SWEEP = ["epsilon", "mu", "clusters", "largest", "clustered", "cores", "hubs", "outliers"]
SWEEP += ["modularity"]
MANY = [place / 10 for place in range(1, 10)], [2, 3, 4, 5]


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    write_frame(EDGES, path)
    return path


def rows_of(done):
    return [line.split("\t") for line in done.stdout.splitlines()]


def written(path):
    """{column: values} of a result, with None where there is nothing."""
    return pq.read_table(path).to_pydict()


def plain(result):
    """The same of a result frame."""
    return pa.Table.from_pandas(result, preserve_index=False).to_pydict()


# What is printed


def test_prints_the_largest_clusters(edges, tmp_path):
    done = run("scan", edges, "--epsilon", 0.7)
    # cluster, vertices, cores, borders, smallest vertex
    assert done.stdout == "0\t4\t3\t1\ta\n1\t3\t3\t0\te\n"
    assert done.stderr == ""
    assert run("scan", edges, "--epsilon", 0.7, "--top", 1).stdout == "0\t4\t3\t1\ta\n"
    assert run("scan", edges, "--epsilon", 0.7, "--undirected").stdout == done.stdout
    assert run("scan", edges, "--epsilon", 1).stdout == ""
    ring = np.arange(40)
    cliques = pd.DataFrame({"source": ring, "destination": ring // 2 * 2 + 1})
    write_frame(cliques, tmp_path / "p.txt")
    expected = "".join(f"{i}\t2\t2\t0\t{2 * i}\n" for i in range(20))
    done = run("scan", tmp_path / "p.txt", "--mu", 2)
    assert done.stdout == "".join(expected.splitlines(keepends=True)[:10])
    assert run("scan", tmp_path / "p.txt", "--mu", 2, "--top", 99).stdout == expected


def test_by_default_epsilon_is_a_half_and_mu_three(edges, tmp_path):
    run("scan", edges, "-o", tmp_path / "r.parquet")
    assert written(tmp_path / "r.parquet") == plain(rg.scan(EDGES))
    assert plain(rg.scan(EDGES)) == plain(rg.scan(EDGES, epsilon=0.5, mu=3))


def test_memberships_count_for_every_cluster(tmp_path):
    path = tmp_path / "e.csv"
    write_frame(CLIQUES, path)
    given = ["scan", path, "--epsilon", 0.5, "--mu", 4]
    done = run(*given)
    assert done.stdout == "0\t5\t4\t1\t0\n1\t4\t4\t0\t20\n"
    done = run(*given, "--memberships", "--verify")
    assert done.stdout == "0\t5\t4\t1\t0\n1\t5\t4\t1\t0\n"
    assert (
        "clusters: 2, cores: 8, borders: 1 (in clusters 2 times), hubs: 0, outliers: 0\n"
        in done.stderr
    )
    run(*given, "--memberships", "-o", tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text().splitlines()[:4] == [
        "vertex,cluster,role",
        "0,0,border",
        "0,1,border",
        "10,0,core",
    ]


# What is written


def test_writes_every_vertex(edges, tmp_path):
    result = tmp_path / "r.csv"
    done = run("scan", edges, "--epsilon", 0.7, "-o", result)
    assert (done.stdout, done.stderr) == ("", "")
    assert result.read_text() == "vertex,cluster,role\n" + ROWS
    done = run("scan", edges, "--epsilon", 0.7, "-o", result, "--top", 1)
    assert done.stdout == "0\t4\t3\t1\ta\n"


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv.gz"])
def test_writes_by_the_ending(edges, ending):
    run("scan", edges, "-o", edges.with_name(f"r{ending}"))
    run("scan", edges, "--sweep", "-o", edges.with_name(f"s{ending}"))
    there = sorted(os.listdir(edges.parent))
    assert there == ["edges.csv", f"r{ending}", f"s{ending}"]


@pytest.mark.parametrize("method", KERNEL_METHODS)
@pytest.mark.parametrize(("epsilon", "mu"), [("0.7", 3), (".75", 2), ("1", 1), ("6e-1", 4)])
def test_options_mean_what_they_mean_in_python(edges, tmp_path, epsilon, mu, method):
    given = ["--epsilon", epsilon, "--mu", mu, "--method", method, "--verify"]
    run("scan", edges, *given, "-o", tmp_path / "r.parquet")
    expected = rg.scan(EDGES, epsilon=float(epsilon), mu=mu)
    assert written(tmp_path / "r.parquet") == plain(expected)


def test_epsilon_is_the_decimal_as_written(tmp_path):
    write_frame(NEAR, tmp_path / "e.csv")
    given = ["scan", tmp_path / "e.csv", "--mu", 2, "--epsilon"]
    assert float("0.80000000000000001") == 0.8
    for same in ("0.8", "0.80", "8e-1", "0.79999999999999999999999"):
        assert run(*given, same, "--verify").stdout == "0\t2\t2\t0\tu\n"
    assert run(*given, "0.80000000000000001", "--verify").stdout == ""
    given = ["--sweep", "--epsilon", "0.8", "--epsilon", "0.80000000000000001", "--mu", 2]
    done = run("scan", tmp_path / "e.csv", *given)
    assert [row[:3] for row in rows_of(done)] == [["0.8", "2", "1"], ["0.8", "2", "0"]]


def test_directions_do_not_matter(edges, tmp_path):
    write_frame(EDGES.iloc[::-1], edges)
    ends = ["--source", "destination", "--destination", "source"]
    run("scan", edges, "--epsilon", 0.7, *ends, "-o", tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == "vertex,cluster,role\n" + ROWS


def test_names_of_several_columns(tmp_path):
    path = tmp_path / "e.csv"
    write_frame(PAIRS, path)
    columns = ["--source", "net", "--source", "u", "--destination", "net", "--destination", "v"]
    given = ["scan", path, *columns, "--epsilon", 0.9, "--verify"]
    done = run(*given, "-o", tmp_path / "r.parquet", "--top", 9)
    assert done.stdout == "0\t3\t3\t0\tx\t1\n"
    graph = build_storage(PAIRS, ["net", "u"], ["net", "v"])
    assert written(tmp_path / "r.parquet") == plain(rg.scan(graph, epsilon=0.9))
    run(*given, "--similarities", tmp_path / "s.parquet")
    assert written(tmp_path / "s.parquet") == plain(rg.structural_similarity(graph))
    assert list(written(tmp_path / "s.parquet")) == ["net", "source", "destination", "similarity"]


@pytest.mark.parametrize("more", [[], ["--sweep"], ["--method", "gpuscan"]])
def test_similarities(edges, tmp_path, more):
    done = run("scan", edges, "--similarities", tmp_path / "s.csv", *more, "--top", 1)
    assert len(rows_of(done)) == 1
    lines = (tmp_path / "s.csv").read_text().splitlines()
    assert lines[0] == "source,destination,similarity"
    assert lines[2] == "a,c,0.75"
    assert len(lines) == 11
    assert lines[-1].startswith("f,g,1")
    run("scan", edges, "--similarities", tmp_path / "s.txt", *more)
    frame = read_edges(tmp_path / "s.txt", weight=None, device="cpu")
    assert len(frame) == 10


# A sweep


def test_a_sweep_prints_a_row_a_pair(edges):
    given = ["--epsilon", "0.7", "--epsilon", "0.9", "--epsilon", "0.70", "--mu", 3, "--mu", 2]
    done = run("scan", edges, "--sweep", *given)
    expected = rg.ScanIndex(EDGES).sweep([0.7, 0.9], [3, 2])
    assert expected["clusters"].tolist() == [2, 3, 0, 1]
    assert [[float(field) for field in row] for row in rows_of(done)] == expected.values.tolist()
    assert done.stdout.startswith(f"0.7\t3\t2\t4\t{7 / 9}\t6\t1\t1\t0.")
    assert done.stderr == ""


def test_a_sweep_of_what_is_usual(edges, tmp_path):
    done = run("scan", edges, "--sweep", "-o", tmp_path / "s.parquet")
    assert (done.stdout, done.stderr) == ("", "")
    expected = rg.ScanIndex(EDGES).sweep(*MANY)
    assert len(expected) == 36
    assert list(expected) == SWEEP
    assert written(tmp_path / "s.parquet") == plain(expected)
    assert len(rows_of(run("scan", edges, "--sweep"))) == 36
    done = run("scan", edges, "--sweep", "--mu", 3, "-o", tmp_path / "s.txt")
    assert (tmp_path / "s.txt").read_text().splitlines()[0] == "# " + "\t".join(SWEEP)
    assert len((tmp_path / "s.txt").read_text().splitlines()) == 10
    done = run("scan", edges, "--sweep", "--epsilon", "0.6", "--method", "gpuscan")
    assert [row[:2] for row in rows_of(done)] == [["0.6", str(mu)] for mu in (2, 3, 4, 5)]


def test_the_best_of_a_sweep(edges, tmp_path):
    done = run("scan", edges, "--sweep", "--top", 3, "-o", tmp_path / "s.csv")
    best = rg.ScanIndex(EDGES).sweep(*MANY).nlargest(3, "modularity")
    assert [[float(field) for field in row] for row in rows_of(done)] == best.values.tolist()
    assert best["modularity"].is_monotonic_decreasing


def test_a_sweep_reports_every_pair(edges, monkeypatch):
    calls = []

    @contextlib.contextmanager
    def reporter(progress, what, total):
        calls.append((progress, what, total))  # None: a bar on a terminal, if it takes long
        yield lambda *call: calls.append(call)

    monkeypatch.setattr("rapidsgraph.cli.scan.reporter", reporter)
    run("scan", edges, "--sweep", "--mu", 2, "--epsilon", "0.50", "--epsilon", ".7")
    assert calls == [(None, "Sweep", 2), (1, "epsilon 0.50, mu 2"), (2, "epsilon 0.7, mu 2")]


@pytest.mark.parametrize(
    ("room", "left_out"),
    [(88, []), (87, ["cores"]), (79, ["cores", "outliers"]), (60, ["cores", "outliers", "hubs"])],
)
def test_a_terminal_shows_what_it_has_room_for(monkeypatch, room, left_out):
    monkeypatch.setenv("COLUMNS", str(room))
    rows = rg.ScanIndex(EDGES).sweep(*MANY)
    shown = command._fit_terminal(rows.round({"clustered": 4, "modularity": 4}))
    assert list(shown) == [name for name in SWEEP if name not in left_out]
    wide = rows.assign(clusters=123_456_789, largest=1)[:1]
    assert "cores" not in command._fit_terminal(wide)  # as long as it is printed


# What is said


def test_verify_says_what_it_found(edges):
    done = run("scan", edges, "--epsilon", 0.7, "--verify")
    assert "9 vertices, 10 edges on the CPU: read in" in done.stderr
    assert "clusters: 2, cores: 6, borders: 1, hubs: 1, outliers: 1\n" in done.stderr
    assert (
        "verified: similar cores share a cluster, each cluster is connected, and the roles are "
        "right\n" in done.stderr
    )


def test_no_cluster_is_said(edges):
    done = run("scan", edges, "--epsilon", 1, "--verify")
    assert done.stdout == ""
    line = "no cluster, cores: 0, borders: 0, hubs: 0, outliers: 9; a lower --epsilon or --mu may"
    assert line in done.stderr
    run("scan", edges, "--epsilon", 1, "-o", edges.with_name("r.csv"))
    back = pd.read_csv(edges.with_name("r.csv"), dtype={"cluster": "Int32"})
    assert back["cluster"].isna().all() and back["cluster"].dtype == "Int32"


def test_a_wrong_result_is_not_written(edges, monkeypatch):
    right = rg.scan

    def wrong(*arguments, **options):
        result = right(*arguments, **options)
        return result.assign(role=result["role"].replace("hub", "outlier"))

    monkeypatch.setattr(rg, "scan", wrong)
    given = ["scan", edges, "--epsilon", 0.7, "-o", edges.with_name("r.csv")]
    done = run(*given, "--similarities", edges.with_name("s.csv"), "--verify", code=1)
    assert "error: vertex d is an outlier; it must be a hub" in done.stderr
    assert "verified" not in done.stderr
    assert os.listdir(edges.parent) == ["edges.csv"]


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_plot(edges, ending):
    pytest.importorskip("matplotlib")
    first = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[ending]
    picture = edges.with_name(f"a{ending}")
    options = ([], ["--memberships"], ["--sweep"], ["--sweep", "--epsilon", 0.5, "--mu", 3])
    for more in options if ending == ".png" else options[::2]:
        run("scan", edges, *more, "--plot", picture)
        assert picture.read_bytes().startswith(first)
        picture.unlink()


def test_pictures_show_the_result(edges, monkeypatch):
    drawn = {}
    for name in ("adjacency", "sweep"):
        monkeypatch.setattr(rg.plot, name, lambda *given, name=name: drawn.update({name: given}))
    pytest.importorskip("matplotlib")
    picture = edges.with_name("a.png")
    run("scan", edges, "--epsilon", 0.7, "--plot", picture)
    graph, clusters, path = drawn.pop("adjacency")
    assert (graph.num_edges, path) == (10, picture)
    assert plain(clusters) == plain(rg.scan(EDGES, epsilon=0.7))
    run("scan", edges, "--sweep", "--plot", picture)
    frame, path = drawn.pop("sweep")
    assert plain(frame) == plain(rg.ScanIndex(EDGES).sweep(*MANY))
    assert drawn == {}


# What goes wrong


def mistakes():
    yield ["missing.csv"], "missing.csv: there is no such file"
    yield ["void.csv"], "void.csv: the file is empty"
    yield ["."], "void.csv: the file is empty"
    yield ["cut.parquet"], "cut.parquet: truncated, damaged or of another format"
    yield ["gap.csv"], "gap.csv, line 3"
    yield ["edges.csv", "--source", "from"], "there is no column 'from'"
    for output in ("-o", "--similarities"):
        yield ["edges.csv", output, "a.xls"], "a.xls: the ending '.xls' is not known"
        yield ["edges.csv", output, "folder.csv"], "folder.csv: it is a folder"
        yield ["edges.csv", output, "none/a.csv"], "the folder .* does not exist"
        yield ["edges.csv", output, "a.mtx"], "a.mtx: Matrix Market files hold edges, not"
    yield ["edges.csv", "-o", "a.txt"], "a.txt: SNAP text cannot hold missing values"
    yield ["edges.csv", "--sweep", "-o", "a.mtx"], "Matrix Market files hold edges, not a sweep"
    yield ["edges.csv", "--plot", "a.bmp"], "a.bmp: the ending '.bmp' is not"
    yield ["edges.csv", "--device", "gpu"], "device='gpu' was requested, but this"
    yield (
        ["edges.csv", "-o", "a.csv", "--similarities", "./a.csv"],
        "a.csv: --similarities would overwrite --output; name another file",
    )
    yield ["-"], "EDGES is -; give the format of standard input by --format"


@pytest.mark.parametrize(("arguments", "message"), list(mistakes()))
def test_mistakes_are_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write_frame(EDGES, "edges.csv")
    (tmp_path / "void.csv").write_text("")
    (tmp_path / "gap.csv").write_text("source,destination\na,b\nc\n")
    (tmp_path / "folder.csv").mkdir()
    write_frame(EDGES, "whole.pq")
    if arguments[0] != ".":
        (tmp_path / "cut.parquet").write_bytes((tmp_path / "whole.pq").read_bytes()[:-20])
    (tmp_path / "whole.pq").unlink()
    there = sorted(os.listdir(tmp_path))
    done = run("scan", *arguments, code=1)
    assert re.match(f"error: .*{re.escape(message).replace(re.escape('.*'), '.*')}", done.stderr)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert sorted(os.listdir(tmp_path)) == there


def said(done):
    """What standard error says, without the frame and the lines of it."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", done.stderr).split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(
            (["a.csv", f"--epsilon={text}"], f"{text!r} is not a number above 0 and at most 1")
            for text in ("0", "1.5", "-0.5", "nan", "snan", "inf", "abc", "", "1/2", "1e-999999999")
        ),
        (["a.csv", "--epsilon", "1.00000000000000000000000001"], "at most 1"),
        *((["a.csv", "--mu", text], "'--mu'") for text in ("0", "1.5", "many")),
        (["a.csv", "--top", "0"], "'--top'"),
        (["a.csv", "--method", "guess"], "'--method'"),
        (["a.csv", "--epsilon", "0.5", "--epsilon", "0.6"], "--epsilon: give one value, or --sw"),
        (["a.csv", "--mu", "2", "--mu", "3"], "--mu: give one value, or --sweep"),
        (["a.csv", "--sweep", "--verify"], "--verify: a sweep counts clusters and does"),
        (["a.csv", "--sweep", "--memberships"], "--memberships: a sweep counts clusters and does"),
        (["a.csv", "--sweep", "--epsilon", "2"], "at most 1"),
        ([], "Missing argument 'EDGES'"),
    ],
)
def test_wrong_usage_is_code_2(arguments, message):
    done = run("scan", *arguments, code=2)
    assert done.stdout == ""
    assert message in said(done)


def test_one_value_several_times_is_one(edges):
    done = run("scan", edges, "--epsilon", "0.7", "--epsilon", "0.70", "--mu", 3, "--mu", 3)
    assert len(rows_of(done)) == 2


def test_an_empty_graph(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "e.csv").write_text("source,destination\n")
    done = run("scan", tmp_path / "e.csv", "--verify", "-o", tmp_path / "r.csv", "--top", 3)
    assert done.stdout == ""
    assert "\nno cluster, cores: 0, borders: 0, hubs: 0, outliers: 0\n" in done.stderr
    assert (tmp_path / "r.csv").read_text() == "vertex,cluster,role\n"
    done = run("scan", tmp_path / "e.csv", "--sweep", "--mu", 2, "--epsilon", 0.5)
    assert done.stdout == "0.5\t2\t0\t0\t0.0\t0\t0\t0\t0.0\n"
    done = run("scan", tmp_path / "e.csv", "--plot", tmp_path / "a.png", code=1)
    message = "error: there is nothing to plot: the graph has no vertices\n"
    assert done.stderr == f"there are no edges\n{message}"


def test_a_mu_beyond_every_neighborhood(edges):
    for mu in (10, 2**31, 2**63, 10**30):
        assert run("scan", edges, "--mu", mu).stdout == ""


def test_what_is_read_is_not_written_over(edges, tmp_path):
    text = edges.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(edges)
    for option in ("--output", "--similarities"):
        message = f"{option} would overwrite EDGES"
        for given in ([edges, option, edges], [edges, option, link], [link, option, edges]):
            for more in ([], ["--sweep"]):
                error = run("scan", *given, *more, code=1).stderr
                assert message in error and "which is an input; name another" in error
                assert edges.read_bytes() == text
    pytest.importorskip("matplotlib")
    picture = edges.with_name("edges.png")
    picture.symlink_to(edges)
    done = run("scan", edges, "--plot", picture, code=1)
    assert "edges.png: --plot would overwrite EDGES" in done.stderr


def test_results_are_checked_before_the_edges_are_read(edges, monkeypatch):
    monkeypatch.setattr("rapidsgraph.io.read_edges", lambda *_, **__: pytest.fail("too late"))
    for option in ("--output", "--similarities", "--plot"):
        for more in ([], ["--sweep"]):
            given = edges.with_name("none") / ("a.png" if option == "--plot" else "a.csv")
            run("scan", edges, *more, option, given, code=1)


# As a process


def test_a_terminal_gets_a_table_and_counts(edges):
    shown = shown_on_a_terminal("scan", edges, "--epsilon", "0.7")
    assert re.search(r"┃\s*cluster\s*┃\s*vertices\s*┃\s*cores\s*┃\s*borders\s*┃\s*smallest", shown)
    assert re.search(r"│\s*0\s*│\s*4\s*│\s*3\s*│\s*1\s*│\s*a\s*│", shown)
    assert "9 vertices, 10 edges on the CPU: read in" in shown
    assert "clusters: 2, cores: 6, borders: 1, hubs: 1, outliers: 1" in shown
    shown = shown_on_a_terminal("scan", edges, "--epsilon", 1)
    assert "no cluster, cores: 0, borders: 0, hubs: 0, outliers: 9; a lower" in shown
    shown = shown_on_a_terminal("scan", edges, "--sweep", "--mu", 3, "--epsilon", "0.7")
    assert re.search(r"│\s*0\.7\s*│\s*3\s*│\s*2\s*│\s*4\s*│\s*0\.77", shown)
    assert re.search(r"highest modularity: 0\.\d+ at epsilon 0\.7, mu 3", shown)


@pytest.mark.parametrize(
    ("options", "module", "name"),
    [
        (["--similarities", "s.csv"], "rapidsgraph", "structural_similarity"),
        (["--sweep"], "rapidsgraph.algorithms.scan_index", "cluster"),
        (["--sweep"], "rapidsgraph.io.writers", "_write"),
        *(pytest.param(*case, marks=pytest.mark.long) for case in [
            ([], "rapidsgraph", "scan"),
            (["--sweep"], "rapidsgraph", "ScanIndex"),
        ]),
    ],
)  # fmt: skip
def test_ctrl_c_leaves_the_old_result(edges, options, module, name):
    result = edges.with_name("r.csv")
    result.write_text("old")
    program = INTERRUPTS_ITSELF.format(module=module, name=name)
    given = ["scan", edges, *options, "--output", result]
    process = start(*given, program=program, cwd=edges.parent)
    assert process.communicate(timeout=60) == ("", INTERRUPTED)
    assert process.returncode == 130
    assert sorted(os.listdir(edges.parent)) == ["edges.csv", "r.csv"]
    assert result.read_text() == "old"


def test_a_closed_pipe_is_quiet(tmp_path):
    pairs = np.arange(60_000)
    frame = pd.DataFrame({"source": pairs, "destination": pairs // 2 * 2 + 1})
    write_frame(frame, tmp_path / "e.parquet")
    process = start("scan", tmp_path / "e.parquet", "--mu", 2, "--top", 60_000)
    assert process.stdout.readline() == "0\t2\t2\t0\t0\n"
    process.stdout.close()
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode in (1, -signal.SIGPIPE)


def test_help():
    shown = run("scan", "--help").stdout
    assert "Usage" in shown
    assert "(SCAN)" in shown
    assert "epsilon 0.1 to 0.9 in steps of 0.1, mu 2 to 5" in " ".join(
        re.sub("│", " ", shown).split()
    )
    assert "scan" in run("--help").stdout


@pytest.mark.gpu
def test_on_a_gpu(edges, tmp_path):
    given = ["scan", edges, "--epsilon", 0.7, "--verify", "--memberships"]
    done = run(*given, "-o", tmp_path / "r.csv", "--similarities", tmp_path / "s.csv", "--top", 9)
    assert "9 vertices, 10 edges on the GPU" in done.stderr
    assert "clusters: 2, cores: 6, borders: 1, hubs: 1, outliers: 1\n" in done.stderr
    assert done.stdout == "0\t4\t3\t1\ta\n1\t3\t3\t0\te\n"
    assert (tmp_path / "r.csv").read_text() == "vertex,cluster,role\n" + ROWS
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 11
    done = run("scan", edges, "--sweep", "--epsilon", 0.7, "--mu", 3)
    assert done.stdout.startswith(f"0.7\t3\t2\t4\t{7 / 9}\t6\t1\t1\t0.")
    for more in ([], ["--sweep"]):
        run("scan", edges, *more, "--plot", tmp_path / "a.png")
