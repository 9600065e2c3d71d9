"""Summaries of graphs and reports as HTML, which notebooks show."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from .errors import format_bytes, format_value


def format_html(title: str, properties: Mapping[str, Any]) -> str:
    """Return a title and a table of properties; texts are escaped.

    Integers have separators of thousands, and those of `nbytes`, `needed` and `streamed` are sizes.
    """
    rows = "".join(
        f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{escape(_format(name, value))}</td></tr>"
        for name, value in properties.items()
    )
    return f"<div><strong>{escape(title)}</strong><table><tbody>{rows}</tbody></table></div>"


def _format(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in ("nbytes", "needed", "streamed"):
        return format_bytes(value)
    if isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, str) else format_value(value)
