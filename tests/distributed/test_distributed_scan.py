"""Similarity and SCAN of Dask frames equal those in memory, whatever the partitioning."""

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pandas
import pytest
from clusterings import (
    clique,
    clustered,
    edges_of,
    expected_similarity,
    frame_columns,
    row_indices,
    similarity_of,
    small_graphs,
    thresholds,
)
from conftest import columns_of, gpu, on_host, random_edges, restore_workers
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal
from test_scan import CLOSED_FORMS, LARGE
from test_similarity import common_by_matrix, dense_and_hubs

import rapidsgraph as rg
from rapidsgraph import GraphError
from rapidsgraph.algorithms import similarity
from rapidsgraph.distributed.local_ranks import run_ranks
from rapidsgraph.graph.csr import row_indices as rows_of_lists

dataframe = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


from rapidsgraph.distributed import scan  # noqa: E402
from rapidsgraph.distributed.partition import Partition  # noqa: E402
from rapidsgraph.graph.local_graph import storage_of  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_workers")]

PARAMETERS = [(0.02, 3), (0.2, 5), (0.5, 3), (Fraction(2, 3), 2), (0.75, 30)]


@pytest.fixture(scope="module")
def client():
    """A client of three workers in this process."""
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["here", "here in 4", "cluster"])
def parts(request, monkeypatch):
    """Set the number of partitions of graphs, or open a client."""
    if request.param == "cluster":
        with request.getfixturevalue("client").as_current():
            yield 3
        return
    count = int(request.param.split()[-1]) if " " in request.param else 1
    use_local_ranks(monkeypatch, count)
    yield count


no_cluster = pytest.mark.parametrize("parts", ["here", "here in 4"], indirect=True)


def spread(columns, partitions=3):
    """Return a Dask frame; with more partitions than rows, the first and others are empty."""
    frame = columns if isinstance(columns, pandas.DataFrame) else pandas.DataFrame(columns)
    bounds = np.linspace(0, len(frame), partitions).astype(int).tolist()
    bounds = [0, *bounds] if partitions > 1 else [0, len(frame)]
    pieces = [frame.iloc[start:stop] for start, stop in itertools.pairwise(bounds)]
    return dataframe.from_map(lambda piece: piece, pieces, meta=frame.iloc[:0])


def check(graph, whole, epsilon=0.5, mu=3):
    """Check that both functions return the rows, types and order that they return in memory."""
    for memberships in (False, True):
        options = {"epsilon": epsilon, "mu": mu, "memberships": memberships}
        found, expected = rg.scan(graph, **options), rg.scan(whole, **options)
        assert isinstance(found, dataframe.DataFrame)
        assert_frame_equal(found._meta, expected.iloc[:0], check_index_type=False)
        assert_frame_equal(found.compute(), expected)
    found, expected = rg.structural_similarity(graph), rg.structural_similarity(whole)
    assert_frame_equal(found._meta, expected.iloc[:0], check_index_type=False)
    assert_frame_equal(found.compute(), expected)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(monkeypatch, name):
    use_local_ranks(monkeypatch, 3)
    edges, epsilon, mu, expected = CLOSED_FORMS[name]
    graph = rg.Graph(spread(frame_columns(edges)), vertices=len(expected))
    found = clustered(rg.scan(graph, epsilon=epsilon, mu=mu).compute())
    assert found == dict(enumerate(expected))
    proper = [edge for edge in edges if edge[0] != edge[1]]
    found = similarity_of(rg.structural_similarity(graph).compute())
    assert found == expected_similarity(proper)


