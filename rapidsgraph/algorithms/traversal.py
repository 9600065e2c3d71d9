"""BFS and SSSP: how far every vertex is from the sources, and by way of which vertex.

Means: distance[v] = the fewest edges (BFS) or the least sum of weights (SSSP) of a way from a
  source to v; predecessor[v] = the smallest vertex u with an edge (u, v) that ends such a way.
Requires: weights that are finite and not negative (checked by Graph).
Reference: Zhu et al. 2017 (WolfPath: no host round trip per level); Beamer, Asanovic, Patterson
  2012 (push, then pull); Davidson, Baxter, Garland, Owens 2014 (near and far queue).

The kernels run all levels in one launch. Distances of SSSP are sums in double precision from the
source on; every order of work ends at the same ones, because adding a weight keeps order, so they
are Dijkstra's, bit for bit.
"""

import math
from dataclasses import dataclass

import numpy as np

from .. import device, frames
from ..errors import GraphError, format_value
from ..graph.build import build_graph
from ..graph.csr import Adjacency, row_indices
from ..graph.graph import as_local_graph, local_storage_of
from ..graph.local_graph import LocalGraph
from ..graph.vertex_arguments import resolve_vertices
from ..graph.weight_sums import can_overflow, check_distances
from ..kernels.constants import COOPERATIVE_THREADS, FRONTIER_CHUNK, NO_VERTEX, SHARED_FRONTIER
from ..memory import estimate_graph_memory
from ..validation import check_flag, check_free_memory, check_memory_limit
from .traversal_result import TraversalResult

PORTION = 2**22  # arcs looked at together, where edges that add nothing are sought
SAMPLE = 2**16  # weights that are looked at for the first step


def bfs(
    graph,
    source=None,
    *,
    depth_limit=None,
    predecessors=True,
    memory_limit=None,
    progress=None,
):
    """Breadth-first search: distances in edges.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        A frame is taken as directed, with columns `source` and `destination`. A directed `Graph`
        also gets lists by destination, once, which make this and later searches faster.
        Of a Dask frame, or a `Graph` of one, the result is a Dask frame.
    source : vertex, or several
        Name of the vertex to start from; of a `LayeredEdgeList` its root, which may be left out.
        Several (list, array, Series, ...) are searched from together: a distance is that to the
        nearest. A frame has them in its column `vertex`. With names
        of several columns: a tuple, a list of tuples, or a frame of these columns, called as in
        results or like the sources of edges.
    depth_limit : int, optional
        Vertices farther away count as unreached.
    predecessors : bool
        Whether to give them. A `LayeredEdgeList` knows the distances already, and is not read then.
    memory_limit : int or str, optional
        Bytes, or a text like "2GB": for a `LayeredEdgeList`, whose edges then stream through as
        much, once. By default what is free.
    progress : bool or callable, optional
        As in `pagerank`, of partitions.

    Returns
    -------
    frame
        `vertex`, `distance` (int32), `predecessor`: one row a vertex, sorted by vertex, in the
        caller's library. The predecessor is the smallest vertex among those from which an edge
        leads here on a shortest way. Unreached vertices have neither, sources no predecessor:
        null (in pandas the types are nullable: Int32, Int64, ...). A mapping of arrays has no
        null: there it is -1, of unsigned names the greatest value of their type, of text None;
        no predecessor is where `distance` is 0 or -1.

    Raises
    ------
    GraphError
        A source that is not in the graph, or not the root of a `LayeredEdgeList`; a limit that is
        no number of edges; a damaged file of edges.
    InsufficientMemoryError
        The run would not fit, or not into `memory_limit`; raised before it starts.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 3, 3]})
    >>> rg.bfs(edges, 0)
       vertex  distance  predecessor
    0       0         0         <NA>
    1       1         1            0
    2       2         1            0
    3       3         2            1
    """
    limit = check_depth_limit(depth_limit)
    check_memory_limit(memory_limit)
    shared = isinstance(graph, LocalGraph)
    graph = as_local_graph(graph)
    ids = _prepared(graph, source, predecessors, "bfs", "BFS")
    found = run_bfs(graph, ids, limit, predecessors, bottom_up=shared or not graph.directed)
    return traversal_frame(
        graph.labeling, found, (found.distances, found.distances >= 0), predecessors
    )


