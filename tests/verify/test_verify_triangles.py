"""The checks of triangles and clustering coefficients find whatever is changed."""

import numpy as np
import pandas
import pytest
from clusterings import frame_columns
from conftest import FrameMaker, random_edges

import rapidsgraph as rg
from rapidsgraph.verify import triangles

EDGES = {"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]}
CHECKS = {
    "triangles": (rg.triangle_count, rg.verify.triangle_count),
    "coefficient": (rg.clustering_coefficient, rg.verify.clustering_coefficient),
}


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("triangles", [1, 1, 1, 1], "vertex 3 has triangles 1; its edges make it 0"),
        ("triangles", [1, 1, 2, 0], "vertex 2 has triangles 2; its edges make it 1"),
        ("triangles", [1, 1, np.nan, 0], "vertex 2 .* must hold a finite number"),
        ("coefficient", [0.5, 0.5, 0.5, 0], "vertex 2 has coefficient 0.5; .* 0.1666666"),
        ("coefficient", [0.5, 0.5 + 1e-9, 1 / 6, 0], "vertex 1 has coefficient 0.500000001;"),
    ],
)
def test_wrong_values(column, values, message):
    edges = pandas.DataFrame(EDGES)
    compute, verify = CHECKS[column]
    verify(edges, compute(edges))
    with pytest.raises(rg.VerificationError, match=message) as error:
        verify(edges, pandas.DataFrame({"vertex": range(4), column: values}))
    assert error.value.column == column


@pytest.mark.parametrize("column", CHECKS)
def test_every_single_change(make_arrays, monkeypatch, column):
    """Of a GPU's results few values are changed: each check is thousands of small operations."""
    monkeypatch.setattr(triangles, "CHUNK_LOOKUPS", 70 if make_arrays.on_gpu else 7)
    compute, verify = CHECKS[column]
    frame = make_arrays(frame_columns(random_edges(8, 20, 100)))
    for directed in (True, False):
        graph = rg.Graph(frame, directed=directed, multi_edges="keep", vertices=22)
        result = compute(graph)
        verify(graph, result)
        for vertex in (0, 13) if make_arrays.on_gpu else range(22):
            wrong = {name: values.copy() for name, values in result.items()}
            wrong[column][vertex] += 1
            with pytest.raises(rg.VerificationError, match=f"vertex {vertex} has {column}"):
                verify(graph, wrong)


def test_no_edges():
    graph = rg.Graph(FrameMaker("arrays")({"source": [], "destination": []}), vertices=2)
    assert rg.verify.triangle_count(graph, rg.triangle_count(graph)) == 0
    assert rg.verify.clustering_coefficient(graph, rg.clustering_coefficient(graph)) == 0
