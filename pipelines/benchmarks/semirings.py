"""python-graphblas behind the methods of our contenders: PageRank, searches, common neighbors.

Means: each algorithm is written in its own terms, products over semirings, as LAGraph has them.
Requires: python-graphblas, and SuiteSparse:GraphBLAS beneath, which takes all threads.
References: Szarnyas et al., LAGraph, 2021: PageRank_GAP, BreadthFirstSearch (push and pull),
  ConnectedComponents (Zhang, Azad and Hu, FastSV, 2020).
"""

import graphblas
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, replace, semiring, unary

from pipelines.benchmarks.clusterers import MOST_COMPARED, Clusterer, other_triangles
from pipelines.benchmarks.contenders import DAMPING, MOST_ITERATIONS, TOLERANCE, Contender
from pipelines.benchmarks.searchers import Searcher, depths

LIBRARY = "python-graphblas"
PULL = 16  # a frontier of more than this part of all vertices is pulled into, not pushed from


def threads():
    return f"{graphblas.ss.config['nthreads']} threads"


def pattern(rows, columns, size, kind=bool):
    """A matrix of ones, whose one value is stored once."""
    return Matrix.from_coo(rows, columns, kind(1), nrows=size, ncols=size, dtype=kind)


class Ranks(Contender):
    library = LIBRARY

    def __init__(self, precision):
        super().__init__("semiring loop", precision)
        self.note = f"plus_second; product, sinks, teleport, change; {threads()}"

    def prepare(self, workload):
        """(lists by destination, damping by out-degree, sinks)."""
        (sources, destinations), size = workload.arcs, workload.vertices
        degrees = np.bincount(sources, minlength=size)
        givers, sinks = np.flatnonzero(degrees), np.flatnonzero(degrees == 0)
        shares = (DAMPING / degrees[givers]).astype(self.value_type)
        return (
            pattern(destinations, sources, size, self.value_type),
            Vector.from_coo(givers, shares, size=size),
            Vector.from_coo(sinks, self.value_type(1), size=size, dtype=self.value_type),
        )

    def iterate(self, state, iterations):
        return self.loop(state, iterations, 0)

    def solve(self, state):
        return self.loop(state, MOST_ITERATIONS, TOLERANCE[self.precision])

    def loop(self, state, iterations, tolerance):
        matrix, shares, sinks = state
        size = matrix.nrows
        ranks = Vector.from_dense(np.full(size, 1 / size, self.value_type))
        for _ in range(iterations):
            given = ranks.ewise_mult(shares, binary.times).new()
            lost = ranks.ewise_mult(sinks, binary.first).reduce(monoid.plus).new().value or 0
            new_ranks = Vector(self.value_type, size)
            new_ranks[:] << (DAMPING * lost + 1 - DAMPING) / size
            new_ranks(binary.plus) << matrix.mxv(given, semiring.plus_second)
            apart = new_ranks.ewise_mult(ranks, binary.minus).apply(unary.abs)
            change = apart.new().reduce(monoid.plus).new().value
            ranks = new_ranks
            if tolerance and change < tolerance:
                break
        return ranks

    def by_vertex(self, answer):
        return answer.to_dense()


class Search(Searcher):
    """A task's products; the matrices of one task serve all of its searchers."""

    library = LIBRARY

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.form = self.task
        self.note = "; ".join(filter(None, [self.note, threads()]))


