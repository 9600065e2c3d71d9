"""Graph: vertex names, adjacency lists by source and by destination, weights, the build report.

Means: an edge frame, checked once, with its policies applied, ready for sweeps.
Requires: nothing; what the frame lacks is an error that names it.
The lists are sorted by neighbor, so results do not depend on the order of rows. One direction is
built from the frame, the other from it on first use; without direction both are the same lists.
"""

from functools import cached_property

from .. import device
from ..validation import MAX_VERTICES, check_free_memory, check_vertices
from . import weight_sums
from .build_memory import build_bytes, csr_build_bytes, merge_bytes, name_column_stats
from .csr import from_coo, row_indices, symmetrize, transpose
from .edge_frame import check_policies, read_columns
from .labeling import Labeling
from .report import BuildReport
from .vertex_names import name_vertices


class LocalGraph(Labeling):
    """A graph in the memory of one process: the storage of `Graph` on one CPU or GPU.

    The parameters and attributes are those of `Graph`. Adjacency is sorted by neighbor, so results
    do not depend on the order of rows. One direction is built from the edges, the other one from
    it on first use; of an undirected graph both are the same arrays.
    """

    def __init__(
        self,
        edges,
        source="source",
        destination="destination",
        weight=None,
        *,
        directed=True,
        multi_edges="first",
        self_loops="keep",
        vertices=None,
    ):
        self._load(edges, source, destination, weight, directed, multi_edges, self_loops, vertices)
        self._build("csr")

    @classmethod
    def for_sweep(cls, edges, direction):
        """A directed graph of an edge frame with default policies, lists of `direction` first."""
        graph = object.__new__(cls)
        graph._load(edges, "source", "destination", None, True, "first", "keep", None)
        graph._build(direction)
        return graph

    @classmethod
    def of_lists(
        cls, named, lists, direction, directed, weighted, multi_edges, self_loops, rows, dropped
    ):
        """A graph of lists of one direction, built elsewhere under these policies."""
        graph = object.__new__(cls)
        graph._take_names(named)
        graph.directed, graph.weighted, graph._cache = directed, weighted, {}
        graph._multi_edges, graph._self_loops = multi_edges, self_loops
        graph._ends = graph._weights = None
        graph.num_arcs = graph.num_edges = lists.neighbors.size
        if not directed:
            loops = int((row_indices(lists) == lists.neighbors).sum())
            graph.num_edges = (graph.num_arcs + loops) // 2
        graph._rows, graph._loops_dropped = rows, dropped
        graph._merged = rows - dropped - graph.num_edges
        graph.__dict__["csr" if not directed else direction] = lists
        return graph

    def _load(
        self, edges, source, destination, weight, directed, multi_edges, self_loops, vertices
    ):
        check_policies(directed, multi_edges, self_loops)
        self.directed, self._multi_edges, self._self_loops = directed, multi_edges, self_loops
        columns = read_columns(edges, source, destination, weight, multi_edges)
        self._rows, self._weights, self.xp = columns.rows, columns.weights, columns.xp
        self._name_as(columns)
        if (
            isinstance(vertices, range)
            and 0 < vertices.start < vertices.stop <= vertices.start + MAX_VERTICES
        ):
            names = name_column_stats(columns.sources, columns.destinations)
            self._check_memory(names, len(vertices))
        extra = check_vertices(vertices, len(columns.sources), self._labels, self.xp)
        # The number of vertices is known once they are named; until then, what is sure.
        names = name_column_stats(columns.sources, columns.destinations, extra)
        self._check_memory(names, len(extra) if isinstance(extra, range) else 0)
        self.names, *self._ends = name_vertices(
            columns.sources, columns.destinations, extra, self._labels, self.xp, self._check_table
        )
        needed = csr_build_bytes(
            self._rows, self.num_vertices, weighted=self._weights is not None, directed=directed,
            multi_edges=multi_edges, self_loops=self_loops, xp=self.xp,
        )  # fmt: skip
        check_free_memory(self._building, needed, self.xp)

    def _check_memory(self, names, vertices):
        needed = build_bytes(
            self._rows, vertices, weighted=self._weights is not None, directed=self.directed,
            columns=names, multi_edges=self._multi_edges, self_loops=self._self_loops, xp=self.xp,
        )  # fmt: skip
        check_free_memory(self._building, needed, self.xp)

    def _check_table(self, count, nbytes):
        """Raise InsufficientMemoryError where a table of names would not fit."""
        needed = merge_bytes("arrow" if nbytes else "hash", count, nbytes)
        check_free_memory(self._building, needed, self.xp)

    @property
    def _building(self):
        return f"building a graph of {self._rows:,} rows"

    def _build(self, direction):
        (source, destination), weights = self._ends, self._weights
        self._ends = self._weights = None
        self.weighted = weights is not None
        if self._self_loops == "drop":
            keep = source != destination
            if not bool(keep.all()):
                source, destination = source[keep], destination[keep]
                weights = weights[keep] if self.weighted else None
        rows = source.size
        self._loops_dropped, self._cache = self._rows - rows, {}
        if self._multi_edges == "sum":  # in 64 bits, and in floating point what those cannot hold
            if self.weighted:
                total = weight_sums.sum_exactly(weights) if weights.dtype.kind == "i" else None
                weights = weights.astype(weight_sums.sum_type(total), copy=False)
            else:
                weights, self.weighted = self.xp.ones(rows), True
        if not self.directed:
            pairs = [self.xp.minimum(source, destination), self.xp.maximum(source, destination)]
        else:
            pairs = [source, destination] if direction == "csr" else [destination, source]
        pairs.append(weights)
        del source, destination, weights
        lists = from_coo(pairs, self.num_vertices, self._multi_edges)
        if self._multi_edges == "sum":
            weight_sums.check_merged_weights(lists, self)
        self.num_edges = lists.neighbors.size
        self._merged = rows - self.num_edges
        lists = lists if self.directed else symmetrize(lists)
        self.num_arcs = lists.neighbors.size
        self.__dict__[direction] = lists  # the place of the cached property of that name

    @cached_property
    def csr(self):
        """Adjacency by source (CSR)."""
        return self.csc if not self.directed else transpose(self.csc)

    @cached_property
    def csc(self):
        """Adjacency by destination (CSC)."""
        return self.csr if not self.directed else transpose(self.csr)

    @cached_property
    def out_degrees(self):
        """How many arcs leave each vertex: float64, shape (vertices,)."""
        if "csr" in self.__dict__ or not self.directed:
            return self.xp.diff(self.csr.offsets).astype(self.xp.float64)
        return self._sum_by_source(self.xp.empty(0), False)

    @cached_property
    def out_weights(self):
        """The weight that leaves each vertex, or its out-degree: float64, shape (vertices,)."""
        if not self.weighted:
            return self.out_degrees
        return self._sum_by_source(self.csc.weights, True)

    @cached_property
    def total_weight(self):
        """Of all arcs, which no path exceeds; infinite where it is beyond double precision."""
        return weight_sums.total_weight(self.built[0].weights)

    def _sum_by_source(self, weights, weighted):
        sums, sources = self.xp.zeros(self.num_vertices), self.csc.neighbors
        device.launch(
            "build", "sum_by_key", size=sources.size,
            num_items=sources.size, keys=sources, weights=weights, weighted=weighted, sums=sums,
        )  # fmt: skip
        return sums

    def cached(self, key, make):
        """What an algorithm makes of the graph and may need again, made once."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    @property
    def built(self):
        """The Adjacency of each direction that has been built so far."""
        return [self.__dict__[name] for name in ("csr", "csc") if name in self.__dict__]

    @property
    def is_merged(self):
        """Whether there are no parallel edges, since the build has merged them."""
        return self._multi_edges != "keep"

    @property
    def is_loopless(self):
        """Whether there are no self-loops, since the build has dropped them."""
        return self._self_loops == "drop"

    @property
    def vertices(self):
        return self.vertex_frame({})

    @property
    def nbytes(self):
        return sum({id(lists): lists.nbytes for lists in self.built}.values())

    @cached_property
    def report(self):
        lists = self.built[0]
        seen = lists.offsets[1:] > lists.offsets[:-1]
        seen[lists.neighbors] = True
        isolates = int(self.num_vertices - seen.sum())
        return BuildReport(
            self._rows, self._loops_dropped, self._merged, self.num_edges, self.num_vertices,
            isolates, self.nbytes,
        )  # fmt: skip

    def __repr__(self):
        arrow = "directed" if self.directed else "undirected"
        return (
            f"<Graph: {self.num_vertices:,} vertices, {self.num_edges:,} {arrow} edges"
            f"{', weighted' if self.weighted else ''}, {self.device}>"
        )
