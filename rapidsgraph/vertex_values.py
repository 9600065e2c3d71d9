"""Vertices that callers name: sources; and with values: personalization, start, dangling."""

from collections.abc import Iterator, Mapping, Set, ValuesView

import numpy as np

from . import frames
from .errors import GraphError, shown

MAX_SUMMABLE = 2.0**900  # as many values as there may be sum to less than the largest double


def source_ids(graph, source, what="source"):
    """Ids of the vertices a caller names, ascending, each once: int32.

    Parameters
    ----------
    graph : Graph
    source : vertex, or several
        A name, or a list, tuple, set, range, array or Series of names, or a frame of the graph's
        name columns (`vertex`). Where several columns name a vertex: a tuple of its names, a list
        of such tuples, or a frame, whose columns may also be called like the edges' sources.
    what : str
        For messages.

    Raises
    ------
    GraphError
        A vertex that is not in the graph, no vertex at all, or something that names none.
    """
    source = frames.in_one_piece(source)
    try:
        _, table = frames.opened(source)
    except GraphError:
        table = _table_of(source, graph, what)
    ids = graph.ids(table, what, _name_columns(graph, table))
    if not ids.size:
        raise GraphError(f"{what} is empty; name at least one vertex")
    return ids if ids.size == 1 else graph.xp.unique(ids)


def _name_columns(graph, table):
    """The columns of a table that name vertices: as in results or, of several, as of sources."""
    labels, own = graph.names.labels, graph.source_columns
    there = set(frames.column_names(table))
    is_own = len(own) > 1 and there.issuperset(own) and not there.issuperset(labels)
    return own if is_own else labels


def _table_of(source, graph, what):
    """{label: names} of what is no frame."""
    labels = graph.names.labels
    if source is None or isinstance(source, (bool, np.bool_)):
        raise GraphError(f"{what} is {shown(source)}; name a vertex, or several in a list")
    if isinstance(source, range):
        # A range names more vertices than it may have only if one of them is absent.
        source = list(source[: graph.num_vertices + 1])
    elif isinstance(source, (Set, ValuesView, Iterator)):
        source = list(source)
    is_one = isinstance(source, (str, bytes)) or not hasattr(source, "__len__")
    if is_one or getattr(source, "ndim", 1) == 0:
        is_boxed = isinstance(source, np.ndarray) and source.dtype.kind in "OT"
        source = [source.item() if is_boxed else source]
    if len(labels) == 1:
        table = {labels[0]: list(source) if isinstance(source, tuple) else source}
        if isinstance(source, list) and any(isinstance(name, bool) for name in source):
            raise GraphError(f"{what} is {shown(source)}; True and False are no vertices")
    else:
        vertices = [source] if isinstance(source, tuple) else list(source)
        are_tuples = [isinstance(v, (tuple, list)) and len(v) == len(labels) for v in vertices]
        if not all(are_tuples):
            raise GraphError(
                f"{what}: a vertex is named by {', '.join(labels)}; give a tuple of {len(labels)}, "
                "a list of such tuples, or a frame of these columns"
            )
        table = {label: [names[i] for names in vertices] for i, label in enumerate(labels)}
    beyond = [name for names in table.values() for name in _beyond_64_bits(names)]
    if beyond:
        raise GraphError(f"{what}: vertex {shown(beyond[0])} is not in the graph")
    for row in _rows_of_no_type(table):  # in a graph all names are of one type: one is absent
        graph.ids({label: [names[row]] for label, names in table.items()}, what)
    for label in labels:
        try:
            table[label] = frames.column(table, label, "vertex")
        except GraphError as error:  # which speaks of a column that nobody gave
            raise GraphError(str(error).replace(f"column {label!r}", what)) from None
    return table


def _beyond_64_bits(names):
    """Integers of a list that no integer type of NumPy holds."""
    if not isinstance(names, list):
        return []
    return [name for name in names if isinstance(name, int) and not -(2**63) <= name < 2**64]


