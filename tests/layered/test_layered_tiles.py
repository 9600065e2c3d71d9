"""Algorithms that load the lists of a range of vertices, or contract what one pass reads."""

import copy
import json
import zlib

import hypothesis.strategies as st
import numpy as np
import pytest
from conftest import FrameMaker, columns_of, listed, random_edges
from hypothesis import given, settings
from test_streaming import damaged
from test_streaming_gpu import enforced
from traced_memory import trace_memory

import rapidsgraph as rg
from rapidsgraph.algorithms.run_memory import PAIR_BYTES, TILE_BYTES, max_undirected_edges
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import LayeredEdgeList

pytestmark = pytest.mark.slow

gpu = pytest.mark.gpu
RUNS = {
    "triangle_count": rg.triangle_count,
    "clustering_coefficient": rg.clustering_coefficient,
    "core_number": rg.core_number,
    "label_propagation": rg.label_propagation,
    "label_propagation, seed": lambda graph, **limit: rg.label_propagation(graph, seed=7, **limit),
    "neighbor_similarity": lambda graph, **limit: rg.neighbor_similarity(
        graph, kind="common", **limit
    ),
    "neighbor_similarity, pairs": lambda graph, **limit: rg.neighbor_similarity(
        graph, pairs_in(graph), **limit
    ),
    "structural_similarity": rg.structural_similarity,
    "connected_components": rg.connected_components,
    "strong_components": lambda graph, **limit: rg.connected_components(
        graph, strong=True, **limit
    ),
}
IN_TILES = [name for name in RUNS if name.partition(",")[0] in TILE_BYTES]
IN_TILES.remove("strong_components")  # whose arcs are contracted; see test_layered_strong
IN_TILES.remove("neighbor_similarity, pairs")  # whose number is not in the estimate
by_run = pytest.mark.parametrize("name", RUNS)
symmetrize = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


def pairs_of(edges):
    return columns_of([(source, destination, 1) for source, destination in edges])


def pairs_in(graph):
    """Pairs of any vertices, among them equal ones, in any order."""
    labeling = storage_of(graph).labeling
    if labeling.num_vertices > 100:  # of graphs of integer names
        ids = np.random.default_rng(5).integers(0, labeling.num_vertices, (3000, 2))
        return [tuple(row) for row in ids.tolist()]
    names = listed(labeling.vertex_frame({}))["vertex"]
    return [(one, other) for one in names for other in reversed(names[:9])]


def stored(graph, folder, root, device, partition_bytes=40):
    """The list of a graph, opened from a store, so that it streams on a CPU, too."""
    LayeredEdgeList.build(graph, root, partition_bytes=partition_bytes).save(folder)
    return LayeredEdgeList.open(folder, device=device)


def least_of(name, layered):
    """The limit that the first error names; without one, any limit suffices."""
    try:
        RUNS[name](layered, memory_limit=1)
    except rg.InsufficientMemoryError as error:
        return error.needed
    return 1


def check_same(name, layered, graph):
    """Without a limit, with the least one, and with some between."""
    expected = listed(RUNS[name](graph))
    least = least_of(name, layered)
    for limit in (None, least, 2 * least, 10 * least):
        assert listed(RUNS[name](layered, memory_limit=limit)) == expected, limit
    return expected


RING = [(vertex, (vertex + 1) % 40) for vertex in range(40)]
CLIQUE = [(one, other) for one in range(7) for other in range(one)]
SHAPES = {
    "path": [(vertex, vertex + 1) for vertex in range(50)],
    "ring": RING,
    "clique": CLIQUE,
    "star": [(0, leaf) for leaf in range(1, 80)],
    "star to the hub": [(leaf, 0) for leaf in range(1, 80)],
    "wheel": RING + [(40, vertex) for vertex in range(40)],
    "grid with diagonals": [
        (9 * row + column, 9 * (row + down) + column + right)
        for row in range(8)
        for column in range(8)
        for down, right in ((0, 1), (1, 0), (1, 1))
    ],
    "cliques in a row": [
        (6 * part + one, 6 * part + other)
        for part in range(12)
        for one in range(7)
        for other in range(one)
    ],
    "out of reach": [*CLIQUE, *((50 + one, 50 + other) for one, other in CLIQUE), (51, 2)],
    "self-loops": [(vertex, vertex) for vertex in range(7)] + CLIQUE,
    "parallel and opposite edges": [*CLIQUE, *CLIQUE, *((v, u) for u, v in CLIQUE[::2])],
    "one edge": [(0, 1)],
    "one loop": [(0, 0)],
    "no edges": [],
}


@by_run
@symmetrize
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(tmp_path, make_arrays, name, directed, shape):
    edges, vertices = SHAPES[shape], 1 if shape in ("no edges", "one loop") else None
    graph = rg.Graph(
        make_arrays(pairs_of(edges)), directed=directed, multi_edges="keep", vertices=vertices
    )
    layered = stored(graph, tmp_path / "layers", 0, graph.device, 100)
    check_same(name, layered, graph)


