"""Verify triangle counts and clustering coefficients: find common neighbors edge by edge."""

from __future__ import annotations

from collections.abc import Iterator

from ..algorithms.similarity import neighborhoods, undirected_graph
from ..device import Array, array_module, count_nonzero
from ..dispatch import in_memory
from ..errors import VerificationError
from ..frames import Frame
from ..graph.build import as_local_graph
from ..graph.csr import Adjacency, row_indices, to_undirected
from ..graph.local_graph import GraphLike, LocalGraph
from ..validation import suggest_parameters
from .result_reader import Result, vertex_name

TOLERANCE = 1e-12  # by which coefficients may differ: rounding
CHUNK_LOOKUPS = 2**21  # neighbors that are looked up at a time


@suggest_parameters
def triangle_count(graph: GraphLike, result: Frame) -> int:
    """Verify a result of `triangle_count`.

    Parameters
    ----------
    graph : Graph or edge frame
        A Dask frame, or the `Graph` of one, is computed.
    result : frame
        Vertex names and `triangles`, one row per vertex, in any order.

    Returns
    -------
    int
        Number of triangles of the graph.

    Raises
    ------
    VerificationError
        If a count is wrong, or a vertex is unknown, missing or repeated; the message names the
        first such vertex.
    GraphError
        If the result has no column `triangles`.

    See Also
    --------
    triangle_count : Count the triangles.

    Notes
    -----
    The common neighbors of the endpoints of every edge are found by binary search, without the
    kernels of `rapidsgraph.triangle_count`. Each is a triangle of the common neighbor.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> rg.verify.triangle_count(edges, rg.triangle_count(edges))
    1
    """
    graph = undirected_graph(in_memory(graph))
    values = Result(graph, result).numbers("triangles")
    adjacency = neighborhoods(graph)
    xp, rows = graph.xp, row_indices(adjacency)
    is_upper = rows < adjacency.neighbors
    edges = rows[is_upper], adjacency.neighbors[is_upper]
    counts = _sum_at_neighbors(graph, adjacency, edges, xp.ones(edges[0].size))
    _check_values(graph, "triangles", values, counts, 0)
    return int(counts.sum()) // 3


@suggest_parameters
def clustering_coefficient(graph: GraphLike, result: Frame) -> float:
    """Verify a result of `clustering_coefficient`.

    Parameters
    ----------
    graph : Graph or edge frame
        A Dask frame, or the `Graph` of one, is computed.
    result : frame
        Vertex names and `coefficient`, one row per vertex, in any order.

    Returns
    -------
    float
        Mean of the coefficients; 0 without vertices.

    Raises
    ------
    VerificationError
        If a coefficient is wrong, or a vertex is unknown, missing or repeated; the message names
        the first such vertex.
    GraphError
        If the result has no column `coefficient`.

    See Also
    --------
    clustering_coefficient : Compute the coefficients.

    Notes
    -----
    The common neighbors of the endpoints of every arc are found by binary search, without the
    kernels of `rapidsgraph.clustering_coefficient`. The arc counts for each of them. Values may
    differ by 1e-12.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> round(rg.verify.clustering_coefficient(edges, rg.clustering_coefficient(edges)), 6)
    0.291667
    """
    graph = as_local_graph(in_memory(graph))
    values = Result(graph, result).numbers("coefficient")
    xp, adjacency = graph.xp, to_undirected(graph.csr)
    keys = xp.unique(pack_arcs(graph.csr))  # without parallel arcs
    sources, destinations = (keys >> 32).astype(xp.int32), (keys & 0x7FFFFFFF).astype(xp.int32)
    is_proper = sources != destinations
    sources, destinations = sources[is_proper], destinations[is_proper]
    edges = xp.minimum(sources, destinations), xp.maximum(sources, destinations)
    edge_keys, num_arcs = xp.unique(edges[0].astype(xp.int64) << 32 | edges[1], return_counts=True)
    edges = (edge_keys >> 32).astype(xp.int32), (edge_keys & 0x7FFFFFFF).astype(xp.int32)
    counts = _sum_at_neighbors(graph, adjacency, edges, num_arcs)
    degrees = xp.diff(adjacency.offsets).astype(xp.float64)
    expected = counts / xp.maximum(degrees * (degrees - 1), 1)
    _check_values(graph, "coefficient", values, expected, TOLERANCE)
    return float(values.mean()) if values.size else 0.0


