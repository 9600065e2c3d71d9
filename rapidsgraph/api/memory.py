"""Memory estimates: the public function."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from .. import memory
from ..algorithms.run_memory import Algorithm, MemoryEstimate, estimate_layered_memory
from ..dispatch import IMPLEMENTATIONS, engine_of, unsupported_error
from ..errors import GraphError
from ..graph.local_graph import GraphLike, storage_of
from ..validation import suggest_parameters


@suggest_parameters
@functools.wraps(memory.estimate_memory)
def estimate_memory(
    graph_or_path: GraphLike | str | Path, algorithm: Algorithm, **options: Any
) -> MemoryEstimate:
    engine, storage = engine_of(graph_or_path), storage_of(graph_or_path)
    if engine == "distributed" and storage is not graph_or_path:
        raise GraphError(
            "estimate_memory does not support graphs on a Dask cluster; call .compute() first, or "
            "pass the edges",
            parameter="graph_or_path",
        )
    if engine == "distributed_layered":
        raise GraphError(
            "estimate_memory does not support layered edge lists on a cluster; open the list "
            "without client=",
            parameter="graph_or_path",
            hint="open the list without client=",
        )
    if engine == "layered":
        memory.check_algorithm(algorithm)
        estimate = estimate_layered_memory(storage, algorithm)
        name = "connected_components" if algorithm == "strong_components" else algorithm
        if engine not in IMPLEMENTATIONS.get(name, {}):
            raise unsupported_error(algorithm, engine)
        return estimate
    return memory.estimate_memory(storage, algorithm, **options)


estimate_memory.__module__ = __name__
