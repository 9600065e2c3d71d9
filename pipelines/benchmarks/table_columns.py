"""Titles, columns and headings of the tables that are generated from records.

The keys are those of the records; columns that no row of a table fills are left out.
"""

from __future__ import annotations

TABLES = {  # value of a record's key `table`: title, columns
    "layered build": (
        "Layered edge lists: build, save, open",
        [
            "graph", "weighted", "vertices", "edges", "layers", "partitions", "graph_ms",
            "build_ms", "save_ms", "open_ms", "whole_ms", "external_ms", "limit_bytes",
            "csr_per_edge", "layered_per_edge", "cusha_per_edge", "by_csr", "cusha_by_csr",
            "check",
        ],
    ),
    "preprocessing": (
        "From an edge file to a store (as WolfPath's table 7)",
        [
            "who", "graph", "weighted", "edges", "seconds", "ns_per_edge",
        ],
    ),
    "iterations": (
        "Iterations (as WolfPath's tables 3 and 5)",
        [
            "who", "graph", "algorithm", "edges", "layers", "combined", "launches", "passes",
            "sweep_rounds", "run_ms", "graph_run_ms", "flag_us", "compute_us", "flag_ms", "check",
        ],
    ),
    "flag": (
        "BFS by layers with and without a flag on the host, and in shared memory (as "
        "WolfPath's table 2 and figure 9)",
        [
            "who", "graph", "how", "edges", "layers", "launches", "copies", "run_ms", "spread",
            "layer_us", "by_one", "check",
        ],
    ),
    "streamed": (
        "Streamed from the page cache within a memory limit",
        [
            "graph", "algorithm", "weighted", "how", "edges", "list_bytes", "partitions",
            "limit_bytes", "run_ms", "iteration_ms", "passes", "bytes", "copied", "gb_per_s",
            "pinned_gb_per_s", "share", "by_floor", "check",
        ],
    ),
    "large": (
        "Larger than the memory limit",
        [
            "graph", "algorithm", "how", "edges", "file_bytes", "csr_bytes", "list_bytes",
            "layers", "limit_bytes", "process_bytes", "limited_by", "csr_by_limit",
            "list_by_limit", "list_by_process", "write_ms", "run_ms", "iteration_ms", "passes",
            "bytes", "gb_per_s", "share", "by_floor", "peak_bytes", "resident_bytes", "read_bytes",
            "check",
        ],
    ),
    "out of memory": (
        "Edges out of memory (as WolfPath's table 6)",
        [
            "who", "graph", "algorithm", "edges", "layers", "passes", "seconds", "edges_per_us",
        ],
    ),
    "frames": (
        "Frame form and kernel form",
        [
            "algorithm", "engine", "kernels_ms", "frames_ms", "frames_by_kernels",
            "kernels_bytes", "frames_bytes", "check",
        ],
    ),
    "cluster": (
        "Dask frames and one Graph",
        [
            "graph", "how", "workers", "threads", "algorithm", "vertices", "rows", "edges",
            "memory_build_ms", "memory_ms", "first_ms", "run_ms", "by_memory",
            "memory_iteration_ms", "iteration_ms", "iteration_by_memory", "overhead_ms", "check",
        ],
    ),
    "scaling": (
        "Scaling",
        [
            "scaling", "algorithm", "graph", "one_ms", "many_ms", "workers", "speedup",
        ],
    ),
    "cluster store": (
        "The streamed store",
        [
            "graph", "vertices", "edges", "partitions", "list_bytes", "build_ms", "save_ms",
            "check",
        ],
    ),
    "cluster streamed": (
        "Streamed by several workers, each within a limit",
        [
            "graph", "algorithm", "workers", "edges", "list_bytes", "limit_bytes",
            "list_by_limits", "memory_ms", "first_ms", "run_ms", "iteration_ms", "passes", "bytes",
            "gb_per_s", "check",
        ],
    ),
    "slope": (
        "Growth of time and memory with the edges",
        [
            "task", "from_edges", "to_edges", "sizes", "time_slope", "memory_slope", "says",
        ],
    ),
    "size": (
        "Time and memory by edges",
        [
            "task", "graph", "vertices", "edges", "run_ms", "spread", "ns_per_edge", "peak_bytes",
            "bytes_per_edge", "estimate_bytes", "check",
        ],
    ),
    "Kim": (
        "Kim's figures 4 to 6: ten iterations, transfers included",
        [
            "figure", "graph", "vertices", "edges", "gpu_edge_ms", "gpu_node_ms", "gpu_auto_ms",
            "cpu_edge_1_ms", "cpu_node_1_ms", "cpu_node_all_ms", "cpu_auto_all_ms", "edge_by_node",
            "paper_edge_by_node", "cpu_by_node", "paper_cpu_by_node",
        ],
    ),
    "Kim says": (
        "Kim's claims",
        [
            "claim",
        ],
    ),
    "Kim runs": (
        "Kim's figures, run by run",
        [
            "figure", "graph", "kind", "runs_on", "ten_ms", "resident_ms", "transfer_ms",
            "transferred_bytes", "build_ms", "check", "note",
        ],
    ),
    "Reddy": (
        "Reddy's table 6.2: 1000 iterations",
        [
            "graph", "vertices", "edges", "implementation", "kind", "thousand_ms", "paper_ms",
            "by_serial", "paper_by_serial", "by_auto", "children", "build_ms", "check", "note",
        ],
    ),
    "Reddy says": (
        "Reddy's claims",
        [
            "claim",
        ],
    ),
    "transfers": (
        "GPUSCAN's table 5: transfers of real graphs",
        [
            "graph", "upload_ms", "download_ms", "auto_ms", "transfer_share",
            "speedup_with_transfers", "paper_upload_ms", "paper_download_ms",
            "paper_transfer_share",
        ],
    ),
}  # fmt: skip
GRAPH_TABLES = {  # one table per graph
    "NetworkX": (
        "NetworkX's functions",
        [
            "function", "library", "run_ms", "run_speedup", "first_ms", "first_speedup", "check",
        ],
    ),
    "pagerank": (
        "PageRank",
        [
            "library", "implementation", "precision", "iteration_ms", "spread", "ratio",
            "floor_ms", "solve_ms", "build_ms", "first_ms", "check", "note",
        ],
    ),
    "bfs": (
        "BFS",
        [
            "library", "implementation", "predecessors", "run_ms", "spread", "ratio", "cost",
            "floor_ms", "level_us", "rounds", "build_ms", "first_ms", "frame_ms", "check", "note",
        ],
    ),
    "sssp": (
        "SSSP",
        [
            "library", "implementation", "precision", "predecessors", "run_ms", "spread", "ratio",
            "cost", "floor_ms", "rounds", "build_ms", "first_ms", "frame_ms", "check", "note",
        ],
    ),
    "components": (
        "Connected components",
        [
            "library", "implementation", "run_ms", "spread", "ratio", "floor_ms", "build_ms",
            "first_ms", "frame_ms", "check", "note",
        ],
    ),
    "build": (
        "Graph build",
        [
            "case", "library", "implementation", "build_ms", "spread", "ratio", "floor_ms",
            "check", "note",
        ],
    ),
    "memory": (
        "Peak memory of a build, above the frame",
        [
            "case", "library", "implementation", "bytes_per_row", "estimate_per_row", "note",
        ],
    ),
}  # fmt: skip
TIMES = {  # the time whose range a table shows
    "pagerank": "iteration_ms",
    "bfs": "run_ms",
    "sssp": "run_ms",
    "components": "run_ms",
    "build": "build_ms",
    "flag": "run_ms",
    "size": "run_ms",
}
# Facts about a graph that a traversal finds.
TRAVERSAL_FACTS = ("levels", "farthest", "components")
QUERY_COLUMNS = [
    "graph", "vertices", "edges", "build_ms", "sort_ms", "bytes_per_edge", "pairs", "query_ms",
    "spread", "slowest_ms", "slowest", "direct_ms", "saves", "check",
]  # fmt: skip
COMPARISON_COLUMNS = [  # similarity and SCAN: one row per graph, one column per library
    "gives", "graph", "vertices", "edges", "degree", "clusters", "auto_ms", "gpuscan_ms",
    "serial_ms", "NetworKit_ms", "SciPy_ms", "cuGraph_ms", "gpuscan_ratio", "NetworKit_ratio",
    "SciPy_ratio", "cuGraph_ratio", "auto_speedup", "gpuscan_speedup", "paper_speedup",
    "paper_cpu_ms", "paper_gpu_ms", "floor_ms", "verified", "check",
]  # fmt: skip
GRAPH_COLUMNS = [
    "graph", "origin", "vertices", "rows", "edges", "upload_ms", "download_ms",
]  # fmt: skip
COMPARISONS = {"similarity": "Similarity of all edges", "scan": "SCAN and the serial loop"}
SCAN_TABLES = {*COMPARISONS, "queries", "papers", "claim"}
GPUSCAN_TITLES = {
    1: "similarity and clustering of generated graphs",
    2: "clustering alone of generated graphs",
    3: "similarity and clustering of real graphs",
    4: "clustering alone of real graphs",
}
METHOD_TABLES = {  # one row per method, one column per graph, as the papers print theirs
    "iteration_ms": "Methods: one iteration, ms",
    "ten_ms": "Methods: 10 iterations from and to the host, build included, ms (as Kim)",
    "thousand_ms": "Methods: 1000 iterations on a ready graph, ms (as Reddy)",
    "thousand_frame_ms": "Methods: 1000 iterations, build included, ms",
}
HEADINGS = {
    "run_speedup": "speedup",
    "first_speedup": "speedup of first call",
    "spread": "min to max",
    "library": "library",
    "kernels_ms": "kernels, ms",
    "frames_ms": "frames, ms",
    "frames_by_kernels": "frames by kernels",
    "kernels_bytes": "peak of kernels, bytes",
    "frames_bytes": "peak of frames, bytes",
    "implementation": "implementation",
    "precision": "precision",
    "predecessors": "predecessors",
    "case": "rows",
    "gives": "gives",
    "iteration_ms": "iteration, ms",
    "run_ms": "run, ms",
    "ratio": "ratio to ours",
    "cost": "ratio to no predecessors",
    "level_us": "per level, µs",
    "rounds": "iterations",
    "floor_ms": "roofline, ms",
    "first_ms": "first call, ms",
    "frame_ms": "from the frame, ms",
    "build_ms": "build, ms",
    "solve_ms": "to convergence, ms",
    "ten_ms": "10 iterations with transfers, ms",
    "thousand_ms": "1000 iterations, ms",
    "thousand_frame_ms": "1000 iterations from the frame, ms",
    "bytes_per_row": "peak, bytes per row",
    "estimate_per_row": "estimate, bytes per row",
    "sort_ms": "sort alone, ms",
    "bytes_per_edge": "bytes per edge",
    "query_ms": "query, ms",
    "slowest_ms": "slowest query, ms",
    "slowest": "slowest at",
    "direct_ms": "scan, ms",
    "saves": "scan / query",
    "serial_ms": "serial, ms",
    "auto_ms": "auto, ms",
    "gpuscan_ms": "gpuscan, ms",
    "NetworKit_ms": "NetworKit, ms",
    "SciPy_ms": "SciPy, ms",
    "cuGraph_ms": "cuGraph, ms",
    "auto_speedup": "serial / auto",
    "gpuscan_speedup": "serial / gpuscan",
    "gpuscan_ratio": "gpuscan / auto",
    "NetworKit_ratio": "NetworKit / auto",
    "SciPy_ratio": "SciPy / auto",
    "cuGraph_ratio": "cuGraph / auto",
    "paper_speedup": "paper: speedup",
    "paper_cpu_ms": "paper: CPU, ms",
    "paper_gpu_ms": "paper: GPU, ms",
    "degree": "average degree",
    "verified": "verified by",
    "check": "check",
    "note": "note",
    "who": "system",
    "weighted": "weights",
    "graph_ms": "Graph, ms",
    "save_ms": "save, ms",
    "open_ms": "open, ms",
    "whole_ms": "file to store in memory, ms",
    "external_ms": "file to store out of core, ms",
    "limit_bytes": "memory limit, bytes",
    "csr_per_edge": "CSR, bytes per edge",
    "layered_per_edge": "layered, bytes per edge",
    "cusha_per_edge": "CuSha (paper), bytes per edge",
    "by_csr": "layered / CSR",
    "cusha_by_csr": "CuSha / CSR",
    "seconds": "seconds",
    "ns_per_edge": "ns per edge",
    "combined": "combined layers",
    "launches": "launches",
    "sweep_rounds": "rounds",
    "graph_run_ms": "Graph, ms",
    "flag_us": "flag to host, µs",
    "compute_us": "computing an iteration, µs",
    "flag_ms": "flag of every layer, ms",
    "how": "variant",
    "copies": "flags copied",
    "layer_us": "per layer, µs",
    "by_one": "ratio to one launch",
    "list_bytes": "list, bytes",
    "bytes": "bytes processed",
    "copied": "bytes copied",
    "gb_per_s": "GB/s",
    "pinned_gb_per_s": "pinned copies, GB/s",
    "share": "share of the pinned rate",
    "by_floor": "ratio to the roofline",
    "file_bytes": "file, bytes",
    "csr_bytes": "CSR, bytes",
    "process_bytes": "process limit, bytes",
    "limited_by": "limited by",
    "csr_by_limit": "CSR / limit",
    "list_by_limit": "list / limit",
    "list_by_process": "list / process limit",
    "write_ms": "writing the file, ms",
    "peak_bytes": "peak, bytes",
    "resident_bytes": "peak resident set, bytes",
    "read_bytes": "read from disk, bytes",
    "edges_per_us": "edges per µs",
    "workers": "workers",
    "threads": "threads per worker",
    "memory_build_ms": "one Graph: build, ms",
    "memory_ms": "one Graph, ms",
    "by_memory": "ratio to one Graph",
    "memory_iteration_ms": "one Graph: iteration, ms",
    "iteration_by_memory": "iteration: ratio to one Graph",
    "overhead_ms": "overhead, ms per iteration",
    "scaling": "scaling",
    "one_ms": "one worker, ms",
    "many_ms": "several workers, ms",
    "speedup": "speedup",
    "list_by_limits": "list / all limits",
    "task": "task",
    "from_edges": "from edges",
    "to_edges": "to edges",
    "sizes": "graphs",
    "time_slope": "exponent of time",
    "memory_slope": "exponent of memory",
    "says": "in words",
    "estimate_bytes": "estimate, bytes",
    "figure": "figure",
    "runs_on": "runs on",
    "gpu_edge_ms": "edge, GPU, ms",
    "gpu_node_ms": "node, GPU, ms",
    "gpu_auto_ms": "auto, GPU, ms",
    "cpu_edge_1_ms": "edge, CPU, 1 thread, ms",
    "cpu_node_1_ms": "node, CPU, 1 thread, ms",
    "cpu_node_all_ms": "node, CPU, all threads, ms",
    "cpu_auto_all_ms": "auto, CPU, all threads, ms",
    "edge_by_node": "edge / node",
    "paper_edge_by_node": "paper: edge / node",
    "cpu_by_node": "CPU / GPU, node",
    "paper_cpu_by_node": "paper: CPU / GPU",
    "resident_ms": "10 iterations alone, ms",
    "transfer_ms": "transfers alone, ms",
    "transferred_bytes": "bytes transferred",
    "kind": "method",
    "paper_ms": "paper: time, ms",
    "by_serial": "serial / run",
    "paper_by_serial": "paper: serial / run",
    "by_auto": "ratio to auto",
    "children": "child kernels per iteration",
    "upload_ms": "to the device, ms",
    "download_ms": "to the host, ms",
    "transfer_share": "share of total, %",
    "speedup_with_transfers": "serial / total",
    "paper_upload_ms": "paper: to the device, ms",
    "paper_download_ms": "paper: to the host, ms",
    "paper_transfer_share": "paper: share, %",
}
