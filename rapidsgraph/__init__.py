"""Graph analytics on dataframes: on a CPU, on a GPU, the same call."""

from . import datasets, generate, verify
from .algorithms.components import connected_components
from .algorithms.pagerank import pagerank
from .algorithms.traversal import bfs, sssp
from .errors import GraphError, NoGPU, NotConverged, NotEnoughMemory, VerificationError
from .files import read_edges
from .graph import Graph
from .memory import estimate_memory

__version__ = "0.1.0"

__all__ = [
    "Graph",
    "GraphError",
    "NoGPU",
    "NotConverged",
    "NotEnoughMemory",
    "VerificationError",
    "bfs",
    "connected_components",
    "datasets",
    "estimate_memory",
    "generate",
    "pagerank",
    "read_edges",
    "sssp",
    "verify",
]
