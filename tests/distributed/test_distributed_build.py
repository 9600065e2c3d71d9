"""Builds of distributed graphs: exchange of arcs, assignment of frames, and lost workers."""

import itertools
import os
import signal

import dask.dataframe
import numpy as np
import pandas
import pytest
from conftest import in_partitions, restore_workers
from local_ranks import use_local_ranks
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.distributed import build, cluster, graph, partition
from rapidsgraph.distributed.local_ranks import run_ranks
from rapidsgraph.graph.local_graph import storage_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_workers")]


def random_frame(seed, num_vertices, num_rows):
    random = np.random.default_rng(seed)
    columns = {
        name: random.integers(0, num_vertices, num_rows) for name in ("source", "destination")
    }
    return pandas.DataFrame(columns | {"weight": random.integers(1, 9, num_rows) / 4})


def list_arcs(sources, destinations, weights, directed, drop_loops):
    """Return the arcs of edges, in the order of the edges."""
    arcs = []
    for source, destination, weight in zip(sources, destinations, weights, strict=True):
        if source == destination and drop_loops:
            continue
        arcs.append((source, destination, weight))
        if not directed and source != destination:
            arcs.append((destination, source, weight))
    return arcs


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("drop_loops", [True, False])
def test_arcs_reach_their_owners_in_the_order_of_the_frame(size, directed, drop_loops, monkeypatch):
    """Blocks of a frame are spread over ranks, some blocks and ranges are empty."""
    monkeypatch.setattr(partition, "CHUNK_EDGES", 7)
    random = np.random.default_rng(size)
    sizes = [40, 0, 33, 1, 8, 21]
    edges = random.integers(0, 6, (2, sum(sizes))).astype(np.int32)
    weights = random.permutation(sum(sizes)).astype(np.float64)
    bounds = [0, *sorted(random.integers(0, 7, size - 1).tolist()), 6]
    owned = [sorted(range(len(sizes))[rank::size]) for rank in range(size)]
    starts = np.cumsum([0, *sizes])
    arguments = []
    for own in owned:
        rows = np.concatenate(
            [np.arange(0), *(np.arange(starts[i], starts[i + 1]) for i in own)]
        ).astype(int)
        arguments.append([[*edges[:, rows].copy(), weights[rows]], {i: sizes[i] for i in own}])

    def exchange(communicator, report, arcs, blocks):
        return partition.exchange_arcs(
            communicator, arcs, bounds, blocks, directed=directed, drop_loops=drop_loops
        ), arcs

    arcs = list_arcs(*edges.tolist(), weights.tolist(), directed, drop_loops)
    for rank, (received, emptied) in enumerate(run_ranks(exchange, arguments)):
        assert emptied == []
        expected = [arc for arc in arcs if bounds[rank] <= arc[0] < bounds[rank + 1]]
        assert list(zip(*(values.tolist() for values in received), strict=True)) == expected
        assert [values.dtype for values in received] == [np.int32, np.int32, np.float64]


def test_ranks_read_frames_where_they_are():
    """Unless a rank would read more than 1.5 times as many as the mean."""
    assert graph._assign([None] * 5, 2) == [[0, 2, 4], [1, 3]]
    assert graph._assign([1, 0, 1, 0], 2) == [[1, 3], [0, 2]]  # where they are
    assert graph._assign([1, 1, 1, 1], 2) == [[3], [0, 1, 2]]
    assert graph._assign([1, 1, 1, 0], 2) == [[3], [0, 1, 2]]
    assert graph._assign([2], 3) == [[], [], [0]]
    assert graph._assign([2, 2], 3) == [[1], [], [0]]


@pytest.mark.parametrize(
    ("count", "directed", "multi_edges"),
    [
        *itertools.product([3], [True, False], ["first", "keep", "sum"]),
        (1, True, "keep"),
        (2, False, "first"),
        (35, True, "sum"),
        (35, False, "keep"),
    ],
)
def test_layouts_equal_those_of_one_memory(monkeypatch, count, directed, multi_edges):
    """The other layout and the simple graph, also with more ranks than vertices."""
    use_local_ranks(monkeypatch, count)
    frame = random_frame(count, 30, 400)
    options = {"weight": "weight", "directed": directed, "multi_edges": multi_edges}
    whole = storage_of(rg.Graph(frame, **options))
    spread = storage_of(rg.Graph(in_partitions(frame, 7), **options))
    assert spread.num_partitions == count
    for layout in ("csr", "csc"):
        rows = [task.result.local_adjacency for task in spread.partitions(layout)]
        adjacency, expected = partition.join_rows(rows), getattr(whole, layout)
        for name in ("offsets", "neighbors", "weights"):
            assert_array_equal(getattr(adjacency, name), getattr(expected, name))
    simple = partition.join_rows(
        [task.result.local_adjacency for task in spread.simple_partitions()]
    )
    pairs = frame[frame["source"] != frame["destination"]][["source", "destination"]].to_numpy()
    both = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    assert_array_equal(simple.neighbors, np.searchsorted(whole.vertices["vertex"], both[:, 1]))
    assert not simple.weights.size


def test_the_first_invalid_partition_is_reported(monkeypatch):
    use_local_ranks(monkeypatch, 3)
    frame = random_frame(0, 20, 60)
    frame.loc[[25, 55], "weight"] = -1.0
    with pytest.raises(rg.GraphError, match="weight in row 5 of partition 2 of column"):
        rg.Graph(dask.dataframe.from_pandas(frame, npartitions=6, sort=False), weight="weight")


@pytest.fixture(scope="module")
def client():
    with cluster.cluster("cpu", workers=2, memory_limit="2GB") as client:
        yield client


def kill_in(function, path):
    """In a worker: end the process when a rank calls a function of the build, once per path."""

    def end(*arguments, **options):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return original(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    original = getattr(build, function)
    setattr(build, function, end)


@pytest.mark.parametrize(
    "function",
    [
        "read_partition_columns",
        pytest.param("number_vertices", marks=pytest.mark.long),
        "exchange_arcs",
        pytest.param("build_partition", marks=pytest.mark.long),
    ],
)
def test_a_worker_is_killed_during_a_build(client, tmp_path, function):
    restore_workers(client, 2)
    frame = random_frame(3, 300, 4000)
    client.run(kill_in, function, str(tmp_path / "killed"))
    spread = rg.Graph(in_partitions(frame, 3), weight="weight")
    assert (tmp_path / "killed").exists()
    check(spread, frame)


def check(spread, frame):
    whole = rg.Graph(frame, weight="weight")
    assert_frame_equal(rg.sssp(spread, 7).compute(), rg.sssp(whole, 7), check_exact=True)


@pytest.mark.parametrize("count", [1, 2])
def test_lost_partitions_are_built_again(client, count):
    """With their other layout, by a call, by the report and by `compute`."""
    restore_workers(client, 2)
    frame = random_frame(5, 300, 4000)
    spread = rg.Graph(in_partitions(frame, 3).persist(), weight="weight")
    check(spread, frame)
    uses = [
        lambda: check(spread, frame),
        lambda: storage_of(spread).partitions("csc"),
        lambda: spread.report,
        spread.compute,
        lambda: len(spread.vertices),
    ]
    for use in uses[:1] if count == 2 else uses[1:]:
        restore_workers(client, 2)
        for pid in sorted(client.run(os.getpid, on_error="ignore").values())[:count]:
            os.kill(pid, signal.SIGKILL)
        use()
    check(spread, frame)
