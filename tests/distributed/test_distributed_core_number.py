"""Core numbers of Dask frames, on any number of ranks."""

import sys

import dask
import numpy as np
import pandas
import pytest
from conftest import columns_of, in_partitions, random_edges
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.distributed.replica import REPLICA_LIMIT
from rapidsgraph.graph.local_graph import storage_of


@pytest.fixture(params=[1, 2, 5])
def ranks(request, monkeypatch):
    use_local_ranks(monkeypatch, request.param)
    return request.param


@pytest.fixture(params=[0, 2**24], ids=["exchanges", "replicas"], autouse=True)
def max_replica_arcs(request):
    with dask.config.set({REPLICA_LIMIT: request.param}):
        yield


def edges_of(rows, vertices):
    columns = columns_of(random_edges(rows, vertices, rows))
    return pandas.DataFrame(columns)[["source", "destination"]]


def check(frame, vertices=None, **options):
    graph = rg.Graph(in_partitions(frame, 3), vertices=vertices, **options)
    whole = rg.Graph(frame, vertices=vertices, **options)
    expected = rg.core_number(whole)
    assert_frame_equal(rg.core_number(graph).compute(), expected)
    assert_frame_equal(rg.core_number(graph).compute(), expected)  # with partitions that exist


@pytest.mark.parametrize("directed", [True, False])
def test_random_graphs(ranks, directed):
    for rows, vertices in ((20, None), (90, 200), (1500, None)):
        frame = edges_of(rows, 120)
        check(frame, vertices=vertices, directed=directed)
    check(frame, directed=directed, multi_edges="keep", self_loops="keep")


def test_frames_and_graphs_give_the_same(ranks):
    frame = edges_of(400, 60)
    result = rg.core_number(in_partitions(frame, 3)).compute()
    assert_frame_equal(result, rg.core_number(frame), check_index_type=False)


def test_a_path_and_a_clique(ranks):
    """The path is removed from its ends, which are far apart; then the clique at once."""
    path = np.arange(300) * 71 % 300
    sources, destinations = np.triu_indices(20, 1)
    check(
        pandas.DataFrame(
            {
                "source": np.concatenate([path[:-1], sources + 300]),
                "destination": np.concatenate([path[1:], destinations + 300]),
            }
        )
    )


@pytest.mark.parametrize("edges", [[], [(0, 0)], [(0, 1)], [(0, 2), (1, 2)]])
def test_fewer_vertices_than_ranks(ranks, edges):
    sources, destinations = zip(*edges) if edges else ((), ())
    columns = {"source": np.array(sources, int), "destination": np.array(destinations, int)}
    check(pandas.DataFrame(columns))
    check(pandas.DataFrame(columns), vertices=4)


def test_exchanges_leave_no_lists_on_partitions(ranks):
    """Copies of a small graph stay, as for searches."""
    frame = edges_of(900, 120)
    graph = rg.Graph(in_partitions(frame, 3), directed=False)
    partitions = [task.result for task in storage_of(graph).simple_partitions()]
    sizes = [sys.getsizeof(partition) for partition in partitions]
    with dask.config.set({REPLICA_LIMIT: 0}):
        rg.core_number(graph)
    assert [sys.getsizeof(partition) for partition in partitions] == sizes
