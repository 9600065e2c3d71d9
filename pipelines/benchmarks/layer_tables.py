"""Tables of the benchmark of layered edge lists: titles, columns and their headings."""

LAYERED = {  # kind of records: title, columns
    "layered build": (
        "Building, saving and opening layered edge lists",
        [
            "graph", "weighted", "vertices", "edges", "layers", "partitions", "graph_ms",
            "build_ms", "save_ms", "open_ms", "whole_ms", "external_ms", "limit_bytes",
            "csr_per_edge", "layered_per_edge", "cusha_per_edge", "by_csr", "cusha_by_csr",
            "check",
        ],
    ),
    "preprocessing": (
        "From a file of edges to a store (as WolfPath's table 7)",
        ["who", "graph", "weighted", "edges", "seconds", "ns_per_edge"],
    ),
    "iterations": (
        "Iterations (as WolfPath's tables 3 and 5)",
        [
            "who", "graph", "algorithm", "edges", "layers", "combined", "launches", "passes",
            "sweep_rounds", "run_ms", "graph_run_ms", "flag_us", "compute_us", "flag_ms", "check",
        ],
    ),
    "flag": (
        "BFS by layers, with and without the host, and shared memory (as WolfPath's table 2 and "
        "figure 9)",
        [
            "who", "graph", "how", "edges", "layers", "launches", "copies", "run_ms", "spread",
            "layer_us", "by_one", "check",
        ],
    ),
    "streamed": (
        "Within a limit of memory, from a store in the page cache",
        [
            "graph", "algorithm", "weighted", "how", "edges", "list_bytes", "partitions",
            "limit_bytes", "run_ms", "iteration_ms", "passes", "bytes", "copied", "gb_per_s",
            "pinned_gb_per_s", "share", "by_floor", "check",
        ],
    ),
    "large": (
        "Larger than memory is allowed to hold",
        [
            "graph", "algorithm", "how", "edges", "file_bytes", "csr_bytes", "list_bytes", "layers",
            "limit_bytes", "process_bytes", "limited_by", "csr_by_limit", "list_by_limit",
            "list_by_process", "write_ms", "run_ms", "iteration_ms", "passes", "bytes", "gb_per_s",
            "share", "by_floor", "peak_bytes", "resident_bytes", "read_bytes", "check",
        ],
    ),
    "out of memory": (
        "Edges elsewhere (as WolfPath's table 6)",
        ["who", "graph", "algorithm", "edges", "layers", "passes", "seconds", "edges_per_us"],
    ),
}  # fmt: skip
LAYERED_HEADINGS = {
    "who": "who",
    "weighted": "weights",
    "graph_ms": "Graph, ms",
    "save_ms": "save, ms",
    "open_ms": "open, ms",
    "whole_ms": "file to store in memory, ms",
    "external_ms": "file to store out of core, ms",
    "limit_bytes": "memory limit, bytes",
    "csr_per_edge": "CSR, bytes an edge",
    "layered_per_edge": "layered, bytes an edge",
    "cusha_per_edge": "CuSha's by the text, bytes an edge",
    "by_csr": "layered by CSR",
    "cusha_by_csr": "CuSha's by CSR",
    "seconds": "seconds",
    "ns_per_edge": "ns an edge",
    "combined": "combined lists",
    "launches": "launches",
    "sweep_rounds": "rounds",
    "graph_run_ms": "of the Graph, ms",
    "flag_us": "flag to the host, µs",
    "compute_us": "computing an iteration, µs",
    "flag_ms": "flag after each layer, ms",
    "how": "how",
    "copies": "flags to the host",
    "layer_us": "a layer, µs",
    "by_one": "by one launch",
    "list_bytes": "list, bytes",
    "bytes": "bytes looked at",
    "copied": "bytes copied",
    "gb_per_s": "GB/s",
    "pinned_gb_per_s": "pinned copies, GB/s",
    "share": "share of pinned copies",
    "by_floor": "time by bytes at that rate",
    "file_bytes": "file, bytes",
    "csr_bytes": "CSR, bytes",
    "process_bytes": "process may have, bytes",
    "limited_by": "limited by",
    "csr_by_limit": "CSR by limit",
    "list_by_limit": "list by limit",
    "list_by_process": "list by process",
    "write_ms": "writing the file, ms",
    "peak_bytes": "peak, bytes",
    "resident_bytes": "greatest resident set, bytes",
    "read_bytes": "read from disk, bytes",
    "edges_per_us": "edges a µs",
}


def with_commas(row):
    """A row whose great numbers read more easily."""
    return row | {name: f"{value:,}" for name, value in row.items() if type(value) is int}
