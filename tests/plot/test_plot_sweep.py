"""The picture of a sweep shows its numbers, one line for each mu."""

import itertools
import os

import numpy as np
import pandas as pd
import pytest

from rapidsgraph import Graph, ScanIndex, plot
from rapidsgraph.errors import GraphError

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.slow

FIELDS = ["clusters", "largest", "clustered", "modularity", "hubs", "outliers"]


def swept(epsilons, mus):
    """A row for each pair, all numbers different."""
    pairs = [(epsilon, mu) for epsilon in epsilons for mu in mus]
    row = np.arange(len(pairs))
    return pd.DataFrame(
        {
            "epsilon": [epsilon for epsilon, _ in pairs],
            "mu": [mu for _, mu in pairs],
            "clusters": row + 1,
            "largest": 100 - row,
            "clustered": 1 / (row + 1),
            "cores": row * 7,
            "hubs": row * 2,
            "outliers": row * 3,
            "modularity": 0.5 - row / 10,
        }
    )


def lines(figure):
    """A list for each field: {label: {x: y}}."""
    return [
        {line.get_label(): dict(zip(line.get_xdata(), line.get_ydata())) for line in axes.lines}
        for axes in figure.axes[:6]
    ]


def expected(frame, along, other, fields=FIELDS):
    return [
        {
            f"{value:g}": dict(zip(group[along].tolist(), group[column].tolist()))
            for value, group in frame.groupby(other)
        }
        for column in fields
    ]


def test_a_line_for_each_mu_in_every_field():
    frame = swept([0.3, 0.5, 0.7], [2, 3])
    figure = plot.sweep(frame)
    assert lines(figure) == expected(frame, "epsilon", "mu")
    assert lines(figure)[0]["3"] == {0.3: 2, 0.5: 4, 0.7: 6}
    assert figure.get_suptitle() == "Clusterings by epsilon and mu"
    titles = ["clusters", "vertices of the largest cluster", "fraction of vertices in a cluster"]
    titles += ["modularity", "hubs", "outliers"]
    assert [axes.get_title() for axes in figure.axes[:6]] == titles
    assert {axes.get_xlabel() for axes in figure.axes[:6]} == {"epsilon"}
    [legend] = figure.legends
    assert legend.get_title().get_text() == "mu"
    assert [text.get_text() for text in legend.get_texts()] == ["2", "3"]
    colors = [line.get_color() for line in figure.axes[0].lines]
    assert (colors[0] != colors[1]).any()
    assert [handle.get_color().tolist() for handle in legend.get_lines()] == [
        color.tolist() for color in colors
    ]


def test_rows_in_any_order_and_pairs_left_out():
    frame = swept([0.3, 0.5, 0.7], [2, 3, 10]).drop(index=4)
    figure = plot.sweep(frame.sample(frac=1, random_state=1))
    assert lines(figure) == expected(frame, "epsilon", "mu")
    for line in figure.axes[0].lines:
        assert (np.diff(line.get_xdata()) > 0).all()


def test_one_mu_needs_no_legend():
    frame = swept([0.3, 0.5, 0.7], [4])
    figure = plot.sweep(frame)
    assert lines(figure) == expected(frame, "epsilon", "mu")
    assert figure.get_suptitle() == "Clusterings at mu 4, by epsilon"
    assert figure.legends == []


def test_one_epsilon_is_drawn_against_mu():
    frame = swept([0.25], [2, 5, 9])
    figure = plot.sweep(frame)
    assert lines(figure) == expected(frame, "mu", "epsilon")
    assert lines(figure)[4] == {"0.25": {2: 0, 5: 2, 9: 4}}
    assert figure.get_suptitle() == "Clusterings at epsilon 0.25, by mu"
    assert {axes.get_xlabel() for axes in figure.axes[:6]} == {"mu"}
    assert all(place == int(place) for place in figure.axes[0].get_xticks())


def test_one_pair():
    figure = plot.sweep(swept([0.5], [3]))
    assert figure.get_suptitle() == "Clustering at epsilon 0.5, mu 3"
    assert lines(figure)[0] == {"3": {0.5: 1}}
    assert figure.axes[0].get_xticks().tolist() == [0.5]


@pytest.mark.parametrize(("mus", "scale"), [(range(2, 13), "linear"), (2 ** np.arange(11), "log")])
def test_many_mus_have_a_scale_of_colors(mus, scale):
    frame = swept([0.3, 0.5], mus)
    figure = plot.sweep(frame)
    assert lines(figure) == expected(frame, "epsilon", "mu")
    assert figure.legends == []
    bar = figure.axes[6]
    assert (bar.get_ylabel(), bar.get_yscale()) == ("mu", scale)
    assert bar.get_ylim() == pytest.approx((min(mus), max(mus)))
    assert len({tuple(line.get_color()) for line in figure.axes[0].lines}) == 11


