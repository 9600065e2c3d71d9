"""What README.md says is printed is what its programs print."""

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest

from rapidsgraph import device

pytestmark = pytest.mark.slow

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
