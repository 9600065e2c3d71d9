"""PageRank against closed forms, slow loops and NetworkX, by every method."""

import itertools
import pickle
from types import SimpleNamespace

import naive
import networkx
import numpy as np
import pytest
from conftest import (
    FrameMaker,
    assert_close,
    build_storage,
    columns_of,
    random_edges,
    ranks_of,
    to_pandas,
)

import rapidsgraph as rg
from rapidsgraph.algorithms import pagerank
from rapidsgraph.algorithms.pagerank import PRECISIONS, PageRankProblem
from rapidsgraph.algorithms.pagerank_layout import MAX_DIRECT_LENGTH
from rapidsgraph.algorithms.parameters import PageRankParameters
from rapidsgraph.kernels.constants import PAGERANK_MAX_SHARED_VERTICES

METHODS = ("auto", "edge", "node", "contribution", "warp")
EXACT = {"tolerance": 1e-14, "max_iterations": 300}
D = 0.85


@pytest.fixture(scope="module", autouse=True)
def small_graphs_have_layouts():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pagerank, "PAGERANK_MAX_SHARED_VERTICES", 0)
        yield


@pytest.fixture
def in_block(monkeypatch):
    """One block of a GPU iterates over small graphs."""
    monkeypatch.setattr(pagerank, "PAGERANK_MAX_SHARED_VERTICES", PAGERANK_MAX_SHARED_VERTICES)


by_method = pytest.mark.parametrize("method", METHODS)
by_method_or_frames = pytest.mark.parametrize("method", [*METHODS, "frames"])


def in_networkx(edges, directed, **options):
    kind = networkx.MultiDiGraph if directed else networkx.MultiGraph
    graph = kind()
    graph.add_weighted_edges_from(edges)
    return networkx.pagerank(graph, alpha=D, max_iter=2000, tol=1e-15, **options)


# Closed forms: (edges, options of Graph, options of pagerank, ranks)


def cycle(n):
    return [(i, (i + 1) % n, 1) for i in range(n)]


def clique(n):
    return [(i, j, 1) for i in range(n) for j in range(n) if i != j]


def path(n):
    return [(i, i + 1, 1) for i in range(n - 1)]


def star_in(leaves):
    """Leaves x = (1 - d + d y) / n and hub y = x + d k x sum to 1."""
    leaf = 1 / (leaves + 1 + D * leaves)
    return [leaf * (1 + D * leaves)] + [leaf] * leaves


def star_out(leaves):
    """Hub h = (1 - d) / n + d (1 - h) / n."""
    hub = 1 / (leaves + 1 + D)
    return [hub] + [hub * (1 + D / leaves)] * leaves


def along_path(n, base):
    """Each rank is base + d times the one before."""
    return [base * (1 - D ** (i + 1)) / (1 - D) for i in range(n)]


PATH = [1 - D ** (i + 1) for i in range(9)]
MIDDLE = ((1 - D) / 3 + 2 * D * (1 - D) / 3) / (1 - D**2)  # of 0 - 1 - 2
CLOSED_FORMS = {
    "cycle": (cycle(7), {}, {}, [1 / 7] * 7),
    "complete graph": (clique(6), {}, {}, [1 / 6] * 6),
    "star into a sink": ([(i, 0, 1) for i in range(1, 6)], {}, {}, star_in(5)),
    "star out to sinks": ([(0, i, 1) for i in range(1, 41)], {}, {}, star_out(40)),
    "path": (path(9), {}, {}, [rank / sum(PATH) for rank in PATH]),
    "path, drop": (path(9), {}, {"dangling": "drop"}, along_path(9, (1 - D) / 9)),
    "path without direction": (
        path(3),
        {"directed": False},
        {},
        [(1 - MIDDLE) / 2, MIDDLE, (1 - MIDDLE) / 2],
    ),
    "two vertices": (path(2), {}, {}, [1 / (2 + D), (1 + D) / (2 + D)]),
    "two vertices, weighted": ([(0, 1, 3.5), (1, 0, 0.5)], {"weight": "weight"}, {}, [0.5, 0.5]),
    "self-loop": ([(0, 0, 1)], {}, {}, [1]),
    "self-loop dropped": ([(0, 0, 1)], {"self_loops": "drop"}, {}, [1]),
    "one vertex without edges": ([], {"vertices": 1}, {}, [1]),
    "one vertex, drop": ([], {"vertices": 1}, {"dangling": "drop"}, [1 - D]),
    "isolates": (
        cycle(3),
        {"vertices": range(5)},
        {},
        [1 / (5 - 2 * D)] * 3 + [(1 - D) / (5 - 2 * D)] * 2,
    ),
    "sink sent back": (path(2), {}, {"dangling": {0: 3}}, [0.5, 0.5]),
    "sink, personalized": (
        path(2),
        {},
        {"personalization": {0: 1}},
        [1 / (1 + D), D / (1 + D)],
    ),
    "sink and isolate, personalized": (  # the personalization receives all rank that dangles
        path(3),
        {"vertices": 4},
        {"personalization": {0: 2}},
        [1 / (1 + D + D**2), D / (1 + D + D**2), D**2 / (1 + D + D**2), 0],
    ),
    "sink, personalized, uniform": (
        path(2),
        {},
        {"personalization": {0: 1}, "dangling": "uniform"},
        [(1 - D / 2) / (1 + D / 2), D / (1 + D / 2)],
    ),
    "restart at one": (cycle(2), {}, {"personalization": {0: 2}}, [1 / (1 + D), D / (1 + D)]),
    "no damping": (path(3), {}, {"damping": 0, "personalization": {1: 1, 2: 3}}, [0, 0.25, 0.75]),
    "full damping": ([*path(2), (1, 1, 1)], {}, {"damping": 1}, [0, 1]),
}


