"""The picture of an adjacency matrix has every edge where the order of the clusters puts it."""

import importlib
import os

import numpy as np
import pandas as pd
import pytest
from conftest import build_storage

import rapidsgraph as rg
from rapidsgraph import device, frames, plot, validation
from rapidsgraph.errors import GraphError
from rapidsgraph.graph.build import build_graph

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.slow

ROLES = ["core", "border", "hub", "outlier"]
# Clusters {b, e, f} and {a, d}, hub c, outliers g and h; the last edge is a loop.
EDGES = [
    ("b", "e"),
    ("f", "b"),
    ("e", "f"),
    ("a", "d"),
    ("c", "a"),
    ("f", "c"),
    ("g", "h"),
    ("h", "h"),
]
ORDER = "befadcgh"
FOUND = {
    "vertex": list("abcdefgh"),
    "cluster": [1, 0, None, 1, 0, 0, None, None],
    "role": ["core", "core", "hub", "border", "core", "border", "outlier", "outlier"],
}


def edges():
    source, destination = zip(*EDGES)
    return pd.DataFrame({"source": source, "destination": destination})


def found():
    return pd.DataFrame(FOUND).astype({"cluster": "Int32"})


def expected(order=ORDER, pairs=EDGES):
    matrix = np.zeros((len(order), len(order)), int)
    for one, other in pairs:
        if one != other:
            places = order.index(one), order.index(other)
            matrix[places] = matrix[places[::-1]] = 1
    return matrix.tolist()


def image(figure):
    return figure.axes[0].images[0].get_array()


def matrix(figure):
    return image(figure).astype(int).tolist()


def names(figure):
    axis = figure.axes[0].yaxis
    places, labels = axis.get_minorticklocs().tolist(), axis.get_minorticklabels()
    return {label.get_text(): place for place, label in zip(places, labels)}


def ticks(figure):
    axes = figure.axes[0]
    assert axes.get_xticks().tolist() == axes.get_yticks().tolist()
    drawn = [line.get_ydata()[0] for line in axes.lines[::2]]
    assert drawn == axes.get_yticks().tolist()
    assert [line.get_xdata()[0] for line in axes.lines[1::2]] == drawn
    return drawn


def random_graph(vertices=5000, rows=20_000, clusters=30, seed=1):
    """Edges of which some are loops and some repeated; clusters; the order that these make."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "source": random.integers(0, vertices, rows),
            "destination": random.integers(0, -(-vertices // 10), rows),
        }
    )
    cluster = random.integers(-10, clusters, vertices)
    role = np.where(cluster >= 0, random.integers(0, 2, vertices), random.integers(2, 4, vertices))
    cluster = np.maximum(cluster, -1)
    vertex = np.arange(vertices)
    order = np.lexsort((vertex, np.where(cluster >= 0, cluster, clusters + role)))
    return frame, {"vertex": vertex, "cluster": cluster, "role": role.astype(np.int8)}, order


def counted(frame, order, width):
    """What the cells hold, by NumPy's two-dimensional histogram."""
    place = np.argsort(order)
    ends = place[frame.to_numpy()]
    pairs = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    bounds = np.arange(0, len(order) + width, width)
    return np.histogram2d(*pairs.T, bins=[bounds, bounds])[0].astype(int), len(pairs)


def test_the_matrix_in_the_order_of_the_clusters():
    figure = plot.adjacency(edges(), found())
    assert matrix(figure) == expected()
    axes = figure.axes[0]
    assert axes.get_title() == "8 vertices, 2 clusters, 1 hub, 2 outliers"
    assert ticks(figure) == [3, 5, 6]
    assert names(figure) == {
        "cluster 0 (3)": 1.5,
        "cluster 1 (2)": 4,
        "1 hub": 5.5,
        "2 outliers": 7,
    }
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 8), (8, 0))
    assert axes.get_xlabel() == "vertices by cluster, then hubs, then outliers"
    figure.draw_without_rendering()
    marks = [tick.tick1line for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_major_ticks()]
    assert {mark.get_markersize() for mark in marks} == {0}
    assert len(figure.axes) == 1  # black and white need no scale


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("multi_edges", ["first", "keep"])
def test_edges_are_undirected_and_count_once(directed, multi_edges):
    twice = pd.concat(
        [edges(), edges(), edges().iloc[:3, ::-1].set_axis(["source", "destination"], axis=1)]
    )
    graph = build_storage(twice, directed=directed, multi_edges=multi_edges)
    assert matrix(plot.adjacency(graph, found())) == expected()


