"""The twin of bucket_sort.cu, of NumPy operations. A CPU sorts by `counting` instead."""

import numpy as np


def sort_buckets(
    num_keys,
    minor_bits,
    bucket_bits,
    capacity,
    histogram,
    packed,
    positions,
    offsets,
    minor,
    order,
    num_distinct,
):
    by_pair = np.argsort(packed, kind="stable")
    pairs = packed[by_pair]
    offsets[:] = np.searchsorted(pairs, np.arange(num_keys + 1) << minor_bits)
    minor[:] = pairs & ((1 << minor_bits) - 1)
    if order.size:
        order[:] = positions[by_pair]
    num_distinct[0] += np.count_nonzero(np.diff(pairs, prepend=-1))
