"""Strong components of Dask frames, on any number of ranks."""

import itertools

import dask
import numpy as np
import pandas
import pytest
from conftest import columns_of, gpu, in_partitions, listed, random_edges
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.algorithms import strong_components as local
from rapidsgraph.distributed import strong_components
from rapidsgraph.distributed.replica import REPLICA_LIMIT
from rapidsgraph.graph.local_graph import storage_of


@pytest.fixture(params=[1, 2, 5])
def ranks(request, monkeypatch):
    use_local_ranks(monkeypatch, request.param)
    return request.param


@pytest.fixture(params=[-1, 60, 2**24], ids=["exchanges", "few arcs left", "replicas"])
def limit(request):
    """Up to how many arcs a rank gets all of them."""
    with dask.config.set({REPLICA_LIMIT: request.param}):
        yield request.param


def edges_of(rows, vertices, seed=1):
    ends = np.random.default_rng(seed).integers(0, vertices, (rows, 2))
    return pandas.DataFrame(ends, columns=["source", "destination"])


def frame_of(edges):
    sources, destinations = zip(*edges) if edges else ((), ())
    return pandas.DataFrame(
        {"source": np.array(sources, int), "destination": np.array(destinations, int)}
    )


def check(frame, vertices=None, partitions=3, **options):
    graph = rg.Graph(in_partitions(frame, partitions), vertices=vertices, **options)
    whole = rg.Graph(frame, vertices=vertices, **options)
    expected = rg.connected_components(whole, strong=True)
    for _ in range(2):  # with partitions that exist
        found = rg.connected_components(graph, strong=True)
        assert_frame_equal(found.compute(), expected)
    return expected


@pytest.mark.parametrize("density", [0.8, 1.2, 2, 5])
def test_random_graphs(ranks, limit, density):
    """About one arc per vertex, many components have several vertices."""
    counts = {0.8: (6, 300), 1.2: (30, 300), 2: (6, 30), 5: (300,)}
    for seed, count in enumerate(counts[density]):
        check(edges_of(int(count * density), count, seed), vertices=count)


@pytest.mark.parametrize("options", [
    {"directed": False}, {"multi_edges": "keep"}, {"self_loops": "drop"},
    {"weight": "weight", "multi_edges": "sum"},
])  # fmt: skip
def test_graphs_of_any_kind(ranks, limit, options):
    columns = columns_of(random_edges(4, 200, 300, weighted="weight" in options))
    frame = pandas.DataFrame(columns)
    again = frame.iloc[::3]
    loops = again.assign(destination=again["source"])
    check(pandas.concat([frame, again, loops], ignore_index=True), **options)


def test_cycles_across_ranges(ranks, limit):
    """Cycles of several lengths, whose vertices are far apart, with arcs to the next cycle."""
    order = np.arange(200) * 71 % 200
    edges, start = [], 0
    for length in (100, 1, 50, 2, 30, 17):
        cycle = order[start : start + length]
        edges += zip(cycle, np.roll(cycle, 1))
        edges += [(cycle[0], order[start + length])] if start + length < 200 else []
        start += length
    sizes = check(frame_of(edges))["component"].value_counts()
    assert sorted(sizes) == [1, 2, 17, 30, 50, 100]


@pytest.mark.parametrize("trims", [2, 1000])
def test_paths(ranks, limit, trims, monkeypatch):
    """Trimming ends after some rounds, and coloring goes on; each vertex is a component."""
    monkeypatch.setattr(local, "MAX_TRIMS", trims)
    path = np.arange(90) * 71 % 90
    edges = list(itertools.pairwise(path))
    assert check(frame_of(edges))["component"].nunique() == 90
    check(frame_of([*edges, *((b, a) for a, b in edges[40:])]))


@pytest.mark.parametrize("edges", [[], [(0, 0)], [(0, 1)], [(0, 1), (1, 0)], [(0, 2), (1, 2)]])
def test_fewer_vertices_than_ranks(ranks, limit, edges):
    check(frame_of(edges))
    check(frame_of(edges), vertices=4, partitions=1)


def test_frames_and_names(ranks, limit):
    frame = edges_of(260, 200).map("v{}".format)
    expected = rg.connected_components(frame, strong=True)
    found = rg.connected_components(in_partitions(frame, 5), strong=True).compute()
    assert_frame_equal(found, expected, check_index_type=False)


def test_copies_that_do_not_fit_in_memory(ranks, monkeypatch):
    """Ranks transpose the graph themselves, as the client expects them to search copies."""
    monkeypatch.setattr(strong_components, "replicate", lambda *arguments: None)
    check(edges_of(260, 200))


def test_layouts(ranks):
    """A CPU searches a copy by source only; the other layout is built where ranks exchange."""
    frame = edges_of(260, 200)
    for limit, has_csc in ((2**24, False), (-1, True)):
        graph = rg.Graph(in_partitions(frame, 3))
        with dask.config.set({REPLICA_LIMIT: limit}):
            rg.connected_components(graph, strong=True)
        assert storage_of(graph).has_layout("csc") == has_csc


def test_memory_is_checked_on_every_rank(ranks, limit, monkeypatch):
    sizes = []

    def record(what, size, xp):
        assert what == "strong components of 200 vertices"
        sizes.append(size)

    monkeypatch.setattr(strong_components, "check_free_memory", record)
    graph = rg.Graph(in_partitions(edges_of(2000, 200), 3))
    rg.connected_components(graph, strong=True)
    assert len(sizes) == ranks
    assert sum(sizes) >= 120 * 200 * ranks + 16 * graph.num_edges


@gpu
@pytest.mark.parametrize("count", [1, 3])
def test_gpu_arrays(monkeypatch, limit, count):
    import cudf

    use_local_ranks(monkeypatch, count)
    for density in (1.2, 2):
        frame = edges_of(int(400 * density), 400)
        graph = rg.Graph(in_partitions(cudf.DataFrame(frame), 3))
        found = rg.connected_components(graph, strong=True).compute()
        assert listed(found) == listed(rg.connected_components(frame, strong=True))
