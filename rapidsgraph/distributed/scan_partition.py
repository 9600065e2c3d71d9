"""Common neighbors of a distributed graph: for every arc (u, v) the size of N[u] & N[v].

A count needs the neighbors of both endpoints of an edge, so counts cannot be summed over
partitions: every pair of partitions is processed on one worker. A partition receives the adjacency
of one other at a time, in a chain, counts for the edges between the two, and returns the other's
counts. A worker stores two partitions at most, and each partition's adjacency is sent to half of
the workers once.
Counts take 4 bytes per arc and are cached on the graph. Partitions are those of
`DistributedGraph.simple_partitions`.
"""

from __future__ import annotations

import operator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from .. import device
from ..algorithms.similarity import closed_neighborhood_sizes
from ..device.arrays import Array
from ..graph.csr import Adjacency, row_indices
from ..memory import ALGORITHM_BYTES
from ..validation import check_free_memory
from .executor import Executor
from .graph import DistributedGraph
from .partition import Partition, concatenate

RangeLists = tuple[int, Array, Array]  # first vertex, offsets and neighbors of a range of vertices


def get_neighborhoods(graph: DistributedGraph) -> tuple[list, list, list]:
    """Return tasks per partition: simple partitions, common neighbors, closed sizes."""
    return graph.simple_partitions(), common_neighbors(graph), closed_sizes(graph)


def closed_sizes(graph: DistributedGraph) -> list:
    """Return a task per partition of the sizes of all closed neighborhoods; cached."""

    def compute() -> list:
        sizes = graph.executor.map(_local_closed_sizes, graph.simple_partitions(), name="sizes")
        return all_gather(graph.executor, sizes, "all-sizes")

    return graph.cached("closed sizes", compute)


def _local_closed_sizes(partition: Partition) -> Array:
    return closed_neighborhood_sizes(partition.local_adjacency)


def all_gather(executor: Executor, arrays: list, name: str) -> list:
    """Return a task per partition of the concatenation of all, computed once per worker."""
    num_tasks = min(len(executor.workers), len(arrays))
    tasks = executor.map(concatenate, repeat(arrays, num_tasks), name=name)
    return [tasks[number % num_tasks] for number in range(len(arrays))]


def common_neighbors(graph: DistributedGraph) -> list:
    """Return a task per partition of the common-neighbor count of its arcs: int32; cached.

    Of two partitions, the one counts that precedes the other by less than half of the ring.
    """
    return graph.cached("common neighbors", lambda: _count_common_neighbors(graph))


