"""The table of implementations: an algorithm and an engine select a function."""

import inspect
import subprocess
import sys
import typing

import pytest

import rapidsgraph as rg
from rapidsgraph import frames
from rapidsgraph.algorithms.parameters import Parameters
from rapidsgraph.dispatch import DISTRIBUTED_FUNCTIONS, ENGINES, IMPLEMENTATIONS, engine_of, load
from rapidsgraph.distributed.graph import DistributedGraph
from rapidsgraph.distributed.layered_storage import DistributedLayeredStorage
from rapidsgraph.graph.local_graph import LocalGraph
from rapidsgraph.layered.storage import LayeredStorage
from rapidsgraph.relational.frame_graph import FrameGraph
from rapidsgraph.relational.run_memory import FRAME_BYTES

EDGES = {"source": [0, 1], "destination": [1, 2]}
PACKAGES = {
    "local": "algorithms",
    "layered": "layered",
    "distributed": "distributed",
    "distributed_layered": "distributed",
    "frames": "relational",
}
STORAGES = {
    "local": LocalGraph,
    "layered": LayeredStorage,
    "distributed": DistributedGraph,
    "distributed_layered": DistributedLayeredStorage,
    "frames": FrameGraph,
}
ARGUMENTS = {"shortest_path": (0, 1)}  # after the graph, where they are required
# The class of the parameters of an algorithm is what its implementations are annotated with.
PARAMETERS = {
    name: typing.get_type_hints(inspect.unwrap(load(row["local"])))["parameters"]
    for name, row in IMPLEMENTATIONS.items()
}
ENTRIES = [(name, engine) for name, row in IMPLEMENTATIONS.items() for engine in row]
WITH_METHODS = [name for name, row in IMPLEMENTATIONS.items() if "frames" in row]
LAYERED_MISSING = [
    (name, engine)
    for name in IMPLEMENTATIONS
    for engine in ("layered", "distributed_layered")
    if (name, engine) not in ENTRIES
]


@pytest.mark.parametrize(("name", "engine"), ENTRIES)
def test_an_implementation_is_a_function_of_the_package_of_its_engine(name, engine):
    reference = IMPLEMENTATIONS[name][engine]
    implementation = inspect.unwrap(load(reference))
    assert inspect.isfunction(implementation)
    assert implementation.__name__ == name
    assert f"{implementation.__module__}:{name}" == f"rapidsgraph.{reference}"
    assert reference.startswith(f"{PACKAGES[engine]}.")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_storage_of_an_engine_names_it(engine):
    assert STORAGES[engine].engine == engine
    assert engine_of(object.__new__(STORAGES[engine])) == engine


@pytest.mark.parametrize("name", DISTRIBUTED_FUNCTIONS)
def test_the_functions_of_distributed_graphs_exist(name):
    assert callable(load(DISTRIBUTED_FUNCTIONS[name]))


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_every_algorithm_is_public_and_runs_in_memory(name):
    assert name in rg.__all__, f"add {name!r} to _MODULES in rapidsgraph/__init__.py"
    assert getattr(rg, name).__module__.startswith("rapidsgraph.api.")
    assert "local" in IMPLEMENTATIONS[name]


@pytest.mark.parametrize("name", WITH_METHODS)
def test_the_memory_of_every_frame_form_is_estimated(name):
    assert name in FRAME_BYTES, f"add {name!r} to FRAME_BYTES in relational/run_memory.py"


@pytest.mark.parametrize(("name", "engine"), ENTRIES)
def test_an_implementation_takes_a_graph_and_valid_parameters(name, engine):
    """All engines of an algorithm take the same ones: the public function has the others."""
    function = inspect.unwrap(load(IMPLEMENTATIONS[name][engine]))
    hints = typing.get_type_hints(function)
    assert len(inspect.signature(function).parameters) == 2
    assert issubclass(hints["parameters"], Parameters)
    assert hints["parameters"] is PARAMETERS[name]
    result = tuple[frames.Frame, int, float] if name == "pagerank" else frames.Frame
    assert hints["return"] == result


@pytest.mark.parametrize(("name", "engine"), ENTRIES)
def test_the_type_of_the_graph_selects_the_implementation(name, engine, monkeypatch):
    graph = object.__new__(STORAGES[engine])
    calls = observe(name, engine, monkeypatch)
    assert getattr(rg, name)(graph, *ARGUMENTS.get(name, ())) == "result"
    [(argument, parameters)] = calls
    assert argument is graph
    assert type(parameters) is PARAMETERS[name]


def observe(name, engine, monkeypatch):
    """Replace an implementation and return the list of its calls."""
    calls = []

    def implementation(graph, parameters):
        calls.append((graph, parameters))
        return ("result", 1, 0.0) if name == "pagerank" else "result"

    reference = IMPLEMENTATIONS[name][engine]
    monkeypatch.setattr(f"rapidsgraph.{reference.replace(':', '.')}", implementation)
    return calls


