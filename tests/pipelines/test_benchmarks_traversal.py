"""The benchmark of BFS, SSSP and components checks what it times; no speed is asserted."""

import json
import sys

import numpy as np
import pytest
from test_benchmarks import TIME, cugraph  # noqa: F401

import rapidsgraph as rg
from pipelines.benchmarks import records, tables, traversal
from pipelines.benchmarks.adapters import registry
from pipelines.benchmarks.adapters.interface import TRAVERSALS, TraversalAdapter, tree_depths
from pipelines.benchmarks.adapters.rapidsgraph import RapidsgraphTraversal, traversal_adapters
from pipelines.benchmarks.graphs import Workload, load, with_weights
from pipelines.benchmarks.harness import QUICK
from pipelines.benchmarks.timing import Clock

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


class Fake(TraversalAdapter):
    """Our answer, and what `change` makes of it."""

    library = "fake"

    def __init__(self, task, change, predecessors=False, **options):
        super().__init__(task, "changed", predecessors, **options)
        self.change = change

    def prepare(self, workload):
        return workload.graph

    def run(self, graph, workload):
        own = RapidsgraphTraversal(self.task, False)
        answer = own.by_vertex(own.run(graph, workload), workload).copy()
        return self.change(answer)


def measured(workload, task, searchers):
    clock = Clock()
    return traversal.measure(
        workload, task, searchers, traversal.GraphCache(workload, clock), QUICK, clock
    )


def rows_of(edges, **options):
    """A workload of (source, destination, weight) rows."""
    source, destination, weight = (np.array(values) for values in zip(*edges))
    ends = source.astype(np.int32), destination.astype(np.int32)
    count = int(max(values.max() for values in ends)) + 1
    return Workload("mine", "", np, count, *ends, weight=weight, multi_edges="min", **options)


# Graphs


@pytest.mark.parametrize("name", ["rmat6", "rmat6u", "grid8"])
def test_weights_are_uniform_and_the_same_both_ways(name):
    workload = with_weights(load(name))
    weights = workload.weight
    assert weights.dtype == np.float32 and weights.min() > 0 and weights.max() <= 1
    assert 0.4 < weights.mean() < 0.6
    by_ends = dict(zip(zip(*(ids.tolist() for ids in workload.arcs)), workload.arc_weights))
    both = [(by_ends[pair], by_ends[pair[::-1]]) for pair in by_ends if pair[::-1] in by_ends]
    assert both and all(there == back for there, back in both)
    assert np.array_equal(with_weights(load(name)).weight, weights)


def test_arcs_have_the_least_weight_of_their_rows():
    rows = [(0, 1, 5.0), (1, 2, 1.0), (0, 1, 3.0), (1, 0, 4.0)]
    directed, undirected = rows_of(rows), rows_of(rows, directed=False)
    assert directed.arc_weights.tolist() == [3, 4, 1]
    assert undirected.arc_weights.tolist() == [3, 3, 1, 1]
    assert undirected.symmetric and not directed.symmetric
    assert load("grid8").symmetric


def test_searches_start_at_the_hub_or_in_the_largest_component():
    workload = load("rmat6")
    degrees = np.bincount(workload.source)
    assert degrees[workload.start] == degrees.max()
    grid = load("grid8")
    component = rg.connected_components(grid.graph)["component"]
    assert component[grid.start] == 0 and (component[: grid.start] > 0).all()
    assert grid.start_facts() == {
        "start": grid.start,
        "start_rule": "first of the largest component",
    }


def test_depths_of_a_tree():
    order, none = np.array([2, 0, 3, 1, 5]), -9999
    predecessors = np.array([2, 3, none, 0, none, 1])
    assert tree_depths(order, predecessors).tolist() == [1, 3, 0, 2, np.inf, 4]


# Checks