def test_closed_form_with_memberships(parts):
    edges, epsilon, mu, expected = CLOSED_FORMS["the tie of a border"]
    found = rg.scan(spread(frame_columns(edges)), epsilon=epsilon, mu=mu, memberships=True)
    assert found.npartitions <= parts
    rows = [(vertex, *row) for vertex, row in enumerate(expected)]
    assert row_indices(found.compute()) == [*rows[:5], (4, 1, "border"), *rows[5:]]
    lengths = found.map_partitions(len).compute().tolist()
    starts = np.cumsum([0, *lengths]).tolist()
    assert found.divisions == (*starts[:-1], starts[-1] - 1) and starts[-1] == 10


@pytest.mark.parametrize(("shape", "count"), [("rmat", 1), *((shape, 5) for shape in LARGE)])
def test_large_graphs(monkeypatch, shape, count):
    use_local_ranks(monkeypatch, count)
    frame = pandas.DataFrame(LARGE[shape]())
    graph, whole = rg.Graph(spread(frame)), rg.Graph(frame)
    for epsilon, mu in PARAMETERS:
        check(graph, whole, epsilon, mu)


@pytest.mark.parametrize("shape", ["sparse rmat", "cliques and hubs"])
def test_large_graphs_on_a_cluster(client, shape):
    frame = pandas.DataFrame(LARGE[shape]())
    with client.as_current():
        graph, whole = rg.Graph(spread(frame)), rg.Graph(frame)
        for epsilon, mu in PARAMETERS[1:3]:
            check(graph, whole, epsilon, mu)


@no_cluster
@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_graphs_in_one_frame(parts, seed):
    """Disjoint small graphs, compared edge by edge."""
    edges = small_graphs(seed, 200, vertices=8 + 2 * seed)
    frame = pandas.DataFrame(frame_columns(edges))
    graph, whole = rg.Graph(spread(frame), directed=bool(seed % 2)), rg.Graph(frame)
    for mu, epsilon in zip((1, 4, 5), thresholds(edges)[seed::9]):
        check(graph, whole, epsilon, mu)


@pytest.mark.parametrize("partitions", [1, 5])
def test_frames_are_undirected(parts, partitions):
    columns = columns_of(random_edges(31, 60, 300))
    check(spread(columns, partitions), pandas.DataFrame(columns), 0.45)


KINDS = {
    "directed": {},
    "with all rows": {"multi_edges": "keep"},
    "undirected": {"directed": False},
    "undirected, with all rows": {"directed": False, "multi_edges": "keep"},
    "undirected, with weights": {"directed": False, "weight": "weight", "multi_edges": "sum"},
    "without self-loops": {"self_loops": "drop", "multi_edges": "max", "weight": "weight"},
    "isolated vertices": {"vertices": 75},
}


@no_cluster
@pytest.mark.parametrize("kind", KINDS)
def test_graphs_of_any_kind(parts, kind):
    columns = columns_of(random_edges(32, 60, 400))
    rows = np.arange(400) % 7 == 0  # some edges both ways and again
    again = {name: values[rows] for name, values in columns.items()}
    again["source"], again["destination"] = again["destination"], again["source"]
    columns = {name: np.concatenate([columns[name], again[name]]) for name in columns}
    check(
        rg.Graph(spread(columns), **KINDS[kind]),
        rg.Graph(pandas.DataFrame(columns), **KINDS[kind]),
        0.4,
    )


def test_text_names(parts):
    names = np.array(["été", "b", "zz", "Ä", "", "c1", "c10", "c9", "a b", "q", "r", "s"])
    ends = np.random.default_rng(5).integers(0, 12, (2, 40))
    frame = pandas.DataFrame({"source": names[ends[0]], "destination": names[ends[1]]})
    edges = spread(frame, 5)  # Dask has types of text of its own
    check(edges, edges.compute(), 0.6, 2)


def test_several_name_columns(parts):
    random = np.random.default_rng(6)
    frame = pandas.DataFrame(random.integers(0, 9, (120, 2)), columns=["a", "b"])
    frame["network"] = random.choice(["x", "y", "w"], 120)
    options = {"source": ["network", "a"], "destination": ["network", "b"]}
    edges = spread(frame)
    graph = rg.Graph(edges, **options)
    check(graph, rg.Graph(edges.compute(), **options), 0.7)
    assert list(rg.scan(graph).columns) == ["network", "vertex", "cluster", "role"]
    assert list(rg.structural_similarity(graph).columns)[:3] == ["network", "source", "destination"]


