"""Tasks of `layered_build`: workers pack the partitions of a layered edge list and write them."""

from __future__ import annotations

import numpy as np

from ..device import to_host
from ..frames import Frame
from ..layered.build import storage_dtype
from ..layered.packing import TABLE, Section, pack_partition
from .column_files import write_at


def extend_ranges(
    ranges: list[tuple[int, int, int]], frame: Frame, edge_bytes: int, partition_bytes: int
) -> list[tuple[int, int, int]]:
    """Split further rows into ranges, of which the last one so far may grow."""
    degrees = to_host(frame["degree"].values)
    edges = np.concatenate([[0], np.cumsum(degrees)])
    cost = edges * edge_bytes + np.arange(edges.size)
    ranges, row = list(ranges), 0
    while row < degrees.size:
        start, stop, num_edges = ranges[-1]
        max_cost = cost[row] + partition_bytes - num_edges * edge_bytes - (stop - start)
        last = int(np.searchsorted(cost, max_cost, side="right")) - 1
        if last <= row and stop > start:
            ranges.append((stop, stop, 0))
            continue
        last = max(last, row + 1)  # a single row may exceed `partition_bytes`
        num_edges += int(edges[last] - edges[row])
        ranges[-1] = start, stop + last - row, num_edges
        row = last
    return ranges


def group_ranges(
    ranges: list[tuple[int, int, int]], max_edges: int
) -> list[list[tuple[int, int, int]]]:
    """Group consecutive ranges of at most `max_edges` edges together, but at least one range."""
    groups: list[list[tuple[int, int, int]]] = []
    total = 0
    for each in ranges:
        if not groups or total + each[2] > max_edges:
            groups.append([])
            total = 0
        groups[-1].append(each)
        total += each[2]
    return groups


def choose_weight_dtype(frame: Frame) -> type:
    """Return the type in which a store has the weights of a partition."""
    return storage_dtype(frame["weight"].values)


def compact_edges(edges: Frame) -> Frame:
    """Drop what `pack_partitions` does not need, and store positions and ids as the store does."""
    edges = edges.drop(columns="layer")
    return edges.astype(dict.fromkeys(("position", "neighbor", "neighbor_id"), "int32"))


def pack_partitions(
    frame: Frame,
    ranges: list[tuple[int, int, int]],
    weight_dtype: type | None,
    partition_bytes: int,
    out_weight_path: str,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the words and the table of the partitions of some ranges of rows.

    Also writes the out-weights of the rows.
    """
    edges = {name: to_host(frame[name].values) for name in frame}
    start, num_rows = ranges[0][0], ranges[-1][1] - ranges[0][0]
    rows = to_host(frame.index.values) - start
    ties = [edges["order"]] if "order" in edges else []
    order = np.lexsort((*ties, edges["neighbor_id"], rows))
    rows = rows[order]
    weights = edges["weight"][order] if weight_dtype else None
    write_at(out_weight_path, 8 * start, np.bincount(rows, weights, num_rows).astype(np.float64))
    is_backward, neighbors = edges["is_backward"][order], edges["neighbor"][order]
    del edges
    sections: list[Section] = []
    for is_own in (~is_backward, is_backward):
        offsets = np.zeros(num_rows + 1, np.int64)
        np.cumsum(np.bincount(rows[is_own], minlength=num_rows), out=offsets[1:])
        own = np.empty(0) if weights is None else weights[is_own].astype(weight_dtype)
        sections.append((offsets, neighbors[is_own].astype(np.int32), own))
    weight_bytes = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
    partitions = [
        each
        for first, stop, _ in ranges
        for each in pack_partition(
            first,
            [(offsets[first - start : stop - start + 1], *rest) for offsets, *rest in sections],
            weight_bytes,
            partition_bytes,
        )
    ]
    words = [words for words, _ in partitions]
    return words, np.array([row for _, row in partitions], np.int64).reshape(-1, len(TABLE))


def get_table(partitions: tuple[list[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the table of the result of `pack_partitions`."""
    return partitions[1]


def write_words(
    partitions: tuple[list[np.ndarray], np.ndarray], path: str, positions: np.ndarray
) -> None:
    """Write the partitions of the result of `pack_partitions` at their positions."""
    for words, position in zip(partitions[0], positions.tolist(), strict=True):
        write_at(path, 4 * position, words)
