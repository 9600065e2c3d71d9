"""Strong components, which only frame operations find, against NetworkX."""

import hypothesis.strategies as st
import networkx
import pandas
import pytest
from hypothesis import given, settings

import rapidsgraph as rg


def components_of(pairs, names):
    """The components as NetworkX finds them: numbered by size, ties by the smallest vertex."""
    graph = networkx.DiGraph(pairs)
    graph.add_nodes_from(names)
    components = list(networkx.strongly_connected_components(graph))
    components.sort(key=lambda component: (-len(component), min(component)))
    numbers = {name: number for number, each in enumerate(components) for name in each}
    return {name: numbers[name] for name in sorted(numbers)}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=24))
@settings(max_examples=40)
def test_agree_with_networkx(pairs):
    frame = pandas.DataFrame(pairs, columns=["source", "destination"], dtype="int64")
    graph = rg.Graph(frame, vertices=11, multi_edges="keep")
    result = rg.connected_components(graph, strong=True)
    assert result.dtypes.astype(str).to_dict() == {"vertex": "int64", "component": "int32"}
    assert dict(zip(result["vertex"], result["component"])) == components_of(pairs, range(11))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "frames"])
@pytest.mark.parametrize("partitions", [1, 3])
def test_on_dask(partitions, method):
    dask = pytest.importorskip("dask")
    dataframe = pytest.importorskip("dask.dataframe")
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "d"), ("f", "a")]
    frame = pandas.DataFrame(pairs, columns=["source", "destination"])
    with dask.config.set(scheduler="synchronous"):
        edges = dataframe.from_pandas(frame, npartitions=partitions)
        result = rg.connected_components(edges, strong=True, method=method).compute()
    assert dict(zip(result["vertex"], result["component"])) == {
        "a": 0, "b": 0, "c": 0, "d": 1, "e": 1, "f": 2,
    }  # fmt: skip


def test_strong_is_a_flag():
    edges = {"source": [0], "destination": [1]}
    with pytest.raises(rg.GraphError, match="strong is 1; it can be True or False"):
        rg.connected_components(edges, strong=1)
