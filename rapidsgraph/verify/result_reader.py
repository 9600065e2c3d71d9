"""Read the columns of result frames by vertex id, and check that their values are possible."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import frames
from ..algorithms.scan import BORDER, HUB, ROLES
from ..device import Array, is_array
from ..dispatch import in_memory
from ..errors import GraphError, VerificationError
from ..frames import get_nullable_column
from ..graph.local_graph import LocalGraph

ROLE_HINT = f"it can be {', '.join(ROLES)}, or 0 to 3 for these"
LOW_WORD = 2**32 - 1  # the lower half of a pair that is packed into 64 bits


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
        self.kind, self.table = frames.normalize_frame(in_memory(result))
        with verification_errors():
            self.ids = graph.labeling.ids(self.table, "the result")
        xp, ids, num_vertices = self.xp, self.ids, graph.num_vertices
        sorted_ids = xp.sort(ids)
        if ids.size != num_vertices or not bool((sorted_ids == xp.arange(num_vertices)).all()):
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
        if bool(is_wrong.any()):
            raise self._value_error(column, by_row, is_wrong, rule)
        return self._by_id(by_row)

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
        if bool(is_wrong.any()):
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
                if bool(is_wrong.any()):
                    index = int(is_wrong.argmax())
                    vertex = int(self.ids[int(xp.flatnonzero(valid)[index])])
                    raise VerificationError(
                        f"{vertex_name(self.graph, vertex)} has predecessor "
                        f"{float(values[index])}; it must be the name of a vertex, or null",
                        column=name,
                        value=float(values[index]),
                    )
                values = values.astype(xp.int64)
            if has_predecessor is not None and bool((has_predecessor != valid).any()):
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
        """Return (values, valid) of a column as `get_nullable_column` does, on the graph's device.

        Raises
        ------
        GraphError
            The column is missing.
        VerificationError
            It holds neither numbers nor text, or has too few or too many rows.
        """
        column_names = frames.column_names(self.table)
        if column not in column_names:
            raise frames.missing_column_error(column, column_names, column)
        with verification_errors():
            values, valid = get_nullable_column(self.table, column, parameter)
        if len(valid) != len(self.ids):
            raise VerificationError(
                f"the result has {len(self.ids)} vertices and {len(valid)} values", column=column
            )
        return frames.to_device(values, self.xp), frames.to_device(valid, self.xp)

    def _read_numbers(self, column: str, rule: str) -> tuple[Array, Array]:
        """Return (values, valid) of a column of numbers by row: float64, NaN for null, and bool.

        A column that holds anything else is a VerificationError with the message `rule`.
        """
        values, valid = self._read(column, "values")
        if values.dtype.kind not in "iuf":
            raise VerificationError(rule, column=column)
        by_row = self.xp.full(len(valid), np.nan)
        by_row[valid] = values
        return by_row, valid

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


@dataclass(frozen=True)
class ClusterTable:
    """A frame of clusters: one row per vertex, or several rows of a border in several clusters.

    A cluster is given by its index in `numbers`, and no cluster by the number of clusters.

    Attributes
    ----------
    numbers : int64 array, shape (clusters,)
        Numbers of the clusters, ascending.
    ids, row_clusters : int32 and int64 arrays, shape (rows,)
        Vertex and cluster of every row.
    first_rows : int64 array, shape (vertices,)
        The first row of every vertex, by vertex id.
    clusters : int64 array, shape (vertices,)
        Clusters of the first rows.
    roles : int8 array, shape (vertices,), or None
        Indices in ROLES of the first rows; None if the frame has no roles.
    """

    numbers: Array
    ids: Array
    row_clusters: Array
    first_rows: Array
    clusters: Array
    roles: Array | None


def read_clusters(graph: LocalGraph, table: Any, column: str, parameter: str) -> ClusterTable:
    """Read a frame of clusters.

    Parameters
    ----------
    graph : LocalGraph
    table : opened frame
        Name columns, the clusters in `column` and optionally `role`, with the rows in any order.
    column : str
    parameter : str
        What messages call the frame.

    Raises
    ------
    GraphError
        A column is missing or has wrong values, or a vertex is unknown, missing, or repeated other
        than as a border of several clusters.
    """
    xp, ids = graph.xp, graph.labeling.ids(table, parameter)
    given_numbers = _read_cluster_numbers(graph, table, column, parameter, ids)
    has_roles = "role" in frames.column_names(table)
    roles = _read_roles(graph, table, parameter, ids) if has_roles else None
    has_cluster = given_numbers >= 0
    numbers = members = given_numbers[:0]
    if bool(has_cluster.any()):
        numbers, members = xp.unique(given_numbers[has_cluster], return_inverse=True)
    row_clusters = xp.full(len(ids), numbers.size)
    row_clusters[has_cluster] = members
    first_rows = _find_first_rows(graph, ids, row_clusters, roles, parameter)
    return ClusterTable(
        numbers,
        ids,
        row_clusters,
        first_rows,
        clusters=row_clusters[first_rows],
        roles=None if roles is None else roles[first_rows],
    )


def check_roles(graph: LocalGraph, table: ClusterTable, column: str, parameter: str) -> None:
    """Check that exactly the cores and borders have a cluster, if the table has roles."""
    if table.roles is None:
        return
    has_cluster = table.clusters < table.numbers.size
    is_wrong = has_cluster != (table.roles < HUB)
    if bool(is_wrong.any()):
        vertex = int(is_wrong.argmax())
        role, cluster, rule = ROLES[int(table.roles[vertex])], f"no {column}", "one"
        if bool(has_cluster[vertex]):
            cluster, rule = f"{column} {int(table.numbers[table.clusters[vertex]])}", "none"
        raise GraphError(
            f"{parameter}: {vertex_name(graph, vertex)} has role {role!r} and is in {cluster}; it "
            f"must be in {rule}",
            column="role",
            value=role,
        )


def _read_cluster_numbers(
    graph: LocalGraph, table: Any, column: str, parameter: str, ids: Array
) -> Array:
    """Return the cluster number of every row, -1 for null: int64."""
    xp = graph.xp
    values, valid = frames.get_nullable_column(table, column, column)
    _check_length(len(valid), len(ids), column, parameter)
    if not is_array(values) or values.dtype.kind not in "iuf":
        raise GraphError(f"{parameter}: column {column!r} must hold integers", column=column)
    values, valid = frames.to_device(values, xp), frames.to_device(valid, xp)
    with np.errstate(invalid="ignore"):
        integers = values.astype(xp.int64)
    is_wrong = (integers < -1) | (integers != values)
    if bool(is_wrong.any()):
        index = int(is_wrong.argmax())
        row, value = int(xp.flatnonzero(valid)[index]), values[index].item()
        raise GraphError(
            f"{parameter}: {column} {value} in row {row}, of {vertex_name(graph, int(ids[row]))}; "
            "it must be an integer from 0",
            column=column,
            row=row,
            value=value,
        )
    numbers = xp.full(len(ids), -1, xp.int64)
    numbers[valid] = integers
    return numbers


def _read_roles(graph: LocalGraph, table: Any, parameter: str, ids: Array) -> Array:
    """Return the role of every row as an index in ROLES: int8."""
    xp = graph.xp
    roles, valid = frames.get_nullable_column(table, "role", "role")
    _check_length(len(valid), len(ids), "role", parameter)
    roles, valid = frames.to_device(roles, xp), frames.to_device(valid, xp)
    if not bool(valid.all()):
        row = int((~valid).argmax())
        raise GraphError(
            f"{parameter}: column 'role' has no value in row {row}, of "
            f"{vertex_name(graph, int(ids[row]))}; {ROLE_HINT}",
            column="role",
            row=row,
        )
    codes = roles
    if not is_array(roles):
        codes = xp.full(len(ids), -1, xp.int8)
        for code, name in enumerate(ROLES):
            codes[xp.asarray((roles == name).values, dtype=bool)] = code
    elif roles.dtype.kind not in "iu":
        raise GraphError(
            f"{parameter}: column 'role' holds {roles.dtype}; {ROLE_HINT}", column="role"
        )
    is_wrong = (codes < 0) | (codes >= len(ROLES))
    if bool(is_wrong.any()):
        row = int(is_wrong.argmax())
        role = roles[row].item() if is_array(roles) else roles.iloc[row]
        raise GraphError(
            f"{parameter}: role {role!r} in row {row}, of {vertex_name(graph, int(ids[row]))}; "
            f"{ROLE_HINT}",
            column="role",
            row=row,
            value=role,
        )
    return codes.astype(xp.int8)


def _check_length(length: int, num_rows: int, column: str, parameter: str) -> None:
    if length != num_rows:
        raise GraphError(
            f"{parameter}: {num_rows} vertices, but {length} rows of column {column!r}",
            column=column,
        )


def _find_first_rows(
    graph: LocalGraph, ids: Array, row_clusters: Array, roles: Array | None, parameter: str
) -> Array:
    """Return the first row of every vertex; check that only borders have several."""
    xp, num_vertices = graph.xp, graph.num_vertices
    num_rows = xp.bincount(ids, minlength=num_vertices)
    if not bool(num_rows.all()):
        vertex = int((num_rows == 0).argmax())
        raise GraphError(
            f"{parameter}: there is no row for {vertex_name(graph, vertex)}",
            value=graph.labeling.name_of(vertex),
        )
    if ids.size == num_vertices:
        first_rows = xp.empty(num_vertices, xp.int64)
        first_rows[ids] = xp.arange(num_vertices)
        return first_rows
    high_words = ids.astype(xp.int64) << 32
    is_repeated = num_rows[ids] > 1
    if roles is not None:
        is_repeated &= roles != BORDER
    repeated = ids[is_repeated]
    if not repeated.size:  # but a row of a border may be
        pairs = xp.sort(high_words | row_clusters)
        repeated = pairs[1:][pairs[1:] == pairs[:-1]] >> 32
    if repeated.size:
        vertex = int(repeated[0])
        raise GraphError(
            f"{parameter}: there are {int(num_rows[vertex])} rows for "
            f"{vertex_name(graph, vertex)}; only a border may have several, each with another "
            "cluster",
            value=graph.labeling.name_of(vertex),
        )
    pairs = xp.sort(high_words | xp.arange(ids.size))
    return pairs[xp.cumsum(num_rows) - num_rows] & LOW_WORD


def vertex_name(graph: LocalGraph, vertex: int) -> str:
    """Return "vertex NAME" for the vertex of this id."""
    names = graph.names.columns(graph.xp, graph.xp.asarray([vertex])).values()
    parts = [str(n.tolist()[0] if hasattr(n, "tolist") else n.to_arrow()[0]) for n in names]
    return "vertex " + ", ".join(parts)
