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
from ..graph.csr import Adjacency
from ..graph.local_graph import GraphLike, LocalGraph, as_local_graph
from ..graph.vertex_names import Labeling
from ..kernels.constants import WARP
from .parameters import LabelParameters
from .run_memory import check_run_memory

MIN_SAVINGS = 4  # ratio of all arcs to those of changed labels from which neighbors are marked


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
MIN_THREADS = 64  # of a block: 32 blocks of these fit on a multiprocessor


def label_propagation(graph: GraphLike, parameters: LabelParameters) -> Frame:
    """Propagate labels in a graph or frame; see `rapidsgraph.label_propagation`."""
    graph = as_local_graph(graph)
    graph.labeling.check_name_collisions(*graph.labeling.endpoint_columns("label").values())
    size = f"{graph.num_vertices:,} vertices and {graph.num_arcs:,} arcs"
    check_run_memory(graph, "label_propagation", f"label propagation of {size}")
    labels = propagate_labels(list_adjacencies(graph), parameters.iterations, graph.is_merged)
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
    iterations: int,
    is_merged: bool,
    exchange: Callable[[Array, int], Array] | None = None,
) -> Array:
    """Return the label of every vertex: int32, shape (vertices,).

    Parameters
    ----------
    adjacencies : sequence of Adjacency
        By source, and of a directed graph also by destination. A partition of a graph has the rows
        of its own range.
    iterations : int
        At most; labels that no iteration changes are final.
    is_merged : bool
        Whether there are no parallel arcs.
    exchange : callable, optional
        ``exchange(labels, iteration)`` returns the new labels of all partitions.
    """
    first = adjacencies[0]
    xp, num_vertices = device.array_module(first.neighbors), first.offsets.size - 1
    degrees = sum(xp.diff(each.offsets) for each in adjacencies)
    arguments = _list_arguments(adjacencies)
    by_class = _classify(degrees, xp)
    num_arcs = sum(each.neighbors.size for each in adjacencies)
    labels, active = xp.arange(num_vertices, dtype=xp.int32), None
    for iteration in range(iterations):
        new_labels = labels.copy()
        if not iteration and is_merged:
            rows = xp.flatnonzero(degrees).astype(xp.int32)
            device.launch(
                "label_propagation", "take_first_labels", size=WARP * rows.size,
                num_rows=rows.size, rows=rows, new_labels=new_labels, **arguments,
            )  # fmt: skip
        else:
            for degree_class, rows in by_class:
                if active is not None:
                    rows = rows[active[rows]]
                _launch(degree_class, rows, degrees, labels, new_labels, num_arcs, arguments)
        if exchange is not None:
            new_labels = exchange(new_labels, iteration)
        changed = xp.flatnonzero(new_labels != labels).astype(xp.int32)
        labels = new_labels
        if not changed.size:
            break
        active = None
        if exchange is None and MIN_SAVINGS * int(degrees[changed].sum()) < num_arcs:
            active = xp.zeros(num_vertices, bool)
            device.launch(
                "label_propagation", "mark_neighbors", size=WARP * changed.size,
                num_rows=changed.size, rows=changed, is_active=active, **arguments,
            )  # fmt: skip
    return labels


def _list_arguments(adjacencies: Sequence[Adjacency]) -> dict[str, Any]:
    """Return the arguments of kernels that are the lists of neighbors."""
    by_source, by_destination = adjacencies[0], adjacencies[-1]
    return {
        "is_directed": len(adjacencies) > 1,
        "offsets": by_source.offsets, "neighbors": by_source.neighbors,
        "in_offsets": by_destination.offsets, "in_neighbors": by_destination.neighbors,
    }  # fmt: skip


def _classify(degrees: Array, xp: Any) -> list[tuple[DegreeClass, Array]]:
    """Return the int32 rows of each class of degree that has any; vertices of degree 0 have none.

    On a CPU, whose kernel tells rows apart itself, all are in one class.
    """
    by_class, lower = [], 0
    for each in CLASSES if xp is not np else CLASSES[-1:]:
        rows = xp.flatnonzero((degrees > lower) & (degrees <= each.max_degree)).astype(xp.int32)
        lower = each.max_degree
        if rows.size:
            by_class.append((each, rows))
    return by_class


def _launch(
    degree_class: DegreeClass,
    rows: Array,
    degrees: Array,
    labels: Array,
    new_labels: Array,
    num_arcs: int,
    arguments: dict[str, Any],
) -> None:
    """Compute the new labels of rows of one class."""
    if not rows.size:
        return
    xp, threads, table_size = device.array_module(rows), *degree_class[1:]
    arguments = arguments | {
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
            max_degree = int(degrees[rows].max())
            overflow_size = min(1 << (2 * max_degree - 1).bit_length(), MAX_OVERFLOW_SIZE)
            max_tables = OVERFLOW_BYTES_PER_ARC * num_arcs // (BYTES_PER_SLOT * overflow_size)
            num_blocks = max(1, min(num_blocks, max_tables))
        geometry = num_blocks, threads
    num_tables = 0 if geometry is None else geometry[0]
    device.launch(
        "label_propagation", "propagate_long", size=int(rows.size + num_arcs), geometry=geometry,
        shared_bytes=BYTES_PER_SLOT * table_size, next_row=xp.zeros(1, xp.int64),
        table_size=table_size, overflow_size=overflow_size,
        overflow=xp.empty(2 * overflow_size * num_tables, xp.int32), **arguments,
    )  # fmt: skip
