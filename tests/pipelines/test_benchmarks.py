"""The benchmarks run, check what they time and say what is missing; no speed is asserted."""

import importlib
import re
import sys
import types
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from conftest import build_storage

import rapidsgraph as rg
from pipelines.benchmarks import (
    adapters,
    answers,
    comparisons,
    harness,
    performance,
    records,
    run,
    timing,
)
from pipelines.benchmarks.adapters import FEW, MANY, Entry
from pipelines.benchmarks.graphs import GraphUnavailableError, Workload, load
from pipelines.benchmarks.tasks import COMPARISONS, TASKS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

TIME = {"median": 1.5, "low": 1.0, "high": 2.0, "repeats": 3}
START = {
    "table": "run", "benchmark": "pagerank", "machine": {"cpu": "Some CPU", "cores": 2},
}  # fmt: skip
# Two sinks, of which one is alone; a vertex that leads here only.
ROWS = [(0, 1), (1, 2), (0, 2), (2, 0), (2, 3), (4, 0)]
CPU_LIBRARIES = [
    pytest.param(name, marks=pytest.mark.skipif(not find_spec(module), reason=f"needs {module}"))
    for name, module in zip(
        adapters.CPU_PEERS, ("scipy", "networkit", "igraph", "graphblas"), strict=True
    )
]


def small_graph(directed=True):
    source, destination = (np.array(values, np.int32) for values in zip(*ROWS))
    return Workload("small", "", np, 6, source, destination, directed=directed)


def session(*arguments):
    options = harness.parse_options("a test", ["--device", "cpu", "--quick", *arguments])
    test = harness.Session(harness.Suite("test", lambda session: ()), options)
    test.measure_peak = lambda function: (None, function())  # it collects garbage each time
    return test


# Records and tables


def test_records_come_back_as_written(tmp_path):
    row = {"table": "bfs", "graph": "a", "run_ms": TIME, "check": "ok"}
    written = [records.run_record("pagerank", seed=1), row, {"table": "note", "note": "x is out"}]
    path = tmp_path / "deep" / "a.jsonl"
    records.write(path, written)
    assert records.read(path) == written
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.jsonl", "a.md"]
    text = path.with_suffix(".md").read_text()
    assert "| graph | run, ms | check |\n| --- | --- | --- |\n| a | 1.5 (1 to 2) | ok |" in text
    assert text.endswith("## Left out\n\n- x is out\n")
    assert written[0]["machine"]["cores"] >= 1 and "load" in written[0]
    assert {"python", "rapidsgraph", "numpy"} <= set(written[0]["versions"])


@pytest.mark.parametrize(
    ("value", "text"), [(0.0001234, "0.000123"), (12.345, "12.3"), (1234.5, "1,234"), (0, "0")]
)
def test_numbers_have_three_digits(value, text):
    assert records.number(value) == text


def test_claims_have_a_verdict():
    row = records.claim_row("Kim: node is faster", [1.5, 2.0])
    assert records.grid([row]).splitlines()[-1] == "| Kim: node is faster | 1.5 to 2 times | yes |"
    assert not records.claim_row("Kim: node is faster", [0.5])["holds"]


def test_claims_compare_implementations_on_the_rows_they_are_about():
    rows = [
        {"table": "kim", "graph": graph, "implementation": name, "run_ms": {"median": ms}}
        for graph, name, ms in (("a", "edge", 6.0), ("a", "node", 2.0), ("b", "edge", 1.0))
    ]
    rows += [rows[0] | {"graph": "b", "implementation": "node", "run_ms": {"median": 2.0}}]
    claims = [("all", "edge", "node"), ("b", "edge", "node", lambda row: row["graph"] == "b")]
    found = {row["claim"]: (row["here"], row["holds"]) for row in records.claim_rows(claims, rows)}
    assert found == {"all": ("0.5 to 3 times", False), "b": ("0.5 times", False)}


# Timing


