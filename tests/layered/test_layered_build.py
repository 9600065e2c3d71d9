"""Layered edge lists: layers against the definition and closed forms, roots, names and frames."""

import copy
import pickle

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from conftest import FrameMaker, build_storage, columns_of, listed, on_host, random_edges, to_pandas
from hypothesis import given, settings
from test_traversal import clique, cycle, lattice, path, star, tree

import rapidsgraph as rg
from rapidsgraph.graph.local_graph import storage_of
from rapidsgraph.layered import LayeredEdgeList
from rapidsgraph.layered.packing import PARTITION_BYTES

pytestmark = pytest.mark.slow

SIZES = (1, 64, 100, 4000, PARTITION_BYTES)

by_size = pytest.mark.parametrize("size", SIZES)
symmetrize = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


def triples(frame, weighted=True):
    """[(source, destination, weight)] of a frame of edges, in its order."""
    columns = listed(frame)
    weights = columns["weight"] if weighted else [1] * len(columns["source"])
    return list(zip(columns["source"], columns["destination"], weights))


def check_layers(layered, edges, root, vertices=(), directed=True, weighted=True):
    """Layers, their edges and those of the unreached are what the definition says."""
    expected, others = naive.layers(edges, root, vertices, directed)
    assert (layered.root, layered.depth) == (root, len(expected) - 1)
    assert listed(layered.layers) == {
        "layer": list(range(len(expected))),
        "vertices": [len(layer[0]) for layer in expected],
        "forward_edges": [len(layer[1]) for layer in expected],
        "backward_edges": [len(layer[2]) for layer in expected],
    }
    names = sorted({*vertices, *(end for edge in edges for end in edge[:2])})
    reached = [name for layer in expected for name in layer[0]]
    order = [names[place] for place in on_host(storage_of(layered).order).tolist()]
    assert order == reached + sorted({*names} - {*reached})
    sizes = np.cumsum([0, *(len(layer[0]) for layer in expected)])
    assert storage_of(layered).layer_starts.tolist() == sizes.tolist()
    assert layered.num_vertices == len(names)

    columns = ["source", "destination"] + ["weight"] * weighted + ["forward"]
    for place, (_, forward, backward) in enumerate(expected):
        found = layered.edges(place)
        assert list(listed(found)) == columns
        rows = triples(found, weighted)
        assert listed(found)["forward"] == [True] * len(forward) + [False] * len(backward)
        assert sorted(rows[: len(forward)]) == forward
        assert sorted(rows[len(forward) :]) == backward
    found = layered.edges()
    rows, forward = triples(found, weighted), listed(found)["forward"]
    behind = len(rows) - len(others)
    assert sorted(rows[behind:]) == others and not any(forward[behind:])
    every = [edge for layer in expected for part in layer[1:] for edge in part]
    assert sorted(rows[:behind]) == sorted(every)
    assert layered.num_edges == len(rows) == len(every) + len(others)
    # By source in the order of places; of one source forward edges first.
    place = {name: number for number, name in enumerate(order)}
    keys = [(place[row[0]], not is_forward) for row, is_forward in zip(rows, forward)]
    assert keys == sorted(keys)
    leaving = dict.fromkeys(names, 0.0)
    for source, _, weight in every + others:
        leaving[source] += weight
    sums = on_host(storage_of(layered).out_weights)
    np.testing.assert_allclose(sums, [leaving[name] for name in order], rtol=1e-14)


# Closed forms: (pairs, directed, root, vertices, forward edges, backward edges) by layer


def levels(width, height):
    """How many points of a lattice are so far from a corner."""
    far = np.add.outer(np.arange(height), np.arange(width)).ravel()
    return np.bincount(far).tolist()


def crossings(width, height):
    """How many edges of a lattice begin so far from a corner."""
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    right, down = (x + y)[:, :-1].ravel(), (x + y)[:-1].ravel()
    return np.bincount(np.concatenate([right, down])).tolist()


