"""What users see of the package: names, signatures, documentation and types."""

import inspect
import pickle
from pathlib import Path

import pytest

import rapidsgraph as rg

validate = pytest.importorskip("numpydoc.validate").validate

# Checks of numpydoc that do not hold here: extended summaries, See Also sections and the order of
# sections are up to each function; summaries may take two lines; properties have no examples.
IGNORED = {"ES01", "EX01", "GL01", "GL02", "SA01", "SA04", "SS06", "YD01", "PR09", "RT05"}
FUNCTIONS = [name for name in rg.__all__ if inspect.isfunction(getattr(rg, name))]
CLASSES = [name for name in rg.__all__ if inspect.isclass(getattr(rg, name))]
GRAPH_CLASSES = ["Graph", "LayeredEdgeList", "ScanIndex"]


def members(name):
    return [each for each in vars(getattr(rg, name)) if not each.startswith("_")]


def documented():
    yield from FUNCTIONS
    yield from CLASSES
    for name in GRAPH_CLASSES:
        yield from (f"{name}.{each}" for each in members(name))


@pytest.mark.parametrize("name", documented())
def test_public_docstrings_follow_numpydoc(name):
    found = validate(f"rapidsgraph.{name}")["errors"]
    ignored = IGNORED | {"PR01"} if issubclass_of_error(name) else IGNORED
    assert [error for error in found if error[0] not in ignored] == []


def issubclass_of_error(name):
    value = getattr(rg, name, None)
    return inspect.isclass(value) and issubclass(value, Exception)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_are_annotated(name):
    signature = inspect.signature(getattr(rg, name))
    missing = [
        each.name
        for each in signature.parameters.values()
        if each.annotation is inspect.Parameter.empty
    ]
    assert missing == []
    assert signature.return_annotation is not inspect.Signature.empty


@pytest.mark.parametrize("name", GRAPH_CLASSES)
def test_help_lists_public_members_only(name):
    """Public members are documented; the state of an object is private."""
    undocumented = [
        each for each in members(name) if not inspect.getdoc(getattr(getattr(rg, name), each))
    ]
    assert undocumented == []


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
