"""Graphs in the memory of one process, on a CPU or GPU, and the base of the public graph types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeAlias

from .. import device
from ..device import Array, ArrayModule
from ..summary import format_html
from . import weight_sums
from .csr import Adjacency, transpose
from .key_sums import count_by_key, sum_by_key
from .multi_edges import MultiEdges
from .vertex_names import Labeling

# A `Graph`, an edge frame (see `frames.Frame`), or a `LayeredEdgeList` where a function says so.
GraphLike: TypeAlias = Any
SelfLoops = Literal["keep", "drop"]
# What runs an algorithm: a column of `dispatch.IMPLEMENTATIONS`.
Engine = Literal["local", "layered", "distributed", "distributed_layered", "frames"]


@dataclass(frozen=True)
class BuildReport:
    """Row counts of a graph build, and the size of its result.

    Attributes
    ----------
    rows : int
        Rows of the edge frame.
    self_loops_dropped, rows_merged : int
        Rows that the policies `self_loops` and `multi_edges` removed.
    edges, vertices : int
    isolates : int
        Vertices without an edge.
    nbytes : int
        Bytes of the adjacency.
    """

    rows: int
    self_loops_dropped: int
    rows_merged: int
    edges: int
    vertices: int
    isolates: int
    nbytes: int

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows: {self.self_loops_dropped:,} self-loops dropped, "
            f"{self.rows_merged:,} merged into others, {self.edges:,} edges left; "
            f"{self.vertices:,} vertices, {self.isolates:,} of them without an edge; "
            f"{self.nbytes:,} bytes"
        )

    def _repr_html_(self) -> str:
        return format_html("BuildReport", asdict(self))


class Storage:
    """Base class of the storages of `Graph` and `LayeredEdgeList`, and of `FrameGraph`.

    Attributes
    ----------
    engine : Engine
        What runs algorithms on it.
    weight_candidates : sequence of str
        Columns of the edge frame that may be weights, if the graph has none.
    build_call : str
        The call that built the graph, for messages about these columns.
    """

    engine: ClassVar[Engine]
    weight_candidates: Sequence[str] = ()
    build_call = "rg.Graph(edges"


class LocalGraph(Storage):
    """A graph in the memory of one process: the storage of `Graph` on one CPU or GPU.

    Neighbors are sorted, so results do not depend on the order of rows. The adjacency of the other
    layout is derived on first use; an undirected graph has one adjacency for both.

    Parameters
    ----------
    labeling : Labeling
    adjacency : Adjacency
    layout : {"csr", "csc"}
        Whether `adjacency` is by source or by destination.
    directed, weighted : bool
    multi_edges, self_loops : str
        Policies of the build.
    num_rows, num_loops_dropped : int
        Rows of the edge frame, and how many of them were dropped as self-loops.
    num_edges : int
        An undirected edge counts once.
    """

    engine = "local"

    def __init__(
        self,
        labeling: Labeling,
        adjacency: Adjacency,
        layout: str,
        *,
        directed: bool,
        weighted: bool,
        multi_edges: MultiEdges,
        self_loops: SelfLoops,
        num_rows: int,
        num_loops_dropped: int,
        num_edges: int,
    ) -> None:
        self.labeling, self.directed, self.weighted = labeling, directed, weighted
        self.multi_edges, self.self_loops = multi_edges, self_loops
        self._num_rows, self._num_loops_dropped = num_rows, num_loops_dropped
        self.names, self.num_vertices = labeling.names, labeling.num_vertices
        self.num_edges, self.num_arcs = num_edges, adjacency.neighbors.size
        self._cache: dict[str, Any] = {}
        self._adjacencies = {layout if directed else "csr": adjacency}  # by layout

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle and copy; other threads may add to the caches meanwhile."""
        return {
            name: value.copy() if isinstance(value, dict) else value
            for name, value in self.__dict__.copy().items()
        }

    @property
    def xp(self) -> ArrayModule:
        return self.labeling.xp

    @property
    def device(self) -> str:
        return self.labeling.device

    @property
    def csr(self) -> Adjacency:
        """Adjacency by source."""
        if "csr" not in self._adjacencies:
            self._adjacencies["csr"] = transpose(self._adjacencies["csc"])
        return self._adjacencies["csr"]

    @property
    def csc(self) -> Adjacency:
        """Adjacency by destination."""
        if not self.directed:
            return self.csr
        if "csc" not in self._adjacencies:
            self._adjacencies["csc"] = transpose(self._adjacencies["csr"])
        return self._adjacencies["csc"]

    def has_layout(self, layout: str) -> bool:
        """Return whether the adjacency of a layout, "csr" or "csc", has been built."""
        return layout in self._adjacencies or not self.directed

    @cached_property
    def out_degrees(self) -> Array:
        """Number of arcs that leave each vertex: float64, shape (vertices,)."""
        if "csr" in self._adjacencies:
            return self.xp.diff(self.csr.offsets).astype(self.xp.float64)
        return count_by_key(self.csc.neighbors, self.num_vertices)

    @cached_property
    def out_weights(self) -> Array:
        """Sum of the weights that leave each vertex, or its out-degree: float64."""
        if not self.weighted:
            return self.out_degrees
        return sum_by_key(self.csc.neighbors, self.csc.weights, self.num_vertices)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights of all arcs, which no distance exceeds; infinite if it overflows."""
        return weight_sums.total_weight(self.first_adjacency()[1].weights)

    def cached(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return the cached result of a key, which `compute` returns if there is none.

        It must not be None. Threads that call this at the same time may each compute it; their
        results are equal.
        """
        result = self._cache.get(key)  # another thread may remove it at any time
        if result is None:
            result = self._cache[key] = compute()
        return result

    def replace_cached(self, key: str, result: Any) -> None:
        """Set the result that `cached` has for a key."""
        self._cache[key] = result

    def is_cached(self, key: str) -> bool:
        """Return whether `cached` has the result of a key."""
        return key in self._cache

    def uncache(self, key: str) -> None:
        """Free the result of a key, if `cached` has one."""
        self._cache.pop(key, None)

    @property
    def adjacencies(self) -> dict[str, Adjacency]:
        """The adjacencies that have been built so far, by layout, "csr" first.

        Another thread may build the other one at any time: read this once per computation.
        """
        adjacencies = self._adjacencies.copy()
        return {name: adjacencies[name] for name in ("csr", "csc") if name in adjacencies}

    def first_adjacency(self) -> tuple[str, Adjacency]:
        """Return the layout and an adjacency that has been built, by source if both have been."""
        return next(iter(self.adjacencies.items()))

    @property
    def is_merged(self) -> bool:
        """Whether the build merged parallel edges, so that there are none."""
        return self.multi_edges != "keep"

    @property
    def is_loopless(self) -> bool:
        """Whether the build dropped self-loops, so that there are none."""
        return self.self_loops == "drop"

    def derive(
        self, adjacencies: dict[str, Adjacency], labeling: Labeling, num_edges: int
    ) -> LocalGraph:
        """Return a graph of the same policies, given its adjacencies by layout."""
        layout, adjacency = next(iter(adjacencies.items()))
        graph = LocalGraph(
            labeling, adjacency, layout, directed=self.directed, weighted=self.weighted,
            multi_edges=self.multi_edges, self_loops=self.self_loops, num_rows=num_edges,
            num_loops_dropped=0, num_edges=num_edges,
        )  # fmt: skip
        graph._adjacencies |= adjacencies
        return graph.with_candidates_of(self)

    def with_candidates_of(self, origin: Any) -> Self:
        """Take over the columns that may be weights of the graph that this one derives from."""
        if not self.weighted:
            self.weight_candidates = origin.weight_candidates
            self.build_call = origin.build_call
        return self

    @property
    def vertices(self) -> Any:
        return self.labeling.vertex_frame({})

    @property
    def nbytes(self) -> int:
        return sum(adjacency.nbytes for adjacency in self.adjacencies.values())

    @cached_property
    def report(self) -> BuildReport:
        _, adjacency = self.first_adjacency()
        has_arc = adjacency.offsets[1:] > adjacency.offsets[:-1]
        has_arc[adjacency.neighbors] = True
        num_merged = self._num_rows - self._num_loops_dropped - self.num_edges
        return BuildReport(
            self._num_rows, self._num_loops_dropped, num_merged, self.num_edges, self.num_vertices,
            self.num_vertices - device.count_nonzero(has_arc), self.nbytes,
        )  # fmt: skip

    def summarize(self) -> dict[str, Any]:
        """Return the properties that a notebook shows."""
        return {
            "vertices": self.num_vertices, "edges": self.num_edges, "directed": self.directed,
            "weighted": self.weighted, "device": self.device, "nbytes": self.nbytes,
        }  # fmt: skip

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return (
            f"<Graph: {self.num_vertices:,} vertices, {self.num_edges:,} {kind} edges"
            f"{', weighted' if self.weighted else ''}, {self.device}>"
        )


class StoredGraph:
    """Base of the public graph types, which delegate to a storage."""

    _storage: Any
    _no_local_graph: ClassVar[str]  # why the storage is no LocalGraph, if it is none

    @classmethod
    def _from_storage(cls, storage: Any) -> Self:
        graph = cls.__new__(cls)
        graph._storage = storage
        return graph

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self._storage.num_vertices

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._storage.directed

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self._storage.weighted

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"gpu"``, where computations run."""
        return self._storage.device

    def __repr__(self) -> str:
        return repr(self._storage)

    def _repr_html_(self) -> str:
        return format_html(type(self).__name__, self._storage.summarize())


def storage_of(graph: Any) -> Any:
    """Return the storage of a `Graph` or `LayeredEdgeList`; anything else unchanged."""
    return graph._storage if isinstance(graph, StoredGraph) else graph
