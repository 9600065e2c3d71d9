"""The verifier accepts what is right and finds what is not; real graphs are ranked and verified."""

from pathlib import Path

import numpy as np
import pandas
import pytest
from conftest import FrameMaker, columns_of, random_edges, to_pandas

import rapidsgraph as rg
from rapidsgraph.generate import rmat

DATA = Path(__file__).parents[3] / "shared" / "data"
METHODS = ("auto", "edge", "node", "contribution", "warp")


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request, make_arrays):
    frame = make_arrays(columns_of(random_edges(40)))
    return rg.Graph(frame, weight="weight", multi_edges="keep", directed=request.param, vertices=70)


OPTIONS = [
    {},
    {"dangling": "drop"},
    {"dangling": {3: 1.0, 65: 2.0}},
    {"personalization": {0: 1.0, 61: 1.0}},
    {"personalization": {0: 1.0, 61: 1.0}, "dangling": "uniform"},
    {"personalization": {0: 1.0, 61: 1.0}, "dangling": {3: 1.0}},
    {"damping": 0.5},
    {"damping": 0.0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_accepts_ranks(graph, options):
    ranks = rg.pagerank(graph, tolerance=1e-13, max_iterations=500, **options)
    assert rg.verify.pagerank(graph, ranks, tolerance=1e-12, **options) <= 1e-12


@pytest.mark.parametrize("options", OPTIONS[1:], ids=str)
def test_finds_that_options_were_others(graph, options):
    ranks = rg.pagerank(graph, tolerance=1e-13, max_iterations=500, **options)
    with pytest.raises(rg.VerificationError, match="applying the formula once changes them by"):
        rg.verify.pagerank(graph, ranks)


@pytest.mark.parametrize("other", ["uniform", "drop", {3: 1.0}], ids=str)
def test_finds_that_dangling_rank_went_elsewhere(graph, other):
    options = {"personalization": {0: 1.0, 61: 1.0}}
    ranks = rg.pagerank(graph, tolerance=1e-13, max_iterations=500, dangling=other, **options)
    with pytest.raises(rg.VerificationError, match="applying the formula once changes them by"):
        rg.verify.pagerank(graph, ranks, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": 1.5}, "damping is 1.5; it must be a number from 0 to 1"),
        ({"tolerance": float("nan")}, "tolerance is nan"),
        ({"dangling": "self"}, "dangling is 'self'; it can be None"),
    ],
)
def test_wrong_parameters(graph, options, message):
    with pytest.raises(rg.GraphError, match=message) as caught:
        rg.verify.pagerank(graph, rg.pagerank(graph), **options)
    assert caught.type is rg.GraphError


def test_returns_the_change():
    frame = {"source": np.array([0, 1]), "destination": np.array([1, 0])}
    ranks = {"vertex": np.array([0, 1]), "pagerank": np.array([0.6, 0.4])}
    # 0.15 / 2 + 0.85 * 0.4 = 0.415 and 0.585 follow, 0.185 away each.
    assert rg.verify.pagerank(frame, ranks, tolerance=0.4) == pytest.approx(0.37, abs=1e-15)
    message = r"changes them by 0.37 in total, more than 0.1; most at vertex 0, from 0.6 to 0.415"
    with pytest.raises(rg.VerificationError, match=message):
        rg.verify.pagerank(frame, ranks, tolerance=0.1)


@pytest.mark.parametrize("change", [1e-4, -1e-4])
def test_finds_one_wrong_rank(make_held_frame, change):
    frame = make_held_frame(columns_of(random_edges(41)))
    ranks = to_pandas(rg.pagerank(frame, tolerance=1e-12)).copy()
    assert rg.verify.pagerank(frame, make_held_frame(dict(ranks))) < 1e-11
    ranks.loc[17, "pagerank"] += change
    with pytest.raises(rg.VerificationError, match="most at vertex 17, from"):
        rg.verify.pagerank(frame, make_held_frame(dict(ranks)), tolerance=1e-5)


def test_names_of_every_kind_are_named():
    maker = FrameMaker("pandas")
    frame = maker({"source": ["b", "ä"], "destination": ["ä", "c"]})
    ranks = rg.pagerank(frame).sort_values("vertex", ascending=False)
    assert rg.verify.pagerank(frame, ranks) < 1e-6  # in any order
    ranks.loc[ranks["vertex"] == "ä", "pagerank"] = 0.9
    with pytest.raises(rg.VerificationError, match="most at vertex ä, from 0.9"):
        rg.verify.pagerank(frame, ranks)
    columns = {"net": ["x", "y"], "source": [1, 1], "destination": [2, 3]}
    graph = rg.Graph(maker(columns), ["net", "source"], ["net", "destination"])
    ranks = rg.pagerank(graph)
    assert rg.verify.pagerank(graph, ranks) < 1e-6
    ranks.loc[3, "pagerank"] = 0.9
    with pytest.raises(rg.VerificationError, match="most at vertex y, 3, from 0.9"):
        rg.verify.pagerank(graph, ranks)


def changed(ranks, what):
    if what == "lacks a vertex":
        return ranks.iloc[:-1]
    if what == "repeats a vertex":
        return pandas.concat([ranks, ranks.iloc[[1]]])
    if what == "knows another vertex":
        return ranks.assign(vertex=[0, 1, 7])
    if what == "has no column":
        return ranks.rename(columns={"pagerank": "rank"})
    if what == "holds NaN":
        return ranks.assign(pagerank=[0.5, np.nan, 0.5])
    if what == "holds infinity":
        return ranks.assign(pagerank=[0.5, np.inf, 0.5])
    return ranks.assign(pagerank=["a", "b", "c"])


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("lacks a vertex", "the result has 0 rows for vertex 2; it must have one row"),
        ("repeats a vertex", "the result has 2 rows for vertex 1; it must have one row"),
        ("knows another vertex", "vertex 7 is not in the graph"),
        ("has no column", "no column 'pagerank'"),
        (
            "holds NaN",
            "vertex 1 has pagerank nan; column 'pagerank' must hold a finite number in every row",
        ),
        (
            "holds infinity",
            "vertex 1 has pagerank inf; column 'pagerank' must hold a finite number in every row",
        ),
        ("holds text", "column 'pagerank' must hold a finite number in every row"),
    ],
)
def test_finds_what_is_no_result(what, message):
    frame = FrameMaker("pandas")({"source": [0, 1, 2], "destination": [1, 2, 0]})
    with pytest.raises(rg.GraphError, match=message) as caught:
        rg.verify.pagerank(frame, changed(rg.pagerank(frame), what))
    if what != "has no column":
        assert caught.type is rg.VerificationError


