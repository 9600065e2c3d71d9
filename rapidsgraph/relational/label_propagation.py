"""Label propagation as frame operations; `algorithms.label_propagation` has the kernel form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..algorithms.label_propagation import LabelOrder
from ..algorithms.parameters import LabelParameters
from ..frames import Frame
from .frame_graph import FrameGraph, as_frame_graph
from .table import Table


def label_propagation(graph: Any, parameters: LabelParameters) -> Frame:
    """Propagate labels by joins; see `rapidsgraph.label_propagation`."""
    graph = as_frame_graph(graph, multi_edges="first", algorithm="label_propagation")
    graph.check_name_collisions(*graph.endpoint_columns("label").values())
    return graph.make_result(propagate_labels(graph, parameters), {"label": None})


def propagate_labels(graph: FrameGraph, parameters: LabelParameters) -> Table:
    """Return the label of every vertex, in columns `label`.

    In an iteration, every neighbor of a vertex sends it a label; these are counted, and the first
    in the order of descending count and of labels is the new one. With a seed, labels also have a
    column of vertex ids, by which `LabelOrder` breaks ties.
    """
    vertex, neighbor, label, new_label = map(
        graph.name_columns, ("vertex", "neighbor", "label", "new_label")
    )
    links = _list_neighbors(graph).partition(neighbor).persist()
    labels, seed, keys, order = graph.vertices, parameters.seed, [*label], [*label]
    if seed is not None:
        labels = labels.enumerate(vertex, "id").partition(vertex)
        keys, order = [*label, "id"], ["number"]
    labels = labels.copy_columns(vertex, label).persist()
    for iteration in range(parameters.iterations):
        votes = links.join(labels.rename(vertex, neighbor), neighbor)
        votes = votes.select([*vertex, *keys]).assign(count=1)
        counts = votes.aggregate([*vertex, *keys], count="sum").map(_negate_counts)
        if seed is not None:
            counts = counts.map(_number_labels, order=LabelOrder(seed, iteration))
        first = counts.smallest(vertex, order=["count", *order]).select([*vertex, *keys])
        isolates = labels.difference(first, vertex)
        new_labels = first.union(isolates).persist()
        if seed is not None:  # the next iteration breaks ties differently
            labels = new_labels
            continue
        changes = labels.join(new_labels.rename(label, new_label), vertex)
        labels = new_labels
        if not changes.map(_select_changes, label=label, new_label=new_label).count():
            break
    return labels.select([*vertex, *label])


def _list_neighbors(graph: FrameGraph) -> Table:
    """Return the neighbors of every vertex: one row for each arc, in each of its directions."""
    source, destination, vertex, neighbor = map(
        graph.name_columns, ("source", "destination", "vertex", "neighbor")
    )
    ends = [*source, *destination]
    arcs = graph.arcs.select(ends)
    links = arcs.rename(ends, [*vertex, *neighbor])
    if graph.directed:  # otherwise an edge is two arcs
        links = links.union(arcs.rename(ends, [*neighbor, *vertex]))
    return links


def _negate_counts(rows: Frame) -> Frame:
    return rows.assign(count=-rows["count"])


def _number_labels(rows: Frame, order: LabelOrder) -> Frame:
    """Add a column `number`, by which equally frequent labels are ordered."""
    return rows.assign(number=order.apply(rows["id"].values))


def _select_changes(rows: Frame, label: Sequence[str], new_label: Sequence[str]) -> Frame:
    """Return the rows whose labels differ."""
    is_changed = rows[label[0]] != rows[new_label[0]]
    for old, new in zip(label[1:], new_label[1:], strict=True):
        is_changed |= rows[old] != rows[new]
    return rows[is_changed]
