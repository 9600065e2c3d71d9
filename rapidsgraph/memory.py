"""Estimate peak memory before allocating it.

A build and a run are a sequence of phases, each with a bound per row, arc, vertex and byte of
text that follows from the arrays it allocates. The estimate is the largest of them.
`pipelines/benchmarks/memory_estimates.py` records measured peaks beside the estimates.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import device, frames
from .errors import GraphError, InsufficientMemoryError, format_value
from .validation import as_list, check_count, check_flag, check_path

# On a GPU and for partitions of a Dask graph, bytes beyond the graph: (a vertex, an arc, an arc
# with weights).
ALGORITHMS = {
    "bfs": (64, 16, 28),
    "connected_components": (64, 4, 4),
    "pagerank": (96, 16, 56),
    "scan": (112, 44, 44),
    "scan_index": (112, 68, 68),
    "sssp": (104, 16, 28),
    "structural_similarity": (80, 44, 44),
}

WITHOUT_DIRECTION = {"scan", "scan_index", "structural_similarity"}  # an edge is two arcs

# Copies of names that are text on the way into a result on a GPU; predecessors have names too.
BOTH = "outgoing", "incoming"  # lists that a traversal of a directed graph builds
TEXT_COPIES = {"bfs": 4, "sssp": 4, "structural_similarity": 8}

BLOCK = 2**20  # arcs that are processed at once where a pass needs temporary arrays
LEVELS = 2**20  # keys that the lists of a SCAN index are sorted by, at least
MARGIN = 1.04  # for what allocators keep between arrays
# The C library takes arrays up to this size from its heap, where freed ones leave holes. Measured:
# up to a fifth of the peak of a run, a third where edges are taken both ways, more with weights.
HEAP_ARRAY, RUN_MARGIN, JOIN_MARGIN, WEIGHTED_JOIN_MARGIN = 2**25, 1.22, 1.32, 1.38
BASE = 2**21  # bytes of interpreter objects and thread-local buffers of a build or run on a CPU
TEXT_BASE = 3 * 2**22  # bytes that Arrow's allocator keeps at hand where names are text
READER_BYTES = 2**26  # that threads of Arrow's readers keep, at most


class MemoryEstimate(NamedTuple):
    """Bytes.

    Attributes
    ----------
    needed : int
        At the peak of building (where there is no graph yet) and running in memory, above the
        input frame; of a file above nothing, with reading it.
    streamed : int
        The least any run takes: the arrays by vertex, which never leave memory, and of a layered
        edge list two partitions.
    """

    needed: int
    streamed: int


@dataclass(frozen=True)
class NameColumn:
    """What determines the memory that naming vertices by one column takes.

    Attributes
    ----------
    kind : {"ids", "table", "hash", "integer", "arrow", "object", "cudf"}
        Integers that are ids already, that are looked up in a table over their range, that are
        hashed, or of which it is not known; text in Arrow arrays, as Python objects or in cuDF.
    rows : int
        Values in the columns of sources, destinations and additional vertices together.
    span : int
        One more than the difference of the largest and smallest integer.
    copies : int
        Bytes of the integers in a wider type, where they have to be converted.
    nbytes, longest : int
        Bytes of all text, and of the longest name.
    """

    kind: str
    rows: int
    span: int = 0
    copies: int = 0
    nbytes: int = 0
    longest: int = 0

    def max_text_bytes(self, count):
        """Return an upper bound of the bytes of `count` distinct names."""
        return min(self.nbytes, count * self.longest)

    def max_distinct(self):
        """Return an upper bound of the number of distinct names."""
        return min(self.span, self.rows) if self.span else self.rows


def name_columns(sources, destinations, vertices=None):
    """Return the NameColumn of each name column; arguments as of `names.name_vertices`."""
    extra = vertices if isinstance(vertices, list) else [None] * len(sources)
    columns = []
    for source, destination, more in zip(sources, destinations, extra, strict=True):
        values = [v for v in (source, destination, more) if v is not None and len(v)]
        columns.append(_name_column(values, vertices if isinstance(vertices, range) else None))
    return columns


def _name_column(columns, vertices):
    rows = sum(map(len, columns))
    if not columns:
        return NameColumn("ids", 0)
    if all(device.is_array(values) and values.dtype.kind in "iu" for values in columns):
        low = min(int(values.min()) for values in columns)
        span = max(int(values.max()) for values in columns) - low + 1
        dtypes = {values.dtype for values in columns}
        same = len(dtypes) == 1 and next(iter(dtypes)).itemsize >= 4
        copies = 0 if same else 8 * rows
        if vertices is not None or span <= rows + 1024:
            kind = "ids" if vertices is not None or low == 0 else "table"
            return NameColumn(kind, rows, 0 if vertices is not None else span, copies)
        return NameColumn("hash", rows, span, copies)
    if any(device.is_array(values) for values in columns):  # refused when vertices are named
        return NameColumn("hash", rows)
    if frames.text_library(columns[0]).__name__ == "cudf":
        nbytes = sum(int(values.memory_usage(index=False, deep=True)) for values in columns)
        return NameColumn("cudf", rows, nbytes=nbytes)
    sizes = [frames.text_sizes(values) for values in columns]
    nbytes, longest = sum(size[0] for size in sizes), max(size[1] for size in sizes)
    if all(frames.is_arrow_text(values) for values in columns):
        return NameColumn("arrow", rows, nbytes=nbytes, longest=longest)
    converted = [v for v in columns if frames.is_arrow_text(v)]
    copies = sum((8 + 64) * len(values) for values in converted) + (nbytes if converted else 0)
    return NameColumn("object", rows, copies=copies)


def hash_table_bytes(count):
    """Return the bytes of a hash table of pandas for `count` 64-bit integers or objects."""
    buckets = 32
    while count > 0.77 * buckets:
        buckets *= 2
    return 17 * buckets


def arrow_table_bytes(count):
    """Return the bytes of a hash table of Arrow for `count` strings; it grows fourfold."""
    entries = 32
    while 2 * count >= entries:
        entries *= 4
    return 20 * entries  # with the quarter as large that it replaces


def merge_bytes(kind, count, text=0):
    """Return the bytes of merging the distinct names of pieces.

    Parameters
    ----------
    kind : str
        As in `NameColumn`.
    count : int
        Names in all pieces.
    text : int
        Bytes of their text.
    """
    if kind == "arrow":
        return arrow_table_bytes(count) + 32 * count + 4 * text
    return 24 * count + hash_table_bytes(count)


def _naming_bytes(column, count):
    """Return the peak of naming by a column with `count` distinct values, and what stays of it."""
    if column.kind == "integer":
        kinds = replace(column, kind="hash"), replace(column, kind="table", span=column.rows + 1024)
        return tuple(map(max, *(_naming_bytes(each, count) for each in kinds)))
    rows, text = column.rows, column.max_text_bytes(count)
    ids = 4 * rows
    if column.kind == "ids" and count >= column.span:  # otherwise there are gaps
        return column.copies + ids + column.span, ids
    if column.kind in ("ids", "table"):
        peak = ids + column.span + max(4 * column.span, 8 * count)
        return column.copies + peak, ids + 8 * count
    if column.kind == "arrow":
        piece = min(frames.TEXT_PIECE, rows)
        pieces = arrow_table_bytes(min(piece, count)) + 5 * column.max_text_bytes(min(piece, count))
        together = min(_merged_names(count, piece), rows)
        merged = 8 * together + column.max_text_bytes(together) + arrow_table_bytes(count)
        merged += 24 * count + 3 * text
        block = 5 * min(rows, max(frames.PIECE, 2 * count))
        places = 20 * count + 3 * text + arrow_table_bytes(count) + ids + block
        return TEXT_BASE + max(pieces, merged, places), TEXT_BASE + ids + 8 * count + text
    piece = min(frames.TEXT_PIECE if column.kind == "object" else frames.PIECE, rows)
    merged = merge_bytes(column.kind, min(count + piece, rows))
    if column.kind == "object":
        merged = 16 * min(_merged_names(count, piece), rows) + 8 * count + hash_table_bytes(count)
        merged = max(merged, hash_table_bytes(piece) + 16 * piece, 32 * count)
    places = 16 * count + hash_table_bytes(count) + ids + 24 * min(frames.PIECE, rows)
    return column.copies + max(merged, places), ids + 8 * count


def _merged_names(count, piece):
    """Return an upper bound of the names that are merged at once: see `matching._distinct`."""
    return count + max(count, piece) + min(count, piece)


def naming_bytes(columns, count, xp=np):
    """Return an upper bound of the peak of naming `count` vertices, and what stays of it.

    Parameters
    ----------
    columns : list of NameColumn
    count : int
        Vertices. A lower bound of their number gives a lower bound of the peak.
    xp : module

    Returns
    -------
    peak, left : int
        Bytes.
    """
    if xp is not np:
        rows = columns[0].rows
        text = sum(column.nbytes for column in columns)
        tables = sum(96 * column.rows for column in columns if column.kind == "cudf")
        return 12 * rows + 64 * count + 3 * text + tables, 4 * rows + 8 * count + text
    peak = left = 0
    for place, column in enumerate(columns):
        taken, kept = _naming_bytes(column, min(count, column.max_distinct()))
        ids = 4 * column.rows
        names = kept - ids + (8 * count if column.kind == "ids" and len(columns) > 1 else 0)
        if place:  # tuples of ids become integers, which are hashed
            peak = max(peak, left + taken)
            left += names
            packed = 16 * count + hash_table_bytes(count) + 12 * column.rows
            packed = max(12 * column.rows, 8 * column.rows + merge_bytes("hash", count), packed)
            peak, left = max(peak, left + packed), left + 8 * count
        else:
            peak, left = taken, ids + names
    return peak, left


def lists_bytes(rows, vertices, *, weight=0, directed=True, owned=False, drop=False):
    """Return an upper bound of building adjacency lists on a CPU, above the pairs of ids.

    Parameters
    ----------
    rows, vertices : int
    weight : int
        Bytes of a weight, or 0.
    directed : bool
    owned : bool
        Whether the weights are a copy, which is not counted yet.
    drop : bool
        Whether self-loops are dropped.
    """
    counters = _counters(rows, vertices)
    given = weight * rows if owned else 0
    order = 8 * rows if weight else 0
    sort = 4 * rows + order + 16 * vertices + counters
    if 16 * rows < vertices:
        sort = 28 * rows + 24 * vertices
    merge = (5 + 2 * weight) * rows - 8 * rows * bool(weight) + 20 * vertices
    merge += 8 * min(rows, 2 * BLOCK) if weight else 0
    peak = max(sort, merge)
    if drop:  # a mask, and the rows that are left, before the given ones are freed
        peak = max(peak, (9 + weight) * rows)
        given += weight * rows
    if not directed:
        joined = (8 + 4 * weight) * rows + 24 * vertices
        lower = (9 + (24 if weight else 0)) * rows + 16 * vertices + counters
        peak = max(peak, 8 * rows, joined, lower)
    return given + peak


def _counters(rows, vertices):
    """Return the bytes of the counters of a sort by vertex."""
    import numba

    parts = max(1, min(numba.get_num_threads(), rows // max(vertices, 1)))
    return 4 * parts * vertices


def build_bytes(
    rows,
    vertices,
    *,
    weighted=False,
    directed=True,
    columns=None,
    multi_edges="first",
    self_loops="keep",
    xp=np,
):
    """Return an upper bound of the bytes that building takes above the input frame.

    Parameters
    ----------
    rows, vertices : int
    weighted, directed : bool
    columns : list of NameColumn, optional
        By default names are integers from 0.
    multi_edges, self_loops : str
        As `Graph` takes them.
    xp : module
        Where the graph will be.
    """
    columns = columns or [NameColumn("ids", 2 * rows, vertices)]
    peak, left = naming_bytes(columns, vertices, xp)
    rest = rest_bytes(rows, vertices, weighted, directed, multi_edges, self_loops, xp)
    kinds = {column.kind for column in columns}
    margin = RUN_MARGIN if 4 * rows <= HEAP_ARRAY else MARGIN
    if xp is np:
        left = int(max(margin, _build_margin(rows, directed)) * left)
        if not directed and kinds != {"ids"}:  # holes that naming leaves
            pieces = 24 * min(frames.PIECE, 2 * rows) if kinds & {"hash", "object"} else 0
            left += min(8 * rows + pieces, HEAP_ARRAY)
    return max(_with_margin(peak, xp, margin), left + rest)


def rest_bytes(rows, vertices, weighted, directed, multi_edges="first", self_loops="keep", xp=np):
    """Return an upper bound of the bytes of building above ids and names, once they exist."""
    summed = multi_edges == "sum"
    weighted = weighted or summed
    if xp is not np:
        a_row = {(False, True): 24, (False, False): 28, (True, True): 42, (True, False): 52}
        return rows * (a_row[weighted, bool(directed)] - 8) + 56 * vertices
    drop, weight = self_loops == "drop", 8 if weighted else 0
    lists = lists_bytes(rows, vertices, weight=weight, directed=directed, owned=summed, drop=drop)
    return _with_margin(lists, xp, _build_margin(rows, directed, weighted))


def _build_margin(rows, directed, weighted=False):
    if directed or 4 * rows > HEAP_ARRAY:
        return MARGIN
    return WEIGHTED_JOIN_MARGIN if weighted else JOIN_MARGIN


def _with_margin(nbytes, xp, margin=MARGIN):
    return int(nbytes) if xp is not np else int(margin * nbytes) + BASE


@dataclass(frozen=True)
class GraphFacts:
    """What determines the memory that an algorithm takes above a graph on a CPU.

    Attributes
    ----------
    vertices, arcs : int
    weight : int
        Bytes of a weight, or 0.
    directed : bool
    columns : list of NameColumn
    transposes : bool
        Whether the lists of the other direction have to be made.
    simple : bool
        Whether neighborhoods are the lists of the graph: without self-loops and parallel edges.
    """

    vertices: int
    arcs: int
    weight: int
    directed: bool
    columns: list
    transposes: bool
    simple: bool

    def label_bytes(self, count, distinct=True):
        """Return the bytes of the names of `count` vertices; 0 for integers from 0."""
        is_ids = len(self.columns) == 1 and self.columns[0].kind == "ids"
        if is_ids:
            return 0
        text = sum(
            (column.max_text_bytes(count) if distinct else count * column.longest) + 16 * count
            for column in self.columns
            if column.kind == "arrow"
        )
        return 8 * count * len(self.columns) + text


def run_bytes(algorithm, facts, memberships=False):
    """Return an upper bound of the bytes that an algorithm takes above a graph on a CPU."""
    if algorithm in WITHOUT_DIRECTION:
        peak = _clustering_bytes(algorithm, facts, memberships)
    else:
        peak = _sweep_bytes(algorithm, facts)
    text = any(column.kind == "arrow" for column in facts.columns)
    margin = RUN_MARGIN if 4 * facts.arcs <= HEAP_ARRAY else MARGIN
    return _with_margin(peak, np, margin) + (TEXT_BASE if text else 0)


def _sweep_bytes(algorithm, facts):
    vertices, arcs, weight = facts.vertices, facts.arcs, facts.weight
    names = facts.label_bytes(vertices)
    if algorithm == "connected_components":
        return 16 * vertices + names
    made = turning = 0
    if facts.transposes:
        made = (4 + weight) * arcs + 8 * vertices
        order = 8 * arcs if weight else 0
        turning = 8 * arcs + order + 16 * vertices + _counters(arcs, vertices)
    if algorithm == "pagerank":
        values = 20 * arcs + 86 * vertices if weight else 4 * arcs + 70 * vertices
        return max(turning, made + 8 * vertices + max(values, names + 24 * vertices))
    kinds = {column.kind for column in facts.columns}
    if "arrow" in kinds:  # text of predecessors is taken, and taken again with nulls
        names += 2 * facts.label_bytes(vertices, distinct=False)
    elif "object" in kinds:
        names += 8 * vertices
    elif kinds != {"ids"}:
        names += 4 * vertices
    return max(turning, made + (30 if algorithm == "bfs" else 36) * vertices + names)


def _clustering_bytes(algorithm, facts, memberships):
    vertices, arcs = facts.vertices, facts.arcs * (2 if facts.directed else 1)
    lists = making = 0
    if not facts.simple:
        lists, making = 4 * arcs + 8 * vertices, 13 * arcs + 10 * vertices
    common = 8 * arcs + 34 * vertices
    if algorithm == "structural_similarity":
        # Half as many edges as arcs, with names of both ends.
        names = 2 * facts.label_bytes(arcs // 2, distinct=False)
        rest = 20 * arcs + 10 * vertices + names
    elif algorithm == "scan":
        # A membership is an arc from a border to a core.
        rest = (40 if memberships else 4) * arcs + 52 * vertices + facts.label_bytes(vertices)
    else:
        keys = max(vertices, LEVELS)
        built = 16 * keys + _counters(arcs, keys) + 8 * vertices
        rest = 36 * arcs + max(built, 60 * vertices)
    return max(making, lists + max(common, rest))


def estimate_memory(
    graph_or_path,
    algorithm,
    *,
    source=None,
    destination=None,
    weight=None,
    directed=True,
    num_vertices=None,
    memberships=False,
):
    """Estimate the peak memory of an algorithm before it runs.

    Parameters
    ----------
    graph_or_path : Graph, LayeredEdgeList, edge frame or path
        A file's rows come from its metadata (Parquet, Matrix Market) or its size; vertices are
        those of a Matrix Market file's size line, and else bounded by the range of integer ids
        where the file records it, and by two a row. Text names are read, batch by batch, for
        their lengths.
    algorithm : str
        ``"pagerank"``, ``"bfs"``, ``"sssp"``, ``"connected_components"``, ``"scan"``,
        ``"scan_index"`` or ``"structural_similarity"``.
    source, destination : str or list of str, optional
        Columns of a frame or file, where they are not called so.
    weight : str, optional
        Column of weights, which take memory too.
    directed : bool
    num_vertices : int, optional
        Upper bound of the number of vertices of a frame or file. Without it the estimate assumes
        as many as the range of integer ids has or, where that is more or names are text, two a
        row, and may be several times the peak.
    memberships : bool
        Of ``"scan"``: whether it runs with ``memberships=True`` or ``method="gpuscan"``.

    Returns
    -------
    MemoryEstimate
        An upper bound. On a CPU with a known number of vertices the peak of the resident set is
        mostly above 0.7 of it.

    Raises
    ------
    GraphError
        Unknown algorithm; unreadable file.

    Examples
    --------
    >>> import numpy, rapidsgraph as rg
    >>> ring = numpy.arange(10**6)
    >>> edges = {"source": ring, "destination": numpy.roll(ring, 1)}
    >>> rg.estimate_memory(edges, "pagerank").needed > 70 * 10**6
    True
    """
    from .graph.graph import Graph
    from .layered import LayeredEdgeList

    check_flag("directed", directed)
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        known = ", ".join(sorted(ALGORITHMS))
        raise GraphError(
            f"no estimate for algorithm {format_value(algorithm)}; there is one for {known}"
        )
    per_vertex = ALGORITHMS[algorithm][0]
    if isinstance(graph_or_path, LayeredEdgeList):
        vertices, partitions = graph_or_path.num_vertices * per_vertex, graph_or_path.nbytes
        streamed = vertices + min(2 * graph_or_path.largest_partition, partitions)
        return MemoryEstimate(vertices + partitions, streamed)
    if isinstance(graph_or_path, Graph):
        return _estimate_from_graph(graph_or_path, algorithm, memberships)
    if isinstance(graph_or_path, (str, Path)):
        facts = _file_facts(graph_or_path, source, destination, weight)
        rows, columns, declared, reading, frame = facts
        weighted, xp = weight is not None, np
    else:
        rows, columns, copies, xp = _frame_facts(graph_or_path, source, destination)
        weighted = weight is not None or (algorithm == "sssp" and _has_weights(graph_or_path))
        declared, reading, frame = None, 0, copies
    vertices = max((column.max_distinct() for column in columns), default=0)
    if len(columns) > 1:
        vertices = 2 * rows
    if declared is not None:
        vertices = declared  # a count, with vertices that have no edge
    if num_vertices is not None:
        check_count("num_vertices", num_vertices)
        vertices = min(vertices, num_vertices)
    clusters = algorithm in WITHOUT_DIRECTION
    weighted, directed = weighted and not clusters, directed and not clusters
    policies = weighted, directed, memberships
    needed = frame + _estimate_from_rows(algorithm, rows, vertices, columns, *policies, xp)
    return MemoryEstimate(int(max(reading, needed)), int(vertices * per_vertex))


def _estimate_from_rows(algorithm, rows, vertices, columns, weighted, directed, memberships, xp):
    """Return an upper bound of the bytes of building a graph and running an algorithm on it."""
    arcs = rows if directed else 2 * rows
    built = build_bytes(
        rows, vertices, weighted=weighted, directed=directed, columns=columns, xp=xp,
        self_loops="drop" if algorithm in WITHOUT_DIRECTION else "keep",
    )  # fmt: skip
    weight = 8 if weighted else 0
    if xp is not np:
        text = sum(column.nbytes for column in columns)
        run = _gpu_run_bytes(algorithm, vertices, arcs, weighted, text)
        return max(built, arcs * (12 if weighted else 4) + vertices * 8 + text + run)
    names = naming_bytes(columns, vertices)[1] - 4 * columns[0].rows
    facts = GraphFacts(vertices, arcs, weight, directed, columns, directed, True)
    kept = (4 + weight) * arcs + 8 * vertices + names
    return max(built, int(RUN_MARGIN * kept) + run_bytes(algorithm, facts, memberships))


def _estimate_from_graph(graph, algorithm, memberships):
    per_vertex = ALGORITHMS[algorithm][0]
    vertices, arcs, names = graph.num_vertices, graph.num_arcs, graph.names
    if graph.xp is not np:
        arcs *= 2 if graph.directed and algorithm in WITHOUT_DIRECTION else 1
        run = _gpu_run_bytes(algorithm, vertices, arcs, graph.weighted, names.text_bytes)
        return MemoryEstimate(int(run), int(vertices * per_vertex))
    directions = {"pagerank": ("incoming",), "bfs": BOTH, "sssp": BOTH}.get(algorithm, ())
    transposes = graph.directed and any(name not in graph.__dict__ for name in directions)
    simple = False
    if algorithm in WITHOUT_DIRECTION and not graph.directed:
        from .graph.csr import is_simple

        simple = graph.is_merged and (graph.is_loopless or is_simple(graph.outgoing))
    weight = graph.built[0].weights.itemsize if graph.weighted else 0
    columns = [_column_of_names(part, vertices) for part in names.parts]
    facts = GraphFacts(vertices, arcs, weight, graph.directed, columns, transposes, simple)
    run = run_bytes(algorithm, facts, memberships)
    return MemoryEstimate(run, int(vertices * per_vertex))


def _column_of_names(part, count):
    """Return the NameColumn of the distinct names of a graph on a CPU."""
    if part is None:
        return NameColumn("ids", count, count)
    if device.is_array(part):
        return NameColumn("hash", count)
    if not frames.is_arrow_text(part):
        return NameColumn("object", count)
    return NameColumn("arrow", count, 0, 0, *frames.text_sizes(part))


def _gpu_run_bytes(algorithm, vertices, arcs, weighted, text):
    per_vertex, per_arc, per_weighted_arc = ALGORITHMS[algorithm]
    run = vertices * per_vertex + arcs * (per_weighted_arc if weighted else per_arc)
    return run + text * TEXT_COPIES.get(algorithm, 2)


def _has_weights(frame):
    """Return whether `sssp` takes weights from a frame by itself."""
    return "weight" in frames.column_names(frames.opened(frame)[1])


def _frame_facts(frame, source, destination):
    """Return the rows, NameColumns, bytes of converted columns and array module of a frame."""
    _, frame = frames.opened(frame)
    named = [as_list(source or "source"), as_list(destination or "destination")]
    ends, copies = [], 0
    for what, names in zip(("source", "destination"), named):
        ends.append([frames.column(frame, name, what) for name in names])
        copies += sum(
            frames.copied_bytes(values, frame[name]) for values, name in zip(ends[-1], names)
        )
    rows = len(ends[0][0])
    return rows, name_columns(*ends), copies, frames.module_of([*ends[0], *ends[1]])


def _file_facts(path, source, destination, weight):
    """Return what determines the memory that a graph of a file takes.

    Returns
    -------
    rows : int
    columns : list of NameColumn
    vertices : int or None
        That the file declares.
    reading, frame : int
        Peak of reading, and what stays of it: the frame and declared vertices.
    """
    from .io.edge_files import declared_vertices, edge_facts, text_facts

    path = check_path(path)
    rows, kind, limits = edge_facts(path, source=source, destination=destination)
    declared = declared_vertices(path)
    extra = 0 if declared is None else len(declared)
    count = len(as_list(source or "source"))
    if kind == "integer":
        span, names = limits[1] - limits[0] + 1 if limits else 0, 2 * rows + extra
        name = "integer"
        if span:
            name = "hash" if span > names + 1024 else "table" if limits[0] else "ids"
        columns, each, text = [NameColumn(name, names, span)] * count, 16 * count, 0
    else:
        text, longest = text_facts(path, source=source, destination=destination)
        columns, each = [NameColumn("arrow", 2 * rows, nbytes=text, longest=longest)] * count, 16
        each *= count
    frame = rows * (each + (8 if weight is not None else 0)) + text
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    blocks = -(-sum(each.stat().st_size for each in files) // BLOCK)
    reading = 2 * frame + min(2 * blocks * BLOCK, 2**27) + 2**24
    frame += min(2 * frame, READER_BYTES) + 8 * extra
    declared = None if declared is None else extra
    return rows, columns, declared, int(MARGIN * reading), int(MARGIN * frame)


def check_fits(what, needed, xp):
    """Raise InsufficientMemoryError when `needed` bytes are not free where `xp` keeps arrays."""
    free = device.free_memory(xp)
    if needed > free:
        where = "on the GPU" if device.device_name(xp) == "gpu" else "in memory"
        raise InsufficientMemoryError(what, needed, free, where)
