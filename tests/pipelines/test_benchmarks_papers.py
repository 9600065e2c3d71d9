"""Kim's figures and Reddy's table: graphs, checks, kernels and sentences; no speed is asserted."""

import types

import numba
import numpy as np
import pandas
import pytest

import rapidsgraph as rg
from pipelines.benchmarks import kim, records, reddy, timing
from pipelines.benchmarks.answers import compare_pagerank
from pipelines.benchmarks.graphs import FILES, load
from pipelines.benchmarks.harness import QUICK
from pipelines.benchmarks.pagerank_papers import (
    CHILD_PER_LONG_LIST,
    CHILD_PER_VERTEX,
    DAMPING,
    KIM_REAL,
    NO_CHILDREN,
    kim_claims,
    pagerank_formula,
    reddy_claims,
)

CLOCK = timing.Clock()


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


def write_graph(folder, name, source, destination):
    columns = {"source": source, "destination": destination}
    pandas.DataFrame(columns, dtype="int32").to_parquet(folder / FILES[name][0])


# Formula (1) and the check


def test_formula_keeps_a_cycle_and_loses_what_sinks_hold():
    ring = np.arange(5)
    assert pagerank_formula(np, 5, ring, (ring + 1) % 5, 7) == pytest.approx(np.full(5, 0.2))
    one = pagerank_formula(np, 2, np.array([0]), np.array([1]), 1)
    assert one == pytest.approx([0.075, 0.075 + DAMPING / 2])


def test_formula_is_what_dropping_means():
    graph = load("rmat6")
    ranks = rg.pagerank(graph.frame, tolerance=0, max_iterations=4, dangling="drop")
    ids = ranks["vertex"].to_numpy()
    again = np.searchsorted(ids, graph.arcs[0]), np.searchsorted(ids, graph.arcs[1])
    expected = pagerank_formula(np, len(ids), *again, 4)
    assert ranks["pagerank"].to_numpy() == pytest.approx(expected, rel=1e-12)


def test_problems_are_named():
    truth = np.array([0.5, 0.5])
    assert compare_pagerank(np.array([0.5, 0.5], np.float32), truth, 1e-6) is None
    assert compare_pagerank(truth[:1], truth, 1e-6) == "wrong: 1 values for 2 vertices"
    message = compare_pagerank(np.array([0.4, 0.5]), truth, 1e-6, "formula (1)")
    assert message == "wrong: 0.1 in total away from formula (1)"
    message = compare_pagerank(np.array([np.nan, 0.5]), truth, 1e-6)
    assert message.startswith("wrong: nan in total away")


# Kim


@pytest.mark.parametrize(
    ("name", "figure", "vertices", "edges"),
    [("2M-sparse", "4", 1000, 1000), ("4M-normal", "text", 2000, 10_000),
     ("8M-dense", "5", 4000, 40_000)],
)  # fmt: skip
def test_random_graphs_have_kims_sizes(name, figure, vertices, edges):
    found, graph, note = kim.load_graph(name, np, None, divisor=kim.QUICK_DIVISOR)
    assert (found, graph.vertices, graph.rows, note) == (figure, vertices, edges, "")
    assert graph.graph.num_arcs == edges  # repeated ones too
    assert graph.name == f"{name}/2000"


def test_all_of_kims_graphs_are_there():
    assert len(kim.NAMES) == 11 and set(kim.NAMES) == {*kim.RANDOM, *KIM_REAL}


def test_real_graphs_have_stand_ins_which_are_named(tmp_path, monkeypatch):
    monkeypatch.delitem(FILES, "roadNet-CA", raising=False)
    write_graph(tmp_path, "NY", [0, 1], [1, 0])
    figure, graph, note = kim.load_graph("roadNet-CA", np, tmp_path)
    assert (figure, graph.name) == ("6", "NY")
    assert note == "stands in for roadNet-CA, which is not here"
    with pytest.raises(kim.GraphUnavailableError, match="cit-HepPh"):
        kim.load_graph("cit-Patents", np, tmp_path)


def test_systems_depend_on_device_and_threads(monkeypatch):
    assert [system.key for system in kim.select_systems(False)] == [
        "cpu_edge_1", "cpu_node_1", "cpu_auto_1"
    ]  # fmt: skip
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    assert [system.key for system in kim.select_systems(True)] == [
        "gpu_edge", "gpu_node", "gpu_auto", "cpu_node_1", "cpu_node_all", "cpu_auto_all"
    ]  # fmt: skip


def test_threads_are_as_before_afterwards():
    with kim.numba_threads(1):
        assert numba.get_num_threads() == 1
    before = numba.get_num_threads()
    with pytest.raises(ZeroDivisionError), kim.numba_threads(1):
        1 / 0  # noqa: B018
    assert numba.get_num_threads() == before


