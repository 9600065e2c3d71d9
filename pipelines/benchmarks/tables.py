"""Records as Markdown: which columns a table has, and how a cell reads."""

from pipelines.benchmarks.cluster_tables import CLUSTER, CLUSTER_HEADINGS
from pipelines.benchmarks.gpuscan import TRANSFER_HEADINGS, TRANSFER_TABLES
from pipelines.benchmarks.layer_tables import LAYERED, LAYERED_HEADINGS, with_commas
from pipelines.benchmarks.pagerank_papers import PAPER_HEADINGS, PAPER_TABLES
from pipelines.benchmarks.scaling_tables import SCALING, SCALING_HEADINGS

HEADINGS = {
    "library": "library",
    "implementation": "implementation",
    "precision": "precision",
    "predecessors": "predecessors",
    "case": "rows",
    "gives": "gives",
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
    "sort_ms": "order alone, ms",
    "bytes_per_edge": "bytes an edge",
    "query_ms": "a query, ms",
    "slowest_ms": "slowest query, ms",
    "slowest": "which is",
    "direct_ms": "scan, ms",
    "saves": "scan by query",
    "serial_ms": "serial, ms",
    "auto_ms": "auto, ms",
    "gpuscan_ms": "gpuscan, ms",
    "NetworKit_ms": "NetworKit, ms",
    "SciPy_ms": "SciPy, ms",
    "cuGraph_ms": "cuGraph, ms",
    "auto_speedup": "serial by auto",
    "gpuscan_speedup": "serial by gpuscan",
    "gpuscan_ratio": "gpuscan by auto",
    "NetworKit_ratio": "NetworKit by auto",
    "SciPy_ratio": "SciPy by auto",
    "cuGraph_ratio": "cuGraph by auto",
    "paper_speedup": "its speedup",
    "paper_cpu_ms": "its CPU, ms",
    "paper_gpu_ms": "its GPU, ms",
    "degree": "average degree",
    "verified": "checked by",
    "check": "check",
    "note": "note",
} | LAYERED_HEADINGS
for more in (CLUSTER_HEADINGS, SCALING_HEADINGS, PAPER_HEADINGS, TRANSFER_HEADINGS):
    HEADINGS |= {name: text for name, text in more.items() if name not in HEADINGS}
