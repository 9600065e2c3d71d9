"""DistributedGraph: a graph built from a Dask frame, a part of it on each worker.

Means: what Graph means, for edges in several partitions: named, policies applied, ready for sweeps.
Requires: arrays over all vertices fit on a worker; edges need not.

A worker has the lists of the vertices of one range, cut so that ranges have about as many ends of
edges each; one vertex's list is never cut. Parts are built once and stay; the other direction is
made from them on first use. Only facts of a few bytes come to the client.
"""

import sys

import numpy as np

from ..errors import GraphError
from ..frames import is_dask, library_name
from ..graph import weight_sums
from ..graph.edge_frame import check_policies, read_columns
from ..graph.labeling import check_name_collisions, endpoint_columns
from ..graph.local_graph import BuildReport, LocalGraph
from ..validation import check_vertices
from . import partition as parts
from . import vertex_names
from .executor import engine_of, on_error, release_on_error, tree


class DistributedGraph:
    """A graph built from a Dask frame; `rg.Graph` of such a frame gives one.

    Parameters
    ----------
    edges : Dask frame
        Of pandas or cuDF frames; one row an edge. The other parameters are those of `Graph`;
        `vertices` may be a Dask frame, too.

    Attributes
    ----------
    num_vertices, num_edges : int
    vertices : Dask frame
        Names, one row a vertex, sorted.
    directed, weighted : bool
    device : {"cpu", "gpu"}
    report : Report
    nbytes : int
        Held by adjacency lists on all workers, in bytes.

    Raises
    ------
    GraphError
        As `Graph`; says which partition of the frame is meant, and rows are counted within it.
    InsufficientMemoryError
        A part would not fit on its worker; raised before it is built.

    Notes
    -----
    It works on the active Dask client, or in this process if there is none. A worker that is lost
    is made up for by the others, from the partitions of the frame.

    Examples
    --------
    >>> import dask.dataframe, pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": ["b", "a", "b"], "destination": ["a", "c", "a"]})
    >>> graph = rg.Graph(dask.dataframe.from_pandas(edges, npartitions=2))
    >>> graph.num_vertices, graph.num_edges, graph.report.rows_merged
    (3, 2, 1)
    >>> rg.connected_components(graph).compute()
      vertex  component
    0      a          0
    1      b          0
    2      c          0
    """

    has_own_client = False

    @release_on_error
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
        options = source, destination, weight, directed, multi_edges, self_loops, vertices
        self._build(edges, *options, "csr")

    @classmethod
    def for_sweep(cls, edges, direction):
        """A directed graph with the default policies, lists of `direction` first."""
        graph = object.__new__(cls)
        policies = True, "first", "keep", None
        graph._build(edges, "source", "destination", None, *policies, direction)
        return graph

    def _build(
        self, edges, source, destination, weight, directed, multi_edges, self_loops, vertices,
        direction,
    ):  # fmt: skip
        check_policies(directed, multi_edges, self_loops)
        options = source, destination, weight, multi_edges
        manner = read_columns(edges._meta, *options)
        self.engine = engine = engine_of()
        self.directed, self._multi_edges, self._self_loops = directed, multi_edges, self_loops
        self._parts, self._cache = {}, {}
        wanted = [*_names(source), *_names(destination), *([] if weight is None else [weight])]
        columns = [
            engine.submit(
                vertex_names.read_part, frame, number, *options, name="read-edges", at=number
            )
            for number, frame in enumerate(engine.frames(edges[list(dict.fromkeys(wanted))]))
        ]
        facts = engine.results(
            [engine.submit(vertex_names.facts_of, c, name="facts") for c in columns]
        )
        more, more_facts = self._more_names(vertices, manner, facts)
        everyone = vertices if isinstance(vertices, range) and not vertices.start else None
        if isinstance(vertices, (int, np.integer)) and not isinstance(vertices, bool):
            everyone = check_vertices(vertices, len(manner.labels), manner.labels, np)
        self.named, self.num_vertices, ends = vertex_names.name_all(
            engine, columns, facts, more, more_facts, everyone
        )
        self._manner, self._is_on_gpu = facts[0].manner, any(each.on_gpu for each in facts)
        self._rows = sum(each.rows for each in facts)
        rows = [
            engine.submit(parts.with_weights, pair, own, self_loops, name="rows", at=number)
            for number, (pair, own) in enumerate(zip(ends, columns))
        ]
        del columns, more, ends  # so that workers can forget them as soon as rows are there
        counts = [engine.submit(parts.dropped, each, name="facts") for each in rows]
        self._loops_dropped = sum(engine.results(counts)) if self_loops == "drop" else 0
        self.weighted = weight is not None or multi_edges == "sum"
        counts = [
            engine.submit(parts.count_ends, each, self.num_vertices, name="count-ends")
            for each in rows
        ]
        [counts] = engine.results([tree(engine, parts.add, counts, "count-ends")])
        self.bounds = parts.cut(counts, len(engine.workers), self.num_vertices)
        pieces = [
            engine.submit(
                parts.split, each, self.bounds, direction, directed, name="split", at=number
            )
            for number, each in enumerate(rows)
        ]
        del rows
        self._total_weight = sum(each.total_weight for each in facts)
        named = self.named if weight is not None and multi_edges == "sum" else None
        sum_type = self._sum_type(facts, weight) if multi_edges == "sum" else None
        self._make_parts(direction, pieces, multi_edges, sum_type, named)
        arcs, loops, _ = self._counts(direction)
        self.num_arcs = arcs
        self.num_edges = arcs if directed else (arcs + loops) // 2

    def _more_names(self, vertices, manner, facts):
        """EdgeColumns of what `vertices` names, as tasks; their facts."""
        is_range = isinstance(vertices, range) and not vertices.start
        if is_range or vertices is None or isinstance(vertices, (int, np.integer)):
            check_vertices(vertices, len(manner.labels), manner.labels, np)
            return [], []
        engine, count, labels = self.engine, len(manner.labels), facts[0].manner.labels
        if not is_dask(vertices):
            check_vertices(vertices, count, labels, np)
        given = engine.frames(vertices) if is_dask(vertices) else [vertices]
        on_gpu = any(each.on_gpu for each in facts)
        more = [
            engine.submit(vertex_names.read_more, each, count, labels, on_gpu, name="read-vertices")
            for each in given
        ]
        return more, engine.results(
            [engine.submit(vertex_names.facts_of, each, name="facts") for each in more]
        )

    def _sum_type(self, facts, weight):
        """The type of weights that parallel edges add up to."""
        are_integers = {each.weight_kind for each in facts if each.rows} == {"i"}
        exact = weight is not None and are_integers
        return weight_sums.sum_type(self._total_weight) if exact else np.float64

    def _make_parts(self, direction, pieces, multi_edges, sum_type=None, named=None):
        """Build the parts of a direction of the pieces, [(task of a list of pieces), ...].

        `pieces` is emptied.
        """
        engine, bounds = self.engine, self.bounds
        made = []
        for number in range(self.num_parts):
            own = [
                engine.submit(parts.piece, each, number, name="shuffle", at=at)
                for at, each in enumerate(pieces)
            ]
            made.append(
                engine.submit(
                    parts.build,
                    number,
                    bounds,
                    multi_edges,
                    sum_type,
                    named,
                    *own,
                    name="build-part",
                    at=number,
                )  # fmt: skip
            )
        pieces.clear()
        on_error(lambda: self._parts.pop(direction, None))
        self._parts[direction] = made

    def _counts(self, direction):
        """(arcs, self-loops, bytes) of all parts of a direction."""
        tasks = [
            self.engine.submit(parts.count_arcs, part, name="facts", at=at)
            for at, part in enumerate(self.parts(direction))
        ]
        return [sum(each) for each in zip(*self.engine.results(tasks))]

    @property
    def num_parts(self):
        return len(self.bounds) - 1

    @property
    def ranges(self):
        """(first vertex, the one behind the last) of each part."""
        return list(zip(self.bounds, self.bounds[1:]))

    def parts(self, direction="csr"):
        """A task for each Part, of lists by source or by destination."""
        if not self.directed:
            direction = next(iter(self._parts))
        if direction not in self._parts:
            other = next(iter(self._parts))
            pieces = [
                self.engine.submit(parts.transpose, part, self.bounds, name="split", at=at)
                for at, part in enumerate(self._parts[other])
            ]
            self._make_parts(direction, pieces, "keep")
        return self._parts[direction]

    def undirected(self):
        """Parts of both directions of every edge, once, without self-loops and weights."""

        def make():
            engine = self.engine
            if not self.directed:
                return [
                    engine.submit(parts.simple, part, name="simplify", at=at)
                    for at, part in enumerate(self.parts())
                ]
            whole = object.__new__(DistributedGraph)
            whole.engine, whole.bounds, whole._parts = engine, self.bounds, {}
            given = next(iter(self._parts.values()))
            pieces = [
                engine.submit(parts.both_ways_of, part, self.bounds, name="split", at=at)
                for at, part in enumerate(given)
            ]
            whole._make_parts("csr", pieces, "first")
            return whole._parts["csr"]

        return self.cached("undirected", make)

    def __reduce__(self):
        raise GraphError(
            "a DistributedGraph stays with its client; give tasks and other processes the Dask "
            "frame, or what .compute() gives"
        )

    @release_on_error
    def compute(self):
        """The same graph in this process's memory: a Graph."""
        direction, made = next(iter(self._parts.items()))
        [labeling, *lists] = self.engine.results([self.named, *made])
        return LocalGraph(
            labeling, parts.join_lists(lists), direction, directed=self.directed,
            weighted=self.weighted, multi_edges=self._multi_edges, self_loops=self._self_loops,
            num_rows=self._rows, num_loops_dropped=self._loops_dropped, num_edges=self.num_edges,
        )  # fmt: skip

    def cached(self, key, make):
        """What an algorithm makes of the graph and may need again, made once."""
        if key in self._cache and not self.engine.are_valid(self._cache[key]):
            del self._cache[key]  # failed or cancelled since it was computed
        if key not in self._cache:
            on_error(lambda: self._cache.pop(key, None))
            self._cache[key] = make()
        return self._cache[key]

    def check_name_collisions(self, *columns):
        """Raise GraphError if a name column has the name of a result column."""
        check_name_collisions(self._manner.labels, columns)

    def endpoint_columns(self, endpoint):
        """Return {name column: its name for an endpoint}; see `labeling.endpoint_columns`."""
        manner = self._manner
        return endpoint_columns(manner.labels, manner.is_endpoint_specific, endpoint)

    @property
    def built(self):
        """{direction: tasks of parts} of what has been built so far."""
        return self._parts

    @property
    def client(self):
        """The distributed.Client whose workers have the graph; None where it is in this process."""
        return self.engine.client if hasattr(self, "engine") else None

    @property
    def device(self):
        return "gpu" if self._is_on_gpu else "cpu"

    def result(self, pieces, counts=None):
        """A Dask frame of tasks that give frames, a part each; rows by vertex, or `counts` each."""
        engine = self.engine
        counts = [stop - first for first, stop in self.ranges] if counts is None else counts
        starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
        kept = [number for number, count in enumerate(counts) if count] or [0]
        indexed = [
            engine.submit(_indexed, pieces[number], starts[number], name="result", at=number)
            for number in kept
        ]
        [meta] = engine.results([engine.submit(_meta, indexed[0], name="meta")])
        divisions = [None] * (len(kept) + 1)
        if starts[-1]:
            divisions = [*(starts[number] for number in kept), starts[-1] - 1]
        return engine.collection(indexed, meta, tuple(divisions))

    @property
    def vertices(self):
        pieces = [
            self.engine.submit(label, self.named, {}, first, stop, name="label", at=at)
            for at, (first, stop) in enumerate(self.ranges)
        ]
        return self.result(pieces)

    @property
    def total_weight(self):
        """Of all rows, which no path exceeds; infinite where it is beyond double precision."""
        return self._total_weight

    @property
    def nbytes(self):
        return sum(self._counts(direction)[-1] for direction in self._parts)

    @property
    def report(self):
        engine, direction = self.engine, next(iter(self._parts))
        flags = [
            engine.submit(parts.seen, part, name="seen", at=at)
            for at, part in enumerate(self.parts(direction))
        ]
        [isolates] = engine.results([engine.submit(parts.count_unseen, *flags, name="facts")])
        merged = self._rows - self._loops_dropped - self.num_edges
        return BuildReport(
            self._rows, self._loops_dropped, merged, self.num_edges, self.num_vertices, isolates,
            self.nbytes,
        )  # fmt: skip

    def __repr__(self):
        arrow = "directed" if self.directed else "undirected"
        return (
            f"<DistributedGraph: {self.num_vertices:,} vertices, {self.num_edges:,} {arrow} edges"
            f"{', weighted' if self.weighted else ''}, {self.num_parts} parts, {self.device}>"
        )


def as_partitioned(edges, direction="csr"):
    """A DistributedGraph as it is; a Dask frame as a directed one with the default policies."""
    if isinstance(edges, DistributedGraph):
        return edges
    return DistributedGraph.for_sweep(edges, direction)


def _names(given):
    return [given] if isinstance(given, str) or not isinstance(given, (list, tuple)) else [*given]


# Tasks


def label(named, columns, first, stop):
    """A frame of some consecutive vertices: their names and `columns` of as many values."""
    xp = named.xp
    return named.vertex_frame(columns, xp.arange(first, stop, dtype=xp.int32))


def _indexed(frame, start):
    library = sys.modules[library_name(frame)]
    frame = frame.copy(deep=False)
    frame.index = library.RangeIndex(start, start + len(frame))
    return frame


def _meta(frame):
    return frame.iloc[:0]
