"""Operations of arrays whose first calls on a GPU would wait for CuPy's compilations.

CuPy compiles an operation for each combination of types, for 0.1 to 0.7 seconds in each new
process with an empty cache. The kernels of `kernels/arrays.cu` take a fraction of that. On a CPU
these are the operations of NumPy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels.limits import decode_limits
from .arrays import Array, ArrayModule, array_module, is_on_gpu
from .launcher import launch

RANGE_VALUES = 2**14  # values of a block, at least
MAX_RANGES = 1024
RANGE_THREADS = 1024


def count_nonzero(values: Array) -> int:
    """Return the number of values that are not 0, or true.

    Parameters
    ----------
    values : array of bool or numbers, any shape, C-contiguous
    """
    if not is_on_gpu(values):
        return int(np.count_nonzero(values))
    count = array_module(values).zeros(1, "int64")
    launch(
        "arrays", "count_nonzero", size=values.size,
        num_values=values.size, values=values, count=count,
    )  # fmt: skip
    return int(count[0])


def value_range(arrays: Sequence[Array]) -> tuple[int, int]:
    """Return the least and the largest value of arrays of integers, which may differ in type.

    On a GPU this takes one pass and one transfer, where `min` and `max` take two passes each.

    Parameters
    ----------
    arrays : sequence of integer arrays, not empty
    """
    xp = array_module(arrays[0])
    if xp is np:
        return min(int(v.min()) for v in arrays), max(int(v.max()) for v in arrays)
    limits, lows, highs = xp.zeros((len(arrays), 2), xp.uint64), [], []
    are_signed = [values.dtype.kind == "i" for values in arrays]
    for values, is_signed, pair in zip(arrays, are_signed, limits, strict=True):
        if values.itemsize < 4:  # kernels have no narrower integers
            values = values.astype(xp.int32 if is_signed else xp.uint32)
        launch(
            "arrays", "measure_range", size=values.size, num_values=values.size,
            values=xp.ascontiguousarray(values), is_signed=is_signed, limits=pair,
        )  # fmt: skip
    for is_signed, (complement, most) in zip(are_signed, limits.tolist(), strict=True):
        low, high = decode_limits(complement, most, is_signed)
        lows.append(low)
        highs.append(high)
    return min(lows), max(highs)


def full(size: int, value: float, dtype: Any, xp: ArrayModule) -> Array:
    """Return an array of `size` copies of a value, which is exact in double precision."""
    values = xp.empty(size, dtype)
    if xp is np:
        values.fill(value)
    else:
        launch("arrays", "fill", size=size, num_values=size, value=value, values=values)
    return values


def no_values(dtype: Any, xp: ArrayModule) -> Array:
    """Return an array without values, which callers share.

    An allocation takes as long as a launch even if it has no bytes.
    """
    device_id = None if xp is np else xp.cuda.runtime.getDevice()
    return _no_values(np.dtype(dtype), xp, device_id)


@functools.cache
def _no_values(dtype: np.dtype[Any], xp: ArrayModule, device_id: int | None) -> Array:
    if device_id is None:
        return np.empty(0, dtype)
    # Without memory of an allocator, which callers may exchange.
    memory = xp.cuda.UnownedMemory(0, 0, None, device_id)
    return xp.ndarray(0, dtype, xp.cuda.MemoryPointer(memory, 0))


def arange(size: int, dtype: Any, xp: ArrayModule) -> Array:
    """Return the numbers from 0 to ``size - 1``."""
    if xp is np:
        return np.arange(size, dtype=dtype)
    values = xp.empty(size, dtype)
    launch("arrays", "fill_range", size=size, num_values=size, values=values)
    return values


def put(values: Array, indices: Array, value: float) -> None:
    """Set the items of C-contiguous values at int32 indices; the value is exact as a double."""
    if not is_on_gpu(values):
        values[indices] = value
        return
    launch(
        "arrays", "put", size=indices.size,
        num_indices=indices.size, indices=indices, value=value, values=values,
    )  # fmt: skip


def where(flags: Array, values: Array, other: int) -> Array:
    """Return ``where(flags, values, other)`` of C-contiguous arrays, in the type of the values."""
    xp = array_module(values)
    if xp is np:
        return np.where(flags, values, np.array(other).astype(values.dtype))
    selected = xp.empty(values.size, values.dtype)
    launch(
        "arrays", "where", size=values.size,
        num_values=values.size, flags=flags, values=values, other=other, new_values=selected,
    )  # fmt: skip
    return selected


def invert_order(order: Array) -> Array:
    """Return the position of each item in an order of all items: int32.

    Parameters
    ----------
    order : int32 or uint32 array
        A permutation of 0 to ``order.size - 1``.
    """
    positions = array_module(order).empty(order.size, "int32")
    launch(
        "arrays", "invert_order", size=order.size,
        num_items=order.size, order=order, positions=positions,
    )  # fmt: skip
    return positions


def mark_range(values: Array, low: float = -math.inf, high: float = math.inf) -> Array:
    """Return whether each integer is at least `low` and below `high`, both exact as doubles."""
    if is_on_gpu(values):
        flags = array_module(values).empty(values.size, bool)
        launch(
            "arrays", "mark_range", size=values.size,
            num_values=values.size, values=values, low=low, high=high, flags=flags,
        )  # fmt: skip
        return flags
    if high == math.inf:
        return values >= low
    return values < high if low == -math.inf else (values >= low) & (values < high)


def all_in_range(values: Array, low: float, high: float) -> bool:
    """Return whether all C-contiguous numbers are at least `low` and below `high`; NaN is not."""
    if is_on_gpu(values):
        count = array_module(values).zeros(1, "int64")
        launch(
            "arrays", "count_outside", size=values.size,
            num_values=values.size, values=values, low=low, high=high, count=count,
        )  # fmt: skip
        return not count.item()
    if not values.size:
        return True
    # Integers are always below infinity.
    is_below = high == math.inf and values.dtype.kind != "f"
    return bool(values.min() >= low and (is_below or values.max() < high))


def astype(values: Array, dtype: Any) -> Array:
    """Return values as `dtype`: the same array if that is their type."""
    if values.dtype == dtype or not is_on_gpu(values) or not values.flags.c_contiguous:
        return values.astype(dtype, copy=False)
    return _convert(values, dtype)


def copy(values: Array) -> Array:
    """Return a copy of a one-dimensional, C-contiguous array."""
    assert values.flags.c_contiguous
    if not is_on_gpu(values):
        return values.copy()
    result = array_module(values).empty(values.size, values.dtype)
    result.data.copy_from_device_async(values.data, values.nbytes)
    return result


def _convert(values: Array, dtype: Any) -> Array:
    converted = array_module(values).empty(values.size, dtype)
    launch(
        "arrays", "convert", size=values.size,
        num_values=values.size, values=values, new_values=converted,
    )  # fmt: skip
    return converted


def take(values: Array, indices: Array) -> Array:
    """Return ``values[indices]`` of C-contiguous arrays."""
    if not is_on_gpu(values):
        return values[indices]
    items = array_module(values).empty(indices.size, values.dtype)
    launch(
        "build", "permute", size=indices.size,
        num_items=indices.size, order=indices, values=values, new_values=items,
    )  # fmt: skip
    return items


def accumulate(values: Array, dtype: Any = np.int64) -> Array:
    """Return the exclusive prefix sums of the values, followed by the sum of all.

    Parameters
    ----------
    values : array of bool or integers, C-contiguous
        Not negative.
    dtype : int32 or int64
    """
    xp, size = array_module(values), values.size
    totals = xp.empty(size + 1, dtype)
    if xp is np:
        totals[0] = 0
        np.cumsum(values, out=totals[1:])
        return totals
    num_ranges, sums = _sum_ranges(values)
    launch(
        "arrays", "accumulate", size=size, geometry=(num_ranges, RANGE_THREADS),
        num_values=size, num_ranges=num_ranges, values=values, sums=sums, totals=totals,
    )  # fmt: skip
    return totals


def flatnonzero(flags: Array) -> Array:
    """Return the positions of C-contiguous flags that are set, ascending: int32 if these fit."""
    xp, size = array_module(flags), flags.size
    dtype = np.int32 if size < 2**31 else np.int64
    if xp is np:
        return flags.nonzero()[0].astype(dtype, copy=False)
    num_ranges, sums = _sum_ranges(flags)
    # The positions of a single range are listed before they have been counted.
    max_positions = size if num_ranges == 1 else int(sums.get().sum())
    positions = xp.empty(max_positions + 1, dtype)
    launch(
        "arrays", "list_nonzero", size=size, geometry=(num_ranges, RANGE_THREADS),
        num_values=size, num_ranges=num_ranges, values=flags,
        sums=sums, positions=positions, num_positions=positions[max_positions:],
    )  # fmt: skip
    return positions[: max_positions if num_ranges > 1 else int(positions[max_positions])]


def compress(flags: Array, *arrays: Array) -> list[Array]:
    """Return the items of each array whose flags are set; all are C-contiguous."""
    if not is_on_gpu(flags):
        return [values[flags] for values in arrays]
    positions = flatnonzero(flags)
    return [take(values, positions) for values in arrays]


def _sum_ranges(values: Array) -> tuple[int, Array]:
    """Return the number of ranges of values on a GPU, and the sum of each unless it is one."""
    xp, size = array_module(values), values.size
    num_ranges = min(max(-(-size // RANGE_VALUES), 1), MAX_RANGES)
    sums = xp.empty(num_ranges if num_ranges > 1 else 0, np.int64)
    if num_ranges > 1:
        launch(
            "arrays", "sum_ranges", size=size, geometry=(num_ranges, RANGE_THREADS),
            num_values=size, num_ranges=num_ranges, values=values, sums=sums,
        )  # fmt: skip
    return num_ranges, sums
