"""Similarity of given pairs in Dask frames, on any number of ranks."""

import numpy as np
import pandas
import pytest
from conftest import gpu, in_partitions, listed
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.algorithms.neighbor_similarity import KINDS
from rapidsgraph.distributed import neighbor_similarity


@pytest.fixture(params=[1, 2, 5])
def ranks(request, monkeypatch):
    use_local_ranks(monkeypatch, request.param)
    return request.param


@pytest.fixture(params=[20, 2**20], ids=["batches", "one batch"])
def batch_arcs(request, monkeypatch):
    monkeypatch.setattr(neighbor_similarity, "_get_batch_arcs", lambda partition: request.param)


def random_frame(seed, vertices, rows):
    ends = np.random.default_rng(seed).integers(0, vertices, (rows, 2))
    return pandas.DataFrame(ends, columns=["source", "destination"])


def check(frame, pairs, kinds=("common",), partitions=3, **options):
    graph, whole = rg.Graph(in_partitions(frame, partitions), **options), rg.Graph(frame, **options)
    for kind in kinds:
        expected = rg.neighbor_similarity(whole, pairs, kind=kind)
        found = rg.neighbor_similarity(graph, pairs, kind=kind)
        assert_frame_equal(found._meta, expected.iloc[:0], check_index_type=False)
        assert_frame_equal(found.compute(), expected)


@pytest.mark.parametrize("options", [
    {}, {"directed": False, "multi_edges": "keep"}, {"self_loops": "drop", "vertices": 150},
])  # fmt: skip
def test_random_pairs(ranks, batch_arcs, options):
    """Some pairs come twice, some are a vertex with itself, and some are edges.

    All similarities are functions of the common neighbors and of two degrees.
    """
    for seed, rows in enumerate((20, 300, 3000)):
        frame = pandas.concat([random_frame(seed, 100, rows)] * 2)
        vertices = frame["source"].unique()
        ends = np.random.default_rng(seed).choice(vertices, (400, 2))
        pairs = pandas.DataFrame(ends, columns=["source", "destination"])
        pairs = pandas.concat([pairs, pairs[:50], frame[:50], pairs.assign(source=vertices[0])])
        check(frame, pairs, KINDS if rows == 300 and not options else ("common",), **options)


def test_hubs(ranks, batch_arcs):
    """The list of one of two hubs, which different ranks have, is longer than a batch."""
    frame = pandas.DataFrame({"source": 0, "destination": range(1, 300)})
    frame = pandas.concat([frame, frame.assign(source=299)[:200]])
    check(frame, [(0, 299), (299, 0), (5, 6), (250, 260), (0, 5), (0, 0)], KINDS)


@pytest.mark.parametrize("edges", [[], [(0, 0)], [(0, 1)], [(0, 2), (1, 2)]])
def test_few_vertices_and_pairs(ranks, edges):
    sources, destinations = zip(*edges) if edges else ((), ())
    frame = pandas.DataFrame(
        {"source": np.array(sources, int), "destination": np.array(destinations, int)}
    )
    for pairs in ([], [(3, 3)], [(0, 1), (2, 0), (1, 0)]):
        check(frame, pairs, vertices=4)
    check(frame, [], partitions=1)


def test_text_names_and_frames(ranks):
    frame, pairs = (random_frame(seed, 60, 400).map("v{}".format) for seed in (1, 2))
    pairs["note"] = "not a name"
    expected = rg.neighbor_similarity(frame, pairs)
    found = rg.neighbor_similarity(in_partitions(frame, 3), in_partitions(pairs, 3))
    assert_frame_equal(found.compute(), expected, check_index_type=False)


def test_several_name_columns(ranks):
    frame = random_frame(1, 40, 300)
    frame = frame.assign(network=np.where(frame["source"] % 2, "x", "y"))
    columns = ["network", "source"], ["network", "destination"]
    graph, whole = (rg.Graph(edges, *columns) for edges in (in_partitions(frame, 3), frame))
    pairs = frame[::-3]
    found = rg.neighbor_similarity(graph, pairs).compute()
    assert_frame_equal(found, rg.neighbor_similarity(whole, pairs))


WRONG = {
    "absent sources": [(0, 1), *[(1, 2)] * 20, (8, 0), (1, 90), (70, 1)],
    "an absent destination": [*[(1, 2)] * 20, (0, 55)],
    "text": {"source": ["a", "b"], "destination": [0, 1]},
    "no value": pandas.DataFrame({"source": [0, 1, 2], "destination": [1.0, None, 2.0]}),
    "other columns": pandas.DataFrame({"a": [0], "b": [1]}),
    "different lengths": {"source": [0, 1], "destination": [1]},
    "no pairs": 7,
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_those_of_one_memory(ranks, name):
    frame = random_frame(3, 8, 200)
    with pytest.raises(rg.GraphError) as expected:
        rg.neighbor_similarity(frame, WRONG[name])
    with pytest.raises(type(expected.value)) as caught:
        rg.neighbor_similarity(in_partitions(frame, 3), WRONG[name])
    assert str(caught.value) == str(expected.value)
    for field in ("parameter", "column", "row", "value", "hint"):
        assert getattr(caught.value, field) == getattr(expected.value, field)


def test_memory_is_checked_on_every_rank(ranks, monkeypatch):
    sizes = []

    def record(what, size, xp):
        assert what == "similarity of 500 pairs"
        sizes.append(size)

    monkeypatch.setattr(neighbor_similarity, "check_free_memory", record)
    frame = random_frame(3, 100, 2000)
    rg.neighbor_similarity(in_partitions(frame, 3), frame[:500])
    assert len(sizes) == ranks
    assert min(sizes) >= 64 * 500


@gpu
@pytest.mark.parametrize("count", [1, 3])
def test_gpu_arrays(monkeypatch, count, batch_arcs):
    import cudf

    use_local_ranks(monkeypatch, count)
    frame, pairs = random_frame(1, 50, 600), random_frame(2, 50, 40)
    edges = in_partitions(cudf.DataFrame(frame), 3)
    for kind, wanted in (("jaccard", pairs), ("common", cudf.DataFrame(pairs))):
        expected = listed(rg.neighbor_similarity(frame, pairs, kind=kind))
        assert listed(rg.neighbor_similarity(edges, wanted, kind=kind).compute()) == expected
    with pytest.raises(rg.VertexNotFoundError, match="vertex 300 is not in the graph"):
        rg.neighbor_similarity(edges, [(0, 1), (300, 1)])
