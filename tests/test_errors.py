"""Exceptions: messages, fields, pickling."""

import copy
import pickle

import numpy as np
import pytest

import rapidsgraph as rg
from rapidsgraph import errors
from rapidsgraph.errors import (
    ClusterError,
    ConvergenceError,
    GpuUnavailableError,
    GraphError,
    InsufficientMemoryError,
    MissingColumnError,
    SchedulerLostError,
    VerificationError,
    VertexNotFoundError,
    VertexTypeError,
    WorkerLostError,
    format_bytes,
    format_value,
)

FIELDS = {
    "parameter": "weight",
    "column": "km",
    "row": 12,
    "value": -3.5,
    "path": "roads.csv",
    "hint": "weights must be >= 0",
    "partition": 1,
}
ERRORS = [
    *(
        error_type("row {row} of {column}", **FIELDS)
        for error_type in (
            ClusterError,
            GpuUnavailableError,
            GraphError,
            VerificationError,
            VertexNotFoundError,
        )
    ),
    MissingColumnError(
        "no {column}", columns=["from", "to"], candidates={"source": "from"}, **FIELDS
    ),
    VertexTypeError("{parameter} is text", expected="text", **FIELDS),
    ConvergenceError(7, 0.5, 1e-6, {"vertex": [0], "pagerank": [1.0]}),
    InsufficientMemoryError("PageRank", 3 * 10**9, 10**9, "on the GPU"),
    InsufficientMemoryError("PageRank", 3 * 10**9, 10**9, "memory_limit"),
    WorkerLostError(None, 30.0),
    WorkerLostError("tcp://10.0.0.1:8786", 30.0),
    SchedulerLostError("tcp://10.0.0.1:8786", None),
    SchedulerLostError("tcp://10.0.0.1:8786", 30.0),
]


def test_the_list_has_every_exception():
    classes = {value for value in vars(errors).values() if isinstance(value, type)}
    assert {type(error) for error in ERRORS} == {
        error_type for error_type in classes if issubclass(error_type, GraphError)
    }


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("duplicate", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_copies_and_pickles_have_the_message_and_all_fields(error, duplicate):
    other = duplicate(error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert vars(other) == vars(error)


def test_fields_are_attributes_and_none_by_default():
    error = GraphError("wrong", **FIELDS)
    assert {name: getattr(error, name) for name in FIELDS} == FIELDS
    assert {name: getattr(GraphError("wrong"), name) for name in FIELDS} == dict.fromkeys(FIELDS)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"column": "km", "row": 12}, "weight in row 12 of column 'km' is {x}"),
        ({"parameter": "weight", "row": 0}, "weight in row 0 of weight is {x}"),
        ({"parameter": "weight", "column": 3}, "weight in row {row} of column 3 is {x}"),
        ({}, "weight in row {row} of {column} is {x}"),
        (
            {"column": "km", "row": 12, "partition": 0},
            "weight in row 12 of partition 0 of column 'km' is {x}",
        ),
        (
            {"column": "km", "partition": 0},
            "partition 0 of the Dask frame: weight in row {row} of column 'km' is {x}",
        ),
    ],
)
def test_placeholders_become_fields_and_other_braces_stay(fields, message):
    assert str(GraphError("weight in row {row} of {column} is {x}", **fields)) == message


def test_braces_of_values_and_paths_stay():
    error = GraphError(
        "{parameter}: vertex '{row}{hint}' is wrong",
        parameter="source",
        row=1,
        value="{row}{hint}",
        hint="no",
    )
    assert str(error) == "source: vertex '{row}{hint}' is wrong"
    assert str(error.with_path("{column}.csv", 7)) == f"{{column}}.csv, line 7: {error}"
    for duplicate in (copy.copy, lambda error: pickle.loads(pickle.dumps(error))):
        assert str(duplicate(error)) == str(error)
        assert str(duplicate(error).with_path("a.csv")) == f"a.csv: {error}"
    graph = rg.Graph({"source": ["a"], "destination": ["b"]})
    with pytest.raises(GraphError, match=r"^source: vertex '{parameter}' is not in the graph$"):
        rg.bfs(graph, "{parameter}")
    for name in ("{path}.csv", "{value}.csv", "{row}.csv"):
        with pytest.raises(GraphError, match=f"^{name}: there is no such file"):
            rg.read_edges(name)
    with pytest.raises(GraphError, match="no column '{value}'; the columns are source"):
        rg.Graph({"source": [0], "destination": [1]}, source="{value}")


def test_with_fields_changes_the_message_of_a_copy():
    error = VertexTypeError("{parameter}: row {row}", expected="text", parameter="source", row=1)
    other = error.with_fields(parameter="--from", row=5)
    assert (str(other), other.parameter, other.row) == ("--from: row 5", "--from", 5)
    assert (type(other), other.expected) == (VertexTypeError, "text")
    assert (str(error), error.parameter, error.row) == ("source: row 1", "source", 1)


def test_errors_are_also_those_that_python_code_catches():
    assert issubclass(GraphError, ValueError)
    assert issubclass(GpuUnavailableError, RuntimeError)
    assert issubclass(InsufficientMemoryError, MemoryError)
    assert issubclass(WorkerLostError, ClusterError)
    assert issubclass(SchedulerLostError, ClusterError)


def test_insufficient_memory_says_what_to_do():
    error = InsufficientMemoryError("PageRank", 3 * 10**9 + 1, 10**9, "on the GPU")
    message = "PageRank needs about 3.01 GB but only 1.00 GB are free on the GPU; use a machine"
    assert str(error).startswith(message)
    assert error.parameter is None
    limited = InsufficientMemoryError("PageRank", 3 * 10**9, 10**9, "memory_limit")
    message = "PageRank needs about 3.00 GB but memory_limit is 1.00 GB; raise the limit"
    assert str(limited) == message
    assert str(limited.with_fields(parameter="--memory-limit")).endswith(
        "but --memory-limit is 1.00 GB; raise the limit"
    )


def test_convergence_error_in_the_notation_of_the_caller():
    error = ConvergenceError(7, 0.5, 1e-6)
    assert "after 7 iterations" in str(error)
    assert str(error).endswith("raise max_iterations or tolerance, or give tolerance=0 to accept "
                               "the last values")  # fmt: skip
    assert "raise --max-iterations or --tolerance" in error.describe(
        "--max-iterations", "--tolerance", "--tolerance 0"
    )


def test_values_in_messages_have_a_limited_length():
    assert format_value("a") == "'a'"
    assert format_value("x" * 199) == f"'{'x' * 199}..."
    assert format_value(10**5000) == "int of thousands of digits"


class Unprintable:
    def __repr__(self):
        raise AssertionError


def test_values_that_are_not_shown_have_no_repr():
    text = format_value([0] * 1000 + [Unprintable()])
    assert text == f"{str([0] * 1000)[:200]}..."


def test_values_of_several_lines_are_shown_in_one():
    assert format_value(np.eye(2)) == "array([[1., 0.], [0., 1.]])"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.00 kB"),
        (1_504_000, "1.50 MB"),
        (2_000_000_000, "2.00 GB"),
        (10**24, "more than 10^24 bytes"),
    ],
)
def test_format_bytes(count, text):
    assert format_bytes(count) == text
