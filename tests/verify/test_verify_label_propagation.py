"""The check of labels finds whatever is changed."""

import numpy as np
import pandas
import pytest

import rapidsgraph as rg


def make_result(labels):
    return pandas.DataFrame({"vertex": range(len(labels)), "label": labels})


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0, 0, 0], "vertex 3 has the label 0; after 10 iterations it must be 3"),
        ([1, 1, 1, 3], "vertex 0 has the label 1; after 10 iterations it must be 0"),
        ([0, 0, 0, 4], "a label: vertex 4 is not in the graph"),
        ([0, 0, 0], "0 rows for vertex 3"),
    ],
)
def test_wrong_labels(labels, message):
    edges = {"source": [0, 1, 2], "destination": [1, 2, 0]}
    graph = rg.Graph(pandas.DataFrame(edges), vertices=4)
    assert rg.verify.label_propagation(graph, make_result([0, 0, 0, 3])) == 2
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.label_propagation(graph, make_result(labels))


def test_a_missing_column():
    edges = {"source": [0], "destination": [1]}
    with pytest.raises(rg.MissingColumnError, match="label"):
        rg.verify.label_propagation(edges, pandas.DataFrame({"vertex": [0, 1]}))


def test_every_single_change_and_other_iterations():
    random = np.random.default_rng(4)
    for directed in (True, False):
        ends = random.integers(0, 12, (2, 20))
        edges = pandas.DataFrame(dict(zip(("source", "destination"), ends)))
        graph = rg.Graph(edges, vertices=12, directed=directed)
        result = rg.label_propagation(graph, iterations=3).sample(frac=1, random_state=1)
        result = result.reset_index(drop=True)
        rg.verify.label_propagation(graph, result, iterations=3)
        with pytest.raises(rg.VerificationError):
            rg.verify.label_propagation(graph, result, iterations=1)
        for row in range(12):
            for label in {*range(12)} - {int(result["label"][row])}:
                wrong = result.copy()
                wrong.loc[row, "label"] = label
                with pytest.raises(rg.VerificationError):
                    rg.verify.label_propagation(graph, wrong, iterations=3)
