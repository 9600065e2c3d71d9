"""Edge frames, matrices and graphs of other libraries, exported from a Graph."""

import sys

import networkx
import numpy as np
import pandas
import pytest
from conftest import gpu, listed, to_pandas
from pandas.testing import assert_frame_equal

import rapidsgraph as rg
from rapidsgraph.graph.local_graph import storage_of

WEIGHTED = pandas.DataFrame(
    {
        "source": ["b", "a", "b", "c", "a"],
        "destination": ["a", "c", "a", "c", "b"],
        "weight": [2.0, 0.5, 3.0, 1.0, 4.0],
    }
)
NAMES = ["a", "b", "c", "z"]


def build(**options):
    return rg.Graph(WEIGHTED, vertices=NAMES, **{"multi_edges": "first"} | options)


def test_edges_are_sorted_and_in_the_library_of_the_caller(make_frame):
    columns = {"source": [3, 0, 3], "destination": [1, 3, 0], "km": [0.5, 2, 1]}
    graph = rg.Graph(make_frame(columns), weight="km", vertices=5)
    edges = graph.edges
    assert type(edges) is type(graph.vertices)
    expected = {"source": [0, 3, 3], "destination": [3, 0, 1], "weight": [2, 1, 0.5]}
    assert listed(edges) == expected


def test_edges_of_an_undirected_graph_are_listed_once(make_frame):
    edges = make_frame({"source": ["b", "c", "b"], "destination": ["a", "c", "c"]})
    columns = listed(rg.Graph(edges, directed=False).edges)
    assert columns == {"source": ["a", "b", "c"], "destination": ["b", "c", "c"]}


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("multi_edges", ["first", "sum", "keep"])
def test_a_graph_can_be_built_from_its_edges(directed, multi_edges):
    graph = build(directed=directed, multi_edges=multi_edges)
    edges = graph.edges
    assert len(edges) == graph.num_edges
    options = {"directed": directed, "multi_edges": multi_edges, "vertices": graph.vertices}
    assert_frame_equal(rg.Graph(edges, weight="weight", **options).edges, edges)


def test_edges_between_names_of_several_columns():
    edges = pandas.DataFrame(
        {"n": [1, 1], "i": [0, 2], "j": [2, 0], "k": ["x", "y"], "l": ["y", "x"]}
    )
    graph = rg.Graph(edges, ["n", "i", "k"], ["n", "j", "l"])
    assert listed(graph.edges) == {
        "n": [1, 1], "source_0": [0, 2], "source_1": ["x", "y"], "destination_0": [2, 0],
        "destination_1": ["y", "x"],
    }  # fmt: skip


def test_a_shared_name_column_called_weight_is_refused():
    edges = pandas.DataFrame({"weight": [1], "a": [0], "b": [2], "km": [3]})
    graph = rg.Graph(edges, ["weight", "a"], ["weight", "b"], weight="km")
    with pytest.raises(rg.GraphError, match="'weight' collides") as caught:
        _ = graph.edges
    assert caught.value.column == "weight"


@pytest.mark.parametrize("directed", [True, False])
def test_changes_of_exports_leave_the_graph_unchanged(directed):
    edges = pandas.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [1.0, 2.0]})
    graph = rg.Graph(edges, weight="weight", directed=directed)
    csr = storage_of(graph).csr
    arrays = [values.copy() for values in (csr.offsets, csr.neighbors, csr.weights)]
    matrix, frame = graph.to_scipy(), graph.edges
    for values in (matrix.indptr, matrix.indices, matrix.data):
        values[:] = 9
    for column in frame:
        frame.loc[:, column] = 9
    for values, expected in zip((csr.offsets, csr.neighbors, csr.weights), arrays):
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("multi_edges", ["min", "keep"])
def test_matrix(directed, multi_edges):
    graph = build(directed=directed, multi_edges=multi_edges)
    expected = np.zeros((4, 4))
    for source, destination, weight in graph.edges.itertuples(index=False):
        i, j = NAMES.index(source), NAMES.index(destination)
        expected[i, j] += weight
        if not directed and i != j:
            expected[j, i] += weight
    np.testing.assert_array_equal(graph.to_scipy().toarray(), expected)


def test_matrix_without_weights_counts_edges():
    edges = pandas.DataFrame({"source": [0, 0, 1], "destination": [1, 1, 0]})
    matrix = rg.Graph(edges, multi_edges="keep").to_scipy()
    assert matrix.toarray().tolist() == [[0, 2], [1, 0]]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("multi_edges", ["first", "keep"])
def test_networkx_graph(directed, multi_edges):
    graph = build(directed=directed, multi_edges=multi_edges)
    exported = graph.to_networkx()
    assert exported.is_directed() == directed
    assert exported.is_multigraph() == (multi_edges == "keep")
    assert list(exported) == NAMES
    edges = [tuple(row) for row in graph.edges.itertuples(index=False)]
    assert sorted(exported.edges(data="weight")) == sorted(edges)


@pytest.mark.parametrize("directed", [True, False])
def test_igraph_graph(directed):
    pytest.importorskip("igraph")
    graph = build(directed=directed, multi_edges="keep")
    exported = graph.to_igraph()
    assert exported.is_directed() == directed
    assert exported.vs["name"] == NAMES
    edges = [(NAMES[a], NAMES[b]) for a, b in exported.get_edgelist()]
    rows = [(*edge, weight) for edge, weight in zip(edges, exported.es["weight"])]
    assert rows == [tuple(row) for row in graph.edges.itertuples(index=False)]


def test_nodes_are_python_objects():
    edges = pandas.DataFrame({"n": [1], "a": [0], "b": [2]})
    exported = rg.Graph(edges, ["n", "a"], ["n", "b"]).to_networkx()
    assert list(exported.edges) == [((1, 0), (1, 2))]
    assert {type(item) for node in exported for item in node} == {int}


@pytest.mark.parametrize("package", ["scipy", "networkx", "igraph"])
def test_a_missing_package_is_named(package, monkeypatch):
    graph = build()
    for module in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(rg.GraphError, match=f"needs {package}.*pip install {package}") as caught:
        getattr(graph, f"to_{package}")()
    assert caught.value.hint == f"pip install {package}"


@pytest.mark.parametrize("library", ["scipy", "networkx", "igraph"])
def test_a_graph_on_a_cluster_is_collected_first(library):
    dask_frame = pytest.importorskip("dask.dataframe").from_pandas(WEIGHTED, npartitions=2)
    graph = rg.Graph(dask_frame)
    with pytest.raises(rg.GraphError, match=r"graph\.compute\(\)"):
        getattr(graph, f"to_{library}")()


@gpu
def test_exports_of_a_gpu_graph():
    cudf = pytest.importorskip("cudf")
    graph, expected = rg.Graph(cudf.from_pandas(WEIGHTED), weight="weight"), build()
    assert_frame_equal(to_pandas(graph.edges), expected.edges, check_dtype=False)
    matrix = rg.Graph(WEIGHTED, weight="weight").to_scipy()
    np.testing.assert_array_equal(graph.to_scipy().toarray(), matrix.toarray())
    assert networkx.utils.edges_equal(graph.to_networkx().edges, expected.to_networkx().edges)


def test_length_is_the_number_of_vertices(make_frame):
    graph = rg.Graph(make_frame({"source": [0], "destination": [4]}), vertices=7)
    assert len(graph) == graph.num_vertices == 7