def test_lists_by_destination():
    graph = build_graph(edges(), layout="csc")
    assert matrix(plot.adjacency(graph, found())) == expected()


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_clusters_in_any_order(seed):
    shuffled = found().sample(frac=1, random_state=seed)
    assert matrix(plot.adjacency(edges(), shuffled)) == expected()


def test_results_of_every_library(make_held_frame):
    """As `scan` makes them: nulls, or -1 in arrays; text, or codes where arrays have no text."""
    numbers = {letter: 10 * place for place, letter in enumerate("abcdefgh")}
    pairs = [[numbers[one] for one in pair] for pair in EDGES]
    source, destination = zip(*pairs)
    graph = build_storage(make_held_frame({"source": source, "destination": destination}))
    xp = graph.xp
    known = xp.asarray([number is not None for number in FOUND["cluster"]])
    cluster = xp.asarray(
        [-1 if number is None else number for number in FOUND["cluster"]], xp.int32
    )
    if make_held_frame.kind == "cupy":
        role = xp.asarray([ROLES.index(name) for name in FOUND["role"]], xp.int8)
    elif make_held_frame.kind == "cudf":
        role = importlib.import_module("cudf").Series(FOUND["role"])
    else:
        role = pd.Series(FOUND["role"])
    result = graph.labeling.vertex_frame({"cluster": (cluster, known), "role": role})
    figure = plot.adjacency(graph, result)
    assert matrix(figure) == expected()
    assert figure.axes[0].get_title() == "8 vertices, 2 clusters, 1 hub, 2 outliers"


def test_clusters_of_another_library_than_the_graph(make_held_frame):
    source, destination = zip(*([ord(one) for one in pair] for pair in EDGES))
    given = make_held_frame({"source": source, "destination": destination})
    clusters = found().assign(vertex=[ord(name) for name in FOUND["vertex"]])
    assert matrix(plot.adjacency(given, clusters)) == expected()


@pytest.mark.parametrize(
    "cluster",
    [
        [1.0, 0.0, np.nan, 1.0, 0.0, 0.0, np.nan, np.nan],  # what pandas makes of a CSV file
        [1, 0, -1, 1, 0, 0, -1, -1],
        np.array([7, -0.0, np.nan, 7, 0, 0, np.nan, np.nan], np.float32),
        pd.array([10**12, 5, None, 10**12, 5, 5, None, None], dtype="UInt64"),
    ],
)
def test_numbers_of_every_type_and_with_gaps(cluster):
    assert matrix(plot.adjacency(edges(), found().assign(cluster=cluster))) == expected()


def test_codes_of_roles_in_arrays():
    clusters = {
        "vertex": np.array(FOUND["vertex"]),
        "cluster": np.array([1, 0, -1, 1, 0, 0, -1, -1], np.int32),
        "role": np.array([0, 0, 2, 1, 0, 1, 3, 3], np.int8),
    }
    assert matrix(plot.adjacency(edges(), clusters)) == expected()


def test_without_roles_those_without_a_cluster_come_last_together():
    figure = plot.adjacency(edges(), found().drop(columns="role"))
    assert matrix(figure) == expected("befadcgh")
    assert figure.axes[0].get_title() == "8 vertices, 2 clusters, 3 in no cluster"
    assert ticks(figure) == [3, 5]
    assert names(figure) == {"cluster 0 (3)": 1.5, "cluster 1 (2)": 4, "3 in no cluster": 6.5}
    assert figure.axes[0].get_xlabel() == "vertices by cluster, then those in no cluster"


def test_components():
    graph = build_storage(edges())
    figure = plot.adjacency(graph, rg.connected_components(graph))
    assert matrix(figure) == expected("abcdefgh")
    assert figure.axes[0].get_title() == "8 vertices, 2 components"
    assert figure.axes[0].get_xlabel() == "vertices by component"
    assert ticks(figure) == [6]
    assert names(figure) == {"component 0 (6)": 3, "component 1 (2)": 7}


def test_of_several_memberships_the_first_counts():
    more = pd.DataFrame({"vertex": ["d", "f"], "cluster": [0, 1], "role": "border"})
    clusters = pd.concat([found(), more])
    assert matrix(plot.adjacency(edges(), clusters)) == expected()
    other_first = pd.concat([more, found()])
    assert matrix(plot.adjacency(edges(), other_first)) == expected("bdeafcgh")


def test_names_of_several_columns():
    frame = edges().assign(network=0)
    graph = build_storage(frame, ["network", "source"], ["network", "destination"])
    clusters = graph.vertices.merge(found(), left_on="vertex", right_on="vertex")
    assert matrix(plot.adjacency(graph, clusters.sample(frac=1, random_state=1))) == expected()


