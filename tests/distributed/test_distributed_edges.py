"""Edge frames of distributed graphs: those of a graph in one memory."""

import pandas
import pytest
from conftest import in_partitions
from local_ranks import use_local_ranks
from pandas.testing import assert_frame_equal

import rapidsgraph as rg


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weight", [None, "km"])
def test_edges_of_three_ranks(monkeypatch, directed, weight):
    pytest.importorskip("dask.dataframe")
    use_local_ranks(monkeypatch, 3)
    edges = pandas.DataFrame(
        {
            "source": [3, 0, 3, 2, 5, 5],
            "destination": [1, 3, 0, 2, 1, 1],
            "km": [1.5, 2, 4, 1, 3, 7],
        }
    )
    options = {"weight": weight, "directed": directed, "multi_edges": "keep", "vertices": 9}
    graph = rg.Graph(in_partitions(edges, 3), **options)
    result = graph.edges
    assert result.npartitions > 1
    assert_frame_equal(result.compute(), rg.Graph(edges, **options).edges)


def test_a_shared_name_column_called_weight_is_refused():
    edges = pandas.DataFrame({"weight": [1], "a": [0], "b": [2], "km": [3]})
    graph = rg.Graph(in_partitions(edges, 1), ["weight", "a"], ["weight", "b"], weight="km")
    with pytest.raises(rg.GraphError, match="'weight' collides"):
        _ = graph.edges


def test_weights_keep_their_type_where_the_first_rank_has_no_edge(monkeypatch):
    use_local_ranks(monkeypatch, 3)
    edges = pandas.DataFrame({"source": [7, 8, 9], "destination": [0, 1, 2], "weight": [1, 2, 3]})
    result = rg.Graph(in_partitions(edges, 3), weight="weight").edges
    assert result.dtypes.to_dict() == edges.dtypes.to_dict()
    assert_frame_equal(result.compute(), edges)
