"""What a graph and an algorithm will take, said before it is taken.

The figures are bounds per row, arc and vertex, from what build and algorithms allocate; the
benchmark `pipelines/benchmarks/build.py` records measured peaks beside them.
"""

from pathlib import Path
from typing import NamedTuple

from . import device, frames
from .errors import GraphError, NotEnoughMemory, shown
from .inputs import as_list, check_flag

# Bytes beyond the graph itself: (a vertex, an arc, an arc with weights).
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

# Copies of names that are text, on the way into a result; predecessors have names too.
TEXT_COPIES = {"bfs": 4, "sssp": 4, "structural_similarity": 8}


class MemoryEstimate(NamedTuple):
    """Bytes.

    Attributes
    ----------
    needed : int
        At the peak of building (where there is no graph yet) and running in memory, above the
        input frame.
    streamed : int
        The least any run takes: the arrays by vertex, which never leave memory, and of a layered
        edge list two partitions.
    """

    needed: int
    streamed: int


def build_bytes(rows, vertices, *, weighted=False, directed=True):
    """Upper bound of what building takes above the input frame, in bytes.

    A row takes at most 24 bytes without weights: two ids (8) while 64-bit keys are sorted (16).
    Weights add a sorted copy and the permutation that makes it, and without direction every row
    is two arcs in the end.
    """
    a_row = {(False, True): 24, (False, False): 28, (True, True): 42, (True, False): 52}
    return rows * a_row[bool(weighted), bool(directed)] + vertices * 64


def estimate_memory(
    graph_or_path, algorithm, *, source=None, destination=None, weight=None, directed=True
):
    """Bytes a run will take, estimated from counts alone.

    Parameters
    ----------
    graph_or_path : Graph, LayeredEdgeList, edge frame or path
        A file's rows come from its metadata (Parquet, Matrix Market) or its size; vertices are
        those of a Matrix Market file's size line, and else bounded by the range of integer ids
        where the file records it, and by two a row.
    algorithm : str
        ``"pagerank"``, ``"bfs"``, ``"sssp"``, ``"connected_components"``, ``"scan"``,
        ``"scan_index"`` or ``"structural_similarity"``.
    source, destination : str or list of str, optional
        Columns of a file, where they are not called so.
    weight : str, optional
        Column of weights, which take memory too.
    directed : bool

    Returns
    -------
    MemoryEstimate

    Raises
    ------
    GraphError
        Unknown algorithm; unreadable file.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1], "destination": [1, 2]})
    >>> rg.estimate_memory(edges, "pagerank").needed
    352
    """
    from .graph import Graph
    from .layers import LayeredEdgeList

    check_flag("directed", directed)
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        known = ", ".join(sorted(ALGORITHMS))
        raise GraphError(f"no estimate for algorithm {shown(algorithm)}; there is one for {known}")
    per_vertex, per_arc, per_weighted_arc = ALGORITHMS[algorithm]
    if isinstance(graph_or_path, LayeredEdgeList):
        vertices, partitions = graph_or_path.num_vertices * per_vertex, graph_or_path.nbytes
        streamed = vertices + min(2 * graph_or_path.largest_partition, partitions)
        return MemoryEstimate(vertices + partitions, streamed)
    if isinstance(graph_or_path, Graph):
        graph = graph_or_path
        vertices, arcs = graph.num_vertices, graph.num_arcs
        arcs *= 2 if graph.directed and algorithm in WITHOUT_DIRECTION else 1
        built, weighted, text = 0, graph.weighted, graph.names.text_bytes
    else:
        directed = directed and algorithm not in WITHOUT_DIRECTION
        rows, vertices = _counts(graph_or_path, source, destination)
        weighted = weight is not None or (algorithm == "sssp" and _has_weights(graph_or_path))
        text = 0
        arcs = rows if directed else 2 * rows
        built = build_bytes(rows, vertices, weighted=weighted, directed=directed)
    run = vertices * per_vertex + arcs * (per_weighted_arc if weighted else per_arc)
    run += text * TEXT_COPIES.get(algorithm, 2)
    # The peak of the build and that of the run do not coincide; the lists (12 or 4 bytes an arc)
    # that the build leaves stay.
    kept = 0 if not built else arcs * (12 if weighted else 4) + vertices * 8
    return MemoryEstimate(int(max(built, kept + run)), int(vertices * per_vertex))


def _has_weights(frame_or_path):
    """Whether `sssp` takes weights from a frame by itself."""
    if isinstance(frame_or_path, (str, Path)):
        return False
    return "weight" in frames.column_names(frames.opened(frame_or_path)[1])


def _counts(frame_or_path, source, destination):
    """(rows, at most how many vertices)."""
    if isinstance(frame_or_path, (str, Path)):
        from .files import declared_vertices, edge_facts

        rows, _, limits = edge_facts(frame_or_path, source=source, destination=destination)
        declared = declared_vertices(frame_or_path)
        if declared is not None:
            return rows, len(declared)
        spread = limits[1] - limits[0] + 1 if limits else 2 * rows
        return rows, min(spread, 2 * rows)
    _, frame = frames.opened(frame_or_path)
    ends = [
        frames.column(frame, name, what)
        for what, names in (("source", source), ("destination", destination))
        for name in as_list(names or what)
    ]
    rows = len(ends[0])
    numbers = (
        len(ends) == 2 and rows and all(device.is_array(v) and v.dtype.kind in "iu" for v in ends)
    )
    if not numbers:
        return rows, 2 * rows
    spread = max(int(v.max()) for v in ends) - min(int(v.min()) for v in ends) + 1
    return rows, min(spread, 2 * rows)


def check_fits(what, needed, xp):
    """Raise NotEnoughMemory when `needed` bytes are not free where `xp` keeps arrays."""
    free = device.free_memory(xp)
    if needed > free:
        where = "on the GPU" if device.name_of(xp) == "gpu" else "in memory"
        raise NotEnoughMemory(what, needed, free, where)
