"""SSSP over lists in the order of weights, as a GPU reads them, against lists in that of ids."""

import types

import numpy as np
import pytest

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.algorithms import traversal
from rapidsgraph.graph.build import as_local_graph
from rapidsgraph.graph.weight_order import (
    has_lists_by_weight,
    lists_by_weight,
    record_search,
    should_read_by_weight,
)

pytestmark = pytest.mark.slow

WEIGHTS = {
    "uniform": lambda random, size: random.random(size).astype(np.float32),
    "double": lambda random, size: random.random(size),
    "constant": lambda random, size: np.ones(size, np.float32),
    "some zero": lambda random, size: random.integers(0, 3, size) / 2,
    "integers": lambda random, size: random.integers(1, 9, size),
    "of many magnitudes": lambda random, size: np.exp(4 * random.standard_normal(size)),
}


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def build(request):
    """Return a function that builds a graph of the columns of a pandas frame."""

    def build(edges, **options):
        xp = np if request.param == "cpu" else device.import_cupy()
        columns = {name: xp.asarray(edges[name].to_numpy()) for name in edges}
        return as_local_graph(rg.Graph(columns, multi_edges="min", **options))

    return build


def rmat(name, scale=12, seed=1):
    edges = rg.generate.rmat(scale, 16, seed=seed, device="cpu")
    return edges.assign(weight=WEIGHTS[name](np.random.default_rng(seed), len(edges)))


def sources_of(graph):
    """Return the vertex of most arcs, one of two arcs, and both."""
    degrees = np.diff(device.to_host(graph.csr.offsets))
    hub, other = int(degrees.argmax()), int(np.flatnonzero(degrees == 2)[0])
    return [[hub], [other], [hub, other]]


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", WEIGHTS)
def test_lists_by_weight_give_the_same_paths(build, name, directed):
    graph = build(rmat(name), directed=directed)
    for source in sources_of(graph):
        ids = graph.xp.asarray(source, dtype=np.int32)
        for cutoff in (np.inf, 0.4):
            expected = traversal.run_sssp(graph, ids, cutoff)
            result = traversal.run_sssp(graph, ids, cutoff, by_weight=True)
            for column in ("distances", "predecessors"):
                values, others = (device.to_host(getattr(r, column)) for r in (result, expected))
                np.testing.assert_array_equal(values, others, err_msg=f"{column} from {source}")


@pytest.mark.parametrize("name", ["uniform", "some zero", "of many magnitudes"])
def test_searches_for_targets_by_weight_end_with_the_same_paths(build, name):
    graph = build(rmat(name))
    random = np.random.default_rng(3)
    for source in sources_of(graph):
        ids, targets = (
            graph.xp.asarray(vertices, dtype=np.int32)
            for vertices in (source, random.choice(graph.num_vertices, 2, replace=False))
        )
        expected = traversal.run_sssp(graph, ids, targets=targets)
        result = traversal.run_sssp(graph, ids, targets=targets, by_weight=True)
        for column in ("distances", "predecessors"):
            values, others = (device.to_host(getattr(r, column)) for r in (result, expected))
            np.testing.assert_array_equal(values, others, err_msg=f"{column} from {source}")


def test_lists_by_weight_hold_the_arcs_of_the_graph(build):
    graph = build(rmat("double"))
    for lists, adjacency in zip(lists_by_weight(graph), (graph.csr, graph.csc)):
        arcs = []
        for layout in (lists, adjacency):
            offsets, neighbors, weights = map(
                device.to_host, (layout.offsets, layout.neighbors, layout.weights)
            )
            rows = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
            if layout is lists:
                is_same_row = rows[1:] == rows[:-1]
                rounded = weights.astype(np.float32)
                rounded = np.where(rounded > weights, np.nextafter(rounded, 0), rounded)
                assert (np.diff(rounded)[is_same_row] >= 0).all()
            order = np.lexsort((neighbors, rows))
            arcs.append((rows[order], neighbors[order], weights[order]))
        np.testing.assert_equal(*arcs)


@pytest.mark.gpu
def test_a_gpu_reads_lists_by_weight_from_the_second_search_on(monkeypatch):
    edges = rmat("uniform")
    expected = rg.sssp(rg.Graph(edges), 0)
    cudf = pytest.importorskip("cudf")
    graph, other = rg.Graph(cudf.DataFrame(edges)), rg.Graph(cudf.DataFrame(edges))
    for has_lists in (False, True, True):
        result = rg.sssp(graph, 0).to_pandas()
        for column in ("distance", "predecessor"):  # of other types where there are nulls
            values, others = (
                frame[column].fillna(-1).to_numpy(float) for frame in (result, expected)
            )
            np.testing.assert_array_equal(values, others)
        assert has_lists_by_weight(graph._storage) == has_lists
    rg.sssp(other, 0)
    monkeypatch.setattr(device, "free_memory", lambda xp: 0)
    assert should_read_by_weight(graph._storage)
    assert not should_read_by_weight(other._storage)


@pytest.mark.parametrize(
    ("xp", "num_arcs", "free", "expected"),
    [
        ("a GPU's", 80, 2**40, [False, True]),
        ("a GPU's", 79, 2**40, [False, False]),  # few arcs per vertex
        ("a GPU's", 2**30, 2**36, [False, False]),  # no memory
        ("a GPU's", 2**30, 2**37, [False, True]),
        (np, 80, 2**40, [False, False]),
    ],
)
def test_the_second_search_reads_lists_by_weight_where_it_pays_off(
    xp, num_arcs, free, expected, monkeypatch
):
    monkeypatch.setattr(device, "free_memory", lambda _: free)
    cache = {}
    graph = types.SimpleNamespace(
        xp=xp, num_vertices=10, num_arcs=num_arcs, is_cached=cache.__contains__,
        cached=lambda key, compute: cache.setdefault(key, compute()),
    )  # fmt: skip
    answers = []
    for _ in range(2):
        answers.append(should_read_by_weight(graph))
        record_search(graph)
    assert answers == expected


def test_a_cpu_reads_lists_by_id():
    graph = rg.Graph(rmat("uniform", 8))
    for _ in range(2):
        rg.sssp(graph, 0)
    assert not has_lists_by_weight(graph._storage)


@pytest.mark.gpu
def test_graphs_of_few_arcs_are_read_by_id():
    edges = rg.generate.grid(20, seed=1, weights=(1.0, 2.0), device="cpu")
    cupy = device.import_cupy()
    graph = rg.Graph({name: cupy.asarray(edges[name].to_numpy()) for name in edges})
    for _ in range(2):
        rg.sssp(graph, 0)
    assert not has_lists_by_weight(graph._storage)
