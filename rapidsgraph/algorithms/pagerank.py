"""PageRank: how often a surfer is at each vertex who follows edges and sometimes starts anew.

Means: rank[v] = damping * (sum over edges (u, v) of rank[u] w / W[u] + mass * dangling[v])
  + (1 - damping) * personalization[v], iterated until the ranks change by less than `tolerance`;
  mass is the rank of dangling vertices, and dangling is personalization unless given.
Requires: weights that are finite and not negative (checked by Graph).
Reference: Page, Brin, Motwani, Winograd 1999; Kim (methods edge and node); Reddy (contribution
  and warp). What a method does differently is its kernel, in kernels/pagerank.cu and rank.py.

`edge`, `node`, `contribution` and `warp` queue one sweep an iteration and look at the residual
only now and then: the kernels themselves stop once it is small enough. `auto` runs many
iterations in one launch over a layout of its own (row_order.py).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import device
from ..errors import ConvergenceError, GraphError, format_value
from ..graph.csr import row_indices
from ..graph.graph import as_local_graph
from ..graph.vertex_arguments import resolve_vertex_values
from ..graph.weight_sums import check_out_weights
from ..kernels.constants import COOPERATIVE_THREADS, WARP
from ..memory import estimate_graph_memory
from ..progress import reporter
from ..validation import check_choice, check_free_memory, check_memory_limit, check_number
from . import pagerank_layout

METHODS = ("auto", "edge", "node", "contribution", "warp")
PRECISIONS = {"double": np.float64, "single": np.float32}
DANGLING = ("uniform", "drop")  # besides None and weights by vertex
PARTS = 64  # of the vertices, with a partial sum each, on a CPU
SHORT, LONG = 32, 1024  # method warp: a thread, a warp or a block sums a list up to or past these


def pagerank(
    graph,
    *,
    damping=0.85,
    tolerance=1e-6,
    max_iterations=100,
    personalization=None,
    dangling=None,
    start=None,
    method="auto",
    precision="double",
    progress=None,
    launch=None,
    memory_limit=None,
):
    """Rank vertices by PageRank.

    Parameters
    ----------
    graph : Graph, LayeredEdgeList or edge frame
        A frame is taken as directed, with columns `source` and `destination`.
        Of a Dask frame, or a `Graph` of one, the result is a Dask frame.
    damping : float
        Probability of following an edge, 0 to 1.
    tolerance : float
        Iterate until the total absolute change (L1) of one iteration is below it; 0 runs exactly
        `max_iterations`.
    max_iterations : int
    personalization : frame or dict, optional
        Where the surfer starts anew: `vertex` and one column of weights, scaled to sum to 1;
        vertices left out get 0. Everywhere alike by default.
    dangling : {"uniform", "drop"}, frame or dict, optional
        Where the rank of dangling vertices (those without out-edges) goes. By default where the
        teleport goes: to `personalization`, uniformly without one, as in NetworkX and cuGraph.
        "uniform" distributes it over all vertices, "drop" discards it (formula (1) of Kim and
        Reddy, which loses mass), and a frame or dict of weights, as for `personalization`, names
        the vertices that receive it.
    start : frame or dict, optional
        First ranks, scaled to sum to 1; all alike by default.
    method : {"auto", "edge", "node", "contribution", "warp"}
        How an iteration is computed; the ranks are the same. Dask frames have "auto" alone.
    precision : {"double", "single"}
        Of the ranks and of what is gathered; sums are double.
    progress : bool or callable, optional
        A bar on standard error; by default one on a terminal, when the work lasts.
    launch : (blocks, threads), optional
        Of a method's kernel on a GPU (not `auto`), as in Kim; a CPU has no use for it.
    memory_limit : int or str, optional
        Bytes, or a text like "2GB": for a `LayeredEdgeList`, whose edges then stream through as
        much, a pass an iteration. Its method is `auto`, its ranks are summed in double precision.

    Returns
    -------
    frame
        `vertex`, `pagerank`: one row a vertex, sorted by vertex, in the caller's library. Ranks
        sum to 1, except with ``dangling="drop"``.

    Raises
    ------
    ConvergenceError
        The tolerance was not reached; has `iterations` and `residual`.
    GraphError
        A parameter or frame that cannot be used; the message says why.
    InsufficientMemoryError
        The run would not fit; raised before it starts.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": ["a", "b", "c"], "destination": ["b", "a", "a"]})
    >>> rg.pagerank(edges).round(4)
      vertex  pagerank
    0      a    0.4865
    1      b    0.4635
    2      c    0.0500
    """
    damping, tolerance, max_iterations = check_parameters(
        damping, tolerance, max_iterations, dangling, method, precision, launch
    )
    check_memory_limit(memory_limit)
    graph = as_local_graph(graph, "csc")
    xp, vertices = graph.xp, graph.num_vertices
    value_type = PRECISIONS[precision]
    graph.labeling.check_name_collisions("pagerank")
    if not vertices:
        return graph.labeling.vertex_frame({"pagerank": xp.empty(0, value_type)})
    needed = estimate_graph_memory(graph, "pagerank").needed
    check_free_memory(f"PageRank of {vertices:,} vertices and {graph.num_arcs:,} arcs", needed, xp)
    if graph.weighted:
        check_out_weights(graph.out_weights, graph.labeling)
    run = Run.create(
        graph, value_type, damping, tolerance, max_iterations, personalization, dangling, start,
        launch,
    )  # fmt: skip
    with reporter(progress, "PageRank", max_iterations) as report:
        if method == "auto":
            ranks, iterations, residual = _iterate(run, report)
        else:
            ranks, iterations, residual = power_iterate(run, method, report)
    check_convergence(iterations, residual, tolerance)
    return graph.labeling.vertex_frame({"pagerank": ranks})


def check_convergence(iterations, residual, tolerance):
    """Raise ConvergenceError unless the residual is below the tolerance."""
    if tolerance and not residual < tolerance:
        raise ConvergenceError(iterations, residual, tolerance)


@dataclass
class Run:
    """What every method needs. restart, share and start have a value a vertex, or one for all."""

    graph: object
    value_type: type
    damping: float
    tolerance: float
    max_iterations: int
    restart: object
    share: object
    start: object
    launch: object
    partitions: object = None

    @classmethod
    def create(
        cls,
        graph,
        value_type,
        damping,
        tolerance,
        max_iterations,
        personalization,
        dangling,
        start,
        launch=None,
    ):
        """Create a run from the parameters of `pagerank`."""
        labeling = graph.labeling
        teleport = vertex_distribution(labeling, personalization, "personalization")
        return cls(
            graph,
            value_type,
            damping,
            tolerance,
            max_iterations,
            restart=(1 - damping) * teleport,
            share=damping * dangling_weights(labeling, dangling, teleport),
            start=vertex_distribution(labeling, start, "start"),
            launch=launch,
        )

    def reorder(self, order):
        """Permute the per-vertex terms; the arrays in the old order are released."""
        for name in ("restart", "share", "start"):
            values = getattr(self, name)
            setattr(self, name, values if values.size == 1 else values[order])

    @cached_property
    def out_weights(self):
        """What leaves each vertex: its out-degree, or 1 where arcs have shares; 0 for a sink."""
        weights = self.graph.out_weights
        has_shares = self.graph.weighted and self.partitions is None
        return (weights > 0).astype(np.float64) if has_shares else weights

    @cached_property
    def weights(self):
        """Each arc's share of the weight that leaves its source, which fits any precision."""
        lists = self.graph.csc
        if not self.graph.weighted:
            return self.graph.xp.empty(0, self.value_type)
        leaving, xp = self.graph.out_weights, self.graph.xp
        leaving = xp.where(leaving > 0, leaving, 1.0)[lists.neighbors]
        leaving = xp.divide(lists.weights, leaving, out=leaving)
        return leaving.astype(self.value_type, copy=False)

    @property
    def batch(self):
        """Iterations between looks at the state: about a tenth of a second of work."""
        pace = 3e9 if self.graph.xp is np else 3e11  # bytes a second, about
        work = 16 * self.graph.num_arcs + 64 * self.graph.num_vertices
        return int(max(1, min(pace / 10 / work, 10_000)))


