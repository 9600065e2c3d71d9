"""Components of Dask frames: joined forests, and any number of ranks."""

import numpy as np
import pandas
import pytest
from conftest import columns_of, in_partitions, random_edges
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.distributed.components import join_forests
from rapidsgraph.distributed.local_ranks import run_ranks


def check(frame, vertices=None, directed=True, partitions=3):
    graph = rg.Graph(in_partitions(frame, partitions), vertices=vertices, directed=directed)
    whole = rg.Graph(frame, multi_edges="first", vertices=vertices)
    found = rg.connected_components(graph)
    assert_frame_equal(found.compute(), rg.connected_components(whole))


@pytest.fixture(params=[1, 2, 3, 5])
def ranks(request, monkeypatch):
    use_local_ranks(monkeypatch, request.param)
    return request.param


@pytest.mark.parametrize("directed", [True, False])
def test_random_graphs(ranks, directed):
    for rows, vertices in ((20, None), (90, None), (90, 200), (400, None)):
        frame = pandas.DataFrame(columns_of(random_edges(rows, 120, rows)))
        check(frame, vertices=vertices, directed=directed)


def test_paths_between_ranges(ranks):
    """Consecutive vertices of the path are far apart, so that ranks have single arcs of it."""
    path = np.arange(600) * 271 % 600
    check(pandas.DataFrame({"source": path[:-1], "destination": path[1:]}))
    check(pandas.DataFrame({"source": path[1:], "destination": path[:-1]}))


@pytest.mark.parametrize("edges", [[], [(0, 0)], [(0, 1)], [(0, 2), (1, 2)]])
def test_fewer_vertices_than_ranks(ranks, edges):
    sources, destinations = zip(*edges) if edges else ((), ())
    columns = {"source": np.array(sources, int), "destination": np.array(destinations, int)}
    check(pandas.DataFrame(columns))
    check(pandas.DataFrame(columns), vertices=4)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_join_forests(size):
    """Each rank has the edges of one color; all have the same forest after the call."""
    random = np.random.default_rng(size)
    parents = []
    for _ in range(size):
        parent = np.arange(500, dtype=np.int32)
        children = random.choice(np.arange(250, 500), 120, replace=False)
        parent[children] = random.integers(0, 250, 120)
        parents.append(parent)
    edges = [(child, int(parent[child])) for parent in parents for child in range(500)]
    expected = roots_of(edges, 500)

    def join(communicator, report, parent):
        join_forests(communicator, parent)

    run_ranks(join, [[parent] for parent in parents])
    for parent in parents:
        assert parent.tolist() == expected


def roots_of(edges, num_vertices):
    """Return the smallest vertex of the component of every vertex."""
    roots = list(range(num_vertices))
    while True:
        before = list(roots)
        for one, other in edges:
            roots[one] = roots[other] = min(roots[one], roots[other])
        if roots == before:
            return roots
