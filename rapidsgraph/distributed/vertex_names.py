"""Vertex names across partitions <-> ids 0..n-1, in the order of the names.

Means: as names.py, of columns in several partitions. Names that are integers in a range not much
  wider than there are rows are marked in an array over that range, a partition at a time; marks
  are put together, and a table of that length leads from names to ids. Of other names each
  partition finds its own distinct ones, which are merged; then each looks up what it found.
Requires: EdgeColumns of every partition; an array over all names fits on a worker.
Integers that already are 0..n-1 are their own ids.
"""

from dataclasses import dataclass, replace

import numpy as np

from .. import device
from ..errors import GraphError
from ..graph.edge_frame import EdgeColumns, read_columns
from ..graph.vertex_names import VertexNames, name_vertices
from ..graph.weight_sums import total_weight
from ..validation import check_vertex_count, check_vertices
from .executor import tree

SLACK = 1024  # a range of names is at most so much wider than there are rows


@dataclass
class Facts:
    """What the client knows of the columns of a partition.

    Attributes
    ----------
    manner : EdgeColumns
        Without its columns: how vertices are named.
    rows : int
    types : list of str
        Of the name columns that have rows, where those are integers; "" elsewhere.
    declared : list of str
        Those of integers, also without rows.
    low, high : int
        The least and the greatest of these integers.
    weight_kind : str
    total_weight : int or float
        Exact of integers.
    on_gpu : bool
    """

    manner: EdgeColumns
    rows: int
    types: list
    declared: list
    low: int
    high: int
    weight_kind: str
    total_weight: int | float
    on_gpu: bool


def read_part(frame, number, *options):
    """The EdgeColumns of a partition, whose number is said of what is wrong with it."""
    try:
        return read_columns(frame, *options)
    except GraphError as error:
        raise _in_partition(error, number) from None


def read_more(vertices, count, labels, on_gpu):
    """EdgeColumns of names alone: what `vertices` of a Graph lists."""
    xp = device.import_cupy() if on_gpu else np
    columns = check_vertices(vertices, count, labels, xp)
    none = [values[:0] for values in columns]
    return EdgeColumns("", columns, none, None, xp, labels, [], [], {})


def facts_of(columns):
    declared = [_integer_type(values) for values in columns.sources + columns.destinations]
    names = [values for values in columns.sources + columns.destinations if len(values)]
    types = [_integer_type(values) for values in names]
    are_integers = bool(types) and all(types)
    manner = replace(columns, sources=[], destinations=[], weights=None, xp=None)
    weights = columns.weights
    return Facts(
        manner,
        columns.rows,
        types,
        [name for name in declared if name],
        min(int(values.min()) for values in names) if are_integers else 0,
        max(int(values.max()) for values in names) if are_integers else -1,
        "" if weights is None else weights.dtype.kind,
        0 if weights is None else total_weight(weights),
        columns.xp is not np,
    )


def _integer_type(values):
    return values.dtype.name if device.is_array(values) and values.dtype.kind in "iu" else ""


def name_all(engine, columns, facts, more, more_facts, vertices):
    """Name the vertices of all partitions.

    Parameters
    ----------
    columns : list of tasks
        EdgeColumns a partition.
    facts : list of Facts
    more, more_facts : lists likewise
        Names beside those of edges.
    vertices : range or None
        All integers that are names, where the caller said so.

    Returns
    -------
    named : task of a Labeling
    count : int
        How many vertices there are.
    ends : list of tasks
        (sources, destinations) a partition, int32.
    """
    every = facts + more_facts
    manner, types = facts[0].manner, {name for each in every for name in each.types}
    filled = [each for each in every if each.types]
    low = min((each.low for each in filled), default=0)
    high = max((each.high for each in filled), default=-1)
    rows = 2 * sum(each.rows for each in every)
    is_narrow = len(manner.labels) == 1 and "" not in types and high < 2**63
    if vertices is not None:
        if "" in types:
            raise GraphError(
                f"{manner.labels[0]} names are no integers, and vertices are {vertices}"
            )
        if low < 0 or high >= len(vertices):
            outside = low if low < 0 else high
            raise GraphError(f"vertices are {vertices}, and an edge names {outside}")
        low, high = 0, len(vertices) - 1
    elif not is_narrow or high - low + 1 > rows + SLACK:
        return _by_merging(engine, columns, more, manner)
    types = types or {name for each in every for name in each.declared}
    dtype = np.result_type(*types) if types else np.dtype(np.int64)
    dtype = dtype if dtype.kind in "iu" and high <= np.iinfo(dtype).max else np.dtype(np.int64)
    table = None
    if vertices is None:
        marks = [
            engine.submit(_mark, each, low, high - low + 1, name="mark-names", at=at)
            for at, each in enumerate(columns + more)
        ]
        marks = tree(engine, _any, marks, "mark-names")
        [count] = engine.results([engine.submit(_count, marks, name="count-names")])
        if count < high - low + 1 or low:
            table = engine.submit(_table, marks, name="number-names")
    else:
        marks, count = None, len(vertices)
    check_vertex_count(count)
    on_gpu = any(each.on_gpu for each in facts)
    where = (marks if table is not None else None), count, low, dtype, on_gpu
    named = engine.submit(_named_integers, manner, *where, name="name-vertices")
    ends = [
        engine.submit(_translate, each, low, table, name="look-up-names", at=at)
        for at, each in enumerate(columns)
    ]
    return named, count, ends


