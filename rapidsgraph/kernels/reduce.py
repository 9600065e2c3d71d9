"""Reductions on a CPU: the twins of reduce.cu. NumPy has them, so nothing is compiled."""

import numpy as np


def count_nonzero(num_values, values, count):
    count[0] += np.count_nonzero(values)


def measure_range(num_values, values, is_signed, limits):
    flip = np.uint64(1 << 63 if is_signed else 0)
    ordered = values.astype(np.int64 if is_signed else np.uint64).view(np.uint64) ^ flip
    limits[:] = np.maximum(limits, [(~ordered).max(), ordered.max()])
