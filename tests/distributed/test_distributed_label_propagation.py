"""Label propagation in Dask frames, on any number of ranks."""

import numpy as np
import pandas
import pytest
from conftest import columns_of, in_partitions, random_edges
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg


@pytest.fixture(params=[1, 2, 5])
def ranks(request, monkeypatch):
    use_local_ranks(monkeypatch, request.param)
    return request.param


def edges_of(rows, vertices):
    columns = columns_of(random_edges(rows, vertices, rows))
    return pandas.DataFrame(columns)[["source", "destination"]]


def check(frame, vertices=None, **options):
    graph = rg.Graph(in_partitions(frame, 3), vertices=vertices, **options)
    whole = rg.Graph(frame, vertices=vertices, **options)
    for iterations in (1, 2, 3, 20):
        result = rg.label_propagation(graph, iterations=iterations).compute()
        assert_frame_equal(result, rg.label_propagation(whole, iterations=iterations))
    result = rg.label_propagation(graph, seed=9).compute()
    assert_frame_equal(result, rg.label_propagation(whole, seed=9))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("multi_edges", ["first", "keep"])
def test_random_graphs(ranks, directed, multi_edges):
    for rows, vertices in ((20, None), (90, 200), (1500, None)):
        check(edges_of(rows, 120), vertices=vertices, directed=directed, multi_edges=multi_edges)


def test_frames_and_text(ranks):
    frame = edges_of(400, 60).astype(str)
    result = rg.label_propagation(in_partitions(frame, 3)).compute()
    assert_frame_equal(result, rg.label_propagation(frame), check_index_type=False)


def test_a_seed_in_dask_tables():
    frame = edges_of(400, 60)
    result = rg.label_propagation(in_partitions(frame, 3), seed=3, method="frames").compute()
    assert_frame_equal(result, rg.label_propagation(frame, seed=3), check_index_type=False)


@pytest.mark.parametrize("edges", [[], [(0, 0)], [(0, 1)], [(0, 2), (1, 2)]])
def test_fewer_vertices_than_ranks(ranks, edges):
    sources, destinations = zip(*edges) if edges else ((), ())
    columns = {"source": np.array(sources, int), "destination": np.array(destinations, int)}
    check(pandas.DataFrame(columns))
    check(pandas.DataFrame(columns), vertices=4)