def _by_merging(engine, columns, more, manner):
    local = [
        engine.submit(_name_locally, each, number, name="name-locally", at=number)
        for number, each in enumerate(columns + more)
    ]
    names = [
        engine.submit(_first, each, name="distinct-names", at=at) for at, each in enumerate(local)
    ]
    names = tree(engine, _merge, names, "merge-names")
    [count] = engine.results([engine.submit(_count_names, names, name="count-names")])
    check_vertex_count(count)
    named = engine.submit(_named_merged, manner, names, name="name-vertices")
    ends = [
        engine.submit(_look_up, each, names, name="look-up-names", at=at)
        for at, each in enumerate(local[: len(columns)])
    ]
    return named, count, ends


# Tasks


def _mark(columns, low, span):
    xp = columns.xp
    marks = xp.zeros(span, bool)
    for values in (*columns.sources, *columns.destinations):
        if len(values):
            values = _wide(values, xp)
            device.launch(
                "build", "mark_present", size=values.size,
                num_names=values.size, names=values, min_name=low, is_present=marks,
            )  # fmt: skip
    return marks


def _wide(values, xp):
    small = values.dtype.itemsize < 4 or values.dtype == np.int32
    wide = xp.uint64 if values.dtype == np.uint64 else xp.int32 if small else xp.int64
    if values.dtype == np.uint32:
        wide = xp.int64
    return xp.ascontiguousarray(values.astype(wide, copy=False))


def _any(*marks):
    found = marks[0].copy()
    for other in marks[1:]:
        found |= other
    return found


def _count(marks):
    return int(marks.sum())


def _table(marks):
    table = device.array_module(marks).cumsum(marks, dtype=np.int32)
    table -= 1
    return table


def _translate(columns, low, table):
    """int32 ids of both ends."""
    xp, ids = columns.xp, []
    for [values] in (columns.sources, columns.destinations):
        if not len(values):
            ids.append(xp.empty(0, xp.int32))
        elif table is None:
            ids.append(xp.ascontiguousarray(values.astype(xp.int32, copy=False)))
        else:
            values, places = _wide(values, xp), xp.empty(values.size, xp.int32)
            device.launch(
                "build", "translate", size=values.size,
                num_names=values.size, names=values, min_name=low, table=table, ids=places,
            )  # fmt: skip
            ids.append(places)
    return tuple(ids)


def _named_integers(manner, marks, count, low, dtype, on_gpu):
    part = None
    if marks is not None:
        part = (device.array_module(marks).flatnonzero(marks) + low).astype(dtype)
    return _named(manner, VertexNames(manner.labels, [part], count, dtype=dtype), on_gpu)


def _named_merged(manner, merged):
    return _named(manner, merged[0], merged[-1])


def _named(manner, names, on_gpu):
    return manner.labeling(names, device.import_cupy() if on_gpu else np)


def _name_locally(columns, number):
    """(VertexNames, int32 sources, int32 destinations, on a GPU?) of one partition alone."""
    try:
        named = name_vertices(
            columns.sources, columns.destinations, None, columns.labels, columns.xp
        )
    except GraphError as error:
        raise _in_partition(error, number) from None
    return (*named, columns.xp is not np)


def _first(local):
    names, on_gpu = local[0], local[-1]
    xp = device.import_cupy() if on_gpu else np
    return names, list(names.columns(xp).values()), on_gpu


def _merge(*parts):
    """Names of some partitions together, with their columns."""
    (names, columns, on_gpu), *rest = parts
    xp = device.import_cupy() if on_gpu else np
    for _, others, _ in rest:
        names, *_ = name_vertices(columns, others, None, names.labels, xp)
        columns = list(names.columns(xp).values())
    return names, columns, on_gpu


def _count_names(merged):
    return merged[0].count


def _look_up(local, merged):
    """int32 ids of both ends, by those among the partition's own names."""
    names, sources, destinations, on_gpu = local
    xp = device.import_cupy() if on_gpu else np
    if not names.count:
        return sources, destinations
    columns = list(names.columns(xp).values())
    ids = merged[0].ids(columns, xp, "names")
    return ids[sources], ids[destinations]


def _in_partition(error, number):
    return GraphError(f"partition {number} of the Dask frame: {error}")
