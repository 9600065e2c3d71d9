"""Reductions on a CPU: the twins of reduce.cu. NumPy has them, so nothing is compiled."""

import numpy as np


def count_nonzero(num_values, values, count):
    count[0] += np.count_nonzero(values)
