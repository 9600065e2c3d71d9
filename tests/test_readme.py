"""Code and commands of README and the guide: all run, or are checked without running."""

import ast
import contextlib
import gzip
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from test_cli import run

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.cli.messages import PANELS
from rapidsgraph.dispatch import IMPLEMENTATIONS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GUIDE = ROOT / "docs" / "guide"
NAMES = ("getting_started", "command_line", "deployment", "comparison", "faq", "performance_tables")
PAGES = [
    ROOT / "README.md",
    ROOT / "docs/index.md",
    *(ROOT / "docs" / f"{name}.md" for name in NAMES),
    *sorted(GUIDE.glob("*.md")),
]


def parametrize(pages):
    return pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in pages])


def blocks(page, *languages):
    """Return the fenced blocks of a page in these languages."""
    pattern = rf"^```({'|'.join(languages)})\n(.*?)^```$"
    return [match[2] for match in re.finditer(pattern, page.read_text(), re.M | re.S)]


def with_blocks(*languages):
    return parametrize([page for page in PAGES if blocks(page, *languages)])


# Programs


def statements(block):
    """(source, text of the comment lines behind it) of each statement."""
    lines, nodes = block.splitlines(), ast.parse(block).body
    starts = [node.lineno - 1 for node in nodes] + [len(lines)]
    for node, following in zip(nodes, starts[1:]):
        behind = lines[node.end_lineno : following]
        comments = [line[1:] for line in behind if line.startswith("#")]
        yield "\n".join(lines[node.lineno - 1 : node.end_lineno]), "\n".join(comments)


def plain(text):
    """Without what differs between versions of pandas: blanks, and how a missing value looks."""
    return re.sub(r"\b(NaN|None)\b|<NA>", "-", text).split()


@pytest.fixture
def in_new_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(device.arrays, "gpu_problem", lambda: "this test is without one")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def networkx_settings():
    """Restore what a page sets for all of NetworkX."""
    networkx = pytest.importorskip("networkx")
    before = networkx.config.backend_priority.algos
    yield
    networkx.config.backend_priority.algos = before


@pytest.mark.slow
@pytest.mark.usefixtures("in_new_folder", "networkx_settings")
@with_blocks("python")
def test_programs_print_what_the_comments_say(page, monkeypatch):
    """Every page runs from nothing; its blocks follow one another."""
    pytest.importorskip("matplotlib")
    if page.name == "README.md":  # Dask without a client; the guide's page starts a cluster
        monkeypatch.setattr(rg, "cluster", lambda **_: contextlib.nullcontext())
    names = {}
    for block in blocks(page, "python"):
        for source, comment in statements(block):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(source, names)
            if source.startswith("print("):
                assert plain(printed.getvalue()) == plain(comment), source


@with_blocks("python", "py")
def test_programs_use_names_that_exist(page):
    """Blocks of `py` need what a test has not, such as a cluster or a bucket."""
    for block in blocks(page, "python", "py"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "rg":
                assert hasattr(rg, node.attr), node.attr


# Commands


def console_lines(page):
    """Commands of a page, with continued lines joined."""
    text = "".join(blocks(page, "console")).replace("\\\n", " ")
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


def calls_rapidsgraph(line):
    return re.search(r"(^|\| )rapidsgraph ", line) is not None


@cache
def edge_tables():
    edges = rg.generate.rmat(8, seed=1)
    towns = {"from": ["Ulm", "Bonn"], "to": ["Bonn", "Jena"], "km": [1.5, 2.0]}
    return edges, pd.DataFrame(towns)


@pytest.fixture
def files_of_a_user(tmp_path):
    """The files that commands of the pages name but do not write."""
    edges, roads = edge_tables()
    edges.to_parquet(tmp_path / "edges.parquet")
    edges.to_csv(tmp_path / "edges.csv.gz", index=False)
    roads.to_csv(tmp_path / "roads.csv.gz", index=False)
    with gzip.open(tmp_path / "snap.txt.gz", "wt") as file:
        file.write("# nodes\n1 2\n2 3\n3 1\n")
    pd.DataFrame({"vertex": [0, 1], "value": [1.0, 2.0]}).to_csv("seeds.csv", index=False)
    pd.DataFrame({"vertex": [0, 1]}).to_csv("stations.csv", index=False)
    pd.DataFrame({"source": [0], "destination": [1]}).to_csv("candidates.csv", index=False)
    Path("debian.parquet").write_bytes(Path(rg.datasets.debian_path()).read_bytes())


@pytest.mark.slow
@pytest.mark.usefixtures("in_new_folder", "files_of_a_user")
@parametrize([page for page in PAGES if any(map(calls_rapidsgraph, console_lines(page)))])
def test_commands_run(page):
    pytest.importorskip("matplotlib")
    for line in filter(calls_rapidsgraph, console_lines(page)):
        if "|" in line:
            run_pipe(line)
        elif not line.startswith("rapidsgraph doctor"):  # its exit status depends on the machine
            run(*shlex.split(line, comments=True)[1:])


def run_pipe(line):
    """Run a pipe in a shell; programs before `head` may end by SIGPIPE, but not rapidsgraph."""
    program = f"{shlex.quote(sys.executable)} -m rapidsgraph "
    script = f'{line.replace("rapidsgraph ", program)}; echo "${{PIPESTATUS[@]}}" >&2'
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)
    statuses = done.stderr.splitlines()[-1].split()
    for command, status in zip(line.split("|"), statuses, strict=True):
        assert status == "0" or "rapidsgraph" not in command, done.stderr
    assert done.stdout


