"""Graphs in several parts, on the workers of a cluster: the answers of a graph in one memory."""

import gc
import itertools
import pickle
import time

import dask.dataframe
import dask.sizeof
import numpy as np
import pandas
import pytest
from conftest import columns_of, gpu, in_partitions, random_edges
from distributed import Client, LocalCluster
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.distributed import partition
from rapidsgraph.graph.csr import Adjacency
from rapidsgraph.graph.local_graph import storage_of

pytestmark = pytest.mark.slow

POLICIES = [
    {"directed": directed, "multi_edges": multi_edges, "self_loops": self_loops}
    for directed, multi_edges, self_loops in (
        (True, "first", "keep"),
        (True, "max", "drop"),
        (True, "keep", "drop"),
        (False, "sum", "drop"),
        (False, "min", "keep"),
        (False, "keep", "keep"),
    )
]


@pytest.fixture(scope="module")
def client():
    """Three workers in this process, so that parts are three."""
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(n_workers=3, **options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def in_parts(monkeypatch):
    """Three parts without a client, which take less time."""
    use_local_ranks(monkeypatch, 3)


def frame_of(edges):
    return pandas.DataFrame(columns_of(edges))


def same(spread, whole, **close):
    """A Dask frame has the rows of a pandas frame, in its order, and an index of its own."""
    assert isinstance(spread, dask.dataframe.DataFrame)
    found = spread.compute()
    assert_frame_equal(found, whole, check_exact=not close, **close)
    if spread.known_divisions and len(whole):
        assert spread.divisions[0] == 0 and spread.divisions[-1] == len(whole) - 1
        ends = [len(part) for part in spread.partitions]
        assert sum(ends) == len(whole) and np.diff(spread.divisions).min(initial=0) >= 0


def check_all(spread, whole, source):
    """Every algorithm on a Dask frame or what was built of one, and on the same in one memory."""
    ranks = {"tolerance": 1e-12, "max_iterations": 200}
    same(rg.pagerank(spread, **ranks), rg.pagerank(whole, **ranks), rtol=1e-10, atol=1e-15)
    same(rg.bfs(spread, source), rg.bfs(whole, source))
    same(rg.sssp(spread, source), rg.sssp(whole, source))
    for strong in (False, True):
        components = (rg.connected_components(edges, strong=strong) for edges in (spread, whole))
        same(*components)


@pytest.mark.parametrize("partitions", [1, 3])
def test_frames(client, partitions):
    frame = frame_of(random_edges(3, 150, 700))
    check_all(in_partitions(frame, partitions), frame, 7)


@pytest.mark.parametrize("policies", POLICIES, ids=lambda p: "-".join(map(str, p.values())))
def test_policies(in_parts, policies):
    frame = frame_of(random_edges(5, 60, 900))
    spread = rg.Graph(in_partitions(frame, 3), weight="weight", **policies)
    whole = rg.Graph(frame, weight="weight", **policies)
    assert storage_of(spread).num_partitions == 3
    assert (spread.num_vertices, spread.num_edges) == (whole.num_vertices, whole.num_edges)
    assert (spread.weighted, spread.directed) == (whole.weighted, whole.directed)
    report = spread.report
    assert report.nbytes == spread.nbytes > 0
    report, expected = (vars(counts) | {"nbytes": 0} for counts in (report, whole.report))
    assert report == expected
    check_all(spread, whole, 7)
    again = spread.compute()
    assert type(again) is rg.Graph
    for name in ("offsets", "neighbors", "weights"):
        expected = getattr(storage_of(whole).csr, name)
        assert np.array_equal(getattr(storage_of(again).csr, name), expected)
    report, expected = (vars(counts) | {"nbytes": 0} for counts in (again.report, whole.report))
    assert report == expected


NAMES = {
    "dense": lambda ids: ids,
    "with gaps": lambda ids: ids * 3 - 11,
    "far apart": lambda ids: ids * 10**12,
    "beyond 2^63": lambda ids: ids.astype(np.uint64) + np.uint64(2**63),
    "small": lambda ids: (ids - 100).astype(np.int8),
    "text": lambda ids: np.array([f"v{place}é" for place in ids], object),
}


@pytest.mark.parametrize("kind", NAMES)
def test_names(in_parts, kind):
    frame = frame_of(random_edges(6, 100, 500))
    for end in ("source", "destination"):
        frame[end] = NAMES[kind](frame[end].to_numpy())
    spread = in_partitions(frame, 3)
    graphs = [rg.Graph(edges, multi_edges="first") for edges in (spread, spread.compute())]
    check_all(*graphs, frame["source"][0])


def test_limits(in_parts):
    frame = frame_of(random_edges(3, 150, 700))
    spread = in_partitions(frame, 3)
    for limit in (0, 2):
        same(rg.bfs(spread, 7, depth_limit=limit), rg.bfs(frame, 7, depth_limit=limit))
        same(rg.sssp(spread, 7, cutoff=limit), rg.sssp(frame, 7, cutoff=limit))
    for run in (rg.bfs, rg.sssp):
        same(run(spread, [3, 7], predecessors=False), run(frame, [3, 7], predecessors=False))


def test_names_of_several_columns(in_parts):
    frame = frame_of(random_edges(7, 100, 500))
    pairs = {"a": frame.source % 7, "b": "n" + frame.source.astype(str), "c": frame.destination % 7}
    frame = frame.assign(**pairs, d="n" + frame.destination.astype(str))
    columns = ["a", "b"], ["c", "d"]
    spread = in_partitions(frame, 3)
    graphs = [
        rg.Graph(edges, *columns, multi_edges="first") for edges in (spread, spread.compute())
    ]
    check_all(*graphs, (frame["a"][0], frame["b"][0]))


def test_vertices_without_edges(in_parts):
    frame = frame_of(random_edges(8, 40, 200))
    spread = in_partitions(frame, 3)
    names = pandas.DataFrame({"vertex": [500, 3, -2]})
    for vertices in (range(60), range(5, 60), 60, names, [500, 3, -2]):
        graphs = [
            rg.Graph(edges, vertices=vertices, multi_edges="first") for edges in (spread, frame)
        ]
        same(*map(rg.connected_components, graphs))
    graph = rg.Graph(spread, vertices=in_partitions(names, 3))
    expected = rg.Graph(frame, multi_edges="first", vertices=names)
    check_all(graph, expected, 7)
    same(graph.vertices, expected.vertices)


def test_more_partitions_than_vertices(in_parts):
    frame = pandas.DataFrame({"source": [5, 5], "destination": [5, 5]})
    check_all(in_partitions(frame, 1), frame, 5)
    nothing = frame.iloc[:0]
    for run in (rg.pagerank, rg.connected_components):
        same(run(in_partitions(nothing, 3)), run(nothing))


def test_one_vertex_has_most_edges(in_parts):
    hub = [(0, v, 1.0) for v in range(1, 300)] + [(v, 0, 0.5) for v in range(1, 300)]
    frame = frame_of(hub + random_edges(9, 300, 100))
    check_all(in_partitions(frame, 3), frame, 0)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_frame_forms_of_a_graph(client, weight):
    """The results of its ranks are the first tables."""
    frame = frame_of(random_edges(5, 24, 60))
    options = {"weight": weight, "multi_edges": "min" if weight else "first"}
    graph, whole = rg.Graph(in_partitions(frame, 3), **options), rg.Graph(frame, **options)
    if weight:  # which the others do not use
        same(rg.sssp(graph, 7, method="frames"), rg.sssp(whole, 7))
    else:
        same(rg.bfs(graph, 7, method="frames"), rg.bfs(whole, 7))
        same(rg.connected_components(graph, method="frames"), rg.connected_components(whole))
        strong = rg.connected_components(whole, strong=True)
        same(rg.connected_components(graph, strong=True, method="frames"), strong)


def test_paths_across_partitions(client):
    """A path whose vertices take turns between ranges, and where a cheaper way comes late."""
    order = np.random.default_rng(1).permutation(90)
    path = [(int(a), int(b), 1.0) for a, b in itertools.pairwise(order)]
    late = [(int(order[0]), int(order[k]), 3.0 * k) for k in range(5, 90, 7)]
    frame = frame_of(path + late)
    check_all(in_partitions(frame, 3), frame, int(order[0]))


def test_paths_of_weight_zero(in_parts):
    """Predecessors along edges of weight 0 are a forest, the same as in one memory."""
    edges = [(a, b, float(w > 3.5)) for a, b, w in random_edges(10, 200, 900)]
    frame = frame_of(edges)
    graphs = [
        rg.Graph(edges, weight="weight", directed=directed, multi_edges="min")
        for directed in (True, False)
        for edges in (in_partitions(frame, 3), frame)
    ]
    for spread, whole in (graphs[:2], graphs[2:]):
        same(rg.sssp(spread, [7, 30]), rg.sssp(whole, [7, 30]))


def test_options_of_pagerank(in_parts):
    frame = frame_of(random_edges(11, 60, 200))
    graphs = [
        rg.Graph(edges, multi_edges="first", vertices=range(70))
        for edges in (in_partitions(frame, 3), frame)
    ]
    some = {3: 2.0, 69: 1.0}
    for options in (
        {"personalization": some}, {"dangling": "drop"}, {"dangling": some}, {"start": some},
        {"damping": 0.5, "personalization": some, "dangling": some},
        {"personalization": some, "dangling": "uniform"},
    ):  # fmt: skip
        spread, whole = (rg.pagerank(g, tolerance=0, max_iterations=10, **options) for g in graphs)
        same(spread, whole, rtol=1e-12, atol=1e-16)
    single = [rg.pagerank(g, precision="single", tolerance=1e-5) for g in graphs]
    same(*single, rtol=1e-4, atol=1e-7)
    ranks = rg.pagerank(graphs[0])
    same(rg.pagerank(graphs[0], start=ranks), rg.pagerank(graphs[1], start=ranks.compute()),
         rtol=1e-12, atol=1e-16)  # fmt: skip


def test_iterations_and_progress(client):
    frame = frame_of(random_edges(12))
    spread, seen = in_partitions(frame, 3), []

    def progress(done, total, text):
        seen.append((done, total))

    rg.pagerank(spread, tolerance=1e-4, progress=progress)
    whole = []
    rg.pagerank(frame, tolerance=1e-4, progress=lambda *report: whole.append(report[:2]))
    done = [count for count, _ in seen]
    assert seen[-1] == whole[-1]
    assert done == sorted(set(done))
    with pytest.raises(rg.ConvergenceError) as caught:
        rg.pagerank(spread, tolerance=1e-15, max_iterations=3)
    with pytest.raises(rg.ConvergenceError) as expected:
        rg.pagerank(frame, tolerance=1e-15, max_iterations=3)
    assert caught.value.iterations == 3
    assert caught.value.residual == pytest.approx(expected.value.residual, rel=1e-9)
    pandas.testing.assert_frame_equal(
        caught.value.result.compute(), expected.value.result, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("method", ["auto", "frames"])
def test_a_convergence_error_brings_its_values_from_a_worker(client, method):
    frame = frame_of(random_edges(12))
    options = {"tolerance": 1e-15, "max_iterations": 3, "method": method}
    error = client.submit(rg.pagerank, frame, **options).exception()
    assert type(error) is rg.ConvergenceError
    assert error.iterations == 3
    expected = rg.pagerank(frame, **options | {"tolerance": 0})
    pandas.testing.assert_frame_equal(error.result, expected)


def test_invalid_arguments(client):
    frame = frame_of(random_edges(13, 30, 90))
    for column, value, message in (
        (
            "weight",
            np.nan,
            "weight in row 0 of partition 2 of column 'weight' is missing (NaN)",
        ),
        (
            "weight",
            -1.5,
            "weight in row 0 of partition 2 of column 'weight' is -1.5",
        ),
        (
            "source",
            0.5,
            "vertex names must be integers or text; column 'source' has type float64, such as 0.5 "
            "in row 0 of partition 2",
        ),
    ):
        bad = frame.copy()
        bad[column] = bad[column].astype(float)
        row = 3 * len(frame) // 4
        bad.loc[row, column] = value
        if column == "source":
            bad["source"] = bad["source"].astype(float)
        with pytest.raises(rg.GraphError) as caught:
            rg.sssp(in_partitions(bad, 3), 7)
        assert message in str(caught.value)
        assert (caught.value.partition, caught.value.row) == (2, 0)
    spread = in_partitions(frame, 3)
    with pytest.raises(rg.GraphError, match="there is no column 'source'.*source='src'"):
        rg.pagerank(spread.rename(columns={"source": "src"}))
    with pytest.raises(rg.GraphError, match="source: vertex 99 is not in the graph"):
        rg.bfs(spread, 99)
    with pytest.raises(rg.GraphError, match=r"vertices is range\(5\), but an edge has the vertex"):
        rg.Graph(spread, vertices=5)
    with pytest.raises(rg.GraphError, match="memory_limit applies to layered edge lists"):
        rg.bfs(spread, 7, memory_limit="1GB")
    with pytest.raises(rg.GraphError, match="multi_edges is 'last'"):
        rg.Graph(spread, multi_edges="last")
    text = frame.astype({"source": str})
    mixed = dask.dataframe.from_delayed(
        [dask.delayed(frame), dask.delayed(text)], meta=frame.iloc[:0], verify_meta=False
    )
    with pytest.raises(rg.GraphError, match="text in one column and numbers in another"):
        rg.pagerank(mixed)


@pytest.mark.parametrize("on_cluster", [True, False])
@pytest.mark.parametrize("missing", ["source", "destination", "weight"])
def test_a_partition_lacks_a_column(request, on_cluster, missing):
    if on_cluster:
        request.getfixturevalue("client")
    frame = frame_of(random_edges(15))
    partitions = [frame, frame.drop(columns=missing), frame]
    spread = dask.dataframe.from_delayed(
        [*map(dask.delayed, partitions)], meta=frame.iloc[:0], verify_meta=False
    )
    source = int(frame["source"][0])
    calls = [rg.Graph, rg.pagerank, lambda edges: rg.sssp(edges, source)]
    calls += [
        lambda edges: rg.sssp(edges, source, method="frames"),
        lambda edges: rg.pagerank(edges, method="frames"),
    ]
    if missing != "weight":  # other calls select two columns, which is Dask's error
        calls += [
            lambda edges: rg.bfs(edges, source),
            lambda edges: rg.bfs(edges, source, method="frames"),
            rg.connected_components,
        ]
    for call in calls:
        with pytest.raises(rg.MissingColumnError, match=f"no column '{missing}'") as caught:
            call(spread)
        assert (caught.value.column, caught.value.partition) == (missing, 1)
        if missing == "weight":
            assert caught.value.hint == "rg.Graph(edges, weight=None) ignores the column"
            assert caught.value.columns == ["source", "destination"]


@pytest.mark.parametrize("missing", ["destination", "weight"])
def test_a_file_of_a_dask_frame_lacks_a_column(tmp_path, missing):
    frame = frame_of(random_edges(15))
    for name, rows in (("a", frame), ("b", frame.drop(columns=missing))):
        rows.to_parquet(tmp_path / f"{name}.parquet")
    spread = dask.dataframe.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    for method in ("auto", "frames"):
        with pytest.raises(rg.MissingColumnError, match=f"no column '{missing}'") as caught:
            rg.sssp(spread, int(frame["source"][0]), method=method)
        assert (caught.value.column, caught.value.partition) == (missing, 1)
        hint = "rg.Graph(edges, weight=None) ignores the column"
        assert (caught.value.hint == hint) == (missing == "weight")


def test_a_key_error_of_the_edges_is_raised_as_it_is(client):
    frame = frame_of(random_edges(16))

    def fail():
        raise KeyError("of the caller")

    spread = dask.dataframe.from_delayed(
        [dask.delayed(frame), dask.delayed(fail)()], meta=frame.iloc[:0], verify_meta=False
    )
    for method in ("auto", "frames"):
        with pytest.raises(KeyError, match="of the caller"):
            rg.pagerank(spread, method=method)


def test_partitions_are_built_once(client):
    graph = rg.Graph(in_partitions(frame_of(random_edges(14)), 3))
    storage = storage_of(graph)
    assert storage.partitions() is storage.partitions()
    csc = storage.partitions("csc")
    rg.pagerank(graph)
    assert storage.partitions("csc") is csc
    holders = client.who_has(storage.partitions())
    assert len({tuple(where) for where in holders.values()}) == 3  # one on each worker


def test_partitions_without_arcs(in_parts):
    """Edges that all lead from one range into another, with weights: a part has none."""
    random = np.random.default_rng(0)
    for rows in (1, 40):
        ends = random.integers(100, 200, rows), random.integers(0, 100, rows)
        for source, destination in (ends, ends[::-1]):
            frame = pandas.DataFrame({"source": source, "destination": destination})
            frame["weight"] = random.random(rows)
            graphs = [rg.Graph(g, weight="weight") for g in (in_partitions(frame, 3), frame)]
            check_all(*graphs, int(source[0]))
            assert storage_of(graphs[0].compute()).csr.weights.size == graphs[1].num_edges


def test_paths_that_end_at_the_cutoff(in_parts):
    frame = pandas.DataFrame(
        {"source": [0, 1, 2, 3], "destination": [1, 2, 3, 4], "weight": [1, 0, 0, 0.5]}
    )
    spread = in_partitions(frame, 3)
    for cutoff in (0, 0.5, 1, 1.5, 2.5):
        same(rg.sssp(spread, 0, cutoff=cutoff), rg.sssp(frame, 0, cutoff=cutoff))
        without = frame[["source", "destination"]]
        found = rg.sssp(in_partitions(without, 3), 0, cutoff=cutoff)
        same(found, rg.sssp(without, 0, cutoff=cutoff))
    loop = pandas.DataFrame({"source": [3], "destination": [5], "weight": [0.0]})
    graphs = [rg.Graph(g, weight="weight", directed=False) for g in (in_partitions(loop, 3), loop)]
    same(*(rg.sssp(graph, 5) for graph in graphs))


def test_a_failed_call_leaves_no_data(client):
    frame = frame_of(random_edges(16))
    graph = rg.Graph(in_partitions(frame, 3))
    rg.pagerank(graph)

    def held():
        gc.collect()
        time.sleep(0.3)  # the scheduler hears a little later
        return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    before = held()
    for _ in range(2):
        with pytest.raises(rg.GraphError):
            rg.bfs(graph, -5)
        with pytest.raises(rg.GraphError):
            rg.pagerank(graph, personalization={-5: 1})
        with pytest.raises(rg.GraphError):
            rg.sssp(in_partitions(frame.assign(weight=-1.0), 3), 7)
    assert any(held() <= before for _ in range(20))


def test_a_frame_that_failed_once(client, tmp_path):
    """What was computed for a call that failed is not remembered."""
    frame = frame_of(random_edges(17))
    folder = tmp_path / "mounted"

    def read():
        folder.iterdir().__next__()  # an OSError until it is there
        return frame

    spread = dask.dataframe.from_delayed([dask.delayed(read)()], meta=frame.iloc[:0])
    with pytest.raises(FileNotFoundError):
        rg.connected_components(spread)
    folder.mkdir()
    (folder / "file").touch()
    same(rg.connected_components(spread), rg.connected_components(frame))


def test_within_a_task(client):
    spread = in_partitions(frame_of(random_edges(18)), 3)

    def components():
        return len(rg.connected_components(spread).compute())

    futures = [
        client.submit(components, pure=False) for _ in range(4)
    ]  # more than there are threads
    assert {future.result(timeout=60) for future in futures} == {len(rg.pagerank(spread))}


def test_graphs_cannot_be_pickled_and_may_be_empty(client):
    graph = rg.Graph(in_partitions(frame_of(random_edges(19)), 1))
    with pytest.raises(rg.GraphError, match="a distributed Graph cannot leave its client"):
        pickle.dumps(graph)
    nothing = pandas.DataFrame(
        {"source": np.empty(0, np.int16), "destination": np.empty(0, np.int16)}
    )
    same(rg.pagerank(in_partitions(nothing, 3)), rg.pagerank(nothing))


def test_ranges_are_balanced():
    counts = np.ones(1000, np.int64)
    assert partition.balance_ranges(counts, 4, 1000) == [0, 250, 500, 750, 1000]
    counts[0] = 10**6  # one vertex has almost all
    assert partition.balance_ranges(counts, 4, 1000) == [0, 0, 1, 1, 1000]
    assert partition.balance_ranges(np.zeros(0, np.int64), 3, 0) == [0, 0, 0, 0]
    assert partition.balance_ranges(np.array([4]), 1, 1) == [0, 1]


@gpu
def test_on_gpus(tmp_path):
    """Dask-CUDA's workers, one a GPU; frames of cuDF."""
    import cudf
    from dask_cuda import LocalCUDACluster

    frame = frame_of(random_edges(15, 300, 5000))
    with LocalCUDACluster(dashboard_address=":0") as cluster, Client(cluster):
        spread = in_partitions(cudf.DataFrame(frame), 3)
        check_pairs = [(spread, frame)]
        options = {"weight": "weight", "directed": False}
        check_pairs.append((rg.Graph(spread, **options), rg.Graph(frame, **options)))
        for given, whole in check_pairs:
            for run in (
                rg.connected_components,
                lambda graph: rg.bfs(graph, 7),
                lambda graph: rg.sssp(graph, 7),
                lambda graph: rg.pagerank(graph, tolerance=1e-12, max_iterations=200),
                lambda graph: rg.scan(graph, epsilon=0.3, mu=2),
                rg.structural_similarity,
                rg.triangle_count,
                rg.clustering_coefficient,
            ):
                found = run(given).compute().to_pandas()
                expected = run(whole)
                for name in expected:
                    a, b = found[name], expected[name]
                    if name in ("pagerank", "similarity", "coefficient"):
                        np.testing.assert_allclose(a, b, rtol=1e-9)
                    else:
                        values = [v.astype(object).where(v.notna(), None).tolist() for v in (a, b)]
                        assert values[0] == values[1], name


def test_size_of_a_partition():
    """Dask learns the size of all arrays, also of those that are cached; each counts once."""
    offsets, neighbors = np.zeros(1001, np.int64), np.arange(500, dtype=np.int32)
    part = partition.Partition(Adjacency(offsets, neighbors, np.empty(0)), 0, 1000, False)
    size = dask.sizeof.sizeof(part)
    assert 0 <= size - offsets.nbytes - neighbors.nbytes < 1000
    part.cached("layout", lambda: (np.zeros(10_000), {"same": neighbors}))
    assert 80_000 <= dask.sizeof.sizeof(part) - size < 81_000
