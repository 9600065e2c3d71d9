"""Graph analytics on dataframes: on a CPU, a GPU or a Dask cluster, the same call.

Public names are imported when they are first used (PEP 562), so that ``import rapidsgraph`` takes
no time and the command handles signals before it imports anything large.
"""

import importlib

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from . import datasets, generate, plot, verify
    from .algorithms.scan_index import ScanIndex
    from .dispatch import (
        Graph,
        LayeredEdgeList,
        bfs,
        connected_components,
        estimate_memory,
        pagerank,
        scan,
        sssp,
        structural_similarity,
    )
    from .distributed.cluster import cluster
    from .errors import (
        ClusterError,
        ConvergenceError,
        GpuUnavailableError,
        GraphError,
        InsufficientMemoryError,
        SchedulerLostError,
        VerificationError,
        WorkerLostError,
    )
    from .io import read_edges, read_vertices

__all__ = [
    "ClusterError",
    "ConvergenceError",
    "GpuUnavailableError",
    "Graph",
    "GraphError",
    "InsufficientMemoryError",
    "LayeredEdgeList",
    "ScanIndex",
    "SchedulerLostError",
    "VerificationError",
    "WorkerLostError",
    "bfs",
    "cluster",
    "connected_components",
    "datasets",
    "estimate_memory",
    "generate",
    "pagerank",
    "plot",
    "read_edges",
    "read_vertices",
    "scan",
    "sssp",
    "structural_similarity",
    "verify",
]

_MODULES = {  # that define the public names; those that are missing here are modules themselves
    "ClusterError": "errors",
    "Graph": "dispatch",
    "GraphError": "errors",
    "LayeredEdgeList": "dispatch",
    "GpuUnavailableError": "errors",
    "ConvergenceError": "errors",
    "InsufficientMemoryError": "errors",
    "ScanIndex": "algorithms.scan_index",
    "SchedulerLostError": "errors",
    "VerificationError": "errors",
    "WorkerLostError": "errors",
    "bfs": "dispatch",
    "cluster": "distributed.cluster",
    "connected_components": "dispatch",
    "estimate_memory": "dispatch",
    "pagerank": "dispatch",
    "read_edges": "io",
    "read_vertices": "io",
    "scan": "dispatch",
    "sssp": "dispatch",
    "structural_similarity": "dispatch",
}


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, name)}")
    value = getattr(module, name) if name in _MODULES else module
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