def _iterate(run, report):
    """Method auto: as many iterations a launch as a batch has."""
    graph, xp = run.graph, run.graph.xp
    vertices, value_type = graph.num_vertices, run.value_type
    rows = graph.cached(
        f"row order, {np.dtype(value_type).name}",
        lambda: pagerank_layout.arrange(
            graph.csc, run.weights, graph.out_degrees, run.out_weights, value_type
        ),
    )
    run.reorder(rows.order)
    restart, share, start = run.restart, run.share, run.start
    ranks = xp.full(vertices, 1, value_type) * start.astype(value_type)
    contributions = xp.zeros(2 * (vertices + 1), value_type)
    slots = rows.slots if rows.slots.size else slice(0, vertices)
    contributions[:vertices][slots] = ranks * rows.inverse_weights
    mass = float(ranks[rows.inverse_weights == 0].sum(dtype=np.float64))
    state = xp.asarray([0.0, math.inf, mass, 0.0, float(start[0])])
    idle = rows.idle if restart.size == share.size == start.size == 1 else 0
    partials = xp.zeros(2 * PARTS if xp is np else 4 * device.max_cooperative_blocks())
    chunk_sums = xp.zeros(max(rows.chunks, 1))
    arrivals = xp.zeros(max(rows.long_rows, 1), xp.int32)
    arrived = xp.zeros(1, xp.uint64)
    units = rows.chunks + rows.whole_rows + (vertices - idle) // WARP + 1
    iterations, residual, converged = 0, math.inf, False
    while iterations < run.max_iterations and not converged:
        count = min(run.batch, run.max_iterations - iterations)
        arrived.fill(0)
        device.launch(
            "pagerank", "iterate", size=units * WARP, threads=COOPERATIVE_THREADS,
            cooperative=True, shared_bytes=rows.hot * ranks.itemsize,
            num_iterations=count, tolerance=run.tolerance, damping=run.damping,
            num_vertices=vertices, num_contributions=vertices, num_isolated=idle,
            num_long_rows=rows.long_rows, num_whole_rows=rows.whole_rows,
            num_narrow_slices=rows.narrow_slices, num_chunks=rows.chunks, num_cached=rows.hot,
            chunk_rows=rows.chunk_rows, chunk_offsets=rows.chunk_offsets,
            row_offsets=rows.row_offsets, slice_offsets=rows.slice_offsets,
            neighbors=rows.neighbors, weights=rows.weights, weighted=rows.weights.size > 0,
            contribution_index=rows.slots, has_contribution_index=rows.slots.size > 0,
            inverse_weights=rows.inverse_weights, teleport=restart, num_teleports=restart.size,
            dangling_weights=share, num_dangling_weights=share.size, contributions=contributions,
            pagerank=ranks, chunk_sums=chunk_sums, arrived_chunks=arrivals, partials=partials,
            arrived_blocks=arrived, state=state,
        )  # fmt: skip
        iterations, residual, converged = _read(state)
        report(iterations, f"change {residual:.1e}")
    parity = iterations % 2
    last = contributions[parity * (vertices + 1) :][:vertices][slots]
    if idle:
        ranks[vertices - idle :] = state[4]
    is_sink = rows.inverse_weights == 0
    by_id = xp.empty(vertices, value_type)
    by_id[rows.order] = xp.where(is_sink, ranks, last / xp.where(is_sink, 1, rows.inverse_weights))
    return by_id, iterations, residual


