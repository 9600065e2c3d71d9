"""Triangles, coefficients and similarities of Dask frames: upper lists in a ring of any size."""

import functools

import numpy as np
import pandas
import pytest
from clusterings import clique, frame_columns, star
from conftest import columns_of, in_partitions, random_edges
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.algorithms import triangles
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES
from rapidsgraph.distributed import neighbor_similarity as distributed_similarity
from rapidsgraph.distributed import triangles as distributed_triangles

FUNCTIONS = rg.triangle_count, rg.clustering_coefficient, rg.neighbor_similarity


def check(frame, partitions=3, **options):
    frame = frame[["source", "destination"]]
    parts = in_partitions(frame, partitions)
    whole, graph = rg.Graph(frame, **options), rg.Graph(parts, **options)
    for function in FUNCTIONS:
        assert_frame_equal(function(graph).compute(), function(whole))
        if not options:
            assert_frame_equal(function(parts).compute(), function(frame))


@pytest.fixture(params=[1, 2, 5])
def ranks(request, monkeypatch):
    use_local_ranks(monkeypatch, request.param)
    return request.param


@pytest.mark.parametrize("multi_edges", ["first", "keep"])
@pytest.mark.parametrize("directed", [True, False])
def test_random_graphs(ranks, directed, multi_edges):
    for rows, vertices in ((20, 120), (90, 200), (2000, 130)):
        frame = pandas.DataFrame(columns_of(random_edges(rows, 120, rows)))
        check(frame, vertices=vertices, directed=directed, multi_edges=multi_edges)


def test_frames(ranks):
    check(pandas.DataFrame(columns_of(random_edges(4, 50, 600))))


@pytest.mark.parametrize("limits", [(0, 0), (0, 128), (3, 20)])
def test_every_kernel(ranks, monkeypatch, limits):
    for name, limit in zip(("MAX_THREAD_DEGREE", "MAX_WARP_DEGREE"), limits):
        monkeypatch.setattr(triangles, name, limit)
    edges = clique(range(60)) + [(a + 30, b + 30, 1) for a, b, _ in star(3000)]
    names = np.random.default_rng(1).permutation(3031)
    columns = frame_columns(edges)
    check(pandas.DataFrame({name: names[values] for name, values in columns.items()}))


@pytest.mark.parametrize("edges", [[], [(0, 0)], [(0, 1)], [(0, 2), (1, 2), (1, 0)]])
def test_fewer_vertices_than_ranks(ranks, edges):
    sources, destinations = zip(*edges) if edges else ((), ())
    columns = {"source": np.array(sources, int), "destination": np.array(destinations, int)}
    check(pandas.DataFrame(columns))
    check(pandas.DataFrame(columns), vertices=4)


def record_memory(monkeypatch, module, call):
    """The bytes that all ranks together check for in a module during a call."""
    numbers = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "check_free_memory", lambda what, size, xp: numbers.append(size))
        call()
    return sum(numbers)


def test_the_memory_check_counts_both_layouts(ranks, monkeypatch):
    frame = pandas.DataFrame(columns_of(random_edges(7, 300, 4000)))[["source", "destination"]]
    graph = rg.Graph(in_partitions(frame, 3))
    per_vertex, per_arc, _ = ALGORITHM_BYTES["clustering_coefficient"]
    per_arc = max(per_arc, distributed_triangles.RING_BYTES) if ranks > 1 else per_arc
    needed = record_memory(
        monkeypatch, distributed_triangles, lambda: rg.clustering_coefficient(graph)
    )
    expected = ranks * per_vertex * graph.num_vertices + 2 * per_arc * graph.num_edges
    assert needed == expected


def test_the_rows_of_edges_are_checked_also_with_cached_counts(ranks, monkeypatch):
    names = np.array([f"{name:030}" for name in range(300)], object)
    columns = columns_of(random_edges(7, 300, 4000))
    ids = pandas.DataFrame(columns)[["source", "destination"]]
    text = ids.apply(lambda column: names[column]).astype("str")

    def measure(frame):
        graph = rg.Graph(in_partitions(frame, 3))
        run = functools.partial(rg.neighbor_similarity, graph)
        needed = record_memory(monkeypatch, distributed_similarity, run)
        assert record_memory(monkeypatch, distributed_similarity, run) == needed
        return needed, len(run().compute())

    needed, num_edges = measure(ids)
    assert needed >= 2 * num_edges * ALGORITHM_BYTES["neighbor_similarity"].per_arc
    assert measure(text)[0] >= needed + 2 * 30 * num_edges
