"""Common neighbors of the endpoints of edges, by binary search."""

from __future__ import annotations

from collections.abc import Iterator

from ..device import Array, array_module
from ..graph.csr import Adjacency, row_indices

CHUNK_LOOKUPS = 2**21  # neighbors that are looked up at a time


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