CLOSED_FORMS = {
    "path": (path(6), True, 0, [1] * 6, [1] * 5 + [0], [0] * 6),
    "path from its end": (path(4), True, 3, [1], [0], [0]),
    "path from its middle": (path(5), True, 2, [1] * 3, [1, 1, 0], [0] * 3),
    "path both ways": (path(5), False, 2, [1, 2, 2], [2, 2, 0], [0, 2, 2]),
    "cycle": (cycle(6), True, 2, [1] * 6, [1] * 5 + [0], [0] * 5 + [1]),
    "even cycle both ways": (cycle(6), False, 1, [1, 2, 2, 1], [2, 2, 2, 0], [0, 2, 2, 2]),
    "odd cycle both ways": (cycle(5), False, 0, [1, 2, 2], [2, 2, 2], [0, 2, 2]),
    "star out": (star(50), True, 0, [1, 50], [50, 0], [0, 0]),
    "star from a leaf": (star(5), True, 3, [1], [0], [0]),
    "star both ways": (star(50), False, 0, [1, 50], [50, 0], [0, 50]),
    "star both ways from a leaf": (star(5), False, 3, [1, 1, 4], [1, 4, 0], [0, 1, 4]),
    "clique": (clique(7), True, 3, [1, 6], [6, 30], [0, 6]),
    "lattice": (
        lattice(5, 4), True, 0, levels(5, 4), [*crossings(5, 4), 0], [0] * 8,
    ),
    "lattice both ways": (
        lattice(5, 4), False, 0, levels(5, 4), [*crossings(5, 4), 0], [0, *crossings(5, 4)],
    ),
    "binary tree": (tree(31), True, 0, [1, 2, 4, 8, 16], [2, 4, 8, 16, 0], [0] * 5),
    "binary tree both ways": (
        tree(31), False, 0, [1, 2, 4, 8, 16], [2, 4, 8, 16, 0], [0, 2, 4, 8, 16],
    ),
    "two components": ([(0, 1), (2, 3)], False, 3, [1, 1], [1, 0], [0, 1]),
    "self-loop": ([(0, 0)], True, 0, [1], [1], [0]),
    "self-loop both ways": ([(0, 0)], False, 0, [1], [1], [0]),
    "two vertices": ([(0, 1)], True, 0, [1, 1], [1, 0], [0, 0]),
    "two vertices from the other": ([(0, 1)], True, 1, [1], [0], [0]),
}  # fmt: skip


@by_size
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(make_arrays, name, size):
    pairs, directed, root, vertices, forward, backward = CLOSED_FORMS[name]
    edges = [(a, b, 1) for a, b in pairs]
    graph = build_storage(make_arrays(columns_of(edges)), weight=None, directed=directed)
    layered = LayeredEdgeList.build(graph, root, partition_bytes=size)
    assert listed(layered.layers) == {
        "layer": list(range(len(vertices))),
        "vertices": vertices,
        "forward_edges": forward,
        "backward_edges": backward,
    }
    assert (layered.depth, layered.device) == (len(vertices) - 1, graph.device)
    if size == PARTITION_BYTES:
        assert len(storage_of(layered).table) == 1
        check_layers(layered, edges, root, directed=directed, weighted=False)
    if size == 1:  # a partition for each edge, and for each row without one
        degrees = np.bincount([a for a, _ in pairs], minlength=graph.num_vertices)
        if not directed:
            degrees += np.bincount([b for a, b in pairs if a != b], minlength=graph.num_vertices)
        assert len(storage_of(layered).table) == np.maximum(degrees, 1).sum()


# Against the definition


@by_size
@symmetrize
def test_layers_of_random_graphs(make_arrays, size, directed):
    edges = random_edges(70, 60, 80)
    graph = build_storage(
        make_arrays(columns_of(edges)),
        weight="weight",
        directed=directed,
        multi_edges="keep",
        vertices=65,
    )
    for root in (5, 63):
        layered = LayeredEdgeList.build(graph, root, partition_bytes=size)
        check_layers(layered, edges, root, range(65), directed)


@pytest.mark.parametrize("multi_edges", ["keep", "first", "sum", "min", "max"])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
@symmetrize
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
def test_policies(make_arrays, multi_edges, self_loops, directed, weighted):
    edges = [(a, b, int(4 * weight)) for a, b, weight in random_edges(71, 20, 60)]
    edges += [(3, 19, 1), (19, 3, 2), (4, 4, 3), (4, 4, 1), (3, 19, 0)]
    if not weighted:
        edges = [(a, b, 1) for a, b, _ in edges]
    policies = {"multi_edges": multi_edges, "self_loops": self_loops, "directed": directed}
    options = {"weight": "weight" if weighted else None}
    graph = build_storage(make_arrays(columns_of(edges)), vertices=22, **options, **policies)
    left = naive.merged(edges, **policies)
    layered = LayeredEdgeList.build(graph, 3, partition_bytes=200)
    has_weights = weighted or multi_edges == "sum"
    assert (layered.directed, layered.weighted) == (directed, has_weights)
    check_layers(layered, left, 3, range(22), directed, has_weights)


