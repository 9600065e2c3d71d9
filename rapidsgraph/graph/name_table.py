"""Name integers by a table over their range, which takes no sort.

A CPU has the number of names below each integer. A GPU has words of ids, as in kernels/build.cu.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np

from .. import device
from ..device import Array, ArrayModule
from ..kernels.constants import COOPERATIVE_THREADS, NAME_BATCH, WORD_FLAGS
from ..validation import MAX_UNUSED_NAMES, check_vertex_count

# A GPU marks names in shared memory up to this many names and windows; beyond them, flags in global
# memory are faster.
MAX_NAMES_IN_SHARED, MAX_WINDOWS = 2**26, 2
BITMAP_BYTES_PER_NAME = 8  # limit of all bitmaps together; the sort that follows takes more


def name_by_table(
    arrays: list[Array], dtype: Any, xp: ArrayModule
) -> tuple[Array | None, int, list[Array]] | None:
    """Name integers by a table over their range, or return None if the range is too wide.

    Parameters
    ----------
    arrays : list of arrays
        Names of one of the types int32, int64 and uint64, C-contiguous on a GPU.
    dtype : numpy.dtype
        Type of the names in results.
    xp : module
        NumPy or CuPy.

    Returns
    -------
    names : int32 or int64 array, or None
        The distinct names, ascending; None if they are 0 to count - 1.
    count : int
    ids : list of int32 arrays
        The ids of the names in each array.
    """
    filled = [values for values in arrays if values.size]
    if not filled:
        return None, 0, as_ids(arrays, xp)
    name_type = xp.int32 if dtype == np.int32 else xp.int64  # all names are below 2^63
    named = _name_on_cpu if xp is np else _name_on_gpu
    return named(arrays, filled, name_type, xp)


def as_ids(arrays: list[Array], xp: ArrayModule) -> list[Array]:
    """Return names that are ids already as contiguous int32 arrays."""
    return [xp.ascontiguousarray(device.astype(values, xp.int32)) for values in arrays]


def _max_span(filled: list[Array]) -> int:
    """Return how wide the range of names may be for a table."""
    return sum(values.size for values in filled) + MAX_UNUSED_NAMES


def _name_on_cpu(
    arrays: list[Array], filled: list[Array], name_type: Any, xp: ArrayModule
) -> tuple[Array | None, int, list[Array]] | None:
    low, high = device.value_range(filled)
    span = high - low + 1
    if span > _max_span(filled) or high >= 2**63:
        return None
    is_present = xp.zeros(span, bool)
    for values in filled:
        device.launch(
            "build", "mark_present", size=values.size,
            num_names=values.size, names=values, min_name=low, is_present=is_present,
        )  # fmt: skip
    count = check_vertex_count(device.count_nonzero(is_present))
    if low == 0 and count == span:
        return None, count, as_ids(arrays, xp)
    table, ids = device.accumulate(is_present, np.int32), []
    for values in arrays:
        ids.append(xp.empty(values.size, np.int32))
        device.launch(
            "build", "translate", size=values.size,
            num_names=values.size, names=values, min_name=low, table=table, ids=ids[-1],
        )  # fmt: skip
    del table
    names = np.flatnonzero(is_present)
    del is_present
    names += low
    return names.astype(name_type, copy=False), count, ids


def _name_on_gpu(
    arrays: list[Array], filled: list[Array], name_type: Any, xp: ArrayModule
) -> tuple[Array | None, int, list[Array]] | None:
    # Names mostly begin near 0. Flags from there on save a pass over them that finds the range.
    max_span, build_table = _max_span(filled), _number_by_flags
    first, num_flags = 0, max_span
    if len(filled) <= 2 and sum(values.size for values in filled) <= MAX_NAMES_IN_SHARED:
        build_table, num_flags = _number_in_shared_memory, min(max_span, _max_flags_in_shared())
    id_words, low, high, count = build_table(filled, first, num_flags, xp)
    if low < 0 or high >= num_flags:
        first = 0 if low >= 0 and high < max_span else low
        if high - first >= max_span or high >= 2**63:
            return None
        if high - first >= num_flags:
            build_table = _number_by_flags
        del id_words
        id_words, _, _, count = build_table(filled, first, high - first + 1, xp)
    check_vertex_count(count)
    if first == 0 and count == high + 1:
        return None, count, as_ids(arrays, xp)
    ids = []
    for values in arrays:
        ids.append(xp.empty(values.size, xp.int32))
        device.launch(
            "build", "look_up_ids", size=values.size,
            num_names=values.size, names=values, min_name=first, id_words=id_words, ids=ids[-1],
        )  # fmt: skip
    names = xp.empty(count, name_type)
    device.launch(
        "build", "list_names", size=high - first + 1,
        num_words=(high - first) // WORD_FLAGS + 1, id_words=id_words, min_name=first, names=names,
    )  # fmt: skip
    return names, count, ids


def _number_by_flags(
    arrays: list[Array], first: int, num_flags: int, xp: ArrayModule
) -> tuple[Array, int, int, int]:
    """Number the names among `num_flags` integers from `first` on.

    Returns the words of ids, the least and the largest name, and the number of names. Words and
    number are undefined if a name is not among these integers.
    """
    num_words = -(-num_flags // WORD_FLAGS)
    is_present, id_words = xp.zeros(num_words * WORD_FLAGS, bool), xp.empty(num_words, xp.uint64)
    counters = xp.zeros(4, xp.int64)  # limits, arrived blocks, number of names
    is_signed, limits = arrays[0].dtype.kind == "i", counters[:2].view(xp.uint64)
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
        arrived_blocks=counters[2:3].view(xp.uint64), id_words=id_words, num_names=counters[3:],
    )  # fmt: skip
    complement, most, _, count = counters.tolist()
    return id_words, *device.decode_limits(complement, most, is_signed), count


def _number_in_shared_memory(
    arrays: list[Array], first: int, num_flags: int, xp: ArrayModule
) -> tuple[Array, int, int, int]:
    """Return what `_number_by_flags` does, for one or two arrays and `MAX_WINDOWS` windows."""
    names, others = arrays[0], arrays[1] if len(arrays) > 1 else arrays[0][:0]
    num_words, num_names = -(-num_flags // WORD_FLAGS), names.size + others.size
    window_words = min(num_words, _max_flags_in_shared() // MAX_WINDOWS // WORD_FLAGS)
    num_blocks = min(
        -(-num_names // (COOPERATIVE_THREADS * NAME_BATCH)),
        max(1, num_names * BITMAP_BYTES_PER_NAME // (4 * num_words)),
        device.num_multiprocessors(),
    )
    id_words, counters = xp.empty(num_words, xp.uint64), xp.zeros(4, xp.int64)
    is_signed, unsigned = arrays[0].dtype.kind == "i", counters.view(xp.uint64)
    device.launch(
        "build", "number_in_shared_memory", size=num_names,
        geometry=(num_blocks, COOPERATIVE_THREADS), cooperative=True,
        shared_bytes=4 * window_words, num_names=names.size, names=names, num_others=others.size,
        others=others, is_signed=is_signed, min_name=first, num_flags=num_flags,
        window_words=window_words, max_words=num_words,
        bitmaps=xp.empty(num_blocks * num_words, xp.uint32), sums=xp.empty(num_blocks, xp.int64),
        arrived_blocks=unsigned[2:3], id_words=id_words, limits=unsigned[:2],
        num_distinct=counters[3:],
    )  # fmt: skip
    complement, most, _, count = counters.tolist()
    return id_words, *device.decode_limits(complement, most, is_signed), count


def _max_flags_in_shared() -> int:
    """Return how many integers may have flags in the shared memory of a block, in all windows."""
    return MAX_WINDOWS * (device.max_shared_bytes() // 4) * WORD_FLAGS