def test_right_ranks_are_timed_and_wrong_ones_are_not(monkeypatch):
    workload = kim.load_graph("2M-normal", np, None, divisor=kim.QUICK_DIVISOR)[1]
    honest = kim.System.run

    def run(system, graph):
        return honest(system, graph) * (1.01 if system.method == "auto" else 1)

    monkeypatch.setattr(kim.System, "run", run)
    rows, taken = kim.measure(workload, kim.select_systems(False), QUICK, CLOCK)
    checks = {row["key"]: row["check"] for row in rows}
    assert checks["cpu_edge_1"] == checks["cpu_node_1"] == "ok"
    assert checks["cpu_auto_1"].startswith("wrong: ")
    assert ["ten_ms" in row for row in rows] == [True, True, False]
    row = kim.summarize("4", workload, rows, taken)
    assert row["edge_by_node"] > 0 and row["paper_edge_by_node"] == "up to 2.82"
    assert "cpu_auto_1_ms" not in row and "cpu_by_node" not in row


def test_what_is_copied_to_a_gpu_is_kims_structures():
    """Systems of a GPU on arrays of NumPy, where nothing is really copied."""
    workload = kim.load_graph("2M-dense", np, None, divisor=kim.QUICK_DIVISOR)[1]
    rows, _ = kim.measure(workload, [kim.System("edge"), kim.System("node")], QUICK, CLOCK)
    assert [row["check"] for row in rows] == ["ok", "ok"]
    vertices, edges = 1000, 10_000
    assert rows[0]["transferred_bytes"] == 4 * (2 * edges + vertices) + 4 * vertices
    assert (
        rows[1]["transferred_bytes"] == 8 * (vertices + 1) + 4 * (edges + vertices) + 4 * vertices
    )
    assert all({"ten_ms", "resident_ms", "transfer_ms", "build_ms"} <= row.keys() for row in rows)


def test_an_edge_without_direction_is_copied_once(tmp_path):
    write_graph(tmp_path, "karate", [0, 0, 1, 2], [1, 2, 2, 3])
    graph = load("karate", np, tmp_path).graph
    sources, destinations, degrees = kim.System("edge").transferred_arrays(graph)
    assert sorted(zip(sources.tolist(), destinations.tolist())) == [(0, 1), (0, 2), (1, 2), (2, 3)]
    assert degrees.tolist() == [2, 2, 3, 1]


def test_kim_command_keeps_its_records(tmp_path):
    path = tmp_path / "kim.jsonl"
    found = kim.main(["--device", "cpu", "--quick", "--output", str(path)])
    assert records.read(path) == found
    kinds = [row["table"] for row in found]
    assert kinds.count("Kim") == 2 and kinds.count("Kim runs") == 6
    assert all(row["check"] == "ok" for row in found if row["table"] == "Kim runs")
    assert "Kim: node is faster than edge" in path.with_suffix(".md").read_text()


def test_kim_says_what_is_left_out(tmp_path):
    options = ["--device", "cpu", "--quick", "--data", str(tmp_path)]
    notes = [
        row["note"]
        for row in kim.main([*options, "--graphs", "NY,nothing,2M-sparse", "--seconds", "1e9"])
        if row["table"] == "note"
    ]
    assert len(notes) == 2 and notes[0].startswith("NY: skipped")
    assert notes[1].startswith("unknown graph 'nothing'; known graphs are ")
    found = kim.main([*options, "--graphs", "2M-sparse", "--seconds", "0"])
    assert found[-1]["note"] == "2M-sparse: left out, --seconds 0 elapsed"


def test_trouble_with_a_graph_does_not_end_kim(monkeypatch):
    def fail(*arguments):
        raise MemoryError("too large")

    monkeypatch.setattr(kim, "pagerank_formula", fail)
    found = kim.main(["--device", "cpu", "--quick", "--graphs", "2M-sparse"])
    text = "2M-sparse: nothing was measured, failed: MemoryError: too large"
    assert found[-1]["note"] == text


def kim_row(figure, edge, node, cpu_one, cpu_all):
    times = {"gpu_edge_ms": edge, "gpu_node_ms": node, "cpu_node_1_ms": cpu_one}
    row = {name: {"median": ms} for name, ms in (times | {"cpu_node_all_ms": cpu_all}).items()}
    ratios = {"edge_by_node": edge / node, "cpu_by_node": cpu_all / node}
    return {"figure": figure} | ratios | row


