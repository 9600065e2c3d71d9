"""BFS and SSSP of graphs large enough for every way that the kernels take."""

from pathlib import Path

import naive
import networkx
import numpy as np
import pandas
import pytest
from conftest import check_traversals, paths_of

import rapidsgraph as rg
from rapidsgraph.algorithms import traversal
from rapidsgraph.generate import grid, rmat
from rapidsgraph.graph.local_graph import storage_of

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[3] / "shared" / "data"
INF = float("inf")

symmetrize = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


def hub_reached_late(length=99, leaves=20_000):
    """A path to a hub, whose leaves lead on to one another."""
    path_, hub = np.arange(length), length
    leaf = hub + 1 + np.arange(leaves)
    sources = np.concatenate([path_, np.full(leaves, hub), leaf[:-1]])
    destinations = np.concatenate([path_ + 1, leaf, leaf[1:]])
    levels = np.concatenate([np.arange(hub + 1), np.full(leaves, hub + 1)])
    before = np.concatenate([[-1], path_, np.full(leaves, hub)])
    return sources, destinations, True, 0, levels, before


def hub_reached_soon():
    """A hub of more than one chunk of arcs, and a frontier larger than that in shared memory."""
    return hub_reached_late(5, 3000)


def long_path():
    n = 5000
    return np.arange(n - 1), np.arange(1, n), True, 0, np.arange(n), np.arange(n) - 1


def long_path_from_its_middle():
    n, start = 5000, 2500
    away = np.arange(n) - start
    return np.arange(n - 1), np.arange(1, n), False, start, np.abs(away), (
        np.arange(n) - np.sign(away)
    )  # fmt: skip


def star_out():
    n = 20_001
    levels = (np.arange(n) > 0).astype(int)
    return np.zeros(n - 1, int), np.arange(1, n), True, 0, levels, np.zeros(n, int)


def star_from_a_leaf():
    n = 20_001
    levels = np.full(n, 2)
    levels[[0, 7]] = (1, 0)
    before = np.zeros(n, int)
    before[0] = 7
    return np.zeros(n - 1, int), np.arange(1, n), False, 7, levels, before


def star_in_from_all_leaves():
    n = 20_001
    levels = (np.arange(n) == 0).astype(int)
    return np.arange(1, n), np.zeros(n - 1, int), True, np.arange(1, n), levels, np.ones(n, int)


def two_hubs():
    """From 0 by way of 10,000 to 1."""
    middle = np.arange(2, 10_002)
    sources = np.concatenate([middle * 0, middle])
    levels = np.ones(10_002, int)
    levels[:2] = (0, 2)
    before = np.zeros(10_002, int)
    before[1] = 2
    return sources, np.concatenate([middle, middle * 0 + 1]), True, 0, levels, before


def complete_bipartite():
    """From a vertex of the one side to all of the other, and from its first back."""
    n = 300
    left, right = np.divmod(np.arange(n * n), n)
    levels = np.where(np.arange(2 * n) < n, 2, 1)
    levels[5] = 0
    before = np.where(np.arange(2 * n) < n, n, 5)
    return left, right + n, False, 5, levels, before


def many_components():
    n = 20_000
    levels = np.full(n, -1)
    levels[[600, 601]] = (0, 1)
    return np.arange(0, n, 2), np.arange(1, n, 2), False, 600, levels, np.full(n, 600)


def lattice_of_64():
    x, y = np.meshgrid(np.arange(64), np.arange(64))
    frame = grid(64, permute=False, device="cpu")
    ids = np.arange(64 * 64)
    before = np.where(y.ravel() > 0, ids - 64, ids - 1)
    return *(frame[name].to_numpy() for name in frame), True, 0, (x + y).ravel(), before


