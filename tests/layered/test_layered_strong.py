"""Strong components of layered lists: contraction within little memory, passes and limits."""

import numpy as np
import pytest
from conftest import listed
from traced_memory import trace_memory

import rapidsgraph as rg
from rapidsgraph.algorithms.components import number_components
from rapidsgraph.layered import LayeredEdgeList, strong_components
from rapidsgraph.layered.sweeps import algorithm_stream

gpu = pytest.mark.gpu
RANDOM = np.random.default_rng(24)
NUM_VERTICES = 60
ORDER = RANDOM.permutation(NUM_VERTICES).tolist()
DAG = [(u, v) for v in range(NUM_VERTICES) for u in range(v)]
SHAPES = {
    "cycle": [(vertex, (vertex + 1) % 200) for vertex in range(200)],
    "path": [(vertex, vertex + 1) for vertex in range(200)],
    "path to the root": [(vertex + 1, vertex) for vertex in range(200)],
    "complete DAG": DAG,
    "complete DAG in any order": [(ORDER[u], ORDER[v]) for u, v in DAG],
    "cycles in a DAG": DAG + [(vertex + 1, vertex) for vertex in range(7, 59, 5)],
    "two cycles": [(v, v + 1) for v in range(30) if v != 9] + [(9, 0), (30, 10)],
    "random": RANDOM.integers(0, 150, (400, 2)).tolist(),
    "self-loops and parallel edges": [(v, v) for v in range(20)] + 3 * [(0, 1), (1, 2), (2, 0)],
    "no edges": [],
}  # fmt: skip


def build_graph(edges):
    edges = np.array(edges, int).reshape(-1, 2)
    num_vertices = int(edges.max(initial=0)) + 3  # two are isolated
    columns = {"source": edges[:, 0], "destination": edges[:, 1]}
    return rg.Graph(columns, vertices=num_vertices, multi_edges="keep")


def store(graph, folder, root, partition_bytes=40, device="cpu"):
    LayeredEdgeList.build(graph, root, partition_bytes=partition_bytes).save(folder)
    return LayeredEdgeList.open(folder, device=device)


def condense(layered, arcs_per_vertex):
    """The condensation, with memory for some arcs besides those of the largest partition."""
    storage = layered._storage
    capacity = int(arcs_per_vertex * storage.num_vertices) + storage.max_partition_edges
    with algorithm_stream(storage, "strong_components", "strong components", None) as stream:
        condensation = strong_components.Condensation(storage, stream, capacity)
        condensation.complete()
    return condensation


def check_condensation(layered, graph, arcs_per_vertex):
    condensation = condense(layered, arcs_per_vertex)
    expected = rg.connected_components(graph, strong=True)["component"]
    numbers = number_components(condensation.find_roots())
    assert numbers.tolist() == listed({"component": expected})["component"]
    return condensation.passes


@pytest.mark.filterwarnings("ignore:the root .* reaches no other vertex")
@pytest.mark.parametrize("arcs_per_vertex", [0, 0.5, 2, 100])
@pytest.mark.parametrize("shape", SHAPES)
def test_condensation(tmp_path, shape, arcs_per_vertex):
    """However few arcs fit into memory; if all do, in one pass."""
    graph = build_graph(SHAPES[shape])
    layered = store(graph, tmp_path / "layers", ORDER[30] if "any order" in shape else 0)
    passes = check_condensation(layered, graph, arcs_per_vertex)
    assert passes <= {0: 200, 0.5: 60, 2: 60, 100: 1}[arcs_per_vertex]


@gpu
@pytest.mark.filterwarnings("ignore:the root .* reaches no other vertex")
@pytest.mark.parametrize("arcs_per_vertex", [0.5, 100])
@pytest.mark.parametrize("shape", SHAPES)
def test_condensation_on_a_gpu(tmp_path, shape, arcs_per_vertex):
    """With larger partitions of many arcs, and so fewer launches, than on a CPU."""
    graph = build_graph(SHAPES[shape])
    root, size = ORDER[30] if "any order" in shape else 0, 400 if "DAG" in shape else 40
    layered = store(graph, tmp_path / "layers", root, size, "gpu")
    check_condensation(layered, graph, arcs_per_vertex)


def grid_edges(size, share_both):
    """A grid of edges of any direction, some of them of both."""
    vertices = np.arange(size * size).reshape(size, size)
    sources = np.append(vertices[:, :-1], vertices[:-1])
    destinations = np.append(vertices[:, 1:], vertices[1:])
    is_forward = RANDOM.random(sources.size) < 0.5
    sources, destinations = (
        np.where(is_forward, sources, destinations),
        np.where(is_forward, destinations, sources),
    )
    is_both = RANDOM.random(sources.size) < share_both
    return (
        np.append(sources, destinations[is_both]),
        np.append(destinations, sources[is_both]),
    )


LARGE = {
    "R-MAT": lambda: rg.generate.rmat(11, 16, seed=1, device="cpu"),
    "grid": lambda: grid_edges(60, 0),
    "roads": lambda: grid_edges(60, 0.6),
    "cycle": lambda: (np.arange(5000), np.roll(np.arange(5000), -1)),
    "path": lambda: (np.arange(5000), np.arange(1, 5001)),
}


@pytest.mark.parametrize("name", LARGE)
def test_passes_and_memory_within_the_least_limit(tmp_path, name):
    """Few passes, also along long paths; and the limit that the estimate states suffices."""
    edges = LARGE[name]()
    if isinstance(edges, tuple):
        edges = dict(zip(("source", "destination"), edges, strict=True))
    graph = rg.Graph(edges)
    degrees = graph.degrees
    root = degrees["vertex"][int(np.asarray(degrees["out_degree"]).argmax())]
    layered = store(graph, tmp_path / "layers", root, 2**13)
    expected = listed(rg.connected_components(graph, strong=True))
    estimate = rg.estimate_memory(layered, "strong_components")
    assert estimate.streamed < estimate.needed
    with pytest.raises(rg.InsufficientMemoryError) as caught:
        rg.connected_components(layered, strong=True, memory_limit=estimate.streamed - 1)
    assert caught.value.needed == estimate.streamed
    for limit, max_passes in ((estimate.streamed, 5), (estimate.needed, 1)):
        with trace_memory() as get_peak:
            components = rg.connected_components(layered, strong=True, memory_limit=limit)
            assert get_peak() < limit
        assert listed(components) == expected
        assert layered.last_run.passes <= max_passes


def test_lists_in_memory_and_undirected_ones():
    edges = {"source": [0, 1, 2, 3], "destination": [1, 2, 0, 0]}
    layered = LayeredEdgeList.build(edges, 0)
    assert listed(rg.connected_components(layered, strong=True))["component"] == [0, 0, 0, 1]
    undirected = LayeredEdgeList.build(rg.Graph(edges, directed=False), 0)
    assert listed(rg.connected_components(undirected, strong=True))["component"] == [0, 0, 0, 0]
