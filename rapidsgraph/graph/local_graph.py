"""LocalGraph: a graph in the memory of one process, on a CPU or GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import device
from ..device.arrays import Array, ArrayModule
from . import weight_sums
from .csr import Adjacency, transpose
from .labeling import Labeling
from .vertex_names import VertexNames


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


class LocalGraph:
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

    def __init__(
        self,
        labeling: Labeling,
        adjacency: Adjacency,
        layout: str,
        *,
        directed: bool,
        weighted: bool,
        multi_edges: str,
        self_loops: str,
        num_rows: int,
        num_loops_dropped: int,
        num_edges: int,
    ) -> None:
        self.labeling, self.directed, self.weighted = labeling, directed, weighted
        self._multi_edges, self._self_loops = multi_edges, self_loops
        self._num_rows, self._num_loops_dropped = num_rows, num_loops_dropped
        self.num_edges, self.num_arcs = num_edges, adjacency.neighbors.size
        self._cache: dict[str, Any] = {}
        self._adjacencies = {layout if directed else "csr": adjacency}  # by layout

    @property
    def names(self) -> VertexNames:
        return self.labeling.names

    @property
    def xp(self) -> ArrayModule:
        return self.labeling.xp

    @property
    def num_vertices(self) -> int:
        return self.labeling.num_vertices

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
        if self.has_layout("csr"):
            return self.xp.diff(self.csr.offsets).astype(self.xp.float64)
        return self._sum_by_source(self.xp.empty(0), weighted=False)

    @cached_property
    def out_weights(self) -> Array:
        """Sum of the weights that leave each vertex, or its out-degree: float64."""
        if not self.weighted:
            return self.out_degrees
        return self._sum_by_source(self.csc.weights, weighted=True)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights of all arcs, which no distance exceeds; infinite if it overflows."""
        return weight_sums.total_weight(self.built[0].weights)

    def _sum_by_source(self, weights: Array, *, weighted: bool) -> Array:
        sums, sources = self.xp.zeros(self.num_vertices), self.csc.neighbors
        device.launch(
            "build", "sum_by_key", size=sources.size,
            num_items=sources.size, keys=sources, weights=weights, weighted=weighted, sums=sums,
        )  # fmt: skip
        return sums

    def cached(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return the result of `compute`, which is called once per key."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    @property
    def built(self) -> list[Adjacency]:
        """The adjacency of each layout that has been built so far."""
        layouts = ("csr", "csc")
        return [self._adjacencies[name] for name in layouts if name in self._adjacencies]

    @property
    def is_merged(self) -> bool:
        """Whether the build merged parallel edges, so that there are none."""
        return self._multi_edges != "keep"

    @property
    def is_loopless(self) -> bool:
        """Whether the build dropped self-loops, so that there are none."""
        return self._self_loops == "drop"

    @property
    def vertices(self) -> Any:
        return self.labeling.vertex_frame({})

    @property
    def nbytes(self) -> int:
        return sum(adjacency.nbytes for adjacency in self.built)

    @cached_property
    def report(self) -> BuildReport:
        adjacency = self.built[0]
        has_arc = adjacency.offsets[1:] > adjacency.offsets[:-1]
        has_arc[adjacency.neighbors] = True
        num_merged = self._num_rows - self._num_loops_dropped - self.num_edges
        return BuildReport(
            self._num_rows, self._num_loops_dropped, num_merged, self.num_edges, self.num_vertices,
            int(self.num_vertices - has_arc.sum()), self.nbytes,
        )  # fmt: skip

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return (
            f"<Graph: {self.num_vertices:,} vertices, {self.num_edges:,} {kind} edges"
            f"{', weighted' if self.weighted else ''}, {self.device}>"
        )
