"""Plot how a structural clustering depends on epsilon and mu."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import frames
from ..algorithms.scan_index import ScanIndex
from ..device import is_array
from ..errors import GraphError
from ..frames import Frame
from ..graph.graph import Graph
from ..graph.local_graph import LocalGraph
from ..validation import suggest_parameters
from .savefig import check, create_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

Columns = dict[str, np.ndarray]

PARAMETERS = ("epsilon", "mu")
METRICS = {  # column: title
    "clusters": "clusters",
    "largest": "vertices of the largest cluster",
    "clustered": "fraction of vertices in a cluster",
    "modularity": "modularity",
    "hubs": "hubs",
    "outliers": "outliers",
}
OPTIONAL = ("largest",)
MAX_LEGEND_LINES = 10  # with more lines, a color bar replaces the legend
LOG_COLOR_RATIO = 30  # maximum by minimum from which the color bar is logarithmic
LOG_RATIO = 1000  # maximum by median from which a logarithmic axis shows more
LINE_STYLE: dict[str, Any] = {"marker": ".", "markersize": 5, "linewidth": 1}


@suggest_parameters
def sweep(frame: Frame, path: str | Path | None = None) -> Figure:
    """Plot how a structural clustering depends on epsilon and mu.

    The number of clusters, the size of the largest one, the fraction of clustered vertices,
    modularity, and the numbers of hubs and outliers are plotted against epsilon, with one line per
    mu, or against mu if there is only one epsilon. Where lines coincide, the largest mu is on top.

    Parameters
    ----------
    frame : DataFrame
        As returned by `rapidsgraph.ScanIndex.sweep`, in any order: `epsilon`, `mu`, `clusters`,
        `clustered`, `modularity`, `hubs`, `outliers` and, optionally, `largest`. Duplicate rows
        count once.
    path : str or path, optional
        File to write: .png, .svg or .pdf. An existing file is replaced.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    GraphError
        If Matplotlib is not installed, there is nothing to plot, a column has other values than
        finite numbers, rows with equal parameters differ, or `path` cannot be written.

    Notes
    -----
    ``numpy.linspace(0.1, 0.9, 9)`` may contain 0.30000000000000004, which is above 0.3; sweep
    ``numpy.linspace(0.1, 0.9, 9).round(2)`` instead.

    Examples
    --------
    >>> import pandas
    >>> from rapidsgraph import plot
    >>> frame = pandas.DataFrame({"epsilon": [0.4, 0.6], "mu": [3, 3], "clusters": [5, 9]})
    >>> frame = frame.assign(clustered=[0.9, 0.6], modularity=[0.5, 0.7], hubs=0, outliers=[1, 4])
    >>> figure = plot.sweep(frame)
    >>> figure.get_suptitle()
    'Clusterings at mu 3, by epsilon'
    >>> figure.axes[0].lines[0].get_ydata().tolist()
    [5.0, 9.0]
    """
    check(path)
    columns = _read_columns(frame)
    x, hue = PARAMETERS
    if np.unique(columns["epsilon"]).size == 1 < np.unique(columns["mu"]).size:
        x, hue = hue, x
    hues = np.unique(columns[hue])
    scale = _color_scale(hues)
    has_color_bar = hues.size > MAX_LEGEND_LINES
    colors = scale.to_rgba(hues) if has_color_bar else scale.cmap(np.linspace(0, 1, hues.size))
    figure = create_figure(figsize=(10.2, 5.6), layout="constrained")
    titles = {column: title for column, title in METRICS.items() if column in columns}
    subplots = figure.subplots(2, 3).ravel().tolist()
    for unused in subplots[len(titles) :]:
        unused.remove()
    subplots = subplots[: len(titles)]
    for axes, (column, title) in zip(subplots, titles.items()):
        for value, color in zip(hues, colors):
            rows = columns[hue] == value
            points = columns[x][rows], columns[column][rows]
            axes.plot(*points, color=color, label=f"{value:g}", **LINE_STYLE)
        axes.set_title(title, size="medium")
        axes.set_xlabel(x)
        axes.grid(alpha=0.3)
        if np.unique(columns[x]).size == 1:
            axes.set_xticks(columns[x][:1])
        elif x == "mu":
            axes.locator_params(axis="x", integer=True)
        _scale_y_axis(axes, column, columns[column])
    if has_color_bar:
        figure.colorbar(scale, ax=subplots, fraction=0.04, pad=0.02, label=hue, format="{x:g}")
    elif hues.size > 1:
        figure.legend(handles=list(subplots[0].lines), loc="outside right center", title=hue)
    figure.suptitle(_title(columns, x, hue, hues))
    save_figure(figure, path)
    return figure


def _read_columns(frame: Frame) -> Columns:
    """Return the columns as float64 arrays of finite numbers, ordered by epsilon, then mu."""
    if isinstance(frame, (Graph, LocalGraph, ScanIndex)):
        raise GraphError(
            f"there is nothing to plot: a {type(frame).__name__} is not a frame; pass the result "
            "of ScanIndex.sweep()",
            parameter="frame",
        )
    _, table = frames.normalize_frame(frame, "frame")
    column_names = frames.column_names(table)
    names = [
        name for name in (*PARAMETERS, *METRICS) if name in column_names or name not in OPTIONAL
    ]
    if not set(names) <= set(column_names):
        raise GraphError(
            f"there is nothing to plot: a sweep has the columns {', '.join(names)}; this frame has "
            f"{', '.join(map(str, column_names))}",
            parameter="frame",
        )
    columns = {}
    for name in names:
        values = frames.get_column(table, name, "values")
        if not is_array(values):
            raise GraphError(f"column {name!r} has text; it must have numbers", column=name)
        columns[name] = values = frames.to_device(values, np).astype(np.float64)
        if not np.isfinite(values).all():
            raise GraphError(f"column {name!r} must have a finite number in every row", column=name)
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise GraphError(f"columns have different lengths: {sorted(lengths)}", parameter="frame")
    if not columns["mu"].size:
        raise GraphError("there is nothing to plot: the sweep has no rows", parameter="frame")
    order = np.lexsort((columns["mu"], columns["epsilon"]))
    columns = {name: values[order] for name, values in columns.items()}
    is_equal = {name: np.diff(values) == 0 for name, values in columns.items()}
    is_repeated = is_equal["epsilon"] & is_equal["mu"]
    is_conflict = is_repeated & ~np.logical_and.reduce(list(is_equal.values()))
    if is_conflict.any():
        epsilon, mu = (columns[name][is_conflict.argmax()] for name in PARAMETERS)
        raise GraphError(
            f"rows with epsilon {epsilon:g} and mu {mu:g} differ; there must be one row for each "
            "pair of parameters",
            parameter="frame",
        )
    is_first = np.concatenate([[True], ~is_repeated])
    return {name: values[is_first] for name, values in columns.items()}


def _title(columns: Columns, x: str, hue: str, hues: np.ndarray) -> str:
    if hues.size > 1:
        return "Clusterings by epsilon and mu"
    if np.unique(columns[x]).size > 1:
        return f"Clusterings at {hue} {hues[0]:g}, by {x}"
    return f"Clustering at epsilon {columns['epsilon'][0]:g}, mu {columns['mu'][0]:g}"


def _color_scale(values: np.ndarray) -> ScalarMappable:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    is_log = 0 < LOG_COLOR_RATIO * values[0] < values[-1]
    colors = ListedColormap(colormaps["viridis"](np.linspace(0, 0.9, 256)))  # yellow is faint
    return ScalarMappable((LogNorm if is_log else Normalize)(values[0], values[-1]), colors)


def _scale_y_axis(axes: Axes, column: str, values: np.ndarray) -> None:
    """Start the axis at 0 or below, so that a small change looks small."""
    if column in ("clustered", "modularity"):
        bottom = min(1.06 * values.min(), -0.02)
        axes.set_ylim(bottom, 1.05 if column == "clustered" else max(1.06 * values.max(), 0.1))
        return
    positive = values[values > 0]
    if positive.size and positive.max() > LOG_RATIO * np.median(positive):
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(bottom=-0.2)
    else:
        axes.set_ylim(-0.04 * max(values.max(), 1), 1.06 * max(values.max(), 1))
        axes.locator_params(axis="y", integer=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")
