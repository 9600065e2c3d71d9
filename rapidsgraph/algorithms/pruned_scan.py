"""Cores and clusters for one epsilon and mu, with as few common neighbors counted as possible.

The sizes of two neighborhoods decide many edges, a few similar or dissimilar neighbors decide
whether a vertex is a core, and an edge between two cores of one cluster changes nothing [1]_ [2]_.
All other edges are evaluated, each only until it is certain whether it is similar. CPU only.

Once the calls with a graph have taken more steps than counting all common neighbors would, these
are counted and cached. So no sequence of calls takes more than about twice as long as the faster of
the two methods (ski rental [3]_).

References
----------
.. [1] L. Chang, W. Li, X. Lin, L. Qin and W. Zhang, "pSCAN: fast and exact structural graph
   clustering", ICDE 2016. https://doi.org/10.1109/ICDE.2016.7498245
.. [2] Y. Che, S. Sun and Q. Luo, "Parallelizing pruning-based graph structural clustering", ICPP
   2018. https://doi.org/10.1145/3225058.3225110
.. [3] A. R. Karlin, M. S. Manasse, L. Rudolph and D. D. Sleator, "Competitive snoopy caching",
   Algorithmica 3, 1988. https://doi.org/10.1007/BF01762111
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import device, kernels
from ..graph.local_graph import LocalGraph
from .components import compress
from .similarity import SimilarityGraph

# Counting, and clustering by the counts, takes about as long as so many steps per edge and one per
# neighbor of its endpoint of smaller degree; a step takes 2 to 6 ns.
STEPS_PER_EDGE = 30
SAMPLE_STRIDE = 16  # of the vertices from whose steps those of all are estimated
MIN_SAMPLED_ROWS = 2**12  # vertices below which an estimate takes more time than it saves


def link_pruned(
    graph: LocalGraph, similar: SimilarityGraph, mu: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Find cores, link them, and count common neighbors at borders; None if that takes too long.

    Parameters
    ----------
    graph : LocalGraph
        It caches the number of steps of all calls.
    similar : SimilarityGraph
        Its `common` is written: exact from borders to cores, elsewhere of unknown value.
    mu : int

    Returns
    -------
    is_core, is_border : bool array, shape (vertices,)
    roots : int32 array, shape (vertices,)
        Root of the component of similar cores of every vertex.
    """
    num_vertices, num_arcs = similar.num_vertices, similar.num_arcs
    lists = {name: similar.arrays[name] for name in ("offsets", "neighbors", "common")}
    mu = min(mu, num_vertices + 1)  # no closed neighborhood is larger
    is_core, is_open = np.empty(num_vertices, bool), np.empty(num_vertices, bool)
    min_degree_sum = np.zeros(1, np.int64)
    steps = graph.cached("steps of pruned SCAN", lambda: np.zeros(1, np.int64))
    first_steps = int(steps[0])
    size = num_vertices + num_arcs

    def run(entry: Any, rows: np.ndarray, budget: int, **arguments: Any) -> bool:
        """Run a kernel, and return whether it was completed."""
        arguments |= lists | similar.threshold | {"budget": budget, "steps": steps}
        with device.kernel_lock(), device.limit_threads(size):
            entry(rows=rows, next_row=np.zeros(1, np.int64), is_core=is_core, **arguments)
        return int(steps[0]) <= budget

    with device.kernel_lock(), device.limit_threads(size):
        kernels.pruned_scan.bound_similarities(
            num_vertices=num_vertices, mu=mu, **similar.threshold, **lists, is_core=is_core,
            is_open=is_open, min_degree_sum=min_degree_sum,
        )  # fmt: skip
    # Two thirds of the steps of counting: what is skipped after them would hardly pay off.
    budget = (STEPS_PER_EDGE * num_arcs + int(min_degree_sum[0])) // 3
    rows = _by_degree(np.flatnonzero(is_open), similar.arrays["sizes"])
    if rows.size >= MIN_SAMPLED_ROWS:
        # Vertices that come later have more edges that others have evaluated: about half.
        limit = first_steps + 2 * (budget - first_steps) // SAMPLE_STRIDE
        # A copy: strided rows would compile the kernel another time.
        if not run(kernels.pruned_scan.decide_cores, rows[::SAMPLE_STRIDE].copy(), limit, mu=mu):
            return None
    if not run(kernels.pruned_scan.decide_cores, rows, budget, mu=mu):
        return None
    roots, is_border = np.arange(num_vertices, dtype=np.int32), np.zeros(num_vertices, bool)
    cores = np.flatnonzero(is_core).astype(np.int32)
    if cores.size:
        for evaluates in (False, True):
            arguments = {"evaluates": evaluates, "parents": roots}
            if not run(kernels.pruned_scan.join_cores, cores, budget, **arguments):
                return None
        compress(roots)
        others = np.flatnonzero(~is_core).astype(np.int32)
        if not run(kernels.pruned_scan.count_at_borders, others, budget, is_border=is_border):
            return None
    return is_core, roots, is_border


def _by_degree(vertices: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return vertices as int32 by descending degree, up to a factor of two.

    Then an edge is evaluated from its endpoint of higher degree, which reads the shorter list.
    """
    exponents = np.frexp(sizes[vertices])[1].astype(np.int8)
    return vertices[np.argsort(-exponents, kind="stable")].astype(np.int32)