def power_iterate(run, method, report):
    """Methods edge, node, contribution and warp: sweep, measure, settle, over and over.

    `method` may also be a function that makes the sweep; it works like the one of `edge`.
    """
    graph, xp = run.graph, run.graph.xp
    vertices, value_type = graph.num_vertices, run.value_type
    is_in_place = callable(method) or method == "edge"  # the ranks are those of the sweep
    sinks = run.out_weights == 0
    out_weights = xp.where(sinks, 1.0, run.out_weights).astype(value_type)
    ranks = xp.empty((1 if is_in_place else 2, vertices), value_type)
    ranks[0] = run.start
    mass = float(ranks[0][sinks].sum(dtype=np.float64))
    state = xp.asarray([0.0, math.inf, mass, 0.0])
    blocks = PARTS if xp is np else 4 * xp.cuda.Device().attributes["MultiProcessorCount"]
    partials = xp.zeros(2 * blocks)
    sweeps = {"edge": _edge_sweep, "node": _node_sweep}
    sweep = method if callable(method) else sweeps.get(method, _contribution_sweep)
    sweep = sweep(run, method, out_weights, ranks, state)
    # The formula alone needs neither the change nor what sinks hold, unless someone asks.
    feeding = bool(run.share.any()) and bool(sinks.any())
    measured = is_in_place or run.tolerance > 0 or feeding
    # Launches queued past convergence do nothing and still cost; so does a look at the state.
    batch = (
        min(run.batch, 1 if xp is np or callable(method) else 32) if run.tolerance else run.batch
    )
    iterations, residual, converged = 0, math.inf, False
    while iterations < run.max_iterations and not converged:
        count = min(batch, run.max_iterations - iterations)
        for iteration in range(iterations, iterations + count):
            new_ranks = sweep(iteration % 2)
            if not measured:
                continue
            old_ranks = ranks[0 if is_in_place else iteration % 2]
            device.launch(
                "pagerank", "measure_change", size=vertices, geometry=(blocks, 256),
                num_vertices=vertices, copy=is_in_place, new_pagerank=new_ranks, is_dangling=sinks,
                state=state, pagerank=old_ranks, partials=partials,
            )  # fmt: skip
            device.launch(
                "pagerank", "check_convergence", size=blocks, geometry=(1, 256),
                num_blocks=blocks, tolerance=run.tolerance, partials=partials, state=state,
            )  # fmt: skip
        if measured:
            iterations, residual, converged = _read(state)
        else:
            iterations += count
        report(iterations, f"change {residual:.1e}" if measured else "")
    return ranks[0 if is_in_place else iterations % 2].copy(), iterations, residual


