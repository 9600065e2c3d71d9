"""The picture shows the numbers it is given."""

import builtins
import os
import sys

import numpy as np
import pandas as pd
import pytest

from rapidsgraph import plot
from rapidsgraph.errors import GraphError

pytest.importorskip("matplotlib")


def ranks(values):
    return pd.DataFrame({"vertex": np.arange(len(values)), "pagerank": values})


def curve(figure):
    line = figure.axes[0].lines[0]
    return dict(zip(line.get_xdata(), line.get_ydata()))


def test_share_of_vertices_with_at_least_this_rank():
    figure = plot.distribution(ranks([0.1, 0.4, 0.1, 0.2, 0.2]))
    assert curve(figure) == {0.1: 1.0, 0.2: 0.6, 0.4: 0.2}
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_title() == "PageRank of 5 vertices"
    assert axes.get_xlabel() == "PageRank (probability of being at the vertex)"
    assert axes.get_ylabel() == "share of vertices with at least this rank"
    assert axes.lines[1].get_xdata() == [0.2, 0.2]  # the average


def test_many_vertices_are_thinned_out_and_stay_exact():
    values = np.random.default_rng(1).pareto(1.1, 200_000)
    shown = curve(plot.distribution(ranks(values)))
    assert 500 < len(shown) <= plot.POINTS
    assert {values.min(), values.max()} <= set(shown)
    for value in list(shown)[::100]:
        assert shown[value] == (values >= value).mean()


def test_ranks_of_zero_are_counted_and_named():
    figure = plot.distribution(ranks([0.0, 0.5, 0.0, 0.5]))
    assert curve(figure) == {0.5: 0.5}
    assert figure.get_supxlabel() == "not shown: 2 vertices of rank 0"


@pytest.mark.parametrize(
    ("ending", "start"), [(".png", b"\x89PNG"), (".PDF", b"%PDF"), (".svg", b"<?xml")]
)
def test_written_without_a_window_system(tmp_path, ending, start):
    plot.distribution(ranks([0.25, 0.75]), tmp_path / f"a{ending}")
    assert (tmp_path / f"a{ending}").read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [f"a{ending}"]
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        ([], "a.png", "nothing to draw"),
        ([0.0], "a.png", "no vertex has a rank above 0"),
        ([np.nan, 1.0], "a.png", "finite number in every row"),
        ([1.0], "a.bmp", "'.bmp' is not known; try .png .svg .pdf"),
        ([1.0], "none/a.png", "does not exist"),
    ],
)
def test_what_cannot_be_drawn(tmp_path, values, name, message):
    with pytest.raises(GraphError, match=message):
        plot.distribution(ranks(values), tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments):
        if name.startswith("matplotlib"):
            raise ImportError(f"No module named {name!r}")
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(GraphError, match=r"install rapidsgraph\[plot\]"):
        plot.distribution(ranks([1.0]))
