"""ScanIndex: similarities counted once, then clusterings for any epsilon and mu.

Means: each vertex's neighbors in the order of falling similarity, and for every mu the vertices
  that can be cores in the order in which a falling epsilon makes them so. What a query looks at are
  the beginnings of these lists; the rest it leaves alone.
Requires: 24 bytes an edge, kept.
Reference: Wen, Qin, Zhang, Chang, Lin 2017 (GS*-Index).

Lists fall by level: similarity in millionths (2^-20). Within a level neighbors are compared
exactly, as everywhere, so levels only say where a list may be left.
"""

import numpy as np

from .. import device, frames
from ..device import choose, import_cupy
from ..errors import GraphError, format_value
from ..graph.csr import Adjacency, row_indices, sort_pairs
from ..graph.labeling import Labeling
from ..kernels.constants import SIMILARITY_LEVELS
from ..memory import estimate_graph_memory
from ..validation import check_choice, check_flag, check_free_memory
from . import scan_index_file
from .clustering import (
    CORE,
    HUB,
    OUTLIER,
    SimilarityGraph,
    closed_neighborhood_sizes,
    cluster,
)
from .scan import check_epsilon, check_mu, clustering_frame
from .similarity import METHODS, common_neighbors, neighborhoods, undirected_graph

PORTION = 2**20  # arcs whose places in their lists are computed together

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
    """An index of structural similarities.

    Parameters
    ----------
    graph : Graph or edge frame
        As `scan` takes it. The index does not keep it.
    method : {"auto", "gpuscan"}
        How common neighbors are counted; see `structural_similarity`.

    Attributes
    ----------
    num_vertices, num_edges : int
        Self-loops and repeated edges do not count.
    device : {"cpu", "gpu"}
    nbytes : int
        Held, in bytes, without names.

    Raises
    ------
    GraphError
        A frame that cannot be used; the message says why.
    InsufficientMemoryError
        The index would not fit; raised before it is built.

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

    def __init__(self, graph, *, method="auto"):
        check_choice("method", method, METHODS)
        graph = undirected_graph(graph)
        graph.labeling.check_name_collisions("cluster", "role")
        needed = estimate_graph_memory(graph, "scan_index").needed
        check_free_memory(f"an index of {graph.num_edges:,} edges", needed, graph.xp)
        self.labeling = graph.labeling
        lists, common = neighborhoods(graph), common_neighbors(graph, method)
        self._sizes = closed_neighborhood_sizes(lists)
        self._order_neighbors(lists, common)

    def _order_neighbors(self, lists, common):
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
            _permuted(values, order) for values in (lists.neighbors, common, descent)
        )
        del order
        self._adjacency, self._common = Adjacency(lists.offsets, neighbors, xp.empty(0)), common
        # The k-th neighbor of a vertex makes it a core for mu = k + 2.
        rows = row_indices(lists)
        places = xp.empty(arcs, xp.int32)
        for start in range(0, arcs, PORTION):
            stop = min(start + PORTION, arcs)
            places[start:stop] = xp.arange(start, stop) - lists.offsets[rows[start:stop]]
        pairs = [places, descent]
        del places, descent
        offsets, _, order = sort_pairs(pairs, bound, with_order=True)
        self._cores = _permuted(rows, order)
        largest = int(self._sizes.max()) if self.num_vertices else 1
        offsets = offsets[:largest]
        self._core_offsets = offsets.get() if device.is_on_gpu(offsets) else offsets.copy()

    @property
    def num_vertices(self):
        return self.labeling.num_vertices

    @property
    def device(self):
        return self.labeling.device

    @property
    def num_edges(self):
        return self._common.size // 2

    @property
    def nbytes(self):
        arrays = self._common, self._sizes, self._cores, self._core_offsets
        return self._adjacency.nbytes + sum(array.nbytes for array in arrays)

    def save(self, path):
        """Write the index to an Arrow file, to be opened by `ScanIndex.open`.

        Parameters
        ----------
        path : str or path
            With the ending .arrow or .feather. A file of this name is replaced, at the end.

        Raises
        ------
        GraphError
            Another ending, no such folder, or no permission.
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
    def open(cls, path, *, device="auto"):
        """An index that `save` wrote; its results are pandas frames, or cuDF on a GPU.

        Parameters
        ----------
        path : str or path
        device : {"auto", "cpu", "gpu"}
            Where the index is to lie. ``"auto"`` takes the GPU where one works.

        Raises
        ------
        GraphError
            No such file, no index, a damaged one, or one with a value that cannot be; the message
            names the file, the field and the value.
        GpuUnavailableError
            ``device="gpu"`` where none works.
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

    def query(self, epsilon=0.5, mu=3, memberships=False):
        """The clustering for these parameters, as `scan` returns it, which says what they mean.

        Takes time for what is clustered, and to write one row a vertex.
        """
        check_flag("memberships", memberships)
        found = self._clustering(check_epsilon(epsilon), check_mu(mu))
        return clustering_frame(self.labeling, found, memberships)

    def sweep(self, epsilons=EPSILONS, mus=MUS):
        """What each pair of parameters gives, to choose from.

        Parameters
        ----------
        epsilons, mus : iterables
            Of values as `scan` takes them, or one value. Each float is the decimal it prints as:
            ``numpy.linspace(0.1, 0.9, 9)`` has 0.30000000000000004, which is above 0.3; write
            ``[i / 10 for i in range(1, 10)]`` or ``numpy.linspace(0.1, 0.9, 9).round(2)``.

        Returns
        -------
        frame
            One row a pair, mus within epsilons as given: `epsilon` (float64), `mu`, `clusters`
            (int64), `largest` (vertices of the largest cluster, int64), `clustered` (share of the
            vertices that are in a cluster), `cores`, `hubs`, `outliers` (int64) and `modularity`
            (float64), Newman's, of the partition in which a vertex of no cluster is alone; 0 where
            there is no edge.
        """
        epsilons = [check_epsilon(epsilon) for epsilon in _several(epsilons, "epsilons")]
        mus = [check_mu(mu) for mu in _several(mus, "mus")]
        if max(mus) >= 2**63:
            raise GraphError(f"mu is {format_value(max(mus))}; a table has room for less than 2^63")
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

    def _clustering(self, epsilon, mu):
        xp, vertices = self.labeling.xp, self.num_vertices
        similar = SimilarityGraph(
            self._adjacency, self._common, self._sizes, epsilon, is_ordered=True
        )
        is_core = xp.full(vertices, mu == 1, bool)
        if 1 < mu <= self._core_offsets.size:
            begin = int(self._core_offsets[mu - 2])
            end = (
                int(self._core_offsets[mu - 1])
                if mu < self._core_offsets.size
                else self._cores.size
            )
            device.launch(
                "scan", "mark_indexed_cores", size=end - begin,
                num_candidates=end - begin, mu=mu, floor=similar.floor, **similar.threshold,
                candidates=self._cores[begin:end], **similar.lists, is_core=is_core,
            )  # fmt: skip
        return cluster(similar, is_core)

    def _summary(self, found):
        """The columns of `sweep` from `clusters` on."""
        roles = [int((found.roles == role).sum()) for role in (CORE, HUB, OUTLIER)]
        share = found.members.size / max(self.num_vertices, 1)
        largest = int((found.clusters == 0).sum())  # clusters are numbered by size
        return found.count, largest, share, *roles, self._modularity(found)

    def _modularity(self, found):
        xp, arcs = self.labeling.xp, self._common.size
        if not arcs:
            return 0.0
        inside, adjacency = xp.zeros(1, xp.int64), found.similar.adjacency
        found.similar.run(
            "count_internal_arcs", found.members, offsets=adjacency.offsets,
            neighbors=adjacency.neighbors, labels=found.clusters, num_internal_arcs=inside,
        )  # fmt: skip
        degrees = (self._sizes - 1).astype(xp.float64)
        of_clusters = xp.zeros(found.count)
        own = degrees[found.members]
        device.launch(
            "build", "sum_by_key", size=own.size,
            num_items=own.size, keys=found.clusters[found.members], weights=own, weighted=True,
            sums=of_clusters,
        )  # fmt: skip
        alone = degrees[found.clusters < 0]
        expected = sum(float(((share / arcs) ** 2).sum()) for share in (of_clusters, alone))
        return int(inside[0]) / arcs - expected

    def __repr__(self):
        size = f"{self.num_vertices:,} vertices, {self.num_edges:,} edges"
        return f"<ScanIndex: {size}, {self.nbytes:,} bytes, {self.device}>"


def _permuted(values, order):
    moved = device.array_module(values).empty_like(values)
    device.launch(
        "build", "permute", size=order.size,
        num_items=order.size, order=order, values=values, new_values=moved,
    )  # fmt: skip
    return moved


def _several(values, what):
    values = values.get() if device.is_on_gpu(values) else values
    is_one = isinstance(values, (str, bytes)) or not hasattr(values, "__iter__")
    if is_one or getattr(values, "ndim", 1) == 0:
        return [values]
    if isinstance(values, range) and values and values[-1] - values[0] >= 2**31:
        raise GraphError(f"{what} is {format_value(values)}; give less than 2^31 values")
    values = list(values)
    if not values:
        raise GraphError(f"{what} is empty; give at least one value")
    return values