FRAME_FORMS = [  # by joins
    "cycle", "path, drop", "two vertices, weighted", "self-loop dropped",
    "one vertex, drop", "isolates", "sink sent back",
    "no damping", "full damping",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "method"),
    [*itertools.product(CLOSED_FORMS, METHODS), *((name, "frames") for name in FRAME_FORMS)],
)
def test_closed_forms(make_arrays, name, method):
    edges, graph_options, options, ranks = CLOSED_FORMS[name]
    graph = rg.Graph(make_arrays(columns_of(edges)), **graph_options)
    result = rg.pagerank(graph, method=method, **options, **EXACT)
    assert_close(ranks_of(result), dict(enumerate(ranks)), 1e-13)


@pytest.mark.parametrize("name", ["star into a sink", "path, drop"])
def test_closed_forms_from_every_library(make_frame, name):
    edges, _, options, ranks = CLOSED_FORMS[name]
    result = rg.pagerank(make_frame(columns_of(edges)), **options, **EXACT)
    assert_close(ranks_of(result), dict(enumerate(ranks)), 1e-13)


@by_method_or_frames
def test_example_of_kims_figure_1(make_arrays, method):
    """Ten nodes; 0 has neighbors of degrees 1, 2, 3 and 3, so one iteration gives it 0.199."""
    pairs = [(0, 1), (0, 2), (0, 4), (0, 5), (2, 3), (4, 6), (4, 7), (5, 8), (5, 9)]
    frame = make_arrays(columns_of([(a, b, 1) for a, b in pairs]))
    graph = rg.Graph(frame, directed=False)
    ranks = ranks_of(rg.pagerank(graph, method=method, tolerance=0, max_iterations=1))
    expected = 0.85 * (0.1 / 1 + 0.1 / 2 + 0.1 / 3 + 0.1 / 3) + 0.15 / 10
    assert ranks[0] == pytest.approx(expected, abs=1e-15)
    assert round(ranks[0], 3) == 0.199


# Against slow loops and NetworkX


@by_method
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
def test_agrees_with_naive_and_networkx(make_arrays, method, precision, directed, weighted):
    edges = random_edges(1, weighted=weighted)
    graph = rg.Graph(
        make_arrays(columns_of(edges)),
        weight="weight" if weighted else None,
        directed=directed,
        multi_edges="keep",
    )
    # Single precision need not get to a standstill, so it runs a fixed number of iterations.
    options = EXACT if precision == "double" else {"tolerance": 0, "max_iterations": 100}
    ranks = ranks_of(rg.pagerank(graph, method=method, precision=precision, **options))
    within = {"double": 1e-12, "single": 1e-6}[precision]
    assert_close(ranks, naive.pagerank(edges, directed=directed), within)
    assert_close(ranks, in_networkx(edges, directed), max(within, 1e-10))
    assert sum(ranks.values()) == pytest.approx(1, abs=within)


