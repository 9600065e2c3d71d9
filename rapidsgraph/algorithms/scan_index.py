"""An index of structural similarities, from which clusterings for any epsilon and mu are read.

The index holds the neighbors of each vertex by descending similarity, and for every mu the vertices
that can be cores by the largest epsilon at which they are. A query reads only the beginnings of
these lists. The index takes 24 bytes per edge.

Lists are sorted by level, which is the similarity in units of 2^-20. Within a level neighbors are
compared exactly, so levels only determine where the scan of a list may stop.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array, choose, import_cupy
from ..errors import GraphError, format_value
from ..graph.csr import Adjacency, row_indices, sort_pairs
from ..graph.labeling import Labeling
from ..kernels.constants import SIMILARITY_LEVELS
from ..memory import check_run_memory
from ..validation import check_choice, check_flag
from . import scan_index_file
from .clustering import (
    CORE,
    HUB,
    OUTLIER,
    Clustering,
    SimilarityGraph,
    closed_neighborhood_sizes,
    cluster,
)
from .scan import check_epsilon, check_mu, clustering_frame
from .similarity import METHODS, common_neighbors, neighborhoods, undirected_graph

CHUNK_ARCS = 2**20  # whose positions in their lists are computed at a time

STORED = ("offsets", "neighbors", "common", "cores", "core_offsets")
EPSILONS, MUS = tuple(i / 10 for i in range(1, 10)), (2, 3, 4, 5)
SWEEP = {
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
        Graph as `scan` takes it. The index keeps no reference to it.
    method : {"auto", "gpuscan"}, default "auto"
        How common neighbors are counted; see `structural_similarity`.

    Raises
    ------
    GraphError
        A parameter or the frame cannot be used.
    InsufficientMemoryError
        The index would not fit into memory; raised before it is built.

    See Also
    --------
    scan : Cluster a graph for one epsilon and mu.

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

    def __init__(self, graph: Any, *, method: str = "auto") -> None:
        check_choice("method", method, METHODS)
        graph = undirected_graph(graph)
        graph.labeling.check_name_collisions("cluster", "role")
        check_run_memory(graph, "scan_index", f"an index of {graph.num_edges:,} edges")
        self.labeling = graph.labeling
        lists, common = neighborhoods(graph), common_neighbors(graph, method)
        self._sizes = closed_neighborhood_sizes(lists)
        self._order_neighbors(lists, common)

    def _order_neighbors(self, lists: Adjacency, common: Array) -> None:
        xp, arcs = self.labeling.xp, common.size
        pairs = [row_indices(lists), xp.empty(arcs, xp.int32)]
        descent = pairs[1]
        device.launch(
            "scan", "compute_levels", size=arcs,
            num_arcs=arcs, sources=pairs[0], neighbors=lists.neighbors, common=common,
            sizes=self._sizes, descent=descent,
        )  # fmt: skip
        bound = max(self.num_vertices, SIMILARITY_LEVELS)
        order = sort_pairs(pairs, bound, with_order=True)[2]
        neighbors, common, descent = (
            _permute(values, order) for values in (lists.neighbors, common, descent)
        )
        del order
        self._adjacency, self._common = Adjacency(lists.offsets, neighbors, xp.empty(0)), common
        # The k-th neighbor of a vertex makes it a core for mu = k + 2.
        rows = row_indices(lists)
        places = xp.empty(arcs, xp.int32)
        for start in range(0, arcs, CHUNK_ARCS):
            stop = min(start + CHUNK_ARCS, arcs)
            places[start:stop] = xp.arange(start, stop) - lists.offsets[rows[start:stop]]
        pairs = [places, descent]
        del places, descent
        offsets, _, order = sort_pairs(pairs, bound, with_order=True)
        self._cores = _permute(rows, order)
        largest = int(self._sizes.max()) if self.num_vertices else 1
        offsets = offsets[:largest]
        self._core_offsets = offsets.get() if device.is_on_gpu(offsets) else offsets.copy()

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self.labeling.num_vertices

    @property
    def device(self) -> str:
        """Device of the index, "cpu" or "gpu"."""
        return self.labeling.device

    @property
    def num_edges(self) -> int:
        """Number of edges without self-loops and parallel edges."""
        return self._common.size // 2

    @property
    def nbytes(self) -> int:
        """Size of the index in bytes, without vertex names."""
        arrays = self._common, self._sizes, self._cores, self._core_offsets
        return self._adjacency.nbytes + sum(array.nbytes for array in arrays)

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
            The suffix is another, the folder does not exist, or permission is denied.
        """
        lists = self._adjacency
        arrays = lists.offsets, lists.neighbors, self._common, self._cores, self._core_offsets
        scan_index_file.save(
            path,
            dict(zip(STORED, arrays, strict=True)),
            self.labeling.names,
            self.labeling.is_endpoint_specific,
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, device: str = "auto") -> ScanIndex:
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
            The file does not exist, is no index or is damaged, or holds an invalid value; the
            message names the file, the field and the value.
        GpuUnavailableError
            `device` is "gpu" and no GPU works.
        """
        index = object.__new__(cls)
        on_cpu = choose(device) == "cpu"
        xp = np if on_cpu else import_cupy()
        arrays, names, is_endpoint_specific = scan_index_file.load(path, xp)
        library = "pandas" if on_cpu else "cudf"
        index.labeling = Labeling(names, xp, library, is_endpoint_specific, names.labels)
        offsets, neighbors, index._common, index._cores, cores = (arrays[name] for name in STORED)
        index._adjacency = Adjacency(offsets, neighbors, xp.empty(0))
        index._sizes = closed_neighborhood_sizes(index._adjacency)
        index._core_offsets = cores if on_cpu else cores.get()
        return index

    def query(self, epsilon: Any = 0.5, mu: int = 3, memberships: bool = False) -> Any:
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
            A parameter is invalid.

        Notes
        -----
        The time depends on the number of clustered vertices and their similar neighbors, besides
        the time to write one row per vertex.
        """
        check_flag("memberships", memberships)
        clustering = self._clustering(check_epsilon(epsilon), check_mu(mu))
        return clustering_frame(self.labeling, clustering, memberships)

    def sweep(self, epsilons: Any = EPSILONS, mus: Any = MUS) -> Any:
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
            (int64) and `modularity` (float64), Newman's, of the partition in which each vertex
            without a cluster is a part of its own; 0 if there is no edge.

        Raises
        ------
        GraphError
            A value is invalid, or there is none.
        """
        epsilons = [check_epsilon(epsilon) for epsilon in _as_list(epsilons, "epsilons")]
        mus = [check_mu(mu) for mu in _as_list(mus, "mus")]
        if max(mus) >= 2**63:
            raise GraphError(
                f"mu is {format_value(max(mus))}; a table has room for less than 2^63",
                parameter="mus",
                value=max(mus),
            )
        rows = [
            (float(epsilon), mu, *self._summary(self._clustering(epsilon, mu)))
            for epsilon in epsilons
            for mu in mus
        ]
        columns = {
            name: self.labeling.xp.asarray([row[place] for row in rows], kind)
            for place, (name, kind) in enumerate(SWEEP.items())
        }
        return frames.make_frame(self.labeling.library, columns)

    def _clustering(self, epsilon: Any, mu: int) -> Clustering:
        xp, vertices = self.labeling.xp, self.num_vertices
        similar = SimilarityGraph(
            self._adjacency, self._common, self._sizes, epsilon, is_ordered=True
        )
        is_core = xp.full(vertices, mu == 1, bool)
        if 1 < mu <= self._core_offsets.size:
            start, is_last = int(self._core_offsets[mu - 2]), mu == self._core_offsets.size
            stop = self._cores.size if is_last else int(self._core_offsets[mu - 1])
            device.launch(
                "scan", "mark_indexed_cores", size=stop - start,
                num_candidates=stop - start, mu=mu, floor=similar.floor, **similar.threshold,
                candidates=self._cores[start:stop], **similar.lists, is_core=is_core,
            )  # fmt: skip
        return cluster(similar, is_core)

    def _summary(self, clustering: Clustering) -> tuple[Any, ...]:
        """Return the columns of `sweep` from `clusters` on."""
        roles = [int((clustering.roles == role).sum()) for role in (CORE, HUB, OUTLIER)]
        clustered = clustering.members.size / max(self.num_vertices, 1)
        largest = int((clustering.clusters == 0).sum())  # clusters are numbered by size
        return clustering.count, largest, clustered, *roles, self._modularity(clustering)

    def _modularity(self, clustering: Clustering) -> float:
        xp, arcs = self.labeling.xp, self._common.size
        if not arcs:
            return 0.0
        inside, adjacency = xp.zeros(1, xp.int64), clustering.similar.adjacency
        clustering.similar.run(
            "count_internal_arcs", clustering.members, offsets=adjacency.offsets,
            neighbors=adjacency.neighbors, labels=clustering.clusters, num_internal_arcs=inside,
        )  # fmt: skip
        degrees = (self._sizes - 1).astype(xp.float64)
        cluster_degrees = xp.zeros(clustering.count)
        member_degrees = degrees[clustering.members]
        device.launch(
            "build", "sum_by_key", size=member_degrees.size,
            num_items=member_degrees.size, keys=clustering.clusters[clustering.members],
            weights=member_degrees, weighted=True, sums=cluster_degrees,
        )  # fmt: skip
        single_degrees = degrees[clustering.clusters < 0]
        expected = sum(
            float(((each / arcs) ** 2).sum()) for each in (cluster_degrees, single_degrees)
        )
        return int(inside[0]) / arcs - expected

    def __repr__(self) -> str:
        size = f"{self.num_vertices:,} vertices, {self.num_edges:,} edges"
        return f"<ScanIndex: {size}, {self.nbytes:,} bytes, {self.device}>"


def _permute(values: Array, order: Array) -> Array:
    permuted = device.array_module(values).empty_like(values)
    device.launch(
        "build", "permute", size=order.size,
        num_items=order.size, order=order, values=values, new_values=permuted,
    )  # fmt: skip
    return permuted


def _as_list(values: Any, parameter: str) -> list[Any]:
    values = values.get() if device.is_on_gpu(values) else values
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
        raise GraphError(f"{parameter} is empty; give at least one value", parameter=parameter)
    return values
