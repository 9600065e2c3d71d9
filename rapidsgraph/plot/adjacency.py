"""Plot the adjacency matrix of a graph with its vertices ordered by cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import frames
from ..algorithms.scan_index import ScanIndex
from ..device import Array
from ..errors import GraphError
from ..frames import Frame
from ..graph.build import as_local_graph
from ..graph.csr import Adjacency, row_indices
from ..graph.graph import Graph
from ..graph.local_graph import LocalGraph
from ..kernels.constants import HUB
from ..validation import check_free_memory, suggest_parameters
from ..verify.cluster_reader import LOW_WORD, check_roles, read_clusters
from .savefig import check, create_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Band = tuple[int, int, str]  # start, stop, label

MAX_CELLS = 1000  # per side
MIN_PIXELS = 750  # per side; the actual number is a multiple of the cells
INCHES = 6.4  # per side
CHUNK_ARCS = 2**21  # arcs that are counted at once
MIN_LINE_DISTANCE = 0.007  # fraction of a side; lines nearer to each other would merge
MIN_LABEL_DISTANCE = 0.025  # fraction of a side: the height of a line of text
LINE_STYLE: dict[str, Any] = {"color": "tab:red", "linewidth": 0.5, "alpha": 0.6}
CLUSTER_COLUMNS = ("cluster", "component")


@dataclass(frozen=True)
class VertexOrder:
    """Order of vertices: clusters by number, then hubs, then outliers, each by vertex name.

    Attributes
    ----------
    positions : int32, shape (num_vertices,)
        Position of each vertex, by id.
    kind : {"cluster", "component"}
    numbers, sizes : int64, shape (num_clusters,)
        Numbers of the clusters, ascending, and their numbers of vertices.
    unclustered : dict from str to int
        Number of vertices of each role after the clusters: `hub` and `outlier`, or `none` where the
        frame has no roles and some vertices have no cluster.
    """

    positions: Array
    kind: str
    numbers: Array
    sizes: Array
    unclustered: dict[str, int]


@suggest_parameters
def adjacency(graph: Graph | Frame, clusters: Frame, path: str | Path | None = None) -> Figure:
    """Plot the adjacency matrix with vertices ordered by cluster.

    Clusters are squares on the diagonal. They come first, in the order of their numbers, followed
    by hubs and outliers; within each, vertices are ordered by name. Up to 1000 vertices, every edge
    is a cell in both triangles. With more vertices, a cell stands for several vertices in each
    direction and shows the number of arcs between them. Lines and labels mark the clusters, hubs
    and outliers that are large enough to be visible; neighbors that are too thin for a line of text
    share a label. The plot is that of GPUSCAN [1]_, figure 8.

    Parameters
    ----------
    graph : Graph or edge frame
        Edges count as undirected; self-loops and parallel edges do not count. A `ScanIndex` has no
        edges and cannot be plotted.
    clusters : DataFrame
        `vertex`, `cluster` and `role` as returned by `rapidsgraph.scan`, in any order. Without
        `role`, vertices without a cluster come last. `component`, as returned by
        `rapidsgraph.connected_components`, can take the place of `cluster`. If a border vertex has
        several rows, the first one counts.
    path : str or path, optional
        File to write: .png, .svg or .pdf. An existing file is replaced.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    GraphError
        If Matplotlib is not installed, the graph has no vertices, `clusters` does not match the
        graph, or `path` cannot be written.
    InsufficientMemoryError
        If the estimated memory is not free.

    References
    ----------
    .. [1] T. R. Stovall, S. Kockara and R. Avci, "GPUSCAN: GPU-Based Parallel Structural Clustering
       Algorithm for Networks", IEEE Transactions on Parallel and Distributed Systems 26(12), 2015.
       https://doi.org/10.1109/TPDS.2014.2374607

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
        raise GraphError(
            "a ScanIndex has no edges to plot; pass the Graph or its edges", parameter="graph"
        )
    if isinstance(clusters, (Graph, LocalGraph, ScanIndex)):
        raise GraphError(
            f"clusters is a {type(clusters).__name__}; it must be a frame, as scan and index.query "
            "return it",
            parameter="clusters",
            value=clusters,
        )
    graph = as_local_graph(graph)
    num_vertices = graph.num_vertices
    if not num_vertices:
        raise GraphError("there is nothing to plot: the graph has no vertices", parameter="graph")
    needs_transpose = graph.directed and len(graph.adjacencies) < 2
    num_bytes = 96 * num_vertices + 64 * min(graph.num_arcs, CHUNK_ARCS)
    num_bytes += 24 * graph.num_arcs if needs_transpose else 0
    check_free_memory(f"a plot of {num_vertices:,} vertices", num_bytes, graph.xp)
    order = _order_by_cluster(graph, clusters)
    width = -(-num_vertices // MAX_CELLS)
    num_cells = -(-num_vertices // width)
    counts = _count_arcs(graph, order.positions // width, num_cells)
    counts = counts if isinstance(counts, np.ndarray) else counts.get()
    lines, labels = _lines_and_labels(order, num_vertices)
    figure = _draw(counts.reshape(num_cells, num_cells), width, lines, labels)
    figure.axes[0].set_title(_title(order, num_vertices), size="medium")
    figure.axes[0].set_xlabel(_axis_label(order), size="small")
    save_figure(figure, path, dpi="figure")
    return figure


def _order_by_cluster(graph: LocalGraph, clusters: Frame) -> VertexOrder:
    """Order the vertices of a graph as a frame of clusters says.

    Raises
    ------
    GraphError
        If a column is missing or has wrong values, a vertex is missing, unknown, or in several rows
        other than those of a border vertex, or a role does not fit the cluster.
    """
    xp, num_vertices = graph.xp, graph.num_vertices
    _, table = frames.normalize_frame(clusters, "clusters")
    column_names = frames.column_names(table)
    kind = next((column for column in CLUSTER_COLUMNS if column in column_names), None)
    if kind is None:
        raise frames.missing_column_error("cluster", column_names, "cluster", "clusters")
    cluster_table = read_clusters(graph, table, kind, "clusters")
    check_roles(graph, cluster_table, kind, "clusters")
    numbers, roles = cluster_table.numbers, cluster_table.roles
    groups = cluster_table.clusters  # followed by one group of hubs and one of outliers
    if roles is not None:
        groups = groups + xp.maximum(roles.astype(xp.int64) - HUB, 0)
    sizes = xp.bincount(groups, minlength=numbers.size + 2)
    positions = xp.empty(num_vertices, xp.int32)
    positions[xp.argsort(groups, kind="stable")] = xp.arange(num_vertices, dtype=xp.int32)
    num_hubs, num_outliers = sizes[numbers.size :].tolist()
    if roles is not None:
        unclustered = {"hub": num_hubs, "outlier": num_outliers}
    else:
        unclustered = {"none": num_hubs} if num_hubs else {}
    return VertexOrder(positions, kind, numbers, sizes[: numbers.size], unclustered)


def _count_arcs(graph: LocalGraph, cell_of: Array, num_cells: int) -> Array:
    """Count the distinct arcs between the vertices of each pair of cells.

    Returns int64 of shape (num_cells * num_cells,). Arcs are counted in chunks on the device of the
    graph, and only the counts leave a GPU.
    """
    xp, num_vertices = graph.xp, graph.num_vertices
    adjacencies = [graph.csr, graph.csc] if graph.directed else [graph.csr]
    offsets = reduce(add, (adjacency.offsets for adjacency in adjacencies))
    counts = xp.zeros(num_cells * num_cells, xp.int64)
    rows = xp.searchsorted(offsets, xp.arange(0, int(offsets[-1]), CHUNK_ARCS))
    rows = sorted({*rows.tolist(), num_vertices})  # a row is never split
    bounds = [adjacency.offsets[xp.asarray(rows)].tolist() for adjacency in adjacencies]
    for chunk, (start, stop) in enumerate(pairwise(rows)):
        keys = []
        for adjacency, bound in zip(adjacencies, bounds):
            first, last = bound[chunk : chunk + 2]
            chunk_offsets = adjacency.offsets[start : stop + 1] - first
            lists = Adjacency(chunk_offsets, adjacency.neighbors[first:last], adjacency.weights)
            keys.append(((row_indices(lists).astype(xp.int64) + start) << 32) | lists.neighbors)
        keys = xp.sort(xp.concatenate(keys), kind="stable")  # merges sorted runs on a CPU
        is_counted = xp.ones(keys.size, bool)
        xp.not_equal(keys[1:], keys[:-1], out=is_counted[1:])
        row, neighbor = keys >> 32, keys & LOW_WORD
        is_counted &= row != neighbor
        cells = cell_of[row[is_counted]] * num_cells + cell_of[neighbor[is_counted]]
        counts += xp.bincount(cells, minlength=num_cells * num_cells)
    return counts


def _title(order: VertexOrder, num_vertices: int) -> str:
    counts = [_count(num_vertices, "vertex"), _count(order.numbers.size, order.kind)]
    return ", ".join([*counts, *(_count_unclustered(order, role) for role in order.unclustered)])


def _axis_label(order: VertexOrder) -> str:
    groups = {"hub": "hubs", "outlier": "outliers", "none": f"those in no {order.kind}"}
    labels = [groups[role] for role, count in order.unclustered.items() if count]
    if order.numbers.size:
        labels.insert(0, f"vertices by {order.kind}")
    return ", then ".join(labels)


def _count(count: int, noun: str) -> str:
    plural = "vertices" if noun == "vertex" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def _count_unclustered(order: VertexOrder, role: str) -> str:
    count = order.unclustered[role]
    return f"{count:,} in no {order.kind}" if role == "none" else _count(count, role)


def _lines_and_labels(order: VertexOrder, num_vertices: int) -> tuple[list[int], dict[float, str]]:
    """Return the positions of lines, and {position: label}; thin neighbors share a label."""
    bands = _bands(order, num_vertices)
    lines = [0, num_vertices]  # the frame of the plot
    for start, stop, _ in sorted(bands, key=lambda band: band[0] - band[1]):
        for position in (start, stop):
            if all(abs(position - line) >= MIN_LINE_DISTANCE * num_vertices for line in lines):
                lines.append(position)
    labeled: list[Band] = []
    for first, stop, text in bands:
        start, label = first, text
        if stop - start < MIN_LINE_DISTANCE * num_vertices:  # invisible
            continue
        distance = 2 * MIN_LABEL_DISTANCE * num_vertices
        while labeled and start + stop - sum(labeled[-1][:2]) < distance:
            start, _, previous = labeled.pop()
            label = f"{previous}, {label}"
        labeled.append((start, stop, label))
    return sorted(lines[2:]), {(start + stop) / 2: label for start, stop, label in labeled}


def _bands(order: VertexOrder, num_vertices: int) -> list[Band]:
    """Return the bands of all vertices in order; adjacent small clusters are one band."""
    bands, start, position = [], 0, 0
    for size, stop, number, index in _large_clusters(order, MIN_LABEL_DISTANCE * num_vertices):
        if index > position:
            bands.append((start, stop - size, _small_clusters(order, position, index)))
        bands.append((stop - size, stop, _cluster(order, number, size)))
        start, position = stop, index + 1
    if position < order.numbers.size:
        stop = num_vertices - sum(order.unclustered.values())
        bands.append((start, stop, _small_clusters(order, position, order.numbers.size)))
        start = stop
    for role, size in order.unclustered.items():
        bands.append((start, start + size, _count_unclustered(order, role)))
        start += size
    return bands


def _cluster(order: VertexOrder, number: int, size: int) -> str:
    return f"{order.kind} {number} ({size:,})"


def _small_clusters(order: VertexOrder, start: int, stop: int) -> str:
    if stop - start == 1:
        return _cluster(order, int(order.numbers[start]), int(order.sizes[start]))
    are_all = stop - start == order.numbers.size
    return _count(stop - start, f"{'' if are_all else 'more '}{order.kind}")


def _large_clusters(order: VertexOrder, min_size: float) -> list[tuple[int, int, int, int]]:
    """Return (size, stop, number, index) of the clusters with at least `min_size` vertices."""
    if not order.sizes.size:
        return []
    indices = (order.sizes >= min_size).nonzero()[0]
    columns = (order.sizes, order.sizes.cumsum(), order.numbers)
    return list(zip(*(values[indices].tolist() for values in columns), indices.tolist()))


def _draw(counts: np.ndarray, width: int, lines: list[int], labels: dict[float, str]) -> Figure:
    """Draw the figure with sides of whole pixels, so that all cells have the same size."""
    from matplotlib.ticker import NullFormatter

    num_cells = len(counts)
    side = num_cells * -(-MIN_PIXELS // num_cells)
    dpi = side / INCHES
    text_width = 0.065 * max(map(len, labels.values()), default=0)
    left, right, bottom, top = (
        round(inches * dpi) for inches in (0.3 + text_width, 0.95 if width > 1 else 0.2, 0.35, 0.35)
    )
    size = left + side + right, bottom + side + top
    figure = create_figure(figsize=(size[0] / dpi, size[1] / dpi), dpi=dpi)
    axes = figure.add_axes((left / size[0], bottom / size[1], side / size[0], side / size[1]))
    extent = num_cells * width
    image: dict[str, Any] = {"interpolation": "nearest", "extent": (0, extent, extent, 0)}
    if width == 1:
        axes.imshow(counts, cmap="binary", vmin=0, vmax=1, **image)
    else:
        bar_left = (left + side) / size[0] + 0.15 * dpi / size[0]
        bar = figure.add_axes((bar_left, bottom / size[1], 0.15 * dpi / size[0], side / size[1]))
        _draw_counts(axes, bar, counts, f"{width:,} \N{MULTIPLICATION SIGN} {width:,}", image)
    for line in lines:
        axes.axhline(line, **LINE_STYLE)
        axes.axvline(line, **LINE_STYLE)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(lines)
        axis.set_major_formatter(NullFormatter())
    axes.yaxis.remove_overlapping_locs = False  # a shared label may be at the position of a line
    axes.set_yticks(list(labels), list(labels.values()), minor=True, size="small")
    axes.tick_params(which="both", length=0, pad=6)
    return figure


def _draw_counts(
    axes: Axes, bar_axes: Axes, counts: np.ndarray, cell: str, image: dict[str, Any]
) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm

    maximum = max(int(counts.max()), 2)
    colors = ListedColormap(colormaps["viridis"](np.linspace(0.85, 0, 256)))  # yellow is faint
    masked = np.ma.masked_equal(counts, 0)
    mappable = axes.imshow(masked, cmap=colors, norm=LogNorm(1, maximum), **image)
    steps = (1, 2, 5) if maximum < 1000 else (1,)
    ticks = [step * 10**power for power in range(len(str(maximum))) for step in steps]
    bar = axes.figure.colorbar(mappable, cax=bar_axes)
    bar.set_ticks([tick for tick in ticks if tick <= maximum], minor=False)
    bar.ax.yaxis.set_major_formatter("{x:,.0f}")
    bar.ax.tick_params(labelsize="small")
    bar.set_label(f"arcs in a cell of {cell} vertices", size="small")
