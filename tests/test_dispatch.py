"""The table of implementations: an algorithm and a graph type select a function."""

import inspect
import typing

import pytest

import rapidsgraph as rg
from rapidsgraph import frames
from rapidsgraph.algorithms.parameters import Parameters
from rapidsgraph.dispatch import IMPLEMENTATIONS, graph_type
from rapidsgraph.distributed.graph import DistributedGraph
from rapidsgraph.distributed.layered_storage import DistributedLayeredStorage
from rapidsgraph.graph.local_graph import LocalGraph
from rapidsgraph.layered.storage import LayeredStorage
from rapidsgraph.relational.frame_graph import FrameGraph
from rapidsgraph.relational.run_memory import FRAME_BYTES

EDGES = {"source": [0, 1], "destination": [1, 2]}
PACKAGES = {
    LocalGraph: "rapidsgraph.algorithms",
    LayeredStorage: "rapidsgraph.layered",
    DistributedGraph: "rapidsgraph.distributed",
    DistributedLayeredStorage: "rapidsgraph.distributed",
    FrameGraph: "rapidsgraph.relational",
}
ARGUMENTS = {"shortest_path": (0, 1)}  # after the graph, where they are required
# The class of the parameters of an algorithm is what its implementations are annotated with.
PARAMETERS = {
    name: typing.get_type_hints(inspect.unwrap(next(iter(row.values()))))["parameters"]
    for name, row in IMPLEMENTATIONS.items()
}
ROWS = [(name, kind) for name, row in IMPLEMENTATIONS.items() for kind in row]
WITH_METHODS = [name for name, row in IMPLEMENTATIONS.items() if FrameGraph in row]
LAYERED_MISSING = [
    (name, kind)
    for name in IMPLEMENTATIONS
    for kind in (LayeredStorage, DistributedLayeredStorage)
    if (name, kind) not in ROWS
]


@pytest.mark.parametrize(("name", "graph_type"), ROWS)
def test_an_implementation_is_a_function_of_the_package_of_its_graph_type(name, graph_type):
    implementation = inspect.unwrap(IMPLEMENTATIONS[name][graph_type])
    assert inspect.isfunction(implementation)
    assert implementation.__name__ == name
    assert implementation.__module__.startswith(PACKAGES[graph_type])


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_every_algorithm_is_public_and_runs_in_memory(name):
    assert name in rg.__all__, f"add {name!r} to _MODULES in rapidsgraph/__init__.py"
    assert getattr(rg, name).__module__.startswith("rapidsgraph.api.")
    assert LocalGraph in IMPLEMENTATIONS[name]


@pytest.mark.parametrize("name", WITH_METHODS)
def test_the_memory_of_every_frame_form_is_estimated(name):
    assert name in FRAME_BYTES, f"add {name!r} to FRAME_BYTES in relational/run_memory.py"


@pytest.mark.parametrize(("name", "graph_type"), ROWS)
def test_an_implementation_takes_a_graph_and_valid_parameters(name, graph_type):
    """All engines of an algorithm take the same ones: the public function has the others."""
    function = inspect.unwrap(IMPLEMENTATIONS[name][graph_type])
    hints = typing.get_type_hints(function)
    assert len(inspect.signature(function).parameters) == 2
    assert issubclass(hints["parameters"], Parameters)
    assert hints["parameters"] is PARAMETERS[name]
    result = tuple[frames.Frame, int, float] if name == "pagerank" else frames.Frame
    assert hints["return"] == result


@pytest.mark.parametrize(("name", "storage_type"), ROWS)
def test_the_type_of_the_graph_selects_the_implementation(name, storage_type, monkeypatch):
    graph = object.__new__(storage_type)
    calls = observe(name, storage_type, monkeypatch)
    assert getattr(rg, name)(graph, *ARGUMENTS.get(name, ())) == "result"
    [(argument, parameters)] = calls
    assert argument is graph
    assert type(parameters) is PARAMETERS[name]


def observe(name, storage_type, monkeypatch):
    """Replace an implementation and return the list of its calls."""
    calls = []

    def implementation(graph, parameters):
        calls.append((graph, parameters))
        return ("result", 1, 0.0) if name == "pagerank" else "result"

    monkeypatch.setitem(IMPLEMENTATIONS[name], storage_type, implementation)
    return calls


@pytest.mark.parametrize("name", WITH_METHODS)
def test_method_frames_selects_the_relational_implementation(name, monkeypatch):
    calls = observe(name, FrameGraph, monkeypatch)
    getattr(rg, name)(EDGES, *ARGUMENTS.get(name, ()), method="frames")
    assert [graph for graph, _ in calls] == [EDGES]


