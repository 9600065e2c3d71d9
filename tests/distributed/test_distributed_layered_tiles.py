"""Algorithms that every rank of a cluster runs on its own tiles or partitions of a layered list."""

import dask
import numpy as np
import pandas
import pytest
from conftest import columns_of, random_edges
from test_distributed_layered import client_of, computed, opened, stored
from test_layered_strong import grid_edges

import rapidsgraph as rg
from rapidsgraph.algorithms.run_memory import PAIR_BYTES
from rapidsgraph.distributed import spmd
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import LayeredEdgeList

distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_workers")]

RUNS = {
    "connected_components": rg.connected_components,
    "strong_components": lambda graph, **limit: rg.connected_components(
        graph, strong=True, **limit
    ),
    "core_number": rg.core_number,
    "label_propagation": rg.label_propagation,
    "label_propagation, seed": lambda graph, **limit: rg.label_propagation(graph, seed=7, **limit),
    "triangle_count": rg.triangle_count,
    "clustering_coefficient": rg.clustering_coefficient,
}

KINDS = "jaccard", "overlap", "cosine", "common"


@pytest.fixture(scope="module")
def thread():
    """A client of one worker in this process."""
    yield from client_of(n_workers=1, processes=False)


@pytest.fixture(scope="module")
def threads():
    """A client of three workers in this process."""
    yield from client_of(n_workers=3, processes=False)


@pytest.fixture(scope="module")
def client():
    yield from client_of(n_workers=2, processes=True)


def rows_of(sources, destinations):
    pairs = np.stack((sources, destinations), axis=1).tolist()
    return [(source, destination, 1.0) for source, destination in pairs]


VERTICES = np.arange(300)
SHAPES = {
    "random": random_edges(7, 200, 1500),
    "cycle": rows_of(VERTICES, np.roll(VERTICES, -1)),
    "path": rows_of(VERTICES[:-1], VERTICES[1:]),
    "grid": rows_of(*grid_edges(12, 0.5)),
    "complete DAG": rows_of(*np.triu_indices(30, 1)),
    "star": rows_of(np.zeros(80, int), np.arange(1, 81)),
    "loops": rows_of(np.arange(9), np.arange(9)),
    "one edge": [(0, 1, 1.0)],
}


SHAPES_OF_LONG_ROWS = "complete DAG", "star", "grid"  # whose lengths are what tiles depend on


def check_same(name, layers, whole, **limit):
    found = computed(layers, RUNS[name](layers, **limit))
    pandas.testing.assert_frame_equal(found, RUNS[name](whole), check_exact=True)


@pytest.mark.filterwarnings("ignore:the root .* reaches no other vertex")
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_list_in_memory(threads, tmp_path, directed, shape):
    options = {"directed": directed, "weight": None}
    folder = stored(tmp_path / "layers", SHAPES[shape], SHAPES[shape][0][0], 100, **options)
    layers, whole = opened(folder, threads)
    for name in RUNS:
        check_same(name, layers, whole)
        run = layers.last_run
        assert run.partitions > 0 < run.nbytes
        if shape == "random" or (directed and shape in SHAPES_OF_LONG_ROWS):
            limit = rg.estimate_memory(whole, name.partition(",")[0]).streamed
            check_same(name, layers, whole, memory_limit=limit)


def test_processes(client, tmp_path):
    edges = random_edges(8, 150, 900)
    folder = stored(tmp_path / "layers", edges, edges[0][0], 200, vertices=160)
    for name in RUNS:
        check_same(name, *opened(folder, client))


def test_names_that_are_text(threads, tmp_path):
    edges = pandas.DataFrame(SHAPES["random"], columns=["source", "destination", "weight"])
    edges = edges.astype({"source": str, "destination": str})
    folder = stored(tmp_path / "layers", edges, "7", 100)
    for name in RUNS:
        check_same(name, *opened(folder, threads))


def test_a_limit_that_is_too_low(threads, tmp_path):
    folder = stored(tmp_path / "layers", SHAPES["random"], 7, 100, weight=None)
    layers, whole = opened(folder, threads)
    for run in RUNS.values():
        with pytest.raises(rg.InsufficientMemoryError) as caught:
            run(layers, memory_limit=100)
        with pytest.raises(rg.InsufficientMemoryError) as expected:
            run(whole, memory_limit=100)
        assert caught.value.needed == expected.value.needed


def test_no_edges(threads, tmp_path):
    graph = rg.Graph({"source": [], "destination": []}, vertices=4)
    LayeredEdgeList.build(graph, 2).save(tmp_path / "layers")
    layers, whole = opened(tmp_path / "layers", threads)
    assert storage_of(layers).num_partitions == 3
    for name in RUNS:
        check_same(name, layers, whole)


# Similarities, whose rows are edges or pairs


def pairs_in(graph):
    """Pairs of any vertices, among them equal ones, in any order."""
    names = storage_of(graph).labeling.vertex_frame({})["vertex"].tolist()
    ids = np.random.default_rng(5).integers(0, len(names), (500, 2))
    return [(names[one], names[other]) for one, other in ids.tolist()]


