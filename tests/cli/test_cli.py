"""Results, mistakes and exit codes of `pagerank` and commands that read no graph."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import build_storage
from typer.testing import CliRunner

import rapidsgraph as rg
from rapidsgraph import cli, device
from rapidsgraph.algorithms.pagerank import METHODS
from rapidsgraph.io import read_edges, read_vertex_values, write_frame

ROOT = Path(__file__).parents[2]
EDGES = pd.DataFrame({"source": ["a", "b", "c", "a"], "destination": ["b", "a", "a", "b"]})


try:
    RUNNER = CliRunner(mix_stderr=False)  # Click before 8.2
except TypeError:
    RUNNER = CliRunner()


def run(*arguments, code=0):
    """Run the command in this process; a traceback fails the test."""
    done = RUNNER.invoke(cli.app, [str(argument) for argument in arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done


def ranks_of(frame, *columns, **options):
    return rg.pagerank(build_storage(frame, *columns), **options)


@pytest.fixture(autouse=True)
def without_gpu(request, monkeypatch):
    """`auto` is the CPU, so that every digit can be compared."""
    if not request.node.get_closest_marker("gpu"):
        monkeypatch.setattr(device.arrays, "gpu_problem", lambda: "this test is without one")


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    write_frame(EDGES, path)
    return path


# pagerank


def test_prints_the_highest(edges):
    rows = [line.split("\t") for line in run("pagerank", edges).stdout.splitlines()]
    assert [row[:2] for row in rows] == [["1", "a"], ["2", "b"], ["3", "c"]]
    expected = ranks_of(EDGES).set_index("vertex")["pagerank"]
    assert [float(row[2]) for row in rows] == expected[["a", "b", "c"]].tolist()  # every digit
    assert run("pagerank", edges, "--top", 1).stdout.startswith("1\ta\t0.48")
    assert len(run("pagerank", edges, "--top", 1).stdout.splitlines()) == 1
    assert run("pagerank", edges).stderr == ""


def test_prints_ten_unless_told(tmp_path):
    ring = np.arange(30)
    write_frame(pd.DataFrame({"source": ring, "destination": (ring + 1) % 30}), tmp_path / "r.txt")
    rows = run("pagerank", tmp_path / "r.txt").stdout.splitlines()
    assert rows == [f"{place}\t{place - 1}\t{1 / 30}" for place in range(1, 11)]
    done = run("pagerank", tmp_path / "r.txt", "--output", tmp_path / "ranks.csv")
    assert done.stdout == ""
    done = run("pagerank", tmp_path / "r.txt", "-o", tmp_path / "ranks.csv", "--top", 30)
    assert len(done.stdout.splitlines()) == 30


@pytest.mark.parametrize("ending", [".csv", ".txt.gz", ".parquet", ".arrow"])
def test_writes_all_ranks(edges, tmp_path, ending):
    run("pagerank", edges, "--output", tmp_path / f"ranks{ending}")
    written = read_vertex_values(tmp_path / f"ranks{ending}", device="cpu")
    pd.testing.assert_frame_equal(written, ranks_of(EDGES), check_exact=True)
    assert sorted(os.listdir(tmp_path)) == ["edges.csv", f"ranks{ending}"]


def options_and_meaning():
    names = ["source", "destination"]
    yield ["--undirected"], {"directed": False}, {}
    yield ["--weight", "w"], {"weight": "w", "multi_edges": "sum"}, {}
    for policy in ("first", "sum", "min", "max", "keep"):
        choice = {"weight": "w", "multi_edges": policy}
        yield ["--weight", "w", "--multi-edges", policy], choice, {}
    yield ["--self-loops", "drop"], {"self_loops": "drop"}, {}
    yield ["--damping", "0.5", "--max-iterations", "99"], {}, {"damping": 0.5}
    yield ["--tolerance", "0", "--max-iterations", "3"], {}, {"tolerance": 0, "max_iterations": 3}
    yield ["--dangling", "drop"], {}, {"dangling": "drop"}
    yield ["--dangling", "uniform"], {}, {"dangling": "uniform"}
    yield ["--precision", "single"], {}, {"precision": "single"}
    for method in METHODS:
        yield ["--method", method], {}, {"method": method}
    reverse = dict(zip(names, reversed(names)))
    yield ["--source", "destination", "--destination", "source"], reverse, {}


@pytest.mark.parametrize(("options", "build", "how"), list(options_and_meaning()))
def test_options_mean_what_they_mean_in_python(tmp_path, options, build, how):
    frame = pd.DataFrame(
        {
            "source": [1, 1, 1, 2, 3, 3, 4],
            "destination": [2, 2, 3, 1, 1, 3, 9],
            "w": [1.0, 4.0, 2.0, 0.5, 3.0, 1.0, 1.0],
        }
    )
    write_frame(frame, tmp_path / "e.parquet")
    run("pagerank", tmp_path / "e.parquet", "--output", tmp_path / "r.parquet", *options)
    expected = rg.pagerank(build_storage(frame, **{"weight": None} | build), **how)
    written = read_vertex_values(tmp_path / "r.parquet", device="cpu")
    pd.testing.assert_frame_equal(written, expected, check_exact=True)


@pytest.mark.gpu
def test_on_a_gpu(edges):
    done = run("pagerank", edges, "--verify", "-o", edges.with_name("r.csv"), "--top", 2)
    assert "3 vertices, 3 edges on the GPU" in done.stderr
    assert [line.split("\t")[:2] for line in done.stdout.splitlines()] == [["1", "a"], ["2", "b"]]
    written = read_vertex_values(edges.with_name("r.csv"), device="cpu")
    pd.testing.assert_frame_equal(written, ranks_of(EDGES), rtol=0, atol=1e-12)
    run("pagerank", edges, "--start", edges.with_name("r.csv"), "--plot", edges.with_name("a.png"))
    assert "1\tlibc6\t0.16" in run("demo").stdout


@pytest.mark.parametrize("option", ["--method", "--precision", "--device", "--multi-edges"])
def test_an_unknown_choice_is_refused(edges, option):
    done = run("pagerank", edges, option, "other", code=2)
    assert "'other' is not one of" in done.stderr


def test_files_of_values(edges, tmp_path):
    values = pd.DataFrame({"vertex": ["c", "b"], "weight": [3.0, 1.0]})
    write_frame(values, tmp_path / "values.csv")
    for name in ("personalization", "start", "dangling"):
        expected = ranks_of(EDGES, **{name: values})
        run("pagerank", edges, f"--{name}", tmp_path / "values.csv", "-o", tmp_path / "r.csv")
        written = read_vertex_values(tmp_path / "r.csv", device="cpu")
        assert written["pagerank"].tolist() == expected["pagerank"].tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vertex,w\nc,1\n\nb,-1\n", "line 4: {}: the value is -1.0; it must be finite"),
        ("vertex,w\nc,1\nb,2\nc,3\n", "line 4: {}: vertex 'c' is given more than once\n"),
        ("vertex,w\nb,1\nq,2\n", "line 3: {}: vertex 'q' is not in the graph\n"),
        ("vertex,w\nb,0\nc,0\n", None),  # about no row
    ],
)
@pytest.mark.parametrize("option", ["personalization", "start", "dangling"])
def test_lines_of_wrong_values(edges, tmp_path, option, text, message):
    path = tmp_path / "values.csv"
    path.write_text(text)
    done = run("pagerank", edges, f"--{option}", path, code=1)
    if message is None:
        assert done.stderr.startswith(f"error: {option}: the values sum to 0.0")
    else:
        assert done.stderr.startswith(f"error: {path}, {message.format(option)}")


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_wrong_value_from_a_pipe(edges, tmp_path, prefix):
    """A pipe is not read again for the line."""
    path = tmp_path / "values.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=["vertex,w\nb,-1\n"], daemon=True)
    writer.start()
    done = run("pagerank", edges, "--start", f"{prefix}{path}", code=1)
    writer.join()
    assert done.stderr.startswith("error: start: the value in row 0 is -1.0")


def test_row_of_a_wrong_value_in_parquet(edges, tmp_path):
    path = tmp_path / "values.parquet"
    write_frame(pd.DataFrame({"vertex": ["b", "c"], "w": [1.0, -2.0]}), path)
    done = run("pagerank", edges, "--start", path, code=1)
    assert done.stderr.startswith(f"error: {path}: start: the value in row 1 is -2.0")


@pytest.mark.parametrize("dangling", [None, "uniform", "drop", "FILE"])
def test_dangling_beside_personalization(tmp_path, dangling):
    """Vertex 2 is dangling; --verify applies the same formula."""
    frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    values = {name: pd.DataFrame({"vertex": [at], "x": [1.0]}) for name, at in (("p", 0), ("d", 1))}
    for name, table in {"edges": frame, **values}.items():
        write_frame(table, tmp_path / f"{name}.csv")
    given = [] if dangling is None else ["--dangling", dangling]
    if dangling == "FILE":
        given, dangling = ["--dangling", tmp_path / "d.csv"], values["d"]
    for layered in ([], ["--memory-limit", "1GB"]):
        verify = [] if layered else ["--verify"]
        run(
            "pagerank", tmp_path / "edges.csv", "--personalization", tmp_path / "p.csv", *given,
            *layered, *verify, "-o", tmp_path / "r.csv",
        )  # fmt: skip
        written = read_vertex_values(tmp_path / "r.csv", device="cpu")
        expected = rg.pagerank(frame, personalization=values["p"], dangling=dangling)
        pd.testing.assert_frame_equal(written, expected, rtol=0, atol=1e-15)
        if dangling is None:
            assert written["pagerank"].round(3).tolist() == [0.389, 0.330, 0.281]


def test_names_of_several_columns(tmp_path):
    frame = pd.DataFrame({"s": ["x", "y"], "n": [1, 2], "d": ["y", "x"], "m": [2, 2], "w": 1.0})
    write_frame(frame, tmp_path / "e.csv")
    values = pd.DataFrame({"vertex_0": ["y"], "vertex_1": [2], "value": [1.0]})
    write_frame(values, tmp_path / "v.csv")
    columns = ["--source", "s", "--source", "n", "--destination", "d", "--destination", "m"]
    done = run(
        "pagerank", tmp_path / "e.csv", *columns, "--weight", "w", "--verify",
        "--personalization", tmp_path / "v.csv",
    )  # fmt: skip
    expected = ranks_of(frame, ["s", "n"], ["d", "m"], "w", personalization=values)
    expected = expected.sort_values("pagerank", ascending=False, kind="stable")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[1:3] for row in rows] == [["y", "2"], ["x", "2"], ["x", "1"]]
    assert [float(row[3]) for row in rows] == expected["pagerank"].tolist()


def test_verify_says_what_it_found(edges, monkeypatch):
    done = run("pagerank", edges, "--verify")
    assert "3 vertices, 3 edges on the CPU: read in" in done.stderr
    assert re.search(
        r"verified: another iteration changes the values by \d\.\de-\d\d in total", done.stderr
    )
    wrong = ranks_of(EDGES).assign(pagerank=1 / 3)
    monkeypatch.setattr(rg, "pagerank", lambda graph, **options: wrong)
    done = run("pagerank", edges, "--verify", "-o", edges.with_name("r.csv"), code=1)
    assert "error: the values are not PageRank" in done.stderr
    assert os.listdir(edges.parent) == ["edges.csv"]


@pytest.mark.slow
def test_plot(edges):
    pytest.importorskip("matplotlib")
    run("pagerank", edges, "--plot", edges.with_name("a.png"))
    assert edges.with_name("a.png").read_bytes().startswith(b"\x89PNG")


# What goes wrong


def mistakes():
    yield ["missing.csv"], "missing.csv: there is no such file"
    yield ["edges.csv", "--source", "from"], "there is no column 'from'"
    yield (
        ["edges.csv", "--source", "source", "--source", "destination"],
        "source has 2 columns",
    )
    yield ["edges.csv", "--output", "a.xls"], "a.xls: the ending '.xls' is not known"
    yield ["edges.csv", "--output", "none/a.csv"], "the folder .* does not exist; create it first"
    yield ["edges.csv", "--plot", "a.bmp"], "a.bmp: the ending '.bmp' is not known; try .png"
    yield ["edges.csv", "--start", "edges.csv"], "must be vertex and one of numbers; they are"
    yield ["edges.csv", "--dangling", "even"], "even: there is no such file"
    yield ["edges.csv", "--tolerance", "1e-300"], "not converged: after 100 iterations"
    yield ["edges.csv", "--device", "gpu"], "device='gpu' was requested, but this test is without"


@pytest.mark.parametrize(("arguments", "message"), list(mistakes()))
def test_mistakes_are_one_line(edges, monkeypatch, arguments, message):
    monkeypatch.chdir(edges.parent)
    done = run("pagerank", *arguments, code=1)
    assert re.match(f"error: .*{message}", done.stderr)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert os.listdir(edges.parent) == ["edges.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["pagerank"],
        ["pagerank", "a.csv", "--method", "guess"],
        ["pagerank", "a.csv", "--damping", "1.5"],
        ["pagerank", "a.csv", "--top", "0"],
        ["pagerank", "a.csv", "--fast"],
        ["generate", "rmat", "3"],
        ["walk"],
    ],
)
def test_wrong_usage_is_code_2(arguments):
    assert run(*arguments, code=2).stdout == ""


def test_output_is_checked_before_the_edges_are_read(edges, monkeypatch):
    monkeypatch.setattr("rapidsgraph.io.read_edges", lambda *_, **__: pytest.fail("too late"))
    run("pagerank", edges, "--output", edges.with_name("none") / "a.csv", code=1)
    run("pagerank", edges, "--plot", edges.with_name("none") / "a.png", code=1)
    run("pagerank", edges, "--start", edges.with_name("none.csv"), code=1)


@pytest.mark.parametrize("error", [MemoryError(), OSError(28, "No space left on device")])
def test_errors_of_the_machine_are_one_line(edges, monkeypatch, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(rg, "Graph", fails)
    assert run("pagerank", edges, code=1).stderr.count("\n") == 1


# The other commands


def test_version_and_help():
    assert run("--version").stdout == f"rapidsgraph {rg.__version__}\n"
    assert "pagerank" in run("--help").stdout
    names = (
        "pagerank",
        "bfs",
        "sssp",
        "shortest-path",
        "components",
        "core-number",
        "label-propagation",
    )
    for name in (*names, "doctor", "demo", "generate"):
        assert "Usage" in run(name, "-h").stdout


def test_help_imports_no_frame_library():
    heavy = "{'pandas', 'pyarrow', 'numba', 'cupy', 'cudf', 'matplotlib'}"
    program = f"import sys, rapidsgraph.cli; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=ROOT)
    assert done.stdout.strip() == b"set()"


def test_demo():
    shown = run("demo", "--device", "cpu").stdout
    rows = [line.split("\t") for line in shown.splitlines() if "\t" in line]
    assert rows[0][:2] == ["1", "libc6"]
    assert len(rows) == 10
    assert float(rows[0][2]) == pytest.approx(0.1685, abs=1e-4)
    assert "64,971 packages and 303,239 edges on the CPU" in shown
    program = [line.strip() for line in shown.splitlines() if line.startswith("    ")]
    found = {}
    exec("\n".join([*program[:-1], f"found = {program[-1]}"]), found)  # what it prints runs
    assert found["found"]["vertex"].tolist() == [row[1] for row in rows]


def test_generate(tmp_path):
    path = tmp_path / "e.parquet"
    done = run("generate", "rmat", 8, "-o", path, "--edge-factor", 4, "--seed", 5, "--a", "0.5")
    expected = rg.generate.rmat(8, 4, a=0.5, seed=5, device="cpu")
    pd.testing.assert_frame_equal(read_edges(path, device="cpu"), expected)
    assert done.stderr == f"{len(expected):,} edges in {path}\n"
    run("generate", "grid", 9, "--height", 3, "--keep", 0.7, "--weights", 1, 2, "-o", path)
    expected = rg.generate.grid(9, 3, keep=0.7, weights=(1, 2), device="cpu")
    written = read_edges(path, weight="weight", device="cpu")
    pd.testing.assert_frame_equal(written, expected)
    run("generate", "uniform", 9, 20, "--seed", 7, "-o", path, "--device", "cpu")
    expected = rg.generate.uniform(9, 20, seed=7, device="cpu")
    pd.testing.assert_frame_equal(read_edges(path, device="cpu"), expected)
    run("generate", "ssca2", 99, "-o", path, "--max-clique", 5, "--inter-clique", 0.3, "--seed", 7)
    expected = rg.generate.ssca2(99, max_clique=5, inter_clique=0.3, seed=7, device="cpu")
    pd.testing.assert_frame_equal(read_edges(path, device="cpu"), expected)
    run("generate", "ssca2", 99, "--weights", 1, 2, "-o", path, "--device", "cpu")
    expected = rg.generate.ssca2(99, weights=(1, 2), device="cpu")
    written = read_edges(path, weight="weight", device="cpu")
    pd.testing.assert_frame_equal(written, expected)
    assert "scale is 99" in run("generate", "rmat", 99, "-o", path, code=1).stderr
    assert "does not exist" in run("generate", "grid", 9, "-o", path / "x" / "y.pq", code=1).stderr
