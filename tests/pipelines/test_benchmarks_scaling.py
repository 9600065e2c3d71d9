"""The benchmark of growing graphs: its plan, its slopes, its records and its picture."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import rapidsgraph as rg
from pipelines.benchmarks import records, scaling, scaling_plot, scaling_tasks
from pipelines.benchmarks.answers import WrongAnswerError
from pipelines.benchmarks.graphs import load
from pipelines.benchmarks.harness import QUICK
from pipelines.benchmarks.timing import Clock
from rapidsgraph import device
from rapidsgraph.errors import InsufficientMemoryError
from rapidsgraph.graph import build_memory

pytestmark = pytest.mark.slow

SESSION = SimpleNamespace(clock=Clock(), xp=np, data=None, allocator=None, notes=[])


def size(task, edges, milliseconds, peak=None, **more):
    times = {"median": milliseconds, "low": milliseconds, "high": milliseconds, "repeats": 3}
    row = {"table": "size", "task": task, "graph": "g", "edges": edges, "run_ms": times}
    return row | {"peak_bytes": peak or 8 * edges, "check": "ok"} | more


@pytest.fixture
def clock():
    """A time that only passes when it is told to."""
    return SimpleNamespace(at=100.0)


def plan(clock, *tasks, budget=90.0):
    return scaling.Schedule(tasks, budget, [], lambda: clock.at)


# Slopes


@pytest.mark.parametrize("power", [0.5, 1, 1.37, 2])
def test_slopes_are_powers(power):
    edges = [10**4, 10**5, 10**6, 10**7]
    assert scaling.fit_exponent(edges, [3 * e**power for e in edges]) == pytest.approx(
        power, abs=1e-3
    )


def test_slopes_are_those_of_the_upper_half():
    edges = [1, 2, 4, 8, 16, 32]
    assert scaling.fit_exponent(edges, [100, 100, 100, 8, 16, 32]) == 1
    assert scaling.fit_exponent(edges[::-1], [32, 16, 8, 100, 100, 100]) == 1  # in any order
    assert scaling.fit_exponent([1, 2, 4], [7, 2, 4]) == 1  # the upper two of three


def test_slopes_are_least_squares():
    edges, values = np.array([1.0, 2, 4, 8, 16, 32]), np.array([9.0, 9, 9, 8, 31, 40])
    expected = np.polyfit(np.log(edges[3:]), np.log(values[3:]), 1)[0]
    assert scaling.fit_exponent(edges, values) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("values", [[5.0], [0, 0, 0], [None, None]])
def test_too_few_values_have_no_slope(values):
    assert scaling.fit_exponent(range(1, len(values) + 1), values) is None


def test_slopes_are_said():
    rows = [size("bfs", 10**k, 2.0 * 10**k, 9 * 10 ** (2 * k)) for k in (4, 5, 6, 7)]
    rows += [size("sssp", 10, 1.0)]  # too few
    rows += [size("bfs", 10**8, 1.0) | {"check": "failed: it broke"}]
    (found,) = scaling.slope_rows(rows)
    assert found == {
        "table": "slope", "task": "bfs", "from_edges": 10**6, "to_edges": 10**7, "sizes": 2,
        "time_slope": 1.0, "memory_slope": 2.0,
        "says": "Time of bfs grows with the edges to the power of 1.00, its peak memory to that "
        "of 2.00.",
    }  # fmt: skip
    for row in rows:
        row.pop("peak_bytes", None)
    (found,) = scaling.slope_rows(rows)
    assert found["memory_slope"] is None and found["says"].endswith("the power of 1.00.")


# The budget


def test_all_go_on_while_the_budget_lasts(clock):
    found = plan(clock, "bfs", "scan")
    found.drop_slowest("rmat10")
    for name, seconds in (("drawing", 5.0), ("bfs", 5.0), ("scan", 20.0)):
        found.record(name, seconds)
        clock.at += seconds
    assert found.remaining == 60 and found.predict("bfs") == 2.2 * 5
    found.record("scan", 5.0)
    found.drop_slowest("rmat11")
    assert found.active == ["bfs", "scan"] and not found.notes


def test_the_costliest_stops_first(clock):
    found = plan(clock, "bfs", "scan", "sssp")
    for name, seconds in (("drawing", 2.0), ("bfs", 5.0), ("scan", 20.0), ("sssp", 10.0)):
        found.record(name, seconds)
    clock.at += 37
    found.drop_slowest("rmat11")  # 4.4 + 11 + 44 + 22 is more than 53
    assert found.active == ["bfs", "sssp"]
    assert found.notes == [
        "scan stops: rmat11 with all remaining tasks would take 81 s, and 53 s of the budget remain"
    ]
    clock.at += 50
    found.drop_slowest("rmat12")
    assert found.active == [] and [note.split()[0] for note in found.notes[1:]] == ["sssp", "bfs"]


def test_what_grows_faster_is_expected_to_go_on(clock):
    found = plan(clock, "scan")
    for seconds in (1.0, 3.0):
        found.record("scan", seconds)
    assert found.predict("scan") == 9
    found.record("scan", 60.0)  # something disturbed it
    assert found.predict("scan") == 240
    found.times["scan"] = [0.001, 0.02]  # so short that their ratio says little
    assert found.predict("scan") == pytest.approx(0.044)


def test_what_does_not_fit_stops(clock, monkeypatch):
    workload = load("rmat6")
    needed = {name: task.estimate(workload) for name, task in scaling_tasks.TASKS.items()}
    arrays = {"source": workload.source, "destination": workload.destination}
    assert needed["scan"] == rg.estimate_memory(arrays, "scan").needed
    weighted = rg.estimate_memory(arrays | {"weight": arrays["source"]}, "sssp", weight="weight")
    assert needed["sssp"] == weighted.needed > needed["bfs"]
    assert needed["build"] == build_memory.build_bytes(workload.rows, workload.vertices)
    gpu = SimpleNamespace()  # not NumPy
    on_gpu = build_memory.build_bytes(workload.rows, workload.vertices, xp=gpu)
    assert scaling_tasks.TASKS["build"].estimate(replace(workload, xp=gpu)) == on_gpu
    found = plan(clock, *scaling_tasks.TASKS)
    monkeypatch.setattr(device, "free_memory", lambda xp: needed["sssp"] - 1)
    scaling.drop_tasks_over_memory(found, workload, np)
    assert found.active == [name for name in needed if needed[name] < needed["sssp"]]
    assert "sssp" not in found.active and "bfs" in found.active
    assert "sssp stops: rmat6 would take 0.0 GiB, 0.0 GiB are free" in found.notes


def finding(effort=QUICK, names=("rmat6",)):
    return SimpleNamespace(effort=effort, folder=None, names=names)


@pytest.mark.parametrize(
    ("error", "rows", "note"),
    [
        (InsufficientMemoryError("BFS", 10, 5, "in memory"), 0, "bfs stops: rmat6: BFS"),
        (MemoryError("std::bad_alloc"), 0, "bfs stops: rmat6: out of memory (std::bad_alloc)"),
        (ZeroDivisionError("it broke"), 1, "bfs stops: rmat6 failed"),
    ],
)
def test_trouble_stops_a_task_alone(clock, monkeypatch, error, rows, note):
    def broken(*rest):
        raise error

    monkeypatch.setattr(scaling_tasks, "measure", broken)
    found, made = plan(clock, "bfs", "sssp"), []
    scaling.run_task(found, scaling_tasks.TASKS["bfs"], load("rmat6"), SESSION, finding(), made)
    assert found.active == ["sssp"] and found.notes[0].startswith(note)
    assert len(made) == rows
    if rows:
        assert made[0]["check"] == "failed: ZeroDivisionError: it broke"
        assert made[0]["edges"] == load("rmat6").rows and "run_ms" not in made[0]


def test_graphs_that_cannot_be_drawn_end_a_run(clock, monkeypatch):
    def broken(*rest):
        raise InsufficientMemoryError("rmat", 10, 5, "in memory")

    monkeypatch.setattr(scaling, "load", broken)
    notes = []
    session = SimpleNamespace(xp=np, data=None, notes=notes, rows=[])
    scaling.run_all(session, finding(), plan(clock, "bfs"), print)
    assert len(notes) == 1 and notes[0].startswith("everything stops: rmat6 cannot be drawn")


# One measurement


@pytest.mark.parametrize("name", scaling_tasks.TASKS)
def test_tasks_are_checked_and_measured(name, tmp_path):
    row = scaling_tasks.measure(scaling_tasks.TASKS[name], load("rmat7"), SESSION, QUICK, tmp_path)
    assert row["check"] == "ok" and row["run_ms"]["repeats"] >= 1
    assert (row["task"], row["graph"], row["vertices"]) == (name, "rmat7", 128)
    assert row["edges"] == load("rmat7").rows and row["estimate_bytes"] > row["edges"]
    each = row["run_ms"]["median"] * 1e6 / row["edges"]
    assert row["ns_per_edge"] == pytest.approx(each, rel=1e-3)
    assert row["bytes_per_edge"] == round(row["peak_bytes"] / row["edges"], 2)
    assert list(tmp_path.iterdir()) == []


def test_peaks_are_those_of_the_run():
    def run():
        return np.ones(8_000_000).sum()

    peak = scaling_tasks.peak_bytes(Clock(), None, run)
    assert 63e6 < peak < 80e6  # some of it was there before


def changed(call, change):
    def run(*arguments, **options):
        return change(call(*arguments, **options))

    return run


@pytest.mark.parametrize(
    ("name", "function", "column"),
    [
        ("bfs", "bfs", "distance"),
        ("sssp", "sssp", "distance"),
        ("components", "connected_components", "component"),
        ("streamed bfs", "bfs", "predecessor"),
        ("pagerank", "pagerank", "pagerank"),
    ],
)
def test_wrong_answers_raise(monkeypatch, name, function, column):
    honest = getattr(rg, function)
    wrong = changed(honest, lambda frame: frame.assign(**{column: frame[column] * 2 + 1}))
    monkeypatch.setattr(rg, function, wrong)
    with pytest.raises(rg.errors.VerificationError):
        scaling_tasks.measure(scaling_tasks.TASKS[name], load("rmat7"), SESSION, QUICK)


def test_wrong_clusters_raise(monkeypatch):
    wrong = changed(rg.scan, lambda frame: frame.assign(role="core"))
    monkeypatch.setattr(rg, "scan", wrong)
    with pytest.raises(rg.errors.VerificationError):
        scaling_tasks.measure(scaling_tasks.TASKS["scan"], load("rmat7"), SESSION, QUICK)


def test_few_iterations_must_be_near_to_the_ranks():
    graph = load("rmat7").graph
    answer = rg.pagerank(
        graph, tolerance=0, max_iterations=scaling_tasks.ITERATIONS, progress=False
    )
    scaling_tasks.check_pagerank(answer, graph)
    with pytest.raises(WrongAnswerError, match="after 20 iterations is off"):
        scaling_tasks.check_pagerank(
            answer.assign(pagerank=answer["pagerank"][::-1].to_numpy()), graph
        )


def test_graphs_must_have_the_rows():
    workload = load("rmat7")
    scaling_tasks.check_csr(workload.graph, workload)
    other = load("rmat7")
    other.destination = other.destination.copy()
    other.destination[5] = (other.destination[5] + 1) % 128
    with pytest.raises(WrongAnswerError, match="arcs differ"):
        scaling_tasks.check_csr(workload.graph, other)
    with pytest.raises(WrongAnswerError, match="the graph has"):
        scaling_tasks.check_csr(workload.graph, load("rmat8"))


def test_scans_find_nothing_cached():
    task, workload = scaling_tasks.TASKS["scan"], load("rmat7")
    counted = []
    with scaling_tasks.prepare(task, task.workload(workload)) as (run, _, _):
        graph = run.__closure__[0].cell_contents
        honest = graph.cached

        def cached(key, compute):
            counted.append(key) if key not in graph._cache else None
            return honest(key, compute)

        graph.cached = cached
        run()
        first = len(counted)
        run()
    assert first > 0 and len(counted) == 2 * first


# The whole


def test_scaling_quick(tmp_path, capsys):
    path, picture = tmp_path / "s.jsonl", tmp_path / "s.png"
    found = scaling.main(
        ["--device", "cpu", "--quick", "--output", str(path), "--plot", str(picture)]
    )
    assert found == records.read(path)
    assert found[0]["budget_s"] == 90
    sizes = [row for row in found if row["table"] == "size"]
    assert {row["check"] for row in sizes} == {"ok"}
    assert [row["graph"] for row in sizes if row["task"] == "bfs"] == [
        "rmat6", "rmat7", "rmat8", "rmat9",
    ]  # fmt: skip
    slopes = {row["task"]: row for row in found if row["table"] == "slope"}
    assert list(slopes) == list(scaling_tasks.TASKS)
    assert slopes["bfs"]["to_edges"] == load("rmat9").rows
    assert not [row for row in found if row["table"] == "note"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "grows with the edges to the power of" in capsys.readouterr().out


def test_some_tasks_and_graphs():
    options = ["--device", "cpu", "--quick", "--only", "bfs", "--graphs", "rmat6,rmat7"]
    found = scaling.main(options)
    assert [(row["task"], row["graph"]) for row in found if row["table"] == "size"] == [
        ("bfs", "rmat6"), ("bfs", "rmat7"),
    ]  # fmt: skip


def test_a_budget_that_is_over_stops_everything():
    found = scaling.main(["--device", "cpu", "--quick", "--only", "bfs", "--budget", "0.000001"])
    notes = [row["note"] for row in found if row["table"] == "note"]
    assert len(notes) == 1 and notes[0].startswith("bfs stops: rmat6 with all remaining tasks")
    assert not [row for row in found if row["table"] == "size"]


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf"])
def test_budgets_are_seconds(budget):
    with pytest.raises(SystemExit, match=r"--budget is .*; it must be a number of seconds above 0"):
        scaling.main(["--device", "cpu", "--quick", f"--budget={budget}"])


def test_pictures_are_made_of_records(tmp_path):
    rows = [size("bfs", 10**k, 10.0**k, 2**20 * 10**k) for k in (4, 5, 6)]
    rows += [size("scan", 10**4, 5.0, 1), size("scan", 10**5, 7.0) | {"check": "wrong"}]
    rows[-2]["peak_bytes"] = 0  # no memory to be seen
    rows += [{"table": "run"}, *scaling.slope_rows(rows)]
    figure = scaling_plot.plot(json.loads(json.dumps(rows)), tmp_path / "a.png")
    times, memory_panel = figure.axes
    assert [line.get_label() for line in times.lines] == ["bfs, exponent 1.00", "scan"]
    assert times.lines[0].get_xydata().tolist() == [[10**4, 10.0], [10**5, 100], [10**6, 1000]]
    assert times.lines[1].get_xydata().tolist() == [[10**4, 0.005]]
    assert memory_panel.lines[0].get_ydata().tolist() == [10**4, 10**5, 10**6]
    assert memory_panel.lines[1].get_xydata().size == 0
    assert {axes.get_xscale() + axes.get_yscale() for axes in figure.axes} == {"loglog"}
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scaling_plot.main([str(path)])
    assert (tmp_path / "r.png").exists()
