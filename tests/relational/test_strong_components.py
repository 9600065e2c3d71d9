"""Strong components, which only frame operations find, against NetworkX."""

import hypothesis.strategies as st
import networkx
import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, given, settings

import rapidsgraph as rg
from rapidsgraph.relational import components

pytestmark = pytest.mark.usefixtures("one_thread_of_dask")


@pytest.fixture(params=["kernel", "joins"])
def engine(request, monkeypatch):
    """Whether a kernel or joins find the components that are left."""
    if request.param == "joins":
        monkeypatch.setattr(components, "_fit_one_process", lambda arcs: not arcs.count())


@pytest.fixture
def count_kernel_arcs(monkeypatch):
    """The numbers of arcs of the kernel's runs."""
    counts, run = [], components._run_kernel

    def run_and_count(arcs, columns):
        counts.append(len(arcs))
        return run(arcs, columns)

    monkeypatch.setattr(components, "_run_kernel", run_and_count)
    return counts


def components_of(pairs, names):
    """The components as NetworkX finds them: numbered by size, ties by the smallest vertex."""
    graph = networkx.DiGraph(pairs)
    graph.add_nodes_from(names)
    components = list(networkx.strongly_connected_components(graph))
    components.sort(key=lambda component: (-len(component), min(component)))
    numbers = {name: number for number, component in enumerate(components) for name in component}
    return {name: numbers[name] for name in sorted(numbers)}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=24))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_agree_with_networkx(engine, pairs):
    frame = pandas.DataFrame(pairs, columns=["source", "destination"], dtype="int64")
    graph = rg.Graph(frame, vertices=11, multi_edges="keep")
    result = rg.connected_components(graph, strong=True)
    assert result.dtypes.astype(str).to_dict() == {"vertex": "int64", "component": "int32"}
    assert dict(zip(result["vertex"], result["component"])) == components_of(pairs, range(11))


def test_a_long_cycle_with_a_tail():
    """A round of joins per vertex would take minutes."""
    ends = np.random.default_rng(0).permutation(20_000).astype(str)
    cycle, tail = ends[:15_000], ends[14_999:]
    frame = pandas.DataFrame(
        {"source": [*cycle, *tail[:-1]], "destination": [*np.roll(cycle, -1), *tail[1:]]}
    )
    result = rg.connected_components(frame, strong=True, method="frames").set_index("vertex")
    assert set(result["component"][cycle]) == {0}
    assert list(result["component"][np.sort(ends[15_000:])]) == [*range(1, 5001)]


@pytest.mark.parametrize(("max_arcs", "arcs"), [(7, [14, 0, 0]), (6, [0, 0, 0])])
def test_dask_arcs_are_gathered_only_if_they_are_few(
    monkeypatch, count_kernel_arcs, max_arcs, arcs
):
    dask = pytest.importorskip("dask")
    dataframe = pytest.importorskip("dask.dataframe")
    monkeypatch.setattr(components, "MAX_KERNEL_ARCS", max_arcs)
    cycle = np.arange(7)
    frame = pandas.DataFrame({"source": cycle, "destination": np.roll(cycle, -1)})
    with dask.config.set(scheduler="synchronous"):
        edges = dataframe.from_pandas(frame, npartitions=3)
        result = rg.connected_components(edges, strong=True, method="frames").compute()
    assert list(result["component"]) == [0] * 7
    assert sorted(count_kernel_arcs, reverse=True) == arcs  # with a loop per vertex


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "frames"])
@pytest.mark.parametrize("partitions", [1, 3])
def test_on_dask(engine, partitions, method):
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