@pytest.mark.parametrize(
    ("name", "method", "storage_type", "kind"),
    [
        ("pagerank", "edge", DistributedGraph, "distributed graphs"),
        ("scan", "gpuscan", DistributedGraph, "distributed graphs"),
        ("pagerank", "warp", LayeredStorage, "layered edge lists"),
        ("pagerank", "warp", DistributedLayeredStorage, "layered edge lists"),
    ],
)
def test_some_methods_need_a_graph_in_one_memory(name, method, storage_type, kind):
    with pytest.raises(rg.GraphError, match=f"'{method}' is not supported for {kind}") as info:
        getattr(rg, name)(object.__new__(storage_type), method=method)
    assert (info.value.parameter, info.value.value) == ("method", method)


@pytest.mark.parametrize("name", ["bfs", "sssp", "pagerank"])
@pytest.mark.parametrize("method", ["auto", "frames"])
def test_memory_limit_needs_a_layered_edge_list(name, method):
    with pytest.raises(rg.GraphError, match=r"rg\.LayeredEdgeList\.build") as info:
        getattr(rg, name)(EDGES, method=method, memory_limit="2GB")
    assert (info.value.parameter, info.value.value) == ("memory_limit", "2GB")


@pytest.mark.parametrize("name", ["bfs", "sssp", "pagerank"])
def test_layered_edge_lists_have_no_relational_implementation(name):
    layered = rg.LayeredEdgeList.build(EDGES, 0)
    with pytest.raises(rg.GraphError, match="'frames' is not supported for layered edge lists"):
        getattr(rg, name)(layered, method="frames")


@pytest.mark.parametrize("name", WITH_METHODS)
def test_unknown_methods_are_refused(name):
    with pytest.raises(rg.GraphError, match="method is 'fast'; it can be 'auto', ") as info:
        getattr(rg, name)(EDGES, *ARGUMENTS.get(name, ()), method="fast")
    assert info.value.parameter == "method"


@pytest.mark.parametrize(("name", "storage_type"), LAYERED_MISSING)
def test_a_missing_implementation_is_an_error_that_names_those_that_exist(name, storage_type):
    with pytest.raises(rg.GraphError, match=f"^{name} does not support layered edge lists") as info:
        getattr(rg, name)(object.__new__(storage_type))
    assert info.value.parameter == "graph"
    supported = [other for other, row in IMPLEMENTATIONS.items() if storage_type in row]
    assert f"only {', '.join(supported)} do" in str(info.value)


def test_an_algorithm_without_a_distributed_form_says_how_to_collect(monkeypatch):
    monkeypatch.delitem(IMPLEMENTATIONS["scan"], DistributedGraph)
    graph = object.__new__(DistributedGraph)
    with pytest.raises(rg.GraphError, match=r"use method='frames', or call \.compute\(\) first"):
        rg.scan(graph)
    monkeypatch.delitem(IMPLEMENTATIONS["scan"], FrameGraph)
    with pytest.raises(rg.GraphError, match=r"Dask cluster; call \.compute\(\) first"):
        rg.scan(graph)


def test_method_frames_needs_no_distributed_form(monkeypatch):
    monkeypatch.delitem(IMPLEMENTATIONS["scan"], DistributedGraph)
    graph = object.__new__(DistributedGraph)
    calls = observe("scan", FrameGraph, monkeypatch)
    assert rg.scan(graph, method="frames") == "result"
    assert [argument for argument, _ in calls] == [graph]


def test_an_algorithm_without_a_frame_form(monkeypatch):
    monkeypatch.delitem(IMPLEMENTATIONS["scan"], FrameGraph)
    with pytest.raises(rg.GraphError, match="scan has no frame form; use method 'auto'") as info:
        rg.scan(EDGES, method="frames")
    assert (info.value.parameter, info.value.value) == ("method", "frames")


def test_graphs_and_frames_have_a_column_of_the_table():
    dask = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    graph = rg.Graph(EDGES)
    assert graph_type(graph._storage) is LocalGraph
    assert graph_type(EDGES) is LocalGraph
    assert graph_type(rg.LayeredEdgeList.build(graph, 0)._storage) is LayeredStorage
    assert graph_type(dask.from_pandas(pandas.DataFrame(EDGES), npartitions=1)) is DistributedGraph


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("graph", [None, 3, "edges.csv", object()])
def test_anything_else_is_not_a_graph(name, graph):
    arguments = (0,) if name in ("bfs", "sssp") else ARGUMENTS.get(name, ())
    with pytest.raises(rg.GraphError):
        getattr(rg, name)(graph, *arguments)