def test_what_the_root_does_not_reach_comes_last(make_arrays):
    """Its edges count as going back, wherever they lead."""
    edges = [(4, 0, 1), (5, 5, 2), (2, 3, 3), (0, 4, 4), (5, 2, 5), (1, 4, 6)]
    graph = build_storage(make_arrays(columns_of(edges)), weight="weight", vertices=7)
    layered = LayeredEdgeList.build(graph, 4, partition_bytes=1)
    assert listed(layered.edges()) == {
        "source": [4, 0, 1, 2, 5, 5],
        "destination": [0, 4, 4, 3, 2, 5],
        "weight": [1, 4, 6, 3, 5, 2],
        "forward": [True, False, False, False, False, False],
    }
    assert listed(layered.edges(1))["destination"] == [4]
    assert listed(layered.layers)["vertices"] == [1, 1]


def test_a_root_without_edges(make_arrays):
    edges = [(0, 1, 1.5), (1, 2, 2.5)]
    graph = build_storage(make_arrays(columns_of(edges)), weight="weight", vertices=5)
    for root in (2, 4):
        layered = LayeredEdgeList.build(graph, root)
        check_layers(layered, edges, root, range(5))
        assert listed(layered.edges(0)) == {
            "source": [], "destination": [], "weight": [], "forward": [],
        }  # fmt: skip
        assert len(listed(layered.edges())["source"]) == 2


def test_one_vertex_and_no_edge(make_arrays):
    graph = build_storage(make_arrays(columns_of([])), weight=None, vertices=1)
    layered = LayeredEdgeList.build(graph, 0)
    check_layers(layered, [], 0, [0], weighted=False)
    assert (layered.num_edges, layered.nbytes, layered.depth) == (0, 0, 0)


@pytest.mark.parametrize("layer", [-1, 3, "0", None, True, 1.5])
def test_a_layer_that_is_none(make_arrays, layer):
    layered = LayeredEdgeList.build(make_arrays(columns_of([(0, 1, 1), (1, 2, 1)])), 0)
    if layer is None:
        assert len(listed(layered.edges(layer))["source"]) == 2
        return
    with pytest.raises(
        rg.GraphError, match=f"layer is {layer!r}; it must be an integer from 0 to 2"
    ):
        layered.edges(layer)


# Combined lists


def combined_by_hand(edges, least):
    found, first = [], 0
    for last in range(len(edges)):
        if sum(edges[first : last + 1]) >= least or last == len(edges) - 1:
            found.append((first, last, sum(edges[first : last + 1])))
            first = last + 1
    return found


@pytest.mark.parametrize("least", [1, 2, 7, 50, 299, 300, 301, 10**9, None])
def test_combined_lists(make_arrays, least):
    frame = make_arrays(columns_of(random_edges(72, 90, 300)))
    graph = build_storage(frame, multi_edges="keep")
    layered = LayeredEdgeList.build(graph, 7, minimum_edges=least)
    layers = listed(layered.layers)
    edges = [sum(both) for both in zip(layers["forward_edges"], layers["backward_edges"])]
    combined = listed(layered.combined)
    rows = list(zip(*combined.values()))
    assert list(combined) == ["first_layer", "last_layer", "edges"]
    assert rows == combined_by_hand(edges, least or 10**6)  # a device has more than 300 threads
    assert sum(combined["edges"]) == sum(edges)
    if least == 1:
        assert [row[0] for row in rows] == list(range(layered.depth + 1))
    if least in (10**9, None):
        assert rows == [(0, layered.depth, sum(edges))]


def test_combined_lists_of_a_path(make_arrays):
    frame = make_arrays(columns_of([(a, b, 1) for a, b in path(10)]))
    rows = listed(LayeredEdgeList.build(frame, 0, minimum_edges=4).combined)
    assert list(rows.values()) == [[0, 4, 8], [3, 7, 9], [4, 4, 1]]


def test_combined_lists_by_default_have_an_edge_a_thread(make_arrays):
    """Of a GPU; a thread of a CPU takes 2^15."""
    import numba

    wide = 100_000
    hubs = np.arange(5) * (wide + 1)
    leaves = hubs[:-1, None] + 1 + np.arange(wide)
    columns = {
        "source": np.concatenate([np.repeat(hubs[:-1], wide), leaves.ravel()]),
        "destination": np.concatenate([leaves.ravel(), np.repeat(hubs[1:], wide)]),
    }
    least = 2**15 * numba.get_num_threads()
    if make_arrays.on_gpu:
        import cupy

        facts = cupy.cuda.Device().attributes
        least = facts["MultiProcessorCount"] * facts["MaxThreadsPerMultiProcessor"]
    rows = listed(LayeredEdgeList.build(make_arrays(columns), 0).combined)
    assert list(zip(*rows.values())) == combined_by_hand([wide] * 8 + [0], least)


