"""Runs within a limit of memory: what they read, what they need, and what damage they find."""

import concurrent.futures
import copy
import mmap
import pickle

import hypothesis.strategies as st
import numpy as np
import pandas
import pytest
from conftest import (
    FrameMaker,
    assert_close,
    build_storage,
    columns_of,
    listed,
    random_edges,
    ranks_of,
)
from hypothesis import given, settings

import rapidsgraph as rg
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import LayeredEdgeList, streaming
from rapidsgraph.layered.packing import COLUMN, section_layouts
from rapidsgraph.validation import parse_bytes

pytestmark = pytest.mark.slow

gpu = pytest.mark.gpu
RUNS = {
    "bfs": rg.bfs,
    "sssp": rg.sssp,
    "pagerank": lambda given, **options: rg.pagerank(
        given, tolerance=0, max_iterations=5, **options
    ),
}
by_run = pytest.mark.parametrize("algorithm", RUNS)
ROOT = 7


def graph_of(make, edges, **options):
    options = {"weight": "weight", "multi_edges": "keep", **options}
    return build_storage(make(columns_of(edges)), **options)


def reopened(layered, folder):
    """The list as it comes from a store, on the same device."""
    layered.save(folder)
    return LayeredEdgeList.open(folder, device=layered.device)


@pytest.fixture(scope="module")
def edges():
    return random_edges(100, 400, 2500)


@pytest.fixture(scope="module")
def saved(tmp_path_factory, edges):
    """(Graph, folder of a store of some 40 partitions), on a CPU."""
    graph = graph_of(FrameMaker("pandas"), edges, vertices=420)
    folder = tmp_path_factory.mktemp("stores") / "layers"
    LayeredEdgeList.build(graph, ROOT, partition_bytes=800).save(folder)
    return graph, folder


def check_run(algorithm, given, graph, **options):
    """A run gives what it gives for the graph; PageRank but for the last bits."""
    run = RUNS[algorithm]
    source = {} if algorithm == "pagerank" else {"source": ROOT}
    expected, found = run(graph, **source), run(given, **options)
    if algorithm == "pagerank":
        assert_close(ranks_of(found), ranks_of(expected), 1e-12)
    else:
        assert listed(found) == listed(expected)


def least_of(algorithm, layered):
    """The least limit that a run names."""
    with pytest.raises(rg.InsufficientMemoryError) as caught:
        RUNS[algorithm](layered, memory_limit=1)
    return caught.value.needed


# Limits


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (1, 1),
        (2.9, 2),
        (np.int64(7), 7),
        ("123", 123),
        ("123B", 123),
        ("1MB", 10**6),
        ("1mb", 10**6),
        (" 2 GB ", 2 * 10**9),
        ("0.5GiB", 2**29),
        ("512MiB", 2**29),
        ("1.5kB", 1500),
        ("1TiB", 2**40),
        ("3 KiB", 3072),
    ],
)
def test_sizes(text, size):
    assert parse_bytes(text, "memory_limit") == size


WRONG = [0, -5, True, "", "x", "1PB", "-1MB", "MB", "1 2", "1,5GB", "0", "0MB", float("nan"),
         float("inf"), 2**63, [1], b"1MB"]  # fmt: skip


@by_run
@pytest.mark.parametrize("limit", WRONG, ids=repr)
def test_what_is_no_size(algorithm, limit):
    graph = graph_of(FrameMaker("pandas"), [(7, 1, 1)])
    layered = LayeredEdgeList.build(graph, ROOT)
    with pytest.raises(
        rg.GraphError, match="memory_limit is .*; it must be bytes, 1 or more, or a string like"
    ):
        RUNS[algorithm](layered, memory_limit=limit)


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("search", [rg.bfs, rg.sssp])
def test_limits_are_checked_also_without_predecessors(search, weight):
    """There, nothing is read."""
    graph = graph_of(FrameMaker("pandas"), [(7, 1, 1)], weight=weight)
    layered = LayeredEdgeList.build(graph, ROOT)
    with pytest.raises(rg.GraphError, match="memory_limit is 'much'"):
        search(layered, predecessors=False, memory_limit="much")
    with pytest.raises(rg.InsufficientMemoryError):
        search(layered, predecessors=False, memory_limit=1)


