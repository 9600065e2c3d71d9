"""Shortest paths between vertices as frame operations; `algorithms.shortest_path` has the kernels.

After a search of all vertices, paths grow from their targets to the source. A round joins the known
suffix of each path with the vertex that lies as many steps before each of its vertices as it is
long, so that it doubles in length (pointer jumping).
"""

from __future__ import annotations

from typing import Any

from ..algorithms.parameters import PathParameters
from ..frames import Frame
from ..graph.vertex_names import endpoint_columns
from ..validation import DEFAULT_WEIGHT
from .frame_graph import FrameGraph, as_frame_graph, finish_result, get_values, name_columns
from .table import Table
from .traversal import convert_levels, is_reached, search
from .vertex_arguments import find_vertices, list_vertices


def shortest_path(graph: Any, parameters: PathParameters) -> Frame:
    """Find shortest paths by joins; see `rapidsgraph.shortest_path`."""
    options: dict[str, Any] = {"algorithm": "shortest_path"}
    if parameters.weighted:
        options |= {"weight": DEFAULT_WEIGHT, "multi_edges": "min"}
    graph = as_frame_graph(graph, **options)
    sources = find_vertices(graph, parameters.source)
    targets, are_several = list_vertices(graph, parameters.target, "target")
    graph.check_name_collisions(
        "distance", *(graph.endpoint_columns("target").values() if are_several else ())
    )
    state = (
        search(graph, sources, weighted=parameters.weighted and graph.weighted, targets=targets)
        .filter(is_reached)
        .persist()
    )
    paths = _find_paths(graph, state, targets).join(state, graph.name_columns("vertex"))
    if not parameters.weighted:
        paths = paths.map(convert_levels)
    return _make_result(graph, paths, are_several)


def _find_paths(graph: FrameGraph, state: Table, targets: Table) -> Table:
    """Return the vertices of the paths to targets, with the number of steps from there on.

    Parameters
    ----------
    graph : FrameGraph
        Names the columns.
    state : Table
        Reached vertices, with their predecessor if `has_predecessor`.
    targets : Table
        Columns `vertex` and `position`, which the result has, too.
    """
    vertex, predecessor, before, target = map(
        graph.name_columns, ("vertex", "predecessor", "before", "target")
    )
    paths = targets.join(state.select(vertex), vertex).copy_columns(vertex, target)
    paths = paths.assign(step=0).persist()
    jumps = state.filter(_has_predecessor).select([*vertex, *predecessor]).persist()
    length = 1
    while True:
        # The vertices that lie `length` steps before those of the paths.
        steps = paths.join(jumps, vertex).map(_add_steps, length=length)
        steps = steps.select([*predecessor, *target, "position", "step"])
        steps = steps.rename(predecessor, vertex).partition(vertex).persist()
        if not steps.count():
            return paths
        paths = paths.union(steps).persist()
        second = jumps.rename([*vertex, *predecessor], [*predecessor, *before])
        jumps = jumps.lookup(second, predecessor).select([*vertex, *before])
        jumps = jumps.rename(before, predecessor).persist()
        length *= 2


def _has_predecessor(state: Frame) -> Any:
    return state["has_predecessor"]


def _add_steps(paths: Frame, length: int) -> Frame:
    return paths.assign(step=paths["step"] + length)


def _make_result(graph: FrameGraph, paths: Table, are_several: bool) -> Frame:
    """Return the rows in the order of the targets, and of each path."""
    paths = paths.map(_negate_steps).enumerate(["position", "step"], "row")
    return paths.map(_name_columns, schema=graph.schema, with_target=are_several).to_frame()


def _negate_steps(paths: Frame) -> Frame:
    return paths.assign(step=-paths["step"])


def _name_columns(frame: Frame, schema: Any, with_target: bool) -> Frame:
    """Return a partition of the result."""
    data, text_types = {}, dict(schema.text_types)
    if with_target:
        specific = endpoint_columns(schema.labels, schema.is_endpoint_specific, "target")
        for label, name in zip(schema.labels, name_columns("target", schema), strict=True):
            if label in specific:
                data[specific[label]] = get_values(frame, name)
                text_types[specific[label]] = text_types.get(label)
    for label, name in zip(schema.labels, name_columns("vertex", schema), strict=True):
        data[label] = get_values(frame, name)
    data["distance"] = get_values(frame, "distance")
    return finish_result(frame, schema, data, text_types)
