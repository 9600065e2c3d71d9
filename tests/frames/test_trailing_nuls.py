"""Names that end in NUL characters, which NumPy's fixed-width text would drop."""

import dask.dataframe
import numpy as np
import pandas
import pyarrow
import pytest
from test_cli import run, without_gpu  # noqa: F401  a fixture for all tests here

import rapidsgraph as rg

NAME = "a\0"
EDGES = pandas.DataFrame({"source": ["a", NAME], "destination": ["b", "c"]})
DISTANCES = {"a": None, NAME: 0, "b": None, "c": 1}
FORMS = {
    "text": NAME,
    "NumPy text": np.str_(NAME),
    "list": [NAME],
    "tuple": (NAME,),
    "set": {NAME},
    "object array": np.array([NAME], object),
    "scalar array": np.array(NAME, object),
    "StringDType": np.array([NAME], np.dtypes.StringDType()),
    "Series": pandas.Series([NAME]),
    "Arrow array": pyarrow.array([NAME]),
    "frame": pandas.DataFrame({"vertex": [NAME]}),
    "mapping": {"vertex": [NAME]},
}


def distances_of(result):
    result = result.compute() if hasattr(result, "compute") else result
    distances = zip(result["vertex"], result["distance"], strict=True)
    return {name: None if pandas.isna(value) else value for name, value in distances}


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("partitions", [0, 2])
def test_sources(partitions, source):
    frame = dask.dataframe.from_pandas(EDGES, npartitions=2) if partitions else EDGES
    assert distances_of(rg.bfs(frame, source)) == DISTANCES


@pytest.mark.parametrize(
    "columns",
    [
        {"source": ["a", NAME], "destination": ["b", "c"]},
        {"source": ("a", NAME), "destination": ("b", "c")},
        {name: EDGES[name].to_numpy(object) for name in EDGES},
        {name: np.array(EDGES[name], np.dtypes.StringDType()) for name in EDGES},
        pyarrow.table(dict(EDGES)),
    ],
    ids=["lists", "tuples", "object arrays", "StringDType", "Arrow"],
)
def test_frames(columns):
    assert rg.Graph(columns).num_vertices == 4
    result = rg.bfs(columns, NAME)
    distances = result["distance"]
    distances = distances.to_pylist() if hasattr(distances, "to_pylist") else list(distances)
    assert [value if value in (0, 1) else None for value in distances] == [None, 0, None, 1]


@pytest.mark.parametrize("form", ["dict", "mapping", "frame"])
def test_values_by_vertex(form):
    given = {NAME: 1.0} if form == "dict" else {"vertex": [NAME], "value": [1.0]}
    given = pandas.DataFrame(given) if form == "frame" else given
    for graph in (EDGES, dask.dataframe.from_pandas(EDGES, npartitions=2)):
        ranks = rg.pagerank(graph, personalization=given, start=given, dangling=given)
        ranks = ranks.compute() if hasattr(ranks, "compute") else ranks
        assert [rank > 0 for rank in ranks["pagerank"]] == [False, True, False, True]


def test_vertices():
    graph = rg.Graph(EDGES, vertices=["a\0\0", "b"])
    assert graph.vertices["vertex"].tolist() == ["a", NAME, "a\0\0", "b", "c"]


def test_several_columns():
    columns = {"s": ["a", NAME], "t": ["b", "c"], "u": [1, 1], "v": [1, 1]}
    graph = rg.Graph(columns, ["s", "u"], ["t", "v"])
    for source in ((NAME, 1), [(NAME, 1)]):
        assert list(rg.bfs(graph, source)["distance"]) == [-1, 0, -1, 1]


def test_layers(tmp_path):
    layers = rg.LayeredEdgeList.build(rg.Graph(EDGES), NAME)
    layers.save(tmp_path / "saved")
    EDGES.to_parquet(tmp_path / "edges.parquet")
    path, store = tmp_path / "edges.parquet", tmp_path / "store"
    for edge_list in (
        layers,
        rg.LayeredEdgeList.open(tmp_path / "saved", device="cpu"),
        rg.LayeredEdgeList.build(path, NAME, store=store, device="cpu"),
    ):
        assert edge_list.root == NAME
        assert distances_of(rg.bfs(edge_list)) == DISTANCES
        assert distances_of(rg.bfs(edge_list, NAME)) == DISTANCES


def test_files_on_the_command_line(tmp_path):
    edges, starts, result = (tmp_path / name for name in ("edges.csv", "from.csv", "r.parquet"))
    edges.write_text(f"source,destination\na,b\n{NAME},c\n")
    starts.write_text(f"vertex\n{NAME}\n")
    for more in ([], ["--layers"]):
        run("bfs", edges, "--from-file", starts, "--output", result, *more)
        assert distances_of(pandas.read_parquet(result)) == DISTANCES
