"""Figures show in notebooks by themselves."""

import pickle

import pandas
import pytest

import rapidsgraph as rg

pytest.importorskip("matplotlib")

EDGES = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})


@pytest.mark.parametrize(
    "plot",
    [
        lambda: rg.plot.distribution(rg.bfs(EDGES, 0)),
        lambda: rg.plot.adjacency(EDGES, rg.scan(EDGES)),
        lambda: rg.plot.sweep(rg.ScanIndex(EDGES).sweep([0.5, 0.7], [2, 3])),
    ],
    ids=["distribution", "adjacency", "sweep"],
)
def test_a_figure_shows_as_an_image(plot):
    assert plot()._repr_png_().startswith(b"\x89PNG")


def test_a_figure_can_be_pickled():
    figure = pickle.loads(pickle.dumps(rg.plot.distribution(rg.bfs(EDGES, 0))))
    assert figure._repr_png_().startswith(b"\x89PNG")
