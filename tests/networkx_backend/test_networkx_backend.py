"""The backend as NetworkX selects and calls it."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import forked_process
import networkx as nx
import numpy as np
import pytest
from networkx_graphs import GRAPHS, MARKS, list_edges, run

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.networkx_backend import info, interface
from rapidsgraph.networkx_backend.graph import convert_from_nx, convert_to_nx

pytestmark = MARKS


def test_functions_and_description_agree():
    names = [name for name in interface.__all__ if name in nx.utils.backends._registered_algorithms]
    others = {"can_run", "should_run", "convert_from_nx", "convert_to_nx", "on_start_tests"}
    assert set(interface.__all__) == {*names, *others}
    assert set(names) == set(info.FUNCTIONS)
    assert "rapidsgraph" in nx.pagerank.__doc__


@pytest.mark.parametrize("name", info.FUNCTIONS)
def test_signatures_are_those_of_networkx(name):
    theirs = inspect.signature(nx.utils.backends._registered_algorithms[name].orig_func)
    ours = inspect.signature(getattr(interface, name))
    assert [(each.name, each.default) for each in ours.parameters.values()] == [
        (each.name, each.default) for each in theirs.parameters.values()
    ]


@pytest.mark.parametrize(
    "weight", [-1, float("nan"), float("inf"), "1", None, True, 10**400, np.float32(1)], ids=repr
)
def test_other_weights_are_left_to_networkx(weight):
    g = nx.Graph([(0, 1, {"weight": weight})])
    with pytest.raises(NotImplementedError):
        run("pagerank", g)
    assert run("is_connected", g)


class SetGraph(nx.Graph):
    """A graph whose adjacency is not of dicts."""

    def adjacency(self):
        return ((node, set(neighbors)) for node, neighbors in super().adjacency())


def test_other_adjacencies_are_left_to_networkx():
    with pytest.raises(NotImplementedError):
        run("is_connected", SetGraph([(0, 1)]))


def test_device(monkeypatch):
    config = nx.config.backends.rapidsgraph
    with config(device="cpu"):
        assert convert_from_nx(nx.path_graph(3)).weighted.device == "cpu"
    with config(device="tpu"), pytest.raises(rg.GraphError, match="tpu"):
        convert_from_nx(nx.path_graph(3))
    monkeypatch.setattr(device.arrays, "gpu_problem", lambda: "this test is without one")
    with config(device="gpu"), pytest.raises(rg.GpuUnavailableError):
        convert_from_nx(nx.path_graph(3))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"alpha": 1.5}, "alpha"),
        ({"tol": 0}, "tol"),
        ({"nstart": [1, 2]}, "nstart"),
        ({"weight": lambda u, v, data: 1}, "weight"),
        ({"later": 1}, "other arguments"),
    ],
)
def test_parameters_that_are_left_to_networkx(options, reason):
    assert reason in interface.can_run("pagerank", (nx.path_graph(2),), options)


def test_conversions_are_cached_until_the_graph_changes():
    g = nx.path_graph(4)
    assert run("number_connected_components", g) == 1
    converted = g.__networkx_cache__["backends"]["rapidsgraph"]
    first = next(iter(converted.values()))
    run("pagerank", g, weight=None)
    assert list(converted.values()) == [first]
    g.add_node("new")
    assert run("number_connected_components", g) == 2


def is_converted(g):
    return bool(g.__networkx_cache__.get("backends"))


def test_priority_uses_the_backend_for_large_graphs_only():
    small, large = nx.path_graph(10), nx.path_graph(interface.MIN_SIZE)
    negative = nx.path_graph(interface.MIN_SIZE, create_using=nx.DiGraph)
    negative[0][1]["weight"] = -1
    with nx.config.backend_priority(algos=["rapidsgraph"]):
        nx.pagerank(small)
        nx.pagerank(large)
        lengths = nx.single_source_bellman_ford_path_length(negative, 0)
    assert lengths[1] == -1
    assert (is_converted(small), is_converted(large)) == (False, True)
    assert interface.should_run("pagerank", (), {"G": convert_from_nx(small)}) is True


def test_priority_converts_for_later_calls_of_fast_functions():
    g = nx.path_graph(interface.MIN_SIZE)
    with nx.config.backend_priority(algos=["rapidsgraph"]):
        for _ in range(interface.NUM_CALLS_BEFORE_CONVERSION):
            assert len(nx.descendants(g, 0)) == len(g) - 1
            assert not is_converted(g)
        assert nx.is_connected(g)
        assert is_converted(g)
        g.add_node("new")
        assert not nx.is_connected(g)
        assert not is_converted(g)
    g.__networkx_cache__ = None
    for _ in range(5):
        assert "not cached" in interface.should_run("is_connected", (g,), {})


@pytest.mark.parametrize(
    ("name", "arguments", "decisions"),
    [  # on a small and a large graph, and on the same once they have been converted
        ("pagerank", (), [True, True, True, True]),
        ("is_connected", (), [False, False, False, True]),
        ("has_path", (0, 1), [False, False, False, False]),
        ("shortest_path", (0, 1), [False, False, False, False]),
        ("shortest_path", (0,), [False, False, False, True]),
        ("shortest_path", (None, 0), [False, False, False, True]),
        ("shortest_path_length", (), [False, True, False, True]),
        ("shortest_path", (0, 1, "weight"), [False, False, True, True]),
        ("shortest_path_length", (0, None, "weight"), [False, True, True, True]),
        ("shortest_path", (None, None, "weight"), [True, True, True, True]),
        ("dijkstra_path", (0, 1), [False, True, True, True]),
        ("all_pairs_dijkstra_path", (), [True, True, True, True]),
    ],
)
def test_decisions_by_cost(name, arguments, decisions):
    graphs = [nx.path_graph(size) for size in (interface.MIN_SLOW_SIZE, interface.MIN_SIZE)] * 2
    for g, is_run in zip(graphs, decisions):
        assert (interface.should_run(name, (g, *arguments), {}) is True) == is_run
        run("is_connected", g)
    assert interface.should_run("pagerank", (nx.path_graph(9),), {}) is not True


@pytest.mark.parametrize("name", GRAPHS)
def test_converted_graphs_convert_back(name):
    g = GRAPHS[name]
    back = convert_to_nx(convert_from_nx(g, edge_attrs={"weight": 1}))
    assert list(back) == list(g)
    assert back.is_directed() == g.is_directed()
    assert list_edges(back) == list_edges(g)


CHANGES = {
    "add_node": lambda g: g.add_node("new"),
    "add_edge": lambda g: g.add_edge(0, 5),
    "attribute": lambda g: g.add_edge(0, 1, weight=7),
    "add_weighted_edges_from": lambda g: g.add_weighted_edges_from([(0, 3, 0.5)]),
    "update": lambda g: g.update(nx.path_graph(9)),
    "remove_node": lambda g: g.remove_node(3),
    "remove_edge": lambda g: g.remove_edge(2, 3),
    "remove_edges_from": lambda g: g.remove_edges_from([(1, 2)]),
    "clear_edges": lambda g: g.clear_edges(),
    "set_edge_attributes": lambda g: nx.set_edge_attributes(g, 4, "weight"),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_results_follow_changes_of_the_graph(name, kind):
    g = nx.path_graph(6, create_using=kind)
    for change in (None, CHANGES[name]):
        if change:
            change(g)
        lengths = run("single_source_dijkstra_path_length", g, 0)
        assert lengths == nx.single_source_dijkstra_path_length(g, 0)
        assert list(run("bfs_edges", g, 0)) == list(nx.bfs_edges(g, 0))


@pytest.mark.parametrize(
    ("variables", "statement"),
    [
        ({}, "nx.config.backend_priority = ['rapidsgraph']"),
        ({}, "nx.config.backend_priority.algos = ['rapidsgraph']"),
        ({"NETWORKX_BACKEND_PRIORITY": "rapidsgraph"}, ""),
        ({"NETWORKX_BACKEND_PRIORITY_ALGOS": "rapidsgraph"}, ""),
        ({"NETWORKX_AUTOMATIC_BACKENDS": "rapidsgraph"}, ""),
    ],
)
def test_configuration_selects_the_backend(variables, statement):
    """A program without another change runs here, and goes on in NetworkX if it must."""
    program = f"""