def _count_common_neighbors(graph: DistributedGraph) -> list:
    executor, partitions = graph.executor, graph.simple_partitions()
    num_partitions = len(partitions)
    counts: dict[tuple[int, int], Any] = {}
    for number, partition in enumerate(partitions):
        last = executor.submit(_count_within, partition, name="count-within", worker=number)
        counts[number, number] = last
        for distance in range(1, num_partitions // 2 + 1):
            other = (number + distance) % num_partitions
            if 2 * distance == num_partitions and number > other:
                continue  # the other one counts
            # The next lists are sent when the last ones were used.
            token = executor.submit(_mark_done, last, name="counted", worker=number)
            lists = executor.submit(
                _get_lists, partitions[other], token, name="send-lists", worker=other
            )
            last = executor.submit(
                _count_between, partition, lists, name="count-between", worker=number
            )
            for position, pair in enumerate(((number, other), (other, number))):
                counts[pair] = executor.submit(
                    operator.getitem, last, position, name="counts", worker=number
                )
    rows = [[counts[number, other] for other in range(num_partitions)]
            for number in range(num_partitions)]  # fmt: skip
    return executor.map(
        _merge_counts, partitions, repeat(graph.bounds), rows, name="common-neighbors"
    )


# Tasks


class RangePairs(NamedTuple):
    """Adjacency of a range of vertices, and its arcs to another range with their counts."""

    start: int
    offsets: Array
    neighbors: Array
    pair_offsets: Array
    pair_neighbors: Array
    common: Array


def _mark_done(result: Any) -> None:
    """Return nothing: the task waits for another one."""


def _get_lists(partition: Partition, token: None) -> RangeLists:
    adjacency = partition.local_adjacency
    return partition.start, adjacency.offsets, adjacency.neighbors


def _count_within(partition: Partition) -> Array:
    """Return the counts of the arcs within a partition's range."""
    bytes_per_vertex, bytes_per_arc, _ = ALGORITHM_BYTES["scan"]
    num_bytes = partition.num_vertices * bytes_per_vertex + partition.num_arcs * bytes_per_arc
    what = f"common neighbors of {partition.num_arcs:,} arcs in a partition"
    check_free_memory(what, num_bytes, partition.xp)
    pairs = _select_pairs(_get_lists(partition, None), partition.start, partition.num_local)
    _launch_count(pairs, pairs, partition.num_vertices)
    return pairs.common


def _count_between(partition: Partition, other: RangeLists) -> tuple[Array, Array]:
    """Return the counts of the arcs from a partition to another range, and of those back."""
    own = _get_lists(partition, None)
    forward = _select_pairs(own, other[0], other[1].size - 1)
    backward = _select_pairs(other, partition.start, partition.num_local)
    _launch_count(forward, backward, partition.num_vertices)
    _launch_count(backward, forward, partition.num_vertices)
    return forward.common, backward.common


def _select_pairs(lists: RangeLists, start: int, size: int) -> RangePairs:
    """Select the arcs to a range of `size` vertices, and allocate their counts."""
    own_start, offsets, neighbors = lists
    xp, keep = device.array_module(offsets), is_within(neighbors, start, size)
    num_before = xp.zeros(keep.size + 1, xp.int64)
    xp.cumsum(keep, out=num_before[1:])
    pair_offsets = num_before[offsets]
    common = xp.empty(int(pair_offsets[-1]), xp.int32)
    return RangePairs(own_start, offsets, neighbors, pair_offsets, neighbors[keep], common)


def is_within(ids: Array, start: int, size: int) -> Array:
    """Return whether ids are in the range of `size` vertices from `start` on."""
    keep = ids >= start
    keep &= ids < start + size
    return keep


def _launch_count(own: RangePairs, other: RangePairs, num_vertices: int) -> None:
    xp = device.array_module(own.offsets)
    pair_rows = xp.empty(0, xp.int32)
    if xp is not np:  # a GPU assigns a warp to a pair, a CPU a thread to a row
        pair_rows = row_indices(Adjacency(own.pair_offsets, own.pair_neighbors, xp.empty(0)))
    num_rows = own.offsets.size - 1
    device.launch(
        "similarity", "count_between", size=num_rows + own.neighbors.size,
        num_rows=num_rows, num_pairs=own.pair_neighbors.size, num_vertices=num_vertices,
        start=own.start, other_start=other.start, next_pair=xp.zeros(1, xp.int64),
        pair_rows=pair_rows, offsets=own.offsets, neighbors=own.neighbors,
        pair_offsets=own.pair_offsets, pair_neighbors=own.pair_neighbors, common=own.common,
        other_offsets=other.offsets, other_neighbors=other.neighbors,
        other_pair_offsets=other.pair_offsets, other_pair_neighbors=other.pair_neighbors,
        other_common=other.common,
    )  # fmt: skip


def _merge_counts(partition: Partition, bounds: list[int], counts: list[Array]) -> Array:
    """Return the counts of a partition's arcs in their order, from those to each partition."""
    neighbors = partition.adjacency.neighbors
    common = partition.xp.empty(neighbors.size, partition.xp.int32)
    for start, stop, own_counts in zip(bounds[:-1], bounds[1:], counts, strict=True):
        common[is_within(neighbors, start, stop - start)] = own_counts
    return common
