"""Tables of the benchmark of growing graphs: titles, columns and their headings."""

SCALING = {  # kind of records: title, columns
    "slope": (
        "How time and memory grow with the edges",
        ["task", "from_edges", "to_edges", "sizes", "time_slope", "memory_slope", "says"],
    ),
    "size": (
        "Time and memory by edges",
        [
            "task", "graph", "vertices", "edges", "run_ms", "spread", "ns_per_edge", "peak_bytes",
            "bytes_per_edge", "estimate_bytes", "check",
        ],
    ),
}  # fmt: skip
SCALING_HEADINGS = {
    "task": "task",
    "from_edges": "from, edges",
    "to_edges": "to, edges",
    "sizes": "graphs",
    "time_slope": "slope of time",
    "memory_slope": "slope of memory",
    "says": "in words",
    "ns_per_edge": "ns an edge",
    "peak_bytes": "peak, bytes",
    "bytes_per_edge": "bytes an edge",
    "estimate_bytes": "estimate, bytes",
}
