"""Name the vertices of an edge list: find the distinct names in its columns, and the id of each.

Integers in a range not much wider than the number of rows are looked up in a table over that range;
other integers, and text, are factorized. Names of several columns are factorized column by column,
and then the tuples of ids as integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from .. import device, frames
from ..device import Array, ArrayModule
from ..errors import GraphError
from ..frames import Column
from ..kernels.constants import COOPERATIVE_THREADS, RANK_FLAGS
from ..validation import MAX_UNUSED_NAMES, check_vertex_count
from .vertex_names import VertexNames, check_names

# Names on a GPU, and windows of their range, up to which flags in shared memory are faster.
MAX_NAMES_IN_SHARED, MAX_WINDOWS = 2**26, 2
NAMES_PER_THREAD = 8  # at most, unless all blocks are used
BITMAP_BYTES_PER_NAME = 8  # at most of all blocks; a later sort takes more

# Called with (count, nbytes) before a table of names is built on a CPU; may raise.
TableCheck = Callable[[int, int], None] | None


def name_vertices(
    sources: Sequence[Column],
    destinations: Sequence[Column],
    vertices: range | list[Column] | None,
    labels: list[str],
    xp: ArrayModule,
    check: TableCheck = None,
) -> tuple[VertexNames, Array, Array]:
    """Name the vertices of an edge list.

    Parameters
    ----------
    sources, destinations : sequences of arrays or Series
        One or more columns each, all of one length.
    vertices : range, list of arrays or Series, or None
        More names; a range stands for all integers below its stop.
    labels : list of str
    xp : module
        NumPy or CuPy.
    check : callable, optional
        Called with ``(count, nbytes)`` before a table of at most `count` names with `nbytes` bytes
        of text is built on a CPU. It may raise.

    Returns
    -------
    names : VertexNames
    sources, destinations : int32 arrays
        Ids, one per row.
    """
    if len(sources) > 1:
        return _name_tuples(sources, destinations, vertices, labels, xp, check)
    columns = [sources[0], destinations[0]]
    if vertices is not None:
        columns += [vertices] if isinstance(vertices, range) else vertices
    part, dtype, count, ids = _name_column(columns, labels[0], xp, check)
    return VertexNames(labels, [part], count, dtype=dtype), ids[0], ids[1]


def check_ids_in_range(low: int, high: int, stop: int) -> None:
    """Raise GraphError unless the names `low` to `high` of edges are in ``range(stop)``."""
    if low < 0 or high >= stop:
        value = low if low < 0 else high
        raise GraphError(
            f"vertices are range({stop}), and an edge names {value}",
            parameter="vertices",
            value=value,
        )


def _name_tuples(
    sources: Sequence[Column],
    destinations: Sequence[Column],
    vertices: Any,
    labels: list[str],
    xp: ArrayModule,
    check: TableCheck,
) -> tuple[VertexNames, Array, Array]:
    """Name vertices by several columns. Arrays are freed once they are packed."""
    parts: list[Any] = []
    pairs: list[Array] = []
    ids: list[Array] = []
    for label, *columns in zip(
        labels, sources, destinations, vertices or [None] * len(sources), strict=True
    ):
        columns = [values for values in columns if values is not None]
        part, dtype, count, positions = _name_column(columns, label, xp, check)
        parts.append(xp.arange(count, dtype=dtype) if part is None else part)
        if not ids:
            ids = positions
            continue
        packed = []
        while ids:
            packed.append(ids.pop(0).astype(xp.int64))
            packed[-1] *= count
            packed[-1] += positions.pop(0)
        pairs.append(frames.distinct_numbers(packed, xp, check))
        while packed:
            ids.append(frames.encode_numbers(packed.pop(0), pairs[-1], xp))
    return VertexNames(labels, parts, check_vertex_count(pairs[-1].size), pairs), ids[0], ids[1]


def _name_column(
    columns: Sequence[Any], label: str, xp: ArrayModule, check: TableCheck
) -> tuple[Column | None, Any, int, list[Array]]:
    """Return (sorted names or None, dtype, count, int32 ids of each column except a range)."""
    arrays = [values for values in columns if not isinstance(values, range)]
    ranges = [values for values in columns if isinstance(values, range)]
    filled = [values for values in arrays if len(values)]
    check_name_kind(name_kinds(columns[2:]), name_kinds(columns[:2]), label)
    dtype = common_name_type(arrays, label)
    if ranges and not filled:
        dtype = np.dtype(np.int64)
    if dtype.kind not in "iu":
        names = frames.distinct_text(filled, check) if filled else arrays[0]
        ids = [
            frames.encode_text(values, names) if len(values) else xp.empty(0, xp.int32)
            for values in arrays
        ]
        return names, None, check_vertex_count(len(names)), ids
    for values in filled:  # those of edges have been checked
        check_names(values, parameter="vertices")
    arrays = [values if len(values) else xp.empty(0, _integer_type(values)) for values in arrays]
    arrays = [values.astype(kernel_type(dtype), copy=False) for values in arrays]
    if xp is not np:  # kernels read names in order; a column of a matrix is strided
        arrays = [xp.ascontiguousarray(values) for values in arrays]
    return _name_integers(arrays, ranges, dtype, xp, check)


def common_name_type(columns: Sequence[Column], label: str) -> Any:
    """Return the type of the names in several columns, as results have it.

    Parameters
    ----------
    columns : sequence of arrays or Series
        A column without rows may have any type.
    label : str
        The name column of results, for messages.

    Raises
    ------
    GraphError
        If no type holds all names.
    """
    filled = [values for values in columns if len(values)]
    are_numbers = [device.is_array(values) for values in filled]
    if not all(are_numbers):
        if any(are_numbers):
            raise mixed_names_error(label)
        library = frames.series_library(filled[0])
        return library.concat([values.iloc[:1] for values in filled]).dtype
    text = [values for values in columns if not device.is_array(values)]
    if text and not filled:
        return text[0].dtype
    dtype = np.result_type(*(_integer_type(values) for values in filled or columns))
    if dtype.kind == "f":  # int64 and uint64: int64 if it holds all values
        if any(values.dtype == np.uint64 and int(values.max()) >= 2**63 for values in filled):
            raise mixed_signs_error(label)
        dtype = np.dtype(np.int64)
    return dtype


def name_kinds(columns: Iterable[Any]) -> set[str]:
    """Return which of "integers" and "text" the names in columns, if any, and ranges are."""
    return {
        "integers" if isinstance(values, range) or device.is_array(values) else "text"
        for values in columns
        if isinstance(values, range) or len(values)
    }


def check_name_kind(vertex_kinds: set[str], edge_kinds: set[str], label: str) -> None:
    """Raise GraphError if names in `vertices` are text and those in edges integers, or vice versa.

    Parameters
    ----------
    vertex_kinds, edge_kinds : set of str
        The kinds in `vertices` and in the edges, as from `name_kinds`.
    label : str
        The name column of results.
    """
    if len(edge_kinds) != 1 or not vertex_kinds - edge_kinds:
        return
    [edge_kind], [kind, *_] = edge_kinds, vertex_kinds - edge_kinds
    hint = f"pass {edge_kind} as vertices, or convert those of the edges to {kind}"
    raise GraphError(
        f"{{parameter}}: {label} names are {kind}, and {edge_kind} in the edges; {hint}",
        parameter="vertices",
        column=label,
        hint=hint,
    )


def mixed_names_error(
    label: str, text_column: str | None = None, number_column: str | None = None
) -> GraphError:
    """Return the error for names that are text and numbers, in columns that may be known."""
    hint = "convert one of them"
    columns = f": {text_column!r} has text, {number_column!r} numbers" if text_column else ""
    return GraphError(
        f"{label} names are text in one column and numbers in another{columns}; {hint}",
        column=text_column or label,
        hint=hint,
    )


def mixed_signs_error(label: str) -> GraphError:
    """Return the error for names of a column that no integer type holds."""
    hint = "convert both columns to uint64, or to text if some names are negative"
    return GraphError(
        f"{label} names are beyond 2^63 in one column and signed in another; {hint}",
        column=label,
        hint=hint,
    )


def kernel_type(dtype: Any) -> type[np.integer]:
    """Return the integer type that kernels have for names: int32, int64 or uint64."""
    if dtype == np.uint64:
        return np.uint64
    return np.int32 if dtype.itemsize < 4 or dtype == np.int32 else np.int64


def _integer_type(values: Column) -> Any:
    kind = getattr(values.dtype, "kind", "O")
    return values.dtype if kind in "iu" else np.dtype(np.int64)


def _name_integers(
    arrays: list[Array], ranges: list[range], dtype: Any, xp: ArrayModule, check: TableCheck
) -> tuple[Array | None, Any, int, list[Array]]:
    """Return what `_name_column` does, for arrays of one integer type."""
    if ranges:
        stop = len(ranges[0])
        filled = [values for values in arrays if values.size]
        check_ids_in_range(*(device.value_range(filled) if filled else (0, -1)), stop)
        dtype = dtype if stop <= np.iinfo(dtype).max + 1 else np.dtype(np.int64)
        return None, dtype, check_vertex_count(stop), _as_ids(arrays, xp)
    named = _name_on_cpu(arrays) if xp is np else _name_on_gpu(arrays, dtype, xp)
    if named is None:
        names = frames.distinct_numbers(arrays, xp, check)
        ids = [frames.encode_numbers(values, names, xp) for values in arrays]
        named = names, check_vertex_count(names.size), ids
    names, count, ids = named
    return None if names is None else names.astype(dtype, copy=False), dtype, count, ids


def _name_on_cpu(arrays: list[Array]) -> tuple[Array | None, int, list[Array]] | None:
    """Return (names, or None if these are ids, count, ids), or None if their range is too wide.

    A table over the range has the number of names below each integer.
    """
    filled = [values for values in arrays if values.size]
    if not filled:
        return None, 0, _as_ids(arrays, np)
    low, high = device.value_range(filled)
    span = high - low + 1
    if span > _max_span(filled) or high >= 2**63:
        return None
    is_present = np.zeros(span, bool)
    for values in filled:
        device.launch(
            "build", "mark_present", size=values.size,
            num_names=values.size, names=values, min_name=low, is_present=is_present,
        )  # fmt: skip
    count = check_vertex_count(device.count_nonzero(is_present))
    if low == 0 and count == span:
        return None, count, _as_ids(arrays, np)
    table, ids = device.accumulate(is_present, np.int32), []
    for values in arrays:
        ids.append(np.empty(values.size, np.int32))
        device.launch(
            "build", "translate", size=values.size,
            num_names=values.size, names=values, min_name=low, table=table, ids=ids[-1],
        )  # fmt: skip
    return device.flatnonzero(is_present, np.int64, low, count), count, ids


def _name_on_gpu(
    arrays: list[Array], dtype: Any, xp: ArrayModule
) -> tuple[Array | None, int, list[Array]] | None:
    """Return what `_name_on_cpu` does; kernels/build.cu has the form of the table."""
    filled = [values for values in arrays if values.size]
    if not filled:
        return None, 0, _as_ids(arrays, xp)
    # Names mostly begin near 0. Flags from there on save a pass over them that finds the range.
    max_span, rank = _max_span(filled), _rank_by_flags
    first, num_flags = 0, max_span
    if len(filled) <= 2 and sum(values.size for values in filled) <= MAX_NAMES_IN_SHARED:
        rank, num_flags = _rank_in_shared_memory, min(max_span, MAX_WINDOWS * _window_flags())
    ranks, low, high, count = rank(filled, first, num_flags, xp)
    if low < 0 or high >= num_flags:
        first = 0 if low >= 0 and high < max_span else low
        if high - first >= max_span or high >= 2**63:
            return None
        if high - first >= num_flags:
            rank = _rank_by_flags
        ranks, _, _, count = rank(filled, first, high - first + 1, xp)
    check_vertex_count(count)
    if first == 0 and count == high + 1:
        return None, count, _as_ids(arrays, xp)
    ids = []
    for values in arrays:
        ids.append(xp.empty(values.size, xp.int32))
        device.launch(
            "build", "find_ranks", size=values.size,
            num_names=values.size, names=values, min_name=first, ranks=ranks, ids=ids[-1],
        )  # fmt: skip
    names = xp.empty(count, xp.int32 if dtype == np.int32 else xp.int64)  # all are below 2^63
    device.launch(
        "build", "list_names", size=high - first + 1,
        num_words=(high - first) // RANK_FLAGS + 1, ranks=ranks, min_name=first, names=names,
    )  # fmt: skip
    return names, count, ids


def _rank_by_flags(
    arrays: list[Array], first: int, num_flags: int, xp: ArrayModule
) -> tuple[Array, int, int, int]:
    """Rank the names among `num_flags` integers from `first` on.

    Returns the words of ranks, the least and the largest name, and the number of names. Ranks and
    number are undefined if a name is not among these integers.
    """
    num_words = -(-num_flags // RANK_FLAGS)
    is_present, ranks = xp.zeros(num_words * RANK_FLAGS, bool), xp.empty(num_words, xp.uint64)
    totals = xp.zeros(4, xp.int64)  # limits, arrived blocks, number of names
    is_signed, limits = arrays[0].dtype.kind == "i", totals[:2].view(xp.uint64)
    for names, others in zip_longest(arrays[::2], arrays[1::2], fillvalue=arrays[0][:0]):
        device.launch(
            "build", "mark_names", size=max(names.size, others.size), num_names=names.size,
            names=names, num_others=others.size, others=others, is_signed=is_signed,
            min_name=first, num_flags=num_flags, is_present=is_present, limits=limits,
        )  # fmt: skip
    device.launch(
        "build", "number_names", size=num_words, threads=COOPERATIVE_THREADS,
        cooperative=True, is_signed=is_signed, min_name=first, num_flags=num_flags,
        is_present=is_present, limits=limits,
        sums=xp.empty(device.max_cooperative_blocks(), xp.int64),
        arrived_blocks=totals[2:3].view(xp.uint64), ranks=ranks, num_names=totals[3:],
    )  # fmt: skip
    complement, most, _, count = totals.tolist()
    return ranks, *device.decode_limits(complement, most, is_signed), count


def _rank_in_shared_memory(
    arrays: list[Array], first: int, num_flags: int, xp: ArrayModule
) -> tuple[Array, int, int, int]:
    """Return what `_rank_by_flags` does, for one or two arrays and `MAX_WINDOWS` windows."""
    names, others = arrays[0], arrays[1] if len(arrays) > 1 else arrays[0][:0]
    num_words = -(-num_flags // RANK_FLAGS)
    window_words = min(num_words, _window_flags() // RANK_FLAGS)
    num_names = names.size + others.size
    num_blocks = min(
        -(-num_names // (COOPERATIVE_THREADS * NAMES_PER_THREAD)),
        max(1, num_names * BITMAP_BYTES_PER_NAME // (4 * num_words)),
        device.num_multiprocessors(),
    )
    ranks, totals = xp.empty(num_words, xp.uint64), xp.zeros(4, xp.int64)
    is_signed, parts = arrays[0].dtype.kind == "i", totals.view(xp.uint64)
    device.launch(
        "build", "rank_names", size=num_names,
        geometry=(num_blocks, COOPERATIVE_THREADS), cooperative=True,
        shared_bytes=4 * window_words, num_names=names.size, names=names, num_others=others.size,
        others=others, is_signed=is_signed, min_name=first, num_flags=num_flags,
        window_words=window_words, max_words=num_words,
        bitmaps=xp.empty(num_blocks * num_words, xp.uint32), sums=xp.empty(num_blocks, xp.int64),
        arrived_blocks=parts[2:3], ranks=ranks, limits=parts[:2], num_distinct=totals[3:],
    )  # fmt: skip
    complement, most, _, count = totals.tolist()
    return ranks, *device.decode_limits(complement, most, is_signed), count


def _window_flags() -> int:
    """Return how many integers have flags in the shared memory of a block."""
    return device.max_shared_bytes() // 4 * RANK_FLAGS


def _max_span(arrays: list[Array]) -> int:
    """Return how wide the range of names in arrays may be for a table."""
    return sum(values.size for values in arrays) + MAX_UNUSED_NAMES


def _as_ids(arrays: list[Array], xp: ArrayModule) -> list[Array]:
    """Return names that are ids already as contiguous int32 arrays."""
    return [xp.ascontiguousarray(device.astype(values, xp.int32)) for values in arrays]
