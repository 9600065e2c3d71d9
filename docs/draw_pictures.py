"""Draw the pictures of README and the guide into docs/images.

python docs/draw_pictures.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.axes import Axes

import rapidsgraph as rg

IMAGES = Path(__file__).parent / "images"
COLORS = {
    "samba": "#c44e52",
    "akregator": "#3b6ea8",
    "php-horde": "#4c9a6a",
    "tryton-modules-account": "#dd8452",
}
NUM_HUBS = 12
SIDE = 60  # of the lattice of roads


def draw_roads(axes: Axes, side: int = SIDE) -> None:
    """Draw distances from a corner of a lattice of random lengths, and a path across it."""
    random = np.random.default_rng(4)
    vertices = np.arange(side * side).reshape(side, side)
    sources = np.concatenate([vertices[:, :-1].ravel(), vertices[:-1].ravel()])
    destinations = np.concatenate([vertices[:, 1:].ravel(), vertices[1:].ravel()])
    keep = random.random(len(sources)) < 0.75
    columns = {"source": sources[keep], "destination": destinations[keep]}
    columns["weight"] = random.uniform(1, 10, keep.sum())
    roads = rg.Graph(pandas.DataFrame(columns), directed=False)
    components = rg.connected_components(roads)
    largest = components[components["component"] == 0]["vertex"]
    distances = rg.sssp(roads, largest.min())
    distances = distances[distances["distance"] < np.inf]
    path = rg.shortest_path(roads, largest.min(), largest.max())
    axes.scatter(
        distances["vertex"] % side, distances["vertex"] // side, c=distances["distance"],
        cmap="viridis", s=14, marker="s", linewidths=0,
    )  # fmt: skip
    axes.plot(path["vertex"] % side, path["vertex"] // side, color="crimson", linewidth=2)
    axes.set_aspect("equal")
    axes.set_axis_off()


def draw_ranks(axes: Axes) -> None:
    """Draw the Debian packages with the highest PageRank."""
    top = rg.pagerank(rg.datasets.debian()).nlargest(10, "pagerank")[::-1]
    axes.barh(top["vertex"], top["pagerank"], color="#3b6ea8")
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.spines[["top", "right", "left"]].set_visible(False)


def draw_clusters(axes: Axes) -> None:
    """Draw four clusters of Debian's packages, and vertices that connect them."""
    import networkx

    graph = rg.Graph(rg.datasets.debian(), directed=False)
    clusters = rg.scan(graph, epsilon=0.5, mu=4).set_index("vertex")["cluster"]
    members = {name: clusters.index[clusters == clusters[name]] for name in COLORS}
    color_of = {vertex: COLORS[name] for name in members for vertex in members[name]}
    network = graph.subgraph(graph.neighborhood(list(color_of), hops=1)).to_networkx()
    adjacent = {v: {color_of.get(u) for u in network[v]} - {None} for v in network}
    hubs = [v for v in network if v not in color_of and len(adjacent[v]) > 1]
    hubs = sorted(hubs, key=network.degree)[:NUM_HUBS]
    nodes = sorted([*color_of, *hubs])  # the layout depends on the order of nodes and edges
    edges = sorted(tuple(sorted(edge)) for edge in network.subgraph(nodes).edges)
    network = networkx.Graph()
    network.add_nodes_from(nodes)
    network.add_edges_from(edges)
    positions = networkx.spring_layout(network, seed=3, k=0.3, iterations=80)
    colors = [color_of.get(vertex, "#999999") for vertex in network]
    networkx.draw_networkx_edges(network, positions, ax=axes, alpha=0.15, width=0.5)
    networkx.draw_networkx_nodes(network, positions, ax=axes, node_color=colors, node_size=14)
    axes.set_axis_off()


def draw_overview(path: Path) -> None:
    """Draw what the functions compute: PageRank, a shortest path, clusters."""
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    draw_ranks(axes[0])
    draw_roads(axes[1], side=40)
    draw_clusters(axes[2])
    for axis, title in zip(axes, ("rg.pagerank", "rg.sssp, rg.shortest_path", "rg.scan")):
        axis.set_title(title, family="monospace", fontsize=10)
    save(figure, path)


def draw_layers(path: Path) -> None:
    """Draw a small graph by layers, with forward and backward edges."""
    positions = {
        "root": (0, 1), "a": (1, 1.6), "b": (1, 0.4), "c": (2, 2), "d": (2, 1), "e": (2, 0),
        "f": (3, 1.4),
    }  # fmt: skip
    forward = ["root a", "root b", "a c", "a d", "b d", "b e", "a b", "c f", "d f"]
    backward = ["f b", "e root"]
    figure, axes = pyplot.subplots(figsize=(7, 2.8), layout="constrained")
    for layer in range(4):
        axes.axvspan(layer - 0.3, layer + 0.3, color="#eef2f7", linewidth=0)
        axes.text(layer, 2.45, f"layer {layer}", ha="center", fontsize=9)
    for pairs, color, style, bend in (
        (forward, "#3b6ea8", "solid", 0),
        (backward, "#c44e52", "dashed", 0.25),
    ):
        for pair in pairs:
            start, stop = pair.split()
            arrow = {
                "arrowstyle": "-|>", "color": color, "linestyle": style, "shrinkA": 11,
                "shrinkB": 11, "connectionstyle": f"arc3,rad={bend}",
            }  # fmt: skip
            axes.annotate("", positions[stop], positions[start], arrowprops=arrow)
    for name, (x, y) in positions.items():
        axes.plot(x, y, "o", markersize=19, markerfacecolor="white", markeredgecolor="#555555")
        axes.text(x, y, name, ha="center", va="center", fontsize=8)
    axes.plot([], [], color="#3b6ea8", label="forward: same or next layer")
    axes.plot([], [], color="#c44e52", linestyle="dashed", label="backward")
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    axes.set(xlim=(-0.5, 4.6), ylim=(-0.5, 2.7))
    axes.set_axis_off()
    save(figure, path)


def draw_paths(path: Path) -> None:
    """Draw the lattice alone."""
    figure, axes = pyplot.subplots(figsize=(4.5, 4.5), layout="constrained")
    draw_roads(axes)
    save(figure, path)


def save(figure, path: Path) -> None:
    """Write a figure without the date and version, which would change every time."""
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    figure.savefig(path, dpi=110, metadata=metadata)
    pyplot.close(figure)


def main() -> None:
    """Draw all pictures."""
    pyplot.rcParams["svg.hashsalt"] = "rapidsgraph"  # of identifiers, random otherwise
    IMAGES.mkdir(exist_ok=True)
    draw_overview(IMAGES / "overview.png")
    draw_paths(IMAGES / "paths.png")
    draw_layers(IMAGES / "layers.svg")
    graph = rg.Graph(rg.datasets.debian())
    rg.plot.distribution(rg.pagerank(graph), IMAGES / "distribution.png")
    rg.plot.adjacency(graph, rg.scan(graph, epsilon=0.5, mu=4), IMAGES / "matrix.png")
    save(rg.plot.sweep(rg.ScanIndex(graph).sweep()), IMAGES / "sweep.svg")


if __name__ == "__main__":
    main()
