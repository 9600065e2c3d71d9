"""Results of the backend beside those of NetworkX."""

import itertools

import networkx as nx
import numpy as np
import pytest
from networkx_graphs import DIRECTED, GRAPHS, MARKS, UNDIRECTED, run

from rapidsgraph.networkx_backend.graph import convert_from_nx

pytestmark = MARKS


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("weight", ["weight", None, "absent"])
def test_pagerank(name, weight):
    g = GRAPHS[name]
    nodes = list(g)
    parameters = [{}, {"alpha": 0.5, "tol": 1e-9}]
    if len(nodes) > 2:
        values = {nodes[0]: 1, nodes[2]: 3, "not a node": 4}
        parameters += [{"personalization": values}, {"nstart": values, "dangling": values}]
    for options in parameters:
        expected = nx.pagerank(g, weight=weight, **options)
        result = run("pagerank", g, weight=weight, **options)
        assert list(result) == list(expected)
        assert result == pytest.approx(expected, abs=1e-14)


def test_pagerank_raises_as_networkx():
    g = nx.path_graph(4)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        run("pagerank", g, max_iter=1)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        run("pagerank", g, max_iter=0)
    with pytest.raises(ZeroDivisionError):
        run("pagerank", g, personalization={0: 0})


@pytest.mark.parametrize("name", UNDIRECTED)
def test_connected_components(name):
    g = GRAPHS[name]
    assert list(run("connected_components", g)) == list(nx.connected_components(g))
    assert run("number_connected_components", g) == nx.number_connected_components(g)
    assert run("is_connected", g) is nx.is_connected(g)
    for node in g:
        assert run("node_connected_component", g, node) == nx.node_connected_component(g, node)


@pytest.mark.parametrize("name", DIRECTED)
def test_weakly_connected_components(name):
    g = GRAPHS[name]
    assert list(run("weakly_connected_components", g)) == list(nx.weakly_connected_components(g))
    assert run("number_weakly_connected_components", g) == nx.number_weakly_connected_components(g)
    if g:
        assert run("is_weakly_connected", g) is nx.is_weakly_connected(g)


@pytest.mark.parametrize("name", [name for name in UNDIRECTED if name != "parallel"])
def test_triangles_and_clustering(name):
    g = GRAPHS[name].copy()
    g.add_edges_from([(node, node) for node in list(g)[:2]])  # self-loops do not count
    nodes = list(g)[:7]
    for function in ("triangles", "clustering"):
        expected = getattr(nx, function)
        result = run(function, g)
        assert result == expected(g) and list(result) == list(g)
        assert {*map(type, result.values())} == {*map(type, expected(g).values())}
        assert run(function, g, [*nodes, "not a node"]) == expected(g, nodes)
        assert run(function, g, nodes[0]) == expected(g, nodes[0])
    assert run("transitivity", g) == nx.transitivity(g)
    assert run("average_clustering", g) == nx.average_clustering(g)
    if nx.triangles(g)[nodes[1]]:
        options = {"nodes": nodes, "count_zeros": False}
        assert run("average_clustering", g, **options) == nx.average_clustering(g, **options)


def test_jaccard_coefficients():
    g = GRAPHS["undirected"].copy()
    g.remove_edges_from([*nx.selfloop_edges(g)])
    pairs = [*itertools.product(list(g)[:20], list(g)[10:40])]
    expected = [*nx.jaccard_coefficient(g, pairs)]
    assert [*run("jaccard_coefficient", g, pairs)] == expected
    assert [*run("jaccard_coefficient", g, iter(pairs))] == expected
    assert [*run("jaccard_coefficient", g, [])] == []
    with pytest.raises(nx.NodeNotFound, match="Node -1 not in G"):
        run("jaccard_coefficient", g, [(-1, pairs[0][0])])
    with pytest.raises(NotImplementedError):
        run("jaccard_coefficient", g)
    g.add_edge(pairs[0][0], pairs[0][0])
    with pytest.raises(NotImplementedError):
        run("jaccard_coefficient", g, pairs)


def test_pairs_in_an_array():
    g = nx.path_graph(4)
    pairs = np.array([[0, 2], [0, 1], [3, 1]])
    expected = [*nx.jaccard_coefficient(g, pairs)]
    assert [*run("jaccard_coefficient", g, pairs)] == expected


