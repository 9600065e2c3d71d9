"""The one runner of the benchmarks, and what is made of all records together."""

import json
import signal
import subprocess
import sys
import time

import pytest

from pipelines.benchmarks import comparisons, harness, performance, records, run, selection, tables

pytestmark = pytest.mark.slow

START = {
    "table": "run", "benchmark": "pagerank", "date": "2026-01-01 00:00 UTC", "commit": "abc",
    "machine": {"cpu": "Some CPU", "cores": 2}, "versions": {},
}  # fmt: skip
GRAPH = {
    "table": "graph", "graph": "NY", "origin": "a file", "vertices": 264346, "rows": 733846,
    "arcs": 730100, "directed": True,
}  # fmt: skip


def time_of(milliseconds):
    return {"median": milliseconds, "low": milliseconds, "high": milliseconds, "repeats": 3}


def ranked(library, implementation, milliseconds, ratio, **more):
    row = {
        "table": "pagerank", "graph": "NY", "library": library, "implementation": implementation,
        "precision": "double", "iteration_ms": time_of(milliseconds), "ratio": ratio, "check": "ok",
    }  # fmt: skip
    return row | more


FOUND = [
    START,
    GRAPH,
    ranked("rapidsgraph", "auto", 0.5, 1.0, floor_ms=0.1),
    ranked("rapidsgraph", "edge", 9.0, 18.0),
    ranked("SciPy", "CSR loop", 1.5, 3.0),
    ranked("SciPy", "CSR product", 0.2, 0.4),  # which is no PageRank
    ranked("NetworKit", "PageRank", 1.0, 2.0),
    ranked("igraph", "PRPACK", 0.01, 0.02, check="wrong: 7 away"),
]


# Names


def test_a_name_is_a_task_a_graph_and_a_library():
    [group] = selection.select_groups(["bfs/rmat18/SciPy"], "cpu")
    assert group == selection.Group("traversal", ("bfs",), ("rmat18",), ("rapidsgraph", "SciPy"))
    words = group.command_line("cpu", "out.jsonl", data="graphs")
    assert words[0] == sys.executable and words[1].endswith("benchmarks/traversal.py")
    assert words[2:] == [
        "--device", "cpu", "--output", "out.jsonl", "--only", "bfs", "--graphs", "rmat18",
        "--libraries", "rapidsgraph,SciPy", "--data", "graphs",
    ]  # fmt: skip


def test_tasks_of_a_command_share_a_process():
    found = selection.select_groups(
        ["similarity/NY", "bfs", "sssp", "components/*", "gpuscan"], "gpu"
    )
    short = selection.COMMANDS["traversal"].short["gpu"]
    assert [(one.command, one.tasks, one.graphs) for one in found] == [
        ("traversal", ("bfs", "sssp", "components"), short),
        ("scan", ("similarity",), ("NY",)),
        ("scan", ("gpuscan",), selection.COMMANDS["scan"].short["gpu"]),
    ]
    assert "--only" not in found[0].command_line("gpu", "a")
    assert found[2].command_line("gpu", "a")[6:8] == ["--only", "papers"]
    [scaling] = selection.select_groups(["scaling"], "cpu")
    assert scaling.command_line("cpu", "a")[-2:] == ["--budget", "45"]
    assert "--budget" not in scaling.command_line("cpu", "a", full=True)


def test_without_names_everything_runs_but_what_is_only_for_those_who_ask():
    found = selection.select_groups([], "cpu")
    assert [one.command for one in found] == [
        name for name in selection.COMMANDS if name not in {"cluster", "frames"}
    ]
    assert all(one.graphs == () for one in selection.select_groups([], "cpu", full=True))
    assert selection.select_groups(["dask"], "cpu")[0].command == "cluster"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dfs", "unknown benchmark 'dfs'; .* TASK is one of pagerank, bfs"),
        ("bfs/NY/SciPy/fast", "unknown benchmark 'bfs/NY/SciPy/fast'"),
        ("kim/NY", "'kim/NY' names a graph, but kim has fixed graphs"),
        ("layers/NY/SciPy", "names a library, but layers always runs all of them"),
        ("bfs/NY/Scipy", "'bfs/NY/Scipy': unknown library; known are rapidsgraph, serial"),
    ],
)
def test_names_that_nobody_knows(name, message, capsys):
    with pytest.raises(ValueError, match=message):
        selection.select_groups([name], "cpu")
    with pytest.raises(SystemExit) as end:
        run.main([name, "--device", "cpu"])
    assert end.value.code == 2
    assert name in capsys.readouterr().err


def test_every_command_and_its_tasks_are_there():
    for name, each in selection.COMMANDS.items():
        text = (selection.FOLDER / f"{name}.py").read_text()
        assert "def main(arguments: Sequence[str] | None = None)" in text
        for given in each.tasks.values():
            assert given is None or f'"{given}"' in text or name == "traversal"