def test_axes_show_small_changes_as_small():
    frame = swept([0.3, 0.5], [2, 3]).assign(modularity=0.4, hubs=0, outliers=[1000, 1001, 1, 2])
    axes = plot.sweep(frame).axes
    del axes[1]
    assert axes[1].get_ylim() == (-0.02, 1.05)
    low, high = axes[2].get_ylim()
    assert low < 0 and high == pytest.approx(1.06 * 0.4)
    assert all(place == int(place) for place in axes[0].get_yticks())
    low, high = axes[3].get_ylim()
    assert low < 0 < high
    assert axes[4].get_yticklabels()[-1].get_text() in ("1,000", "1,200")
    negative = plot.sweep(swept([0.3], [2]).assign(modularity=-0.5)).axes[3]
    assert negative.get_ylim() == (pytest.approx(-0.53), 0.1)


def test_counts_far_apart_have_a_logarithmic_axis():
    axes = plot.sweep(swept([0.3, 0.5], [2, 3]).assign(clusters=[1, 3, 0, 100_000])).axes
    assert axes[0].get_yscale() == "symlog"  # which has a place for 0
    assert axes[4].get_yscale() == "linear"


def test_a_sweep_without_the_largest_has_five_fields():
    frame = swept([0.3, 0.5], [2, 3]).drop(columns="largest")
    figure = plot.sweep(frame)
    there = [column for column in FIELDS if column != "largest"]
    assert lines(figure) == expected(frame, "epsilon", "mu", there)
    assert len(figure.axes) == 5
    assert len(figure.legends) == 1


@pytest.mark.parametrize("mus", [range(2, 6), range(2, 13), range(1000, 1100)])
def test_what_says_which_line_is_which_lies_beside_all_fields(mus):
    figure = plot.sweep(swept([0.3, 0.5], mus))
    figure.draw_without_rendering()
    fields = [axes.get_tightbbox() for axes in figure.axes[:6]]
    beside = (figure.legends or figure.axes[6:])[0]
    box = beside.get_tightbbox() if beside in figure.axes else beside.get_window_extent()
    assert all(field.x1 < box.x0 for field in fields)
    assert box.x1 <= figure.bbox.x1
    for one, other in itertools.combinations(fields, 2):
        assert not one.overlaps(other)


def test_equal_rows_count_once():
    frame = swept([0.3, 0.5], [2, 3])
    figure = plot.sweep(pd.concat([frame, frame[1:3], frame[1:2]]))
    assert lines(figure) == expected(frame, "epsilon", "mu")
    assert len(figure.axes[0].lines[1].get_xdata()) == 2


def test_sweeps_of_every_library(make_held_frame):
    frame = swept([0.3, 0.5], [2, 3])
    given = make_held_frame({name: frame[name].to_numpy() for name in frame})
    assert lines(plot.sweep(given)) == expected(frame, "epsilon", "mu")


@pytest.mark.parametrize(
    ("ending", "start"), [(".png", b"\x89PNG"), (".PDF", b"%PDF"), (".svg", b"<?xml")]
)
def test_written_whole(tmp_path, ending, start):
    path = tmp_path / f"a{ending}"
    path.write_text("what was there")
    plot.sweep(swept([0.3, 0.5], [2, 3]), path)
    assert path.read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (lambda frame: frame[:0], "a.png", "nothing to plot: the sweep has no rows"),
        (
            lambda frame: frame[["epsilon", "mu"]],
            "a.png",
            "modularity, .*; this frame has epsilon, mu$",
        ),
        (lambda frame: frame.assign(hubs="a"), "a.png", "column 'hubs' has text"),
        (lambda frame: frame.assign(mu=np.nan), "a.png", "column 'mu' must have a finite number"),
        (
            lambda frame: frame.assign(epsilon=0.5),
            "a.png",
            "rows with epsilon 0.5 and mu 2 differ",
        ),
        (
            lambda frame: pd.concat([frame, frame[2:3], frame[2:3].assign(largest=0)]),
            "a.png",
            "rows with epsilon 0.5 and mu 2 differ",
        ),
        (
            lambda frame: ScanIndex({"source": [0], "destination": [1]}),
            "a.png",
            r"a ScanIndex is not a frame; pass the result of ScanIndex.sweep",
        ),
        (lambda frame: Graph({"source": [0], "destination": [1]}), "a.png", "Graph is not a frame"),
        (
            lambda frame: {**frame, "hubs": np.array([1])},
            "a.png",
            r"columns have different lengths: \[1, 4\]",
        ),
        (lambda frame: frame, "a.bmp", "'.bmp' is not known; try .png .svg .pdf"),
        (lambda frame: frame, "none/a.png", "does not exist"),
        (lambda frame: 5, "a.png", "int is not an edge frame"),
    ],
)
def test_what_cannot_be_drawn(tmp_path, change, name, message):
    with pytest.raises(GraphError, match=message):
        plot.sweep(change(swept([0.3, 0.5], [2, 3])), tmp_path / name)
    assert os.listdir(tmp_path) == []
