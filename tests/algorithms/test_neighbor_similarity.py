"""Similarity of neighborhoods of edges and of pairs against definitions and NetworkX."""

import networkx
import numpy as np
import pandas
import pytest
from clusterings import bipartite, clique, edges_of, frame_columns, star
from conftest import FrameMaker, by_engine, listed, random_edges, to_pandas
from hypothesis import given, settings
from hypothesis import strategies as st

import rapidsgraph as rg
from rapidsgraph.algorithms import neighbor_similarity
from rapidsgraph.algorithms.neighbor_similarity import KINDS


def define(edges, pairs, kind):
    """The values of pairs by sets."""
    near = {}
    for a, b, *_ in edges:
        if a != b:
            near.setdefault(a, set()).add(b)
            near.setdefault(b, set()).add(a)
    values = []
    for a, b in pairs:
        one, other = near.get(a, set()), near.get(b, set())
        common = len(one & other)
        size = {
            "common": 1,
            "jaccard": len(one | other),
            "overlap": min(len(one), len(other)),
            "cosine": (len(one) * len(other)) ** 0.5,
        }[kind]
        values.append(common / size if size else 0)
    return values


def edge_pairs(edges):
    return sorted({(min(a, b), max(a, b)) for a, b, *_ in edges if a != b})


def make_pairs(make_frame, pairs):
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    return make_frame({"source": ends[0], "destination": ends[1]})


SHAPES = {
    "clique": clique(range(7)),
    "star": star(9),
    "bipartite": bipartite(3, 5),
    "loops, parallel edges": edges_of([(0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (3, 3), (3, 2)]),
    "random": random_edges(9, 40, 300),
}


@by_engine
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SHAPES)
def test_edges_and_pairs(make_arrays, name, kind, method):
    edges = SHAPES[name]
    frame = make_arrays(frame_columns(edges))
    result = listed(rg.neighbor_similarity(frame, kind=kind, method=method))
    assert list(result) == ["source", "destination", kind]
    ends = [*zip(result["source"], result["destination"])]
    assert ends == edge_pairs(edges)
    assert result[kind] == pytest.approx(define(edges, ends, kind), rel=1e-14)
    vertices = sorted({v for a, b, _ in edges for v in (a, b)})
    pairs = [(a, b) for a in vertices[::-1] for b in vertices if (a + b) % 3][:500]
    pairs += pairs[:3]  # a pair may come twice
    table = make_pairs(make_arrays, pairs)
    result = listed(rg.neighbor_similarity(frame, table, kind=kind, method=method))
    assert [*zip(result["source"], result["destination"])] == pairs
    assert result[kind] == pytest.approx(define(edges, pairs, kind), rel=1e-14)


pair_lists = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)


@given(pair_lists, pair_lists, st.sampled_from(KINDS), st.booleans())
@settings(max_examples=40)
def test_small_graphs(edges, pairs, kind, directed):
    frame = make_pairs(FrameMaker("arrays"), edges)
    graph = rg.Graph(frame, directed=directed, vertices=10)
    table = make_pairs(FrameMaker("arrays"), pairs)
    for chosen in (None, table):
        ends = edge_pairs(edges) if chosen is None else pairs
        result = rg.neighbor_similarity(graph, chosen, kind=kind)
        assert listed(result)[kind] == pytest.approx(define(edges, ends, kind))
        assert rg.verify.neighbor_similarity(graph, result, chosen, kind=kind) == len(ends)
    if kind == "jaccard":
        simple = networkx.Graph((a, b) for a, b in edges if a != b)
        simple.add_nodes_from(range(10))
        expected = [value for *_, value in networkx.jaccard_coefficient(simple, pairs)]
        assert listed(result)[kind] == pytest.approx(expected)


@pytest.mark.sanitizer
def test_hubs(make_arrays):
    """Two hubs of 100,000 neighbors that share half of them, and a leaf of both."""
    leaves = np.arange(2, 100_002)
    sources = np.concatenate([np.zeros(leaves.size, int), np.ones(leaves.size, int)])
    frame = make_arrays(
        {"source": sources, "destination": np.concatenate([leaves, leaves + 50_000])}
    )
    pairs = make_pairs(make_arrays, [(0, 1), (1, 0), (0, 2), (60_000, 70_000), (0, 0)])
    result = listed(rg.neighbor_similarity(frame, pairs, kind="common"))
    assert result["common"] == [50_000, 50_000, 0, 2, 100_000]