def test_rounds_take_turns_and_the_slow_stand_back():
    calls = []
    times = {"a": 1000, "b": 2000, "c": 4000}
    jobs = {name: lambda name=name, ms=ms: calls.append(name) or ms for name, ms in times.items()}
    assert timing.rounds(jobs, 3, 3.5) == {"a": [1000] * 3, "b": [2000] * 2, "c": [4000]}
    assert "".join(calls) == "abcaba"


def test_summary_and_ratio_of_the_same_rounds():
    assert timing.summary([3.0, 1.0, 2.0]) == {"median": 2, "low": 1, "high": 3, "repeats": 3}
    assert timing.paired_ratio([2, 9, 4], [1, 3, 4]) == 2
    assert timing.paired_ratio([], [1]) is None


# Every library on every task


@pytest.mark.parametrize("library", ["rapidsgraph", "serial", *CPU_LIBRARIES])
def test_libraries_agree_with_the_verified_answers(library):
    test, checked = session("--libraries", library), 0
    tasks = [task for task in TASKS.values() if adapters.find_entries(task.name, False, [library])]
    for workload in (small_graph(), load("rmat6u")):
        for task in tasks:
            for case in task.cases(workload):
                for row in comparisons.measure(task, case, test):
                    assert row["check"] == "ok" and task.time in row, row
                    checked += 1
    assert checked >= 3
    assert not [row for row in harness.failures(test.records) if row[1]]


def test_references_are_those_by_hand():
    case = next(TASKS["sssp"].cases(small_graph()))
    vertex = case.start
    assert TASKS["sssp"].reference(case)[0][vertex] == 0
    ends = (np.array(ids, np.int32) for ids in ([0, 1, 2, 2], [1, 2, 0, 3]))
    triangle = Workload("triangle", "", np, 4, *ends, directed=False)
    assert TASKS["triangle_count"].reference(triangle)[0].tolist() == [1, 1, 1, 0]
    np.testing.assert_allclose(
        TASKS["clustering_coefficient"].reference(triangle)[0], [1, 1, 1 / 3, 0]
    )
    np.testing.assert_allclose(TASKS["neighbor_similarity"].reference(triangle)[0],
                               [1 / 3, 1 / 4, 1 / 4, 0])  # fmt: skip


def fake_entry(task, answer, library="fake"):
    return Entry(library, task, "fake", lambda graph, case, *iterations: answer(case))


@pytest.mark.parametrize(
    "task", [name for name in TASKS if name != "scan" and TASKS[name].suite != "build"]
)
def test_wrong_answers_have_no_time(task, monkeypatch):
    """A peer's is reported, ours is an error."""
    for library, is_ours in (("fake", False), ("rapidsgraph", True)):
        case = next(TASKS[task].cases(load("rmat6")))
        reference, _ = TASKS[task].reference(case)
        entry = fake_entry(task, lambda case: np.arange(reference.size) % 5 + 7, library)  # noqa: B023
        monkeypatch.setattr(comparisons, "find_entries", lambda *_: [entry])  # noqa: B023
        test = session()
        test.attempt("rmat6", partial(comparisons.measure, TASKS[task], case, test))
        [row] = test.rows
        assert row["check"].startswith("wrong: ") and TASKS[task].time not in row
        [(_, found)] = harness.failures(test.records)
        assert found is is_ours
        assert harness.exit_status(test.records) == (harness.EXIT_WRONG_ANSWER if is_ours else 0)


def test_all_entries_are_called_once_before_they_are_timed():
    calls = []
    for name in ("bfs", "pagerank"):
        run = lambda graph, case, *iterations: calls.append((case.name, *iterations))  # noqa: E731
        entries = [Entry("fake", name, "fake", run)]
        comparisons.warm_up([replace(TASKS[name], entries=entries)], session())
    assert calls == [("rmat8",), ("rmat8u",), ("rmat8", FEW), ("rmat8u", FEW)]


