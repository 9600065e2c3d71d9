"""Operations of arrays on a CPU: the twins of arrays.cu. NumPy has them, so nothing is compiled."""

import numpy as np


def count_nonzero(num_values, values, count):
    count[0] += np.count_nonzero(values)


def measure_range(num_values, values, is_signed, limits):
    flip = np.uint64(1 << 63 if is_signed else 0)
    ordered = values.astype(np.int64 if is_signed else np.uint64).view(np.uint64) ^ flip
    limits[:] = np.maximum(limits, [(~ordered).max(), ordered.max()])


def fill(num_values, value, values):
    values[:] = value


def fill_range(num_values, values):
    values[:] = np.arange(num_values)


def put(num_indices, indices, value, values):
    values[indices] = value


def pack_flags(num_flags, flags, words, count):
    packed = np.packbits(flags, bitorder="little")
    words[: -(-num_flags // 32)].view(np.uint8)[: packed.size] = packed
    count[0] += np.count_nonzero(flags)


def fill_nulls(
    num_values,
    integers,
    null,
    with_names,
    names,
    other,
    with_column,
    column,
    with_words,
    words,
    count,
):
    valid = integers != null
    if with_column:
        values = names[np.where(valid, integers, 0)] if with_names else integers
        column[:] = np.where(valid, values, np.array(other).astype(column.dtype))
    if with_words:
        pack_flags(num_values, valid, words, count)


def where(num_values, flags, values, other, new_values):
    new_values[:] = np.where(flags, values, np.array(other).astype(values.dtype))


def invert_order(num_items, order, positions):
    positions[order] = np.arange(num_items, dtype=np.int32)


def mark_range(num_values, values, low, high, flags):
    flags[:] = (values >= low) & (values < high)


def count_outside(num_values, values, low, high, count):
    count[0] += np.count_nonzero(~((values >= low) & (values < high)))


def convert(num_values, values, new_values):
    new_values[:] = values


def sum_ranges(num_values, num_ranges, values, sums):
    size = -(-num_values // num_ranges)
    totals = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    bounds = np.minimum(np.arange(num_ranges + 1) * size, num_values)
    sums[:] = totals[bounds[1:]] - totals[bounds[:-1]]


def accumulate(num_values, num_ranges, values, sums, totals):
    totals[0] = 0
    np.cumsum(values, out=totals[1:])


def list_nonzero(num_values, num_ranges, values, sums, positions, num_positions):
    listed = np.flatnonzero(values)
    positions[: listed.size] = listed
    num_positions[0] = listed.size
