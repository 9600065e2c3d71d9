"""Values that are no frames get an error with the line that converts them."""

import datetime

import networkx
import numpy as np
import pandas
import pyarrow
import pytest
import scipy.sparse

import rapidsgraph as rg

EDGES = [(0, 1), (1, 2), (0, 2), (3, 0)]
WEIGHTED = [(*edge, 0.5) for edge in EDGES]
FRAME = 'pandas.DataFrame({}, columns=["source", "destination"])'
WEIGHTED_FRAME = 'pandas.DataFrame({}, columns=["source", "destination", "weight"])'
INTEGERS = '.astype({"source": "int64", "destination": "int64"})'
CASES = {
    "networkx": (networkx.DiGraph(EDGES), "g", "rg.from_networkx(g)"),
    "scipy": (scipy.sparse.coo_array(np.eye(4)), "matrix", "rg.from_scipy(matrix)"),
    "scipy matrix": (scipy.sparse.csr_matrix(np.eye(4)), "matrix", "rg.from_scipy(matrix)"),
    "dense matrix": (np.eye(4), "matrix", "rg.from_scipy(scipy.sparse.csr_array(matrix))"),
    "list": (EDGES, "edges", f"rg.Graph({FRAME.format('edges')})"),
    "weighted list": (
        WEIGHTED,
        "edges",
        f'rg.Graph({WEIGHTED_FRAME.format("edges")}, weight="weight")',
    ),
    "set": (set(EDGES), "edges", f"rg.Graph({FRAME.format('list(edges)')})"),
    "list of lists": ([*map(list, EDGES)], "edges", f"rg.Graph({FRAME.format('edges')})"),
    "array": (np.array(EDGES), "edges", f"rg.Graph({FRAME.format('edges')})"),
    "rows of endpoints": (np.array(EDGES).T, "edges", f"rg.Graph({FRAME.format('edges.T')})"),
    "weighted array": (
        np.array(WEIGHTED),
        "edges",
        f'rg.Graph({WEIGHTED_FRAME.format("edges")}{INTEGERS}, weight="weight")',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_hint_is_a_line_that_works(name):
    value, variable, line = CASES[name]
    for call in (
        rg.Graph,
        rg.pagerank,
        rg.connected_components,
        lambda edges: rg.sssp(edges, 0),
        lambda edges: rg.bfs(edges, 0, method="frames"),
        lambda edges: rg.LayeredEdgeList.build(edges, 0),
    ):
        with pytest.raises(rg.GraphError) as caught:
            call(value)
        assert caught.value.hint == line
        assert str(caught.value).endswith(f"is not an edge frame; convert it: {line}")
    graph = eval(line, {"rg": rg, "pandas": pandas, "scipy": scipy, variable: value})
    assert graph.num_vertices == 4


def test_an_igraph_graph():
    igraph = pytest.importorskip("igraph")
    with pytest.raises(rg.GraphError, match=r"convert it: rg.from_igraph\(g\)"):
        rg.pagerank(igraph.Graph.Ring(4))


DURATIONS = [datetime.timedelta(1), datetime.timedelta(2)]


def convert(table, library):
    """Return a table of Arrow as a frame of a library."""
    if library == "arrays":
        return {name: np.array(column) for name, column in table.to_pydict().items()}
    if library in ("duckdb", "polars"):
        return pytest.importorskip(library).from_arrow(table)
    types_mapper = pandas.ArrowDtype if library == "pandas of Arrow" else None
    return table if library == "arrow" else table.to_pandas(types_mapper=types_mapper)


@pytest.mark.parametrize(
    "library", ["arrays", "arrow", "duckdb", "pandas", "pandas of Arrow", "polars"]
)
@pytest.mark.parametrize("values", [[True, False], [b"a", b"b"], DURATIONS])
def test_the_cast_of_a_hint_works(library, values):
    frame = convert(pyarrow.table({"source": values, "destination": values}), library)
    with pytest.raises(rg.GraphError, match="column 'source' holds .* in row 0; it must") as caught:
        rg.Graph(frame)
    cast = caught.value.hint.removeprefix("use ")
    if library == "duckdb":
        source = cast.removesuffix(" in the query")
        destination = source.replace("source", "destination")
        frame = frame.select(f"{source} AS source, {destination} AS destination")
    else:
        modules = {library: pytest.importorskip(library)} if library == "polars" else {}
        columns = {name: frame[name] for name in ("source", "destination")}
        if library == "arrays":
            columns = {name: pandas.Series(column) for name, column in columns.items()}
        frame = {
            name: eval(f"column{cast}", {"column": column, **modules})
            for name, column in columns.items()
        }
    assert rg.Graph(frame).num_edges == 2


@pytest.mark.parametrize(
    "values",
    [pandas.DataFrame({"a": [0], "b": [1]}), pandas.MultiIndex.from_tuples([(0, 1)])],
    ids=["frame", "index"],
)
def test_several_columns_as_one(values):
    with pytest.raises(rg.GraphError, match="column 'source' is a frame or MultiIndex; pass a"):
        rg.Graph({"source": values, "destination": [1]})
    with pytest.raises(rg.GraphError):
        rg.bfs(rg.Graph({"source": [0], "destination": [1]}), values)
