"""Similarities, common neighbors and SCAN by us, by other libraries and by a serial loop.

Means: `start(case)` gets ready, untimed, and returns what is timed; `problem(case, answer)` says
  what is wrong with its answer, or None.
Requires: SciPy, NetworKit and python-graphblas where they are wanted; whatever is missing is named.
"""

from functools import partial

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks.cases import (
    COUNTERS,
    EPSILON,
    MU,
    by_vertex,
    column,
    exact,
    other_clusters,
    other_counts,
    other_values,
    same,
    serial_scan,
)
from pipelines.benchmarks.contenders import INSTALL, Contender, found, networkit_graph
from rapidsgraph.algorithms import similarity

METHODS = similarity.METHODS
PARTS = {"whole": "similarity and clustering", "alone": "clustering alone"}
# Sums of squared degrees: so many steps it takes to compare the lists of all edges, and so many
# products (A @ A) has. The last are those of the serial loop, on any machine.
MOST_COMPARED = {"cpu": 5 * 10**9, "gpu": 10**12}
MOST_CLUSTERED = {"cpu": 2 * 10**10, "gpu": 10**12}
MOST_PRODUCTS, MOST_STEPS = 10**8, 2 * 10**10


class Clusterer(Contender):
    """One way in which one library does one task: "similarity", "counts", or one of PARTS.

    Attributes
    ----------
    most_steps : {device: int}
        Graphs with a larger sum of squared degrees are left out.
    """

    most_steps = {}

    def __init__(self, task, implementation, note="", precision="double"):
        super().__init__(implementation, precision)
        self.task, self.note = task, note

    def __str__(self):
        return f"{self.task}, {self.library}, {self.implementation}"

    def about(self):
        return super().about() | {"gives": PARTS.get(self.task, self.task)}

    def reason_against(self, case):
        """Why the graph is left out, or None."""
        most = self.most_steps.get(case.graph.device)
        if most and case.steps > most:
            return f"the sum of its squared degrees is {case.steps:,}, more than {most:,}"
        return None


class Ours(Clusterer):
    library, limit = "rapidsgraph", MOST_COMPARED

    def __init__(self, task, method):
        super().__init__(task, method)
        if method == "gpuscan":
            self.most_steps = self.limit


class OurSimilarity(Ours):
    """structural_similarity on a ready graph, whose lists are made simple in it."""

    def __init__(self, method):
        super().__init__("similarity", method)

    def start(self, case):
        return partial(rg.structural_similarity, case.forget(), method=self.implementation)

    def problem(self, case, answer):
        first, second = case.ends
        for name, truth in (("source", first), ("destination", second)):
            if wrong := other_counts(column(answer, name), truth):
                return wrong.replace("counts", f"{name}s")
        sizes = case.degrees + 1
        truth = case.common[case.is_first] / case.xp.sqrt(sizes[first] * sizes[second])
        return other_values(column(answer, "similarity"), truth)


class OurCounts(Ours):
    """Common neighbors of every arc, from its simple lists."""

    limit = dict.fromkeys(MOST_COMPARED, MOST_COMPARED["cpu"])  # on a GPU similarity shows it

    def __init__(self, method):
        super().__init__("counts", method)

    def start(self, case):
        return partial(COUNTERS[self.implementation], case.lists)

    def problem(self, case, answer):
        return other_counts(answer, case.common)


class OurScan(Ours):
    """scan on a ready graph; of "alone" the common neighbors are known before."""

    limit = MOST_CLUSTERED

    def __init__(self, part, method):
        super().__init__(part, method)

    def start(self, case):
        graph, method = case.graph, self.implementation
        if self.task == "whole":
            case.forget()
        else:
            similarity.neighborhoods(graph)
            graph.cached(f"common neighbors, {method}", lambda: case.common)
        return partial(rg.scan, graph, epsilon=EPSILON, mu=MU, method=method)

    def problem(self, case, answer):
        return None if same(answer, case.clustering[0]) else "wrong: not the checked answer"


