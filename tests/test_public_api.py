"""What users see of the package: names, signatures, documentation and types."""

import inspect
import pickle
import re
from pathlib import Path
from typing import get_args

import pytest

import rapidsgraph as rg
from rapidsgraph.algorithms.pagerank import PRECISIONS, Precision
from rapidsgraph.algorithms.run_memory import ALGORITHM_BYTES, Algorithm
from rapidsgraph.graph.multi_edges import MULTI_EDGES, MultiEdges

validate = pytest.importorskip("numpydoc.validate").validate

# Checks of numpydoc that do not hold here: extended summaries, See Also sections and the order of
# sections are up to each function; summaries may take two lines; properties have no examples.
IGNORED = {"ES01", "EX01", "GL01", "GL02", "SA01", "SA04", "SS06", "YD01", "PR09", "RT05"}
FUNCTIONS = [name for name in rg.__all__ if inspect.isfunction(getattr(rg, name))]
CLASSES = [name for name in rg.__all__ if inspect.isclass(getattr(rg, name))]
GRAPH_CLASSES = ["Graph", "LayeredEdgeList", "ScanIndex"]


def members(name):
    return [member for member in dir(getattr(rg, name)) if not member.startswith("_")]


def documented():
    yield from FUNCTIONS
    yield from CLASSES
    for name in GRAPH_CLASSES:
        yield from (f"{name}.{member}" for member in members(name))


@pytest.mark.parametrize("name", [*documented()])
def test_public_docstrings_follow_numpydoc(name):
    found = validate(f"rapidsgraph.{name}")["errors"]
    ignored = IGNORED | {"PR01"} if issubclass_of_error(name) else IGNORED
    errors = [f"{code}: {message}" for code, message in found if code not in ignored]
    assert not errors, f"docstring of rapidsgraph.{name}: {'; '.join(errors)}"


def issubclass_of_error(name):
    value = getattr(rg, name, None)
    return inspect.isclass(value) and issubclass(value, Exception)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_are_annotated(name):
    signature = inspect.signature(getattr(rg, name))
    missing = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.annotation is inspect.Parameter.empty
    ]
    assert missing == []
    assert signature.return_annotation is not inspect.Signature.empty


MEMBERS = {
    "Graph": (
        "compute degrees device directed edges nbytes neighborhood num_edges num_vertices report "
        "reverse subgraph to_igraph to_networkx to_scipy to_undirected vertices weighted"
    ),
    "LayeredEdgeList": (
        "build cached combined depth device directed edges last_run layers nbytes num_edges "
        "num_vertices open path root save weighted"
    ),
    "ScanIndex": "device nbytes num_edges num_vertices open query save sweep",
}


@pytest.mark.parametrize("name", GRAPH_CLASSES)
def test_help_lists_public_members_only(name):
    """State and internal constructors are private, and every member is documented."""
    graph_type = getattr(rg, name)
    assert [key for key in dir(graph_type) if not key.startswith("_")] == MEMBERS[name].split()
    assert all(inspect.getdoc(getattr(graph_type, member)) for member in members(name))


def test_tables_have_a_row_for_each_value_of_an_option():
    assert set(get_args(MultiEdges)) == MULTI_EDGES.keys()
    assert set(get_args(Precision)) == PRECISIONS.keys()
    assert set(get_args(Algorithm)) == ALGORITHM_BYTES.keys()
    documented_names = rg.estimate_memory.__doc__.partition("algorithm : {")[2].partition("}")[0]
    assert set(re.findall(r'"(\w+)"', documented_names)) == ALGORITHM_BYTES.keys()


def test_the_signature_of_graph_is_explicit():
    assert list(inspect.signature(rg.Graph).parameters) == [
        "edges", "source", "destination", "weight", "directed", "multi_edges", "self_loops",
        "vertices",
    ]  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_can_be_pickled(name):
    function = getattr(rg, name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_types_are_shipped():
    assert (Path(rg.__file__).parent / "py.typed").exists()
