"""Searches, peeling and the exchange of arcs on the partitions of two ranks, on either device."""

import numpy as np
import pytest
from conftest import build_storage
from numpy.testing import assert_array_equal

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.algorithms import similarity
from rapidsgraph.distributed.core_number import find_core_numbers
from rapidsgraph.distributed.local_ranks import run_ranks
from rapidsgraph.distributed.partition import Partition, group_by_owner
from rapidsgraph.distributed.traversal import Search, Traversal
from rapidsgraph.graph.csr import Adjacency
from rapidsgraph.kernels.constants import NO_VERTEX

pytestmark = pytest.mark.sanitizer


def hub_columns(make_arrays):
    """Return a graph with a hub, lists of many lengths, parallel edges and unreached vertices."""
    random = np.random.default_rng(1)
    sources = np.concatenate([np.arange(1, 2200), random.integers(0, 2500, 3000)])
    destinations = np.concatenate([np.zeros(2199, int), random.integers(0, 400, 3000) ** 2 // 400])
    ends = {"source": [*sources, *destinations], "destination": [*destinations, *sources]}
    return make_arrays(ends | {"weight": random.random(2 * sources.size)})


def select_rows(adjacency, start, stop, weighted):
    """Return the partition that has some rows of an adjacency."""
    first, last = device.to_host(adjacency.offsets[[start, stop]]).tolist()
    offsets = adjacency.offsets.clip(first, last) - first
    arcs = adjacency.neighbors[first:last], adjacency.weights[first:last]
    return Partition(Adjacency(offsets, *arcs), start, stop, weighted)


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("has_csc", [False, True])
def test_searches(make_arrays, weight, has_csc):
    columns, options = hub_columns(make_arrays), {"weight": weight, "vertices": range(2500)}
    graph = build_storage(columns, multi_edges="min", **options)
    middle, size, weighted = graph.num_vertices // 2, graph.num_vertices, weight is not None
    root = graph.xp.zeros(1, np.int32)
    search = Search(weighted, weighted, True, np.inf, False, 0)

    def run(communicator, report, start, stop):
        rows = select_rows(graph.csr, start, stop, weighted)
        columns = select_rows(graph.csc, start, stop, weighted) if has_csc else None
        traversal = Traversal(communicator, rows, columns, (0, middle, size), search)
        traversal.find_distances(root, lambda step, text: None)
        distances = communicator.all_gather(traversal.distances[start:stop])
        predecessors = communicator.all_gather(traversal.find_predecessors(root, distances))
        return device.to_host(distances), device.to_host(predecessors)

    (distances, predecessors), _ = run_ranks(run, [[0, middle], [middle, size]])
    expected = (rg.sssp if weighted else rg.bfs)(graph, 0)
    expected = {name: device.to_host(expected[name]) for name in expected}
    is_reached = np.isfinite(expected["distance"]) & (expected["distance"] >= 0)
    assert_array_equal(distances[is_reached], expected["distance"][is_reached])
    has_predecessor = expected["predecessor"] >= 0
    assert_array_equal(predecessors < NO_VERTEX, has_predecessor)
    assert_array_equal(predecessors[has_predecessor], expected["predecessor"][has_predecessor])


def test_peeling(make_arrays):
    graph = build_storage(hub_columns(make_arrays), weight=None, directed=False)
    lists, middle = similarity.neighborhoods(graph), graph.num_vertices // 2

    def run(communicator, report, start, stop):
        cores = find_core_numbers(communicator, select_rows(lists, start, stop, False))
        return device.to_host(communicator.all_gather(cores[start:stop]))

    cores, _ = run_ranks(run, [[0, middle], [middle, graph.num_vertices]])
    assert_array_equal(cores, device.to_host(rg.core_number(graph)["core"]))


@pytest.mark.parametrize("directed", [True, False])
def test_arcs_are_grouped_by_owner(make_arrays, directed):
    columns = hub_columns(make_arrays)
    ends = [columns[name].astype(np.int32) for name in ("source", "destination")]
    bounds = [0, 900, 1700, 2500]
    arcs, counts = group_by_owner(
        [*ends, columns["weight"]], bounds, [ends[0].size], directed, drop_loops=True
    )
    sources, destinations, weights = map(device.to_host, (*ends, columns["weight"]))
    rows = np.flatnonzero(sources != destinations)
    expected = [sources[rows], destinations[rows], weights[rows]]
    if not directed:
        expected = [np.concatenate([expected[i], expected[j]]) for i, j in ((0, 1), (1, 0), (2, 2))]
    found = np.stack([device.to_host(values).astype(float) for values in arcs])
    owners = np.searchsorted(bounds, found[0], side="right") - 1
    assert (np.diff(owners) >= 0).all()
    assert_array_equal(np.asarray(counts).ravel(), np.bincount(owners, minlength=3))
    assert_array_equal(found[:, np.lexsort(found)], np.stack(expected)[:, np.lexsort(expected)])