@no_cluster
@pytest.mark.parametrize(
    ("edges", "vertices"),
    [([], 0), ([], 4), ([(0, 0)], 1), ([(7, 7), (9, 9)], None), ([(4, 5)], None)],
)
def test_tiny_graphs(parts, edges, vertices):
    columns = frame_columns(edges_of(edges))
    graph = rg.Graph(spread(columns), vertices=vertices)
    whole = rg.Graph(pandas.DataFrame(columns), vertices=vertices)
    for epsilon, mu in [(0.5, 1), (0.5, 2), (1, 3)]:
        check(graph, whole, epsilon, mu)


def test_fewer_vertices_than_workers(client):
    with client.as_current():
        for columns in ({"source": [5], "destination": [4]}, frame_columns([])):
            check(spread(columns, 2), pandas.DataFrame(columns), 1, 1)


def test_hub_of_clusters_in_other_partitions(monkeypatch):
    """The hub and each clique are in partitions of their own."""
    use_local_ranks(monkeypatch, 3)
    edges = clique(range(100, 104)) + clique(range(4)) + edges_of([(50, 100), (50, 3), (60, 50)])
    found = clustered(rg.scan(spread(frame_columns(edges)), epsilon=0.7).compute())
    assert found[50] == (None, "hub") and found[60] == (None, "outlier")
    assert found[0] == (0, "core") and found[103] == (1, "core")


def test_debian_packages(client):
    """The numbers of the README."""
    with client.as_current():
        edges = dataframe.read_parquet(rg.datasets.debian_path()).repartition(npartitions=4)
        found = rg.scan(edges, epsilon=0.5, mu=4).compute()
    roles = {"border": 6416, "core": 4634, "hub": 8107, "outlier": 45814}
    assert found.groupby("role").size().to_dict() == roles
    assert found["cluster"].max() + 1 == 1672


# Counting


@pytest.fixture
def recorded_counts(monkeypatch):
    """Record the rank of each count of common neighbors."""
    ranks, count = [], scan._count_common_neighbors

    def record(communicator, *arguments):
        ranks.append(communicator.rank)
        return count(communicator, *arguments)

    monkeypatch.setattr(scan, "_count_common_neighbors", record)
    return ranks


def test_counts_are_cached_on_partitions(monkeypatch, recorded_counts):
    use_local_ranks(monkeypatch, 4)
    graph = rg.Graph(spread(columns_of(random_edges(33))))
    rg.scan(graph, epsilon=0.3)
    rg.scan(graph, epsilon=0.7, mu=2, memberships=True)
    rg.structural_similarity(graph)
    assert sorted(recorded_counts) == [0, 1, 2, 3]


def test_all_ranks_count_again_if_one_lost_its_counts(monkeypatch, recorded_counts):
    use_local_ranks(monkeypatch, 3)
    columns = columns_of(random_edges(33))
    graph = rg.Graph(spread(columns))
    rg.scan(graph)
    partition = storage_of(graph).simple_partitions()[1].result
    partition.__setstate__(partition.__getstate__())  # as on another worker
    check(graph, pandas.DataFrame(columns))
    assert sorted(recorded_counts) == [0, 0, 1, 1, 2, 2]


def split_graph(graph, bounds):
    lists = similarity.neighborhoods(graph)
    offsets, xp = lists.offsets, graph.xp
    parts = []
    for first, stop in itertools.pairwise(bounds):
        begin, end = int(offsets[first]), int(offsets[stop])
        padded = xp.clip(offsets, begin, end) - begin
        adjacency = type(lists)(padded, lists.neighbors[begin:end].copy(), lists.weights)
        parts.append(Partition(adjacency, first, stop, False))
    return parts


