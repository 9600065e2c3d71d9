"""What a new user writes first: names of other libraries, other columns, other delimiters."""

import logging

import pandas
import pytest
from cli.test_cli import run
from conftest import FrameMaker

import rapidsgraph as rg
from rapidsgraph.errors import GraphError, MissingColumnError
from rapidsgraph.kernels import jit

EDGES = {"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]}


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("louvain", "label_propagation"),
        ("dijkstra", "sssp"),
        ("jaccard", "neighbor_similarity"),
        ("k_core", "core_number"),
        ("triangles", "triangle_count"),
        ("components", "connected_components"),
        ("page_rank", "pagerank"),
    ],
)
def test_unknown_names_are_corrected(name, suggestion):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean {suggestion}?"):
        getattr(rg, name)
    assert not hasattr(rg, "__path_hook__")


def test_keywords_of_other_libraries():
    for call, suggestion in (
        (lambda: rg.label_propagation(EDGES, max_iter=3), "iterations="),
        (lambda: rg.shortest_path(EDGES, 0, 1, cutoff=3), r"rg.sssp\(graph, source, cutoff=...\)"),
        (lambda: rg.Graph(EDGES).neighborhood(0, radius=2), "hops="),
    ):
        with pytest.raises(TypeError, match=f"did you mean {suggestion}"):
            call()


@pytest.mark.parametrize("kind", ["pandas", "dask-3"])
def test_membership_of_vertices(kind):
    graph = rg.Graph(FrameMaker(kind)({"source": [0, 5], "destination": [5, 7]}))
    assert [vertex in graph for vertex in (0, 5, 6, -1, "a", (0, 5), None)] == [True] * 2 + [
        False
    ] * 5
    with pytest.raises(TypeError):
        [0] in graph  # noqa: B015
    pairs = {"network": ["a", "b"], "u": [0, 1], "v": [1, 2]}
    graph = rg.Graph(FrameMaker(kind)(pairs), source=["network", "u"], destination=["network", "v"])
    assert [name in graph for name in (("a", 0), ("a", 2), "a")] == [True, False, False]


def test_a_personalization_may_be_indexed_by_vertex():
    frame = pandas.DataFrame({"vertex": [0, 1], "value": [1.0, 3.0]})
    expected = rg.pagerank(EDGES, personalization=frame)
    result = rg.pagerank(EDGES, personalization=frame.set_index("vertex"))
    assert result["pagerank"].tolist() == expected["pagerank"].tolist()


@pytest.mark.parametrize("method", ["auto", "frames"])
def test_pairs_as_a_list(method):
    frame = pandas.DataFrame({"source": [3, 0], "destination": [0, 3]})
    expected = rg.neighbor_similarity(EDGES, frame, method=method)
    for pairs in ([(3, 0), (0, 3)], ((3, 0), (0, 3))):
        result = rg.neighbor_similarity(EDGES, pairs, method=method)
        assert result["jaccard"].tolist() == expected["jaccard"].tolist()
    assert not len(rg.neighbor_similarity(EDGES, [], method=method)["jaccard"])
    rg.verify.neighbor_similarity(EDGES, expected, [(3, 0), (0, 3)])
    for pairs in ((0, 3), "pairs.csv", frame.to_numpy(), zip([0], [3]), frame["source"]):
        with pytest.raises(GraphError, match=r"pairs is .* list of tuples of two vertices"):
            rg.neighbor_similarity(EDGES, pairs, method=method)
    named = frame.rename(columns={"source": "first", "destination": "second"})
    with pytest.raises(MissingColumnError) as caught:
        rg.neighbor_similarity(EDGES, named, method=method)
    assert caught.value.hint == "rename 'first' to 'source' and 'second' to 'destination'"


def test_decimals_of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select 0 as source, 1 as destination, 1.5 as km")
    with pytest.raises(GraphError, match=r"use CAST\(km AS DOUBLE\) in the query"):
        rg.Graph(relation, weight="km")


def test_files_with_other_columns(put):
    path = put("semicolons.csv", "source;destination;km\n0;1;2\n")
    with pytest.raises(GraphError, match=r"looks like ';'.*pandas.read_csv\(path, sep=';'\)"):
        rg.read_edges(path)
    path = put("other.csv", "from,to,km\n0,1,2\n")
    with pytest.raises(MissingColumnError, match="did you mean 'from' and 'to'") as caught:
        rg.read_edges(path)
    assert caught.value.hint == "pass source='from', destination='to'"
    with pytest.raises(GraphError, match="name several files by a folder, or a glob"):
        rg.read_edges([path, path])


def test_options_of_commands(put):
    path = put("edges.csv", "source,destination\n0,1\n1,0\n1,2\n")
    assert run("components", path).stdout == "0\t3\n"
    assert run("components", path, "--strong", "--verify").stdout == "0\t2\n1\t1\n"
    assert "leave out" in run("components", path, "--strong", "--undirected", code=2).stderr
    for name in ("triangles", "similarity"):
        assert run(name, path, "--undirected").stdout == run(name, path).stdout
    assert run("generate", "uniform", 3, 4, "-o", "-").stderr.endswith("edges in standard output\n")
    lines = run("pagerank", "--help").stdout.splitlines()
    assert not any(line.strip(" │") == "whatever its root. If" for line in lines)


def test_compilation_is_logged_once(caplog, monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "folders", lambda: [tmp_path])
    jit._log_compilation.cache_clear()

    @jit.serial
    def add(a, b):
        return a + b

    with caplog.at_level(logging.INFO, "rapidsgraph"):
        assert add(1, 2) == 3
        assert add(1.0, 2) == 3
    messages = [message for message in caplog.messages if "compiling kernels" in message]
    assert len(messages) == 1