def _sum_at_neighbors(
    graph: LocalGraph, adjacency: Adjacency, edges: tuple[Array, Array], values: Array
) -> Array:
    """Return the sum of the values of those edges whose endpoints are both neighbors: float64."""
    xp, keys = graph.xp, pack_arcs(adjacency)
    sums = xp.zeros(graph.num_vertices)
    for index, vertices in find_common_neighbors(*edges, adjacency, keys):
        sums += xp.bincount(vertices, weights=values[index], minlength=graph.num_vertices)
    return sums


def _check_values(
    graph: LocalGraph, column: str, values: Array, expected: Array, tolerance: float
) -> None:
    """Raise VerificationError for the first value that differs by more than the tolerance."""
    is_wrong = ~(abs(values - expected) <= tolerance)
    if count_nonzero(is_wrong):
        vertex = int(is_wrong.argmax())
        raise VerificationError(
            f"{vertex_name(graph, vertex)} has {column} {float(values[vertex]):.12g}; its edges "
            f"make it {float(expected[vertex]):.12g}",
            column=column,
            value=float(values[vertex]),
        )


def pack_arcs(adjacency: Adjacency) -> Array:
    """Return all arcs as row << 32 | neighbor, ascending: int64."""
    rows = row_indices(adjacency)
    return rows.astype(array_module(rows).int64) << 32 | adjacency.neighbors


def find_common_neighbors(
    sources: Array, destinations: Array, adjacency: Adjacency, keys: Array
) -> Iterator[tuple[Array, Array]]:
    """Yield the common neighbors of pairs (u, v), chunk by chunk.

    Parameters
    ----------
    sources, destinations : int32 arrays, shape (pairs,)
        Vertices that have neighbors.
    adjacency : Adjacency
        Ascending, with both directions of every edge, without self-loops and parallel arcs.
    keys : int64 array
        As in `pack_arcs`.

    Yields
    ------
    pairs : integer array
        Index of the pair of each common neighbor, ascending.
    vertices : int32 array
        The common neighbors.
    """
    xp, offsets = array_module(keys), adjacency.offsets
    if not sources.size:
        return
    source_degrees, destination_degrees = (
        offsets[1:][ends] - offsets[ends] for ends in (sources, destinations)
    )
    is_source = source_degrees <= destination_degrees  # the endpoint whose neighbors are looked up
    smaller = xp.where(is_source, sources, destinations)
    larger = xp.where(is_source, destinations, sources)
    degrees = xp.where(is_source, source_degrees, destination_degrees)
    stops = xp.cumsum(degrees)
    starts = stops - degrees
    num_lookups = int(stops[-1])
    for start in range(0, num_lookups, CHUNK_LOOKUPS):
        stop = min(start + CHUNK_LOOKUPS, num_lookups)
        bounds = xp.searchsorted(stops, xp.asarray([start, stop - 1]), side="right")
        first_pair, last_pair = bounds.tolist()
        pairs = slice(first_pair, last_pair + 1)
        pair = xp.zeros(stop - start, xp.int32)  # of every lookup, counted from first_pair
        pair[starts[first_pair + 1 : last_pair + 1] - start] = 1  # no list is empty
        pair = xp.cumsum(pair)
        arcs = xp.arange(start, stop) + (offsets[smaller[pairs]] - starts[pairs])[pair]
        lookups = (larger[pairs].astype(xp.int64) << 32)[pair] | adjacency.neighbors[arcs]
        is_common = keys[xp.minimum(xp.searchsorted(keys, lookups), keys.size - 1)] == lookups
        yield first_pair + pair[is_common], adjacency.neighbors[arcs[is_common]]