def test_results_from_every_library(make_frame):
    edges = SHAPES["loops, parallel edges"]
    frame = make_frame(frame_columns(edges))
    for kind, dtype in (("jaccard", "float64"), ("common", "int32")):
        result = rg.neighbor_similarity(frame, kind=kind)
        assert type(result) is type(frame)
        assert str(to_pandas(result)[kind].dtype) == dtype
        assert listed(result)[kind] == pytest.approx(define(edges, edge_pairs(edges), kind))
    result = rg.neighbor_similarity(
        frame, make_pairs(make_frame, [(3, 1), (0, 3)]), method="frames"
    )
    assert type(result) is type(frame)
    assert listed(result)["jaccard"] == pytest.approx(define(edges, [(3, 1), (0, 3)], "jaccard"))


def test_names(make_held_frame):
    frame = make_held_frame({"net": ["x", "x", "y"], "u": ["é", "b", "é"], "v": ["b", "c", "b"]})
    graph = rg.Graph(frame, ["net", "u"], ["net", "v"])
    pairs = make_held_frame({"net": ["x", "y"], "source": ["c", "b"], "destination": ["é", "é"]})
    for method in ("auto", "frames"):
        result = listed(rg.neighbor_similarity(graph, pairs, method=method))
        assert result == {
            "net": ["x", "y"], "source": ["c", "b"], "destination": ["é", "é"],
            "jaccard": [1.0, 0.0],
        }  # fmt: skip
        assert len(listed(rg.neighbor_similarity(graph, method=method))["net"]) == 3


@by_engine
def test_what_cannot_be_used(method):
    make = FrameMaker("pandas")
    frame = make({"source": [0, 1], "destination": [1, 2]})
    with pytest.raises(
        rg.VertexNotFoundError, match="pairs: vertex 7 is not in the graph"
    ) as error:
        rg.neighbor_similarity(frame, make_pairs(make, [(0, 1), (7, 1)]), method=method)
    assert error.value.row == 1
    with pytest.raises(rg.GraphError, match="destination"):
        rg.neighbor_similarity(frame, frame[["source"]], method=method)
    uneven = {"source": [0, 1], "destination": [1]}
    with pytest.raises(rg.GraphError, match=r"pairs: columns have different lengths: \[1, 2\]"):
        rg.neighbor_similarity(frame, uneven, method=method)
    with pytest.raises(rg.GraphError, match="kind is 'dice'"):
        rg.neighbor_similarity(frame, kind="dice", method=method)
    graph = rg.Graph(frame.assign(jaccard=1), ["jaccard", "source"], ["jaccard", "destination"])
    with pytest.raises(rg.GraphError, match="name column 'jaccard' collides"):
        rg.neighbor_similarity(graph, method=method)


@pytest.mark.parametrize("form", ["pandas", "frames", "dask-3"])
@pytest.mark.parametrize(
    ("sources", "problem"),
    [
        (["a", None], "column 'source' has no value in row 1"),
        ([1, True], "column 'source' holds "),
        ([[1], [2]], "column 'source' holds list values"),
    ],
)
def test_errors_in_pairs_name_pairs(form, sources, problem):
    """The edges have columns of the same names."""
    frame = FrameMaker("dask-3" if form == "dask-3" else "pandas")(frame_columns(SHAPES["random"]))
    method = "frames" if form == "frames" else "auto"
    pairs = pandas.DataFrame({"source": pandas.Series(sources, dtype=object), "destination": 1})
    with pytest.raises(rg.GraphError, match=f"^pairs: {problem}") as caught:
        rg.neighbor_similarity(frame, pairs, method=method)
    assert (caught.value.parameter, caught.value.column) == ("pairs", "source")
    pairs = pandas.DataFrame([[1, 2, 3]], columns=["source", "source", "destination"])
    with pytest.raises(rg.GraphError, match=r"^pairs: 2 columns are called 'source'"):
        rg.neighbor_similarity(frame, pairs, method=method)