@pytest.mark.parametrize("name", WITH_METHODS)
def test_method_frames_selects_the_relational_implementation(name, monkeypatch):
    calls = observe(name, "frames", monkeypatch)
    getattr(rg, name)(EDGES, *ARGUMENTS.get(name, ()), method="frames")
    assert [graph for graph, _ in calls] == [EDGES]


@pytest.mark.parametrize(
    ("name", "method", "engine", "kind"),
    [
        ("pagerank", "edge", "distributed", "distributed graphs"),
        ("scan", "gpuscan", "distributed", "distributed graphs"),
        ("pagerank", "warp", "layered", "layered edge lists"),
        ("pagerank", "warp", "distributed_layered", "layered edge lists"),
    ],
)
def test_some_methods_need_a_graph_in_one_memory(name, method, engine, kind):
    with pytest.raises(rg.GraphError, match=f"'{method}' is not supported for {kind}") as info:
        getattr(rg, name)(object.__new__(STORAGES[engine]), method=method)
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


@pytest.mark.parametrize(("name", "engine"), LAYERED_MISSING)
def test_a_missing_implementation_is_an_error_that_names_those_that_exist(name, engine):
    with pytest.raises(rg.GraphError, match=f"^{name} does not support layered edge lists") as info:
        getattr(rg, name)(object.__new__(STORAGES[engine]))
    assert info.value.parameter == "graph"
    supported = [other for other, row in IMPLEMENTATIONS.items() if engine in row]
    assert f"; these do: {', '.join(supported)}. " in str(info.value)


def test_an_algorithm_without_a_distributed_form_says_how_to_collect(monkeypatch):
    monkeypatch.delitem(IMPLEMENTATIONS["scan"], "distributed")
    graph = object.__new__(DistributedGraph)
    with pytest.raises(rg.GraphError, match=r"use method='frames', or call \.compute\(\) first"):
        rg.scan(graph)
    monkeypatch.delitem(IMPLEMENTATIONS["scan"], "frames")
    with pytest.raises(rg.GraphError, match=r"Dask cluster; call \.compute\(\) first"):
        rg.scan(graph)


def test_method_frames_needs_no_distributed_form(monkeypatch):
    monkeypatch.delitem(IMPLEMENTATIONS["scan"], "distributed")
    graph = object.__new__(DistributedGraph)
    calls = observe("scan", "frames", monkeypatch)
    assert rg.scan(graph, method="frames") == "result"
    assert [argument for argument, _ in calls] == [graph]


def test_an_algorithm_without_a_frame_form(monkeypatch):
    monkeypatch.delitem(IMPLEMENTATIONS["scan"], "frames")
    with pytest.raises(rg.GraphError, match="scan has no frame form; use method 'auto'") as info:
        rg.scan(EDGES, method="frames")
    assert (info.value.parameter, info.value.value) == ("method", "frames")


def test_graphs_and_frames_have_a_column_of_the_table():
    dask = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    graph = rg.Graph(EDGES)
    assert engine_of(graph) == engine_of(graph._storage) == "local"
    assert engine_of(EDGES) == engine_of(pandas.DataFrame({**EDGES, "engine": 1})) == "local"
    assert engine_of(rg.LayeredEdgeList.build(graph, 0)) == "layered"
    assert engine_of(dask.from_pandas(pandas.DataFrame(EDGES), npartitions=1)) == "distributed"


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("graph", [None, 3, "edges.csv", object()])
def test_anything_else_is_not_a_graph(name, graph):
    arguments = (0,) if name in ("bfs", "sssp") else ARGUMENTS.get(name, ())
    with pytest.raises(rg.GraphError):
        getattr(rg, name)(graph, *arguments)


IMPORTS = """
import sys, numba, pandas
before = {*sys.modules}
import rapidsgraph as rg
edges = pandas.DataFrame({"source": [0, 1], "destination": [1, 2]})
CALL
print(*sorted(name for name in sys.modules if name not in before))
"""


@pytest.mark.parametrize(
    ("call", "modules"),
    [
        ("rg.Graph(edges).edges", set()),
        ("rg.bfs(edges, 0)", {"traversal"}),
        ("rg.pagerank(rg.Graph(edges))", {"pagerank"}),
    ],
)
def test_a_call_imports_its_own_engine_only(call, modules):
    program = IMPORTS.replace("CALL", call)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    imported = run.stdout.split()
    top_level = {name.partition(".")[0] for name in imported}
    assert not top_level & {"asyncio", "dask", "distributed"}
    parts = [name.split(".") for name in imported if name.startswith("rapidsgraph.")]
    assert not {package for _, package, *_ in parts} & {
        "distributed", "io", "layered", "memory", "relational",
    }  # fmt: skip
    references = {row["local"].partition(":")[0] for row in IMPLEMENTATIONS.values()}
    implementations = {".".join(names[1:]) for names in parts} & references
    assert implementations == {f"algorithms.{module}" for module in modules}
