"""Tables of the benchmark of Dask frames: titles, columns and their headings."""

CLUSTER = {  # kind of records: title, columns
    "cluster": (
        "Dask frames beside one memory",
        [
            "graph", "how", "workers", "threads", "algorithm", "vertices", "rows", "edges",
            "memory_build_ms", "memory_ms", "first_ms", "run_ms", "by_memory",
            "memory_iteration_ms", "iteration_ms", "iteration_by_memory", "overhead_ms", "check",
        ],
    ),
    "scaling": (
        "Scaling",
        ["scaling", "algorithm", "graph", "one_ms", "many_ms", "workers", "speedup"],
    ),
    "cluster store": (
        "The store that is streamed",
        ["graph", "vertices", "edges", "partitions", "list_bytes", "build_ms", "save_ms", "check"],
    ),
    "cluster streamed": (
        "Streamed by several workers, within a limit for each",
        [
            "graph", "algorithm", "workers", "edges", "list_bytes", "limit_bytes",
            "list_by_limits", "memory_ms", "first_ms", "run_ms", "iteration_ms", "passes", "bytes",
            "gb_per_s", "check",
        ],
    ),
}  # fmt: skip
CLUSTER_HEADINGS = {
    "how": "how",
    "workers": "workers",
    "threads": "threads of each",
    "memory_build_ms": "build in one memory, ms",
    "memory_ms": "in one memory, ms",
    "by_memory": "by one memory",
    "memory_iteration_ms": "an iteration in one memory, ms",
    "iteration_by_memory": "iteration by one memory",
    "overhead_ms": "beyond one memory, ms an iteration",
    "scaling": "scaling",
    "one_ms": "one worker, ms",
    "many_ms": "several, ms",
    "speedup": "one by several",
    "list_by_limits": "list by all limits",
}
