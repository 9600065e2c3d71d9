"""Community detection by label propagation, synchronous and deterministic.

Rows are launched by class of degree, because a GPU has other ways to count few labels than many.
Once few labels change, an iteration computes the labels of their neighbors only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import device
from ..device import Array
from ..frames import Frame
from ..graph.build import as_local_graph
from ..graph.csr import Adjacency, mark_proper
from ..graph.local_graph import GraphLike, LocalGraph
from ..graph.vertex_names import Labeling
from ..kernels.constants import WARP
from .parameters import LabelParameters
from .run_memory import check_run_memory

# Only the neighbors of vertices with changed labels are processed if less than 1 / MIN_SAVINGS of
# all arcs are arcs of these vertices.
MIN_SAVINGS = 4


class DegreeClass(NamedTuple):
    """How the rows of a range of degrees are launched.

    Attributes
    ----------
    max_degree : int
    threads : int
        Of a group of lanes, up to a warp, or of a block, which process a row together.
    table_size : int
        Slots of the hash table of a block; 0 for a group of lanes.
    """

    max_degree: int
    threads: int
    table_size: int


CLASSES = [
    *(DegreeClass(lanes, lanes, 0) for lanes in (4, 8, 16, WARP)),
    DegreeClass(256, 64, 512), DegreeClass(2048, 256, 4096),
    DegreeClass(16384, 1024, 4096), DegreeClass(2**62, 1024, 4096),
]  # fmt: skip
BYTES_PER_SLOT = 8  # a label and a count
MAX_OVERFLOW_SIZE = 2**30  # slots of a table in global memory
OVERFLOW_BYTES_PER_ARC = 8  # of all tables in global memory, unless a single one is larger
MAX_LABEL = 2**31 - 1
FACTORS, SHIFT = (0x2C1B3C6D, 0x297A2D39, 0x5BD1E995), 16  # odd; at least half of 31 bits
MIN_THREADS = 64  # of a block: 32 blocks of these fit on a multiprocessor


def label_propagation(graph: GraphLike, parameters: LabelParameters) -> Frame:
    """Propagate labels in a graph or frame; see `rapidsgraph.label_propagation`."""
    graph = as_local_graph(graph, compile_ahead=lambda _: device.compile_ahead("label propagation"))
    graph.labeling.check_name_collisions(*graph.labeling.endpoint_columns("label").values())
    size = f"{graph.num_vertices:,} vertices and {graph.num_arcs:,} arcs"
    check_run_memory(graph, "label_propagation", f"label propagation of {size}")
    labels = propagate_labels(list_adjacencies(graph), parameters, graph.is_merged)
    return graph.labeling.vertex_frame(label_columns(graph.labeling, labels))


def list_adjacencies(graph: LocalGraph) -> list[Adjacency]:
    """Return the adjacencies that together have the neighbors of every vertex."""
    return [graph.csr, graph.csc] if graph.directed else [graph.csr]


def label_columns(labeling: Labeling, labels: Array) -> dict[str, Any]:
    """Return the result columns of labels, which are vertex ids."""
    columns = labeling.names.columns(labeling.xp, labels)
    return {name: columns[label] for label, name in labeling.endpoint_columns("label").items()}


def propagate_labels(
    adjacencies: Sequence[Adjacency],
    parameters: LabelParameters,
    is_merged: bool,
    exchange: Callable[[Array, int], Array] | None = None,
) -> Array:
    """Return the label of every vertex: int32, shape (vertices,).

    Parameters
    ----------
    adjacencies : sequence of Adjacency
        By source, and of a directed graph also by destination. A partition of a graph has the rows
        of its own range.
    parameters : LabelParameters
        Without a seed, labels that no iteration changes are final.
    is_merged : bool
        Whether there are no parallel arcs.
    exchange : callable, optional
        ``exchange(labels, iteration)`` returns the new labels of all partitions.
    """
    first = adjacencies[0]
    xp, num_vertices = device.array_module(first.neighbors), first.offsets.size - 1
    rows, seed = LabelRows(adjacencies), parameters.seed
    labels, active = device.arange(num_vertices, xp.int32, xp), None
    for iteration in range(parameters.iterations):
        if seed is not None:
            order = LabelOrder(seed, iteration)
            labels = order.apply(labels)
        new_labels = device.copy(labels)
        if not iteration and is_merged and seed is None:
            rows.take_first_labels(new_labels)
        else:
            rows.propagate(labels, new_labels, active)
        if exchange is not None:
            new_labels = exchange(new_labels, iteration)
        if seed is not None:  # the next iteration breaks ties differently: all rows are active
            labels = order.invert(new_labels)
            continue
        changed = device.flatnonzero(mark_proper(new_labels, labels))
        labels = new_labels
        if not changed.size:
            break
        active = None
        if exchange is None and MIN_SAVINGS * rows.count_arcs(changed) < rows.num_arcs:
            active = rows.mark_neighbors(changed)
    return labels


class LabelOrder:
    """A pseudorandom order of labels, which breaks ties between equally frequent ones.

    The order is a permutation of the 31-bit integers: the exclusive or with a key, the product with
    an odd number and the xorshift are bijective. Labels are vertex ids. The kernels take the
    smallest of the most frequent labels; on permuted labels, that is the first in this order.

    Parameters
    ----------
    seed, iteration : int
        Each pair has an order of its own.
    """

    def __init__(self, seed: int, iteration: int) -> None:
        generator = np.random.SeedSequence([seed, iteration])
        self._keys = [int(key) & MAX_LABEL for key in generator.generate_state(3)]

    def apply(self, labels: Array) -> Array:
        """Return the numbers that labels have in the order: int32."""
        values = labels.astype(np.uint32)
        for key, factor in zip(self._keys, FACTORS, strict=True):
            values ^= np.uint32(key)
            values *= np.uint32(factor)
            values &= np.uint32(MAX_LABEL)
            values ^= values >> np.uint32(SHIFT)
        return values.astype(np.int32)

    def invert(self, numbers: Array) -> Array:
        """Return the labels that have these numbers: int32."""
        values = numbers.astype(np.uint32)
        for key, factor in zip(self._keys[::-1], FACTORS[::-1], strict=True):
            values ^= values >> np.uint32(SHIFT)
            values *= np.uint32(pow(factor, -1, MAX_LABEL + 1))
            values ^= np.uint32(key)
            values &= np.uint32(MAX_LABEL)
        return values.astype(np.int32)


class LabelRows:
    """The rows of adjacencies that have neighbors, grouped by degree for the kernels.

    Parameters
    ----------
    adjacencies : sequence of Adjacency
        As in `propagate_labels`.
    start, stop : int, optional
        Range of the rows that may have neighbors; by default all.

    Attributes
    ----------
    degrees : int64 array, shape (vertices,)
        Number of neighbors in all adjacencies.
    num_arcs : int
    """

    def __init__(
        self, adjacencies: Sequence[Adjacency], start: int = 0, stop: int | None = None
    ) -> None:
        by_source, by_destination = adjacencies[0], adjacencies[-1]
        xp = device.array_module(by_source.neighbors)
        self.degrees = xp.empty(by_source.offsets.size - 1, xp.int64)
        device.launch(
            "label_propagation", "sum_degrees", size=self.degrees.size,
            num_vertices=self.degrees.size, is_directed=len(adjacencies) > 1,
            offsets=by_source.offsets, in_offsets=by_destination.offsets, degrees=self.degrees,
        )  # fmt: skip
        self.num_arcs = sum(adjacency.neighbors.size for adjacency in adjacencies)
        self._by_class = _classify(self.degrees[start:stop], start)
        self._arguments = {
            "is_directed": len(adjacencies) > 1,
            "offsets": by_source.offsets, "neighbors": by_source.neighbors,
            "in_offsets": by_destination.offsets, "in_neighbors": by_destination.neighbors,
        }  # fmt: skip

    def take_first_labels(self, new_labels: Array) -> None:
        """Write the labels of the first iteration without a seed, of lists without equal arcs."""
        rows = device.flatnonzero(device.mark_range(self.degrees, low=1))
        device.launch(
            "label_propagation", "take_first_labels", size=WARP * rows.size,
            num_rows=rows.size, rows=rows, new_labels=new_labels, **self._arguments,
        )  # fmt: skip

    def propagate(self, labels: Array, new_labels: Array, active: Array | None = None) -> None:
        """Write the most frequent labels of all rows, or of those that `active` marks."""
        for degree_class, rows in self._by_class:
            if active is not None:
                rows = device.compress(device.take(active, rows), rows)[0]
            self._launch(degree_class, rows, labels, new_labels)

    def count_arcs(self, rows: Array) -> int:
        """Return the number of neighbors of int32 `rows`."""
        return int(device.take(self.degrees, rows).sum())

    def mark_neighbors(self, rows: Array) -> Array:
        """Return whether each vertex is a neighbor of one of these rows: bool."""
        xp = device.array_module(rows)
        is_neighbor = xp.zeros(self.degrees.size, bool)
        device.launch(
            "label_propagation", "mark_neighbors", size=WARP * rows.size,
            num_rows=rows.size, rows=rows, is_active=is_neighbor, **self._arguments,
        )  # fmt: skip
        return is_neighbor

    def _launch(
        self, degree_class: DegreeClass, rows: Array, labels: Array, new_labels: Array
    ) -> None:
        """Compute the new labels of rows of one class."""
        if not rows.size:
            return
        xp, threads, table_size = device.array_module(rows), *degree_class[1:]
        arguments = self._arguments | {
            "num_rows": rows.size, "rows": rows, "labels": labels, "new_labels": new_labels,
        }  # fmt: skip
        if not table_size:
            device.launch(
                "label_propagation", "propagate_short", size=threads * rows.size, lanes=threads,
                **arguments,
            )  # fmt: skip
            return
        geometry, overflow_size = None, 0
        if xp is not np:
            # As many blocks as fit at once: each takes the next row when it has finished one.
            num_blocks = min(rows.size, device.max_cooperative_blocks() * MIN_THREADS // threads)
            if 2 * degree_class.max_degree > table_size:
                max_degree = int(device.take(self.degrees, rows).max())
                overflow_size = min(1 << (2 * max_degree - 1).bit_length(), MAX_OVERFLOW_SIZE)
                max_tables = (
                    OVERFLOW_BYTES_PER_ARC * self.num_arcs // (BYTES_PER_SLOT * overflow_size)
                )
                num_blocks = max(1, min(num_blocks, max_tables))
            geometry = num_blocks, threads
        num_tables = 0 if geometry is None else geometry[0]
        device.launch(
            "label_propagation", "propagate_long", size=int(rows.size + self.num_arcs),
            geometry=geometry, shared_bytes=BYTES_PER_SLOT * table_size,
            next_row=xp.zeros(1, xp.int64), table_size=table_size, overflow_size=overflow_size,
            overflow=xp.empty(2 * overflow_size * num_tables, xp.int32), **arguments,
        )  # fmt: skip


def _classify(degrees: Array, start: int) -> list[tuple[DegreeClass, Array]]:
    """Return the int32 rows of each class of degree that has any; vertices of degree 0 have none.

    The first degree is that of the row `start`. On a CPU, whose kernel tells rows apart itself, all
    are in one class.
    """
    xp = device.array_module(degrees)
    by_class, lower = [], 0
    for degree_class in CLASSES if xp is not np else CLASSES[-1:]:
        rows = device.flatnonzero(
            device.mark_range(degrees, lower + 1, degree_class.max_degree + 1)
        )
        lower = degree_class.max_degree
        if rows.size:
            by_class.append((degree_class, rows + np.int32(start) if start else rows))
    return by_class
