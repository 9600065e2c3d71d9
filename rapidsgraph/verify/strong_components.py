"""Verify that components are strongly connected, and as large as possible."""

from __future__ import annotations

import numpy as np

from .. import kernels
from ..device import Array, to_host
from ..errors import VerificationError
from ..graph.csr import Adjacency, from_coo, row_indices, transpose
from ..graph.local_graph import LocalGraph
from .result_reader import vertex_name


def check_strong_connections(graph: LocalGraph, component: Array, smallest: Array) -> None:
    """Raise VerificationError unless components are the strong ones of a graph.

    The vertices of a component reach each other if its smallest vertex reaches them, and they it,
    along arcs within the component. Components are as large as possible if the graph of the arcs
    between them has no cycle.

    Parameters
    ----------
    graph : LocalGraph
    component : int32 array, shape (vertices,)
    smallest : int32 array
        The smallest vertex of each component.
    """
    csr = graph.csr
    adjacency = Adjacency(to_host(csr.offsets), to_host(csr.neighbors), np.empty(0))
    component, smallest = to_host(component), to_host(smallest)
    for direction in (adjacency, transpose(adjacency)):
        is_reached = np.zeros(component.size, bool)
        kernels.reachability.reach_members(
            direction.offsets, direction.neighbors, component, smallest, is_reached
        )
        if not is_reached.all():
            vertex = int((~is_reached).argmax())
            number, ends = int(component[vertex]), [int(smallest[component[vertex]]), vertex]
            source, destination = ends if direction is adjacency else reversed(ends)
            raise VerificationError(
                f"component {number} is not strongly connected: no path in it leads from "
                f"{vertex_name(graph, source)} to {vertex_name(graph, destination)}",
                column="component",
                value=number,
            )
    cycle = _find_cycle(adjacency, component, smallest.size)
    if cycle is not None:
        first, second = (vertex_name(graph, int(smallest[number])) for number in cycle)
        raise VerificationError(
            f"components {cycle[0]} and {cycle[1]} are one: paths lead from {first} to {second} "
            "and back",
            column="component",
            value=cycle[0],
        )


def _find_cycle(
    adjacency: Adjacency, component: np.ndarray, num_components: int
) -> tuple[int, int] | None:
    """Return two components on one cycle of the arcs between components, or None."""
    ends = [component[row_indices(adjacency)], component[adjacency.neighbors]]
    is_between = ends[0] != ends[1]
    sources, destinations = (numbers[is_between] for numbers in ends)
    condensation = from_coo([sources, destinations, None], num_components, "keep")
    in_degrees = np.bincount(destinations, minlength=num_components)
    kernels.reachability.remove_acyclic(condensation.offsets, condensation.neighbors, in_degrees)
    if not in_degrees.any():
        return None
    is_left = (in_degrees[sources] > 0) & (in_degrees[destinations] > 0)
    predecessors = np.empty(num_components, np.int32)
    predecessors[destinations[is_left]] = sources[is_left]
    number, visited = int(in_degrees.argmax()), set()
    while number not in visited:  # the walk ends in a cycle
        visited.add(number)
        number = int(predecessors[number])
    return int(predecessors[number]), number