TITLED = LAYERED | CLUSTER | SCALING | PAPER_TABLES | TRANSFER_TABLES
COLUMNS = {
    "pagerank": [
        "library", "implementation", "precision", "iteration_ms", "spread", "ratio", "floor_ms",
        "solve_ms", "build_ms", "first_ms", "check", "note",
    ],
    "bfs": [
        "library", "implementation", "predecessors", "run_ms", "spread", "ratio", "cost",
        "floor_ms", "level_us", "rounds", "build_ms", "first_ms", "frame_ms", "check", "note",
    ],
    "sssp": [
        "library", "implementation", "precision", "predecessors", "run_ms", "spread", "ratio",
        "cost", "floor_ms", "rounds", "build_ms", "first_ms", "frame_ms", "check", "note",
    ],
    "components": [
        "library", "implementation", "run_ms", "spread", "ratio", "floor_ms", "build_ms",
        "first_ms", "frame_ms", "check", "note",
    ],
    "build": [
        "case", "library", "implementation", "build_ms", "spread", "ratio", "floor_ms", "check",
        "note",
    ],
    "memory": ["case", "library", "implementation", "bytes_per_row", "estimate_per_row", "note"],
}  # fmt: skip
TIMED = {  # whose spread a table shows
    "pagerank": "iteration_ms",
    "bfs": "run_ms",
    "sssp": "run_ms",
    "components": "run_ms",
    "build": "build_ms",
    "flag": "run_ms",
    "size": "run_ms",
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
QUERIES = [
    "graph", "vertices", "edges", "build_ms", "sort_ms", "bytes_per_edge", "pairs", "query_ms",
    "spread", "slowest_ms", "slowest", "direct_ms", "saves", "check",
]  # fmt: skip
RACE = [
    "gives", "graph", "vertices", "edges", "degree", "clusters", "auto_ms", "gpuscan_ms",
    "serial_ms", "NetworKit_ms", "SciPy_ms", "cuGraph_ms", "gpuscan_ratio", "NetworKit_ratio",
    "SciPy_ratio", "cuGraph_ratio", "auto_speedup", "gpuscan_speedup", "paper_speedup",
    "paper_cpu_ms", "paper_gpu_ms", "floor_ms", "verified", "check",
]  # fmt: skip
GRAPHS = ["graph", "origin", "vertices", "rows", "edges", "upload_ms", "download_ms"]
RACES = {"similarity": "Similarity of all edges", "scan": "SCAN beside the serial loop"}
CLUSTERING = {*RACES, "queries", "papers", "claim"}  # kinds of records
PAPER_TITLES = {
    1: "similarity and clustering of generated graphs",
    2: "clustering alone of generated graphs",
    3: "similarity and clustering of real graphs",
    4: "clustering alone of real graphs",
}
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
    judged = [f"- {row['claim']}" for row in kinds.pop("WolfPath", [])]
    if judged:
        parts.append("## What WolfPath says\n\n" + "\n".join(judged))
    facts = {record["graph"]: record for record in kinds.pop("graph", [])}
    if "pagerank" in kinds:
        parts += pivots(kinds["pagerank"])
    for task in ("bfs", "sssp", "components"):
        parts += systems(kinds.get(task, []), task)
    if CLUSTERING & kinds.keys():
        parts += clusterings(
            list(facts.values()), {kind: kinds.pop(kind, []) for kind in CLUSTERING}
        )
    for kind, rows in kinds.items():
        if kind in TITLED:
            title, columns = TITLED[kind]
            parts += [f"## {title}", grid(list(map(with_commas, rows)), columns, TIMED.get(kind))]
            continue
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
    for key, what in (("upload_ms", "columns to the device"), ("download_ms", "a result back")):
        if key in facts:
            text += f" Transfer of {what}: {cell(facts, key)} ms."
    return text + (f" SHA-256 of the file: {facts['sha256']}." if facts.get("sha256") else "")


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


def clusterings(graphs, kinds):
    """Similarities, SCAN beside the serial loop, queries, and GPUSCAN's tables with a sentence."""
    parts = []
    if graphs:
        parts += [
            "## Graphs",
            grid(
                graphs, ["graph", "origin", "vertices", "rows", "edges", "upload_ms", "download_ms"]
            ),
        ]
    for kind, title in RACES.items():
        if kinds[kind]:
            parts += [f"## {title}", race(kinds[kind])]
    if kinds["queries"]:
        parts += ["## Queries of an index", grid(kinds["queries"], QUERIES, "query_ms")]
    for number, what in PAPER_TITLES.items():
        rows = [row for row in kinds["papers"] if row["of_table"] == number]
        if rows:
            parts += [f"## GPUSCAN's table {number}: {what}", race(rows)]
            parts += [claim["claim"] for claim in kinds["claim"] if claim["of_table"] == number]
    return parts + [claim["claim"] for claim in kinds["claim"] if claim["of_table"] == 5]


def race(rows):
    """A row for each graph and what is given; a column for each of ours and each other library."""
    lines = {}
    for row in rows:
        line = lines.setdefault((row["gives"], row["graph"]), {"check": "ok"})
        line |= {name: row[name] for name in RACE if name in row and name != "check"}
        name = row["implementation"] if row["library"] == "rapidsgraph" else row["library"]
        line[f"{name}_ms"] = cell(row, "run_ms", "run_ms")
        line |= {f"{name}_{ratio}": row[ratio] for ratio in ("ratio", "speedup") if ratio in row}
        if row.get("check", "ok") != "ok":
            line["check"] = f"{name}: {row['check']}"
    given = list(dict.fromkeys(gives for gives, _ in lines))
    ordered = sorted(lines.items(), key=lambda item: given.index(item[0][0]))
    return grid([line for _, line in ordered], RACE)


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
    """Of a time that was repeated; papers give one alone."""
    return f"{number(value['low'])} to {number(value['high'])}" if isinstance(value, dict) else ""


def number(value):
    """Three digits that count, without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):.10f}".rstrip("0").rstrip(".")