@by_method
@pytest.mark.parametrize("multi_edges", ["keep", "first", "sum", "min", "max"])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_policies_agree_with_naive(make_arrays, method, multi_edges, self_loops, directed):
    edges = random_edges(2, vertices=20, rows=150)
    edges += [(3, 19, 1.0), (19, 3, 2.0), (4, 4, 3.0), (4, 4, 1.0)]
    policies = {"multi_edges": multi_edges, "self_loops": self_loops, "directed": directed}
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", **policies)
    left = naive.merged(edges, **policies)
    assert graph.num_edges == len(left)
    ranks = ranks_of(rg.pagerank(graph, method=method, **EXACT))
    assert_close(ranks, naive.pagerank(left, range(20), directed=directed), 1e-12)


RESTARTS = {3: 1.0, 7: 2.5, 55: 0.25, 0: 0.0}
SINKS = {1: 1.0, 58: 4.0}


by_dangling = pytest.mark.parametrize(
    "dangling", [None, "uniform", "drop", SINKS], ids=["default", "uniform", "drop", "given"]
)


@by_method
@by_dangling
@pytest.mark.parametrize("personalization", [None, RESTARTS], ids=["even", "personalized"])
def test_options_agree_with_naive_and_networkx(make_arrays, method, dangling, personalization):
    edges = random_edges(3)
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", multi_edges="keep")
    options = {"personalization": personalization, "dangling": dangling}
    ranks = ranks_of(rg.pagerank(graph, method=method, **options, **EXACT))
    assert_close(ranks, naive.pagerank(edges, **options), 1e-12)
    if dangling == "drop":
        assert 0.1 < sum(ranks.values()) < 0.9
        return
    assert sum(ranks.values()) == pytest.approx(1, abs=1e-13)
    options["dangling"] = dict.fromkeys(range(60), 1) if dangling == "uniform" else dangling
    assert_close(ranks, in_networkx(edges, True, **options), 1e-10)


def test_sum_without_weights_counts_rows(make_arrays):
    edges = random_edges(4, weighted=False)
    graph = rg.Graph(make_arrays(columns_of(edges)), multi_edges="sum")
    assert_close(ranks_of(rg.pagerank(graph, **EXACT)), in_networkx(edges, True), 1e-10)


@pytest.mark.parametrize("weight_type", ["int8", "uint8", "int32", "uint32", "int64", "float32"])
def test_weights_of_any_type_of_number(make_arrays, weight_type):
    edges = [(a, b, int(weight * 25)) for a, b, weight in random_edges(5)]
    columns = columns_of(edges)
    columns["weight"] = columns["weight"].astype(weight_type)
    graph = rg.Graph(make_arrays(columns), weight="weight", multi_edges="sum")
    expected = naive.pagerank(naive.merged(edges, "sum"), range(60))
    assert_close(ranks_of(rg.pagerank(graph, **EXACT)), expected, 1e-12)


@by_method_or_frames
@pytest.mark.parametrize("iterations", [1, 2, 7])
@pytest.mark.parametrize("dangling", ["uniform", "drop"])
def test_without_tolerance_so_many_iterations(make_arrays, method, iterations, dangling):
    edges = random_edges(6)
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", multi_edges="keep")
    options = {"tolerance": 0, "max_iterations": iterations, "dangling": dangling}
    ranks = ranks_of(rg.pagerank(graph, method=method, **options))
    expected = naive.pagerank(edges, iterations=iterations, dangling=dangling)
    assert_close(ranks, expected, 1e-15)


@pytest.mark.sanitizer
@pytest.mark.parametrize("options", [{}, {"dangling": "drop"}, {"personalization": RESTARTS}])
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
def test_few_iterations_read_the_adjacency(make_arrays, precision, directed, weighted, options):
    """The first call reads it; a second one makes a layout."""
    edges = random_edges(9, weighted=weighted)
    graph = build_storage(
        make_arrays(columns_of(edges)), weight="weight" if weighted else None, directed=directed,
        multi_edges="keep", vertices=70,
    )  # fmt: skip
    layouts = []
    for iterations in (3, 1, 2):
        ranks = rg.pagerank(
            graph, tolerance=0, max_iterations=iterations, precision=precision, **options
        )
        expected = naive.pagerank(
            edges, range(70), iterations=iterations, directed=directed, **options
        )
        assert_close(ranks_of(ranks), expected, 1e-15 if precision == "double" else 1e-7)
        layouts.append(any(key.startswith("PageRank") for key in graph._cache))
    assert layouts == [False, True, True]


