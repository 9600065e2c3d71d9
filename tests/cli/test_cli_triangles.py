"""The commands triangles, clustering and similarity: what they print, write and refuse."""

import pandas
import pytest
from test_cli import run, without_gpu  # noqa: F401  a fixture for all tests here


@pytest.fixture
def edges(put):
    return put("edges.csv", "source,destination\na,b\nb,c\nc,a\nc,b\nc,d\nd,d\n")


def test_they_print_the_highest(edges):
    assert run("triangles", edges, "--top", 2).stdout == "1\ta\t1\n2\tb\t1\n"
    result = run("clustering", edges, "--undirected", "--top", 3).stdout
    assert result == "1\ta\t1.0\n2\tb\t1.0\n3\tc\t0.3333333333333333\n"
    assert run("clustering", edges, "--top", 1).stdout == "1\ta\t1.0\n"


def test_they_write_and_verify(edges, tmp_path):
    path = tmp_path / "result.csv"
    done = run("triangles", edges, "--output", path, "--verify")
    assert done.stdout == ""
    assert "triangles: 1\nverified: " in done.stderr
    assert pandas.read_csv(path)["triangles"].tolist() == [1, 1, 1, 0]
    done = run("clustering", edges, "--output", path, "--verify")
    assert "mean coefficient: 0.416667\nverified: " in done.stderr
    assert pandas.read_csv(path)["coefficient"].tolist() == [1, 0.5, 1 / 6, 0]


def test_similarity(edges, put, tmp_path):
    assert run("similarity", edges, "--kind", "common", "--top", 1).stdout == "a\tb\t1\n"
    pairs, path = put("pairs.csv", "source,destination\nd,a\na,b\n"), tmp_path / "result.csv"
    done = run("similarity", edges, "--pairs", pairs, "--output", path, "--verify")
    assert "verified: " in done.stderr
    assert pandas.read_csv(path).to_dict("list") == {
        "source": ["d", "a"], "destination": ["a", "b"], "jaccard": [0.5, 1 / 3],
    }  # fmt: skip


def test_pairs_of_digits_are_text_if_the_names_are(put):
    edges = put("edges.csv", "source,destination\n007,a\na,8\n")
    pairs = put("pairs.csv", "source,destination\n8,007\n")
    assert run("similarity", edges, "--pairs", pairs).stdout == "8\t007\t1.0\n"


def test_pairs_that_it_refuses(edges, put):
    result = put("result.csv", "")
    for text, problem in (
        ("x,y\na,b\n", "pairs.csv: there must be one column 'source'; the columns are x, y\n"),
        ("source,destination\na,z\n", "--pairs: vertex 'z' is not in the graph\n"),
        ("source,destination\na,\n", "pairs.csv, line 2: there is no value in column"),
    ):
        pairs = put("pairs.csv", text)
        done = run("similarity", edges, "--pairs", pairs, "--output", result, code=1)
        assert problem in done.stderr
        assert result.read_text() == ""


def test_layered_edge_lists(edges, tmp_path):
    store = tmp_path / "graph.layers"
    run("layer", edges, "--from", "a", "--output", store)
    for command in ("clustering", "triangles", "similarity"):
        expected = run(command, edges).stdout
        assert run(command, store).stdout == expected
        assert run(command, edges, "--memory-limit", "60MB").stdout == expected
    done = run("clustering", store, "--verify", code=2)
    assert "verification needs the whole graph" in " ".join(done.stderr.split())
