"""Select the implementation of an algorithm by the type of its graph.

`IMPLEMENTATIONS` is the one table of what runs where: a row per algorithm, a column per graph
type. A new algorithm is a row; a new engine for one is an entry. An implementation takes a graph
and `Parameters`, and returns a frame; that of PageRank also returns the number of iterations and
the residual. Those of `LocalGraph` also take edge frames, those of `DistributedGraph` take Dask
frames, and those of `FrameGraph`, which ``method="frames"`` selects, take all of these.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import frames, memory
from .algorithms import components, shortest_path, similarity, traversal, triangles
from .algorithms import core_number as _core_number
from .algorithms import label_propagation as _label_propagation
from .algorithms import neighbor_similarity as _neighbor_similarity
from .algorithms import pagerank as _pagerank
from .algorithms import scan as _scan
from .algorithms.parameters import FRAME_OPTIONS, Parameters
from .algorithms.run_memory import Algorithm, MemoryEstimate, estimate_layered_memory
from .distributed import components as distributed_components
from .distributed import core_number as distributed_core_number
from .distributed import derived_graph as distributed_derived
from .distributed import edges as distributed_edges
from .distributed import label_propagation as distributed_label_propagation
from .distributed import layered as distributed_layered
from .distributed import layered_similarity as distributed_layered_similarity
from .distributed import layered_tiles as distributed_tiles
from .distributed import neighbor_similarity as distributed_similarity
from .distributed import pagerank as distributed_pagerank
from .distributed import scan as distributed_scan
from .distributed import shortest_path as distributed_path
from .distributed import traversal as distributed_traversal
from .distributed import triangles as distributed_triangles
from .distributed.graph import DistributedGraph
from .distributed.layered_storage import DistributedLayeredStorage
from .errors import GraphError, WeightWarning, warn
from .graph.graph import Graph, register_distributed_graph
from .graph.local_graph import GraphLike, LocalGraph, storage_of
from .layered import algorithms as layered
from .layered import components as layered_components
from .layered import core_number as layered_core_number
from .layered import label_propagation as layered_label_propagation
from .layered import neighbor_similarity as layered_similarity
from .layered import triangles as layered_triangles
from .layered.edge_list import LayeredEdgeList, register_distributed_layered
from .layered.storage import LayeredStorage
from .relational import components as relational_components
from .relational import core_number as relational_core_number
from .relational import label_propagation as relational_label_propagation
from .relational import layered_build
from .relational import neighbor_similarity as relational_similarity
from .relational import pagerank as relational_pagerank
from .relational import scan as relational_scan
from .relational import shortest_path as relational_path
from .relational import traversal as relational_traversal
from .relational import triangles as relational_triangles
from .relational.frame_graph import ENDPOINTS, FrameGraph
from .validation import suggest_parameters

logger = logging.getLogger(__name__)

ENGINES = {  # of the columns of `IMPLEMENTATIONS`, for log records
    LocalGraph: "kernels in this process",
    LayeredStorage: "streams a layered edge list",
    DistributedGraph: "kernels on Dask workers",
    DistributedLayeredStorage: "streams a layered edge list on Dask workers",
    FrameGraph: "frame operations",
}

__all__ = [
    "IMPLEMENTATIONS",
    "Graph",
    "LayeredEdgeList",
    "estimate_memory",
    "in_memory",
    "run",
]

register_distributed_graph(
    DistributedGraph.from_frame,
    {
        "edges": distributed_edges.edges,
        "degrees": distributed_edges.degrees,
        "neighborhood": distributed_derived.neighborhood,
        "reverse": distributed_derived.reverse,
        "subgraph": distributed_derived.subgraph,
        "to_undirected": distributed_derived.to_undirected,
    },
)
register_distributed_layered(DistributedLayeredStorage, layered_build.build_storage)

IMPLEMENTATIONS: dict[str, dict[type, Callable[..., Any]]] = {
    "bfs": {
        LocalGraph: traversal.bfs,
        LayeredStorage: layered.bfs,
        DistributedGraph: distributed_traversal.bfs,
        DistributedLayeredStorage: distributed_layered.bfs,
        FrameGraph: relational_traversal.bfs,
    },
    "sssp": {
        LocalGraph: traversal.sssp,
        LayeredStorage: layered.sssp,
        DistributedGraph: distributed_traversal.sssp,
        DistributedLayeredStorage: distributed_layered.sssp,
        FrameGraph: relational_traversal.sssp,
    },
    "shortest_path": {
        LocalGraph: shortest_path.shortest_path,
        LayeredStorage: layered.shortest_path,
        DistributedGraph: distributed_path.shortest_path,
        DistributedLayeredStorage: distributed_layered.shortest_path,
        FrameGraph: relational_path.shortest_path,
    },
    "pagerank": {
        LocalGraph: _pagerank.pagerank,
        LayeredStorage: layered.pagerank,
        DistributedGraph: distributed_pagerank.pagerank,
        DistributedLayeredStorage: distributed_layered.pagerank,
        FrameGraph: relational_pagerank.pagerank,
    },
    "connected_components": {
        LocalGraph: components.connected_components,
        LayeredStorage: layered_components.connected_components,
        DistributedGraph: distributed_components.connected_components,
        DistributedLayeredStorage: distributed_tiles.connected_components,
        FrameGraph: relational_components.connected_components,
    },
    "core_number": {
        LocalGraph: _core_number.core_number,
        LayeredStorage: layered_core_number.core_number,
        DistributedGraph: distributed_core_number.core_number,
        DistributedLayeredStorage: distributed_tiles.core_number,
        FrameGraph: relational_core_number.core_number,
    },
    "label_propagation": {
        LocalGraph: _label_propagation.label_propagation,
        LayeredStorage: layered_label_propagation.label_propagation,
        DistributedGraph: distributed_label_propagation.label_propagation,
        DistributedLayeredStorage: distributed_tiles.label_propagation,
        FrameGraph: relational_label_propagation.label_propagation,
    },
    "structural_similarity": {
        LocalGraph: similarity.structural_similarity,
        LayeredStorage: layered_similarity.structural_similarity,
        DistributedGraph: distributed_scan.structural_similarity,
        DistributedLayeredStorage: distributed_layered_similarity.structural_similarity,
        FrameGraph: relational_scan.structural_similarity,
    },
    "scan": {
        LocalGraph: _scan.scan,
        DistributedGraph: distributed_scan.scan,
        FrameGraph: relational_scan.scan,
    },
    "neighbor_similarity": {
        LocalGraph: _neighbor_similarity.neighbor_similarity,
        LayeredStorage: layered_similarity.neighbor_similarity,
        DistributedGraph: distributed_similarity.neighbor_similarity,
        DistributedLayeredStorage: distributed_layered_similarity.neighbor_similarity,
        FrameGraph: relational_similarity.neighbor_similarity,
    },
    "triangle_count": {
        LocalGraph: triangles.triangle_count,
        LayeredStorage: layered_triangles.triangle_count,
        DistributedGraph: distributed_triangles.triangle_count,
        DistributedLayeredStorage: distributed_tiles.triangle_count,
        FrameGraph: relational_triangles.triangle_count,
    },
    "clustering_coefficient": {
        LocalGraph: triangles.clustering_coefficient,
        LayeredStorage: layered_triangles.clustering_coefficient,
        DistributedGraph: distributed_triangles.clustering_coefficient,
        DistributedLayeredStorage: distributed_tiles.clustering_coefficient,
        FrameGraph: relational_triangles.clustering_coefficient,
    },
}


def graph_type(graph: GraphLike) -> type:
    """Return the column of `IMPLEMENTATIONS` for a graph or edge frame."""
    for storage in (LayeredStorage, DistributedLayeredStorage, DistributedGraph, FrameGraph):
        if isinstance(graph, storage):
            return storage
    return DistributedGraph if frames.is_dask(graph) else LocalGraph


def run(algorithm: str, graph: GraphLike, parameters: Parameters) -> Any:
    """Run the implementation of an algorithm for a graph and its method.

    Parameters
    ----------
    algorithm : str
        A row of `IMPLEMENTATIONS`.
    graph : Graph, LayeredEdgeList or edge frame
    parameters : Parameters
        Valid; the functions of `rapidsgraph.api` check them.

    Raises
    ------
    GraphError
        If this type of graph does not support the algorithm, the method or `memory_limit`.
    """
    graph, row, method = storage_of(graph), IMPLEMENTATIONS[algorithm], parameters.method
    column = graph_type(graph)
    is_layered = column in (LayeredStorage, DistributedLayeredStorage)
    is_relational = method == "frames" and not is_layered
    if is_relational:
        column = FrameGraph
    if column not in row:
        raise _unsupported_error(algorithm, column)
    if method != "auto" and not is_relational and column is not LocalGraph:
        kind = "layered edge lists" if is_layered else "distributed graphs"
        hint = "use 'auto'" if is_layered else "use 'auto' or 'frames'"
        raise GraphError(
            f"{{parameter}} {method!r} is not supported for {kind}; {hint}",
            parameter="method",
            value=method,
            hint=hint,
        )
    if parameters.memory_limit is not None and not is_layered:
        raise GraphError(
            "{parameter} applies to layered edge lists only; build one with "
            "rg.LayeredEdgeList.build(graph, root)",
            parameter="memory_limit",
            value=parameters.memory_limit,
        )
    if algorithm in FRAME_OPTIONS and getattr(parameters, "weighted", True):
        _warn_about_weights(algorithm, graph)
    if not logger.isEnabledFor(logging.INFO):
        return row[column](graph, parameters)
    logger.info("%s: %s, method %r", algorithm, ENGINES[column], method)
    start_time = time.perf_counter()
    result = row[column](graph, parameters)
    logger.info("%s: done in %.3f s", algorithm, time.perf_counter() - start_time)
    return result


def _warn_about_weights(algorithm: str, graph: GraphLike) -> None:
    """Warn if an algorithm uses no weights, but the edge frame has columns that may be weights."""
    call, options = "rg.Graph(edges", {}
    if isinstance(graph, (LocalGraph, DistributedGraph)):
        candidates, call = graph.weight_candidates, graph.build_call
    elif isinstance(graph, (LayeredStorage, DistributedLayeredStorage, FrameGraph)):
        return
    else:
        candidates = frames.find_weight_candidates(graph, ENDPOINTS)
        options = {"multi_edges": FRAME_OPTIONS[algorithm]["multi_edges"]}
    if not candidates:
        return
    arguments = ", ".join(f"{name}={value!r}" for name, value in options.items())
    arguments = f"weight={candidates[0]!r}" + (f", {arguments}" if arguments else "")
    noun = "column" if call == LocalGraph.build_call else "attribute"
    warn(
        f"{algorithm} uses no weights, as the edges have no {noun} 'weight'; {noun}s of numbers: "
        f"{frames.list_weight_candidates(candidates)}; {call}, {arguments}) uses one of them, "
        f"{call}, weight=None) none",
        WeightWarning,
    )


def _unsupported_error(name: str, unsupported: type) -> GraphError:
    """Return the error for an algorithm that has no implementation for a graph type."""
    if unsupported is FrameGraph:
        return GraphError(
            f"{name} has no frame form; use {{parameter}} 'auto'",
            parameter="method",
            value="frames",
        )
    if unsupported is DistributedGraph:
        frame_form = "use method='frames', or " if FrameGraph in IMPLEMENTATIONS[name] else ""
        return GraphError(
            f"{name} does not support graphs that are partitioned over a Dask cluster; {frame_form}"
            "call .compute() first",
            parameter="graph",
        )
    supported = [algorithm for algorithm, row in IMPLEMENTATIONS.items() if unsupported in row]
    return GraphError(
        f"{name} does not support layered edge lists, only {', '.join(supported)} do; pass a Graph "
        "or an edge frame, which may be a Dask frame",
        parameter="graph",
    )


@suggest_parameters
@functools.wraps(memory.estimate_memory)
def estimate_memory(
    graph_or_path: GraphLike | str | Path, algorithm: Algorithm, **options: Any
) -> MemoryEstimate:
    graph_or_path = storage_of(graph_or_path)
    if isinstance(graph_or_path, DistributedGraph):
        raise GraphError(
            "estimate_memory does not support graphs on a Dask cluster; call .compute() first, or "
            "pass the edges",
            parameter="graph_or_path",
        )
    if isinstance(graph_or_path, DistributedLayeredStorage):
        raise GraphError(
            "estimate_memory does not support layered edge lists on a cluster; open the list "
            "without client=",
            parameter="graph_or_path",
            hint="open the list without client=",
        )
    if isinstance(graph_or_path, LayeredStorage):
        memory.check_algorithm(algorithm)
        estimate = estimate_layered_memory(graph_or_path, algorithm)
        name = "connected_components" if algorithm == "strong_components" else algorithm
        if LayeredStorage not in IMPLEMENTATIONS.get(name, {}):
            raise _unsupported_error(algorithm, LayeredStorage)
        return estimate
    return memory.estimate_memory(graph_or_path, algorithm, **options)


estimate_memory.__module__ = __name__.partition(".")[0]


def in_memory(data: Any) -> Any:
    """Return a graph or frame in the memory of this process, computing Dask's.

    Raises
    ------
    GraphError
        If it is a layered edge list on a cluster, which is not collected.
    """
    if isinstance(storage_of(data), DistributedLayeredStorage):
        raise GraphError(
            "a layered edge list on a cluster is not collected; pass the edges, or a Graph",
            parameter="graph",
        )
    is_distributed = isinstance(data, (Graph, DistributedGraph)) or frames.is_dask(data)
    return data.compute() if is_distributed else data
