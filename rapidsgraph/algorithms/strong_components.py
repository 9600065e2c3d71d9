"""Strong components of a graph on one CPU or GPU.

A CPU searches depth-first, unless all arcs have reverse arcs, as in road networks, whose strong
components are the weak ones. A GPU trims vertices without active neighbors in either direction,
finds the component of a vertex of many neighbors by a forward and a backward BFS [1]_, which on
most graphs is the largest one, and colors what is left.

References
----------
.. [1] L. Fleischer, B. Hendrickson and A. Pinar, "On identifying strongly connected components in
   parallel", IPDPS Workshops 2000. https://doi.org/10.1007/3-540-45591-4_68
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import device, kernels
from ..device import Array
from ..graph.csr import Adjacency
from ..kernels.constants import NO_VERTEX, WARP
from .traversal import run_bfs

MAX_TRIMS = 16  # rounds of trimming in a row; each may remove the ends of a path only
MAX_ROUNDS = 1000  # of colors, which follow a path by one arc per round


def find_strong_roots(graph: Any) -> Array:
    """Return the smallest vertex of every vertex's strong component: int32, shape (vertices,).

    `graph` is a LocalGraph or has the same layouts; a CPU uses CSR only.
    """
    if graph.xp is not np:
        roots = find_by_coloring(graph)
        if roots is not None:
            return roots
    offsets, neighbors = map(device.to_host, (graph.csr.offsets, graph.csr.neighbors))
    return graph.xp.asarray(_find_on_host(offsets, neighbors))


def _find_on_host(offsets: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    num_vertices = offsets.size - 1
    roots, has_one_way_arcs = np.empty(num_vertices, np.int32), np.zeros(1, np.bool_)
    kernels.strong_components.join_two_way_arcs(offsets, neighbors, roots, has_one_way_arcs)
    if not has_one_way_arcs[0]:
        return roots
    components = roots  # reuses the memory
    kernels.strong_components.find_components(offsets, neighbors, components)
    vertices = np.arange(num_vertices, dtype=np.int32)
    smallest = np.empty(num_vertices, np.int32)  # of each component
    smallest[components[::-1]] = vertices[::-1]  # the last assignment remains
    return smallest[components]


@dataclass
class _ReversedGraph:
    """A graph with all arcs reversed, as `run_bfs` takes it."""

    xp: Any
    num_vertices: int
    num_arcs: int
    csr: Adjacency
    csc: Adjacency


def find_by_coloring(graph: Any) -> Array | None:
    """Return what `find_strong_roots` returns, or None if colors have not settled in time."""
    xp, num_vertices, csr, csc = graph.xp, graph.num_vertices, graph.csr, graph.csc
    roots = device.full(num_vertices, NO_VERTEX, xp.int32, xp)
    active = _trim(device.arange(num_vertices, xp.int32, xp), csr, csc, roots)
    if not active.size:
        return roots
    pivot = _vertex_of_many_neighbors(active, csr, csc)
    reverse = _ReversedGraph(xp, num_vertices, graph.num_arcs, csc, csr)
    arguments: dict[str, Any] = {
        "size": num_vertices, "num_vertices": num_vertices,
        "distances": run_bfs(graph, pivot, predecessors=False).distances,
        "in_distances": run_bfs(reverse, pivot, predecessors=False).distances,
        "smallest": device.full(1, NO_VERTEX, xp.int32, xp),
    }  # fmt: skip
    device.launch("coloring", "find_smallest", **arguments)
    device.launch("coloring", "join_reached", roots=roots, **arguments)
    del arguments
    active = _select_active(active, roots)
    colors = xp.empty(num_vertices, xp.int32)
    while active.size:
        active = _trim(active, csr, csc, roots)
        device.launch(
            "coloring", "reset_colors", size=active.size,
            num_active=active.size, active=active, colors=colors,
        )  # fmt: skip
        arguments = {
            "num_active": active.size, "active": active, "offsets": csr.offsets,
            "neighbors": csr.neighbors, "roots": roots, "colors": colors,
        }  # fmt: skip
        for entry in ("lower_colors", "join_roots"):
            if not _repeat(entry, arguments):
                return None
        active = _select_active(active, roots)
    return roots


def _trim(active: Array, csr: Adjacency, csc: Adjacency, roots: Array) -> Array:
    """Set the roots of components of one vertex, and return the active vertices that are left."""
    for _ in range(MAX_TRIMS):
        num_before = active.size
        device.launch(
            "coloring", "trim", size=active.size, num_active=active.size, active=active,
            offsets=csr.offsets, neighbors=csr.neighbors, in_offsets=csc.offsets,
            in_neighbors=csc.neighbors, roots=roots,
        )  # fmt: skip
        active = _select_active(active, roots)
        if active.size == num_before:
            break
    return active


def _select_active(active: Array, roots: Array) -> Array:
    is_active = device.array_module(active).empty(active.size, bool)
    device.launch(
        "coloring", "mark_active", size=active.size,
        num_active=active.size, active=active, roots=roots, is_active=is_active,
    )  # fmt: skip
    return device.compress(is_active, active)[0]


def _vertex_of_many_neighbors(active: Array, csr: Adjacency, csc: Adjacency) -> Array:
    """Return the vertex with the largest product of out-degree and in-degree: shape (1,)."""
    products = device.array_module(active).empty(active.size, np.float64)
    device.launch(
        "coloring", "multiply_degrees", size=active.size, num_active=active.size, active=active,
        offsets=csr.offsets, in_offsets=csc.offsets, products=products,
    )  # fmt: skip
    return device.take(active, products.argmax().reshape(1))


def _repeat(entry: str, arguments: dict[str, Any]) -> bool:
    """Launch a kernel until it changes nothing; return False if that takes too many rounds."""
    xp = device.array_module(arguments["active"])
    for _ in range(MAX_ROUNDS):
        has_changed = xp.zeros(1, xp.int64)
        device.launch(
            "coloring", entry, size=WARP * arguments["num_active"], has_changed=has_changed,
            **arguments,
        )  # fmt: skip
        if not int(has_changed[0]):
            return True
    return False
