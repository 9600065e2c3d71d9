"""Arguments that name vertices, or give values of some, as rows of a `FrameGraph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import device, frames
from ..algorithms.neighbor_similarity import pair_columns, tabulate_pairs
from ..device import Array
from ..frames import Column, Frame
from ..graph.vertex_arguments import find_ids, is_one_vertex, tabulate_vertices
from ..graph.vertex_names import Labeling, VertexNames
from ..graph.vertex_naming import name_vertices
from ..graph.vertex_values import scale_vertex_values, tabulate_vertex_values
from .frame_graph import FrameGraph, get_values, make_frame
from .table import EagerTable, Table


def find_vertices(graph: FrameGraph, vertices: Any, parameter: str = "source") -> Table:
    """Return the rows of the vertices that a caller names; see `resolve_vertices`."""
    labeling = _TableLabeling(graph)
    table, columns = tabulate_vertices(labeling, vertices, parameter)
    matches = labeling.match(table, columns, parameter)
    ids = matches.xp.unique(find_ids(matches, table, columns, parameter))
    vertex = graph.name_columns("vertex")
    names = _make_name_frame(matches, vertex, ids)
    return graph.vertices.join(graph.vertices.distribute(names, vertex), vertex)


def list_vertices(graph: FrameGraph, vertices: Any, parameter: str) -> tuple[Table, bool]:
    """Return the distinct vertices that a caller names, with their `position` in the argument.

    Also returns whether the argument may name several.
    """
    labeling = _TableLabeling(graph)
    table, columns = tabulate_vertices(labeling, vertices, parameter)
    matches = labeling.match(table, columns, parameter)
    ids = dict.fromkeys(find_ids(matches, table, columns, parameter).tolist())
    vertex, xp = graph.name_columns("vertex"), matches.xp
    names = _make_name_frame(matches, vertex, xp.asarray([*ids], np.int32))
    names = graph.vertices.distribute(names.assign(position=xp.arange(len(ids))), vertex)
    return graph.vertices.join(names, vertex), not is_one_vertex(labeling, vertices)


def join_vertex_values(
    graph: FrameGraph, state: Table, column: str, values: Any, parameter: str
) -> Table:
    """Add a column of a caller's values, 0 without one; see `read_vertex_values`."""
    labeling = _TableLabeling(graph)
    table, columns, value_column = tabulate_vertex_values(labeling, values, parameter)
    matches = labeling.match(table, columns, parameter)
    ids, array = scale_vertex_values(matches, table, columns, value_column, parameter)
    vertex = graph.name_columns("vertex")
    names = _make_name_frame(matches, vertex, ids).assign(**{column: array})
    state = state.join(state.distribute(names, vertex), vertex, how="left")
    return state.map(_fill_zero, column=column)


def find_pairs(graph: FrameGraph, pairs: Any) -> Table:
    """Return the pairs of a frame with their numbers, `pair`; see `neighbor_similarity`."""
    labeling = _TableLabeling(graph)
    table = tabulate_pairs(labeling, pairs)
    names = []
    for end, columns in zip(("source", "destination"), pair_columns(labeling), strict=True):
        matches = labeling.match(table, columns, "pairs")
        ids = matches.ids(table, "pairs", columns)
        names.append(_make_name_frame(matches, graph.name_columns(end), ids))
    rows = names[0].assign(**{column: names[1][column] for column in names[1]})
    rows = rows.assign(pair=labeling.xp.arange(len(rows)))
    return graph.vertices.distribute(rows, graph.name_columns("source"))


def _make_name_frame(labeling: Labeling, columns: Sequence[str], ids: Array) -> Frame:
    """Return a frame of the names of vertices, in columns named as in the graph."""
    names = labeling.names.columns(labeling.xp, ids).values()
    return make_frame(dict(zip(columns, names, strict=True)), labeling.xp)


class _TableLabeling(Labeling):
    """The labeling of a `FrameGraph`, whose names are a table. They have no ids."""

    def __init__(self, graph: FrameGraph) -> None:
        schema, self._vertices = graph.schema, graph.vertices
        # A name, if there is any, so that messages have the type of the names.
        self._first = graph.vertices.map(_get_first).collect()[:1]
        xp = np if frames.library_name(self._first) == "pandas" else device.import_cupy()
        super().__init__(
            VertexNames(schema.labels, [], 0), xp, schema.library, schema.is_endpoint_specific,
            schema.source_columns, schema.text_types,
        )  # fmt: skip

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the graph."""
        return self._vertices.count()

    def ids(self, table: Any, parameter: str, labels: Sequence[str] | None = None) -> Array:
        """Return ids among the vertices that match a table; see `Labeling.ids`."""
        labels = labels or self.names.labels
        return self.match(table, labels, parameter).ids(table, parameter, labels)

    def match(self, table: Any, labels: Sequence[str], parameter: str) -> Labeling:
        """Return the labeling of those vertices of the graph that a table names."""
        columns = [frames.get_column(table, label, "vertex", parameter) for label in labels]
        rows, vertex = self._as_names(columns), list(self._first)
        matches = self._vertices.join(self._vertices.distribute(rows, vertex), vertex)
        frame = EagerTable(self._first).union(EagerTable(matches.collect())).collect()
        values = [get_values(frame, column) for column in frame]
        names, _, _ = name_vertices(values, values, None, self.names.labels, self.xp)
        return Labeling(
            names, self.xp, self.library, self.is_endpoint_specific, self.source_columns,
            self.text_types,
        )  # fmt: skip

    def _as_names(self, columns: Sequence[Column]) -> Frame:
        """Return the distinct rows that may be names, in the types of the names."""
        if len({len(values) for values in columns}) > 1:
            return self._first[:0]  # an error of the argument
        arrays, keep = {}, self.xp.ones(len(columns[0]), bool)
        for name, values in zip(self._first, columns, strict=True):
            dtype = self._first[name].dtype
            values = frames.to_device(values, self.xp)
            is_integer = device.is_array(values) and values.dtype.kind in "iu"
            if (
                is_integer != (getattr(dtype, "kind", "O") in "iu")
                or device.is_array(values) != is_integer
            ):
                return self._first[:0]
            arrays[name] = values.astype(dtype)
            if is_integer:  # cast back, since CuPy cannot compare with bounds beyond int64
                keep &= arrays[name].astype(values.dtype) == values
                keep &= (arrays[name] < 0) == (values < 0)
        rows = make_frame({**arrays, "is_name": keep}, self.xp)
        return rows[rows["is_name"]][list(arrays)].drop_duplicates()


def _get_first(vertices: Frame) -> Frame:
    return vertices[:1]


def _fill_zero(table: Frame, column: str) -> Frame:
    return table.assign(**{column: table[column].fillna(0.0)})
