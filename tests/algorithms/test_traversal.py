"""BFS and SSSP against closed forms, slow loops and NetworkX."""

import pickle
from unittest import mock

import hypothesis.strategies as st
import naive
import networkx
import numpy as np
import pandas
import pytest
from conftest import (
    FrameMaker,
    build_storage,
    by_engine,
    check_traversals,
    columns_of,
    listed,
    paths_of,
    random_edges,
)
from hypothesis import given, settings

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.algorithms import traversal
from rapidsgraph.kernels.constants import NO_VERTEX

pytestmark = pytest.mark.slow

INF = float("inf")

symmetrize = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


# Closed forms: (pairs, directed, sources, distances, predecessors)


def path(n):
    return [(i, i + 1) for i in range(n - 1)]


def cycle(n):
    return [(i, (i + 1) % n) for i in range(n)]


def star(leaves):
    return [(0, i + 1) for i in range(leaves)]


def clique(n):
    return [(i, j) for i in range(n) for j in range(n) if i != j]


def lattice(width, height):
    right = [(x + width * y, x + 1 + width * y) for y in range(height) for x in range(width - 1)]
    return right + [(v, v + width) for v in range(width * (height - 1))]


def tree(n):
    return [((i - 1) // 2, i) for i in range(1, n)]


NO = None
CLOSED_FORMS = {
    "path": (path(6), True, 0, [0, 1, 2, 3, 4, 5], [NO, 0, 1, 2, 3, 4]),
    "path from its end": (path(4), True, 3, [NO, NO, NO, 0], [NO] * 4),
    "path from its middle": (path(5), True, 2, [NO, NO, 0, 1, 2], [NO, NO, NO, 2, 3]),
    "path both ways": (path(5), False, 2, [2, 1, 0, 1, 2], [1, 2, NO, 2, 3]),
    "path from both ends": (path(5), False, [0, 4], [0, 1, 2, 1, 0], [NO, 0, 1, 4, NO]),
    "star out": (star(5), True, 0, [0, 1, 1, 1, 1, 1], [NO] + [0] * 5),
    "star from a leaf": (star(5), True, 3, [NO, NO, NO, 0, NO, NO], [NO] * 6),
    "star both ways": (star(4), False, 3, [1, 2, 2, 0, 2], [3, 0, 0, NO, 0]),
    "star from all leaves": (star(4), False, [1, 2, 3, 4], [1, 0, 0, 0, 0], [1] + [NO] * 4),
    "cycle": (cycle(6), True, 2, [4, 5, 0, 1, 2, 3], [5, 0, NO, 2, 3, 4]),
    "even cycle both ways": (cycle(6), False, 1, [1, 0, 1, 2, 3, 2], [1, NO, 1, 2, 3, 0]),
    "odd cycle both ways": (cycle(5), False, 0, [0, 1, 2, 2, 1], [NO, 0, 1, 4, 0]),
    "cycle from two": (cycle(6), True, [0, 3], [0, 1, 2, 0, 1, 2], [NO, 0, 1, NO, 3, 4]),
    "clique": (clique(5), True, 3, [1, 1, 1, 0, 1], [3, 3, 3, NO, 3]),
    "clique from two": (clique(5), True, [4, 2], [1, 1, 0, 1, 0], [2, 2, NO, 2, NO]),
    "lattice": (
        lattice(4, 3),
        False,
        0,
        [x + y for y in range(3) for x in range(4)],
        [NO, 0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7],
    ),
    "lattice from its end": (
        lattice(3, 2), False, 5, [3, 2, 1, 2, 1, 0], [1, 2, 5, 4, 5, NO],
    ),
    "binary tree": (
        tree(12),
        True,
        0,
        [(i + 1).bit_length() - 1 for i in range(12)],
        [NO] + [(i - 1) // 2 for i in range(1, 12)],
    ),
    "binary tree from a leaf": (
        tree(7), False, 4, [2, 1, 3, 2, 0, 4, 4], [1, 4, 0, 1, NO, 2, 2],
    ),
    "two components": ([(0, 1), (2, 3)], False, 3, [NO, NO, 1, 0], [NO, NO, 3, NO]),
    "self-loop": ([(0, 0)], True, 0, [0], [NO]),
    "self-loops on the way": ([(0, 0), (0, 1), (1, 1)], True, 0, [0, 1], [NO, 0]),
    "parallel edges": ([(0, 1), (1, 2), (0, 1)], True, 0, [0, 1, 2], [NO, 0, 1]),
    "the smallest of many": (
        [(0, 3), (0, 2), (0, 1), (3, 4), (2, 4), (1, 4)],
        True, 0, [0, 1, 1, 1, 2], [NO, 0, 0, 0, 1],
    ),
    "every vertex": (cycle(3), True, [0, 1, 2], [0, 0, 0], [NO] * 3),
}  # fmt: skip


@by_engine
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(make_arrays, name, method):
    pairs, directed, source, distances, predecessors = CLOSED_FORMS[name]
    columns = columns_of([(a, b, 0.5) for a, b in pairs])
    unit = rg.Graph(make_arrays(columns), weight=None, directed=directed)
    half = rg.Graph(make_arrays(columns), weight="weight", directed=directed)
    levels, before = dict(enumerate(distances)), dict(enumerate(predecessors))
    found = rg.bfs(unit, source, method=method)
    assert paths_of(found) == (levels, before)
    assert rg.verify.bfs(unit, found, source) == max(filter(None, distances), default=0)
    for graph, length in ((unit, 1.0), (half, 0.5)):
        expected = {v: INF if d is None else d * length for v, d in levels.items()}
        found = rg.sssp(graph, source, method=method)
        assert paths_of(found) == (expected, before)
        longest = max(d for d in expected.values() if d < INF)
        assert rg.verify.sssp(graph, found, source) == longest


@pytest.mark.parametrize("name", ["path from its middle", "clique", "the smallest of many"])
def test_closed_forms_from_every_library(make_frame, name):
    pairs, _, source, distances, predecessors = CLOSED_FORMS[name]
    levels, before = dict(enumerate(distances)), dict(enumerate(predecessors))
    frame = make_frame(columns_of([(a, b, 2.5) for a, b in pairs]))
    found = rg.bfs(frame, source)
    assert type(found) is type(frame)
    assert paths_of(found) == (levels, before)
    assert rg.verify.bfs(frame, found, source) == max(filter(None, distances))
    found = rg.sssp(frame, source)
    assert type(found) is type(frame)
    lengths = {v: INF if d is None else 2.5 * d for v, d in levels.items()}
    assert paths_of(found) == (lengths, before)
    assert rg.verify.sssp(frame, found, source) == 2.5 * max(filter(None, distances))


# Weights


WEIGHTED = {
    "the longer way is cheaper": (
        [(0, 2, 5), (0, 1, 1), (1, 2, 3)], 0, [0, 1, 4], [NO, 0, 1],
    ),
    "a tie goes to the smaller": (
        [(0, 2, 1), (0, 1, 2), (2, 3, 2), (1, 3, 1)], 0, [0, 2, 1, 3], [NO, 0, 0, 1],
    ),
    "improved again and again": (
        [(0, 4, 10), (0, 1, 1), (1, 4, 8), (1, 2, 1), (2, 4, 6), (2, 3, 1), (3, 4, 1)],
        0, [0, 1, 2, 3, 4], [NO, 0, 1, 2, 3],
    ),
    "a step of 0": ([(0, 1, 1), (1, 2, 0)], 0, [0, 1, 1], [NO, 0, 1]),
    # 1 leads to 3 at no cost, and yet 2, which is larger, is nearer.
    "nearer goes before equal": (
        [(0, 1, 2), (0, 2, 1), (1, 3, 0), (2, 3, 1)], 0, [0, 2, 1, 2], [NO, 0, 0, 2],
    ),
    "steps of 0 from the source": ([(0, 2, 0), (2, 1, 0)], 0, [0, 0, 0], [NO, 2, 0]),
    # 1 and 2 lead to each other; 1 must not follow 2 although 2 < 3.
    "a cycle of steps of 0": (
        [(0, 3, 1), (3, 1, 0), (1, 2, 0), (2, 1, 0)], 0, [0, 1, 1, 1], [NO, 3, 1, 0],
    ),
    # 4 follows 3, one step from a vertex with a way of its own, and not 1, two steps from it.
    "the fewest steps of 0": (
        [(0, 3, 1), (3, 2, 0), (2, 1, 0), (1, 4, 0), (3, 4, 0)],
        0, [0, 1, 1, 1, 1], [NO, 2, 3, 0, 3],
    ),
    "all at no cost": ([(0, 1, 0), (1, 2, 0), (0, 2, 0)], [2, 0], [0, 0, 0], [NO, 0, NO]),
    "sources that lead to each other": (
        [(0, 1, 0), (1, 0, 0), (1, 2, 3)], [0, 1], [0, 0, 3], [NO, NO, 1],
    ),
    # 1e-20 vanishes beside 1.
    "a weight that vanishes": (
        [(0, 1, 1), (1, 2, 1e-20), (2, 3, 1e-20), (3, 1, 1e-20)],
        0, [0, 1, 1, 1], [NO, 0, 1, 2],
    ),
    "a weight that vanishes only later": (
        [(0, 1, 1e-20), (1, 2, 1), (2, 3, 1e-20)], 0, [0, 1e-20, 1, 1], [NO, 0, 1, 2],
    ),
    "sums that round": ([(0, 1, 0.1), (1, 2, 0.2), (0, 2, 0.3)], 0, [0, 0.1, 0.3], [NO, 0, 0]),
    "sums that round down": (
        [(0, 1, 0.7), (1, 2, 0.1), (0, 2, 0.8)], 0, [0, 0.7, 0.7999999999999999], [NO, 0, 1],
    ),
    "self-loops": ([(0, 0, 0), (0, 1, 2), (1, 1, 0)], 0, [0, 2], [NO, 0]),
    "very large": ([(0, 1, 1e308), (1, 2, 7e307)], 0, [0, 1e308, 1.7e308], [NO, 0, 1]),
    "very small": ([(0, 1, 5e-324), (1, 2, 5e-324)], 0, [0, 5e-324, 1e-323], [NO, 0, 1]),
}  # fmt: skip


@by_engine
@pytest.mark.parametrize("name", WEIGHTED)
def test_weighted_closed_forms(make_arrays, name, method):
    edges, source, distances, predecessors = WEIGHTED[name]
    sources = source if isinstance(source, list) else [source]
    expected = dict(enumerate(distances)), dict(enumerate(predecessors))
    assert naive.sssp(edges, sources) == expected
    frame = make_arrays(columns_of(edges))
    assert paths_of(rg.sssp(frame, source, method=method)) == expected
    for multi_edges in ("first", "keep"):
        graph = rg.Graph(frame, weight="weight", multi_edges=multi_edges)
        found = rg.sssp(graph, source, method=method)
        assert paths_of(found) == expected
        assert rg.verify.sssp(graph, found, source) == max(distances)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint32", "int64", "uint64", "float32"])
def test_weights_of_any_type_of_number(make_arrays, dtype):
    edges = [(a, b, int(weight * 20)) for a, b, weight in random_edges(20)]
    columns = columns_of(edges)
    columns["weight"] = columns["weight"].astype(dtype)
    graph = rg.Graph(make_arrays(columns), weight="weight", multi_edges="min")
    check_traversals(graph, edges, 7, limit=30)


@by_engine
def test_weights_are_added_in_double_precision(make_arrays, method):
    weights = np.array([0.1, 0.7, 1e-9, 16777216.0], np.float32)
    edges = [(place, place + 1, weight) for place, weight in enumerate(weights.tolist())]
    columns = columns_of(edges) | {"weight": weights}
    distances, _ = paths_of(rg.sssp(make_arrays(columns), 0, method=method))
    assert distances == naive.sssp(edges, [0])[0]
    assert distances[4] - 16777216 == pytest.approx(0.8, abs=1e-7)


@by_engine
def test_integers_beyond_2_53_are_rounded_once(make_arrays, method):
    weights = np.array([2**53 + 1, 1, 2**62 + 1])  # 2^53, to which 1 adds nothing
    columns = {"source": [0, 1, 2], "destination": [1, 2, 3], "weight": weights}
    distances, predecessors = paths_of(rg.sssp(make_arrays(columns), 0, method=method))
    assert list(distances.values()) == [0, 2.0**53, 2.0**53, 2.0**62 + 2.0**53]
    assert predecessors == {0: None, 1: 0, 2: 1, 3: 2}


@by_engine
@pytest.mark.parametrize("weight", [0.0, 1e-20])
def test_edges_that_add_nothing_are_followed_by_levels(make_arrays, method, weight):
    """Also back, within a level, in a cycle, and to a vertex that a smaller one reaches later."""
    pairs = [(5, 9), (7, 9), (7, 4), (4, 9), (9, 2), (4, 2), (2, 9), (2, 3), (3, 2), (3, 6), (6, 4)]
    edges = [(0, 7, 1.0), (0, 5, 1.0), *((a, b, weight) for a, b in pairs)]
    found = paths_of(rg.sssp(make_arrays(columns_of(edges)), 0, method=method))
    assert found == naive.sssp(edges, [0])
    assert found[1] == {0: None, 2: 4, 3: 2, 4: 7, 5: 0, 6: 3, 7: 0, 9: 5}


@by_engine
def test_distances_beyond_double_precision_are_refused(make_arrays, method):
    frame = make_arrays(columns_of([(0, 1, 1.5e308), (1, 2, 1e308), (2, 3, 1.0)]))
    with pytest.raises(rg.GraphError, match="the distance to vertex 2 is more than 1.8e308"):
        rg.sssp(frame, 0, method=method)
    found = rg.sssp(frame, 0, cutoff=1.6e308, method=method)
    assert list(paths_of(found)[0].values()) == [0, 1.5e308, INF, INF]


@pytest.mark.parametrize("multi_edges", ["keep", "first", "sum", "min", "max"])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
@symmetrize
def test_policies_agree_with_naive(make_arrays, multi_edges, self_loops, directed):
    edges = [(a, b, int(4 * weight)) for a, b, weight in random_edges(21, 20, 90)]
    edges += [(3, 19, 1), (19, 3, 2), (4, 4, 3), (4, 4, 1), (3, 19, 0)]
    policies = {"multi_edges": multi_edges, "self_loops": self_loops, "directed": directed}
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", vertices=22, **policies)
    left = naive.merged(edges, **policies)
    check_traversals(graph, left, 5, vertices=range(22), directed=directed)
    check_traversals(graph, left, [19, 20], vertices=range(22), directed=directed, limit=6)


@by_engine
def test_of_a_frame_the_cheapest_row_counts(make_frame, method):
    edges = [(0, 1, 4), (0, 1, 2), (1, 2, 3), (0, 1, 7), (1, 2, 1), (2, 0, 5)]
    frame = make_frame(columns_of(edges))
    assert paths_of(rg.sssp(frame, 0, method=method)) == ({0: 0, 1: 2, 2: 3}, {0: None, 1: 0, 2: 1})
    assert paths_of(rg.sssp(frame, 2, method=method)) == ({0: 5, 1: 7, 2: 0}, {0: 2, 1: 0, 2: None})
    assert rg.verify.sssp(frame, rg.sssp(frame, 0, method=method), 0) == 3


@by_engine
def test_without_weights_an_edge_costs_1(make_frame, method):
    frame = make_frame({"source": [0, 1, 0], "destination": [1, 2, 2], "price": [9, 9, 9]})
    expected = ({0: 0, 1: 1, 2: 1}, {0: None, 1: 0, 2: 0})
    with pytest.warns(rg.WeightWarning, match="columns of numbers: 'price'"):
        result = rg.sssp(frame, 0, method=method)
    assert paths_of(result) == expected
    assert paths_of(rg.bfs(frame, 0, method=method)) == expected
    assert rg.verify.sssp(frame, result, 0) == 1


def test_sum_without_weights_counts_rows(make_arrays):
    graph = rg.Graph(
        make_arrays({"source": [0, 0, 0, 2], "destination": [1, 1, 2, 1]}), multi_edges="sum"
    )
    assert paths_of(rg.sssp(graph, 0))[0] == {0: 0, 1: 2, 2: 1}
    assert paths_of(rg.bfs(graph, 0))[0] == {0: 0, 1: 1, 2: 1}


# Masks of the columns of cuDF


@pytest.mark.sanitizer
@pytest.mark.parametrize("predecessors", [True, False])
@pytest.mark.parametrize("bottom_up", [True, False])
@pytest.mark.parametrize(
    "sources", [[0], 5, [3, 70, 90], [-1]], ids=["one", "one int", "several", "absent"]
)
def test_a_search_writes_masks(make_arrays, sources, bottom_up, predecessors):
    graph = build_storage(make_arrays(columns_of(random_edges(9, 100, 120))), vertices=1000)
    ids = graph.xp.asarray(np.atleast_1d(sources), dtype=np.int32)
    result = traversal.run_bfs(
        graph, sources if isinstance(sources, int) else ids, predecessors=predecessors,
        bottom_up=bottom_up, with_masks=True,
    )  # fmt: skip
    expected = traversal.run_bfs(graph, ids, predecessors=predecessors, bottom_up=bottom_up)
    assert result.distances.tolist() == expected.distances.tolist()
    assert result.predecessors.tolist() == expected.predecessors.tolist()
    columns = [(result.distance_mask, result.distances >= 0)]
    if predecessors:
        columns.append((result.predecessor_mask, result.predecessors != NO_VERTEX))
    for mask, valid in columns:
        bits = np.unpackbits(device.to_host(mask.words).view(np.uint8), bitorder="little")
        assert bits[:1000].tolist() == valid.tolist()
        assert mask.count_valid() == int(valid.sum())
    assert (mask.count_valid() == 0) == (sources == [-1])


@pytest.mark.gpu
@pytest.mark.parametrize("names", [lambda ids: ids, lambda ids: 10 * ids - 7, lambda ids: ids % 9])
def test_nulls_of_cudf(names):
    """With ids as names, with other integers, and of a graph all of whose vertices are reached."""
    cudf = pytest.importorskip("cudf")
    edges = {
        name: names(np.asarray(values)) if name != "weight" else values
        for name, values in columns_of(random_edges(7, 60, 70)).items()
    }
    frame = cudf.DataFrame(edges)
    for source in map(int, np.unique(edges["source"])[[0, -1]]):
        for options in {"predecessors": True}, {"predecessors": False}, {"depth_limit": 1}:
            found = rg.bfs(rg.Graph(frame, directed=False), source, **options)
            expected = rg.bfs(rg.Graph(frame.to_pandas(), directed=False), source, **options)
            assert listed(found) == listed(expected)
            for name in found.columns:
                nulls = int(expected[name].isna().sum())
                assert found[name].null_count == nulls
                has_mask = found[name].to_pylibcudf()[0].null_mask() is not None
                assert has_mask == (nulls > 0)


@pytest.fixture
def made_frames(monkeypatch):
    """The calls by which frames of cuDF are made."""
    cudf = pytest.importorskip("cudf")
    calls, make = [], cudf.DataFrame.from_pylibcudf
    monkeypatch.setattr(
        cudf.DataFrame,
        "from_pylibcudf",
        lambda *arguments: calls.append(arguments) or make(*arguments),
    )
    return calls


@pytest.mark.gpu
@pytest.mark.parametrize("names", ["ids", "integers", "text"])
def test_nulls_of_cudf_in_repeated_searches(made_frames, names):
    """Frames are made for the expected number of nulls, which other components do not have."""
    import cudf

    convert = {"ids": int, "integers": lambda name: 9 * name - 4, "text": lambda name: f"v{name}"}
    edges = {
        end: [convert[names](name) for name in ids]
        for end, ids in {"source": [0, 3, 2, 5, 6], "destination": [3, 2, 1, 4, 6]}.items()
    }
    graph = rg.Graph(cudf.DataFrame(edges), directed=False)
    graph = pickle.loads(pickle.dumps(graph))
    on_cpu = rg.Graph(pandas.DataFrame(edges), directed=False)
    reached, last = [], []
    # Of components of 4, 2 and 1 vertices; at the end of all.
    for number in (0, 3, 0, 0, 5, 4, 5, 6, 6, 6, 0, [0, 5], [3, 1], [3, 1], [0, 5, 6], [1, 4, 6]):
        sources = [convert[names](name) for name in np.atleast_1d(number).tolist()]
        for options in {}, {"predecessors": False}, {"depth_limit": 1}:
            made_frames.clear()
            found, expected = rg.bfs(graph, sources, **options), rg.bfs(on_cpu, sources, **options)
            num_made = len(made_frames)  # listing makes others
            assert listed(found) == listed(expected)
            for name in found.columns:
                assert found[name].null_count == int(expected[name].isna().sum())
            if "depth_limit" not in options:
                reached.append(int(expected["distance"].notna().sum()))
                is_wrong = len(last) == 2 and last[0] == last[1] != reached[-1]
                if names != "text" or options:  # else the predecessors have no expectation
                    assert num_made == 1 + is_wrong
                last = reached[-2:]
        with pytest.raises(rg.VertexNotFoundError):
            rg.bfs(graph, "absent" if names == "text" else 1000)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64"])
@pytest.mark.parametrize("absent", [4, -1, 10**6, 2**40, np.int64(4), [0, 4]])
def test_a_vertex_that_is_not_in_a_cudf_frame(absent, dtype):
    cudf = pytest.importorskip("cudf")
    edges = {"source": [0, 3, 9], "destination": [3, 9, 5]}
    graph = rg.Graph(cudf.DataFrame(edges).astype(dtype))
    with pytest.raises(rg.VertexNotFoundError, match=r"^source: .*not in the graph"):
        rg.bfs(graph, absent)
    for present in (9, np.int64(9), [9]):
        assert listed(rg.bfs(graph, present))["distance"] == [None, None, 1, 0]


# Against slow loops and NetworkX


@symmetrize
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_naive(make_arrays, seed, directed):
    edges = random_edges(50 + seed, 200, 500)
    graph = rg.Graph(
        make_arrays(columns_of(edges)),
        weight="weight",
        directed=directed,
        multi_edges="keep",
        vertices=205,
    )
    everyone = range(205)
    for source, limit in ((0, None), (seed + 3, 4), ([5, 80, 204, 5], None), ([9, 8], 2)):
        check_traversals(graph, edges, source, vertices=everyone, limit=limit, directed=directed)


@symmetrize
def test_agrees_with_networkx(make_arrays, directed):
    edges = random_edges(60, 300, 900)
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight", directed=directed,
                     multi_edges="keep")  # fmt: skip
    peer = (networkx.MultiDiGraph if directed else networkx.MultiGraph)()
    peer.add_weighted_edges_from(edges)
    for limit in (None, 3):
        levels, _ = paths_of(rg.bfs(graph, 4, depth_limit=limit))
        expected = networkx.single_source_shortest_path_length(peer, 4, cutoff=limit)
        assert {name: d for name, d in levels.items() if d is not None} == expected
        lengths, _ = paths_of(rg.sssp(graph, [4, 11], cutoff=limit))
        expected = networkx.multi_source_dijkstra_path_length(peer, {4, 11}, cutoff=limit)
        assert {name: d for name, d in lengths.items() if d < INF} == expected


edge_lists = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.integers(0, 9),
        st.sampled_from([0, 0, 0, 1, 1, 2, 3, 0.1, 0.2, 0.3, 0.5, 1e-20, 5e-324]),
    ),
    max_size=40,
)
source_lists = st.lists(st.integers(0, 10), min_size=1, max_size=3)


