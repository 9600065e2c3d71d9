"""Graph analytics on dataframes: on a CPU, a GPU or a Dask cluster, the same call."""

from . import datasets, generate, plot, verify
from .algorithms.components import connected_components
from .algorithms.pagerank import pagerank
from .algorithms.scan import scan
from .algorithms.scan_index import ScanIndex
from .algorithms.similarity import structural_similarity
from .algorithms.traversal import bfs, sssp
from .distributed import PartitionedGraph
from .distributed.local import cluster
from .errors import (
    ClusterError,
    GraphError,
    NoGPU,
    NotConverged,
    NotEnoughMemory,
    SchedulerLost,
    VerificationError,
    WorkerLost,
)
from .files import read_edges
from .graph import Graph
from .layers import LayeredEdgeList
from .memory import estimate_memory

__version__ = "0.1.0"

__all__ = [
    "ClusterError",
    "Graph",
    "GraphError",
    "LayeredEdgeList",
    "NoGPU",
    "NotConverged",
    "NotEnoughMemory",
    "PartitionedGraph",
    "ScanIndex",
    "SchedulerLost",
    "VerificationError",
    "WorkerLost",
    "bfs",
    "cluster",
    "connected_components",
    "datasets",
    "estimate_memory",
    "generate",
    "pagerank",
    "plot",
    "read_edges",
    "scan",
    "sssp",
    "structural_similarity",
    "verify",
]