def sssp(graph, source=None, *, cutoff=None, predecessors=True, memory_limit=None, progress=None):
    """Single-source shortest paths: distances in weight.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        Built without ``weight=``, a `Graph` has no weights, even if its frame had: an edge costs
        1. A frame is taken as directed, with columns `source`, `destination` and, if it has one,
        `weight`; of parallel edges the cheapest counts. The Graph equal to such a frame is
        ``rg.Graph(edges, weight="weight", multi_edges="min")``. From a file, weights are read only
        where they are asked for: ``rg.read_edges(path, weight="weight")``.
        Of a Dask frame, or a `Graph` of one, the result is a Dask frame.
    source : vertex, or several
        As in `bfs`.
    cutoff : float, optional
        Vertices farther away count as unreached.
    predecessors : bool
        Whether to give them.
    memory_limit, progress
        As in `bfs`; edges stream in several passes, until nothing changes.

    Returns
    -------
    frame
        `vertex`, `distance` (float64, infinite where unreached), `predecessor`: one row a vertex,
        sorted by vertex, in the caller's library. Distances are sums in double precision, from the
        source on. The predecessor is the smallest vertex among those that are nearer to a source
        and from which an edge leads here on a shortest way; where only edges of weight 0 do, from
        vertices as near, among those that are the fewest such edges away from any other. Sources
        and what is unreached have none: null, or as in `bfs` in a mapping of arrays, where no
        predecessor is at the sources and where `distance` is infinite.

    Raises
    ------
    GraphError
        A source that is not in the graph; a cutoff that is no number; in a frame a weight that
        is negative, NaN or infinite (names the row); without a cutoff a distance beyond double
        precision, 1.8e308 (names the vertex).
    InsufficientMemoryError
        The run would not fit; raised before it starts.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame(
    ...     {"source": [0, 0, 1], "destination": [1, 2, 2], "weight": [0.5, 2.0, 1.0]}
    ... )
    >>> rg.sssp(edges, 0)
       vertex  distance  predecessor
    0       0       0.0         <NA>
    1       1       0.5            0
    2       2       1.5            1
    """
    most = check_cutoff(cutoff)
    check_memory_limit(memory_limit)
    shared = isinstance(graph, LocalGraph)
    graph = weighted_graph(graph)
    ids = _prepared(graph, source, predecessors, "sssp", "SSSP")
    bottom_up = shared or not graph.directed
    if graph.weighted:
        found = run_sssp(graph, ids, most, predecessors, bottom_up)
        distances = found.distances
        if most == math.inf and can_overflow(graph.total_weight):
            check_distances(graph.csr, distances, graph.labeling)
    else:
        found = run_bfs(graph, ids, int(min(most, NO_VERTEX)), predecessors, bottom_up)
        distances = float_distances(found.distances)
    return traversal_frame(graph.labeling, found, distances, predecessors)


def float_distances(distances):
    """Distances in edges as `sssp` gives them."""
    weights = distances.astype(np.float64)
    weights[distances < 0] = math.inf
    return weights


def weighted_graph(edges):
    """Return a graph as it is; build one from a frame, with the cheapest of parallel edges."""
    storage = local_storage_of(edges)
    if isinstance(storage, LocalGraph):
        return storage
    _, frame = frames.normalize_frame(storage)
    if "weight" not in frames.column_names(frame):
        return as_local_graph(storage)
    return build_graph(storage, weight="weight", multi_edges="min")


