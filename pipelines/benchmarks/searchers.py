"""BFS, SSSP and weak components by us and by CPU libraries, each behind the same few methods.

Means: `prepare(workload)` makes the library's graph, once for all searchers of one library and
  `form`; `run(graph, workload)` is what is timed; `by_vertex(answer, workload)` turns that,
  untimed, into distances (float64, infinity where unreached) or labels of components.
Requires: SciPy, igraph, NetworKit, python-graphblas and NetworkX where they are wanted; whatever is
  missing is named.
"""

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks.contenders import (
    INSTALL,
    MOST_LINKED,
    Contender,
    found,
    igraph_graph,
    networkit_graph,
    networkx_graph,
)

TASKS = ("bfs", "sssp", "components")
# How far from ours a peer's distance may be, as a share of it. BFS counts: there it is the same.
CLOSE = {"double": 1e-9, "single": 1e-4}
MOST_LISTED = 8_000_000  # arcs; igraph's graph is made of Python lists


class Searcher(Contender):
    """One way in which one library does one task; `predecessors` is None for components."""

    form, made_of, symmetric_only = "", "lists", False

    def __init__(self, task, implementation, predecessors=None, note="", precision="double"):
        super().__init__(implementation, precision)
        self.task, self.predecessors, self.note = task, predecessors, note

    def __str__(self):
        gives = {None: "components", True: "predecessors", False: "distances"}[self.predecessors]
        return f"{self.task}, {super().__str__()}, {gives}"

    def about(self):
        return super().about() | {"predecessors": self.predecessors}

    def reason_against(self, workload):
        why = super().reason_against(workload)
        if why is None and self.symmetric_only and not workload.symmetric:
            why = "not every arc goes both ways"
        return why

    @property
    def method(self):
        """What runs, whether it keeps predecessors or not."""
        return self.library, self.implementation, self.precision

    def by_vertex(self, answer, workload):
        """Unreached vertices, which have the greatest number of a type, become infinitely far."""
        answer = workload.xp.asarray(answer)
        if self.task == "components":
            return answer
        limits = np.finfo if answer.dtype.kind == "f" else np.iinfo
        return workload.xp.where(answer < limits(answer.dtype).max, answer, np.inf)


class Ours(Searcher):
    library = "rapidsgraph"

    def __init__(self, task, predecessors=None):
        names = {"components": "connected_components"}
        super().__init__(task, names.get(task, task), predecessors)

    def prepare(self, workload):
        return workload.build()

    def run(self, graph, workload):
        if self.task == "components":
            return rg.connected_components(graph)
        search = rg.bfs if self.task == "bfs" else rg.sssp
        return search(graph, workload.start, predecessors=self.predecessors)

    def from_frame(self, workload):
        """The same from the rows; only a Graph can be told that they have no direction."""
        rows_do = workload.directed or self.task == "components"
        return self.run(workload.frame if rows_do else workload.build(), workload)

    def by_vertex(self, answer, workload):
        if self.task == "components":
            return super().by_vertex(answer["component"], workload)
        distances = answer["distance"]
        if hasattr(distances, "fillna"):  # a Series; in BFS it has nulls
            distances = distances.astype(np.float64).fillna(np.inf).values
        distances = workload.xp.asarray(distances).astype(np.float64)
        return workload.xp.where(distances < 0, np.inf, distances)  # arrays have no nulls


class SciPy(Searcher):
    library = "SciPy"

    def prepare(self, workload):
        from scipy import sparse

        shape = (workload.vertices, workload.vertices)
        return sparse.csr_matrix((workload.arc_weights, workload.arcs), shape=shape)

    def run(self, matrix, workload):
        from scipy.sparse import csgraph

        if self.task == "bfs":
            return csgraph.breadth_first_order(matrix, workload.start)
        if self.task == "sssp":
            kept = self.predecessors
            answer = csgraph.dijkstra(matrix, indices=workload.start, return_predecessors=kept)
            return answer[0] if kept else answer
        kind = {"connection": "weak"} if workload.directed else {"directed": False}
        return csgraph.connected_components(matrix, **kind)[1]

    def by_vertex(self, answer, workload):
        answer = depths(*answer) if self.task == "bfs" else answer
        return super().by_vertex(answer, workload)


def depths(order, predecessors):
    """Steps from the first of `order` to each vertex of a tree.

    Each vertex looks twice as far back in every round, until all look at the first.
    """
    below, back = order[1:], np.arange(predecessors.size)
    back[below] = predecessors[below]
    steps = np.full(back.size, np.inf)
    steps[order[0]], steps[below] = 0, 1
    for _ in range(back.size.bit_length()):
        steps[below] += steps[back[below]]
        back = back[back]
    return steps


