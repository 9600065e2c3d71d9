"""Shortest paths between vertices: a search that ends at its targets, and the paths to them.

The search leaves the predecessor of every vertex that is not farther than the targets. Paths follow
predecessors back from the targets, on the host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array
from ..frames import Frame
from ..graph.build import as_local_graph
from ..graph.local_graph import GraphLike, LocalGraph
from ..graph.vertex_arguments import find_vertices, is_one_vertex, resolve_vertices
from ..graph.vertex_names import Labeling
from ..graph.weight_order import has_lists_by_weight
from ..graph.weight_sums import can_overflow, check_distances
from ..kernels.constants import NO_VERTEX
from .parameters import PathParameters
from .run_memory import check_run_memory
from .traversal import float_distances, run_bfs, run_sssp, weighted_graph


@dataclass
class Targets:
    """The targets of a call.

    Attributes
    ----------
    ids : int32 array
        Each target once, in the order of the argument.
    are_several : bool
        Whether the argument may name several vertices, so that the result has their names.
    """

    ids: Array
    are_several: bool


def shortest_path(graph: GraphLike, parameters: PathParameters) -> Frame:
    """Find shortest paths in a graph or frame; see `rapidsgraph.shortest_path`."""
    graph = weighted_graph(graph) if parameters.weighted else as_local_graph(graph)
    sources = resolve_vertices(graph.labeling, parameters.source)
    targets = resolve_targets(graph.labeling, parameters.target)
    is_weighted = parameters.weighted and graph.weighted
    size = f"{graph.num_vertices:,} vertices and {graph.num_arcs:,} arcs"
    check_run_memory(graph, "sssp" if is_weighted else "bfs", f"a shortest path of {size}")
    # The transpose would take longer than one search without it.
    bottom_up = graph.has_layout("csc")
    if is_weighted:
        result = run_sssp(
            graph, sources, bottom_up=bottom_up, targets=targets.ids,
            by_weight=has_lists_by_weight(graph),
        )  # fmt: skip
        check_target_distances(graph, result.distances, targets)
    else:
        result = run_bfs(graph, sources, bottom_up=bottom_up, targets=targets.ids)
    distances = result.distances
    if not is_weighted and parameters.weighted:
        distances = float_distances(distances)
    return path_frame(graph.labeling, targets, distances, result.predecessors)


def check_target_distances(graph: LocalGraph, distances: Array, targets: Targets) -> None:
    """Raise GraphError if a path to a target may be longer than double precision can represent.

    A search that has not reached all targets has reached all vertices that paths lead to.
    """
    if can_overflow(graph.total_weight):
        at_targets = device.to_host(device.take(distances, targets.ids))
        if (at_targets == math.inf).any():
            check_distances(graph.csr, distances, graph.labeling)


def resolve_targets(labeling: Labeling, target: Any) -> Targets:
    """Return the targets that a caller names; check the names of result columns."""
    are_several = not is_one_vertex(labeling, target)
    columns = labeling.endpoint_columns("target").values() if are_several else ()
    labeling.check_name_collisions("distance", *columns)
    ids = find_vertices(labeling, target, "target")
    if ids.size > 1:
        ids = labeling.xp.asarray(list(dict.fromkeys(ids.tolist())), dtype=np.int32)
    return Targets(ids, are_several)


def path_frame(
    labeling: Labeling, targets: Targets, distances: Array, predecessors: Array
) -> Frame:
    """Return the result frame of `shortest_path`.

    Parameters
    ----------
    labeling : Labeling
    targets : Targets
    distances : int32 or float64 array, shape (vertices,)
        Negative or infinite for unreached vertices.
    predecessors : int32 array, shape (vertices,)
        NO_VERTEX for vertices without one.
    """
    xp, at_targets = labeling.xp, device.to_host(device.take(distances, targets.ids))
    is_reached = (at_targets >= 0) & (at_targets < math.inf)
    ends = device.to_host(targets.ids)[is_reached]
    path, lengths = follow(device.to_host(predecessors), ends)
    ids = xp.asarray(path)
    columns = labeling.names.columns(xp, ids) | {"distance": device.take(distances, ids)}
    types = dict(labeling.text_types)
    if targets.are_several:
        names = labeling.names.columns(xp, xp.asarray(np.repeat(ends, lengths)))
        specific = labeling.endpoint_columns("target")
        columns = {name: names[label] for label, name in specific.items()} | columns
        types |= {name: types.get(label) for label, name in specific.items()}
    return frames.make_frame(labeling.library, columns, types)


def follow(predecessors: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices of the paths to the targets, one path after the other, and their lengths.

    Parameters
    ----------
    predecessors : int32 array, shape (vertices,)
        NO_VERTEX for sources.
    targets : int32 array
        Reached vertices.
    """
    before, path, lengths = predecessors.data, [], []
    for vertex in targets.tolist():
        steps = []
        while vertex != NO_VERTEX:
            steps.append(vertex)
            vertex = before[vertex]
        path += reversed(steps)
        lengths.append(len(steps))
    return np.array(path, np.int32), np.array(lengths, np.int64)
