"""Partitions: runs of sources in layer order, their edges packed into words of 32 bits.

Means: what streams. A vertex has a place: vertices by BFS depth, those of one depth by name, the
  unreached last. A partition holds the out-edges of consecutive places in two sections: first all
  that go forward (to the same or a later layer), then all that go back; what leaves unreached
  vertices counts as going back. A source that has more edges than a partition is in several.
Requires: nothing beside the words and the row of the table that describes them.

A section of r rows and m edges, in words; all positions follow from the table:

  starts     ceil(r / 32) + 1   where the edges of every 32nd row begin, and the end
  degrees    r values of degree_bits bits, and a word behind them, so that two can be read at once
  neighbors  m places of bits bits, less the smallest (base); likewise, two words at least
  weights    m floating-point numbers, where there are any; they begin at an even word

A section without edges has no words. Sections begin at multiples of four words.
"""

from typing import NamedTuple

import numpy as np

from .. import device
from ..kernels.constants import GROUP_ROWS, Column

TABLE = (*(column.name.lower() for column in Column), "unused")
COLUMN = {name: place for place, name in enumerate(TABLE)}
PARTITION_BYTES = 2**24  # about, before packing


class Section(NamedTuple):
    """Where a section's parts begin, in words from the partition's start, and what it holds."""

    rows: int
    edges: int
    base: int
    bits: int
    degree_bits: int
    degrees: int
    neighbors: int
    weights: int
    words: int


