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


def test_layered_edge_lists(edges, tmp_path):
    store = tmp_path / "graph.layers"
    run("layer", edges, "--from", "a", "--output", store)
    done = run("similarity", store, code=1)
    assert "layered edge list" in done.stderr
    for command in ("clustering", "triangles"):
        expected = run(command, edges).stdout
        assert run(command, store).stdout == expected
        assert run(command, edges, "--memory-limit", "60MB").stdout == expected
    done = run("clustering", store, "--verify", code=2)
    assert "verification needs the whole graph" in " ".join(done.stderr.split())
