"""PageRank by us and by CPU libraries, each behind the same few methods.

Means: `prepare(workload)` makes what the library ranks, `iterate(state, k)` runs exactly k
  iterations, `solve(state)` runs until the ranks stand still; both return ranks by vertex.
  A library without a count of iterations has `counts = False` and only solves.
Requires: SciPy, igraph, NetworKit, python-graphblas and NetworkX where they are wanted; whatever is
  missing is named.
All follow the same definition: damping 0.85, sinks spread evenly, ranks that sum to 1.
"""

import importlib
import operator

import numpy as np

import rapidsgraph as rg

METHODS = ("auto", "edge", "node", "contribution", "warp")
PRECISIONS = {"double": np.float64, "single": np.float32}
DAMPING = 0.85
# Where a solution stops: total change (L1) of one iteration. And how far, in total, an answer may
# be from the ranks that rapidsgraph.verify has passed.
TOLERANCE = {"double": 1e-10, "single": 1e-6}
DISTANCE = {"double": 1e-8, "single": 1e-4}
MOST_ITERATIONS = 1000
INSTALL = "pip install '.[benchmark]'"
MOST_LINKED = 1_000_000  # arcs; NetworkX's graph is made of dicts


class Contender:
    """What all of them share."""

    library, note, counts, most = "", "", True, 1000
    makes_ranks = True  # of each count of iterations
    most_arcs, made_of = None, ""  # larger graphs are left out, for they are made of these

    def __init__(self, implementation, precision="double"):
        self.implementation, self.precision = implementation, precision

    def __str__(self):
        return f"{self.library}, {self.implementation}, {self.precision}"

    @property
    def value_type(self):
        return PRECISIONS[self.precision]

    def about(self):
        """What records say of it."""
        names = ("library", "implementation", "precision", "note")
        return {name: getattr(self, name) for name in names}

    def reason_against(self, workload):
        """Why the graph is left out, or None."""
        arcs = workload.arcs[0].size
        if self.most_arcs and arcs > self.most_arcs:
            most = f"more than {self.most_arcs:,}; it is built from Python {self.made_of}"
            return f"the graph has {arcs:,} arcs, {most}"
        return None

    def state(self, workload):
        """What iterate and solve take."""
        return self.prepare(workload)

    def by_vertex(self, answer):
        """An answer's ranks in the order of the vertices."""
        return answer


class Ours(Contender):
    """One of rapidsgraph's methods; all of them share a graph, and keep its layout once made."""

    library = "rapidsgraph"

    def __init__(self, method, precision, launch=None):
        name = method if launch is None else f"{method}, launch {launch[0]} x {launch[1]}"
        super().__init__(name, precision)
        self.options = {"method": method, "precision": precision, "launch": launch}

    def prepare(self, workload):
        return workload.build()

    def state(self, workload):
        return workload.graph

    def iterate(self, graph, iterations):
        return self.rank(graph, tolerance=0, max_iterations=iterations)["pagerank"]

    def solve(self, graph):
        limits = {"tolerance": TOLERANCE[self.precision], "max_iterations": MOST_ITERATIONS}
        return self.rank(graph, **limits)["pagerank"]

    def rank(self, graph, **limits):
        return rg.pagerank(graph, damping=DAMPING, progress=False, **self.options, **limits)


class Matrix(Contender):
    """Iterations over a CSR matrix: SciPy's on a CPU, cuSPARSE through CuPy on a GPU.

    `product(matrix, values)` is the library's; the operator of CuPy may take another library's.
    """

    def __init__(self, library, sparse, precision, product=operator.matmul):
        super().__init__("CSR loop", precision)
        self.library, self.sparse, self.product = library, sparse, product
        self.note = "product, sinks, teleport, change"

    def prepare(self, workload):
        """(P, sinks): column u of P holds 1 / out-degree(u) at the vertices that u points to."""
        xp, vertices = workload.xp, workload.vertices
        sources, destinations = workload.arcs
        degrees = xp.bincount(sources, minlength=vertices)
        shares = (1 / xp.maximum(degrees, 1))[sources].astype(self.value_type)
        matrix = self.sparse.csr_matrix(
            (shares, (destinations, sources)), shape=(vertices, vertices)
        )
        matrix.sum_duplicates()  # there are none, which cuSPARSE's product wants to know
        return matrix, xp.flatnonzero(degrees == 0), xp

    def iterate(self, state, iterations):
        return self.loop(state, iterations, 0)

    def solve(self, state):
        return self.loop(state, MOST_ITERATIONS, TOLERANCE[self.precision])

    def loop(self, state, iterations, tolerance):
        matrix, sinks, xp = state
        vertices = matrix.shape[0]
        ranks = xp.full(vertices, 1 / vertices, self.value_type)
        for _ in range(iterations):
            new_ranks = self.product(matrix, ranks)
            new_ranks *= DAMPING
            new_ranks += (DAMPING * ranks[sinks].sum() + (1 - DAMPING)) / vertices
            change = xp.abs(new_ranks - ranks).sum()
            ranks = new_ranks
            if tolerance and change < tolerance:
                break
        return ranks


