"""Write `algorithms.html`: algorithms.md with the source of the functions that it refers to.

The source is read when the page is written, so that it cannot be out of date.
"""

from __future__ import annotations

import ast
import html
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
REFERENCE = re.compile(r"\[`(\w+)`\]\(\.\./([\w/]+\.py)\)")
STYLE = """
body { font-family: sans-serif; margin: 2em; }
td { vertical-align: top; width: 50%; }
pre { font-size: 80%; overflow-x: auto; }
"""


def read_function(path: str, name: str) -> str:
    """Return the source of a function, with its decorators."""
    source = (ROOT / path).read_text()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            return "\n".join(source.splitlines()[first - 1 : node.end_lineno])
    raise LookupError(f"{path} has no function {name}, to which docs/algorithms.md refers")


def render_cell(cell: str) -> str:
    """Return a cell of a table as HTML: the functions it refers to, or its text."""
    blocks = [
        f"<p>{html.escape(path)}</p><pre>{html.escape(read_function(path, name))}</pre>"
        for name, path in REFERENCE.findall(cell)
    ]
    return "".join(blocks) or html.escape(cell.strip())


def render(markdown: str) -> str:
    """Return headings, paragraphs and tables of Markdown as an HTML page."""
    parts = []
    for block in markdown.strip().split("\n\n"):
        if block.startswith("#"):
            level = block.index(" ")
            parts.append(f"<h{level}>{html.escape(block[level:].strip())}</h{level}>")
        elif block.startswith("|"):
            rows = [line.strip("|").split("|") for line in block.splitlines() if "---" not in line]
            cells = ("".join(f"<td>{render_cell(cell)}</td>" for cell in row) for row in rows)
            parts.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>")
        else:
            parts.append(f"<p>{html.escape(block)}</p>")
    head = f"<head><meta charset='utf-8'><title>Algorithms</title><style>{STYLE}</style></head>"
    return f"<!doctype html><html>{head}<body>{''.join(parts)}</body></html>"


if __name__ == "__main__":
    page = render((ROOT / "docs/algorithms.md").read_text())
    (ROOT / "docs/algorithms.html").write_text(page)