def test_vertices_without_edges_and_a_graph_without():
    graph = build_storage(edges().iloc[:0], vertices=["a", "b"])
    clusters = pd.DataFrame({"vertex": ["a", "b"], "cluster": [None, None], "role": "outlier"})
    figure = plot.adjacency(graph, clusters)
    assert matrix(figure) == [[0, 0], [0, 0]]
    assert figure.axes[0].get_title() == "2 vertices, 0 clusters, 0 hubs, 2 outliers"
    assert figure.axes[0].get_xlabel() == "outliers"
    one = plot.adjacency({"source": [0], "destination": [0]}, {"vertex": [0], "cluster": [0]})
    assert (matrix(one), one.axes[0].get_title()) == ([[0]], "1 vertex, 1 cluster")
    many = build_storage(
        {"source": np.array([], int), "destination": np.array([], int)}, vertices=3000
    )
    clusters = {"vertex": np.arange(3000), "cluster": np.full(3000, -1)}
    assert image(plot.adjacency(many, clusters)).mask.all()


@pytest.mark.parametrize("directed", [True, False])
def test_arcs_of_many_vertices_are_counted_in_cells(directed, monkeypatch):
    monkeypatch.setattr(importlib.import_module("rapidsgraph.plot.adjacency"), "CHUNK_ARCS", 1000)
    frame, clusters, order = random_graph()
    figure = plot.adjacency(build_storage(frame, directed=directed, vertices=5000), clusters)
    cells, arcs = counted(frame, order, 5)
    shown = image(figure)
    assert shown.shape == (1000, 1000)
    assert (shown.filled(0) == cells).all()
    assert shown.sum() == arcs
    assert (shown.mask == (cells == 0)).all()  # stays white
    bar = figure.axes[1]
    assert bar.get_ylabel() == "arcs in a cell of 5 \N{MULTIPLICATION SIGN} 5 vertices"
    assert bar.get_yscale() == "log"
    assert bar.get_ylim() == pytest.approx((1, cells.max()))


def test_cells_are_all_of_one_size():
    """The last may be beyond the last vertex: cells of 3 and of 2 vertices would be stripes."""
    frame, clusters, order = random_graph(2501)
    figure = plot.adjacency(build_storage(frame, vertices=2501), clusters)
    assert (image(figure).filled(0) == counted(frame, order, 3)[0]).all()
    assert image(figure).shape == (834, 834)
    assert figure.axes[0].get_xlim() == (0, 2502)
    title = figure.axes[0].get_title()
    hubs, outliers = ((clusters["role"] == code).sum() for code in (2, 3))
    assert title == f"2,501 vertices, 30 clusters, {hubs} hubs, {outliers} outliers"