@pytest.mark.parametrize("policy", ["keep", "first"])
@by_run
def test_the_limit_of_a_hub_of_parallel_edges(tmp_path, name, policy):
    """Also of a store without the field `is_merged`, as older ones are."""
    edges = [*CLIQUE, *[(0, vertex) for vertex in (1, 2, 3)] * 50]
    graph = rg.Graph(pairs_of(edges), directed=False, multi_edges=policy)
    expected = listed(RUNS[name](graph))
    layered = stored(graph, tmp_path / "layers", 0, "cpu")
    least = least_of(name, layered)
    assert listed(RUNS[name](layered, memory_limit=least)) == expected
    path = tmp_path / "layers" / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest.pop("is_merged") is (policy == "first")
    manifest["checksum"] = "0" * 8
    text = json.dumps(manifest, indent=1) + "\n"
    checksum = f"{zlib.crc32(text.encode()):08x}"
    path.write_text(text.replace('"checksum": "00000000"', f'"checksum": "{checksum}"'))
    older = LayeredEdgeList.open(tmp_path / "layers", device="cpu")
    least_of_older = least_of(name, older)
    assert least_of_older >= least
    assert listed(RUNS[name](older, memory_limit=least_of_older)) == expected


def test_closed_forms(tmp_path):
    """A wheel, whose hub is in 40 triangles and all others in two."""
    edges = SHAPES["wheel"]
    graph = rg.Graph(pairs_of(edges), directed=False)
    layered = stored(graph, tmp_path / "layers", 40, "cpu")
    found = {
        name: listed(RUNS[name](layered, memory_limit=least_of(name, layered))) for name in RUNS
    }
    assert found["triangle_count"]["triangles"] == 40 * [2] + [40]
    coefficients = found["clustering_coefficient"]["coefficient"]
    assert coefficients == 40 * [2 / 3] + [40 / (40 * 39 / 2)]
    assert found["core_number"]["core"] == 41 * [3]
    assert found["connected_components"]["component"] == 41 * [0]


def random_graph(make, directed, policy):
    edges = make(columns_of(random_edges(110, 90, 700)))
    return rg.Graph(edges, directed=directed, multi_edges=policy, weight="weight", vertices=95)


@by_run
@symmetrize
@pytest.mark.parametrize("policy", ["first", "keep"])
def test_random_graphs(tmp_path, make_arrays, name, directed, policy):
    graph = random_graph(make_arrays, directed, policy)
    layered = stored(graph, tmp_path / "layers", 5, graph.device, 1000)
    check_same(name, layered, graph)


@pytest.mark.sanitizer
@by_run
@symmetrize
def test_few_tiles(tmp_path, make_arrays, name, directed):
    """With limits that take few launches, which are slow under compute-sanitizer."""
    graph = random_graph(make_arrays, directed, "first")
    layered = stored(graph, tmp_path / "layers", 5, graph.device, 2000)
    multiple = 1 if name == "core_number" else 2  # it peels in memory with twice the least limit
    found = RUNS[name](layered, memory_limit=multiple * least_of(name, layered))
    assert listed(found) == listed(RUNS[name](graph))


@by_run
@settings(deadline=None, max_examples=25)
@given(
    edges=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=60),
    directed=st.booleans(),
    size=st.sampled_from([1, 40, 10_000]),
)
def test_any_graph(tmp_path_factory, name, edges, directed, size):
    graph = rg.Graph(pairs_of(edges), directed=directed, multi_edges="keep")
    folder = tmp_path_factory.mktemp("stores") / "layers"
    layered = stored(graph, folder, edges[0][0], "cpu", size)
    check_same(name, layered, graph)


def test_names(tmp_path):
    """Components, and labels that are as frequent as others, follow the names, not the layers."""
    edges = {"source": ["d", "b", "e", "x"], "destination": ["b", "a", "d", "y"]}
    graph = rg.Graph(FrameMaker("pandas")({k: np.array(v) for k, v in edges.items()}))
    layered = stored(graph, tmp_path / "layers", "e", "cpu")
    for name in RUNS:
        check_same(name, layered, graph)


# Memory


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def large(request, tmp_path_factory):
    """(Graph, its opened list of several partitions), with a hub."""
    random = np.random.default_rng(3)
    sources, destinations = random.integers(0, 4000, (2, 24_000))
    sources[:2000] = 17
    edges = FrameMaker("pandas")({"source": sources, "destination": destinations})
    graph = rg.Graph(edges, directed=request.param, vertices=4000)
    folder = tmp_path_factory.mktemp("stores") / "large"
    return graph, stored(graph, folder, 17, "cpu", 2**14)


