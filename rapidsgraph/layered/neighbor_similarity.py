"""Similarities of neighborhoods in a layered edge list whose edges may exceed memory.

The lists of two vertices are compared while the tiles of both are in memory. The pairs, or in the
end all edges, and their similarities are in memory as well, as are the frames of results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import device
from ..algorithms.neighbor_similarity import compare, count_pairs, find_pairs
from ..algorithms.parameters import Parameters, SimilarityParameters
from ..algorithms.run_memory import PAIR_BYTES, Algorithm, max_undirected_edges
from ..algorithms.similarity import count_by_triangles
from ..device import Array
from ..frames import Frame
from ..graph.csr import Adjacency, permute, row_indices
from ..graph.pair_sort import sort_pairs
from ..graph.vertex_names import Labeling
from .storage import LayeredStorage
from .sweeps import to_vertex_order
from .tiles import Tiles, open_tiles, sort_lists

TITLE = "neighbor similarity"


@dataclass(frozen=True)
class ComparedPairs:
    """Pairs of vertices, and how many neighbors they have in common.

    Attributes
    ----------
    sources, destinations : int32 array, shape (pairs,)
        Vertex ids.
    common : int32 array, shape (pairs,)
        Number of common neighbors, without the vertices of the pair.
    degrees : int64 array, shape (vertices,)
        Number of distinct neighbors by vertex id; any value for vertices in no pair.
    """

    sources: Array
    destinations: Array
    common: Array
    degrees: Array


def neighbor_similarity(storage: LayeredStorage, parameters: SimilarityParameters) -> Frame:
    """Compare neighborhoods in a layered edge list; see `rapidsgraph.neighbor_similarity`."""
    labeling, kind, limit = storage.labeling, parameters.kind, parameters.memory_limit
    labeling.check_edge_collisions(kind)
    if parameters.pairs is None:
        pairs = sort_edges(*count_edges(storage, "neighbor_similarity", TITLE, limit))
    else:
        pairs = compare_pairs(storage, *find_pairs(labeling, parameters.pairs), limit)
    return create_pair_frame(labeling, pairs, kind)


def structural_similarity(storage: LayeredStorage, parameters: Parameters) -> Frame:
    """Compare endpoints of edges; see `rapidsgraph.structural_similarity`."""
    storage.labeling.check_edge_collisions("similarity")
    limit, title = parameters.memory_limit, "structural similarity"
    pairs = sort_edges(*count_edges(storage, "structural_similarity", title, limit))
    return create_pair_frame(storage.labeling, pairs, "similarity")


def create_pair_frame(labeling: Labeling, pairs: ComparedPairs, column: str) -> Frame:
    """Return the frame of a kind of neighbor similarity, or of the structural "similarity"."""
    if column == "similarity":
        sizes = pairs.degrees.astype(np.float64) + 1
        values = sizes[pairs.sources] * sizes[pairs.destinations]
        values = (pairs.common + np.int32(2)) / np.sqrt(values)
    else:
        degrees = pairs.degrees[pairs.sources], pairs.degrees[pairs.destinations]
        values = compare(column, pairs.common, *degrees)
    return labeling.edge_frame(pairs.sources, pairs.destinations, {column: values})


def count_edges(
    storage: LayeredStorage,
    algorithm: Algorithm,
    title: str,
    memory_limit: int | str | None,
    rank: int = 0,
    size: int = 1,
) -> tuple[list[Array], Array, Array]:
    """Count the common neighbors of the endpoints of every edge, each rank of its own tiles.

    Returns
    -------
    ends : list of two int32 arrays, shape (edges,)
        Sources and destinations: edges of the undirected simple graph, in any order, with the
        smaller id first.
    common, degrees : arrays
        See `ComparedPairs`. Degrees are 0 for vertices whose lists this rank has not loaded; it has
        loaded those of its tiles.
    """
    xp, result_bytes = storage.xp, PAIR_BYTES * max_undirected_edges(storage)
    empty = xp.empty(0, xp.int32)
    with open_tiles(storage, algorithm, title, memory_limit, result_bytes, rank, size) as tiles:
        degrees = xp.zeros(storage.num_vertices, np.int64)
        parts = (empty, empty, empty), *_count_edges(tiles, degrees)
    columns = [list(arrays) for arrays in zip(*parts, strict=True)]
    del parts
    # Arrays of parts are freed one by one.
    sources, destinations, common = (xp.concatenate(columns.pop(0)) for _ in range(3))
    sources, destinations = storage.order[sources], storage.order[destinations]
    ends = [xp.minimum(sources, destinations), xp.maximum(sources, destinations)]
    return ends, common, to_vertex_order(storage, degrees)


def sort_edges(ends: list[Array], common: Array, degrees: Array) -> ComparedPairs:
    """Return edges sorted by sources and destinations; `ends` is emptied, to free memory early."""
    offsets, neighbors, order, _ = sort_pairs(ends, degrees.size, with_order=True)
    common = permute(common, order)
    del order
    sources = row_indices(Adjacency(offsets, neighbors, degrees[:0]))
    return ComparedPairs(sources, neighbors, common, degrees)


def _count_edges(tiles: Tiles, degrees: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield the edges of a rank's tiles as positions, and their numbers of common neighbors.

    Fill in the degrees.
    """
    xp, bounds, other = tiles.storage.xp, tiles.bounds, None
    for index in tiles.local_tiles:
        tile, other = other, None  # the last one that was loaded, if it is the next one
        if tile is None or tile[0] != index:
            tile = None
            tile = index, _load_sorted(tiles, index, degrees)
        adjacency = tile[1]
        rows, columns = row_indices(adjacency), adjacency.neighbors
        is_upper = rows < columns
        if len(tiles) == 1:
            common = count_by_triangles(adjacency)[is_upper]
            common -= np.int32(2)  # without both endpoints
            yield rows[is_upper], columns[is_upper], common
            return
        rows, columns = rows[is_upper], columns[is_upper]
        common = xp.zeros(rows.size, xp.int32)
        del is_upper
        last = index
        if rows.size:
            last = tiles.find(index, int(columns.max()))[-1]
        for neighbor in (*range(index, index + 1), *range(index + 2, last + 1), index + 1):
            if neighbor > last:
                continue
            is_in = columns >= bounds[neighbor]
            is_in &= columns < bounds[neighbor + 1]
            selected = xp.flatnonzero(is_in)
            del is_in
            if not selected.size:
                continue
            other = None  # frees the last one before the next one is loaded
            if neighbor != index:
                other = neighbor, _load_sorted(tiles, neighbor, degrees)
            lists = _concatenate(adjacency, other[1]) if other else adjacency
            common[selected] = count_pairs(lists, rows[selected], columns[selected])
        yield rows, columns, common