class Serial(Clusterer):
    """GPUSCAN's algorithm 1 on one thread of the CPU, from simple lists."""

    library = "serial"

    def __init__(self, part):
        super().__init__(part, "algorithm 1", "Numba, one thread of the CPU")
        if part == "whole":
            self.most_steps = dict.fromkeys(MOST_CLUSTERED, MOST_STEPS)

    def start(self, case):
        offsets, neighbors, common = case.on_host
        given = common if self.task == "alone" else None
        return partial(serial_scan, offsets, neighbors, *exact(EPSILON), MU, given)

    def problem(self, case, answer):
        return other_clusters(*by_vertex(case.clustering[0]), *answer)


class SciPy(Clusterer):
    """Paths of two steps between the ends of each edge, as products of matrices."""

    library = "SciPy"

    def __init__(self):
        super().__init__("counts", "(A @ A).multiply(A)", "one thread")
        self.most_steps = {"cpu": MOST_PRODUCTS}

    def start(self, case):
        from scipy import sparse

        def make():
            shape = (case.workload.vertices,) * 2
            offsets, neighbors = case.lists.offsets, case.lists.neighbors
            return sparse.csr_matrix((np.ones(neighbors.size, np.int32), neighbors, offsets), shape)

        matrix = case.kept("SciPy", make)
        return lambda: (matrix @ matrix).multiply(matrix)

    def problem(self, case, answer):
        answer = answer.tocoo()
        return other_triangles(case, slice(None), answer.row, answer.col, answer.data)


class NetworKit(Clusterer):
    """Triangles of every edge, by its id; ids follow the order of lists."""

    library = "NetworKit"

    def __init__(self, networkit):
        note = f"{networkit.getMaxNumberOfThreads()} threads; edges have ids before"
        super().__init__("counts", "TriangleEdgeScore", note)
        self.networkit = networkit

    def start(self, case):
        def make():
            ends, vertices = case.ends, case.workload.vertices
            graph = networkit_graph(self.networkit, *ends, vertices, directed=False)
            graph.sortEdges()
            graph.indexEdges()
            return graph

        graph = case.kept("NetworKit", make)
        return self.networkit.sparsification.TriangleEdgeScore(graph).run

    def problem(self, case, answer):
        back = ~case.is_first  # ids ascend by the larger end, then by the smaller
        return other_counts(np.asarray(answer.scores(), np.int64) + 2, case.common[back])


def other_triangles(case, arcs, rows, columns, triangles):
    """What is wrong with the triangles of some arcs, which may leave out zeros, or None."""
    keys = (case.rows.astype(np.int64) << 32 | case.lists.neighbors)[arcs]
    given = rows.astype(np.int64) << 32 | columns.astype(np.int64)
    places = np.minimum(np.searchsorted(keys, given), keys.size - 1) if keys.size else given
    if not np.array_equal(keys[places], given):
        return "wrong: counts of pairs that are no edges"
    counts = np.full(keys.size, 2, np.int64)  # an edge's two ends
    counts[places] += triangles
    return other_counts(counts, case.common[arcs])


def ours():
    """Similarities and counts."""
    return [kind(method) for kind in (OurSimilarity, OurCounts) for method in METHODS]


def racers():
    """Ours and the serial loop, for each of PARTS."""
    return [[*(OurScan(part, method) for method in METHODS), Serial(part)] for part in PARTS]


def cpu_peers():
    """(contenders of the tasks "similarity" and "counts", notes on what is missing)."""
    notes, peers = [], []
    if networkit := found("networkit", notes, INSTALL):
        peers.append(NetworKit(networkit))
    if found("scipy.sparse", notes, INSTALL):
        peers.append(SciPy())
    if found("graphblas", notes, INSTALL):
        from pipelines.benchmarks.semirings import Triangles

        peers.append(Triangles())
    return peers, notes
