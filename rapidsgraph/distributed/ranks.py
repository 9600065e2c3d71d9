"""PageRank of a graph in several parts.

Means: what `rg.pagerank` gives. A part sums what its vertices get, from the contributions of all
  vertices; an iteration is a task a part, and what it makes is sent to all other parts.
Requires: adjacency by destination, the weight that leaves every vertex.
Reference: as algorithms/pagerank.py; the layout is its method auto's, of the rows of a part.

Nothing is asked between iterations: each task adds up the masses and changes that all parts report
with their contributions. The client looks at the change while later iterations are on their way,
and forgets those behind the one that is the last.
"""

import math
from dataclasses import dataclass

import numpy as np

from .. import device
from ..algorithms import row_order
from ..algorithms.layered import check_limit
from ..algorithms.pagerank import PARTS, PRECISIONS, check_parameters, sink_shares, vertex_shares
from ..errors import GraphError, NotConverged
from ..frames import in_one_piece
from ..progress import reporter
from .engine import tree
from .partitioned import as_partitioned, label
from .parts import add

TOGETHER = 4  # iterations whose changes the client asks for at once
AHEAD = 2  # times as many are submitted before they are looked at


def pagerank(
    graph,
    *,
    damping=0.85,
    tolerance=1e-6,
    max_iterations=100,
    personalization=None,
    dangling="uniform",
    start=None,
    method="auto",
    precision="double",
    progress=None,
    launch=None,
    memory_limit=None,
):
    """As `rapidsgraph.pagerank`, of a Dask frame or PartitionedGraph; gives a Dask frame."""
    check_parameters(damping, tolerance, max_iterations, method, precision, launch)
    if method != "auto":
        raise GraphError(f"method is {method!r}; graphs in several partitions have 'auto' alone")
    check_limit(graph, memory_limit)
    graph = as_partitioned(graph, "incoming")
    graph.check_room("pagerank")
    engine, value_type = graph.engine, PRECISIONS[precision]
    ranges, vertices = graph.ranges, graph.num_vertices
    if not vertices:
        empty = np.empty(0, value_type)
        return graph.result([engine.submit(_empty, graph.named, empty, name="label")])
    leaving = graph.kept("leaving", lambda: _leaving(graph))
    surfing = [
        engine.submit(_shares, graph.named, kind, in_one_piece(given), name="shares")
        for kind, given in (
            ("personalization", personalization), ("dangling", dangling), ("start", start)
        )
    ]  # fmt: skip
    layouts = graph.kept(f"layout, {precision}", lambda: _layouts(graph, leaving, value_type))
    runs = [
        engine.submit(_prepare, layout, damping, *surfing, first, name="prepare-ranks", at=at)
        for at, (layout, (first, _)) in enumerate(zip(layouts, ranges))
    ]
    pieces = [engine.submit(_start, run, name="start-ranks", at=at) for at, run in enumerate(runs)]
    with reporter(progress, "PageRank", max_iterations) as report:
        pieces, iterations, residual = _iterate(
            engine, runs, pieces, tolerance, max_iterations, report
        )
    if tolerance and not residual < tolerance:
        raise NotConverged(iterations, residual, tolerance)
    return graph.result(
        [
            engine.submit(_ranks, graph.named, run, piece, *bounds, name="label", at=at)
            for at, (run, piece, bounds) in enumerate(zip(runs, pieces, ranges))
        ]
    )


def _iterate(engine, runs, pieces, tolerance, max_iterations, report):
    """(pieces of the last iteration, how many there were, the last change)."""
    waiting, submitted, iterations, residual = [], 0, 0, math.inf
    while iterations < max_iterations:
        while submitted < max_iterations and len(waiting) < AHEAD:
            batch = []
            for _ in range(min(TOGETHER, max_iterations - submitted)):
                pieces = [
                    engine.submit(_step, run, *pieces, name="rank", at=at)
                    for at, run in enumerate(runs)
                ]
                batch.append(pieces)
            submitted += len(batch)
            waiting.append((batch, engine.submit(_changes, batch, name="changes", at=0)))
        batch, changes = waiting.pop(0)
        for done, residual in zip(batch, *engine.results([changes])):
            iterations += 1
            report(iterations, f"change {residual:.1e}")
            if residual < tolerance:
                return done, iterations, residual
    return done, iterations, residual


def _leaving(graph):
    """A task of the weight that leaves each vertex, checked: float64, shape (vertices,)."""
    engine = graph.engine
    sums = [
        engine.submit(_leaving_part, part, name="out-weights", at=at)
        for at, part in enumerate(graph.parts("incoming"))
    ]
    return engine.submit(
        _checked, tree(engine, add, sums, "out-weights"), graph.weighted, name="out-weights"
    )


def _layouts(graph, leaving, value_type):
    """A task a part: its rows as `rank.iterate` takes them."""
    engine, incoming = graph.engine, graph.parts("incoming")
    orders = [
        engine.submit(_order, part, leaving, name="row-order", at=at)
        for at, part in enumerate(incoming)
    ]
    slots = engine.submit(_slots, graph.bounds, *orders, name="slots")
    return [
        engine.submit(
            _lay_out, part, order, slots, leaving, graph.weighted, value_type,
            name="lay-out", at=at,
        )
        for at, (part, order) in enumerate(zip(incoming, orders))
    ]  # fmt: skip


# Tasks


@dataclass
class _Run:
    """What a part needs for an iteration. restart, share: a value a row, or one for all."""

    rows: row_order.RowOrder
    first: int
    damping: float
    restart: object
    share: object
    start: object