# What is given, and what comes out


def test_the_kind_of_frames(make_held_frame):
    frame = make_held_frame(columns_of([(7, 5, 1), (5, 6, 2), (6, 7, 3)]))
    layered = LayeredEdgeList.build(build_storage(frame, weight="weight"), 7)
    for result in (layered.layers, layered.combined, layered.edges(), layered.edges(1)):
        assert type(result) is type(frame)
    assert listed(layered.edges()) == {
        "source": [7, 5, 6],
        "destination": [5, 6, 7],
        "weight": [1, 2, 3],
        "forward": [True, True, False],
    }
    assert listed(layered.layers)["vertices"] == [1, 1, 1]


def test_a_frame_is_taken_as_directed_with_its_weights(make_held_frame):
    columns = columns_of([(0, 1, 5), (0, 1, 7), (1, 0, 1)])
    with pytest.warns(rg.WeightWarning, match="1 row was merged"):
        layered = LayeredEdgeList.build(make_held_frame(columns), 0)
    assert (layered.directed, layered.weighted, layered.num_edges) == (True, True, 2)
    edges = {"source": [0, 1], "destination": [1, 0], "forward": [True, False]}
    assert listed(layered.edges()) == {**edges, "weight": [5, 1]}
    layered = LayeredEdgeList.build(rg.Graph(make_held_frame(columns), weight=None), 0)
    assert not layered.weighted
    assert listed(layered.edges()) == edges


@pytest.mark.parametrize(
    ("root", "message"),
    [
        (99, "root: vertex 99 is not in the graph"),
        (-1, "root: vertex -1 is not in the graph"),
        ([0, 1], "root names 2 vertices; a layered edge list has one root"),
        ([], "root is empty"),
        (None, "root is None; name a vertex"),
        (True, "root is True; name a vertex"),
        (0.5, "root: 0.5 is of type float64, but the vertex names of this graph are integers"),
        ("a", "root: 'a' is text, but the vertex names of this graph are integers"),
    ],
)
def test_wrong_roots(make_arrays, root, message):
    frame = make_arrays(columns_of([(0, 1, 1), (1, 2, 1)]))
    with pytest.raises(rg.GraphError, match=message):
        LayeredEdgeList.build(frame, root)


@pytest.mark.parametrize("root", [[1], (1,), np.int8(1), np.array([1]), [1, 1], {1}])
def test_roots_in_any_form(make_arrays, root):
    layered = LayeredEdgeList.build(make_arrays(columns_of([(0, 1, 1), (1, 2, 1)])), root)
    assert (layered.root, storage_of(layered).root_id, layered.depth) == (1, 1, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"minimum_edges": 0}, "minimum_edges is 0; it must be an integer above 0"),
        ({"minimum_edges": 1.5}, "minimum_edges is 1.5"),
        ({"minimum_edges": True}, "minimum_edges is True"),
        ({"partition_bytes": 0}, "partition_bytes is 0; it must be an integer above 0"),
        ({"partition_bytes": "1MB"}, "partition_bytes is '1MB'"),
        ({"store": "folder"}, "store is an option for the path"),
        ({"memory_limit": 10**9}, "memory_limit is an option for the path"),
        ({"device": "cpu"}, "device is an option for the path"),
        ({"directed": False}, "directed is an option for the path"),
        ({"weight": None}, r"weight is an option for the path .* rg.Graph\(edges, weight=...\)"),
    ],
)
def test_wrong_options(options, message):
    frame = FrameMaker("pandas")(columns_of([(0, 1, 1)]))
    for given_ in (frame, build_storage(frame)):
        with pytest.raises(rg.GraphError, match=message):
            LayeredEdgeList.build(given_, 0, **options)


def test_it_is_made_by_functions_of_the_class():
    with pytest.raises(TypeError, match=r"LayeredEdgeList.build\(graph, root\), .open\(path\)"):
        LayeredEdgeList()


@pytest.mark.sanitizer
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))]
)
def test_a_list_in_memory_can_be_copied(make_arrays, copied):
    edges = random_edges(74)
    graph = build_storage(make_arrays(columns_of(edges)), weight="weight", multi_edges="keep")
    layered = LayeredEdgeList.build(graph, 5, partition_bytes=500)
    other = copied(layered)
    check_layers(other, edges, 5)
    assert listed(rg.sssp(other)) == listed(rg.sssp(graph, 5))
    assert (other.last_run is None, layered.last_run) == (False, None)