def compare_pairs(
    storage: LayeredStorage, sources: Array, destinations: Array, memory_limit: int | str | None
) -> ComparedPairs:
    """Count the common neighbors of pairs of vertex ids, of which the tiles are loaded."""
    xp, num_pairs = storage.xp, sources.size
    degrees = xp.zeros(storage.num_vertices, np.int64)
    common = xp.zeros(num_pairs, xp.int32)
    result_bytes = PAIR_BYTES * num_pairs
    with open_tiles(storage, "neighbor_similarity", TITLE, memory_limit, result_bytes) as tiles:
        positions = xp.empty(storage.num_vertices, xp.int32)
        positions[storage.order] = xp.arange(storage.num_vertices, dtype=xp.int32)
        one, other = positions[sources], positions[destinations]
        low, high = xp.minimum(one, other), xp.maximum(one, other)
        del positions, one, other
        bounds = xp.asarray(tiles.bounds, xp.int32)
        keys = xp.searchsorted(bounds, low, side="right") - 1
        keys *= len(tiles)
        keys += xp.searchsorted(bounds, high, side="right") - 1
        order = xp.argsort(keys)
        keys, starts = np.unique(device.to_host(keys[order]), return_index=True)
        stops = np.append(starts, num_pairs)[1:].tolist()
        tile: tuple[int, Adjacency] | None = None
        lists = None
        for key, start, stop in zip(keys.tolist(), starts.tolist(), stops, strict=True):
            first, second = divmod(key, len(tiles))
            lists = None  # frees the last ones before the next ones are loaded
            if tile is None or tile[0] != first:
                tile = None
                tile = first, _load_sorted(tiles, first, degrees)
            lists = tile[1]
            if second != first:
                lists = _concatenate(lists, _load_sorted(tiles, second, degrees))
            selected = order[start:stop]
            common[selected] = count_pairs(lists, low[selected], high[selected])
    return ComparedPairs(sources, destinations, common, to_vertex_order(storage, degrees))


def _load_sorted(tiles: Tiles, tile: int, degrees: Array) -> Adjacency:
    """Return the sorted distinct neighbors of a tile's vertices; fill in their degrees."""
    start, stop = tiles.bounds[tile : tile + 2]
    adjacency = tiles.load_simple(tile)
    sort_lists(adjacency, start, stop)
    degrees[start:stop] = tiles.storage.xp.diff(adjacency.offsets[start : stop + 1])
    return adjacency


def _concatenate(first: Adjacency, second: Adjacency) -> Adjacency:
    """Return the lists of two tiles, of which the second one has later vertices."""
    xp = device.array_module(first.neighbors)
    neighbors = xp.concatenate((first.neighbors, second.neighbors))
    return Adjacency(first.offsets + second.offsets, neighbors, first.weights)
