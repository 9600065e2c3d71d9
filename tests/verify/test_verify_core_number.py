"""The check of core numbers finds whatever is changed."""

import numpy as np
import pandas
import pytest

import rapidsgraph as rg

# A triangle 0, 1, 2 with a tail 3, 4; the vertex 5 alone.
EDGES = {"source": [0, 1, 2, 2, 3], "destination": [1, 2, 0, 3, 4]}
CORES = [2, 2, 2, 1, 1, 0]


def make_result(cores):
    return pandas.DataFrame({"vertex": range(len(cores)), "core": cores})


@pytest.mark.parametrize(
    ("cores", "message"),
    [
        ([2, 2, 2, 2, 1, 0], "vertex 3 has core number 2, but only 1 neighbors of that"),
        ([2, 2, 2, 1, 1, 1], "vertex 5 has core number 1, but only 0 neighbors"),
        ([1, 1, 1, 1, 1, 0], "vertex 0 has core number 1, but is in a subgraph .* 2 neighbors or"),
        ([2, 2, 2, 0, 0, 0], "vertex 3 has core number 0, but is in a subgraph .* 1 neighbors or"),
        ([2, 2, 2, 1, 1, -1], "vertex 5 has core number -1; core numbers are integers"),
        ([2, 2, 2, 1, 0.5, 0], "vertex 4 has core number 0.5; core numbers are integers"),
        ([2, 2, 2, 1, 1], "0 rows for vertex 5"),
        ([2, 2, 2, 1, 1, float("nan")], "vertex 5 has core nan"),
    ],
)
def test_wrong_core_numbers(cores, message):
    graph = rg.Graph(pandas.DataFrame(EDGES), vertices=6)
    assert rg.verify.core_number(graph, make_result(CORES)) == 2
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.core_number(graph, make_result(cores))


def test_every_single_change():
    random = np.random.default_rng(4)
    for _ in range(5):
        ends = random.integers(0, 12, (2, 30))
        graph = rg.Graph(pandas.DataFrame(dict(zip(EDGES, ends))), vertices=12)
        result = rg.core_number(graph).sample(frac=1, random_state=1)
        largest = rg.verify.core_number(graph, result)
        for row in range(12):
            for core in {*range(largest + 2)} - {int(result["core"].iloc[row])}:
                wrong = result.reset_index(drop=True)
                wrong.loc[row, "core"] = core
                with pytest.raises(rg.VerificationError):
                    rg.verify.core_number(graph, wrong)