@by_run
def test_a_limit_with_a_graph_or_a_frame(make_arrays, algorithm):
    frame = make_arrays(columns_of([(7, 1, 1), (1, 7, 1)]))
    source = {} if algorithm == "pagerank" else {"source": 7}
    for given_ in (frame, build_storage(frame)):
        with pytest.raises(rg.GraphError, match="memory_limit applies to layered edge lists"):
            RUNS[algorithm](given_, memory_limit="1GB", **source)


@by_run
@pytest.mark.parametrize("is_opened", [True, False], ids=["opened", "in memory"])
def test_too_small_a_limit_says_what_is_needed(tmp_path, make_arrays, edges, algorithm, is_opened):
    graph = graph_of(make_arrays, edges)
    layered = LayeredEdgeList.build(graph, ROOT, partition_bytes=800)
    largest = 4 * int(storage_of(layered).table[:, COLUMN["words"]].max())
    if is_opened:
        layered = reopened(layered, tmp_path / "layers")
    with pytest.raises(
        rg.InsufficientMemoryError, match="memory_limit is 1.00 kB; raise the limit"
    ) as caught:
        RUNS[algorithm](layered, memory_limit=1000)
    vertices = graph.num_vertices
    assert (caught.value.free, type(caught.value.needed)) == (1000, int)
    reserved = vertices * ALGORITHM_BYTES[algorithm].per_vertex
    streams = is_opened or make_arrays.on_gpu
    assert caught.value.needed == reserved + (2 * largest if streams else layered.nbytes)
    assert f"{vertices:,} vertices" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.needed, str(again)) == (caught.value.needed, str(caught.value))
    with pytest.raises(rg.InsufficientMemoryError):
        RUNS[algorithm](layered, memory_limit=caught.value.needed - 1)
    found = RUNS[algorithm](layered, memory_limit=caught.value.needed)
    assert found is not None and layered.last_run.partitions > 0


def test_without_a_limit_what_is_free_is_the_limit(monkeypatch, saved):
    graph, folder = saved
    layered = LayeredEdgeList.open(folder, device="cpu")
    monkeypatch.setattr(streaming.device, "free_memory", lambda xp: 1000)
    with pytest.raises(rg.InsufficientMemoryError, match="free in memory;") as caught:
        rg.sssp(layered)
    least = caught.value.needed
    monkeypatch.setattr(streaming.device, "free_memory", lambda xp: least)
    found = rg.sssp(layered)
    monkeypatch.undo()
    assert listed(found) == listed(rg.sssp(graph, ROOT))


# From a mapped file, on a CPU


@by_run
def test_a_mapped_file_within_the_least_limit(saved, monkeypatch, algorithm):
    graph, folder = saved
    layered = LayeredEdgeList.open(folder, device="cpu")
    advised = []
    advise = streaming.MappedStream._advise
    monkeypatch.setattr(
        streaming.MappedStream,
        "_advise",
        lambda *given: (advised.append(given[1:]), advise(*given)),
    )
    least = least_of(algorithm, layered)
    assert least < layered.nbytes + graph.num_vertices * ALGORITHM_BYTES[algorithm].per_vertex
    check_run(algorithm, layered, graph, memory_limit=least)
    run = layered.last_run
    behind = [partition for partition, advice in advised if advice == mmap.MADV_DONTNEED]
    assert len(behind) == run.partitions  # each goes behind once it was used
    ahead = [partition for partition, advice in advised if advice == mmap.MADV_WILLNEED]
    assert len(ahead) == run.partitions - run.passes  # and comes ahead, but the first of a pass
    advised.clear()
    check_run(algorithm, layered, graph, memory_limit="1GB")  # all of it fits
    assert not advised
    check_run(algorithm, layered, graph, memory_limit=least)
    check_run(algorithm, layered, graph)


@pytest.mark.parametrize("limited", [True, False], ids=["least limit", "no limit"])
def test_what_a_run_reads(saved, limited):
    _, folder = saved
    layered = LayeredEdgeList.open(folder, device="cpu")
    table, passes = storage_of(layered).table, 5

    def options(algorithm):
        return {"memory_limit": least_of(algorithm, layered)} if limited else {}

    rg.bfs(layered, **options("bfs"))
    end = storage_of(layered).layer_starts[layered.depth]
    own = table[(table[:, COLUMN["first"]] < end) & (table[:, COLUMN["forward_edges"]] > 0)]
    forward = 4 * int(own[:, COLUMN["forward_words"]].sum())
    assert layered.last_run == (1, len(own), forward)
    assert 0 < forward < layered.nbytes == 4 * table[:, COLUMN["words"]].sum()

    RUNS["pagerank"](layered, **options("pagerank"))
    assert layered.last_run == (passes, passes * len(table), passes * layered.nbytes)

    rg.sssp(layered, **options("sssp"))
    run = layered.last_run
    assert run.passes > 1 and len(table) < run.partitions <= run.passes * len(table)
    if limited:  # partitions one by one
        assert run.partitions < run.passes * len(table)
        assert run.nbytes < run.passes * layered.nbytes