@pytest.mark.parametrize(("vertices", "cells", "scales"), [(1000, 1000, 0), (1001, 501, 1)])
def test_where_cells_of_several_begin(vertices, cells, scales):
    frame, clusters, order = random_graph(vertices)
    figure = plot.adjacency(build_storage(frame, vertices=vertices), clusters)
    assert image(figure).shape == (cells, cells)
    assert len(figure.axes) == 1 + scales
    width = -(-vertices // 1000)
    assert (np.ma.filled(image(figure), 0) == counted(frame, order, width)[0]).all()


def clustered(sizes, rest=()):
    """A picture of a cycle with clusters of these sizes, and so many hubs and outliers."""
    vertices = sum(sizes) + sum(rest)
    vertex = np.arange(vertices)
    cluster = np.repeat(np.arange(len(sizes) + len(rest)), [*sizes, *rest])
    clusters = {"vertex": vertex, "cluster": np.where(cluster < len(sizes), cluster, -1)}
    if rest:
        clusters["role"] = np.maximum(cluster - len(sizes) + 2, 0).clip(0, 3) * (
            cluster >= len(sizes)
        )
    return plot.adjacency({"source": vertex, "destination": (vertex + 1) % vertices}, clusters)


def test_only_clusters_that_can_be_seen_are_marked():
    figure = clustered([4000, 1000, 200] + [4] * 1000, rest=[500, 300])
    assert ticks(figure) == [4000, 5000, 9200, 9700]
    assert names(figure) == {
        "cluster 0 (4,000)": 2000,
        "cluster 1 (1,000)": 4500,
        "1,001 more clusters": 7100,
        "500 hubs": 9450,
        "300 outliers": 9850,
    }


def test_neighbors_too_thin_for_a_line_of_text_share_one():
    assert names(clustered([40, 39, 20, 2], rest=[2, 2])) == {
        "cluster 0 (40)": 20,
        "cluster 1 (39)": 59.5,
        "cluster 2 (20)": 89,
        "cluster 3 (2), 2 hubs": 101,  # where a line is
        "2 outliers": 104,
    }
    named = names(clustered([800, 180], rest=[10, 10]))
    assert named == {"cluster 0 (800)": 400, "cluster 1 (180)": 890, "10 hubs, 10 outliers": 990}
    named = names(clustered([900, 50, 26, 2, 2], rest=[10, 10]))
    assert list(named)[2:] == ["cluster 2 (26), 10 hubs", "10 outliers"]


def test_small_clusters_between_large_ones():
    figure = clustered([400, 20, 300, 20, 15, 245])
    assert names(figure) == {
        "cluster 0 (400)": 200,
        "cluster 1 (20)": 410,
        "cluster 2 (300)": 570,
        "2 more clusters": 737.5,
        "cluster 5 (245)": 877.5,
    }


def test_clusters_too_small_to_be_seen():
    figure = clustered([2] * 2000)
    assert ticks(figure) == []
    assert names(figure) == {"2,000 clusters": 2000}


def test_hubs_and_outliers_too_few_to_be_seen():
    figure = clustered([6000, 4000 - 11], rest=[10, 1])
    assert ticks(figure) == [6000]
    assert names(figure) == {"cluster 0 (6,000)": 3000, "cluster 1 (3,989)": 7994.5}
    assert figure.axes[0].get_title() == "10,000 vertices, 2 clusters, 10 hubs, 1 outlier"


def test_lines_and_names_keep_apart():
    figure = clustered(np.arange(300, 0, -1).tolist(), rest=[20, 400])
    vertices = 300 * 301 // 2 + 420
    assert np.diff([0, *ticks(figure), vertices]).min() >= 0.007 * vertices
    assert np.diff(sorted(names(figure).values())).min() >= 0.025 * vertices
    assert "400 outliers" not in names(clustered([2000] * 50, rest=[400, 400]))


@pytest.mark.parametrize("vertices", [7, 105, 700, 1000, 2002])
def test_every_cell_has_as_many_pixels(tmp_path, vertices):
    """The file shows the array, magnified, without gaps or stripes."""
    from matplotlib.image import imread

    frame, clusters, _ = random_graph(vertices, 4 * vertices, clusters=1)
    clusters = {"vertex": clusters["vertex"], "cluster": np.zeros(vertices, int)}  # no lines
    figure = plot.adjacency(build_storage(frame, vertices=vertices), clusters, tmp_path / "a.png")
    pixels = imread(tmp_path / "a.png")
    box = figure.axes[0].get_window_extent()
    left, right = round(box.x0), round(box.x1)
    top, bottom = len(pixels) - round(box.y1), len(pixels) - round(box.y0)
    shown = image(figure)
    size, left_over = divmod(right - left, len(shown))
    assert left_over == 0 and size >= 1 and 750 <= right - left < 1500
    square = pixels[top:bottom, left:right, :3]
    is_white = (square == 1).all(axis=2)
    blank = np.ma.filled(shown, 0) == 0
    frame_width = slice(3, -3)  # the frame lies over the outermost pixels
    blank = np.kron(blank, np.ones((size, size), bool))
    assert (is_white == blank)[frame_width, frame_width].all()


@pytest.mark.parametrize(
    ("ending", "start"), [(".png", b"\x89PNG"), (".PDF", b"%PDF"), (".svg", b"<?xml")]
)
def test_written_whole(tmp_path, ending, start):
    path = tmp_path / f"a{ending}"
    path.write_text("what was there")
    plot.adjacency(edges(), found(), path)
    assert path.read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [path.name]


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def savefig(self, file, **options):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", savefig)
    (tmp_path / "a.png").write_text("what was there")
    with pytest.raises(rg.GraphError, match=r"a\.png: it could not be written \(disk full\)"):
        plot.adjacency(edges(), found(), tmp_path / "a.png")
    assert os.listdir(tmp_path) == ["a.png"]
    assert (tmp_path / "a.png").read_text() == "what was there"


def changed(**columns):
    return found().assign(**columns)


def replaced(column, row, value):
    values = list(FOUND[column])
    values[row] = value
    return pd.DataFrame({**FOUND, column: values})


WRONG = [
    (found().drop(columns="vertex"), "clusters: there is no column 'vertex'"),
    (found().drop(columns="cluster"), "clusters: there is no column 'cluster'; the columns are"),
    (found()[1:], "clusters: there is no row for vertex a"),
    (found()[:0], "clusters: there is no row for vertex a"),
    (pd.concat([found(), found()[2:3]]), "clusters: there are 2 rows for vertex c; only a border"),
    (pd.concat([found(), found()[3:4]]), "clusters: there are 2 rows for vertex d; only a border"),
    (
        pd.concat([found(), found()[3:4]]).drop(columns="role"),
        "clusters: there are 2 rows for vertex d",
    ),
    (replaced("vertex", 1, "x"), "clusters: vertex 'x' is not in the graph"),
    (changed(vertex=range(8)), "0 is a number, but the vertex names of this graph are text"),
    (changed(cluster="a"), "column 'cluster' must hold integers"),
    (
        changed(cluster=[1, 0.5, *[None] * 6]),
        "clusters: cluster 0.5 in row 1, of vertex b; it must be an int",
    ),
    (
        changed(cluster=[1, 0, -2, 1, 0, 0, -1, -1]),
        "clusters: cluster -2 in row 2, of vertex c; it must be",
    ),
    (changed(cluster=np.array([2**64 - 1] * 8, np.uint64)), "cluster 18446744073709551615 in row"),
    (
        changed(cluster=[np.inf, *[0.0] * 7]),
        "clusters: cluster inf in row 0, of vertex a; it must be",
    ),
    (
        replaced("role", 5, "member"),
        "role 'member' in row 5, of vertex f; it can be core, bo",
    ),
    (changed(role=[0, 0, 2, 1, 0, 4, 3, 3]), "role 4 in row 5, of vertex f; it can be"),
    (changed(role=1.0), "column 'role' holds float64; it can be core, border"),
    (replaced("role", 5, None), "column 'role' has no value in row 5"),
    (replaced("role", 2, "core"), "vertex c has role 'core' and is in no cluster"),
    (replaced("role", 3, "hub"), "vertex d has role 'hub' and is in cluster 1"),
    ({**FOUND, "cluster": np.array([1])}, "8 vertices, but 1 rows of column 'cluster'"),
    ({**FOUND, "role": np.array([1])}, "8 vertices, but 1 rows of column 'role'"),
    (5, "int is not an edge frame"),
]


@pytest.mark.parametrize(("clusters", "message"), WRONG, ids=[message for _, message in WRONG])
def test_clusters_that_do_not_fit(tmp_path, clusters, message):
    with pytest.raises(GraphError, match=message):
        plot.adjacency(edges(), clusters, tmp_path / "a.png")
    assert os.listdir(tmp_path) == []


def test_an_index_is_no_clustering(tmp_path):
    with pytest.raises(GraphError, match="clusters is a ScanIndex; it must be a frame, as scan an"):
        plot.adjacency(edges(), rg.ScanIndex(edges()), tmp_path / "a.png")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [("a.bmp", "'.bmp' is not known; try .png .svg .pdf"), ("none/a.png", "does not exist")],
)
def test_files_that_cannot_be_written(tmp_path, name, message):
    with pytest.raises(GraphError, match=message):
        plot.adjacency(edges(), found(), tmp_path / name)


