"""Core numbers by peeling: the vertices of least degree are removed, level by level."""

from __future__ import annotations

import numpy as np

from .. import device
from ..device import Array
from ..frames import Frame
from ..graph.csr import Adjacency
from ..graph.local_graph import GraphLike
from ..kernels.constants import COOPERATIVE_THREADS, CORE_COUNTERS, FRONTIER_CHUNK
from .parameters import Parameters
from .run_memory import check_run_memory
from .similarity import measure_degrees, neighborhoods, undirected_graph


def core_number(graph: GraphLike, parameters: Parameters) -> Frame:
    """Find the core number of every vertex; see `rapidsgraph.core_number`."""
    graph = undirected_graph(graph, "core numbers")
    graph.labeling.check_name_collisions("core")
    check_run_memory(graph, "core_number", f"core numbers of {graph.num_edges:,} edges")
    return graph.labeling.vertex_frame({"core": find_core_numbers(neighborhoods(graph))})


def find_core_numbers(adjacency: Adjacency) -> Array:
    """Return the core number of every vertex: int32, shape (vertices,).

    Parameters
    ----------
    adjacency : Adjacency
        Both directions of every edge, without self-loops and parallel edges.
    """
    xp = device.array_module(adjacency.neighbors)
    num_vertices, num_arcs = adjacency.offsets.size - 1, adjacency.neighbors.size
    cores = measure_degrees(adjacency)
    num_buffers, num_chunks = 1, 0
    if xp is not np:
        num_buffers, num_chunks = 2, 4 * (num_arcs // FRONTIER_CHUNK + 2)
    device.launch(
        "core_number", "peel", size=num_vertices + num_arcs // 4, threads=COOPERATIVE_THREADS,
        cooperative=True, num_vertices=num_vertices, num_arcs=num_arcs,
        offsets=adjacency.offsets, neighbors=adjacency.neighbors, cores=cores,
        remaining=xp.empty(num_buffers * num_vertices, xp.int32),
        queues=xp.empty(num_buffers * num_vertices, xp.int32),
        chunks=xp.empty(num_chunks, xp.int64), counters=xp.zeros(CORE_COUNTERS, xp.int64),
        arrived_blocks=xp.zeros(1, xp.uint64),
    )  # fmt: skip
    return cores
