"""What a result frame says, by vertex id; whatever makes it no result is a VerificationError."""

import numpy as np

from .. import frames
from ..algorithms.spreading import in_memory
from ..errors import GraphError, VerificationError
from ..frames import nullable_column


class Result:
    """A result frame whose rows have been found among the graph's vertices, each exactly once.

    Parameters
    ----------
    graph : Graph
    result : frame
        Name columns as results have them, in any order of rows, and columns of values.
    """

    def __init__(self, graph, result):
        self.graph, self.xp = graph, graph.xp
        self.kind, self.table = frames.opened(in_memory(result))
        try:
            self.ids = graph.ids(self.table, "the result")
        except GraphError as error:
            raise VerificationError(str(error)) from None
        xp, ids, count = self.xp, self.ids, graph.num_vertices
        in_order = xp.sort(ids)
        if ids.size != count or not bool((in_order == xp.arange(count)).all()):
            ends = xp.searchsorted(in_order, xp.arange(count + 1))
            rows = ends[1:] - ends[:-1]
            wrong = int((rows != 1).argmax())
            raise VerificationError(
                f"the result has {int(rows[wrong])} rows for {vertex_name(graph, wrong)}; "
                "it needs one"
            )

    def numbers(self, column):
        """A column that has a finite number in every row, as float64 by id."""
        values = frames.moved(frames.column(self.table, column, column), self.xp)
        self._check_length(values)
        if values.dtype.kind not in "iuf" or not bool(self.xp.isfinite(values).all()):
            raise VerificationError(f"column {column!r} must hold a finite number in every row")
        return self._by_id(values, self.xp.empty(len(values)))

    def distances(self):
        """The column `distance` as float64 by id; infinity where a vertex was not reached."""
        xp = self.xp
        values, valid = nullable_column(self.table, "distance", "distance")
        self._check_length(valid)
        values, valid = frames.moved(values, xp), frames.moved(valid, xp)
        if values.dtype.kind not in "iuf":
            raise VerificationError("column 'distance' must hold numbers")
        by_row = xp.full(len(valid), np.inf)
        by_row[valid] = values
        if self.kind == "arrays":  # which have no nulls
            by_row[by_row == -1] = np.inf
        distances = self._by_id(by_row, xp.empty(len(by_row)))
        bad = ~(distances >= 0)
        if bool(bad.any()):
            wrong = int(bad.argmax())
            raise VerificationError(
                f"{vertex_name(self.graph, wrong)} has distance {float(distances[wrong])}"
            )
        return distances

    def predecessors(self, is_expected):
        """Ids of the predecessors by id, int32, or None where the result has no such column.

        A vertex without one has the number of vertices instead. Arrays of numbers have no nulls;
        there -1 says so, except for vertices of which a predecessor is expected, because it may
        name one.
        """
        xp, labels, count = self.xp, self.graph.names.labels, self.graph.num_vertices
        # A column that both ends share says the same of a predecessor as of the vertex itself.
        names = self.graph.end_columns("predecessor")
        if not set(names.values()) & set(frames.column_names(self.table)):
            return None
        parts, given = {}, None
        for label, name in names.items():
            values, valid = nullable_column(self.table, name, "predecessor")
            self._check_length(valid)
            values, valid = frames.moved(values, xp), frames.moved(valid, xp)
            if self.kind == "arrays" and isinstance(values, xp.ndarray) and len(values) == count:
                none = xp.asarray(-1).astype(values.dtype)
                valid = is_expected[self.ids] | (values != none)
                values = values[valid]
            if values.dtype.kind == "f" and bool(
                ((values == xp.floor(values)) & (abs(values) < 2**63)).all()
            ):
                values = values.astype(xp.int64)  # whatever turned nulls into NaN did that
            if given is not None and bool((given != valid).any()):
                wrong = int(self.ids[int((given != valid).argmax())])
                raise VerificationError(
                    f"{vertex_name(self.graph, wrong)} has a part of a predecessor's name"
                )
            parts[label], given = values, valid
        for label in set(labels) - set(names):
            values = frames.moved(frames.column(self.table, label, "vertex"), xp)
            is_array = isinstance(values, xp.ndarray)
            parts[label] = values[given] if is_array else values.take(xp.flatnonzero(given))
        by_row = xp.full(count, count, xp.int32)
        try:
            ids = self.graph.names.ids([parts[label] for label in labels], xp, "a predecessor")
        except GraphError as error:
            raise VerificationError(str(error)) from None
        by_row[given] = ids
        return self._by_id(by_row, xp.empty(count, xp.int32))

    def _check_length(self, values):
        if len(values) != len(self.ids):
            raise VerificationError(
                f"the result has {len(self.ids)} vertices and {len(values)} values"
            )

    def _by_id(self, by_row, by_id):
        by_id[self.ids] = by_row
        return by_id


def vertex_name(graph, vertex):
    """ "vertex 7", or whatever the vertex of this id is called."""
    names = graph.names.columns(graph.xp, graph.xp.asarray([vertex])).values()
    shown = [str(n.tolist()[0] if hasattr(n, "tolist") else n.to_arrow()[0]) for n in names]
    return "vertex " + ", ".join(shown)
