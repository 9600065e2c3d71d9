"""An index of structural similarities that answers SCAN for any epsilon and mu (GS*-Index).

The index has the neighbors of each vertex by descending similarity, and for every mu the possible
cores by the largest epsilon at which they are cores. A query reads only the beginnings of these
lists. The index takes 24 bytes per edge.

Lists are sorted by level, the similarity in units of 2^-20. Neighbors of one level are compared
exactly, so levels only determine where a pass over a list may stop.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array, Device, choose, import_cupy, to_host
from ..errors import GraphError, format_value
from ..frames import Frame
from ..graph.csr import Adjacency, permute, row_indices
from ..graph.local_graph import GraphLike, LocalGraph
from ..graph.pair_sort import sort_pairs
from ..kernels.constants import CORE, HUB, OUTLIER, SIMILARITY_LEVELS
from ..summary import format_html
from ..validation import GRAPH_CALLS, check_choice, check_flag, suggest_parameters
from . import scan_index_file
from .run_memory import check_run_memory
from .scan import (
    Clustering,
    Epsilon,
    check_epsilon,
    check_mu,
    cluster,
    clustering_frame,
)
from .scan_index_file import IndexStorage
from .similarity import (
    KERNEL_METHODS,
    KernelMethod,
    SimilarityGraph,
    closed_sizes,
    common_neighbors,
    neighborhoods,
    undirected_graph,
)

CHUNK_ARCS = 2**20  # arcs whose positions in their lists are computed at a time

QUERY_CALLS = {
    name: f"rg.ScanIndex(graph).query({name}=...)" for name in ("epsilon", "mu", "memberships")
}
EPSILONS, MUS = tuple(i / 10 for i in range(1, 10)), (2, 3, 4, 5)
SWEEP_COLUMNS = {
    "epsilon": np.float64,
    "mu": np.int64,
    "clusters": np.int64,
    "largest": np.int64,
    "clustered": np.float64,
    "cores": np.int64,
    "hubs": np.int64,
    "outliers": np.int64,
    "modularity": np.float64,
}


class ScanIndex:
    """Index the structural similarities of a graph for clusterings with any epsilon and mu.

    Parameters
    ----------
    graph : Graph or edge frame
        Edges are taken as undirected; self-loops, parallel edges and weights are ignored. The index
        keeps no reference to the graph.
    method : {"auto", "gpuscan"}, default "auto"
        How common neighbors are counted; see `structural_similarity`.

    Raises
    ------
    GraphError
        If `method` is unknown, a name column is called `cluster` or `role`, or the frame has no
        columns `source` and `destination`.
    InsufficientMemoryError
        If the index would not fit into memory; raised before it is built.

    See Also
    --------
    scan : Cluster a graph for one epsilon and mu.

    Notes
    -----
    The index has the neighbors of every vertex by descending similarity [1]_. It takes 24 bytes per
    edge and 12 per vertex. Building it takes the time of one `structural_similarity` and two sorts
    of the arcs.

    References
    ----------
    .. [1] D. Wen, L. Qin, Y. Zhang, L. Chang and X. Lin, "Efficient structural graph clustering: an
       index-based approach", Proc. VLDB Endow. 11(3), 2017.
       https://doi.org/10.14778/3157794.3157795

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 3]})
    >>> index = rg.ScanIndex(edges)
    >>> index.query(epsilon=0.8, mu=3)["role"].tolist()
    ['core', 'core', 'core', 'outlier']
    >>> index.sweep([0.7, 0.8], [3])[["epsilon", "mu", "clusters", "clustered"]]
       epsilon  mu  clusters  clustered
    0      0.7   3         1       1.00
    1      0.8   3         1       0.75
    """

    @functools.partial(suggest_parameters, other_calls=QUERY_CALLS | GRAPH_CALLS)
    def __init__(self, graph: GraphLike, *, method: KernelMethod = "auto") -> None:
        is_loaded = isinstance(graph, IndexStorage)  # from `open`
        self._storage = graph if is_loaded else _build_storage(graph, method)

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self._storage.labeling.num_vertices

    @property
    def device(self) -> str:
        """Device of the index, "cpu" or "gpu"."""
        return self._storage.labeling.device

    @property
    def num_edges(self) -> int:
        """Number of edges without self-loops and parallel edges."""
        return self._storage.common.size // 2

    @property
    def nbytes(self) -> int:
        """Size of the index in bytes, without vertex names."""
        return self._storage.nbytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to an Arrow file, which `ScanIndex.open` reads.

        Parameters
        ----------
        path : str or path-like
            File with the suffix .arrow or .feather. An existing file is replaced once the new one
            is complete.

        Raises
        ------
        GraphError
            If the suffix is another, the folder does not exist, or permission is denied.
        """
        scan_index_file.save(path, self._storage)

    @classmethod
    @suggest_parameters
    def open(cls, path: str | os.PathLike[str], *, device: Device = "auto") -> ScanIndex:
        """Open an index that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            File that `save` wrote.
        device : {"auto", "cpu", "gpu"}, default "auto"
            Memory to load the index into; "auto" is the GPU if one works.

        Returns
        -------
        ScanIndex
            Index whose results are pandas frames, or cuDF frames on a GPU.

        Raises
        ------
        GraphError
            If the file does not exist, is not an index or is damaged, or has an invalid value; the
            error has the path, the field and the value.
        GpuUnavailableError
            If `device` is "gpu" and no GPU works.
        """
        xp = np if choose(device) == "cpu" else import_cupy()
        return cls(scan_index_file.load(path, xp))

    @suggest_parameters
    def query(self, epsilon: Epsilon = 0.5, mu: int = 3, memberships: bool = False) -> Frame:
        """Return the clustering for an epsilon and mu, as `scan` does.

        Parameters
        ----------
        epsilon : float, Fraction or Decimal, default 0.5
            Least similarity of similar neighbors; see `scan`.
        mu : int, default 3
            Least number of vertices that a core is similar to; see `scan`.
        memberships : bool, default False
            Whether a border has a row for each of its clusters; see `scan`.

        Returns
        -------
        frame
            Columns `vertex`, `cluster` and `role`; see `scan`.

        Raises
        ------
        GraphError
            If `epsilon`, `mu` or `memberships` is invalid.

        Notes
        -----
        The time is proportional to the number of clustered vertices and of their similar neighbors,
        besides the time to write one row per vertex.

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": [0, 0, 1], "destination": [1, 2, 2]})
        >>> rg.ScanIndex(edges).query(epsilon=0.9, mu=2)
           vertex  cluster  role
        0       0        0  core
        1       1        0  core
        2       2        0  core
        """
        check_flag("memberships", memberships)
        clustering = self._clustering(check_epsilon(epsilon), check_mu(mu))
        return clustering_frame(self._storage.labeling, clustering, memberships)

    @suggest_parameters
    def sweep(
        self, epsilons: Epsilon | Iterable[Epsilon] = EPSILONS, mus: int | Iterable[int] = MUS
    ) -> Frame:
        """Summarize the clustering of each pair of an epsilon and a mu.

        Parameters
        ----------
        epsilons, mus : iterable or scalar
            Values as `scan` takes them. Each float is the decimal it prints as:
            ``numpy.linspace(0.1, 0.9, 9)`` has 0.30000000000000004, which is above 0.3; write
            ``[i / 10 for i in range(1, 10)]`` or ``numpy.linspace(0.1, 0.9, 9).round(2)``.

        Returns
        -------
        frame
            One row per pair, mus within epsilons in the given order: `epsilon` (float64), `mu`,
            `clusters` (int64), `largest` (vertices of the largest cluster, int64), `clustered`
            (fraction of the vertices that are in a cluster, float64), `cores`, `hubs`, `outliers`
            (int64) and `modularity` (float64), that of Newman and Girvan [1]_, where each
            vertex without a cluster is a community of its own; 0 if there is no edge.

        Raises
        ------
        GraphError
            If a value is invalid, or there is none.

        References
        ----------
        .. [1] M. E. J. Newman and M. Girvan, "Finding and evaluating community structure in
           networks", Phys. Rev. E 69, 026113, 2004. https://doi.org/10.1103/PhysRevE.69.026113

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": [0, 0, 1], "destination": [1, 2, 2]})
        >>> rg.ScanIndex(edges).sweep(0.9, [2, 4])[["mu", "clusters", "outliers"]]
           mu  clusters  outliers
        0   2         1         0
        1   4         0         3
        """
        exact_epsilons = [check_epsilon(epsilon) for epsilon in _as_list(epsilons, "epsilons")]
        mus = [check_mu(mu) for mu in _as_list(mus, "mus")]
        if max(mus) >= 2**63:
            raise GraphError(
                f"mu is {format_value(max(mus))}; the column mu holds values below 2^63",
                parameter="mus",
                value=max(mus),
            )
        rows = [
            (float(epsilon), mu, *self._summary(self._clustering(epsilon, mu)))
            for epsilon in exact_epsilons
            for mu in mus
        ]
        labeling = self._storage.labeling
        columns = {
            name: labeling.xp.asarray(values, dtype)
            for (name, dtype), values in zip(SWEEP_COLUMNS.items(), zip(*rows))
        }
        return frames.make_frame(labeling.library, columns)

    def _clustering(self, epsilon: Fraction, mu: int) -> Clustering:
        storage, xp = self._storage, self._storage.labeling.xp
        similar = SimilarityGraph(
            storage.adjacency, storage.common, epsilon, storage.sizes, is_ordered=True
        )
        is_core = device.full(self.num_vertices, mu == 1, bool, xp)
        offsets = storage.core_offsets
        if 1 < mu <= offsets.size:
            start = int(offsets[mu - 2])
            stop = int(offsets[mu - 1]) if mu < offsets.size else storage.cores.size
            device.launch(
                "scan", "mark_indexed_cores", size=stop - start,
                num_candidates=stop - start, mu=mu, floor=similar.min_level, **similar.threshold,
                candidates=storage.cores[start:stop], **similar.arrays, is_core=is_core,
            )  # fmt: skip
        return cluster(similar, is_core)

    def _summary(self, clustering: Clustering) -> tuple[Any, ...]:
        """Return the columns of `sweep` from `clusters` on."""
        roles = [device.count_nonzero(clustering.roles == role) for role in (CORE, HUB, OUTLIER)]
        clustered = clustering.members.size / max(self.num_vertices, 1)
        largest = device.count_nonzero(clustering.clusters == 0)  # clusters are numbered by size
        modularity = self._modularity(clustering)
        return clustering.num_clusters, largest, clustered, *roles, modularity

    def _modularity(self, clustering: Clustering) -> float:
        xp, num_arcs = self._storage.labeling.xp, self._storage.common.size
        if not num_arcs:
            return 0.0
        num_internal_arcs, adjacency = xp.zeros(1, xp.int64), clustering.similar.adjacency
        clustering.similar.launch_on_rows(
            "count_internal_arcs", clustering.members, offsets=adjacency.offsets,
            neighbors=adjacency.neighbors, labels=clustering.clusters,
            num_internal_arcs=num_internal_arcs,
        )  # fmt: skip
        degrees = (self._storage.sizes - 1).astype(xp.float64)
        cluster_degrees = xp.zeros(clustering.num_clusters)
        member_degrees = degrees[clustering.members]
        device.launch(
            "key_sums", "sum_by_key", size=member_degrees.size,
            num_items=member_degrees.size, keys=clustering.clusters[clustering.members],
            weights=member_degrees, weighted=True, sums=cluster_degrees,
        )  # fmt: skip
        single_degrees = degrees[clustering.clusters < 0]
        expected = sum(
            float(((community / num_arcs) ** 2).sum())
            for community in (cluster_degrees, single_degrees)
        )
        return int(num_internal_arcs[0]) / num_arcs - expected

    def __repr__(self) -> str:
        size = f"{self.num_vertices:,} vertices, {self.num_edges:,} edges"
        return f"<ScanIndex: {size}, {self.nbytes:,} bytes, {self.device}>"

    def _repr_html_(self) -> str:
        properties = {
            "vertices": self.num_vertices, "edges": self.num_edges, "device": self.device,
            "nbytes": self.nbytes,
        }  # fmt: skip
        return format_html("ScanIndex", properties)


