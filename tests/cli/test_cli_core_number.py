"""The command core-number: what it prints, writes, checks and refuses."""

import pandas as pd
import pytest
from test_cli import run, without_gpu  # noqa: F401  a fixture for all tests here

import rapidsgraph as rg
from rapidsgraph.io import write_frame

EDGES = pd.DataFrame(  # a triangle with a tail and a self-loop, and a pair
    {"source": ["a", "b", "c", "c", "d", "x"], "destination": ["b", "c", "a", "d", "d", "y"]}
)


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    write_frame(EDGES, path)
    return path


def test_prints_the_vertices_of_the_largest_core_numbers(edges):
    done = run("core-number", edges)
    assert (done.stdout, done.stderr) == ("2\t3\n1\t3\n", "")
    assert run("core-number", edges, "--top", 1).stdout == "2\t3\n"
    assert run("core-number", edges, "--undirected").stdout == "2\t3\n1\t3\n"  # as always


def test_writes_and_verifies(edges, tmp_path):
    output = tmp_path / "cores.csv"
    done = run("core-number", edges, "-o", output, "--verify")
    assert done.stdout == ""
    assert "6 vertices, 5 edges on the CPU: read in" in done.stderr
    assert "largest core number: 2, of 3 vertices\n" in done.stderr
    assert "verified: cores have enough neighbors, and no core number is too small" in done.stderr
    pd.testing.assert_frame_equal(pd.read_csv(output), rg.core_number(EDGES), check_dtype=False)


def test_a_wrong_result_is_not_written(edges, tmp_path, monkeypatch):
    right = rg.core_number
    monkeypatch.setattr(rg, "core_number", lambda graph, **_: right(graph).assign(core=1))
    done = run("core-number", edges, "--verify", "-o", tmp_path / "cores.csv", code=1)
    assert "error: vertex a has core number 1, but is in a subgraph" in done.stderr
    assert not (tmp_path / "cores.csv").exists()


def test_layered_edge_lists(edges, tmp_path):
    rg.LayeredEdgeList.build(edges, "a", store=tmp_path / "layers")
    expected = run("core-number", edges).stdout
    assert run("core-number", tmp_path / "layers").stdout == expected
    assert run("core-number", edges, "--memory-limit", "60MB").stdout == expected
    done = run("core-number", tmp_path / "layers", "--memory-limit", "10B", code=1)
    assert "--memory-limit is 10 bytes; raise the limit" in done.stderr
