"""From a Graph to layers and partitions, in memory.

Means: what a LayeredEdgeList holds, of the breadth-first levels of one root.
Requires: room beside the graph, checked before.
Reference: Zhu et al. 2017 (WolfPath), algorithm 4: the edges that leave a layer's vertices, once
  each. What the algorithm puts into the queue again are vertices of the same layer, so that a wrong
  value may be mended in the next; sweeps that go on until nothing changes need no such copies.
"""

from dataclasses import dataclass

import numpy as np

from .. import device
from ..kernels.constants import UNREACHED
from .packing import COLUMN, cut, pack_partition


@dataclass
class Layers:
    """Vertices in layer order.

    Attributes
    ----------
    order, place_of : int32 arrays, shape (vertices,)
        The vertex at each place, and the place of each vertex.
    depths : int32, shape (vertices,)
        By vertex; UNREACHED where there is none.
    starts : int64 on the host, shape (depth + 2,)
        The place at which each layer begins, and where the unreached do.
    """

    order: object
    place_of: object
    depths: object
    starts: np.ndarray

    @property
    def depth(self):
        return self.starts.size - 2


def layers_of(distances):
    """Layers of the distances that a search found (-1: unreached)."""
    xp = device.array_module(distances)
    depths = xp.where(distances < 0, np.int32(UNREACHED), distances)
    order = xp.argsort(depths, kind="stable").astype(xp.int32)
    place_of = xp.empty_like(order)
    place_of[order] = xp.arange(order.size, dtype=xp.int32)
    depth = int(distances.max())
    starts = xp.searchsorted(depths[order], xp.arange(depth + 2, dtype=xp.int32))
    starts = starts.get() if device.is_on_gpu(starts) else starts
    return Layers(order, place_of, depths, starts.astype(np.int64))


def stored_dtype(weights):
    """The floating-point type that holds weights exactly: single, if that does.

    Not if one of them is below the normal numbers: on GPUs CuPy takes those of single precision
    for 0.
    """
    with np.errstate(over="ignore", under="ignore"):
        single = weights.astype(np.float32)
    is_normal = (weights == 0) | (weights >= np.finfo(np.float32).tiny)
    return np.float32 if bool(((single == weights) & is_normal).all()) else np.float64


def split(lists, layers, weight_dtype):
    """Adjacency lists as [(offsets by place, neighbors' places, weights)] forward and backward.

    `weight_dtype` is None where there are no weights.
    """
    xp, vertices = device.array_module(lists.neighbors), layers.order.size
    ahead = xp.empty(vertices, xp.int32)
    device.launch(
        "pack", "count_forward", size=32 * vertices,
        num_vertices=vertices, order=layers.order, depths=layers.depths, offsets=lists.offsets,
        neighbors=lists.neighbors, counts=ahead,
    )  # fmt: skip
    back = (xp.diff(lists.offsets) - ahead).astype(xp.int32)
    counts, offsets = (ahead, back), [xp.zeros(vertices + 1, xp.int64) for _ in range(2)]
    for part in range(2):
        xp.cumsum(counts[part][layers.order], out=offsets[part][1:])
    by_vertex = [offsets[part][:-1][layers.place_of] for part in range(2)]
    neighbors = [xp.empty(int(offsets[part][-1]), xp.int32) for part in range(2)]
    stored = weight_dtype or np.float64
    weights = [xp.empty(n.size if weight_dtype is not None else 0, stored) for n in neighbors]
    given = lists.weights if weight_dtype is not None else xp.empty(0)
    device.launch(
        "pack", "move_arcs", size=32 * vertices,
        num_vertices=vertices, order=layers.order, position_of=layers.place_of,
        depths=layers.depths, offsets=lists.offsets, neighbors=lists.neighbors, weights=given,
        weighted=weight_dtype is not None, forward_offsets=by_vertex[0],
        backward_offsets=by_vertex[1], forward_neighbors=neighbors[0],
        backward_neighbors=neighbors[1], forward_weights=weights[0], backward_weights=weights[1],
    )  # fmt: skip
    return list(zip(offsets, neighbors, weights, strict=True))


def edges_by_layer(offsets, starts):
    """How many edges of a section leave each layer: int64 on the host."""
    xp = device.array_module(offsets)
    found = xp.diff(offsets[xp.asarray(starts)])
    return found.get() if device.is_on_gpu(found) else found


def partitions_of(parts, weight_dtype, partition_bytes, report=None):
    """(words, table) of all partitions that two sections of all places make."""
    xp = device.array_module(parts[0][0])
    weight_bytes = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
    ranges = cut(parts[0][0] + parts[1][0], weight_bytes, partition_bytes)
    pieces, rows, position = [], [], 0
    for place, (first, last) in enumerate(ranges):
        own = [(offsets[first : last + 1], *rest) for offsets, *rest in parts]
        for words, row in pack_partition(first, own, weight_bytes, partition_bytes):
            row[COLUMN["position"]] = position
            position += words.size
            pieces.append(words)
            rows.append(row)
        if report:
            report(place + 1, f"{len(rows)} partitions")
    words = xp.concatenate(pieces) if pieces else xp.zeros(0, xp.uint32)
    table = np.array(rows, np.int64).reshape(len(rows), len(COLUMN))
    return words, table