@pytest.mark.parametrize(
    ("task", "change", "wrong"),
    [
        ("bfs", lambda far: far + (far == 2), "distances, by 1 at most"),
        (
            "bfs",
            lambda far: np.where(far == 2, np.inf, far),
            "differ from the verified answer in being reached",
        ),
        ("bfs", lambda far: far[1:], "63 values for 64 vertices"),
        ("sssp", lambda far: far * (1 + 1e-8), "distances, by"),
        ("components", lambda labels: labels * 0, "wrong: 1 components, "),
        ("components", lambda labels: np.where(labels, labels, np.arange(64) % 2), "overlaps"),
    ],
)
def test_wrong_answers_are_flagged_and_not_timed(task, change, wrong):
    workload = with_weights(load("rmat6"))
    own = RapidsgraphTraversal(task, None if task == "components" else False)
    right, other = measured(workload, task, [own, Fake(task, change)])
    assert right["check"] == "ok" and right["run_ms"]["repeats"] >= 1
    assert other["check"].startswith("wrong: ") and wrong in other["check"]
    assert not {"run_ms", "ratio", "level_us"} & set(other)


def test_distances_in_single_precision_may_differ_a_little():
    workload = with_weights(load("rmat6"))
    fake = Fake("sssp", lambda far: far.astype(np.float32), precision="single")
    (row,) = measured(workload, "sssp", [fake])
    assert row["check"] == "ok"
    assert measured(workload, "sssp", [Fake("sssp", fake.change)])[0]["check"].startswith("wrong")


@pytest.mark.parametrize("change", [lambda labels: 9 - labels, lambda labels: labels * 3.5])
def test_components_may_have_any_labels(change):
    (row,) = measured(with_weights(load("rmat6")), "components", [Fake("components", change)])
    assert row["check"] == "ok"


def test_reference_is_verified(monkeypatch):
    honest = rg.sssp
    monkeypatch.setattr(rg, "sssp", lambda *a, **k: honest(*a, **k).assign(distance=0.5))
    found = traversal.main(["--device", "cpu", "--quick", "--graphs", "rmat6", "--only", "sssp"])
    assert "sssp" not in {row["table"] for row in found}
    assert found[-1]["note"].startswith("rmat6, sssp: failed: VerificationError: ")


def test_trouble_of_one_library_does_not_end_the_run():
    (row,) = measured(with_weights(load("rmat6")), "bfs", [Fake("bfs", lambda far: 1 / 0)])
    assert row["check"] == "failed: ZeroDivisionError: division by zero"


@pytest.mark.parametrize("name", ["rmat6", "rmat6u", "grid8"])
@pytest.mark.parametrize("task", TRAVERSALS)
def test_everyone_agrees(name, task):
    workload = with_weights(load(name))
    searchers = [
        one
        for one in [*traversal_adapters(), *registry.traversal_peers(False)[0]]
        if one.task == task
    ]
    rows = measured(workload, task, searchers)
    assert [row["check"] for row in rows] == ["ok"] * len(searchers)
    assert all(row["run_ms"]["repeats"] >= 1 for row in rows)
    assert rows[0]["frame_ms"]["median"] > 0 and rows[0]["ratio"] == 1
    assert ("cost" in rows[0]) == (task != "components")


def test_ratios_compare_with_the_same_outcome():
    keeping, plain, peer = (
        RapidsgraphTraversal("bfs", True),
        RapidsgraphTraversal("bfs", False),
        Fake("bfs", None),
    )
    found = {one: {} for one in (keeping, plain, peer)}
    traversal.add_ratios(found, {keeping: [6.0, 9.0], plain: [2.0, 3.0], peer: [4.0, 6.0]})
    assert found == {keeping: {"ratio": 1, "cost": 3}, plain: {"ratio": 1}, peer: {"ratio": 2}}


# What is left out


