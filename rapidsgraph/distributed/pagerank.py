"""PageRank of a distributed graph.

Each rank sums what the vertices of its partition receive from the contributions of all vertices,
and an all-gather sends its new contributions to the other ranks after each iteration. The layout is
that of method "auto" in `algorithms.pagerank_layout`, for the rows of a partition, which needs
adjacency by destination.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .. import device
from ..algorithms import pagerank_layout
from ..algorithms.pagerank import dangling_weights, vertex_distribution
from ..algorithms.pagerank_layout import PageRankLayout
from ..algorithms.parameters import FRAME_OPTIONS, PageRankParameters
from ..device.arrays import Array
from ..frames import Frame, compute_if_dask
from ..graph.key_sums import count_by_key, sum_by_key
from ..graph.local_graph import GraphLike
from ..graph.weight_sums import check_out_weights
from ..progress import Report, reporter
from .communicator import Communicator, GatherBuffer
from .executor import release_on_error
from .graph import as_distributed, create_vertex_frame
from .partition import Partition
from .storage import finish_frame

ITERATIONS_PER_LAUNCH = 16  # of a single rank, which needs no exchange in between
ITERATIONS_PER_REPORT = 16  # of a GPU that runs a fixed number of iterations


@release_on_error
def pagerank(graph: GraphLike, parameters: PageRankParameters) -> tuple[Frame, int, float]:
    """Compute PageRank of a DistributedGraph or Dask frame; see `algorithms.pagerank.pagerank`."""
    graph = as_distributed(graph, "csc", **FRAME_OPTIONS["pagerank"])
    graph.check_name_collisions("pagerank")
    distributions: dict[str, Any] = {
        "personalization": parameters.personalization,
        "dangling": parameters.dangling,
        "start": parameters.start,
    }
    for parameter, values in distributions.items():
        if values is not None and not isinstance(values, str):
            # One task for all ranks. They replace None and strings themselves.
            distributions[parameter] = graph.executor.submit(
                vertex_distribution, graph.labeling, compute_if_dask(values), parameter,
                name="distribution",
            )  # fmt: skip
    rank_parameters = replace(
        parameters, progress=None, personalization=None, dangling=None, start=None
    )
    with reporter(parameters.progress, "PageRank", parameters.max_iterations) as report:
        frame, [(iterations, residual), *_] = graph.run_for_frame(
            _compute_pagerank, graph.partitions("csc"), tuple(graph.bounds), graph.weighted,
            rank_parameters, *distributions.values(), name="pagerank", report=report,
        )  # fmt: skip
    return frame, iterations, residual


class RankLayout(NamedTuple):
    """The layout of a rank's rows.

    The contributions of the vertices that these rows read most often have copies in the first
    columns of the buffer, which a GPU caches in shared memory.

    Attributes
    ----------
    rows : PageRankLayout
    cached : int64, shape (num_cached,)
        The column of the buffer that each of the first columns is a copy of.
    """

    rows: PageRankLayout
    cached: Array


# SPMD functions: every rank of a communicator calls them.


def _compute_pagerank(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    bounds: tuple[int, ...],
    weighted: bool,
    parameters: PageRankParameters,
    personalization: Any,
    dangling: Any,
    start: Any,
) -> tuple[Frame, Any]:
    """Return the result rows of a partition, and the number of iterations and the residual.

    `personalization`, `dangling` and `start` are arrays from `vertex_distribution`, or None or a
    string as the caller passed it.
    """
    xp, labeling, damping = partition.xp, partition.labeling, parameters.damping
    value_type = parameters.value_type
    if not bounds[-1]:
        frame = create_vertex_frame(partition, {"pagerank": xp.empty(0, value_type)})
        return finish_frame(communicator, frame, (0, 0.0))
    layout, cached = partition.cached_on_all(
        communicator,
        f"PageRank layout, {value_type.__name__}",
        lambda: _build_layout(communicator, partition, bounds, weighted, value_type),
    )
    if not device.is_array(personalization):
        personalization = vertex_distribution(labeling, personalization, "personalization")
    if not device.is_array(dangling):
        dangling = dangling_weights(labeling, dangling, personalization)
    if not device.is_array(start):
        start = vertex_distribution(labeling, start, "start")
    vertices = partition.start + layout.order
    teleport, dangling, start = (
        values if values.size == 1 else values[vertices]
        for values in (personalization, dangling, start)
    )
    columns = [cached.size + bound for bound in bounds]
    local_columns = slice(*columns[communicator.rank : communicator.rank + 2])
    # Iterations read one row and write the other. Padding in the layout refers to the last column.
    buffer = communicator.allocate((2, columns[-1] + 1), columns, value_type, xp)
    contributions, inverse_weights = buffer.array, layout.inverse_weights
    is_dangling = inverse_weights == 0
    pagerank = xp.full(layout.order.size, 1, value_type) * start.astype(value_type)
    contributions[0, local_columns] = xp.where(is_dangling, pagerank, pagerank * inverse_weights)
    # Iterations, residual and dangling mass; see pagerank.cu for the others.
    state = xp.asarray([0.0, math.inf, 0.0, 0.0, 0.0])
    state[2] = pagerank[is_dangling].sum(dtype=np.float64)
    done, residual = _iterate(
        communicator, report, layout, cached, parameters, (1 - damping) * teleport,
        damping * dangling, buffer, pagerank, state,
    )  # fmt: skip
    values = contributions[done % 2, local_columns]
    result = xp.empty_like(pagerank)
    result[layout.order] = xp.where(
        is_dangling, pagerank, values / xp.where(is_dangling, 1, inverse_weights)
    )
    frame = create_vertex_frame(partition, {"pagerank": result})
    return finish_frame(communicator, frame, (done, residual))


def _iterate(
    communicator: Communicator,
    report: Report,
    layout: PageRankLayout,
    cached: Array,
    parameters: PageRankParameters,
    teleport: Array,
    dangling: Array,
    buffer: GatherBuffer,
    pagerank: Array,
    state: Array,
) -> tuple[int, float]:
    """Iterate until the tolerance or the maximum is reached; return iterations and residual.

    Parameters
    ----------
    layout, cached
        The fields of `RankLayout`.
    teleport, dangling : float64, shape (rows,) or (1,)
        Times 1 - damping and damping; see `pagerank_layout.launch_iterations`.
    buffer : GatherBuffer
        Contributions; row i % 2 has those after i iterations.
    pagerank, state : array
        As for `pagerank_layout.launch_iterations`; both are updated.
    """
    xp, contributions = device.array_module(state), buffer.array
    sizes = pagerank_layout.buffer_sizes(layout)
    buffers = device.allocate(xp, zeroed=pagerank_layout.ZEROED_BUFFERS, **sizes)
    is_alone = communicator.size == 1
    done, residual = 0, math.inf
    # Copies for the cache are made between launches.
    step = ITERATIONS_PER_LAUNCH if is_alone and not cached.size else 1
    while True:
        row = done % 2
        buffer.all_gather(row)
        if cached.size:
            contributions[row, : cached.size] = contributions[row, cached]
        if not is_alone:
            state[1:3] = communicator.all_reduce(state[1:3].copy())
        # Unless it needs the residual, the host enqueues iterations without waiting for a GPU.
        is_due = xp is np or parameters.tolerance > 0 or done % ITERATIONS_PER_REPORT == 0
        if done and (is_due or done == parameters.max_iterations):
            done, residual = int(state[0]), float(state[1])
            report(done, f"change {residual:.1e}")
        if residual < parameters.tolerance or done >= parameters.max_iterations:
            break
        count = min(step, parameters.max_iterations - done)
        if layout.order.size:
            pagerank_layout.launch_iterations(
                layout, count, parameters.tolerance if is_alone else 0.0, parameters.damping,
                teleport, dangling, contributions, pagerank, buffers, state,
            )  # fmt: skip
        else:
            state[0], state[1:3] = done + count, 0.0
        done += count
    return done, residual


def _build_layout(
    communicator: Communicator,
    partition: Partition,
    bounds: tuple[int, ...],
    weighted: bool,
    value_type: type,
) -> RankLayout:
    """Return the layout of a partition's rows."""
    xp, csc = partition.xp, partition.local_adjacency
    sources, num_vertices = partition.adjacency.neighbors, partition.num_vertices
    num_reads = count_by_key(sources, num_vertices)
    cached = xp.empty(0, xp.int64)
    if xp is not np:
        cached = pagerank_layout.select_cached(num_reads, csc.neighbors.size, value_type)
    out_weights = num_reads
    if weighted:
        out_weights = sum_by_key(sources, partition.adjacency.weights, num_vertices)
    out_weights = communicator.all_reduce(out_weights)
    if weighted:
        check_out_weights(out_weights, partition.labeling)
    local_out_weights = out_weights[partition.local_range]
    local_rows = pagerank_layout.order_rows(csc, local_out_weights)
    order = local_rows.order
    column = cached.size + _invert_orders(communicator.all_gather(order), bounds)
    weights = xp.empty(0, value_type)
    if weighted:  # as fractions of the source's out-weight, which fit any precision
        divisors = xp.where(out_weights > 0, out_weights, 1.0)[csc.neighbors]
        weights = (csc.weights / divisors).astype(value_type)
        local_out_weights = (local_out_weights > 0).astype(np.float64)
    read_column = column.copy()
    read_column[cached] = xp.arange(cached.size, dtype=xp.int32)
    rows = pagerank_layout.build_layout(
        csc, weights, local_out_weights, value_type, local_rows,
        pagerank_layout.measure_unit_sizes(local_rows, csc), column[partition.start + order],
        read_column, cached.size + bounds[-1], num_cached=cached.size,
    )  # fmt: skip
    return RankLayout(rows, column[cached].astype(xp.int64))


def _invert_orders(orders: Array, bounds: tuple[int, ...]) -> Array:
    """Return the position of each vertex in the rows of all ranks, rank after rank: int32."""
    xp = device.array_module(orders)
    position = xp.empty(bounds[-1], xp.int32)
    for start, stop in itertools.pairwise(bounds):
        position[start + orders[start:stop]] = xp.arange(start, stop, dtype=xp.int32)
    return position