def run_bfs(graph, ids, depth_limit=NO_VERTEX, predecessors=True, bottom_up=True):
    """BFS from int32 `ids`; with `bottom_up` also by lists of in-neighbors, which it may have made."""
    xp, vertices = graph.xp, graph.num_vertices
    lists = graph.csr
    towards = graph.csc if bottom_up else lists
    distances = xp.full(vertices, -1, xp.int32)
    before = xp.full(vertices if predecessors else 0, NO_VERTEX, xp.int32)
    counts, arrived, state = _meeting(xp)
    words = (vertices + 31) // 32
    room = (2 if xp is not np else 3) * vertices + 2  # two queues, or keys and a queue
    device.launch(
        "bfs", "search", size=vertices + graph.num_arcs // 4, threads=COOPERATIVE_THREADS,
        cooperative=True, shared_bytes=SHARED_FRONTIER * 24,
        num_vertices=vertices, num_arcs=graph.num_arcs, depth_limit=depth_limit,
        bottom_up=bottom_up, with_predecessors=predecessors, num_sources=ids.size, sources=ids,
        offsets=lists.offsets, neighbors=lists.neighbors, in_offsets=towards.offsets,
        in_neighbors=towards.neighbors, distances=distances, predecessors=before,
        queues=xp.empty(room, xp.int32), chunks=_pieces(graph),
        frontier_bits=xp.empty(2 * words, xp.uint32), counters=counts, arrived_blocks=arrived,
        state=state,
    )  # fmt: skip
    return TraversalResult(distances, before, _rounds(state))


def run_sssp(graph, ids, cutoff=math.inf, predecessors=True, bottom_up=True):
    """Weighted shortest paths from int32 `ids`; with `bottom_up` predecessors by in-neighbors."""
    distances = graph.xp.full(graph.num_vertices, math.inf)
    distances[ids] = 0.0
    found = TraversalResult(
        distances, graph.xp.empty(0, np.int32), relax_from(graph, ids, distances, cutoff)
    )
    if predecessors:
        found.predecessors = _predecessors(graph, ids, distances, bottom_up)
    return found


def relax_from(graph, ids, distances, cutoff=math.inf):
    """Lower `distances` along all ways from int32 `ids`, whose own are known; how many rounds."""
    xp, vertices, lists = graph.xp, graph.num_vertices, graph.csr
    counts, arrived, state = _meeting(xp)
    step = graph.cached("step", lambda: _first_step(lists, xp))
    device.launch(
        "sssp", "shortest_paths", size=vertices + graph.num_arcs // 4, threads=COOPERATIVE_THREADS,
        cooperative=True,
        num_vertices=vertices, num_arcs=graph.num_arcs, cutoff=cutoff, delta=step,
        num_sources=ids.size, sources=ids, offsets=lists.offsets, neighbors=lists.neighbors,
        weights=lists.weights, distances=distances, queues=xp.zeros(4 * vertices + 2, xp.int32),
        marks=xp.zeros(2 * vertices, xp.int32), chunks=_pieces(graph), counters=counts,
        arrived_blocks=arrived, min_distance=xp.full(3, math.inf), state=state,
    )  # fmt: skip
    return _rounds(state)


def _predecessors(graph, ids, distances, bottom_up):
    """The smallest valid predecessor of every vertex that is reached and no source."""
    xp, vertices = graph.xp, graph.num_vertices
    found = xp.full(vertices, NO_VERTEX, xp.int32)
    lists = graph.csc if bottom_up else graph.csr
    device.launch(
        "sssp", "pull_predecessors" if bottom_up else "push_predecessors", size=32 * vertices,
        num_vertices=vertices, offsets=lists.offsets, neighbors=lists.neighbors,
        weights=lists.weights, distances=distances, predecessors=found,
    )  # fmt: skip
    rooted = found < NO_VERTEX
    rooted[ids] = True
    open_ends = ~rooted & (distances < math.inf)
    if bool(open_ends.any()):
        # Only edges that add nothing lead there: the fewest of them, from what has a predecessor.
        level = zero_weight_edges(graph.csr, distances, open_ends, xp)
        near = run_bfs(level, xp.flatnonzero(rooted).astype(xp.int32), bottom_up=False)
        found = xp.where(open_ends, near.predecessors, found)
    return found


@dataclass
class ArcSubgraph:
    """As much of a Graph as `search` needs."""

    xp: object
    csr: Adjacency

    @property
    def num_vertices(self):
        return self.csr.offsets.size - 1

    @property
    def num_arcs(self):
        return self.csr.neighbors.size


