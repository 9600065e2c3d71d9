"""Checks of arguments: which values pass, and the parameter and value of the error."""

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import rapidsgraph as rg
from rapidsgraph import validation
from rapidsgraph.errors import GraphError, InsufficientMemoryError

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("check", "arguments", "value"),
    [
        (validation.check_choice, (("a", "b"),), "c"),
        (validation.check_choice, (("a", "b"),), None),
        (validation.check_choice, (("a", "b"),), ["a"]),
        (validation.check_flag, (), 1),
        (validation.check_flag, (), "yes"),
        (validation.check_count, (), 0),
        (validation.check_count, (), 2**63),
        (validation.check_count, (), 1.0),
        (validation.check_count, (), True),
        (validation.check_count, (), np.timedelta64(1, "s")),
        (validation.check_number, (), -1e-300),
        (validation.check_number, (), NAN),
        (validation.check_number, (), "1"),
        (validation.check_number, (), True),
        (validation.check_number, (), np.timedelta64(1, "s")),
        (validation.check_number, (1,), 1.5),
    ],
)
def test_an_error_has_the_parameter_and_the_value(check, arguments, value):
    with pytest.raises(GraphError, match="^option is ") as info:
        check("option", value, *arguments)
    assert info.value.parameter == "option"
    assert info.value.value is value
    assert str(info.value.with_fields(parameter="--option")).startswith("--option is ")


@pytest.mark.parametrize("progress", ["yes", 1, np.True_])
def test_progress_is_a_flag_or_a_function(progress, tmp_path):
    graph = rg.Graph({"source": [0], "destination": [1]})
    calls = (
        partial(rg.pagerank, graph), partial(rg.bfs, graph, 0), partial(rg.sssp, graph, 0),
        partial(rg.LayeredEdgeList.build, graph, 0),
        partial(rg.LayeredEdgeList.build(graph, 0).save, tmp_path / "layers"),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(GraphError, match="progress is .*; it can be True, False, None or a"):
            call(progress=progress)


def test_valid_values_pass():
    validation.check_choice("option", "a", ("a", "b"))
    for flag in (True, False, np.True_):
        validation.check_flag("option", flag)
    for count in (1, 2**63 - 1, np.int8(3)):
        validation.check_count("option", count)
    for number in (0, 0.5, 1, np.float32(0.25), np.int64(1)):
        value = validation.check_number("option", number, 1)
        assert (type(value), value) == (float, number)
    assert validation.check_number("option", 10**400) == INF


@pytest.mark.parametrize(
    ("value", "num_bytes"),
    [
        (1, 1),
        (1.9, 1),
        (np.int32(5), 5),
        ("1", 1),
        ("2GB", 2 * 10**9),
        (" 512 MiB ", 512 * 2**20),
        ("1.5kb", 1500),
        ("3G", 3 * 10**9),
    ],
)
def test_parse_bytes(value, num_bytes):
    assert validation.parse_bytes(value, "memory_limit") == num_bytes


@pytest.mark.parametrize(
    "value", [0, -1, True, None, NAN, INF, 2**63, "", "GB", "2 XB", "-1", "1e9"]
)
def test_bytes_that_are_refused(value):
    with pytest.raises(GraphError, match="a string like '2GB'") as info:
        validation.parse_bytes(value, "memory_limit")
    assert info.value.parameter == "memory_limit"
    assert info.value.value is value


def test_paths():
    assert validation.check_path("~/edges.csv") == Path.home() / "edges.csv"
    assert validation.check_path(Path("a")) == Path("a")
    for path in ("", None, 3, b"a", "a\0b", "\ud800", "~no-such-user-of-this-machine/a"):
        with pytest.raises(GraphError) as info:
            validation.check_path(path)
        assert path in (info.value.value, str(info.value.path))


def test_free_memory(monkeypatch):
    monkeypatch.setattr(validation.device, "free_memory", lambda xp: 10**9)
    validation.check_free_memory("a build", 10**9, np)
    needed = 10**9 + 1
    with pytest.raises(InsufficientMemoryError, match="a build needs about 1.01 GB") as info:
        validation.check_free_memory("a build", needed, np)
    assert (info.value.needed, info.value.free, info.value.where) == (needed, 10**9, "in memory")


def test_free_memory_is_not_read_for_few_bytes(monkeypatch):
    monkeypatch.setattr(validation.device, "free_memory", lambda xp: 0)
    few = validation.MIN_CHECKED_BYTES - 1
    validation.check_free_memory("a build", few, np)
    with pytest.raises(InsufficientMemoryError):
        validation.check_free_memory("a build", few + 1, np)


@pytest.mark.parametrize(
    ("sources", "destinations", "labels"),
    [
        (["from"], ["to"], ["vertex"]),
        (["from", "zip"], ["to", "zip"], ["vertex", "zip"]),
        (["a", "b"], ["c", "d"], ["vertex_0", "vertex_1"]),
        (["a"], ["a"], ["a"]),
    ],
)
def test_labels_of_name_columns(sources, destinations, labels):
    assert validation.vertex_labels(sources, destinations) == labels


def test_labels_must_differ():
    with pytest.raises(GraphError, match="would be called 'vertex'") as info:
        validation.vertex_labels(["from", "vertex"], ["to", "vertex"])
    assert info.value.column == "vertex"


@pytest.mark.parametrize(
    ("dtype", "checked"),
    [
        ("int8", "int32"),
        ("int32", "int32"),
        ("int64", "int64"),
        ("uint8", "int64"),
        ("uint64", "int64"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
    ],
)
def test_types_of_weights(dtype, checked):
    weights = validation.check_weights(np.array([0, 3, 7], dtype)[::-1], "km", np)
    assert (weights.dtype, weights.tolist()) == (checked, [7, 3, 0])
    assert weights.flags.c_contiguous


def test_large_unsigned_weights_are_floating_point():
    weights = validation.check_weights(np.array([2**63], "uint64"), "km", np)
    assert (weights.dtype, weights[0]) == ("float64", 2.0**63)


@pytest.mark.parametrize("value", [-3.5, NAN, INF, -INF])
def test_a_weight_that_is_refused_has_its_row_and_column(value):
    weights = np.array([1.0, 0.0, value, -1.0])
    with pytest.raises(GraphError, match="weight in row 2 of column 'km' is ") as info:
        validation.check_weights(weights, "km", np)
    error = info.value
    assert (error.parameter, error.column, error.row) == ("weight", "km", 2)
    assert repr(error.value) == repr(value)


def test_weights_that_are_not_numbers():
    with pytest.raises(GraphError, match="weights in column 'km' must be numbers, not bool"):
        validation.check_weights(np.array([True]), "km", np)


def test_number_of_vertices():
    assert validation.check_vertex_count(np.int64(5)) == 5
    with pytest.raises(GraphError, match="file: 2147483648 vertices; 2147483647 is the most"):
        validation.check_vertex_count(2**31, "file: ")
