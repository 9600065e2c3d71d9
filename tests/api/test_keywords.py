"""Keyword arguments of other libraries are answered with those of this one."""

import inspect

import pandas
import pytest

import rapidsgraph as rg
from rapidsgraph.api.keywords import EQUIVALENTS, GRAPH_PARAMETERS

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
    with pytest.raises(TypeError, match="positional argument"):
        rg.pagerank(EDGES, 0.85)


@pytest.mark.parametrize("name", ["pagerank", "bfs", "sssp", "connected_components", "scan"])
def test_signatures_and_documentation_stay_as_they_are(name):
    function = getattr(rg, name)
    assert next(iter(inspect.signature(function).parameters)) == "graph"
    assert function.__doc__
    assert function.__name__ == name


def test_every_equivalent_is_a_parameter():
    functions = [getattr(rg, name) for name in rg.__all__]
    functions = [each for each in functions if inspect.isfunction(each)]
    names = {name for each in functions for name in inspect.signature(each).parameters}
    for equivalents in EQUIVALENTS.values():
        assert set(equivalents) <= names | set(GRAPH_PARAMETERS)
