"""Structural similarity: the similarity of the neighborhoods of adjacent vertices.

Common neighbors are counted by triangles, with edges oriented from low to high degree. Method
`gpuscan` compares whole adjacency lists. Similarities are compared with an epsilon exactly, as
integers: common^2 / (|N[u]| |N[v]|) with epsilon^2.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from .. import device
from ..device import Array
from ..frames import Frame
from ..graph.build import as_local_graph
from ..graph.csr import (
    Adjacency,
    count_upper,
    offsets_from_sizes,
    row_indices,
    simplify,
    to_undirected,
)
from ..graph.local_graph import GraphLike, LocalGraph
from ..graph.vertex_names import Labeling
from ..kernels.constants import BLOCK_THREADS, SIMILARITY_LEVELS, SIMILARITY_STRUCTURAL, WARP
from .parameters import Parameters
from .run_memory import check_run_memory

ScanMethod = Literal["auto", "frames", "gpuscan"]
KernelMethod = Literal["auto", "gpuscan"]  # of a ScanIndex
METHODS, KERNEL_METHODS = get_args(ScanMethod), get_args(KernelMethod)
MAX_SIZE = np.iinfo(np.int32).max  # of a closed neighborhood
MAX_MERGE_DEGREE = 16  # up to this maximum degree, all adjacency lists are merged as they are
# Of a small graph whose lists are merged as well; on a CPU, the number of arcs decides alone.
MAX_MERGE_ARCS, MAX_MERGE_STEPS = 2**15, 2**16
MAX_THREAD_DEGREE = 8  # of a vertex whose triangles one thread counts
MAX_CPU_DEGREE = np.iinfo(np.int32).max  # the same on a CPU, which has one kernel for all degrees
MAX_WARP_DEGREE = 128  # of a vertex whose triangles one warp counts; a block counts the others
WARP_TABLE_SIZE = 512  # slots of the hash table of a warp
MAX_BLOCK_TABLE_SIZE = 8192  # slots of the hash table of a block
WARPS_PER_BLOCK = 8  # in count_by_warp
BYTES_PER_SLOT = 8  # a key and a count


def structural_similarity(graph: GraphLike, parameters: Parameters) -> Frame:
    """Compare the endpoints of every edge; see `rapidsgraph.structural_similarity`."""
    graph = undirected_graph(graph, "list similarities", "common neighbors")
    graph.labeling.check_edge_collisions("similarity")
    check_run_memory(graph, "structural_similarity", f"similarity of {graph.num_edges:,} edges")
    adjacency, common = neighborhoods(graph), common_neighbors(graph, parameters.method)
    return similarity_frame(
        graph.labeling, adjacency, common, closed_sizes(graph), edge_offsets(graph)
    )


def similarity_frame(
    labeling: Labeling, adjacency: Adjacency, common: Array, sizes: Array, starts: Array
) -> Frame:
    """Return the result frame of `structural_similarity`; see `compare_endpoints`."""
    sources, destinations, similarities = compare_endpoints(
        adjacency, common, sizes, starts, SIMILARITY_STRUCTURAL
    )
    return labeling.edge_frame(sources, destinations, {"similarity": similarities})


def compare_endpoints(
    adjacency: Adjacency, common: Array, sizes: Array, starts: Array, kind: int
) -> tuple[Array, Array, Array]:
    """Return the sources and destinations of all edges, int32, and their similarity, float64.

    Parameters
    ----------
    adjacency : Adjacency
        A partition of a graph has rows of its own range.
    common : int32 array, shape (arcs,)
        Common neighbors of closed neighborhoods.
    sizes : int32 array, shape (vertices,)
        Sizes of all closed neighborhoods.
    starts : int64 array, shape (vertices + 1,)
        From `list_edge_offsets`.
    kind : int
        A constant of the kernels, such as SIMILARITY_JACCARD.
    """
    xp, num_vertices = device.array_module(common), sizes.size
    num_edges = int(starts[-1])
    sources, destinations = xp.empty(num_edges, xp.int32), xp.empty(num_edges, xp.int32)
    similarities = xp.empty(num_edges)
    device.launch(
        "similarity", "list_edges", size=num_vertices + common.size,
        num_vertices=num_vertices, kind=kind, offsets=adjacency.offsets,
        neighbors=adjacency.neighbors, common=common, sizes=sizes, starts=starts, sources=sources,
        destinations=destinations, similarities=similarities,
    )  # fmt: skip
    return sources, destinations, similarities


def undirected_graph(edges: GraphLike, *stages: str) -> LocalGraph:
    """Return the storage of a graph; build an undirected one without self-loops from a frame.

    On a GPU, this starts to compile the kernels of `stages`.
    """
    return as_local_graph(
        edges, compile_ahead=lambda _: device.compile_ahead(*stages), directed=False,
        self_loops="drop",
    )  # fmt: skip


def neighborhoods(graph: LocalGraph) -> Adjacency:
    """Return the undirected simple graph, without weights; cached on the graph."""

    def compute() -> Adjacency:
        if graph.directed:
            return to_undirected(graph.first_adjacency()[1])
        return simplify(graph.csr, is_merged=graph.is_merged, is_loopless=graph.is_loopless)

    return graph.cached("neighborhoods", compute)


def common_neighbors(graph: LocalGraph, method: str = "auto") -> Array:
    """Return |N[u] & N[v]| of every arc (u, v) of `neighborhoods`, int32; cached on the graph."""
    count = count_by_triangles if method == "auto" else _count_by_comparison
    return graph.cached(_counts_key(method), lambda: count(neighborhoods(graph)))


def closed_sizes(graph: LocalGraph) -> Array:
    """Return the size of every closed neighborhood, int32; cached on the graph."""
    return graph.cached(
        "closed neighborhood sizes", lambda: closed_neighborhood_sizes(neighborhoods(graph))
    )


def edge_offsets(graph: LocalGraph) -> Array:
    """Return the `list_edge_offsets` of `neighborhoods`; cached on the graph."""
    return graph.cached("edge offsets", lambda: list_edge_offsets(neighborhoods(graph)))


def list_edge_offsets(adjacency: Adjacency) -> Array:
    """Return the int64 offsets of the edges of every row in a list with each edge once."""
    return offsets_from_sizes(count_upper(adjacency))


def has_common_neighbors(graph: LocalGraph, method: str = "auto") -> bool:
    """Return whether `common_neighbors` are cached on the graph."""
    return graph.is_cached(_counts_key(method))


def _counts_key(method: str) -> str:
    return f"common neighbors, {method}"


def count_by_triangles(adjacency: Adjacency) -> Array:
    """Return |N[u] & N[v]| of every arc (u, v) of an undirected simple graph: int32."""
    xp = device.array_module(adjacency.neighbors)
    lists = {"offsets": adjacency.offsets, "neighbors": adjacency.neighbors}
    num_vertices, num_arcs = adjacency.offsets.size - 1, adjacency.neighbors.size
    size, common = num_vertices + num_arcs, xp.empty(num_arcs, xp.int32)
    is_small = xp is np and num_arcs <= MAX_MERGE_ARCS
    is_small |= max_merge_steps(num_vertices, num_arcs) <= MAX_MERGE_STEPS
    degrees = None if is_small else measure_degrees(adjacency)
    if degrees is None or is_merging_cheap(degrees, num_arcs):
        device.launch(
            "similarity", "merge_lists", size=size,
            num_vertices=num_vertices, **lists, common=common,
        )  # fmt: skip
        return common
    upper = orient_by_degree(adjacency, degrees)
    triangles = xp.zeros(upper.neighbors.size, xp.int32)
    count_triangles(adjacency, degrees, upper, triangles)
    device.launch(
        "similarity", "assign_counts", size=size,
        num_vertices=num_vertices, degrees=degrees, **lists, upper_offsets=upper.offsets,
        upper_neighbors=upper.neighbors, triangles=triangles, common=common,
    )  # fmt: skip
    return common


def max_merge_steps(num_vertices: int, num_arcs: int) -> float:
    """Return an upper bound of the sum of squared degrees of an undirected simple graph [1]_.

    References
    ----------
    .. [1] D. de Caen, "An upper bound on the sum of squares of degrees in a graph", Discrete Math.
       185(1-3), 1998. https://doi.org/10.1016/S0012-365X(97)00213-6
    """
    num_others = max(num_vertices - 1, 1)
    return num_arcs / 2 * (num_arcs / num_others + num_others - 1)


def is_merging_cheap(degrees: Array, num_arcs: int) -> bool:
    """Return whether merging takes less time than orienting edges, which takes more launches."""
    max_degree = int(degrees.max())
    if max_degree <= MAX_MERGE_DEGREE or num_arcs * max_degree <= MAX_MERGE_STEPS:
        return True
    if num_arcs > MAX_MERGE_ARCS:
        return False
    # An upper bound of the steps; at most the square of the arcs, it fits in 32 bits.
    num_steps = device.array_module(degrees).zeros(1, "int64")
    device.launch(
        "similarity", "count_steps", size=degrees.size,
        num_vertices=degrees.size, degrees=degrees, num_steps=num_steps,
    )  # fmt: skip
    return int(num_steps[0]) <= MAX_MERGE_STEPS


def orient_by_degree(adjacency: Adjacency, degrees: Array) -> Adjacency:
    """Return the upper lists of the rows: neighbors of higher degree, or as high and later.

    `degrees` are int32, of all vertices; a partition of a graph has rows of its own range only.
    """
    xp, num_vertices = device.array_module(degrees), degrees.size
    upper_degrees = xp.empty(num_vertices, xp.int64)
    arguments: dict[str, Any] = {
        "size": num_vertices + adjacency.neighbors.size, "num_vertices": num_vertices,
        "offsets": adjacency.offsets, "neighbors": adjacency.neighbors, "degrees": degrees,
    }  # fmt: skip
    device.launch("similarity", "count_upper", sizes=upper_degrees, **arguments)
    offsets = offsets_from_sizes(upper_degrees)
    neighbors = xp.empty(int(offsets[-1]), xp.int32)
    device.launch(
        "similarity", "gather_upper", upper_offsets=offsets, upper_neighbors=neighbors, **arguments
    )
    return Adjacency(offsets, neighbors, xp.empty(0))


def count_triangles(
    adjacency: Adjacency, degrees: Array, upper: Adjacency, triangles: Array
) -> None:
    """Add the triangles whose owner is a row of `adjacency` to the counts of their edges.

    Parameters
    ----------
    adjacency : Adjacency
        Arcs from owners to the other endpoints of their edges. It may have the arcs of some edges
        only; all triangles are counted once every edge has been in it from both sides.
    degrees : int32 array, shape (vertices,)
        Degrees in the whole graph.
    upper : Adjacency
        Upper lists of both endpoints of these arcs; others may be empty.
    triangles : int32 array
        Number of triangles of every edge of `upper`.
    """
    xp, num_vertices = device.array_module(degrees), degrees.size
    upper_degrees = measure_degrees(upper)
    max_upper_degree = int(upper_degrees.max()) if num_vertices else 0
    if max_upper_degree < 2 or not adjacency.neighbors.size:
        return  # there is no triangle
    size = num_vertices + adjacency.neighbors.size
    lists = {
        "offsets": adjacency.offsets, "neighbors": adjacency.neighbors,
        "upper_offsets": upper.offsets, "upper_neighbors": upper.neighbors, "triangles": triangles,
    }  # fmt: skip
    max_degree = MAX_CPU_DEGREE if xp is np else MAX_THREAD_DEGREE
    device.launch(
        "similarity", "count_by_thread", size=size,
        num_vertices=num_vertices, max_degree=max_degree, degrees=degrees, **lists,
    )  # fmt: skip
    if max_degree >= num_vertices:
        return
    block_table_size = max(64, 1 << (2 * max_upper_degree - 1).bit_length())
    is_owner = xp.empty(num_vertices, bool)
    for entry, min_owner_degree, max_owner_degree, table_size, num_warps, num_tables in (
        ("count_by_warp", max_degree + 1, MAX_WARP_DEGREE,
         WARP_TABLE_SIZE, WARPS_PER_BLOCK, WARPS_PER_BLOCK),
        ("count_by_block", MAX_WARP_DEGREE + 1, num_vertices,
         min(block_table_size, MAX_BLOCK_TABLE_SIZE), 16, 1),
    ):  # fmt: skip
        device.launch(
            "similarity", "mark_owners", size=num_vertices,
            num_vertices=num_vertices, min_degree=min_owner_degree, max_degree=max_owner_degree,
            degrees=degrees, offsets=adjacency.offsets, upper_offsets=upper.offsets,
            is_owner=is_owner,
        )  # fmt: skip
        owners = device.flatnonzero(is_owner)
        if owners.size:
            device.launch(
                "similarity", entry, size=size, threads=WARP * num_warps,
                shared_bytes=BYTES_PER_SLOT * table_size * num_tables,
                num_owners=owners.size, owners=owners, next_owner=xp.zeros(1, xp.int64),
                table_size=table_size, **lists,
            )  # fmt: skip


def _count_by_comparison(adjacency: Adjacency) -> Array:
    xp = device.array_module(adjacency.neighbors)
    num_arcs, sources = adjacency.neighbors.size, row_indices(adjacency)
    common = xp.empty(num_arcs, xp.int32)
    for entry in ("compare_lists", "mirror_counts"):
        device.launch(
            "similarity", entry, size=WARP * num_arcs,
            num_arcs=num_arcs, sources=sources, offsets=adjacency.offsets,
            neighbors=adjacency.neighbors, common=common,
        )  # fmt: skip
    return common


class SimilarityGraph:
    """An undirected simple graph whose arcs connect similar or dissimilar neighbors.

    Parameters
    ----------
    adjacency : Adjacency
        Both directions of every edge.
    common : int32 array, shape (arcs,)
        Common-neighbor count |N[u] & N[v]| of every arc (u, v).
    epsilon : Fraction
        Least similarity of similar neighbors.
    sizes : int32 array, shape (vertices,), optional
        Sizes of all closed neighborhoods; by default those of `adjacency`, which a partition of a
        graph has to pass.
    is_ordered : bool, default False
        Whether adjacency lists are in descending order of similarity level.

    Attributes
    ----------
    arrays : dict of str to array
        Kernel arguments `offsets`, `neighbors`, `common` and `sizes`.
    threshold : dict of str to int
        Kernel arguments: numerator and denominator of the least squared similarity.
    min_level : int
        Least level of a similar neighbor if lists are ordered, else 0.
    """

    def __init__(
        self,
        adjacency: Adjacency,
        common: Array,
        epsilon: Fraction,
        sizes: Array | None = None,
        *,
        is_ordered: bool = False,
    ) -> None:
        if sizes is None:
            sizes = closed_neighborhood_sizes(adjacency)
        self.adjacency = adjacency
        self.arrays: dict[str, Array] = {
            "offsets": adjacency.offsets, "neighbors": adjacency.neighbors, "common": common,
            "sizes": sizes,
        }  # fmt: skip
        self.xp = device.array_module(sizes)
        self.num_vertices, self.num_arcs = sizes.size, common.size
        # A float is closer to epsilon than 1e-9, so no similar neighbor is below this level.
        self.min_level = int(float(epsilon) * SIMILARITY_LEVELS * (1 - 1e-9)) if is_ordered else 0
        numerator, denominator = _least_squared_similarity(*epsilon.as_integer_ratio())
        self.threshold: dict[str, Any] = {"numerator": numerator, "denominator": denominator}

    def launch(self, entry: str, rows: Array, **arguments: Any) -> None:
        """Launch a kernel on the similar neighbors of rows."""
        self.launch_on_rows(
            entry, rows, floor=self.min_level, **self.threshold, **self.arrays, **arguments
        )

    def launch_on_rows(self, entry: str, rows: Array, **arguments: Any) -> None:
        """Launch a kernel on all neighbors of rows, unless there are none."""
        if not rows.size:
            return
        num_arcs = self.num_arcs * rows.size // max(self.num_vertices, 1)  # on average
        geometry = None  # on a GPU a block per row, because few rows may have most arcs
        if self.xp is not np:
            geometry = max(1, min(rows.size, device.max_cooperative_blocks())), BLOCK_THREADS
        device.launch(
            "scan", entry, size=rows.size + num_arcs, geometry=geometry,
            num_rows=rows.size, rows=rows, **arguments,
        )  # fmt: skip


@functools.lru_cache(256)  # arithmetic of fractions takes longer than some kernels
def _least_squared_similarity(numerator: int, denominator: int) -> tuple[int, int]:
    """Return the least squared similarity of similar neighbors for an epsilon, as a fraction."""
    return min_fraction_at_least(Fraction(numerator, denominator) ** 2, MAX_SIZE**2)


def min_fraction_at_least(value: Fraction, max_denominator: int) -> tuple[int, int]:
    """Return the least fraction >= value with a denominator <= max_denominator.

    A squared similarity is a fraction whose denominator is the product of two sizes. So it is at
    least `value` if and only if it is at least this fraction, whose terms fit in 64 bits. The
    convergents of the continued fraction of `value` lead to it [1]_.

    References
    ----------
    .. [1] G. H. Hardy and E. M. Wright, "An introduction to the theory of numbers", chapters 3
       and 10.
    """
    if value.denominator <= max_denominator:
        return value.numerator, value.denominator
    # The convergents of value's continued fraction lead to its neighbors in the Farey sequence.
    previous, convergent = (0, 1), (1, 0)
    remainder = value
    while True:
        term = remainder.numerator // remainder.denominator
        following = previous[0] + term * convergent[0], previous[1] + term * convergent[1]
        if following[1] > max_denominator:
            break
        previous, convergent, remainder = convergent, following, 1 / (remainder - term)
    steps = (max_denominator - previous[1]) // convergent[1]
    semiconvergent = previous[0] + steps * convergent[0], previous[1] + steps * convergent[1]
    return next(
        fraction for fraction in (convergent, semiconvergent) if Fraction(*fraction) >= value
    )


def closed_neighborhood_sizes(adjacency: Adjacency) -> Array:
    """Return the size of every closed neighborhood: int32."""
    return measure_degrees(adjacency, 1)


def measure_degrees(adjacency: Adjacency, shift: int = 0) -> Array:
    """Return the number of neighbors of every row, plus `shift`: int32."""
    num_rows = adjacency.offsets.size - 1
    degrees = device.array_module(adjacency.offsets).empty(num_rows, np.int32)
    device.launch(
        "similarity", "measure_degrees", size=num_rows,
        num_rows=num_rows, shift=shift, offsets=adjacency.offsets, degrees=degrees,
    )  # fmt: skip
    return degrees
