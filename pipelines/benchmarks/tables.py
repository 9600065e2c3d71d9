"""Markdown tables generated from records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipelines.benchmarks.table_columns import (
    COMPARISON_COLUMNS,
    COMPARISONS,
    GPUSCAN_TITLES,
    GRAPH_COLUMNS,
    GRAPH_TABLES,
    HEADINGS,
    METHOD_TABLES,
    QUERY_COLUMNS,
    SCAN_TABLES,
    TABLES,
    TIMES,
    TRAVERSAL_FACTS,
)

Row = Mapping[str, Any]


def markdown(records: Iterable[Row], name: str) -> str:
    """Return all tables of a file of records."""
    rows_of: dict[str, list[Row]] = {}
    for record in records:
        rows_of.setdefault(record.get("table", "records"), []).append(record)
    parts = [f"# {name.removesuffix('.jsonl')}", "Generated from the records; do not edit."]
    parts += [run_lines(record) for record in rows_of.pop("run", [])]
    notes = rows_of.pop("note", [])
    claims = [f"- {row['claim']}" for row in rows_of.pop("WolfPath", [])]
    if claims:
        parts.append("## WolfPath's claims\n\n" + "\n".join(claims))
    graphs = {record["graph"]: record for record in rows_of.pop("graph", [])}
    if "pagerank" in rows_of:
        parts += method_tables(rows_of["pagerank"])
    for task in ("bfs", "sssp", "components"):
        parts += fastest_runs(rows_of.get(task, []), task)
    if SCAN_TABLES & rows_of.keys():
        scan_rows = {table: rows_of.pop(table, []) for table in SCAN_TABLES}
        parts += scan_tables(list(graphs.values()), scan_rows)
    for table, rows in rows_of.items():
        if table in TABLES:
            title, columns = TABLES[table]
            rows = [with_separators(row) for row in rows]
            parts += [f"## {title}", grid(rows, columns, TIMES.get(table))]
        elif table in GRAPH_TABLES:
            parts += graph_tables(table, rows, graphs)
        else:
            parts.append(grid(rows, list(dict.fromkeys(key for row in rows for key in row))))
    if notes:
        parts.append("## Left out\n\n" + "\n".join(f"- {note['note']}" for note in notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def run_lines(record: Row) -> str:
    """Return the facts of a run as a list."""
    lines = []
    for key, value in record.items():
        if key == "table":
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{name} {item}" for name, item in value.items())
        lines.append(f"- {key.replace('_', ' ')}: {value}")
    return "\n".join(lines)


def graph_tables(table: str, rows: Sequence[Row], graphs: Mapping[str, Row]) -> list[str]:
    """Return one table per graph."""
    title, columns = GRAPH_TABLES[table]
    parts = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        parts.append(f"## {title}: {graph}")
        if graph in graphs:
            parts.append(describe_graph(graphs[graph]))
        own = [row for row in rows if row["graph"] == graph]
        parts.append(grid(own, columns, TIMES.get(table)))
    return parts


def describe_graph(facts: Row) -> str:
    """Describe a graph in sentences."""
    kind = "directed" if facts["directed"] else "undirected"
    text = (
        f"{facts['origin']}: {facts['vertices']:,} vertices, {facts['rows']:,} rows, {kind}, "
        f"{facts['arcs']:,} distinct arcs."
    )
    if "start" in facts:
        text += f" Searches start at vertex {facts['start']:,}, the {facts['start_rule']}."
    for key, what in (("upload_ms", "columns to the device"), ("download_ms", "a result back")):
        if key in facts:
            text += f" Transfer of {what}: {cell(facts, key)} ms."
    return text + (f" SHA-256 of the file: {facts['sha256']}." if facts.get("sha256") else "")


def grid(rows: Iterable[Row], columns: Sequence[str], time: str | None = None) -> str:
    """Return a table of some columns, without those that no row fills."""
    rows = [{**row, "spread": spread(row.get(time))} if time else row for row in rows]
    columns = [name for name in columns if any(row.get(name) not in (None, "") for row in rows)]
    lines = [[HEADINGS.get(name, name) for name in columns]]
    lines += [[cell(row, name, time) for name in columns] for row in rows]
    return table(lines)


def method_tables(rows: Iterable[Row]) -> list[str]:
    """Return tables of the methods of rapidsgraph, one column per graph."""
    parts = []
    own = [row for row in rows if row["library"] == "rapidsgraph"]
    for key, title in METHOD_TABLES.items():
        measured = [row for row in own if row.get(key) is not None]
        if not measured:
            continue
        graphs = list(dict.fromkeys(row["graph"] for row in measured))
        cells = {
            (row["implementation"], row["precision"], row["graph"]): cell(row, key)
            for row in measured
        }
        methods = dict.fromkeys((row["implementation"], row["precision"]) for row in measured)
        lines = [["method", "precision", *graphs]]
        lines += [
            [*method, *(cells.get((*method, graph), "") for graph in graphs)] for method in methods
        ]
        parts += [f"## {title}", table(lines)]
    return parts


def fastest_runs(rows: Iterable[Row], task: str) -> list[str]:
    """Return a table of iterations and the fastest run of each library, as WolfPath's table 5."""
    rows = [row for row in rows if row.get("run_ms")]
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        facts = {key: row[key] for key in ("graph", *TRAVERSAL_FACTS) if key in row}
        line = lines.setdefault(row["graph"], facts)
        best = line.get(row["library"], row["run_ms"])
        if row["run_ms"]["median"] <= best["median"]:
            line[row["library"]] = row["run_ms"]
            line["rounds"] = row.get("rounds") or line.get("rounds")
    if not lines:
        return []
    libraries = dict.fromkeys(row["library"] for row in rows)
    columns = ["graph", *TRAVERSAL_FACTS, "rounds", *libraries]
    title = GRAPH_TABLES[task][0]
    return [
        f"## {title}: the fastest run of each library, ms (as WolfPath's table 5)",
        grid(list(lines.values()), columns),
    ]


