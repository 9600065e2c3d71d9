"""Graph builds by us and by other libraries: the rows they are given, the builders, the checks.

A case is an edge list in some order and naming; a builder makes its library's graph of it. Checks
compare with `numpy.unique` of packed pairs, which shares no code with any builder.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from pipelines.benchmarks.contenders import INSTALL, found, igraph_graph, networkit_graph
from pipelines.benchmarks.workloads import SEED, Workload
from rapidsgraph.graph.build import build_graph
from rapidsgraph.graph.csr import row_indices

CASES = ("in order", "shuffled", "gaps", "far apart", "weighted", "undirected")


@dataclass
class Case(Workload):
    """An edge list as it is given to builders."""

    case: str = ""
    named: bool = False  # ids are names, not 0 to vertices - 1

    @cached_property
    def expected(self):
        """(names or None, sorted packed pairs of ids, first row of each if directed)."""
        xp, ends, names = self.xp, [self.source, self.destination], None
        if self.named:
            names = xp.unique(xp.concatenate(ends))
            ends = [xp.searchsorted(names, values) for values in ends]
        source, destination = (values.astype(np.int64) for values in ends)
        keys = (source << 32) | destination
        if not self.directed:
            return names, xp.unique(xp.concatenate([keys, (destination << 32) | source])), None
        return names, *xp.unique(keys, return_index=True)

    @property
    def declared(self):
        return None if self.named else super().declared


def make_case(workload, name):
    """Rows as they are, in random order, with ids 3 or 1,000,003 apart, and so on."""
    xp = workload.xp
    given = {field.name: getattr(workload, field.name) for field in fields(Workload)}
    case = Case(**given, case=name)
    if name in ("shuffled", "weighted"):
        random = np.random.default_rng(SEED)
        order = xp.asarray(random.permutation(case.rows))
        case.source, case.destination = case.source[order], case.destination[order]
        if name == "weighted":
            case.weight = xp.asarray(random.random(case.rows))
    elif name in ("gaps", "far apart"):
        step, case.named = (3 if name == "gaps" else 1_000_003), True
        case.source, case.destination = (
            values.astype(np.int64) * step + 7 for values in (case.source, case.destination)
        )
    elif name == "undirected":
        case.directed = False
    return case


class Builder:
    library, implementation, note = "", "", ""
    cases = CASES
    by = "source"  # whose lists it makes; ratios compare with ours of the same

    def __str__(self):
        return f"{self.library}, {self.implementation}"


class Ours(Builder):
    library, implementation = "rapidsgraph", "by source"

    def build(self, case):
        return case.build()

    def problem(self, case, graph):
        names, keys, first = case.expected
        if case.named and not same(case.xp.asarray(graph.vertices["vertex"]), names):
            return "wrong: other vertex names"
        lists = graph.csr
        if wrong := other_pairs(case.xp, row_indices(lists), lists.neighbors, keys):
            return wrong
        if case.weight is not None and not same(lists.weights, case.weight[first]):
            return "wrong: other weights"
        return None


class OursByDestination(Ours):
    """What rg.pagerank(frame) builds; the lists that Graph(frame) makes on first use."""

    implementation, by = "by destination", "destination"
    note = "is not told the vertices"
    cases = ("in order", "shuffled", "gaps", "far apart")

    def build(self, case):
        return build_graph(case.frame, layout="csc")

    def problem(self, case, graph):
        # No vertices were named that have no edge, so ids are places among the others.
        xp, lists = case.xp, graph.csc
        everyone = xp.unique(xp.concatenate([case.source, case.destination]))
        names = xp.asarray(graph.vertices["vertex"])
        if not same(names, everyone):
            return "wrong: other vertex names"
        pairs = lists.neighbors, row_indices(lists)
        if not case.named:
            pairs = [names[ids] for ids in pairs]
        return other_pairs(xp, *pairs, case.expected[1], sort=True)


class Matrix(Builder):
    """COO to CSR: SciPy on a CPU, CuPy on a GPU. Parallel edges are summed."""

    def __init__(self, library, sparse, by):
        self.library, self.sparse, self.by = library, sparse, by
        self.implementation = f"CSR by {by}"
        self.cases = CASES if by == "source" else ("in order", "shuffled")

    def build(self, case):
        xp, ends, vertices = case.xp, [case.source, case.destination], case.vertices
        if case.named:
            names, ids = xp.unique(xp.concatenate(ends), return_inverse=True)
            ends, vertices = [ids[: case.rows], ids[case.rows :]], names.size
        values = xp.ones(case.rows, np.float32) if case.weight is None else case.weight
        if not case.directed:
            ends = [xp.concatenate(ends), xp.concatenate(ends[::-1])]
            values = xp.concatenate([values, values])
        ends = tuple(ends) if self.by == "source" else tuple(ends[::-1])
        return self.assemble(*ends, values, vertices)

    def assemble(self, rows, columns, values, size):
        matrix = self.sparse.csr_matrix((values, (rows, columns)), shape=(size, size))
        matrix.sum_duplicates()
        return matrix

    def pairs(self, case, matrix):
        """Rows and columns of what is stored, in order."""
        places = case.xp.arange(matrix.nnz)
        rows = case.xp.searchsorted(matrix.indptr, places, side="right") - 1
        return rows, matrix.indices

    def problem(self, case, matrix):
        keys, (rows, columns) = case.expected[1], self.pairs(case, matrix)
        if self.by == "source":
            return other_pairs(case.xp, rows, columns, keys)
        return other_pairs(case.xp, columns, rows, keys, sort=True)


class GraphBLAS(Matrix):
    """GrB_Matrix_build. Parallel edges are summed, of which there are none without weights."""

    def assemble(self, rows, columns, values, size):
        graphblas = self.sparse
        matrix = graphblas.Matrix.from_coo(
            rows, columns, values, nrows=size, ncols=size, dup_op=graphblas.binary.plus
        )
        matrix.wait()
        return matrix

    def pairs(self, case, matrix):
        return matrix.to_coo(values=False, sort=True)[:2]


class Lists(Builder):
    """NetworKit and igraph: both directions at once, parallel edges kept, no names."""

    cases = ("in order", "shuffled", "weighted", "undirected")

    def __init__(self, library, make, count, note):
        self.library, self.make, self.count = library, make, count
        self.implementation, self.note = "both ways", note

    def build(self, case):
        ends = case.source, case.destination
        return self.make(*ends, case.vertices, case.weight, case.directed)

    def problem(self, case, graph):
        edges = self.count(graph)
        return None if edges == case.rows else f"wrong: {edges} edges of {case.rows} rows"


class CuGraph(Builder):
    """pylibcugraph.SGGraph from device arrays."""

    library = "cuGraph"

    def __init__(self, pylibcugraph, transpose, renumber):
        self.pylibcugraph, self.handle = pylibcugraph, pylibcugraph.ResourceHandle()
        self.transpose, self.renumber = transpose, renumber
        self.by = "destination" if transpose else "source"
        self.implementation = f"by {self.by}, {'' if renumber else 'not '}renumbered"
        self.note = "through pylibcugraph"
        named = ("gaps", "far apart")
        self.cases = [name for name in CASES if renumber or name not in named]

    def build(self, case):
        from pipelines.benchmarks.gpu import cugraph_graph

        return cugraph_graph(
            self.pylibcugraph, self.handle, case.source, case.destination,
            None if case.named else case.vertices, case.weight, renumber=self.renumber,
            transpose=self.transpose, symmetric=not case.directed,
        )  # fmt: skip

    def problem(self, case, graph):
        degrees = self.pylibcugraph.out_degrees(self.handle, graph, None, False)[1]
        edges = int(degrees.sum())
        expected = case.expected[1].size
        return None if edges == expected else f"wrong: {edges} arcs instead of {expected}"


def other_pairs(xp, rows, neighbors, keys, sort=False):
    """What differs between pairs of ids and the expected packed pairs, or None."""
    given = (rows.astype(np.int64) << 32) | neighbors.astype(np.int64)
    given = xp.sort(given) if sort else given
    if given.shape != keys.shape:
        return f"wrong: {given.size} arcs instead of {keys.size}"
    return None if same(given, keys) else "wrong: other arcs"


def same(values, others):
    return values.shape == others.shape and bool((values == others).all())


def builders(on_gpu, notes):
    """Everyone who can build here; notes name whoever is missing."""
    found_ones = [Ours(), OursByDestination()]
    if on_gpu:
        from pipelines.benchmarks.gpu import RAPIDS

        if sparse := found("cupyx.scipy.sparse", notes, "it is part of CuPy"):
            found_ones += [Matrix("cuSPARSE", sparse, by) for by in ("source", "destination")]
        if library := found("pylibcugraph", notes, RAPIDS):
            found_ones += [
                CuGraph(library, transpose, renumber)
                for transpose in (False, True)
                for renumber in (False, True)
            ]
        return found_ones
    if sparse := found("scipy.sparse", notes, INSTALL):
        found_ones += [Matrix("SciPy", sparse, by) for by in ("source", "destination")]
    if networkit := found("networkit", notes, INSTALL):
        found_ones.append(
            Lists(
                "NetworKit",
                lambda *edges: networkit_graph(networkit, *edges),
                lambda graph: graph.numberOfEdges(),
                "GraphFromCoo; parallel edges kept",
            )
        )
    if graphblas := found("graphblas", notes, INSTALL):
        found_ones.append(GraphBLAS("python-graphblas", graphblas, "source"))
    if found("igraph", notes, INSTALL):
        found_ones.append(
            Lists(
                "igraph",
                igraph_graph,
                lambda graph: graph.ecount(),
                "from lists made of the arrays; parallel edges kept",
            )
        )
    return found_ones
