"""SciPy, on one thread, and the loops over a CSR matrix that cuSPARSE shares."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from pipelines.benchmarks.adapters import DAMPING, Library
from pipelines.benchmarks.answers import PRECISIONS, tree_depths
from pipelines.benchmarks.graphs import Workload, pack

library = Library("SciPy", "one thread")
add = library.add


def transition_matrix(case: Workload, sparse: Any, dtype: type) -> tuple[Any, Any]:
    """Return the matrix of PageRank, and the dangling vertices."""
    (sources, destinations), xp = case.arcs, case.xp
    degrees = xp.bincount(sources, minlength=case.vertices)
    weights = (1 / xp.maximum(degrees, 1))[sources].astype(dtype)
    shape = (case.vertices, case.vertices)
    matrix = sparse.csr_matrix((weights, (destinations, sources)), shape=shape)
    matrix.sum_duplicates()  # there are none; cuSPARSE's product requires the flag
    return matrix, xp.flatnonzero(degrees == 0)


def pagerank(graph: Any, case: Workload, iterations: int, product: Callable) -> Any:
    matrix, dangling = graph
    values = case.xp.full(case.vertices, 1 / case.vertices, matrix.dtype)
    for _ in range(iterations):
        new_values = product(matrix, values)
        new_values *= DAMPING
        new_values += (DAMPING * values[dangling].sum() + (1 - DAMPING)) / case.vertices
        _ = case.xp.abs(new_values - values).sum()  # the change, which a caller would look at
        values = new_values
    return values


def build(_: None, case: Workload, sparse: Any) -> Any:
    ends, shape = (case.source, case.destination), (case.vertices, case.vertices)
    if not case.directed:
        ends = case.xp.concatenate(ends), case.xp.concatenate(ends[::-1])
    values = case.xp.ones(case.rows, np.float32) if case.weight is None else case.weight
    matrix = sparse.csr_matrix((case.xp.resize(values, ends[0].size), ends), shape=shape)
    matrix.sum_duplicates()
    return matrix


def add_matrix_entries(library: Library, sparse: Any, product: Callable = operator.matmul) -> None:
    """Add PageRank and builds by NumPy and SciPy, or by CuPy."""
    for precision, dtype in PRECISIONS.items():
        library.add("pagerank", "CSR loop", partial(pagerank, product=product),
                    partial(transition_matrix, sparse=sparse, dtype=dtype),
                    precision=precision)  # fmt: skip
    library.add("build", "CSR by source", partial(build, sparse=sparse), by="source",
                convert=lambda matrix, case: pack(*matrix.tocoo().coords))  # fmt: skip


def weighted(case: Workload) -> Any:
    """Return the adjacency with weights, or with ones."""
    weights = np.ones(case.arcs[0].size) if case.weight is None else case.arc_weights
    return sparse.csr_matrix((weights, case.arcs), shape=(case.vertices, case.vertices))


add_matrix_entries(library, sparse)
add("bfs", "breadth_first_order",
    lambda graph, case: csgraph.breadth_first_order(graph, case.start), weighted,
    lambda answer, case: tree_depths(*answer), predecessors=True,
    note="gives no distances")  # fmt: skip
add("sssp", "dijkstra",
    lambda graph, case: csgraph.dijkstra(graph, indices=case.start, return_predecessors=True),
    weighted, lambda answer, case: answer[0], predecessors=True)  # fmt: skip
add("sssp", "dijkstra", lambda graph, case: csgraph.dijkstra(graph, indices=case.start), weighted,
    predecessors=False)  # fmt: skip
add("components", "connected_components",
    lambda graph, case: csgraph.connected_components(graph, directed=case.directed)[1],
    weighted)  # fmt: skip
add("strong components", "connected_components",
    lambda graph, case: csgraph.connected_components(graph, connection="strong")[1],
    weighted)  # fmt: skip
