"""Distances by joins: the work of a round, and both ways to send its offers."""

import math

import dask
import numpy as np
import pandas
import pytest
from conftest import columns_of, random_edges

from rapidsgraph.relational import distances
from rapidsgraph.relational.dask_table import DaskTable
from rapidsgraph.relational.frame_graph import as_frame_graph

EDGES = pandas.DataFrame(columns_of(random_edges(8, 60, 150)))


def distances_from(graph, root, arcs=None):
    """The distances of all vertices by name."""
    sources = graph.vertices.filter(lambda rows: rows["vertex_0"] == root)
    others = graph.vertices.filter(lambda rows: rows["vertex_0"] != root)
    rows = distances.find_distances(graph, arcs or graph.arcs, sources, others).collect()
    return dict(zip(rows["vertex_0"], rows["distance"]))


def test_a_round_reads_the_arcs_of_the_frontier(monkeypatch):
    """A path of 50 edges beside an unreached graph takes 50 rounds of one arc."""
    path = pandas.DataFrame({"source": np.arange(50), "destination": np.arange(1, 51)})
    frame = pandas.concat([path, EDGES[["source", "destination"]] + 1000], ignore_index=True)
    num_offers, relax = [], distances._relax

    def count_offers(*frames, **options):
        offers = relax(*frames, **options)
        num_offers.append(len(offers))
        return offers

    monkeypatch.setattr(distances, "_relax", count_offers)
    result = distances_from(as_frame_graph(frame), 0)
    assert num_offers == [1] * 50
    assert [result[vertex] for vertex in range(51)] == list(range(51))
    assert {distance for vertex, distance in result.items() if vertex > 50} == {math.inf}


@pytest.mark.parametrize("limit", [0, 2**16], ids=["shuffle", "replicate"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_offers_between_partitions(monkeypatch, limit, weight):
    monkeypatch.setattr(distances, "MAX_REPLICATED", limit)
    graph = as_frame_graph(EDGES, weight)
    root = int(EDGES["source"][0])
    expected = distances_from(graph, root)
    for name in ("arcs", "vertices"):
        rows = getattr(graph, name).frame
        table = DaskTable([dask.delayed(rows[number::3]) for number in range(3)])
        table = table.partition(["source_0" if name == "arcs" else "vertex_0"])
        setattr(graph, name, table)
    with dask.config.set(scheduler="synchronous"):
        assert distances_from(graph, root) == expected
