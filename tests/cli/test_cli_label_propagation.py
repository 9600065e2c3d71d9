"""The command label-propagation: what it prints, writes, checks and refuses."""

import pandas as pd
import pytest
from test_cli import run, without_gpu  # noqa: F401  a fixture for all tests here

import rapidsgraph as rg
from rapidsgraph.io import write_frame

EDGES = pd.DataFrame(  # cliques a to c and p to s
    {
        "source": ["a", "b", "c", "p", "p", "p", "q", "q", "r"],
        "destination": ["b", "c", "a", "q", "r", "s", "r", "s", "s"],
    }
)


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    write_frame(EDGES, path)
    return path


def test_prints_the_largest_communities(edges):
    done = run("label-propagation", edges)
    assert (done.stdout, done.stderr) == ("p\t4\na\t3\n", "")
    assert run("label-propagation", edges, "--top", 1).stdout == "p\t4\n"
    assert run("label-propagation", edges, "--undirected").stdout == "p\t4\na\t3\n"
    done = run("label-propagation", edges, "--iterations", 1)
    assert done.stdout == "p\t3\na\t2\nb\t1\nq\t1\n"


def test_writes_and_verifies(edges, tmp_path):
    output = tmp_path / "labels.csv"
    done = run("label-propagation", edges, "-o", output, "--verify")
    assert done.stdout == ""
    assert "7 vertices, 9 edges on the CPU: read in" in done.stderr
    assert "communities: 2, the largest of 4 vertices\n" in done.stderr
    assert "verified: repeating all iterations gives the same labels" in done.stderr
    expected = rg.label_propagation(EDGES)
    pd.testing.assert_frame_equal(pd.read_csv(output), expected, check_dtype=False)


def test_several_columns_name_a_vertex(tmp_path):
    path = tmp_path / "pairs.csv"
    write_frame(pd.DataFrame({"net": ["x", "x", "y"], "u": [1, 2, 1], "v": [2, 3, 2]}), path)
    columns = ["--source", "net", "--source", "u", "--destination", "net", "--destination", "v"]
    done = run("label-propagation", path, *columns, "--iterations", 2)
    assert done.stdout == "x\t1\t2\nx\t2\t1\ny\t1\t1\ny\t2\t1\n"


def test_a_wrong_result_is_not_written(edges, tmp_path, monkeypatch):
    right = rg.label_propagation
    monkeypatch.setattr(
        rg, "label_propagation", lambda graph, **options: right(graph, **options).assign(label="a")
    )
    done = run("label-propagation", edges, "--verify", "-o", tmp_path / "r.csv", code=1)
    assert "error: vertex p has the label a; after 10 iterations it must be p" in done.stderr
    assert not (tmp_path / "r.csv").exists()


def test_wrong_arguments(edges, tmp_path):
    done = run("label-propagation", edges, "--iterations", 0, code=2)
    assert "--iterations" in done.stderr
    done = run("label-propagation", edges, "--seed", -1, code=2)
    assert "--seed" in done.stderr


def test_layered_edge_lists_and_seeds(edges, tmp_path):
    rg.LayeredEdgeList.build(edges, "a", store=tmp_path / "layers")
    for seed in ([], ["--seed", 4]):
        command = ["label-propagation", *seed]
        expected = run(*command, edges, "-o", tmp_path / "graph.csv", "--verify")
        assert "verified" in expected.stderr
        run(*command, tmp_path / "layers", "-o", tmp_path / "store.csv")
        run(*command, edges, "--memory-limit", "60MB", "-o", tmp_path / "beside.csv")
        results = {(tmp_path / f"{name}.csv").read_text() for name in ("graph", "store", "beside")}
        assert len(results) == 1
    done = run("label-propagation", tmp_path / "layers", "--undirected", code=2)
    assert "in which this is fixed" in done.stderr


def test_layers_with_weights_are_used(edges, tmp_path):
    """Parallel edges are merged by the least weight then, which labels do not depend on."""
    write_frame(EDGES.assign(weight=1.5), edges)
    expected = run("label-propagation", edges).stdout
    run("layer", edges, "--from", "a")
    assert run("label-propagation", edges, "--memory-limit", "60MB").stdout == expected


@pytest.mark.parametrize("option", [("--self-loops", "drop"), ("--multi-edges", "keep")])
def test_errors_recommend_no_options_that_are_missing(edges, option):
    run("layer", edges, "--from", "a", *option)
    done = run("label-propagation", edges, "--memory-limit", "60MB", code=1)
    assert "; build others with `rapidsgraph layer" in done.stderr
    assert "to use them" not in done.stderr
    run("layer", edges, "--from", "a", "--undirected")
    done = run("label-propagation", edges, "--memory-limit", "60MB", code=1)
    assert "; give --undirected to use them, or build others with" in done.stderr
