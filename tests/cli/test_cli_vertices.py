"""--vertices and Matrix Market files: vertices without an edge, in every command."""

import shutil

import pandas as pd
import pytest
from test_cli import run, without_gpu  # noqa: F401  a fixture for all tests here
from test_cli_traversal import PAIRS

import rapidsgraph as rg
from rapidsgraph.io import read_edges, write_frame

pytestmark = pytest.mark.slow

HEAD = "%%MatrixMarket matrix coordinate"
COMMANDS = [
    ["pagerank"],
    ["pagerank", "--memory-limit", "50MB"],
    ["bfs", "--from", "1"],
    ["bfs", "--from", "1", "--layers"],
    ["sssp", "--from", "1"],
    ["sssp", "--from", "1", "--memory-limit", "50MB"],
    ["components"],
    ["core-number"],
    ["label-propagation"],
    ["scan"],
]


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,destination\n1,2\n2,3\n")
    return path


@pytest.fixture
def vertices(tmp_path):
    path = tmp_path / "vertices.csv"
    path.write_text("color,vertex\nred,9\nblue,3\n")
    return path


def vertices_of(output):
    return pd.read_csv(output, dtype={"vertex": str})["vertex"].tolist()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_includes_them(edges, vertices, tmp_path, command):
    command, *options = command
    output = tmp_path / "result.csv"
    run(command, edges, *options, "--vertices", vertices, "-o", output)
    assert vertices_of(output) == ["1", "2", "3", "9"]
    matrix = tmp_path / "edges.mtx"
    matrix.write_text(f"{HEAD} pattern general\n6 6 2\n1 2\n2 3\n")
    run(command, matrix, *options, "-o", output)
    assert vertices_of(output) == ["1", "2", "3", "4", "5", "6"]
    for path in (edges, matrix):  # pagerank does not replace layers of other vertices
        shutil.rmtree(path.with_name(path.name + ".layers"), ignore_errors=True)
    run(command, matrix, *options, "--vertices", vertices, "-o", output)
    assert vertices_of(output) == ["1", "2", "3", "4", "5", "6", "9"]
    run(command, edges, *options, "--vertices", matrix, "-o", output)
    assert vertices_of(output) == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize("ending", [".csv", ".txt", ".parquet", ".feather"])
def test_names_are_as_in_the_edges(tmp_path, ending):
    edges, vertices, output = (tmp_path / name for name in ("e.csv", f"v{ending}", "r.csv"))
    edges.write_text("source,destination\n007,x\n")
    write_frame(pd.DataFrame({"vertex": ["008", "009"]}), vertices)
    for options in ([], ["--layers"]):
        run("bfs", edges, "--from", "007", "--vertices", vertices, "-o", output, *options)
        assert vertices_of(output) == ["007", "008", "009", "x"]


def test_vertices_of_other_kinds_are_refused(edges, tmp_path):
    texts, numbers = tmp_path / "texts.csv", tmp_path / "numbers.parquet"
    texts.write_text("vertex\nx\n")
    write_frame(pd.DataFrame({"vertex": [1]}), numbers)
    named = tmp_path / "named.csv"
    named.write_text("source,destination\na,b\n")
    done = run("components", edges, "--vertices", texts, code=1)
    assert done.stderr == (
        f"error: {texts}: column 'vertex' holds text, and {edges} names vertices by integers\n"
    )
    done = run("components", named, "--vertices", numbers, code=1)
    assert f"'vertex' holds integers, and {named} names vertices by text" in done.stderr
    texts.write_text("node\nx\n")
    done = run("components", edges, "--vertices", texts, code=1)
    assert "there must be one column 'vertex'; the columns are node" in done.stderr
    done = run("components", edges, "--vertices", texts, "-o", texts, code=1)
    assert "--output would overwrite --vertices" in done.stderr


def test_vertices_of_several_columns(tmp_path):
    edges, vertices, output = (tmp_path / name for name in ("e.csv", "v.csv", "r.csv"))
    write_frame(PAIRS, edges)
    write_frame(pd.DataFrame({"net": ["z", "y"], "vertex": [7, 1]}), vertices)
    columns = ["--source", "net", "--source", "u", "--destination", "net", "--destination", "v"]
    for options in ([], ["--layers"]):
        more = ["--from", "z,7", "--vertices", vertices, "-o", output, *options]
        run("bfs", edges, *columns, *more)
        found = pd.read_csv(output)
        assert list(zip(found["net"], found["vertex"]))[-1] == ("z", 7)
        assert len(found) == 6


def test_layers_of_other_vertices_are_replaced(edges, vertices):
    beside = edges.with_name("edges.csv.layers")
    run("layer", edges, "--from", 9, "--vertices", vertices)
    assert rg.LayeredEdgeList.open(beside).num_vertices == 4
    search = ["bfs", edges, "--layers", "--from", 1]
    replaced = f"replaced the layers of root 9 in {beside}: another root, other vertices\n"
    assert run(*search).stderr == replaced
    assert run(*search, "--vertices", vertices).stderr.endswith("other vertices\n")
    assert run(*search, "--vertices", vertices).stderr == ""  # reused
    vertices.write_text("vertex\n9\n10\n")
    assert run(*search, "--vertices", vertices).stderr.endswith("other vertices\n")
    assert rg.LayeredEdgeList.open(beside).num_vertices == 5
    done = run("pagerank", edges, "--memory-limit", "50MB", code=1)
    assert f"(other vertices); give --vertices {vertices} to use them" in done.stderr
    done = run("bfs", beside, "--vertices", vertices, code=2)
    assert "is a layered edge list, in which this is fixed; leave it out" in " ".join(
        done.stderr.replace("│", " ").split()
    )


def test_generated_matrices_count_from_1(tmp_path):
    done = run("generate", "grid", 3, "-o", tmp_path / "g.mtx", "--device", "cpu")
    assert done.stderr.endswith("g.mtx, vertex ids from 1\n")
    expected = rg.generate.grid(3, device="cpu")
    found = read_edges(tmp_path / "g.mtx", device="cpu")
    assert (found - 1).to_numpy().tolist() == expected.to_numpy().tolist()
