"""The check of strong components finds whatever is changed."""

import networkx
import numpy as np
import pandas
import pytest

import rapidsgraph as rg

# A cycle 0, 1, 2; a cycle 3, 4; the vertex 5 between them.
EDGES = {"source": [0, 1, 2, 2, 5, 3, 4], "destination": [1, 2, 0, 5, 3, 4, 3]}
COMPONENTS = [0, 0, 0, 1, 1, 2]


def make_result(component):
    return pandas.DataFrame({"vertex": range(len(component)), "component": component})


@pytest.mark.parametrize(
    ("component", "message"),
    [
        ([0, 0, 0, 1, 2, 3], "components 2 and 1 are one: paths lead from vertex 4 to vertex 3"),
        ([2, 3, 4, 0, 0, 1], "components [234] and [234] are one: paths lead from vertex [012] to"),
        ([0, 0, 0, 1, 1, 1], "1 is not strongly .* no path in it leads from vertex 3 to vertex 5"),
        ([0, 0, 0, 1, 1, 0], "0 is not strongly .* no path in it leads from vertex 5 to vertex 0"),
        ([0, 0, 1, 1, 1, 1], "0 is not strongly .* no path in it leads from vertex 1 to vertex 0"),
        ([0, 0, 0, 2, 2, 1], "component 1 .* must come after 2"),
        ([0, 0, 0, 1, 1, 3], "there is no component 2"),
    ],
)
def test_wrong_components(component, message):
    edges = pandas.DataFrame(EDGES)
    assert rg.verify.components(edges, make_result(COMPONENTS), strong=True) == 3
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.components(edges, make_result(component), strong=True)


def test_weak_components_are_not_strong():
    edges = pandas.DataFrame(EDGES)
    weak, strong = (rg.connected_components(edges, strong=is_strong) for is_strong in (False, True))
    assert rg.verify.components(edges, weak) == 1
    with pytest.raises(rg.VerificationError, match="not strongly connected"):
        rg.verify.components(edges, weak, strong=True)
    with pytest.raises(rg.VerificationError, match="the edge from vertex 2"):
        rg.verify.components(edges, strong)


def test_every_single_change():
    random = np.random.default_rng(4)
    for _ in range(5):
        ends = random.integers(0, 12, (2, 20))
        graph = rg.Graph(pandas.DataFrame(dict(zip(EDGES, ends))), vertices=12)
        result = rg.connected_components(graph, strong=True)
        count = rg.verify.components(graph, result, strong=True)
        expected = networkx.DiGraph(zip(*ends.tolist()))
        expected.add_nodes_from(range(12))
        assert count == networkx.number_strongly_connected_components(expected)
        for vertex in range(12):
            for component in {*range(count)} - {int(result["component"][vertex])}:
                wrong = result.copy()
                wrong.loc[vertex, "component"] = component
                with pytest.raises(rg.VerificationError):
                    rg.verify.components(graph, wrong, strong=True)


def test_undirected_graphs_and_long_cycles():
    cycle = np.arange(50_000)
    edges = {"source": cycle, "destination": np.roll(cycle, -1)}
    assert rg.verify.components(edges, make_result(cycle * 0), strong=True) == 1
    path = {name: ends[:-1] for name, ends in edges.items()}
    with pytest.raises(rg.VerificationError, match="no path in it leads from vertex 1 to vertex 0"):
        rg.verify.components(path, make_result(cycle * 0), strong=True)
    assert rg.verify.components(path, make_result(cycle), strong=True) == cycle.size
    graph = rg.Graph(path, directed=False)
    assert rg.verify.components(graph, make_result(cycle * 0), strong=True) == 1
    empty = rg.Graph({"source": [], "destination": []})
    assert rg.verify.components(empty, make_result([]), strong=True) == 0
