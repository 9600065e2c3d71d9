"""Tasks of `layered_build`: workers pack partitions, and write these and columns to files.

Each task writes its rows at their position. A client creates the files with their final sizes. On a
failure it removes them, and tasks that are still running fail, as they do not create files.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..device import to_host
from ..frames import Frame
from ..io.arrow_arrays import to_arrow
from ..layered.build import storage_dtype
from ..layered.outofcore.file_array import FileArray
from ..layered.packing import TABLE, Section, pack_partition
from .frame_graph import get_values


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
    for row_range in ranges:
        if not groups or total + row_range[2] > max_edges:
            groups.append([])
            total = 0
        groups[-1].append(row_range)
        total += row_range[2]
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
    for is_in_section in (~is_backward, is_backward):
        offsets = np.zeros(num_rows + 1, np.int64)
        np.cumsum(np.bincount(rows[is_in_section], minlength=num_rows), out=offsets[1:])
        section_weights = (
            np.empty(0) if weights is None else weights[is_in_section].astype(weight_dtype)
        )
        sections.append((offsets, neighbors[is_in_section].astype(np.int32), section_weights))
    weight_bytes = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
    partitions = [
        partition
        for first, stop, _ in ranges
        for partition in pack_partition(
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


def resize(array: FileArray, size: int) -> None:
    """Set the size of an array whose values tasks will write."""
    os.truncate(array.path, size * array.dtype.itemsize)
    array.size = size


def write_at(path: str, position: int, values: np.ndarray) -> None:
    """Write an array at a position, in bytes, of an existing file."""
    if not values.size:
        return
    handle = os.open(path, os.O_WRONLY)
    try:
        data = np.ascontiguousarray(values).data.cast("B")
        while len(data):
            written = os.pwrite(handle, data, position)
            data, position = data[written:], position + written
        os.fsync(handle)  # another host may read it
    finally:
        os.close(handle)


def _read_column(frame: Frame, name: str) -> Any:
    return to_arrow(get_values(frame, name))


def describe_column(frame: Frame, name: str) -> tuple[np.dtype | None, int, int]:
    """Return the type of a column, None for text; its number of rows, and the bytes of its text."""
    values = _read_column(frame, name)
    if str(values.type) != "large_string":
        return np.dtype(values.type.to_pandas_dtype()), len(values), 0
    offsets = _text_offsets(values)
    return None, len(values), int(offsets[-1] - offsets[0])


def _text_offsets(values: Any) -> np.ndarray:
    if not len(values):
        return np.zeros(1, np.int64)
    offsets = np.frombuffer(values.buffers()[1], np.int64)
    return offsets[values.offset : values.offset + len(values) + 1]


def write_column(
    frame: Frame, name: str, paths: list[str], row_start: int, byte_start: int
) -> None:
    """Write a column of integers, or of text with the offsets of its rows.

    Parameters
    ----------
    frame : frame
    name : str
    paths : list of str
        Files of the values and, for text, of the offsets, which begin with 0.
    row_start, byte_start : int
        Number of rows, and of bytes of text, before those of this frame.
    """
    values = _read_column(frame, name)
    if len(paths) == 1:
        array = values.to_numpy()
        write_at(paths[0], row_start * array.itemsize, array)
        return
    offsets = _text_offsets(values)
    if offsets[-1] > offsets[0]:
        text = np.frombuffer(values.buffers()[2], np.uint8)
        write_at(paths[0], byte_start, text[offsets[0] : offsets[-1]])
    write_at(paths[1], 8 * (row_start + 1), offsets[1:] - offsets[0] + byte_start)


def write_ids(frame: Frame, path: str) -> None:
    """Write the column `id` as int32 at the rows' `position`, which ascends by 1."""
    ids = to_host(frame["id"].values).astype(np.int32)
    if ids.size:
        write_at(path, ids.itemsize * int(frame["position"].iloc[0]), ids)