def _rows_of_no_type(table):
    """Rows of the first column with a negative integer and one beyond 2^63: where these are."""
    for names in table.values():
        if isinstance(names, list) and all(isinstance(n, (int, np.integer)) for n in names):
            low, high = min(names, default=0), max(names, default=0)
            if low < 0 and high >= 2**63:
                return names.index(low), names.index(high)
    return ()


def values_by_id(graph, given, what):
    """float64, shape (vertices,), summing to 1; vertices that `given` leaves out get 0.

    Parameters
    ----------
    graph : Graph
    given : frame or dict
        A frame of the graph's name columns (`vertex`, or as in `source_ids`) and one column of
        values, whatever it is called; or a dict from vertex to value.
    what : str
        For messages.

    Raises
    ------
    GraphError
        A vertex that is absent or given twice, a value that is negative, NaN or infinite (names
        its row), or nothing above 0.
    """
    xp, given = graph.xp, frames.in_one_piece(given)
    if isinstance(given, Mapping) and not any(_is_column(values) for values in given.values()):
        given = _from_dict(given, graph.names.labels, what)
    try:
        _, table = frames.opened(given)
    except GraphError as error:
        kind = f"{type(given).__module__}.{type(given).__name__}"
        raise GraphError(
            f"{what} is a {kind}; give a dict of values by vertex (a Series has .to_dict()), or a "
            "frame with the vertex names and one column of values"
        ) from error
    names, there = _name_columns(graph, table), frames.column_names(table)
    others = [name for name in there if name not in names]
    if len(others) != 1 and set(names) <= set(there):
        raise GraphError(
            f"{what} needs the columns {', '.join(map(str, names))} and one of values; it has "
            f"{', '.join(map(str, there))}"
        )
    ids = graph.ids(table, what, names)
    values = frames.moved(frames.column(table, others[0], "values", what), xp)
    if not isinstance(values, (np.ndarray, xp.ndarray)) or values.dtype.kind not in "iuf":
        raise GraphError(f"{what}: column {others[0]!r} holds text; it must hold numbers")
    if len(values) != len(ids):
        raise GraphError(f"{what} has {len(ids)} vertices and {len(values)} values")
    with np.errstate(over="ignore"):  # what is beyond double precision is refused as infinite
        values = xp.asarray(values, dtype=xp.float64)
    bad = ~(values >= 0) | (values == np.inf)
    if bool(bad.any()):
        row = int(bad.argmax())
        raise GraphError(
            f"{what}: the value in row {row} is {float(values[row])}; it must be finite and not "
            "negative"
        )
    in_order = xp.sort(ids)
    repeated = in_order[1:][in_order[1:] == in_order[:-1]]
    if repeated.size:
        twice = int((ids == repeated[0]).argmax())
        raise GraphError(f"{what}: the vertex in row {twice} is given more than once")
    largest = float(values.max()) if values.size else 0.0
    if not largest:
        raise GraphError(f"{what}: the values sum to 0.0; at least one must be above 0")
    if largest > MAX_SUMMABLE:  # their sum may be infinite
        values = values / largest
    by_id = xp.zeros(graph.num_vertices)
    by_id[ids] = values / float(values.sum())
    return by_id


def _is_column(values):
    return hasattr(values, "__len__") and not isinstance(values, str)


def _from_dict(given, labels, what):
    if not given:
        raise GraphError(f"{what} is empty; name at least one vertex, or leave it out")
    if len(labels) > 1:
        raise GraphError(f"{what} must be a frame: vertices are named by {', '.join(labels)}")
    values = np.empty(len(given))
    for row, (vertex, value) in enumerate(given.items()):
        try:
            values[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise GraphError(
                f"{what} must be a frame with the column {labels[0]!r} and one of values, or a "
                f"dict from vertex to number; the value of {shown(vertex)} is {shown(value)}"
            ) from None
    return {labels[0]: list(given), "value": values}
