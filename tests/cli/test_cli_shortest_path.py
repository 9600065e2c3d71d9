"""The command shortest-path: what it prints, writes and refuses."""

import pandas as pd
import pytest
from test_cli import run, without_gpu  # noqa: F401  a fixture for all tests here
from test_cli_traversal import COSTS_1, PAIRS, edges  # noqa: F401  a fixture

from rapidsgraph.io import write_frame


def test_it_prints_the_vertices_of_the_path(edges):  # noqa: F811
    done = run("shortest-path", edges, "--from", "a", "--to", "d", "--weight", "km")
    assert done.stdout == "a\t0.0\nb\t1.0\nc\t3.0\nd\t3.25\n"
    assert done.stderr == ""
    done = run("shortest-path", edges, "--from", "a", "--to", "d", "--unweighted")
    assert (done.stdout, done.stderr) == ("a\t0\nb\t1\nd\t2\n", "")
    done = run("shortest-path", edges, "--from", "d", "--to", "a", "--undirected")
    assert (done.stdout, done.stderr) == ("d\t0.0\nb\t1.0\na\t2.0\n", COSTS_1)


def test_it_says_how_many_targets_have_paths(edges):  # noqa: F811
    start = "shortest-path", edges, "--from", "a", "--unweighted"
    done = run(*start, "--to", "f")
    assert (done.stdout, done.stderr) == ("", "paths lead to 0 of 1 targets\n")
    done = run(*start, "--to", "b", "--to", "f", "--to", "a", "--to", "b")
    assert done.stdout == "b\ta\t0\nb\tb\t1\na\ta\t0\n"
    assert done.stderr == "paths lead to 2 of 3 targets\n"


def test_it_writes_the_paths(edges, tmp_path):  # noqa: F811
    result = tmp_path / "path.txt"  # without missing values
    run("shortest-path", edges, "--from", "a", "--to", "c", "--unweighted", "-o", result)
    assert result.read_text().splitlines()[-2:] == ["a\t0", "c\t1"]


@pytest.mark.parametrize("options", [["--weight", "km"], ["--unweighted"]])
def test_it_verifies_the_paths(edges, options):  # noqa: F811
    targets = "--to", "d", "--to", "f", "--to", "a", "--verify"
    for layers in ([], ["--layers"]):
        done = run("shortest-path", edges, "--from", "a", *targets, *options, *layers)
        assert done.stderr.endswith(
            "verified: paths lead along edges, and no edge shortens one\n"
            "paths lead to 2 of 3 targets\n"
        )
    done = run("shortest-path", edges, "--from", "a", *targets, "--memory-limit", "1MB", code=2)
    assert "verification needs the whole graph in memory" in " ".join(done.stderr.split())


def test_names_of_several_columns(tmp_path):
    path = tmp_path / "pairs.csv"
    write_frame(PAIRS, path)
    columns = ["--source", "net", "--source", "u", "--destination", "net", "--destination", "v"]
    ends = '"x,1",1', '"x,1",3', '"x,1",2', "y,2"
    targets = [word for end in ends[1:] for word in ("--to", end)]
    done = run("shortest-path", path, *columns, "--from", ends[0], *targets)
    assert done.stdout.splitlines() == [
        "3\tx,1\t1\t0.0", "3\tx,1\t2\t1.0", "3\tx,1\t3\t1.5", "2\tx,1\t1\t0.0", "2\tx,1\t2\t1.0",
    ]  # fmt: skip
    assert done.stderr == "paths lead to 2 of 3 targets\n"


def test_layers(edges, tmp_path):  # noqa: F811
    expected = run("shortest-path", edges, "--from", "a", "--to", "d", "--weight", "km").stdout
    options = "--to", "d", "--weight", "km", "--layers"
    assert run("shortest-path", edges, "--from", "a", *options).stdout == expected
    [store] = tmp_path.glob("*.layers")
    assert run("shortest-path", store, "--to", "d").stdout == expected
    done = run("shortest-path", store, "--to", "d", "--unweighted")
    assert (done.stdout, done.stderr) == ("a\t0\nb\t1\nd\t2\n", "")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--from", "a"], 2, "Invalid value for --to: name a vertex"),
        (["--to", "a"], 2, "Invalid value for --from: name a vertex, or give --from-file"),
        (["--from", "a", "--to", "q"], 1, "error: --to: vertex 'q' is not in the graph"),
        (["--from", "q", "--to", "a"], 1, "error: --from: vertex 'q' is not in the graph"),
        (["--from", "a", "--to", "b", "--weight", "km", "--unweighted"], 2, "--unweighted"),
    ],
)
def test_mistakes(edges, options, code, message):  # noqa: F811
    done = run("shortest-path", edges, *options, code=code)
    assert message in done.stderr.replace("'--", "--").replace("':", ":")
    assert done.stdout == ""


def test_integers_as_targets(tmp_path):
    path = tmp_path / "numbers.csv"
    write_frame(pd.DataFrame({"source": [5, 7], "destination": [7, -3]}), path)
    done = run("shortest-path", path, "--from", 5, "--to", -3, "--unweighted")
    assert done.stdout == "5\t0\n7\t1\n-3\t2\n"
    done = run("shortest-path", path, "--from", 5, "--to", "x", code=1)
    assert done.stderr == "error: --to 'x': vertices are named by integers\n"
