"""What comes of a clustering at each choice of its parameters."""

import numpy as np

from .. import frames
from ..device import is_array
from ..errors import GraphError
from ..graph.labeling import Labeling
from .savefig import check, write

PARAMETERS = ("epsilon", "mu")
FIELDS = {  # column -> title
    "clusters": "clusters",
    "largest": "vertices of the largest cluster",
    "clustered": "share of vertices in a cluster",
    "modularity": "modularity",
    "hubs": "hubs",
    "outliers": "outliers",
}
OPTIONAL = ("largest",)
MOST_NAMED = 10  # lines; more have a scale of colors
RANGE = 30  # from the least to the greatest: likewise for the scale of colors
WIDE = 1000  # times the median: from here on a logarithmic axis shows more
LINE = {"marker": ".", "markersize": 5, "linewidth": 1}


def sweep(frame, path=None):
    """How a clustering depends on epsilon and mu, for choosing them.

    Clusters, vertices of the largest, the share of vertices in one, modularity, hubs and outliers,
    each in a field of its own against epsilon, one line for each mu; of a single epsilon against
    mu. Where lines coincide the greatest mu lies on top.

    Parameters
    ----------
    frame : frame
        As `rapidsgraph.ScanIndex.sweep` returns it, rows in any order: `epsilon`, `mu`,
        `clusters`, `clustered`, `modularity`, `hubs`, `outliers` and, if there is one, `largest`.
        Equal rows count once. An epsilon of ``numpy.linspace(0.1, 0.9, 9)`` may be
        0.30000000000000004, which is above 0.3: sweep ``numpy.linspace(0.1, 0.9, 9).round(2)``.
    path : str or path, optional
        Where to write it: .png, .svg or .pdf. A file of this name is replaced.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    GraphError
        Matplotlib is not installed, there is nothing to draw, a column holds something else than
        finite numbers, rows of one pair of parameters differ, or `path` cannot be written.

    Examples
    --------
    >>> import pandas
    >>> from rapidsgraph import plot
    >>> found = pandas.DataFrame({"epsilon": [0.4, 0.6], "mu": [3, 3], "clusters": [5, 9]})
    >>> found = found.assign(clustered=[0.9, 0.6], modularity=[0.5, 0.7], hubs=0, outliers=[1, 4])
    >>> figure = plot.sweep(found)
    >>> figure.get_suptitle()
    'Clusterings at mu 3, by epsilon'
    >>> figure.axes[0].lines[0].get_ydata().tolist()
    [5.0, 9.0]
    """
    check(path)
    from matplotlib.figure import Figure

    columns = _columns(frame)
    along, other = PARAMETERS
    if np.unique(columns["epsilon"]).size == 1 < np.unique(columns["mu"]).size:
        along, other = other, along
    values = np.unique(columns[other])
    scale = _scale_of(values)
    are_many = values.size > MOST_NAMED
    colors = scale.to_rgba(values) if are_many else scale.cmap(np.linspace(0, 1, values.size))
    figure = Figure(figsize=(10.2, 5.6), layout="constrained")
    titles = {column: title for column, title in FIELDS.items() if column in columns}
    places = figure.subplots(2, 3).ravel().tolist()
    fields = places[: len(titles)]
    for axes in places[len(titles) :]:
        axes.remove()
    for axes, (column, title) in zip(fields, titles.items()):
        for value, color in zip(values, colors):
            rows = columns[other] == value
            along_line, up = columns[along][rows], columns[column][rows]
            axes.plot(along_line, up, color=color, label=f"{value:g}", **LINE)
        axes.set_title(title, size="medium")
        axes.set_xlabel(along)
        axes.grid(alpha=0.3)
        if np.unique(columns[along]).size == 1:
            axes.set_xticks(columns[along][:1])
        elif along == "mu":
            axes.xaxis.get_major_locator().set_params(integer=True)
        _limit(axes, column, columns[column])
    if are_many:
        figure.colorbar(scale, ax=fields, fraction=0.04, pad=0.02, label=other, format="{x:g}")
    elif values.size > 1:
        figure.legend(handles=list(fields[0].lines), loc="outside right center", title=other)
    figure.suptitle(_title(columns, along, other, values))
    write(figure, path)
    return figure


def _columns(frame):
    """{column: float64 array of finite numbers}, rows by epsilon, then mu."""
    if isinstance(frame, Labeling):
        raise GraphError(
            f"there is nothing to draw: {type(frame).__name__} is no frame; give what the sweep of "
            "a ScanIndex returns, as index.sweep()"
        )
    _, table = frames.opened(frame)
    there = frames.column_names(table)
    wanted = [name for name in (*PARAMETERS, *FIELDS) if name in there or name not in OPTIONAL]
    if not set(wanted) <= set(there):
        raise GraphError(
            f"there is nothing to draw: a sweep has the columns {', '.join(wanted)}; this has "
            f"{', '.join(map(str, there))}"
        )
    columns = {}
    for name in wanted:
        values = frames.column(table, name, "values")
        if not is_array(values):
            raise GraphError(f"column {name!r} holds text; it must hold numbers")
        columns[name] = values = frames.moved(values, np).astype(np.float64)
        if not np.isfinite(values).all():
            raise GraphError(f"column {name!r} must hold a finite number in every row")
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise GraphError(f"columns have different lengths: {sorted(lengths)}")
    if not columns["mu"].size:
        raise GraphError("there is nothing to draw: the sweep has no row")
    order = np.lexsort((columns["mu"], columns["epsilon"]))
    columns = {name: values[order] for name, values in columns.items()}
    is_equal = {name: np.diff(values) == 0 for name, values in columns.items()}
    again = is_equal["epsilon"] & is_equal["mu"]
    differ = again & ~np.logical_and.reduce(list(is_equal.values()))
    if differ.any():
        epsilon, mu = (columns[name][differ.argmax()] for name in PARAMETERS)
        raise GraphError(f"epsilon {epsilon:g} and mu {mu:g} are in several rows that differ")
    kept = np.concatenate([[True], ~again])
    return {name: values[kept] for name, values in columns.items()}


def _title(columns, along, other, values):
    if values.size > 1:
        return "Clusterings by epsilon and mu"
    if np.unique(columns[along]).size > 1:
        return f"Clusterings at {other} {values[0]:g}, by {along}"
    return f"Clustering at epsilon {columns['epsilon'][0]:g}, mu {columns['mu'][0]:g}"


def _scale_of(values):
    """Colors from the least to the greatest of the values."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    is_wide = 0 < RANGE * values[0] < values[-1]
    colors = ListedColormap(colormaps["viridis"](np.linspace(0, 0.9, 256)))  # yellow is faint
    return ScalarMappable((LogNorm if is_wide else Normalize)(values[0], values[-1]), colors)


def _limit(axes, column, values):
    """From 0 or below, so that a small change looks small; logarithmic for counts far apart."""
    if column in ("clustered", "modularity"):
        least = min(1.06 * values.min(), -0.02)
        axes.set_ylim(least, 1.05 if column == "clustered" else max(1.06 * values.max(), 0.1))
        return
    positive = values[values > 0]
    if positive.size and positive.max() > WIDE * np.median(positive):
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(bottom=-0.2)
    else:
        axes.set_ylim(-0.04 * max(values.max(), 1), 1.06 * max(values.max(), 1))
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")