@pytest.mark.parametrize("size", [1, 64, 100, 4000, 10**6])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_opened_lists_of_any_size_of_partition(tmp_path, make_arrays, size, directed, weight):
    graph = graph_of(make_arrays, random_edges(101, 60, 250), directed=directed, weight=weight)
    layered = LayeredEdgeList.build(graph, ROOT, partition_bytes=size)
    opened = reopened(layered, tmp_path / "layers")
    for algorithm, run in RUNS.items():
        for limit in (least_of(algorithm, opened), least_of(algorithm, opened) + 500, None):
            source = {} if algorithm == "pagerank" else {"source": ROOT}
            expected = listed(run(graph, **source))
            found = listed(run(opened, memory_limit=limit))
            if algorithm == "pagerank":
                np.testing.assert_allclose(
                    found.pop("pagerank"), expected.pop("pagerank"), rtol=0, atol=1e-12
                )
            assert found == expected


def test_edges_of_an_opened_list(tmp_path, make_arrays, edges):
    layered = LayeredEdgeList.build(graph_of(make_arrays, edges), ROOT, partition_bytes=800)
    opened = reopened(layered, tmp_path / "layers")
    rg.bfs(opened, memory_limit=least_of("bfs", opened))
    for layer in (None, *range(layered.depth + 1)):
        assert listed(opened.edges(layer)) == listed(layered.edges(layer))
    assert listed(opened.layers) == listed(layered.layers)
    assert listed(opened.combined) == listed(layered.combined)


def test_saved_again_after_runs(tmp_path, saved):
    graph, folder = saved
    layered = LayeredEdgeList.open(folder, device="cpu")
    rg.sssp(layered, memory_limit=least_of("sssp", layered))
    again = reopened(layered, tmp_path / "again")
    check_run("sssp", again, graph)
    np.testing.assert_array_equal(storage_of(again).table, storage_of(layered).table)


@by_run
@pytest.mark.parametrize("at", [1, 3])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_run_leaves_the_list_as_it_was(tmp_path, make_arrays, algorithm, at, error):
    graph = graph_of(make_arrays, random_edges(102, 200, 900))
    layered = LayeredEdgeList.build(graph, ROOT, partition_bytes=300)
    opened, calls = reopened(layered, tmp_path / "layers"), []
    at = 1 if algorithm == "pagerank" else at  # it reports a few iterations at a time

    def progress(*given_):
        calls.append(given_)
        if len(calls) == at:
            raise error

    least = least_of(algorithm, opened)
    with pytest.raises(error):
        RUNS[algorithm](opened, memory_limit=least, progress=progress)
    assert len(calls) == at
    expected = listed(RUNS[algorithm](layered))
    found = listed(RUNS[algorithm](opened, memory_limit=least))
    if algorithm == "pagerank":
        found, expected = ([columns["pagerank"]] for columns in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert algorithm == "pagerank" or found == expected


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))]
)
def test_an_opened_list_can_be_copied(saved, copied):
    graph, folder = saved
    layered = LayeredEdgeList.open(folder, device="cpu")
    for _ in range(2):  # before and after what is in the store was read
        other = copied(layered)
        for algorithm in RUNS:
            check_run(algorithm, other, graph, memory_limit=least_of(algorithm, other))
        assert listed(other.edges(1)) == listed(layered.edges(1))


# Damage


