"""The layout behind method auto: nothing gets lost in it, and nothing depends on it."""

from types import SimpleNamespace

import hypothesis.strategies as st
import naive
import numba
import numpy as np
import pytest
from conftest import FrameMaker, assert_close, build_storage, columns_of, random_edges, ranks_of
from hypothesis import given, settings

import rapidsgraph as rg
from rapidsgraph.algorithms import pagerank, pagerank_layout
from rapidsgraph.generate import rmat
from rapidsgraph.kernels.constants import PAGERANK_CHUNK

pytestmark = pytest.mark.slow

WARP, VERTICES = pagerank_layout.WARP, 7013
METHODS = ("auto", "edge", "node", "contribution", "warp")


@pytest.fixture(scope="module", autouse=True)
def small_graphs_have_layouts():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pagerank, "PAGERANK_MAX_SHARED_VERTICES", 0)
        yield


def hubs():
    """Edges whose in-lists are of every length that is treated in a way of its own.

    Several chunks and one exactly, rows of their own, wide and narrow slices, empty lists; vertices
    make no whole slice. Where an edge comes from is skewed, too.
    """
    lengths = [
        *(
            3 * PAGERANK_CHUNK + 77,
            2 * PAGERANK_CHUNK,
            PAGERANK_CHUNK + 1,
            PAGERANK_CHUNK,
        ),
        *(
            PAGERANK_CHUNK - 1,
            1000,
            pagerank_layout.WHOLE_ROW_LENGTHS[-1] + 1,
            pagerank_layout.WHOLE_ROW_LENGTHS[-1],
            255,
            31,
            32,
            33,
        ),
        *[40] * 40,
        *[7] * 100,
        *[pagerank_layout.NARROW_LENGTH + 1] * 50,
        *[pagerank_layout.NARROW_LENGTH] * 50,
        *[3] * 333,
        *[1] * 1000,
    ]
    random = np.random.default_rng(0)
    likely = 1 / np.arange(2, VERTICES + 2)
    likely /= likely.sum()
    sources = [random.choice(VERTICES, size, replace=False, p=likely) for size in lengths]
    names = random.permutation(VERTICES)[: len(lengths)]
    return np.concatenate(sources), np.repeat(names, lengths)


def roads():
    """Narrow lists alone, between near places that are named at random; a tenth has no edge."""
    random = np.random.default_rng(1)
    near = np.arange(VERTICES * 9 // 10)
    sources = np.concatenate([near, near[random.random(near.size) < 0.7]])
    destinations = np.minimum(sources + random.integers(1, 30, sources.size), near.size - 1)
    names = random.permutation(VERTICES)
    pairs = np.unique(np.stack([names[sources], names[destinations]]), axis=1)
    return pairs[0], pairs[1]


@pytest.fixture(scope="module", params=[hubs, roads], ids=["hubs", "roads"])
def edges(request):
    ends = request.param()
    weights = np.random.default_rng(2).integers(1, 9, ends[0].size)
    return list(zip(ends[0].tolist(), ends[1].tolist(), weights.tolist()))


@pytest.fixture(scope="module")
def expected(edges):
    unweighted = [(a, b, 1) for a, b, _ in edges]
    return {
        weighted: naive.pagerank(rows, range(VERTICES), iterations=15)
        for weighted, rows in ((True, edges), (False, unweighted))
    }


# Thresholds as they are, and so low that small lists take the paths of large ones.
SETTINGS = [
    {},
    {"WHOLE_ROW_LENGTHS": (3, 3, 3), "NARROW_LENGTH": 1},
    {"WHOLE_ROW_LENGTHS": (0, 0, 0), "NARROW_LENGTH": 0},
    {"WHOLE_ROW_LENGTHS": (PAGERANK_CHUNK,) * 3, "NARROW_LENGTH": 40},
]
SETTINGS += [
    {"CACHE_BYTES": 64, "MIN_CACHED_GATHERS": 0.0},
    {"MIN_CACHED_GATHERS": 0.0, "SIMILAR_COVERAGE": 2.0},
    {"MIN_GROUPED_ITERATIONS": 0, "MIN_GROUPED_BYTES": 0},
]
by_setting = pytest.mark.parametrize(
    "thresholds",
    SETTINGS,
    ids=lambda setting: " ".join(f"{name}={value}" for name, value in setting.items()) or "-",
)


@by_setting
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
def test_lists_of_all_lengths(
    make_arrays, monkeypatch, edges, expected, thresholds, precision, weighted
):
    for name, value in thresholds.items():
        monkeypatch.setattr(pagerank_layout, name, value)
    graph = build_storage(
        make_arrays(columns_of(edges)), weight="weight" if weighted else None, vertices=VERTICES
    )
    found = rg.pagerank(graph, precision=precision, tolerance=0, max_iterations=15)
    within = {"double": 1e-13, "single": 1e-6}[precision]
    assert_close(ranks_of(found), expected[weighted], within)


@pytest.mark.sanitizer
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [(), ("personalization", "start"), ("dangling",)], ids=str)
def test_values_by_vertex_find_their_rows(make_arrays, edges, method, options):
    """Also those of vertices without an edge, which no row need stand for otherwise."""
    values = np.random.default_rng(3).random(VERTICES)
    given = dict.fromkeys(options, make_arrays({"vertex": np.arange(VERTICES), "x": values}))
    options = {key: dict(enumerate(values.tolist())) for key in options}
    graph = build_storage(make_arrays(columns_of(edges)), weight="weight", vertices=VERTICES)
    found = rg.pagerank(graph, method=method, tolerance=0, max_iterations=5, **given)
    expected = naive.pagerank(edges, range(VERTICES), iterations=5, **options)
    assert_close(ranks_of(found), expected, 1e-13)


