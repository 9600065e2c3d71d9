"""The command as a process: in a pipe, on a terminal, interrupted."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import forked_process
import pandas as pd
import pytest

import rapidsgraph as rg
from rapidsgraph.io import write_frame

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAM = "from rapidsgraph.__main__ import main; main()"
EDGES = pd.DataFrame({"source": ["a", "b", "c", "a"], "destination": ["b", "a", "a", "b"]})


def start(*arguments, program=PROGRAM, settings=None, **options):
    """Run it as a process of its own, in a pipe; with settings of libraries, a fresh one."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "60", "TERM": "xterm"}
    environment["CUDA_VISIBLE_DEVICES"] = ""  # the same everywhere
    environment |= settings or {}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    if settings is None:
        command = forked_process.command(program, *arguments)
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen(command, env=environment, **options)


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    write_frame(EDGES, path)
    return path


def test_as_a_module():
    """`python -m rapidsgraph`, as Dask's users start theirs."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "rapidsgraph", "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"rapidsgraph {rg.__version__}\n")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("NUMBA_NUM_THREADS", "0", "set it to the number of threads, 1 or more, or unset it"),
        ("NUMBA_NUM_THREADS", "all", "set it to the number of threads, 1 or more, or unset it"),
        ("NUMBA_THREADING_LAYER", "fast", "set it to workqueue, or unset it"),
        ("NUMBA_THREADING_LAYER_PRIORITY", "fast", "unset it"),
    ],
)
def test_settings_of_numba_that_cannot_work(edges, name, value, message):
    with start("pagerank", edges, "--device", "cpu", settings={name: value}) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (1, "")
    assert err.startswith(f"error: {name} is {value!r}")
    assert err.endswith(f"; {message}\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value"), [("NUMBA_NUM_THREADS", "all"), ("NUMBA_THREADING_LAYER", "fast")]
)
def test_doctor_names_settings_of_numba_that_cannot_work(name, value):
    with start("doctor", "--json", settings={name: value}) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    report = json.loads(out)
    assert report["numba"]["setting"] == name
    assert report["advice"][0] == report["numba"]["problem"]
    assert report["advice"][0].startswith(f"{name} is {value!r}")
    assert not report["works"]["cpu"]


def test_a_pipe_gets_whole_lines(tmp_path):
    names = [f"{'long name ' * 20}{place}" for place in range(3)]
    frame = pd.DataFrame({"source": names, "destination": names[1:] + names[:1]})
    write_frame(frame, tmp_path / "e.parquet")
    out, err = start("pagerank", tmp_path / "e.parquet").communicate(timeout=60)
    assert out == "".join(f"{place + 1}\t{name}\t{1 / 3}\n" for place, name in enumerate(names))
    assert err == ""


def test_a_closed_pipe_is_quiet(tmp_path):
    write_frame(rg.generate.uniform(60_000, 90_000, device="cpu"), tmp_path / "e.parquet")
    process = start("pagerank", tmp_path / "e.parquet", "--top", 60_000)
    assert process.stdout.readline().startswith("1\t")
    process.stdout.close()
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode in (1, -signal.SIGPIPE)


def shown_on_a_terminal(*arguments):
    """Both streams, without colours."""
    master, slave = pty.openpty()
    process = start(*arguments, stdout=slave, stderr=slave, stdin=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            block = os.read(master, 1 << 16)
        except OSError:  # how Linux says that the other side is closed
            break
        if not block:
            break
        shown += block
    os.close(master)
    assert process.wait(60) == 0
    return re.sub(r"\x1b\[[\d;?]*\w", "", shown.decode())


def test_a_terminal_gets_a_table(edges):
    shown = shown_on_a_terminal("pagerank", edges)
    assert re.search(r"┃\s*rank\s*┃\s*vertex\s*┃\s*pagerank\s*┃", shown)
    assert re.search(r"│\s*1\s*│\s*a\s*│\s*0\.48\d+\s*│", shown)
    assert "3 vertices, 3 edges on the CPU" in shown


def test_a_terminal_gets_tables_and_what_they_leave_out(edges):
    shown = shown_on_a_terminal("bfs", edges, "--from", "a")
    assert re.search(r"┃\s*distance\s*┃\s*vertices\s*┃", shown)
    assert re.search(r"│\s*1\s*│\s*1\s*│", shown)
    assert "3 vertices, 3 edges on the CPU" in shown
    assert "reached 2 of 3 vertices, the farthest at distance 1" in shown
    shown = shown_on_a_terminal("sssp", edges, "--from", "c")
    assert re.search(r"┃\s*vertex\s*┃\s*distance\s*┃\s*predecessor\s*┃", shown)
    assert re.search(r"│\s*b\s*│\s*2\s*│\s*a\s*│", shown)
    assert "there is no column 'weight' and no --weight: each edge costs 1" in shown
    assert "reached 3 of 3 vertices, the farthest at distance 2" in shown
    shown = shown_on_a_terminal("components", edges)
    assert re.search(r"┃\s*component\s*┃\s*vertices\s*┃", shown)
    assert re.search(r"│\s*0\s*│\s*3\s*│", shown)
    assert "components: 1, the largest of 3 vertices" in shown


def test_a_weight_that_was_not_asked_for_is_said(edges):
    write_frame(EDGES.assign(weight=0.5), edges)
    shown = shown_on_a_terminal("sssp", edges, "--from", "a")
    assert "the weights of edges are those of column 'weight'" in shown


INTERRUPTED = "error: interrupted; no half-written file is left\n"
INTERRUPTS_ITSELF = """
import os, signal, rapidsgraph
from {module} import {name} as original