def damaged(folder, layered, partition, word, bit):
    """Flip a bit of a partition's words in the file of edges; twice puts it back."""
    place = 4 * (int(storage_of(layered).table[partition, COLUMN["position"]]) + word)
    with open(folder / "edges.npy", "r+b") as file:
        file.seek(place + bit // 8)
        byte = file.read(1)[0]
        file.seek(place + bit // 8)
        file.write(bytes([byte ^ (1 << bit % 8)]))


@pytest.fixture
def copied(saved, tmp_path):
    """A store of our own, to be damaged."""
    graph, folder = saved
    LayeredEdgeList.open(folder, device="cpu").save(tmp_path / "layers")
    return graph, tmp_path / "layers"


ON = ["cpu", pytest.param("gpu", marks=gpu)]


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("limited", [True, False], ids=["least limit", "no limit"])
@pytest.mark.parametrize("part", [0, 1], ids=["forward", "backward"])
def test_a_flipped_bit_is_noticed(copied, on, limited, part):
    """By whoever reads it; BFS reads forward sections, and not those of the last layer."""
    graph, folder = copied
    whole = LayeredEdgeList.open(folder, device=on)
    limits = {name: least_of(name, whole) if limited else None for name in RUNS}
    random = np.random.default_rng(part)
    table, starts = storage_of(whole).table, storage_of(whole).layer_starts
    sizes = np.stack([table[:, COLUMN["forward_words"]], table[:, COLUMN["words"]]], axis=1)
    sizes[:, 1] -= sizes[:, 0]
    seen = set()
    for partition in random.permutation(np.flatnonzero(sizes[:, part]))[:12].tolist():
        first = int(table[partition, COLUMN["first"]])
        word = int(random.integers(sizes[partition, part])) + part * int(sizes[partition, 0])
        bit = int(random.integers(32))
        damaged(folder, whole, partition, word, bit)
        layered = LayeredEdgeList.open(folder, device=on)
        message = rf"edges\.npy: partition {partition} of its edges is damaged; build"
        reads = {
            "bfs": part == 0 and first < starts[whole.depth],
            "sssp": first < starts[-1],
            "pagerank": True,
        }
        for name, is_read in reads.items():
            seen.add((name, bool(is_read)))
            for _ in range(2):  # also when it is asked again
                if is_read:
                    with pytest.raises(rg.GraphError, match=message):
                        RUNS[name](layered, memory_limit=limits[name])
                else:
                    expected = listed(RUNS[name](graph, source=ROOT))
                    assert listed(RUNS[name](layered, memory_limit=limits[name])) == expected
        with pytest.raises(rg.GraphError, match=message):
            layered.edges()
        damaged(folder, whole, partition, word, bit)
    assert ("pagerank", True) in seen and ("sssp", True) in seen and ("bfs", not part) in seen
    for name in RUNS:
        check = LayeredEdgeList.open(folder, device="cpu")
        check_run(name, check, graph)


def test_every_word_of_a_partition_is_under_its_checksum(copied):
    _, folder = copied
    whole = LayeredEdgeList.open(folder, device="cpu")
    partition = len(storage_of(whole).table) // 3
    words = int(storage_of(whole).table[partition, COLUMN["words"]])
    assert words > 20
    for word in range(words):
        damaged(folder, whole, partition, word, word % 32)
        with pytest.raises(rg.GraphError, match=f"partition {partition} of its edges is damaged"):
            LayeredEdgeList.open(folder, device="cpu").edges()
        damaged(folder, whole, partition, word, word % 32)


def test_a_layer_of_a_damaged_list_is_given_where_it_is_sound(copied):
    _, folder = copied
    whole = LayeredEdgeList.open(folder, device="cpu")
    last = int(
        np.flatnonzero(
            storage_of(whole).table[:, COLUMN["first"]] < storage_of(whole).layer_starts[-1]
        )[-1]
    )
    expected = listed(whole.edges(0))
    damaged(folder, whole, last, 0, 0)
    layered = LayeredEdgeList.open(folder, device="cpu")
    assert listed(layered.edges(0)) == expected
    with pytest.raises(rg.GraphError, match="damaged"):
        layered.edges(layered.depth)


def test_a_truncated_file_is_an_error_at_once(copied):
    _, folder = copied
    path = folder / "edges.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(rg.GraphError, match=r"edges\.npy"):
        LayeredEdgeList.open(folder, device="cpu")


# Runs of partitions


@given(st.sets(st.integers(0, 900)), st.integers(1, 5))
@settings(max_examples=60)
def test_runs_of_consecutive_partitions(wanted, most):
    most *= 60
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "MAX_LAUNCH_PARTITIONS", most)
        runs = list(streaming._consecutive_runs(sorted(wanted)))
    assert [p for start, stop in runs for p in range(start, stop)] == sorted(wanted)
    assert all(0 < stop - start <= most for start, stop in runs)
    for (_, stop), (start, _), before in zip(runs, runs[1:], runs):
        assert start > stop or before[1] - before[0] == most


# Properties


small_graphs = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0, 1, 0.1, 2.5, 1e-20])),
    max_size=40,
)