@by_setting
@pytest.mark.parametrize("grouped", [False, True])
def test_the_layout_holds_every_list_once(make_arrays, monkeypatch, edges, thresholds, grouped):
    for name, value in thresholds.items():
        monkeypatch.setattr(pagerank_layout, name, value)
    graph = build_storage(make_arrays(columns_of(edges)), weight="weight", vertices=VERTICES)
    lists = graph.csc
    rows = pagerank_layout.arrange(
        lists, lists.weights, graph.out_degrees, graph.out_weights, np.float64, grouped=grouped
    )
    on_host = {
        name: value.get() if hasattr(value, "get") else value for name, value in vars(rows).items()
    }
    order, whole = on_host["order"], rows.num_whole_rows
    index = on_host["contribution_index"] if rows.contribution_index.size else np.arange(VERTICES)
    assert np.array_equal(np.sort(order), np.arange(VERTICES))
    assert np.array_equal(np.sort(index), np.arange(VERTICES))
    vertex_at = np.empty(VERTICES + 1, int)
    vertex_at[index], vertex_at[VERTICES] = order, -1
    places = [on_host["row_offsets"][r] + np.arange(n) for r, n in enumerate(_lengths(on_host))]
    slices = on_host["slice_offsets"]
    for row in range(whole, VERTICES):
        cut, lane = divmod(row - whole, WARP)
        places.append(np.arange(slices[cut] + lane, slices[cut + 1], WARP))
    found = []
    for row, at in enumerate(places):
        sources, weights = vertex_at[on_host["neighbors"][at]], on_host["weights"][at]
        assert not weights[sources < 0].any()
        found += [
            (source, int(order[row]), weight)
            for source, weight in zip(sources.tolist(), weights.tolist())
            if source >= 0
        ]
    assert sorted(found) == sorted(edges)
    assert rows.neighbors.size == rows.weights.size == sum(map(len, places)) + _unused(on_host)


@pytest.mark.sanitizer
def test_the_grouped_layout_replaces_the_other_one(make_arrays, monkeypatch):
    """It stays for fewer iterations, and gives the same values."""
    monkeypatch.setattr(
        pagerank_layout, "should_group", lambda graph, value_type, iterations: iterations > 20
    )
    sources, destinations = roads()
    columns = {"source": sources, "destination": destinations}
    graph = build_storage(make_arrays(columns), vertices=VERTICES)
    kinds, results = [], []
    for iterations in (15, 25, 15):
        results.append(rg.pagerank(graph, tolerance=0, max_iterations=iterations))
        kinds.append([key for key in graph._cache if key.startswith("PageRank")])
    assert kinds[0] == ["PageRank layout, float64"]
    assert kinds[1] == kinds[2] == ["PageRank grouped layout, float64"]
    first, last = (dict(ranks_of(result)) for result in results[::2])
    assert_close(first, last, 1e-13)


@pytest.mark.parametrize(
    ("num_vertices", "num_arcs", "max_iterations", "on_cpu", "on_gpu"),
    [
        (2**24, 2**25, 100, True, True),
        (2**24, 2**25, 49, True, False),
        (2**22, 2**23, 100, True, False),
        (2**24, 2**28, 100, False, False),
    ],
)
def test_narrow_rows_are_grouped_where_it_pays_off(
    num_vertices, num_arcs, max_iterations, on_cpu, on_gpu
):
    """On a GPU for many iterations of a graph beyond the caches, on a CPU always."""
    for xp, expected in ((np, on_cpu), (None, on_gpu)):
        graph = SimpleNamespace(xp=xp, num_vertices=num_vertices, num_arcs=num_arcs)
        assert pagerank_layout.should_group(graph, np.float64, max_iterations) is expected


def _lengths(rows):
    return np.diff(rows["row_offsets"])


def _unused(rows):
    """Places of the last slice's lanes without a row."""
    slices = rows["slice_offsets"]
    lanes = -(VERTICES - rows["num_whole_rows"]) % WARP
    return lanes * (slices[-1] - slices[-2]) // WARP if lanes else 0


# What ranks do not depend on


