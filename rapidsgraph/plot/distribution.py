"""Plot the distribution of PageRank values, distances or component sizes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import frames
from ..device import is_on_gpu
from ..errors import GraphError
from ..frames import Frame, get_nullable_column
from ..validation import suggest_parameters
from .savefig import check, create_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_POINTS = 2000  # more are indistinguishable at this size
LOG_RATIO = 1000  # maximum by median from which a logarithmic axis shows more
LINE_STYLE: dict[str, Any] = {"marker": ".", "markersize": 4, "linewidth": 1}


@suggest_parameters
def distribution(result: Frame, path: str | Path | None = None) -> Figure:
    """Plot the distribution of PageRank values, distances or component sizes.

    For PageRank and component sizes, the plot shows the fraction of vertices or components with at
    least a given value on two logarithmic axes, on which a power law is a straight line. For
    distances, it shows the fraction of reached vertices within a given distance; the axis is
    logarithmic if the maximum is far above the median. A note below the plot counts what it cannot
    show.

    Parameters
    ----------
    result : DataFrame
        A frame with a column `pagerank`, `distance` or `component`, as returned by
        `rapidsgraph.pagerank`, `bfs`, `sssp` and `connected_components`.
    path : str or path, optional
        File to write: .png, .svg or .pdf. An existing file is replaced.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    GraphError
        If Matplotlib is not installed, there is nothing to plot, or `path` cannot be written.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> from rapidsgraph import plot
    >>> edges = pandas.DataFrame({"source": ["a", "b", "c"], "destination": ["b", "a", "a"]})
    >>> plot.distribution(rg.pagerank(edges)).axes[0].get_title()
    'PageRank of 3 vertices'
    """
    check(path)
    _, frame = frames.normalize_frame(result, "result")
    column_names = frames.column_names(frame)
    column = next((column for column in PLOTS if column in column_names), None)
    if column is None:
        raise GraphError(
            f"there is nothing to plot: a result has a column {', '.join(PLOTS)}; this frame has "
            f"{', '.join(map(str, column_names))}",
            parameter="result",
        )
    values, is_valid = get_nullable_column(frame, column, "values")
    values = values.get() if is_on_gpu(values) else values
    figure = create_figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.add_subplot()
    note = PLOTS[column](axes, values, len(is_valid))
    axes.grid(alpha=0.3)
    axes.legend()
    if note:
        figure.supxlabel(note, size="small")
    save_figure(figure, path)
    return figure


def _plot_pagerank(axes: Axes, values: np.ndarray, num_vertices: int) -> str | None:
    if values.size < num_vertices or not np.isfinite(values).all():
        raise GraphError(
            "column 'pagerank' must have a finite number in every row", column="pagerank"
        )
    positive = values[values > 0]
    if not positive.size:
        raise GraphError(
            "there is nothing to plot: no vertex has a PageRank above 0", column="pagerank"
        )
    _plot_at_least(axes, positive, num_vertices)
    _plot_mean(axes, values, "average PageRank")
    axes.set_title(f"PageRank of {num_vertices:,} vertices")
    axes.set_xlabel("PageRank (probability of being at the vertex)")
    axes.set_ylabel("fraction of vertices with at least this PageRank")
    num_zeros = num_vertices - positive.size
    return f"not shown: {num_zeros:,} vertices with PageRank 0" if num_zeros else None


def _plot_component_sizes(axes: Axes, components: np.ndarray, num_vertices: int) -> None:
    sizes = np.unique(components, return_counts=True)[1]
    if not sizes.size:
        raise GraphError("there is nothing to plot: no component", column="component")
    _plot_at_least(axes, sizes, sizes.size)
    _plot_mean(axes, sizes, "average size")
    axes.set_title(f"Sizes of {sizes.size:,} components")
    axes.set_xlabel("vertices in the component")
    axes.set_ylabel("fraction of components with at least this size")


def _plot_distances(axes: Axes, distances: np.ndarray, num_vertices: int) -> str:
    reached = np.sort(distances[(distances >= 0) & (distances < np.inf)])
    if not reached.size:
        raise GraphError("there is nothing to plot: no vertex is reached", column="distance")
    indices = np.linspace(0, reached.size - 1, MAX_POINTS).astype(np.int64)
    points = _select_points(reached, indices)
    fractions = np.searchsorted(reached, points, side="right") / reached.size
    positive = reached[reached > 0]
    notes = []
    if positive.size and positive[-1] > LOG_RATIO * np.median(positive):
        axes.set_xscale("log")
        points, fractions = points[points > 0], fractions[points > 0]
        if positive.size < reached.size:
            notes.append(f"not shown: {reached.size - positive.size:,} vertices at distance 0")
    elif (reached == np.floor(reached)).all():
        axes.locator_params(axis="x", integer=True)
    axes.plot(points, fractions, drawstyle="steps-post", **LINE_STYLE)
    axes.set_ylim(0, 1.05)
    _plot_mean(axes, reached, "average distance")
    axes.set_title(f"Distances of {reached.size:,} vertices")
    axes.set_xlabel("distance from the nearest source")
    axes.set_ylabel("fraction of reached vertices within this distance")
    if reached.size < num_vertices:
        notes.append(f"not reached: {num_vertices - reached.size:,} vertices")
    return "; ".join(notes)


PLOTS = {
    "pagerank": _plot_pagerank,
    "distance": _plot_distances,
    "component": _plot_component_sizes,
}


def _plot_at_least(axes: Axes, values: np.ndarray, total: int) -> None:
    """Plot the fraction of `total` with at least each value."""
    values = np.sort(values)
    ranks = np.unique(np.geomspace(1, values.size, MAX_POINTS).astype(np.int64))
    points = _select_points(values, -ranks)
    fractions = (values.size - np.searchsorted(values, points)) / total
    axes.loglog(points, fractions, drawstyle="steps-pre", **LINE_STYLE)


def _plot_mean(axes: Axes, values: np.ndarray, label: str) -> None:
    mean = values.sum() / values.size
    axes.axvline(mean, color="0.5", linestyle="--", linewidth=1, label=label)


def _select_points(ascending: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the distinct values or, if there are too many, those at `indices`."""
    distinct = np.unique(ascending)
    return distinct if distinct.size <= MAX_POINTS else np.unique(ascending[indices])
