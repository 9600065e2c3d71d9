"""Graph analytics on dataframes: on a CPU, a GPU or a Dask cluster, the same call.

Public names are imported when they are first used (PEP 562), so that ``import rapidsgraph`` takes
no time and the command handles signals before it imports anything large.
"""

import importlib

__version__ = "0.1.0"

# The module of each public name. The imports below repeat them for type checkers.
_MODULES = {
    "ClusterError": "errors",
    "ConvergenceError": "errors",
    "GpuUnavailableError": "errors",
    "Graph": "dispatch",
    "GraphError": "errors",
    "InsufficientMemoryError": "errors",
    "LayeredEdgeList": "api.layered",
    "MissingColumnError": "errors",
    "ScanIndex": "algorithms.scan_index",
    "SchedulerLostError": "errors",
    "VerificationError": "errors",
    "VertexNotFoundError": "errors",
    "VertexTypeError": "errors",
    "WeightWarning": "errors",
    "WorkerLostError": "errors",
    "bfs": "api.traversal",
    "cluster": "distributed.cluster",
    "clustering_coefficient": "api.triangles",
    "connected_components": "api.components",
    "core_number": "api.core_number",
    "datasets": None,  # a module itself
    "estimate_memory": "api.memory",
    "from_igraph": "api.conversion",
    "from_networkx": "api.conversion",
    "from_scipy": "api.conversion",
    "generate": None,
    "label_propagation": "api.label_propagation",
    "neighbor_similarity": "api.neighbor_similarity",
    "pagerank": "api.pagerank",
    "plot": None,
    "read_edges": "io",
    "read_vertices": "io",
    "scan": "api.scan",
    "shortest_path": "api.traversal",
    "sssp": "api.traversal",
    "structural_similarity": "api.scan",
    "triangle_count": "api.triangles",
    "verify": None,
}
__all__ = list(_MODULES)
_EQUIVALENTS = {  # names of other libraries, for messages
    "clustering": ["clustering_coefficient"],
    "components": ["connected_components"],
    "dijkstra": ["sssp"],
    "jaccard": ["neighbor_similarity"],
    "k_core": ["core_number"],
    "leiden": ["label_propagation"],
    "louvain": ["label_propagation"],
    "triangles": ["triangle_count"],
}

TYPE_CHECKING = False  # True for type checkers, which take `name as name` for a public name
if TYPE_CHECKING:
    from . import datasets as datasets
    from . import generate as generate
    from . import plot as plot
    from . import verify as verify
    from .algorithms.scan_index import ScanIndex as ScanIndex
    from .api.components import connected_components as connected_components
    from .api.conversion import from_igraph as from_igraph
    from .api.conversion import from_networkx as from_networkx
    from .api.conversion import from_scipy as from_scipy
    from .api.core_number import core_number as core_number
    from .api.label_propagation import label_propagation as label_propagation
    from .api.layered import LayeredEdgeList as LayeredEdgeList
    from .api.memory import estimate_memory as estimate_memory
    from .api.neighbor_similarity import neighbor_similarity as neighbor_similarity
    from .api.pagerank import pagerank as pagerank
    from .api.scan import scan as scan
    from .api.scan import structural_similarity as structural_similarity
    from .api.traversal import bfs as bfs
    from .api.traversal import shortest_path as shortest_path
    from .api.traversal import sssp as sssp
    from .api.triangles import clustering_coefficient as clustering_coefficient
    from .api.triangles import triangle_count as triangle_count
    from .dispatch import Graph as Graph
    from .distributed.cluster import cluster as cluster
    from .errors import ClusterError as ClusterError
    from .errors import ConvergenceError as ConvergenceError
    from .errors import GpuUnavailableError as GpuUnavailableError
    from .errors import GraphError as GraphError
    from .errors import InsufficientMemoryError as InsufficientMemoryError
    from .errors import MissingColumnError as MissingColumnError
    from .errors import SchedulerLostError as SchedulerLostError
    from .errors import VerificationError as VerificationError
    from .errors import VertexNotFoundError as VertexNotFoundError
    from .errors import VertexTypeError as VertexTypeError
    from .errors import WeightWarning as WeightWarning
    from .errors import WorkerLostError as WorkerLostError
    from .io import read_edges as read_edges
    from .io import read_vertices as read_vertices


def __getattr__(name):
    if name not in _MODULES:
        similar = [*_EQUIVALENTS.get(name, ())]
        if not similar and not name.startswith("_"):
            similar = importlib.import_module("difflib").get_close_matches(name, _MODULES, 1)
        hint = f"; did you mean {similar[0]}?" if similar else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    module = _MODULES[name]
    value = importlib.import_module(f"{__name__}.{module or name}")
    globals()[name] = value if module is None else getattr(value, name)
    return globals()[name]


def __dir__():
    return sorted({*globals(), *_MODULES})