def scan_tables(graphs: Sequence[Row], rows_of: Mapping[str, Sequence[Row]]) -> list[str]:
    """Return the tables of similarities, SCAN and queries, and GPUSCAN's with their claims."""
    parts = ["## Graphs", grid(graphs, GRAPH_COLUMNS)] if graphs else []
    for name, title in COMPARISONS.items():
        if rows_of[name]:
            parts += [f"## {title}", comparison(rows_of[name])]
    if rows_of["queries"]:
        parts += ["## Queries of an index", grid(rows_of["queries"], QUERY_COLUMNS, "query_ms")]
    for number, title in GPUSCAN_TITLES.items():
        rows = [row for row in rows_of["papers"] if row["of_table"] == number]
        if rows:
            parts += [f"## GPUSCAN's table {number}: {title}", comparison(rows)]
            parts += [row["claim"] for row in rows_of["claim"] if row["of_table"] == number]
    return parts + [row["claim"] for row in rows_of["claim"] if row["of_table"] == 5]


def comparison(rows: Iterable[Row]) -> str:
    """Return a table with a row per graph and task, and a column per method and library."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault((row["gives"], row["graph"]), {"check": "ok"})
        line |= {name: row[name] for name in COMPARISON_COLUMNS if name in row and name != "check"}
        name = row["implementation"] if row["library"] == "rapidsgraph" else row["library"]
        line[f"{name}_ms"] = cell(row, "run_ms", "run_ms")
        line |= {f"{name}_{ratio}": row[ratio] for ratio in ("ratio", "speedup") if ratio in row}
        if row.get("check", "ok") != "ok":
            line["check"] = f"{name}: {row['check']}"
    tasks = list(dict.fromkeys(task for task, _ in lines))
    ordered = sorted(lines.items(), key=lambda item: tasks.index(item[0][0]))
    return grid([line for _, line in ordered], COMPARISON_COLUMNS)


def table(lines: Sequence[Sequence[Any]]) -> str:
    """Return rows of cells, the first of which is the header, as Markdown."""
    lines = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def cell(row: Row, name: str, time: str | None = None) -> str:
    """Return a value as text: the median of a time, or the check of a missing time."""
    value = row.get(name)
    if name == time and value is None and row.get("check", "ok") != "ok":
        return row["check"].split(":")[0]
    if isinstance(value, dict):
        value = value.get("median", value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    return str(value).replace("|", "/").replace("\n", " ")


def spread(time: Any) -> str:
    """Return the range of a repeated time; papers have single values."""
    return f"{number(time['low'])} to {number(time['high'])}" if isinstance(time, dict) else ""


def number(value: float) -> str:
    """Return a number with three significant digits and without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):.10f}".rstrip("0").rstrip(".")


def with_separators(row: Row) -> dict[str, Any]:
    """Return a row whose integers have thousands separators."""
    return {key: f"{value:,}" if type(value) is int else value for key, value in row.items()}