@dataclass
class _Piece:
    """What an iteration makes of a part.

    Attributes
    ----------
    values : array of the value type
        By slot: the contribution of a vertex with out-edges, the rank of any other.
    mass : float
        Rank of all vertices without out-edges.
    change : float
        Total absolute change of ranks.
    """

    values: object
    mass: float
    change: float


def _leaving_part(part):
    """The weight that leaves each vertex into a part, or how many arcs."""
    xp, lists, weighted = part.xp, part.padded, part.weighted
    sums = xp.zeros(part.vertices)
    device.launch(
        "build", "accumulate", part.num_arcs, lists.neighbors, lists.weights, weighted, sums,
        size=part.num_arcs,
    )  # fmt: skip
    return sums


def _checked(leaving, weighted):
    if weighted and not bool(device.array_module(leaving).isfinite(leaving).all()):
        raise GraphError("the weights that leave one vertex sum to infinity; scale them down")
    return leaving


def _shares(named, kind, given):
    if kind == "dangling":
        return sink_shares(named, given)
    return vertex_shares(named, given, kind)


def _order(part, leaving):
    """The rows of a part by in-degree, among equals those with out-edges first: int32."""
    degrees = part.xp.diff(part.lists.offsets)
    has_out = leaving[part.first : part.stop] > 0
    return row_order.descending(2 * degrees + has_out, part.xp)


def _slots(bounds, *orders):
    """Where each vertex's contribution is: rows of a part in their order, part after part."""
    xp = device.array_module(orders[0])
    slot_of = xp.empty(bounds[-1], xp.int32)
    for order, first, stop in zip(orders, bounds, bounds[1:]):
        slot_of[first + order] = xp.arange(first, stop, dtype=xp.int32)
    return slot_of


def _lay_out(part, order, slot_of, leaving, weighted, value_type):
    xp, lists = part.xp, part.lists
    own = leaving[part.first : part.stop]
    weights, out_weights = xp.empty(0, value_type), own
    if weighted:  # each arc's share of what leaves its source, which fits any precision
        whole = xp.where(leaving > 0, leaving, 1.0)[lists.neighbors]
        weights = (lists.weights / whole).astype(value_type)
        out_weights = (own > 0).astype(np.float64)
    return row_order.laid_out(
        lists, weights, out_weights, value_type, order, idle=0, slots=slot_of[part.first + order],
        slot_of=slot_of, hot=0,
    )  # fmt: skip


def _prepare(rows, damping, restart, share, start, first):
    own = first + rows.order
    restart, share, start = (
        values if values.size == 1 else values[own]
        for values in ((1 - damping) * restart, damping * share, start)
    )
    return _Run(rows, first, damping, restart, share, start)


def _start(run):
    xp, rows = device.array_module(run.rows.order), run.rows
    inverse = rows.inverse_weights
    ranks = xp.full(rows.order.size, 1, inverse.dtype) * run.start.astype(inverse.dtype)
    is_sink = inverse == 0
    mass = float(ranks[is_sink].sum(dtype=np.float64))
    return _Piece(xp.where(is_sink, ranks, ranks * inverse), mass, math.inf)


def _step(run, *pieces):
    """One iteration of a part, from what all parts made in the one before."""
    rows, xp = run.rows, device.array_module(run.rows.order)
    count, places = rows.order.size, sum(piece.values.size for piece in pieces)
    if not count:
        return _Piece(pieces[0].values[:0], 0.0, 0.0)
    inverse = rows.inverse_weights
    contributions = xp.empty(2 * (places + 1), inverse.dtype)
    xp.concatenate([piece.values for piece in pieces], out=contributions[:places])
    contributions[places] = contributions[-1] = 0
    own = slice(run.first, run.first + count)
    ranks = contributions[own].copy()
    mass = sum(piece.mass for piece in pieces)
    state = xp.asarray([0.0, math.inf, mass, 0.0, 0.0])
    units = rows.chunks + rows.whole_rows + count // row_order.WARP + 1
    device.launch(
        "rank", "iterate", 1, 0.0, run.damping, count, places, 0, rows.long_rows,
        rows.whole_rows, rows.narrow_slices, rows.chunks, 0, rows.chunk_rows,
        rows.chunk_offsets, rows.row_offsets, rows.slice_offsets, rows.neighbors,
        rows.weights, rows.weights.size > 0, rows.slots, True, inverse, run.restart,
        run.restart.size, run.share, run.share.size, contributions, ranks,
        xp.zeros(max(rows.chunks, 1)), xp.zeros(max(rows.long_rows, 1), xp.int32),
        xp.zeros(2 * PARTS if xp is np else 4 * device.most_blocks()),
        xp.zeros(1, xp.uint64), state,
        size=units * row_order.WARP, threads=1024, cooperative=True,
    )  # fmt: skip
    made = contributions[places + 1 :][own]
    _, change, mass, *_ = (state.get() if xp is not np else state).tolist()
    return _Piece(xp.where(inverse == 0, ranks, made), mass, change)


def _changes(batch):
    """The change of each iteration, of the pieces that it made."""
    return [sum(piece.change for piece in pieces) for pieces in batch]


def _ranks(named, run, piece, first, stop):
    xp, rows = device.array_module(piece.values), run.rows
    is_sink = rows.inverse_weights == 0
    ranks = xp.empty_like(piece.values)
    ranks[rows.order] = xp.where(
        is_sink, piece.values, piece.values / xp.where(is_sink, 1, rows.inverse_weights)
    )
    return label(named, {"pagerank": ranks}, first, stop)


def _empty(named, values):
    return label(named, {"pagerank": named.xp.asarray(values)}, 0, 0)