@given(small_graphs, st.integers(0, 10), st.sampled_from([1, 20, 90]), st.booleans())
@settings(max_examples=25)
def test_small_graphs_from_a_mapped_file(tmp_path_factory, edges, root, size, directed):
    options = {"vertices": 11, "directed": directed}
    graph = graph_of(FrameMaker("pandas"), edges, **options)
    layered = LayeredEdgeList.build(graph, root, partition_bytes=size)
    opened = reopened(layered, tmp_path_factory.mktemp("small") / "layers")
    for name in ("bfs", "sssp"):
        expected = listed(RUNS[name](graph, source=root))
        assert listed(RUNS[name](opened, memory_limit=least_of(name, opened))) == expected
    expected = ranks_of(RUNS["pagerank"](graph))
    found = RUNS["pagerank"](opened, memory_limit=least_of("pagerank", opened))
    assert_close(ranks_of(found), expected, 1e-12)


# Several at once, and what others do meanwhile


def test_threads_that_check_one_list_at_once(tmp_path):
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "source": random.integers(0, 3000, 60_000),
            "destination": random.integers(0, 3000, 60_000),
            "weight": random.random(60_000),
        }
    )
    graph = build_storage(frame, weight="weight")
    LayeredEdgeList.build(graph, 0, partition_bytes=8000).save(tmp_path / "store")
    expected = rg.sssp(graph, 0)
    for _ in range(3):
        opened = LayeredEdgeList.open(tmp_path / "store", device="cpu")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: rg.sssp(opened), range(8)))  # noqa: B023
        for frame in [*found, rg.sssp(opened)]:
            pandas.testing.assert_frame_equal(frame, expected)


def test_a_list_that_another_process_put_there_meanwhile(tmp_path, monkeypatch):
    from rapidsgraph.layered.outofcore import build as external

    path = tmp_path / "edges.parquet"
    pandas.DataFrame({"source": [0, 1], "destination": [1, 2]}).to_parquet(path)
    build = external.build_from_file

    def interrupted(given, root, *arguments, **options):
        build(given, root, *arguments, **options)
        if root == 0:
            LayeredEdgeList.cached(path, 1, device="cpu")

    monkeypatch.setattr(external, "build_from_file", interrupted)
    with pytest.raises(
        rg.GraphError, match="another process has written another layered edge list"
    ):
        LayeredEdgeList.cached(path, 0, device="cpu")
    assert LayeredEdgeList.cached(path, 1, device="cpu").root == 1


def test_a_damaged_list_is_not_saved(tmp_path):
    edges = pandas.DataFrame({"source": range(400), "destination": range(1, 401)})
    LayeredEdgeList.build(edges, 0).save(tmp_path / "store")
    opened = LayeredEdgeList.open(tmp_path / "store", device="cpu")
    place = int(storage_of(opened).table[0, COLUMN["position"]]) * 4 + 9
    with open(tmp_path / "store" / "edges.npy", "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 16]))
    with pytest.raises(rg.GraphError, match=r"edges\.npy: partition 0 .* is damaged"):
        opened.save(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_relative_path_is_where_it_was(tmp_path, monkeypatch):
    edges = pandas.DataFrame({"source": [0, 1], "destination": [1, 2]})
    LayeredEdgeList.build(edges, 0).save(tmp_path / "store")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    opened = LayeredEdgeList.open("store", device="cpu")
    monkeypatch.chdir("below")
    assert rg.bfs(pickle.loads(pickle.dumps(opened)))["distance"].tolist() == [0, 1, 2]


def test_kernels_stay_within_the_words(make_arrays):
    """A section whose neighbors are all one place takes no bits for them, and two words."""
    edges = [(a, 33, 1.0) for a in range(33)] + [(a, 33, 1.0) for a in range(31)]
    graph = build_storage(make_arrays(columns_of([(33, a, 1.0) for a in range(33)] + edges)),
                     multi_edges="keep")  # fmt: skip
    layered = LayeredEdgeList.build(graph, 33)
    for row in storage_of(layered).table:
        for part, layout in zip(("forward", "backward"), section_layouts(row, 0), strict=True):
            if layout.edges and not int(row[COLUMN[f"{part}_bits"]]):
                assert layout.weights - layout.neighbors >= 2
                assert layout.words >= layout.weights
    assert listed(rg.bfs(layered)) == listed(rg.bfs(graph, 33))
