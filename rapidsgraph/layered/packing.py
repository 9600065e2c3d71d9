"""Partitions: sources in layer order with their out-edges, bit-packed into words of 32 bits.

Partitions are the unit of streaming. A vertex has a position in layer order: vertices are ordered
by BFS depth, those of one depth by name, the unreached last. A partition holds the out-edges of
consecutive positions in two sections: first the forward edges (to the same or a later layer), then
the backward edges, which include all edges of unreached vertices. A source with more edges than
fit in a partition is in several.

The words and the row of the table describe a partition completely. The layout of a section of r
rows and m edges, in words, follows from the table:

  starts     ceil(r / 32) + 1   first edge of every 32nd row, and m
  degrees    r values of degree_bits bits, and a word of padding, so that two can be read at once
  neighbors  m positions of `bits` bits, less the smallest (base); padded alike, two words at least
  weights    m floating-point numbers if there are weights; they start at an even word

A section without edges has no words. Sections start at multiples of four words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .. import device
from ..device import Array
from ..graph.csr import offsets_from_sizes
from ..kernels.constants import GROUP_ROWS, WARP, Column

TABLE = (*(column.name.lower() for column in Column), "unused")
COLUMN = {name: index for index, name in enumerate(TABLE)}
DIRECTIONS = ("forward", "backward")
PARTITION_BYTES = 2**24  # default size, before packing

# Offsets by row, positions of neighbors, and weights, which may be empty.
Section = tuple[Array, Array, Array]


class SectionLayout(NamedTuple):
    """Layout of a section: its size, and where its arrays start, in words from its own start."""

    rows: int
    edges: int
    base: int
    bits: int
    degree_bits: int
    degrees: int
    neighbors: int
    weights: int
    words: int


def section_layout(
    rows: int, edges: int, base: int, bits: int, degree_bits: int, weight_bytes: int
) -> SectionLayout:
    """Return the layout of a section."""
    if not edges:
        return SectionLayout(rows, 0, base, bits, degree_bits, 0, 0, 0, 0)
    degrees = -(-rows // GROUP_ROWS) + 1
    neighbors = degrees + -(-rows * degree_bits // 32) + 1
    weights = neighbors + -(-max(edges * bits, 1) // 32) + 1
    weights += weights % 2
    words = weights + -(-edges * weight_bytes // 8) * 2
    return SectionLayout(
        rows, edges, base, bits, degree_bits, degrees, neighbors, weights, -(-words // 4) * 4
    )


def section_layouts(row: Sequence[int] | np.ndarray, weight_bytes: int) -> list[SectionLayout]:
    """Return the layouts of both sections of a row of the table."""
    fields = dict(zip(TABLE, map(int, row), strict=True))
    return [
        section_layout(
            fields["rows"],
            fields[f"{direction}_edges"],
            fields[f"{direction}_base"],
            fields[f"{direction}_bits"],
            fields[f"{direction}_degree_bits"],
            weight_bytes,
        )
        for direction in DIRECTIONS
    ]


def split_rows(offsets: Array, weight_bytes: int, partition_bytes: int) -> list[tuple[int, int]]:
    """Split rows into consecutive ranges of about `partition_bytes`.

    Parameters
    ----------
    offsets : int64 array, shape (rows + 1,)
        First edge of each row, counting the edges of both sections.
    weight_bytes : int
        Size of a weight: 0, 4 or 8.
    partition_bytes : int
        Approximate size of a partition before packing.

    Returns
    -------
    list of (start, stop)
        Ranges of rows. A range of a single row may exceed `partition_bytes`.
    """
    xp = device.array_module(offsets)
    rows, edge_bytes = offsets.size - 1, 4 + weight_bytes
    cost = offsets * edge_bytes + xp.arange(rows + 1)
    ranges: list[tuple[int, int]] = []
    start = 0
    while start < rows:
        max_cost = int(cost[start]) + partition_bytes
        stop = max(int(xp.searchsorted(cost, max_cost, side="right")) - 1, start + 1)
        ranges.append((start, min(stop, rows)))
        start = ranges[-1][1]
    return ranges


def pack_partition(
    first: int,
    sections: Sequence[Section],
    weight_bytes: int,
    partition_bytes: int = PARTITION_BYTES,
) -> Iterator[tuple[Array, np.ndarray]]:
    """Pack a range of rows into one partition, or a single large row into several.

    Parameters
    ----------
    first : int
        Position of the first row.
    sections : two of (offsets, neighbors, weights)
        Forward and backward edges: offsets (int64, shape (rows + 1,)) into neighbors (positions,
        int32) and weights, whose type is that of the store (or which are empty).
    weight_bytes : int
        Size of a weight: 0, 4 or 8.
    partition_bytes : int
        Approximate size of a partition before packing.

    Yields
    ------
    words : uint32 array
    row : int64 array of shape (len(TABLE),)
        Row of the table; its position is 0.
    """
    rows = sections[0][0].size - 1
    max_edges = max(partition_bytes // (4 + weight_bytes), 1)
    num_edges = [int(offsets[-1]) - int(offsets[0]) for offsets, _, _ in sections]
    if rows > 1 or sum(num_edges) <= max_edges:
        yield _pack(first, sections, weight_bytes)
        return
    for index in range(2):
        for skip in range(0, num_edges[index], max_edges):
            slices = []
            for other, (offsets, neighbors, weights) in enumerate(sections):
                bounds = np.zeros(2, np.int64)
                if other == index:
                    start = int(offsets[0]) + skip
                    bounds[:] = start, min(start + max_edges, int(offsets[-1]))
                slices.append((device.array_module(offsets).asarray(bounds), neighbors, weights))
            yield _pack(first, slices, weight_bytes)


def _pack(first: int, sections: Sequence[Section], weight_bytes: int) -> tuple[Array, np.ndarray]:
    xp = device.array_module(sections[0][0])
    rows = sections[0][0].size - 1
    row = np.zeros(len(TABLE), np.int64)
    row[COLUMN["first"]], row[COLUMN["rows"]] = first, rows
    layouts, arrays = [], []
    for direction, (offsets, neighbors, weights) in zip(DIRECTIONS, sections, strict=True):
        start, stop = int(offsets[0]), int(offsets[-1])
        base = bits = degree_bits = 0
        if stop > start:
            neighbors = neighbors[start:stop]
            base, largest = int(neighbors.min()), int(neighbors.max())
            degrees = xp.diff(offsets).astype(xp.int32)
            bits, degree_bits = (largest - base).bit_length(), int(degrees.max()).bit_length()
            arrays.append((offsets, degrees, neighbors, weights[start:stop]))
        layouts.append(section_layout(rows, stop - start, base, bits, degree_bits, weight_bytes))
        row[COLUMN[f"{direction}_edges"]] = stop - start
        row[COLUMN[f"{direction}_base"]] = base
        row[COLUMN[f"{direction}_bits"]] = bits
        row[COLUMN[f"{direction}_degree_bits"]] = degree_bits
    words = xp.zeros(sum(layout.words for layout in layouts), xp.uint32)
    row[COLUMN["words"]], row[COLUMN["forward_words"]] = words.size, layouts[0].words
    start, nonempty = 0, iter(arrays)
    for direction, layout in zip(DIRECTIONS, layouts, strict=True):
        section_words = words[start : start + layout.words]
        if layout.edges:
            _fill(section_words, layout, *next(nonempty), weight_bytes)
            row[COLUMN[f"{direction}_checksum"]] = checksum(section_words)
        start += layout.words
    return words, row


def _fill(
    words: Array,
    layout: SectionLayout,
    offsets: Array,
    degrees: Array,
    neighbors: Array,
    weights: Array,
    weight_bytes: int,
) -> None:
    """Write the arrays of a section into its words."""
    groups = layout.degrees - 1
    words[:groups] = (offsets[:-1:GROUP_ROWS] - offsets[0]).astype(words.dtype)
    words[groups] = layout.edges
    for values, base, bits, start, stop in (
        (degrees, 0, layout.degree_bits, layout.degrees, layout.neighbors),
        (neighbors, layout.base, layout.bits, layout.neighbors, layout.weights),
    ):
        device.launch(
            "pack", "pack", size=stop - start,
            num_values=values.size, base=base, bits=bits, values=values, words=words[start:stop],
        )  # fmt: skip
    if weight_bytes:
        size = layout.edges * weight_bytes // 4
        words[layout.weights : layout.weights + size].view(weights.dtype)[:] = weights


def checksum(words: Array) -> int:
    """Return the checksum of a section, an int64 in which each word is weighted by its index."""
    xp = device.array_module(words)
    total = xp.zeros(1, xp.uint64)
    device.launch(
        "pack", "add_checksum", size=words.size, num_words=words.size, words=words, checksum=total
    )
    return int(total[0].astype(xp.int64))


def verify_partitions(
    start: int,
    stop: int,
    origin: int,
    num_sections: int,
    num_vertices: int,
    table: Array,
    words: Array,
    weight_dtype: type | None,
    checksums: Array,
    num_words: int,
) -> None:
    """Compute the checksums of sections and check the values inside them, without waiting.

    The computed checksum of a section that is damaged, or has values out of bounds, differs from
    the one in the table, and kernels skip the section. `describe_invalid` finds the reason.

    Parameters
    ----------
    start, stop : int
        Rows of the table, which `store_validation.check_table` has accepted.
    origin : int
        Position of `words[0]` among the words of all partitions.
    num_sections : {1, 2}
        1 verifies forward sections only.
    num_vertices : int
    table, words : int64 and uint32 arrays on the device
    weight_dtype : dtype or None
    checksums : uint64 array on the device, shape (2 * partitions,)
        Must be 0 for these sections.
    num_words : int
        Number of words of these partitions.
    """
    xp = device.array_module(words)
    device.launch(
        "layered_sweep", "add_checksums", size=num_words,
        start=start, stop=stop, origin=origin, num_sections=num_sections, table=table,
        words=words, checksums=checksums,
    )  # fmt: skip
    device.launch(
        "layered_sweep", "check_sections", size=num_words,
        start=start, stop=stop, origin=origin, num_sections=num_sections,
        num_vertices=num_vertices, table=table, words=words,
        weight_type=xp.empty(0, weight_dtype or np.float64),
        weighted=weight_dtype is not None, checksums=checksums,
    )  # fmt: skip


def describe_invalid(
    words: np.ndarray, row: np.ndarray, num_vertices: int, weight_dtype: type | None
) -> str | None:
    """Describe the first value that is out of bounds in a partition on the host.

    Returns
    -------
    str or None
        Field, index, value and limits; None if the partition is valid.
    """
    weight_bytes = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
    start = 0
    for direction, layout in zip(DIRECTIONS, section_layouts(row, weight_bytes), strict=True):
        section_words, start = words[start : start + layout.words], start + layout.words
        if not layout.edges:
            continue
        degrees, neighbors = _unpack(section_words, layout._replace(base=0))
        ends = np.cumsum(degrees, dtype=np.int64)
        expected = np.concatenate([[0], ends[GROUP_ROWS - 1 : -1 : GROUP_ROWS], ends[-1:]])
        starts = section_words[: layout.degrees].astype(np.int64)
        is_invalid = starts != expected
        if is_invalid.any():
            group = int(is_invalid.argmax())
            return f"{direction} start of group {group} is {starts[group]}, not {expected[group]}"
        if ends[-1] != layout.edges:
            return f"{direction} degrees sum to {ends[-1]}, not {layout.edges}"
        is_invalid = neighbors > num_vertices - 1 - layout.base
        if is_invalid.any():
            index = int(is_invalid.argmax())
            neighbor = int(neighbors[index]) + layout.base
            return f"{direction} neighbor {index} is {neighbor}, not 0 to {num_vertices - 1}"
        if weight_bytes:
            section_weights = _weights(section_words, layout, weight_bytes)
            weights: Array = section_weights.view(np.dtype(weight_dtype))
            is_invalid = ~((weights >= 0) & (weights < np.inf))
            if is_invalid.any():
                index = int(is_invalid.argmax())
                return (
                    f"{direction} weight {index} is {weights[index]}; weights must be finite and "
                    ">= 0"
                )
    return None


def _unpack(words: Array, layout: SectionLayout) -> tuple[Array, Array]:
    """Return the degrees and neighbors of a section as int32 arrays."""
    xp = device.array_module(words)
    degrees, neighbors = xp.zeros(layout.rows, xp.int32), xp.zeros(layout.edges, xp.int32)
    if layout.edges:
        for values, base, bits, start, stop in (
            (degrees, 0, layout.degree_bits, layout.degrees, layout.neighbors),
            (neighbors, layout.base, layout.bits, layout.neighbors, layout.weights),
        ):
            device.launch(
                "pack", "unpack", size=values.size,
                num_values=values.size, base=base, bits=bits, words=words[start:stop],
                values=values,
            )  # fmt: skip
    return degrees, neighbors


def _weights(words: Array, layout: SectionLayout, weight_bytes: int) -> Array:
    """Return the words of the weights of a section."""
    return words[layout.weights : layout.weights + layout.edges * weight_bytes // 4]


def unpack_partition(
    words: Array, row: np.ndarray, weight_dtype: type | None
) -> list[tuple[Array, Array, Array]]:
    """Unpack the words of one partition.

    Returns
    -------
    list of two of (sources, destinations, weights)
        Positions of the ends of the forward and of the backward edges, and their weights, which
        are empty if there are none.
    """
    xp = device.array_module(words)
    weight_bytes = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
    start, edges = 0, []
    for layout in section_layouts(row, weight_bytes):
        section_words = words[start : start + layout.words]
        start += layout.words
        degrees, destinations = _unpack(section_words, layout)
        offsets = offsets_from_sizes(degrees)
        sources = xp.empty(layout.edges, xp.int32)
        device.launch(
            "build", "expand_rows", size=WARP * layout.rows,
            num_rows=layout.rows, offsets=offsets, rows=sources,
        )  # fmt: skip
        sources += int(row[COLUMN["first"]])
        weights = xp.empty(0)
        if weight_bytes:
            weights = _weights(section_words, layout, weight_bytes).view(np.dtype(weight_dtype))
        edges.append((sources, destinations, weights))
    return edges
