"""Breadth-first searches and degrees: results equal those of NetworkX, also in order."""

import networkx as nx
import pytest
from networkx_graphs import DIRECTED, GRAPHS, MARKS, run

from rapidsgraph.networkx_backend import interface

pytestmark = MARKS

LIMITS = [None, -1, 0, 1, 1.5, 3, float("inf"), 10**30]


def in_order(result):
    return [*result.items()] if isinstance(result, dict) else [*result]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("limit", LIMITS)
def test_trees(name, limit):
    g = GRAPHS[name]
    for node in list(g)[:12]:
        for function in ("bfs_edges", "bfs_predecessors", "bfs_successors", "generic_bfs_edges"):
            expected = in_order(getattr(nx, function)(g, node, depth_limit=limit))
            assert in_order(run(function, g, node, depth_limit=limit)) == expected
        expected = nx.bfs_tree(g, node, depth_limit=limit)
        result = run("bfs_tree", g, node, depth_limit=limit)
        assert type(result) is nx.DiGraph
        assert (list(result), list(result.edges)) == (list(expected), list(expected.edges))


@pytest.mark.parametrize("name", GRAPHS)
def test_layers(name):
    g = GRAPHS[name]
    for sources in [*list(g)[:9], list(g)[:3], [], [*list(g)[:2]] * 2]:
        assert list(run("bfs_layers", g, sources)) == list(nx.bfs_layers(g, sources))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("cutoff", LIMITS)
def test_predecessors(name, cutoff):
    g = GRAPHS[name]
    for node in list(g)[:12]:
        expected = nx.predecessor(g, node, cutoff=cutoff)
        assert in_order(run("predecessor", g, node, cutoff=cutoff)) == in_order(expected)
        expected, seen = nx.predecessor(g, node, cutoff=cutoff, return_seen=True)
        result = run("predecessor", g, node, cutoff=cutoff, return_seen=True)
        assert list(map(in_order, result)) == [in_order(expected), in_order(seen)]
    for target in list(g)[:12]:
        options = {"target": target, "cutoff": cutoff}
        expected = nx.predecessor(g, node, **options)
        assert run("predecessor", g, node, **options) == expected
        expected = nx.predecessor(g, node, return_seen=True, **options)
        assert run("predecessor", g, node, return_seen=True, **options) == expected


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        ("bfs_edges", {"source": 1, "reverse": True}, "order of the predecessors"),
        ("bfs_tree", {"source": 0, "sort_neighbors": sorted}, "is a function"),
        ("generic_bfs_edges", {"source": 0, "neighbors": iter}, "is a function"),
        ("reciprocity", {"nodes": 1}, "there are nodes"),
    ],
)
def test_arguments_that_are_left_to_networkx(function, arguments, reason):
    g = nx.DiGraph([(0, 1), (2, 1)])
    assert reason in interface.can_run(function, (g,), arguments)
    with pytest.raises(NotImplementedError):
        run(function, g, **arguments)


def test_undirected_edges_in_reverse():
    g = nx.path_graph(3)
    assert list(run("bfs_edges", g, 1, reverse=True)) == [(1, 0), (1, 2)]


@pytest.mark.parametrize("name", GRAPHS)
def test_degrees(name):
    g = GRAPHS[name]
    functions = ["degree_centrality", "isolates", "number_of_isolates", "number_of_selfloops"]
    if name in DIRECTED:
        functions += ["in_degree_centrality", "out_degree_centrality"]
    for function in functions:
        expected, result = getattr(nx, function)(g), run(function, g)
        if isinstance(expected, int):
            assert (type(result), result) == (int, expected)
        else:
            assert in_order(result) == in_order(expected)
    assert [run("is_isolate", g, node) for node in g] == [nx.is_isolate(g, node) for node in g]
    assert run("is_isolate", g, "absent") is nx.is_isolate(g, "absent") is False


@pytest.mark.parametrize("name", GRAPHS)
def test_reciprocity(name):
    g = GRAPHS[name]
    if g.is_multigraph():
        assert "parallel edges" in interface.can_run("overall_reciprocity", (g,), {})
    elif not g.number_of_edges():
        with pytest.raises(nx.NetworkXError, match="empty"):
            run("overall_reciprocity", g)
    else:
        expected = nx.overall_reciprocity(g)
        assert run("overall_reciprocity", g) == run("reciprocity", g) == expected


def test_reciprocity_of_self_loops_and_edges_in_both_directions():
    g = nx.DiGraph([(0, 1), (1, 0), (1, 1), (1, 2)])
    assert run("reciprocity", g) == nx.reciprocity(g) == 0.5


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        ("bfs_edges", (9,), nx.NetworkXError),
        ("bfs_tree", (9,), nx.NetworkXError),
        ("bfs_successors", (9,), nx.NetworkXError),
        ("bfs_layers", (9,), TypeError),
        ("bfs_layers", ([0, 9],), nx.NetworkXError),
        ("predecessor", (9,), nx.NodeNotFound),
    ],
)
def test_errors_are_those_of_networkx(function, arguments, error):
    g = nx.path_graph(3)
    for backend in ("networkx", "rapidsgraph"):
        with pytest.raises(error):
            list(getattr(nx, function)(g, *arguments, backend=backend))
