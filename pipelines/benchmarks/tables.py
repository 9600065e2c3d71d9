"""Records as Markdown: which columns a table has, and how a cell reads."""

HEADINGS = {
    "library": "library",
    "implementation": "implementation",
    "precision": "precision",
    "predecessors": "predecessors",
    "case": "rows",
    "iteration_ms": "an iteration, ms",
    "run_ms": "a run, ms",
    "ratio": "times ours",
    "cost": "times without predecessors",
    "level_us": "a level, µs",
    "rounds": "iterations",
    "floor_ms": "floor, ms",
    "first_ms": "first call, ms",
    "frame_ms": "from the frame, ms",
    "build_ms": "build, ms",
    "solve_ms": "to convergence, ms",
    "ten_ms": "10 iterations with transfers, ms",
    "thousand_ms": "1000 iterations, ms",
    "thousand_frame_ms": "1000 from the frame, ms",
    "bytes_per_row": "peak, bytes a row",
    "estimate_per_row": "estimate, bytes a row",
    "check": "check",
    "note": "note",
}
COLUMNS = {
    "pagerank": [
        "library", "implementation", "precision", "iteration_ms", "spread", "ratio", "floor_ms",
        "solve_ms", "build_ms", "first_ms", "check", "note",
    ],
    "bfs": [
        "library", "implementation", "predecessors", "run_ms", "spread", "ratio", "cost",
        "level_us", "rounds", "build_ms", "first_ms", "frame_ms", "check", "note",
    ],
    "sssp": [
        "library", "implementation", "precision", "predecessors", "run_ms", "spread", "ratio",
        "cost", "rounds", "build_ms", "first_ms", "frame_ms", "check", "note",
    ],
    "components": [
        "library", "implementation", "run_ms", "spread", "ratio", "build_ms", "first_ms",
        "frame_ms", "check", "note",
    ],
    "build": ["case", "library", "implementation", "build_ms", "spread", "ratio", "check", "note"],
    "memory": ["case", "library", "implementation", "bytes_per_row", "estimate_per_row", "note"],
}  # fmt: skip
TIMED = {  # whose spread a table shows
    "pagerank": "iteration_ms",
    "bfs": "run_ms",
    "sssp": "run_ms",
    "components": "run_ms",
    "build": "build_ms",
}
TITLES = {
    "pagerank": "PageRank",
    "bfs": "BFS",
    "sssp": "SSSP",
    "components": "Connected components",
    "build": "Graph build",
    "memory": "Peak memory of a build, above the frame",
}
FOUND = ("levels", "farthest", "components")  # what a search finds out about its graph
# Rows are methods, columns graphs, as the papers print theirs.
PIVOTS = {
    "iteration_ms": "The methods: one iteration, ms",
    "ten_ms": "The methods: 10 iterations from and to the host, building included, ms (as Kim)",
    "thousand_ms": "The methods: 1000 iterations on a ready graph, ms (as Reddy)",
    "thousand_frame_ms": "The methods: 1000 iterations, building included, ms",
}


def markdown(records, name):
    """All tables of a file of records."""
    kinds = {}
    for record in records:
        kinds.setdefault(record.get("table", "records"), []).append(record)
    parts = [f"# {name.removesuffix('.jsonl')}", "Made from the records; do not edit."]
    parts += [run_lines(record) for record in kinds.pop("run", [])]
    notes = kinds.pop("note", [])
    facts = {record["graph"]: record for record in kinds.pop("graph", [])}
    if "pagerank" in kinds:
        parts += pivots(kinds["pagerank"])
    for task in ("bfs", "sssp", "components"):
        parts += systems(kinds.get(task, []), task)
    for kind, rows in kinds.items():
        if kind not in COLUMNS:
            parts.append(grid(rows, list(dict.fromkeys(key for row in rows for key in row))))
            continue
        for graph in dict.fromkeys(row["graph"] for row in rows):
            parts.append(f"## {TITLES[kind]}: {graph}")
            if graph in facts:
                parts.append(graph_lines(facts[graph]))
            parts.append(
                grid([row for row in rows if row["graph"] == graph], COLUMNS[kind], TIMED.get(kind))
            )
    if notes:
        parts.append("## Left out\n\n" + "\n".join(f"- {note['note']}" for note in notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def run_lines(record):
    """The run's facts, one bullet each."""
    lines = []
    for key, value in record.items():
        if key == "table":
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{name} {item}" for name, item in value.items())
        lines.append(f"- {key.replace('_', ' ')}: {value}")
    return "\n".join(lines)


def graph_lines(facts):
    """One sentence, and the transfers where there were any."""
    kind = "directed" if facts["directed"] else "undirected"
    text = (
        f"{facts['origin']}: {facts['vertices']:,} vertices, {facts['rows']:,} rows, {kind}, "
        f"{facts['arcs']:,} arcs without repetitions."
    )
    if "start" in facts:
        text += f" Searches start at vertex {facts['start']:,}, the {facts['start_rule']}."
    for key, what in (("upload_ms", "columns to the device"), ("download_ms", "ranks back")):
        if key in facts:
            text += f" Transfer of {what}: {cell(facts, key)} ms."
    return text


def grid(rows, columns, timed=None):
    """A table; columns that no row fills are left out."""
    if timed:
        rows = [row | {"spread": spread(row.get(timed))} for row in rows]
    columns = [name for name in columns if any(row.get(name) not in (None, "") for row in rows)]
    headings = {"spread": "low to high"} | HEADINGS
    lines = [[headings.get(name, name) for name in columns]]
    lines += [[cell(row, name, timed) for name in columns] for row in rows]
    return table(lines)


def pivots(rows):
    """Tables of the methods of rapidsgraph, a column for each graph."""
    parts = []
    own = [row for row in rows if row["library"] == "rapidsgraph"]
    for key, title in PIVOTS.items():
        filled = [row for row in own if row.get(key) is not None]
        graphs = list(dict.fromkeys(row["graph"] for row in filled))
        cells = {
            (row["implementation"], row["precision"], row["graph"]): cell(row, key)
            for row in filled
        }
        methods = dict.fromkeys((row["implementation"], row["precision"]) for row in filled)
        if not cells:
            continue
        lines = [["method", "precision", *graphs]]
        lines += [[*pair, *(cells.get((*pair, graph), "") for graph in graphs)] for pair in methods]
        parts += [f"## {title}", table(lines)]
    return parts


def systems(rows, task):
    """A row for each graph: iterations, and the fastest of each library, as WolfPath's table 5."""
    lines, rows = {}, [row for row in rows if row.get("run_ms")]
    for row in rows:
        about = {key: row[key] for key in ("graph", *FOUND) if key in row}
        line = lines.setdefault(row["graph"], about)
        best = line.get(row["library"], row["run_ms"])
        if row["run_ms"]["median"] <= best["median"]:
            line[row["library"]] = row["run_ms"]
            line["rounds"] = row.get("rounds") or line.get("rounds")
    if not lines:
        return []
    columns = ["graph", *FOUND, "rounds", *dict.fromkeys(row["library"] for row in rows)]
    title = f"## {TITLES[task]}: the fastest run of each library, ms (as WolfPath's table 5)"
    return [title, grid(list(lines.values()), columns)]


def table(lines):
    lines = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def cell(row, name, timed=None):
    """How a value reads: a time by its median, a wrong answer's time as "wrong"."""
    value = row.get(name)
    if name == timed and value is None and row.get("check", "ok") != "ok":
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


def spread(value):
    return f"{number(value['low'])} to {number(value['high'])}" if value else ""


def number(value):
    """Three digits that count, without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):.10f}".rstrip("0").rstrip(".")
