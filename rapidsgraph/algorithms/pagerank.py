"""PageRank by power iteration.

With W[u] the weight that leaves u, an iteration computes::

    pagerank[v] = damping * (sum over arcs (u, v) of pagerank[u] w(u, v) / W[u]
                             + dangling_mass * dangling_weights[v])
                  + (1 - damping) * personalization[v]

where dangling_mass is the PageRank of vertices without out-edges.

Method `auto` runs many iterations per launch, over rows in a layout of their own
(`pagerank_layout`, or `pagerank_blocks` for many iterations on large graphs); on a GPU, one block
runs all iterations of a small graph, over its adjacency as it is. The methods of Kim and of Reddy
launch kernels for every iteration (`pagerank_methods`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np

from .. import device
from ..device import Array
from ..frames import Frame, VertexValues
from ..graph.build import as_local_graph
from ..graph.csr import fits_in_block
from ..graph.local_graph import GraphLike, LocalGraph
from ..graph.vertex_names import Labeling
from ..graph.vertex_values import resolve_vertex_values
from ..graph.weight_sums import check_out_weights
from ..kernels.constants import COOPERATIVE_THREADS, PAGERANK_MAX_SHARED_VERTICES
from ..progress import Report, reporter
from ..validation import check_number, reject
from . import pagerank_blocks, pagerank_layout
from .pagerank_layout import read_state, start_reading_state
from .pagerank_methods import power_iterate
from .parameters import FRAME_OPTIONS, PageRankParameters
from .run_memory import check_run_memory

logger = logging.getLogger(__name__)

PageRankMethod = Literal["auto", "frames", "edge", "node", "contribution", "warp"]
METHODS = get_args(PageRankMethod)
Precision = Literal["double", "single"]
PRECISIONS: dict[Precision, type[np.floating]] = {"double": np.float64, "single": np.float32}
DanglingPolicy = Literal["uniform", "drop"]  # besides None and weights by vertex
DANGLING = get_args(DanglingPolicy)
MAX_DIRECT_ITERATIONS = 3  # up to this many take less time than building a layout
DIRECT_KEY = "whether PageRank has read the adjacency directly"  # in a graph's cache


def pagerank(graph: GraphLike, parameters: PageRankParameters) -> tuple[Frame, int, float]:
    """Compute PageRank of a graph or frame; see `rapidsgraph.pagerank`.

    Returns
    -------
    frame : frame
    iterations : int
    residual : float
        L1 norm of the change in the last iteration.
    """
    value_type, max_iterations = parameters.value_type, parameters.max_iterations

    def compile_ahead(weight_type: Any) -> None:
        if parameters.method == "auto":
            weights = bool if weight_type is None else value_type
            device.compile_ahead("pagerank", values=value_type, weights=weights)
            if weight_type is None:
                device.compile_ahead("unweighted pagerank", values=value_type)
            else:
                device.compile_ahead("weighted pagerank", values=value_type, weights=weight_type)

    graph = as_local_graph(
        graph, layout="csc", compile_ahead=compile_ahead, **FRAME_OPTIONS["pagerank"]
    )
    graph.labeling.check_name_collisions("pagerank")
    if not graph.num_vertices:
        frame = graph.labeling.vertex_frame({"pagerank": graph.xp.empty(0, value_type)})
        return frame, 0, 0.0
    size = f"{graph.num_vertices:,} vertices and {graph.num_arcs:,} arcs"
    check_run_memory(graph, "pagerank", f"PageRank of {size}")
    if graph.weighted:
        check_out_weights(graph.out_weights, graph.labeling)
    problem = PageRankProblem(graph, value_type, parameters)
    with reporter(parameters.progress, "PageRank", max_iterations) as report:
        if parameters.method == "auto":
            in_block = _fits_in_block(problem)
            values, read = _iterate_in_block(problem) if in_block else _iterate(problem, report)
            frame = graph.labeling.vertex_frame({"pagerank": values})  # while a GPU iterates
            iterations, residual, _ = read()
            report(iterations, f"change {residual:.1e}")
        else:
            values, iterations, residual = power_iterate(problem, parameters.method, report)
            frame = graph.labeling.vertex_frame({"pagerank": values})
    logger.info("pagerank: %d iterations, residual %.3g", iterations, residual)
    return frame, iterations, residual


class PageRankTerms(NamedTuple):
    """Teleport and dangling terms of each vertex, and the initial values.

    Attributes
    ----------
    teleport, dangling_weights, start : float64 array or float
        Personalization times (1 - damping), weights of the dangling mass times damping, and initial
        values: one value per vertex, or a single value for all vertices.
    """

    teleport: Any
    dangling_weights: Any
    start: Any


class PageRankProblem:
    """A graph and the parameters of PageRank, as every method takes them.

    Parameters
    ----------
    graph : LocalGraph or LayeredStorage
    value_type : type
        numpy.float32 or numpy.float64: the type of stored values, which may differ from that of the
        result.
    parameters : PageRankParameters

    Attributes
    ----------
    uniform_terms : PageRankTerms or None
        The numbers in `terms` if all vertices have the same, else None.
    partitions : object
        Partitions of a layered edge list, as they are streamed.
    """

    def __init__(
        self, graph: Any, value_type: type[np.floating], parameters: PageRankParameters
    ) -> None:
        labeling, damping, dangling = graph.labeling, parameters.damping, parameters.dangling
        self.graph, self.value_type = graph, value_type
        self.damping, self.tolerance = damping, parameters.tolerance
        self.max_iterations, self.launch = parameters.max_iterations, parameters.launch
        self.partitions: Any = None
        self.uniform_terms: PageRankTerms | None = None
        self._terms: PageRankTerms | None = None
        has_policy = dangling is None or isinstance(dangling, str)
        if has_policy and parameters.personalization is None and parameters.start is None:
            value = 1 / labeling.num_vertices
            dangling_weight = 0.0 if dangling == "drop" else damping * value
            self.uniform_terms = PageRankTerms((1 - damping) * value, dangling_weight, value)
            return
        teleport = vertex_distribution(labeling, parameters.personalization, "personalization")
        self._terms = PageRankTerms(
            (1 - damping) * teleport,
            damping * dangling_weights(labeling, dangling, teleport),
            vertex_distribution(labeling, parameters.start, "start"),
        )

    @property
    def terms(self) -> PageRankTerms:
        """The terms of the vertices as arrays, in the order of the last call of `reorder`."""
        if self._terms is None:
            self._terms = PageRankTerms(*self.graph.xp.asarray(self.uniform_terms).reshape(3, 1))
        return self._terms

    def reorder(self, order: Array) -> None:
        """Permute the terms one after the other; the arrays in the old order are released."""
        for name in PageRankTerms._fields:
            values = getattr(self.terms, name)
            if values.size > 1:
                self._terms = self.terms._replace(**{name: values[order]})

    @cached_property
    def out_weights(self) -> Array:
        """Divisor of each vertex: its out-degree, or 1 with normalized weights; 0 if dangling."""
        weights = self.graph.out_weights
        is_normalized = self.graph.weighted and self.partitions is None
        if not is_normalized:
            return weights
        has_out_weight = device.astype(weights, bool)  # without a kernel that CuPy would compile
        return device.astype(has_out_weight, np.float64)

    @cached_property
    def weights(self) -> Array:
        """Weight of each arc over the weight that leaves its source, which fits any precision."""
        csc, xp, size = self.graph.csc, self.graph.xp, self.graph.csc.neighbors.size
        if not size or not self.graph.weighted:
            return device.no_values(self.value_type, xp)
        normalized = xp.empty(size, self.value_type)
        device.launch(
            "pagerank_layout", "normalize_weights", size=size, num_arcs=size,
            neighbors=csc.neighbors, weights=csc.weights, out_weights=self.graph.out_weights,
            new_weights=normalized,
        )  # fmt: skip
        return normalized

    @property
    def batch_size(self) -> int:
        """Number of iterations between reads of the state: about 0.1 s of work."""
        pace = 3e9 if self.graph.xp is np else 3e12  # approximate bytes per second
        work = 16 * self.graph.num_arcs + 64 * self.graph.num_vertices
        return int(max(1, min(pace / 10 / work, 10_000)))


def _fits_in_block(problem: PageRankProblem) -> bool:
    """Return whether one block of a GPU runs all iterations."""
    graph = problem.graph
    return (
        fits_in_block(graph.csc)
        and graph.num_vertices <= PAGERANK_MAX_SHARED_VERTICES
        and _block_shared_bytes(graph) <= device.max_shared_bytes()
        and not graph.weighted
        and problem.uniform_terms is not None
        and problem.max_iterations <= problem.batch_size
    )


def _block_shared_bytes(graph: LocalGraph) -> int:
    """Return the dynamic shared memory of `iterate_in_block`."""
    double, integer, short = 8, 4, 2
    by_vertex = 2 * double + integer + short
    return by_vertex * graph.num_vertices + integer + short * graph.num_arcs


def _iterate_in_block(
    problem: PageRankProblem,
) -> tuple[Array, Callable[[], tuple[int, float, bool]]]:
    """Iterate over the adjacency of a small graph in one launch; return what `_iterate` does."""
    logger.debug("pagerank: one block")
    graph, terms = problem.graph, cast("PageRankTerms", problem.uniform_terms)
    arrays = device.allocate(
        graph.xp, result=(graph.num_vertices, problem.value_type), state=(4, np.float64)
    )
    device.launch(
        "pagerank", "iterate_in_block", size=graph.num_vertices, geometry=(1, COOPERATIVE_THREADS),
        shared_bytes=_block_shared_bytes(graph), num_iterations=problem.max_iterations,
        tolerance=problem.tolerance, damping=problem.damping, num_vertices=graph.num_vertices,
        start=terms.start, teleport=terms.teleport, dangling_weight=terms.dangling_weights,
        offsets=graph.csc.offsets, neighbors=graph.csc.neighbors, out_degrees=graph.out_degrees,
        **arrays,
    )  # fmt: skip
    return arrays["result"], start_reading_state(arrays["state"])


def _iterate(
    problem: PageRankProblem, report: Report
) -> tuple[Array, Callable[[], tuple[int, float, bool]]]:
    """Iterate over the rows of a layout; return PageRank by vertex, and a reader of the state.

    The last batch of iterations is not reported, and a GPU may still run it; the reader waits.
    """
    graph, xp, value_type = problem.graph, problem.graph.xp, problem.value_type
    num_vertices = graph.num_vertices
    form, layout = _arrange(problem)
    uniform, term_sizes = problem.uniform_terms, {}
    if uniform is None:
        problem.reorder(layout.order)
    else:
        term_sizes = {name: (1, np.float64) for name in ("teleport", "dangling_weights")}
    num_isolated = 0 if uniform is None else layout.num_isolated
    # PageRank is stored for dangling vertices; that of others follows from their contributions.
    buffer_sizes = form.buffer_sizes(layout)
    arrays = device.allocate_groups(
        xp,
        {"result": (num_vertices, value_type)},
        {"pagerank": (num_vertices, value_type),
         "contributions": (2 * (layout.num_contributions + 1), value_type), **buffer_sizes,
         "state": (5, np.float64), **term_sizes},
        zeroed=form.ZEROED_BUFFERS,
    )  # fmt: skip
    pagerank, contributions = arrays["pagerank"], arrays["contributions"].reshape(2, -1)
    buffers, state = {name: arrays[name] for name in buffer_sizes}, arrays["state"]
    dangling_mass = 0.0
    if uniform is None:
        terms, uniform = problem.terms, PageRankTerms(0.0, 0.0, 0.0)  # ignored
        if layout.num_dangling:
            dangling_mass = float((terms.start * (layout.inverse_weights == 0)).sum())
    else:
        no_start = device.no_values(np.float64, xp)
        terms = PageRankTerms(arrays["teleport"], arrays["dangling_weights"], no_start)
        dangling_mass = float(value_type(uniform.start)) * layout.num_dangling
    rows: dict[str, Any] = {
        "size": contributions.shape[1], "num_vertices": num_vertices,
        "num_contributions": layout.num_contributions, "inverse_weights": layout.inverse_weights,
        "contribution_index": layout.contribution_index,
        "has_contribution_index": layout.contribution_index.size > 0,
        "contributions": contributions.reshape(-1), "pagerank": pagerank,
    }  # fmt: skip
    device.launch(
        "pagerank", "initialize_rows", start=terms.start, num_starts=terms.start.size,
        uniform_start=uniform.start, uniform_teleport=uniform.teleport,
        uniform_dangling_weight=uniform.dangling_weights, dangling_mass=dangling_mass,
        teleport=terms.teleport, dangling_weights=terms.dangling_weights, state=state, **rows,
    )  # fmt: skip
    num_remaining = problem.max_iterations
    while num_remaining:
        count = min(problem.batch_size, num_remaining)
        num_remaining -= count
        form.launch_iterations(
            layout, count, problem.tolerance, problem.damping, terms.teleport,
            terms.dangling_weights, contributions, pagerank, buffers, state,
            num_isolated=num_isolated,
        )  # fmt: skip
        if num_remaining:
            iterations, residual, has_converged = read_state(state)
            if has_converged:
                break
            report(iterations, f"change {residual:.1e}")
    device.launch(
        "pagerank", "order_by_vertex", num_isolated=num_isolated, order=layout.order,
        state=state, result=arrays["result"], **rows,
    )  # fmt: skip
    return arrays["result"], start_reading_state(state)


def _arrange(problem: PageRankProblem) -> tuple[Any, Any]:
    """Return the module and the layout of the rows, which is cached on the graph.

    Both modules have the same functions. One layout is kept: the one for most iterations so far.
    The first call of few iterations reads the adjacency without a layout, unless one warp of a GPU
    would sum a very long row.
    """
    graph, value_type, max_iterations = problem.graph, problem.value_type, problem.max_iterations
    choices = {  # from the one for most iterations on, and whether it pays off
        "blocks": pagerank_blocks.pays_off(graph, max_iterations),
        "grouped layout": pagerank_layout.should_group(graph, value_type, max_iterations),
        "layout": True,
    }
    keys = {kind: f"PageRank {kind}, {value_type.__name__}" for kind in choices}
    kind = next(kind for kind in choices if choices[kind] or graph.is_cached(keys[kind]))
    is_first = not any(map(graph.is_cached, [DIRECT_KEY, *keys.values()]))
    if is_first and max_iterations <= MAX_DIRECT_ITERATIONS:
        direct = pagerank_layout.read_directly(
            graph.csc, problem.weights, problem.out_weights, value_type
        )
        if direct is not None:
            graph.cached(DIRECT_KEY, lambda: True)
            logger.debug("pagerank: rows of the adjacency")
            return pagerank_layout, direct
    logger.debug("pagerank: %s of rows", kind)
    form: Any = pagerank_blocks if kind == "blocks" else pagerank_layout
    options = {"grouped": True} if kind == "grouped layout" else {}
    for other in keys.keys() - {kind}:
        graph.uncache(keys[other])
    layout = graph.cached(
        keys[kind],
        lambda: form.arrange(
            graph.csc, problem.weights, graph.out_degrees, problem.out_weights, value_type,
            **options,
        ),
    )  # fmt: skip
    return form, layout


def check_formula_parameters(damping: Any, tolerance: Any, dangling: Any) -> tuple[float, float]:
    """Return (damping, tolerance) as Python numbers; raise GraphError unless all are valid.

    A frame or dict in `dangling` is checked against the graph by `dangling_weights`.
    """
    if isinstance(dangling, str) and dangling not in DANGLING:
        reject(
            "dangling",
            dangling,
            f"it can be None (where the teleport goes), {', '.join(map(repr, DANGLING))}, or a "
            "frame, Series or dict of weights by vertex",
        )
    return check_number("damping", damping, 1), check_number("tolerance", tolerance)


def vertex_distribution(labeling: Labeling, values: VertexValues | None, parameter: str) -> Array:
    """Return values by vertex id that sum to 1; for None, one value that all vertices have."""
    if values is None:
        return labeling.xp.full(1, 1 / labeling.num_vertices)
    return resolve_vertex_values(labeling, values, parameter)


def dangling_weights(
    labeling: Labeling, dangling: str | VertexValues | None, teleport: Array
) -> Array:
    """Return the weights by which the PageRank of dangling vertices is distributed.

    Parameters
    ----------
    labeling : Labeling
    dangling : {"uniform", "drop"}, frame, dict or None
        As `pagerank` takes it, checked by `check_formula_parameters`.
    teleport : float64, shape (vertices,) or (1,)
        Weights of the teleport, which are the result for None.

    Returns
    -------
    float64, shape (vertices,), or (1,) for the same value at every vertex
    """
    if dangling is None:
        return teleport
    if isinstance(dangling, str):
        return labeling.xp.full(1, 0.0 if dangling == "drop" else 1 / labeling.num_vertices)
    return vertex_distribution(labeling, dangling, "dangling")