def test_no_vertices():
    none = FrameMaker("pandas")({"source": np.empty(0, int), "destination": np.empty(0, int)})
    assert rg.verify.pagerank(none, rg.pagerank(none)) == 0


# Generated and real graphs


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("weights", [None, (0.5, 2.0)], ids=["unweighted", "weighted"])
def test_rmat(make_arrays, precision, weights):
    edges = rmat(12, 16, seed=5, weights=weights, device="cpu")
    frame = make_arrays({name: edges[name].to_numpy() for name in edges})
    graph = rg.Graph(frame, weight="weight" if weights else None)
    options = {"tolerance": {"double": 1e-11, "single": 1e-6}[precision], "max_iterations": 300}
    for method in METHODS:
        ranks = rg.pagerank(graph, method=method, precision=precision, **options)
        assert rg.verify.pagerank(graph, ranks, tolerance=2 * options["tolerance"]) > 0


REAL = {  # vertices, edges left of the rows
    "karate": (False, 34, 78),
    "email-Eu-core": (True, 1_005, 25_571),
    "wiki-Vote": (True, 7_115, 103_689),
    "ca-GrQc": (False, 5_242, 14_496),
    "cit-HepPh": (True, 34_546, 421_578),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_graphs(name):
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{path.name} is not in ../shared/data, so this graph was not ranked")
    directed, vertices, edges = REAL[name]
    graph = rg.Graph(rg.read_edges(path, device="cpu"), directed=directed)
    assert (graph.num_vertices, graph.num_edges) == (vertices, edges)
    expected = rg.pagerank(graph, tolerance=1e-12, max_iterations=500)
    assert rg.verify.pagerank(graph, expected, tolerance=2e-12) < 2e-12
    assert expected["pagerank"].sum() == pytest.approx(1, abs=1e-12)
    for method in METHODS[1:]:
        ranks = rg.pagerank(graph, method=method, tolerance=1e-12, max_iterations=500)
        worst = (ranks["pagerank"] - expected["pagerank"]).abs().max()
        assert worst < 1e-12


def test_the_graph_that_comes_with_the_package():
    edges = rg.datasets.debian()
    ranks = rg.pagerank(edges, tolerance=1e-10, max_iterations=500)
    assert rg.verify.pagerank(edges, ranks, tolerance=1e-9) < 1e-9
    assert ranks.loc[ranks["pagerank"].idxmax(), "vertex"].startswith("libc6")
