"""The GPU's side of the benchmarks: RMM's pool, peak memory, and cuGraph behind our methods.

cuGraph is called through pylibcugraph, so that no dataframe layer is in the way. Everything
shares one RMM pool where RMM is there, as cuDF's users have it.
"""

from dataclasses import replace

import numpy as np

from pipelines.benchmarks.cases import other_counts, other_values
from pipelines.benchmarks.clusterers import Clusterer
from pipelines.benchmarks.contenders import (
    DAMPING,
    MOST_ITERATIONS,
    PRECISIONS,
    TOLERANCE,
    Contender,
    Matrix,
    Product,
    found,
)
from pipelines.benchmarks.searchers import CLOSE, Searcher

POOL_BYTES = 8 << 30
RAPIDS = "it comes from NVIDIA's package index or PyPI, as pylibcugraph-cu12 or -cu13"


def use_pool(notes):
    """Let RMM's pool serve CuPy and RAPIDS; "RMM pool" or, without RMM, "CuPy pool"."""
    # Before CuPy loads CUDA's libraries of its own choice, which may be too old for cuGraph's.
    found("pylibcugraph", [], RAPIDS)
    rmm = found("rmm", notes, "CuPy's own pool is used")
    if rmm is None:
        return "CuPy pool"
    try:
        import cupy
        from rmm.allocators.cupy import rmm_cupy_allocator

        size = min(POOL_BYTES, cupy.cuda.runtime.memGetInfo()[0] // 2 >> 8 << 8)
        rmm.reinitialize(pool_allocator=True, initial_pool_size=size)
        cupy.cuda.set_allocator(rmm_cupy_allocator)
    except Exception as error:  # another release of RMM may have other names
        notes.append(f"RMM's pool could not be set up ({error}); CuPy's own pool is used")
        return "CuPy pool"
    return "RMM pool"


def peak_bytes(clock, work, allocator):
    """The most device memory that `work` held above what was held before."""
    clock.synchronize()
    if allocator == "RMM pool":
        from rmm import statistics

        with statistics.statistics():
            result = work()
            clock.synchronize()
            peak = statistics.get_statistics().peak_bytes
            del result
    else:
        pool = clock.xp.get_default_memory_pool()
        pool.free_all_blocks()
        before = pool.total_bytes()
        result = work()
        clock.synchronize()
        peak = pool.total_bytes() - before
        del result
    return int(peak)


class CuGraph(Contender):
    """pylibcugraph.pagerank; `most` is low, since ranks that stand still would end a run early."""

    library, most = "cuGraph", 10
    makes_ranks = False  # its solutions are checked, not what few iterations give

    def __init__(self, pylibcugraph, precision="single", renumber=True, weighted=True):
        super().__init__("renumbered" if renumber else "not renumbered", precision)
        self.pylibcugraph, self.handle = pylibcugraph, pylibcugraph.ResourceHandle()
        self.renumber, self.weighted = renumber, weighted
        self.note = f"{'with' if weighted else 'without'} weights; through pylibcugraph"

    def prepare(self, workload):
        weights = workload.xp.ones(workload.arcs[0].size, self.value_type)
        return cugraph_graph(
            self.pylibcugraph,
            self.handle,
            *workload.arcs,
            workload.vertices,
            weights if self.weighted else None,
            renumber=self.renumber,
        )

    def iterate(self, graph, iterations):
        *ranks, converged = self.run(graph, iterations, 1e-30)
        if converged:
            raise RuntimeError(f"converged before {iterations} iterations were done")
        return ranks

    def solve(self, graph):
        *ranks, _ = self.run(graph, MOST_ITERATIONS, TOLERANCE[self.precision])
        return ranks

    def run(self, graph, iterations, epsilon):
        return self.pylibcugraph.pagerank(
            self.handle, graph, None, None, None, None, DAMPING, epsilon, iterations, False,
            fail_on_nonconvergence=False,
        )  # fmt: skip

    def by_vertex(self, answer):
        """Ranks in the order of the vertices; outside of the timed part."""
        vertices, ranks = answer
        ordered = ranks.copy()
        ordered[vertices] = ranks
        return ordered


def cugraph_graph(
    pylibcugraph,
    handle,
    sources,
    destinations,
    vertices=None,
    weights=None,
    renumber=True,
    transpose=True,
    symmetric=False,
    symmetrize=None,
):
    """A pylibcugraph.SGGraph of device arrays, with the isolated ones below `vertices` if given.

    A symmetric graph is given each edge once, unless `symmetrize` is False.
    """
    import cupy

    everyone = None if vertices is None else cupy.arange(vertices, dtype=np.int32)
    return pylibcugraph.SGGraph(
        handle,
        pylibcugraph.GraphProperties(is_symmetric=symmetric, is_multigraph=False),
        sources,
        destinations,
        weight_array=weights,
        store_transposed=transpose,
        renumber=renumber,
        do_expensive_check=False,
        vertices_array=everyone,
        symmetrize=symmetric if symmetrize is None else symmetrize,
    )


class CuGraphSearch(Searcher):
    """pylibcugraph's bfs, sssp and weakly_connected_components, which needs a symmetric graph."""

    library = "cuGraph"

    def __init__(self, pylibcugraph, handle, *arguments, renumber=True, precision="single"):
        super().__init__(*arguments, precision=precision)
        self.pylibcugraph, self.handle, self.renumber = pylibcugraph, handle, renumber
        self.symmetric_only = self.implementation == "direction-optimizing"
        sides = "symmetric" if self.task == "components" else "as given"
        self.form = (precision, renumber, sides)
        self.note = "; ".join(filter(None, [self.note, "through pylibcugraph"]))

    def prepare(self, workload):
        arcs, weights = workload.arcs, workload.arc_weights.astype(self.value_type)
        symmetric = workload.symmetric
        if self.task == "components" and not symmetric:
            arcs, weights, symmetric = replace(workload, directed=False).arcs, None, True
        return cugraph_graph(
            self.pylibcugraph,
            self.handle,
            *arcs,
            workload.vertices,
            weights,
            renumber=self.renumber,
            transpose=False,
            symmetric=symmetric,
            symmetrize=False,
        )

    def run(self, graph, workload):
        library, handle = self.pylibcugraph, self.handle
        if self.task == "components":
            return library.weakly_connected_components(handle, graph, None, None, None, None, False)
        if self.task == "sssp":
            return library.sssp(handle, graph, workload.start, np.inf, self.predecessors, False)[:2]
        start = workload.xp.asarray([workload.start], np.int32)
        distances, _, vertices = library.bfs(
            handle, graph, start, self.symmetric_only, -1, self.predecessors, False
        )
        return vertices, distances

    def by_vertex(self, answer, workload):
        vertices, values = answer
        ordered = values.copy()
        ordered[vertices] = values
        return super().by_vertex(ordered, workload)


def gpu_searchers():
    """(searchers, notes on what is missing)."""
    notes, peers = [], []
    if pylibcugraph := found("pylibcugraph", notes, RAPIDS):
        both = [pylibcugraph, pylibcugraph.ResourceHandle()]
        for way in ("top-down", "direction-optimizing"):
            peers += [CuGraphSearch(*both, "bfs", way, kept) for kept in (True, False)]
        unordered = "top-down, not renumbered"
        peers.append(CuGraphSearch(*both, "bfs", unordered, False, renumber=False))
        for precision in PRECISIONS:
            note = f"always with predecessors; distances may be off by {CLOSE[precision]:g} of them"
            peers.append(CuGraphSearch(*both, "sssp", "sssp", True, note, precision=precision))
        note = "the graph is made symmetric before"
        peers.append(CuGraphSearch(*both, "components", "weak", None, note))
    return peers, notes


class CuGraphJaccard(Clusterer):
    """pylibcugraph.jaccard_coefficients of every edge: common neighbors by those of either end.

    Here an end is no neighbor of itself, so it is no SCAN similarity, but the same work.
    """

    library = "cuGraph"

    def __init__(self, pylibcugraph, handle):
        note = "open neighborhoods; through pylibcugraph"
        super().__init__("similarity", "Jaccard", note, "single")
        self.pylibcugraph, self.handle = pylibcugraph, handle

    def start(self, case):
        library, handle = self.pylibcugraph, self.handle

        def make():
            return cugraph_graph(
                library,
                handle,
                case.rows,
                case.lists.neighbors,
                case.workload.vertices,
                transpose=False,
                symmetric=True,
                symmetrize=False,
            )

        graph = case.kept("cuGraph", make)
        return lambda: library.jaccard_coefficients(handle, graph, *case.ends, False, False)

    def problem(self, case, answer):
        """Newer releases give the pairs, too, and need not keep their order."""
        xp, (first, second) = case.xp, case.ends
        triangles = (case.common[case.is_first] - 2).astype(np.float64)
        truth = triangles / (case.degrees[first] + case.degrees[second] - triangles)
        if isinstance(answer, tuple):
            low, high = xp.minimum(*answer[:2]), xp.maximum(*answer[:2])
            keys = low.astype(np.int64) << 32 | high
            order = xp.argsort(keys)
            if wrong := other_counts(keys[order], first.astype(np.int64) << 32 | second):
                return wrong.replace("counts", "pairs")
            answer = answer[2][order]
        return other_values(answer, truth, self.precision)


def gpu_counters():
    """(contenders of the tasks "similarity" and "counts", notes on what is missing)."""
    notes, peers = [], []
    if pylibcugraph := found("pylibcugraph", notes, RAPIDS):
        peers.append(CuGraphJaccard(pylibcugraph, pylibcugraph.ResourceHandle()))
    return peers, notes


def gpu_peers():
    """(contenders, notes on what is missing)."""
    notes, peers = [], []
    if sparse := found("cupyx.scipy.sparse", notes, "it is part of CuPy"):
        cusparse = found("cupyx.cusparse", notes, "it is part of CuPy")
        if cusparse is not None:
            pairs = [(kind, precision) for precision in PRECISIONS for kind in (Matrix, Product)]
            peers += [kind("cuSPARSE", sparse, of, cusparse.spmv) for kind, of in pairs]
        for peer in peers:
            peer.note += "; SpMV through CuPy"
    if pylibcugraph := found("pylibcugraph", notes, RAPIDS):
        peers += [
            CuGraph(pylibcugraph, renumber=renumber, weighted=weighted)
            for renumber in (True, False)
            for weighted in (True, False)
        ]
        peers.append(CuGraph(pylibcugraph, "double"))
    return peers, notes
