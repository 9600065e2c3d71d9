"""Frames of the layers, combined layers and edges of a layered edge list."""

from __future__ import annotations

import numpy as np

from .. import frames
from ..device import Array, ArrayModule
from ..errors import GraphError, format_value
from .packing import COLUMN, unpack_partition
from .storage import LayeredStorage

EDGES_PER_CPU_THREAD = 2**15  # fewest edges of a combined layer that keep a thread busy


def make_layer_frame(storage: LayeredStorage) -> frames.Frame:
    """Return the frame of `LayeredEdgeList.layers`."""
    num_vertices = np.diff(storage.layer_starts)
    return _make_frame(
        storage,
        layer=np.arange(num_vertices.size),
        vertices=num_vertices,
        forward_edges=storage.layer_edges[0],
        backward_edges=storage.layer_edges[1],
    )


def make_combined_frame(storage: LayeredStorage) -> frames.Frame:
    """Return the frame of `LayeredEdgeList.combined`."""
    min_edges = storage.minimum_edges or _saturating_edges(storage.xp)
    num_edges = storage.layer_edges.sum(axis=0)
    totals = np.concatenate([[0], np.cumsum(num_edges)])
    rows: list[tuple[int, int, int]] = []
    start = 0
    while start < num_edges.size:
        stop = int(np.searchsorted(totals, totals[start] + min_edges, side="left"))
        stop = min(max(stop, start + 1), num_edges.size)
        rows.append((start, stop - 1, int(totals[stop] - totals[start])))
        start = stop
    columns = np.array(rows, np.int64).reshape(len(rows), 3).T
    return _make_frame(storage, first_layer=columns[0], last_layer=columns[1], edges=columns[2])


def make_edge_frame(storage: LayeredStorage, layer: int | None) -> frames.Frame:
    """Return the frame of `LayeredEdgeList.edges`."""
    start, stop = 0, storage.num_vertices
    if layer is not None:
        is_integer = isinstance(layer, (int, np.integer)) and not isinstance(layer, bool)
        if not is_integer or not 0 <= layer <= storage.depth:
            raise GraphError(
                f"layer is {format_value(layer)}; it must be an integer from 0 to {storage.depth}",
                parameter="layer",
                value=layer,
            )
        start, stop = map(int, storage.layer_starts[layer : layer + 2])
    xp = storage.xp
    chunks: list[list[Array]] = [[], [], [], []]
    first, rows = (storage.table[:, COLUMN[name]] for name in ("first", "rows"))
    for section in range(2):
        for partition in np.flatnonzero((first < stop) & (first + rows > start)).tolist():
            words = xp.asarray(storage.partition_words(partition))
            storage.verify_partition(partition, words)
            columns = unpack_partition(words, storage.table[partition], storage.weight_dtype)
            is_inside = (columns[section][0] >= start) & (columns[section][0] < stop)
            for chunk, values in zip(chunks, columns[section], strict=False):
                chunk.append(values[is_inside] if values.size else values)
            chunks[3].append(xp.full(int(is_inside.sum()), section == 0))
    empty = [xp.empty(0, xp.int32), xp.empty(0, xp.int32), xp.empty(0), xp.empty(0, bool)]
    arrays = [xp.concatenate([e, *c]) for e, c in zip(empty, chunks, strict=True)]
    # Both sections of a layer stay in their order; otherwise edges are sorted by source.
    order = xp.argsort(arrays[0] * 0 if layer is not None else arrays[0], kind="stable")
    sources, destinations, weights, forward = (
        each[order] if each.size else each for each in arrays
    )
    weight = {"weight": weights} if storage.weighted else {}
    return storage.labeling.edge_frame(
        storage.order[sources], storage.order[destinations], {**weight, "forward": forward}
    )


def _make_frame(storage: LayeredStorage, **columns: np.ndarray) -> frames.Frame:
    arrays = {name: storage.xp.asarray(values) for name, values in columns.items()}
    return frames.make_frame(storage.labeling.library, arrays)


def _saturating_edges(xp: ArrayModule) -> int:
    """Return the number of edges that keep all threads of a device busy."""
    if xp is np:
        import numba

        return EDGES_PER_CPU_THREAD * numba.get_num_threads()
    attributes = xp.cuda.Device().attributes
    return attributes["MultiProcessorCount"] * attributes["MaxThreadsPerMultiProcessor"]