@pytest.mark.gpu
@pytest.mark.parametrize("length", [MAX_DIRECT_LENGTH, MAX_DIRECT_LENGTH + 1])
def test_limit_of_rows_that_are_read_directly(length):
    """On a GPU, one warp sums a row of the adjacency."""
    import cupy

    source = cupy.arange(1, length + 1)
    graph = build_storage({"source": source, "destination": cupy.zeros_like(source)})
    ranks = rg.pagerank(graph, tolerance=0, max_iterations=1, dangling="drop")
    expected = 0.15 / (length + 1) * np.ones(length + 1)
    expected[0] += 0.85 * length / (length + 1)
    assert_close(ranks_of(ranks), dict(enumerate(expected)), 1e-15)
    has_layout = any(key.startswith("PageRank") for key in graph._cache)
    assert has_layout is (length > MAX_DIRECT_LENGTH)


BLOCK_SHAPES = {  # vertices, edges
    "one vertex": (1, 0),
    "vertices alone": (1500, 0),
    "few edges": (30, 40),
    "more vertices than threads": (1100, 5000),
    "most vertices": (PAGERANK_MAX_SHARED_VERTICES, 30_000),
}


@pytest.mark.sanitizer
@pytest.mark.parametrize("shape", BLOCK_SHAPES)
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("dangling", [None, "drop"])
def test_one_block_iterates_as_all_do(make_arrays, monkeypatch, shape, precision, dangling):
    """Also over very long lists, and with dangling vertices."""
    num_vertices, num_edges = BLOCK_SHAPES[shape]
    random = np.random.default_rng(num_vertices)
    source = random.integers(0, 2 * num_vertices // 3 + 1, num_edges)
    destination = (num_vertices * random.random(num_edges) ** 6).astype(np.int64)
    graph = build_storage(
        make_arrays({"source": source, "destination": destination}), multi_edges="keep",
        vertices=range(num_vertices),
    )  # fmt: skip
    within, within_residual = (1e-13, 1e-9) if precision == "double" else (1e-6, 1e-3)
    for tolerance, max_iterations in ((0, 1), (0, 7), (1e-5, 100)):
        parameters = PageRankParameters(
            damping=D, tolerance=tolerance, max_iterations=max_iterations, dangling=dangling,
            value_type=PRECISIONS[precision],
        )  # fmt: skip
        monkeypatch.setattr(pagerank, "_fits_in_block", lambda _: True)
        found, iterations, residual = pagerank.pagerank(graph, parameters)
        monkeypatch.setattr(pagerank, "_fits_in_block", lambda _: False)
        expected, *expected_counts = pagerank.pagerank(graph, parameters)
        counts = pytest.approx(expected_counts, rel=within_residual, abs=10 * within)
        assert [iterations, residual] == counts
        assert_close(ranks_of(found), ranks_of(expected), within)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms_of_small_graphs(in_block, name):
    edges, graph_options, options, ranks = CLOSED_FORMS[name]
    graph = rg.Graph(FrameMaker("cupy")(columns_of(edges)), **graph_options)
    result = rg.pagerank(graph, **options, **EXACT)
    assert_close(ranks_of(result), dict(enumerate(ranks)), 1e-13)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("options", "is_in_block"),
    [({}, True), ({"max_iterations": 10**6, "tolerance": 0.1}, False), ({"start": {0: 1}}, False)],
)
def test_small_graphs_have_no_layout(in_block, options, is_in_block):
    import cupy

    source = cupy.arange(500)
    graph = build_storage({"source": source, "destination": source[::-1]}, vertices=600)
    rg.pagerank(graph, **options)
    assert any(key.startswith("PageRank") for key in graph._cache) is not is_in_block


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"num_vertices": PAGERANK_MAX_SHARED_VERTICES}, True),
        ({"num_vertices": PAGERANK_MAX_SHARED_VERTICES + 1}, False),
        ({"num_arcs": 40_000}, False),
        ({"weighted": True}, False),
        ({"uniform_terms": None}, False),
        ({"max_iterations": 10_001}, False),
    ],
    ids=str,
)
def test_what_one_block_keeps_in_shared_memory(monkeypatch, in_block, changes, expected):
    """On a GPU that has 100,000 bytes for a block."""
    monkeypatch.setattr(pagerank, "fits_in_block", lambda _: True)
    monkeypatch.setattr(pagerank.device, "max_shared_bytes", lambda: 100_000)
    values = {"num_vertices": 1000, "num_arcs": 20_000, "weighted": False, "csc": None}
    values |= {"uniform_terms": (0.1, 0.1, 0.1), "max_iterations": 100, "batch_size": 10_000}
    problem = SimpleNamespace(**values | changes)
    problem.graph = problem
    assert pagerank._fits_in_block(problem) is expected


