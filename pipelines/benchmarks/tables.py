"""Markdown tables generated from records: one per value of `table`, with the keys as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
UNITS = {"ms": ", ms", "us": ", µs", "s": ", s", "bytes": ", bytes", "mb": ", MB"}
HIDDEN = ("table", "of_paper", "holds", "key")


def markdown(records: Iterable[Row], name: str) -> str:
    """Return all tables of a file of records."""
    rows_of: dict[str, list[Row]] = {}
    for record in records:
        rows_of.setdefault(record.get("table", "records"), []).append(record)
    parts = [f"# {name.removesuffix('.jsonl')}", "Generated from the records; do not edit."]
    parts += [run_lines(record) for record in rows_of.pop("run", [])]
    notes = rows_of.pop("note", [])
    for title, rows in rows_of.items():
        claims = [f"- {row['claim']}" for row in rows if "claim" in row]
        body = "\n".join(claims) if claims else grid(rows)
        parts += [f"## {title[:1].upper()}{title[1:]}", body]
    if notes:
        parts += ["## Left out", "\n".join(f"- {note['note']}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def run_lines(record: Row) -> str:
    """Return the facts of a run as a list."""
    lines = []
    for key, value in record.items():
        if isinstance(value, dict):
            value = ", ".join(f"{name} {item}" for name, item in value.items())
        lines.append(f"- {key.replace('_', ' ')}: {value}")
    return "\n".join(lines[1:])


def grid(rows: Sequence[Row]) -> str:
    """Return rows as a table, without columns that no row fills."""
    names = dict.fromkeys(name for row in rows for name in row if name not in HIDDEN)
    columns = [name for name in names if any(row.get(name) not in (None, "") for row in rows)]
    lines = [[heading(name) for name in columns]]
    lines += [[cell(row.get(name)) for name in columns] for row in rows]
    return table(lines)


def heading(name: str) -> str:
    """Return a key as a heading, with the unit that it ends in."""
    words, _, unit = name.rpartition("_")
    text = words + UNITS[unit] if words and unit in UNITS else name
    return text.replace("_", " ")


def cell(value: Any) -> str:
    """Return a value as text, a repeated time with its range."""
    if isinstance(value, dict) and "median" in value:
        text = number(value["median"])
        same = value.get("low") == value.get("high")
        return text if same else f"{text} ({number(value['low'])} to {number(value['high'])})"
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return " to ".join(map(str, value))
    return str(value).replace("|", "/").replace("\n", " ")


def number(value: float) -> str:
    """Return a number with three significant digits and without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):.10f}".rstrip("0").rstrip(".")


def table(lines: Sequence[Sequence[Any]]) -> str:
    """Return rows of cells, the first of which is the header, as Markdown."""
    lines = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
