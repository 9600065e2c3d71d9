"""Estimate the memory of building a graph before it is allocated.

A build names the vertices, then sorts and merges the edges. Each phase has a bound per row, vertex
and byte of text, which follows from the arrays that the phase allocates. The estimate is the bound
of the largest phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from .. import device, frames
from ..validation import MAX_UNUSED_NAMES

BLOCK_ARCS = 2**20  # arcs per block of a pass that needs temporary arrays
MARGIN = 1.04  # for memory that allocators keep between arrays
# The C library allocates arrays up to this size from its heap, where freed arrays leave holes. The
# margins are measured: up to a fifth of the peak of a run, a third where edges are symmetrized, and
# more with weights.
HEAP_ARRAY_BYTES = 2**25
RUN_MARGIN = 1.22
SYMMETRIZE_MARGIN = 1.32
WEIGHTED_SYMMETRIZE_MARGIN = 1.38
BASE_BYTES = 2**21  # interpreter objects and thread-local buffers of a build or run on a CPU
ARROW_POOL_BYTES = 3 * 2**22  # held by Arrow's allocator where names are text


@dataclass(frozen=True)
class NameColumnStats:
    """The properties of a name column that determine the memory of naming vertices by it.

    Attributes
    ----------
    kind : {"ids", "table", "hash", "integer", "arrow", "object", "cudf"}
        Integers that are vertex ids already, that are looked up in a table over their range, that
        are hashed, or for which this is unknown; text in Arrow arrays, as Python objects or in
        cuDF.
    rows : int
        Number of values in the columns of sources, destinations and additional vertices together.
    span : int
        Largest minus smallest integer, plus one; 0 if unknown.
    copy_bytes : int
        Bytes of the values after conversion to a wider type, where they have to be converted.
    text_bytes : int
        Bytes of all text.
    max_length : int
        Bytes of the longest name.
    """

    kind: str
    rows: int
    span: int = 0
    copy_bytes: int = 0
    text_bytes: int = 0
    max_length: int = 0

    def max_text_bytes(self, count: int) -> int:
        """Return an upper bound of the bytes of `count` distinct names."""
        return min(self.text_bytes, count * self.max_length)

    def max_distinct(self) -> int:
        """Return an upper bound of the number of distinct names."""
        return min(self.span, self.rows) if self.span else self.rows


def name_column_stats(
    sources: Sequence[Any],
    destinations: Sequence[Any],
    vertices: list[Any] | range | None = None,
) -> list[NameColumnStats]:
    """Return the statistics of each name column; arguments as for `name_vertices`."""
    vertex_columns = vertices if isinstance(vertices, list) else [None] * len(sources)
    stats = []
    for columns in zip(sources, destinations, vertex_columns, strict=True):
        values = [column for column in columns if column is not None and len(column)]
        stats.append(_name_column_stats(values, is_range=isinstance(vertices, range)))
    return stats


def _name_column_stats(columns: list[Any], is_range: bool) -> NameColumnStats:
    rows = sum(map(len, columns))
    if not columns:
        return NameColumnStats("ids", 0)
    if all(device.is_array(values) and values.dtype.kind in "iu" for values in columns):
        low, high = device.value_range(columns)
        span = high - low + 1
        dtypes = {values.dtype for values in columns}
        needs_copy = len(dtypes) > 1 or next(iter(dtypes)).itemsize < 4
        copy_bytes = 8 * rows if needs_copy else 0
        if is_range or span <= rows + MAX_UNUSED_NAMES:
            kind = "ids" if is_range or low == 0 else "table"
            return NameColumnStats(kind, rows, 0 if is_range else span, copy_bytes)
        return NameColumnStats("hash", rows, span, copy_bytes)
    if any(device.is_array(values) for values in columns):  # name_vertices rejects these
        return NameColumnStats("hash", rows)
    if frames.series_library(columns[0]).__name__ == "cudf":
        nbytes = sum(int(values.memory_usage(index=False, deep=True)) for values in columns)
        return NameColumnStats("cudf", rows, text_bytes=nbytes)
    sizes = [frames.text_sizes(values) for values in columns]
    nbytes, max_length = sum(size[0] for size in sizes), max(size[1] for size in sizes)
    if all(frames.is_arrow_text(values) for values in columns):
        return NameColumnStats("arrow", rows, text_bytes=nbytes, max_length=max_length)
    arrow_columns = [values for values in columns if frames.is_arrow_text(values)]
    copy_bytes = sum((8 + 64) * len(values) for values in arrow_columns)
    copy_bytes += nbytes if arrow_columns else 0
    return NameColumnStats("object", rows, copy_bytes=copy_bytes)


def pandas_hash_table_bytes(count: int) -> int:
    """Return the bytes of a pandas hash table of `count` 64-bit integers or objects."""
    buckets = 32
    while count > 0.77 * buckets:
        buckets *= 2
    return 17 * buckets


def arrow_hash_table_bytes(count: int) -> int:
    """Return the bytes of an Arrow hash table of `count` strings; it grows fourfold."""
    entries = 32
    while 2 * count >= entries:
        entries *= 4
    return 20 * entries  # including the smaller table that it replaces


def merge_bytes(kind: str, count: int, text_bytes: int = 0) -> int:
    """Return the bytes of merging the distinct names of chunks, beside those of the chunks.

    Parameters
    ----------
    kind : str
        As in `NameColumnStats`.
    count : int
        Number of names in all chunks.
    text_bytes : int
        Bytes of their text.
    """
    if kind == "arrow":
        return arrow_hash_table_bytes(count) + 32 * count + 4 * text_bytes
    return 16 * count + pandas_hash_table_bytes(count)


def _column_naming_bytes(column: NameColumnStats, count: int) -> tuple[int, int]:
    """Return the peak of naming by a column with `count` distinct names, and the retained bytes."""
    if column.kind == "integer":
        hashed = _column_naming_bytes(replace(column, kind="hash"), count)
        table = replace(column, kind="table", span=column.rows + MAX_UNUSED_NAMES)
        peak, retained = _column_naming_bytes(table, count)
        return max(hashed[0], peak), max(hashed[1], retained)
    rows, text = column.rows, column.max_text_bytes(count)
    ids = 4 * rows
    if column.kind == "ids" and count >= column.span:  # otherwise some ids are missing
        return column.copy_bytes + ids + column.span, ids
    if column.kind in ("ids", "table"):
        # A table of int32; positions of flags as int64; and these beside them as int32.
        peak = ids + max(5 * column.span, column.span + 8 * count, 12 * count)
        return column.copy_bytes + peak, ids + 8 * count
    if column.kind == "arrow":
        chunk = min(frames.TEXT_CHUNK_ROWS, rows)
        num_distinct = min(chunk, count)
        chunks = arrow_hash_table_bytes(num_distinct) + 5 * column.max_text_bytes(num_distinct)
        num_merged = min(_max_merged_names(count, chunk), rows)
        merge = 8 * num_merged + column.max_text_bytes(num_merged) + arrow_hash_table_bytes(count)
        merge += 24 * count + 3 * text
        block = 5 * min(rows, max(frames.CHUNK_ROWS, 2 * count))
        lookup = 20 * count + 3 * text + arrow_hash_table_bytes(count) + ids + block
        peak = max(chunks, merge, lookup)
        return ARROW_POOL_BYTES + peak, ARROW_POOL_BYTES + ids + 8 * count + text
    chunk = min(frames.TEXT_CHUNK_ROWS if column.kind == "object" else frames.CHUNK_ROWS, rows)
    num_merged = min(_max_merged_names(count, chunk), rows)
    merge = max(8 * num_merged + merge_bytes(column.kind, num_merged), 32 * count)
    lookup = 16 * count + pandas_hash_table_bytes(count) + ids + 24 * min(frames.CHUNK_ROWS, rows)
    return column.copy_bytes + max(merge, lookup), ids + 8 * count


def _max_merged_names(count: int, chunk: int) -> int:
    """Return an upper bound of the names that `frames.factorize` merges at once."""
    return count + max(count, chunk) + min(count, chunk)


def naming_bytes(
    columns: Sequence[NameColumnStats], count: int, xp: ModuleType = np
) -> tuple[int, int]:
    """Return upper bounds of the memory of naming `count` vertices.

    Parameters
    ----------
    columns : list of NameColumnStats
    count : int
        Number of vertices. A lower bound of it gives a lower bound of the peak.
    xp : module
        NumPy or CuPy.

    Returns
    -------
    peak, retained : int
        Bytes at the peak, and bytes that remain allocated afterwards: ids and names.
    """
    if xp is not np:
        rows = columns[0].rows
        text = sum(column.text_bytes for column in columns)
        tables = sum(96 * column.rows for column in columns if column.kind == "cudf")
        copies = sum(column.copy_bytes for column in columns)
        peak = 13 * rows + 64 * count + 3 * text + tables + copies
        return peak, 4 * rows + 8 * count + text
    peak = retained = 0
    for index, column in enumerate(columns):
        column_peak, column_retained = _column_naming_bytes(
            column, min(count, column.max_distinct())
        )
        ids = 4 * column.rows
        names = column_retained - ids
        if column.kind == "ids" and len(columns) > 1:
            names += 8 * count
        if index:  # pairs of ids are packed into integers, which are hashed
            peak = max(peak, retained + column_peak)
            retained += names
            lookup = 16 * count + pandas_hash_table_bytes(count) + 12 * column.rows
            num_merged = min(_max_merged_names(count, frames.CHUNK_ROWS), column.rows)
            merge = 8 * (column.rows + num_merged) + merge_bytes("hash", num_merged)
            peak = max(peak, retained + max(12 * column.rows, merge, lookup))
            retained += 8 * count
        else:
            peak, retained = column_peak, ids + names
    return peak, retained


def csr_build_bytes(
    rows: int,
    num_vertices: int,
    *,
    weighted: bool,
    directed: bool,
    multi_edges: str = "first",
    self_loops: str = "keep",
    xp: ModuleType = np,
) -> int:
    """Return an upper bound of the bytes of building adjacency from vertex ids.

    The ids and names are not included. Parameters are those of `build_bytes`.
    """
    summed = multi_edges == "sum"
    weighted = weighted or summed
    if xp is not np:
        bytes_per_row = {
            (False, True): 24, (False, False): 28, (True, True): 42, (True, False): 52
        }  # fmt: skip
        return rows * (bytes_per_row[weighted, bool(directed)] - 8) + 56 * num_vertices
    peak = _csr_peak_bytes(
        rows, num_vertices, weight_bytes=8 if weighted else 0, directed=directed,
        copies_weights=summed, drops_loops=self_loops == "drop",
    )  # fmt: skip
    return add_margin(peak, xp, _build_margin(rows, directed, weighted))


def _csr_peak_bytes(
    rows: int,
    num_vertices: int,
    *,
    weight_bytes: int,
    directed: bool,
    copies_weights: bool,
    drops_loops: bool,
) -> int:
    """Return an upper bound of the bytes that sorting and merging edges takes on a CPU."""
    counters = counting_sort_bytes(rows, num_vertices)
    weights = weight_bytes * rows if copies_weights else 0
    order = 8 * rows if weight_bytes else 0
    sort = 4 * rows + order + 16 * num_vertices + counters
    if 16 * rows < num_vertices:
        sort = 28 * rows + 24 * num_vertices
    merge = (5 + 2 * weight_bytes) * rows - order + 20 * num_vertices
    merge += 8 * min(rows, 2 * BLOCK_ARCS) if weight_bytes else 0
    peak = max(sort, merge)
    if drops_loops:  # the mask and the filtered rows exist before the original rows are freed
        peak = max(peak, (9 + weight_bytes) * rows)
        weights += weight_bytes * rows
    if not directed:
        union = (8 + 4 * weight_bytes) * rows + 24 * num_vertices
        lower = (9 + (24 if weight_bytes else 0)) * rows + 16 * num_vertices + counters
        peak = max(peak, 8 * rows, union, lower)
    return weights + peak


def counting_sort_bytes(rows: int, num_keys: int) -> int:
    """Return the bytes of the per-thread counters of a counting sort."""
    num_chunks = max(1, min(device.num_threads(), rows // max(num_keys, 1)))
    return 4 * num_chunks * num_keys


def build_bytes(
    rows: int,
    num_vertices: int,
    *,
    weighted: bool = False,
    directed: bool = True,
    columns: Sequence[NameColumnStats] | None = None,
    multi_edges: str = "first",
    self_loops: str = "keep",
    xp: ModuleType = np,
) -> int:
    """Return an upper bound of the bytes that building a graph takes beyond the input frame.

    Parameters
    ----------
    rows, num_vertices : int
    weighted, directed : bool
    columns : list of NameColumnStats, optional
        By default, names are integers 0..n-1.
    multi_edges, self_loops : str
        As for `Graph`.
    xp : module
        NumPy or CuPy: the array module of the graph.
    """
    columns = columns or [NameColumnStats("ids", 2 * rows, num_vertices)]
    peak, retained = naming_bytes(columns, num_vertices, xp)
    csr = csr_build_bytes(
        rows, num_vertices, weighted=weighted, directed=directed, multi_edges=multi_edges,
        self_loops=self_loops, xp=xp,
    )  # fmt: skip
    kinds = {column.kind for column in columns}
    margin = RUN_MARGIN if 4 * rows <= HEAP_ARRAY_BYTES else MARGIN
    if xp is np:
        retained = int(max(margin, _build_margin(rows, directed)) * retained)
        if not directed and kinds != {"ids"}:  # naming leaves holes in the heap
            chunks = 24 * min(frames.CHUNK_ROWS, 2 * rows) if kinds & {"hash", "object"} else 0
            retained += min(8 * rows + chunks, HEAP_ARRAY_BYTES)
    return max(add_margin(peak, xp, margin), retained + csr)


def _build_margin(rows: int, directed: bool, weighted: bool = False) -> float:
    if directed or 4 * rows > HEAP_ARRAY_BYTES:
        return MARGIN
    return WEIGHTED_SYMMETRIZE_MARGIN if weighted else SYMMETRIZE_MARGIN


def add_margin(num_bytes: float, xp: ModuleType, margin: float = MARGIN) -> int:
    """Return `num_bytes` with the overhead of the allocators of a CPU; unchanged on a GPU."""
    return int(num_bytes) if xp is not np else int(margin * num_bytes) + BASE_BYTES
