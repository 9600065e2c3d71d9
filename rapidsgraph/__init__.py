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
    from .api.components import connected_components
    from .api.conversion import from_igraph, from_networkx, from_scipy
    from .api.pagerank import pagerank
    from .api.scan import scan, structural_similarity
    from .api.traversal import bfs, sssp
    from .dispatch import (
        Graph,
        LayeredEdgeList,
        estimate_memory,
    )
    from .distributed.cluster import cluster
    from .errors import (
        ClusterError,
        ConvergenceError,
        GpuUnavailableError,
        GraphError,
        InsufficientMemoryError,
        MissingColumnError,
        SchedulerLostError,
        VerificationError,
        VertexNotFoundError,
        VertexTypeError,
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
    "MissingColumnError",
    "ScanIndex",
    "SchedulerLostError",
    "VerificationError",
    "VertexNotFoundError",
    "VertexTypeError",
    "WorkerLostError",
    "bfs",
    "cluster",
    "connected_components",
    "datasets",
    "estimate_memory",
    "from_igraph",
    "from_networkx",
    "from_scipy",
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

_MODULES = {  # of public names that neither `dispatch` nor `errors` defines
    "ScanIndex": "algorithms.scan_index",
    "bfs": "api.traversal",
    "cluster": "distributed.cluster",
    "connected_components": "api.components",
    "datasets": None,  # a module itself
    "from_igraph": "api.conversion",
    "from_networkx": "api.conversion",
    "from_scipy": "api.conversion",
    "generate": None,
    "pagerank": "api.pagerank",
    "plot": None,
    "read_edges": "io",
    "read_vertices": "io",
    "scan": "api.scan",
    "sssp": "api.traversal",
    "structural_similarity": "api.scan",
    "verify": None,
}


def _module_of(name):
    """Return the module that defines a public name; None if it is a module itself."""
    return _MODULES.get(name, "errors" if name.endswith("Error") else "dispatch")


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _module_of(name)
    value = importlib.import_module(f"{__name__}.{module or name}")
    globals()[name] = value if module is None else getattr(value, name)
    return globals()[name]


def __dir__():
    return sorted({*globals(), *__all__})