@given(edge_lists, source_lists, st.sampled_from([None, 0, 1, 2, 4]), st.booleans(), st.booleans())
@settings(max_examples=150)
def test_small_graphs_agree_with_naive(edges, sources, limit, directed, uses_heap):
    """With edges of weight 0, ties, self-loops, parallel edges, and what is out of reach."""
    frame = FrameMaker("arrays")(columns_of(edges))
    options = {"weight": "weight", "directed": directed, "multi_edges": "keep"}
    graph = rg.Graph(frame, vertices=11, **options)
    with mock.patch.object(traversal, "has_wide_weights", return_value=uses_heap):
        check_traversals(graph, edges, sources, vertices=range(11), limit=limit, directed=directed)


@given(edge_lists.filter(bool), st.randoms(use_true_random=False), st.sampled_from([1, -1]))
@settings(max_examples=50)
def test_neither_the_order_of_rows_nor_names_matter(edges, random, sign):
    """Names that rise as before give the same; names that fall give the same distances."""
    frame = FrameMaker("pandas")(columns_of(edges))
    first = edges[0][0]
    expected = paths_of(rg.sssp(frame, first))
    shuffled = random.sample(range(len(edges)), len(edges))
    renamed = frame.iloc[shuffled].assign(
        **{name: sign * (frame[name] * 10**10 - 3) for name in ("source", "destination")}
    )
    distances, predecessors = paths_of(rg.sssp(renamed, sign * (first * 10**10 - 3)))
    name = dict(zip(expected[0], (sign * (v * 10**10 - 3) for v in expected[0])))
    assert distances == {name[v]: d for v, d in expected[0].items()}
    if sign == 1:
        name[None] = None
        assert predecessors == {name[v]: name[p] for v, p in expected[1].items()}