def test_listing_names_graphs_libraries_and_who_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "igraph", None)
    assert run.main(["--list", "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("bfs/rmat18  by rapidsgraph") for line in lines)
    assert any(line.startswith("kim") and "by" not in line for line in lines)
    assert any(line.startswith("missing: ") and "igraph" in line for line in lines)


# Processes


def stand_in(monkeypatch, program):
    """Have every group run this program, which finds the path for its records in sys.argv[1]."""
    monkeypatch.setattr(
        selection.Group,
        "command_line",
        lambda self, device, output, *_: [sys.executable, "-c", program, output],
    )


WRITES = (
    f"import pathlib, sys; pathlib.Path(sys.argv[1]).write_text({json.dumps(json.dumps(START))})"
)


def test_what_a_time_limit_cuts_off_keeps_its_records(monkeypatch, tmp_path, capsys):
    stand_in(monkeypatch, f"{WRITES}; import time; time.sleep(60)")
    began = time.monotonic()
    [group] = selection.select_groups(["kim"], "cpu")
    assert run.run_process(
        group.command_line("cpu", tmp_path / "a.jsonl"), tmp_path / "a.jsonl", 1.5
    ) == run.Problem("timed out after 2 s")
    assert time.monotonic() - began < 20
    assert records.read(tmp_path / "a.jsonl") == [START]
    monkeypatch.setattr(run, "GRACE", 0.5)
    assert run.main(["kim", "reddy", "--device", "cpu", "--budget", "1.5"]) == 0
    said = capsys.readouterr().err
    assert "problem: kim (kim): timed out after 1 s" in said
    assert "problem: reddy (reddy): left out, the time was up" in said


def test_a_process_that_does_not_listen_is_ended(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "GRACE", 0.3)
    deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"
    stand_in(monkeypatch, deaf)
    began = time.monotonic()
    [group] = selection.select_groups(["kim"], "cpu")
    assert run.run_process(
        group.command_line("cpu", tmp_path / "a.jsonl"), tmp_path / "a.jsonl", 1
    ) == run.Problem("timed out after 1 s")
    assert time.monotonic() - began < 20


def test_a_command_that_fails_is_a_problem_and_the_next_one_runs(monkeypatch, tmp_path, capsys):
    stand_in(monkeypatch, "import sys; print('said'); sys.exit('no such thing')")
    assert run.main(["kim", "reddy", "--device", "cpu", "--output", str(tmp_path / "new")]) == 1
    said = capsys.readouterr().err
    assert "problem: kim (kim): failed with exit status 1: no such thing" in said
    assert "problem: reddy (reddy): failed with exit status 1: no such thing" in said
    assert list((tmp_path / "new").iterdir()) == []


def test_ctrl_c_ends_the_process_that_runs_and_keeps_what_there_is(monkeypatch, tmp_path, capsys):
    stand_in(monkeypatch, f"{WRITES}; import time; time.sleep(60)")
    started, honest = [], run.subprocess.Popen

    class Interrupted(honest):
        def wait(self, timeout=None):
            if not started:
                started.append(self)
                time.sleep(1)
                raise KeyboardInterrupt
            return super().wait(timeout)

    monkeypatch.setattr(run.subprocess, "Popen", Interrupted)
    assert run.main(["kim", "reddy", "--device", "cpu", "--output", str(tmp_path)]) == 130
    assert started[0].returncode in (-signal.SIGINT, 1)
    assert "problem: kim (kim): interrupted" in capsys.readouterr().err
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["kim-cpu-2core.jsonl"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bfs/nosuch", "failed: nothing was measured on nosuch"),
        ("components/rmat6/igraph", "failed: no record of igraph"),
    ],
)
def test_what_was_named_and_is_not_there_is_a_failure(name, message, monkeypatch, capsys):
    if "igraph" in name:  # as if it were not installed
        monkeypatch.setattr(selection.Group, "command_line", without_igraph)
    assert run.main([name, "--device", "cpu", "--quick"]) == 1
    said = capsys.readouterr().err
    assert message in said and "left out: " in said


def without_igraph(self, device, output, *_):
    program = (
        "import runpy, sys; sys.modules['igraph'] = None; sys.argv[0] = path = sys.argv.pop(1); "
        "runpy.run_path(path, run_name='__main__')"
    )
    arguments = ["--device", device, "--output", str(output), "--quick", "--only", "components"]
    arguments += ["--graphs", "rmat6", "--libraries", "rapidsgraph,igraph"]
    return [sys.executable, "-c", program, str(selection.FOLDER / "traversal.py"), *arguments]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "-5"], "--budget is -5; it must be a number of seconds above 0"),
        (["--data", "/no/such/folder"], "folder /no/such/folder does not exist"),
        (["--output", __file__], "cannot create folder"),
    ],
)
def test_options_that_cannot_be(options, message, capsys):
    with pytest.raises(SystemExit) as end:
        run.main(["kim", "--device", "cpu", *options])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_wrong_answers_are_named_and_ours_make_it_fail(monkeypatch, capsys):
    theirs = [*FOUND[:7], FOUND[7]]
    ours = [START, GRAPH, ranked("rapidsgraph", "auto", 0.5, 1.0, check="wrong: 3 away")]
    for found, status in ((theirs, 0), (ours, 1)):
        text = "".join(json.dumps(row) + "\n" for row in found)
        ends = f"sys.exit({harness.exit_status(found)})"
        stand_in(monkeypatch, f"import sys; open(sys.argv[1], 'w').write({text!r}); {ends}")
        assert run.main(["pagerank", "--device", "cpu"]) == status
        printed = capsys.readouterr()
        [wrong] = [line for line in printed.err.splitlines() if "problem: " in line]
        who = "igraph PRPACK: wrong: 7 away" if not status else "rapidsgraph auto: wrong: 3 away"
        assert wrong == f"problem: pagerank NY {who}"
        assert ("| 0.5 | NetworKit | 1 | 2 |" in printed.out) is (status == 0)


