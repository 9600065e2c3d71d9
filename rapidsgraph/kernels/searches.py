"""Binary search and exact comparison of fractions, which kernels on a CPU share."""

import numpy as np

from .intrinsics import high_product
from .jit import serial


@serial
def is_at_least(square, denominator, numerator, product):
    """Return whether square * denominator >= numerator * product; integers below 2^62."""
    high, least = high_product(square, denominator), high_product(numerator, product)
    return (high > least) | ((high == least) & (square * denominator >= numerator * product))


@serial
def position(values, start, stop, key):
    """Return the first index in values[start:stop], ascending, that is not below `key`."""
    while start < stop:
        middle = (start + stop) // 2
        if values[np.uint64(middle)] < key:
            start = middle + 1
        else:
            stop = middle
    return start