@pytest.mark.parametrize("name", IN_TILES)
def test_the_limit_is_kept(large, name):
    graph, layered = large
    expected, least = listed(RUNS[name](graph)), least_of(name, layered)
    estimate = rg.estimate_memory(layered, name.partition(",")[0])
    assert least == estimate.streamed < estimate.needed
    passes = []
    for limit in (least, (least + estimate.needed) // 2, estimate.needed):
        with trace_memory() as get_peak:
            found = RUNS[name](layered, memory_limit=limit)
            assert get_peak() < limit
        assert listed(found) == expected
        passes.append(layered.last_run.passes)
    assert passes[0] > passes[1] > passes[2] == 2  # one counts neighbors, one loads all


@pytest.mark.parametrize("name", IN_TILES)
def test_a_list_that_is_too_long_for_the_limit(large, name):
    """The hub's: the error names the limit that suffices, which is below the estimate."""
    graph, layered = large
    bytes_ = TILE_BYTES[name.partition(",")[0]]
    vertices = bytes_.per_vertex * graph.num_vertices
    if "similarity" in name:
        vertices += PAIR_BYTES * max_undirected_edges(layered)  # of the result
    limit = vertices + 2 * layered._storage.largest_partition
    with pytest.raises(rg.InsufficientMemoryError, match="vertices needs about") as caught:
        RUNS[name](layered, memory_limit=limit)
    needed, degrees = caught.value.needed, graph.degrees
    longest = degrees[[name for name in degrees if name != "vertex"]].sum(axis=1).max()
    assert limit + longest * bytes_.per_arc == needed < least_of(name, layered)
    assert listed(RUNS[name](layered, memory_limit=needed)) == listed(RUNS[name](graph))
    with pytest.raises(rg.InsufficientMemoryError):
        RUNS[name](layered, memory_limit=needed - 1)


def test_undirected_lists_load_adjacent_layers_only(tmp_path):
    """A long ladder: each tile is loaded a constant number of times, whatever their number."""
    rungs = 3000
    edges = [(2 * rung, 2 * rung + 1) for rung in range(rungs)]
    edges += [(rung, rung + 2) for rung in range(2 * rungs - 2)]
    edges += [(2 * rung, 2 * rung + 3) for rung in range(rungs - 1)]
    graph = rg.Graph(pairs_of(edges), directed=False)
    layered = stored(graph, tmp_path / "layers", 0, "cpu", 2000)
    per_neighbor = TILE_BYTES["triangle_count"].per_arc
    limit = rg.estimate_memory(layered, "triangle_count").needed
    limit -= layered.nbytes + layered.num_edges * per_neighbor * 9 // 10
    found = rg.triangle_count(layered, memory_limit=limit)
    assert listed(found) == listed(rg.triangle_count(graph))
    run, num_partitions = layered.last_run, len(layered._storage.table)
    assert run.passes > 20
    assert run.partitions < 6 * num_partitions


# Errors


@by_run
def test_damage_is_noticed(tmp_path, name):
    graph = rg.Graph(columns_of(random_edges(111, 90, 700)), multi_edges="keep", weight=None)
    whole = stored(graph, tmp_path / "layers", 5, "cpu", 300)
    limit = least_of(name, whole)
    damaged(tmp_path / "layers", whole, 3, 2, 5)
    layered = LayeredEdgeList.open(tmp_path / "layers", device="cpu")
    for memory_limit in (None, limit):
        with pytest.raises(rg.GraphError, match="partition 3 of its edges is damaged"):
            RUNS[name](layered, memory_limit=memory_limit)


@by_run
def test_a_graph_takes_no_limit(name):
    with pytest.raises(rg.GraphError, match="memory_limit applies to layered edge lists"):
        RUNS[name](rg.Graph(pairs_of(CLIQUE)), memory_limit="1GB")


@by_run
def test_a_copy_has_its_own_statistics(name):
    layered = LayeredEdgeList.build(pairs_of(CLIQUE), 6)
    RUNS[name](layered)
    other, run = copy.copy(layered), layered.last_run
    RUNS[name](other)
    assert layered.last_run is run is not other.last_run
    assert run.partitions > 0 < run.nbytes


# GPU


@gpu
@by_run
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.1])
def test_the_limit_is_kept_on_a_gpu(tmp_path, large, name, share):
    """RMM gives no byte more; run twice, so that nothing stays behind either.

    Only once with the least limit, which takes hundreds of passes.
    """
    graph, on_cpu = large
    expected = listed(RUNS[name](graph))
    on_cpu.save(tmp_path / "layers")
    probe = LayeredEdgeList.open(tmp_path / "layers", device="gpu")
    least = least_of(name, probe)
    needed = rg.estimate_memory(probe, name.partition(",")[0]).needed
    limit = least + int(share * (needed - least))
    del probe
    with enforced(limit):
        layered = LayeredEdgeList.open(tmp_path / "layers", device="gpu")
        for _ in range(2 if share else 1):
            assert listed(RUNS[name](layered, memory_limit=limit)) == expected
        del layered