def interrupted(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)
    return original(*arguments, **options)

import {module} as module
module.{name} = interrupted
from rapidsgraph.__main__ import main
main()
"""
SAYS_WHEN_IT_RANKS = """
from rapidsgraph import device
original = device.launch

def launch(stem, entry, **arguments):
    original(stem, entry, **arguments)
    if (stem, entry) == ("pagerank", "iterate"):  # loaded: while it is, llvmlite eats Ctrl-C
        print("ranking", flush=True)

device.launch = launch
from rapidsgraph.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("command", "module", "name"),
    [
        ("pagerank", "rapidsgraph.io", "read_edges"),
        ("pagerank", "rapidsgraph.io.writers", "_write"),
        ("pagerank", "pyarrow.csv", "write_csv"),
        ("bfs --from a", "rapidsgraph", "bfs"),
        *(pytest.param(*case, marks=pytest.mark.long) for case in [
            ("pagerank", "rapidsgraph", "Graph"),
            ("pagerank", "rapidsgraph", "pagerank"),
            ("sssp --from a", "rapidsgraph", "sssp"),
            ("components", "rapidsgraph", "connected_components"),
        ]),
    ],
)  # fmt: skip
def test_ctrl_c_at_any_time_leaves_the_old_result(edges, command, module, name):
    result = edges.with_name("r.csv")
    result.write_text("old")
    program = INTERRUPTS_ITSELF.format(module=module, name=name)
    command, *options = command.split()
    process = start(command, edges, *options, "--output", result, program=program)
    assert process.communicate(timeout=60) == ("", INTERRUPTED)
    assert process.returncode == 130
    assert sorted(os.listdir(edges.parent)) == ["edges.csv", "r.csv"]
    assert result.read_text() == "old"


def test_ctrl_c_while_ranking(edges):
    options = ["--tolerance", 0, "--max-iterations", 10**9]
    process = start("pagerank", edges, *options, program=SAYS_WHEN_IT_RANKS)
    assert process.stdout.readline() == "ranking\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == INTERRUPTED
    assert process.returncode == 130


@pytest.mark.parametrize("closed", [1, 2])
def test_a_stream_that_is_closed_from_the_start(edges, closed, tmp_path):
    output = tmp_path / "levels.csv"
    program = f"import os, sys; os.close({closed}); os.execv(sys.executable, {{}})"
    program = program.format("[sys.executable, '-c', sys.argv[1], *sys.argv[2:]]")
    run = start(PROGRAM, "bfs", edges, "--from", "a", "-o", output, program=program, settings={})
    said = run.communicate()
    assert run.returncode == 0, said
    assert output.read_text().splitlines() == [
        "vertex,distance,predecessor",
        "a,0,",
        "b,1,a",
        "c,,",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["core-number", "EDGES", "-o", "-"],
        ["pagerank", "EDGES"],
        ["pagerank", "EDGES", "-o", "-", "--output-format", "parquet"],
        ["doctor"],
        ["--help"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_results_for_a_closed_standard_output(edges, arguments):
    program = "import os, sys; os.close(1); os.execv(sys.executable, {})"
    program = program.format("[sys.executable, '-c', sys.argv[1], *sys.argv[2:]]")
    arguments = [edges if argument == "EDGES" else argument for argument in arguments]
    run = start(PROGRAM, *arguments, program=program, settings={})
    said = run.communicate(timeout=60)
    assert (run.returncode, said[1]) == (1, "error: standard output is closed\n")