def test_graphs_that_a_library_does_not_take_are_named():
    workload, notes = with_weights(load("rmat6")), []
    listed, symmetrize = Fake("bfs", None), Fake("bfs", None)
    listed.max_arcs, symmetrize.needs_symmetric = 10, True
    assert (
        traversal.select_adapters([listed, symmetrize, Fake("sssp", None)], "bfs", workload, notes)
        == []
    )
    arcs = workload.arcs[0].size
    assert notes == [
        f"rmat6: fake is left out, the graph has {arcs} arcs, more than 10; it is built from "
        "Python lists",
        "rmat6: fake's changed bfs is left out, not every arc has a reverse arc",
    ]
    assert traversal.select_adapters([symmetrize], "bfs", load("rmat6u"), notes) == [symmetrize]


def test_missing_peers_are_named(monkeypatch):
    modules = ["scipy.sparse.csgraph", "networkit", "igraph", "graphblas", "networkx"]
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)
    peers, notes = registry.traversal_peers(False)
    assert peers == []
    assert [note.split()[0] for note in notes] == modules


def test_unknown_tasks_are_named(capsys):
    with pytest.raises(SystemExit):
        traversal.main(["--device", "cpu", "--only", "bfs,walks"])
    assert "'walks' is none of bfs, sssp, components" in capsys.readouterr().err


# cuGraph, where there is none


@pytest.mark.parametrize("name", ["rmat6", "rmat6u"])
@pytest.mark.parametrize("task", TRAVERSALS)
def test_cugraph_is_asked_and_its_answer_put_in_order(cugraph, name, task):  # noqa: F811
    peers, notes = registry.traversal_peers(True)
    workload = with_weights(load(name))
    taking = traversal.select_adapters(traversal_adapters() + peers, task, workload, notes)
    rows = [row for row in measured(workload, task, taking) if row["library"] == "cuGraph"]
    assert [row["check"] for row in rows] == ["ok"] * len(rows)
    directed = {"bfs": 3, "sssp": 2, "components": 1}[task]
    assert len(rows) == directed + 2 * (task == "bfs" and name == "rmat6u")


# Tables and the whole


def test_table_of_systems_has_the_fastest_of_each_library():
    row = {
        "table": "bfs", "graph": "NY", "library": "rapidsgraph", "implementation": "bfs",
        "predecessors": True, "levels": 700, "rounds": 701, "run_ms": TIME, "check": "ok",
    }  # fmt: skip
    faster = {"predecessors": False, "rounds": 702, "run_ms": TIME | {"median": 0.5}}
    peer = {"library": "SciPy", "rounds": None, "run_ms": TIME | {"median": 4.0}}
    wrong = {"library": "igraph", "check": "wrong: by 1", "run_ms": None}
    everyone = [row, row | faster, row | peer, row | wrong]
    text = tables.markdown(json.loads(json.dumps(everyone)), "a.jsonl")
    assert "| graph | levels | iterations | rapidsgraph | SciPy |" in text
    assert "| NY | 700 | 702 | 0.5 | 4 |" in text
    assert "| rapidsgraph | bfs | yes | 1.5 | 1 to 2 | 701 | ok |" in text


def test_traversal_quick(tmp_path, capsys):
    found = traversal.main(["--device", "cpu", "--quick", "--output", str(tmp_path / "t.jsonl")])
    assert found == records.read(tmp_path / "t.jsonl")
    rows = [row for row in found if row["table"] in TRAVERSALS]
    own = [row for row in rows if row["library"] == "rapidsgraph"]
    assert len(own) == 2 * (2 + 2 + 1)  # graphs; with predecessors and without; components
    assert {row["check"] for row in rows} == {"ok"}
    assert all(row["run_ms"]["repeats"] >= 1 for row in rows)
    assert capsys.readouterr().out.strip() == (tmp_path / "t.md").read_text().strip()


def test_traversal_of_some_tasks():
    found = traversal.main(["--device", "cpu", "--quick", "--graphs", "rmat6u", "--only", "bfs"])
    assert {row["table"] for row in found} - {"note"} == {"run", "graph", "bfs"}
