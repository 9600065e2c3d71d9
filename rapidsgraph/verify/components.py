"""Verify connected components, and other partitions of the vertices into connected groups."""

from __future__ import annotations

import numpy as np

from .. import kernels
from ..device import Array, array_module, count_nonzero, to_host
from ..dispatch import in_memory
from ..errors import VerificationError
from ..frames import Frame
from ..graph.build import as_local_graph
from ..graph.csr import Adjacency, from_coo, row_indices, transpose
from ..graph.local_graph import GraphLike, LocalGraph
from ..validation import check_flag, suggest_parameters
from .result_reader import Result, vertex_name


@suggest_parameters
def components(graph: GraphLike, result: Frame, *, strong: bool = False) -> int:
    """Verify a result of `connected_components`.

    Parameters
    ----------
    graph : Graph or edge frame
        A Dask frame, or the `Graph` of one, is computed.
    result : frame
        Vertex names and `component`, one row per vertex, in any order.
    strong : bool, default False
        Whether components are strong ones.

    Returns
    -------
    int
        Number of components.

    Raises
    ------
    VerificationError
        If a check fails, a vertex is unknown, missing or repeated, or a value is not a component;
        the message names the first such vertex.
    GraphError
        If the result has no column `component`.

    See Also
    --------
    connected_components : Compute the components.

    Notes
    -----
    The checks are independent of the algorithm that made the result: both endpoints of every edge
    are in one component; every component is connected, by linking the endpoints of edges until no
    link changes; and components are numbered from 0 by descending size, ties by smallest vertex
    name. In a strong component, the smallest vertex reaches all others and is reached by them; the
    graph of the edges between components has no cycle. This takes linear time on a CPU.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 3, 5], "destination": [1, 4, 3]})
    >>> rg.verify.components(edges, rg.connected_components(edges))
    2
    """
    check_flag("strong", strong)
    graph = as_local_graph(in_memory(graph))
    component = Result(graph, result).integers(
        "component", "is in component", "components are numbered from 0"
    )
    if not graph.num_vertices:
        return 0
    sizes, smallest = _measure_components(component)
    if strong:
        check_strong_connections(graph, component, smallest)
    else:
        _check_weak_connections(graph, component, smallest)
    check_group_order(sizes, smallest, graph, "component")
    return sizes.size


def _check_weak_connections(graph: LocalGraph, component: Array, smallest: Array) -> None:
    """Raise VerificationError unless components are connected, and no edge leads out of one."""
    adjacency = graph.csr
    sources, destinations = row_indices(adjacency), adjacency.neighbors
    crosses = component[sources] != component[destinations]
    if count_nonzero(crosses):
        arc = int(crosses.argmax())
        source, destination = int(sources[arc]), int(destinations[arc])
        raise VerificationError(
            f"the edge from {vertex_name(graph, source)}, in component {int(component[source])}, "
            f"leads to {vertex_name(graph, destination)}, in component "
            f"{int(component[destination])}",
            column="component",
        )
    del crosses
    is_apart = connected_minimum(sources, destinations, component.size) != smallest[component]
    if count_nonzero(is_apart):
        vertex = int(is_apart.argmax())
        raise VerificationError(
            f"component {int(component[vertex])} is not connected: no path joins "
            f"{vertex_name(graph, vertex)} and "
            f"{vertex_name(graph, int(smallest[component[vertex]]))}",
            column="component",
            value=int(component[vertex]),
        )


def _measure_components(component: Array) -> tuple[Array, Array]:
    """Return the size and the smallest vertex of every component; check that none is empty."""
    xp, num_vertices = array_module(component), component.size
    sorted_components = xp.sort(component)
    num_components = int(sorted_components[-1]) + 1
    bounds = xp.searchsorted(sorted_components, xp.arange(num_components + 1, dtype=xp.int32))
    sizes = bounds[1:] - bounds[:-1]
    if count_nonzero(sizes) < num_components:
        raise VerificationError(
            f"there is no component {int((sizes == 0).argmax())}, but there is a component "
            f"{num_components - 1}",
            column="component",
            value=int((sizes == 0).argmax()),
        )
    vertices = xp.arange(num_vertices, dtype=xp.int32)
    return sizes, smallest_members(component, vertices, num_components, num_vertices)


def smallest_members(groups: Array, vertices: Array, num_groups: int, empty: int) -> Array:
    """Return the smallest vertex of every group: int32, `empty` for an empty group.

    Parameters
    ----------
    groups : integer array
        The group of each of the `vertices`.
    vertices : int32 array
    num_groups, empty : int
    """
    xp = array_module(vertices)
    smallest = xp.full(num_groups, empty, xp.int32)
    xp.minimum.at(smallest, groups, vertices)
    return smallest


def connected_minimum(sources: Array, destinations: Array, num_vertices: int) -> Array:
    """Return the smallest vertex of every vertex's connected component: int32.

    Where arcs connect two trees, the larger root is linked to the smaller one; then all vertices
    are linked to their roots.
    """
    xp = array_module(sources)
    parents = xp.arange(num_vertices, dtype=xp.int32)
    while True:
        is_open = sources != destinations
        sources, destinations = sources[is_open], destinations[is_open]
        if not sources.size:
            return parents
        xp.minimum.at(parents, xp.maximum(sources, destinations), xp.minimum(sources, destinations))
        while True:
            grandparents = parents[parents]
            if not count_nonzero(grandparents != parents):
                break
            parents = grandparents
        sources, destinations = parents[sources], parents[destinations]


def check_group_order(sizes: Array, smallest: Array, graph: LocalGraph, kind: str) -> None:
    """Check that groups are sorted by descending size, ties by smallest vertex."""
    is_wrong = sizes[:-1] < sizes[1:]
    is_wrong |= (sizes[:-1] == sizes[1:]) & (smallest[:-1] > smallest[1:])
    if count_nonzero(is_wrong):
        first = int(is_wrong.argmax())
        groups = [
            f"{group} (size {int(sizes[group])}, smallest "
            f"{vertex_name(graph, int(smallest[group]))})"
            for group in (first, first + 1)
        ]
        raise VerificationError(
            f"{kind} {groups[0]} must come after {groups[1]}", column=kind, value=first
        )


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
