"""What a frame of clusters or components says of every vertex, and the order that follows.

Means: members of cluster 0, 1, ..., then hubs, then outliers, inside each by name.
Reference: Stovall et al. 2015 (GPUSCAN), section 4.1.
"""

from dataclasses import dataclass

import numpy as np

from .. import frames
from ..device import is_array
from ..errors import GraphError
from ..verify.results import vertex_name

COLUMNS = ("cluster", "component")
ROLES = ("core", "border", "hub", "outlier")
EXPECTED = f"it can be {', '.join(ROLES)}, or 0 to 3 for these"
BORDER, HUB = ROLES.index("border"), ROLES.index("hub")
LOW = 2**32 - 1


@dataclass(frozen=True)
class Order:
    """Vertices in the order of their clusters.

    Attributes
    ----------
    positions : int32, shape (vertices,)
        Where each vertex stands, by id.
    what : {"cluster", "component"}
    numbers, sizes : int64, shape (clusters,)
        What the clusters are called, ascending, and how many vertices are in each.
    rest : dict from str to int
        How many vertices of each kind follow: `hub` and `outlier`, or `none` where the frame has
        no roles and leaves vertices without a cluster.
    """

    positions: object
    what: str
    numbers: object
    sizes: object
    rest: dict


def ordered(graph, clusters):
    """The Order of a graph's vertices that a frame of clusters makes.

    Raises
    ------
    GraphError
        Columns that are missing or hold something else, a vertex that is missing, not of the
        graph, or in several rows other than those of a border's clusters, or a role that does not
        fit the cluster.
    """
    xp, count = graph.xp, graph.num_vertices
    _, table = frames.opened(clusters)
    there = frames.column_names(table)
    what = next((column for column in COLUMNS if column in there), None)
    if what is None:
        raise frames.missing_column("cluster", there, "cluster", "clusters")
    ids = graph.ids(table, "clusters")
    given = _cluster_numbers(table, what, len(ids), xp)
    roles = _role_codes(table, len(ids), xp) if "role" in there else None
    in_one = given >= 0
    numbers = members = given[:0]
    if bool(in_one.any()):
        numbers, members = xp.unique(given[in_one], return_inverse=True)
    places = xp.full(len(ids), numbers.size)  # among the groups: clusters, hubs, outliers
    places[in_one] = members
    rows = _first_rows(graph, ids, places, roles)
    places = places[rows]
    if roles is not None:
        roles = roles[rows]
        wrong = (places < numbers.size) != (roles < HUB)
        if bool(wrong.any()):
            vertex = int(wrong.argmax())
            number = int(given[rows[vertex]])
            raise GraphError(
                f"clusters: {vertex_name(graph, vertex)} is of role "
                f"{ROLES[int(roles[vertex])]!r} and in {what if number >= 0 else f'no {what}'}"
                + (f" {number}" if number >= 0 else "")
            )
        places += xp.maximum(roles.astype(xp.int64) - HUB, 0)
    sizes = xp.bincount(places, minlength=numbers.size + 2)
    in_order = xp.argsort(places, kind="stable")
    positions = xp.empty(count, xp.int32)
    positions[in_order] = xp.arange(count, dtype=xp.int32)
    rest = sizes[numbers.size :].tolist()
    if roles is not None:
        rest = dict(zip(("hub", "outlier"), rest))
    else:
        rest = {"none": rest[0]} if rest[0] else {}
    return Order(positions, what, numbers, sizes[: numbers.size], rest)


def _cluster_numbers(table, what, count, xp):
    """One a row: int64, -1 where there is none."""
    values, known = frames.nullable_column(table, what, what)
    _check_length(len(known), count, what)
    if not is_array(values) or values.dtype.kind not in "iuf":
        raise GraphError(f"clusters: column {what!r} must hold integers")
    values, known = frames.moved(values, xp), frames.moved(known, xp).copy()
    if values.dtype.kind == "f":  # whatever has no integers beside nulls
        are_there = values == values
        known[xp.flatnonzero(known)[~are_there]] = False
        values = values[are_there]
    with np.errstate(invalid="ignore"):
        whole = values.astype(xp.int64)
    bad = (whole < -1) | (whole != values)
    if bool(bad.any()):
        place = int(bad.argmax())
        row = int(xp.flatnonzero(known)[place])
        raise GraphError(
            f"clusters: {what} {values[place].item()} in row {row}; it must be an integer from 0"
        )
    numbers = xp.full(count, -1, xp.int64)
    numbers[known] = whole
    return numbers


def _role_codes(table, count, xp):
    """One a row: int8, the place in ROLES."""
    roles = frames.moved(frames.column(table, "role", "role", "clusters"), xp)
    _check_length(len(roles), count, "role")
    codes = roles
    if not is_array(roles):
        codes = xp.full(count, -1, xp.int8)
        for code, name in enumerate(ROLES):
            codes[xp.asarray((roles == name).values, dtype=bool)] = code
    elif roles.dtype.kind not in "iu":
        raise GraphError(f"clusters: column 'role' holds {roles.dtype}; {EXPECTED}")
    bad = (codes < 0) | (codes >= len(ROLES))
    if bool(bad.any()):
        row = int(bad.argmax())
        role = roles[row].item() if is_array(roles) else roles.iloc[row]
        raise GraphError(f"clusters: role {role!r} in row {row}; {EXPECTED}")
    return codes.astype(xp.int8)


def _check_length(values, count, what):
    if values != count:
        raise GraphError(f"clusters: {count} vertices, and {values} rows of column {what!r}")


def _first_rows(graph, ids, places, roles):
    """The first row of each vertex, by id; several may be only the clusters of a border."""
    xp, count = graph.xp, graph.num_vertices
    rows = xp.bincount(ids, minlength=count)
    missing = rows == 0
    if bool(missing.any()):
        vertex = int(missing.argmax())
        raise GraphError(f"clusters: there is no row for {vertex_name(graph, vertex)}")
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
            f"clusters: there are {int(rows[vertex])} rows for {vertex_name(graph, vertex)}; "
            "only a border has several, each of another cluster"
        )
    in_order = xp.sort(wide | xp.arange(ids.size))
    return in_order[xp.cumsum(rows) - rows] & LOW
