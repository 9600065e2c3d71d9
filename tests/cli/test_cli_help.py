"""The texts of --help, their examples, and the options that every command has."""

import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest
import typer
from test_cli import RUNNER, run, without_gpu  # noqa: F401

import rapidsgraph as rg
from rapidsgraph import cli
from rapidsgraph.cli.messages import PANELS
from rapidsgraph.io import write_frame

ROOT = Path(__file__).parents[2]
ORDER = [name for names in PANELS.values() for name in names]


def commands():
    """(words, command) of each command, also those of groups."""
    main = typer.main.get_command(cli.app)
    for name in main.list_commands(None):
        command = main.commands[name]
        if not hasattr(command, "commands"):
            yield (name,), command
        for word in getattr(command, "commands", ()):
            yield (name, word), command.commands[word]


COMMANDS = [pytest.param(words, command, id=" ".join(words)) for words, command in commands()]


def examples_of(command):
    title, *lines = command.epilog.split("\n\n")
    assert title == "Examples:"
    return [line.removeprefix("$ rapidsgraph ") for line in lines]


def test_commands_are_listed_in_the_order_of_a_workflow():
    text = RUNNER.invoke(cli.app, ["--help"], env={"COLUMNS": "100"}).stdout
    listed = re.findall(r"^│ ([a-z][a-z-]*) ", text, re.MULTILINE)
    assert listed == ORDER
    assert re.findall(r"╭─ ([A-Z][a-z ]+) ─", text) == ["Options", *PANELS]


@pytest.mark.parametrize(("words", "command"), COMMANDS)
def test_every_help_has_examples_of_the_command(words, command):
    examples = examples_of(command)
    assert examples[0].startswith(" ".join(words))
    for example in examples:
        assert len(example) < 80  # fits into two lines of a narrow terminal
    text = RUNNER.invoke(cli.app, [*words, "--help"], env={"COLUMNS": "120"}).stdout
    assert f"$ rapidsgraph {examples[0]}" in text


@pytest.mark.slow
def test_every_example_works(tmp_path, monkeypatch):
    """In the order of the commands, as later ones read the files of earlier ones."""
    from rapidsgraph import warm

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warm, "warm", lambda *_, **__: (tmp_path, 7))  # takes a minute
    main = typer.main.get_command(cli.app)
    groups = [main, *(group for group in main.commands.values() if hasattr(group, "commands"))]
    names = [*commands(), *(("", group) for group in groups)]
    for _, command in names:
        for example in examples_of(command):
            done = run(*shlex.split(example))
            assert done.stdout or re.search(r"--output|^layer", example), example
    assert {"debian.parquet", "grid.parquet", "git.layers"} <= {*os.listdir(tmp_path)}


OPTIONAL = {  # what is not given does not happen
    "--from", "--from-file", "--to", "--plot", "--similarities", "--install-completion",
    "--show-completion", "--help",
}  # fmt: skip


@pytest.mark.parametrize(("words", "command"), COMMANDS)
def test_every_option_shows_its_default(words, command):
    for option in command.params:
        if option.param_type_name != "option" or not OPTIONAL.isdisjoint(option.opts):
            continue
        is_single_flag = option.is_flag and not option.secondary_opts
        has_default = option.default not in (None, (), []) and option.show_default
        is_named = "default" in (option.help or "").lower()
        assert is_single_flag or has_default or is_named or option.required, option.opts


@pytest.mark.parametrize(("words", "command"), COMMANDS)
def test_booleans_are_flags(words, command):
    for option in command.params:
        if isinstance(option.default, bool):
            assert option.is_flag, option.opts


@pytest.mark.parametrize(("words", "command"), COMMANDS)
def test_every_command_has_the_options_of_messages(words, command):
    names = {name for option in command.params for name in option.opts}
    assert {"--quiet", "-q", "--log-level"} <= names


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    write_frame(pd.DataFrame({"source": ["a", "b"], "destination": ["b", "a"]}), path)
    return path


