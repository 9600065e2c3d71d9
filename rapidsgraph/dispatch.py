"""Select the implementation of an algorithm by the type of its graph.

`IMPLEMENTATIONS` is the one table of what runs where: a row per algorithm, a column per engine.
A new algorithm is a row; a new engine for one is an entry: ``"module:function"``, which is imported
when it is first called, so that a process imports only the engines that it uses. An implementation
takes a graph and `Parameters`, and returns a frame; that of PageRank also returns the number of
iterations and the residual. Those of "local" take a `LocalGraph` or an edge frame, those of
"distributed" a `DistributedGraph` or a Dask frame, those of "layered" and "distributed_layered" the
storage of a `LayeredEdgeList`, and those of "frames", which ``method="frames"`` selects, any graph
or frame that is no layered edge list.
"""

from __future__ import annotations

import functools
import importlib
import logging
import operator
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import frames
from .algorithms.parameters import FRAME_OPTIONS, Parameters
from .errors import GraphError, WeightWarning, warn
from .graph.graph import Graph, register_distributed
from .graph.local_graph import Engine, GraphLike, Storage, storage_of
from .validation import ENDPOINTS

logger = logging.getLogger(__name__)

ENGINES: dict[Engine, str] = {  # for log records
    "local": "kernels in this process",
    "layered": "streams a layered edge list",
    "distributed": "kernels on Dask workers",
    "distributed_layered": "streams a layered edge list on Dask workers",
    "frames": "frame operations",
}
LAYERED: tuple[Engine, ...] = ("layered", "distributed_layered")

__all__ = [
    "DISTRIBUTED_FUNCTIONS",
    "ENGINES",
    "IMPLEMENTATIONS",
    "Graph",
    "engine_of",
    "in_memory",
    "load",
    "run",
    "unsupported_error",
]

IMPLEMENTATIONS: dict[str, dict[Engine, str]] = {
    "bfs": {
        "local": "algorithms.traversal:bfs",
        "layered": "layered.algorithms:bfs",
        "distributed": "distributed.traversal:bfs",
        "distributed_layered": "distributed.layered:bfs",
        "frames": "relational.traversal:bfs",
    },
    "sssp": {
        "local": "algorithms.traversal:sssp",
        "layered": "layered.algorithms:sssp",
        "distributed": "distributed.traversal:sssp",
        "distributed_layered": "distributed.layered:sssp",
        "frames": "relational.traversal:sssp",
    },
    "shortest_path": {
        "local": "algorithms.shortest_path:shortest_path",
        "layered": "layered.algorithms:shortest_path",
        "distributed": "distributed.shortest_path:shortest_path",
        "distributed_layered": "distributed.layered:shortest_path",
        "frames": "relational.shortest_path:shortest_path",
    },
    "pagerank": {
        "local": "algorithms.pagerank:pagerank",
        "layered": "layered.algorithms:pagerank",
        "distributed": "distributed.pagerank:pagerank",
        "distributed_layered": "distributed.layered:pagerank",
        "frames": "relational.pagerank:pagerank",
    },
    "connected_components": {
        "local": "algorithms.components:connected_components",
        "layered": "layered.components:connected_components",
        "distributed": "distributed.components:connected_components",
        "distributed_layered": "distributed.layered_tiles:connected_components",
        "frames": "relational.components:connected_components",
    },
    "core_number": {
        "local": "algorithms.core_number:core_number",
        "layered": "layered.core_number:core_number",
        "distributed": "distributed.core_number:core_number",
        "distributed_layered": "distributed.layered_tiles:core_number",
        "frames": "relational.core_number:core_number",
    },
    "label_propagation": {
        "local": "algorithms.label_propagation:label_propagation",
        "layered": "layered.label_propagation:label_propagation",
        "distributed": "distributed.label_propagation:label_propagation",
        "distributed_layered": "distributed.layered_tiles:label_propagation",
        "frames": "relational.label_propagation:label_propagation",
    },
    "structural_similarity": {
        "local": "algorithms.similarity:structural_similarity",
        "layered": "layered.neighbor_similarity:structural_similarity",
        "distributed": "distributed.scan:structural_similarity",
        "distributed_layered": "distributed.layered_similarity:structural_similarity",
        "frames": "relational.scan:structural_similarity",
    },
    "scan": {
        "local": "algorithms.scan:scan",
        "distributed": "distributed.scan:scan",
        "frames": "relational.scan:scan",
    },
    "neighbor_similarity": {
        "local": "algorithms.neighbor_similarity:neighbor_similarity",
        "layered": "layered.neighbor_similarity:neighbor_similarity",
        "distributed": "distributed.neighbor_similarity:neighbor_similarity",
        "distributed_layered": "distributed.layered_similarity:neighbor_similarity",
        "frames": "relational.neighbor_similarity:neighbor_similarity",
    },
    "triangle_count": {
        "local": "algorithms.triangles:triangle_count",
        "layered": "layered.triangles:triangle_count",
        "distributed": "distributed.triangles:triangle_count",
        "distributed_layered": "distributed.layered_tiles:triangle_count",
        "frames": "relational.triangles:triangle_count",
    },
    "clustering_coefficient": {
        "local": "algorithms.triangles:clustering_coefficient",
        "layered": "layered.triangles:clustering_coefficient",
        "distributed": "distributed.triangles:clustering_coefficient",
        "distributed_layered": "distributed.layered_tiles:clustering_coefficient",
        "frames": "relational.triangles:clustering_coefficient",
    },
}

