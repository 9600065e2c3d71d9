"""Memory estimates are upper bounds of peaks, and calls that exceed free memory are rejected."""

import ast
import functools
import itertools
import pickle
import re
from pathlib import Path

import numpy as np
import pandas
import pytest
from conftest import build_storage, columns_of, random_edges
from traced_memory import trace_memory

import rapidsgraph as rg
from rapidsgraph import device, frames, validation
from rapidsgraph.algorithms import run_memory
from rapidsgraph.algorithms.pagerank import MAX_DIRECT_ITERATIONS
from rapidsgraph.frames import factorize
from rapidsgraph.graph.build import MAX_BASE_BYTES, MAX_BYTES_PER_NAME, MIN_CHECKED_SIZE
from rapidsgraph.graph.build_memory import (
    ARROW_POOL_BYTES,
    BASE_BYTES,
    RUN_MARGIN,
    NameColumnStats,
    build_bytes,
    name_column_stats,
)
from rapidsgraph.graph.local_graph import LocalGraph

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_heap")]

ROWS = 500_000
SLACK = 200_000  # bytes of objects of Python itself
# More iterations take no more memory; fewer would do without a layout of rows.
FEW_ITERATIONS = {"tolerance": 0, "max_iterations": MAX_DIRECT_ITERATIONS + 1}


def peak_of(work):
    """Return the result of `work` and the peak of its memory in bytes."""
    device.wait_for_compilations()  # compiler threads of earlier tests allocate memory, too
    with trace_memory() as get_peak:
        result = work()
        return result, get_peak()


def frame_of(names, dtype="int64"):
    random = np.random.default_rng(0)
    places = random.integers(0, len(names), (2, ROWS))
    columns = {"source": names[places[0]], "destination": names[places[1]]}
    return pandas.DataFrame(columns).astype(dtype)


def frame_of_distant_names(count):
    """Return edges with `count` distinct names that are far apart."""
    random = np.random.default_rng(0)
    places = np.concatenate(
        [random.permutation(count), random.integers(0, count, 2 * ROWS - count)]
    )
    columns = {"source": places[:ROWS] * 10**11, "destination": places[ROWS:] * 10**11}
    return pandas.DataFrame(columns)


