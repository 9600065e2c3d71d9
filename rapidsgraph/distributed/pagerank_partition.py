"""PageRank on one partition: the tasks and the group member that run its iterations.

A partition reads the contributions of all vertices and writes those of its own; the others' come
from their partitions. The layout is that of method "auto" in `algorithms.pagerank`, for the rows
of a partition. It needs adjacency by destination and the out-weight of every vertex.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import device
from ..algorithms import pagerank_layout
from ..algorithms.pagerank import dangling_weights, vertex_distribution
from ..device.arrays import Array, ArrayModule
from ..frames import Frame
from ..graph.vertex_names import Labeling
from ..graph.weight_sums import check_out_weights
from . import shared_memory
from .actors import SharedMemoryMember
from .graph import create_vertex_frame
from .partition import Partition


@dataclass
class PageRankState:
    """What the iterations of a partition need, by row of its layout.

    Attributes
    ----------
    layout : PageRankLayout
    first_vertex : int
    damping : float
    teleport, dangling_weights : float64, shape (rows,) or (1,)
        Scaled by ``1 - damping`` and by `damping`.
    start : float64, shape (rows,) or (1,)
        PageRank before the first iteration.
    """

    layout: pagerank_layout.PageRankLayout
    first_vertex: int
    damping: float
    teleport: Array
    dangling_weights: Array
    start: Array


@dataclass
class SweepResult:
    """The result of an iteration on a partition.

    Attributes
    ----------
    values : array of the value type, or None
        By contribution index: the contribution of a vertex with out-edges, the PageRank of a
        dangling one. None where the receiver reads them from shared memory.
    dangling_mass : float
        PageRank of all dangling vertices of the partition.
    residual : float
        L1 norm of the change on the partition.
    num_iterations : int
        Iterations so far.
    """

    values: Array | None
    dangling_mass: float
    residual: float
    num_iterations: int = 0


class SweepState:
    """Buffers of the iterations over the rows of a partition.

    Contributions of all vertices are double-buffered: an iteration reads one buffer and writes the
    other. Each ends with a 0, which padding in the layout refers to. PageRank is stored only for
    the partition's dangling vertices.

    Parameters
    ----------
    state : PageRankState
    bounds : list of int
        Bounds of the partitions' ranges.
    contributions : array, shape (2, vertices + 1), optional
        Buffer to use.
    peer_contributions : dict of int to array, optional
        Buffers that other members write, by rank.
    """

    def __init__(
        self,
        state: PageRankState,
        bounds: list[int],
        contributions: Array | None = None,
        peer_contributions: dict[int, Array] | None = None,
    ) -> None:
        self._state, self._bounds = state, bounds
        self._peer_contributions = peer_contributions or {}
        layout, xp = state.layout, device.array_module(state.layout.order)
        num_local, value_type = layout.order.size, layout.inverse_weights.dtype
        self._own = slice(state.first_vertex, state.first_vertex + num_local)
        if contributions is None:
            contributions = xp.zeros((2, bounds[-1] + 1), value_type)
        self._contributions = contributions
        self._pagerank = xp.empty(num_local, value_type)
        self._buffers = pagerank_layout.allocate_buffers(layout)
        self.num_iterations = 0

    @property
    def _current(self) -> Array:
        """The buffer that the last iteration wrote and the next one reads."""
        return self._contributions[self.num_iterations % 2]

    def load(self, result: SweepResult) -> SweepResult:
        """Continue from a result of this partition, and return it."""
        self._current[self._own] = self._pagerank[:] = result.values
        return result

    def receive(self, results: Sequence[SweepResult]) -> None:
        """Copy the contributions of the last iteration of all partitions, by rank.

        A result without values is in a peer's buffer, or in this one already.
        """
        for rank, result in enumerate(results):
            start, stop = self._bounds[rank], self._bounds[rank + 1]
            target, peer = self._current[start:stop], self._peer_contributions.get(rank)
            if peer is not None and result.values is None:
                shared_memory.copy_array(peer[self.num_iterations % 2, start:stop], target)
            elif result.values is not None and slice(start, stop) != self._own:
                target[:] = result.values

    def iterate(
        self, dangling_mass: float, num_iterations: int = 1, tolerance: float = 0.0
    ) -> SweepResult:
        """Run up to `num_iterations`; more than one only if no other partition has rows.

        The values of the result are overwritten by the iteration after the next.
        """
        layout, xp = self._state.layout, device.array_module(self._pagerank)
        num_local = layout.order.size
        if not num_local:
            self.num_iterations += num_iterations
            return SweepResult(self._current[self._own], 0.0, 0.0, self.num_iterations)
        state = xp.asarray([float(self.num_iterations), math.inf, dangling_mass, 0.0, 0.0])
        pagerank_layout.launch_iterations(
            layout, num_iterations, tolerance, self._state.damping, self._state.teleport,
            self._state.dangling_weights, self._contributions, self._pagerank, self._buffers, state,
        )  # fmt: skip
        iterations, residual, dangling_mass, *_ = (state.get() if xp is not np else state).tolist()
        self.num_iterations = int(iterations)
        return SweepResult(self._current[self._own], dangling_mass, residual, self.num_iterations)

    def copy_values(self) -> Array:
        """Return a copy of the values of the last result."""
        xp, inverse = device.array_module(self._pagerank), self._state.layout.inverse_weights
        return xp.where(inverse == 0, self._pagerank, self._current[self._own])


class PageRankMember(SharedMemoryMember):
    """A group member that iterates on its partition.

    On a CPU the members of one machine share one buffer of contributions, so that cores share what
    is in their caches. A GPU has its own buffer and copies what its peers wrote.
    """

    def __init__(self, rank: int, name: str, state: PageRankState, bounds: list[int]) -> None:
        super().__init__(rank, name)
        self._state, self._bounds = state, bounds
        self._last_results: list[SweepResult] | None = None

    async def iterate(self, num_iterations: int, tolerance: float) -> list[float]:
        """Run up to `num_iterations` more; return the residual of each over all partitions."""
        if self._last_results is None:
            value_type = self._state.layout.inverse_weights.dtype
            xp = device.array_module(self._state.layout.inverse_weights)
            await self.allocate_buffer((2, self._bounds[-1] + 1), value_type, xp, xp is np)
            self._last_results = await self.superstep(self._start, xp)
        residuals: list[float] = []
        while len(residuals) < num_iterations:
            self._last_results = await self.superstep(self._iterate, self._last_results)
            residuals.append(sum(each.residual for each in self._last_results))
            if residuals[-1] < tolerance:
                break
        return residuals

    def _start(self, xp: ArrayModule) -> SweepResult:
        self._sweep = SweepState(self._state, self._bounds, self.buffer, self.peer_buffers)
        result = self._sweep.load(start_iterations(self._state))
        device.synchronize(xp)  # peers may read at once
        return result

    def _iterate(self, results: list[SweepResult]) -> SweepResult:
        self._sweep.receive(results)
        return self._sweep.iterate(sum(each.dangling_mass for each in results))

    def message_for(self, rank: int, result: Any) -> Any:
        """Return the result without values that member `rank` reads from the buffer."""
        if isinstance(result, SweepResult) and self.is_read_by(rank):
            return replace(result, values=None)
        return result

    def result(self) -> SweepResult:
        """Return the last result, which further iterations do not overwrite."""
        assert self._last_results is not None  # `iterate` was called
        return replace(self._last_results[self.rank], values=self._sweep.copy_values())


# Tasks


def sum_out_weights(partition: Partition) -> Array:
    """Return the weight of each vertex's arcs into a partition, or their number: float64."""
    sums = partition.xp.zeros(partition.num_vertices)
    csc = partition.adjacency
    device.launch(
        "build", "sum_by_key", size=partition.num_arcs,
        num_items=partition.num_arcs, keys=csc.neighbors, weights=csc.weights,
        weighted=partition.weighted, sums=sums,
    )  # fmt: skip
    return sums


