"""The plotted curve shows the values of the result."""

import builtins
import os
import sys

import numpy as np
import pandas as pd
import pytest

import rapidsgraph as rg
from rapidsgraph import plot
from rapidsgraph.errors import GraphError

pytest.importorskip("matplotlib")


def pagerank_frame(values):
    return pd.DataFrame({"vertex": np.arange(len(values)), "pagerank": values})


def curve(figure):
    line = figure.axes[0].lines[0]
    return dict(zip(line.get_xdata(), line.get_ydata()))


def test_fraction_of_vertices_with_at_least_this_pagerank():
    figure = plot.distribution(pagerank_frame([0.1, 0.4, 0.1, 0.2, 0.2]))
    assert curve(figure) == {0.1: 1.0, 0.2: 0.6, 0.4: 0.2}
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_title() == "PageRank of 5 vertices"
    assert axes.get_xlabel() == "PageRank (probability of being at the vertex)"
    assert axes.get_ylabel() == "fraction of vertices with at least this PageRank"
    assert axes.lines[1].get_xdata() == [0.2, 0.2]  # the average


def test_many_vertices_are_sampled_exactly():
    values = np.random.default_rng(1).pareto(1.1, 200_000)
    shown = curve(plot.distribution(pagerank_frame(values)))
    assert 500 < len(shown) <= plot.MAX_POINTS
    assert {values.min(), values.max()} <= set(shown)
    for value in list(shown)[::100]:
        assert shown[value] == (values >= value).mean()


def test_vertices_with_pagerank_zero_are_counted():
    figure = plot.distribution(pagerank_frame([0.0, 0.5, 0.0, 0.5]))
    assert curve(figure) == {0.5: 0.5}
    assert figure.get_supxlabel() == "not shown: 2 vertices with PageRank 0"


def test_fraction_of_components_with_at_least_this_size():
    sizes = [1000, 20, 20, 1, 1, 1, 1, 1]
    components = np.random.default_rng(1).permutation(np.repeat(np.arange(8), sizes))
    axes = plot.distribution(pd.DataFrame({"vertex": 0, "component": components})).axes[0]
    line = axes.lines[0]
    assert dict(zip(line.get_xdata(), line.get_ydata())) == {1: 1.0, 20: 3 / 8, 1000: 1 / 8}
    assert line.get_drawstyle() == "steps-pre"  # no slope where there is no component
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_title() == "Sizes of 8 components"
    assert axes.lines[1].get_xdata() == [1045 / 8] * 2
    one = plot.distribution(pd.DataFrame({"component": [0, 0, 0]}))
    assert curve(one) == {3: 1.0}


def test_fraction_of_reached_vertices_within_a_distance():
    distances = pd.array([0, 2, None, 1, 2, 2, None, 1, 3, 0], dtype="Int32")
    figure = plot.distribution(pd.DataFrame({"distance": distances}))
    assert curve(figure) == {0: 0.25, 1: 0.5, 2: 0.875, 3: 1.0}
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")
    assert axes.lines[0].get_drawstyle() == "steps-post"
    assert all(place == int(place) for place in axes.get_xticks())
    assert axes.get_title() == "Distances of 8 vertices"
    assert axes.get_xlabel() == "distance from the nearest source"
    assert axes.lines[1].get_xdata() == [11 / 8] * 2
    assert figure.get_supxlabel() == "not reached: 2 vertices"
    weighted = plot.distribution(pd.DataFrame({"distance": [0.0, 1.5, np.inf, 0.25, 0.0]}))
    assert curve(weighted) == {0.0: 0.5, 0.25: 0.75, 1.5: 1.0}
    assert weighted.get_supxlabel() == "not reached: 1 vertices"


def test_distances_far_apart_have_a_logarithmic_axis():
    figure = plot.distribution(pd.DataFrame({"distance": [0.0, 1.0, 2.0, 3.0, 1e6, np.inf]}))
    assert figure.axes[0].get_xscale() == "log"
    assert curve(figure) == {1.0: 0.4, 2.0: 0.6, 3.0: 0.8, 1e6: 1.0}
    assert figure.get_supxlabel() == "not shown: 1 vertices at distance 0; not reached: 1 vertices"


def test_many_distances_are_sampled_exactly():
    values = np.random.default_rng(1).uniform(0, 1, 200_000)
    shown = curve(plot.distribution(pd.DataFrame({"distance": values})))
    assert 500 < len(shown) <= plot.MAX_POINTS
    assert {values.min(), values.max()} <= set(shown)
    for value in list(shown)[::100]:
        assert shown[value] == (values <= value).mean()


def test_results_of_every_library(make_held_frame):
    edges = make_held_frame({"source": [0, 0, 2, 4], "destination": [1, 2, 3, 5]})
    assert curve(plot.distribution(rg.bfs(edges, 0))) == {0: 0.25, 1: 0.75, 2: 1.0}
    assert curve(plot.distribution(rg.sssp(edges, 0))) == {0: 0.25, 1: 0.75, 2: 1.0}
    assert curve(plot.distribution(rg.connected_components(edges))) == {2: 1.0, 4: 0.5}
    assert max(curve(plot.distribution(rg.pagerank(edges))).values()) == 1.0


@pytest.mark.parametrize(
    ("ending", "start"), [(".png", b"\x89PNG"), (".PDF", b"%PDF"), (".svg", b"<?xml")]
)
def test_figures_are_saved_without_a_display(tmp_path, monkeypatch, ending, start):
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)  # a peer's, in benchmarks
    plot.distribution(pagerank_frame([0.25, 0.75]), tmp_path / f"a{ending}")
    assert (tmp_path / f"a{ending}").read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [f"a{ending}"]
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        ([], "a.png", "nothing to plot"),
        ([0.0], "a.png", "no vertex has a PageRank above 0"),
        ([np.nan, 1.0], "a.png", "finite number in every row"),
        ([1.0], "a.bmp", "'.bmp' is not known; try .png .svg .pdf"),
        ([1.0], "none/a.png", "does not exist"),
    ],
)
def test_invalid_values_and_paths(tmp_path, values, name, message):
    with pytest.raises(GraphError, match=message):
        plot.distribution(pagerank_frame(values), tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"distance": [np.inf, np.inf]}, "no vertex is reached"),
        ({"distance": []}, "no vertex is reached"),
        ({"component": []}, "no component"),
        (
            {"vertex": [1], "rank": [1.0]},
            "a column pagerank, distance, component; this frame has vertex",
        ),
    ],
)
def test_nothing_to_plot(columns, message):
    with pytest.raises(GraphError, match=f"there is nothing to plot: .*{message}"):
        plot.distribution(pd.DataFrame(columns))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def import_module(name, *arguments):
        if name.startswith("matplotlib"):
            raise ImportError(f"No module named {name!r}")
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", import_module)
    with pytest.raises(GraphError, match=r"pip install 'rapidsgraph\[plot\]'"):
        plot.distribution(pagerank_frame([1.0]))