def test_a_command_says_by_its_exit_status_that_an_answer_is_wrong():
    arguments = ["traversal.py", "--device", "cpu", "--quick", "--only", "components"]
    arguments += ["--graphs", "rmat6", "--libraries", "rapidsgraph"]
    program = (
        "import runpy, sys; import rapidsgraph as rg; rg.connected_components = None; "
        f"sys.argv = {arguments!r}; "
        f"runpy.run_path({str(selection.FOLDER / 'traversal.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == harness.EXIT_WRONG_ANSWER, done.stderr
    assert "failed: TypeError" in done.stdout


def test_a_real_run(tmp_path, capsys):
    arguments = ["components/rmat8", "reddy", "--quick", "--device", "cpu"]
    assert run.main([*arguments, "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("--quick: the graphs are tiny, and the figures mean nothing")
    assert "1 of 2: traversal (components)" in printed.err
    [path] = tmp_path.glob("traversal-cpu-*core.jsonl")
    found = records.read(path)
    assert {row["table"] for row in found} >= {"run", "graph", "components"}
    assert {row["graph"] for row in found if "graph" in row} == {"rmat8"}
    assert path.with_suffix(".md").read_text() == tables.markdown(found, path.name)
    assert "| Weak components | rmat8 |" in printed.out
    [picture] = tmp_path.glob("performance-cpu-*core.png")
    assert picture.read_bytes().startswith(b"\x89PNG")


# What follows from records


def test_a_comparison_is_with_the_fastest_that_does_as_much_and_is_right():
    [made] = comparisons.compare(FOUND)
    assert (made["task"], made["graph"], made["edges"]) == (
        "PageRank iteration, double", "NY", 730100,
    )  # fmt: skip
    assert [(other["library"], other["ratio"]) for other in made["others"]] == [
        ("NetworKit", 2.0), ("SciPy", 3.0),
    ]  # fmt: skip
    row = "| PageRank iteration, double | NY | 730,100 | 0.5 | NetworKit | 1 | 2 | 0.1 |"
    assert row in performance.summary(FOUND)


def test_only_runs_that_compare_libraries_are_compared():
    assert comparisons.compare([START | {"benchmark": "layers"}, *FOUND[1:]]) == []
    assert comparisons.compare([*FOUND[:2], FOUND[4]]) == []  # without ours


def test_machines_have_names():
    assert performance.machine_label({"gpu": "NVIDIA H100 80GB HBM3", "cores": 16}) == "gpu-h100"
    assert performance.machine_label({"gpu": "NVIDIA GeForce RTX 4090", "cores": 16}) == "gpu-4090"
    assert (
        performance.machine_label({"gpu": "Tesla V100-SXM2-16GB", "cores": 16})
        == "gpu-v100sxm216gb"
    )
    assert performance.machine_label({"gpu": "none (no driver)", "cores": 4}) == "cpu-4core"
    assert performance.machine_label({"cores": 2}) == "cpu-2core"
    without = {"gpu": "none (no driver)", "cores": 4, "cpu": "Some CPU"}
    assert performance.machine_heading(without) == "On 4 cores (Some CPU)"
    assert performance.machine_heading({"gpu": "NVIDIA H100"}) == "On one NVIDIA H100"


def test_the_section_says_where_we_are_behind_and_what_claims_hold():
    slower = [ranked("rapidsgraph", "auto", 2, 1), ranked("SciPy", "CSR loop", 1, 0.5)]
    slower = [row | {"graph": "NY", "precision": "single"} for row in slower]
    claim = {"table": "claim", "of_table": 2, "claim": "It says so. Here it is."}
    found = [*FOUND, *slower, claim | {"holds": {"auto": True, "gpuscan": False}}]
    text = performance.performance_page(found)
    assert "## On 2 cores (Some CPU)" in text
    assert "rapidsgraph is faster than every peer in 1 of 2 comparisons in the records." in text
    assert "The table has those on NY." in text
    assert "slower in PageRank iteration, single of NY (SciPy, 0.5)." in text
    assert "| 2 | SciPy | 1 | **0.5** |" in text
    assert "| GPUSCAN's table 2: It says so. | holds by auto, does not hold by gpuscan |" in text
    all_hold = claim | {"holds": {"auto": True, "gpuscan": True}}
    assert "table 2: It says so. | holds in part |" in performance.performance_page(
        [*found, all_hold]
    )
    assert "table 2: It says so. | holds |" in performance.performance_page(
        [*FOUND, *slower, all_hold]
    )


def test_the_section_says_what_dask_costs_and_how_graphs_grow():
    row = {
        "table": "cluster", "graph": "rmat9", "how": "2 processes", "algorithm": "bfs",
        "edges": 5000, "run_ms": {"median": 30.0}, "by_memory": 1.5, "check": "ok",
    }  # fmt: skip
    others = [
        {"how": "in this process, 2"}, {"graph": "rmat9, 4 of 8 shards"}, {"algorithm": "build"},
        {"check": "wrong: all of it"},
    ]  # fmt: skip
    slope = {"table": "slope", "task": "bfs", "to_edges": 10**6, "time_slope": 0.754}
    slopes = [slope | {"memory_slope": 0.99}, slope | {"task": "scan", "memory_slope": 1.04}]
    text = performance.performance_page([*FOUND, row, *(row | other for other in others), *slopes])
    lines = [line for line in text.splitlines() if "rmat9" in line]
    assert lines == [
        "| cpu-2core | bfs | rmat9 | 2 processes | 30 |  | 1.5 |",
        "| cpu-2core | build | rmat9 | 2 processes | 30 |  | 1.5 |",
    ]
    assert "up to 1,000,000 edges" in text and "instead of one" not in text
    scaled = {"table": "scaling", "scaling": "strong", "algorithm": "bfs", "speedup": 0.5}
    faster = scaled | {"algorithm": "pagerank", "speedup": 1.26}
    others = [scaled | {"algorithm": "build", "speedup": 9}, scaled | {"scaling": "weak"}]
    text = performance.performance_page([*FOUND, row, scaled, faster, *others])
    assert "instead of one make 1 of 2 calls faster: the speedup is 0.5 to 1.3 " in text
    text = performance.performance_page([*FOUND, row, *slopes])
    assert "power of (bfs 0.75, scan 0.75), peak memory with 0.99 to 1.04." in text
    unknown = performance.performance_page([*FOUND, slope | {"memory_slope": None}])
    assert "power of (bfs 0.75).\n" in unknown and "With Dask" not in unknown


def test_without_records_nothing_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(performance, "read_results", list)
    monkeypatch.setattr(performance, "README", tmp_path / "README.md")
    with pytest.raises(SystemExit, match="has no records; README is unchanged"):
        performance.main([])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "why"), [('{"table": "ru', "not a record: Unter"), ("[1]", "not a record: \\[1")]
)
def test_broken_records_name_their_file_and_line(tmp_path, line, why):
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps(START) + "\n\n" + line + "\n")
    with pytest.raises(ValueError, match=f"some.jsonl, line 3: {why}"):
        records.read(path)


def test_a_section_takes_the_place_of_the_last_one():
    text = f"before\n{performance.BEGIN}\nold\n{performance.END}\nafter\n"
    made = performance.replace_section(text, "new \\1")
    assert made == "before\nnew \\1\nafter\n"
    with pytest.raises(ValueError, match="must have"):
        performance.replace_section("no place", "new")


def test_readme_says_what_the_records_say():
    assert performance.main(["--check"]) == 0


def test_every_table_is_made_of_its_records():
    compared = 0
    for path in records.RESULTS.glob("*.md"):
        found = records.read(path.with_suffix(".jsonl"))
        assert path.read_text() == tables.markdown(found, path.with_suffix(".jsonl").name), path
        compared += 1
    assert compared > 20 and compared == len(list(records.RESULTS.glob("*.jsonl")))


def test_pictures_are_made_of_records_alone(tmp_path):
    [path] = performance.draw(FOUND, tmp_path)
    assert path.name == "performance-cpu-2core.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert performance.draw([START], tmp_path) == []