def test_what_it_says_of_itself():
    edges = columns_of([(a, b, 1) for a, b in cycle(1200)])
    layered = LayeredEdgeList.build(FrameMaker("pandas")(edges), 3)
    assert repr(layered) == (
        "<LayeredEdgeList: 1,200 vertices, 1,200 edges, depth 1199 from 3, partitions: 1, cpu>"
    )


NAMES = {
    "gaps": [5, -3, 100, 7, -2000],
    "beyond 2^31": [2**40, 2**31, 2**62, -(2**40), 0],
    "text": ["b", "a", "", "ö", "a b"],
}


@pytest.mark.parametrize("kind", NAMES)
def test_names(make_held_frame, kind):
    if kind == "text" and make_held_frame.kind == "cupy":
        kind = "gaps"  # CuPy has no text
    names = NAMES[kind]
    frame = make_held_frame(
        {
            "source": [names[i] for i in (0, 1, 1, 4)],
            "destination": [names[i] for i in (1, 2, 3, 0)],
        }
    )
    layered = LayeredEdgeList.build(frame, names[0])
    assert layered.root == names[0] and type(layered.root) is type(names[0])
    found = listed(layered.edges())
    assert found["source"] == [names[0], names[1], names[1], names[4]]
    ends = sorted([names[2], names[3]])
    assert found["destination"] == [names[1], *ends, names[0]]
    assert listed(layered.layers)["vertices"] == [1, 1, 2]


def test_names_of_several_columns(make_held_frame):
    if make_held_frame.kind == "cupy":
        columns = {"net": [1, 1, 2], "a": [0, 5, 0], "b": [5, 6, 5]}
    else:
        columns = {"net": ["x", "x", "y"], "a": [0, 5, 0], "b": [5, 6, 5]}
    net = columns["net"][0]
    frame = make_held_frame(columns)
    graph = build_storage(frame, source=["net", "a"], destination=["net", "b"])
    layered = LayeredEdgeList.build(graph, (net, 0))
    assert (layered.root, layered.depth) == ((net, 0), 2)
    found = layered.edges()
    assert type(found) is type(frame)
    assert listed(found) == {
        "net": columns["net"],
        "source": [0, 5, 0],
        "destination": [5, 6, 5],
        "forward": [True, True, False],
    }


# Properties


small_graphs = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0, 1, 0.1, 2.5])), max_size=40
)


@given(small_graphs, st.integers(0, 10), st.sampled_from([1, 20, 90, 10**6]), st.booleans())
@settings(max_examples=60)
def test_small_graphs(edges, root, size, directed):
    frame = FrameMaker("arrays")(columns_of(edges))
    options = {"weight": "weight", "directed": directed, "multi_edges": "keep"}
    graph = build_storage(frame, vertices=11, **options)
    layered = LayeredEdgeList.build(graph, root, partition_bytes=size)
    check_layers(layered, edges, root, range(11), directed)


@given(small_graphs.filter(bool), st.randoms(use_true_random=False), st.sampled_from([1, 90]))
@settings(max_examples=40)
def test_shuffled_rows_give_the_same_list(edges, random, size):
    """Of parallel edges the least, so that it does not matter which comes first."""
    shuffled = random.sample(edges, len(edges))
    lists = []
    for rows in (edges, shuffled):
        graph = build_storage(
            FrameMaker("arrays")(columns_of(rows)), weight="weight", multi_edges="min"
        )
        lists.append(LayeredEdgeList.build(graph, edges[0][0], partition_bytes=size))
    one, other = map(storage_of, lists)
    for name in ("order", "layer_starts", "layer_edges", "table", "words", "out_weights"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@given(small_graphs.filter(bool), st.sampled_from([1, 90]))
@settings(max_examples=40)
def test_renamed_vertices_give_the_same_list(edges, size):
    """Names that rise as before."""
    frame = FrameMaker("pandas")(columns_of(edges))
    renamed = frame.assign(**{name: frame[name] * 10**10 - 3 for name in ("source", "destination")})
    root = edges[0][0]
    one = LayeredEdgeList.build(build_storage(frame, weight="weight"), root, partition_bytes=size)
    other = LayeredEdgeList.build(
        build_storage(renamed, weight="weight"), root * 10**10 - 3, partition_bytes=size
    )
    for name in ("order", "layer_starts", "layer_edges", "table", "words"):
        arrays = [getattr(storage_of(layered), name) for layered in (one, other)]
        np.testing.assert_array_equal(*arrays, err_msg=name)
    expected = to_pandas(one.edges())
    found = to_pandas(other.edges())
    for name in ("source", "destination"):
        assert found[name].tolist() == (expected[name] * 10**10 - 3).tolist()
    assert found["forward"].tolist() == expected["forward"].tolist()
