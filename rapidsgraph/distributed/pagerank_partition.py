"""What a worker does for PageRank of a part: its rows arranged, and iterations over them.

Means: the contributions of all vertices are read, those of the part's own are written; the others'
  come from their parts.
Requires: adjacency by destination, the weight that leaves every vertex.
Reference: as algorithms/pagerank.py; the layout is its method auto's, of the rows of a part.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from .. import device
from ..algorithms import pagerank_layout
from ..algorithms.pagerank_problem import (
    NUM_CPU_BLOCKS,
    dangling_weights,
    vertex_distribution,
)
from ..graph.weight_sums import check_out_weights
from ..kernels.constants import COOPERATIVE_THREADS, WARP
from . import communicator
from .communicator import Near
from .graph import label


@dataclass
class Run:
    """What a part needs for an iteration. restart, share: a value a row, or one for all."""

    rows: pagerank_layout.PageRankLayout
    first: int
    damping: float
    restart: object
    share: object
    start: object


@dataclass
class Piece:
    """What an iteration makes of a part.

    Attributes
    ----------
    values : array of the value type
        By slot: the contribution of a vertex with out-edges, the rank of any other.
    mass : float
        Rank of all vertices without out-edges.
    change : float
        Total absolute change of ranks.
    iterations : int
        How many there have been.
    """

    values: object
    mass: float
    change: float
    iterations: int = 0


class Sweep:
    """Iterations over the rows of a part.

    It has two buffers of the contributions of all vertices, which are read and written in turns;
    each ends with a 0 for what is missing in a row. Of its own ranks it keeps those without
    out-edges. `others` are contributions that other members write, by part.
    """

    def __init__(self, run, bounds, contributions=None, others=None):
        self._run, self._bounds, self._others = run, bounds, others or {}
        rows, xp = run.rows, device.array_module(run.rows.order)
        self._own = slice(run.first, run.first + rows.order.size)
        if contributions is None:
            contributions = xp.zeros((2, bounds[-1] + 1), rows.inverse_weights.dtype)
        self._contributions = contributions
        self._ranks = xp.empty(rows.order.size, rows.inverse_weights.dtype)
        self._chunk_sums = xp.zeros(max(rows.chunks, 1))
        self._arrivals = xp.zeros(max(rows.long_rows, 1), xp.int32)
        self._partials = xp.zeros(
            2 * NUM_CPU_BLOCKS if xp is np else 4 * device.max_cooperative_blocks()
        )
        self.iterations = 0

    @property
    def _last(self):
        """What the last iteration wrote, and the next one reads."""
        return self._contributions[self.iterations % 2]

    def begin(self, piece):
        """Take a piece of this part, from which others may follow."""
        self._last[self._own] = self._ranks[:] = piece.values
        return piece

    def take(self, pieces):
        """Take what all parts made in the last iteration, in their order.

        Where a piece has no values they are in another's contributions, or in these already.
        """
        for at, (piece, first, stop) in enumerate(zip(pieces, self._bounds, self._bounds[1:])):
            last, others = self._last[first:stop], self._others.get(at)
            if others is not None and piece.values is None:
                communicator.copy(others[self.iterations % 2, first:stop], last)
            elif piece.values is not None and slice(first, stop) != self._own:
                last[:] = piece.values

    def go_on(self, mass, count=1, tolerance=0.0):
        """Up to `count` iterations, more than one where no other part has rows: a Piece.

        Its values are overwritten by the iteration after the next.
        """
        run, rows, xp = self._run, self._run.rows, device.array_module(self._ranks)
        vertices, places = rows.order.size, self._bounds[-1]
        if not vertices:
            self.iterations += count
            return Piece(self._last[self._own], 0.0, 0.0, self.iterations)
        state = xp.asarray([float(self.iterations), math.inf, mass, 0.0, 0.0])
        units = rows.chunks + rows.whole_rows + vertices // WARP + 1
        device.launch(
            "pagerank", "iterate", size=units * WARP, threads=COOPERATIVE_THREADS,
            cooperative=True,
            num_iterations=count, tolerance=tolerance, damping=run.damping, num_vertices=vertices,
            num_contributions=places, num_isolated=0, num_long_rows=rows.long_rows,
            num_whole_rows=rows.whole_rows, num_narrow_slices=rows.narrow_slices,
            num_chunks=rows.chunks, num_cached=0, chunk_rows=rows.chunk_rows,
            chunk_offsets=rows.chunk_offsets, row_offsets=rows.row_offsets,
            slice_offsets=rows.slice_offsets, neighbors=rows.neighbors, weights=rows.weights,
            weighted=rows.weights.size > 0, contribution_index=rows.slots,
            has_contribution_index=True, inverse_weights=rows.inverse_weights, teleport=run.restart,
            num_teleports=run.restart.size, dangling_weights=run.share,
            num_dangling_weights=run.share.size, contributions=self._contributions.reshape(-1),
            pagerank=self._ranks, chunk_sums=self._chunk_sums, arrived_chunks=self._arrivals,
            partials=self._partials, arrived_blocks=xp.zeros(1, xp.uint64), state=state,
        )  # fmt: skip
        done, change, mass, *_ = (state.get() if xp is not np else state).tolist()
        self.iterations = int(done)
        return Piece(self._last[self._own], mass, change, self.iterations)

    def values(self):
        """As of a Piece, for good."""
        xp, inverse = device.array_module(self._ranks), self._run.rows.inverse_weights
        return xp.where(inverse == 0, self._ranks, self._last[self._own])


class RankMember(Near):
    """A part whose iterations go on without the scheduler, and within a machine without messages.

    On a CPU members of one machine have the contributions of all vertices in common, so that cores
    share what of them is in their caches. A GPU has its own, and copies what others wrote there.
    """

    def __init__(self, number, name, run, bounds):
        super().__init__(number, name)
        self._run, self._bounds, self._pieces = run, bounds, None

    async def iterate(self, count, tolerance):
        """Up to `count` more iterations: what each changed in all parts together."""
        if self._pieces is None:
            inverse = self._run.rows.inverse_weights
            xp = device.array_module(inverse)
            await self.make_room((2, self._bounds[-1] + 1), inverse.dtype, xp, xp is np)
            self._pieces = await self.round(self._begin, xp)
        changes = []
        while len(changes) < count:
            self._pieces = await self.round(self._next, self._pieces)
            changes.append(sum(piece.change for piece in self._pieces))
            if changes[-1] < tolerance:
                break
        return changes

    def _begin(self, xp):
        self._sweep = Sweep(self._run, self._bounds, self.room, self.reached)
        piece = self._sweep.begin(start(self._run))
        device.synchronize(xp)  # others may read at once
        return piece

    def _next(self, pieces):
        self._sweep.take(pieces)
        return self._sweep.go_on(sum(piece.mass for piece in pieces))

    def made_for(self, other, made):
        if isinstance(made, Piece) and self.is_near(other):
            return replace(made, values=None)
        return made

    def piece(self):
        """The last one, for good."""
        return replace(self._pieces[self.number], values=self._sweep.values())


def leaving_part(part):
    """The weight that leaves each vertex into a part, or how many arcs."""
    xp, lists, weighted = part.xp, part.padded, part.weighted
    sums = xp.zeros(part.vertices)
    device.launch(
        "build", "sum_by_key", size=part.num_arcs,
        num_items=part.num_arcs, keys=lists.neighbors, weights=lists.weights, weighted=weighted,
        sums=sums,
    )  # fmt: skip
    return sums


def checked(leaving, named):
    """The weights that leave vertices; `named` is None where they are counts of arcs."""
    if named is not None:
        check_out_weights(leaving, named)
    return leaving


def order(part, leaving):
    """The rows of a part by in-degree, among equals those with out-edges first: int32."""
    degrees = part.xp.diff(part.lists.offsets)
    has_out = leaving[part.first : part.stop] > 0
    return pagerank_layout.order_by_degree(2 * degrees + has_out, part.xp)


def slots(bounds, *orders):
    """Where each vertex's contribution is: rows of a part in their order, part after part."""
    xp = device.array_module(orders[0])
    slot_of = xp.empty(bounds[-1], xp.int32)
    for order, first, stop in zip(orders, bounds, bounds[1:]):
        slot_of[first + order] = xp.arange(first, stop, dtype=xp.int32)
    return slot_of