def section(rows, edges, base, bits, degree_bits, weight_bytes):
    """The layout of a section; positions are from its own start."""
    if not edges:
        return Section(rows, 0, base, bits, degree_bits, 0, 0, 0, 0)
    degrees = -(-rows // GROUP_ROWS) + 1
    neighbors = degrees + -(-rows * degree_bits // 32) + 1
    weights = neighbors + -(-max(edges * bits, 1) // 32) + 1
    weights += weights % 2
    words = weights + -(-edges * weight_bytes // 8) * 2
    return Section(
        rows, edges, base, bits, degree_bits, degrees, neighbors, weights, -(-words // 4) * 4
    )


def sections(row, weight_bytes):
    """Both sections of a row of the table."""
    row = dict(zip(TABLE, map(int, row), strict=True))
    return [
        section(
            row["rows"],
            *(row[f"{part}_{what}"] for what in ("edges", "base", "bits", "degree_bits")),
            weight_bytes,
        )
        for part in ("forward", "backward")
    ]


def cut(offsets, weight_bytes, partition_bytes):
    """[(first row, last row + 1)] of partitions of about so many bytes, by rows alone.

    `offsets` has where the edges of a row begin, of both sections together: shape (rows + 1,). A
    range of one row may hold more than a partition does.
    """
    xp = device.array_module(offsets)
    rows, each = offsets.size - 1, 4 + weight_bytes
    cost = offsets * each + xp.arange(rows + 1)
    found, first = [], 0
    while first < rows:
        most = int(cost[first]) + partition_bytes
        last = max(int(xp.searchsorted(cost, most, side="right")) - 1, first + 1)
        found.append((first, min(last, rows)))
        first = found[-1][1]
    return found


def pack_partition(first, lists, weight_bytes, partition_bytes=PARTITION_BYTES):
    """Words and a row of the table for each partition that rows of two sections make.

    Parameters
    ----------
    first : int
        Place of the first row.
    lists : two of (offsets, neighbors, weights)
        Of the edges that go forward and of those that go back: offsets int64 of shape (rows + 1,),
        into neighbors (places, int32) and weights, whose dtype is that of the store (or empty).
    weight_bytes : int
        Of a weight: 0, 4 or 8.

    Yields
    ------
    words : uint32 array
    row : int64 array of shape (len(TABLE),), its position 0
    """
    rows = lists[0][0].size - 1
    room = max(partition_bytes // (4 + weight_bytes), 1)
    edges = [int(offsets[-1]) - int(offsets[0]) for offsets, _, _ in lists]
    if rows > 1 or sum(edges) <= room:
        yield _packed(first, lists, weight_bytes)
        return
    for part in range(2):  # a row that is too long for one
        for start in range(0, edges[part], room):
            pieces = []
            for other, (offsets, neighbors, weights) in enumerate(lists):
                begin = int(offsets[0]) + start
                end = min(begin + room, int(offsets[-1])) if other == part else begin
                limits = np.array([begin, end]) if other == part else np.zeros(2, np.int64)
                pieces.append((device.array_module(offsets).asarray(limits), neighbors, weights))
            yield _packed(first, pieces, weight_bytes)


def _packed(first, lists, weight_bytes):
    xp = device.array_module(lists[0][0])
    rows = lists[0][0].size - 1
    table, layouts, parts = np.zeros(len(TABLE), np.int64), [], []
    for part, (offsets, neighbors, weights) in zip(("forward", "backward"), lists, strict=True):
        begin, end = int(offsets[0]), int(offsets[-1])
        base = bits = degree_bits = 0
        if end > begin:
            neighbors = neighbors[begin:end]
            base, top = int(neighbors.min()), int(neighbors.max())
            degrees = xp.diff(offsets).astype(xp.int32)
            bits, degree_bits = (top - base).bit_length(), int(degrees.max()).bit_length()
            parts.append((offsets, degrees, neighbors, weights[begin:end]))
        layouts.append(section(rows, end - begin, base, bits, degree_bits, weight_bytes))
        for what, value in (
            ("edges", end - begin),
            ("base", base),
            ("bits", bits),
            ("degree_bits", degree_bits),
        ):
            table[COLUMN[f"{part}_{what}"]] = value
    words = xp.zeros(sum(layout.words for layout in layouts), xp.uint32)
    start, filled = 0, iter(parts)
    for part, layout in zip(("forward", "backward"), layouts, strict=True):
        own = words[start : start + layout.words]
        if layout.edges:
            _fill(own, layout, *next(filled), weight_bytes)
            table[COLUMN[f"{part}_checksum"]] = checksum(own)
        start += layout.words
    for what, value in (
        ("words", words.size),
        ("forward_words", layouts[0].words),
        ("first", first),
        ("rows", rows),
    ):
        table[COLUMN[what]] = value
    return words, table


def _fill(words, layout, offsets, degrees, neighbors, weights, weight_bytes):
    groups = layout.degrees - 1
    words[:groups] = (offsets[:-1:GROUP_ROWS] - offsets[0]).astype(words.dtype)
    words[groups] = layout.edges
    for values, base, bits, begin, end in (
        (degrees, 0, layout.degree_bits, layout.degrees, layout.neighbors),
        (neighbors, layout.base, layout.bits, layout.neighbors, layout.weights),
    ):
        device.launch(
            "pack", "pack", size=end - begin,
            num_values=values.size, base=base, bits=bits, values=values, words=words[begin:end],
        )  # fmt: skip
    if weight_bytes:
        size = layout.edges * weight_bytes // 4
        words[layout.weights : layout.weights + size].view(weights.dtype)[:] = weights


def checksum(words):
    """Of the words of a section: an int64 in which each word counts by its place."""
    xp = device.array_module(words)
    total = xp.zeros(1, xp.uint64)
    device.launch(
        "pack", "add_checksum", size=words.size, num_words=words.size, words=words, checksum=total
    )
    return int(total[0].astype(xp.int64))


def verify_partitions(start, stop, origin, parts, vertices, table, words, weight_dtype, sums, size):
    """Add up the checksums of sections, as they are found, and check the values inside them.

    Nothing waits for the result: a section that was damaged, or whose values are out of bounds,
    has a checksum in `sums` that differs from the one in the table, and kernels skip it.
    `explain` says on the host what is wrong with it.

    Parameters
    ----------
    start, stop : int
        Rows of the table, which `validation.check_table` has accepted.
    origin : int
        Position of the first of `words` among those of all partitions.
    parts : {1, 2}
        1 for forward sections alone.
    vertices : int
    table, words, sums : int64, uint32 and uint64 arrays, on the device
        `sums`, of shape (2 * partitions,), is 0 for these sections before.
    weight_dtype : dtype or None
    size : int
        Words of these partitions.
    """
    xp = device.array_module(words)
    device.launch(
        "layered_sweep", "add_checksums", size=size,
        start=start, stop=stop, origin=origin, num_sections=parts, table=table, words=words,
        checksums=sums,
    )  # fmt: skip
    device.launch(
        "layered_sweep", "check_sections", size=size,
        start=start, stop=stop, origin=origin, num_sections=parts, num_vertices=vertices,
        table=table, words=words, weight_type=xp.empty(0, weight_dtype or np.float64),
        weighted=weight_dtype is not None, checksums=sums,
    )  # fmt: skip


def explain(words, row, vertices, weight_dtype):
    """Say what is out of bounds in a partition on the host, or return None if nothing is.

    Parameters
    ----------
    words : uint32 array, shape (words,)
        Of this partition.
    row : int64 array, shape (len(TABLE),)
    vertices : int
    weight_dtype : dtype or None

    Returns
    -------
    str or None
        The first value that is out of bounds: its field, place and limits.
    """
    weight_bytes = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
    start = 0
    for part, layout in zip(("forward", "backward"), sections(row, weight_bytes), strict=True):
        own, start = words[start : start + layout.words], start + layout.words
        if not layout.edges:
            continue
        degrees = np.zeros(layout.rows, np.int32)
        neighbors = np.zeros(layout.edges, np.int32)
        for values, bits, begin, end in (
            (degrees, layout.degree_bits, layout.degrees, layout.neighbors),
            (neighbors, layout.bits, layout.neighbors, layout.weights),
        ):
            device.launch(
                "pack", "unpack", size=values.size,
                num_values=values.size, base=0, bits=bits, words=own[begin:end], values=values,
            )  # fmt: skip
        ends = np.cumsum(degrees, dtype=np.int64)
        expected = np.concatenate([[0], ends[GROUP_ROWS - 1 : -1 : GROUP_ROWS], ends[-1:]])
        starts = own[: layout.degrees].astype(np.int64)
        wrong = starts != expected
        if wrong.any():
            group = int(wrong.argmax())
            return f"{part} start of group {group} is {starts[group]}, not {expected[group]}"
        if ends[-1] != layout.edges:
            return f"{part} degrees sum to {ends[-1]}, not {layout.edges}"
        wrong = neighbors > vertices - 1 - layout.base
        if wrong.any():
            place = int(wrong.argmax())
            neighbor = int(neighbors[place]) + layout.base
            return f"{part} neighbor {place} is {neighbor}, not 0 to {vertices - 1}"
        if weight_bytes:
            size = layout.edges * weight_bytes // 4
            weights = own[layout.weights : layout.weights + size].view(weight_dtype)
            wrong = ~((weights >= 0) & (weights < np.inf))
            if wrong.any():
                place = int(wrong.argmax())
                return (
                    f"{part} weight {place} is {weights[place]}; weights are finite and not "
                    "negative"
                )
    return None


def unpacked(words, row, weight_dtype):
    """(places of sources, places of neighbors, weights) of both sections of one partition.

    `words` are the partition's own.
    """
    xp = device.array_module(words)
    weight_bytes = 0 if weight_dtype is None else np.dtype(weight_dtype).itemsize
    start, found = 0, []
    for layout in sections(row, weight_bytes):
        part = words[start : start + layout.words]
        start += layout.words
        degrees, neighbors = xp.zeros(layout.rows, xp.int32), xp.zeros(layout.edges, xp.int32)
        if layout.edges:
            for values, base, bits, begin, end in (
                (degrees, 0, layout.degree_bits, layout.degrees, layout.neighbors),
                (neighbors, layout.base, layout.bits, layout.neighbors, layout.weights),
            ):
                device.launch(
                    "pack", "unpack", size=values.size,
                    num_values=values.size, base=base, bits=bits, words=part[begin:end],
                    values=values,
                )  # fmt: skip
        offsets = xp.zeros(layout.rows + 1, xp.int64)
        xp.cumsum(degrees, out=offsets[1:])
        sources = xp.empty(layout.edges, xp.int32)
        device.launch(
            "build", "expand_rows", size=32 * layout.rows,
            num_rows=layout.rows, offsets=offsets, rows=sources,
        )  # fmt: skip
        sources += int(row[COLUMN["first"]])
        weights = xp.empty(0)
        if weight_bytes:
            size = layout.edges * weight_bytes // 4
            weights = part[layout.weights : layout.weights + size].view(weight_dtype)
        found.append((sources, neighbors, weights))
    return found