def validate_out_weights(out_weights: Array, labeling: Labeling | None) -> Array:
    """Return out-weights after a check; `labeling` is None for numbers of arcs."""
    if labeling is not None:
        check_out_weights(out_weights, labeling)
    return out_weights


def order_rows(partition: Partition, out_weights: Array) -> Array:
    """Return the rows of a partition by in-degree, dangling ones last among equals: int32."""
    degrees = partition.xp.diff(partition.local_adjacency.offsets)
    has_out_edges = out_weights[partition.local_range] > 0
    return pagerank_layout.order_by_degree(2 * degrees + has_out_edges)


def index_contributions(bounds: list[int], *orders: Array) -> Array:
    """Return the contribution index of each vertex: rows in order, partition after partition."""
    xp = device.array_module(orders[0])
    contribution_index = xp.empty(bounds[-1], xp.int32)
    for order, start, stop in zip(orders, bounds[:-1], bounds[1:], strict=True):
        contribution_index[start + order] = xp.arange(start, stop, dtype=xp.int32)
    return contribution_index


def build_layout(
    partition: Partition,
    order: Array,
    contribution_index: Array,
    out_weights: Array,
    weighted: bool,
    value_type: type,
) -> pagerank_layout.PageRankLayout:
    """Return the layout of a partition's rows."""
    xp, csc = partition.xp, partition.local_adjacency
    own_out_weights = out_weights[partition.local_range]
    weights = xp.empty(0, value_type)
    if weighted:  # as fractions of the source's out-weight, which fit any precision
        divisors = xp.where(out_weights > 0, out_weights, 1.0)[csc.neighbors]
        weights = (csc.weights / divisors).astype(value_type)
        own_out_weights = (own_out_weights > 0).astype(np.float64)
    return pagerank_layout.build_layout(
        csc, weights, own_out_weights, value_type, order,
        contribution_index[partition.start + order], contribution_index,
    )  # fmt: skip