class NetworKit(Searcher):
    library = "NetworKit"

    def __init__(self, networkit, *arguments):
        super().__init__(*arguments)
        self.networkit = networkit

    def prepare(self, workload):
        ends, weights = edges_once(workload)
        return networkit_graph(self.networkit, *ends, workload.vertices, weights, workload.directed)

    def run(self, graph, workload):
        if self.task == "components":
            weak = "WeaklyConnectedComponents" if workload.directed else "ConnectedComponents"
            search = getattr(self.networkit.components, weak)(graph)
            search.run()
            return np.asarray(search.getPartition().getVector())
        kind = getattr(self.networkit.distance, self.implementation)
        search = kind(graph, workload.start, storePaths=self.predecessors)
        search.run()
        return np.asarray(search.getDistances(asarray=True))


class Igraph(Searcher):
    library, most_arcs = "igraph", MOST_LISTED

    def prepare(self, workload):
        ends, weights = edges_once(workload)
        return igraph_graph(*ends, workload.vertices, weights, workload.directed)

    def run(self, graph, workload):
        if self.task == "components":
            return graph.connected_components(mode="weak").membership
        if self.predecessors:
            return graph.bfs(workload.start)
        weights = "weight" if self.task == "sssp" else None
        return graph.distances(source=workload.start, weights=weights)[0]

    def by_vertex(self, answer, workload):
        if self.predecessors:
            order, starts, _ = answer
            answer = np.full(workload.vertices, np.inf)
            answer[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return super().by_vertex(answer, workload)


class NetworkX(Searcher):
    library, most_arcs, made_of = "NetworkX", MOST_LINKED, "dicts"

    def __init__(self, networkx, *arguments):
        super().__init__(*arguments)
        self.networkx = networkx

    def prepare(self, workload):
        ends, weights = edges_once(workload)
        size, directed = workload.vertices, workload.directed
        return networkx_graph(self.networkx, *ends, size, weights, directed)

    def run(self, graph, workload):
        search = getattr(self.networkx, self.implementation)
        if self.task == "components":
            weak = self.networkx.weakly_connected_components
            return list(weak(graph) if workload.directed else search(graph))
        return search(graph, workload.start)

    def by_vertex(self, answer, workload):
        values = np.full(workload.vertices, np.inf)
        if self.task == "components":
            for label, members in enumerate(answer):
                values[list(members)] = label
            return values
        values[list(answer)] = list(answer.values())
        return super().by_vertex(values, workload)


def edges_once(workload):
    """((sources, destinations), weights), each edge once where there is no direction."""
    (sources, destinations), weights = workload.arcs, workload.arc_weights
    if workload.directed:
        return (sources, destinations), weights
    keep = sources <= destinations
    return (sources[keep], destinations[keep]), weights[keep]


def ours():
    searches = [Ours(task, kept) for task in ("bfs", "sssp") for kept in (True, False)]
    return [*searches, Ours("components")]


def cpu_peers():
    """(searchers, notes on what is missing)."""
    notes, peers, alone = [], [], "one thread"
    if found("scipy.sparse.csgraph", notes, INSTALL):
        gives = f"gives order and predecessors, from which the check takes distances; {alone}"
        peers += [
            SciPy("bfs", "breadth_first_order", True, gives),
            SciPy("sssp", "dijkstra", True, alone),
            SciPy("sssp", "dijkstra", False, alone),
            SciPy("components", "connected_components", None, alone),
        ]
    if networkit := found("networkit", notes, INSTALL):
        for kept, note in ((True, f"storePaths: all shortest paths; {alone}"), (False, alone)):
            peers.append(NetworKit(networkit, "bfs", "BFS", kept, note))
            peers.append(NetworKit(networkit, "sssp", "Dijkstra", kept, note))
        peers.append(NetworKit(networkit, "components", "ConnectedComponents", None, alone))
    if found("igraph", notes, INSTALL):
        gives = f"gives order, levels and parents, from which the check takes distances; {alone}"
        peers += [
            Igraph("bfs", "bfs", True, gives),
            Igraph("bfs", "distances", False, alone),
            Igraph("sssp", "distances", False, f"gives no predecessors; {alone}"),
            Igraph("components", "connected_components", None, alone),
        ]
    if found("graphblas", notes, INSTALL):
        from pipelines.benchmarks.semirings import searches

        peers += searches()
    if networkx := found("networkx", notes, INSTALL):
        peers += [
            NetworkX(networkx, "bfs", "single_source_shortest_path_length", False, alone),
            NetworkX(networkx, "sssp", "single_source_dijkstra_path_length", False, alone),
            NetworkX(networkx, "components", "connected_components", None, alone),
        ]
    return peers, notes