def test_a_failing_library_does_not_end_the_run(monkeypatch):
    def fail(case):
        raise RuntimeError("broken")

    entries = [fake_entry("bfs", fail), *adapters.find_entries("bfs", False, ["rapidsgraph"])]
    monkeypatch.setattr(comparisons, "find_entries", lambda *_: entries)
    rows = comparisons.measure(TASKS["bfs"], next(TASKS["bfs"].cases(load("rmat6"))), session())
    assert rows[0]["check"] == "failed: RuntimeError: broken" and "run_ms" not in rows[0]
    assert {row["check"] for row in rows[1:]} == {"ok"}


def test_wrong_references_are_notes(monkeypatch):
    monkeypatch.setattr(rg.verify, "bfs", lambda *_: (_ for _ in ()).throw(ValueError("wrong")))
    test = session()
    test.attempt("rmat6, bfs", partial(comparisons.measure, TASKS["bfs"], load("rmat6"), test))
    assert test.rows == [] and test.notes == ["rmat6, bfs: failed: ValueError: wrong"]
    assert harness.exit_status(test.records) == harness.EXIT_WRONG_ANSWER


def test_wrong_clusters_are_found():
    (clusters, is_core), facts = TASKS["scan"].reference(next(TASKS["scan"].cases(load("rmat8u"))))
    assert facts["clusters"] == clusters.max() + 1
    compare = partial(answers.compare_clusters, reference=(clusters, is_core))
    assert compare((clusters, is_core)) is None
    for wrong in ((clusters, ~is_core), (np.where(is_core, clusters, -1), is_core)):
        assert "in being cores or members" in compare(wrong)
    assert "groups" in compare((np.where(is_core, np.arange(clusters.size), clusters), is_core))


def test_missing_libraries_and_graphs_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(adapters, "import_adapter", lambda name: (None, f"{name} is left out"))
    assert adapters.missing_libraries(True) == ["cuSPARSE is left out", "cuGraph is left out"]
    test = session("--data", str(tmp_path))
    assert list(test.graphs(["NY", "nothing"])) == []
    assert "skipped NY: " in test.notes[0] and "USA-road-d.NY.parquet" in test.notes[0]
    assert "skipped nothing: there is no such generator" in test.notes[1]
    with pytest.raises(GraphUnavailableError):
        load("soc-Pokec", folder=tmp_path)


def test_large_graphs_are_left_out_with_the_reason(monkeypatch):
    igraph = pytest.importorskip("pipelines.benchmarks.adapters.igraph")
    monkeypatch.setattr(igraph, "MAX_ARCS", 10)
    test = session("--libraries", "igraph")
    comparisons.measure(TASKS["bfs"], next(TASKS["bfs"].cases(load("rmat6"))), test)
    assert "igraph's bfs is left out, more than 10 arcs" in test.notes[0]


def test_large_answers_are_not_verified(monkeypatch):
    monkeypatch.setattr(comparisons, "MAX_VERIFIED_ROWS", 10)
    test = session("--libraries", "rapidsgraph")
    rows = comparisons.measure(TASKS["bfs"], load("rmat6"), test)
    assert {row["check"] for row in rows} == {"not verified"} and "run_ms" in rows[0]
    assert harness.exit_status(rows) == 0 and list(performance.by_contest(rows))


# cuGraph, as far as it can be called without a GPU


