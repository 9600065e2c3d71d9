"""What notebooks show of graphs, indexes and reports."""

import re

import pandas
import pytest
from conftest import in_partitions

import rapidsgraph as rg
from rapidsgraph.summary import format_html

EDGES = pandas.DataFrame({"source": ["<b>", "a"], "destination": ["a", "c"], "weight": [1.0, 2.0]})


def shown(value):
    """Return the title and the properties of the HTML of an object."""
    text = value._repr_html_()
    title = re.search("<strong>(.*)</strong>", text)[1]
    return title, dict(re.findall("<tr><th>(.*?)</th><td>(.*?)</td></tr>", text))


def test_a_graph():
    title, properties = shown(rg.Graph(EDGES, weight="weight", vertices=["z"]))
    assert title == "Graph"
    nbytes = properties.pop("nbytes")
    assert nbytes.endswith(" bytes")
    assert properties == {
        "vertices": "4", "edges": "2", "directed": "yes", "weighted": "yes", "device": "cpu"
    }  # fmt: skip
    assert shown(rg.Graph(EDGES, directed=False))[1]["directed"] == "no"


def test_a_graph_on_dask():
    title, properties = shown(rg.Graph(in_partitions(EDGES, 1)))
    assert (title, properties["vertices"], properties["partitions"]) == ("Graph", "3", "1")


def test_a_layered_edge_list_escapes_names(tmp_path):
    layered = rg.LayeredEdgeList.build(rg.Graph(EDGES), "<b>")
    title, properties = shown(layered)
    assert title == "LayeredEdgeList"
    assert (properties["root"], properties["depth"]) == ("&lt;b&gt;", "2")
    assert properties["path"] == "in memory"
    layered.save(tmp_path / "a&b")
    stored = rg.LayeredEdgeList.open(tmp_path / "a&b", device="cpu")
    assert shown(stored)[1]["path"].endswith("a&amp;b")
    rg.bfs(stored)
    assert shown(stored.last_run) == (
        "StreamStats", {"passes": "1", "partitions": "1", "nbytes": "32 bytes"}
    )  # fmt: skip


def test_an_index():
    index = rg.ScanIndex(EDGES)
    assert repr(index).startswith("<ScanIndex: 3 vertices, 2 edges, ")
    title, properties = shown(index)
    assert title == "ScanIndex"
    assert list(properties) == ["vertices", "edges", "device", "nbytes"]


def test_reports():
    title, properties = shown(rg.Graph(EDGES).report)
    assert (title, properties["rows"], properties["rows merged"]) == ("BuildReport", "2", "0")
    title, properties = shown(rg.estimate_memory(EDGES, "bfs"))
    assert (title, list(properties)) == ("MemoryEstimate", ["needed", "streamed"])


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1,234,567"), (True, "yes"), ("x<y", "x&lt;y"), (("a", 2), "(&#x27;a&#x27;, 2)")],
)
def test_values(value, text):
    assert f"<th>a name</th><td>{text}</td>" in format_html("T", {"a_name": value})