def count_in_ranks(parts, bounds):
    """Return the counts and closed sizes of every rank."""

    def count(communicator, report, part):
        return scan._count_common_neighbors(communicator, part, bounds)

    return run_ranks(count, [[part] for part in parts])


def test_a_rank_has_one_other_range_at_a_time(monkeypatch):
    graph = storage_of(rg.Graph(pandas.DataFrame(columns_of(random_edges(34, 200, 900)))))
    bounds = [0, 20, 40, 70, 90, 120, 160, 200]
    calls, count = [], scan.count_triangles

    def record(arcs, degrees, upper, triangles):
        has_arcs, has_upper = np.diff(arcs.offsets) > 0, np.diff(upper.offsets) > 0
        ranges = [slice(*pair) for pair in itertools.pairwise(bounds)]
        [owner] = [number for number, rows in enumerate(ranges) if has_arcs[rows].any()]
        others = {int(number) for number in np.searchsorted(bounds, arcs.neighbors, "right") - 1}
        assert {n for n, rows in enumerate(ranges) if has_upper[rows].any()} == {owner, *others}
        calls.append((owner, *others))
        count(arcs, degrees, upper, triangles)

    monkeypatch.setattr(scan, "count_triangles", record)
    count_in_ranks(split_graph(graph, bounds), bounds)
    assert sorted(calls) == [(owner, other) for owner in range(7) for other in range(7)]


@pytest.mark.parametrize("shape", ["cliques and hubs", "rmat", "uniform", "sparse rmat"])
def test_counts_are_a_product_of_matrices(make_arrays, shape):
    ends = dense_and_hubs() if shape == "cliques and hubs" else tuple(LARGE[shape]().values())
    rows, _columns, common, sizes = common_by_matrix(*ends)
    edges = make_arrays({"source": ends[0], "destination": ends[1]})
    graph = storage_of(rg.Graph(edges, vertices=sizes.size))
    count = sizes.size
    for bounds in (
        [0, count],
        [0, count // 3, count],
        [0, 1, 1, 5, count // 2, count // 2 + 40, count - 1, count],
    ):
        parts = split_graph(graph, bounds)
        counts, all_sizes = zip(*count_in_ranks(parts, bounds))
        assert {array.dtype for array in counts} == {np.dtype(np.int32)}
        np.testing.assert_array_equal(np.concatenate(list(map(on_host, counts))), common)
        at = [on_host(rows_of_lists(part.adjacency)) for part in parts]
        np.testing.assert_array_equal(np.concatenate(at), rows)
        np.testing.assert_array_equal(on_host(all_sizes[-1]), sizes)


# Workers


@pytest.fixture(scope="module")
def process_client():
    """A client of two workers in processes of their own."""
    with rg.cluster("cpu", workers=2, memory_limit="4GB") as client:
        yield client


def kill_worker_in(client, function):
    """Kill a worker when it next calls a function of the package, during a distributed call."""
    module, _, name = function.rpartition(".")

    def install():  # pickled by value: workers do not import this file
        import importlib
        import os
        import signal

        setattr(
            importlib.import_module(f"rapidsgraph.distributed.{module}"), name,
            lambda *arguments: os.kill(os.getpid(), signal.SIGKILL),
        )  # fmt: skip

    client.run(install, workers=[next(iter(client.nthreads()))])


@pytest.mark.parametrize(
    ("call", "function"),
    [
        (rg.connected_components, "components.join_forests"),
        (rg.structural_similarity, "scan._count_in_ring"),
        pytest.param(rg.structural_similarity, "scan.count_triangles", marks=pytest.mark.long),
        pytest.param(rg.scan, "scan.join_forests", marks=pytest.mark.long),
        (rg.scan, "scan._find_hubs"),
    ],
)
def test_a_worker_dies(process_client, call, function):
    client = process_client
    restore_workers(client, 2)
    pids = set(client.run(os.getpid).values())
    frame = pandas.DataFrame(columns_of(random_edges(36, 300, 3000)))
    with client.as_current():
        graph = rg.Graph(spread(frame))
        rg.connected_components(graph)
        kill_worker_in(client, function)
        found = call(graph).compute()
    assert_frame_equal(found, call(rg.Graph(frame)))
    restore_workers(client, 2)
    assert len(pids & set(client.run(os.getpid).values())) == 1


def test_calls_from_several_threads(process_client):
    restore_workers(process_client, 2)
    frame = pandas.DataFrame(columns_of(random_edges(37, 300, 3000)))
    whole, calls = rg.Graph(frame), [rg.scan, rg.structural_similarity, rg.connected_components]
    with process_client.as_current():
        graph = rg.Graph(spread(frame))
        graph_calls = [lambda call=call: call(graph).compute() for call in calls * 2]

    def run(call):
        with process_client.as_current():
            return call()

    with ThreadPoolExecutor(6) as threads:
        for call, found in zip(calls * 2, threads.map(run, graph_calls)):
            assert_frame_equal(found, call(whole))


# Errors


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda d: rg.scan(d, method="gpuscan"),
            "'gpuscan' is not supported for distributed",
        ),
        (
            lambda d: rg.structural_similarity(d, method="gpuscan"),
            "for distributed graphs; use 'auto'",
        ),
        (lambda d: rg.scan(d, method="fast"), "method is 'fast'"),
        (lambda d: rg.scan(d, epsilon=1.2), "epsilon is 1.2"),
        (lambda d: rg.scan(d, mu=0), "mu is 0"),
    ],
)
def test_invalid_parameters(call, said):
    with pytest.raises(GraphError, match=said):
        call(spread(columns_of(random_edges(35))))