@pytest.fixture
def printed_warnings(monkeypatch):
    """Warnings go to standard error, as when the command runs as a process."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", cli.show_warning)
        yield


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("sssp edges.csv --from a", "each edge costs 1"),
        ("pagerank edges.csv --verify", "verified: another iteration"),
        ("layer edges.csv --from a -o {folder}", "edges in "),
        ("generate grid 3 -o {folder}.csv", "24 edges in "),
        ("demo -o {folder}.csv", "303,335 edges in "),
        ("pagerank km.csv", "warning: pagerank uses no weights"),
    ],
)
@pytest.mark.usefixtures("printed_warnings")
def test_quiet_commands_print_results_only(edges, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write_frame(pd.read_csv(edges).assign(km=1.0), tmp_path / "km.csv")
    if "km.csv" in arguments:  # the command reads no column that it does not use
        original = cli.pagerank.CommandRun.read_graph

        def read_graph(*args, **options):
            graph = original(*args, **options)
            graph._storage.weight_candidates = ["km"]
            return graph

        monkeypatch.setattr(cli.pagerank.CommandRun, "read_graph", read_graph)
    loud = run(*arguments.format(folder="loud").split())
    assert message in loud.stderr
    quiet = run(*arguments.format(folder="quiet").split(), "--quiet")
    assert quiet.stderr == ""
    assert quiet.stdout == loud.stdout


def test_quiet_commands_print_errors(edges):
    done = run("bfs", edges, "--from", "x", "-q", code=1)
    assert done.stderr == "error: --from: vertex 'x' is not in the graph\n"
    done = run("pagerank", edges, "-q", "--progress", code=2)
    assert "leave out this or --progress" in done.stderr


def test_log_levels(edges):
    done = run("pagerank", edges, "--log-level", "info")
    assert re.search(r"^\d\d:\d\d:\d\d INFO rapidsgraph\.", done.stderr)
    assert "graph.build: built a graph on the cpu: 2 vertices, 2 edges from 2 rows" in done.stderr
    assert "rapidsgraph.dispatch: pagerank: kernels in this process, method 'auto'" in done.stderr
    assert re.search(r"pagerank: \d+ iterations, residual", done.stderr)
    assert "DEBUG" not in done.stderr
    assert "DEBUG" in run("pagerank", edges, "--log-level", "debug").stderr
    assert run("pagerank", edges).stderr == ""
    assert "INFO" in run("pagerank", edges, "-q", "--log-level", "info").stderr
    logger = logging.getLogger("rapidsgraph")
    assert logger.level == logging.NOTSET
    assert [type(handler) for handler in logger.handlers] == [logging.NullHandler]


def test_the_library_logs(caplog):
    with caplog.at_level(logging.DEBUG, "rapidsgraph"):
        rg.bfs({"source": [0, 1], "destination": [1, 2]}, 0)
    names = {record.name for record in caplog.records}
    assert {"rapidsgraph.dispatch", "rapidsgraph.graph.build"} <= names
    assert "levels from 1 sources" in caplog.text


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_completion_in_bash(tmp_path):
    cases = [
        (["pa"], ["pagerank"]),
        (["shortest"], ["shortest-path"]),
        (["bfs", "e.csv", "--device", ""], ["auto", "cpu", "gpu"]),
        (["generate", ""], ["rmat", "grid", "ssca2", "uniform"]),
        (["sssp", "--log"], ["--log-level"]),
    ]
    program = tmp_path / "rapidsgraph"
    program.write_text(f"#!{sys.executable}\nfrom rapidsgraph.__main__ import main\nmain()\n")
    program.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT),
                   "PATH": f"{tmp_path}:{os.environ['PATH']}"}  # fmt: skip
    script = 'eval "$(_RAPIDSGRAPH_COMPLETE=source_bash rapidsgraph)"\n'
    for words, _ in cases:
        script += (
            f"COMP_WORDS=(rapidsgraph {shlex.join(words)}) COMP_CWORD={len(words)}\n"
            '_rapidsgraph_completion rapidsgraph\necho "${COMPREPLY[@]}"\n'
        )
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    lines = [sorted(line.split()) for line in done.stdout.splitlines()]
    assert lines == [sorted(completions) for _, completions in cases]