def check_similarities(layers, whole, limit=None):
    """Compare all similarities with those of the list in memory; return the frame of edges."""
    pairs = pairs_in(whole)
    pair_limit = None if limit is None else limit + PAIR_BYTES * len(pairs)
    for kind in KINDS:
        edges = rg.neighbor_similarity(layers, kind=kind, memory_limit=limit)
        check_rows(layers, edges, rg.neighbor_similarity(whole, kind=kind))
        assert layers.last_run.partitions > 0 or not whole.num_edges
        found = rg.neighbor_similarity(layers, pairs, kind=kind, memory_limit=pair_limit)
        check_rows(layers, found, rg.neighbor_similarity(whole, pairs, kind=kind))
    found = rg.structural_similarity(layers, memory_limit=limit)
    check_rows(layers, found, rg.structural_similarity(whole))
    return edges


def check_rows(layers, found, expected):
    client = storage_of(layers).client
    assert found.dtypes.tolist() == expected.dtypes.tolist()
    whole = client.compute(found).result()
    pandas.testing.assert_frame_equal(whole, expected, check_exact=True)


@pytest.mark.filterwarnings("ignore:the root .* reaches no other vertex")
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("shape", ["random", "star", "loops", "one edge"])
def test_similarities_equal_those_of_list_in_memory(threads, tmp_path, directed, shape):
    options = {"directed": directed, "weight": None}
    folder = stored(tmp_path / "layers", SHAPES[shape], SHAPES[shape][0][0], 100, **options)
    layers, whole = opened(folder, threads)
    edges = check_similarities(layers, whole)
    if shape == "random":  # a star has one source, whose rows are on one rank
        lengths = [len(frame) for frame in threads.gather(threads.compute(edges.to_delayed()))]
        assert len(lengths) == 3 and max(lengths) < 1.2 * min(lengths)
        check_similarities(layers, whole, rg.estimate_memory(whole, "neighbor_similarity").streamed)


def test_similarities_of_one_rank(thread, tmp_path):
    folder = stored(tmp_path / "layers", SHAPES["random"], 7, 100)
    check_similarities(*opened(folder, thread))


def test_similarities_in_processes_with_names_that_are_text(client, tmp_path):
    edges = pandas.DataFrame(SHAPES["random"], columns=["source", "destination", "weight"])
    edges = pandas.concat((edges, edges[:50]))  # parallel edges
    loops = edges[:5].assign(destination=edges["source"][:5])
    edges = pandas.concat((edges, loops)).astype({"source": str, "destination": str})
    folder = stored(tmp_path / "layers", edges, "7", 100)
    check_similarities(*opened(folder, client))


@pytest.mark.filterwarnings("ignore:the root .* reaches no other vertex")
def test_similarities_without_rows(threads, tmp_path):
    graph = rg.Graph({"source": [], "destination": []}, vertices=4)
    LayeredEdgeList.build(graph, 2).save(tmp_path / "layers")
    layers, whole = opened(tmp_path / "layers", threads)
    check_similarities(layers, whole)
    expected = rg.neighbor_similarity(whole, [])
    check_rows(layers, rg.neighbor_similarity(layers, []), expected)


def test_pairs_in_a_dask_frame(threads, tmp_path):
    dataframe = pytest.importorskip("dask.dataframe")
    folder = stored(tmp_path / "layers", SHAPES["random"], 7, 100)
    layers, whole = opened(folder, threads)
    pairs = pandas.DataFrame(pairs_in(whole)[:50], columns=["source", "destination"])
    found = rg.neighbor_similarity(layers, dataframe.from_pandas(pairs, npartitions=2))
    check_rows(layers, found, rg.neighbor_similarity(whole, pairs))


@pytest.mark.filterwarnings("error:Sending large graph")
def test_many_pairs_are_sent_beside_the_graph_of_tasks(threads, tmp_path, monkeypatch):
    dataframe = pytest.importorskip("dask.dataframe")
    monkeypatch.setattr(spmd, "LARGE_BYTES", 2**15)
    layers, whole = opened(stored(tmp_path / "layers", SHAPES["random"], 7, 100), threads)
    frame = pandas.DataFrame(columns_of(SHAPES["random"]))[["source", "destination"]]
    pairs = pandas.DataFrame(pairs_in(whole) * 40, columns=["source", "destination"])
    threshold = {"distributed.admin.large-graph-warning-threshold": "64 kB"}
    with threads.as_current(), dask.config.set(threshold):
        for graph in (layers, rg.Graph(dataframe.from_pandas(frame, npartitions=3))):
            found = rg.neighbor_similarity(graph, pairs, kind="common").compute()
            assert found["common"].sum() == 40 * found["common"][:500].sum()


def test_similarities_that_cannot_be_computed(threads, tmp_path):
    folder = stored(tmp_path / "layers", SHAPES["random"], 7, 100)
    for run in (rg.neighbor_similarity, rg.structural_similarity):
        needed = []
        for graph in opened(folder, threads):
            with pytest.raises(rg.InsufficientMemoryError) as caught:
                run(graph, memory_limit=100)
            needed.append(caught.value.needed)
        assert needed[0] == needed[1]
    layers, whole = opened(folder, threads)
    messages = []
    for graph in (layers, whole):
        with pytest.raises(rg.GraphError) as caught:
            rg.neighbor_similarity(graph, [(7, -1)])
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