@pytest.mark.parametrize(
    "pairs",
    [[(0, 1, 2)], [(0, 1, "x")], [(-1, 0, 1)], [(0,)], [0], 1, [(0, [])], [(0, -1), (0, 1, 2)]],
    ids=str,
)
def test_pairs_that_are_wrong(pairs):
    g = nx.path_graph(4)
    with pytest.raises((TypeError, ValueError, nx.NodeNotFound)) as expected:
        nx.jaccard_coefficient(g, pairs)
    with pytest.raises(expected.type) as caught:
        run("jaccard_coefficient", g, pairs)
    assert str(caught.value) == str(expected.value)


def test_clustering_that_is_left_to_networkx():
    g = nx.complete_graph(4)
    for other, options in (
        (g.to_directed(), {}),
        (g, {"weight": "weight"}),
        (nx.MultiGraph(g), {}),
    ):
        with pytest.raises(NotImplementedError):
            run("clustering", other, **options)
    with pytest.raises(ZeroDivisionError):
        run("average_clustering", nx.Graph())


@pytest.mark.parametrize("name", ["triangles", "clustering"])
@pytest.mark.parametrize("nodes", [-1, [[0]], [0, -1], [-1], "ab", []], ids=str)
def test_nodes_that_are_not_in_the_graph(name, nodes):
    g = nx.complete_graph(4)
    try:
        expected = getattr(nx, name)(g, nodes)
    except nx.NetworkXError:
        with pytest.raises(nx.NetworkXError):
            run(name, g, nodes)
    else:
        assert run(name, g, nodes) == expected


def test_null_graph_is_refused():
    with pytest.raises(nx.NetworkXPointlessConcept):
        run("is_connected", nx.Graph())
    with pytest.raises(nx.NetworkXNotImplemented):
        run("connected_components", nx.DiGraph())
    with pytest.raises(nx.NetworkXPointlessConcept):
        run("is_strongly_connected", nx.DiGraph())
    assert run("is_strongly_connected", nx.cycle_graph(4, create_using=nx.DiGraph))


@pytest.mark.parametrize("name", DIRECTED)
def test_strongly_connected_components(name):
    g = GRAPHS[name]
    components, expected = (
        run("strongly_connected_components", g),
        nx.strongly_connected_components(g),
    )
    components, expected = list(components), list(expected)
    assert sorted(map(sorted_texts, components)) == sorted(map(sorted_texts, expected))
    assert run("number_strongly_connected_components", g) == len(expected)
    numbers = {node: number for number, nodes in enumerate(components) for node in nodes}
    assert all(numbers[b] <= numbers[a] for a, b in g.edges())
    if g:
        assert run("is_strongly_connected", g) is (len(expected) == 1)


@pytest.mark.parametrize("name", ["undirected", "view", "isolated"])
def test_core_number(name):
    g = GRAPHS[name]
    assert list(run("core_number", g).items()) == list(nx.core_number(g).items())


def test_core_number_is_refused_as_by_networkx():
    with pytest.raises(nx.NetworkXNotImplemented, match="self loops"):
        run("core_number", nx.Graph([(0, 1), (1, 1)]))
    with pytest.raises(nx.NetworkXNotImplemented):
        run("core_number", nx.MultiGraph([(0, 1)]))
    with pytest.raises(NotImplementedError, match="for the given arguments"):
        run("core_number", nx.DiGraph([(0, 1), (1, 0)]))


def sorted_texts(nodes):
    return sorted(map(str, nodes))


def path_length(g, path, weight):
    """The length of a path; that of its cheapest edges where edges are parallel."""
    lengths = []
    for a, b in itertools.pairwise(path):
        edges = g[a][b].values() if g.is_multigraph() else [g[a][b]]
        lengths.append(min(data.get(weight, 1) for data in edges))
    return sum(lengths)


def check_lengths(result, expected):
    """Equal, of the same types, nearest first, and the sources before all."""
    assert result == expected
    assert list(map(type, result.values())) == [type(expected[node]) for node in result]
    assert list(result.values()) == sorted(result.values())
    assert next(iter(result)) == next(iter(expected))


