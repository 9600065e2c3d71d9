"""Keyword arguments of other libraries are answered with those of this one."""

import functools
import inspect

import pandas
import pytest

import rapidsgraph as rg
from rapidsgraph.io.edge_files import CSV_CALLS
from rapidsgraph.validation import EQUIVALENTS, GRAPH_CALLS

EDGES = pandas.DataFrame({"source": [0, 1], "destination": [1, 2]})


@pytest.mark.parametrize(
    ("name", "arguments", "suggestion"),
    [
        ("pagerank", {"alpha": 0.9}, "damping=..."),
        ("pagerank", {"max_iter": 10}, "max_iterations=..."),
        ("pagerank", {"tol": 1e-3}, "tolerance=..."),
        ("pagerank", {"nstart": {}}, "start=..."),
        ("pagerank", {"weight": "km"}, "rg.Graph(edges, weight=...)"),
        ("pagerank", {"edge_attr": "km"}, "rg.Graph(edges, weight=...)"),
        ("pagerank", {"source": "src"}, "rg.Graph(edges, source=...)"),
        ("pagerank", {"max_iteration": 9}, "max_iterations=..."),
        ("bfs", {"source": 0, "return_predecessors": False}, "predecessors=..."),
        ("bfs", {"start": 0}, "source=..."),
        ("bfs", {"source": 0, "cutoff": 2}, "depth_limit=..."),
        ("sssp", {"source": 0, "depth_limit": 2}, "cutoff=..."),
        ("sssp", {"source": 0, "weight": "km"}, "rg.Graph(edges, weight=...)"),
        ("connected_components", {"connection": "strong"}, "strong=..."),
        ("connected_components", {"directed": False}, "rg.Graph(edges, directed=...)"),
        ("scan", {"eps": 0.5}, "epsilon=..."),
        ("scan", {"min_samples": 2}, "mu=..."),
        ("structural_similarity", {"metod": "auto"}, "method=..."),
        ("triangle_count", {"metod": "auto"}, "method=..."),
        ("neighbor_similarity", {"kinds": "cosine"}, "kind=..."),
        ("clustering_coefficient", {"directed": False}, "rg.Graph(edges, directed=...)"),
        ("from_networkx", {"edge_attr": "km"}, "weight=..."),
        ("from_igraph", {"weights": "km"}, "weight=..."),
        ("from_scipy", {"nodelist": []}, "names=..."),
    ],
)
def test_suggestions(name, arguments, suggestion):
    with pytest.raises(TypeError) as caught:
        getattr(rg, name)(EDGES, **arguments)
    (keyword,) = arguments.keys() - {"source"} or arguments.keys()
    assert str(caught.value) == (
        f"{name}() got an unexpected keyword argument {keyword!r}; did you mean {suggestion}?"
    )


def test_a_graph_by_keyword():
    with pytest.raises(TypeError, match=r"did you mean graph=\.\.\.\?"):
        rg.pagerank(G=EDGES)


def test_without_a_suggestion_the_error_is_that_of_python():
    with pytest.raises(TypeError, match=r"pagerank\(\) got an unexpected keyword argument 'zzz'"):
        rg.pagerank(EDGES, zzz=1)


def test_options_by_position():
    with pytest.raises(TypeError) as caught:
        rg.pagerank(EDGES, 0.85)
    assert str(caught.value) == (
        "pagerank() takes 1 positional argument but 2 were given; pass options by keyword, such as "
        "damping=..."
    )


@pytest.mark.parametrize("name", ["pagerank", "bfs", "sssp", "connected_components", "scan"])
def test_signatures_and_documentation_stay_as_they_are(name):
    function = getattr(rg, name)
    assert next(iter(inspect.signature(function).parameters)) == "graph"
    assert function.__doc__
    assert function.__name__ == name


def public_callables():
    """Parameters for the public functions, constructors, class methods and methods with options."""
    modules = {"generate", "plot", "verify"}
    functions = {name: getattr(rg, name) for name in rg.__all__ if name not in modules}
    functions = {
        name: function for name, function in functions.items() if inspect.isfunction(function)
    }
    for name in modules:
        module = getattr(rg, name)
        own = {key: getattr(module, key) for key in module.__all__}
        functions |= {
            f"{name}.{key}": function
            for key, function in own.items()
            if inspect.isfunction(function)
        }
    for path in (
        "Graph", "ScanIndex", "ScanIndex.open", "ScanIndex.query", "ScanIndex.sweep",
        "LayeredEdgeList.build", "LayeredEdgeList.cached", "LayeredEdgeList.open",
    ):  # fmt: skip
        functions[path] = functools.reduce(getattr, path.split("."), rg)
    return [pytest.param(function, id=name) for name, function in sorted(functions.items())]


@pytest.mark.parametrize("function", public_callables())
def test_every_public_callable_suggests_its_parameters(function):
    parameter = list(inspect.signature(function).parameters)[-1]
    misspelt = f"{parameter}{parameter[-1]}"
    with pytest.raises(
        TypeError, match=rf"keyword argument '{misspelt}'; did you mean {parameter}="
    ):
        function(**{misspelt: 1})


@pytest.mark.parametrize(
    ("function", "keyword", "message"),
    [
        (rg.Graph, "weights", "Graph() got an unexpected keyword argument 'weights'; did you mean "
         "weight=...?"),
        (rg.Graph, "device", "Graph() got an unexpected keyword argument 'device'; did you mean "
         "rg.read_edges(path, device=...)?"),
        (rg.pagerank, "device", "pagerank() got an unexpected keyword argument 'device'; did you "
         "mean rg.read_edges(path, device=...)?"),
        (rg.shortest_path, "device", "shortest_path() got an unexpected keyword argument 'device'; "
         "did you mean rg.read_edges(path, device=...)?"),
        (rg.ScanIndex, "eps", "ScanIndex() got an unexpected keyword argument 'eps'; did you mean "
         "rg.ScanIndex(graph).query(epsilon=...)?"),
        (rg.cluster, "n_workers", "cluster() got an unexpected keyword argument 'n_workers'; did "
         "you mean workers=...?"),
        (rg.read_edges, "sep", "read_edges() got an unexpected keyword argument 'sep'; did you "
         "mean pandas.read_csv(path, sep=...)?"),
        (rg.LayeredEdgeList.build, "src", "LayeredEdgeList.build() got an unexpected keyword "
         "argument 'src'; did you mean source=...?"),
    ],
)  # fmt: skip
def test_constructors_readers_and_class_methods(function, keyword, message):
    with pytest.raises(TypeError) as caught:
        function("edges", **{keyword: 1})
    assert str(caught.value) == message


def test_options_of_a_graph_are_its_parameters():
    assert list(GRAPH_CALLS) == list(inspect.signature(rg.Graph).parameters)[1:]


def test_every_equivalent_is_a_parameter():
    functions = [parameter.values[0] for parameter in public_callables()]
    functions.append(rg.Graph.neighborhood)
    names = {name for function in functions for name in inspect.signature(function).parameters}
    for equivalents in EQUIVALENTS.values():
        assert set(equivalents) <= names | CSV_CALLS.keys()
