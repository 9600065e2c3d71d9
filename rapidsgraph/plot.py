"""Pictures of results. Matplotlib is imported on use, and no window system is needed."""

from pathlib import Path

import numpy as np

from .errors import GraphError
from .files import check_writable, replacing

ENDINGS = (".png", ".svg", ".pdf")
POINTS = 2000  # more cannot be told apart at this size


def distribution(ranks, path=None):
    """How ranks are spread: which share of the vertices has at least this rank, on two log axes.

    A straight line to the right is a power law. Ranks of 0 have no place on a logarithmic axis;
    their number stands below the picture.

    Parameters
    ----------
    ranks : frame
        With a column `pagerank`, as `rapidsgraph.pagerank` returns it.
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

    ranks = np.sort(_numbers(ranks))
    shown = ranks[ranks > 0]
    if not shown.size:
        raise GraphError("there is nothing to draw: no vertex has a rank above 0")
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.add_subplot()
    axes.loglog(*_curve(shown, ranks.size), marker=".", markersize=4, linewidth=1)
    average = ranks.sum() / ranks.size
    axes.axvline(average, color="0.5", linestyle="--", linewidth=1, label="average rank")
    axes.set_title(f"PageRank of {ranks.size:,} vertices")
    axes.set_xlabel("PageRank (probability of being at the vertex)")
    axes.set_ylabel("share of vertices with at least this rank")
    axes.grid(alpha=0.3)
    axes.legend()
    if shown.size < ranks.size:
        figure.supxlabel(f"not shown: {ranks.size - shown.size:,} vertices of rank 0", size="small")
    if path is not None:
        _write(figure, Path(path).expanduser())
    return figure


def check(path=None):
    """Raise GraphError, before long work, if `distribution` could not draw or write to `path`."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise GraphError(
            f"pictures need Matplotlib ({error}); install rapidsgraph[plot]"
        ) from error
    if path is not None:
        check_writable(path, ENDINGS)


def _numbers(ranks):
    column = ranks["pagerank"]
    values = column.to_numpy()
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        raise GraphError("column 'pagerank' must hold a finite number in every row")
    return values


def _curve(ascending, vertices):
    """Ranks, evenly spread over the logarithm of their place, and the share that has as much."""
    places = np.unique(np.geomspace(1, ascending.size, POINTS).astype(np.int64))
    chosen = np.unique(ascending[-places])
    at_least = ascending.size - np.searchsorted(ascending, chosen)
    return chosen, at_least / vertices


def _write(figure, path):
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix.lower().lstrip("."), dpi=150)
