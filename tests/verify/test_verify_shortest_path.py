"""The checks of shortest paths find whatever is changed."""

import numpy as np
import pandas as pd
import pytest
from conftest import columns_of, random_edges

import rapidsgraph as rg
from rapidsgraph.io import write_frame

# Parallel and zero-weight edges; 5 leads to others and cannot be reached.
EDGES = [(0, 1, 2), (0, 1, 3), (0, 2, 1), (2, 1, 0), (1, 3, 1), (2, 3, 2), (3, 4, 0), (5, 0, 1)]


@pytest.fixture
def graph(make_arrays):
    return rg.Graph(make_arrays(columns_of(EDGES)), weight="weight", multi_edges="keep")


def path(make_arrays, vertex, distance, **target):
    columns = target | {"vertex": vertex, "distance": distance}
    return make_arrays({name: np.array(values) for name, values in columns.items()})


def test_accepts_what_is_right(make_arrays, graph):
    right = path(make_arrays, [0, 2, 1, 3, 4], [0.0, 1.0, 1.0, 2.0, 2.0])
    assert rg.verify.shortest_path(graph, right, 0, 4) == 1
    other = path(make_arrays, [0, 2, 1, 3], [0.0, 1.0, 1.0, 2.0])  # another tie than by `sssp`
    assert rg.verify.shortest_path(graph, other, [0, 5], 3) == 1
    edges = path(make_arrays, [0, 2, 3], [0, 1, 2])
    assert rg.verify.shortest_path(graph, edges, 0, 3, weighted=False) == 1


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("target", [4, 5, 0, [4], [5], [3, 5, 0, 4, 3], [1, 0]])
@pytest.mark.parametrize("source", [0, [0, 2], 5])
def test_accepts_results(graph, source, target, weighted):
    result = rg.shortest_path(graph, source, target, weighted=weighted)
    num_targets = len({target} if isinstance(target, int) else {*target})
    num_reached = num_targets if source == 5 else num_targets - (5 in np.atleast_1d(target))
    count = rg.verify.shortest_path(graph, result, source, target, weighted=weighted)
    assert count == num_reached


@pytest.mark.parametrize("directed", [True, False])
def test_random_graphs(directed):
    columns = columns_of(random_edges(5, 60, 200))
    frame = pd.DataFrame(columns).astype({"source": str, "destination": str})
    graph = rg.Graph(frame, directed=directed, multi_edges="min")
    names = graph.vertices["vertex"].tolist()
    result = rg.shortest_path(graph, names[:2], names)
    assert rg.verify.shortest_path(graph, result, names[:2], names) == result["target"].nunique()


def test_a_file_of_paths(tmp_path):
    frame = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"], "weight": [0.1, 0.2]})
    for target in ("c", ["c", "a"]):
        write_frame(rg.shortest_path(frame, "a", target), tmp_path / "path.csv")
        result = pd.read_csv(tmp_path / "path.csv")
        assert rg.verify.shortest_path(frame, result, "a", target) == np.size(target)
    write_frame(rg.shortest_path(frame, "c", "a"), tmp_path / "path.csv")
    assert rg.verify.shortest_path(frame, pd.read_csv(tmp_path / "path.csv"), "c", "a") == 0


@pytest.mark.parametrize(
    ("vertex", "distance", "message"),
    [
        ([2, 1, 3], [0, 0, 1], "the path to vertex 3 starts at vertex 2, which is not a source"),
        ([0, 2, 1], [0, 1, 1], "the path to vertex 3 ends at vertex 1"),
        ([0, 1, 3], [0, 2, 3], "vertex 1 has distance 2 in the path to vertex 3; it must have dis"),
        (
            [0, 1, 3],
            [0, 1, 2],
            "no edge whose weight is the difference .* from vertex 0 to vertex 1",
        ),
        ([0, 2, 4, 3], [0, 1, 2, 2], "no edge leads from vertex 2 to vertex 4"),
        ([0, 2, 3], [0, 1, 3], "vertex 3 has distance 3 in the path .* must have distance 2"),
        ([0, 2, 3], [0, np.nan, 2], "vertex 2 has distance nan in the path"),
        ([0, 2, 3], [0, np.inf, 2], "vertex 2 has no distance in the path"),
        ([0, 9, 3], [0, 1, 2], "vertex 9 is not in the graph"),
        (np.zeros(0, int), np.zeros(0), "the result has 0 paths to vertex 3; it must have 1"),
    ],
)
def test_finds_what_is_changed(make_arrays, graph, vertex, distance, message):
    result = path(make_arrays, vertex, np.array(distance, float))
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.shortest_path(graph, result, 0, 3)


@pytest.mark.parametrize(
    ("target", "vertex", "distance", "message"),
    [
        # Along a self-loop, along a cycle, and in the second path only.
        ([0, 0], [0, 0], [0, 0], "the path to vertex 0 visits vertex 0 twice"),
        ([1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0], "the path to vertex 1 visits vertex 0 twice"),
        ([0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], "the path to vertex 1 visits vertex 1 twice"),
    ],
)
def test_finds_vertices_visited_twice(make_arrays, target, vertex, distance, message):
    edges = [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)]
    graph = rg.Graph(make_arrays(columns_of(edges)), weight="weight")
    result = path(make_arrays, vertex, np.array(distance, float), target=target)
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.shortest_path(graph, result, 0, list(dict.fromkeys(target)))


@pytest.mark.parametrize(
    ("target", "vertex", "distance", "message"),
    [
        ([3, 3, 3], [0, 2, 3], [0, 1, 2], "the result has 0 paths to vertex 2; it must have 1"),
        ([2, 2, 3, 3, 3], [0, 2, 0, 2, 3], [0, 1, 0, 1, 2], "not in the order of the targets"),
        ([3, 3, 3, 2, 2, 5], [0, 2, 3, 0, 2, 5], [0, 1, 2, 0, 1, 0], "1 paths to vertex 5; .* 0"),
        ([3, 2, 3, 2, 3], [0, 0, 2, 2, 3], [0, 0, 1, 1, 2], "2 paths to vertex 2; it must have 1"),
    ],
)
def test_finds_missing_and_other_paths(make_arrays, graph, target, vertex, distance, message):
    result = path(make_arrays, vertex, np.array(distance, float), target=target)
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.shortest_path(graph, result, 0, [3, 2, 5])