def create_state(
    layout: pagerank_layout.PageRankLayout,
    labeling: Labeling,
    damping: float,
    personalization: Any,
    dangling: Any,
    start: Any,
    first_vertex: int,
) -> PageRankState:
    """Return the state of a partition.

    `personalization`, `dangling` and `start` are arrays from `vertex_distribution`, or None or a
    string as the caller passed it.
    """
    if not device.is_array(personalization):
        personalization = vertex_distribution(labeling, personalization, "personalization")
    if not device.is_array(dangling):
        dangling = dangling_weights(labeling, dangling, personalization)
    if not device.is_array(start):
        start = vertex_distribution(labeling, start, "start")
    vertices = first_vertex + layout.order
    teleport, dangling, start = (
        values if values.size == 1 else values[vertices]
        for values in (personalization, dangling, start)
    )
    return PageRankState(
        layout, first_vertex, damping, (1 - damping) * teleport, damping * dangling, start
    )


def start_iterations(state: PageRankState) -> SweepResult:
    """Return the values before the first iteration."""
    inverse = state.layout.inverse_weights
    xp = device.array_module(inverse)
    pagerank = xp.full(inverse.size, 1, inverse.dtype) * state.start.astype(inverse.dtype)
    is_dangling = inverse == 0
    dangling_mass = float(pagerank[is_dangling].sum(dtype=np.float64))
    return SweepResult(xp.where(is_dangling, pagerank, pagerank * inverse), dangling_mass, math.inf)


def run_iterations(
    state: PageRankState,
    rank: int,
    bounds: list[int],
    num_iterations: int,
    tolerance: float,
    *results: SweepResult,
) -> SweepResult:
    """Return the next result of a partition from those of all; see `SweepState.iterate`."""
    sweep = SweepState(state, bounds)
    sweep.load(results[rank])
    sweep.receive(results)
    result = sweep.iterate(sum(each.dangling_mass for each in results), num_iterations, tolerance)
    total = results[rank].num_iterations + result.num_iterations
    return replace(result, values=sweep.copy_values(), num_iterations=total)


def sum_residuals(batch: list[list[SweepResult]]) -> list[tuple[int, float]]:
    """Return the number of iterations and the residual of each superstep."""
    return [
        (results[0].num_iterations, sum(each.residual for each in results)) for results in batch
    ]


def create_pagerank_frame(
    labeling: Labeling, state: PageRankState, result: SweepResult, start: int, stop: int
) -> Frame:
    """Return the result rows of a partition."""
    inverse, values = state.layout.inverse_weights, result.values
    xp = device.array_module(inverse)
    is_dangling = inverse == 0
    pagerank = xp.empty_like(values)
    pagerank[state.layout.order] = xp.where(
        is_dangling, values, values / xp.where(is_dangling, 1, inverse)
    )
    return create_vertex_frame(labeling, {"pagerank": pagerank}, start, stop)


def create_empty_frame(labeling: Labeling, value_type: type) -> Frame:
    """Return the result rows of a graph without vertices."""
    values = labeling.xp.asarray(np.empty(0, value_type))
    return create_vertex_frame(labeling, {"pagerank": values}, 0, 0)
