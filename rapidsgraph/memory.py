"""Estimate peak memory before allocating it.

A build and a run are a sequence of phases, each with a bound per row, arc, vertex and byte of
text that follows from the arrays it allocates. The estimate is the largest of them.
`pipelines/benchmarks/memory_estimates.py` records measured peaks beside the estimates.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import device, frames
from .errors import GraphError, NotEnoughMemory, shown
from .inputs import as_list, check_flag

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
TEXT_COPIES = {"bfs": 4, "sssp": 4, "structural_similarity": 8}

BLOCK = 2**20  # arcs that are processed at once where a pass needs temporary arrays
LEVELS = 2**20  # keys that the lists of a SCAN index are sorted by, at least
MARGIN = 1.04  # for what allocators keep between arrays
# The C library takes arrays up to this size from its heap, where freed ones leave holes. Measured:
# up to a fifth of the peak of a run, and a third where edges are taken both ways.
HEAP_ARRAY, RUN_MARGIN, JOIN_MARGIN = 2**25, 1.22, 1.32
BASE = 2**21  # bytes of interpreter objects and thread-local buffers of a build or run on a CPU
TEXT_BASE = 3 * 2**22  # bytes that Arrow's allocator keeps at hand where names are text


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
    kind : {"ids", "table", "hash", "arrow", "object"}
        Integers that are ids already, that are looked up in a table over their range, or that are
        hashed; text in Arrow arrays or as Python objects.
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

    def text(self, count):
        """Upper bound of the bytes of `count` distinct names."""
        return min(self.nbytes, count * self.longest)

    def most(self):
        """Upper bound of the number of distinct names."""
        return min(self.span, self.rows) if self.span else self.rows


def name_columns(sources, destinations, vertices=None):
    """The NameColumn of each name column; arguments as `names.name_vertices` takes them."""
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
    """Bytes of a hash table of pandas for `count` 64-bit integers or objects."""
    buckets = 32
    while count > 0.77 * buckets:
        buckets *= 2
    return 17 * buckets


def arrow_table_bytes(count):
    """Bytes of a hash table of Arrow for `count` strings; it grows fourfold."""
    entries = 32
    while 2 * count >= entries:
        entries *= 4
    return 20 * entries  # with the quarter as large that it replaces


def merge_bytes(kind, count, text=0):
    """Bytes of merging the distinct names of pieces, `count` of them with `text` bytes."""
    if kind == "arrow":
        return arrow_table_bytes(count) + 32 * count + 4 * text
    return 24 * count + hash_table_bytes(count)


def _naming_bytes(column, count):
    """Peak of naming by a column with `count` distinct values, and what is left of it."""
    rows, text = column.rows, column.text(count)
    ids = 4 * rows
    if column.kind == "ids" and count >= column.span:  # otherwise there are gaps
        return column.copies + ids + column.span, ids
    if column.kind in ("ids", "table"):
        peak = ids + column.span + max(4 * column.span, 8 * count)
        return column.copies + peak, ids + 8 * count
    if column.kind == "arrow":
        piece = min(frames.TEXT_PIECE, rows)
        pieces = arrow_table_bytes(min(piece, count)) + 5 * column.text(min(piece, count))
        together = min(2 * count + 2 * piece, rows)
        merged = 8 * together + column.text(together) + arrow_table_bytes(count)
        merged += 24 * count + 3 * text
        block = 5 * min(rows, max(frames.PIECE, 2 * count))
        places = 20 * count + 3 * text + arrow_table_bytes(count) + ids + block
        return TEXT_BASE + max(pieces, merged, places), TEXT_BASE + ids + 8 * count + text
    piece = min(frames.TEXT_PIECE if column.kind == "object" else frames.PIECE, rows)
    merged = merge_bytes(column.kind, min(count + piece, rows))
    if column.kind == "object":
        merged = 16 * min(2 * count + 2 * piece, rows) + 8 * count + hash_table_bytes(count)
        merged = max(merged, hash_table_bytes(piece) + 16 * piece, 32 * count)
    places = 16 * count + hash_table_bytes(count) + ids + 24 * min(frames.PIECE, rows)
    return column.copies + max(merged, places), ids + 8 * count


def naming_bytes(columns, count, xp=np):
    """(peak, what is left) of naming `count` vertices, in bytes.

    Parameters
    ----------
    columns : list of NameColumn
    count : int
        Vertices, or what is sure to be at least as many where less than the peak will do.
    xp : module
    """
    if xp is not np:
        rows = columns[0].rows
        text = sum(column.nbytes for column in columns)
        tables = sum(96 * column.rows for column in columns if column.kind == "cudf")
        return 12 * rows + 64 * count + 3 * text + tables, 4 * rows + 8 * count + text
    peak = left = 0
    for place, column in enumerate(columns):
        taken, kept = _naming_bytes(column, min(count, column.most()))
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
    """Peak of making adjacency lists of `rows` pairs of ids, above these ids, on a CPU.

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
    """Bytes of the counters of a sort by vertex."""
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
    """Upper bound of what building takes above the input frame, in bytes.

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
    margin = RUN_MARGIN if 4 * rows <= HEAP_ARRAY else MARGIN
    if xp is np:
        left = int(max(margin, _build_margin(rows, directed)) * left)
        if not directed and columns[0].kind != "ids":  # holes that naming leaves
            left += min(8 * rows, HEAP_ARRAY)
    return max(_with_margin(peak, xp, margin), left + rest)


def rest_bytes(rows, vertices, weighted, directed, multi_edges="first", self_loops="keep", xp=np):
    """Upper bound of what building takes once vertices are named, above ids and names."""
    summed = multi_edges == "sum"
    weighted = weighted or summed
    if xp is not np:
        a_row = {(False, True): 24, (False, False): 28, (True, True): 42, (True, False): 52}
        return rows * (a_row[weighted, bool(directed)] - 8) + 56 * vertices
    drop, weight = self_loops == "drop", 8 if weighted else 0
    lists = lists_bytes(rows, vertices, weight=weight, directed=directed, owned=summed, drop=drop)
    return _with_margin(lists, xp, _build_margin(rows, directed))


def _build_margin(rows, directed):
    return JOIN_MARGIN if not directed and 4 * rows <= HEAP_ARRAY else MARGIN


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
        """Bytes of the names of `count` vertices beside integers from 0."""
        is_ids = len(self.columns) == 1 and self.columns[0].kind == "ids"
        if is_ids:
            return 0
        text = sum(
            (column.text(count) if distinct else count * column.longest) + 16 * count
            for column in self.columns
            if column.kind == "arrow"
        )
        return 8 * count * len(self.columns) + text


def run_bytes(algorithm, facts, memberships=False):
    """Upper bound of what an algorithm takes above a graph on a CPU, in bytes."""
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
    from .graph import Graph
    from .layers import LayeredEdgeList

    check_flag("directed", directed)
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        known = ", ".join(sorted(ALGORITHMS))
        raise GraphError(f"no estimate for algorithm {shown(algorithm)}; there is one for {known}")
    per_vertex = ALGORITHMS[algorithm][0]
    if isinstance(graph_or_path, LayeredEdgeList):
        vertices, partitions = graph_or_path.num_vertices * per_vertex, graph_or_path.nbytes
        streamed = vertices + min(2 * graph_or_path.largest_partition, partitions)
        return MemoryEstimate(vertices + partitions, streamed)
    if isinstance(graph_or_path, Graph):
        return _of_graph(graph_or_path, algorithm, memberships)
    if isinstance(graph_or_path, (str, Path)):
        rows, columns, weighted, reading, frame = _file_facts(
            graph_or_path, source, destination, weight
        )
        xp = np
    else:
        rows, columns, copies, xp = _frame_facts(graph_or_path, source, destination)
        weighted = weight is not None or (algorithm == "sssp" and _has_weights(graph_or_path))
        reading, frame = 0, copies
    vertices = max((column.most() for column in columns), default=0)
    if len(columns) > 1:
        vertices = 2 * rows
    if num_vertices is None and isinstance(graph_or_path, (str, Path)):
        from .files import declared_vertices

        declared = declared_vertices(graph_or_path)
        num_vertices = None if declared is None else len(declared)
    if num_vertices is not None:
        vertices = min(vertices, num_vertices)
    clusters = algorithm in WITHOUT_DIRECTION
    weighted, directed = weighted and not clusters, directed and not clusters
    policies = weighted, directed, memberships
    needed = frame + _of_rows(algorithm, rows, vertices, columns, *policies, xp)
    return MemoryEstimate(int(max(reading, needed)), int(vertices * per_vertex))


def _of_rows(algorithm, rows, vertices, columns, weighted, directed, memberships, xp):
    """Of building a graph from rows and running an algorithm on it."""
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


def _of_graph(graph, algorithm, memberships):
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
        from .adjacency import is_simple

        simple = graph.is_merged and (graph.is_loopless or is_simple(graph.outgoing))
    weight = graph.built[0].weights.itemsize if graph.weighted else 0
    columns = [_of_names(part, vertices) for part in names.parts]
    facts = GraphFacts(vertices, arcs, weight, graph.directed, columns, transposes, simple)
    run = run_bytes(algorithm, facts, memberships)
    return MemoryEstimate(run, int(vertices * per_vertex))


BOTH = "outgoing", "incoming"


def _of_names(part, count):
    """The NameColumn of distinct names of a graph on a CPU."""
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
    """Whether `sssp` takes weights from a frame by itself."""
    return "weight" in frames.column_names(frames.opened(frame)[1])


def _frame_facts(frame, source, destination):
    """(rows, NameColumns, bytes of converted columns, array module) of an edge frame."""
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
    """(rows, NameColumns, weighted, peak of reading, bytes of the frame) of a file."""
    from .files import edge_facts, text_facts

    rows, kind, limits = edge_facts(path, source=source, destination=destination)
    count = len(as_list(source or "source"))
    if kind == "integer":
        span = limits[1] - limits[0] + 1 if limits else 0
        near = span and span <= 2 * rows + 1024
        name = "hash" if not near else "ids" if limits[0] == 0 else "table"
        columns, each = [NameColumn(name, 2 * rows, span if near else 0)] * count, 16 * count
        text = 0
    else:
        text, longest = text_facts(path, source=source, destination=destination)
        columns, each = [NameColumn("arrow", 2 * rows, nbytes=text, longest=longest)] * count, 16
        each *= count
    frame = rows * (each + (8 if weight is not None else 0)) + text
    path = Path(path).expanduser()
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    blocks = -(-sum(each.stat().st_size for each in files) // BLOCK)
    reading = 2 * frame + min(2 * blocks * BLOCK, 2**27) + 2**24
    return rows, columns, weight is not None, int(MARGIN * reading), int(MARGIN * frame)


def check_fits(what, needed, xp):
    """Raise NotEnoughMemory when `needed` bytes are not free where `xp` keeps arrays."""
    free = device.free_memory(xp)
    if needed > free:
        where = "on the GPU" if device.name_of(xp) == "gpu" else "in memory"
        raise NotEnoughMemory(what, needed, free, where)
