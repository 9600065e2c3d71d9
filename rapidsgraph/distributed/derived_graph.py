"""DerivedGraph: a distributed graph whose partitions follow from those of another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from ..graph.csr import MultiEdges, count_upper
from .graph import DistributedGraph
from .partition import Partition, transpose


class DerivedInfo(NamedTuple):
    """What the client knows about a derived graph, and about the partition of one rank.

    Attributes
    ----------
    bounds : tuple of int
        Rank r has the vertices ``bounds[r]`` to ``bounds[r + 1]``.
    num_arcs, num_edges, nbytes : int
        Of the partition. An undirected edge counts where its smaller endpoint is.
    """

    bounds: tuple[int, ...]
    num_arcs: int
    num_edges: int
    nbytes: int

    @classmethod
    def of(cls, partition: Partition, bounds: Sequence[int], directed: bool) -> Self:
        """Return the description of a partition."""
        adjacency, num_arcs = partition.adjacency, partition.num_arcs
        num_edges = num_arcs if directed else int(count_upper(adjacency).sum())
        return cls(tuple(bounds), num_arcs, num_edges, adjacency.nbytes)


class DerivedGraph(DistributedGraph):
    """A graph derived from another one.

    It does not refer to the partitions of the other graph, so that these are released with that
    graph. If a worker is lost, they are built again for as long as it takes to derive this graph.

    Parameters
    ----------
    parent : DistributedGraph
    derive : callable
        Returns the tasks of the partitions, and `DerivedInfo` that together describe the graph,
        given the parent or another graph of the same partitions.
    layout : {"csr", "csc"}
        Of the partitions.
    directed, weighted : bool, optional
        As of the parent by default.
    multi_edges : str, optional
        As of the parent by default.
    num_rows : int, optional
        Number of edges that the graph is built from, of which parallel ones were merged; by default
        none were.
    """

    def __init__(
        self,
        parent: DistributedGraph,
        derive: Callable[[DistributedGraph], tuple[list, list[DerivedInfo]]],
        layout: str,
        *,
        directed: bool | None = None,
        weighted: bool | None = None,
        multi_edges: MultiEdges | None = None,
        num_rows: int | None = None,
    ) -> None:
        super().__init__(
            parent.executor,
            device=parent.device,
            directed=parent.directed if directed is None else directed,
            weighted=parent.weighted if weighted is None else weighted,
            multi_edges=parent.multi_edges if multi_edges is None else multi_edges,
            self_loops=parent.self_loops,
            layout=layout,
            schema=parent.schema,
        )
        self.num_partitions = parent.num_partitions  # the number of workers may have changed since
        self._origin, self._derive_partitions = parent.without_partitions(), derive
        if not self.weighted:
            self.weight_candidates = parent.weight_candidates
        tasks, infos = derive(parent)
        self._set_partitions(layout, tasks, [each.nbytes for each in infos])
        self.bounds = list(infos[0].bounds)
        self.num_vertices = self.bounds[-1]
        self.num_arcs = sum(each.num_arcs for each in infos)
        self.num_edges = sum(each.num_edges for each in infos)
        self.num_rows = self.num_edges if num_rows is None else num_rows
        self.num_loops_dropped = 0
        # Edges that are merged may sum their weights, which does not change the total.
        self.total_weight = parent.total_weight if parent.weighted else parent.num_arcs

    def share_layout(self, layout: str, tasks: list, nbytes: int) -> None:
        """Use partitions of another graph as those of the layout that was not built first."""
        self._set_partitions(layout, tasks, [nbytes])
        self._derivations[layout] = transpose, (self.built_partitions(), tuple(self.bounds))

    def _rebuild_first_layout(self) -> None:
        origin = self._origin.without_partitions()
        origin._rebuild()
        tasks, infos = self._derive_partitions(origin)
        self._set_partitions(self.built_layout, tasks, [each.nbytes for each in infos])
