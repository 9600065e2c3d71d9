"""Write an HTML page in one file: texts, tables, and pictures as data URLs.

The page loads nothing from elsewhere, so that it can be mailed and opened anywhere. All texts are
escaped: vertex names may contain any character.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

STYLE = """
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff;
       max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem; margin-bottom: 0 } h2 { font-size: 1.2rem; margin-top: 2.5rem }
.under { color: #666; margin-top: 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem }
th, td { padding: 0.25rem 0.8rem; border-bottom: 1px solid #ddd; text-align: left;
         vertical-align: top; overflow-wrap: anywhere }
th { border-bottom: 2px solid #888; white-space: nowrap } .number { text-align: right }
tr.chosen td { background: #fff3c4; font-weight: 600 }
dt { font-weight: 600; margin-top: 0.6rem } dd { margin-left: 1.5rem }
img { max-width: 100%; height: auto } .wide { overflow-x: auto }
"""


def page(title: str, subtitle: str, *parts: str) -> str:
    """Return a page with a title, a subtitle, and parts from the functions below."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{html.escape(title)}</h1>\n<p class="under">{html.escape(subtitle)}</p>\n'
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    """Return a heading and the parts below it."""
    return "\n".join([f"<h2>{html.escape(title)}</h2>", *parts])


def text(words: str) -> str:
    """Return a paragraph."""
    return f"<p>{html.escape(words)}</p>"


def terms(meanings: Mapping[str, str]) -> str:
    """Return a list of terms with their definitions."""
    rows = (
        f"<dt>{html.escape(term)}</dt><dd>{html.escape(meaning)}</dd>"
        for term, meaning in meanings.items()
    )
    return f"<dl>{''.join(rows)}</dl>"


def table(names: Sequence[str], rows: Iterable[Sequence[Any]], chosen: int | None = None) -> str:
    """Return a table; numbers are aligned to the right, and row `chosen` is highlighted."""
    cells = [list(row) for row in rows]
    is_number = [
        bool(cells) and all(_is_number(row[column]) for row in cells)
        for column in range(len(names))
    ]
    lines = [_row("th", names, is_number)]
    lines += [
        _row("td", row, is_number, ' class="chosen"' if number == chosen else "")
        for number, row in enumerate(cells)
    ]
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def picture(path: Path, description: str) -> str:
    """Return a PNG file as an image; the description is its alternative text."""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<p><img alt="{html.escape(description)}" src="data:image/png;base64,{data}"></p>'


def _row(tag: str, values: Sequence[Any], is_number: Sequence[bool], attributes: str = "") -> str:
    cells = (
        f"<{tag}{' class=number' if right else ''}>{html.escape(_format(value))}</{tag}>"
        for value, right in zip(values, is_number, strict=True)
    )
    return f"<tr{attributes}>{''.join(cells)}</tr>"


def _is_number(value: object) -> bool:
    return not isinstance(value, (str, bool)) and hasattr(value, "__float__")


def _format(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if _is_number(value) else str(value)
