"""PageRank against NetworkX on random graphs with dangling vertices, on every engine."""

import networkx
import numpy as np
import pandas
import pytest
from conftest import FrameMaker, columns_of, in_partitions, to_pandas
from hypothesis import given, settings
from hypothesis import strategies as st
from local_ranks import use_local_ranks

import rapidsgraph as rg
from rapidsgraph.distributed import executor
from rapidsgraph.layered import LayeredEdgeList

VERTICES = 12
METHODS = ("auto", "edge", "node", "contribution", "warp")
EXACT = {"tolerance": 1e-13, "max_iterations": 500}

vertices = st.integers(0, VERTICES - 1)
# The last third of the vertices are the source of no edge, so graphs have dangling vertices.
edges = st.lists(
    st.tuples(st.integers(0, 2 * VERTICES // 3), vertices, st.sampled_from([0.0, 0.5, 1.0, 3.0])),
    min_size=1,
    max_size=40,
)
weights = st.dictionaries(vertices, st.floats(0.125, 8), min_size=1, max_size=5)
options = st.fixed_dictionaries(
    {
        "personalization": st.none() | weights,
        "dangling": st.none() | st.just("uniform") | weights,
    }
)


def expected_ranks(edges, *, personalization, dangling):
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from(range(VERTICES))
    graph.add_weighted_edges_from(edges)
    if dangling == "uniform":
        dangling = dict.fromkeys(range(VERTICES), 1)
    ranks = networkx.pagerank(
        graph, personalization=personalization, dangling=dangling, max_iter=5000, tol=1e-15
    )
    return np.array([ranks[vertex] for vertex in range(VERTICES)])


def graph_of(frame, **options):
    return rg.Graph(frame, weight="weight", multi_edges="keep", vertices=VERTICES, **options)


def check(result, edges, options):
    ranks = to_pandas(result)["pagerank"].to_numpy()
    np.testing.assert_allclose(ranks, expected_ranks(edges, **options), rtol=0, atol=1e-11)
    assert ranks.sum() == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("kind", ["arrays", pytest.param("cupy", marks=pytest.mark.gpu)])
@settings(max_examples=20)
@given(edges=edges, options=options)
def test_every_method(kind, edges, options):
    graph = graph_of(FrameMaker(kind)(columns_of(edges)))
    for method in METHODS:
        result = rg.pagerank(graph, method=method, **options, **EXACT)
        check(result, edges, options)
        assert rg.verify.pagerank(graph, result, tolerance=1e-11, **options) < 1e-11


@pytest.mark.parametrize("kind", ["arrays", pytest.param("cupy", marks=pytest.mark.gpu)])
@settings(max_examples=20)
@given(edges=edges, options=options, root=vertices)
def test_layered_edge_lists(kind, edges, options, root):
    layered = LayeredEdgeList.build(
        graph_of(FrameMaker(kind)(columns_of(edges))), root, partition_bytes=100
    )
    check(rg.pagerank(layered, **options, **EXACT), edges, options)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 3])
@settings(max_examples=8, deadline=None)
@given(edges=edges, options=options)
def test_dask_frames(parts, edges, options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "get_active_client", lambda: None)
        use_local_ranks(patch, parts)
        graph = graph_of(in_partitions(pandas.DataFrame(columns_of(edges)), parts))
        check(rg.pagerank(graph, **options, **EXACT), edges, options)
        if options["personalization"]:
            table = pandas.DataFrame(options["personalization"].items(), columns=["vertex", "x"])
            frames = options | {"personalization": in_partitions(table, 3)}
            check(rg.pagerank(graph, **frames, **EXACT), edges, options)