class Levels(Search):
    """BFS: a frontier pushes to its neighbors, or where it is large they pull from it."""

    def prepare(self, workload):
        """(lists by source, lists by destination)."""
        arcs, size = workload.arcs, workload.vertices
        by_source = pattern(*arcs, size)
        return by_source, by_source if workload.symmetric else pattern(*arcs[::-1], size)

    def run(self, graph, workload):
        by_source, by_destination = graph
        size, start = workload.vertices, workload.start
        # What is found is the parent, or else the level; a frontier has its own ids, or ones.
        kind = np.int64 if self.predecessors else bool
        step = semiring.ss.any_secondi if self.predecessors else semiring.any_pair
        found, frontier = Vector(np.int64, size), Vector(kind, size)
        found[start], frontier[start] = (start, start) if self.predecessors else (0, True)
        for level in range(1, size + 1):
            if frontier.nvals * PULL > size:
                frontier(~found.S, replace) << by_destination.mxv(frontier, step)
            else:
                frontier(~found.S, replace) << frontier.vxm(by_source, step)
            if frontier.nvals == 0:
                break
            found(frontier.S) << (frontier if self.predecessors else level)
        found.wait()
        return found

    def by_vertex(self, answer, workload):
        values = answer.to_dense(-1)
        if self.predecessors:
            below = np.flatnonzero(values >= 0)
            below = below[below != workload.start]
            return depths(np.concatenate([[workload.start], below]), values)
        return np.where(values < 0, np.inf, values)


class BellmanFord(Search):
    """SSSP: vertices whose distance fell give their neighbors new ones, until none falls."""

    def reason_against(self, workload):
        why = super().reason_against(workload)
        if why is None and workload.is_road:
            why = "it takes a product for each edge of the longest way, and roads are long"
        return why

    def prepare(self, workload):
        size = workload.vertices
        return Matrix.from_coo(*workload.arcs, workload.arc_weights, nrows=size, ncols=size)

    def run(self, matrix, workload):
        distances = Vector(np.float64, matrix.nrows)
        distances[workload.start] = 0.0
        fallen = distances.dup()
        while fallen.nvals:
            offered = fallen.vxm(matrix, semiring.min_plus).new()
            no_better = offered.ewise_mult(distances, binary.ge).new()
            fallen(~no_better.V, replace) << offered
            distances(binary.min) << fallen
        distances.wait()
        return distances

    def by_vertex(self, answer, workload):
        return answer.to_dense(np.inf)


class FastSV(Search):
    """Components: vertices and what they point to hook on to the least of their neighbors'."""

    def prepare(self, workload):
        both = pattern(*workload.arcs, workload.vertices)
        if not workload.symmetric:
            both << both.ewise_add(both.T, monoid.lor)
        return both

    def run(self, matrix, workload):
        size = matrix.nrows
        every = np.arange(size + 1)
        parents = Vector.from_dense(every[:size])
        grandparents, least = parents.dup(), parents.dup()
        while True:
            least(binary.min) << matrix.mxv(grandparents, semiring.min_second)
            to_parents = Matrix.from_csr(every, parents.to_dense(), True, ncols=size, dtype=bool)
            parents(binary.min) << least.vxm(to_parents, semiring.min_first)
            parents(binary.min) << least
            parents(binary.min) << grandparents
            before, grandparents = grandparents, parents[parents.to_dense()].new()
            if grandparents.isequal(before):
                return grandparents

    def by_vertex(self, answer, workload):
        return answer.to_dense()


class Triangles(Clusterer):
    """Triangles of every edge: a product masked by the edges, of which zeros are left out."""

    library = LIBRARY

    def __init__(self):
        super().__init__("counts", "plus_pair(A @ A.T), masked", threads())
        self.most_steps = MOST_COMPARED

    def start(self, case):
        def make():
            size, (first, second) = case.workload.vertices, case.ends
            both = pattern(case.rows, case.lists.neighbors, size, np.int32)
            return both, pattern(second, first, size)

        both, edges = case.kept(LIBRARY, make)

        def count():
            triangles = Matrix(np.int32, both.nrows, both.ncols)
            triangles(edges.S) << both.mxm(both.T, semiring.plus_pair)
            triangles.wait()
            return triangles

        return count

    def problem(self, case, answer):
        return other_triangles(case, ~case.is_first, *answer.to_coo())


def searches():
    tree = "gives parents, from which the check takes distances"
    return [
        Levels("bfs", "push and pull", True, tree),
        Levels("bfs", "push and pull", False),
        BellmanFord("sssp", "Bellman-Ford", False, "gives no predecessors"),
        FastSV("components", "FastSV", None),
    ]