def _edge_sweep(run, method, out_weights, ranks, state):
    graph, xp = run.graph, run.graph.xp
    lists = graph.csc
    sources, destinations = lists.neighbors, row_indices(lists)
    # Without direction each edge once, and the kernel adds both ways; but the two arcs of a
    # weighted edge have shares of their own.
    symmetrize = not graph.directed and not graph.weighted
    if symmetrize:
        once = sources <= destinations
        sources, destinations = sources[once], destinations[once]
    sums = xp.empty(graph.num_vertices)

    def sweep(parity):
        start_sums(run, state, sums)
        device.launch(
            "pagerank", "scatter_edges", size=sources.size, geometry=run.launch,
            num_edges=sources.size, symmetrize=symmetrize, damping=run.damping, sources=sources,
            destinations=destinations, weights=run.weights, weighted=graph.weighted,
            out_weights=out_weights, pagerank=ranks[0], state=state, sums=sums,
        )  # fmt: skip
        return sums

    return sweep


def start_sums(run, state, sums):
    """What every rank has without an edge."""
    device.launch(
        "pagerank", "initialize_sums", size=sums.size, geometry=run.launch,
        num_vertices=sums.size, teleport=run.restart, num_teleports=run.restart.size,
        dangling_weights=run.share, num_dangling_weights=run.share.size, state=state, sums=sums,
    )  # fmt: skip


def _node_sweep(run, method, out_weights, ranks, state):
    graph, lists, weights = run.graph, run.graph.csc, run.weights

    def sweep(parity):
        device.launch(
            "pagerank", "gather_nodes", size=graph.num_vertices, geometry=run.launch,
            num_vertices=graph.num_vertices, offsets=lists.offsets, neighbors=lists.neighbors,
            weights=weights, weighted=graph.weighted, out_weights=out_weights, damping=run.damping,
            teleport=run.restart, num_teleports=run.restart.size, dangling_weights=run.share,
            num_dangling_weights=run.share.size, state=state, pagerank=ranks[parity],
            new_pagerank=ranks[1 - parity],
        )  # fmt: skip
        return ranks[1 - parity]

    return sweep