class FakeCuGraph(types.ModuleType):
    """What the benchmarks call of pylibcugraph, on NumPy, and with vertices in another order."""

    ResourceHandle = object

    def GraphProperties(self, is_symmetric, is_multigraph):
        return is_symmetric

    def SGGraph(self, handle, symmetric, sources, destinations, *, symmetrize, **options):
        columns = {"source": sources, "destination": destinations}
        if options["weight_array"] is not None:
            columns["weight"] = options["weight_array"]
        weight = "weight" if "weight" in columns else None
        vertices = options["vertices_array"]
        return build_storage(columns, weight=weight, directed=not symmetrize, vertices=vertices)

    def pagerank(self, handle, graph, a, b, c, d, damping, epsilon, iterations, e, **options):
        limits = {"tolerance": epsilon if epsilon > 1e-20 else 0, "max_iterations": iterations}
        result = rg.pagerank(graph, damping=damping, progress=False, **limits)
        return result["vertex"][::-1], result["pagerank"][::-1], False

    def bfs(self, handle, graph, sources, optimizes, limit, predecessors, check):
        found = rg.bfs(graph, sources, predecessors=predecessors)
        distances = np.where(found["distance"] < 0, 2**31 - 1, found["distance"])
        return distances[::-1], None, found["vertex"][::-1]

    def sssp(self, handle, graph, source, cutoff, predecessors, check):
        found = rg.sssp(graph, source)
        kind = graph.csr.weights.dtype
        distances = np.minimum(found["distance"], np.finfo(kind).max).astype(kind)
        return found["vertex"][::-1], distances[::-1], None

    def weakly_connected_components(self, handle, graph, *arrays_and_check):
        found = rg.connected_components(graph)
        return found["vertex"][::-1], found["component"][::-1] + 7

    def strongly_connected_components(self, handle, graph, *arrays_and_check):
        found = rg.connected_components(graph, strong=True)
        return found["vertex"][::-1], found["component"][::-1] + 7

    def triangle_count(self, handle, graph, start, check):
        found = rg.triangle_count(graph)
        return found["vertex"][::-1], found["triangles"][::-1]

    def core_number(self, handle, graph, degrees, check):
        found = rg.core_number(graph)
        return found["vertex"][::-1], found["core"][::-1]

    def jaccard_coefficients(self, handle, graph, first, second, weighted, check):
        found = rg.neighbor_similarity(graph)
        return tuple(found[name][::-1] for name in ("source", "destination", "jaccard"))

    def out_degrees(self, handle, graph, vertices, check):
        return None, graph.out_degrees


def test_cugraph_and_cusparse_are_called_and_checked(monkeypatch):
    scipy = pytest.importorskip("scipy.sparse")
    cusparse = types.SimpleNamespace(spmv=lambda matrix, vector: matrix @ vector)
    fakes = {
        "pylibcugraph": FakeCuGraph("pylibcugraph"), "cupy": types.SimpleNamespace(
            arange=np.arange, ndarray=type("ndarray", (), {})),
        "cupyx": types.SimpleNamespace(cusparse=cusparse),
        "cupyx.scipy": types.SimpleNamespace(sparse=scipy),
    }  # fmt: skip
    for name, module in fakes.items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("cugraph", "cusparse"):
        module = f"pipelines.benchmarks.adapters.{name}"
        library = importlib.import_module(module).library
        monkeypatch.delitem(sys.modules, module)
        for entry in library.entries:
            task = TASKS[entry.task]
            for case in task.cases(load("rmat6")):
                if entry.skip(case):
                    continue
                arguments = (MANY,) if entry.task == "pagerank" else ()
                answer = entry.convert(entry.prepare(case)(*arguments), case)
                expected, _ = task.reference(case)
                assert task.compare(answer, expected, entry.precision) is None, (entry, case)


# The command


def test_a_real_run(tmp_path, capsys):
    arguments = ["components", "core_number", "--quick", "--device", "cpu"]
    arguments += ["--libraries", "rapidsgraph", "--output", str(tmp_path)]
    assert run.main(arguments) == 0
    assert len(list(tmp_path.glob("structure-cpu-*core.jsonl"))) == 1
    [path] = tmp_path.glob("traversal-cpu-*core.jsonl")
    found = records.read(path)
    assert {row["table"] for row in found} >= {"run", "graph", "components"}
    row = next(row for row in found if row["table"] == "components")
    assert {"run_ms", "peak_bytes", "floor_ms", "ratio"} <= set(row)
    assert run.main(["--list", "--device", "cpu"]) == 0
    assert "structure: core_number on rmat18u" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="unknown name 'bfs2'"):
        run.main(["bfs2", "--device", "cpu"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--graphs", "rmat6,nothing"], "--graphs nothing: there is no such generator"),
        (["--output", "notes.txt"], "notes.txt is a file; name a folder or FILE.jsonl"),
    ],
)
def test_wrong_options(arguments, message, tmp_path, monkeypatch, capsys):
    (tmp_path / "notes.txt").write_text("kept")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        run.main(["bfs", "--device", "cpu", *arguments])
    assert message in capsys.readouterr().err
    assert (tmp_path / "notes.txt").read_text() == "kept"