KINDS = {
    "from 0, few": lambda: frame_of(np.arange(1_000)),
    "from 0, many": lambda: frame_of(np.arange(100_000)),
    "from 0, int32": lambda: frame_of(np.arange(100_000), "int32"),
    "gaps, few": lambda: frame_of(np.arange(1_000) * 2 * ROWS // 1_000),
    "gaps, many": lambda: frame_of(np.arange(100_000) * 2 * ROWS // 100_000),
    "gaps, int32": lambda: frame_of(np.arange(100_000) * 2 * ROWS // 100_000, "int32"),
    "more gaps": lambda: frame_of(np.arange(100_000) * 8 * ROWS // 100_000),
    "far apart, few": lambda: frame_of(np.arange(1_000) * 10**15),
    "far apart, many": lambda: frame_of(np.arange(100_000) * 10**13),
    # Hash tables double where three quarters of a power of two are reached.
    "far apart, 425,000": lambda: frame_of_distant_names(425_000),
    "far apart, 825,000": lambda: frame_of_distant_names(825_000),
}
POLICIES = {
    "directed": {},
    "keep": {"multi_edges": "keep"},
    "drop": {"self_loops": "drop"},
    "undirected": {"directed": False},
    "weighted": {"weight": "weight"},
    "weighted, undirected": {"weight": "weight", "directed": False},
    "weighted, sum": {"weight": "weight", "multi_edges": "sum"},
    "counted": {"multi_edges": "sum"},
}
KINDS_WITH_ALL_POLICIES = ("from 0, many", "gaps, many", "far apart, 425,000")
CASES = [(kind, "directed") for kind in KINDS]
CASES += [
    (kind, policy)
    for kind in KINDS_WITH_ALL_POLICIES
    for policy in POLICIES
    if policy != "directed"
]


@functools.lru_cache(2)
def frame_with_weights(kind):
    return KINDS[kind]().assign(weight=np.random.default_rng(2).random(ROWS))


def build(frame, options):
    """Return a graph and the bytes that building it took beyond the frame, without compilation."""
    columns = ["source", "destination", *(["weight"] if "weight" in options else [])]
    frame = frame[columns]
    # The names of a few rows are not 0..n-1, and take other kernels than those of all rows.
    rg.pagerank(build_storage(frame, **options), **FEW_ITERATIONS)
    return peak_of(lambda: build_storage(frame, **options))


@pytest.mark.parametrize(("kind", "policy"), sorted(CASES))
def test_build_and_pagerank_peaks_are_below_bounds(kind, policy):
    """Ids 0..n-1, unweighted and directed, take 16 bytes per row and 32 per vertex at most."""
    options = POLICIES[policy]
    graph, peak = build(frame_with_weights(kind), options)
    assert graph.report.rows == ROWS
    policies = {"weighted": graph.weighted, "directed": graph.directed}
    policies |= {name: options[name] for name in ("multi_edges", "self_loops") if name in options}
    frame = frame_with_weights(kind)
    columns = name_column_stats([frame["source"].to_numpy()], [frame["destination"].to_numpy()])
    bound = build_bytes(ROWS, graph.num_vertices, columns=columns, **policies)
    if kind.startswith("from 0") and policy == "directed":
        arrays = 16 * ROWS + 32 * graph.num_vertices
        assert bound <= RUN_MARGIN * arrays + BASE_BYTES
    assert peak <= bound + SLACK, f"{peak / ROWS:.1f} bytes a row, bound {bound / ROWS:.1f}"
    needed = rg.estimate_memory(graph, "pagerank").needed
    _, peak = peak_of(lambda: rg.pagerank(graph, **FEW_ITERATIONS))
    assert peak <= needed + SLACK, f"{peak / ROWS:.1f} bytes a row, estimate {needed / ROWS:.1f}"


POOLS = []  # arrays refer to their pool and do not keep it alive


def peak_with_arrow(work):
    """Return the result of `work` and the sum of the peaks of Python's and Arrow's allocators."""
    import pyarrow

    given = pyarrow.default_memory_pool()
    counted = pyarrow.proxy_memory_pool(given)
    POOLS.append(counted)
    pyarrow.set_memory_pool(counted)
    try:
        result, peak = peak_of(work)
        return result, peak + counted.max_memory()
    finally:
        pyarrow.set_memory_pool(given)


@pytest.mark.parametrize("dtype", ["str", "object"])
@pytest.mark.parametrize("count", [1_000, 30_000])
@pytest.mark.parametrize("columns", [1, 2])
def test_text_naming_peak_is_below_bound(columns, count, dtype):
    if dtype == "str":
        pytest.importorskip("pyarrow")
    rows, random = 50_000, np.random.default_rng(6)
    words = pandas.Series([f"the name of vertex {i}" for i in range(count)], dtype=dtype)
    frame = pandas.DataFrame(
        {
            f"{end} {column}": words.take(random.integers(0, count, rows)).reset_index(drop=True)
            for end in ("source", "destination")
            for column in range(columns)
        }
    )
    ends = [[f"{end} {i}" for i in range(columns)] for end in ("source", "destination")]
    facts = name_column_stats(*([frame[name] for name in names] for names in ends))
    assert {column.kind for column in facts} == {"arrow" if dtype == "str" else "object"}
    build_storage(frame.head(100), *ends)
    measure = peak_with_arrow if dtype == "str" else peak_of
    graph, peak = measure(lambda: build_storage(frame, *ends))
    bound = build_bytes(rows, graph.num_vertices, columns=facts)
    # The memory that Arrow's allocator retains is not in use.
    arrays = bound - (columns * ARROW_POOL_BYTES if dtype == "str" else 0)
    assert 0.1 * arrays < peak <= bound, f"{peak:,} bytes, bound {bound:,}"


def test_estimate_counts_all_vertices_of_a_matrix(tmp_path):
    """Most vertices have no edge, and the build takes their names, too."""
    path = tmp_path / "a.mtx"
    size = 400_000
    head = "%%MatrixMarket matrix coordinate pattern general"
    path.write_text(f"{head}\n{size} {size} 2\n1 {size}\n7 9\n")

    def run():
        vertices = rg.read_vertices(path, device="cpu")
        return rg.bfs(build_storage(rg.read_edges(path, device="cpu"), vertices=vertices), 1)

    run()
    needed = rg.estimate_memory(path, "bfs").needed
    result, peak = peak_of(run)
    assert len(result) == size
    assert peak <= needed + SLACK, f"{peak:,} bytes, estimate {needed:,}"
    assert rg.estimate_memory(path, "bfs", num_vertices=2).needed < needed


@pytest.mark.parametrize("kind", sorted(KINDS_WITH_ALL_POLICIES))
def test_pagerank_of_frame_peak_is_below_estimate(kind):
    frame = frame_with_weights(kind)[["source", "destination"]]
    rg.pagerank(frame.head(100), **FEW_ITERATIONS)
    needed = rg.estimate_memory(frame, "pagerank").needed
    _, peak = peak_of(lambda: rg.pagerank(frame, **FEW_ITERATIONS))
    assert peak <= needed + SLACK, f"{peak / ROWS:.1f} bytes a row, estimate {needed / ROWS:.1f}"


@pytest.mark.parametrize("num_iterations", [1, MAX_DIRECT_ITERATIONS + 1])
def test_pagerank_peak_with_values_by_vertex_is_below_estimate(num_iterations):
    """The graph is sparse, so that the values take most of the memory."""
    num_vertices, random = 2_000_000, np.random.default_rng(0)
    ends = random.integers(0, num_vertices, (2, num_vertices // 10))
    graph = build_storage({"source": ends[0], "destination": ends[1]}, vertices=num_vertices)
    values = pandas.DataFrame({"vertex": np.arange(num_vertices), "value": 1.0})
    parameters = ("personalization", "start", "dangling")
    options = dict.fromkeys(parameters, values) | {"tolerance": 0, "max_iterations": num_iterations}
    rg.pagerank(pandas.DataFrame({"source": [0], "destination": [1]}), **FEW_ITERATIONS)
    needed = rg.estimate_memory(graph, "pagerank").needed
    _, peak = peak_of(lambda: rg.pagerank(graph, **options))
    assert peak <= needed, f"{peak / num_vertices:.1f} a vertex, {needed / num_vertices:.1f}"


@pytest.mark.parametrize(
    ("kind", "algorithm", "policy"),
    [
        (kind, algorithm, policy)
        for kind in sorted(KINDS_WITH_ALL_POLICIES)
        for algorithm in (
            "bfs",
            "sssp",
            "connected_components",
            "label_propagation",
            "strong_components",
        )
        for policy in ("directed", "weighted", "undirected")
        if policy == "directed" or kind == "gaps, many"
    ],
)
def test_traversal_peak_is_below_estimate(kind, algorithm, policy):
    options, frame = POLICIES[policy], frame_with_weights(kind)
    first = int(frame["source"][0])
    run = {
        "bfs": lambda edges: rg.bfs(edges, first),
        "sssp": lambda edges: rg.sssp(edges, first),
        "connected_components": rg.connected_components,
        "label_propagation": rg.label_propagation,
        "strong_components": lambda edges: rg.connected_components(edges, strong=True),
    }[algorithm]
    for edges in (build_storage(frame, **options), frame):
        run(
            build_storage(frame.head(100), **options)
            if isinstance(edges, LocalGraph)
            else frame[:100]
        )
        weight = "weight" if edges is frame else None
        needed = rg.estimate_memory(edges, algorithm, weight=weight).needed
        _, peak = peak_of(lambda: run(edges))  # noqa: B023
        assert peak <= needed + SLACK, f"{peak / ROWS:.1f} a row, estimate {needed / ROWS:.1f}"


CLUSTERINGS = {
    "scan": lambda edges: rg.scan(edges, epsilon=0.01, mu=2, memberships=True),
    "scan_index": lambda edges: rg.ScanIndex(edges).query(0.01, 2, memberships=True),
    "structural_similarity": rg.structural_similarity,
    "core_number": rg.core_number,
    "triangle_count": rg.triangle_count,
    "clustering_coefficient": rg.clustering_coefficient,
    "neighbor_similarity": rg.neighbor_similarity,
}
SIMILAR_CASES = [(kind, "directed") for kind in ("far apart, 425,000", "from 0, few")]
SIMILAR_CASES += [("gaps, many", policy) for policy in ("directed", "weighted", "undirected")]


def check_clustering(run, edges, algorithm):
    needed = rg.estimate_memory(edges, algorithm, memberships=True).needed
    result, peak = peak_of(lambda: run(edges))
    assert peak <= needed + SLACK, f"{peak / ROWS:.1f} a row, estimate {needed / ROWS:.1f}"
    return result


@functools.cache
def compile_kernels(policy, algorithm):
    """Run an algorithm on a graph so large that it launches all kernels of the tests."""
    graph = build_storage(frame_with_weights("gaps, many"), **POLICIES[policy])
    CLUSTERINGS[algorithm](graph)


@pytest.mark.parametrize("algorithm", CLUSTERINGS)
@pytest.mark.parametrize(("kind", "policy"), sorted(SIMILAR_CASES))
def test_clustering_peak_is_below_estimate(kind, policy, algorithm):
    options, frame, run = POLICIES[policy], frame_with_weights(kind), CLUSTERINGS[algorithm]
    compile_kernels(policy, algorithm)
    check_clustering(run, build_storage(frame, **options), algorithm)
    if policy == "directed":
        check_clustering(run, frame[["source", "destination"]], algorithm)


@pytest.mark.parametrize(
    ("algorithm", "method"), [("scan", "auto"), ("scan", "gpuscan"), ("scan_index", "auto")]
)
def test_clustering_peak_is_below_estimate_if_all_edges_are_similar(algorithm, method):
    """One case has a single cluster, the other borders with ten clusters each."""
    random = np.random.default_rng(3)
    one = {name: random.integers(0, ROWS // 10, ROWS) for name in ("source", "destination")}
    borders = {"source": random.permutation(ROWS) // 10,
               "destination": ROWS // 10 + random.integers(0, ROWS // 1000, ROWS)}  # fmt: skip
    for columns, mu, rows in ((one, 2, ROWS // 10), (borders, 100, 0.99 * ROWS)):
        frame = pandas.DataFrame(columns)
        parameters = {"epsilon": 1e-6, "mu": mu, "memberships": True}

        def run(edges):
            if algorithm == "scan":
                return rg.scan(edges, **parameters, method=method)  # noqa: B023
            return rg.ScanIndex(edges).query(**parameters)  # noqa: B023

        run(frame.head(100))
        for edges in (build_storage(frame), frame):
            assert len(check_clustering(run, edges, algorithm)) >= rows


@pytest.mark.parametrize("algorithm", CLUSTERINGS)
def test_clustering_peak_of_star_is_below_estimate(algorithm):
    """Memory grows with the leaves, not with pairs of leaves."""
    leaves = np.arange(ROWS)
    star = pandas.DataFrame({"source": np.full(ROWS, ROWS), "destination": leaves})
    run = CLUSTERINGS[algorithm]
    run(star.head(100))
    for edges in (build_storage(star), build_storage(star, directed=False), star):
        check_clustering(run, edges, algorithm)


@pytest.mark.parametrize("algorithm", CLUSTERINGS)
def test_clustering_beyond_free_memory_is_rejected(make_arrays, monkeypatch, algorithm):
    graph = build_storage(make_arrays(columns_of(random_edges(52))))
    needed = rg.estimate_memory(graph, algorithm, memberships=True).needed
    monkeypatch.setattr(run_memory, "MIN_CHECKED_SIZE", 0)
    monkeypatch.setattr(validation, "MIN_CHECKED_BYTES", 0)
    monkeypatch.setattr(device, "free_memory", lambda xp: needed - 1)
    with pytest.raises(rg.InsufficientMemoryError) as caught:
        CLUSTERINGS[algorithm](graph)
    assert (caught.value.needed, caught.value.free) == (needed, needed - 1)
    monkeypatch.setattr(device, "free_memory", lambda xp: needed)
    assert CLUSTERINGS[algorithm](graph) is not None


# Estimates


def test_estimates_of_frames_and_graphs(make_held_frame):
    frame = make_held_frame(columns_of(random_edges(50, 60, 1000)))
    of_frame = rg.estimate_memory(frame, "pagerank")
    graph = build_storage(frame)
    of_graph = rg.estimate_memory(graph, "pagerank")
    assert of_frame.needed > of_graph.needed > 0
    assert of_frame.needed >= build_bytes(1000, 0, xp=graph.xp)
    # What never leaves memory: a few values a vertex. Integers below 60 name 60 vertices at most.
    assert 16 * 60 <= of_graph.streamed < of_graph.needed
    assert of_frame.streamed == of_graph.streamed
    unweighted = rg.estimate_memory(frame, "pagerank", weight=None)
    undirected = rg.estimate_memory(frame, "pagerank", directed=False)
    assert unweighted.needed < of_frame.needed < undirected.needed


@pytest.mark.parametrize("directed", [True, False])
def test_layered_lists_have_no_estimates_of_runs_that_they_refuse(directed):
    edges = {"source": [0, 1, 2], "destination": [1, 2, 0]}
    layered = rg.LayeredEdgeList.build(rg.Graph(edges, directed=directed), 0)
    refused = ["scan", "scan_index"]
    for algorithm in refused:
        with pytest.raises(rg.GraphError, match=f"{algorithm} does not support layered edge lists"):
            rg.estimate_memory(layered, algorithm)
    if not directed:  # all components are strong
        strong = rg.estimate_memory(layered, "strong_components")
        assert strong >= rg.estimate_memory(layered, "connected_components")


def test_unbounded_names_count_as_two_vertices_per_row(make_held_frame):
    for names in ([10**9, 5, 10**6], ["a", "b", "c"]):
        frame = make_held_frame({"source": names, "destination": names})
        of_graph = rg.estimate_memory(build_storage(frame), "pagerank")
        assert rg.estimate_memory(frame, "pagerank").streamed == 2 * of_graph.streamed


def test_estimates_of_parquet_files_read_metadata_only(tmp_path, monkeypatch):
    path = tmp_path / "edges.parquet"
    columns = {"source": np.arange(10_000) % 700, "destination": np.arange(10_000) % 500}
    pandas.DataFrame(columns).to_parquet(path)
    monkeypatch.setattr("rapidsgraph.io.columnar_files.Parquet.read", None)
    of_file = rg.estimate_memory(path, "pagerank")
    assert of_file == rg.estimate_memory(str(path), "pagerank")
    graph = rg.estimate_memory(build_storage(pandas.DataFrame(columns)), "pagerank")
    assert of_file.streamed == graph.streamed  # ids are below 700, says the file
    assert of_file.needed >= graph.needed
    other = tmp_path / "other.parquet"
    pandas.DataFrame(columns).set_axis(["a", "b"], axis=1).to_parquet(other)
    assert rg.estimate_memory(other, "pagerank", source="a", destination="b") == of_file


def test_unknown_algorithm_and_missing_file(tmp_path):
    with pytest.raises(rg.GraphError, match="no estimate for algorithm 'dfs'; there is one for"):
        rg.estimate_memory({"source": [0], "destination": [1]}, "dfs")
    with pytest.raises(rg.GraphError, match=r"nothing\.parquet"):
        rg.estimate_memory(tmp_path / "nothing.parquet", "pagerank")


# Rejection


@pytest.mark.parametrize("algorithm", ["sssp", "bfs"])
@pytest.mark.parametrize("is_file", [False, True])
def test_estimates_with_a_missing_column_of_weights(tmp_path, algorithm, is_file):
    edges = pandas.DataFrame({"source": [0], "destination": [1], "km": [2.0]})
    edges.to_csv(tmp_path / "e.csv", index=False)
    path = tmp_path / "e.csv" if is_file else edges
    with pytest.raises(rg.MissingColumnError, match="no column 'nope'") as caught:
        rg.estimate_memory(path, algorithm, weight="nope")
    assert (caught.value.column, caught.value.parameter) == ("nope", "weight")
    rg.estimate_memory(path, algorithm, weight="km")
    rg.estimate_memory(path, algorithm)


def test_build_beyond_free_memory_is_rejected(make_arrays, monkeypatch):
    frame = make_arrays({"source": np.arange(100_000), "destination": np.arange(100_000)})
    xp = np if not make_arrays.on_gpu else device.import_cupy()
    ids = [xp.arange(100_000)]
    needed = build_bytes(100_000, 0, columns=name_column_stats(ids, ids), xp=xp)
    monkeypatch.setattr(validation, "MIN_CHECKED_BYTES", 0)
    monkeypatch.setattr(device, "free_memory", lambda xp: needed - 1)
    monkeypatch.setattr("rapidsgraph.graph.build.name_vertices", None)  # is not reached
    where = "on the GPU" if make_arrays.on_gpu else "in memory"
    message = (
        "building a graph of 100,000 rows needs about [0-9.]+ MB but only [0-9.]+ MB are free "
        f"{where}"
    )
    with pytest.raises(rg.InsufficientMemoryError, match=message) as caught:
        build_storage(frame)
    assert (caught.value.needed, caught.value.free) == (needed, needed - 1)
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, rg.GraphError)


@pytest.mark.parametrize("num_columns", [1, 2])
@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 0.5])
def test_a_build_fits_in_its_estimate(num_columns, share, monkeypatch):
    """Distinct names are merged chunk by chunk, and each merge is checked."""
    for module in (frames, factorize):
        monkeypatch.setattr(module, "CHUNK_ROWS", 2**12)
    rows, random = 200_000, np.random.default_rng(1)
    names = random.integers(0, 2**62, int(2 * rows * share))
    frame = {}
    for end in ("source", "destination"):
        ids = random.integers(0, names.size, rows)
        columns = [names[ids]] if num_columns == 1 else [ids % 601, names[ids]]
        frame |= {f"{end}_{number}": values for number, values in enumerate(columns)}
    ends = [[name for name in frame if name.startswith(end)] for end in ("source", "destination")]
    estimate = rg.estimate_memory(
        frame, "connected_components", source=ends[0], destination=ends[1],
        num_vertices=rg.Graph(frame, *ends).num_vertices,
    ).needed  # fmt: skip
    monkeypatch.setattr(validation, "MIN_CHECKED_BYTES", 0)
    monkeypatch.setattr("rapidsgraph.graph.build.MIN_CHECKED_SIZE", 0)
    checks = []
    monkeypatch.setattr(device, "free_memory", lambda xp: checks.append(1) or estimate)
    rg.Graph(frame, *ends)
    assert len(checks) > 5


def test_run_beyond_free_memory_is_rejected(make_arrays, monkeypatch):
    graph = build_storage(make_arrays(columns_of(random_edges(51))))
    needed = rg.estimate_memory(graph, "pagerank").needed
    monkeypatch.setattr(run_memory, "MIN_CHECKED_SIZE", 0)
    monkeypatch.setattr(validation, "MIN_CHECKED_BYTES", 0)
    monkeypatch.setattr(device, "free_memory", lambda xp: needed - 1)
    with pytest.raises(
        rg.InsufficientMemoryError, match=r"PageRank of 60 vertices and .* arcs needs"
    ) as it:
        rg.pagerank(graph)
    assert (it.value.needed, it.value.free) == (needed, needed - 1)
    monkeypatch.setattr(device, "free_memory", lambda xp: needed)
    assert rg.pagerank(graph) is not None


def test_free_memory_is_read_for_large_graphs_only(monkeypatch):
    reads = []
    monkeypatch.setattr(device, "free_memory", lambda xp: reads.append(xp) or 2**40)
    sizes = MIN_CHECKED_SIZE // 2, run_memory.MIN_CHECKED_SIZE // 2
    for size, num_reads in ((sizes[0] - 1, 0), (sizes[0], 1), (sizes[1] - 1, 1), (sizes[1], 2)):
        reads.clear()
        names = np.arange(size)
        rg.pagerank({"source": names, "destination": names})
        assert len(reads) == num_reads  # before the build, and before the run


@pytest.mark.parametrize("algorithm", run_memory.ALGORITHM_BYTES)
@pytest.mark.parametrize(
    ("num_vertices", "num_arcs"), [(1, 0), (9, 10**7), (10**7, 9), (10**6, 10**7)]
)
def test_simple_bound_exceeds_every_estimate(algorithm, num_vertices, num_arcs):
    bound = run_memory.MAX_BASE_BYTES + run_memory.MAX_BYTES_PER_ITEM * (num_vertices + num_arcs)
    for kind, *flags in itertools.product(("ids", "hash"), *[(False, True)] * 5):
        weighted, directed, needs_transpose, is_simple, memberships = flags
        columns = [NameColumnStats(kind, num_vertices)]
        stats = run_memory.GraphStats(
            num_vertices, num_arcs, 8 * weighted, directed, columns, needs_transpose, is_simple
        )
        assert run_memory.run_bytes(algorithm, stats, memberships) <= bound


def test_an_algorithm_without_a_finer_bound_takes_that_of_the_table(monkeypatch):
    per = run_memory.AlgorithmBytes(100, 10, 20)
    monkeypatch.setitem(run_memory.ALGORITHM_BYTES, "degree", per)
    columns = [NameColumnStats("ids", 10**6)]
    for weight_bytes, per_arc in ((0, 10), (8, 20)):
        stats = run_memory.GraphStats(10**7, 10**7, weight_bytes, True, columns, False, True)
        needed = run_memory.run_bytes("degree", stats)
        arrays = 10**7 * (100 + per_arc)
        assert arrays <= needed < 1.3 * arrays


@pytest.mark.parametrize("num_rows", [0, 1, 1000, 10**6, 10**9])
@pytest.mark.parametrize("num_columns", [1, 2, 3])
def test_simple_bound_exceeds_every_build_by_integers(num_rows, num_columns):
    bound = MAX_BASE_BYTES + MAX_BYTES_PER_NAME * num_rows * 2 * num_columns
    for count in {1, num_rows // 2, 2 * num_rows}:
        for kind, policy, *flags in itertools.product(
            ("ids", "table", "hash"), ("first", "sum"), *[(False, True)] * 3
        ):
            weighted, directed, drops = flags
            column = NameColumnStats(kind, 2 * num_rows, 2 * num_rows + 1024, 16 * num_rows)
            options = {"weighted": weighted, "directed": directed, "multi_edges": policy}
            needed = build_bytes(
                num_rows, count, columns=[column] * num_columns,
                self_loops="drop" if drops else "keep", **options,
            )  # fmt: skip
            assert needed <= bound


def test_error_message_has_needed_and_free_memory():
    error = rg.InsufficientMemoryError("this", 12_340_000_000, 5_600_000_000, "in memory")
    text = "this needs about 12.34 GB but only 5.60 GB are free in memory; use a machine or device"
    assert str(error).startswith(text)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.needed, copy.free) == (str(error), error.needed, error.free)


def test_algorithms_of_the_undirected_simple_graph_are_listed():
    """Estimates count its arcs; a name that is missing there would count those of the graph."""
    folder = Path(run_memory.__file__).parent
    names = set()
    for path in folder.glob("*.py"):
        for function in ast.parse(path.read_text()).body:
            code = ast.unparse(function)
            if "undirected_graph(" in code:
                names |= set(re.findall(r"check_run_memory\(graph, '(\w+)'", code))
    assert names == run_memory.UNDIRECTED_ALGORITHMS


def test_text_names_are_measured_once(monkeypatch):
    edges = pandas.DataFrame({"source": ["a", "b"], "destination": ["b", "cc"]}, dtype="str")
    graph = build_storage(edges)
    expected = rg.connected_components(graph)
    assert graph.names.text_sizes == [(4, 2)]
    monkeypatch.setattr(frames, "text_sizes", None)
    pandas.testing.assert_frame_equal(rg.connected_components(graph), expected)