@pytest.mark.parametrize("cutoff", [None, 0, 1.5, 2, float("inf")])
@pytest.mark.parametrize("name", GRAPHS)
def test_unweighted_lengths(name, cutoff):
    g = GRAPHS[name]
    for function in ("single_source_shortest_path_length", "single_target_shortest_path_length"):
        for node in list(g)[:20]:
            expected = getattr(nx, function)(g, node, cutoff=cutoff)
            check_lengths(run(function, g, node, cutoff=cutoff), expected)
    expected = dict(nx.all_pairs_shortest_path_length(g, cutoff=cutoff))
    result = dict(run("all_pairs_shortest_path_length", g, cutoff=cutoff))
    assert result == expected
    assert list(result) == list(expected)


@pytest.mark.parametrize("weight", ["weight", None, "absent"])
@pytest.mark.parametrize("cutoff", [None, 0, 3, 5.5])
@pytest.mark.parametrize("name", GRAPHS)
def test_weighted_lengths(name, cutoff, weight):
    g = GRAPHS[name]
    options = {"cutoff": cutoff, "weight": weight}
    for node in list(g)[:10]:
        expected = nx.single_source_dijkstra_path_length(g, node, **options)
        check_lengths(run("single_source_dijkstra_path_length", g, node, **options), expected)
        if cutoff is None:
            result = run("single_source_bellman_ford_path_length", g, node, weight=weight)
            check_lengths(result, expected)
        predecessors, distances = nx.dijkstra_predecessor_and_distance(g, node, **options)
        result = run("dijkstra_predecessor_and_distance", g, node, **options)
        assert result[1] == distances
        assert {key: sorted(map(str, nodes)) for key, nodes in result[0].items()} == {
            key: sorted(map(str, nodes)) for key, nodes in predecessors.items()
        }
    if len(g) > 2:
        sources = list(g)[:3]
        expected = nx.multi_source_dijkstra_path_length(g, sources, **options)
        check_lengths(run("multi_source_dijkstra_path_length", g, sources, **options), expected)
    expected = dict(nx.all_pairs_dijkstra_path_length(g, **options))
    assert dict(run("all_pairs_dijkstra_path_length", g, **options)) == expected


@pytest.mark.parametrize("method", ["dijkstra", "bellman-ford"])
@pytest.mark.parametrize("weight", ["weight", None])
@pytest.mark.parametrize("name", GRAPHS)
def test_paths(name, weight, method):
    """Paths may differ where several are shortest, so their ends and lengths are compared."""
    g = GRAPHS[name]
    options = {"weight": weight, "method": method}
    expected = {node: nx.shortest_path_length(g, node, **options) for node in g}
    for node in list(g)[:10]:
        paths = run("shortest_path", g, source=node, **options)
        assert paths.keys() == expected[node].keys()
        for target, path in paths.items():
            assert (path[0], path[-1]) == (node, target)
            assert path_length(g, path, weight) == expected[node][target]
        paths = run("shortest_path", g, target=node, **options)
        lengths = run("shortest_path_length", g, target=node, **options)
        assert paths.keys() == {source for source in g if node in expected[source]}
        for source, path in paths.items():
            assert (path[0], path[-1]) == (source, node)
            assert path_length(g, path, weight) == lengths[source] == expected[source][node]
    for source, target in itertools.product(list(g)[:6], repeat=2):
        is_reachable = target in expected[source]
        assert run("has_path", g, source, target) is is_reachable
        if not is_reachable:
            for function in ("shortest_path", "shortest_path_length"):
                with pytest.raises(nx.NetworkXNoPath):
                    run(function, g, source, target, **options)
            continue
        path = run("shortest_path", g, source, target, **options)
        assert path_length(g, path, weight) == expected[source][target]
        assert (
            run("shortest_path_length", g, source, target, **options) == (expected[source][target])
        )
    assert dict(run("shortest_path_length", g, **options)) == expected
    assert {
        source: {target: path_length(g, path, weight) for target, path in paths.items()}
        for source, paths in dict(run("shortest_path", g, **options)).items()
    } == expected


@pytest.mark.parametrize("name", DIRECTED)
def test_descendants(name):
    g = GRAPHS[name]
    for node in list(g)[:20]:
        assert run("descendants", g, node) == nx.descendants(g, node)
        assert run("ancestors", g, node) == nx.ancestors(g, node)
        for distance in (-1, 0, 1, 2, 100):
            result = run("descendants_at_distance", g, node, distance)
            assert result == nx.descendants_at_distance(g, node, distance)