def test_a_run_without_measurements_keeps_the_record(tmp_path, capsys):
    path = tmp_path / "bfs.jsonl"
    path.write_text("kept")
    arguments = ["bfs", "--quick", "--device", "cpu", "--libraries", "nothing"]
    assert run.main([*arguments, "--output", str(path)]) == harness.EXIT_NOTHING_MEASURED
    assert "nothing was measured" in capsys.readouterr().err
    assert path.read_text() == "kept"


def test_records_have_the_name_of_a_suite():
    """Except those of the fault tests."""
    stems = [path.stem for path in records.RESULTS.glob("*.jsonl")]
    names = {re.sub(r"-(cpu|gpu)-\w+$", "", stem) for stem in stems}
    assert len(names) > 20 and names - {"faults"} <= {*run.SUITES, *COMPARISONS}


def test_modules_have_no_import_cycle():
    folder = run.Path(run.__file__).parent
    imports = {}
    for path in folder.rglob("*.py"):
        name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        found = re.findall(
            r"^from pipelines\.benchmarks(\S*) import (\([^)]*\)|.*)", path.read_text(), re.M
        )
        imports[name] = {
            part.strip(". ")
            for package, names in found
            for part in ([package] if package else re.findall(r"\w+", names))
        }
    while free := [name for name, needs in imports.items() if not needs & imports.keys()]:
        for name in free:
            del imports[name]
    assert not imports


# What follows from records


def test_a_comparison_is_with_the_fastest_correct_peer():
    row = {"table": "components", "graph": "NY", "implementation": "a", "check": "ok"}
    ours = row | {"library": "rapidsgraph", "run_ms": TIME, "ratio": 1.0}
    peers = [("A", 3.0, "ok"), ("B", 2.0, "ok"), ("C", 1.1, "wrong: 1")]
    peers = [dict(zip(("library", "ratio", "check"), peer)) for peer in peers]
    peers = [row | {"run_ms": TIME} | peer for peer in peers]
    graph = {"table": "graph", "graph": "NY", "arcs": 9}
    text = performance.comparison_table(performance.compare([START, graph, ours, *peers]))
    assert "| Weak components | NY | 9 | 1.5 | B | 1.5 | 2 |" in text


def test_machines_have_names():
    assert records.machine_label({"gpu": "NVIDIA H100 80GB HBM3", "cores": 16}) == "gpu-h100"
    assert records.machine_label({"cores": 4}) == "cpu-4core"


def test_readme_and_tables_say_what_the_records_say():
    assert performance.main(["--check"]) == 0


def test_sections_take_the_place_of_the_last_ones():
    text = (
        "before\n<!-- generated by pipelines/benchmarks/performance.py: a -->\n{}\n<!-- end -->\n"
    )
    replaced = performance.replace_sections(text.format("old"), {"a": "new \\1"})
    assert replaced == text.format("\nnew \\1\n")
    with pytest.raises(KeyError):
        performance.replace_sections(text, {})


def test_graphs_are_read_from_the_text_of_snap(tmp_path):
    (tmp_path / "ca-GrQc.txt").write_text("# a graph\n5\t7\n7\t9\n")
    workload = load("ca-GrQc", folder=tmp_path)
    assert workload.rows == 2 and workload.vertices == 3 and not workload.directed
    assert workload.source.tolist() == [0, 1] and workload.destination.tolist() == [1, 2]