def lay_out(part, order, slot_of, leaving, weighted, value_type):
    xp, lists = part.xp, part.lists
    own = leaving[part.first : part.stop]
    weights, out_weights = xp.empty(0, value_type), own
    if weighted:  # each arc's share of what leaves its source, which fits any precision
        whole = xp.where(leaving > 0, leaving, 1.0)[lists.neighbors]
        weights = (lists.weights / whole).astype(value_type)
        out_weights = (own > 0).astype(np.float64)
    return pagerank_layout.build_layout(
        lists, weights, out_weights, value_type, order, idle=0, slots=slot_of[part.first + order],
        slot_of=slot_of, hot=0,
    )  # fmt: skip


def prepare(rows, named, damping, personalization, dangling, first_ranks, first):
    """Return the Run of a part.

    `personalization`, `dangling` and `first_ranks` are arrays from `vertex_shares`, or None or a
    text as the caller passed it.
    """
    if not device.is_array(personalization):
        personalization = vertex_distribution(named, personalization, "personalization")
    if not device.is_array(dangling):
        dangling = dangling_weights(named, dangling, personalization)
    if not device.is_array(first_ranks):
        first_ranks = vertex_distribution(named, first_ranks, "start")
    own = first + rows.order
    restart, share, first_ranks = (
        values if values.size == 1 else values[own]
        for values in (personalization, dangling, first_ranks)
    )
    return Run(rows, first, damping, (1 - damping) * restart, damping * share, first_ranks)


def start(run):
    """The Piece before the first iteration."""
    xp, rows = device.array_module(run.rows.order), run.rows
    inverse = rows.inverse_weights
    ranks = xp.full(rows.order.size, 1, inverse.dtype) * run.start.astype(inverse.dtype)
    is_sink = inverse == 0
    mass = float(ranks[is_sink].sum(dtype=np.float64))
    return Piece(xp.where(is_sink, ranks, ranks * inverse), mass, math.inf)


def step(run, number, bounds, count, tolerance, *pieces):
    """The next Piece of part `number`, from what all made; up to `count` further if it is alone."""
    before = pieces[number]
    sweep = Sweep(run, bounds)
    sweep.begin(before)
    sweep.take(pieces)
    piece = sweep.go_on(sum(piece.mass for piece in pieces), count, tolerance)
    return replace(piece, values=sweep.values(), iterations=before.iterations + piece.iterations)


def changes(made):
    """(iterations, change of ranks in all parts) of each list of pieces."""
    return [(pieces[0].iterations, sum(piece.change for piece in pieces)) for pieces in made]


def ranks_of(named, run, piece, first, stop):
    xp, rows = device.array_module(piece.values), run.rows
    is_sink = rows.inverse_weights == 0
    ranks = xp.empty_like(piece.values)
    ranks[rows.order] = xp.where(
        is_sink, piece.values, piece.values / xp.where(is_sink, 1, rows.inverse_weights)
    )
    return label(named, {"pagerank": ranks}, first, stop)


def no_ranks(named, values):
    return label(named, {"pagerank": named.xp.asarray(values)}, 0, 0)
