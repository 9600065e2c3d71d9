"""NetworkX graphs that are converted for this backend.

Vertices are positions among the nodes of the NetworkX graph, so that nodes may be any objects and
results keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from .. import device
from ..device import Array, ArrayModule
from ..dispatch import Graph
from ..errors import GraphError
from ..graph.build import build_from_ids
from ..graph.build_memory import csr_build_bytes
from ..graph.csr import Adjacency, offsets_from_sizes, row_indices
from ..graph.local_graph import LocalGraph
from ..graph.positions import NetworkXEdges
from ..graph.vertex_names import Labeling, VertexNames
from ..validation import check_free_memory, check_weights

NUMBERS = {int, float, np.int64, np.float64}  # types of weights whose sums are those of NetworkX
MAX_EXACT_TOTAL = 2**53  # below which sums of integers in double precision are exact


class ConvertedGraph:
    """A converted NetworkX graph.

    Parameters
    ----------
    nodes : list
        In the order of the NetworkX graph.
    storage : LocalGraph
        Vertices are the positions of the nodes; results are dicts of arrays.
    is_multigraph : bool
    has_integers : bool
        Whether all weights are integers, so that distances are.
    ordered_adjacency : Adjacency, optional
        On the host, without weights: neighbors in the order of the NetworkX graph.
    """

    __networkx_backend__ = "rapidsgraph"

    def __init__(
        self,
        nodes: list[Any],
        storage: LocalGraph,
        *,
        is_multigraph: bool,
        has_integers: bool,
        ordered_adjacency: Adjacency | None = None,
    ) -> None:
        self.nodes, self.has_integers = nodes, has_integers
        self._ordered_adjacency = ordered_adjacency
        self._storage, self._is_multigraph = storage, is_multigraph

    def is_directed(self) -> bool:
        return self._storage.directed

    def is_multigraph(self) -> bool:
        return self._is_multigraph

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        try:
            return node in self.positions
        except TypeError:  # not hashable
            return False

    @cached_property
    def positions(self) -> dict[Any, int]:
        """The vertex of each node."""
        return {node: position for position, node in enumerate(self.nodes)}

    @cached_property
    def node_array(self) -> np.ndarray:
        """The nodes as an array of objects."""
        return np.fromiter(self.nodes, object, len(self.nodes))

    @cached_property
    def weighted(self) -> Graph:
        """The graph with its weights, if it has any."""
        return Graph._from_storage(self._storage)

    @cached_property
    def unweighted(self) -> Graph:
        """The graph without weights."""
        if not self._storage.weighted:
            return self.weighted
        adjacency = self._storage.csr
        without = Adjacency(adjacency.offsets, adjacency.neighbors, self._storage.xp.empty(0))
        return Graph._from_storage(self._replace_adjacency(without, weighted=False))

    @cached_property
    def reversed(self) -> ConvertedGraph:
        """The graph with all arcs reversed."""
        if not self.is_directed():
            return self
        storage = self._replace_adjacency(self._storage.csc, weighted=self._storage.weighted)
        return ConvertedGraph(
            self.nodes, storage, is_multigraph=self._is_multigraph, has_integers=self.has_integers
        )

    @property
    def ordered_adjacency(self) -> Adjacency:
        """The neighbors in the order of the NetworkX graph; of a reversed graph there is none."""
        assert self._ordered_adjacency is not None
        return self._ordered_adjacency

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all arcs."""
        return self._storage.total_weight

    @cached_property
    def has_self_loops(self) -> bool:
        """Whether an edge leads from a node to itself."""
        adjacency = self._storage.csr
        return device.count_nonzero(row_indices(adjacency) == adjacency.neighbors) > 0

    def _replace_adjacency(self, adjacency: Adjacency, *, weighted: bool) -> LocalGraph:
        """Return a graph of the same vertices with another CSR."""
        return LocalGraph(
            self._storage.labeling, adjacency, "csr", directed=self.is_directed(),
            weighted=weighted, multi_edges="keep", self_loops="keep",
            num_rows=self._storage.num_edges, num_loops_dropped=0,
            num_edges=self._storage.num_edges,
        )  # fmt: skip

    def by_node(self, values: Array) -> dict[Any, Any]:
        """Return values by vertex as a dict by node, in the order of the NetworkX graph."""
        return dict(zip(self.nodes, device.to_host(values).tolist()))

    def nodes_at(self, vertices: np.ndarray) -> list[Any]:
        """Return the nodes of vertices."""
        return self.node_array[vertices].tolist()


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: dict[Any, Any] | None = None,
    preserve_edge_attrs: bool = False,
    **_: Any,
) -> ConvertedGraph:
    """Convert a NetworkX graph; other arguments of the backend protocol are ignored.

    Parameters
    ----------
    graph : networkx.Graph or a subclass
    edge_attrs : dict, optional
        The attribute of weights, and the weight of an edge without it.
    preserve_edge_attrs : bool, default False
        Whether all attributes are needed, which is not supported.

    Raises
    ------
    NotImplementedError
        If a weight is not a number of Python, or negative, NaN or infinite. NetworkX then goes on
        with another backend, or with itself.
    """
    if preserve_edge_attrs or len(edge_attrs or {}) > 1:
        raise NotImplementedError("graphs are converted with one edge attribute at most")
    try:
        edges = NetworkXEdges(graph)
    except GraphError as error:
        raise NotImplementedError(str(error)) from error
    directed, is_multigraph = graph.is_directed(), graph.is_multigraph()
    degrees = np.bincount(edges.sources, minlength=len(edges.nodes))
    ordered = Adjacency(offsets_from_sizes(degrees), edges.destinations, np.empty(0))
    arrays: list[Any] = [edges.sources, edges.destinations, None]
    has_integers = True
    for attribute, default in (edge_attrs or {}).items():
        arrays[2], has_integers = _read_weights(edges.data, attribute, default)
    if not directed:  # keep one direction of each edge
        is_upper = edges.sources <= edges.destinations
        arrays = [values if values is None else values[is_upper] for values in arrays]
    xp = _choose_array_module()
    num_vertices, num_rows = len(edges.nodes), arrays[0].size
    check_free_memory(
        f"building a graph of {num_rows:,} edges",
        csr_build_bytes(
            num_rows, num_vertices, weighted=arrays[2] is not None, directed=directed,
            multi_edges="keep", xp=xp,
        ),
        xp,
    )  # fmt: skip
    names = VertexNames(["vertex"], [None], num_vertices, dtype=np.dtype(np.int64))
    labeling = Labeling(names, xp, "arrays", [True], ["source"])
    coo = [values if values is None else xp.asarray(values) for values in arrays]
    # PageRank adds up the weights of parallel edges, and shortest paths take the least.
    storage = build_from_ids(coo, labeling, directed=directed, multi_edges="keep")
    return ConvertedGraph(
        edges.nodes, storage, is_multigraph=is_multigraph, has_integers=has_integers,
        ordered_adjacency=ordered,
    )  # fmt: skip


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Return a NetworkX graph for a converted one, with weights as the attribute `weight`."""
    if not isinstance(result, ConvertedGraph):
        return result
    return nx.relabel_nodes(result.weighted.to_networkx(), dict(enumerate(result.nodes)))


def _read_weights(
    data: list[dict[Any, Any]], attribute: Any, default: Any
) -> tuple[np.ndarray | None, bool]:
    """Return weights, None if all are the integer 1, and whether all are integers."""
    values = [attributes.get(attribute, default) for attributes in data]
    types = set(map(type, values))
    if not types <= NUMBERS:
        kinds = ", ".join(sorted(kind.__name__ for kind in types - NUMBERS))
        raise NotImplementedError(f"weights of type {kinds} are not supported")
    has_integers = types <= {int, np.int64}
    if has_integers and values.count(1) == len(values):
        return None, True
    try:
        return check_weights(np.array(values, np.float64), attribute, np), has_integers
    except (GraphError, OverflowError) as error:
        raise NotImplementedError(str(error)) from error


def _choose_array_module() -> ArrayModule:
    """Return the array module of the device that ``nx.config.backends.rapidsgraph`` names."""
    choice = device.choose(nx.config.backends.rapidsgraph.device)
    return np if choice == "cpu" else device.import_cupy()
