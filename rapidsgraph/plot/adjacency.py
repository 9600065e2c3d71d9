"""The adjacency matrix, its vertices in the order of their clusters.

Means: a square for every edge in both triangles or, of more vertices than the picture has cells,
  cells colored by the number of arcs in them.
Requires: room by vertex; the arcs are counted in portions where the graph lies, and only the counts
  leave a GPU.
Reference: Stovall et al. 2015 (GPUSCAN), figure 8 and section 4.1.
"""

import numpy as np

from ..algorithms.scan_index import ScanIndex
from ..errors import GraphError
from ..graph.csr import Adjacency, row_indices
from ..graph.graph import as_local_graph
from ..graph.labeling import Labeling
from ..validation import check_free_memory
from ..verify.clusters import LOW
from .clustering import ordered
from .savefig import check, write

CELLS = 1000  # a side, at most
PIXELS = 750  # a side, at least; a multiple of the cells, so that all of these are of one size
INCHES = 6.4
PORTION = 2**21  # arcs counted at once
NEAR = 0.007  # of a side: lines nearer to each other would run together
APART = 0.025  # of a side: what a line of text takes
LINE = {"color": "tab:red", "linewidth": 0.5, "alpha": 0.6}


def adjacency(graph, clusters, path=None):
    """The adjacency matrix with vertices ordered by cluster: clusters are squares on the diagonal.

    First the clusters, as they are numbered, then hubs, then outliers; inside each the vertices by
    name. Up to 1000 vertices every edge is a square in both triangles; of more vertices a cell of
    several by several shows how many arcs are in it. Lines and names mark the clusters, hubs and
    outliers that are large enough to be seen; neighbors too thin for a line of text share one.

    Parameters
    ----------
    graph : Graph or edge frame
        Edges are taken as undirected; self-loops and repeated edges do not count. A `ScanIndex`
        does not keep them.
    clusters : frame
        `vertex`, `cluster` and `role` as from `rapidsgraph.scan`, rows in any order; or without
        `role`: vertices without a cluster then come last together; or `component` as from
        `rapidsgraph.connected_components`. Of several rows of a border the first counts.
    path : str or path, optional
        Where to write it: .png, .svg or .pdf. A file of this name is replaced.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    GraphError
        Matplotlib is not installed, the graph has no vertex, `clusters` does not fit it, or `path`
        cannot be written.
    InsufficientMemoryError
        Counting would not fit; raised before it starts.

    Examples
    --------
    >>> import pandas
    >>> from rapidsgraph import plot
    >>> edges = pandas.DataFrame({"source": ["a", "b", "a", "d"], "destination": list("bccc")})
    >>> clusters = pandas.DataFrame({"vertex": list("abcd"), "cluster": [0, 0, 0, None]})
    >>> clusters["role"] = ["core", "core", "core", "outlier"]
    >>> figure = plot.adjacency(edges, clusters)
    >>> figure.axes[0].get_title()
    '4 vertices, 1 cluster, 0 hubs, 1 outlier'
    >>> figure.axes[0].images[0].get_array().astype(int).tolist()
    [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]
    """
    check(path)
    if isinstance(graph, ScanIndex):
        raise GraphError("an index does not keep the edges to draw; give the graph or its edges")
    if isinstance(clusters, Labeling):
        raise GraphError(
            f"clusters: {type(clusters).__name__} is no frame of them; give what scan or "
            "index.query returns"
        )
    graph = as_local_graph(graph)
    vertices = graph.num_vertices
    if not vertices:
        raise GraphError("there is nothing to draw: the graph has no vertex")
    transposes = graph.directed and len(graph.built) < 2
    needed = 96 * vertices + 64 * min(graph.num_arcs, PORTION)
    needed += 24 * graph.num_arcs if transposes else 0
    check_free_memory(f"a picture of {vertices:,} vertices", needed, graph.xp)
    order = ordered(graph, clusters)
    width = -(-vertices // CELLS)
    cells = -(-vertices // width)
    counts = _counted(graph, order.positions // width, cells)
    counts = counts if isinstance(counts, np.ndarray) else counts.get()
    figure = _drawn(counts.reshape(cells, cells), width, *_marks(order, vertices))
    figure.axes[0].set_title(_title(order, vertices), size="medium")
    figure.axes[0].set_xlabel(_sequence(order), size="small")
    write(figure, path, dpi="figure")
    return figure


def _counted(graph, cell_of, cells):
    """Arcs from the vertices of each cell to those of each other: int64, shape (cells * cells,)."""
    xp, vertices = graph.xp, graph.num_vertices
    lists = [graph.csr, graph.csc] if graph.directed else [graph.csr]
    before = sum(each.offsets for each in lists)
    counts = xp.zeros(cells * cells, xp.int64)
    cuts = xp.searchsorted(before, xp.arange(0, int(before[-1]), PORTION))
    cuts = sorted({*cuts.tolist(), vertices})  # a row is never divided
    bounds = [each.offsets[xp.asarray(cuts)].tolist() for each in lists]
    for place, (first, last) in enumerate(zip(cuts, cuts[1:])):
        keys = []
        for each, bound in zip(lists, bounds):
            start, end = bound[place : place + 2]
            offsets = each.offsets[first : last + 1] - start
            part = Adjacency(offsets, each.neighbors[start:end], each.weights)
            rows = row_indices(part).astype(xp.int64) + first
            keys.append((rows << 32) | part.neighbors)
        keys = xp.sort(xp.concatenate(keys), kind="stable")  # runs in order: a merge on a CPU
        kept = xp.ones(keys.size, bool)
        xp.not_equal(keys[1:], keys[:-1], out=kept[1:])
        row, neighbor = keys >> 32, keys & LOW
        kept &= row != neighbor
        places = cell_of[row[kept]] * cells + cell_of[neighbor[kept]]
        counts += xp.bincount(places, minlength=cells * cells)
    return counts


def _title(order, vertices):
    counts = [_count(vertices, "vertex"), _count(order.numbers.size, order.what)]
    return ", ".join([*counts, *(_rest(order, kind) for kind in order.rest)])


def _sequence(order):
    """What the axes show."""
    kinds = {"hub": "hubs", "outlier": "outliers", "none": f"those in no {order.what}"}
    parts = [kinds[kind] for kind, count in order.rest.items() if count]
    if order.numbers.size:
        parts.insert(0, f"vertices by {order.what}")
    return ", then ".join(parts)


def _count(count, what):
    several = "vertices" if what == "vertex" else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"


def _rest(order, kind):
    count = order.rest[kind]
    return f"{count:,} in no {order.what}" if kind == "none" else _count(count, kind)


def _marks(order, vertices):
    """Places of lines, and {place: names} of bands, those of neighbors without room joined."""
    bands = _bands(order, vertices)
    lines = [0, vertices]  # the frame is a line, too
    for start, end, _ in sorted(bands, key=lambda band: band[0] - band[1]):
        for place in (start, end):
            if _is_apart(place, lines, NEAR * vertices):
                lines.append(place)
    named = []
    for start, end, name in bands:
        if end - start < NEAR * vertices:  # too thin to be seen
            continue
        while named and start + end - sum(named[-1][:2]) < 2 * APART * vertices:
            start, _, before = named.pop()
            name = f"{before}, {name}"
        named.append((start, end, name))
    return sorted(lines[2:]), {(start + end) / 2: name for start, end, name in named}


def _bands(order, vertices):
    """[(start, end, name)] from the first vertex to the last: small clusters are one band."""
    bands, start, place = [], 0, 0
    for size, end, number, of_large in _large_clusters(order, APART * vertices):
        if of_large > place:
            bands.append((start, end - size, _small_clusters(order, place, of_large)))
        bands.append((end - size, end, _cluster(order, number, size)))
        start, place = end, of_large + 1
    if place < order.numbers.size:
        end = vertices - sum(order.rest.values())
        bands.append((start, end, _small_clusters(order, place, order.numbers.size)))
        start = end
    for kind, size in order.rest.items():
        bands.append((start, start + size, _rest(order, kind)))
        start += size
    return bands


def _cluster(order, number, size):
    return f"{order.what} {number} ({size:,})"


def _small_clusters(order, first, end):
    if end - first == 1:
        return _cluster(order, int(order.numbers[first]), int(order.sizes[first]))
    are_all = end - first == order.numbers.size
    return _count(end - first, f"{'' if are_all else 'more '}{order.what}")


def _large_clusters(order, least):
    """[(size, end, number, place among the clusters)] of those of `least` vertices: few."""
    if not order.sizes.size:
        return []
    large = (order.sizes >= least).nonzero()[0]
    columns = (order.sizes, order.sizes.cumsum(), order.numbers)
    return list(zip(*(values[large].tolist() for values in columns), large.tolist()))


def _is_apart(place, others, least):
    return all(abs(place - other) >= least for other in others)


def _drawn(counts, width, lines, names):
    """The figure; lengths are whole pixels, so that every cell has as many as the others."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    cells = len(counts)
    side = cells * -(-PIXELS // cells)
    dpi = side / INCHES
    text = 0.065 * max(map(len, names.values()), default=0)
    left, right, edge, above = (
        round(inches * dpi) for inches in (0.3 + text, 0.95 if width > 1 else 0.2, 0.35, 0.35)
    )
    size = left + side + right, edge + side + above
    figure = Figure(figsize=(size[0] / dpi, size[1] / dpi), dpi=dpi)
    axes = figure.add_axes((left / size[0], edge / size[1], side / size[0], side / size[1]))
    span = cells * width
    shown = {"interpolation": "nearest", "extent": (0, span, span, 0)}
    if width == 1:
        axes.imshow(counts, cmap="binary", vmin=0, vmax=1, **shown)
    else:
        start = (left + side) / size[0] + 0.15 * dpi / size[0]
        place = figure.add_axes((start, edge / size[1], 0.15 * dpi / size[0], side / size[1]))
        _draw_counts(axes, place, counts, f"{width:,} \N{MULTIPLICATION SIGN} {width:,}", shown)
    for line in lines:
        axes.axhline(line, **LINE)
        axes.axvline(line, **LINE)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(lines)
        axis.set_major_formatter(NullFormatter())
    axes.yaxis.remove_overlapping_locs = False  # a name of several bands may be at a line
    axes.set_yticks(list(names), list(names.values()), minor=True, size="small")
    axes.tick_params(which="both", length=0, pad=6)
    return figure


def _draw_counts(axes, place, counts, cell, shown):
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm

    most = max(int(counts.max()), 2)
    colors = ListedColormap(colormaps["viridis"](np.linspace(0.85, 0, 256)))  # yellow is faint
    image = axes.imshow(np.ma.masked_equal(counts, 0), cmap=colors, norm=LogNorm(1, most), **shown)
    steps = (1, 2, 5) if most < 1000 else (1,)
    ticks = [step * 10**power for power in range(len(str(most))) for step in steps]
    bar = axes.figure.colorbar(image, cax=place)
    bar.set_ticks([tick for tick in ticks if tick <= most], minor=False)
    bar.ax.yaxis.set_major_formatter("{x:,.0f}")
    bar.ax.tick_params(labelsize="small")
    bar.set_label(f"arcs in a cell of {cell} vertices", size="small")