CHECKED = {  # commands of other programs, and what is checked
    "conda", "dask", "docker", "export", "git", "helm", "kubectl", "make", "pip", "python",
    "python3", "sudo",
}  # fmt: skip


@with_blocks("console")
def test_other_commands_name_what_exists(page):
    """Extras, targets of make, options of Dask, and files of the repository."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for line in console_lines(page):
        if calls_rapidsgraph(line):
            continue
        words = shlex.split(line, comments=True)
        while re.match(r"[A-Z_]+=", words[0]):
            words.pop(0)
        assert words[0] in CHECKED, line
        if words[0] == "make":
            assert words[1] in targets, line
        for extras in re.findall(r"\.\[([\w,]+)\]", line):
            assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]), line
        for path in re.findall(
            r"(?:^|[\s=])((?:docker|docs|tests)/[\w./]+|environment\.yml)", line
        ):
            assert (ROOT / path).exists(), line
        if words[:2] in (["dask", "worker"], ["dask", "scheduler"], ["dask", "ssh"]):
            check_dask_options(words[1], words[2:])


def check_dask_options(command, words):
    pytest.importorskip("distributed")
    click = pytest.importorskip("click")
    module = __import__(f"distributed.cli.dask_{command}", fromlist=["main"])
    names = {name for parameter in module.main.params for name in parameter.opts if name[0] == "-"}
    assert isinstance(module.main, click.Command)
    options = {word.partition("=")[0] for word in words if word.startswith("-")}
    assert options <= names


def test_the_kubernetes_manifest_has_valid_commands_and_ports():
    yaml = pytest.importorskip("yaml")
    cluster = yaml.safe_load((ROOT / "docker/kubernetes.yaml").read_text())
    assert (cluster["apiVersion"], cluster["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    scheduler, worker = cluster["spec"]["scheduler"], cluster["spec"]["worker"]
    for pod in (scheduler, worker):
        [container] = pod["spec"]["containers"]
        program, command, *words = container["command"]
        assert program == "dask"
        check_dask_options(command, words)
    [container] = scheduler["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"tcp-comm": 8786, "http-dashboard": 8787}
    assert {port["targetPort"] for port in scheduler["service"]["ports"]} == set(ports)
    selector = scheduler["service"]["selector"]
    assert selector["dask.org/cluster-name"] == cluster["metadata"]["name"]


# Length and completeness


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_every_public_name_is_mentioned():
    text = "".join(page.read_text() for page in PAGES)
    assert [name for name in rg.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_lists_of_algorithms_are_complete():
    """The algorithms that take Dask frames, the commands that take no stores, all commands."""
    on_dask = {name for name, row in IMPLEMENTATIONS.items() if "distributed" in row}
    text = (GUIDE / "dask.md").read_text().split("## What runs on Dask\n")[1].split(".\n")[0]
    assert set(re.findall(r"`(\w+)`", text)) == {"Graph", *on_dask}
    text = (GUIDE / "larger_than_memory.md").read_text()
    refused = re.search(r"^- (.*) does not accept stores", text, re.MULTILINE)[1]
    commands = set(PANELS["Analyze a graph"])
    accepted = {"bfs", "clustering", "components", "core-number", "label-propagation", "pagerank"}
    accepted |= {"shortest-path", "similarity", "sssp", "triangles"}
    assert set(re.findall(r"`([\w-]+)`", refused)) == commands - accepted
    text = (ROOT / "docs/command_line.md").read_text()
    for name in (name for names in PANELS.values() for name in names):
        assert re.search(rf"^\|.*`{name}\b", text, re.M), name


def test_every_page_of_the_guide_is_listed():
    text = (GUIDE / "index.md").read_text()
    toctree = blocks(GUIDE / "index.md", "{toctree}")[0].split()
    for page in GUIDE.glob("*.md"):
        assert page.stem == "index" or (f"]({page.name})" in text and page.stem in toctree)