def zero_weight_edges(lists, distances, open_ends, xp):
    """The arcs between vertices of one distance that lead to `open_ends` and add nothing."""
    rows, kept = row_indices(lists), [xp.empty(0, np.int64)]
    for start in range(0, rows.size, PORTION):
        portion = slice(start, start + PORTION)
        before, after = distances[rows[portion]], lists.neighbors[portion]
        keep = open_ends[after] & (before == distances[after])
        with np.errstate(over="ignore"):  # beyond every number, so not equal
            keep &= before + lists.weights[portion] == before
        kept.append(start + xp.flatnonzero(keep))
    keep = xp.concatenate(kept)
    offsets = xp.searchsorted(rows[keep], xp.arange(distances.size + 1, dtype=xp.int32))
    return ArcSubgraph(xp, Adjacency(offsets, lists.neighbors[keep], xp.empty(0)))


def _first_step(lists, xp):
    weights = lists.weights[:: max(lists.weights.size // SAMPLE, 1)]
    leaving = int((lists.offsets[1:] > lists.offsets[:-1]).sum())
    weights = weights if xp is np else weights.get()
    return initial_delta(weights, lists.neighbors.size / max(leaving, 1), xp)


def initial_delta(weights, degree, xp):
    """By how much searches go on at first, by the median of a sample of the weights above 0.

    A GPU wants many vertices at a time, a CPU none twice: the more arcs a vertex has, the more of
    them are shorter than others' sums. `weights` are on the host, `degree` is that of a vertex
    that has any.
    """
    weights = weights[weights > 0]
    middle = weights.size // 2
    usual = float(np.partition(weights, middle)[middle]) if weights.size else 1.0
    return usual / 2 if xp is not np else 4 * usual / max(degree, 2) ** 2


def _meeting(xp):
    """(counts, arrived, state): where blocks leave word for each other."""
    return xp.zeros(24, xp.int64), xp.zeros(1, xp.uint64), xp.zeros(1, xp.int64)


def _pieces(graph):
    """Room for the pieces of long lists in two frontiers."""
    size = 0 if graph.xp is np else 4 * (graph.num_arcs // FRONTIER_CHUNK + 2)
    return graph.xp.empty(size, np.int64)


def _rounds(state):
    return int(state[0])


def _prepared(graph, source, predecessors, algorithm, title):
    """Ids of the sources, after all checks."""
    check_result_columns(graph.labeling, predecessors)
    ids = resolve_vertices(graph.labeling, source)
    needed = estimate_graph_memory(graph, algorithm).needed
    what = f"{title} of {graph.num_vertices:,} vertices and {graph.num_arcs:,} arcs"
    check_free_memory(what, needed, graph.xp)
    return ids


def check_result_columns(labeling, predecessors):
    check_flag("predecessors", predecessors)
    labeling.check_name_collisions("distance", *labeling.endpoint_columns("predecessor").values())


def traversal_frame(labeling, found, distances, predecessors):
    columns = {"distance": distances}
    if predecessors:
        known = found.predecessors < NO_VERTEX
        columns |= labeling.name_columns(found.predecessors, known, "predecessor")
    return labeling.vertex_frame(columns)


def check_cutoff(cutoff):
    """As float, infinite for None; GraphError where it is no number from 0."""
    if cutoff is None:
        return math.inf
    is_number = isinstance(cutoff, (int, float, np.integer, np.floating))
    if isinstance(cutoff, bool) or not is_number or not cutoff >= 0:
        raise GraphError(f"cutoff is {format_value(cutoff)}; it must be a number, 0 or more")
    try:
        return float(cutoff)
    except OverflowError:  # an integer beyond every distance
        return math.inf


def check_depth_limit(limit):
    """As int, more than any depth for None; GraphError where it is no number of edges."""
    if limit is None:
        return NO_VERTEX
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 0:
        raise GraphError(
            f"depth_limit is {format_value(limit)}; it must be a number of edges, 0 or more"
        )
    return min(int(limit), NO_VERTEX)