import networkx as nx
{statement}
g, small = nx.path_graph(9000), nx.path_graph(9)
nx.pagerank(g)
nx.pagerank(small)
print(*g.__networkx_cache__["backends"], "backends" in small.__networkx_cache__)
print(nx.is_tree(g), nx.bidirectional_shortest_path(g, 0, 2))
print(nx.betweenness_centrality(small)[4] > 0)
"""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("NETWORKX_")
    }
    run = subprocess.run(
        forked_process.command(program), capture_output=True, text=True,
        env={**environment, **variables},
    )  # fmt: skip
    assert run.stdout == "rapidsgraph False\nTrue [0, 1, 2]\nTrue\n", run.stderr


def test_functions_that_the_documentation_says_run_in_networkx_do():
    """If one of them is here now, move it in docs/guide/networkx.md."""
    page = (Path(__file__).parents[2] / "docs/guide/networkx.md").read_text()
    table = page[page.index("## Comparison with nx-cugraph") : page.index("## Times")]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")]
    names = {name for row in rows for cell in row[2:4] for name in re.findall(r"`(\w+)`", cell)}
    assert {"ego_graph", "hits", "reverse"} <= names
    assert not names & set(info.FUNCTIONS)


@pytest.mark.parametrize("name", ["ego_graph", "is_tree", "is_forest"])
def test_functions_of_networkx_run_parts_here(name, monkeypatch):
    g = nx.path_graph(interface.MIN_SIZE)
    run("is_connected", g)  # converts it
    arguments = (0, 2) if name == "ego_graph" else ()
    expected = getattr(nx, name)(g, *arguments)
    calls = []
    should_run = interface.should_run
    monkeypatch.setattr(interface, "should_run", lambda *args: calls.append(1) or should_run(*args))
    with nx.config.backend_priority(algos=["rapidsgraph"]):
        result = getattr(nx, name)(g, *arguments)
    assert calls
    assert result == expected if isinstance(expected, bool) else list(result) == list(expected)


def test_importing_networkx_imports_no_more():
    program = "import sys, networkx; print('numba' in sys.modules, 'pandas' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "False False\n", run.stderr