@pytest.mark.parametrize("place", ["here", "cluster"])
def test_name_collisions(client, place):
    calls = {
        "cluster": rg.scan,
        "similarity": rg.structural_similarity,
        "jaccard": rg.neighbor_similarity,
    }
    frame = pandas.DataFrame({**{name: [1, 1] for name in calls}, "a": [1, 2], "b": [2, 3]})
    with client.as_current() if place == "cluster" else nullcontext():
        for shared, call in calls.items():
            graph = rg.Graph(spread(frame), source=[shared, "a"], destination=[shared, "b"])
            with pytest.raises(GraphError, match=f"vertex name column '{shared}' collides"):
                call(graph)


# On a GPU


@gpu
@pytest.mark.parametrize("place", ["here", "here in 3", "cluster"])
def test_frames_of_cudf(monkeypatch, place):
    import cudf
    import dask_cudf

    frame = cudf.DataFrame(LARGE["rmat"]())
    whole = rg.Graph(frame)
    if place == "cluster":
        from dask_cuda import LocalCUDACluster

        with LocalCUDACluster() as cluster, distributed.Client(cluster):
            check_cudf(dask_cudf.from_cudf(frame, npartitions=3), whole)
        return
    use_local_ranks(monkeypatch, 3 if " " in place else 1)
    check_cudf(dask_cudf.from_cudf(frame, npartitions=3), whole)


def check_cudf(edges, whole):
    import cudf

    graph = rg.Graph(edges)
    for epsilon, mu in PARAMETERS:
        for memberships in (False, True):
            options = {"epsilon": epsilon, "mu": mu, "memberships": memberships}
            found, expected = rg.scan(graph, **options).compute(), rg.scan(whole, **options)
            assert isinstance(found, cudf.DataFrame)
            assert_frame_equal(found.to_pandas(), expected.to_pandas())
    found, expected = rg.structural_similarity(graph), rg.structural_similarity(whole)
    assert_frame_equal(found.compute().to_pandas(), expected.to_pandas())