def _contribution_sweep(run, method, out_weights, ranks, state):
    graph, xp, lists = run.graph, run.graph.xp, run.graph.csc
    vertices = graph.num_vertices
    contributions = xp.empty((2, vertices), run.value_type)
    contributions[0] = ranks[0] / out_weights
    weights = run.weights
    constant = {
        "offsets": lists.offsets, "neighbors": lists.neighbors, "weights": weights,
        "weighted": graph.weighted, "out_weights": out_weights, "damping": run.damping,
        "teleport": run.restart, "num_teleports": run.restart.size,
        "dangling_weights": run.share, "num_dangling_weights": run.share.size, "state": state,
    }  # fmt: skip
    degrees = xp.diff(lists.offsets)
    bins = [
        (1, xp.flatnonzero(degrees <= SHORT)),
        (32, xp.flatnonzero((degrees > SHORT) & (degrees <= LONG))),
        (0, xp.flatnonzero(degrees > LONG)),
    ]
    bins = [(group, rows.astype(xp.int32)) for group, rows in bins if rows.size]

    def sweep(parity):
        buffers = {
            "contributions": contributions[parity], "new_contributions": contributions[1 - parity],
            "new_pagerank": ranks[1 - parity],
        }  # fmt: skip
        if method == "contribution":
            device.launch(
                "pagerank", "gather_contributions", size=vertices, geometry=run.launch,
                num_vertices=vertices, **constant, **buffers,
            )  # fmt: skip
            return ranks[1 - parity]
        for group, rows in bins:
            device.launch(
                "pagerank", "gather_groups",
                size=rows.size * (group or 256), geometry=run.launch,
                num_rows=rows.size, rows=rows, group_size=group, **constant, **buffers,
            )  # fmt: skip
        return ranks[1 - parity]

    return sweep


def _read(state):
    """(iterations, residual, converged) of the state on the device."""
    done, residual, _, converged = (state.get() if device.is_on_gpu(state) else state)[:4].tolist()
    return int(done), residual, converged != 0


def vertex_distribution(graph, given, what):
    """A frame's values by id, or the same for all."""
    if given is None:
        return graph.xp.full(1, 1 / graph.num_vertices)
    return resolve_vertex_values(graph, given, what)


def dangling_weights(graph, dangling, teleport):
    """Return the weights by which the rank of dangling vertices is distributed.

    Parameters
    ----------
    graph : Graph
    dangling : {"uniform", "drop"}, frame, dict or None
        As `pagerank` takes it, checked by `check_formula`.
    teleport : float64, shape (vertices,) or (1,)
        Weights of the teleport, which are the result for None.

    Returns
    -------
    float64, shape (vertices,), or (1,) for the same value at every vertex
    """
    if dangling is None:
        return teleport
    if isinstance(dangling, str):
        return (
            graph.xp.zeros(1)
            if dangling == "drop"
            else vertex_distribution(graph, None, "dangling")
        )
    return vertex_distribution(graph, dangling, "dangling")


def check_formula_parameters(damping, tolerance, dangling):
    """Return (damping, tolerance) as Python numbers; raise GraphError unless all are valid.

    A frame or dict in `dangling` is checked against the graph by `dangling_weights`.
    """
    if isinstance(dangling, str) and dangling not in DANGLING:
        raise GraphError(
            f"dangling is {format_value(dangling)}; it can be None (where the teleport goes), "
            f"{', '.join(map(repr, DANGLING))}, or a frame or dict of weights by vertex"
        )
    return check_number("damping", damping, 1), check_number("tolerance", tolerance)


def _is_launch_size(number):
    is_integer = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    return is_integer and 0 < number < 2**31


def check_parameters(damping, tolerance, max_iterations, dangling, method, precision, launch):
    """Return (damping, tolerance, max_iterations) as Python numbers, all parameters checked."""
    damping, tolerance = check_formula_parameters(damping, tolerance, dangling)
    if isinstance(max_iterations, bool) or not isinstance(max_iterations, (int, np.integer)):
        raise GraphError(f"max_iterations is {format_value(max_iterations)}; it must be an integer")
    if max_iterations < 1:
        raise GraphError(f"max_iterations is {format_value(max_iterations)}; it must be at least 1")
    check_choice("method", method, METHODS)
    check_choice("precision", precision, PRECISIONS)
    numbers = damping, tolerance, int(max_iterations)
    if launch is None:
        return numbers
    if method == "auto":
        raise GraphError("launch is for the methods edge, node, contribution and warp, not auto")
    good = isinstance(launch, (tuple, list)) and len(launch) == 2
    if not good or not all(_is_launch_size(number) for number in launch):
        raise GraphError(
            f"launch is {format_value(launch)}; it must be (blocks, threads), both positive, below 2^31"
        )
    if launch[1] > 1024 or (method == "warp" and launch[1] % 32):
        raise GraphError(
            f"launch has {format_value(launch[1])} threads; 1024 is the most, and warp needs a multiple "
            "of 32"
        )
    return numbers
