"""Convert a graph in memory into a layered edge list, and a layered edge list into frames.

The out-edges of each layer are split into forward and backward edges, and packed once each. In
WolfPath [1]_ (algorithm 4), vertices of the same layer enter the queue again, so that the next
layer can correct a wrong value; sweeps that repeat until nothing changes need no such copies.

References
----------
.. [1] H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing algorithms
   on GPU", Int. J. Parallel Program. 47, 2019. https://doi.org/10.1007/s10766-017-0533-y
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import device, frames
from ..algorithms.traversal import run_bfs
from ..device import Array, ArrayModule
from ..errors import GraphError, format_value
from ..frames import Vertices
from ..graph.csr import Adjacency, offsets_from_sizes
from ..graph.export import edge_columns
from ..graph.local_graph import LocalGraph
from ..graph.vertex_arguments import resolve_vertices
from ..graph.vertex_names import Labeling
from ..kernels.constants import UNREACHED, WARP
from ..validation import check_free_memory, is_integral
from .packing import COLUMN, Section, pack_partition, split_rows, unpack_partition
from .storage import LayeredStorage

EDGES_PER_CPU_THREAD = 2**15  # fewest edges of a combined layer that keep a thread busy


@dataclass
class LayerOrder:
    """The vertices of a graph in layer order.

    Attributes
    ----------
    order : int32 array, shape (num_vertices,)
        Vertex id at each position.
    positions : int32 array, shape (num_vertices,)
        Position of each vertex.
    depths : int32 array, shape (num_vertices,), or None
        Layer of each vertex, or `UNREACHED`; None where it is no longer needed.
    starts : int64 array on the host, shape (depth + 2,)
        First position of each layer, and of the unreached vertices.
    """

    order: Array
    positions: Array
    depths: Array | None
    starts: np.ndarray

    @property
    def depth(self) -> int:
        """The number of the last layer."""
        return self.starts.size - 2


def build_storage(
    graph: LocalGraph, root: Vertices, minimum_edges: int | None, partition_bytes: int
) -> LayeredStorage:
    """Build the layered edge list of a graph in the memory where the graph is."""
    root_id = resolve_root(graph.labeling, root)
    arc_bytes = 12 if graph.weighted else 4
    needed = graph.num_arcs * 2 * arc_bytes + graph.num_vertices * 96  # an upper bound
    check_free_memory(f"a layered edge list of {graph.num_arcs:,} edges", needed, graph.xp)
    csr = graph.csr
    weight_dtype = storage_dtype(csr.weights) if graph.weighted else None
    storage = LayeredStorage(
        graph.labeling,
        directed=graph.directed,
        weighted=graph.weighted,
        num_edges=graph.num_arcs,
        weight_dtype=weight_dtype,
        root_id=root_id,
        minimum_edges=minimum_edges,
        is_merged=graph.is_merged,
    )
    roots = graph.xp.asarray([root_id], graph.xp.int32)
    distances = run_bfs(graph, roots, predecessors=False, bottom_up=not graph.directed).distances
    layers = order_by_layer(distances)
    del distances
    split = split_by_direction(csr, layers, weight_dtype)
    storage.layer_edges = np.array(
        [count_layer_edges(offsets, layers.starts) for offsets, _, _ in split]
    )
    storage.order, storage.layer_starts = layers.order, layers.starts
    storage.out_weights = graph.out_weights[layers.order]
    del layers
    storage.words, storage.table = pack_partitions(split, weight_dtype, partition_bytes)
    first = COLUMN["forward_checksum"]
    storage.checksums = storage.table[:, first : first + 2].astype(np.uint64).ravel()
    storage.is_verified = np.ones((len(storage.table), 2), bool)
    return storage


def resolve_root(labeling: Labeling, root: Vertices) -> int:
    """Return the id of the root; GraphError if it is not in the graph or names several vertices."""
    ids = resolve_vertices(labeling, root, "root")
    if ids.size > 1:
        raise GraphError(
            f"{{parameter}} names {ids.size} vertices; a layered edge list has one root",
            parameter="root",
            value=root,
        )
    return int(ids[0])


def order_by_layer(distances: Array) -> LayerOrder:
    """Order vertices by their distance from the root; -1 marks an unreached vertex."""
    xp = device.array_module(distances)
    depths = xp.where(distances < 0, np.int32(UNREACHED), distances)
    order = xp.argsort(depths, kind="stable").astype(xp.int32)
    positions = xp.empty_like(order)
    positions[order] = xp.arange(order.size, dtype=xp.int32)
    depth = int(distances.max())
    starts = xp.searchsorted(depths[order], xp.arange(depth + 2, dtype=xp.int32))
    starts = device.to_host(starts)
    return LayerOrder(order, positions, depths, starts.astype(np.int64))


def storage_dtype(weights: Array) -> type:
    """Return the smallest floating-point type that holds weights exactly.

    Single precision is ruled out by subnormal weights, which CuPy flushes to 0 on GPUs.
    """
    with np.errstate(over="ignore", under="ignore"):
        single = weights.astype(np.float32)
    is_normal = (weights == 0) | (weights >= np.finfo(np.float32).tiny)
    is_single = (single == weights) & is_normal
    return np.float32 if device.count_nonzero(is_single) == weights.size else np.float64


def split_by_direction(
    csr: Adjacency, layers: LayerOrder, weight_dtype: type | None
) -> list[Section]:
    """Split adjacency lists into forward and backward edges, with positions for vertices."""
    xp, num_vertices = device.array_module(csr.neighbors), layers.order.size
    num_forward = xp.empty(num_vertices, xp.int32)
    device.launch(
        "pack", "count_forward", size=WARP * num_vertices,
        num_vertices=num_vertices, order=layers.order, depths=layers.depths, offsets=csr.offsets,
        neighbors=csr.neighbors, counts=num_forward,
    )  # fmt: skip
    num_backward = (xp.diff(csr.offsets) - num_forward).astype(xp.int32)
    offsets = [offsets_from_sizes(n[layers.order]) for n in (num_forward, num_backward)]
    starts = [section_offsets[:-1][layers.positions] for section_offsets in offsets]  # by vertex id
    neighbors = [xp.empty(int(section_offsets[-1]), xp.int32) for section_offsets in offsets]
    dtype = weight_dtype or np.float64
    weights = [xp.empty(n.size if weight_dtype is not None else 0, dtype) for n in neighbors]
    device.launch(
        "pack", "move_arcs", size=WARP * num_vertices,
        num_vertices=num_vertices, order=layers.order, position_of=layers.positions,
        depths=layers.depths, offsets=csr.offsets, neighbors=csr.neighbors,
        weights=csr.weights if weight_dtype is not None else xp.empty(0),
        weighted=weight_dtype is not None,
        forward_offsets=starts[0], backward_offsets=starts[1],
        forward_neighbors=neighbors[0], backward_neighbors=neighbors[1],
        forward_weights=weights[0], backward_weights=weights[1],
    )  # fmt: skip
    return list(zip(offsets, neighbors, weights, strict=True))


def count_layer_edges(offsets: Array, starts: np.ndarray) -> np.ndarray:
    """Return the number of edges of each layer from the offsets of its sources."""
    xp = device.array_module(offsets)
    counts = xp.diff(offsets[xp.asarray(starts)])
    return device.to_host(counts)


def pack_partitions(
    split: list[Section],
    weight_dtype: type | None,
    partition_bytes: int,
) -> tuple[Array, np.ndarray]:
    """Pack forward and backward edges into partitions; return their words and table."""
    xp = device.array_module(split[0][0])
    weight_bytes = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
    ranges = split_rows(split[0][0] + split[1][0], weight_bytes, partition_bytes)
    packed, rows, position = [], [], 0
    for start, stop in ranges:
        sections = [
            (offsets[start : stop + 1], neighbors, weights) for offsets, neighbors, weights in split
        ]
        for words, row in pack_partition(start, sections, weight_bytes, partition_bytes):
            row[COLUMN["position"]] = position
            position += words.size
            packed.append(words)
            rows.append(row)
    words = xp.concatenate(packed) if packed else xp.zeros(0, xp.uint32)
    table = np.array(rows, np.int64).reshape(len(rows), len(COLUMN))
    return words, table


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
        if not is_integral(layer) or not 0 <= layer <= storage.depth:
            raise GraphError(
                f"layer is {format_value(layer)}; it must be an integer from 0 to {storage.depth}",
                parameter="layer",
                value=layer,
            )
        start, stop = map(int, storage.layer_starts[layer : layer + 2])
    storage.labeling.check_edge_collisions(*edge_columns(storage.weighted), "forward")
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
            chunks[3].append(xp.full(device.count_nonzero(is_inside), section == 0))
    empty = [xp.empty(0, xp.int32), xp.empty(0, xp.int32), xp.empty(0), xp.empty(0, bool)]
    arrays = [xp.concatenate([e, *c]) for e, c in zip(empty, chunks, strict=True)]
    if layer is None:  # sorted by source; in one layer, forward edges come first
        order = xp.argsort(arrays[0], kind="stable")
        arrays = [array[order] if array.size else array for array in arrays]
    sources, destinations, weights, forward = arrays
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
        return EDGES_PER_CPU_THREAD * device.num_threads()
    attributes = xp.cuda.Device().attributes
    return attributes["MultiProcessorCount"] * attributes["MaxThreadsPerMultiProcessor"]
