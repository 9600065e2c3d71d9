"""What the rows of a frame of clusters say: read once, for checks and for pictures.

Means: of every row the vertex, the cluster and the role, and of every vertex its first row.
Requires: nothing; whatever makes it no such frame is a GraphError.
"""

from dataclasses import dataclass

import numpy as np

from .. import frames
from ..algorithms.scan import BORDER, HUB, ROLES
from ..device import Array, is_array
from ..errors import GraphError
from .result_reader import vertex_name

EXPECTED = f"it can be {', '.join(ROLES)}, or 0 to 3 for these"
LOW = 2**32 - 1


@dataclass(frozen=True)
class ClusterRows:
    """Rows of a frame of clusters: one a vertex, or several of a border, each of another cluster.

    Attributes
    ----------
    ids : int32, shape (rows,)
    numbers : int64, shape (clusters,)
        What the clusters are called, ascending.
    places : int64, shape (rows,)
        Where the cluster of each row stands in `numbers`; the number of clusters where it has none.
    roles : int8, shape (rows,), or None
        Places in ROLES; None where the frame has no roles.
    first : int64, shape (vertices,)
        The first row of each vertex, by id.
    """

    ids: Array
    numbers: Array
    places: Array
    roles: Array | None
    first: Array


def read_clusters(graph, table, column, what):
    """The ClusterRows of an opened frame, whose clusters are in `column`.

    Parameters
    ----------
    graph : Graph
    table : opened frame
        Name columns, clusters and perhaps `role`, rows in any order.
    column, what : str
        What holds the clusters, and what messages call the frame.

    Raises
    ------
    GraphError
        Columns that are missing or hold something else, a vertex that is missing, not of the
        graph, or in several rows other than those of a border's clusters.
    """
    xp, ids = graph.xp, graph.labeling.ids(table, what)
    given = _cluster_numbers(graph, table, column, what, ids)
    has_roles = "role" in frames.column_names(table)
    roles = _role_codes(graph, table, what, ids) if has_roles else None
    in_one = given >= 0
    numbers = members = given[:0]
    if bool(in_one.any()):
        numbers, members = xp.unique(given[in_one], return_inverse=True)
    places = xp.full(len(ids), numbers.size)
    places[in_one] = members
    return ClusterRows(ids, numbers, places, roles, _first_rows(graph, ids, places, roles, what))


def check_roles_fit(graph, rows, column, what):
    """Raise GraphError where, of a vertex's first row, the role does not fit the cluster."""
    places, roles = rows.places[rows.first], rows.roles[rows.first]
    wrong = (places < rows.numbers.size) != (roles < HUB)
    if bool(wrong.any()):
        vertex = int(wrong.argmax())
        role, place = ROLES[int(roles[vertex])], int(places[vertex])
        has_none = place == rows.numbers.size
        said = f"no {column}" if has_none else f"{column} {int(rows.numbers[place])}"
        raise GraphError(
            f"{what}: {vertex_name(graph, vertex)} is of role {role!r} and in {said}; it must be "
            f"in {'one' if has_none else 'none'}"
        )


def _cluster_numbers(graph, table, column, what, ids):
    """One a row: int64, -1 where there is none."""
    xp, count = graph.xp, len(ids)
    values, known = frames.get_nullable_column(table, column, column)
    _check_length(len(known), count, column, what)
    if not is_array(values) or values.dtype.kind not in "iuf":
        raise GraphError(f"{what}: column {column!r} must hold integers")
    values, known = frames.to_device(values, xp), frames.to_device(known, xp)
    with np.errstate(invalid="ignore"):
        whole = values.astype(xp.int64)
    bad = (whole < -1) | (whole != values)
    if bool(bad.any()):
        place = int(bad.argmax())
        row = int(xp.flatnonzero(known)[place])
        raise GraphError(
            f"{what}: {column} {values[place].item()} in row {row}; it must be an integer from 0; "
            f"the row is that of {vertex_name(graph, int(ids[row]))}"
        )
    numbers = xp.full(count, -1, xp.int64)
    numbers[known] = whole
    return numbers


def _role_codes(graph, table, what, ids):
    """One a row: int8, the place in ROLES."""
    xp, count = graph.xp, len(ids)
    roles, known = frames.get_nullable_column(table, "role", "role")
    _check_length(len(known), count, "role", what)
    roles, known = frames.to_device(roles, xp), frames.to_device(known, xp)
    if not bool(known.all()):
        row = int((~known).argmax())
        raise GraphError(
            f"{what}: column 'role' has no value in row {row}; {EXPECTED}; the row is that of "
            f"{vertex_name(graph, int(ids[row]))}"
        )
    codes = roles
    if not is_array(roles):
        codes = xp.full(count, -1, xp.int8)
        for code, name in enumerate(ROLES):
            codes[xp.asarray((roles == name).values, dtype=bool)] = code
    elif roles.dtype.kind not in "iu":
        raise GraphError(f"{what}: column 'role' holds {roles.dtype}; {EXPECTED}")
    bad = (codes < 0) | (codes >= len(ROLES))
    if bool(bad.any()):
        row = int(bad.argmax())
        role = roles[row].item() if is_array(roles) else roles.iloc[row]
        raise GraphError(
            f"{what}: role {role!r} in row {row}; {EXPECTED}; the row is that of "
            f"{vertex_name(graph, int(ids[row]))}"
        )
    return codes.astype(xp.int8)


def _check_length(values, count, column, what):
    if values != count:
        raise GraphError(f"{what}: {count} vertices, and {values} rows of column {column!r}")


def _first_rows(graph, ids, places, roles, what):
    """The first row of each vertex, by id; several may be only the clusters of a border."""
    xp, count = graph.xp, graph.num_vertices
    rows = xp.bincount(ids, minlength=count)
    missing = rows == 0
    if bool(missing.any()):
        vertex = int(missing.argmax())
        raise GraphError(f"{what}: there is no row for {vertex_name(graph, vertex)}")
    if ids.size == count:
        first = xp.empty(count, xp.int64)
        first[ids] = xp.arange(count)
        return first
    wide = ids.astype(xp.int64) << 32
    again = rows[ids] > 1
    if roles is not None:
        again &= roles != BORDER
    repeated = ids[again]
    if not repeated.size:
        pairs = xp.sort(wide | places)
        repeated = pairs[1:][pairs[1:] == pairs[:-1]] >> 32
    if repeated.size:
        vertex = int(repeated[0])
        raise GraphError(
            f"{what}: there are {int(rows[vertex])} rows for {vertex_name(graph, vertex)}; "
            "only a border has several, each of another cluster"
        )
    in_order = xp.sort(wide | xp.arange(ids.size))
    return in_order[xp.cumsum(rows) - rows] & LOW
