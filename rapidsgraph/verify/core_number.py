"""Verify core numbers by the degrees within cores, and by an order of removal."""

from __future__ import annotations

import numpy as np

from ..algorithms.similarity import neighborhoods, undirected_graph
from ..device import count_nonzero, to_host
from ..dispatch import in_memory
from ..errors import VerificationError
from ..frames import Frame
from ..graph.csr import Adjacency, filter_offsets, row_indices
from ..graph.local_graph import GraphLike
from ..validation import suggest_parameters
from .result_reader import Result, vertex_name


@suggest_parameters
def core_number(graph: GraphLike, result: Frame) -> int:
    """Verify a result of `core_number`.

    Parameters
    ----------
    graph : Graph or edge frame
        A Dask frame, or the `Graph` of one, is computed.
    result : frame
        Vertex names and `core`, one row per vertex, in any order.

    Returns
    -------
    int
        Largest core number.

    Raises
    ------
    VerificationError
        If a check fails, a vertex is unknown, missing or repeated, or a value is not an integer
        from 0 on; the message names the first such vertex.
    GraphError
        If the result has no column `core`.

    See Also
    --------
    core_number : Compute the core numbers.

    Notes
    -----
    The checks are independent of the algorithm that made the result. A vertex of core number k has
    k neighbors or more of core number k or more, so that these form a subgraph of that least
    degree. No core number is larger: the vertices can be removed in ascending order of core number,
    each with at most as many remaining neighbors as its core number says.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> rg.verify.core_number(edges, rg.core_number(edges))
    2
    """
    graph = undirected_graph(in_memory(graph))
    cores = Result(graph, result).integers(
        "core", "has core number", "core numbers are integers from 0 on"
    )
    if not graph.num_vertices:
        return 0
    adjacency = neighborhoods(graph)
    rows, neighbors = row_indices(adjacency), adjacency.neighbors
    is_inner = cores[neighbors] >= cores[rows]
    degrees = graph.xp.diff(filter_offsets(is_inner, adjacency.offsets))
    is_wrong = degrees < cores
    if count_nonzero(is_wrong):
        vertex = int(is_wrong.argmax())
        raise VerificationError(
            f"{vertex_name(graph, vertex)} has core number {int(cores[vertex])}, but only "
            f"{int(degrees[vertex])} neighbors of that core number or a larger one",
            column="core",
            value=int(cores[vertex]),
        )
    # There may be a round for every two vertices, and a round takes much longer on a GPU.
    lists = Adjacency(to_host(adjacency.offsets), to_host(neighbors), np.empty(0))
    is_left = _remove_by_level(lists, to_host(degrees), to_host(cores))
    if is_left.any():
        vertex = int(is_left.argmax())
        raise VerificationError(
            f"{vertex_name(graph, vertex)} has core number {int(cores[vertex])}, but is in a "
            f"subgraph in which every vertex has {int(cores[vertex]) + 1} neighbors or more",
            column="core",
            value=int(cores[vertex]),
        )
    return int(cores.max())


def _remove_by_level(adjacency: Adjacency, degrees: np.ndarray, cores: np.ndarray) -> np.ndarray:
    """Return the vertices that cannot be removed with as few neighbors as their core number: bool.

    Parameters
    ----------
    adjacency : Adjacency
    degrees : integer array
        Number of neighbors of the same or a larger core number; overwritten.
    cores : int32 array
        All levels are removed at once, since vertices of smaller core number do not count.
    """
    is_left = np.ones(cores.size, bool)
    removed = np.flatnonzero(degrees == cores)
    while removed.size:
        is_left[removed] = False
        starts = adjacency.offsets[removed]
        sizes = adjacency.offsets[removed + 1] - starts
        stops = np.cumsum(sizes)
        positions = np.arange(int(stops[-1]))
        owners = np.searchsorted(stops, positions, side="right")
        neighbors = adjacency.neighbors[positions + (starts - stops + sizes)[owners]]
        level = cores[removed][owners]
        lowered, counts = np.unique(neighbors[cores[neighbors] == level], return_counts=True)
        degrees[lowered] -= counts
        removed = lowered[is_left[lowered] & (degrees[lowered] <= cores[lowered])]
    return is_left
