"""Read the columns of result frames by vertex id, and check that their values are possible."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import frames
from ..device import Array, ArrayModule, count_nonzero
from ..dispatch import in_memory
from ..errors import GraphError, VerificationError
from ..frames import Frame, get_nullable_column
from ..graph.local_graph import LocalGraph


@contextlib.contextmanager
def verification_errors() -> Iterator[None]:
    """Raise a VerificationError in place of every other GraphError."""
    try:
        yield
    except VerificationError:
        raise
    except GraphError as error:
        raise VerificationError(
            str(error), column=error.column, row=error.row, value=error.value
        ) from None


class Result:
    """A result frame with exactly one row per vertex of a graph.

    Parameters
    ----------
    graph : LocalGraph
    result : frame
        Name columns and columns of values, with the rows in any order.
    """

    def __init__(self, graph: LocalGraph, result: Any) -> None:
        self.graph, self.xp = graph, graph.xp
        self.kind, self.table = frames.normalize_frame(in_memory(result), "result")
        with verification_errors():
            self.ids = graph.labeling.ids(self.table, "the result")
        xp, ids, num_vertices = self.xp, self.ids, graph.num_vertices
        sorted_ids = xp.sort(ids)
        if ids.size != num_vertices or count_nonzero(sorted_ids != xp.arange(num_vertices)):
            bounds = xp.searchsorted(sorted_ids, xp.arange(num_vertices + 1))
            num_rows = bounds[1:] - bounds[:-1]
            vertex = int((num_rows != 1).argmax())
            raise VerificationError(
                f"the result has {int(num_rows[vertex])} rows for {vertex_name(graph, vertex)}; "
                "it must have one row per vertex",
                value=graph.labeling.name_of(vertex),
            )

    def numbers(self, column: str) -> Array:
        """Return a column with a finite number in every row, float64 by vertex id.

        Raises
        ------
        VerificationError
            A null, NaN or infinity (names the vertex), or a column that holds no numbers.
        """
        rule = f"column {column!r} must hold a finite number in every row"
        by_row, _ = self._read_numbers(column, rule)
        is_wrong = ~self.xp.isfinite(by_row)
        if count_nonzero(is_wrong):
            raise self._value_error(column, by_row, is_wrong, rule)
        return self._by_id(by_row)

    def integers(self, column: str, predicate: str, rule: str) -> Array:
        """Return a column of integers from 0 to the number of vertices - 1, int32 by vertex id.

        Parameters
        ----------
        column : str
        predicate, rule : str
            For the message about another value: "<vertex> <predicate> <value>; <rule>".

        Raises
        ------
        VerificationError
            As `numbers`, or another value (names the vertex).
        """
        numbers, xp = self.numbers(column), self.xp
        is_wrong = (numbers < 0) | (numbers >= numbers.size) | (numbers != xp.floor(numbers))
        if count_nonzero(is_wrong):
            vertex = int(is_wrong.argmax())
            value = float(numbers[vertex])
            raise VerificationError(
                f"{vertex_name(self.graph, vertex)} {predicate} {value:g}; {rule}",
                column=column,
                value=value,
            )
        return numbers.astype(xp.int32)

    def distances(self, *, nullable: bool) -> Array:
        """Return the column `distance`, float64 by vertex id; infinity for unreached vertices.

        Parameters
        ----------
        nullable : bool
            Whether unreached vertices have null, as from BFS (-1 in arrays, which have no null),
            or infinity, as from SSSP.

        Raises
        ------
        VerificationError
            A value is negative or NaN, infinite although unreached vertices have null, or null
            although they have infinity (names the vertex); or the column holds no numbers.
        """
        by_row, valid = self._read_numbers("distance", "column 'distance' must hold numbers")
        if nullable and self.kind == "arrays":
            valid &= by_row != -1
        is_wrong = ~(by_row >= 0)
        if nullable:
            is_wrong |= by_row == np.inf
            is_wrong &= valid
            by_row[~valid] = np.inf
        if count_nonzero(is_wrong):
            unreached = "null" if nullable else "infinity"
            rule = f"a distance is a number from 0, and {unreached} for an unreached vertex"
            raise self._value_error("distance", by_row, is_wrong, rule)
        return self._by_id(by_row)

    def predecessors(self, is_expected: Array) -> Array | None:
        """Return the ids of predecessors by vertex id, int32; None without such a column.

        A vertex without a predecessor has the number of vertices. Arrays of numbers have no null
        but -1, which may also be the name of a vertex; where a predecessor is expected, -1 is
        taken as a name.
        """
        xp, labels, count = self.xp, self.graph.names.labels, self.graph.num_vertices
        # A column that both endpoints share has the same value for the vertex and its predecessor.
        names = self.graph.labeling.endpoint_columns("predecessor")
        if not set(names.values()) & set(frames.column_names(self.table)):
            return None
        parts: dict[str, Any] = {}
        has_predecessor = None
        for label, name in names.items():
            values, valid = self._read(name, "predecessor")
            if self.kind == "arrays" and isinstance(values, xp.ndarray) and len(values) == count:
                null = xp.asarray(-1).astype(values.dtype)
                valid = is_expected[self.ids] | (values != null)
                values = values[valid]
            if values.dtype.kind == "f":  # integers beside nulls, as pandas reads them from CSV
                is_wrong = ~((values == xp.floor(values)) & (abs(values) < 2**63))
                if count_nonzero(is_wrong):
                    index = int(is_wrong.argmax())
                    vertex = int(self.ids[int(xp.flatnonzero(valid)[index])])
                    raise VerificationError(
                        f"{vertex_name(self.graph, vertex)} has predecessor "
                        f"{float(values[index])}; it must be the name of a vertex, or null",
                        column=name,
                        value=float(values[index]),
                    )
                values = values.astype(xp.int64)
            if has_predecessor is not None and count_nonzero(has_predecessor != valid):
                vertex = int(self.ids[int((has_predecessor != valid).argmax())])
                raise VerificationError(
                    f"{vertex_name(self.graph, vertex)} has a predecessor whose name is incomplete",
                    column=name,
                )
            parts[label], has_predecessor = values, valid
        for label in set(labels) - set(names):
            values = frames.to_device(frames.get_column(self.table, label, "vertex"), xp)
            if isinstance(values, xp.ndarray):
                parts[label] = values[has_predecessor]
            else:
                parts[label] = values.take(xp.flatnonzero(has_predecessor))
        by_row = xp.full(count, count, xp.int32)
        with verification_errors():
            ids = self.graph.names.ids([parts[label] for label in labels], xp, "a predecessor")
        by_row[has_predecessor] = ids
        return self._by_id(by_row)

    def _read(self, column: str, parameter: str) -> tuple[Any, Array]:
        return read_column(self.table, column, parameter, "vertices", len(self.ids), self.xp)

    def _read_numbers(self, column: str, rule: str) -> tuple[Array, Array]:
        return read_numbers(self.table, column, rule, "vertices", len(self.ids), self.xp)

    def _value_error(
        self, column: str, by_row: Array, is_wrong: Array, rule: str
    ) -> VerificationError:
        """Return the error for the first wrong row: "vertex 7 has distance nan; ..."."""
        row = int(is_wrong.argmax())
        vertex, value = vertex_name(self.graph, int(self.ids[row])), float(by_row[row])
        return VerificationError(
            f"{vertex} has {column} {value}; {rule}", column=column, row=row, value=value
        )

    def _by_id(self, by_row: Array) -> Array:
        by_id = self.xp.empty_like(by_row)
        by_id[self.ids] = by_row
        return by_id


def read_column(
    table: Frame, column: str, parameter: str, noun: str, num_rows: int, xp: ArrayModule
) -> tuple[Any, Array]:
    """Return (values, valid) of a column as `get_nullable_column` does, on a device.

    `noun` is what the rows are, for messages.

    Raises
    ------
    GraphError
        The column is missing.
    VerificationError
        It holds neither numbers nor text, or has too few or too many rows.
    """
    column_names = frames.column_names(table)
    if column not in column_names:
        raise frames.missing_column_error(column, column_names, column)
    with verification_errors():
        values, valid = get_nullable_column(table, column, parameter)
    if len(valid) != num_rows:
        raise VerificationError(
            f"the result has {num_rows} {noun} and {len(valid)} values", column=column
        )
    return frames.to_device(values, xp), frames.to_device(valid, xp)


def read_numbers(
    table: Frame, column: str, rule: str, noun: str, num_rows: int, xp: ArrayModule
) -> tuple[Array, Array]:
    """Return (values, valid) of a column of numbers by row: float64, NaN for null, and bool.

    A column that holds anything else is a VerificationError with the message `rule`.
    """
    values, valid = read_column(table, column, "values", noun, num_rows, xp)
    if values.dtype.kind not in "iuf":
        raise VerificationError(rule, column=column)
    by_row = xp.full(num_rows, np.nan)
    by_row[valid] = values
    return by_row, valid


def vertex_name(graph: LocalGraph, vertex: int) -> str:
    """Return "vertex NAME" for the vertex of this id."""
    name = graph.labeling.name_of(vertex)
    return "vertex " + ", ".join(map(str, name if isinstance(name, tuple) else [name]))
