"""Read result frames by vertex id, and check partitions of the vertices into groups.

Whatever makes a frame no result of an algorithm is a VerificationError that names the vertex.
"""

import numpy as np

from .. import frames
from ..dispatch import in_memory
from ..errors import GraphError, VerificationError
from ..frames import get_nullable_column


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
        self.kind, self.table = frames.normalize_frame(in_memory(result))
        try:
            self.ids = graph.labeling.ids(self.table, "the result")
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
        """Return a column with a finite number in every row, float64 by vertex id.

        Raises
        ------
        VerificationError
            A null, NaN or infinity (names the vertex), or a column that holds no numbers.
        """
        must = f"column {column!r} must hold a finite number in every row"
        by_row, _ = self._read_numbers(column, must)
        bad = ~self.xp.isfinite(by_row)
        if bool(bad.any()):
            raise VerificationError(f"{self._describe(column, by_row, bad)}; {must}")
        return self._by_id(by_row, self.xp.empty(len(by_row)))

    def distances(self, *, nullable):
        """Return the column `distance`, float64 by vertex id; infinity for unreached vertices.

        Parameters
        ----------
        nullable : bool
            What the column has for an unreached vertex: null, as from BFS (-1 in arrays, which
            have no null), or infinity, as from SSSP.

        Raises
        ------
        VerificationError
            A value that is no distance (names the vertex): negative, NaN, infinity where an
            unreached vertex has null and vice versa; or a column that holds no numbers.
        """
        xp = self.xp
        by_row, valid = self._read_numbers("distance", "column 'distance' must hold numbers")
        if nullable and self.kind == "arrays":
            valid &= by_row != -1
        bad = ~(by_row >= 0)
        if nullable:
            bad |= by_row == np.inf
            bad &= valid
            by_row[~valid] = np.inf
        if bool(bad.any()):
            unreached = "null" if nullable else "infinity"
            raise VerificationError(
                f"{self._describe('distance', by_row, bad)}; a distance is a number from 0, and "
                f"{unreached} for an unreached vertex"
            )
        return self._by_id(by_row, xp.empty(len(by_row)))

    def predecessors(self, is_expected):
        """Ids of the predecessors by id, int32, or None where the result has no such column.

        A vertex without one has the number of vertices instead. Arrays of numbers have no nulls;
        there -1 says so, except for vertices of which a predecessor is expected, because it may
        name one.
        """
        xp, labels, count = self.xp, self.graph.names.labels, self.graph.num_vertices
        # A column that both ends share says the same of a predecessor as of the vertex itself.
        names = self.graph.labeling.endpoint_columns("predecessor")
        if not set(names.values()) & set(frames.column_names(self.table)):
            return None
        parts, given = {}, None
        for label, name in names.items():
            values, valid = self._read(name, "predecessor")
            if self.kind == "arrays" and isinstance(values, xp.ndarray) and len(values) == count:
                none = xp.asarray(-1).astype(values.dtype)
                valid = is_expected[self.ids] | (values != none)
                values = values[valid]
            if values.dtype.kind == "f":  # integers beside nulls, as pandas reads them from CSV
                bad = ~((values == xp.floor(values)) & (abs(values) < 2**63))
                if bool(bad.any()):
                    place = int(bad.argmax())
                    wrong = int(self.ids[int(xp.flatnonzero(valid)[place])])
                    raise VerificationError(
                        f"{vertex_name(self.graph, wrong)} has predecessor "
                        f"{float(values[place])}; it must be the name of a vertex, or null"
                    )
                values = values.astype(xp.int64)
            if given is not None and bool((given != valid).any()):
                wrong = int(self.ids[int((given != valid).argmax())])
                raise VerificationError(
                    f"{vertex_name(self.graph, wrong)} has a part of a predecessor's name"
                )
            parts[label], given = values, valid
        for label in set(labels) - set(names):
            values = frames.to_device(frames.get_column(self.table, label, "vertex"), xp)
            is_array = isinstance(values, xp.ndarray)
            parts[label] = values[given] if is_array else values.take(xp.flatnonzero(given))
        by_row = xp.full(count, count, xp.int32)
        try:
            ids = self.graph.names.ids([parts[label] for label in labels], xp, "a predecessor")
        except GraphError as error:
            raise VerificationError(str(error)) from None
        by_row[given] = ids
        return self._by_id(by_row, xp.empty(count, xp.int32))

    def _read(self, column, what):
        """Return (values, valid) of a column as `get_nullable_column` does, on the graph's device.

        Raises
        ------
        GraphError
            The column is missing.
        VerificationError
            It holds something that is neither numbers nor text, or too few or too many rows.
        """
        there = frames.column_names(self.table)
        if column not in there:
            raise frames.missing_column_error(column, there, column)
        try:
            values, valid = get_nullable_column(self.table, column, what)
        except GraphError as error:
            raise VerificationError(str(error)) from None
        if len(valid) != len(self.ids):
            raise VerificationError(
                f"the result has {len(self.ids)} vertices and {len(valid)} values"
            )
        return frames.to_device(values, self.xp), frames.to_device(valid, self.xp)

    def _read_numbers(self, column, must):
        """Return (values, valid) of a column of numbers by row: float64, NaN for null, and bool.

        A column that holds anything else is a VerificationError with the message `must`.
        """
        values, valid = self._read(column, "values")
        if values.dtype.kind not in "iuf":
            raise VerificationError(must)
        by_row = self.xp.full(len(valid), np.nan)
        by_row[valid] = values
        return by_row, valid

    def _describe(self, column, by_row, bad):
        """Return "vertex 7 has distance nan" for the first row in `bad`."""
        row = int(bad.argmax())
        name = vertex_name(self.graph, int(self.ids[row]))
        return f"{name} has {column} {float(by_row[row])}"

    def _by_id(self, by_row, by_id):
        by_id[self.ids] = by_row
        return by_id