@pytest.mark.parametrize("weight", ["weight", None])
def test_average_shortest_path_length(weight):
    g = nx.karate_club_graph()
    for graph in (g, nx.DiGraph(g), nx.path_graph(1)):
        result = run("average_shortest_path_length", graph, weight=weight)
        assert result == nx.average_shortest_path_length(graph, weight=weight)
    for graph in (nx.empty_graph(2), nx.DiGraph([(0, 1)])):
        with pytest.raises(nx.NetworkXError, match="connected"):
            run("average_shortest_path_length", graph, weight=weight)


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        ("shortest_path", (9, 0), nx.NodeNotFound),
        ("shortest_path", (0, 9), nx.NodeNotFound),
        ("shortest_path", (0, [1]), nx.NodeNotFound),
        ("shortest_path", (None, 9, "weight"), nx.NodeNotFound),
        ("shortest_path", (0, 1, None, "other"), ValueError),
        ("shortest_path_length", (0, 9, "weight"), nx.NetworkXNoPath),
        ("single_source_shortest_path", (9,), nx.NodeNotFound),
        ("single_target_shortest_path_length", (9,), nx.NodeNotFound),
        ("dijkstra_path", (9, 0), nx.NodeNotFound),
        ("dijkstra_path_length", (9, 9), nx.NodeNotFound),
        ("dijkstra_path", (0, 9), nx.NetworkXNoPath),
        ("bellman_ford_path_length", (0, 9), nx.NetworkXNoPath),
        ("multi_source_dijkstra", ([],), ValueError),
        ("multi_source_dijkstra", ([0, 9],), nx.NodeNotFound),
        ("descendants", (9,), nx.NetworkXError),
        ("has_path", (0, 9), nx.NodeNotFound),
        ("node_connected_component", (9,), KeyError),
    ],
)
def test_errors_are_those_of_networkx(function, arguments, error):
    g = nx.path_graph(3)
    for backend in ("networkx", "rapidsgraph"):
        with pytest.raises(error):
            getattr(nx, function)(g, *arguments, backend=backend)


def test_large_integers_are_exact_or_left_to_networkx():
    g = nx.path_graph(3)
    nx.set_edge_attributes(g, 2**50, "weight")
    assert run("dijkstra_path_length", g, 0, 2) == 2**51
    g.add_edge(0, 1, weight=2**53 + 1)
    with pytest.raises(NotImplementedError):
        run("dijkstra_path_length", g, 0, 2)


def test_distances_are_floats_if_a_weight_is():
    g = nx.path_graph(4)
    g[0][1]["weight"] = 2.0
    result = run("single_source_dijkstra_path_length", g, 3)
    assert result == nx.single_source_dijkstra_path_length(g, 3) == {3: 0, 2: 1, 1: 2, 0: 4}
    assert list(map(type, result.values())) == [int, float, float, float]


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name, g in GRAPHS.items() if g])
def test_results_on_a_gpu_are_those_on_a_cpu(name):
    g, node = GRAPHS[name], next(iter(GRAPHS[name]))
    calls = [
        ("single_source_dijkstra_path_length", (node,)),
        ("single_source_dijkstra_path", (node,)),
        ("single_source_shortest_path", (node,)),
        ("single_target_shortest_path_length", (node,)),
        ("dijkstra_predecessor_and_distance", (node,)),
        ("shortest_path", (node, node, "weight")),
        ("strongly_connected_components" if g.is_directed() else "connected_components", ()),
    ]
    results = {}
    for device in ("cpu", "gpu"):
        with nx.config.backends.rapidsgraph(device=device):
            converted = convert_from_nx(g, edge_attrs={"weight": 1})
        assert converted.weighted.device == device
        results[device] = [run(function, converted, *arguments) for function, arguments in calls]
        results[device][-1] = list(results[device][-1])
        pagerank = run("pagerank", converted, personalization={node: 1})
        assert pagerank == pytest.approx(nx.pagerank(g, personalization={node: 1}), abs=1e-14)
    assert results["cpu"] == results["gpu"]
