"""How the values of a result are spread."""

import numpy as np

from .. import frames
from ..device import is_on_gpu
from ..errors import GraphError
from ..frames import nullable_column
from .savefig import check, write

POINTS = 2000  # more cannot be told apart at this size
WIDE = 1000  # times the median: from here on a logarithmic axis shows more


def distribution(result, path=None):
    """How ranks, distances or the sizes of components are spread.

    Ranks and sizes: which share of the vertices or components has at least this much, on two log
    axes, where a straight line to the right is a power law. Distances: which share of the vertices
    that were reached is within this distance; the axis of distances is logarithmic where the
    greatest is far beyond most. What has no place in the picture is counted below it.

    Parameters
    ----------
    result : frame
        With a column `pagerank`, `distance` or `component`, as `rapidsgraph.pagerank`, `bfs`,
        `sssp` and `connected_components` return it.
    path : str or path, optional
        Where to write it: .png, .svg or .pdf. A file of this name is replaced.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    GraphError
        Matplotlib is not installed, there is nothing to draw, or `path` cannot be written.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> from rapidsgraph import plot
    >>> edges = pandas.DataFrame({"source": ["a", "b", "c"], "destination": ["b", "a", "a"]})
    >>> plot.distribution(rg.pagerank(edges)).axes[0].get_title()
    'PageRank of 3 vertices'
    """
    check(path)
    from matplotlib.figure import Figure

    _, frame = frames.opened(result)
    there = frames.column_names(frame)
    column = next((column for column in PICTURES if column in there), None)
    if column is None:
        raise GraphError(
            f"there is nothing to draw: a result has a column {', '.join(PICTURES)}; this has "
            f"{', '.join(map(str, there))}"
        )
    values, is_there = nullable_column(frame, column, "values")
    values = values.get() if is_on_gpu(values) else values
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.add_subplot()
    note = PICTURES[column](axes, values, len(is_there))
    axes.grid(alpha=0.3)
    axes.legend()
    if note:
        figure.supxlabel(note, size="small")
    write(figure, path)
    return figure


def _draw_ranks(axes, ranks, vertices):
    if ranks.size < vertices or not np.isfinite(ranks).all():
        raise GraphError("column 'pagerank' must hold a finite number in every row")
    shown = ranks[ranks > 0]
    if not shown.size:
        raise GraphError("there is nothing to draw: no vertex has a rank above 0")
    _draw_at_least(axes, shown, vertices)
    _draw_average(axes, ranks, "average rank")
    axes.set_title(f"PageRank of {vertices:,} vertices")
    axes.set_xlabel("PageRank (probability of being at the vertex)")
    axes.set_ylabel("share of vertices with at least this rank")
    missing = vertices - shown.size
    return f"not shown: {missing:,} vertices of rank 0" if missing else None


def _draw_sizes(axes, components, vertices):
    sizes = np.unique(components, return_counts=True)[1]
    if not sizes.size:
        raise GraphError("there is nothing to draw: there is no component")
    _draw_at_least(axes, sizes, sizes.size)
    _draw_average(axes, sizes, "average size")
    axes.set_title(f"Sizes of {sizes.size:,} components")
    axes.set_xlabel("vertices in the component")
    axes.set_ylabel("share of components with at least as many")


def _draw_distances(axes, distances, vertices):
    reached = np.sort(distances[(distances >= 0) & (distances < np.inf)])
    if not reached.size:
        raise GraphError("there is nothing to draw: no vertex is reached")
    chosen = _chosen(reached, np.linspace(0, reached.size - 1, POINTS).astype(np.int64))
    within = np.searchsorted(reached, chosen, side="right") / reached.size
    positive = reached[reached > 0]
    notes = []
    if positive.size and positive[-1] > WIDE * np.median(positive):
        axes.set_xscale("log")
        chosen, within = chosen[chosen > 0], within[chosen > 0]
        if positive.size < reached.size:
            notes.append(f"not shown: {reached.size - positive.size:,} vertices at distance 0")
    elif (reached == np.floor(reached)).all():
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.plot(chosen, within, drawstyle="steps-post", **LINE)
    axes.set_ylim(0, 1.05)
    _draw_average(axes, reached, "average distance")
    axes.set_title(f"Distances of {reached.size:,} vertices")
    axes.set_xlabel("distance from the nearest source")
    axes.set_ylabel("share of reached vertices within this distance")
    if reached.size < vertices:
        notes.append(f"not reached: {vertices - reached.size:,} vertices")
    return "; ".join(notes)


PICTURES = {"pagerank": _draw_ranks, "distance": _draw_distances, "component": _draw_sizes}
LINE = {"marker": ".", "markersize": 4, "linewidth": 1}


def _draw_at_least(axes, values, total):
    """Which share of `total` has at least as much as each value."""
    values = np.sort(values)
    places = np.unique(np.geomspace(1, values.size, POINTS).astype(np.int64))
    chosen = _chosen(values, -places)
    share = (values.size - np.searchsorted(values, chosen)) / total
    axes.loglog(chosen, share, drawstyle="steps-pre", **LINE)


def _draw_average(axes, values, label):
    average = values.sum() / values.size
    axes.axvline(average, color="0.5", linestyle="--", linewidth=1, label=label)


def _chosen(ascending, places):
    """The distinct values, or if these are too many those at `places`."""
    distinct = np.unique(ascending)
    return distinct if distinct.size <= POINTS else np.unique(ascending[places])