# What `Graph` and `LayeredEdgeList` call for Dask frames, distributed graphs and clusters.
DISTRIBUTED_FUNCTIONS = {
    "build_graph": "distributed.graph:DistributedGraph.from_frame",
    "build_layered": "relational.layered_build:build_storage",
    "degrees": "distributed.edges:degrees",
    "edges": "distributed.edges:edges",
    "neighborhood": "distributed.derived_graph:neighborhood",
    "open_layered": "distributed.layered_storage:DistributedLayeredStorage",
    "reverse": "distributed.derived_graph:reverse",
    "subgraph": "distributed.derived_graph:subgraph",
    "to_undirected": "distributed.derived_graph:to_undirected",
}


def load(reference: str) -> Callable[..., Any]:
    """Import what ``"module:name"`` refers to, relative to this package."""
    module, name = reference.split(":")
    return operator.attrgetter(name)(_import_module(module))


@functools.cache  # a lookup of an imported module takes longer
def _import_module(name: str) -> ModuleType:
    return importlib.import_module(f"{__package__}.{name}")


register_distributed(lambda name: load(DISTRIBUTED_FUNCTIONS[name]))


def engine_of(graph: GraphLike) -> Engine:
    """Return the column of `IMPLEMENTATIONS` for a graph or edge frame."""
    storage = storage_of(graph)
    if isinstance(storage, Storage):
        return storage.engine
    return "distributed" if frames.is_dask(storage) else "local"


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
    engine = engine_of(graph)
    is_layered = engine in LAYERED
    is_relational = method == "frames" and not is_layered
    if is_relational:
        engine = "frames"
    if engine not in row:
        raise unsupported_error(algorithm, engine)
    if method != "auto" and not is_relational and engine != "local":
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
    implementation = load(row[engine])
    if not logger.isEnabledFor(logging.INFO):
        return implementation(graph, parameters)
    logger.info("%s: %s, method %r", algorithm, ENGINES[engine], method)
    start_time = time.perf_counter()
    result = implementation(graph, parameters)
    logger.info("%s: done in %.3f s", algorithm, time.perf_counter() - start_time)
    return result


def _warn_about_weights(algorithm: str, graph: GraphLike) -> None:
    """Warn if an algorithm uses no weights, but the edge frame has columns that may be weights."""
    call, policy = Storage.build_call, ""
    if isinstance(graph, Storage):
        candidates, call = graph.weight_candidates, graph.build_call
    else:
        candidates = frames.find_weight_candidates(graph, ENDPOINTS)
        policy = FRAME_OPTIONS[algorithm]["multi_edges"]
    if not candidates:
        return
    arguments, merged = f"weight={candidates[0]!r}", ""
    if policy:  # of the frame, which a Graph does not have by default
        arguments += f", multi_edges={policy!r}"
        merged = f" and {frames.POLICY_EFFECTS[policy]}"
    noun = "column" if call == Storage.build_call else "attribute"
    warn(
        f"{algorithm} uses no weights, as the edges have no {noun} 'weight'; {noun}s of numbers: "
        f"{frames.list_weight_candidates(candidates)}; {call}, {arguments}) uses one of them"
        f"{merged}, {call}, weight=None) none",
        WeightWarning,
    )


def unsupported_error(name: str, unsupported: Engine) -> GraphError:
    """Return the error for an algorithm that an engine does not have."""
    if unsupported == "frames":
        return GraphError(
            f"{name} has no frame form; use {{parameter}} 'auto'",
            parameter="method",
            value="frames",
        )
    if unsupported == "distributed":
        frame_form = "use method='frames', or " if "frames" in IMPLEMENTATIONS[name] else ""
        return GraphError(
            f"{name} does not support graphs that are partitioned over a Dask cluster; {frame_form}"
            "call .compute() first",
            parameter="graph",
        )
    supported = [algorithm for algorithm, row in IMPLEMENTATIONS.items() if unsupported in row]
    return GraphError(
        f"{name} does not support layered edge lists; these do: {', '.join(supported)}. Pass a "
        "Graph or an edge frame, which may be a Dask frame",
        parameter="graph",
    )


def in_memory(data: Any) -> Any:
    """Return a graph or frame in the memory of this process, computing Dask's.

    Raises
    ------
    GraphError
        If it is a layered edge list on a cluster, which cannot be collected.
    """
    engine = engine_of(data)
    if engine == "distributed_layered":
        raise GraphError(
            "a layered edge list on a cluster cannot be collected; pass the edges, or a Graph",
            parameter="graph",
        )
    return data.compute() if engine == "distributed" else data
