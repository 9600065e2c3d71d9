"""Read frames of clusters, and check that their values are possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import frames
from ..algorithms.scan import ROLES
from ..device import Array, count_nonzero, is_array
from ..errors import GraphError
from ..graph.local_graph import LocalGraph
from ..kernels.constants import BORDER, HUB
from .result_reader import vertex_name

ROLE_HINT = f"it can be {', '.join(ROLES)}, or 0 to 3 for these"
LOW_WORD = 2**32 - 1  # the lower half of a pair that is packed into 64 bits


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
    if count_nonzero(has_cluster):
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
    if count_nonzero(is_wrong):
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
    values, valid = _read_column(graph, table, column, parameter, len(ids))
    if not is_array(values) or values.dtype.kind not in "iuf":
        raise GraphError(f"{parameter}: column {column!r} must hold integers", column=column)
    with np.errstate(invalid="ignore"):
        integers = values.astype(xp.int64)
    is_wrong = (integers < -1) | (integers != values)
    if count_nonzero(is_wrong):
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
    roles, valid = _read_column(graph, table, "role", parameter, len(ids))
    if count_nonzero(valid) < len(ids):
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
    if count_nonzero(is_wrong):
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


def _read_column(
    graph: LocalGraph, table: Any, column: str, parameter: str, num_rows: int
) -> tuple[Any, Array]:
    """Return (values, valid) of a column as `get_nullable_column` does, on the graph's device."""
    values, valid = frames.get_nullable_column(table, column, column)
    if len(valid) != num_rows:
        raise GraphError(
            f"{parameter}: {num_rows} vertices, but {len(valid)} rows of column {column!r}",
            column=column,
        )
    return frames.to_device(values, graph.xp), frames.to_device(valid, graph.xp)


def _find_first_rows(
    graph: LocalGraph, ids: Array, row_clusters: Array, roles: Array | None, parameter: str
) -> Array:
    """Return the first row of every vertex; check that only borders have several."""
    xp, num_vertices = graph.xp, graph.num_vertices
    num_rows = xp.bincount(ids, minlength=num_vertices)
    if count_nonzero(num_rows) < num_vertices:
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