class Product(Matrix):
    """The bare product of that matrix and a vector, which alone makes no PageRank."""

    makes_ranks = False

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.implementation, self.note = "CSR product", "the product alone; checked with the loop"

    def iterate(self, state, iterations):
        matrix, _, xp = state
        ranks = xp.full(matrix.shape[0], 1 / matrix.shape[0], self.value_type)
        for _ in range(iterations):
            ranks = self.product(matrix, ranks)
        return ranks


class NetworKit(Contender):
    library = "NetworKit"

    def __init__(self, networkit):
        super().__init__("PageRank")
        self.networkit = networkit
        self.note = f"{networkit.getMaxNumberOfThreads()} threads"

    def prepare(self, workload):
        return networkit_graph(self.networkit, *workload.arcs, workload.vertices)

    def iterate(self, graph, iterations):
        return self.run(graph, iterations, -1.0)  # no change is below it, not even none

    def solve(self, graph):
        return self.run(graph, MOST_ITERATIONS, TOLERANCE["double"])

    def run(self, graph, iterations, tolerance):
        centrality = self.networkit.centrality
        spread = centrality.SinkHandling.DistributeSinks
        ranking = centrality.PageRank(graph, DAMPING, tolerance, distributeSinks=spread)
        ranking.norm, ranking.maxIterations = centrality.Norm.L1_NORM, iterations
        ranking.run()
        return np.asarray(ranking.scores())


class Igraph(Contender):
    library, counts = "igraph", False

    def __init__(self, igraph):
        super().__init__("PRPACK")
        self.note = "counts no iterations, so only a whole solution can be timed"

    def prepare(self, workload):
        return igraph_graph(*workload.arcs, workload.vertices)

    def solve(self, graph):
        return np.asarray(graph.pagerank(damping=DAMPING, implementation="prpack"))


class NetworkX(Contender):
    library, counts, most_arcs, made_of = "NetworkX", False, MOST_LINKED, "dicts"

    def __init__(self, networkx):
        super().__init__("pagerank")
        self.networkx = networkx
        self.note = "makes a SciPy matrix in each call; raises where iterations are used up"

    def prepare(self, workload):
        return networkx_graph(self.networkx, *workload.arcs, workload.vertices)

    def solve(self, graph):
        least = TOLERANCE["double"] / max(graph.number_of_nodes(), 1)  # it takes that of a vertex
        ranks = self.networkx.pagerank(graph, DAMPING, max_iter=MOST_ITERATIONS, tol=least)
        return np.fromiter(ranks.values(), np.float64, len(ranks))


def networkit_graph(networkit, sources, destinations, vertices, weights=None, directed=True):
    """From arrays, its fastest way; it takes 64-bit ids and crashes on others."""
    ends = sources.astype(np.int64), destinations.astype(np.int64)
    given = ends if weights is None else (weights, ends)
    build = networkit.graph.GraphFromCoo
    return build(given, n=vertices, weighted=weights is not None, directed=directed)


def igraph_graph(sources, destinations, vertices, weights=None, directed=True):
    """From lists, its fastest way; arrays take it longer."""
    import igraph

    edges = list(zip(sources.tolist(), destinations.tolist()))
    graph = igraph.Graph(n=vertices, edges=edges, directed=directed)
    if weights is not None:
        graph.es["weight"] = weights.tolist()
    return graph


def networkx_graph(networkx, sources, destinations, vertices, weights=None, directed=True):
    """With the vertices in the order of their ids."""
    graph = networkx.DiGraph() if directed else networkx.Graph()
    graph.add_nodes_from(range(vertices))
    ends = sources.tolist(), destinations.tolist()
    if weights is None:
        graph.add_edges_from(zip(*ends))
    else:
        graph.add_weighted_edges_from(zip(*ends, weights.tolist()))
    return graph


def found(name, notes, why):
    """A module, or None and a note that names what is missing."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a broken installation raises whatever it likes
        notes.append(f"{name} is left out: it cannot be imported ({error}); {why}")
        return None


def taking(contenders, workload, notes):
    """Those that take the graph; notes say who does not, and why."""
    taken = []
    for one in contenders:
        if why := one.reason_against(workload):
            who = f"{workload.name}: {one.library}'s {one.implementation}"
            notes.append(f"{who} is left out, {why}")
        else:
            taken.append(one)
    return taken


def ours(methods=METHODS, on_gpu=False):
    """Every method in both precisions; on a GPU also Kim's launch for Kim's two methods."""
    contenders = [Ours(method, precision) for precision in PRECISIONS for method in methods]
    if on_gpu:
        contenders += [Ours(method, "single", (1000, 1000)) for method in ("edge", "node")]
    return contenders


def cpu_peers():
    """(contenders, notes on what is missing)."""
    notes, peers = [], []
    if sparse := found("scipy.sparse", notes, INSTALL):
        kinds = (Matrix, Product)
        peers += [kind("SciPy", sparse, precision) for precision in PRECISIONS for kind in kinds]
        for peer in peers:
            peer.note += "; one thread"
    if networkit := found("networkit", notes, INSTALL):
        peers.append(NetworKit(networkit))
    if igraph := found("igraph", notes, INSTALL):
        peers.append(Igraph(igraph))
    if found("graphblas", notes, INSTALL):
        from pipelines.benchmarks.semirings import Ranks

        peers += [Ranks(precision) for precision in PRECISIONS]
    if networkx := found("networkx", notes, INSTALL):
        peers.append(NetworkX(networkx))
    return peers, notes
