"""Triangles and clustering coefficients of a layered edge list whose edges may exceed memory.

As in `algorithms.triangles` a triangle is found at its vertex of the middle rank, whose list is
intersected with those of its neighbors. Two tiles are in memory for it: one with the lists of the
middle vertices, one with those of the neighbors. In an undirected list, the neighbors of a vertex
are in its own layer or in an adjacent one, and those of an unreached vertex are unreached, so that
few pairs of tiles have edges in common. In a directed one, a backward edge may lead to any layer
before, so that all pairs may have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algorithms import triangles as in_memory
from ..algorithms.parameters import Parameters
from ..algorithms.triangles import (
    RankedRows,
    count_in_lists,
    divide_by_pairs,
    rank_by_degree,
    relabel,
)
from ..device import Array
from ..frames import Frame
from .storage import LayeredStorage
from .sweeps import to_vertex_order
from .tiles import POSITION_BITS, Tiles, open_tiles, sort_lists


def triangle_count(storage: LayeredStorage, parameters: Parameters) -> Frame:
    """Count the triangles of a layered edge list; see `rapidsgraph.triangle_count`."""
    storage.labeling.check_name_collisions("triangles")
    with open_tiles(storage, "triangle_count", "triangles", parameters.memory_limit) as tiles:
        counts, _ = count_by_vertex(tiles, has_flags=False)
    return storage.labeling.vertex_frame({"triangles": to_vertex_order(storage, counts)})


def clustering_coefficient(storage: LayeredStorage, parameters: Parameters) -> Frame:
    """Compute coefficients of a layered edge list; see `rapidsgraph.clustering_coefficient`."""
    storage.labeling.check_name_collisions("coefficient")
    limit, directed = parameters.memory_limit, storage.directed
    title = "clustering coefficients"
    with open_tiles(storage, "clustering_coefficient", title, limit) as tiles:
        counts, degrees = count_by_vertex(tiles, has_flags=directed)
    coefficients = divide_by_pairs(counts if directed else 2 * counts, degrees)
    coefficients = to_vertex_order(storage, coefficients)
    return storage.labeling.vertex_frame({"coefficient": coefficients})


def count_by_vertex(tiles: Tiles, *, has_flags: bool) -> tuple[Array, Array]:
    """Return the number of triangles and of distinct neighbors of every position: int64.

    With flags, a triangle counts the arcs between the other two vertices. The numbers of all ranks
    add up to those of the graph.
    """
    xp = tiles.storage.xp
    if len(tiles) == len(tiles.local_tiles) == 1:
        adjacency = tiles.load_simple(0, with_flags=has_flags)
        if not has_flags:
            sort_lists(adjacency, 0, tiles.storage.num_vertices)
        counts = in_memory.count_by_vertex(adjacency, has_flags=has_flags)
        return counts, xp.diff(adjacency.offsets)
    ranks, max_degrees = rank_by_degree(tiles.degrees)  # parallel and opposite arcs count each
    counts, degrees = xp.zeros_like(tiles.degrees), xp.zeros_like(tiles.degrees)
    other = None
    for index in tiles.local_tiles:
        tile, other = other, None  # the last one that was loaded, if it is the next one
        if tile is None or tile.index != index:
            tile = None
            tile = _load(tiles, index, ranks, has_flags)
        degrees += tile.degrees
        for neighbor in _list_neighbor_tiles(tiles, tile):
            other = None  # frees the last one before the next one is loaded
            if neighbor != index:
                other = _load(tiles, neighbor, ranks, has_flags)
            count_in_lists(tile.rows, max_degrees, (other or tile).rows.upper_lists, counts)
    return counts[ranks], degrees


@dataclass(frozen=True)
class RankedTile:
    """The lists of a tile by rank.

    Attributes
    ----------
    index : int
    rows : RankedRows
    degrees : int64 array, shape (vertices,)
        Number of distinct neighbors by position, 0 outside the tile.
    limits : (int, int), or None without neighbors
        The first and the last position of a neighbor.
    """

    index: int
    rows: RankedRows
    degrees: Array
    limits: tuple[int, int] | None


def _load(tiles: Tiles, index: int, ranks: Array, has_flags: bool) -> RankedTile:
    adjacency = tiles.load_simple(index, with_flags=has_flags)
    xp = tiles.storage.xp
    degrees, sizes = xp.diff(adjacency.offsets), xp.empty_like(tiles.degrees)
    sizes[ranks] = degrees
    rows = relabel(adjacency, ranks, sizes, has_flags=has_flags)
    positions = adjacency.neighbors
    positions &= np.int32(POSITION_BITS)
    limits = (int(positions.min()), int(positions.max())) if positions.size else None
    return RankedTile(index, rows, degrees, limits)


def _list_neighbor_tiles(tiles: Tiles, tile: RankedTile) -> list[int]:
    """Return the tiles that may have neighbors of vertices of a tile, its successor last."""
    if tile.limits is None:
        return []
    return sorted(tiles.find(*tile.limits), key=lambda index: index == tile.index + 1)