@by_method_or_frames
def test_start_at_a_vertex_from_which_sinks_are_far(make_arrays, method):
    """No sink holds anything at first, and what arrives there later must not get lost."""
    edges = path(4)
    options = {"tolerance": 0, "max_iterations": 6, "start": {0: 5.0}}
    ranks = ranks_of(rg.pagerank(make_arrays(columns_of(edges)), method=method, **options))
    assert_close(ranks, naive.pagerank(edges, iterations=6, start={0: 1.0}), 1e-15)


@by_method
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_looking_at_the_state_more_often_changes_nothing(make_arrays, monkeypatch, method, batch):
    monkeypatch.setattr(PageRankProblem, "batch_size", property(lambda run: batch))
    edges, seen = random_edges(7), []
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", multi_edges="keep")

    def progress(done, total, text):
        seen.append((done, total))

    options = {"tolerance": 0, "max_iterations": 7, "method": method, "progress": progress}
    assert_close(
        ranks_of(rg.pagerank(graph, **options)), naive.pagerank(edges, iterations=7), 1e-15
    )
    assert seen == [(done, 7) for done in (*range(batch, 7, batch), 7)]


@by_method_or_frames
def test_stops_after_the_iteration_that_changes_less_than_the_tolerance(make_arrays, method):
    edges, done = random_edges(8, weighted=False), []
    runs = [naive.pagerank(edges, range(70), iterations=i) for i in range(40)]
    changes = [sum(abs(new[v] - old[v]) for v in new) for old, new in itertools.pairwise(runs)]
    stop = 1 + next(i for i, change in enumerate(changes) if change < 1e-4)
    graph = rg.Graph(make_arrays(columns_of(edges)), multi_edges="keep", vertices=70)
    result = rg.pagerank(
        graph, tolerance=1e-4, method=method, progress=lambda *call: done.append(call[0])
    )
    assert done[-1] == stop
    assert_close(ranks_of(result), runs[stop], 1e-15)
    with pytest.raises(rg.ConvergenceError) as caught:
        rg.pagerank(graph, tolerance=1e-4, max_iterations=stop - 1, method=method)
    assert caught.value.iterations == stop - 1
    assert caught.value.residual == pytest.approx(changes[stop - 2], rel=1e-9)
    assert_close(ranks_of(caught.value.result), runs[stop - 1], 1e-15)


def test_not_converged_says_how_far_it_got_and_can_be_pickled():
    frame = FrameMaker("arrays")(columns_of(path(5)))
    with pytest.raises(rg.GraphError, match="after 3 iterations .* tolerance 1e-12; raise") as it:
        rg.pagerank(frame, tolerance=1e-12, max_iterations=3)
    copy = pickle.loads(pickle.dumps(it.value))
    assert type(copy) is rg.ConvergenceError
    assert (copy.iterations, copy.residual, str(copy)) == (3, it.value.residual, str(it.value))
    assert ranks_of(copy.result) == ranks_of(it.value.result)


@by_method
def test_continues_from_its_own_result(make_frame, method):
    if make_frame.is_dask and method != "auto":
        with pytest.raises(
            rg.GraphError,
            match=rf"method '{method}' is not supported for distributed graphs; use 'auto'",
        ):
            rg.pagerank(make_frame(columns_of(random_edges(9))), method=method)
        return
    frame = make_frame(columns_of(random_edges(9)))
    first = rg.pagerank(frame, method=method, tolerance=1e-13, max_iterations=500)
    again = rg.pagerank(frame, method=method, tolerance=1e-12, max_iterations=1, start=first)
    assert_close(ranks_of(again), ranks_of(first), 1e-13)


def test_start_of_any_sum(make_arrays):
    edges, start = random_edges(10), {0: 2.0, 59: 6.0}
    frame = make_arrays(columns_of(edges))
    ranks = ranks_of(rg.pagerank(frame, start=start, tolerance=0, max_iterations=2))
    left = naive.merged(edges, "sum")
    assert_close(ranks, naive.pagerank(left, iterations=2, start=start), 1e-15)


