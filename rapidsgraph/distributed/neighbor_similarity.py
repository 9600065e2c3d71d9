"""Similarity of neighborhoods in a distributed graph: of edges, or of pairs that are given.

The common neighbors of edges are those of `scan`. Of given pairs, each rank has an equal number,
and sends each pair to the rank of the endpoint that has more neighbors. This rank gets the list of
the other endpoint, and returns the count.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .. import device, frames
from ..algorithms import neighbor_similarity as local
from ..algorithms.neighbor_similarity import compare, compare_edges, pair_columns, tabulate_pairs
from ..algorithms.parameters import SimilarityParameters
from ..algorithms.run_memory import ALGORITHM_BYTES, PAIR_BYTES
from ..algorithms.similarity import list_edge_offsets
from ..device.arrays import Array
from ..errors import GraphError
from ..frames import Column, Frame
from ..graph.csr import Adjacency, count_upper, offsets_from_sizes, select_rows
from ..graph.local_graph import GraphLike
from ..graph.vertex_names import Labeling, VertexNames
from ..progress import Report
from ..validation import check_free_memory
from .communicator import Communicator
from .executor import release_on_error
from .graph import DistributedGraph, as_undirected
from .partition import Partition
from .scan import get_common_neighbors
from .storage import finish_frame

MIN_FETCHED_ARCS = 2**20  # of other ranks' lists that a rank may have, even if its own are fewer


@release_on_error
def neighbor_similarity(graph: GraphLike, parameters: SimilarityParameters) -> Frame:
    """Compare the neighborhoods of pairs; see `rapidsgraph.neighbor_similarity`."""
    graph = as_undirected(graph)
    graph.check_edge_collisions(parameters.kind)
    if parameters.pairs is not None:
        pairs = _divide_pairs(graph, parameters.pairs)
        frame, _ = graph.run_for_frame(
            _compare_pairs, graph.simple_partitions(), tuple(graph.bounds), pairs,
            parameters.kind, name="pairs",
        )  # fmt: skip
        return frame
    frame, _ = graph.run_for_frame(
        _compute_similarities, graph.simple_partitions(), tuple(graph.bounds), parameters.kind,
        name="similarity",
    )  # fmt: skip
    return frame


def _divide_pairs(graph: DistributedGraph, pairs: Any) -> list[list[list[Column]]]:
    """Return the name columns of the sources and destinations of each rank's pairs."""
    labeling = graph.schema.labeling(VertexNames(graph.schema.labels, [], 0), np)
    table, size = tabulate_pairs(labeling, pairs), graph.num_partitions
    columns = [
        [frames.get_column(table, name, "vertex", "pairs") for name in names]
        for names in pair_columns(labeling)
    ]
    num_pairs = len(columns[0][0])
    bounds = [num_pairs * rank // size for rank in range(size + 1)]
    return [
        [[_slice(values, start, stop) for values in endpoint] for endpoint in columns]
        for start, stop in pairwise(bounds)
    ]


def _slice(values: Column, start: int, stop: int) -> Column:
    return values[start:stop] if device.is_array(values) else values.iloc[start:stop]


# SPMD functions: every rank of a communicator calls them.


def _compute_similarities(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    bounds: tuple[int, ...],
    kind: str,
) -> tuple:
    """Return the frame of the edges from the partition's vertices to later ones."""
    common, sizes = get_common_neighbors(communicator, partition, bounds)
    _check_memory(partition)
    adjacency = partition.adjacency
    starts = list_edge_offsets(adjacency)
    sources, destinations, values = compare_edges(adjacency, common, sizes, starts, kind)
    frame = partition.labeling.edge_frame(sources, destinations, {kind: values})
    return finish_frame(communicator, frame)


def _check_memory(partition: Partition) -> None:
    """Raise InsufficientMemoryError unless the rows of a partition's edges fit into free memory."""
    names, num_edges = partition.labeling.names, int(count_upper(partition.adjacency).sum())
    # The bytes per arc are those of edges with two arcs; a partition may have one of each.
    num_arcs = max(partition.num_arcs, 2 * num_edges)
    num_bytes = ALGORITHM_BYTES["neighbor_similarity"].total(
        partition.num_vertices, num_arcs, False
    )
    num_bytes += 2 * num_edges * -(-names.text_bytes // max(names.count, 1))  # of both endpoints
    check_free_memory(f"similarity of {num_edges:,} edges in a partition", num_bytes, partition.xp)


def _compare_pairs(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    bounds: tuple[int, ...],
    columns: list[list[Column]],
    kind: str,
) -> tuple:
    """Return the frame of the pairs whose name columns this rank has."""
    labeling, xp, size = partition.labeling, partition.xp, communicator.size
    sources, destinations = _find_ids(communicator, labeling, columns)
    num_pairs = sum(communicator.all_gather_object(sources.size))
    # One rank may get all pairs. It needs its own lists, and those of a batch.
    num_bytes = PAIR_BYTES * (num_pairs if size > 1 else sources.size)
    num_bytes += 4 * (partition.num_arcs + 3 * _get_batch_arcs(partition)) if size > 1 else 0
    num_bytes += ALGORITHM_BYTES["neighbor_similarity"].per_vertex * partition.num_vertices
    check_free_memory(f"similarity of {num_pairs:,} pairs", num_bytes, xp)
    degrees = communicator.all_gather(xp.diff(partition.local_adjacency.offsets))
    if size == 1:
        common = local.count_pairs(partition.adjacency, sources, destinations)
    else:
        common = _count_pairs(communicator, partition, bounds, degrees, sources, destinations)
    values = compare(kind, common, degrees[sources], degrees[destinations])
    return finish_frame(communicator, labeling.edge_frame(sources, destinations, {kind: values}))


def _find_ids(
    communicator: Communicator, labeling: Labeling, columns: list[list[Column]]
) -> list[Array]:
    """Return the int32 ids of the sources and destinations of this rank's pairs.

    Raises
    ------
    GraphError
        On every rank that of one memory, whose rows are counted over all pairs.
    """
    xp = labeling.xp
    try:
        ids, is_known = [labeling.names.ids(endpoint, xp, "pairs") for endpoint in columns], True
    except GraphError:
        ids, is_known = [], False
    if all(communicator.all_gather_object(is_known)):
        return ids
    by_rank = communicator.all_gather_object(columns)
    for endpoint in zip(*by_rank, strict=True):
        all_columns = [_concatenate(values) for values in zip(*endpoint, strict=True)]
        labeling.names.ids(all_columns, xp, "pairs")
    raise AssertionError("unreachable")


def _concatenate(columns: tuple[Column, ...]) -> Column:
    if device.is_array(columns[0]):
        return device.array_module(columns[0]).concatenate(columns)
    return frames.series_library(columns[0]).concat(columns, ignore_index=True)


def _count_pairs(
    communicator: Communicator,
    partition: Partition,
    bounds: tuple[int, ...],
    degrees: Array,
    sources: Array,
    destinations: Array,
) -> Array:
    """Return the number of common neighbors of each of this rank's pairs: int32."""
    xp, is_shorter = partition.xp, degrees[sources] <= degrees[destinations]
    longer = xp.where(is_shorter, destinations, sources)
    pairs = xp.stack([xp.where(is_shorter, sources, destinations), longer], axis=1)
    owners = xp.searchsorted(xp.asarray(bounds[1:-1], dtype=xp.int32), longer, side="right")
    order = xp.argsort(owners, kind="stable")
    splits = xp.searchsorted(owners[order], xp.arange(1, communicator.size))
    received = communicator.all_to_all(xp.split(pairs[order], device.to_host(splits).tolist()))
    del pairs, longer, owners
    shorter, longer = xp.concatenate(received).T.copy()
    counts = _count_in_batches(communicator, partition, bounds, degrees, shorter, longer)
    ends = np.cumsum([len(array) for array in received[:-1]]).tolist()
    returned = communicator.all_to_all(xp.split(counts, ends))
    common = xp.empty(sources.size, xp.int32)
    common[order] = xp.concatenate(returned)
    return common


def _get_batch_arcs(partition: Partition) -> int:
    """Return about how many arcs the lists of a batch have; a batch has whole lists."""
    return max(partition.num_arcs, MIN_FETCHED_ARCS)


def _count_in_batches(
    communicator: Communicator,
    partition: Partition,
    bounds: tuple[int, ...],
    degrees: Array,
    shorter: Array,
    longer: Array,
) -> Array:
    """Return the common neighbors of pairs of which this rank has the lists of `longer`: int32.

    The lists of `shorter` are fetched in batches, so that they fit in memory.
    """
    xp = partition.xp
    is_fetched = xp.zeros(degrees.size, bool)
    is_fetched[shorter] = True
    is_fetched[partition.local_range] = False
    fetched = xp.flatnonzero(is_fetched).astype(xp.int32)
    num_arcs_before = offsets_from_sizes(degrees[fetched])[:-1]
    batches = num_arcs_before // _get_batch_arcs(partition)
    last_batch = int(batches[-1]) if fetched.size else 0
    limits = device.to_host(xp.searchsorted(batches, xp.arange(last_batch + 2))).tolist()
    batch_by_vertex = xp.zeros(degrees.size, xp.int32)  # own lists are in the first one
    batch_by_vertex[fetched] = batches
    batch_by_pair = batch_by_vertex[shorter]
    num_batches = max(communicator.all_gather_object(last_batch)) + 1
    counts = xp.empty(shorter.size, xp.int32)
    for batch in range(num_batches):
        start, stop = (limits[min(number, len(limits) - 1)] for number in (batch, batch + 1))
        adjacency = _fetch_lists(communicator, partition, bounds, degrees, fetched[start:stop])
        selected = xp.flatnonzero(batch_by_pair == batch)
        counts[selected] = local.count_pairs(adjacency, shorter[selected], longer[selected])
    return counts


def _fetch_lists(
    communicator: Communicator,
    partition: Partition,
    bounds: tuple[int, ...],
    degrees: Array,
    vertices: Array,
) -> Adjacency:
    """Return the lists of this rank's vertices and of ascending int32 `vertices` of others."""
    xp, rank = partition.xp, communicator.rank
    splits = device.to_host(
        xp.searchsorted(vertices, xp.asarray(bounds[1:-1], dtype=xp.int32))
    ).tolist()
    requests = communicator.all_to_all(xp.split(vertices, splits))
    lists = [
        select_rows(partition.adjacency, vertices, with_weights=False).neighbors
        for vertices in requests
    ]
    received = communicator.all_to_all(lists)
    received[rank] = partition.adjacency.neighbors
    sizes = xp.zeros_like(degrees)
    for rows in (vertices, partition.local_range):
        sizes[rows] = degrees[rows]
    return Adjacency(offsets_from_sizes(sizes), xp.concatenate(received), xp.empty(0))