def bottleneck():
    """Levels of 1, 3,000, 1, 3,000, ... vertices: frontiers grow and shrink again."""
    wide, times = 3000, 4
    hubs = np.arange(times + 1) * (wide + 1)
    leaves = hubs[:-1, None] + 1 + np.arange(wide)
    sources = np.concatenate([np.repeat(hubs[:-1], wide), leaves.ravel()])
    destinations = np.concatenate([leaves.ravel(), np.repeat(hubs[1:], wide)])
    place = np.arange(hubs[-1] + 1)
    levels = 2 * (place // (wide + 1)) + (place % (wide + 1) > 0)
    before = np.where(place % (wide + 1) > 0, place - place % (wide + 1), place - wide)
    return sources, destinations, True, 0, levels, before


LARGE = [
    *(hub_reached_late, long_path, long_path_from_its_middle, star_out, star_from_a_leaf),
    *(star_in_from_all_leaves, two_hubs, complete_bipartite, many_components, lattice_of_64),
    bottleneck,
]


def as_arrays(result):
    """Distance and predecessor of a mapping of arrays, on the host."""
    return [
        values.get() if hasattr(values, "get") else values
        for values in (result["distance"], result["predecessor"])
    ]


@pytest.mark.parametrize(
    "shape",
    [*LARGE, pytest.param(hub_reached_soon, marks=pytest.mark.sanitizer)],
    ids=lambda shape: shape.__name__,
)
@pytest.mark.parametrize("cost", [1, 0.1, 0])
@pytest.mark.parametrize("as_frame", [False, True], ids=["graph", "frame"])
def test_large_closed_forms(make_arrays, shape, cost, as_frame):
    """With edges that all cost the same, also nothing."""
    sources, destinations, directed, source, levels, before = shape()
    columns = {"source": sources, "destination": destinations}
    before = np.where(levels > 0, before, -1)
    if not directed and as_frame:
        columns = {
            "source": np.concatenate([sources, destinations]),
            "destination": np.concatenate([destinations, sources]),
        }
    if cost != 1:
        columns["weight"] = np.full(len(columns["source"]), float(cost))
    given = frame = make_arrays(columns)
    if not as_frame:
        weight = "weight" if cost != 1 else None
        given = rg.Graph(frame, weight=weight, directed=directed)
    if cost == 1:
        found = rg.bfs(given, source)
        distance, predecessor = as_arrays(found)
        assert distance.dtype == np.int32
        np.testing.assert_array_equal(distance, levels)
        np.testing.assert_array_equal(predecessor, before)
        assert rg.verify.bfs(given, found, source) == levels.max()
    found = rg.sssp(given, source)
    distance, predecessor = as_arrays(found)
    sums = np.concatenate([[0.0], np.cumsum(np.full(levels.max(), cost))])  # from left to right
    expected = np.where(levels < 0, INF, sums[levels])
    np.testing.assert_array_equal(distance, expected)
    np.testing.assert_array_equal(predecessor, before)
    assert rg.verify.sssp(given, found, source) == sums[-1]


@pytest.mark.parametrize("limit", [0, 1, 99, 100])
def test_limits_of_a_large_graph(make_arrays, limit):
    sources, destinations, _, source, levels, before = hub_reached_late()
    graph = rg.Graph(make_arrays({"source": sources, "destination": destinations}))
    for found, missing in (
        (rg.bfs(graph, source, depth_limit=limit), -1),
        (rg.sssp(graph, source, cutoff=limit + 0.5), INF),
    ):
        distance, predecessor = as_arrays(found)
        np.testing.assert_array_equal(distance, np.where(levels <= limit, levels, missing))
        inside = (levels > 0) & (levels <= limit)
        np.testing.assert_array_equal(predecessor, np.where(inside, before, -1))


@symmetrize
@pytest.mark.parametrize("weights", [None, "many", "few", "zeros", "wide"])
@pytest.mark.parametrize("scale", [pytest.param(8, marks=pytest.mark.sanitizer), 11])
def test_rmat_agrees_with_naive(make_arrays, directed, weights, scale):
    """Weights that are all different, with ties, mostly 0, and of many magnitudes."""
    frame = rmat(scale, 12, seed=5, weights=(0.0, 2.0), device="cpu")
    columns = {name: frame[name].to_numpy() for name in frame}
    if weights == "few":
        columns["weight"] = np.round(columns["weight"] * 4) / 4
    if weights == "zeros":
        columns["weight"] = np.maximum(columns["weight"] - 1.9, 0)
    if weights == "wide":
        random = np.random.default_rng(5)
        columns["weight"] = random.lognormal(0, 8, len(frame)) * (random.random(len(frame)) > 0.1)
    if weights is None:
        columns["weight"] = np.ones(len(frame))
    graph = rg.Graph(make_arrays(columns), weight="weight" if weights else None,
                     directed=directed, multi_edges="keep")  # fmt: skip
    if weights:
        assert traversal.has_wide_weights(storage_of(graph)) is (weights == "wide")
    edges = list(zip(*(columns[name].tolist() for name in ("source", "destination", "weight"))))
    check_traversals(graph, edges, edges[0][0], directed=directed)
    check_traversals(
        graph, edges, sorted({edge[0] for edge in edges[::2000]}), directed=directed, limit=1
    )


@pytest.mark.parametrize("weights", [(0.5, 2.0), (0.0, 1e-3), "integers"], ids=str)
@pytest.mark.parametrize("size", [pytest.param(30, marks=pytest.mark.sanitizer), 90])
def test_long_roads(make_arrays, weights, size):
    """Grids with holes in them, where the cheapest way is seldom that of the fewest edges."""
    drawn = (1, 100) if weights == "integers" else weights
    frame = grid(size, keep=0.7, seed=3, weights=drawn, device="cpu")
    columns = {name: frame[name].to_numpy() for name in frame}
    if weights == "integers":
        columns["weight"] = columns["weight"].astype(np.int32)
    graph = rg.Graph(make_arrays(columns), weight="weight")
    edges = list(zip(*(columns[name].tolist() for name in ("source", "destination", "weight"))))
    check_traversals(graph, edges, edges[len(edges) // 2][0])


REAL = {"karate": False, "email-Eu-core": True, "wiki-Vote": True, "ca-GrQc": False}  # directed


@pytest.mark.parametrize("name", REAL)
def test_real_graphs(name):
    path_ = DATA / f"{name}.parquet"
    if not path_.exists():
        pytest.skip(f"{path_.name} is not in ../shared/data, so this graph was not searched")
    directed, frame = REAL[name], rg.read_edges(path_, device="cpu")
    source = int(frame["source"].iloc[0])
    pairs = list(zip(frame["source"].tolist(), frame["destination"].tolist()))
    peer = networkx.DiGraph(pairs) if directed else networkx.Graph(pairs)
    graph = rg.Graph(frame, directed=directed)
    found = rg.bfs(graph, source)
    expected = networkx.single_source_shortest_path_length(peer, source)
    assert {v: d for v, d in paths_of(found)[0].items() if d is not None} == expected
    assert rg.verify.bfs(graph, found, source) == max(expected.values())
    # Weights that anybody can compute again: 1 to 7, of both ends.
    weights = (frame["source"] + frame["destination"]) % 7 + 1
    graph = rg.Graph(frame.assign(weight=weights), weight="weight", directed=directed)
    found = rg.sssp(graph, source)
    cost = networkx.single_source_dijkstra_path_length(
        peer, source, weight=lambda a, b, _: (a + b) % 7 + 1
    )
    assert {v: d for v, d in paths_of(found)[0].items() if d < INF} == cost
    assert rg.verify.sssp(graph, found, source) == max(cost.values())


def test_a_road_network():
    path_ = DATA / "USA-road-d.NY.parquet"
    if not path_.exists():
        pytest.skip(f"{path_.name} is not in ../shared/data, so this graph was not searched")
    graph = rg.Graph(
        rg.read_edges(path_, weight="weight", device="cpu"), weight="weight", multi_edges="min"
    )
    assert rg.verify.bfs(graph, rg.bfs(graph, 0), 0) > 300
    assert rg.verify.sssp(graph, rg.sssp(graph, 0), 0) > 500_000


def test_steps_below_the_spacing_of_doubles():
    """Where a step is lost in rounding, vertices that wait are not taken for expanded ones."""
    random = np.random.default_rng(93)
    vertices, rows = 5000, 50_000
    ends = random.integers(0, vertices, rows), random.integers(0, vertices, rows)
    weights = random.choice([0.0, 1e-308, 5e-324, 1e308, 1.7e308, 1.0], rows)
    frame = pandas.DataFrame({"source": ends[0], "destination": ends[1], "weight": weights})
    graph = rg.Graph(frame, weight="weight", multi_edges="keep", vertices=vertices)
    found = rg.sssp(graph, 0)
    rg.verify.sssp(graph, found, 0)
    edges = list(zip(*(values.tolist() for values in (*ends, weights)), strict=True))
    expected = naive.sssp(edges, [0], range(vertices), cutoff=np.inf)[0]
    assert found["distance"].tolist() == [expected[vertex] for vertex in range(vertices)]