# Results and parameters


def test_the_result_is_of_the_callers_library(make_frame):
    frame = make_frame({"source": [2, 0], "destination": [1, 2]})
    result = rg.pagerank(frame)
    assert type(result) is type(frame)
    assert list(to_pandas(result).columns) == ["vertex", "pagerank"]
    if make_frame.kind in ("arrays", "cupy"):
        assert {type(values) for values in result.values()} == {type(frame["source"])}


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"])
def test_dtypes_out(make_frame, dtype):
    frame = make_frame({name: np.array([3, 1, 2], dtype) for name in ("source", "destination")})
    for precision, wanted in (("double", "float64"), ("single", "float32")):
        result = to_pandas(rg.pagerank(frame, precision=precision))
        assert result.dtypes.astype(str).to_dict() == {"vertex": dtype, "pagerank": wanted}


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("launch", [(1, 32), (64, 128), [3, 1024], (np.int32(7), 64)])
def test_launch_changes_nothing(make_arrays, method, launch):
    frame = make_arrays(columns_of(random_edges(11)))
    ranks = ranks_of(rg.pagerank(frame, method=method, launch=launch, **EXACT))
    assert_close(ranks, ranks_of(rg.pagerank(frame, method=method, **EXACT)), 1e-14)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": 1.5}, r"damping is 1.5; it must be a number from 0 to 1"),
        ({"damping": -0.1}, r"damping is -0.1"),
        ({"damping": "high"}, r"damping is 'high'"),
        ({"damping": float("nan")}, r"damping is nan"),
        ({"tolerance": -1e-6}, r"tolerance is -1e-06"),
        ({"tolerance": None}, r"tolerance is None"),
        ({"max_iterations": 0}, r"max_iterations is 0; it must be an integer above 0"),
        ({"max_iterations": 2.5}, r"max_iterations is 2.5; it must be an integer above 0"),
        ({"max_iterations": True}, r"max_iterations is True"),
        ({"method": "fast"}, r"method is 'fast'; it can be 'auto', 'frames', 'edge', 'node'"),
        ({"method": None}, r"method is None"),
        ({"precision": "half"}, r"precision is 'half'; it can be 'double', 'single'"),
        (
            {"dangling": "self"},
            r"dangling is 'self'; it can be None \(.*\), 'uniform', 'drop', or a frame, S",
        ),
        ({"dangling": 3}, r"dangling is of type int; give a pandas or cuDF Series"),
        ({"launch": (1, 32)}, r"launch is for the methods edge, node, contribution and warp"),
        ({"method": "node", "launch": 32}, r"launch is 32; it must be \(blocks, threads\)"),
        ({"method": "node", "launch": (1, 32, 1)}, r"launch is \(1, 32, 1\)"),
        ({"method": "node", "launch": (0, 32)}, r"launch is \(0, 32\).*both positive"),
        (
            {"method": "node", "launch": (1, 2048)},
            r"1024 threads per block is the most",
        ),
        (
            {"method": "warp", "launch": (1, 48)},
            r"launch is \(1, 48\).*warp needs a multiple of 32",
        ),
    ],
)
def test_wrong_parameters(options, message):
    frame = FrameMaker("arrays")({"source": [0, 1], "destination": [1, 2]})
    with pytest.raises(rg.GraphError, match=message):
        rg.pagerank(frame, **options)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-30, 1e30, 1e200])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_the_unit_of_weights_does_not_matter(make_arrays, scale, precision):
    edges = random_edges(13)
    columns = columns_of(edges)
    columns["weight"] *= scale
    graph = rg.Graph(make_arrays(columns), weight="weight", multi_edges="keep")
    options = {"tolerance": 0, "max_iterations": 100, "precision": precision}
    within = {"double": 1e-12, "single": 1e-6}[precision]
    assert_close(ranks_of(rg.pagerank(graph, **options)), naive.pagerank(edges), within)


def test_weights_whose_sum_is_infinite(make_arrays):
    edges = [(0, 1, 1.7e308), (0, 2, 1.7e308), (1, 0, 1.0)]
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight")
    with pytest.raises(rg.GraphError, match="edges that leave vertex 0 sum to more than 1.8e308"):
        rg.pagerank(graph)