def ranks(columns, maker=None, **options):
    graph = build_storage(
        (maker or FrameMaker("arrays"))(columns), weight="weight", multi_edges="keep"
    )
    return list(ranks_of(rg.pagerank(graph, **options)).values())


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_rows_does_not_matter(make_arrays, method):
    edges = [(a, b, (a * 7 + b) % 5) for a, b, _ in random_edges(20, rows=500)]
    shuffled = [edges[i] for i in np.random.default_rng(1).permutation(len(edges))]
    first, second = (ranks(columns_of(e), make_arrays, method=method) for e in (edges, shuffled))
    if make_arrays.on_gpu and method == "edge":  # atomic additions come in any order
        assert first == pytest.approx(second, abs=1e-15)
    else:
        assert first == second


@pytest.mark.parametrize("method", METHODS)
def test_new_names_in_the_same_order_change_nothing(make_arrays, method):
    edges = random_edges(21)
    columns, renamed = columns_of(edges), columns_of(edges)
    renamed["source"] = renamed["source"] * 10**9 - 5
    renamed["destination"] = renamed["destination"] * 10**9 - 5
    text = columns_of(edges)
    for end in ("source", "destination"):
        text[end] = np.array([f"v{name:03}" for name in text[end].tolist()])
    expected = ranks(columns, make_arrays, method=method)
    for other in (renamed, text):
        assert ranks(other, make_arrays, method=method) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_new_names_in_another_order(make_arrays, method):
    edges, names = random_edges(22), np.random.default_rng(2).permutation(60).tolist()
    renamed = [(names[a], names[b], weight) for a, b, weight in edges]
    options = {"method": method, "tolerance": 1e-14, "max_iterations": 300}
    expected = ranks(columns_of(edges), make_arrays, **options)
    found = ranks(columns_of(renamed), make_arrays, **options)
    assert [found[name] for name in names] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_threads_does_not_matter(edges, method):
    most = numba.config.NUMBA_NUM_THREADS
    if most < 2:
        pytest.skip("Numba has one thread here, so another number of threads was not tried")
    found = []
    for threads in (1, most):
        numba.set_num_threads(threads)
        try:
            found.append(ranks(columns_of(edges), method=method))
        finally:
            numba.set_num_threads(most)
    assert found[0] == found[1]


weights = st.one_of(st.integers(0, 3).map(float), st.floats(0.01, 100))
vertices = st.integers(-4, 9)


@pytest.mark.parametrize("kind", ["arrays", pytest.param("cupy", marks=pytest.mark.gpu)])
@settings(max_examples=80)
@given(
    edges=st.lists(st.tuples(vertices, vertices, weights), min_size=1, max_size=40),
    directed=st.booleans(),
    multi_edges=st.sampled_from(["keep", "first", "sum", "min", "max"]),
    self_loops=st.sampled_from(["keep", "drop"]),
    dangling=st.sampled_from([None, "uniform", "drop", {0: 1.0, 1: 2.0}]),
    personalization=st.sampled_from([None, {0: 0.5, 2: 1.0}]),
    method=st.sampled_from(METHODS),
    damping=st.sampled_from([0.0, 0.5, 0.85]),
)
def test_small_graphs(
    kind, edges, directed, multi_edges, self_loops, dangling, personalization, method, damping
):
    policies = {"directed": directed, "multi_edges": multi_edges, "self_loops": self_loops}
    extra = np.array([0, 1, 2])
    frame = FrameMaker(kind)(columns_of(edges))
    graph = build_storage(frame, weight="weight", vertices=extra, **policies)
    names = {*extra.tolist(), *(end for edge in edges for end in edge[:2])}
    options = {"damping": damping, "dangling": dangling, "personalization": personalization}
    found = rg.pagerank(graph, method=method, tolerance=1e-13, max_iterations=300, **options)
    left = naive.merged(edges, **policies)
    assert graph.num_edges == len(left)
    assert_close(ranks_of(found), naive.pagerank(left, names, directed=directed, **options), 1e-11)
    total = sum(ranks_of(found).values())
    assert total == pytest.approx(1, abs=1e-11) if dangling != "drop" else total <= 1 + 1e-11


# The CPU and the GPU


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("weights", [None, (0.5, 5.0)], ids=["unweighted", "weighted"])
def test_both_devices_give_the_same_ranks(precision, weights):
    maker = FrameMaker("cudf")
    edges = rmat(13, 16, seed=3, device="cpu", weights=weights)
    columns = {name: edges[name].to_numpy() for name in edges.columns}
    weight = "weight" if weights else None
    on_cpu, on_gpu = (
        build_storage(edges, weight=weight),
        build_storage(maker(columns), weight=weight),
    )
    assert (on_cpu.device, on_gpu.device) == ("cpu", "gpu")
    assert (on_cpu.num_vertices, on_cpu.num_edges) == (on_gpu.num_vertices, on_gpu.num_edges)
    within = {"double": 1e-12, "single": 1e-6}[precision]
    options = {"precision": precision, "tolerance": 0, "max_iterations": 60}
    expected = ranks_of(rg.pagerank(on_cpu, **options))
    for method in METHODS:
        found = ranks_of(rg.pagerank(on_gpu, method=method, **options))
        assert_close(found, expected, within)
