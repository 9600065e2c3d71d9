"""What README.md says is printed is what its programs print, and what it lists is complete."""

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest

import rapidsgraph as rg
from rapidsgraph import device
from rapidsgraph.cli.help import PANELS
from rapidsgraph.dispatch import IMPLEMENTATIONS
from rapidsgraph.distributed.graph import DistributedGraph

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = [block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL)]


def statements(block):
    """(source, text of the comment lines behind it) of each statement."""
    lines, found = block.splitlines(), ast.parse(block).body
    starts = [node.lineno - 1 for node in found] + [len(lines)]
    for node, following in zip(found, starts[1:]):
        behind = lines[node.end_lineno : following]
        comments = [line[1:] for line in behind if line.startswith("#")]
        yield "\n".join(lines[node.lineno - 1 : node.end_lineno]), "\n".join(comments)


def plain(text):
    """Without what differs between versions of pandas: blanks, and how a missing value looks."""
    return re.sub(r"\b(NaN|None)\b|<NA>", "-", text).split()


@pytest.mark.slow
def test_programs_print_what_the_comments_say(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(device.arrays, "gpu_problem", lambda: "this test is without one")
    monkeypatch.chdir(tmp_path)
    names, compared = {}, 0
    for block in BLOCKS:
        for source, comment in statements(block):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(source, names)
            if source.startswith("print(") and comment:
                assert plain(printed.getvalue()) == plain(comment), source
                compared += 1
    assert compared > 12
    assert (tmp_path / "sweep.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "matrix.png").read_bytes().startswith(b"\x89PNG")


def section_of(title):
    """The text of a section, up to the next one."""
    return README[README.index(f"\n## {title}\n") :].split("\n## ")[1]


def test_every_public_name_is_mentioned():
    missing = [name for name in rg.__all__ if not re.search(rf"\b{name}\b", README)]
    assert missing == []


def test_lists_of_algorithms_are_complete():
    """The algorithms that take Dask frames, and the commands that take no stores."""
    on_dask = {name for name, row in IMPLEMENTATIONS.items() if DistributedGraph in row}
    listed = re.findall(r"`(\w+)`", section_of("Dask clusters").split(" accept frames of ")[0])
    assert set(listed) == {"Graph", *on_dask}
    refused = re.search(r"do not accept stores: (.*?)\.", README, re.DOTALL)[1]
    commands = set(PANELS["Analyze a graph"])
    accepted = {"bfs", "pagerank", "shortest-path", "sssp"}
    assert set(re.findall(r"`([\w-]+)`", refused)) == commands - accepted