@pytest.mark.parametrize(
    ("rows", "holds"),
    [
        ([(4, 2, 9, 3), (6, 2, 9, 5)], [True, True, True, True]),
        ([(4, 2, 9, 3), (1, 2, 9, 5)], [False, True, False, True]),
        ([(4, 2, 9, 3), (6, 2, 1, 1.5)], [True, False, True, False]),
    ],
)
def test_kims_claims_hold_on_every_graph_or_not(rows, holds):
    found = kim_claims([kim_row("4", *row) for row in rows], "a GPU")
    assert [row["holds"] for row in found] == holds
    ends = {True: ": holds.", False: ": does not hold."}
    assert all(row["claim"].endswith(ends[row["holds"]]) for row in found)


def test_kims_claim_on_real_graphs_is_judged_apart():
    found = kim_claims([kim_row("4", 4, 2, 9, 3), kim_row("6", 4, 2, 9, 5)], "a GPU")
    assert [row["holds"] for row in found] == [True, True, True, True, True]
    assert "faster than them on real graphs. Here the CPU takes 1.25 times" in found[3]["claim"]


# Reddy


@pytest.fixture
def small():
    return load("rmat6")


@pytest.mark.parametrize("one", reddy.implementations(False), ids=lambda one: one.name)
def test_implementations_follow_the_formula(one, small):
    ranks = one.run(one.prepare(small), 30)
    assert ranks.dtype == np.float32
    expected = pagerank_formula(np, small.vertices, *small.arcs, 30)
    assert compare_pagerank(ranks, expected, 1e-5) is None


def test_wrong_implementations_have_no_time(small):
    class Wrong(reddy.Serial):
        def run(self, state, iterations):
            return super().run(state, iterations + 1)

    class Broken(reddy.Serial):
        def prepare(self, workload):
            raise RuntimeError("no compiler")

    contenders = [Wrong("serial", "x"), Broken("I", "x"), reddy.Method("auto", "auto")]
    wrong, broken, right = reddy.measure(small, contenders, QUICK, CLOCK, 3)
    assert wrong["check"].startswith("wrong: ") and "thousand_ms" not in wrong
    assert broken["check"] == "failed: RuntimeError: no compiler" and "thousand_ms" not in broken
    assert right["check"] == "ok" and right["thousand_ms"]["median"] > 0
    assert "by_serial" not in right


def test_reddys_figures_stand_beside_ours(tmp_path, monkeypatch):
    graph = types.SimpleNamespace(name="cit-DBLP")
    rows = {one.name: one.about(graph) for one in reddy.implementations(True)}
    assert rows["II"]["paper_ms"] == 160.348 and rows["II"]["paper_by_serial"] == 4.3
    assert rows["I"]["paper_by_serial"] == 3.45
    assert all("paper_ms" not in rows[name] for name in ("III", CHILD_PER_VERTEX, "auto"))


def test_reddy_command_keeps_its_records(tmp_path):
    write_graph(tmp_path, "karate", [0, 0, 1, 2], [1, 2, 2, 3])
    path = tmp_path / "reddy.jsonl"
    options = ["--device", "cpu", "--quick", "--data", str(tmp_path), "--output", str(path)]
    found = reddy.main([*options, "--graphs", "karate,cit-DBLP"])
    assert records.read(path) == found
    rows = [row for row in found if row["table"] == "Reddy"]
    assert [row["implementation"] for row in rows] == ["serial", "I", "II", "III", "auto"]
    assert all(row["check"] == "ok" and row["thousand_ms"] for row in rows)
    assert "by_serial" not in rows[0] and all(row["by_serial"] > 0 for row in rows[1:])
    notes = [row["note"] for row in found if row["table"] == "note"]
    assert notes[0] == "III with child kernels is left out: only a GPU has them"
    assert notes[1].startswith("cit-DBLP: skipped")


def reddy_rows(**times):
    names = {"each": CHILD_PER_VERTEX, "long": CHILD_PER_LONG_LIST, "blocks": NO_CHILDREN}
    return [
        {"graph": "a", "implementation": names.get(name, name), "thousand_ms": {"median": ms}}
        for name, ms in times.items()
    ]


@pytest.mark.parametrize(
    ("times", "holds"),
    [
        ({"serial": 9, "I": 3, "II": 2, "each": 1, "III": 1}, [True, True, True]),
        ({"serial": 2, "I": 3, "II": 4, "each": 5, "long": 1, "blocks": 1}, [False, False, False]),
        ({"serial": 9, "I": 3, "II": 2, "III": 1}, [True, True, None]),
    ],
)
def test_reddys_steps_hold_or_not(times, holds):
    assert [row["holds"] for row in reddy_claims(reddy_rows(**times), "a GPU")] == holds