def vertex_name(graph, vertex):
    """Return "vertex NAME" for the vertex of this id."""
    names = graph.names.columns(graph.xp, graph.xp.asarray([vertex])).values()
    shown = [str(n.tolist()[0] if hasattr(n, "tolist") else n.to_arrow()[0]) for n in names]
    return "vertex " + ", ".join(shown)


def smallest_members(groups, vertices, number, count, xp):
    """Return the smallest vertex of each of `number` groups; `count` for an empty group.

    `groups` has the group of each of the `vertices`; both are int32.
    """
    smallest = xp.full(number, count, xp.int32)
    xp.minimum.at(smallest, groups, vertices)
    return smallest


def smallest_joined(tails, heads, count, xp):
    """Return the smallest vertex of every vertex's connected component.

    Where arcs connect two trees, the larger root is linked to the smaller one; then all vertices
    are linked to their roots.
    """
    parent = xp.arange(count, dtype=xp.int32)
    while True:
        apart = tails != heads
        tails, heads = tails[apart], heads[apart]
        if not tails.size:
            return parent
        xp.minimum.at(parent, xp.maximum(tails, heads), xp.minimum(tails, heads))
        while True:
            above = parent[parent]
            if bool((above == parent).all()):
                break
            parent = above
        tails, heads = parent[tails], parent[heads]


def check_order(sizes, smallest, graph, what):
    """Raise VerificationError unless groups are sorted by descending size, then smallest vertex."""
    wrong = sizes[:-1] < sizes[1:]
    wrong |= (sizes[:-1] == sizes[1:]) & (smallest[:-1] > smallest[1:])
    if bool(wrong.any()):
        first = int(wrong.argmax())
        described = [
            f"{group} ({int(sizes[group])} vertices from "
            f"{vertex_name(graph, int(smallest[group]))} on)"
            for group in (first, first + 1)
        ]
        raise VerificationError(f"{what} {described[0]} must come after {described[1]}")