def _build_storage(edges: GraphLike, method: KernelMethod) -> IndexStorage:
    check_choice("method", method, KERNEL_METHODS)
    graph = undirected_graph(
        edges, "common neighbors", "index similarities", "mark indexed cores", "cluster"
    )
    graph.labeling.check_name_collisions("cluster", "role")
    check_run_memory(graph, "scan_index", f"an index of {graph.num_edges:,} edges")
    adjacency, common = neighborhoods(graph), common_neighbors(graph, method)
    return _sort_by_similarity(graph, adjacency, common, closed_sizes(graph))


def _sort_by_similarity(
    graph: LocalGraph, adjacency: Adjacency, common: Array, sizes: Array
) -> IndexStorage:
    xp, num_arcs = graph.xp, common.size
    pairs = [row_indices(adjacency), xp.empty(num_arcs, xp.int32)]
    descent = pairs[1]
    device.launch(
        "scan", "compute_levels", size=num_arcs,
        num_arcs=num_arcs, sources=pairs[0], neighbors=adjacency.neighbors, common=common,
        sizes=sizes, descent=descent,
    )  # fmt: skip
    order = sort_pairs(pairs, graph.num_vertices, SIMILARITY_LEVELS, with_order=True).order
    neighbors, common, descent = (
        permute(values, order) for values in (adjacency.neighbors, common, descent)
    )
    del order
    adjacency = Adjacency(adjacency.offsets, neighbors, xp.empty(0))
    # The k-th neighbor of a vertex, counted from 0, makes it a core for mu = k + 2.
    rows = row_indices(adjacency)
    positions = xp.empty(num_arcs, xp.int32)
    for start in range(0, num_arcs, CHUNK_ARCS):
        stop = min(start + CHUNK_ARCS, num_arcs)
        device.launch(
            "scan", "find_positions", size=stop - start, num_arcs=stop - start, first_arc=start,
            rows=rows[start:stop], offsets=adjacency.offsets, positions=positions[start:stop],
        )  # fmt: skip
    pairs = [positions, descent]
    del positions, descent
    max_size = int(sizes.max()) if graph.num_vertices else 1
    offsets, _, order, _ = sort_pairs(pairs, max_size, SIMILARITY_LEVELS, with_order=True)
    cores = permute(rows, order)
    core_offsets = np.array(to_host(offsets[:max_size]))  # releases the offsets
    return IndexStorage(graph.labeling, adjacency, common, sizes, cores, core_offsets)


def _as_list(values: Any, parameter: str) -> list[Any]:
    values = to_host(values)
    is_one = isinstance(values, (str, bytes)) or not hasattr(values, "__iter__")
    if is_one or getattr(values, "ndim", 1) == 0:
        return [values]
    if isinstance(values, range) and values and values[-1] - values[0] >= 2**31:
        raise GraphError(
            f"{parameter} is {format_value(values)}; give less than 2^31 values",
            parameter=parameter,
            value=values,
        )
    values = list(values)
    if not values:
        raise GraphError(
            f"{parameter} is empty; give at least one value", parameter=parameter, value=values
        )
    return values