def test_an_index_has_no_edges():
    with pytest.raises(GraphError, match="a ScanIndex has no edges to plot; pass the Gr"):
        plot.adjacency(rg.ScanIndex(edges()), found())


def test_a_graph_of_nothing():
    with pytest.raises(GraphError, match="nothing to plot: the graph has no vertices"):
        plot.adjacency(edges()[:0], found())


def test_memory_is_checked_before_it_is_taken(monkeypatch):
    graph = build_storage(edges())
    monkeypatch.setattr(validation, "MIN_CHECKED_BYTES", 0)
    monkeypatch.setattr(device, "free_memory", lambda xp: 100)
    with pytest.raises(rg.InsufficientMemoryError, match="a plot of 8 vertices"):
        plot.adjacency(graph, found())
    assert len(graph.adjacencies) == 1


def test_a_frame_is_opened_once():
    """A stream of another library can be read once only."""

    class Streamed:
        columns = list(FOUND)

        def __init__(self):
            columns = {name: found()[name] for name in ("vertex", "role")}
            self.table = frames.make_frame("arrow", columns)
            self.reads = 0

        def __arrow_c_stream__(self, requested_schema=None):
            import pyarrow

            self.reads += 1
            assert self.reads == 1
            cluster = pyarrow.array(FOUND["cluster"], pyarrow.int32())
            return self.table.append_column("cluster", cluster).__arrow_c_stream__(requested_schema)

    assert matrix(plot.adjacency(edges(), Streamed())) == expected()