def test_pairs_on_dask():
    frame, pairs = FrameMaker("dask-3")(frame_columns(SHAPES["random"])), [(3, 1), (0, 9)]
    table = make_pairs(FrameMaker("pandas"), pairs)
    expected = define(SHAPES["random"], pairs, "jaccard")
    for wanted in (table, FrameMaker("dask-1")(dict(zip(table, table.to_numpy().T)))):
        for method in ("auto", "frames"):
            result = rg.neighbor_similarity(frame, wanted, method=method)
            assert listed(result)["jaccard"] == pytest.approx(expected)


def test_the_check_finds_wrong_rows_and_values():
    make = FrameMaker("pandas")
    frame = make(frame_columns(SHAPES["random"]))
    result = rg.neighbor_similarity(frame)
    assert rg.verify.neighbor_similarity(frame, result) == len(result)
    for row in (0, 17, len(result) - 1):
        wrong = result.copy()
        wrong.loc[row, "jaccard"] += 1e-9
        with pytest.raises(rg.VerificationError, match="their neighbors make it") as error:
            rg.verify.neighbor_similarity(frame, wrong)
        assert error.value.row == row
    with pytest.raises(rg.VerificationError, match="rows; 2 are expected"):
        rg.verify.neighbor_similarity(frame, result, result[["source", "destination"]][:2])
    assert rg.verify.neighbor_similarity(frame, result[::-1]) == len(result)
    wrong = result.copy()
    wrong.loc[3, ["source", "destination"]] = wrong.loc[4, ["source", "destination"]]
    source, destination = result.loc[3, ["source", "destination"]].astype(int)
    with pytest.raises(
        rg.VerificationError,
        match=f"rows are missing for the edge from vertex {source} to vertex {destination}$",
    ):
        rg.verify.neighbor_similarity(frame, wrong)
    wrong.loc[3, ["source", "destination"]] = result.loc[3, ["destination", "source"]].to_numpy()
    with pytest.raises(rg.VerificationError, match="are missing for the edge"):
        rg.verify.neighbor_similarity(frame, wrong)
    wrong = result.copy()
    wrong.loc[4, ["source", "destination"]] = wrong.loc[3, ["source", "destination"]]
    with pytest.raises(rg.VerificationError, match="there are too many rows for the edge from"):
        rg.verify.neighbor_similarity(frame, wrong)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"jaccard": "much"}, "^column 'jaccard' must hold numbers$"),
        ({"jaccard": None}, "vertex 0 and vertex 1 have jaccard nan; "),
        ({"source": None}, "^the result: column 'source' has no value in row 0"),
        ({"source": -1}, "^the result: vertex -1 is not in the graph"),
    ],
)
def test_the_check_names_the_result(columns, message):
    graph = rg.Graph({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    result = pandas.DataFrame(rg.neighbor_similarity(graph))
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.neighbor_similarity(graph, result.assign(**columns))
    with pytest.raises(rg.VerificationError, match=r"the result has 4 pairs and 1 values"):
        rg.verify.neighbor_similarity(graph, {**dict(result), "jaccard": [1.0]})
    with pytest.raises(rg.GraphError, match=r"there is no column 'jaccard'"):
        rg.verify.neighbor_similarity(graph, result[["source", "destination"]])


@pytest.mark.parametrize("kind", KINDS)
def test_the_check_does_not_depend_on_the_formulas(kind, monkeypatch):
    frame = FrameMaker("pandas")(frame_columns(SHAPES["random"]))
    compare_edges = neighbor_similarity.compare_edges

    def double_values(*arguments):
        sources, destinations, values = compare_edges(*arguments)
        return sources, destinations, 2 * values

    monkeypatch.setattr(neighbor_similarity, "compare_edges", double_values)
    result = rg.neighbor_similarity(frame, kind=kind)
    with pytest.raises(rg.VerificationError, match=f"have {kind} "):
        rg.verify.neighbor_similarity(frame, result, kind=kind)
